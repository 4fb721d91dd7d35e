//! Large pages of memory for large arrays, where the system has them and leaves the choice to programs (Linux).
//!
//! A pass over arrays that no cache holds looks up an address for each page: 512 times fewer with pages of 2 MiB than
//! with those of 4 KiB. New memory costs a page fault for each page, too.
//!
//! Law: memory keeps its contents; only its speed changes.
#![allow(unsafe_code)]

/// The least number of bytes for which large pages are asked for: shorter memory may hold none that is aligned.
#[cfg(all(target_os = "linux", not(miri)))]
const LEAST: usize = 4 << 20;

/// Asks for large pages. Those that have been written stay as they are.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn prefer_large(start: *const u8, bytes: usize) {
    use std::ffi::{c_int, c_void};
    // The C library, with which the standard library is linked.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    const PAGE: usize = 4096;
    if bytes < LEAST {
        return;
    }
    let skipped = start.addr().next_multiple_of(PAGE) - start.addr();
    let whole = (bytes - skipped) / PAGE * PAGE;
    // Safety: the pages lie within the memory of the caller, and keep their contents. Where the system has no large
    // pages, or pages of another size, the call fails without effect.
    let _ = unsafe { madvise(start.wrapping_add(skipped).cast_mut().cast(), whole, MADV_HUGEPAGE) };
}

/// Asks for large pages: this system has no such choice.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn prefer_large(_: *const u8, _: usize) {}
