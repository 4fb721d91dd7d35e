//! Functions over slices, for solvers and samplers.
//!
//! Law: each method writes what the function over trees gives, leaf by leaf, also interpreted, in `f32` and on several
//! threads; after its first run it allocates nothing.

use polygrad::stats::{half_cauchy, logit_glm, normal};
use polygrad::{
    Array, BaseTensor, Concrete, FlatFunction, Function, FunctionOptions, RunError, Tensor, Tree, jacobian_matrix_with,
    sparse_hessian_with, sparse_jacobian_with, tensor,
};

use crate::compiled::bytes_of;
use crate::known_data::{data, losses, uniform};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

#[track_caller]
fn near(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= 1e-12 * scale, "{what}: {found:?} and {expected:?}");
    }
}

/// The elements of a tree of arrays.
fn elements<P: Tree<Array>>(tree: &P) -> Vec<f64> {
    let mut all = Vec::new();
    tree.leaves().iter().for_each(|leaf| all.extend(leaf.to_vec::<f64>().expect("floats")));
    all
}

#[test]
fn values_and_gradients_are_those_of_trees() {
    let (x, data) = ((uniform([3], 3), tensor(0.3)), data());
    for (name, loss) in losses() {
        let known = Function::value_and_grad_with(loss, &x, &data).with_data(&data).expect("data as traced");
        let products = Function::hvp_with(loss, &x, &data);
        let hessian = Function::hessian_matrix_with(loss, &x, &data).run_with(&x, &data).expect("as traced");
        for options in [FunctionOptions::new(), FunctionOptions::new().interpreted(true)] {
            let flat = FlatFunction::new_with(loss, &x, &data).with_options(options);
            assert_eq!([flat.len(), flat.results()], [4, 1]);
            let at = flat.flatten(&x).expect("as made");
            let (value, slope) = known.run(&x).expect("as traced");
            let mut found = [f64::NAN; 4];
            near(name, &[flat.value_and_grad(&at, &mut found), flat.value(&at)], &[value.item(); 2]);
            near(name, &found, &elements(&slope));
            found.fill(f64::NAN);
            flat.grad(&at, &mut found);
            near(name, &found, &elements(&slope));
            let direction = (uniform([3], 5), tensor(-0.7));
            let product = products.run_with(&x, &(direction.clone(), data.clone())).expect("as traced");
            flat.hvp(&at, &elements(&direction), &mut found);
            near(name, &found, &elements(&product));
            let mut matrix = [f64::NAN; 16];
            flat.hessian(&at, &mut matrix);
            near(name, &matrix, &hessian.to_vec());
        }
    }
}

/// Results of several leaves.
type Several<T> = (Vector<T>, (Matrix<T>, Number<T>, Vector<T>), Vector<T>, Number<T>);

/// Results of several leaves: views, constants, arguments and empty ones.
fn several<T: BaseTensor>((v, s, none, m): &(Vector<T>, Number<T>, Vector<T>, Matrix<T>), k: &Vector<T>) -> Several<T> {
    let constant = Tensor::full([2], 7.0);
    (v * s * k.sum(), (m.t(), s.clone(), none.clone()), constant, (m.matmul(m).sum() + s).sin())
}

#[test]
fn jacobians_are_those_of_trees() {
    let x = (uniform([3], 1), tensor(0.5), Tensor::<Concrete, 1>::zeros([0]), uniform([2, 2], 2));
    let k = uniform([6], 3);
    let f = Function::stage_with(several, &x, &k);
    let dense = jacobian_matrix_with(several, &x, &k);
    let (n, m) = (8, 11);
    for options in [FunctionOptions::new(), FunctionOptions::new().interpreted(true)] {
        let flat = FlatFunction::new_with(several, &x, &k).with_options(options);
        assert_eq!([flat.len(), flat.results()], [n, m]);
        let at = flat.flatten(&x).expect("as made");
        let mut results = vec![f64::NAN; m];
        flat.run(&at, &mut results);
        near("results", &results, &elements(&f.run_with(&x, &k).expect("as traced")));
        let mut matrix = vec![f64::NAN; n * m];
        flat.jacobian(&at, &mut matrix);
        near("jacobian", &matrix, &dense.to_vec());
        let (x_dot, y_bar): (Vector<Concrete>, Vector<Concrete>) = (uniform([n], 7), uniform([m], 8));
        flat.jvp(&at, &x_dot.to_vec(), &mut results);
        near("jvp", &results, &dense.matvec(&x_dot).to_vec());
        let mut x_bar = vec![f64::NAN; n];
        flat.vjp(&at, &y_bar.to_vec(), &mut x_bar);
        near("vjp", &x_bar, &y_bar.vecmat(&dense).to_vec());
    }
}

/// Differences of neighbours, whose data say which.
fn differences<T: BaseTensor>(x: &Vector<T>, (i, k): &(Tensor<T, 1, i64>, Vector<T>)) -> Vector<T> {
    (x.take(i) - x.slice(0, 1..)).square() * k
}

#[test]
fn sparse_matrices_are_those_of_trees() {
    let (x, data) = (uniform([5], 1), (tensor([0, 1, 1, 4]), uniform([4], 2)));
    let energy = |x: &Vector<_>, data: &_| differences(x, data).sin().sum();
    let flat = FlatFunction::new_with(differences, &x, &data);
    let jacobian = sparse_jacobian_with(differences, &x, &data);
    assert_eq!(*flat.jacobian_pattern(), *jacobian.pattern());
    let mut found = vec![f64::NAN; jacobian.pattern().len()];
    flat.sparse_jacobian(&x.to_vec(), &mut found);
    near("jacobian", &found, &jacobian.values_with(&x, &data).expect("as traced"));
    let (flat, hessian) = (FlatFunction::new_with(energy, &x, &data), sparse_hessian_with(energy, &x, &data));
    assert_eq!(*flat.hessian_pattern(), *hessian.pattern());
    let mut found = vec![f64::NAN; hessian.pattern().len()];
    flat.sparse_hessian(&x.to_vec(), &mut found);
    near("hessian", &found, &hessian.values_with(&x, &data).expect("as traced"));
}

#[derive(Tree, Clone, Debug)]
struct Model<T: BaseTensor> {
    weights: Vector<T>,
    log_sd: Number<T>,
    table: Matrix<T>,
    order: usize,
}

type Observed<T> = (Matrix<T>, Tensor<T, 1, bool>);

fn posterior<T: BaseTensor>(model: &Model<T>, (x, y): &Observed<T>) -> Number<T> {
    let sd = model.log_sd.exp();
    let prior = normal(&model.weights, 0.0, &sd).sum() + half_cauchy(&sd, 5.0) + &model.log_sd;
    prior + logit_glm(y, x, 0.5, &model.weights) - model.table.powi(model.order as i32).sum()
}

fn model() -> (Model<Concrete>, Observed<Concrete>) {
    let model = Model { weights: uniform([3], 1), log_sd: tensor(0.25), table: uniform([1, 2], 2), order: 4 };
    (model, (uniform([40, 3], 3), uniform([40], 4).gt(0.0)))
}

#[test]
fn elements_have_names_and_places() {
    let (model, data) = model();
    let flat = FlatFunction::new_with(posterior, &model, &data);
    let names = ["weights[0]", "weights[1]", "weights[2]", "log_sd", "table[0, 0]", "table[0, 1]"];
    assert_eq!(flat.names(), names);
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let tree = flat.tree(&x);
    assert_eq!((tree.table.to_vec(), tree.log_sd.item(), tree.order), (vec![4.0, 5.0], 3.0, 4));
    assert_eq!(flat.flatten(&tree), Ok(x));
    assert_eq!(flat.flatten(&model), Ok(elements(&model)));
    let other = Model { order: 2, ..model.clone() };
    assert!(matches!(flat.flatten(&other), Err(RunError::Field { .. })));
    let other = Model { weights: uniform([2], 1), ..model };
    assert!(matches!(flat.flatten(&other), Err(RunError::Input { .. })));
    let vector = FlatFunction::new(|x: &Vector<_>| x.sum(), &tensor([0.0, 0.0]));
    assert_eq!(vector.names(), ["x[0]", "x[1]"]);
}

#[test]
fn a_run_allocates_nothing() {
    let (model, data) = model();
    let flat = FlatFunction::new_with(posterior, &model, &data);
    let x = flat.flatten(&model).expect("as made");
    let (mut slope, mut product, mut matrix) = ([0.0; 6], [0.0; 6], [0.0; 36]);
    let mut elements = vec![0.0; flat.hessian_pattern().len()];
    let mut all = || {
        flat.value_and_grad(&x, &mut slope);
        flat.value(&x);
        flat.hvp(&x, &[1.0; 6], &mut product);
        flat.jvp(&x, &[1.0; 6], &mut [0.0]);
        flat.vjp(&x, &[1.0], &mut product);
        flat.hessian(&x, &mut matrix);
        flat.sparse_hessian(&x, &mut elements);
    };
    all();
    assert_eq!(bytes_of(all), 0);
}

/// One function serves many threads, whose runs have the same bits.
#[test]
fn threads_share_a_function() {
    let (model, data) = model();
    let flat = FlatFunction::new_with(posterior, &model, &data);
    let points: Vec<Vec<f64>> = (0..40).map(|k| uniform([6], 100 + k).to_vec()).collect();
    let of = |x: &Vec<f64>| {
        let mut slope = [0.0; 6];
        let value = flat.value_and_grad(x, &mut slope);
        [&[value], &slope[..]].concat().iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
    };
    let alone: Vec<Vec<u64>> = points.iter().map(of).collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| points.iter().map(of).collect::<Vec<_>>())).collect();
        runs.into_iter().for_each(|run| assert_eq!(run.join().expect("a thread"), alone));
    });
}

#[test]
fn elements_may_be_of_any_float() {
    let single =
        FlatFunction::<_, f32>::with_elements(|x: &Tensor<_, 1, f32>, _| x.powi(3).sum(), &tensor([1.0f32, 2.0]), &());
    let mut found = [0.0f32; 2];
    assert_eq!((single.value_and_grad(&[1.0, 2.0], &mut found), found), (9.0, [3.0, 12.0]));
    single.hvp(&[1.0, 2.0], &[1.0, 10.0], &mut found);
    assert_eq!(found, [6.0, 120.0]);
}

/// Known trees enter a recorded function, and its derivative, as constants.
#[test]
fn known_trees_are_constants() {
    let (model, (x, y)) = model();
    let captured = FlatFunction::new(
        |w: &Model<_>| posterior(w, &(Tensor::constant(&x), Tensor::constant(&y))) + w.weights.dot(&w.weights),
        &model,
    );
    let whole = (x.clone(), y.clone());
    let lifted =
        FlatFunction::new(|w: &Model<_>| posterior(w, &whole.to_constant()) + w.weights.dot(&w.weights), &model);
    let at = captured.flatten(&model).expect("as made");
    assert_eq!(captured.value(&at), lifted.value(&at));
    let slope = polygrad::grad(|w| posterior(w, &whole.to_constant()), &model);
    assert_eq!(slope.weights.shape(), [3]);
}
