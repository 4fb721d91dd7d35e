//! Sorting and prefix extrema in compiled programs: a few ranks are selected, and values are those of the arrays that are
//! sorted.

use polygrad::array::Rng;
use polygrad::ops::Discrete;
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, stack, vmap};

/// Numbers among which there are ties, zeros of both signs and NaN.
fn ties(rng: &mut Rng, shape: [usize; 2], nan: bool) -> Tensor<Concrete, 2> {
    let number = |rng: &mut Rng| match rng.below(12) {
        0 if nan => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        k if k < 6 => k as f64,
        _ => rng.below(1000) as f64 * 0.25 - 100.0,
    };
    let numbers = (0..shape[0] * shape[1]).map(|_| number(rng)).collect();
    Tensor::constant(Array::new(&shape, numbers))
}

/// Results of which each reads other ranks.
fn selected<T: BaseTensor, const AXIS: usize>(x: &Tensor<T, 2>, k: usize) -> Vec<Tensor<T, 1>> {
    let (largest, positions) = x.top_k(AXIS, k);
    let middle: Tensor<T, 1> = x.median_axis(AXIS);
    let quarter: Tensor<T, 1> = x.quantile_axis(AXIS, 0.25);
    let last = x.argsort(AXIS).to_float();
    vec![largest.flatten(), positions.to_float().flatten(), middle, quarter, (last * x).flatten()]
}

fn agrees<const AXIS: usize>(shape: [usize; 2], k: usize, rng: &mut Rng) {
    for nan in [false, true] {
        let x = ties(rng, shape, nan);
        let wanted = selected::<Concrete, AXIS>(&x, k);
        for (which, wanted) in wanted.iter().enumerate() {
            let f = Function::stage(|x| selected::<_, AXIS>(x, k).swap_remove(which), &x);
            let found = f.run(&x).expect("the shape is that of the record");
            let bits = |x: &Tensor<Concrete, 1>| x.to_vec().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let both: Vec<_> = bits(&found).into_iter().zip(bits(wanted)).collect();
            let nan = |x: u64| f64::from_bits(x).is_nan();
            let same = both.iter().all(|(x, y)| x == y || nan(*x) && nan(*y));
            assert!(same, "result {which} of {shape:?} along {AXIS}, {k}:\n{}\n{found} {wanted}", f.explain());
        }
    }
}

#[test]
fn selected_ranks_are_those_of_sorted_lines() {
    let rng = &mut Rng::new(11);
    for shape in [[1, 1], [2, 3], [7, 40], [33, 5], [64, 64]] {
        for k in [1, 2, 5] {
            agrees::<0>(shape, k.min(shape[0]), rng);
            agrees::<1>(shape, k.min(shape[1]), rng);
        }
    }
}

#[test]
fn few_ranks_are_selected_and_nothing_is_interpreted() {
    let x = Tensor::<Concrete, 1>::constant(Array::uniform(&[500], -1.0, 1.0, 2));
    let says = |f: &dyn Fn() -> String, words: &str| {
        let text = f();
        assert!(text.contains(words) && !text.contains("interpreted"), "{words}:\n{text}");
    };
    says(&|| Function::stage(|x| x.top_k(0, 3).0, &x).explain(), "selection of 3 ranks of lines of 500");
    says(&|| Function::stage(|x| x.median(), &x).explain(), "selection of 3 ranks of lines of 500");
    says(&|| Function::value_and_grad(|x| x.top_k(0, 3).0.sum(), &x).explain(), "selection of 3 ranks of lines of 500");
    says(&|| Function::stage(|x| x.sort(0), &x).explain(), "argsort of lines of 500");
}

type Runs<T> = Vec<Tensor<T, 2>>;

/// Prefix extrema alone, with their positions, of another array, and of an integer array.
fn runs<T: BaseTensor, const AXIS: usize>(x: &Tensor<T, 2>, y: &Tensor<T, 2>) -> Runs<T> {
    let positions = x.cummin(AXIS).argsort(AXIS);
    let op = Discrete::PrefixArg { axis: AXIS, largest: true, reverse: false };
    let of_other = Tensor::from_raw(T::discrete(&op, &[y.raw()]));
    vec![
        x.cummax(AXIS),
        x.cummin_reverse(AXIS),
        x.cummax_reverse(AXIS) * y.cummax_reverse(AXIS),
        positions.cummax(AXIS).to_float(),
        (x * 2.0).cummin(AXIS) + x,
        x.take_along(AXIS, &of_other),
    ]
}

fn agree_along<const AXIS: usize>(x: &Tensor<Concrete, 2>, y: &Tensor<Concrete, 2>) {
    let wanted = runs::<_, AXIS>(x, y);
    let f = Function::stage(|(x, y)| runs::<_, AXIS>(x, y), &(x.clone(), y.clone()));
    let found = f.run(&(x.clone(), y.clone())).expect("the shapes are those of the record");
    for (which, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let same = found.to_vec().iter().zip(&wanted.to_vec()).all(same);
        assert!(same, "result {which} along {AXIS}:\n{}\n{found} {wanted}", f.explain());
    }
}

#[test]
fn compiled_prefix_extrema_are_those_of_arrays() {
    let rng = &mut Rng::new(12);
    for shape in [[1, 1], [1, 9], [9, 1], [2, 3], [7, 40], [40, 7], [33, 5], [64, 70], [0, 3], [3, 0]] {
        for nan in [false, true] {
            let (x, y) = (ties(rng, shape, nan), ties(rng, shape, false));
            agree_along::<0>(&x, &y);
            agree_along::<1>(&x, &y);
        }
    }
}

#[test]
fn extrema_are_found_without_positions_where_no_operation_reads_these() {
    let x = Tensor::<Concrete, 2>::constant(Array::uniform(&[50, 40], -1.0, 1.0, 2));
    for (text, value) in [
        (Function::stage(|x: &Tensor<_, 2>| x.cummax(0), &x).explain(), true),
        (Function::stage(|x: &Tensor<_, 2>| x.cummax(1).sum(), &x).explain(), true),
        (Function::stage(|x: &Tensor<_, 3>| vmap(|x: &Tensor<_, 2>| x.cummax(1))(x), &stack3(&x)).explain(), true),
        (Function::grad(|x: &Tensor<_, 2>| x.cummax(0).sum(), &x).explain(), false),
    ] {
        assert_eq!(text.contains("prefix_max of lines"), value, "{text}");
        assert_eq!(text.contains("prefix_argmax of lines"), !value, "{text}");
        assert!(!text.contains("interpreted"), "{text}");
    }
    let both = Function::value_and_grad(|x: &Tensor<_, 2>| x.cummax(0).sum(), &x).explain();
    assert!(both.contains("prefix_max of lines") && both.contains("prefix_argmax of lines"), "{both}");
}

fn stack3(x: &Tensor<Concrete, 2>) -> Tensor<Concrete, 3> {
    stack(&[x.clone(), -x])
}

/// An array of equal elements, as large as an address space, has the positions of its first elements.
#[test]
fn positions_among_equal_elements_are_not_searched() {
    let x = Array::full(&[1 << 30, 1 << 20], f64::NAN);
    for (reverse, first) in [(false, 0i64), (true, (1 << 20) - 1)] {
        let op = Discrete::PrefixArg { axis: 1, largest: true, reverse };
        assert_eq!(Array::discrete(&op, &[&x]), Array::full(x.shape(), first));
    }
}
