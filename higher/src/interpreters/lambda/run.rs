//! Evaluation of terms with arrays.

use std::cell::Cell as Steps;
use std::collections::HashMap;
use std::rc::Rc;

use polygrad::array::Array;
use polygrad::base::BaseTensor;

use super::super::differential;
use super::super::recursion::called;
use super::super::untyped::{accumulated, iterated, mapped, recursive, scanned};
use super::super::value::{Bag, Cell, Each, Lin, Mode, Val};
use super::{AnyPrimitive, E, Exp, Lambda, Name, Op, Tower};
use crate::Ground;
use crate::shared::Shared;

type Value = Val<Tower<Array>>;

/// The values of variables, their accumulators, and the number of terms that have run.
#[derive(Clone, Default)]
struct Environment {
    values: HashMap<Name, Value>,
    cells: HashMap<Name, Cell<Tower<Array>>>,
    steps: Rc<Steps<usize>>,
}

impl Lambda {
    /// The value at these inputs, the leaves in order.
    fn value(&self, inputs: &[Array]) -> Value {
        run(&self.body, &self.environment(inputs))
    }

    fn environment(&self, inputs: &[Array]) -> Environment {
        let values = self.inputs.iter().zip(inputs).map(|(x, a)| (*x, Val::Leaf(Tower::of(a.clone())))).collect();
        Environment { values, ..Environment::default() }
    }

    /// The number of terms that run in [`linear`](Lambda::linear), each as often as it runs.
    ///
    /// Example: [`Code::accumulated`](crate::interpreters::Code::accumulated).
    pub fn work<V: Ground>(&self, inputs: &[Array], v: &V::Value<Array>) -> usize {
        let environment = self.environment(inputs);
        run(&self.body, &environment).snd().apply(Val::given::<V>(v));
        environment.steps.get()
    }

    /// The leaves of the value of a program that is not transformed, whose result is of type `B`.
    ///
    /// Example: [`Lambda::linear`].
    pub fn run<B: Ground>(&self, inputs: &[Array]) -> Vec<Array> {
        self.value(inputs).results(&B::layout())
    }

    /// The linear part of the value of a transformed program, from `V` to `W`, at a (co)tangent: one leaf for each leaf
    /// of `W`, `None` for zero.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::{Reverse, Syntax};
    /// use polygrad_higher::{Expr, Language, Prod, Real, fun2};
    /// type Two = Prod<Real, Real>;
    /// fn product<C: Language>() -> Expr<C, Two, Real> {
    ///     fun2(|x, y| x.at() * y.at())
    /// }
    /// let x = [2.0, 5.0].map(Array::scalar);
    /// assert_eq!(product::<Syntax>().hom().term().run::<Real>(&x), [Array::scalar(10.0)]);
    /// let gradient = product::<Reverse<Syntax>>().hom().term().linear::<Real, Two>(&x, &tensor(1.0));
    /// assert_eq!(gradient, [5.0, 2.0].map(|x| Some(Array::scalar(x))));
    /// ```
    pub fn linear<V: Ground, W: Ground>(&self, inputs: &[Array], v: &V::Value<Array>) -> Vec<Option<Array>> {
        let mut leaves = Vec::new();
        self.value(inputs).snd().apply(Val::given::<V>(v)).leaves(&W::layout(), &mut leaves);
        leaves.into_iter().map(|leaf| leaf.map(Tower::into_base)).collect()
    }
}

/// A derivative of a primitive.
fn derivative(p: &Rc<dyn AnyPrimitive>, push: bool, x: &Value, v: &Value) -> Value {
    let [dom, cod] = p.layouts();
    let (from, to) = if push { (&dom, &cod) } else { (&cod, &dom) };
    let (mut at, mut leaves) = (Vec::new(), Vec::new());
    x.leaves(&dom, &mut at);
    let at = p.completed(&at);
    v.leaves(from, &mut leaves);
    let results = if push { p.push_values(&at, &leaves) } else { p.pull_values(&at, &leaves) };
    Val::of_leaves(to, &mut results.into_iter()).without_units()
}

fn run(e: &E, environment: &Environment) -> Value {
    let _leave = called();
    environment.steps.set(environment.steps.get() + 1);
    match &**e {
        Exp::Var(x) => environment.values.get(x).cloned().expect("a closed term"),
        Exp::Let(x, a, b) => {
            let a = run(a, environment);
            run(b, &with(environment, *x, a))
        }
        Exp::Lam(x, body) => {
            let (x, body, environment) = (*x, body.clone(), environment.clone());
            Val::fun(move |a| run(&body, &with(&environment, x, a)))
        }
        Exp::Case(s, (x, a), (y, b)) => {
            run(s, environment).split(|v| run(a, &with(environment, *x, v)), |v| run(b, &with(environment, *y, v)))
        }
        Exp::With(names, command) => {
            let mut inner = environment.clone();
            let cells: Vec<Cell<Tower<Array>>> = names.iter().map(|_| Cell::new()).collect();
            inner.cells.extend(names.iter().copied().zip(cells.iter().cloned()));
            run(command, &inner);
            cells.iter().map(Cell::take).reduce(Val::pair).unwrap_or(Val::Zero)
        }
        Exp::Add(x, v) => {
            let v = run(v, environment);
            environment.cells.get(x).expect("an accumulator in scope").add(v);
            Val::Nil
        }
        Exp::Op(o, parts) => {
            let values: Vec<Value> = parts.iter().map(|part| run(part, environment)).collect();
            operation(o, &values)
        }
    }
}

fn with(environment: &Environment, x: Name, a: Value) -> Environment {
    let mut inner = environment.clone();
    inner.values.insert(x, a);
    inner
}

/// The function of two arguments.
fn two(f: &Value) -> Each<Tower<Array>> {
    let f = f.clone();
    Rc::new(move |a, b| f.apply(a).apply(b.dense()))
}

fn operation(o: &Op, v: &[Value]) -> Value {
    match o {
        Op::App => v[0].apply(v[1].clone()),
        Op::Nil => Val::Nil,
        Op::Pair => Val::pair(v[0].clone(), v[1].clone()),
        Op::Fst => v[0].fst(),
        Op::Snd => v[0].snd(),
        Op::Inl => Val::Left(Shared::new(v[0].clone())),
        Op::Inr => Val::Right(Shared::new(v[0].clone())),
        Op::Test => Val::choice(v[0].leaf()),
        // An operation on tangents, at a symbolic zero.
        Op::Prim(_) if v[0].is_zero() => Val::Zero,
        Op::Prim(p) => primitive(p, &v[0]),
        Op::Push(_) | Op::Pull(_) if v[1].is_zero() => Val::Zero,
        Op::Push(p) => derivative(p, true, &v[0], &v[1]),
        Op::Pull(p) => derivative(p, false, &v[0], &v[1]),
        Op::Differences(p) => unreachable!("text of {} is not run: no verb of terms takes parities", p.name()),
        Op::Spread(from, to) => Lin::spread(from.clone(), to.clone()).run(Mode::Tuples, v[0].clone()),
        Op::Zero => Val::Zero,
        Op::Plus => v[0].clone().plus(v[1].clone()),
        Op::Single => Val::Bag(Bag::one(v[0].clone(), v[1].clone())),
        Op::Sum => v[1].bag().map_or(Val::Zero, |bag| bag.total(&two(&v[0]))),
        Op::Zip if v[1].is_zero() => Val::Zero,
        Op::Zip => Val::Bag(Bag::zip(v[0].clone(), v[1].clone())),
        Op::ZipWith if v[2].is_zero() => Val::Zero,
        Op::ZipWith => {
            mapped(&v[0], &|both| two(&v[0])(both.fst(), both.snd()), &Val::pair(v[1].clone(), v[2].clone()))
        }
        Op::Map if v[0].is_zero() => Val::Zero,
        Op::Map => mapped(&v[0], &|a| v[0].apply(a), &v[1]),
        Op::Iterate => iterated(v[1].clone(), &|s| v[0].apply(s), &|_| None),
        Op::Fix => fixed(v[0].clone()),
        Op::Fold => scanned(&v[0], &|a| v[0].apply(a), v[1].clone(), &v[2]).1,
        Op::Accumulate(reverse) => accumulated(*reverse, &v[0], &|at| v[0].apply(at), v[1].clone(), &v[2]),
        Op::Vjp(kinds) => differential::vjp(kinds.clone()).at(Val::pair(v[0].clone(), v[1].clone())),
        Op::Jvp => differential::jvp().at(Val::pair(v[0].clone(), Val::pair(v[1].clone(), v[2].clone()))),
        Op::Linl if v[0].is_zero() => Val::Zero,
        Op::Linr if v[0].is_zero() => Val::Zero,
        Op::Linl => Val::Left(Shared::new(v[0].clone())),
        Op::Linr => Val::Right(Shared::new(v[0].clone())),
        Op::CastLeft => Lin::cast_left().run(Mode::Tuples, v[0].clone()),
        Op::Seq => v[1].clone(),
        Op::CastRight => Lin::cast_right().run(Mode::Tuples, v[0].clone()),
    }
}

/// Runs a primitive; in a derivative that is written out, some of the scalars may be symbolic zeros.
fn primitive(p: &Rc<dyn AnyPrimitive>, x: &Value) -> Value {
    let ([from, to], mut leaves) = (p.layouts(), Vec::new());
    x.leaves(&from, &mut leaves);
    let filled: Vec<Tower<Array>> =
        leaves.into_iter().map(|leaf| leaf.unwrap_or_else(|| Tower::constant(Array::scalar(0.0)))).collect();
    Val::of_leaves(&to, &mut p.values(&filled).into_iter().map(Some))
}

fn fixed(f: Value) -> Value {
    recursive(move |own, x| f.apply(own).apply(x))
}
