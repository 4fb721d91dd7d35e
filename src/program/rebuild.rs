//! Rebuilding a program: every pass that rewrites operation by operation is one traversal with another idea of what an
//! operation becomes.
//!
//! Law: the traversal goes from operands to results and makes each operation once, so it is linear in the length of the program.
//! It keeps inputs, outputs and their names, and takes the results of loops and of functions with rules, each of which may have become
//! another value. A pass itself rewrites the programs inside of an operation.

use super::{Builder, Node, NodeId, Op, Program};

/// What an operation became.
#[derive(Clone, Debug)]
pub(crate) enum Made {
    /// One value; or a loop or function with rules, whose results are taken as before.
    One(NodeId),
    /// The results of a loop or function with rules, those that are taken.
    Many(Vec<Option<NodeId>>),
}

/// What the operations of a program became so far, by their numbers.
pub(crate) struct Now(Vec<Made>);

impl Now {
    /// What an operation with one value became.
    pub(crate) fn of(&self, id: NodeId) -> NodeId {
        match &self.0[id as usize] {
            Made::One(id) => *id,
            Made::Many(_) => unreachable!("only results are taken of what has several"),
        }
    }

    /// The operation on what its operands became.
    pub(crate) fn op(&self, op: &Op<NodeId>) -> Op<NodeId> {
        op.map(&mut |a| self.of(*a))
    }

    /// The operation made again as it was, up to the rules of the builder.
    pub(crate) fn again(&self, b: &mut Builder, node: &Node) -> Made {
        if let Op::Output(of, position) = node.op
            && let Made::Many(results) = &self.0[of as usize]
        {
            return Made::One(results[position].expect("a result that is used is made"));
        }
        Made::One(b.add(self.op(&node.op), node.shape.clone(), node.dtype))
    }
}

/// What an operation of the program becomes.
pub(crate) type Make<'a> = &'a mut dyn FnMut(&mut Builder, NodeId, &Node, &Now) -> Made;

impl Builder {
    /// The operations of a program on these inputs, each as `make` says.
    pub(crate) fn remade(&mut self, program: &Program, inputs: Vec<NodeId>, make: Make<'_>) -> Now {
        let mut now = Now(inputs.into_iter().map(Made::One).collect());
        now.0.reserve(program.nodes().len() - now.0.len());
        for (k, node) in program.nodes().iter().enumerate().skip(now.0.len()) {
            let made = make(self, k as NodeId, node, &now);
            now.0.push(made);
        }
        now
    }

    /// The operations of a program on these inputs.
    pub(crate) fn copy(&mut self, program: &Program, inputs: Vec<NodeId>) -> Now {
        self.remade(program, inputs, &mut |b, _, node, now| now.again(b, node))
    }
}

impl Program {
    /// The program of this one's operations on the inputs of a builder, each as `make` says; inputs and outputs keep their names.
    pub(crate) fn rebuilt(&self, mut b: Builder, inputs: Vec<NodeId>, make: Make<'_>) -> Program {
        let now = b.remade(self, inputs, make);
        let results: Vec<NodeId> = self.results().iter().map(|r| now.of(*r)).collect();
        let names: Vec<String> = self.outputs().iter().map(|slot| slot.name.clone()).collect();
        b.finish(&results, &names)
    }
}
