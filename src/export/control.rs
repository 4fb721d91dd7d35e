//! Loops, conditionals and functions: `while` and `if` over private functions.
//!
//! A loop counts its trips, reads the rows of its sequences by `dynamic_slice` and writes the rows of its outputs by
//! `dynamic_update_slice`, in place. Captured values are carried unchanged. A checkpointed function, which reverse mode
//! runs again, takes its arguments through `optimization_barrier`, so that XLA does not merge the two executions and
//! keep the intermediate values.

use super::Unsupported;
use super::lower::Lower;
use super::rules::{self, rule};
use super::text::{HloValue, Region, Ty, list, names, types};
use crate::program::{Custom, CustomKind, Loop, NodeId, Program, Slot};
use crate::shape::Shape;

/// Shapes and element types of the results of a program.
fn outputs(program: &Program) -> Vec<(Shape, Ty)> {
    program.outputs().iter().map(|slot| (slot.shape.clone(), Ty::of(slot.dtype))).collect()
}

impl Region {
    /// Calls a function of the module.
    fn call(&mut self, name: &str, args: &[HloValue], program: &Program) -> Vec<HloValue> {
        let fits = |(slot, v): (&Slot, &HloValue)| slot.shape == v.shape && Ty::of(slot.dtype) == v.ty;
        let fits = args.len() == program.inputs().len() && program.inputs().iter().zip(args).all(fits);
        debug_assert!(
            fits,
            "a fault of the exporter: the function `{name}` does not take operands of the types {}",
            types(args)
        );
        let kinds = outputs(program);
        let call = format!("@{name}({}) : ({}) -> ", names(args), types(args));
        if kinds.is_empty() {
            self.line(&format!("func.call {call}()"));
            return Vec::new();
        }
        self.results(&format!("func.call {call}{}", super::hlo::result_types(&kinds)), &kinds)
    }

    /// A loop of `n` trips over a state; the body gets the number of the trip and the state before it.
    pub(super) fn trips(
        &mut self,
        n: usize,
        mut start: Vec<HloValue>,
        step: impl FnOnce(&mut Region, &HloValue, &[HloValue]) -> Vec<HloValue>,
    ) -> Vec<HloValue> {
        start.insert(0, self.integer(0, &[]));
        let mut state = self.repeat(
            &start,
            |code, state| {
                let end = code.integer(n as i64, &[]);
                code.compare("LT", &state[0], &end)
            },
            |code, state| {
                let mut next = step(code, &state[0], &state[1..]);
                let one = code.integer(1, &[]);
                next.insert(0, code.binary("add", &state[0], &one));
                next
            },
        );
        state.split_off(1)
    }

    /// A loop over a state with these initial values: `cond` gives a mask of rank 0, `step` the next state.
    pub(super) fn repeat(
        &mut self,
        start: &[HloValue],
        cond: impl FnOnce(&mut Region, &[HloValue]) -> HloValue,
        step: impl FnOnce(&mut Region, &[HloValue]) -> Vec<HloValue>,
    ) -> Vec<HloValue> {
        let state: Vec<HloValue> = start.iter().map(|v| self.argument(&v.shape, v.ty)).collect();
        let cond = self.region(|code| {
            let mask = cond(code, &state);
            rule!("while", [&mask], mask.ty == Ty::Bool && mask.shape.is_empty());
            code.give(&[&mask]);
        });
        let step = self.region(|code| {
            let next = step(code, &state);
            debug_assert_eq!(next.len(), state.len(), "export: the next state of `while` must have as many values");
            for (next, state) in next.iter().zip(&state) {
                rule!("while", [next, state], rules::alike(next, state));
            }
            code.give(&next.iter().collect::<Vec<&HloValue>>());
        });
        let indent = self.indent();
        let bound = list(state.iter().zip(start).map(|(state, start)| format!("{} = {}", state.name, start.name)));
        let text = format!(
            "stablehlo.while({bound}) : {}\n{indent}cond {{\n{cond}{indent}}} do {{\n{step}{indent}}}",
            types(start)
        );
        let kinds: Vec<(Shape, Ty)> = start.iter().map(|v| (v.shape.clone(), v.ty)).collect();
        self.results(&text, &kinds)
    }

    /// Row `at` of a sequence.
    fn row_at(&mut self, x: &HloValue, at: &HloValue) -> HloValue {
        let mut sizes = x.shape.clone();
        sizes[0] = 1;
        let starts = self.starts_at(x, at);
        let row = self.dynamic_slice(x, &starts, &sizes);
        self.reshape(&row, &x.shape[1..])
    }

    /// The sequence with row `at` replaced.
    fn with_row(&mut self, x: &HloValue, row: &HloValue, at: &HloValue) -> HloValue {
        let mut sizes = x.shape.clone();
        sizes[0] = 1;
        let starts = self.starts_at(x, at);
        let row = self.reshape(row, &sizes);
        self.dynamic_update_slice(x, &row, &starts)
    }

    fn starts_at(&mut self, x: &HloValue, at: &HloValue) -> Vec<HloValue> {
        std::iter::once(at.clone()).chain(x.shape[1..].iter().map(|_| self.integer(0, &[]))).collect()
    }
}

impl Lower<'_> {
    /// A loop: its final carries, and its stacked outputs. `seen` says for each result of the body whether an operation
    /// sees the sign of its zeros.
    pub(super) fn map_accum(&mut self, l: &Loop<NodeId>, seen: &[bool]) -> Result<Vec<HloValue>, Unsupported> {
        let facts = self.facts_inside(l);
        let (n, carried, sequences) = (l.n, l.init.len(), l.xs.len());
        let mut start = self.all(&l.init);
        let kinds = outputs(&l.body);
        for (shape, ty) in &kinds[carried..] {
            let shape: Shape = std::iter::once(n).chain(shape.iter().copied()).collect();
            start.push(self.code.full(0.0, &shape, *ty));
        }
        let results = start.len();
        if n == 0 {
            return Ok(start);
        }
        let body = self.module.function(&l.body, &facts, seen, "body")?;
        start.extend(self.all(&l.xs));
        start.extend(self.all(&l.captured));
        let state = self.code.trips(n, start, |code, trip, rest| {
            let at = if l.reverse {
                let last = code.integer(n as i64 - 1, &[]);
                code.binary("subtract", &last, trip)
            } else {
                trip.clone()
            };
            let mut args = rest[..carried].to_vec();
            for x in &rest[results..results + sequences] {
                args.push(code.row_at(x, &at));
            }
            args.extend_from_slice(&rest[results + sequences..]);
            let mut next = code.call(&body, &args, &l.body);
            for k in carried..results {
                next[k] = code.with_row(&rest[k], &next[k], &at);
            }
            next.extend_from_slice(&rest[results..]);
            next
        });
        Ok(state[..results].to_vec())
    }

    /// A function with rules, a checkpointed one, or a repeated one.
    pub(super) fn custom(&mut self, c: &Custom, args: &[HloValue], seen: bool) -> Result<Vec<HloValue>, Unsupported> {
        if let Some(branches) = c.branches() {
            return self.cond(branches, args, seen);
        }
        // A repeated program gets its results as arguments, so a trip may see the signs of their zeros.
        let seen = vec![seen || c.is_while(); c.primal().outputs().len()];
        let name = self.module.function(c.primal(), &[], &seen, c.name())?;
        let most = match c.kind() {
            CustomKind::Checkpointed => {
                let args = self.behind_barrier(args);
                return Ok(self.code.call(&name, &args, c.primal()));
            }
            CustomKind::Rules { .. } | CustomKind::Solve(_) | CustomKind::Cond { .. } => {
                return Ok(self.code.call(&name, args, c.primal()));
            }
            CustomKind::While { most } => *most,
        };
        let carried = c.primal().outputs().len();
        let mut start = args.to_vec();
        start.push(self.code.integer(0, &[]));
        let state = self.code.repeat(
            &start,
            |code, state| {
                let Some(most) = most else { return state[0].clone() };
                let end = code.integer(i64::try_from(most).unwrap_or(i64::MAX), &[]);
                let left = code.compare("LT", &state[state.len() - 1], &end);
                code.binary("and", &state[0], &left)
            },
            |code, state| {
                let (trip, args) = (&state[state.len() - 1], &state[..state.len() - 1]);
                let mut next = code.call(&name, args, c.primal());
                next.extend_from_slice(&args[carried..]);
                let one = code.integer(1, &[]);
                next.push(code.binary("add", trip, &one));
                next
            },
        );
        Ok(state[..carried].to_vec())
    }

    /// A conditional: `if`, whose regions call the branches.
    fn cond(&mut self, branches: [&Program; 2], args: &[HloValue], seen: bool) -> Result<Vec<HloValue>, Unsupported> {
        let kinds = outputs(branches[0]);
        let seen = vec![seen; kinds.len()];
        let mut names = Vec::new();
        for (program, name) in branches.into_iter().zip(["then", "otherwise"]) {
            names.push(self.module.function(program, &[], &seen, name)?);
        }
        let (mask, args) = (&args[0], &args[1..]);
        rule!("if", [mask], mask.ty == Ty::Bool && mask.shape.is_empty());
        let [then, otherwise] = [0, 1].map(|k| {
            self.code.region(|code| {
                let results = code.call(&names[k], args, branches[k]);
                code.give(&results.iter().collect::<Vec<&HloValue>>());
            })
        });
        let indent = self.code.indent();
        let text = format!(
            "\"stablehlo.if\"({}) ({{\n{then}{indent}}}, {{\n{otherwise}{indent}}}) : (tensor<i1>) -> {}",
            mask.name,
            super::hlo::result_types(&kinds)
        );
        Ok(self.code.results(&text, &kinds))
    }

    fn behind_barrier(&mut self, args: &[HloValue]) -> Vec<HloValue> {
        if args.is_empty() {
            return Vec::new();
        }
        let kinds: Vec<(Shape, Ty)> = args.iter().map(|v| (v.shape.clone(), v.ty)).collect();
        self.code.results(&format!("stablehlo.optimization_barrier {} : {}", names(args), types(args)), &kinds)
    }
}
