//! `Syntax`: the meaning of a program is its text.
//!
//! A morphism is the tree of its combinators, unsimplified. Its size shows that a transformation makes a program larger
//! by a constant factor at most ("CHAD", Corollary 7.2). The tree of a transformed program is translated to a term of
//! the lambda calculus ([`Lambda`]), to be simplified, printed and run.

use std::marker::PhantomData;
use std::rc::Rc;

use super::differential::Kinds;
use super::lambda::{AnyPrimitive, Lambda};
use crate::linear::LinearStep;
use crate::shared::Shared;
use crate::{
    ArrayTarget, Arrays, Ccc, Copower, Differential, Fun, Ground, Language, Layout, LinFun, LinSum, Mask, Obj,
    Primitive, Prod, Recursive, Stack, Stacks, Sum, Target, TypeParts, Unit,
};

/// Programs as text.
///
/// ```
/// use polygrad_higher::interpreters::{Reverse, Syntax};
/// use polygrad_higher::{Expr, Language, Real, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// let text = square::<Syntax>().hom().term().simplify().to_string();
/// assert_eq!(text, "\\x ->\n  x * x");
/// let text = square::<Reverse<Syntax>>().hom().term().simplify().to_string();
/// assert_eq!(text, "\\x ->\n  <x * x, \\t1 -> x * t1 + x * t1>");
/// ```
pub struct Syntax;

/// A text of the types that the context determines. A macro, since a function would be instantiated for each pair of
/// types.
macro_rules! code {
    ($node:expr) => {
        Code { node: Shared::new($node), types: PhantomData }
    };
}

/// The text of a program from `A` to `B`.
///
/// ```
/// use polygrad_higher::interpreters::{Code, Syntax};
/// use polygrad_higher::{Ccc, Prod, Real};
/// let swapped: Code<Prod<Real, Real>, Prod<Real, Real>> = Syntax::pair(Syntax::snd(), Syntax::fst());
/// assert_eq!(swapped.term().simplify().to_string(), "\\x1 x2 ->\n  <x2, x1>");
/// // `pair`, `snd` and `fst`.
/// assert_eq!(swapped.size(), 3);
/// ```
pub struct Code<A, B> {
    node: Shared<Node>,
    types: PhantomData<fn(A) -> B>,
}

impl<A, B> Clone for Code<A, B> {
    fn clone(&self) -> Self {
        Code { node: self.node.clone(), types: PhantomData }
    }
}

/// A combinator, named after a method of [`Ccc`], [`Language`] or [`Target`].
pub(super) enum Node {
    Id,
    Then(Shared<Node>, Shared<Node>),
    Bind(Shared<Node>, Shared<Node>),
    Unit,
    Pair(Shared<Node>, Shared<Node>),
    Fst,
    Snd,
    Curry(Shared<Node>),
    Eval,
    Prim(Rc<dyn AnyPrimitive>),
    Inl,
    Inr,
    Case(Shared<Node>, Shared<Node>),
    Test,
    Iterate(Shared<Node>),
    Fix(Shared<Node>),
    Map,
    Fold,
    /// A loop with a state, in reverse or not.
    Accumulate(bool),
    Pushforward(Rc<dyn AnyPrimitive>),
    Pullback(Rc<dyn AnyPrimitive>),
    Differences(Rc<dyn AnyPrimitive>),
    Spread(Layout, Layout),
    Zero,
    Plus(Shared<Node>, Shared<Node>),
    Lapp(Shared<Node>, Shared<Node>),
    Lid,
    Lcomp(Shared<Node>, Shared<Node>),
    Lpair(Shared<Node>, Shared<Node>),
    Lfst,
    Lsnd,
    Lswap(Shared<Node>),
    Leval(Shared<Node>),
    Singleton(Shared<Node>),
    Lcopowfold(Shared<Node>),
    Lcopowsum(Shared<Node>),
    Lbind(Shared<Node>, Shared<Node>),
    Linl,
    Linr,
    Lcastl,
    Lcastr,
    Lzip(Shared<Node>),
    LzipWith(Shared<Node>, Shared<Node>),
    Lmap(Shared<Node>),
    Laccumulate(bool, Shared<Node>, Shared<Node>),
    Vjp(Rc<Kinds>),
    Jvp,
}

impl Node {
    /// The combinators that this one combines.
    fn parts(&self) -> [Option<&Shared<Node>>; 2] {
        match self {
            Node::Then(a, b) | Node::Bind(a, b) | Node::Pair(a, b) | Node::Case(a, b) | Node::Plus(a, b) => {
                [Some(a), Some(b)]
            }
            Node::Lcomp(a, b) | Node::Lpair(a, b) | Node::Lbind(a, b) | Node::LzipWith(a, b) => [Some(a), Some(b)],
            Node::Laccumulate(_, a, b) | Node::Lapp(a, b) => [Some(a), Some(b)],
            Node::Curry(a) | Node::Iterate(a) | Node::Fix(a) | Node::Lswap(a) | Node::Leval(a) => [Some(a), None],
            Node::Singleton(a) | Node::Lcopowfold(a) | Node::Lcopowsum(a) => [Some(a), None],
            Node::Lzip(a) | Node::Lmap(a) => [Some(a), None],
            Node::Id | Node::Unit | Node::Fst | Node::Snd | Node::Eval | Node::Prim(_) | Node::Inl => [None; 2],
            Node::Inr | Node::Test | Node::Map | Node::Fold | Node::Accumulate(_) => [None; 2],
            Node::Differences(_)
            | Node::Pushforward(_)
            | Node::Pullback(_)
            | Node::Spread(..)
            | Node::Vjp(_)
            | Node::Jvp
            | Node::Zero
            | Node::Lid => [None; 2],
            Node::Lfst | Node::Lsnd | Node::Linl | Node::Linr | Node::Lcastl | Node::Lcastr => [None; 2],
        }
    }

    fn size(&self) -> usize {
        let (mut size, mut work) = (0, vec![self]);
        while let Some(node) = work.pop() {
            size += 1;
            work.extend(node.parts().into_iter().flatten().map(|part| &**part));
        }
        size
    }
}

impl<A: Ground, B> Code<A, B> {
    /// The text as a term of the lambda calculus, whose inputs are the leaves of `A`.
    ///
    /// Example: [`Code`].
    pub fn term(&self) -> Lambda {
        Lambda::of(&self.node, &A::layout())
    }

    /// The reverse derivative as a text with accumulators: the value, and the pullback. The text, and its work, are larger
    /// than the program by a constant factor, also for functions within functions, which the text of "CHAD" runs again
    /// for each of their calls.
    ///
    /// A use of a variable `x` adds to its accumulator `x'`; `sums x' of c` is what `c` adds. The cotangent of a function
    /// is that of the variables that it captures ("Efficient CHAD", arXiv 2307.05738).
    ///
    /// # Errors
    /// When the program has loops over arrays, or is a derivative itself.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::Syntax;
    /// use polygrad_higher::{Expr, Language, Real, fun1, let_};
    /// fn program<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| let_(x.at().sin(), |y| y.at() * y.at()))
    /// }
    /// let text = program::<Syntax>().hom().accumulated()?;
    /// let lines = [
    ///     "\\x ->",
    ///     "  let t1 = sin x",
    ///     "      t2 = t1",
    ///     "      t3 = t2 * t2",
    ///     "  in <t3, \\t4 ->",
    ///     "       sums x' of",
    ///     "         let t5 = sums t2' of",
    ///     "                 t2' += t2 * t4",
    ///     "                 t2' += t2 * t4",
    ///     "         in x' += t5 * cos x>",
    /// ];
    /// assert_eq!(text.to_string(), lines.join("\n"));
    /// let (x, one) = (Array::scalar(0.5), tensor(1.0));
    /// let gradient = text.linear::<Real, Real>(&[x.clone()], &one);
    /// assert_eq!(gradient, [Some(Array::scalar(0.5_f64.sin() * 0.5_f64.cos() * 2.0))]);
    /// // The terms that run, each as often as it runs.
    /// assert!(text.work::<Real>(&[x], &one) < 40);
    /// # Ok::<(), String>(())
    /// ```
    pub fn accumulated(&self) -> Result<Lambda, String> {
        self.term().accumulated(&A::layout())
    }
}

impl<A, B> Code<A, B> {
    /// The same text at other types.
    pub(super) fn retyped<C, D>(self) -> Code<C, D> {
        Code { node: self.node, types: PhantomData }
    }

    /// The text of a primitive with erased types.
    pub(super) fn of_primitive(p: Rc<dyn AnyPrimitive>) -> Self {
        code!(Node::Prim(p))
    }

    /// The number of combinators.
    ///
    /// Example: [`Code`].
    pub fn size(&self) -> usize {
        self.node.size()
    }
}

impl Ccc for Syntax {
    type Hom<A: Obj, B: Obj> = Code<A, B>;

    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D> {
        f.retyped()
    }

    fn id<A: Obj>() -> Code<A, A> {
        code!(Node::Id)
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Code<A, B>, g: Code<B, C>) -> Code<A, C> {
        code!(Node::Then(f.node, g.node))
    }

    fn unit<A: Obj>() -> Code<A, Unit> {
        code!(Node::Unit)
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Code<A, B>, g: Code<A, C>) -> Code<A, Prod<B, C>> {
        code!(Node::Pair(f.node, g.node))
    }

    fn fst<A: Obj, B: Obj>() -> Code<Prod<A, B>, A> {
        code!(Node::Fst)
    }

    fn snd<A: Obj, B: Obj>() -> Code<Prod<A, B>, B> {
        code!(Node::Snd)
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Code<Prod<A, B>, C>) -> Code<A, Fun<B, C>> {
        code!(Node::Curry(f.node))
    }

    fn eval<A: Obj, B: Obj>() -> Code<Prod<Fun<A, B>, A>, B> {
        code!(Node::Eval)
    }

    fn bind<G: Obj, A: Obj, B: Obj>(value: Code<G, A>, body: Code<Prod<G, A>, B>) -> Code<G, B> {
        code!(Node::Bind(value.node, body.node))
    }
}

impl Language for Syntax {
    fn prim<P: Primitive>(p: P) -> Code<P::Dom, P::Cod> {
        code!(Node::Prim(Rc::new(p)))
    }

    fn inl<A: Obj, B: Obj>() -> Code<A, Sum<A, B>> {
        code!(Node::Inl)
    }

    fn inr<A: Obj, B: Obj>() -> Code<B, Sum<A, B>> {
        code!(Node::Inr)
    }

    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(
        left: Code<Prod<G, A>, C>,
        right: Code<Prod<G, B>, C>,
    ) -> Code<Prod<G, Sum<A, B>>, C> {
        code!(Node::Case(left.node, right.node))
    }

    fn test() -> Code<Mask, Sum<Unit, Unit>> {
        code!(Node::Test)
    }

    fn iterate<G: Obj, S: Obj, R: Obj>(step: Code<Prod<G, S>, Sum<S, R>>) -> Code<Prod<G, S>, R> {
        code!(Node::Iterate(step.node))
    }

    /// Terms are untyped, so a value of a recursive type is represented by its parts, as in the next methods.
    fn roll<K: TypeParts>() -> Code<K::Of, Recursive<K>> {
        code!(Node::Id)
    }

    fn unroll<K: TypeParts>() -> Code<Recursive<K>, K::Of> {
        code!(Node::Id)
    }

    fn fix<G: Obj, A: Obj, B: Obj>(body: Code<Prod<Prod<G, Fun<A, B>>, A>, B>) -> Code<G, Fun<A, B>> {
        code!(Node::Fix(body.node))
    }
}

impl Target for Syntax {
    fn primal<P: Primitive, A: Obj, B: Obj>(p: P) -> Code<A, B> {
        code!(Node::Prim(Rc::new(p)))
    }

    fn pushforward<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Code<A, LinFun<V, W>> {
        code!(Node::Pushforward(Rc::new(p)))
    }

    fn pullback<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Code<A, LinFun<W, V>> {
        code!(Node::Pullback(Rc::new(p)))
    }

    fn differences<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Code<A, LinFun<W, V>> {
        code!(Node::Differences(Rc::new(p)))
    }

    fn lspread<G: Obj, A: Obj, B: Obj>(from: Layout, to: Layout) -> Code<G, LinFun<A, B>> {
        code!(Node::Spread(from, to))
    }

    fn zero<G: Obj, A: Obj>() -> Code<G, A> {
        code!(Node::Zero)
    }

    fn plus<G: Obj, A: Obj>(a: Code<G, A>, b: Code<G, A>) -> Code<G, A> {
        code!(Node::Plus(a.node, b.node))
    }

    fn lapp<G: Obj, A: Obj, B: Obj>(f: Code<G, LinFun<A, B>>, v: Code<G, A>) -> Code<G, B> {
        code!(Node::Lapp(f.node, v.node))
    }

    fn lid<G: Obj, A: Obj>() -> Code<G, LinFun<A, A>> {
        code!(Node::Lid)
    }

    fn lcomp<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Code<G, LinFun<A, B>>,
        g: Code<G, LinFun<B, C>>,
    ) -> Code<G, LinFun<A, C>> {
        code!(Node::Lcomp(f.node, g.node))
    }

    fn lpair<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Code<G, LinFun<A, B>>,
        g: Code<G, LinFun<A, C>>,
    ) -> Code<G, LinFun<A, Prod<B, C>>> {
        code!(Node::Lpair(f.node, g.node))
    }

    fn lfst<G: Obj, A: Obj, B: Obj>() -> Code<G, LinFun<Prod<A, B>, A>> {
        code!(Node::Lfst)
    }

    fn lsnd<G: Obj, A: Obj, B: Obj>() -> Code<G, LinFun<Prod<A, B>, B>> {
        code!(Node::Lsnd)
    }

    fn lswap<G: Obj, A: Obj, B: Obj, C: Obj>(f: Code<G, Fun<A, LinFun<B, C>>>) -> Code<G, LinFun<B, Fun<A, C>>> {
        code!(Node::Lswap(f.node))
    }

    fn leval<G: Obj, A: Obj, B: Obj>(a: Code<G, A>) -> Code<G, LinFun<Fun<A, B>, B>> {
        code!(Node::Leval(a.node))
    }

    fn singleton<G: Obj, A: Obj, B: Obj>(a: Code<G, A>) -> Code<G, LinFun<B, Copower<A, B>>> {
        code!(Node::Singleton(a.node))
    }

    fn lcopowfold<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Code<G, Fun<A, LinFun<B, C>>>,
    ) -> Code<G, LinFun<Copower<A, B>, C>> {
        code!(Node::Lcopowfold(f.node))
    }

    fn lcopowsum<G: Obj, A: Obj, B: Obj, C: Obj>(f: Code<G, Fun<Prod<A, B>, C>>) -> Code<G, LinFun<Copower<A, B>, C>> {
        code!(Node::Lcopowsum(f.node))
    }

    fn linear<G: Obj, A: Obj, B: Obj>(f: Code<G, Fun<A, B>>) -> Code<G, LinFun<A, B>> {
        Code { node: f.node, types: PhantomData }
    }

    fn lbind<G: Obj, A: Obj, B: Obj, C: Obj>(
        body: Code<G, LinFun<A, Prod<B, C>>>,
        value: Code<G, LinFun<C, B>>,
    ) -> Code<G, LinFun<A, B>> {
        code!(Node::Lbind(body.node, value.node))
    }

    fn linl<G: Obj, A: Obj, B: Obj>() -> Code<G, LinFun<A, LinSum<A, B>>> {
        code!(Node::Linl)
    }

    fn linr<G: Obj, A: Obj, B: Obj>() -> Code<G, LinFun<B, LinSum<A, B>>> {
        code!(Node::Linr)
    }

    fn lcastl<G: Obj, A: Obj, B: Obj>() -> Code<G, LinFun<LinSum<A, B>, A>> {
        code!(Node::Lcastl)
    }

    fn lcastr<G: Obj, A: Obj, B: Obj>() -> Code<G, LinFun<LinSum<A, B>, B>> {
        code!(Node::Lcastr)
    }

    fn lroll<G: Obj, K: TypeParts>() -> Code<G, LinFun<K::Of, Recursive<K>>> {
        code!(Node::Lid)
    }

    fn lunroll<G: Obj, K: TypeParts>() -> Code<G, LinFun<Recursive<K>, K::Of>> {
        code!(Node::Lid)
    }
}

impl Arrays for Syntax {
    fn map<A: Stack, B: Stack>() -> Code<Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        code!(Node::Map)
    }

    fn fold<S: Stack, A: Stack>() -> Code<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        code!(Node::Fold)
    }
}

impl Differential for Syntax {
    fn vjp<A: Ground, B: Ground>() -> Code<Prod<Fun<A, B>, A>, Prod<B, Fun<B::Tangent, A::Tangent>>> {
        code!(Node::Vjp(Kinds::of::<A, B>()))
    }

    fn jvp<A: Ground, B: Ground>() -> Code<Prod<Fun<A, B>, Prod<A, A::Tangent>>, Prod<B, B::Tangent>> {
        code!(Node::Jvp)
    }
}

impl ArrayTarget for Syntax {
    fn map_over<A: Stacks, B: Stacks>() -> Code<Prod<Fun<A::One, B::One>, A::Many>, B::Many> {
        code!(Node::Map)
    }

    fn fold_over<S: Stacks, A: Stacks>() -> Code<Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>, S::One>
    {
        code!(Node::Fold)
    }

    fn accumulate<S: Stacks, A: Stacks, B: Stacks>(
        reverse: bool,
    ) -> Code<Prod<Fun<Prod<S::One, A::One>, Prod<S::One, B::One>>, Prod<S::One, A::Many>>, Prod<S::One, B::Many>> {
        code!(Node::Accumulate(reverse))
    }

    fn lzip<G: Obj, A: Stacks, V: Stacks>(xs: Code<G, A::Many>) -> Code<G, LinFun<V::Many, Copower<A::One, V::One>>> {
        code!(Node::Lzip(xs.node))
    }

    fn lzip_with<G: Obj, A: Stacks, V: Stacks, W: Stacks>(
        f: Code<G, Fun<A::One, LinFun<V::One, W::One>>>,
        xs: Code<G, A::Many>,
    ) -> Code<G, LinFun<V::Many, W::Many>> {
        code!(Node::LzipWith(f.node, xs.node))
    }

    fn lmap<G: Obj, A: Stacks, B: Stacks>(xs: Code<G, A::Many>) -> Code<G, LinFun<Fun<A::One, B::One>, B::Many>> {
        code!(Node::Lmap(xs.node))
    }

    fn laccumulate<G: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
        reverse: bool,
        f: Code<G, Fun<A::One, LinearStep<S::One, V::One, W::One>>>,
        xs: Code<G, A::Many>,
    ) -> Code<G, LinFun<Prod<S::One, V::Many>, Prod<S::One, Prod<S::Many, W::Many>>>> {
        code!(Node::Laccumulate(reverse, f.node, xs.node))
    }
}
