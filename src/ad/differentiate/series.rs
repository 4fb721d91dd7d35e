//! The derivatives of any order in the first input, a number.
//!
//! Law: one Taylor expansion and repeated differentiation give the same derivative; the one with fewer operations runs.

use super::inputs::program_of;
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::dtype::DType;
use crate::interpreters::dual::{Dual, Forward};
use crate::interpreters::jet::{Expansion, Jet};
use crate::ops::Binary;
use crate::passes::{Options, optimize_with};
use crate::program::{Program, Term, interpret};
use crate::shape::Show;

/// The lowest order at which one Taylor expansion is tried. `tests/derivatives/taylor.rs` prints the numbers of
/// operations of both methods: in programs that grow with each derivative, an expansion has fewer operations from about
/// order 6 on.
const EXPANDED: usize = 4;

/// The `n`-th derivative of a program in its first input, a number: by one Taylor expansion or by repeated
/// differentiation, whichever has fewer operations.
#[track_caller]
pub(super) fn nth(program: Program, n: usize, options: Options) -> Program {
    let expanded = (n >= EXPANDED).then(|| optimize_with(&nth_in_first(&program, n), options));
    let mut again = program;
    for _ in 0..n {
        again = optimize_with(&derivative_in_first(&again), options);
        if let Some(expanded) = expanded.as_ref().filter(|expanded| expanded.size() < again.size()) {
            return expanded.clone();
        }
    }
    again
}

/// The program of these inputs, which have the names of those of the recorded program.
fn of_inputs(program: &Program, inputs: &[Term], results: &[Term]) -> Program {
    let names: Vec<String> = program.inputs().iter().map(|slot| slot.name.clone()).collect();
    program_of(inputs, results, &names)
}

/// The derivative in the first input, a number; the other inputs are constants.
#[track_caller]
pub(in crate::ad) fn derivative_in_first(program: &Program) -> Program {
    let x = &program.inputs()[0];
    if !x.shape.is_empty() || !x.dtype.is_float() {
        panic!("derivative: the input must be a scalar float, but it is {} {}; use jvp", x.dtype, Show(&x.shape));
    }
    let one = Term::constant(Array::ones(&x.shape, x.dtype));
    let variables = Term::variables(program.inputs());
    let sweep = Forward::new();
    let mut inputs = vec![sweep.input(&variables[0], &one)];
    inputs.extend(variables[1..].iter().map(|x| <Dual<Term> as Lift<Term>>::lift(x.clone())));
    let y = interpret(program, inputs);
    of_inputs(program, &variables, &[sweep.result(&y[0]).1])
}

/// The `n`-th derivative in the first input, a scalar, by one Taylor expansion; the other inputs are constants.
#[track_caller]
fn nth_in_first(program: &Program, n: usize) -> Program {
    let x = &program.inputs()[0];
    let number = |c: f64| Term::constant(Array::full_as(&x.shape, x.dtype, c));
    let variables = Term::variables(program.inputs());
    let expansion = Expansion::new(n);
    let mut inputs = vec![expansion.input(&[variables[0].clone(), number(1.0)])];
    inputs.extend(variables[1..].iter().map(|x| <Jet<Term> as Lift<Term>>::lift(x.clone())));
    let y = interpret(program, inputs);
    let coefficient = match expansion.result(&y[0]) {
        Ok(mut all) => all.swap_remove(n),
        Err(message) => panic!("{message}"),
    };
    // A factorial that is out of range is several factors: a coefficient of 0 stays 0.
    let most = if x.dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX };
    let (mut factors, mut factor) = (Vec::new(), 1.0);
    for k in (1..=n).map(|k| k as f64) {
        if factor > most / k {
            factors.push(factor);
            factor = 1.0;
        }
        factor *= k;
    }
    factors.push(factor);
    let derivative = factors.into_iter().fold(coefficient, |y, c| y.binary(Binary::Mul, &number(c)));
    of_inputs(program, &variables, &[derivative])
}
