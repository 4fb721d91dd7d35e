//! Every verb that records has one pipeline: optimize, differentiate, optimize.

use polygrad::inspect::count;
use polygrad::interpreters::Ast;
use polygrad::program::{Program, interpret};
use polygrad::{
    Array, BaseTensor, Function, FunctionOptions, Tensor, build1, grad, hessian_matrix_with, hvp, jacobian, jvp,
    value_and_grad_with, vjp,
};

use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};
use crate::seen::{Seen, programs};

/// The work of a run.
fn work(program: &Program, inputs: Vec<Array>) -> u64 {
    count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &Leaves(inputs)).1.total().work
}

/// Without names.
fn nameless(program: &Program) -> Program {
    program.named(&vec![""; program.inputs().len()], &vec![""; program.outputs().len()])
}

/// The program of a function, unless there were several to choose from: then a verb that runs a small program once makes
/// the first only.
fn only<Y>(function: &Function<Leaves<Array>, Leaves<Array>, Y>) -> Option<Program> {
    let one = !function.explain().contains("estimates");
    one.then(|| nameless(function.optimized()))
}

/// The program of the plain gradient and that of the function, of an objective.
fn both(case: &Recorded) -> Option<[Program; 2]> {
    let seen = |leaves: &Leaves<Array>| Leaves(leaves.0.iter().cloned().map(Seen).collect());
    let (x, data) = (&case.x, &case.data);
    value_and_grad_with(case.eval, &seen(x), &seen(data));
    let plain = programs().pop().expect("a program ran");
    let function = Function::value_and_grad_with(case.eval, x, data);
    Some([nameless(&plain), only(&function)?])
}

/// What differs, and the number of objectives that were compared.
#[derive(Default)]
struct Same(Vec<String>, usize);

impl Same {
    fn look(&mut self, case: &Recorded) {
        let Some([plain, function]) = both(case) else { return };
        self.1 += 1;
        let inputs = case.inputs();
        if work(&plain, inputs.clone()) != work(&function, inputs) || plain.size() != function.size() {
            self.0.push(format!("{}: {plain}\n{function}", case.name));
        }
    }
}

impl Visitor for Same {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn the_plain_gradient_runs_the_program_of_the_function() {
    let same: Vec<Same> = gallery::each_apart();
    let count: usize = same.iter().map(|same| same.1).sum();
    assert!(count > 100, "{count}");
    let wrong: Vec<&str> = same.iter().flat_map(|same| &same.0).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} programs:\n{}", wrong.len(), wrong.join("\n"));
}

#[derive(Default)]
struct SameHessian(Vec<String>, usize);

impl SameHessian {
    fn look(&mut self, case: &Recorded) {
        let seen = |leaves: &Leaves<Array>| Leaves(leaves.0.iter().cloned().map(Seen).collect());
        let (x, data) = (&case.x, &case.data);
        // The longest have the longest Hessians by far, and no operation of their own.
        if Function::stage_with(case.eval, x, data).program().size() > 80 {
            return;
        }
        hessian_matrix_with(case.eval, &seen(x), &seen(data));
        let plain = nameless(&programs().pop().expect("a program ran"));
        let function = Function::hessian_matrix_with(case.eval, x, data);
        let Some(function) = only(&function) else { return };
        self.1 += 1;
        let inputs = case.inputs();
        if work(&plain, inputs.clone()) != work(&function, inputs) || plain.size() != function.size() {
            self.0.push(format!("{}: {plain}\n{function}", case.name));
        }
    }
}

impl Visitor for SameHessian {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn the_plain_hessian_runs_the_program_of_the_function() {
    let same: Vec<SameHessian> = gallery::each_apart();
    let count: usize = same.iter().map(|same| same.1).sum();
    assert!(count > 100, "{count}");
    let wrong: Vec<&str> = same.iter().flat_map(|same| &same.0).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} programs:\n{}", wrong.len(), wrong.join("\n"));
}

/// Reads `n` elements of `n` copies of a matrix of two columns, at squares, which are no views.
fn at_squares<T: BaseTensor>(u: &Tensor<T, 2>) -> Tensor<T, 0> {
    let n = u.shape()[0];
    let w = u.replicate::<3>(n).permute([2, 0, 1]);
    build1(n, |i| w.at([&(i * i % 2), i, i])).square().sum()
}

#[test]
fn no_verb_does_quadratic_work_where_another_does_linear() {
    let last = |inputs: Vec<Array>| work(&programs().pop().expect("a program ran"), inputs);
    let costs = [64, 128].map(|n| {
        let u = Array::uniform(&[n, 2], -1.0, 1.0, 7);
        let x = Tensor::from_raw(Seen(u.clone()));
        grad(|u: &Tensor<Ast, 2>| at_squares(u), &x);
        let plain = last(vec![u.clone()]);
        hvp(|u: &Tensor<Ast, 2>| at_squares(u), &x, &x);
        let second = last(vec![u.clone(), u.clone()]);
        let row = |u: &Tensor<Ast, 2>| at_squares(u);
        let _: Tensor<Seen, 2> = jacobian(row, &x);
        let jacobian = last(vec![u.clone()]);
        let staged = Function::value_and_grad(|u: &Tensor<_, 2>| at_squares(u), &Tensor::from_raw(u.clone()));
        [plain, second, jacobian, work(staged.optimized(), vec![u])]
    });
    for (small, large) in costs[0].iter().zip(&costs[1]) {
        assert!(*large < 3 * *small, "{costs:?}");
    }
}

/// A verb within a staged function, or within another verb, differentiates what is optimized, too.
#[test]
fn no_inner_verb_does_quadratic_work_where_an_outer_one_does_linear() {
    let costs = [64, 128].map(|n| {
        let u = Array::uniform(&[n, 2], -1.0, 1.0, 7);
        let x: Tensor<Array, 2> = Tensor::from_raw(u.clone());
        macro_rules! staged {
            ($f:expr) => {
                work(Function::stage(|u: &Tensor<Ast, 2>| $f(u), &x).optimized(), vec![u.clone()])
            };
        }
        let once = |u: &Tensor<Ast, 2>| grad(|u: &Tensor<_, 2>| at_squares(u), u);
        let norm =
            |u: &Tensor<Ast, 2>| grad(|u: &Tensor<_, 2>| grad(|u: &Tensor<_, 2>| at_squares(u), u).square().sum(), u);
        let capturing = |u: &Tensor<Ast, 2>| {
            grad(|v: &Tensor<_, 2>| grad(|w: &Tensor<_, 2>| at_squares(&(w * v.lift())), v).square().sum(), u)
        };
        let pulled = |u: &Tensor<Ast, 2>| vjp(|u: &Tensor<_, 2>| at_squares(u), u).1(&Tensor::scalar(1.0));
        vec![
            staged!(once),
            staged!(norm),
            staged!(capturing),
            staged!(pulled),
            staged!(|u: &Tensor<Ast, 2>| jvp(|u: &Tensor<_, 2>| at_squares(u), u, u)),
            staged!(|u: &Tensor<Ast, 2>| hvp(|u: &Tensor<_, 2>| at_squares(u), u, u)),
            staged!(|u: &Tensor<Ast, 2>| {
                let row: Tensor<_, 2> = jacobian(|u: &Tensor<_, 2>| at_squares(u), u);
                row
            }),
        ]
    });
    for (small, large) in costs[0].iter().zip(&costs[1]) {
        assert!(*large < 3 * *small, "{costs:?}");
    }
}

#[test]
fn fast_math_reaches_both_sides_of_the_derivative() {
    let x = polygrad::tensor([1.0, 2.0]);
    let f = |x: &Tensor<Ast, 1>| (x.exp().ln() * 3.0).sum();
    let recorded = || Function::value_and_grad(f, &x);
    let (plain, fast) = (recorded(), recorded().with_options(FunctionOptions::new().fast_math(true)));
    assert_eq!(fast.run(&x).map(|(_, g)| g), Ok(polygrad::tensor([3.0, 3.0])));
    assert!(fast.optimized().size() < plain.optimized().size(), "{}", fast.optimized());
    // What is recorded is the derivative of what was simplified.
    assert!(!fast.program().to_string().contains("exp"), "{}", fast.program());
}
