//! The check of a fact: each program runs in all three interpreters, and forward and reverse derivatives have to agree
//! before either is compared with a number.

use polygrad::array::Rng;
use polygrad::{Array, BaseTensor, Concrete, Tensor, Tree};

/// A number of the program.
pub(crate) type Scalar<T> = Tensor<T, 0>;

/// The tolerance for numbers that were computed independently.
pub(crate) const FINE: f64 = 1e-9;

/// The elements of a float array.
fn floats(a: &Array) -> Vec<f64> {
    a.cast::<f64>().to_vec().expect("a cast has the type asked for")
}

/// All elements of all leaves, in order.
pub(crate) fn elements<P: Tree<Concrete>>(tree: &P) -> Vec<f64> {
    tree.leaves().iter().flat_map(floats).collect()
}

/// A tensor of this shape with these elements.
pub(crate) fn shaped<const D: usize>(shape: [usize; D], elements: &[f64]) -> Tensor<Concrete, D> {
    Tensor::constant(Array::new(&shape, elements.to_vec()))
}

/// Panics unless the leaves of the tree hold these numbers, up to `tolerance` relative to the larger of
/// the number and 1.
#[track_caller]
pub(crate) fn near<P: Tree<Concrete>>(tree: &P, expected: &[f64], tolerance: f64) {
    compare(&elements(tree), expected, |e| tolerance * e.abs().max(1.0));
}

/// As [`near`], for the first elements only.
#[track_caller]
pub(crate) fn starts<P: Tree<Concrete>>(tree: &P, expected: &[f64], tolerance: f64) {
    let all = elements(tree);
    assert!(all.len() >= expected.len(), "{} elements where at least {} are expected", all.len(), expected.len());
    compare(&all[..expected.len()], expected, |e| tolerance * e.abs().max(1.0));
}

/// As [`near`], relative to the number however small it is.
#[track_caller]
pub(crate) fn relatively_near<P: Tree<Concrete>>(tree: &P, expected: &[f64], tolerance: f64) {
    compare(&elements(tree), expected, |e| tolerance * e.abs());
}

/// Panics unless every element of the tree is this number, up to `tolerance` relative to the larger of it and 1.
#[track_caller]
pub(crate) fn everywhere<P: Tree<Concrete>>(tree: &P, expected: f64, tolerance: f64) {
    let all = elements(tree);
    assert!(!all.is_empty(), "there must be elements to compare");
    compare(&all, &vec![expected; all.len()], |e| tolerance * e.abs().max(1.0));
}

#[track_caller]
fn compare(given: &[f64], expected: &[f64], tolerance: impl Fn(f64) -> f64) {
    assert_eq!(given.len(), expected.len(), "as many elements as expected");
    for (k, (g, e)) in given.iter().zip(expected).enumerate() {
        assert!(g == e || (g - e).abs() <= tolerance(*e), "element {k} is {g:?} and not {e:?}");
    }
}

/// Ones in the shape of a value: the cotangent of the sum of all its elements.
pub(crate) fn ones<Y: Tree<Concrete>>(y: &Y) -> Y::With<Concrete> {
    constants(y, 1.0)
}

/// One number in the shape of a value.
pub(crate) fn constants<Y: Tree<Concrete>>(y: &Y, x: f64) -> Y::With<Concrete> {
    y.map(&mut |leaf| Array::full_as(leaf.shape(), leaf.dtype(), x))
}

/// A seeded direction at a point.
pub(crate) fn direction<P: Tree<Concrete>>(x: &P) -> P::With<Concrete> {
    let mut rng = Rng::new(7);
    x.map(&mut |leaf| {
        if !leaf.dtype().is_float() {
            return Array::zeros(leaf.shape(), leaf.dtype());
        }
        let u = rng.uniform(leaf.shape(), -1.0, 1.0);
        let cast = polygrad::ops::Linear::cast(leaf.shape(), u.dtype(), leaf.dtype());
        if leaf.dtype() == u.dtype() { u } else { u.linear(&cast) }
    })
}

/// Panics unless `dot(ct, y_dot) == dot(x_bar, x_dot)`, up to rounding in the coarsest element type.
#[track_caller]
pub(crate) fn transposed<Y: Tree<Concrete>, P: Tree<Concrete>>(ct: &Y, y_dot: &Y, x_bar: &P, x_dot: &P) {
    let mut totals = [0.0, 0.0];
    let mut scale = 1.0;
    let mut tolerance = 1e-9;
    let pairs = [(ct.leaves(), y_dot.leaves()), (x_bar.leaves(), x_dot.leaves())];
    for (total, (a, b)) in totals.iter_mut().zip(&pairs) {
        for (a, b) in a.iter().zip(b) {
            assert_eq!(a.shape(), b.shape(), "a derivative has the shape of its value");
            match a.dtype() {
                polygrad::DType::F64 => {}
                polygrad::DType::F32 => tolerance = 1e-4,
                polygrad::DType::I64 | polygrad::DType::Bool => continue,
            }
            for (x, y) in floats(a).iter().zip(floats(b)) {
                *total += x * y;
                scale += (x * y).abs();
            }
        }
    }
    let [forward, reverse] = totals;
    assert!((forward - reverse).abs() <= tolerance * scale, "forward {forward:?} and reverse {reverse:?} disagree");
}

/// The pullback of a program at a point, applied to a cotangent computed from its value, after a check
/// that values agree in all interpreters and that the derivatives are transposes of each other.
macro_rules! pullback {
    ($program:expr, $x:expr, $cotangent:expr) => {{
        let x = $x;
        let value = $program(&x);
        let (y, pull) = polygrad::direct::vjp($program, &x);
        $crate::facts::check::near(&y, &$crate::facts::check::elements(&value), 1e-12);
        let ct = $cotangent(&y);
        let x_bar = pull(&ct);
        let x_dot = $crate::facts::check::direction(&x);
        let (y, y_dot) = polygrad::direct::jvp($program, &x, &x_dot);
        $crate::facts::check::near(&y, &$crate::facts::check::elements(&value), 1e-12);
        $crate::facts::check::transposed(&ct, &y_dot, &x_bar, &x_dot);
        x_bar
    }};
}

/// The gradient of the sum of all elements that a program returns, checked as by [`pullback!`].
macro_rules! gradient {
    ($program:expr, $x:expr) => {
        $crate::facts::check::pullback!($program, $x, $crate::facts::check::ones)
    };
}

/// The directional derivative of a program.
macro_rules! pushforward {
    ($program:expr, $x:expr, $x_dot:expr) => {
        polygrad::direct::jvp($program, &$x, &$x_dot).1
    };
}

pub(crate) use {gradient, pullback, pushforward};
