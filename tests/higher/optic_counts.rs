//! What nested optics cost, in operations of which equal ones are one; what the "dP guide", section V.C, says of that.
//!
//! The guide hopes that well-behaved primitives make the work of order `n` one of `n^2 - 1`, where `2^n` would be
//! expected. Counted here:
//!
//! * Programs. The stages of an optic are made of blocks of two, four, eight stages; blocks whose stages have the same
//!   numbers of stars are one program. There are `n + 1` of them for each operation, and `n (n + 1) / 2` compositions,
//!   at most `n^2 - 1` from order 2 on. So much has to be analysed.
//! * Operations. The outputs of the `2^n` stages are different functions of their inputs, and none is an input. So each
//!   costs an operation of its own: no sharing does with less than `2^n`, which is at least `n^2 - 1` at every order. Each
//!   stage is a sum over partitions of the bits of its number (`stages`), of which a product has those into at
//!   most two blocks: `3^n` multiplications in all stages.

use std::collections::BTreeSet;

use polygrad::ops::{Binary, Unary};
use polygrad::program::{Op, Program, Term};
use polygrad::{Array, tensor};
use polygrad_higher::interpreters::optic::{Staged, Wire, Wiring, stars};
use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
use polygrad_higher::{self as higher, Ground, Monoidal, Prod, Real};

type R<C> = ReverseOptic<C>;
type B = Wires<Run<Term>>;
type R1 = R<B>;
type R2 = R<R1>;
type R3 = R<R2>;
type R4 = R<R3>;
type R5 = R<R4>;
type R6 = R<R5>;
type Two = Prod<Real, Real>;

fn sine<C: Monoidal>() -> C::Hom<Real, Real> {
    C::unary(Unary::Sin)
}

fn exponential<C: Monoidal>() -> C::Hom<Real, Real> {
    C::unary(Unary::Exp)
}

fn product<C: Monoidal>() -> C::Hom<Two, Real> {
    C::binary(Binary::Mul)
}

/// `f` and `g` of the components of a pair, multiplied: two operations before a third one.
fn composed<C: Monoidal>() -> C::Hom<Two, Real> {
    C::then(C::beside(sine::<C>(), exponential::<C>()), product::<C>())
}

/// The programs of the optics of a program of wires at orders 1 to 6: all stages, or the last one alone.
fn programs<A: Ground>(program: &Wire<B, A, Real>, like: &A::Value<Array>, last: bool) -> Vec<Program> {
    fn at<W: Staged<Term>, A: Ground>(program: &Wire<B, A, Real>, like: &A::Value<Array>, last: bool) -> Program {
        let program: Wire<W, A, Real> = program.at();
        if last { higher::stage_reverse_derivative(&program, like) } else { higher::stage_optic(&program, like) }
    }
    vec![
        at::<R1, A>(program, like, last),
        at::<R2, A>(program, like, last),
        at::<R3, A>(program, like, last),
        at::<R4, A>(program, like, last),
        at::<R5, A>(program, like, last),
        at::<R6, A>(program, like, last),
    ]
}

fn sizes(programs: &[Program]) -> Vec<usize> {
    programs.iter().map(Program::size).collect()
}

fn multiplications(program: &Program) -> usize {
    let is = |op: &Op<u32>| matches!(op, Op::Binary(Binary::Mul | Binary::MulNoNan, ..) | Op::Unary(Unary::Square, _));
    program.nodes().iter().filter(|node| is(&node.op)).count()
}

fn two() -> (polygrad::Tensor<Array, 0>, polygrad::Tensor<Array, 0>) {
    (tensor(0.0), tensor(0.0))
}

/// A product is `m(n) = m(n - 1) + 2 m(n - 1)` multiplications, since its reverse derivative is two products; of the
/// `3 * 2^(n-1)` results each is a sum of its multiplications. A square is `3^n` operations.
#[test]
fn operations_of_a_product() {
    let all = programs(&product::<B>(), &two(), false);
    for (n, program) in (1_u32..).zip(&all) {
        let (m, results) = (3_usize.pow(n), 3 * 2_usize.pow(n - 1));
        assert_eq!(multiplications(program), m, "order {n}");
        assert_eq!(program.outputs().len(), results);
        assert_eq!(program.size(), 2 * m - results, "order {n}");
    }
    let square = programs(&<B as Monoidal>::then(<B as Monoidal>::copy(), product::<B>()), &tensor(0.0), false);
    assert_eq!(sizes(&square), [3, 9, 27, 81, 243, 729]);
    // The second derivative of a product is constant, and known to be, so the third is zero without an operation.
    assert_eq!(sizes(&programs(&product::<B>(), &two(), true)), [2, 2, 0, 0, 0, 0]);
}

/// A closed form for the exponential, whose value is its derivative; and for the multiplications of the sine.
#[test]
fn operations_of_functions() {
    let all = programs(&exponential::<B>(), &tensor(0.0), false);
    for (n, program) in (1_u32..).zip(&all) {
        let twelfths = 20 * 3_usize.pow(n) - 3 * (n as usize + 7) * 2_usize.pow(n) + 12;
        assert_eq!(12 * program.size(), twelfths, "order {n}");
    }
    let all = programs(&sine::<B>(), &tensor(0.0), false);
    assert_eq!(sizes(&all), [3, 8, 29, 103, 347, 1129]);
    for (n, program) in (1_u32..).zip(&all).skip(1) {
        assert_eq!(multiplications(program), 8 * 3_usize.pow(n - 2) - 2_usize.pow(n - 1) - 1, "order {n}");
    }
    // Along directions of their own, the derivative of a function of one number is a product.
    assert_eq!(sizes(&programs(&exponential::<B>(), &tensor(0.0), true)), [2, 3, 4, 5, 6, 7]);
    assert_eq!(sizes(&programs(&sine::<B>(), &tensor(0.0), true)), [2, 4, 5, 5, 6, 8]);
}

/// The work of a program is the sum of the work of its operations, at every order.
#[test]
fn operations_add_up_over_compositions() {
    let counts = |program: &Wire<B, Real, Real>| sizes(&programs(program, &tensor(0.0), false));
    let (of_sine, of_exponential) = (counts(&sine::<B>()), counts(&exponential::<B>()));
    let chain = counts(&<B as Monoidal>::then(exponential::<B>(), sine::<B>()));
    let product = sizes(&programs(&product::<B>(), &two(), false));
    let composed = sizes(&programs(&composed::<B>(), &two(), false));
    for n in 0..6 {
        assert_eq!(chain[n], of_sine[n] + of_exponential[n], "order {}", n + 1);
        assert_eq!(composed[n], of_sine[n] + of_exponential[n] + product[n], "order {}", n + 1);
    }
}

/// No order does with `n^2 - 1` operations, nor with fewer than its stages.
#[test]
fn no_order_reaches_the_hope_of_the_guide() {
    for program in [&sine::<B>(), &exponential::<B>()] {
        for (n, size) in (1_u32..).zip(sizes(&programs(program, &tensor(0.0), false))) {
            assert!(size >= 1 << n, "each of the stages costs an operation");
            assert!(size > (n * n - 1) as usize, "order {n}");
        }
    }
}

/// The blocks of the stages of order `n`, of which equal ones are analysed once: `n (n + 1) / 2` compositions.
#[test]
fn programs_to_analyse() {
    fn blocks<W: Staged<Term>>() -> usize {
        let stars = stars(&W::stages(&sine::<W>()));
        let sizes = (1..=W::ORDER).map(|level| 1_usize << level);
        sizes.map(|size| stars.chunks(size).collect::<BTreeSet<_>>().len()).sum()
    }
    let found = [blocks::<R1>(), blocks::<R2>(), blocks::<R3>(), blocks::<R4>(), blocks::<R5>(), blocks::<R6>()];
    for (n, found) in (1..).zip(found) {
        assert_eq!(found, n * (n + 1) / 2);
        assert!(n == 1 || found < n * n);
    }
    // An operation has one program for each number of stars.
    fn programs<W: Wiring + Staged<Term>>() -> usize {
        stars(&W::stages(&sine::<W>())).into_iter().collect::<BTreeSet<_>>().len()
    }
    assert_eq!([programs::<R1>(), programs::<R2>(), programs::<R6>()], [2, 3, 7]);
}
