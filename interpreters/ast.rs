//! `Ast`: staging. The meaning of a program is its text.
//!
//! Running a generic program at this interpreter records the program: each operation makes a [`Term`], and no value is
//! computed. The step of a loop runs once, on variables; its body becomes a closed program with explicitly captured
//! values. This is the syntactic algebra of "Dual arrays", appendix C.1, except that sharing is observed instead of
//! declared.
//!
//! Law: interpreting the recorded program at `T` is running the generic program at `T`.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::Array;
use crate::base::{Again, BaseTensor, Enter, Report, Staging, Trip, TripFn, WhileFn};
use crate::dtype::DType;
use crate::escape;
use crate::ops::{Call, Linear, kinds};
use crate::program::{Constant, Custom, Loop, Op, OpClass, Single, Term, single_results, valid_by_construction};
use crate::shape::Shape;
use crate::source::{Place, Site, placed};
use crate::taps::is_quiet;

/// Terms are the staging interpreter.
///
/// ```
/// use polygrad::interpreters::Ast;
/// use polygrad::{Function, Tensor, tensor};
/// fn program(x: &Tensor<Ast, 1>) -> Tensor<Ast, 0> {
///     x.sin().sum()
/// }
/// let recorded = Function::stage(program, &tensor([1.0, 2.0]));
/// assert!(recorded.program().to_string().contains("sum (sin x)"));
/// ```
pub type Ast = Term;

type Kind<'a> = (&'a [usize], DType);

fn kind(t: &Term) -> Kind<'_> {
    (t.sizes(), t.element_type())
}

fn kinds(terms: &[Term]) -> Vec<Kind<'_>> {
    terms.iter().map(kind).collect()
}

impl Term {
    #[track_caller]
    fn single(op: Single<'_, Term>) -> Term {
        let (shape, dtype) = kinds::or_panic(op.try_kind(&|a| kind(a)));
        Term::new(op.mapped(&mut Term::clone), shape, dtype)
    }
}

/// Arrays enter a program as constants.
impl Enter<Array> for Term {
    fn enter(t: Array) -> Term {
        Term::constant(t)
    }
}

impl BaseTensor for Term {
    fn constant(a: Array) -> Self {
        let (shape, dtype) = (Shape::from_slice(a.shape()), a.dtype());
        Term::new(Op::Constant(Constant(a)), shape, dtype)
    }

    fn shape(&self) -> &[usize] {
        self.sizes()
    }

    fn dtype(&self) -> DType {
        self.element_type()
    }

    single_results!();

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        let results = op.results(&kinds(args));
        if let Call::Tap(tap) = op
            && is_quiet()
        {
            return tap.passed(args).to_vec();
        }
        let of = Term::new(Op::Call(op.clone(), args.to_vec()), Shape::new(), DType::F64);
        let result = |(k, (shape, dtype))| Term::new(Op::Output(of.clone(), k), shape, dtype);
        results.into_iter().enumerate().map(result).collect()
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        kinds::or_panic(rule.accepts(&kinds(args)).map_err(|fact| {
            format!(
                "custom: {} must fit, but {fact}; pass a value for each input of its function",
                escape::quoted(rule.name())
            )
        }));
        let of = Term::new(Op::Custom(rule.clone(), args.to_vec()), Shape::new(), DType::F64);
        let results = rule.primal().outputs().iter().enumerate();
        results.map(|(k, slot)| Term::new(Op::Output(of.clone(), k), slot.shape.clone(), slot.dtype)).collect()
    }

    /// A function that repeats its program, whose last arguments are the values that `step` captures.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        let start = Term::now();
        let variables: Vec<Term> = init.iter().map(|x| Term::variable(x.sizes(), x.element_type())).collect();
        let next = step(variables.clone());
        kinds::while_carry(init.iter().map(kind), next.iter().map(kind));
        let (body, captured) = Term::closure(&variables, &next, start);
        // What a step returns has been compared with what it takes.
        let custom = valid_by_construction(Custom::while_loop("while", body, most));
        Term::custom(&Arc::new(custom), &[init, captured].concat())
    }

    /// A function without rules, whose last arguments are the values that `f` captures.
    fn again(f: &Again<Self>, args: &[Self]) -> Vec<Self> {
        let start = Term::now();
        let variables: Vec<Term> = args.iter().map(|x| Term::variable(x.sizes(), x.element_type())).collect();
        let (program, captured) = Term::closure(&variables, &f(&variables), start);
        Term::custom(&Arc::new(Custom::checkpointed("segment", program)), &[args, &captured].concat())
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        kinds::sequences(n, xs.iter().map(Term::sizes));
        let start = Term::now();
        let carry: Vec<Term> = init.iter().map(|c| Term::variable(c.sizes(), c.element_type())).collect();
        let elements: Vec<Term> = xs.iter().map(|x| Term::variable(&x.sizes()[1..], x.element_type())).collect();
        let variables: Vec<Term> = carry.iter().chain(&elements).cloned().collect();
        let (next, outputs) = step(carry, &elements);
        kinds::carry(init.iter().map(kind), next.iter().map(kind));

        let mut shapes: Vec<Shape> = Vec::with_capacity(outputs.len());
        for y in &outputs {
            shapes.push(kinds::stacked(n, y.sizes()));
        }
        if n == 0 {
            // The loop has no trips, so the operations of the step must appear neither in the program nor in a derivative.
            return (
                init,
                outputs.iter().zip(&shapes).map(|(y, shape)| Term::zeros(shape, y.element_type())).collect(),
            );
        }
        // An output that is the same in every trip is computed outside the loop.
        let moving = Term::moving(&variables, &outputs, start);
        let carried = next.len();
        let kept = outputs.iter().zip(&moving).filter(|(_, moving)| **moving).map(|(y, _)| y.clone());
        let results: Vec<Term> = next.into_iter().chain(kept).collect();
        let changing = shapes.iter().zip(&moving).filter(|(_, moving)| **moving).map(|(shape, _)| shape.clone());
        let result_shapes: Vec<Shape> =
            results[..carried].iter().map(|c| Shape::from_slice(c.sizes())).chain(changing).collect();
        let (body, captured) = Term::body(&variables, &results, start);
        let loop_ = Loop { n, reverse, body, init, xs: xs.to_vec(), captured };
        // A loop has several results, so the shape and element type of the loop's term are not used.
        let of = Term::new(Op::Loop(Box::new(loop_)), Shape::new(), DType::F64);
        let output = |(k, result): (usize, &Term)| {
            Term::new(Op::Output(of.clone(), k), result_shapes[k].clone(), result.element_type())
        };
        let mut carry: Vec<Term> = results.iter().enumerate().map(output).collect();
        let mut changing = carry.split_off(carried).into_iter();
        let output = |((y, shape), moving): ((&Term, &Shape), bool)| {
            let axes: SmallVec<[usize; 6]> = (1..=y.sizes().len()).collect();
            let other = if moving { changing.next() } else { None };
            other.unwrap_or_else(|| y.linear(&Linear::replicate(shape, &axes)))
        };
        let outputs = outputs.iter().zip(&shapes).zip(moving).map(output).collect();
        (carry, outputs)
    }
}

impl Staging for Term {
    fn recorded(self) -> Term {
        self
    }

    fn captured(term: &Term) -> Option<Self> {
        Some(term.clone())
    }

    fn records() -> bool {
        true
    }
}

/// The name of the operation of a term, for reports on its derivative.
fn name(term: &Term) -> &'static str {
    match term.op().class() {
        OpClass::Input(_) => "an input",
        OpClass::Constant(_) => "a constant",
        OpClass::Single(op) => op.name(),
        OpClass::Loop(_) => "a loop",
        OpClass::Call(Call::Matrix(op), _) => op.name(),
        OpClass::Call(Call::External(_), _) => "an external function",
        OpClass::Call(Call::Tap(tap), _) => tap.name(),
        OpClass::Custom(..) => "a function with rules",
        OpClass::Output(of, _) => name(of),
    }
}

impl Report for Term {
    /// A term that depends on no input has a known value.
    fn peek(&self) -> Option<Array> {
        self.value()
    }

    /// The source location of the operation; a term has no site number.
    fn site(&self) -> Site {
        let derivative_of = self.place().derivative_of.unwrap_or_else(|| name(self));
        Site { number: 0, place: Place { at: self.place().at, derivative_of: Some(derivative_of) } }
    }

    fn attribute(to: Site) -> Site {
        Site { number: 0, place: placed(to.place) }
    }
}
