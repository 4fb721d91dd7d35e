//! Execution of row blocks: all fused steps run on one block of rows, then on the next.

use super::{Context, Memory};
use crate::backend::codegen::PassCode;
use crate::backend::ir::step::{RowBlocks, RowRange};

impl Memory {
    /// Runs fused steps block by block, over all rows or those of a part.
    pub(crate) fn blocks(&mut self, blocks: &RowBlocks<PassCode>, part: RowRange) {
        let rows = if part.rows == 1 { 0..blocks.rows } else { part.from..part.to };
        for from in rows.clone().step_by(blocks.block) {
            let to = rows.end.min(from + blocks.block);
            for (buf, bytes) in &blocks.local {
                self.table.set_start(*buf, from * bytes);
            }
            let span = RowRange { rows: blocks.rows, from, to };
            self.steps(&blocks.steps, blocks.first, Context { span, all: &blocks.whole, parts: &[] });
        }
    }
}
