//! Facts about masks: the mask holds where an affine expression lies in an interval.
//!
//! Law: as in [`super`]; the mask holds where the fact says, and nowhere else.

use std::ops::Range;

use super::{DigitSum, Integers, difference, through};
use crate::dtype::DType;
use crate::ops::{Compare, Discrete};
use crate::program::{Builder, Constant, NodeId, Op};

/// The mask that holds where `lo <= form <= hi` if `inside`, and elsewhere otherwise. The form has no constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mask {
    form: DigitSum,
    lo: i64,
    hi: i64,
    inside: bool,
}

impl Mask {
    fn of(form: DigitSum, lo: i64, hi: i64, inside: bool) -> Mask {
        // The smallest and the largest integer stand for an open end and are not shifted.
        let moved = |end: i64| if end == i64::MIN || end == i64::MAX { end } else { end.saturating_sub(form.constant) };
        Mask { lo: moved(lo), hi: moved(hi), form: DigitSum { constant: 0, ..form }, inside }
    }

    /// The mask that holds everywhere, or nowhere.
    fn constant(holds: bool) -> Option<Mask> {
        Some(Mask { form: DigitSum::constant(0)?, lo: 0, hi: 0, inside: holds })
    }

    /// `true` for a mask that holds everywhere, `false` for a mask that holds nowhere.
    pub(crate) fn decided(&self) -> Option<bool> {
        let (lo, hi) = self.form.range();
        if self.lo <= lo && hi <= self.hi {
            return Some(self.inside);
        }
        (self.hi < self.lo || hi < self.lo || self.hi < lo).then_some(!self.inside)
    }

    /// For a mask that depends on one axis alone: the axis, an interval of its indices, and whether the mask holds
    /// inside or outside.
    pub(crate) fn interval(&self) -> Option<(usize, Range<usize>, bool)> {
        let [(digit, scale)] = self.form.terms[..] else { return None };
        if digit.wraps() || self.decided().is_some() {
            return None;
        }
        let (lo, hi, step) = (i128::from(self.lo), i128::from(self.hi), i128::from(scale).abs());
        let (lo, hi) = if scale < 0 { (-hi, -lo) } else { (lo, hi) };
        let first = |value: i128| (value * digit.lower as i128).clamp(0, digit.size as i128) as usize;
        // The first index whose value is at least `lo`, and the first whose value exceeds `hi`.
        let (start, end) = (first(-(-lo).div_euclid(step)), first(hi.div_euclid(step) + 1));
        (start < end).then_some((digit.axis, start..end, self.inside))
    }

    /// For a mask that holds where the index along one axis is that along another plus a constant, or nowhere else:
    /// both axes, the constant, and whether the mask holds there.
    pub(crate) fn diagonal(&self) -> Option<(usize, usize, i64, bool)> {
        let [(p, scale), (q, opposite)] = self.form.terms[..] else { return None };
        let whole = [p, q].iter().all(|digit| digit.lower == 1 && !digit.wraps());
        let equal = self.lo == self.hi && scale.abs() == 1 && opposite == -scale && p.axis != q.axis;
        let constant = scale.checked_mul(self.lo).filter(|_| whole && equal && self.decided().is_none())?;
        Some((p.axis, q.axis, constant, self.inside))
    }

    /// The mask of each row, if all rows have the same mask.
    pub(crate) fn of_rows(&self) -> Option<Mask> {
        Some(Mask { form: self.form.of_rows()?, ..self.clone() })
    }

    fn not(self) -> Mask {
        Mask { inside: !self.inside, ..self }
    }

    /// The conjunction, if both masks are about the same form and the result is an interval or its complement.
    fn and(&self, other: &Mask) -> Option<Mask> {
        match (self.decided(), other.decided()) {
            (Some(true), _) | (_, Some(false)) => return Some(other.clone()),
            (_, Some(true)) | (Some(false), _) => return Some(self.clone()),
            (None, None) => {}
        }
        let (a, b) = (self, other);
        if a.form != b.form {
            return None;
        }
        let made = |lo: i64, hi: i64, inside: bool| Some(Mask { form: a.form.clone(), lo, hi, inside });
        match (a.inside, b.inside) {
            (true, true) => made(a.lo.max(b.lo), a.hi.min(b.hi), true),
            (false, true) => b.and(a),
            // The first interval without the second.
            (true, false) if b.lo <= a.lo && a.hi <= b.hi => Mask::constant(false),
            (true, false) if b.hi < a.lo || a.hi < b.lo => Some(a.clone()),
            (true, false) if b.lo <= a.lo => made(b.hi.checked_add(1)?, a.hi, true),
            (true, false) if a.hi <= b.hi => made(a.lo, b.lo.checked_sub(1)?, true),
            (true, false) => None,
            // The complement of the union of both intervals, if that union has no gap.
            (false, false) => {
                let gap = a.lo.max(b.lo) > a.hi.min(b.hi).saturating_add(1);
                if gap { None } else { made(a.lo.min(b.lo), a.hi.max(b.hi), false) }
            }
        }
    }
}

/// The fact about the mask that an operation makes.
pub(super) fn mask(b: &Builder, op: &Op<NodeId>) -> Option<Mask> {
    let of = |id: NodeId| b.facts().mask(id);
    if let Op::Constant(Constant(c)) = op {
        return Mask::constant(c.splat::<bool>()?);
    }
    if let Op::Linear(op, a) = op {
        let mask = of(*a)?;
        return Some(Mask::of(through(&mask.form, op)?, mask.lo, mask.hi, mask.inside));
    }
    let Op::Discrete(op, args) = op else { return None };
    let integers = |k: usize| b.facts().integers(args[k]);
    match op {
        Discrete::Compare(op) if b.node(args[0]).dtype == DType::I64 => compared(*op, integers(0)?, integers(1)?),
        Discrete::And => of(args[0])?.and(of(args[1])?),
        Discrete::Or => Some(of(args[0])?.clone().not().and(&of(args[1])?.clone().not())?.not()),
        Discrete::Not => Some(of(args[0])?.clone().not()),
        Discrete::Compare(_) | Discrete::FloatStep(_) | Discrete::IntUnary(_) | Discrete::IntBinary(_) => None,
        Discrete::ToInt | Discrete::ToFloat(_) | Discrete::Iota { .. } | Discrete::PrefixArg { .. } => None,
        Discrete::ArgMax { .. } | Discrete::ArgMin { .. } | Discrete::ArgSort { .. } => None,
    }
}

/// A comparison of `x` and `y` compares `x - y` with 0.
fn compared(op: Compare, x: &Integers, y: &Integers) -> Option<Mask> {
    let (lo, hi, inside) = match op {
        Compare::Eq => (0, 0, true),
        Compare::Ne => (0, 0, false),
        Compare::Lt => (i64::MIN, -1, true),
        Compare::Le => (i64::MIN, 0, true),
        Compare::Gt => (1, i64::MAX, true),
        Compare::Ge => (0, i64::MAX, true),
    };
    let (least, most) = difference(x, y);
    // The difference of two integers may be beyond all integers, where an interval without an end goes on.
    let from = if lo == i64::MIN { i128::MIN } else { i128::from(lo) };
    let to = if hi == i64::MAX { i128::MAX } else { i128::from(hi) };
    if from <= least && most <= to {
        return Mask::constant(inside);
    }
    if most < from || to < least {
        return Mask::constant(!inside);
    }
    let form = x.form.as_ref()?.minus(y.form.as_ref()?)?;
    Some(Mask::of(form, lo, hi, inside))
}
