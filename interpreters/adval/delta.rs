//! Delta terms: a linear map from the inputs' tangents, as a term with ID-ordered global sharing.
//!
//! A [`Delta`] is the linear map from the tangents of earlier values to the tangent of one value. It is a functor in
//! both its parameters: `F`, the representation of the primal values that are its coefficients, and `R`, the references
//! to other terms. At top level `F` is the value itself and `R` a pointer to a node; in the body of a loop both are
//! numbers (see [`super::loops`]). So one function evaluates both.
//!
//! Law: the references of a node have smaller ids. A node is one `Share` of "Dual arrays" (section 2.5), fused with
//! the operation under it. No function of this module recurses over the depth of a term.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use super::call::Called;
use super::checkpointed_call::{Applied, RerunCode};
use super::custom::Ruled;
use super::fork::Forked;
use super::loops::LoopTerm;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::hash::Table;
use crate::interpreters::guarded::{Care, reads_all};
use crate::ops::{Contract, Guard, Linear, Reduce};
use crate::release::release;
use crate::shape::Shape;
use crate::source::Site;

/// The time of creation of a value: later values have larger ids. Constants have an id, too.
pub(super) type Id = u64;

thread_local! {
    static NEXT: Cell<Id> = const { Cell::new(1) };
}

/// A new id, larger than all earlier ids of this thread. Terms never leave their thread.
#[inline]
pub(super) fn fresh() -> Id {
    NEXT.with(|next| {
        let id = next.get();
        next.set(id + 1);
        id
    })
}

/// A value of the primal program inside a term. The id names the value: equal ids, equal values.
#[derive(Clone)]
pub(super) struct Factor<T> {
    pub(super) value: T,
    pub(super) id: Id,
}

/// A representation, within a term, of a value of the primal program.
pub(super) trait Coefficient {
    /// That of a function that the evaluation of a term runs again.
    type Code: Clone + PartialEq + fmt::Debug;
}

impl<T> Coefficient for Factor<T> {
    type Code = RerunCode;
}

/// A partial derivative times a tangent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edge<F, R> {
    pub(super) guard: Guard,
    /// The partial; absent if the guard determines it.
    pub(super) factor: Option<F>,
    pub(super) to: R,
    /// Whether the partial can be infinite or NaN where the value is finite.
    pub(super) steep: bool,
}

/// The origin of an input, whose tangent is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// An argument of a differentiated function.
    Argument,
    /// A variable of a loop: a carry, or an element of a sequence.
    Loop,
}

/// A tangent as a linear function of earlier tangents.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Delta<F: Coefficient, R> {
    /// A value whose tangent is given.
    Input(Given),
    /// A partial times a tangent.
    Scale(Edge<F, R>),
    /// The sum of two partials times tangents.
    Scale2(Edge<F, R>, Edge<F, R>),
    /// The first tangent where a mask holds, the second elsewhere; an absent tangent is zero.
    Select { mask: F, then: Option<R>, otherwise: Option<R> },
    /// A linear operation, and whether it hides elements that can be infinite or NaN.
    Linear(Box<Linear>, R, bool),
    /// The product rule of a bilinear operation.
    Contract(Box<ProductTerm<F, R>>),
    /// The elements of a tangent at the positions of the extrema along an axis.
    Reduce(Box<Reduced<F, R>>),
    /// Subarrays of a tangent.
    Gather(Box<Gather<F, R>>),
    /// A tangent with subarrays of another added.
    ScatterAdd(Box<ScatterAdd<F, R>>),
    /// The concatenation of tangents, each with its shape; an absent one is zero.
    Concat(usize, Vec<(Shape, Option<R>)>),
    /// A loop: it has one tangent per result.
    Loop(Box<LoopTerm<F, R>>),
    /// A call that is linear in one operand.
    Call(Box<Called<F, R>>),
    /// A function with a rule for cotangents: it has one tangent per result.
    Custom(Box<Ruled<F, R>>),
    /// Two functions: it has one tangent per result.
    Fork(Box<Forked<F, R>>),
    /// A checkpointed function: it has one tangent per result.
    Again(Box<Applied<F, R>>),
    /// The tangent of a result of a loop without a bound on the number of trips: no evaluation of terms can compute it.
    Unbounded,
    /// One of the tangents of a loop, or of a function with a rule.
    Output(R, usize),
}

/// A pass over terms gives inputs their tangents, or keeps their cotangents, and refuses loops without a bound before it
/// evaluates a term.
#[cold]
pub(super) fn given_or_refused() -> ! {
    unreachable!("a term without references is an input, or is refused")
}

/// `op(a_dot, b) + op(a, b_dot)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProductTerm<F, R> {
    pub(super) op: Contract,
    /// The left tangent and the right value.
    pub(super) left: Option<(R, F)>,
    /// The right tangent and the left value.
    pub(super) right: Option<(R, F)>,
    /// Whether the value next to the left tangent, and that next to the right one, can be infinite or NaN.
    pub(super) poles: [bool; 2],
}

/// `of` at the positions `at` along the reduced axis: `gather(of, op.indices(at))`. The indices along the other axes
/// are not part of the term, so a loop stacks the positions alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reduced<F, R> {
    pub(super) op: Reduce,
    pub(super) source: Shape,
    pub(super) dtype: DType,
    pub(super) at: F,
    pub(super) of: R,
}

/// `gather(of, ix)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gather<F, R> {
    pub(super) source: Shape,
    pub(super) dtype: DType,
    pub(super) ix: Vec<F>,
    pub(super) of: R,
    /// Whether elements that are not read can be infinite or NaN.
    pub(super) hides: bool,
}

/// `scatter_add(base, ix, v)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScatterAdd<F, R> {
    pub(super) shape: Shape,
    pub(super) dtype: DType,
    pub(super) base: Option<R>,
    pub(super) ix: Vec<F>,
    pub(super) v: Option<R>,
    /// Whether subarrays that are not added, since their indices are out of bounds, can be infinite or NaN.
    pub(super) hides: bool,
}

impl<F: Coefficient, R> Delta<F, R> {
    /// The same term with its values, references and functions replaced.
    pub(super) fn map<G: Coefficient, S>(
        &self,
        f: &mut dyn FnMut(&F) -> G,
        r: &mut dyn FnMut(&R) -> S,
        c: &mut dyn FnMut(&F::Code) -> G::Code,
    ) -> Delta<G, S> {
        fn term<F, R, G, S>(t: &Edge<F, R>, f: &mut dyn FnMut(&F) -> G, r: &mut dyn FnMut(&R) -> S) -> Edge<G, S> {
            Edge { guard: t.guard, factor: t.factor.as_ref().map(f), to: r(&t.to), steep: t.steep }
        }
        match self {
            Delta::Input(given) => Delta::Input(*given),
            Delta::Scale(t) => Delta::Scale(term(t, f, r)),
            Delta::Scale2(s, t) => Delta::Scale2(term(s, f, r), term(t, f, r)),
            Delta::Select { mask, then, otherwise } => {
                Delta::Select { mask: f(mask), then: then.as_ref().map(&mut *r), otherwise: otherwise.as_ref().map(r) }
            }
            Delta::Linear(op, to, hides) => Delta::Linear(op.clone(), r(to), *hides),
            Delta::Contract(p) => Delta::Contract(Box::new(ProductTerm {
                op: p.op.clone(),
                left: p.left.as_ref().map(|(to, b)| (r(to), f(b))),
                right: p.right.as_ref().map(|(to, a)| (r(to), f(a))),
                poles: p.poles,
            })),
            Delta::Reduce(m) => Delta::Reduce(Box::new(Reduced {
                op: m.op,
                source: m.source.clone(),
                dtype: m.dtype,
                at: f(&m.at),
                of: r(&m.of),
            })),
            Delta::Gather(g) => Delta::Gather(Box::new(Gather {
                source: g.source.clone(),
                dtype: g.dtype,
                ix: g.ix.iter().map(f).collect(),
                of: r(&g.of),
                hides: g.hides,
            })),
            Delta::ScatterAdd(s) => Delta::ScatterAdd(Box::new(ScatterAdd {
                shape: s.shape.clone(),
                dtype: s.dtype,
                base: s.base.as_ref().map(&mut *r),
                ix: s.ix.iter().map(f).collect(),
                v: s.v.as_ref().map(r),
                hides: s.hides,
            })),
            Delta::Concat(axis, parts) => {
                Delta::Concat(*axis, parts.iter().map(|(s, to)| (s.clone(), to.as_ref().map(&mut *r))).collect())
            }
            Delta::Loop(l) => Delta::Loop(Box::new(l.map(f, r, c))),
            Delta::Call(c) => Delta::Call(Box::new(c.map(f, r))),
            Delta::Custom(c) => Delta::Custom(Box::new(c.map(f, r))),
            Delta::Fork(fork) => Delta::Fork(Box::new(fork.map(f, r))),
            Delta::Again(a) => Delta::Again(Box::new(a.map(f, r, c))),
            Delta::Unbounded => Delta::Unbounded,
            Delta::Output(of, i) => Delta::Output(r(of), *i),
        }
    }

    /// Calls `r` on every reference.
    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        match self {
            Delta::Input(_) | Delta::Unbounded => {}
            Delta::Scale(t) => r(&t.to),
            Delta::Scale2(s, t) => {
                r(&s.to);
                r(&t.to);
            }
            Delta::Select { then, otherwise, .. } => then.iter().chain(otherwise).for_each(r),
            Delta::Linear(_, to, _) | Delta::Output(to, _) => r(to),
            Delta::Contract(p) => p.left.iter().chain(&p.right).for_each(|(to, _)| r(to)),
            Delta::Reduce(m) => r(&m.of),
            Delta::Gather(g) => r(&g.of),
            Delta::ScatterAdd(s) => s.base.iter().chain(&s.v).for_each(r),
            Delta::Concat(_, parts) => parts.iter().filter_map(|(_, to)| to.as_ref()).for_each(r),
            Delta::Loop(l) => l.refs(r),
            Delta::Call(c) => r(&c.to),
            Delta::Custom(c) => c.refs(r),
            Delta::Fork(fork) => fork.refs(r),
            Delta::Again(a) => a.refs(r),
        }
    }

    /// The products with the cotangents that the term sends that are guarded, whatever comes before: these cotangents can
    /// be zero where the values that they meet are infinite or NaN, or infinite where these are zero.
    pub(super) fn care(&self) -> Care {
        let of = |t: &Edge<F, R>| if t.steep || t.guard == Guard::Mask { Care::Products } else { Care::None };
        match self {
            Delta::Select { .. } => Care::Rows,
            Delta::Scale(t) => of(t),
            Delta::Scale2(s, t) => of(s).max(of(t)),
            Delta::Linear(_, _, hides) if *hides => Care::Rows,
            Delta::Gather(g) if g.hides => Care::Rows,
            Delta::ScatterAdd(s) if s.hides => Care::Rows,
            Delta::Loop(l) => l.care(),
            Delta::Fork(fork) => fork.care(),
            // The elements that are not the extremum get zeros.
            Delta::Reduce(_) => Care::Products,
            // Elements that are not read get zeros, too, but these meet only finite values.
            Delta::Gather(_) => Care::None,
            Delta::Input(_) | Delta::Unbounded | Delta::Linear(..) | Delta::Contract(_) => Care::None,
            Delta::ScatterAdd(_) | Delta::Concat(..) | Delta::Call(_) | Delta::Custom(_) => Care::None,
            Delta::Again(_) | Delta::Output(..) => Care::None,
        }
    }

    /// Whether a partial of the term can be infinite or NaN where the value is finite.
    pub(super) fn is_steep(&self) -> bool {
        match self {
            Delta::Scale(t) => t.steep,
            Delta::Scale2(s, t) => s.steep || t.steep,
            Delta::Loop(l) => l.is_steep(),
            Delta::Call(c) => c.is_steep(),
            Delta::Custom(c) => c.is_steep(),
            Delta::Fork(fork) => fork.is_steep(),
            Delta::Input(_) | Delta::Unbounded | Delta::Select { .. } | Delta::Linear(..) => false,
            Delta::Contract(_) | Delta::Reduce(_) | Delta::Gather(_) | Delta::ScatterAdd(_) => false,
            Delta::Concat(..) | Delta::Again(_) | Delta::Output(..) => false,
        }
    }

    /// Takes the values in a contraction to be possibly infinite or NaN, and those that a read hides if `read`.
    pub(super) fn assume_poles(&mut self, read: bool) {
        if let Delta::Contract(p) = self {
            p.poles = [true; 2];
        } else if let Delta::Gather(g) = self {
            g.hides |= read;
        } else if let Delta::ScatterAdd(s) = self {
            s.hides |= read;
        } else if let Delta::Linear(op, _, hides) = self {
            *hides |= read && !reads_all(op);
        }
    }

    /// Whether the term contains a loop without a bound whose trips were not recorded as a program.
    pub(super) fn is_unbounded(&self) -> bool {
        match self {
            Delta::Loop(l) => l.is_unbounded(),
            Delta::Fork(fork) => fork.is_unbounded(),
            Delta::Unbounded => true,
            Delta::Custom(_)
            | Delta::Input(_)
            | Delta::Scale(_)
            | Delta::Scale2(..)
            | Delta::Select { .. }
            | Delta::Linear(..) => false,
            Delta::Contract(_) | Delta::Reduce(_) | Delta::Gather(_) | Delta::ScatterAdd(_) => false,
            Delta::Concat(..) | Delta::Call(_) | Delta::Again(_) | Delta::Output(..) => false,
        }
    }
}

/// The parts of a term, mapped. Terms are mapped for every interpreter: without iterators, much less is compiled.
pub(super) fn mapped<X, Y>(all: &[X], f: &mut dyn FnMut(&X) -> Y) -> Vec<Y> {
    let mut mapped = Vec::with_capacity(all.len());
    for x in all {
        mapped.push(f(x));
    }
    mapped
}

/// The parts that there are, mapped.
pub(super) fn mapped_options<X, Y>(all: &[Option<X>], f: &mut dyn FnMut(&X) -> Y) -> Vec<Option<Y>> {
    let mut mapped = Vec::with_capacity(all.len());
    for x in all {
        mapped.push(x.as_ref().map(&mut *f));
    }
    mapped
}

/// Calls a function on the parts that there are.
pub(super) fn present<'a, X>(all: &'a [Option<X>], f: &mut dyn FnMut(&'a X)) {
    for x in all.iter().flatten() {
        f(x);
    }
}

/// A shared term at top level.
pub(super) struct SharedTerm<T: 'static> {
    pub(super) id: Id,
    pub(super) dtype: DType,
    /// The operation that made the value.
    pub(super) site: Site,
    /// The shape of the value; `None` for rank 0.
    pub(super) shape: Option<Box<[usize]>>,
    pub(super) delta: Delta<Factor<T>, Rc<SharedTerm<T>>>,
}

impl<T: BaseTensor> SharedTerm<T> {
    /// The term of a value; the value itself is not kept.
    #[inline]
    pub(super) fn new(id: Id, value: &T, delta: Delta<Factor<T>, Rc<SharedTerm<T>>>) -> Rc<SharedTerm<T>> {
        let shape = value.shape();
        let shape = if shape.is_empty() { None } else { Some(Box::from(shape)) };
        Rc::new(SharedTerm { id, dtype: value.dtype(), site: value.site(), shape, delta })
    }
}

/// All terms reachable from these by references, with ids from `base` on, without inputs, by id.
pub(super) fn reachable<T>(from: &[Option<Rc<SharedTerm<T>>>], base: Id) -> Vec<&Rc<SharedTerm<T>>> {
    let (mut found, mut seen) = (Vec::new(), Table::default());
    let mut work: Vec<&Rc<SharedTerm<T>>> = Vec::new();
    present(from, &mut |node| work.push(node));
    while let Some(node) = work.pop() {
        if node.id >= base && !matches!(node.delta, Delta::Input(_)) && seen.insert(node.id, ()).is_none() {
            found.push(node);
            node.delta.refs(&mut |to| work.push(to));
        }
    }
    found.sort_unstable_by_key(|node| node.id);
    found
}

/// Terms may be as deep as the program is long, so they are released without recursion.
impl<T: 'static> Drop for SharedTerm<T> {
    fn drop(&mut self) {
        // If no reference of a term is the last one to its target, dropping the term drops no other.
        let (mut count, mut fewest) = (0, usize::MAX);
        self.delta.refs(&mut |to| {
            count += 1;
            fewest = fewest.min(Rc::strong_count(to));
        });
        if fewest <= count || matches!(self.delta, Delta::Again(_)) {
            release(std::mem::replace(&mut self.delta, Delta::Input(Given::Argument)));
        }
    }
}
