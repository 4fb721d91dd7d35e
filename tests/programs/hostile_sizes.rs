//! Random files whose arrays have sizes from 0 to 2^60: all operations, loops, and functions, on short texts.
//!
//! Law: what a file of such sizes takes to load, print, save, optimize, compile, explain, report, write as source and
//! export is bounded by its length, or it is refused in words; so no pass makes an array that the program only names.
//! Work is what is allocated; no time is measured.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::ops::{Binary, Compare, FloatStep, IntBinary, IntUnary, Unary};
use polygrad::passes::{optimize, simplify, vectorize};
use polygrad::program::Program;
use polygrad::shape::{MAX_SIZE, is_possible, size};
use serde_json::{Value, json};

use crate::compiled::bytes_of;

/// A value of a program: its number, its shape, its element type.
type Known = (usize, Vec<usize>, &'static str);

/// The sizes of axes.
const SIZES: [usize; 16] =
    [0, 1, 1, 2, 2, 3, 5, 64, 1000, 1 << 20, (1 << 31) - 1, (1 << 32) + 1, 1 << 40, 1 << 58, MAX_SIZE / 2, MAX_SIZE];

/// The number of operations of a program.
const OPERATIONS: usize = 9;

struct Writer {
    rng: Rng,
    inputs: Vec<Value>,
    operations: Vec<Value>,
    known: Vec<Known>,
}

fn view(source: &[usize], shape: &[usize], rows: &[Vec<i64>], offset: &[i64], bounds: &[(usize, usize)]) -> Value {
    let matrix: Vec<i64> = rows.concat();
    json!({"at": {"source": source, "shape": shape, "matrix": matrix, "offset": offset, "bounds": bounds}})
}

/// Each index of the space is one of the source, in this order of axes.
fn axes(source: &[usize], shape: &[usize], of: &[usize]) -> Value {
    let rows: Vec<Vec<i64>> =
        of.iter().map(|axis| (0..shape.len()).map(|k| i64::from(k == *axis && shape[k] > 1)).collect()).collect();
    let bounds: Vec<(usize, usize)> = shape.iter().map(|n| (0, *n)).collect();
    view(source, shape, &rows, &vec![0; source.len()], &bounds)
}

fn identity(shape: &[usize]) -> Value {
    axes(shape, shape, &(0..shape.len()).collect::<Vec<usize>>())
}

impl Writer {
    fn new(seed: u64) -> Writer {
        Writer { rng: Rng::new(seed), inputs: Vec::new(), operations: Vec::new(), known: Vec::new() }
    }

    fn pick<X: Clone>(&mut self, all: &[X]) -> X {
        all[self.rng.below(all.len())].clone()
    }

    fn shape(&mut self) -> Vec<usize> {
        let rank = self.rng.below(4);
        let mut shape: Vec<usize> = (0..rank).map(|_| self.pick(&SIZES)).collect();
        while !is_possible(&shape) {
            let k = self.rng.below(rank);
            shape[k] = self.pick(&SIZES[1..8]);
        }
        shape
    }

    fn input(&mut self, shape: &[usize], dtype: &'static str) {
        self.known.push((self.inputs.len(), shape.to_vec(), dtype));
        let name = format!("x{}", self.inputs.len());
        self.inputs.push(json!({"name": name, "dtype": dtype, "shape": shape}));
    }

    fn add(&mut self, op: Value, shape: Vec<usize>, dtype: &'static str) -> Option<usize> {
        if !is_possible(&shape) {
            return None;
        }
        let id = self.inputs.len() + self.operations.len();
        self.operations.push(json!({"op": op, "dtype": dtype, "shape": shape}));
        self.known.push((id, shape, dtype));
        Some(id)
    }

    /// A node with several results, and its results.
    fn several(&mut self, op: Value, results: Vec<(Vec<usize>, &'static str)>) -> Option<usize> {
        if results.iter().any(|(shape, _)| !is_possible(shape)) {
            return None;
        }
        let id = self.inputs.len() + self.operations.len();
        self.operations.push(json!({"op": op, "dtype": "f64", "shape": []}));
        for (k, (shape, dtype)) in results.into_iter().enumerate() {
            self.add(json!({"output": [id, k]}), shape, dtype);
        }
        Some(id)
    }

    fn of(&mut self, dtypes: &[&str]) -> Option<Known> {
        let all: Vec<Known> = self.known.iter().filter(|(.., t)| dtypes.contains(t)).cloned().collect();
        // The last values more often, so that programs are deep.
        match all.len() {
            0 => None,
            n => Some(all[n - 1 - self.rng.below(n).min(self.rng.below(n))].clone()),
        }
    }

    /// A value of this shape: one that exists, or a constant.
    fn like(&mut self, shape: &[usize], dtype: &'static str) -> Option<usize> {
        let all: Vec<usize> =
            self.known.iter().filter(|(_, s, t)| s == shape && *t == dtype).map(|(id, ..)| *id).collect();
        if !all.is_empty() && self.rng.below(3) > 0 {
            return Some(self.pick(&all));
        }
        self.constant(shape, dtype)
    }

    fn constant(&mut self, shape: &[usize], dtype: &'static str) -> Option<usize> {
        let number = match dtype {
            "bool" => self.pick(&["true", "false"]),
            "i64" => self.pick(&["0", "1", "-3", "9223372036854775807"]),
            _ => self.pick(&["0", "1", "-0.5", "inf", "0.25"]),
        };
        if dtype == "i64" && self.rng.below(3) == 0 && shape.len() == 1 {
            return self.add(json!({"discrete": [{"iota": shape[0]}, []]}), shape.to_vec(), "i64");
        }
        let op = json!({"constant": {"dtype": dtype, "shape": shape, "elements": {"every": number}}});
        self.add(op, shape.to_vec(), dtype)
    }

    /// One more operation; `None` if what was drawn does not fit.
    fn operation(&mut self) -> Option<usize> {
        const FLOATS: [&str; 2] = ["f64", "f32"];
        const NUMBERS: [&str; 3] = ["f64", "f32", "i64"];
        const ALL: [&str; 4] = ["f64", "f32", "i64", "bool"];
        match self.rng.below(24) {
            0 => {
                let (shape, dtype) = (self.shape(), self.pick(&ALL));
                self.constant(&shape, dtype)
            }
            1 => {
                let n = self.pick(&SIZES);
                self.add(json!({"discrete": [{"iota": n}, []]}), vec![n], "i64")
            }
            2 => {
                let (a, shape, dtype) = self.of(&FLOATS)?;
                let name = self.pick(Unary::ALL).name();
                self.add(json!({"unary": [name, a]}), shape, dtype)
            }
            3 | 4 => {
                let (a, shape, dtype) = self.of(&FLOATS)?;
                let (b, name) = (self.like(&shape, dtype)?, self.pick(Binary::ALL).name());
                self.add(json!({"binary": [name, a, b]}), shape, dtype)
            }
            5 => {
                let (a, shape, dtype) = self.of(&NUMBERS)?;
                let (b, name) = (self.like(&shape, dtype)?, self.pick(Compare::ALL).name());
                self.add(json!({"discrete": [{"compare": name}, [a, b]]}), shape, "bool")
            }
            6 => {
                let (a, shape, dtype) = self.of(&ALL)?;
                let (b, mask) = (self.like(&shape, dtype)?, self.like(&shape, "bool")?);
                self.add(json!({"select": [mask, a, b]}), shape, dtype)
            }
            7 => {
                let (a, shape, dtype) = self.of(&["i64", "bool"])?;
                let b = self.like(&shape, dtype)?;
                match dtype {
                    "i64" => {
                        let name = self.pick(IntBinary::ALL).name();
                        self.add(json!({"discrete": [{"int_binary": name}, [a, b]]}), shape, "i64")
                    }
                    _ => {
                        let name = self.pick(&["and", "or"]);
                        self.add(json!({"discrete": [name, [a, b]]}), shape, "bool")
                    }
                }
            }
            8 => {
                let (a, shape, dtype) = self.of(&ALL)?;
                match dtype {
                    "i64" if self.rng.below(2) == 0 => {
                        let name = self.pick(IntUnary::ALL).name();
                        self.add(json!({"discrete": [{"int_unary": name}, [a]]}), shape, "i64")
                    }
                    "i64" | "bool" => {
                        let to = self.pick(&FLOATS);
                        self.add(json!({"discrete": [{"to_float": to}, [a]]}), shape, to)
                    }
                    _ if self.rng.below(2) == 0 => {
                        let name = self.pick(FloatStep::ALL).name();
                        self.add(json!({"discrete": [{"float_step": name}, [a]]}), shape, dtype)
                    }
                    _ => self.add(json!({"discrete": ["to_int", [a]]}), shape, "i64"),
                }
            }
            9 | 10 => self.moved(),
            11 | 12 => self.summed(),
            13 => {
                let (a, shape, dtype) = self.of(&ALL)?;
                let n = size(&shape);
                let into = self.pick(&[vec![n], vec![1, n], vec![n, 1, 1], shape.iter().rev().copied().collect()]);
                self.add(json!({"reshape": [into, a]}), into, dtype)
            }
            14 => {
                let (a, shape, dtype) = self.of(&FLOATS)?;
                let into = if dtype == "f64" { "f32" } else { "f64" };
                self.add(json!({"cast": [into, a]}), shape, into)
            }
            15 => {
                let (a, shape, dtype) = self.of(&FLOATS)?;
                let parts = (0..shape.len()).find(|k| shape[*k] == 2)?;
                let axis = (0..shape.len()).find(|k| *k != parts)?;
                let op =
                    json!({"fourier": {"parts": parts, "axis": axis, "conjugate": self.rng.below(2) == 0, "of": a}});
                self.add(op, shape, dtype)
            }
            16 => {
                let (a, shape, dtype) = self.of(&NUMBERS)?;
                let axis = self.axis(&shape)?;
                let op = json!({"prefix_sum": {"axis": axis, "reverse": self.rng.below(2) == 0, "of": a}});
                self.add(op, shape, dtype)
            }
            17 => self.product(),
            18 => {
                let (a, mut shape, dtype) = self.of(&FLOATS)?;
                let axis = self.axis(&shape)?;
                let op = self.pick(&[json!({"max": axis}), json!({"min": axis})]);
                if shape.remove(axis) == 0 {
                    return None;
                }
                self.add(json!({"reduce": [op, a]}), shape, dtype)
            }
            19 => {
                let (a, mut shape, _) = self.of(&FLOATS)?;
                let axis = self.axis(&shape)?;
                match self.rng.below(3) {
                    0 => {
                        let op = json!({"arg_sort": {"axis": axis, "descending": self.rng.below(2) == 0}});
                        self.add(json!({"discrete": [op, [a]]}), shape, "i64")
                    }
                    1 => {
                        let op =
                            json!({"prefix_arg": {"axis": axis, "largest": self.rng.below(2) == 0, "reverse": false}});
                        self.add(json!({"discrete": [op, [a]]}), shape, "i64")
                    }
                    _ if shape[axis] == 0 => None,
                    _ => {
                        shape.remove(axis);
                        self.add(json!({"discrete": [{"arg_max": axis}, [a]]}), shape, "i64")
                    }
                }
            }
            20 => {
                let ((a, shape, dtype), (ix, each, _)) = (self.of(&ALL)?, self.of(&["i64"])?);
                let rest = shape.get(1..)?;
                if self.rng.below(2) == 0 {
                    return self.add(json!({"gather": [a, [ix]]}), [&each[..], rest].concat(), dtype);
                }
                let v = self.like(&[&each[..], rest].concat(), dtype).filter(|_| dtype != "bool")?;
                self.add(json!({"scatter_add": [a, [ix], v]}), shape, dtype)
            }
            21 => {
                let (a, mut shape, dtype) = self.of(&ALL)?;
                let (axis, b) = (self.axis(&shape)?, self.like(&shape, dtype)?);
                shape[axis] = shape[axis].saturating_mul(2);
                self.add(json!({"concat": [axis, [a, b]]}), shape, dtype)
            }
            22 => {
                let n = self.pick(&[0, 1, 2, 5, 64, 1 << 20, 1 << 30]);
                let a = self.like(&[n, n], "f64")?;
                let (op, results) = self.pick(&[
                    ("cholesky", vec![(vec![n, n], "f64")]),
                    ("inverse", vec![(vec![n, n], "f64")]),
                    ("expm", vec![(vec![n, n], "f64")]),
                    ("eigh", vec![(vec![n], "f64"), (vec![n, n], "f64")]),
                ]);
                self.several(json!({"matrix": [op, [a]]}), results)
            }
            _ => {
                // A loop over rows whose body, the first program, adds a row to a carried number of the same shape.
                let (a, shape, _) = self.of(&["f64"])?;
                let n = *shape.first().filter(|n| **n > 0)?;
                let row = self.like(&[], "f64").filter(|_| shape.len() == 1)?;
                let op = json!({"loop": {"n": n, "reverse": self.rng.below(2) == 0, "body": 0, "init": [row], "xs": [a], "captured": []}});
                self.several(op, vec![(vec![], "f64"), (vec![n], "f64")])
            }
        }
    }

    fn axis(&mut self, shape: &[usize]) -> Option<usize> {
        if shape.is_empty() { None } else { Some(self.rng.below(shape.len())) }
    }

    /// A view that reads: repeated, permuted, reversed, cut, padded, at steps, or along a diagonal.
    fn moved(&mut self) -> Option<usize> {
        let (a, shape, dtype) = self.of(&["f64", "f32", "i64", "bool"])?;
        let rank = shape.len();
        let (rows, mut offset) = (
            |n: usize, axis: &dyn Fn(usize) -> usize, step: &dyn Fn(usize) -> i64| {
                (0..rank)
                    .map(|k| (0..n).map(|j| if j == axis(k) { step(k) } else { 0 }).collect())
                    .collect::<Vec<Vec<i64>>>()
            },
            vec![0i64; rank],
        );
        let all = |shape: &[usize]| shape.iter().map(|n| (0, *n)).collect::<Vec<(usize, usize)>>();
        let (into, rows, bounds) = match self.rng.below(6) {
            0 => {
                let into = [&shape[..], &[self.pick(&SIZES)]].concat();
                (into.clone(), rows(rank + 1, &|k| k, &|k| i64::from(shape[k] > 1)), all(&into))
            }
            1 => {
                let into: Vec<usize> = shape.iter().rev().copied().collect();
                (into.clone(), rows(rank, &|k| rank - 1 - k, &|k| i64::from(shape[k] > 1)), all(&into))
            }
            2 => {
                let axis = self.axis(&shape).filter(|axis| shape[*axis] > 1)?;
                offset[axis] = shape[axis] as i64 - 1;
                (
                    shape.clone(),
                    rows(rank, &|k| k, &|k| if k == axis { -1 } else { i64::from(shape[k] > 1) }),
                    all(&shape),
                )
            }
            3 => {
                let axis = self.axis(&shape).filter(|axis| shape[*axis] > 3)?;
                let (mut into, first) = (shape.clone(), self.pick(&[0usize, 1, shape[axis] / 2]));
                into[axis] = (shape[axis] - first) / 2;
                offset[axis] = first as i64;
                let step = |k: usize| if k == axis { 2 } else { i64::from(shape[k] > 1) };
                (into.clone(), rows(rank, &|k| k, &|k| if into[k] > 1 { step(k) } else { 0 }), all(&into))
            }
            4 => {
                let axis = self.axis(&shape)?;
                let mut into = shape.clone();
                into[axis] = into[axis].checked_add(self.pick(&[1usize, 7, 1 << 33]))?;
                offset[axis] = -1;
                let mut bounds = all(&into);
                bounds[axis] = (1, (shape[axis] + 1).min(into[axis]));
                (into.clone(), rows(rank, &|k| k, &|k| i64::from(into[k] > 1)), bounds)
            }
            _ => {
                let diagonal = shape.iter().copied().min().filter(|_| rank > 1)?;
                (vec![diagonal], rows(1, &|_| 0, &|_| i64::from(diagonal > 1)), all(&[diagonal]))
            }
        };
        if !is_possible(&into) {
            return None;
        }
        let from = view(&shape, &into, &rows, &offset, &bounds);
        let op = json!({"affine": {"from": from, "into": identity(&into), "of": a}});
        self.add(op, into, dtype)
    }

    /// A sum over an axis, or over windows.
    fn summed(&mut self) -> Option<usize> {
        let (a, shape, dtype) = self.of(&["f64", "f32", "i64"])?;
        let axis = self.axis(&shape)?;
        let rest: Vec<usize> = (0..shape.len()).filter(|k| *k != axis).collect();
        let into: Vec<usize> = rest.iter().map(|k| shape[*k]).collect();
        if self.rng.below(3) > 0 || shape.len() > 1 {
            let op = json!({"affine": {"from": identity(&shape), "into": axes(&into, &shape, &rest), "of": a}});
            return self.add(op, into, dtype);
        }
        let (n, width) = (shape[0], self.pick(&[2usize, 3, 7, 1000]));
        let count = n.checked_sub(width).filter(|n| *n > 1)?;
        let space = [count, width];
        let from = view(&shape, &space, &[vec![1, 1]], &[0], &[(0, count), (0, width)]);
        let op = json!({"affine": {"from": from, "into": axes(&[count], &space, &[0]), "of": a}});
        self.add(op, vec![count], dtype)
    }

    /// A contraction: an inner, an outer, or a matrix product.
    fn product(&mut self) -> Option<usize> {
        let ((a, x, dtype), (b, y, other)) = (self.of(&["f64", "f32"])?, self.of(&["f64", "f32"])?);
        if dtype != other || x.len() + y.len() > 5 {
            return None;
        }
        let shared = x.last().is_some_and(|n| y.first() == Some(n)) && self.rng.below(3) > 0;
        let space = if shared { [&x[..], &y[1..]].concat() } else { [&x[..], &y[..]].concat() };
        let first = x.len() - usize::from(shared);
        let out: Vec<usize> = (0..space.len()).filter(|k| !shared || *k != first).collect();
        let into: Vec<usize> = out.iter().map(|k| space[*k]).collect();
        if !is_possible(&into) {
            return None;
        }
        let views = [
            axes(&x, &space, &(0..x.len()).collect::<Vec<usize>>()),
            axes(&y, &space, &(first..space.len()).collect::<Vec<usize>>()),
            axes(&into, &space, &out),
        ];
        let op = json!({"contract": {"a": views[0], "b": views[1], "out": views[2], "of": [a, b]}});
        self.add(op, into, dtype)
    }

    fn program(mut self) -> Value {
        for _ in 0..self.rng.below(3) {
            let (shape, dtype) = (self.shape(), self.pick(&["f64", "f64", "f32", "i64", "bool"]));
            self.input(&shape, dtype);
        }
        let mut drawn = 0;
        while self.operations.len() < OPERATIONS && drawn < 10 * OPERATIONS {
            self.operation();
            drawn += 1;
        }
        let results: Vec<usize> = self.known.iter().rev().take(2).map(|(id, ..)| *id).collect();
        let named = |of: &usize| json!({"name": "", "of": of});
        let outputs: Vec<Value> = results.iter().map(named).collect();
        let number = json!({"name": "", "dtype": "f64", "shape": []});
        let add = json!({"op": {"binary": ["add", 0, 1]}, "dtype": "f64", "shape": []});
        let body = json!({"inputs": [number, number], "operations": [add], "outputs": [named(&2), named(&2)]});
        json!({"format": 1, "programs": [body, {"inputs": self.inputs, "operations": self.operations, "outputs": outputs}]})
    }
}

/// What a file is put through, each with the bytes that it allocates.
fn through(file: &str, log: &mut dyn FnMut(&str, usize)) -> Result<(), String> {
    let mut program: Option<Program> = None;
    let mut refusal = String::new();
    let bytes = bytes_of(|| match serde_json::from_str::<Program>(file) {
        Ok(loaded) => program = Some(loaded),
        Err(error) => refusal = error.to_string(),
    });
    log("load", bytes);
    let Some(program) = program else { return Err(refusal) };
    let mut ready = program.clone();
    let mut step = |name: &str, run: &mut dyn FnMut()| log(name, bytes_of(run));
    step("print", &mut || drop((program.to_string(), format!("{program:#}"))));
    step("save", &mut || drop(serde_json::to_string(&program)));
    step("simplify", &mut || drop(simplify(&program)));
    step("vectorize", &mut || drop(vectorize(&program)));
    step("optimize", &mut || ready = optimize(&program));
    for program in [&program, &ready] {
        step("compile", &mut || drop(compile(program)));
        let plan = compile(program);
        step("explain", &mut || drop((plan.explain(), plan.peak_bytes())));
        step("dot", &mut || drop(program.to_dot()));
        step("c", &mut || drop(program.to_c("f")));
        step("rust", &mut || drop(program.to_rust("f")));
        step("stablehlo", &mut || drop(program.to_stablehlo("f")));
    }
    Ok(())
}

/// The bytes that a step may allocate, beside a multiple of the length of the file.
const BESIDE: usize = 24 << 20;

fn check(seeds: std::ops::Range<u64>) {
    let (mut loaded, mut all) = (0, 0);
    for seed in seeds {
        let file = Writer::new(seed).program().to_string();
        let mut last = String::new();
        let run = catch_unwind(AssertUnwindSafe(|| {
            through(&file, &mut |step, bytes| {
                last = step.to_owned();
                let (most, length) = (BESIDE + 5000 * file.len(), file.len());
                assert!(bytes < most, "{step}: {bytes} bytes for {length} of seed {seed}\n{file}");
            })
        }));
        all += 1;
        match run {
            Ok(Ok(())) => loaded += 1,
            Ok(Err(words)) => assert!(words.starts_with("load: ") && words.len() < 1000, "{words}"),
            Err(_) => panic!("after {last}, seed {seed}:\n{file}"),
        }
    }
    assert!(10 * loaded > 9 * all, "{loaded} of {all} files load");
}

#[test]
fn files_of_any_sizes_take_work_by_their_length() {
    let many = std::env::var("POLYGRAD_FUZZ").ok().and_then(|n| n.parse().ok());
    check(0..many.unwrap_or(100));
}

/// One operation on an array that no memory holds: what looked at elements took gigabytes, or the time of all elements.
#[test]
fn one_operation_on_a_huge_array_takes_little() {
    let half = |shape: &[usize]| json!({"constant": {"dtype": "f64", "shape": shape, "elements": {"every": "0.5"}}});
    let constant = |shape: &[usize]| json!({"op": half(shape), "dtype": "f64", "shape": shape});
    let node = |op: Value, shape: &[usize], dtype: &str| json!({"op": op, "dtype": dtype, "shape": shape});
    let outputs = |of: usize| json!([{"name": "", "of": of}]);
    for n in [300_000_000, 1 << 40, MAX_SIZE] {
        let slot = json!([{"name": "x", "dtype": "f64", "shape": [2, n / 2]}]);
        let prefix = json!({"prefix_sum": {"axis": 0, "reverse": false, "of": 0}});
        let fourier = json!({"fourier": {"parts": 0, "axis": 1, "conjugate": false, "of": 0}});
        let spread = json!({"affine": {"from": identity(&[n / 2]), "into": axes(&[n], &[n / 2], &[0]), "of": 0}});
        let three = json!({"op": {"constant": {"dtype": "i64", "shape": [n], "elements": {"every": "3"}}}, "dtype": "i64", "shape": [n]});
        let scatter = json!({"scatter_add": [0, [1], 0]});
        // A product of two numbers, added up over a large space.
        let repeated = json!({"at": {"source": [], "shape": [n], "matrix": [], "offset": [], "bounds": [[0, n]]}});
        let product = json!({"contract": {"a": repeated, "b": repeated, "out": repeated, "of": [0, 0]}});
        let files = [
            ("prefix sum", json!([]), vec![constant(&[n]), node(prefix, &[n], "f64")], outputs(1)),
            ("transform", slot, vec![node(fourier, &[2, n / 2], "f64")], outputs(1)),
            ("spread", json!([]), vec![constant(&[n / 2]), node(spread, &[n], "f64")], outputs(1)),
            ("scatter", json!([]), vec![constant(&[n]), three, node(scatter, &[n], "f64")], outputs(2)),
            ("product", json!([]), vec![constant(&[]), node(product, &[], "f64")], outputs(1)),
        ];
        for (name, inputs, operations, outputs) in files {
            let file =
                json!({"format": 1, "programs": [{"inputs": inputs, "operations": operations, "outputs": outputs}]});
            let file = file.to_string();
            let mut all = 0;
            let loaded = through(&file, &mut |_, bytes| all += bytes);
            assert_eq!(loaded, Ok(()), "{name} {n}");
            assert!(all < 4 << 20, "{name} {n}: {all} bytes");
        }
    }
}

/// What no memory holds is refused before anything is allocated, with words; tables of transforms count.
#[test]
fn a_run_without_memory_is_refused_in_words() {
    let n = 1usize << 44;
    let fourier = json!({"fourier": {"parts": 0, "axis": 1, "conjugate": false, "of": 0}});
    let operations = json!([{"op": fourier, "dtype": "f64", "shape": [2, n]}]);
    let slots = json!([{"name": "x", "dtype": "f64", "shape": [2, n]}]);
    let file = json!({"format": 1, "programs": [{"inputs": slots, "operations": operations, "outputs": [{"name": "", "of": 1}]}]});
    let program: Program = serde_json::from_value(file).expect("well formed");
    let plan = compile(&program);
    assert!(plan.peak_bytes() > 16 * n, "the tables of a line have a number for each of its elements");
    let input = polygrad::Array::full(&[2, n], 0.5);
    let words = crate::panics::caught(|| drop(plan.run(std::slice::from_ref(&input)))).message;
    assert!(words.contains("must fit into memory"), "{words}");
    // Of usual sizes, too.
    let f = polygrad::Function::stage(
        |x: &polygrad::Tensor<_, 1>| x.rfft(0).re().clone(),
        &polygrad::Tensor::zeros([4096]),
    );
    assert!(f.executable().peak_bytes() >= 4096 * 16);
    let error = f.try_with_options(polygrad::FunctionOptions::new().memory(1000)).expect_err("tables take more");
    assert!(error.least >= 4096 * 16, "{error}");
}
