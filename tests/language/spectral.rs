//! Singular values and eigenvalues of matrices that are drawn singular.
//!
//! Laws, for ranks from 0 to full, equal, clustered and graded values, centred rows, equal columns, zero rows and
//! columns, small integers, numbers of every magnitude, and both float types: with `e` the rounding unit and `c = 50
//! max(1, sqrt(n / 12))` for the larger size `n`, `|u s v^T - a| <= c e |a|`, `|u^T u - 1| <= c e` and `|v^T v - 1|
//! <= c e` in the norm of Frobenius, and likewise for eigenvectors; values are in order; values alone have the same
//! bits. Small matrices whose rows and columns have different magnitudes have each value within roundings of the value.

mod double;

use double::{Double, orthogonalized};
use polygrad::program::Term;
use polygrad::{Array, Complex, Concrete, Float, Function, Tensor};

/// Pseudorandom numbers: a linear congruential generator, and the upper bits.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    /// A number that is nearly normally distributed.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.uniform()).sum::<f64>() - 3.0
    }

    fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }
}

/// The kinds of matrices.
const KINDS: [&str; 10] = [
    "rank",
    "integers of a rank",
    "centred rows",
    "equal columns",
    "zero rows and columns",
    "graded",
    "magnitudes",
    "zeros and ones",
    "chosen values",
    "magnitude",
];

/// A matrix of a kind, with exponents of ten up to `range`.
fn draw(kind: &str, [m, n]: [usize; 2], range: f64, draws: &mut Draws) -> Vec<f64> {
    let mut a = draws.vector(m * n);
    match kind {
        "rank" | "integers of a rank" => {
            a.fill(0.0);
            for _ in 0..draws.below(m.min(n) + 1) {
                let [mut x, mut y] = [m, n].map(|n| draws.vector(n));
                if kind != "rank" {
                    x.iter_mut().chain(&mut y).for_each(|x| *x = (*x * 3.0).round());
                }
                (0..m * n).for_each(|at| a[at] += x[at / n] * y[at % n]);
            }
        }
        "centred rows" => a.chunks_exact_mut(n).for_each(|row| {
            let mean = row.iter().sum::<f64>() / n as f64;
            row.iter_mut().for_each(|x| *x -= mean);
        }),
        "equal columns" => (0..2).for_each(|_| {
            let [from, to] = [(); 2].map(|()| draws.below(n));
            (0..m).for_each(|i| a[i * n + to] = a[i * n + from]);
        }),
        "zero rows and columns" => {
            let [row, column] = [m, n].map(|n| draws.below(n));
            (0..m * n).filter(|at| at / n == row || at % n == column).for_each(|at| a[at] = 0.0);
        }
        "graded" => {
            let [down, right] = [(); 2].map(|()| (draws.uniform() - 0.5) * range / m.max(n) as f64);
            (0..m * n).for_each(|at| a[at] *= 10f64.powf(down * (at / n) as f64 + right * (at % n) as f64));
        }
        "magnitudes" => a.iter_mut().for_each(|x| *x *= 10f64.powf((draws.uniform() * 2.0 - 1.0) * range)),
        "zeros and ones" => a.iter_mut().for_each(|x| *x = draws.below(2) as f64),
        "chosen values" => {
            a.fill(0.0);
            let values = [1.0, 1.0, 1.0 + 1e-15, 0.5, 1e-7, 1e-13, 1e-17, 10f64.powf(-range), 0.0];
            (0..m.min(n)).for_each(|i| a[i * n + i] = values[draws.below(values.len())]);
            for _ in 0..4 * m {
                let ([i, j], angle) = ([(); 2].map(|()| draws.below(m)), draws.uniform() * 6.0);
                for k in (0..n).filter(|_| i != j) {
                    let (x, y) = (a[i * n + k], a[j * n + k]);
                    a[i * n + k] = angle.cos() * x + angle.sin() * y;
                    a[j * n + k] = angle.cos() * y - angle.sin() * x;
                }
            }
        }
        _ => {
            let size = 10f64.powf((draws.uniform() * 2.0 - 1.0) * range);
            a.iter_mut().for_each(|x| *x *= size);
        }
    }
    a
}

/// The numbers times a power of two, without a partial result out of range.
fn times_power(x: &[f64], power: i32) -> Vec<f64> {
    let (half, rest) = (power / 2, power - power / 2);
    x.iter().map(|x| x * 2f64.powi(half) * 2f64.powi(rest)).collect()
}

fn numbers<const D: usize, E: Float>(x: &Tensor<Concrete, D, E>) -> Vec<f64> {
    x.raw().cast::<f64>().to_vec().expect("floats")
}

fn matrix<E: Float>([m, n]: [usize; 2], a: &[f64]) -> Tensor<Concrete, 2, E> {
    Tensor::from_raw(Array::new(&[m, n], a.iter().map(|x| E::of_f64(*x)).collect::<Vec<E>>()))
}

/// The difference of the products of some rows, each of `len` elements, from those of orthonormal ones.
fn departure(x: &[f64], len: usize) -> f64 {
    let rows: Vec<&[f64]> = x.chunks_exact(len).collect();
    let of = |p: usize, q: usize| rows[p].iter().zip(rows[q]).map(|(x, y)| x * y).sum::<f64>() - f64::from(p == q);
    let count = rows.len();
    (0..count * count).map(|at| of(at / count, at % count).powi(2)).sum::<f64>().sqrt()
}

/// The largest part of the bound of a law that a decomposition takes: the matrix, the vectors one after the other,
/// and the values.
fn part<E: Float>([m, n]: [usize; 2], a: &[f64], [left, right]: [&[f64]; 2], values: &[f64]) -> f64 {
    let most = a.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let power = if most > 0.0 { -(most.log2().floor() as i32) } else { 0 };
    let (a, values) = (times_power(a, power), times_power(values, power));
    let mut rest = a.clone();
    for (k, value) in values.iter().enumerate() {
        (0..m * n).for_each(|at| rest[at] -= left[k * m + at / n] * value * right[k * n + at % n]);
    }
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let unit = num_traits::Float::epsilon();
    let unit: f64 = <E as Float>::as_f64(unit);
    let bound = 50.0 * unit * (m.max(n) as f64 / 12.0).sqrt().max(1.0);
    // A value that is subnormal is rounded to a multiple of the least number.
    let subnormal = times_power(&[<E as Float>::as_f64(num_traits::Float::min_positive_value()) * unit], power)[0];
    let residual = norm(&rest) / (bound * norm(&a) + subnormal * values.len() as f64).max(f64::MIN_POSITIVE);
    let parts = [residual, departure(left, m) / bound, departure(right, n) / bound];
    parts.into_iter().fold(0.0, |most, x| if x <= most { most } else { x })
}

fn transposed([m, n]: [usize; 2], a: &[f64]) -> Vec<f64> {
    (0..m * n).map(|at| a[at % m * n + at / m]).collect()
}

#[track_caller]
fn check_svd<E: Float>(sizes: [usize; 2], a: &[f64], what: &str) {
    let ([m, n], k) = (sizes, sizes[0].min(sizes[1]));
    let a = matrix::<E>(sizes, a);
    let (u, s, vt) = a.svd::<1>();
    let [a, u, s, vt] = [numbers(&a), numbers(&u), numbers(&s), numbers(&vt)];
    assert!(s.windows(2).all(|s| s[0] >= s[1]) && s.iter().all(|s| *s >= 0.0), "{what}, {m} x {n}: {s:?}");
    let part = part::<E>(sizes, &a, [&transposed([m, k], &u), &vt], &s);
    assert!(part <= 1.0, "{what}, {m} x {n}, {}: {part} of the bound, {a:?}", E::DTYPE);
}

#[track_caller]
fn check_eigh<E: Float>(n: usize, a: &[f64], what: &str) {
    let a = matrix::<E>([n, n], a);
    let (w, v) = a.eigh::<1>();
    let [a, w, v] = [numbers(&a), numbers(&w), numbers(&v)];
    assert!(w.windows(2).all(|w| w[0] <= w[1]), "{what}, {n} x {n}: {w:?}");
    let symmetric: Vec<f64> = a.iter().zip(transposed([n, n], &a)).map(|(x, y)| x * 0.5 + y * 0.5).collect();
    let v = transposed([n, n], &v);
    let part = part::<E>([n, n], &symmetric, [&v, &v], &w);
    assert!(part <= 1.0, "{what}, {n} x {n}, {}: {part} of the bound, {a:?}", E::DTYPE);
}

/// A matrix of each kind, as `f64` and `f32`, and the square part of it.
fn check_all(sizes: [usize; 2], draws: &mut Draws) {
    let [m, n] = sizes;
    let k = m.min(n);
    for kind in KINDS {
        let double = draw(kind, sizes, 290.0, draws);
        let single = draw(kind, sizes, 35.0, draws);
        check_svd::<f64>(sizes, &double, kind);
        check_svd::<f32>(sizes, &single, kind);
        let [double, single] =
            [double, single].map(|a| (0..k * k).map(|at| a[at / k * n + at % k]).collect::<Vec<f64>>());
        check_eigh::<f64>(k, &double, kind);
        check_eigh::<f32>(k, &single, kind);
    }
}

/// Whether long tests run.
fn fuzz() -> bool {
    std::env::var_os("POLYGRAD_FUZZ").is_some()
}

#[test]
fn singular_matrices_are_decomposed() {
    let mut draws = Draws(1);
    let most = if fuzz() { 12 } else { 5 };
    for at in 0..most * most {
        check_all([1 + at / most, 1 + at % most], &mut draws);
    }
    for sizes in [[11, 11], [12, 30], [40, 17]] {
        check_all(sizes, &mut draws);
    }
    if fuzz() {
        for _ in 0..500 {
            let sizes = [(); 2].map(|()| 1 + draws.below(40));
            check_all(sizes, &mut draws);
        }
        [[300, 300], [300, 120], [90, 300]].into_iter().for_each(|sizes| check_all(sizes, &mut draws));
    }
}

#[test]
fn elements_of_every_magnitude_have_eigenvalues() {
    for n in 2..14 {
        let a: Vec<f64> = (0..n * n).map(|at| 10f64.powi(-5 * (at / n + at % n) as i32)).collect();
        check_eigh::<f64>(n, &a, "powers of ten");
        check_svd::<f64>([n, n], &a, "powers of ten");
        let upwards: Vec<f64> = a.iter().rev().copied().collect();
        check_eigh::<f64>(n, &upwards, "powers of ten upwards");
        let signs: Vec<f64> =
            a.iter().enumerate().map(|(at, x)| if (at / n + at % n) % 3 == 1 { -x } else { *x }).collect();
        check_eigh::<f64>(n, &signs, "powers of ten of both signs");
        check_eigh::<f64>(n, &times_power(&vec![1.0; n * n], -1073), "subnormal");
        check_svd::<f64>([n, n], &times_power(&vec![1.0; n * n], 1019), "large");
    }
}

/// A matrix of rank 1 with integers, `x y^T`, has the singular value `|x| |y|`.
#[test]
fn integers_of_rank_one() {
    let mut draws = Draws(2);
    for at in 0..60 {
        let [m, n] = [1 + at % 7, 1 + at / 7];
        let [x, y] = [m, n].map(|n| draws.vector(n).iter().map(|x| (x * 3.0).round()).collect::<Vec<f64>>());
        let a: Vec<f64> = (0..m * n).map(|at| x[at / n] * y[at % n]).collect();
        let s = numbers(&matrix::<f64>([m, n], &a).svd::<1>().1);
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let value = (square(&x) * square(&y)).sqrt();
        assert!((s[0] - value).abs() <= 2e-15 * value, "{a:?}: {s:?}, {value}");
        assert!(s[1..].iter().all(|s| *s <= 2e-15 * value), "{a:?}: {s:?}");
    }
    let s = numbers(&matrix::<f64>([2, 2], &[6.0, 6.0, -4.0, -4.0]).svd::<1>().1);
    assert!((s[0] - 104f64.sqrt()).abs() < 4e-15 && s[1] < 4e-15, "{s:?}");
}

/// A matrix whose inverse is small: the diagonal outweighs its row.
fn regular(n: usize, draws: &mut Draws) -> Vec<f64> {
    (0..n * n).map(|at| draws.uniform() - 0.5 + if at % (n + 1) == 0 { n as f64 } else { 0.0 }).collect()
}

/// The largest relative difference, in rounding units.
fn roundings(x: &[f64], exact: &[f64]) -> f64 {
    x.iter().zip(exact).map(|(x, y)| (x / y - 1.0).abs() / f64::EPSILON).fold(0.0, f64::max)
}

/// Against rotations of columns in numbers of twice the digits.
#[test]
fn values_of_every_magnitude_are_exact() {
    let mut draws = Draws(3);
    for n in 2..11 {
        // Rotations of columns are exact for columns of any scale, and for 14 digits of other scales.
        let step = 40 / (2 * n as i32 - 2);
        for (down, right) in
            [(0, 0), (0, 10), (0, 400 / n as i32), (step, step), (-step, step), (step, 0), (-step, -step)]
        {
            let power = |at: usize| 2f64.powi(-down * (at / n) as i32 - right * (at % n) as i32);
            let a: Vec<f64> = regular(n, &mut draws).iter().enumerate().map(|(at, x)| x * power(at)).collect();
            let part = if down == 0 { 0.0 } else { 1e-30 };
            let columns = transposed([n, n], &a);
            let exact =
                orthogonalized(columns.chunks_exact(n).map(|x| x.iter().copied().map(Double::of).collect()), part);
            for (case, a) in [("a", &a), ("a^T", &columns)] {
                let s = numbers(&matrix::<f64>([n, n], a).svd::<1>().1);
                let off = roundings(&s, &exact);
                assert!(off <= 50.0, "{case} of {n} rows, 2^-{down} and 2^-{right}: {off} roundings, {s:?}, {exact:?}");
            }
        }
        for step in [0, 3, 10, 30] {
            let b = regular(n, &mut draws);
            let of = |i: usize, j: usize| {
                let power = 2f64.powi(-step * (i + j) as i32);
                (b[i * n + j] + b[j * n + i]) * power
            };
            let a: Vec<f64> = (0..n * n).map(|at| of(at / n, at % n)).collect();
            let roots = orthogonalized(double::cholesky(n, &a).into_iter(), 0.0);
            let mut exact: Vec<f64> = roots.iter().map(|x| x * x).collect();
            exact.reverse();
            let w = numbers(&matrix::<f64>([n, n], &a).eigh::<1>().0);
            let off = roundings(&w, &exact);
            assert!(off <= 50.0, "eigenvalues of {n} rows, 2^-{step}: {off} roundings, {w:?}, {exact:?}");
        }
    }
}

/// Whether a program reads vectors changes no bit of its values, and the memory for them.
#[test]
fn values_alone_have_the_same_bits() {
    let mut draws = Draws(4);
    for (at, kind) in KINDS.into_iter().enumerate() {
        for sizes in [[3, 3], [7, 4], [12 + at, 30 - at], [25, 11], [2, 9]] {
            let a = matrix::<f64>(sizes, &draw(kind, sizes, 100.0, &mut draws));
            let all = Function::stage(|a: &Tensor<Term, 2>| a.svd::<1>(), &a);
            let values = Function::stage(|a: &Tensor<Term, 2>| a.svd::<1>().1, &a);
            let (u, s, vt) = all.run(&a).expect("it is compiled");
            assert_eq!((u, s.clone(), vt), a.svd::<1>(), "{kind}, {sizes:?}");
            assert_eq!(values.run(&a).expect("it is compiled"), s, "{kind}, {sizes:?}");
            let n = sizes[0].min(sizes[1]);
            let square = a.slice(0, ..n).slice(1, ..n);
            let values = Function::stage(|a: &Tensor<Term, 2>| a.eigh::<1>().0, &square);
            let vectors = Function::stage(|a: &Tensor<Term, 2>| a.eigh::<1>().1, &square);
            let both = (values.run(&square).expect("it is compiled"), vectors.run(&square).expect("it is compiled"));
            assert_eq!(both, square.eigh::<1>(), "{kind}, {sizes:?}");
        }
    }
}

/// `a v = v diag(w)` and `v^H v = 1` for Hermitian matrices with eigenvalues that are equal, zero or of any magnitude.
#[test]
fn hermitian_matrices_are_decomposed() {
    let mut draws = Draws(5);
    for at in 0..60 {
        let n = 1 + at % 9;
        let mut parts = [vec![0.0; n * n], vec![0.0; n * n]];
        // Each term is a vector of length 1 times its adjoint, times a value; or the matrix is a multiple of 1.
        for _ in 0..draws.below(n + 1) {
            let (re, im) = (draws.vector(n), draws.vector(n));
            let value = [1.0, 1.0, -1.0, 1e-9, 1e-160][draws.below(5)];
            let [real, imaginary] = &mut parts;
            for (k, (x, y)) in real.iter_mut().zip(imaginary).enumerate() {
                let (i, j) = (k / n, k % n);
                *x += value * (re[i] * re[j] + im[i] * im[j]);
                *y += value * (im[i] * re[j] - re[i] * im[j]);
            }
        }
        (0..n).filter(|_| at % 2 == 0).for_each(|i| parts[0][i * (n + 1)] += 1.0);
        let [re, im] = parts.each_ref().map(|x| matrix::<f64>([n, n], x));
        let a = Complex::new(re, im);
        let (w, v) = a.eigh();
        let norm = |x: Complex<Concrete, 2>| x.abs2().sum().item().sqrt();
        let size = norm(a.clone());
        let rest = norm(a.matmul(&v) - v.by_parts::<2>(|x| x * w.insert_axis::<2>(0)));
        assert!(rest <= 1e-14 * size, "{n} rows: {rest} beside {size}");
        let one = Complex::new(Tensor::eye(n), Tensor::zeros([n, n]));
        let departure = norm(v.adjoint().matmul(&v) - one);
        assert!(departure <= 2e-14, "{n} rows: {departure}");
    }
}

/// Eigenvalues as near as some roundings leave many vectors to choose from, and a short part of most: those that are
/// chosen are orthonormal to roundings.
#[test]
fn vectors_of_near_values_are_orthonormal() {
    let mut draws = Draws(6);
    for (n, step) in [(5, 0.0), (5, 1e-15), (20, 0.0), (20, 1e-15)] {
        let [re, im] = [(); 2].map(|()| matrix::<f64>([n, n], &draws.vector(n * n)));
        let q = Complex::new(re, im);
        let v = (&q + q.adjoint()).eigh().1;
        let w = Tensor::<Concrete, 1>::from_fn([n], |[k]| 1.0 + step * k as f64);
        let near = v.matmul(&v.adjoint().by_parts::<2>(|x| x * w.insert_axis::<2>(1)));
        let v = near.eigh().1;
        let one = Complex::new(Tensor::eye(n), Tensor::zeros([n, n]));
        let departure = (v.adjoint().matmul(&v) - one).abs2().sum().item().sqrt();
        assert!(departure <= 1e-14, "{n} rows, {step}: {departure}");
    }
}

/// A block of small numbers beside one of usual size: products of two of its columns are out of range, and it still has
/// its values.
#[test]
fn a_small_block_keeps_its_values() {
    let mut draws = Draws(7);
    for (n, power) in [(34, -530), (40, -660), (60, -660)] {
        let half = n / 2;
        let a = draws.vector(half * half);
        let b = draws.vector(half * half);
        let element = |[i, j]: [usize; 2]| match (i < half, j < half) {
            (true, true) => a[i * half + j],
            (false, false) => b[(i - half) * half + j - half] * 2f64.powi(power),
            (true, false) | (false, true) => 0.0,
        };
        let both = Tensor::<Concrete, 2>::from_fn([n, n], element);
        let s = numbers(&both.svd::<1>().1);
        let small = numbers(&matrix::<f64>([half, half], &b).svd::<1>().1);
        let found = times_power(&s[half..], -power);
        let off = roundings(&found, &small);
        assert!(off <= 500.0, "{n} rows, 2^{power}: {off} roundings, {found:?}, {small:?}");
    }
}

/// Vectors of a matrix without elements that count are still orthonormal, and there is nothing where there is no
/// element.
#[test]
fn zeros_and_empty_matrices() {
    for sizes in [[1, 1], [1, 5], [5, 1], [4, 4], [3, 14], [15, 15]] {
        check_svd::<f64>(sizes, &vec![0.0; sizes[0] * sizes[1]], "zeros");
        check_svd::<f32>(sizes, &vec![0.0; sizes[0] * sizes[1]], "zeros");
        check_eigh::<f64>(sizes[0], &vec![0.0; sizes[0] * sizes[0]], "zeros");
    }
    for sizes in [[0, 0], [0, 3], [3, 0]] {
        let (u, s, vt) = matrix::<f64>(sizes, &[]).svd::<1>();
        assert_eq!((u.shape(), s.shape(), vt.shape()), ([sizes[0], 0], [0], [0, sizes[1]]));
    }
    assert_eq!(matrix::<f64>([0, 0], &[]).eigh::<1>().0.shape(), [0]);
}
