//! Twenty problems of Hock and Schittkowski as generic functions, with their starts and least values.
//!
//! W. Hock, K. Schittkowski, *Test Examples for Nonlinear Programming Codes*, Springer, 1981; the numbers are theirs. A
//! function gives objective and constraints together: first those that must not be negative, then those that must be 0.

use polygrad::program::Term;
use polygrad::{BaseTensor, Tensor, stack};

/// Objective and constraints.
pub(crate) type Formulas<T> = (Tensor<T, 0>, Tensor<T, 1>);

/// A problem: its formulas, and what is known about it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) formulas: fn(&Tensor<Term, 1>) -> Formulas<Term>,
    pub(crate) start: &'static [f64],
    /// The bounds of each variable; none where there is nothing.
    pub(crate) bounds: &'static [[f64; 2]],
    /// How many constraints must not be negative.
    pub(crate) inequalities: usize,
    pub(crate) least: f64,
}

/// No bound, as the solver writes it.
pub(crate) const FREE: f64 = 2e19;

fn hs1<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    (100.0 * (b - a.square()).square() + (1.0 - a).square(), Tensor::zeros([0]))
}

fn hs5<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    ((a + b).sin() + (a - b).square() - 1.5 * a + 2.5 * b + 1.0, Tensor::zeros([0]))
}

fn hs6<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    ((1.0 - a).square(), stack([10.0 * (b - a.square())]))
}

fn hs7<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    ((1.0 + a.square()).ln() - b, stack([(1.0 + a.square()).square() + b.square() - 4.0]))
}

fn hs10<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    (a - b, stack([-3.0 * a.square() + 2.0 * a * b - b.square() + 1.0]))
}

fn hs11<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    ((a - 5.0).square() + b.square() - 25.0, stack([b - a.square()]))
}

fn hs12<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    let objective = 0.5 * a.square() + b.square() - a * b - 7.0 * (a + b);
    (objective, stack([25.0 - 4.0 * a.square() - b.square()]))
}

fn hs14<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    let constraints = [1.0 - 0.25 * a.square() - b.square(), a - 2.0 * b + 1.0];
    ((a - 2.0).square() + (b - 1.0).square(), stack(constraints))
}

fn hs15<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    (hs1(x).0, stack([a * b - 1.0, a + b.square()]))
}

fn hs22<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    ((a - 2.0).square() + (b - 1.0).square(), stack([2.0 - a - b, b - a.square()]))
}

fn hs24<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b] = &x.unstack();
    let root = 3f64.sqrt();
    let objective = ((a - 3.0).square() - 9.0) * b.powi(3) / (27.0 * root);
    (objective, stack([a / root - b, a + root * b, 6.0 - a - root * b]))
}

fn hs28<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c] = &x.unstack();
    ((a + b).square() + (b + c).square(), stack([a + 2.0 * b + 3.0 * c - 1.0]))
}

fn hs29<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c] = &x.unstack();
    (-(a * b * c), stack([48.0 - a.square() - 2.0 * b.square() - 4.0 * c.square()]))
}

fn hs35<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c] = &x.unstack();
    let linear = 9.0 - 8.0 * a - 6.0 * b - 4.0 * c;
    let objective = linear + 2.0 * a.square() + 2.0 * b.square() + c.square() + 2.0 * a * (b + c);
    (objective, stack([3.0 - a - b - 2.0 * c]))
}

fn hs39<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c, d] = &x.unstack();
    (-a, stack([b - a.powi(3) - c.square(), a.square() - b - d.square()]))
}

fn hs40<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c, d] = &x.unstack();
    let constraints = [a.powi(3) + b.square() - 1.0, a.square() * d - c, d.square() - b];
    (-(a * b * c * d), stack(constraints))
}

fn hs43<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c, d] = &x.unstack();
    let [a2, b2, c2, d2] = &x.square().unstack();
    let objective = a2 + b2 + 2.0 * c2 + d2 - 5.0 * a - 5.0 * b - 21.0 * c + 7.0 * d;
    let constraints = [
        8.0 - a2 - b2 - c2 - d2 - a + b - c + d,
        10.0 - a2 - 2.0 * b2 - c2 - 2.0 * d2 + a + d,
        5.0 - 2.0 * a2 - b2 - c2 - 2.0 * a + b + d,
    ];
    (objective, stack(constraints))
}

fn hs71<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c, d] = &x.unstack();
    (a * d * (a + b + c) + c, stack([x.prod() - 25.0, x.square().sum() - 40.0]))
}

fn hs78<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c, d, e] = &x.unstack();
    let constraints = [x.square().sum() - 10.0, b * c - 5.0 * d * e, a.powi(3) + b.powi(3) + 1.0];
    (x.prod(), stack(constraints))
}

fn hs100<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let [a, b, c, d, e, f, g] = &x.unstack();
    let squares = (a - 10.0).square() + 5.0 * (b - 12.0).square() + 3.0 * (d - 11.0).square() + 7.0 * f.square();
    let objective = squares + c.powi(4) + 10.0 * e.powi(6) + g.powi(4) - 4.0 * f * g - 10.0 * f - 8.0 * g;
    let constraints = [
        127.0 - 2.0 * a.square() - 3.0 * b.powi(4) - c - 4.0 * d.square() - 5.0 * e,
        282.0 - 7.0 * a - 3.0 * b - 10.0 * c.square() - d + e,
        196.0 - 23.0 * a - b.square() - 6.0 * f.square() + 8.0 * g,
        3.0 * a * b - 4.0 * a.square() - b.square() - 2.0 * c.square() - 5.0 * f + 11.0 * g,
    ];
    (objective, stack(constraints))
}

/// A problem without bounds.
const fn free(
    name: &'static str,
    formulas: fn(&Tensor<Term, 1>) -> Formulas<Term>,
    start: &'static [f64],
    inequalities: usize,
    least: f64,
) -> Case {
    Case { name, formulas, start, bounds: &[], inequalities, least }
}

/// The problem with these bounds of its variables.
const fn within(bounds: &'static [[f64; 2]], case: Case) -> Case {
    Case { bounds, ..case }
}

const POSITIVE: [f64; 2] = [0.0, FREE];

pub(crate) const CASES: [Case; 20] = [
    within(&[[-FREE, FREE], [-1.5, FREE]], free("HS1", hs1, &[-2.0, 1.0], 0, 0.0)),
    within(&[[-1.5, 4.0], [-3.0, 3.0]], free("HS5", hs5, &[0.0, 0.0], 0, -1.913222954981037)),
    free("HS6", hs6, &[-1.2, 1.0], 0, 0.0),
    free("HS7", hs7, &[2.0, 2.0], 0, -1.7320508075688772),
    free("HS10", hs10, &[-10.0, 10.0], 1, -1.0),
    free("HS11", hs11, &[4.9, 0.1], 1, -8.498464223),
    free("HS12", hs12, &[0.0, 0.0], 1, -30.0),
    free("HS14", hs14, &[2.0, 2.0], 1, 1.3934649806885),
    within(&[[-FREE, 0.5], [-FREE, FREE]], free("HS15", hs15, &[-2.0, 1.0], 2, 306.5)),
    free("HS22", hs22, &[2.0, 2.0], 2, 1.0),
    within(&[POSITIVE; 2], free("HS24", hs24, &[1.0, 0.5], 3, -1.0)),
    free("HS28", hs28, &[-4.0, 1.0, 1.0], 0, 0.0),
    free("HS29", hs29, &[1.0, 1.0, 1.0], 1, -22.627416997969522),
    within(&[POSITIVE; 3], free("HS35", hs35, &[0.5, 0.5, 0.5], 1, 0.1111111111111111)),
    free("HS39", hs39, &[2.0, 2.0, 2.0, 2.0], 0, -1.0),
    free("HS40", hs40, &[0.8, 0.8, 0.8, 0.8], 0, -0.25),
    free("HS43", hs43, &[0.0, 0.0, 0.0, 0.0], 3, -44.0),
    within(&[[1.0, 5.0]; 4], free("HS71", hs71, &[1.0, 5.0, 5.0, 1.0], 1, 17.0140173)),
    free("HS78", hs78, &[-2.0, 1.5, 2.0, -1.0, -1.0], 0, -2.91970041),
    free("HS100", hs100, &[1.0, 2.0, 0.0, 4.0, 0.0, 1.0, 1.0], 4, 680.6300573),
];

/// A chain of variables (problem 5.1 of L. Lukšan and J. Vlček, technical report V-767, 1999) of any length.
pub(crate) fn chain<T: BaseTensor>(x: &Tensor<T, 1>) -> Formulas<T> {
    let n = x.shape()[0];
    let (a, b, c) = (&x.slice(0, ..n - 2), &x.slice(0, 1..n - 1), &x.slice(0, 2..));
    let (all, next) = (x.slice(0, ..n - 1), x.slice(0, 1..));
    let objective = (100.0 * (all.square() - next).square() + (all - 1.0).square()).sum();
    let waves = (b - c).sin() * (b + c).sin();
    (objective, 3.0 * b.powi(3) + 2.0 * c - 8.0 + waves + 4.0 * b - a * (a - b).exp())
}
