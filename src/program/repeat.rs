//! While loops: functions that repeat a program while a mask in its carry holds.
//!
//! The program takes a carry, whose first value is a mask of rank 0, and captured values; it returns the next carry. A
//! trip runs while that mask holds. Law: a function with a bound equals the loop of that many trips in which a trip
//! after the end returns its carry ([`bounded`](crate::checkpoint::bounded)); its derivatives are those of that loop.
//!
//! Its tangents need no bound: the tangents of carries that move are carried with the values by one function of the
//! same kind ([`with_tangents`]), at dual numbers, and forwards from a delta term. It ends where the values end.

use std::sync::Arc;

use super::{Custom, CustomKind, Derivative, Program, Taking, Term, interpret, valid_by_construction};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, IntBinary, Linear};
use crate::taps::quietly;

/// The value of a mask of rank 0, if it is known.
pub(crate) fn known<T: BaseTensor>(mask: &T) -> Option<bool> {
    mask.peek().and_then(|mask| mask.as_scalar::<bool>().copied())
}

impl Custom {
    /// The results of the function at any interpreter, without rules: those of its program, of the branch that a known
    /// mask chooses, or of the trips of a while loop, by [`BaseTensor::repeat`]. It is the right [`BaseTensor::custom`]
    /// of an interpreter that computes no derivatives.
    ///
    /// ```
    /// use polygrad::ops::{Binary, Compare, Discrete};
    /// use polygrad::program::{Custom, Term};
    /// use polygrad::{Array, BaseTensor, DType};
    /// // Doubles `x` while it is less than 10.
    /// let (go, x) = (Term::variable(&[], DType::Bool), Term::variable(&[], DType::F64));
    /// let next = x.binary(Binary::Add, &x);
    /// let less = Term::discrete(&Discrete::Compare(Compare::Lt), &[&next, &Term::constant(Array::scalar(10.0))]);
    /// let body = Term::program(&[go, x], &[less, next], &[])?;
    /// let doubled = Custom::while_loop("doubled", body, None)?;
    /// assert_eq!(doubled.value(vec![Array::scalar(true), Array::scalar(3.0)])[1], Array::scalar(12.0));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Panics
    /// When the arguments do not fit the function; where [`BaseTensor::repeat`] does.
    #[track_caller]
    pub fn value<T: BaseTensor>(&self, args: Vec<T>) -> Vec<T> {
        if let Some(branches) = self.branches() {
            return self.of_branch(branches, args);
        }
        let CustomKind::While { most } = self.kind() else { return interpret(self.primal(), args) };
        let mut carry = args;
        let captured = carry.split_off(self.primal().outputs().len());
        T::repeat(*most, carry, &mut |mut carry| {
            carry.extend_from_slice(&captured);
            interpret(self.primal(), carry)
        })
    }

    /// The results of the function for an interpreter that observes operations. Where the mask has no known value, or
    /// programs are recorded, one trip stands for all.
    pub(crate) fn observed<T: BaseTensor>(&self, args: Vec<T>) -> Vec<T> {
        let CustomKind::While { most } = self.kind() else { return self.value(args) };
        let most = most.unwrap_or(usize::MAX);
        let mut carry = args;
        let captured = carry.split_off(self.primal().outputs().len());
        for _ in 0..most {
            match known(&carry[0]).filter(|_| !T::records()) {
                Some(true) => {
                    carry = interpret(self.primal(), carry.into_iter().chain(captured.iter().cloned()).collect())
                }
                Some(false) => break,
                None => {
                    carry.extend(captured);
                    return interpret(self.primal(), carry);
                }
            }
        }
        carry
    }
}

/// One masked trip: the next carry if the first value of the carry, a mask, holds, and otherwise the carry itself.
pub(crate) fn held<T: BaseTensor>(carry: Vec<T>, step: &mut dyn FnMut(Vec<T>) -> Vec<T>) -> Vec<T> {
    let go = carry[0].clone();
    // The trip of a loop that has ended has no effect: its taps do nothing.
    let ended = go.peek().is_some_and(|go| go.item::<bool>() == Ok(false));
    let next = if ended { quietly(|| step(carry.clone())) } else { step(carry.clone()) };
    let choose = |(before, next): (&T, &T)| T::select(&like(&go, before.shape()), next, before);
    let mut chosen: Vec<T> = carry.iter().zip(&next).skip(1).map(choose).collect();
    chosen.insert(0, T::discrete(&Discrete::And, &[&go, &next[0]]));
    chosen
}

/// A mask of rank 0, or with an element for each row, broadcast to a shape.
pub(crate) fn like<T: BaseTensor>(mask: &T, shape: &[usize]) -> T {
    if mask.shape() == shape {
        return mask.clone();
    }
    let axes: Vec<usize> = (0..mask.shape().len()).collect();
    mask.linear(&Linear::replicate(shape, &axes))
}

/// The program of a while loop on stacks of `n` elements, which may end at different trips. `batched` is the program on
/// stacks, whose first input is a mask with a value for each element; the result has one more mask in front, of rank 0:
/// whether any element goes on.
pub(crate) fn together(batched: &Program, n: usize) -> Program {
    let mut variables = vec![Term::variable(&[], DType::Bool)];
    variables.extend(Term::variables(batched.inputs()));
    let (carry, captured) = variables[1..].split_at(batched.outputs().len());
    let mut next = held(carry.to_vec(), &mut |carry| interpret(batched, [&carry[..], captured].concat()));
    next.insert(0, any(&next[0], n));
    closed(&variables, &next)
}

/// Whether any element of a mask of `n` elements holds.
pub(crate) fn any<T: BaseTensor>(mask: &T, n: usize) -> T {
    compare(Compare::Gt, &count(mask, n), &int(0))
}

/// How many elements of a mask of `n` elements hold.
pub(crate) fn count<T: BaseTensor>(mask: &T, n: usize) -> T {
    number(mask).linear(&Linear::sum(&[n], &[0]))
}

/// 1 where a mask holds, and 0 elsewhere.
pub(crate) fn number<T: BaseTensor>(mask: &T) -> T {
    T::discrete(&Discrete::ToInt, &[mask])
}

/// An integer.
pub(crate) fn int<T: BaseTensor>(x: i64) -> T {
    T::constant(Array::scalar(x))
}

/// An operation on integers.
pub(crate) fn ints<T: BaseTensor>(op: IntBinary, x: &T, y: &T) -> T {
    T::discrete(&Discrete::IntBinary(op), &[x, y])
}

/// A comparison.
pub(crate) fn compare<T: BaseTensor>(op: Compare, x: &T, y: &T) -> T {
    T::discrete(&Discrete::Compare(op), &[x, y])
}

/// Values with their tangents.
pub(crate) struct WithTangents<T> {
    /// Each value with its tangent, `None` for a known zero.
    pub(crate) pairs: Vec<(T, Option<T>)>,
    /// Whether tangents may be infinite or NaN where the values are finite: then products with them are guarded.
    pub(crate) steep: bool,
}

/// The results of a program for values with tangents: the derivative rule of one trip.
pub(crate) type TripRule<'a> = &'a dyn Fn(&Program, WithTangents<Term>) -> WithTangents<Term>;

/// A while loop over values and tangents: first the values of the carry, then the tangents of those that move, then the
/// same of the captured values.
pub(crate) struct PairedLoop {
    pub(crate) rule: Arc<Custom>,
    /// Whether tangents of results may be infinite or NaN where the values are finite.
    steep: bool,
    /// The arguments that move in some trip.
    moves: Vec<bool>,
    carried: usize,
}

impl PairedLoop {
    /// The loop of a while loop, under a key for the marks of the arguments that have tangents, and for whether these are
    /// steep.
    pub(crate) fn of(
        rule: &Custom,
        key: fn(Vec<bool>, bool) -> Derivative,
        (moving, steep): (Vec<bool>, bool),
        trip: TripRule<'_>,
    ) -> PairedLoop {
        let count = moving.len();
        let both = rule.derived(key(moving.clone(), steep), || carrying_tangents(rule, (moving, steep), trip));
        let carried = rule.primal().outputs().len();
        PairedLoop { rule: both.rule, steep: both.steep, moves: both.takes[count..].to_vec(), carried }
    }

    /// The arguments of the loop.
    pub(crate) fn arguments<T: BaseTensor>(&self, pairs: Vec<(T, Option<T>)>) -> Vec<T> {
        let (mut inputs, mut dots) = (Vec::with_capacity(2 * pairs.len()), Vec::new());
        for (k, (x, dot)) in pairs.into_iter().enumerate() {
            if k == self.carried {
                inputs.append(&mut dots);
            }
            if self.moves[k] {
                dots.push(dot.unwrap_or_else(|| T::zeros(x.shape(), x.dtype())));
            }
            inputs.push(x);
        }
        inputs.append(&mut dots);
        inputs
    }

    /// The position among the arguments of each value, and of its tangent if it moves.
    pub(crate) fn positions(&self) -> Vec<(usize, Option<usize>)> {
        let (mut positions, mut next) = (Vec::with_capacity(self.moves.len()), 0);
        let (carry, captured) = self.moves.split_at(self.carried);
        for moves in [carry, captured] {
            let mut dots = next + moves.len()..;
            positions
                .extend(moves.iter().enumerate().map(|(k, moves)| (next + k, if *moves { dots.next() } else { None })));
            next = dots.start;
        }
        positions
    }

    /// The results, each with its tangent.
    pub(crate) fn results<T: BaseTensor>(&self, arguments: &[T]) -> Vec<(T, Option<T>)> {
        let mut results = T::custom(&self.rule, arguments);
        let mut dots = results.split_off(self.carried).into_iter();
        let with = |(x, moves): (T, &bool)| (x, if *moves { dots.next() } else { None });
        results.into_iter().zip(&self.moves).map(with).collect()
    }
}

/// The results of a while loop for arguments with tangents, by a loop over values and tangents.
pub(crate) fn with_tangents<T: BaseTensor>(
    rule: &Custom,
    key: fn(Vec<bool>, bool) -> Derivative,
    args: WithTangents<T>,
    trip: TripRule<'_>,
) -> WithTangents<T> {
    let moving: Vec<bool> = args.pairs.iter().map(|(_, dot)| dot.is_some()).collect();
    let both = PairedLoop::of(rule, key, (moving, args.steep), trip);
    WithTangents { pairs: both.results(&both.arguments(args.pairs)), steep: both.steep }
}

/// The while loop that carries tangents with the values: first the values of the carry, then their tangents, then the
/// same of the captured values. It takes all values, and the tangents of those that move in some trip.
fn carrying_tangents(rule: &Custom, (mut moving, mut steep): (Vec<bool>, bool), trip: TripRule<'_>) -> Taking {
    let (slots, carried) = (rule.primal().inputs(), rule.primal().outputs().len());
    let x = Term::variables(slots);
    // Tangents are added to the carry, and steep ones, until each trip returns what it takes: a least fixpoint.
    let (dots, next) = loop {
        let dot = |(x, moves): (&Term, &bool)| moves.then(|| Term::variable(x.shape(), x.dtype()));
        let dots: Vec<Option<Term>> = x.iter().zip(&moving).map(dot).collect();
        let next =
            trip(rule.primal(), WithTangents { pairs: x.iter().cloned().zip(dots.iter().cloned()).collect(), steep });
        let new = |k: &usize| next.pairs[*k].1.is_some() && !moving[*k];
        let new: Vec<usize> = (0..carried).filter(new).collect();
        if new.is_empty() && next.steep <= steep {
            break (dots, next.pairs);
        }
        steep |= next.steep;
        new.into_iter().for_each(|k| moving[k] = true);
    };
    let all = |x: &[Term], dots: &[Option<Term>]| [x.to_vec(), dots.iter().flatten().cloned().collect()].concat();
    let inputs = [all(&x[..carried], &dots[..carried]), all(&x[carried..], &dots[carried..])].concat();
    let mut results: Vec<Term> = next.iter().map(|(y, _)| y.clone()).collect();
    for ((y, dot), _) in next.into_iter().zip(&moving).filter(|(_, moves)| **moves) {
        results.push(dot.unwrap_or_else(|| Term::zeros(y.shape(), y.dtype())));
    }
    let most = if let CustomKind::While { most } = rule.kind() { *most } else { None };
    // A carry with tangents is a carry.
    let both = valid_by_construction(Custom::while_loop(rule.name(), closed(&inputs, &results), most));
    Taking { rule: Arc::new(both), takes: [vec![true; x.len()], moving].concat(), steep }
}

/// The program from variables to results that depend on no other variables.
pub(crate) fn closed(inputs: &[Term], results: &[Term]) -> Program {
    valid_by_construction(Term::program(inputs, results, &[]))
}
