//! Simpler trees: numbers instead of constant elements, and declarations where values are known.
//!
//! Law: the function computes the same bits.

use std::collections::{BTreeMap, BTreeSet};

use super::steps::number_at;
use super::tree::{ArrayId, ArrayInfo, ArrayKind, EmittedFunction, Expression, Stmt, VariableId};

/// The most bytes of an array that is a variable of the function, and of all of these together.
const STACK_ARRAY: usize = 256;
const STACK: usize = 2048;

/// Simplifies a function.
pub(crate) fn simplify(function: &mut EmittedFunction) {
    let mut body = std::mem::take(&mut function.body);
    constants(&mut body, function);
    let mut needed = Needed::of(&body, function);
    while remove_dead(&mut body, &needed) {
        needed = Needed::of(&body, function);
    }
    declarations(&mut body);
    let mut changed = BTreeSet::new();
    body.iter().for_each(|stmt| {
        stmt.walk(&mut |stmt| {
            if let Stmt::Set(variable, _) = stmt {
                changed.insert(*variable);
            }
        })
    });
    keep(&mut body, &changed);
    copies(&mut body, &changed, &mut BTreeMap::new());
    let mut uses = BTreeMap::new();
    body.iter()
        .for_each(|stmt| stmt.walk(&mut |stmt| reads(stmt, &mut |variable| *uses.entry(variable).or_default() += 1)));
    join(&mut body, &uses);
    comments(&mut body);
    function.body = body;
    stack(function);
}

/// Replaces elements of constant arrays at known positions by numbers.
fn constants(body: &mut [Stmt], function: &EmittedFunction) {
    let known = |array: ArrayId, at: i64| match &function.arrays[array as usize].kind {
        ArrayKind::Constant(array) => Some(number_at(array, at as usize)),
        ArrayKind::Input(_) | ArrayKind::Output(_) | ArrayKind::Stack | ArrayKind::Scratch | ArrayKind::Name => None,
    };
    for stmt in body {
        if let Some(value) = stmt.expr_mut() {
            let old = std::mem::replace(value, Expression::All(Vec::new()));
            *value = old.map(&mut |part| {
                let Expression::Load(array, index) = &part else { return part };
                index.known().and_then(|at| known(*array, at)).map_or(part, Expression::Literal)
            });
        }
        stmt.blocks_mut().into_iter().for_each(|block| constants(block, function));
    }
}

/// The needs of the statements of a function.
struct Needed {
    variables: BTreeSet<VariableId>,
    /// Arrays that are read, or belong to the caller.
    arrays: BTreeSet<ArrayId>,
}

impl Needed {
    fn of(body: &[Stmt], function: &EmittedFunction) -> Needed {
        let own = |info: &ArrayInfo| matches!(info.kind, ArrayKind::Stack | ArrayKind::Scratch);
        let arrays = (0..).zip(&function.arrays).filter(|(_, info)| !own(info)).map(|(id, _)| id).collect();
        let mut needed = Needed { variables: BTreeSet::new(), arrays };
        for stmt in body {
            stmt.walk(&mut |stmt| {
                stmt.indices(&mut |index| needed.variables.extend(index.terms.iter().map(|term| term.0)));
                if let Stmt::Renamed { of, .. } = stmt {
                    needed.arrays.extend(of);
                }
                stmt.expr(&mut |value| {
                    value.walk(&mut |part| match part {
                        Expression::Variable(variable) => _ = needed.variables.insert(*variable),
                        Expression::Load(array, _) => _ = needed.arrays.insert(*array),
                        Expression::Literal(_)
                        | Expression::Op(..)
                        | Expression::Position(_)
                        | Expression::AtMost(..)
                        | Expression::Below(..) => {}
                        Expression::IsIndex(..) | Expression::All(_) | Expression::If(_) => {}
                    });
                });
            });
        }
        needed
    }
}

/// Removes statements whose results nothing needs; returns whether there were some.
fn remove_dead(body: &mut Vec<Stmt>, needed: &Needed) -> bool {
    let before = body.len();
    let mut changed = false;
    for stmt in body.iter_mut() {
        stmt.blocks_mut().into_iter().for_each(|block| changed |= remove_dead(block, needed));
    }
    body.retain(|stmt| match stmt {
        Stmt::Let(variable, _) | Stmt::Var(variable, _) | Stmt::Set(variable, _) => needed.variables.contains(variable),
        Stmt::Position(variable, _) | Stmt::SetPosition(variable, _) => needed.variables.contains(variable),
        Stmt::Store(array, ..) => needed.arrays.contains(array),
        Stmt::For { body, .. } | Stmt::Renamed { body, .. } => {
            body.iter().any(|stmt| !matches!(stmt, Stmt::Comment(_)))
        }
        Stmt::If(_, then, otherwise) => !(then.is_empty() && otherwise.is_empty()),
        Stmt::Loop(_) | Stmt::Comment(_) | Stmt::Break | Stmt::Swap(_) => true,
    });
    changed || body.len() < before
}

/// The variables that the expression of a statement reads; not those of its blocks.
fn reads(stmt: &Stmt, f: &mut dyn FnMut(VariableId)) {
    stmt.expr(&mut |value| {
        value.walk(&mut |part| {
            if let Expression::Variable(variable) = part {
                f(*variable);
            }
        });
    });
}

/// The variables that a statement mentions, with those of its blocks.
fn mentions(stmt: &Stmt, f: &mut dyn FnMut(VariableId)) {
    stmt.walk(&mut |stmt| {
        if let Stmt::Set(variable, _) | Stmt::Var(variable, _) | Stmt::Let(variable, _) = stmt {
            f(*variable);
        }
        reads(stmt, f);
    });
}

/// Moves the declaration of a variable to the statement that first sets it.
fn declarations(body: &mut Vec<Stmt>) {
    // The statements that declare variables not mentioned since.
    let mut open: BTreeMap<VariableId, usize> = BTreeMap::new();
    let mut dead: BTreeSet<usize> = BTreeSet::new();
    for (at, stmt) in body.iter_mut().enumerate() {
        if let Stmt::Var(variable, value) = stmt {
            if let Expression::Literal(_) = value {
                open.insert(*variable, at);
            }
            continue;
        }
        let mut set = None;
        if let Stmt::Set(variable, value) = stmt {
            let mut own = false;
            value.walk(&mut |part| own |= matches!(part, Expression::Variable(other) if other == variable));
            set = Some(*variable).filter(|_| !own);
        }
        if let Some(declared) = set.and_then(|variable| open.remove(&variable)) {
            dead.insert(declared);
            if let Stmt::Set(variable, value) = std::mem::replace(stmt, Stmt::Break) {
                *stmt = Stmt::Var(variable, value);
            }
        }
        mentions(stmt, &mut |variable| _ = open.remove(&variable));
    }
    let mut at = 0;
    body.retain(|_| {
        at += 1;
        !dead.contains(&(at - 1))
    });
    body.iter_mut().for_each(|stmt| stmt.blocks_mut().into_iter().for_each(declarations));
}

/// Declares variables that never change as constants.
fn keep(body: &mut [Stmt], changed: &BTreeSet<VariableId>) {
    for stmt in body {
        if let Stmt::Var(variable, value) = stmt
            && !changed.contains(variable)
        {
            let value = std::mem::replace(value, Expression::All(Vec::new()));
            *stmt = Stmt::Let(*variable, value);
        }
        stmt.blocks_mut().into_iter().for_each(|block| keep(block, changed));
    }
}

/// Removes variables that are copies of others that do not change.
fn copies(body: &mut Vec<Stmt>, changed: &BTreeSet<VariableId>, known: &mut BTreeMap<VariableId, VariableId>) {
    body.retain_mut(|stmt| {
        if let Some(value) = stmt.expr_mut() {
            let old = std::mem::replace(value, Expression::All(Vec::new()));
            *value = old.map(&mut |part| {
                let Expression::Variable(variable) = part else { return part };
                Expression::Variable(known.get(&variable).copied().unwrap_or(variable))
            });
        }
        if let Stmt::Let(variable, Expression::Variable(of)) = stmt
            && !changed.contains(of)
        {
            known.insert(*variable, *of);
            return false;
        }
        stmt.blocks_mut().into_iter().for_each(|block| copies(block, changed, known));
        true
    });
}

/// Sets or stores a value in the statement that computes it, if that comes before and nothing else uses the value.
fn join(body: &mut Vec<Stmt>, uses: &BTreeMap<VariableId, usize>) {
    let mut dead = vec![false; body.len()];
    // The last statement that is not a comment.
    let mut last: Option<usize> = None;
    for at in 0..body.len() {
        if let Stmt::Comment(_) = body[at] {
            continue;
        }
        let (before, here) = body.split_at_mut(at);
        let computed = last.and_then(|last| {
            let Stmt::Let(variable, value) = &mut before[last] else { return None };
            (uses.get(variable) == Some(&1)).then_some((last, *variable, value))
        });
        if let (Some((place, variable, value)), Stmt::Set(_, used) | Stmt::Store(_, _, used)) = (computed, &mut here[0])
            && matches!(used, Expression::Variable(of) if *of == variable)
        {
            *used = std::mem::replace(value, Expression::All(Vec::new()));
            dead[place] = true;
        }
        last = Some(at);
        here[0].blocks_mut().into_iter().for_each(|block| join(block, uses));
    }
    let mut dead = dead.into_iter();
    body.retain(|_| !dead.next().unwrap_or_default());
}

/// Removes comments that no statement follows.
fn comments(body: &mut Vec<Stmt>) {
    let says = |stmt: Option<&Stmt>| stmt.is_none_or(|stmt| matches!(stmt, Stmt::Comment(_)));
    let empty: Vec<bool> =
        (0..body.len()).map(|at| matches!(body[at], Stmt::Comment(_)) && says(body.get(at + 1))).collect();
    let mut empty = empty.into_iter();
    body.retain(|_| !empty.next().unwrap_or_default());
    body.iter_mut().for_each(|stmt| stmt.blocks_mut().into_iter().for_each(comments));
}

/// The arrays that statements mention.
pub(crate) fn mentioned(body: &[Stmt]) -> BTreeSet<ArrayId> {
    let mut found = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |stmt| {
            if let Stmt::Store(array, ..) = stmt {
                found.insert(*array);
            }
            if let Stmt::Renamed { of, .. } = stmt {
                found.extend(of);
            }
            stmt.expr(&mut |value| {
                value.walk(&mut |part| {
                    if let Expression::Load(array, _) = part {
                        found.insert(*array);
                    }
                });
            });
        });
    }
    found
}

/// Makes small arrays of the scratch variables of the function, the smallest first.
fn stack(function: &mut EmittedFunction) {
    let used = mentioned(&function.body);
    let bytes = |array: &ArrayId| {
        let info = &function.arrays[*array as usize];
        info.len.saturating_mul(info.dtype.width())
    };
    let scratch = |array: &ArrayId| matches!(function.arrays[*array as usize].kind, ArrayKind::Scratch);
    let mut small: Vec<(usize, ArrayId)> =
        used.iter().filter(|a| scratch(a)).map(|a| (bytes(a), *a)).filter(|(b, _)| *b <= STACK_ARRAY).collect();
    small.sort_unstable();
    let mut total = 0;
    for (bytes, array) in small {
        total += bytes;
        if total > STACK {
            break;
        }
        function.arrays[array as usize].kind = ArrayKind::Stack;
    }
}
