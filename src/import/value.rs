//! Values of a module while it runs: tensors of the interpreter, with the element type of the text.
//!
//! Law: an integer is within the limits of its type, a number of 16 bits is one of its type. A range, where it is known,
//! holds for every element.

use super::types::{Element, Type};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Discrete, IntBinary, Linear, Unary};
use crate::shape::{Shape, Show};

/// The most integers that are looked at as sizes or positions.
const MOST_POSITIONS: usize = 4096;

/// What went wrong in an operation.
pub(super) type Imported<X> = Result<X, String>;

/// A tensor.
#[derive(Clone)]
pub(super) struct ImportedValue<T> {
    pub(super) element: Element,
    /// The elements, or their real parts.
    pub(super) re: T,
    pub(super) im: Option<T>,
    /// The smallest and the largest element, of integers and masks, if bounds are known.
    pub(super) range: Option<(i64, i64)>,
}

/// A value.
#[derive(Clone)]
pub(super) enum Item<T> {
    Tensor(ImportedValue<T>),
    Tuple(Vec<Item<T>>),
    Token,
    /// An array that a loop fills row by row, in its body.
    Slot,
    /// The row of such an array that a trip gives.
    Row(ImportedValue<T>),
    /// The reflections of a QR factorization, by the columns that their product has.
    Reflections(ImportedValue<T>),
}

/// An error unless the condition holds.
pub(super) fn need(holds: bool, what: impl FnOnce() -> String) -> Imported<()> {
    if holds { Ok(()) } else { Err(what()) }
}

/// The refusal of an attribute or operand.
pub(super) fn lacks<X>(what: &str) -> Imported<X> {
    Err(format!("it needs {what}"))
}

impl<T: BaseTensor> Item<T> {
    pub(super) fn tensor(&self) -> Imported<&ImportedValue<T>> {
        match self {
            Item::Tensor(held) => Ok(held),
            Item::Tuple(_) => Err("an operand must be a tensor: it is a tuple".into()),
            Item::Token => Err("an operand must be a tensor: it is a token".into()),
            Item::Slot | Item::Row(_) => Err("an array that a loop fills is read".into()),
            Item::Reflections(_) => Err("reflections are read by their product alone".into()),
        }
    }

    /// Whether the value has this type, with any size where the type leaves one open.
    pub(super) fn fits(&self, ty: &Type, lift: &[usize]) -> bool {
        match (self, ty) {
            (Item::Tensor(held), Type::Tensor { shape, element }) => {
                let found = held.re.shape();
                let Some(inner) = found.strip_prefix(lift) else { return false };
                let alike = |(n, wanted): (&usize, &Option<usize>)| wanted.is_none_or(|wanted| wanted == *n);
                held.element == *element && inner.len() == shape.len() && inner.iter().zip(shape).all(alike)
            }
            (Item::Tuple(items), Type::Tuple(types)) => {
                items.len() == types.len() && items.iter().zip(types).all(|(item, ty)| item.fits(ty, lift))
            }
            (Item::Token, Type::Token) => true,
            (Item::Reflections(q), Type::Tensor { shape, element }) => {
                let [batch @ .., _, n] = q.shape() else { return false };
                let found = batch.iter().chain([n]);
                q.element == *element && found.map(|n| Some(*n)).eq(shape.iter().copied())
            }
            // What a loop fills was looked at before.
            (Item::Slot | Item::Row(_), _) => true,
            _ => false,
        }
    }

    pub(super) fn words(&self) -> String {
        match self {
            Item::Tensor(held) => format!("{} of {}", Show(held.re.shape()), held.element),
            Item::Tuple(items) => format!("a tuple of {}", items.len()),
            Item::Token => "a token".into(),
            Item::Slot | Item::Row(_) => "an array that a loop fills".into(),
            Item::Reflections(_) => "the reflections of a factorization".into(),
        }
    }

    /// The tensors of the interpreter in this value.
    pub(super) fn parts(&self, all: &mut Vec<T>) {
        match self {
            Item::Tensor(held) => all.extend(held.parts()),
            Item::Tuple(items) => items.iter().for_each(|item| item.parts(all)),
            Item::Token | Item::Slot | Item::Row(_) | Item::Reflections(_) => {}
        }
    }

    /// The same kind of value, with these tensors.
    pub(super) fn with_parts(&self, parts: &mut impl Iterator<Item = T>) -> Imported<Item<T>> {
        Ok(match self {
            Item::Tensor(held) => {
                let mut next = || parts.next().ok_or_else(|| "a loop lost a value".to_owned());
                let re = next()?;
                let im = if held.im.is_some() { Some(next()?) } else { None };
                Item::Tensor(ImportedValue { element: held.element, re, im, range: None })
            }
            Item::Tuple(items) => {
                Item::Tuple(items.iter().map(|item| item.with_parts(parts)).collect::<Imported<Vec<_>>>()?)
            }
            Item::Token | Item::Slot | Item::Row(_) | Item::Reflections(_) => self.clone(),
        })
    }
}

impl<T: BaseTensor> ImportedValue<T> {
    pub(super) fn real(element: Element, re: T) -> ImportedValue<T> {
        ImportedValue { element, re, im: None, range: None }
    }

    pub(super) fn complex(element: Element, (re, im): (T, T)) -> ImportedValue<T> {
        ImportedValue { element, re, im: Some(im), range: None }
    }

    pub(super) fn within(element: Element, re: T, lo: i64, hi: i64) -> ImportedValue<T> {
        ImportedValue { element, re, im: None, range: Some((lo, hi)) }
    }

    /// A whole number, repeated.
    pub(super) fn whole(element: Element, shape: &[usize], n: i64) -> ImportedValue<T> {
        ImportedValue { range: Some((n, n)), ..ImportedValue::real(element, full(shape, element.dtype(), n)) }
    }

    pub(super) fn shape(&self) -> &[usize] {
        self.re.shape()
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = T> {
        std::iter::once(self.re.clone()).chain(self.im.clone())
    }

    /// The imaginary part; zeros of a real number.
    pub(super) fn imaginary(&self) -> T {
        self.im.clone().unwrap_or_else(|| T::zeros(self.shape(), self.re.dtype()))
    }

    /// Bounds of the elements: those that are known, or those of the type.
    pub(super) fn bounds(&self) -> (i64, i64) {
        self.range.or(self.element.limits()).unwrap_or((i64::MIN, i64::MAX))
    }

    /// The number, if the text says it: what a run alone knows does not count, so that all trips of a loop do the same.
    pub(super) fn known(&self) -> Option<i64> {
        self.range.filter(|(lo, hi)| lo == hi).map(|(n, _)| n)
    }

    /// The integers, if they are known.
    pub(super) fn known_all(&self) -> Option<Vec<i64>> {
        if let (Some((lo, hi)), n) = (self.range, crate::shape::size(self.shape()))
            && lo == hi
            && n <= crate::shape::MAX_RANK
        {
            return Some(vec![lo; n]);
        }
        // Sizes and positions are few.
        let x = self.re.peek().filter(|x| x.size() <= MOST_POSITIONS)?;
        x.to_vec::<i64>().ok()
    }

    /// The same function of the real and of the imaginary part, which moves elements.
    pub(super) fn map(&self, f: impl Fn(&T) -> T) -> ImportedValue<T> {
        ImportedValue { element: self.element, re: f(&self.re), im: self.im.as_ref().map(&f), range: self.range }
    }

    /// A linear operation that moves elements, and puts zeros where none goes.
    pub(super) fn moved(&self, op: &Linear) -> ImportedValue<T> {
        let moved = self.map(|x| x.linear(op));
        ImportedValue { range: self.range.map(|(lo, hi)| (lo.min(0), hi.max(0))), ..moved }
    }

    pub(super) fn reshaped(&self, shape: &[usize]) -> ImportedValue<T> {
        if self.shape() == shape { self.clone() } else { self.map(|x| x.linear(&Linear::reshape(x.shape(), shape))) }
    }

    pub(super) fn permuted(&self, order: &[usize]) -> ImportedValue<T> {
        if order.iter().enumerate().all(|(k, p)| k == *p) {
            return self.clone();
        }
        self.map(|x| x.linear(&Linear::permute(x.shape(), order)))
    }

    /// The elements repeated: axis `k` becomes axis `axes[k]`.
    pub(super) fn replicated(&self, shape: &[usize], axes: &[usize]) -> ImportedValue<T> {
        if self.shape() == shape {
            return self.clone();
        }
        self.map(|x| x.linear(&Linear::replicate(shape, axes)))
    }
}

/// The mask of integers that are not 0.
pub(super) fn not_zero<T: BaseTensor>(x: &T) -> T {
    T::discrete(&Discrete::Compare(Compare::Ne), &[x, &T::zeros(x.shape(), DType::I64)])
}

/// A whole number, repeated.
pub(super) fn full<T: BaseTensor>(shape: &[usize], dtype: DType, n: i64) -> T {
    T::constant(match dtype {
        DType::I64 => Array::full(shape, n),
        DType::Bool => Array::full(shape, n != 0),
        DType::F64 | DType::F32 => Array::full_as(shape, dtype, n as f64),
    })
}

/// A number in the shape and type of `x`.
pub(super) fn like<T: BaseTensor>(x: &T, c: f64) -> T {
    T::constant(Array::full_as(x.shape(), x.dtype(), c))
}

/// An integer in the shape of `x`.
pub(super) fn int_like<T: BaseTensor>(x: &T, n: i64) -> T {
    T::constant(Array::full(x.shape(), n))
}

pub(super) fn ints<T: BaseTensor>(op: IntBinary, x: &T, y: &T) -> T {
    T::discrete(&Discrete::IntBinary(op), &[x, y])
}

pub(super) fn int_with<T: BaseTensor>(op: IntBinary, x: &T, n: i64) -> T {
    ints(op, x, &int_like(x, n))
}

pub(super) fn compare<T: BaseTensor>(op: Compare, x: &T, y: &T) -> T {
    T::discrete(&Discrete::Compare(op), &[x, y])
}

pub(super) fn and<T: BaseTensor>(x: &T, y: &T) -> T {
    T::discrete(&Discrete::And, &[x, y])
}

pub(super) fn or<T: BaseTensor>(x: &T, y: &T) -> T {
    T::discrete(&Discrete::Or, &[x, y])
}

pub(super) fn not<T: BaseTensor>(x: &T) -> T {
    T::discrete(&Discrete::Not, &[x])
}

pub(super) fn add<T: BaseTensor>(x: &T, y: &T) -> T {
    x.binary(Binary::Add, y)
}

pub(super) fn sub<T: BaseTensor>(x: &T, y: &T) -> T {
    x.binary(Binary::Sub, y)
}

pub(super) fn mul<T: BaseTensor>(x: &T, y: &T) -> T {
    x.binary(Binary::Mul, y)
}

/// The mask of finite numbers.
pub(super) fn finite<T: BaseTensor>(x: &T) -> T {
    compare(Compare::Lt, &x.unary(Unary::Abs), &like(x, f64::INFINITY))
}

/// The same value, without a derivative.
pub(super) fn stopped<T: BaseTensor>(x: &T) -> T {
    T::discrete(&Discrete::FloatStep(crate::ops::FloatStep::StopGradient), &[x])
}

pub(super) fn shape_of(sizes: impl IntoIterator<Item = usize>) -> Shape {
    sizes.into_iter().collect()
}

/// The integers `0, 1, ..` along one axis of a shape.
pub(super) fn iota<T: BaseTensor>(shape: &[usize], axis: usize) -> T {
    T::discrete(&Discrete::Iota { n: shape[axis] }, &[]).linear(&Linear::replicate(shape, &[axis]))
}
