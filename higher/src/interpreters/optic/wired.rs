//! Translation of recorded programs to programs of wires.
//!
//! Law: the program of wires has the values of the recorded program, and its optic the derivatives.

use std::rc::Rc;

use polygrad::dtype::DType;
use polygrad::ops::Discrete;
use polygrad::program::{Builder, Node, NodeId, Op, Program, Slot};
use polygrad::shape::Shape;

use super::super::lambda::AnyPrimitive;
use super::diagram::{
    Application, Casing, Diagram, Rewiring, Sequence, cases, either, first, list, operation, second, sequence, then,
    wires,
};
use super::operation::Operation;
use super::{Wire, Wiring};
use crate::primitive::{Comparison, Constant, Pointwise, Pointwise2, kinds, leaves};
use crate::{Ground, Layout};

/// A first-order program as a program of wires, where each operation is a primitive; a selection between numbers by
/// one mask becomes a branch. Its inputs are the leaves of `A`, its results those of `B`.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::{Staged, Wiring, wired};
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2};
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| x.at() * y.at())
/// }
/// type First = ReverseOptic<Wires<Run<Array>>>;
/// let x = (tensor(2.0), tensor(3.0));
/// let optic = wired::<First, Prod<Real, Real>, Real>(&higher::stage(program(), &x));
/// let [forward, back] = &First::stages(&optic)[..] else { panic!("two programs") };
/// assert_eq!(forward.take::<Prod<Real, Real>, Real>(&x), tensor(6.0));
/// assert_eq!(back.take::<Real, Prod<Real, Real>>(&tensor(1.0)), (tensor(3.0), tensor(2.0)));
/// ```
///
/// # Panics
/// When the numbers of inputs and results of the program are not those of the leaves of `A` and `B`.
#[track_caller]
pub fn wired<W: Wiring, A: Ground, B: Ground>(program: &Program) -> Wire<W, A, B> {
    let (inputs, results) = (program.inputs().len(), program.outputs().len());
    let (given, wanted) = (leaves(&A::layout()), leaves(&B::layout()));
    if (inputs, results) != (given, wanted) {
        panic!(
            "wired: the program must have {given} inputs and {wanted} results, but it has {inputs} and {results}; give the types of \
             the program"
        );
    }
    Wire::of(sequence(of_program(program, [A::layout(), B::layout()], &vec![true; results], true)))
}

/// [`of_program`] without branches.
pub(super) fn without_branches(program: &Program, types: [Layout; 2], present: &[bool]) -> Sequence {
    of_program(program, types, present, false)
}

/// The sequence of a recorded program. `present` says which leaves of `to` are its results; the others are zero. With
/// `branches`, a selection between numbers by one mask is a branch.
fn of_program(program: &Program, [from, to]: [Layout; 2], present: &[bool], branches: bool) -> Sequence {
    let mut numbers: Vec<usize> = Vec::with_capacity(program.nodes().len());
    let (mut steps, mut count) = (Vec::new(), program.inputs().len());
    for (id, node) in program.nodes().iter().enumerate() {
        if let Op::Input(k) = &node.op {
            numbers.push(*k as usize);
            continue;
        }
        if let Op::Output(of, k) = &node.op {
            let among = read(program, *of).iter().position(|output| output == k).expect("it is read here");
            numbers.push(numbers[*of as usize] + among);
            continue;
        }
        let mut operands: Vec<NodeId> = Vec::new();
        node.op.operands(&mut |a| operands.push(*a));
        let (run, made) = step(program, id as NodeId, node, &operands, branches);
        numbers.push(count);
        let operands = operands.iter().map(|a| numbers[*a as usize]).collect();
        steps.push(Application { run, operands, results: count..count + made });
        count += made;
    }
    let mut results = program.results().iter().map(|id| numbers[*id as usize]);
    let results = present.iter().map(|present| if *present { results.next() } else { None }).collect();
    Sequence { from, to, steps, results, count }
}

/// One operation of a program, and the number of its results.
fn step(program: &Program, id: NodeId, node: &Node, operands: &[NodeId], branches: bool) -> (Diagram, usize) {
    let scalar = |node: &Node| (node.shape.len(), node.dtype) == (0, DType::F64);
    let numbers = operands.iter().all(|a| scalar(&program.nodes()[*a as usize]));
    // The operands are the list of a mask and two numbers.
    if matches!(node.op, Op::Select(_)) && scalar(node) && branches {
        let which = then(cases(Casing::Branch), either(first(), second()));
        return (then(wires(Rewiring::Swap), then(which, cases(Casing::Join))), 1);
    }
    let text: Option<Rc<dyn AnyPrimitive>> = if let Op::Constant(c) = &node.op {
        scalar(node).then(|| Rc::new(Constant::<0>::new(c.0.clone())) as _)
    } else if !numbers {
        None
    } else if let Op::Unary(op, _) = &node.op {
        Some(Rc::new(Pointwise::<0>(*op)))
    } else if let Op::Binary(op, ..) = &node.op {
        Some(Rc::new(Pointwise2::<0>(*op)))
    } else if let Op::Discrete(Discrete::Compare(op), _) = &node.op {
        Some(Rc::new(Comparison(*op)))
    } else {
        None
    };
    alone(program, id, node, operands, text)
}

/// One operation as a program, and the number of its results.
fn alone(
    program: &Program,
    id: NodeId,
    node: &Node,
    operands: &[NodeId],
    text: Option<Rc<dyn AnyPrimitive>>,
) -> (Diagram, usize) {
    let mut builder = Builder::literal();
    let slot = |a: &NodeId| {
        let of = &program.nodes()[*a as usize];
        Slot { name: String::new(), shape: of.shape.clone(), dtype: of.dtype }
    };
    let slots: Vec<Slot> = operands.iter().map(slot).collect();
    let mut inputs = slots.iter().map(|slot| builder.input(slot.clone())).collect::<Vec<NodeId>>().into_iter();
    let op = node.op.map(&mut |_| inputs.next().expect("an input for each operand"));
    let several = matches!(op, Op::Loop(_) | Op::Call(..) | Op::Custom(..));
    let made = builder.add(op.clone(), node.shape.clone(), node.dtype);
    let results = match several {
        true => read(program, id).into_iter().map(|k| builder.apply(Op::Output(made, k))).collect(),
        false => vec![made],
    };
    let leaf = |shape: &[usize], dtype| Layout::Leaf(shape.len(), dtype);
    let to = results.iter().map(|id| leaf(&builder.node(*id).shape, builder.node(*id).dtype)).collect();
    let layouts = [list(slots.iter().map(|slot| leaf(&slot.shape, slot.dtype)).collect()), list(to)];
    let count = results.len();
    (operation(Operation::one(op, builder.finish(&results, &[]), layouts, text)), count)
}

/// The results of an operation that are read, of one with several results.
fn read(program: &Program, id: NodeId) -> Vec<usize> {
    let of = |node: &Node| if let Op::Output(of, k) = &node.op { (*of == id).then_some(*k) } else { None };
    program.nodes().iter().filter_map(of).collect()
}

/// A reverse derivative of numbers as operations of the tables; `None` if it has other operations or values.
pub(super) fn written(op: &Operation) -> Option<Diagram> {
    let [from, to] = op.types();
    let numbers = |layout: &Layout| kinds(layout).iter().all(|kind| *kind == (0, DType::F64));
    if !numbers(&from) || !numbers(&to) {
        return None;
    }
    let scalars = vec![Some(Shape::new()); leaves(&from)];
    let (program, present) = op.program(&scalars);
    let plain = |node: &Node| matches!(node.op, Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..));
    if !program.nodes().iter().all(plain) || !present.iter().all(|present| *present) {
        return None;
    }
    Some(sequence(without_branches(&program, [from, to], &present)))
}
