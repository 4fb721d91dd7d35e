//! Transforms of constrained parameters.
//!
//! Laws: the logarithm of the Jacobian is that of the determinant of the matrix of derivatives; the inverse gives back
//! what the transform was given; nothing is NaN far out; a batch has the results of its members.

use polygrad::stats::{Constrained, Domain, constrain, lkj_corr_cholesky, unconstrain};
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
        "corr" => {
            let (c, j) = constrain::corr(u);
            (lower(&c, false), j, unconstrain::corr(&c))
        }
        _ => unreachable!("no transform {name}"),
    }
}

/// The lower triangle, with the diagonal or without.
fn lower<T: BaseTensor>(l: &Matrix<T>, diagonal: bool) -> Vector<T> {
    let rows: Vec<Vector<T>> = (0..l.len()).map(|i| l.row::<1>(i).slice(0, ..i + usize::from(diagonal))).collect();
    concat(0, rows)
}

const NAMES: [&str; 10] = [
    "positive",
    "lower",
    "upper",
    "interval",
    "ordered",
    "positive_ordered",
    "simplex",
    "cholesky_corr",
    "cholesky_cov",
    "corr",
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
    assert_eq!(constrain::corr(&u).0, l.matmul(&l.t()));
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
    assert_eq!(constrain::corr(&none), (tensor([[1.0]]), tensor(0.0)));
    assert_eq!(unconstrain::corr(&tensor([[1.0]])), none);
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

/// Parameters of all domains, several vectors and matrices among them.
#[derive(Tree, Constrained, Clone, Debug)]
struct All<T: BaseTensor> {
    real: Matrix<T>,
    #[constrain(positive)]
    positive: Vector<T>,
    #[constrain(lower(-1.0))]
    lower: Number<T>,
    #[constrain(upper(2.0))]
    upper: Tensor<T, 0, f32>,
    #[constrain(bounds(-1.0, 3.0))]
    bounds: Vec<Vector<T>>,
    #[constrain(ordered)]
    ordered: Matrix<T>,
    #[constrain(positive_ordered)]
    positive_ordered: Vector<T>,
    #[constrain(simplex)]
    simplex: Tensor<T, 3>,
    #[constrain(corr)]
    corr: Tensor<T, 3>,
    #[constrain(cholesky_corr)]
    cholesky_corr: Matrix<T>,
    #[constrain(cholesky_cov)]
    cholesky_cov: Matrix<T>,
    nested: (Option<Number<T>>, Box<Nested<T>>),
    name: String,
}

#[derive(Tree, Constrained, Clone, Debug)]
enum Nested<T: BaseTensor> {
    Rate(#[constrain(positive)] Number<T>),
    #[allow(dead_code, reason = "a variant without tensors")]
    Nothing,
}

fn all() -> All<Concrete> {
    let (simplex, corr) = (
        tensor([[[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]]),
        tensor([[[1.0, 0.5], [0.5, 1.0]], [[1.0, -0.25], [-0.25, 1.0]]]),
    );
    All {
        real: tensor([[1.0, 2.0]]),
        positive: tensor([0.5, 3.0]),
        lower: tensor(0.0),
        upper: tensor(0.0),
        bounds: vec![tensor([0.0]), tensor([1.0, 2.5])],
        ordered: tensor([[1.0, 2.0], [-3.0, 4.0], [0.0, 0.5]]),
        positive_ordered: tensor([0.5, 0.75]),
        simplex,
        corr,
        cholesky_corr: tensor([[1.0, 0.0], [0.6, 0.8]]),
        cholesky_cov: tensor([[2.0, 0.0], [0.5, 1.5]]),
        nested: (None, Box::new(Nested::Rate(tensor(2.0)))),
        name: "all".into(),
    }
}

/// The tree goes to unconstrained parameters and back, and its Jacobian is the sum of those of its leaves.
#[test]
fn trees_go_there_and_back() {
    let x = all();
    let u = unconstrain::tree(&x);
    assert_eq!((x.domains().len(), u.len()), (13, 2 + 2 + 1 + 1 + 3 + 6 + 2 + 4 + 2 + 1 + 3 + 1));
    assert_eq!(x.domains()[12], Domain::Positive);
    let (again, jacobian) = constrain::tree(&x, &u);
    for (a, b) in x.leaves().iter().zip(again.leaves()) {
        assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    }
    assert!((x.ravel() - again.ravel()).abs().max_all().item() < 1e-7, "a leaf has 32 bits");
    assert_eq!(again.name, "all");
    let mut sum = 0.0;
    for (domain, leaf) in x.domains().into_iter().zip(x.leaves()) {
        let free = domain.unconstrain(&leaf);
        assert_eq!(Ok(free.shape().to_vec()), domain.free_shape(leaf.shape()));
        let (_, more) = domain.constrain(&free, leaf.shape());
        sum += more.item::<f64>().unwrap_or_else(|_| f64::from(more.item::<f32>().expect("a float")));
    }
    assert!((jacobian.item() - sum).abs() < 1e-12);
    // Several vectors and matrices are those one by one.
    let row = |k: usize| {
        constrain::simplex(&Tensor::<Concrete, 1>::from_raw(
            Domain::Simplex.unconstrain(&x.simplex.row::<2>(0).row::<1>(k).into_raw()),
        ))
        .1
    };
    let (_, both) = Domain::Simplex.constrain(&Domain::Simplex.unconstrain(x.simplex.raw()), &[1, 2, 3]);
    assert!((both.item::<f64>().expect("a number") - (row(0) + row(1)).item()).abs() < 1e-14);
    // In a recorded program, and its derivative.
    let f = |u: &Vector<_>| {
        let (x, jacobian) = constrain::tree(&all(), u);
        x.positive.sum() * x.corr.square().sum() + x.simplex.ln().sum() + jacobian
    };
    check_gradient(f, &u).expect("a gradient");
}

#[test]
fn misfits_are_refused() {
    let x = all();
    let refused = |f: &dyn Fn()| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).expect_err("refused");
        payload.downcast_ref::<String>().expect("a text").clone()
    };
    for n in [27, 29] {
        let text = refused(&|| drop(constrain::tree(&x, &Tensor::<Concrete, 1>::zeros([n]))));
        assert!(
            text.starts_with(&format!("constrain: there must be 28 unconstrained parameters, but there are {n};")),
            "{text}"
        );
    }
    for (domain, shape) in [
        (Domain::Simplex, vec![2, 0]),
        (Domain::Corr, vec![2, 3]),
        (Domain::CholeskyCov, vec![2]),
        (Domain::Ordered, vec![]),
    ] {
        assert!(domain.free_shape(&shape).expect_err("refused").contains("give it another domain"));
    }
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
