//! Two rules for the reverse derivative of an iteration, and what an iteration that does not end has as its derivative.
//!
//! The derivative of `it f` is the least solution of `D(it f) = [D(it f), id] . D f` (arXiv 2505.15002). As a program
//! that is a recursion, whose linear function is composed with that of the rest when the rest has run: [`Rest`]. The
//! library carries the linear function of the steps so far in the state of one iteration. Law: both are equal; both are
//! linear in the number of steps, but the recursion is as deep as there are steps.

use polygrad::interpreters::Count;
use polygrad::program::{Term, interpret};
use polygrad::{Array, Lift, Tensor, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Mode, Reverse, Run, Syntax, tallied};
use polygrad_higher::{
    self as higher, ArrayTarget, Arrays, Ccc, Expr, Language, Obj, Prod, Real, Sum, Var, fun2, if_, inl, inr, iterate,
    iterate_within, lam, let_, num, tup,
};

use super::agree::{close, numbers};
use super::both::to_second_order;
use super::deep::refused;
use super::iteration::{Carried, Iterate, Loop, Two, sized};
use crate::support::on_a_stack_of;

/// The equation of the derivative of an iteration as a recursive program of the target.
struct Rest;

impl<T: ArrayTarget> Loop<Reverse<T>> for Rest {
    fn it<C: Obj, S: Carried, R: Carried>(
        step: <Reverse<T> as Ccc>::Hom<Prod<C, S>, Sum<S, R>>,
    ) -> <Reverse<T> as Ccc>::Hom<Prod<C, S>, R> {
        // In the context ((c, own), s): own, f' and f.
        let ran = T::then(T::pair(T::then(T::fst(), T::fst()), T::snd()), step);
        let own = T::then(T::fst(), T::then(T::fst(), T::snd()));
        let sorted = T::pair(T::pair(own, T::then(T::snd(), T::snd())), T::then(T::snd(), T::fst()));
        // In the context ((own, f'), s): <r, r'> = own s.
        let rest = T::then(T::pair(T::then(T::fst(), T::fst()), T::snd()), T::eval());
        // In the context (((own, f'), s), (r, r')): r, and r', then <c', s'> -> <c', 0> + f' (inl s').
        let back = T::then(T::fst(), T::then(T::fst(), T::snd()));
        let context = T::lcomp(T::lfst(), T::lpair(T::lid(), T::zero()));
        let pulled = T::plus(context, T::lcomp(T::lsnd(), T::lcomp(T::linl(), back)));
        let both = T::pair(T::then(T::snd(), T::fst()), T::lcomp(T::then(T::snd(), T::snd()), pulled));
        let on = T::bind(rest, both);
        let end = T::pair(T::snd(), T::lcomp(T::linr(), T::then(T::fst(), T::snd())));
        let body = T::bind(ran, T::then(sorted, T::case(on, end)));
        T::then(T::pair(T::then(T::fst(), T::fix(body)), T::snd()), T::eval())
    }
}

/// The step of [`powers`]: in the context (x, n), from (s, n) to (s x + x, n - 1), and to s when n is small.
fn step<C: Arrays>() -> C::Hom<Prod<Two, Two>, Sum<Two, Real>> {
    fun2::<C, Two, Two, Sum<Two, Real>>(|given, state| {
        let (x, (s, n)) = (given.split().0, state.split());
        if_(n.at().less(num(0.5)), || inr(s.at()), || inl(tup(s.at() * x.at() + x.at(), n.at() - 1.0)))
    })
    .hom()
}

/// `s -> s x + x`, `n` times from `x` on.
fn powers<C: Arrays, L: Loop<C>>() -> Expr<C, Two, Real> {
    Expr::of(C::then(C::pair(C::id(), C::id()), L::it::<Two, Two, Real>(step::<C>())))
}

/// The axioms' programs have equal derivatives by both rules.
#[test]
fn both_rules_are_equal() {
    type Chad = Reverse<Run<Array>>;
    let x = (tensor(0.7), tensor(-0.4));
    for seed in 0..6 {
        for (law, which) in (0..7).flat_map(|law| [(law, 0), (law, 1)]) {
            let (y, ours) = higher::value_and_grad_by(sized::<Chad, Iterate>(2, law, seed, which), &x);
            let (z, rest) = higher::value_and_grad_by(sized::<Chad, Rest>(2, law, seed, which), &x);
            assert_eq!(y, z, "value of program {seed}");
            close(&format!("law {law}, side {which}, program {seed}"), &numbers(&rest), &numbers(&ours), 1e-12);
        }
    }
}

/// The rule of the library as text; the other one has no iteration.
#[test]
fn both_rules_print() {
    let texts = [powers::<Reverse<Syntax>, Iterate>(), powers::<Reverse<Syntax>, Rest>()];
    let [ours, rest] = texts.map(|program| program.hom().term().simplify().to_string());
    assert_eq!(ours, OURS.trim_matches('\n'), "printed:\n{ours}");
    assert!(!rest.contains("iterate"), "printed:\n{rest}");
}

const OURS: &str = r"
\x1 x2 ->
  let t15 = iterate (\t1 ->
          let t7 = case (test (lt <snd (fst t1), 0.5>)) of
                  left t2 -> <inr (fst (fst t1)), \t3 -> <<zero, <castRight t3, zero>>, zero>>
                  right t4 -> <inl <fst (fst t1) * x1 + x1, snd (fst t1) - 1.0>, \t5 ->
                    let t6 = castLeft t5
                    in <<<zero, <fst (fst t1) * fst t6 + fst t6, zero>>, <x1 * fst t6, snd t6>>, zero>>
          in case (fst t7) of
               left t8 -> inl <t8, \t9 ->
                 let t10 = fst (snd t7 (linl t9))
                 in <snd (fst t10), zero> + snd t1 (snd t10)>
               right t11 -> inr <t11, \t12 ->
                 let t13 = fst (snd t7 (linr t12))
                 in <snd (fst t13), zero> + snd t1 (snd t13)>) <<x1, x2>, \t14 -> <zero, t14>>
  in <fst t15, \t16 ->
       let t17 = snd t15 t16
       in fst t17 + snd t17>
";

/// Both rules cost the same operations, zeros and additions for each step.
#[test]
fn both_rules_cost_linear_work() {
    fn work<L: Loop<Reverse<Run<Array>>>>(n: f64, mode: Mode) -> usize {
        let x = (tensor(0.9), tensor(n));
        let program = powers::<Reverse<Run<Array>>, L>();
        tallied::<Array, _>(|| higher::pullback_by(program, &x, &tensor(1.0), mode)).1.total()
    }
    fn operations<L: Loop<Reverse<Run<Count<Array>>>>>(n: f64) -> usize {
        let lifted = |x: f64| Tensor::<Count<Array>, 0>::from_raw(Count::lift(Array::scalar(x)));
        let program = powers::<Reverse<Run<Count<Array>>>, L>();
        Count::<Array>::counted(|| higher::value_and_grad_by(program, &(lifted(0.9), lifted(n)))).1.total().calls
            as usize
    }
    let sizes = [4.0, 16.0, 64.0];
    let counts = [
        ("iteration, cells", sizes.map(|n| work::<Iterate>(n, Mode::Cells))),
        ("recursion, cells", sizes.map(|n| work::<Rest>(n, Mode::Cells))),
        ("iteration, tuples", sizes.map(|n| work::<Iterate>(n, Mode::Tuples))),
        ("recursion, tuples", sizes.map(|n| work::<Rest>(n, Mode::Tuples))),
        ("iteration, operations", sizes.map(operations::<Iterate>)),
        ("recursion, operations", sizes.map(operations::<Rest>)),
    ];
    for (what, [a, b, c]) in counts {
        println!("{what} at 4, 16, 64 steps: {a} {b} {c}");
        assert_eq!(c - b, 4 * (b - a), "{what} is linear: {a} {b} {c}");
    }
}

/// Neither rule takes stack: the state of the iteration, and the frames of the recursion, are on the heap.
#[test]
fn depth_of_both_rules() {
    // A hundred thousand steps take seconds in debug.
    let steps = if std::env::var_os("POLYGRAD_FUZZ").is_some() { 1e5 } else { 1e4 };
    let x = move || (tensor(0.5), tensor(steps));
    on_a_stack_of(160 << 10, move || {
        let (value, (slope, _)) = higher::value_and_grad_by(powers::<Reverse<Run<Array>>, Iterate>(), &x());
        // The limit is x / (1 - x).
        close("the limit", &[value.item(), slope.item()], &[1.0, 4.0], 1e-12);
    });
    on_a_stack_of(160 << 10, move || {
        let (value, (slope, _)) = higher::value_and_grad_by(powers::<Reverse<Run<Array>>, Rest>(), &x());
        close("the limit", &[value.item(), slope.item()], &[1.0, 4.0], 1e-12);
    });
}

/// Negates a number that is less than 0.
fn absolute<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| iterate(x.at(), |s| if_(s.at().less(num(0.0)), || inl(-s.at()), || inr(s.at() * y.at()))))
}

/// Doubles a positive number until it is at least 1; it does not end for others, and then is `y`.
fn doubled<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        iterate_within(50, x.at(), y.at(), |s| if_(s.at().less(num(1.0)), || inl(s.at() * 2.0), || inr(s.at())))
    })
}

macro_rules! gradients {
    ($program:ident at $x:expr) => {{
        let x = ($x, 3.0);
        let program = to_second_order($program());
        let at = (tensor(x.0), tensor(x.1));
        let found = [
            higher::value_and_grad_by(program.at::<CurryClosures<Array>, _>(), &at),
            higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), &at),
            higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &at),
        ];
        let along =
            [(1.0, 0.0), (0.0, 1.0)].map(|(a, b)| higher::jvp(program.at(), &at, &(tensor(a), tensor(b))).1.item());
        let found = found.map(|(y, g)| [vec![y.item()], numbers(&g)].concat());
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0], found[2]);
        assert_eq!(found[0][1..], along);
        found[0].clone()
    }};
}

/// At the boundary of a condition the derivative is that of the branch that runs. It is one-sided, and no error.
#[test]
fn boundaries_of_conditions() {
    assert_eq!(gradients!(absolute at -2.0), [6.0, -3.0, 2.0]);
    assert_eq!(gradients!(absolute at 2.0), [6.0, 3.0, 2.0]);
    assert_eq!(gradients!(absolute at 0.0), [0.0, 3.0, 0.0]);
    // The number of steps jumps at 0.5: two steps below, one at the boundary and above.
    assert_eq!(gradients!(doubled at 0.49999), [4.0 * 0.49999, 4.0, 0.0]);
    assert_eq!(gradients!(doubled at 0.5), [1.0, 2.0, 0.0]);
}

/// An iteration that does not end within its bound has the value and the derivative of what is given for that.
#[test]
fn iterations_that_do_not_end() {
    assert_eq!(gradients!(doubled at 0.0), [3.0, 0.0, 1.0]);
    assert_eq!(gradients!(doubled at -1.0), [3.0, 0.0, 1.0]);
    assert_eq!(gradients!(doubled at 0.75), [1.5, 2.0, 0.0]);
    // Without a bound it would not end, but it is recorded: a program that does not end where the iteration does not.
    fn forever<C: Language>() -> Expr<C, Two, Real> {
        fun2(|x, y| iterate(x.at(), |s| if_(s.at().less(num(1.0)), || inl(s.at() * 2.0), || inr(s.at() * y.at()))))
    }
    let recorded = higher::stage(forever(), &(tensor(-1.0), tensor(1.0)));
    let at = vec![Array::scalar(0.75), Array::scalar(2.0)];
    assert_eq!(polygrad::program::interpret(&recorded, at.clone()), [Array::scalar(3.0)]);
    // So is its gradient, in the steps that run.
    let gradient = higher::stage_grad(forever(), &(tensor(-1.0), tensor(1.0)));
    let expected = [3.0, 4.0, 1.5].map(Array::scalar);
    assert_eq!(polygrad::program::interpret(&gradient, at.clone()), expected);
    assert_eq!(polygrad::backend::compile(&gradient).run(&at), expected);
}

/// `y` is multiplied by a function of `x` while it is less than `x`: the number of steps depends on the inputs, and a function
/// is in the context of the loop.
fn until<C: Language>(function: bool) -> Expr<C, Two, Real> {
    fun2(move |x, y| {
        let_(lam(|z: Var<_, Real>| z.at() * 1.25 + x.at() * x.at()), |f| {
            iterate(tup(y.at(), num(1.0)), |s| {
                if_(
                    s.at().fst().less(x.at() * 4.0),
                    || {
                        let grown = if function { f.at().app(s.at().fst()) } else { s.at().fst() * 1.25 + y.at() };
                        inl(tup(grown, s.at().snd() * s.at().fst().cos()))
                    },
                    || inr(s.at().fst() * s.at().snd()),
                )
            })
        })
    })
}

/// [`until`] without a function in its context.
fn simple_until<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        iterate(tup(y.at(), num(1.0)), |s| {
            if_(
                s.at().fst().less(x.at() * 4.0),
                || inl(tup(s.at().fst() * 1.25 + y.at(), s.at().snd() * (s.at().fst() * x.at()).cos())),
                || inr(s.at().fst() * s.at().snd()),
            )
        })
    })
}

/// An iteration that ends by an input is recorded with its gradient, by all ways of reverse mode, and at every order.
#[test]
fn iterations_that_end_by_an_input() {
    let like = (tensor(1.0), tensor(1.0));
    // The second to last has no step, the last one many.
    let points = [(1.0, 0.7), (2.5, 0.1), (0.3, 5.0), (-1.0, 0.5), (4.0, 0.25)];
    for function in [true, false] {
        let program = || to_second_order(until(function));
        let mut staged = vec![
            ("stage_grad", higher::stage_grad(program().at(), &like)),
            ("closures", higher::stage_grad_by(program().at::<CurryClosures<Term>, _>(), &like)),
        ];
        if function {
            // The tangent of a function that is a list of its calls says nothing of what the function captures.
            let by_lists = || higher::stage_grad_by(program().at::<CurryLists<Term>, _>(), &like);
            assert!(refused(by_lists).contains("must be known to go on or to end"));
        }
        for (name, staged) in &mut staged {
            for (x, y) in points {
                let at = (tensor(x), tensor(y));
                let inputs = vec![Array::scalar(x), Array::scalar(y)];
                let (value, (in_x, in_y)) = higher::value_and_grad(until(function), &at);
                let results = interpret(staged, inputs);
                let found: Vec<f64> = results.iter().map(|t| t.item().expect("a number")).collect();
                close(&format!("{name} at {x}, {y}"), &found, &[value.item(), in_x.item(), in_y.item()], 1e-12);
            }
        }
    }
    let simple = || to_second_order(simple_until());
    let staged = [
        ("stage_grad", higher::stage_grad(simple().at(), &like)),
        ("closures", higher::stage_grad_by(simple().at::<CurryClosures<Term>, _>(), &like)),
        ("lists", higher::stage_grad_by(simple().at::<CurryLists<Term>, _>(), &like)),
        ("reverse", higher::stage_grad_by(simple().at::<Reverse<Run<Term>>, _>(), &like)),
    ];
    for (x, y) in points {
        let at = (tensor(x), tensor(y));
        let (value, (in_x, in_y)) = higher::value_and_grad(simple_until(), &at);
        for (name, staged) in &staged {
            let results = interpret(staged, vec![Array::scalar(x), Array::scalar(y)]);
            let found: Vec<f64> = results.iter().map(|t| t.item().expect("a number")).collect();
            close(&format!("{name} at {x}, {y}"), &found, &[value.item(), in_x.item(), in_y.item()], 1e-12);
        }
        // The gradient of the slope in `x`: recorded, and in the steps that run.
        let recorded = polygrad::grad(|p| higher::value_and_grad(simple_until(), p).1.0, &at);
        let ran = polygrad::direct::grad(|p| higher::value_and_grad(simple_until(), p).1.0, &at);
        close(&format!("second order at {x}, {y}"), &numbers(&recorded), &numbers(&ran), 1e-12);
    }
}
