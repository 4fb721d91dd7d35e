//! The compiled plan as text: passes, kernel calls, loops, buffers and estimates, by which slow steps are found.
//!
//! Law: the text depends on the program alone, except for measured times.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::backend::codegen::{CompiledPlan, CompiledStep, PassCode};
use crate::backend::ir::access::StridedAccess;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::FusedOp;
use crate::backend::ir::step::{Interpreted, KernelCall, KernelOp, LoopStep, MatrixCall, RowBlocks, Step, Storage};
use crate::backend::plan::recompute::Recomputed;
use crate::backend::register::RegisterCode;
use crate::backend::tile::group::TileOp;
use crate::backend::tile::superinstructions::Superinstructions;
use crate::backend::tile::{self, TileOperand, ViewOperand};
use crate::kernels::fourier::Transform;
use crate::program::Program;
use crate::source::{Place, SourceLine};

/// Total time and number of executions of each step, and the number of runs.
pub(crate) type Clock<'a> = (&'a [(Duration, u64)], usize);

pub(crate) fn text(program: &Program, plan: &CompiledPlan, clock: Option<Clock<'_>>) -> String {
    let buffers = plan.buffers.iter().filter(|buffer| matches!(buffer.storage, Storage::Workspace(_))).count();
    let Superinstructions { cheap, inside, count } = superinstructions(&plan.steps);
    let mut text = format!(
        "{} operations in {} steps; {buffers} values in {} bytes, {} bytes of registers; {inside} of {cheap} cheap \
         operations in {count} superinstructions\n",
        program.size(),
        plan.count,
        plan.bytes,
        plan.registers
    );
    for StepLine { number, depth, words, .. } in lines(plan) {
        let time = clock.map_or_else(String::new, |(times, runs)| {
            let (time, count) = times[number];
            format!("{:>10.2} us, {} times: ", time.as_secs_f64() * 1e6 / runs as f64, count / runs as u64)
        });
        let _ = writeln!(text, "{:indent$}{time}{words}", "", indent = 2 * depth + 2);
    }
    text
}

/// A step in words.
pub(crate) struct StepLine<'p> {
    pub(crate) step: &'p CompiledStep,
    pub(crate) number: usize,
    /// The number of steps around it.
    pub(crate) depth: usize,
    pub(crate) words: String,
}

/// The steps of a plan in the order of a report: each before those of its body.
pub(crate) fn lines(plan: &CompiledPlan) -> Vec<StepLine<'_>> {
    let mut lines = ExplainedLines { plan, all: Vec::with_capacity(plan.count) };
    lines.steps(&plan.steps, 0, 0);
    lines.all
}

/// The number of values that a report on recomputation names.
const NAMED: usize = 20;

/// The values that a run computes again: a line for each place in the source, those with most bytes first.
pub(crate) fn recomputed(Recomputed { values, time, added }: &Recomputed) -> String {
    if values.is_empty() {
        return String::new();
    }
    let micros = |time: u64| time as f64 * 1e-4;
    let mut places: BTreeMap<(&str, String), (usize, usize, u64)> = BTreeMap::new();
    for value in values {
        let (count, bytes, time) = places.entry((value.by, written(&value.place))).or_default();
        *count += 1;
        *bytes += value.bytes;
        *time += value.time;
    }
    let mut order: Vec<_> = places.into_iter().collect();
    crate::order::sort_by_key(&mut order, |(_, (_, bytes, _))| std::cmp::Reverse(*bytes));
    let bytes: usize = values.iter().map(|value| value.bytes).sum();
    let mut text = format!(
        "computed again to save memory: {} values of {bytes} bytes together; {:.1} us of {:.1} us, by estimate\n",
        values.len(),
        micros(*added),
        micros(*time)
    );
    for ((by, place), (count, bytes, time)) in order.iter().take(NAMED) {
        let times = if *count == 1 { String::new() } else { format!("{count} times ") };
        let _ = writeln!(text, "  {times}{by}{place}: {bytes} bytes, {:.1} us", micros(*time));
    }
    if order.len() > NAMED {
        let _ = writeln!(text, "  and {} more places", order.len() - NAMED);
    }
    text
}

/// Where an operation was written, after a blank; nothing, if that is not known.
pub(crate) fn written(place: &Place) -> String {
    let of = place.derivative_of.map_or_else(String::new, |name| format!(", derivative of {name}"));
    place.at.as_ref().map_or_else(String::new, |at| format!(" at {}{of}", SourceLine::from(at)))
}

/// The superinstructions in these steps.
pub(crate) fn superinstructions(steps: &[CompiledStep]) -> Superinstructions {
    let mut all = Superinstructions::default();
    for step in steps {
        let of = match step {
            Step::Pass(PassCode::Tile(code)) => code.counts,
            Step::Pass(PassCode::Register(code)) => code.counts(),
            #[cfg(all(feature = "jit", not(target_family = "wasm")))]
            Step::Pass(PassCode::Native(_)) => Superinstructions::default(),
            Step::Loop(l) => superinstructions(&l.body),
            Step::RowBlocks(blocks) => superinstructions(&blocks.steps),
            Step::KernelCall(_) | Step::Matrices(_) | Step::Interpreted(_) => Superinstructions::default(),
        };
        all.cheap += of.cheap;
        all.inside += of.inside;
        all.count += of.count;
    }
    all
}

struct ExplainedLines<'a> {
    plan: &'a CompiledPlan,
    all: Vec<StepLine<'a>>,
}

impl<'a> ExplainedLines<'a> {
    fn steps(&mut self, steps: &'a [CompiledStep], first: usize, depth: usize) {
        for (number, step) in (first..).zip(steps) {
            let words = match step {
                Step::Pass(PassCode::Tile(code)) => self.group(code),
                Step::Pass(PassCode::Register(code)) => straight(code),
                #[cfg(all(feature = "jit", not(target_family = "wasm")))]
                Step::Pass(PassCode::Native(code)) => format!("native code: {}", code.words),
                Step::KernelCall(whole) => self.whole(whole),
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
                Step::Matrices(call) => {
                    let MatrixCall { op, sizes: [m, n], count, .. } = **call;
                    format!("{} of {count} matrices {m} x {n}", op.name())
                }
                Step::Interpreted(call) => interpreted(call),
                Step::RowBlocks(blocks) => {
                    let (n, bytes) = (blocks.local.len(), blocks.local.iter().map(|(_, bytes)| bytes).sum::<usize>());
                    let RowBlocks { rows, block, .. } = **blocks;
                    format!("{rows} rows, {block} at a time; {n} values for these alone, {bytes} bytes a row")
                }
            };
            let parts = self.plan.parts[number]
                .as_deref()
                .map_or_else(String::new, |parts| format!("; in up to {} parts", parts.count(usize::MAX)));
            self.all.push(StepLine { step, number, depth, words: words + &parts });
            if let Step::Loop(l) = step {
                let l: &'a LoopStep<PassCode> = l;
                self.steps(&l.body, l.first, depth + 1);
            }
            if let Step::RowBlocks(blocks) = step {
                self.steps(&blocks.steps, blocks.first, depth + 1);
            }
        }
    }

    fn group(&self, code: &tile::TileCode) -> String {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let (mut flops, mut moved) = (0, 0);
        let once =
            code.before.iter().filter(|instruction| matches!(instruction.item, TileOp::Lowered(FusedOp::View(..))));
        for instruction in once.chain(&code.each) {
            let (name, arithmetic) = name(&instruction.item);
            *names.entry(name).or_default() += 1;
            flops += usize::from(arithmetic);
            let buffers = instruction
                .item
                .operands()
                .iter()
                .filter(|arg| matches!(arg, TileOperand::Buffer(..) | TileOperand::View(_)))
                .count();
            let out = matches!(instruction.out, TileOperand::Buffer(..)) && instruction.item.writes().is_none();
            let through = instruction.item.reads().is_some() || instruction.item.writes().is_some();
            moved += buffers * instruction.operand.width() + usize::from(out || through) * instruction.dtype.width();
        }
        let views = copied_views(code);
        let halo: usize = code.halo.iter().map(|side| side.size).sum();
        let halo = if halo > 0 { format!("; {halo} at sides computed apart") } else { String::new() };
        format!(
            "group of {} in tiles of {}: {}; {} operations, {} bytes{views}{halo}",
            code.size,
            code.tile,
            counted(names),
            code.size.saturating_mul(flops),
            code.size.saturating_mul(moved)
        )
    }

    fn whole(&self, whole: &KernelCall) -> String {
        let bytes: usize = whole
            .operands
            .iter()
            .map(|(operand, len)| {
                let width = self.plan.buffers[operand.buf as usize].dtype.width();
                if operand.one { width } else { len.saturating_mul(width) }
            })
            .fold(0, usize::saturating_add);
        match &whole.op {
            KernelOp::Product(product) => {
                format!("product: {}; {} operations, {bytes} bytes", product.describe(), product.flops())
            }
            KernelOp::Extremum(op, len, _) => format!("{} of lines of {len}; {bytes} bytes", op.name()),
            KernelOp::Position(op, len, _) => format!("arg{} of lines of {len}; {bytes} bytes", op.name()),
            KernelOp::PrefixSum(line) => {
                let name = if line.reverse { "suffix_sum" } else { "prefix_sum" };
                format!("{name} of lines of {}; {bytes} bytes", line.len)
            }
            KernelOp::PrefixArg(line, largest) | KernelOp::PrefixExtremum(line, largest) => {
                let what = if let KernelOp::PrefixArg(..) = &whole.op { "arg" } else { "" };
                let name = if *largest { "max" } else { "min" };
                format!("prefix_{what}{name} of lines of {}; {bytes} bytes", line.len)
            }
            KernelOp::ArgSort(lines, ranks) => {
                let asked: usize = ranks.iter().map(ExactSizeIterator::len).sum();
                match asked == lines.len {
                    true => format!("argsort of lines of {}; {bytes} bytes", lines.len),
                    false => format!("selection of {asked} ranks of lines of {}; {bytes} bytes", lines.len),
                }
            }
            KernelOp::Fourier(transform) => format!("{}; {bytes} bytes", fourier(transform)),
            KernelOp::Gather(_, block) => format!("gather of blocks of {block}; {bytes} bytes"),
            KernelOp::Scatter(_, block, _) => format!("scatter_add of blocks of {block}; {bytes} bytes"),
            KernelOp::Update(_, block) => {
                format!("set of a block of {block} in place; {} bytes", block * whole.dtype.width())
            }
            KernelOp::Transpose(_) => format!("elements in another order; {bytes} bytes"),
            KernelOp::Affine(_, add) => {
                format!("{} through a slanted view; {bytes} bytes", if *add { "sum" } else { "copy" })
            }
        }
    }
}

/// A Fourier transform, with the facts known of its operand and the part of its result that is read.
fn fourier(transform: &Transform) -> String {
    let (lines, n) = transform.lines();
    let real = if transform.has_real_operand() { "real " } else { "" };
    let read = if transform.has_real_result() { ", real parts read" } else { "" };
    let half = if transform.is_halved() { ", by half the length" } else { "" };
    format!("fourier of {lines} {real}lines of {n}{read}{half}; {} operations", transform.operations())
}

/// Names, each with its multiplicity.
fn counted(names: BTreeMap<String, usize>) -> String {
    let counted = |(name, count)| if count == 1 { name } else { format!("{count} {name}") };
    names.into_iter().map(counted).collect::<Vec<_>>().join(", ")
}

/// A group or loop of register code.
fn straight(code: &RegisterCode) -> String {
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
        (n, Some(_)) => format!("recurrence of {n} trips: {words}; {} operations", n.saturating_mul(flops)),
        (n, None) => {
            format!("numbers, {n} trips with {rows} elements of rows: {words}; {} operations", n.saturating_mul(flops))
        }
    }
}

/// The largest number of tiles of a group that are looked at.
const TILES: usize = 1 << 12;

/// The number of copies of views over the tiles of a group (only the first [`TILES`] are examined); empty if they read every
/// view in place.
fn copied_views(code: &tile::TileCode) -> String {
    let mut views: Vec<(&StridedAccess, ViewOperand)> = Vec::new();
    for instruction in &code.each {
        if let (TileOp::Lowered(FusedOp::View(_, access)), TileOperand::View(sighting)) =
            (&instruction.item, instruction.out)
        {
            views.push((access, sighting));
        }
    }
    if views.is_empty() {
        return String::new();
    }
    let (mut copied, mut all) = (0, 0);
    let mut tiles = code.tiles(0..code.size);
    for (start, len) in tiles.by_ref().take(TILES) {
        copied += views.iter().filter(|(access, seen)| seen.is_copied(access.footprint(start, len))).count();
        all += views.len();
    }
    let more = if tiles.next().is_some() { ", in the first tiles" } else { "" };
    if copied > 0 { format!("; views copied {copied} of {all} times{more}") } else { String::new() }
}

/// An operation executed by the interpreter of arrays.
fn interpreted(call: &Interpreted) -> String {
    // The last line of a program is a brace; the line before it has the operation that is returned.
    let text = call.program.to_string();
    let line = text.lines().rev().nth(1).unwrap_or_default();
    format!("interpreted: {}", line.trim().trim_start_matches("return "))
}

/// The name of an operation of a group, and whether it computes.
fn name(item: &TileOp<TileOperand>) -> (String, bool) {
    let words = match item {
        TileOp::Lowered(op) => match op {
            FusedOp::Read(..) => return ("copy".into(), false),
            FusedOp::One(..) => return ("fill".into(), false),
            FusedOp::View(..) => return ("view".into(), false),
            FusedOp::Positions(_) => return ("iota".into(), false),
            FusedOp::Gather(_) => return ("gather".into(), false),
            FusedOp::Put(..) => return ("write".into(), false),
            FusedOp::Add(..) => "sum",
            FusedOp::Elementwise(op) => elementwise(op),
        },
        TileOp::Form(form, _) => form.name(),
        TileOp::Weighted(_, terms) => return (format!("sum of {} with weights", terms.len()), true),
        TileOp::Twin(twin, ..) => twin.name(),
        TileOp::AddProducts(..) => "sum of products",
    };
    (words.to_owned(), true)
}

/// The name of an elementwise operation.
fn elementwise<V>(op: &ElementwiseOp<V>) -> &'static str {
    match op {
        ElementwiseOp::Unary(op, _) => op.name(),
        ElementwiseOp::Binary(op, ..) => op.symbol(),
        ElementwiseOp::Compare(op, ..) => op.name(),
        ElementwiseOp::IntUnary(op, _) => op.name(),
        ElementwiseOp::IntBinary(op, ..) => op.name(),
        ElementwiseOp::And(..) => "and",
        ElementwiseOp::Or(..) => "or",
        ElementwiseOp::Not(_) => "not",
        ElementwiseOp::FloatStep(op, _) => op.name(),
        ElementwiseOp::Convert(..) => "convert",
        ElementwiseOp::Select(_) => "select",
    }
}
