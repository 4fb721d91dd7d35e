//! Thresholds of the optimizations of a plan: the measured ones of the machine, and the smallest ones for tests.

use crate::cost::MACHINE;
use crate::passes::Settings;

/// The thresholds of the optimizations of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The least number of bytes of memory traffic that row blocks must save.
    pub(crate) spared: usize,
    /// The bytes that one block of rows touches, unless a single row touches more.
    pub(crate) block: usize,
    /// Halo peeling: the least number of positions of a group, and the least ratio of the length of a row to its halo.
    pub(crate) halo: (usize, usize),
    /// Loop interchange: the least number of elements of a value.
    pub(crate) interchange: usize,
    /// Whether kernels run the steps: operands may be packed for these, and each state of a loop is stored once.
    pub(crate) kernels: bool,
    /// Partition: the least estimated time of a step, in nanoseconds.
    pub(crate) partition: f64,
    /// The settings of the passes before the plan.
    pub(crate) passes: Settings,
}

impl Limits {
    /// The measured thresholds.
    pub(crate) const DEFAULT: Limits = Limits {
        spared: MACHINE.block_spares,
        block: MACHINE.block,
        halo: (MACHINE.halo_group, MACHINE.halo_row),
        interchange: MACHINE.interchange,
        kernels: true,
        partition: MACHINE.thread,
        passes: Settings::DEFAULT,
    };
    /// Row blocks wherever they are possible, for tests.
    pub(crate) const SMALLEST: Limits = Limits {
        spared: 1,
        block: 64,
        halo: (1, 2),
        interchange: 1,
        kernels: true,
        partition: 1.0,
        passes: Settings { rematerialization: 0.0, scalar_replacement: false, ..Settings::DEFAULT },
    };
    /// For programs that leave as source code.
    pub(crate) const SOURCE: Limits = Limits { kernels: false, ..Limits::DEFAULT };
    /// Row-block fusion: the number of steps that are tried after the last one that was fused.
    pub(crate) const WINDOW: usize = 16;
    /// Row-block fusion: how many numbers of rows are tried for a first step.
    pub(crate) const TRIES: usize = 6;
}
