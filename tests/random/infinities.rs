//! What a program does with infinities and NaN, where pipelines may differ by more than rounding and all are right.
//!
//! A contraction that sums over an axis along which one of its factors is the same may sum the other factor first, so `inf (b + c)` is
//! computed in place of `inf b + inf c`: one is NaN where `b` and `c` differ in sign or one is zero, and the other need not
//! be. The rules of a recorded program do that, as the README says. So where an infinity is such a factor, and only there, a
//! NaN of the program as it is written may be a number in another pipeline, and so may what it decides: a mask, an order.
//!
//! An infinity may be NaN in another pipeline, so an integer made of one shows nothing. And the derivative of a value that is
//! finite again after an infinity, as `1 / (1 / x)` at 0, is whatever the guards of both operations say; a program that
//! knows it to be `x` has another one. So is that of a number whose reciprocal is out of range, or so large that its
//! multiples do not cancel, as of `x / x` at 1e-310, and that of a NaN which a loop discards. The rule of replicated
//! divisors takes an infinite one for the factor 0, and one whose reciprocal is infinite for an infinity; forward mode has
//! no guards behind a guarded quotient of zeros. Second derivatives of squares of roots and of absolute values at 0 are
//! smooth if the program is recorded, and 0 by running.

use std::cell::Cell;

use polygrad::ops::{Binary, Contract, Discrete, Unary, View};
use polygrad::shape::size;
use polygrad::{Array, BaseTensor, DType};

use crate::pipelines::floats;

/// A row of either table.
#[derive(Clone, Copy)]
pub(crate) enum Row {
    Unary(Unary),
    Binary(Binary),
}

/// What was seen of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// An infinity was multiplied with a sum.
    pub(crate) multiplied: bool,
    /// A mask, an integer or an order was made of a NaN.
    pub(crate) decided: bool,
    /// An integer was made of a number that is not finite.
    pub(crate) integer: bool,
    /// A finite number was made of an infinity.
    pub(crate) returned: bool,
    /// NaN was made of numbers.
    pub(crate) undefined: bool,
    /// An operand was a number other than zero with so large a reciprocal that sums with it lose what is near 1.
    pub(crate) tiny: bool,
    /// The divisor of a guarded quotient was infinite, or its reciprocal was.
    pub(crate) divided: bool,
    /// A root, length or absolute value was 0.
    pub(crate) kink: bool,
}

thread_local! {
    /// What was seen, if somebody looks.
    static SEEN: Cell<Option<Seen>> = const { Cell::new(None) };
}

/// Notes something, if somebody looks and it holds.
fn seen(what: impl FnOnce(&mut Seen) -> Option<()>) {
    if let Some(mut all) = SEEN.get()
        && what(&mut all).is_some()
    {
        SEEN.set(Some(all));
    }
}

/// Whether a factor is an infinity at two indices of the iteration space that differ along an axis, and is the same there: its view
/// looks at one element, or its elements are copies.
fn repeats_infinity(values: &[f64], view: &View, axis: usize) -> bool {
    let shape = view.shape();
    let value = |index: &[usize]| {
        let at = view.at(index)?;
        Some(values[at.iter().zip(view.source()).fold(0, |flat, (i, n)| flat * n + i)])
    };
    let mut index = vec![0; shape.len()];
    (0..size(shape)).any(|mut flat| {
        for (i, n) in index.iter_mut().zip(shape).rev() {
            (*i, flat) = (flat % n, flat / n);
        }
        let here = value(&index).filter(|x| x.is_infinite() && index[axis] + 1 < shape[axis]);
        index[axis] += 1;
        here.is_some() && here == value(&index)
    })
}

fn any<T: BaseTensor>(x: &T, what: impl Fn(&f64) -> bool) -> bool {
    x.dtype().is_float() && x.peek().is_some_and(|x| floats(&x).iter().any(what))
}

/// Looks at the factors of a contraction.
pub(crate) fn note<T: BaseTensor>(op: &Contract, a: &T, b: &T) {
    let repeated = |factor: &View, x: &T| {
        let values = x.peek().filter(|_| any(x, |x| x.is_infinite())).map(|x| floats(&x));
        let summed = |axis: usize| (0..op.out.source().len()).all(|row| op.out.row(row)[axis] == 0);
        let axes = 0..factor.shape().len();
        values
            .is_some_and(|values| axes.into_iter().any(|axis| summed(axis) && repeats_infinity(&values, factor, axis)))
    };
    seen(|all| {
        let found = repeated(&op.a, a) || repeated(&op.b, b);
        found.then(|| all.multiplied = true)
    });
}

/// Looks at the operand of which masks, integers or positions are made.
pub(crate) fn note_decision<T: BaseTensor>(op: &Discrete, x: &T) {
    seen(|all| {
        all.decided |= any(x, |x| x.is_nan());
        all.integer |= *op == Discrete::ToInt && any(x, |x| !x.is_finite());
        Some(())
    });
}

/// Looks at operands and the result of an elementwise function of floats.
pub(crate) fn note_values<T: BaseTensor>(operands: &[&T], result: &T) {
    seen(|all| {
        let of = |what: fn(&f64) -> bool| operands.iter().any(|x| any(*x, what));
        all.returned |= of(|x| x.is_infinite()) && any(result, |y| y.is_finite());
        all.undefined |= any(result, |y| y.is_nan()) && !of(|x| x.is_nan());
        let large = if result.dtype() == DType::F32 { 1e6 } else { 1e15 };
        all.tiny |= operands.iter().any(|x| any(*x, |x| *x != 0.0 && x.recip().abs() > large));
        Some(())
    });
}

/// Looks at operands and the result of rows that rules or guards know.
pub(crate) fn note_row<T: BaseTensor>(op: Row, x: &T, result: &T) {
    let is_zero = |x: &f64| *x == 0.0;
    seen(|all| {
        match op {
            Row::Unary(Unary::Abs | Unary::Sqrt) | Row::Binary(Binary::Hypot) => all.kink |= any(result, is_zero),
            Row::Binary(Binary::DivNoNan) => {
                let least = if x.dtype() == DType::F32 { f64::from(f32::MAX).recip() } else { f64::MAX.recip() };
                all.divided |= any(x, |y| y.is_infinite() || (*y != 0.0 && y.abs() < least));
                all.returned |= any(x, is_zero);
            }
            Row::Unary(_) | Row::Binary(_) => {}
        }
        Some(())
    });
}

/// What a run does.
pub(crate) fn seen_in(run: impl FnOnce() -> Vec<Array>) -> Seen {
    SEEN.set(Some(Seen::default()));
    let _ = run();
    SEEN.take().unwrap_or_default()
}

#[test]
fn an_infinite_factor_of_a_sum_is_seen() {
    let op = Contract::axes(&[2, 3], &[0], &[0, 1], &[0]);
    let (finite, b) = (Array::full(&[2], 1.0), Array::full(&[2, 3], 1.0));
    let infinite = |shape: &[usize]| Array::full(shape, f64::INFINITY);
    let seen = |a: &Array, b: &Array| {
        let noted = || {
            note(&op, a, b);
            Vec::new()
        };
        seen_in(noted).multiplied
    };
    assert!(seen(&infinite(&[2]), &b));
    // Copies along the axis that is summed, as of a number that was replicated, and one infinity.
    assert!(seen(&finite, &infinite(&[2, 3])));
    let one = Array::new(&[2, 3], vec![f64::INFINITY, 1.0, f64::NEG_INFINITY, 1.0, f64::INFINITY, 1.0]);
    assert!(!seen(&finite, &one) && !seen(&finite, &b));
}

#[test]
fn integers_of_infinities_and_ways_back_from_them_are_seen() {
    let x = Array::new(&[2], vec![1.0, f64::INFINITY]);
    let noted = |x: &Array| {
        seen_in(|| {
            note_decision(&Discrete::ToInt, x);
            note_values(&[x], &x.unary(Unary::Recip));
            Vec::new()
        })
    };
    let expected = Seen { integer: true, returned: true, ..Seen::default() };
    assert_eq!((noted(&x), noted(&Array::full(&[2], 2.0))), (expected, Seen::default()));
}

#[test]
fn what_is_out_of_range_or_undefined_is_seen() {
    let noted = |op: Binary, x: f64, y: f64| {
        let [x, y] = [x, y].map(Array::scalar);
        seen_in(|| {
            note_values(&[&x, &y], &x.binary(op, &y));
            note_row(Row::Binary(op), &y, &x.binary(op, &y));
            Vec::new()
        })
    };
    let none = Seen::default();
    assert_eq!(noted(Binary::Mul, 0.0, 2.0), none);
    assert_eq!(noted(Binary::Mul, 1e-310, 2.0), Seen { tiny: true, ..none });
    assert_eq!(noted(Binary::Div, 0.0, 0.0), Seen { undefined: true, ..none });
    assert_eq!(noted(Binary::Mul, 0.0, f64::NAN), none);
    assert_eq!(noted(Binary::DivNoNan, 1.0, f64::INFINITY), Seen { returned: true, divided: true, ..none });
    assert_eq!(noted(Binary::DivNoNan, 0.0, 0.0), Seen { returned: true, ..none });
    assert_eq!(noted(Binary::DivNoNan, 1e-310, 1e-310), Seen { tiny: true, divided: true, ..none });
    assert_eq!(noted(Binary::DivNoNan, 1e-308, 1e-308), Seen { tiny: true, ..none });
    assert_eq!(noted(Binary::Hypot, 0.0, 0.0), Seen { kink: true, ..none });
}
