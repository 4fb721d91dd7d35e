//! Loops whose iterations stand side by side: unroll and jam.
//!
//! ```text
//! for i in 0..4 { let a = x[i]; y[i] = f(a) }  ->  let a0 = x[0]; .. let a3 = x[3]; y[0] = f(a0); .. y[3] = f(a3)
//! ```
//!
//! Statements of one form become neighbours, which `packs` makes vectors. A short loop is written out; a longer one
//! runs over parts of as many iterations as a vector needs, and the rest is written out. Loops in the body stay: their
//! bodies are jammed. (Callahan, Cocke and Kennedy, "Estimating interlock and improving balance for pipelined
//! architectures", 1988.)
//!
//! Law: each iteration computes what it did, in its order, and no iteration reads or writes an element that another one
//! writes; a variable that iterations hand on is in one statement, whose copies keep their order.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::packs::run;
use super::weight;
use crate::backend::trees::tree::{
    ArrayId, ElementIndex, EmittedFunction, Expression, Literal, Stmt, Variable, VariableId,
};
use crate::cost::MACHINE;

/// The elements of a pack that is worth a longer body.
const PACK: usize = 8;

/// Jams the loops of a function.
pub(super) fn jam(function: &mut EmittedFunction) {
    let body = std::mem::take(&mut function.body);
    function.body = Jam { variables: &mut function.variables, ranges: &mut function.ranges }.block(body);
}

struct Jam<'f> {
    variables: &'f mut Vec<Variable>,
    ranges: &'f mut BTreeMap<VariableId, (i64, i64)>,
}

/// A loop with known bounds.
struct KnownLoop {
    counter: VariableId,
    from: i64,
    trips: i64,
    down: bool,
    body: Vec<Stmt>,
}

/// What an iteration has in place of the variables of a loop.
struct Iteration {
    counter: VariableId,
    /// The position of the iteration.
    at: ElementIndex,
    renamed: BTreeMap<VariableId, VariableId>,
}

impl Jam<'_> {
    fn block(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut made = Vec::with_capacity(body.len());
        for stmt in body {
            match stmt {
                Stmt::For { counter, from, to, down, body } => {
                    let body = self.block(body);
                    match (from.known(), to.known()) {
                        (Some(first), Some(end)) if first < end => {
                            let known = KnownLoop { counter, from: first, trips: end - first, down, body };
                            made.extend(self.jammed(&known).unwrap_or_else(|| vec![known.stmt()]));
                        }
                        _ => made.push(Stmt::For { counter, from, to, down, body }),
                    }
                }
                Stmt::Loop(body) => made.push(Stmt::Loop(self.block(body))),
                Stmt::If(condition, then, otherwise) => {
                    let (then, otherwise) = (self.block(then), self.block(otherwise));
                    made.push(Stmt::If(condition, then, otherwise));
                }
                Stmt::Renamed { names, of, body } => made.push(Stmt::Renamed { names, of, body: self.block(body) }),
                Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Position(..) | Stmt::SetPosition(..) => {
                    made.push(stmt);
                }
                Stmt::Store(..) | Stmt::Comment(_) | Stmt::Break | Stmt::Swap(_) => made.push(stmt),
            }
        }
        made
    }

    /// The loop, jammed if that is allowed and short.
    fn jammed(&mut self, l: &KnownLoop) -> Option<Vec<Stmt>> {
        let parts = self.parts(l)?;
        let (rounds, rest) = (l.trips / parts, l.trips % parts);
        let constant = |first: i64, n: i64| (0..n).map(|k| ElementIndex::constant(l.from + first + k)).collect();
        let mut made = Vec::new();
        if rounds == 1 {
            made.push(self.side_by_side(l, constant(0, parts))?);
        } else {
            let counter = self.variable(Variable::Counter(match self.variables[l.counter as usize] {
                Variable::Counter(depth) => depth,
                Variable::Value(_) | Variable::Position => 0,
            }));
            self.ranges.insert(counter, (0, rounds - 1));
            let at = |k: i64| ElementIndex::of(counter).times(parts).plus_constant(l.from + k);
            let body = self.side_by_side(l, (0..parts).map(at).collect())?;
            let [from, to] = [0, rounds].map(ElementIndex::constant);
            made.push(vec![Stmt::For { counter, from, to, down: l.down, body }]);
        }
        if rest > 0 {
            made.push(self.side_by_side(l, constant(rounds * parts, rest))?);
        }
        if l.down {
            made.reverse();
        }
        Some(made.concat())
    }

    /// The number of iterations that stand side by side; `None` if the loop stays as it is.
    fn parts(&self, l: &KnownLoop) -> Option<i64> {
        let independent = Dependences::of(&l.body, l.counter, self.ranges)?;
        if l.trips < 2 || !independent {
            return None;
        }
        let (weight, mut lanes, mut rest) = (weight(&l.body), 1, &l.body[..]);
        while !rest.is_empty() {
            let (first, after) = rest.split_at(run(rest));
            lanes = lanes.max(first.len());
            rest = after;
        }
        let fits = |n: i64| usize::try_from(n).is_ok_and(|n| n * weight <= MACHINE.native_jammed);
        if lanes >= PACK {
            return None;
        }
        if l.trips as usize * lanes <= 2 * PACK && fits(l.trips) {
            return Some(l.trips);
        }
        // With as many lanes as divide a pack, fewer iterations fill it.
        let parts = (PACK >> lanes.trailing_zeros().min(PACK.trailing_zeros())) as i64;
        (parts <= l.trips && fits(parts)).then_some(parts)
    }

    /// The iterations at these positions, side by side.
    fn side_by_side(&mut self, l: &KnownLoop, at: Vec<ElementIndex>) -> Option<Vec<Stmt>> {
        let iteration = |at| Iteration { counter: l.counter, at, renamed: BTreeMap::new() };
        let mut iterations: Vec<Iteration> = at.into_iter().map(iteration).collect();
        let declared = declared(&l.body);
        self.copies(&l.body, &mut iterations, (&declared, l.down))
    }

    fn copies(
        &mut self,
        body: &[Stmt],
        iterations: &mut [Iteration],
        (declared, down): (&BTreeSet<VariableId>, bool),
    ) -> Option<Vec<Stmt>> {
        let (mut made, mut rest) = (Vec::new(), body);
        while !rest.is_empty() {
            let (group, after) = rest.split_at(run(rest));
            rest = after;
            match &group[0] {
                Stmt::For { counter, from, to, down: inner, body } => {
                    let body = self.copies(body, iterations, (declared, down))?;
                    let (counter, from, to) = (*counter, from.clone(), to.clone());
                    made.push(Stmt::For { counter, from, to, down: *inner, body });
                }
                Stmt::Comment(_) => made.push(group[0].clone()),
                Stmt::Set(variable, _) if !declared.contains(variable) && down => {
                    let copies = iterations.iter().rev().flat_map(|of| group.iter().map(|stmt| of.stmt(stmt)));
                    made.extend(copies.collect::<Option<Vec<Stmt>>>()?);
                }
                Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) => {
                    // A number between the variables of groups ends a run.
                    self.variables.push(Variable::Position);
                    for iteration in iterations.iter_mut() {
                        for stmt in group {
                            if let Stmt::Let(variable, _) | Stmt::Var(variable, _) = stmt {
                                let info = self.variables[*variable as usize].clone();
                                iteration.renamed.insert(*variable, self.variable(info));
                            }
                            made.push(iteration.stmt(stmt)?);
                        }
                    }
                }
                Stmt::Position(..) | Stmt::SetPosition(..) | Stmt::Loop(_) | Stmt::If(..) | Stmt::Break => return None,
                Stmt::Renamed { .. } | Stmt::Swap(_) => return None,
            }
        }
        Some(made)
    }

    fn variable(&mut self, info: Variable) -> VariableId {
        self.variables.push(info);
        (self.variables.len() - 1) as VariableId
    }
}

impl KnownLoop {
    fn stmt(self) -> Stmt {
        let [from, to] = [self.from, self.from + self.trips].map(ElementIndex::constant);
        Stmt::For { counter: self.counter, from, to, down: self.down, body: self.body }
    }
}

/// The variables that statements declare.
fn declared(body: &[Stmt]) -> BTreeSet<VariableId> {
    let mut declared = BTreeSet::new();
    body.iter().for_each(|stmt| {
        stmt.walk(&mut |stmt| {
            if let Stmt::Let(variable, _) | Stmt::Var(variable, _) | Stmt::For { counter: variable, .. } = stmt {
                declared.insert(*variable);
            }
        });
    });
    declared
}

/// What iterations of a loop share.
struct Dependences<'r> {
    ranges: &'r BTreeMap<VariableId, (i64, i64)>,
    counter: VariableId,
    inner: BTreeSet<VariableId>,
    /// For each array: whether it is written, and the positions.
    accesses: BTreeMap<ArrayId, (bool, Vec<ElementIndex>)>,
}

impl Dependences<'_> {
    /// Whether iterations are independent, but for variables that are handed on in one statement; `None` if the body
    /// has statements that are not copied.
    fn of(body: &[Stmt], counter: VariableId, ranges: &BTreeMap<VariableId, (i64, i64)>) -> Option<bool> {
        let inner = declared(body);
        let mut all = Dependences { ranges, counter, inner, accesses: BTreeMap::new() };
        let (mut known, mut nested) = (true, false);
        let mut set: BTreeMap<VariableId, usize> = BTreeMap::new();
        let mut mentioned: BTreeMap<VariableId, usize> = BTreeMap::new();
        body.iter().for_each(|stmt| {
            stmt.walk(&mut |stmt| {
                all.stmt(stmt);
                let mut here = BTreeSet::new();
                stmt.expr(&mut |x| {
                    x.walk(&mut |x| {
                        if let Expression::Variable(variable) = x {
                            here.insert(*variable);
                        }
                    });
                });
                match stmt {
                    Stmt::Let(..) | Stmt::Var(..) | Stmt::Store(..) | Stmt::Comment(_) => {}
                    Stmt::Set(variable, _) => {
                        here.insert(*variable);
                        *set.entry(*variable).or_default() += 1;
                    }
                    Stmt::For { from, to, .. } => {
                        nested = true;
                        known &= from.known().is_some() && to.known().is_some();
                    }
                    Stmt::Position(..) | Stmt::SetPosition(..) | Stmt::Loop(_) | Stmt::If(..) | Stmt::Break => {
                        known = false;
                    }
                    Stmt::Renamed { .. } | Stmt::Swap(_) => known = false,
                }
                here.iter().for_each(|variable| *mentioned.entry(*variable).or_default() += 1);
            });
        });
        let handed_on: Vec<VariableId> = set.keys().copied().filter(|of| !all.inner.contains(of)).collect();
        let in_order = handed_on.iter().all(|of| !nested && set[of] == 1 && mentioned[of] == 1);
        known.then(|| in_order && all.accesses.values().all(|(written, at)| !written || all.apart(at)))
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let mut access = |array: ArrayId, at: &ElementIndex, writes: bool| {
            let entry = self.accesses.entry(array).or_default();
            entry.0 |= writes;
            entry.1.push(at.clone());
        };
        if let Stmt::Store(array, at, _) = stmt {
            access(*array, at, true);
        }
        stmt.expr(&mut |x| {
            x.walk(&mut |x| {
                if let Expression::Load(array, at) = x {
                    access(*array, at, false);
                }
            });
        });
    }

    /// Whether the positions of one iteration are those of no other one.
    fn apart(&self, at: &[ElementIndex]) -> bool {
        let factor =
            |index: &ElementIndex| index.terms.iter().find(|term| term.0 == self.counter).map_or(0, |term| term.1);
        let step = factor(&at[0]);
        let outer = |index: &ElementIndex| {
            let mut terms: SmallVec<[(VariableId, i64); 4]> = index.terms.clone();
            terms.retain(|term| term.0 != self.counter && !self.inner.contains(&term.0));
            terms.sort_unstable();
            terms
        };
        let own = |index: &ElementIndex| {
            let mut own = index.clone();
            own.terms.retain(|term| self.inner.contains(&term.0));
            own.reach(self.ranges)
        };
        let mut window: Option<(i64, i64)> = None;
        for index in at {
            let Some((least, most)) = own(index) else { return false };
            if factor(index) != step || outer(index) != outer(&at[0]) {
                return false;
            }
            window = Some(window.map_or((least, most), |(a, b)| (a.min(least), b.max(most))));
        }
        window.is_some_and(|(least, most)| most.checked_sub(least).is_some_and(|width| width < step.abs()))
    }
}

impl Iteration {
    fn index(&self, index: &ElementIndex) -> ElementIndex {
        let Some((_, factor)) = index.terms.iter().find(|term| term.0 == self.counter) else { return index.clone() };
        let mut rest = index.clone();
        rest.terms.retain(|term| term.0 != self.counter);
        rest.plus(&self.at.clone().times(*factor))
    }

    fn renamed(&self, variable: VariableId) -> VariableId {
        self.renamed.get(&variable).copied().unwrap_or(variable)
    }

    /// A copy of a statement that has no blocks; `None` for one that is not copied.
    fn stmt(&self, stmt: &Stmt) -> Option<Stmt> {
        Some(match stmt {
            Stmt::Let(variable, value) => Stmt::Let(self.renamed(*variable), self.expr(value)),
            Stmt::Var(variable, value) => Stmt::Var(self.renamed(*variable), self.expr(value)),
            Stmt::Set(variable, value) => Stmt::Set(self.renamed(*variable), self.expr(value)),
            Stmt::Store(array, at, value) => Stmt::Store(*array, self.index(at), self.expr(value)),
            Stmt::Comment(_) | Stmt::For { .. } | Stmt::Position(..) | Stmt::SetPosition(..) | Stmt::Loop(_) => {
                return None;
            }
            Stmt::If(..) | Stmt::Break | Stmt::Renamed { .. } | Stmt::Swap(_) => return None,
        })
    }

    fn expr(&self, x: &Expression) -> Expression {
        match x {
            Expression::Literal(_) => x.clone(),
            Expression::Variable(variable) => Expression::Variable(self.renamed(*variable)),
            Expression::Load(array, at) => Expression::Load(*array, self.index(at)),
            Expression::Op(op, dtype) => Expression::op(op.by_ref().map(|of| self.expr(of)), *dtype),
            Expression::Position(at) => {
                let at = self.index(at);
                at.known().map_or(Expression::Position(at), |at| Expression::Literal(Literal::I64(at)))
            }
            Expression::AtMost(a, b) => self.compared(a, b, |a, b| a <= b, Expression::AtMost),
            Expression::Below(a, b) => self.compared(a, b, |a, b| a < b, Expression::Below),
            Expression::IsIndex(value, size) => Expression::IsIndex(Box::new(self.expr(value)), *size),
            Expression::All(all) => {
                let mut left = Vec::new();
                for x in all {
                    let x = self.expr(x);
                    if !matches!(x, Expression::Literal(Literal::Bool(true))) {
                        left.push(x);
                    }
                }
                match left.len() {
                    0 => Expression::Literal(Literal::Bool(true)),
                    1 => left.remove(0),
                    _ if matches!(left[0], Expression::Literal(Literal::Bool(false))) => left.remove(0),
                    _ => Expression::All(left),
                }
            }
            Expression::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.expr(condition);
                if let Expression::Literal(Literal::Bool(holds)) = condition {
                    return self.expr(if holds { then } else { otherwise });
                }
                Expression::If(Box::new([condition, self.expr(then), self.expr(otherwise)]))
            }
        }
    }

    fn compared(
        &self,
        a: &ElementIndex,
        b: &ElementIndex,
        holds: fn(i64, i64) -> bool,
        made: fn(ElementIndex, ElementIndex) -> Expression,
    ) -> Expression {
        let (a, b) = (self.index(a), self.index(b));
        match (a.known(), b.known()) {
            (Some(a), Some(b)) => Expression::Literal(Literal::Bool(holds(a, b))),
            _ => made(a, b),
        }
    }
}
