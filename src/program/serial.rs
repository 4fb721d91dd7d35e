//! Saving and loading programs.
//!
//! A saved program is a plain list: the version of the format, then closed programs, the bodies of loops before the
//! loops, the program itself last. Laws: a loaded program equals the saved one. A program that loads runs: every
//! operation passes the checks of tracing, and the stated kind of its result is the computed one. A file that breaks a
//! law gives an error message, never a panic, and no function recurses over the contents of a file.

use std::collections::HashMap;
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Builder, Constant, Custom, CustomKind, LinearEquations, Loop, Node, NodeId, Op, Program, Slot};
use crate::array::{Array, refused};
use crate::dtype::DType;
use crate::escape;
use crate::ops::kinds::try_axis;
use crate::ops::{
    Binary, Call, Compare, Contract, Discrete, External, FloatStep, IntBinary, IntUnary, Linear, Matrix, Reduce, Tap,
    TapKind, Unary, View, check_fourier,
};
use crate::shape::{self, MAX_SIZE, Shape, Show, is_possible, try_rank};
use crate::source::SourceLine;

/// The version of the format. A changed format gets a new number.
const FORMAT: u32 = 1;

/// The deepest nesting of loops in a file.
const NESTING: usize = 128;

/// Saved with its format, its names and the bodies of its loops.
///
/// ```
/// use polygrad::program::{Builder, Op, Program, Slot};
/// use polygrad::{DType, ops::Unary};
/// let mut builder = Builder::new();
/// let x = builder.input(Slot { name: "x".into(), shape: [2].as_slice().into(), dtype: DType::F64 });
/// let y = builder.add(Op::Unary(Unary::Sin, x), [2].as_slice().into(), DType::F64);
/// let program = builder.finish(&[y], &["y".into()]);
/// let saved = serde_json::to_string(&program).unwrap();
/// assert_eq!(serde_json::from_str::<Program>(&saved).unwrap(), program);
/// ```
impl Serialize for Program {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut saving = Saving::default();
        saving.save(self, 1).map_err(S::Error::custom)?;
        File { format: Format, programs: saving.programs }.serialize(serializer)
    }
}

/// Loads and checks what [`Serialize`] saved. Anything else is an error that says what is wrong.
impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Program, D::Error> {
        load(File::deserialize(deserializer)?, Builder::new).map_err(D::Error::custom)
    }
}

/// A program as it was traced, in which equal operations stay apart.
pub(super) struct AsTraced(pub(super) Program);

impl Serialize for AsTraced {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AsTraced {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AsTraced, D::Error> {
        load(File::deserialize(deserializer)?, Builder::verbatim).map(AsTraced).map_err(D::Error::custom)
    }
}

/// The whole file, with fields in the order in which they are read.
#[derive(Serialize, Deserialize)]
struct File {
    format: Format,
    programs: Vec<SavedProgram>,
}

/// The version: an unknown one is refused as soon as it is read, before the rest of the file.
struct Format;

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(FORMAT)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
        match u32::deserialize(deserializer)? {
            FORMAT => Ok(Format),
            other => Err(D::Error::custom(format!(
                "load: the format must be {FORMAT}, but it is {other}; save the program again with this version of the library"
            ))),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedProgram {
    inputs: Vec<SavedSlot>,
    /// The operations, numbered after the inputs.
    operations: Vec<SavedNode>,
    outputs: Vec<SavedOutput>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSlot {
    name: String,
    dtype: String,
    shape: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedOutput {
    name: String,
    of: NodeId,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedNode {
    op: SavedOp,
    dtype: String,
    shape: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedOp {
    Constant(Array),
    Unary(String, NodeId),
    Binary(String, NodeId, NodeId),
    Discrete(SavedDiscrete, Vec<NodeId>),
    Select([NodeId; 3]),
    Affine {
        from: SavedView,
        into: SavedView,
        of: NodeId,
    },
    Reshape(Vec<usize>, NodeId),
    Cast(String, NodeId),
    Fourier {
        parts: usize,
        axis: usize,
        conjugate: bool,
        of: NodeId,
    },
    PrefixSum {
        axis: usize,
        reverse: bool,
        of: NodeId,
    },
    Contract {
        a: SavedView,
        b: SavedView,
        out: SavedView,
        of: [NodeId; 2],
    },
    Reduce(SavedReduce, NodeId),
    Gather(NodeId, Vec<NodeId>),
    ScatterAdd(NodeId, Vec<NodeId>, NodeId),
    Concat(usize, Vec<NodeId>),
    Loop {
        n: usize,
        reverse: bool,
        body: usize,
        init: Vec<NodeId>,
        xs: Vec<NodeId>,
        captured: Vec<NodeId>,
    },
    Output(NodeId, usize),
    Matrix(String, Vec<NodeId>),
    External {
        name: String,
        takes: Vec<SavedKind>,
        returns: Vec<SavedKind>,
        each: Vec<(usize, Vec<bool>)>,
        of: Vec<NodeId>,
    },
    Tap {
        words: Vec<String>,
        check: bool,
        at: Option<(String, u32, u32)>,
        each: Vec<(usize, Vec<bool>)>,
        of: Vec<NodeId>,
    },
    Custom {
        name: String,
        primal: usize,
        jvp: Option<usize>,
        vjp: Option<usize>,
        of: Vec<NodeId>,
    },
    Inverse {
        name: String,
        primal: usize,
        moved: usize,
        transposed: (usize, usize),
        of: Vec<NodeId>,
    },
    While {
        name: String,
        body: usize,
        most: Option<usize>,
        of: Vec<NodeId>,
    },
    Cond {
        name: String,
        then: usize,
        otherwise: usize,
        absent: [Vec<bool>; 2],
        of: Vec<NodeId>,
    },
}

/// A shape and an element type.
type SavedKind = (Vec<usize>, String);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedReduce {
    Max(usize),
    Min(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedDiscrete {
    Compare(String),
    And,
    Or,
    Not,
    FloatStep(String),
    IntUnary(String),
    IntBinary(String),
    ToInt,
    ToFloat(String),
    ArgMax(usize),
    ArgMin(usize),
    ArgSort { axis: usize, descending: bool },
    PrefixArg { axis: usize, largest: bool, reverse: bool },
    Iota(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum SavedView {
    Nothing { source: Vec<usize>, shape: Vec<usize> },
    At { source: Vec<usize>, shape: Vec<usize>, matrix: Vec<i64>, offset: Vec<i64>, bounds: Vec<(usize, usize)> },
}

// ---- saving ----

/// The programs saved so far, and their positions.
#[derive(Default)]
struct Saving {
    programs: Vec<SavedProgram>,
    known: HashMap<Program, usize>,
}

impl Saving {
    /// Saves a program after the bodies of its loops; returns its position.
    fn save(&mut self, program: &Program, depth: usize) -> Result<usize, String> {
        if let Some(position) = self.known.get(program) {
            return Ok(*position);
        }
        if depth > NESTING {
            return Err(format!(
                "save: loops must nest less than {NESTING} deep, but these nest deeper; make a loop of several outside the program"
            ));
        }
        let mut operations = Vec::new();
        for node in &program.nodes()[program.inputs().len()..] {
            let op = self.operation(node, depth)?;
            operations.push(SavedNode { op, dtype: node.dtype.name().to_owned(), shape: node.shape.to_vec() });
        }
        let input = |slot: &Slot| SavedSlot {
            name: slot.name.clone(),
            dtype: slot.dtype.name().to_owned(),
            shape: slot.shape.to_vec(),
        };
        let output = |(slot, of): (&Slot, &NodeId)| SavedOutput { name: slot.name.clone(), of: *of };
        self.programs.push(SavedProgram {
            inputs: program.inputs().iter().map(input).collect(),
            operations,
            outputs: program.outputs().iter().zip(program.results()).map(output).collect(),
        });
        self.known.insert(program.clone(), self.programs.len() - 1);
        Ok(self.programs.len() - 1)
    }

    fn operation(&mut self, node: &Node, depth: usize) -> Result<SavedOp, String> {
        Ok(match &node.op {
            Op::Input(_) => return Err(refused("inputs must come first", "one comes later")),
            Op::Constant(Constant(c)) => SavedOp::Constant(c.clone()),
            Op::Unary(op, a) => SavedOp::Unary(op.name().to_owned(), *a),
            Op::Binary(op, a, b) => SavedOp::Binary(op.name().to_owned(), *a, *b),
            Op::Discrete(op, args) => SavedOp::Discrete(save_discrete(op), args.to_vec()),
            Op::Select(args) => SavedOp::Select(*args),
            Op::Linear(op, of) => match &**op {
                Linear::Affine { from, into } => {
                    SavedOp::Affine { from: save_view(from), into: save_view(into), of: *of }
                }
                Linear::Reshape { into, .. } => SavedOp::Reshape(into.to_vec(), *of),
                Linear::Cast { into, .. } => SavedOp::Cast(into.name().to_owned(), *of),
                Linear::Fourier { parts, axis, conjugate, .. } => {
                    SavedOp::Fourier { parts: *parts, axis: *axis, conjugate: *conjugate, of: *of }
                }
                Linear::PrefixSum { axis, reverse, .. } => {
                    SavedOp::PrefixSum { axis: *axis, reverse: *reverse, of: *of }
                }
            },
            Op::Contract(op, x, y) => {
                let [a, b, out] = [&op.a, &op.b, &op.out].map(save_view);
                SavedOp::Contract { a, b, out, of: [*x, *y] }
            }
            Op::Reduce(Reduce::Max { axis }, a) => SavedOp::Reduce(SavedReduce::Max(*axis), *a),
            Op::Reduce(Reduce::Min { axis }, a) => SavedOp::Reduce(SavedReduce::Min(*axis), *a),
            Op::Gather(a, ix) => SavedOp::Gather(*a, ix.clone()),
            Op::ScatterAdd(a, ix, v) => SavedOp::ScatterAdd(*a, ix.clone(), *v),
            Op::Concat(axis, parts) => SavedOp::Concat(*axis, parts.clone()),
            Op::Loop(l) => {
                let body = self.save(&l.body, depth + 1)?;
                let Loop { init, xs, captured, .. } = (**l).clone();
                SavedOp::Loop { n: l.n, reverse: l.reverse, body, init, xs, captured }
            }
            Op::Call(Call::Matrix(op), args) => SavedOp::Matrix(op.name().to_owned(), args.clone()),
            Op::Call(Call::External(external), args) => SavedOp::External {
                name: external.name().to_owned(),
                takes: save_kinds(external.takes()),
                returns: save_kinds(external.returns()),
                each: external.each().to_vec(),
                of: args.clone(),
            },
            Op::Call(Call::Tap(tap), args) => {
                let (words, check) = match tap.kind() {
                    TapKind::Debug(labels) => (labels.clone(), false),
                    TapKind::Check(message) => (vec![message.clone()], true),
                };
                let at = tap.at().map(|at| (at.file.clone(), at.line, at.column));
                SavedOp::Tap { words, check, at, each: tap.each().to_vec(), of: args.clone() }
            }
            Op::Custom(c, args) => {
                let mut saved = |program: &Program| self.save(program, depth + 1);
                let (name, of) = (c.name().to_owned(), args.clone());
                match c.kind() {
                    CustomKind::While { most } => SavedOp::While { name, body: saved(c.primal())?, most: *most, of },
                    CustomKind::Cond { then, otherwise, absent } => {
                        let absent = absent.clone();
                        SavedOp::Cond { name, then: saved(then)?, otherwise: saved(otherwise)?, absent, of }
                    }
                    CustomKind::Solve(equations) => {
                        let LinearEquations { moved, transposed: (back, back_moved) } = &**equations;
                        let primal = saved(c.primal())?;
                        let (moved, transposed) = (saved(moved)?, (saved(back)?, saved(back_moved)?));
                        SavedOp::Inverse { name, primal, moved, transposed, of }
                    }
                    CustomKind::Checkpointed => {
                        SavedOp::Custom { name, primal: saved(c.primal())?, jvp: None, vjp: None, of }
                    }
                    CustomKind::Rules { jvp, vjp } => {
                        let jvp = jvp.as_ref().map(&mut saved).transpose()?;
                        let vjp = vjp.as_ref().map(&mut saved).transpose()?;
                        SavedOp::Custom { name, primal: saved(c.primal())?, jvp, vjp, of }
                    }
                }
            }
            Op::Output(a, position) => SavedOp::Output(*a, *position),
        })
    }
}

fn save_kinds(kinds: &[(Shape, DType)]) -> Vec<SavedKind> {
    kinds.iter().map(|(shape, dtype)| (shape.to_vec(), dtype.name().to_owned())).collect()
}

fn save_view(view: &View) -> SavedView {
    let (source, shape) = (view.source().to_vec(), view.shape().to_vec());
    if view.is_empty() {
        return SavedView::Nothing { source, shape };
    }
    let matrix = (0..source.len()).flat_map(|k| view.row(k).to_vec()).collect();
    SavedView::At { source, shape, matrix, offset: view.offset().to_vec(), bounds: view.bounds().to_vec() }
}

fn save_discrete(op: &Discrete) -> SavedDiscrete {
    match op {
        Discrete::Compare(op) => SavedDiscrete::Compare(op.name().to_owned()),
        Discrete::And => SavedDiscrete::And,
        Discrete::Or => SavedDiscrete::Or,
        Discrete::Not => SavedDiscrete::Not,
        Discrete::FloatStep(op) => SavedDiscrete::FloatStep(op.name().to_owned()),
        Discrete::IntUnary(op) => SavedDiscrete::IntUnary(op.name().to_owned()),
        Discrete::IntBinary(op) => SavedDiscrete::IntBinary(op.name().to_owned()),
        Discrete::ToInt => SavedDiscrete::ToInt,
        Discrete::ToFloat(into) => SavedDiscrete::ToFloat(into.name().to_owned()),
        Discrete::ArgMax { axis } => SavedDiscrete::ArgMax(*axis),
        Discrete::ArgMin { axis } => SavedDiscrete::ArgMin(*axis),
        Discrete::ArgSort { axis, descending } => SavedDiscrete::ArgSort { axis: *axis, descending: *descending },
        Discrete::PrefixArg { axis, largest, reverse } => {
            SavedDiscrete::PrefixArg { axis: *axis, largest: *largest, reverse: *reverse }
        }
        Discrete::Iota { n } => SavedDiscrete::Iota(*n),
    }
}

// ---- loading ----

fn load(file: File, builder: fn() -> Builder) -> Result<Program, String> {
    // Each program with the depth to which its loops nest.
    let mut programs: Vec<(Program, usize)> = Vec::new();
    for (position, saved) in file.programs.into_iter().enumerate() {
        let program = load_program(saved, &programs, builder())
            .map_err(|reason| refused(&format!("program {position} must be well formed"), &reason))?;
        programs.push(program);
    }
    let last = programs.pop().ok_or_else(|| refused("there must be a program", "the list is empty"))?;
    Ok(last.0)
}

/// A program under construction.
struct Loading<'a> {
    builder: Builder,
    /// The number in the builder of each operation of the file.
    numbers: Vec<NodeId>,
    bodies: &'a [(Program, usize)],
    nesting: usize,
}

fn load_program(
    saved: SavedProgram,
    bodies: &[(Program, usize)],
    builder: Builder,
) -> Result<(Program, usize), String> {
    let mut loading = Loading { builder, numbers: Vec::new(), bodies, nesting: 1 };
    for SavedSlot { name, dtype, shape } in saved.inputs {
        let slot = Slot { name, shape: load_shape(&shape)?, dtype: load_dtype(&dtype)? };
        loading.numbers.push(loading.builder.input(slot));
    }
    for (k, SavedNode { op, dtype, shape }) in saved.operations.into_iter().enumerate() {
        let in_operation = |reason: String| format!("in operation {k}, {reason}");
        let op = loading.operation(op).map_err(in_operation)?;
        let (needed, kind) = loading.builder.try_kind(&op).map_err(in_operation)?;
        if needed[..] != shape[..] || kind.name() != dtype {
            let (stated, is) = (
                format!("{} {}", escape::line(&shortened(&dtype)), shown(&shape)),
                format!("{kind} {}", shown(&needed)),
            );
            return Err(in_operation(format!("the result is said to be {stated} and is {is}")));
        }
        if !is_possible(&needed) {
            return Err(in_operation(format!("the result is too large: {}", shown(&needed))));
        }
        loading.numbers.push(loading.builder.cons(op, needed, kind));
    }
    let mut results = Vec::new();
    let mut names = Vec::new();
    for SavedOutput { name, of } in saved.outputs {
        results.push(loading.value(of).map_err(|reason| format!("in an output, {reason}"))?);
        names.push(name);
    }
    Ok((loading.builder.finish(&results, &names), loading.nesting))
}

impl Loading<'_> {
    /// The operation with this number in the file.
    fn any(&self, id: NodeId) -> Result<NodeId, String> {
        self.numbers.get(id as usize).copied().ok_or_else(|| format!("operand {id} does not come before its use"))
    }

    /// The operation with this number in the file, if it has one result.
    fn value(&self, id: NodeId) -> Result<NodeId, String> {
        let id = self.any(id)?;
        if matches!(self.builder.node(id).op, Op::Loop(_) | Op::Custom(..) | Op::Call(..)) {
            return Err("a loop or function is used as if it had one result".into());
        }
        Ok(id)
    }

    /// An earlier program of the file: the body of a loop, or part of a function with rules.
    fn inner(&mut self, at: usize) -> Result<Program, String> {
        let (inner, nesting) = self.bodies.get(at).cloned().ok_or("the body of a loop does not come before it")?;
        self.nesting = self.nesting.max(nesting + 1);
        if self.nesting > NESTING {
            return Err(format!("loops nest deeper than {NESTING}"));
        }
        Ok(inner)
    }

    fn values(&self, ids: &[NodeId]) -> Result<Vec<NodeId>, String> {
        ids.iter().map(|id| self.value(*id)).collect()
    }

    /// An operation on existing operands.
    fn operation(&mut self, saved: SavedOp) -> Result<Op<NodeId>, String> {
        Ok(match saved {
            SavedOp::Constant(c) => Op::Constant(Constant(c)),
            SavedOp::Unary(name, a) => Op::Unary(row(Unary::ALL, Unary::name, &name)?, self.value(a)?),
            SavedOp::Binary(name, a, b) => {
                Op::Binary(row(Binary::ALL, Binary::name, &name)?, self.value(a)?, self.value(b)?)
            }
            SavedOp::Discrete(op, args) => Op::Discrete(load_discrete(op)?, self.values(&args)?.into()),
            SavedOp::Select([mask, a, b]) => Op::Select([self.value(mask)?, self.value(a)?, self.value(b)?]),
            SavedOp::Affine { from, into, of } => {
                let (from, into) = (load_view(from)?, load_view(into)?);
                if from.shape() != into.shape() {
                    return Err("two views have different iteration spaces".into());
                }
                Op::Linear(Box::new(Linear::Affine { from, into }), self.value(of)?)
            }
            SavedOp::Reshape(into, of) => {
                let of = self.value(of)?;
                let (from, into) = (Shape::from_slice(self.builder.kind_of(of).0), load_shape(&into)?);
                if shape::size(&from) != shape::size(&into) {
                    return Err(format!("{} is reshaped into {}", shown(&from), shown(&into)));
                }
                Op::Linear(Box::new(Linear::Reshape { from, into }), of)
            }
            SavedOp::Cast(into, of) => {
                let of = self.value(of)?;
                let ((shape, from), into) = (self.builder.kind_of(of), load_dtype(&into)?);
                if !from.is_float() || !into.is_float() {
                    return Err(format!("{from} is cast into {into}"));
                }
                Op::Linear(Box::new(Linear::Cast { from, into, shape: Shape::from_slice(shape) }), of)
            }
            SavedOp::Fourier { parts, axis, conjugate, of } => {
                let of = self.value(of)?;
                let shape = Shape::from_slice(self.builder.kind_of(of).0);
                check_fourier(&shape, parts, axis)?;
                Op::Linear(Box::new(Linear::Fourier { shape, parts, axis, conjugate }), of)
            }
            SavedOp::PrefixSum { axis, reverse, of } => {
                let of = self.value(of)?;
                let shape = Shape::from_slice(self.builder.kind_of(of).0);
                try_axis("prefix_sum", axis, &shape)?;
                Op::Linear(Box::new(Linear::PrefixSum { shape, axis, reverse }), of)
            }
            SavedOp::Contract { a, b, out, of: [x, y] } => {
                let (a, b, out) = (load_view(a)?, load_view(b)?, load_view(out)?);
                if a.shape() != b.shape() || a.shape() != out.shape() {
                    return Err("three views have different iteration spaces".into());
                }
                Op::Contract(Box::new(Contract { a, b, out }), self.value(x)?, self.value(y)?)
            }
            SavedOp::Reduce(SavedReduce::Max(axis), a) => Op::Reduce(Reduce::Max { axis }, self.value(a)?),
            SavedOp::Reduce(SavedReduce::Min(axis), a) => Op::Reduce(Reduce::Min { axis }, self.value(a)?),
            SavedOp::Gather(a, ix) => Op::Gather(self.value(a)?, self.values(&ix)?),
            SavedOp::ScatterAdd(a, ix, v) => Op::ScatterAdd(self.value(a)?, self.values(&ix)?, self.value(v)?),
            SavedOp::Concat(axis, parts) => Op::Concat(axis, self.values(&parts)?),
            SavedOp::Loop { n, reverse, body, init, xs, captured } => {
                let body = self.inner(body)?;
                let (init, xs, captured) = (self.values(&init)?, self.values(&xs)?, self.values(&captured)?);
                if n > MAX_SIZE {
                    return Err(format!("a loop has too many trips: {n}"));
                }
                Op::Loop(Box::new(Loop { n, reverse, body, init, xs, captured }))
            }
            SavedOp::Matrix(name, of) => {
                Op::Call(Call::Matrix(row(Matrix::ALL, Matrix::name, &name)?), self.values(&of)?)
            }
            SavedOp::External { name, takes, returns, each, of } => {
                let mut external = External::unlinked(&name, load_kinds(takes)?, load_kinds(returns)?);
                try_rank("external", &each.iter().map(|(n, _)| *n).collect::<Vec<usize>>())?;
                for (n, stacked) in each {
                    if stacked.len() != external.takes().len() || n > MAX_SIZE {
                        return Err("the stacks of an external function do not fit its arguments".into());
                    }
                    external = external.batched(n, stacked);
                }
                for (shape, _) in external.results() {
                    load_shape(&shape)?;
                }
                Op::Call(Call::External(Arc::new(external)), self.values(&of)?)
            }
            SavedOp::Tap { words, check, at, each, of } => {
                let kind = match (check, &words[..]) {
                    (true, [message]) => TapKind::Check(message.clone()),
                    (true, _) => return Err("a check does not have one message".into()),
                    (false, _) => TapKind::Debug(words),
                };
                let at = at.map(|(file, line, column)| SourceLine { file, line, column });
                let tap = each.into_iter().fold(Tap::new(kind, at), |tap, (n, stacked)| tap.batched(n, stacked));
                try_rank("debug", &tap.each().iter().map(|(n, _)| *n).collect::<Vec<usize>>())?;
                if tap.each().iter().any(|(_, stacked)| stacked.len() != of.len()) {
                    return Err("the stacks of a tap do not fit its operands".into());
                }
                Op::Call(Call::Tap(Arc::new(tap)), self.values(&of)?)
            }
            SavedOp::Custom { name, primal, jvp, vjp, of } => {
                let primal = self.inner(primal)?;
                let jvp = jvp.map(|at| self.inner(at)).transpose()?;
                let vjp = vjp.map(|at| self.inner(at)).transpose()?;
                let custom = match (&jvp, &vjp) {
                    (None, None) => Custom::checkpointed(&name, primal),
                    (Some(_), _) | (_, Some(_)) => Custom::new(&name, primal, jvp, vjp)?,
                };
                Op::Custom(Arc::new(custom), self.values(&of)?)
            }
            SavedOp::Inverse { name, primal, moved, transposed: (back, back_moved), of } => {
                let (primal, moved) = (self.inner(primal)?, self.inner(moved)?);
                let transposed = (self.inner(back)?, self.inner(back_moved)?);
                Op::Custom(Arc::new(Custom::solve(&name, primal, moved, transposed)?), self.values(&of)?)
            }
            SavedOp::While { name, body, most, of } => {
                let custom = Custom::while_loop(&name, self.inner(body)?, most)?;
                Op::Custom(Arc::new(custom), self.values(&of)?)
            }
            SavedOp::Cond { name, then, otherwise, absent, of } => {
                let custom = Custom::cond(&name, self.inner(then)?, self.inner(otherwise)?)?.with_absent(absent)?;
                Op::Custom(Arc::new(custom), self.values(&of)?)
            }
            SavedOp::Output(a, position) => Op::Output(self.any(a)?, position),
        })
    }
}

/// The row of a table with this name.
fn row<R: Copy>(all: &[R], name_of: impl Fn(R) -> &'static str, name: &str) -> Result<R, String> {
    let known = all.iter().copied().find(|r| name_of(*r) == name);
    known.ok_or_else(|| format!("{:?} is not an operation of its kind", shortened(name)))
}

/// Text from a file, shortened to fit into a message.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

fn load_dtype(name: &str) -> Result<DType, String> {
    DType::of_name(name).ok_or_else(|| format!("{:?} is not an element type", shortened(name)))
}

fn load_kinds(kinds: Vec<SavedKind>) -> Result<Vec<(Shape, DType)>, String> {
    kinds.into_iter().map(|(shape, dtype)| Ok((load_shape(&shape)?, load_dtype(&dtype)?))).collect()
}

/// A shape from a file, shortened to fit into a message.
fn shown(shape: &[usize]) -> String {
    const FEW: usize = 6;
    if shape.len() <= FEW {
        Show(shape).to_string()
    } else {
        format!("{} and so on, of {} axes", Show(&shape[..FEW]), shape.len())
    }
}

fn load_shape(shape: &[usize]) -> Result<Shape, String> {
    try_rank("a shape", shape)?;
    if is_possible(shape) {
        Ok(Shape::from_slice(shape))
    } else {
        Err(format!("a shape is too large: {}", shown(shape)))
    }
}

fn load_view(saved: SavedView) -> Result<View, String> {
    let view = match &saved {
        SavedView::Nothing { source, shape } => View::from_parts(source, shape, None),
        SavedView::At { source, shape, matrix, offset, bounds } => {
            View::from_parts(source, shape, Some((matrix, offset, bounds)))
        }
    };
    view.ok_or_else(|| "the parts of a view do not fit together".into())
}

fn load_discrete(saved: SavedDiscrete) -> Result<Discrete, String> {
    Ok(match saved {
        SavedDiscrete::Compare(name) => Discrete::Compare(row(Compare::ALL, Compare::name, &name)?),
        SavedDiscrete::And => Discrete::And,
        SavedDiscrete::Or => Discrete::Or,
        SavedDiscrete::Not => Discrete::Not,
        SavedDiscrete::FloatStep(name) => Discrete::FloatStep(row(FloatStep::ALL, FloatStep::name, &name)?),
        SavedDiscrete::IntUnary(name) => Discrete::IntUnary(row(IntUnary::ALL, IntUnary::name, &name)?),
        SavedDiscrete::IntBinary(name) => Discrete::IntBinary(row(IntBinary::ALL, IntBinary::name, &name)?),
        SavedDiscrete::ToInt => Discrete::ToInt,
        SavedDiscrete::ToFloat(into) => Discrete::ToFloat(load_dtype(&into)?),
        SavedDiscrete::ArgMax(axis) => Discrete::ArgMax { axis },
        SavedDiscrete::ArgMin(axis) => Discrete::ArgMin { axis },
        SavedDiscrete::ArgSort { axis, descending } => Discrete::ArgSort { axis, descending },
        SavedDiscrete::PrefixArg { axis, largest, reverse } => Discrete::PrefixArg { axis, largest, reverse },
        SavedDiscrete::Iota(n) => Discrete::Iota { n },
    })
}
