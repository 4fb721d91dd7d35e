//! Indexing by integer tensors: gather, its adjoint scatter, and concatenation.
//!
//! Law: `scatter_add` costs as much as its values, never the size of its base, if the base has no other owner; indices
//! out of bounds, negative ones included, read 0 and write nothing.

use smallvec::SmallVec;

use super::elementwise::{accumulate, kind};
use super::is_zero;
use super::views::elements;
use crate::array::{Array, Data, Elems, Values, pool, with_elem, with_float, with_num};
use crate::dtype::{DType, Elem, Float, Num};
use crate::kernels;
use crate::kernels::indexing::{Additions, Blocks, Segment, step};
use crate::kernels::isa::Isa;
use crate::ops::kinds;
use crate::shape::{self, Shape, check_room};

/// The subarrays of `t` at the indices.
#[inline]
#[track_caller]
pub(super) fn gather(t: &Array, ix: &[Array]) -> Array {
    if let (Array::Shared(stored), Some(at)) = (t, scalar_position(t.shape(), ix)) {
        // One element: this is how most loops over a captured array read it.
        return match &stored.data {
            Data::F64(v) => Array::F64(element(v, at)),
            Data::F32(v) => Array::F32(element(v, at)),
            Data::I64(v) => Array::I64(element(v, at)),
            Data::Bool(v) => Array::Bool(element(v, at)),
        };
    }
    gather_blocks(t, ix)
}

fn element<E: Elem>(v: &Elems<E>, at: Option<usize>) -> E {
    match (v, at) {
        (_, None) => E::ZERO,
        (Elems::Splat(x), Some(_)) => *x,
        (Elems::Dense(v), Some(at)) => v[at],
    }
}

/// For scalar indices, one per axis: the flat position, or `Some(None)` if it is out of bounds.
#[inline]
fn scalar_position(sizes: &[usize], ix: &[Array]) -> Option<Option<usize>> {
    if ix.len() != sizes.len() {
        return None;
    }
    let mut position = Some(0);
    for (i, size) in ix.iter().zip(sizes) {
        let Array::I64(i) = i else { return None };
        position = position.and_then(|outer| step(outer, *i, *size));
    }
    Some(position)
}

#[track_caller]
fn gather_blocks(t: &Array, ix: &[Array]) -> Array {
    let kinds: SmallVec<[(&[usize], DType); 4]> = ix.iter().map(kind).collect();
    let out = kinds::gather(t.shape(), &kinds);
    if ix.is_empty() {
        return t.clone();
    }
    let (indexed, rest) = t.shape().split_at(ix.len());
    let (count, block) = (shape::size(ix[0].shape()), shape::size(rest));
    let typed: SmallVec<[_; 4]> = ix.iter().map(Array::typed::<i64>).collect();
    let ix = lists(&typed);
    let blocks = Blocks { indexed, ix: &ix };
    with_elem!(t.dtype(), E => match t.typed::<E>() {
        Values::Splat(x) if x.same_bits(E::ZERO) || (0..count).all(|i| blocks.at(i).is_some()) => Array::full(&out, x),
        Values::Splat(x) => {
            check_room::<E>(&out);
            let mut v = pool::empty(count * block);
            (0..count).for_each(|i| v.extend(std::iter::repeat_n(blocks.at(i).map_or(E::ZERO, |_| x), block)));
            Array::dense(out, v)
        }
        Values::Dense(v) => {
            check_room::<E>(&out);
            let mut read = pool::any::<E>(count * block);
            kernels::indexing::gather(Isa::detect(), v, indexed, &ix, block, &mut read);
            Array::dense(out, read)
        }
    })
}

/// The lists of indices; a uniform array of indices is a list of one.
fn lists<'a>(ix: &'a [Values<'a, i64>]) -> SmallVec<[&'a [i64]; 4]> {
    ix.iter().map(elements).collect()
}

/// `base` with the subarrays of `v` added at the indices.
#[inline]
#[track_caller]
pub(super) fn scatter_add(mut base: Array, ix: &[Array], v: &Array) -> Array {
    match (scalar_position(base.shape(), ix), v) {
        (Some(at), Array::F64(x)) if base.dtype() == DType::F64 && !ix.is_empty() => {
            add_at(&mut base, at, *x);
            base
        }
        _ => scatter_blocks(base, ix, v),
    }
}

#[track_caller]
fn add_at<E: Num>(base: &mut Array, at: Option<usize>, x: E) {
    if let Some(at) = at {
        let sum = &mut base.make_dense::<E>()[at];
        *sum = sum.plus(x);
    }
}

#[track_caller]
fn scatter_blocks(mut base: Array, ix: &[Array], v: &Array) -> Array {
    let kinds: SmallVec<[(&[usize], DType); 4]> = ix.iter().map(kind).collect();
    kinds::scatter_add(kind(&base), &kinds, kind(v));
    if ix.is_empty() {
        return accumulate(base, v);
    }
    let count = shape::size(ix[0].shape());
    with_num!(base.dtype(), E => {
        // Adding zeros changes -0 to +0, and nothing else.
        let unchanged = is_zero::<E>(v) && base.splat::<E>().is_some_and(|x| x.same_bits(E::ZERO) || x != E::ZERO);
        if count > 0 && v.size() > 0 && !unchanged {
            add_blocks::<E>(&mut base, ix, v, count);
        }
    });
    base
}

#[track_caller]
fn add_blocks<E: Num>(base: &mut Array, ix: &[Array], v: &Array, count: usize) {
    let sizes = Shape::from_slice(base.shape());
    let (indexed, rest) = sizes.split_at(ix.len());
    let block = shape::size(rest);
    let typed: SmallVec<[_; 4]> = ix.iter().map(Array::typed::<i64>).collect();
    let ix = lists(&typed);
    let v = v.typed::<E>();
    let added = Additions { blocks: Blocks { indexed, ix: &ix }, range: 0..count, block, elements: elements(&v) };
    kernels::indexing::scatter_add(Isa::detect(), Segment::whole(base.make_dense::<E>()), added);
}

/// The concatenation of arrays along an axis.
#[track_caller]
pub(super) fn concat(axis: usize, parts: &[Array]) -> Array {
    let kinds: SmallVec<[(&[usize], DType); 4]> = parts.iter().map(kind).collect();
    let out = kinds::concat(axis, &kinds);
    if let [part] = parts {
        return part.clone();
    }
    with_elem!(parts[0].dtype(), E => {
        let first = parts[0].splat::<E>();
        match first {
            Some(x) if parts.iter().all(|p| p.splat::<E>().is_some_and(|y| y.same_bits(x))) => Array::full(&out, x),
            Some(_) | None => interleaved::<E>(axis, parts, out),
        }
    })
}

/// The elements of arrays of floats, one array after the other, as one vector of `f64`.
#[track_caller]
pub(super) fn joined(parts: &[Array]) -> Array {
    let n = parts.iter().map(Array::size).sum();
    let first = parts.first().and_then(Array::splat::<f64>);
    if let Some(x) = first.filter(|x| parts.iter().all(|p| p.splat::<f64>().is_some_and(|y| y.same_bits(*x)))) {
        return Array::full(&[n], x);
    }
    check_room::<f64>(&[n]);
    let mut v: Vec<f64> = pool::empty(n);
    for part in parts {
        with_float!(part.dtype(), E => match part.typed::<E>() {
            Values::Splat(x) => v.resize(v.len() + part.size(), x.as_f64()),
            Values::Dense(x) => v.extend(x.iter().map(|x| x.as_f64())),
        });
    }
    Array::dense(Shape::from_slice(&[n]), v)
}

#[track_caller]
fn interleaved<E: Elem>(axis: usize, parts: &[Array], out: Shape) -> Array {
    check_room::<E>(&out);
    let mut v: Vec<E> = pool::empty(shape::size(&out));
    let (outer, inner) = (shape::size(&out[..axis]), shape::size(&out[axis + 1..]));
    for i in 0..outer {
        for part in parts {
            let run = part.shape()[axis] * inner;
            match part.typed::<E>() {
                Values::Splat(x) => v.resize(v.len() + run, x),
                Values::Dense(p) => v.extend_from_slice(&p[i * run..(i + 1) * run]),
            }
        }
    }
    Array::dense(out, v)
}
