//! The searches: Newton's method, iteration, and Newton's method for minima, damped.
//!
//! Law: a search is a program from start and parameters to unknowns. It ends after a step that is small, and gives NaN
//! if none is.

use super::{Recorded, Solver, closed, linear};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Discrete, Linear, Unary};
use crate::program::repeat::like;
use crate::program::{Program, Term};
use crate::tree::ravel::{ravel, unravel};

/// A number.
fn number<T: BaseTensor>(x: f64) -> T {
    T::constant(Array::scalar(x))
}

/// The largest absolute value of a vector, 0 if it has no elements.
pub(super) fn largest<T: BaseTensor>(x: &T) -> T {
    if x.shape()[0] == 0 {
        return number(0.0);
    }
    x.unary(Unary::Abs).reduce(crate::ops::Reduce::Max { axis: 0 })
}

/// Whether one number is larger than another.
pub(super) fn exceeds<T: BaseTensor>(x: &T, y: &T) -> T {
    T::discrete(&Discrete::Compare(Compare::Gt), &[x, y])
}

/// `then` if a mask of rank 0 holds.
pub(super) fn choose<T: BaseTensor>(mask: &T, then: &T, otherwise: &T) -> T {
    T::select(&like(mask, then.shape()), then, otherwise)
}

/// NaN in place of a value if a mask of rank 0 holds.
pub(super) fn nan_if<T: BaseTensor>(mask: &T, x: &T) -> T {
    choose(mask, &T::constant(Array::full(x.shape(), f64::NAN)), x)
}

/// Whether a step is large beside what it moves.
fn moves<T: BaseTensor>(step: &T, x: &T, solver: &Solver) -> T {
    let scale = largest(x).binary(Binary::Add, &number(1.0)).binary(Binary::Mul, &number(solver.tolerance));
    exceeds(&largest(step), &scale)
}

/// A search as a program: a step takes the unknowns, as a vector, and what else is carried, to the next ones and
/// whether to go on.
fn searched(of: &Recorded, solver: &Solver, others: Vec<Term>, step: &mut Step<'_>) -> Program {
    let inputs = Term::variables(of.program.inputs());
    let (start, p) = inputs.split_at(of.unknowns);
    let mut init = vec![Term::constant(Array::full(&[], true)), ravel(start)];
    init.extend(others);
    let carry = Term::repeat(Some(solver.steps), init, &mut |carry| {
        let x = unravel(start, &carry[1]);
        step(&carry, &x, p)
    });
    // A search that would go on has not ended.
    closed(of.name, &inputs, &unravel(start, &nan_if(&carry[0], &carry[1])))
}

/// From a carry (whether to go on, the unknowns as a vector, others), the unknowns and the parameters to the next carry.
type Step<'a> = dyn FnMut(&[Term], &[Term], &[Term]) -> Vec<Term> + 'a;

/// Newton's method.
pub(super) fn newton(of: &Recorded, solver: &Solver) -> Program {
    searched(of, solver, Vec::new(), &mut |carry, x, p| {
        let step = linear::solve(of, solver, x, p, &ravel(&of.at(x, p)));
        let next = carry[1].binary(Binary::Sub, &step);
        vec![moves(&step, &next, solver), next]
    })
}

/// `x` becomes `f(x, p)`.
pub(super) fn iteration(of: &Recorded, solver: &Solver) -> Program {
    searched(of, solver, Vec::new(), &mut |carry, x, p| {
        let next = ravel(&of.at(x, p));
        vec![moves(&next.binary(Binary::Sub, &carry[1]), &next, solver), next]
    })
}

/// The program `f(x, p) - x`.
pub(super) fn difference(of: &Recorded) -> Program {
    let inputs = Term::variables(of.program.inputs());
    let (x, p) = inputs.split_at(of.unknowns);
    let minus = |(y, x): (Term, &Term)| if x.dtype().is_float() { y.binary(Binary::Sub, x) } else { y };
    let results: Vec<Term> = of.at(x, p).into_iter().zip(x).map(minus).collect();
    closed(of.name, &inputs, &results)
}

/// Newton's method for a minimum: to the second derivative a multiple of the identity is added, which grows where the
/// objective does, and shrinks where it does not (Levenberg and Marquardt).
pub(super) fn damped(objective: &Recorded, slope: &Recorded, solver: &Solver) -> Program {
    searched(objective, solver, vec![number(1e-3)], &mut |carry, x, p| {
        let (now, damping) = (&carry[1], &carry[2]);
        let step = linear::damped(slope, solver, x, p, &ravel(&slope.at(x, p)), damping);
        let next = now.binary(Binary::Sub, &step);
        let value = |x: &[Term]| cast(&objective.at(x, p)[0]);
        let (before, after) = (value(x), value(&unravel(x, &next)));
        // NaN is no progress, either.
        let better = Term::discrete(&Discrete::Compare(Compare::Le), &[&after, &before]);
        let damping =
            choose(&better, &damping.binary(Binary::Mul, &number(0.1)), &damping.binary(Binary::Mul, &number(10.0)));
        let stuck = exceeds(&damping, &number(1e12));
        let worse = Term::discrete(&Discrete::Not, &[&better]);
        let goes = Term::discrete(&Discrete::Or, &[&worse, &moves(&step, now, solver)]);
        let goes = Term::discrete(&Discrete::And, &[&goes, &Term::discrete(&Discrete::Not, &[&stuck])]);
        let chosen = choose(&better, &next, now);
        // Without progress in any direction there is no minimum.
        vec![goes, nan_if(&stuck, &chosen), damping]
    })
}

/// A number as `f64`.
fn cast(x: &Term) -> Term {
    let dtype = x.dtype();
    if dtype == DType::F64 { x.clone() } else { x.linear(&Linear::cast(x.shape(), dtype, DType::F64)) }
}
