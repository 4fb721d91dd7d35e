//! Long programs: nothing recurses over their length, and reading in a loop costs as much as the elements read. These
//! tests run in the default thread of a test, whose stack is 2 MiB.

use polygrad::direct::{grad, jvp};
use polygrad::tensor::{fold, tensor};
use polygrad::{BaseTensor, Checkpoint, Concrete, Tensor, while_loop};

/// `n` dependent operations, some of which use one value twice.
fn chain<T: BaseTensor>(x: &Tensor<T, 0>, n: usize) -> Tensor<T, 0> {
    let mut y = x.clone();
    for k in 0..n {
        y = match k % 3 {
            0 => &y + &y,
            1 => y * 0.25,
            _ => &y + x,
        };
    }
    y
}

#[test]
fn hundreds_of_thousands_of_dependent_operations() {
    let n = 300_000;
    let g = grad(|x: &Tensor<_, 0>| chain(x, n), &tensor(1.5));
    // y = y / 2 + x has the fixpoint 2 x.
    assert!((g.item() - 2.0).abs() < 1e-12);
    let (_, d) = jvp(|x: &Tensor<_, 0>| chain(x, n), &tensor(1.5), &tensor(1.0));
    assert!((d.item() - 2.0).abs() < 1e-12);
}

#[test]
fn a_long_chain_at_two_levels() {
    let n = 99_999;
    let second = grad(|x: &Tensor<_, 0>| grad(|x: &Tensor<_, 0>| chain(x, n).square(), x), &tensor(1.5));
    assert!((second.item() - 8.0).abs() < 1e-9);
}

#[test]
fn wide_sharing_is_visited_once() {
    // Sixty doublings: 2^60 paths, 60 shared terms.
    let g = grad(
        |x: &Tensor<_, 0>| {
            let mut y = x.clone();
            for _ in 0..60 {
                y = &y + &y;
            }
            y
        },
        &tensor(1.0),
    );
    assert_eq!(g.item(), 2f64.powi(60));
}

#[test]
fn a_host_loop_over_elements_is_linear() {
    // Quadratic cost would be 10^10 additions: minutes, not milliseconds.
    let n = 100_000;
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, n);
    let g = grad(
        |x: &Tensor<_, 1>| {
            let mut sum = Tensor::scalar(0.0);
            for i in 0..n {
                sum += x.at([i]).square();
            }
            sum
        },
        &x,
    );
    assert_eq!(g, &x * 2.0);
}

#[test]
fn a_loop_over_elements_is_linear() {
    let n = 100_000;
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, n);
    let ix = Tensor::iota(n);
    let g = grad(
        |x: &Tensor<_, 1>| {
            fold(Tensor::scalar(0.0), ix.lift(), |sum: Tensor<_, 0>, i: &Tensor<_, 0, i64>| sum + x.at([i]).square())
        },
        &x,
    );
    assert_eq!(g, &x * 2.0);
}

#[test]
fn a_host_loop_over_slices_is_linear() {
    let n = 20_000;
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, n);
    let g = grad(
        |x: &Tensor<_, 1>| {
            let mut sum = Tensor::scalar(0.0);
            for i in 0..n {
                sum += x.slice(0, i..i + 1).sum();
            }
            sum
        },
        &x,
    );
    assert_eq!(g, Tensor::ones([n]));
}

#[test]
fn a_hundred_thousand_trips() {
    // One trip of each kind of loop is near to the fixpoint 2 x.
    const TRIPS: usize = 100_000;
    fn step<T: BaseTensor>(x: &Tensor<T, 0>, y: Tensor<T, 0>) -> Tensor<T, 0> {
        y * 0.5 + x
    }
    fn segments<T: BaseTensor>(n: usize, x: &Tensor<T, 0>) -> Tensor<T, 0> {
        let owned = x.clone();
        Checkpoint::states(3000).iterate(n, x, move |_, y| step(&owned, y))
    }
    fn ended<T: BaseTensor>(n: usize, x: &Tensor<T, 0>) -> Tensor<T, 0> {
        let go = |c: &(Tensor<T, 0>, Tensor<T, 0, i64>)| c.1.lt(n as i64);
        while_loop((x.clone(), Tensor::scalar(0)), go, |(y, k)| (step(x, y), k + 1)).0
    }
    let x = tensor(1.5);
    assert!((polygrad::grad(|x| segments(TRIPS, x), &x).item() - 2.0).abs() < 1e-12);
    assert!((polygrad::jvp(|x| ended(TRIPS, x), &x, &tensor(1.0)).1.item() - 2.0).abs() < 1e-12);
    // Trip by trip.
    assert!((grad(|x| segments(TRIPS / 5, x), &x).item() - 2.0).abs() < 1e-12);
    assert!((grad(|x| ended(TRIPS / 5, x), &x).item() - 2.0).abs() < 1e-12);
}
