//! Sums and extrema by group, search in sorted vectors, interpolation, running soft maxima: each by its definition.

use polygrad::array::Rng;
use polygrad::direct::grad;
use polygrad::{Array, Concrete, Tensor, tensor};

type Vector = Tensor<Concrete, 1>;
type Matrix = Tensor<Concrete, 2>;

fn random<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<Concrete, D> {
    Tensor::constant(Rng::new(seed).uniform(&shape, -2.0, 2.0))
}

fn groups(rows: usize, n: usize, seed: u64) -> Tensor<Concrete, 1, i64> {
    let mut rng = Rng::new(seed);
    // Some are out of bounds, on either side.
    Tensor::constant(Array::from((0..rows).map(|_| rng.below(n + 2) as i64 - 1).collect::<Vec<i64>>()))
}

#[track_caller]
fn close<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    for (a, b) in a.to_vec().into_iter().zip(b.to_vec()) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{a} and {b}");
    }
}

#[test]
fn groups_are_summed_and_searched_row_by_row() {
    for (rows, n) in [(0, 3), (1, 1), (9, 4), (20, 3), (6, 9), (5, 0)] {
        let ids = groups(rows, n, rows as u64);
        let x = random([rows, 2], 1);
        let (sum, max, min) = (x.segment_sum(&ids, n), x.segment_max(&ids, n), x.segment_min(&ids, n));
        for g in 0..n {
            for j in 0..2 {
                let member = |i: &usize| ids.at([*i]).item() == g as i64;
                let of = || (0..rows).filter(member).map(|i| x.at([i, j]).item());
                assert!((sum.at([g, j]).item() - of().sum::<f64>()).abs() < 1e-14);
                assert_eq!(max.at([g, j]).item(), of().fold(f64::NEG_INFINITY, f64::max));
                assert_eq!(min.at([g, j]).item(), of().fold(f64::INFINITY, f64::min));
            }
        }
        assert_eq!((sum.shape(), max.shape()), ([n, 2], [n, 2]));
        // Sums over all groups are those over all rows that have one.
        let kept = (ids.ge(0) & ids.lt(n as i64)).to_float::<f64>();
        close(&sum.sum_outer::<1>(), &kept.vecmat(&x), 1e-14);
    }
    assert_eq!(tensor([1, 2, 4]).segment_sum(&tensor([1, 1, 0]), 2), tensor([4, 3]));
}

#[test]
fn extrema_of_groups_of_special_values() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let x = tensor([1.0, nan, -inf, inf, 2.0, nan]);
    let ids = tensor([0, 1, 2, 0, 1, 9]);
    let max = x.segment_max(&ids, 4).to_vec();
    assert_eq!((max[0], max[2], max[3]), (inf, -inf, -inf));
    assert!(max[1].is_nan());
    let min = x.segment_min(&ids, 4).to_vec();
    assert_eq!((min[0], min[2], min[3]), (1.0, -inf, inf));
    assert!(min[1].is_nan());
}

#[test]
fn derivatives_of_groups_go_to_their_rows() {
    let ids = tensor([0, 1, 0, 1, 0]);
    let x = tensor([3.0, 1.0, 5.0, 1.0, 5.0]);
    let w = tensor([10.0, 100.0]);
    assert_eq!(grad(|x: &Tensor<_, 1>| x.segment_sum(&ids.lift(), 2).dot(&w.lift()), &x), w.take(&ids));
    // Ties: the first.
    let top = grad(|x: &Tensor<_, 1>| x.segment_max(&ids.lift(), 2).dot(&w.lift()), &x);
    assert_eq!(top, tensor([0.0, 100.0, 10.0, 0.0, 0.0]));
    let low = polygrad::grad(|x: &Tensor<_, 1>| x.segment_min(&ids.lift(), 2).dot(&w.lift()), &x);
    assert_eq!(low, tensor([10.0, 100.0, 0.0, 0.0, 0.0]));
}

#[test]
fn searches_count_what_is_at_most_as_large() {
    for n in 0..20 {
        let mut sorted = random([n], n as u64).round().to_vec();
        sorted.sort_by(f64::total_cmp);
        let x = [-9.0, -2.0, -1.5, 0.0, 1.0, 1.9, 2.0, 9.0, f64::INFINITY, f64::NAN];
        let found = tensor(sorted.clone()).search_sorted(&tensor(x));
        for (x, found) in x.iter().zip(found.to_vec()) {
            assert_eq!(found, sorted.iter().filter(|s| *s <= x).count() as i64, "{x} in {sorted:?}");
        }
    }
    assert_eq!(tensor([1, 3, 5]).search_sorted(&tensor([[0, 3], [4, 9]])), tensor([[0, 2], [2, 3]]));
}

#[test]
fn a_search_takes_logarithmic_work() {
    let work = |n: usize| {
        let sorted = Vector::linspace(0.0, 1.0, n);
        let (_, tally) =
            polygrad::inspect::count(|x: &Tensor<_, 1>| sorted.lift().search_sorted(x).sum(), &random([100], 1));
        tally.total().work
    };
    let (small, large) = (work(1 << 8), work(1 << 16));
    assert!(large < 2 * small + 1000, "{small} and {large}");
}

/// `numpy.interp`, by its definition.
fn interpolated(x: f64, xp: &[f64], fp: &[f64]) -> f64 {
    let last = xp.len() - 1;
    if x <= xp[0] {
        return fp[0];
    }
    match (0..last).find(|k| x <= xp[k + 1]) {
        Some(k) => fp[k] + (fp[k + 1] - fp[k]) * (x - xp[k]) / (xp[k + 1] - xp[k]),
        None => fp[last],
    }
}

#[test]
fn interpolation_is_piecewise_linear() {
    for n in 1..7 {
        let mut xp = random([n], n as u64).to_vec();
        xp.sort_by(f64::total_cmp);
        let fp = random([n], 50).to_vec();
        let x = Tensor::linspace(-3.0, 3.0, 41);
        let y = x.interp(&tensor(xp.clone()), &tensor(fp.clone()));
        for (x, y) in x.to_vec().into_iter().zip(y.to_vec()) {
            assert!((y - interpolated(x, &xp, &fp)).abs() < 1e-13, "{x} in {xp:?}");
        }
        // At the points, exactly.
        assert_eq!(tensor(xp.clone()).interp(&tensor(xp.clone()), &tensor(fp.clone())), tensor(fp.clone()));
        let nan: Vector = tensor([f64::NAN]).interp(&tensor(xp), &tensor(fp));
        assert!(nan.is_nan().all().item());
    }
    let far = tensor([-f64::INFINITY, f64::INFINITY]).interp(&tensor([0.0, 1.0]), &tensor([3.0, 4.0]));
    assert_eq!(far, tensor([3.0, 4.0]));
}

#[test]
fn slopes_of_interpolation_are_as_documented() {
    let (xp, fp) = (tensor([0.0, 1.0, 3.0]), tensor([0.0, 10.0, 0.0]));
    let slope = |x: Vector| grad(|x: &Tensor<_, 1>| x.interp(&xp.lift(), &fp.lift()).sum(), &x);
    // Outside, at the points, within.
    assert_eq!(slope(tensor([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])), tensor([0.0, 10.0, 10.0, -5.0, -5.0, -5.0, 0.0]));
    let of_values = grad(|fp: &Tensor<_, 1>| tensor([0.25, 2.0]).lift().interp(&xp.lift(), fp).sum(), &fp);
    assert_eq!(of_values, tensor([0.75, 0.75, 0.5]));
}

#[test]
fn grids_are_interpolated_along_each_axis() {
    let grid = random([3, 4], 7);
    // At the points, exactly; a bilinear function, everywhere within.
    let (i, j) = (tensor([0, 2, 1, 2]), tensor([3, 0, 1, 3]));
    assert_eq!(grid.interp_grid([&i.to_float(), &j.to_float()]), grid.gather([&i, &j]));
    let (rows, columns) = (Matrix::iota_of(0), Matrix::iota_of(1));
    let bilinear = &rows * &columns * 2.0 - &rows + 3.0;
    let (u, v) = (random([50], 8).abs(), random([50], 9).abs() * 1.5);
    let exact = &u * &v * 2.0 - &u + 3.0;
    close(&bilinear.interp_grid([&u, &v]), &exact, 1e-14);
    // Outside the border counts.
    close(
        &grid.interp_grid([&tensor([-5.0, 9.0]), &tensor([9.0, 0.5])]).slice(0, ..1),
        &grid.at([0, 3]).replicate(1),
        0.0,
    );
    // On one axis it is interp on whole numbers.
    let line: Vector = grid.row(1);
    let x = Tensor::linspace(-1.0, 4.0, 21);
    close(&line.interp_grid([&x]), &x.interp(&Tensor::linspace(0.0, 3.0, 4), &line), 1e-14);
    assert_eq!(tensor([[5.0, 7.0]]).interp_grid([&tensor(0.3), &tensor(0.5)]), tensor(6.0));
    let slope = |x: Vector| grad(|x: &Tensor<_, 1>| tensor([0.0, 1.0, 5.0]).lift().interp_grid([x]).sum(), &x);
    assert_eq!(slope(tensor([-1.0, 0.0, 1.0, 2.0, 3.0])), tensor([0.0, 1.0, 4.0, 4.0, 0.0]));
}

/// Positions along an axis, for tests.
trait Positions {
    fn iota_of(axis: usize) -> Matrix;
}

impl Positions for Matrix {
    fn iota_of(axis: usize) -> Matrix {
        let n = [3, 4];
        let iota: Vector = Tensor::linspace(0.0, (n[axis] - 1) as f64, n[axis]);
        iota.insert_axis(1 - axis).broadcast_to(n)
    }
}

#[test]
fn running_soft_maxima_are_those_of_the_lines_before() {
    let x = random([3, 7], 10) * 300.0;
    let y = x.cumlogsumexp(1);
    for k in 0..7 {
        let whole: Vector = x.slice(1, ..=k).logsumexp_axis(1);
        close(&y.slice(1, k..=k).remove_axis(1), &whole, 1e-14);
    }
    let inf = f64::INFINITY;
    assert_eq!(tensor([-inf, -inf, 2.0, inf]).cumlogsumexp(0), tensor([-inf, -inf, 2.0, inf]));
    assert_eq!(tensor([inf, 1.0, -inf]).cumlogsumexp(0), tensor([inf, inf, inf]));
    let nan = tensor([1.0, f64::NAN, 2.0]).cumlogsumexp(0).to_vec();
    assert!(nan[0] == 1.0 && nan[1].is_nan() && nan[2].is_nan());
    // Maxima that grow by more than a float can: the elements before are lost without a NaN.
    let steps = tensor([-1e300, -700.0, 0.0, 700.0, 1e300]);
    assert_eq!(steps.cumlogsumexp(0), steps);
    assert_eq!(grad(|x: &Tensor<_, 1>| x.cumlogsumexp(0).sum(), &steps), tensor([1.0; 5]));
    // After nothing comes a number whose exponential is less than any float.
    let late = tensor([-inf, -800.0, -790.0, -1e300]);
    let last = -790.0 + (-10f64).exp().ln_1p();
    assert_eq!(late.cumlogsumexp(0), tensor([-inf, -800.0, last, last]));
    // A prefix of `-inf` alone has derivative 0.
    let none = grad(|x: &Tensor<_, 1>| x.cumlogsumexp(0).sum(), &tensor([-inf, -inf, 0.5]));
    assert_eq!(none, tensor([0.0, 0.0, 1.0]));
    // The last is logsumexp: its derivative is the softmax.
    let x = random([6], 11);
    let g = grad(|x: &Tensor<_, 1>| x.cumlogsumexp(0).row::<0>(5), &x);
    close(&g, &x.softmax(0), 1e-14);
}
