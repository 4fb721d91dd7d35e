//! The errors of the vector kernels: at recorded points, at special values, and at random points.
//!
//! At random points, the correctly rounded functions of `core-math` are the oracle.
//!
//! A distance is the number of floats between a result and the correctly rounded one: 1 means an error below 1.5 units
//! of the last place. `POLYGRAD_MATH_POINTS=2000000` tests as many points for each function, and prints the largest
//! distances.

use super::{HOSTILE, Random, distance, hostile};
use crate::dtype::DType;
use crate::kernels::elementwise::{Arg, Isa, Real, binary, unary};
use crate::ops::{Binary, Unary};

/// A row with a vector kernel: the largest distance in `f64` and in `f32`, an interval to sample, and the oracle.
type Case = (Unary, u64, u64, [f64; 2], fn(f64) -> f64);

const CASES: &[Case] = &[
    (Unary::Exp, 1, 1, [-750.0, 712.0], core_math::exp),
    (Unary::Expm1, 1, 1, [-45.0, 712.0], core_math::expm1),
    (Unary::Ln, 1, 1, [0.0, 100.0], core_math::log),
    (Unary::Log1p, 1, 1, [-1.0, 50.0], core_math::log1p),
    (Unary::Sin, 1, 1, [-1e6, 1e6], core_math::sin),
    (Unary::Cos, 1, 1, [-1e6, 1e6], core_math::cos),
    (Unary::Tan, 2, 1, [-1e6, 1e6], core_math::tan),
    (Unary::Sinh, 2, 2, [-712.0, 712.0], core_math::sinh),
    // Beyond 709 the loop falls back to the row, which errs by 2.
    (Unary::Cosh, 2, 2, [-712.0, 712.0], core_math::cosh),
    (Unary::Erf, 2, 1, [-7.0, 7.0], core_math::erf),
    // Beyond 26 the loop falls back to the row, which errs by 3.
    (Unary::Erfc, 4, 1, [-7.0, 28.0], core_math::erfc),
    (Unary::Erfinv, 2, 2, [-1.0, 1.0], inverse_of_erf),
    (Unary::Asin, 2, 1, [-1.0, 1.0], core_math::asin),
    (Unary::Acos, 2, 1, [-1.0, 1.0], core_math::acos),
    (Unary::Atan, 1, 1, [-50.0, 50.0], core_math::atan),
    (Unary::Tanh, 2, 2, [-22.0, 22.0], core_math::tanh),
    // The oracles of these rows are formulas that err by 1 or 2 themselves; the recorded points are exact.
    (Unary::Sigmoid, 3, 2, [-740.0, 40.0], |x| Unary::Sigmoid.apply(x)),
    (Unary::Softplus, 3, 2, [-740.0, 40.0], |x| Unary::Softplus.apply(x)),
    (Unary::Sech2, 4, 4, [-350.0, 350.0], |x| Unary::Sech2.apply(x)),
    (Unary::Gaussian, 3, 1, [-28.0, 28.0], |x| Unary::Gaussian.apply(x)),
];

/// The inverse of the error function to 1 unit of the last place: a step of Newton's method from the row. Where the error
/// function is above a half its complement is nearer to exact.
fn inverse_of_erf(y: f64) -> f64 {
    let (x, a) = (Unary::Erfinv.apply(y).abs(), y.abs());
    if !x.is_finite() {
        return x.copysign(y);
    }
    let off = if a < 0.5 { core_math::erf(x) - a } else { (1.0 - a) - core_math::erfc(x) };
    (x - off * core_math::exp(x * x) / std::f64::consts::FRAC_2_SQRT_PI).copysign(y)
}

/// The largest distance of a row; rows without a vector kernel are exactly the row.
fn bound<E: Real>(op: Unary) -> u64 {
    if op == Unary::Lgamma && E::DTYPE == DType::F32 {
        return 1;
    }
    let case = CASES.iter().find(|case| case.0 == op);
    case.map_or(0, |case| if E::DTYPE == DType::F64 { case.1 } else { case.2 })
}

/// The number of random points for each function, and whether the distances are printed.
fn points() -> (usize, bool) {
    let wanted = std::env::var("POLYGRAD_MATH_POINTS").ok().and_then(|n| n.parse().ok());
    (wanted.unwrap_or(8000), wanted.is_some())
}

/// The kernel of a row at these arguments.
fn computed<E: Real>(isa: Isa, op: Unary, x: &[E]) -> Vec<E> {
    let mut out = vec![E::ONE; x.len()];
    unary(isa, op, x, &mut out);
    out
}

/// The largest distance from the oracle, and its argument.
fn worst<E: Real>(x: &[E], y: &[E], exact: &[E]) -> (u64, E) {
    let all = x.iter().zip(y.iter().zip(exact)).map(|(x, (y, exact))| (distance(*y, *exact), *x));
    all.fold((0, E::ZERO), |worst, one| if one.0 > worst.0 { one } else { worst })
}

fn misjudged<E: Real>(case: &Case, out: &mut Vec<String>) {
    let (op, _, _, [lo, hi], oracle) = *case;
    let (count, told) = points();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let x: Vec<E> = (0..count).map(|_| E::of_f64(random.sample(lo, hi))).collect();
    let exact: Vec<E> = x.iter().map(|x| E::of_f64(oracle(x.as_f64()))).collect();
    for isa in Isa::supported() {
        let (distance, at) = worst(&x, &computed(isa, op, &x), &exact);
        let said = format!("{} {} {}: {distance} at {at:?}", op.name(), E::DTYPE, isa.name());
        if told {
            println!("{said}");
        }
        if distance > bound::<E>(op) {
            out.push(said);
        }
    }
}

#[test]
fn random_points_are_within_the_bounds() {
    let mut wrong = Vec::new();
    for case in CASES {
        misjudged::<f64>(case, &mut wrong);
        misjudged::<f32>(case, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All distances from the ends of its domain, and from 0, are alike to the inverse of the error function.
#[test]
fn the_inverse_of_erf_is_within_its_bound_near_its_ends() {
    fn check<E: Real>(least: f64) {
        let (count, told) = points();
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let near_ends = (0..count).map(|_| 1.0 - random.sample(least.ln(), 0.0).exp());
        let mut x: Vec<E> = near_ends.map(E::of_f64).collect();
        x.extend((0..count).map(|_| E::of_f64(random.sample(least.ln(), 0.0).exp())));
        let exact: Vec<E> = x.iter().map(|x| E::of_f64(inverse_of_erf(x.as_f64()))).collect();
        for isa in Isa::supported() {
            let (distance, at) = worst(&x, &computed(isa, Unary::Erfinv, &x), &exact);
            let said = format!("erfinv {} {}: {distance} at {at:?}", E::DTYPE, isa.name());
            if told {
                println!("{said}");
            }
            assert!(distance <= bound::<E>(Unary::Erfinv), "{said}");
        }
    }
    check::<f64>(1e-16);
    check::<f32>(6e-8);
}

/// The kernel of `lgamma`, which there is in `f32` alone: everywhere, near its zeros, its pole and where its formula changes.
#[test]
fn random_logarithms_of_gamma_are_within_the_bound() {
    let (count, told) = points();
    let mut random = Random(0x51ed_270b_7f4a_7c15);
    let mut x: Vec<f32> = (0..count).map(|_| random.sample(-87.0, 88.0).exp() as f32).collect();
    for place in [0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 7.5, 8.0, 9.0] {
        x.extend((0..count / 4).map(|_| (place + random.sample(-0.5, 0.5)) as f32));
        x.extend((0..count / 4).map(|_| (place + random.sample(-1e-5, 1e-5)) as f32));
    }
    let exact: Vec<f32> = x.iter().map(|x| core_math::lgamma(f64::from(*x)) as f32).collect();
    for isa in Isa::supported() {
        let (distance, at) = worst(&x, &computed(isa, Unary::Lgamma, &x), &exact);
        let said = format!("lgamma f32 {}: {distance} at {at:?}", isa.name());
        if told {
            println!("{said}");
        }
        assert!(distance <= bound::<f32>(Unary::Lgamma), "{said}");
        assert_eq!(computed(isa, Unary::Lgamma, &[1.0f32, 2.0]), [0.0, 0.0]);
    }
}

/// Inverse sines and cosines near the ends of the interval, 0, and where their formula changes.
#[test]
fn inverse_sines_are_within_their_bounds_near_special_places() {
    fn check<E: Real>() {
        let (count, _) = points();
        let mut random = Random(0x6a09_e667_f3bc_c908);
        let mut x = Vec::new();
        for place in [-1.0, -0.5, 0.0, 0.5, 1.0] {
            let near = (0..count).map(|_| random.sample(-40.0, -1.0).exp() * random.sample(-1.0, 1.0).signum());
            x.extend(near.map(|d| E::of_f64((place + d).clamp(-1.0, 1.0))));
        }
        for (op, oracle) in [(Unary::Asin, core_math::asin as fn(f64) -> f64), (Unary::Acos, core_math::acos)] {
            let exact: Vec<E> = x.iter().map(|x| E::of_f64(oracle(x.as_f64()))).collect();
            for isa in Isa::supported() {
                let (distance, at) = worst(&x, &computed(isa, op, &x), &exact);
                assert!(distance <= bound::<E>(op), "{} {} {}: {distance} at {at:?}", op.name(), E::DTYPE, isa.name());
            }
        }
    }
    check::<f64>();
    check::<f32>();
}

/// A row, and the relative position of an argument in its interval of argument reduction, modulo 1.
type Piece = (Unary, fn(f64) -> f64);

/// Rows that err by little more than a rounding. On each interval of argument reduction one polynomial is evaluated.
const PIECES: &[Piece] = &[
    (Unary::Exp, |x| x / std::f64::consts::LN_2 + 0.5),
    (Unary::Expm1, |x| x / std::f64::consts::LN_2 + 0.5),
    (Unary::Ln, |x| x.log2() + 0.5),
    (Unary::Log1p, |x| x.ln_1p() / std::f64::consts::LN_2 + 0.5),
    (Unary::Sin, |x| x / std::f64::consts::FRAC_PI_2 + 0.5),
    (Unary::Cos, |x| x / std::f64::consts::FRAC_PI_2 + 0.5),
];

/// The mean of the signed distances in each eighth of the intervals, as a message if it is not near 0. As the exact
/// values lie anywhere between floats, a mean of distances is the mean of the errors: it shows errors that are much
/// smaller than a distance of 1, as that of a wrong last digit of a coefficient. The mean of an eighth of the points
/// varies by 0.02.
fn biased(isa: Isa, (op, place): (Unary, fn(f64) -> f64), x: &[f64], exact: &[f64]) -> Option<String> {
    let (mut sums, mut counts) = ([0.0; 8], [0.0; 8]);
    for ((x, y), exact) in x.iter().zip(computed(isa, op, x)).zip(exact) {
        let far = distance(y, *exact);
        if !exact.is_normal() || far > bound::<f64>(op) {
            continue;
        }
        let at = ((8.0 * place(*x).rem_euclid(1.0)) as usize).min(7);
        sums[at] += if y.abs() > exact.abs() { far as f64 } else { -(far as f64) };
        counts[at] += 1.0;
    }
    let means: Vec<f64> = sums.iter().zip(counts).map(|(sum, n)| if n > 0.0 { sum / n } else { 0.0 }).collect();
    let wrong = means.iter().zip(counts).any(|(mean, n)| n > 100.0 && mean.abs() > 0.06);
    wrong.then(|| format!("{} on {} errs to one side: {means:.3?}", op.name(), isa.name()))
}

#[test]
fn random_points_err_to_both_sides() {
    let mut wrong = Vec::new();
    for (op, place) in PIECES {
        let case = CASES.iter().find(|case| case.0 == *op).expect("a row with a kernel");
        let mut random = Random(0x0123_4567_89ab_cdef);
        let count = points().0;
        let x: Vec<f64> = (0..count).map(|_| random.sample(case.3[0], case.3[1])).collect();
        let exact: Vec<f64> = x.iter().map(|x| case.4(*x)).collect();
        wrong.extend(Isa::supported().into_iter().filter_map(|isa| biased(isa, (*op, *place), &x, &exact)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The arguments and the nearest floats to the values of a row, of the given number of arguments.
fn recorded(name: &str) -> Vec<Vec<f64>> {
    let text = include_str!("../../../../tests/data/accuracy.txt");
    let section = text.split("# ").find(|section| section.lines().next() == Some(name)).unwrap_or_default();
    section.lines().skip(1).map(|line| line.split(' ').map(|word| word.parse().unwrap_or(f64::NAN)).collect()).collect()
}

#[test]
fn recorded_points_are_within_the_bounds() {
    let mut wrong = Vec::new();
    for case in CASES {
        let rows = recorded(case.0.name());
        assert!(!rows.is_empty(), "{} has records", case.0.name());
        let x: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        let exact: Vec<f64> = rows.iter().map(|row| row[1]).collect();
        for isa in Isa::supported() {
            let (distance, at) = worst(&x, &computed(isa, case.0, &x), &exact);
            // At huge angles the loop falls back to the row, which errs by 8 at the float nearest to a multiple of pi /
            // 2, and the tangent by 15.
            let bound = if at.abs() > 1e6 { 15 } else { case.1 };
            if distance > bound {
                wrong.push(format!("{} on {}: {distance} at {at:?}", case.0.name(), isa.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn hostile_numbers<E: Real>() {
    let x: Vec<E> = hostile(3 * HOSTILE.len() + 5, 0);
    for op in Unary::ALL {
        for isa in Isa::supported() {
            for (x, y) in x.iter().zip(computed(isa, *op, &x)) {
                let row = op.apply(*x);
                // The errors of the row and of the kernel may have different signs.
                let far = if bound::<E>(*op) == 0 { 0 } else { bound::<E>(*op) + 2 };
                let (name, isa) = (op.name(), isa.name());
                assert!(distance(y, row) <= far, "{name} {} on {isa} at {x:?}: {y:?}, the row has {row:?}", E::DTYPE);
            }
        }
    }
}

#[test]
fn hostile_numbers_give_what_the_row_gives() {
    hostile_numbers::<f64>();
    hostile_numbers::<f32>();
}

/// Powers of bases of any size, with exponents that lead to results of any size.
fn powers<E: Real>(wrong: &mut Vec<String>) {
    let (count, told) = points();
    let mut random = Random(0x1234_5678_9abc_def1);
    let range = E::max_value().ln().as_f64() - 1.0;
    let x: Vec<E> = (0..count)
        .map(|i| match i % 3 {
            0 => E::of_f64((range * random.sample(-1.0, 1.0)).exp()),
            1 => E::of_f64(random.sample(0.5, 2.0)),
            _ => E::of_f64(1.0 + random.sample(-1e-3, 1e-3)),
        })
        .collect();
    let y: Vec<E> = x.iter().map(|x| E::of_f64(range * random.sample(-1.0, 1.0) / x.as_f64().ln())).collect();
    let exact = |i: usize| E::of_f64(core_math::pow(x[i].as_f64(), y[i].as_f64()));
    for isa in Isa::supported() {
        let mut out = vec![E::ONE; count];
        binary(isa, Binary::Pow, Arg::Slice(&x), Arg::Slice(&y), &mut out);
        let far = (0..count).map(|i| (distance(out[i], exact(i)), i)).max().unwrap_or_default();
        let said = format!("pow {} {}: {} at {:?}, {:?}", E::DTYPE, isa.name(), far.0, x[far.1], y[far.1]);
        if told {
            println!("{said}");
        }
        if far.0 > 2 {
            wrong.push(said);
        }
    }
}

#[test]
fn random_powers_are_within_the_bounds() {
    let mut wrong = Vec::new();
    powers::<f64>(&mut wrong);
    powers::<f32>(&mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Angles of points in all directions, near axes and diagonals, too.
fn angles<E: Real>(wrong: &mut Vec<String>) {
    let (count, told) = points();
    let mut random = Random(0x0f1e_2d3c_4b5a_6978);
    let y: Vec<E> = (0..count).map(|_| E::of_f64(random.sample(-9.0, 9.0))).collect();
    let near = |y: &E, random: &mut Random| match random.bits() % 2 {
        0 => E::of_f64(random.sample(-9.0, 9.0)),
        _ => E::of_f64(y.as_f64() * random.sample(-2.0, 2.0)),
    };
    let x: Vec<E> = y.iter().map(|y| near(y, &mut random)).collect();
    let exact = |i: usize| E::of_f64(core_math::atan2(y[i].as_f64(), x[i].as_f64()));
    let bound = if E::DTYPE == DType::F64 { 2 } else { 1 };
    for isa in Isa::supported() {
        let mut out = vec![E::ONE; count];
        binary(isa, Binary::Atan2, Arg::Slice(&y), Arg::Slice(&x), &mut out);
        let far = (0..count).map(|i| (distance(out[i], exact(i)), i)).max().unwrap_or_default();
        let said = format!("atan2 {} {}: {} at {:?}, {:?}", E::DTYPE, isa.name(), far.0, y[far.1], x[far.1]);
        if told {
            println!("{said}");
        }
        if far.0 > bound {
            wrong.push(said);
        }
    }
}

#[test]
fn random_angles_are_within_the_bounds() {
    let mut wrong = Vec::new();
    angles::<f64>(&mut wrong);
    angles::<f32>(&mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The largest distance of the kernel of a row of two arguments from the row, whose error may have the other sign.
fn bound_of_two(op: Binary) -> u64 {
    let far = [
        (Binary::Pow, 3),
        (Binary::LogAddExp, 4),
        (Binary::Atan2, 3),
        (Binary::Hypot, 2),
        (Binary::PowLessOne, 4),
        (Binary::RecipReal, 2),
    ];
    far.iter().find(|far| far.0 == op).map_or(0, |far| far.1)
}

fn hostile_pairs<E: Real>() {
    let n = HOSTILE.len() * HOSTILE.len();
    let x: Vec<E> = (0..n).map(|i| E::of_f64(HOSTILE[i % HOSTILE.len()])).collect();
    let y: Vec<E> = (0..n).map(|i| E::of_f64(HOSTILE[i / HOSTILE.len()])).collect();
    let mut out = vec![E::ONE; n];
    for op in Binary::ALL {
        for isa in Isa::supported() {
            let check = |x: E, y: E, z: E| {
                let row = op.apply(x, y);
                let said = format!("{} {} on {} at {x:?}, {y:?}", op.name(), E::DTYPE, isa.name());
                assert!(distance(z, row) <= bound_of_two(*op), "{said}: {z:?}, the row has {row:?}");
            };
            binary(isa, *op, Arg::Slice(&x), Arg::Slice(&y), &mut out);
            (0..n).for_each(|i| check(x[i], y[i], out[i]));
            for s in [E::of_f64(2.5), E::ZERO, E::nan()] {
                binary(isa, *op, Arg::Slice(&x[..40]), Arg::Scalar(s), &mut out[..40]);
                (0..40).for_each(|i| check(x[i], s, out[i]));
                binary(isa, *op, Arg::Scalar(s), Arg::Slice(&x[..40]), &mut out[..40]);
                (0..40).for_each(|i| check(s, x[i], out[i]));
                binary(isa, *op, Arg::Scalar(s), Arg::Scalar(s), &mut out[..3]);
                (0..3).for_each(|i| check(s, s, out[i]));
            }
        }
    }
}

/// Partials of powers and angles at ordinary points, against the row.
fn random_partials<E: Real>() {
    let (count, _) = points();
    let mut random = Random(0x3a5c_9e17_64d0_b28f);
    let x: Vec<E> = (0..count).map(|_| E::of_f64(random.sample(0.0, 9.0))).collect();
    let y: Vec<E> = (0..count).map(|_| E::of_f64(random.sample(-9.0, 9.0))).collect();
    for op in [Binary::PowLessOne, Binary::RecipReal] {
        for isa in Isa::supported() {
            let mut out = vec![E::ONE; count];
            binary(isa, op, Arg::Slice(&x), Arg::Slice(&y), &mut out);
            for i in 0..count {
                let (row, said) = (op.apply(x[i], y[i]), format!("{} at {:?}, {:?}", op.name(), x[i], y[i]));
                assert!(distance(out[i], row) <= bound_of_two(op), "{said} on {}: {:?}, {row:?}", isa.name(), out[i]);
            }
        }
    }
}

#[test]
fn random_partials_are_those_of_the_rows() {
    random_partials::<f64>();
    random_partials::<f32>();
}

#[test]
fn hostile_pairs_give_what_the_row_gives() {
    hostile_pairs::<f64>();
    hostile_pairs::<f32>();
}

/// The bounds of errors in the tables hold both for a row and for its vector kernel.
#[test]
fn the_errors_of_rows_are_those_of_vector_kernels_too() {
    for op in Unary::ALL {
        let (worst, stated) = (bound::<f64>(*op).max(bound::<f32>(*op)), op.error().floats);
        assert!(worst < u64::from(stated) || worst == 0, "{} errs by {worst}, and its row says {stated}", op.name());
    }
}
