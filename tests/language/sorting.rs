//! Sorting, products and running combinations: each against its definition, and its derivative against
//! the permutation, the adjoint or finite differences.

use polygrad::array::Rng;
use polygrad::direct::{grad, jvp, vjp};
use polygrad::{ADVal, Array, BaseTensor, Concrete, Tensor, tensor};

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
