//! Primitive operations with erased types, and their derivatives as terms.
//!
//! The derivative of a primitive of scalars is written out: it is recorded by running the primitive at dual numbers
//! over terms, and read back operation by operation. So the text of a derivative comes from the tables of derivatives,
//! as its values do. The derivative of a primitive of arrays is one operation of the term.

use std::rc::Rc;

use polygrad::array::Array;
use polygrad::dtype::DType;
use polygrad::program::{NodeId, Op as Operation, Program, Term};

use super::{E, Op, Tangents, Tower, fst, op, pair, pull_primitive, push_primitive, snd, zero};
use crate::primitive::{Constant, Pointwise, Pointwise2};
use crate::{Ground, Layout, Primitive};

/// A primitive operation.
///
/// ```
/// use polygrad::interpreters::Tower;
/// use polygrad::ops::{Binary, Unary};
/// use polygrad::program::Term;
/// use polygrad::{Array, BaseTensor, DType};
/// use polygrad_higher::Layout;
/// use polygrad_higher::interpreters::lambda::AnyPrimitive;
/// use polygrad_higher::primitive::{Pointwise, Pointwise2};
/// // Primitives of different types in one list.
/// let [sine, product]: [&dyn AnyPrimitive; 2] = [&Pointwise::<0>(Unary::Sin), &Pointwise2::<0>(Binary::Mul)];
/// assert_eq!((sine.name(), sine.layouts()[1].clone()), ("sin".into(), Layout::Leaf(0, DType::F64)));
/// // At numbers.
/// let number = |x: f64| Tower::constant(Array::scalar(x));
/// let text = |all: &[Tower<Array>]| all.iter().map(ToString::to_string).collect::<Vec<String>>();
/// let x = [number(2.0), number(5.0)];
/// assert_eq!(text(&product.completed(&[Some(number(2.0)), None])), ["2.0", "0.0"]);
/// assert_eq!(text(&product.values(&x)), ["10.0"]);
/// let tangents = product.push_values(&x, &[Some(number(1.0)), Some(number(10.0))]);
/// assert_eq!(text(&tangents.into_iter().flatten().collect::<Vec<_>>()), ["25.0"]);
/// let cotangents = product.pull_values(&x, &[Some(number(1.0))]);
/// assert_eq!(text(&cotangents.into_iter().flatten().collect::<Vec<_>>()), ["5.0", "2.0"]);
/// // Recorded.
/// let [x, d] = [(); 2].map(|()| Term::variable(&[], DType::F64));
/// for found in [sine.push_terms(&[x.clone()], &[Some(d.clone())]), sine.pull_terms(&[x.clone()], &[Some(d.clone())])] {
///     let found: Vec<Term> = found.into_iter().flatten().collect();
///     let program = Term::program(&[x.clone(), d.clone()], &found, &["x", "d"].map(String::from))?;
///     assert_eq!(program.to_string(), "program(x: f64, d: f64) {\n  return d * cos x\n}");
/// }
/// # Ok::<(), String>(())
/// ```
pub trait AnyPrimitive {
    /// The name of the primitive.
    ///
    /// Example: [`AnyPrimitive`].
    fn name(&self) -> String;

    /// The layouts of the argument and of the result.
    ///
    /// Example: [`AnyPrimitive`].
    fn layouts(&self) -> [Layout; 2];

    /// The arguments with explicit zeros.
    ///
    /// Example: [`AnyPrimitive`].
    fn completed(&self, args: &[Option<Tower<Array>>]) -> Vec<Tower<Array>>;

    /// The results, at arrays.
    ///
    /// Example: [`AnyPrimitive`].
    fn values(&self, args: &[Tower<Array>]) -> Vec<Tower<Array>>;

    /// The tangents of the results, at arrays.
    ///
    /// Example: [`AnyPrimitive`].
    fn push_values(&self, at: &[Tower<Array>], x_dots: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>>;

    /// The cotangents of the arguments, at arrays.
    ///
    /// Example: [`AnyPrimitive`].
    fn pull_values(&self, at: &[Tower<Array>], y_bars: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>>;

    /// The tangents of the results, recorded.
    ///
    /// Example: [`AnyPrimitive`].
    fn push_terms(&self, at: &[Term], x_dots: &[Option<Term>]) -> Tangents<Term>;

    /// The cotangents of the arguments, recorded.
    ///
    /// Example: [`AnyPrimitive`].
    fn pull_terms(&self, at: &[Term], y_bars: &[Option<Term>]) -> Tangents<Term>;
}

impl<P: Primitive> AnyPrimitive for P {
    fn name(&self) -> String {
        Primitive::name(self)
    }

    fn layouts(&self) -> [Layout; 2] {
        [P::Dom::layout(), P::Cod::layout()]
    }

    fn completed(&self, args: &[Option<Tower<Array>>]) -> Vec<Tower<Array>> {
        self.complete(args)
    }

    fn values(&self, args: &[Tower<Array>]) -> Vec<Tower<Array>> {
        self.run(args)
    }

    fn push_values(&self, at: &[Tower<Array>], x_dots: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>> {
        push_primitive(self, at, x_dots)
    }

    fn pull_values(&self, at: &[Tower<Array>], y_bars: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>> {
        pull_primitive(self, at, y_bars)
    }

    fn push_terms(&self, at: &[Term], x_dots: &[Option<Term>]) -> Tangents<Term> {
        push_primitive(self, at, x_dots)
    }

    fn pull_terms(&self, at: &[Term], y_bars: &[Option<Term>]) -> Tangents<Term> {
        pull_primitive(self, at, y_bars)
    }
}

/// The leaves of a value, as terms.
fn parts(layout: &Layout, x: E, into: &mut Vec<E>) {
    match layout {
        Layout::Unit => {}
        Layout::Leaf(..) => into.push(x),
        Layout::Pair(a, b) => {
            parts(a, fst(x.clone()), into);
            parts(b, snd(x), into);
        }
    }
}

fn joined(layout: &Layout, leaves: &mut dyn Iterator<Item = E>) -> E {
    match layout {
        Layout::Unit => zero(),
        Layout::Leaf(..) => leaves.next().expect("a term for each leaf"),
        Layout::Pair(a, b) => {
            let first = joined(a, leaves);
            pair(first, joined(b, leaves))
        }
    }
}

/// Variables for the leaves; returns whether all leaves are scalars.
fn numbers(layout: &Layout, into: &mut Vec<Term>) -> bool {
    match layout {
        Layout::Unit => true,
        Layout::Leaf(0, DType::F64) => {
            into.push(Term::variable(&[], DType::F64));
            true
        }
        Layout::Leaf(..) => false,
        Layout::Pair(a, b) => numbers(a, into) && numbers(b, into),
    }
}

/// A derivative that is recorded: from points and (co)tangents to (co)tangents.
type Record<'a> = &'a dyn Fn(&[Term], &[Option<Term>]) -> Tangents<Term>;

/// A derivative of scalars, written out; the layouts are those of the point, the argument and the result. `None` if
/// some leaf is not a scalar.
fn written(layouts: [&Layout; 3], x: &E, v: &E, record: Record<'_>) -> Option<E> {
    let [at, from, to] = layouts;
    let (mut points, mut vectors, mut of_result) = (Vec::new(), Vec::new(), Vec::new());
    if !(numbers(at, &mut points) && numbers(from, &mut vectors) && numbers(to, &mut of_result)) {
        return None;
    }
    let given: Vec<Option<Term>> = vectors.iter().cloned().map(Some).collect();
    let results = record(&points, &given);
    let present: Vec<Term> = results.iter().flatten().cloned().collect();
    let inputs: Vec<Term> = points.into_iter().chain(vectors).collect();
    let program = Term::program(&inputs, &present, &[]).ok()?;
    let mut terms = Vec::new();
    parts(at, x.clone(), &mut terms);
    parts(from, v.clone(), &mut terms);
    let mut read = read(&program, &terms)?.into_iter();
    let mut leaves =
        results.iter().map(|r| r.as_ref().map_or_else(zero, |_| read.next().expect("a term for each result")));
    Some(joined(to, &mut leaves))
}

/// The results of a program of scalars, as terms; `None` if it has operations that are not functions of scalars.
fn read(program: &Program, inputs: &[E]) -> Option<Vec<E>> {
    let mut values: Vec<E> = Vec::new();
    for node in program.nodes() {
        let at = |id: &NodeId| values.get(*id as usize).cloned();
        let value = if let Operation::Input(k) = &node.op {
            inputs.get(*k as usize).cloned()?
        } else if let Operation::Constant(c) = &node.op {
            let constant = Constant::<0>::new(c.0.clone());
            op(Op::Prim(Rc::new(constant)), vec![op(Op::Nil, vec![])])
        } else if let Operation::Unary(f, a) = &node.op {
            op(Op::Prim(Rc::new(Pointwise::<0>(*f))), vec![at(a)?])
        } else if let Operation::Binary(f, a, b) = &node.op {
            op(Op::Prim(Rc::new(Pointwise2::<0>(*f))), vec![pair(at(a)?, at(b)?)])
        } else {
            return None;
        };
        values.push(value);
    }
    program.results().iter().map(|id| values.get(*id as usize).cloned()).collect()
}

impl dyn AnyPrimitive {
    /// The tangent of the result at a point.
    pub(super) fn push_term(self: &Rc<Self>, x: E, v: E) -> E {
        let [from, to] = self.layouts();
        let record = |at: &[Term], x_dots: &[Option<Term>]| self.push_terms(at, x_dots);
        written([&from, &from, &to], &x, &v, &record).unwrap_or_else(|| op(Op::Push(self.clone()), vec![x, v]))
    }

    /// The cotangent of the argument at a point.
    pub(super) fn pull_term(self: &Rc<Self>, x: E, v: E) -> E {
        let [from, to] = self.layouts();
        let record = |at: &[Term], y_bars: &[Option<Term>]| self.pull_terms(at, y_bars);
        written([&from, &to, &from], &x, &v, &record).unwrap_or_else(|| op(Op::Pull(self.clone()), vec![x, v]))
    }
}
