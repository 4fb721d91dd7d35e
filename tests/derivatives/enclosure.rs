//! Bounds of whole programs: the objectives of the gallery and their gradients, in a box around their inputs.
//!
//! Laws: values and gradients at points of the box lie within the bounds, by the program as it is written, by dual
//! numbers in both modes, and recorded; in a small box the bounds are narrow. What cannot be bounded says why.

use std::collections::BTreeSet;

use crate::agree::Case;
use crate::agree::any::{self, Any};
use crate::gallery::{self, Leaves, Objective, Visitor};
use crate::panics::caught;
use polygrad::array::Rng;
use polygrad::ops::Binary;
use polygrad::program::Term;
use polygrad::{
    Array, BaseTensor, Concrete, DType, Enclosure, Function, Tensor, Tree, direct, enclose, grad, hessian, taylor,
    tensor, while_loop, while_loop_within,
};

type Point = Leaves<Concrete>;

fn floats(p: &[Array]) -> Vec<f64> {
    p.iter().flat_map(|a| a.cast::<f64>().to_vec().expect("converted to f64")).collect()
}

/// The point with as much added to each element as `by` says for its shape.
fn moved(x: &Point, by: &mut dyn FnMut(&[usize]) -> Array) -> Point {
    x.map(&mut |a| {
        let by = by(a.shape());
        a.binary(Binary::Add, &if a.dtype() == DType::F32 { by.cast::<f32>() } else { by })
    })
}

/// What was found of the objectives.
#[derive(Default)]
struct Findings {
    visited: usize,
    wrong: Vec<String>,
    /// What has no bounds, and why.
    refused: Vec<(&'static str, String)>,
    /// What has no narrow bounds in a small box.
    wide: BTreeSet<&'static str>,
}

/// A way to compute a list of quantities: at a point, and over a box.
type Way<'a> = (&'static str, &'a dyn Fn(&Point) -> Vec<Array>, &'a dyn Fn(&Point, &Point) -> [Vec<Array>; 2]);

fn sides(y: (Leaves<Array>, Leaves<Array>)) -> [Vec<Array>; 2] {
    [y.0.0, y.1.0]
}

impl Findings {
    /// Boxes of several sizes, and points of each.
    fn look(&mut self, name: &'static str, x: &Point, (way, values, bounds): Way<'_>) {
        let mut rng = Rng::new(11);
        for radius in [0.0, 1e-9, 1e-3, 0.1] {
            let ends = [-radius, radius].map(|r| moved(x, &mut |shape| Array::full(shape, r)));
            let [lower, upper] = bounds(&ends[0], &ends[1]).map(|side| floats(&side));
            let points = if radius == 0.0 { 1 } else { 2 };
            for _ in 0..points {
                let y = floats(&values(&moved(x, &mut |shape| rng.uniform(shape, -radius, radius))));
                assert_eq!(y.len(), lower.len(), "{name}, {way}");
                for (k, y) in y.iter().enumerate() {
                    let [lo, hi] = [lower[k], upper[k]];
                    if !(lo.is_nan() || (lo <= *y && *y <= hi)) {
                        self.wrong.push(format!(
                            "{name}, {way}, radius {radius}, element {k}: {y:e} is not in [{lo:e}, {hi:e}]"
                        ));
                    }
                }
            }
            let narrow = |(lo, hi): (&f64, &f64)| hi - lo <= 1e-3 * (1.0 + lo.abs());
            if radius == 1e-9 && !lower.iter().zip(&upper).all(narrow) {
                self.wide.insert(name);
            }
        }
    }
}

impl Findings {
    /// Every way to compute values and derivatives of an objective.
    fn examine(&mut self, case: &Case) {
        self.visited += 1;
        let x = &case.inputs;
        let v = x.map(&mut |leaf| Array::full_as(leaf.shape(), leaf.dtype(), 0.5));
        let recorded = Function::grad(|x: &Leaves<Term>| case.at(x), x);
        let slope = |x: &Leaves<Any>| case.slope(x, &v);
        let value: Way<'_> = ("value", &|x| vec![case.at(x).into_raw()], &|a, b| {
            sides(enclose(|x: &Leaves<Enclosure>| Leaves(vec![case.at(x).into_raw()]), a, b))
        });
        let gradient: Way<'_> = ("gradient", &|x| case.gradient(x).0, &|a, b| {
            sides(enclose(|x: &Leaves<Enclosure>| case.gradient(x), a, b))
        });
        let tangent: Way<'_> = ("tangent", &|x| vec![any::at(slope, x).into_raw()], &|a, b| {
            sides(enclose(|x: &Leaves<Enclosure>| Leaves(vec![any::at(slope, x).into_raw()]), a, b))
        });
        let program: Way<'_> = ("recorded gradient", &|x| recorded.run(x).expect("the inputs fit").0, &|a, b| {
            sides(recorded.enclose(a, b).expect("the inputs fit"))
        });
        for way in [value, gradient, tangent, program] {
            // The end is a panic, too, so that one that is expected prints nothing.
            let words = caught(|| {
                self.look(case.name, x, way);
                panic!("looked at")
            });
            if words.message != "looked at" {
                self.refused.push((case.name, words.message));
            }
        }
    }
}

impl Visitor for Findings {
    fn visit<O: Objective>(&mut self) {
        self.examine(&Case::of::<O>());
    }
}

/// Objectives at a kink, a pole or a tie, of chaos, or of eigenvectors, pivots or singular vectors, whose derivatives have no narrow bounds around it.
const WIDE: &[&str] = &[
    "at_the_kinks",
    "complex_determinants",
    "deviation_of_equals",
    "eigen",
    "entropy_of_the_rest",
    "entropy_with_zeros",
    "guarded_angle",
    "guarded_functions",
    "guarded_in_a_loop",
    "guarded_logarithm",
    "guarded_quotient",
    "guarded_root",
    "logistic_map",
    "norm_with_zeros",
    "norms_of_zeros",
    "only_finite",
    "pivoted",
    "quantiles_of_rows_in_a_map",
    "singular_tall",
    "singular_wide",
    "ties",
];

#[test]
fn values_and_gradients_of_the_gallery_lie_within_their_bounds() {
    let mut found = Findings::default();
    gallery::each(&mut found);
    assert!(found.wrong.is_empty(), "{}", found.wrong.join("\n"));
    for (name, words) in &found.refused {
        // Draws of a gamma distribution are accepted or not.
        let undecided = name.starts_with("of_") && words.contains("the bounds must decide when the loop ends");
        assert!(undecided || words.contains("operands must be numbers, but they are bounds"), "{name}: {words}");
    }
    let refused: BTreeSet<&str> = found.refused.iter().map(|(name, _)| *name).collect();
    assert!(found.visited > 150 && refused.len() * 6 < found.visited, "{refused:?}");
    assert!(found.wide.iter().copied().eq(WIDE.iter().copied()), "{:?}", found.wide);
}

fn wavy<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    (x.sin() * x.reverse(0)).sum() + x.square().sum().sqrt()
}

/// Bounds of derivatives of every kind come from the same rows, and so do Taylor coefficients.
#[test]
fn interpreters_nest_over_bounds() {
    let [lower, upper] = [tensor([0.5, 1.0]), tensor([0.501, 1.002])];
    let inside = tensor([0.5003, 1.0017]);
    let held = |what: &str, y: &[f64], (lower, upper): (Vec<f64>, Vec<f64>)| {
        assert_eq!(y.len(), lower.len(), "{what}");
        for (k, y) in y.iter().enumerate() {
            assert!(lower[k] <= *y && *y <= upper[k], "{what}: {y} is not in [{}, {}]", lower[k], upper[k]);
            assert!(upper[k] - lower[k] < 0.2, "{what}: [{}, {}] is wide", lower[k], upper[k]);
        }
    };
    let list = |leaves: Vec<Array>| floats(&leaves);
    let both = |(a, b): (Tensor<Array, 2>, Tensor<Array, 2>)| (list(a.leaves()), list(b.leaves()));
    let h = hessian(wavy, &inside);
    held("hessian", &list(h.leaves()), both(enclose(|x| hessian(wavy, x), &lower, &upper)));
    let staged = Function::hessian(wavy, &inside);
    held("recorded hessian", &list(h.leaves()), both(staged.enclose(&lower, &upper).expect("two numbers")));
    let nested = |x: &Tensor<Enclosure, 1>| direct::grad(|x| direct::grad(wavy, x).square().sum(), x);
    let y = direct::grad(|x| direct::grad(wavy, x).square().sum(), &inside);
    let (a, b) = enclose(nested, &lower, &upper);
    held("gradient of a gradient", &list(y.leaves()), (list(a.leaves()), list(b.leaves())));
    let v = tensor([1.0, -1.0]);
    let series = taylor(wavy, &inside, &v, 3);
    let (a, b) = enclose(|x| taylor(|x: &Tensor<_, 1>| wavy(x), x, &v.lift(), 3), &lower, &upper);
    let all = |c: &[Tensor<Array, 0>]| c.iter().map(Tensor::item).collect::<Vec<f64>>();
    held("series", &all(&series), (all(&a), all(&b)));
}

/// A loop whose end bounds decide; one that has a bound; and one that has neither.
#[test]
fn loops_end_where_bounds_say_so() {
    fn halved<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
        while_loop(x.clone(), |x| x.gt(1.0), |x: Tensor<T, 0>| x / 2.0)
    }
    fn halved_at_most<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
        while_loop_within(5, x.clone(), |x| x.gt(1.0), |x: Tensor<T, 0>| x / 2.0)
    }
    assert_eq!(enclose(halved, &tensor(5.0), &tensor(6.0)), (tensor(0.625), tensor(0.75)));
    // After two trips from 3.9 to 4.1 the loop may end, or go on.
    let (lower, upper) = enclose(halved_at_most, &tensor(3.9), &tensor(4.1));
    for x in [3.9, 4.0, 4.1] {
        let y = halved_at_most(&tensor(x)).item();
        assert!(lower.item() <= y && y <= upper.item(), "{y} is not in [{}, {}]", lower.item(), upper.item());
    }
    assert!(upper.item() < 1.1);
    let message = caught(|| enclose(halved, &tensor(3.9), &tensor(4.1))).message;
    assert!(message.contains("after 2 trips it may go on or end"), "{message}");
    let recorded = Function::stage(|x| grad(halved_at_most, x), &tensor(1.0));
    let (lower, upper) = recorded.enclose(&tensor(3.9), &tensor(4.1)).expect("a number");
    assert!(lower.item() <= 0.25 && upper.item() >= 0.25);
}

/// A choice is decided by bounds, or bounded by both branches, of which one may have no value.
#[test]
fn choices_are_bounded() {
    let root = |x: &Tensor<Enclosure, 0>| x.gt(0.0).select(x.sqrt(), -1.0);
    assert_eq!(enclose(root, &tensor(4.0), &tensor(9.0)), (tensor(2.0), tensor(3.0)));
    assert_eq!(enclose(root, &tensor(-9.0), &tensor(-4.0)), (tensor(-1.0), tensor(-1.0)));
    let (lower, upper) = enclose(root, &tensor(-4.0), &tensor(9.0));
    assert!(lower.item().is_nan() && upper.item().is_nan());
    // A bound that is NaN says that nothing is known.
    let (lower, upper) = enclose(|x| x.tanh().max(0.5), &tensor(f64::NAN), &tensor(f64::NAN));
    assert!(lower.item().is_nan() && upper.item().is_nan());
    let (lower, upper) = enclose(|x| x.tanh().max(0.5), &tensor(f64::NEG_INFINITY), &tensor(f64::INFINITY));
    assert_eq!((lower, upper), (tensor(0.5), tensor(1.0)));
}

// ---- sums in other orders, and integers as floats ----

type Bounds = Tensor<Enclosure, 1>;

fn exactly(x: &[f64]) -> Bounds {
    Tensor::from_raw(Enclosure::constant(Array::new(&[x.len()], x.to_vec())))
}

/// What is 0 term by term is not if a kernel multiplies factors first, and bounds hold for both.
#[test]
fn recurrences_hold_their_values_in_any_order() {
    for k in [3.0f64, 5.0, 7.0, 11.0] {
        for factor in [0.1, 0.3, 0.7] {
            let first = 1.0 + 2f64.powi(-40) * k;
            let second = -k * first;
            let all = exactly(&[first, second, 0.0]).linear_recurrence(&exactly(&[0.0, k, factor]), 0);
            let [lower, upper] = [all.raw().lower(), all.raw().upper()].map(|x| floats(&[x]));
            for value in [factor * (k * first + second), (factor * k) * first + factor * second] {
                assert!(lower[2] <= value && value <= upper[2], "{value} in {lower:?}, {upper:?}");
            }
        }
    }
}

/// Where partial sums may overflow to infinities of both signs, a sum may be NaN.
#[test]
fn sums_that_overflow_on_their_way_may_be_nan() {
    let most = f64::MAX;
    for (terms, may_be_nan) in [
        (vec![most, most, -most, -most], true),
        (vec![most / 2.0, most / 2.0, -most / 2.0, most / 2.0, -most / 2.0], true),
        (vec![most, most, most], false),
        (vec![most / 8.0, -most / 8.0, most / 8.0, -most / 8.0], false),
    ] {
        let sum = exactly(&terms).sum().raw().lower().item::<f64>().expect("a number");
        assert_eq!(sum.is_nan(), may_be_nan, "{terms:?}: {sum}");
    }
}

/// Integers that are no floats lie between two of them.
#[test]
fn integers_lie_within_their_floats() {
    let mut rng = Rng::new(11);
    for _ in 0..300 {
        let bits = (rng.unit() * 9e18) as i64 >> (rng.unit() * 12.0) as u32;
        for n in [bits, -bits, (1 << 53) + bits % 64, i64::MAX - bits % 2000, i64::MIN + bits % 2000] {
            let y = Enclosure::constant(Array::scalar(n));
            let y = Tensor::<Enclosure, 0, i64>::from_raw(y).to_float::<f64>();
            let [lower, upper] = [y.raw().lower(), y.raw().upper()].map(|x| x.item::<f64>().expect("a number") as i128);
            assert!(lower <= n.into() && i128::from(n) <= upper, "{n} in {lower}, {upper}");
        }
    }
}
