//! Programs run at any meaning, print, and have programs as derivatives.

use std::fmt;

use crate::language::Base;
use crate::surface::Tensor;
use crate::terms::{Ast, Op, Program};
use crate::verbs::grad;

impl Program {
    /// The program of a function of an array of a shape.
    pub fn record(f: impl Fn(&Tensor<Ast>) -> Tensor<Ast>, shape: &[usize]) -> Program {
        Program::of(&f(&Tensor(Ast::new(shape, Op::Input(0)))).0)
    }

    /// The program at a meaning.
    pub fn run<T: Base>(&self, x: &Tensor<T>) -> Tensor<T> {
        let mut values: Vec<T> = Vec::new();
        for (op, shape) in &self.nodes {
            values.push(match op {
                Op::Input(_) => x.0.clone(),
                Op::Constant(array) => T::constant(array.clone()),
                Op::Unary(op, x) => values[*x].unary(*op),
                Op::Binary(op, x, y) => values[*x].binary(*op, &values[*y]),
                Op::Linear(op, x) => values[*x].linear(op),
                Op::Gather(x, at, rows) => values[*x].gather(&values[*at], *rows),
                Op::Scatter(x, at, rows) => values[*x].scatter(&values[*at], *rows, shape),
            });
        }
        Tensor(values[self.result].clone())
    }
}

/// The program of the gradient of a program that gives a single number.
pub fn gradient(program: &Program, shape: &[usize]) -> Program {
    Program::record(|x| grad(|x| program.run(x), x), shape)
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, (op, shape)) in self.nodes.iter().enumerate() {
            let line = match op {
                Op::Input(k) => format!("input {k}"),
                Op::Constant(array) => format!("{:?}", array.data),
                Op::Unary(op, x) => format!("{op:?} t{x}").to_lowercase(),
                Op::Binary(op, x, y) => format!("{op:?} t{x} t{y}").to_lowercase(),
                Op::Linear(op, x) => format!("view {:?} to {:?} t{x}", op.from.strides, op.into.strides),
                Op::Gather(x, at, _) => format!("gather t{x} at t{at}"),
                Op::Scatter(x, at, _) => format!("scatter t{x} at t{at}"),
            };
            writeln!(f, "t{k}: {shape:?} = {line}")?;
        }
        writeln!(f, "return t{}", self.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::tensor;
    use crate::values::Array;
    use crate::verbs::random::Recipe;

    #[test]
    fn a_recorded_program_means_the_same_at_every_meaning() {
        let x = tensor::<Array>(&[0.3, 0.7, -0.4, 0.9]);
        for seed in 0..100 {
            let recipe = Recipe::new(seed, 12);
            let program = Program::record(|x| recipe.run(x), &[4]);
            assert_eq!(program.run(&x).0, recipe.run(&x).0, "seed {seed}");
            assert_eq!(grad(|x| program.run(x), &x).0, grad(|x| recipe.run(x), &x).0, "seed {seed}");
        }
    }

    #[test]
    fn a_program_prints() {
        let program = Program::record(|x| (x.sin() * x).sum(), &[3]);
        let text = "t0: [3] = input 0\nt1: [3] = sin t0\nt2: [3] = mul t1 t0\nt3: [] = view [1] to [0] t2\nreturn t3\n";
        assert_eq!(program.to_string(), text);
    }

    #[test]
    fn a_gradient_of_text_is_the_text_of_a_gradient() {
        let x = tensor::<Array>(&[0.3, 0.7, -0.4, 0.9]);
        for seed in 0..100 {
            let recipe = Recipe::new(seed, 12);
            let program = Program::record(|x| recipe.run(x), &[4]);
            assert_eq!(gradient(&program, &[4]).run(&x).0, grad(|x| recipe.run(x), &x).0, "seed {seed}");
        }
    }

    #[test]
    fn the_pass_can_be_repeated() {
        // d/dx of sum(x^4), three times, each time of the sum of the last one: 24 x.
        let mut program = Program::record(|x| (x * x * x * x).sum(), &[2]);
        for _ in 0..3 {
            let slope = gradient(&program, &[2]);
            program = Program::record(|x| slope.run(x).sum(), &[2]);
        }
        assert_eq!(program.run(&tensor::<Array>(&[1.0, 2.0])).0.data, [72.0]);
    }
}
