//! A random program as data: a list of steps over a growing pool of typed values.
//!
//! Law: every recipe is a program. Operands are positions in the pool, modulo its size, and what does not
//! have the element type or the shape an operation needs is converted (`eval`). So steps can be dropped and
//! shapes can shrink, and what is left still runs. [`Recipe::smaller`] lists such recipes.

use polygrad::DType;
use polygrad::ops::{Binary, Contract, Discrete, Linear, Matrix, Reduce, Unary};

use crate::ruled::Rules;
use crate::solved::Equation;

/// A program: its inputs come first in the pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recipe {
    /// Whether numbers are kept where operations are smooth and well scaled; otherwise everything may happen.
    pub(crate) tame: bool,
    pub(crate) inputs: Vec<Numbers>,
    pub(crate) steps: Vec<Step>,
}

/// Numbers of one kind: small seeds are one number, of those that rules look for; others are random.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
    pub(crate) seed: u64,
}

/// One operation. Its results are the next in the pool: as many as [`Step::results`] says.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "without boxes a printed recipe reads better")]
pub(crate) enum Step {
    Constant(Numbers),
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    Discrete(Discrete, Vec<usize>),
    Select(usize, usize, usize),
    /// A selection with the first truth value of a mask for all elements.
    Cond(usize, usize, usize),
    Linear(Linear, usize),
    Contract(Contract, usize, usize),
    Reduce(Reduce, usize),
    /// The array and the indices.
    Gather(usize, Vec<usize>),
    /// The base, the indices and the values.
    Scatter(usize, Vec<usize>, usize),
    Concat(usize, Vec<usize>),
    /// A function with rules of its own, of two floats: two results.
    Ruled(Rules, usize, usize),
    /// Linear algebra of one matrix, or of a matrix and a right-hand side.
    Matrix(Matrix, usize, usize),
    Loop(Box<Loop>),
    /// The unknowns of an equation in two values.
    Solved(Equation, usize, usize),
    /// A loop that ends when the number of its trips is that of an integer; or, if it is bounded, before. It has no
    /// sequences and no outputs.
    While(usize, Bound, Box<Loop>),
}

/// Whether a loop that ends by itself has a bound, which is the number of trips of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Most,
    None,
}

/// A loop. The pool of its body is that outside, then the carry, then the elements of the sequences.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loop {
    pub(crate) n: usize,
    pub(crate) reverse: bool,
    pub(crate) init: Vec<usize>,
    pub(crate) xs: Vec<usize>,
    pub(crate) body: Vec<Step>,
    /// The next carry.
    pub(crate) next: Vec<usize>,
    /// What is stacked.
    pub(crate) out: Vec<usize>,
}

impl Loop {
    fn operands(&mut self, f: &mut dyn FnMut(&mut usize)) {
        self.init.iter_mut().chain(&mut self.xs).chain(&mut self.next).chain(&mut self.out).for_each(&mut *f);
        self.body.iter_mut().for_each(|step| step.operands(f));
    }
}

impl Step {
    /// How many values it adds to the pool.
    pub(crate) fn results(&self) -> usize {
        match self {
            Step::Loop(l) | Step::While(_, _, l) => l.init.len() + l.out.len(),
            Step::Ruled(..) => 2,
            Step::Constant(_) | Step::Unary(..) | Step::Binary(..) | Step::Discrete(..) => 1,
            Step::Select(..) | Step::Cond(..) => 1,
            Step::Linear(..) | Step::Contract(..) | Step::Reduce(..) => 1,
            Step::Gather(..) | Step::Scatter(..) | Step::Concat(..) | Step::Matrix(..) | Step::Solved(..) => 1,
        }
    }

    /// Visits the positions of the operands, those in the body of a loop included.
    fn operands(&mut self, f: &mut dyn FnMut(&mut usize)) {
        match self {
            Step::Constant(_) => {}
            Step::Unary(_, a) | Step::Linear(_, a) | Step::Reduce(_, a) => f(a),
            Step::Binary(_, a, b) | Step::Contract(_, a, b) => [a, b].into_iter().for_each(f),
            Step::Ruled(_, a, b) | Step::Matrix(_, a, b) | Step::Solved(_, a, b) => [a, b].into_iter().for_each(f),
            Step::Select(m, a, b) | Step::Cond(m, a, b) => [m, a, b].into_iter().for_each(f),
            Step::Discrete(_, args) | Step::Concat(_, args) => args.iter_mut().for_each(f),
            Step::Gather(a, ix) => std::iter::once(a).chain(ix).for_each(f),
            Step::Scatter(a, ix, v) => std::iter::once(a).chain(ix).chain([v]).for_each(f),
            Step::While(k, _, l) => {
                f(k);
                l.operands(f);
            }
            Step::Loop(l) => l.operands(f),
        }
    }

    /// Whether it, or a step of its body, is like that.
    pub(crate) fn any(&self, f: &dyn Fn(&Step) -> bool) -> bool {
        f(self) || self.a_loop().is_some_and(|l| l.body.iter().any(|step| step.any(f)))
    }

    /// The loop, if it is one.
    pub(crate) fn a_loop(&self) -> Option<&Loop> {
        if let Step::Loop(l) | Step::While(_, _, l) = self { Some(l) } else { None }
    }

    /// The operand that stands in for the result when the step is dropped.
    fn stand_in(&mut self) -> usize {
        let mut first = None;
        self.operands(&mut |a| first = first.or(Some(*a)));
        first.unwrap_or(0)
    }
}

/// Takes `count` values from position `at` out of the pool of these steps; who used them uses `instead`.
fn without(steps: &mut [Step], more: &mut [&mut Vec<usize>], (at, count): (usize, usize), instead: usize) {
    let mut rename = |a: &mut usize| {
        if *a >= at + count {
            *a -= count;
        } else if *a >= at {
            *a = instead;
        }
    };
    steps.iter_mut().for_each(|step| step.operands(&mut rename));
    more.iter_mut().flat_map(|list| list.iter_mut()).for_each(rename);
}

/// The recipes with one step fewer or simpler, of a list of steps that starts at a position of the pool. The lists
/// in `more` refer to the pool after the last step.
fn smaller_steps(steps: &[Step], start: usize, more: &[Vec<usize>]) -> Vec<(Vec<Step>, Vec<Vec<usize>>)> {
    let mut found = Vec::new();
    let sizes: Vec<usize> = steps.iter().map(Step::results).collect();
    let at = |k: usize| start + sizes[..k].iter().sum::<usize>();
    for k in (0..steps.len()).rev() {
        let (mut rest, mut lists) = (steps.to_vec(), more.to_vec());
        let instead = rest.remove(k).stand_in();
        let mut lists_mut: Vec<&mut Vec<usize>> = lists.iter_mut().collect();
        without(&mut rest[k..], &mut lists_mut, (at(k), sizes[k]), instead);
        found.push((rest, lists));
    }
    for k in (0..steps.len()).rev() {
        for (simpler, renamed) in simpler(&steps[k], at(k)) {
            let (mut rest, mut lists) = (steps.to_vec(), more.to_vec());
            rest[k] = simpler;
            if let Some(gone) = renamed {
                let mut lists_mut: Vec<&mut Vec<usize>> = lists.iter_mut().collect();
                without(&mut rest[k + 1..], &mut lists_mut, (at(k) + gone, 1), 0);
            }
            found.push((rest, lists));
        }
    }
    found
}

/// Simpler forms of a step; the number is that of a result that the simpler step does not have.
fn simpler(step: &Step, at: usize) -> Vec<(Step, Option<usize>)> {
    let same = |step: Step| (step, None);
    match step {
        Step::Constant(c) => smaller_numbers(c).into_iter().map(|c| same(Step::Constant(c))).collect(),
        Step::Unary(op, a) if *op != Unary::Sin => vec![same(Step::Unary(Unary::Sin, *a))],
        Step::Binary(op, a, b) if *op != Binary::Mul => vec![same(Step::Binary(Binary::Mul, *a, *b))],
        Step::Concat(axis, parts) => fewer(parts, 1).into_iter().map(|p| same(Step::Concat(*axis, p))).collect(),
        Step::Gather(a, ix) => fewer(ix, 1).into_iter().map(|ix| same(Step::Gather(*a, ix))).collect(),
        Step::Scatter(a, ix, v) => fewer(ix, 1).into_iter().map(|ix| same(Step::Scatter(*a, ix, *v))).collect(),
        Step::Loop(l) => simpler_loops(l, at).into_iter().map(|(l, gone)| (Step::Loop(Box::new(l)), gone)).collect(),
        Step::While(k, bound, l) => {
            let while_loop = |l: Loop| Step::While(*k, *bound, Box::new(l));
            simpler_loops(l, at).into_iter().map(|(l, gone)| (while_loop(l), gone)).collect()
        }
        Step::Unary(..) | Step::Binary(..) | Step::Discrete(..) => Vec::new(),
        Step::Select(..) | Step::Cond(..) => Vec::new(),
        Step::Linear(..) | Step::Contract(..) | Step::Reduce(..) | Step::Ruled(..) => Vec::new(),
        Step::Matrix(..) | Step::Solved(..) => Vec::new(),
    }
}

/// The lists with one item fewer, of at least so many.
fn fewer(list: &[usize], least: usize) -> Vec<Vec<usize>> {
    let without = |k: usize| list.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, a)| *a).collect();
    if list.len() > least { (0..list.len()).map(without).collect() } else { Vec::new() }
}

fn simpler_loops(l: &Loop, at: usize) -> Vec<(Loop, Option<usize>)> {
    let mut found = Vec::new();
    let carried = l.init.len();
    for n in [0, 1, l.n / 2, l.n.saturating_sub(1)] {
        if n < l.n {
            found.push((Loop { n, ..l.clone() }, None));
        }
    }
    if l.reverse {
        found.push((Loop { reverse: false, ..l.clone() }, None));
    }
    for k in 0..l.out.len() {
        let mut out = l.out.clone();
        out.remove(k);
        found.push((Loop { out, ..l.clone() }, Some(carried + k)));
    }
    // What the body knew as carry or element is then the first value of all.
    let forget = |l: &mut Loop, position: usize| {
        without(&mut l.body, &mut [&mut l.next, &mut l.out], (position, 1), 0);
    };
    for k in 0..carried {
        let mut smaller = l.clone();
        smaller.init.remove(k);
        smaller.next.remove(k);
        forget(&mut smaller, at + k);
        found.push((smaller, Some(k)));
    }
    for k in 0..l.xs.len() {
        let mut smaller = l.clone();
        smaller.xs.remove(k);
        forget(&mut smaller, at + carried + k);
        found.push((smaller, None));
    }
    let inside = at + carried + l.xs.len();
    for (body, mut lists) in smaller_steps(&l.body, inside, &[l.next.clone(), l.out.clone()]) {
        let out = lists.pop().expect("two lists");
        let next = lists.pop().expect("two lists");
        found.push((Loop { body, next, out, ..l.clone() }, None));
    }
    found
}

fn smaller_numbers(numbers: &Numbers) -> Vec<Numbers> {
    let mut found = Vec::new();
    for axis in 0..numbers.shape.len() {
        let mut shape = numbers.shape.clone();
        shape.remove(axis);
        found.push(Numbers { shape, ..numbers.clone() });
        if numbers.shape[axis] > 1 {
            let mut shape = numbers.shape.clone();
            shape[axis] -= 1;
            found.push(Numbers { shape, ..numbers.clone() });
        }
    }
    if numbers.dtype == DType::F32 {
        found.push(Numbers { dtype: DType::F64, ..numbers.clone() });
    }
    found
}

impl Recipe {
    /// Recipes that are a little smaller: a step is gone or simpler, an input is gone or has a smaller shape.
    pub(crate) fn smaller(&self) -> Vec<Recipe> {
        let mut found = Vec::new();
        for (steps, _) in smaller_steps(&self.steps, self.inputs.len(), &[]) {
            found.push(Recipe { steps, ..self.clone() });
        }
        if self.inputs.len() > 1 {
            for k in 0..self.inputs.len() {
                let mut smaller = self.clone();
                smaller.inputs.remove(k);
                without(&mut smaller.steps, &mut [], (k, 1), 0);
                found.push(smaller);
            }
        }
        for k in 0..self.inputs.len() {
            for input in smaller_numbers(&self.inputs[k]) {
                let mut smaller = self.clone();
                smaller.inputs[k] = input;
                found.push(smaller);
            }
        }
        found
    }

    /// Visits every step, those in the bodies of loops included.
    pub(crate) fn each(&self, f: &mut dyn FnMut(&Step)) {
        fn visit(steps: &[Step], f: &mut dyn FnMut(&Step)) {
            for step in steps {
                f(step);
                if let Some(l) = step.a_loop() {
                    visit(&l.body, f);
                }
            }
        }
        visit(&self.steps, f);
    }

    /// Whether some step is like that.
    pub(crate) fn any(&self, f: impl Fn(&Step) -> bool) -> bool {
        let mut found = false;
        self.each(&mut |step| found |= f(step));
        found
    }
}
