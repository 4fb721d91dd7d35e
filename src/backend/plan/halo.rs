//! Halo peeling: the positions of a stencil at which some neighbours do not exist are a group of their own.
//!
//! A stencil reads the neighbours of each position, which are contiguous in memory except at the sides of rows. To
//! read these neighbours in place, the group computes all positions as if no view ended at a side; a second, small
//! group then recomputes the positions at the sides.
//!
//! Law: a group and its side group together write what the original group writes. A group is split only if it merely
//! computes and stores elements, so that the side group may overwrite some of them.

use crate::backend::ir::access::StridedAccess;
use crate::backend::ir::fusion::{FusedNode, FusedOp, FusionGroup, ValueId};
use crate::backend::ir::step::Buffer;

/// Facts about a group that runs over all its positions at once.
#[derive(Clone, Copy)]
pub(crate) struct FullPass<'a> {
    pub(crate) buffers: &'a [Buffer],
    /// See `Limits::halo`.
    pub(crate) limits: (usize, usize),
}

/// Columns of a row-major iteration space.
#[derive(Clone, Copy)]
struct HaloColumns {
    row: usize,
    first: usize,
    step: usize,
    count: usize,
}

impl HaloColumns {
    fn of(self, access: &StridedAccess) -> Option<StridedAccess> {
        access.columns_of(self.row, self.first, self.step, self.count)
    }
}

impl FusionGroup {
    /// Lets views read beyond the sides of rows, and returns the groups that recompute the positions there.
    pub(crate) fn peel_halo(&mut self, whole: FullPass<'_>) -> Vec<FusionGroup> {
        let Some((row, before, after)) = self.halo(whole.limits) else { return Vec::new() };
        let columns = match (before, after) {
            (1, 1) => vec![HaloColumns { row, first: 0, step: row - 1, count: 2 }],
            _ => [(0, before), (row - after, after)]
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(first, count)| HaloColumns { row, first, step: 1, count })
                .collect(),
        };
        let halo: Option<Vec<FusionGroup>> = columns.into_iter().map(|columns| self.at(columns)).collect();
        let Some(halo) = halo else { return Vec::new() };
        for node in &mut self.nodes {
            if let FusedOp::View(buf, access) = &mut node.item
                && access.halo().is_some()
            {
                *access = access.clone().beyond(whole.buffers[*buf as usize].size);
            }
        }
        halo
    }

    /// The length of rows and the numbers of positions at the start and the end of a row where a view is outside its
    /// box; `None` without such a view, or if the group must not be split.
    fn halo(&self, (least, part): (usize, usize)) -> Option<(usize, usize, usize)> {
        let only_stores = self.cleared.is_empty() && self.nodes.iter().all(|node| node.item.writes().is_none());
        if self.size < least || !only_stores {
            return None;
        }
        let mut found: Option<(usize, usize, usize)> = None;
        for node in &self.nodes {
            if let FusedOp::View(_, access) = &node.item
                && let Some((row, before, after)) = access.halo()
            {
                let (all, first, last) = found.unwrap_or((row, 0, 0));
                found = (all == row).then(|| (row, first.max(before), last.max(after)));
                found?;
            }
        }
        found.filter(|(row, before, after)| (before + after) * part <= *row && self.size.is_multiple_of(*row))
    }

    /// The group restricted to some columns.
    fn at(&self, columns: HaloColumns) -> Option<FusionGroup> {
        let mut out = FusionGroup::new(self.size / columns.row * columns.count);
        let mut values: Vec<ValueId> = Vec::with_capacity(self.nodes.len());
        for FusedNode { item, dtype, stored } in &self.nodes {
            let item = if let FusedOp::Read(buf, at) = item {
                FusedOp::View(*buf, columns.of(&StridedAccess::along(self.size).moved(*at))?)
            } else if let FusedOp::View(buf, access) = item {
                FusedOp::View(*buf, columns.of(access)?)
            } else if let FusedOp::Positions(access) = item {
                FusedOp::Positions(columns.of(access)?)
            } else {
                item.clone().map(|v| values[v as usize])
            };
            let value = out.push(item, *dtype);
            values.push(value);
            if let Some(buf) = stored {
                out.push(FusedOp::Put(*buf, columns.of(&StridedAccess::along(self.size))?, value), *dtype);
            }
        }
        Some(out)
    }
}
