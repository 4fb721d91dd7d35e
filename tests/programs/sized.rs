//! One program for all sizes.
//!
//! Laws: a program at some sizes is, in its text, the program that is recorded at these sizes; runs give the results of
//! a function that is recorded there, to the bit; what is no program for all sizes is an error in words.

use polygrad::array::Rng;
use polygrad::program::Term;
use polygrad::{
    Array, Concrete, Conv, Function, FunctionOptions, Jit, RunError, SizedFunction, SizedModel, Sizes, Tensor, Tree,
    build1, concat, iterate, map, scan, tensor,
};

use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};
use crate::panics::{caught, caught_if_any};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

fn uniform<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<Concrete, D> {
    Tensor::constant(Array::uniform(&shape, -1.0, 1.0, seed))
}

fn bits(a: &Array) -> (Vec<usize>, Vec<u64>) {
    let elements = a.cast::<f64>().to_vec::<f64>().expect("floats");
    (a.shape().to_vec(), elements.iter().map(|x| x.to_bits()).collect())
}

/// Whether two trees of arrays are equal to the bit.
fn is_same<Y: Tree<Array>>(a: &Y, b: &Y) -> bool {
    a.leaves().iter().map(bits).eq(b.leaves().iter().map(bits))
}

// ---- the gallery ----

/// The leaves with axes of one size resized, where numbers are drawn again.
fn resized(leaves: &Leaves<Array>, from: usize, into: usize, rng: &mut Rng) -> Leaves<Array> {
    let leaf = |a: &Array| {
        if !a.shape().contains(&from) {
            return a.clone();
        }
        let shape: Vec<usize> = a.shape().iter().map(|n| if *n == from { into } else { *n }).collect();
        let elements = rng.uniform(&shape, 0.25, 0.75);
        match a.dtype() {
            polygrad::DType::F64 => elements,
            polygrad::DType::F32 => elements.cast::<f32>(),
            polygrad::DType::I64 => elements.cast::<i64>(),
            polygrad::DType::Bool => Array::full(&shape, true),
        }
    };
    Leaves(leaves.0.iter().map(leaf).collect())
}

/// The sizes of the leaves, each once.
fn sizes_of(x: &Leaves<Array>, data: &Leaves<Array>) -> Vec<usize> {
    let mut all: Vec<usize> = x.0.iter().chain(&data.0).flat_map(|a| a.shape().to_vec()).filter(|n| *n > 1).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The names of all axes of one size.
fn named(x: &Leaves<Array>, data: &Leaves<Array>, size: usize) -> Sizes {
    let mut sizes = Sizes::new();
    for (root, leaves) in [("x", x), ("data", data)] {
        for (k, leaf) in leaves.0.iter().enumerate() {
            for axis in (0..leaf.shape().len()).filter(|axis| leaf.shape()[*axis] == size) {
                sizes = sizes.axis(&format!("{root}.{k}"), axis, "n");
            }
        }
    }
    sizes
}

#[derive(Default)]
struct Compared {
    /// The objectives with a program for all sizes, and those with a size for which there is none.
    served: usize,
    refused: usize,
    programs: usize,
}

impl Compared {
    fn look(&mut self, case: &Recorded) {
        let (x, data) = (&case.x, &case.data);
        let record = |x: &Leaves<Array>, data: &Leaves<Array>| Function::value_and_grad_with(case.eval, x, data);
        let mut rng = Rng::new(7);
        for size in sizes_of(x, data) {
            let sizes = named(x, data, size).at_least("n", size.min(5));
            let mut made = None;
            // An objective may be one for this size alone; then it panics, or differs between sizes.
            let panic = caught_if_any(|| made = Some(SizedFunction::new(&sizes, record, x, data)));
            let (Some(made), None) = (made, &panic) else {
                let message = panic.unwrap_or_default().message;
                assert!(!message.contains("internal error"), "{} at {size}: {message}", case.name);
                self.refused += 1;
                continue;
            };
            self.served += 1;
            let least = made.model().program().least().next().expect("one name");
            for n in [least, least + 1 + rng.below(70)] {
                let mut rng = Rng::new(n as u64);
                let (x, data) = (resized(x, size, n, &mut rng), resized(data, size, n, &mut rng));
                let what = format!("{} with n = {n} in the place of {size}", case.name);
                let (fresh, at) = (record(&x, &data), made.at(&[("n", n)]).unwrap_or_else(|e| panic!("{what}: {e}")));
                assert_eq!(fresh.program().to_string(), at.program().to_string(), "{what}");
                assert_eq!(fresh.optimized().to_string(), at.optimized().to_string(), "{what}");
                if fresh.program().size() < 200 {
                    let [a, b] = [fresh.run_with(&x, &data), made.run_with(&x, &data)].map(|y| y.expect("it runs"));
                    assert!(is_same(&a, &b), "{what}");
                }
                self.programs += 1;
            }
        }
    }
}

impl Visitor for Compared {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn objectives_at_a_size_are_those_recorded_there() {
    let all = gallery::each_apart::<Compared>();
    let [served, refused, programs] = [|c: &Compared| c.served, |c: &Compared| c.refused, |c: &Compared| c.programs]
        .map(|f| all.iter().map(f).sum::<usize>());
    println!("{served} sizes of objectives are served, {refused} are not; {programs} programs compared");
    assert!(served > 100 && served > refused / 2, "{served} served, {refused} refused");
}

// ---- every verb ----

/// A program in a vector and a table, with its name.
type OfTable = (&'static str, fn(&Vector<Term>, &Matrix<Term>) -> Number<Term>);

/// Programs in a vector and a table, by ways that depend on sizes.
fn programs() -> Vec<OfTable> {
    vec![
        ("mean", |w, x| x.matvec(w).square().mean()),
        ("deviation", |w, x| (x.matvec(w) / x.matvec(w).std()).sin().sum()),
        ("rows", |w, x| map(x, |x: &Vector<_>| (x * w).exp().sum().ln()).sum()),
        ("neighbours", |w, x| (x.slice(0, 1..) - x.slice(0, ..x.shape()[0] - 1)).matvec(w).square().sum()),
        ("loop over rows", |w, x| scan(w, x, |w: Vector<_>, x: &Vector<_>| (0.5 * w + x).sin()).square().sum()),
        ("trips", |w, x| iterate(x.shape()[0], w, |_, w: Vector<_>| 0.9 * w.sin()).sum() + x.sum()),
        ("flat", |w, x| x.reshape([x.shape()[0] * x.shape()[1]]).cumsum(0).sum() * w.sum()),
        ("padded", |w, x| x.matvec(w).pad([(2, 1)]).slice(0, 1..).square().sum()),
        ("joined", |w, x| concat(0, [&x.matvec(w), w, &x.matvec(w)]).square().mean()),
        ("positions", |w, x| (x.matvec(w) * Tensor::iota(x.shape()[0]).to_float()).sum()),
        ("grid", |w, x| (x.matvec(w) * Tensor::linspace(0.0, 1.0, x.shape()[0])).sum()),
        ("reversed", |w, x| (x.matvec(w).reverse(0) * x.matvec(&w.sin())).sum()),
        ("built", |w, x| build1(x.shape()[0], |i| (x.at([i]) * w).sum().sin()).sum()),
        ("products", |w, x| x.matmul(&x.t()).sum() * w.sum() + x.t().matmul(x).matvec(w).sum()),
        ("scaled", |w, x| {
            x.matvec(w).sum() * (0.1 / (x.shape()[0] as f64).sqrt()) + (x.shape()[0] as f64).ln() * w.sum()
        }),
        ("extrema", |w, x| x.matvec(w).logsumexp() + x.matvec(w).argmax().to_float()),
    ]
}

fn table(rows: usize, seed: u64) -> Tensor<Concrete, 2> {
    uniform([rows, 3], seed)
}

/// The sizes of tables: one row and more.
const ROWS: [usize; 6] = [1, 2, 3, 7, 40, 300];

fn by_rows() -> Sizes {
    Sizes::new().axis("data", 0, "rows")
}

#[test]
fn runs_give_the_results_of_functions_at_their_sizes() {
    let w = uniform([3], 1);
    for (name, f) in programs() {
        let record = |w: &_, x: &_| Function::value_and_grad_with(f, w, x);
        let sized = SizedFunction::new(&by_rows(), record, &w, &table(4, 2));
        let least = sized.model().program().least().next().expect("one name");
        // `logsumexp` of two elements is another program.
        assert!(least <= if name == "extrema" { 3 } else { 2 }, "{name} begins at {least}");
        for rows in ROWS.into_iter().filter(|rows| *rows >= least) {
            let x = table(rows, 3);
            let (fresh, y) = (record(&w, &x), sized.run_with(&w, &x).expect("rows may vary"));
            assert!(is_same(&fresh.run_with(&w, &x).expect("as traced"), &y), "{name} at {rows} rows");
            let at = sized.at(&[("rows", rows)]).expect("a program at this size");
            assert_eq!(at.program().to_string(), fresh.program().to_string(), "{name} at {rows} rows");
            let plain = sized.model().run(&[w.raw().clone(), x.raw().clone()]).expect("rows may vary");
            assert!(plain.iter().map(bits).eq(y.leaves().iter().map(bits)), "{name} at {rows} rows");
        }
    }
}

#[test]
fn every_constructor_of_a_function_serves_all_sizes() {
    let f = |x: &Vector<Term>| (x.square() * x.sum()).mean();
    let g = |x: &Vector<Term>| x.slice(0, 1..).sin() * x.sum();
    let example = tensor([1.0, 2.0, 3.0]);
    let n = Sizes::new().axis("x", 0, "n");
    let both = Sizes::new().axis("x", 0, "n").axis("data", 0, "n");
    let gradient = Jit::grad(f).for_sizes(&n, &example, &());
    let jacobian = Jit::jacobian(g).for_sizes(&n, &example, &());
    let hessian = Jit::hessian(f).for_sizes(&n, &example, &());
    let matrix = Jit::value_and_jacobian_matrix(g).for_sizes(&n, &example, &());
    let (hvp, jvp) =
        (Jit::hvp(f).for_sizes(&both, &example, &example), Jit::jvp(g).for_sizes(&both, &example, &example));
    // A cotangent has the shape of the results, which is no named size.
    let vjp = Jit::vjp(g).for_sizes(&n, &example, &tensor([1.0, 2.0]));
    for rows in [1, 2, 5, 30] {
        let (x, v, z) = (uniform([rows], 1), uniform([rows], 2), uniform([rows - 1], 3));
        assert!(is_same(&gradient.run(&x).expect("n may vary"), &Function::grad(f, &x).run(&x).expect("as traced")));
        assert!(is_same(
            &jacobian.run(&x).expect("n may vary"),
            &Function::jacobian(g, &x).run(&x).expect("as traced")
        ));
        assert!(is_same(&hessian.run(&x).expect("n may vary"), &Function::hessian(f, &x).run(&x).expect("as traced")));
        let fresh = Function::value_and_jacobian_matrix(g, &x).run(&x).expect("as traced");
        assert!(is_same(&matrix.run(&x).expect("n may vary"), &fresh));
        let fresh = Function::hvp(f, &x).run_with(&x, &v).expect("as traced");
        assert!(is_same(&hvp.run_with(&x, &v).expect("n may vary"), &fresh));
        let fresh = Function::jvp(g, &x).run_with(&x, &v).expect("as traced");
        assert!(is_same(&jvp.run_with(&x, &v).expect("n may vary"), &fresh));
        let fresh = Function::vjp(g, &x).run_with(&x, &z).expect("as traced");
        assert!(is_same(&vjp.run_with(&x, &z).expect("n may vary"), &fresh));
    }
    assert_eq!(vjp.model().inputs(), ["x: f64[n]", "y_bar: f64[n - 1]"]);
}

#[test]
fn several_names_and_views_of_other_sizes() {
    let sizes = Sizes::new().axis("data", 0, "batch").axis("data", 1, "length").at_least("length", 3);
    let record = |w: &Vector<Concrete>, x: &Matrix<Concrete>| {
        let loss = |w: &Vector<Term>, x: &Matrix<Term>| {
            let y = x.insert_axis::<3>(1).conv1d(&w.reshape([1, 1, 3]), Conv::default());
            let flat = y.reshape([x.shape()[0] * (x.shape()[1] - 2)]);
            flat.sin().mean() + x.t().reshape([x.shape()[0] * x.shape()[1]]).square().sum()
        };
        Function::value_and_grad_with(loss, w, x)
    };
    let w = uniform([3], 1);
    let sized = SizedFunction::new(&sizes, record, &w, &uniform([4, 6], 2));
    for shape in [[1, 3], [1, 9], [5, 3], [6, 4], [17, 33]] {
        let x = uniform(shape, 3);
        let fresh = record(&w, &x);
        assert!(is_same(&fresh.run_with(&w, &x).expect("as traced"), &sized.run_with(&w, &x).expect("both may vary")));
        let at = sized.at(&[("length", shape[1]), ("batch", shape[0])]).expect("a program");
        assert_eq!(at.optimized().to_string(), fresh.optimized().to_string());
    }
    let text = sized.model().program().to_string();
    for part in ["data: f64[batch, length]", "batch*length", "length - 2"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn programs_of_sizes_are_kept_up_to_a_limit() {
    let f = Jit::stage(|x: &Vector<Term>| x.sin().sum());
    let f = f.for_sizes(&Sizes::new().axis("x", 0, "n"), &tensor([1.0, 2.0]), &()).keeping(2);
    for n in [3, 4, 5, 3, 3, 2] {
        assert!(f.run(&uniform([n], 1)).is_ok());
    }
    assert_eq!(f.kept(), 2);
    let fast = f.with_options(FunctionOptions::new().interpreted(true));
    assert_eq!(fast.kept(), 0);
    assert!(fast.run(&uniform([9], 1)).is_ok());
}

// ---- what cannot be ----

#[test]
fn other_arguments_are_an_error() {
    let sizes = Sizes::new().axis("x", 0, "n").axis("data", 0, "n");
    let f = Jit::grad_with(|w: &Vector<Term>, x: &Matrix<Term>| x.t().matvec(w).square().sum());
    let f = f.for_sizes(&sizes, &uniform([4], 1), &table(4, 1));
    let wrong = f.run_with(&uniform([5], 1), &table(6, 1));
    assert_eq!(wrong, Err(RunError::Sizes { name: "n".into(), first: ("x".into(), 5), other: ("data".into(), 6) }));
    let Err(RunError::Input { name, needed, .. }) = f.run_with(&uniform([5], 1), &uniform([5, 2], 1)) else {
        panic!("another axis is wrong")
    };
    assert_eq!((name, needed.0), (String::from("data"), vec![5, 3]));
    let Err(RunError::NoProgram { reason }) = f.run_with(&uniform([0], 1), &table(0, 1)) else { panic!("no rows") };
    assert!(reason.contains("must be at least 1"), "{reason}");
    assert!(f.at(&[("m", 3)]).is_err() && f.at(&[]).is_err() && f.at(&[("n", 3), ("m", 3)]).is_err());
}

/// The message of a function that is none for all sizes.
fn refused(f: fn(&Vector<Term>) -> Number<Term>) -> String {
    let sizes = Sizes::new().axis("x", 0, "n");
    caught(|| SizedFunction::new(&sizes, |x, _: &()| Function::stage(f, x), &Tensor::ones([40]), &())).message
}

#[test]
fn a_loop_or_a_branch_of_the_host_on_a_size_is_an_error() {
    let looped = refused(|x| (0..x.shape()[0]).fold(x.sum(), |y, _| y.sin()));
    assert!(
        looped.contains("the operations must be the same") && looped.contains("tests/programs/sized.rs"),
        "{looped}"
    );
    let branch = refused(|x| if x.shape()[0] > 500 { x.sin().sum() } else { x.cos().sum() });
    assert!(branch.contains("sin (") && branch.contains("cos ("), "{branch}");
    let half = refused(|x| x.slice(0, ..x.shape()[0] / 2).sum());
    assert!(half.contains("a number must be a polynomial") && half.contains("sized.rs"), "{half}");
    let inside = refused(|x| map(x, |x: &Number<_>| x.sin()).sum() * (x.shape()[0] as f64).cbrt());
    assert!(inside.contains("a number must be a polynomial"), "{inside}");
    // A branch that small sizes take begins a program of its own there.
    let sizes = Sizes::new().axis("x", 0, "n");
    let f = |x: &Vector<Term>| if x.shape()[0] < 4 { x.cos().sum() } else { x.sin().sum() };
    let f = SizedFunction::new(&sizes, |x, _: &()| Function::stage(f, x), &Tensor::ones([5]), &());
    assert_eq!(f.model().program().least().next(), Some(4));
    assert!(f.run(&tensor([1.0, 2.0, 3.0])).is_err() && f.run(&Tensor::ones([4])).is_ok());
}

// ---- saved ----

#[test]
fn a_saved_model_runs_every_size() {
    let w = uniform([3], 1);
    for (name, f) in programs() {
        let record = |w: &_, x: &_| Function::value_and_grad_with(f, w, x);
        let sized = SizedFunction::new(&by_rows(), record, &w, &table(4, 2));
        let saved = serde_json::to_string(sized.model()).expect("it can be saved");
        let loaded: SizedModel = serde_json::from_str(&saved).expect("it can be loaded");
        assert_eq!(loaded.inputs(), sized.model().inputs());
        assert_eq!(loaded.program().to_string(), sized.model().program().to_string());
        assert_eq!(serde_json::to_string(&loaded).expect("it can be saved"), saved);
        for rows in [3, 7, 100] {
            let x = table(rows, 3);
            let inputs = [w.raw().clone(), x.raw().clone()];
            let (a, b) = (loaded.run(&inputs).expect("rows may vary"), sized.run_with(&w, &x).expect("rows may vary"));
            assert!(a.iter().map(bits).eq(b.leaves().iter().map(bits)), "{name}");
            let (loaded, at) = (loaded.at(&[("rows", rows)]), sized.at(&[("rows", rows)]));
            assert_eq!(&loaded.expect("a program"), at.expect("a program").optimized(), "{name}");
        }
        // A damaged file is an error, or a model that runs or says why not.
        for (from, into) in [("\"rows\"", "1"), ("[[1]", "[[7]"), ("\"gradient\"", "\"hvp\""), ("[3]", "[-3]")] {
            if let Ok(model) = serde_json::from_str::<SizedModel>(&saved.replace(from, into)) {
                let _ = model.run(&[w.raw().clone(), table(4, 1).raw().clone()]);
            }
        }
    }
}
