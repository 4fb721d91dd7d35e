//! Staging: a recorded program has the meaning of the generic program, and derivatives of programs are programs.

use std::cell::RefCell;
use std::thread;

use polygrad::program::{Program, Term, interpret};
use polygrad::symbolic::{self, Linearized, derivative, jvp, linearize, transpose, value_and_grad_in, vjp};
use polygrad::{
    Array, BaseTensor, Concrete, Function, Mode, RunError, Tensor, build1, cond, direct, fold, grad, hessian, hvp,
    jacobian, jacobian_by, map_accum, nth_derivative, tensor,
};

use crate::support::{LONG, on_a_small_stack};

type Params<T> = (Tensor<T, 0>, Tensor<T, 1>, Tensor<T, 1>);

/// Loops in loops with captured values, gathers, conditionals, views, contractions and shared values.
fn program<T: BaseTensor>((h0, w, xs): &Params<T>) -> Tensor<T, 0> {
    let shared = (w.outer::<1, 2>(xs) + 1.0).sqrt().sum_axis(1);
    let (last, hs): (Tensor<T, 0>, Tensor<T, 1>) = map_accum(h0.clone(), xs, |h, x: &Tensor<T, 0>| {
        let inner = fold(h.clone(), w, |c, w: &Tensor<T, 0>| (c * w + x).sin());
        let h = (inner * x + shared.sum()).tanh();
        (h.clone(), cond(x.gt(0.0), &(&h * x), &(&h + w.sum())))
    });
    let read = build1(6, |i| xs.at([i - 1]) * w.at([i.rem(3)]));
    last + hs.square().sum() + read.exp().sum() + (&shared * &shared).slice(0, 1..3).reverse(0).dot(&w.slice(0, 0..2))
}

fn point() -> Params<Concrete> {
    (tensor(0.3), tensor([0.5, -0.2, 0.9]), tensor([0.1, 0.7, -0.4, 0.2]))
}

fn leaves(p: &Params<Concrete>) -> Vec<Array> {
    vec![p.0.array().clone(), p.1.array().clone(), p.2.array().clone()]
}

fn recorded(f: impl Fn(&Params<Term>) -> Tensor<Term, 0>) -> Program {
    let p = point();
    let inputs: Vec<Term> = leaves(&p).iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let params =
        (Tensor::from_raw(inputs[0].clone()), Tensor::from_raw(inputs[1].clone()), Tensor::from_raw(inputs[2].clone()));
    let names = ["h0", "w", "xs"].map(String::from);
    Term::program(&inputs, &[f(&params).into_raw()], &names).expect("a closed program")
}

#[track_caller]
fn close(a: &[Array], b: &[Array]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.shape(), b.shape());
        for (x, y) in a.to_vec::<f64>().unwrap().iter().zip(b.to_vec::<f64>().unwrap()) {
            assert!((x - y).abs() <= 1e-11 * x.abs().max(1.0), "{x} and {y} in {a:?} and {b:?}");
        }
    }
}

#[test]
fn recording_keeps_values_and_derivatives() {
    let p = point();
    let staged = recorded(program);
    close(&interpret(&staged, leaves(&p)), &[program(&p).array().clone()]);
    let expected = leaves(&direct::grad(program, &p));
    close(&interpret(&symbolic::grad(&staged), leaves(&p)), &expected);
    close(&leaves(&grad(program, &p)), &expected);
    close(&leaves(&grad(|p: &Params<_>| program(p), &p)), &expected);
    // The recorded program can be recorded again.
    let again = recorded(|(a, b, c)| {
        let inputs = vec![a.raw().clone(), b.raw().clone(), c.raw().clone()];
        Tensor::from_raw(interpret(&staged, inputs).remove(0))
    });
    assert_eq!(again, staged, "recording is idempotent");
}

#[test]
fn forward_and_reverse_programs_are_dual() {
    let (p, staged) = (point(), recorded(program));
    let x_dot = vec![Array::from(1.0), Array::from([-0.3, 0.8, 0.2]), Array::from([0.5, -1.0, 0.3, 0.6])];
    let forward = interpret(&jvp(&staged), [leaves(&p), x_dot.clone()].concat());
    let reverse = interpret(&vjp(&staged), [leaves(&p), vec![Array::from(1.0)]].concat());
    close(&forward[..1], &reverse[..1]);
    let inner = |a: &[Array], b: &[Array]| -> f64 {
        let dot = |(a, b): (&Array, &Array)| {
            let (a, b) = (a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap());
            a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>()
        };
        a.iter().zip(b).map(dot).sum()
    };
    let slope = forward[1].item::<f64>().unwrap();
    assert!((slope - inner(&reverse[1..], &x_dot)).abs() < 1e-12);

    // Linearized, then transposed: the same two.
    let Linearized { primal, linear } = linearize(&staged);
    let values = interpret(&primal, leaves(&p));
    let residuals = &values[1..];
    let pushed = interpret(&linear, [x_dot, residuals.to_vec()].concat());
    close(&pushed, &forward[1..]);
    let pulled = interpret(&transpose(&linear, 3), [vec![Array::from(1.0)], residuals.to_vec()].concat());
    close(&pulled, &reverse[1..]);
}

#[test]
fn second_derivatives_by_nesting_and_by_repetition() {
    let (p, staged) = (point(), recorded(program));
    // The gradient of half the squared norm of the gradient: H g.
    let norm = |g: Params<Term>| (g.0.square() + g.1.square().sum() + g.2.square().sum()) * 0.5;
    let first = symbolic::grad(&staged);
    let by_repetition = recorded(|(a, b, c)| {
        let g = interpret(&first, vec![a.raw().clone(), b.raw().clone(), c.raw().clone()]);
        norm((Tensor::from_raw(g[0].clone()), Tensor::from_raw(g[1].clone()), Tensor::from_raw(g[2].clone())))
    });
    let g = direct::grad(program, &p);
    let expected = leaves(&hvp(program, &p, &g));
    close(&interpret(&symbolic::grad(&by_repetition), leaves(&p)), &expected);
    let nested = direct::grad(
        |p: &Params<_>| {
            let g = direct::grad(program, p);
            (g.0.square() + g.1.square().sum() + g.2.square().sum()) * 0.5
        },
        &p,
    );
    close(&leaves(&nested), &expected);
    let staged_nested = grad(
        |p: &Params<_>| {
            let g = grad(program, p);
            (g.0.square() + g.1.square().sum() + g.2.square().sum()) * 0.5
        },
        &p,
    );
    close(&leaves(&staged_nested), &expected);
}

#[test]
fn hessians_and_jacobians() {
    fn f<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        x.sin().times(&x.at([0])).sum() + (x.slice(0, 1..3) * x.slice(0, 0..2)).exp().sum()
    }
    let x = tensor([0.3, -0.8, 1.1]);
    let h: Tensor<Concrete, 2> = hessian(f, &x);
    assert!(h.to_vec().iter().zip(h.t().to_vec()).all(|(a, b)| (a - b).abs() < 1e-14), "symmetric: {h}");
    let g = |x: &Tensor<_, 1>| direct::grad(f, x);
    let forward: Tensor<Concrete, 2> = jacobian_by(Mode::Forward, g, &x);
    let reverse: Tensor<Concrete, 2> = jacobian_by(Mode::Reverse, g, &x);
    close(&[h.array().clone()], &[forward.array().clone()]);
    close(&[h.array().clone()], &[reverse.array().clone()]);
    let v = tensor([1.0, -2.0, 0.5]);
    close(&[hvp(f, &x, &v).array().clone()], &[h.matvec(&v).array().clone()]);
    // Rectangular, of higher rank, and empty.
    let j: Tensor<Concrete, 3> = jacobian(|x: &Tensor<_, 1>| x.outer::<1, 2>(&x.slice(0, 0..2)), &x);
    assert_eq!(j.shape(), [3, 2, 3]);
    assert_eq!(j.at([1, 0]), tensor([-0.8, 0.3, 0.0]));
    let none: Tensor<Concrete, 2> = jacobian(|x: &Tensor<_, 1>| x.slice(0, 0..0), &x);
    assert_eq!(none.shape(), [0, 3]);
    // Inside a program that is differentiated itself.
    let trace = |x: &Tensor<_, 1>| {
        let h: Tensor<_, 2> = hessian(f, x);
        h.diagonal::<1>(0, 1).sum()
    };
    let by_direct = direct::grad(trace, &x);
    let h = 1e-5;
    let fd = |k: usize| {
        let at = |s: f64| {
            let mut x = x.to_vec();
            x[k] += s * h;
            let h: Tensor<Concrete, 2> = hessian(f, &tensor(x));
            h.diagonal::<1>(0, 1).sum().item()
        };
        (at(1.0) - at(-1.0)) / (2.0 * h)
    };
    for k in 0..3 {
        assert!((by_direct.at([k]).item() - fd(k)).abs() < 1e-7);
    }
}

#[test]
fn orders_one_to_eight() {
    fn f<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
        (x.exp() * x).sin()
    }
    let variable = Term::variable(&[], polygrad::DType::F64);
    let y = f(&Tensor::<Term, 0>::from_raw(variable.clone())).into_raw();
    let start = Term::program(&[variable], &[y], &[]).expect("a closed program");
    let (mut forward, mut reverse) = (start.clone(), start);
    let x = Array::from(0.7);
    for order in 1..=8 {
        forward = derivative(&forward);
        reverse = symbolic::grad(&reverse);
        let (a, b) = (interpret(&forward, vec![x.clone()]), interpret(&reverse, vec![x.clone()]));
        let (a, b) = (a[0].item::<f64>().unwrap(), b[0].item::<f64>().unwrap());
        println!("order {order}: {} operations by forward, {} by reverse repetition", forward.size(), reverse.size());
        assert!((a - b).abs() <= 1e-10 * a.abs().max(1.0), "order {order}: {a} and {b}");
        assert!(forward.size() < 40 * (1 << order) && reverse.size() < 40 * 3usize.pow(order));
        assert!((nth_derivative(f, order as usize, &tensor(0.7)).item() - a).abs() <= 1e-12 * a.abs());
    }
    let nested = direct::grad(|x: &Tensor<_, 0>| direct::grad(|x: &Tensor<_, 0>| direct::grad(f, x), x), &tensor(0.7));
    let third = nth_derivative(f, 3, &tensor(0.7));
    assert!((nested.item() - third.item()).abs() < 1e-11 * third.item().abs());
    assert_eq!(nth_derivative(f, 0, &tensor(0.7)), f(&tensor(0.7)));
}

/// `y = x0 / x1`, then `n` times `y := 0.499999985 * (y + y)`.
fn blowup<T: BaseTensor>(x: &Tensor<T, 1>, n: usize) -> Tensor<T, 0> {
    let mut y = x.at([0]) / x.at([1]);
    for _ in 0..n {
        y = (&y + &y) * 0.499999985;
    }
    y
}

#[test]
fn sharing_is_observed() {
    let x = tensor([0.2, 0.3]);
    let size = |n: usize| {
        let f = Function::value_and_grad(|x: &Tensor<_, 1>| blowup(x, n), &x);
        let (_, g) = f.run(&x).unwrap();
        let factor = (1.0 - 3e-8f64).powi(n as i32);
        assert!((g.at([0]).item() - factor / 0.3).abs() < 1e-9);
        f.program().size()
    };
    let (half, whole) = (size(3500), size(7000));
    assert!(whole <= 2 * half + 10, "{half} operations for half the steps, {whole} for all");
}

#[test]
fn long_programs_stage_differentiate_and_drop() {
    on_a_small_stack(|| {
        let x = tensor([0.2, 0.3]);
        let f = Function::value_and_grad(|x: &Tensor<_, 1>| blowup(x, LONG), &x);
        assert!(f.run(&x).is_ok());
        drop(f);
        let chain = |x: &Tensor<_, 1>| (0..2 * LONG).fold(x.at([0]), |y: Tensor<_, 0>, _| y.sin() + 0.1);
        let long = Function::stage(chain, &x);
        assert!(long.program().size() >= 4 * LONG);
        assert!(long.run(&x).is_ok());
    });
}

#[test]
fn functions_run_from_several_threads() {
    let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    let f = Function::value_and_grad_with(|w: &Tensor<_, 1>, x: &Tensor<_, 1>| (w * x).square().sum(), &w, &x);
    let results: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|k| {
                let (f, w) = (&f, w.clone());
                scope.spawn(move || f.run_with(&w, &tensor([f64::from(k), 1.0])).map(|(y, _)| y.item()))
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("no panic")).collect()
    });
    assert_eq!(results, [4.0, 5.0, 8.0, 13.0].map(Ok));
}

#[test]
fn inputs_that_do_not_fit_are_errors() {
    let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    let f = Function::value_and_grad_with(|w: &Tensor<_, 1>, x: &Tensor<_, 1>| w.dot(x), &w, &x);
    let error = f.run_with(&w, &tensor([1.0])).unwrap_err();
    assert!(matches!(&error, RunError::Input { name, .. } if name == "data"));
    assert_eq!(
        error.to_string(),
        "run: input `data` was traced as f64 [2], but it is f64 [1]; stage the function again for this shape"
    );
    let several = Function::stage(|x: &Vec<Tensor<Term, 1>>| x[0].sum(), &vec![w.clone(), x.clone()]);
    let error = several.run(&vec![w]).unwrap_err();
    assert!(matches!(&error, RunError::Structure { name, .. } if name == "x"));
}

#[test]
fn data_is_an_input() {
    let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    let f = Function::value_and_grad_with(|w: &Tensor<_, 1>, x: &Tensor<_, 1>| w.dot(x), &w, &x);
    assert_eq!(f.run_with(&w, &tensor([5.0, 6.0])).unwrap().1, tensor([5.0, 6.0]));
    assert_eq!(f.program().inputs().len(), 2);
    assert_eq!(f.program().inputs()[1].name, "data");
}

#[test]
#[should_panic(expected = "stage: a result may depend only on the inputs")]
fn an_escaped_variable_is_refused() {
    Function::stage(
        |x: &Tensor<Term, 1>| {
            let escaped = RefCell::new(None);
            let y = fold(Tensor::scalar(1.0), x, |h: Tensor<Term, 0>, x: &Tensor<Term, 0>| {
                escaped.replace(Some(x.clone()));
                h * x
            });
            y + escaped.into_inner().expect("the step ran")
        },
        &tensor([1.0, 2.0]),
    );
}

#[test]
fn loop_invariant_code_is_outside() {
    let staged = recorded(|(h0, w, xs)| fold(h0.clone(), xs, |h, x: &Tensor<Term, 0>| h * x + w.sin().exp().sum()));
    let outside = staged.nodes().iter().filter(|n| matches!(n.op, polygrad::program::Op::Unary(..))).count();
    assert_eq!(outside, 2, "sin and exp of the captured weights are computed once");
}

#[test]
fn gradients_in_some_inputs_only() {
    let staged = recorded(program);
    let some = value_and_grad_in(&staged, &[1]);
    let all = interpret(&symbolic::grad(&staged), leaves(&point()));
    let got = interpret(&some, leaves(&point()));
    close(&got[1..], &all[1..2]);
}
