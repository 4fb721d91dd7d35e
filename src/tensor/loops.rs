//! Arrays built by index, maps, folds and loops with a carry.
//!
//! Law: each loop is [`BaseTensor::map_accum`] on the leaves of its structures. An interpreter may call a body once per
//! trip or once for all trips, so the result of a body may depend on its arguments and on captured values alone.
//!
//! Rows and indices are passed by reference, so that `|x| x * x` is a body; carries are passed by value, so that a body
//! that adds to its carry can do so in place. The types of rows and outputs are in `rows`.

use std::cell::OnceCell;
use std::panic::Location;

use super::Tensor;
use super::batched::{Batched, stop};
use super::parts::Start;
use super::rank::{Above, Plus, Rank};
use super::rows::{Outputs, Rows};
use super::trips::Trips;
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::ops::{Discrete, Linear};
use crate::program::made;
use crate::shape::{Shape, Show, check_possible, try_possible};
use crate::tree::{Tree, next_leaf};

/// The tensors of a loop and their common length.
#[track_caller]
pub(super) fn sequences<T: BaseTensor, R>(op: &str, xs: &impl Rows<T, R>) -> (usize, Vec<T>) {
    match try_sequences(op, xs) {
        Ok(sequences) => sequences,
        Err(message) => panic!("{message}"),
    }
}

/// [`sequences`], with an error in place of a panic.
#[track_caller]
fn try_sequences<T: BaseTensor, R>(op: &str, xs: &impl Rows<T, R>) -> Result<(usize, Vec<T>), String> {
    let mut out = Vec::new();
    xs.sequences(&mut out);
    let Some(n) = out.first().map(|x| x.shape()[0]) else {
        return Err(format!(
            "{op}: a loop needs a sequence, but what it runs over has none; run it over a range of numbers"
        ));
    };
    match out.iter().find(|x| x.shape()[0] != n) {
        None => Ok((n, out)),
        Some(x) => Err(format!(
            "{op}: all sequences must have one length, but two shapes are {} and {}; slice or pad one",
            Show(out[0].shape()),
            Show(x.shape())
        )),
    }
}

/// The leaves of a structure. The structure is dropped, so leaves that had no other owner have none now.
pub(super) fn leaves<T: BaseTensor, C: Tree<T>>(c: C) -> Vec<T> {
    c.leaves()
}

/// The structure of a carry, without its leaves.
pub(super) struct CarryTree<C>(pub(super) C);

impl<C> CarryTree<C> {
    /// The structure and the leaves of a carry. The structure owns no leaf, so that already the first trip is the only
    /// owner.
    pub(super) fn open<T: BaseTensor>(c: C) -> (CarryTree<C>, Vec<T>)
    where
        C: Tree<T, With<T> = C>,
    {
        (CarryTree(emptied(&c)), leaves(c))
    }

    /// The carry with these leaves.
    pub(super) fn close<T: BaseTensor>(&self, leaves: Vec<T>) -> C
    where
        C: Tree<T, With<T> = C>,
    {
        let mut leaves = leaves.into_iter();
        self.0.map(&mut |_: &T| next_leaf(&mut leaves))
    }
}

/// The implementation of the loops with a carry, except for those that stack it.
#[track_caller]
fn run<T: BaseTensor, C: Tree<T, With<T> = C>, R, Y: Outputs<T, S>, S>(
    op: &'static str,
    (n, xs): (usize, Vec<T>),
    reverse: bool,
    init: C,
    row: impl Fn(&mut dyn Iterator<Item = T>) -> R,
    f: impl Fn(C, &R) -> (C, Y),
) -> (C, S) {
    let (carry, init) = CarryTree::open(init);
    let (trips, template) = (Trips::new(op, n, &carry.0), OnceCell::new());
    let (last, outputs) = T::map_accum(n, reverse, init, &xs, &mut |c, x| {
        let (c, y) = f(carry.close(c), &row(&mut x.iter().cloned()));
        let alike = trips.alike(&c, &y);
        keep_first(&template, &y);
        trips.returned(leaves(c), y.leaves(), alike)
    });
    trips.end();
    (carry.close(last), stacked(&template, outputs))
}

/// A structure with zeros in place of its leaves, which it does not own.
pub(super) fn emptied<T: BaseTensor, Y: Tree<T, With<T> = Y>>(y: &Y) -> Y {
    y.map(&mut |t| T::zeros(t.shape(), t.dtype()))
}

/// Keeps the structure of the outputs of the first trip, with zeros as leaves. A function of the type of the outputs, where a
/// closure would be compiled once for each loop.
pub(super) fn keep_first<T: BaseTensor, Y: Tree<T, With<T> = Y>>(first: &OnceCell<Y>, y: &Y) {
    first.get_or_init(|| emptied(y));
}

/// The stacks of the outputs of all trips, in the structure of the first.
pub(super) fn stacked<T: BaseTensor, Y: Outputs<T, S>, S>(first: &OnceCell<Y>, outputs: Vec<T>) -> S {
    // A loop runs a trip, be it on zeros, to see its outputs.
    made(first.get()).stacked(&mut outputs.into_iter())
}

/// The tensor whose subarray at position `i` of a new outermost axis of size `k` is `f(i)`.
///
/// ```
/// use polygrad::{build1, tensor};
/// let x = tensor([1.0, 2.0, 4.0]);
/// assert_eq!(build1(2, |i| x.at([i + 1]) - x.at([i])), tensor([1.0, 2.0]));
/// ```
#[track_caller]
pub fn build1<T: BaseTensor, const M: usize, const D: usize, E: Elem>(
    k: usize,
    f: impl Fn(&Tensor<T, 0, i64>) -> Tensor<T, M, E>,
) -> Tensor<T, D, E>
where
    Rank<D>: Above<M>,
{
    Tensor::from_raw(built("build1", &[k], &|ix: &[T]| f(&Tensor::from_raw(ix[0].clone())).into_raw()))
}

/// The tensor whose subarray at positions `[i, j, ..]` of new outer axes of these sizes is `f([i, j, ..])`.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, build, build1, tensor};
///
/// fn matmul<T: BaseTensor>(a: &Tensor<T, 2>, b: &Tensor<T, 2>) -> Tensor<T, 2> {
///     build([a.dim::<0>(), b.dim::<1>()], |[i, j]| build1(a.dim::<1>(), |p| a.at([i, p]) * b.at([p, j])).sum_outer())
/// }
/// let a = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(matmul(&a, &a), a.matmul(&a));
/// ```
#[track_caller]
pub fn build<T: BaseTensor, const K: usize, const M: usize, const D: usize, E: Elem>(
    sizes: [usize; K],
    f: impl Fn([&Tensor<T, 0, i64>; K]) -> Tensor<T, M, E>,
) -> Tensor<T, D, E>
where
    Rank<D>: Plus<K, M>,
{
    Tensor::from_raw(built("build", &sizes, &|ix: &[T]| {
        let ix: [Tensor<T, 0, i64>; K] = std::array::from_fn(|k| Tensor::from_raw(ix[k].clone()));
        f(ix.each_ref()).into_raw()
    }))
}

/// Nested loops, one for each size, around a body whose results must have one shape. The shapes are checked here, since
/// inner loops run in the bodies of outer loops, where the user's line is unknown.
#[track_caller]
fn built<T: BaseTensor>(op: &str, sizes: &[usize], body: &dyn Fn(&[T]) -> T) -> T {
    check_possible(op, sizes);
    let (first, other): (OnceCell<Shape>, OnceCell<Shape>) = Default::default();
    let call = Location::caller();
    let out = build_raw(sizes, &[], &|ix: &[T]| {
        let element = body(ix);
        let shape = first.get_or_init(|| {
            // A single loop reports a result that is too large at the user's line; a nested loop cannot.
            if sizes.len() > 1 {
                let whole = [sizes, element.shape()].concat();
                try_possible(op, &whole).unwrap_or_else(|message| stop(&message, call));
            }
            Shape::from_slice(element.shape())
        });
        if shape[..] == *element.shape() {
            return element;
        }
        other.get_or_init(|| Shape::from_slice(element.shape()));
        T::zeros(shape, element.dtype())
    });
    if let (Some(first), Some(other)) = (first.get(), other.get()) {
        panic!(
            "{op}: the body must return one shape at all positions, but two are {} and {}; slice or pad what it returns",
            Show(first),
            Show(other)
        );
    }
    out
}

/// One loop for each size; `outer` holds the positions in the enclosing loops.
#[track_caller]
fn build_raw<T: BaseTensor>(sizes: &[usize], outer: &[T], body: &dyn Fn(&[T]) -> T) -> T {
    let Some((n, rest)) = sizes.split_first() else {
        return body(outer);
    };
    let positions = T::discrete(&Discrete::Iota { n: *n }, &[]);
    let (_, mut out) = T::map_accum(*n, false, Vec::new(), &[positions], &mut |_, i| {
        let ix = [outer, i].concat();
        (Vec::new(), vec![build_raw(rest, &ix, body)])
    });
    next_leaf(&mut out.drain(..))
}

/// The body applied to each row, and the results stacked.
///
/// ```
/// use polygrad::{map, tensor};
/// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(map(&x, |row| row.sum()), tensor([3.0, 7.0]));
/// ```
///
/// # Panics
/// When sequences differ in length.
#[track_caller]
pub fn map<T: BaseTensor, X: Rows<T, R>, R, Y: Outputs<T, S>, S>(xs: X, f: impl Fn(&R) -> Y) -> S {
    mapped("map", xs, f)
}

/// The function that applies `f` to each row of a stack, and stacks the results.
///
/// `vmap f = xs -> map(xs, f)`: `f` is written for one example and used for a batch. Captured values are the same for
/// every row. Derivatives compose with `vmap` inside (`vmap` of a gradient) and outside (the gradient of a sum over
/// `vmap`). A recorded program processes all rows in bulk; a program that runs directly processes one row after the
/// other.
///
/// ```
/// use polygrad::{Tensor, grad, tensor, vmap};
/// let energy = |x: &Tensor<_, 1>| x.square().sum();
/// let points = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// let forces = vmap(|x: &Tensor<_, 1>| grad(energy, x));
/// assert_eq!(forces(&points), tensor([[2.0, 4.0], [6.0, 8.0]]));
/// ```
///
/// # Panics
/// The function that it returns panics when sequences differ in length, or the results of two rows in shape; the
/// message names the location of the call.
pub fn vmap<'a, T, X, R, Y, S>(f: impl Fn(&R) -> Y + 'a) -> Batched<'a, X, S>
where
    T: BaseTensor,
    X: Rows<T, R> + 'a,
    R: 'a,
    Y: Outputs<T, S> + 'a,
    S: 'a,
{
    Batched::new(move |xs: X, call| {
        let rows = try_sequences("vmap", &xs)?;
        try_mapped("vmap", rows, |parts| xs.row(parts), &f, Some(call))
    })
}

/// The body applied to each pair of rows of two sequences of one length, and the results stacked.
///
/// ```
/// use polygrad::{tensor, zip_with};
/// let (x, y) = (tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([10.0, 20.0]));
/// assert_eq!(zip_with(&x, &y, |x, y| x.times(y)), tensor([[10.0, 20.0], [60.0, 80.0]]));
/// ```
///
/// # Panics
/// When the sequences differ in length.
#[track_caller]
pub fn zip_with<T, X, Y, R, Q, Z, S>(xs: X, ys: Y, f: impl Fn(&R, &Q) -> Z) -> S
where
    T: BaseTensor,
    X: Rows<T, R>,
    Y: Rows<T, Q>,
    Z: Outputs<T, S>,
{
    mapped("zip_with", (xs, ys), |(x, y)| f(x, y))
}

#[track_caller]
pub(crate) fn mapped<T: BaseTensor, X: Rows<T, R>, R, Y: Outputs<T, S>, S>(
    op: &'static str,
    xs: X,
    f: impl Fn(&R) -> Y,
) -> S {
    match try_mapped(op, sequences(op, &xs), |parts| xs.row(parts), f, None) {
        Ok(stacked) => stacked,
        Err(message) => panic!("{message}"),
    }
}

/// [`mapped`] over tensors of one length, with an error in place of a panic. `call` is the location of the call, if a
/// panic here would not report it.
#[track_caller]
fn try_mapped<T: BaseTensor, R, Y: Outputs<T, S>, S>(
    op: &'static str,
    (n, xs): (usize, Vec<T>),
    row: impl Fn(&mut dyn Iterator<Item = T>) -> R,
    f: impl Fn(&R) -> Y,
    call: Option<&Location<'_>>,
) -> Result<S, String> {
    let (trips, template) = (Trips::new::<T, _>(op, n, &()), OnceCell::new());
    let (_, outputs) = T::map_accum(n, false, Vec::new(), &xs, &mut |_, x| {
        let y = f(&row(&mut x.iter().cloned()));
        let (alike, outputs) = (trips.alike(&(), &y), y.leaves());
        keep_first(&template, &y);
        if let Some(call) = call
            && let Err(message) = trips.stackable(n, &outputs).and_then(|()| trips.storable(n, &outputs))
        {
            stop(&message, call);
        }
        trips.returned(Vec::new(), outputs, alike)
    });
    trips.try_end()?;
    Ok(stacked(&template, outputs))
}

/// A loop over rows, in order: `f(carry, row)` returns the next carry and an output. The result is the final carry, and
/// the stacked outputs.
///
/// ```
/// use polygrad::{Tensor, map_accum, map_accum_reverse, tensor};
/// let (xs, step) = (tensor([1.0, 2.0, 3.0]), |c: Tensor<_, 0>, x: &Tensor<_, 0>| (&c + x, c + x));
/// assert_eq!(map_accum(tensor(0.0), &xs, step), (tensor(6.0), tensor([1.0, 3.0, 6.0])));
/// assert_eq!(map_accum_reverse(tensor(0.0), &xs, step), (tensor(6.0), tensor([6.0, 5.0, 3.0])));
/// ```
///
/// # Panics
/// When sequences differ in length, or the carry changes its shape or structure.
#[track_caller]
pub fn map_accum<T, I, C, X, R, Y, S>(init: I, xs: X, f: impl Fn(C, &R) -> (C, Y)) -> (C, S)
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Tree<T, With<T> = C>,
    X: Rows<T, R>,
    Y: Outputs<T, S>,
{
    run("map_accum", sequences("map_accum", &xs), false, init.start(), |parts| xs.row(parts), f)
}

/// [`map_accum`] from the last row to the first; each output has the position of its row.
///
/// Example: [`map_accum`].
///
/// # Panics
/// When sequences differ in length, or the carry changes its shape or structure.
#[track_caller]
pub fn map_accum_reverse<T, I, C, X, R, Y, S>(init: I, xs: X, f: impl Fn(C, &R) -> (C, Y)) -> (C, S)
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Tree<T, With<T> = C>,
    X: Rows<T, R>,
    Y: Outputs<T, S>,
{
    run("map_accum_reverse", sequences("map_accum_reverse", &xs), true, init.start(), |parts| xs.row(parts), f)
}

/// A loop over rows that keeps only its carry: `f(.. f(f(init, row 0), row 1) .., row n - 1)`.
///
/// ```
/// use polygrad::{fold, tensor};
/// // Horner's rule.
/// let x = tensor(2.0);
/// assert_eq!(fold(tensor(0.0), &tensor([1.0, 0.0, 3.0]), |c, a| c * &x + a), tensor(7.0));
/// ```
///
/// # Panics
/// When sequences differ in length, or the carry changes its shape or structure.
#[track_caller]
pub fn fold<T, I, C, X, R>(init: I, xs: X, f: impl Fn(C, &R) -> C) -> C
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Tree<T, With<T> = C>,
    X: Rows<T, R>,
{
    run("fold", sequences("fold", &xs), false, init.start(), |parts| xs.row(parts), |c, x| (f(c, x), ())).0
}

/// All carries of a [`fold`], stacked, from the initial carry on: one more than there are rows.
///
/// ```
/// use polygrad::{scan, tensor};
/// assert_eq!(scan(tensor(0.0), &tensor([1.0, 2.0, 3.0]), |c, x| c + x), tensor([0.0, 1.0, 3.0, 6.0]));
/// ```
///
/// # Panics
/// When sequences differ in length, or the carry changes its shape or structure.
#[track_caller]
pub fn scan<T, I, C, X, R, S>(init: I, xs: X, f: impl Fn(C, &R) -> C) -> S
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Outputs<T, S>,
    X: Rows<T, R>,
{
    scanned("scan", sequences("scan", &xs), init.start(), |parts| xs.row(parts), f)
}

/// [`scan`], with the name of the user's loop in errors.
#[track_caller]
fn scanned<T: BaseTensor, C: Outputs<T, S>, R, S>(
    op: &'static str,
    (n, xs): (usize, Vec<T>),
    init: C,
    row: impl Fn(&mut dyn Iterator<Item = T>) -> R,
    f: impl Fn(C, &R) -> C,
) -> S {
    let first = init.leaves();
    for carry in &first {
        // There is one more row than there are trips.
        let rows = std::iter::once(n.saturating_add(1));
        check_possible(op, &rows.chain(carry.shape().iter().copied()).collect::<Shape>());
    }
    let (carry, init) = CarryTree::open(init);
    let trips = Trips::new(op, n, &carry.0);
    let (_, rest) = T::map_accum(n, false, init, &xs, &mut |c, x| {
        let next = f(carry.close(c), &row(&mut x.iter().cloned()));
        let (alike, outputs) = (trips.alike(&next, &()), next.leaves());
        trips.returned(leaves(next), outputs, alike)
    });
    trips.end();
    let mut stacked = first.into_iter().zip(rest).map(|(first, rest)| {
        let mut shape = Shape::from_slice(first.shape());
        shape.insert(0, 1);
        let row = first.linear(&Linear::replicate(&shape, &super::structure::other_axes(shape.len() - 1, 0)));
        T::concat(0, &[row, rest])
    });
    carry.0.stacked(&mut stacked)
}

/// A loop of `n` trips without rows: `f(n - 1, .. f(1, f(0, init)) ..)`.
///
/// ```
/// use polygrad::{iterate, iterate_all, tensor};
/// assert_eq!(iterate(3, tensor(1.0), |i, c| c * (i + 1).to_float()), tensor(6.0));
/// assert_eq!(iterate_all(3, tensor(1.0), |i, c| c * (i + 1).to_float()), tensor([1.0, 1.0, 2.0, 6.0]));
/// ```
///
/// # Panics
/// When the carry changes its shape or structure.
#[track_caller]
pub fn iterate<T, I, C>(n: usize, init: I, f: impl Fn(&Tensor<T, 0, i64>, C) -> C) -> C
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Tree<T, With<T> = C>,
{
    run("iterate", trip_numbers("iterate", n), false, init.start(), trip_number, |c, i| (f(i, c), ())).0
}

/// All `n + 1` carries of an [`iterate`], stacked, from the initial carry on.
///
/// Example: [`iterate`].
///
/// # Panics
/// When the carry changes its shape or structure.
#[track_caller]
pub fn iterate_all<T, I, C, S>(n: usize, init: I, f: impl Fn(&Tensor<T, 0, i64>, C) -> C) -> S
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Outputs<T, S>,
{
    scanned("iterate_all", trip_numbers("iterate_all", n), init.start(), trip_number, |c, i| f(i, c))
}

/// The number of a trip, as a row.
pub(super) fn trip_number<T: BaseTensor>(parts: &mut dyn Iterator<Item = T>) -> Tensor<T, 0, i64> {
    Tensor::from_raw(next_leaf(parts))
}

/// The sequence of a loop over the numbers of its trips.
#[track_caller]
pub(super) fn trip_numbers<T: BaseTensor>(op: &str, n: usize) -> (usize, Vec<T>) {
    check_possible(op, &[n]);
    (n, vec![T::discrete(&Discrete::Iota { n }, &[])])
}
