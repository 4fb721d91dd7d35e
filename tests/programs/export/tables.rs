//! Every row of the tables of operations, exported, at numbers at which functions have zeros, poles, kinks and ends.

use polygrad::ops::{Binary, Compare, Discrete, FloatStep, IntBinary, IntUnary, Reduce, Unary};
use polygrad::program::{Builder, Op, Program, Slot, interpret};
use polygrad::{Array, DType};

use crate::dumped::dump;
use crate::stablehlo::evaluate;
use crate::support::floats;

/// Numbers of `f64`, none of them subnormal.
const NUMBERS: [f64; 26] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    2.5,
    3.7,
    -3.7,
    1e-10,
    -1e-10,
    1e10,
    -1e10,
    1e300,
    -1e300,
    0.999_999,
    -0.999_999,
    20.0,
    -20.0,
    700.0,
    -800.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Integers, the ends among them.
const INTEGERS: [i64; 9] = [0, 1, -1, 2, -2, 7, -7, i64::MIN, i64::MAX];

fn program(args: &[Array], op: impl FnOnce(&[u32]) -> Op<u32>) -> Program {
    let mut b = Builder::literal();
    let slot = |a: &Array| Slot { name: String::new(), shape: a.shape().into(), dtype: a.dtype() };
    let ids: Vec<u32> = args.iter().map(|a| b.input(slot(a))).collect();
    let result = b.apply(op(&ids));
    b.finish(&[result], &[])
}

/// Panics unless the text gives what the operation gives, up to rounding of each element.
#[track_caller]
fn assert_alike(name: &str, args: &[Array], op: impl FnOnce(&[u32]) -> Op<u32>) {
    let program = program(args, op);
    let exported = program.exported(name).expect("every row is exported");
    let expected = interpret(&program, args.to_vec());
    let single = args.iter().chain(&expected).any(|a| a.dtype() == DType::F32);
    let precision = if single { 1e-5 } else { 1e-12 };
    dump(&format!("table_{name}"), &exported, args, &expected, precision);
    let found = evaluate(&exported.text, args);
    assert_eq!((found[0].shape(), found[0].dtype()), (expected[0].shape(), expected[0].dtype()), "{name}");
    for (k, (x, y)) in floats(&found[0]).iter().zip(floats(&expected[0])).enumerate() {
        let zero = *x == 0.0 && y == 0.0;
        let same = (*x == y && (!zero || x.is_sign_negative() == y.is_sign_negative()))
            || (x.is_nan() && y.is_nan())
            || (!zero && (x - y).abs() <= precision * y.abs().max(1e-30));
        assert!(same, "{name}, element {k}: {x:e}, not {y:e} of {args:?}\n{}", exported.text);
    }
}

/// The numbers in both float types, or pairs of them.
fn kinds(count: usize) -> Vec<(DType, Vec<Array>)> {
    let n = NUMBERS.len();
    let all = match count {
        1 => vec![Array::from(NUMBERS)],
        _ => {
            let pair = |f: &dyn Fn(usize) -> f64| Array::new(&[n * n], (0..n * n).map(f).collect::<Vec<f64>>());
            vec![pair(&|k| NUMBERS[k / n]), pair(&|k| NUMBERS[k % n])]
        }
    };
    let narrow = all.iter().map(|a| a.cast::<f32>()).collect();
    vec![(DType::F64, all), (DType::F32, narrow)]
}

#[test]
fn elementwise_functions() {
    for (dtype, args) in kinds(1) {
        for op in Unary::ALL {
            // Large arguments of these are reduced, or multiplied, with errors that grow with them.
            assert_alike(&format!("{}_{dtype}", op.name()), &args, |ids| Op::Unary(*op, ids[0]));
        }
        for op in FloatStep::ALL {
            let step = Discrete::FloatStep(*op);
            assert_alike(&format!("{}_{dtype}", op.name()), &args, |ids| Op::Discrete(step, ids.into()));
        }
        assert_alike(&format!("to_int_{dtype}"), &args, |ids| Op::Discrete(Discrete::ToInt, ids.into()));
    }
    for (dtype, args) in kinds(2) {
        for op in Binary::ALL {
            assert_alike(&format!("{}_{dtype}", op.name()), &args, |ids| Op::Binary(*op, ids[0], ids[1]));
        }
        for op in Compare::ALL {
            let compare = Discrete::Compare(*op);
            assert_alike(&format!("compare_{op:?}_{dtype}"), &args, |ids| Op::Discrete(compare, ids.into()));
        }
    }
}

#[test]
fn integers_and_masks() {
    let n = INTEGERS.len();
    let pair = |f: &dyn Fn(usize) -> i64| Array::new(&[n * n], (0..n * n).map(f).collect::<Vec<i64>>());
    let pairs = [pair(&|k| INTEGERS[k / n]), pair(&|k| INTEGERS[k % n])];
    for op in IntBinary::ALL {
        let op_ = Discrete::IntBinary(*op);
        assert_alike(&format!("int_{op:?}"), &pairs, |ids| Op::Discrete(op_, ids.into()));
    }
    for op in Compare::ALL {
        let compare = Discrete::Compare(*op);
        assert_alike(&format!("compare_{op:?}_i64"), &pairs, |ids| Op::Discrete(compare, ids.into()));
    }
    for op in IntUnary::ALL {
        let op_ = Discrete::IntUnary(*op);
        assert_alike(&format!("int_{op:?}"), &pairs[..1], |ids| Op::Discrete(op_, ids.into()));
    }
    for into in [DType::F64, DType::F32] {
        let op = Discrete::ToFloat(into);
        assert_alike(&format!("to_float_{into}"), &pairs[..1], |ids| Op::Discrete(op, ids.into()));
    }
    let masks = [[true, true, false, false], [true, false, true, false]].map(Array::from);
    for op in [Discrete::And, Discrete::Or, Discrete::Compare(Compare::Lt), Discrete::Compare(Compare::Ne)] {
        assert_alike(&format!("mask_{}", op.name()), &masks, |ids| Op::Discrete(op.clone(), ids.into()));
    }
    assert_alike("mask_not", &masks[..1], |ids| Op::Discrete(Discrete::Not, ids.into()));
    assert_alike("mask_to_int", &masks[..1], |ids| Op::Discrete(Discrete::ToInt, ids.into()));
}

/// Lines with NaN at several places or none, ties, both zeros and infinities.
#[test]
fn positions_and_extrema() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let lines = [
        [1.0, 3.0, 3.0, -2.0],
        [nan, 3.0, nan, 5.0],
        [1.0, nan, inf, nan],
        [-inf, -inf, -inf, -inf],
        [inf, inf, 2.0, -inf],
        [5.0, 5.0, 1.0, 1.0],
    ];
    let x = Array::new(&[6, 4], lines.concat());
    let whole = Array::new(&[2, 4], vec![3i64, i64::MIN, i64::MAX, i64::MAX, i64::MIN, i64::MIN, 0, -1]);
    for (kind, x) in [("f64", x.clone()), ("f32", x.cast::<f32>()), ("i64", whole)] {
        for axis in [0, 1] {
            let sorts = [false, true].map(|descending| Discrete::ArgSort { axis, descending });
            let prefix = |largest, reverse| Discrete::PrefixArg { axis, largest, reverse };
            let prefixes = [prefix(false, false), prefix(false, true), prefix(true, false), prefix(true, true)];
            let extrema = [Discrete::ArgMax { axis }, Discrete::ArgMin { axis }];
            for op in extrema.into_iter().chain(sorts).chain(prefixes) {
                let name = format!("{op}_{kind}");
                assert_alike(&name, std::slice::from_ref(&x), |ids| Op::Discrete(op, ids.into()));
            }
            for op in Reduce::all(axis) {
                assert_alike(&format!("{op}_{kind}"), std::slice::from_ref(&x), |ids| Op::Reduce(op, ids[0]));
            }
        }
    }
}
