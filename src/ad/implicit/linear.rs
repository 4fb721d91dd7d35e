//! Linear equations whose matrix is the derivative of a program: by factorization, or by products with the matrix.
//!
//! Law: the solution of `a y = b` with `a = df/dx` has the derivative `a^-1 (b_dot - a_dot y)` in both modes and at
//! every order, however it was found ([`Custom::solve`]). Sources: conjugate gradients, Hestenes and Stiefel (1952);
//! GMRES, Saad and Schultz (1986), here with each direction orthogonalized twice.

use std::sync::Arc;

use super::numbers::{exceeds, largest, nan_if};
use super::{Recorded, Solver, closed, symbolic};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::program::{Custom, Program, Term, interpret, valid_by_construction};
use crate::shape::size;
use crate::tensor::Tensor;
use crate::tree::ravel::{ravel, unravel};

/// A method for linear equations.
///
/// ```
/// use polygrad::{LinearSolver, Solver, Tensor, tensor};
/// // The minimum of `|x - p|^2` is `p`, however the linear equations are solved.
/// for method in [LinearSolver::Dense, LinearSolver::ConjugateGradients(20), LinearSolver::Gmres(20)] {
///     let f = |x: &Tensor<_, 1>, p: &Tensor<_, 1>| (x - p).square().sum();
///     let x = Solver::default().linear(method).minimize(f, &tensor([0.0, 0.0]), &tensor([1.0, 2.0]));
///     assert!((x - tensor([1.0, 2.0])).abs().max_all().item() < 1e-12);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinearSolver {
    /// By a factorization of the matrix.
    Dense,
    /// By conjugate gradients, with at most this number of products with the matrix: for symmetric positive definite
    /// matrices, as at a minimum.
    ConjugateGradients(usize),
    /// By GMRES, restarted after this number of products with the matrix, in at most ten cycles: for any regular
    /// matrix.
    Gmres(usize),
}

/// A method that needs products with the matrix alone; with the number of [`LinearSolver`].
#[derive(Clone, Copy)]
enum ProductIteration {
    ConjugateGradients(usize),
    Gmres(usize),
}

impl LinearSolver {
    /// The iteration over products, unless the matrix is factored.
    fn iteration(self) -> Option<ProductIteration> {
        match self {
            LinearSolver::Dense => None,
            LinearSolver::ConjugateGradients(most) => Some(ProductIteration::ConjugateGradients(most)),
            LinearSolver::Gmres(most) => Some(ProductIteration::Gmres(most)),
        }
    }
}

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

/// The largest number of cycles of GMRES.
const RESTARTS: usize = 10;

/// The solution of `df/dx y = right`. If `strict`, a solution by products that does not solve the equations is NaN; the
/// steps of a search may be rough.
pub(super) fn solve<T: BaseTensor>(of: &Recorded, solver: &Solver, x: &[T], p: &[T], right: &T, strict: bool) -> T {
    match solver.linear.iteration() {
        None => {
            let right = Vector::<T>::from_raw(right.clone());
            matrix(of, x, p).solve(&right).into_raw()
        }
        Some(iteration) => {
            let args: Vec<T> = x.iter().chain(p).cloned().chain([right.clone()]).collect();
            T::custom(&by_products(of, solver, iteration, strict), &args).swap_remove(0)
        }
    }
}

/// The solution of `(df/dx + c damping I) y = right`, where `c` is the ratio of the maximum norms of `df/dx right` and
/// `right`.
pub(super) fn damped(of: &Recorded, solver: &Solver, x: &[Term], p: &[Term], right: &Term, damping: &Term) -> Term {
    let (right, damping) = (Vector::from_raw(right.clone()), Tensor::<Term, 0>::from_raw(damping.clone()));
    match solver.linear.iteration() {
        None => {
            let a: Matrix<Term> = matrix(of, x, p);
            let n = a.shape()[0];
            let damping = damping * along(&right, &a.matvec(&right));
            (a + Matrix::eye(n).times(&damping)).solve(&right).into_raw()
        }
        Some(iteration) => {
            let forward = products(of, false);
            let given = [x, p].concat();
            let damping = damping * along(&right, &product(&forward, &given, &right));
            let by = |v: &Vector<Term>| product(&forward, &given, v) + v.times(&damping);
            iterate(&by, &right, (iteration, solver.relative)).into_raw()
        }
    }
}

/// The ratio of the maximum norms of an image and its vector; 1 if the ratio is not positive.
fn along(x: &Vector<Term>, image: &Vector<Term>) -> Tensor<Term, 0> {
    let [x, image] = [x, image].map(|x| Tensor::<Term, 0>::from_raw(largest(x.raw())));
    let ratio = image / x;
    ratio.gt(0.0).select(&ratio, Tensor::scalar(1.0))
}

/// The matrix `df/dx`, row by row.
fn matrix<T: BaseTensor>(of: &Recorded, x: &[T], p: &[T]) -> Matrix<T> {
    let wrt: Vec<usize> = (0..of.unknowns).collect();
    let pull = symbolic::vjp_in(&of.program, &wrt);
    let results: Vec<T> = of.program.outputs().iter().map(|s| T::zeros(&s.shape, s.dtype)).collect();
    let floats = of.program.outputs().iter().filter(|s| s.dtype.is_float());
    let n = floats.map(|s| size(&s.shape)).sum();
    let given = [x, p].concat();
    let (_, mut rows) = T::map_accum(n, false, Vec::new(), &[Matrix::<T>::eye(n).into_raw()], &mut |_, row| {
        let inputs = given.iter().cloned().chain(unravel(&results, &row[0])).collect();
        let x_bar = interpret(&pull, inputs).split_off(results.len());
        (Vec::new(), vec![ravel(&x_bar)])
    });
    Matrix::from_raw(rows.swap_remove(0))
}

/// The program `(x, p, v) -> df/dx v`, or `(x, p, v) -> (df/dx)^T v`, where `v` and the result are vectors.
fn products(of: &Recorded, transposed: bool) -> Program {
    let given = Term::variables(of.program.inputs());
    let (x, p) = given.split_at(of.unknowns);
    let v = Term::variable(ravel(x).shape(), DType::F64);
    let result = if transposed {
        let wrt: Vec<usize> = (0..of.unknowns).collect();
        let bars = unravel(&Term::variables(of.program.outputs()), &v);
        let inputs = given.iter().cloned().chain(bars).collect();
        interpret(&symbolic::vjp_in(&of.program, &wrt), inputs).split_off(of.program.outputs().len())
    } else {
        let still: Vec<Term> = p.iter().map(|p| Term::zeros(p.shape(), p.dtype())).collect();
        let inputs = given.iter().cloned().chain(unravel(x, &v)).chain(still).collect();
        interpret(&symbolic::jvp(&of.program), inputs).split_off(of.program.outputs().len())
    };
    closed(of.name, &given.iter().cloned().chain([v]).collect::<Vec<Term>>(), &[ravel(&result)])
}

fn product<T: BaseTensor>(program: &Program, given: &[T], v: &Vector<T>) -> Vector<T> {
    let inputs = given.iter().cloned().chain([v.raw().clone()]).collect();
    Vector::from_raw(interpret(program, inputs).swap_remove(0))
}

/// The function `(x, p, right) -> y` that solves `df/dx y = right` by products, with the derivative of these equations.
fn by_products(of: &Recorded, solver: &Solver, iteration: ProductIteration, strict: bool) -> Arc<Custom> {
    let programs = |transposed: bool| {
        let there = products(of, transposed);
        let args = Term::variables(there.inputs());
        let (right, given) = args.split_last().expect("the right-hand side is the last argument");
        let by = |v: &Vector<Term>| product(&there, given, v);
        let right_hand_side = Vector::from_raw(right.clone());
        let y = iterate(&by, &right_hand_side, (iteration, solver.relative));
        let y = if strict { checked(&by, &right_hand_side, y, solver) } else { y }.into_raw();
        let dots = Term::variables(&there.inputs()[..given.len()]);
        let directions = dots.iter().cloned().chain([Term::zeros(right.shape(), right.dtype())]);
        let moved = interpret(&symbolic::jvp(&there), args.iter().cloned().chain(directions).collect());
        (closed(of.name, &args, &[y]), closed(of.name, &[&args[..], &dots].concat(), &moved[1..]))
    };
    let (solution, moved) = programs(false);
    // The programs are of one equation.
    Arc::new(valid_by_construction(Custom::solve("solve_by_products", solution, moved, programs(true))))
}

/// The solution by an iteration over products with the matrix.
fn iterate(
    by: &dyn Fn(&Vector<Term>) -> Vector<Term>,
    right: &Vector<Term>,
    (iteration, relative): (ProductIteration, f64),
) -> Vector<Term> {
    match iteration {
        ProductIteration::Gmres(most) => gmres(by, right, most.min(right.shape()[0]).max(1), relative),
        ProductIteration::ConjugateGradients(most) => conjugate_gradients(by, right, most, relative),
    }
}

/// A solution, or NaN if its residual exceeds the right-hand side times the root of the tolerance: the iteration stops at
/// the tolerance itself, which rounding may keep out of reach.
fn checked(
    by: &dyn Fn(&Vector<Term>) -> Vector<Term>,
    right: &Vector<Term>,
    y: Vector<Term>,
    solver: &Solver,
) -> Vector<Term> {
    let residual = right - by(&y);
    let solves = residual.square().sum().le(right.square().sum() * solver.relative);
    Vector::from_raw(nan_if((!solves).raw(), y.raw()))
}

/// Whether a residual exceeds `tolerance` times the right-hand side; both are given by their squared norms.
fn remains(residual: &Tensor<Term, 0>, right: &Tensor<Term, 0>, tolerance: f64) -> Term {
    exceeds(residual.raw(), (right * (tolerance * tolerance)).raw())
}

fn conjugate_gradients(
    by: &dyn Fn(&Vector<Term>) -> Vector<Term>,
    right: &Vector<Term>,
    most: usize,
    tolerance: f64,
) -> Vector<Term> {
    let whole = right.square().sum();
    let goes = |left: &Tensor<Term, 0>| remains(left, &whole, tolerance);
    let init = vec![
        goes(&whole),
        Vector::<Term>::zeros(right.shape()).into_raw(),
        right.raw().clone(),
        right.raw().clone(),
        whole.raw().clone(),
    ];
    let carry = Term::repeat(Some(most), init, &mut |carry| {
        let [y, r, d] = [1, 2, 3].map(|k| Vector::from_raw(carry[k].clone()));
        let left = Tensor::<Term, 0>::from_raw(carry[4].clone());
        let q = by(&d);
        let step = &left / d.dot(&q);
        let (y, r) = (y + d.times(&step), r - q.times(&step));
        let next = r.square().sum();
        let d = &r + d.times(&(&next / left));
        vec![goes(&next), y.into_raw(), r.into_raw(), d.into_raw(), next.into_raw()]
    });
    Vector::from_raw(carry[1].clone())
}

fn gmres(by: &dyn Fn(&Vector<Term>) -> Vector<Term>, right: &Vector<Term>, m: usize, tolerance: f64) -> Vector<Term> {
    let whole = right.square().sum();
    let goes = |r: &Vector<Term>| remains(&r.square().sum(), &whole, tolerance);
    let init = vec![goes(right), Vector::<Term>::zeros(right.shape()).into_raw(), right.raw().clone()];
    let carry = Term::repeat(Some(RESTARTS), init, &mut |carry| {
        let [y, r] = [1, 2].map(|k| Vector::from_raw(carry[k].clone()));
        let y = y + correction(by, &r, m);
        let r = right - by(&y);
        vec![goes(&r), y.into_raw(), r.into_raw()]
    });
    Vector::from_raw(carry[1].clone())
}

/// The vector in the Krylov space of `r, a r, .., a^(m-1) r` with the smallest residual.
fn correction(by: &dyn Fn(&Vector<Term>) -> Vector<Term>, r: &Vector<Term>, m: usize) -> Vector<Term> {
    // A zero vector stands for a direction that is not needed, since the Krylov space is exhausted.
    let unit = |v: &Vector<Term>, length: &Tensor<Term, 0>| {
        let one = Tensor::<Term, 0>::scalar(1.0);
        let scale = length.gt(0.0).select(length.max(f64::MIN_POSITIVE).recip(), &(one * 0.0));
        v.times(&scale)
    };
    let length = r.square().sum().sqrt();
    let place = |at: &Tensor<Term, 0, i64>, rows: usize| at.one_hot::<1, f64>(rows);
    let first = Vector::constant(Array::new(&[m + 1], (0..=m).map(|k| if k == 0 { 1.0 } else { 0.0 }).collect()));
    let start: Matrix<Term> = first.outer(&unit(r, &length));
    let trips = Tensor::<Term, 1, i64>::iota(m).into_raw();
    let (last, columns) = Term::map_accum(m, false, vec![start.into_raw()], &[trips], &mut |carry, at| {
        let basis: Matrix<Term> = Tensor::from_raw(carry[0].clone());
        let at = Tensor::<Term, 0, i64>::from_raw(at[0].clone());
        let v = place(&at, m + 1).vecmat(&basis);
        let image = by(&v);
        let along = basis.matvec(&image);
        let rest = &image - along.vecmat(&basis);
        let more = basis.matvec(&rest);
        let rest = rest - more.vecmat(&basis);
        // An image within the space leaves only rounding errors, which count as 0.
        let (left, all) = (rest.square().sum().sqrt(), image.square().sum().sqrt());
        let left = left.gt(&all * 1e-14).select(&left, Tensor::scalar(0.0));
        let next = unit(&rest, &left);
        // The column of a direction that is not needed is 1 in an element, so that its coefficient is 0.
        let idle = v.square().sum().gt(0.0).select(&left, Tensor::scalar(1.0));
        let column = along + more + place(&(&at + 1), m + 1).times(&idle);
        let added: Matrix<Term> = place(&(&at + 1), m + 1).outer(&next);
        (vec![(basis + added).into_raw()], vec![column.into_raw()])
    });
    let (basis, columns) = (Matrix::from_raw(last[0].clone()), Matrix::from_raw(columns[0].clone()));
    let coefficients = columns.t().lstsq(&first.times(&length));
    coefficients.vecmat(&basis.slice(0, 0..m))
}
