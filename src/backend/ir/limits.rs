//! Limits of optimizations of a plan: those of the machine, and others for tests.

use crate::cost::MACHINE;
use crate::passes::Settings;

/// When steps share blocks, and how large these are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The least number of bytes that blocks spare the memory.
    pub(crate) spared: usize,
    /// The bytes that a block touches, if a row is not larger.
    pub(crate) block: usize,
    /// The least number of positions of a group whose sides are computed apart, and the least length of a row for each
    /// position at its sides.
    pub(crate) halo: (usize, usize),
    /// The least number of elements of a value that is computed in another order of its axes.
    pub(crate) interchange: usize,
    /// The least number of nanoseconds of a step that runs in parts.
    pub(crate) partition: f64,
    /// What the passes before the plan are told.
    pub(crate) passes: Settings,
}

impl Limits {
    /// What measured best.
    pub(crate) const DEFAULT: Limits = Limits {
        spared: MACHINE.block_spares,
        block: MACHINE.block,
        halo: (MACHINE.halo_group, MACHINE.halo_row),
        interchange: MACHINE.interchange,
        partition: MACHINE.thread,
        passes: Settings::DEFAULT,
    };
    /// Row blocks wherever they are possible, for tests.
    pub(crate) const SMALLEST: Limits = Limits {
        spared: 1,
        block: 64,
        halo: (1, 2),
        interchange: 1,
        partition: 1.0,
        passes: Settings { rematerialization: 0.0, scalar_replacement: false, ..Settings::DEFAULT },
    };
    /// The number of steps that are looked at after the last one that joined.
    pub(crate) const WINDOW: usize = 16;
    /// The largest number of rows that are tried for a first step.
    pub(crate) const TRIES: usize = 6;
}
