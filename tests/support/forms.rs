//! The normal forms of theorem 5.1 of "Dual arrays": the form of programs in bulk.
#![allow(dead_code)]

use polygrad::ops::{Linear, View};
use polygrad::program::{Constant, NodeId, Op, Program};
use polygrad::shape::size;
use polygrad::{Array, BaseTensor};

/// Whether no loop of the program, inside of others and of rules included, is without a carry.
#[allow(clippy::wildcard_enum_match_arm, reason = "other operations contain no loops")]
pub(crate) fn has_no_build(program: &Program) -> bool {
    program.nodes().iter().all(|node| match &node.op {
        Op::Loop(l) => !l.init.is_empty() && has_no_build(&l.body),
        Op::Custom(c, _) => [Some(c.primal()), c.jvp(), c.vjp()].into_iter().flatten().all(has_no_build),
        _ => true,
    })
}

/// How many single elements are read, inside of loops included.
#[allow(clippy::wildcard_enum_match_arm, reason = "everything else reads nothing at an index")]
pub(crate) fn single_reads(program: &Program) -> usize {
    let nodes = program.nodes();
    let reads = |op: &Op<_>| match op {
        Op::Gather(_, ix) => usize::from(ix.iter().all(|i| nodes[*i as usize].shape.is_empty())),
        Op::Loop(l) => single_reads(&l.body),
        _ => 0,
    };
    nodes.iter().map(|node| reads(&node.op)).sum()
}

/// The second half of the theorem: at one index is read only of a variable (an input, a shared value, the result of a
/// loop), of a constant, of what was read at indices, of parts put together, or of a scatter. Reading anything else is
/// reading its operands; but for that an operation must make 0 of 0 where an index may be out of bounds, and have more
/// than a few times the results that are read, or computing them all is cheaper.
#[allow(clippy::wildcard_enum_match_arm, reason = "everything else is read through")]
pub(crate) fn reads_only_variables(program: &Program) -> bool {
    let nodes = program.nodes();
    let mut uses = vec![0_u32; nodes.len()];
    nodes.iter().for_each(|node| node.op.operands(&mut |a| uses[*a as usize] += 1));
    program.results().iter().for_each(|r| uses[*r as usize] += 1);
    nodes.iter().all(|node| match &node.op {
        Op::Gather(of, ix) if ix.iter().all(|i| nodes[*i as usize].shape.is_empty()) => {
            is_read(program, &uses, *of, ix.len(), size(&node.shape))
        }
        Op::Loop(l) => reads_only_variables(&l.body),
        _ => true,
    })
}

/// Whether this is what so many elements are read of, at so many indices.
#[allow(clippy::wildcard_enum_match_arm, reason = "everything else is read through")]
fn is_read(program: &Program, uses: &[u32], of: NodeId, indexed: usize, elements: usize) -> bool {
    let node = &program.nodes()[of as usize];
    if uses[of as usize] > 1 || size(&node.shape) <= 8 * elements {
        return true;
    }
    match &node.op {
        Op::Input(_) | Op::Constant(_) | Op::Output(..) | Op::Concat(..) | Op::ScatterAdd(..) => true,
        // An index out of bounds would have to become one.
        Op::Gather(..) => true,
        // What sums, multiplies or compares costs more than what it makes has elements.
        Op::Contract(..) | Op::Reduce(..) => true,
        Op::Linear(op, a) => match &**op {
            // Outside of a view there may be something in what it looks at.
            Linear::Affine { from, into } => !into.is_identity() || !is_rearrangement(from, indexed),
            // The same elements, at the same indices but for axes of one element; of other axes, an index out of bounds
            // would have to become one.
            Linear::Reshape { from, into } => {
                let longer = |shape: &[usize]| shape.iter().copied().filter(|n| *n != 1).collect::<Vec<usize>>();
                longer(from) != longer(into) || is_read(program, uses, *a, indexed, elements)
            }
            Linear::Cast { .. } => false,
            // Each element depends on a whole line.
            Linear::Fourier { .. } | Linear::PrefixSum { .. } => true,
        },
        _ => !keeps_zero(program, of),
    }
}

/// Whether the view looks at everything once, and moves along each of its first axes: so an index out of bounds of the
/// view is one out of bounds of what it looks at.
fn is_rearrangement(view: &View, indexed: usize) -> bool {
    let moves = |axis: usize| (0..view.source().len()).any(|k| view.row(k)[axis] != 0);
    let once = view.is_injective() && view.is_total() && size(view.shape()) == size(view.source());
    once && (0..indexed).all(moves)
}

/// Whether an elementwise operation makes 0 of 0.
#[allow(clippy::wildcard_enum_match_arm, reason = "what reads something else is no formula")]
fn keeps_zero(program: &Program, id: NodeId) -> bool {
    let op = &program.nodes()[id as usize].op;
    let zero = |a: &NodeId| {
        let node = &program.nodes()[*a as usize];
        let zero = Array::zeros(&[], node.dtype);
        let Op::Constant(Constant(c)) = &node.op else { return zero };
        let x = c.cast::<f64>().to_vec::<f64>().unwrap_or_default();
        let one = x.first().filter(|first| x.iter().all(|y| y == *first));
        one.map_or(zero, |x| Array::full_as(&[], node.dtype, *x))
    };
    let value = match op {
        Op::Unary(op, a) => zero(a).unary(*op),
        Op::Binary(op, a, b) => zero(a).binary(*op, &zero(b)),
        Op::Discrete(op, args) => {
            let zeros: Vec<Array> = args.iter().map(zero).collect();
            Array::discrete(op, &zeros.iter().collect::<Vec<&Array>>())
        }
        _ => return true,
    };
    value.cast::<f64>().to_vec::<f64>().is_ok_and(|x| x == [0.0])
}
