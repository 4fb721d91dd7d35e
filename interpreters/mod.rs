//! The interpreters: each gives one meaning to the language, by implementing [`BaseTensor`]. In reading order:
//!
//! * [`concrete`]: evaluation. The meaning of a program is its value.
//! * [`dual`]: forward-mode differentiation over any interpreter: a value and its tangent.
//! * [`jet`]: Taylor series over any interpreter: a value and the coefficients of its powers.
//! * [`adval`]: reverse-mode differentiation over any interpreter: a value and a `Delta` term, the linear map from the
//!   tangents of the inputs to that of the value, of which the transpose is evaluated.
//! * [`tower`]: forward and reverse mode at levels that are known at run time, over any interpreter.
//! * [`shapes`]: the smallest interpreter. The meaning of a program is the shapes it computes.
//! * [`sparsity`]: the inputs on which each element of a value depends.
//! * [`enclosure`]: bounds of each element of a value, for inputs within bounds.
//! * [`rounding`]: a bound of the rounding error of each element of a value, over an interpreter of bounds.
//! * [`count`]: the cost of a program, over any interpreter.
//! * [`transcript`]: the text of a program, written while it runs, over any interpreter.
//! * [`watch`]: observation of each value of a program, over any interpreter: origins of NaN, indices out of bounds.
//! * [`higher`]: instances of the higher-order language, with tensors of any interpreter.
//!
//! `guarded`, `level`, `scope`, `trips`, `scattered`, `span` and `bounded` are no interpreters: they have products of
//! derivatives with infinite factors, the levels of tangents, the
//! state of observers, the loop of interpreters that run trip by trip, cotangents of arrays that are read at indices, the
//! critical path of a counted program, and what interpreters of bounds show. Compiled programs run in [`backend`](crate::backend).
//!
//! Law: no interpreter names another. An interpreter over an interpreter is generic in it, so interpreters nest in any
//! order and to any depth. This module chooses between interpreters, see `run_once`, `push_primitive` and
//! `pull_primitive`, and so does `tower`, between the two modes of differentiation.

use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::higher::primitive::leaves;
use crate::higher::{Ground, Primitive};
use crate::program::{Program, interpret};

pub mod adval;
pub mod ast;
pub mod bounded;
pub mod concrete;
pub mod count;
pub mod dual;
pub mod enclosure;
mod guarded;
pub mod higher;
pub mod jet;
mod level;
pub mod rounding;
mod scattered;
pub mod scope;
pub mod shapes;
mod span;
pub mod sparsity;
pub mod tower;
pub mod transcript;
mod trips;
pub mod watch;

pub use adval::ADVal;
pub use ast::Ast;
pub use concrete::Concrete;
pub use count::Count;
pub use dual::Dual;
pub use enclosure::Enclosure;
pub use jet::Jet;
pub use rounding::Rounding;
use scattered::ArrayCotangent;
pub use shapes::Shapes;
pub use sparsity::Sparsity;
pub use tower::Tower;
pub use transcript::Transcript;
pub use watch::Watch;

/// The results of a program of arrays that runs once: compiled if compilation is estimated to pay, otherwise
/// interpreted.
pub(crate) fn run_once(program: &Program, inputs: Vec<Array>) -> Vec<Array> {
    if crate::backend::is_off() || !crate::backend::pays_once(program) {
        return interpret(program, inputs);
    }
    crate::backend::compile(program).run(&inputs)
}

/// (Co)tangents of tensors; `None` for zeros.
pub(crate) type Tangents<T> = Vec<Option<T>>;

/// The tangents of the results of a primitive, from those of its arguments: the primitive runs at dual numbers.
pub(crate) fn push_primitive<T: BaseTensor, P: Primitive>(p: &P, at: &[T], x_dots: &[Option<T>]) -> Tangents<T> {
    if x_dots.iter().all(Option::is_none) {
        return vec![None; leaves(&P::Cod::layout())];
    }
    let sweep = dual::Forward::new();
    let inputs: Vec<Dual<T>> = at
        .iter()
        .zip(x_dots)
        .map(|(x, x_dot)| match x_dot {
            Some(x_dot) => sweep.input(x, x_dot),
            None => <Dual<T> as Lift<T>>::lift(x.clone()),
        })
        .collect();
    let results = p.run(&inputs);
    results.iter().map(|y| y.dtype().is_float().then(|| sweep.result(y).1)).collect()
}

/// The cotangents of the arguments of a primitive, from those of its results: the primitive runs in reverse mode.
pub(crate) fn pull_primitive<T: BaseTensor, P: Primitive>(p: &P, at: &[T], y_bars: &[Option<T>]) -> Tangents<T> {
    let found = pull_needed(p, at, &vec![true; at.len()], y_bars).into_iter();
    found.map(|ct| ct.map(ArrayCotangent::dense)).collect()
}

/// [`pull_primitive`] of those arguments that need a cotangent; the others are constants, and get none. The cotangent of an
/// argument that is read at indices alone is zero elsewhere.
pub(crate) fn pull_needed<T: BaseTensor, P: Primitive>(
    p: &P,
    at: &[T],
    needed: &[bool],
    y_bars: &[Option<T>],
) -> Vec<Option<ArrayCotangent<T>>> {
    if !needed.contains(&true) {
        return at.iter().map(|_| None).collect();
    }
    let mut sweep = adval::Sweep::new();
    let mut input = |(x, needed): (&T, &bool)| if *needed { sweep.input(x) } else { ADVal::lift(x.clone()) };
    let inputs: Vec<ADVal<T>> = at.iter().zip(needed).map(&mut input).collect();
    let (mut results, mut cotangents) = (Vec::new(), Vec::new());
    for (y, y_bar) in p.run(&inputs).into_iter().zip(y_bars) {
        if let Some(y_bar) = y_bar {
            results.push(y);
            cotangents.push(y_bar.clone());
        }
    }
    let mut x_bars = sweep.pull_scattered(&results, cotangents).into_iter();
    needed.iter().map(|needed| if *needed { x_bars.next().flatten() } else { None }).collect()
}
