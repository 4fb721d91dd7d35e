//! The bounds of every operation of a program: it is interpreted, and each result noted at its operation.
//!
//! Law: an operation is one row, by its name, its line and the derivative it belongs to; the row has the hull of all its
//! results, in all trips of loops that may run.

use indexmap::IndexMap;

use super::{CertificateError, CertifiedOperation};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::interpreters::bounded::{Bounded, Span};
use crate::interpreters::{Enclosure, Rounding};
use crate::ops::{Binary, Unary};
use crate::program::cond::decided;
use crate::program::repeat::{held, known};
use crate::program::{Custom, CustomKind, Loop, NodeId, Op, OpClass, Program, Single};
use crate::source::{Place, SourceLine};

/// A value with its bounds and errors.
type Value = Rounding<Enclosure>;

/// The operations that have run.
#[derive(Default)]
pub(super) struct Walk {
    rows: IndexMap<(String, Place), CertifiedOperation>,
    /// Why bounds are missing.
    fault: Option<CertificateError>,
    /// The number of loops without a trip whose bodies run for the shapes alone.
    empty: usize,
}

/// The results of the operations of a program so far.
type Results = Vec<Vec<Value>>;

fn one(values: &Results, a: NodeId) -> &Value {
    &values[a as usize][0]
}

fn all(values: &Results, ids: &[NodeId]) -> Vec<Value> {
    ids.iter().map(|a| one(values, *a).clone()).collect()
}

/// Whether an element may be NaN, and whether one may be infinite, or any integer.
fn faults(value: &Value) -> [bool; 2] {
    let spans = value.value().spans();
    let any_integer = |x: &Span| x.lower <= i64::MIN as f64 && x.upper >= i64::MAX as f64;
    match value.dtype() {
        DType::F64 | DType::F32 => [spans.iter().any(|x| x.nan), spans.iter().any(|x| x.has_infinity())],
        DType::I64 => [false, spans.iter().any(any_integer)],
        DType::Bool => [false, false],
    }
}

impl Walk {
    /// The results of a program, and its operations.
    pub(super) fn through(
        program: &Program,
        inputs: Vec<Value>,
    ) -> Result<(Vec<Value>, Vec<CertifiedOperation>), CertificateError> {
        let mut walk = Walk::default();
        let results = walk.run(program, inputs, Place::UNKNOWN);
        match walk.fault {
            Some(fault) => Err(fault),
            None => Ok((results, walk.rows.into_values().collect())),
        }
    }

    /// The results of a program that runs at `outer`.
    fn run(&mut self, program: &Program, inputs: Vec<Value>, outer: Place) -> Vec<Value> {
        let mut inputs = inputs.into_iter();
        let mut values: Results = Vec::with_capacity(program.nodes().len());
        for (k, node) in program.nodes().iter().enumerate() {
            let place = program.place(k as NodeId).or(&outer);
            let results = match node.op.class() {
                OpClass::Input(_) => inputs.next().into_iter().collect(),
                OpClass::Loop(l) => self.run_loop(l, &values, place),
                OpClass::Custom(rule, args) => {
                    let args = all(&values, args);
                    match rule.kind() {
                        CustomKind::While { most } => self.run_while((rule.name(), rule.primal(), *most), args, place),
                        CustomKind::Rules { .. }
                        | CustomKind::Checkpointed
                        | CustomKind::Solve(_)
                        | CustomKind::Cond { .. } => self.run_once(rule, args, place),
                    }
                }
                OpClass::Constant(c) => vec![Value::constant(c.0.clone())],
                OpClass::Output(a, k) => vec![values[*a as usize][k].clone()],
                OpClass::Single(op) => {
                    let results = vec![result(program, &node.op, op, &values)];
                    self.noted(&node.op, &values, results, place)
                }
                OpClass::Call(op, args) => {
                    let results = Value::call(op, &all(&values, args));
                    self.noted(&node.op, &values, results, place)
                }
            };
            values.push(results);
        }
        all(&values, program.results())
    }

    /// The results of a function that runs its program once; of a conditional whose mask is decided, of one branch.
    fn run_once(&mut self, rule: &Custom, mut args: Vec<Value>, place: Place) -> Vec<Value> {
        match rule.branches().and_then(|branches| Some((branches, decided(&args[0])?))) {
            None => self.run(rule.primal(), args, place),
            Some((branches, holds)) => {
                args.remove(0);
                self.run(branches[usize::from(!holds)], args, place)
            }
        }
    }

    fn run_loop(&mut self, l: &Loop<NodeId>, values: &Results, place: Place) -> Vec<Value> {
        self.empty += usize::from(l.n == 0);
        let (init, captured) = (all(values, &l.init), all(values, &l.captured));
        let carried = init.len();
        let (mut carry, outputs) =
            Value::map_accum(l.n, l.reverse, init, &all(values, &l.xs), &mut |carry, elements| {
                let mut carry = self.run(&l.body, [&carry[..], elements, &captured].concat(), place.clone());
                let outputs = carry.split_off(carried);
                (carry, outputs)
            });
        self.empty -= usize::from(l.n == 0);
        carry.extend(outputs);
        carry
    }

    /// A while loop; it has a fault if bounds do not decide when it ends, and it has no bound.
    fn run_while(
        &mut self,
        (name, body, most): (&str, &Program, Option<usize>),
        mut carry: Vec<Value>,
        place: Place,
    ) -> Vec<Value> {
        let captured = carry.split_off(body.outputs().len());
        for trips in 0..most.unwrap_or(usize::MAX) {
            let go = known(&carry[0]);
            if go == Some(false) {
                break;
            }
            if go.is_none() && most.is_none() {
                let at = place.at.as_ref().map(SourceLine::from);
                self.fault.get_or_insert(CertificateError::Undecided { operation: name.to_owned(), at, trips });
                return carry.iter().map(|x| Value::unknown(x.shape(), x.dtype())).collect();
            }
            let mut step = |carry: Vec<Value>| self.run(body, [carry, captured.clone()].concat(), place.clone());
            carry = if go.is_some() { step(carry) } else { held(carry, &mut step) };
        }
        carry
    }

    /// The results of an operation, which are noted at its row.
    fn noted(&mut self, op: &Op<NodeId>, values: &Results, results: Vec<Value>, place: Place) -> Vec<Value> {
        let spans: Vec<Span> = results.iter().flat_map(|y| y.value().spans()).collect();
        if self.empty > 0 || spans.is_empty() {
            return results;
        }
        let [mut nan, mut infinite, mut of_nan, mut of_infinite] = [false; 4];
        for [a, b] in results.iter().map(faults) {
            (nan, infinite) = (nan || a, infinite || b);
        }
        op.operands(&mut |a| {
            let [a, b] = faults(one(values, *a));
            (of_nan, of_infinite) = (of_nan || a, of_infinite || b);
        });
        let mut divides = false;
        if let Op::Binary(Binary::Div, _, y) | Op::Unary(Unary::Recip, y) = op {
            divides = one(values, *y).value().spans().iter().any(|x| x.lower <= 0.0 && x.upper >= 0.0);
        }
        let operation = op.words();
        let row = self.rows.entry((operation.clone(), place.clone())).or_insert_with(|| CertifiedOperation {
            operation,
            at: place.at.as_ref().map(SourceLine::from),
            derivative_of: place.derivative_of.map(str::to_owned),
            lower: f64::INFINITY,
            upper: f64::NEG_INFINITY,
            may_be_nan: false,
            may_overflow: false,
            may_divide_by_zero: false,
            begins: false,
        });
        row.lower = spans.iter().fold(row.lower, |all, x| all.min(x.lower));
        row.upper = spans.iter().fold(row.upper, |all, x| all.max(x.upper));
        row.may_be_nan |= nan;
        row.may_overflow |= infinite;
        row.may_divide_by_zero |= divides;
        row.begins |= (nan || infinite) && !(of_nan || of_infinite);
        results
    }
}

/// The result of an operation.
fn result(program: &Program, op: &Op<NodeId>, single: Single<'_, NodeId>, values: &Results) -> Value {
    let get = |a: &NodeId| one(values, *a);
    // A sum may accumulate a view in place: then it is a sum of all its terms.
    if let Some((base, view)) = program.sum_in_place(op) {
        return get(&base).clone().accumulate_linear(view.op, get(&view.source));
    }
    single.applied(&mut |a| get(a).clone())
}
