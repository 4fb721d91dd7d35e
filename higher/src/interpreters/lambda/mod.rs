//! Programs of the target language as terms of the lambda calculus: linear functions are functions, copowers are sums.
//!
//! This is the concrete target language of "CHAD", sections 9.2 and 9.3: [`Lambda`] is a program as a term, which
//! [`simplify`](Lambda::simplify) simplifies by the rules of Table 1 there, and [`linear`](Lambda::linear) runs. Law: a
//! simplified term has the values of the original term.

use std::rc::Rc;

use super::differential::Kinds;
use super::{Tangents, Tower, pull_primitive, push_primitive};
use crate::Layout;
use crate::shared::Shared;

mod accumulate;
mod primitive;
mod print;
mod run;
mod simplify;
mod translate;

pub use primitive::AnyPrimitive;

/// A term; terms share their parts.
type E = Shared<Exp>;

/// A variable; all binders of a term have distinct numbers.
type Name = u32;

#[derive(Clone)]
enum Exp {
    Var(Name),
    Let(Name, E, E),
    Lam(Name, E),
    /// The sum, and a program for each case.
    Case(E, (Name, E), (Name, E)),
    /// The sums of the accumulators of these variables after a command, as nested pairs.
    With(Vec<Name>, E),
    /// Adds a vector to the accumulator of a variable.
    Add(Name, E),
    Op(Op, Vec<E>),
}

/// An operation on terms, without binders.
#[derive(Clone)]
enum Op {
    App,
    Nil,
    Pair,
    Fst,
    Snd,
    Inl,
    Inr,
    Test,
    Prim(Rc<dyn AnyPrimitive>),
    /// The derivative of a primitive at a point, applied to a tangent.
    Push(Rc<dyn AnyPrimitive>),
    /// The transposed derivative of a primitive at a point, applied to a cotangent.
    Pull(Rc<dyn AnyPrimitive>),
    /// The formal derivative of a function of truth values at a point, applied to parities.
    Differences(Rc<dyn AnyPrimitive>),
    Spread(Layout, Layout),
    Zero,
    Plus,
    /// A point with a vector.
    Single,
    /// The sum of a function of the entries of a copower.
    Sum,
    /// Arrays of points and vectors as a copower.
    Zip,
    ZipWith,
    Map,
    Iterate,
    Fix,
    Fold,
    /// A loop with a state, in reverse or not: the step, the initial state, and the elements.
    Accumulate(bool),
    /// The value and the pullback of a function at a point.
    Vjp(Rc<Kinds>),
    /// The value and the derivative of a function, at a point and along a tangent.
    Jvp,
    Linl,
    Linr,
    CastLeft,
    CastRight,
    /// One command after the other.
    Seq,
}

/// A program as a closed term.
///
/// ```
/// use polygrad_higher::interpreters::{Lambda, Syntax};
/// use polygrad_higher::{Expr, Language, Real, fun1, let_};
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| let_(x.at(), |y| y.at().sin() * y.at()))
/// }
/// let term: Lambda = program::<Syntax>().hom().term();
/// assert_eq!(term.simplify().to_string(), "\\x ->\n  sin x * x");
/// // `*`, the pair of its operands, `sin`, and `x` twice.
/// assert!(term.simplify().size() == 5 && term.size() > 5);
/// ```
#[derive(Clone)]
pub struct Lambda {
    inputs: Vec<Name>,
    body: E,
    next: Name,
}

/// A supply of new names.
struct Names(Name);

impl Names {
    fn fresh(&mut self) -> Name {
        self.0 += 1;
        self.0
    }

    fn let_(&mut self, value: E, body: impl FnOnce(&mut Names, E) -> E) -> E {
        let x = self.fresh();
        let body = body(self, var(x));
        Shared::new(Exp::Let(x, value, body))
    }

    fn lam(&mut self, body: impl FnOnce(&mut Names, E) -> E) -> E {
        let x = self.fresh();
        let body = body(self, var(x));
        Shared::new(Exp::Lam(x, body))
    }
}

fn var(x: Name) -> E {
    Shared::new(Exp::Var(x))
}

fn op(op: Op, args: Vec<E>) -> E {
    Shared::new(Exp::Op(op, args))
}

fn pair(a: E, b: E) -> E {
    op(Op::Pair, vec![a, b])
}

fn fst(a: E) -> E {
    op(Op::Fst, vec![a])
}

fn snd(a: E) -> E {
    op(Op::Snd, vec![a])
}

fn app(f: E, x: E) -> E {
    op(Op::App, vec![f, x])
}

fn zero() -> E {
    op(Op::Zero, vec![])
}

fn plus(a: E, b: E) -> E {
    op(Op::Plus, vec![a, b])
}

impl Exp {
    fn parts(&self) -> Vec<&E> {
        match self {
            Exp::Var(_) => Vec::new(),
            Exp::Let(_, a, b) => vec![a, b],
            Exp::Lam(_, a) | Exp::With(_, a) | Exp::Add(_, a) => vec![a],
            Exp::Case(s, (_, a), (_, b)) => vec![s, a, b],
            Exp::Op(_, args) => args.iter().collect(),
        }
    }

    fn size(&self) -> usize {
        let (mut size, mut work) = (0, vec![self]);
        while let Some(e) = work.pop() {
            size += 1;
            work.extend(e.parts().into_iter().map(|part| &**part));
        }
        size
    }
}

impl Lambda {
    /// The number of nodes of the term.
    ///
    /// Example: [`Lambda`].
    pub fn size(&self) -> usize {
        self.body.size()
    }
}
