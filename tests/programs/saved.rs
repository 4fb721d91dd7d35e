//! Saving and loading programs and arrays.
//!
//! Laws: what is loaded equals what was saved, to the bit, and runs alike; loading any file gives a program that runs
//! or an error in words.

use std::sync::Arc;

use polygrad::array::{Rng, Values};
use polygrad::interpreters::Ast;
use polygrad::ops::{Call, Contract, External, Linear, Unary, View};
use polygrad::program::{Builder, Op, Program, Slot, Term, interpret};
use polygrad::shape::{MAX_SIZE, Shape, size};
use polygrad::{Array, BaseTensor, DType, Tensor, fold};
use serde_json::{Value, json};

use crate::programs::{gallery, staged};
use crate::support::{LONG, on_a_small_stack, random_contract, random_linear, random_shape};

fn saved(program: &Program) -> Value {
    serde_json::to_value(program).expect("it can be saved")
}

fn loaded(value: &Value) -> Result<Program, String> {
    serde_json::from_value(value.clone()).map_err(|e| e.to_string())
}

/// Values for the inputs of a program.
fn inputs(rng: &mut Rng, program: &Program) -> Vec<Array> {
    let mut some = |shape: &[usize], dtype| match dtype {
        DType::F64 => rng.uniform(shape, -2.0, 2.0),
        DType::F32 => rng.uniform(shape, -2.0, 2.0).cast::<f32>(),
        DType::I64 => rng.uniform(shape, -2.0, 6.0).cast::<i64>(),
        DType::Bool => Array::full(shape, true),
    };
    program.inputs().iter().map(|slot| some(&slot.shape, slot.dtype)).collect()
}

/// Element type, shape and bits.
fn bits(a: &Array) -> String {
    serde_json::to_string(a).expect("it can be saved")
}

// ---- there and back ----

#[test]
fn a_loaded_program_is_the_one_that_was_saved() {
    let mut rng = Rng::new(1);
    for (name, program) in gallery() {
        let text = serde_json::to_string_pretty(&program).expect("it can be saved");
        let back: Program = serde_json::from_str(&text).expect("it can be loaded");
        assert_eq!(back, program, "{name}");
        assert_eq!(back.to_string(), program.to_string());
        assert_eq!(loaded(&saved(&program)), Ok(back.clone()));
        let x = inputs(&mut rng, &program);
        let (y, z) = (interpret(&program, x.clone()), interpret(&back, x));
        assert!(y.iter().map(bits).eq(z.iter().map(bits)), "{name}");
    }
}

#[test]
fn names_of_inputs_and_outputs_stay() {
    let program = staged([("x", &[], DType::F64)], |[x]| vec![x.unary(Unary::Sin)]).named(&["a\"b\n"], &["loss"]);
    assert_eq!(loaded(&saved(&program)), Ok(program));
}

/// A function of the host that is called for each element, along two axes of other arguments.
#[test]
fn functions_of_the_host_in_bulk_stay() {
    let kind = |shape: &[usize], dtype| (Shape::from_slice(shape), dtype);
    let takes = vec![kind(&[2], DType::F64), kind(&[], DType::I64)];
    let external = External::unlinked("f", takes, vec![kind(&[2], DType::F64), kind(&[], DType::Bool)]);
    let external = external.batched(3, vec![true, false]).batched(4, vec![false, true]);
    let mut b = Builder::new();
    let slot = |shape: &[usize], dtype| Slot { name: String::new(), shape: Shape::from_slice(shape), dtype };
    let args = vec![b.input(slot(&[3, 2], DType::F64)), b.input(slot(&[4], DType::I64))];
    let call = b.apply(Op::Call(Call::External(Arc::new(external)), args));
    let results = [0, 1].map(|k| b.apply(Op::Output(call, k)));
    let program = b.finish(&results, &[]);
    assert_eq!(program.outputs().iter().map(|y| &y.shape[..]).collect::<Vec<_>>(), [&[4, 3, 2][..], &[4, 3]]);
    let back = loaded(&saved(&program)).expect("it can be loaded");
    assert_eq!(back, program);
    assert_eq!(back.outputs(), program.outputs());
}

#[test]
fn views_of_all_kinds_stay() {
    let mut rng = Rng::new(2);
    for _ in 0..800 {
        let shape = random_shape(&mut rng, 3);
        let op = random_linear(&mut rng, &shape);
        let program =
            staged([("x", &shape, DType::F64)], |[x]| vec![x.linear(&op), x.linear(&op).linear(&op.adjoint())]);
        assert_eq!(loaded(&saved(&program)), Ok(program), "{op}");
        let op = random_contract(&mut rng);
        let program = staged([("a", op.a.source(), DType::F64), ("b", op.b.source(), DType::F64)], |[a, b]| {
            vec![Ast::contract(&op, &a, &b)]
        });
        assert_eq!(loaded(&saved(&program)), Ok(program), "{op}");
    }
}

#[test]
fn arrays_stay_to_the_bit() {
    let nan = |bits| f64::from_bits(bits);
    let odd = [0.1, -0.0, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX, 1.0 / 3.0, nan(0x7ff8_0000_0000_0001)];
    let mut rng = Rng::new(3);
    let arrays = [
        Array::from(odd),
        Array::from(nan(0xfff0_0000_0000_0007)),
        Array::from(odd.map(|x| x as f32)),
        Array::from(f32::from_bits(0xffc0_0001)),
        Array::from([i64::MIN, 0, i64::MAX]),
        Array::from([[true], [false]]),
        Array::full(&[1 << 20, 1 << 20], f64::NAN),
        Array::new::<f64>(&[3, 0], vec![]),
        Array::zeros(&[3, 0], DType::Bool),
        rng.normal(&[50, 20], 0.0, 1.0),
        Array::new(&[400], (0..400).map(|k| f64::from_bits(k * 0x00a3_1f57_9bdf_0123)).collect()),
    ];
    for a in arrays {
        let text = serde_json::to_string(&a).expect("it can be saved");
        let back: Array = serde_json::from_str(&text).expect("it can be loaded");
        assert_eq!((back.shape(), back.dtype()), (a.shape(), a.dtype()));
        assert_eq!(bits(&back), text);
        if let (Some(x), Some(y)) = (a.values::<f64>(), back.values::<f64>()) {
            match (x, y) {
                (Values::Splat(x), Values::Splat(y)) => assert_eq!(x.to_bits(), y.to_bits()),
                (Values::Dense(x), Values::Dense(y)) => {
                    assert!(x.iter().map(|x| x.to_bits()).eq(y.iter().map(|y| y.to_bits())));
                }
                (Values::Splat(_), Values::Dense(_)) | (Values::Dense(_), Values::Splat(_)) => panic!("{text}"),
            }
        }
    }
}

#[test]
fn a_long_program_is_saved_and_loaded() {
    on_a_small_stack(|| {
        let x = Term::variable(&[], DType::F64);
        let y = (0..LONG).fold(x.clone(), |y, _| y.unary(Unary::Sin));
        let program = Term::program(&[x], &[y], &[]).expect("closed");
        let text = serde_json::to_string(&program).expect("it can be saved");
        assert!(text.len() < 100 * LONG, "{} bytes", text.len());
        assert!(serde_json::from_str::<Program>(&text).is_ok_and(|back| back == program));
    });
}

fn nested<T: BaseTensor>(depth: usize, x: &Tensor<T, 0>) -> Tensor<T, 0> {
    match depth {
        0 => x.sin(),
        _ => fold(Tensor::scalar(0.0), Tensor::<T, 1>::constant([1.0, 2.0]), |h, e: &Tensor<T, 0>| {
            h + nested(depth - 1, &(x * e))
        }),
    }
}

#[test]
fn loops_are_saved_up_to_a_depth() {
    let deep = |depth| staged([("x", &[], DType::F64)], |[x]| vec![nested(depth, &Tensor::from_raw(x)).into_raw()]);
    assert_eq!(loaded(&saved(&deep(100))), Ok(deep(100)));
    let error = serde_json::to_value(deep(130)).expect_err("too deep").to_string();
    assert!(error.starts_with("save: loops must nest less than 128 deep, but "), "{error}");
}

// ---- what is no program ----

/// A program of one input and some operations, of which the last is the output.
fn file(input: Value, operations: Value) -> Value {
    let last = operations.as_array().map_or(0, Vec::len);
    let outputs = json!([{"name": "", "of": last}]);
    json!({"format": 1, "programs": [{"inputs": [input], "operations": operations, "outputs": outputs}]})
}

#[test]
fn the_format_comes_first() {
    let other = json!({"format": 2, "programs": {"quite": "different"}});
    let expected = "load: the format must be 1, but it is 2; save the program again with this version of the library";
    assert_eq!(loaded(&other), Err(expected.into()));
    let error = serde_json::from_str::<Program>(&other.to_string()).expect_err("another format").to_string();
    assert!(error.starts_with(expected), "{error}");
    assert!(loaded(&json!({"programs": []})).is_err_and(|e| e.contains("missing field `format`")));
    let text = serde_json::to_string(&staged([("x", &[], DType::F64)], |[x]| vec![x])).expect("it can be saved");
    assert!(text.starts_with("{\"format\":1,"), "{text}");
}

#[test]
fn what_is_no_program_is_refused_in_words() {
    let x = json!({"name": "x", "dtype": "f64", "shape": [2, 3]});
    let node = |op: Value, shape: Value| json!([{"op": op, "dtype": "f64", "shape": shape}]);
    let view = |source: Value, shape: Value, matrix: Value| json!({"at": {"source": source, "shape": shape, "matrix": matrix, "offset": [0], "bounds": [[0, 3]]}});
    let affine = |from: Value, into: Value| json!({"affine": {"from": from, "into": into, "of": 0}});
    let eye = json!([1]);
    // A view with these bounds, of an array of as many elements.
    let within = |bounds: [usize; 2]| json!({"at": {"source": [3], "shape": [3], "matrix": [1], "offset": [0], "bounds": [bounds]}});
    // A view of an array of 3 by so many positions; a function of the host without arguments.
    let at = |n: usize| json!({"at": {"source": [3], "shape": [n], "matrix": [1], "offset": [0], "bounds": [[0, n]]}});
    let contract = |a: Value, b: Value, out: Value| json!({"contract": {"a": a, "b": b, "out": out, "of": [0, 0]}});
    let external = |each: Value| json!({"name": "f", "takes": [], "returns": [[[], "f64"]], "each": each, "of": []});
    let cases = [
        (node(json!({"unary": ["sin", 1]}), json!([2, 3])), "operand 1 does not come before its use"),
        (node(json!({"unary": ["sine", 0]}), json!([2, 3])), "\"sine\" is not an operation of its kind"),
        (node(json!({"unary": ["sin", 0]}), json!([3, 2])), "the result is said to be f64 [3, 2] and is f64 [2, 3]"),
        (
            json!([{"op": {"unary": ["sin", 0]}, "dtype": "f32", "shape": [2, 3]}]),
            "the result is said to be f32 [2, 3] and is f64 [2, 3]",
        ),
        (node(json!({"ternary": ["sin", 0]}), json!([2, 3])), "unknown variant `ternary`"),
        (node(json!({"gather": [0, [0]]}), json!([2, 3])), "gather: indices must be i64, but one is f64"),
        (node(json!({"concat": [2, [0]]}), json!([2, 3])), "concat: the axis must be below the rank 2, but it is 2"),
        (node(json!({"concat": [0, []]}), json!([2, 3])), "concat: needs at least one part, but the list is empty"),
        (node(json!({"reshape": [[7], 0]}), json!([7])), "[2, 3] is reshaped into [7]"),
        (node(json!({"cast": ["i64", 0]}), json!([2, 3])), "f64 is cast into i64"),
        (node(json!({"discrete": ["and", [0]]}), json!([2, 3])), "and: the number of operands must be 2, but it is 1"),
        (node(json!({"discrete": [{"arg_max": 5}, [0]]}), json!([2])), "argmax: the axis must be below the rank 2"),
        (node(json!({"reduce": [{"max": 5}, 0]}), json!([2])), "max: the axis must be below the rank 2"),
        (node(json!({"output": [0, 0]}), json!([2, 3])), "a result is taken of what has but one"),
        (
            node(
                affine(view(json!([3]), json!([3]), eye.clone()), view(json!([3]), json!([3]), eye.clone())),
                json!([3]),
            ),
            "view: the argument must have shape [3], but it has [2, 3]",
        ),
        (
            node(
                affine(view(json!([3]), json!([3]), json!([1, 1])), view(json!([3]), json!([3]), eye.clone())),
                json!([3]),
            ),
            "the parts of a view do not fit together",
        ),
        (node(affine(within([2, 1]), at(3)), json!([3])), "the parts of a view do not fit together"),
        (node(affine(within([0, 4]), at(3)), json!([3])), "the parts of a view do not fit together"),
        (
            node(
                affine(view(json!([3]), json!([3]), json!([i64::MAX])), view(json!([3]), json!([3]), eye)),
                json!([3]),
            ),
            "the parts of a view do not fit together",
        ),
        (
            node(
                json!({"loop": {"n": 2, "reverse": false, "body": 0, "init": [], "xs": [0], "captured": []}}),
                json!([]),
            ),
            "the body of a loop does not come before it",
        ),
        (node(json!({"constant": {"dtype": "f16", "shape": [], "elements": {"every": "1"}}}), json!([])), "\"f16\""),
        (
            node(json!({"constant": {"dtype": "f64", "shape": [2], "elements": {"each": "1"}}}), json!([2])),
            "there are 1",
        ),
        (
            node(json!({"constant": {"dtype": "i64", "shape": [2], "elements": {"each": "1 2.5"}}}), json!([2])),
            "elements must be i64, but one is \"2.5\"",
        ),
        (
            node(
                json!({"constant": {"dtype": "f64", "shape": [], "elements": {"every": "NaN:3ff0000000000000"}}}),
                json!([]),
            ),
            "elements must be f64, but one is \"NaN:3ff0000000000000\"",
        ),
        (
            node(json!({"constant": {"dtype": "f32", "shape": [], "elements": {"each": "NaN:7f800000"}}}), json!([])),
            "elements must be f32, but one is \"NaN:7f800000\"",
        ),
        (
            node(
                json!({"constant": {"dtype": "f64", "shape": [1u64 << 40, 1u64 << 40], "elements": {"every": "1"}}}),
                json!([2]),
            ),
            "the shape must be one of an array",
        ),
    ];
    let cases = cases.into_iter().chain([
        (node(affine(at(2), at(3)), json!([3])), "two views have different iteration spaces"),
        (node(contract(at(3), at(2), at(3)), json!([3])), "three views have different iteration spaces"),
        (node(contract(at(3), at(3), at(2)), json!([3])), "three views have different iteration spaces"),
        (
            node(json!({"external": external(json!([[1, [true]]]))}), json!([])),
            "the stacks of an external function do not fit its arguments",
        ),
        (
            node(json!({"external": external(json!([[1u64 << 60, []]]))}), json!([])),
            "the stacks of an external function do not fit its arguments",
        ),
        (
            json!([
                {"op": {"external": external(json!([]))}, "dtype": "f64", "shape": []},
                {"op": {"unary": ["sin", 1]}, "dtype": "f64", "shape": []},
            ]),
            "a loop or function is used as if it had one result",
        ),
    ]);
    for (operations, words) in cases {
        let error = loaded(&file(x.clone(), operations)).expect_err(words);
        assert!(error.contains(words), "{error}");
    }
    let error = loaded(&json!({"format": 1, "programs": []})).expect_err("nothing");
    assert_eq!(error, "load: there must be a program, but the list is empty; the file is damaged, save it again");
    assert!(loaded(&json!("program")).is_err());
}

/// Loops and functions have results, which are taken before they are used.
#[test]
fn loops_and_functions_are_no_values() {
    let x = json!({"name": "", "dtype": "f64", "shape": []});
    let body = json!({"inputs": [x.clone()], "operations": [], "outputs": [{"name": "", "of": 0}]});
    let several = [
        json!({"loop": {"n": 2, "reverse": false, "body": 0, "init": [0], "xs": [], "captured": []}}),
        json!({"custom": {"name": "f", "primal": 0, "jvp": null, "vjp": null, "of": [0]}}),
    ];
    for op in several {
        for operand in [1, 2] {
            let operations = json!([
                {"op": op, "dtype": "f64", "shape": []},
                {"op": {"output": [1, 0]}, "dtype": "f64", "shape": []},
                {"op": {"unary": ["sin", operand]}, "dtype": "f64", "shape": []},
            ]);
            let main = json!({"inputs": [x.clone()], "operations": operations, "outputs": [{"name": "", "of": 3}]});
            let found = loaded(&json!({"format": 1, "programs": [body.clone(), main]}));
            match operand {
                1 => {
                    let error = found.expect_err("it has several results");
                    assert!(error.contains("a loop or function is used as if it had one result"), "{error}");
                }
                _ => assert!(found.is_ok(), "{found:?}"),
            }
        }
    }
}

/// A file of a program whose loop has a body: both programs of the file have these fields.
fn looping(n: u64, row: Value) -> Value {
    let size = row.as_array().map_or_else(Vec::new, |row| row.clone());
    let stacked: Vec<Value> = std::iter::once(json!(n)).chain(size).collect();
    let x = json!({"name": "", "dtype": "f64", "shape": row.clone()});
    let body = json!({"inputs": [x.clone()], "operations": [], "outputs": [{"name": "", "of": 0}]});
    let trips = json!({"loop": {"n": n, "reverse": false, "body": 0, "init": [], "xs": [], "captured": [0]}});
    let operations = json!([
        {"op": trips, "dtype": "f64", "shape": []},
        {"op": {"output": [1, 0]}, "dtype": "f64", "shape": stacked},
    ]);
    let main = json!({"inputs": [x], "operations": operations, "outputs": [{"name": "", "of": 2}]});
    json!({"format": 1, "programs": [body, main]})
}

/// Wherever a size stands in a file: what no array can have is refused, before anything is computed with it.
#[test]
fn huge_sizes_are_refused_in_words() {
    let (one, two) = (json!([1u64 << 63]), json!([1u64 << 40, 1u64 << 40]));
    let input = |shape: &Value| json!({"name": "x", "dtype": "f64", "shape": shape});
    let node = |op: Value, dtype: &str, shape: &Value| json!([{"op": op, "dtype": dtype, "shape": shape}]);
    let view = |source: &Value, shape: &Value| {
        let of = |v: &Value| v.as_array().map_or(0, Vec::len);
        let bounds: Vec<Value> = shape.as_array().into_iter().flatten().map(|n| json!([0, n])).collect();
        let matrix = vec![0; of(source) * of(shape)];
        json!({"at": {"source": source, "shape": shape, "matrix": matrix, "offset": vec![0; of(source)], "bounds": bounds}})
    };
    let nothing = |source: &Value, shape: &Value| json!({"nothing": {"source": source, "shape": shape}});
    let affine = |from: Value, into: Value| json!({"affine": {"from": from, "into": into, "of": 0}});
    let contract = |a: Value, b: Value, out: Value| json!({"contract": {"a": a, "b": b, "out": out, "of": [0, 0]}});
    let (small, far) = (json!([2]), json!([1u64 << 59]));
    let (fit, large) = (
        "the parts of a view do not fit together",
        "the sizes of an array, zeros left out, must have a product of at most",
    );
    let mut cases: Vec<(Value, &str)> = Vec::new();
    for huge in [&one, &two] {
        cases.push((file(input(huge), json!([])), "a shape is too large"));
        let ok = view(&small, &small);
        for bad in [view(huge, &small), nothing(huge, &small)] {
            cases.push((file(input(&small), node(affine(bad.clone(), ok.clone()), "f64", &small)), fit));
            cases.push((file(input(&small), node(affine(ok.clone(), bad.clone()), "f64", huge)), fit));
            for [a, b, out] in [[&bad, &ok, &ok], [&ok, &bad, &ok], [&ok, &ok, &bad]] {
                let op = contract(a.clone(), b.clone(), out.clone());
                cases.push((file(input(&small), node(op, "f64", &small)), fit));
            }
        }
        cases.push((file(input(&small), node(json!({"reshape": [huge, 0]}), "f64", huge)), "a shape is too large"));
        let splat = json!({"dtype": "f64", "shape": huge, "elements": {"every": "1"}});
        cases.push((
            file(input(&small), node(json!({"constant": splat}), "f64", huge)),
            "the shape must be one of an array",
        ));
        cases.push((file(input(&small), node(json!({"unary": ["sin", 0]}), "f64", huge)), "is said to be"));
    }
    // One axis of an iteration space, a step and an offset.
    cases.push((file(input(&small), node(affine(view(&small, &one), view(&small, &one)), "f64", &small)), fit));
    for (matrix, offset) in [(1u64 << 62, 0), (0, 1u64 << 62), (1, i64::MAX as u64)] {
        let far =
            json!({"at": {"source": [2], "shape": [2], "matrix": [matrix], "offset": [offset], "bounds": [[0, 2]]}});
        cases.push((file(input(&small), node(affine(far, view(&small, &small)), "f64", &small)), fit));
    }
    // Possible operands with an impossible result.
    cases.push((file(input(&far), node(json!({"concat": [0, vec![0; 4]]}), "f64", &json!([1u64 << 61]))), large));
    let rows = json!([1u64 << 59, 1u64 << 20]);
    let operations = json!([
        {"op": {"discrete": [{"iota": 1u64 << 20}, []]}, "dtype": "i64", "shape": [1u64 << 20]},
        {"op": affine(view(&far, &rows), view(&rows, &rows)), "dtype": "f64", "shape": rows},
    ]);
    cases.push((file(input(&far), operations), fit));
    cases.push((file(input(&small), node(json!({"discrete": [{"iota": 1u64 << 63}, []]}), "i64", &one)), "iota"));
    cases.push((looping(1 << 63, json!([])), "a loop has too many trips"));
    cases.push((looping(1 << 40, json!([1u64 << 40])), "the result is too large"));
    for (file, words) in cases {
        let error = loaded(&file).expect_err(words);
        assert!(error.contains(words) && error.starts_with("load: ") && error.len() < 400, "{words}: {error}\n{file}");
    }
    // The largest sizes that can be.
    assert!(loaded(&file(input(&json!([MAX_SIZE])), json!([]))).is_ok());
    assert!(loaded(&looping(3, json!([MAX_SIZE / 3]))).is_ok());
}

/// Changes one thing somewhere in a file.
fn damage(rng: &mut Rng, value: &mut Value) {
    // Values inside are chosen more often than the whole.
    let deeper = rng.below(12) > 0;
    match value {
        Value::Array(items) if !items.is_empty() && deeper => {
            let k = rng.below(items.len());
            damage(rng, &mut items[k]);
        }
        Value::Object(fields) if !fields.is_empty() && deeper => {
            let k = rng.below(fields.len());
            if let Some((_, field)) = fields.iter_mut().nth(k) {
                damage(rng, field);
            }
        }
        Value::Array(items) => {
            let k = rng.below(items.len().max(1));
            match (items.is_empty(), rng.below(3)) {
                (false, 0) => drop(items.remove(k)),
                (false, 1) => items.push(items[k].clone()),
                (false, _) => items.swap(0, k),
                (true, _) => items.push(json!(0)),
            }
        }
        Value::Object(fields) => {
            let name = fields.keys().nth(rng.below(fields.len().max(1))).cloned();
            name.map(|name| fields.remove(&name));
        }
        Value::Number(_) => {
            let numbers =
                [json!(0), json!(1), json!(2), json!(3), json!(7), json!(-1), json!(u64::MAX), json!(1u64 << 47)];
            *value = numbers[rng.below(numbers.len())].clone();
        }
        Value::String(_) => {
            let words = ["f64", "f32", "i64", "bool", "sin", "add", "<", "+", "floor", "1 2", "NaN:0", ""];
            *value = json!(words[rng.below(words.len())]);
        }
        Value::Bool(b) => *b = !*b,
        Value::Null => {}
    }
}

/// Whether a program is small enough to be run.
fn is_small(program: &Program) -> bool {
    let few = |shape: &[usize]| size(shape) <= 2000;
    program.nodes().iter().all(|node| {
        few(&node.shape)
            && match &node.op {
                Op::Linear(op, _) => match &**op {
                    Linear::Affine { from, .. } => few(from.shape()),
                    Linear::Reshape { .. }
                    | Linear::Cast { .. }
                    | Linear::Fourier { .. }
                    | Linear::PrefixSum { .. } => true,
                },
                Op::Contract(op, ..) => few(op.a.shape()),
                Op::Loop(l) => l.n <= 50 && is_small(&l.body),
                Op::Custom(c, _) => [Some(c.primal()), c.jvp(), c.vjp()].into_iter().flatten().all(is_small),
                Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) => true,
                Op::Select(_)
                | Op::Reduce(..)
                | Op::Gather(..)
                | Op::ScatterAdd(..)
                | Op::Concat(..)
                | Op::Call(..)
                | Op::Output(..) => true,
            }
    })
}

#[test]
fn a_damaged_file_is_refused_or_runs() {
    let mut rng = Rng::new(4);
    let (mut refused, mut ran) = (0, 0);
    let files: Vec<Value> = gallery().iter().map(|(_, program)| saved(program)).collect();
    for k in 0..5000 {
        let mut file = files[k % files.len()].clone();
        for _ in 0..1 + rng.below(3) {
            damage(&mut rng, &mut file["programs"]);
        }
        match loaded(&file) {
            Err(message) => {
                assert!(!message.is_empty() && message.len() < 400, "{message}");
                refused += 1;
            }
            Ok(program) if is_small(&program) => {
                let y = interpret(&program, inputs(&mut rng, &program));
                for (slot, y) in program.outputs().iter().zip(&y) {
                    assert_eq!((&slot.shape[..], slot.dtype), (y.shape(), y.dtype()));
                }
                assert!(!program.to_string().is_empty());
                assert_eq!(loaded(&saved(&program)), Ok(program));
                ran += 1;
            }
            Ok(_) => {}
        }
    }
    assert!(refused > 500 && ran > 125, "{refused} were refused, {ran} ran");
}

#[test]
fn views_from_a_file_are_those_of_the_constructors() {
    let nothing = View::affine(&[2], &[], &[], &[5]);
    let op = Contract::new(nothing.clone(), View::axes(&[], &[]), View::affine(&[1], &[], &[], &[0]));
    let program = staged([("a", &[2], DType::F64), ("b", &[], DType::F64)], |[a, b]| vec![Ast::contract(&op, &a, &b)]);
    assert!(nothing.is_empty());
    assert_eq!(loaded(&saved(&program)), Ok(program));
}
