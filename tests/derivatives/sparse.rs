//! Sparse Jacobians and Hessians.
//!
//! Laws: the elements are those of the dense matrix, and what the pattern leaves out is zero, for every objective of the
//! gallery and programs with loops, indices from data, functions with rules and linear algebra; at other numbers, too.
//! Patterns of known structure have the known numbers of elements and passes.

use polygrad::array::Rng;
use polygrad::program::Term;
use polygrad::{
    Array, BaseTensor, Concrete, Mode, SparseFunction, Tensor, Tree, build1, concat, cond, custom_jvp, custom_vjp,
    fold, hessian_diagonal, iterate, jacobian_matrix, sparse_hessian, sparse_jacobian, while_loop_within,
};

use crate::gallery::{self, Leaves, Objective, Visitor};
use crate::support::assert_close;

type Vector<T> = Tensor<T, 1>;

fn point(n: usize, seed: u64) -> Vector<Concrete> {
    Tensor::from_raw(Array::uniform(&[n], 0.2, 0.9, seed))
}

/// Asserts that a sparse matrix is this one.
fn assert_same<P: Tree<Array>>(what: &str, sparse: &SparseFunction<P>, x: &P, dense: &Tensor<Concrete, 2>) {
    let found = sparse.run(x).expect("an argument of the same shape");
    let (rows, columns) = sparse.pattern().shape();
    assert_eq!([rows, columns], dense.shape()[..], "{what}");
    assert!(sparse.pattern().entries().windows(2).all(|pair| pair[0] < pair[1]), "{what}: elements come by rows");
    assert_close(what, found.to_dense().raw(), dense.raw(), 1e-10);
}

macro_rules! functions {
    ($($name:ident = |$x:ident| $body:expr;)*) => {
        $(fn $name<T: BaseTensor>($x: &Vector<T>) -> Vector<T> { $body })*

        #[test]
        fn jacobians_are_those_of_the_dense_matrix() {
            $({
                let first = point(6, 1);
                let j = sparse_jacobian($name, &first);
                for x in [first, point(6, 2)] {
                    assert_same(stringify!($name), &j, &x, &jacobian_matrix($name, &x));
                }
                // What is constant is the same at both.
                let at = |seed| j.run(&point(6, seed)).expect("six numbers").elements;
                for ((a, b), constant) in at(1).iter().zip(&at(2)).zip(j.pattern().constant()) {
                    assert!(!constant || a == b, "{}: {a:?} and {b:?}", stringify!($name));
                }
            })*
        }
    };
}

functions! {
    elementwise = |x| x.sin() * 2.0 + x;
    neighbours = |x| (x.slice(0, 1..) - x.slice(0, ..5)).square();
    rows_of_a_known_matrix = |x| Tensor::<T, 2>::constant([[1.0, 0.0, 0.0, 2.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0, 0.0, 1.0]]).matvec(x);
    one_of_all = |x| concat(0, [&x.sum().reshape([1]), x]);
    taken = |x| x.take(&Tensor::constant([5, 0, 5, 9])) * x.slice(0, 0..4);
    taken_by_values = |x| x.take(&x.argmax().reshape([1])) * x.at([0]).reshape([1]);
    added = |x| Tensor::zeros([4]).scatter_add([&Tensor::constant([3, 1, 1])], &x.slice(0, 0..3).square());
    chosen = |x| Tensor::constant([true, false, true, true, false, false]).select(x.square(), x.reverse(0));
    chosen_by_values = |x| x.gt(0.5).select(x, x.reverse(0).square());
    branched = |x| cond(x.at([0]).gt(0.5), x.clone(), x.reverse(0));
    greatest = |x| x.reshape::<2>([3, 2]).max_axis::<1>(1);
    sorted = |x| x.sort(0).slice(0, 0..2);
    scanned = |x| x.cumsum(0);
    carried = |x| iterate(3, x.clone(), |i, c: Vector<T>| c.scatter_add([&i.reshape([1])], &x.at([i]).square().reshape([1])));
    folded = |x| fold(Tensor::scalar(1.0), x, |c: Tensor<T, 0>, x: &Tensor<T, 0>| (c * x).sin()).reshape([1]);
    built = |x| build1(5, |i| x.at([i]) * x.at([&(i + 1)]));
    solved = |x| (Tensor::<T, 2>::constant([[2.0, 1.0], [0.0, 3.0]]) + x.at([5]).replicate::<1>(2).replicate::<2>(2)).solve(&x.slice(0, 0..2));
    halved = |x| while_loop_within(9, x, |c| c.sum().gt(1.0), |c| &c * 0.7);
    ruled = |x| custom_jvp("shifted", |x: &Vector<_>| x.sin(), |x: &Vector<_>, _: &Vector<_>, dot: &Vector<_>| dot * x.cos(), x);
    in_reverse = |x| custom_vjp("shifted back", |x: &Vector<_>| x.slice(0, 0..3).sin(), |x: &Vector<_>, _: &Vector<_>, ct: &Vector<_>| (ct * x.slice(0, 0..3).cos()).pad([(0, 3)]), x);
    floored = |x| x * x.floor() + x.times(&x.at([0]).ceil());
}

/// The Hessians of the gallery.
#[test]
fn hessians_are_those_of_the_dense_matrix() {
    struct Hessians;
    impl Visitor for Hessians {
        fn visit<O: Objective>(&mut self) {
            let x = O::inputs();
            if x.0.iter().map(|leaf| leaf.shape().iter().product::<usize>()).sum::<usize>() > 12 {
                return;
            }
            let f = |x: &Leaves<Term>| {
                let data = O::data().map(&mut |a| Term::constant(a.clone()));
                O::eval(x, &data)
            };
            let dense = hessian_matrix_of(f, &x);
            let h = sparse_hessian(f, &x);
            let found = h.run(&x).expect("the same point").to_dense();
            let size = dense.abs().flatten().to_vec().into_iter().fold(1.0, f64::max);
            for (a, b) in found.flatten().to_vec().into_iter().zip(dense.flatten().to_vec()) {
                assert!((a - b).abs() <= O::TOLERANCE.max(1e-8) * size, "{}: {found:?} and {dense:?}", O::NAME);
            }
            let diagonal = hessian_diagonal(f, &x);
            assert!(diagonal.passes() <= h.passes().max(1), "{}", O::NAME);
            let found = diagonal.run(&x).expect("the same point");
            for (k, (_, _, value)) in found.elements.iter().enumerate() {
                let known = dense.at([k as i64, k as i64]).item();
                assert!(
                    (value - known).abs() <= O::TOLERANCE.max(1e-8) * size,
                    "{}, element {k}: {value} and {known}",
                    O::NAME
                );
            }
        }
    }
    gallery::each(&mut Hessians);
}

/// The dense Hessian by the Jacobian of the gradient.
fn hessian_matrix_of(f: impl Fn(&Leaves<Term>) -> Tensor<Term, 0>, x: &Leaves<Array>) -> Tensor<Concrete, 2> {
    polygrad::Function::hessian_matrix(f, x).run(x).expect("the same point")
}

#[test]
fn known_structures_have_known_numbers_of_passes() {
    let x = point(30, 3);
    // A band of three: three colours, forward.
    let band = sparse_jacobian(|x: &Vector<_>| x.slice(0, 0..28) + x.slice(0, 1..29).square() + x.slice(0, 2..30), &x);
    assert_eq!((band.pattern().entries().len(), band.passes()), (84, 3));
    let linear = band.pattern().constant().iter().filter(|constant| **constant).count();
    assert_eq!(linear, 56);
    // A row of all: one pass back.
    let row = sparse_jacobian(|x: &Vector<_>| x.square().sum(), &x);
    assert_eq!((row.mode(), row.passes()), (Mode::Reverse, 1));
    // An arrow: two passes, since stars share their centre.
    let arrow = sparse_hessian(|x: &Vector<_>| (x * x.at([0]).replicate::<1>(30)).square().sum(), &x);
    assert_eq!((arrow.pattern().entries().len(), arrow.passes()), (88, 2));
    // Independent terms: one pass, and none for what is linear.
    assert_eq!(sparse_hessian(|x: &Vector<_>| x.exp().sum(), &x).passes(), 1);
    let flat = sparse_hessian(|x: &Vector<_>| x.sum(), &x);
    assert_eq!(flat.pattern().entries().len(), 0);
    assert_eq!(flat.run(&x).expect("thirty numbers").elements, []);
    assert_eq!(hessian_diagonal(|x: &Vector<_>| x.exp().sum(), &x).passes(), 1);
}

/// Errors of projections, as in bundle adjustment: observations of points by cameras.
#[test]
fn residuals_of_observations_cost_as_many_passes_as_one_observation_has_parameters() {
    let (cameras, points, observations) = (7, 40, 120);
    let mut rng = Rng::new(5);
    let at = |n: usize, seed: u64| -> Tensor<Concrete, 1, i64> {
        let all = Array::uniform(&[observations], 0.0, n as f64, seed).to_vec::<f64>().expect("numbers");
        Tensor::new([observations], all.into_iter().map(|x| x as i64).collect::<Vec<i64>>())
    };
    let (of_camera, of_point) = (at(cameras, 6), at(points, 7));
    let x = (rng.uniform([cameras, 2], 0.5, 1.0), rng.uniform([points, 2], 0.5, 1.0));
    let errors = |(c, p): &(Tensor<Term, 2>, Tensor<Term, 2>)| {
        let (c, p) = (c.take(&Tensor::constant(&of_camera)), p.take(&Tensor::constant(&of_point)));
        (&c * &p).sin() + c.slice(1, 0..1).broadcast_to([observations, 2])
    };
    let j = sparse_jacobian(errors, &x);
    assert_eq!(j.pattern().shape(), (2 * observations, 2 * (cameras + points)));
    assert!(j.passes() <= 8, "{} passes", j.passes());
    let dense = polygrad::Function::jacobian_matrix(errors, &x).run(&x).expect("the same point");
    assert_same("errors", &j, &x, &dense);
}
