//! Parallel partition: the rows of a step are split into parts, which run on several threads.
//!
//! If the rows of a step are independent, the step runs in parts of consecutive rows, each on the next idle thread. A
//! buffer to which all rows add has a private copy in each part; the copies are summed in order at the end.
//!
//! Law: results do not depend on the number of threads, since the parts of a step that accumulates depend on the
//! program alone. A buffer that a partitioned step writes is either accessed row by row or only added to. Products of
//! arrays are partitioned by their kernels.

use super::row_blocks;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedOp, FusionGroup};
use crate::backend::ir::step::{
    Buffer, BufferId, BufferUse, FusedStep, KernelCall, KernelOp, LINE, LoopStep, Step, Storage, Uses,
};
use crate::cost::{MACHINE, step};
use crate::dtype::DType;
use crate::kernels::indexing::segments;

/// The partition of a step.
pub(crate) struct Partition {
    pub(crate) rows: usize,
    /// The largest number of parts that is estimated to pay.
    most: usize,
    /// The number of rows that stay in one part.
    pub(crate) together: usize,
    /// Whether the parts are independent of the number of threads. This is required where sums are accumulated, also
    /// because the tiles of a part start with the part and tile boundaries split the sums of rows.
    pub(crate) fixed: bool,
    /// The buffers to which all rows add.
    pub(crate) sums: Vec<SharedSum>,
    /// The buffers that are allocated for the rows of one part, with their bytes.
    pub(crate) local: Vec<(BufferId, usize)>,
    /// The buffers that are written row by row, with the bytes per row.
    pub(crate) written: Vec<(BufferId, usize)>,
}

/// A buffer to which all rows add (a reduction target).
pub(crate) struct SharedSum {
    pub(crate) buf: BufferId,
    pub(crate) dtype: DType,
    pub(crate) size: usize,
    /// Whether the buffer is zero before the step.
    pub(crate) cleared: bool,
}

impl SharedSum {
    pub(crate) fn bytes(&self) -> usize {
        (self.size * self.dtype.width()).next_multiple_of(LINE)
    }
}

/// The largest number of parts.
const MOST: usize = 64;

/// Parts per thread, for load balance.
const EACH: usize = 3;

impl Partition {
    /// The partition of a step that has rows and takes at least `worth` nanoseconds.
    pub(crate) fn of(step: &FusedStep, buffers: &[Buffer], worth: f64) -> Option<Partition> {
        let time = nanoseconds(step);
        if time < worth {
            return None;
        }
        let (rows, uses) = match step {
            Step::Pass(group) => group_rows(group.size, step, buffers)?,
            Step::RowBlocks(blocks) => (blocks.rows, blocks.uses.clone()),
            Step::Loop(l) if l.ends => return None,
            Step::Loop(l) => loop_rows(l, buffers)?,
            Step::KernelCall(whole) => whole_rows(whole, step, buffers)?,
            // Its matrices are shared by threads when it runs.
            Step::Matrices(_) | Step::Interpreted(_) => return None,
        };
        let sums = sums(step, &uses, buffers)?;
        let bytes: usize = sums.iter().map(SharedSum::bytes).sum();
        // Tests lower the threshold of profitable work, and the overhead per part with it.
        let share = worth / MACHINE.thread;
        let most = (time / (share * MACHINE.sum_byte * bytes as f64)).min(2.0 * time / worth).min(MOST as f64) as usize;
        let adds = uses.values().any(|touched| touched.written && touched.added);
        let mut parts = Partition {
            rows,
            most: most.max(1),
            together: 1,
            fixed: adds,
            sums,
            local: Vec::new(),
            written: Vec::new(),
        };
        if let Step::Loop(l) = step {
            // With fixed parts, the overhead must be small even on one thread.
            let most = loop_parts(l) / share / if adds { EACH as f64 } else { 1.0 };
            parts.most = parts.most.min(most as usize).max(1);
        }
        if let Step::RowBlocks(blocks) = step {
            parts.together = blocks.block;
            parts.fixed = !parts.sums.is_empty();
            parts.local = blocks.local.iter().map(|(buf, _)| (*buf, buffers[*buf as usize].bytes())).collect();
        }
        let own = |buf: BufferId| {
            // The loop itself restricts buffers whose addresses advance with its trips.
            buffers[buf as usize].storage != Storage::Loop && parts.local.iter().all(|(local, _)| *local != buf)
        };
        let by_rows = uses.iter().filter(|(buf, touched)| touched.written && touched.by_rows && own(**buf));
        parts.written = by_rows.map(|(buf, _)| (*buf, buffers[*buf as usize].bytes() / rows)).collect();
        (parts.count(MOST) > 1).then_some(parts)
    }

    /// Rows per part for this number of threads; the last part may have fewer.
    pub(crate) fn part(&self, threads: usize) -> usize {
        let parts = if self.fixed { self.most } else { self.most.min(EACH.saturating_mul(threads)) };
        let part = self.rows.div_ceil(parts).next_multiple_of(self.together);
        if self.together == 1 && part > MACHINE.tile { part.next_multiple_of(MACHINE.tile) } else { part }
    }

    /// The number of parts for this number of threads.
    pub(crate) fn count(&self, threads: usize) -> usize {
        self.rows.div_ceil(self.part(threads))
    }

    /// The buffers that have another address or a smaller size in a part.
    pub(crate) fn changed(&self) -> impl Iterator<Item = BufferId> {
        self.sums.iter().map(|sum| sum.buf).chain(self.written.iter().map(|(buf, _)| *buf))
    }

    /// Bytes of the partial sums of one part.
    pub(crate) fn bytes(&self) -> usize {
        self.sums.iter().map(SharedSum::bytes).sum()
    }

    /// Bytes of the partial sums of all parts.
    pub(crate) fn all_bytes(&self) -> usize {
        self.bytes().saturating_mul(self.count(MOST))
    }
}

/// The buffers that are added to; `None` if the step writes another buffer that is not accessed row by row.
fn sums(step: &FusedStep, uses: &Uses, buffers: &[Buffer]) -> Option<Vec<SharedSum>> {
    let mut cleared = Vec::new();
    step.cleared(&mut |buf| cleared.push(buf));
    let mut sums = Vec::new();
    for (buf, touched) in uses {
        if touched.written && !touched.by_rows {
            let Buffer { dtype, size, .. } = buffers[*buf as usize];
            if !touched.added || dtype == DType::Bool {
                return None;
            }
            sums.push(SharedSum { buf: *buf, dtype, size, cleared: cleared.contains(buf) });
        }
    }
    crate::order::sort_by_key(&mut sums, |sum| sum.buf);
    Some(sums)
}

/// The rows of a group with this number of positions: the choice with the smallest partial sums, otherwise its
/// positions.
fn group_rows(size: usize, step: &FusedStep, buffers: &[Buffer]) -> Option<(usize, Uses)> {
    let mut candidates = vec![size];
    row_blocks::suggestions(step, &mut |n| {
        if n > 1 && !candidates.contains(&n) {
            candidates.push(n);
        }
    });
    let added = |uses: &Uses| -> usize {
        let apart = uses.iter().filter(|(_, touched)| touched.written && !touched.by_rows);
        apart.map(|(buf, _)| buffers[*buf as usize].bytes()).sum()
    };
    let found = candidates.into_iter().filter_map(|rows| Some((rows, row_blocks::by_rows(step, rows, buffers)?)));
    let fits = |uses: &Uses| uses.values().all(|touched| !touched.written || touched.by_rows || touched.added);
    found.filter(|(_, uses)| fits(uses)).min_by_key(|(rows, uses)| (added(uses), std::cmp::Reverse(*rows)))
}

/// The rows of a kernel call, if it has rows.
fn whole_rows(whole: &KernelCall, step: &FusedStep, buffers: &[Buffer]) -> Option<(usize, Uses)> {
    // The kernel partitions a product itself.
    if matches!(whole.op, KernelOp::Product(_)) {
        return None;
    }
    if let KernelOp::Scatter(_, block, _) = whole.op {
        return scatter_rows(whole, block);
    }
    let mut rows = 0;
    row_blocks::suggestions(step, &mut |n| {
        if row_blocks::by_rows(step, n, buffers).is_some_and(|uses| uses[&whole.out].by_rows) {
            rows = rows.max(n);
        }
    });
    let uses = if rows > 1 { row_blocks::by_rows(step, rows, buffers) } else { None };
    Some((rows, uses?))
}

/// The indices of a scatter-add, as its rows. Kernels partition a destination that does not stay in the caches.
fn scatter_rows(whole: &KernelCall, block: usize) -> Option<(usize, Uses)> {
    if whole.size * whole.dtype.width() >= MACHINE.scattered_far {
        return None;
    }
    let mut uses = Uses::new();
    for (operand, _) in &whole.operands {
        row_blocks::note_use(
            &mut uses,
            operand.buf,
            BufferUse { written: false, added: false, by_rows: false, steps: 1 },
        );
    }
    uses.insert(whole.out, BufferUse { written: true, added: true, by_rows: false, steps: 1 });
    Some((whole.operands[0].1.checked_div(block)?, uses))
}

/// The rows of a loop in which row `r` of a trip depends only on row `r` of the trip before: the rows of its carries.
fn loop_rows(l: &LoopStep<FusionGroup>, buffers: &[Buffer]) -> Option<(usize, Uses)> {
    let mut candidates = Vec::new();
    for step in &l.body {
        row_blocks::suggestions(step, &mut |n| candidates.push(n));
    }
    candidates.extend(l.carries.iter().map(|carry| buffers[carry.input as usize].size));
    candidates.sort_unstable();
    candidates.dedup();
    candidates.into_iter().rev().filter(|rows| *rows > 1).find_map(|rows| Some((rows, loop_by_rows(l, rows, buffers)?)))
}

/// How a loop with this number of rows accesses the buffers of its body, if its rows are independent.
fn loop_by_rows(l: &LoopStep<FusionGroup>, rows: usize, buffers: &[Buffer]) -> Option<Uses> {
    let mut uses = Uses::new();
    for step in &l.body {
        for (buf, touched) in row_blocks::by_rows(step, rows, buffers)? {
            row_blocks::note_use(&mut uses, buf, touched);
        }
    }
    let carried = |buf: BufferId| l.carries.iter().any(|carry| carry.input == buf || carry.output == buf);
    let apart = |(buf, touched): (&BufferId, &BufferUse)| touched.by_rows || !(touched.written || carried(*buf));
    let whole = l.carries.iter().all(|carry| buffers[carry.input as usize].size.is_multiple_of(rows));
    (whole && uses.iter().all(apart)).then_some(uses)
}

/// The number of parts at which the work of a trip equals the overhead of starting its operations.
fn loop_parts(l: &LoopStep<FusionGroup>) -> f64 {
    let (mut work, mut starts) = (0.0, 0.0);
    for step in &l.body {
        work += nanoseconds(step);
        starts += match step {
            Step::Pass(group) => MACHINE.tile_call * group.len() as f64,
            Step::KernelCall(_) | Step::Loop(_) | Step::RowBlocks(_) | Step::Matrices(_) => 2.0 * MACHINE.tile_call,
            Step::Interpreted(_) => 0.0,
        };
    }
    work / starts
}

/// A rough estimate of the time of a step on one thread.
pub(crate) fn nanoseconds(step: &FusedStep) -> f64 {
    let size = |n: usize| n as f64;
    match step {
        Step::Pass(group) => {
            let each: f64 = group.items().map(|(item, dtype, _)| cost(item) * dtype.width() as f64 / 8.0).sum();
            each * size(group.size)
        }
        Step::KernelCall(whole) => {
            let read: usize = whole.operands.iter().map(|(_, len)| len).sum();
            match &whole.op {
                KernelOp::Product(product) => product.nanoseconds(),
                KernelOp::Extremum(..) => MACHINE.extremum * size(read),
                KernelOp::PrefixSum(_) | KernelOp::PrefixArg(..) | KernelOp::PrefixExtremum(..) => {
                    MACHINE.scanned * size(read)
                }
                KernelOp::Position(..) | KernelOp::Transpose(_) => MACHINE.position * size(read),
                KernelOp::ArgSort(lines, ranks) => {
                    let asked: usize = ranks.iter().map(ExactSizeIterator::len).sum();
                    let compared = 4.0 + size(asked.max(1)).log2() * size(asked) / size(lines.len.max(1));
                    MACHINE.sorted * compared * size(read)
                }
                KernelOp::Fourier(transform) => transform.nanoseconds(),
                KernelOp::Gather(..) => MACHINE.gather * size(whole.size),
                KernelOp::Scatter(_, block, _) => {
                    let count = whole.operands[0].1 / (*block).max(1);
                    segments::nanoseconds(count, *block, whole.size, whole.dtype)
                }
                KernelOp::Update(_, block) => MACHINE.gather * size(*block),
                KernelOp::Affine(..) => MACHINE.gather * size(read),
            }
        }
        Step::Loop(l) => size(l.n) * l.body.iter().map(nanoseconds).sum::<f64>(),
        Step::RowBlocks(blocks) => blocks.steps.iter().map(nanoseconds).sum(),
        Step::Matrices(call) => MACHINE.factor_product * size(call.work),
        Step::Interpreted(_) => 0.0,
    }
}

/// Nanoseconds per position of an operation on elements of 8 bytes.
fn cost<V>(item: &FusedOp<V>) -> f64 {
    match item {
        FusedOp::Read(..) | FusedOp::One(..) => MACHINE.tile_read,
        FusedOp::View(_, access) if access.is_mostly_straight() => MACHINE.tile_view,
        FusedOp::View(..) | FusedOp::Put(..) => MACHINE.moved,
        FusedOp::Positions(_) => MACHINE.converted,
        FusedOp::Gather(_) => MACHINE.tile_gather,
        FusedOp::Add(..) => MACHINE.compared,
        FusedOp::Elementwise(op) => match op {
            ElementwiseOp::Convert(..) | ElementwiseOp::FloatStep(..) => MACHINE.converted,
            ElementwiseOp::Compare(..) | ElementwiseOp::IntUnary(..) => MACHINE.compared,
            ElementwiseOp::And(..) | ElementwiseOp::Or(..) | ElementwiseOp::Not(_) => MACHINE.compared,
            ElementwiseOp::IntBinary(..) | ElementwiseOp::Select(_) => MACHINE.chosen,
            ElementwiseOp::Unary(op, _) => step::unary(*op),
            ElementwiseOp::Binary(op, ..) => step::binary(*op),
        },
    }
}
