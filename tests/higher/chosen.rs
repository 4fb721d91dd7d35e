//! Programs of wires by a meaning that is chosen: the functor of the "dP guide", section III.
//!
//! Law: with numbers and derivatives as the meaning, the optic is reverse mode, as `ReverseOptic` has it; compositions
//! and pairs are kept.

use polygrad::ops::{Binary, Compare, Unary};
use polygrad::{Array, BaseTensor, tensor};
use polygrad_higher::interpreters::optic::Staged;
use polygrad_higher::interpreters::optic::chosen::{Along, ByMeaning, Meaning};
use polygrad_higher::interpreters::optic::lens::{HiddenOptic, Optic};
use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
use polygrad_higher::{Monoidal, Prod, Real};

use super::agree::close;

/// Numbers forwards, derivatives back.
struct Slopes;

fn applied(op: Unary, x: f64) -> f64 {
    Array::scalar(x).unary(op).item().expect("a number")
}

impl Meaning for Slopes {
    type There = f64;
    type Back = f64;

    fn constant(x: f64) -> f64 {
        x
    }

    fn unary(op: Unary) -> HiddenOptic<f64, f64, f64, f64> {
        assert!(op == Unary::Sin || op == Unary::Exp);
        let slope = move |x: f64| if op == Unary::Sin { x.cos() } else { x.exp() };
        Optic::new(move |x| (x, applied(op, x)), move |x, y| y * slope(x)).hide()
    }

    fn binary(op: Binary) -> HiddenOptic<(f64, f64), (f64, f64), f64, f64> {
        assert_eq!(op, Binary::Mul);
        Optic::new(|(x, y)| ((x, y), x * y), |(x, y), z| (z * y, z * x)).hide()
    }

    fn compare(_: Compare, x: &f64, y: &f64) -> bool {
        x < y
    }

    fn merge(a: f64, b: f64) -> f64 {
        a + b
    }

    fn nothing() -> f64 {
        0.0
    }
}

/// `sin(x) x exp(y)`, where one copy of `y` is deleted.
fn product<C: Monoidal>() -> C::Hom<Prod<Real, Real>, Real> {
    let of_x = C::then(C::then(C::copy(), C::beside(C::unary(Unary::Sin), C::id())), C::binary(Binary::Mul));
    let of_y = C::then(C::then(C::copy(), C::beside(C::delete(), C::id())), C::then(C::elim(), C::unary(Unary::Exp)));
    C::then(C::then(C::beside(of_x, of_y), C::swap()), C::binary(Binary::Mul))
}

/// `x sin(x)` where `x < 1`, else `exp(x)`.
fn chosen<C: Monoidal>() -> C::Hom<Real, Real> {
    let of_mask = C::then(C::then(C::intro(), C::swap()), C::beside(C::id(), C::constant(1.0)));
    let mask = C::then(of_mask, C::compare(Compare::Lt));
    let left = C::then(C::then(C::copy(), C::beside(C::unary(Unary::Sin), C::id())), C::binary(Binary::Mul));
    let branch = C::then(C::then(C::copy(), C::beside(C::id(), mask)), C::branch());
    C::then(C::then(branch, C::either(left, C::unary(Unary::Exp))), C::join())
}

fn numbers(along: &Along<f64>, into: &mut Vec<f64>) {
    match along {
        Along::Number(x) => into.push(*x),
        Along::Pair(both) => {
            numbers(&both.0, into);
            numbers(&both.1, into);
        }
        Along::Nothing => into.push(0.0),
        Along::Mask(_) | Along::Left(_) | Along::Right(_) => panic!("no numbers"),
    }
}

fn all(along: &Along<f64>) -> Vec<f64> {
    let mut all = Vec::new();
    numbers(along, &mut all);
    all
}

#[test]
fn numbers_and_derivatives_are_reverse_mode() {
    type Reverse = ReverseOptic<Wires<Run<Array>>>;
    let (x, y) = (0.7, -0.4);
    let (z, back) = product::<ByMeaning<Slopes>>().at(Along::pair(Along::Number(x), Along::Number(y)));
    let found = all(&back(Along::Number(2.0)));
    let [forward, reverse] = &Reverse::stages(&product::<Reverse>())[..] else { panic!("two programs") };
    let value = forward.take::<Prod<Real, Real>, Real>(&(tensor(x), tensor(y)));
    let (of_x, of_y) = reverse.take::<Real, Prod<Real, Real>>(&tensor(2.0));
    close("the value", &all(&z), &[value.item()], 1e-12);
    close("the derivative", &found, &[of_x.item(), of_y.item()], 1e-12);
}

#[test]
fn the_branch_that_ran_goes_back() {
    for x in [0.5_f64, 1.5] {
        let (y, back) = chosen::<ByMeaning<Slopes>>().at(Along::Number(x));
        let expected = if x < 1.0 { (x * x.sin(), x.sin() + x * x.cos()) } else { (x.exp(), x.exp()) };
        close("the value", &all(&y), &[expected.0], 1e-12);
        close("the derivative", &all(&back(Along::Number(1.0))), &[expected.1], 1e-12);
    }
}
