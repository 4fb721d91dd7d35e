//! Counts of instructions, by valgrind: a process of its own runs one program, and only its last run counts.

use std::collections::HashMap;
use std::env;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// A program with its inputs, to be prepared and then run.
pub(crate) struct Side {
    pub(crate) name: String,
    make: Box<dyn Fn() -> Box<dyn FnMut()> + Sync>,
}

impl Side {
    /// `make` prepares the program; what it gives runs the program once.
    pub(crate) fn new<R: FnMut() + 'static>(name: impl Into<String>, make: impl Fn() -> R + Sync + 'static) -> Side {
        Side { name: name.into(), make: Box::new(move || Box::new(make())) }
    }

    /// Runs the program so often that memory is allocated and code is compiled, and then once more.
    pub(crate) fn run(&self) {
        let mut run = (self.make)();
        run();
        run();
        polygrad_measured(&mut run);
    }
}

/// The run that counts: valgrind collects counts within the function of this name.
#[inline(never)]
fn polygrad_measured(run: &mut dyn FnMut()) {
    run();
}

/// The instructions of a run of each side; `None` where valgrind gives no count.
pub(crate) fn instructions<'s>(sides: &[&'s Side]) -> HashMap<&'s str, Option<u64>> {
    let (next, counts) = (AtomicUsize::new(0), Mutex::new(HashMap::new()));
    let work = || {
        while let Some(side) = sides.get(next.fetch_add(1, Ordering::Relaxed)) {
            let count = counted(&side.name);
            counts.lock().expect("no thread panics").insert(side.name.as_str(), count);
        }
    };
    scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    counts.into_inner().expect("no thread panics")
}

/// The instructions of one run of the side of this name.
fn counted(name: &str) -> Option<u64> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*polygrad_measured*", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe().ok()?)
        .args(["--count", name])
        .envs([("POLYGRAD_ISA", "avx2"), ("RAYON_NUM_THREADS", "1")])
        .output()
        .ok()?;
    let text = String::from_utf8(run.stderr).ok()?;
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    let count = line.rsplit(':').next()?.trim().parse().ok()?;
    (run.status.success() && count > 0).then_some(count)
}
