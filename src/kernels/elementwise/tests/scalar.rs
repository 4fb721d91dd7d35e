//! The functions of `polygrad-math` at one number against the loops over slices: the same bits at every argument.

use polygrad_math::scalar;

use super::super::isa::{Fused, Machine, WithoutFma};
use super::{HOSTILE, Random};
use crate::dtype::Float;
use crate::kernels::elementwise::{Arg, Isa, Real, binary, float_step, unary};
use crate::ops::{Binary, FloatStep, Unary};

/// The function of `polygrad-math` of a row, whose name in Rust is that of the row.
macro_rules! by_name {
    ($op:ident, $of:ident, $E:ident, $M:ident: $($Op:ident $name:ident)*) => {
        match $op { $( $of::$Op => scalar::$name::<$E, $M>, )* }
    };
}

fn of_one<E: Real, M: Machine>(op: Unary) -> fn(E) -> E {
    by_name! {
        op, Unary, E, M:
        Neg neg Abs abs Recip recip Square square OneMinusSquare one_minus_square Sqrt sqrt Exp exp Ln ln Log1p log1p Expm1 expm1 Sin sin Cos cos Tan tan
        Asin asin Acos acos Atan atan Sinh sinh Cosh cosh Tanh tanh Sech2 sech2 Asinh asinh Acosh acosh Atanh atanh
        Sigmoid sigmoid Relu relu Softplus softplus Gaussian gaussian Erf erf Erfc erfc Erfinv erfinv Lgamma lgamma
        Digamma digamma Trigamma trigamma
    }
}

/// `None` for what operators of Rust compute.
fn of_two<E: Real, M: Machine>(op: Binary) -> Option<fn(E, E) -> E> {
    Some(match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => return None,
        Binary::Pow => scalar::pow::<E, M>,
        Binary::PowLessOne => scalar::pow_less_one::<E, M>,
        Binary::Atan2 => scalar::atan2::<E, M>,
        Binary::RecipReal => scalar::recip_real::<E, M>,
        Binary::Hypot => scalar::hypot::<E, M>,
        Binary::Copysign => scalar::copysign::<E, M>,
        Binary::Min => scalar::min::<E, M>,
        Binary::Max => scalar::max::<E, M>,
        Binary::LogAddExp => scalar::logaddexp::<E, M>,
        Binary::Polygamma => scalar::polygamma::<E, M>,
        Binary::MulNoNan => scalar::mul_no_nan::<E, M>,
        Binary::DivNoNan => scalar::div_no_nan::<E, M>,
    })
}

fn of_step<E: Real, M: Machine>(op: FloatStep) -> fn(E) -> E {
    match op {
        FloatStep::Floor => scalar::floor::<E, M>,
        FloatStep::Ceil => scalar::ceil::<E, M>,
        FloatStep::Round => scalar::round::<E, M>,
        FloatStep::Sign => scalar::sign::<E, M>,
        FloatStep::StopGradient => |x| x,
    }
}

/// Numbers at which a predicate changes, or near to which a function has special values.
const BORDERS: [f64; 23] = [
    f64::MIN_POSITIVE,
    f32::MIN_POSITIVE as f64,
    1e-300,
    1e-200,
    1e-150,
    1e-17,
    1e-15,
    1e-8,
    0.5,
    0.996_093_75,
    1.0,
    2.0,
    28.0,
    40.0,
    87.722_84,
    88.722_84,
    104.0,
    708.782_712_893_384,
    745.133_219_101_941,
    1_048_576.0,
    1e15,
    1e37,
    1e150,
];

/// Hostile numbers, borders with their neighbours, and random numbers of all magnitudes, of both signs.
fn numbers<E: Real>(random: &mut Random, count: usize) -> Vec<E> {
    let near = |x: f64| {
        let x = E::of_f64(x);
        [x, x * (E::ONE + E::epsilon()), x * (E::ONE - E::epsilon())]
    };
    let mut x: Vec<E> = HOSTILE.iter().map(|x| E::of_f64(*x)).collect();
    x.extend(BORDERS.iter().flat_map(|border| near(*border)).flat_map(|x| [x, -x]));
    x.extend((0..count).map(|_| match random.bits() % 4 {
        0 => E::of_f64(f64::from_bits(random.bits())),
        1 => E::of_f64(f64::from(f32::from_bits(random.bits() as u32))),
        2 => E::of_f64(random.sample(-3e6, 3e6)),
        _ => E::of_f64(random.sample(-20.0, 20.0)),
    }));
    x
}

fn same<E: Float>(x: E, y: E) -> bool {
    x.same_bits(y) || (x.is_nan() && y.is_nan())
}

/// Each row on a machine.
fn rows_have_the_same_bits<E: Real, M: Machine>(isa: Isa) {
    let mut random = Random(0x51a7_0b3e_c2d9_4f68);
    let x = numbers::<E>(&mut random, 3000);
    let mut out = vec![E::ZERO; x.len()];
    let agree = |name: &str, f: &dyn Fn(usize) -> E, out: &[E], at: &dyn Fn(usize) -> String| {
        let wrong = (0..out.len()).find(|i| !same(f(*i), out[*i]));
        if let Some(i) = wrong {
            panic!("{name} {} {}: {:?}, not {:?}, at {}", E::DTYPE, isa.name(), f(i), out[i], at(i));
        }
    };
    for op in Unary::ALL {
        unary(isa, *op, &x, &mut out);
        let f = of_one::<E, M>(*op);
        agree(op.name(), &|i| f(x[i]), &out, &|i| format!("{:?}", x[i]));
    }
    for op in FloatStep::ALL {
        float_step(isa, *op, &x, &mut out);
        let f = of_step::<E, M>(*op);
        agree(op.name(), &|i| f(x[i]), &out, &|i| format!("{:?}", x[i]));
    }
    // All pairs of hostile numbers, random pairs, and pairs of similar numbers.
    let hostile = HOSTILE.map(E::of_f64);
    let mut pairs: Vec<(E, E)> = hostile.iter().flat_map(|x| hostile.map(|y| (*x, y))).collect();
    pairs.extend((0..x.len()).map(|i| (x[i], x[random.bits() as usize % x.len()])));
    pairs.extend((0..3000).map(|_| (E::of_f64(random.sample(0.0, 9.0)), E::of_f64(random.sample(-9.0, 9.0)))));
    let (a, b): (Vec<E>, Vec<E>) = pairs.into_iter().unzip();
    let mut out = vec![E::ZERO; a.len()];
    for op in Binary::ALL {
        let Some(f) = of_two::<E, M>(*op) else { continue };
        binary(isa, *op, Arg::Slice(&a), Arg::Slice(&b), &mut out);
        agree(op.name(), &|i| f(a[i], b[i]), &out, &|i| format!("{:?}, {:?}", a[i], b[i]));
    }
}

#[test]
fn functions_of_one_number_have_the_bits_of_loops() {
    for isa in Isa::supported() {
        if isa.has_fma() {
            rows_have_the_same_bits::<f64, Fused>(isa);
            rows_have_the_same_bits::<f32, Fused>(isa);
        } else {
            rows_have_the_same_bits::<f64, WithoutFma>(isa);
            rows_have_the_same_bits::<f32, WithoutFma>(isa);
        }
    }
}

/// The modules for each type are those functions, on the machine for which the crate is compiled.
#[test]
fn functions_for_each_type_are_those_of_the_target() {
    type Here = polygrad_math::Target;
    for x in HOSTILE {
        assert!(same(polygrad_math::f64::sinh(x), scalar::sinh::<f64, Here>(x)), "{x}");
        assert!(same(polygrad_math::f32::pow(x as f32, 0.3), scalar::pow::<f32, Here>(x as f32, 0.3)), "{x}");
    }
    assert_eq!(<Here as polygrad_math::Machine>::FMA, cfg!(target_feature = "fma"));
}
