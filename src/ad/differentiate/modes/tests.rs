//! Tests of the laws of the choice, on programs that are tall, wide or square, with or without loops, of few or many
//! inputs.

use super::{DenseDerivative, DerivativeLayout, Differentiation, LESS, ModeReason, Strategy, is_while};
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::cost::Estimate;
use crate::dtype::DType;
use crate::interpreters::Count;
use crate::passes::{Options, optimize, optimize_with};
use crate::program::{Program, Term, interpret};
use crate::tensor::{Tensor, cond, fold, iterate, scan, while_loop_within};

/// A derivative of a program in its first inputs.
struct Row {
    name: &'static str,
    derivative: DenseDerivative,
    count: usize,
    program: Program,
    inputs: Vec<Array>,
    /// The expected strategy, and whether it is compared with others.
    taken: (Strategy, bool),
}

type Vector = Tensor<Term, 1>;
type Number = Tensor<Term, 0>;

/// A row of a function of vectors, the first of which is the argument.
fn row(
    name: &'static str,
    derivative: DenseDerivative,
    sizes: &[usize],
    taken: (Strategy, bool),
    f: impl Fn(&[Vector]) -> Vector,
) -> Row {
    let inputs: Vec<Array> = (1..).zip(sizes).map(|(k, n)| Array::uniform(&[*n], 0.1, 0.9, k)).collect();
    let variables: Vec<Term> = sizes.iter().map(|n| Term::variable(&[*n], DType::F64)).collect();
    let vectors: Vec<Vector> = variables.iter().cloned().map(Tensor::from_raw).collect();
    let mut y = f(&vectors).into_raw();
    if derivative.layout == DerivativeLayout::Leaves || derivative.second {
        y = y.linear(&crate::ops::Linear::sum(y.shape(), &[0]));
    }
    let program = Term::program(&variables, &[y], &[]).expect("a closed program");
    Row { name, derivative, count: 1, program, inputs, taken }
}

/// A dense layer whose weights lie in a vector.
fn layer(m: usize, w: &Vector, x: &Vector) -> Vector {
    w.reshape([m, x.len()]).matvec(x).tanh()
}

/// Layers with results of these sizes.
fn layers(sizes: &[usize], x: &[Vector]) -> Vector {
    sizes.iter().zip(&x[1..]).fold(x[0].clone(), |h, (m, w)| layer(*m, w, &h))
}

/// A state after `n` steps with some parameters.
fn steps(n: usize, p: &Vector, u: &Vector) -> Vector {
    iterate(n, u.clone(), |_, u: Vector| {
        let flow = 0.1 * p.at([0]) * (u.roll(0, 1) - &u);
        (1..p.len()).fold(&u + flow, |u, k| &u - 0.01 * p.at([k as i64]) * u.square())
    })
}

/// The states of a recurrence of numbers.
fn states(p: &Vector, x: &Vector) -> Vector {
    scan(p.at([0]), x, |h: Number, x: &Number| cond(h.gt(2.0), 0.5 * &h, &h * p.at([0]) * x + 0.1))
}

/// The product of position and speed after `n` steps of an equation of motion with four parameters.
fn orbit(n: usize, p: &Vector) -> Vector {
    let [stiffness, friction, force, push] = [0, 1, 2, 3].map(|k| p.at([k]));
    let (x, v) = iterate(n, (p.at([0]), p.at([1])), |_, (x, v): (Number, Number)| {
        let a = &force * x.sin() + &push * v.cos() - &stiffness * &x - &friction * &v;
        (&x + 0.1 * &v, v + 0.1 * a)
    });
    (x * v).reshape([1])
}

/// A state after `n` steps, of a loop that ends by itself at its bound.
fn settled(n: usize, p: &Vector, u: &Vector) -> Vector {
    let go = |(_, k): &(Vector, Number)| k.lt(n as f64);
    let step = |(u, k): (Vector, Number)| {
        let last = p.at([p.len() as i64 - 1]);
        (&u + 0.1 * p.at([0]) * (u.roll(0, 1) - &u).sin() - 0.1 * last * &u, k + 1.0)
    };
    while_loop_within(n, (u.clone(), Tensor::scalar(0.0)), go, step).0
}

fn table() -> Vec<Row> {
    let (jacobian, gradient) = (DenseDerivative::jacobian(true), DenseDerivative::gradient(true));
    let recurrent =
        |x: &[Vector]| fold(x[0].clone(), x[1].reshape::<2>([5, 36]), |h: Vector, w: &Vector| layer(h.len(), w, &h));
    vec![
        row("elementwise", jacobian, &[20], (Strategy::Push, false), |x| x[0].square().sin()),
        row("wide", jacobian, &[50, 500, 100, 30], (Strategy::Pull, false), |x| layers(&[10, 10, 3], x)),
        row("tall", jacobian, &[3, 30, 100, 500], (Strategy::Push, false), |x| layers(&[10, 10, 50], x)),
        row("square, narrow within", jacobian, &[60, 300, 300], (Strategy::Pull, true), |x| layers(&[5, 60], x)),
        row("square, wide within", jacobian, &[30, 1200, 1200], (Strategy::Push, true), |x| layers(&[40, 30], x)),
        row("one input, many results, loop", jacobian, &[1, 300], (Strategy::Lanes, true), |x| states(&x[0], &x[1])),
        row("few inputs, states", jacobian, &[3, 512], (Strategy::Lanes, true), |x| steps(40, &x[0], &x[1])),
        row("many parameters, one result", jacobian, &[9, 64], (Strategy::Pull, false), |x| {
            steps(10, &x[0], &x[1]).sum().reshape([1])
        }),
        row("recurrent network", jacobian, &[6, 180], (Strategy::Push, true), recurrent),
        row("gradient without loops", gradient, &[2], (Strategy::Pull, false), |x| x[0].sin()),
        row("gradient in one number, loop", gradient, &[1, 512], (Strategy::Lanes, true), |x| steps(160, &x[0], &x[1])),
        row("gradient in four numbers, loop", gradient, &[4], (Strategy::Pull, true), |x| orbit(100, &x[0])),
        row("gradient in one of four numbers, loop", gradient, &[4, 300], (Strategy::Lanes, true), |x| {
            states(&x[0], &x[1])
        }),
        row("gradient in many numbers, loop", gradient, &[9, 64], (Strategy::Pull, false), |x| steps(9, &x[0], &x[1])),
        row("one input, loop that ends", jacobian, &[1, 64], (Strategy::Lanes, true), |x| settled(20, &x[0], &x[1])),
        row("nine inputs, loop that ends", jacobian, &[9, 64], (Strategy::Stacks, false), |x| {
            settled(20, &x[0], &x[1])
        }),
        row("gradient in one number, loop that ends", gradient, &[1, 64], (Strategy::Lanes, true), |x| {
            settled(60, &x[0], &x[1])
        }),
        row(
            "Hessian in one number, loop that ends",
            DenseDerivative::HESSIAN,
            &[1, 16],
            (Strategy::Pull, false),
            |x| settled(10, &x[0], &x[1]),
        ),
        row("Hessian without loops", DenseDerivative::HESSIAN, &[12], (Strategy::Pull, false), |x| {
            x[0].sin() * x[0].roll(0, 1)
        }),
        row("Hessian in two numbers, loop", DenseDerivative::HESSIAN, &[2, 512], (Strategy::Lanes, true), |x| {
            steps(30, &x[0], &x[1])
        }),
        row("Hessian in many numbers, loop", DenseDerivative::HESSIAN, &[9, 32], (Strategy::Push, false), |x| {
            steps(5, &x[0], &x[1])
        }),
    ]
}

impl Row {
    /// The program that is differentiated: for a Hessian, the gradient.
    fn first(&self) -> Program {
        let ready = optimize(&self.program);
        if !self.derivative.second {
            return ready;
        }
        let gradient =
            Differentiation { derivative: DenseDerivative::gradient(false), program: &ready, count: self.count };
        optimize(&gradient.by(Strategy::Pull).expect("a gradient"))
    }

    /// The derivative program for every strategy, optimized.
    fn all(&self) -> Vec<(Strategy, Program)> {
        let program = self.first();
        let task = Differentiation { derivative: self.derivative, program: &program, count: self.count };
        let lanes = task.inputs() <= 9;
        let ends = program.nodes().iter().any(|node| is_while(&node.op));
        let strategies =
            [(Strategy::Pull, true), (Strategy::Push, !ends), (Strategy::Lanes, lanes), (Strategy::Stacks, ends)];
        let strategies = strategies.into_iter().filter_map(|(strategy, has)| has.then_some(strategy));
        let options = self.derivative.last(Options::default());
        strategies
            .map(|strategy| (strategy, optimize_with(&task.by(strategy).expect("a derivative"), options)))
            .collect()
    }
}

/// All strategies have the same results, and the estimated cost of a program is the cost that is counted while the
/// program runs.
#[test]
fn every_strategy_gives_the_same_and_the_estimate_is_what_is_counted() {
    for row in table() {
        let mut expected: Option<Vec<f64>> = None;
        for (strategy, program) in row.all() {
            let Estimate { cost, time } = program.estimate();
            let inputs: Vec<Count<Array>> = row.inputs.iter().cloned().map(Count::lift).collect();
            let (found, counted) = Count::<Array>::counted(|| interpret(&program, inputs));
            assert_eq!(cost, counted.total(), "{}: {strategy:?}\n{program}\n{counted}", row.name);
            assert!(time > 0, "{}: {strategy:?}", row.name);
            let found: Vec<f64> = found.iter().flat_map(|a| a.value().to_vec::<f64>().expect("floats")).collect();
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_eq!(found.len(), expected.len(), "{}: {strategy:?}", row.name);
            let size = expected.iter().fold(1.0, |max: f64, x| max.max(x.abs()));
            for (x, y) in found.iter().zip(expected) {
                assert!((x - *y).abs() <= 1e-12 * size, "{}: {strategy:?}: {x} and {y}\n{program}", row.name);
            }
        }
    }
}

/// The chosen strategy is the fastest of those that were compared, up to the error of the estimates, and at most twice
/// as slow as any other one.
#[test]
fn nothing_is_faster_than_what_is_taken() {
    for row in table() {
        let made =
            row.derivative.chosen(&row.program, row.count, None, Options::default(), false).expect("a derivative");
        let choice = made.choices.last().expect("a choice");
        assert_eq!((choice.strategy, made.ready.is_some()), row.taken, "{}: {choice}", row.name);
        let options = row.derivative.last(Options::default());
        let taken = made.ready.unwrap_or_else(|| optimize_with(&made.program, options)).estimate().time;
        let compared = if let ModeReason::Estimates(all) = &choice.why { &all[..] } else { &[] };
        for (strategy, program) in row.all() {
            let time = program.estimate().time;
            let (part, whole) = if compared.iter().any(|(other, _)| *other == strategy) { LESS } else { (1, 2) };
            assert!(part * taken <= whole * time, "{}: {choice}\n{strategy} takes {time}, not {taken}", row.name);
        }
    }
}

#[test]
fn the_choice_repeats() {
    for row in table() {
        let made =
            || row.derivative.chosen(&row.program, row.count, None, Options::default(), false).expect("a derivative");
        let (first, again) = (made(), made());
        assert_eq!((first.program, first.choices), (again.program, again.choices), "{}", row.name);
    }
}
