//! The filter on static memory behind functions of the C ABI, for a host that knows no Rust.
//!
//! Law: there is one thread, and each function borrows the memory for its call alone. Numbers go in through `input`,
//! whose address the host asks for, and come out at the addresses of the estimate.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;

use crate::{Filter, Real};

struct Memory<T>(UnsafeCell<T>);

// SAFETY: the module has one thread.
unsafe impl<T> Sync for Memory<T> {}

static FILTER: Memory<Filter> = Memory(UnsafeCell::new(Filter::new()));
static INPUT: Memory<[Real; 31]> = Memory(UnsafeCell::new([0.0; 31]));

/// The filter and the numbers that the host has written.
fn with<R>(run: impl FnOnce(&mut Filter, &[Real; 31]) -> R) -> R {
    // SAFETY: exported functions do not call each other, so this is the only borrow.
    run(unsafe { &mut *FILTER.0.get() }, unsafe { &*INPUT.0.get() })
}

/// `N` numbers of the input.
fn numbers<const N: usize>(input: &[Real; 31], at: usize) -> [Real; N] {
    core::array::from_fn(|k| input[(at + k) % 31])
}

/// Where the host writes the numbers of the next call.
#[unsafe(no_mangle)]
extern "C" fn input() -> *mut Real {
    INPUT.0.get().cast()
}

/// Starts with 16 numbers of the state and 15 standard deviations.
#[unsafe(no_mangle)]
extern "C" fn start() {
    with(|filter, input| filter.start(&numbers(input, 0), &numbers(input, 16)));
}

/// Takes 3 rates, 3 accelerations and the seconds.
#[unsafe(no_mangle)]
extern "C" fn predict() {
    with(|filter, input| filter.predict(&numbers(input, 0), &numbers(input, 3), input[6]));
}

/// Takes a position.
#[unsafe(no_mangle)]
extern "C" fn update_position() -> bool {
    with(|filter, input| filter.update_position(&numbers(input, 0)))
}

/// Takes the direction of the field.
#[unsafe(no_mangle)]
extern "C" fn update_field() -> bool {
    with(|filter, input| filter.update_field(&numbers(input, 0)))
}

/// Where the 16 numbers of the state are.
#[unsafe(no_mangle)]
extern "C" fn state() -> *const Real {
    with(|filter, _| filter.estimate().state.as_ptr())
}

/// Where the 225 numbers of the covariance are.
#[unsafe(no_mangle)]
extern "C" fn covariance() -> *const Real {
    with(|filter, _| filter.estimate().covariance.as_ptr())
}

/// Nothing panics, which the linker sees: this function is not in the module.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
