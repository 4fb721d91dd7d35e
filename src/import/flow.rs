//! What a region does with its arguments: which it hands on, which it counts up, which it writes row by row.
//!
//! Law: a statement about a result holds for every run. Each function is looked at once, before the functions that call
//! it, so this takes time in proportion to the module.

use super::module::{ModuleOperation, ModuleValueId, ParsedModule, RegionBlock};
use super::run::direction;
use super::types::Type;
use crate::ops::Compare;

/// An integer scalar `times * argument + plus`; with 1 and 0 the argument itself, of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    pub(super) argument: usize,
    pub(super) times: i64,
    pub(super) plus: i64,
    /// Whether this holds only where the number, as it was on the way, was not negative.
    pub(super) guarded: bool,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Other,
    Number(i64),
    Affine(Affine),
    /// Whether this number is negative.
    Negative(Affine),
    /// The argument with one row replaced, at this position of the first axis.
    Row {
        argument: usize,
        at: Affine,
    },
}

/// What is known of the results of a region, and which arguments it reads.
#[derive(Clone, Debug, Default)]
pub(super) struct BodySummary {
    pub(super) results: Vec<Flow>,
    /// For each argument, whether it is used otherwise than by handing it on, or by replacing a row.
    pub(super) reads: Vec<bool>,
}

/// The summaries of all functions, given an order in which callees come first.
pub(super) fn summaries(module: &ParsedModule, order: &[usize]) -> Vec<BodySummary> {
    let mut all = vec![BodySummary::default(); module.functions.len()];
    for k in order {
        let function = &module.functions[*k];
        let given = (0..function.inputs.len()).map(itself).collect();
        let seen = |_| Flow::Other;
        all[*k] = look(module, &all, &function.body, given, function.values as usize, &seen);
    }
    all
}

fn itself(argument: usize) -> Flow {
    Flow::Affine(Affine { argument, times: 1, plus: 0, guarded: false })
}

/// The argument that a value is, unchanged.
fn unchanged(flow: Flow) -> Option<usize> {
    match flow {
        Flow::Affine(Affine { argument, times: 1, plus: 0, guarded: false }) => Some(argument),
        _ => None,
    }
}

/// Looks at a block whose arguments are these; `outer` says what is known of values outside.
pub(super) fn look(
    module: &ParsedModule,
    known: &[BodySummary],
    block: &RegionBlock,
    given: Vec<Flow>,
    values: usize,
    outer: &dyn Fn(ModuleValueId) -> Flow,
) -> BodySummary {
    let n = given.len();
    let mut look =
        Look { module, known, flows: vec![None; values], types: vec![None; values], reads: vec![false; n], outer };
    for ((id, flow), ty) in block.arguments.iter().zip(given).zip(&block.types) {
        look.flows[*id as usize] = Some(flow);
        look.types[*id as usize] = Some(ty);
    }
    for op in &block.operations {
        look.operation(op);
    }
    let results = block.results.iter().map(|id| look.flow(*id)).collect();
    BodySummary { results, reads: look.reads }
}

struct Look<'a> {
    module: &'a ParsedModule,
    known: &'a [BodySummary],
    flows: Vec<Option<Flow>>,
    types: Vec<Option<&'a Type>>,
    reads: Vec<bool>,
    outer: &'a dyn Fn(ModuleValueId) -> Flow,
}

impl<'a> Look<'a> {
    fn flow(&self, id: ModuleValueId) -> Flow {
        self.flows[id as usize].unwrap_or_else(|| (self.outer)(id))
    }

    fn read(&mut self, id: ModuleValueId) {
        if let Some(argument) = unchanged(self.flow(id))
            && let Some(read) = self.reads.get_mut(argument)
        {
            *read = true;
        }
    }

    /// The values that nested regions read.
    fn read_inside(&mut self, block: &RegionBlock) {
        for op in &block.operations {
            for id in &op.operands {
                self.read(*id);
            }
            for region in &op.regions {
                self.read_inside(region);
            }
        }
        for id in &block.results {
            self.read(*id);
        }
    }

    fn operation(&mut self, op: &'a ModuleOperation) {
        for (k, ty) in op.types.iter().enumerate() {
            self.types[op.first as usize + k] = Some(ty);
        }
        let callee = op.callee().filter(|_| op.name == "call").and_then(|name| self.module.by_name.get(name));
        if let Some(callee) = callee {
            return self.call(op, *callee);
        }
        let found = self.found(op);
        if let Flow::Row { .. } = found {
            op.operands[1..].iter().for_each(|id| self.read(*id));
        } else {
            op.operands.iter().for_each(|id| self.read(*id));
        }
        for region in &op.regions {
            self.read_inside(region);
        }
        for k in 0..op.types.len() {
            self.flows[op.first as usize + k] = Some(if k == 0 { found } else { Flow::Other });
        }
    }

    fn call(&mut self, op: &ModuleOperation, callee: usize) {
        let summary = &self.known[callee];
        let reads = summary.reads.clone();
        let results = summary.results.clone();
        for (id, read) in op.operands.iter().zip(&reads) {
            if *read {
                self.read(*id);
            }
        }
        // An argument whose rows are replaced must be one of the arguments here.
        for (k, flow) in results.into_iter().enumerate() {
            let flow = self.through(op, flow);
            if let (Flow::Other, Some(Flow::Row { argument, .. })) = (flow, self.known[callee].results.get(k))
                && let Some(id) = op.operands.get(*argument)
            {
                self.read(*id);
            }
            if let Some(slot) = self.flows.get_mut(op.first as usize + k) {
                *slot = Some(flow);
            }
        }
    }

    /// A statement about the arguments of a function as one about the operands of its call.
    fn through(&self, op: &ModuleOperation, flow: Flow) -> Flow {
        let operand = |argument: usize| op.operands.get(argument).map(|id| self.flow(*id)).unwrap_or(Flow::Other);
        let affine = |a: Affine| match operand(a.argument) {
            Flow::Number(n) => {
                a.times.checked_mul(n).and_then(|n| n.checked_add(a.plus)).map_or(Flow::Other, Flow::Number)
            }
            Flow::Affine(inner) => composed(a, inner).map_or(Flow::Other, Flow::Affine),
            other if a.times == 1 && a.plus == 0 && !a.guarded => other,
            _ => Flow::Other,
        };
        match flow {
            Flow::Other | Flow::Number(_) => flow,
            Flow::Affine(a) => affine(a),
            Flow::Negative(a) => match affine(a) {
                Flow::Affine(a) => Flow::Negative(a),
                _ => Flow::Other,
            },
            Flow::Row { argument, at } => match (unchanged(operand(argument)), affine(at)) {
                (Some(argument), Flow::Affine(at)) => Flow::Row { argument, at },
                _ => Flow::Other,
            },
        }
    }

    fn found(&self, op: &ModuleOperation) -> Flow {
        let flow = |k: usize| op.operands.get(k).map_or(Flow::Other, |id| self.flow(*id));
        let (a, b) = (flow(0), flow(1));
        let scalar = matches!(op.types.first(), Some(Type::Tensor { shape, element }) if shape.is_empty()
            && (element.is_int() && element.bits() >= 32 || *element == super::types::Element::Bool));
        match op.name.as_str() {
            "constant" if scalar => match op.attribute("value") {
                Some(super::attributes::Attribute::Literal(l)) => match l.range {
                    Some((lo, hi)) if lo == hi => Flow::Number(lo),
                    _ => Flow::Other,
                },
                _ => Flow::Other,
            },
            "convert" | "reshape" if scalar => a,
            // A conversion of an array to its own type.
            "convert" if op.operands.first().is_some_and(|id| self.types[*id as usize] == op.types.first()) => a,
            "optimization_barrier" if op.operands.len() == 1 => a,
            "add" if scalar => sum(a, b, 1).unwrap_or(Flow::Other),
            "subtract" if scalar => sum(a, b, -1).unwrap_or(Flow::Other),
            "compare" => match (a, b, direction(op)) {
                (Flow::Affine(a), Flow::Number(0), Ok(Compare::Lt)) => Flow::Negative(a),
                _ => Flow::Other,
            },
            "select" if scalar => match (a, flow(2)) {
                (Flow::Negative(a), Flow::Affine(b)) if a == b => Flow::Affine(Affine { guarded: true, ..a }),
                _ => Flow::Other,
            },
            "dynamic_update_slice" => self.row(op).unwrap_or(Flow::Other),
            _ => Flow::Other,
        }
    }

    /// A row of an argument that is replaced.
    fn row(&self, op: &ModuleOperation) -> Option<Flow> {
        let argument = unchanged(self.flow(*op.operands.first()?))?;
        let Some(Type::Tensor { shape: part, .. }) = self.types[*op.operands.get(1)? as usize] else { return None };
        let Some(Type::Tensor { shape: whole, .. }) = op.types.first() else { return None };
        let one_row = part.len() == whole.len() && part.first() == Some(&Some(1)) && part[1..] == whole[1..];
        // The other axes are whole, so their starts do not count.
        match self.flow(*op.operands.get(2)?) {
            Flow::Affine(at) if one_row => Some(Flow::Row { argument, at }),
            _ => None,
        }
    }
}

/// `outer` of `inner`.
fn composed(outer: Affine, inner: Affine) -> Option<Affine> {
    let plus = outer.times.checked_mul(inner.plus)?.checked_add(outer.plus)?;
    let times = outer.times.checked_mul(inner.times)?;
    Some(Affine { argument: inner.argument, times, plus, guarded: outer.guarded || inner.guarded })
}

fn sum(a: Flow, b: Flow, sign: i64) -> Option<Flow> {
    Some(match (a, b) {
        (Flow::Number(a), Flow::Number(b)) => Flow::Number(a.checked_add(b.checked_mul(sign)?)?),
        (Flow::Affine(a), Flow::Number(b)) => {
            Flow::Affine(Affine { plus: a.plus.checked_add(b.checked_mul(sign)?)?, ..a })
        }
        (Flow::Number(a), Flow::Affine(b)) => Flow::Affine(Affine {
            times: b.times.checked_mul(sign)?,
            plus: a.checked_add(b.plus.checked_mul(sign)?)?,
            ..b
        }),
        _ => Flow::Other,
    })
}
