//! Partial evaluation: the operations that depend on known inputs alone run once, and their results become constants.
//!
//! Words: an operation is *static* if it depends on known inputs and constants alone, otherwise *dynamic*
//! (binding-time analysis: Jones, Gomard, Sestoft, *Partial evaluation and automatic program generation*, 1993). The
//! static values that dynamic operations read are *stored*: they become constants of the program. A static value that
//! repeats the elements of a smaller one is not stored, since the repetition costs nothing where it is read.
//!
//! Law: the program has the results of the original one for the known inputs, and as many operations at most. Code of
//! the host runs in every run, also if its operands are known.

use crate::array::Array;
use crate::ops::{Call, Discrete, Linear};
use crate::program::{Builder, Constant, NodeId, Op, Program, Slot, run_by};
use crate::shape::size;

/// The program in the inputs that are not known; `known` has an item for each input, and `run` runs the static part.
pub(crate) fn partially_evaluated(
    program: &Program,
    known: &[Option<Array>],
    run: impl FnOnce(&Program, Vec<Array>) -> Vec<Array>,
) -> Program {
    let uses = Uses::of(program, known);
    let (before, of) = static_part(program, known, &uses);
    let inputs: Vec<Array> = known.iter().flatten().cloned().collect();
    let values = if of.is_empty() { Vec::new() } else { run(&before, inputs) };
    let mut stored: Vec<Option<Array>> = vec![None; program.nodes().len()];
    of.into_iter().zip(values).for_each(|(id, value)| stored[id as usize] = Some(value));
    known.iter().enumerate().for_each(|(k, input)| stored[k].clone_from(input));
    dynamic_part(program, &uses, &stored)
}

/// What becomes of a value of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The value depends on inputs that are not known.
    Dynamic,
    /// Static operations alone read the value.
    Static,
    /// A dynamic operation reads the value, which is a constant of the new program.
    Stored,
    /// A dynamic operation reads the value, whose operation stays in the new program.
    Repeated,
}

struct Uses(Vec<Use>);

impl Uses {
    fn of(program: &Program, known: &[Option<Array>]) -> Uses {
        let nodes = program.nodes();
        let mut uses: Vec<Use> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut dynamic =
                if let Op::Input(i) = &node.op { known[*i as usize].is_none() } else { calls_host(&node.op) };
            node.op.operands(&mut |a| dynamic |= uses[*a as usize] == Use::Dynamic);
            uses.push(if dynamic { Use::Dynamic } else { Use::Static });
        }
        let read = |uses: &mut Vec<Use>, a: NodeId| {
            if uses[a as usize] == Use::Static {
                let repeated = repeats(program, a);
                uses[a as usize] = if repeated { Use::Repeated } else { Use::Stored };
            }
        };
        program.results().iter().for_each(|r| read(&mut uses, *r));
        for k in (0..nodes.len()).rev() {
            if matches!(uses[k], Use::Dynamic | Use::Repeated) {
                nodes[k].op.operands(&mut |a| read(&mut uses, *a));
            }
        }
        Uses(uses)
    }

    fn get(&self, id: usize) -> Use {
        self.0[id]
    }
}

/// Whether an operation calls code of the host.
fn calls_host(op: &Op<NodeId>) -> bool {
    let external = |op: &Op<NodeId>| matches!(op, Op::Call(Call::External(_), _));
    external(op) || run_by(op).is_some_and(|program| program.operations(run_by).any(external))
}

/// Whether a value is a constant, or repeats the elements of a smaller one.
fn repeats(program: &Program, id: NodeId) -> bool {
    let node = &program.nodes()[id as usize];
    match &node.op {
        Op::Constant(_) | Op::Discrete(Discrete::Iota { .. }, _) => true,
        Op::Linear(op, a) => match &**op {
            Linear::Affine { into, .. } => {
                into.is_identity() && size(&program.nodes()[*a as usize].shape) < size(&node.shape)
            }
            Linear::Reshape { .. } => repeats(program, *a),
            Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => false,
        },
        Op::Input(_) | Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Select(_) | Op::Contract(..) => false,
        Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) | Op::Concat(..) | Op::Loop(_) => false,
        Op::Custom(..) | Op::Call(..) | Op::Output(..) => false,
    }
}

/// The program of the stored values that are no inputs, in the known inputs, and the numbers of these values.
fn static_part(program: &Program, known: &[Option<Array>], uses: &Uses) -> (Program, Vec<NodeId>) {
    let mut b = Builder::literal();
    let slots: Vec<(usize, &Slot)> = program.inputs().iter().enumerate().filter(|(k, _)| known[*k].is_some()).collect();
    let mut made: Vec<Option<NodeId>> = vec![None; program.nodes().len()];
    for (k, slot) in slots {
        made[k] = Some(b.input(slot.clone()));
    }
    let mut of = Vec::new();
    for (k, node) in program.nodes().iter().enumerate().skip(program.inputs().len()) {
        if uses.get(k) != Use::Dynamic {
            b.placed(program.place(k as NodeId));
            let op = node.op.map(&mut |a| made[*a as usize].expect("operands of static operations are static"));
            made[k] = Some(b.add(op, node.shape.clone(), node.dtype));
        }
        if uses.get(k) == Use::Stored {
            of.push(k as NodeId);
        }
    }
    let results: Vec<NodeId> = of.iter().map(|id| made[*id as usize].expect("stored values are static")).collect();
    let names = vec![String::new(); results.len()];
    (b.finish(&results, &names), of)
}

/// The program in the inputs that are not known.
fn dynamic_part(program: &Program, uses: &Uses, stored: &[Option<Array>]) -> Program {
    let mut b = Builder::literal();
    let mut made: Vec<Option<NodeId>> = vec![None; program.nodes().len()];
    for (k, slot) in program.inputs().iter().enumerate().filter(|(k, _)| uses.get(*k) == Use::Dynamic) {
        made[k] = Some(b.input(slot.clone()));
    }
    for (k, node) in program.nodes().iter().enumerate() {
        b.placed(program.place(k as NodeId));
        match uses.get(k) {
            Use::Static => {}
            Use::Dynamic if k < program.inputs().len() => {}
            Use::Stored => {
                let value = stored[k].clone().expect("a stored value was computed");
                made[k] = Some(b.apply(Op::Constant(Constant(value))));
            }
            Use::Dynamic | Use::Repeated => {
                let op = node.op.map(&mut |a| made[*a as usize].expect("operands come before"));
                made[k] = Some(b.add(op, node.shape.clone(), node.dtype));
            }
        }
    }
    let results: Vec<NodeId> = program.results().iter().map(|r| made[*r as usize].expect("a result is made")).collect();
    let names: Vec<String> = program.outputs().iter().map(|slot| slot.name.clone()).collect();
    b.finish(&results, &names)
}
