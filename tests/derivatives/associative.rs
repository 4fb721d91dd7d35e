//! Scans by an associative operation.
//!
//! Law: they are the scan, up to the order of operations, and so are their derivatives; recorded, a parallel one has no
//! loop.

use polygrad::{
    BaseTensor, Concrete, Function, Tensor, associative_scan, direct, grad, hvp, map, map_accum, parallel_scan, tensor,
};

type Pair<T> = (Tensor<T, 2>, Tensor<T, 1>);

/// `h -> a h + b`, one after the other, from `h = 0`.
fn affine<T: BaseTensor>(parallel: bool, a: &Tensor<T, 3>, b: &Tensor<T, 2>) -> Tensor<T, 2> {
    let compose = |(a1, b1): &Pair<T>, (a2, b2): &Pair<T>| (a2.matmul(a1), a2.matvec(b1) + b2);
    let scan = if parallel { parallel_scan } else { associative_scan };
    let (_, h): (Tensor<T, 3>, Tensor<T, 2>) = scan((a, b), compose);
    h
}

fn one_by_one<T: BaseTensor>(a: &Tensor<T, 3>, b: &Tensor<T, 2>) -> Tensor<T, 2> {
    let step = |h: Tensor<T, 1>, (a, b): &Pair<T>| {
        let h = a.matvec(&h) + b;
        (h.clone(), h)
    };
    map_accum(Tensor::zeros([2]), (a, b), step).1
}

fn arguments(n: usize) -> (Tensor<Concrete, 3>, Tensor<Concrete, 2>) {
    let waves = |k: usize, s: f64| (Tensor::<Concrete, 1>::linspace(0.0, k as f64, k) * s + 0.2).sin();
    (waves(4 * n, 0.7).reshape([n, 2, 2]) * 0.6, waves(2 * n, 1.3).reshape([n, 2]))
}

#[test]
fn prefixes_and_their_derivatives_are_those_of_the_scan() {
    for (n, parallel) in [1, 2, 3, 4, 5, 7, 8, 13, 16, 33].into_iter().flat_map(|n| [(n, false), (n, true)]) {
        let (a, b) = arguments(n);
        let close = |x: &Tensor<Concrete, 2>, y: &Tensor<Concrete, 2>| {
            assert!((x - y).abs().sum().item() < 1e-10, "{n} rows: {x:?} and {y:?}");
        };
        close(&affine(parallel, &a, &b), &one_by_one(&a, &b));
        let of = |x: &(Tensor<Concrete, 3>, Tensor<Concrete, 2>), y: &(Tensor<Concrete, 3>, Tensor<Concrete, 2>)| {
            assert!((&x.0 - &y.0).abs().sum().item() < 1e-10);
            close(&x.1, &y.1);
        };
        let x = (a, b);
        let expected = direct::grad(|(a, b)| one_by_one(a, b).sin().sum(), &x);
        of(&direct::grad(|(a, b)| affine(parallel, a, b).sin().sum(), &x), &expected);
        of(&grad(|(a, b)| affine(parallel, a, b).sin().sum(), &x), &expected);
        if n < 9 {
            let second = hvp(|(a, b)| one_by_one(a, b).sin().sum(), &x, &x);
            of(&hvp(|(a, b)| affine(parallel, a, b).sin().sum(), &x, &x), &second);
        }
    }
}

#[test]
fn a_recorded_scan_is_one_loop_or_bulk_operations() {
    let (a, b) = arguments(100);
    for parallel in [false, true] {
        let sum = |(a, b): &(Tensor<_, 3>, Tensor<_, 2>)| affine(parallel, a, b).sum();
        let f = Function::grad(sum, &(a.clone(), b.clone()));
        let loops = f.optimized().to_string().matches("= loop").count();
        // A loop of the values, and one of the cotangents.
        assert_eq!(loops, if parallel { 0 } else { 2 }, "{}", f.optimized());
    }
}

#[test]
fn rows_and_outputs_may_be_arrays() {
    let (x, y) = (tensor([1.0, 2.0, 3.0]), tensor([4.0, 5.0, 6.0]));
    let [sum, product] = map([&x, &y], |[x, y]: &[Tensor<Concrete, 0>; 2]| [x + y, x * y]);
    assert_eq!((sum, product), (&x + &y, &x * &y));
    // Integers and masks, no row, and more than one stack.
    let any = associative_scan(tensor([false, true, false]), |a: &Tensor<Concrete, 0, bool>, b| a.clone() | b);
    assert_eq!(any, tensor([false, true, true]));
    let none = associative_scan(Tensor::<Concrete, 1>::zeros([0]), |a: &Tensor<Concrete, 0>, b| a + b);
    assert_eq!(none, Tensor::zeros([0]));
    let [low, high] = associative_scan([&x, &y], |[a, b]: &[Tensor<Concrete, 0>; 2], [c, d]| [a.min(c), b.max(d)]);
    assert_eq!((low, high), (tensor([1.0, 1.0, 1.0]), y));
}
