//! `enclose`: verified bounds of a program, and of its derivatives, over a box, by interval arithmetic.

use super::function::{Function, RunError};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::interpreters::Enclosure;
use crate::taps::caught;
use crate::tree::Tree;

/// Bounds of the results of a function over a box: `lower <= f(x) <= upper` for every `x` of the box, element by
/// element.
///
/// `f : P -> Y`, of any number and shapes of results; integers and masks have bounds, too. The bounds hold for the
/// value in exact arithmetic and for the value that the library computes: each operation is rounded outwards by the
/// error bound of its kernel. Bounds are sharp if each value is used once; several uses of a value are bounded as if
/// they were independent values of the same interval. The excess width of `f(box)` is of first order in the width of
/// the box, that of the mean value form `f(c) + f'(box) (box - c)` of second order.
///
/// Derivatives within `f` are bounded in the same way: `direct::grad` at intervals gives bounds of all slopes in the
/// box. By the mean value theorem, bounds of slopes prove monotonicity and bound differences of values where `f` is
/// continuous; at a kink they contain the slopes of both sides, but derivatives ignore jumps (`floor`, a selection
/// between branches with different values).
///
/// Conventions: a bound is NaN where the value may be NaN, so that no comparison with the bound holds; an argument with
/// a NaN bound is unknown. Bounds may be infinite, including those of arguments. Zero stands for both signed zeros: a
/// quotient is unbounded where the divisor may be 0. An undecided selection is bounded by the hull of both branches.
/// Arrays enter `f` by `lift`, as exact values.
///
/// Method: R. E. Moore, R. B. Kearfott, M. J. Cloud, "Introduction to Interval Analysis" (2009), chapters 2, 5 and 6.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, direct, enclose, enclose_with, tensor};
/// fn f<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
///     x.square() - x.sin()
/// }
/// let (lower, upper) = enclose(f, &tensor(0.0), &tensor(0.5));
/// assert!(lower.item() > -0.48 && lower.item() <= -0.479 && upper.item() >= 0.25 && upper.item() < 0.26);
/// // From 0.5 to 1 the function is increasing, since all slopes are positive.
/// let (slope, _) = enclose(|x| direct::grad(f, x), &tensor(0.5), &tensor(1.0));
/// assert!(slope.item() > 0.1);
/// let bounds = enclose_with(|x, a| x * a, &tensor(1.0), &tensor(2.0), &tensor(-3.0));
/// assert_eq!(bounds, (tensor(-6.0), tensor(-3.0)));
/// ```
///
/// # Panics
/// When the two trees differ in structure, shapes or element types, or a lower bound is larger than the upper one; when
/// `f` looks at a value whose bounds differ, or calls linear algebra or code of the host; when bounds do not decide at
/// which trip a `while_loop` ends.
#[track_caller]
pub fn enclose<P, Y>(f: impl FnOnce(&P::With<Enclosure>) -> Y, lower: &P, upper: &P) -> (Y::With<Array>, Y::With<Array>)
where
    P: Tree<Array>,
    Y: Tree<Enclosure>,
{
    enclose_with(|x, ()| f(x), lower, upper, &())
}

/// [`enclose`] of a function that also takes `data` with exact values.
///
/// Example: [`enclose`](fn@enclose).
///
/// # Panics
/// Like [`enclose`].
#[track_caller]
pub fn enclose_with<P, Q, Y>(
    f: impl FnOnce(&P::With<Enclosure>, &Q::With<Enclosure>) -> Y,
    lower: &P,
    upper: &P,
    data: &Q,
) -> (Y::With<Array>, Y::With<Array>)
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Y: Tree<Enclosure>,
{
    let y = f(&lower.with_leaves(box_of("enclose", lower, upper)), &exactly(data));
    (y.map(&mut Enclosure::lower), y.map(&mut Enclosure::upper))
}

/// Data as intervals of one point.
fn exactly<Q: Tree<Array>>(data: &Q) -> Q::With<Enclosure> {
    data.map(&mut |leaf| Enclosure::constant(leaf.clone()))
}

/// The leaves of a box as intervals.
#[track_caller]
pub(super) fn box_of<P: Tree<Array>>(verb: &str, lower: &P, upper: &P) -> Vec<Enclosure> {
    // The structures are compared here, so that a panic reports the caller's line, which a closure cannot.
    let mut pairs = Vec::new();
    lower.zip_map(upper, &mut |a, b| {
        pairs.push((a.clone(), b.clone()));
        a.clone()
    });
    boxes(verb, &pairs)
}

#[track_caller]
fn boxes(verb: &str, pairs: &[(Array, Array)]) -> Vec<Enclosure> {
    let mut leaves = Vec::with_capacity(pairs.len());
    for (number, (a, b)) in pairs.iter().enumerate() {
        match Enclosure::between(a, b) {
            Ok(leaf) => leaves.push(leaf),
            Err(fact) => panic!(
                "{verb}: a lower bound must not be larger than the upper one, but of leaf {number} {fact}; exchange them"
            ),
        }
    }
    leaves
}

impl<P: Tree<Array>, Q: Tree<Array>, Y> Function<P, Q, Y> {
    /// Bounds of the results of the optimized program for arguments from `lower` to `upper`, see [`enclose`].
    ///
    /// # Errors
    /// As for [`run_with`](Function::run_with).
    ///
    /// # Panics
    /// Like [`enclose`].
    ///
    /// Example: [`Function::enclose`].
    #[track_caller]
    pub fn enclose_with(&self, lower: &P, upper: &P, data: &Q) -> Result<(Y, Y), RunError> {
        self.fitting(lower, data)?;
        self.fitting(upper, data)?;
        let mut inputs = box_of("enclose", lower, upper);
        inputs.extend(self.constants(data).into_iter().map(Enclosure::constant));
        let results = caught(|| crate::program::interpret(self.optimized(), inputs))?;
        let side = |of: fn(&Enclosure) -> Array| self.assembled(&results.iter().map(of).collect::<Vec<Array>>());
        Ok((side(Enclosure::lower), side(Enclosure::upper)))
    }
}

impl<P: Tree<Array>, Y> Function<P, (), Y> {
    /// Bounds of the results of the optimized program for arguments from `lower` to `upper`, see [`enclose`].
    ///
    /// # Errors
    /// As for [`run_with`](Function::run_with).
    ///
    /// # Panics
    /// Like [`enclose`].
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let slope = Function::grad(|x| x.square().sum(), &tensor([0.0]));
    /// assert_eq!(slope.enclose(&tensor([-1.0]), &tensor([3.0]))?, (tensor([-2.0]), tensor([6.0])));
    /// let f = Function::grad_with(|x, a| (x.square() * a).sum(), &tensor([0.0]), &tensor([0.0]));
    /// let bounds = f.enclose_with(&tensor([1.0]), &tensor([2.0]), &tensor([3.0]))?;
    /// assert_eq!(bounds, (tensor([6.0]), tensor([12.0])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn enclose(&self, lower: &P, upper: &P) -> Result<(Y, Y), RunError> {
        self.enclose_with(lower, upper, &())
    }
}
