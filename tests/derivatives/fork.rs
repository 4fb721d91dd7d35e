//! Fork and join: two functions that may run at the same time.
//!
//! Law: values and derivatives of every order are those of one function after the other, with the same bits on any
//! number of threads and in any schedule. Recorded, both are in the program, and nothing is said of the fork.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use polygrad::program::Term;
use polygrad::tensor::{switch, while_loop};
use polygrad::{
    ADVal, Array, BaseTensor, Concrete, DType, Tensor, checkpoint, cond, direct, fold, fork_join, grad, tensor,
};

use crate::panics::caught;

/// Runs in a pool of so many threads.
fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(run)
}

/// What one branch computes: loops, a branch by a number, reads at indices, a product, a checkpoint.
fn leaf<T: BaseTensor>(x: &Tensor<T, 1>, w: &Tensor<T, 2>) -> (Tensor<T, 0>, Tensor<T, 1>) {
    let folded = fold(0.3, x, |c: Tensor<T, 0>, x: &Tensor<T, 0>| (c * x).sin() + x);
    let (_, doubled) =
        while_loop((Tensor::<T, 0, i64>::scalar(0), x.clone()), |(n, _)| n.lt(3), |(n, x)| (n + 1, x * 1.5));
    let kept = checkpoint(2).fold(x.clone(), 0..4, |c, i: &Tensor<T, 0, i64>| c.sin() + i.to_float() * 0.1);
    let one = cond(x.at([0]).gt(0.0), x.at([1]).exp(), x.at([0]).square());
    let read: Tensor<T, 1> = x.gather([&Tensor::<T, 1, i64>::constant(tensor([0, 1, 0]))]);
    let largest = w.matvec(x).max_all() * read.sum();
    let of_index = switch(x.at([1]).gt(0.5).to_int(), [x.sum(), x.square().sum()]);
    (folded * one + largest + of_index, doubled + kept)
}

/// A tree of forks, or of one call after the other.
fn tree<T: BaseTensor>(forks: bool, depth: usize, (x, w): &(Tensor<T, 1>, Tensor<T, 2>)) -> Tensor<T, 0> {
    if depth == 0 {
        let (value, rest) = leaf(x, w);
        return value + (rest * 0.2).sin().sum();
    }
    let (left, right) = ((x * 0.9, w.clone()), (x.cos(), w * x.at([0])));
    let f = |p: &(Tensor<T, 1>, Tensor<T, 2>)| (tree(forks, depth - 1, p), 3_usize.pow(2));
    let g = |p: &(Tensor<T, 1>, Tensor<T, 2>)| tree(forks, depth - 1, p) * 0.5;
    let (a, b) = if forks { fork_join(&left, |p| f(p).0, &right, |p| g(p)) } else { (f(&left).0, g(&right)) };
    a * b.sin() + x.sum()
}

type Point = (Tensor<Concrete, 1>, Tensor<Concrete, 2>);

fn point() -> Point {
    (tensor([0.7, 0.4]), tensor([[0.3, 1.1], [0.8, -0.5]]))
}

fn direction() -> Point {
    (tensor([1.0, -0.5]), tensor([[0.2, 0.0], [-1.0, 0.4]]))
}

fn numbers(p: &Point) -> Vec<f64> {
    [p.0.to_vec(), p.1.to_vec()].concat()
}

/// Value, gradient, directional derivative, and the directional derivative of the gradient by two ways, of a tree.
fn derivatives(forks: bool, depth: usize) -> Vec<f64> {
    let (p, v) = (point(), direction());
    let (value, gradient) = direct::value_and_grad(|p| tree(forks, depth, p), &p);
    let (again, slope) = direct::jvp(|p| tree(forks, depth, p), &p, &v);
    let (_, push) = direct::linearize(|p| tree(forks, depth, p), &p);
    let along = |p: &(Tensor<_, 1>, Tensor<_, 2>)| {
        let g = direct::grad(|p| tree(forks, depth, p), p);
        (g.0 * Tensor::constant(&v.0)).sum() + (g.1 * Tensor::constant(&v.1)).sum()
    };
    let second = direct::grad(along, &p);
    let (_, forward) = direct::jvp(|p| direct::grad(|p| tree(forks, depth, p), p), &p, &v);
    let mut all = vec![value.item(), again.item(), slope.item(), push(&v).item()];
    all.extend([numbers(&gradient), numbers(&second), numbers(&forward)].concat());
    all
}

#[track_caller]
fn near(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (k, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= 1e-11 * x.abs().max(1.0), "{k}: {x} and {y}");
    }
}

#[test]
fn derivatives_are_those_of_one_after_the_other() {
    for depth in 0..3 {
        let plain = derivatives(false, depth);
        let forked = derivatives(true, depth);
        near(&plain, &forked);
        assert_eq!(plain[0].to_bits(), forked[0].to_bits(), "the value");
        // Each second derivative by two ways.
        let second = &forked[4 + 6..];
        near(&second[..6], &second[6..]);
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_schedule() {
    let bits = |threads: usize| -> Vec<u64> {
        with_threads(threads, || derivatives(true, 3).into_iter().map(f64::to_bits).collect())
    };
    let one = bits(1);
    for threads in [2, 3, 5] {
        for _ in 0..6 {
            assert_eq!(bits(threads), one, "{threads} threads");
        }
    }
}

/// A message from this branch to the other, and one from the other: each waits until the other one runs.
fn meet(to: &Mutex<Sender<()>>, from: &Mutex<Receiver<()>>) -> bool {
    to.lock().expect("a sender").send(()).expect("the other branch listens");
    from.lock().expect("a receiver").recv_timeout(Duration::from_secs(60)).is_ok()
}

#[test]
fn both_run_at_the_same_time() {
    let (to_first, from_second) = channel();
    let (to_second, from_first) = channel();
    let ends = [(to_second, from_second), (to_first, from_first)].map(|(to, from)| (Mutex::new(to), Mutex::new(from)));
    let met = with_threads(2, || {
        let x = tensor(2.0);
        direct::grad(
            |x| {
                let (y, z) = fork_join(
                    x,
                    |x| if meet(&ends[0].0, &ends[0].1) { x.square() } else { x.clone() },
                    x,
                    |x| if meet(&ends[1].0, &ends[1].1) { x * x * x } else { x.clone() },
                );
                y + z
            },
            &x,
        )
    });
    assert_eq!(met, tensor(4.0 + 12.0));
}

#[test]
fn recorded_it_is_simply_both() {
    let text = |forks: bool| {
        let inputs = [Term::variable(&[2], DType::F64), Term::variable(&[2, 2], DType::F64)];
        let [x, w] = inputs.clone();
        let y = tree(forks, 1, &(Tensor::from_raw(x), Tensor::from_raw(w)));
        Term::program(&inputs, &[y.into_raw()], &[]).expect("a closed program").to_string()
    };
    assert_eq!(text(true), text(false));
    let (staged, run) = (grad(|p| tree(true, 2, p), &point()), direct::grad(|p| tree(true, 2, p), &point()));
    near(&numbers(&staged), &numbers(&run));
}

/// In the body of a loop, whose trips keep residuals of the same kinds.
#[test]
fn forks_in_loops() {
    fn model<T: BaseTensor>(forks: bool, x: &Tensor<T, 1>) -> Tensor<T, 0> {
        fold(x.sum(), x, |c, x: &Tensor<T, 0>| {
            let f = |p: &(Tensor<T, 0>, Tensor<T, 0>)| (&p.0 * &p.1).sin();
            let (c, x) = ((c.clone(), x.clone()), (x.clone(), c * 0.5));
            let (a, b) = if forks { fork_join(&c, f, &x, f) } else { (f(&c), f(&x)) };
            a + b
        })
    }
    let x = tensor([0.3, -0.8, 1.2]);
    let gradient = |forks: bool| direct::grad(|x| direct::grad(|x| model(forks, x), x).square().sum(), &x);
    near(&gradient(true).to_vec(), &gradient(false).to_vec());
}

/// Results of all structures; some of constants, some of integers, some not used; an argument without a tangent.
#[test]
fn structures_and_values_without_tangents() {
    fn program<T: BaseTensor>(x: &Tensor<T, 1>, n: &Tensor<T, 0, i64>) -> Tensor<T, 0> {
        let (rows, (number, unused)) = fork_join(
            &(x.clone(), n.clone()),
            |(x, n)| vec![x * n.to_float(), x.square(), Tensor::constant(tensor([5.0, 6.0]))],
            n,
            |n| (n + 1, (Tensor::<T, 0>::scalar(2.0), [n.to_float::<f64>()])),
        );
        assert_eq!(rows.len(), 3);
        rows.iter().map(|row| row.sum()).fold(number.to_float(), |sum, row| sum + row) * unused.0
    }
    let (x, n) = (tensor([1.0, 2.0]), tensor(3));
    let (value, gradient) = direct::value_and_grad_with(program, &x, &n);
    assert_eq!(value.item(), 2.0 * (4.0 + 9.0 + 5.0 + 11.0));
    assert_eq!(gradient, tensor([2.0 * (3.0 + 2.0), 2.0 * (3.0 + 4.0)]));
    let all_constant = direct::grad(|x| x.sum() + fork_join(&(), |()| Tensor::scalar(1.0), &(), |()| ()).0, &x);
    assert_eq!(all_constant, tensor([1.0, 1.0]));
}

/// What a call that panics says.
fn message(f: impl FnOnce()) -> String {
    caught(f).message
}

/// What a panic carries: a thread may have had another one before.
fn payload<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// The first panic is that of one after the other, whichever thread is first.
#[test]
fn panics_are_those_of_one_after_the_other() {
    let run = |first: bool, second: bool| {
        let x = tensor([1.0]);
        direct::grad(
            |x| {
                let fails = |fails: bool, name: &str| {
                    if fails {
                        panic!("{name} fails")
                    }
                };
                let (y, z) = fork_join(
                    x,
                    |x| {
                        fails(first, "the first");
                        x.sum()
                    },
                    x,
                    |x| {
                        fails(second, "the second");
                        x.sum()
                    },
                );
                y * z
            },
            &x,
        )
    };
    for threads in [1, 4] {
        with_threads(threads, || {
            assert_eq!(run(false, false), tensor([2.0]));
            assert_eq!(payload(|| run(true, true)), "the first fails");
            assert_eq!(payload(|| run(false, true)), "the second fails");
        });
    }
}

thread_local! {
    static KEPT: RefCell<Option<Tensor<ADVal<Array>, 0>>> = const { RefCell::new(None) };
}

/// A value that leaves its branch through a variable of the thread is refused, and gives no wrong gradient.
#[test]
fn values_of_a_branch_do_not_leave_it() {
    let leak = |x: &Tensor<ADVal<Array>, 0>| {
        KEPT.set(Some(x.sin()));
        x.clone()
    };
    let after = || direct::grad(|x| fork_join(x, leak, x, |x| x.clone()).0 * KEPT.take().expect("kept"), &tensor(1.0));
    let into = || {
        direct::grad(
            |x| {
                KEPT.set(Some(x.sin()));
                fork_join(x, |x| KEPT.take().expect("kept") * x, x, |x| x.clone()).0
            },
            &tensor(1.0),
        )
    };
    with_threads(1, || {
        for refused in [message(|| _ = after()), message(|| _ = into())] {
            assert!(refused.starts_with("grad: "), "{refused}");
        }
    });
}
