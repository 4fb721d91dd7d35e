//! Products, iterations and decompositions.

use polygrad::{BaseTensor, Tensor, iterate, map_accum, stack};

use super::{positive, real};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    trace_of_product(a = real([3, 4], 1), b = real([3, 4], 2));
    quadratic_form(a = real([4, 4], 3), x = real([4], 4));
    bilinear_outer(u = real([3], 5), v = real([2], 6), m = real([2, 3], 7));
    batched_products(a = real([2, 3, 2], 8), b = real([2, 2, 4], 9));
    matmul_chain(a = real([2, 3], 10), b = real([3, 4], 11), c = real([4, 2], 12));
    power_iteration(a = positive([3, 3], 13); start = positive([3], 14));
    newton_schulz_inverse(a = real([3, 3], 15));
    determinant(a = real([3, 3], 16));
    gram_schmidt(a = real([3, 4], 17));
    log_determinant(a = real([3, 3], 18));
    matrix_exponential(a = real([3, 3], 19));
    pairwise_distances(x = real([4, 2], 20));
    frobenius(a = real([3, 2], 21), b = real([3, 2], 22));
    conjugate_gradient(a = real([3, 3], 23), b = real([3], 24));
}

fn trace_of_product<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Scalar<T> {
    a.matmul(&b.t()).diagonal(0, 1).sum()
}

fn quadratic_form<T: BaseTensor>(a: &Matrix<T>, x: &Vector<T>) -> Scalar<T> {
    x.dot(&a.matvec(x)) + x.vecmat(a).square().sum()
}

fn bilinear_outer<T: BaseTensor>(u: &Vector<T>, v: &Vector<T>, m: &Matrix<T>) -> Scalar<T> {
    let product: Matrix<T> = u.outer(v);
    product.sin().matmul(m).diagonal(0, 1).sum() + product.sum_outer().dot(v)
}

fn batched_products<T: BaseTensor>(a: &Tensor<T, 3>, b: &Tensor<T, 3>) -> Scalar<T> {
    let product = a.batched_matmul(b);
    product.t().batched_matmul(&product).tanh().sum()
}

fn matmul_chain<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>, c: &Matrix<T>) -> Scalar<T> {
    a.matmul(b).sin().matmul(c).matmul(a).square().sum()
}

/// The loop also returns the quotients of all trips.
fn power_iteration<T: BaseTensor>(a: &Matrix<T>, start: &Vector<T>) -> Scalar<T> {
    let trips = Tensor::<T, 1, i64>::iota(5);
    let (v, quotients): (_, Vector<T>) = map_accum(start.clone(), &trips, |v, _| {
        let w = a.matvec(&v);
        let quotient = v.dot(&w) / v.dot(&v);
        (w.times(&w.norm().recip()), quotient)
    });
    quotients.at([4]) + quotients.var() + v.at([0])
}

fn newton_schulz_inverse<T: BaseTensor>(a: &Matrix<T>) -> Scalar<T> {
    let a = a * 0.3 + Tensor::eye(3);
    let twice = Tensor::<T, 2>::eye(3) * 2.0;
    let inverse = iterate(6, a.t() * 0.5, |_, x| x.matmul(&(&twice - a.matmul(&x))));
    inverse.diagonal::<1>(0, 1).sum() + inverse.at([0, 2])
}

fn determinant<T: BaseTensor>(a: &Matrix<T>) -> Scalar<T> {
    let minor = |i: usize, j: usize| a.at([1, i]) * a.at([2, j]) - a.at([1, j]) * a.at([2, i]);
    a.at([0, 0]) * minor(1, 2) - a.at([0, 1]) * minor(0, 2) + a.at([0, 2]) * minor(0, 1)
}

/// Orthogonal rows; how they look at a fixed vector.
fn gram_schmidt<T: BaseTensor>(a: &Matrix<T>) -> Scalar<T> {
    let mut rows: Vec<Vector<T>> = Vec::new();
    for k in 0..a.len() {
        let mut row: Vector<T> = a.row(k);
        for earlier in &rows {
            let shadow = row.dot(earlier);
            row -= earlier * &shadow;
        }
        rows.push(row.times(&row.norm().recip()));
    }
    let q: Matrix<T> = stack(&rows);
    q.matvec(&Tensor::constant([1.0, -2.0, 0.5, 0.3])).powi(3).sum()
}

/// By the Cholesky factor of `a aT + I`, written out by elements.
fn log_determinant<T: BaseTensor>(a: &Matrix<T>) -> Scalar<T> {
    let s = a.matmul(&a.t()) + Tensor::eye(3);
    let mut factor: Vec<Vec<Scalar<T>>> = Vec::new();
    for i in 0..3 {
        let mut row: Vec<Scalar<T>> = Vec::new();
        for j in 0..=i {
            let above = if j < i { factor[j].clone() } else { row.clone() };
            let mut rest: Scalar<T> = s.at([i, j]);
            for k in 0..j {
                rest -= &row[k] * &above[k];
            }
            row.push(if j < i { rest / &above[j] } else { rest.sqrt() });
        }
        factor.push(row);
    }
    factor[0][0].ln() + factor[1][1].ln() + factor[2][2].ln()
}

/// The sum of the first terms of the series.
fn matrix_exponential<T: BaseTensor>(a: &Matrix<T>) -> Scalar<T> {
    let one = Tensor::eye(3);
    let (sum, _) = iterate(8, (one.clone(), one), |i, (sum, power)| {
        let power = a.matmul(&power).times(&(i + 1).to_float().recip());
        (sum + &power, power)
    });
    sum.square().sum()
}

fn pairwise_distances<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let squares: Vector<T> = x.square().sum_axis(1);
    let gram = x.matmul(&x.t());
    let distance = squares.insert_axis(0) + squares.insert_axis(1) - 2.0 * gram;
    (distance + 0.1).sqrt().sum()
}

fn frobenius<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Scalar<T> {
    a.dot(b) / (a.norm() * b.norm())
}

/// Three steps for `(aT a + I) x = b`, which solve it.
fn conjugate_gradient<T: BaseTensor>(a: &Matrix<T>, b: &Vector<T>) -> Scalar<T> {
    let apply = |x: &Vector<T>| a.t().matvec(&a.matvec(x)) + x;
    let start = (Tensor::zeros([3]), b.clone(), b.clone());
    let (x, _, _) = iterate(2, start, |_, (x, r, p)| {
        let image = apply(&p);
        let step = r.dot(&r) / p.dot(&image);
        let rest = &r - image * &step;
        let next = &rest + p.times(&(rest.dot(&rest) / r.dot(&r)));
        (x + p * &step, rest, next)
    });
    (x * Tensor::constant([1.0, 2.0, 3.0])).sum() + Tensor::constant(0.5)
}
