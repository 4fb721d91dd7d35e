//! Printed programs, and the names of linear and bilinear operations.
//!
//! `printing.txt` has the printed programs, plain and with kinds: `make bless` writes that file anew, and a reviewer
//! reads the difference. Laws: programs, and operations, that print alike compute alike; a name is that of the
//! constructor; names never clash; a text takes no more memory and stack than the program.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::fs;

use polygrad::array::Rng;
use polygrad::interpreters::Ast;
use polygrad::ops::{Binary, Contract, Linear, Unary, View};
use polygrad::program::{Term, interpret};
use polygrad::{Array, BaseTensor, DType, Tensor, fold};

use crate::programs::{gallery, staged};
use crate::root::root;
use crate::support::{LONG, on_a_small_stack, random, random_contract, random_linear, random_shape};

// ---- golden programs ----

#[test]
fn programs_print_as_recorded() {
    let mut text = String::new();
    for (name, program) in gallery() {
        writeln!(text, "== {name}\n{program}\n").expect("a string takes text");
    }
    for (name, program) in gallery().into_iter().filter(|(name, _)| name.starts_with("loop")) {
        writeln!(text, "== {name}, with kinds\n{program:#}\n").expect("a string takes text");
    }
    let path = root().join("tests/programs/printing.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.split("== ").zip(recorded.split("== ")) {
        assert_eq!(now, then, "a program prints differently: if it should, run `make bless` and read the difference");
    }
    assert_eq!(text.len(), recorded.len(), "programs have come or gone: run `make bless` and read the difference");
}

#[test]
fn lines_are_short() {
    for (name, program) in gallery() {
        for line in program.to_string().lines() {
            assert!(line.len() <= 100, "{name}: {line}");
        }
    }
}

// ---- expressions ----

/// Every expression of two variables with at most this many operations along a path.
fn expressions(depth: usize, x: &Ast, y: &Ast) -> Vec<Ast> {
    let mut all = vec![x.clone(), y.clone(), Ast::constant(Array::from(-2.0)), Ast::constant(Array::from(0.5))];
    if depth == 0 {
        return all;
    }
    let below = expressions(depth - 1, x, y);
    for (k, a) in below.iter().enumerate() {
        all.push(a.unary(Unary::Neg));
        all.push(a.unary(Unary::Sin));
        // All pairs would be too many; each takes every place.
        for b in below.iter().skip(k % 3).step_by(3) {
            for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Atan2] {
                all.push(a.binary(op, b));
            }
        }
    }
    all
}

#[test]
fn programs_that_print_alike_compute_alike() {
    let (x, y) = (Term::variable(&[], DType::F64), Term::variable(&[], DType::F64));
    let mut seen: HashMap<String, f64> = HashMap::new();
    for e in expressions(2, &x, &y) {
        let program = Term::program(&[x.clone(), y.clone()], &[e], &[]).expect("closed");
        let value = interpret(&program, vec![Array::from(0.7), Array::from(-1.3)]);
        let value: f64 = value[0].item().expect("a number");
        let before = *seen.entry(program.to_string()).or_insert(value);
        let same = (before - value).abs() <= 1e-12 * value.abs() || before.to_bits() == value.to_bits();
        assert!(same, "{before} or {value}:\n{program}");
    }
    assert!(seen.len() > 1000, "only {} texts", seen.len());
}

type Mask<'a> = &'a dyn Fn(&Tensor<Ast, 1>, &Tensor<Ast, 1>) -> Tensor<Ast, 1, bool>;

#[test]
fn logic_and_comparisons_have_the_brackets_they_need() {
    let print = |f: Mask<'_>| {
        let program = staged([("x", &[2], DType::F64), ("y", &[2], DType::F64)], |[x, y]| {
            vec![f(&Tensor::from_raw(x), &Tensor::from_raw(y)).into_raw()]
        });
        let text = program.to_string();
        text.lines().nth(1).expect("a line").trim().trim_start_matches("return ").to_owned()
    };
    let both = print(&|x, y| (x.lt(y) & x.gt(0.0)) | y.gt(1.0));
    assert_eq!(both, "x < y and x > 0.0 or y > 1.0");
    assert_eq!(print(&|x, y| x.lt(y) & (x.gt(0.0) | y.gt(1.0))), "x < y and (x > 0.0 or y > 1.0)");
    assert_eq!(print(&|x, y| !(x.lt(y) & x.gt(-1.0))), "not (x < y and x > -1.0)");
    assert_eq!(print(&|x, y| (x + y).le(&(x * y))), "x + y <= x * y");
}

// ---- names ----

#[test]
fn names_never_clash() {
    let scalar = |name| (name, &[][..], DType::F64);
    let program =
        staged([scalar("t0"), scalar(""), scalar("x0"), scalar("t0"), scalar("a b`\n")], |[a, b, c, d, e]| {
            let y = a.unary(Unary::Sin).binary(Binary::Add, &b.unary(Unary::Sin));
            let z = c.binary(Binary::Mul, &d).binary(Binary::Mul, &e);
            vec![y.binary(Binary::Mul, &y.unary(Unary::Cos)), z.clone(), z]
        });
    let expected = "\
program(t0: f64, x1: f64, x0: f64, t0_1: f64, `a b\\u{60}\\n`: f64) {
  t1 = sin t0 + sin x1
  t2 = `a b\\u{60}\\n` * (x0 * t0_1)
  return (t1 * cos t1, t2, t2)
}";
    assert_eq!(program.to_string(), expected);
    let named = program.named(&["p", "q", "r", "s", "u"], &["loss", "", "2"]);
    assert_eq!(named.to_string().lines().nth(3), Some("  return (loss = t0 * cos t0, t1, `2` = t1)"));
}

#[test]
fn constants_say_what_is_not_known_around_them() {
    let constants: [(Array, &str); 12] = [
        (Array::from(2.0), "2.0"),
        (Array::from(-0.0), "-0.0"),
        (Array::from(f64::NAN), "NaN"),
        (Array::from(2.0f32), "f32(2.0)"),
        (Array::from(7i64), "7"),
        (Array::from(true), "true"),
        (Array::full(&[2, 3], 0.5), "f64[2, 3](0.5)"),
        (Array::from([[1.0, 2.0], [3.0, 4.0]]), "[[1.0, 2.0], [3.0, 4.0]]"),
        (Array::from([1.0f32, 2.0]), "f32([1.0, 2.0])"),
        (Array::zeros(&[0, 3], DType::F64), "f64[0, 3](0.0)"),
        (Array::new::<i64>(&[0, 3], vec![]), "i64[0, 3]()"),
        (Array::iota(1000), "i64[1000](0, 1, 2, ..)"),
    ];
    for (c, words) in constants {
        let program = Term::program(&[], &[Term::constant(c)], &[]).expect("closed");
        assert_eq!(program.to_string(), format!("program() {{\n  return {words}\n}}"));
    }
    let halved = staged([("x", &[3], DType::F32)], |[x]| {
        let half = Term::constant(Array::full(&[3], 0.5f32));
        vec![half.binary(Binary::Mul, &x), half]
    });
    assert_eq!(halved.to_string(), "program(x: f32[3]) {\n  return (0.5 * x, f32[3](0.5))\n}");
}

// ---- familiar names ----

#[test]
fn linear_operations_have_the_names_of_their_constructors() {
    let cases: [(Linear, &str); 31] = [
        (Linear::read(View::identity(&[2, 3])), "identity"),
        (Linear::sum(&[2, 3], &[0, 1]), "sum"),
        (Linear::sum(&[2, 3], &[1]), "sum axis=1"),
        (Linear::sum(&[2, 3, 4], &[0, 2]), "sum axes=[0, 2]"),
        (Linear::sum(&[2, 1, 4], &[0]), "sum axis=0"),
        (Linear::replicate(&[4, 2, 3], &[1, 2]), "replicate [4]"),
        (Linear::replicate(&[4, 5], &[]), "replicate [4, 5]"),
        (Linear::replicate(&[2, 4, 3], &[0, 2]), "replicate [2, 4, 3] axes=[0, 2]"),
        (Linear::replicate(&[3, 4, 2], &[2, 0]), "replicate [3, 4, 2] axes=[2, 0]"),
        (Linear::permute(&[2, 3, 4], &[2, 0, 1]), "permute [2, 0, 1]"),
        (Linear::permute(&[2, 3, 4], &[2, 0, 1]).adjoint(), "permute [1, 2, 0]"),
        (Linear::slice(&[5, 6], 1, 2, 3, 1), "slice axis=1 2..5"),
        (Linear::slice(&[5, 6], 0, 1, 2, 3), "slice axis=0 1..5 step=3"),
        (Linear::slice(&[5, 6], 0, 1, 0, 1), "slice axis=0 0..0"),
        (Linear::row(&[5, 6], 0, 4), "row 4"),
        (Linear::row(&[5, 6], 1, 0), "row axis=1 0"),
        (Linear::pad(&[2, 3], &[1, 0], &[0, 2]), "pad [(1, 0), (0, 2)]"),
        (Linear::slice(&[9], 0, 2, 3, 1).adjoint(), "pad [(2, 4)]"),
        (Linear::reverse(&[2, 3], 1), "reverse axis=1"),
        (Linear::reverse(&[2, 3], 1).adjoint(), "reverse axis=1"),
        (Linear::diagonal(&[3, 2, 3], 0, 2), "diagonal axes=[0, 2]"),
        (Linear::diagonal(&[3, 3], 0, 1).adjoint(), "adjoint (diagonal axes=[0, 1]) [3, 3]"),
        (Linear::window(&[9, 2], 0, 4, 2), "window axis=0 size=4 stride=2"),
        (Linear::window(&[9], 0, 4, 2).adjoint(), "adjoint (window axis=0 size=4 stride=2) [9]"),
        (Linear::reshape(&[2, 3], &[6]), "reshape [6]"),
        (Linear::reshape(&[2, 3], &[6]).adjoint(), "reshape [2, 3]"),
        (Linear::cast(&[2], DType::F64, DType::F32), "cast f32"),
        (Linear::cast(&[2], DType::F64, DType::F32).adjoint(), "cast f64"),
        (Linear::sum(&[2, 3], &[1]).batched(4), "sum axis=2"),
        (Linear::sum(&[2, 3], &[0]).adjoint(), "replicate [2]"),
        (Linear::slice(&[5], 0, 1, 2, 1).batched(4), "slice axis=1 1..3"),
    ];
    for (op, name) in cases {
        assert_eq!(op.familiar().map(|name| name.to_string()).as_deref(), Some(name), "{op:?}");
    }
    let stretched = staged([("x", &[1, 3], DType::F64)], |[x]| {
        let x = Tensor::<Ast, 2>::from_raw(x).broadcast_to([4, 3]);
        vec![x.raw().clone(), x.raw().linear(&Linear::sum(&[4, 3], &[0]))]
    });
    assert!(stretched.to_string().contains("broadcast [4, 3] x"), "{stretched}");
}

#[test]
fn constructors_on_random_shapes_are_recognized() {
    let mut rng = Rng::new(11);
    for _ in 0..3000 {
        let shape = random_shape(&mut rng, 4);
        let op = random_linear(&mut rng, &shape);
        // All of these but pairs of random views come from a constructor.
        let named = op.familiar().is_some();
        let views = matches!(&op, Linear::Affine { from, into } if !from.is_identity() && !into.is_identity());
        assert!(named || views || named_by_nobody(&op), "{op:?}");
    }
}

/// A random view that happens to be read or written plainly.
fn named_by_nobody(op: &Linear) -> bool {
    let Linear::Affine { from, into } = op else { return false };
    let odd = |v: &View| {
        !v.is_total()
            || v.is_empty()
            || (0..v.source().len()).any(|k| v.row(k).iter().filter(|m| **m != 0).count() != 1)
    };
    odd(from) || odd(into)
}

#[test]
fn linear_operations_that_print_alike_compute_alike() {
    let mut rng = Rng::new(12);
    let mut seen: HashMap<String, Linear> = HashMap::new();
    let mut met = 0;
    for _ in 0..20000 {
        let shape = random_shape(&mut rng, 2);
        let op = random_linear(&mut rng, &shape);
        for op in [op.adjoint(), op] {
            let before = seen.entry(op.to_string()).or_insert_with(|| op.clone());
            if *before != op {
                met += 1;
                let x = random(&mut rng, op.input_shape());
                assert_eq!(before.input_shape(), op.input_shape());
                assert_eq!(x.linear(before), x.linear(&op), "{op}");
            }
        }
    }
    assert!(seen.len() > 1000, "only {} texts", seen.len());
    // Few do: a name is nearly always that of one piece of data.
    assert!(met < 2000, "{met} differ in data alone");
}

#[test]
fn products_have_the_names_of_their_constructors() {
    let (x, y) = (&[0usize, 1][..], &[1usize][..]);
    let cases: [(Contract, &str); 12] = [
        (Contract::axes(&[2, 3], x, x, &[]), "dot a b"),
        (Contract::axes(&[2, 3], x, x, &[]).adjoint_left(), "outer a b"),
        (Contract::axes(&[2, 3], &[0], y, x), "outer a b"),
        (Contract::axes(&[2, 3], &[0], y, x).adjoint_left(), "matvec a b"),
        (Contract::axes(&[2, 3], &[0], y, x).adjoint_right(), "vecmat a b"),
        (Contract::axes(&[2, 3], x, y, &[0]), "matvec a b"),
        (Contract::axes(&[2, 3], x, y, &[0]).adjoint_right(), "matvec a.t b"),
        (Contract::axes(&[2, 3, 4], &[0, 2], &[2, 1], &[0, 1]), "matmul a b"),
        (Contract::axes(&[2, 3, 4], &[0, 2], &[2, 1], &[0, 1]).adjoint_left(), "matmul a b.t"),
        (Contract::axes(&[2, 3, 4], &[0, 2], &[2, 1], &[0, 1]).adjoint_right(), "matmul a.t b"),
        (Contract::axes(&[2, 3, 4], &[0, 2], &[2, 1], &[0, 1]).batched(5, true, true), "batched_matmul a b"),
        (Contract::axes(&[2, 3, 4], &[0, 2], &[2, 1], &[1, 0]), "contract [i<2, j<3, k<4] a[i, k] * b[k, j] -> [j, i]"),
    ];
    for (op, words) in cases {
        assert_eq!(op.applied("a", "b"), words);
    }
    let conv = Contract::new(
        View::affine(&[5], &[4, 3], &[1, 1], &[-1]),
        View::axes(&[4, 3], &[1]),
        View::affine(&[6], &[4, 3], &[1, 0], &[2]),
    );
    assert_eq!(conv.applied("x", "w"), "contract [i<4, j<3] x[i + j - 1] * w[j] -> [6] at [i + 2]");
}

#[test]
fn products_that_print_alike_compute_alike() {
    let mut rng = Rng::new(13);
    let mut seen: HashMap<String, Contract> = HashMap::new();
    for _ in 0..20000 {
        let op = random_contract(&mut rng);
        for op in [op.adjoint_left(), op.adjoint_right(), op] {
            let before = seen.entry(op.to_string()).or_insert_with(|| op.clone());
            if *before != op {
                let (a, b) = (random(&mut rng, op.a.source()), random(&mut rng, op.b.source()));
                let [x, y] = [&*before, &op].map(|op| Array::contract(op, &a, &b));
                crate::support::assert_close(&op.to_string(), &x, &y, 1e-12);
            }
        }
    }
}

// ---- scale ----

/// Counts what is written, and keeps nothing.
#[derive(Default)]
struct Sink {
    bytes: usize,
    longest: usize,
}

impl Write for Sink {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.bytes += s.len();
        self.longest = self.longest.max(s.len());
        Ok(())
    }
}

#[test]
fn a_long_chain_prints_in_lines_of_bounded_length() {
    on_a_small_stack(|| {
        let x = Term::variable(&[], DType::F64);
        let mut y = x.clone();
        for k in 0..LONG {
            y = if k % 3 == 0 { y.binary(Binary::Atan2, &x) } else { y.unary(Unary::Sin) };
        }
        let program = Term::program(&[x], &[y], &[]).expect("closed");
        let mut sink = Sink::default();
        write!(sink, "{program}").expect("a sink takes text");
        assert!((5 * LONG..40 * LONG).contains(&sink.bytes), "{} bytes", sink.bytes);
        assert!(sink.longest <= 120, "a piece of {} bytes", sink.longest);
    });
}

#[test]
fn deep_loops_print() {
    fn nested<T: BaseTensor>(depth: usize, x: &Tensor<T, 0>) -> Tensor<T, 0> {
        match depth {
            0 => x.sin(),
            _ => fold(Tensor::scalar(0.0), Tensor::<T, 1>::constant([1.0, 2.0]), |h, e: &Tensor<T, 0>| {
                h + nested(depth - 1, &(x * e))
            }),
        }
    }
    let program = staged([("x", &[], DType::F64)], |[x]| vec![nested(30, &Tensor::<Ast, 0>::from_raw(x)).into_raw()]);
    assert_eq!(program.to_string().matches("loop 2").count(), 30);
}
