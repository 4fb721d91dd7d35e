//! Derivatives of linear algebra at degenerate matrices: equal eigenvalues, singular values of 0, dependent columns.
//!
//! Laws: where a function is smooth, all modes and orders give its derivative, which differences of values and
//! gradients know; and a result that a mask hides sends exactly zero in every mode, also if it is NaN.

use polygrad::ops::{Call, Matrix as Operation};
use polygrad::{
    BaseTensor, Complex, Concrete, Mode, Tensor, custom_jvp, direct, grad, hessian, hvp, jacobian_by, jvp, laplacian,
    taylor, tensor,
};

type Number<T> = Tensor<T, 0>;
type Matrix<T> = Tensor<T, 2>;

#[track_caller]
fn near(what: &str, actual: &[f64], expected: &[f64], tolerance: f64) {
    let scale = expected.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    assert_eq!(actual.len(), expected.len());
    let close = actual.iter().zip(expected).all(|(x, y)| (x - y).abs() <= tolerance * scale);
    assert!(close, "{what}: {actual:?} is not {expected:?}");
}

/// A direction without equal or zero elements.
fn direction(shape: [usize; 2]) -> Matrix<Concrete> {
    Tensor::from_fn(shape, |[i, j]| ((3 * i + 7 * j + 1) as f64).sin())
}

/// All modes give one gradient, that of differences of values, and one second derivative, that of differences of
/// gradients.
macro_rules! smooth {
    ($what:expr, $f:path, $a:expr) => {
        smooth!($what, $f, $a, true)
    };
    ($what:expr, $f:path, $a:expr, $forward:expr) => {{
        let (what, a): (&str, Matrix<Concrete>) = ($what, $a);
        let (v, h) = (direction(a.shape()), 1e-5);
        let gradient = grad($f, &a).to_vec();
        let slope: f64 = gradient.iter().zip(v.to_vec()).map(|(x, y)| x * y).sum();
        let moved = |h: f64| &a + &(&v * h);
        near(what, &[slope], &[($f(&moved(h)) - $f(&moved(-h))).item() / (2.0 * h)], 1e-7);
        near(what, &direct::grad($f, &a).to_vec(), &gradient, 1e-12);
        near(what, &jacobian_by(Mode::Reverse, $f, &a).to_vec(), &gradient, 1e-12);
        let curved = hvp($f, &a, &v).to_vec();
        let difference = (grad($f, &moved(h)) - grad($f, &moved(-h))) * (0.5 / h);
        near(what, &curved, &difference.to_vec(), 1e-6);
        near(what, &direct::jvp(|a: &Matrix<_>| direct::grad($f, a), &a, &v).1.to_vec(), &curved, 1e-9);
        if $forward {
            near(what, &jacobian_by(Mode::Forward, $f, &a).to_vec(), &gradient, 1e-12);
            near(what, &[jvp($f, &a, &v).1.item()], &[slope], 1e-11);
            let second: f64 = curved.iter().zip(v.to_vec()).map(|(x, y)| x * y).sum();
            let series = taylor($f, &a, &v, 3);
            near(what, &[series[2].item() * 2.0], &[second], 1e-9);
            let at = |h: f64| {
                let slope = hvp($f, &moved(h), &v).to_vec();
                slope.iter().zip(v.to_vec()).map(|(x, y)| x * y).sum::<f64>()
            };
            near(what, &[series[3].item() * 6.0], &[(at(h) - at(-h)) / (2.0 * h)], 1e-4);
        }
    }};
}

/// The product of two elements of the last eigenvector, and its eigenvalue.
fn last_pair<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
    let (w, v) = a.eigh::<1>();
    let (n, last): (usize, Tensor<T, 1>) = (w.len(), v.t().row(a.shape()[0] - 1));
    last.at([0]) * last.at([n - 1]) * 2.0 + w.at([n - 1]).sin() + last.at([1]).square()
}

/// A function of the best approximation of rank one.
fn best_of_rank_one<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
    let (u, s, vt) = a.svd::<1>();
    let best = u.slice(1, ..1).matmul(&vt.slice(0, ..1)).times(&s.at([0]));
    best.sin().sum() + s.at([0]).square()
}

#[test]
fn simple_eigenvalues_and_vectors_beside_equal_ones() {
    let third = 1.0 / 3.0f64.sqrt();
    let turned = tensor([
        [third, third, third],
        [2f64.sqrt().recip(), -(2f64.sqrt().recip()), 0.0],
        [6f64.sqrt().recip(), 6f64.sqrt().recip(), -2.0 / 6f64.sqrt()],
    ]);
    let general = turned.t().matmul(&tensor([5.0, 1.0, 1.0]).diag()).matmul(&turned);
    let rank_one = tensor([[1.0, 2.0, 2.0], [2.0, 4.0, 4.0], [2.0, 4.0, 4.0]]);
    let four = tensor([7.0, 2.0, 2.0, 2.0]).diag();
    for (what, a) in [("diagonal", tensor([5.0, 1.0, 1.0]).diag()), ("general", general), ("of rank one", rank_one)] {
        smooth!(what, last_pair, a);
    }
    smooth!("three equal ones", last_pair, four);
    smooth!("all but one zero", last_pair, tensor([3.0, 0.0, 0.0, 0.0]).diag());
}

#[test]
fn singular_vectors_of_simple_values_beside_others() {
    let rank_one = |m: usize, n: usize| Tensor::from_fn([m, n], |[i, j]| (i as f64 + 1.0) * (0.5 + j as f64));
    let diagonal = |m: usize, n: usize| {
        let values = [3.0, 1.0, 1.0];
        Tensor::from_fn([m, n], |[i, j]| if i == j { values[i] } else { 0.0 })
    };
    for (m, n) in [(3, 3), (4, 3), (3, 4)] {
        smooth!("equal values", best_of_rank_one, diagonal(m, n));
        smooth!("rank one", best_of_rank_one, rank_one(m, n));
    }
    smooth!("one column", best_of_rank_one, rank_one(3, 1));
}

/// Figures of perturbation theory: the Hessian of a simple extreme value of a diagonal matrix.
#[test]
fn second_derivatives_by_perturbation_theory() {
    fn largest<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.eigh::<1>().0.at([a.shape()[0] - 1])
    }
    fn norm<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.svd::<1>().1.at([0])
    }
    let trace = |h: Tensor<Concrete, 4>| h.reshape::<2>([9, 9]).trace().item();
    let a = tensor([4.0, 1.0, 1.0]).diag();
    assert!((trace(hessian(largest, &a)) - 2.0 / 3.0).abs() < 1e-14);
    assert!((laplacian(largest, &a).item() - 2.0 / 3.0).abs() < 1e-14);
    let a = tensor([5.0, 1.0, 1.0]).diag();
    assert!((trace(hessian(norm, &a)) - 4.0 * 5.0 / 24.0).abs() < 1e-14);
    assert!((laplacian(norm, &a).item() - 4.0 * 5.0 / 24.0).abs() < 1e-14);
}

/// What depends on the choice of vectors has no derivative, and says so.
#[test]
fn vectors_of_equal_values_have_none() {
    fn equal_pair<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.eigh::<1>().1.sum()
    }
    fn powers<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.eigh::<1>().0.powi(3).sum()
    }
    let a = tensor([5.0, 1.0, 1.0]).diag();
    assert!(grad(equal_pair, &a).to_vec().iter().any(|x| x.is_nan()));
    near("powers", &grad(powers, &a).to_vec(), &tensor([75.0, 3.0, 3.0]).diag().to_vec(), 1e-14);
    // The sum of third powers is smooth, but its second derivative by eigenvalues is that of each of them.
    assert!(hvp(powers, &a, &direction([3, 3])).to_vec().iter().any(|x| !x.is_finite()));
}

/// Sums of functions of all eigenvalues or singular values are smooth at equal ones: forward mode is right, too.
#[test]
fn symmetric_functions_of_equal_values() {
    fn powers<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        (a + a.t()).eigh::<1>().0.powi(3).sum()
    }
    fn squares<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.svd::<1>().1.square().sum()
    }
    fn sum<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.svd::<1>().1.sum()
    }
    let unit: Matrix<Concrete> = tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    let turned: Matrix<Concrete> = tensor([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]);
    // The derivative of a trace: 3 (2 a)^2 2, 2 a, and the nearest orthogonal matrix.
    for mode in [Mode::Forward, Mode::Reverse] {
        near("cubes", &jacobian_by(mode, powers, &unit).to_vec(), &(&unit * 24.0).to_vec(), 1e-12);
        near("squares", &jacobian_by(mode, squares, &unit).to_vec(), &(&unit * 2.0).to_vec(), 1e-12);
        near("nuclear norm", &jacobian_by(mode, sum, &unit).to_vec(), &unit.to_vec(), 1e-12);
        near("of a rotation", &jacobian_by(mode, sum, &turned).to_vec(), &turned.to_vec(), 1e-12);
    }
    let v = direction([3, 3]);
    let slope = (&unit * 24.0 * &v).sum().item();
    near("jvp", &[jvp(powers, &unit, &v).1.item()], &[slope], 1e-12);
    near("direct::jvp", &[direct::jvp(powers, &unit, &v).1.item()], &[slope], 1e-12);
    near("taylor", &[taylor(powers, &unit, &v, 1)[1].item()], &[slope], 1e-12);
}

/// Vectors of equal values have no derivative; behind a factor of zero it sends zero, in recorded programs, too.
#[test]
fn vectors_before_a_factor_of_zero_send_nothing() {
    fn turned<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.eigh::<1>().1.at([0, 1]).square()
    }
    fn left<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.svd::<1>().0.at([0, 1]).square()
    }
    fn product<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        let (l, u, _) = a.lu::<0, 1>();
        l.matmul(&u).square().sum()
    }
    macro_rules! sends_nothing {
        ($f:ident, $a:expr, $v:expr) => {{
            let (a, v): (&Matrix<Concrete>, &Matrix<Concrete>) = ($a, $v);
            let name = stringify!($f);
            let zeros = vec![0.0; a.to_vec().len()];
            near(name, &grad($f, a).to_vec(), &zeros, 0.0);
            near(name, &jacobian_by(Mode::Forward, $f, a).to_vec(), &zeros, 0.0);
            near(name, &[jvp($f, a, v).1.item(), direct::jvp($f, a, v).1.item()], &[0.0; 2], 0.0);
            near(name, &[taylor($f, a, v, 1)[1].item(), direct::taylor($f, a, v, 1)[1].item()], &[0.0; 2], 0.0);
        }};
    }
    let (unit, swap) = (tensor([[1.0, 0.0], [0.0, 1.0]]), tensor([[0.0, 1.0], [1.0, 0.0]]));
    sends_nothing!(turned, &unit, &swap);
    sends_nothing!(left, &unit, &tensor([[0.0, 1.0], [0.0, 0.0]]));
    sends_nothing!(product, &(&unit * 0.0), &swap);
}

/// A column of zeros has a solution of zeros, whatever the matrix and the other columns are.
#[test]
fn solutions_of_columns_of_zeros() {
    for n in [2, 5, 40] {
        let singular = Tensor::<Concrete, 2>::zeros([n, n]);
        let b = Tensor::<Concrete, 2>::from_fn([n, 3], |[_, j]| [1.0, 0.0, 2.0][j]);
        let l = Tensor::<Concrete, 2>::from_fn([n, n], |[i, j]| if i > j { 1.0 } else { 0.0 });
        for x in [singular.solve(&b), (&singular * f64::NAN).lstsq(&b), l.solve_lower(&b)] {
            let columns = [0, 1, 2].map(|j| x.t().row(j).to_vec());
            assert!(columns[1].iter().all(|x| *x == 0.0), "{n}: {x}");
        }
    }
}

#[test]
fn hermitian_matrices() {
    fn last<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        let z = Complex::new(a.clone(), a.tril(0) * Matrix::from_fn([3, 3], |[i, j]| i as f64 - j as f64));
        let (w, v) = z.eigh();
        w.at([2]).sin() + v.abs2().at([0, 2]) + v.abs2().at([1, 2]) * 2.0
    }
    fn largest<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        let z = Complex::new(a.clone(), a.tril(0) * Matrix::from_fn([3, 3], |[i, j]| i as f64 - j as f64));
        z.eigh().0.at([2])
    }
    let (a, v) = (tensor([5.0, 1.0, 1.0]).diag(), direction([3, 3]));
    let (h, gradient) = (1e-5, grad(last, &a));
    let moved = |h: f64| &a + &(&v * h);
    near(
        "gradient",
        &[(&gradient * &v).sum().item()],
        &[(last(&moved(h)) - last(&moved(-h))).item() / (2.0 * h)],
        1e-8,
    );
    near("forward", &jacobian_by(Mode::Forward, last, &a).to_vec(), &gradient.to_vec(), 1e-12);
    let difference = (grad(largest, &moved(h)) - grad(largest, &moved(-h))) * (0.5 / h);
    near("second", &hvp(largest, &a, &v).to_vec(), &difference.to_vec(), 1e-7);
}

/// Second derivatives where a cotangent of a rule is zero at the point, but moves: of products of matrices of zeros, and
/// of a function with a rule before a selection.
#[test]
fn cotangents_that_are_zero_at_the_point() {
    fn product<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Matrix<T> {
        let args = [a.raw().clone(), b.raw().clone()];
        Tensor::from_raw(T::call(&Call::Matrix(Operation::Product { transposed: false }), &args).swap_remove(0))
    }
    fn element<T: BaseTensor>(x: &Tensor<T, 3>) -> Number<T> {
        let [a, b, c] = [0, 1, 2].map(|k| -> Matrix<T> { x.slice(0, k..=k).reshape::<2>([3, 3]) });
        product(&a, &product(&b, &c)).at([2, 1])
    }
    for zeros in 0..7 {
        let x = Tensor::from_fn([3, 3, 3], |[k, i, j]| {
            if zeros >> k & 1 == 1 { 0.0 } else { ((9 * k + 3 * i + 7 * j + 1) as f64).sin() }
        });
        let v = Tensor::from_fn([3, 3, 3], |[k, i, j]| ((7 * k + 2 * i + 5 * j + 1) as f64).cos());
        // The element is `sum_pq a[2, p] b[p, q] c[q, 1]`, whose gradient is a polynomial.
        let at = |x: &Tensor<Concrete, 3>, [k, i, j]: [usize; 3]| x.at([k, i, j]).item();
        let second = |f: [[usize; 3]; 2]| at(&x, f[0]) * at(&v, f[1]) + at(&v, f[0]) * at(&x, f[1]);
        let expected: Vec<f64> = Tensor::<Concrete, 3>::from_fn([3, 3, 3], |[k, i, j]| match k {
            0 if i == 2 => (0..3).map(|q| second([[1, j, q], [2, q, 1]])).sum(),
            1 => second([[0, 2, i], [2, j, 1]]),
            2 if j == 1 => (0..3).map(|p| second([[0, 2, p], [1, p, i]])).sum(),
            _ => 0.0,
        })
        .to_vec();
        near("products", &hvp(element, &x, &v).to_vec(), &expected, 1e-14);
        let forward = direct::jvp(|x: &Tensor<_, 3>| direct::grad(element, x), &x, &v).1;
        near("direct products", &forward.to_vec(), &expected, 1e-14);
    }
    fn ruled<T: BaseTensor>(x: &Tensor<T, 1>) -> Number<T> {
        let y = custom_jvp("sine", |x| x.sin(), |x, _, x_dot| x.cos() * x_dot, &x.at([1]));
        let z = x.at([0]) * y * 2.0;
        z.lt(1.0).select(&z, Number::<T>::scalar(1.0))
    }
    let (x, v) = (tensor([0.0, 0.5]), tensor([0.3, 0.7]));
    let slope = 2.0 * 0.5f64.cos();
    near("a rule", &hvp(ruled, &x, &v).to_vec(), &[slope * 0.7, slope * 0.3], 1e-15);
}

/// `f` of the least-squares solution with a matrix that is the product of two: its rank is constant.
fn of_constant_rank<T: BaseTensor>(both: &Matrix<T>, [m, n, rank]: [usize; 3]) -> Number<T> {
    let flat: Tensor<T, 1> = both.flatten();
    let b = flat.slice(0, ..m * rank).reshape::<2>([m, rank]);
    let c = flat.slice(0, m * rank..(m + n) * rank).reshape::<2>([rank, n]);
    let right = Matrix::<T>::from_fn([m, 2], |[i, j]| ((2 * i + 3 * j) as f64).cos());
    let a = b.matmul(&c);
    let (x, y) = (a.lstsq(&right), a.lstsq(&right.slice(1, ..1).reshape::<1>([m])));
    x.sin().sum() + x.square().sum() + y.at([0]) * y.at([n - 1])
}

#[test]
fn least_squares_at_constant_rank() {
    fn tall<T: BaseTensor>(x: &Matrix<T>) -> Number<T> {
        of_constant_rank(x, [4, 3, 2])
    }
    fn wide<T: BaseTensor>(x: &Matrix<T>) -> Number<T> {
        of_constant_rank(x, [3, 4, 2])
    }
    fn full<T: BaseTensor>(x: &Matrix<T>) -> Number<T> {
        of_constant_rank(x, [2, 4, 2])
    }
    fn tall_and_full<T: BaseTensor>(x: &Matrix<T>) -> Number<T> {
        of_constant_rank(x, [4, 2, 2])
    }
    fn one<T: BaseTensor>(x: &Matrix<T>) -> Number<T> {
        of_constant_rank(x, [3, 3, 1])
    }
    let factors = |size: usize| Tensor::from_fn([1, size], |[_, k]| ((5 * k * k + 3 * k + 1) as f64).sin() + 0.2);
    smooth!("tall", tall, factors(14));
    smooth!("wide", wide, factors(14));
    smooth!("full", full, factors(12));
    smooth!("tall and full", tall_and_full, factors(12));
    smooth!("rank one", one, factors(6));
}

/// The formula of the pseudo-inverse at doubled columns, in each mode: the solution is shared, and with `b` in the
/// range `da` moves it by `-a^+ da x` and what `da^T` brings from the rest.
#[test]
fn doubled_columns() {
    fn first<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        a.lstsq(&Tensor::<T, 1>::constant([1.0, 2.0, 3.0])).at([0])
    }
    // a = u (1, 1) with u . u = 3: x = (1, 1), r = (-1, 0, 1), and a^+ = (1, 1)^T u^T / 6.
    // dx0 = (-(u . da x) + (da^T r . (1, 1)) / 2) / 6 + (da^T u)_0 / 6 - (da^T u)_1 / 6, with a^+T x = u / 3.
    let a = tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]);
    let r = [-1.0, 0.0, 1.0];
    let expected: Vec<f64> = (0..6)
        .map(|k| {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            -1.0 / 6.0 + r[k / 2] / 12.0 + sign / 6.0
        })
        .collect();
    near("grad", &grad(first, &a).to_vec(), &expected, 1e-14);
    near("direct", &direct::grad(first, &a).to_vec(), &expected, 1e-14);
    near("forward", &jacobian_by(Mode::Forward, first, &a).to_vec(), &expected, 1e-14);
    for column in 0..2 {
        let v = Tensor::from_fn([3, 2], |[i, j]| if (i, j) == (1, column) { 1.0 } else { 0.0 });
        near("jvp", &[jvp(first, &a, &v).1.item()], &[expected[2 + column]], 1e-14);
    }
    // Columns of zeros have coefficients of zero, which other columns do not move.
    let a = tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]);
    let x = a.lstsq(&tensor([1.0, 2.0, 3.0]));
    near("zeros", &x.to_vec(), &[1.0, 0.0], 1e-15);
    assert!(grad(first, &a).to_vec().iter().all(|x| x.is_finite()));
}

/// The gradient of a function of `q r`, whose last column counts for nothing.
#[test]
fn qr_of_a_column_of_zeros() {
    fn square<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        let (q, r) = a.qr();
        q.matmul(&r).square().sum()
    }
    fn first<T: BaseTensor>(a: &Matrix<T>) -> Number<T> {
        let (q, r) = a.qr();
        q.slice(1, ..1).sin().sum() + r.slice(0, ..1).square().sum()
    }
    let a = tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]);
    near("square", &grad(square, &a).to_vec(), &(&a * 2.0).to_vec(), 1e-14);
    near("square", &direct::grad(square, &a).to_vec(), &(&a * 2.0).to_vec(), 1e-14);
    smooth!("first column", first, a.clone());
    smooth!("wide", first, tensor([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0]]), false);
    // The column of `q` beside it is any unit vector that completes the first.
    let other = grad(|a: &Matrix<_>| a.qr().0.slice(1, 1..).sum(), &a);
    assert!(other.to_vec().iter().any(|x| x.is_nan()));
}

/// A masked function of a matrix, each of which has no value at zeros.
fn functions<T: BaseTensor>(k: usize, a: &Matrix<T>) -> Option<Number<T>> {
    let (b, two) = (Tensor::<T, 1>::constant([1.0, 2.0]), Tensor::<T, 2>::constant([[1.0, 2.0], [0.5, 3.0]]));
    Some(match k {
        0 => a.solve(&b).sum(),
        1 => a.solve(&two).sum(),
        2 => a.solve_lower(&b).sum() + a.solve_upper(&two).sum(),
        3 => a.inverse().sum(),
        4 => a.logdet(),
        5 => a.cholesky().sum(),
        6 => {
            let (l, u, _) = a.lu::<0, 1>();
            l.sum() + u.ln().sum()
        }
        7 => {
            let (q, r) = a.qr();
            q.ln().sum() + r.ln().sum()
        }
        8 => {
            let (w, v) = a.eigh::<1>();
            w.ln().sum() + v.sum()
        }
        9 => {
            let (u, s, vt) = a.svd::<1>();
            s.ln().sum() + u.sum() + vt.sum()
        }
        10 => a.lstsq(&b.ln()).sum() + a.lstsq(&two).ln().sum(),
        11 => a.det().ln() + a.expm().sum(),
        12 => (a + Matrix::<T>::eye(2)).solve(&a.row::<1>(0).ln()).sum(),
        _ => return None,
    })
}

/// A diagonal matrix that moves along its diagonal: values move as their elements, and no vector turns, also where values
/// are equal or 0.
#[test]
fn values_that_move_alone_turn_no_vector() {
    for rows in [3, 5] {
        let diagonal = |x: [f64; 3]| Matrix::<Concrete>::from_fn([rows, 3], |[i, j]| if i == j { x[i] } else { 0.0 });
        for values in [[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]] {
            let moves = [0.5, 4.0, 0.25];
            let (_, (u, s, vt)) = jvp(|a: &Matrix<_>| a.svd::<1>(), &diagonal(values), &diagonal(moves));
            assert_eq!(s.to_vec(), moves, "{values:?}");
            assert!(u.to_vec().into_iter().chain(vt.to_vec()).all(|x| x == 0.0), "{values:?}: {u} and {vt}");
        }
    }
}

/// Factors of a matrix without a decomposition are NaN, but along zeros they do not move.
#[test]
fn no_vector_moves_along_zeros() {
    for x in [f64::NAN, f64::INFINITY] {
        let (a, still) = (tensor([[x, 1.0], [1.0, 2.0]]), Matrix::<Concrete>::zeros([2, 2]));
        let (w, v) = jvp(|a: &Matrix<_>| a.eigh::<1>(), &a, &still).1;
        let (u, s, vt) = jvp(|a: &Matrix<_>| a.svd::<1>(), &a, &still).1;
        assert_eq!([w.to_vec(), s.to_vec()], [[0.0; 2]; 2], "{x}");
        assert_eq!([v.to_vec(), u.to_vec(), vt.to_vec()], [[0.0; 4]; 3], "{x}");
    }
}

/// A branch that is not taken sends exactly zero, whatever the matrix in it is: singular, not finite, not definite.
#[test]
fn masked_functions_of_matrices_send_nothing() {
    fn masked<T: BaseTensor>(k: usize, a: &Matrix<T>) -> Number<T> {
        let plain = a.square().sum();
        let of = if k < 20 { functions(k, a) } else { functions(k - 20, &a.ln()) };
        let Some(y) = of else { return plain };
        a.at([0, 0]).gt(1.0).select(&y, &plain)
    }
    let v = tensor([[1.0, 2.0], [3.0, 4.0]]);
    for a in [Matrix::<Concrete>::zeros([2, 2]), tensor([[-1.0, -1.0], [-1.0, -1.0]])] {
        for k in (0..13).chain(20..33) {
            let f = |a: &Matrix<_>| masked(k, a);
            let (gradient, curved) = ((&a * 2.0).to_vec(), (&v * 2.0).to_vec());
            let what = format!("function {k}");
            assert_eq!(grad(f, &a).to_vec(), gradient, "{what}");
            assert_eq!(direct::grad(|a: &Matrix<_>| masked(k, a), &a).to_vec(), gradient, "{what}, direct");
            assert_eq!(jacobian_by(Mode::Forward, f, &a).to_vec(), gradient, "{what}, forward");
            assert_eq!(hvp(f, &a, &v).to_vec(), curved, "{what}, second");
            let direct = direct::jvp(|a: &Matrix<_>| direct::grad(|a: &Matrix<_>| masked(k, a), a), &a, &v);
            assert_eq!(direct.1.to_vec(), curved, "{what}, second direct");
        }
    }
}
