//! Values that are computed in another order of their axes than their own.
//!
//! Law: what is computed does not depend on the order, up to the rounding of sums. Guards count where elements are
//! moved, instead of timing it.

use polygrad::backend::{Executable, compile};
use polygrad::internals::compile_in_small_blocks;
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, einsum};

/// How often a report says that elements are moved.
fn moves(executable: &Executable) -> usize {
    executable.explain().lines().filter(|line| line.contains("elements in another order")).count()
}

fn waves<const D: usize>(shape: [usize; D]) -> Tensor<Concrete, D> {
    let n = shape.iter().product();
    Tensor::new(shape, (0..n).map(|i| (i as f64 * 0.7).sin() * 3.0).collect())
}

/// Asserts that a program gives the same compiled as interpreted, up to rounding.
#[track_caller]
fn assert_agrees(program: &Program, inputs: &[Array]) {
    for executable in [compile(program), compile_in_small_blocks(program)] {
        let expected = interpret(program, inputs.to_vec());
        for (a, b) in expected.iter().zip(executable.run(inputs)) {
            assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
            let numbers = |a: &Array| a.cast::<f64>().to_vec::<f64>().expect("floats");
            for (x, y) in numbers(a).iter().zip(numbers(&b)) {
                let same = *x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-12 * x.abs().max(1.0);
                assert!(same, "{x:e} and {y:e}\n{program}\n{}", executable.explain());
            }
        }
    }
}

/// Values of two arrays of transposed shapes, several for each, of which all but a few are seen in another order.
fn matrices<T: BaseTensor>((a, b): &(Tensor<T, 2>, Tensor<T, 2>)) -> Vec<Tensor<T, 2>> {
    let t = a.permute([1, 0]);
    let [n, m] = [b.dim::<0>(), b.dim::<1>()];
    let e = t.exp();
    let lines = b.sum_axis::<1>(0).replicate(n);
    let low = a.slice(0, ..m - 1).pad([(1, 0), (0, 0)]).permute([1, 0]);
    vec![
        e.clone(),
        e.sin() * 2.0 - &t,
        &e + b,
        &t + b,
        &e * &e,
        &low + &e * 3.0,
        low.cos() * &t,
        &t * &lines,
        e.matmul(a),
        e.matmul(&b.permute([1, 0])),
        b.permute([1, 0]).matmul(&e),
        e.matmul(&e.permute([1, 0])),
        e.gt(b).select(&t, b),
        einsum::<T, 2, f64>("ij,j->ji", (&a.sin(), &a.sum_axis::<1>(0))),
        einsum::<T, 2, f64>("ij,i->ji", (a, &a.sum_axis::<1>(1))).permute([1, 0]).matmul(&e.cos()),
        e.softmax(1) + e.softmax(0),
        &e - e.sum_axis::<1>(0).replicate(n),
    ]
}

#[test]
fn transposed_values_agree() {
    for [m, n] in [[2, 3], [3, 8], [8, 8], [9, 17], [64, 33], [65, 40], [100, 57]] {
        let x = (waves([m, n]), waves([n, m]));
        let f = Function::stage(|x: &(Tensor<Term, 2>, Tensor<Term, 2>)| matrices(x), &x);
        let inputs = [x.0.array().clone(), x.1.array().clone()];
        for program in [f.program(), f.optimized()] {
            assert_agrees(program, &inputs);
        }
        // One by one, so that nothing else needs the values.
        for k in 0..matrices(&x).len() {
            let one = Function::stage(move |x: &(Tensor<Term, 2>, Tensor<Term, 2>)| matrices(x).swap_remove(k), &x);
            assert_agrees(one.optimized(), &inputs);
        }
    }
}

#[test]
fn axes_in_any_order_agree() {
    let x = waves([9, 12, 16]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let f = move |x: &Tensor<Term, 3>| {
            let y = x.permute(order);
            let z = x.slice(2, 1..).pad([(0, 0), (0, 0), (1, 0)]).permute(order).exp();
            (y.exp() * &y - &z, y.sum_axis::<2>(1), z.sin().sum_axis::<2>(2), z.cast::<f32>() + y.cast::<f32>())
        };
        let f = Function::stage(f, &x);
        for program in [f.program(), f.optimized()] {
            assert_agrees(program, &[x.array().clone()]);
        }
    }
}

#[test]
fn elements_are_moved_once_if_at_all() {
    let x = (waves([64, 70]), waves([70, 64]));
    let moved = |f: fn(&Tensor<Term, 2>, &Tensor<Term, 2>) -> Tensor<Term, 2>| {
        let f = Function::stage(move |x: &(Tensor<Term, 2>, Tensor<Term, 2>)| f(&x.0, &x.1), &x);
        moves(f.executable())
    };
    assert_eq!(moved(|a, _| a.permute([1, 0]).exp()), 1);
    assert_eq!(moved(|a, b| a.permute([1, 0]).exp() + b), 1);
    assert_eq!(moved(|a, b| a.permute([1, 0]) + b), 1);
    // A product takes the value as it is, and so does what undoes the order.
    assert_eq!(moved(|a, _| a.permute([1, 0]).exp().matmul(a)), 0);
    assert_eq!(moved(|a, _| a.permute([1, 0]).exp().permute([1, 0])), 0);
}

#[test]
fn a_product_without_a_sum_is_fused_and_starts_from_zero() {
    let x = (waves([50]), waves([200]));
    let f = |(a, b): &(Tensor<Term, 1>, Tensor<Term, 1>)| einsum::<Term, 2, f64>("i,j->ij", (a, b)).exp();
    let f = Function::stage(f, &x);
    let text = f.executable().explain();
    assert!(!text.contains("product"), "{text}");
    // A sum that starts from 0 is never -0: a product of matrices where rows are short, and fused where they are long.
    for (n, m) in [(100, 3), (4, 300)] {
        let cycle = |n: usize, of: [f64; 3]| Tensor::new([n], of.into_iter().cycle().take(n).collect());
        let x = (cycle(n, [-1.0, 0.0, -0.0]), cycle(m, [0.0, -0.0, 2.0]));
        let f = |(a, b): &(Tensor<Term, 1>, Tensor<Term, 1>)| einsum::<Term, 2, f64>("i,j->ij", (a, b)).recip();
        let f = Function::stage(f, &x);
        assert_eq!(f.executable().explain().contains("unrolled"), m == 3, "{}", f.executable().explain());
        let inputs = [x.0.array().clone(), x.1.array().clone()];
        let found = f.executable().run(&inputs);
        assert_eq!(interpret(f.program(), inputs.to_vec()), found);
        let infinite = found[0].to_vec::<f64>().expect("floats").into_iter().filter(|y| y.is_infinite());
        assert!(infinite.clone().count() > 4 && infinite.clone().all(|y| y > 0.0));
    }
}

#[test]
fn the_hessian_of_neighbors_needs_memory_for_some_rows() {
    fn valley<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let (a, b) = (x.slice(0, ..x.len() - 1), x.slice(0, 1..));
        (100.0 * (b - a.square()).square() + (1.0 - a).square()).sum()
    }
    let x = waves([300]);
    let f = Function::hessian(valley, &x);
    assert!(f.executable().peak_bytes() < 256 << 10, "{}", f.executable().explain());
    assert_eq!(moves(f.executable()), 0, "{}", f.executable().explain());
    assert_agrees(f.optimized(), &[x.array().clone()]);
}
