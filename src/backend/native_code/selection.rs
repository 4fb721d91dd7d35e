//! The choice of steps that become native code, by estimated time.
//!
//! Law: a step becomes native code only if its statements can be written, and if that is not slower, by estimate, than
//! its kernels and tiles, whose start costs more, and whose vectors cost less for each element.

use super::super::ir::elementwise::ElementwiseOp;
use super::super::ir::fusion::{FusedOp, FusionGroup};
use super::super::ir::step::{Buffer, BufferId, FusedStep, KernelCall, KernelOp, MatrixCall, Step, Storage};
use super::super::plan::partition::nanoseconds;
use super::super::trees::matrices;
use crate::cost::MACHINE;
use crate::ops::{Property, Unary};

/// The nanoseconds of a step as native code, and by kernels and tiles; `None` if it is not written as native code.
fn times(step: &FusedStep) -> Option<[f64; 2]> {
    let size = |n: usize| n as f64;
    match step {
        Step::Pass(group) if group.size > MACHINE.native_group => None,
        Step::Pass(group) => {
            let each: f64 = group.items().map(|(item, ..)| cost(item)).sum();
            // Register code calls the same functions, and takes longer for everything else.
            let other = match group.size {
                1 => each + size(group.len()) * MACHINE.number,
                _ => MACHINE.tile_call + nanoseconds(step),
            };
            Some([each * size(group.size), other])
        }
        Step::KernelCall(call) => Some([kernel(call)?, MACHINE.trip_call + nanoseconds(step)]),
        Step::Matrices(call) => Some([matrix(call)?, MACHINE.tile_call + nanoseconds(step)]),
        Step::Loop(l) => {
            if l.ends && l.stacked() > 0 {
                return None;
            }
            let mut all = [MACHINE.native_trip, MACHINE.trip_call];
            for step in &l.body {
                let [native, other] = times(step)?;
                all = [all[0] + native, all[1] + other];
            }
            // The number of trips is not known if the loop ends by itself; a factor changes no comparison.
            Some(all.map(|time| time * size(l.n)))
        }
        Step::Interpreted(_) | Step::RowBlocks(_) => None,
    }
}

/// Whether a step is to become native code.
pub(crate) fn pays(step: &FusedStep) -> bool {
    times(step).is_some_and(|[native, other]| native <= other)
}

/// Nanoseconds per position of an operation of a group.
fn cost<V>(item: &FusedOp<V>) -> f64 {
    match item {
        FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Positions(_) => MACHINE.native_number,
        FusedOp::Put(..) | FusedOp::Add(..) => 2.0 * MACHINE.native_number,
        FusedOp::Gather(gather) => (1 + 2 * gather.sizes.len()) as f64 * MACHINE.native_number,
        FusedOp::Elementwise(op) => match op {
            ElementwiseOp::Unary(op, _) if op.is(Property::Arithmetic) => MACHINE.native_number,
            ElementwiseOp::Unary(Unary::Sqrt | Unary::Recip, _) => 3.0 * MACHINE.native_number,
            ElementwiseOp::Binary(op, ..) if op.is(Property::Arithmetic) => MACHINE.native_number,
            ElementwiseOp::Binary(op, ..) if op.is(Property::Division) => 3.0 * MACHINE.native_number,
            ElementwiseOp::Unary(..) | ElementwiseOp::Binary(..) => MACHINE.native_function,
            ElementwiseOp::Compare(..) | ElementwiseOp::And(..) | ElementwiseOp::Or(..) => MACHINE.native_number,
            ElementwiseOp::Not(_) | ElementwiseOp::IntUnary(..) | ElementwiseOp::Convert(..) => MACHINE.native_number,
            ElementwiseOp::IntBinary(..) | ElementwiseOp::FloatStep(..) => 2.0 * MACHINE.native_number,
            ElementwiseOp::Select(_) => 2.0 * MACHINE.native_number,
        },
    }
}

/// Nanoseconds of a kernel call as native code.
fn kernel(call: &KernelCall) -> Option<f64> {
    let read: usize = call.operands.iter().map(|(_, len)| len).sum();
    let elements = match &call.op {
        KernelOp::Product(product) => product.flops(),
        KernelOp::Extremum(..) | KernelOp::Position(..) => 4 * read,
        KernelOp::PrefixSum(_) | KernelOp::PrefixArg(..) | KernelOp::PrefixExtremum(..) => 4 * read,
        KernelOp::Gather(..) | KernelOp::Scatter(..) | KernelOp::Update(..) => 2 * (read + call.size),
        KernelOp::Transpose(_) | KernelOp::Affine(..) => 2 * (read + call.size),
        // Sorting networks are long, and transforms are not written.
        KernelOp::ArgSort(..) | KernelOp::Fourier(_) => return None,
    };
    Some(elements as f64 * MACHINE.native_number)
}

/// Nanoseconds of an operation on matrices as native code.
fn matrix(call: &MatrixCall) -> Option<f64> {
    let is_small = call.sizes[0].max(call.sizes[1]) <= MACHINE.native_matrix;
    (is_small && matrices::supported(call.op, call.sizes).is_ok())
        .then_some(2.0 * call.work as f64 * MACHINE.native_number)
}

/// The number of steps that touch each buffer.
pub(crate) fn uses(steps: &[FusedStep], buffers: usize) -> Vec<usize> {
    let mut uses = vec![0; buffers];
    let mut open: Vec<&FusedStep> = steps.iter().collect();
    while let Some(step) = open.pop() {
        step.buffers(&mut |buf, _| uses[buf as usize] += 1);
        match step {
            Step::Loop(l) => open.extend(&l.body),
            Step::RowBlocks(blocks) => open.extend(&blocks.steps),
            Step::Pass(_) | Step::KernelCall(_) | Step::Matrices(_) | Step::Interpreted(_) => {}
        }
    }
    uses
}

/// Whether no step but these touches a buffer of the workspace, which holds no result.
pub(crate) fn is_local(buf: BufferId, buffers: &[Buffer], all: &[usize], here: &[usize], results: &[BufferId]) -> bool {
    let is_workspace = matches!(buffers[buf as usize].storage, Storage::Workspace(_));
    is_workspace && all[buf as usize] == here[buf as usize] && !results.contains(&buf)
}

/// Steps in words.
pub(crate) fn words(steps: &[FusedStep]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut groups = 0;
    let of_group =
        |group: &FusionGroup| group.items().filter(|(item, ..)| matches!(item, FusedOp::Elementwise(_))).count();
    for step in steps {
        match step {
            Step::Pass(group) => groups += of_group(group) * group.size,
            Step::KernelCall(_) => parts.push("kernel".into()),
            Step::Matrices(call) => parts.push(call.op.name().into()),
            Step::Loop(l) if l.n == usize::MAX => parts.push(format!("loop that ends ({})", words(&l.body))),
            Step::Loop(l) if l.ends => parts.push(format!("loop of at most {} trips ({})", l.n, words(&l.body))),
            Step::Loop(l) => parts.push(format!("loop of {} trips ({})", l.n, words(&l.body))),
            Step::Interpreted(_) | Step::RowBlocks(_) => {}
        }
    }
    if groups > 0 {
        parts.insert(0, format!("{groups} operations"));
    }
    parts.join(", ")
}
