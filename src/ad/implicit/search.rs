//! Searches for roots, fixed points and minima: Newton's method, iteration, and damped Newton's method.
//!
//! Law: a search is a program from start and parameters to unknowns. It ends after a small step, and gives NaN if no
//! step is small, or if an unknown is infinite or NaN in the end: an overflow is not a root.

use super::numbers::{choose, exceeds, largest, nan_if, number};
use super::{Recorded, Solver, closed, linear};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Discrete, Linear};
use crate::program::{Program, Term};
use crate::tree::ravel::{ravel, unravel};

/// A step of a search.
struct SearchStep {
    /// The next unknowns, as a vector.
    next: Term,
    /// The change of the unknowns up to its sign, even for a step that is rejected.
    change: Term,
    /// Two masks: whether the search continues however short the step is, and whether it continues at all. With `None`,
    /// the length of the step decides alone.
    goes: Option<[Term; 2]>,
    /// The further values that the search carries.
    others: Vec<Term>,
}

/// The number of successive steps, none shorter than the shortest step before them, after which a short step counts as
/// rounding.
const STALLED: f64 = 6.0;

/// A search as a program. `step` maps the unknowns, as a vector, and the further carried values to the next ones. The
/// search ends with a step that is small relative to the largest unknown. Rounding may prevent such a step if the
/// equation has numbers larger than its unknowns: so the search also ends once short steps become no shorter, where a
/// step is short if it is less than `short` times the largest unknown so far.
fn searched(of: &Recorded, solver: &Solver, short: f64, others: Vec<Term>, step: &mut Next<'_>) -> Program {
    let inputs = Term::variables(of.program.inputs());
    let (start, p) = inputs.split_at(of.unknowns);
    let first = ravel(start);
    let mut init = vec![Term::constant(Array::full(&[], true)), first.clone()];
    // The shortest step, the number of steps since then, the largest unknown so far.
    init.extend([number(f64::INFINITY), number(0.0), largest(&first)]);
    let own = init.len();
    init.extend(others);
    let carry = Term::repeat(Some(solver.steps), init, &mut |carry| {
        let x = unravel(start, &carry[1]);
        let SearchStep { next, change, goes, others } = step(&carry[1], &carry[own..], &x, p);
        let (size, at) = (largest(&change), largest(&next));
        let allowed = at.binary(Binary::Mul, &number(solver.relative)).binary(Binary::Add, &number(solver.absolute));
        let moves = exceeds(&size, &allowed);
        let shorter = exceeds(&carry[2], &size);
        let shortest = choose(&shorter, &size, &carry[2]);
        let since = choose(&shorter, &number(0.0), &carry[3].binary(Binary::Add, &number(1.0)));
        let top = carry[4].binary(Binary::Max, &at);
        let is_short = exceeds(&top.binary(Binary::Mul, &number(short)), &size);
        let stalled = and(&exceeds(&since, &number(STALLED - 0.5)), &is_short);
        let goes_on = match goes {
            Some([always, ever]) => {
                and(&Term::discrete(&Discrete::Or, &[&always, &and(&moves, &not(&stalled))]), &ever)
            }
            None => and(&moves, &not(&stalled)),
        };
        [vec![goes_on, next, shortest, since, top], others].concat()
    });
    // A search that would continue after the last step has not ended, and one that ends at an infinity has overflowed.
    let failed = Term::discrete(&Discrete::Or, &[&carry[0], &not(&is_finite(&carry[1]))]);
    closed(of.name, &inputs, &unravel(start, &nan_if(&failed, &carry[1])))
}

/// Whether all elements of a vector are finite.
fn is_finite(x: &Term) -> Term {
    exceeds(&number(f64::INFINITY), &largest(x))
}

/// A step, from the unknowns as a vector, the further carried values, the unknowns, and the parameters.
type Next<'a> = dyn FnMut(&Term, &[Term], &[Term], &[Term]) -> SearchStep + 'a;

fn and(x: &Term, y: &Term) -> Term {
    Term::discrete(&Discrete::And, &[x, y])
}

fn not(x: &Term) -> Term {
    Term::discrete(&Discrete::Not, &[x])
}

/// Newton's method. Near a root, each step is much shorter than the one before, so short steps that do not become
/// shorter are rounding.
pub(super) fn newton(of: &Recorded, solver: &Solver) -> Program {
    searched(of, solver, solver.relative.sqrt(), Vec::new(), &mut |now, _, x, p| {
        let change = linear::solve(of, solver, x, p, &ravel(&of.at(x, p)), false);
        SearchStep { next: now.binary(Binary::Sub, &change), change, goes: None, others: Vec::new() }
    })
}

/// Fixed-point iteration: `x` becomes `f(x, p)`. Steps may become longer for some time during the search, so only steps
/// close to the tolerance count as short.
pub(super) fn iteration(of: &Recorded, solver: &Solver) -> Program {
    searched(of, solver, 1e3 * solver.relative, Vec::new(), &mut |now, _, x, p| {
        let next = ravel(&of.at(x, p));
        SearchStep { change: next.binary(Binary::Sub, now), next, goes: None, others: Vec::new() }
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

/// Damped Newton's method for a minimum (Levenberg and Marquardt): a multiple of the identity is added to the Hessian.
/// The factor grows after a step that increases the objective, and shrinks after any other step. It is relative to the
/// curvature along the gradient, so that the search does not depend on units.
pub(super) fn damped(objective: &Recorded, slope: &Recorded, solver: &Solver) -> Program {
    searched(objective, solver, solver.relative.sqrt(), vec![number(1e-3)], &mut |now, others, x, p| {
        let damping = &others[0];
        let change = linear::damped(slope, solver, x, p, &ravel(&slope.at(x, p)), damping);
        let next = now.binary(Binary::Sub, &change);
        let value = |x: &[Term]| cast(&objective.at(x, p)[0]);
        let (before, after) = (value(x), value(&unravel(x, &next)));
        // An objective of NaN is not progress, either.
        let better = Term::discrete(&Discrete::Compare(Compare::Le), &[&after, &before]);
        let damping =
            choose(&better, &damping.binary(Binary::Mul, &number(0.1)), &damping.binary(Binary::Mul, &number(10.0)));
        let stuck = exceeds(&damping, &number(1e12));
        let chosen = choose(&better, &next, now);
        // If even the shortest steps, along the gradient, make no progress, the search ends with NaN.
        let goes = Some([not(&better), not(&stuck)]);
        SearchStep { next: nan_if(&stuck, &chosen), change, goes, others: vec![damping] }
    })
}

/// A number as `f64`.
fn cast(x: &Term) -> Term {
    let dtype = x.dtype();
    if dtype == DType::F64 { x.clone() } else { x.linear(&Linear::cast(x.shape(), dtype, DType::F64)) }
}
