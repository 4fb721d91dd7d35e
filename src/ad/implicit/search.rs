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

/// A step of a search.
struct Step {
    /// The next unknowns, as a vector.
    next: Term,
    /// What was added to the unknowns, or would have been.
    change: Term,
    /// Whether the search goes on, however short the step is, and whether it goes on at all; `None`: both are as the step is.
    goes: Option<[Term; 2]>,
    /// What else is carried.
    others: Vec<Term>,
}

/// So many steps in a row that are no shorter than the shortest one, and short: what is left is rounding.
const STALLED: f64 = 6.0;

/// A search as a program: a step takes the unknowns, as a vector, and what else is carried, to the next ones. It ends with a step that is
/// small beside the largest unknown. Rounding may keep it from that, where the equation has numbers that are larger than its unknowns: so it
/// ends as well where short steps become no shorter, `short` of the largest unknown so far.
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
        let Step { next, change, goes, others } = step(&carry[1], &carry[own..], &x, p);
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
    // A search that would go on has not ended.
    closed(of.name, &inputs, &unravel(start, &nan_if(&carry[0], &carry[1])))
}

/// From the unknowns as a vector, what else is carried, the unknowns and the parameters to a step.
type Next<'a> = dyn FnMut(&Term, &[Term], &[Term], &[Term]) -> Step + 'a;

fn and(x: &Term, y: &Term) -> Term {
    Term::discrete(&Discrete::And, &[x, y])
}

fn not(x: &Term) -> Term {
    Term::discrete(&Discrete::Not, &[x])
}

/// Newton's method. Near a root its steps become much shorter, each than the one before, so steps that do not are short by rounding.
pub(super) fn newton(of: &Recorded, solver: &Solver) -> Program {
    searched(of, solver, solver.relative.sqrt(), Vec::new(), &mut |now, _, x, p| {
        let change = linear::solve(of, solver, x, p, &ravel(&of.at(x, p)));
        Step { next: now.binary(Binary::Sub, &change), change, goes: None, others: Vec::new() }
    })
}

/// `x` becomes `f(x, p)`. Steps may become longer for a while on the way.
pub(super) fn iteration(of: &Recorded, solver: &Solver) -> Program {
    searched(of, solver, 1e3 * solver.relative, Vec::new(), &mut |now, _, x, p| {
        let next = ravel(&of.at(x, p));
        Step { change: next.binary(Binary::Sub, now), next, goes: None, others: Vec::new() }
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
/// objective does, and shrinks where it does not (Levenberg and Marquardt). The multiple is one of the curvature along the slope, so that
/// the search knows of no units.
pub(super) fn damped(objective: &Recorded, slope: &Recorded, solver: &Solver) -> Program {
    searched(objective, solver, solver.relative.sqrt(), vec![number(1e-3)], &mut |now, others, x, p| {
        let damping = &others[0];
        let change = linear::damped(slope, solver, x, p, &ravel(&slope.at(x, p)), damping);
        let next = now.binary(Binary::Sub, &change);
        let value = |x: &[Term]| cast(&objective.at(x, p)[0]);
        let (before, after) = (value(x), value(&unravel(x, &next)));
        // NaN is no progress, either.
        let better = Term::discrete(&Discrete::Compare(Compare::Le), &[&after, &before]);
        let damping =
            choose(&better, &damping.binary(Binary::Mul, &number(0.1)), &damping.binary(Binary::Mul, &number(10.0)));
        let stuck = exceeds(&damping, &number(1e12));
        let chosen = choose(&better, &next, now);
        // Without progress in any direction there is no minimum.
        let goes = Some([not(&better), not(&stuck)]);
        Step { next: nan_if(&stuck, &chosen), change, goes, others: vec![damping] }
    })
}

/// A number as `f64`.
fn cast(x: &Term) -> Term {
    let dtype = x.dtype();
    if dtype == DType::F64 { x.clone() } else { x.linear(&Linear::cast(x.shape(), dtype, DType::F64)) }
}
