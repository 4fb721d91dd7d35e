//! Facts about integers and masks, found while a program is made.
//!
//! Law: a fact is true for every value of the inputs. A fact follows from the operation and the facts about its
//! operands, so it is found once, when the operation is made; arithmetic that could wrap has no facts.
//! [`super::indexing`] has the rules that use facts.

mod form;
mod mask;

use smallvec::SmallVec;

pub(super) use form::{Digit, DigitSum};
pub(super) use mask::Mask;

use super::{Builder, Constant, NodeId, Op};
use crate::array::{Array, Values};
use crate::dtype::DType;
use crate::ops::{Discrete, IntBinary, IntUnary, Linear};
use crate::shape::size;

/// A fact about a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KnownFact {
    Integers(Integers),
    Mask(Mask),
}

/// Bounds of the elements of an integer tensor, and the affine expression of the elements if there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Integers {
    pub(super) lo: i64,
    pub(super) hi: i64,
    pub(super) form: Option<DigitSum>,
}

/// A fact about a value of one program, for use in another program.
#[derive(Clone, Debug)]
pub(crate) struct Fact(KnownFact);

impl Fact {
    /// The fact about each row of the value.
    pub(crate) fn of_rows(&self) -> Option<Fact> {
        Some(Fact(match &self.0 {
            KnownFact::Integers(known) => {
                let form = known.form.as_ref().and_then(DigitSum::of_rows);
                KnownFact::Integers(Integers { form, ..*known })
            }
            KnownFact::Mask(known) => KnownFact::Mask(known.of_rows()?),
        }))
    }
}

/// The facts about all operations of a builder.
#[derive(Default)]
pub(crate) struct Facts(Vec<Option<Box<KnownFact>>>);

impl Facts {
    pub(crate) fn push(&mut self, known: Option<KnownFact>) {
        self.0.push(known.map(Box::new));
    }

    pub(crate) fn reserve(&mut self, further: usize) {
        self.0.reserve(further);
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<Fact> {
        self.0[id as usize].as_deref().cloned().map(Fact)
    }

    /// Records a fact about an input, known from outside the program.
    pub(crate) fn set(&mut self, id: NodeId, fact: Fact) {
        self.0[id as usize] = Some(Box::new(fact.0));
    }

    pub(crate) fn integers(&self, id: NodeId) -> Option<&Integers> {
        match self.0[id as usize].as_deref() {
            Some(KnownFact::Integers(known)) => Some(known),
            Some(KnownFact::Mask(_)) | None => None,
        }
    }

    /// The smallest and the largest integer that the elements can be.
    pub(crate) fn bounds(&self, id: NodeId) -> Option<(i64, i64)> {
        self.integers(id).map(|known| (known.lo, known.hi))
    }

    /// The axis along which the elements are the index, if they depend on that alone.
    pub(crate) fn counts(&self, id: NodeId) -> Option<usize> {
        let form = self.form(id)?;
        match form.terms[..] {
            [(digit, 1)] if form.constant == 0 && digit.lower == 1 && !digit.wraps() => Some(digit.axis),
            [_] | [] | [_, _, ..] => None,
        }
    }

    pub(crate) fn form(&self, id: NodeId) -> Option<&DigitSum> {
        self.integers(id)?.form.as_ref()
    }

    pub(crate) fn mask(&self, id: NodeId) -> Option<&Mask> {
        match self.0[id as usize].as_deref() {
            Some(KnownFact::Mask(known)) => Some(known),
            Some(KnownFact::Integers(_)) | None => None,
        }
    }
}

impl Integers {
    fn between(lo: i64, hi: i64) -> Option<Integers> {
        ((lo, hi) != (i64::MIN, i64::MAX)).then_some(Integers { lo, hi, form: None })
    }

    fn of(form: DigitSum) -> Integers {
        let (lo, hi) = form.range();
        Integers { lo, hi, form: Some(form) }
    }

    /// The bounds of arithmetic that does not wrap, if they fit in 64 bits.
    fn within(bounds: (i128, i128), form: Option<DigitSum>) -> Option<Integers> {
        let (lo, hi) = (i64::try_from(bounds.0).ok()?, i64::try_from(bounds.1).ok()?);
        Some(match form {
            // Both bounds hold: those given and those of the form.
            Some(form) => {
                let (a, b) = form.range();
                Integers { lo: lo.max(a), hi: hi.min(b), form: Some(form) }
            }
            None => Integers { lo, hi, form: None },
        })
    }

    /// The fact about a value that equals one of the two.
    fn or(&self, other: &Integers) -> Option<Integers> {
        if self.form.is_some() && self.form == other.form {
            return Some(self.clone());
        }
        Integers::between(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    fn or_zero(&self) -> Option<Integers> {
        Integers::between(self.lo.min(0), self.hi.max(0))
    }

    /// The number that all elements are equal to, if there is one.
    pub(super) fn number(&self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }
}

/// The fact about the result of an operation on existing values.
pub(crate) fn known(b: &Builder, op: &Op<NodeId>, shape: &[usize], dtype: DType) -> Option<KnownFact> {
    if shape.contains(&0) {
        return None;
    }
    match dtype {
        DType::I64 => integers(b, op, shape).map(KnownFact::Integers),
        DType::Bool => mask::mask(b, op).map(KnownFact::Mask),
        DType::F64 | DType::F32 => None,
    }
}

fn integers(b: &Builder, op: &Op<NodeId>, shape: &[usize]) -> Option<Integers> {
    let of = |id: &NodeId| b.facts().integers(*id);
    let known = if let Op::Constant(Constant(c)) = op {
        constant(c)
    } else if let Op::Discrete(op, args) = op {
        discrete(b, op, args)
    } else if let Op::Select([_, x, y]) = op {
        of(x)?.or(of(y)?)
    } else if let Op::Linear(op, a) = op {
        linear(of(a)?, op)
    } else if let Op::Reduce(_, a) = op {
        of(a).map(|known| Integers { form: None, ..*known })
    } else if let Op::Gather(a, _) = op {
        of(a)?.or_zero()
    } else if let Op::Concat(_, parts) = op {
        let first = Integers { form: None, ..of(parts.first()?)?.clone() };
        parts.iter().try_fold(first, |all, part| all.or(of(part)?))
    } else {
        None
    };
    known.filter(|known| known.form.as_ref().is_none_or(|f| f.terms.iter().all(|(digit, _)| digit.axis < shape.len())))
}

/// A constant is affine if the step along each axis is the same number everywhere.
fn constant(c: &Array) -> Option<Integers> {
    let v = match c.values::<i64>()? {
        Values::Splat(x) => {
            return Some(DigitSum::constant(x).map_or(Integers { lo: x, hi: x, form: None }, Integers::of));
        }
        Values::Dense(v) => v,
    };
    let (lo, hi) = v.iter().fold((v[0], v[0]), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
    let mut known = Integers { lo, hi, form: None };
    let shape = c.shape();
    let strides: SmallVec<[usize; 6]> = (0..shape.len()).map(|k| size(&shape[k + 1..])).collect();
    let step = |k: usize| if shape[k] > 1 { v[strides[k]].checked_sub(v[0]) } else { Some(0) };
    let Some(steps) = (0..shape.len()).map(step).collect::<Option<SmallVec<[i64; 6]>>>() else { return Some(known) };
    let Some(form) = DigitSum::linear(shape, &steps, v[0]) else { return Some(known) };
    // Compares neighbours along the innermost axis, and rows along the others.
    let follows = |k: usize| {
        let before = |i: usize| (0..shape.len()).rev().find(|a| !(i / strides[*a]).is_multiple_of(shape[*a]));
        before(k).is_none_or(|axis| v[k] == v[k - strides[axis]] + steps[axis])
    };
    if (1..v.len()).all(follows) {
        known = Integers::of(form);
    }
    Some(known)
}

fn discrete(b: &Builder, op: &Discrete, args: &[NodeId]) -> Option<Integers> {
    let of = |k: usize| b.facts().integers(args[k]);
    match op {
        Discrete::Iota { n } => DigitSum::linear(&[*n], &[1], 0).map(Integers::of),
        Discrete::IntBinary(op) => {
            let (x, y) = (of(0), of(1));
            match op {
                IntBinary::Min | IntBinary::Max => extremum(*op, x, y),
                // A remainder is bounded by the divisor alone, whatever the dividend is.
                IntBinary::Rem if x.is_none() => {
                    let d = y?.number().filter(|d| *d != 0)?.checked_abs()?;
                    Integers::between(1 - d, d - 1)
                }
                IntBinary::Add | IntBinary::Sub | IntBinary::Mul | IntBinary::Quot | IntBinary::Rem => {
                    arithmetic(*op, x?, y?)
                }
                IntBinary::BitAnd => masked(x, y),
                IntBinary::Shr => {
                    // Zeros come from above.
                    let places = y?.number().filter(|places| (1..64).contains(places))?;
                    match x.filter(|x| x.lo >= 0) {
                        Some(x) => Integers::between(x.lo >> places, x.hi >> places),
                        None => Integers::between(0, (u64::MAX >> places) as i64),
                    }
                }
                IntBinary::BitOr | IntBinary::BitXor => {
                    // Neither operand has a bit above those of the larger one.
                    let (x, y) = (x.filter(|x| x.lo >= 0)?, y.filter(|y| y.lo >= 0)?);
                    // Zero has no bit, and a shift by all bits is not defined.
                    let most = u64::MAX.checked_shr(x.hi.max(y.hi).leading_zeros()).unwrap_or(0);
                    Integers::between(0, most as i64)
                }
                IntBinary::Shl | IntBinary::ShrSigned | IntBinary::Threefry => None,
            }
        }
        Discrete::IntUnary(IntUnary::Neg) => {
            let x = of(0)?;
            let form = x.form.as_ref().and_then(|f| f.times(-1));
            Integers::within((-i128::from(x.hi), -i128::from(x.lo)), form)
        }
        Discrete::IntUnary(IntUnary::BitNot) => {
            let x = of(0)?;
            Integers::between(!x.hi, !x.lo)
        }
        Discrete::IntUnary(IntUnary::Abs) => {
            let x = of(0).filter(|x| x.lo > i64::MIN)?;
            match (x.lo >= 0, x.hi <= 0) {
                (true, _) => Some(x.clone()),
                (_, true) => Integers::within((-i128::from(x.hi), -i128::from(x.lo)), x.form.as_ref()?.times(-1)),
                (false, false) => Integers::between(0, x.hi.max(-x.lo)),
            }
        }
        Discrete::ToInt if b.node(args[0]).dtype == DType::Bool => Integers::between(0, 1),
        Discrete::ToInt => None,
        Discrete::ArgMax { axis }
        | Discrete::ArgMin { axis }
        | Discrete::ArgSort { axis, .. }
        | Discrete::PrefixArg { axis, .. } => Integers::between(0, b.node(args[0]).shape[*axis] as i64 - 1),
        Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not => None,
        Discrete::FloatStep(_) | Discrete::ToFloat(_) => None,
    }
}

/// Bounds of the bits that both have: at most an operand that is not negative.
fn masked(x: Option<&Integers>, y: Option<&Integers>) -> Option<Integers> {
    let most = |x: Option<&Integers>| x.filter(|x| x.lo >= 0).map(|x| x.hi);
    Integers::between(0, most(x).into_iter().chain(most(y)).min()?)
}

/// Bounds of a minimum or maximum; one bound follows even if nothing is known about one operand.
fn extremum(op: IntBinary, x: Option<&Integers>, y: Option<&Integers>) -> Option<Integers> {
    let bounds = |x: Option<&Integers>| x.map_or((i64::MIN, i64::MAX), |x| (x.lo, x.hi));
    let ((a, b), (c, d)) = (bounds(x), bounds(y));
    if let (Some(x), Some(y)) = (x, y) {
        match (below(x, y), op == IntBinary::Min) {
            (Some(true), true) | (Some(false), false) => return Some(x.clone()),
            (Some(true), false) | (Some(false), true) => return Some(y.clone()),
            (None, _) => {}
        }
    }
    if op == IntBinary::Min { Integers::between(a.min(c), b.min(d)) } else { Integers::between(a.max(c), b.max(d)) }
}

/// `true` if the first operand is nowhere larger than the second, `false` if it is nowhere smaller.
pub(super) fn below(x: &Integers, y: &Integers) -> Option<bool> {
    let (lo, hi) = difference(x, y);
    match (hi <= 0, lo >= 0) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        (false, false) => None,
    }
}

/// Bounds of `x - y`.
fn difference(x: &Integers, y: &Integers) -> (i128, i128) {
    let wide = |x: i64, y: i64| i128::from(x) - i128::from(y);
    let (lo, hi) = (wide(x.lo, y.hi), wide(x.hi, y.lo));
    match (&x.form, &y.form) {
        (Some(f), Some(g)) => f.minus(g).map_or((lo, hi), |form| {
            let (a, b) = form.range();
            (lo.max(a.into()), hi.min(b.into()))
        }),
        (_, _) => (lo, hi),
    }
}

fn arithmetic(op: IntBinary, x: &Integers, y: &Integers) -> Option<Integers> {
    let ((a, b), (c, d)) = ((i128::from(x.lo), i128::from(x.hi)), (i128::from(y.lo), i128::from(y.hi)));
    let both = || Some((x.form.as_ref()?, y.form.as_ref()?));
    match op {
        IntBinary::Add => Integers::within((a + c, b + d), both().and_then(|(f, g)| f.plus(g))),
        IntBinary::Sub => Integers::within(difference(x, y), both().and_then(|(f, g)| f.minus(g))),
        IntBinary::Mul => {
            let form = match (x.number(), y.number()) {
                (_, Some(n)) => x.form.as_ref().and_then(|f| f.times(n)),
                (Some(n), _) => y.form.as_ref().and_then(|f| f.times(n)),
                (None, None) => None,
            };
            let corners = [a * c, a * d, b * c, b * d];
            let (lo, hi) = corners.iter().fold((corners[0], corners[0]), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
            Integers::within((lo, hi), form)
        }
        IntBinary::Quot | IntBinary::Rem => division(op, x, y.number()?),
        IntBinary::Min | IntBinary::Max | IntBinary::BitAnd | IntBinary::BitOr | IntBinary::BitXor => None,
        IntBinary::Shl | IntBinary::Shr | IntBinary::ShrSigned | IntBinary::Threefry => None,
    }
}

/// Division by a number, truncated towards zero: equal to rounding down for values that are not negative, and an odd
/// function.
fn division(op: IntBinary, x: &Integers, d: i64) -> Option<Integers> {
    if d == 0 {
        return Some(x.clone());
    }
    let quotient = op == IntBinary::Quot;
    if d == i64::MIN || (d == -1 && x.lo == i64::MIN) {
        return None;
    }
    let bounds = if quotient {
        let ends = (x.lo / d, x.hi / d);
        if d > 0 { ends } else { (ends.1, ends.0) }
    } else {
        let most = d.abs() - 1;
        (if x.lo < 0 { (-most).max(x.lo) } else { 0 }, if x.hi > 0 { most.min(x.hi) } else { 0 })
    };
    let divided = |f: &DigitSum| f.divided(d.abs()).map(|(q, r)| if quotient { q } else { r });
    let form = match (x.form.as_ref(), x.lo >= 0, x.hi <= 0) {
        (None, ..) | (Some(_), false, false) => None,
        (Some(f), true, _) => divided(f),
        (Some(f), false, true) => f.times(-1).as_ref().and_then(divided).and_then(|f| f.times(-1)),
    };
    // (-x) quot d = x quot (-d) = -(x quot d), and the remainder has the sign of x.
    let form = form.and_then(|f| if quotient && d < 0 { f.times(-1) } else { Some(f) });
    Integers::within((bounds.0.into(), bounds.1.into()), form)
}

/// Reads through views and reshapes; an index out of range reads 0.
fn linear(x: &Integers, op: &Linear) -> Option<Integers> {
    match op {
        Linear::Affine { from, into } if into.is_identity() && from.is_total() => {
            Some(Integers { form: x.form.as_ref().and_then(|f| through(f, op)), ..x.clone() })
        }
        Linear::Affine { into, .. } if into.is_injective() => x.or_zero(),
        Linear::Affine { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => None,
        Linear::Reshape { .. } => Some(Integers { form: x.form.as_ref().and_then(|f| through(f, op)), ..x.clone() }),
    }
    .filter(|x| x.form.is_some() || (x.lo, x.hi) != (i64::MIN, i64::MAX))
}

/// The form of the result of an operation that reads each element of the result from one place.
pub(super) fn through(form: &DigitSum, op: &Linear) -> Option<DigitSum> {
    match op {
        Linear::Affine { from, into } if into.is_identity() && from.is_total() => {
            form.substituted(&|axis| DigitSum::linear(from.shape(), from.row(axis), from.offset()[axis]))
        }
        Linear::Affine { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => None,
        Linear::Reshape { from, into } => {
            let strides: SmallVec<[i64; 6]> = (0..into.len()).map(|k| size(&into[k + 1..]) as i64).collect();
            let flat = DigitSum::linear(into, &strides, 0)?;
            form.substituted(&|axis| {
                let index = flat.divided(size(&from[axis + 1..]) as i64)?.0;
                Some(index.divided(from[axis] as i64)?.1)
            })
        }
    }
}
