//! The sides of stencils: positions of a group at which some views look at nothing, computed apart from all others.
//!
//! A stencil reads the neighbours of each position, which lie one after the other in memory but at the sides of rows.
//! To look at these neighbours where they lie, the group computes all positions as if no view ended at a side, and a
//! second, small group computes the positions at the sides again.
//!
//! Law: a group and its sides write what the group alone would write. A group is split only if it does nothing but
//! compute elements and store them, so that the second group may write some of them again.

use super::group::{Group, Item, Node, Value};
use super::steps::Place;
use super::walk::Walk;

/// What is known of a group that runs over all its positions at once.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) places: &'a [Place],
    /// See `Limits::sides`.
    pub(super) limits: (usize, usize),
}

/// Columns of rows.
#[derive(Clone, Copy)]
struct Columns {
    row: usize,
    first: usize,
    step: usize,
    count: usize,
}

impl Columns {
    fn of(self, walk: &Walk) -> Option<Walk> {
        walk.columns_of(self.row, self.first, self.step, self.count)
    }
}

impl Group {
    /// Lets views look beyond the sides of rows, and returns the groups that compute the positions there.
    pub(super) fn split_sides(&mut self, whole: Whole<'_>) -> Vec<Group> {
        let Some((row, before, after)) = self.sides(whole.limits) else { return Vec::new() };
        let columns = match (before, after) {
            (1, 1) => vec![Columns { row, first: 0, step: row - 1, count: 2 }],
            _ => [(0, before), (row - after, after)]
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(first, count)| Columns { row, first, step: 1, count })
                .collect(),
        };
        let sides: Option<Vec<Group>> = columns.into_iter().map(|columns| self.at(columns)).collect();
        let Some(sides) = sides else { return Vec::new() };
        for node in &mut self.nodes {
            if let Item::View(slot, walk) = &mut node.item
                && walk.sides().is_some()
            {
                *walk = walk.clone().beyond(whole.places[*slot as usize].size);
            }
        }
        sides
    }

    /// The length of rows, and the numbers of positions at their starts and at their ends where a view looks at
    /// nothing, if there are such views and the group may be split.
    fn sides(&self, (least, part): (usize, usize)) -> Option<(usize, usize, usize)> {
        let only_stores = self.cleared.is_empty() && self.nodes.iter().all(|node| node.item.writes().is_none());
        if self.size < least || !only_stores {
            return None;
        }
        let mut found: Option<(usize, usize, usize)> = None;
        for node in &self.nodes {
            if let Item::View(_, walk) = &node.item
                && let Some((row, before, after)) = walk.sides()
            {
                let (all, first, last) = found.unwrap_or((row, 0, 0));
                found = (all == row).then(|| (row, first.max(before), last.max(after)));
                found?;
            }
        }
        found.filter(|(row, before, after)| (before + after) * part <= *row && self.size.is_multiple_of(*row))
    }

    /// What the group computes at some columns.
    fn at(&self, columns: Columns) -> Option<Group> {
        let mut out = Group::new(self.size / columns.row * columns.count);
        let mut values: Vec<Value> = Vec::with_capacity(self.nodes.len());
        for Node { item, dtype, stored } in &self.nodes {
            let item = if let Item::Read(slot, at) = item {
                Item::View(*slot, columns.of(&Walk::along(self.size).moved(*at))?)
            } else if let Item::View(slot, walk) = item {
                Item::View(*slot, columns.of(walk)?)
            } else if let Item::Places(walk) = item {
                Item::Places(columns.of(walk)?)
            } else {
                item.map(|v| values[v as usize])
            };
            let value = out.push(item, *dtype);
            values.push(value);
            if let Some(slot) = stored {
                out.push(Item::Put(*slot, columns.of(&Walk::along(self.size))?, value), *dtype);
            }
        }
        Some(out)
    }
}
