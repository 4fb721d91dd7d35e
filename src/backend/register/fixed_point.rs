//! Fixed points: once a trip of a loop reproduces its carry, later trips with the same rows are copied.
//!
//! The derivative of a loop with an early exit runs the largest possible number of trips: trips after the exit change
//! nothing, in the forward and in the reverse pass, and may be most of all trips. A mask that is carried or read from a
//! row is false in trips after the exit. The mask is only a hint: carries are compared before and after a trip whose
//! mask is false.
//!
//! Law: a trip is a function of the carries and of its rows. So after a trip that reproduces every carry, to the bit,
//! each later trip with the same rows writes the same elements: they are copied.

#![allow(unsafe_code)]

use smallvec::SmallVec;

use super::machine::File;
use super::{NoChange, Register, RegisterCode, StridedElement};
use crate::dtype::DType;

/// The number of trips whose carries are compared, and found changed, before the check is given up.
const TRIES: usize = 4;

/// The check for a fixed point.
pub(crate) struct FixedPoint {
    /// The carries before the trip that is checked.
    before: SmallVec<[u64; 16]>,
    tries: usize,
}

impl FixedPoint {
    pub(crate) fn new() -> FixedPoint {
        FixedPoint { before: SmallVec::new(), tries: TRIES }
    }

    /// Records the carries before the trip at an index if the mask suggests a fixed point; returns whether it does.
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

    /// The number of the `left` later trips that are equal to the trip at an index: 0 if that trip has changed a carry,
    /// and otherwise the number of next trips with the same rows. The elements that these trips write are written.
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
    /// The address of the element of a row at an index, and the distance in bytes to that of the next trip.
    fn at(&self, moving: &StridedElement, reverse: bool, i: usize) -> (*mut u8, isize) {
        let step = moving.bytes as isize;
        (self.address(moving).wrapping_add(i * moving.bytes), if reverse { -step } else { step })
    }

    /// The number of next trips, at most `most`, whose element of a row equals that of the trip at an index.
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

    /// Copies the element that the trip at an index has written to the elements of the next `count` trips.
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
/// There are `most` elements after the first one, `step` bytes apart.
unsafe fn equal<E: Copy + PartialEq>((at, step): (*mut u8, isize), most: usize) -> usize {
    // Safety: as the caller says.
    let element = |k: usize| unsafe { *at.wrapping_offset(k as isize * step).cast::<E>() };
    let first = element(0);
    (1..=most).take_while(|k| element(*k) == first).count()
}

/// # Safety
/// As for [`equal`], with `count` elements; none is borrowed.
unsafe fn repeat<E: Copy>((at, step): (*mut u8, isize), count: usize) {
    // Safety: as the caller says.
    unsafe {
        let first = *at.cast::<E>();
        (1..=count).for_each(|k| *at.wrapping_offset(k as isize * step).cast::<E>() = first);
    }
}
