//! Linear algebra by its definitions.
//!
//! Laws, for sizes that are one block and sizes that are several, stacks and both float types: factors multiply to the
//! matrix and have the form they should have; solutions solve; a matrix without a result gives NaN and leaves the
//! others of its stack alone.

use polygrad::array::Rng;
use polygrad::linalg::Triangle;
use polygrad::{Array, Concrete, DType, Float, Tensor, tensor};

type Matrix<E = f64> = Tensor<Concrete, 2, E>;

const SIZES: [usize; 6] = [0, 1, 2, 3, 33, 70];

fn random<E: Float>(m: usize, n: usize, seed: u64) -> Matrix<E> {
    Tensor::from_raw(Array::normal(&[m, n], 0.0, 1.0, seed).cast::<E>())
}

fn positive<E: Float>(n: usize, seed: u64) -> Matrix<E> {
    let a = random::<E>(n, n, seed);
    a.matmul(&a.t()) + Matrix::<E>::eye(n).scale(n as f64)
}

/// The largest difference of two tensors, relative to the elements of the second.
#[track_caller]
fn near<const D: usize, E: Float>(what: &str, a: &Tensor<Concrete, D, E>, b: &Tensor<Concrete, D, E>) {
    assert_eq!(a.shape(), b.shape(), "{what}");
    let tolerance = if E::DTYPE == DType::F64 { 1e-11 } else { 3e-3 };
    let numbers = |x: &Tensor<Concrete, D, E>| x.raw().cast::<f64>().to_vec::<f64>().expect("floats");
    let (a, b) = (numbers(a), numbers(b));
    let scale = b.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    let off = a.iter().zip(&b).map(|(x, y)| (x - y).abs()).fold(0.0f64, |most, x| if x <= most { most } else { x });
    assert!(off <= tolerance * scale, "{what}: off by {off} of {scale}");
}

fn every_size<E: Float>() {
    for (k, n) in SIZES.into_iter().enumerate() {
        let (a, spd, b) =
            (random::<E>(n, n, k as u64), positive::<E>(n, 20 + k as u64), random::<E>(n, 3, 40 + k as u64));
        let a = &a + Matrix::<E>::eye(n).scale(2.0);
        let one = Matrix::<E>::eye(n);
        let l = spd.cholesky();
        near("cholesky", &l.matmul(&l.t()), &spd);
        near("cholesky is lower", &l.tril(0), &l);
        near("cholesky_solve", &spd.matmul(&l.cholesky_solve(&b)), &b);
        near("solve", &a.matmul(&a.solve(&b)), &b);
        near("inverse", &spd.matmul(&spd.inverse()), &one);
        let (l, u, p) = a.lu();
        near("lu", &l.matmul(&u), &a.gather([&p]));
        near("l of lu", &(l.tril(-1) + &one), &l);
        near("u of lu", &u.triu(0), &u);
        let (w, v) = spd.eigh();
        near("eigh", &spd.matmul(&v), &(&v * w.expand::<2>()));
        near("eigenvectors", &v.t().matmul(&v), &one);
        let kinds = [Triangle::LOWER, Triangle::UPPER];
        for t in kinds.iter().flat_map(|t| [*t, t.transposed(), t.unit(), t.transposed().unit()]) {
            // Small numbers off the diagonal, so that the triangles with ones are well conditioned.
            let a = &a.scale(1.0 / (n.max(1) as f64)) + &one;
            let part = if t.lower { a.tril(if t.unit { -1 } else { 0 }) } else { a.triu(i64::from(t.unit)) };
            let part = if t.unit { part + &one } else { part };
            let part = if t.transposed { part.t() } else { part };
            near("solve_triangular", &part.matmul(&a.solve_triangular(&b, t)), &b);
        }
        for (m, n) in [(n, n), (n + 4, n), (n, n + 4)] {
            let a = random::<E>(m, n, 60 + k as u64);
            let (q, r) = a.qr();
            near("qr", &q.matmul(&r), &a);
            near("q", &q.t().matmul(&q), &Matrix::eye(m.min(n)));
            near("r", &r.triu(0), &r);
            let (u, s, vt) = a.svd();
            near("svd", &(u * s.expand::<2>()).matmul(&vt), &a);
            if m >= n {
                let b = random::<E>(m, 2, 80 + k as u64);
                let residual = &b - a.matmul(&a.lstsq(&b));
                near("lstsq", &a.t().matmul(&residual), &Matrix::zeros([n, 2]));
            }
        }
    }
}

#[test]
fn factors_and_solutions_are_what_they_should_be() {
    every_size::<f64>();
    every_size::<f32>();
}

#[test]
fn determinants_are_products_of_eigenvalues() {
    for n in [0, 1, 2, 5, 40] {
        let a = positive::<f64>(n, 7).scale(1.0 / n.max(1) as f64);
        let (w, _) = a.eigh();
        near("logdet", &a.logdet(), &w.ln().sum());
        near("det", &a.det(), &w.ln().sum().exp());
    }
    // A permutation of four rows in a circle is odd, one of three is even.
    let circle = |n: usize| Matrix::<f64>::from_fn([n, n], |[i, j]| f64::from(u8::from((i + 1) % n == j)));
    assert_eq!(circle(4).det().item(), -1.0);
    assert_eq!(circle(3).det().item(), 1.0);
    assert_eq!(circle(4).slogdet().0.item(), -1.0);
    // Out of range as a number.
    let large = Matrix::<f64>::eye(200) * 1e200;
    assert_eq!(large.det().item(), f64::INFINITY);
    near("logdet", &large.logdet(), &tensor(200.0 * 1e200f64.ln()));
}

#[test]
fn the_exponential_solves_its_equation() {
    for n in [1, 2, 5] {
        let a = random::<f64>(n, n, 3);
        near("e^a e^-a", &a.expm().matmul(&(-&a).expm()), &Matrix::eye(n));
        near("e^2a", &(&a * 2.0).expm(), &a.expm().matmul(&a.expm()));
    }
    let diagonal = tensor([1.0, -2.0, 0.5]);
    near("diagonal", &diagonal.diag().expm(), &diagonal.exp().diag());
}

#[test]
fn a_matrix_without_a_result_gives_nan_alone() {
    let nan = f64::NAN;
    let stack = tensor([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 2.0]], [[nan, 0.0], [0.0, 1.0]]]);
    let b = tensor([[1.0, 0.0], [2.0, 4.0], [1.0, 1.0]]);
    let x = stack.solve(&b);
    assert!(x.row(0).raw().to_vec::<f64>().unwrap().iter().all(|x| x.is_nan()));
    assert_eq!(x.row(1), tensor([1.0, 2.0]));
    assert!(x.row(2).raw().to_vec::<f64>().unwrap().iter().all(|x| x.is_nan()));
    let all_nan = |a: &Array, row: usize| {
        let v = a.to_vec::<f64>().unwrap();
        let n = v.len() / 3;
        v[row * n..(row + 1) * n].iter().all(|x| x.is_nan())
    };
    for a in [stack.inverse().into_raw(), stack.cholesky().into_raw()] {
        assert!(all_nan(&a, 0) && !all_nan(&a, 1) && all_nan(&a, 2));
    }
    for a in [stack.det().into_raw(), stack.eigh().1.into_raw(), stack.svd().1.into_raw(), stack.expm().into_raw()] {
        assert!(!all_nan(&a, 0) && !all_nan(&a, 1) && all_nan(&a, 2));
    }
    assert_eq!(stack.det().at([0]).item(), 0.0);
}

/// Zero is the solution for zero, whatever the matrix is, so that derivatives have no NaN where nothing moves.
#[test]
fn a_right_hand_side_of_zeros_has_a_solution_of_zeros() {
    let a = tensor([[0.0, f64::NAN], [1.0, f64::INFINITY]]);
    let b = tensor([0.0, -0.0]);
    assert_eq!(a.solve(&b), tensor([0.0, 0.0]));
    assert_eq!(a.solve_lower(&b), tensor([0.0, 0.0]));
    assert_eq!(a.lstsq(&b), tensor([0.0, 0.0]));
}

#[test]
fn what_a_triangle_leaves_out_may_be_anything() {
    let nan = f64::NAN;
    let a = tensor([[2.0, nan], [1.0, 4.0]]);
    assert_eq!(a.solve_lower(&tensor([2.0, 5.0])), tensor([1.0, 1.0]));
    let a = tensor([[nan, nan], [1.0, nan]]);
    assert_eq!(a.solve_triangular(&tensor([2.0, 5.0]), Triangle::LOWER.unit()), tensor([2.0, 3.0]));
}

/// Triangles of all magnitudes in a skew basis: their powers are small, while those of the absolute values are large.
#[test]
fn the_exponential_is_the_square_of_that_of_half() {
    let mut rng = Rng::new(9);
    for trial in 0..300 {
        let n = 2 + trial % 4;
        let mut spread = |most: f64| {
            let [x, y] = [(); 2].map(|()| Matrix::<f64>::from_raw(rng.uniform(&[n, n], -0.5, 0.5)));
            x * (y * (most * std::f64::consts::LN_10)).exp()
        };
        let (basis, upper) = (spread(4.0), spread(8.0));
        let triangle = upper.triu(1) + Matrix::eye(n) * 0.5;
        let a = basis.matmul(&triangle).matmul(&basis.inverse());
        let (whole, half) = (a.expm(), (&a * 0.5).expm());
        let square = half.matmul(&half);
        let off = ((&whole - &square).square().sum() / square.square().sum()).sqrt().item();
        assert!(off < 1e-8, "trial {trial}: off by {off:e} for {a}");
    }
}

#[test]
fn only_the_symmetric_part_counts() {
    let a = tensor([[4.0, 1.0], [3.0, 5.0]]);
    let symmetric = tensor([[4.0, 2.0], [2.0, 5.0]]);
    assert_eq!(a.cholesky(), symmetric.cholesky());
    assert_eq!(a.eigh(), symmetric.eigh());
}

#[test]
fn results_are_the_same_matrix_by_matrix_and_in_stacks() {
    let mut rng = Rng::new(5);
    let stack = Tensor::<Concrete, 3>::from_raw(rng.normal(&[3, 4, 4], 0.0, 1.0));
    let whole = stack.solve(&stack);
    let parts: Vec<Matrix> = (0..3).map(|k| stack.row(k).solve(&stack.row(k))).collect();
    assert_eq!(whole, polygrad::stack(parts));
}
