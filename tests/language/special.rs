//! Special functions: their values against references and functional equations, their conventions, and the end of the
//! table of derivatives.

use polygrad::direct::{grad, jvp};
use polygrad::ops::Unary;
use polygrad::{BaseTensor, Concrete, Tensor, array::Rng, tensor};

use crate::panics::caught;

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

fn third<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
    grad(|x| grad(|x| grad(|x| x.lgamma(), x), x), x)
}

#[test]
fn the_table_ends_with_an_error() {
    let ends: Vec<(&str, u32)> =
        Unary::ALL.iter().filter_map(|op| op.order().map(|order| (op.name(), order))).collect();
    assert_eq!(ends, [("lgamma", 2), ("digamma", 1), ("trigamma", 0)]);

    let x = tensor(2.5);
    // As often as documented.
    assert_eq!(grad(|x| grad(|x| x.lgamma(), x), &x), x.trigamma());
    assert_eq!(grad(|x| x.digamma(), &x), x.trigamma());
    // Not once more: in reverse, forward, and through the chain of rows.
    let said = [
        caught(|| grad(|x| x.trigamma(), &x)),
        caught(|| jvp(|x: &Tensor<_, 0>| x.trigamma(), &x, &x)),
        caught(|| grad(|x| grad(|x| x.digamma(), x), &x)),
        caught(|| third(&x)),
    ];
    assert!(said.iter().all(|panic| panic.message.starts_with("trigamma: must not be differentiated")), "{said:?}");
    // The value alone is no derivative, nor is what counts as a constant.
    assert_eq!(grad(|x| x * x.stop_gradient().trigamma(), &x), x.trigamma());
    assert_eq!(grad(|x| x * Tensor::constant(2.5).trigamma(), &x), x.trigamma());
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
