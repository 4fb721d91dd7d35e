//! The memory of a run: one aligned block, and the address of each value.
//!
//! Law: of this interpreter, only `memory`, `run`, `parts`, `tiles`, `whole` and `scalars` say `unsafe`, each access by
//! way of the table or of the registers. The planner gives two values that live at the same time disjoint places, and no
//! step reads a place that it writes, so the slices that a step holds never overlap; nor do those of threads, each of
//! which writes rows of its own. The table knows how many bytes each place has; debug builds check every access against
//! that.

#![allow(unsafe_code)]

use std::ops::Range;

use super::steps::Row;
use crate::dtype::{DType, Elem};

/// The number of a place.
pub(super) type Slot = u32;

/// The alignment of every place: a cache line, and the widest vector register.
pub(super) const LINE: usize = 64;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "read and written through addresses")] [u8; LINE]);

/// Bytes that start at a cache line.
pub(super) struct Block(Vec<Line>);

impl Block {
    /// At least `bytes` zeros.
    pub(super) fn new(bytes: usize) -> Block {
        Block(vec![Line([0; LINE]); bytes.div_ceil(LINE)])
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.len() * LINE
    }

    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Where a place is, and its size.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The first byte of the place, even if it has no memory.
    at: *mut u8,
    /// The bytes that have memory, and the first of them.
    bytes: usize,
    start: usize,
}

/// The addresses of all places of a run.
pub(super) struct Table(Vec<Entry>);

// Safety: the addresses point into the workspace that owns the table, or are set anew at the start of each run.
unsafe impl Send for Table {}

impl Table {
    pub(super) fn new(len: usize) -> Table {
        Table(vec![Entry { at: std::ptr::null_mut(), bytes: 0, start: 0 }; len])
    }

    /// Sets the address of a place.
    ///
    /// # Safety
    /// The bytes are valid for the run, aligned for the elements of the place, and written through this table alone if
    /// a step writes to the place.
    #[inline]
    pub(super) unsafe fn set(&mut self, slot: Slot, at: *mut u8, bytes: usize) {
        self.0[slot as usize] = Entry { at, bytes, start: 0 };
    }

    /// Sets a place to one row of another.
    pub(super) fn set_row(&mut self, row: &Row, i: usize) {
        let whole = self.0[row.of as usize];
        let start = row.start + i * row.bytes;
        debug_assert!(start + row.bytes <= whole.bytes, "row {i} at {start} of {} bytes", whole.bytes);
        self.0[row.row as usize] = Entry { at: whole.at.wrapping_add(start), bytes: row.bytes, start: 0 };
    }

    /// Makes a place the same as another.
    pub(super) fn set_same(&mut self, slot: Slot, other: Slot) {
        self.0[slot as usize] = self.0[other as usize];
    }

    pub(super) fn swap(&mut self, a: Slot, b: Slot) {
        self.0.swap(a as usize, b as usize);
    }

    /// Lets the memory of a place be that of its bytes from this one on.
    pub(super) fn set_start(&mut self, slot: Slot, start: usize) {
        let entry = &mut self.0[slot as usize];
        entry.at = entry.at.wrapping_add(entry.start).wrapping_sub(start);
        entry.start = start;
    }

    /// The number of the first element of a place that has memory, and the number of those that have.
    pub(super) fn extent<E: Elem>(&self, slot: Slot) -> (usize, usize) {
        let entry = self.0[slot as usize];
        (entry.start / size_of::<E>(), entry.bytes / size_of::<E>())
    }

    /// Elements of a place.
    ///
    /// # Safety
    /// The place holds elements of this type, and no slice of them that can be written is alive.
    #[inline(always)]
    pub(super) unsafe fn read<E: Elem>(&self, slot: Slot, start: usize, len: usize) -> &[E] {
        let entry = self.checked::<E>(slot, start, len);
        unsafe { std::slice::from_raw_parts(entry.at.cast::<E>().wrapping_add(start), len) }
    }

    /// Elements of a place, to be written.
    ///
    /// # Safety
    /// The place holds elements of this type, and no other slice of them is alive.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the planner keeps places apart, not the borrow of the table")]
    pub(super) unsafe fn write<E: Elem>(&self, slot: Slot, start: usize, len: usize) -> &mut [E] {
        let entry = self.checked::<E>(slot, start, len);
        unsafe { std::slice::from_raw_parts_mut(entry.at.cast::<E>().wrapping_add(start), len) }
    }

    /// The address of an element of a place that has so many from there on.
    #[inline]
    pub(super) fn address(&self, slot: Slot, dtype: DType, at: usize, len: usize) -> *mut u8 {
        let entry = self.0[slot as usize];
        debug_assert!((at + len) * dtype.width() <= entry.bytes, "place {slot} has {} bytes", entry.bytes);
        entry.at.wrapping_add(at * dtype.width())
    }

    #[inline(always)]
    fn checked<E: Elem>(&self, slot: Slot, start: usize, len: usize) -> Entry {
        let entry = self.0[slot as usize];
        debug_assert!(!entry.at.is_null(), "place {slot} has no address");
        debug_assert!(entry.at.cast::<E>().is_aligned(), "place {slot} is not aligned for {}", E::DTYPE);
        debug_assert!(
            entry.start <= start * size_of::<E>() && (start + len) * size_of::<E>() <= entry.start + entry.bytes,
            "place {slot} has {} bytes from {}, not {len} {} from {start}",
            entry.bytes,
            entry.start,
            E::DTYPE
        );
        entry
    }

    /// Copies some bytes to a place from as many of another, which starts at this byte.
    pub(super) fn copy(&mut self, from: Slot, start: usize, into: Slot, bytes: Range<usize>) {
        let (from, into) = (self.0[from as usize], self.0[into as usize]);
        debug_assert!(start + bytes.end <= from.bytes && bytes.end <= into.bytes && (from.start, into.start) == (0, 0));
        // Safety: both places have as many bytes.
        unsafe {
            std::ptr::copy(from.at.wrapping_add(start + bytes.start), into.at.wrapping_add(bytes.start), bytes.len())
        }
    }

    /// Lets all places be where they are in another table.
    pub(super) fn follow(&mut self, other: &Table) {
        self.0.clone_from(&other.0);
    }

    /// Where a place is.
    pub(super) fn entry(&self, slot: Slot) -> Entry {
        self.0[slot as usize]
    }

    /// Lets a place be where it was.
    pub(super) fn restore(&mut self, slot: Slot, entry: Entry) {
        self.0[slot as usize] = entry;
    }

    /// Fills bytes of a place with zeros (`false`).
    #[inline]
    pub(super) fn clear(&mut self, slot: Slot, bytes: Range<usize>) {
        let entry = self.0[slot as usize];
        debug_assert!(entry.start <= bytes.start && bytes.end <= entry.start + entry.bytes);
        // Safety: the place has these bytes; zero bytes are zeros of every element type.
        unsafe { std::ptr::write_bytes(entry.at.wrapping_add(bytes.start), 0, bytes.len()) }
    }
}
