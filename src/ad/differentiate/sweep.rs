//! Sweeps: programs at dual numbers over terms, and the programs of products with derivatives.
//!
//! Law: a product program is linear in the tangents or cotangents among its inputs.

use super::inputs::{closed, split};
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::interpreters::adval::{ADVal, Fault, Sweep};
use crate::interpreters::dual::{Dual, Forward};
use crate::program::{Program, Term, interpret};

/// A sweep, and its inputs or results.
pub(in crate::ad) type SweepValues<U> = (Sweep<U>, Vec<ADVal<U>>);

/// A new sweep, and its dual numbers: the first `count` values are inputs of the sweep, the others constants.
pub(in crate::ad) fn started<U: BaseTensor>(inputs: &[U], count: usize) -> SweepValues<U> {
    let mut sweep = Sweep::new();
    let (leaves, data) = inputs.split_at(count);
    let mut duals: Vec<ADVal<U>> = Vec::with_capacity(inputs.len());
    for leaf in leaves {
        duals.push(sweep.input(leaf));
    }
    for leaf in data {
        duals.push(<ADVal<U> as Lift<U>>::lift(leaf.clone()));
    }
    (sweep, duals)
}

/// Interprets a program at dual numbers over terms, to be differentiated in its first `count` inputs.
pub(in crate::ad) fn dual(program: &Program, inputs: &[Term], count: usize) -> SweepValues<Term> {
    let (sweep, duals) = started(inputs, count);
    (sweep, interpret(program, duals))
}

/// The program of the tangents of the results, without the values.
pub(super) fn push(program: &Program, count: usize) -> Result<Program, Fault> {
    let (x, data) = split(program, count);
    let x_dot = Term::variables(&program.inputs()[..count]);
    let (sweep, y) = dual(program, &[&x[..], &data[..]].concat(), count);
    let y_dot = sweep.try_push(&y, x_dot.clone())?;
    Ok(closed(program, &program.inputs()[..count], "dot", &[x, x_dot, data], &y_dot))
}

/// The program of the values and their tangents.
pub(super) fn jvp(program: &Program, count: usize) -> Program {
    let (x, data) = split(program, count);
    let x_dot = Term::variables(&program.inputs()[..count]);
    let sweep = Forward::new();
    let mut duals: Vec<Dual<Term>> = x.iter().zip(&x_dot).map(|(x, x_dot)| sweep.input(x, x_dot)).collect();
    duals.extend(data.iter().map(|leaf| <Dual<Term> as Lift<Term>>::lift(leaf.clone())));
    let (y, y_dot): (Vec<Term>, Vec<Term>) = interpret(program, duals).iter().map(|y| sweep.result(y)).unzip();
    let results = [y, y_dot].concat();
    closed(program, &program.inputs()[..count], "dot", &[x, x_dot, data], &results)
}

/// The program of the cotangents of the arguments, after the values if these are wanted.
pub(super) fn vjp(program: &Program, count: usize, values: bool) -> Result<Program, Fault> {
    let (x, data) = split(program, count);
    let y_bar = Term::variables(program.outputs());
    let (sweep, y) = dual(program, &[&x[..], &data[..]].concat(), count);
    let x_bar = sweep.try_pull(&y, y_bar.clone())?;
    let values: Vec<Term> = if values { y.iter().map(|y| y.primal().clone()).collect() } else { Vec::new() };
    Ok(closed(program, program.outputs(), "bar", &[x, y_bar, data], &[values, x_bar].concat()))
}

/// The program of the gradient of a program with one number as its result.
///
/// # Errors
/// When the derivative does not exist.
pub(super) fn gradient(program: &Program, count: usize) -> Result<Program, Fault> {
    let (x, data) = split(program, count);
    let (sweep, y) = dual(program, &[&x[..], &data[..]].concat(), count);
    let x_bar = sweep.try_pull(&y, vec![Term::constant(Array::ones(&[], y[0].dtype()))])?;
    Ok(closed(program, &[], "", &[x, Vec::new(), data], &x_bar))
}

/// The pullback of a program in two parts: the primal part runs before the cotangents are known.
pub(in crate::ad) struct Pullback {
    /// From the arguments and data to the values and residuals.
    pub(in crate::ad) primal: Program,
    /// From the cotangents and residuals to the cotangents of the arguments.
    pub(in crate::ad) linear: Program,
}

impl Pullback {
    /// The pullback of a program in its first `count` inputs.
    ///
    /// # Errors
    /// When the derivative does not exist.
    pub(in crate::ad) fn of(program: &Program, count: usize) -> Result<Pullback, Fault> {
        let x = Term::variables(program.inputs());
        let (sweep, y) = dual(program, &x, count);
        let y_bar = Term::variables(program.outputs());
        let x_bar = sweep.try_pull(&y, y_bar.clone())?;
        let (linear, residuals) = Term::body(&y_bar, &x_bar, 0);
        let results: Vec<Term> = y.iter().map(|y| y.primal().clone()).chain(residuals).collect();
        let primal = closed(program, &[], "", &[x, Vec::new(), Vec::new()], &results);
        Ok(Pullback { primal, linear })
    }
}
