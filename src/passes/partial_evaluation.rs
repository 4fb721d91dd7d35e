//! Partial evaluation: the operations that depend on known inputs alone run once, and their results become constants.
//!
//! Words: an operation is *static* if it depends on known inputs and constants alone, otherwise *dynamic*
//! (binding-time analysis: Jones, Gomard, Sestoft, *Partial evaluation and automatic program generation*, 1993). The
//! static values that dynamic operations read are *stored*: they become constants of the program. A static value that
//! repeats the elements of a smaller one is not stored, since the repetition costs nothing where it is read.
//!
//! Of a program without known inputs, the results of operations on its constants become constants where that pays.
//!
//! Law: the program has the results of the original one for the known inputs, and as many operations at most. Code of
//! the host runs in every run, even if its operands are known.

use crate::array::{Array, with_elem};
use crate::ops::{Call, Discrete, Linear};
use crate::program::{Builder, Constant, Node, NodeId, Op, OpClass, Program, Single, Slot, run_by, taps};
use crate::shape::size;

/// The program in the inputs that are not known; `known` has an item for each input, and `run` runs the static part.
pub(crate) fn partially_evaluated(
    program: &Program,
    known: &[Option<Array>],
    run: impl FnOnce(&Program, Vec<Array>) -> Vec<Array>,
) -> Program {
    evaluated(program, known, &Uses::of(program, known, |id| repeats(program, id)), run)
}

/// The program in which the results of operations on large constants are constants, where reading these takes no longer
/// than computing them; `None` without such results.
pub(crate) fn constants_evaluated(
    program: &Program,
    run: impl FnOnce(&Program, Vec<Array>) -> Vec<Array>,
) -> Option<Program> {
    let is_large = |node: &Node| matches!(&node.op, Op::Constant(_)) && read(node) > 1;
    if !program.nodes().iter().any(is_large) {
        return None;
    }
    let known = vec![None; program.inputs().len()];
    let pays = Pays::of(program);
    // Of an operation with several results, the results are stored.
    let several = |id: NodeId| matches!(program.nodes()[id as usize].op, Op::Loop(_) | Op::Custom(..) | Op::Call(..));
    let uses = Uses::of(program, &known, |id| !pays.0[id as usize] || several(id));
    uses.0.contains(&Use::Stored).then(|| evaluated(program, &known, &uses, run))
}

fn evaluated(
    program: &Program,
    known: &[Option<Array>],
    uses: &Uses,
    run: impl FnOnce(&Program, Vec<Array>) -> Vec<Array>,
) -> Program {
    let (before, of) = static_part(program, known, uses);
    let inputs: Vec<Array> = known.iter().flatten().cloned().collect();
    let values = if of.is_empty() { Vec::new() } else { run(&before, inputs) };
    let mut stored: Vec<Option<Array>> = vec![None; program.nodes().len()];
    of.into_iter().zip(values).for_each(|(id, value)| stored[id as usize] = Some(value));
    known.iter().enumerate().for_each(|(k, input)| stored[k].clone_from(input));
    // Equal elements are one number to the rules: a mask that holds nowhere chooses nothing.
    stored.iter_mut().flatten().for_each(Array::make_one_if_equal);
    dynamic_part(program, uses, &stored)
}

/// Whether each value is worth a constant: it depends on a large constant, and a run that reads the value reads no more
/// elements than a run that computes the value.
struct Pays(Vec<bool>);

impl Pays {
    fn of(program: &Program) -> Pays {
        let nodes = program.nodes();
        // For each value, the elements that a run reads if the value is not a constant, and whether it pays to make it one.
        let (mut reads, mut pays): (Vec<usize>, Vec<bool>) = (Vec::new(), Vec::new());
        for (k, node) in nodes.iter().enumerate() {
            let mut all = 0usize;
            node.op.operands(&mut |a| all = all.saturating_add(reads[*a as usize]));
            let n = size(&node.shape);
            let worth = match EvaluationTask::of(&node.op) {
                EvaluationTask::None => matches!(&node.op, Op::Output(of, _) if pays[*of as usize]),
                EvaluationTask::ElementByElement => n <= all && !repeats(program, k as NodeId),
                EvaluationTask::More => all > 0,
            };
            reads.push(if let Op::Constant(_) = &node.op {
                read(node)
            } else if worth {
                n
            } else {
                all
            });
            pays.push(worth);
        }
        Pays(pays)
    }
}

/// The elements that a run reads of a constant, unless they are all equal.
fn read(node: &Node) -> usize {
    let Op::Constant(constant) = &node.op else { return 0 };
    let one = with_elem!(node.dtype, E => constant.0.splat::<E>().is_some());
    if one { 0 } else { constant.0.size() }
}

/// How much an operation computes for each element of its result.
enum EvaluationTask {
    /// Nothing: a name, or a view, which the operation that reads it follows.
    None,
    ElementByElement,
    /// A sum, a search, or a program.
    More,
}

impl EvaluationTask {
    fn of(op: &Op<NodeId>) -> EvaluationTask {
        let op = match op.class() {
            OpClass::Single(op) => op,
            OpClass::Input(_) | OpClass::Constant(_) | OpClass::Output(..) => return EvaluationTask::None,
            OpClass::Loop(_) | OpClass::Custom(..) | OpClass::Call(..) => return EvaluationTask::More,
        };
        if let Single::Linear(op, _) = op {
            return match op {
                Linear::Affine { into, .. } if !into.is_identity() => EvaluationTask::ElementByElement,
                Linear::Affine { .. } | Linear::Reshape { .. } => EvaluationTask::None,
                Linear::Cast { .. } => EvaluationTask::ElementByElement,
                Linear::Fourier { .. } | Linear::PrefixSum { .. } => EvaluationTask::More,
            };
        }
        let sums = matches!(op, Single::Contract(op, ..) if size(op.a.shape()) > size(op.out.source()));
        if matches!(op, Single::Discrete(Discrete::Iota { .. }, _)) {
            EvaluationTask::None
        } else if sums || matches!(op, Single::Reduce(..)) {
            EvaluationTask::More
        } else {
            EvaluationTask::ElementByElement
        }
    }
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
    /// The uses of values; those that are read and stay are repeated.
    fn of(program: &Program, known: &[Option<Array>], stays: impl Fn(NodeId) -> bool) -> Uses {
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
                uses[a as usize] = if stays(a) { Use::Repeated } else { Use::Stored };
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

/// Whether an operation calls code of the host, or has taps, which each run shows.
fn calls_host(op: &Op<NodeId>) -> bool {
    let external = |op: &Op<NodeId>| matches!(op, Op::Call(Call::External(_), _));
    taps(op) || external(op) || run_by(op).is_some_and(|program| program.operations(run_by).any(external))
}

/// Whether a value is a constant, or repeats the elements of a smaller one.
fn repeats(program: &Program, id: NodeId) -> bool {
    let node = &program.nodes()[id as usize];
    let Op::Linear(op, a) = &node.op else {
        return matches!(node.op, Op::Constant(_) | Op::Discrete(Discrete::Iota { .. }, _));
    };
    match &**op {
        Linear::Affine { into, .. } => {
            into.is_identity() && size(&program.nodes()[*a as usize].shape) < size(&node.shape)
        }
        Linear::Reshape { .. } => repeats(program, *a),
        Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => false,
    }
}

/// The program of the stored values that are not inputs, in the known inputs, and the numbers of these values.
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
