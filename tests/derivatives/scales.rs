//! Linear algebra at all scales of floats.
//!
//! Laws: `f(s a) = s^p f(a)` for a power of two `s`, to the bit, for values and derivatives, stacks and both float
//! types; the exponential takes a bounded number of steps and is exact to rounding at any norm.

use polygrad::array::Rng;
use polygrad::linalg::Triangle;
use polygrad::{Array, BaseTensor, Concrete, DType, Float, Tensor, direct, hvp, tensor};

type Stack<T, E> = Tensor<T, 3, E>;
type Matrix<T, E = f64> = Tensor<T, 2, E>;

/// The functions of square matrices, and the powers by which their results scale.
const SQUARE: &[(&str, &[f64])] = &[
    ("cholesky", &[0.5]),
    ("solve", &[-1.0]),
    ("solve of both", &[0.0]),
    ("solve_triangular", &[-1.0, -1.0]),
    ("inverse", &[-1.0]),
    ("lu", &[0.0, 1.0]),
    ("qr", &[0.0, 1.0]),
    ("lstsq", &[-1.0]),
    ("lstsq of both", &[0.0]),
    ("eigh", &[1.0, 0.0]),
    ("svd", &[0.0, 1.0, 0.0]),
    ("slogdet", &[0.0]),
];
const TALL: &[(&str, &[f64])] =
    &[("qr", &[0.0, 1.0]), ("lstsq", &[-1.0]), ("lstsq of both", &[0.0]), ("svd", &[0.0, 1.0, 0.0])];

/// The results of a function at `s a`, in units that do not depend on `s`.
fn scaled<T: BaseTensor, E: Float>(name: &str, a: &Stack<T, E>, log: i32, powers: &[f64]) -> Vec<Tensor<T, 1, E>> {
    let s = E::of_f64(2f64.powi(log));
    let b =
        || Stack::<T, E>::from_fn([a.shape()[0], a.shape()[1], 2], |[k, i, j]| E::of_f64(1.0 + (k + 2 * i + j) as f64));
    let a = &(a * s);
    let results = match name {
        "cholesky" => vec![a.cholesky().flatten()],
        "solve" => vec![a.solve(&b()).flatten()],
        "solve of both" => vec![a.solve(&(b() * s)).flatten()],
        "solve_triangular" => {
            [Triangle::LOWER, Triangle::UPPER.transposed()].map(|t| a.solve_triangular(&b(), t).flatten()).into()
        }
        "inverse" => vec![a.inverse().flatten()],
        "lu" => {
            let (l, u, _) = a.lu::<1, 2>();
            vec![l.flatten(), u.flatten()]
        }
        "qr" => {
            let (q, r) = a.qr();
            vec![q.flatten(), r.flatten()]
        }
        "lstsq" => vec![a.lstsq(&b()).flatten()],
        "lstsq of both" => vec![a.lstsq(&(b() * s)).flatten()],
        "eigh" => {
            let (w, v) = a.eigh::<2>();
            vec![w.flatten(), v.flatten()]
        }
        "svd" => {
            let (u, s, vt) = a.svd::<2>();
            vec![u.flatten(), s.flatten(), vt.flatten()]
        }
        "slogdet" => vec![a.slogdet().0.flatten()],
        _ => unreachable!("no function {name}"),
    };
    let unit = |power: &f64| E::of_f64(2f64.powi((-power * f64::from(log)) as i32));
    results.into_iter().zip(powers).map(|(x, power)| x * unit(power)).collect()
}

/// A different weight for each element of each result.
fn weighed<T: BaseTensor, E: Float>(results: Vec<Tensor<T, 1, E>>) -> Tensor<T, 0, E> {
    let weight = |n: usize| Tensor::<T, 1, E>::from_fn([n], |[k]| E::of_f64(1.0 / (2.0 + k as f64)));
    let sums = results.into_iter().map(|x| (&x * weight(x.size())).sum());
    sums.reduce(|x, y| x + y).expect("a result")
}

fn bits<const D: usize, E: Float>(x: &Tensor<Concrete, D, E>) -> Vec<f64> {
    x.raw().cast::<f64>().to_vec().expect("floats")
}

/// Regular matrices, positive definite if they are square.
fn matrices<E: Float>(m: usize, n: usize, seed: u64) -> Stack<Concrete, E> {
    let one = |k: usize| {
        let a = Matrix::<Concrete>::from_raw(Array::normal(&[m, n], 0.0, 1.0, 10 * seed + k as u64));
        if m == n { a.matmul(&a.t()) + Matrix::<Concrete>::eye(n) } else { a }
    };
    Tensor::from_raw(polygrad::stack([one(0), one(1)].to_vec()).raw().cast::<E>())
}

fn every_scale<E: Float>(logs: &[i32]) {
    for (table, m, n) in [(SQUARE, 4, 4), (TALL, 5, 3)] {
        for (name, powers) in table {
            let (a, da) = (matrices::<E>(m, n, 3), Stack::from_raw(Array::normal(&[2, m, n], 0.0, 1.0, 4).cast::<E>()));
            let all = |log: i32| {
                let value: Vec<Vec<f64>> = scaled(name, &a, log, powers).iter().map(bits).collect();
                let (_, tangent) = direct::jvp(|a| scaled(name, a, log, powers), &a, &da);
                let gradient = direct::grad(|a| weighed(scaled(name, a, log, powers)), &a);
                (value, tangent.iter().map(bits).collect::<Vec<_>>(), bits(&gradient))
            };
            let known = all(0);
            assert!(known.2.iter().all(|x| x.is_finite()), "{name}");
            for log in logs {
                // What is left of the right-hand side keeps its digits.
                let log = &if name.ends_with("of both") { log * 3 / 4 } else { *log };
                let found = all(*log);
                assert_eq!(found.0, known.0, "{name}: the value at 2^{log}");
                assert_eq!(found.1, known.1, "{name}: the tangent at 2^{log}");
                assert_eq!(found.2, known.2, "{name}: the gradient at 2^{log}");
            }
        }
    }
}

#[test]
fn factors_and_solutions_scale_with_the_matrix() {
    every_scale::<f64>(&[-996, -534, 534, 996]);
    // Elements and tangents of a thousandth are still normal numbers.
    every_scale::<f32>(&[-112, -74, 74, 112]);
}

/// The logarithm moves by `n` times that of the scale; the determinant leaves the range where its value does, and not
/// before.
#[test]
fn determinants_scale_by_their_size() {
    let a = matrices::<f64>(4, 4, 5).row(0);
    for log in [-996, -200, 200, 996] {
        let (found, known) = ((&a * 2f64.powi(log)).logdet().item(), a.logdet().item());
        assert!((found - known - 4.0 * f64::from(log) * 2f64.ln()).abs() <= 1e-12 * found.abs());
    }
    assert_eq!((&a * 2f64.powi(200)).det().item(), a.det().item() * 2f64.powi(800));
    assert_eq!((&a * 2f64.powi(300)).det().item(), f64::INFINITY);
    assert_eq!((&a * 2f64.powi(-300)).det().item(), 0.0);
    let (large, small) = (2f64.powi(900), 2f64.powi(-900));
    assert_eq!(tensor([large, large, small, small]).diag().det().item(), 1.0);
    assert_eq!(tensor([small, small, large, large]).diag().det().item(), 1.0);
}

/// Columns may have any scales, to the bit; rows far below others have their share of the factors.
#[test]
fn rows_and_columns_of_different_scales() {
    let a = matrices::<f64>(4, 3, 8).row(1);
    let powers = tensor([2f64.powi(-900), 1.0, 2f64.powi(900)]);
    let ((q, r), (q_known, r_known)) = ((&a * powers.expand::<2>()).qr(), a.qr());
    assert_eq!(q, q_known);
    assert_eq!(r, r_known * powers.expand::<2>());
    // Numbers at the end of the range, whose sums are beyond.
    let a: Matrix<Concrete> = tensor([[1e308, 1e308], [1e308, 9e307], [1e308, 8e307]]);
    let ((q, r), (q_known, r_known)) = (a.qr(), (&a * 2f64.powi(-100)).qr());
    assert_eq!((q, r), (q_known, r_known * 2f64.powi(100)));
    // Below the first row everything is small: the second pivot is the length of what is there.
    let a: Matrix<Concrete> = tensor([[1.0, 1.0], [0.0, 3e-200], [0.0, 4e-200]]);
    let (q, r) = a.qr();
    assert!((r.at([1, 1]).item() / 5e-200 - 1.0).abs() < 1e-15);
    assert!((q - tensor([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8]])).abs().max_all().item() < 1e-15);
    // For least squares its columns are dependent: relative to its length, all of the second is along the first.
    let x = a.lstsq(&tensor([3.0, 6e-200, 8e-200]));
    assert!((x - tensor([1.5, 1.5])).abs().max_all().item() < 1e-14);
    // A column that is small as a whole is not.
    let x = tensor([[1.0, 1e-200], [0.0, 3e-200], [0.0, 4e-200]]).lstsq(&tensor([3.0, 6e-200, 8e-200]));
    assert!((x - tensor([3.0, 2.0])).abs().max_all().item() < 1e-14);
}

/// A matrix, a direction, the exponential and its derivative, by 120 digits.
type Exponential = (&'static str, &'static [f64], &'static [f64], &'static [f64], &'static [f64]);

#[rustfmt::skip]
#[allow(clippy::excessive_precision, clippy::approx_constant)]
const EXPONENTIALS: &[Exponential] = &[
    ("zero", &[0.0, 0.0, 0.0, 0.0], &[1.0, 2.0, 3.0, 4.0], &[1.0, 0.0, 0.0, 1.0], &[1.0, 2.0, 3.0, 4.0]),
    ("far from normal", &[-49.0, 24.0, -64.0, 31.0], &[1.0, -2.0, 0.5, 3.0], &[-0.7357587581447531, 0.5518190996580977, -1.4715175990882605, 1.1036382407155725], &[-10.03046452281864, 7.696728524830484, -20.63573963489577, 15.824565234826176]),
    ("a large element above the diagonal", &[1.0, 1000000.0, 0.0, -1.0], &[0.5, 0.0, 0.0, 2.0], &[2.718281828459045, 1175201.1936438014, 0.0, 0.36787944117144233], &[1.3591409142295225, 1193091.91117617, 0.0, 0.7357588823428847]),
    ("stiff", &[-1000.0, 1.0, 1.0, -2.0], &[1.0, 1.0, 2.0, 0.0], &[1.3601406170691107e-07, 0.00013574216986999538, 0.00013574216986999538, 0.13547082154431708], &[4.087225241796993e-07, 0.00013628554386648168, 0.0002720277137364771, 0.00040695380114751334]),
    ("a rotation", &[0.0, -50.0, 50.0, 0.0], &[0.0, 1.0, 1.0, 0.0], &[0.9649660284921133, 0.26237485370392877, -0.26237485370392877, 0.9649660284921133], &[-1.0973817767014726e-135, -0.005247497074078576, -0.005247497074078576, 1.0973817767014726e-135]),
    ("small", &[1e-09, 2e-09, -3e-09, 0.0], &[1.0, 2.0, 3.0, 4.0], &[1.000000001, 2.0000000010000003e-09, -3.0000000014999998e-09, 1.0], &[1.000000001, 2.000000006, 2.999999994, 4.0]),
    ("degree 5", &[0.1, 0.05, -0.03, 0.07], &[1.0, 2.0, 3.0, 4.0], &[1.1043503692448644, 0.05442428645349958, -0.03265457187209975, 1.0716957973727645], &[1.1527607234656776, 2.3134403911218295, 3.1835758274208668, 4.336336550886545]),
    ("degree 7", &[0.5, 0.25, -0.125, 0.375], &[1.0, 2.0, 3.0, 4.0], &[1.6240644336565306, 0.38544536779866, -0.19272268389933, 1.4313417497572007], &[1.9934202248977344, 4.06728833258275, 4.133481718487185, 6.126901943384919]),
    ("degree 13", &[3.0, 0.5, 0.25, -1.0, -2.0, 1.0, 0.5, 1.0, -1.5], &[1.0, 0.0, 0.0, 0.0, 2.0, 1.0, 1.0, 0.0, 0.0], &[18.907503445890356, 2.1941258987534913, 1.521021009077184, -3.540335678106105, -0.17203863866659455, -0.0633078293476234, 1.3462097793526138, 0.36065023035281524, 0.43224453621025166], &[19.81515002311378, 2.7367280844949495, 1.8100400135491028, -3.318230047285327, 0.029412811807476538, 0.13661355142452236, 5.393711819997798, 0.8535763819239932, 0.6005345730659094]),
    ("nilpotent", &[0.0, 30.0, -7.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.0], &[1.0, 2.0, 0.0, 3.0, 0.0, 1.0, 0.0, 1.0, 0.0], &[1.0, 30.0, 743.0, 0.0, 1.0, 50.0, 0.0, 0.0, 1.0], &[46.0, 713.5, 8898.166666666666, 3.0, 70.0, 1157.1666666666667, 0.0, 1.0, 25.0]),
    ("several squarings", &[20.0, -4.0, 7.0, 3.0, -30.0, 2.0, -6.0, 1.0, -15.0], &[1.0, -1.0, 0.5, 0.0, 2.0, 0.0, 1.0, 0.0, 3.0], &[117559178.48956685, -9193233.814165864, 23986267.180601377, 6406941.570791676, -501028.6108728965, 1307244.6941364268, -20838505.463277023, 1629589.92673366, -4251798.6779809], &[115882011.42706849, -11613735.351240972, 26686325.852022596, 6542759.0077236295, -650714.2609720435, 1500758.6290880286, -18282237.66456177, 1881993.5405623761, -4269499.054046887]),
];

fn square<E: Float>(x: &[f64]) -> Matrix<Concrete, E> {
    let n = x.len().isqrt();
    Tensor::from_raw(Array::new(&[n, n], x.to_vec()).cast::<E>())
}

/// The same numbers at another interpreter.
fn fixed<T: BaseTensor, E: Float>(x: &Matrix<Concrete, E>) -> Matrix<T, E> {
    Tensor::from_raw(T::constant(x.raw().clone()))
}

#[track_caller]
fn near<E: Float>(what: &str, found: &Matrix<Concrete, E>, known: &[f64], factor: f64) {
    let epsilon = if E::DTYPE == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let scale = known.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let off =
        bits(found).iter().zip(known).map(|(x, y)| (x - y).abs()).fold(0.0, |m: f64, x| if x <= m { m } else { x });
    assert!(off <= factor * epsilon * scale, "{what}: {} epsilon off, {found:?}", off / epsilon / scale);
}

fn exponentials<E: Float>() {
    for (name, a, e, known, moved) in EXPONENTIALS {
        // The condition of the problem is about the norm of the matrix.
        let size = a.iter().fold(1.0f64, |most, x| most.max(x.abs())).min(1e3);
        let (a, e) = (square::<E>(a), square::<E>(e));
        near(name, &a.expm(), known, 10.0 * size);
        for log in [-60, 0, 60] {
            let s = E::of_f64(2f64.powi(log));
            let (_, tangent) = direct::jvp(|a: &Matrix<_, E>| a.expm(), &a, &(&e * s));
            near(name, &(tangent * E::of_f64(2f64.powi(-log))), moved, 20.0 * size);
        }
        // The adjoint, by the inner product with the direction.
        let gradient = direct::grad(|a: &Matrix<_, E>| (a.expm() * fixed(&e)).sum(), &a);
        let transposed = direct::jvp(|a: &Matrix<_, E>| a.expm(), &a.t(), &e).1;
        near(name, &gradient, &bits(&transposed), 20.0 * size);
    }
}

#[test]
fn the_exponential_and_its_derivative_are_known_numbers() {
    exponentials::<f64>();
    exponentials::<f32>();
    let none = Matrix::<Concrete>::zeros([0, 0]);
    assert_eq!(none.expm().shape(), [0, 0]);
    assert_eq!(tensor([[1.5]]).expm().at([0, 0]).item(), 1.5f64.exp());
}

/// Numbers that are far beyond the range of the exponential: it is zero or infinite, or not known.
fn ends<E: Float>(large: f64) {
    let nan = |x: &Matrix<Concrete, E>| bits(x).iter().all(|x| x.is_nan());
    for x in [large, 1e5, 1e15] {
        let a = square::<E>(&[-x, 0.0, 0.0, -x]);
        assert_eq!(bits(&a.expm()), [0.0; 4], "at {x}");
        assert_eq!(bits(&square::<E>(&[x, 0.0, 0.0, -x]).expm()), [f64::INFINITY, 0.0, 0.0, 0.0], "at {x}");
        let coupled = square::<E>(&[-x, x / 2.0, x / 4.0, -x]);
        assert_eq!(bits(&coupled.expm()), [0.0; 4], "at {x}");
        let (_, tangent) = direct::jvp(|a: &Matrix<_, E>| a.expm(), &coupled, &Matrix::ones([2, 2]));
        assert_eq!(bits(&tangent), [0.0; 4], "at {x}");
    }
    // A part that stands alone does not see the others.
    let found = bits(&square::<E>(&[large, 0.0, 0.0, 0.0, 0.25, 1.0, 0.0, 0.0, 0.25]).expm());
    let e = bits(&square::<E>(&[0.25, 1.0, 0.0, 0.25]).expm());
    assert_eq!(found, [f64::INFINITY, 0.0, 0.0, 0.0, e[0], e[1], 0.0, e[2], e[3]]);
    // A turn by an angle of which no digit is known, and a matrix that grows in one direction.
    assert!(nan(&square::<E>(&[0.0, large, -large, 0.0]).expm()));
    assert!(bits(&square::<E>(&[large, large, large, -large]).expm()).iter().all(|x| !x.is_finite()));
    assert!(nan(&square::<E>(&[f64::NAN, 0.0, 0.0, 1.0]).expm()));
    assert!(nan(&square::<E>(&[f64::INFINITY, 0.0, 0.0, 1.0]).expm()));
}

#[test]
fn the_exponential_ends_at_every_norm() {
    ends::<f64>(1e40);
    ends::<f64>(1e300);
    ends::<f32>(1e37);
    let a = tensor([[-1e5f32, 0.0], [0.0, -1e5]]);
    assert_eq!(a.expm(), Matrix::<Concrete, f32>::zeros([2, 2]));
}

/// The second derivative is a block of the first one, whatever the sizes of the directions are.
#[test]
fn second_derivatives_of_the_exponential_scale_with_their_directions() {
    let a = square::<f64>(&[0.3, -0.7, 0.4, 0.9, 0.1, -0.2, 0.5, 0.6, -0.8]);
    let mut rng = Rng::new(3);
    let [e, w] = [0, 1].map(|_| Matrix::<Concrete>::from_raw(rng.normal(&[3, 3], 0.0, 1.0)));
    let at = |log: i32| {
        let direction = &e * 2f64.powi(log);
        let second = hvp(|a: &Matrix<_>| (a.expm() * fixed(&w)).sum(), &a, &direction);
        bits(&(second * 2f64.powi(-log)))
    };
    let known = at(0);
    let h = 1e-5;
    let gradient = |s: f64| direct::grad(|a: &Matrix<_>| (a.expm() * fixed(&w)).sum(), &(&a + &e * s));
    let difference = (gradient(h) - gradient(-h)) * (0.5 / h);
    near("differences", &difference, &known, 1e6);
    for log in [-900, -40, 40, 900] {
        near("scaled", &Matrix::<Concrete>::from_raw(Array::new(&[3, 3], at(log))), &known, 100.0);
    }
}
