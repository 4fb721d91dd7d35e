//! Transforms of constrained parameters.
//!
//! Laws: the logarithm of the Jacobian is that of the determinant of the matrix of derivatives; the inverse gives back
//! what the transform was given; nothing is NaN far out; a batch has the results of its members.

use polygrad::stats::{constrain, lkj_corr_cholesky, unconstrain};
use polygrad::{
    BaseTensor, Concrete, FlatFunction, Function, Tensor, Tree, check_gradient, concat, grad, jacobian, tensor, vmap,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

/// A transform: the free elements of its result, the logarithm of the Jacobian, and what the inverse gives.
fn transform<T: BaseTensor>(name: &str, u: &Vector<T>) -> (Vector<T>, Number<T>, Vector<T>) {
    let low = || Tensor::constant([-1.0, 0.5, 2.0, -3.0, 0.0, 1.0]).slice(0, ..u.len());
    match name {
        "positive" => {
            let (x, j) = constrain::positive(u);
            (x.clone(), j, unconstrain::positive(&x))
        }
        "lower" => {
            let (x, j) = constrain::lower(u, low());
            (x.clone(), j, unconstrain::lower(&x, low()))
        }
        "upper" => {
            let (x, j) = constrain::upper(u, 3.0);
            (x.clone(), j, unconstrain::upper(&x, 3.0))
        }
        "interval" => {
            let (x, j) = constrain::interval(u, low(), Tensor::<T, 0>::scalar(4.0));
            (x.clone(), j, unconstrain::interval(&x, low(), 4.0))
        }
        "ordered" => {
            let (x, j) = constrain::ordered(u);
            (x.clone(), j, unconstrain::ordered(&x))
        }
        "positive_ordered" => {
            let (x, j) = constrain::positive_ordered(u);
            (x.clone(), j, unconstrain::positive_ordered(&x))
        }
        "simplex" => {
            let (x, j) = constrain::simplex(u);
            (x.slice(0, ..u.len()), j, unconstrain::simplex(&x))
        }
        "cholesky_corr" => {
            let (l, j) = constrain::cholesky_corr(u);
            (lower(&l, false), j, unconstrain::cholesky_corr(&l))
        }
        "cholesky_cov" => {
            let (l, j) = constrain::cholesky_cov(u);
            (lower(&l, true), j, unconstrain::cholesky_cov(&l))
        }
        _ => unreachable!("no transform {name}"),
    }
}

/// The lower triangle, with the diagonal or without.
fn lower<T: BaseTensor>(l: &Matrix<T>, diagonal: bool) -> Vector<T> {
    let rows: Vec<Vector<T>> = (0..l.len()).map(|i| l.row::<1>(i).slice(0, ..i + usize::from(diagonal))).collect();
    concat(0, rows)
}

const NAMES: [&str; 9] = [
    "positive",
    "lower",
    "upper",
    "interval",
    "ordered",
    "positive_ordered",
    "simplex",
    "cholesky_corr",
    "cholesky_cov",
];

/// Lengths at which each transform is defined: a triangle of 1, 3 and 6 elements is one with its diagonal or without.
const LENGTHS: [usize; 3] = [1, 3, 6];

fn point(n: usize) -> Vector<Concrete> {
    Tensor::from_fn([n], |[k]| (1.0 + 2.0 * k as f64 + (k * k) as f64).sin())
}

#[test]
fn jacobians_are_those_of_the_derivatives() {
    for name in NAMES {
        for n in LENGTHS {
            let u = point(n);
            let (_, found, back) = transform(name, &u);
            let matrix: Matrix<_> = jacobian(|u| transform(name, u).0, &u);
            let expected = matrix.slogdet::<0>().1.item();
            assert!((found.item() - expected).abs() < 1e-13, "{name} of {n}: {found} and {expected}");
            assert!((back - &u).abs().max_all().item() < 1e-13, "{name} of {n}");
            check_gradient(|u: &Vector<_>| transform(name, u).1, &u).expect(name);
            check_gradient(|u: &Vector<_>| transform(name, u).0.sin().sum() * transform(name, u).1, &u).expect(name);
            let recorded = Function::grad(|u| transform(name, u).1, &u).run(&u).expect("as traced");
            let slope = grad(|u| transform(name, u).1, &u);
            assert!((recorded - slope).abs().max_all().item() < 1e-13, "{name} of {n}");
        }
    }
}

#[test]
fn results_satisfy_their_constraints() {
    let u = point(6);
    let rising = |x: &Vector<Concrete>| x.to_vec().windows(2).all(|pair| pair[0] < pair[1]);
    assert!(rising(&constrain::ordered(&u).0));
    let x = constrain::positive_ordered(&u).0;
    assert!(rising(&x) && x.row::<0>(0).item() > 0.0);
    let x = constrain::simplex(&u).0;
    assert!((x.sum().item() - 1.0).abs() < 1e-15 && x.to_vec().iter().all(|x| *x > 0.0));
    for l in [constrain::cholesky_corr(&u).0, constrain::cholesky_cov(&u).0] {
        assert!(l == l.tril(0) && l.diagonal::<1>(0, 1).to_vec().iter().all(|x| *x > 0.0));
    }
    let l = constrain::cholesky_corr(&u).0;
    let ones: Vector<_> = l.matmul(&l.t()).diagonal(0, 1);
    assert!((ones - 1.0).abs().max_all().item() < 1e-15);
}

/// Nothing to transform, and what is left is fixed.
#[test]
fn transforms_of_nothing() {
    let none = tensor(Vec::<f64>::new());
    assert_eq!(constrain::ordered(&none), (none.clone(), tensor(0.0)));
    assert_eq!(unconstrain::ordered(&none), none);
    assert_eq!(constrain::simplex(&none), (tensor([1.0]), tensor(0.0)));
    assert_eq!(unconstrain::simplex(&tensor([1.0])), none);
    assert_eq!(constrain::cholesky_corr(&none), (tensor([[1.0]]), tensor(0.0)));
    assert_eq!(unconstrain::cholesky_corr(&tensor([[1.0]])), none);
    assert_eq!(constrain::cholesky_cov(&none).0.shape(), [0, 0]);
}

/// Far out values reach their bounds, and what a sampler sees there is no NaN.
#[test]
fn far_out() {
    for name in NAMES {
        for far in [40.0, -40.0, 700.0, -700.0, 2000.0, -2000.0] {
            for n in LENGTHS {
                let u = Tensor::<Concrete, 1>::full([n], far);
                let (x, j, _) = transform(name, &u);
                let what = format!("{name} of {n} at {far}: {x} {j}");
                // Steps that overflow differ by nothing that is known, so their order is not asked for.
                assert!(x.to_vec().iter().all(|x| !x.is_nan()) && j.item().is_finite(), "{what}");
                let slope = grad(|u| transform(name, u).1, &u);
                assert!(slope.to_vec().iter().all(|x| x.is_finite()), "{what}: {slope}");
            }
        }
    }
    let (x, j) = constrain::interval(&tensor(0.5), 1.0, 0.0);
    assert!(j.item() == f64::NEG_INFINITY && x.item().is_finite());
    let slope = grad(|b| constrain::interval(&Tensor::scalar(0.5), b, 0.0).1, &tensor(1.0));
    assert_eq!(slope.item(), 0.0);
}

#[test]
fn batches_agree() {
    for name in NAMES {
        let us = Tensor::<Concrete, 2>::from_fn([4, 3], |[i, k]| (1.0 + 3.0 * i as f64 + k as f64).sin());
        let (xs, js) = vmap(|u: &Vector<Concrete>| (transform(name, u).0, transform(name, u).1))(&us);
        let traced = Function::stage(
            |us: &Matrix<_>| vmap(|u: &Vector<_>| (transform(name, u).0, transform(name, u).1))(us),
            &us,
        );
        let (again, jacobians) = traced.run(&us).expect("as traced");
        for i in 0..4 {
            let (x, j, _) = transform(name, &us.row(i));
            for found in [&xs, &again] {
                assert!((found.row::<1>(i) - &x).abs().max_all().item() < 1e-13, "{name}");
            }
            for found in [&js, &jacobians] {
                assert!((found.row::<0>(i) - &j).abs().item() < 1e-13, "{name}");
            }
        }
    }
}

/// A bound that is a parameter, and parameters in a struct.
#[derive(Tree, Clone, Debug)]
struct Free<T: BaseTensor> {
    first: Number<T>,
    second: Number<T>,
    correlations: Vector<T>,
}

/// `0 < a < 1`, `0 < b < 1 - a`, and a correlation matrix.
fn log_density<T: BaseTensor>(free: &Free<T>, _: &()) -> Number<T> {
    let (a, of_a) = constrain::interval(&free.first, 0.0, 1.0);
    let (b, of_b) = constrain::interval(&free.second, 0.0, 1.0 - &a);
    let (l, of_l) = constrain::cholesky_corr(&free.correlations);
    (a * b).ln() + lkj_corr_cholesky(&l, 2.0) + of_a + of_b + of_l
}

#[test]
fn parameters_in_a_struct() {
    let free = Free { first: tensor(0.25), second: tensor(-0.5), correlations: point(3) };
    check_gradient(|free: &Free<_>| log_density(free, &()), &free).expect("a gradient");
    let f = FlatFunction::new_with(log_density, &free, &());
    assert_eq!(f.names()[2], "correlations[0]");
    let x = f.flatten(&free).expect("as made");
    assert!((f.value(&x) - log_density(&free, &()).item()).abs() < 1e-13);
}

#[test]
fn single_precision() {
    let (u, wide) = (point(3).cast::<f32>(), point(3).cast::<f32>().cast::<f64>());
    let near = |a: Tensor<Concrete, 0, f32>, b: Number<Concrete>| assert!((a.cast::<f64>() - b).abs().item() < 1e-5);
    near(constrain::simplex(&u).1, constrain::simplex(&wide).1);
    near(constrain::cholesky_corr(&u).1, constrain::cholesky_corr(&wide).1);
    near(constrain::interval(&u, 0.0, 2.0).1, constrain::interval(&wide, 0.0, 2.0).1);
    near(constrain::ordered(&u).0.sum(), constrain::ordered(&wide).0.sum());
}
