//! Sorting, products and running combinations: each against its definition, and its derivative against
//! the permutation, the adjoint or finite differences.

use polygrad::array::Rng;
use polygrad::direct::{grad, jvp, vjp};
use polygrad::{ADVal, Array, BaseTensor, Concrete, DType, Float, Function, Tensor, scan, tensor, vmap};

use crate::blind::Blind;

/// A random array, of few different values so that there are ties, some of them NaN.
fn ties(rng: &mut Rng, shape: [usize; 3], nan: bool) -> Tensor<Concrete, 3> {
    let values: Vec<f64> = (0..shape.iter().product::<usize>())
        .map(|_| match rng.below(7) {
            6 if nan => f64::NAN,
            k => k as f64 - 3.0,
        })
        .collect();
    Tensor::constant(Array::new(&shape, values))
}

/// The lines of a tensor along an axis.
fn lines(x: &Tensor<Concrete, 3>, axis: usize) -> Vec<Vec<f64>> {
    let last = x.permute(match axis {
        0 => [1, 2, 0],
        1 => [0, 2, 1],
        _ => [0, 1, 2],
    });
    let n = last.shape()[2];
    let count = last.shape()[0] * last.shape()[1];
    let v = last.to_vec();
    (0..count).map(|k| v[k * n..(k + 1) * n].to_vec()).collect()
}

fn shapes(rng: &mut Rng) -> [usize; 3] {
    [1 + rng.below(4), rng.below(8), 1 + rng.below(5)]
}

#[test]
fn sorting_is_an_ordered_stable_permutation() {
    let rng = &mut Rng::new(1);
    for round in 0..60 {
        let shape = shapes(rng);
        let x = ties(rng, shape, true);
        let axis = round % 3;
        for descending in [false, true] {
            let positions = if descending { x.argsort_descending(axis) } else { x.argsort(axis) };
            let sorted = if descending { x.sort_descending(axis) } else { x.sort(axis) };
            let positions = lines(&positions.to_float(), axis);
            for ((before, after), positions) in lines(&x, axis).iter().zip(lines(&sorted, axis)).zip(positions) {
                let mut seen = vec![false; before.len()];
                for (k, position) in positions.iter().map(|p| *p as usize).enumerate() {
                    assert!(!std::mem::replace(&mut seen[position], true), "each position once");
                    assert_eq!(before[position].to_bits(), after[k].to_bits());
                }
                for (k, pair) in after.windows(2).enumerate() {
                    let ordered = if descending { pair[0] > pair[1] } else { pair[0] < pair[1] };
                    let equal = pair[0] == pair[1] || (pair[0].is_nan() && pair[1].is_nan());
                    let nan_last = pair[1].is_nan() && !pair[0].is_nan();
                    assert!(
                        ordered || nan_last || (equal && positions[k] < positions[k + 1]),
                        "{after:?} {positions:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn storage_does_not_matter_to_sorting() {
    let x = Tensor::<Concrete, 2>::full([2, 3], 7.0);
    assert_eq!(x.argsort(1), tensor([[0, 1, 2], [0, 1, 2]]));
    assert_eq!(x.argsort_descending(0), tensor([[0, 0, 0], [1, 1, 1]]));
    assert_eq!(tensor([[3, -1], [2, 5]]).sort(0), tensor([[2, -1], [3, 5]]));
    assert_eq!(tensor([2.0f32, 1.0]).sort(0), tensor([1.0f32, 2.0]));
    assert_eq!(Tensor::<Concrete, 2>::zeros([0, 3]).sort(0).shape(), [0, 3]);
    assert_eq!(Tensor::<Concrete, 2>::zeros([3, 0]).argsort(0).shape(), [3, 0]);
}

#[test]
fn the_gradient_of_sorting_is_the_inverse_permutation() {
    let rng = &mut Rng::new(2);
    for axis in 0..3 {
        let shape = shapes(rng);
        let x = ties(rng, shape, false);
        let ct: Tensor<Concrete, 3> = Tensor::constant(rng.uniform(&shape, -1.0, 1.0));
        let (_, pullback) = vjp(|x: &Tensor<_, 3>| x.sort(axis), &x);
        let inverse = x.argsort(axis).argsort(axis);
        assert_eq!(pullback(&ct), ct.take_along(axis, &inverse));
        let (y, y_dot) = jvp(|x: &Tensor<_, 3>| x.sort_descending(axis), &x, &ct);
        assert_eq!(y, x.sort_descending(axis));
        assert_eq!(y_dot, ct.take_along(axis, &x.argsort_descending(axis)));
    }
}

#[test]
fn the_largest_are_the_first_of_the_sorted() {
    let rng = &mut Rng::new(3);
    let x = ties(rng, [3, 6, 2], false);
    let (values, positions) = x.top_k(1, 4);
    assert_eq!(values, x.sort_descending(1).slice(1, ..4));
    assert_eq!(values, x.take_along(1, &positions));
    assert_eq!(positions, x.argsort_descending(1).slice(1, ..4));
    let g = grad(|x| x.top_k(0, 2).0.dot(&Tensor::constant([1.0, 10.0])), &tensor([1.0, 4.0, 2.0]));
    assert_eq!(g, tensor([0.0, 1.0, 10.0]));
    assert_eq!(x.top_k(1, 0).0.shape(), [3, 0, 2]);
}

#[test]
fn taking_along_reads_zero_out_of_bounds() {
    let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(x.take_along(1, &tensor([[1, -1, 5], [0, 0, 1]])), tensor([[2.0, 0.0, 0.0], [3.0, 3.0, 4.0]]));
    assert_eq!(x.take_along(0, &tensor([[1, 0]])), tensor([[3.0, 2.0]]));
}

type Running = fn(&Tensor<Concrete, 3>, usize) -> Tensor<Concrete, 3>;
type Fold = fn(f64, f64) -> f64;

#[test]
fn running_combinations_are_folds() {
    let cases: [(Running, Running, Fold); 4] = [
        (|x, k| x.cumsum(k), |x, k| x.cumsum_reverse(k), |a, b| a + b),
        (|x, k| x.cumprod(k), |x, k| x.cumprod_reverse(k), |a, b| a * b),
        (|x, k| x.cummax(k), |x, k| x.cummax_reverse(k), f64::max),
        (|x, k| x.cummin(k), |x, k| x.cummin_reverse(k), f64::min),
    ];
    let rng = &mut Rng::new(4);
    for n in 0..20 {
        let axis = n % 3;
        let mut shape = [2, 3, 4];
        shape[axis] = n;
        // Small integers: every order of adding and multiplying is exact.
        let x = ties(rng, shape, false);
        for (forward, backward, combine) in cases {
            let (there, back) = (forward(&x, axis), backward(&x, axis));
            for ((line, up), down) in lines(&x, axis).iter().zip(lines(&there, axis)).zip(lines(&back, axis)) {
                for k in 0..n {
                    assert_eq!(up[k], line[..k].iter().fold(line[k], |a, b| combine(*b, a)));
                    assert_eq!(down[k], line[k + 1..].iter().fold(line[k], |a, b| combine(a, *b)));
                }
            }
        }
    }
}

#[test]
fn integers_run_too() {
    assert_eq!(tensor([3, -1, 2]).cumsum(0), tensor([3, 2, 4]));
    assert_eq!(tensor([3, -1, 2]).cumprod(0), tensor([3, -3, -6]));
    assert_eq!(tensor([3, -1, 4]).cummax(0), tensor([3, 3, 4]));
    assert_eq!(tensor([[3, -1], [2, 2]]).prod(), tensor(-12));
    assert_eq!(Tensor::<Concrete, 2, i64>::zeros([0, 3]).prod_axis(0), tensor([1, 1, 1]));
}

#[test]
fn special_values_stay_in_their_place() {
    let x = tensor([1.0, f64::INFINITY, 2.0, 3.0, 4.0]);
    assert_eq!(x.cummin(0), tensor([1.0; 5]));
    assert_eq!(x.cumsum(0), tensor([1.0, f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY]));
    let y = tensor([1.0, 2.0, f64::NAN, 3.0]).cummax(0).to_vec();
    assert_eq!(y[..2], [1.0, 2.0]);
    assert!(y[2].is_nan() && y[3].is_nan());
    let z = tensor([1.0, f64::NAN, 2.0, 3.0]).cummax_reverse(0).to_vec();
    assert!(z[0].is_nan() && z[1].is_nan() && z[2..] == [3.0, 3.0]);
    // Of zeros of both signs, the first.
    let zeros = tensor([-0.0f64, 0.0]);
    assert!(zeros.cummax(0).to_vec().iter().all(|x| x.to_bits() == (-0.0f64).to_bits()));
    assert!(zeros.cummax_reverse(0).to_vec().iter().all(|x| x.to_bits() == 0));
}

#[test]
fn the_adjoint_of_a_running_sum_runs_backwards() {
    let rng = &mut Rng::new(5);
    for n in [0, 1, 2, 7, 8, 13] {
        let x: Tensor<Concrete, 2> = Tensor::constant(rng.uniform(&[n, 3], -1.0, 1.0));
        let ct = ties(rng, [1, n, 3], false).remove_axis(0);
        let (_, pullback) = vjp(|x: &Tensor<_, 2>| x.cumsum(0), &x);
        assert_eq!(pullback(&ct), ct.cumsum_reverse(0));
        let (_, pullback) = vjp(|x: &Tensor<_, 2>| x.cumsum_reverse(0), &x);
        assert_eq!(pullback(&ct), ct.cumsum(0));
    }
}

/// Prefix and suffix sums of one layout: compiled as interpreted, to the bit, batched as one by one, and close to the
/// definition in `f64`.
fn sums_agree<E: Float>(x: &Tensor<Concrete, 3, E>, axis: usize) {
    let both = |x: &Tensor<_, 3, E>| (x.cumsum(axis), x.cumsum_reverse(axis));
    let sums = both(x);
    let staged = Function::stage(|x: &Tensor<_, 3, E>| (x.cumsum(axis), x.cumsum_reverse(axis)), x);
    let compiled = staged.run(x).expect("the same shape");
    assert_eq!([&sums.0, &sums.1].map(Tensor::to_vec), [&compiled.0, &compiled.1].map(Tensor::to_vec));
    if axis > 0 {
        let rows: Tensor<Concrete, 3, E> = vmap(|row: &Tensor<Concrete, 2, E>| row.cumsum(axis - 1))(x);
        assert_eq!(rows.to_vec(), sums.0.to_vec());
    }
    let wide = |x: &Tensor<Concrete, 3, E>| -> Vec<f64> { x.to_vec().iter().map(|x| x.as_f64()).collect() };
    let (n, inner) = (x.shape()[axis], x.shape()[axis + 1..].iter().product::<usize>());
    let (x, up, down) = (wide(x), wide(&sums.0), wide(&sums.1));
    for k in 0..x.len() {
        let (at, first) = (k / inner % n, k - k / inner % n * inner);
        let sum = |from: usize, to: usize| (from..to).map(|i| x[first + i * inner]).sum::<f64>();
        let error = 1e3 * n as f64 * if E::DTYPE == DType::F32 { 1e-7 } else { 1e-16 };
        assert!((up[k] - sum(0, at + 1)).abs() <= error && (down[k] - sum(at, n)).abs() <= error);
    }
}

#[test]
fn running_sums_of_every_layout_are_sums() {
    for shape in [[2, 3, 5], [1, 1, 700], [11, 1, 70], [70, 1, 3], [3, 1100, 1], [2, 90, 33], [2, 5, 300], [1, 0, 4]] {
        for axis in 0..3 {
            let x: Tensor<Concrete, 3> = Tensor::constant(Array::uniform(&shape, -1.0, 1.0, 7));
            sums_agree(&x, axis);
            sums_agree(&x.cast::<f32>(), axis);
        }
    }
}

/// A weighted sum of the squares of the values of recurrences along the first axis, trip by trip.
fn recurrences_by_loop<T: BaseTensor>(x: &Tensor<T, 2>, a: &Tensor<T, 2>) -> Tensor<T, 0> {
    let [n, m] = x.shape();
    let y: Tensor<T, 2> = scan(Tensor::zeros([m]), (x, a), |y, (x, a)| x + a * y);
    weighted(&y.slice(0, 1..n + 1))
}

fn weighted<T: BaseTensor>(y: &Tensor<T, 2>) -> Tensor<T, 0> {
    (y.square() * Tensor::linspace(0.5, 1.5, y.shape().iter().product()).reshape(y.shape())).sum()
}

#[test]
fn linear_recurrences_are_loops() {
    type Pair<T> = (Tensor<T, 2>, Tensor<T, 2>);
    for (n, m) in [(1, 1), (2, 3), (7, 9), (70, 1), (600, 1), (300, 2), (40, 33), (0, 3)] {
        let x: Pair<Concrete> = (
            Tensor::constant(Array::uniform(&[n, m], -1.0, 1.0, 3)),
            Tensor::constant(Array::uniform(&[n, m], -1.1, 1.1, 4)),
        );
        let close = |a: Pair<Concrete>, b: Pair<Concrete>| {
            for (a, b) in [(a.0, b.0), (a.1, b.1)].iter().flat_map(|(a, b)| a.to_vec().into_iter().zip(b.to_vec())) {
                assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()), "{a} and {b} of {n} x {m}");
            }
        };
        let known = grad(|(x, a): &Pair<_>| recurrences_by_loop(x, a), &x);
        close(grad(|(x, a): &Pair<_>| weighted(&x.linear_recurrence(a, 0)), &x), known.clone());
        let turned = |(x, a): &(Tensor<_, 2>, Tensor<_, 2>)| weighted(&x.t().linear_recurrence(&a.t(), 1).t());
        close(Function::grad(turned, &x).run(&x).expect("the same shapes"), known);
    }
}

/// The product of all but one, in that one: by definition.
fn others(x: &[f64]) -> Vec<f64> {
    (0..x.len()).map(|k| x.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, v)| v).product()).collect()
}

#[test]
fn the_gradient_of_a_product_is_right_at_zeros() {
    let no_zero = vec![2.0, -3.0, 0.5, 4.0, -1.0];
    let one_zero = vec![2.0, 0.0, 0.5, 4.0, -1.0];
    let two_zeros = vec![2.0, 0.0, 0.5, 0.0, -1.0];
    for x in [no_zero, one_zero, two_zeros, vec![], vec![0.0], vec![0.0, 3.0], vec![3.0, 0.0, 2.0]] {
        let t: Tensor<Concrete, 1> = Tensor::constant(Array::from(x.clone()));
        assert_eq!(t.prod().item(), x.iter().product::<f64>());
        assert_eq!(grad(|x| x.prod(), &t).to_vec(), others(&x), "at {x:?}");
        // And the second derivative: of the sum of the gradient, the products of all but two, twice.
        let second = grad(|x| grad(|x| x.prod(), x).sum(), &t).to_vec();
        for (k, s) in second.iter().enumerate() {
            let mut rest = x.clone();
            rest.remove(k);
            assert_eq!(*s, others(&rest).iter().sum::<f64>(), "at {x:?}");
        }
    }
}

fn weighted_runs<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let w = Tensor::linspace(0.5, 2.0, x.len());
    x.cumprod(0).dot(&w) + x.cumprod_reverse(0).square().dot(&w) + x.cummax(0).dot(&w) - x.cummin_reverse(0).dot(&w)
}

fn products<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    x.cumprod(0).dot(&Tensor::linspace(0.5, 2.0, x.len())) + x.cumprod_reverse(0).square().sum()
}

type Program<T> = fn(&Tensor<T, 1>) -> Tensor<T, 0>;

#[test]
fn gradients_of_runs_match_finite_differences() {
    let h = 1e-6;
    // Extrema of ties have one-sided derivatives only, so several zeros are for products.
    let several = vec![0.5, 0.0, 1.5, 0.125, -0.0, 1.25, -2.0];
    let one = vec![0.5, 0.0, 1.5, -0.25, 0.75, 1.25];
    let (f, g): ([Program<Concrete>; 2], [Program<ADVal<Concrete>>; 2]) =
        ([products, weighted_runs], [products, weighted_runs]);
    for (x, (f, dual)) in [several, one].into_iter().zip(f.into_iter().zip(g)) {
        for (k, g) in grad(dual, &tensor(x.clone())).to_vec().into_iter().enumerate() {
            let at = |step: f64| {
                let mut moved = x.clone();
                moved[k] += step;
                f(&tensor(moved)).item()
            };
            let fd = (at(h) - at(-h)) / (2.0 * h);
            assert!((fd - g).abs() <= 1e-7 * g.abs().max(1.0), "element {k} of {x:?}: {fd} and {g}");
        }
    }
}

#[test]
fn ties_send_the_derivative_to_one() {
    let x = tensor([1.0, 3.0, 2.0, 3.0]);
    assert_eq!(grad(|x| x.cummax(0).sum(), &x), tensor([1.0, 3.0, 0.0, 0.0]));
    assert_eq!(grad(|x| x.cummax_reverse(0).sum(), &x), tensor([0.0, 0.0, 0.0, 4.0]));
    assert_eq!(grad(|x| (-x).cummin(0).sum(), &x), tensor([-1.0, -3.0, 0.0, 0.0]));
    assert_eq!(grad(|x| (-x).cummin_reverse(0).sum(), &x), tensor([0.0, 0.0, 0.0, -4.0]));
}

fn everything<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 1> {
    let (top, positions) = x.sort(1).top_k(0, 2);
    let runs = x.cumsum(0) + x.cumprod_reverse(1) + x.cummax(1) + x.cummin(0);
    top.prod_axis(0) + runs.sum_axis(0) + positions.to_float().sum_axis(0)
}

#[test]
fn nothing_here_peeks() {
    let x = Rng::new(6).uniform(&[4, 3], -1.0, 1.0);
    let seen = everything(&Tensor::<Concrete, 2>::constant(x.clone()));
    let unseen = everything(&Tensor::<Blind, 2>::constant(x));
    assert_eq!(seen.array(), &unseen.raw().0);
}
