//! Loops cut in segments, of which a derivative keeps the states at the ends alone.
//!
//! A loop of `n` trips becomes a loop over segments; a segment is a loop that reverse mode runs again
//! ([`BaseTensor::again`]) to know the states within. A segment may itself be cut. So a derivative holds the states at
//! the ends of the segments, and, for one segment of each level at a time, the states within.
//!
//! Law: the trips, their order and their results are those of the loop. So are the cotangents of a carry; those of
//! captured values are added up segment by segment.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::base::{Again, BaseTensor, Trip};
use crate::ops::Linear;

/// How a loop is cut in segments, so that its derivative in reverse mode keeps few states: see
/// [`checkpoint`](crate::checkpoint()).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checkpoint(Limit);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Limit {
    /// The length of a segment.
    Every(usize),
    /// The number of states that are kept at once.
    States(usize),
}

/// The lengths of segments, from the outermost level inwards.
pub(crate) type Levels = SmallVec<[usize; 4]>;

/// A trip of a loop that may run again.
pub(crate) type Trips<T> = Rc<dyn Fn(Vec<T>, &[T]) -> Trip<T>>;

/// A loop over segments, each a loop of `every` trips but for the last one, which may be shorter.
///
/// A loop of `n` trips keeps for its derivative in reverse mode `n` states, and what else a trip computes that the
/// derivative needs. Cut in segments it keeps `n / every` states, and in the reverse pass those of the trips of one
/// segment, which runs a second time for this: the time of one more run of the loop for a memory of about `2 sqrt n`
/// states, if `every` is about `sqrt n`. The methods have the names of the loops that they cut, and run the same trips.
/// The body must own what it captures (`move`), since it runs again after the loop has ended.
///
/// Recorded programs and [`direct`](crate::direct) verbs save memory alike; where a `direct` verb runs while a program
/// is recorded, its derivative keeps all states. Gradients have the bits of those of the loop, but for sums over trips,
/// which are added up segment by segment.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, checkpoint, direct, grad, iterate, tensor};
///
/// fn whole<T: BaseTensor>(w: &Tensor<T, 0>) -> Tensor<T, 0> {
///     iterate(100, 0.1, |_, c: Tensor<T, 0>| (c * w + 0.1).sin())
/// }
/// fn cut<T: BaseTensor>(w: &Tensor<T, 0>) -> Tensor<T, 0> {
///     let w = w.clone();
///     checkpoint(10).iterate(100, 0.1, move |_, c: Tensor<T, 0>| (c * &w + 0.1).sin())
/// }
/// let w = tensor(0.5);
/// let slope = grad(whole, &w);
/// assert!((grad(cut, &w) - &slope).item().abs() < 1e-12);
/// assert!((direct::grad(cut, &w) - slope).item().abs() < 1e-12);
/// ```
///
/// # Panics
/// When a segment has no trips.
#[track_caller]
pub fn checkpoint(every: usize) -> Checkpoint {
    if every == 0 {
        panic!(
            "checkpoint: a segment must have a trip, but its length is 0; pass about the square root of the number of trips"
        );
    }
    Checkpoint(Limit::Every(every))
}

impl Checkpoint {
    /// Segments within segments, such that a derivative in reverse mode keeps at most so many states at once.
    ///
    /// A loop of `n` trips that is cut at `k` levels keeps about `(k + 1) n^(1 / (k + 1))` states, and runs `k` more
    /// times. As many levels are taken as the number of states asks for; a loop of fewer trips is not cut. No loop can
    /// do with fewer than about `2 log2 n` states.
    ///
    /// ```
    /// use polygrad::tensor::Checkpoint;
    /// use polygrad::{Tensor, direct, tensor};
    /// let decay = |k: &Tensor<_, 0>| {
    ///     let k = k.clone();
    ///     Checkpoint::states(30).iterate(1000, tensor(1.0).lift(), move |_, y: Tensor<_, 0>| &y - 0.001 * &k * &y)
    /// };
    /// let slope = direct::grad(decay, &tensor(1.0));
    /// assert!((slope.item() + (-1.0_f64).exp()).abs() < 1e-3);
    /// ```
    ///
    /// # Panics
    /// When there are no states.
    #[track_caller]
    pub fn states(states: usize) -> Checkpoint {
        if states == 0 {
            panic!(
                "checkpoint: a derivative must keep a state, but the number of states is 0; pass the number that fits into memory"
            );
        }
        Checkpoint(Limit::States(states))
    }

    /// The lengths of the segments of a loop of `n` trips, from the outermost level inwards.
    pub(crate) fn levels(self, n: usize) -> Levels {
        match self.0 {
            Limit::Every(every) => std::iter::once(every).filter(|every| *every < n).collect(),
            Limit::States(states) => {
                let mut best = Levels::new();
                for levels in 0..n.max(2).ilog2() as usize {
                    let next = even(n, levels);
                    if kept(n, &next) < kept(n, &best) {
                        best = next;
                    }
                    if kept(n, &best) <= states {
                        break;
                    }
                }
                best
            }
        }
    }
}

/// So many levels of segments, each cut in about as many parts.
fn even(n: usize, levels: usize) -> Levels {
    let parts = (n as f64).powf(1.0 / (levels + 1) as f64).ceil() as usize;
    let mut lengths: Levels = (1..=levels as u32).map(|k| parts.saturating_pow(k)).filter(|len| *len < n).collect();
    lengths.reverse();
    lengths
}

/// The states that are kept at once: those at the ends of the segments of one segment of each level.
fn kept(n: usize, levels: &[usize]) -> usize {
    let mut states = 0;
    let mut whole = n;
    for len in levels {
        states += whole.div_ceil(*len);
        whole = *len;
    }
    states + whole
}

/// [`BaseTensor::map_accum`], cut in segments of these lengths.
#[track_caller]
pub(crate) fn map_accum<T: BaseTensor>(
    levels: &[usize],
    (n, reverse): (usize, bool),
    init: Vec<T>,
    xs: &[T],
    step: &Trips<T>,
) -> Trip<T> {
    let Some((len, rest)) = levels.split_first().filter(|(len, _)| **len < n) else {
        return match levels {
            [] | [_] => T::map_accum(n, reverse, init, xs, &mut |c, x| step(c, x)),
            [_, rest @ ..] => map_accum(rest, (n, reverse), init, xs, step),
        };
    };
    let (len, carried, count) = (*len, init.len(), n / *len);
    let segment = |trips: usize| -> Again<T> {
        let (rest, step) = (Levels::from_slice(rest), step.clone());
        Rc::new(move |args: &[T]| {
            let (carry, rows) = args.split_at(carried);
            let (next, outputs) = map_accum(&rest, (trips, reverse), carry.to_vec(), rows, &step);
            [next, outputs].concat()
        })
    };
    let apart = |mut results: Vec<T>| {
        let outputs = results.split_off(carried);
        (results, outputs)
    };
    let whole: Vec<T> = xs.iter().map(|x| segments(&part(x, 0, count * len), count, len)).collect();
    let all = |carry: Vec<T>| {
        let f = segment(len);
        let (carry, outputs) = T::map_accum(count, reverse, carry, &whole, &mut |carry, rows| {
            apart(T::again(&f, &[&carry, rows].concat()))
        });
        (carry, outputs.iter().map(trips).collect::<Vec<T>>())
    };
    let left = n - count * len;
    if left == 0 {
        return all(init);
    }
    let end: Vec<T> = xs.iter().map(|x| part(x, count * len, left)).collect();
    let last = |carry: Vec<T>| apart(T::again(&segment(left), &[&carry[..], &end].concat()));
    let (carry, first, second) = if reverse {
        let (carry, second) = last(init);
        let (carry, first) = all(carry);
        (carry, first, second)
    } else {
        let (carry, first) = all(init);
        let (carry, second) = last(carry);
        (carry, first, second)
    };
    (carry, first.into_iter().zip(second).map(|(a, b)| T::concat(0, &[a, b])).collect())
}

/// Some rows of a stack.
fn part<T: BaseTensor>(x: &T, start: usize, count: usize) -> T {
    if (start, count) == (0, x.shape()[0]) {
        x.clone()
    } else {
        x.linear(&Linear::slice(x.shape(), 0, start, count, 1))
    }
}

/// A stack of rows as a stack of segments.
fn segments<T: BaseTensor>(x: &T, count: usize, len: usize) -> T {
    let shape = [&[count, len], &x.shape()[1..]].concat();
    x.linear(&Linear::reshape(x.shape(), &shape))
}

/// A stack of segments as a stack of rows.
fn trips<T: BaseTensor>(x: &T) -> T {
    let (count, len) = (x.shape()[0], x.shape()[1]);
    x.linear(&Linear::reshape(x.shape(), &[&[count * len], &x.shape()[2..]].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_states_are_kept_than_asked_for() {
        for n in [0, 1, 2, 3, 7, 10, 100, 101, 999, 1000, 1024, 100_000, 1_000_000] {
            assert_eq!(Checkpoint::states(n.max(1)).levels(n), Levels::new(), "{n} trips");
            let least = 4 * (n.max(2).ilog2() as usize + 1);
            for states in [least, 2 * least, (2.0 * (n as f64).sqrt()).ceil() as usize + 1] {
                let levels = Checkpoint::states(states.max(least)).levels(n);
                assert!(kept(n, &levels) <= states.max(least).min(n.max(1)), "{n} trips, {states} states: {levels:?}");
                assert!(levels.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 1), "{levels:?}");
            }
        }
        assert_eq!(Checkpoint::states(633).levels(100_000)[..], [317]);
        assert_eq!(Checkpoint::states(300).levels(1_000_000)[..], [10_000, 100]);
        assert_eq!(checkpoint(10).levels(11)[..], [10]);
        assert_eq!(checkpoint(10).levels(10), Levels::new());
    }
}
