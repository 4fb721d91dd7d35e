//! Lowering of programs to functions of a StableHLO module, one operation after the other.
//!
//! Law: a function returns the results of its program. Equal programs, with equal facts about their inputs and equal
//! use of the signs of zeros of their results, are one function. The matches are exhaustive: each operation is lowered,
//! or refused with an error.

use std::collections::{BTreeSet, HashMap};

use super::Unsupported;
use super::indexing::Index;
use super::text::{HloValue, Region, Ty, list, names, tensor, types};
use crate::escape;
use crate::ops::{Call, Linear};
use crate::program::{Builder, Node, NodeId, Op, Program, Results, Slot};
use crate::rewrite::facts::Fact;
use crate::rewrite::signs::{Seen, adds_up};

/// The functions of a module.
#[derive(Default)]
pub(super) struct ModuleText {
    functions: Vec<String>,
    /// A lookup table, never iterated over.
    known: HashMap<(Program, String, Vec<bool>), String>,
    taken: BTreeSet<String>,
}

/// The state of the lowering of one program to one function.
pub(super) struct Lower<'m> {
    pub(super) module: &'m mut ModuleText,
    pub(super) code: Region,
    values: Vec<Results<HloValue>>,
    /// A copy of the program with the inferred facts about its values.
    facts: Builder,
    numbers: Vec<Option<NodeId>>,
    /// The values for which an operation sees the sign of a zero.
    signs: Seen,
}

impl ModuleText {
    /// The text of a module whose public function `main` is the program.
    pub(super) fn text(mut self, program: &Program, name: &str) -> Result<String, Unsupported> {
        self.taken.insert("main".into());
        let left_out: String =
            program.taps().iter().map(|tap| format!("// left out: {}\n", escape::line(&tap.remark()))).collect();
        let program = &program.without_taps();
        let main = self.lowered(program, &[], &[], "func.func public @main")?;
        let words = |what: &str, slots: &[Slot]| {
            let names = list(slots.iter().filter(|slot| !slot.name.is_empty()).map(|slot| escape::name(&slot.name)));
            if names.is_empty() { names } else { format!("// {what}: {names}\n") }
        };
        let mut text = left_out + &words("inputs", program.inputs()) + &words("outputs", program.outputs());
        text.push_str(&format!("module @{} {{\n", identifier(name)));
        text.push_str(&main);
        self.functions.iter().for_each(|function| text.push_str(function));
        text.push_str("}\n");
        Ok(text)
    }

    /// The name of the private function of a program; `seen` says for each result whether the sign of its zeros is
    /// seen.
    pub(super) fn function(
        &mut self,
        program: &Program,
        facts: &[Option<Fact>],
        seen: &[bool],
        wanted: &str,
    ) -> Result<String, Unsupported> {
        let facts_in_words = if facts.iter().any(Option::is_some) { format!("{facts:?}") } else { String::new() };
        let key = (program.clone(), facts_in_words, seen.to_vec());
        if let Some(name) = self.known.get(&key) {
            return Ok(name.clone());
        }
        let base = identifier(wanted);
        let free = |k: &usize| !self.taken.contains(&format!("{base}_{k}"));
        let name = format!("{base}_{}", (0..).find(free).unwrap_or_default());
        self.taken.insert(name.clone());
        let text = self.lowered(program, facts, seen, &format!("func.func private @{name}"))?;
        self.functions.push(text);
        self.known.insert(key, name.clone());
        Ok(name)
    }

    fn lowered(
        &mut self,
        program: &Program,
        facts: &[Option<Fact>],
        seen: &[bool],
        head: &str,
    ) -> Result<String, Unsupported> {
        let mut code = Region::function();
        let inputs: Vec<HloValue> =
            program.inputs().iter().map(|slot| code.argument(&slot.shape, Ty::of(slot.dtype))).collect();
        let mut known = Builder::literal();
        let ids = known.inputs(program.inputs(), facts);
        let mut numbers: Vec<Option<NodeId>> = ids.into_iter().map(Some).collect();
        numbers.resize(program.nodes().len(), None);
        known.follow(program, &mut numbers);
        let values = Vec::with_capacity(program.nodes().len());
        let signs = Seen::of(program, seen);
        let mut lower = Lower { module: self, code, values, facts: known, numbers, signs };
        for (k, node) in program.nodes().iter().enumerate() {
            let place = program.place(k as NodeId);
            lower.code.at_place(&place);
            let made = lower.node(k, node, &inputs).map_err(|why| why.at(place))?;
            lower.values.push(made);
        }
        let results: Vec<HloValue> = program.results().iter().map(|id| lower.value(*id)).collect();
        let fits = |(slot, v): (&Slot, &HloValue)| slot.shape == v.shape && Ty::of(slot.dtype) == v.ty;
        debug_assert!(
            program.outputs().iter().zip(&results).all(fits),
            "a fault of the exporter: the results of {head} do not have the types {}",
            types(&results)
        );
        let mut code = lower.code;
        let give = match &results[..] {
            [] => "return".to_owned(),
            results => format!("return {} : {}", names(results), types(results)),
        };
        code.line(&give);
        let arguments = list(inputs.iter().map(|v| format!("{}: {}", v.name, v.tensor())));
        let given = list(program.outputs().iter().map(|slot| tensor(&slot.shape, Ty::of(slot.dtype))));
        Ok(format!("  {head}({arguments}) -> ({given}) {{\n{}  }}\n", code.finish()))
    }
}

/// A name in which all characters except letters, digits and underscores are replaced.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

impl Lower<'_> {
    pub(super) fn value(&self, id: NodeId) -> HloValue {
        self.values[id as usize].one().clone()
    }

    pub(super) fn all(&self, ids: &[NodeId]) -> Vec<HloValue> {
        ids.iter().map(|id| self.value(*id)).collect()
    }

    /// The facts about indices.
    fn known(&self, ix: &[NodeId]) -> Vec<Index> {
        let number = |id: &NodeId| self.numbers[*id as usize];
        let known = |id: &NodeId| {
            number(id).map_or(Index::UNKNOWN, |id| {
                let facts = self.facts.facts();
                Index { bounds: facts.bounds(id).unwrap_or(Index::UNKNOWN.bounds), counts: facts.counts(id) }
            })
        };
        ix.iter().map(known).collect()
    }

    /// The facts about the inputs of the body of a loop.
    pub(super) fn facts_inside(&self, l: &crate::program::Loop<NodeId>) -> Vec<Option<Fact>> {
        let mut facts = vec![None; l.init.len()];
        let fact = |id: &NodeId| self.numbers[*id as usize].and_then(|id| self.facts.facts().get(id));
        facts.extend(l.xs.iter().map(|id| fact(id).and_then(|fact| fact.of_rows())));
        facts.extend(l.captured.iter().map(fact));
        facts
    }

    fn node(&mut self, k: usize, node: &Node, inputs: &[HloValue]) -> Result<Results<HloValue>, Unsupported> {
        let seen = self.signs.values[k];
        let one = match &node.op {
            Op::Input(k) => inputs[*k as usize].clone(),
            Op::Constant(c) => self.code.constant(&c.0),
            Op::Unary(op, a) => {
                let a = self.value(*a);
                self.code.row(*op, &a)
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.value(*a), self.value(*b));
                self.code.row2(*op, &a, &b)
            }
            Op::Discrete(op, args) => {
                let args = self.all(args);
                self.code.discrete(op, &args)
            }
            Op::Select([mask, a, b]) => {
                let (mask, a, b) = (self.value(*mask), self.value(*a), self.value(*b));
                self.code.select(&mask, &a, &b)
            }
            Op::Linear(op, a) => {
                let a = self.value(*a);
                self.linear(op, &a, seen)
            }
            Op::Contract(op, a, b) => {
                let (a, b) = (self.value(*a), self.value(*b));
                self.code.contract(op, &a, &b, seen)
            }
            Op::Reduce(op, a) => {
                let a = self.value(*a);
                self.code.extremum(*op, &a)
            }
            Op::Gather(a, ix) => {
                let known = self.known(ix);
                let (a, ix) = (self.value(*a), self.all(ix));
                self.code.gather(&a, &ix, &known)
            }
            Op::ScatterAdd(a, ix, v) => {
                let known = self.known(ix);
                let (a, ix, v) = (self.value(*a), self.all(ix), self.value(*v));
                self.code.scatter_add(&a, &ix, &v, &known)
            }
            Op::Concat(axis, parts) => {
                let parts = self.all(parts);
                self.code.concat(*axis, &parts)
            }
            Op::Loop(l) => {
                let seen = self.signs.results.remove(&(k as NodeId)).unwrap_or_default();
                return self.map_accum(l, &seen).map(Results::Many);
            }
            Op::Call(Call::Matrix(op), args) => {
                let args = self.all(args);
                return Ok(Results::Many(self.code.matrix(*op, &args)));
            }
            // What is looked at is handed on.
            Op::Call(Call::Tap(tap), args) => return Ok(Results::Many(self.all(tap.passed(args)))),
            Op::Call(Call::External(external), _) => {
                return Err(Unsupported::External { name: external.name().to_owned(), at: None });
            }
            Op::Custom(c, args) => {
                let args = self.all(args);
                return self.custom(c, &args, seen).map(Results::Many);
            }
            Op::Output(a, position) => self.values[*a as usize].result(*position).clone(),
        };
        Ok(Results::One(one))
    }

    fn linear(&mut self, op: &Linear, a: &HloValue, seen: bool) -> HloValue {
        match op {
            Linear::Affine { from, into } => self.code.affine(a, from, into, seen && adds_up(op)),
            Linear::Reshape { into, .. } => self.code.reshape(a, into),
            Linear::Cast { into, .. } => self.code.convert(a, Ty::of(*into)),
            Linear::Fourier { parts, axis, conjugate, .. } => self.code.fourier(a, *parts, *axis, *conjugate),
            Linear::PrefixSum { axis, reverse, .. } => self.code.prefix_sum(a, *axis, *reverse),
        }
    }
}
