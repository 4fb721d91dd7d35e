//! Functions of all kinds, saved and loaded: rules, solutions of equations, functions that run again, repeated ones.
//!
//! Law: a loaded program equals the saved one, and has its values and all its derivatives, which are those of differences
//! where the rules are true. No content is symmetric, and no two programs of a function are equal, so that none of them can
//! stand in the place of another one unseen.

use polygrad::program::{Op, Program, interpret};
use polygrad::{
    Array, BaseTensor, Concrete, Function, LinearSolver, Solver, Tensor, checkpoint, custom_jvp, custom_vjp, odeint,
    symbolic, tensor, while_loop, while_loop_within,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// `m x + x^3 = p`, whose Jacobian is not symmetric, by products with it.
fn root<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
    let solver = Solver::default().linear(LinearSolver::Gmres(5));
    let x: Vector<T> = solver.root(
        |x: &Vector<_>, p: &Vector<_>| Tensor::<_, 2>::constant([[2.0, 1.0], [-0.5, 3.0]]).matvec(x) + x.powi(3) - p,
        &Tensor::zeros([2]),
        p,
    );
    x.at([0]) - 2.0 * x.at([1])
}

/// A rule for tangents, true.
fn pushed<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
    let rule = |x: &Vector<_>, _: &Vector<_>, x_dot: &Vector<_>| x.square() * 3.0 * x_dot;
    custom_jvp("pushed", |x: &Vector<_>| x.powi(3), rule, p).at([0]) * p.at([1])
}

/// A rule for cotangents, true; its transposed one is the rule for tangents.
fn pulled<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
    let rule = |x: &Vector<_>, y: &Vector<_>, y_bar: &Vector<_>| x.cos() * y_bar + 0.0 * y;
    custom_vjp("pulled", |x: &Vector<_>| x.sin(), rule, p).at([1]) * p.at([0])
}

/// A rule that is not true.
fn doubled<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
    let rule = |_: &Vector<_>, y: &Vector<_>, y_bar: &Vector<_>| y * y_bar * 2.0;
    custom_vjp("doubled", |x: &Vector<_>| x.exp(), rule, p).at([1]) * p.at([0])
}

fn again<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
    let rows: Vector<T> = Tensor::constant([0.3, -0.2, 0.9, 0.4]);
    let of: Number<T> = p.at([1]);
    checkpoint(2).fold(p.at::<_, 1, 0>([0]), rows, move |h: Number<T>, e: &Number<T>| (h * &of + e).sin())
}

/// The square root of `p_0 + p_1^2` by Newton's method.
fn repeated<T: BaseTensor>(most: Option<usize>, p: &Vector<T>) -> Number<T> {
    let a = p.at::<_, 1, 0>([0]) + p.at([1]).square();
    let go = |y: &Number<T>| (y.square() - &a).abs().gt(1e-13);
    let step = |y: Number<T>| (&y + &a / &y) * 0.5;
    match most {
        None => while_loop(&a * 0.5 + 1.0, go, step),
        Some(most) => while_loop_within(most, &a * 0.5 + 1.0, go, step),
    }
}

/// An equation with rules for both modes.
fn solved<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
    let times: Vector<T> = Tensor::constant([0.5, 1.0]);
    let rate = |y: &Vector<_>, t: &Number<_>, p: &Vector<_>| -(y * p).times(t);
    let y: Vec<Vector<T>> = odeint(rate, p, &times, p);
    y[1].at([0]) - 2.0 * y[1].at([1])
}

// ---- the law ----

fn run(program: &Program, inputs: &[Vec<f64>]) -> Vec<f64> {
    let inputs = inputs.iter().map(|x| Array::new(&[x.len()], x.clone())).collect();
    let results = interpret::<Concrete>(program, inputs);
    results.iter().flat_map(|y| y.to_vec::<f64>().expect("floats")).collect()
}

/// The change of the results along a direction, by differences.
fn change(program: &Program, x: &[f64], along: &[f64]) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let at = |by: f64| run(program, &[x.iter().zip(along).map(|(x, d)| x + by * d).collect()]);
    at(STEP).iter().zip(at(-STEP)).map(|(a, b)| (a - b) / (2.0 * STEP)).collect()
}

#[track_caller]
fn near(name: &str, a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{name}");
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0)), "{name}: {a:?} and {b:?}");
}

/// Whether a program has an operation, also in its loops and functions.
fn has(program: &Program, wanted: &dyn Fn(&Op<u32>) -> bool) -> bool {
    program.nodes().iter().any(|node| {
        let mut inside: Vec<&Program> = Vec::new();
        if let Op::Loop(l) = &node.op {
            inside.push(&l.body);
        }
        if let Op::Custom(c, _) = &node.op {
            inside.extend([Some(c.primal()), c.jvp(), c.vjp()].into_iter().flatten());
        }
        wanted(&node.op) || inside.into_iter().any(|p| has(p, wanted))
    })
}

/// The law for one function at a place; `kind` is that of its operation, `is_true` says whether differences agree, and
/// `reverse` whether there is a derivative in reverse mode.
#[track_caller]
fn assert_saved(name: &str, program: &Program, kind: &dyn Fn(&Op<u32>) -> bool, is_true: bool, reverse: bool) {
    assert!(has(program, kind), "{name} is no function of its kind:\n{program}");
    let text = serde_json::to_string(program).expect("it can be saved");
    let loaded: Program = serde_json::from_str(&text).expect("what was saved loads");
    assert_eq!(&loaded, program, "{name}");
    assert_eq!(loaded.to_string(), program.to_string(), "{name}");
    let (x, along) = (vec![0.7, 1.3], vec![0.6, -0.8]);
    assert_eq!(run(&loaded, std::slice::from_ref(&x)), run(program, std::slice::from_ref(&x)), "{name}");
    // Forward; reverse; forward over both.
    let mut orders = vec![("tangent", symbolic::jvp as fn(&Program) -> Program)];
    if reverse {
        orders.push(("gradient", symbolic::grad));
        orders.push(("tangent of the gradient", |p| symbolic::jvp(&symbolic::grad(p))));
    }
    for (order, derivative) in orders {
        let inputs = if order == "gradient" { vec![x.clone()] } else { vec![x.clone(), along.clone()] };
        let [found, needed] = [&loaded, program].map(|p| run(&derivative(p), &inputs));
        near(&format!("{name}, {order}"), &found, &needed);
    }
    if is_true {
        let dot = run(&symbolic::jvp(&loaded), &[x.clone(), along.clone()])[1..].to_vec();
        near(&format!("{name}, differences"), &dot, &change(program, &x, &along));
    }
    if is_true && reverse {
        let gradient = symbolic::grad(&loaded);
        let dot: f64 = run(&gradient, std::slice::from_ref(&x)).iter().zip(&along).map(|(g, d)| g * d).sum();
        near(&format!("{name}, differences along"), &[dot], &change(program, &x, &along));
        let second = run(&symbolic::jvp(&gradient), &[x.clone(), along.clone()])[2..].to_vec();
        near(&format!("{name}, second differences"), &second, &change(&gradient, &x, &along));
    }
}

#[test]
fn every_kind_of_function_is_saved_with_all_its_programs() {
    let x = tensor([0.7, 1.3]);
    macro_rules! recorded {
        ($f:expr) => {
            Function::stage($f, &x).program().clone()
        };
    }
    let custom = |op: &Op<u32>| matches!(op, Op::Custom(c, _) if c.solves().is_none() && (c.jvp().is_some() || c.vjp().is_some()));
    let again_kind = |op: &Op<u32>| matches!(op, Op::Custom(c, _) if c.is_checkpointed());
    let repeats =
        |op: &Op<u32>| matches!(op, Op::Custom(c, _) if !c.is_checkpointed() && c.jvp().is_none() && c.vjp().is_none());
    let solves = |op: &Op<u32>| matches!(op, Op::Custom(c, _) if c.solves().is_some());
    assert_saved("a root by products", &recorded!(|p: &Vector<_>| root(p)), &solves, true, true);
    assert_saved("a rule for tangents", &recorded!(|p: &Vector<_>| pushed(p)), &custom, true, true);
    assert_saved("a rule for cotangents", &recorded!(|p: &Vector<_>| pulled(p)), &custom, true, true);
    assert_saved("a wrong rule", &recorded!(|p: &Vector<_>| doubled(p)), &custom, false, true);
    assert_saved("a function run again", &recorded!(|p: &Vector<_>| again(p)), &again_kind, true, true);
    assert_saved("a bounded loop", &recorded!(|p: &Vector<_>| repeated(Some(20), p)), &repeats, true, true);
    assert_saved("a loop without a bound", &recorded!(|p: &Vector<_>| repeated(None, p)), &repeats, true, false);
    assert_saved("an equation of motion", &recorded!(|p: &Vector<_>| solved(p)), &custom, true, true);
    // The gradient holds the function of the transposed equations, too.
    let gradient = symbolic::grad(&recorded!(|p: &Vector<_>| root(p)));
    let text = serde_json::to_string(&gradient).expect("it can be saved");
    let loaded: Program = serde_json::from_str(&text).expect("what was saved loads");
    let x = [vec![0.7, 1.3]];
    near("the gradient of a root", &run(&loaded, &x), &run(&gradient, &x));
}
