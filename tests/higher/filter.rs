//! Filters: which elements stay, where they go, and that (co)tangents go with them.

use polygrad::{Array, Tensor, tensor};
use polygrad_higher::interpreters::{CurryLists, Erased, Run};
use polygrad_higher::transform::InReverse;
use polygrad_higher::{
    self as higher, Arrays, Expr, Int, Prod, Real, Vector, fun1, fun2, lam, let_, let2, map, num, tup,
};
use quickcheck::QuickCheck;

type Kept = Prod<Int, Vector>;

/// The elements less than a number.
fn less<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Kept> {
    fun2(|xs, limit| xs.at().filter(lam(|x| x.at().less(limit.at()))))
}

/// The squares, filtered.
fn filter_of_map<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Kept> {
    fun2(|xs, limit| {
        let_(map(lam(|x| x.at() * x.at()), xs.at()), |ys| ys.at().filter(lam(|y| y.at().less(limit.at()))))
    })
}

/// The squares of those elements whose squares are less.
fn map_of_filter<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Kept> {
    fun2(|xs, limit| {
        let2(xs.at().filter(lam(|x| (x.at() * x.at()).less(limit.at()))), |count, kept| {
            tup(count.at(), map(lam(|x| x.at() * x.at()), kept.at()))
        })
    })
}

fn all<C: Arrays>() -> Expr<C, Vector, Kept> {
    fun1(|xs| xs.at().filter(lam(|_| num(0.0).less(num(1.0)))))
}

fn none<C: Arrays>() -> Expr<C, Vector, Kept> {
    fun1(|xs| xs.at().filter(lam(|_| num(1.0).less(num(0.0)))))
}

/// Elements by a filter of Rust, followed by zeros.
fn expected(xs: &[f64], by: &[f64], limit: f64) -> Vec<f64> {
    let mut kept: Vec<f64> = xs.iter().zip(by).filter(|(_, b)| **b < limit).map(|(x, _)| *x).collect();
    kept.resize(xs.len(), 0.0);
    kept
}

fn vector(xs: &[f64]) -> Tensor<Array, 1> {
    Tensor::from_raw(Array::from(xs.to_vec()))
}

fn elements(x: &Tensor<Array, 1>) -> Vec<f64> {
    x.raw().to_vec().expect("floats")
}

fn int(k: usize) -> Tensor<Array, 0, i64> {
    Tensor::from_raw(Array::scalar(k as i64))
}

/// The value is that of a filter of Rust; a tangent goes with its element; the pullback is the transpose; filters and maps
/// commute; in every instance.
#[test]
fn elements_and_tangents_by_a_filter_of_rust() {
    fn holds(numbers: Vec<i8>, limit: i8) -> bool {
        let xs: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
        let limit = f64::from(limit);
        let moves: Vec<f64> = (0..xs.len()).map(|k| (k as f64).sin() + 2.0).collect();
        let weights: Vec<f64> = (0..xs.len()).map(|k| (k as f64).cos() + 3.0).collect();
        let count = int(xs.iter().filter(|x| **x < limit).count());
        let at = (vector(&xs), tensor(limit));

        let (value, tangent) = higher::jvp(Erased::typed(less()), &at, &(vector(&moves), tensor(1.0)));
        assert_eq!(value, (count.clone(), vector(&expected(&xs, &xs, limit))));
        let pushed = expected(&moves, &xs, limit);
        assert_eq!(tangent, (int(0), vector(&pushed)));
        assert_eq!(higher::run(less(), &at), value);

        let cotangent = (int(0), vector(&weights));
        let (closures, pullback) = higher::vjp(less(), &at);
        let pulled = pullback(&cotangent);
        assert_eq!(closures, value);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (along, back) = (product(&pushed, &weights), product(&moves, &elements(&pulled.0)));
        assert!((along - back).abs() <= 1e-12 * (1.0 + along.abs()), "duality");
        assert_eq!(pulled.1, tensor(0.0), "what chooses has no derivative");
        for (other, pullback) in [
            higher::vjp_by(Erased::typed(less::<InReverse<Run<Array>>>()), &at),
            higher::vjp_by(less::<CurryLists<Array>>(), &at),
        ] {
            assert_eq!((other, pullback(&cotangent)), (value.clone(), pulled.clone()));
        }

        let (one, other) = (higher::vjp(filter_of_map(), &at), higher::vjp(map_of_filter(), &at));
        assert_eq!((one.0, one.1(&cotangent)), (other.0, other.1(&cotangent)), "filters and maps commute");
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(Vec<i8>, i8) -> bool);
    assert!(holds(Vec::new(), 0));
}

#[test]
fn filters_that_keep_all_or_nothing() {
    let xs = tensor([3.0, -1.0, 2.0]);
    assert_eq!(higher::run(all(), &xs), (int(3), xs.clone()));
    assert_eq!(higher::run(none(), &xs), (int(0), tensor([0.0; 3])));
    let ones = (int(0), tensor([1.0, 2.0, 3.0]));
    assert_eq!(higher::vjp(all(), &xs).1(&ones), ones.1);
    assert_eq!(higher::vjp(none(), &xs).1(&ones), tensor([0.0; 3]));
}
