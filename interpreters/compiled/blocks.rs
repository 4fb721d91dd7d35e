//! Steps that run together, block of rows by block of rows, so that the rows stay in cache.
//!
//! Many steps need, of what the steps before them made, only the same row: a softmax takes the extremum of a row, an
//! exponential of each element, their sum and a quotient. When the steps of a frame are known, those that agree on a
//! number of rows and touch the places that they share row by row become one step, which runs all of them for some rows
//! before it goes on. A place that nothing else touches has memory for one block only.
//!
//! Law: a step of a block sees of a row what it would see if the steps ran one after the other. So a place that one of
//! them writes is touched by all of them row by row, or by this one alone. Steps change their order only where they
//! touch no place in common that one of them writes.

use std::collections::HashMap;

use super::group::{Group, Item};
use super::kernels::threads;
use super::memory::Slot;
use super::run::{Frame, Memory};
use super::steps::{Home, Place, Span, Step, Whole, WholeOp, turned_by_rows};

/// Steps that run block by block.
pub(super) struct Blocks {
    pub(super) rows: usize,
    /// The number of rows of a block; the last block may have fewer.
    pub(super) block: usize,
    pub(super) steps: Vec<Step>,
    /// The number of the first of the steps, in the order in which a report lists all steps.
    pub(super) first: usize,
    /// Places that have memory for one block, with the bytes of a row.
    pub(super) local: Vec<(Slot, usize)>,
    /// Places that are filled with zeros before the first block, not row by row.
    pub(super) whole: Vec<Slot>,
    /// How the steps touch places.
    pub(super) uses: Uses,
}

impl Memory {
    /// Runs blocks of rows: all, or those of a part.
    pub(super) fn blocks(&mut self, blocks: &Blocks, part: Span) {
        let rows = if part.rows == 1 { 0..blocks.rows } else { part.from..part.to };
        for from in rows.clone().step_by(blocks.block) {
            let to = rows.end.min(from + blocks.block);
            for (slot, bytes) in &blocks.local {
                self.table.set_start(*slot, from * bytes);
            }
            let span = Span { rows: blocks.rows, from, to };
            self.steps(&blocks.steps, blocks.first, Frame { span, all: &blocks.whole, parts: &[] });
        }
    }
}

/// When steps share blocks, and how large these are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The least number of bytes that blocks spare the memory.
    pub(super) spared: usize,
    /// The bytes that a block touches, if a row is not larger.
    pub(super) block: usize,
    /// The least number of positions of a group whose sides are computed apart, and the least length of a row for each
    /// position at its sides.
    pub(super) sides: (usize, usize),
    /// The least number of elements of a value that is computed in another order of its axes.
    pub(super) turned: usize,
    /// The least number of nanoseconds of a step that runs in parts.
    pub(super) parts: f64,
    /// How much it counts what it costs to compute a value again instead of storing it.
    pub(super) again: f64,
    /// Whether the bodies of loops over small arrays compute number by number.
    pub(super) numbers: bool,
}

impl Limits {
    /// What measured best: less stays in cache anyway.
    pub(super) const DEFAULT: Limits = Limits {
        spared: 128 << 10,
        block: 128 << 10,
        sides: (4096, 16),
        turned: 2048,
        parts: threads::WORTH,
        again: 1.0,
        numbers: true,
    };
    /// Blocks wherever they are possible, for tests.
    pub(super) const SMALLEST: Limits =
        Limits { spared: 1, block: 64, sides: (1, 2), turned: 1, parts: 1.0, again: 0.0, numbers: false };
    /// A row of more bytes does not stay in cache.
    const ROW: usize = 512 << 10;
    /// The number of steps that are looked at after the last one that joined.
    const WINDOW: usize = 16;
    /// The largest number of rows that are tried for a first step.
    const TRIES: usize = 6;
}

/// Lets the steps of a frame, and those of the bodies of its loops, share blocks. The places `kept` are read after the
/// last step.
pub(super) fn form(steps: Vec<Step>, places: &mut [Place], kept: &[Slot], limits: Limits) -> Vec<Step> {
    form_frame(steps, places, kept, 0, limits)
}

fn form_frame(mut steps: Vec<Step>, places: &mut [Place], kept: &[Slot], depth: usize, limits: Limits) -> Vec<Step> {
    let mut users: HashMap<Slot, usize> = kept.iter().map(|slot| (*slot, 1)).collect();
    for step in &mut steps {
        if let Step::Loop(l) = step {
            l.body = form_frame(std::mem::take(&mut l.body), places, &[], depth + 1, limits);
        }
        for slot in touched(step).into_keys() {
            *users.entry(slot).or_default() += 1;
        }
    }
    // The steps from `next` on, in order; those before have become results.
    let mut rest: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let mut formed = Vec::with_capacity(rest.len());
    for next in 0..rest.len() {
        let Some(step) = &rest[next] else { continue };
        let found = if is_large(step, places, limits) { Plan::best(&rest, next, places, limits) } else { None };
        let Some(plan) = found else {
            formed.extend(rest[next].take());
            continue;
        };
        let mut take = |k: &usize| rest[*k].take().expect("a step is taken once");
        formed.extend(plan.ahead.iter().map(&mut take));
        let steps: Vec<Step> = plan.block.iter().map(&mut take).collect();
        let turns = |step: &Step| matches!(step, Step::Whole(whole) if matches!(whole.op, WholeOp::Turn(_)));
        let block = plan.block_rows(places, limits, steps.iter().any(turns));
        let own = |slot: Slot, place: &Place, touched: &Use| {
            let private = place.depth == depth && matches!(place.home, Home::Arena(_));
            private && touched.by_rows && users.get(&slot) == Some(&touched.steps)
        };
        let mut local = Vec::new();
        for (slot, touched) in &plan.uses {
            let place = &mut places[*slot as usize];
            if own(*slot, place, touched) {
                local.push((*slot, place.bytes() / plan.rows));
                place.size = place.size / plan.rows * block;
            }
        }
        local.sort_unstable();
        let mut whole: Vec<Slot> = plan.uses.iter().filter(|(_, u)| !u.by_rows).map(|(slot, _)| *slot).collect();
        whole.sort_unstable();
        formed.push(Step::Blocks(Box::new(Blocks {
            rows: plan.rows,
            block,
            steps,
            first: 0,
            local,
            whole,
            uses: plan.uses,
        })));
    }
    formed
}

/// Whether a step touches so much that others may profit.
fn is_large(step: &Step, places: &[Place], limits: Limits) -> bool {
    let mut bytes = 0;
    step.places(&mut |slot, _| bytes = places[slot as usize].bytes().max(bytes));
    bytes >= limits.spared / 4
}

/// How steps touch a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) written: bool,
    /// Whether nothing happens to the place but additions.
    pub(super) added: bool,
    /// Whether row `r` of the steps touches row `r` of the place alone.
    pub(super) by_rows: bool,
    /// The number of steps.
    steps: usize,
}

impl Use {
    /// Adds what another step does, or the same one, elsewhere.
    fn and(&mut self, other: Use) {
        self.written |= other.written;
        self.added &= other.added;
        self.by_rows &= other.by_rows;
    }

    /// Whether two steps may run row by row in turn.
    fn agrees(&self, other: &Use) -> bool {
        !(self.written || other.written) || (self.by_rows && other.by_rows)
    }
}

pub(super) type Uses = HashMap<Slot, Use>;

/// The places of a step.
fn touched(step: &Step) -> Uses {
    let mut uses = Uses::new();
    step.places(&mut |slot, written| note(&mut uses, slot, written, false));
    uses
}

fn note(uses: &mut Uses, slot: Slot, written: bool, by_rows: bool) {
    note_use(uses, slot, Use { written, added: false, by_rows, steps: 1 });
}

pub(super) fn note_use(uses: &mut Uses, slot: Slot, new: Use) {
    uses.entry(slot).and_modify(|touched| touched.and(new)).or_insert(new);
}

/// How a step touches places if it runs in so many rows, or nothing if it cannot.
pub(super) fn by_rows(step: &Step, rows: usize, places: &[Place]) -> Option<Uses> {
    match step {
        Step::Draft(group) => group_by_rows(group, rows, places),
        Step::Whole(whole) => whole_by_rows(whole, rows, places),
        Step::Group(_) | Step::Straight(_) | Step::Loop(_) | Step::Call(_) | Step::Blocks(_) => None,
    }
}

fn group_by_rows(group: &Group, rows: usize, places: &[Place]) -> Option<Uses> {
    if !group.size.is_multiple_of(rows) {
        return None;
    }
    let mut uses = Uses::new();
    for (item, _, stored) in group.items() {
        if let Some(slot) = item.reads().or(item.writes()) {
            let n = places[slot as usize].size;
            let inside = match item {
                Item::Read(_, at) => *at == 0 && n == group.size,
                Item::View(_, walk) | Item::Put(_, walk, _) | Item::Add(_, walk, _) => {
                    n.is_multiple_of(rows) && walk.stays_in_rows(rows, n / rows)
                }
                // The first index is the number of the row.
                Item::Gather(_, sizes, ix) => match group.item(ix[0]) {
                    Item::Places(walk) => {
                        let same = sizes.iter().product::<usize>() == n && sizes[0].is_multiple_of(rows);
                        same && walk.is_total() && walk.stays_in_rows(rows, sizes[0] / rows)
                    }
                    Item::Read(..) | Item::One(..) | Item::View(..) | Item::Gather(..) | Item::Put(..) => false,
                    Item::Unary(..) | Item::Binary(..) | Item::Compare(..) | Item::IntUnary(..) => false,
                    Item::IntBinary(..) | Item::And(..) | Item::Or(..) | Item::Not(_) | Item::Step(..) => false,
                    Item::Convert(..) | Item::Select(_) | Item::Add(..) => false,
                    Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => false,
                },
                Item::One(..) | Item::Places(_) | Item::Unary(..) | Item::Binary(..) | Item::Compare(..) => false,
                Item::IntUnary(..) | Item::IntBinary(..) | Item::And(..) | Item::Or(..) | Item::Not(_) => false,
                Item::Step(..) | Item::Convert(..) | Item::Select(_) => false,
                Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => false,
            };
            let added = matches!(item, Item::Add(..));
            note_use(&mut uses, slot, Use { written: item.writes().is_some(), added, by_rows: inside, steps: 1 });
        }
        if let Some(slot) = stored {
            note(&mut uses, slot, true, true);
        }
    }
    Some(uses)
}

fn whole_by_rows(whole: &Whole, rows: usize, places: &[Place]) -> Option<Uses> {
    let mut uses = Uses::new();
    let (lines, by_rows) = match &whole.op {
        WholeOp::Extremum(_, _, inner) | WholeOp::Position(_, _, inner) => (whole.size / (*inner).max(1), [true; 3]),
        WholeOp::Product(product) => (rows, product.by_rows(rows)?.1),
        WholeOp::Turn(nest) => {
            let (_, [from, into]) = turned_by_rows(nest, whole.size, rows)?;
            (rows, [from, true, into])
        }
        WholeOp::Gather(..) | WholeOp::Scatter(..) | WholeOp::Affine(..) => return None,
    };
    if whole.size == 0 || !lines.is_multiple_of(rows) {
        return None;
    }
    for ((operand, len), by_rows) in whole.operands.iter().zip(by_rows) {
        let all = operand.at == 0 && !operand.one && places[operand.slot as usize].size == *len;
        note(&mut uses, operand.slot, false, all && by_rows);
    }
    let added = matches!(whole.op, WholeOp::Product(_));
    note_use(&mut uses, whole.out, Use { written: true, added, by_rows: by_rows[2], steps: 1 });
    Some(uses)
}

/// The numbers of rows that the walks or lines of a step suggest.
pub(super) fn suggestions(step: &Step, f: &mut dyn FnMut(usize)) {
    match step {
        Step::Draft(group) => {
            for (item, ..) in group.items() {
                if let Item::View(_, walk) | Item::Put(_, walk, _) | Item::Add(_, walk, _) = item {
                    walk.outer_sizes(&mut *f);
                }
            }
        }
        Step::Whole(whole) => match &whole.op {
            WholeOp::Extremum(_, _, inner) | WholeOp::Position(_, _, inner) => f(whole.size / (*inner).max(1)),
            WholeOp::Product(product) => product.outer_sizes(f),
            WholeOp::Turn(nest) => nest.axes().iter().for_each(|axis| f(axis.len)),
            WholeOp::Gather(..) | WholeOp::Scatter(..) | WholeOp::Affine(..) => {}
        },
        Step::Group(_) | Step::Straight(_) | Step::Loop(_) | Step::Call(_) | Step::Blocks(_) => {}
    }
}

/// Steps that may share blocks, by their numbers.
struct Plan {
    rows: usize,
    /// Steps that run before the blocks.
    ahead: Vec<usize>,
    block: Vec<usize>,
    uses: Uses,
    /// The bytes of a row of all places that are touched row by row.
    row_bytes: usize,
    /// The bytes that are read or written once more if the steps run one after the other.
    spared: usize,
}

impl Plan {
    /// The blocks that spare most, from this step on.
    fn best(rest: &[Option<Step>], next: usize, places: &[Place], limits: Limits) -> Option<Plan> {
        let mut rows: Vec<usize> = Vec::new();
        let first = rest[next].as_ref()?;
        let mut suggest = |n: usize| {
            if n > 1 && rows.len() < Limits::TRIES && !rows.contains(&n) && by_rows(first, n, places).is_some() {
                rows.push(n);
            }
        };
        suggestions(first, &mut suggest);
        for step in rest[next + 1..].iter().flatten().take(Limits::WINDOW / 2) {
            suggestions(step, &mut suggest);
        }
        let plans = rows.into_iter().map(|rows| Plan::from(rest, next, rows, places));
        let good = plans.filter(|plan| plan.block.len() > 1 && plan.spared >= limits.spared);
        good.max_by_key(|plan| (plan.spared, plan.rows))
    }

    /// The steps that may share blocks with this one.
    fn from(rest: &[Option<Step>], first: usize, rows: usize, places: &[Place]) -> Plan {
        let (ahead, block) = (Vec::new(), Vec::new());
        let mut plan = Plan { rows, ahead, block, uses: Uses::new(), row_bytes: 0, spared: 0 };
        // What the steps touch that stay behind the blocks.
        let mut after = Uses::new();
        let mut idle = 0;
        for (k, step) in rest.iter().enumerate().skip(first) {
            let Some(step) = step else { continue };
            let all = touched(step);
            let free = !conflicts(&all, &after);
            if free && plan.join(k, step, places) {
                idle = 0;
            } else if free && !conflicts(&all, &plan.uses) {
                plan.ahead.push(k);
            } else {
                all.into_iter().for_each(|(slot, touched)| note(&mut after, slot, touched.written, false));
            }
            idle += 1;
            if idle > Limits::WINDOW {
                break;
            }
        }
        // What comes after the last step of the blocks may stay where it is.
        let last = plan.block.last().copied().unwrap_or(first);
        plan.ahead.retain(|k| *k < last);
        plan
    }

    /// Adds a step, if it may run row by row with those that are there, and shares a place with them.
    fn join(&mut self, k: usize, step: &Step, places: &[Place]) -> bool {
        let Some(uses) = by_rows(step, self.rows, places) else { return false };
        let mut shared = self.block.is_empty();
        let (mut bytes, mut spared) = (0, 0);
        for (slot, touched) in &uses {
            let of = places[*slot as usize].bytes();
            match self.uses.get(slot) {
                Some(here) if !here.agrees(touched) => return false,
                Some(here) if here.by_rows && touched.by_rows => (shared, spared) = (true, spared + of),
                Some(_) => {}
                None if touched.by_rows => bytes += of / self.rows,
                None => {}
            }
        }
        if !shared || self.row_bytes + bytes > Limits::ROW {
            return false;
        }
        for (slot, touched) in uses {
            let add = |here: &mut Use| {
                here.and(touched);
                here.steps += 1;
            };
            self.uses.entry(slot).and_modify(add).or_insert(touched);
        }
        self.row_bytes += bytes;
        self.spared += spared;
        self.block.push(k);
        true
    }

    /// The number of rows of a block; `by_columns` says whether a step makes columns of the rows.
    fn block_rows(&self, places: &[Place], limits: Limits, by_columns: bool) -> usize {
        let rows = (limits.block / self.row_bytes.max(1)).clamp(1, self.rows);
        // Rows of 16 elements, so that all blocks start at a cache line.
        let line = 64 / self.uses.keys().map(|slot| places[*slot as usize].dtype.width()).min().unwrap_or(1);
        // Columns that a step writes are whole lines of the cache.
        let rows = if by_columns && limits.block >= 16 * line { rows.max(2 * line).min(self.rows) } else { rows };
        if rows > line { rows / line * line } else { rows }
    }
}

/// Whether a place is common that one of both writes.
fn conflicts(a: &Uses, b: &Uses) -> bool {
    a.iter().any(|(slot, here)| b.get(slot).is_some_and(|there| here.written || there.written))
}
