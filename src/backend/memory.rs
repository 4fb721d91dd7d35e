//! The memory of a run: zeroed blocks, and the address of each buffer.
//!
//! Law: of the compiler, only `memory`, `run`, `tile/machine` and `register` contain `unsafe` code, and each of its
//! accesses goes through the table or the registers. Its safety follows from the owners of memory:
//!
//! | memory | who reads it | who writes it |
//! |---|---|---|
//! | a [`Block`]: workspace, registers, partial sums | nobody as a whole: a block is an address | nobody as a whole |
//! | inputs, constants | any step, on any thread | nobody during a run |
//! | a buffer of the workspace, an output | the steps in its live range (`plan/buffers.rs`) | the same; no step reads a buffer that it writes, except that it accumulates through the slice that it writes |
//! | a buffer that the parts of a step write row by row | each part, its own rows | each part, its own rows |
//! | a buffer into which the parts of a step accumulate | each part, its own copy among the partial sums | the same |
//! | a buffer with memory for one row block, registers | the thread that owns the memory | the same |
//!
//! A slice of elements lives while one instruction, or one kernel on whole buffers, runs, and lies within the bytes of
//! the buffer's entry in the table. So a slice that is written overlaps no other slice of the same instruction. Each
//! thread has its own table, in which a buffer that the current step writes in parts is
//! [narrowed](AddressTable::narrow) to the rows of the part, so slices of several threads overlap only if all of them
//! are read. Debug builds check each slice against its entry: a step that touches rows of another part panics in any
//! test, even on one thread.
//!
//! All bytes of a block are initialized as zeros, and each bit pattern is a valid number. A mask is written before it
//! is read, since its buffer may have held numbers before.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::ops::Range;
use std::ptr::NonNull;

use crate::array::pages::prefer_large;
use crate::backend::ir::step::{BufferId, LINE, RowOperand};
use crate::dtype::{DType, Elem};

/// An alignment for which the allocator returns zeroed pages of the system without writing them: for a large alignment,
/// the standard library writes the zeros itself.
const NATURAL: usize = align_of::<u64>();

/// The place of a slice of a caller in memory, with its element type and its number of elements.
#[derive(Clone, Copy)]
pub(crate) struct SlicePlace {
    pub(crate) at: *mut u8,
    pub(crate) len: usize,
    pub(crate) dtype: DType,
}

impl SlicePlace {
    pub(crate) fn of<E: Elem>(slice: &[E]) -> SlicePlace {
        SlicePlace { at: slice.as_ptr().cast::<u8>().cast_mut(), len: slice.len(), dtype: E::DTYPE }
    }

    pub(crate) fn of_mut<E: Elem>(slice: &mut [E]) -> SlicePlace {
        SlicePlace { at: slice.as_mut_ptr().cast(), len: slice.len(), dtype: E::DTYPE }
    }
}

/// Zeroed bytes that start at a cache line. For pages of a large block that no run touches, the system provides no
/// memory.
pub(crate) struct Block {
    /// The allocation; `None` for a block of no bytes.
    memory: Option<(NonNull<u8>, Layout)>,
    /// The first cache line.
    start: NonNull<u8>,
    bytes: usize,
}

// Safety: a block owns its bytes, as a vector does.
unsafe impl Send for Block {}

impl Block {
    /// No bytes.
    pub(crate) const EMPTY: Block = Block { memory: None, start: NonNull::<Line>::dangling().cast(), bytes: 0 };

    /// At least `bytes` zeroed bytes; `None` if they cannot be allocated.
    pub(crate) fn new(bytes: usize) -> Option<Block> {
        if bytes == 0 {
            return Some(Block::EMPTY);
        }
        let bytes = bytes.checked_next_multiple_of(LINE)?;
        let layout = Layout::from_size_align(bytes.checked_add(LINE - NATURAL)?, NATURAL).ok()?;
        // Safety: the layout has bytes.
        let at = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        prefer_large(at.as_ptr(), layout.size());
        let before = at.as_ptr().addr().next_multiple_of(LINE) - at.as_ptr().addr();
        // Safety: the layout has spare bytes for the distance to the first cache line.
        Some(Block { memory: Some((at, layout)), start: unsafe { at.add(before) }, bytes })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn start(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some((at, layout)) = self.memory {
            // Safety: the allocator gave this memory for this layout.
            unsafe { std::alloc::dealloc(at.as_ptr(), layout) }
        }
    }
}

/// A type with the alignment of a cache line.
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "stands for the bytes")] [u8; LINE]);

/// The address and the extent of a buffer.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Entry {
    /// The address of byte 0 of the buffer, even if that byte has no memory.
    at: *mut u8,
    /// The number of bytes that have memory, and the first of them.
    bytes: usize,
    start: usize,
}

/// The addresses of all buffers of a run.
pub(crate) struct AddressTable(Vec<Entry>);

// Safety: the addresses point into the memory that owns the table, or are set at the start of each run.
unsafe impl Send for AddressTable {}

impl AddressTable {
    pub(crate) fn new(len: usize) -> AddressTable {
        AddressTable(vec![Entry { at: std::ptr::null_mut(), bytes: 0, start: 0 }; len])
    }

    /// The entries, for native code, which reads addresses alone.
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    pub(crate) fn start(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    /// The distance in bytes of the address of a buffer from the [`start`](Self::start).
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    pub(crate) fn distance(buf: BufferId) -> i32 {
        i32::try_from(buf as usize * size_of::<Entry>()).expect("a table has less than 2^31 bytes")
    }

    /// Sets the address of a buffer.
    ///
    /// # Safety
    /// The bytes are valid for the run, aligned for the elements of the buffer, and written through this table alone if
    /// a step writes to the buffer.
    #[inline]
    pub(crate) unsafe fn set(&mut self, buf: BufferId, at: *mut u8, bytes: usize) {
        self.0[buf as usize] = Entry { at, bytes, start: 0 };
    }

    /// Sets a buffer to one row of another.
    pub(crate) fn set_row(&mut self, row: &RowOperand, i: usize) {
        let whole = self.0[row.of as usize];
        let start = row.start + i * row.bytes;
        debug_assert!(
            whole.start == 0 && start + row.bytes <= whole.bytes,
            "row {i} at {start} of {} bytes",
            whole.bytes
        );
        self.0[row.row as usize] = Entry { at: whole.at.wrapping_add(start), bytes: row.bytes, start: 0 };
    }

    /// Sets a buffer to the address of another.
    pub(crate) fn set_same(&mut self, buf: BufferId, other: BufferId) {
        self.0[buf as usize] = self.0[other as usize];
    }

    pub(crate) fn swap(&mut self, a: BufferId, b: BufferId) {
        self.0.swap(a as usize, b as usize);
    }

    /// Restricts a buffer to a range of its bytes: the range that a part of a step may access.
    pub(crate) fn narrow(&mut self, buf: BufferId, bytes: Range<usize>) {
        let entry = &mut self.0[buf as usize];
        debug_assert!(entry.start <= bytes.start && bytes.end <= entry.start + entry.bytes);
        (entry.start, entry.bytes) = (bytes.start, bytes.len());
    }

    /// Reuses the memory of a buffer for its bytes from `start` on: for the next block of rows.
    pub(crate) fn set_start(&mut self, buf: BufferId, start: usize) {
        let entry = &mut self.0[buf as usize];
        entry.at = entry.at.wrapping_add(entry.start).wrapping_sub(start);
        entry.start = start;
    }

    /// The first element of a buffer that has memory, and the number of elements that have.
    pub(crate) fn extent<E: Elem>(&self, buf: BufferId) -> (usize, usize) {
        let entry = self.0[buf as usize];
        (entry.start / size_of::<E>(), entry.bytes / size_of::<E>())
    }

    /// A slice of the elements of a buffer.
    ///
    /// # Safety
    /// The buffer holds elements of this type, and no mutable slice of them is alive.
    #[inline(always)]
    pub(crate) unsafe fn read<E: Elem>(&self, buf: BufferId, start: usize, len: usize) -> &[E] {
        let entry = self.checked::<E>(buf, start, len);
        unsafe { std::slice::from_raw_parts(entry.at.cast::<E>().wrapping_add(start), len) }
    }

    /// A mutable slice of the elements of a buffer.
    ///
    /// # Safety
    /// The buffer holds elements of this type, and no other slice of them is alive.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the planner keeps places apart, not the borrow of the table")]
    pub(crate) unsafe fn write<E: Elem>(&self, buf: BufferId, start: usize, len: usize) -> &mut [E] {
        let entry = self.checked::<E>(buf, start, len);
        unsafe { std::slice::from_raw_parts_mut(entry.at.cast::<E>().wrapping_add(start), len) }
    }

    /// The address of element `at` of a buffer; debug builds check that `len` elements from there on have memory.
    #[inline]
    pub(crate) fn address(&self, buf: BufferId, dtype: DType, at: usize, len: usize) -> *mut u8 {
        let entry = self.0[buf as usize];
        let (start, end) = (at * dtype.width(), (at + len) * dtype.width());
        debug_assert!(
            entry.start <= start && end <= entry.start + entry.bytes,
            "buffer {buf} has {} bytes",
            entry.bytes
        );
        entry.at.wrapping_add(at * dtype.width())
    }

    #[inline(always)]
    fn checked<E: Elem>(&self, buf: BufferId, start: usize, len: usize) -> Entry {
        let entry = self.0[buf as usize];
        debug_assert!(!entry.at.is_null(), "buffer {buf} has no address");
        debug_assert!(entry.at.cast::<E>().is_aligned(), "buffer {buf} is not aligned for {}", E::DTYPE);
        debug_assert!(
            entry.start <= start * size_of::<E>() && (start + len) * size_of::<E>() <= entry.start + entry.bytes,
            "buffer {buf} has {} bytes from {}, not {len} {} from {start}",
            entry.bytes,
            entry.start,
            E::DTYPE
        );
        entry
    }

    /// Copies bytes of a buffer, counted from its byte `start`, to the same range of bytes of another.
    pub(crate) fn copy(&mut self, from: BufferId, start: usize, into: BufferId, bytes: Range<usize>) {
        let (from, into) = (self.0[from as usize], self.0[into as usize]);
        let has =
            |entry: Entry, bytes: Range<usize>| entry.start <= bytes.start && bytes.end <= entry.start + entry.bytes;
        debug_assert!(has(from, start + bytes.start..start + bytes.end) && has(into, bytes.clone()));
        // Safety: both buffers have these bytes. They may overlap: a carry may lie where its initial value lies.
        unsafe {
            std::ptr::copy(from.at.wrapping_add(start + bytes.start), into.at.wrapping_add(bytes.start), bytes.len())
        }
    }

    /// Copies all addresses from another table.
    pub(crate) fn follow(&mut self, other: &AddressTable) {
        self.0.clone_from(&other.0);
    }

    /// The entry of a buffer.
    pub(crate) fn entry(&self, buf: BufferId) -> Entry {
        self.0[buf as usize]
    }

    /// Restores an earlier entry of a buffer.
    pub(crate) fn restore(&mut self, buf: BufferId, entry: Entry) {
        self.0[buf as usize] = entry;
    }

    /// Fills bytes of a buffer with zeros (`false`).
    #[inline]
    pub(crate) fn clear(&mut self, buf: BufferId, bytes: Range<usize>) {
        let entry = self.0[buf as usize];
        debug_assert!(entry.start <= bytes.start && bytes.end <= entry.start + entry.bytes);
        // Safety: the buffer has these bytes; zero bytes are zeros of every element type.
        unsafe { std::ptr::write_bytes(entry.at.wrapping_add(bytes.start), 0, bytes.len()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::backend::memory::*;

    /// A table of one buffer of eight numbers.
    fn table(block: &mut Block) -> AddressTable {
        let mut table = AddressTable::new(1);
        // Safety: the block has these bytes, and outlives the table.
        unsafe { table.set(0, block.start(), 64) };
        table
    }

    #[test]
    fn a_part_has_its_own_rows_of_a_place() {
        let mut block = Block::new(64).expect("memory");
        let (mut low, mut high) = (table(&mut block), table(&mut block));
        low.narrow(0, 0..24);
        high.narrow(0, 24..64);
        assert_eq!((low.extent::<f64>(0), high.extent::<f64>(0)), ((0, 3), (3, 5)));
        // Safety: the slices are disjoint.
        let (x, y) = unsafe { (low.write::<f64>(0, 0, 3), high.write::<f64>(0, 3, 5)) };
        x.fill(1.0);
        y.fill(2.0);
        let whole = table(&mut block);
        // Safety: the mutable slices are not used any more.
        assert_eq!(unsafe { whole.read::<f64>(0, 2, 2) }, [1.0, 2.0]);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "buffer 0 has 24 bytes from 0, not 2 f64 from 2")]
    fn rows_of_another_part_are_refused() {
        let mut block = Block::new(64).expect("memory");
        let mut low = table(&mut block);
        low.narrow(0, 0..24);
        // Safety: the check comes first.
        unsafe { low.read::<f64>(0, 2, 2) };
    }

    #[test]
    fn blocks_are_zeros_at_cache_lines_or_nothing() {
        for bytes in [0, 1, 64, 1000, 40 << 20] {
            let mut block = Block::new(bytes).expect("memory");
            assert!(block.bytes() >= bytes && block.bytes() < bytes + LINE);
            assert_eq!(block.start().addr() % LINE, 0);
            // Safety: the block has these bytes.
            let seen = unsafe { std::slice::from_raw_parts(block.start(), bytes.min(1000)) };
            assert!(seen.iter().all(|byte| *byte == 0));
        }
        for bytes in [1 << 60, isize::MAX as usize, usize::MAX - 64, usize::MAX] {
            assert!(Block::new(bytes).is_none(), "{bytes}");
        }
    }
}
