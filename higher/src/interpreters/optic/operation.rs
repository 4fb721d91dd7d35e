//! First-order operations of wires, with their reverse derivatives of any order as operations.
//!
//! The reverse derivative of an operation `p` from `A` to `B` is an operation from `A * B'` to `A'`, where `A'` are the
//! cotangents of `A`: `p*(x, y') = Dp(x)^t y'`. So it has a reverse derivative in turn. Laws: the operation with `k`
//! stars is recorded once for the shapes of its arguments, whatever the number of programs of an optic in which it
//! stands, by reverse mode at terms; zeros are symbolic, and their shapes are known where an operation needs them.
//!
//! A reverse derivative is a [`Sequence`] of operations of the language, too, and each of these has a reverse derivative: so
//! optics of a higher order share the values between the operations, and not those between primitives alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use polygrad::array::Array;
use polygrad::base::BaseTensor;
use polygrad::dtype::DType;
use polygrad::ops::Binary;
use polygrad::program::{NodeId, Op, Program, Term, interpret};
use polygrad::seam::{is_zero, mistake, variables_like, words};
use polygrad::shape::Shape;

use super::super::lambda::AnyPrimitive;
use super::super::value::Val;
use super::super::{Tangents, Tower, pull_primitive, push_primitive};
use super::diagram::Sequence;
use crate::primitive::{Recorded, completed, kinds, of_floats};
use crate::{Ground, Layout, Primitive, Unit};

/// A first-order operation, or one of its reverse derivatives.
#[derive(Clone)]
pub(super) struct Operation {
    orders: Rc<Orders>,
    /// The number of reverse derivatives that were taken.
    stars: usize,
}

/// An operation with its reverse derivatives, which it records when they first run.
struct Orders {
    name: String,
    /// The operation in a text.
    text: Option<Rc<dyn AnyPrimitive>>,
    /// The operation at terms.
    run: Box<dyn Fn(&[Term]) -> Vec<Term>>,
    /// If this is one operation of a recorded program, that operation, whose operands are numbered; the inputs of the
    /// program have the shapes of its operands.
    one: Option<(Op<NodeId>, Program)>,
    /// The types of argument and result, by the number of stars.
    types: RefCell<Vec<[Layout; 2]>>,
    recorded: RefCell<HashMap<Key, Rc<AtShapes>>>,
    sequences: RefCell<HashMap<Key, Rc<Sequence>>>,
}

/// The number of stars, and the shape of each leaf of the argument; `None` for a cotangent that is zero.
type Key = (usize, Vec<Option<Shape>>);

/// An operation at some shapes.
struct AtShapes {
    program: Program,
    /// For each leaf of the result whether it is a result of the program; otherwise it is zero.
    present: Vec<bool>,
}

/// The results of an operation on zeros.
enum OfZeros {
    Zero,
    /// One of its operands.
    Operand(usize),
}

/// A recorded program as a primitive that is asked only for values.
type Traced = Recorded<Unit, Unit>;

/// The type of cotangents: the floats.
fn cotangents(layout: &Layout) -> Layout {
    match layout {
        Layout::Unit => Layout::Unit,
        Layout::Leaf(_, dtype) if !dtype.is_float() => Layout::Unit,
        Layout::Leaf(..) => layout.clone(),
        Layout::Pair(a, b) => Layout::Pair(Box::new(cotangents(a)), Box::new(cotangents(b))),
    }
}

fn shape_of<T: BaseTensor>(x: &T) -> Shape {
    Shape::from_slice(x.shape())
}

impl Operation {
    /// A primitive.
    pub(super) fn of<P: Primitive>(p: P) -> Self {
        let (text, layouts): (Rc<dyn AnyPrimitive>, _) = (Rc::new(p.clone()), [P::Dom::layout(), P::Cod::layout()]);
        Operation::new(Primitive::name(&p), Some(text), layouts, Box::new(move |args| p.run(args)), None)
    }

    /// One operation of a recorded program, as a program from the list of its operands to that of its results.
    pub(super) fn one(
        op: Op<NodeId>,
        program: Program,
        layouts: [Layout; 2],
        text: Option<Rc<dyn AnyPrimitive>>,
    ) -> Self {
        let (name, inner) = (words(&op), program.clone());
        let run = Box::new(move |args: &[Term]| interpret(&inner, args.to_vec()));
        Operation::new(name, text, layouts, run, Some((op, program)))
    }

    fn new(
        name: String,
        text: Option<Rc<dyn AnyPrimitive>>,
        layouts: [Layout; 2],
        run: Box<dyn Fn(&[Term]) -> Vec<Term>>,
        one: Option<(Op<NodeId>, Program)>,
    ) -> Self {
        let (types, recorded, sequences) = (RefCell::new(vec![layouts]), RefCell::default(), RefCell::default());
        let orders = Orders { name, text, run, one, types, recorded, sequences };
        Operation { orders: Rc::new(orders), stars: 0 }
    }

    /// The reverse derivative.
    pub(super) fn pulled(&self) -> Self {
        Operation { orders: self.orders.clone(), stars: self.stars + 1 }
    }

    /// The number of reverse derivatives that were taken.
    pub(super) fn stars(&self) -> usize {
        self.stars
    }

    /// The types of argument and result.
    pub(super) fn types(&self) -> [Layout; 2] {
        let mut types = self.orders.types.borrow_mut();
        while types.len() <= self.stars {
            let [from, to] = types.last().expect("those of the operation");
            let next = Layout::Pair(Box::new(from.clone()), Box::new(cotangents(to)));
            let result = cotangents(from);
            types.push([next, result]);
        }
        types[self.stars].clone()
    }

    /// The operation in a text.
    pub(super) fn text(&self) -> Rc<dyn AnyPrimitive> {
        match &self.orders.text {
            Some(text) if self.stars == 0 => text.clone(),
            _ => Rc::new(self.clone()),
        }
    }

    /// The operation that this is the reverse derivative of.
    fn below(&self) -> Operation {
        Operation { orders: self.orders.clone(), stars: self.stars - 1 }
    }

    /// The program for arguments of these shapes.
    fn recorded(&self, shapes: &[Option<Shape>]) -> Rc<AtShapes> {
        let key = (self.stars, shapes.to_vec());
        if let Some(known) = self.orders.recorded.borrow().get(&key) {
            return known.clone();
        }
        let kinds = kinds(&self.types()[0]);
        let variable = |(shape, kind): (&Option<Shape>, &(usize, DType))| {
            shape.as_ref().map(|shape| Term::variable(shape, kind.1))
        };
        let variables: Vec<Option<Term>> = shapes.iter().zip(&kinds).map(variable).collect();
        let results = if self.stars == 0 {
            let all: Vec<Term> = variables.iter().flatten().cloned().collect();
            (self.orders.run)(&all).into_iter().map(Some).collect()
        } else {
            self.below().pulled_terms(&variables)
        };
        let given: Vec<Term> = variables.into_iter().flatten().collect();
        let found: Vec<Term> = results.iter().flatten().cloned().collect();
        let program = match Term::program(&given, &found, &[]) {
            Ok(program) => program,
            Err(message) => panic!("{message}"),
        };
        let recorded = Rc::new(AtShapes { program, present: results.iter().map(Option::is_some).collect() });
        self.orders.recorded.borrow_mut().insert(key, recorded.clone());
        recorded
    }

    /// The program for arguments of these shapes, and which leaves of the result it has; the others are zero.
    pub(super) fn program(&self, shapes: &[Option<Shape>]) -> (Program, Vec<bool>) {
        let recorded = self.recorded(shapes);
        (recorded.program.clone(), recorded.present.clone())
    }

    /// The cotangents of the argument, from the leaves of the argument and those of the cotangent of the result.
    fn pulled_terms(&self, variables: &[Option<Term>]) -> Tangents<Term> {
        let [from, to] = self.types();
        let (at, y_bars) = variables.split_at(kinds(&from).len());
        let at: Vec<Term> = at.iter().map(|x| x.clone().expect("the argument is known")).collect();
        let program = self.recorded(&at.iter().map(|x| Some(shape_of(x))).collect::<Vec<_>>());
        let of_results = of_floats(&to, y_bars.iter().cloned());
        let kept = of_results.into_iter().zip(&program.present).filter(|(_, present)| **present);
        let y_bars: Tangents<Term> = kept.map(|(y_bar, _)| y_bar).collect();
        let x_bars = pull_primitive(&Traced::untyped(program.program.clone()), &at, &y_bars);
        let zero = |x: &Term| matches!(x.op(), Op::Constant(c) if is_zero(c));
        let floats = x_bars.into_iter().zip(&at).filter(|(_, x)| x.dtype().is_float());
        floats.map(|(x_bar, _)| x_bar.filter(|x_bar| !zero(x_bar))).collect()
    }

    /// The result at an argument.
    pub(super) fn run<T: BaseTensor>(&self, x: &Val<T>) -> Val<T> {
        let [from, to] = self.types();
        let mut leaves = Vec::new();
        x.leaves(&from, &mut leaves);
        let results = self.results(leaves);
        let y = Val::of_leaves(&to, &mut results.into_iter());
        if self.stars == 0 { y } else { y.without_units() }
    }

    /// The leaves of the result, from those of the argument; `None` for zeros.
    fn results<T: BaseTensor>(&self, mut leaves: Vec<Option<T>>) -> Vec<Option<T>> {
        if self.stars == 0 {
            match self.of_zeros(&leaves) {
                Some(OfZeros::Zero) => return vec![None; kinds(&self.types()[1]).len()],
                Some(OfZeros::Operand(k)) => return vec![leaves.swap_remove(k)],
                None => leaves = self.filled(leaves).into_iter().map(Some).collect(),
            }
        } else {
            let y_bars = leaves.split_off(kinds(&self.below().types()[0]).len());
            if y_bars.iter().all(Option::is_none) {
                return vec![None; kinds(&self.types()[1]).len()];
            }
            leaves = self.below().filled(leaves).into_iter().map(Some).chain(y_bars).collect();
        }
        let shapes: Vec<Option<Shape>> = leaves.iter().map(|x| x.as_ref().map(shape_of)).collect();
        let recorded = self.recorded(&shapes);
        let mut results = interpret(&recorded.program, leaves.into_iter().flatten().collect()).into_iter();
        recorded.present.iter().map(|present| if *present { results.next() } else { None }).collect()
    }

    /// The results of an operation that is linear in operands that are zero, if it need not run.
    fn of_zeros<T>(&self, leaves: &[Option<T>]) -> Option<OfZeros> {
        let zero = |k: usize| leaves[k].is_none();
        let op = &self.orders.one.as_ref()?.0;
        if let Op::Binary(op, ..) = op {
            return of_zeros(*op, [zero(0), zero(1)]);
        }
        op.vanishes_with(&zero).then_some(OfZeros::Zero)
    }

    /// Whether no leaf of an argument is zero, or the cotangents of a reverse derivative all are.
    pub(super) fn is_full<T: BaseTensor>(&self, x: &Val<T>) -> bool {
        let mut leaves = Vec::new();
        x.leaves(&self.types()[0], &mut leaves);
        let at = kinds(&self.below().types()[0]).len();
        leaves.iter().all(Option::is_some) || leaves[at..].iter().all(Option::is_none)
    }

    /// The operations of the program at an argument, whose leaves may be zero, as `translate` makes them of the program, its
    /// types and the leaves that it gives.
    pub(super) fn sequence<T: BaseTensor>(
        &self,
        x: &Val<T>,
        translate: fn(&Program, [Layout; 2], &[bool]) -> Sequence,
    ) -> Rc<Sequence> {
        let [from, to] = self.types();
        let mut leaves = Vec::new();
        x.leaves(&from, &mut leaves);
        let shapes: Vec<Option<Shape>> = self.filled(leaves).iter().map(|x| Some(shape_of(x))).collect();
        let key = (self.stars, shapes);
        if let Some(known) = self.orders.sequences.borrow().get(&key) {
            return known.clone();
        }
        let recorded = self.recorded(&key.1);
        let sequence = Rc::new(translate(&recorded.program, [from, to], &recorded.present));
        self.orders.sequences.borrow_mut().insert(key, sequence.clone());
        sequence
    }

    /// The leaves of an argument, with arrays of zeros for symbolic ones. Those of a cotangent have the shapes of the
    /// result, or argument, that it belongs to.
    fn filled<T: BaseTensor>(&self, mut leaves: Vec<Option<T>>) -> Vec<T> {
        if let (0, Some((_, program))) = (self.stars, &self.orders.one) {
            let slots = program.inputs().iter();
            return leaves
                .into_iter()
                .zip(slots)
                .map(|(x, y)| x.unwrap_or_else(|| T::zeros(&y.shape, y.dtype)))
                .collect();
        }
        if self.stars == 0 {
            let kinds = kinds(&self.types()[0]);
            return leaves
                .into_iter()
                .zip(kinds)
                .map(|(x, kind)| x.unwrap_or_else(|| zero(&self.orders.name, kind)))
                .collect();
        }
        let below = self.below();
        let y_bars = leaves.split_off(kinds(&below.types()[0]).len());
        let mut all = below.filled(leaves);
        let shapes: Vec<Shape> =
            if y_bars.iter().all(Option::is_some) { Vec::new() } else { below.result_shapes(&all) };
        let kinds = kinds(&cotangents(&below.types()[1]));
        for (k, (y_bar, (_, dtype))) in y_bars.into_iter().zip(kinds).enumerate() {
            all.push(y_bar.unwrap_or_else(|| T::zeros(&shapes[k], dtype)));
        }
        all
    }

    /// The shapes of the floats of the result at an argument.
    fn result_shapes<T: BaseTensor>(&self, at: &[T]) -> Vec<Shape> {
        if self.stars > 0 {
            // The result is a cotangent of the argument of the operation below.
            let of = kinds(&self.below().types()[0]).len();
            return at[..of].iter().filter(|x| x.dtype().is_float()).map(shape_of).collect();
        }
        let recorded = self.recorded(&at.iter().map(|x| Some(shape_of(x))).collect::<Vec<_>>());
        recorded.program.outputs().iter().filter(|y| y.dtype.is_float()).map(|y| y.shape.clone()).collect()
    }

    /// The program at these arguments, with arrays of zeros for the zeros among its results.
    fn complete<T: BaseTensor>(&self, at: &[T]) -> Traced {
        let recorded = self.recorded(&at.iter().map(|x| Some(shape_of(x))).collect::<Vec<_>>());
        if recorded.present.iter().all(|present| *present) {
            return Traced::untyped(recorded.program.clone());
        }
        let variables = variables_like(at);
        let mut found = interpret(&recorded.program, variables.clone()).into_iter();
        let (shapes, kinds) = (self.result_shapes(at), kinds(&self.types()[1]));
        let each = recorded.present.iter().enumerate().map(|(k, present)| {
            let next = if *present { found.next() } else { None };
            next.unwrap_or_else(|| Term::zeros(&shapes[k], kinds[k].1))
        });
        let results: Vec<Term> = each.collect();
        Traced::untyped(Term::program(&variables, &results, &[]).expect("a closed program"))
    }
}

/// A zero of wires as an array, which only a number can be: the type of an array says nothing about its shape.
#[track_caller]
pub(super) fn zero<T: BaseTensor>(op: &str, (rank, dtype): (usize, DType)) -> T {
    if rank > 0 || !dtype.is_float() {
        mistake(&format!(
            "{op}: an operand or result must have a shape, but the zero of a type of wires has none; give an array of zeros, by the \
             primitive `Constant`"
        ));
    }
    T::zeros(&[], dtype)
}

/// The result of a function of two numbers on zeros of vectors, if it need not run.
fn of_zeros(op: Binary, zero: [bool; 2]) -> Option<OfZeros> {
    match (op, zero) {
        (_, [false, false]) => None,
        (Binary::Add | Binary::Sub | Binary::Mul | Binary::MulNoNan, [true, true]) => Some(OfZeros::Zero),
        (Binary::Add | Binary::Sub, [false, true]) => Some(OfZeros::Operand(0)),
        (Binary::Add, [true, false]) => Some(OfZeros::Operand(1)),
        (Binary::Mul | Binary::MulNoNan, [true, false] | [false, true]) => Some(OfZeros::Zero),
        (Binary::Div, [true, false]) | (Binary::DivNoNan, [true, _]) => Some(OfZeros::Zero),
        // A quotient is linear in the dividend alone.
        (Binary::Sub, [true, false]) | (Binary::Div, [_, true]) | (Binary::DivNoNan, [false, true]) => None,
        (Binary::Copysign | Binary::Min | Binary::Max | Binary::Pow | Binary::Atan2 | Binary::Hypot, _) => None,
        (Binary::RecipReal | Binary::LogAddExp | Binary::PowLessOne | Binary::Polygamma, _) => None,
    }
}

impl AnyPrimitive for Operation {
    fn name(&self) -> String {
        (0..self.stars).fold(self.orders.name.clone(), |name, _| format!("D[{name}]^t"))
    }

    fn layouts(&self) -> [Layout; 2] {
        self.types()
    }

    fn completed(&self, args: &[Option<Tower<Array>>]) -> Vec<Tower<Array>> {
        completed(&AnyPrimitive::name(self), &self.types()[0], args)
    }

    fn values(&self, args: &[Tower<Array>]) -> Vec<Tower<Array>> {
        self.complete(args).run(args)
    }

    fn push_values(&self, at: &[Tower<Array>], x_dots: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>> {
        push_primitive(&self.complete(at), at, x_dots)
    }

    fn pull_values(&self, at: &[Tower<Array>], y_bars: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>> {
        pull_primitive(&self.complete(at), at, y_bars)
    }

    fn push_terms(&self, at: &[Term], x_dots: &[Option<Term>]) -> Tangents<Term> {
        push_primitive(&self.complete(at), at, x_dots)
    }

    fn pull_terms(&self, at: &[Term], y_bars: &[Option<Term>]) -> Tangents<Term> {
        pull_primitive(&self.complete(at), at, y_bars)
    }
}
