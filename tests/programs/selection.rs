//! Sorting in compiled programs: a few ranks are selected, and values are those of the arrays that are sorted.

use polygrad::array::Rng;
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor};

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
