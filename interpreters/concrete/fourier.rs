//! Discrete Fourier transforms, by the kernel that compiled programs call.

use std::borrow::Cow;

use crate::array::{Array, Values, pool, with_float};
use crate::kernels::fourier::{Room, Transform, Transformed};
use crate::shape::Shape;

/// The transform along `axis` of complex numbers whose parts are the two positions of another axis.
pub(super) fn fourier(t: &Array, parts: usize, axis: usize, conjugate: bool) -> Array {
    with_float!(t.dtype(), E => transformed::<E>(t, parts, axis, conjugate))
}

fn transformed<E: Transformed>(t: &Array, parts: usize, axis: usize, conjugate: bool) -> Array {
    if t.size() == 0 {
        return t.clone();
    }
    let v: Cow<'_, [E]> = match t.typed::<E>() {
        Values::Dense(v) => Cow::Borrowed(v),
        Values::Splat(x) => Cow::Owned(vec![x; t.size()]),
    };
    let mut out = pool::any::<E>(v.len());
    Transform::of_array(t.shape(), [parts, axis], conjugate, E::DTYPE).run(&[&*v], &mut out, &mut Room::default());
    Array::dense(Shape::from_slice(t.shape()), out)
}
