//! The operations of StableHLO that are used, a method each: the text of an operation, and the type of its result.
//!
//! Law: an operation that is the identity is left out.

use super::rules::{self, rule};
use super::text::{Composed, HloValue, Region, Ty, list, tensor, types};
use crate::array::{Array, Values, with_elem};
use crate::dtype::Elem;
use crate::shape::{Shape, size};
use crate::text::literal::nested;

/// `[a, b]`.
pub(super) fn brackets<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    format!("[{}]", list(items))
}

/// Bits as a hexadecimal literal, as wide as the type.
fn hexadecimal(bits: u64, ty: Ty) -> String {
    if ty == Ty::F32 { format!("0x{bits:08X}") } else { format!("0x{bits:016X}") }
}

/// One element, as written between `dense<` and `>`.
fn literal<E: Elem>(x: E) -> String {
    let ty = Ty::of(E::DTYPE);
    if ty.is_float() { hexadecimal(x.bits(), ty) } else { x.to_string() }
}

impl Region {
    /// A constant array, to the bit.
    pub(super) fn constant(&mut self, a: &Array) -> HloValue {
        let (shape, ty) = (a.shape(), Ty::of(a.dtype()));
        let text = with_elem!(a.dtype(), E => match a.typed::<E>() {
            _ if a.size() == 0 => String::new(),
            Values::Splat(x) => literal(x),
            Values::Dense([x]) => literal(*x),
            Values::Dense(v) if ty == Ty::Bool || v.len() <= 8 => {
                let mut text = String::new();
                nested(&mut text, shape, &mut v.iter().map(|x| literal(*x)));
                text
            }
            // Little endian bytes.
            Values::Dense(v) => {
                let width = E::DTYPE.width();
                let mut text = String::with_capacity(2 * width * v.len() + 4);
                text.push_str("\"0x");
                for x in v {
                    for byte in &x.bits().to_le_bytes()[..width] {
                        text.push(hexadecimal_digit(byte >> 4));
                        text.push(hexadecimal_digit(byte & 15));
                    }
                }
                text + "\""
            }
        });
        self.op(format!("stablehlo.constant dense<{text}> : "), shape, ty)
    }

    /// A uniform constant of a shape and type: `x`, or the nearest integer.
    pub(super) fn full(&mut self, x: f64, shape: &[usize], ty: Ty) -> HloValue {
        let text = match ty {
            _ if size(shape) == 0 => String::new(),
            Ty::F64 | Ty::C128 => hexadecimal(x.to_bits(), Ty::F64),
            Ty::F32 | Ty::C64 => hexadecimal((x as f32).to_bits().into(), Ty::F32),
            Ty::I64 | Ty::I32 => (x as i64).to_string(),
            Ty::Bool => (x != 0.0).to_string(),
        };
        self.op(format!("stablehlo.constant dense<{text}> : "), shape, ty)
    }

    /// A uniform integer constant of a shape.
    pub(super) fn integer(&mut self, x: i64, shape: &[usize]) -> HloValue {
        let text = if size(shape) == 0 { String::new() } else { x.to_string() };
        self.op(format!("stablehlo.constant dense<{text}> : "), shape, Ty::I64)
    }

    /// A uniform constant of words of 32 bits.
    pub(super) fn word(&mut self, x: u32, shape: &[usize]) -> HloValue {
        let text = if size(shape) == 0 { String::new() } else { (x as i32).to_string() };
        self.op(format!("stablehlo.constant dense<{text}> : "), shape, Ty::I32)
    }

    /// A uniform constant of the shape and type of a value.
    pub(super) fn like(&mut self, x: f64, v: &HloValue) -> HloValue {
        self.full(x, &v.shape, v.ty)
    }

    /// An elementwise operation of one operand: `negate`, `chlo.erf`.
    pub(super) fn unary(&mut self, name: &str, x: &HloValue) -> HloValue {
        let dialect = if name.contains('.') { "" } else { "stablehlo." };
        // The operations of CHLO state the type of the operand and that of the result.
        let arrow = if dialect.is_empty() { format!("{} -> ", x.tensor()) } else { String::new() };
        self.op(format!("{dialect}{name} {} : {arrow}", x.name), &x.shape, x.ty)
    }

    /// An elementwise operation of two operands of one type.
    pub(super) fn binary(&mut self, name: &str, x: &HloValue, y: &HloValue) -> HloValue {
        rule!(name, [x, y], rules::alike(x, y));
        self.op(format!("stablehlo.{name} {}, {} : ", x.name, y.name), &x.shape, x.ty)
    }

    /// A comparison: `EQ`, `NE`, `LT`, `LE`, `GT`, `GE`.
    pub(super) fn compare(&mut self, how: &str, x: &HloValue, y: &HloValue) -> HloValue {
        rule!("compare", [x, y], rules::alike(x, y));
        let kind = match x.ty {
            Ty::F64 | Ty::F32 | Ty::C128 | Ty::C64 => "FLOAT",
            Ty::I64 | Ty::I32 => "SIGNED",
            Ty::Bool => "UNSIGNED",
        };
        let text = format!("stablehlo.compare {how}, {}, {}, {kind} : ({}) -> ", x.name, y.name, types([x, y]));
        self.op(text, &x.shape, Ty::Bool)
    }

    /// A comparison with a number.
    pub(super) fn compare_with(&mut self, how: &str, x: &HloValue, y: f64) -> HloValue {
        let y = self.like(y, x);
        self.compare(how, x, &y)
    }

    pub(super) fn select(&mut self, mask: &HloValue, then: &HloValue, otherwise: &HloValue) -> HloValue {
        let fits = rules::alike(then, otherwise) && mask.shape == then.shape && mask.ty == Ty::Bool;
        rule!("select", [mask, then, otherwise], fits);
        let text = format!("stablehlo.select {}, {}, {} : {}, ", mask.name, then.name, otherwise.name, mask.tensor());
        self.op(text, &then.shape, then.ty)
    }

    pub(super) fn convert(&mut self, x: &HloValue, ty: Ty) -> HloValue {
        if x.ty == ty {
            return x.clone();
        }
        let value = self.op(format!("stablehlo.convert {} : ({}) -> ", x.name, x.tensor()), &x.shape, ty);
        if x.ty == Ty::Bool {
            self.remember(&value, Composed::OfMask(x.clone()));
        }
        value
    }

    /// Reinterprets bits as another type of the same width.
    pub(super) fn bitcast(&mut self, x: &HloValue, ty: Ty) -> HloValue {
        rule!("bitcast_convert", [x], x.ty.bits() == ty.bits());
        self.op(format!("stablehlo.bitcast_convert {} : ({}) -> ", x.name, x.tensor()), &x.shape, ty)
    }

    pub(super) fn reshape(&mut self, x: &HloValue, shape: &[usize]) -> HloValue {
        if x.shape[..] == *shape {
            return x.clone();
        }
        rule!(format!("reshape into {shape:?}"), [x], size(&x.shape) == size(shape));
        self.op(format!("stablehlo.reshape {} : ({}) -> ", x.name, x.tensor()), shape, x.ty)
    }

    /// Axis `k` of the operand becomes axis `axes[k]`; along the others it is repeated.
    pub(super) fn broadcast(&mut self, x: &HloValue, shape: &[usize], axes: &[usize]) -> HloValue {
        if x.shape[..] == *shape && axes.iter().copied().eq(0..shape.len()) {
            return x.clone();
        }
        let fits = rules::broadcasts(&x.shape, shape, axes);
        rule!(format!("broadcast_in_dim along {axes:?} into {shape:?}"), [x], fits);
        let text = format!("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> ", x.name, brackets(axes), x.tensor());
        self.op(text, shape, x.ty)
    }

    /// Axis `k` of the result is axis `order[k]` of the operand.
    pub(super) fn transpose(&mut self, x: &HloValue, order: &[usize]) -> HloValue {
        if order.iter().copied().eq(0..order.len()) {
            return x.clone();
        }
        let fits = order.len() == x.shape.len() && rules::are_axes(order, x.shape.len());
        rule!(format!("transpose by {order:?}"), [x], fits);
        let shape: Shape = order.iter().map(|k| x.shape[*k]).collect();
        let text = format!("stablehlo.transpose {}, dims = {} : ({}) -> ", x.name, brackets(order), x.tensor());
        self.op(text, &shape, x.ty)
    }

    /// The elements `start, start + step, ..` below `end` along each axis.
    pub(super) fn slice(&mut self, x: &HloValue, parts: &[(usize, usize, usize)]) -> HloValue {
        if parts.iter().zip(&x.shape).all(|(part, n)| *part == (0, *n, 1)) {
            return x.clone();
        }
        let fits = |((start, end, step), n): (&(usize, usize, usize), &usize)| start <= end && end <= n && *step > 0;
        let fits = parts.len() == x.shape.len() && parts.iter().zip(&x.shape).all(fits);
        rule!(format!("slice at {parts:?}"), [x], fits);
        let shape: Shape = parts.iter().map(|(start, end, step)| (end - start).div_ceil(*step)).collect();
        let part = |(start, end, step): &(usize, usize, usize)| match step {
            1 => format!("{start}:{end}"),
            _ => format!("{start}:{end}:{step}"),
        };
        let parts = brackets(parts.iter().map(part));
        self.op(format!("stablehlo.slice {} {parts} : ({}) -> ", x.name, x.tensor()), &shape, x.ty)
    }

    /// One position of an axis; the axis is kept with length 1.
    pub(super) fn at(&mut self, x: &HloValue, axis: usize, position: usize) -> HloValue {
        let mut parts: Vec<_> = x.shape.iter().map(|n| (0, *n, 1)).collect();
        parts[axis] = (position, position + 1, 1);
        self.slice(x, &parts)
    }

    pub(super) fn reverse(&mut self, x: &HloValue, axes: &[usize]) -> HloValue {
        if axes.is_empty() {
            return x.clone();
        }
        rule!(format!("reverse along {axes:?}"), [x], rules::are_axes(axes, x.shape.len()));
        self.op(format!("stablehlo.reverse {}, dims = {} : ", x.name, brackets(axes)), &x.shape, x.ty)
    }

    /// The operand padded with zeros: along each axis, the numbers before, after and between the elements.
    pub(super) fn pad(&mut self, x: &HloValue, widths: &[[usize; 3]]) -> HloValue {
        if widths.iter().zip(&x.shape).all(|([low, high, inner], n)| (*low, *high) == (0, 0) && (*inner == 0 || *n < 2))
        {
            return x.clone();
        }
        rule!(format!("pad by {widths:?}"), [x], widths.len() == x.shape.len());
        let zero = self.full(0.0, &[], x.ty);
        let grown = |([low, high, inner], n): (&[usize; 3], &usize)| low + high + n + inner * n.saturating_sub(1);
        let shape: Shape = widths.iter().zip(&x.shape).map(grown).collect();
        let part = |k: usize| brackets(widths.iter().map(|w| w[k]));
        let text = format!(
            "stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}) -> ",
            x.name,
            zero.name,
            part(0),
            part(1),
            part(2),
            types([x, &zero])
        );
        let padded = self.op(text, &shape, x.ty);
        if widths.iter().all(|w| w[2] == 0) {
            let around = widths.iter().map(|[low, high, _]| [*low, *high]).collect();
            self.remember(&padded, Composed::Padded(x.clone(), around));
        }
        padded
    }

    pub(super) fn concat(&mut self, axis: usize, parts: &[HloValue]) -> HloValue {
        if let [part] = parts {
            return part.clone();
        }
        for part in parts {
            rule!(format!("concatenate along {axis}"), [&parts[0], part], rules::alike_but_for(axis, &parts[0], part));
        }
        let mut shape = parts[0].shape.clone();
        shape[axis] = parts.iter().map(|p| p.shape[axis]).sum();
        let text =
            format!("stablehlo.concatenate {}, dim = {axis} : ({}) -> ", super::text::names(parts), types(parts));
        self.op(text, &shape, parts[0].ty)
    }

    /// The index along an axis.
    pub(super) fn iota(&mut self, shape: &[usize], axis: usize) -> HloValue {
        debug_assert!(axis < shape.len(), "a fault of the exporter: {shape:?} has no axis {axis} for `iota`");
        self.op(format!("stablehlo.iota dim = {axis} : "), shape, Ty::I64)
    }

    /// The prefix sums along an axis, or, in reverse, the suffix sums: sums over the last `2^k` elements for each `k`,
    /// since StableHLO has no scan.
    pub(super) fn prefix_sum(&mut self, x: &HloValue, axis: usize, reverse: bool) -> HloValue {
        let (mut sums, mut width) = (x.clone(), 1);
        while width < x.shape[axis] {
            let others = self.moved_along(&sums, axis, width, reverse);
            sums = self.binary("add", &sums, &others);
            width *= 2;
        }
        sums
    }

    /// Each element `width` places further along an axis, or, in reverse, nearer to its start; zeros take the places that
    /// become free.
    pub(super) fn moved_along(&mut self, x: &HloValue, axis: usize, width: usize, reverse: bool) -> HloValue {
        let n = x.shape[axis];
        let mut parts: Vec<_> = x.shape.iter().map(|n| (0, *n, 1)).collect();
        let mut widths = vec![[0; 3]; x.shape.len()];
        if reverse {
            (parts[axis], widths[axis][1]) = ((width, n, 1), width);
        } else {
            (parts[axis], widths[axis][0]) = ((0, n - width, 1), width);
        }
        let part = self.slice(x, &parts);
        self.pad(&part, &widths)
    }

    /// The reduction (`add`, `maximum`, `and`, ..) over axes, which are dropped.
    pub(super) fn reduce(&mut self, name: &str, x: &HloValue, start: f64, axes: &[usize]) -> HloValue {
        if axes.is_empty() {
            return x.clone();
        }
        rule!(format!("reduce over {axes:?}"), [x], rules::are_axes(axes, x.shape.len()));
        // For integers, an infinite start becomes the largest or smallest integer.
        let start = self.full(start, &[], x.ty);
        let shape: Shape = (0..x.shape.len()).filter(|k| !axes.contains(k)).map(|k| x.shape[k]).collect();
        let text = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.{name} across dimensions = {} : ({}) -> ",
            x.name,
            start.name,
            brackets(axes),
            types([x, &start])
        );
        self.op(text, &shape, x.ty)
    }

    /// The sum over axes.
    pub(super) fn sum(&mut self, x: &HloValue, axes: &[usize]) -> HloValue {
        self.reduce("add", x, 0.0, axes)
    }

    /// The contraction of two operands over the axes `summed`, with batch dimensions `batch`; in the result, the free
    /// axes of both follow the batch dimensions.
    pub(super) fn dot(&mut self, x: &HloValue, y: &HloValue, batch: [&[usize]; 2], summed: [&[usize]; 2]) -> HloValue {
        let axes = |v: &HloValue, side: usize| rules::are_axes(&[batch[side], summed[side]].concat(), v.shape.len());
        let fits = x.ty == y.ty && axes(x, 0) && axes(y, 1) && [batch, summed].iter().all(|p| rules::paired(x, y, *p));
        rule!(format!("dot_general with batch {batch:?} over {summed:?}"), [x, y], fits);
        let free = |v: &HloValue, side: usize| {
            (0..v.shape.len())
                .filter(|k| !batch[side].contains(k) && !summed[side].contains(k))
                .map(|k| v.shape[k])
                .collect::<Shape>()
        };
        let mut shape: Shape = batch[0].iter().map(|k| x.shape[*k]).collect();
        shape.extend(free(x, 0));
        shape.extend(free(y, 1));
        let batching = match batch[0] {
            [] => String::new(),
            _ => format!(" batching_dims = {} x {},", brackets(batch[0]), brackets(batch[1])),
        };
        let text = format!(
            "stablehlo.dot_general {}, {},{batching} contracting_dims = {} x {}, precision = [HIGHEST, HIGHEST] : ({}) -> ",
            x.name,
            y.name,
            brackets(summed[0]),
            brackets(summed[1]),
            types([x, y])
        );
        self.op(text, &shape, x.ty)
    }

    /// The part of these sizes that begins at a position, which is clamped so that the part lies within the operand.
    pub(super) fn dynamic_slice(&mut self, x: &HloValue, at: &[HloValue], sizes: &[usize]) -> HloValue {
        if at.is_empty() {
            return x.clone();
        }
        rule!(format!("dynamic_slice of {sizes:?}"), [x], rules::starts(x, at, sizes));
        let text = format!(
            "stablehlo.dynamic_slice {}, {}, sizes = {} : ({}) -> ",
            x.name,
            super::text::names(at),
            brackets(sizes),
            types(std::iter::once(x).chain(at))
        );
        self.op(text, sizes, x.ty)
    }

    /// The operand with a part replaced.
    pub(super) fn dynamic_update_slice(&mut self, x: &HloValue, part: &HloValue, at: &[HloValue]) -> HloValue {
        if at.is_empty() {
            return part.clone();
        }
        rule!("dynamic_update_slice", [x, part], x.ty == part.ty && rules::starts(x, at, &part.shape));
        let text = format!(
            "stablehlo.dynamic_update_slice {}, {}, {} : ({}) -> ",
            x.name,
            part.name,
            super::text::names(at),
            types([x, part].into_iter().chain(at))
        );
        self.op(text, &x.shape, x.ty)
    }
}

fn hexadecimal_digit(x: u8) -> char {
    char::from_digit(x.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

/// The type of a list of results: `tensor<f64>` for one, in parentheses for several.
pub(super) fn result_types(kinds: &[(Shape, Ty)]) -> String {
    let all = list(kinds.iter().map(|(shape, ty)| tensor(shape, *ty)));
    if kinds.len() == 1 { all } else { format!("({all})") }
}
