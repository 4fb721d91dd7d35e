//! Making programs: operation by operation, each at most once.
//!
//! Law: a builder's program means what it was told, up to rounding. Equal operations are one
//! (hash-consing), what nothing uses is left out, and the local rules of [`super::rules`] come with construction.

use std::collections::HashMap;

use super::{Node, NodeId, Op, Program, Slot, rules};
use crate::dtype::DType;
use crate::shape::Shape;

/// A program under construction.
#[derive(Default)]
pub struct Builder {
    inputs: Vec<Slot>,
    nodes: Vec<Node>,
    /// Only ever looked up, so that its order is nobody's business.
    known: HashMap<Op<NodeId>, NodeId>,
}

impl Builder {
    /// An empty program.
    ///
    /// ```
    /// use polygrad::program::Builder;
    /// assert_eq!(Builder::new().finish(&[], &[]).size(), 0);
    /// ```
    pub fn new() -> Builder {
        Builder::default()
    }

    /// A new input. Inputs come before everything else.
    ///
    /// # Panics
    /// When an operation was added before.
    ///
    /// ```
    /// use polygrad::{DType, program::{Builder, Slot}, shape::Shape};
    /// let mut b = Builder::new();
    /// let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[2]), dtype: DType::F64 });
    /// assert_eq!((x, b.finish(&[x], &[]).inputs().len()), (0, 1));
    /// ```
    #[track_caller]
    pub fn input(&mut self, slot: Slot) -> NodeId {
        if self.nodes.len() > self.inputs.len() {
            panic!("input: inputs must come before operations, but there are operations already; add the inputs first");
        }
        let id = self.nodes.len() as NodeId;
        let op = Op::Input(u64::from(id));
        self.nodes.push(Node { op: op.clone(), shape: slot.shape.clone(), dtype: slot.dtype });
        self.known.insert(op, id);
        self.inputs.push(slot);
        id
    }

    /// The result of an operation whose shape and element type are known: simplified, and only made
    /// if it is new.
    ///
    /// ```
    /// use polygrad::{DType, ops::Unary, program::{Builder, Op, Slot}, shape::Shape};
    /// let mut b = Builder::new();
    /// let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[2]), dtype: DType::F64 });
    /// let y = b.add(Op::Unary(Unary::Sin, x), Shape::from_slice(&[2]), DType::F64);
    /// assert_eq!(b.add(Op::Unary(Unary::Sin, x), Shape::from_slice(&[2]), DType::F64), y);
    /// ```
    pub fn add(&mut self, op: Op<NodeId>, shape: Shape, dtype: DType) -> NodeId {
        match rules::simplify(self, &op, &shape, dtype) {
            Some(id) => id,
            None => self.cons(op, shape, dtype),
        }
    }

    /// The result of an operation as it is.
    pub(super) fn cons(&mut self, op: Op<NodeId>, shape: Shape, dtype: DType) -> NodeId {
        if let Some(id) = self.known.get(&op) {
            return *id;
        }
        let id = NodeId::try_from(self.nodes.len()).expect("a program has fewer than 2^32 operations");
        self.nodes.push(Node { op: op.clone(), shape, dtype });
        self.known.insert(op, id);
        id
    }

    /// An operation made so far.
    ///
    /// # Panics
    /// When no operation has this number.
    ///
    /// ```
    /// use polygrad::{DType, program::{Builder, Slot}, shape::Shape};
    /// let mut b = Builder::new();
    /// let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[2]), dtype: DType::F64 });
    /// assert_eq!(b.node(x).shape[..], [2]);
    /// ```
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The program of some results. Inputs stay, used or not; everything else that no result depends on goes.
    ///
    /// # Panics
    /// When a result is past the last operation made.
    ///
    /// ```
    /// use polygrad::{DType, ops::Unary, program::{Builder, Op, Slot}, shape::Shape};
    /// let mut b = Builder::new();
    /// let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[2]), dtype: DType::F64 });
    /// let y = b.add(Op::Unary(Unary::Sin, x), Shape::from_slice(&[2]), DType::F64);
    /// let program = b.finish(&[y], &["y".into()]);
    /// assert_eq!((program.size(), program.outputs()[0].name.as_str()), (1, "y"));
    /// ```
    pub fn finish(self, results: &[NodeId], names: &[String]) -> Program {
        let mut live = vec![false; self.nodes.len()];
        live[..self.inputs.len()].fill(true);
        results.iter().for_each(|r| live[*r as usize] = true);
        for k in (0..self.nodes.len()).rev() {
            if live[k] {
                self.nodes[k].op.operands(&mut |a| live[*a as usize] = true);
            }
        }
        let mut numbers = vec![0; self.nodes.len()];
        let mut nodes: Vec<Node> = Vec::new();
        for (k, node) in self.nodes.into_iter().enumerate().filter(|(k, _)| live[*k]) {
            numbers[k] = nodes.len() as NodeId;
            nodes.push(Node { op: node.op.map(&mut |a| numbers[*a as usize]), ..node });
        }
        let results = results.iter().map(|r| numbers[*r as usize]).collect();
        Program::new(self.inputs, nodes, results, names)
    }
}
