//! Sparse Jacobians and Hessians of functions that take data.
//!
//! Laws: for floats in the data other than those of the recording, the elements are those of the dense matrix, and what the
//! pattern leaves out is zero; elements that are called constant are the same at all arguments and floats. Integers and masks
//! are a part of the matrix: the pattern is that of a function that captures them, and others are an error.

use polygrad::array::Rng;
use polygrad::{
    Array, BaseTensor, Concrete, Function, Mode, RunError, SparseFunction, Tensor, Tree, build1, concat, cond,
    custom_jvp, custom_vjp, fold, hessian_diagonal_with, hessian_matrix_with, iterate, jacobian_matrix_with, map,
    sparse_hessian_with, sparse_jacobian, sparse_jacobian_with, tensor, while_loop, while_loop_within,
};

use crate::gallery::gradbench::programs::ba;
use crate::support::assert_close;

type Vector<T> = Tensor<T, 1>;

/// Indices, masks and numbers.
type Data<T> = (Tensor<T, 1, i64>, Tensor<T, 1, bool>, Vector<T>);

fn point(n: usize, seed: u64) -> Vector<Concrete> {
    Tensor::from_raw(Array::uniform(&[n], 0.2, 0.9, seed))
}

fn data(seed: u64) -> Data<Concrete> {
    (tensor([3, 0, 5, 3]), tensor([true, false, false, true]), point(4, seed))
}

/// Asserts that a sparse matrix is this one, in each form.
fn assert_same<P, Q>(what: &str, sparse: &SparseFunction<P, Q>, (x, data): (&P, &Q), dense: &Tensor<Concrete, 2>)
where
    P: Tree<Array>,
    Q: Tree<Array>,
{
    let found = sparse.run_with(x, data).expect("the integers of the recording");
    let (rows, columns) = sparse.pattern().shape();
    assert_eq!([rows, columns], dense.shape()[..], "{what}");
    assert_close(what, found.to_dense().raw(), dense.raw(), 1e-10);
    let values = sparse.values_with(x, data).expect("the integers of the recording");
    assert_eq!(values, found.elements.iter().map(|(.., value)| *value).collect::<Vec<_>>(), "{what}");
    let (rows, turned) = (found.to_rows(), sparse.pattern().by_columns());
    assert_eq!(
        (&rows.row_pointers[..], &rows.columns[..]),
        (sparse.pattern().row_pointers(), sparse.pattern().columns())
    );
    assert_eq!((rows.values, found.to_columns().values), (values.clone(), turned.values(&values)), "{what}");
}

/// Asserts that the elements that are called constant are the same in two runs.
fn assert_constant<P, Q>(what: &str, sparse: &SparseFunction<P, Q>, one: (&P, &Q), other: (&P, &Q))
where
    P: Tree<Array>,
    Q: Tree<Array>,
{
    let at = |(x, data): (&P, &Q)| sparse.run_with(x, data).expect("the integers of the recording").elements;
    for ((a, b), constant) in at(one).iter().zip(&at(other)).zip(sparse.pattern().constant()) {
        assert!(!constant || a == b, "{what}: {a:?} and {b:?}");
    }
}

macro_rules! functions {
    ($($name:ident = |$x:ident, $ix:ident, $mask:ident, $by:ident| $body:expr;)*) => {
        $(fn $name<T: BaseTensor>($x: &Vector<T>, ($ix, $mask, $by): &Data<T>) -> Vector<T> { $body })*

        #[test]
        fn jacobians_are_those_of_the_dense_matrix() {
            $({
                let (what, first, seen) = (stringify!($name), point(6, 1), data(7));
                let j = sparse_jacobian_with($name, &first, &seen);
                for (x, data) in [(point(6, 1), data(7)), (point(6, 2), data(8)), (point(6, 1), data(9))] {
                    assert_same(what, &j, (&x, &data), &jacobian_matrix_with($name, &x, &data));
                    assert_constant(what, &j, (&first, &seen), (&x, &data));
                }
                // What is known of captured floats can only take elements away.
                let captured = sparse_jacobian(|x: &Vector<_>| $name(x, &captured(&seen)), &first);
                let all: Vec<(usize, usize)> = j.pattern().entries().collect();
                assert!(captured.pattern().entries().all(|at| all.binary_search(&at).is_ok()), "{what}");
            })*
        }

        #[test]
        fn hessians_are_those_of_the_dense_matrix() {
            $({
                fn energy<T: BaseTensor>(x: &Vector<T>, data: &Data<T>) -> Tensor<T, 0> {
                    let y = $name(x, data);
                    (&y + y.square() * Tensor::constant(Tensor::linspace(1.0, 2.0, y.len()))).sum()
                }
                let (what, first, seen) = (stringify!($name), point(6, 1), data(7));
                let h = sparse_hessian_with(energy, &first, &seen);
                let diagonal = hessian_diagonal_with(energy, &first, &seen);
                for (x, data) in [(point(6, 1), data(7)), (point(6, 2), data(8)), (point(6, 1), data(9))] {
                    let dense = hessian_matrix_with(energy, &x, &data);
                    assert_same(what, &h, (&x, &data), &dense);
                    assert_constant(what, &h, (&first, &seen), (&x, &data));
                    assert_constant(what, &diagonal, (&first, &seen), (&x, &data));
                    let found = diagonal.values_with(&x, &data).expect("the integers of the recording");
                    assert_close(what, &Array::from(found), dense.diagonal::<1>(0, 1).raw(), 1e-10);
                }
            })*
        }
    };
}

/// The data as a function captures them.
fn captured<T: BaseTensor>((ix, mask, by): &Data<Concrete>) -> Data<T> {
    (Tensor::constant(ix), Tensor::constant(mask), Tensor::constant(by))
}

functions! {
    scaled = |x, _ix, _mask, by| x.slice(0, 0..4) * by + x.slice(0, 2..6);
    divided = |x, _ix, _mask, by| x.slice(0, 0..4) / by + by;
    taken = |x, ix, _mask, by| x.take(ix) * x.slice(0, 0..4) - by;
    taken_beside = |x, ix, _mask, by| x.take(&(ix + 1)) * by.take(ix);
    taken_of_both = |x, ix, _mask, by| concat(0, [x, by]).take(&(ix * 2)).square();
    added = |x, ix, _mask, by| Tensor::zeros([6]).scatter_add([ix], &(x.slice(0, 0..4) * by));
    chosen = |x, _ix, mask, by| mask.select(x.slice(0, 0..4), by);
    masked = |x, ix, mask, by| mask.to_float::<f64>() * x.take(ix).sin() * by;
    taken_by_floats = |x, _ix, _mask, by| x.take(&(by * 6.0).to_int()) * x.slice(0, 0..4);
    chosen_by_floats = |x, _ix, _mask, by| by.gt(0.5).select(x.slice(0, 0..4), x.slice(0, 2..6).square());
    chosen_by_both = |x, _ix, mask, by| (mask & by.gt(0.5)).select(x.slice(0, 0..4), x.slice(0, 2..6));
    added_by_floats = |x, _ix, _mask, by| Tensor::zeros([4]).scatter_add([&by.argsort(0)], &x.slice(0, 1..5));
    sorted_by_floats = |x, _ix, _mask, by| x.take(&by.argsort(0)) * 2.0;
    branched = |x, _ix, _mask, by| cond(by.at([0]).gt(0.5), x.clone(), x.reverse(0));
    greatest = |x, _ix, _mask, by| (x.slice(0, 0..4) * by).max_all().reshape([1]);
    multiplied = |x, _ix, _mask, by| by.outer(by).matvec(&x.slice(0, 0..4));
    solved = |x, _ix, _mask, by| (Tensor::<T, 2>::eye(4) + by.outer(by)).solve(&x.slice(0, 0..4));
    each = |x, ix, mask, by| map((ix, mask, by), |(i, m, b): &(Tensor<T, 0, i64>, Tensor<T, 0, bool>, Tensor<T, 0>)| {
        cond(m.clone(), x.at([i]) * b, x.at([&(i + 1)]).sin())
    });
    carried = |x, ix, _mask, by| iterate(4, x.clone(), |k, c: Vector<T>| {
        c.scatter_add([&ix.at([&k]).reshape([1])], &(x.at([&k]).square() * by.at([&k])).reshape([1]))
    });
    folded = |x, _ix, _mask, by| fold(x.at([0]), by, |c: Tensor<T, 0>, b: &Tensor<T, 0>| (c * b).sin()).reshape([1]);
    built = |x, ix, _mask, by| build1(3, |i| x.at([&ix.at([i])]) * by.at([&(i + 1)]));
    halved = |x, _ix, _mask, by| while_loop_within(9, x * by.sum(), |c| c.sum().gt(1.0), |c| &c * 0.7);
    halved_by_data = |x, _ix, _mask, by| while_loop_within(9, (x.clone(), by.clone()), |(_, b)| b.sum().gt(1.0), |(c, b)| (c.reverse(0) * 0.7, b * 0.8)).0;
    ruled = |x, _ix, _mask, by| custom_jvp(
        "scaled sine",
        |(x, b): &(Vector<_>, Vector<_>)| (x.slice(0, 0..4) * b).sin(),
        |(x, b): &(Vector<_>, Vector<_>), _: &Vector<_>, (dot, b_dot): &(Vector<_>, Vector<_>)| {
            (x.slice(0, 0..4) * b).cos() * (dot.slice(0, 0..4) * b + x.slice(0, 0..4) * b_dot)
        },
        &(x.clone(), by.clone()),
    );
    in_reverse = |x, _ix, _mask, by| custom_vjp(
        "scaled back",
        |(x, b): &(Vector<_>, Vector<_>)| (x.slice(0, 0..4) * b).sin(),
        |(x, b): &(Vector<_>, Vector<_>), _: &Vector<_>, ct: &Vector<_>| {
            let inner = ct * (x.slice(0, 0..4) * b).cos();
            ((&inner * b).pad([(0, 2)]), inner * x.slice(0, 0..4))
        },
        &(x.clone(), by.clone()),
    );
}

/// Asserts that a run is an error that names this element, in all forms.
#[track_caller]
fn assert_refused<P: Tree<Array>, Q: Tree<Array>>(sparse: &SparseFunction<P, Q>, (x, data): (&P, &Q), at: &str) {
    let function = sparse.function();
    let errors = [
        sparse.run_with(x, data).map(|_| ()),
        sparse.values_with(x, data).map(|_| ()),
        function.run_with(x, data).map(|_| ()),
        function.enclose_with(x, x, data).map(|_| ()),
    ];
    for error in errors {
        assert!(matches!(&error, Err(RunError::Fixed { name, .. }) if name == at), "{error:?}");
    }
}

#[test]
fn other_integers_and_masks_are_errors() {
    let (x, (ix, mask, by)) = (point(6, 1), data(7));
    let sum = |x: &Vector<_>, data: &Data<_>| chosen(x, data).sum();
    let functions = [
        sparse_jacobian_with(each, &x, &data(7)),
        // What a function does not look at cannot be told from what it looks at.
        sparse_jacobian_with(scaled, &x, &data(7)),
        sparse_hessian_with(sum, &x, &data(7)),
        hessian_diagonal_with(sum, &x, &data(7)),
    ];
    for sparse in functions {
        assert_refused(&sparse, (&x, &(tensor([3, 0, 4, 3]), mask.clone(), by.clone())), "data.0[2]");
        assert_refused(&sparse, (&x, &(ix.clone(), tensor([true; 4]), by.clone())), "data.1[1]");
        // Shapes and types are asked for first.
        let longer = (tensor([3, 0, 5, 3, 3]), mask.clone(), by.clone());
        assert!(matches!(sparse.run_with(&x, &longer), Err(RunError::Input { name, .. }) if name == "data.0"));
        // The same integers elsewhere in memory are no others.
        let again = (tensor([3, 0, 5, 3]), tensor([true, false, false, true]), point(4, 8));
        assert!(sparse.run_with(&x, &again).is_ok());
        // They are no inputs of the program.
        let names: Vec<&str> = sparse.function().program().inputs().iter().map(|slot| slot.name.as_str()).collect();
        assert_eq!(names, ["x", "data.2"]);
    }
    // An integer has no index, one repeated value is as good as many.
    let number = (tensor(2), Tensor::full([2, 3], true));
    let at = |x: &Vector<_>, (i, _): &(Tensor<_, 0, i64>, Tensor<_, 2, bool>)| x.at([i]);
    let j = sparse_jacobian_with(at, &x, &number);
    assert_eq!(j.pattern().entries().collect::<Vec<_>>(), [(0, 2)]);
    assert_refused(&j, (&x, &(tensor(3), number.1.clone())), "data.0");
    let mask = tensor([[true, true, true], [true, false, true]]);
    assert_refused(&j, (&x, &(number.0.clone(), mask)), "data.1[1, 1]");
    assert!(j.run_with(&x, &(number.0, tensor([[true; 3]; 2]))).is_ok());
}

/// Integers and masks in the data are as good as captured ones.
#[test]
fn the_pattern_is_that_of_captured_integers() {
    let (x, seen) = (point(6, 1), data(7));
    type Program =
        fn(&Vector<polygrad::program::Term>, &Data<polygrad::program::Term>) -> Vector<polygrad::program::Term>;
    let programs: [Program; 9] = [scaled, taken, taken_beside, taken_of_both, added, chosen, masked, each, carried];
    for (k, f) in programs.into_iter().enumerate() {
        let (given, captured) =
            (sparse_jacobian_with(f, &x, &seen), sparse_jacobian(|x: &_| f(x, &captured(&seen)), &x));
        let entries = |j: &dyn Fn() -> Vec<(usize, usize)>| j();
        assert_eq!(
            entries(&|| given.pattern().entries().collect()),
            entries(&|| captured.pattern().entries().collect()),
            "program {k}"
        );
        assert!(given.passes() <= captured.passes(), "program {k}");
    }
}

/// What floats in the data decide is anything they could decide, and a factor that is data is not constant.
#[test]
fn floats_in_the_data_are_not_known() {
    let (x, seen) = (point(6, 1), data(7));
    let rows = |j: &SparseFunction<Vector<Concrete>, Data<Concrete>>| -> Vec<Vec<usize>> {
        let (starts, columns) = (j.pattern().row_pointers(), j.pattern().columns());
        starts.windows(2).map(|ends| columns[ends[0]..ends[1]].to_vec()).collect()
    };
    assert_eq!(rows(&sparse_jacobian_with(sorted_by_floats, &x, &seen)), vec![(0..6).collect::<Vec<_>>(); 4]);
    assert_eq!(rows(&sparse_jacobian_with(chosen_by_floats, &x, &seen)), [[0, 2], [1, 3], [2, 4], [3, 5]]);
    let zero = |x: &Vector<_>, (_, _, by): &Data<_>| x.slice(0, 0..4) * by + x.slice(0, 2..6) * 0.0;
    let j = sparse_jacobian_with(zero, &x, &(seen.0.clone(), seen.1.clone(), Tensor::zeros([4])));
    assert_eq!((rows(&j), j.pattern().constant()), ((0..4).map(|k| vec![k]).collect(), &[false; 4][..]));
    assert_eq!(j.values_with(&x, &seen).expect("the same integers"), seen.2.to_vec());
}

/// Integers of the argument are inputs, of which nothing is known; those of the data are not.
#[test]
fn integers_of_the_argument_are_not_those_of_the_data() {
    type Input<T> = (Tensor<T, 1, i64>, Vector<T>);
    let f = |(i, x): &Input<_>, (k, y): &Input<_>| (x.take(i) * y.take(k), x.take(k));
    let given = |i: [i64; 2], k: [i64; 2], seed| ((tensor(i), point(4, seed)), (tensor(k), point(4, seed + 1)));
    let (x, data) = given([1, 3], [2, 0], 5);
    let j = sparse_jacobian_with(f, &x, &data);
    assert_eq!((j.pattern().shape(), j.pattern().row_pointers()), ((4, 4), &[0, 4, 8, 9, 10][..]));
    for (x, data) in [given([1, 3], [2, 0], 6), given([2, 2], [2, 0], 7), given([0, 9], [2, 0], 8)] {
        let dense = Function::jacobian_matrix_with(f, &x, &data).run_with(&x, &data).expect("the same point");
        assert_same("integers of both", &j, (&x, &data), &dense);
    }
    assert_refused(&j, (&x, &given([1, 3], [2, 1], 5).1), "data.0[1]");
}

/// What a loop gives that ends by its values, or by floats in the data, is not constant.
#[test]
fn the_number_of_trips_is_not_constant() {
    let doubled =
        |x: &Vector<_>, bound: &Tensor<_, 0>| while_loop(x.clone(), |c: &Vector<_>| c.sum().lt(bound), |c| &c * 2.0);
    let (x, bound) = (tensor([0.3]), tensor(1.0));
    let j = sparse_jacobian_with(doubled, &x, &bound);
    assert_eq!(j.pattern().constant(), [false]);
    let at = |x: f64, bound: f64| j.values_with(&tensor([x]), &tensor(bound)).expect("one number");
    assert_eq!([at(0.3, 1.0), at(0.9, 1.0), at(0.3, 5.0)], [[4.0], [2.0], [32.0]]);
    let counted = |x: &Vector<_>, bound: &Tensor<_, 0>| {
        let go = |(k, _): &(Tensor<_, 0>, Vector<_>)| k.lt(bound);
        while_loop((Tensor::scalar(0.0), x.clone()), go, |(k, c)| (k + 1.0, &c * 2.0)).1
    };
    let j = sparse_jacobian_with(counted, &x, &bound);
    assert_eq!(j.pattern().constant(), [false]);
    let at = |bound: f64| j.values_with(&x, &tensor(bound)).expect("one number");
    assert_eq!([at(1.0), at(3.0)], [[2.0], [8.0]]);
}

/// The errors of bundle adjustment take two passes with data as with captured data, whatever was seen.
#[test]
fn bundle_adjustment_with_data_costs_two_passes() {
    let (n, m, p) = (5, 40, 90);
    let mut rng = Rng::new(9);
    let scene: ba::Scene<Concrete> =
        (rng.uniform([n, 11], 0.2, 0.9), rng.uniform([m, 3], 2.0, 3.0), rng.uniform([p], 0.5, 1.0));
    let turns = |n: usize| Tensor::from_fn([p], |[k]| (k * k % n) as i64);
    let mut seen = || -> ba::Seen<Concrete> { (turns(n), turns(m), rng.uniform([p, 2], -1.0, 1.0)) };
    let (first, second) = (seen(), seen());
    let j = sparse_jacobian_with(ba::errors, &scene, &first);
    let f = |scene: &ba::Scene<_>| {
        let (of, at, seen) = &first;
        ba::errors(scene, &(Tensor::constant(of), Tensor::constant(at), Tensor::constant(seen)))
    };
    let captured = sparse_jacobian(f, &scene);
    assert_eq!((j.mode(), j.passes(), captured.passes()), (Mode::Reverse, 2, 2));
    assert_eq!(j.pattern(), captured.pattern());
    // The places of the elements repeat from observation to observation: no index is read for each.
    let gathered = format!("i64[{}]", j.pattern().len());
    assert!(!j.function().optimized().to_string().contains(&gathered));
    for seen in [&first, &second] {
        let dense =
            Function::jacobian_matrix_with(ba::errors, &scene, seen).run_with(&scene, seen).expect("the same scene");
        assert_same("errors", &j, (&scene, seen), &dense);
    }
    let mut others = first.clone();
    others.1 = Tensor::from_fn([p], |[k]| ((k * k + k / 60) % m) as i64);
    assert_refused(&j, (&scene, &others), "data.1[60]");
}
