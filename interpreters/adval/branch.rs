//! Conditionals applied to dual numbers: the term keeps the residuals of the branch that ran.
//!
//! The primal conditional returns, after its results, the values of the branch that its derivative reads. These residuals
//! are arguments of two linear conditionals: one takes tangents to tangents, the other cotangents to cotangents. So a
//! derivative runs one branch, and no part of it twice. Both branches share the results for residuals of one kind; those
//! that a branch does not have are marked: a compiled program does not write them.
//!
//! Law: results and derivatives are those of the branch that the mask chooses. Where a mask is decided, that branch runs
//! at dual numbers itself.

use std::sync::Arc;

use super::custom::{Ruled, are_some, traced, zeros};
use super::delta::{Delta, Factor, fresh};
use super::pull::{Env, Residual, Update};
use super::push::TermTangents;
use super::{ADVal, factors, outputs, primals, terms};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::interpreters::guarded::{self, Care};
use crate::passes::optimize;
use crate::program::repeat::closed;
use crate::program::{Custom, Derivative, NodeId, Op, Program, Slot, Taking, Term, interpret, made};
use crate::shape::Shape;

/// A conditional applied to dual numbers, at least one with a term.
pub(super) fn apply<T: BaseTensor>(rule: &Arc<Custom>, branches: [&Program; 2], args: &[ADVal<T>]) -> Vec<ADVal<T>> {
    let to = terms(args);
    let kept = derived(rule, branches, Derivative::Residuals { moving: are_some(&to) }, &are_some(&to));
    let mut results = T::custom(&kept.rule, &primals(args));
    let slots = results.split_off(rule.primal().outputs().len());
    let mut takes = kept.takes.iter();
    let mut is_taken = || takes.next().is_some_and(|taken| *taken);
    let mut of = factors(args);
    of.retain(|_| is_taken());
    let residuals = results.iter().chain(&slots).filter(|_| is_taken());
    let residuals = residuals.map(|value| Factor { value: value.clone(), id: fresh() }).collect();
    outputs(results, Delta::Custom(Box::new(Ruled::new(rule.clone(), of, residuals, to))))
}

impl<F, R> Ruled<F, R> {
    /// The linear conditional for a derivative, and its inputs: residuals, then `given`.
    fn linear<T: BaseTensor>(
        &self,
        branches: [&Program; 2],
        which: Derivative,
        env: &Env<'_, T>,
        given: Vec<T>,
    ) -> Vec<T>
    where
        F: Residual<T>,
    {
        let rule = derived(self.rule(), branches, which, &are_some(self.to())).rule;
        let mut inputs = self.known(env);
        inputs.extend(given);
        T::custom(&rule, &inputs)
    }

    /// The cotangents of the arguments, by the transposed branch.
    pub(super) fn pull_branch<'d, T: BaseTensor>(
        &'d self,
        branches: [&Program; 2],
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        (care, emit): (Care, &mut dyn FnMut(&'d R, Update<T>)),
    ) where
        F: Residual<T>,
    {
        let slots = branches[0].outputs();
        cts.resize_with(slots.len(), || None);
        let of_floats = cts.into_iter().zip(slots).filter(|(_, slot)| slot.dtype.is_float());
        let given: Vec<T> = of_floats.map(|(ct, slot)| ct.unwrap_or_else(|| zeros(slot))).collect();
        let which = Derivative::Transposed { moving: are_some(self.to()), given: Vec::new() };
        let cotangents = self.linear(branches, which, env, given.clone());
        let cotangents = guarded::of_rule(&given, cotangents, care);
        for (to, ct) in self.to().iter().flatten().zip(cotangents) {
            emit(to, Update::Add(ct));
        }
    }

    /// The tangents of the results, by the linear part of the branch.
    pub(super) fn push_branch<T: BaseTensor>(
        &self,
        branches: [&Program; 2],
        env: &Env<'_, T>,
        care: Care,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> TermTangents<T>
    where
        F: Residual<T>,
    {
        let slots = branches[0].inputs();
        // The mask comes first, and has no tangent.
        let moving = self.tangents(of).into_iter().skip(1).zip(slots).zip(&self.to()[1..]);
        let given = moving.filter(|(_, to)| to.is_some()).map(|((dot, slot), _)| dot.unwrap_or_else(|| zeros(slot)));
        let given = given.collect();
        let which = Derivative::Pushed { moving: are_some(self.to()), steep: care == Care::Rows };
        let mut tangents = self.linear(branches, which, env, given).into_iter();
        let tangent = |slot: &Slot| if slot.dtype.is_float() { tangents.next() } else { None };
        branches[0].outputs().iter().map(tangent).collect()
    }
}

/// One of the derived functions of a conditional. That with residuals says which of its arguments and results the others
/// take.
fn derived(rule: &Custom, branches: [&Program; 2], which: Derivative, moving: &[bool]) -> Taking {
    rule.derived_with(which, || {
        let split = branches.map(|program| SplitBranch::of(program, &moving[1..]));
        let slots = shared_slots(&split);
        let made: [Vec<Program>; 2] = split.each_ref().map(|branch| branch.programs(&slots));
        let count = made[0][0].inputs().len();
        let known = count + made[0][0].outputs().len();
        let read = |k: usize| made.iter().any(|programs| programs[1..].iter().any(|p| p.uses()[k] > 0));
        let reads: Vec<bool> = (0..known).map(read).collect();
        // The linear parts take what is read, and tangents or cotangents.
        let read_or_given =
            |count: usize| (0..count).map(|k| reads.get(k).is_none_or(|reads| *reads)).collect::<Vec<_>>();
        let kept: Vec<bool> = std::iter::once(true).chain(reads.iter().copied()).collect();
        let marks = || moving.to_vec();
        let keys = [
            Derivative::Residuals { moving: marks() },
            Derivative::Transposed { moving: marks(), given: Vec::new() },
            Derivative::Pushed { moving: marks(), steep: false },
            Derivative::Pushed { moving: marks(), steep: true },
        ];
        let floats: Vec<bool> = branches[0].outputs().iter().map(|slot| slot.dtype.is_float()).collect();
        let taking = |(k, key): (usize, Derivative)| {
            let now = made.each_ref().map(|programs| match k {
                0 => programs[0].clone(),
                _ => programs[k].of_inputs(&read_or_given(programs[k].inputs().len())),
            });
            let mut absent = rule.absent().map(<[bool]>::to_vec);
            for (marks, branch) in absent.iter_mut().zip(&split) {
                match k {
                    0 => marks.extend(branch.absent(&slots)),
                    1 => *marks = vec![false; now[0].outputs().len()],
                    _ => *marks = marks.iter().zip(&floats).filter(|(_, float)| **float).map(|(m, _)| *m).collect(),
                }
            }
            let rule = Arc::new(Custom::chosen(rule.name(), now, absent));
            (key, Taking { rule, takes: kept.clone(), steep: false })
        };
        keys.into_iter().enumerate().map(taking).collect()
    })
}

/// Shape and element type of a residual.
type ResidualKind = (Shape, DType);

/// Where the linear part of a branch finds a value.
#[derive(Clone, Copy, Debug)]
enum ResidualSource {
    Argument(usize),
    Result(usize),
    /// A residual, by its number among those of the branch.
    Residual(usize),
    /// A value that depends on no argument, by its number in the primal program: it is computed again.
    Known(NodeId),
}

/// A linear part of a branch: a program from tangents or cotangents, then the values that it reads, to its results.
struct LinearPart {
    given: Vec<Slot>,
    program: Program,
    reads: Vec<ResidualSource>,
}

/// A branch as a primal program and its linear parts.
struct SplitBranch {
    /// From the arguments to the results, then all values that linear parts read.
    primal: Program,
    outputs: usize,
    /// The numbers and kinds of the residuals.
    residuals: Vec<(NodeId, ResidualKind)>,
    /// Cotangents to cotangents; tangents to tangents without and with care.
    linear: [LinearPart; 3],
}

impl SplitBranch {
    fn of(program: &Program, moving: &[bool]) -> SplitBranch {
        let (x, sweep, y) = traced(program, moving);
        let floats: Vec<ADVal<Term>> = y.iter().filter(|y| y.dtype().is_float()).cloned().collect();
        let y_bar = Term::variables_like(&floats);
        let moved: Vec<Term> = x.iter().zip(moving).filter(|(_, moves)| **moves).map(|(x, _)| x.clone()).collect();
        let x_dot = Term::variables_like(&moved);
        // The sweep has the moving arguments alone as inputs.
        let parts = [
            (&y_bar, sweep.pull(&floats, y_bar.clone())),
            (&x_dot, sweep.push_carefully(&floats, x_dot.clone(), Care::None)),
            (&x_dot, sweep.push_carefully(&floats, x_dot.clone(), Care::Rows)),
        ];
        let parts = parts.map(|(given, results)| (given, Term::body(given, &results, 0)));
        let y: Vec<Term> = y.into_iter().map(|y| y.primal).collect();
        let read = parts.iter().flat_map(|(_, (_, read))| read.iter().cloned());
        let primal = closed(&x, &y.iter().cloned().chain(read).collect::<Vec<Term>>());
        let mut split = SplitBranch { primal, outputs: y.len(), residuals: Vec::new(), linear: parts.map(empty) };
        split.find_sources();
        split
    }

    /// Sets what each linear part reads.
    fn find_sources(&mut self) {
        let nodes = self.primal.nodes();
        let mut moves = vec![false; nodes.len()];
        for (k, node) in nodes.iter().enumerate() {
            moves[k] = matches!(node.op, Op::Input(_));
            node.op.operands(&mut |a| moves[k] |= moves[*a as usize]);
        }
        let (results, read) = self.primal.results().split_at(self.outputs);
        let mut read = read.iter();
        for part in &mut self.linear {
            let count = part.program.inputs().len() - part.given.len();
            for id in read.by_ref().take(count) {
                let node = &nodes[*id as usize];
                part.reads.push(if let Op::Input(k) = node.op {
                    ResidualSource::Argument(k as usize)
                } else if !moves[*id as usize] {
                    ResidualSource::Known(*id)
                } else if let Some(k) = results.iter().position(|r| r == id) {
                    ResidualSource::Result(k)
                } else {
                    let known = self.residuals.iter().position(|(residual, _)| residual == id);
                    ResidualSource::Residual(known.unwrap_or_else(|| {
                        self.residuals.push((*id, (node.shape.clone(), node.dtype)));
                        self.residuals.len() - 1
                    }))
                });
            }
        }
    }

    /// The position among the shared slots of each residual: the next slot of its kind.
    fn positions(&self, slots: &[ResidualKind]) -> Vec<usize> {
        let mut free = vec![true; slots.len()];
        let mut position = |kind: &ResidualKind| {
            // There is a slot for each residual.
            let k = made((0..slots.len()).find(|k| free[*k] && slots[*k] == *kind));
            free[k] = false;
            k
        };
        self.residuals.iter().map(|(_, kind)| position(kind)).collect()
    }

    /// For each slot whether the branch has no residual there.
    fn absent(&self, slots: &[ResidualKind]) -> Vec<bool> {
        let mut absent = vec![true; slots.len()];
        self.positions(slots).into_iter().for_each(|k| absent[k] = false);
        absent
    }

    /// The program of results and residuals, and the linear parts, which take arguments, results and residuals first.
    fn programs(&self, slots: &[ResidualKind]) -> Vec<Program> {
        let positions = self.positions(slots);
        let zero = |(shape, dtype): &ResidualKind| Term::zeros(shape, *dtype);
        let x = Term::variables(self.primal.inputs());
        let ids: Vec<NodeId> = self.residuals.iter().map(|(id, _)| *id).collect();
        let all = [&self.primal.results()[..self.outputs], &ids].concat();
        let mut values = interpret(&self.primal.with_results(&all), x.clone());
        let residuals = values.split_off(self.outputs);
        let mut kept: Vec<Term> = slots.iter().map(zero).collect();
        residuals.into_iter().zip(&positions).for_each(|(value, k)| kept[*k] = value);
        let y = Term::variables(&self.primal.outputs()[..self.outputs]);
        let held: Vec<Term> = slots.iter().map(|(shape, dtype)| Term::variable(shape, *dtype)).collect();
        let mut programs = vec![optimize(&closed(&x, &[values, kept].concat()))];
        for part in &self.linear {
            let given = Term::variables(&part.given);
            let source = |source: &ResidualSource| match source {
                ResidualSource::Argument(k) => x[*k].clone(),
                ResidualSource::Result(k) => y[*k].clone(),
                ResidualSource::Residual(k) => held[positions[*k]].clone(),
                ResidualSource::Known(id) => interpret(&self.primal.with_results(&[*id]), x.clone()).swap_remove(0),
            };
            let inputs = given.iter().cloned().chain(part.reads.iter().map(source)).collect();
            let results = interpret(&part.program, inputs);
            programs.push(optimize(&closed(&[&x[..], &y, &held, &given].concat(), &results)));
        }
        programs
    }
}

/// A linear part before it is known what it reads.
fn empty((given, (program, _)): (&Vec<Term>, (Program, Vec<Term>))) -> LinearPart {
    let given = program.inputs()[..given.len()].to_vec();
    LinearPart { given, program, reads: Vec::new() }
}

/// The kinds of the residuals of both branches: as many of each kind as the branch with more of it has.
fn shared_slots(split: &[SplitBranch; 2]) -> Vec<ResidualKind> {
    let mut slots: Vec<ResidualKind> = split[0].residuals.iter().map(|(_, kind)| kind.clone()).collect();
    let mut free = vec![true; slots.len()];
    for (_, kind) in &split[1].residuals {
        match (0..free.len()).find(|k| free[*k] && slots[*k] == *kind) {
            Some(k) => free[k] = false,
            None => slots.push(kind.clone()),
        }
    }
    slots
}
