//! The derivatives of functions of a program: the terms of [`Differential`](crate::Differential).
//!
//! A function value runs at values of any level ([`Tower`]), so its derivative at a point is a run at a new level. In
//! reverse mode the terms have derivatives by one identity: the cotangents of what `vjp` or `jvp` takes are the derivative
//! of the pullback along the direction that the term itself has, or gets:
//!
//! ```text
//! vjp:  x_bar = J(x)^T c;  for its cotangent w:  x + e w -> f -> y + e y',  and pulling c back  ->  x_bar + e x'
//!       the cotangent of c is y' = J(x) w, that of x is x', that of f is the derivative of the cotangent of f
//! jvp:  y' = J(x) x_dot;   for its cotangents v0 of y, v1 of y':  pulling v1 + e v0 back at x + e x_dot
//! ```
//!
//! Laws: a derivative by levels is extracted at the level's end, so values that are made later, such as functions, run
//! again at a level of their own ([`Curve`]): no level is that of a value that outlives it.

use std::panic::Location;
use std::rc::Rc;

use polygrad::base::BaseTensor;
use polygrad::seam::{mistake, written, written_at};
use polygrad::shape::Show;

use super::curry::FunctionTangent;
use super::linear::with;
use super::stacks::element;
use super::value::{Bag, Closure, FunctionArray, Lin, Mode, Val};
use super::{ForwardLevel, ReverseLevel, Tower};
use crate::primitive::of_floats;
use crate::shared::Shared;
use crate::{Ground, Layout};

type V<T> = Val<Tower<T>>;

/// A value that depends on a parameter, as a program that runs at values with derivatives in the parameter.
type Curve<T> = Rc<dyn Fn(&ForwardLevel) -> V<T>>;

/// The types of a function of ground types.
#[derive(Clone)]
pub(super) struct Kinds {
    from: Layout,
    to: Layout,
    /// The cotangents of arguments.
    from_bar: Layout,
    /// The cotangents of results.
    to_bar: Layout,
}

impl Kinds {
    pub(super) fn of<A: Ground, B: Ground>() -> Rc<Self> {
        let (from_bar, to_bar) = (A::Tangent::layout(), B::Tangent::layout());
        Rc::new(Kinds { from: A::layout(), to: B::layout(), from_bar, to_bar })
    }
}

/// The message for a (co)tangent that does not fit its value; `None` if it does.
pub(crate) fn misfit<T: BaseTensor>(verb: &str, what: &str, x: &T, t: &T) -> Option<String> {
    if x.shape() == t.shape() && x.dtype() == t.dtype() {
        return None;
    }
    Some(format!(
        "{verb}: a {what} must have the shape and element type of its value, but the value is {} {} and the {what} {} {}; map the \
         value to its {what}",
        x.dtype(),
        Show(x.shape()),
        t.dtype(),
        Show(t.shape())
    ))
}

/// A term of a program, where it was written: the name for messages.
#[derive(Clone, Copy)]
struct Written {
    verb: &'static str,
    what: &'static str,
    at: Option<&'static Location<'static>>,
}

impl Written {
    fn vjp() -> Self {
        Written { verb: "vjp", what: "cotangent", at: written() }
    }

    fn jvp() -> Self {
        Written { verb: "jvp", what: "tangent", at: written() }
    }

    /// # Panics
    /// When the shape of an array of the (co)tangent is not that of its value.
    fn check<T: BaseTensor>(self, x: &V<T>, t: &V<T>) {
        match (x, t) {
            (Val::Leaf(x), Val::Leaf(t)) => {
                let Some(message) = misfit(self.verb, self.what, x, t) else { return };
                match self.at {
                    Some(at) => written_at(at, || mistake(&message)),
                    None => mistake(&message),
                }
            }
            (Val::Pair(_), Val::Pair(_)) => {
                self.check(&x.fst(), &t.fst());
                self.check(&x.snd(), &t.snd());
            }
            _ => {}
        }
    }
}

/// `x + e x_dot`, of a ground type.
fn moved<T: BaseTensor>(along: &ForwardLevel, x: &V<T>, x_dot: &V<T>) -> V<T> {
    match (x, x_dot) {
        (Val::Leaf(x), Val::Leaf(t)) => Val::Leaf(along.input(x, t)),
        (Val::Zero, Val::Leaf(t)) => Val::Leaf(along.input(&Tower::zeros(t.shape(), t.dtype()), t)),
        (Val::Pair(_) | Val::Zero, Val::Pair(_)) => {
            Val::pair(moved(along, &x.fst(), &x_dot.fst()), moved(along, &x.snd(), &x_dot.snd()))
        }
        _ => x.clone(),
    }
}

/// The value of a curve at the parameter, and its derivative.
fn derivative<T: BaseTensor>(curve: &Curve<T>) -> (V<T>, V<T>) {
    let along = ForwardLevel::start();
    let value = curve(&along);
    parts(&along, &value, curve)
}

/// The value and the derivative of a value of a curve. Parts that hold programs take them when they run, at another
/// level.
fn parts<T: BaseTensor>(along: &ForwardLevel, value: &V<T>, curve: &Curve<T>) -> (V<T>, V<T>) {
    let part = |value: &V<T>, take: fn(V<T>) -> V<T>| {
        let curve = curve.clone();
        let of_part: Curve<T> = Rc::new(move |along| take(curve(along)));
        parts(along, value, &of_part)
    };
    let case = |v: V<T>, of: fn(Shared<V<T>>) -> V<T>| if v.is_zero() { v } else { of(Shared::new(v)) };
    match value {
        Val::Zero => (Val::Zero, Val::Zero),
        Val::Nil => (Val::Nil, Val::Zero),
        Val::Scattered(_) => parts(along, &value.clone().dense(), curve),
        Val::Leaf(t) => {
            let (value, tangent) = along.parts(t);
            (Val::Leaf(value), tangent.map_or(Val::Zero, Val::Leaf))
        }
        Val::Pair(p) => {
            let (a, a_dot) = part(&p.0, |v| v.fst());
            let (b, b_dot) = part(&p.1, |v| v.snd());
            (Val::pair(a, b), Val::pair(a_dot, b_dot))
        }
        Val::Left(v) => {
            let (v, v_dot) = part(v, |v| Lin::cast_left().run(Mode::Tuples, v));
            (Val::Left(Shared::new(v)), case(v_dot, Val::Left))
        }
        Val::Right(v) => {
            let (v, v_dot) = part(v, |v| Lin::cast_right().run(Mode::Tuples, v));
            (Val::Right(Shared::new(v)), case(v_dot, Val::Right))
        }
        Val::Either(e) => {
            let (left, left_dot) = part(&e.1, |v| either(&v).1.clone());
            let (right, right_dot) = part(&e.2, |v| either(&v).2.clone());
            let both = |left, right| Val::Either(Shared::new((e.0.clone(), left, right)));
            (both(left, right), both(left_dot, right_dot))
        }
        Val::Fun(_) => {
            let run = |first: bool| {
                let curve = curve.clone();
                Val::fun(move |x| chosen(first, applied(&curve, move |f| f.apply(x.clone()))))
            };
            (run(true), run(false))
        }
        Val::Lin(_) => {
            let run = |first: bool| {
                let curve = curve.clone();
                Val::Lin(Lin::operation(move |mode, x| {
                    chosen(first, applied(&curve, move |f| f.lin().run(mode, x.clone())))
                }))
            };
            (run(true), run(false))
        }
        Val::Bag(_) => {
            let sum = |first: bool| {
                let curve = curve.clone();
                Val::Bag(Bag::of_total(Rc::new(move |each| {
                    let each = each.clone();
                    let total = move |v: V<T>| v.bag().map_or(Val::Zero, |bag| bag.total(&each));
                    chosen(first, applied(&curve, total))
                })))
            };
            (sum(true), sum(false))
        }
        Val::Many(elements) => {
            let each = (0..elements.len()).map(|k| {
                let curve = curve.clone();
                let of_element: Curve<T> = Rc::new(move |along| element(&curve(along), k));
                parts(along, &element(value, k), &of_element)
            });
            let (values, derivatives) = each.unzip();
            (FunctionArray::each(values), FunctionArray::each(derivatives))
        }
        Val::Mono(m) => (Val::Mono(m.clone()), Val::Zero),
    }
}

fn chosen<X>(first: bool, (value, derivative): (X, X)) -> X {
    if first { value } else { derivative }
}

/// The value and the derivative of a function of a curve.
fn applied<T: BaseTensor>(curve: &Curve<T>, f: impl Fn(V<T>) -> V<T> + 'static) -> (V<T>, V<T>) {
    let curve = curve.clone();
    derivative(&(Rc::new(move |along: &ForwardLevel| f(curve(along))) as Curve<T>))
}

/// The mask and the cases of a sum that is not known.
fn either<T: BaseTensor>(v: &V<T>) -> Shared<(Tower<T>, V<T>, V<T>)> {
    let Val::Either(e) = v else { unreachable!("a curve has one case at all levels") };
    e.clone()
}

/// The value of a function at a point, and its pullback.
fn pulled<T: BaseTensor>(kinds: &Rc<Kinds>, f: &dyn Fn(V<T>) -> V<T>, x: &V<T>) -> (V<T>, Rc<dyn Fn(V<T>) -> V<T>>) {
    let mut back = ReverseLevel::start();
    let point = x.primals(&kinds.from);
    let inputs: Vec<Option<Tower<T>>> = point.iter().map(|leaf| Some(back.input(leaf))).collect();
    let y = f(Val::of_leaves(&kinds.from, &mut inputs.into_iter()));
    let mut leaves = Vec::new();
    y.leaves(&kinds.to, &mut leaves);
    let present: Vec<bool> = leaves.iter().map(Option::is_some).collect();
    let results: Vec<Tower<T>> = leaves.into_iter().flatten().collect();
    let (values, pullback) = back.ended(&results);
    let mut values = values.into_iter();
    let mut leaf = |present: &bool| if *present { values.next() } else { None };
    let value = Val::of_leaves(&kinds.to, &mut present.iter().map(&mut leaf));
    let kinds = kinds.clone();
    let pull = move |y_bar: V<T>| {
        if y_bar.is_zero() {
            return Val::Zero;
        }
        let mut floats = Vec::new();
        y_bar.leaves(&kinds.to_bar, &mut floats);
        let given = of_floats(&kinds.to, floats).into_iter().zip(&present);
        let found = pullback.pull(given.filter_map(|(y_bar, present)| present.then_some(y_bar)).collect());
        Val::of_leaves(&kinds.from_bar, &mut found.into_iter().filter(|v| v.dtype().is_float()).map(Some))
    };
    (value, Rc::new(pull))
}

/// The term `vjp` of evaluation.
pub(super) fn vjp<T: BaseTensor>(kinds: Rc<Kinds>) -> Closure<Tower<T>> {
    Closure::new(move |x| {
        let (f, point) = (x.fst(), x.snd());
        let term = Written::vjp();
        let (value, pull) = pulled(&kinds, &|x| f.apply(x), &point);
        let like = value.clone();
        let function = Val::fun(move |y_bar| {
            term.check(&like, &y_bar);
            pull(y_bar).conform(&point)
        });
        Val::Pair(Shared::new((value, function)))
    })
}

/// The term `jvp` of evaluation.
pub(super) fn jvp<T: BaseTensor>() -> Closure<Tower<T>> {
    Closure::new(|x| {
        let (f, at) = (x.fst(), x.snd());
        Written::jvp().check(&at.fst(), &at.snd());
        let (y, y_dot) =
            derivative(&(Rc::new(move |along: &ForwardLevel| f.apply(moved(along, &at.fst(), &at.snd()))) as _));
        let y_dot = y_dot.conform(&y);
        Val::pair(y, y_dot)
    })
}

/// The term `vjp` of reverse mode, with tangents of functions as `K` says.
pub(super) fn vjp_reverse<T: BaseTensor, K: FunctionTangent>() -> Closure<Tower<T>> {
    Closure::new(|x| {
        let (f, point) = (x.fst(), x.snd());
        let ran = f.apply(point.clone());
        let call = K::call(point, ran.snd().lin());
        let (pull, term, like) = (call.clone(), Written::vjp(), ran.fst());
        // In the context of the function and the point: from a cotangent to that of the point, and the pullback of this
        // linear function.
        let pullback = Closure::new(move |both: V<T>| {
            let (f, point, y_bar) = (both.fst().fst(), both.fst().snd(), both.snd());
            term.check(&like, &y_bar);
            let x_bar = pull.run(Mode::Cells, y_bar.clone()).snd().conform(&point);
            with(
                x_bar,
                Lin::operation(move |mode, w| {
                    let (f, point, y_bar) = (f.clone(), point.clone(), y_bar.clone());
                    let curve = move |along: &ForwardLevel| {
                        let at = moved(along, &point, &w);
                        let ran = f.apply(at.clone());
                        Val::pair(ran.fst(), K::call(at, ran.snd().lin()).run(mode, y_bar.clone()))
                    };
                    let along_w = derivative(&(Rc::new(curve) as _)).1;
                    Val::pair(along_w.snd(), along_w.fst())
                }),
            )
        });
        let function = K::curry(pullback, x);
        let value = Val::Pair(Shared::new((ran.fst(), function.fst())));
        with(value, Lin::copair(call, function.snd().lin()))
    })
}

/// The term `jvp` of reverse mode, with tangents of functions as `K` says.
pub(super) fn jvp_reverse<T: BaseTensor, K: FunctionTangent>() -> Closure<Tower<T>> {
    Closure::new(|x| {
        let (f, at) = (x.fst(), x.snd());
        Written::jvp().check(&at.fst(), &at.snd());
        let (of_value, of_pullback) = (f.clone(), at.clone());
        let value = move |along: &ForwardLevel| of_value.apply(moved(along, &at.fst(), &at.snd())).fst();
        let (y, y_dot) = derivative(&(Rc::new(value) as _));
        let y_dot = y_dot.conform(&y);
        with(
            Val::pair(y, y_dot),
            Lin::operation(move |mode, v| {
                let (f, at) = (f.clone(), of_pullback.clone());
                let curve = move |along: &ForwardLevel| {
                    let point = moved(along, &at.fst(), &at.snd());
                    let pullback = f.apply(point.clone()).snd().lin();
                    K::call(point, pullback).run(mode, moved(along, &v.snd(), &v.fst()))
                };
                let (value, along_x) = derivative(&(Rc::new(curve) as _));
                Val::pair(along_x.fst(), Val::pair(along_x.snd(), value.snd()))
            }),
        )
    })
}

/// The term `vjp` of forward CHAD. The tangent of a function is a function of its argument.
pub(super) fn vjp_forward<T: BaseTensor>(kinds: Rc<Kinds>) -> Closure<Tower<T>> {
    Closure::new(move |x| {
        let (f, point) = (x.fst(), x.snd());
        let own = f.clone();
        let (value, pull) = pulled(&kinds, &|x| own.apply(x).fst(), &point);
        let (like, of_value, term) = (point.clone(), value.clone(), Written::vjp());
        let function = Val::fun(move |y_bar| {
            term.check(&of_value, &y_bar);
            let (pull, along) = (pull.clone(), pull(y_bar));
            with(along.conform(&like), Lin::operation(move |_, y_bar_dot| pull(y_bar_dot)))
        });
        let kinds = kinds.clone();
        with(
            Val::Pair(Shared::new((value, function))),
            Lin::operation(move |mode, v| {
                let (f_dot, x_dot) = (v.fst(), v.snd());
                let value_dot = f.apply(point.clone()).snd().lin().run(mode, x_dot.clone());
                let value_dot = value_dot.plus(f_dot.apply(point.clone()));
                let (f, point, kinds) = (f.clone(), point.clone(), kinds.clone());
                let function_dot = Val::fun(move |y_bar| {
                    let (f, at, x_dot, y) = (f.clone(), point.clone(), x_dot.clone(), y_bar.clone());
                    let own = kinds.clone();
                    let curve = move |along: &ForwardLevel| {
                        pulled(&own, &|x| f.apply(x).fst(), &moved(along, &at, &x_dot)).1(y.clone())
                    };
                    let by_point = derivative(&(Rc::new(curve) as _)).1;
                    if f_dot.is_zero() {
                        return by_point;
                    }
                    by_point.plus(pulled(&kinds, &|x| f_dot.apply(x), &point).1(y_bar))
                });
                Val::Pair(Shared::new((value_dot, function_dot)))
            }),
        )
    })
}

/// The term `jvp` of forward CHAD.
pub(super) fn jvp_forward<T: BaseTensor>() -> Closure<Tower<T>> {
    Closure::new(|x| {
        let (f, point, x_dot) = (x.fst(), x.snd().fst(), x.snd().snd());
        Written::jvp().check(&point, &x_dot);
        let ran = f.apply(point.clone());
        let y_dot = ran.snd().lin().run(Mode::Tuples, x_dot.clone()).conform(&ran.fst());
        with(
            Val::pair(ran.fst(), y_dot),
            Lin::operation(move |mode, v| {
                let (f_dot, x_dot2, x_dot_dot) = (v.fst(), v.snd().fst(), v.snd().snd());
                let (f, at, direction) = (f.clone(), point.clone(), x_dot.clone());
                let curve = move |along: &ForwardLevel| {
                    let ran = f.apply(moved(along, &at, &x_dot2));
                    let y_dot = ran.snd().lin().run(mode, moved(along, &direction, &x_dot_dot));
                    Val::pair(ran.fst(), y_dot)
                };
                let by_point = derivative(&(Rc::new(curve) as _)).1;
                if f_dot.is_zero() {
                    return by_point;
                }
                let (at, direction) = (point.clone(), x_dot.clone());
                let curve = move |along: &ForwardLevel| f_dot.apply(moved(along, &at, &direction));
                let (y_dot, y_dot_dot) = derivative(&(Rc::new(curve) as _));
                by_point.plus(Val::pair(y_dot, y_dot_dot))
            }),
        )
    })
}
