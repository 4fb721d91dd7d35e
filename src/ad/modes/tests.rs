//! Tests of the laws of the choice, on programs that are tall, wide or square, with or without loops, of few or many
//! inputs.

use super::{Form, LESS, Task, Wanted, Way, Why, is_while};
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
    wanted: Wanted,
    count: usize,
    program: Program,
    inputs: Vec<Array>,
    /// The expected way, and whether it is compared with others.
    taken: (Way, bool),
}

type Vector = Tensor<Term, 1>;
type Number = Tensor<Term, 0>;

/// A row of a function of vectors, the first of which is the argument.
fn row(
    name: &'static str,
    wanted: Wanted,
    sizes: &[usize],
    taken: (Way, bool),
    f: impl Fn(&[Vector]) -> Vector,
) -> Row {
    let inputs: Vec<Array> = (1..).zip(sizes).map(|(k, n)| Array::uniform(&[*n], 0.1, 0.9, k)).collect();
    let variables: Vec<Term> = sizes.iter().map(|n| Term::variable(&[*n], DType::F64)).collect();
    let vectors: Vec<Vector> = variables.iter().cloned().map(Tensor::from_raw).collect();
    let mut y = f(&vectors).into_raw();
    if wanted.form == Form::Leaves || wanted.second {
        y = y.linear(&crate::ops::Linear::sum(y.shape(), &[0]));
    }
    let program = Term::program(&variables, &[y], &[]).expect("a closed program");
    Row { name, wanted, count: 1, program, inputs, taken }
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
    let (jacobian, gradient) = (Wanted::jacobian(true), Wanted::gradient(true));
    let recurrent =
        |x: &[Vector]| fold(x[0].clone(), x[1].reshape::<2>([5, 36]), |h: Vector, w: &Vector| layer(h.len(), w, &h));
    vec![
        row("elementwise", jacobian, &[20], (Way::Push, false), |x| x[0].square().sin()),
        row("wide", jacobian, &[50, 500, 100, 30], (Way::Pull, false), |x| layers(&[10, 10, 3], x)),
        row("tall", jacobian, &[3, 30, 100, 500], (Way::Push, false), |x| layers(&[10, 10, 50], x)),
        row("square, narrow within", jacobian, &[60, 300, 300], (Way::Pull, true), |x| layers(&[5, 60], x)),
        row("square, wide within", jacobian, &[30, 1200, 1200], (Way::Push, true), |x| layers(&[40, 30], x)),
        row("one input, many results, loop", jacobian, &[1, 300], (Way::Lanes, true), |x| states(&x[0], &x[1])),
        row("few inputs, states", jacobian, &[3, 512], (Way::Lanes, true), |x| steps(40, &x[0], &x[1])),
        row("many parameters, one result", jacobian, &[9, 64], (Way::Pull, false), |x| {
            steps(10, &x[0], &x[1]).sum().reshape([1])
        }),
        row("recurrent network", jacobian, &[6, 180], (Way::Push, true), recurrent),
        row("gradient without loops", gradient, &[2], (Way::Pull, false), |x| x[0].sin()),
        row("gradient in one number, loop", gradient, &[1, 512], (Way::Lanes, true), |x| steps(160, &x[0], &x[1])),
        row("gradient in four numbers, loop", gradient, &[4], (Way::Pull, true), |x| orbit(100, &x[0])),
        row("gradient in one of four numbers, loop", gradient, &[4, 300], (Way::Lanes, true), |x| states(&x[0], &x[1])),
        row("gradient in many numbers, loop", gradient, &[9, 64], (Way::Pull, false), |x| steps(9, &x[0], &x[1])),
        row("one input, loop that ends", jacobian, &[1, 64], (Way::Lanes, true), |x| settled(20, &x[0], &x[1])),
        row("nine inputs, loop that ends", jacobian, &[9, 64], (Way::Stacks, false), |x| settled(20, &x[0], &x[1])),
        row("gradient in one number, loop that ends", gradient, &[1, 64], (Way::Lanes, true), |x| {
            settled(100, &x[0], &x[1])
        }),
        row("Hessian in one number, loop that ends", Wanted::HESSIAN, &[1, 16], (Way::Pull, false), |x| {
            settled(10, &x[0], &x[1])
        }),
        row("Hessian without loops", Wanted::HESSIAN, &[12], (Way::Pull, false), |x| x[0].sin() * x[0].roll(0, 1)),
        row("Hessian in two numbers, loop", Wanted::HESSIAN, &[2, 512], (Way::Lanes, true), |x| {
            steps(30, &x[0], &x[1])
        }),
        row("Hessian in many numbers, loop", Wanted::HESSIAN, &[9, 32], (Way::Push, false), |x| steps(5, &x[0], &x[1])),
    ]
}

impl Row {
    /// The program that is differentiated: for a Hessian, the gradient.
    fn first(&self) -> Program {
        let ready = optimize(&self.program);
        if !self.wanted.second {
            return ready;
        }
        let gradient = Task { wanted: Wanted::gradient(false), program: &ready, count: self.count };
        optimize(&gradient.by(Way::Pull).expect("a gradient"))
    }

    /// The derivative program for every way, optimized.
    fn all(&self) -> Vec<(Way, Program)> {
        let program = self.first();
        let task = Task { wanted: self.wanted, program: &program, count: self.count };
        let lanes = task.inputs() <= 9;
        let ends = program.nodes().iter().any(|node| is_while(&node.op));
        let ways = [(Way::Pull, true), (Way::Push, !ends), (Way::Lanes, lanes), (Way::Stacks, ends)];
        let ways = ways.into_iter().filter_map(|(way, has)| has.then_some(way));
        let options = self.wanted.last(Options::default());
        ways.map(|way| (way, optimize_with(&task.by(way).expect("a derivative"), options))).collect()
    }
}

/// All ways have the same results, and the estimated cost of a program is the cost that is counted while the program
/// runs.
#[test]
fn every_way_gives_the_same_and_the_estimate_is_what_is_counted() {
    for row in table() {
        let mut expected: Option<Vec<f64>> = None;
        for (way, program) in row.all() {
            let Estimate { cost, time } = program.estimate();
            let inputs: Vec<Count<Array>> = row.inputs.iter().cloned().map(Count::lift).collect();
            let (found, counted) = Count::<Array>::counted(|| interpret(&program, inputs));
            assert_eq!(cost, counted.total(), "{}: {way:?}\n{program}\n{counted}", row.name);
            assert!(time > 0, "{}: {way:?}", row.name);
            let found: Vec<f64> = found.iter().flat_map(|a| a.value().to_vec::<f64>().expect("floats")).collect();
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_eq!(found.len(), expected.len(), "{}: {way:?}", row.name);
            let size = expected.iter().fold(1.0, |max: f64, x| max.max(x.abs()));
            for (x, y) in found.iter().zip(expected) {
                assert!((x - *y).abs() <= 1e-12 * size, "{}: {way:?}: {x} and {y}\n{program}", row.name);
            }
        }
    }
}

/// The chosen way is the fastest of those that were compared, up to the error of the estimates, and at most twice as
/// slow as any other way.
#[test]
fn nothing_is_faster_than_what_is_taken() {
    for row in table() {
        let made = row.wanted.made(&row.program, row.count, None, Options::default(), false).expect("a derivative");
        let choice = made.choices.last().expect("a choice");
        assert_eq!((choice.way, made.ready.is_some()), row.taken, "{}: {choice}", row.name);
        let options = row.wanted.last(Options::default());
        let taken = made.ready.unwrap_or_else(|| optimize_with(&made.program, options)).estimate().time;
        let compared = if let Why::Estimates(all) = &choice.why { &all[..] } else { &[] };
        for (way, program) in row.all() {
            let time = program.estimate().time;
            let (part, whole) = if compared.iter().any(|(other, _)| *other == way) { LESS } else { (1, 2) };
            assert!(part * taken <= whole * time, "{}: {choice}\n{way} takes {time}, not {taken}", row.name);
        }
    }
}

#[test]
fn the_choice_repeats() {
    for row in table() {
        let made = || row.wanted.made(&row.program, row.count, None, Options::default(), false).expect("a derivative");
        let (first, again) = (made(), made());
        assert_eq!((first.program, first.choices), (again.program, again.choices), "{}", row.name);
    }
}
