//! Shared by several test files: seeded random arrays, shapes and linear operations, and comparison.
#![allow(dead_code)]

use polygrad::array::Rng;
use polygrad::ops::{Contract, Linear, View};
use polygrad::shape::{Shape, size};
use polygrad::{Array, BaseTensor};

/// Runs a test of long programs on a stack so small that recursion over the length of a program would overflow it.
pub(crate) fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    on_a_stack_of(512 << 10, test);
}

/// Runs a test on a stack of so many bytes.
pub(crate) fn on_a_stack_of(bytes: usize, test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(test);
    if let Err(panic) = thread.expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}

/// Operations of a program that is long for [`on_a_small_stack`]: 26 bytes of it each.
pub(crate) const LONG: usize = 20_000;

/// The elements of a float array as `f64`.
pub(crate) fn floats(a: &Array) -> Vec<f64> {
    a.cast::<f64>().to_vec().expect("cast to f64")
}

/// `sum(a * b)` over all elements.
pub(crate) fn inner(a: &Array, b: &Array) -> f64 {
    assert_eq!(a.shape(), b.shape());
    floats(a).iter().zip(floats(b)).map(|(x, y)| x * y).sum()
}

/// Panics unless both are equal up to rounding, relative to the larger of both and 1; NaN equals NaN.
#[track_caller]
pub(crate) fn assert_close(what: &str, a: &Array, b: &Array, tolerance: f64) {
    assert_eq!(a.shape(), b.shape(), "{what}: shapes differ");
    assert_eq!(a.dtype(), b.dtype(), "{what}: element types differ");
    for (k, (x, y)) in floats(a).into_iter().zip(floats(b)).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0);
        assert!(same, "{what}: element {k} differs: {x:?} and {y:?}\n{a:?}\n{b:?}");
    }
}

/// Panics unless both numbers are equal up to rounding, relative to the larger of both and 1.
#[track_caller]
pub(crate) fn assert_near(what: &str, x: f64, y: f64, tolerance: f64) {
    let same = x == y || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0);
    assert!(same, "{what}: {x:?} and {y:?} differ");
}

/// A shape of rank up to `rank` with sizes from 0 or 1 to 4; zeros are rare.
pub(crate) fn random_shape(rng: &mut Rng, rank: usize) -> Shape {
    let rank = rng.below(rank + 1);
    (0..rank).map(|_| if rng.below(12) == 0 { 0 } else { 1 + rng.below(4) }).collect()
}

/// A view of an array of shape `source`: random coefficients, offsets and box, so that much of it looks
/// out of range.
pub(crate) fn random_view(rng: &mut Rng, source: &[usize], shape: &[usize]) -> View {
    let mut matrix = Vec::new();
    let mut offset = Vec::new();
    for _ in source {
        let busy = if shape.is_empty() { 0 } else { rng.below(shape.len()) };
        for axis in 0..shape.len() {
            // Mostly one axis a row, as in slices and permutations; sometimes several, as in windows.
            let moves = axis == busy || rng.below(4) == 0;
            matrix.push(if moves { rng.below(5) as i64 - 2 } else { 0 });
        }
        offset.push(rng.below(6) as i64 - 2);
    }
    let mut view = View::affine(source, shape, &matrix, &offset);
    for (axis, n) in shape.iter().enumerate() {
        if rng.below(4) == 0 {
            let (lo, hi) = (rng.below(n + 1), rng.below(n + 1));
            view = view.clipped(axis, lo.min(hi), lo.max(hi));
        }
    }
    view
}

/// A linear operation of an argument of this shape: one of the named ones or two random views.
pub(crate) fn random_linear(rng: &mut Rng, shape: &[usize]) -> Linear {
    let rank = shape.len();
    let axis = if rank > 0 { rng.below(rank) } else { 0 };
    match rng.below(9) {
        0 => {
            let mut into: Shape = Shape::from_slice(shape);
            into.insert(rng.below(rank + 1), 1);
            Linear::reshape(shape, &into)
        }
        1 => Linear::permute(shape, &rng.permutation(shape.len())),
        2 if rank > 0 => Linear::sum(shape, &[axis]),
        3 => {
            let mut into = Shape::from_slice(shape);
            into.insert(0, 1 + rng.below(3));
            let axes: Vec<usize> = (1..into.len()).collect();
            Linear::replicate(&into, &axes)
        }
        4 if rank > 0 => {
            let start = rng.below(shape[axis] + 1);
            let len = rng.below(shape[axis] - start + 1);
            Linear::slice(shape, axis, start, len, 1)
        }
        5 => {
            let mut width = || (0..shape.len()).map(|_| rng.below(3)).collect::<Vec<usize>>();
            let (before, after) = (width(), width());
            Linear::pad(shape, &before, &after)
        }
        6 if rank > 0 => Linear::reverse(shape, axis),
        7 if rank > 0 && shape[axis] > 0 => {
            let size = 1 + rng.below(shape[axis]);
            Linear::window(shape, axis, size, 1 + rng.below(2))
        }
        _ => {
            let space = random_shape(rng, 3);
            let into = random_shape(rng, 3);
            Linear::affine(random_view(rng, shape, &space), random_view(rng, &into, &space))
        }
    }
}

/// A contraction with random views or random axes.
pub(crate) fn random_contract(rng: &mut Rng) -> Contract {
    let space = random_shape(rng, 4);
    if rng.below(2) == 0 {
        let mut axes = || (0..space.len()).filter(|_| rng.below(2) == 0).collect::<Vec<usize>>();
        let (a, b, out) = (axes(), axes(), axes());
        return Contract::axes(&space, &a, &b, &out);
    }
    let mut view = || {
        let source = random_shape(rng, 3);
        random_view(rng, &source, &space)
    };
    Contract::new(view(), view(), view())
}

/// Uniform in `[-2, 2)`.
pub(crate) fn random(rng: &mut Rng, shape: &[usize]) -> Array {
    rng.uniform(shape, -2.0, 2.0)
}

/// The parts one after the other along a new outermost axis.
pub(crate) fn stack<T: BaseTensor>(parts: &[T]) -> T {
    let rows: Vec<T> = parts
        .iter()
        .map(|p| {
            let mut shape = Shape::from_slice(p.shape());
            shape.insert(0, 1);
            p.linear(&Linear::reshape(p.shape(), &shape))
        })
        .collect();
    T::concat(0, &rows)
}

/// The number of elements of the shape.
pub(crate) fn count(shape: &[usize]) -> usize {
    size(shape)
}
