//! Small programs with a step of each kind, which exercise the unsafe code of the executor.
//!
//! `make miri` runs them in Miri, which checks every memory access; `make tsan` runs them under a detector of data
//! races. Partitioned steps run on several threads, each of which accesses slices of its own rows.

use crate::array::Array;
use crate::backend::{Executable, compile, compile_in_small_blocks};
use crate::base::BaseTensor;
#[cfg(feature = "rayon")]
use crate::kernels::threads::with_threads;
use crate::ops::{Binary, Compare, Contract, Discrete, Linear, Reduce, Unary, View};
use crate::program::{Program, Term, interpret};

/// Runs a program of one function twice, and compares.
fn agrees(inputs: &[Array], f: impl FnOnce(&[Term]) -> Vec<Term>) -> String {
    agrees_in(compile, inputs, f)
}

/// [`agrees`] for a program that `compile` compiles.
fn agrees_in(compile: fn(&Program) -> Executable, inputs: &[Array], f: impl FnOnce(&[Term]) -> Vec<Term>) -> String {
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let program = Term::program(&variables, &f(&variables), &[]).expect("a closed program");
    let executable = compile(&program);
    executable.run(inputs);
    let (found, needed) = (executable.run(inputs), interpret(&program, inputs.to_vec()));
    let numbers = |a: &Array| a.cast::<f64>().to_vec::<f64>().expect("numbers");
    for (x, y) in found.iter().zip(&needed) {
        let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-14 * y.abs().max(1.0);
        assert!(numbers(x).iter().zip(&numbers(y)).all(near), "{x} and {y}\n{program}");
    }
    executable.explain()
}

#[test]
fn numbers_in_loops_and_alone() {
    let inputs = [Array::scalar(0.3), Array::from([0.5, -1.0, 2.0]), Array::scalar(2i64), Array::from([1.5, 2.5, 3.5])];
    let text = agrees(&inputs, |v| {
        let (carry, outputs) =
            Term::map_accum(3, true, vec![v[0].clone(), v[2].clone()], &v[1..2], &mut |carry, rows| {
                let h = carry[0].binary(Binary::Mul, &rows[0]).unary(Unary::Tanh);
                let at = v[3].gather(&[carry[1].clone()]);
                let below = Term::discrete(&Discrete::Compare(Compare::Lt), &[&h, &at]);
                let next = Term::select(&below, &h.binary(Binary::Sub, &at).unary(Unary::Neg), &h);
                (vec![next.clone(), carry[1].clone()], vec![carry[0].clone(), next, below])
            });
        [carry, outputs].concat()
    });
    assert!(text.contains("numbers, 3 trips"), "{text}");
    // A linear recurrence of one instruction, and a run of equal instructions.
    let text = agrees(&inputs, |v| {
        let (carry, _) = Term::map_accum(3, false, vec![v[0].clone()], &v[1..2], &mut |carry, rows| {
            (vec![carry[0].binary(Binary::Mul, &rows[0])], Vec::new())
        });
        let number = |k: i64| Term::constant((k as f64 * 0.1).into()).binary(Binary::Add, &v[0]);
        let wide = (0..20).map(|k| number(k).unary(Unary::Sin)).reduce(|a, b| a.binary(Binary::Add, &b));
        carry.into_iter().chain(wide).collect()
    });
    assert!(text.contains("recurrence of 3 trips") && text.contains("20 sin"), "{text}");
}

#[test]
fn arrays_in_tiles_rows_and_products() {
    let a = Array::new(&[2, 3], (0..6).map(|i| f64::from(i) * 0.5 - 1.0).collect());
    let b = Array::new(&[3, 2], (0..6).map(|i| f64::from(i) * 0.25).collect());
    let text = agrees(&[a, b], |v| {
        let sums = v[0].unary(Unary::Exp).linear(&Linear::sum(&[2, 3], &[1]));
        let rows = v[0].binary(Binary::Div, &sums.linear(&Linear::replicate(&[2, 3], &[0])));
        let turned = v[1].linear(&Linear::permute(&[3, 2], &[1, 0])).binary(Binary::Mul, &v[0]);
        // More elements than a loop of register code takes.
        let wide = v[1].linear(&Linear::replicate(&[3, 2, 3], &[0, 1]));
        let (carry, outputs) = Term::map_accum(2, false, vec![wide], &[v[0].clone()], &mut |carry, rows| {
            let row = rows[0].linear(&Linear::replicate(&[3, 2, 3], &[0]));
            let next = carry[0].binary(Binary::Add, &row);
            (vec![next.clone()], vec![next])
        });
        [vec![rows, turned], carry, outputs].concat()
    });
    assert!(text.contains("loop of 2 trips") && text.contains("group of 6"), "{text}");
}

/// An array of a shape with distinct numbers of both signs.
fn waves(shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    Array::new(shape, (0..n).map(|i| (i as f64 * 0.7).sin() * 2.0).collect())
}

/// [`agrees`] in small row blocks and parts, on three threads, with a plan whose text contains all of `words`.
#[cfg(feature = "rayon")]
fn agrees_on_threads(words: &[&str], f: impl Fn(&[Term]) -> Vec<Term> + Send, shapes: &[&[usize]]) {
    with_threads(3, || {
        let inputs: Vec<Array> = shapes.iter().map(|shape| waves(shape)).collect();
        let text = agrees_in(compile_in_small_blocks, &inputs, f);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    });
}

#[test]
#[cfg(feature = "rayon")]
fn rows_on_several_threads() {
    // An extremum, a group and a sum along rows, and a stencil along rows that another step of the same row block
    // writes.
    let normalized = |v: &[Term]| {
        let rows = |y: &Term| y.linear(&Linear::replicate(&[24, 5], &[0]));
        let y = v[0].binary(Binary::Sub, &rows(&v[0].reduce(Reduce::Max { axis: 1 }))).unary(Unary::Exp);
        let share = y.binary(Binary::Div, &rows(&y.linear(&Linear::sum(&[24, 5], &[1]))));
        let left = share.linear(&Linear::slice(&[24, 5], 1, 0, 4, 1)).linear(&Linear::pad(&[24, 4], &[0, 1], &[0, 0]));
        let down = left.binary(Binary::Mul, &share).linear(&Linear::sum(&[24, 5], &[0]));
        vec![share.binary(Binary::Add, &left), down]
    };
    agrees_on_threads(&["24 rows", "in up to"], normalized, &[&[24, 5]]);
    // A batched product of small matrices between elementwise operations, and transposed values.
    let multiplied = |v: &[Term]| {
        let views = [&[0, 1, 3][..], &[0, 3, 2], &[0, 1, 2]].map(|axes| View::axes(&[12, 3, 2, 4], axes));
        let [a, b, out] = views;
        let product = Contract::new(a, b, out);
        let product = Term::contract(&product, &v[0].unary(Unary::Sin), &v[1].unary(Unary::Cos));
        let turned = v[0].linear(&Linear::permute(&[12, 3, 4], &[0, 2, 1])).unary(Unary::Exp);
        vec![product.unary(Unary::Tanh), turned.linear(&Linear::reshape(&[12, 4, 3], &[144])), product]
    };
    agrees_on_threads(&["in up to"], multiplied, &[&[12, 3, 4], &[12, 4, 2]]);
}

#[test]
#[cfg(feature = "rayon")]
fn loops_and_sums_on_several_threads() {
    for reverse in [false, true] {
        let oscillators = |v: &[Term]| {
            let (carry, outputs) = Term::map_accum(3, reverse, vec![v[0].clone()], &v[1..], &mut |carry, rows| {
                let next = carry[0].unary(Unary::Sin).binary(Binary::Add, &rows[0]);
                (vec![next.clone()], vec![carry[0].clone(), next.unary(Unary::Tanh), next])
            });
            let sums = outputs[1].linear(&Linear::sum(&[3, 12, 2], &[0, 2]));
            [carry, outputs, vec![sums]].concat()
        };
        agrees_on_threads(&["loop of 3 trips", "in up to"], oscillators, &[&[12, 2], &[3, 12, 2]]);
    }
}
