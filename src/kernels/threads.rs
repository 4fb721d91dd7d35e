//! Execution of independent jobs on the threads of the `rayon` pool in which the caller runs.
//!
//! Law: no result depends on the number of threads, or on the thread that runs a job. Without the feature `rayon`, or
//! in a pool of one thread, the caller runs all jobs.
//!
//! Users limit the threads as they limit the pool: by `RAYON_NUM_THREADS`, or by `ThreadPool::install`. The caller asks
//! other threads for help, begins at once and takes one job after the other. It waits for threads that have begun a
//! job, but not for threads that have not started yet. So on a busy machine, sharing costs only the call for help, a
//! few microseconds.
//!
//! Unsafe code, as this module is allowed by name to have: a thread of the pool calls a function that lives in a frame
//! of the caller.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cost::MACHINE;

/// The number of threads for an amount of work in nanoseconds: 1 below the threshold of the machine.
pub(crate) fn number(work: f64) -> usize {
    if work < MACHINE.thread { 1 } else { available() }
}

/// The number of threads of the pool.
pub(crate) fn available() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    return 1;
}

/// Calls `work` with each job, on at most `threads` threads.
pub(crate) fn share<J: Send>(threads: usize, jobs: impl IntoIterator<Item = J>, work: impl Fn(J) + Sync) {
    if threads < 2 {
        return jobs.into_iter().for_each(work);
    }
    let jobs: Vec<Mutex<Option<J>>> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        let job = jobs.get(next.fetch_add(1, Ordering::Relaxed))?;
        job.lock().expect("nothing panics while a job is taken").take()
    };
    with_help(threads.min(jobs.len()).saturating_sub(1), &|| {
        while let Some(job) = take() {
            work(job);
        }
    });
}

/// Columns of a matrix that is stored row by row: what one job writes of an array.
///
/// Law: no element belongs to two of those that are cut of one array, so each has its elements for itself.
pub(crate) struct Columns<'a, E> {
    start: *mut E,
    /// The number of elements of all rows, and of one.
    len: usize,
    row: usize,
    from: usize,
    to: usize,
    array: PhantomData<&'a mut [E]>,
}

// SAFETY: it is a mutable borrow of its elements.
unsafe impl<E: Send> Send for Columns<'_, E> {}

impl<'a, E> Columns<'a, E> {
    /// All of an array.
    pub(crate) fn whole(array: &'a mut [E]) -> Columns<'a, E> {
        let len = array.len();
        Columns { start: array.as_mut_ptr(), len, row: len, from: 0, to: len, array: PhantomData }
    }

    /// The columns from one of these ends to the next, of a matrix with rows of `row` elements.
    pub(crate) fn cut(array: &'a mut [E], row: usize, ends: impl IntoIterator<Item = usize>) -> Vec<Columns<'a, E>> {
        let (start, len) = (array.as_mut_ptr(), array.len());
        let mut from = 0;
        let next = |end: usize| {
            let end = end.clamp(from, row);
            Columns { start, len, row, from: std::mem::replace(&mut from, end), to: end, array: PhantomData }
        };
        ends.into_iter().map(next).collect()
    }

    /// Neighbouring elements of one row, by the place of the first one in the array.
    ///
    /// # Panics
    /// When one of them is in no row or outside the columns.
    #[inline]
    pub(crate) fn run(&mut self, at: usize, len: usize) -> &mut [E] {
        let column = if self.row == self.len { at } else { at % self.row.max(1) };
        let inside = self.from <= column && len <= self.to && column <= self.to - len;
        assert!(inside && at <= self.len && len <= self.len - at, "the elements belong to the columns");
        // SAFETY: the elements lie in the array, and no other borrow that was cut of it has them.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}

/// The number of calls for help that no thread has taken up yet.
#[cfg(feature = "rayon")]
static UNHEARD: AtomicUsize = AtomicUsize::new(0);

/// The address of a function in a stack frame of the caller. It is not a reference, since for a thread that comes late the
/// frame may be gone.
#[cfg(feature = "rayon")]
#[derive(Clone, Copy)]
struct Lent(*const (dyn Fn() + Sync));

// SAFETY: the function may be called by any thread.
#[cfg(feature = "rayon")]
unsafe impl Send for Lent {}

#[cfg(feature = "rayon")]
impl Lent {
    /// Calls the function, if the gate is open.
    fn pass(self, gate: &gate::Gate) {
        // SAFETY: between `enter` and `leave`, the guard of the gate keeps the frame of the caller.
        gate.pass(&|| unsafe { (*self.0)() });
    }
}

/// Calls a function, and lets up to `helpers` other threads call it, too, if they come before the caller is done.
#[cfg(feature = "rayon")]
fn with_help(helpers: usize, work: &(dyn Fn() + Sync)) {
    use gate::{Gate, GateGuard};
    let gate = std::sync::Arc::new(Gate::new());
    // SAFETY: the lifetime of the pointee is left to the gate: see `Lent`.
    let function = Lent(unsafe { std::mem::transmute::<&(dyn Fn() + Sync), *const (dyn Fn() + Sync)>(work) });
    let guard = GateGuard(&gate);
    for _ in 0..helpers {
        // If all threads are busy, calls for help do not pile up.
        if UNHEARD.load(Ordering::Relaxed) >= 2 * available() {
            break;
        }
        UNHEARD.fetch_add(1, Ordering::Relaxed);
        let gate = gate.clone();
        rayon::spawn(move || {
            UNHEARD.fetch_sub(1, Ordering::Relaxed);
            function.pass(&gate);
        });
    }
    work();
    drop(guard);
    gate.check();
}

/// Calls a function.
#[cfg(not(feature = "rayon"))]
fn with_help(_: usize, work: &(dyn Fn() + Sync)) {
    work();
}

#[cfg(feature = "rayon")]
mod gate {
    use std::any::Any;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{self, Thread};

    /// Set when no thread may enter any more; the other bits count the threads inside.
    const CLOSED: usize = 1 << (usize::BITS - 1);

    /// How often the caller polls the gate before it parks.
    const LOOKS: usize = 2000;

    /// Lets threads in until it is closed, and knows when all have left.
    pub(crate) struct Gate {
        inside: AtomicUsize,
        caller: Thread,
        panic: Mutex<Option<Box<dyn Any + Send>>>,
    }

    impl Gate {
        pub(crate) fn new() -> Gate {
            Gate { inside: AtomicUsize::new(0), caller: thread::current(), panic: Mutex::new(None) }
        }

        /// Calls a function inside, if the gate is open.
        pub(crate) fn pass(&self, work: &dyn Fn()) {
            let enter = |inside: usize| (inside & CLOSED == 0).then_some(inside + 1);
            if self.inside.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
                return;
            }
            if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
                *self.panic.lock().expect("nothing panics while a panic is kept") = Some(payload);
            }
            if self.inside.fetch_sub(1, Ordering::AcqRel) == CLOSED | 1 {
                self.caller.unpark();
            }
        }

        /// Resumes the panic of a thread in the caller, if there was one.
        pub(crate) fn check(&self) {
            let payload = self.panic.lock().expect("nothing panics while a panic is kept").take();
            if let Some(payload) = payload {
                resume_unwind(payload);
            }
        }
    }

    /// Closes the gate, and waits until all have left.
    pub(crate) struct GateGuard<'g>(pub(crate) &'g Gate);

    impl Drop for GateGuard<'_> {
        fn drop(&mut self) {
            let Gate { inside, .. } = self.0;
            inside.fetch_or(CLOSED, Ordering::AcqRel);
            let mut looks = 0;
            while inside.load(Ordering::Acquire) != CLOSED {
                looks += 1;
                if looks < LOOKS { std::hint::spin_loop() } else { thread::park() }
            }
        }
    }
}

/// Runs `work` in a pool of `threads` threads, however many the machine has. The calling thread is one of the pool, so
/// that all communication between threads goes through this module, which `make tsan` checks, and none through the
/// pool.
#[cfg(all(test, feature = "rayon"))]
pub(crate) fn with_threads(threads: usize, work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let run = || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build();
            let _pool = pool.expect("a pool");
            work();
        };
        if let Err(payload) = scope.spawn(run).join() {
            std::panic::resume_unwind(payload);
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::kernels::threads::*;

    #[test]
    fn each_job_is_done_once() {
        with_threads(3, || {
            for n in [0, 1, 2, 5, 100] {
                let mut done = vec![0; n];
                share(3, &mut done, |x| *x += 1);
                assert_eq!(done, vec![1; n]);
            }
        });
    }

    #[test]
    fn columns_are_written_by_one_job_each() {
        with_threads(3, || {
            for (rows, row) in [(1, 7), (5, 12), (12, 1), (0, 4)] {
                let mut array = vec![0; rows * row];
                let columns = Columns::cut(&mut array, row, [0, row / 3, row / 2, row]);
                assert_eq!(columns.len(), 4);
                share(3, columns.into_iter().enumerate(), |(job, mut columns)| {
                    for r in 0..rows {
                        let (from, to) = (columns.from, columns.to);
                        columns.run(r * row + from, to - from).fill(job);
                    }
                });
                let owner = |c: usize| {
                    if c < row / 3 {
                        1
                    } else if c < row / 2 {
                        2
                    } else {
                        3
                    }
                };
                assert!(array.iter().enumerate().all(|(at, job)| *job == owner(at % row)), "{rows} x {row}");
            }
        });
    }

    #[test]
    fn elements_of_other_columns_are_refused() {
        let mut array = [0; 12];
        let refused = |at: usize, len: usize| {
            let mut array = array;
            let mut columns = Columns::cut(&mut array, 4, [2, 4]).swap_remove(1);
            let run = std::panic::AssertUnwindSafe(|| columns.run(at, len).len());
            std::panic::catch_unwind(run).is_err()
        };
        assert!(!refused(2, 2) && !refused(11, 1) && !refused(6, 1));
        for (at, len) in [(1, 1), (0, 2), (3, 2), (2, 3), (14, 1), (12, 1), (usize::MAX, 2)] {
            assert!(refused(at, len), "{len} from {at} on");
        }
        assert_eq!(Columns::whole(&mut array).run(0, 12).len(), 12);
        assert_eq!(Columns::<f64>::whole(&mut []).run(0, 0).len(), 0);
    }

    #[test]
    fn sharing_nests() {
        with_threads(3, || {
            let mut done = vec![vec![0; 7]; 9];
            share(3, &mut done, |row| share(3, row, |x| *x += 1));
            assert_eq!(done, vec![vec![1; 7]; 9]);
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_when_all_threads_have_left() {
        with_threads(3, || {
            let left = AtomicUsize::new(0);
            let run = || {
                share(3, 0..20, |k| {
                    if k == 3 {
                        panic!("job {k}")
                    } else {
                        left.fetch_add(1, Ordering::Relaxed);
                    }
                })
            };
            let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("a job panics");
            assert_eq!(payload.downcast_ref::<String>().map(|s| &s[..]), Some("job 3"));
            assert!(left.load(Ordering::Relaxed) <= 19);
        });
    }
}
