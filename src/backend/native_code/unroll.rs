//! Short loops that are written out, and small arrays whose elements are then variables.
//!
//! Law: a loop that is written out has known bounds, and nothing leaves it. An array is variables only if each position
//! in it is known once these loops are written out, and it is memory of the code alone.

use std::collections::{BTreeMap, BTreeSet};

use super::super::trees::tree::{
    ArrayId, ArrayInfo, ArrayKind, ElementIndex, EmittedFunction, Expression, Stmt, VariableId,
};
use super::packs::run;
use crate::cost::MACHINE;

/// What is written out.
#[derive(Default)]
pub(super) struct WrittenOut {
    /// The counters of loops.
    pub(super) counters: BTreeSet<VariableId>,
    /// The arrays whose elements are variables.
    pub(super) arrays: BTreeSet<ArrayId>,
    /// The arrays whose elements are stored several at once, and are lanes of vectors.
    pub(super) packed: BTreeSet<ArrayId>,
}

/// Chooses what is written out.
pub(super) fn choose(function: &EmittedFunction) -> WrittenOut {
    let mut counters = BTreeSet::new();
    weight(&function.body, &mut counters);
    let mut moving = Moving { counters: &counters, arrays: BTreeMap::new() };
    function.body.iter().for_each(|stmt| stmt.walk(&mut |stmt| moving.stmt(stmt)));
    let is_own = |info: &ArrayInfo| matches!(info.kind, ArrayKind::Stack);
    let mut packed = BTreeSet::new();
    neighbours(&function.body, &mut packed);
    let still = |array: ArrayId| is_own(&function.arrays[array as usize]) && moving.arrays.get(&array) == Some(&false);
    let arrays = (0..function.arrays.len() as ArrayId).filter(|array| still(*array)).collect();
    WrittenOut { counters, arrays, packed }
}

/// The arrays whose elements are stored several at once.
fn neighbours(body: &[Stmt], packed: &mut BTreeSet<ArrayId>) {
    let mut rest = body;
    while !rest.is_empty() {
        let (run, after) = rest.split_at(run(rest));
        if let (Stmt::Store(array, ..), 4..) = (&run[0], run.len()) {
            packed.insert(*array);
        }
        run.iter().for_each(|stmt| stmt.blocks().into_iter().for_each(|block| neighbours(block, packed)));
        rest = after;
    }
}

/// The operations of statements once short loops are written out; `None` if they have a loop that stays, or leave one.
fn weight(body: &[Stmt], counters: &mut BTreeSet<VariableId>) -> Option<usize> {
    let mut sum = Some(0usize);
    for stmt in body {
        let mut own = 1;
        stmt.expr(&mut |x| own += x.weight());
        let inner = match stmt {
            Stmt::For { counter, from, to, body, .. } => {
                let inner = weight(body, counters);
                let trips = from.known().zip(to.known()).map(|(from, to)| usize::try_from(to - from).unwrap_or(0));
                let all = inner.zip(trips).map(|(inner, trips)| inner.saturating_mul(trips));
                let short = all.filter(|all| *all <= MACHINE.native_unrolled);
                if short.is_some() {
                    counters.insert(*counter);
                }
                short
            }
            Stmt::If(_, then, otherwise) => {
                let parts = [weight(then, counters), weight(otherwise, counters)];
                parts[0].zip(parts[1]).map(|(a, b)| a + b)
            }
            Stmt::Loop(body) | Stmt::Renamed { body, .. } => {
                weight(body, counters);
                None
            }
            Stmt::Break | Stmt::Swap(_) => None,
            Stmt::Comment(_) => Some(0),
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Position(..) | Stmt::SetPosition(..) => Some(own),
            Stmt::Store(..) => Some(own),
        };
        sum = sum.zip(inner).map(|(sum, inner)| sum + inner);
    }
    sum
}

/// For each array, whether a position in it moves.
struct Moving<'a> {
    counters: &'a BTreeSet<VariableId>,
    arrays: BTreeMap<ArrayId, bool>,
}

impl Moving<'_> {
    fn access(&mut self, array: ArrayId, index: &ElementIndex) {
        let moves = index.terms.iter().any(|(variable, _)| !self.counters.contains(variable));
        *self.arrays.entry(array).or_default() |= moves;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Store(array, index, _) => self.access(*array, index),
            Stmt::Renamed { of, .. } => of.iter().for_each(|array| _ = self.arrays.insert(*array, true)),
            Stmt::Comment(_) | Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Position(..) => {}
            Stmt::SetPosition(..) | Stmt::For { .. } | Stmt::Loop(_) | Stmt::If(..) | Stmt::Break => {}
            Stmt::Swap(_) => {}
        }
        stmt.expr(&mut |x| {
            x.walk(&mut |x| {
                if let Expression::Load(array, index) = x {
                    self.access(*array, index);
                }
            });
        });
    }
}
