//! Plans as text: what a user reads to learn why a program is slow.
//!
//! Law: the text depends on the program alone, but for measured times.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::blocks::Blocks;
use super::code::{Arg, Code};
use super::fuse::Superinstructions;
use super::group::Item;
use super::scalars::Straight;
use super::steps::{Call, Home, Loop, Plan, Step, Whole, WholeOp};
use crate::program::Program;

/// The times of the steps with how often each ran, and the number of runs.
type Clock<'a> = (&'a [(Duration, u64)], usize);

pub(super) fn text(program: &Program, plan: &Plan, clock: Option<Clock<'_>>) -> String {
    let mut lines = Lines { plan, clock, text: String::new() };
    let places = plan.places.iter().filter(|place| matches!(place.home, Home::Arena(_))).count();
    let Superinstructions { cheap, inside, count } = superinstructions(&plan.steps);
    let _ = writeln!(
        lines.text,
        "{} operations in {} steps; {places} values in {} bytes, {} bytes of registers; {inside} of {cheap} cheap \
         operations in {count} superinstructions",
        program.size(),
        plan.count,
        plan.bytes,
        plan.registers
    );
    lines.steps(&plan.steps, 0, 1);
    lines.text
}

/// The superinstructions of steps.
pub(super) fn superinstructions(steps: &[Step]) -> Superinstructions {
    let mut all = Superinstructions::default();
    for step in steps {
        let of = match step {
            Step::Group(code) => code.counts,
            Step::Straight(code) => code.counts(),
            Step::Loop(l) => superinstructions(&l.body),
            Step::Blocks(blocks) => superinstructions(&blocks.steps),
            Step::Whole(_) | Step::Call(_) | Step::Draft(_) => Superinstructions::default(),
        };
        all.cheap += of.cheap;
        all.inside += of.inside;
        all.count += of.count;
    }
    all
}

struct Lines<'a> {
    plan: &'a Plan,
    clock: Option<Clock<'a>>,
    text: String,
}

impl Lines<'_> {
    fn steps(&mut self, steps: &[Step], first: usize, depth: usize) {
        for (number, step) in (first..).zip(steps) {
            let words = match step {
                Step::Group(code) => self.group(code),
                Step::Straight(code) => straight(code),
                Step::Whole(whole) => self.whole(whole),
                Step::Loop(l) => {
                    let stacked = match l.stacked() {
                        0 => String::new(),
                        n => format!(" ({n} in stacks)"),
                    };
                    let trips = match (l.ends, l.n) {
                        (false, n) => format!("of {n} trips"),
                        (true, usize::MAX) => "until it ends".into(),
                        (true, n) => format!("of at most {n} trips"),
                    };
                    format!("loop {trips}, {} carried{stacked}, {} bytes a trip", l.carries.len(), l.bytes)
                }
                Step::Call(call) => interpreted(call),
                Step::Blocks(blocks) => {
                    let (n, bytes) = (blocks.local.len(), blocks.local.iter().map(|(_, bytes)| bytes).sum::<usize>());
                    let Blocks { rows, block, .. } = **blocks;
                    format!("{rows} rows, {block} at a time; {n} values for these alone, {bytes} bytes a row")
                }
                Step::Draft(_) => unreachable!("the groups of a plan are complete"),
            };
            let time = self.clock.map_or_else(String::new, |(times, runs)| {
                let (time, count) = times[number];
                format!("{:>10.2} us, {} times: ", time.as_secs_f64() * 1e6 / runs as f64, count / runs as u64)
            });
            let parts = self.plan.parts[number]
                .as_deref()
                .map_or_else(String::new, |parts| format!("; in up to {} parts", parts.count(usize::MAX)));
            let _ = writeln!(self.text, "{:indent$}{time}{words}{parts}", "", indent = 2 * depth);
            if let Step::Loop(l) = step {
                let l: &Loop = l;
                self.steps(&l.body, l.first, depth + 1);
            }
            if let Step::Blocks(blocks) = step {
                self.steps(&blocks.steps, blocks.first, depth + 1);
            }
        }
    }

    fn group(&self, code: &Code) -> String {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let (mut flops, mut moved) = (0, 0);
        let once = code.before.iter().filter(|instruction| matches!(instruction.item, Item::View(..)));
        for instruction in once.chain(&code.each) {
            let (name, arithmetic) = name(&instruction.item);
            *names.entry(name).or_default() += 1;
            flops += usize::from(arithmetic);
            let places =
                instruction.item.operands().iter().filter(|arg| matches!(arg, Arg::Place(..) | Arg::Seen(_))).count();
            let out = matches!(instruction.out, Arg::Place(..)) && instruction.item.writes().is_none();
            let through = instruction.item.reads().is_some() || instruction.item.writes().is_some();
            moved += places * instruction.operand.width() + usize::from(out || through) * instruction.dtype.width();
        }
        let views = copied_views(code);
        let sides: usize = code.sides.iter().map(|side| side.size).sum();
        let sides = if sides > 0 { format!("; {sides} at sides computed apart") } else { String::new() };
        format!(
            "group of {} in tiles of {}: {}; {} operations, {} bytes{views}{sides}",
            code.size,
            code.tile,
            counted(names),
            flops * code.size,
            moved * code.size
        )
    }

    fn whole(&self, whole: &Whole) -> String {
        let bytes: usize = whole
            .operands
            .iter()
            .map(|(operand, len)| {
                let width = self.plan.places[operand.slot as usize].dtype.width();
                width * if operand.one { 1 } else { *len }
            })
            .sum();
        match &whole.op {
            WholeOp::Product(product) => {
                format!("product: {}; {} operations, {bytes} bytes", product.describe(), product.flops())
            }
            WholeOp::Extremum(op, len, _) => format!("{} of lines of {len}; {bytes} bytes", op.name()),
            WholeOp::Position(op, len, _) => format!("arg{} of lines of {len}; {bytes} bytes", op.name()),
            WholeOp::Gather(_, block) => format!("gather of blocks of {block}; {bytes} bytes"),
            WholeOp::Scatter(_, block, _) => format!("scatter_add of blocks of {block}; {bytes} bytes"),
            WholeOp::Turn(_) => format!("elements in another order; {bytes} bytes"),
            WholeOp::Affine(_, add) => {
                format!("{} through a slanted view; {bytes} bytes", if *add { "sum" } else { "copy" })
            }
        }
    }
}

/// Names with how many there are of each.
fn counted(names: BTreeMap<String, usize>) -> String {
    let counted = |(name, count)| if count == 1 { name } else { format!("{count} {name}") };
    names.into_iter().map(counted).collect::<Vec<_>>().join(", ")
}

/// A group or a loop of single numbers.
fn straight(code: &Straight) -> String {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut flops = 0;
    for (name, count) in code.names() {
        *names.entry(name.to_owned()).or_default() += 1;
        flops += count;
    }
    for instruction in &code.tiles {
        let (name, arithmetic) = name(&instruction.item);
        *names.entry(name).or_default() += 1;
        flops += usize::from(arithmetic);
    }
    let words = if names.is_empty() { "copy".to_owned() } else { counted(names) };
    let rows = code.moving().count();
    if code.goes.is_some() {
        let trips =
            if code.n == usize::MAX { "trips until it ends".to_owned() } else { format!("at most {} trips", code.n) };
        return format!("numbers, {trips}: {words}; {flops} operations a trip");
    }
    match (code.n, &code.affine) {
        (1, _) => format!("numbers: {words}; {flops} operations"),
        (n, Some(_)) => format!("recurrence of {n} trips: {words}; {} operations", n * flops),
        (n, None) => format!("numbers, {n} trips with {rows} elements of rows: {words}; {} operations", n * flops),
    }
}

/// How often the views of a group are copied, for all tiles; nothing if they are all read where they lie.
fn copied_views(code: &Code) -> String {
    let (mut copied, mut all) = (0, 0);
    for (start, len) in code.tiles(0..code.size) {
        for instruction in &code.each {
            if let (Item::View(_, walk), Arg::Seen(sighting)) = (&instruction.item, instruction.out) {
                copied += usize::from(sighting.is_copied(walk.sight(start, len)));
                all += 1;
            }
        }
    }
    if copied > 0 { format!("; views copied {copied} of {all} times") } else { String::new() }
}

/// An operation that the interpreter of arrays does.
fn interpreted(call: &Call) -> String {
    // The last line of a program is a brace; the line before says what is returned.
    let text = call.program.to_string();
    let line = text.lines().rev().nth(1).unwrap_or_default();
    format!("interpreted: {}", line.trim().trim_start_matches("return "))
}

/// The name of an operation of a group, and whether it computes.
fn name(item: &Item<Arg>) -> (String, bool) {
    let words = match item {
        Item::Read(..) => return ("copy".into(), false),
        Item::One(..) => return ("fill".into(), false),
        Item::View(..) => return ("view".into(), false),
        Item::Places(_) => return ("iota".into(), false),
        Item::Gather(..) => return ("gather".into(), false),
        Item::Put(..) => return ("write".into(), false),
        Item::Add(..) => "sum",
        Item::Unary(op, _) => op.name(),
        Item::Binary(op, ..) => op.symbol(),
        Item::Compare(op, ..) => op.name(),
        Item::IntUnary(op, _) => op.name(),
        Item::IntBinary(op, ..) => op.name(),
        Item::And(..) => "and",
        Item::Or(..) => "or",
        Item::Not(_) => "not",
        Item::Step(op, _) => op.name(),
        Item::Convert(..) => "convert",
        Item::Select(_) => "select",
        Item::Form(form, _) => form.name(),
        Item::Weighted(_, terms) => return (format!("sum of {} with weights", terms.len()), true),
        Item::SinCos(..) => "sin_cos",
        Item::Second(_) => unreachable!("the instruction before has computed both results"),
    };
    (words.to_owned(), true)
}
