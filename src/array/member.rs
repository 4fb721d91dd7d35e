//! Access to stored elements by their type: rank-0 arrays and data as members of [families](crate::dtype).

use std::marker::PhantomData;
use std::ptr;

use super::{Array, Data, Elems};
use crate::dtype::{Elem, ElemFamily, Member};

/// The family of elements.
pub(crate) struct OneElement;

impl ElemFamily for OneElement {
    type Of<E: Elem> = E;
}

/// The family of references to an element.
struct OneRef<'a>(PhantomData<&'a ()>);

impl<'a> ElemFamily for OneRef<'a> {
    type Of<E: Elem> = &'a E;
}

/// The family of stored elements.
struct All;

impl ElemFamily for All {
    type Of<E: Elem> = Elems<E>;
}

/// The family of references to stored elements.
struct AllRef<'a>(PhantomData<&'a ()>);

impl<'a> ElemFamily for AllRef<'a> {
    type Of<E: Elem> = &'a Elems<E>;
}

/// The family of mutable references to stored elements.
struct AllMut<'a>(PhantomData<&'a ()>);

impl<'a> ElemFamily for AllMut<'a> {
    type Of<E: Elem> = &'a mut Elems<E>;
}

/// The rank-0 array of an element.
#[inline]
pub(super) fn scalar<E: Elem>(x: E) -> Array {
    match E::member::<OneElement>(x) {
        Member::F64(x) => Array::F64(x),
        Member::F32(x) => Array::F32(x),
        Member::I64(x) => Array::I64(x),
        Member::Bool(x) => Array::Bool(x),
    }
}

impl Array {
    /// The element of a rank-0 array, if it is of type `E`.
    #[inline]
    pub(crate) fn as_scalar<E: Elem>(&self) -> Option<&E> {
        E::of_member::<OneRef<'_>>(match self {
            Array::F64(x) => Member::F64(x),
            Array::F32(x) => Member::F32(x),
            Array::I64(x) => Member::I64(x),
            Array::Bool(x) => Member::Bool(x),
            Array::Shared(_) => return None,
        })
    }
}

impl<E> Elems<E> {
    /// The address of the elements, if they are stored one by one.
    #[inline]
    fn address(&self) -> Option<*const u8> {
        if let Elems::Dense(elements) = self { Some(elements.as_ptr().cast()) } else { None }
    }
}

impl Array {
    /// The address of the elements, if they are stored one by one.
    #[inline]
    pub(crate) fn address(&self) -> Option<*const u8> {
        match self {
            Array::F64(x) => Some(ptr::from_ref(x).cast()),
            Array::F32(x) => Some(ptr::from_ref(x).cast()),
            Array::I64(x) => Some(ptr::from_ref(x).cast()),
            Array::Bool(x) => Some(ptr::from_ref(x).cast()),
            Array::Shared(stored) => match &stored.data {
                Data::F64(elements) => elements.address(),
                Data::F32(elements) => elements.address(),
                Data::I64(elements) => elements.address(),
                Data::Bool(elements) => elements.address(),
            },
        }
    }
}

impl Data {
    /// The data with these elements.
    #[inline]
    pub(crate) fn new<E: Elem>(elements: Elems<E>) -> Data {
        match E::member::<All>(elements) {
            Member::F64(elements) => Data::F64(elements),
            Member::F32(elements) => Data::F32(elements),
            Member::I64(elements) => Data::I64(elements),
            Member::Bool(elements) => Data::Bool(elements),
        }
    }

    /// The elements, if they are of type `E`.
    #[inline]
    pub(crate) fn of<E: Elem>(&self) -> Option<&Elems<E>> {
        E::of_member::<AllRef<'_>>(match self {
            Data::F64(elements) => Member::F64(elements),
            Data::F32(elements) => Member::F32(elements),
            Data::I64(elements) => Member::I64(elements),
            Data::Bool(elements) => Member::Bool(elements),
        })
    }

    /// The elements as a mutable reference, if they are of type `E`.
    #[inline]
    pub(crate) fn of_mut<E: Elem>(&mut self) -> Option<&mut Elems<E>> {
        E::of_member::<AllMut<'_>>(match self {
            Data::F64(elements) => Member::F64(elements),
            Data::F32(elements) => Member::F32(elements),
            Data::I64(elements) => Member::I64(elements),
            Data::Bool(elements) => Member::Bool(elements),
        })
    }
}
