//! `check` and the user's own panics: in the function of any verb, a mistake of the language is reported, and every
//! other panic is passed on.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use polygrad::inspect::{count, transcript};
use polygrad::program::{Term, interpret};
use polygrad::{
    BaseTensor, Concrete, Function, Mode, Shapes, Tensor, build1, check, cond, custom_jvp, custom_vjp,
    derivative_tensor, direct, fold, grad, grad_with, hessian, hvp, iterate, jacobian, jacobian_by, jacobian_matrix,
    jvp, map_accum, nth_derivative, symbolic, taylor, tensor, value_and_grad, value_and_jacobian,
    value_and_jacobian_matrix, vjp,
};

use crate::panics::{caught, install};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// A program that stops, in one way or another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    /// By a panic in words that look nearly like those of the language.
    Words,
    /// By a panic with a value of its own.
    Value,
    /// By a mistake: the shapes do not fit.
    Mistake,
}

impl Stop {
    fn vector<T: BaseTensor>(self, x: &Vector<T>) -> Vector<T> {
        match self {
            Stop::Words => panic!("train: the loss must fall, but it rises"),
            Stop::Value => panic_any(42u8),
            Stop::Mistake => x + Tensor::<T, 1>::ones([7]),
        }
    }

    fn number<T: BaseTensor>(self, x: &Vector<T>) -> Number<T> {
        self.vector(x).sum()
    }
}

/// A verb, around a program that stops.
type Verb = fn(Stop, &Vector<Shapes>);

/// Every verb that runs a function of the user.
const VERBS: &[(&str, Verb)] = &[
    ("nothing", |stop, x| drop(stop.vector(x))),
    ("grad", |stop, x| drop(grad(|x: &Vector<_>| stop.number(x), x))),
    ("grad_with", |stop, x| drop(grad_with(|x: &Vector<_>, _: &Vector<_>| stop.number(x), x, x))),
    ("value_and_grad", |stop, x| drop(value_and_grad(|x: &Vector<_>| stop.number(x), x))),
    ("vjp", |stop, x| drop(vjp(|x: &Vector<_>| stop.vector(x), x))),
    ("jvp", |stop, x| drop(jvp(|x: &Vector<_>| stop.vector(x), x, x))),
    ("hvp", |stop, x| drop(hvp(|x: &Vector<_>| stop.number(x), x, x))),
    ("hessian", |stop, x| drop(hessian::<_, 1, 2, f64>(|x: &Vector<_>| stop.number(x), x))),
    ("jacobian", |stop, x| drop(jacobian::<_, 1, 1, 2, f64>(|x: &Vector<_>| stop.vector(x), x))),
    ("jacobian_by", |stop, x| {
        drop(jacobian_by::<_, 1, 1, 2, f64>(Mode::Forward, |x: &Vector<_>| stop.vector(x), x));
    }),
    ("value_and_jacobian", |stop, x| drop(value_and_jacobian::<_, 1, 1, 2, f64>(|x: &Vector<_>| stop.vector(x), x))),
    ("jacobian_matrix", |stop, x| drop(jacobian_matrix(|x: &Vector<_>| stop.vector(x), x))),
    ("value_and_jacobian_matrix", |stop, x| drop(value_and_jacobian_matrix(|x: &Vector<_>| stop.vector(x), x))),
    ("nth_derivative", |stop, x| {
        drop(nth_derivative(|x: &Number<_>| stop.number(&x.replicate(2)), 3, &x.at([0])));
    }),
    ("direct::grad", |stop, x| drop(direct::grad(|x: &Vector<_>| stop.number(x), x))),
    ("direct::vjp", |stop, x| drop(direct::vjp(|x: &Vector<_>| stop.vector(x), x))),
    ("direct::jvp", |stop, x| drop(direct::jvp(|x: &Vector<_>| stop.vector(x), x, x))),
    ("taylor", |stop, x| drop(taylor(|x: &Vector<_>| stop.vector(x), x, x, 2))),
    ("direct::taylor", |stop, x| drop(direct::taylor(|x: &Vector<_>| stop.vector(x), x, x, 2))),
    ("derivative_tensor", |stop, x| drop(derivative_tensor::<2, _, _>(|x: &Vector<_>| stop.number(x), x))),
    ("direct::linearize", |stop, x| drop(direct::linearize(|x: &Vector<_>| stop.vector(x), x))),
    ("grad of grad", |stop, x| {
        drop(grad(|x: &Vector<_>| grad(|x: &Vector<_>| stop.number(x), x).sum(), x));
    }),
    ("custom_jvp", |stop, x| {
        drop(custom_jvp("own", |x: &Vector<_>| stop.vector(x), |_, _, x_dot| x_dot.clone(), x));
    }),
    ("the rule of custom_jvp", |stop, x| {
        drop(custom_jvp("own", |x: &Vector<_>| x.sin(), |_, _, x_dot| stop.vector(x_dot), x));
    }),
    ("custom_vjp", |stop, x| {
        drop(custom_vjp("own", |x: &Vector<_>| stop.vector(x), |_, _, y_bar| y_bar.clone(), x));
    }),
    ("the rule of custom_vjp", |stop, x| {
        drop(custom_vjp("own", |x: &Vector<_>| x.sin(), |_, _, y_bar| stop.vector(y_bar), x));
    }),
    ("count", |stop, x| drop(count(|x: &Vector<_>| stop.vector(x), x))),
    ("transcript", |stop, x| drop(transcript(|x: &Vector<_>| stop.vector(x), x))),
    ("check", |stop, x| drop(check(|x: &Vector<_>| stop.vector(x), x).map_err(|e| panic!("{}", e.message)))),
    ("fold", |stop, x| drop(fold(x.clone(), x, |c: Vector<_>, _: &Number<_>| stop.vector(&c)))),
    ("map_accum", |stop, x| {
        let step = |c: Vector<_>, e: &Number<_>| (stop.vector(&c), e.clone());
        let _: (Vector<_>, Vector<_>) = map_accum(x.clone(), x, step);
    }),
    ("iterate", |stop, x| drop(iterate(3, x.clone(), |_, c: Vector<_>| stop.vector(&c)))),
    ("build", |stop, x| {
        let _: Vector<_> = build1(3, |_| stop.number(x));
    }),
    ("cond", |stop, x| drop(cond(x.at([0]).gt(0.0), x.clone(), stop.vector(x)))),
    ("Function::stage", |stop, _| {
        drop(Function::stage(|x: &Vector<Term>| stop.vector(x), &tensor([1.0, 2.0])));
    }),
    ("Function::value_and_grad", |stop, _| {
        drop(Function::value_and_grad(|x: &Vector<Term>| stop.number(x), &tensor([1.0, 2.0])));
    }),
    ("grad at other values", |stop, _| drop(grad(|x: &Vector<_>| stop.number(x), &tensor([1.0, 2.0])))),
    ("a program of programs", |stop, x| {
        let f = Function::stage(|x: &Vector<Term>| x.sin().sum(), &tensor([1.0, 2.0]));
        let slope = interpret(&symbolic::grad(f.program()), vec![x.raw().clone()]).remove(0);
        drop(stop.vector(&Tensor::from_raw(slope)));
    }),
];

#[test]
fn a_check_passes_other_panics_on() {
    let x = Vector::<Concrete>::ones([2]);
    for (name, verb) in VERBS {
        let run = |stop: Stop| check(|x: &Vector<Shapes>| verb(stop, x), &x);
        assert_eq!(caught(|| run(Stop::Words)).message, "train: the loss must fall, but it rises", "{name}");
        let payload = std::cell::RefCell::new(None);
        caught(|| {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(Stop::Value)));
            *payload.borrow_mut() = outcome.err().and_then(|value| value.downcast::<u8>().ok());
            panic!("as expected");
        });
        assert_eq!(payload.into_inner().as_deref(), Some(&42), "{name}");
    }
}

#[test]
fn a_check_reports_mistakes_in_every_verb() {
    install();
    let x = Vector::<Concrete>::ones([2]);
    for (name, verb) in VERBS {
        let error = check(|x: &Vector<Shapes>| verb(Stop::Mistake, x), &x).expect_err(name);
        assert!(error.message.starts_with("add: ") && error.message.contains("[7]"), "{name}: {error}");
        let place = error.place.expect("a place");
        assert_eq!((place.file.as_str(), name.is_empty()), (file!(), false), "{name}");
    }
}
