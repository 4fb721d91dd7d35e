//! What the script of the page calls: functions of the C ABI, an array of numbers and a text.
//!
//! Law: there is one thread. The script writes the arguments of a call to the array and reads its results there,
//! between calls; both are at the addresses that [`numbers`] and [`text`] return until the next call. No code here is
//! unsafe: the array consists of cells. The attribute of exported names is allowed, since these are unique.
//!
//! | function | reads | writes |
//! |---|---|---|
//! | `start` | | |
//! | `describe(part)` | | the text: source, or gradient; returns its length |
//! | `failure` | | the text: the message of the panic; returns its length |
//! | `fit(points, steps)` | `far`, then `x, y` of each point | the loss, the curve, its deviation |
//! | `forget` | | |
//! | `plan(steps)` | | the cost, the forces, the states on the planned path |
//! | `run` | the force of a hand | the states on the way |
//! | `kick(turn)`, `hang` | | |
//! | `draw(function)` | both ends of the view | values, and slopes |
//! | `search(function, boxes, by)` | both ends of the interval | bounds, 7 numbers of each box; returns the count |
#![allow(unsafe_code, reason = "exported names")]

use std::cell::{Cell, RefCell};
use std::panic;

use crate::bounds::{BOXES, By, Problem, State};
use crate::fit::Fit;
use crate::pendulum::Pendulum;

/// The numbers of the array: the bounds of all boxes are the most that a call writes.
const NUMBERS: usize = 2 + 7 * BOXES;

thread_local! {
    static SHARED: [Cell<f64>; NUMBERS] = const { [const { Cell::new(0.0) }; NUMBERS] };
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
    static FIT: RefCell<Fit> = RefCell::new(Fit::new());
    static PENDULUM: RefCell<Pendulum> = RefCell::new(Pendulum::new());
    static PROBLEMS: [Problem; 3] = Problem::all();
}

/// The first numbers of the array.
fn given<const N: usize>() -> [f64; N] {
    SHARED.with(|shared| std::array::from_fn(|k| shared[k].get()))
}

/// Writes numbers to the array, from its start on.
fn give(numbers: impl IntoIterator<Item = f64>) {
    SHARED.with(|shared| shared.iter().zip(numbers).for_each(|(cell, x)| cell.set(x)));
}

/// Makes this the text, and returns its length in bytes.
fn say(words: String) -> usize {
    TEXT.with(|text| text.replace(words).len());
    TEXT.with(|text| text.borrow().len())
}

/// The lines of a source file between two marks.
fn lines(source: &str, from: &str, to: &str) -> String {
    let rest = source.split_once(from).map_or("", |(_, rest)| rest);
    rest.split(to).next().unwrap_or_default().trim().to_owned()
}

/// Where the array is.
#[unsafe(no_mangle)]
pub extern "C" fn numbers() -> *mut f64 {
    SHARED.with(|shared| shared[0].as_ptr())
}

/// Where the text is, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.with(|text| text.borrow().as_ptr())
}

/// Keeps the message of a panic as the text.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    panic::set_hook(Box::new(|info| {
        say(info.to_string());
    }));
}

/// The length of the text: after a panic, of its message.
#[unsafe(no_mangle)]
pub extern "C" fn failure() -> usize {
    TEXT.with(|text| text.borrow().len())
}

/// Makes the text a part of the source, or a program that the library prints: 0 and 1 of the fit, 2 and 3 of the pole,
/// 4 and 5 of the first function, and so on.
#[unsafe(no_mangle)]
pub extern "C" fn describe(part: usize) -> usize {
    const MARKS: [&str; 2] = ["// Shown on the page:", "// Until here."];
    let shown = |source| lines(source, MARKS[0], MARKS[1]);
    say(match part {
        0 => shown(include_str!("fit.rs")),
        1 => FIT.with_borrow(Fit::gradient),
        2 => shown(include_str!("pendulum.rs")),
        3 => PENDULUM.with_borrow(Pendulum::gradient),
        _ if part.is_multiple_of(2) => {
            let source = include_str!("bounds.rs");
            let all = format!("// {}\n//", shown(source));
            let function = lines(&all, &format!("// {}\n", part / 2 - 2), "\n//");
            function + "\n\n" + &lines(source, "// Shown for each function:", "// Until there.")
        }
        _ => PROBLEMS.with(|problems| problems[part / 2 - 2].gradient().to_owned()),
    })
}

/// Moves the points of the fit, and takes some steps.
#[unsafe(no_mangle)]
pub extern "C" fn fit(points: usize, steps: usize) {
    let numbers: [f64; 1 + 2 * crate::fit::POINTS] = given();
    let places: Vec<[f64; 2]> = (0..points).map(|k| [numbers[1 + 2 * k], numbers[2 + 2 * k]]).collect();
    let drawn = FIT.with_borrow_mut(|fit| {
        fit.set(&places, numbers[0]);
        fit.advance(steps).expect("the shapes are those of the recorded programs")
    });
    give([drawn.loss].into_iter().chain(drawn.curve).chain(drawn.deviation));
}

/// Starts the fit anew from the prior.
#[unsafe(no_mangle)]
pub extern "C" fn forget() {
    FIT.with_borrow_mut(Fit::forget);
}

/// Improves the plan.
#[unsafe(no_mangle)]
pub extern "C" fn plan(steps: usize) {
    let planned =
        PENDULUM.with_borrow_mut(|p| p.improve(steps).expect("the shapes are those of the recorded programs"));
    give([planned.cost].into_iter().chain(planned.forces).chain(planned.path));
}

/// Lets the world run for the time of one force, while a hand pulls.
#[unsafe(no_mangle)]
pub extern "C" fn run() {
    give(PENDULUM.with_borrow_mut(|p| p.run(given()).expect("the shapes are those of the recorded programs")));
}

/// Gives the pole a push.
#[unsafe(no_mangle)]
pub extern "C" fn kick(turn: f64) {
    PENDULUM.with_borrow_mut(|p| p.kick(turn));
}

/// Lets the pole hang at rest again.
#[unsafe(no_mangle)]
pub extern "C" fn hang() {
    PENDULUM.with_borrow_mut(Pendulum::hang);
}

/// Values and slopes of a function.
#[unsafe(no_mangle)]
pub extern "C" fn draw(function: usize) {
    let [values, slopes] = PROBLEMS.with(|all| all[function].drawn(given()).expect("as many places as recorded"));
    give(values.into_iter().chain(slopes));
}

/// Boxes of the interval, by intervals (0) or Taylor models (1). A box is its ends, bounds of values and slopes, and
/// whether the minimum may be there (0), or its values are above one that is taken (1), or its slope has one sign (2).
#[unsafe(no_mangle)]
pub extern "C" fn search(function: usize, boxes: usize, by: usize) -> usize {
    let by = if by == 0 { By::Intervals } else { By::TaylorModels };
    let found = PROBLEMS
        .with(|all| all[function].search(given(), boxes, by).expect("the shape is that of the recorded program"));
    let state = |state| match state {
        State::Open => 0.0,
        State::Above => 1.0,
        State::Monotone => 2.0,
    };
    let parts = found
        .parts
        .iter()
        .flat_map(|p| [p.ends[0], p.ends[1], p.values[0], p.values[1], p.slopes[0], p.slopes[1], state(p.state)]);
    give(found.least.into_iter().chain(parts));
    found.parts.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(length: usize) -> String {
        TEXT.with_borrow(|text| text[..length].to_owned())
    }

    #[test]
    fn sources_and_programs_are_told() {
        let parts: Vec<String> = (0..10).map(|part| said(describe(part))).collect();
        assert!(parts[0].starts_with("/// Four bumps") && parts[0].contains("fn loss") && parts[0].ends_with('}'));
        assert!(parts[2].contains("fn moved") && parts[2].contains("fn cost") && !parts[2].contains("Planned"));
        for (part, name) in [(4, "wave"), (6, "cancel"), (8, "kink")] {
            assert!(parts[part].starts_with(&format!("fn {name}<")) && parts[part].ends_with('}'), "{}", parts[part]);
            assert_eq!(parts[part].matches("fn ").count(), 1);
            assert!(parts[part].contains("TaylorForm::new"));
        }
        for part in [1, 3, 5, 7, 9] {
            assert!(parts[part].starts_with("program("), "{}", parts[part]);
        }
    }

    #[test]
    fn calls_write_what_they_say() {
        give([2.0, -1.0, 0.5, 1.0, 0.5]);
        fit(2, 20);
        let drawn: [f64; 243] = given();
        assert!((drawn[1 + 20 * 2] - 0.5).abs() < 0.2 && drawn[122..].iter().all(|d| *d > 0.0));
        plan(1);
        let planned: [f64; 205] = given();
        assert!(planned[0] > 0.0 && planned[42] == std::f64::consts::PI);
        give([0.0, 0.0]);
        run();
        assert_eq!(given::<2>()[1], std::f64::consts::PI);
        give([-2.0, 2.0]);
        let count = search(0, 20, 1);
        let found: [f64; 9] = given();
        assert!(count > 1 && found[0] <= found[1] && found[2] >= -2.0 && found[3] <= 2.0);
    }
}
