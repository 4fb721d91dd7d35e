//! Arrays of the caller: checked, then lent for a run.
//!
//! Law: an array is read or written only if its type and size are those of its slot, its address is aligned, and no result
//! overlaps another array.

#![allow(unsafe_code)]

use std::ffi::c_void;

use polygrad::backend::{LentSlice, LentSliceMut};
use polygrad::program::Slot;
use polygrad::shape::size;
use polygrad::{Array, DType};

use crate::boundary::Fault;

/// Elements of the caller, row by row: their type, their number, and where they are.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LentArray {
    /// A type: 0 for `f64`, 1 for `f32`, 2 for `i64`, 3 for truth values, bytes that are 0 or 1.
    pub dtype: i32,
    /// The number of elements.
    pub size: usize,
    /// The first element; null only without elements.
    pub data: *mut c_void,
}

/// The number of an element type in C.
pub(crate) fn number_of(dtype: DType) -> i32 {
    match dtype {
        DType::F64 => 0,
        DType::F32 => 1,
        DType::I64 => 2,
        DType::Bool => 3,
    }
}

fn width(dtype: DType) -> usize {
    match dtype {
        DType::F64 | DType::I64 => 8,
        DType::F32 => 4,
        DType::Bool => 1,
    }
}

/// An array that fits its slot.
#[derive(Clone, Copy)]
pub(crate) struct FittingArray {
    dtype: DType,
    size: usize,
    data: *mut c_void,
}

impl FittingArray {
    /// An array for a slot; the words name it in messages.
    pub(crate) fn new(array: &LentArray, slot: &Slot, what: &str) -> Result<FittingArray, Fault> {
        let needed = size(&slot.shape);
        let given = DType::ALL.into_iter().find(|dtype| number_of(*dtype) == array.dtype);
        if given != Some(slot.dtype) {
            let given = given.map_or_else(|| format!("of the unknown type {}", array.dtype), |known| known.to_string());
            return Err(Fault::argument(format!(
                "{what} must have elements {}, but they are {given}; convert them",
                slot.dtype
            )));
        }
        if array.size != needed {
            return Err(Fault::argument(format!(
                "{what} must have {needed} elements, those of the shape {:?}, but it has {}; pass all of them, row by row",
                slot.shape, array.size
            )));
        }
        if array.data.is_null() && needed > 0 {
            return Err(Fault::argument(format!(
                "{what} must have an address, but it is null; pass its first element"
            )));
        }
        let wide = width(slot.dtype);
        if !(array.data as usize).is_multiple_of(wide) {
            return Err(Fault::argument(format!(
                "{what} must lie at a multiple of {wide} bytes, but it lies at {:p}; align it",
                array.data
            )));
        }
        Ok(FittingArray { dtype: slot.dtype, size: needed, data: array.data })
    }

    fn range(&self) -> (usize, usize) {
        let start = self.data as usize;
        (start, start + self.size * width(self.dtype))
    }

    /// # Safety
    /// The address is that of `size` elements of `E`, which live during `'a` and nobody writes.
    unsafe fn slice<'a, E>(&self) -> &'a [E] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: by the contract of this function.
        unsafe { std::slice::from_raw_parts(self.data.cast::<E>(), self.size) }
    }

    /// # Safety
    /// The address is that of `size` elements of `E`, which live during `'a` and nobody else uses.
    unsafe fn slice_mut<'a, E>(&self) -> &'a mut [E] {
        if self.size == 0 {
            return &mut [];
        }
        // SAFETY: by the contract of this function.
        unsafe { std::slice::from_raw_parts_mut(self.data.cast::<E>(), self.size) }
    }

    /// The elements for a run.
    ///
    /// # Safety
    /// The address is that of `size` elements, which live during `'a` and nobody writes.
    pub(crate) unsafe fn lent<'a>(&self, what: &str) -> Result<LentSlice<'a>, Fault> {
        // SAFETY: the caller has the elements; all bits are a float or an integer, and bytes are looked at before they are
        // truth values.
        unsafe {
            Ok(match self.dtype {
                DType::F64 => LentSlice::F64(self.slice()),
                DType::F32 => LentSlice::F32(self.slice()),
                DType::I64 => LentSlice::I64(self.slice()),
                DType::Bool => {
                    if let Some(byte) = self.slice::<u8>().iter().find(|byte| **byte > 1) {
                        return Err(Fault::argument(format!(
                            "{what} must have truth values, bytes that are 0 or 1, but one is {byte}; compare it with 0"
                        )));
                    }
                    LentSlice::Bool(self.slice())
                }
            })
        }
    }

    /// The memory of a result for a run.
    ///
    /// # Safety
    /// The address is that of `size` elements, which live during `'a` and nobody else uses.
    pub(crate) unsafe fn lent_mut<'a>(&self) -> LentSliceMut<'a> {
        // SAFETY: the caller has the memory; all bits are a float or an integer, and bytes are set before they are truth
        // values.
        unsafe {
            match self.dtype {
                DType::F64 => LentSliceMut::F64(self.slice_mut()),
                DType::F32 => LentSliceMut::F32(self.slice_mut()),
                DType::I64 => LentSliceMut::I64(self.slice_mut()),
                DType::Bool => {
                    self.slice_mut::<u8>().fill(0);
                    LentSliceMut::Bool(self.slice_mut())
                }
            }
        }
    }

    /// A copy of the elements, of this shape.
    ///
    /// # Safety
    /// As for [`lent`](Self::lent).
    pub(crate) unsafe fn array(&self, shape: &[usize], what: &str) -> Result<Array, Fault> {
        // SAFETY: by the contract of this function.
        Ok(match unsafe { self.lent(what) }? {
            LentSlice::F64(x) => Array::new(shape, x.to_vec()),
            LentSlice::F32(x) => Array::new(shape, x.to_vec()),
            LentSlice::I64(x) => Array::new(shape, x.to_vec()),
            LentSlice::Bool(x) => Array::new(shape, x.to_vec()),
        })
    }
}

/// The arrays for some slots, in order.
pub(crate) fn fitting(arrays: &[LentArray], slots: &[Slot], what: &str) -> Result<Vec<FittingArray>, Fault> {
    if arrays.len() != slots.len() {
        let (needed, given) = (slots.len(), arrays.len());
        return Err(Fault::argument(format!(
            "there must be one array for each {what}, but they are {given} and {needed}; pass as many"
        )));
    }
    let pairs = arrays.iter().zip(slots).enumerate();
    pairs.map(|(k, (array, slot))| FittingArray::new(array, slot, &named(what, k, slot))).collect()
}

/// The words for an array of a slot.
pub(crate) fn named(what: &str, k: usize, slot: &Slot) -> String {
    if slot.name.is_empty() { format!("{what} {k}") } else { format!("{what} {k}, {:?},", slot.name) }
}

/// Refuses results that overlap other arrays: a run reads its inputs while it writes.
pub(crate) fn apart(inputs: &[FittingArray], results: &[FittingArray]) -> Result<(), Fault> {
    let ranges = |arrays: &[FittingArray], written: bool| -> Vec<(usize, usize, bool)> {
        let full = arrays.iter().filter(|array| array.size > 0).map(FittingArray::range);
        full.map(|(start, end)| (start, end, written)).collect()
    };
    let mut all = [ranges(inputs, false), ranges(results, true)].concat();
    all.sort_unstable();
    // The ends of what lies before: of all arrays, and of those that are written.
    let [mut any, mut written] = [0, 0];
    for (start, end, is_written) in all {
        if start < written || (is_written && start < any) {
            return Err(Fault::argument(format!(
                "results must overlap no other array, but one at {start:#x} does; pass memory for each result"
            )));
        }
        any = any.max(end);
        if is_written {
            written = written.max(end);
        }
    }
    Ok(())
}
