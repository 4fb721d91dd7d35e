//! One-hot propagation: for multiples of basis vectors, only the elements that are not zero are computed.
//!
//! A Jacobian is computed for all basis vectors at once: its seed is an identity matrix, written as a diagonal. An
//! elementwise multiple of the seed is zero wherever the seed is, so a value is a sum of *pieces*: each a small
//! array, with the places where it is written. A Hessian with three diagonals costs three vectors, and the zeros
//! around them.
//!
//! Law: with [`Options::basis`](crate::passes::Options) the products with zeros around written numbers are left out, even those
//! with NaN; elsewhere nothing changes but the sign of zeros in derivatives. A piece is followed as long as all pieces
//! of a value together are much smaller than the value.

use smallvec::SmallVec;

use crate::array::{Array, with_elem};
use crate::ops::{Binary, Linear, Unary, View};
use crate::program::{Assumed, Builder, Constant, NodeId, Now, Op, Program, Rebuilt};
use crate::shape::{Shape, size};

/// The least number of elements of a value for each element of its pieces.
const SPARSE: usize = 4;

/// The largest number of pieces of a value.
const MOST: usize = 8;

/// A part of a value: small values, and the places where they are added.
#[derive(Clone)]
struct OneHotPiece {
    small: NodeId,
    into: View,
}

type Pieces = SmallVec<[OneHotPiece; 2]>;

/// The program in which multiples of basis vectors are computed piece by piece; `None` if it has no such multiples.
pub(super) fn propagate_one_hot(program: &Program, assumed: Assumed) -> Option<Program> {
    let mut pieces: Vec<Option<Pieces>> = vec![None; program.nodes().len()];
    let mut any = false;
    let mut b = Builder::rebuilding(assumed, false);
    let inputs = b.inputs(program.inputs(), &[]);
    let rebuilt = program.rebuilt(b, inputs, &mut |b, k, node, now| {
        let found = start(b, &node.op, now).or_else(|| {
            let found = followed(b, &node.op, &pieces, now)?;
            any = true;
            Some(found)
        });
        let Some(found) = found.filter(|found| is_sparse(found, &node.shape)) else { return now.again(b, node) };
        let whole = whole(b, &found);
        pieces[k as usize] = Some(found);
        Rebuilt::One(whole)
    });
    any.then_some(rebuilt)
}

/// Whether pieces are worth being followed.
fn is_sparse(pieces: &Pieces, shape: &Shape) -> bool {
    let elements: usize = pieces.iter().map(|piece| size(piece.into.shape())).sum();
    pieces.len() <= MOST && SPARSE * elements <= size(shape)
}

/// The one piece of a number that is written at places.
fn start(b: &mut Builder, op: &Op<NodeId>, now: &Now) -> Option<Pieces> {
    let Op::Linear(op, a) = op else { return None };
    let (Linear::Affine { from, into }, a) = (&**op, now.of(*a)) else { return None };
    let Op::Constant(Constant(array)) = &b.node(a).op else { return None };
    let number = array.dtype().is_float() && with_elem!(array.dtype(), E => array.splat::<E>().is_some());
    if !number {
        return None;
    }
    Some(SmallVec::from_elem(piece(b, from, a, into)?, 1))
}

/// The piece that reads a value through one view and writes it through another, without the parts that are not written.
fn piece(b: &mut Builder, from: &View, a: NodeId, into: &View) -> Option<OneHotPiece> {
    let rank = into.shape().len();
    let (offset, shape): (SmallVec<[i64; 6]>, Shape) =
        into.bounds().iter().map(|(lo, hi)| (*lo as i64, hi - lo)).unzip();
    let identity: SmallVec<[i64; 16]> = (0..rank * rank).map(|k| i64::from(k % (rank + 1) == 0)).collect();
    let inner = View::affine(into.shape(), &shape, &identity, &offset);
    let (from, into) = (from.after(&inner)?, into.after(&inner)?);
    (into.is_total() && into.is_injective()).then(|| OneHotPiece { small: read(b, &from, a), into })
}

/// The pieces of the result of an operation on pieces.
fn followed(b: &mut Builder, op: &Op<NodeId>, pieces: &[Option<Pieces>], now: &Now) -> Option<Pieces> {
    let of = |id: NodeId| pieces[id as usize].as_ref();
    if let Op::Unary(Unary::Neg, x) = op {
        return Some(each(of(*x)?, |small, _| negated(b, small)));
    }
    if let Op::Linear(op, x) = op {
        return of(*x)?
            .iter()
            .map(|piece| {
                let all = View::identity(piece.into.shape());
                let Linear::Affine { from, into } = op.after(&Linear::affine(all, piece.into.clone()))? else {
                    return None;
                };
                self::piece(b, &from, piece.small, &into)
            })
            .collect();
    }
    let Op::Binary(op, x, y) = op else { return None };
    if let Binary::Add | Binary::Sub = op {
        let (x, y) = (of(*x)?, of(*y)?);
        let y = if *op == Binary::Sub { each(y, |small, _| negated(b, small)) } else { y.clone() };
        let mut sum = x.clone();
        for piece in y {
            match sum.iter_mut().find(|other| other.into == piece.into) {
                Some(other) => other.small = binary(b, Binary::Add, other.small, piece.small),
                None => sum.push(piece),
            }
        }
        return Some(sum);
    }
    if let Binary::Mul | Binary::MulNoNan = op {
        if let Some(pieces) = of(*x) {
            let y = now.of(*y);
            return Some(each(pieces, |small, into| {
                let y = read(b, into, y);
                binary(b, *op, small, y)
            }));
        }
        let x = now.of(*x);
        return Some(each(of(*y)?, |small, into| {
            let x = read(b, into, x);
            binary(b, *op, x, small)
        }));
    }
    if let Binary::Div | Binary::DivNoNan = op {
        let y = now.of(*y);
        return Some(each(of(*x)?, |small, into| {
            let y = read(b, into, y);
            binary(b, *op, small, y)
        }));
    }
    None
}

/// The pieces with other small values.
fn each(pieces: &Pieces, mut f: impl FnMut(NodeId, &View) -> NodeId) -> Pieces {
    pieces.iter().map(|piece| OneHotPiece { small: f(piece.small, &piece.into), into: piece.into.clone() }).collect()
}

/// The elements that a view reads, as a value.
fn read(b: &mut Builder, from: &View, a: NodeId) -> NodeId {
    if let (Op::Constant(Constant(c)), true) = (&b.node(a).op, from.is_total()) {
        // A uniform constant stays one.
        let number = with_elem!(c.dtype(), E => c.splat::<E>().map(|x| Array::full::<E>(from.shape(), x)));
        if let Some(number) = number {
            return b.apply(Op::Constant(Constant(number)));
        }
    }
    if from.is_identity() { a } else { b.apply(Op::Linear(Box::new(Linear::read(from.clone())), a)) }
}

fn negated(b: &mut Builder, a: NodeId) -> NodeId {
    b.apply(Op::Unary(Unary::Neg, a))
}

fn binary(b: &mut Builder, op: Binary, x: NodeId, y: NodeId) -> NodeId {
    b.apply(Op::Binary(op, x, y))
}

/// The whole value that these pieces add up to.
fn whole(b: &mut Builder, pieces: &Pieces) -> NodeId {
    let mut sum = None;
    for OneHotPiece { small, into } in pieces {
        let write = Linear::affine(View::identity(into.shape()), into.clone());
        let written = b.apply(Op::Linear(Box::new(write), *small));
        sum = Some(sum.map_or(written, |sum| binary(b, Binary::Add, sum, written)));
    }
    sum.expect("a value has a piece")
}
