//! Programs end as one would write them who knows the algebra: choices joined, elements side by side, rows of tables
//! known, and in loops only what must be there.

use polygrad::interpreters::Ast;
use polygrad::ops::{Binary, Linear, Unary};
use polygrad::passes::{Options, explain, optimize};
use polygrad::program::{Builder, Constant, Loop, NodeId, Op, Program, Slot, Term, interpret};
use polygrad::shape::Shape;
use polygrad::{Array, DType, Tensor, fold, scan, symbolic};

use crate::support::assert_close;

/// The program of typed tensors.
fn staged(inputs: &[(&str, &[usize])], f: impl Fn(&[Ast]) -> Ast) -> Program {
    let variables: Vec<Term> = inputs.iter().map(|(_, shape)| Term::variable(shape, DType::F64)).collect();
    let names: Vec<String> = inputs.iter().map(|(name, _)| (*name).to_owned()).collect();
    Term::program(&variables, &[f(&variables)], &names).expect("closed")
}

fn vector(x: &Ast) -> Tensor<Ast, 1> {
    Tensor::from_raw(x.clone())
}

fn matrix(x: &Ast) -> Tensor<Ast, 2> {
    Tensor::from_raw(x.clone())
}

/// The lines of a program between its head and its end.
#[track_caller]
fn prints(program: &Program, lines: &[&str]) {
    let text = program.to_string();
    let inner: Vec<&str> = text.lines().skip(1).map(str::trim).filter(|line| *line != "}").collect();
    assert_eq!(inner, lines, "{text}");
}

/// The optimized program, which computes the same at random inputs.
#[track_caller]
fn checked(program: &Program) -> Program {
    let ready = optimize(program);
    let slots = program.inputs().iter().zip(3..);
    let inputs: Vec<Array> = slots.map(|(slot, seed)| Array::uniform(&slot.shape, -1.0, 1.0, seed)).collect();
    for (a, b) in interpret(program, inputs.clone()).iter().zip(&interpret(&ready, inputs)) {
        assert_close(&format!("{program}\n{ready}"), a, b, 1e-12);
    }
    ready
}

/// A program made by hand, every operation as it is written, and whether a rule fires in it.
#[track_caller]
fn fires(rule: &str, inputs: &[(&[usize], DType)], make: impl Fn(&mut Builder, &[NodeId]) -> NodeId) -> bool {
    let mut b = Builder::literal();
    let slot = |(shape, dtype): &(&[usize], DType)| Slot {
        name: String::new(),
        shape: Shape::from_slice(shape),
        dtype: *dtype,
    };
    let inputs: Vec<NodeId> = inputs.iter().map(|kind| b.input(slot(kind))).collect();
    let result = make(&mut b, &inputs);
    let (_, fired) = explain(&b.finish(&[result], &[]), Options::default());
    fired.iter().any(|f| f.rule == rule)
}

const F: DType = DType::F64;
const M: DType = DType::Bool;

fn constant(b: &mut Builder, array: Array) -> NodeId {
    b.apply(Op::Constant(Constant(array)))
}

fn plus(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    b.apply(Op::Binary(Binary::Add, x, y))
}

#[test]
fn the_gradient_of_a_choice_is_a_choice() {
    let f = staged(&[("x", &[3])], |v| {
        let x = vector(&v[0]);
        x.gt(0.0).select(&x * 2.0, &x * 3.0).sum().into_raw()
    });
    prints(&checked(&symbolic::grad(&optimize(&f))), &["return select (x > 0.0) 2.0 3.0"]);
    let vjp = staged(&[("x", &[3])], |v| {
        let x = vector(&v[0]);
        x.gt(0.0).select(x.clone(), -&x).into_raw()
    });
    let vjp = checked(&symbolic::vjp(&optimize(&vjp)));
    assert_eq!(vjp.to_string().matches("select").count(), 2, "{vjp}");
}

#[test]
fn choices_that_are_not_of_one_mask_stay() {
    let sum = |masks: [usize; 2], keep: bool| {
        move |b: &mut Builder, v: &[NodeId]| {
            let zero = constant(b, Array::zeros(&[3], F));
            let x = b.apply(Op::Select([v[masks[0]], v[2], zero]));
            let y = b.apply(Op::Select([v[masks[1]], zero, v[3]]));
            let sum = plus(b, x, y);
            // Another use of both choices.
            let product = b.apply(Op::Binary(Binary::Mul, x, y));
            if keep { b.apply(Op::Binary(Binary::Div, sum, product)) } else { sum }
        }
    };
    let inputs: [(&[usize], DType); 4] = [(&[3], M), (&[3], M), (&[3], F), (&[3], F)];
    assert!(fires("add_choices", &inputs, sum([0, 0], false)));
    assert!(!fires("add_choices", &inputs, sum([0, 1], false)));
    assert!(!fires("add_choices", &inputs, sum([0, 0], true)));
}

#[test]
fn functions_of_choices_of_numbers_are_choices() {
    let of = |numbers: bool, again: bool| {
        move |b: &mut Builder, v: &[NodeId]| {
            let one = constant(b, Array::full(&[3], 4.0));
            let other = if numbers { constant(b, Array::full(&[3], 9.0)) } else { v[1] };
            let choice = b.apply(Op::Select([v[0], one, other]));
            let root = b.apply(Op::Unary(Unary::Sqrt, choice));
            if again { plus(b, root, choice) } else { root }
        }
    };
    let inputs: [(&[usize], DType); 2] = [(&[3], M), (&[3], F)];
    assert!(fires("choice_of_numbers", &inputs, of(true, false)));
    assert!(!fires("choice_of_numbers", &inputs, of(false, false)));
    assert!(!fires("choice_of_numbers", &inputs, of(true, true)));
}

#[test]
fn the_gradient_of_reads_of_elements_is_one_concatenation() {
    // As in the residuals of bundle adjustment: each parameter is read by itself.
    let f = staged(&[("x", &[4]), ("y", &[6])], |v| {
        let (x, y) = (vector(&v[0]), vector(&v[1]));
        let at = |k: usize| x.at([k]);
        let rotated = (at(0) * at(1).sin() + at(2).exp()) * at(3);
        ((y * rotated.replicate(6)).sum() * at(1)).into_raw()
    });
    let gradient = checked(&symbolic::vjp_in(&optimize(&f), &[0]));
    let text = gradient.to_string();
    assert!(text.contains("concat") && !text.contains("adjoint") && !text.contains("pad"), "{text}");
}

#[test]
fn elements_of_a_matrix_fill_it_by_rows() {
    let f = staged(&[("x", &[2, 2])], |v| {
        let x = matrix(&v[0]);
        let at = |i: usize, j: usize| x.at([i, j]);
        (at(0, 0).sin() * at(1, 1).exp() - at(0, 1).square() * at(1, 0).cos()).into_raw()
    });
    let gradient = checked(&symbolic::grad(&optimize(&f)));
    let adds = |op: &Op<NodeId>| matches!(op, Op::Linear(op, _) if matches!(&**op, Linear::Affine { into, .. } if !into.is_identity()));
    assert!(!gradient.nodes().iter().any(|node| adds(&node.op)), "{gradient}");
}

#[test]
fn what_is_placed_on_one_place_or_sparsely_stays_a_sum() {
    let place = |b: &mut Builder, n: usize, at: usize, x: NodeId| {
        let row = Linear::row(&[n], 0, at).adjoint();
        b.apply(Op::Linear(Box::new(row), x))
    };
    let sum = |n: usize, first: usize, second: usize| {
        move |b: &mut Builder, v: &[NodeId]| {
            let (x, y) = (place(b, n, first, v[0]), place(b, n, second, v[1]));
            plus(b, x, y)
        }
    };
    let inputs: [(&[usize], DType); 2] = [(&[], F), (&[], F)];
    assert!(fires("add_placed", &inputs, sum(2, 1, 0)));
    assert!(fires("add_placed", &inputs, sum(4, 0, 3)));
    assert!(!fires("add_placed", &inputs, sum(2, 1, 1)));
    assert!(!fires("add_placed", &inputs, sum(1000, 1, 7)));
    // What is everywhere is added to.
    let dense: [(&[usize], DType); 2] = [(&[2], F), (&[], F)];
    assert!(!fires("add_placed", &dense, |b, v| {
        let y = place(b, 2, 1, v[1]);
        plus(b, v[0], y)
    }));
}

#[test]
fn a_row_of_a_large_table_is_known_and_its_sum_is_not() {
    let table = Array::uniform(&[40, 50], -1.0, 1.0, 5);
    let row = staged(&[("x", &[40])], |v| {
        let column = Tensor::<Ast, 2>::constant(Tensor::<Array, 2>::from_raw(table.clone())).slice(1, 1..2);
        (vector(&v[0]) * column.reshape::<1>([40])).into_raw()
    });
    assert_eq!(checked(&row).size(), 1);
    assert!(!fires("fold", &[(&[], F)], |b, v| {
        let table = constant(b, table.clone());
        let sum = b.apply(Op::Linear(Box::new(Linear::sum(&[40, 50], &[0, 1])), table));
        plus(b, sum, v[0])
    }));
}

/// A recurrent network over `n` rows of `x`, from a state of zeros or a given one.
fn recurrent(zeros: bool, n: usize) -> Program {
    staged(&[("w", &[3, 3]), ("u", &[3, 3]), ("b", &[3]), ("x", &[n, 3]), ("h", &[3])], |v| {
        let (w, u, bias, x) = (matrix(&v[0]), matrix(&v[1]), vector(&v[2]), matrix(&v[3]));
        let start = if zeros { Tensor::zeros([3]) } else { vector(&v[4]) };
        let step = |h: Tensor<Ast, 1>, x: &Tensor<Ast, 1>| (w.matvec(x) + u.matvec(&h) + &bias).tanh();
        scan(start, &x, step).square().sum().into_raw()
    })
}

/// The loops of a program, the outermost ones.
fn loops(program: &Program) -> Vec<&Loop<NodeId>> {
    program.nodes().iter().filter_map(|node| if let Op::Loop(l) = &node.op { Some(&**l) } else { None }).collect()
}

#[test]
fn a_state_before_and_after_the_step_is_returned_once() {
    // How many outputs of the loop are a state before its step.
    let before = |gradient: &Program| {
        let l = loops(gradient)[0];
        l.body.results()[l.init.len()..].iter().filter(|r| (**r as usize) < l.init.len()).count()
    };
    let gradient = |zeros: bool, n: usize| {
        let program = symbolic::value_and_grad_in(&optimize(&recurrent(zeros, n)), &[0, 1, 2, 3]);
        let ready = checked(&program);
        (before(&ready), ready)
    };
    let (returned, ready) = gradient(true, 5);
    assert_eq!(returned, 0, "{ready}");
    // The states before the steps are multiplied with the cotangents of the steps. From another start the product of
    // the first step is one of its own, which costs less than the states, but not if there are only few.
    let (returned, ready) = gradient(false, 40);
    assert_eq!(returned, 0, "{ready}");
    let (returned, ready) = gradient(false, 2);
    assert_eq!(returned, 1, "{ready}");
}

#[test]
fn what_does_not_depend_on_the_state_is_added_up_before_the_loop() {
    let adds = |program: &Program| {
        let within = |l: &Loop<NodeId>| {
            l.body.nodes().iter().filter(|node| matches!(node.op, Op::Binary(Binary::Add | Binary::Sub, ..))).count()
        };
        loops(program).into_iter().map(within).sum::<usize>()
    };
    let ready = checked(&recurrent(false, 5));
    assert_eq!(adds(&ready), 1, "{ready}");
    // With signs, and a sum that is used twice.
    let signed = staged(&[("x", &[5, 3]), ("b", &[3]), ("h", &[3])], |v| {
        let (x, bias) = (matrix(&v[0]), vector(&v[1]));
        let step = |h: Tensor<Ast, 1>, x: &Tensor<Ast, 1>| (x - h.sin() - &bias - x.square() + h.cos()).tanh();
        fold(vector(&v[2]), &x, step).into_raw()
    });
    let ready = checked(&signed);
    assert_eq!(adds(&ready), 2, "{ready}");
    let shared = staged(&[("x", &[5, 3]), ("b", &[3]), ("h", &[3])], |v| {
        let (x, bias) = (matrix(&v[0]), vector(&v[1]));
        let step = |h: Tensor<Ast, 1>, x: &Tensor<Ast, 1>| {
            let sum = x + &h;
            &sum.sin() * &(&sum + &bias)
        };
        fold(vector(&v[2]), &x, step).into_raw()
    });
    // The inner sum is needed by itself.
    assert_eq!(adds(&checked(&shared)), 2);
}
