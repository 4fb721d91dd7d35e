//! Teaches a small network to move a bouncing ball to a place, through its contacts with the floor.
//!
//! `cargo run --release --example control`
//!
//! Physics, policy and loss are one differentiable program; the loop over time is recorded as one trip. A step of
//! training is one program, too: the gradient through 120 moments for 16 starts at once, and the update by Adam. The
//! policy first learns to roll to the place below the goal; then it finds out that it can fly.
//!
//! ```text
//! update      loss
//!      0   411.7525
//!     50    0.2703
//!    100    0.2636
//!    150    0.2614
//!    200    0.1209
//!    250    0.0205
//! from other starts: 426.5336 before, 0.0190 after
//! ```

use std::io::{IsTerminal, Write};

use polygrad::array::Rng;
use polygrad::optim::{Adam, Optimizer, Rate, clip_by_norm};
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, concat, iterate, map, stack, value_and_grad};

const UPDATES: usize = 300;
const MOMENTS: usize = 120;
const DT: f64 = 0.02;
const STARTS: usize = 16;
const HIDDEN: usize = 16;

/// The policy: from place and velocity to a force.
#[derive(Tree, Clone, Debug)]
struct Policy<T: BaseTensor> {
    w1: Tensor<T, 2>,
    b1: Tensor<T, 1>,
    w2: Tensor<T, 2>,
}

impl<T: BaseTensor> Policy<T> {
    fn force(&self, place: &Tensor<T, 1>, velocity: &Tensor<T, 1>) -> Tensor<T, 1> {
        let seen = concat(0, (place, velocity));
        self.w2.matvec(&(self.w1.matvec(&seen) + &self.b1).tanh()).tanh() * 12.0
    }
}

/// The distance from the goal, and the effort, of the ball that starts at `place` at rest.
fn cost<T: BaseTensor>(policy: &Policy<T>, place: &Tensor<T, 1>) -> Tensor<T, 0> {
    let start = (place.clone(), Tensor::zeros([2]), Tensor::scalar(0.0));
    let (place, velocity, effort) = iterate(MOMENTS, start, |_, (place, velocity, effort)| {
        let force = policy.force(&place, &velocity);
        let [_, height] = place.unstack();
        let [_, fall] = velocity.unstack();
        // The floor pushes back where the ball is in it, and takes some of its speed.
        let depth = (-height).relu();
        let floor = depth.gt(0.0).select((&depth * 400.0 - fall * 2.0).max(0.0), 0.0);
        let velocity = velocity + (&force + stack((0.0, floor - 9.81))) * DT;
        let place = place + &velocity * DT;
        let effort = effort + force.square().sum() * DT;
        (place, velocity, effort)
    });
    let goal = Tensor::constant([1.0, 0.5]);
    (place - goal).square().sum() + 0.1 * velocity.square().sum() + 1e-4 * effort
}

/// The mean over the starts.
fn loss<T: BaseTensor>(policy: &Policy<T>, starts: &Tensor<T, 2>) -> Tensor<T, 0> {
    map(starts, |place| cost(policy, place)).mean()
}

/// Trains the policy, and reports to `out`.
pub(crate) fn train(updates: usize, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = Rng::new(2);
    let policy = Policy::<Concrete> {
        w1: rng.normal([HIDDEN, 4], 0.0, 0.5),
        b1: Tensor::zeros([HIDDEN]),
        w2: rng.normal([2, HIDDEN], 0.0, 0.2),
    };
    let starts = |rng: &mut Rng| rng.uniform([STARTS, 2], 0.0, 0.6);
    let adam = Adam::new(Rate::cosine(0.02, 0.001, updates));
    let mut now = (policy.clone(), adam.init(&policy));
    let step = Function::stage_with(
        |(policy, state), starts| {
            let (value, slope) = value_and_grad(|policy| loss(policy, &starts.lift()), policy);
            (adam.update(policy, &clip_by_norm(&slope, 1.0), state), value)
        },
        &now,
        &starts(&mut rng),
    );
    let test = starts(&mut Rng::new(99));
    let before = loss(&policy, &test).item();
    writeln!(out, "update      loss")?;
    let bar = std::io::stderr().is_terminal();
    for k in 0..updates {
        let (next, value) = step.run_with(&now, &starts(&mut rng))?;
        now = next;
        if k % 50 == 0 {
            writeln!(out, "{k:>6}   {:>7.4}", value.item())?;
        }
        if bar {
            eprint!("\r[{:<30}]", "#".repeat((k + 1) * 30 / updates));
        }
    }
    if bar {
        eprint!("\r{:40}\r", "");
    }
    let after = loss(&now.0, &test).item();
    writeln!(out, "from other starts: {before:.4} before, {after:.4} after")?;
    if after > before / 10.0 {
        return Err(format!("the loss must fall to a tenth, but it went from {before} to {after}").into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    train(UPDATES, &mut std::io::stdout())
}
