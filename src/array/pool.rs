//! A pool of the memory of large arrays that have been dropped, for reuse by new arrays of the same thread.
//!
//! Memory that is returned to the system and allocated again causes a page fault for each page, which takes more time
//! than most operations on the array.
//!
//! Law: a thread keeps at most [`BYTES`] bytes in at most [`BUFFERS`] buffers for each element type; the oldest buffers
//! are freed first, and all of them when the thread ends. Arrays below [`SMALL`] bytes are left to the allocator. If
//! memory cannot be allocated, the panic has a message, as all arrays that the interpreter fills are allocated here.

use std::any::Any;
use std::cell::RefCell;

use super::pages::prefer_large;
use super::{Data, Elems, Stored};
use crate::dtype::Elem;
use crate::shape::check_room;

/// The largest number of bytes that a thread keeps for each element type.
const BYTES: usize = 64 << 20;

/// The largest number of buffers that a thread keeps for each element type.
const BUFFERS: usize = 32;

/// The least number of bytes of a buffer that is kept.
const SMALL: usize = 32 << 10;

/// The buffers of one element type, oldest first.
struct Shelf<E> {
    buffers: Vec<Vec<E>>,
    bytes: usize,
}

impl<E> Shelf<E> {
    const EMPTY: Shelf<E> = Shelf { buffers: Vec::new(), bytes: 0 };

    /// Takes a buffer of at least this capacity and at most about twice that.
    fn take(&mut self, len: usize) -> Option<Vec<E>> {
        let fits = |v: &Vec<E>| len <= v.capacity() && v.capacity() / 2 <= len;
        // The newest buffer is the most likely to be in a cache.
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

/// A vector of `len` elements with unspecified values.
#[track_caller]
pub(crate) fn any<E: Elem>(len: usize) -> Vec<E> {
    match recycled(len) {
        Some(v) => v,
        None => {
            check_room::<E>(&[len]);
            // Zeros in new memory of the system are not written.
            advised(vec![E::ZERO; len])
        }
    }
}

/// A vector of `len` elements of one value. Zeros in new memory of the system are not written again.
#[track_caller]
pub(crate) fn full<E: Elem>(x: E, len: usize) -> Vec<E> {
    match recycled(len) {
        Some(mut v) => {
            v.fill(x);
            v
        }
        None => {
            check_room::<E>(&[len]);
            let mut v = advised(Vec::with_capacity(len));
            v.resize(len, x);
            v
        }
    }
}

/// An empty vector with capacity for `len` elements.
#[track_caller]
pub(crate) fn empty<E: Elem>(len: usize) -> Vec<E> {
    match recycled(len) {
        Some(mut v) => {
            v.clear();
            v
        }
        None => {
            check_room::<E>(&[len]);
            advised(Vec::with_capacity(len))
        }
    }
}

/// New memory, in large pages if it is large.
fn advised<E>(v: Vec<E>) -> Vec<E> {
    prefer_large(v.as_ptr().cast(), v.capacity() * size_of::<E>());
    v
}

/// The elements of an iterator as a vector.
#[inline]
#[track_caller]
pub(crate) fn collected<E: Elem>(elements: impl ExactSizeIterator<Item = E>) -> Vec<E> {
    let mut v = any(elements.len());
    v.iter_mut().zip(elements).for_each(|(to, x)| *to = x);
    v
}

/// A vector of `len` elements with unspecified values in a buffer of the pool, if there is a fitting one.
fn recycled<E: Elem>(len: usize) -> Option<Vec<E>> {
    if len.saturating_mul(size_of::<E>()) < SMALL {
        return None;
    }
    // `try_with`, since arrays are also made after the pool of an ending thread is dropped.
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
    // Without a pool, as when a thread ends, the buffer is freed.
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
        // More buffers than are kept, then more bytes than are kept.
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
