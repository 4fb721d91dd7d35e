//! Fits the parameters of a differential equation, written as functions that take functions.
//!
//! `cargo run --release --example higher_order`
//!
//! The right-hand side is a function that captures the parameters. It is passed to an integrator, which knows nothing of
//! parameters; the step that the integrator returns is folded over measured positions, and the loss adds up what is
//! missed. The loss is recorded, so that all functions are gone, and then differentiated: the gradient with respect to the
//! captured parameters is a program of arrays, which is compiled and run in every step.
//!
//! ```text
//! step        loss   stiffness    damping      cubic
//!    0  24.0316100      1.0000     0.1000     0.0000
//!  100   0.1663153      1.5128     0.3474     1.7242
//!  400   0.0000004      1.9991     0.3000     0.5019
//! 1000   0.0000000      2.0000     0.3000     0.5000
//! ```

use polygrad::backend::compile;
use polygrad::{Array, Tensor, tensor};
use polygrad_higher::{
    self as higher, Arrays, Expr, Fun, Language, Prod, Real, Unit, Vector, closed, fun2, lam, lam2, let_, num, tup,
};

/// Position and velocity.
type State = Prod<Real, Real>;
/// Stiffness, damping, and the stiffness of the cubic part.
type Parameters = Prod<Prod<Real, Real>, Real>;
/// What takes a state to another one.
type Motion = Fun<State, State>;

const STEP: f64 = 0.1;
const TRUE: [f64; 3] = [2.0, 0.3, 0.5];

/// The state, moved by a multiple of a velocity.
fn moved<C: Language>(by: f64) -> Expr<C, Prod<State, State>, State> {
    fun2(|s, k| {
        let ((x, v), (a, b)) = (s.split(), k.split());
        tup(x.at() + a.at() * by, v.at() + b.at() * by)
    })
}

/// One step of Runge and Kutta, of order 4, for any right-hand side: a function of a function, which returns a function.
fn runge_kutta<C: Language>() -> Expr<C, Unit, Fun<Motion, Motion>> {
    lam(|rhs| {
        lam(|s| {
            let_(rhs.at().app(s.at()), |k1| {
                let_(rhs.at().app(moved(STEP / 2.0).call(tup(s.at(), k1.at()))), |k2| {
                    let_(rhs.at().app(moved(STEP / 2.0).call(tup(s.at(), k2.at()))), |k3| {
                        let_(rhs.at().app(moved(STEP).call(tup(s.at(), k3.at()))), |k4| {
                            let some = moved(2.0).call(tup(k1.at(), k2.at()));
                            let most = moved(2.0).call(tup(some, k3.at()));
                            moved(STEP / 6.0).call(tup(s.at(), moved(1.0).call(tup(most, k4.at()))))
                        })
                    })
                })
            })
        })
    })
}

/// The sum of squares of what a trajectory from (1, 0) misses of the measured positions.
fn loss<C: Arrays>() -> Expr<C, Prod<Parameters, Vector>, Real> {
    fun2(|p, measured| {
        let (linear, cubic) = p.split();
        let (stiffness, damping) = linear.split();
        let right_hand_side = lam2(|x, v| {
            let spring = stiffness.at() * x.at() + cubic.at() * x.at() * x.at() * x.at();
            tup(v.at(), -(spring + damping.at() * v.at()))
        });
        let_(closed(runge_kutta()).app(right_hand_side), |step| {
            let start = tup(tup(num(1.0), num(0.0)), num(0.0));
            let advance = lam2(|before, measured| {
                let (s, sum) = before.split();
                let_(step.at().app(s.at()), |s| {
                    let_(s.at().fst() - measured.at(), |missed| tup(s.at(), sum.at() + missed.at() * missed.at()))
                })
            });
            measured.at().fold(start, advance).snd()
        })
    })
}

/// Positions with the true parameters, in plain Rust.
fn measure(count: usize) -> Vec<f64> {
    let slope = |[x, v]: [f64; 2]| [v, -(TRUE[0] * x + TRUE[1] * v + TRUE[2] * x * x * x)];
    let along = |[x, v]: [f64; 2], h: f64, [a, b]: [f64; 2]| [x + h * a, v + h * b];
    let (mut s, mut positions) = ([1.0, 0.0], Vec::new());
    for _ in 0..count {
        let k1 = slope(s);
        let k2 = slope(along(s, STEP / 2.0, k1));
        let k3 = slope(along(s, STEP / 2.0, k2));
        let k4 = slope(along(s, STEP, k3));
        s = [0, 1].map(|i| s[i] + STEP / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
        positions.push(s[0]);
    }
    positions
}

/// The fitted parameters, and the lines of the report.
fn fit(steps: usize) -> ([f64; 3], Vec<String>) {
    let measured = Array::from(measure(60));
    let number = |x: f64| -> Tensor<Array, 0> { tensor(x) };
    let like = (((number(0.0), number(0.0)), number(0.0)), Tensor::from_raw(measured.clone()));
    // Value and gradient as a first-order program, compiled once.
    let program = compile(&higher::stage_grad(loss(), &like));
    let (mut p, mut momentum, mut lines) = ([1.0, 0.1, 0.0], [0.0; 3], Vec::new());
    for step in 0..=steps {
        let inputs = [Array::scalar(p[0]), Array::scalar(p[1]), Array::scalar(p[2]), measured.clone()];
        let results = program.run(&inputs);
        let item = |k: usize| results[k].item::<f64>().expect("a number");
        if [0, 100, 400, 1000].contains(&step) {
            lines.push(format!("{step:4} {:11.7} {:11.4} {:10.4} {:10.4}", item(0), p[0], p[1], p[2]));
        }
        for k in 0..3 {
            // Leaves of the gradient come in the order of those of the inputs.
            momentum[k] = 0.9 * momentum[k] - 0.01 * item(k + 1);
            p[k] += momentum[k];
        }
    }
    (p, lines)
}

fn main() {
    let (_, lines) = fit(1000);
    println!("step        loss   stiffness    damping      cubic");
    for line in lines {
        println!("{line}");
    }
}

#[test]
fn the_fit_finds_the_parameters() {
    let (found, _) = fit(1000);
    for (found, expected) in found.iter().zip(TRUE) {
        assert!((found - expected).abs() < 1e-3, "{found} is not {expected}");
    }
}
