//! The verbs that observe a run: its cost, its text, the origin of a NaN, reads and writes out of bounds, its `debug`.
//!
//! Law: the values of the program are those of a run without the verb. The verbs run at any level: around a gradient
//! they observe the operations of the gradient, and inside a gradient they are differentiated. They observe the program
//! as it is written, not an optimized program.

use std::cell::RefCell;
use std::rc::Rc;

use super::differentiate::record::recorded;
use crate::base::{BaseTensor, Lift};
use crate::interpreters::watch::{Bends, Mark, Origin, Reads};
use crate::interpreters::{Count, Transcript, Watch};
use crate::program::{Term, interpret};
use crate::taps::printing_to;
use crate::tree::Tree;

pub use crate::cost::Cost;
pub use crate::interpreters::count::{Family, Tally};
pub use crate::interpreters::watch::{Access, Bounds, Kink, NotFinite, OutOfBounds, Summary};

/// The value of a program, and its cost: calls, work and bytes by family of operations.
///
/// Only operations that run inside the program are counted, so a pullback must be called inside the program, too.
///
/// ```
/// use polygrad::inspect::{Family, count};
/// use polygrad::{Tensor, direct, tensor};
/// let (a, x) = (tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), tensor([1.0, 1.0, 1.0]));
/// let (y, tally) = count(|x| a.lift().matvec(x).sum(), &x);
/// assert_eq!(y.item(), 21.0);
/// assert_eq!(tally.of(Family::Contract).work, 2 * 2 * 3);
/// // The cost of the gradient.
/// let (_, tally) = count(|x| direct::grad(|x| x.sin().sum(), x), &x);
/// assert_eq!(tally.of(Family::Unary).calls, 2);
/// ```
#[track_caller]
pub fn count<T, P, Y>(program: impl FnOnce(&P::With<Count<T>>) -> Y, x: &P) -> (Y::With<T>, Tally)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Count<T>>,
{
    let inputs = x.map(&mut |leaf| Count::lift(leaf.clone()));
    let (y, tally) = Count::<T>::counted(|| program(&inputs));
    (y.map(&mut |leaf| leaf.value().clone()), tally)
}

/// The value of a program, and its text: a line for each operation, in the order of execution. Of a loop, only the
/// first trip is written.
///
/// ```
/// use polygrad::{Tensor, inspect::transcript, tensor};
/// let (y, text) = transcript(|x| (x.sin() * 2.0).sum(), &tensor([0.0, 0.0]));
/// assert_eq!(y.item(), 0.0);
/// let lines: Vec<&str> = text.lines().collect();
/// assert_eq!(lines, [
///     "t0 : f64 [2] = input",
///     "t1 : f64 [2] = sin t0",
///     "t2 : f64 [2] = t1 * (full 2.0 [2])",
///     "t3 : f64 [] = sum t2",
///     "return t3",
/// ]);
/// ```
#[track_caller]
pub fn transcript<T, P, Y>(program: impl FnOnce(&P::With<Transcript<T>>) -> Y, x: &P) -> (Y::With<T>, String)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Transcript<T>>,
{
    let (y, text) = Transcript::<T>::written(|| {
        let y = program(&x.map(&mut |leaf| Transcript::input(leaf.clone())));
        Transcript::result(&y.leaves());
        y
    });
    (y.map(&mut |leaf| leaf.value().clone()), text)
}

/// The origin of the first NaN or infinity on which a result of a program depends: the operation with the user's line,
/// its operands, and the index of the element; `None` if all results are finite.
///
/// If a later operation turns an infinity into NaN, the report names both operations. A NaN or infinity on which no
/// result depends is not reported: an element of a branch that is not selected, or `exp` of a large number whose
/// reciprocal is taken. NaN and infinities in `x`, in data or in constants are reported as inputs or constants.
///
/// Around a gradient, the verb observes the operations of the derivative, and the report also names the operation that
/// is differentiated.
///
/// ```
/// use polygrad::inspect::{first_nan, first_nan_with};
/// use polygrad::{BaseTensor, Tensor, grad, tensor};
/// fn roots<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
///     x.sqrt().sum()
/// }
/// // The value is finite at 0, the gradient is not.
/// let x = tensor([0.0, 1.0]);
/// assert_eq!(first_nan(|x| roots(x), &x), None);
/// let found = first_nan(|x| grad(|x| roots(x), x), &x).expect("the gradient is not finite");
/// assert_eq!(found.derivative_of.as_deref(), Some("sqrt"));
/// println!("{found}");
/// let found = first_nan_with(|x, scale| x / scale, &x, &tensor([1.0, 0.0])).expect("1 / 0 is infinite");
/// assert_eq!((found.operation.as_str(), found.index, found.value), ("div", vec![1], f64::INFINITY));
/// ```
///
/// The program must be evaluated, not traced: a traced program has no values, so the result is `None`.
#[track_caller]
pub fn first_nan<T, P, Y>(program: impl FnOnce(&P::With<Watch<T, Origin>>) -> Y, x: &P) -> Option<NotFinite>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Watch<T, Origin>>,
{
    first_nan_with(|x, _: &()| program(x), x, &())
}

/// [`first_nan`] of a program that also takes data.
///
/// Example: [`first_nan`].
#[track_caller]
pub fn first_nan_with<T, P, Q, Y>(
    program: impl FnOnce(&P::With<Watch<T, Origin>>, &Q::With<Watch<T, Origin>>) -> Y,
    x: &P,
    data: &Q,
) -> Option<NotFinite>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Watch<T, Origin>>,
{
    let ((y, results), _) = Watch::<T, Origin>::observed(|| {
        let y = program(&inputs(x, "x"), &inputs(data, "data"));
        let results = y.leaves();
        (y, results)
    });
    let mut paths = Vec::new();
    y.paths("result", &mut paths);
    Origin::report(&results, &paths)
}

/// The operations of a program that read or write out of bounds, each with the user's line, axis, index and size.
///
/// A read out of bounds gives 0, and a write out of bounds has no effect, see [`BaseTensor`]; so evaluation does not
/// report a wrong index. This verb does: `faults` are the reads on whose zeros a result depends, and the writes that
/// drop a value. A guarded read, as in `cond(&i.eq(0), 0.0, x.at([i - 1]))`, also reads out of bounds, since both
/// branches are computed; but a result depends on its zero only if the selection chooses the branch. Reads on whose
/// zeros no result depends are in `harmless`. A product with a mask of zeros and ones is not a guard: the result counts
/// as dependent.
///
/// Padding and windows are not reads out of bounds. Around a gradient, the reads of the differentiated program are
/// reported, except those at written indices, which are known when the program is recorded.
///
/// ```
/// use polygrad::inspect::{bounds, bounds_with};
/// use polygrad::{build1, tensor};
/// let x = tensor([1.0, 4.0, 9.0]);
/// let found = bounds(|x| build1(3, |i| x.at([i + 1]) - x.at([i])), &x);
/// assert_eq!((found.faults.len(), found.faults[0].index, found.faults[0].size), (1, 3, 3));
/// println!("{found}");
/// // All reads of this program are within bounds.
/// assert!(bounds(|x| build1(2, |i| x.at([i + 1]) - x.at([i])), &x).faults.is_empty());
/// assert_eq!(bounds_with(|x, ix| x.take(ix), &x, &tensor([0, 3])).faults[0].at, [1]);
/// ```
///
/// The program must be evaluated, not traced: a traced program has no index values, so no access is reported.
#[track_caller]
pub fn bounds<T, P, Y>(program: impl FnOnce(&P::With<Watch<T, Reads<T>>>) -> Y, x: &P) -> Bounds
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Watch<T, Reads<T>>>,
{
    bounds_with(|x, _: &()| program(x), x, &())
}

/// [`bounds`] of a program that also takes data.
///
/// Example: [`bounds`].
#[track_caller]
pub fn bounds_with<T, P, Q, Y>(
    program: impl FnOnce(&P::With<Watch<T, Reads<T>>>, &Q::With<Watch<T, Reads<T>>>) -> Y,
    x: &P,
    data: &Q,
) -> Bounds
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Watch<T, Reads<T>>>,
{
    let (results, notes) = Watch::<T, Reads<T>>::observed(|| program(&inputs(x, "x"), &inputs(data, "data")).leaves());
    notes.report(&results)
}

/// The operations of a program that are at a kink, each with the user's line: there a derivative is a convention, and a
/// second derivative that passes it can be wrong without a sign.
///
/// A kink is `abs`, `relu` or a root at 0, `hypot` at the origin, a power of 0 with an exponent that is not an integer, `min`
/// and `max` of equal values, an extremum that occurs twice, and a selection at the border of its comparison, if they
/// depend on `x`. The program is recorded and optimized as [`hessian`](crate::hessian()) does it, so kinks that
/// rules remove are not reported: `x.norm().square()` has none at 0. A smooth function of a norm that is not written as
/// a function of its square, such as `(1 + r) e^-r` with `r = x.norm()`, has one: its Hessian at 0 is that of the
/// conventions, not that of the function. Write such a function of `r^2` where `r` is small.
///
/// ```
/// use polygrad::inspect::{kinks, kinks_with};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn matern<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
///     let r = x.norm();
///     (&r + 1.0) * (-&r).exp()
/// }
/// assert!(!kinks(matern, &tensor([0.0, 0.0])).is_empty());
/// assert!(kinks(matern, &tensor([0.0, 0.1])).is_empty());
/// assert!(kinks(|x: &Tensor<_, 1>| x.norm().square(), &tensor([0.0, 0.0])).is_empty());
/// // A residual of exactly 0.
/// let found = kinks_with(|x, y| (x - y).abs().sum(), &tensor([1.0, 2.0]), &tensor([0.5, 2.0]));
/// assert_eq!((found[0].operation.as_str(), found[0].index.clone()), ("abs", vec![1]));
/// ```
#[track_caller]
pub fn kinks<T, P, Y>(program: impl Fn(&P::With<Term>) -> Y, x: &P) -> Vec<Kink>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    kinks_with(|x, _: &()| program(x), x, &())
}

/// [`kinks`] of a program that also takes data, on which kinks do not depend.
///
/// Example: [`kinks`].
#[track_caller]
pub fn kinks_with<T, P, Q, Y>(program: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y, x: &P, data: &Q) -> Vec<Kink>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let (program, inputs, count) = recorded("kinks", &program, x, data).0.optimized();
    let (results, log) = Watch::<T, Bends>::observed(|| {
        let input = |(k, x): (usize, T)| if k < count { Watch::input(x, "x") } else { Watch::lift(x) };
        interpret(&program, inputs.into_iter().enumerate().map(input).collect())
    });
    log.report(&results)
}

/// The leaves as inputs of an observed program; reports name an input by the path of its leaf.
fn inputs<T: BaseTensor, P: Tree<T>, M: Mark<T>>(x: &P, name: &str) -> P::With<Watch<T, M>> {
    let mut paths = Vec::new();
    x.paths(name, &mut paths);
    let mut paths = paths.iter();
    x.map(&mut |leaf| Watch::input(leaf.clone(), paths.next().map_or(name, String::as_str)))
}

/// Runs a function, and hands each line that [`debug`](crate::Tensor::debug) prints meanwhile to a sink, in order,
/// instead of printing it to the standard error stream.
///
/// The sink belongs to this thread, on which the taps of a program run, even if other threads share its work. A program
/// that the sink itself runs prints to the standard error stream.
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use polygrad::{Tensor, inspect::debug_to, iterate, tensor};
/// let count = Rc::new(Cell::new(0));
/// let seen = count.clone();
/// let f = || iterate(5, &tensor(1.0), |_, x: Tensor<_, 0>| x.debug("x") * 2.0);
/// assert_eq!(debug_to(move |_| seen.set(seen.get() + 1), f), tensor(32.0));
/// assert_eq!(count.get(), 5);
/// ```
pub fn debug_to<R>(sink: impl FnMut(&str) + 'static, f: impl FnOnce() -> R) -> R {
    printing_to(sink, f)
}

/// The result of a function, and the lines that [`debug`](crate::Tensor::debug) prints meanwhile: see [`debug_to`].
///
/// ```
/// use polygrad::{Function, inspect::debug_lines, tensor};
/// let f = Function::stage(|x| x.debug("x") + 1.0, &tensor(1.0));
/// let (y, lines) = debug_lines(|| f.run(&tensor(2.0)));
/// assert_eq!(y, Ok(tensor(3.0)));
/// assert!(lines[0].ends_with("] x = 2.0"));
/// ```
pub fn debug_lines<R>(f: impl FnOnce() -> R) -> (R, Vec<String>) {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let seen = lines.clone();
    let y = debug_to(move |line| seen.borrow_mut().push(line.to_owned()), f);
    (y, lines.take())
}
