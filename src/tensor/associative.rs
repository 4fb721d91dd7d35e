//! Prefix scans by an associative operation: in one pass, or in logarithmic depth.
//!
//! Laws: both are the [`scan`](crate::scan()) from the first row on, up to the order of operations. A pass is one loop,
//! whose reverse is one loop, too. In logarithmic depth the operation is applied to stacks of rows, each level of the
//! recursion to half as many rows as the level before, so a recorded program has no loop, and about `2 n` applications in
//! `2 log2 n` bulk operations. Blelloch, *Prefix sums and their applications*, CMU-CS-90-190, 1990.

use std::cell::OnceCell;

use super::loops::sequences;
use super::rows::{Outputs, Rows};
use crate::base::BaseTensor;
use crate::ops::Linear;
use crate::shape::Shape;

/// Combines two rows, or each pair of rows of two stacks.
type Combine<'a, T> = &'a dyn Fn(&[T], &[T]) -> Vec<T>;

/// All prefixes of the rows, combined by `f`: `y[0] = x[0]`, `y[i] = f(y[i - 1], x[i])`, if `f` is associative.
///
/// `f(f(a, b), c)` must equal `f(a, f(b, c))`, up to rounding, which is not checked. Linear recurrences are of this
/// kind: the composition of maps `h -> a h + b` is `(a1, b1), (a2, b2) -> (a2 a1, a2 b1 + b2)`. The rows are combined in
/// one pass; see [`parallel_scan`] for devices with many processors.
///
/// ```
/// use polygrad::{Tensor, associative_scan, parallel_scan, tensor};
/// // h[i] = a[i] h[i - 1] + b[i], from h = 0.
/// let (a, b) = (tensor([0.0, 0.5, 2.0, 1.0]), tensor([1.0, 1.0, 1.0, 1.0]));
/// let (_, h) = associative_scan((a, b), |(a1, b1), (a2, b2)| (a2 * a1, a2 * b1 + b2));
/// assert_eq!(h, tensor([1.0, 1.5, 4.0, 5.0]));
/// assert_eq!(parallel_scan(tensor([1.0, 3.0, 2.0]), |a: &Tensor<_, 0>, b| a.max(b)), tensor([1.0, 3.0, 3.0]));
/// ```
///
/// # Panics
/// When sequences differ in length, or a result of `f` has a different shape or structure than a row.
#[track_caller]
pub fn associative_scan<T, X, R, S>(xs: X, f: impl Fn(&R, &R) -> R) -> S
where
    T: BaseTensor,
    X: Rows<T, R>,
    R: Outputs<T, S>,
{
    scanned("associative_scan", &xs, f, |xs, combine| {
        let n = xs[0].shape()[0];
        let first: Vec<T> = xs.iter().map(|x| x.linear(&Linear::row(x.shape(), 0, 0))).collect();
        let (_, later) = T::map_accum(n - 1, false, first, &rows(xs, 1, n - 1, 1), &mut |before, row| {
            let next = combine(&before, row);
            (next.clone(), next)
        });
        rows(xs, 0, 1, 1).into_iter().zip(later).map(|(first, later)| T::concat(0, &[first, later])).collect()
    })
}

/// [`associative_scan`] in logarithmic depth, for programs that are exported to devices with many processors: recorded,
/// it is bulk operations. On a processor with few cores it takes up to three times the time of `associative_scan`, and its
/// gradient up to four times.
///
/// Example: [`associative_scan`].
///
/// # Panics
/// When sequences differ in length, or a result of `f` has a different shape or structure than a row.
#[track_caller]
pub fn parallel_scan<T, X, R, S>(xs: X, f: impl Fn(&R, &R) -> R) -> S
where
    T: BaseTensor,
    X: Rows<T, R>,
    R: Outputs<T, S>,
{
    scanned("parallel_scan", &xs, f, |xs, combine| {
        let each = |left: &[T], right: &[T]| {
            let both = [left, right].concat();
            let (_, stacks) = T::map_accum(left[0].shape()[0], false, Vec::new(), &both, &mut |_, rows| {
                let (left, right) = rows.split_at(left.len());
                (Vec::new(), combine(left, right))
            });
            stacks
        };
        prefixes(xs, &each)
    })
}

/// A scan of at least two rows by `scan`, which is given the stacks and the operation on two rows.
#[track_caller]
fn scanned<T, X, R, S>(op: &str, xs: &X, f: impl Fn(&R, &R) -> R, scan: impl Fn(&[T], Combine<'_, T>) -> Vec<T>) -> S
where
    T: BaseTensor,
    X: Rows<T, R>,
    R: Outputs<T, S>,
{
    let (n, stacks) = sequences(op, xs);
    let row = |parts: &[T]| xs.row(&mut parts.iter().cloned());
    let zeros: Vec<T> = stacks.iter().map(|x| T::zeros(&x.shape()[1..], x.dtype())).collect();
    let (fault, like) = (OnceCell::new(), row(&zeros));
    let key = like.key();
    let combine = |left: &[T], right: &[T]| {
        let combined = f(&row(left), &row(right));
        let difference = key.difference_to::<T>(&|visitor| combined.visit(visitor));
        let made = if difference.is_none() { combined.leaves() } else { left.to_vec() };
        difference.map(|difference| fault.get_or_init(|| difference.words()));
        made
    };
    let scanned = if n < 2 { stacks } else { scan(&stacks, &combine) };
    if let Some((at, row, made)) = fault.get() {
        panic!(
            "{op}: two rows must be combined to what is like a row, but a row{at} is {row} and they become {made}; slice or pad \
             what the operation returns"
        );
    }
    like.stacked(&mut scanned.into_iter())
}

/// Some rows of each stack: `count` of them from `start` on, every `step`-th.
fn rows<T: BaseTensor>(xs: &[T], start: usize, count: usize, step: usize) -> Vec<T> {
    xs.iter().map(|x| x.linear(&Linear::slice(x.shape(), 0, start, count, step))).collect()
}

/// The prefixes of at least one row.
fn prefixes<T: BaseTensor>(xs: &[T], combine: Combine<'_, T>) -> Vec<T> {
    let n = xs[0].shape()[0];
    if n == 1 {
        return xs.to_vec();
    }
    // Neighbors are combined in pairs. The prefixes of the pairs are the results at odd positions; each of these
    // combined with the next row is the result at the next, even position.
    let (odds, evens) = (n / 2, n - n / 2);
    let (even, odd) = (rows(xs, 0, evens, 2), rows(xs, 1, odds, 2));
    let at_odd = prefixes(&combine(&rows(&even, 0, odds, 1), &odd), combine);
    let mut at_even = rows(xs, 0, 1, 1);
    if evens > 1 {
        let later = combine(&rows(&at_odd, 0, evens - 1, 1), &rows(&even, 1, evens - 1, 1));
        at_even =
            at_even.iter().zip(&later).map(|(first, later)| T::concat(0, &[first.clone(), later.clone()])).collect();
    }
    at_even.iter().zip(&at_odd).map(|(even, odd)| woven(even, odd)).collect()
}

/// The rows of two stacks in alternation; the first stack may have one more row.
fn woven<T: BaseTensor>(even: &T, odd: &T) -> T {
    let count = odd.shape()[0];
    let shape = |outer: &[usize]| outer.iter().chain(&odd.shape()[1..]).copied().collect::<Shape>();
    let apart = |x: &T| x.linear(&Linear::reshape(x.shape(), &shape(&[count, 1])));
    let first = even.linear(&Linear::slice(even.shape(), 0, 0, count, 1));
    let pairs = T::concat(1, &[apart(&first), apart(odd)]);
    let all = pairs.linear(&Linear::reshape(pairs.shape(), &shape(&[2 * count])));
    if even.shape()[0] == count {
        return all;
    }
    T::concat(0, &[all, even.linear(&Linear::slice(even.shape(), 0, count, 1, 1))])
}
