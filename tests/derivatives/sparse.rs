//! Sparse Jacobians and Hessians.
//!
//! Laws: the elements are those of the dense matrix, and what the pattern leaves out is zero, for every objective of the
//! gallery and programs with loops, indices from data, functions with rules and linear algebra; at other numbers, too.
//! Patterns of known structure have the known numbers of elements and passes. All forms of a matrix have the same elements.

use polygrad::array::Rng;
use polygrad::program::Term;
use polygrad::{
    Array, BaseTensor, Concrete, Mode, SparseFunction, Tensor, Tree, Triplets, build1, concat, cond, custom_jvp,
    custom_vjp, fold, hessian_diagonal, iterate, jacobian_matrix, map, sparse_hessian, sparse_jacobian, stack, tensor,
    while_loop_within,
};

use crate::agree::Case;
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
    let entries: Vec<(usize, usize)> = sparse.pattern().entries().collect();
    assert!(entries.windows(2).all(|pair| pair[0] < pair[1]), "{what}: elements come by rows");
    assert_close(what, found.to_dense().raw(), dense.raw(), 1e-10);
    assert_same_forms(what, sparse, x, &found);
}

/// Asserts that compressed rows and columns are these triplets, made of a run or of the pattern.
fn assert_same_forms<P: Tree<Array>>(what: &str, sparse: &SparseFunction<P>, x: &P, found: &Triplets) {
    let (pattern, values) = (sparse.pattern(), sparse.values(x).expect("an argument of the same shape"));
    let rows = found.to_rows();
    let parts = (rows.shape, &rows.row_pointers[..], &rows.columns[..]);
    assert_eq!(parts, (pattern.shape(), pattern.row_pointers(), pattern.columns()), "{what}");
    assert_eq!(rows.values, values, "{what}");
    let (columns, turned) = (found.to_columns(), pattern.by_columns());
    let parts = (columns.shape, &columns.column_pointers[..], &columns.rows[..]);
    assert_eq!(parts, (turned.shape(), turned.column_pointers(), turned.rows()), "{what}");
    assert_eq!(columns.values, turned.values(&values), "{what}");
    // What is by columns is the same elements.
    let mut all: Vec<(usize, usize, f64)> = Vec::new();
    for (j, ends) in columns.column_pointers.windows(2).enumerate() {
        all.extend((ends[0]..ends[1]).map(|k| (columns.rows[k], j, columns.values[k])));
    }
    all.sort_by_key(|(i, j, _)| (*i, *j));
    assert_eq!(all, found.elements, "{what}");
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
    multiplied = |x| x.cumprod(0);
    recurrent = |x| (x.linear_recurrence(&x.reverse(0), 0) * x).slice(0, 1..5);
    carried = |x| iterate(3, x.clone(), |i, c: Vector<T>| c.scatter_add([&i.reshape([1])], &x.at([i]).square().reshape([1])));
    folded = |x| fold(Tensor::scalar(1.0), x, |c: Tensor<T, 0>, x: &Tensor<T, 0>| (c * x).sin()).reshape([1]);
    built = |x| build1(5, |i| x.at([i]) * x.at([&(i + 1)]));
    solved = |x| (Tensor::<T, 2>::constant([[2.0, 1.0], [0.0, 3.0]]) + x.at([5]).replicate::<1>(2).replicate::<2>(2)).solve(&x.slice(0, 0..2));
    halved = |x| while_loop_within(9, x, |c| c.sum().gt(1.0), |c| &c * 0.7);
    ruled = |x| custom_jvp("shifted", |x: &Vector<_>| x.sin(), |x: &Vector<_>, _: &Vector<_>, dot: &Vector<_>| dot * x.cos(), x);
    in_reverse = |x| custom_vjp("shifted back", |x: &Vector<_>| x.slice(0, 0..3).sin(), |x: &Vector<_>, _: &Vector<_>, ct: &Vector<_>| (ct * x.slice(0, 0..3).cos()).pad([(0, 3)]), x);
    read_twice = |x| x.take(&Tensor::constant([0, 1, 2, 9])) * x.take(&Tensor::constant([0, 2, 1, 0])) + x.slice(0, 0..4);
    windows = |x| (x.slice(0, 1..5) * 2.0 - x.slice(0, 0..4) - x.slice(0, 2..6)).sin();
    joined = |x| concat(0, [&x.slice(0, 3..6), x, &x.reverse(0)]).pad([(1, 2)]).square();
    floored = |x| x * x.floor() + x.times(&x.at([0]).ceil());
}

/// Compares the Hessian of an objective, unless it has many inputs.
fn hessian_is_dense(case: &Case) {
    let (x, name, bound) = (&case.inputs, case.name, case.tolerance.max(1e-8));
    if x.0.iter().map(|leaf| leaf.shape().iter().product::<usize>()).sum::<usize>() > 12 {
        return;
    }
    let f = |x: &Leaves<Term>| case.at(x);
    let dense = hessian_matrix_of(f, x);
    let h = sparse_hessian(f, x);
    let found = h.run(x).expect("the same point").to_dense();
    let size = dense.abs().flatten().to_vec().into_iter().fold(1.0, f64::max);
    for (a, b) in found.flatten().to_vec().into_iter().zip(dense.flatten().to_vec()) {
        assert!((a - b).abs() <= bound * size, "{name}: {found:?} and {dense:?}");
    }
    let diagonal = hessian_diagonal(f, x);
    assert!(diagonal.passes() <= h.passes().max(1), "{name}");
    let found = diagonal.run(x).expect("the same point");
    for (k, (_, _, value)) in found.elements.iter().enumerate() {
        let known = dense.at([k as i64, k as i64]).item();
        assert!((value - known).abs() <= bound * size, "{name}, element {k}: {value} and {known}");
    }
}

/// The Hessians of the gallery.
#[test]
fn hessians_are_those_of_the_dense_matrix() {
    #[derive(Default)]
    struct Hessians;
    impl Visitor for Hessians {
        fn visit<O: Objective>(&mut self) {
            hessian_is_dense(&Case::of::<O>());
        }
    }
    gallery::each_apart::<Hessians>();
}

/// The dense Hessian by the Jacobian of the gradient.
fn hessian_matrix_of(f: impl Fn(&Leaves<Term>) -> Tensor<Term, 0>, x: &Leaves<Array>) -> Tensor<Concrete, 2> {
    polygrad::Function::hessian_matrix(f, x).run(x).expect("the same point")
}

#[test]
fn known_structures_have_known_numbers_of_passes() {
    let x = point(30, 3);
    // A band of three of what is computed once for all: three colours, forward.
    let band = |x: &Vector<Term>| x.slice(0, 0..28) + x.slice(0, 1..29).square() + x.slice(0, 2..30);
    let of_sines = sparse_jacobian(|x: &Vector<_>| band(&x.sin()), &x);
    assert_eq!((of_sines.pattern().len(), of_sines.mode(), of_sines.passes()), (84, Mode::Forward, 3));
    // A band of three of the inputs, which each row reads for itself: one pass back.
    let band = sparse_jacobian(band, &x);
    assert_eq!((band.pattern().len(), band.mode(), band.passes()), (84, Mode::Reverse, 1));
    let linear = band.pattern().constant().iter().filter(|constant| **constant).count();
    assert_eq!(linear, 56);
    // A row of all: one pass back.
    let row = sparse_jacobian(|x: &Vector<_>| x.square().sum(), &x);
    assert_eq!((row.mode(), row.passes()), (Mode::Reverse, 1));
    // An arrow: two passes, since stars share their centre.
    let arrow = sparse_hessian(|x: &Vector<_>| (x * x.at([0]).replicate::<1>(30)).square().sum(), &x);
    assert_eq!((arrow.pattern().len(), arrow.passes()), (88, 2));
    // Independent terms: one pass, and none for what is linear.
    assert_eq!(sparse_hessian(|x: &Vector<_>| x.exp().sum(), &x).passes(), 1);
    let flat = sparse_hessian(|x: &Vector<_>| x.sum(), &x);
    assert_eq!(flat.pattern().len(), 0);
    assert_eq!(flat.run(&x).expect("thirty numbers").elements, []);
    assert_eq!(hessian_diagonal(|x: &Vector<_>| x.exp().sum(), &x).passes(), 1);
}

/// A matrix of zeros and of some other numbers, with full rows and columns: elements are read off both modes together.
#[test]
fn full_rows_and_columns_take_passes_of_both_modes() {
    let mut rng = Rng::new(4);
    for (m, n) in [(12, 12), (18, 10), (9, 15)] {
        for (rows, columns) in [(1, 1), (2, 1), (1, 2), (3, 3), (0, 1), (1, 0)] {
            let (mut numbers, mut kept) =
                (rng.uniform([m, n], 0.5, 1.5).to_vec(), rng.uniform([m, n], 0.0, 1.0).to_vec());
            (0..m * n).filter(|k| k / n < rows || k % n < columns).for_each(|k| kept[k] = 0.0);
            numbers.iter_mut().zip(&kept).filter(|(_, kept)| **kept > 0.1).for_each(|(x, _)| *x = 0.0);
            let numbers = Tensor::<Concrete, 2>::new([m, n], numbers);
            // Rows share the sines; or each reads inputs for itself, the first ones twice.
            let of_sines = |x: &Vector<Term>| Tensor::constant(numbers.clone()).matvec(&x.sin());
            let of_copies = |x: &Vector<Term>| {
                let all: Tensor<Term, 2> = x.replicate(m);
                let first: Tensor<Term, 1> = x.slice(0, 0..1).sum().replicate(m);
                (Tensor::constant(numbers.clone()) * all.square()).sum_axis::<1>(1)
                    + first * all.slice(1, 0..1).sum_axis::<1>(1)
            };
            let x = point(n, 7);
            let what = format!("{m} x {n}, {rows} rows and {columns} columns");
            let j = sparse_jacobian(of_sines, &x);
            assert_same(&what, &j, &x, &jacobian_of(of_sines, &x));
            let longest = |lines: Vec<usize>| lines.into_iter().max().unwrap_or(0);
            let one = longest(j.pattern().row_pointers().windows(2).map(|ends| ends[1] - ends[0]).collect());
            let other =
                longest(j.pattern().by_columns().column_pointers().windows(2).map(|ends| ends[1] - ends[0]).collect());
            assert!(j.passes() <= one.min(other), "{what}: {} passes", j.passes());
            assert!((rows, columns) != (1, 1) || j.passes_by(Mode::Forward) * j.passes_by(Mode::Reverse) > 0, "{what}");
            let j = sparse_jacobian(of_copies, &x);
            assert_same(&what, &j, &x, &jacobian_of(of_copies, &x));
        }
    }
}

fn jacobian_of(f: impl Fn(&Vector<Term>) -> Vector<Term>, x: &Vector<Concrete>) -> Tensor<Concrete, 2> {
    polygrad::Function::jacobian_matrix(f, x).run(x).expect("the same point")
}

/// Leaves that are no floats are read like others, and have no columns; what they choose may be anything.
#[test]
fn indices_among_the_inputs_choose_anything() {
    let x = (point(4, 1), tensor([1, 3]), Tensor::<Concrete, 1, f32>::new([2], vec![0.5, 0.25]));
    type Input<T> = (Vector<T>, Tensor<T, 1, i64>, Tensor<T, 1, f32>);
    let f = |(x, ix, y): &Input<Term>| (x.take(ix) * x.slice(0, 1..3), y.reverse(0).square(), x.slice(0, 0..2).exp());
    let j = sparse_jacobian(f, &x);
    let rows: Vec<&[usize]> =
        j.pattern().row_pointers().windows(2).map(|e| &j.pattern().columns()[e[0]..e[1]]).collect();
    assert_eq!(rows, [&[0, 1, 2, 3][..], &[0, 1, 2, 3], &[5], &[4], &[0], &[1]]);
    for ix in [[1, 3], [2, 2]] {
        let x = (x.0.clone(), tensor(ix), x.2.clone());
        let dense = polygrad::Function::jacobian_matrix(f, &x).run(&x).expect("the same point");
        assert_same("indices", &j, &x, &dense);
    }
}

/// Bundle adjustment: cameras (rotation 3, centre 3, focal length, principal point 2, distortion 2), points, weights.
type Scene<T> = (Tensor<T, 2>, Tensor<T, 2>, Tensor<T, 1>);

/// The number of a camera, that of a point, a weight, and where the point was seen.
type Row<T> = (Tensor<T, 0, i64>, Tensor<T, 0, i64>, Tensor<T, 0>, Vector<T>);

/// The error of an observation.
fn observed<T: BaseTensor>(
    camera: &Vector<T>,
    point: &Vector<T>,
    weight: &Tensor<T, 0>,
    seen: &Vector<T>,
) -> Vector<T> {
    let (turn, from) = (camera.slice(0, 0..3), point - camera.slice(0, 3..6));
    let angle = turn.square().sum().sqrt();
    let axis = turn / &angle;
    let along = &axis * axis.dot(&from) * (1.0 - angle.cos());
    let [x, y, z] = (&from * angle.cos() + axis.cross(&from) * angle.sin() + along).unstack();
    let e = stack((x / &z, y / z));
    let s = e.square().sum();
    let e = e * (1.0 + camera.at([9]) * &s + camera.at([10]) * s.square());
    weight * (e * camera.at([6]) + camera.slice(0, 7..9) - seen)
}

/// All errors, two of each observation first. Observation `i` is of camera `i mod n` and of point `i mod m`.
fn errors<T: BaseTensor>((cameras, points, weights): &Scene<T>, seen: &Tensor<T, 2>) -> (Tensor<T, 2>, Vector<T>) {
    let turns = |n: usize| Tensor::constant(Tensor::<Concrete, 1, i64>::from_fn([weights.len()], |[k]| (k % n) as i64));
    let (of, at) = (turns(cameras.shape()[0]), turns(points.shape()[0]));
    let each = |(i, j, w, seen): &Row<T>| observed(&cameras.at([i]), &points.at([j]), w, seen);
    (map((&of, &at, weights, seen), each), 1.0 - weights.square())
}

fn errors_seen(seen: Tensor<Concrete, 2>) -> impl Fn(&Scene<Term>) -> (Tensor<Term, 2>, Vector<Term>) {
    let seen = Tensor::constant(seen);
    move |scene: &Scene<Term>| errors(scene, &seen)
}

/// As many passes as one observation has errors, however many cameras and points there are: each observation reads its
/// own camera and point, so its rows are apart from those of others. Columns take 14 colours: no error depends on both
/// coordinates of the principal point.
#[test]
fn bundle_adjustment_costs_as_many_passes_as_an_observation_has_errors() {
    for (n, m, p) in [(3, 4, 10), (5, 40, 90)] {
        let mut rng = Rng::new(9);
        let scene: Scene<Concrete> =
            (rng.uniform([n, 11], 0.2, 0.9), rng.uniform([m, 3], 2.0, 3.0), rng.uniform([p], 0.5, 1.0));
        let f = errors_seen(rng.uniform([p, 2], -1.0, 1.0));
        let j = sparse_jacobian(&f, &scene);
        assert_eq!(j.pattern().shape(), (3 * p, 11 * n + 3 * m + p));
        // An error has 10 columns of its camera, 3 of its point, and its weight.
        assert_eq!((j.pattern().len(), j.mode()), (2 * 14 * p + p, Mode::Reverse));
        assert!(j.passes() <= 3, "{} passes", j.passes());
        let dense = polygrad::Function::jacobian_matrix(&f, &scene).run(&scene).expect("the same point");
        assert_same("errors", &j, &scene, &dense);
    }
}

/// The numbers of GradBench's hand-written derivative, for copies of one camera, point and weight.
#[test]
fn bundle_adjustment_has_the_known_derivatives() {
    let (n, m, p) = (3, 4, 10);
    let camera: Tensor<Concrete, 1> = tensor([0.1, -0.2, 0.3, 0.5, -0.4, 0.2, 2.0, 0.1, -0.2, 0.05, -0.01]);
    let scene: Scene<Concrete> =
        (camera.replicate::<2>(n), tensor([1.0, 2.0, 5.0]).replicate::<2>(m), Tensor::full([p], 0.5));
    let f = errors_seen(tensor([0.3, 0.7]).replicate::<2>(p));
    let rows = sparse_jacobian(f, &scene).run(&scene).expect("the same scene").to_rows();
    let known = [
        [0.20742332510375353, 1.0204524204051957, -0.43830510491874425, -0.20111539039279358, 0.06031401911336848],
        [-0.009207489724101577, -0.11473457068024238, 0.5, -0.04223621546271875, -0.007843524039065746],
        [0.20111539039279358, -0.06031401911336848, 0.009207489724101577, -0.6589382827209695, -1.1712095197383712],
    ];
    let close = |a: &f64, b: &f64| (a - b).abs() < 1e-12;
    // The first error, without the zero for the other coordinate of the principal point, and one of the second.
    let known: Vec<f64> = known.concat();
    assert!(rows.values[..15].iter().zip(&known).all(|(a, b)| close(a, b)), "{:?}", &rows.values[..15]);
    assert_eq!(rows.columns[..15], [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 33, 34, 35, 45, 0]);
    assert_eq!(rows.row_pointers[..3], [0, 14, 28]);
    assert_eq!((rows.columns.last(), rows.values.last()), (Some(&54), Some(&-1.0)));
}
