//! Commands that end: a compiler is stopped, with all that it has started, when its time is over.
//!
//! Law: whatever a command does, it is waited for no longer than its limit, and what it printed is bounded. Its input is
//! empty.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest text of an output that is kept.
const LONGEST: usize = 1 << 20;

/// How long to wait for the rest of the outputs of a command that has ended: a server that it has started may hold them.
const REST: Duration = Duration::from_millis(500);

/// The outcome of a command.
pub(super) struct Finished {
    pub(super) success: bool,
    pub(super) out: String,
    pub(super) err: String,
}

/// Why a command has no result.
pub(super) enum ProcessFault {
    /// It cannot be started.
    Start(io::Error),
    /// It was stopped.
    TimeLimit,
}

/// The text that a thread reads from a command.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    /// Reads until the end, which is sent.
    fn read(&self, mut from: impl Read + Send + 'static, end: Sender<()>) -> io::Result<()> {
        let to = self.clone();
        let read = move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                let mut text = to.0.lock().unwrap_or_else(PoisonError::into_inner);
                let room = LONGEST.saturating_sub(text.len()).min(n);
                text.extend_from_slice(&chunk[..room]);
            }
            // Nobody listens any more after a time limit.
            let _ = end.send(());
        };
        std::thread::Builder::new().spawn(read).map(drop)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// Runs a command for so long.
pub(super) fn run(command: &mut Command, limit: Duration) -> Result<Finished, ProcessFault> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn().map_err(ProcessFault::Start)?;
    let end = Instant::now().checked_add(limit);
    let (out, err) = (Output::default(), Output::default());
    let (sender, ends) = mpsc::channel();
    let reads = [
        child.stdout.take().map_or(Ok(()), |from| out.read(from, sender.clone())),
        child.stderr.take().map_or(Ok(()), |from| err.read(from, sender)),
    ];
    if let Some(fault) = reads.into_iter().find_map(Result::err) {
        stop(&mut child);
        return Err(ProcessFault::Start(fault));
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(fault) => {
                stop(&mut child);
                return Err(ProcessFault::Start(fault));
            }
        }
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            stop(&mut child);
            return Err(ProcessFault::TimeLimit);
        }
        // A command ends soon after its outputs.
        if let Err(RecvTimeoutError::Disconnected) = ends.recv_timeout(left.min(Duration::from_millis(20))) {
            std::thread::sleep(left.min(Duration::from_millis(1)));
        }
    };
    let end = Instant::now() + REST;
    while ends.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok() {}
    Ok(Finished { success: status.success(), out: out.text(), err: err.text() })
}

/// Ends a command and what it has started, and waits for it.
fn stop(child: &mut Child) {
    #[cfg(unix)]
    unix::kill_group(child.id());
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// The functions of POSIX that the standard library lacks.
#[cfg(unix)]
pub(super) mod unix {
    // SAFETY: these are the functions of these names in POSIX, whose types are integers of 32 bits on all systems that Rust
    // supports. They touch no memory of the process.
    unsafe extern "C" {
        safe fn geteuid() -> u32;
        safe fn kill(process: i32, signal: i32) -> i32;
    }

    /// The signal that ends a process.
    const SIGKILL: i32 = 9;

    /// The user whose rights the process has.
    pub(in super::super) fn user() -> u32 {
        geteuid()
    }

    /// Ends the processes of a group, which has the number of its first process.
    pub(super) fn kill_group(first: u32) {
        if let Ok(group @ 2..) = i32::try_from(first) {
            kill(-group, SIGKILL);
        }
    }
}
