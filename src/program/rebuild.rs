//! Rebuilding a program: the traversal of every pass that rewrites operation by operation.
//!
//! The traversal calls a given function, which makes the new form of an operation.
//!
//! Law: the traversal goes from operands to results and makes each operation once, so it is linear in the length of the
//! program. It keeps inputs, outputs and their names, and resolves the outputs of operations with several results,
//! where each result may have become another value. Programs inside an operation are left to the pass.

use super::{Builder, Loop, Node, NodeId, Op, Program, Results};

/// The new form of an operation: one value, or an operation with several results whose outputs are read as before; or the
/// used results of an operation with several results.
pub(crate) type Rebuilt = Results<NodeId, Option<NodeId>>;

/// The new forms of the operations of a program so far, by their numbers.
pub(crate) struct Now(Vec<Rebuilt>);

impl Now {
    /// No operation but the inputs, for a pass that makes the operations of a program in another order.
    pub(crate) fn inputs(program: &Program, inputs: &[NodeId]) -> Now {
        let mut now = vec![Rebuilt::Many(Vec::new()); program.nodes().len()];
        now.iter_mut().zip(inputs).for_each(|(now, id)| *now = Rebuilt::One(*id));
        Now(now)
    }

    /// Sets the new form of an operation.
    pub(crate) fn set(&mut self, id: NodeId, made: Rebuilt) {
        self.0[id as usize] = made;
    }

    /// The new number of an operation with one value.
    pub(crate) fn of(&self, id: NodeId) -> NodeId {
        *self.0[id as usize].one()
    }

    /// The operation on the new forms of its operands.
    pub(crate) fn op(&self, op: &Op<NodeId>) -> Op<NodeId> {
        op.map(&mut |a| self.of(*a))
    }

    /// The loop on the new forms of its operands.
    pub(crate) fn looped(&self, l: &Loop<NodeId>) -> Loop<NodeId> {
        l.map(&mut |a| self.of(*a))
    }

    /// The same operation on the new forms of its operands, up to the rules of the builder.
    pub(crate) fn again(&self, b: &mut Builder, node: &Node) -> Rebuilt {
        if let Op::Output(of, position) = node.op
            && let Rebuilt::Many(results) = &self.0[of as usize]
        {
            return Rebuilt::One(results[position].expect("a result that is used is made"));
        }
        Rebuilt::One(b.add(self.op(&node.op), node.shape.clone(), node.dtype))
    }
}

/// Makes the new form of an operation of the program.
pub(crate) type Make<'a> = &'a mut dyn FnMut(&mut Builder, NodeId, &Node, &Now) -> Rebuilt;

impl Builder {
    /// Rebuilds the operations of a program on these inputs with `make`.
    pub(crate) fn remade(&mut self, program: &Program, inputs: Vec<NodeId>, make: Make<'_>) -> Now {
        let mut now = Now(inputs.into_iter().map(Rebuilt::One).collect());
        now.0.reserve_exact(program.nodes().len() - now.0.len());
        self.reserve(program.nodes().len() - now.0.len());
        for (k, node) in program.nodes().iter().enumerate().skip(now.0.len()) {
            let before = self.placed(program.place(k as NodeId));
            let made = make(self, k as NodeId, node, &now);
            self.placed(before);
            now.0.push(made);
        }
        now
    }

    /// Copies the operations of a program onto these inputs.
    pub(crate) fn copy(&mut self, program: &Program, inputs: Vec<NodeId>) -> Now {
        self.remade(program, inputs, &mut |b, _, node, now| now.again(b, node))
    }
}

impl Program {
    /// This program rebuilt with `make` on the inputs of a builder; inputs and outputs keep their names.
    pub(crate) fn rebuilt(&self, mut b: Builder, inputs: Vec<NodeId>, make: Make<'_>) -> Program {
        let now = b.remade(self, inputs, make);
        let results: Vec<NodeId> = self.results().iter().map(|r| now.of(*r)).collect();
        let names: Vec<String> = self.outputs().iter().map(|slot| slot.name.clone()).collect();
        b.finish(&results, &names)
    }
}
