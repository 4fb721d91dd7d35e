//! Equations whose unknowns are values of random programs.
//!
//! Each has one solution, found from any start, and the derivative of the equation is regular: so what equations decide
//! is a smooth function of what is in them, and finite differences see its derivatives.

use polygrad::{BaseTensor, LinearSolver, Solver, Tensor};

/// An equation of unknowns like the first value, with both values in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equation {
    /// A root, by matrices, and by products with them.
    Root,
    RootByProducts,
    /// What an iteration that contracts converges to.
    FixedPoint,
    FixedPointByProducts,
    /// A minimum.
    Minimum,
    MinimumByProducts,
}

type Vector<T> = Tensor<T, 1>;

impl Equation {
    pub(crate) const ALL: [Equation; 6] = [
        Equation::Root,
        Equation::RootByProducts,
        Equation::FixedPoint,
        Equation::FixedPointByProducts,
        Equation::Minimum,
        Equation::MinimumByProducts,
    ];

    fn linear(self) -> LinearSolver {
        match self {
            Equation::Root | Equation::FixedPoint | Equation::Minimum => LinearSolver::Dense,
            Equation::RootByProducts | Equation::FixedPointByProducts => LinearSolver::Gmres(3),
            Equation::MinimumByProducts => LinearSolver::ConjugateGradients(6),
        }
    }

    /// The solution; the elements of `q` are between -1 and 1.
    pub(crate) fn solved<T: BaseTensor>(self, p: &Vector<T>, q: &Vector<T>) -> Vector<T> {
        let start = Vector::zeros(p.shape());
        let parameters = (p.clone(), q.clone());
        let solver = Solver::default().linear(self.linear());
        match self {
            // The derivative has `2 + q cos x >= 1` on the diagonal, beside a multiple of ones below it: no symmetric matrix.
            Equation::Root | Equation::RootByProducts => solver.root(
                |x: &Vector<_>, (p, q): &(Vector<_>, Vector<_>)| x * 2.0 + x.sin() * q + x.cumsum(0) * 0.2 - p,
                &start,
                &parameters,
            ),
            Equation::FixedPoint | Equation::FixedPointByProducts => solver.fixed_point(
                |x: &Vector<_>, (p, q): &(Vector<_>, Vector<_>)| {
                    (x * q + x.cumsum(0) / x.shape()[0] as f64).sin() * 0.3 + p
                },
                &start,
                &parameters,
            ),
            Equation::Minimum | Equation::MinimumByProducts => solver.minimize(
                |x: &Vector<_>, (p, q): &(Vector<_>, Vector<_>)| {
                    (x.square() - (x + q).cos() * 0.5 - x * p).sum() + x.sum().square() * 0.1
                },
                &start,
                &parameters,
            ),
        }
    }
}
