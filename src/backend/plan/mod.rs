//! Planning: row-block fusion, recomputation, buffer assignment; code generation applies halo peeling and partition.

mod buffers;
pub(crate) mod halo;
pub(crate) mod partition;
pub(crate) mod recompute;
pub(crate) mod row_blocks;

use crate::array::Array;
use crate::backend::ir::limits::Limits;
use crate::backend::ir::step::{Buffer, BufferId, FusedStep, Storage};
use crate::backend::lower::{LoweredValue, Lowering};
use crate::program::Program;
use crate::shape::size;
use recompute::{Recomputed, ReportedValue};

/// Location of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultSource {
    /// In a buffer that the run writes.
    Buffer(BufferId),
    /// The result is this input, and its buffer.
    Input(BufferId),
}

impl ResultSource {
    /// The buffer of the result; the buffers of the inputs come first.
    pub(crate) fn buffer(self, buffers: &[Buffer]) -> (BufferId, &Buffer) {
        let (ResultSource::Buffer(buf) | ResultSource::Input(buf)) = self;
        (buf, &buffers[buf as usize])
    }
}

/// A plan: the steps of a program, and the buffers they read and write.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<FusedStep>,
    pub(crate) buffers: Vec<Buffer>,
    /// The number of inputs.
    pub(crate) inputs: usize,
    pub(crate) constants: Vec<Array>,
    /// Location of each result. The first buffers are the inputs.
    pub(crate) outputs: Vec<ResultSource>,
    /// The bytes of the block of a workspace.
    pub(crate) bytes: usize,
}

/// Plans a program.
pub(crate) fn plan(program: &Program, limits: Limits) -> Plan {
    let Lowered { mut steps, mut buffers, inputs, constants, outputs } = lowered(program, limits);
    let kept = kept(&outputs);
    steps = row_blocks::form(steps, &mut buffers, &kept, limits);
    let bytes = buffers::assign(&mut buffers, &mut steps, &kept);
    Plan { steps, buffers, inputs, constants, outputs, bytes }
}

impl Plan {
    /// The same plan, in which values are computed again so that the block of the workspace has at most `most` bytes;
    /// `None` if no such plan is found.
    pub(crate) fn within(self, most: usize) -> Option<(Plan, Recomputed)> {
        let kept = kept(&self.outputs);
        let (steps, buffers, bytes, recomputed) = recompute::within(&self.steps, &self.buffers, &kept, most)?;
        Some((Plan { steps, buffers, bytes, ..self }, recomputed))
    }

    /// The plan whose block of the workspace has the fewest bytes that are found, and the largest values that are live
    /// where it takes most.
    pub(crate) fn least(self) -> (Plan, Recomputed, Vec<ReportedValue>) {
        let kept = kept(&self.outputs);
        let (mut steps, mut buffers, recomputed, live) = recompute::least(&self.steps, &self.buffers, &kept);
        let bytes = buffers::assign_tightly(&mut buffers, &mut steps, &kept);
        (Plan { steps, buffers, bytes, ..self }, recomputed, live)
    }
}

/// The buffers of results that a run writes.
pub(crate) fn kept(outputs: &[ResultSource]) -> Vec<BufferId> {
    let written = |found: &ResultSource| match found {
        ResultSource::Buffer(buf) => Some(*buf),
        ResultSource::Input(_) => None,
    };
    outputs.iter().filter_map(written).collect()
}

/// The steps of a program before they are planned, as fields of a [`Plan`].
pub(crate) struct Lowered {
    pub(crate) steps: Vec<FusedStep>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) inputs: usize,
    pub(crate) constants: Vec<Array>,
    pub(crate) outputs: Vec<ResultSource>,
}

/// Lowers a program.
pub(crate) fn lowered(program: &Program, limits: Limits) -> Lowered {
    let mut lowering = Lowering::new(limits);
    let inputs: Vec<LoweredValue> = program
        .inputs()
        .iter()
        .map(|buf| LoweredValue::Dense(lowering.buffer(buf.dtype, size(&buf.shape), Storage::Input), 0))
        .collect();
    let owned = vec![false; inputs.len()];
    let mut results = lowering.program(program, &inputs, &owned);
    let outputs: Vec<ResultSource> = results
        .iter_mut()
        .zip(program.outputs())
        .map(|(known, buf)| {
            // The buffers of the inputs come first, so buffer numbers and input numbers agree.
            if let LoweredValue::Dense(buffer, 0) = known
                && let Some(input) = program.inputs().get(*buffer as usize)
                && input.shape == buf.shape
            {
                return ResultSource::Input(*buffer);
            }
            let buffer = lowering.result(known, buf.dtype, size(&buf.shape));
            // A scalar result is read from the workspace.
            if !buf.shape.is_empty() {
                lowering.buffers[buffer as usize].storage = Storage::Output;
            }
            ResultSource::Buffer(buffer)
        })
        .collect();
    let steps = lowering.leave();
    let Lowering { buffers, constants, .. } = lowering;
    Lowered { steps, buffers, inputs: inputs.len(), constants, outputs }
}
