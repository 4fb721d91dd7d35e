//! A function with a derivative rule of its own, for random programs.
//!
//! `(x, y) -> (y sin x, cos x)`, with the true derivative as its rule: for tangents, or also for cotangents. So
//! programs with it have the derivatives that finite differences see, and whoever forgets a rule, or takes the wrong
//! one, is found. Its value may be computed by code of the host.

use std::sync::{Arc, LazyLock};

use polygrad::ops::{Binary, Call, External, HostFunction, Unary};
use polygrad::program::{Custom, Program, Term};
use polygrad::shape::Shape;
use polygrad::{Array, BaseTensor};

/// Which rules it has; with one for cotangents alone there would be no forward mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    Jvp,
    Both,
    /// As [`Rules::Both`], and the value is computed by the host.
    Host,
}

/// What the host computes.
fn by_host(args: &[Array]) -> Vec<Array> {
    vec![args[1].binary(Binary::Mul, &args[0].unary(Unary::Sin)), args[0].unary(Unary::Cos)]
}

/// The code of the host as an operation on values of this kind.
fn external(like: &impl BaseTensor) -> Call {
    static CODE: LazyLock<Arc<HostFunction>> = LazyLock::new(|| Arc::new(by_host));
    let kind = || vec![(Shape::from_slice(like.shape()), like.dtype()); 2];
    let name = format!("turned {} {:?}", like.dtype(), like.shape());
    Call::External(Arc::new(External::new(&name, kind(), kind(), CODE.clone())))
}

fn mul(a: &Term, b: &Term) -> Term {
    a.binary(Binary::Mul, b)
}

/// The program of these results of inputs like these.
fn program(like: &[&dyn HasKind], results: impl Fn(&[Term]) -> Vec<Term>) -> Program {
    let inputs: Vec<Term> = like.iter().map(|x| x.variable()).collect();
    Term::program(&inputs, &results(&inputs), &[]).expect("closed")
}

/// What a variable can be like.
trait HasKind {
    fn variable(&self) -> Term;
}

impl<T: BaseTensor> HasKind for T {
    fn variable(&self) -> Term {
        Term::variable(self.shape(), self.dtype())
    }
}

/// The function applied to `x` and `y`, of one shape and one type of floats.
pub(crate) fn apply<T: BaseTensor>(rules: Rules, x: &T, y: &T) -> Vec<T> {
    let host = |a: &[Term]| Term::call(&external(x), a);
    let primal = program(&[x, y], |a| {
        if rules == Rules::Host { host(a) } else { vec![mul(&a[1], &a[0].unary(Unary::Sin)), a[0].unary(Unary::Cos)] }
    });
    // Inputs: x, y, then y sin x, cos x, then tangents of the former or cotangents of the latter.
    let kinds: [&dyn HasKind; 6] = [x, y, x, y, x, y];
    let jvp = program(&kinds, |a| {
        let sine = a[0].unary(Unary::Sin);
        let first = mul(&mul(&a[1], &a[3]), &a[4]).binary(Binary::Add, &mul(&sine, &a[5]));
        vec![first, mul(&sine.unary(Unary::Neg), &a[4])]
    });
    let vjp = program(&kinds, |a| {
        let sine = a[0].unary(Unary::Sin);
        let first = mul(&mul(&a[1], &a[3]), &a[4]).binary(Binary::Sub, &mul(&sine, &a[5]));
        vec![first, mul(&sine, &a[4])]
    });
    let vjp = (rules != Rules::Jvp).then_some(vjp);
    let custom = Custom::new("turned", primal, Some(jvp), vjp).expect("the rules fit");
    T::custom(&Arc::new(custom), &[x.clone(), y.clone()])
}
