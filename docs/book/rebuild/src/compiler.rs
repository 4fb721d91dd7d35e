//! A compiler: elementwise operations become loops over tiles of numbers, without arrays between them.

use crate::language::Base;
use crate::terms::{Op, Program};
use crate::values::Array;

/// This many numbers of each value are computed before those of the next, so they stay in the cache of the processor.
const TILE: usize = 64;

/// Where an instruction finds an operand.
enum Source {
    Register(usize),
    Buffer(usize),
}

/// An operation on a tile. Its result is in the register of its number, and in a buffer if others need it.
struct Instruction {
    node: usize,
    op: Op<Source>,
    stored: bool,
}

enum Step {
    /// A loop over this many elements.
    Loop(usize, Vec<Instruction>),
    /// An operation on whole arrays.
    Kernel(usize),
}

/// A program with its loops and its memory: it is compiled once, and runs many times.
pub struct Compiled {
    program: Program,
    steps: Vec<Step>,
    buffers: Vec<Array>,
}

impl Compiled {
    pub fn new(program: &Program) -> Self {
        // The step of each value. An elementwise operation joins the last loop of its size that comes after its operands.
        let (mut steps, mut step_of) = (Vec::<Step>::new(), Vec::new());
        for (k, (op, shape)) in program.nodes.iter().enumerate() {
            let size = shape.iter().product();
            let elementwise = matches!(op, Op::Unary(..) | Op::Binary(..));
            let mut first = 0;
            op.map(|x| first = first.max(step_of[*x]));
            let fits = |step: &Step| matches!(step, Step::Loop(n, _) if elementwise && *n == size);
            let at = (first..steps.len()).rev().find(|at| fits(&steps[*at])).unwrap_or(steps.len());
            if at == steps.len() {
                steps.push(if elementwise { Step::Loop(size, Vec::new()) } else { Step::Kernel(k) });
            }
            step_of.push(at);
            if let Step::Loop(_, code) = &mut steps[at] {
                let register = |x: &usize| code.iter().position(|other| other.node == *x);
                let op = op.map(|x| register(x).map_or(Source::Buffer(*x), Source::Register));
                code.push(Instruction { node: k, op, stored: k == program.result });
            }
        }
        // A value that another step reads is stored.
        for (k, (op, _)) in program.nodes.iter().enumerate() {
            op.map(|x| match &mut steps[step_of[*x]] {
                Step::Loop(_, code) if step_of[*x] != step_of[k] => {
                    code.iter_mut().filter(|other| other.node == *x).for_each(|other| other.stored = true);
                }
                Step::Loop(..) | Step::Kernel(_) => {}
            });
        }
        let buffers = program.nodes.iter().map(|(_, shape)| Array::filled(shape, 0.0)).collect();
        Compiled { program: program.clone(), steps, buffers }
    }

    /// How many loops there are.
    pub fn loops(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Loop(..))).count()
    }

    pub fn run(&mut self, x: &Array) -> &Array {
        for step in &self.steps {
            match step {
                Step::Loop(n, code) => run_loop(*n, code, &mut self.buffers),
                Step::Kernel(k) => {
                    let (op, shape) = &self.program.nodes[*k];
                    self.buffers[*k] = match op {
                        Op::Input(_) => x.clone(),
                        Op::Constant(array) => array.clone(),
                        Op::Linear(op, x) => self.buffers[*x].linear(op),
                        Op::Gather(x, at, rows) => self.buffers[*x].gather(&self.buffers[*at], *rows),
                        Op::Scatter(x, at, rows) => self.buffers[*x].scatter(&self.buffers[*at], *rows, shape),
                        Op::Unary(..) | Op::Binary(..) => unreachable!("these are in loops"),
                    };
                }
            }
        }
        &self.buffers[self.program.result]
    }
}

fn run_loop(n: usize, code: &[Instruction], buffers: &mut [Array]) {
    let mut registers = vec![[0.0; TILE]; code.len()];
    for start in (0..n).step_by(TILE) {
        let part = start..n.min(start + TILE);
        for (k, Instruction { node, op, stored }) in code.iter().enumerate() {
            let (before, now) = registers.split_at_mut(k);
            let read = |source: &Source| match source {
                Source::Register(k) => &before[*k][..part.len()],
                Source::Buffer(k) => &buffers[*k].data[part.clone()],
            };
            match op {
                Op::Unary(op, x) => now[0].iter_mut().zip(read(x)).for_each(|(out, x)| *out = op.of(*x)),
                Op::Binary(op, x, y) => {
                    now[0].iter_mut().zip(read(x).iter().zip(read(y))).for_each(|(out, (x, y))| *out = op.of(*x, *y));
                }
                _ => unreachable!("a loop has elementwise operations alone"),
            }
            if *stored {
                buffers[*node].data[part.clone()].copy_from_slice(&now[0][..part.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::gradient;
    use crate::rules::simplify;
    use crate::surface::tensor;
    use crate::verbs::random::Recipe;

    #[test]
    fn a_compiled_program_has_the_bits_of_an_interpreted_one() {
        for seed in 0..100 {
            let recipe = Recipe::new(seed, 12);
            let program = simplify(&gradient(&Program::record(|x| recipe.run(x), &[4]), &[4]));
            let mut compiled = Compiled::new(&program);
            for x in [[0.3, 0.7, -0.4, 0.9], [1.0, -2.0, 0.5, 0.1]] {
                assert_eq!(compiled.run(&Array::vector(&x)), &program.run(&tensor::<Array>(&x)).0, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_chain_is_one_loop() {
        let program = Program::record(|x| (0..8).fold(x.clone(), |y, _| y.sin() * x), &[1000]);
        assert_eq!(Compiled::new(&program).loops(), 1);
    }
}
