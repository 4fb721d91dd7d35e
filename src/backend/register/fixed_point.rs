//! Fixed points: once a trip of a loop reproduces its carry, later trips with the same rows are copied.
//!
//! The derivative of a loop that ends by itself is that of all trips there can be: those after the end change nothing,
//! forwards or backwards, and there may be many more of them than of the others. A mask that is carried or read says
//! that a trip is of this kind; whether it is, is seen from what it does.
//!
//! Law: a trip is a function of what is carried and of its rows. So after a trip that has left every carry as it was,
//! to the bit, a trip with the same rows does the same again: what it writes is copied.

#![allow(unsafe_code)]

use smallvec::SmallVec;

use super::machine::File;
use super::{NoChange, Register, RegisterCode, StridedElement};
use crate::dtype::DType;

/// How many trips may be looked at in vain.
const TRIES: usize = 4;

/// The look at trips that may change nothing.
pub(crate) struct FixedPoint {
    /// The carries before a trip that is looked at.
    before: SmallVec<[u64; 16]>,
    tries: usize,
}

impl FixedPoint {
    pub(crate) fn new() -> FixedPoint {
        FixedPoint { before: SmallVec::new(), tries: TRIES }
    }

    /// Notes the carries before the trip of this index, if the trip may change nothing; says whether it may.
    #[inline]
    pub(crate) fn before(&mut self, file: &File<'_>, code: &RegisterCode, i: usize) -> bool {
        let idle = match code.idle {
            Some(NoChange::Carry(register)) => !file.holds(register),
            // Safety: the address is that of a mask.
            Some(NoChange::Row(row)) => !unsafe { *file.at(&code.rows[row], false, i).0.cast::<bool>() },
            None => false,
        };
        if !idle || self.tries == 0 {
            return false;
        }
        self.before.clear();
        self.before.extend(code.carries.iter().map(|register| file.get(*register).to_bits()));
        true
    }

    /// The number of trips that come after the one of this index, of so many, and do what it has done: it has changed
    /// nothing, and they have its rows. What they write is written.
    #[inline]
    pub(crate) fn after(&mut self, file: &File<'_>, code: &RegisterCode, i: usize, left: usize) -> usize {
        let same = |(register, before): (&Register, &u64)| file.get(*register).to_bits() == *before;
        if !code.carries.iter().zip(&self.before).all(same) {
            self.tries -= 1;
            return 0;
        }
        let mut same = left;
        for row in code.moving().filter(|moving| moving.reads) {
            same = file.equal(row, code.reverse, i, same);
        }
        for out in code.moving().filter(|moving| !moving.reads) {
            file.repeat(out, code.reverse, i, same);
        }
        same
    }
}

impl File<'_> {
    /// The element of a row at an index, and the bytes from there to that of the next trip.
    fn at(&self, moving: &StridedElement, reverse: bool, i: usize) -> (*mut u8, isize) {
        let step = moving.bytes as isize;
        (self.address(moving).wrapping_add(i * moving.bytes), if reverse { -step } else { step })
    }

    /// How many of so many trips after the one of an index have its element of a row.
    fn equal(&self, row: &StridedElement, reverse: bool, i: usize, most: usize) -> usize {
        let at = self.at(row, reverse, i);
        // Safety: the addresses are those of elements of this width, one for each trip.
        unsafe {
            match row.dtype {
                DType::F64 | DType::I64 => equal::<u64>(at, most),
                DType::F32 => equal::<u32>(at, most),
                DType::Bool => equal::<u8>(at, most),
            }
        }
    }

    /// Writes what a trip has written for so many trips after it.
    fn repeat(&self, out: &StridedElement, reverse: bool, i: usize, count: usize) {
        let at = self.at(out, reverse, i);
        // Safety: as in `equal`; no row is borrowed.
        unsafe {
            match out.dtype {
                DType::F64 | DType::I64 => repeat::<u64>(at, count),
                DType::F32 => repeat::<u32>(at, count),
                DType::Bool => repeat::<u8>(at, count),
            }
        }
    }
}

/// # Safety
/// There are so many elements after the first one, so many bytes apart.
unsafe fn equal<E: Copy + PartialEq>((at, step): (*mut u8, isize), most: usize) -> usize {
    // Safety: as the caller says.
    let element = |k: usize| unsafe { *at.wrapping_offset(k as isize * step).cast::<E>() };
    let first = element(0);
    (1..=most).take_while(|k| element(*k) == first).count()
}

/// # Safety
/// As for [`equal`]; none is borrowed.
unsafe fn repeat<E: Copy>((at, step): (*mut u8, isize), count: usize) {
    // Safety: as the caller says.
    unsafe {
        let first = *at.cast::<E>();
        (1..=count).for_each(|k| *at.wrapping_offset(k as isize * step).cast::<E>() = first);
    }
}
