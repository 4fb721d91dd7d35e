//! The axioms of iteration, for values and derivatives, at every instance.
//!
//! Laws, for steps `f : S -> S + R` in a context: fixpoint `it f = [it f, id] . f`, naturality
//! `g . it f = it ((id + g) . f)`, codiagonal `it (it f) = it ([inl, id] . f)`, uniformity `it f' . h = it f` where
//! `f' . h = (h + id) . f`, dinaturality, and that a context may be changed before or within the loop. They hold for
//! `iterate`, for the same loop by `fix`, for the unrolled loop, and for `iterate_within`; all four are equal, too.

use polygrad::ops::{Binary, Compare, Unary};
use polygrad::program::{Term, interpret};
use polygrad::{Array, Tensor, direct, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Erased, Forward, Lambda, Reverse, Run, Syntax};
use polygrad_higher::primitive::{Comparison, Constant, Pointwise, Pointwise2};
use polygrad_higher::{self as higher, Arrays, Expr, Mask, Obj, Prod, Real, Stack, Sum, Unit, iterate_within};

use super::agree::{close, moved, numbers};
use super::both::{Everywhere, Texts, with_texts};
use super::deep::refused;
use super::random::{Random, number, part, program, seeds};

pub(crate) type Two = Prod<Real, Real>;
/// Two numbers in the context, and a state.
type At<S> = Prod<Two, S>;
type Point = (Tensor<Array, 0>, Tensor<Array, 0>);

/// The number of steps within which the loops of this file end.
const BOUND: usize = 12;

/// A type of values that a loop over an array can carry, if need be in another form, with a value for a loop that does
/// not end.
pub(crate) trait Carried: Obj + Sized {
    type As: Stack;
    fn packed<C: Arrays>() -> C::Hom<Self, Self::As>;
    fn unpacked<C: Arrays>() -> C::Hom<Self::As, Self>;
    fn none<C: Arrays, A: Obj>() -> C::Hom<A, Self>;
}

impl Carried for Real {
    type As = Real;
    fn packed<C: Arrays>() -> C::Hom<Self, Self::As> {
        C::id()
    }
    fn unpacked<C: Arrays>() -> C::Hom<Self::As, Self> {
        C::id()
    }
    fn none<C: Arrays, A: Obj>() -> C::Hom<A, Self> {
        number::<C, A>(f64::MAX)
    }
}

impl<A: Carried, B: Carried> Carried for Prod<A, B> {
    type As = Prod<A::As, B::As>;
    fn packed<C: Arrays>() -> C::Hom<Self, Self::As> {
        C::pair(C::then(C::fst(), A::packed::<C>()), C::then(C::snd(), B::packed::<C>()))
    }
    fn unpacked<C: Arrays>() -> C::Hom<Self::As, Self> {
        C::pair(C::then(C::fst(), A::unpacked::<C>()), C::then(C::snd(), B::unpacked::<C>()))
    }
    fn none<C: Arrays, X: Obj>() -> C::Hom<X, Self> {
        C::pair(A::none::<C, X>(), B::none::<C, X>())
    }
}

/// Whether the case is the left one, and a value of each.
impl<A: Carried, B: Carried> Carried for Sum<A, B> {
    type As = Prod<Mask, Prod<A::As, B::As>>;
    fn packed<C: Arrays>() -> C::Hom<Self, Self::As> {
        fn with<C: Arrays, X: Obj, Y: Obj>(left: bool, values: C::Hom<X, Y>) -> C::Hom<X, Prod<Mask, Y>> {
            let case = C::then(C::unit(), C::prim(Constant::<0, bool>::new(Array::scalar(left))));
            C::pair(case, values)
        }
        let none_b = C::then(B::none::<C, A>(), B::packed::<C>());
        let none_a = C::then(A::none::<C, B>(), A::packed::<C>());
        copair::<C, A, B, Self::As>(
            with::<C, _, _>(true, C::pair(A::packed::<C>(), none_b)),
            with::<C, _, _>(false, C::pair(none_a, B::packed::<C>())),
        )
    }
    fn unpacked<C: Arrays>() -> C::Hom<Self::As, Self> {
        choose::<C, Self::As, Self>(
            C::fst(),
            C::then(C::then(C::snd(), C::fst()), C::then(A::unpacked::<C>(), C::inl())),
            C::then(C::then(C::snd(), C::snd()), C::then(B::unpacked::<C>(), C::inr())),
        )
    }
    fn none<C: Arrays, X: Obj>() -> C::Hom<X, Self> {
        C::then(B::none::<C, X>(), C::inr())
    }
}

/// A way to repeat a step until its result is the right case.
pub(crate) trait Loop<C: Arrays> {
    fn it<G: Obj, S: Carried, R: Carried>(step: C::Hom<Prod<G, S>, Sum<S, R>>) -> C::Hom<Prod<G, S>, R>;
}

/// By `iterate`.
pub(crate) struct Iterate;
/// By recursion.
struct Fix;
/// One step within the other, [`BOUND`] times.
struct Unrolled;
/// By one loop over an array.
struct Within;

impl<C: Arrays> Loop<C> for Iterate {
    fn it<G: Obj, S: Carried, R: Carried>(step: C::Hom<Prod<G, S>, Sum<S, R>>) -> C::Hom<Prod<G, S>, R> {
        C::iterate(step)
    }
}

impl<C: Arrays> Loop<C> for Fix {
    fn it<G: Obj, S: Carried, R: Carried>(step: C::Hom<Prod<G, S>, Sum<S, R>>) -> C::Hom<Prod<G, S>, R> {
        // In the context ((g, own), s).
        let own = C::then(C::fst(), C::snd());
        let ran = C::then(C::pair(C::then(C::fst(), C::fst()), C::snd()), step);
        let again = C::then(C::pair(C::fst(), C::snd()), C::eval());
        let body = C::then(C::pair(own, ran), C::case(again, C::snd()));
        C::then(C::pair(C::then(C::fst(), C::fix(body)), C::snd()), C::eval())
    }
}

impl<C: Arrays> Loop<C> for Unrolled {
    fn it<G: Obj, S: Carried, R: Carried>(step: C::Hom<Prod<G, S>, Sum<S, R>>) -> C::Hom<Prod<G, S>, R> {
        (0..BOUND).fold(R::none::<C, _>(), |rest, _| unfolded::<C, G, S, R>(step.clone(), rest))
    }
}

impl<C: Arrays> Loop<C> for Within {
    fn it<G: Obj, S: Carried, R: Carried>(step: C::Hom<Prod<G, S>, Sum<S, R>>) -> C::Hom<Prod<G, S>, R> {
        // The context is g and the initial state.
        let start = Expr::<C, _, _>::of(C::then(C::snd(), S::packed::<C>()));
        let none = Expr::<C, _, _>::of(C::then(R::none::<C, _>(), R::packed::<C>()));
        let all = iterate_within(BOUND, start, none, |_| {
            let state = C::then(C::snd(), S::unpacked::<C>());
            let ran = C::then(C::pair(C::then(C::fst(), C::fst()), state), step);
            let (on, end) = (C::then(S::packed::<C>(), C::inl()), C::then(R::packed::<C>(), C::inr()));
            Expr::of(C::then(ran, copair::<C, S, R, Sum<S::As, R::As>>(on, end)))
        });
        C::then(all.hom(), R::unpacked::<C>())
    }
}

/// A program for each case, without context.
fn copair<C: Arrays, A: Obj, B: Obj, R: Obj>(left: C::Hom<A, R>, right: C::Hom<B, R>) -> C::Hom<Sum<A, B>, R> {
    let which = C::case::<Unit, A, B, R>(C::then(C::snd(), left), C::then(C::snd(), right));
    C::then(C::pair(C::unit(), C::id()), which)
}

fn choose<C: Arrays, A: Obj, R: Obj>(mask: C::Hom<A, Mask>, left: C::Hom<A, R>, right: C::Hom<A, R>) -> C::Hom<A, R> {
    let which = C::case::<A, Unit, Unit, R>(C::then(C::fst(), left), C::then(C::fst(), right));
    C::then(C::pair(C::id(), C::then(mask, C::test())), which)
}

/// `[on, end] . f`, in a context.
fn after<C: Arrays, G: Obj, S: Obj, A: Obj, B: Obj, R: Obj>(
    f: C::Hom<Prod<G, S>, Sum<A, B>>,
    on: C::Hom<Prod<G, A>, R>,
    end: C::Hom<Prod<G, B>, R>,
) -> C::Hom<Prod<G, S>, R> {
    C::then(C::pair(C::fst(), f), C::case(on, end))
}

/// `[rest, id] . f`: one step, and the rest.
fn unfolded<C: Arrays, G: Obj, S: Obj, R: Obj>(
    f: C::Hom<Prod<G, S>, Sum<S, R>>,
    rest: C::Hom<Prod<G, S>, R>,
) -> C::Hom<Prod<G, S>, R> {
    after::<C, G, S, S, R, R>(f, rest, C::snd())
}

fn op<C: Arrays, A: Obj>(op: Binary, a: C::Hom<A, Real>, b: C::Hom<A, Real>) -> C::Hom<A, Real> {
    C::then(C::pair(a, b), C::prim(Pointwise2::<0>(op)))
}

/// The programs of which the equations consist.
struct Parts {
    random: Random,
    /// The largest size of a program.
    largest: u64,
}

impl Parts {
    /// A number between `middle - radius` and `middle + radius`, from a number of the context and one of the state.
    fn number<C: Arrays, S: Obj>(
        &mut self,
        state: C::Hom<At<S>, Real>,
        middle: f64,
        radius: f64,
    ) -> C::Hom<At<S>, Real> {
        let context = C::then(C::fst(), part::<C>(&mut self.random));
        let size = self.random.below(self.largest + 1) as u32;
        let found = C::then(C::pair(context, state), program::<C>(&mut self.random, size));
        let wave = C::then(found, C::prim(Pointwise::<0>(Unary::Sin)));
        op::<C, _>(Binary::Add, op::<C, _>(Binary::Mul, wave, number::<C, _>(radius)), number::<C, _>(middle))
    }

    /// A number of a state of two.
    fn of_two<C: Arrays>(&mut self) -> C::Hom<At<Two>, Real> {
        C::then(C::snd(), part::<C>(&mut self.random))
    }

    /// Two programs, of which the first is for numbers less than a bound.
    fn below<C: Arrays, S: Obj, R: Obj>(
        &mut self,
        x: C::Hom<At<S>, Real>,
        less: C::Hom<At<S>, R>,
        more: C::Hom<At<S>, R>,
    ) -> C::Hom<At<S>, R> {
        let bound = 0.137 + 0.1 * self.random.below(4) as f64;
        let mask = C::then(C::pair(x, number::<C, _>(bound)), C::prim(Comparison(Compare::Lt)));
        choose::<C, _, R>(mask, less, more)
    }

    /// The next state, whose last number is less by at least 0.3, and by how much depends on all numbers.
    fn next<C: Arrays>(&mut self) -> C::Hom<At<Real>, Real> {
        let by = self.number::<C, Real>(C::snd(), 0.6, 0.3);
        op::<C, _>(Binary::Sub, C::snd(), by)
    }

    fn next_two<C: Arrays>(&mut self) -> C::Hom<At<Two>, Two> {
        let seen = self.of_two::<C>();
        let first = self.number::<C, Two>(seen, 0.2, 1.0);
        let seen = self.of_two::<C>();
        let by = self.number::<C, Two>(seen, 0.6, 0.3);
        C::pair(first, op::<C, _>(Binary::Sub, C::then(C::snd(), C::snd()), by))
    }

    /// A step of a number.
    fn step<C: Arrays>(&mut self) -> C::Hom<At<Real>, Sum<Real, Real>> {
        let end = C::then(self.number::<C, Real>(C::snd(), 0.0, 2.0), C::inr());
        let next = C::then(self.next::<C>(), C::inl());
        self.below::<C, Real, Sum<Real, Real>>(C::snd(), end, next)
    }

    fn result<C: Arrays>(&mut self) -> C::Hom<At<Two>, Real> {
        let seen = self.of_two::<C>();
        self.number::<C, Two>(seen, 0.0, 2.0)
    }

    /// A step of two numbers, of which the last decreases, with this result.
    fn step_two<C: Arrays, R: Obj>(&mut self, result: C::Hom<At<Two>, R>) -> C::Hom<At<Two>, Sum<Two, R>> {
        let next = C::then(self.next_two::<C>(), C::inl());
        self.below::<C, Two, Sum<Two, R>>(C::then(C::snd(), C::snd()), C::then(result, C::inr()), next)
    }

    /// The two numbers of the context as the initial state, changed.
    fn start<C: Arrays>(&mut self) -> C::Hom<Two, At<Real>> {
        let last = self.number::<C, Real>(C::snd(), 0.8, 1.5);
        C::pair(C::id(), C::then(C::pair(C::id(), C::snd()), last))
    }

    fn start_two<C: Arrays>(&mut self) -> C::Hom<Two, At<Two>> {
        let first = C::then(C::pair(C::id(), C::fst()), self.number::<C, Real>(C::snd(), 0.0, 1.0));
        let second = C::then(self.start::<C>(), C::snd());
        C::pair(C::id(), C::pair(first, second))
    }
}

/// Both sides of an equation, as programs of two numbers.
type Sides<C> = [<C as higher::Ccc>::Hom<Two, Real>; 2];

fn fixpoint<C: Arrays, L: Loop<C>>(parts: &mut Parts) -> Sides<C> {
    let (start, end) = (parts.start_two::<C>(), parts.result::<C>());
    let f = parts.step_two::<C, Real>(end);
    let all = L::it::<Two, Two, Real>(f.clone());
    [all.clone(), unfolded::<C, Two, Two, Real>(f, all)].map(|side| C::then(start.clone(), side))
}

fn naturality<C: Arrays, L: Loop<C>>(parts: &mut Parts) -> Sides<C> {
    let (start, end) = (parts.start_two::<C>(), C::pair(parts.result::<C>(), parts.result::<C>()));
    let f = parts.step_two::<C, Two>(end);
    let g = parts.result::<C>();
    let outside = C::then(C::pair(C::fst(), L::it::<Two, Two, Two>(f.clone())), g.clone());
    let step = after::<C, Two, Two, Two, Two, Sum<Two, Real>>(f, C::then(C::snd(), C::inl()), C::then(g, C::inr()));
    [outside, L::it::<Two, Two, Real>(step)].map(|side| C::then(start.clone(), side))
}

fn codiagonal<C: Arrays, L: Loop<C>>(parts: &mut Parts) -> Sides<C> {
    type Outer = Sum<Two, Real>;
    let (start, end) = (parts.start_two::<C>(), parts.result::<C>());
    let inner = C::then(parts.next_two::<C>(), C::inl());
    let outer = C::then(C::then(parts.next_two::<C>(), C::inl()), C::inr());
    let chosen = parts.of_two::<C>();
    let on = parts.below::<C, Two, Sum<Two, Outer>>(chosen, inner, outer);
    let end = C::then(C::then(end, C::inr()), C::inr());
    let f = parts.below::<C, Two, Sum<Two, Outer>>(C::then(C::snd(), C::snd()), end, on);
    let twice = L::it::<Two, Two, Real>(L::it::<Two, Two, Outer>(f.clone()));
    let once = L::it::<Two, Two, Real>(C::then(f, copair::<C, Two, Outer, Outer>(C::inl(), C::id())));
    [twice, once].map(|side| C::then(start.clone(), side))
}

/// `h` takes a number to a pair whose sum it is. The step of pairs differs from the step of their sums by multiples of
/// what is zero for the pairs that `h` makes, though its derivative is not.
fn uniformity_of_numbers_as_pairs<C: Arrays, L: Loop<C>>(parts: &mut Parts) -> Sides<C> {
    let (start, f) = (parts.start::<C>(), parts.step::<C>());
    let q = parts.number::<C, Real>(C::snd(), 0.1, 1.0);
    let h = C::pair(op::<C, _>(Binary::Sub, C::snd(), q.clone()), q.clone());
    // In the context (g, (a, b)): g and a + b; b - q (a + b).
    let sum = C::pair(C::fst(), C::then(C::snd(), C::prim(Pointwise2::<0>(Binary::Add))));
    let off = op::<C, _>(Binary::Sub, C::then(C::snd(), C::snd()), C::then(sum.clone(), q));
    let (seen, more) = (parts.of_two::<C>(), parts.of_two::<C>());
    let one = op::<C, _>(Binary::Mul, off.clone(), parts.number::<C, Two>(seen, 0.3, 1.0));
    let two = op::<C, _>(Binary::Mul, off, parts.number::<C, Two>(more, 0.3, 1.0));
    // In the context ((g, (one, two)), s) or ((g, (one, two)), r).
    let plain = || C::then(C::fst(), C::fst());
    let off = |which: C::Hom<Two, Real>| C::then(C::then(C::fst(), C::snd()), which);
    let pair = C::then(C::pair(plain(), C::snd()), h.clone());
    let next = C::pair(
        op::<C, _>(Binary::Add, C::then(pair.clone(), C::fst()), off(C::fst())),
        op::<C, _>(Binary::Sub, C::then(pair, C::snd()), off(C::snd())),
    );
    let result = op::<C, _>(Binary::Add, C::snd(), off(C::snd()));
    let which =
        C::case::<Prod<Two, Two>, Real, Real, Sum<Two, Real>>(C::then(next, C::inl()), C::then(result, C::inr()));
    let context = C::pair(C::fst(), C::pair(one, two));
    let of_pairs = C::then(C::pair(context, C::then(sum, f.clone())), which);
    let left = C::then(C::pair(C::fst(), h), L::it::<Two, Two, Real>(of_pairs));
    [left, L::it::<Two, Real, Real>(f)].map(|side| C::then(start.clone(), side))
}

/// `h` is the sum of a pair. The step of pairs makes one of the pairs with the sum that the step of numbers makes.
fn uniformity_of_pairs_as_numbers<C: Arrays, L: Loop<C>>(parts: &mut Parts) -> Sides<C> {
    let (start, f) = (parts.start_two::<C>(), parts.step::<C>());
    let seen = parts.of_two::<C>();
    let q = parts.number::<C, Two>(seen, 0.1, 1.0);
    let sum = C::pair(C::fst(), C::then(C::snd(), C::prim(Pointwise2::<0>(Binary::Add))));
    // In the context (q, s) or (q, r).
    let next = C::pair(op::<C, _>(Binary::Sub, C::snd(), C::fst()), C::fst());
    let which = C::case::<Real, Real, Real, Sum<Two, Real>>(C::then(next, C::inl()), C::then(C::snd(), C::inr()));
    let of_pairs = C::then(C::pair(q, C::then(sum.clone(), f.clone())), which);
    let left = C::then(sum, L::it::<Two, Real, Real>(f));
    [left, L::it::<Two, Two, Real>(of_pairs)].map(|side| C::then(start.clone(), side))
}

/// `it ([g, inr] . f) = [it ([f, inr] . g), id] . f` for `f : S -> T + R` and `g : T -> S + R`.
fn dinaturality<C: Arrays, L: Loop<C>>(parts: &mut Parts) -> Sides<C> {
    let start = parts.start::<C>();
    let end = C::then(parts.number::<C, Real>(C::snd(), 0.0, 2.0), C::inr());
    let first = parts.number::<C, Real>(C::snd(), 0.0, 1.0);
    let next = C::then(C::pair(first, parts.next::<C>()), C::inl());
    let f = parts.below::<C, Real, Sum<Two, Real>>(C::snd(), end, next);
    let end = C::then(parts.result::<C>(), C::inr());
    let next = C::then(C::then(parts.next_two::<C>(), C::snd()), C::inl());
    let g = parts.below::<C, Two, Sum<Real, Real>>(C::then(C::snd(), C::snd()), end, next);
    let ended = || C::then(C::snd(), C::inr());
    let of_numbers = after::<C, Two, Real, Two, Real, Sum<Real, Real>>(f.clone(), g.clone(), ended());
    let of_pairs = after::<C, Two, Two, Real, Real, Sum<Two, Real>>(g, f.clone(), C::then(C::snd(), C::inr()));
    let right = after::<C, Two, Real, Two, Real, Real>(f, L::it::<Two, Two, Real>(of_pairs), C::snd());
    [L::it::<Two, Real, Real>(of_numbers), right].map(|side| C::then(start.clone(), side))
}

/// A context that is changed before the loop, or anew at each step.
fn context<C: Arrays, L: Loop<C>>(parts: &mut Parts) -> Sides<C> {
    let (start, end) = (parts.start_two::<C>(), parts.result::<C>());
    let f = parts.step_two::<C, Real>(end);
    let changed = C::pair(program::<C>(&mut parts.random, 1), program::<C>(&mut parts.random, 2));
    let before = C::pair(C::then(C::fst(), changed), C::snd());
    let outside = C::then(before.clone(), L::it::<Two, Two, Real>(f.clone()));
    [outside, L::it::<Two, Two, Real>(C::then(before, f))].map(|side| C::then(start.clone(), side))
}

const LAWS: [&str; 7] = [
    "fixpoint",
    "naturality",
    "codiagonal",
    "uniformity, numbers as pairs",
    "uniformity, pairs as numbers",
    "dinaturality",
    "context",
];

/// One side of a law, on random programs.
fn side<C: Arrays, L: Loop<C>>(law: usize, seed: u64, which: usize) -> Expr<C, Two, Real> {
    sized::<C, L>(2, law, seed, which)
}

/// The same, of programs that are at most so large.
pub(crate) fn sized<C: Arrays, L: Loop<C>>(largest: u64, law: usize, seed: u64, which: usize) -> Expr<C, Two, Real> {
    let laws: [fn(&mut Parts) -> Sides<C>; 7] = [
        fixpoint::<C, L>,
        naturality::<C, L>,
        codiagonal::<C, L>,
        uniformity_of_numbers_as_pairs::<C, L>,
        uniformity_of_pairs_as_numbers::<C, L>,
        dinaturality::<C, L>,
        context::<C, L>,
    ];
    let random = Random::of_first_forms(seed.wrapping_mul(31).wrapping_add(law as u64));
    let mut parts = Parts { random, largest };
    let [left, right] = laws[law](&mut parts);
    Expr::of([left, right][which].clone())
}

/// A value with its gradient, and a direction with the derivative along it.
struct Expected {
    value: f64,
    gradient: Vec<f64>,
    direction: Point,
    along: f64,
}

/// By dual numbers, from the unrolled loop, with finite differences beside it.
fn expected<const N: usize>(largest: u64, law: usize, seed: u64, points: [Point; N]) -> [(Point, Expected); N] {
    let program = with_texts(sized::<_, Unrolled>(largest, law, seed, 0));
    points.map(|x| {
        let expected = expected_at(&program, law, seed, &x);
        (x, expected)
    })
}

fn expected_at(program: &Everywhere<Texts, Two, Real>, law: usize, seed: u64, x: &Point) -> Expected {
    let f = |x: &Point| higher::run::<_, _, Array>(program.at(), x).item();
    let gradient = numbers(&direct::grad(|x| higher::run(program.at(), x), x));
    let (direction, _) = moved(x, 0.0);
    let along: f64 = gradient.iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
    let h = 1e-6;
    let difference = (f(&moved(x, h).1) - f(&moved(x, -h).1)) / (2.0 * h);
    close(&format!("{}, program {seed}: differences", LAWS[law]), &[difference], &[along], 1e-5);
    Expected { value: f(x), gradient, direction, along }
}

/// One side of a law at the instances that run.
fn runs<L: Loop<Erased<Texts>>>(law: usize, seed: u64, which: usize, points: &[(Point, Expected)]) {
    let program = with_texts(side::<_, L>(law, seed, which));
    points.iter().for_each(|(x, expected)| runs_at(&program, (law, seed, which), x, expected));
}

fn runs_at(
    program: &Everywhere<Texts, Two, Real>,
    (law, seed, which): (usize, u64, usize),
    x: &Point,
    expected: &Expected,
) {
    let say = |what: &str| format!("{what}: {}, side {which}, program {seed}", LAWS[law]);
    let both = |(value, gradient): (Tensor<Array, 0>, Point)| [vec![value.item()], numbers(&gradient)].concat();
    let all = [vec![expected.value], expected.gradient.clone()].concat();
    let value = higher::run::<_, _, Array>(program.at(), x).item();
    close(&say("value"), &[value], &[expected.value], 1e-11);
    let found = higher::value_and_grad_by(program.at::<CurryClosures<Array>, _>(), x);
    close(&say("closures"), &both(found), &all, 1e-11);
    let found = higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), x);
    close(&say("lists"), &both(found), &all, 1e-11);
    let found = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), x);
    close(&say("reverse"), &both(found), &all, 1e-11);
    let (value, tangent) = higher::jvp(program.at::<Forward<Run<Array>>, _>(), x, &expected.direction);
    close(&say("forward"), &[value.item(), tangent.item()], &[expected.value, expected.along], 1e-11);
}

/// One side of a law as text, and simplified, which takes seconds for a derivative.
fn texts<L: Loop<Erased<Texts>>>(law: usize, seed: u64, which: usize, x: &Point, expected: &Expected) {
    let say = |what: &str| format!("{what}: {}, side {which}, program {seed}", LAWS[law]);
    let inputs = [x.0.raw().clone(), x.1.raw().clone()];
    let number = |leaf: &Option<Array>| leaf.as_ref().map_or(0.0, |leaf| leaf.item().expect("a number"));
    let program = with_texts(sized::<_, L>(0, law, seed, which));
    let plain: Lambda = program.at::<Syntax, _>().hom().term();
    let back = program.at::<Reverse<Syntax>, _>().hom().term();
    let along = program.at::<Forward<Syntax>, _>().hom().term();
    let mut forms = vec![("unsimplified", [plain.clone(), back.clone(), along.clone()])];
    if law == 0 && which == 0 || std::env::var_os("POLYGRAD_FUZZ").is_some() {
        forms.push(("simplified", [plain.simplify(), back.simplify(), along.simplify()]));
    }
    for (form, [plain, back, along]) in forms {
        close(&say(form), &[plain.run::<Real>(&inputs)[0].item().expect("a number")], &[expected.value], 1e-11);
        let found: Vec<f64> = back.linear::<Real, Two>(&inputs, &tensor(1.0)).iter().map(number).collect();
        close(&say(&format!("{form}, reverse")), &found, &expected.gradient, 1e-11);
        let found = number(&along.linear::<Two, Real>(&inputs, &expected.direction)[0]);
        close(&say(&format!("{form}, forward")), &[found], &[expected.along], 1e-11);
    }
}

/// The points of the tests: the loops take different numbers of steps at them.
fn points() -> [Point; 2] {
    [(0.7, -0.4), (-1.1, 0.9)].map(|(a, b)| (tensor(a), tensor(b)))
}

fn each(count: u64, check: impl Fn(usize, u64)) {
    for seed in seeds(count) {
        (0..LAWS.len()).for_each(|law| check(law, seed));
    }
}

/// Both sides have the value and the derivatives of the unrolled program, by `iterate` and by `fix`, and so have the
/// bounded loop and the unrolled program themselves.
#[test]
fn axioms_of_iteration() {
    each(2, |law, seed| {
        let points = expected(2, law, seed, points());
        for which in [0, 1] {
            runs::<Iterate>(law, seed, which, &points);
            runs::<Fix>(law, seed, which, &points);
        }
        runs::<Within>(law, seed, 1, &points);
        runs::<Unrolled>(law, seed, 0, &points);
    });
}

#[test]
fn axioms_of_iteration_as_texts() {
    each(1, |law, seed| {
        let [x, _] = points();
        let [(x, expected)] = expected(0, law, seed, [x]);
        for which in [0, 1] {
            texts::<Iterate>(law, seed, which, &x, &expected);
            texts::<Fix>(law, seed, which, &x, &expected);
        }
    });
}

/// A loop that ends by itself is recorded with its value and its derivative forwards, a bounded one with its gradient, too.
#[test]
fn axioms_of_iteration_recorded() {
    each(2, |law, seed| {
        let [like, _] = points();
        let points = expected(2, law, seed, points());
        for which in [0, 1] {
            let say = |what: &str| format!("{what}: {}, side {which}, program {seed}", LAWS[law]);
            // The inner loop of `it (it f)` has a case as its result, which a recorded loop cannot carry.
            let of_cases = (LAWS[law], which) == ("codiagonal", 0);
            let program = with_texts(side::<_, Iterate>(law, seed, which));
            let within = with_texts(side::<_, Within>(law, seed, which));
            let recorded = || higher::stage(program.at(), &like);
            if of_cases {
                assert!(refused(recorded).contains("must be known to go on or to end"));
            }
            let value = (!of_cases).then(recorded);
            let gradients = [
                ("stage_grad", higher::stage_grad(within.at(), &like)),
                ("closures", higher::stage_grad_by(within.at::<CurryClosures<Term>, _>(), &like)),
                ("lists", higher::stage_grad_by(within.at::<CurryLists<Term>, _>(), &like)),
                ("reverse", higher::stage_grad_by(within.at::<Reverse<Run<Term>>, _>(), &like)),
            ];
            for (x, expected) in &points {
                let inputs = vec![x.0.raw().clone(), x.1.raw().clone()];
                if let Some(value) = &value {
                    let found = interpret(value, inputs.clone())[0].item::<f64>().expect("a number");
                    close(&say("recorded"), &[found], &[expected.value], 1e-11);
                    let (_, found) = polygrad::jvp(|x: &_| higher::run(program.at(), x), x, &expected.direction);
                    close(&say("recorded, forward"), &[found.item()], &[expected.along], 1e-11);
                }
                for (how, gradient) in &gradients {
                    let results = interpret(gradient, inputs.clone());
                    let found: Vec<f64> = results.iter().map(|t| t.item().expect("a number")).collect();
                    let all = [vec![expected.value], expected.gradient.clone()].concat();
                    close(&say(&format!("recorded, {how}")), &found, &all, 1e-11);
                }
            }
        }
    });
}

/// The number of steps of the loop of the fixpoint law: the state with a counter beside it.
fn steps<C: Arrays>(seed: u64) -> Expr<C, Two, Real> {
    type Counted = Prod<Two, Real>;
    let mut parts = Parts { random: Random::of_first_forms(seed.wrapping_mul(31)), largest: 2 };
    let (start, end) = (parts.start_two::<C>(), parts.result::<C>());
    let f = parts.step_two::<C, Real>(end);
    let ran = C::then(C::pair(C::fst(), C::then(C::snd(), C::fst())), f);
    let count = C::then(C::snd(), C::snd());
    // In the context (count, s) or (count, r).
    let more = op::<C, _>(Binary::Add, C::fst(), number::<C, _>(1.0));
    let on = C::then(C::pair(C::snd(), more), C::inl());
    let which = C::case::<Real, Two, Real, Sum<Counted, Real>>(on, C::then(C::fst(), C::inr()));
    let start = C::pair(C::id(), C::pair(C::then(start, C::snd()), number::<C, _>(0.0)));
    Expr::of(C::then(start, C::iterate(C::then(C::pair(count, ran), which))))
}

/// The numbers of steps depend on data, from none on.
#[test]
fn loops_end_after_different_numbers_of_steps() {
    let runs = (0..12).flat_map(|seed| points().map(|x| higher::run::<_, _, Array>(steps(seed), &x).item() as usize));
    let found: std::collections::BTreeSet<usize> = runs.collect();
    assert!(found.len() >= 5 && found.iter().all(|n| *n < BOUND), "numbers of steps: {found:?}");
}
