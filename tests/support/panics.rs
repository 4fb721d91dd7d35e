//! Catching a panic that is expected: its words, and the place it points to.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use polygrad::{Shapes, Tensor};

/// What a panic says, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caught {
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

thread_local! {
    /// The next panic of this thread, while one is expected.
    static EXPECTED: RefCell<Option<Caught>> = const { RefCell::new(None) };
}

/// A call as one that forgets what it gives, so that what is done with calls is compiled once for all. There are
/// thousands of calls: so this is one closure for each, and nothing that is generic in the closure.
macro_rules! forgetful {
    ($f:ident) => {
        &mut {
            let mut f = Some($f);
            move || {
                if let Some(f) = f.take() {
                    f();
                }
            }
        }
    };
}
#[allow(unused_imports)]
pub(crate) use forgetful;

/// The panic that a call ends in.
#[track_caller]
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Caught {
    caught_in(forgetful!(f))
}

/// The panic that a call ends in.
#[track_caller]
pub(crate) fn caught_in(f: &mut dyn FnMut()) -> Caught {
    caught_in_if_any(f).expect("a panic was expected")
}

/// The panic that a call ends in, if it does not return.
#[allow(dead_code)]
pub(crate) fn caught_if_any<R>(f: impl FnOnce() -> R) -> Option<Caught> {
    caught_in_if_any(forgetful!(f))
}

/// Installs the hook. Until that is done, a mistake that a check of another test finds may miss its place: so a test that
/// looks at such a place comes after this.
pub(crate) fn install() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // The library installs a hook with its first check. Another test may be at its first: of two hooks that are
        // installed at once, one can be lost.
        polygrad::check(|x: &Tensor<Shapes, 0>| x.clone(), &Tensor::<Shapes, 0>::zeros([])).expect("nothing to refuse");
        let default = take_hook();
        set_hook(Box::new(move |info| {
            EXPECTED.with_borrow_mut(|expected| match expected {
                Some(seen) => {
                    let words = info.payload();
                    let fixed = words.downcast_ref::<&str>().map(|words| words.to_string());
                    seen.message = fixed.or_else(|| words.downcast_ref::<String>().cloned()).unwrap_or_default();
                    if let Some(at) = info.location() {
                        (seen.file, seen.line, seen.column) = (at.file().to_string(), at.line(), at.column());
                    }
                }
                None => default(info),
            });
        }));
    });
}

fn caught_in_if_any(f: &mut dyn FnMut()) -> Option<Caught> {
    install();
    EXPECTED.set(Some(Caught::default()));
    let outcome = catch_unwind(AssertUnwindSafe(f));
    let seen = EXPECTED.take().unwrap_or_default();
    outcome.is_err().then_some(seen)
}
