//! Values of higher-order programs: one type for all objects.
//!
//! Programs are typed at their surface, by the codes of [`crate::object`]; values have this one type, so user
//! code instantiates little. Laws: a value has the type that its use requires (the typed surface ensures that, so a
//! match that fails is a bug of this library); [`Val::Zero`] is the zero of every type with addition, at no cost, for
//! any shapes.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;

use polygrad::array::{Array, Values};
use polygrad::base::BaseTensor;
use polygrad::dtype::DType;
use polygrad::ops::Linear;
use polygrad::seam::mistake;
use polygrad::tree::Tree;

use super::Scattered;
use super::Tower;
use super::compositions;
use super::copower::Bag;
use super::counter;
use super::decisions::decide;
use super::linear::Lin;
use super::recursion::{called, within_stack};
use super::stacks::FunctionArray;
use crate::shared::Shared;
use crate::{Ground, Layout, Monoid};

/// A function of values. Chains of functions that call or capture each other may be as long as the program: calls that
/// nest too deep for the stack are refused, and captured values are released without recursion.
///
/// Example: [`Backward::pulled`](super::Backward::pulled).
pub struct Closure<T: 'static>(Shared<dyn Callable<T>>);

impl<T> Clone for Closure<T> {
    fn clone(&self) -> Self {
        Closure(self.0.clone())
    }
}

/// What can be called.
trait Callable<T: 'static> {
    fn call(&self, x: Val<T>) -> Val<T>;

    /// The code and the captured value; `None` if a closure of the host language hides what it captures.
    fn parts(&self) -> Option<(&Code<T>, &Val<T>)> {
        None
    }
}

impl<T: 'static, F: Fn(Val<T>) -> Val<T>> Callable<T> for F {
    fn call(&self, x: Val<T>) -> Val<T> {
        self(x)
    }
}

/// The code of a function whose captured value is data: it takes the captured value and the argument.
pub(super) enum Code<T: 'static> {
    /// A program of the pair of both.
    Curried(Closure<T>),
    /// A recursive function, with a name for reports and the place at which it is written; the program takes the
    /// captured value, the function itself, and the argument.
    Recursive(&'static str, Option<&'static Location<'static>>, Closure<T>),
    /// The selection by a mask from the results of two functions: the captured value is the mask and both.
    Selected,
    /// The final state of a fold: the captured value is the argument of the fold.
    Folded,
}

impl<T> Clone for Code<T> {
    fn clone(&self) -> Self {
        match self {
            Code::Curried(f) => Code::Curried(f.clone()),
            Code::Recursive(name, at, f) => Code::Recursive(name, *at, f.clone()),
            Code::Selected => Code::Selected,
            Code::Folded => Code::Folded,
        }
    }
}

/// Codes are equal if they are the same part of a program.
impl<T> PartialEq for Code<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Code::Curried(f), Code::Curried(g)) | (Code::Recursive(_, _, f), Code::Recursive(_, _, g)) => {
                f.address() == g.address()
            }
            (Code::Selected, Code::Selected) | (Code::Folded, Code::Folded) => true,
            (Code::Curried(_) | Code::Recursive(..) | Code::Selected | Code::Folded, _) => false,
        }
    }
}

/// A function with its captured value.
struct Capturing<T: 'static> {
    code: Code<T>,
    captured: Val<T>,
}

impl<T: BaseTensor> Callable<T> for Capturing<T> {
    fn call(&self, x: Val<T>) -> Val<T> {
        match &self.code {
            Code::Curried(f) => f.at(Val::pair(self.captured.clone(), x)),
            Code::Recursive(name, at, f) => within_stack(name, *at, || {
                let own = Val::capturing(self.code.clone(), self.captured.clone());
                f.at(Val::pair(Val::pair(self.captured.clone(), own), x))
            }),
            Code::Selected => {
                let both = self.captured.snd();
                Val::select(self.captured.fst().leaf(), both.fst().apply(x.clone()), both.snd().apply(x))
            }
            Code::Folded => compositions::called(&self.captured, x),
        }
    }

    fn parts(&self) -> Option<(&Code<T>, &Val<T>)> {
        Some((&self.code, &self.captured))
    }
}

impl<T> Closure<T> {
    pub(super) fn new(f: impl Fn(Val<T>) -> Val<T> + 'static) -> Self {
        Closure(Shared::of(Rc::new(f)))
    }

    /// The result at a value. It is inlined even without optimization, since calls nest.
    #[inline(always)]
    pub(super) fn at(&self, x: Val<T>) -> Val<T> {
        let _leave = called();
        self.0.call(x)
    }

    /// The code and the captured value, if they are data.
    pub(super) fn parts(&self) -> Option<(&Code<T>, &Val<T>)> {
        self.0.parts()
    }

    /// A number that identifies the function among all that exist.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(&*self.0).addr()
    }
}

/// A value of any type of the language, with tensors of the interpreter `T`.
///
/// Closed: these are the types of the language.
///
/// ```
/// use polygrad::Array;
/// use std::rc::Rc;
/// use polygrad_higher::interpreters::Val;
/// let number = |x: f64| Val::Leaf(Array::scalar(x));
/// let pair = Val::Pair(Rc::new((number(1.0), Val::Left(Rc::new(number(2.0))))));
/// assert_eq!(pair.to_string(), "(1.0, left 2.0)");
/// ```
pub enum Val<T: 'static> {
    /// Zero, of any type with addition.
    Zero,
    /// The value of the unit type.
    Nil,
    /// A tensor.
    Leaf(T),
    /// The cotangent of a tensor that is zero but at some indices. Only accumulators, sums and copowers hold one: the result
    /// of a linear function is a tensor.
    Scattered(Rc<Scattered<T>>),
    /// A pair.
    Pair(Rc<(Val<T>, Val<T>)>),
    /// The left case of a sum.
    Left(Rc<Val<T>>),
    /// The right case of a sum.
    Right(Rc<Val<T>>),
    /// The left case where the mask holds, otherwise the right one: a case that is not known while a program is traced.
    Either(Rc<(T, Val<T>, Val<T>)>),
    /// A function.
    Fun(Closure<T>),
    /// A linear function.
    Lin(Lin<T>),
    /// A copower.
    Bag(Bag<T>),
    /// A value of a monoid of the host language.
    Mono(Rc<dyn AnyMonoid>),
    /// An array of values that tensors alone do not represent, such as functions.
    Many(Rc<FunctionArray<T>>),
}

impl<T: Clone> Clone for Val<T> {
    fn clone(&self) -> Self {
        match self {
            Val::Zero => Val::Zero,
            Val::Nil => Val::Nil,
            Val::Leaf(t) => Val::Leaf(t.clone()),
            Val::Scattered(s) => Val::Scattered(s.clone()),
            Val::Pair(p) => Val::Pair(p.clone()),
            Val::Left(v) => Val::Left(v.clone()),
            Val::Right(v) => Val::Right(v.clone()),
            Val::Either(e) => Val::Either(e.clone()),
            Val::Fun(f) => Val::Fun(f.clone()),
            Val::Lin(l) => Val::Lin(l.clone()),
            Val::Bag(b) => Val::Bag(b.clone()),
            Val::Mono(m) => Val::Mono(m.clone()),
            Val::Many(m) => Val::Many(m.clone()),
        }
    }
}

/// A value of a monoid with its type erased.
///
/// ```
/// use polygrad::Array;
/// use std::rc::Rc;
/// use polygrad_higher::Parity;
/// use polygrad_higher::interpreters::{AnyMonoid, Val};
/// // A mark of a dependency analysis, as a value of a program.
/// let mark: Val<Array> = Val::Mono(Rc::new(Parity(true)));
/// let Val::Mono(any) = &mark else { panic!("a mark") };
/// let any: &dyn AnyMonoid = &**any;
/// assert_eq!((any.value().downcast_ref(), any.value().downcast_ref::<u64>()), (Some(&Parity(true)), None));
/// assert_eq!(any.sum(&Parity(true)).value().downcast_ref(), Some(&Parity(false)));
/// ```
pub trait AnyMonoid {
    /// The sum with a value of the same type.
    ///
    /// Example: [`AnyMonoid`].
    fn sum(&self, other: &dyn AnyMonoid) -> Rc<dyn AnyMonoid>;

    /// The value.
    ///
    /// Example: [`AnyMonoid`].
    fn value(&self) -> &dyn Any;
}

impl<M: Monoid> AnyMonoid for M {
    fn sum(&self, other: &dyn AnyMonoid) -> Rc<dyn AnyMonoid> {
        Rc::new(self.plus(other.value().downcast_ref().expect("the types of programs keep monoids apart")))
    }

    fn value(&self) -> &dyn Any {
        self
    }
}

/// Fails for a value whose type is not the program's: a bug of this library.
#[cold]
fn mistyped(needed: &str) -> ! {
    unreachable!("a value of a typed program is {needed}")
}

impl<T: BaseTensor> Val<T> {
    pub(super) fn fun(f: impl Fn(Val<T>) -> Val<T> + 'static) -> Self {
        Val::Fun(Closure::new(f))
    }

    /// A function with its captured value.
    pub(super) fn capturing(code: Code<T>, captured: Val<T>) -> Self {
        Val::Fun(Closure(Shared::of(Rc::new(Capturing { code, captured }))))
    }

    /// A pair; a pair of zeros is zero.
    pub(crate) fn pair(a: Val<T>, b: Val<T>) -> Self {
        if a.is_zero() && b.is_zero() { Val::Zero } else { Val::Pair(Rc::new((a, b))) }
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Val::Zero)
    }

    pub(crate) fn fst(&self) -> Val<T> {
        match self {
            Val::Pair(p) => p.0.clone(),
            Val::Zero => Val::Zero,
            Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Left(_) | Val::Right(_) => mistyped("a pair"),
            Val::Either(_) | Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => {
                mistyped("a pair")
            }
        }
    }

    pub(crate) fn snd(&self) -> Val<T> {
        match self {
            Val::Pair(p) => p.1.clone(),
            Val::Zero => Val::Zero,
            Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Left(_) | Val::Right(_) => mistyped("a pair"),
            Val::Either(_) | Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => {
                mistyped("a pair")
            }
        }
    }

    /// Applies the function.
    pub(crate) fn apply(&self, x: Val<T>) -> Val<T> {
        match self {
            Val::Fun(f) => f.at(x),
            Val::Zero => Val::Zero,
            Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Left(_) | Val::Right(_) => mistyped("a function"),
            Val::Either(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => mistyped("a function"),
            Val::Scattered(_) => mistyped("a function"),
        }
    }

    pub(super) fn leaf(&self) -> &T {
        if let Val::Leaf(t) = self { t } else { mistyped("a tensor") }
    }

    pub(crate) fn lin(&self) -> Lin<T> {
        match self {
            Val::Lin(l) => l.clone(),
            Val::Zero => Lin::zero(),
            Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Left(_) | Val::Right(_) => mistyped("a linear function"),
            Val::Either(_) | Val::Fun(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => mistyped("a linear function"),
            Val::Scattered(_) => mistyped("a linear function"),
        }
    }

    /// The entries of a copower; `None` for zero.
    pub(super) fn bag(&self) -> Option<Bag<T>> {
        match self {
            Val::Bag(b) => Some(b.clone()),
            Val::Zero => None,
            Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Left(_) | Val::Right(_) => mistyped("a copower"),
            Val::Either(_) | Val::Fun(_) | Val::Lin(_) | Val::Mono(_) | Val::Many(_) => mistyped("a copower"),
            Val::Scattered(_) => mistyped("a copower"),
        }
    }

    /// The sum, of any type with addition.
    pub(super) fn plus(self, other: Val<T>) -> Val<T> {
        counter::addition::<T>();
        match (self, other) {
            (Val::Zero, v) | (v, Val::Zero) => v,
            (Val::Nil, Val::Nil) => Val::Nil,
            (Val::Leaf(a), Val::Leaf(b)) => Val::Leaf(a.accumulate(&b)),
            (Val::Leaf(a), Val::Scattered(b)) => Val::Leaf(Rc::unwrap_or_clone(b).onto(a)),
            (Val::Scattered(a), Val::Leaf(b)) => Val::Leaf(Rc::unwrap_or_clone(a).onto(b)),
            (Val::Scattered(a), Val::Scattered(b)) => match Rc::unwrap_or_clone(a).plus(Rc::unwrap_or_clone(b)) {
                Ok(both) => Val::Scattered(Rc::new(both)),
                Err(dense) => Val::Leaf(dense),
            },
            (Val::Pair(p), Val::Pair(q)) => {
                let (a, b) = Rc::unwrap_or_clone(p);
                let (c, d) = Rc::unwrap_or_clone(q);
                Val::pair(a.plus(c), b.plus(d))
            }
            (Val::Left(a), Val::Left(b)) => Val::Left(Rc::new(Rc::unwrap_or_clone(a).plus(Rc::unwrap_or_clone(b)))),
            (Val::Right(a), Val::Right(b)) => Val::Right(Rc::new(Rc::unwrap_or_clone(a).plus(Rc::unwrap_or_clone(b)))),
            (Val::Either(e), Val::Either(f)) => {
                let (left, right) = (e.1.clone().plus(f.1.clone()), e.2.clone().plus(f.2.clone()));
                Val::Either(Rc::new((e.0.clone(), left, right)))
            }
            (Val::Fun(f), Val::Fun(g)) => Val::fun(move |x| f.at(x.clone()).plus(g.at(x))),
            (Val::Lin(f), Val::Lin(g)) => Val::Lin(f.plus(g)),
            (Val::Bag(a), Val::Bag(b)) => Val::Bag(a.both(b)),
            (Val::Mono(a), Val::Mono(b)) => Val::Mono(a.sum(&*b)),
            (a @ Val::Many(_), b) | (a, b @ Val::Many(_)) => FunctionArray::both(&a, &b, &Val::plus),
            _ => mistyped("of the type of what is added to it"),
        }
    }

    /// `then` where the mask holds, `otherwise` elsewhere. If the mask is known, one of them.
    pub(super) fn select(mask: &T, then: Val<T>, otherwise: Val<T>) -> Val<T> {
        if let Some(known) = known(mask) {
            return if known { then } else { otherwise };
        }
        match (then, otherwise) {
            (Val::Zero, Val::Zero) => Val::Zero,
            (Val::Nil, _) | (_, Val::Nil) => Val::Nil,
            (a @ Val::Scattered(_), b) | (a, b @ Val::Scattered(_)) => {
                let either = |first: bool, v: &T| {
                    let zero = T::zeros(v.shape(), v.dtype());
                    if first { choose(mask, v, &zero) } else { choose(mask, &zero, v) }
                };
                let masked = |v: Val<T>, first: bool| {
                    if let Val::Scattered(v) = v {
                        return Val::Scattered(Rc::new(v.each(|rows| either(first, rows))));
                    }
                    if first { Val::select(mask, v, Val::Zero) } else { Val::select(mask, Val::Zero, v) }
                };
                masked(a, true).plus(masked(b, false))
            }
            (Val::Leaf(a), Val::Leaf(b)) => Val::Leaf(choose(mask, &a, &b)),
            (Val::Leaf(a), Val::Zero) => Val::Leaf(choose(mask, &a, &T::zeros(a.shape(), a.dtype()))),
            (Val::Zero, Val::Leaf(b)) => Val::Leaf(choose(mask, &T::zeros(b.shape(), b.dtype()), &b)),
            (a @ (Val::Pair(_) | Val::Zero), b @ Val::Pair(_)) | (a @ Val::Pair(_), b @ Val::Zero) => {
                Val::pair(Val::select(mask, a.fst(), b.fst()), Val::select(mask, a.snd(), b.snd()))
            }
            (a @ (Val::Fun(_) | Val::Zero), b @ Val::Fun(_)) | (a @ Val::Fun(_), b @ Val::Zero) => {
                Val::capturing(Code::Selected, Val::pair(Val::Leaf(mask.clone()), Val::pair(a, b)))
            }
            (a @ (Val::Lin(_) | Val::Zero), b @ Val::Lin(_)) | (a @ Val::Lin(_), b @ Val::Zero) => {
                Val::Lin(Lin::select(mask.clone(), a.lin(), b.lin()))
            }
            (a @ (Val::Bag(_) | Val::Zero), b @ Val::Bag(_)) | (a @ Val::Bag(_), b @ Val::Zero) => {
                let part = |v: Val<T>, first: bool| {
                    let mask = mask.clone();
                    let masked: Rc<dyn Fn(Val<T>) -> Val<T>> = Rc::new(move |v| {
                        if first { Val::select(&mask, v, Val::Zero) } else { Val::select(&mask, Val::Zero, v) }
                    });
                    v.bag().map_or(Val::Zero, |bag| Val::Bag(bag.each(&masked)))
                };
                part(a, true).plus(part(b, false))
            }
            (a @ Val::Many(_), b) | (a, b @ Val::Many(_)) => {
                FunctionArray::both(&a, &b, &|a, b| Val::select(mask, a, b))
            }
            (a @ (Val::Left(_) | Val::Right(_) | Val::Either(_)), b) | (a, b) => Val::select_sum(mask, &a, &b),
        }
    }

    /// [`select`](Val::select) between values of a sum.
    fn select_sum(mask: &T, a: &Val<T>, b: &Val<T>) -> Val<T> {
        let truth = |b: bool| T::constant(Array::scalar(b));
        let parts = |v: &Val<T>| match v {
            Val::Left(v) => (truth(true), (**v).clone(), Val::Zero),
            Val::Right(v) => (truth(false), Val::Zero, (**v).clone()),
            Val::Either(e) => (**e).clone(),
            Val::Zero => (truth(true), Val::Zero, Val::Zero),
            Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) | Val::Lin(_) | Val::Bag(_) => mistyped("a sum"),
            Val::Many(_) | Val::Scattered(_) => mistyped("a sum"),
            Val::Mono(_) => mistake(
                "if: an analysis must know which branch runs, but the condition is not known while a program is traced; analyse the \
                 program with known numbers",
            ),
        };
        match (a, b) {
            (Val::Left(a), Val::Left(b)) => Val::Left(Rc::new(Val::select(mask, (**a).clone(), (**b).clone()))),
            (Val::Right(a), Val::Right(b)) => Val::Right(Rc::new(Val::select(mask, (**a).clone(), (**b).clone()))),
            _ => {
                let ((m, l, r), (n, u, v)) = (parts(a), parts(b));
                let which = choose(mask, &m, &n);
                Val::Either(Rc::new((which, Val::select(mask, l, u), Val::select(mask, r, v))))
            }
        }
    }

    /// `f` of the value of the left case, or `g` of that of the right case; a selection between both if the case is not
    /// known. The zero of a sum of vectors has no case, and gives zero.
    pub(super) fn split(&self, f: impl FnOnce(Val<T>) -> Val<T>, g: impl FnOnce(Val<T>) -> Val<T>) -> Val<T> {
        match self {
            Val::Left(v) => f((**v).clone()),
            Val::Right(v) => g((**v).clone()),
            Val::Either(e) => Val::select(&e.0, f(e.1.clone()), g(e.2.clone())),
            Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) | Val::Lin(_) => mistyped("a sum"),
            Val::Scattered(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => mistyped("a sum"),
            Val::Zero => Val::Zero,
        }
    }

    /// The value with these leaves.
    pub(crate) fn of_leaves(layout: &Layout, leaves: &mut dyn Iterator<Item = Option<T>>) -> Val<T> {
        Val::of_parts(layout, &mut leaves.map(|leaf| leaf.map_or(Val::Zero, Val::Leaf)))
    }

    /// The value with these values as leaves.
    pub(super) fn of_parts(layout: &Layout, leaves: &mut dyn Iterator<Item = Val<T>>) -> Val<T> {
        match layout {
            Layout::Unit => Val::Nil,
            Layout::Leaf(..) => leaves.next().unwrap_or(Val::Zero),
            Layout::Pair(a, b) => {
                let first = Val::of_parts(a, leaves);
                Val::pair(first, Val::of_parts(b, leaves))
            }
        }
    }

    /// Appends the leaves of the value; `None` for zeros, and for types without tangents.
    pub(crate) fn leaves(&self, layout: &Layout, into: &mut Vec<Option<T>>) {
        match layout {
            Layout::Unit => {}
            Layout::Leaf(..) => into.push(match self {
                Val::Leaf(t) => Some(t.clone()),
                Val::Scattered(at) => Some(Scattered::clone(at).dense()),
                Val::Zero | Val::Nil | Val::Pair(_) | Val::Left(_) | Val::Right(_) | Val::Either(_) => None,
                Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => None,
            }),
            Layout::Pair(a, b) => {
                self.fst().leaves(a, into);
                self.snd().leaves(b, into);
            }
        }
    }

    /// The leaves of a primal value. A scalar may be a symbolic zero: a cotangent, which is a primal value at the next
    /// order of differentiation.
    pub(crate) fn primals(&self, layout: &Layout) -> Vec<T> {
        let mut found = Vec::new();
        self.collect_primals(layout, &mut found);
        found
    }

    fn collect_primals(&self, layout: &Layout, into: &mut Vec<T>) {
        match (layout, self) {
            (Layout::Unit, _) => {}
            (Layout::Leaf(0, DType::F64), Val::Zero) => into.push(T::zeros(&[], DType::F64)),
            (Layout::Leaf(..), Val::Scattered(s)) => into.push(Scattered::clone(s).dense()),
            (Layout::Leaf(..), _) => into.push(self.leaf().clone()),
            (Layout::Pair(a, b), _) => {
                self.fst().collect_primals(a, into);
                self.snd().collect_primals(b, into);
            }
        }
    }

    /// The (co)tangent with explicit zeros for the floats of the primal value `like`.
    pub(super) fn conform(self, like: &Val<T>) -> Val<T> {
        match (self, like) {
            (Val::Zero, Val::Leaf(t)) if t.dtype().is_float() => Val::Leaf(T::zeros(t.shape(), t.dtype())),
            (v @ (Val::Zero | Val::Pair(_)), Val::Pair(p)) => Val::pair(v.fst().conform(&p.0), v.snd().conform(&p.1)),
            (v, _) => v,
        }
    }
}

/// Whether the mask holds, if that is known; in the trips of a loop, by the decision of the first trip.
pub(super) fn known<T: BaseTensor>(mask: &T) -> Option<bool> {
    let holds = match mask.peek()?.values::<bool>()? {
        Values::Splat(b) => b,
        Values::Dense(b) => *b.first()?,
    };
    Some(decide(holds))
}

/// `then` if the mask, a scalar, holds, else `otherwise`.
pub(super) fn choose<T: BaseTensor>(mask: &T, then: &T, otherwise: &T) -> T {
    let scalar = then.shape().is_empty();
    let wide = if scalar { mask.clone() } else { mask.linear(&Linear::replicate(then.shape(), &[])) };
    T::select(&wide, then, otherwise)
}

impl<T: BaseTensor> Val<T> {
    /// The left case where the mask holds.
    pub(super) fn choice(mask: &T) -> Val<T> {
        match known(mask) {
            Some(true) => Val::Left(Rc::new(Val::Nil)),
            Some(false) => Val::Right(Rc::new(Val::Nil)),
            None => Val::Either(Rc::new((mask.clone(), Val::Nil, Val::Nil))),
        }
    }

    /// The (co)tangent with units replaced by zeros.
    pub(super) fn without_units(self) -> Val<T> {
        match self {
            Val::Nil => Val::Zero,
            Val::Pair(p) => Val::pair(p.0.clone().without_units(), p.1.clone().without_units()),
            v @ (Val::Zero | Val::Leaf(_) | Val::Scattered(_) | Val::Left(_) | Val::Right(_) | Val::Either(_)) => v,
            v @ (Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_)) => v,
        }
    }
}

/// Values of the host language, in and out of programs.
impl<T: BaseTensor> Val<Tower<T>> {
    /// A ground value of the host language.
    pub(crate) fn given<A: Ground>(x: &A::Value<T>) -> Self {
        Val::of_leaves(&A::layout(), &mut x.leaves().into_iter().map(|leaf| Some(Tower::of(leaf))))
    }

    /// The leaves of a primal value, without levels.
    pub(crate) fn results(&self, layout: &Layout) -> Vec<T> {
        self.primals(layout).into_iter().map(Tower::into_base).collect()
    }

    /// The primal value as one of the host language.
    pub(crate) fn read<A: Ground>(&self) -> A::Value<T> {
        A::read(&mut self.results(&A::layout()).into_iter())
    }

    /// The (co)tangent as a ground value of the host language, with explicit zeros of the shapes of `x`.
    pub(crate) fn tangent_like<A: Ground>(&self, x: &A::Value<T>) -> A::Value<T> {
        let mut leaves = Vec::new();
        self.leaves(&A::layout(), &mut leaves);
        let filled = leaves.into_iter().zip(x.leaves()).map(|(leaf, x)| match leaf {
            Some(leaf) => leaf.into_base(),
            None => T::zeros(x.shape(), x.dtype()),
        });
        A::read(&mut filled.collect::<Vec<T>>().into_iter())
    }
}

impl<T: BaseTensor> Val<T> {
    /// Whether cases and pairs are nested more than `limit` deep.
    pub(super) fn is_deeper_than(&self, limit: usize) -> bool {
        let mut work = vec![(self, 0)];
        while let Some((v, depth)) = work.pop() {
            if depth > limit {
                return true;
            }
            match v {
                Val::Pair(p) => work.extend([(&p.0, depth + 1), (&p.1, depth + 1)]),
                Val::Left(v) | Val::Right(v) => work.push((&**v, depth + 1)),
                Val::Either(e) => work.extend([(&e.1, depth + 1), (&e.2, depth + 1)]),
                Val::Zero | Val::Nil | Val::Leaf(_) | Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) => {}
                Val::Scattered(_) | Val::Many(_) => {}
            }
        }
        false
    }

    /// Whether the value contains a function.
    pub(super) fn has_function(&self) -> bool {
        match self {
            Val::Fun(_) | Val::Lin(_) | Val::Many(_) => true,
            Val::Pair(p) => p.0.has_function() || p.1.has_function(),
            Val::Left(v) | Val::Right(v) => v.has_function(),
            Val::Either(e) => e.1.has_function() || e.2.has_function(),
            Val::Zero | Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Bag(_) | Val::Mono(_) => false,
        }
    }
}

/// Values whose leaves are values of a monoid.
impl<T: BaseTensor> Val<T> {
    pub(crate) fn of_marks<M: Monoid>(layout: &Layout, marks: &mut dyn Iterator<Item = M>) -> Val<T> {
        match layout {
            Layout::Unit => Val::Zero,
            Layout::Leaf(..) => marks.next().map_or(Val::Zero, |m| Val::Mono(Rc::new(m))),
            Layout::Pair(a, b) => {
                let first = Val::of_marks(a, marks);
                Val::pair(first, Val::of_marks(b, marks))
            }
        }
    }

    pub(crate) fn marks<M: Monoid>(&self, layout: &Layout) -> Vec<M> {
        match layout {
            Layout::Unit => Vec::new(),
            Layout::Leaf(..) => {
                let value = if let Val::Mono(m) = self { m.value().downcast_ref::<M>().cloned() } else { None };
                vec![value.unwrap_or_default()]
            }
            Layout::Pair(a, b) => [self.fst().marks(a), self.snd().marks(b)].concat(),
        }
    }
}
