//! Factorisations, systems of equations, and what depends on them.

use polygrad::linalg::Triangle;
use polygrad::tensor::{AtLeast, Rank};
use polygrad::{BaseTensor, Tensor, map};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    gaussian_process(x = real([5, 2], 31), y = real([5], 32), log_length = real([], 33));
    equations(a = real([4, 4], 34), b = real([4], 35));
    several_equations(a = real([3, 3], 36), b = real([3, 2], 37));
    triangles(a = real([3, 3], 38), b = real([3, 2], 39));
    inverted(a = real([3, 3], 40));
    determinants(a = real([2, 3, 3], 41));
    pivoted(a = real([3, 3], 42));
    orthogonal(a = real([4, 3], 43), c = real([4, 3], 44));
    orthogonal_wide(a = real([2, 4], 45), c = real([2, 4], 46));
    eigen(a = real([3, 3], 47), c = real([3, 3], 48));
    singular_tall(a = real([4, 2], 49), c = real([4, 2], 50));
    singular_wide(a = real([2, 3], 51), c = real([2, 3], 52));
    least_squares(a = real([5, 3], 153), b = real([5, 2], 154));
    exponential(a = real([3, 3], 55), c = real([3, 3], 56));
    each_its_own(a = real([3, 2, 2], 57), b = real([3, 2], 58));
    one_matrix_for_all(a = real([2, 2], 59), b = real([3, 2], 60));
    covariance_filter(a = real([2, 2], 61), noise = real([], 62); y = real([4, 2], 63));
}

/// A matrix with large numbers on its diagonal.
fn regular<T: BaseTensor, const D: usize>(a: &Tensor<T, D>) -> Tensor<T, D>
where
    Rank<D>: AtLeast<2>,
{
    a + Matrix::<T>::eye(a.shape()[D - 1]).expand::<D>() * 3.0
}

fn gaussian_process<T: BaseTensor>(x: &Matrix<T>, y: &Vector<T>, log_length: &Scalar<T>) -> Scalar<T> {
    let squares = x.square().sum_axis(1);
    let distances = squares.outer(&Vector::ones([5])) + Vector::ones([5]).outer(&squares) - x.matmul(&x.t()) * 2.0;
    let kernel: Matrix<T> = distances.times(&(log_length * -2.0).exp()) * -0.5;
    let l = (kernel.exp() + Matrix::eye(5) * 0.1).cholesky();
    l.solve_lower(y).square().sum() * 0.5 + l.diagonal(0, 1).ln().sum()
}

fn equations<T: BaseTensor>(a: &Matrix<T>, b: &Vector<T>) -> Scalar<T> {
    regular(a).solve(b).sin().sum()
}

fn several_equations<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Scalar<T> {
    let a = regular(a);
    let x = a.solve(b);
    x.square().sum() + a.t().solve(&x).tanh().sum()
}

fn triangles<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Scalar<T> {
    let (a, kinds) = (regular(a), [Triangle::LOWER, Triangle::UPPER]);
    let all = kinds.iter().flat_map(|t| [*t, t.transposed(), t.unit(), t.transposed().unit()]);
    all.map(|t| a.solve_triangular(b, t).sin().sum()).reduce(|x, y| x + y).expect("there are some")
}

fn inverted<T: BaseTensor>(a: &Matrix<T>) -> Scalar<T> {
    regular(a).inverse().matmul(a).square().sum()
}

fn determinants<T: BaseTensor>(a: &Tensor<T, 3>) -> Scalar<T> {
    let a = regular(a);
    let (sign, log) = a.slogdet();
    a.det().ln().sum() + (sign * log.square()).sum()
}

fn pivoted<T: BaseTensor>(a: &Matrix<T>) -> Scalar<T> {
    let (l, u, p) = a.lu();
    let weights = p.to_float::<f64>().outer(&Vector::ones([3]));
    (l.square() * weights).sum() + u.sin().sum()
}

fn orthogonal<T: BaseTensor>(a: &Matrix<T>, c: &Matrix<T>) -> Scalar<T> {
    let (q, r) = a.qr();
    (q * c).sum().square() + r.sin().sum()
}

fn orthogonal_wide<T: BaseTensor>(a: &Matrix<T>, c: &Matrix<T>) -> Scalar<T> {
    let (q, r) = a.qr();
    (r * c).sum().square() + q.sin().sum()
}

fn eigen<T: BaseTensor>(a: &Matrix<T>, c: &Matrix<T>) -> Scalar<T> {
    let (w, v) = a.eigh();
    (v.square() * c).sum() + (w * Tensor::constant([1.0, -2.0, 0.5])).sin().sum()
}

fn singular_tall<T: BaseTensor>(a: &Matrix<T>, c: &Matrix<T>) -> Scalar<T> {
    let (u, s, vt) = a.svd();
    (u * c).sum().square() + (s.square() * Tensor::constant([1.0, -2.0])).sum() + vt.row(0).square().at([0])
}

fn singular_wide<T: BaseTensor>(a: &Matrix<T>, c: &Matrix<T>) -> Scalar<T> {
    let (u, s, vt) = a.svd();
    (vt * c).sum().square() + (s.ln() * Tensor::constant([1.0, -2.0])).sum() + u.row(0).square().at([0])
}

fn least_squares<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Scalar<T> {
    let x = a.lstsq(b);
    x.sin().sum() + (a.matmul(&x) - b).square().sum()
}

fn exponential<T: BaseTensor>(a: &Matrix<T>, c: &Matrix<T>) -> Scalar<T> {
    ((a * 0.5).expm() * c).sum().sin()
}

/// A loop whose trips factorise: in bulk, one operation on all matrices.
fn each_its_own<T: BaseTensor>(a: &Tensor<T, 3>, b: &Matrix<T>) -> Scalar<T> {
    let x: Matrix<T> = map(&(regular(a), b.clone()), |(a, b): &(Matrix<T>, Vector<T>)| {
        let l = a.matmul(&a.t()).cholesky();
        l.cholesky_solve(b) + a.solve(b)
    });
    x.sin().sum()
}

/// A loop whose trips solve with one matrix: in bulk, one operation on all right-hand sides.
fn one_matrix_for_all<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Scalar<T> {
    let a = regular(a);
    let x: Matrix<T> = map(b, |b: &Vector<T>| a.solve(b) + a.solve_lower(b));
    x.sin().sum()
}

/// A recurrence whose trips solve: a filter of Kalman's.
fn covariance_filter<T: BaseTensor>(a: &Matrix<T>, noise: &Scalar<T>, y: &Matrix<T>) -> Scalar<T> {
    let start = (Vector::<T>::zeros([2]), Matrix::<T>::eye(2), Scalar::<T>::scalar(0.0));
    let a = a * 0.3;
    let added = Matrix::<T>::eye(2).times(&noise.exp());
    polygrad::fold(start, y, |(x, p, loss): (Vector<T>, Matrix<T>, Scalar<T>), y: &Vector<T>| {
        let p = a.matmul(&p).matmul(&a.t()) + Matrix::eye(2) * 0.2;
        let s = &p + &added;
        let miss = y - a.matvec(&x);
        let gain = s.solve(&p).t();
        let next = a.matvec(&x) + gain.matvec(&miss);
        let loss = loss + miss.dot(&s.solve(&miss)) + s.logdet();
        (next, &p - gain.matmul(&p), loss)
    })
    .2
}
