//! The kinds of operations: shape and element type of the result, from those of the operands.
//!
//! Law: a program whose operations all pass these checks runs in every interpreter; the checks are those of evaluation,
//! with an error in place of a panic.

use super::{Builder, Constant, Loop, NodeId, Op, OpClass, Slot};
use crate::dtype::DType;
use crate::ops::kinds::Kind;
use crate::ops::{Binary, Call, Discrete, IntBinary};
use crate::shape::{Shape, Show};

impl Builder {
    /// The result of an operation: simplified, and added only if it is new.
    ///
    /// # Panics
    /// When the operands do not fit.
    ///
    /// Example: [`Builder`](crate::program::Builder).
    #[track_caller]
    pub fn apply(&mut self, op: Op<NodeId>) -> NodeId {
        match self.try_kind(&op) {
            Ok((shape, dtype)) => self.add(op, shape, dtype),
            Err(message) => panic!("{message}"),
        }
    }

    /// Shape and element type of a value.
    pub(crate) fn kind_of(&self, id: NodeId) -> Kind<'_> {
        let node = self.node(id);
        (&node.shape, node.dtype)
    }

    /// The sum of two values, of floats or of integers.
    pub(crate) fn plus(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.combined(Binary::Add, IntBinary::Add, x, y)
    }

    /// The difference of two values, of floats or of integers.
    pub(crate) fn minus(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.combined(Binary::Sub, IntBinary::Sub, x, y)
    }

    fn combined(&mut self, of_floats: Binary, of_integers: IntBinary, x: NodeId, y: NodeId) -> NodeId {
        if self.node(x).dtype.is_float() {
            return self.apply(Op::Binary(of_floats, x, y));
        }
        self.apply(Op::Discrete(Discrete::IntBinary(of_integers), [x, y].as_slice().into()))
    }

    fn kinds_of(&self, ids: &[NodeId]) -> Vec<Kind<'_>> {
        ids.iter().map(|id| self.kind_of(*id)).collect()
    }

    /// Shape and element type of the result of an operation on existing operands.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::{Reduce, Unary};
    /// use polygrad::program::{Builder, Op, Slot};
    /// use polygrad::shape::Shape;
    /// let mut b = Builder::new();
    /// let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[2]), dtype: DType::F64 });
    /// let (shape, dtype) = b.try_kind(&Op::Unary(Unary::Sin, x))?;
    /// assert_eq!((&shape[..], dtype), (&[2][..], DType::F64));
    /// assert!(b.try_kind(&Op::Reduce(Reduce::Max { axis: 1 }, x)).is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// When the operands do not fit. For most operations the message is that of the panic during evaluation.
    pub fn try_kind(&self, op: &Op<NodeId>) -> Result<(Shape, DType), String> {
        match op.class() {
            OpClass::Input(_) => Err("an input comes after the inputs".into()),
            OpClass::Constant(Constant(c)) => Ok((Shape::from_slice(c.shape()), c.dtype())),
            OpClass::Single(op) => op.try_kind(&|id| self.kind_of(*id)),
            OpClass::Loop(l) => self.fits(l).map(|()| (Shape::new(), DType::F64)),
            OpClass::Call(op, args) => op.try_results(&self.kinds_of(args)).map(|_| (Shape::new(), DType::F64)),
            OpClass::Custom(c, args) => c.accepts(&self.kinds_of(args)).map(|()| (Shape::new(), DType::F64)),
            OpClass::Output(a, position) => {
                if let Op::Custom(c, _) = &self.node(*a).op {
                    let slot = c.primal().outputs().get(position);
                    let slot = slot.ok_or("a result is taken that the function does not have")?;
                    return Ok((slot.shape.clone(), slot.dtype));
                }
                if let Op::Call(Call::External(external), _) = &self.node(*a).op {
                    return external.result(position).ok_or("a result is taken that the function does not have".into());
                }
                if let Op::Call(op, args) = &self.node(*a).op {
                    let mut results = op.try_results(&self.kinds_of(args))?;
                    if position >= results.len() {
                        return Err("a result is taken that the operation does not have".into());
                    }
                    return Ok(results.swap_remove(position));
                }
                let Op::Loop(l) = &self.node(*a).op else {
                    return Err("a result is taken of what has but one".into());
                };
                let slot = l.body.outputs().get(position).ok_or("a result is taken that the loop does not have")?;
                let mut shape = slot.shape.clone();
                if position >= l.init.len() {
                    shape.insert(0, l.n);
                }
                Ok((shape, slot.dtype))
            }
        }
    }

    /// Whether the body of a loop accepts the operands of the loop, and returns the carry.
    fn fits(&self, l: &Loop<NodeId>) -> Result<(), String> {
        let mut given = self.kinds_of(&l.init);
        for (shape, dtype) in self.kinds_of(&l.xs) {
            match shape.split_first() {
                Some((n, row)) if *n == l.n => given.push((row, dtype)),
                Some(_) | None => return Err(format!("a loop of {} trips runs over {}", l.n, Show(shape))),
            }
        }
        given.extend(self.kinds_of(&l.captured));
        let kinds = |slots: &'_ [Slot]| slots.iter().map(|s| (s.shape.clone(), s.dtype)).collect::<Vec<_>>();
        let same = |a: &[(Shape, DType)], b: &[Kind<'_>]| {
            a.len() == b.len() && a.iter().zip(b).all(|((shape, dtype), (s, d))| shape[..] == **s && dtype == d)
        };
        if !same(&kinds(l.body.inputs()), &given) {
            return Err("the body of a loop takes other values than it is given".into());
        }
        let carried = l.init.len();
        if l.body.outputs().len() < carried || !same(&kinds(&l.body.outputs()[..carried]), &given[..carried]) {
            return Err("the body of a loop does not return its carry".into());
        }
        Ok(())
    }
}
