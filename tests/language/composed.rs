//! Operations that are made of others, each against its definition: statistics, masks, rearrangements, updates,
//! activations and losses.

use polygrad::array::Rng;
use polygrad::direct::{grad, vjp};
use polygrad::tensor::Norm;
use polygrad::{ADVal, Concrete, Tensor, direct, tensor};

type Vector = Tensor<Concrete, 1>;
type Matrix = Tensor<Concrete, 2>;

fn random<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<Concrete, D> {
    Tensor::constant(Rng::new(seed).uniform(&shape, -2.0, 2.0))
}

#[track_caller]
fn close<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    for (a, b) in a.to_vec().into_iter().zip(b.to_vec()) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{a} and {b}");
    }
}

/// The columns of a matrix.
fn columns(x: &Matrix) -> Vec<Vec<f64>> {
    let [n, m] = x.shape();
    (0..m).map(|j| (0..n).map(|i| x.at([i, j]).item()).collect()).collect()
}

// ---- statistics ----

/// Numbers computed by NumPy 2: `numpy.std([1, 2, 4, 8, 16], ddof=0)`, and so on.
#[test]
fn moments_are_those_of_numpy() {
    let x = tensor([1.0, 2.0, 4.0, 8.0, 16.0]);
    close(&x.var(), &tensor(29.76), 1e-15);
    close(&x.std(), &tensor(5.455272678794342), 1e-15);
    close(&x.var_ddof(1), &tensor(37.2), 1e-15);
    close(&x.std_ddof(1), &tensor(6.099180272790763), 1e-15);
    assert_eq!(x.median(), tensor(4.0));
    close(&x.quantile(0.3), &tensor(2.4), 1e-15);
    close(&x.quantile(0.9), &tensor(12.8), 1e-15);
}

/// As many degrees of freedom as numbers, or more, leave none.
#[test]
fn there_is_no_variance_without_a_degree_of_freedom() {
    for ddof in 2..5 {
        let x: Vector = tensor([1.0, 3.0]);
        assert!(x.var_ddof(ddof).item().is_nan() && x.std_ddof(ddof).item().is_nan(), "{ddof}");
    }
}

#[test]
fn lines_and_wholes_have_the_same_moments() {
    let x = random([5, 4], 1);
    for ddof in 0..4 {
        let (var, std): (Vector, Vector) = (x.var_axis_ddof(0, ddof), x.std_axis_ddof(0, ddof));
        close(&std.square(), &var, 1e-14);
        for (j, column) in columns(&x).into_iter().enumerate() {
            let mean = column.iter().sum::<f64>() / 5.0;
            let sum: f64 = column.iter().map(|v| (v - mean).powi(2)).sum();
            close(&var.at([j]), &tensor(sum / (5 - ddof) as f64), 1e-14);
            close(&tensor(column).std_ddof(ddof), &std.at([j]), 1e-14);
        }
    }
    close(&x.std_axis::<1>(1), &x.t().std_axis(0), 1e-15);
    close(&x.var_axis::<1>(1), &x.var_axis_ddof(1, 0), 1e-15);
}

#[test]
fn too_few_elements_have_no_variance() {
    assert!(tensor([1.0f64]).var_ddof(1).item().is_nan());
    assert!(tensor([1.0f64, 2.0]).std_ddof(3).item().is_nan());
    assert!(Vector::zeros([0]).std().item().is_nan());
    assert_eq!(tensor([1.0]).std(), tensor(0.0));
    assert_eq!(Matrix::zeros([3, 0]).std_axis_ddof::<1>(0, 1).shape(), [0]);
}

#[test]
fn a_deviation_of_zero_has_derivative_zero() {
    let x = tensor([2.0, 2.0, 2.0]);
    assert_eq!(grad(|x| x.std(), &x), tensor([0.0; 3]));
    assert_eq!(polygrad::grad(|x| x.std_ddof(1), &x), tensor([0.0; 3]));
    // (x - mean) / (n std), and another zero beside it.
    let x = tensor([[1.0, 5.0], [3.0, 3.0]]);
    assert_eq!(grad(|x| x.std_axis::<1>(1).sum(), &x), tensor([[-0.5, 0.5], [0.0, 0.0]]));
    let curved = grad(|x| grad(|x| x.std_axis::<1>(1).sum(), x).square().sum(), &x);
    assert_eq!(curved.row::<1>(1), tensor([0.0, 0.0]));
    assert!(grad(|x| x.std(), &tensor([1.0, f64::NAN])).to_vec().iter().all(|g| g.is_nan()));
}

#[test]
fn norms_have_their_properties() {
    let (x, y) = (random([3, 5], 2), random([3, 5], 3));
    for order in [Norm::One, Norm::Two, Norm::Infinity] {
        let norm = |x: &Matrix| -> Vector { x.norm_axis(1, order) };
        close(&norm(&(&x * -3.0)), &(norm(&x) * 3.0), 1e-15);
        assert!(norm(&(&x + &y)).le(&(norm(&x) + norm(&y) + 1e-15)).all().item());
        close(&x.t().norm_axis(0, order), &norm(&x), 1e-15);
        assert_eq!(Matrix::zeros([3, 0]).norm_axis(1, order), tensor([0.0; 3]));
        assert!(norm(&(&x / 0.0 * 0.0)).is_nan().all().item());
        // Euler's theorem of homogeneous functions: x . grad |x| = |x|.
        let g = grad(|x: &Tensor<ADVal<Concrete>, 2>| x.norm_axis::<1>(1, order).sum(), &x);
        close(&(g * &x).sum_axis(1), &norm(&x), 1e-14);
    }
    close(&x.norm_axis::<1>(0, Norm::Two).norm(), &x.norm(), 1e-15);
    // No overflow on the way.
    let (large, small) = (2f64.powi(1000), 2f64.powi(-1000));
    let lines = tensor([[3.0 * large, 4.0 * large], [3.0 * small, 4.0 * small]]);
    assert_eq!(lines.norm_axis(1, Norm::Two), tensor([5.0 * large, 5.0 * small]));
    assert_eq!(tensor([[f64::INFINITY, 1.0]]).norm_axis(1, Norm::Two), tensor([f64::INFINITY]));
}

#[test]
fn quantiles_interpolate_the_sorted_line() {
    for n in 1..9 {
        let x = random([n, 3], n as u64);
        for q in [0.0, 0.1, 0.25, 0.5, 0.77, 1.0] {
            let found: Vector = x.quantile_axis(0, q);
            for (j, mut column) in columns(&x).into_iter().enumerate() {
                column.sort_by(f64::total_cmp);
                let at = q * (n - 1) as f64;
                let (low, high) = (column[at.floor() as usize], column[at.ceil() as usize]);
                close(&found.at([j]), &tensor(low + (high - low) * at.fract()), 1e-14);
                close(&tensor(column).quantile(q), &found.at([j]), 1e-15);
            }
        }
        assert_eq!(x.median_axis::<1>(0), x.quantile_axis(0, 0.5));
        assert_eq!(x.quantile_axis::<1>(0, 1.0), x.max_axis(0));
        assert_eq!(x.quantile_axis::<1>(0, 0.0), x.min_axis(0));
    }
}

#[test]
fn quantiles_of_special_values() {
    let inf = f64::INFINITY;
    for q in [0.0, 0.3, 0.5, 1.0] {
        assert!(tensor([1.0, f64::NAN, 2.0, 3.0]).quantile(q).item().is_nan(), "{q}");
        assert_eq!(tensor([7.0]).quantile(q), tensor(7.0));
    }
    assert_eq!(tensor([-inf, 1.0, 2.0, inf, inf]).median(), tensor(2.0));
    assert_eq!(tensor([-inf, 1.0, 2.0, inf]).quantile(1.0 / 3.0), tensor(1.0));
    assert_eq!(tensor([1.0f32, 4.0, 2.0, 3.0]).median(), tensor(2.5f32));
}

#[test]
fn quantiles_send_the_derivative_to_the_elements_they_read() {
    let x = tensor([4.0, 1.0, 3.0, 2.0]);
    assert_eq!(grad(|x| x.quantile(0.25), &x), tensor([0.0, 0.25, 0.0, 0.75]));
    assert_eq!(grad(|x| x.median(), &tensor([5.0, 5.0, 5.0])), tensor([0.0, 1.0, 0.0]));
    let g = grad(|x| x.quantile_axis::<1>(1, 1.0).sum(), &tensor([[1.0, 9.0], [4.0, 2.0]]));
    assert_eq!(g, tensor([[0.0, 1.0], [1.0, 0.0]]));
}

// ---- masks ----

#[test]
fn masks_are_asked_about_lines_and_wholes() {
    let m = tensor([[true, false, true], [true, true, true]]);
    assert_eq!(m.any_axis(0), tensor([true; 3]));
    assert_eq!(m.all_axis(0), tensor([true, false, true]));
    assert_eq!((m.any(), m.all()), (tensor(true), tensor(false)));
    assert_eq!((!&m).any_axis(1), tensor([true, false]));
    let none = m.slice(1, ..0);
    assert_eq!((none.any(), none.all()), (tensor(false), tensor(true)));
    assert_eq!((none.any_axis(1), none.all_axis(1)), (tensor([false; 2]), tensor([true; 2])));
    assert_eq!(none.any_axis::<1>(0).shape(), [0]);
    assert_eq!((tensor(true).any(), tensor(false).all()), (tensor(true), tensor(false)));
}

/// A recorded program must not take all numbers for finite.
#[test]
fn special_floats_are_told_apart() {
    let x = tensor([0.0, -1.0, f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX]);
    let kinds = |x: &Vector| [x.is_nan(), x.is_finite(), x.is_infinite()].map(|m| m.to_vec());
    let [nan, finite, infinite] = kinds(&x);
    for (k, v) in x.to_vec().into_iter().enumerate() {
        assert_eq!((nan[k], finite[k], infinite[k]), (v.is_nan(), v.is_finite(), v.is_infinite()));
    }
    let repaired = polygrad::grad(|x| x.is_finite().select(x * 3.0, 0.0).sum(), &x);
    assert_eq!(repaired, tensor([3.0, 3.0, 0.0, 0.0, 0.0, 3.0]));
    let counted = polygrad::grad(|x: &Tensor<_, 1>| x.is_nan().select(1.0, x).sum(), &x);
    assert_eq!(counted, tensor([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]));
    assert_eq!(tensor([f32::NAN, f32::MAX]).is_nan(), tensor([true, false]));
}

// ---- rearrangements ----

#[test]
fn rolls_go_around() {
    let x = random([4, 3], 4);
    for (axis, n) in [(0, 4), (1, 3)] {
        for shift in -9..9 {
            let y = x.roll(axis, shift);
            for i in 0..4i64 {
                for j in 0..3i64 {
                    let from = |k: i64, on: usize| if on == axis { (k - shift).rem_euclid(n) } else { k };
                    assert_eq!(y.at([i, j]), x.at([from(i, 0), from(j, 1)]));
                }
            }
            assert_eq!(y.roll(axis, -shift), x);
            // The adjoint is the roll back.
            let (_, pullback) = vjp(|x: &Tensor<_, 2>| x.roll(axis, shift), &x);
            assert_eq!(pullback(&y), x);
        }
    }
    assert_eq!(Matrix::zeros([0, 2]).roll(0, 5).shape(), [0, 2]);
    assert_eq!(tensor([1, 2, 3]).roll(0, i64::MIN), tensor([1, 2, 3]).roll(0, i64::MIN % 3));
    assert_eq!(tensor([true, false]).roll(0, 1), tensor([false, true]));
}

#[test]
fn tiles_are_repeated_and_summed_back() {
    let x = random([2, 3], 5);
    for (r, s) in [(1, 1), (2, 1), (1, 4), (3, 2), (0, 2)] {
        let y = x.tile([r, s]);
        assert_eq!(y.shape(), [2 * r, 3 * s]);
        for i in 0..2 * r {
            for j in 0..3 * s {
                assert_eq!(y.at([i, j]), x.at([i % 2, j % 3]));
            }
        }
        let (_, pullback) = vjp(|x: &Tensor<_, 2>| x.tile([r, s]), &x);
        close(&pullback(&y), &(&x * (r * s) as f64), 1e-15);
    }
    assert_eq!(tensor([[1], [2]]).tile([2, 1]), tensor([[1], [2], [1], [2]]));
    assert_eq!(tensor(3.0).tile([]), tensor(3.0));
}

#[test]
fn differences_undo_running_sums() {
    let x = tensor([[3, 1, 4], [1, 5, 9], [2, 6, 5]]);
    assert_eq!(x.cumsum(0).diff(0), x.slice(0, 1..));
    assert_eq!(x.diff(1), tensor([[-2, 3], [4, 4], [4, -1]]));
    assert_eq!(Matrix::zeros([0, 2]).diff(0).shape(), [0, 2]);
    assert_eq!(Matrix::zeros([1, 2]).diff(0).shape(), [0, 2]);
    assert_eq!(
        grad(|x| x.diff(0).dot(&Tensor::constant([1.0, 10.0])), &tensor([1.0, 2.0, 3.0])),
        tensor([-1.0, -9.0, 10.0])
    );
}

#[test]
fn cross_products_are_orthogonal_to_their_factors() {
    let (a, b, c) = (random([6, 3], 6), random([6, 3], 7), random([6, 3], 8));
    let dots = |x: &Matrix, y: &Matrix| -> Vector { (x * y).sum_axis(1) };
    let y = a.cross(&b);
    for other in [&a, &b] {
        close(&dots(&y, other), &tensor([0.0; 6]), 1e-14);
    }
    assert_eq!(b.cross(&a), -&y);
    // Lagrange's identity and the cyclic symmetry of the triple product.
    close(&dots(&y, &y), &(dots(&a, &a) * dots(&b, &b) - dots(&a, &b).square()), 1e-13);
    close(&dots(&a.cross(&b), &c), &dots(&b.cross(&c), &a), 1e-14);
    for (k, unit) in [[1, 0, 0], [0, 1, 0], [0, 0, 1]].into_iter().enumerate() {
        let next = tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).row::<1>(k);
        assert_eq!(tensor(unit).cross(&next), tensor([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).row::<1>(k));
    }
    // One vector beside many.
    assert_eq!(a.cross(&b.slice(0, 2..3)).row::<1>(4), a.row::<1>(4).cross(&b.row(2)));
    // d/da of c . (a x b) is b x c.
    let g = grad(|a: &Tensor<ADVal<Concrete>, 2>| a.cross(&b.lift()).dot(&c.lift()), &a);
    close(&g, &b.cross(&c), 1e-14);
}

#[test]
fn kronecker_products_multiply_blockwise() {
    let (a, b) = (random([2, 3], 9), random([4, 2], 10));
    let y = a.kron(&b);
    for i in 0..8 {
        for j in 0..6 {
            assert_eq!(y.at([i, j]).item(), a.at([i / 4, j / 2]).item() * b.at([i % 4, j % 2]).item());
        }
    }
    // (a kron b)(c kron d) = (a c) kron (b d).
    let (c, d) = (random([3, 2], 11), random([2, 3], 12));
    close(&y.matmul(&c.kron(&d)), &a.matmul(&c).kron(&b.matmul(&d)), 1e-14);
    assert_eq!(tensor([1, 2]).kron(&tensor([1, 10, 100])), tensor([1, 10, 100, 2, 20, 200]));
    assert_eq!(tensor(2.0).kron(&tensor(3.0)), tensor(6.0));
}

// ---- updates ----

#[test]
fn set_replaces_what_at_reads() {
    let x = random([3, 4, 2], 13);
    let (row, line, v) = (random([4, 2], 14), random([2], 15), tensor(9.0));
    for i in -1..4i64 {
        let y = x.set([i], &row);
        assert_eq!(y.at([i]), if (0..3).contains(&i) { row.clone() } else { Tensor::zeros([4, 2]) });
        assert!((0..3).filter(|k| *k != i).all(|k| y.at::<_, 1, 2>([k]) == x.at([k])));
        let y = x.set([i, 1], &line);
        assert_eq!(y.eq(&x).to_int().sum(), tensor(if (0..3).contains(&i) { 22 } else { 24 }));
    }
    let y = x.set((tensor(2), 3, tensor(1)), &v);
    assert_eq!((y.at([2, 3, 1]), y.eq(&x).to_int().sum()), (v, tensor(23)));
    assert_eq!(tensor(1.0).set::<[i64; 0], 0, 0>([], &tensor(2.0)), tensor(2.0));
    // What is replaced has no effect, infinite or not.
    let x = tensor([1.0, f64::NAN, f64::INFINITY]).set([1], &tensor(2.0)).set([2], &tensor(-0.0));
    assert!(x.array().to_vec::<f64>().unwrap()[2].is_sign_negative());
    assert_eq!(x, tensor([1.0, 2.0, 0.0]));
    assert_eq!(tensor([true, true]).set([0], &tensor(false)), tensor([false, true]));
}

#[test]
fn replaced_elements_have_no_derivative() {
    let (x, v) = (tensor([1.0, 2.0, 3.0]), tensor(5.0));
    let (gx, gv) = grad(|(x, v): &(Tensor<_, 1>, Tensor<_, 0>)| x.set([1], v).square().sum(), &(x.clone(), v.clone()));
    assert_eq!((gx, gv), (tensor([2.0, 0.0, 6.0]), tensor(10.0)));
    let (gx, gv) = grad(|(x, v): &(Tensor<_, 1>, Tensor<_, 0>)| x.set([7], v).square().sum(), &(x.clone(), v));
    assert_eq!((gx, gv), (tensor([2.0, 4.0, 6.0]), tensor(0.0)));
    let w = tensor([8.0, 9.0]);
    let both = |(x, w): &(Tensor<_, 1>, Tensor<_, 1>)| x.set_slice(0, 1, w).square().sum();
    let (gx, gw) = polygrad::grad(both, &(x, w));
    assert_eq!((gx, gw), (tensor([2.0, 0.0, 0.0]), tensor([16.0, 18.0])));
}

#[test]
fn slices_are_replaced_and_added_to() {
    let x = random([4, 3], 16);
    for (axis, start, len) in [(0, 0, 4), (0, 1, 2), (0, 4, 0), (1, 2, 1), (1, 0, 2)] {
        let shape = if axis == 0 { [len, 3] } else { [4, len] };
        let v = random(shape, 17);
        let y = x.set_slice(axis, start, &v);
        assert_eq!(y.slice(axis, start..start + len), v);
        assert_eq!(y.slice(axis, ..start), x.slice(axis, ..start));
        assert_eq!(y.slice(axis, start + len..), x.slice(axis, start + len..));
        let added = x.clone().add_slice(axis, start, &v);
        close(&added, &x.set_slice(axis, start, &(x.slice(axis, start..start + len) + &v)), 1e-15);
    }
    assert_eq!(tensor([1, 2]).add_at([1], &tensor(5)).add_at([2], &tensor(5)), tensor([1, 7]));
}

// ---- activations and losses ----

/// Values computed with 30 digits by mpmath, of formulas that cancel in floats.
#[test]
fn activations_keep_their_digits_in_the_tails() {
    let x = tensor([-8.0, -3.0, 0.5, 3.0]);
    let gelu = tensor([-4.976768459417427e-15, -0.0040496940948902835, 0.34573123063700656, 2.99595030590511]);
    let silu = tensor([-0.002682801043731825, -0.14227761953270035, 0.3112296656009273, 2.8577223804672998]);
    for (found, exact) in [(x.gelu(), gelu), (x.silu(), silu)] {
        assert!(((found - &exact) / &exact).abs().max_all().item() < 1e-14);
    }
    assert!((x.gelu() - x.gelu_tanh()).abs().max_all().item() < 5e-4);
    let tanh = |x: &Vector| (((x.powi(3) * 0.044715 + x) * (2.0 / std::f64::consts::PI).sqrt()).tanh() + 1.0) * x * 0.5;
    close(&x.gelu_tanh(), &tanh(&x), 1e-15);
    // gelu(x) - gelu(-x) = x, and the same for silu.
    close(&(x.gelu() - (-&x).gelu()), &x, 1e-15);
    close(&(x.silu() - (-&x).silu()), &x, 1e-15);
    assert_eq!(grad(|x| x.gelu() + x.silu() + x.gelu_tanh(), &tensor(0.0)), tensor(1.5));
}

#[test]
fn logaddexp_is_right_at_infinities() {
    let inf = f64::INFINITY;
    let (x, y) = (tensor([-inf, -inf, inf, inf, 0.0, inf]), tensor([-inf, 2.0, 2.0, -inf, -inf, inf]));
    assert_eq!(x.logaddexp(&y), tensor([-inf, 2.0, inf, inf, 0.0, inf]));
    assert_eq!(y.logaddexp(&x), x.logaddexp(&y));
}

#[test]
fn cross_entropies_agree_with_the_formula() {
    let x = random([5, 3], 18);
    let labels = tensor([2, 0, 1, -1, 3]);
    let direct = |x: &Matrix| -> Vector { -(x.log_softmax(1) * labels.one_hot::<2, f64>(3)).sum_axis(1) };
    close(&x.cross_entropy(1, &labels), &direct(&x), 1e-14);
    close(&x.t().cross_entropy(0, &labels), &direct(&x), 1e-14);
    close(&x.cross_entropy_soft(1, &labels.one_hot(3)), &direct(&x), 1e-14);
    let g = grad(|x: &Tensor<ADVal<Concrete>, 2>| x.cross_entropy::<1>(1, &labels.lift()).sum(), &x);
    let softmax = x.softmax(1) - labels.one_hot(3);
    close(&g.slice(0, ..3), &softmax.slice(0, ..3), 1e-14);
    assert_eq!(g.slice(0, 3..), Tensor::zeros([2, 3]));
    // The mean of the losses of labels is that of the mean of labels.
    let p = tensor([[0.25, 0.25, 0.5]]).broadcast_to([5, 3]);
    let each = |k: i64| -> Vector { x.cross_entropy(1, &Tensor::full([5], k)) };
    close(&x.cross_entropy_soft(1, &p), &(each(0) * 0.25 + each(1) * 0.25 + each(2) * 0.5), 1e-14);
}

#[test]
fn cross_entropies_of_extreme_logits_are_exact() {
    let inf = f64::INFINITY;
    let x = tensor([[1e300, 0.0], [-1e4, 0.0], [1000.0, 1000.0 - 1e-9], [-inf, 3.0]]);
    let losses: Vector = x.cross_entropy(1, &tensor([0, 0, 0, 1]));
    assert_eq!(losses.slice(0, ..2), tensor([0.0, 1e4]));
    close(&losses.at([2]), &tensor(2f64.ln() - 5e-10), 1e-13);
    assert_eq!(losses.at([3]), tensor(0.0));
    // A probability of 0 beside a logit of -inf.
    let last = x.slice(0, 3..);
    let soft = |x: &Tensor<_, 2>| x.cross_entropy_soft::<1>(1, &Tensor::constant([[0.0, 1.0]]));
    let (loss, pullback) = direct::vjp(soft, &last);
    assert_eq!((loss, pullback(&tensor([1.0]))), (tensor([0.0]), tensor([[0.0, 0.0]])));
    assert_eq!(tensor([[0.0f32, 0.0]]).cross_entropy(1, &tensor([0])), tensor([2f32.ln()]));
}

/// What is traced is what is run: nothing looks at numbers.
#[test]
fn nothing_here_peeks() {
    use crate::blind::Blind;
    fn everything<T: polygrad::BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 1> {
        let row: Tensor<T, 1> = x.std_axis(0) + x.median_axis(0) + x.norm_axis(0, Norm::Two) + x.quantile_axis(0, 0.2);
        let moved = x.roll(0, 1).cross(&x.set([0], &row)).tile([1, 2]).diff(0);
        let losses = moved.gelu().silu().cross_entropy(1, &Tensor::constant([0i64, 2, 1]));
        let kept = losses.is_finite().all_axis::<0>(0).to_float::<f64>();
        moved.kron(&x.slice(0, ..1)).sum_axis(1) * losses + kept.replicate::<1>(3)
    }
    let x = Rng::new(20).uniform(&[4, 3], -1.0, 1.0);
    let seen = everything(&Tensor::<Concrete, 2>::constant(x.clone()));
    let unseen = everything(&Tensor::<Blind, 2>::constant(x));
    assert_eq!(seen.array(), &unseen.raw().0);
}
