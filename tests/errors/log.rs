//! The messages that were raised, and the places they point to.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display, Write};
use std::fs;
use std::panic::Location;

use crate::panics::{Caught, caught_in, forgetful};
use crate::root::root;

/// One message, and the place it points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) file: String,
    pub(crate) line: u32,
    column: u32,
    pub(crate) message: String,
}

/// Operation, requirement, fact and way out of a message that keeps the grammar.
pub(crate) fn parts(message: &str) -> Option<[&str; 4]> {
    let (operation, rest) = message.split_once(": ")?;
    let (requirement, rest) = rest.split_once(", but ")?;
    let (fact, way_out) = rest.split_once("; ")?;
    Some([operation, requirement, fact, way_out])
}

/// The message and the call that it names, if it does.
fn named(seen: &Caught) -> Option<Caught> {
    let (message, rest) = seen.message.split_once(" (called at ")?;
    let mut place = rest.strip_suffix(')')?.rsplitn(3, ':');
    let column = place.next()?.parse().ok()?;
    let line = place.next()?.parse().ok()?;
    let file = place.next()?.to_string();
    Some(Caught { message: format!("{message} (called at this line)"), file, line, column })
}

/// The message, at the call that it names if that is in the file of the case.
fn at_its_call(seen: Caught, case: &Location<'_>) -> Caught {
    named(&seen).filter(|named| named.file == case.file()).unwrap_or(seen)
}

/// Messages in the order they were raised.
#[derive(Default)]
pub(crate) struct Log(pub(crate) Vec<Entry>);

impl Log {
    fn add(&mut self, seen: Caught) {
        let Caught { message, file, line, column } = seen;
        self.0.push(Entry { file, line, column, message });
    }

    fn add_at(&mut self, case: &Location<'_>, message: String) {
        self.add(Caught { message, file: case.file().to_string(), line: case.line(), column: case.column() });
    }

    /// A call that must panic, at a place within the call.
    #[track_caller]
    pub(crate) fn panics<R>(&mut self, f: impl FnOnce() -> R) {
        self.panics_in(forgetful!(f));
    }

    #[track_caller]
    fn panics_in(&mut self, f: &mut dyn FnMut()) {
        let (seen, case) = (caught_in(f), Location::caller());
        assert!(
            seen.file == case.file() && (case.line()..case.line() + 8).contains(&seen.line),
            "the case at {case} is reported at {}:{}: {}",
            seen.file,
            seen.line,
            seen.message
        );
        self.add(at_its_call(seen, case));
    }

    /// A call that must panic somewhere in the file of the case.
    #[track_caller]
    pub(crate) fn panics_nearby<R>(&mut self, f: impl FnOnce() -> R) {
        self.panics_nearby_in(forgetful!(f));
    }

    #[track_caller]
    fn panics_nearby_in(&mut self, f: &mut dyn FnMut()) {
        let (seen, case) = (caught_in(f), Location::caller());
        assert_eq!(seen.file, case.file(), "{}", seen.message);
        self.add(seen);
    }

    /// A higher-order program that must panic when it runs, which is later than it is written: the place is that which the
    /// message names, in the file of the case; or that of the case.
    #[track_caller]
    pub(crate) fn panics_when_run<R>(&mut self, f: impl FnOnce() -> R) {
        self.panics_when_run_in(forgetful!(f));
    }

    #[track_caller]
    fn panics_when_run_in(&mut self, f: &mut dyn FnMut()) {
        let (seen, case) = (caught_in(f), Location::caller());
        match named(&seen) {
            Some(named) if named.file == case.file() => self.add(named),
            Some(named) => panic!("the case at {case} is reported at {}:{}", named.file, named.line),
            None => self.add_at(case, seen.message),
        }
    }

    /// A call of a closure of the library, which does not know who calls it: the message must name the call.
    #[track_caller]
    pub(crate) fn panics_naming_the_call<R>(&mut self, f: impl FnOnce() -> R) {
        self.panics_naming_the_call_in(forgetful!(f));
    }

    #[track_caller]
    fn panics_naming_the_call_in(&mut self, f: &mut dyn FnMut()) {
        let (seen, case) = (caught_in(f), Location::caller());
        let Some(named) = named(&seen) else { panic!("no call is named: {}", seen.message) };
        let near = (case.line()..case.line() + 8).contains(&named.line);
        assert!(named.file == case.file() && near, "{}", seen.message);
        self.add(named);
    }

    /// A result that must be an error.
    #[track_caller]
    pub(crate) fn fails<R, E: Display + Debug>(&mut self, result: Result<R, E>) {
        let Err(e) = result else { panic!("an error was expected") };
        let (case, message) = (Location::caller(), e.to_string());
        // What `unwrap`, and a `main` that returns the error, print: the words, or a text in quotation marks; an error of
        // another crate has the text inside, or the words with a backtrace after them.
        let debug = format!("{e:?}");
        let (backtrace, quoted) = (format!("{message}\n\nStack backtrace:"), format!("{message:?}"));
        let prints = debug == message || debug.starts_with(&backtrace) || debug.contains(&quoted);
        assert!(prints, "an error prints as {debug}");
        let seen = Caught { message, file: case.file().to_string(), line: case.line(), column: case.column() };
        self.add(at_its_call(seen, case));
    }

    /// The code that each message points to, to the end of its line, and the message.
    pub(crate) fn text(&self) -> String {
        let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut out = String::new();
        for entry in &self.0 {
            let lines = files.entry(&entry.file).or_insert_with(|| {
                let text = fs::read_to_string(root().join(&entry.file)).expect("the file of a case can be read");
                text.lines().map(str::to_string).collect()
            });
            let code: String = lines[entry.line as usize - 1].chars().skip(entry.column as usize - 1).collect();
            let code = code.trim_start_matches("fails(").trim_end_matches(");");
            writeln!(out, "{code}\n    {}\n", entry.message).expect("a string takes text");
        }
        out
    }
}
