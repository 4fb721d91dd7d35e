//! Values that are used once are written where they are used.
//!
//! Law: a value is moved within its block alone, and not beyond a statement that changes what it reads.

use std::collections::{BTreeMap, BTreeSet};

use super::super::tree::{ArrayId, ElementIndex, Expression, Stmt, VariableId};

/// The most operations of a value that is written where it is used.
const SHORT: usize = 8;

/// What an expression reads.
#[derive(Default)]
struct StatementReads {
    variables: BTreeSet<VariableId>,
    arrays: BTreeSet<ArrayId>,
}

impl StatementReads {
    fn of(value: &Expression) -> StatementReads {
        let mut reads = StatementReads::default();
        let index = |index: &ElementIndex, reads: &mut StatementReads| {
            reads.variables.extend(index.terms.iter().map(|(variable, _)| *variable));
        };
        value.walk(&mut |part| match part {
            Expression::Variable(variable) => _ = reads.variables.insert(*variable),
            Expression::Load(array, at) => {
                reads.arrays.insert(*array);
                index(at, &mut reads);
            }
            Expression::Position(at) => index(at, &mut reads),
            Expression::AtMost(a, b) | Expression::Below(a, b) => {
                [a, b].map(|at| index(at, &mut reads)).into_iter().collect()
            }
            Expression::Literal(_) | Expression::Op(..) | Expression::IsIndex(..) => {}
            Expression::All(_) | Expression::If(_) => {}
        });
        reads
    }

    /// Whether a statement, with what is in its blocks, changes something that is read.
    fn change_by(&self, stmt: &Stmt) -> bool {
        let mut changes = false;
        stmt.walk(&mut |stmt| {
            changes |= match stmt {
                Stmt::Set(variable, _) | Stmt::SetPosition(variable, _) => self.variables.contains(variable),
                Stmt::Store(array, ..) => self.arrays.contains(array),
                Stmt::Renamed { .. } | Stmt::Swap(_) => true,
                Stmt::Comment(_) | Stmt::Let(..) | Stmt::Var(..) | Stmt::Position(..) => false,
                Stmt::For { .. } | Stmt::Loop(_) | Stmt::If(..) | Stmt::Break => false,
            };
        });
        changes
    }
}

/// Writes values that are used once where they are used, if that is in the block in which they are computed, and before
/// what they read changes.
pub(super) fn inline(body: &mut Vec<Stmt>) {
    let mut uses: BTreeMap<VariableId, usize> = BTreeMap::new();
    body.iter().for_each(|stmt| {
        stmt.walk(&mut |stmt| {
            stmt.expr(&mut |value| {
                value.walk(&mut |part| {
                    if let Expression::Variable(variable) = part {
                        *uses.entry(*variable).or_default() += 1;
                    }
                });
            });
        });
    });
    inline_block(body, &uses);
}

fn inline_block(body: &mut Vec<Stmt>, uses: &BTreeMap<VariableId, usize>) {
    let mut written: Vec<Option<Stmt>> = Vec::with_capacity(body.len());
    // Variables whose value may be written later, with their statements.
    let mut open: BTreeMap<VariableId, (usize, StatementReads)> = BTreeMap::new();
    for mut stmt in body.drain(..) {
        stmt.blocks_mut().into_iter().for_each(|block| inline_block(block, uses));
        if let Some(value) = stmt.expr_mut() {
            let old = std::mem::replace(value, Expression::All(Vec::new()));
            *value = old.map(&mut |part| {
                let Expression::Variable(variable) = part else { return part };
                let declared = open.remove(&variable).and_then(|(place, _)| written[place].take());
                let Some(Stmt::Let(_, value)) = declared else { return part };
                value
            });
        }
        open.retain(|_, (_, reads)| !reads.change_by(&stmt));
        if let Stmt::Let(variable, value) = &stmt
            && uses.get(variable).is_none_or(|uses| *uses == 1)
            && value.weight() <= SHORT
        {
            open.insert(*variable, (written.len(), StatementReads::of(value)));
        }
        written.push(Some(stmt));
    }
    body.extend(written.into_iter().flatten());
}
