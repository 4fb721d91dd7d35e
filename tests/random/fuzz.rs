//! Many random programs, in several processes: `make fuzz N=.. SEED=.. JOBS=..`.
//!
//! The seed of a program decides its kind, what is asked of it, and what is drawn: `make fuzz N=1 SEED=..` repeats one. Most
//! programs are small ones of exact numbers, in a few ways of running each. One in nine is a whole one: derivatives to third
//! order, of which some pipelines are drawn, and always those that save, load, export, and compile for several threads.
//!
//! The first process hands ranges of seeds to others, which write a line for each program. One that ends, or that takes longer
//! than [`LIMIT`] for a program, is replaced by another, which goes on after that program. A failure is printed when it is
//! found; what is counted, and the seeds of all failures, at the end. `KIND=..` draws programs of one kind alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use polygrad::array::Rng;

use crate::check::{self, quietly};
use crate::pipelines::{PIPELINES, Pipeline, Question};
use crate::recipe::Recipe;
use crate::{bulk, enclosed, exact, from_environment, generate};

/// How long a program may take, with what makes it small if it fails.
const LIMIT: Duration = Duration::from_secs(600);

/// How many seeds a process is given at most.
const PART: u64 = 2000;

/// A kind of programs: its name, how many of 1000 are of it, and what is checked of one. It returns the number of
/// comparisons, and panics if one fails.
type Kind = (&'static str, u64, fn(u64) -> u64);

const KINDS: &[Kind] = &[
    ("small", 870, |seed| exact::check(seed, 3)),
    ("tame", 70, |seed| whole(seed, &generate::recipe(seed, true))),
    ("controlled", 10, |seed| whole(seed, &generate::controlled(seed))),
    ("wild", 12, |seed| whole(seed, &generate::recipe(seed, false))),
    ("singular", 10, |seed| whole(seed, &generate::singular(seed))),
    ("degenerate", 10, |seed| whole(seed, &generate::degenerate(seed))),
    ("long", 8, |seed| whole(seed, &generate::long(seed))),
    // A law about costs, to which one in some thousand programs is an exception: `KIND=dear` draws it alone.
    ("dear", 0, bulk::check),
    ("enclosed", 10, enclosed::check_one),
];

/// The kind of the program of this seed.
fn kind_of(seed: u64) -> &'static Kind {
    let only = std::env::var("POLYGRAD_KIND").ok().filter(|only| !only.is_empty());
    if let Some(only) = only {
        return KINDS
            .iter()
            .find(|kind| kind.0 == only)
            .unwrap_or_else(|| panic!("no kind of programs is called {only}"));
    }
    let mut at = Rng::new(seed ^ 0x5eed).below(1000) as u64;
    for kind in KINDS {
        match at.checked_sub(kind.1) {
            Some(rest) => at = rest,
            None => return kind,
        }
    }
    unreachable!("the shares are 1000 together")
}

/// Gradients that are saved, loaded, optimized and compiled, run in blocks on several threads, and exported: every whole
/// program is asked for these.
const ALWAYS: [&str; 3] = [
    "symbolic gradient of segments, saved, loaded, optimized, compiled",
    "everything simplified, vectorized and compiled in small blocks",
    "everything simplified and vectorized, exported, evaluated",
];

/// What a whole program is asked: what all are asked, and some of the other pipelines, fewer the more derivatives they take.
fn whole(seed: u64, recipe: &Recipe) -> u64 {
    let salt = Rng::new(seed ^ 0xa5ced).below(1 << 20) as u64;
    let drawn = |p: &Pipeline| {
        let mix = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        let one_in = match p.question {
            Question::Outputs | Question::Signs | Question::Value | Question::Primal => 3,
            Question::Gradient | Question::Slope | Question::Duality => 5,
            Question::Curvature | Question::Bend | Question::Third => 8,
        };
        ALWAYS.contains(&p.name) || (p.name.bytes().fold(salt ^ p.question as u64, mix) >> 20).is_multiple_of(one_in)
    };
    let before = check::compared();
    check::assert_agree_about(recipe, &drawn);
    check::compared() - before
}

#[test]
fn what_all_are_asked_exists() {
    assert!(ALWAYS.iter().all(|name| PIPELINES.iter().any(|p| p.name == *name)));
}

/// Lines of a process that others read start with this.
const MARK: &str = "@@";

/// Runs a range of programs and writes what becomes of them.
fn part(seeds: std::ops::Range<u64>) {
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{MARK} {line}").and_then(|()| out.flush()).expect("somebody reads");
    };
    for seed in seeds {
        let (name, _, check) = kind_of(seed);
        say(format!("begin {seed} {name}"));
        let start = Instant::now();
        match quietly(|| check(seed)) {
            Ok(compared) => say(format!("end {compared} {}", start.elapsed().as_nanos())),
            Err(words) => {
                eprintln!("---- seed {seed}, a {name} program ----\n{words}\n");
                say(format!("failed {}", start.elapsed().as_nanos()));
            }
        }
    }
}

/// What happened to programs of one kind.
#[derive(Default)]
struct Count {
    programs: u64,
    compared: u64,
    time: Duration,
    slowest: (Duration, u64),
}

#[derive(Default)]
struct Counts {
    kinds: BTreeMap<String, Count>,
    failed: Vec<(u64, String, String)>,
}

impl Counts {
    fn note(&mut self, (seed, kind): &(u64, String), compared: u64, time: Duration) {
        let count = self.kinds.entry(kind.clone()).or_default();
        count.programs += 1;
        count.compared += compared;
        count.time += time;
        count.slowest = count.slowest.max((time, *seed));
    }

    fn fail(&mut self, (seed, kind): &(u64, String), how: &str) {
        self.failed.push((*seed, kind.clone(), how.to_string()));
    }
}

/// Lets a process run these seeds; the first that it has not begun.
fn run_part(seeds: std::ops::Range<u64>, counts: &Mutex<Counts>) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("the path of this program"))
        .args(["--ignored", "--exact", "fuzz::many_programs_agree", "--nocapture"])
        .env("POLYGRAD_PART", format!("{} {}", seeds.start, seeds.end))
        .stdout(Stdio::piped())
        .spawn()
        .expect("another process of this program");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let (to, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if let Some(line) = line.strip_prefix(MARK)
                && to.send(line.trim().to_string()).is_err()
            {
                return;
            }
        }
    });
    let (mut next, mut running) = (seeds.start, None::<(u64, String)>);
    let ended = loop {
        let line = match lines.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Timeout) => break "takes too long",
            Err(mpsc::RecvTimeoutError::Disconnected) => break "ends the process",
        };
        let words: Vec<&str> = line.split(' ').collect();
        let number = |k: usize| words.get(k).and_then(|w| w.parse::<u64>().ok()).unwrap_or(0);
        let mut counts = counts.lock().expect("no panic");
        match (words[0], &running) {
            ("begin", _) => {
                next = number(1) + 1;
                running = Some((number(1), words.get(2).unwrap_or(&"").to_string()));
            }
            ("end", Some(program)) => {
                counts.note(program, number(1), Duration::from_nanos(number(2)));
                running = None;
            }
            ("failed", Some(program)) => {
                counts.note(program, 0, Duration::from_nanos(number(1)));
                counts.fail(program, "fails");
                running = None;
            }
            (_, _) => {}
        }
    };
    let _ = child.kill();
    let status = child.wait().expect("a process that was started");
    let _ = reader.join();
    if let Some(program) = running {
        counts.lock().expect("no panic").fail(&program, &format!("{ended} ({status})"));
    } else if next < seeds.end {
        counts.lock().expect("no panic").fail(&(next, String::new()), &format!("{ended} ({status})"));
        next += 1;
    }
    next
}

/// The processor time of the processes that have ended, where the system tells.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = [11, 12, 13, 14].iter().filter_map(|k| fields.get(*k)?.parse::<f64>().ok()).sum();
    Some(ticks / 100.0)
}

fn summary(counts: &Counts, start: Instant) -> String {
    let mut text = String::from("kind        programs  comparisons  ms each  slowest (its seed)\n");
    let mut all = Count::default();
    for (kind, count) in &counts.kinds {
        let each = 1e3 * count.time.as_secs_f64() / count.programs as f64;
        let (slowest, seed) = count.slowest;
        text += &format!(
            "{kind:<10} {:>9} {:>12} {each:>8.2}  {:.0} ms ({seed})\n",
            count.programs,
            count.compared,
            1e3 * slowest.as_secs_f64()
        );
        all.programs += count.programs;
        all.compared += count.compared;
    }
    let processor =
        processor_seconds().map_or(String::new(), |s| format!(", {:.2} hours of processor time", s / 3600.0));
    text += &format!(
        "{} programs, {} comparisons, {:.2} hours{processor}, {} failures\n",
        all.programs,
        all.compared,
        start.elapsed().as_secs_f64() / 3600.0,
        counts.failed.len()
    );
    for (seed, kind, how) in &counts.failed {
        text += &format!("    seed {seed}: a {kind} program {how}; make fuzz N=1 SEED={seed} KIND={kind}\n");
    }
    text
}

#[test]
#[ignore = "make fuzz"]
fn many_programs_agree() {
    if let Ok(range) = std::env::var("POLYGRAD_PART") {
        let ends: Vec<u64> = range.split(' ').map(|end| end.parse().expect("a seed")).collect();
        return part(ends[0]..ends[1]);
    }
    let number = from_environment("POLYGRAD_FUZZ").unwrap_or(1000);
    let first = from_environment("POLYGRAD_SEED").unwrap_or(1_000_000);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let jobs = from_environment("POLYGRAD_JOBS").unwrap_or(cores).max(1);
    let (start, end) = (Instant::now(), first + number);
    let part = PART.min(number.div_ceil(4 * jobs)).max(1);
    let (next, counts) = (AtomicU64::new(first), Mutex::new(Counts::default()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let mut from = next.fetch_add(part, Ordering::Relaxed);
                    let until = end.min(from + part);
                    if from >= until {
                        return;
                    }
                    while from < until {
                        from = run_part(from..until, &counts);
                    }
                    let counts = counts.lock().expect("no panic");
                    let done: u64 = counts.kinds.values().map(|count| count.programs).sum();
                    let hours = start.elapsed().as_secs_f64() / 3600.0;
                    eprintln!("{done} of {number} programs, {} failures, {hours:.2} hours", counts.failed.len());
                }
            });
        }
    });
    let mut counts = counts.into_inner().expect("no panic");
    counts.failed.sort();
    println!("\n{}", summary(&counts, start));
    assert!(counts.failed.is_empty(), "{} programs of {number} from seed {first} on failed", counts.failed.len());
}
