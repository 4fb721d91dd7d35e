//! Conditionals: what is computed for one side of a selection by one truth value is a branch, and one branch runs.
//!
//! Laws: values and derivatives of every order are those of the selection, whichever branch the mask chooses, in every
//! mode, in batches and in loops. A function of the host in a branch that is not chosen is not called, by a value or by a
//! derivative.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polygrad::backend::compile;
use polygrad::inspect::count;
use polygrad::internals::branched;
use polygrad::program::{Custom, CustomKind, Op, Program, Term, interpret};
use polygrad::{
    Array, BaseTensor, Concrete, DType, Function, Tensor, cond, direct, external, fold, hessian, hvp, iterate, jvp,
    laplacian, map, switch, symbolic, tensor,
};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// A function that takes some microseconds.
fn long<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let y: Vector<T> = iterate(20, x, |_, y: Vector<T>| (y.sin() * 1.01 + 0.1).tanh());
    (y * x).sum()
}

/// A selection between two such functions.
fn chosen<T: BaseTensor>((c, x): &(Scalar<T>, Vector<T>)) -> Scalar<T> {
    let both = x.square().sum();
    let then = long(&(x * c)) * &both;
    let otherwise = iterate(20, x, |_, y: Vector<T>| (y - c).cos() * 0.9).sum();
    cond(c.gt(0.0), &then, &otherwise) + both
}

/// The branch of a number.
fn number<T: BaseTensor>(k: f64, (c, x): &(Scalar<T>, Vector<T>)) -> Scalar<T> {
    iterate(200, x * (c - k).cos(), |_, y: Vector<T>| (y.sin() * 1.01 + 0.1).tanh()).sum() * k + c
}

/// One of five branches by the number that the first input is near.
fn switched<T: BaseTensor>(inputs: &(Scalar<T>, Vector<T>)) -> Scalar<T> {
    switch((&inputs.0 + 0.5).floor().to_int(), [0.0, 1.0, 2.0, 3.0, 4.0].map(|k| number(k, inputs)))
}

#[test]
fn one_branch_of_many_runs() {
    let x = tensor([0.5, -1.0, 2.0]);
    let f = Function::stage(switched, &(tensor(0.0), x.clone()));
    // A tree of four conditionals.
    assert_eq!(conditionals(&f.optimized()), 4, "{}", f.optimized());
    for (at, k) in [(-7.2, 0.0), (-0.1, 0.0), (1.2, 1.0), (2.0, 2.0), (3.4, 3.0), (4.1, 4.0), (99.0, 4.0)] {
        let inputs = (tensor(at), x.clone());
        assert!((f.run(&inputs).expect("the same shapes") - number(k, &inputs)).abs().item() < 1e-12, "{at}");
        let [slope, expected] = [polygrad::grad(switched, &inputs), direct::grad(|inputs| number(k, inputs), &inputs)];
        assert!((slope.0 - expected.0).abs().item() < 1e-9 && (slope.1 - expected.1).abs().sum().item() < 1e-9, "{at}");
    }
}

/// The branch that the sign chooses, as the host chooses it.
fn by_host<T: BaseTensor>(positive: bool, (c, x): &(Scalar<T>, Vector<T>)) -> Scalar<T> {
    let both = x.square().sum();
    let branch = match positive {
        true => long(&(x * c)) * &both,
        false => iterate(20, x, |_, y: Vector<T>| (y - c).cos() * 0.9).sum(),
    };
    branch + both
}

fn points() -> [(Scalar<Concrete>, Vector<Concrete>); 2] {
    [0.7, -0.3].map(|c| (tensor(c), Vector::linspace(-1.0, 1.5, 64)))
}

fn conditionals(program: &Program) -> usize {
    let inside = |op: &Op<u32>| {
        if let Op::Custom(c, _) = op
            && let CustomKind::Cond { then, otherwise, .. } = c.kind()
        {
            return 1 + conditionals(then) + conditionals(otherwise);
        }
        0
    };
    program.nodes().iter().map(|node| inside(&node.op)).sum()
}

fn near(x: &Array, y: &Array) -> bool {
    let (x, y) = (x.to_vec::<f64>().expect("floats"), y.to_vec::<f64>().expect("floats"));
    x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + y.abs()))
}

#[test]
fn every_derivative_is_that_of_the_branch_that_runs() {
    let (u, example) = ((tensor(0.4), Vector::linspace(1.0, -2.0, 64)), &points()[0]);
    let f = Function::stage(chosen, example);
    let gradient = Function::value_and_grad(chosen, example);
    assert_eq!((conditionals(f.optimized()), conditionals(gradient.optimized())), (1, 2));
    for (x, positive) in points().iter().zip([true, false]) {
        let host = move |x: &(Scalar<Term>, Vector<Term>)| by_host(positive, x);
        assert!(near(f.run(x).expect("it fits").raw(), Function::stage(host, x).run(x).expect("it fits").raw()));
        let (y, g) = gradient.run(x).expect("it fits");
        let (z, h) = Function::value_and_grad(host, x).run(x).expect("it fits");
        assert!(near(y.raw(), z.raw()) && near(g.0.raw(), h.0.raw()) && near(g.1.raw(), h.1.raw()));
        let (along, by) = (jvp(chosen, x, &u), jvp(host, x, &u));
        assert!(near(along.0.raw(), by.0.raw()) && near(along.1.raw(), by.1.raw()));
        let (second, by) = (hvp(chosen, x, &u), hvp(host, x, &u));
        assert!(near(second.0.raw(), by.0.raw()) && near(second.1.raw(), by.1.raw()));
        assert!(near(laplacian(chosen, x).raw(), laplacian(host, x).raw()));
        let of_x = |x: &Vector<Term>, c: f64| (Scalar::scalar(c), x.clone());
        let c = x.0.item();
        let full = hessian(|x: &Vector<_>| chosen(&of_x(x, c)), &x.1);
        assert!(near(full.raw(), hessian(|x: &Vector<_>| by_host(positive, &of_x(x, c)), &x.1).raw()));
    }
}

/// In a batch each row has its branch; in a loop each trip has one.
#[test]
fn rows_and_trips_choose_for_themselves() {
    let (cs, x) = (tensor([0.5, -0.5, 0.0, 1.0]), Vector::linspace(-1.0, 1.5, 64));
    let one = |c: f64| direct::value_and_grad(chosen, &(tensor(c), x.clone()));
    let rows = |cs: &Vector<Term>, x: &Vector<Term>| map(cs, |c: &Scalar<Term>| chosen(&(c.clone(), x.clone())));
    let batch = Function::stage_with(rows, &cs, &x).run_with(&cs, &x).expect("it fits");
    let slopes = Function::grad_with(|cs: &Vector<_>, x: &Vector<_>| rows(cs, x).sum(), &cs, &x);
    let slopes = slopes.run_with(&cs, &x).expect("it fits");
    let through = |x: &Vector<Term>, cs: &Vector<Term>| {
        fold(Scalar::scalar(1.0), cs, |sum: Scalar<Term>, c: &Scalar<Term>| sum * 0.5 + chosen(&(c.clone(), x.clone())))
    };
    let looped = Function::value_and_grad_with(through, &x, &cs);
    let (total, slope) = looped.run_with(&x, &cs).expect("it fits");
    let (mut sum, mut of_x) = (1.0, Vector::zeros([64]));
    for (k, c) in [0.5, -0.5, 0.0, 1.0].into_iter().enumerate() {
        let (y, (of_c, of)) = one(c);
        assert!(near(batch.at([k as i64]).raw(), y.raw()), "row {k}");
        assert!(near(slopes.at([k as i64]).raw(), of_c.raw()), "slope {k}");
        sum = sum * 0.5 + y.item();
        of_x = of_x * 0.5 + of;
    }
    assert!(near(total.raw(), tensor(sum).raw()) && near(slope.raw(), of_x.raw()));
}

/// A function of the host in a branch runs if the branch is chosen: once for a value, and once for a derivative.
#[test]
fn a_branch_that_is_not_chosen_does_not_run() {
    let calls = Arc::new(AtomicUsize::new(0));
    let f = {
        let calls = calls.clone();
        move |(c, x): &(Scalar<Term>, Vector<Term>)| {
            let calls = calls.clone();
            let host = move |x: &Vector<Concrete>| {
                calls.fetch_add(1, Ordering::Relaxed);
                x * 2.0
            };
            let factor = external("doubled", host, &Vector::<Concrete>::zeros([64]), &x.stop_gradient());
            cond(c.gt(0.0), long(&(x * c)) * (factor * x).sum(), x.sum())
        }
    };
    let (chosen, other) = (&points()[0], &points()[1]);
    let value = Function::stage(&f, chosen);
    let gradient = Function::value_and_grad(&f, chosen);
    let product = Function::hvp(&f, chosen);
    let called = |run: &dyn Fn()| {
        let before = calls.load(Ordering::Relaxed);
        run();
        calls.load(Ordering::Relaxed) - before
    };
    for (x, times) in [(chosen, 1), (other, 0)] {
        assert_eq!(called(&|| _ = value.run(x).expect("it fits")), times, "the value");
        assert_eq!(called(&|| _ = gradient.run(x).expect("it fits")), times, "the gradient");
        assert_eq!(called(&|| _ = product.run_with(x, x).expect("it fits")), times, "the Hessian times a direction");
    }
}

/// Residuals that a branch does not have are zeros where a program returns them.
#[test]
fn residuals_of_the_other_branch_are_zeros() {
    let f = Function::stage(chosen, &points()[0]);
    let split = symbolic::linearize(f.optimized());
    let mut zeros = 0;
    for (c, x) in points() {
        let inputs = vec![c.raw().clone(), x.raw().clone()];
        let compiled = compile(&split.primal).run(&inputs);
        let interpreted = interpret(&split.primal, inputs);
        assert!(compiled.iter().zip(&interpreted).filter(|(a, _)| a.dtype().is_float()).all(|(a, b)| near(a, b)));
        let is_zero = |a: &Array| a.size() > 1 && a.to_vec::<f64>().is_ok_and(|all| all.iter().all(|x| *x == 0.0));
        zeros += compiled.iter().filter(|a| is_zero(a)).count();
    }
    assert!(zeros > 0, "one branch has residuals that the other one does not have");
}

/// At degenerate points: a side that is NaN, infinite or at a kink adds nothing where it is not chosen; sides of no elements,
/// of no trips, of integers, without operations; a mask that is NaN's comparison. Where the value itself is
/// infinite or NaN, a factor of zero may come before or after it, so that a derivative is NaN or not.
#[test]
fn degenerate_branches_have_the_derivatives_of_the_selection() {
    type Loss = fn(&Vector<Term>) -> Scalar<Term>;
    let losses: [(&str, Loss); 8] = [
        ("a root of negative numbers", |x| {
            cond(x.sum().gt(0.0), (x.square() * -1.0 - 1.0).sqrt().sum(), x.square().sum())
        }),
        ("a quotient by zero", |x| cond(x.sum().le(0.0), x.square().sum(), ((x * 0.0).recip() * x).sum())),
        ("a root at zero", |x| cond(x.sum().eq(0.0), (x * 0.0).sqrt().sum(), x.cos().sum())),
        ("a logarithm of zero", |x| (cond(x.sum().gt(0.0), (x * 0.0).ln(), x.sin()) * x).sum()),
        ("no trips", |x| cond(x.sum().gt(0.0), iterate(0, x, |_, y: Vector<Term>| y.sin()).sum(), x.exp().sum())),
        ("integers", |x| (cond(x.sum().gt(0.0), x.round().to_int(), x.argsort(0)).to_float::<f64>() * x).sum()),
        ("no operations", |x| cond(x.sum().gt(0.0), x.at([0]), x.at([1])) * x.at([0])),
        ("a side in a side", |x| {
            let inner = cond(x.at([0]).gt(0.0), x.exp().sum(), (x * 0.0).ln().sum());
            cond(x.sum().gt(0.0), inner.sin(), x.norm())
        }),
    ];
    let points =
        [[1.0, 2.0], [-1.0, -2.0], [0.0, 0.0], [1.0, -1.0], [f64::NAN, 1.0], [f64::INFINITY, 0.0], [1e-200, 0.0]];
    for (name, loss) in losses {
        let x = Term::variable(&[2], DType::F64);
        let y = loss(&Vector::from_raw(x.clone())).into_raw();
        let program = Term::program(&[x], &[y], &[]).expect("a closed program");
        let chosen = branched(&program);
        assert!(conditionals(&chosen) > 0, "{name}");
        let [plain, by_branch] = [&program, &chosen].map(symbolic::grad);
        let second = [&plain, &by_branch].map(symbolic::jvp);
        for point in points {
            let x = Array::from(point);
            let outside = !interpret(&program, vec![x.clone()])[0].item::<f64>().expect("a number").is_finite();
            let same = |a: &[Array], b: &[Array], what: &str| {
                let bits =
                    |all: &[Array]| all.iter().flat_map(|a| a.to_vec::<f64>().expect("floats")).collect::<Vec<_>>();
                let alike = bits(a).into_iter().zip(bits(b)).all(|(a, b)| {
                    let nan = if outside { a.is_nan() || b.is_nan() } else { a.is_nan() && b.is_nan() };
                    a == b || nan || (a - b).abs() < 1e-12
                });
                assert!(alike, "{what} of {name} at {point:?}: {a:?} and {b:?}\n{by_branch}");
            };
            let at = std::slice::from_ref(&x);
            same(&interpret(&plain, at.to_vec()), &interpret(&by_branch, at.to_vec()), "the gradient");
            same(&interpret(&plain, at.to_vec()), &compile(&by_branch).run(at), "the gradient, compiled,");
            let both = [x.clone(), Array::from([0.5, -2.0])];
            same(&interpret(&second[0], both.to_vec()), &compile(&second[1]).run(&both), "the second derivative");
        }
    }
}

/// What runs is counted, and what would run if the mask were another is not.
#[test]
fn work_is_that_of_the_branch() {
    let f = Function::stage(chosen, &points()[0]);
    let work = |x: &(Scalar<Concrete>, Vector<Concrete>)| {
        let (_, tally) = count(|x: &(Scalar<_>, Vector<_>)| Scalar::from_raw(of_program(f.optimized(), x)), x);
        tally.total().work
    };
    let [positive, negative] = points();
    let both = Function::stage(chosen, &positive);
    let all = count(|x: &(Scalar<_>, Vector<_>)| Scalar::from_raw(of_program(both.program(), x)), &positive).1;
    assert!(work(&positive) + work(&negative) < 2 * all.total().work);
    assert!(work(&positive).max(work(&negative)) < all.total().work);
}

fn of_program<T: BaseTensor>(program: &Program, (c, x): &(Scalar<T>, Vector<T>)) -> T {
    interpret(program, vec![c.raw().clone(), x.raw().clone()]).remove(0)
}

/// Short branches stay a selection, which other operations can be fused with, and so does a choice element by element.
#[test]
fn short_branches_are_selected() {
    let x = Vector::linspace(-1.0, 1.5, 64);
    let scalar = Function::stage(|x: &Vector<_>| cond(x.sum().gt(0.0), x.sin(), x.cos()), &x);
    let rows = Function::stage(|x: &Vector<_>| x.gt(0.0).select(long(x) * x, x), &x);
    assert_eq!((conditionals(scalar.optimized()), conditionals(rows.optimized())), (0, 0));
}

#[test]
fn a_conditional_prints_both_branches() {
    let x = (tensor(1.0), Vector::zeros([1000]));
    let f = |(c, x): &(Scalar<_>, Vector<_>)| {
        let y: Vector<_> = iterate(50, x, |_, y: Vector<_>| (y.sin() * 1.01).tanh());
        cond(c.gt(0.0), y.sum(), x.sum())
    };
    let value = Function::stage(f, &x);
    assert_eq!(
        value.optimized().to_string(),
        "program(x.0: f64, x.1: f64[1000]) {
  t0 = x.0 > 0.0
  t1 = if t0 (e0 = x.1) {
    t2 = loop 50 carry (h0 = e0) {
      next tanh (1.01 * sin h0)
    }
    return sum t2
  } else {
    return sum e0
  }
  return t1
}"
    );
}

/// Programs of a conditional must take and return the same kinds of values.
#[test]
fn branches_must_be_alike() {
    let program = |dtype: DType, n: usize| {
        let x = Term::variable(&[n], dtype);
        Term::program(std::slice::from_ref(&x), std::slice::from_ref(&x), &[]).expect("a closed program")
    };
    let cond = |other: Program| Custom::cond("either", program(DType::F64, 2), other).err();
    assert_eq!(cond(program(DType::F64, 2)), None);
    let message = cond(program(DType::F64, 3)).expect("a message");
    assert_eq!(message, "among the arguments of the other branch there is f64 [3] where f64 [2] is needed");
    assert!(cond(program(DType::F32, 2)).is_some());
}
