//! Catching a panic that is expected: its words, and the line it points to.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// What the next panic of this thread says and where, while one is expected.
    static EXPECTED: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// The message of a panic, and the line of the test it points to; 0 if it points into the library.
pub(crate) fn panic_of<R>(f: impl FnOnce() -> R) -> (String, u32) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = take_hook();
        set_hook(Box::new(move |info| {
            EXPECTED.with_borrow_mut(|expected| match expected {
                Some(seen) => {
                    let line = info.location().filter(|l| l.file().contains("tests")).map_or(0, |l| l.line());
                    *seen = (info.payload_as_str().unwrap_or_default().to_string(), line);
                }
                None => default(info),
            });
        }));
    });
    EXPECTED.set(Some((String::new(), 0)));
    let outcome = catch_unwind(AssertUnwindSafe(f));
    let seen = EXPECTED.take().unwrap_or_default();
    assert!(outcome.is_err(), "a panic was expected");
    seen
}
