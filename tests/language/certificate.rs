//! Certificates: bounds of values and of rounding errors, for source code that is emitted.
//!
//! Laws: what `f32` computes differs from what `f64` computes at the same numbers by no more than the bounds of both
//! errors, for every row, for sums, and for functions of each kind; a fault has the name and the line of its operation.

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::interpreters::Rounding;
use polygrad::ops::{Binary, Call, Compare, Contract, Discrete, FloatStep, Linear, Matrix, Reduce, Unary};
use polygrad::program::{Program, interpret};
use polygrad::{
    Array, BaseTensor, Certificate, CertificateError, DType, Enclosure, Float, Function, Tensor, fold, grad, iterate,
    map, tensor, while_loop, while_loop_within,
};

use crate::narrowed::{narrowed, rounded};

type Bounds = Rounding<Enclosure>;

fn numbers(a: &Array) -> Vec<f64> {
    a.cast::<f64>().to_vec().expect("numbers")
}

/// Numbers of `f32`, in a float type.
fn array<E: Float>(x: &[f64]) -> Array {
    Array::new(&[x.len()], x.iter().map(|x| E::of_f64(f64::from(*x as f32))).collect())
}

/// A function of arrays, at any interpreter.
trait Law {
    fn at<T: BaseTensor>(&self, x: &[T]) -> T;
}

fn boxed<E: Float>(sides: &[[Vec<f64>; 2]]) -> Vec<Bounds> {
    let one = |[lower, upper]: &[Vec<f64>; 2]| Enclosure::between(&array::<E>(lower), &array::<E>(upper));
    sides.iter().map(|side| Rounding::exact(one(side).expect("ends in order"))).collect()
}

/// Asserts that a function in `f32` errs by no more than its bounds; returns the bounds.
fn assert_holds(what: &str, law: &impl Law, sides: &[[Vec<f64>; 2]], rng: &mut Rng) -> Vec<f64> {
    let (narrow, wide) = (law.at(&boxed::<f32>(sides)), law.at(&boxed::<f64>(sides)));
    let (errors, more) = (narrow.errors(), wide.errors());
    for _ in 0..30 {
        let mut point = |[lower, upper]: &[Vec<f64>; 2]| -> Vec<f64> {
            let one = |(a, b): (&f64, &f64)| {
                f64::from((a + (b - a) * rng.unit()) as f32).clamp(f64::from(*a as f32), f64::from(*b as f32))
            };
            lower.iter().zip(upper).map(one).collect()
        };
        let x: Vec<Vec<f64>> = sides.iter().map(&mut point).collect();
        let found = law.at(&x.iter().map(|x| array::<f32>(x)).collect::<Vec<_>>());
        let exact = law.at(&x.iter().map(|x| array::<f64>(x)).collect::<Vec<_>>());
        for (k, (y, z)) in numbers(&found).into_iter().zip(numbers(&exact)).enumerate() {
            let most = (errors[k] + more[k]).next_up();
            assert!(
                y == z || (y.is_nan() && z.is_nan()) || most.is_infinite() || (y - z).abs() <= most,
                "{what}: {y:e} and {z:e} differ by more than {most:e}, at {x:?}"
            );
        }
    }
    errors
}

/// Factors that are no numbers of `f32`'s sums: every operand of the rows has an error.
fn third<T: BaseTensor>(x: &T) -> T {
    x.binary(Binary::Mul, &T::constant(Array::full_as(x.shape(), x.dtype(), f64::from(1.0f32 / 3.0))))
}

struct OfUnary(Unary);

impl Law for OfUnary {
    fn at<T: BaseTensor>(&self, x: &[T]) -> T {
        third(&x[0]).unary(self.0)
    }
}

struct OfBinary(Binary, [bool; 2]);

impl Law for OfBinary {
    fn at<T: BaseTensor>(&self, x: &[T]) -> T {
        let operand = |k: usize| if self.1[k] { third(&x[k]) } else { x[k].clone() };
        operand(0).binary(self.0, &operand(1))
    }
}

/// Boxes within three times a domain, of a share of its width.
fn parts(rng: &mut Rng, (lo, hi): (f64, f64), scale: f64, share: f64) -> [Vec<f64>; 2] {
    let start: Vec<f64> = (0..40).map(|_| scale * (lo + (hi - lo) * (1.0 - share) * rng.unit())).collect();
    let end = start.iter().map(|x| x + scale * (hi - lo) * share).collect();
    [start, end]
}

/// At points the bounds are small: rows whose errors are always infinite fail.
#[test]
fn rows_err_by_no_more_than_their_bounds() {
    let mut rng = Rng::new(1);
    for share in [0.0, 1e-3, 0.3] {
        for op in Unary::ALL {
            let side = parts(&mut rng, op.domain(), 3.0, share);
            let errors = assert_holds(op.name(), &OfUnary(*op), &[side], &mut rng);
            let most = errors.into_iter().fold(0.0, f64::max);
            assert!(most < if share == 0.0 { 1e-4 } else { 1e-1 }, "{}: {most:e}", op.name());
        }
        for op in Binary::ALL {
            for err in [[true, true], [true, false], [false, true], [false, false]] {
                let domain = op.domain();
                let scale = |k: usize| if err[k] { 3.0 } else { 1.0 };
                let sides = [0, 1].map(|k| parts(&mut rng, domain[k], scale(k), share));
                let errors = assert_holds(op.name(), &OfBinary(*op, err), &sides, &mut rng);
                let most = errors.into_iter().fold(0.0, f64::max);
                assert!(most < if share == 0.0 { 1e-3 } else { f64::INFINITY }, "{}: {most:e}", op.name());
            }
        }
    }
}

/// Near zeros, poles, cuts and ends of domains.
#[test]
fn rows_err_by_no_more_than_their_bounds_where_they_jump() {
    let mut rng = Rng::new(2);
    for width in [0.0, 1e-6, 0.5] {
        let near = |rng: &mut Rng| -> [Vec<f64>; 2] {
            let all = [-3.0, -1.0, -1e-7, 0.0, 1e-7, 1.0, 3.0, 9.0, 300.0];
            let start: Vec<f64> = (0..60).map(|_| all[rng.below(all.len())] - width * rng.unit()).collect();
            let end = start.iter().map(|x| x + width).collect();
            [start, end]
        };
        for op in Unary::ALL {
            let side = near(&mut rng);
            assert_holds(op.name(), &OfUnary(*op), &[side], &mut rng);
        }
        for op in Binary::ALL {
            for err in [[true, true], [true, false], [false, true]] {
                let sides = [near(&mut rng), near(&mut rng)];
                assert_holds(op.name(), &OfBinary(*op, err), &sides, &mut rng);
            }
        }
    }
}

/// What is computed by the other families, of two vectors.
#[derive(Clone, Copy, Debug)]
enum Family {
    Sum,
    PrefixSum,
    Dot,
    Outer,
    Extremum,
    Fourier,
    Select,
    Floor,
    Gather,
    Scatter,
    Loop,
    /// A sum that begins with a large number.
    InPlace,
    Recurrence,
    PrefixProduct,
}

const FAMILIES: [Family; 14] = [
    Family::Sum,
    Family::PrefixSum,
    Family::Dot,
    Family::Outer,
    Family::Extremum,
    Family::Fourier,
    Family::Select,
    Family::Floor,
    Family::Gather,
    Family::Scatter,
    Family::Loop,
    Family::InPlace,
    Family::Recurrence,
    Family::PrefixProduct,
];

struct OfFamily(Family, usize);

impl Law for OfFamily {
    fn at<T: BaseTensor>(&self, x: &[T]) -> T {
        let (a, b, n) = (third(&x[0]), third(&x[1]), self.1);
        let below = |x: &T, y: &T| T::discrete(&Discrete::Compare(Compare::Lt), &[x, y]);
        let whole = |x: &T| T::discrete(&Discrete::ToInt, &[x]);
        match self.0 {
            Family::Sum => a.linear(&Linear::sum(&[n], &[0])),
            Family::PrefixSum => a.linear(&Linear::prefix_sum(&[n], 0)),
            Family::Dot => T::contract(&Contract::axes(&[n], &[0], &[0], &[]), &a, &b),
            Family::Outer => T::contract(&Contract::axes(&[n, n], &[0], &[1], &[0, 1]), &a, &b),
            Family::Extremum => a.reduce(Reduce::Max { axis: 0 }),
            Family::Fourier => {
                let both = [a, b].map(|x| x.linear(&Linear::reshape(&[n], &[1, n])));
                T::concat(0, &both).linear(&Linear::fourier(&[2, n], 0, 1))
            }
            Family::Select => T::select(&below(&a, &b), &a.unary(Unary::Exp), &b),
            Family::Floor => T::discrete(&Discrete::FloatStep(FloatStep::Floor), &[&a]),
            Family::Gather => b.gather(&[whole(&a)]),
            Family::Scatter => a.clone().scatter_add(&[whole(&a)], &b),
            Family::InPlace => {
                let small = b.binary(Binary::Mul, &T::constant(Array::full_as(&[n], b.dtype(), 1e-3)));
                let large = a.linear(&Linear::row(&[n], 0, 0)).unary(Unary::Square);
                let large = large.binary(Binary::Add, &T::constant(Array::full_as(&[], b.dtype(), 100.0)));
                large.accumulate_linear(&Linear::sum(&[n], &[0]), &small)
            }
            Family::Recurrence | Family::PrefixProduct => {
                let column = |x: &T| x.linear(&Linear::reshape(&[n], &[n, 1]));
                let half = T::constant(Array::full_as(&[n], a.dtype(), 0.5));
                let (a, b) = (column(&a.binary(Binary::Mul, &half)), column(&b));
                if let Family::PrefixProduct = self.0 {
                    return T::call(&Call::Matrix(Matrix::PrefixProduct), &[a]).remove(0);
                }
                let both = [false, true].map(|transposed| {
                    T::call(&Call::Matrix(Matrix::Recurrence { transposed }), &[a.clone(), b.clone()]).remove(0)
                });
                T::concat(0, &both)
            }
            Family::Loop => {
                let start = T::constant(Array::full_as(&[], a.dtype(), 0.3));
                let trip = |carry: Vec<T>, x: &[T]| {
                    let next = carry[0].binary(Binary::Mul, &x[0]).binary(Binary::Add, &x[1]);
                    (vec![next.clone()], vec![next])
                };
                T::map_accum(n, true, vec![start], &[a, b], &mut { trip }).1.remove(0)
            }
        }
    }
}

#[test]
fn families_err_by_no_more_than_their_bounds() {
    let mut rng = Rng::new(3);
    for n in [1, 2, 3, 12, 200] {
        for width in [0.0, 1e-6, 0.4] {
            for family in FAMILIES {
                let mut side = || {
                    let start: Vec<f64> = (0..n).map(|_| 6.0 * (rng.unit() - 0.4)).collect();
                    let end = start.iter().map(|x| x + width).collect();
                    [start, end]
                };
                let sides = [side(), side()];
                let errors = assert_holds(&format!("{family:?} of {n}"), &OfFamily(family, n), &sides, &mut rng);
                let small = errors.iter().filter(|e| **e < 3e-2).count();
                let jumps = matches!(family, Family::Select | Family::Floor | Family::Gather | Family::Scatter);
                assert!(jumps || width > 0.0 || small == errors.len(), "{family:?} of {n}: {errors:?}");
            }
        }
    }
}

/// A decision on exact numbers is the same one, so it costs nothing, however undecided it is.
#[test]
fn only_decisions_that_may_flip_count() {
    let x = Rounding::exact(Enclosure::between(&Array::from([-1.0]), &Array::from([2.0])).expect("ends in order"));
    let zero = Bounds::constant(Array::from([0.0]));
    let positive = |x: &Bounds| Bounds::discrete(&Discrete::Compare(Compare::Gt), &[x, &zero]);
    let far = Bounds::constant(Array::from([100.0]));
    let near = third(&x);
    assert!(Bounds::select(&positive(&x), &near, &far).errors()[0] < 1e-15);
    let flipped = Bounds::select(&positive(&near), &near, &far).errors()[0];
    assert!((100.0..=100.5).contains(&flipped), "{flipped}");
    let floor = |x: &Bounds| Bounds::discrete(&Discrete::FloatStep(FloatStep::Floor), &[x]);
    assert_eq!((floor(&x).errors()[0], floor(&near).errors()[0]), (0.0, 1.0));
    let angle = |y: &Bounds| y.binary(Binary::Atan2, &Bounds::constant(Array::from([-1.0]))).errors()[0];
    assert!(angle(&x) < 1e-14 && angle(&near) > 6.0, "{} {}", angle(&x), angle(&near));
}

/// Ten times the `f32` next to 0.7: 7 in `f32`, and less in `f64`.
struct Flips(u8);

impl Law for Flips {
    fn at<T: BaseTensor>(&self, x: &[T]) -> T {
        let factor = f64::from(0.7f32);
        let constant = |c: f64| T::constant(Array::full_as(&[1], x[0].dtype(), c));
        let seven = x[0].binary(Binary::Mul, &constant(factor));
        let whole = T::discrete(&Discrete::ToInt, &[&seven]);
        let table = T::discrete(&Discrete::ToFloat(x[0].dtype()), &[&T::constant(Array::iota(10))]);
        let ones = T::constant(Array::full_as(&[10], x[0].dtype(), 1.0));
        match self.0 {
            0 => table.gather(&[whole]),
            1 => table.scatter_add(&[whole], &ones.linear(&Linear::slice(&[10], 0, 0, 1, 1))),
            2 => T::discrete(&Discrete::FloatStep(FloatStep::Floor), &[&seven]),
            3 => T::discrete(&Discrete::ToFloat(x[0].dtype()), &[&whole]),
            4 => {
                let below = T::discrete(&Discrete::Compare(Compare::Lt), &[&seven, &constant(7.0)]);
                T::select(&below, &constant(3.0), &constant(4.0))
            }
            5 => {
                let both = T::concat(0, &[constant(7.0), seven]);
                let first = T::discrete(&Discrete::ArgMin { axis: 0 }, &[&both]);
                T::discrete(&Discrete::ToFloat(x[0].dtype()), &[&first])
            }
            6 => seven.binary(Binary::Sub, &constant(7.0)).binary(Binary::Atan2, &constant(-1.0)),
            _ => constant(2.0).binary(Binary::Copysign, &seven.binary(Binary::Sub, &constant(7.0))),
        }
    }
}

/// Decisions that rounding flips.
#[test]
fn what_rounding_decides_is_in_the_error() {
    let x = array::<f32>(&[10.0]);
    for law in (0..8).map(Flips) {
        let [found, exact] = [law.at(std::slice::from_ref(&x)), law.at(&[array::<f64>(&[10.0])])].map(|y| numbers(&y));
        assert!(found.iter().zip(&exact).any(|(y, z)| (y - z).abs() >= 1.0), "{} is decided by rounding", law.0);
        assert_holds(&format!("decision {}", law.0), &law, &[[vec![10.0], vec![10.0]]], &mut Rng::new(5));
    }
}

type V<T> = Tensor<T, 1>;

fn softmax<T: BaseTensor>(x: &V<T>) -> V<T> {
    let e = x.exp();
    &e / e.sum().replicate(x.len())
}

fn rotation<T: BaseTensor>(angles: &V<T>) -> V<T> {
    let (a, b, c) = (angles.at([0]), angles.at([1]), angles.at([2]));
    let [sa, ca, sb, cb, sc, cc] = [a.sin(), a.cos(), b.sin(), b.cos(), c.sin(), c.cos()];
    polygrad::stack(&[
        &cb * &cc,
        &sa * &sb * &cc - &ca * &sc,
        &ca * &sb * &cc + &sa * &sc,
        &cb * &sc,
        &sa * &sb * &sc + &ca * &cc,
        &ca * &sb * &sc - &sa * &cc,
        -&sb,
        &sa * &cb,
        &ca * &cb,
    ])
}

/// A vector turned by a quaternion.
fn turned<T: BaseTensor>(q: &V<T>) -> V<T> {
    let q = q / (q.dot(q).sqrt() + 0.1).replicate(4);
    let (w, x, y, z) = (q.at([0]), q.at([1]), q.at([2]), q.at([3]));
    polygrad::stack(&[1.0 - 2.0 * (&y * &y + &z * &z), 2.0 * (&x * &y + &w * &z), 2.0 * (&x * &z - &w * &y)])
}

/// The optimized program of a function of four numbers.
macro_rules! programs {
    ($($name:literal: |$x:ident| $body:expr;)*) => {
        vec![$(($name, Function::stage(|$x: &V<_>| $body, &tensor([0.1, 0.2, 0.3, 0.4])).optimized().clone()),)*]
    };
}

fn functions() -> Vec<(&'static str, Program)> {
    programs! {
        "dot": |x| x.dot(x);
        "norm": |x| (x.dot(x) + 1.0).sqrt();
        "mean": |x| x.sum() / 4.0;
        "polynomial": |x| ((x * 0.3 - 1.1) * x + 0.7) * x - 0.2;
        "softmax": |x| softmax(x);
        "logsumexp": |x| x.logsumexp();
        "rotation": |x| rotation(x);
        "quaternion": |x| turned(x);
        "sigmoid": |x| (x * 3.0 - 0.5).sigmoid();
        "huber": |x| (x.square() + 1.0).sqrt().sum() - 4.0;
        "relu": |x| (x - 0.15).relu();
        "gaussian": |x| (-x.square() * 0.5).exp() * 0.398_942;
        "power": |x| (x.square() + 0.5).powf(1.7);
        "logarithm": |x| (x.square() + 0.2).ln();
        "angle": |x| (x + 2.0).atan2(&(x - 3.0));
        "cumulative": |x| x.cumsum(0);
        "matrix": |x| x.outer(x).matvec(x);
        "gradient": |x| grad(|x: &V<_>| softmax(x).square().sum(), x);
        "gradient of loop": |x| grad(|x: &V<_>| iterate(5, x.clone(), |_, y: V<_>| y.sin() * 1.3 + 0.1).sum(), x);
        "oscillator": |x| iterate(20, x.clone(), |_, y: V<_>| &y + 0.05 * (1.0 - y.square()) * &y - 0.01 * &y);
        "fold": |x| fold(x.sum(), x, |sum: Tensor<_, 0>, y: &Tensor<_, 0>| sum * 0.5 + y.cos());
        "map": |x| map(x, |y| (y * 2.0).tanh());
        "newton": |x| while_loop_within(8, (x.sum().square() + 1.0, x.clone()), |(s, _)| s.gt(1.1), |(s, y)| ((&s + 1.0) * 0.5, y * 0.9)).1;
        "variance": |x| (x - (x.sum() / 4.0).replicate(4)).square().sum() / 3.0;
    }
}

/// Compares a program in `f32` with one in `f64` at points of a box, and with its certificate.
fn assert_certified(name: &str, program: &Program, [lo, hi]: [f64; 2], rng: &mut Rng) -> Certificate {
    let side = |x: f64| rounded(&Array::full(&[4], x), DType::F32);
    let narrow = narrowed(program, DType::F32).expect("no linear algebra");
    let wide = narrowed(program, DType::F64).expect("no linear algebra");
    let source = narrow.to_c("f").expect("a program that is written");
    let certificate = source.certificate(&[side(lo)], &[side(hi)]).unwrap_or_else(|e| panic!("{name}: {e}"));
    let of_wide = wide.to_c("f").expect("a program that is written");
    let of_wide = of_wide.certificate(&[rounded(&side(lo), DType::F64)], &[rounded(&side(hi), DType::F64)]);
    let of_wide = of_wide.unwrap_or_else(|e| panic!("{name}: {e}"));
    for _ in 0..30 {
        let x = rounded(&rng.uniform(&[4], lo, hi), DType::F32);
        let exact = interpret(&wide, vec![rounded(&x, DType::F64)]);
        let all = [interpret(&narrow, vec![x.clone()]), compile(&narrow).run(std::slice::from_ref(&x))];
        for (k, (y, z)) in all.iter().flat_map(|found| found.iter().zip(&exact).enumerate()) {
            let (bounds, more) = (&certificate.outputs[k], &of_wide.outputs[k]);
            let (lower, upper) = (numbers(&bounds.lower), numbers(&bounds.upper));
            let (errors, more) = (numbers(&bounds.error), numbers(&more.error));
            for (i, (y, z)) in numbers(y).into_iter().zip(numbers(z)).enumerate() {
                assert!(lower[i].is_nan() || (lower[i] <= y && y <= upper[i]), "{name}: {y:e}\n{certificate}");
                let most = (errors[i] + more[i]).next_up();
                assert!((y - z).abs() <= most || y == z, "{name}: {y:e}, {z:e}, {most:e}\n{certificate}");
            }
        }
    }
    certificate
}

#[test]
fn functions_err_by_no_more_than_certified() {
    let mut rng = Rng::new(4);
    for (name, program) in functions() {
        for [lo, hi] in [[0.2, 0.2], [0.1, 0.101], [-0.5, 0.5]] {
            let certificate = assert_certified(name, &program, [lo, hi], &mut rng);
            assert!(certificate.is_clean(), "{name}: {certificate}");
            let errors = certificate.outputs.iter().flat_map(|y| numbers(&y.error));
            let most = errors.fold(0.0, f64::max);
            assert!(most < if hi - lo < 0.01 { 1e-4 } else { f64::INFINITY }, "{name}: {certificate}");
        }
    }
}

fn numbers_between(f: Function<Tensor<Array, 0>, (), Tensor<Array, 0>>, lo: f64, hi: f64) -> Certificate {
    let source = f.to_rust("f").expect("a program that is written");
    source.certificate(&[Array::scalar(lo)], &[Array::scalar(hi)]).expect("operations with bounds")
}

/// Where a fault begins: its operation, and its line.
fn begins(certificate: &Certificate) -> Vec<(String, u32)> {
    let first = certificate.operations.iter().filter(|row| row.begins);
    first.map(|row| (row.operation.clone(), row.at.as_ref().map_or(0, |at| at.line))).collect()
}

#[test]
fn faults_have_the_names_and_lines_of_operations() {
    let x = &tensor(1.0);
    let line = line!();
    let quotient = Function::stage(|x| 1.0 / x, x);
    let logarithm = Function::stage(|x| (x - 1.0).ln(), x);
    let growth = Function::stage(|x| x.exp().sin(), x);
    let root = Function::stage(|x| x.sqrt() + 1.0, x);
    let slope = Function::stage(|x| grad(|x| x.sqrt(), x), x);
    let of = |f: Function<_, _, _>, lo, hi| {
        let certificate = numbers_between(f, lo, hi);
        assert!(!certificate.is_clean());
        certificate
    };
    let certificate = of(quotient, -1.0, 1.0);
    assert_eq!(begins(&certificate), [("recip".to_owned(), line + 1)]);
    assert!(certificate.operations[0].may_divide_by_zero && !certificate.operations[0].may_be_nan);
    assert!(certificate.to_string().contains("recip  division by zero"), "{certificate}");
    let certificate = of(logarithm, 0.5, 3.0);
    assert_eq!(begins(&certificate), [("ln".to_owned(), line + 2)]);
    assert!(certificate.outputs[0].lower.item::<f64>().expect("a number").is_nan());
    assert!(certificate.outputs[0].error.item::<f64>().expect("a number").is_infinite());
    // The sine of infinity is NaN, and follows from the overflow.
    let certificate = of(growth, 0.0, 1000.0);
    assert_eq!(begins(&certificate), [("exp".to_owned(), line + 3)]);
    assert!(certificate.to_string().contains("1 more operations compute with NaN"), "{certificate}");
    let certificate = of(root, -1e-9, 4.0);
    assert_eq!(begins(&certificate), [("sqrt".to_owned(), line + 4)]);
    let certificate = of(slope, 0.0, 1.0);
    let row = certificate.operations.iter().find(|row| row.begins).expect("a fault");
    assert_eq!(row.derivative_of.as_deref(), Some("sqrt"), "{certificate}");
    assert_eq!(row.at.as_ref().map(|at| at.line), Some(line + 5));
}

#[test]
fn a_rotation_is_clean() {
    let source = Function::stage(|x: &V<_>| rotation(x), &tensor([0.0; 3])).to_c("rotation").expect("written");
    let [lower, upper] = [-std::f64::consts::PI, std::f64::consts::PI].map(|x| Array::full(&[3], x));
    let certificate = source.certificate(&[lower], &[upper]).expect("operations with bounds");
    assert!(certificate.is_clean(), "{certificate}");
    let y = &certificate.outputs[0];
    assert!(numbers(&y.lower).iter().all(|x| *x >= -2.1) && numbers(&y.error).iter().all(|e| *e < 1e-13));
    let with = source.clone().with_certificate(&certificate);
    assert_eq!(with.code, source.code);
    assert!(with.header.ends_with(&source.header) && with.header.starts_with("// Certificate: neither"));
    assert!(with.header.lines().count() - source.header.lines().count() <= 40);
}

/// However many faults and results there are, the comment is short.
#[test]
fn a_certificate_is_short() {
    let f = |x: &V<_>| -> Vec<V<_>> { (1..30).map(|k| (x - f64::from(k)).ln() * (x + f64::from(k)).recip()).collect() };
    let source = Function::stage(f, &tensor([0.5; 3])).to_rust("f").expect("written");
    let [lower, upper] = [-50.0, 50.0].map(|x| Array::full(&[3], x));
    let certificate = source.certificate(&[lower], &[upper]).expect("operations with bounds");
    let text = certificate.to_string();
    assert!(text.lines().count() <= 40 && text.contains("more"), "{text}");
}

#[test]
fn what_has_no_certificate_is_an_error() {
    let source = Function::stage(|x: &V<_>| x.exp(), &tensor([0.0; 3])).to_c("f").expect("written");
    let of = |n: usize, x: f64| Array::full(&[n], x);
    let refused =
        |lower: &[Array], upper: &[Array]| source.certificate(lower, upper).expect_err("a box that does not fit");
    assert!(matches!(refused(&[], &[of(3, 1.0)]), CertificateError::Count { inputs: 1, lower: 0, upper: 1 }));
    assert!(matches!(refused(&[of(3, 0.0)], &[of(2, 1.0)]), CertificateError::Kind { .. }));
    assert!(matches!(refused(&[of(3, 0.0)], &[of(3, 1.0).cast::<f32>()]), CertificateError::Kind { .. }));
    let order = refused(&[of(3, 2.0)], &[of(3, 1.0)]);
    assert_eq!(
        order.to_string(),
        "certificate: a lower bound must not be larger than the upper one, but of `x` element 0 lies between 2 and 1; exchange them"
    );
    let halved = |x: &Tensor<_, 0>| while_loop(x.clone(), |x| x.gt(1.0), |x| x * 0.5);
    let source = Function::stage(halved, &tensor(8.0)).to_c("f").expect("written");
    let one = |x: f64| [Array::scalar(x)];
    let error = source.certificate(&one(4.5), &one(9.0)).expect_err("the box contains 8");
    assert!(matches!(error, CertificateError::Undecided { trips: 3, .. }), "{error}");
    let certificate = source.certificate(&one(4.5), &one(7.5)).expect("three trips");
    assert!(certificate.is_clean());
}

/// The row of an operation has its results in all trips: not those of the last trip alone, nor of the first.
#[test]
fn a_row_has_the_results_of_all_trips() {
    let [lower, upper] = [-8.0, 8.0].map(|x| [Array::scalar(x)]);
    let shrinks = Function::stage(|x: &Tensor<_, 0>| iterate(3, x.clone(), |_, c: Tensor<_, 0>| c * 0.5), &tensor(1.0));
    let grows = Function::stage(|x: &Tensor<_, 0>| iterate(3, x.clone(), |_, c: Tensor<_, 0>| c * 2.0), &tensor(1.0));
    let ends = Function::stage(
        |x: &Tensor<_, 0>| while_loop_within(3, x.abs() + 9.0, |x| x.gt(2.0), |x| x * 0.5),
        &tensor(1.0),
    );
    for (f, side) in [(shrinks, 4.0), (grows, 64.0)] {
        let certificate = f.to_c("f").expect("written").certificate(&lower, &upper).expect("operations with bounds");
        let products: Vec<_> = certificate.operations.iter().filter(|o| o.operation == "mul").collect();
        assert_eq!(products.iter().map(|o| (o.lower, o.upper)).collect::<Vec<_>>(), [(-side, side)]);
    }
    let certificate = ends.to_c("f").expect("written").certificate(&lower, &upper).expect("operations with bounds");
    let product = certificate.operations.iter().find(|o| o.operation == "mul").expect("a product");
    // From 9 to 17, halved once to three times.
    assert!(product.lower <= 9.0 / 8.0 && product.upper >= 17.0 / 2.0, "{} {}", product.lower, product.upper);
}

/// Terms that are added to a large start one by one are each rounded at its size.
#[test]
fn terms_are_rounded_at_the_size_of_their_start() {
    let exactly = |x: Array| Bounds::exact(Enclosure::constant(x));
    let start = 2f64.powi(53);
    for n in [2, 8, 30] {
        let terms = exactly(Array::full(&[n], 1.0));
        let sum = exactly(Array::scalar(start)).accumulate_linear(&Linear::sum(&[n], &[0]), &terms);
        let found = (0..n).fold(start, |sum, _| sum + 1.0);
        let off = n as f64 - (found - start);
        assert!(off <= sum.errors()[0], "{n} terms are off by {off}, not {:?}", sum.errors());
    }
}

/// Each product of a sum may be rounded to 0: the bound of the error has all of them, not only the roundings of the sum.
#[test]
fn products_that_underflow_count_in_sums() {
    // 1.55e-162 squared is about half of the least number.
    let x: Vec<f64> = vec![1.55e-162; 100];
    let exact = 100.0 * 0.486 * f64::from_bits(1);
    let bounds = |a: &Array| Rounding::exact(Enclosure::between(a, a).expect("ends in order"));
    let x = bounds(&Array::new(&[100], x));
    let y = Bounds::contract(&Contract::axes(&[100], &[0], &[0], &[]), &x, &x);
    assert!(y.errors()[0] >= 0.9 * exact, "{:e}", y.errors()[0]);
    let rows = bounds(&Array::full(&[3, 100], 1.55e-162));
    let product = Bounds::contract(&Contract::axes(&[3, 100], &[0, 1], &[1], &[0]), &rows, &x);
    assert!(product.errors().iter().all(|e| *e >= 0.9 * exact), "{:?}", product.errors());
}
