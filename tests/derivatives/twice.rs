//! Long programs in which each operation uses one value twice.
//!
//! Law: a chain of any operation, with one value as all of its operands, is recorded, differentiated, printed and dropped
//! on a small stack, in every interpreter that keeps what was computed.

use std::rc::Rc;

use polygrad::base::Again;
use polygrad::interpreters::adval::Sweep;
use polygrad::interpreters::dual::Forward;
use polygrad::ops::{Binary, Call, Compare, Contract, Discrete, IntBinary, Linear, Matrix};
use polygrad::program::Term;
use polygrad::{Array, BaseTensor, DType, Tensor, custom_vjp, direct, tensor};

use crate::support::on_a_stack_of;

/// A stack that a recursion over [`LONG`] operations would overflow: 160 bytes each.
const STACK: usize = 320 << 10;

const LONG: usize = 2000;

/// An operation with one value as all of its operands.
pub(super) type Step<T> = Box<dyn Fn(&T) -> T>;

/// Operations that leave more than one term behind, each of which is larger.
const HEAVY: [&str; 4] = ["map_accum", "again", "custom", "solve_triangular"];

/// A start, and operations that make a value of the same kind from it, by name.
fn floats<T: BaseTensor>() -> Vec<(String, Step<T>)> {
    let mut steps: Vec<(String, Step<T>)> = Vec::new();
    for op in Binary::ALL {
        steps.push((op.name().to_string(), Box::new(|y: &T| y.binary(*op, y))));
    }
    let mut add = |name: &str, step: fn(&T) -> T| steps.push((name.to_string(), Box::new(step)));
    add("select", |y| T::select(&T::constant(Array::from([true, false])), y, y));
    add("contract", |y| T::contract(&Contract::axes(&[2], &[0], &[0], &[0]), y, y));
    add("concat", |y| T::concat(0, &[y.clone(), y.clone()]).linear(&Linear::slice(&[4], 0, 1, 2, 1)));
    add("scatter_add", |y| y.clone().scatter_add(&[T::constant(Array::from([1_i64, 0]))], y));
    add("map_accum", |y| {
        let step = &mut |carry: Vec<T>, _: &[T]| (vec![carry[0].binary(Binary::Mul, y)], Vec::new());
        T::map_accum(2, false, vec![y.clone()], std::slice::from_ref(y), step).0.swap_remove(0)
    });
    add("again", |y| {
        let captured = y.clone();
        let f: Again<T> = Rc::new(move |a| vec![a[0].binary(Binary::Mul, &a[1]).binary(Binary::Mul, &captured)]);
        T::again(&f, &[y.clone(), y.clone()]).swap_remove(0)
    });
    add("custom", |y| {
        let y = Tensor::<T, 1>::from_raw(y.clone());
        let rule = |(x, y): &(Tensor<Term, 1>, _), _: &_, ct: &_| (ct * y, ct * x);
        custom_vjp("product", |(x, y): &(Tensor<Term, 1>, _)| x * y, rule, &(y.clone(), y)).into_raw()
    });
    steps
}

fn integers<T: BaseTensor>() -> Vec<(String, Step<T>)> {
    let mut steps: Vec<(String, Step<T>)> = Vec::new();
    for op in IntBinary::ALL {
        steps.push((op.name().to_string(), Box::new(|y: &T| T::discrete(&Discrete::IntBinary(*op), &[y, y]))));
    }
    let mut add = |name: &str, step: fn(&T) -> T| steps.push((name.to_string(), Box::new(step)));
    add("gather", |y| y.gather(std::slice::from_ref(y)));
    add("scatter_add of integers", |y| y.clone().scatter_add(std::slice::from_ref(y), y));
    add("compare", |y| T::discrete(&Discrete::ToInt, &[&T::discrete(&Discrete::Compare(Compare::Le), &[y, y])]));
    steps
}

fn masks<T: BaseTensor>() -> Vec<(String, Step<T>)> {
    let steps: [(&str, Step<T>); 3] = [
        ("and", Box::new(|y| T::discrete(&Discrete::And, &[y, y]))),
        ("or", Box::new(|y| T::discrete(&Discrete::Or, &[y, y]))),
        ("select of masks", Box::new(|y| T::select(y, y, y))),
    ];
    steps.map(|(name, step)| (name.to_string(), step)).into()
}

fn matrices<T: BaseTensor>() -> Vec<(String, Step<T>)> {
    let product: Step<T> = Box::new(|y| T::contract(&Contract::axes(&[2, 2, 2], &[0, 2], &[2, 1], &[0, 1]), y, y));
    let solve: Step<T> = Box::new(|y| {
        let op = Matrix::SolveTriangular { lower: true, transposed: false, unit: false };
        T::call(&Call::Matrix(op), &[y.clone(), y.clone()]).swap_remove(0)
    });
    vec![("matmul".to_string(), product), ("solve_triangular".to_string(), solve)]
}

/// All operations, each with a value to start from.
pub(super) fn steps<T: BaseTensor>() -> Vec<(String, Array, Step<T>)> {
    let identity = Array::new(&[2, 2], vec![1.0, 0.0, 0.0, 1.0]);
    let families = [
        (Array::from([0.5, 1.5]), floats::<T>()),
        (Array::from([1_i64, 0]), integers()),
        (Array::from([true, false]), masks()),
        (identity, matrices()),
    ];
    let each = |(start, steps): (Array, Vec<(String, Step<T>)>)| {
        steps.into_iter().map(move |(name, step)| (name, start.clone(), step)).collect::<Vec<_>>()
    };
    families.into_iter().flat_map(each).collect()
}

/// How many operations of this name overflow the stack.
fn long(name: &str) -> usize {
    if HEAVY.contains(&name) { LONG / 3 } else { LONG }
}

/// A chain of each operation, which is dropped after `then` has seen its start and its end.
fn chains<T: BaseTensor>(long: fn(&str) -> usize, mut start: impl FnMut(&Array) -> T, then: impl Fn(&str, &T, &T)) {
    for (name, array, step) in steps::<T>() {
        let x = start(&array);
        let mut y = step(&x);
        for _ in 1..long(&name) {
            y = step(&y);
        }
        then(&name, &x, &y);
    }
}

fn variable(a: &Array) -> Term {
    Term::variable(a.shape(), a.dtype())
}

#[test]
fn recorded() {
    on_a_stack_of(STACK, || chains(long, variable, |_, _, _| {}));
    chains(
        |_| 40,
        variable,
        |name, x, y| {
            let program =
                Term::program(std::slice::from_ref(x), std::slice::from_ref(y), &[]).expect("a closed program");
            assert!(!program.to_string().is_empty(), "{name}");
        },
    );
}

#[test]
fn direct_and_recorded_derivatives() {
    on_a_stack_of(STACK, || {
        let mut sweep = Sweep::new();
        chains(long, |a| sweep.input(a), |_, _, _| {});
        let mut sweep = Sweep::new();
        chains(long, |a| sweep.input(&variable(a)), |_, _, _| {});
    });
}

#[test]
fn nested_derivatives() {
    on_a_stack_of(STACK, || {
        let (forward, mut sweep) = (Forward::new(), Sweep::new());
        let start = |a: &Array| {
            let x = sweep.input(a);
            forward.input(&x, &x)
        };
        // The operations of one number of terms are dropped alike.
        let few = |name: &str| if ["mul", "select", "concat", "again"].contains(&name) { long(name) } else { 2 };
        chains(few, start, |_, _, _| {});
    });
}

/// The program of "Dual arrays", section 2.5, with products in place of sums.
#[test]
fn squares_of_squares() {
    on_a_stack_of(STACK, || {
        let squares = |x: &Tensor<_, 0>| (0..20 * LONG).fold(x.clone(), |y, _| &y * &y);
        assert_eq!(direct::grad(squares, &tensor(1.0)).item(), f64::INFINITY);
        let squares = |x: &Tensor<_, 0>| (0..LONG).fold(x.clone(), |y, _| &y * &y);
        assert_eq!(polygrad::grad(squares, &tensor(0.5)).item(), 0.0);
        let y = (0..20 * LONG).fold(Term::variable(&[], DType::F64), |y, _| y.binary(Binary::Mul, &y));
        drop(y);
    });
}
