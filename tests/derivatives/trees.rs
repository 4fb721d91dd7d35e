//! Derivatives of functions of trees: matrices over raveled trees, and trees from outside.

use polygrad::array::Rng;
use polygrad::{
    Array, BaseTensor, Concrete, Function, Tensor, Tree, grad, hessian, hessian_matrix, hessian_matrix_with, hvp,
    jacobian_matrix, jacobian_matrix_with, jvp, tensor, value_and_jacobian_matrix, vjp,
};

/// Leaves of several ranks and element types, and data that are no leaves.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Point<T: BaseTensor> {
    a: Tensor<T, 2>,
    narrow: Tensor<T, 1, f32>,
    rows: Tensor<T, 1, i64>,
    more: Vec<Tensor<T, 0>>,
    power: i32,
}

fn point(seed: u64) -> Point<Concrete> {
    let rng = &mut Rng::new(seed);
    let (n, m, k) = (1 + rng.below(3), rng.below(3), rng.below(3));
    Point {
        a: Tensor::constant(rng.uniform(&[n, m], 0.5, 2.0)),
        narrow: Tensor::constant(rng.uniform(&[k], 0.5, 2.0).cast::<f32>()),
        rows: Tensor::constant(Array::from(vec![0i64; 1 + rng.below(2)])),
        more: (0..rng.below(3)).map(|_| tensor(rng.unit())).collect(),
        power: rng.below(3) as i32,
    }
}

fn energy<T: BaseTensor>(p: &Point<T>) -> Tensor<T, 0> {
    let chosen = p.a.gather([&p.rows]).sin().sum() * p.a.square().sum();
    let narrow = p.narrow.powi(3).sum().cast::<f64>();
    p.more.iter().fold(chosen + &narrow, |sum, x| sum * x.powi(p.power) + x.exp() * &narrow)
}

/// A tree with a leaf that is not differentiable.
type Outcome<T> = (Tensor<T, 1>, Tensor<T, 0, f32>, Tensor<T, 1, i64>);

fn outcome<T: BaseTensor>(p: &Point<T>) -> Outcome<T> {
    (p.a.sum_axis::<1>(0).times(&energy(p)), p.narrow.square().sum(), p.rows.clone())
}

/// The `k`-th of `n` basis vectors.
fn basis(n: usize, k: usize) -> Tensor<Concrete, 1> {
    Tensor::<Concrete, 2>::eye(n).row(k)
}

fn assert_close(a: &Tensor<Concrete, 1>, b: &Tensor<Concrete, 1>) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.to_vec().iter().zip(b.to_vec()) {
        assert!((x - y).abs() <= 2e-6 * x.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn arrays_are_raveled_at_once_as_by_linear_operations() {
    type Leaves<T> =
        (Tensor<T, 0>, (Tensor<T, 2>, Tensor<T, 1, f32>), Tensor<T, 1, i64>, Tensor<T, 0, f32>, Tensor<T, 3>);
    let x: Leaves<Concrete> = (
        tensor(-0.0),
        (tensor([[f64::NAN, 1.0, 1e-320], [f64::INFINITY, -0.0, 0.1]]), tensor([0.1f32, f32::MIN_POSITIVE / 4.0])),
        tensor([1, 2]),
        tensor(f32::NEG_INFINITY),
        Tensor::zeros([2, 0, 3]),
    );
    let bits = |x: &Tensor<Concrete, 1>| x.to_vec().iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    let ravel = Function::stage(|x: &Leaves<_>| x.ravel(), &x);
    let vector = x.ravel();
    assert_eq!(bits(&vector), bits(&ravel.run(&x).expect("as traced")));
    let unravel = Function::stage(|(x, v): &(Leaves<_>, Tensor<_, 1>)| x.unravel(v), &(x.clone(), vector.clone()));
    for other in [vector.clone(), (&vector * 3.0 - 1e-40), Tensor::full([vector.len()], -0.0)] {
        let (a, b) = (x.unravel(&other), unravel.run(&(x.clone(), other)).expect("as traced"));
        assert_eq!(a.key(), b.key());
        assert_eq!(bits(&a.ravel()), bits(&b.ravel()));
        assert_eq!(a.2, x.2);
    }
    // Equal elements are stored as one.
    let equal = (Tensor::<Concrete, 1>::full([3], 2.0), Tensor::<Concrete, 2>::full([2, 2], 2.0));
    assert_eq!(equal.ravel(), Tensor::full([7], 2.0));
    assert_eq!(equal.unravel(&Tensor::full([7], 5.0)).1, Tensor::full([2, 2], 5.0));
    let none: Vec<Tensor<Concrete, 1>> = Vec::new();
    assert_eq!(none.ravel().len(), 0);
}

#[test]
fn raveling_and_back_changes_nothing() {
    for seed in 0..40 {
        let x = point(seed);
        let vector = x.ravel();
        let floats = x.leaves().iter().filter(|leaf| leaf.dtype().is_float()).map(Array::size).sum::<usize>();
        assert_eq!(vector.len(), floats);
        assert_eq!(x.unravel(&vector), x);
        let other = Tensor::constant(Rng::new(seed).normal(&[floats], 0.0, 1.0).cast::<f32>().cast::<f64>());
        assert_eq!(x.unravel(&other).ravel(), other, "seed {seed}");
    }
    let extremes = (tensor([-0.0, f64::NAN, f64::INFINITY]), tensor([f32::MIN_POSITIVE, -0.0f32, f32::NAN]));
    let back = extremes.unravel(&extremes.ravel());
    let bits = |x: &(Tensor<Concrete, 1>, Tensor<Concrete, 1, f32>)| {
        let (wide, narrow) = (x.0.to_vec(), x.1.to_vec());
        (wide.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), narrow.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
    };
    assert_eq!(bits(&back), bits(&extremes));
}

#[test]
fn the_columns_of_the_hessian_matrix_are_hessian_products() {
    for seed in 0..25 {
        let x = point(seed);
        let n = x.ravel().len();
        let h = hessian_matrix(energy, &x);
        assert_eq!(h.shape(), [n, n]);
        for k in 0..n {
            assert_close(&h.t().row(k), &hvp(energy, &x, &x.unravel(&basis(n, k))).ravel());
        }
    }
}

#[test]
fn rows_and_columns_of_the_jacobian_matrix_are_those_of_vjp_and_jvp() {
    for seed in 0..25 {
        let x = point(seed);
        let n = x.ravel().len();
        let j = jacobian_matrix(outcome, &x);
        let (y, pullback) = vjp(outcome, &x);
        let m = y.ravel().len();
        assert_eq!(j.shape(), [m, n]);
        for k in 0..n {
            assert_close(&j.t().row(k), &jvp(outcome, &x, &x.unravel(&basis(n, k))).1.ravel());
        }
        for k in 0..m {
            assert_close(&j.row(k), &pullback(&y.unravel(&basis(m, k))).ravel());
        }
        let gradient = jacobian_matrix(energy, &x);
        assert_close(&gradient.row(0), &grad(energy, &x).ravel());
    }
}

#[test]
fn a_matrix_of_one_tensor_is_its_hessian() {
    let x = tensor([0.5, 1.5, -1.0]);
    fn f<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        (x.sin() * x.cumsum(0)).sum()
    }
    let h: Tensor<_, 2> = hessian(f, &x);
    assert_eq!(hessian_matrix(f, &x), h);
}

#[test]
fn matrices_are_differentiated_again() {
    // f = a b^2: H = [[0, 2b], [2b, 2a]], whose sum has the gradient (2, 4).
    let x = (tensor(3.0), tensor(5.0));
    let slope = grad(|x| hessian_matrix(|(a, b)| a * b * b, x).sum(), &x);
    assert_eq!(slope, (tensor(2.0), tensor(4.0)));
    let slope = grad(|x| jacobian_matrix(|(a, b)| (a * b, b * b), x).sum(), &x);
    assert_eq!(slope, (tensor(1.0), tensor(3.0)));
    let both = |x: &_| {
        let ((y, z), j) = value_and_jacobian_matrix(|(a, b)| (a * b, b * b), x);
        y + z + j.sum()
    };
    assert_eq!(grad(both, &x), (tensor(1.0 + 5.0), tensor(3.0 + 3.0 + 10.0)));
}

#[test]
fn trees_from_outside_enter_by_lift() {
    let x = (tensor(3.0), tensor(5.0));
    let k = vec![(tensor(7.0), tensor([1.0, 2.0]))];
    fn f<T: BaseTensor>(x: &(Tensor<T, 0>, Tensor<T, 0>), k: &[(Tensor<T, 0>, Tensor<T, 1>)]) -> Tensor<T, 0> {
        &x.0 * &x.1 * &x.1 * &k[0].0 * k[0].1.sum()
    }
    assert_eq!(grad(|x| f(x, &k.lift()), &x), (tensor(525.0), tensor(630.0)));
    let h = tensor([[0.0, 210.0], [210.0, 126.0]]);
    assert_eq!(hessian_matrix(|x| f(x, &k.lift()), &x), h);
    assert_eq!(hessian_matrix_with(|x, k: &Vec<_>| f(x, k), &x, &k), h);
    let inner = grad(|x| grad(|x| f(x, &k.lift()), x).1, &x);
    assert_eq!(inner, (tensor(210.0), tensor(126.0)));
    assert_eq!(jacobian_matrix_with(|x, k: &Vec<_>| f(x, k), &x, &k), tensor([[525.0, 630.0]]));
}

#[test]
#[should_panic(
    expected = "unravel: the vector must have an element for each number of the tree, but they have 2 and 3; \
                           ravel a tree of this structure"
)]
fn a_vector_of_another_length_does_not_fit() {
    (tensor(1.0), tensor([2.0, 3.0])).unravel(&tensor([1.0, 2.0]));
}
