//! Programs of wires as optics of the host language, by a meaning of operations that the user chooses.
//!
//! This is the functor of the "dP guide", section III: it keeps compositions, pairs and cases, and what is chosen are the
//! values along wires, forwards and back, and the optics of operations, copies and deletions. With prices forwards and
//! profits back, it is that of section III.A; with numbers and derivatives, reverse mode.
//!
//! Law: `F(f; g) = F(f); F(g)` and `F(beside f g) = beside F(f) F(g)`, as optics. If merging is associative and
//! commutative, and what a deletion gives back is neutral, copies and deletions keep their laws, too.

use std::marker::PhantomData;
use std::rc::Rc;

use polygrad::ops::{Binary, Compare, Unary};

use super::lens::HiddenOptic;
use crate::{Mask, Monoidal, Obj, Primitive, Prod, Real, Sum, Unit};

/// What goes along the wires of a program: forwards, or back. Masks send nothing back.
///
/// Closed: a wire has a number, a mask, a pair, a case or nothing.
///
/// Example: [`Meaning`].
#[derive(Clone, Debug, PartialEq)]
pub enum Along<N> {
    /// Nothing.
    Nothing,
    /// Of a number.
    Number(N),
    /// Of a truth value.
    Mask(bool),
    /// Of both components.
    Pair(Box<(Along<N>, Along<N>)>),
    /// Of the left case.
    Left(Box<Along<N>>),
    /// Of the right case.
    Right(Box<Along<N>>),
}

impl<N> Along<N> {
    /// Of a pair.
    ///
    /// Example: [`Meaning`].
    pub fn pair(first: Along<N>, second: Along<N>) -> Self {
        Along::Pair(Box::new((first, second)))
    }

    fn split(self) -> (Along<N>, Along<N>) {
        match self {
            Along::Pair(both) => *both,
            // What is deleted comes back as nothing, whatever it was.
            Along::Nothing => (Along::Nothing, Along::Nothing),
            Along::Number(_) | Along::Mask(_) | Along::Left(_) | Along::Right(_) => other_wire(),
        }
    }
}

/// Fails for a value that does not have the type of its wire, which rustc checks.
#[cold]
fn other_wire() -> ! {
    unreachable!("a value has the type of its wire")
}

/// A meaning of numbers and operations: values forwards and back, and the optic of each operation.
///
/// ```
/// use polygrad::ops::{Binary, Compare, Unary};
/// use polygrad_higher::interpreters::optic::chosen::{Along, ByMeaning, Meaning, Meant};
/// use polygrad_higher::interpreters::optic::lens::{HiddenOptic, Optic};
/// use polygrad_higher::{Monoidal, Prod, Real};
/// /// Prices forwards, profits back: a part costs something, and an assembly shares its profit in proportion to prices.
/// struct Prices;
/// impl Meaning for Prices {
///     type There = f64;
///     type Back = f64;
///     fn constant(price: f64) -> f64 {
///         price
///     }
///     fn unary(op: Unary) -> HiddenOptic<f64, f64, f64, f64> {
///         let cost = if op == Unary::Sin { 10.0 } else { 20.0 };
///         Optic::new(move |price| ((), price + cost), move |(), profit| profit - cost * 1.3).hide()
///     }
///     fn binary(_: Binary) -> HiddenOptic<(f64, f64), (f64, f64), f64, f64> {
///         Optic::new(|(p, q)| ((p, q), p + q + 30.0), |(p, q), all| (all * p / (p + q), all * q / (p + q))).hide()
///     }
///     fn compare(_: Compare, x: &f64, y: &f64) -> bool {
///         x < y
///     }
///     fn merge(a: f64, b: f64) -> f64 {
///         a + b
///     }
///     fn nothing() -> f64 {
///         0.0
///     }
/// }
/// /// "dP guide", section III.A: `widget(sweat, love) = C(A(sweat), B(love))`.
/// fn widget<C: Monoidal>() -> C::Hom<Prod<Real, Real>, Real> {
///     C::then(C::beside(C::unary(Unary::Sin), C::unary(Unary::Exp)), C::binary(Binary::Mul))
/// }
/// let optic: Meant<Prices, Prod<Real, Real>, Real> = widget::<ByMeaning<Prices>>();
/// let (made, back) = optic.at(Along::pair(Along::Number(1.0), Along::Number(2.0)));
/// assert_eq!(made, Along::Number(63.0));
/// assert_eq!(back(Along::Number(300.0)), Along::pair(Along::Number(100.0 - 13.0), Along::Number(200.0 - 26.0)));
/// ```
pub trait Meaning: 'static {
    /// What goes forwards along the wire of a number.
    type There: Clone + 'static;
    /// What goes back.
    type Back: 'static;

    /// A number that the program names.
    ///
    /// Example: [`Meaning`].
    fn constant(x: f64) -> Self::There;

    /// The optic of an operation of one number.
    ///
    /// Example: [`Meaning`].
    fn unary(op: Unary) -> HiddenOptic<Self::There, Self::Back, Self::There, Self::Back>;

    /// The optic of an operation of two numbers.
    ///
    /// Example: [`Meaning`].
    #[allow(clippy::type_complexity, reason = "the type of an optic")]
    fn binary(op: Binary)
    -> HiddenOptic<(Self::There, Self::There), (Self::Back, Self::Back), Self::There, Self::Back>;

    /// The comparison that decides a branch.
    ///
    /// Example: [`Meaning`].
    fn compare(op: Compare, x: &Self::There, y: &Self::There) -> bool;

    /// What goes back along a wire from both of its copies.
    ///
    /// Example: [`Meaning`].
    fn merge(a: Self::Back, b: Self::Back) -> Self::Back;

    /// What comes back along a wire that was deleted.
    ///
    /// Example: [`Meaning`].
    fn nothing() -> Self::Back;
}

/// The functor of a meaning: programs of wires are optics.
///
/// Example: [`Meaning`].
pub struct ByMeaning<M>(PhantomData<M>);

type Forwards<M> = Along<<M as Meaning>::There>;
type Backwards<M> = Along<<M as Meaning>::Back>;
type WayBack<M> = Box<dyn FnOnce(Backwards<M>) -> Backwards<M>>;

/// The optic of a program from `A` to `B`.
///
/// Example: [`Meaning`].
pub struct Meant<M: Meaning, A, B> {
    #[allow(clippy::type_complexity, reason = "the type of an optic")]
    run: Rc<dyn Fn(Forwards<M>) -> (Forwards<M>, WayBack<M>)>,
    types: PhantomData<fn(A) -> B>,
}

impl<M: Meaning, A, B> Clone for Meant<M, A, B> {
    fn clone(&self) -> Self {
        Meant { run: self.run.clone(), types: PhantomData }
    }
}

impl<M: Meaning, A, B> Meant<M, A, B> {
    fn new(run: impl Fn(Forwards<M>) -> (Forwards<M>, WayBack<M>) + 'static) -> Self {
        Meant { run: Rc::new(run), types: PhantomData }
    }

    /// A rearrangement of wires, with its inverse.
    fn moved(there: fn(Forwards<M>) -> Forwards<M>, back: fn(Backwards<M>) -> Backwards<M>) -> Self {
        Meant::new(move |x| (there(x), Box::new(back)))
    }

    /// The result, and the way back.
    ///
    /// Example: [`Meaning`].
    #[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
    pub fn at(&self, x: Along<M::There>) -> (Along<M::There>, Box<dyn FnOnce(Along<M::Back>) -> Along<M::Back>>) {
        (self.run)(x)
    }
}

/// What goes back along a wire with two copies.
fn merged<M: Meaning>(a: Backwards<M>, b: Backwards<M>) -> Backwards<M> {
    match (a, b) {
        (Along::Nothing, other) | (other, Along::Nothing) => other,
        (Along::Number(a), Along::Number(b)) => Along::Number(M::merge(a, b)),
        (Along::Pair(a), Along::Pair(b)) => Along::pair(merged::<M>(a.0, b.0), merged::<M>(a.1, b.1)),
        (Along::Left(a), Along::Left(b)) => Along::Left(Box::new(merged::<M>(*a, *b))),
        (Along::Right(a), Along::Right(b)) => Along::Right(Box::new(merged::<M>(*a, *b))),
        (Along::Number(_) | Along::Pair(_) | Along::Left(_) | Along::Right(_) | Along::Mask(_), _) => other_wire(),
    }
}

/// What comes back for a value that was deleted.
fn restored<M: Meaning>(x: &Forwards<M>) -> Backwards<M> {
    match x {
        Along::Nothing | Along::Mask(_) => Along::Nothing,
        Along::Number(_) => Along::Number(M::nothing()),
        Along::Pair(both) => Along::pair(restored::<M>(&both.0), restored::<M>(&both.1)),
        Along::Left(x) => Along::Left(Box::new(restored::<M>(x))),
        Along::Right(x) => Along::Right(Box::new(restored::<M>(x))),
    }
}

/// A number along a wire; a deleted one comes back as nothing.
fn number<M: Meaning>(y: Backwards<M>) -> M::Back {
    match y {
        Along::Number(y) => y,
        Along::Nothing => M::nothing(),
        Along::Mask(_) | Along::Pair(_) | Along::Left(_) | Along::Right(_) => other_wire(),
    }
}

/// The number that goes forwards.
fn forwards<N>(x: Along<N>) -> N {
    match x {
        Along::Number(x) => x,
        Along::Nothing | Along::Mask(_) | Along::Pair(_) | Along::Left(_) | Along::Right(_) => other_wire(),
    }
}

/// Refuses an operation that a meaning of numbers does not have.
#[cold]
#[track_caller]
fn refuse(what: &str) -> ! {
    panic!(
        "optic: a program by a meaning must be made of operations of numbers, but it has {what}; write it with constant, unary, binary \
         and compare"
    )
}

impl<M: Meaning> Monoidal for ByMeaning<M> {
    type Hom<A: Obj, B: Obj> = Meant<M, A, B>;

    fn id<A: Obj>() -> Meant<M, A, A> {
        Meant::moved(|x| x, |y| y)
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Meant<M, A, B>, g: Meant<M, B, C>) -> Meant<M, A, C> {
        Meant::new(move |x| {
            let (y, of_x) = (f.run)(x);
            let (z, of_y) = (g.run)(y);
            (z, Box::new(move |back| of_x(of_y(back))))
        })
    }

    fn beside<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Meant<M, A, B>,
        g: Meant<M, C, D>,
    ) -> Meant<M, Prod<A, C>, Prod<B, D>> {
        Meant::new(move |x| {
            let (a, c) = x.split();
            let ((b, of_a), (d, of_c)) = ((f.run)(a), (g.run)(c));
            let back = move |back: Backwards<M>| {
                let (b, d) = back.split();
                Along::pair(of_a(b), of_c(d))
            };
            (Along::pair(b, d), Box::new(back))
        })
    }

    fn swap<A: Obj, B: Obj>() -> Meant<M, Prod<A, B>, Prod<B, A>> {
        fn swap<N>(x: Along<N>) -> Along<N> {
            let (a, b) = x.split();
            Along::pair(b, a)
        }
        Meant::moved(swap, swap)
    }

    fn assoc<A: Obj, B: Obj, C: Obj>() -> Meant<M, Prod<Prod<A, B>, C>, Prod<A, Prod<B, C>>> {
        Meant::moved(to_the_right, to_the_left)
    }

    fn unassoc<A: Obj, B: Obj, C: Obj>() -> Meant<M, Prod<A, Prod<B, C>>, Prod<Prod<A, B>, C>> {
        Meant::moved(to_the_left, to_the_right)
    }

    fn intro<A: Obj>() -> Meant<M, A, Prod<Unit, A>> {
        Meant::moved(|x| Along::pair(Along::Nothing, x), |y| y.split().1)
    }

    fn elim<A: Obj>() -> Meant<M, Prod<Unit, A>, A> {
        Meant::moved(|x| x.split().1, |y| Along::pair(Along::Nothing, y))
    }

    fn copy<A: Obj>() -> Meant<M, A, Prod<A, A>> {
        let back = |y: Backwards<M>| {
            let (a, b) = y.split();
            merged::<M>(a, b)
        };
        Meant::moved(|x| Along::pair(x.clone(), x), back)
    }

    fn delete<A: Obj>() -> Meant<M, A, Unit> {
        Meant::new(|x| {
            let back = restored::<M>(&x);
            (Along::Nothing, Box::new(move |_| back))
        })
    }

    fn add<A: Obj>() -> Meant<M, Prod<A, A>, A> {
        refuse("a sum of vectors")
    }

    fn zero<A: Obj>() -> Meant<M, Unit, A> {
        refuse("a zero vector")
    }

    fn primitive<P: Primitive>(p: P) -> Meant<M, P::Dom, P::Cod> {
        refuse(&p.name())
    }

    fn constant(x: f64) -> Meant<M, Unit, Real> {
        Meant::new(move |_| (Along::Number(M::constant(x)), Box::new(|_| Along::Nothing)))
    }

    fn unary(op: Unary) -> Meant<M, Real, Real> {
        Meant::new(move |x| {
            let (y, back) = M::unary(op).at(forwards(x));
            (Along::Number(y), Box::new(move |y| Along::Number(back(number::<M>(y)))))
        })
    }

    fn binary(op: Binary) -> Meant<M, Prod<Real, Real>, Real> {
        Meant::new(move |both| {
            let (x, y) = both.split();
            let (z, back) = M::binary(op).at((forwards(x), forwards(y)));
            let back = move |z: Backwards<M>| {
                let (x, y) = back(number::<M>(z));
                Along::pair(Along::Number(x), Along::Number(y))
            };
            (Along::Number(z), Box::new(back))
        })
    }

    fn compare(op: Compare) -> Meant<M, Prod<Real, Real>, Mask> {
        Meant::new(move |both| {
            let back = restored::<M>(&both);
            let (x, y) = both.split();
            (Along::Mask(M::compare(op, &forwards(x), &forwards(y))), Box::new(move |_| back))
        })
    }

    fn branch<A: Obj>() -> Meant<M, Prod<A, Mask>, Sum<A, A>> {
        Meant::new(|x| {
            let (a, mask) = x.split();
            let Along::Mask(holds) = mask else { other_wire() };
            let a = Box::new(a);
            let back = |y| Along::pair(of_case(y), Along::Nothing);
            (if holds { Along::Left(a) } else { Along::Right(a) }, Box::new(back))
        })
    }

    fn either<A: Obj, B: Obj, C: Obj, D: Obj>(f: Meant<M, A, B>, g: Meant<M, C, D>) -> Meant<M, Sum<A, C>, Sum<B, D>> {
        Meant::new(move |x| match x {
            Along::Left(a) => {
                let (b, back) = (f.run)(*a);
                (Along::Left(Box::new(b)), Box::new(move |y| Along::Left(Box::new(back(of_case(y))))))
            }
            Along::Right(c) => {
                let (d, back) = (g.run)(*c);
                (Along::Right(Box::new(d)), Box::new(move |y| Along::Right(Box::new(back(of_case(y))))))
            }
            Along::Nothing | Along::Number(_) | Along::Mask(_) | Along::Pair(_) => other_wire(),
        })
    }

    fn join<A: Obj>() -> Meant<M, Sum<A, A>, A> {
        Meant::new(|x| match x {
            Along::Left(a) => (*a, Box::new(|y| Along::Left(Box::new(y)))),
            Along::Right(a) => (*a, Box::new(|y| Along::Right(Box::new(y)))),
            Along::Nothing | Along::Number(_) | Along::Mask(_) | Along::Pair(_) => other_wire(),
        })
    }

    fn split<A: Obj, B: Obj, C: Obj, D: Obj>() -> Meant<M, Sum<Prod<A, B>, Prod<C, D>>, Prod<Sum<A, C>, Sum<B, D>>> {
        Meant::moved(cases_of_pair, pair_of_cases)
    }

    fn unsplit<A: Obj, B: Obj, C: Obj, D: Obj>() -> Meant<M, Prod<Sum<A, C>, Sum<B, D>>, Sum<Prod<A, B>, Prod<C, D>>> {
        Meant::moved(pair_of_cases, cases_of_pair)
    }
}

fn to_the_right<N>(x: Along<N>) -> Along<N> {
    let (ab, c) = x.split();
    let (a, b) = ab.split();
    Along::pair(a, Along::pair(b, c))
}

fn to_the_left<N>(x: Along<N>) -> Along<N> {
    let (a, bc) = x.split();
    let (b, c) = bc.split();
    Along::pair(Along::pair(a, b), c)
}

/// What goes along the case that ran.
fn of_case<N>(x: Along<N>) -> Along<N> {
    match x {
        Along::Left(x) | Along::Right(x) => *x,
        Along::Nothing => Along::Nothing,
        Along::Number(_) | Along::Mask(_) | Along::Pair(_) => other_wire(),
    }
}

/// A case of a pair as a pair of cases.
fn cases_of_pair<N>(x: Along<N>) -> Along<N> {
    match x {
        Along::Left(both) => {
            let (a, b) = both.split();
            Along::pair(Along::Left(Box::new(a)), Along::Left(Box::new(b)))
        }
        Along::Right(both) => {
            let (a, b) = both.split();
            Along::pair(Along::Right(Box::new(a)), Along::Right(Box::new(b)))
        }
        Along::Nothing => Along::Nothing,
        Along::Number(_) | Along::Mask(_) | Along::Pair(_) => other_wire(),
    }
}

/// A pair of cases, which are the same, as a case of a pair.
fn pair_of_cases<N>(x: Along<N>) -> Along<N> {
    match x.split() {
        (Along::Left(a), Along::Left(b)) => Along::Left(Box::new(Along::pair(*a, *b))),
        (Along::Right(a), Along::Right(b)) => Along::Right(Box::new(Along::pair(*a, *b))),
        // One of them was deleted.
        (Along::Left(a), Along::Nothing) => Along::Left(Box::new(Along::pair(*a, Along::Nothing))),
        (Along::Right(a), Along::Nothing) => Along::Right(Box::new(Along::pair(*a, Along::Nothing))),
        (Along::Nothing, Along::Left(b)) => Along::Left(Box::new(Along::pair(Along::Nothing, *b))),
        (Along::Nothing, Along::Right(b)) => Along::Right(Box::new(Along::pair(Along::Nothing, *b))),
        (Along::Nothing, Along::Nothing) => Along::Nothing,
        (Along::Left(_) | Along::Right(_) | Along::Number(_) | Along::Mask(_) | Along::Pair(_) | Along::Nothing, _) => {
            other_wire()
        }
    }
}
