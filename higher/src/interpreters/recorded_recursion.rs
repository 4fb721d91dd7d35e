//! Recursive functions whose end depends on inputs, recorded as functions that call themselves.
//!
//! While a program is traced, a choice by a condition that is not known runs both branches. A call of a recursive function in
//! a branch of such a choice that its own body makes would go on without end. Then the call of the function that waits is given
//! up, and recorded instead ([`Frames::entered`]): the body is traced once at variables, with a probe in place of the function
//! ([`Probe`]). The probe notes each argument, and the choices under which it is called, and gives variables as results.
//! [`Custom::recursion`] makes loops of the body. Law: the recorded function has the value and the derivatives that calls of
//! the body have at known numbers.
//!
//! Argument and result must consist of tensors whose shapes do not change from call to call, and calls must not lie in bodies
//! of loops. Otherwise, both branches run.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use polygrad::base::BaseTensor;
use polygrad::ops::Discrete;
use polygrad::program::{Custom, Term};
use polygrad::seam::written;

use super::Tower;
use super::decisions::Followed;
use super::linear::with;
use super::recorded::{FloatsOf, OfCaptured, with_level};
use super::stacks::{Outside, Way, flatten, rebuild};
use super::untyped::at_place;
use super::value::{Callable, Closure, Code, Frames, Lin, Skeleton, Transition, Val, WAITS};
use crate::shared::Shared;

thread_local! {
    /// The largest number of calls that wait in a recorded function with several calls.
    static RECORDED_CALLS: Cell<usize> = const { Cell::new(256) };
}

/// Runs `f` with a number of frames for recorded functions that call themselves several times, on this thread. Without it,
/// there are 256.
///
/// A recursive function whose end depends on an input is recorded with loops. If it calls itself once at most, its depth has
/// no bound. If it calls itself several times, calls that wait for others are rows of arrays, as many as this number says; the
/// result is NaN where more would be needed.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fix, fun1, if_, num};
/// /// The numbers of Fibonacci.
/// fn fibonacci<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| {
///         let both = |f: higher::Var<_, _>, n: higher::Var<_, Real>| f.at().app(n.at() - 1.0) + f.at().app(n.at() - 2.0);
///         fix(|f, n| if_(n.at().less(num(1.5)), || n.at(), || both(f, n))).app(x.at())
///     })
/// }
/// let program = higher::stage(fibonacci(), &tensor(0.0));
/// assert_eq!(interpret(&program, vec![Array::scalar(10.0)]), [Array::scalar(55.0)]);
/// let shallow = higher::with_recorded_calls(4, || higher::stage(fibonacci(), &tensor(0.0)));
/// let at = |x: f64| interpret(&shallow, vec![Array::scalar(x)])[0].item::<f64>().unwrap();
/// assert!(at(5.0) == 5.0 && at(10.0).is_nan());
/// ```
pub fn with_recorded_calls<R>(most: usize, f: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            RECORDED_CALLS.set(self.0);
        }
    }
    let _restore = Restore(RECORDED_CALLS.replace(most));
    f()
}

/// A call of a recursive function while its body is traced.
struct CallSite<T: 'static> {
    /// The choices under which it is called, each with whether the branch runs where its mask holds.
    path: Vec<(Val<T>, bool)>,
    argument: Val<T>,
    /// The variables that stand for the result.
    result: Vec<Term>,
}

/// What a value consists of: its structure, and tensors of the kinds that it has.
struct ValueForm<T: 'static> {
    of: Skeleton<T>,
    like: Vec<T>,
}

impl<T: BaseTensor> ValueForm<T> {
    fn of(v: &Val<T>) -> Option<ValueForm<T>> {
        let (none, mut like) = (Val::Zero, Vec::new());
        let of = flatten(v, &mut Outside::of(&none), &mut like)?;
        Some(ValueForm { of, like })
    }

    /// The form of a value whose parts that are not tensors stay as they are.
    fn of_tensors(v: &Val<T>) -> ValueForm<T> {
        fn part<T: BaseTensor>(v: &Val<T>, into: &mut Vec<T>) -> Skeleton<T> {
            match v {
                Val::Pair(p) => {
                    let first = part(&p.0, into);
                    Skeleton::Pair(Box::new(first), Box::new(part(&p.1, into)))
                }
                Val::Leaf(t) => {
                    into.push(t.clone());
                    Skeleton::Leaf
                }
                Val::Zero | Val::Nil | Val::Scattered(_) | Val::Left(_) | Val::Right(_) | Val::Either(_) => {
                    Skeleton::Outer(v.clone())
                }
                Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => Skeleton::Outer(v.clone()),
            }
        }
        let mut like = Vec::new();
        ValueForm { of: part(v, &mut like), like }
    }

    fn variables(&self) -> Vec<Term> {
        self.like.iter().map(|t| Term::variable(t.shape(), t.dtype())).collect()
    }

    fn value(&self, variables: &[Term]) -> Option<Val<T>> {
        let tensors: Vec<T> = variables.iter().map(T::captured).collect::<Option<_>>()?;
        Some(rebuild(&self.of, Way::Same, &mut tensors.into_iter()))
    }

    /// The tensors of a value of the same form.
    fn tensors(&self, v: Val<T>) -> Option<Vec<T>> {
        let like = rebuild(&self.of, Way::Same, &mut self.like.iter().cloned());
        let found = ValueForm::of(&v.conform(&like))?;
        let kinds = |(a, b): (&T, &T)| a.shape() == b.shape() && a.dtype() == b.dtype();
        let alike = found.of == self.of && found.like.iter().zip(&self.like).all(kinds);
        alike.then_some(found.like)
    }
}

/// What stands for a recursive function while its body is traced.
struct Probe<T: 'static> {
    /// The form of the result; while it is not known, a branch that calls the function is given up.
    result: Option<ValueForm<T>>,
    /// Whether the function gives its result with a pullback.
    pulled: bool,
    seen: Rc<ProbedCalls<T>>,
}

/// What a probe has seen.
struct ProbedCalls<T: 'static> {
    sites: RefCell<Vec<CallSite<T>>>,
    failed: Cell<bool>,
}

impl<T: BaseTensor> Callable<T> for Probe<T> {
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        let result = |y| Transition::Value(if self.pulled { with(y, Lin::zero()) } else { y });
        // A call in the body of a loop, or in another function that is traced, has frames apart.
        if frames.probe != own.address() {
            self.seen.failed.set(true);
            return result(Val::Zero);
        }
        let Some(form) = &self.result else {
            self.seen.failed.set(self.seen.failed.get() || !frames.give_up());
            return result(Val::Zero);
        };
        let variables = form.variables();
        let Some(y) = form.value(&variables) else {
            self.seen.failed.set(true);
            return result(Val::Zero);
        };
        self.seen.sites.borrow_mut().push(CallSite { path: frames.path(), argument: x, result: variables });
        result(y)
    }
}

/// Whether two calls are in different branches of a choice.
fn apart<T: BaseTensor>(a: &CallSite<T>, b: &CallSite<T>) -> bool {
    let opposite = |(choice, holds): &(Val<T>, bool)| {
        b.path.iter().any(|(other, of_other)| is_same(choice, other) && holds != of_other)
    };
    a.path.iter().any(opposite)
}

fn is_same<T: BaseTensor>(a: &Val<T>, b: &Val<T>) -> bool {
    if let (Val::Either(a), Val::Either(b)) = (a, b) { a.address() == b.address() } else { false }
}

/// The mask of all choices of a path.
fn taken<T: BaseTensor>(path: &[(Val<T>, bool)]) -> T {
    let masks = path.iter().filter_map(|(choice, holds)| {
        let Val::Either(e) = choice else { return None };
        Some(if *holds { e.0.clone() } else { T::discrete(&Discrete::Not, &[&e.0]) })
    });
    let all = masks.reduce(|all, mask| T::discrete(&Discrete::And, &[&all, &mask]));
    all.unwrap_or_else(|| T::constant(polygrad::Array::scalar(true)))
}

/// A recursive function as one that is recorded, with the tensors that it takes.
struct TracedFunction<T: 'static> {
    rule: Arc<Custom>,
    context: BodyContext<T>,
    argument: Vec<T>,
    result: ValueForm<T>,
}

/// A captured value while the body is traced: tensors whose numbers are known stay as they are.
struct BodyContext<T: 'static> {
    form: ValueForm<T>,
    /// A variable for each other tensor.
    variables: Vec<Option<Term>>,
}

impl<T: BaseTensor> BodyContext<T> {
    /// With `fixed`, parts that are not tensors stay as they are.
    fn of(g: &Val<T>, fixed: bool) -> Option<BodyContext<T>> {
        let form = if fixed { ValueForm::of_tensors(g) } else { ValueForm::of(g)? };
        // A known number that is differentiated is not a constant.
        let is_known = |t: &T| t.clone().recorded().as_constant().is_some();
        let variable = |t: &T| (!is_known(t)).then(|| Term::variable(t.shape(), t.dtype()));
        let variables = form.like.iter().map(variable).collect();
        Some(BodyContext { form, variables })
    }

    fn value(&self) -> Option<Val<T>> {
        let all = self.form.like.iter().zip(&self.variables);
        let tensors = all.map(|(t, variable)| variable.as_ref().map_or_else(|| Some(t.clone()), T::captured));
        let tensors: Vec<T> = tensors.collect::<Option<_>>()?;
        Some(rebuild(&self.form.of, Way::Same, &mut tensors.into_iter()))
    }
}

/// Traces the body of a recursive function; `None` if the function cannot be recorded. With `fixed`, the body does not
/// depend on functions, sums and lists that it captures, unless these are known.
fn traced<T: BaseTensor>(
    (name, body): (&str, &Closure<T>),
    (g, x): (&Val<T>, &Val<T>),
    pulled: bool,
    fixed: bool,
) -> Option<TracedFunction<T>> {
    let (context, of_argument) = (BodyContext::of(g, fixed)?, ValueForm::of(x)?);
    let argument = of_argument.variables();
    let run = |result: Option<ValueForm<T>>| -> Option<(Val<T>, Vec<CallSite<T>>)> {
        let seen = Rc::new(ProbedCalls { sites: RefCell::default(), failed: Cell::new(false) });
        let probe = Closure::of(Probe { result, pulled, seen: seen.clone() });
        let function = Val::Pair(Shared::new((context.value()?, Val::Fun(probe.clone()))));
        let point = Val::Pair(Shared::new((function, of_argument.value(&argument)?)));
        let trip = Followed::start();
        let ran = probe.probed(body, point);
        drop(trip);
        let value = if pulled { ran.fst() } else { ran };
        (!seen.failed.get() && !value.has_function()).then(|| (value, seen.sites.take()))
    };
    let (first, _) = run(None)?;
    let result = ValueForm::of(&first)?;
    let (value, sites) = run(Some(ValueForm::of(&first)?))?;
    let (mut inputs, mut outputs) = (argument, Vec::new());
    for site in &sites {
        inputs.extend(site.result.iter().cloned());
        outputs.push(taken(&site.path));
        outputs.extend(of_argument.tensors(site.argument.clone())?);
    }
    inputs.extend(context.variables.iter().flatten().cloned());
    outputs.extend(result.tensors(value)?);
    let outputs: Vec<Term> = outputs.into_iter().map(T::recorded).collect();
    let program = Term::program(&inputs, &outputs, &[]).ok()?;
    let linear = sites.iter().enumerate().all(|(k, site)| sites[..k].iter().all(|other| apart(site, other)));
    let depth = (!linear).then(|| RECORDED_CALLS.get());
    if sites.is_empty() {
        return None;
    }
    let rule = Custom::recursion(name, program, of_argument.like.len(), sites.len(), depth).ok()?;
    Some(TracedFunction { rule: Arc::new(rule), context, argument: of_argument.like, result })
}

impl<T: BaseTensor> TracedFunction<T> {
    /// The results, of the tensors of the context and of the argument.
    fn run(&self, context: &[T], mut argument: Vec<T>) -> Vec<T> {
        let taken = context.iter().zip(&self.context.variables).filter(|(_, variable)| variable.is_some());
        argument.extend(taken.map(|(t, _)| t.clone()));
        T::custom(&self.rule, &argument)
    }
}

/// The result of a recursive function as a recorded one; `None` if it cannot be recorded.
fn recorded<T: BaseTensor>(
    (name, at): (&str, Option<&'static Location<'static>>),
    body: &Closure<T>,
    g: &Val<T>,
    x: &Val<T>,
) -> Option<Val<T>> {
    at_place(at, || {
        let function = [false, true].into_iter().find_map(|fixed| traced((name, body), (g, x), false, fixed))?;
        let found = function.run(&function.context.form.like, function.argument.clone());
        Some(rebuild(&function.result.of, Way::Same, &mut found.into_iter()))
    })
}

/// [`recorded`] of a body that gives a pullback: the result, and the pullback to the context and the argument.
fn recorded_pulled<T: BaseTensor>(
    body: &Closure<Tower<T>>,
    g: &Val<Tower<T>>,
    x: &Val<Tower<T>>,
    of_captured: OfCaptured<T>,
) -> Option<(Val<Tower<T>>, Lin<Tower<T>>)> {
    let point = Val::Pair(Shared::new((g.clone(), x.clone())));
    [false, true].into_iter().find_map(|fixed| {
        let function = traced(("fix", body), (g, x), true, fixed)?;
        let of_point = FloatsOf { of_captured, fixed };
        let tensors = [function.context.form.like.clone(), function.argument.clone()];
        with_level(&point, tensors, of_point, &function.result.of, |context, argument| function.run(&context, argument))
    })
}

/// A recursive function with a captured value, with pullbacks: the body takes the captured value, the function itself, and the
/// argument.
pub(super) struct Recursion<T: 'static> {
    pub(super) at: Option<&'static Location<'static>>,
    pub(super) body: Closure<Tower<T>>,
    pub(super) g: Val<Tower<T>>,
    /// The result of the function, of that of the body.
    pub(super) end: fn(Val<Tower<T>>) -> Val<Tower<T>>,
    /// The pullback of the function, of that to the captured value and the argument.
    pub(super) pulled: fn(Lin<Tower<T>>) -> Lin<Tower<T>>,
    pub(super) of_captured: OfCaptured<T>,
}

impl<T: BaseTensor> Callable<Tower<T>> for Recursion<T> {
    fn enter(&self, own: &Closure<Tower<T>>, x: Val<Tower<T>>, frames: &mut Frames<Tower<T>>) -> Transition<Tower<T>> {
        frames.recurses("fix", self.at);
        if T::records() {
            return frames.entered(own, x);
        }
        frames.push(own, 0, Val::Zero);
        self.body(own, x)
    }

    fn resume(
        &self,
        _: &Closure<Tower<T>>,
        _: u8,
        _: Val<Tower<T>>,
        y: Val<Tower<T>>,
        _: &mut Frames<Tower<T>>,
    ) -> Transition<Tower<T>> {
        Transition::Value((self.end)(y))
    }

    fn body(&self, own: &Closure<Tower<T>>, x: Val<Tower<T>>) -> Transition<Tower<T>> {
        let function = Val::Pair(Shared::new((self.g.clone(), Val::Fun(own.clone()))));
        Transition::Call(self.body.clone(), Val::Pair(Shared::new((function, x))))
    }

    fn activates(&self, own: &Closure<Tower<T>>, _: u8) -> Option<usize> {
        Some(own.address())
    }

    fn recorded(&self, _: &Closure<Tower<T>>, x: &Val<Tower<T>>) -> Option<Val<Tower<T>>> {
        let (value, pullback) = recorded_pulled(&self.body, &self.g, x, self.of_captured)?;
        Some(with(value, (self.pulled)(pullback)))
    }
}

/// The function from the argument of a recursive function to the linear function from the cotangent of its result to that of
/// the captured value, through all inner calls. The tangent of the function is a list of its calls.
struct RecursionTotal<T: 'static> {
    body: Closure<Tower<T>>,
    /// The captured value and the recursive function.
    both: Val<Tower<T>>,
    function: Closure<Tower<T>>,
    of_captured: OfCaptured<T>,
}

/// The linear function from the list of the calls of a recursive function to the cotangent of the captured value.
pub(super) fn recursion_total<T: BaseTensor>(
    body: Closure<Tower<T>>,
    g: Val<Tower<T>>,
    function: Closure<Tower<T>>,
    of_captured: OfCaptured<T>,
) -> Lin<Tower<T>> {
    let both = Val::Pair(Shared::new((g, Val::Fun(function.clone()))));
    Lin::fold(Val::Fun(Closure::of(RecursionTotal { body, both, function, of_captured })))
}

impl<T: BaseTensor> Callable<Tower<T>> for RecursionTotal<T> {
    fn enter(&self, own: &Closure<Tower<T>>, x: Val<Tower<T>>, frames: &mut Frames<Tower<T>>) -> Transition<Tower<T>> {
        frames.push(own, WAITS, if T::records() { x.clone() } else { Val::Zero });
        self.body(own, x)
    }

    fn resume(
        &self,
        own: &Closure<Tower<T>>,
        _: u8,
        _: Val<Tower<T>>,
        ran: Val<Tower<T>>,
        _: &mut Frames<Tower<T>>,
    ) -> Transition<Tower<T>> {
        let inner = Lin::snd().then(Lin::fold(Val::Fun(own.clone())));
        Transition::Value(Val::Lin(ran.snd().lin().then(Lin::fst()).then(Lin::fst().plus(inner))))
    }

    fn body(&self, _: &Closure<Tower<T>>, x: Val<Tower<T>>) -> Transition<Tower<T>> {
        Transition::Call(self.body.clone(), Val::pair(self.both.clone(), x))
    }

    fn activates(&self, _: &Closure<Tower<T>>, _: u8) -> Option<usize> {
        Some(self.function.address())
    }

    fn recorded(&self, _: &Closure<Tower<T>>, x: &Val<Tower<T>>) -> Option<Val<Tower<T>>> {
        let (_, pullback) = recorded_pulled(&self.body, &self.both.fst(), x, self.of_captured)?;
        Some(Val::Lin(pullback.then(Lin::fst())))
    }
}

/// The recursive function of a body that captures a value.
pub(super) fn fix<T: BaseTensor>(body: Closure<T>) -> Closure<T> {
    Closure::new(move |g| Val::capturing(Code::Recursive(("fix", written()), body.clone(), recorded), g))
}
