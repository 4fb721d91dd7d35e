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
/// use polygrad::ops::Unary;
/// use polygrad_higher::interpreters::lambda::AnyPrimitive;
/// use polygrad_higher::primitive::{Pointwise, SumAll};
/// // Primitives of different types in one list.
/// let all: [&dyn AnyPrimitive; 2] = [&SumAll::<1>, &Pointwise::<0>(Unary::Sin)];
/// assert_eq!(all.map(|p| p.name()), ["sum", "sin"]);
/// ```
pub trait AnyPrimitive {
    /// The name of the primitive.
    ///
    /// ```
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::Replicate;
    /// let p: &dyn AnyPrimitive = &Replicate(3);
    /// assert_eq!(p.name(), "replicate 3");
    /// ```
    fn name(&self) -> String;

    /// The layouts of the argument and of the result.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad_higher::Layout;
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::SumAll;
    /// let p: &dyn AnyPrimitive = &SumAll::<1>;
    /// assert_eq!(p.layouts(), [Layout::Leaf(1, DType::F64), Layout::Leaf(0, DType::F64)]);
    /// ```
    fn layouts(&self) -> [Layout; 2];

    /// The arguments with explicit zeros.
    ///
    /// ```
    /// use polygrad::interpreters::Tower;
    /// use polygrad::ops::Binary;
    /// use polygrad::{Array, BaseTensor};
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::Pointwise2;
    /// let p: &dyn AnyPrimitive = &Pointwise2::<0>(Binary::Mul);
    /// let args = p.completed(&[Some(Tower::constant(Array::scalar(2.0))), None]);
    /// assert_eq!(args.into_iter().map(Tower::into_base).collect::<Vec<Array>>(), [2.0, 0.0].map(Array::scalar));
    /// ```
    fn completed(&self, args: &[Option<Tower<Array>>]) -> Vec<Tower<Array>>;

    /// The results, at arrays.
    ///
    /// ```
    /// use polygrad::interpreters::Tower;
    /// use polygrad::{Array, BaseTensor};
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::SumAll;
    /// let p: &dyn AnyPrimitive = &SumAll::<1>;
    /// let [total] = &p.values(&[Tower::constant(Array::from([1.0, 2.0]))])[..] else { panic!("one result") };
    /// assert_eq!(total.to_string(), "3.0");
    /// ```
    fn values(&self, args: &[Tower<Array>]) -> Vec<Tower<Array>>;

    /// The tangents of the results, at arrays.
    ///
    /// ```
    /// use polygrad::interpreters::Tower;
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, BaseTensor};
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::Pointwise;
    /// let number = |x: f64| Tower::constant(Array::scalar(x));
    /// let p: &dyn AnyPrimitive = &Pointwise::<0>(Unary::Square);
    /// let tangents = p.push_values(&[number(3.0)], &[Some(number(10.0))]);
    /// assert_eq!(tangents[0].as_ref().expect("a tangent").to_string(), "60.0");
    /// ```
    fn push_values(&self, at: &[Tower<Array>], x_dots: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>>;

    /// The cotangents of the arguments, at arrays.
    ///
    /// ```
    /// use polygrad::interpreters::Tower;
    /// use polygrad::ops::Binary;
    /// use polygrad::{Array, BaseTensor};
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::Pointwise2;
    /// let number = |x: f64| Tower::constant(Array::scalar(x));
    /// let p: &dyn AnyPrimitive = &Pointwise2::<0>(Binary::Mul);
    /// let cotangents = p.pull_values(&[number(2.0), number(5.0)], &[Some(number(1.0))]);
    /// assert_eq!(cotangents.iter().flatten().map(|c| c.to_string()).collect::<Vec<String>>(), ["5.0", "2.0"]);
    /// ```
    fn pull_values(&self, at: &[Tower<Array>], y_bars: &[Option<Tower<Array>>]) -> Tangents<Tower<Array>>;

    /// The tangents of the results, recorded.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Unary;
    /// use polygrad::program::Term;
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::Pointwise;
    /// let [x, x_dot] = [(); 2].map(|()| Term::variable(&[], DType::F64));
    /// let p: &dyn AnyPrimitive = &Pointwise::<0>(Unary::Sin);
    /// let tangents = p.push_terms(&[x.clone()], &[Some(x_dot.clone())]);
    /// let tangents: Vec<Term> = tangents.into_iter().flatten().collect();
    /// let names = ["x", "x_dot"].map(String::from);
    /// let program = Term::program(&[x, x_dot], &tangents, &names).expect("a closed program");
    /// assert_eq!(program.to_string(), "program(x: f64, x_dot: f64) {\n  return x_dot * cos x\n}");
    /// ```
    fn push_terms(&self, at: &[Term], x_dots: &[Option<Term>]) -> Tangents<Term>;

    /// The cotangents of the arguments, recorded.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Unary;
    /// use polygrad::program::Term;
    /// use polygrad_higher::interpreters::lambda::AnyPrimitive;
    /// use polygrad_higher::primitive::Pointwise;
    /// let [x, y_bar] = [(); 2].map(|()| Term::variable(&[], DType::F64));
    /// let p: &dyn AnyPrimitive = &Pointwise::<0>(Unary::Sin);
    /// let cotangents = p.pull_terms(&[x.clone()], &[Some(y_bar.clone())]);
    /// let cotangents: Vec<Term> = cotangents.into_iter().flatten().collect();
    /// let names = ["x", "y_bar"].map(String::from);
    /// let program = Term::program(&[x, y_bar], &cotangents, &names).expect("a closed program");
    /// assert_eq!(program.to_string(), "program(x: f64, y_bar: f64) {\n  return y_bar * cos x\n}");
    /// ```
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
