//! While loops that end after the same trip become one: values of a loop, and values with tangents of the same loop.
//!
//! A program that takes the value of a function and its derivative has two loops if the function ends by itself. Two
//! loops are joined if they start alike, have the same bound, and the masks of their carries are equal in every trip.
//! Carries are equal in every trip if they start as the same value and each trip maps equal carries to equal carries:
//! the coarsest such partition of the carries of both loops is found by refinement. Carries of one class are one carry
//! of the joined loop, so no carry is computed twice.
//!
//! Law: values are unchanged, to the bit. Neither loop may depend on a result of the other; what the later one takes is
//! computed before the joined loop.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use indexmap::IndexSet;

use crate::program::{
    Builder, Custom, CustomKind, Loop, NodeId, Now, Op, Program, Rebuilt, Slot, valid_by_construction,
};

/// The program in which while loops that end after the same trip are one loop.
///
/// ```
/// use polygrad::passes::{join_while_loops, simplify};
/// use polygrad::{BaseTensor, Function, Tensor, tensor, while_loop};
/// fn last<T: BaseTensor>(x: &Tensor<T, 0>, y: &Tensor<T, 0>) -> Tensor<T, 0> {
///     while_loop((x.clone(), y.clone()), |(x, _)| x.lt(10.0), |(x, y)| (&x * 2.0, &x + y)).1
/// }
/// let both = Function::stage_with(|x, y| last(x, y) * last(x, &y.sin()), &tensor(1.0), &tensor(2.0));
/// let loops = |text: String| text.matches("while").count();
/// assert_eq!([both.program().to_string(), join_while_loops(both.program()).to_string()].map(loops), [2, 1]);
/// ```
pub fn join_while_loops(program: &Program) -> Program {
    joined(program).unwrap_or_else(|| program.clone())
}

/// [`join_while_loops`]; `None` if nothing changes.
pub(super) fn joined(program: &Program) -> Option<Program> {
    if program.is_shared() {
        return None;
    }
    let inside = within(program);
    let mut all = inside.as_ref().unwrap_or(program).clone();
    let mut any = inside.is_some();
    while let Some(next) = one_pair(&all) {
        (all, any) = (next, true);
    }
    any.then_some(all)
}

/// The program with the programs inside its operations joined; `None` if nothing changes.
fn within(program: &Program) -> Option<Program> {
    let mut inside: BTreeMap<NodeId, Op<NodeId>> = BTreeMap::new();
    for (k, node) in program.nodes().iter().enumerate() {
        let mut changes = false;
        let mut body = |p: &Program| {
            let next = joined(p);
            changes |= next.is_some();
            next.unwrap_or_else(|| p.clone())
        };
        let op = if let Op::Loop(l) = &node.op {
            Op::Loop(Box::new(Loop { body: body(&l.body), ..(**l).clone() }))
        } else if let Op::Custom(custom, args) = &node.op {
            Op::Custom(custom.map(&mut body).into(), args.clone())
        } else {
            continue;
        };
        if changes {
            inside.insert(k as NodeId, op);
        }
    }
    if inside.is_empty() {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    Some(program.rebuilt(b, inputs, &mut |b, k, node, now| match inside.get(&k) {
        Some(op) => Rebuilt::One(b.add(now.op(op), node.shape.clone(), node.dtype)),
        None => now.again(b, node),
    }))
}

/// A while loop of a program.
#[derive(Clone, Copy)]
struct While<'a> {
    at: NodeId,
    custom: &'a Custom,
    most: Option<usize>,
    args: &'a [NodeId],
}

impl While<'_> {
    fn carried(&self) -> usize {
        self.custom.primal().outputs().len()
    }
}

/// The program with the first pair of loops joined that can be; `None` without such a pair.
fn one_pair(program: &Program) -> Option<Program> {
    let mut loops: Vec<While<'_>> = Vec::new();
    for (at, node) in (0..).zip(program.nodes()) {
        if let Op::Custom(custom, args) = &node.op
            && let CustomKind::While { most } = custom.kind()
        {
            let later = While { at, custom, most: *most, args };
            for earlier in &loops {
                if let Some(both) = Joined::of([*earlier, later])
                    && let Some(program) = both.program(program, [*earlier, later])
                {
                    return Some(program);
                }
            }
            loops.push(later);
        }
    }
    None
}

/// Two loops as one.
struct Joined {
    custom: Custom,
    /// The arguments, by their numbers in the program.
    args: Vec<NodeId>,
    /// The carry of the joined loop for each carry of the two loops.
    classes: Vec<usize>,
}

/// The number of each key, by first appearance, and how many there are.
fn numbered<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> (Vec<usize>, usize) {
    let mut known = IndexSet::new();
    let numbers = keys.map(|key| known.insert_full(key).0).collect();
    (numbers, known.len())
}

impl Joined {
    fn of(loops: [While<'_>; 2]) -> Option<Joined> {
        let [x, y] = loops;
        if x.most != y.most || x.args[0] != y.args[0] {
            return None;
        }
        let init: Vec<NodeId> = [&x.args[..x.carried()], &y.args[..y.carried()]].concat();
        let (mut classes, mut count) = numbered(init.iter());
        let captured: IndexSet<NodeId> = loops.iter().flat_map(|l| l.args[l.carried()..].iter().copied()).collect();
        let (body, next) = loop {
            let (body, next) = trip(loops, (&classes, count), &captured);
            let (finer, more) = numbered(classes.iter().zip(&next));
            if finer[0] != finer[x.carried()] {
                return None;
            }
            if more == count {
                break (body, next);
            }
            (classes, count) = (finer, more);
        };
        let first = |class: usize| classes.iter().position(|c| *c == class);
        let members: Vec<usize> = (0..count).filter_map(first).collect();
        let results: Vec<NodeId> = members.iter().map(|k| next[*k]).collect();
        // The carries of two loops are a carry.
        let body = body.finish(&results, &[]);
        let custom = valid_by_construction(Custom::while_loop(x.custom.name(), body, x.most));
        let args = members.iter().map(|k| init[*k]).chain(captured).collect();
        Some(Joined { custom, args, classes })
    }

    /// The program with the joined loop in place of two; `None` if the later one depends on the earlier one.
    fn program(self, program: &Program, loops: [While<'_>; 2]) -> Option<Program> {
        let order = order(program, loops)?;
        let [x, y] = loops.map(|l| l.at);
        let carried = loops[0].carried();
        let mut b = Builder::literal();
        let inputs = b.inputs(program.inputs(), &[]);
        let mut now = Now::inputs(program, &inputs);
        for k in order {
            let before = b.placed(program.place(k));
            let next = if k == x {
                let args = self.args.iter().map(|a| now.of(*a)).collect();
                let of = b.apply(Op::Custom(Arc::new(self.custom.clone()), args));
                let results: Vec<Option<NodeId>> =
                    self.classes.iter().map(|class| Some(b.apply(Op::Output(of, *class)))).collect();
                now.set(y, Rebuilt::Many(results[carried..].to_vec()));
                Rebuilt::Many(results[..carried].to_vec())
            } else {
                now.again(&mut b, &program.nodes()[k as usize])
            };
            b.placed(before);
            now.set(k, next);
        }
        let results: Vec<NodeId> = program.results().iter().map(|r| now.of(*r)).collect();
        let names: Vec<String> = program.outputs().iter().map(|slot| slot.name.clone()).collect();
        Some(b.finish(&results, &names))
    }
}

/// One trip of both loops, whose carries of one class are one input: the next values of all carries.
fn trip(
    loops: [While<'_>; 2],
    (classes, count): (&[usize], usize),
    captured: &IndexSet<NodeId>,
) -> (Builder, Vec<NodeId>) {
    let [x, y] = loops;
    let mut slots: Vec<Option<Slot>> = vec![None; count + captured.len()];
    let mut places: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
    for (l, (places, classes)) in
        loops.iter().zip(places.iter_mut().zip([&classes[..x.carried()], &classes[x.carried()..]]))
    {
        for (k, (slot, arg)) in l.custom.primal().inputs().iter().zip(l.args).enumerate() {
            let place =
                classes.get(k).copied().unwrap_or_else(|| count + captured.get_index_of(arg).unwrap_or_default());
            slots[place].get_or_insert_with(|| Slot { name: String::new(), ..slot.clone() });
            places.push(place);
        }
    }
    let mut b = Builder::literal();
    let inputs: Vec<NodeId> = slots.into_iter().flatten().map(|slot| b.input(slot)).collect();
    let mut next = Vec::with_capacity(x.carried() + y.carried());
    for (l, places) in loops.iter().zip(places) {
        let now = b.copy(l.custom.primal(), places.into_iter().map(|place| inputs[place]).collect());
        next.extend(l.custom.primal().results().iter().map(|r| now.of(*r)));
    }
    (b, next)
}

/// The operations of a program but its inputs and the later loop, in an order in which the arguments of the later loop
/// come before the earlier loop; `None` if they depend on the earlier loop.
fn order(program: &Program, [x, y]: [While<'_>; 2]) -> Option<Vec<NodeId>> {
    // What the later loop needs, of the operations after the earlier one.
    let mut needed = vec![false; (y.at - x.at) as usize];
    let mark = |needed: &mut Vec<bool>, a: NodeId| {
        if let Some(a) = a.checked_sub(x.at) {
            needed[a as usize] = true;
        }
    };
    y.args.iter().for_each(|a| mark(&mut needed, *a));
    for k in (x.at..y.at).rev() {
        if needed[(k - x.at) as usize] {
            program.nodes()[k as usize].op.operands(&mut |a| mark(&mut needed, *a));
        }
    }
    if needed[0] {
        return None;
    }
    let is_needed = |k: &NodeId| needed[(*k - x.at) as usize];
    let start = program.inputs().len() as NodeId;
    let (first, rest): (Vec<NodeId>, Vec<NodeId>) = (x.at..y.at).partition(is_needed);
    let end = program.nodes().len() as NodeId;
    Some((start..x.at).chain(first).chain(rest).chain(y.at + 1..end).collect())
}
