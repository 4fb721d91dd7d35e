//! Fork and join: two functions of arrays, on two threads if there are two.
//!
//! Law: results, printed lines and panics are those of one function after the other. Each function runs in the state of
//! the caller's taps; its lines wait for those of the function before it.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use crate::array::Array;
use crate::base::{ForkBranch, both};
use crate::kernels::threads;
use crate::taps::{Ended, TapState};

pub(super) fn fork(branches: [ForkBranch<'_, Array>; 2]) -> [Vec<Array>; 2] {
    if threads::available() < 2 {
        return both(branches);
    }
    let state = TapState::of_thread();
    let ended: [Mutex<Option<Ended<Vec<Array>>>>; 2] = [Mutex::new(None), Mutex::new(None)];
    threads::share(2, branches.into_iter().zip(&ended), |((args, run), ended)| {
        let result = state.run(|| run(args));
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    ended.map(|ended| {
        let Some(ended) = ended.into_inner().unwrap_or_else(PoisonError::into_inner) else {
            unreachable!("each function has run")
        };
        ended.result().unwrap_or_else(|payload| resume_unwind(payload))
    })
}
