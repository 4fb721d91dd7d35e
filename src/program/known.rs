//! Values of terms that depend on no variable, computed while a program is traced.
//!
//! Such a value does not depend on the inputs of a later run. It is computed on demand, operation by operation in the
//! order of the trace, and cached in the term. Law: the value is that of the same operations on arrays, so host code
//! that branches on the value takes the branch that it takes on arrays.

use std::any::Any;
use std::cell::OnceCell;

use super::interpret::run_loop;
use super::{Loop, Op, OpClass, Term};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::Call;
use crate::shape::size;

/// The largest number of elements of an operation that is computed while a program is traced: enough for a counter or a
/// small table, at a negligible cost.
const LARGEST: usize = 4096;

/// The values of the results of an operation, computed on demand.
pub(super) enum KnownResults {
    /// The values depend on a variable, or are not computed while a program is traced.
    Never,
    /// The values depend on no variable: one for each result, once computed.
    Once(Box<OnceCell<Box<[Array]>>>),
    /// The term is a variable that stands for this value of an interpreter, whose type has this name.
    Captured(Box<dyn Any>, &'static str),
}

impl KnownResults {
    /// Whether the values of an operation can be known, if its result has this shape.
    pub(super) fn of(op: &Op<Term>, shape: &[usize]) -> KnownResults {
        let small = match op.class() {
            // A variable is unknown, and a constant needs no computation.
            OpClass::Input(_) | OpClass::Constant(_) => false,
            // Host code runs when the program runs, and a function with rules may be a loop without an end.
            OpClass::Call(Call::External(_) | Call::Tap(_), _) | OpClass::Custom(..) => false,
            OpClass::Call(Call::Matrix(_), args) => args.iter().all(|a| size(a.sizes()) <= LARGEST),
            OpClass::Loop(l) => elements(l) <= LARGEST,
            OpClass::Single(_) | OpClass::Output(..) => size(shape) <= LARGEST,
        };
        let mut closed = small;
        op.operands(&mut |a| closed &= a.is_closed());
        if closed { KnownResults::Once(Box::default()) } else { KnownResults::Never }
    }
}

/// An estimate of the elements that all trips of a loop compute: those of the results, and one for each operation of
/// the body.
fn elements(l: &Loop<Term>) -> usize {
    let results =
        l.body.outputs().iter().map(|slot| size(&slot.shape)).fold(l.body.nodes().len(), usize::saturating_add);
    l.n.saturating_mul(results)
}

impl Term {
    /// Whether the term depends on no variable, so that its value can be known.
    fn is_closed(&self) -> bool {
        self.as_constant().is_some() || matches!(self.known(), KnownResults::Once(_))
    }

    /// The values, if they have been computed.
    fn computed(&self) -> Option<&[Array]> {
        match self.known() {
            KnownResults::Once(values) => values.get().map(|values| &**values),
            KnownResults::Never | KnownResults::Captured(..) => None,
        }
    }

    /// The value of a term that depends on no variable. Uses a work list, because terms are as deep as the traced
    /// program was long.
    pub(crate) fn value(&self) -> Option<Array> {
        if let Some(constant) = self.as_constant() {
            return Some(constant.clone());
        }
        if !self.is_closed() {
            return None;
        }
        let mut work = vec![self];
        while let Some(term) = work.last().copied() {
            let before = work.len();
            if let KnownResults::Once(values) = term.known()
                && values.get().is_none()
            {
                term.op().operands(&mut |a| {
                    if a.as_constant().is_none() && a.computed().is_none() {
                        work.push(a);
                    }
                });
                if work.len() == before
                    && let Some(results) = evaluated(term.op())
                {
                    values.get_or_init(|| results.into());
                }
            }
            if work.len() == before {
                work.pop();
            }
        }
        self.computed().map(|values| values[0].clone())
    }
}

/// The results of an operation whose operands are known, if they can be, by [`KnownResults::of`].
fn evaluated(op: &Op<Term>) -> Option<Vec<Array>> {
    let get = |a: &Term| match a.as_constant() {
        Some(constant) => constant.clone(),
        None => a.computed().expect("operands are computed first")[0].clone(),
    };
    let all = |args: &[Term]| args.iter().map(get).collect::<Vec<Array>>();
    Some(match op.class() {
        OpClass::Input(_) | OpClass::Constant(_) | OpClass::Custom(..) => return None,
        OpClass::Single(op) => vec![op.applied(&mut |a| get(a))],
        OpClass::Loop(l) => {
            let (carry, outputs) = run_loop(l, all(&l.init), all(&l.xs), all(&l.captured));
            carry.into_iter().chain(outputs).collect()
        }
        OpClass::Call(op, args) => Array::call(op, &all(args)),
        OpClass::Output(of, k) => vec![of.computed().expect("operands are computed first")[k].clone()],
    })
}
