//! Small programs with a step of each kind, by which the unsafe code of runs is checked: `make miri` runs them in an
//! interpreter that sees every access.

use super::compile;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::{Binary, Compare, Discrete, Linear, Unary};
use crate::program::{Term, interpret};

/// Runs a program of one function twice, and compares.
fn agrees(inputs: &[Array], f: impl FnOnce(&[Term]) -> Vec<Term>) -> String {
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let program = Term::program(&variables, &f(&variables), &[]).expect("a closed program");
    let executable = compile(&program);
    executable.run(inputs);
    let (found, needed) = (executable.run(inputs), interpret(&program, inputs.to_vec()));
    let numbers = |a: &Array| a.cast::<f64>().to_vec::<f64>().expect("numbers");
    for (x, y) in found.iter().zip(&needed) {
        let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-14 * y.abs();
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
    // A recurrence of one instruction, and equal instructions that run together.
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
        // More elements than a loop takes number by number.
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
