//! Elementwise loops: a function of one, two or three numbers at every element of slices.

#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// An operand: a slice, or one number for all elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a, E> {
    /// A separate element for each element of the output.
    Slice(&'a [E]),
    /// The same number for all elements of the output.
    Scalar(E),
}

/// An operand of a loop over positions, with an element at each position.
pub(crate) trait At: Copy {
    type Element;
    fn at(self, i: usize) -> Self::Element;
    /// Whether there is an element at each position below the length.
    fn fits(self, len: usize) -> bool;
}

impl<E: Copy> At for &[E] {
    type Element = E;
    #[inline(always)]
    fn at(self, i: usize) -> E {
        self[i]
    }
    #[inline(always)]
    fn fits(self, len: usize) -> bool {
        self.len() == len
    }
}

/// One number at every position.
#[derive(Clone, Copy)]
pub(crate) struct Same<E>(pub(crate) E);

impl<E: Copy> At for Same<E> {
    type Element = E;
    #[inline(always)]
    fn at(self, _: usize) -> E {
        self.0
    }
    #[inline(always)]
    fn fits(self, _: usize) -> bool {
        true
    }
}

/// A function of three numbers that is compiled for each kind of machine.
pub(crate) trait Triple<A, B, R>: Copy {
    fn at<M: Machine>(self, x: A, y: B, z: B) -> R;
}

/// A function of one number that is compiled for each kind of machine.
pub(crate) trait Map<A, R>: Copy {
    fn at<M: Machine>(self, x: A) -> R;
}

/// A function of two numbers that is compiled for each kind of machine.
pub(crate) trait Zip<A, B, R>: Copy {
    fn at<M: Machine>(self, x: A, y: B) -> R;
}

/// A function of one number that is accurate only at ordinary arguments; at others, the loop falls back to the row.
pub(crate) trait Guarded<E>: Map<E, E> {
    /// Whether the function is accurate at this argument.
    fn is_ordinary(x: E) -> bool;
    /// The row.
    fn row(x: E) -> E;
}

/// A function of two numbers that is accurate only at some arguments; at others, the loop falls back to the row.
pub(crate) trait GuardedZip<E>: Copy {
    /// The result, and whether it is accurate.
    fn at<M: Machine>(self, x: E, y: E) -> (E, bool);
    /// The row.
    fn row(x: E, y: E) -> E;
}

/// A function that has the same bits on every machine: a row of a table.
#[derive(Clone, Copy)]
pub(crate) struct TableRow<F>(pub(crate) F);

impl<A, R, F: Fn(A) -> R + Copy> Map<A, R> for TableRow<F> {
    #[inline(always)]
    fn at<M: Machine>(self, x: A) -> R {
        (self.0)(x)
    }
}

impl<A, B, R, F: Fn(A, B) -> R + Copy> Zip<A, B, R> for TableRow<F> {
    #[inline(always)]
    fn at<M: Machine>(self, x: A, y: B) -> R {
        (self.0)(x, y)
    }
}

/// A function of two numbers with a constant first argument.
#[derive(Clone, Copy)]
struct WithFirst<F, A>(F, A);

impl<A: Copy, B, R, F: Zip<A, B, R>> Map<B, R> for WithFirst<F, A> {
    #[inline(always)]
    fn at<M: Machine>(self, y: B) -> R {
        self.0.at::<M>(self.1, y)
    }
}

/// A function of two numbers with a constant second argument.
#[derive(Clone, Copy)]
pub(super) struct WithSecond<F, B>(pub(super) F, pub(super) B);

impl<A, B: Copy, R, F: Zip<A, B, R>> Map<A, R> for WithSecond<F, B> {
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
    // Conversions gain most: of integers to floats, and of masks, which are registers there.
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Each { f, x, out } = self;
        let n = out.len();
        // With lengths that are known to be equal, the loop has no bounds checks.
        let x = &x[..n];
        for i in 0..n {
            out[i] = f.at::<M>(x[i]);
        }
    }
}

/// The number of elements that share one test for arguments that are not ordinary.
const BLOCK: usize = 256;

struct EachGuarded<'a, F, E> {
    f: F,
    x: &'a [E],
    out: &'a mut [E],
}

impl<E: Copy, F: Guarded<E>> Kernel for EachGuarded<'_, F, E> {
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        for (out, x) in self.out.chunks_mut(BLOCK).zip(self.x.chunks(BLOCK)) {
            let mut ordinary = true;
            let x = &x[..out.len()];
            for i in 0..out.len() {
                out[i] = self.f.at::<M>(x[i]);
                ordinary &= F::is_ordinary(x[i]);
            }
            if !ordinary {
                mend::<E, F>(x, out);
            }
        }
    }
}

/// Recomputes the elements whose arguments are not ordinary, by the row.
#[cold]
#[inline(never)]
fn mend<E: Copy, F: Guarded<E>>(x: &[E], out: &mut [E]) {
    for (out, x) in out.iter_mut().zip(x).filter(|(_, x)| !F::is_ordinary(**x)) {
        *out = F::row(*x);
    }
}

struct PairsGuarded<'a, F, E> {
    f: F,
    x: &'a [E],
    y: &'a [E],
    out: &'a mut [E],
}

impl<E: Copy, F: GuardedZip<E>> Kernel for PairsGuarded<'_, F, E> {
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let PairsGuarded { f, x, y, out } = self;
        let n = out.len();
        let (x, y) = (&x[..n], &y[..n]);
        let mut right = true;
        for i in 0..n {
            let (z, ok) = f.at::<M>(x[i], y[i]);
            out[i] = z;
            right &= ok;
        }
        if !right {
            mend_pairs::<M, E, F>(f, x, y, out);
        }
    }
}

/// Recomputes the elements at which the function is not accurate, by the row.
#[cold]
#[inline(never)]
fn mend_pairs<M: Machine, E: Copy, F: GuardedZip<E>>(f: F, x: &[E], y: &[E], out: &mut [E]) {
    for i in 0..out.len() {
        let (x, y) = (x[i], y[i]);
        if !f.at::<M>(x, y).1 {
            out[i] = F::row(x, y);
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
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Pairs { f, x, y, out } = self;
        let n = out.len();
        let (x, y) = (&x[..n], &y[..n]);
        for i in 0..n {
            out[i] = f.at::<M>(x[i], y[i]);
        }
    }
}

struct Triples<'a, F, A, Y, Z, R> {
    f: F,
    x: &'a [A],
    y: Y,
    z: Z,
    out: &'a mut [R],
}

impl<A, R, F, Y, Z> Kernel for Triples<'_, F, A, Y, Z, R>
where
    A: Copy,
    Y: At,
    Z: At<Element = Y::Element>,
    F: Triple<A, Y::Element, R>,
{
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Triples { f, x, y, z, out } = self;
        let n = out.len();
        // With lengths that are checked here, the loop has no bounds checks.
        assert!(x.len() == n && y.fits(n) && z.fits(n), "an operand has the length of the output");
        for i in 0..n {
            out[i] = f.at::<M>(x[i], y.at(i), z.at(i));
        }
    }
}

/// The function at each triple of elements.
pub(crate) fn triples<A: Copy, B: Copy, R>(
    isa: Isa,
    f: impl Triple<A, B, R>,
    x: &[A],
    // By reference: a copy of two words that have just been written one by one waits for both writes.
    y: &Arg<'_, B>,
    z: &Arg<'_, B>,
    out: &mut [R],
) {
    match (y, z) {
        (Arg::Slice(y), Arg::Slice(z)) => dispatch(isa, Triples { f, x, y: *y, z: *z, out }),
        (Arg::Slice(y), Arg::Scalar(z)) => dispatch(isa, Triples { f, x, y: *y, z: Same(*z), out }),
        (Arg::Scalar(y), Arg::Slice(z)) => dispatch(isa, Triples { f, x, y: Same(*y), z: *z, out }),
        (Arg::Scalar(y), Arg::Scalar(z)) => dispatch(isa, Triples { f, x, y: Same(*y), z: Same(*z), out }),
    }
}

/// The function at each element.
pub(crate) fn each<A: Copy, R>(isa: Isa, f: impl Map<A, R>, x: &[A], out: &mut [R]) {
    assert_eq!(x.len(), out.len(), "an operand has the length of the output");
    dispatch(isa, Each { f, x, out });
}

/// The function at each element, for functions that spend most of the time in a library: one loop serves all machines.
pub(crate) fn each_by_library<E: Copy>(f: impl Fn(E) -> E, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "an operand has the length of the output");
    out.iter_mut().zip(x).for_each(|(out, x)| *out = f(*x));
}

/// The function at each pair of elements, for functions that spend most of the time in a library: one loop serves all
/// machines and kinds of operands.
pub(crate) fn pairs_by_library<E: Copy>(f: impl Fn(E, E) -> E, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    let at = |arg: Arg<'_, E>, i: usize| match arg {
        Arg::Slice(v) => v[i],
        Arg::Scalar(x) => x,
    };
    for i in 0..out.len() {
        out[i] = f(at(x, i), at(y, i));
    }
}

/// The function at each ordinary element, and the row at the others.
pub(crate) fn each_guarded<E: Copy>(isa: Isa, f: impl Guarded<E>, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "an operand has the length of the output");
    dispatch(isa, EachGuarded { f, x, out });
}

/// The function at each pair of elements of two slices.
pub(super) fn slices<A: Copy, B: Copy, R: Copy>(isa: Isa, f: impl Zip<A, B, R>, x: &[A], y: &[B], out: &mut [R]) {
    assert!(x.len() == out.len() && y.len() == out.len(), "an operand has the length of the output");
    dispatch(isa, Pairs { f, x, y, out });
}

/// The function at each pair of elements.
pub(crate) fn pairs<A: Copy, B: Copy, R: Copy>(
    isa: Isa,
    f: impl Zip<A, B, R>,
    x: Arg<'_, A>,
    y: Arg<'_, B>,
    out: &mut [R],
) {
    match (x, y) {
        (Arg::Slice(x), Arg::Slice(y)) => slices(isa, f, x, y, out),
        (Arg::Slice(x), Arg::Scalar(y)) => each(isa, WithSecond(f, y), x, out),
        (Arg::Scalar(x), Arg::Slice(y)) => each(isa, WithFirst(f, x), y, out),
        (Arg::Scalar(x), Arg::Scalar(y)) => {
            if let Some((first, rest)) = out.split_first_mut() {
                each(isa, WithSecond(f, y), &[x], std::slice::from_mut(first));
                rest.fill(*first);
            }
        }
    }
}

/// The blocks of an operand: of a slice, or equal ones of one number.
enum OperandBlocks<'a, E> {
    Slice(&'a [E]),
    Spread([E; BLOCK]),
}

/// The function at each pair of elements at which it is accurate, and the row at the others. A scalar operand is
/// broadcast over a block, so that one loop serves all kinds of operands; the function takes much longer than that.
pub(crate) fn pairs_guarded<E: Copy>(isa: Isa, f: impl GuardedZip<E>, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    let fits = |arg: Arg<'_, E>| if let Arg::Slice(v) = arg { v.len() == out.len() } else { true };
    assert!(fits(x) && fits(y), "an operand has the length of the output");
    let operands = [x, y].map(|arg| match arg {
        Arg::Slice(v) => OperandBlocks::Slice(v),
        Arg::Scalar(x) => OperandBlocks::Spread([x; BLOCK]),
    });
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let [x, y] = operands.each_ref().map(|operand| match operand {
            OperandBlocks::Slice(v) => &v[block * BLOCK..][..out.len()],
            OperandBlocks::Spread(same) => &same[..out.len()],
        });
        dispatch(isa, PairsGuarded { f, x, y, out });
    }
}
