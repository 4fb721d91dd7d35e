//! A pole on a cart, which a force on the cart swings up and holds: the forces of the next two seconds are improved by
//! a step of Gauss and Newton through the simulation, the first one is applied, and so on.
//!
//! The plan knows the same mechanics as the world, but not the hand of the reader that pulls the bob.

use polygrad::{
    BaseTensor, Concrete, Function, RunError, Tensor, iterate_all, jacobian, map, scan, stack, tensor, value_and_grad,
};

/// How many forces are planned.
pub const FORCES: usize = 40;
/// The seconds for which a force is applied.
pub const SECONDS: f64 = 0.05;
/// The largest force.
pub const LIMIT: f64 = 30.0;
const PARTS: usize = 2;
const GRAVITY: f64 = 9.81;
const CART: f64 = 1.0;
const BOB: f64 = 0.3;
/// The length of the pole.
pub const LENGTH: f64 = 1.0;

type Vector<T> = Tensor<T, 1>;
type Scalar<T> = Tensor<T, 0>;

// Shown on the page:
/// The state after a moment; the angle is 0 where the pole stands. In the world, a hand may pull the bob.
fn moved<T: BaseTensor>(state: Vector<T>, force: &Scalar<T>, hand: Option<&Vector<T>>) -> Vector<T> {
    let [x, angle, speed, turn] = state.unstack();
    let (sin, cos) = (angle.sin(), angle.cos());
    let (mut push, mut across) = (force - 0.1 * &speed, GRAVITY * &sin);
    if let Some(hand) = hand {
        let [pull, lift] = hand.unstack();
        across += (&pull * &cos - lift * &sin) / BOB;
        push += pull;
    }
    let pushed = push + BOB * (LENGTH * turn.square() * &sin - &across * &cos);
    let pushed = pushed / (CART + BOB * sin.square());
    let turned = (across - &pushed * cos) / LENGTH - 0.05 * &turn;
    let (speed, turn) = (speed + pushed * DT, turn + turned * DT);
    stack((x + &speed * DT, angle + &turn * DT, speed, turn))
}

/// All states under the planned forces, from this one on.
fn path<T: BaseTensor>(plan: &Vector<T>, start: &Vector<T>) -> Tensor<T, 2> {
    scan(start.clone(), plan, |mut state, force| {
        for _ in 0..PARTS {
            state = moved(state, &(LIMIT * force.tanh()), None);
        }
        state
    })
}

/// What the plan makes small: upright, in the middle, at rest, with little force.
fn errors<T: BaseTensor>(plan: &Vector<T>, start: &Vector<T>) -> Tensor<T, 2> {
    let states = path(plan, start).slice(0, 1..FORCES + 1);
    map((&states, plan), |(state, force)| {
        let [x, angle, speed, turn] = state.unstack();
        let wall = 5.0 * (x.abs() - 1.8).relu();
        stack((angle.sin(), 1.0 - angle.cos(), 0.5 * x, 0.1 * speed, 0.1 * turn, 0.1 * force, wall))
    })
}

fn cost<T: BaseTensor>(plan: &Vector<T>, start: &Vector<T>) -> Scalar<T> {
    0.5 * errors(plan, start).square().sum()
}
// Until here.

const DT: f64 = SECONDS / PARTS as f64;

/// At rest, with a plan.
fn hanging() -> (Vector<Concrete>, Vector<Concrete>) {
    // Left and right are the same in this position: a little force decides.
    (tensor([0.0, std::f64::consts::PI, 0.0, 0.0]), Tensor::full([FORCES], 0.05))
}

/// A plan after a step with this damping, the cost before, and after.
type Step = Function<
    Vector<Concrete>,
    (Vector<Concrete>, Scalar<Concrete>),
    (Vector<Concrete>, Scalar<Concrete>, Scalar<Concrete>),
>;

/// All states of the time of one force, from a state, a force and a hand.
type World = Function<Vector<Concrete>, (Scalar<Concrete>, Vector<Concrete>), Tensor<Concrete, 2>>;

/// The world, and the plan.
pub struct Pendulum {
    state: Vector<Concrete>,
    plan: Vector<Concrete>,
    damping: f64,
    world: World,
    step: Step,
    path: Function<Vector<Concrete>, Vector<Concrete>, Tensor<Concrete, 2>>,
}

/// A plan, and where it leads.
pub struct Planned {
    /// The cost of the plan.
    pub cost: f64,
    /// The forces.
    pub forces: Vec<f64>,
    /// The states, four numbers each: place, angle and their velocities.
    pub path: Vec<f64>,
}

impl Pendulum {
    /// Records the programs. The pole hangs at rest.
    pub fn new() -> Pendulum {
        let (state, plan) = hanging();
        let world = Function::stage_with(
            |state, (force, hand)| iterate_all(PARTS, state, |_, state: Vector<_>| moved(state, force, Some(hand))),
            &state,
            &(tensor(0.0), tensor([0.0, 0.0])),
        );
        let step = Function::stage_with(
            |plan, (start, damping)| {
                let (before, slope) = value_and_grad(|plan| cost(plan, &start.lift()), plan);
                let rows = jacobian(|plan| errors(plan, &start.lift()).reshape([FORCES * 7]), plan);
                let matrix = rows.t().matmul(&rows) + Tensor::eye(FORCES).times(damping);
                let next = plan - matrix.solve(&slope);
                let after = cost(&next, start);
                (next, before, after)
            },
            &plan,
            &(state.clone(), tensor(1.0)),
        );
        let path = Function::stage_with(path, &plan, &state);
        Pendulum { state, plan, damping: 1.0, world, step, path }
    }

    /// Lets the world run for the time of one force, while a hand pulls the bob to the right and up, and moves the plan
    /// on. Returns the states on the way, four numbers each.
    ///
    /// # Errors
    /// None: the shapes are those of the recorded programs.
    pub fn run(&mut self, hand: [f64; 2]) -> Result<Vec<f64>, RunError> {
        let mut forces = self.plan.to_vec();
        let force = LIMIT * forces.remove(0).tanh();
        forces.push(0.0);
        self.plan = Tensor::new([FORCES], forces);
        let states = self.world.run_with(&self.state, &(tensor(force), tensor(hand)))?;
        self.state = states.row(PARTS);
        Ok(states.to_vec())
    }

    /// Lets the pole hang at rest again.
    pub fn hang(&mut self) {
        (self.state, self.plan) = hanging();
        self.damping = 1.0;
    }

    /// Gives the pole a push: radians per second.
    pub fn kick(&mut self, turn: f64) {
        let mut state = self.state.to_vec();
        state[3] += turn;
        self.state = Tensor::new([4], state);
    }

    /// Improves the plan by some steps.
    ///
    /// # Errors
    /// None: the shapes are those of the recorded programs.
    pub fn improve(&mut self, steps: usize) -> Result<Planned, RunError> {
        let mut least = f64::INFINITY;
        for _ in 0..steps {
            let (next, before, after) = self.step.run_with(&self.plan, &(self.state.clone(), tensor(self.damping)))?;
            let down = after.item() <= before.item();
            least = if down { after.item() } else { before.item() };
            self.plan = if down { next } else { self.plan.clone() };
            self.damping = (self.damping * if down { 0.3 } else { 5.0 }).clamp(1e-3, 1e4);
        }
        let path = self.path.run_with(&self.plan, &self.state)?.to_vec();
        let forces = self.plan.to_vec().iter().map(|force| LIMIT * force.tanh()).collect();
        Ok(Planned { cost: least, forces, path })
    }

    /// The program of the gradient of the cost, as text.
    pub fn gradient(&self) -> String {
        Function::grad_with(cost, &self.plan, &self.state).optimized().to_string()
    }
}

impl Default for Pendulum {
    fn default() -> Pendulum {
        Pendulum::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The height of the bob, and how fast all moves, after some steps of the world.
    fn after(pendulum: &mut Pendulum, steps: usize, hand: [f64; 2]) -> [f64; 3] {
        for k in 0..steps {
            let planned = pendulum.improve(2).expect("a plan");
            if std::env::var_os("SHOW").is_some() {
                println!(
                    "{k}: {:.3?} cost {:.3} force {:.2} damping {:.4}",
                    pendulum.state.to_vec(),
                    planned.cost,
                    planned.forces[0],
                    pendulum.damping
                );
            }
            pendulum.run(hand).expect("a step");
        }
        let state = pendulum.state.to_vec();
        [state[1].cos(), state[0], state[2].abs() + state[3].abs()]
    }

    #[test]
    fn the_pole_swings_up_and_stands_after_a_kick() {
        let mut pendulum = Pendulum::new();
        let [height, x, speed] = after(&mut pendulum, 120, [0.0; 2]);
        assert!(height > 0.999 && x.abs() < 0.1 && speed < 0.1, "{height} {x} {speed}");
        pendulum.kick(4.0);
        let [height, x, speed] = after(&mut pendulum, 120, [0.0; 2]);
        assert!(height > 0.999 && x.abs() < 0.1 && speed < 0.1, "{height} {x} {speed}");
        // A hand pulls it down, and lets go.
        after(&mut pendulum, 20, [4.0, -6.0]);
        let [height, x, speed] = after(&mut pendulum, 160, [0.0; 2]);
        assert!(height > 0.999 && x.abs() < 0.1 && speed < 0.1, "{height} {x} {speed}");
    }

    /// Without a force and a hand, friction alone takes energy.
    #[test]
    fn the_world_loses_energy_slowly() {
        let energy = |state: &[f64]| {
            let [_, angle, speed, turn] = state.try_into().expect("four numbers");
            let (along, up): (f64, f64) = (speed + LENGTH * turn * angle.cos(), -LENGTH * turn * angle.sin());
            0.5 * CART * speed * speed + 0.5 * BOB * (along * along + up * up) + BOB * GRAVITY * LENGTH * angle.cos()
        };
        let mut state: Vector<Concrete> = tensor([0.0, 2.0, 0.0, 0.0]);
        let first = energy(&state.to_vec());
        for _ in 0..400 {
            state = moved(state, &tensor(0.0), None);
        }
        let last = energy(&state.to_vec());
        assert!(last < first && first - last < 1.5, "{first} {last}");
    }
}
