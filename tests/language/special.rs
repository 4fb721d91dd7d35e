//! Special functions: their values against references and functional equations, their conventions; the table has all
//! their derivatives.

use polygrad::direct::{grad, jvp};
use polygrad::ops::{Binary, Unary};
use polygrad::{Concrete, Tensor, array::Rng, tensor};

/// `x`, then erf, erfc, lgamma, digamma and trigamma there, to the nearest `f64`.
const REFERENCES: [[f64; 6]; 15] = [
    [1e-09, 1.1283791670955127e-09, 0.9999999988716208, 20.723265836369194, -1000000000.5772156, 9.999999999999999e+17],
    [0.03125, 0.035250373867322826, 0.9647496261326772, 3.4484891277979584, -32.526953288606116, 1025.5728544782378],
    [0.5, 0.5204998778130465, 0.4795001221869535, 0.5723649429247001, -1.9635100260214235, 4.934802200544679],
    [1.0, 0.8427007929497149, 0.15729920705028513, 0.0, -0.5772156649015329, 1.6449340668482264],
    [1.4375, 0.95794060605646, 0.042059393943539934, -0.12120242719902266, -0.023613544005297898, 0.9895029178956272],
    [2.0, 0.9953222650189527, 0.004677734981047266, 0.0, 0.42278433509846713, 0.6449340668482264],
    [3.25, 0.9999956972205363, 4.302779463675122e-06, 0.9358019311087253, 1.016990911068179, 0.3597982903095799],
    [7.5, 1.0, 2.776649386030569e-26, 7.534364236758733, 1.9467574842460869, 0.1426158966967038],
    [11.75, 1.0, 5.248636097008541e-62, 16.89437797963419, 2.4206968934226323, 0.08883052207962387],
    [40.0, 1.0, 0.0, 106.63176026064346, 3.676327374034843, 0.02531510384129103],
    [1000000.0, 1.0, 0.0, 12815504.569147611, 13.815510057964191, 1.0000005000001667e-06],
    [-0.5, -0.5204998778130465, 1.5204998778130465, 1.2655121234846454, 0.03648997397857652, 8.934802200544679],
    [-1.25, -0.9229001282564583, 1.9229001282564582, 1.3664317612369763, 3.714139120213528, 19.181879647671607],
    [-6.625, -1.0, 2.0, -6.554913079542701, 0.6631374063777831, 11.42283875455163],
    [-20.5, -1.0, 2.0, -42.70719597482576, 3.044616882512525, 9.82199434464988],
];

#[test]
fn values_match_references() {
    // The unit of an error: the value itself, or at least this much.
    let columns =
        [(Unary::Erf, 0.0), (Unary::Erfc, 0.0), (Unary::Lgamma, 1.0), (Unary::Digamma, 1.0), (Unary::Trigamma, 0.0)];
    for row in REFERENCES {
        for (k, (op, least)) in columns.into_iter().enumerate() {
            let (got, expected) = (op.apply(row[0]), row[k + 1]);
            let allowed = 4e-15 * expected.abs().max(least);
            assert!((got - expected).abs() <= allowed, "{}({}) is {expected}, not {got}", op.name(), row[0]);
            // In the narrow type: the wide result at the same number, rounded.
            let narrow = row[0] as f32;
            assert_eq!(op.apply(narrow), op.apply(f64::from(narrow)) as f32, "{}({narrow})", op.name());
        }
    }
}

#[test]
fn functional_equations_hold() {
    let mut rng = Rng::new(1);
    let points = rng.uniform(&[400], -8.0, 14.0).to_vec::<f64>().expect("floats");
    let (lgamma, psi, psi1) =
        (|x: f64| Unary::Lgamma.apply(x), |x: f64| Unary::Digamma.apply(x), |x: f64| Unary::Trigamma.apply(x));
    let close = |what: &str, x: f64, a: f64, b: f64| {
        // Near a pole both sides are large, and so is what the rounding of `x + 1` does to them.
        assert!((a - b).abs() <= 1e-11 * a.abs().max(b.abs()).max(1.0), "{what} at {x}: {a} and {b}");
    };
    for x in points.into_iter().filter(|x| (x - x.round()).abs() > 1e-3 && (2.0 * x - (2.0 * x).round()).abs() > 1e-3) {
        close("lgamma(x + 1) - lgamma x", x, lgamma(x + 1.0), lgamma(x) + x.abs().ln());
        close("digamma(x + 1) - digamma x", x, psi(x + 1.0), psi(x) + 1.0 / x);
        close("trigamma(x + 1) - trigamma x", x, psi1(x + 1.0), psi1(x) - 1.0 / (x * x));
        close("digamma(2 x)", x, psi(2.0 * x), (psi(x) + psi(x + 0.5)) / 2.0 + 2f64.ln());
        close("trigamma(2 x)", x, psi1(2.0 * x), (psi1(x) + psi1(x + 0.5)) / 4.0);
        close("erf + erfc", x, Unary::Erf.apply(x) + Unary::Erfc.apply(x), 1.0);
        close("softplus x - softplus(-x)", x, Unary::Softplus.apply(x) - Unary::Softplus.apply(-x), x);
        close("expm1", x, (1.0 + Unary::Expm1.apply(x)).ln(), x);
        close("asinh", x, Unary::Asinh.apply(x.sinh()), x);
        close("acosh", x, Unary::Acosh.apply(x.cosh()), x.abs());
    }
}

#[test]
fn poles_and_ends_are_as_documented() {
    for x in [0.0, -1.0, -2.0, -1e200] {
        assert_eq!(Unary::Lgamma.apply(x), f64::INFINITY, "lgamma({x})");
        assert!(Unary::Digamma.apply(x).is_nan(), "digamma({x})");
        assert_eq!(Unary::Trigamma.apply(x), f64::INFINITY, "trigamma({x})");
    }
    assert_eq!(Unary::Digamma.apply(f64::INFINITY), f64::INFINITY);
    assert_eq!(Unary::Trigamma.apply(f64::INFINITY), 0.0);
    assert_eq!(Unary::Atanh.apply(1.0), f64::INFINITY);
    assert!(Unary::Atanh.apply(1.5f64).is_nan() && Unary::Acosh.apply(0.5f64).is_nan());
    assert_eq!(Unary::Softplus.apply(1000.0), 1000.0);
    assert_eq!(Unary::Softplus.apply(-1000.0), 0.0);
    assert_eq!(Unary::Expm1.apply(1e-300), 1e-300);
    let slope = |f: fn(&Tensor<polygrad::ADVal<Concrete>, 0>) -> Tensor<polygrad::ADVal<Concrete>, 0>, x: f64| {
        grad(f, &tensor(x)).item()
    };
    assert_eq!(slope(|x| x.acosh(), 1.0), f64::INFINITY);
    // Where acosh is no number neither is its derivative, on either side of -1.
    assert!(slope(|x| x.acosh(), 0.0).is_nan() && slope(|x| x.acosh(), -2.0).is_nan());
    assert!(slope(|x| x.lgamma(), -1.0).is_nan());
}

#[test]
fn hypot_is_smooth_where_squares_are_not() {
    let at = |x: f64, y: f64| {
        let (value, g) = polygrad::direct::value_and_grad(
            |(x, y): &(Tensor<_, 0>, Tensor<_, 0>)| x.hypot(y),
            &(tensor(x), tensor(y)),
        );
        (value.item(), g.0.item(), g.1.item())
    };
    assert_eq!(at(3.0, -4.0), (5.0, 0.6, -0.8));
    for unit in [2f64.powi(1000), 2f64.powi(-1000)] {
        assert_eq!(at(3.0 * unit, 4.0 * unit), (5.0 * unit, 0.6, 0.8));
    }
    assert_eq!(at(0.0, 0.0), (0.0, 0.0, 0.0));
    assert_eq!(at(0.0, 2.0), (2.0, 0.0, 1.0));
    let inf = f64::INFINITY;
    for far in [0.0, -3.0, 1e300] {
        assert_eq!((at(inf, far), at(far, -inf)), ((inf, 1.0, 0.0), (inf, 0.0, -1.0)));
    }
    let (_, x, y) = at(inf, -inf);
    assert!(x.is_nan() && y.is_nan());
}

#[test]
fn norms_keep_nan_and_are_infinite_at_infinity() {
    let at = |x: [f64; 3]| {
        let (value, g) = polygrad::direct::value_and_grad(|x: &Tensor<_, 1>| x.norm(), &tensor(x));
        (value.item(), g.to_vec())
    };
    assert_eq!(at([0.0, 0.0, 0.0]), (0.0, vec![0.0; 3]));
    let (value, slope) = at([1.0, f64::NAN, 2.0]);
    assert!(value.is_nan() && slope.iter().all(|d| d.is_nan()), "{slope:?}");
    for x in [[1.0, f64::INFINITY, 2.0], [f64::NEG_INFINITY, 0.0, 1e300], [f64::INFINITY; 3]] {
        assert_eq!(at(x), (f64::INFINITY, vec![0.0; 3]));
    }
}

#[test]
fn copysign_has_derivatives_by_convention() {
    let at = |x: f64, y: f64| {
        let (value, g) = polygrad::direct::value_and_grad(
            |(x, y): &(Tensor<_, 0>, Tensor<_, 0>)| x.copysign(y),
            &(tensor(x), tensor(y)),
        );
        (value.item(), g.0.item(), g.1.item())
    };
    assert_eq!(at(2.0, 3.0), (2.0, 1.0, 0.0));
    assert_eq!(at(2.0, -3.0), (-2.0, -1.0, 0.0));
    assert_eq!(at(-2.0, -3.0), (-2.0, 1.0, 0.0));
    assert_eq!(at(-2.0, -0.0), (-2.0, 1.0, 0.0));
    assert_eq!(at(-2.0, 0.0), (2.0, -1.0, 0.0));
    assert_eq!(at(0.0, 1.0), (0.0, 0.0, 0.0));
}

/// Orders, arguments and values, from series with 40 digits.
#[rustfmt::skip]
const POLYGAMMA: [(u32, f64, f64); 72] = [
    (2, 0.0009765625, -2147483650.3977838),
    (2, 0.5, -16.82879664423432),
    (2, 1.4375, -0.9241320031823456),
    (2, 7.5, -0.020305252536644666),
    (2, 41.25, -0.0006021149468670896),
    (2, 1000.0, -1.0010004999998333e-06),
    (2, -0.3125, 58.765869516630985),
    (2, -5.75, -124.05054526159039),
    (3, 0.0009765625, 6597069766662.47),
    (3, 0.5, 97.40909103400244),
    (3, 1.4375, 1.6498423815742391),
    (3, 7.5, 0.005772436656578694),
    (3, 41.25, 2.954720724472502e-05),
    (3, 1000.0, 2.003001999999e-09),
    (3, -0.3125, 656.9166501515012),
    (3, -5.75, 1558.5373671367583),
    (4, 0.0009765625, -2.7021597764223e+16),
    (4, 0.5, -771.4742498266672),
    (4, 1.4375, -4.262600230382206),
    (4, 7.5, -0.002457482989368555),
    (4, 41.25, -2.1748181991956675e-06),
    (4, 1000.0, -6.0120099999930004e-12),
    (4, -0.3125, 7894.824831471548),
    (4, -5.75, -24481.578633607674),
    (7, 0.0009765625, 6.092986130857731e+27),
    (7, 0.5, 1290440.218185598),
    (7, 1.4375, 280.7646958332672),
    (7, 7.5, 0.0008347246670225489),
    (7, 41.25, 3.853270454366224e-09),
    (7, 1000.0, 7.2252335999496e-19),
    (7, -0.3125, 55516447.86254287),
    (7, -5.75, 330352695.85368866),
    (12, 0.0009765625, -6.519831928276664e+47),
    (12, 0.5, -3923983571677.6094),
    (12, 1.4375, -4284432.915508222),
    (12, 7.5, -0.0025431917396943953),
    (12, 41.25, -1.896388524221842e-12),
    (12, 1000.0, -4.01568197165838e-29),
    (12, -0.3125, 1767141497375554.8),
    (12, -5.75, -3.214523309387412e+16),
    (20, 0.0009765625, -4.003351341970575e+81),
    (20, 0.5, -5.10216531273943e+24),
    (20, 1.4375, -1192247263090357.0),
    (20, 7.5, -1.1049321493589161),
    (20, 41.25, -7.550608250669957e-16),
    (20, 1000.0, -1.2286580895552956e-43),
    (20, -0.3125, 9.869022375163824e+28),
    (20, -5.75, -1.0700016187896298e+31),
    (21, 0.0009765625, 8.608806725773525e+85),
    (21, 0.5, 2.1429094312139835e+26),
    (21, 1.4375, 1.7417068162090796e+16),
    (21, 7.5, 3.0644161563205676),
    (21, 41.25, 3.701942523776487e-16),
    (21, 1000.0, 2.458541145128089e-45),
    (21, -0.3125, 6.631983657686375e+30),
    (21, -5.75, 8.988013598978536e+32),
    (60, 0.0009765625, -3.535673914652518e+265),
    (60, 0.5, -1.9186889963671973e+100),
    (60, 1.4375, -2.0234654545262964e+72),
    (60, 7.5, -3.480549763898849e+28),
    (60, 41.25, -3.128588582916211e-17),
    (60, 1000.0, -1.4288590769986702e-100),
    (60, -0.3125, 5.424048034326347e+112),
    (60, -5.75, -4.424195609128541e+118),
    (170, 1.4375, -8.125293735034633e+279),
    (170, 7.5, -1.6799871313946692e+157),
    (170, 41.25, -4.271551461672243e+30),
    (170, 1000.0, -4.642275481885541e-206),
    (171, 1.4375, 9.665566808284677e+281),
    (171, 7.5, 3.830370659351464e+158),
    (171, 41.25, 1.7700412250762144e+31),
    (171, 1000.0, 7.895703658426907e-207),
];

#[test]
fn polygamma_of_any_order_matches_references() {
    let of = |x: f64, order: u32| Binary::Polygamma.apply(x, f64::from(order));
    for (order, x, expected) in POLYGAMMA {
        let got = of(x, order);
        let allowed = if order <= 20 {
            1e-14
        } else if order <= 170 {
            1e-13
        } else {
            1e-11
        };
        assert!(
            (got - expected).abs() <= allowed * expected.abs(),
            "polygamma({x}, {order}) is {expected:e}, not {got:e}"
        );
        let narrow = x as f32;
        assert_eq!(
            Binary::Polygamma.apply(narrow, order as f32),
            of(narrow.into(), order) as f32,
            "polygamma({narrow}, {order})"
        );
    }
    // The recurrence, on both sides of 0.
    let mut rng = Rng::new(2);
    for (k, x) in rng.uniform(&[300], -9.0, 40.0).to_vec::<f64>().expect("floats").into_iter().enumerate() {
        let order = k as u32 % 25;
        let step = (1..=order).map(f64::from).product::<f64>() / x.powi(order as i32 + 1);
        let step = if order.is_multiple_of(2) { step } else { -step };
        let (here, next) = (of(x, order), of(x + 1.0, order));
        let largest = here.abs().max(next.abs()).max(of(x - x.floor(), order).abs()).max(of(x.ceil() - x, order).abs());
        assert!((next - here - step).abs() <= 1e-12 * largest, "{order} at {x}: {next} and {here} + {step}");
    }
}

#[test]
fn polygamma_ends_as_documented() {
    let of = |x: f64, order: f64| Binary::Polygamma.apply(x, order);
    for x in [0.0, -0.0, -1.0, -1e200] {
        assert!(of(x, 2.0).is_nan() && of(x, 3.0) == f64::INFINITY, "{x}");
    }
    assert_eq!([of(f64::INFINITY, 2.0), of(f64::INFINITY, 3.0)], [0.0; 2]);
    assert!(of(f64::NEG_INFINITY, 3.0).is_nan() && of(f64::NAN, 3.0).is_nan());
    assert!([-1.0, 2.5, 2.3, f64::INFINITY, f64::NAN].into_iter().all(|order| of(1.5, order).is_nan()));
    // An order that was computed is rounded, and has no derivative.
    assert_eq!(of(1.5, 2.0 + 1e-9), of(1.5, 2.0));
    assert_eq!([of(1.5, 0.0), of(1.5, 1.0)], [Unary::Digamma.apply(1.5), Unary::Trigamma.apply(1.5)]);
    // Large orders end soon, and powers on the way do not overflow.
    assert_eq!(
        [of(1.0, 1e9), of(1e300, 5.0), of(1e-300, 5.0)],
        [-f64::INFINITY, 0.0, f64::INFINITY].map(|x| if x < 0.0 { f64::INFINITY.copysign(-1.0) } else { x })
    );
    assert!(
        (of(1e150, 2.0) / -1e-300 - 1.0).abs() < 1e-14
            && (of(1e16, 19.0) / 6.402373705728e15 * 1e304 - 1.0).abs() < 1e-14
    );
}

#[test]
fn every_row_has_every_derivative() {
    let x = tensor(2.5);
    assert_eq!(grad(|x| grad(|x| x.lgamma(), x), &x), x.trigamma());
    assert_eq!(grad(|x| grad(|x| grad(|x| x.lgamma(), x), x), &x), x.polygamma(2));
    assert_eq!(jvp(|x: &Tensor<_, 0>| x.polygamma(7), &x, &tensor(1.0)).1, x.polygamma(8));
    // The first argument may be any tensor of floats.
    assert_eq!(
        tensor([2.5f32, 0.5]).polygamma(3),
        tensor([Binary::Polygamma.apply(2.5f32, 3.0), Binary::Polygamma.apply(0.5f32, 3.0)])
    );
}

#[test]
fn distributions_have_their_scores() {
    // The score of a gamma density in its shape: ln(rate x) - digamma(shape).
    let density = |shape: &Tensor<_, 0>| {
        let x = Tensor::scalar(1.75);
        (shape - 1.0) * x.ln() - x - shape.lgamma()
    };
    let score = grad(density, &tensor(3.5)).item();
    assert!((score - (1.75f64.ln() - Unary::Digamma.apply(3.5))).abs() < 1e-15);
    // The derivative of the normal distribution is its density.
    let below = |x: &Tensor<_, 0>| (x * -(0.5f64.sqrt())).erfc() * 0.5;
    let density = grad(below, &tensor(0.75)).item();
    let expected = (-0.5f64 * 0.75 * 0.75).exp() / (2.0 * std::f64::consts::PI).sqrt();
    assert!((density - expected).abs() < 1e-15, "{density} and {expected}");
}

#[test]
fn erfinv_undoes_erf() {
    let at = |y: f64| Unary::Erfinv.apply(y);
    for k in -400..=400 {
        let y = f64::from(k) / 401.0;
        assert!((Unary::Erf.apply(at(y)) - y).abs() <= 2e-16, "{y}");
        // Small ones, too.
        let tiny = y * 1e-200;
        assert!((at(tiny) - tiny * std::f64::consts::PI.sqrt() / 2.0).abs() <= 4e-16 * tiny.abs(), "{tiny}");
    }
    assert_eq!((at(1.0), at(-1.0)), (f64::INFINITY, f64::NEG_INFINITY));
    assert!(at(1.0 + f64::EPSILON).is_nan() && at(f64::NAN).is_nan() && at(f64::NEG_INFINITY).is_nan());
    assert!(at(-0.0).is_sign_negative());
    // The quantile of the normal distribution at 97.5 percent; its slope there is the reciprocal of the density.
    let quantile = |p: &Tensor<_, 0>| (p * 2.0 - 1.0).erfinv() * std::f64::consts::SQRT_2;
    let (z, slope) = polygrad::direct::value_and_grad(quantile, &tensor(0.975));
    assert!((z.item() - 1.959963984540054).abs() < 1e-15);
    let density = (-0.5 * z.item() * z.item()).exp() / (2.0 * std::f64::consts::PI).sqrt();
    assert!((slope.item() * density - 1.0).abs() < 1e-14);
    assert_eq!(grad(|x: &Tensor<_, 0>| x.erfinv(), &tensor(1.0)).item(), f64::INFINITY);
    // A branch that is not taken sends nothing.
    let guarded = |x: &Tensor<_, 1>| x.lt(1.0).select(x.erfinv(), 0.0).sum();
    assert_eq!(grad(guarded, &tensor([0.0, 1.0, 2.0])).to_vec()[1..], [0.0, 0.0]);
}
