//! Simplified programs of the gallery: the same values, and never dearer.

use polygrad::inspect::{Cost, count};
use polygrad::passes::{optimize, simplify};
use polygrad::program::{Builder, Op, Program, Slot, interpret};
use polygrad::shape::Shape;
use polygrad::{Array, DType, ops, symbolic};

use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};
use crate::support::{LONG, assert_close, floats, on_a_small_stack};

/// The work and the bytes of a run.
pub(crate) fn cost(program: &Program, inputs: &[Array]) -> Cost {
    let inputs = Leaves(inputs.to_vec());
    count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &inputs).1.total()
}

/// Does something with the programs of an objective: its value, its gradient, and the derivative of that along a
/// direction.
struct Programs<'a>(&'a mut dyn FnMut(&str, &Program, &[Array]));

impl Programs<'_> {
    fn look(&mut self, case: &Recorded) {
        let (program, inputs) = (case.program(&[]), case.inputs());
        let wrt: Vec<usize> = (0..case.x.0.len()).collect();
        (self.0)(case.name, &program, &inputs);
        let gradient = symbolic::value_and_grad_in(&program, &wrt);
        (self.0)(case.name, &gradient, &inputs);
        let second = symbolic::jvp(&gradient);
        // Whatever carries a tangent has one here; integers' is not looked at.
        let tangents = inputs.iter().map(|a| match a.dtype().is_float() {
            true => Array::full_as(a.shape(), a.dtype(), 0.5),
            false => Array::zeros(a.shape(), a.dtype()),
        });
        let inputs: Vec<Array> = inputs.iter().cloned().chain(tangents).collect();
        (self.0)(case.name, &second, &inputs);
    }
}

impl Visitor for Programs<'_> {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn the_gallery_keeps_its_values_and_gets_no_dearer() {
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    gallery::each(&mut Programs(&mut |name, program, inputs| {
        let (simple, ready) = (simplify(program), optimize(program));
        let values = interpret(program, inputs.to_vec());
        for now in [&simple, &ready] {
            for (a, b) in values.iter().zip(&interpret(now, inputs.to_vec())) {
                let size = floats(a).iter().filter(|x| x.is_finite()).fold(1.0f64, |m, x| m.max(x.abs()));
                let tolerance = if a.dtype() == DType::F32 { 1e-4 } else { 1e-9 } * size;
                assert_close(name, a, b, tolerance);
            }
        }
        let (before, after) = (cost(program, inputs), cost(&simple, inputs));
        rows.push((name.to_owned(), program.size(), simple.size(), before, after));
        if after.work > before.work || after.bytes > before.bytes {
            wrong.push(format!("{name}: {before:?} became {after:?}\n{program}\n{simple}"));
        }
        let again = simplify(&simple);
        if again != simple {
            wrong.push(format!("{name}: simplified again it is another program\n{simple}\n{again}"));
        }
    }));
    assert!(wrong.is_empty(), "{} programs:\n{}", wrong.len(), wrong.join("\n"));
    println!("{:28}{:>8}{:>8}{:>12}{:>12}{:>12}{:>12}", "program", "nodes", "after", "work", "after", "bytes", "after");
    for (name, nodes, fewer, before, after) in rows {
        let (w, x, b, c) = (before.work, after.work, before.bytes, after.bytes);
        println!("{name:28}{nodes:>8}{fewer:>8}{w:>12}{x:>12}{b:>12}{c:>12}");
    }
}

#[test]
fn what_moves_down_a_long_chain_does_not_recurse() {
    on_a_small_stack(|| {
        let mut b = Builder::literal();
        let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[4]), dtype: DType::F64 });
        let mut y = x;
        for _ in 0..LONG {
            y = b.apply(Op::Unary(ops::Unary::Sin, y));
        }
        let last = b.apply(Op::Linear(Box::new(ops::Linear::row(&[4], 0, 2)), y));
        let long = b.finish(&[last], &[]);
        let simple = simplify(&long);
        let at = vec![Array::from([0.1, 0.2, 0.3, 0.4])];
        assert_close("the chain", &interpret(&simple, at.clone())[0], &interpret(&long, at)[0], 1e-12);
    });
}

#[test]
fn a_long_program_takes_as_many_steps_as_it_is_long() {
    // Quadratic rules would take hours here, not a second.
    let scalar = Slot { name: "x".into(), shape: Shape::from_slice(&[2]), dtype: DType::F64 };
    let mut b = Builder::literal();
    let x = b.input(scalar);
    let mut y = x;
    for k in 0..50_000 {
        y = match k % 5 {
            0 => b.apply(Op::Unary(ops::Unary::Neg, y)),
            1 => b.apply(Op::Binary(ops::Binary::Add, y, x)),
            2 => b.apply(Op::Binary(ops::Binary::Mul, y, x)),
            3 => b.apply(Op::Unary(ops::Unary::Sin, y)),
            _ => b.apply(Op::Linear(Box::new(ops::Linear::reverse(&[2], 0)), y)),
        };
    }
    let long = b.finish(&[y], &[]);
    let start = std::time::Instant::now();
    let simple = simplify(&long);
    println!("{} operations became {} in {:?}", long.size(), simple.size(), start.elapsed());
    assert!(simple.size() < long.size());
}
