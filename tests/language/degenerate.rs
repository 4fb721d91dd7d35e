//! Factorizations and least squares of degenerate matrices, drawn with stated ranks, equal and graded and doubled
//! columns, rows of zeros, integers, and scales of 1e-200 to 1e200.
//!
//! Laws: factors multiply to the matrix, and orthonormal columns are so, within 50 rounding errors; the least-squares
//! solution is the pseudo-inverse that follows from a construction; exponentials are those of finite sums.

use polygrad::array::Rng;
use polygrad::{Complex, Concrete, DType, Float, Tensor, tensor};

type Matrix<E = f64> = Tensor<Concrete, 2, E>;

/// How often the draws of a test are repeated.
fn times() -> u64 {
    let more = std::env::var("POLYGRAD_FUZZ").ok().and_then(|n| n.parse::<u64>().ok());
    more.map_or(1, |n| (n / 100).clamp(1, 100))
}

fn epsilon<E: Float>() -> f64 {
    if E::DTYPE == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

fn wide<const D: usize, E: Float>(x: &Tensor<Concrete, D, E>) -> Tensor<Concrete, D> {
    Tensor::from_raw(x.raw().cast::<f64>())
}

fn length<const D: usize>(x: &Tensor<Concrete, D>) -> f64 {
    x.norm().item()
}

fn normal(rng: &mut Rng, shape: [usize; 2]) -> Matrix {
    rng.normal(shape, 0.0, 1.0)
}

/// The shapes that are tried: all small ones, and some larger ones with several blocks.
fn shapes(rng: &mut Rng) -> Vec<[usize; 2]> {
    let small = (1..5).flat_map(|m| (1..5).map(move |n| [m, n]));
    let others = (0..6).map(|_| [1 + rng.below(40), 1 + rng.below(40)]);
    small.chain(others).collect()
}

/// Degenerate matrices of a shape.
fn degenerate(rng: &mut Rng, [m, n]: [usize; 2]) -> Vec<(String, Matrix)> {
    let mut all = vec![
        ("zeros".to_owned(), Matrix::zeros([m, n])),
        ("ones".to_owned(), Matrix::ones([m, n])),
        ("integers".to_owned(), Matrix::from_fn([m, n], |_| rng.below(5) as f64 - 2.0)),
        ("diagonal".to_owned(), Matrix::from_fn([m, n], |[i, j]| if i == j { 1.0 } else { 0.0 })),
    ];
    for rank in [1, m.min(n) / 2, m.min(n)] {
        let (left, right) = (normal(rng, [m, rank.max(1)]), normal(rng, [rank.max(1), n]));
        all.push((format!("rank {rank}"), left.matmul(&right)));
    }
    let plain = normal(rng, [m, n]);
    let column = |f: &dyn Fn(usize, usize) -> (usize, f64)| {
        let elements = plain.to_vec();
        Matrix::from_fn([m, n], |[i, j]| {
            let (from, by) = f(i, j);
            elements[i * n + from] * by
        })
    };
    all.push(("doubled columns".to_owned(), column(&|_, j| (j / 2, 1.0))));
    all.push(("graded columns".to_owned(), column(&|_, j| (j, 10f64.powi(-4 * j as i32)))));
    all.push(("rows of zeros".to_owned(), column(&|i, j| (j, f64::from(u8::from(i % 2 == 1))))));
    all.push(("columns of zeros".to_owned(), column(&|_, j| (j, f64::from(u8::from(j % 3 == 1))))));
    all.push(("centred".to_owned(), &plain - plain.mean_axis::<1>(0).expand::<2>()));
    for scale in [1e-200, 1e200] {
        all.push((format!("scaled by {scale:e}"), plain.matmul(&plain.t()).matmul(&plain) * scale));
    }
    all
}

/// The matrix divided by its largest element, so that squares are in range.
fn unit(a: &Matrix) -> (Matrix, f64) {
    let most = a.abs().max_all().item();
    if most == 0.0 { (a.clone(), 1.0) } else { (a / most, most) }
}

fn factors_of<E: Float>(what: &str, a: &Matrix) {
    let (a, what) = (Matrix::<E>::from_raw(a.raw().cast::<E>()), format!("{what}, {}", E::DTYPE));
    let ([m, n], roundings) = (a.shape(), 50.0 * epsilon::<E>());
    let (q, r) = a.qr();
    let (q, (r, size)) = (wide(&q), unit(&wide(&r)));
    let (scaled, k) = (&wide(&a) / size, m.min(n));
    let off = length(&(q.matmul(&r) - &scaled));
    assert!(off <= roundings * length(&scaled), "{what}: q r is off by {off:e}");
    let off = length(&(q.t().matmul(&q) - Matrix::eye(k)));
    assert!(off <= roundings * (k as f64).sqrt(), "{what}: q is off by {off:e}");
    assert!((0..k).all(|i| r.at([i, i]).item() >= 0.0 && (0..i).all(|j| r.at([i, j]).item() == 0.0)), "{what}: r");
    if m != n {
        return;
    }
    let (l, u, p) = a.lu::<0, 1>();
    let rows = &wide(&a.gather([&p])) / size;
    let (l, u) = (wide(&l), wide(&u) / size);
    let off = length(&(l.matmul(&u) - &rows));
    assert!(off <= roundings * length(&l) * length(&u), "{what}: l u is off by {off:e}");
    assert!(l.abs().max_all().item() <= 1.0, "{what}: l");
    if (1e-10..1e10).contains(&size) || size == 1.0 {
        let square = a.matmul(&a.t());
        let l = wide(&square.cholesky());
        let square = wide(&square);
        let is_nan = l.to_vec().iter().all(|x| x.is_nan());
        let off = length(&(l.matmul(&l.t()) - &square));
        assert!(is_nan || off <= roundings * n as f64 * length(&square), "{what}: l l^T is off by {off:e}");
        let raised = &square + Matrix::eye(n).scale(length(&square).max(1.0));
        assert!(raised.cholesky().to_vec().iter().all(|x| x.is_finite()), "{what}: definite");
        let lowered = -&raised;
        assert!(lowered.cholesky().to_vec().iter().all(|x| x.is_nan()), "{what}: negative definite");
    }
}

#[test]
fn factors_within_rounding_errors() {
    for seed in 0..times() {
        let mut rng = Rng::new(seed);
        for shape in shapes(&mut rng) {
            for (name, a) in degenerate(&mut rng, shape) {
                let what = format!("{name} of {shape:?}, seed {seed}");
                factors_of::<f64>(&what, &a);
                if !name.starts_with("scaled") && name != "graded columns" {
                    factors_of::<f32>(&what, &a);
                }
            }
        }
    }
}

/// A matrix of small integers of full column rank, with a condition that is not large.
fn regular(rng: &mut Rng, [m, n]: [usize; 2]) -> Matrix {
    Matrix::from_fn([m, n], |[i, j]| rng.below(3) as f64 - 1.0 + if i == j { 5.0 } else { 0.0 })
}

/// `a = b c` with `b` of full column rank and `c` of full row rank has the pseudo-inverse
/// `c^T (c c^T)^-1 (b^T b)^-1 b^T`.
#[test]
fn least_squares_are_the_pseudo_inverse() {
    for seed in 0..4 * times() {
        let mut rng = Rng::new(seed);
        for [m, n] in shapes(&mut rng) {
            for rank in [1, m.min(n).div_ceil(2), m.min(n)] {
                let (b, c) = (regular(&mut rng, [m, rank]), regular(&mut rng, [n, rank]).t());
                let right = normal(&mut rng, [m, 2]);
                let inner = b.t().matmul(&b).solve(&b.t().matmul(&right));
                let expected = c.t().matmul(&c.matmul(&c.t()).solve(&inner));
                let a = b.matmul(&c);
                let what = format!("{m} x {n} of rank {rank}, seed {seed}");
                let x = a.lstsq(&right);
                let off = length(&(&x - &expected));
                assert!(off <= 1e-10 * length(&expected), "{what}: off by {off:e} of {:e}", length(&expected));
                let actual = a.try_lstsq(&right).map_err(|error| error.rank());
                if rank < n {
                    assert_eq!(actual.unwrap_err(), Some(rank), "{what}");
                } else {
                    assert_eq!(actual, Ok(x.clone()), "{what}");
                }
                // Scaling by a power of two changes no bit; the other float type has its own rounding errors.
                for log in [-600, 600] {
                    let s = 2f64.powi(log);
                    assert_eq!((&a * s).lstsq(&right) * s, x, "{what}, scaled by 2^{log}");
                }
                let narrow = |x: &Matrix| Matrix::<f32>::from_raw(x.raw().cast::<f32>());
                let off = length(&(wide(&narrow(&a).lstsq(&narrow(&right))) - &expected));
                assert!(off <= 0.02 * length(&expected), "{what}, f32: off by {off:e}");
            }
        }
    }
}

#[test]
fn least_squares_of_special_matrices() {
    let close = |x: Vec<f64>, y: &[f64]| assert!(x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-13), "{x:?}, {y:?}");
    let ones = Matrix::<f64>::ones([3, 2]);
    close(ones.lstsq(&tensor([1.0, 2.0, 3.0])).to_vec(), &[1.0, 1.0]);
    // A constant beside the indicators of all groups.
    let dummies = tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]);
    close(dummies.lstsq(&tensor([1.0, 2.0, 3.0, 5.0, 4.0])).to_vec(), &[11.0 / 6.0, -1.0 / 3.0, 13.0 / 6.0]);
    let hollow = tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]);
    close(hollow.lstsq(&tensor([1.0, 2.0, 3.0])).to_vec(), &[1.0, 0.0]);
    assert_eq!(hollow.try_lstsq(&tensor([1.0, 2.0, 3.0])).unwrap_err().rank(), Some(1));
    close(Matrix::<f64>::zeros([3, 2]).lstsq(&tensor([1.0, 2.0, 3.0])).to_vec(), &[0.0, 0.0]);
    close(tensor([[3.0, 4.0]]).lstsq(&tensor([5.0])).to_vec(), &[0.6, 0.8]);
    // Columns in other units are other columns: their rank does not change.
    let units = tensor([[1.0, 1e-30], [1.0, 2e-30], [1.0, 3e-30]]);
    let x = units.try_lstsq(&tensor([1.0, 2.0, 3.0])).expect("independent columns");
    close(vec![x.at([0]).item(), x.at([1]).item() * 1e-30], &[0.0, 1.0]);
    // Each matrix of a stack has its own rank, and one that is not finite leaves the others alone.
    let stack = polygrad::stack(vec![ones.clone(), hollow, ones * f64::NAN]);
    let x = stack.lstsq(&tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]));
    close(x.row::<1>(0).to_vec(), &[1.0, 1.0]);
    close(x.row::<1>(1).to_vec(), &[1.0, 0.0]);
    assert!(x.row::<1>(2).to_vec().iter().all(|x| x.is_nan()));
}

#[test]
fn exponentials_of_degenerate_matrices() {
    let binomial = |n: usize, k: usize| (0..k).fold(1.0, |b, i| b * (n - i) as f64 / (i + 1) as f64);
    for (n, scale) in [(2, 1.0), (5, 1.0), (8, 1e-3), (5, 1e3), (4, 1e100)] {
        // A Jordan block, whose exponential has the powers of the scale over factorials; and a shift of its diagonal.
        let jordan = Matrix::<f64>::from_fn([n, n], |[i, j]| if j == i + 1 { scale } else { 0.0 });
        let factorial = |k: usize| (1..=k).map(|k| k as f64).product::<f64>();
        let power = |k: usize| (0..k).fold(1.0, |x, _| x * scale);
        let expected =
            Matrix::<f64>::from_fn([n, n], |[i, j]| if j < i { 0.0 } else { power(j - i) / factorial(j - i) });
        let off = |x: &Matrix, y: &Matrix| {
            let pairs = x.to_vec().into_iter().zip(y.to_vec());
            pairs.fold(0.0f64, |most, (x, y)| most.max(if x == y { 0.0 } else { (x - y).abs() / y.abs().max(1.0) }))
        };
        let actual = jordan.expm();
        if expected.to_vec().iter().all(|x| x.is_finite()) {
            assert!(off(&actual, &expected) < 1e-13, "{n} x {n} by {scale:e}: {actual:?}");
        }
        if scale == 1.0 {
            let shifted = (&jordan + Matrix::eye(n) * 2.0).expm();
            assert!(off(&shifted, &(&expected * 2f64.exp())) < 1e-13);
        }
    }
    // Pascal's matrix is the exponential of a nilpotent one with 1, 2, 3, .. beside the diagonal.
    let n = 9;
    let a = Matrix::<f64>::from_fn([n, n], |[i, j]| if i == j + 1 { i as f64 } else { 0.0 });
    let pascal = Matrix::<f64>::from_fn([n, n], |[i, j]| if j <= i { binomial(i, j) } else { 0.0 });
    assert!((a.expm() - pascal).abs().max_all().item() < 1e-11);
    assert_eq!(Matrix::<f64>::zeros([4, 4]).expm(), Matrix::eye(4));
    // Rotations by large angles are orthogonal; projections p have e^p = 1 + (e - 1) p.
    let mut rng = Rng::new(4);
    for size in [1e-8, 1.0, 1e3] {
        let x = normal(&mut rng, [6, 6]) * size;
        let q = (&x - x.t()).expm();
        let off = (q.t().matmul(&q) - Matrix::eye(6)).abs().max_all().item();
        assert!(off < 1e-13 * size.max(1.0), "{size:e}: {off:e}");
    }
    let (q, _) = normal(&mut rng, [7, 3]).qr();
    let p = q.matmul(&q.t());
    let expected = Matrix::eye(7) + &p * (1f64.exp() - 1.0);
    assert!((p.expm() - expected).abs().max_all().item() < 1e-14);
}

/// Complex matrices with equal eigenvalues, and singular ones.
#[test]
fn complex_degenerate_matrices() {
    let mut rng = Rng::new(6);
    for n in [1, 2, 3, 7] {
        let z = Complex::new(normal(&mut rng, [n, n]), normal(&mut rng, [n, n]));
        let (_, v) = (&z + z.adjoint()).eigh();
        let equal = Tensor::<Concrete, 1>::from_fn([n], |[k]| if k + 1 == n { 3.0 } else { 1.0 });
        let scaled = v.by_parts::<2>(|x| x * equal.insert_axis::<2>(0));
        let a = scaled.matmul(&v.adjoint());
        let (w, x) = a.eigh();
        assert!((w - equal).abs().max_all().item() < 1e-14);
        let off = (x.adjoint().matmul(&x) - Complex::new(Matrix::eye(n), Matrix::zeros([n, n]))).abs().max_all().item();
        assert!(off < 1e-14 * n as f64, "{off:e}");
        // One vector times another: singular from two rows on.
        let outer = z.slice(1, ..1).matmul(&z.slice(0, ..1));
        if n > 1 {
            assert!(outer.det().abs().item() < 1e-13);
        }
        let e: Complex<Concrete, 2> =
            Complex::new(Matrix::zeros([n, n]), Matrix::eye(n)).scale(std::f64::consts::PI).expm();
        assert!((e.re() + Matrix::eye(n)).abs().max_all().item() < 1e-14 && e.im().abs().max_all().item() < 1e-14);
    }
    let zeros = Complex::<Concrete, 2>::zeros([3, 3]);
    assert_eq!(zeros.det(), Complex::scalar(0.0, 0.0));
    let inverse = zeros.inverse();
    assert!(inverse.re().to_vec().iter().chain(&inverse.im().to_vec()).all(|x| x.is_nan()));
    assert_eq!(zeros.eigh().0, Tensor::zeros([3]));
}
