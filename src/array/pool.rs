//! The memory of arrays that are gone, kept for the next ones. A large array returned to the system and taken again
//! costs a page fault for each page, which is more than most operations on it.
//!
//! Law: a thread keeps at most [`BYTES`] bytes in at most [`BUFFERS`] buffers for each element type, the oldest given
//! up first, and returns all of it when it ends. Arrays below [`SMALL`] bytes are left to the allocator, which does
//! these well. Memory that cannot be had is a panic in words: all arrays that the interpreter fills take theirs here.

use std::any::Any;
use std::cell::RefCell;

use super::{Data, Elems, Stored};
use crate::dtype::Elem;
use crate::shape::check_room;

/// The most bytes of each element type that a thread keeps.
const BYTES: usize = 64 << 20;

/// The most buffers of each element type that a thread keeps.
const BUFFERS: usize = 32;

/// The bytes from which on an array is kept.
const SMALL: usize = 32 << 10;

/// The buffers of one element type, oldest first.
struct Shelf<E> {
    buffers: Vec<Vec<E>>,
    bytes: usize,
}

impl<E> Shelf<E> {
    const EMPTY: Shelf<E> = Shelf { buffers: Vec::new(), bytes: 0 };

    /// A buffer of at least this capacity, and at most twice that.
    fn take(&mut self, len: usize) -> Option<Vec<E>> {
        let fits = |v: &Vec<E>| len <= v.capacity() && v.capacity() / 2 <= len;
        // The newest is the likeliest to be in a cache.
        let found = self.buffers.iter().rposition(fits)?;
        let buffer = self.buffers.remove(found);
        self.bytes -= buffer.capacity() * size_of::<E>();
        Some(buffer)
    }

    fn give(&mut self, buffer: Vec<E>) {
        self.bytes += buffer.capacity() * size_of::<E>();
        self.buffers.push(buffer);
        while self.bytes > BYTES || self.buffers.len() > BUFFERS {
            self.bytes -= self.buffers.remove(0).capacity() * size_of::<E>();
        }
    }
}

struct Pool {
    f64: Shelf<f64>,
    f32: Shelf<f32>,
    i64: Shelf<i64>,
    bool: Shelf<bool>,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool { f64: Shelf::EMPTY, f32: Shelf::EMPTY, i64: Shelf::EMPTY, bool: Shelf::EMPTY })
    };
}

impl Pool {
    fn shelf<E: Elem>(&mut self) -> Option<&mut Shelf<E>> {
        let Pool { f64, f32, i64, bool } = self;
        let shelves: [&mut dyn Any; 4] = [f64, f32, i64, bool];
        shelves.into_iter().find_map(|shelf| shelf.downcast_mut())
    }
}

/// As many elements, each of any value.
#[track_caller]
pub(crate) fn any<E: Elem>(len: usize) -> Vec<E> {
    match recycled(len) {
        Some(v) => v,
        None => {
            check_room::<E>(&[len]);
            vec![E::ZERO; len]
        }
    }
}

/// As many elements of one value. Zeros of the system are not written.
#[track_caller]
pub(crate) fn full<E: Elem>(x: E, len: usize) -> Vec<E> {
    match recycled(len) {
        Some(mut v) => {
            v.fill(x);
            v
        }
        None => {
            check_room::<E>(&[len]);
            vec![x; len]
        }
    }
}

/// No elements, with room for as many.
#[track_caller]
pub(crate) fn empty<E: Elem>(len: usize) -> Vec<E> {
    match recycled(len) {
        Some(mut v) => {
            v.clear();
            v
        }
        None => {
            check_room::<E>(&[len]);
            Vec::with_capacity(len)
        }
    }
}

/// The elements of an iterator.
#[inline]
#[track_caller]
pub(crate) fn collected<E: Elem>(elements: impl ExactSizeIterator<Item = E>) -> Vec<E> {
    let mut v = any(elements.len());
    v.iter_mut().zip(elements).for_each(|(to, x)| *to = x);
    v
}

/// As many elements of the past, if there are.
fn recycled<E: Elem>(len: usize) -> Option<Vec<E>> {
    if len.saturating_mul(size_of::<E>()) < SMALL {
        return None;
    }
    // Arrays are made, too, while a thread ends.
    let take = |pool: &RefCell<Pool>| pool.borrow_mut().shelf::<E>().and_then(|shelf| shelf.take(len));
    let mut v = POOL.try_with(take).ok().flatten()?;
    v.resize(len, E::ZERO);
    Some(v)
}

fn give<E: Elem>(elems: &mut Elems<E>) {
    let Elems::Dense(v) = elems else { return };
    let bytes = v.capacity() * size_of::<E>();
    if !(SMALL..=BYTES).contains(&bytes) {
        return;
    }
    let v = std::mem::take(v);
    // While a thread ends, its arrays are freed.
    let _ = POOL.try_with(|pool| {
        if let Some(shelf) = pool.borrow_mut().shelf::<E>() {
            shelf.give(v);
        }
    });
}

impl Drop for Stored {
    fn drop(&mut self) {
        match &mut self.data {
            Data::F64(elems) => give(elems),
            Data::F32(elems) => give(elems),
            Data::I64(elems) => give(elems),
            Data::Bool(elems) => give(elems),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;

    fn kept() -> (usize, usize) {
        POOL.with(|pool| {
            let Shelf { buffers, bytes } = &pool.borrow().f64;
            assert_eq!(*bytes, buffers.iter().map(|v| v.capacity() * 8).sum::<usize>());
            (buffers.len(), *bytes)
        })
    }

    #[test]
    fn memory_is_recycled_within_bounds() {
        let len = SMALL / 8;
        let first = Array::new(&[len + 8], vec![1.0; len + 8]);
        let clone = first.clone();
        drop(first);
        assert_eq!(kept(), (0, 0), "shared elements are still in use");
        drop(clone);
        assert_eq!(kept(), (1, SMALL + 64));
        assert_eq!(full(2.0, len + 3), vec![2.0; len + 3]);
        assert_eq!(kept(), (0, 0));
        drop(Array::new(&[len - 1], vec![1.0; len - 1]));
        assert_eq!(kept(), (0, 0), "small arrays are left to the allocator");
        // As many as there may be, then more bytes than there may be.
        let many: Vec<Array> = (0..BUFFERS + 3).map(|_| Array::new(&[len], vec![1.0; len])).collect();
        drop(many);
        assert_eq!(kept(), (BUFFERS, BUFFERS * SMALL));
        assert_eq!(any::<f64>(4 * len).len(), 4 * len);
        assert_eq!(kept().0, BUFFERS, "a buffer that is too small is kept");
        let half = BYTES / 8 / 2;
        let large: Vec<Array> = (0..4).map(|_| Array::new(&[half], vec![1.0; half])).collect();
        drop(large);
        assert_eq!(kept(), (2, BYTES));
        assert_eq!(collected([1.0, 2.0].into_iter()), [1.0, 2.0]);
    }
}
