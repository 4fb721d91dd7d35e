//! Making values, and taking them apart.
//!
//! Law: a match that fails is a bug of this library, since programs are typed; the parts of [`Val::Zero`] are zeros.

use std::rc::Rc;

use polygrad::array::{Array, Values};
use polygrad::base::BaseTensor;
use polygrad::dtype::DType;
use polygrad::seam::mistake;
use polygrad::tree::Tree;

use super::Scattered;
use super::Tower;
use super::choice::choose;
use super::compositions;
use super::decisions::decide;
use super::value::{Bag, Callable, Closure, Code, Frames, FunctionArray, Lin, Transition, Val};
use crate::shared::Shared;
use crate::{Ground, Layout, Monoid};

impl<T> Clone for Code<T> {
    fn clone(&self) -> Self {
        match self {
            Code::Curried(f) => Code::Curried(f.clone()),
            Code::Recursive(name, f, recorder) => Code::Recursive(*name, f.clone(), *recorder),
            Code::Selected => Code::Selected,
            Code::Folded => Code::Folded,
        }
    }
}

/// Codes are equal if they are the same part of a program.
impl<T> PartialEq for Code<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Code::Curried(f), Code::Curried(g)) | (Code::Recursive(_, f, _), Code::Recursive(_, g, _)) => {
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
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        match &self.code {
            Code::Curried(f) => Transition::Call(f.clone(), Val::pair(self.captured.clone(), x)),
            Code::Recursive((name, at), _, _) => {
                frames.recurses(name, *at);
                if T::records() { frames.entered(own, x) } else { self.body(own, x) }
            }
            Code::Selected => {
                frames.push(own, 0, x.clone());
                self.captured.snd().fst().call(x)
            }
            Code::Folded => Transition::Value(compositions::called(&self.captured, x)),
        }
    }

    /// The selected function: the result of the second one is still needed, or both are there. Of a recursive function, the
    /// result is there.
    fn resume(&self, own: &Closure<T>, stage: u8, kept: Val<T>, y: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        if let Code::Recursive(..) = &self.code {
            return Transition::Value(y);
        }
        if stage == 0 {
            frames.push(own, 1, y);
            return self.captured.snd().snd().call(kept);
        }
        Transition::Value(Val::select(self.captured.fst().leaf(), kept, y))
    }

    fn body(&self, own: &Closure<T>, x: Val<T>) -> Transition<T> {
        let Code::Recursive(_, body, _) = &self.code else { mistyped("a recursive function") };
        let function = Val::Pair(Shared::new((self.captured.clone(), Val::Fun(own.clone()))));
        Transition::Call(body.clone(), Val::Pair(Shared::new((function, x))))
    }

    fn activates(&self, own: &Closure<T>, _: u8) -> Option<usize> {
        if let Code::Recursive(..) = &self.code { Some(own.address()) } else { None }
    }

    fn recorded(&self, _: &Closure<T>, x: &Val<T>) -> Option<Val<T>> {
        let Code::Recursive(name, body, recorder) = &self.code else { return None };
        recorder(*name, body, &self.captured, x)
    }

    fn parts(&self) -> Option<(&Code<T>, &Val<T>)> {
        Some((&self.code, &self.captured))
    }
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

/// Fails for a value whose type is not the program's: a bug of this library.
#[cold]
pub(super) fn mistyped(needed: &str) -> ! {
    unreachable!("a value of a typed program is {needed}")
}

impl<T: BaseTensor> Val<T> {
    pub(super) fn fun(f: impl Fn(Val<T>) -> Val<T> + 'static) -> Self {
        Val::Fun(Closure::new(f))
    }

    /// A function with its captured value.
    pub(super) fn capturing(code: Code<T>, captured: Val<T>) -> Self {
        Val::Fun(Closure::of(Capturing { code, captured }))
    }

    /// A pair; a pair of zeros is zero.
    pub(crate) fn pair(a: Val<T>, b: Val<T>) -> Self {
        if a.is_zero() && b.is_zero() { Val::Zero } else { Val::Pair(Shared::new((a, b))) }
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

    /// Applies the function, for the host.
    pub(crate) fn apply(&self, x: Val<T>) -> Val<T> {
        match self.call(x) {
            Transition::Call(f, x) => f.at(x),
            Transition::Value(y) => y,
        }
    }

    /// The call of the function.
    pub(super) fn call(&self, x: Val<T>) -> Transition<T> {
        match self {
            Val::Fun(f) => Transition::Call(f.clone(), x),
            Val::Zero => Transition::Value(Val::Zero),
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
            (Val::Left(a), Val::Left(b)) => Val::Left(Shared::new(Val::select(mask, (**a).clone(), (**b).clone()))),
            (Val::Right(a), Val::Right(b)) => Val::Right(Shared::new(Val::select(mask, (**a).clone(), (**b).clone()))),
            _ => {
                let ((m, l, r), (n, u, v)) = (parts(a), parts(b));
                let which = choose(mask, &m, &n);
                Val::Either(Shared::new((which, Val::select(mask, l, u), Val::select(mask, r, v))))
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

impl<T: BaseTensor> Val<T> {
    /// The left case where the mask holds.
    pub(super) fn choice(mask: &T) -> Val<T> {
        match known(mask) {
            Some(true) => Val::Left(Shared::new(Val::Nil)),
            Some(false) => Val::Right(Shared::new(Val::Nil)),
            None => Val::Either(Shared::new((mask.clone(), Val::Nil, Val::Nil))),
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
