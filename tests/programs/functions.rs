//! Recorded functions: each constructor gives what the plain verb gives, `Jit` records once for each key and keeps no
//! more than it may, and a pullback does not record.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};

use polygrad::array::Rng;
use polygrad::internals::gradient_side_by_side;
use polygrad::program::{Program, Term, interpret};
use polygrad::{
    ADVal, Array, BaseTensor, Concrete, Function, FunctionOptions, Gradient, Jit, RunError, Tensor, Tree, custom_vjp,
    direct, external, fold, grad, grad_with, hessian_matrix_with, hessian_with, hvp_with, jacobian,
    jacobian_matrix_with, jacobian_with, jvp_with, nth_derivative_with, symbolic, tensor, value_and_grad_with,
    value_and_jacobian_matrix_with, value_and_jacobian_with, vjp, vjp_with,
};

/// Parameters with data that a program branches on.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Model<T: BaseTensor> {
    w: Tensor<T, 2>,
    b: Tensor<T, 1>,
    heads: usize,
    extra: Option<Tensor<T, 0>>,
}

type Batch<T> = (Tensor<T, 2>, Tensor<T, 1, i64>);

fn results<T: BaseTensor>(m: &Model<T>, (x, rows): &Batch<T>) -> (Tensor<T, 2>, Tensor<T, 0>) {
    let h = (x.matmul(&m.w) + m.b.replicate(x.dim::<0>())).tanh();
    let power = h.gather([rows]).powi(m.heads as i32).sum();
    (h, m.extra.as_ref().map_or(power.clone(), |extra| power.sin() * extra))
}

fn loss<T: BaseTensor>(m: &Model<T>, batch: &Batch<T>) -> Tensor<T, 0> {
    let (h, power) = results(m, batch);
    h.square().sum() * 0.5 + power
}

fn case(seed: u64) -> (Model<Concrete>, Batch<Concrete>) {
    let rng = &mut Rng::new(seed);
    let (n, k, m) = (1 + rng.below(3), 1 + rng.below(3), 1 + rng.below(3));
    let mut known = |shape: &[usize]| rng.uniform(shape, -1.0, 1.0);
    let (w, b, x) = (known(&[k, m]), known(&[m]), known(&[n, k]));
    let extra = (rng.below(2) == 0).then(|| tensor(rng.unit()));
    let model = Model { w: Tensor::constant(w), b: Tensor::constant(b), heads: 1 + rng.below(3), extra };
    (model, (Tensor::constant(x), Tensor::constant(Array::from(vec![0i64, n as i64 - 1]))))
}

/// Another tree of the same shapes.
fn like<P: Tree<Concrete, With<Concrete> = P>>(x: &P, seed: u64) -> P {
    x.unravel(&Tensor::constant(Rng::new(seed).normal(&[x.ravel().len()], 0.0, 1.0)))
}

fn assert_close<P: Tree<Concrete>>(a: &P, b: &P) {
    assert_eq!(a.key(), b.key());
    for (x, y) in a.ravel().to_vec().into_iter().zip(b.ravel().to_vec()) {
        assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{x} {y}");
    }
}

#[test]
fn functions_of_trees_give_what_the_verbs_give() {
    for seed in 0..12 {
        let ((m, d), at) = (case(seed), like(&case(seed).0, seed + 100));
        let (v, all) = (like(&m, seed + 200), "of the shapes of the trace");
        let run = Function::stage_with(results, &m, &d).run_with(&at, &d).expect(all);
        assert_close(&run, &results(&at, &d));
        let run = Function::grad_with(loss, &m, &d).run_with(&at, &d).expect(all);
        assert_close(&run, &grad_with(loss, &at, &d));
        let run = Function::value_and_grad_with(loss, &m, &d).run_with(&at, &d).expect(all);
        assert_close(&run, &value_and_grad_with(loss, &at, &d));
        let run = Function::jacobian_matrix_with(results, &m, &d).run_with(&at, &d).expect(all);
        assert_close(&run, &jacobian_matrix_with(results, &at, &d));
        let run = Function::value_and_jacobian_matrix_with(results, &m, &d).run_with(&at, &d).expect(all);
        assert_close(&run, &(results(&at, &d), jacobian_matrix_with(results, &at, &d)));
        assert_close(&run, &value_and_jacobian_matrix_with(results, &at, &d));
        let run = Function::hessian_matrix_with(loss, &m, &d).run_with(&at, &d).expect(all);
        assert_close(&run, &hessian_matrix_with(loss, &at, &d));
        let more = (v.clone(), d.clone());
        let run = Function::hvp_with(loss, &m, &d).run_with(&at, &more).expect(all);
        assert_close(&run, &hvp_with(loss, &at, &v, &d));
        let run = Function::jvp_with(results, &m, &d).run_with(&at, &more).expect(all);
        assert_close(&run, &jvp_with(results, &at, &v, &d));
        let y_bar = like(&run.0, seed + 300);
        let run = Function::vjp_with(results, &m, &d).run_with(&at, &(y_bar.clone(), d.clone())).expect(all);
        let (y, pullback) = vjp_with(results, &at, &d);
        assert_close(&run, &(y, pullback(&y_bar)));
        assert_eq!(run.1.heads, m.heads);
    }
}

#[test]
fn functions_of_one_tensor_give_what_the_verbs_give() {
    fn f<T: BaseTensor>(x: &Tensor<T, 2>, k: &Tensor<T, 1>) -> Tensor<T, 1> {
        x.matvec(k).sin() * k.sum().exp().replicate(x.dim::<0>())
    }
    fn g<T: BaseTensor>(x: &Tensor<T, 2>, k: &Tensor<T, 1>) -> Tensor<T, 0> {
        f(x, k).square().sum()
    }
    for (n, m) in [(1, 1), (1, 3), (4, 2), (0, 2)] {
        let mut rng = Rng::new(n as u64);
        let mut known = |shape: [usize; 2]| Tensor::<Concrete, 2>::constant(rng.uniform(&shape, -1.0, 1.0));
        let (x, at, k) = (known([n, m]), known([n, m]), known([1, m]).row(0));
        let j = Function::jacobian_with(f, &x, &k).run_with(&at, &k).expect("of the same shape");
        assert_close::<Tensor<_, 3>>(&j, &jacobian_with(f, &at, &k));
        let both = Function::value_and_jacobian_with(f, &x, &k).run_with(&at, &k).expect("of the same shape");
        assert_close::<(Tensor<_, 1>, Tensor<_, 3>)>(&both, &value_and_jacobian_with(f, &at, &k));
        let h = Function::hessian_with(g, &x, &k).run_with(&at, &k).expect("of the same shape");
        assert_close::<Tensor<_, 4>>(&h, &hessian_with(g, &at, &k));
    }
}

#[test]
fn functions_of_one_number_have_derivatives_of_any_order() {
    fn f<T: BaseTensor>(x: &Tensor<T, 0>, k: &Tensor<T, 1>) -> Tensor<T, 0> {
        (k * x).exp().sum()
    }
    // The derivative of order n is `sum k^n exp (k x)`.
    let (x, k) = (tensor(0.3), tensor([1.0, -2.0, 0.5]));
    for n in 0..6 {
        let known = (k.powi(n as i32) * (&k * &x).exp()).sum();
        let run = Function::nth_derivative_with(f, n, &tensor(0.0), &k).run_with(&x, &k).expect("a number");
        assert_close(&run, &known);
        assert_close(&nth_derivative_with(f, n, &x, &k), &known);
    }
    let fourth = Function::nth_derivative(|x| x.powi(5), 4, &x);
    assert_eq!(fourth.program().inputs()[0].name, "x");
    // Options hold for the derivative, too.
    let fast = FunctionOptions::new().fast_math(true);
    let plain = Function::nth_derivative(|x| x.exp().ln().powi(3), 2, &x);
    let size = plain.optimized().size();
    let quick = plain.with_options(fast);
    assert!(quick.optimized().size() < size);
    assert_close(&quick.run(&x).expect("a number"), &(&x * 6.0));
}

#[test]
fn a_function_runs_for_its_own_structure_alone() {
    let (m, d) = case(3);
    let f = Function::grad_with(loss, &m, &d);
    let other = Model { heads: m.heads + 1, ..m.clone() };
    let error = f.run_with(&other, &d).unwrap_err();
    assert!(matches!(&error, RunError::Field { name, .. } if name == "x.heads"), "{error}");
    let extra = if m.extra.is_some() { None } else { Some(tensor(1.0)) };
    let error = f.run_with(&Model { extra, ..m.clone() }, &d).unwrap_err();
    assert!(matches!(&error, RunError::Structure { name, .. } if name == "x.extra"), "{error}");
    let hvp = Function::hvp_with(loss, &m, &d);
    let error = hvp.run_with(&m, &(other, d)).unwrap_err();
    assert!(matches!(&error, RunError::Field { name, .. } if name == "data.0.heads"), "{error}");
}

#[test]
fn options_hold_for_every_derivative_and_can_be_taken_back() {
    let (x, fast) = (tensor([1.0, 2.0]), FunctionOptions::new().fast_math(true));
    let f = |x: &Tensor<Term, 1>| (x.exp().ln() * 3.0).sum();
    let (plain, slope) = (Function::grad(f, &x), Function::grad(f, &x).with_options(fast));
    assert!(slope.optimized().size() < plain.optimized().size());
    assert_eq!(slope.run(&x), Ok(tensor([3.0, 3.0])));
    let back = slope.with_options(FunctionOptions::new());
    assert_eq!(back.optimized(), plain.optimized());
    assert_eq!(back.program().outputs()[0].name, "grad");
}

#[test]
fn jit_gives_what_the_verb_gives_for_any_shape() {
    let jit: Gradient<Model<Concrete>, Batch<Concrete>> = Jit::value_and_grad_with(loss).keeping(4);
    for seed in (0..20).chain(0..20).chain([3, 3, 3]) {
        let (m, d) = case(seed);
        assert_close(&jit.call_with(&m, &d), &value_and_grad_with(loss, &m, &d));
        assert!(jit.kept() <= 4);
    }
    let slope = Jit::grad(|x: &Tensor<_, 1>| x.powi(3).sum());
    for n in [3, 0, 1, 3] {
        let x = Tensor::<Concrete, 1>::linspace(1.0, 2.0, n);
        assert_eq!(slope.call(&x), grad(|x| x.powi(3).sum(), &x));
    }
    assert_eq!(slope.kept(), 3);
}

/// A function that counts how often it is recorded.
fn counting() -> (Jit<Model<Concrete>, (), Tensor<Concrete, 0>>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    let jit = Jit::stage(move |m: &Model<_>| {
        seen.fetch_add(1, Ordering::SeqCst);
        m.w.sum() * m.heads as f64
    });
    (jit, count)
}

fn model(n: usize, heads: usize) -> Model<Concrete> {
    Model { w: Tensor::ones([n, 1]), b: Tensor::zeros([1]), heads, extra: None }
}

#[test]
fn jit_records_once_for_each_key_and_forgets_the_least_recently_used() {
    let (jit, count) = counting();
    let jit = jit.keeping(2);
    let call = |n: usize, heads: usize| {
        assert_eq!(jit.call(&model(n, heads)).item(), (n * heads) as f64);
        (count.load(Ordering::SeqCst), jit.kept())
    };
    assert_eq!(call(1, 4), (1, 1));
    assert_eq!(call(1, 4), (1, 1));
    // Another plain field is another program.
    assert_eq!(call(1, 2), (2, 2));
    assert_eq!(call(1, 4), (2, 2));
    // A third key drops the one that was called before the other.
    assert_eq!(call(3, 4), (3, 2));
    assert_eq!(call(1, 4), (3, 2));
    assert_eq!(call(1, 2), (4, 2));
    assert_eq!(call(1, 4), (4, 2));
    let (jit, _) = counting();
    for n in 0..2 * Jit::<(), (), ()>::LIMIT {
        jit.call(&model(n, 1));
    }
    assert_eq!(jit.kept(), Jit::<(), (), ()>::LIMIT);
}

#[test]
fn threads_that_meet_a_new_key_at_once_do_not_wait_for_each_other() {
    fn is_shared<X: Send + Sync>(_: &X) {}
    // Each recording waits for the other: with a lock around it, none would end.
    let both = Arc::new(Barrier::new(2));
    let meet = both.clone();
    let jit = Jit::grad(move |x: &Tensor<_, 1>| {
        meet.wait();
        x.square().sum()
    });
    is_shared(&jit);
    let x = tensor([1.0, 2.0]);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..2).map(|_| scope.spawn(|| jit.call(&x))).collect();
        for call in calls {
            assert_eq!(call.join().expect("no panic"), tensor([2.0, 4.0]));
        }
    });
    assert_eq!(jit.kept(), 1);
    assert_eq!(jit.call(&x), tensor([2.0, 4.0]));
}

#[test]
fn a_recording_that_fails_leaves_the_rest_as_it_was() {
    let jit = Jit::stage(|x: &Tensor<_, 1>| if x.len() == 1 { panic!("not this one") } else { x.sum() });
    assert_eq!(jit.call(&tensor([1.0, 2.0])).item(), 3.0);
    let failed = std::thread::scope(|scope| scope.spawn(|| jit.call(&tensor([1.0]))).join());
    assert!(failed.is_err());
    assert_eq!((jit.call(&tensor([3.0, 2.0])).item(), jit.kept()), (5.0, 1));
}

#[test]
fn a_pullback_does_not_record() {
    let calls = Cell::new(0);
    let f = |x: &Tensor<_, 1>| {
        calls.set(calls.get() + 1);
        (x.sin() * x, x.square().sum())
    };
    let x = tensor([1.0, 2.0]);
    let (y, pullback) = vjp(f, &x);
    let seen = calls.get();
    let (same, direct) = direct::vjp(|x: &Tensor<_, 1>| (x.sin() * x, x.square().sum()), &x);
    assert_close(&y, &same);
    for seed in 0..5 {
        let y_bar = like(&y, seed);
        assert_close(&pullback(&y_bar), &direct(&y_bar));
    }
    assert_eq!((seen, calls.get()), (1, 1));
}

#[test]
fn a_pullback_inside_of_a_derivative_or_a_program_runs_its_function_once() {
    // The rows of a Jacobian by pullbacks, summed: d/dx of sum over rows.
    fn rows<T: BaseTensor>(x: &Tensor<T, 1>, calls: &Cell<usize>) -> Tensor<T, 0> {
        let (_, pullback) = vjp(
            |x| {
                calls.set(calls.get() + 1);
                x.powi(3)
            },
            x,
        );
        let row = |k: usize| pullback(&Tensor::<T, 2>::eye(2).row(k)).sum();
        row(0) + row(1)
    }
    let (x, calls) = (tensor([1.0, 2.0]), Cell::new(0));
    assert_eq!(direct::grad(|x: &Tensor<ADVal<_>, 1>| rows(x, &calls), &x), tensor([6.0, 12.0]));
    assert_eq!(calls.replace(0), 1);
    assert_eq!(grad(|x| rows(x, &calls), &x), tensor([6.0, 12.0]));
    assert_eq!(calls.replace(0), 1);
    let f = Function::stage(|x: &Tensor<Term, 1>| rows(x, &calls), &x);
    assert_eq!((f.run(&x).map(|y| y.item()), calls.get()), (Ok(15.0), 1));
}

#[test]
fn a_pullback_keeps_integers_loops_and_constant_results() {
    fn f<T: BaseTensor>(p: &(Tensor<T, 1>, Tensor<T, 1, i64>)) -> (Tensor<T, 0>, Tensor<T, 1, i64>, Tensor<T, 1>) {
        let looped = polygrad::fold(Tensor::scalar(1.0), &p.0, |c, x| c.sin() * x);
        (looped, p.1.clone(), Tensor::ones([2]))
    }
    let p = (tensor([0.5, 1.5, 2.5]), tensor([1, 2]));
    let ((y, pullback), (_, direct)) = (vjp(f, &p), direct::vjp(f, &p));
    let y_bar = like(&y, 1);
    assert_close(&pullback(&y_bar), &direct(&y_bar));
    assert_eq!(pullback(&y_bar).1, tensor([0, 0]));
}

/// Tangents side by side, of a loop whose arguments have integers between floats.
#[test]
fn integers_have_no_lane_among_tangents() {
    let x = (tensor(0.7), tensor([2, 1]), tensor([1.3, -0.4]));
    let f = Function::stage(
        |(x, k, w): &(Tensor<_, 0>, Tensor<_, 1, i64>, Tensor<_, 1>)| {
            let rows: Tensor<_, 1> = k.to_float();
            fold(x, &rows, |h: Tensor<_, 0>, e: &Tensor<_, 0>| (e * w.at([1]) - h * w.at([0])).sin())
        },
        &x,
    );
    let inputs = || vec![x.0.raw().clone(), x.1.raw().clone(), x.2.raw().clone()];
    let numbers = |program: &Program| -> Vec<f64> {
        let results = interpret::<Concrete>(program, inputs());
        results.iter().flat_map(|y| y.cast::<f64>().to_vec::<f64>().expect("floats")).collect()
    };
    let (found, expected) =
        (numbers(&gradient_side_by_side(f.program())), numbers(&symbolic::grad_in(f.program(), &[0, 2])));
    // Integers have zeros.
    let floats = [&found[..1], &found[3..]].concat();
    assert!(found[1..3] == [0.0, 0.0] && expected.iter().all(|g| g.abs() > 1e-3), "{found:?}");
    assert!(floats.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?} and {expected:?}");
}

/// A rule for cotangents alone, in a loop: many results of one number are differentiated backwards all the same.
#[test]
fn a_rule_in_a_loop_decides_the_mode() {
    fn clipped<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
        custom_vjp("clipped", |x: &Tensor<_, 0>| x * 3.0, |_, _, y_bar| y_bar.clamp(-1.0, 1.0), x)
    }
    fn many<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
        let rows: Tensor<T, 1> = Tensor::constant([0.3, 0.2]);
        let last = fold(x.at::<_, 1, 0>([0]), &rows, |h: Tensor<T, 0>, e: &Tensor<T, 0>| clipped(&(h.sin() + e)));
        Tensor::constant([1.0, -2.0, 0.5, 4.0, -0.25, 3.0, 0.1, 0.7]).times(&last)
    }
    let x = tensor([0.4]);
    let found: Tensor<Concrete, 2> = jacobian(many, &x);
    let rows: Vec<f64> = (0..8)
        .map(|k| vjp(move |x: &Tensor<_, 1>| many(x).at::<_, 1, 0>([k]), &x).1(&tensor(1.0)).to_vec()[0])
        .collect();
    assert!(rows.iter().zip(found.to_vec()).all(|(a, b)| (a - b).abs() < 1e-14 && *a != 0.0), "{found} and {rows:?}");
}

/// A former name of a verb records what the verb records.
#[test]
#[allow(deprecated)]
fn former_names_are_the_verbs() {
    let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    let renamed = [
        Function::gradient(|w| w.square().sum(), &w).optimized().to_string(),
        Function::gradient_with(|w, x| w.dot(x), &w, &x).optimized().to_string(),
        Function::value_and_gradient(|w| w.square().sum(), &w).optimized().to_string(),
        Function::value_and_gradient_with(|w, x| w.dot(x), &w, &x).optimized().to_string(),
    ];
    let verbs = [
        Function::grad(|w| w.square().sum(), &w).optimized().to_string(),
        Function::grad_with(|w, x| w.dot(x), &w, &x).optimized().to_string(),
        Function::value_and_grad(|w| w.square().sum(), &w).optimized().to_string(),
        Function::value_and_grad_with(|w, x| w.dot(x), &w, &x).optimized().to_string(),
    ];
    assert_eq!(renamed, verbs);
}

/// A number, and the number three times.
type Outcome = (Tensor<Concrete, 0>, Tensor<Concrete, 1>);

#[test]
fn a_function_runs_within_itself_and_on_several_threads() {
    static SUM: OnceLock<Function<Tensor<Concrete, 0>, (), Outcome>> = OnceLock::new();
    // f(x) = x + f(x - 1) for positive x, and f(x) = x otherwise: code of the host runs the function.
    let below = |x: &Tensor<Concrete, 0>| match x.item() > 0.0 {
        true => SUM.get().expect("recorded").run(&(x - 1.0)).expect("as traced").0,
        false => tensor(0.0),
    };
    let f = Function::stage(
        |x: &Tensor<_, 0>| (external("below", below, &tensor(0.0), x) + x, x.replicate::<1>(3) * 2.0),
        &tensor(0.0),
    );
    let f = SUM.get_or_init(|| f);
    let checked = |x: f64| {
        let (sum, thrice) = f.run(&tensor(x)).expect("as traced");
        assert_eq!((sum.item(), thrice), (x * (x + 1.0) / 2.0, Tensor::full([3], 2.0 * x)));
    };
    checked(5.0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..20).for_each(|k| checked(f64::from((thread + k) % 5))));
        }
    });
    // An argument that does not fit leaves no trace in later runs.
    let g = Function::stage(|x: &(Tensor<_, 1>, Tensor<_, 1>)| &x.0 * &x.1, &(tensor([1.0, 2.0]), tensor([3.0, 4.0])));
    for _ in 0..2 {
        assert_eq!(g.run(&(tensor([1.0, 2.0]), tensor([3.0, 4.0]))).expect("as traced"), tensor([3.0, 8.0]));
        assert!(g.run(&(tensor([1.0, 2.0]), tensor([3.0]))).is_err());
    }
}
