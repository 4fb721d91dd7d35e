//! Programs as data: tracing records them, passes rewrite them, interpreters run them.
//!
//! A [`Program`] is a list of operations in which operands come before their uses: flat, typed, hash-consed (no two
//! operations are equal), closed, with named inputs and outputs. The body of a loop is a separate program, which gets
//! captured values as inputs. A program is `Send + Sync`, `UnwindSafe`, cheap to clone and printable. Two programs are
//! equal if all their parts are, names included; equality is decided when a program is made (`class.rs`).
//!
//! Laws: [`interpret`] alone gives a program a meaning, and it commutes with every operation: it is the unique
//! homomorphism from the initial algebra ("Dual arrays", appendix C.3). No function here recurses over the length of a
//! program, only over the nesting of its loops.

mod builder;
mod class;
pub(crate) mod cond;
mod cost;
mod custom;
mod graph;
mod interpret;
mod kind;
mod known;
mod link;
mod op;
mod rebuild;
mod recursion;
pub(crate) mod repeat;
mod results;
#[cfg(feature = "serde")]
mod serial;
mod shared;
mod single;
mod sized;
mod taps;
mod term;
pub(crate) mod transposed_while;
pub(crate) mod updates;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub(crate) use builder::Assumed;
pub use builder::Builder;
pub use custom::{Custom, CustomKind, LinearEquations, Transposed};
pub(crate) use custom::{Derivative, Taking};
pub(crate) use graph::{reach, results_needed};
pub(crate) use interpret::check_inputs;
pub use interpret::interpret;
pub use op::{Constant, Loop, Op};
pub(crate) use rebuild::{Now, Rebuilt};
pub(crate) use results::{Results, made, valid_by_construction};
use shared::Asked;
pub(crate) use shared::{Question, part_of, programs_of, run_by};
pub(crate) use single::{OpClass, Single, single_results};
#[cfg(feature = "serde")]
pub(crate) use sized::SavedSize;
pub use sized::SizedProgram;
pub(crate) use sized::{NAME_BYTES, NAMES, NamedSize, SizedShape, sizes_in_words};
pub(crate) use taps::{tap_of, taps};
pub use term::Term;
pub(crate) use term::{is_verbatim, verbatim};

use crate::dtype::DType;
use crate::hash::hash_of;
use crate::ops::kinds::Kind;
use crate::ops::{Linear, View};
use crate::shape::{Shape, are_equal};
use crate::source::Place;

/// The number of an operation within its program.
///
/// Example: [`Program::nodes`].
pub type NodeId = u32;

/// An operation of a program, with the kind of its result.
///
/// Example: [`Program::nodes`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The operation.
    pub op: Op<NodeId>,
    /// The shape of its result; without meaning for an operation with several results: a loop, a call or a function
    /// with rules.
    pub shape: Shape,
    /// The element type of its result; without meaning for an operation with several results.
    pub dtype: DType,
}

impl Node {
    /// Shape and element type of its result.
    pub(crate) fn kind(&self) -> Kind<'_> {
        (&self.shape, self.dtype)
    }
}

/// The name and kind of an input or output.
///
/// Example: [`Program::nodes`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The name; if it is empty, the printer makes one up.
    pub name: String,
    /// The shape.
    pub shape: Shape,
    /// The element type.
    pub dtype: DType,
}

impl Slot {
    /// Whether a value of this shape and element type fits.
    #[inline]
    pub(crate) fn is_of(&self, shape: &[usize], dtype: DType) -> bool {
        are_equal(&self.shape, shape) && self.dtype == dtype
    }
}

/// A view whose only user, a sum, adds it to the other operand in place.
#[derive(Clone, Copy)]
pub(crate) struct DeferredView<'p> {
    /// The number of the view.
    pub(crate) id: NodeId,
    /// The view as a linear operation, and its two parts.
    pub(crate) op: &'p Linear,
    pub(crate) from: &'p View,
    pub(crate) into: &'p View,
    /// Its operand.
    pub(crate) source: NodeId,
}

/// A closed program; see the [module](self).
///
/// Example: [`Program::nodes`].
#[derive(Clone, Debug)]
pub struct Program {
    inner: Arc<Inner>,
}

/// Equality of classes: see `class.rs`.
impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        self.class() == other.class()
    }
}

impl Eq for Program {}

/// The hash that was computed when the program was made, since a body is hashed with each loop that runs it.
impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.inner.key.0);
    }
}

#[derive(Debug)]
struct Inner {
    /// The hash of inputs, operations and outputs, the class, and the number of the program.
    key: class::ClassKey,
    inputs: Vec<Slot>,
    outputs: Vec<Slot>,
    /// Shared by programs that differ in names alone.
    code: Arc<ProgramCode>,
}

/// The computation of a program, without names.
#[derive(Debug)]
struct ProgramCode {
    /// The hash of operations and results.
    hash: u64,
    /// The inputs come first, in order.
    nodes: Vec<Node>,
    results: Vec<NodeId>,
    /// For each node its last user; the node itself if it has none, and the number of nodes for results.
    last_use: Vec<NodeId>,
    /// For each node whether it is a view whose only user is a sum, which can add the view to its other operand in
    /// place.
    deferred: Vec<bool>,
    /// The source place of each operation, if that is known; no part of the equality of programs.
    places: Vec<Place>,
    /// Cached answers to questions that each loop asks about its body.
    asked: Asked,
}

impl Inner {
    /// Whether two programs are equal, where programs within operations are compared by class.
    fn is_alike(&self, other: &Inner) -> bool {
        let (a, b) = (&self.code, &other.code);
        let is_same = || Arc::ptr_eq(a, b) || a.results == b.results && a.nodes == b.nodes;
        self.inputs == other.inputs && self.outputs == other.outputs && is_same()
    }
}

/// Whether an operation counts in the size of a program.
fn counts(op: &&Op<NodeId>) -> bool {
    !matches!(op, Op::Input(_) | Op::Constant(_) | Op::Output(..))
}

impl Program {
    /// A program from parts that obey the laws.
    fn new(inputs: Vec<Slot>, nodes: Vec<Node>, places: Vec<Place>, results: Vec<NodeId>, names: &[String]) -> Program {
        let mut last_use: Vec<NodeId> = (0..nodes.len() as NodeId).collect();
        for (k, node) in nodes.iter().enumerate() {
            node.op.operands(&mut |a| last_use[*a as usize] = k as NodeId);
        }
        for result in &results {
            last_use[*result as usize] = nodes.len() as NodeId;
        }
        let (deferred, hash) = (interpret::deferred(&nodes, &results), hash_of(&(&nodes, &results)));
        let code = ProgramCode { hash, nodes, results, last_use, deferred, places, asked: Asked::default() };
        Program::of(inputs, Arc::new(code), names)
    }

    /// The program of this code, with names.
    fn of(inputs: Vec<Slot>, code: Arc<ProgramCode>, names: &[String]) -> Program {
        let slot = |(k, id): (usize, &NodeId)| {
            let node = &code.nodes[*id as usize];
            Slot { name: names.get(k).cloned().unwrap_or_default(), shape: node.shape.clone(), dtype: node.dtype }
        };
        let outputs: Vec<Slot> = code.results.iter().enumerate().map(slot).collect();
        let key = (hash_of(&(&inputs, &outputs, code.hash)), 0, 0);
        Program { inner: class::classed(Inner { key, inputs, outputs, code }) }
    }

    /// The number of the class: among all programs that exist at one time, equal programs have one number, and others
    /// have other numbers.
    pub(crate) fn class(&self) -> u64 {
        self.inner.key.1
    }

    /// The inputs.
    ///
    /// Example: [`Program::nodes`].
    pub fn inputs(&self) -> &[Slot] {
        &self.inner.inputs
    }

    /// The outputs.
    ///
    /// Example: [`Program::nodes`].
    pub fn outputs(&self) -> &[Slot] {
        &self.inner.outputs
    }

    /// The operations, operands before uses; the inputs are the first.
    ///
    /// ```
    /// use polygrad::program::{Node, NodeId, Op, Program, Slot};
    /// use polygrad::{DType, Function, Tensor, tensor};
    /// let f = Function::stage(|x: &Tensor<_, 1>| x.sin().exp(), &tensor([1.0, 2.0]));
    /// let program: &Program = f.program();
    /// let Slot { name, shape, dtype } = &program.inputs()[0];
    /// assert_eq!((&name[..], &shape[..], *dtype, program.outputs().len()), ("x", &[2][..], DType::F64, 1));
    /// // Operation 0 is the input, and operation 1 its sine.
    /// let input: NodeId = 0;
    /// let Node { op, shape, .. } = &program.nodes()[1];
    /// assert!(matches!(op, Op::Unary(_, id) if *id == input) && shape[..] == [2]);
    /// assert_eq!((program.results(), program.size()), (&[2][..], 2));
    /// assert_eq!(program.last_use(), [1, 2, 3]);
    /// ```
    pub fn nodes(&self) -> &[Node] {
        &self.inner.code.nodes
    }

    /// The numbers of the operations that are the outputs.
    ///
    /// Example: [`Program::nodes`].
    pub fn results(&self) -> &[NodeId] {
        &self.inner.code.results
    }

    /// For each operation its last user; the operation itself if it has none, and the number of operations for outputs.
    ///
    /// Example: [`Program::nodes`].
    pub fn last_use(&self) -> &[NodeId] {
        &self.inner.code.last_use
    }

    /// The source place of an operation, if that is known.
    pub(crate) fn place(&self, id: NodeId) -> Place {
        self.inner.code.places.get(id as usize).cloned().unwrap_or_default()
    }

    /// Whether an operation is a view whose only user, a sum, adds it to the other operand in place.
    pub(crate) fn is_deferred(&self, id: NodeId) -> bool {
        self.deferred(id).is_some()
    }

    /// That view, with its number and its operand.
    fn deferred(&self, id: NodeId) -> Option<DeferredView<'_>> {
        if !self.inner.code.deferred[id as usize] {
            return None;
        }
        let Op::Linear(op, source) = &self.nodes()[id as usize].op else { return None };
        let Linear::Affine { from, into } = &**op else { return None };
        Some(DeferredView { id, op, from, into, source: *source })
    }

    /// The terms of a sum that adds a view to its other operand in place: that operand, and the view.
    pub(crate) fn sum_in_place(&self, op: &Op<NodeId>) -> Option<(NodeId, DeferredView<'_>)> {
        let [a, b] = op.added()?;
        let on = |base: &NodeId, view: &NodeId| self.deferred(*view).map(|view| (*base, view));
        on(a, b).or_else(|| on(b, a))
    }

    /// The number of operations without inputs, constants and [`Op::Output`], with those of the programs that
    /// operations run. A body that several loops share counts once.
    ///
    /// Example: [`Program::nodes`].
    pub fn size(&self) -> usize {
        self.operations(run_by).filter(counts).count()
    }

    /// The size of the program itself, without bodies.
    fn own_size(&self) -> usize {
        self.nodes().iter().map(|node| &node.op).filter(counts).count()
    }

    /// The same program with other names of its inputs and outputs.
    ///
    /// # Panics
    /// When there is not one name for each.
    ///
    /// ```
    /// use polygrad::{BaseTensor, DType, ops::Unary, program::Term};
    /// let x = Term::variable(&[2], DType::F64);
    /// let p = Term::program(&[x.clone()], &[x.unary(Unary::Sin)], &["x".into()])?;
    /// let p = p.named(&["angle"], &["sine"]);
    /// assert_eq!((p.inputs()[0].name.as_str(), p.outputs()[0].name.as_str()), ("angle", "sine"));
    /// # Ok::<(), String>(())
    /// ```
    #[track_caller]
    pub fn named(&self, inputs: &[&str], outputs: &[&str]) -> Program {
        if inputs.len() != self.inputs().len() || outputs.len() != self.outputs().len() {
            panic!(
                "named: every input and output must have a name, but {} and {} were given for {} and {}; pass one for each",
                inputs.len(),
                outputs.len(),
                self.inputs().len(),
                self.outputs().len()
            );
        }
        let slots = self.inputs().iter().zip(inputs).map(|(s, n)| Slot { name: (*n).to_owned(), ..s.clone() });
        let names: Vec<String> = outputs.iter().map(|n| (*n).to_owned()).collect();
        Program::of(slots.collect(), self.inner.code.clone(), &names)
    }
}
