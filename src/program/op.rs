//! One operation of the language as data.
//!
//! Law: an [`Op`] is a functor in `R`, the type of references to its operands: a pointer while a program is traced
//! ([`Term`](super::Term)), a number in a [`Program`]. Equality is structural, and bitwise for constants, so
//! hash-consing merges equal operations on equal operands.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Custom, OpClass, Program, Single};
use crate::array::{Array, Values, with_elem};
use crate::dtype::Elem;
use crate::escape;
use crate::ops::{Binary, Call, Contract, Discrete, IntBinary, Linear, Reduce, Unary};

/// A constant array; equality is bitwise.
///
/// ```
/// use polygrad::Array;
/// use polygrad::program::Constant;
/// let [a, b] = [f64::NAN, -0.0].map(|x| Constant(Array::from([x, 1.0])));
/// assert_eq!(a.clone(), a);
/// assert_ne!(b, Constant(Array::from([0.0, 1.0])));
/// ```
#[derive(Clone, Debug)]
pub struct Constant(
    /// The array.
    pub Array,
);

impl Constant {
    /// Whether the array is zeros of positive sign, stored as one element.
    pub(crate) fn is_zero(&self) -> bool {
        with_elem!(self.0.dtype(), E => self.0.splat::<E>().is_some_and(|x| x.same_bits(E::ZERO)))
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        let (a, b) = (&self.0, &other.0);
        if a.shape() != b.shape() || a.dtype() != b.dtype() {
            return false;
        }
        with_elem!(a.dtype(), E => match (a.typed::<E>(), b.typed::<E>()) {
            (Values::Splat(x), Values::Splat(y)) => x.same_bits(y),
            (Values::Dense(x), Values::Dense(y)) => {
                std::ptr::eq(x, y) || x.iter().zip(y).all(|(x, y)| x.same_bits(*y))
            }
            // Equal in value, but of another cost.
            (Values::Splat(_), Values::Dense(_)) | (Values::Dense(_), Values::Splat(_)) => false,
        })
    }
}

impl Eq for Constant {}

impl Hash for Constant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.shape().hash(state);
        self.0.dtype().hash(state);
        // A sample of the elements of a long array distinguishes most constants; equality compares all elements.
        const ALL: usize = 1 << 12;
        with_elem!(self.0.dtype(), E => {
            let values = self.0.typed::<E>();
            let size = self.0.size();
            let step = if size <= ALL { 1 } else { size / 16 };
            for i in (0..size).step_by(step) {
                state.write_u64(values.get(i).bits());
                if matches!(values, Values::Splat(_)) {
                    break;
                }
            }
        });
    }
}

/// An operation, with references `R` to its operands.
///
/// Closed: an interpreter fails to compile where a new operation has no meaning yet.
///
/// ```
/// use polygrad::ops::Unary;
/// use polygrad::program::Op;
/// use polygrad::{Function, tensor};
/// let f = Function::stage(|x| x.sin().exp(), &tensor(1.0));
/// let ops: Vec<Op<u32>> = f.program().nodes().iter().map(|node| node.op.clone()).collect();
/// assert_eq!(ops, [Op::Input(0), Op::Unary(Unary::Sin, 0), Op::Unary(Unary::Exp, 1)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op<R> {
    /// An input of the program, by position; a variable while tracing, by the number that names it.
    Input(u64),
    /// A constant array.
    Constant(Constant),
    /// An elementwise function.
    Unary(Unary, R),
    /// An elementwise function of two operands.
    Binary(Binary, R, R),
    /// An operation with derivative zero.
    Discrete(Discrete, SmallVec<[R; 2]>),
    /// Selection: a mask, the value where the mask holds, and the value elsewhere.
    Select([R; 3]),
    /// A linear operation.
    Linear(Box<Linear>, R),
    /// A bilinear operation.
    Contract(Box<Contract>, R, R),
    /// The extremum of each line along an axis.
    Reduce(Reduce, R),
    /// A gather: the subarrays of the first operand at the indices.
    Gather(R, Vec<R>),
    /// A scatter-add: the first operand, with the subarrays of the last operand added at the indices.
    ScatterAdd(R, Vec<R>, R),
    /// The concatenation of the operands along an axis.
    Concat(usize, Vec<R>),
    /// A loop; it has several results.
    Loop(Box<Loop<R>>),
    /// Linear algebra or host code; it has several results.
    Call(Call, Vec<R>),
    /// A function with custom derivative rules; it has several results.
    Custom(Arc<Custom>, Vec<R>),
    /// One result of a loop (carries first, then stacked outputs), of a call or of a function with rules.
    Output(R, usize),
}

/// A loop with its body as a closed program.
///
/// ```
/// use polygrad::program::Op;
/// use polygrad::{Function, Tensor, iterate, tensor};
/// let f = Function::stage(|x| iterate(5, x.clone(), |_, y: Tensor<_, 0>| (y * x).sin()), &tensor(1.0));
/// let found = f.program().nodes().iter().find_map(|node| match &node.op {
///     Op::Loop(l) => Some(l),
///     _ => None,
/// });
/// let l = found.expect("a loop");
/// assert_eq!((l.n, l.reverse, l.init.len(), l.captured.len()), (5, false, 1, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop<R> {
    /// The number of trips.
    pub n: usize,
    /// Whether the loop runs from the last position to the first.
    pub reverse: bool,
    /// The program from carry, elements and captured values, in this order, to the next carry and the outputs.
    pub body: Program,
    /// The initial carry.
    pub init: Vec<R>,
    /// The sequences.
    pub xs: Vec<R>,
    /// The captured values: values from outside the body, the same in every trip.
    pub captured: Vec<R>,
}

impl<R> Loop<R> {
    /// The same loop with its references mapped.
    pub(crate) fn map<S>(&self, f: &mut dyn FnMut(&R) -> S) -> Loop<S> {
        Loop {
            n: self.n,
            reverse: self.reverse,
            body: self.body.clone(),
            init: self.init.iter().map(&mut *f).collect(),
            xs: self.xs.iter().map(&mut *f).collect(),
            captured: self.captured.iter().map(f).collect(),
        }
    }
}

impl<R> Op<R> {
    /// Calls `f` on every operand, in order.
    ///
    /// ```
    /// use polygrad::ops::Binary;
    /// use polygrad::program::Op;
    /// let op: Op<u32> = Op::Binary(Binary::Add, 3, 4);
    /// let mut seen = Vec::new();
    /// op.operands(&mut |id| seen.push(*id));
    /// assert_eq!(seen, [3, 4]);
    /// ```
    pub fn operands<'a>(&'a self, f: &mut dyn FnMut(&'a R)) {
        match self.class() {
            OpClass::Input(_) | OpClass::Constant(_) => {}
            OpClass::Single(op) => op.operands(f),
            OpClass::Loop(l) => l.init.iter().chain(&l.xs).chain(&l.captured).for_each(f),
            OpClass::Call(_, args) | OpClass::Custom(_, args) => args.iter().for_each(f),
            OpClass::Output(a, _) => f(a),
        }
    }

    /// Calls `f` on every operand, in order, to change it.
    pub(crate) fn operands_mut(&mut self, f: &mut dyn FnMut(&mut R)) {
        match self {
            Op::Input(_) | Op::Constant(_) => {}
            Op::Unary(_, a) | Op::Linear(_, a) | Op::Reduce(_, a) | Op::Output(a, _) => f(a),
            Op::Binary(_, a, b) | Op::Contract(_, a, b) => {
                f(a);
                f(b);
            }
            Op::Discrete(_, args) => args.iter_mut().for_each(f),
            Op::Select(args) => args.iter_mut().for_each(f),
            Op::Gather(a, ix) => std::iter::once(a).chain(ix).for_each(f),
            Op::ScatterAdd(a, ix, v) => std::iter::once(a).chain(ix).chain(std::iter::once(v)).for_each(f),
            Op::Concat(_, parts) | Op::Call(_, parts) | Op::Custom(_, parts) => parts.iter_mut().for_each(f),
            Op::Loop(l) => l.init.iter_mut().chain(&mut l.xs).chain(&mut l.captured).for_each(f),
        }
    }

    /// The operation in reports: its name and its parameters.
    pub(crate) fn words(&self) -> String {
        match self.class() {
            OpClass::Input(_) => "the input".into(),
            OpClass::Constant(_) => "a constant".into(),
            OpClass::Single(Single::Discrete(op, _)) => op.to_string(),
            OpClass::Single(Single::Linear(op, _)) => op.familiar().map_or_else(|| op.name().into(), |x| x.to_string()),
            OpClass::Single(Single::Reduce(op, _)) => op.to_string(),
            OpClass::Single(Single::Concat(axis, _)) => format!("concat axis={axis}"),
            OpClass::Single(op) => op.name().into(),
            OpClass::Loop(_) => "a loop".into(),
            OpClass::Call(op, _) => escape::name(op.name()).into(),
            OpClass::Custom(rule, _) => escape::name(rule.name()).into(),
            OpClass::Output(..) => "an output".into(),
        }
    }

    /// The operands, if the operation is a sum of floats or integers.
    pub(crate) fn added(&self) -> Option<[&R; 2]> {
        if let Op::Binary(Binary::Add, a, b) = self {
            return Some([a, b]);
        }
        if let Op::Discrete(Discrete::IntBinary(IntBinary::Add), args) = self {
            return Some([&args[0], &args[1]]);
        }
        None
    }

    /// The same operation in another program, of one that has no operands: an input, a constant or positions.
    pub(crate) fn without_operands<S>(&self) -> Op<S> {
        self.map(&mut |_| unreachable!("an operation without operands refers to nothing"))
    }

    /// The same operation with its references mapped.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::program::Op;
    /// let op: Op<u32> = Op::Unary(Unary::Sin, 3);
    /// assert_eq!(op.map(&mut |id| id + 1), Op::Unary(Unary::Sin, 4));
    /// ```
    pub fn map<S>(&self, f: &mut dyn FnMut(&R) -> S) -> Op<S> {
        match self.class() {
            OpClass::Input(k) => Op::Input(k),
            OpClass::Constant(c) => Op::Constant(c.clone()),
            OpClass::Single(op) => op.mapped(f),
            OpClass::Loop(l) => Op::Loop(Box::new(l.map(f))),
            OpClass::Call(op, args) => Op::Call(op.clone(), args.iter().map(f).collect()),
            OpClass::Custom(c, args) => Op::Custom(c.clone(), args.iter().map(f).collect()),
            OpClass::Output(a, k) => Op::Output(f(a), k),
        }
    }
}
