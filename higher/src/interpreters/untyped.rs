//! The untyped implementation of the morphisms of [`Run`](super::Run).
//!
//! All values have one type ([`Val`]), so a function of this module is compiled once for an interpreter of tensors,
//! while a typed method is instantiated for each combination of types in a program, and a transformed program has
//! thousands of these. So a typed method only adds types, and contains no closure.

use std::panic::Location;
use std::rc::Rc;

use polygrad::array::Array;
use polygrad::base::BaseTensor;
use polygrad::seam::{mistake, written_at};

use super::access::{known, mistyped};
use super::loops::{STEPS, Trip, repeated, resumed, sweep_of};
use super::machine::{joined, then};
use super::value::{Bag, Callable, Closure, Code, Each, Frames, Lin, Mode, Transition, Val};
use super::{ArrayCotangent, Tangents, UNBOUNDED, pull_needed, push_primitive};
use crate::shared::Shared;
use crate::{Ground, Layout, Parity, Primitive};

/// A function that captures nothing.
pub(super) fn plain<T: BaseTensor>(f: fn(Val<T>) -> Val<T>) -> Closure<T> {
    Closure::new(f)
}

pub(super) fn same<T: BaseTensor>(x: Val<T>) -> Val<T> {
    x
}

pub(super) fn nil<T: BaseTensor>(_: Val<T>) -> Val<T> {
    Val::Nil
}

pub(super) fn zero<T: BaseTensor>(_: Val<T>) -> Val<T> {
    Val::Zero
}

pub(super) fn first<T: BaseTensor>(x: Val<T>) -> Val<T> {
    x.fst()
}

pub(super) fn second<T: BaseTensor>(x: Val<T>) -> Val<T> {
    x.snd()
}

pub(super) fn left<T: BaseTensor>(x: Val<T>) -> Val<T> {
    Val::Left(Shared::new(x))
}

pub(super) fn right<T: BaseTensor>(x: Val<T>) -> Val<T> {
    Val::Right(Shared::new(x))
}

pub(super) fn choice<T: BaseTensor>(mask: Val<T>) -> Val<T> {
    Val::choice(mask.leaf())
}

/// Applies the function of a pair to its argument.
pub(super) fn applied<T: BaseTensor>() -> Closure<T> {
    struct Apply;
    impl<T: BaseTensor> Callable<T> for Apply {
        fn enter(&self, _: &Closure<T>, x: Val<T>, _: &mut Frames<T>) -> Transition<T> {
            x.fst().call(x.snd())
        }
    }
    Closure::of(Apply)
}

pub(super) fn pair<T: BaseTensor>(f: Closure<T>, g: Closure<T>) -> Closure<T> {
    joined(f, g, Val::pair)
}

pub(super) fn curry<T: BaseTensor>(f: Closure<T>) -> Closure<T> {
    Closure::new(move |x| Val::capturing(Code::Curried(f.clone()), x))
}

/// One function for each case. `choose` selects between the results of both where the case is not known.
pub(super) struct Case<T: 'static> {
    pub(super) left: Closure<T>,
    pub(super) right: Closure<T>,
    pub(super) choose: fn(&T, Val<T>, Val<T>) -> Val<T>,
}

impl<T: BaseTensor> Callable<T> for Case<T> {
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        let (g, sum) = (x.fst(), x.snd());
        match sum {
            Val::Left(a) => Transition::Call(self.left.clone(), Val::pair(g, Shared::unwrap_or_clone(a))),
            Val::Right(b) => Transition::Call(self.right.clone(), Val::pair(g, Shared::unwrap_or_clone(b))),
            Val::Either(e) => {
                let a = e.1.clone();
                frames.choose();
                frames.push(own, 0, Val::pair(g.clone(), Val::Either(e)));
                Transition::Call(self.left.clone(), Val::pair(g, a))
            }
            // The zero of a sum of vectors has no case, and gives zero.
            Val::Zero => Transition::Value(Val::Zero),
            Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) | Val::Lin(_) => mistyped("a sum"),
            Val::Scattered(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => mistyped("a sum"),
        }
    }

    /// The case is not known: the right branch runs, or both have run.
    fn resume(&self, own: &Closure<T>, stage: u8, kept: Val<T>, y: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        let (before, sum) = (kept.fst(), kept.snd());
        let Val::Either(e) = sum else { mistyped("a sum whose case is not known") };
        if stage == 0 {
            let x = Val::pair(before, e.2.clone());
            frames.push(own, 1, Val::pair(y, Val::Either(e)));
            return Transition::Call(self.right.clone(), x);
        }
        frames.chosen();
        Transition::Value((self.choose)(&e.0, before, y))
    }

    fn undecided(&self, stage: u8, kept: &Val<T>) -> Option<(Val<T>, bool)> {
        Some((kept.snd(), stage == 0))
    }

    fn placed(&self, at: &'static Location<'static>) -> Option<Closure<T>> {
        let (left, right) = (self.left.clone().placed(at), self.right.clone().placed(at));
        Some(Closure::of(Case { left, right, choose: self.choose }))
    }
}

pub(super) fn case<T: BaseTensor>(left: Closure<T>, right: Closure<T>) -> Closure<T> {
    Closure::of(Case { left, right, choose: Val::select })
}

/// Repeats a step until its result is the right case.
struct Iterate<T: 'static> {
    step: Closure<T>,
    at: Option<&'static Location<'static>>,
}

impl<T: BaseTensor> Iterate<T> {
    fn step(&self, own: &Closure<T>, g: Val<T>, state: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        frames.push(own, 0, g.clone());
        Transition::Call(self.step.clone(), Val::pair(g, state))
    }

    /// The final result as a recorded loop, from the first step whose case is not known, or from a step of the left case.
    fn recorded(&self, g: &Val<T>, ran: &Val<T>) -> Option<Val<T>> {
        let step = |state| self.step.at(Val::pair(g.clone(), state));
        match (ran, T::records()) {
            (Val::Left(state), true) => resumed(state, &step),
            (Val::Left(_), false) => None,
            (_, _) => repeated(ran, &step),
        }
    }
}

impl<T: BaseTensor> Callable<T> for Iterate<T> {
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        if T::records() {
            let (g, step) = (x.fst(), |state| self.step.at(Val::pair(x.fst(), state)));
            let result = at_place(self.at, || iterated(x.snd(), &step, &|ran| self.recorded(&g, ran)));
            return Transition::Value(result);
        }
        self.step(own, x.fst(), x.snd(), frames)
    }

    fn resume(&self, own: &Closure<T>, _: u8, g: Val<T>, ran: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        if let Val::Left(next) = ran {
            return self.step(own, g, Shared::unwrap_or_clone(next), frames);
        }
        if let Val::Right(result) = ran {
            return Transition::Value(Shared::unwrap_or_clone(result));
        }
        at_place(self.at, || Transition::Value(self.recorded(&g, &ran).unwrap_or_else(|| mistake(UNBOUNDED))))
    }

    fn placed(&self, at: &'static Location<'static>) -> Option<Closure<T>> {
        Some(Closure::of(Iterate { step: self.step.clone(), at: Some(at) }))
    }
}

/// With errors reported at a place, if it is known.
pub(super) fn at_place<R>(at: Option<&'static Location<'static>>, f: impl FnOnce() -> R) -> R {
    match at {
        Some(at) => written_at(at, f),
        None => f(),
    }
}

pub(super) fn iterate<T: BaseTensor>(step: Closure<T>) -> Closure<T> {
    Closure::of(Iterate { step, at: None })
}

/// Repeats a step until its result is the right case. `recorded` may give the final result as a recorded loop: from the
/// first step whose case is not known, or from a step of the left case after many steps.
pub(super) fn iterated<T: BaseTensor>(
    mut state: Val<T>,
    step: &dyn Fn(Val<T>) -> Val<T>,
    recorded: &dyn Fn(&Val<T>) -> Option<Val<T>>,
) -> Val<T> {
    let mut count = 0;
    loop {
        match step(state) {
            Val::Left(next) => {
                count += 1;
                if count == STEPS
                    && let Some(result) = recorded(&Val::Left(next.clone()))
                {
                    return result;
                }
                state = Shared::unwrap_or_clone(next);
            }
            Val::Right(result) => return Shared::unwrap_or_clone(result),
            Val::Zero | Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) => unreachable!("a step gives a sum"),
            Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) => unreachable!("a step gives a sum"),
            Val::Mono(_) | Val::Many(_) => unreachable!("a step gives a sum"),
            either @ Val::Either(_) => {
                return recorded(&either).unwrap_or_else(|| mistake(UNBOUNDED));
            }
        }
    }
}

/// A recursive function of the host language, from a function of itself and its argument.
pub(super) fn recursive<T: BaseTensor>(call: impl Fn(Val<T>, Val<T>) -> Val<T> + 'static) -> Val<T> {
    fn function<T: BaseTensor>(call: Rc<dyn Fn(Val<T>, Val<T>) -> Val<T>>) -> Val<T> {
        Val::fun(move |x| call(function(call.clone()), x))
    }
    function(Rc::new(call))
}

pub(super) fn sum<T: BaseTensor>(a: Closure<T>, b: Closure<T>) -> Closure<T> {
    joined(a, b, Val::plus)
}

/// A linear function that does not depend on the context.
pub(super) fn constantly<T: BaseTensor>(l: fn() -> Lin<T>) -> Closure<T> {
    Closure::new(move |_| Val::Lin(l()))
}

/// The linear function that `make` constructs from a value.
pub(super) fn of_value<T: BaseTensor>(f: Closure<T>, make: fn(Val<T>) -> Lin<T>) -> Closure<T> {
    then(f, Closure::new(move |x| Val::Lin(make(x))))
}

/// The combination of two linear functions in the same context.
pub(super) fn both<T: BaseTensor>(f: Closure<T>, g: Closure<T>, join: fn(Lin<T>, Lin<T>) -> Lin<T>) -> Closure<T> {
    joined(f, g, move |f: Val<T>, g: Val<T>| Val::Lin(join(f.lin(), g.lin())))
}

/// The linear function that gives every part of one layout the sum of all parts of another.
pub(super) fn spread<T: BaseTensor>(from: Layout, to: Layout) -> Closure<T> {
    Closure::new(move |_| Val::Lin(Lin::spread(from.clone(), to.clone())))
}

/// The leaves of the argument of a primitive.
fn arguments<T: BaseTensor, P: Primitive>(p: &P, layout: &Layout, x: &Val<T>) -> Vec<T> {
    let mut leaves = Vec::new();
    x.leaves(layout, &mut leaves);
    if leaves.iter().all(Option::is_some) { leaves.into_iter().flatten().collect() } else { p.complete(&leaves) }
}

/// A primitive on values.
pub(super) fn primitive<T: BaseTensor, P: Primitive>(p: P) -> Closure<T> {
    let (from, to) = (P::Dom::layout(), P::Cod::layout());
    Closure::new(move |x| Val::of_leaves(&to, &mut p.run(&arguments(&p, &from, &x)).into_iter().map(Some)))
}

/// The linear function of a derivative that takes leaves to leaves.
pub(super) fn leafwise<T: BaseTensor>(
    from: Layout,
    to: Layout,
    f: impl Fn(Tangents<T>) -> Tangents<T> + 'static,
) -> Lin<T> {
    Lin::operation(move |_, v| {
        let mut leaves = Vec::new();
        v.leaves(&from, &mut leaves);
        Val::of_leaves(&to, &mut f(leaves).into_iter()).without_units()
    })
}

pub(super) fn pushed<T: BaseTensor, P: Primitive>(p: P) -> Closure<T> {
    Closure::new(move |x| {
        let (p, at) = (p.clone(), arguments(&p, &P::Dom::layout(), &x));
        let push = move |x_dots: Tangents<T>| push_primitive(&p, &at, &x_dots);
        Val::Lin(leafwise(P::Dom::layout(), P::Cod::layout(), push))
    })
}

/// The pullback of a primitive: cotangents of those arguments that need one.
pub(super) fn pullback<T: BaseTensor, P: Primitive>(p: P, at: Vec<T>) -> Lin<T> {
    let (from, to) = (P::Cod::layout(), P::Dom::layout());
    Lin::operation_for(move |mode, v, place| {
        let (mut y_bars, mut needed) = (Vec::new(), Vec::new());
        v.leaves(&from, &mut y_bars);
        place.needs(&to, &mut needed);
        let mut found = pull_needed(&p, &at, &needed, &y_bars).into_iter().map(|ct| match ct {
            None => Val::Zero,
            Some(ArrayCotangent::Dense(ct)) => Val::Leaf(ct),
            Some(ArrayCotangent::Scattered(ct)) if mode == Mode::Cells => Val::Scattered(Rc::new(*ct)),
            Some(ArrayCotangent::Scattered(ct)) => Val::Leaf(ct.dense()),
        });
        Val::of_parts(&to, &mut found).without_units()
    })
}

pub(super) fn pulled<T: BaseTensor, P: Primitive>(p: P) -> Closure<T> {
    Closure::new(move |x| Val::Lin(pullback(p.clone(), arguments(&p, &P::Dom::layout(), &x))))
}

/// For each argument of a function of truth values, whether each result changes with it.
fn changes<T: BaseTensor, P: Primitive>(p: &P, at: &[T]) -> Vec<Vec<bool>> {
    let truth = |values: &[T]| {
        let known = values.iter().map(|t| if t.shape().is_empty() { known(t) } else { None });
        known.collect::<Option<Vec<bool>>>().unwrap_or_else(|| {
            mistake(&format!(
                "differences: formal derivatives are those of functions of single truth values, but {} takes or gives other values, or \
                 they are not known while a program is traced; run it with known truth values",
                p.name()
            ))
        })
    };
    let (inputs, results) = (truth(at), truth(&p.run(at)));
    let flipped = |k: usize| {
        let mut changed = at.to_vec();
        changed[k] = T::constant(Array::scalar(!inputs[k]));
        truth(&p.run(&changed))
    };
    (0..at.len()).map(|k| flipped(k).iter().zip(&results).map(|(a, b)| a != b).collect()).collect()
}

/// Formal derivatives of a function of truth values.
pub(super) fn differences<T: BaseTensor, P: Primitive>(p: P) -> Closure<T> {
    Closure::new(move |x| {
        let at = x.primals(&P::Dom::layout());
        let changes = changes(&p, &at);
        let back = move |_, v: Val<T>| {
            let marks: Vec<Parity> = v.marks(&P::Cod::layout());
            let odd = |changed: &Vec<bool>| changed.iter().zip(&marks).fold(false, |odd, (c, m)| odd ^ (*c && m.0));
            Val::of_marks(&P::Dom::layout(), &mut changes.iter().map(|changed| Parity(odd(changed))))
        };
        Val::Lin(Lin::operation(back))
    })
}

/// Applies a function to every element, on values; `used` is what it captures.
pub(super) fn mapped<T: BaseTensor>(used: &Val<T>, f: &dyn Fn(Val<T>) -> Val<T>, xs: &Val<T>) -> Val<T> {
    sweep_of("map", false, used, Val::Nil, xs, &|_, x| Trip { carry: Val::Nil, out: f(x), sum: Val::Zero }).out
}

/// A left fold on values: all states before the final one, stacked, and the final state.
pub(super) fn scanned<T: BaseTensor>(
    used: &Val<T>,
    f: &dyn Fn(Val<T>) -> Val<T>,
    start: Val<T>,
    xs: &Val<T>,
) -> (Val<T>, Val<T>) {
    let step = |state: Val<T>, x| Trip { carry: f(Val::pair(state.clone(), x)), out: state, sum: Val::Zero };
    let swept = sweep_of("fold", false, used, start, xs, &step);
    (swept.out, swept.carry)
}

/// A loop that carries a state over all elements: `f` takes the state and an element to the next state and an output.
/// The final state, and the outputs.
pub(super) fn accumulated<T: BaseTensor>(
    reverse: bool,
    used: &Val<T>,
    f: &dyn Fn(Val<T>) -> Val<T>,
    start: Val<T>,
    xs: &Val<T>,
) -> Val<T> {
    let step = |state: Val<T>, x| {
        let next = f(Val::pair(state, x));
        Trip { carry: next.fst(), out: next.snd(), sum: Val::Zero }
    };
    let swept = sweep_of("fold", reverse, used, start, xs, &step);
    Val::pair(swept.carry, swept.out)
}

pub(super) fn accumulate<T: BaseTensor>(reverse: bool) -> Closure<T> {
    Closure::new(move |x| {
        let f = x.fst();
        accumulated(reverse, &f, &|at| f.apply(at), x.snd().fst(), &x.snd().snd())
    })
}

pub(super) fn map<T: BaseTensor>(x: Val<T>) -> Val<T> {
    let f = x.fst();
    mapped(&f, &|a| f.apply(a), &x.snd())
}

pub(super) fn zip<T: BaseTensor>(xs: Val<T>) -> Lin<T> {
    Lin::operation(move |_, vs| Val::Bag(Bag::zip(xs.clone(), vs)))
}

pub(super) fn map_function<T: BaseTensor>(xs: Val<T>) -> Lin<T> {
    Lin::operation(move |_, f| mapped(&f, &|a| f.apply(a), &xs))
}

/// The linear function constructed from a function with its derivative, and from its arguments.
pub(super) fn of_values<T: BaseTensor>(
    f: Closure<T>,
    xs: Closure<T>,
    make: fn(Val<T>, Val<T>) -> Lin<T>,
) -> Closure<T> {
    joined(f, xs, move |f, xs| Val::Lin(make(f, xs)))
}

pub(super) fn zip_with<T: BaseTensor>(f: Val<T>, xs: Val<T>) -> Lin<T> {
    Lin::operation(move |mode, vs| {
        mapped(&f, &|both| f.apply(both.fst()).lin().run(mode, both.snd()), &Val::pair(xs.clone(), vs))
    })
}

/// A loop of linear steps that depend on the elements of `xs`; keeps the vectors of the states before all trips.
pub(super) fn linear_loop<T: BaseTensor>(reverse: bool, f: Closure<T>, xs: Closure<T>) -> Closure<T> {
    joined(f, xs, move |f, xs| {
        Val::Lin(Lin::operation(move |mode, v| {
            let step = |both: Val<T>| {
                let (before, x, input) = (both.fst(), both.snd().fst(), both.snd().snd());
                let next = f.apply(x).lin().run(mode, Val::pair(before.clone(), input));
                Val::pair(next.fst(), Val::pair(before, next.snd()))
            };
            accumulated(reverse, &f, &step, v.fst(), &Val::pair(xs.clone(), v.snd()))
        }))
    })
}

/// A linear function applied to a vector.
pub(super) fn applied_linear<T: BaseTensor>(f: Closure<T>, v: Closure<T>) -> Closure<T> {
    struct Run;
    impl<T: BaseTensor> Callable<T> for Run {
        fn enter(&self, _: &Closure<T>, both: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
            both.fst().lin().call(Mode::Cells, both.snd(), frames)
        }
    }
    then(pair(f, v), Closure::of(Run))
}

/// A function that is linear, as a linear function.
pub(super) fn as_linear<T: BaseTensor>(f: Val<T>) -> Lin<T> {
    Lin::operation(move |_, v| f.apply(v))
}

/// The sum over the entries of a copower of a function of an entry.
pub(super) fn copower_sum<T: BaseTensor>(f: Val<T>) -> Lin<T> {
    let each: Each<T> = Rc::new(move |a, v| f.apply(Val::pair(a, v.dense())));
    Lin::operation(move |_, v| v.bag().map_or(Val::Zero, |bag| bag.total(&each)))
}
