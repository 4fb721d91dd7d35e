//! The typed surface: its laws and its type inference.
//!
//! Programs here are generic in the interpreter and carry one bound. Most run twice: on arrays, and
//! in an interpreter that never shows its numbers, so that nothing on the surface peeks.
#![allow(
    clippy::assign_op_pattern,
    clippy::needless_borrows_for_generic_args,
    reason = "every form of a call is tested"
)]

use polygrad::array::Values;
use polygrad::tensor::{Above, Operand, Rank};
use polygrad::{
    Array, BaseTensor, Concrete, Float, Tensor, build, build1, concat, cond, direct, fold, iterate, map, map_accum,
    map_accum_reverse, scan, stack, tensor, zip_with,
};

use crate::blind::Blind;

/// Runs a program of tensors in both interpreters, and returns the value they agree on.
macro_rules! both {
    ($program:ident $(, $x:expr)*) => {{
        let plain = $program($(&$x),*);
        let hidden = $program($(&Tensor::<Blind, _, _>::constant($x.array().clone())),*);
        assert!(hidden.peek().is_none());
        assert_eq!(plain.array(), &hidden.raw().0, "both interpreters agree");
        plain
    }};
}

fn close(a: &Tensor<Concrete, 1>, b: &[f64]) {
    let a = a.to_vec();
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{a:?} and {b:?}");
    }
}

// ---- operators and broadcasting ----

fn operators<T: BaseTensor>(x: &Tensor<T, 1>, y: &Tensor<T, 1>) -> Tensor<T, 1> {
    let mut a = x + y;
    a = &a - y.clone();
    a = a.clone() * y;
    a = a / y.clone();
    a += y;
    a -= y.clone();
    a *= 2.0;
    a /= 2.0;
    -(2.0 * &a - a + 1.0 - 1.0) * 0.5 / 0.25
}

#[test]
fn operators_have_all_ownership_forms() {
    let (x, y) = (tensor([1.0, 2.0, 3.0]), tensor([4.0, 0.5, -2.0]));
    assert_eq!(both!(operators, x, y), tensor([-2.0, -4.0, -6.0]));
}

fn integers<T: BaseTensor>(x: &Tensor<T, 1, i64>) -> Tensor<T, 1, i64> {
    let mut q = x / 2 + x % 2 * 10 - (7 - x).abs().neg();
    q %= 100;
    q.quot(1).rem(0)
}

#[test]
fn integer_operators_truncate_and_are_total() {
    assert_eq!(both!(integers, tensor([7, -7, 0])), tensor([13, 1, 7]));
    assert_eq!(tensor([5, -5]) / 0, tensor([5, -5]));
    assert_eq!(7 % tensor([4, 0]), tensor([3, 7]));
    assert_eq!(7 / tensor([2, 0]), tensor([3, 7]));
}

fn masks<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1, bool> {
    let small = x.lt(1.0);
    let large = x.gt(3.0);
    !(&small | large) & !small & x.ne(2.0)
}

#[test]
fn masks_combine() {
    assert_eq!(both!(masks, tensor([0.0, 1.0, 2.0, 3.0, 4.0])), tensor([false, true, false, true, false]));
}

#[test]
fn axes_of_size_one_are_repeated() {
    let row = tensor([[1.0, 2.0, 3.0]]);
    let column = tensor([[10.0], [20.0]]);
    let sum = tensor([[11.0, 12.0, 13.0], [21.0, 22.0, 23.0]]);
    assert_eq!(&row + &column, sum);
    assert_eq!(column.clone() + row.clone(), sum);
    assert_eq!(row.max(&column), column.broadcast_to([2, 3]));
    assert_eq!(row.lt(&column), tensor([[true; 3]; 2]));
    assert_eq!(row.gt(2.0).select(&row, &column), tensor([[10.0, 10.0, 3.0], [20.0, 20.0, 3.0]]));
    let mut total = row.clone();
    total += &column;
    assert_eq!(total, sum);
    // An axis of size 1 may also be repeated zero times.
    assert_eq!((row + Tensor::zeros([0, 3])).shape(), [0, 3]);
}

#[test]
fn the_adjoint_of_broadcasting_is_the_sum() {
    let row = tensor([[1.0, 2.0, 3.0]]);
    let column = tensor([[10.0], [20.0]]);
    let (a, b) = direct::grad(|(a, b): &(Tensor<_, 2>, Tensor<_, 2>)| (a * b).sum(), &(row, column));
    assert_eq!(a, tensor([[30.0, 30.0, 30.0]]));
    assert_eq!(b, tensor([[6.0], [6.0]]));
}

/// Where the elements are stored.
fn address<const D: usize>(x: &Tensor<Concrete, D>) -> *const f64 {
    match x.array().values::<f64>() {
        Some(Values::Dense(v)) => v.as_ptr(),
        Some(Values::Splat(_)) | None => panic!("dense floats are expected"),
    }
}

#[test]
fn stop_gradient_copies_nothing() {
    let x = tensor([1.0, 2.0]);
    assert_eq!(address(&x.stop_gradient()), address(&x));
}

#[test]
fn sums_and_carries_reuse_memory() {
    let (mut x, y) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    let start = address(&x);
    x = x + &y;
    x += &y;
    x += y.clone();
    assert_eq!(address(&x), start);
    let x = iterate(3, x, |i, c| {
        let c = c + &y;
        assert_eq!(address(&c), start);
        c.scatter_add([i], &tensor(0.5))
    });
    assert_eq!((address(&x), x), (start, tensor([19.5, 26.5])));
}

// ---- elementwise functions ----

#[test]
fn operands_may_be_tensors_or_numbers() {
    let x = tensor([1.0, 4.0, 9.0]);
    assert_eq!(x.max(5.0), tensor([5.0, 5.0, 9.0]));
    assert_eq!(x.min(x.clone() - 1.0), tensor([0.0, 3.0, 8.0]));
    assert_eq!(x.clamp(2.0, tensor([3.0, 3.0, 30.0])), tensor([2.0, 3.0, 9.0]));
    assert_eq!(x.pow(2.0), x.square());
    assert_eq!(x.pow(&tensor([0.0, 0.5, 1.5])), tensor([1.0, 2.0, 27.0]));
    assert_eq!(tensor([3, 5]).max(4), tensor([4, 5]));
    assert_eq!(tensor([f64::NAN, 1.0]).mul_no_nan(tensor([0.0, 2.0])), tensor([0.0, 2.0]));
    assert_eq!(tensor(0.0).atan2(1.0), tensor(0.0));
    assert_eq!(tensor([true, false]).eq(true), tensor([true, false]));
    assert_eq!(tensor([1.0, 2.0]).gt(1.5).select(1, 0), tensor([0, 1]));
}

#[test]
fn integer_powers_are_products() {
    for n in 0..9 {
        let product = (0..n).fold(tensor([1.0, 1.0]), |p, _| p * tensor([-3.0, 2.0]));
        assert_eq!(tensor([-3.0, 2.0]).powi(n), product);
        let inverse = (tensor([-3.0, 2.0]).powi(-n) * product - 1.0).abs().max_all();
        assert!(inverse.item() < 1e-15 * f64::from(n + 1), "{n}: {inverse:?}");
        let g = direct::grad(|x: &Tensor<_, 1>| x.powi(n).sum(), &tensor([-3.0, 2.0]));
        assert_eq!(g, tensor([-3.0, 2.0]).powi((n - 1).max(0)) * f64::from(n));
    }
}

/// A program generic in rank and element type: rounding to multiples of a half, with a smooth part.
fn generic_in_all<T: BaseTensor, const D: usize, E: Float>(x: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    let half = x.scale(2.0).round().scale(0.5);
    let far = (x - &half).abs().gt(E::of_f64(0.125));
    far.select(half.shift(100.0), E::ZERO) + x.powf(2.0)
}

#[test]
fn code_may_be_generic_in_rank_and_element() {
    assert_eq!(generic_in_all(&tensor([0.25, 0.5])), tensor([100.5625, 0.25]));
    assert_eq!(generic_in_all(&tensor(0.25f32)), tensor(100.5625f32));
}

/// Data become tensors of known numbers by three ways, without a word on the interpreter.
#[test]
fn tensors_of_data() {
    let numbers = vec![1.0, 2.0, 3.0, 4.0];
    assert_eq!(Tensor::from(numbers.clone()), tensor(&numbers));
    assert_eq!(Tensor::from(&numbers[..2]), tensor([1.0, 2.0]));
    assert_eq!(Tensor::from(vec![[1.0f32, 2.0], [3.0, 4.0]]), tensor([[1.0f32, 2.0], [3.0, 4.0]]));
    assert_eq!(Tensor::from([[[1, 2]], [[3, 4]]]), tensor([[[1, 2]], [[3, 4]]]));
    let one: Tensor<Concrete, 0, bool> = true.into();
    assert_eq!(one, tensor(true));
    let n = 2;
    assert_eq!(Tensor::new([n, n], numbers), tensor([[1.0, 2.0], [3.0, 4.0]]));
}

#[test]
fn conversions() {
    let x = tensor([-1.5, 0.25, 2.5]);
    assert_eq!(x.to_int().to_float::<f64>(), tensor([-1.0, 0.0, 2.0]));
    assert_eq!(x.cast::<f32>().cast::<f64>(), x);
    assert_eq!(x.cast::<f64>(), x);
    assert_eq!(x.gt(0.0).to_float(), tensor([0.0f32, 1.0, 1.0]));
    assert_eq!(x.gt(0.0).to_int(), tensor([0, 1, 1]));
    assert_eq!(x.floor() + x.ceil() + x.sign() + x.round(), tensor([-6.0, 2.0, 9.0]));
    let g = direct::grad(|x: &Tensor<_, 1>| (x.cast::<f32>().cast::<f64>() * x.stop_gradient()).sum(), &x);
    assert_eq!(g, x);
}

#[test]
fn scalar_conditions_choose_whole_tensors() {
    let (a, b) = (tensor([1.0, 2.0]), tensor([9.0, 9.0]));
    assert_eq!(cond(&tensor(true), &a, &b), a);
    assert_eq!(cond(&tensor(false), &a, &b), b);
    assert_eq!(cond(&tensor(false), &tensor(1), &tensor(2)), tensor(2));
}

#[test]
fn the_branch_not_taken_reaches_no_derivative() {
    let g = direct::grad(|x: &Tensor<_, 1>| x.gt(0.0).select(x.sqrt(), 0.0).sum(), &tensor([0.0, 4.0]));
    assert_eq!(g, tensor([0.0, 0.25]));
    let g = direct::grad(|x: &Tensor<_, 0>| cond(&x.gt(0.0), &x.ln(), &(x * 3.0)), &tensor(0.0));
    assert_eq!(g, tensor(3.0));
}

// ---- structure ----

fn numbers(shape: &[usize]) -> Array {
    Array::new(shape, (0..shape.iter().product::<usize>()).map(|i| i as f64).collect())
}

fn there_and_back<T: BaseTensor>(x: &Tensor<T, 3>) -> Tensor<T, 3> {
    let [a, b, c] = x.shape();
    let y = x.permute([2, 0, 1]).permute([1, 2, 0]).t().t().reverse(1).reverse(1);
    let y = y.pad([(1, 2), (0, 1), (3, 0)]).slice(0, 1..=a).slice(1, ..b).slice(2, 3..);
    let y = y.insert_axis(1).remove_axis(1).flatten().reshape([a, b, c]);
    let y = concat(2, [&y.slice(2, ..1), &y.slice(2, 1..)]);
    stack(&(0..a).map(|i| y.row(i)).collect::<Vec<_>>())
}

#[test]
fn structure_methods_undo_each_other() {
    for shape in [[2, 3, 4], [1, 1, 1], [3, 1, 2]] {
        let x = Tensor::<Concrete, 3>::constant(numbers(&shape));
        assert_eq!(both!(there_and_back, x), x);
        let g = direct::grad(|x: &Tensor<_, 3>| (there_and_back(x) * x.stop_gradient()).sum(), &x);
        assert_eq!(g, x);
    }
}

#[test]
fn views_read_what_they_say() {
    let x = Tensor::<Concrete, 2>::constant(numbers(&[3, 4]));
    assert_eq!(x.t().shape(), [4, 3]);
    assert_eq!(x.row(1), tensor([4.0, 5.0, 6.0, 7.0]));
    assert_eq!(x.slice_step(1, 1.., 2), tensor([[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]]));
    assert_eq!(x.slice_step(1, .., 3), tensor([[0.0, 3.0], [4.0, 7.0], [8.0, 11.0]]));
    assert_eq!(x.slice(0, 3..).shape(), [0, 4]);
    assert_eq!(x.slice(1, ..3).diagonal(0, 1), tensor([0.0, 5.0, 10.0]));
    assert_eq!(x.row(0).window(0, 2, 2), tensor([[0.0, 1.0], [2.0, 3.0]]));
    assert_eq!(x.replicate(2).sum_outer(), &x * 2.0);
    assert_eq!(x.replicate_axis(2, 2).shape(), [3, 4, 2]);
    assert_eq!(x.replicate_axis(1, 2).sum_axis(1), &x * 2.0);
    assert_eq!(x.insert_axis(2).shape(), [3, 4, 1]);
    assert_eq!(x.row(0).insert_axis(1).broadcast_to([4, 2]), x.row(0).replicate_axis(1, 2));
    let mask = tensor([[true, false]]);
    assert_eq!(mask.t().replicate(1), tensor([[[true], [false]]]));
}

#[test]
fn sums_over_axes_agree() {
    let x = Tensor::<Concrete, 3>::constant(numbers(&[2, 3, 4]));
    assert_eq!(x.sum(), tensor(276.0));
    assert_eq!(x.sum_axes([0, 1, 2]), x.sum());
    assert_eq!(x.sum_axes([]), x);
    assert_eq!(x.sum_axes([2, 0]), x.sum_axis(2).sum_outer());
    assert_eq!(x.sum_outer(), x.row(0) + x.row(1));
    assert_eq!(Tensor::<Concrete, 2>::zeros([0, 3]).sum_outer(), tensor([0.0; 3]));
}

// ---- products ----

/// Products from their definition by indices.
fn by_index<T: BaseTensor>(a: &Tensor<T, 2>, b: &Tensor<T, 2>) -> Tensor<T, 2> {
    build([a.dim::<0>(), b.dim::<1>()], |[i, j]| build1(a.dim::<1>(), |p| a.at([i, p]) * b.at([p, j])).sum_outer())
}

fn by_contraction<T: BaseTensor>(a: &Tensor<T, 2>, b: &Tensor<T, 2>) -> Tensor<T, 2> {
    a.matmul(b)
}

#[test]
fn products_agree_with_their_definition() {
    let a = Tensor::<Concrete, 2>::constant(numbers(&[2, 3]));
    let b = Tensor::<Concrete, 2>::constant(numbers(&[3, 4]));
    let product = both!(by_index, a, b);
    assert_eq!(both!(by_contraction, a, b), product);
    assert_eq!(b.t().matmul(&a.t()), product.t());
    let column = b.t().row(1);
    assert_eq!(a.matvec(&column), product.t().row(1));
    assert_eq!(a.row(1).vecmat(&b), product.row(1));
    assert_eq!(a.row(1).dot(&column), product.at([1, 1]));
    assert_eq!(a.replicate(2).batched_matmul(&stack([&b, &(&b * 2.0)])), stack([&product, &(&product * 2.0)]));
    assert_eq!(a.dot(&a), a.square().sum());
    let outer: Tensor<Concrete, 3> = a.row(0).outer(&b);
    assert_eq!(outer, build([3, 3, 4], |[i, j, k]| a.at((0, i)) * b.at([j, k])));
    assert_eq!(tensor(3.0).outer(&a), &a * 3.0);
    assert_eq!(tensor([[1, 2], [3, 4]]).matvec(&tensor([1, -1])), tensor([-1, -1]));
    assert_eq!(Tensor::<Concrete, 2>::eye(3).matmul(&b), b);
    // Stepwise to add up.
    let empty = Tensor::<Concrete, 2>::zeros([2, 0]);
    assert_eq!(empty.matmul(&empty.t()), Tensor::zeros([2, 2]));
}

// ---- reductions ----

fn statistics<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 1> {
    let (m, v, n) = (x.mean(), x.var(), x.norm());
    let all = stack([&m, &v, &n, &x.max_all(), &x.min_all()]);
    concat(0, [&all, &x.mean_axis(0), &x.var_axis(1), &x.max_axis(0), &x.min_axis(1)])
}

#[test]
fn statistics_agree_with_their_definition() {
    let x = tensor([[2.0, -1.0], [0.0, 3.0]]);
    let s = both!(statistics, x);
    let expected = [1.0, 2.5, 14f64.sqrt(), 3.0, -1.0, 1.0, 1.0, 2.25, 2.25, 2.0, 3.0, -1.0, 0.0];
    close(&s, &expected);
    let middle = Tensor::<Concrete, 3>::constant(numbers(&[2, 3, 2]));
    assert_eq!(middle.max_axis(1), tensor([[4.0, 5.0], [10.0, 11.0]]));
    assert_eq!(middle.argmin_axis(1), tensor([[0, 0], [0, 0]]));
    assert_eq!(middle.max_axis(2), middle.slice(2, 1..).remove_axis(2));
    assert_eq!(tensor([3, 1, 2]).min_all(), tensor(1));
    assert_eq!(tensor([3, 1, 1]).argmin(), tensor(1));
    assert_eq!(tensor([3.0, 1.0, 3.0]).argmax(), tensor(0));
    assert!(tensor([1.0, f64::NAN]).max_all().item().is_nan());
    assert!(Tensor::<Concrete, 1>::zeros([0]).mean().item().is_nan());
    assert_eq!(Tensor::<Concrete, 2>::zeros([0, 3]).max_axis(1).shape(), [0]);
}

#[test]
fn extrema_send_the_derivative_to_the_first() {
    let x = tensor([[1.0, 5.0, 5.0], [7.0, 7.0, 2.0]]);
    let g = direct::grad(|x: &Tensor<_, 2>| x.max_axis(1).sum(), &x);
    assert_eq!(g, tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]));
    let g = direct::grad(|x: &Tensor<_, 2>| x.max_all(), &x);
    assert_eq!(g, tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]));
}

#[test]
fn the_norm_neither_overflows_nor_breaks_at_zero() {
    for scale in [1e-300f64, 1.0, 1e300] {
        let n = (tensor([3.0, 4.0]) * scale).norm().item();
        assert!((n / scale - 5.0).abs() < 1e-14, "{n} for {scale}");
    }
    close(&direct::grad(|x: &Tensor<_, 1>| x.norm(), &tensor([3.0, -4.0])), &[0.6, -0.8]);
    assert_eq!(direct::grad(|x: &Tensor<_, 1>| x.norm(), &tensor([0.0, 0.0])), tensor([0.0, 0.0]));
    assert_eq!(tensor([f64::INFINITY, 1.0]).norm().item(), f64::INFINITY);
    assert!(tensor([f64::NAN, 1.0]).norm().item().is_nan());
    assert_eq!(Tensor::<Concrete, 1>::zeros([0]).norm(), tensor(0.0));
}

fn soft<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 1> {
    concat(0, [&x.logsumexp_axis(1), &x.softmax(1).flatten(), &x.log_softmax(1).flatten()])
}

#[test]
fn soft_extrema_are_stable() {
    let ln2 = 2f64.ln();
    let s = both!(soft, tensor([[0.0, 0.0], [1e6, 1e6]]));
    close(&s, &[ln2, 1e6 + ln2, 0.5, 0.5, 0.5, 0.5, -ln2, -ln2, -ln2, -ln2]);
    let x = tensor([[1.0, -2.0, 0.5], [3.0, 3.0, 800.0]]);
    let g = direct::grad(|x: &Tensor<_, 2>| x.logsumexp_axis(1).sum(), &x);
    close(&(g - x.softmax(1)).flatten(), &[0.0; 6]);
    close(&x.softmax(0).sum_outer(), &[1.0; 3]);
    close(&(x.log_softmax(0).exp() - x.softmax(0)).flatten(), &[0.0; 6]);
    assert_eq!(x.flatten().logsumexp().item(), 800.0);
}

#[test]
fn lines_of_two_have_the_logsumexp_of_longer_lines() {
    let inf = f64::INFINITY;
    let some = [0.0, -0.0, 1.5, -700.0, 1e300, -1e300, f64::MIN_POSITIVE, -inf, inf, f64::NAN];
    for (x, y) in some.iter().flat_map(|x| some.map(|y| (*x, y))) {
        let (two, three) = (tensor([x, y]), tensor([x, y, -inf]));
        let (a, b) = (two.logsumexp().item(), three.logsumexp().item());
        assert!(
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 4e-16 * b.abs().max(1.0),
            "{x}, {y}: {a} and {b}"
        );
        if x.max(y) == inf || x.is_nan() || y.is_nan() {
            continue;
        }
        let slope = |at: &Tensor<Concrete, 1>| direct::grad(|x: &Tensor<_, 1>| x.logsumexp(), at).to_vec();
        let curve = |at: &Tensor<Concrete, 1>| {
            direct::grad(|x: &Tensor<_, 1>| polygrad::grad(|x: &Tensor<_, 1>| x.logsumexp(), x).at([0]), at).to_vec()
        };
        for (a, b) in slope(&two).iter().chain(&curve(&two)).zip(slope(&three)[..2].iter().chain(&curve(&three)[..2])) {
            assert!((a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-15, "{x}, {y}: {a} and {b}");
        }
    }
    let rows = tensor([[0.5f32, -1.0], [3.0, 3.0], [-90.0, 90.0]]);
    let longer = concat(1, [&rows, &Tensor::<Concrete, 2, f32>::full([3, 1], f32::NEG_INFINITY)]);
    for lines in [rows.logsumexp_axis(1), rows.t().logsumexp_axis(0)] {
        for (a, b) in lines.to_vec().into_iter().zip(longer.logsumexp_axis(1).to_vec()) {
            assert!((a - b).abs() <= 2.0 * f32::EPSILON * b.abs(), "{a} and {b}");
        }
    }
}

#[test]
fn soft_extrema_of_infinities() {
    let inf = f64::INFINITY;
    let rows = tensor([[-inf, -inf], [0.0, -inf], [inf, 0.0]]);
    assert_eq!(rows.logsumexp_axis(1), tensor([-inf, 0.0, inf]));
    let g = direct::grad(|x: &Tensor<_, 2>| x.logsumexp_axis(1).sum(), &rows.slice(0, ..2));
    assert_eq!(g, tensor([[0.0, 0.0], [1.0, 0.0]]));
    assert_eq!(Tensor::<Concrete, 2>::zeros([2, 0]).logsumexp_axis(1), tensor([-inf, -inf]));
    assert!(tensor([f64::NAN, 0.0]).logsumexp().item().is_nan());
    assert_eq!(Tensor::<Concrete, 2>::zeros([2, 0]).softmax(1).shape(), [2, 0]);
}

// ---- indices ----

fn reads<T: BaseTensor>(x: &Tensor<T, 2>, i: &Tensor<T, 0, i64>) -> Tensor<T, 1> {
    let k: usize = 2;
    let elements = [x.at([i, i]), x.at([0, 1]), x.at((i, 0)), x.at((k, i.clone())), x.at([i + 1, i - 5])];
    stack(&elements).plus(&(x.at([i]).sum() + x.at((-1,)).sum()))
}

#[test]
fn indices_may_be_tensors_or_numbers() {
    let x = Tensor::<Concrete, 2>::constant(numbers(&[3, 2]));
    assert_eq!(both!(reads, x, tensor(1)), tensor([8.0, 6.0, 7.0, 10.0, 5.0]));
}

#[test]
fn scatter_is_the_adjoint_of_gather() {
    let x = Tensor::<Concrete, 2>::constant(numbers(&[3, 2]));
    let rows = tensor([[2, 0, 2], [1, -1, 7]]);
    let g = x.gather([&rows]);
    assert_eq!(g.shape(), [2, 3, 2]);
    let v = Tensor::<Concrete, 3>::constant(numbers(&[2, 3, 2]));
    let scattered = Tensor::zeros([3, 2]).scatter_add([&rows], &v);
    assert_eq!(g.dot(&v), x.dot(&scattered));
    assert_eq!(direct::grad(|x: &Tensor<_, 2>| (x.gather([&rows.lift()]) * v.lift()).sum(), &x), scattered);
    let elements = x.gather([&tensor([0, 2]), &tensor([1, 0])]);
    assert_eq!(elements, tensor([1.0, 4.0]));
    assert_eq!(x.take(&tensor([2, 0])), stack([&x.row(2), &x.row(0)]));
    let labels = tensor([[1], [0]]);
    assert_eq!(labels.one_hot::<3, f32>(2), tensor([[[0.0f32, 1.0]], [[1.0, 0.0]]]));
    let loss = -(x.take(&tensor([0, 1])) * tensor([1, 0]).one_hot(2)).sum();
    assert_eq!(loss, tensor(-3.0));
}

// ---- loops ----

fn convolution<T: BaseTensor>(x: &Tensor<T, 1>, w: &Tensor<T, 1>) -> Tensor<T, 1> {
    build1(x.len() - w.len() + 1, |i| build1(w.len(), |k| x.at([i + k]) * w.at([k])).sum_outer())
}

#[test]
fn building_by_index_infers_ranks() {
    let (x, w) = (tensor([1.0, 2.0, 3.0, 4.0]), tensor([1.0, -1.0]));
    assert_eq!(both!(convolution, x, w), tensor([-1.0, -1.0, -1.0]));
    assert_eq!(x.window(0, 2, 1).matvec(&w), convolution(&x, &w));
    let rows = build1(2, |i| x.times(&i.to_float()));
    assert_eq!(rows, stack([&(&x * 0.0), &x]));
    let four = build([2, 1, 2, 2], |[a, b, c, d]| a * 100 + b + c * 10 + d);
    assert_eq!(four.flatten(), tensor([0, 1, 10, 11, 100, 101, 110, 111]));
    let none: Tensor<Concrete, 2> = build([0, 3], |[_, j]| x.at([j]));
    assert_eq!(none.shape(), [0, 3]);
    assert_eq!(build([], |[]| x.clone()), x);
}

fn loops<T: BaseTensor>(xs: &Tensor<T, 2>, ys: &Tensor<T, 1>) -> Tensor<T, 1> {
    let norms = map(xs, |x| x * x).sum_axis(1);
    let dots = zip_with(xs, ys, |x, y| x.sum() * y);
    let (sums, products) = map((xs, ys), |(x, y)| (x.sum() + y, x.at([0]) * y));
    let total = fold(Tensor::scalar(0.0), ys, |c, y| c + y);
    let (last, (partial, before)) = map_accum(Tensor::scalar(0.0), (xs, ys), |c, (x, y)| {
        let next = &c + x.sum() * y;
        (next.clone(), (next, c))
    });
    let (first, suffix) = map_accum_reverse((total, Tensor::scalar(1.0)), ys, |(a, b), y| {
        let a = a + y;
        ((a.clone(), b * y), a)
    });
    let all = concat(0, [&norms, &dots, &sums, &products, &partial, &before, &suffix]);
    concat(0, [&all, &stack([&last, &first.0, &first.1])])
}

#[test]
fn loops_agree_with_their_definition() {
    let (xs, ys) = (tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tensor([2.0, 0.5, -1.0]));
    let norms = [5.0, 25.0, 61.0];
    let dots = [6.0, 3.5, -11.0];
    let (sums, products) = ([5.0, 7.5, 10.0], [2.0, 1.5, -5.0]);
    let (partial, before) = ([6.0, 9.5, -1.5], [0.0, 6.0, 9.5]);
    let suffix = [3.0, 1.0, 0.5];
    let expected = [norms, dots, sums, products, partial, before, suffix, [-1.5, 3.0, -1.0]].concat();
    assert_eq!(both!(loops, xs, ys).to_vec(), expected);
}

fn trajectory<T: BaseTensor>(xs: &Tensor<T, 1>) -> Tensor<T, 1> {
    let (position, speed) = scan((Tensor::scalar(0.0), Tensor::scalar(1.0)), xs, |(p, v), a| {
        let v = v + a;
        (p + &v, v)
    });
    position * 10.0 + speed
}

#[test]
fn scan_starts_with_the_initial_carry() {
    assert_eq!(both!(trajectory, tensor([1.0, -3.0])), tensor([1.0, 22.0, 9.0]));
    assert_eq!(both!(trajectory, Tensor::<Concrete, 1>::zeros([0])), tensor([1.0]));
    let rows = scan(tensor([1.0, 2.0]), &tensor([2.0, 3.0]), |c, x| c.times(x));
    assert_eq!(rows, tensor([[1.0, 2.0], [2.0, 4.0], [6.0, 12.0]]));
}

fn factorial<T: BaseTensor>(start: &Tensor<T, 0>) -> Tensor<T, 0> {
    let (product, steps) = iterate(5, (start.clone(), vec![Tensor::<T, 0, i64>::scalar(0)]), |i, (p, s)| {
        (p * (i + 1).to_float(), vec![&s[0] + 1])
    });
    product * steps[0].to_float()
}

#[test]
fn carries_may_be_any_tree() {
    assert_eq!(both!(factorial, tensor(1.0)), tensor(600.0));
    assert_eq!(direct::grad(|x: &Tensor<_, 0>| factorial(x), &tensor(1.0)), tensor(600.0));
    assert_eq!(iterate(0, tensor(4.0), |_, c| c * 2.0), tensor(4.0));
}

/// Differentiates through a loop written with a captured value, in a generic program.
fn newton<T: BaseTensor>(a: &Tensor<T, 0>) -> Tensor<T, 0> {
    iterate(6, a.clone(), |_, x| (&x + a / &x) * 0.5)
}

#[test]
fn loops_are_differentiated() {
    let g = direct::grad(|x: &Tensor<_, 0>| newton(x), &tensor(4.0)).item();
    assert!((g - 0.25).abs() < 1e-9, "{g}");
    let xs = tensor([2.0, 3.0, 5.0]);
    let g = direct::grad(|x: &Tensor<_, 1>| fold(Tensor::scalar(1.0), x, |c, x| c * x), &xs);
    assert_eq!(g, tensor([15.0, 10.0, 6.0]));
    let g = direct::grad(|x: &Tensor<_, 1>| convolution(x, &tensor([1.0, -1.0]).lift()).square().sum(), &xs);
    assert_eq!(g, tensor([-2.0, -2.0, 4.0]));
}

// ---- inference ----

/// A helper generic in rank needs one bound.
fn center<T: BaseTensor, const D: usize, const M: usize, E: Float>(x: &Tensor<T, D, E>) -> Tensor<T, D, E>
where
    Rank<D>: Above<M>,
{
    x - x.mean_axis(0).replicate(x.shape()[0])
}

/// So does one that takes what an operator would.
fn smooth_max<T: BaseTensor, const D: usize>(x: &Tensor<T, D>, y: impl Operand<T, D, f64>) -> Tensor<T, D> {
    x.max(y).exp().log1p()
}

#[test]
fn ranks_are_inferred_through_chains() {
    let x = tensor([[1.0, 2.0], [3.0, 6.0]]);
    assert_eq!(center(&x), tensor([[-1.0, -2.0], [1.0, 2.0]]));
    let y = smooth_max(&x.row(0), 0.0);
    close(&y, &[1f64.exp().ln_1p(), 2f64.exp().ln_1p()]);
    let z = x.replicate(3).sum_axes([0, 1]).insert_axis(1).remove_axis(1).at([1]) + x.sum();
    assert_eq!(z, tensor(36.0));
    let h = direct::grad(|x| direct::grad(|x: &Tensor<_, 1>| x.powi(3).sum(), x).sum_outer(), &tensor([2.0]));
    assert_eq!(h, tensor([12.0]));
}

#[test]
fn the_host_language_may_look_at_values() {
    let (mut x, mut steps) = (tensor(1.0), 0);
    while x.item() < 10.0 {
        x *= 2.0;
        steps += 1;
    }
    assert_eq!((x.item(), steps), (16.0, 4));
    let g = direct::grad(|x: &Tensor<_, 0>| if x.item() > 0.0 { x * 3.0 } else { x * 5.0 }, &tensor(1.0));
    assert_eq!(g, tensor(3.0));
}

// ---- constructors and printing ----

#[test]
fn constructors() {
    type X<const D: usize, E = f64> = Tensor<Concrete, D, E>;
    assert_eq!(X::<2>::full([1, 2], 3.0), tensor([[3.0, 3.0]]));
    assert_eq!(X::<1, bool>::zeros([2]), tensor([false, false]));
    assert_eq!(X::<1, i64>::ones([2]), tensor([1, 1]));
    assert_eq!(X::<0>::scalar(2.0), tensor(2.0));
    assert_eq!(X::<1, f32>::linspace(0.0, 1.0, 3), tensor([0.0f32, 0.5, 1.0]));
    assert_eq!(X::<1, i64>::iota(0).len(), 0);
    assert_eq!(X::<2, i64>::eye(2), tensor([[1, 0], [0, 1]]));
    assert_eq!(X::<1>::constant(vec![1.0, 2.0]), tensor([1.0, 2.0]));
    let x = tensor([[1.0, 2.0, 3.0]]);
    assert_eq!((x.shape(), x.dim::<1>(), x.size(), x.len(), x.is_empty()), ([1, 3], 3, 3, 1, false));
    assert!(X::<2>::zeros([3, 0]).is_empty());
    assert_eq!(x.nested::<[[f64; 3]; 1]>(), Ok([[1.0, 2.0, 3.0]]));
    assert!(x.nested::<[[f64; 2]; 1]>().is_err());
}

#[test]
fn printing_shows_numbers_where_there_are_any() {
    let x = tensor([1.0, 2.0]);
    assert_eq!(x.to_string(), x.array().to_string());
    let hidden = Tensor::<Blind, 2, i64>::zeros([2, 3]);
    assert_eq!((hidden.to_string(), format!("{hidden:?}")), ("i64 [2, 3]".into(), "i64 [2, 3]".into()));
}
