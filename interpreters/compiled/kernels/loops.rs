//! The loops: a function of one, two or three numbers at every element of slices.

use super::isa::{Isa, Kernel, Machine, dispatch};

/// An operand: a slice, or one number for all elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a, E> {
    /// An element of its own for each element of the output.
    Slice(&'a [E]),
    /// The same number for all elements of the output.
    Scalar(E),
}

/// A function of one number that may be compiled in several ways.
pub(super) trait Map<A, R>: Copy {
    fn at<M: Machine>(self, x: A) -> R;
}

/// A function of two numbers that may be compiled in several ways.
pub(super) trait Zip<A, B, R>: Copy {
    fn at<M: Machine>(self, x: A, y: B) -> R;
}

/// A function that is the same on every machine: a row of a table.
#[derive(Clone, Copy)]
pub(super) struct Row<F>(pub(super) F);

impl<A, R, F: Fn(A) -> R + Copy> Map<A, R> for Row<F> {
    #[inline(always)]
    fn at<M: Machine>(self, x: A) -> R {
        (self.0)(x)
    }
}

impl<A, B, R, F: Fn(A, B) -> R + Copy> Zip<A, B, R> for Row<F> {
    #[inline(always)]
    fn at<M: Machine>(self, x: A, y: B) -> R {
        (self.0)(x, y)
    }
}

/// A function of two numbers whose first is given.
#[derive(Clone, Copy)]
struct First<F, A>(F, A);

impl<A: Copy, B, R, F: Zip<A, B, R>> Map<B, R> for First<F, A> {
    #[inline(always)]
    fn at<M: Machine>(self, y: B) -> R {
        self.0.at::<M>(self.1, y)
    }
}

/// A function of two numbers whose second is given.
#[derive(Clone, Copy)]
struct Second<F, B>(F, B);

impl<A, B: Copy, R, F: Zip<A, B, R>> Map<A, R> for Second<F, B> {
    #[inline(always)]
    fn at<M: Machine>(self, x: A) -> R {
        self.0.at::<M>(x, self.1)
    }
}

struct Each<'a, F, A, R> {
    f: F,
    x: &'a [A],
    out: &'a mut [R],
}

impl<A: Copy, R, F: Map<A, R>> Kernel for Each<'_, F, A, R> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        for (out, x) in self.out.iter_mut().zip(self.x) {
            *out = self.f.at::<M>(*x);
        }
    }
}

struct Pairs<'a, F, A, B, R> {
    f: F,
    x: &'a [A],
    y: &'a [B],
    out: &'a mut [R],
}

impl<A: Copy, B: Copy, R, F: Zip<A, B, R>> Kernel for Pairs<'_, F, A, B, R> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        for ((out, x), y) in self.out.iter_mut().zip(self.x).zip(self.y) {
            *out = self.f.at::<M>(*x, *y);
        }
    }
}

/// The function at each element.
pub(super) fn each<A: Copy, R>(isa: Isa, f: impl Map<A, R>, x: &[A], out: &mut [R]) {
    assert_eq!(x.len(), out.len(), "an operand has the length of the output");
    dispatch(isa, Each { f, x, out });
}

/// The function at each pair of elements.
pub(super) fn pairs<A: Copy, B: Copy, R: Copy>(
    isa: Isa,
    f: impl Zip<A, B, R>,
    x: Arg<'_, A>,
    y: Arg<'_, B>,
    out: &mut [R],
) {
    match (x, y) {
        (Arg::Slice(x), Arg::Slice(y)) => {
            assert!(x.len() == out.len() && y.len() == out.len(), "an operand has the length of the output");
            dispatch(isa, Pairs { f, x, y, out });
        }
        (Arg::Slice(x), Arg::Scalar(y)) => each(isa, Second(f, y), x, out),
        (Arg::Scalar(x), Arg::Slice(y)) => each(isa, First(f, x), y, out),
        (Arg::Scalar(x), Arg::Scalar(y)) => out.fill(f.at::<super::isa::Plain>(x, y)),
    }
}
