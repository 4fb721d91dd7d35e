//! Finds the most probable parameters of a Bayesian logistic regression by Newton's method.
//!
//! `cargo run --release --example newton`
//!
//! The negative log posterior is written once. Its gradient, its Hessian and the step that solves for both are
//! recorded once, as one program of the parameters and the data, and run in every iteration. Near the solution the number of correct digits doubles with
//! every step, which no wrong gradient or Hessian would give.
//!
//! ```text
//! step      energy   length of gradient   length of step
//!    0    138.6294                8.5e1            1.3e0
//!    1     77.3593                2.0e1           6.9e-1
//!    2     69.3142                5.3e0           3.5e-1
//!    3     68.2884               7.8e-1           7.1e-2
//!    4     68.2606               2.4e-2           2.3e-3
//!    5     68.2606               2.3e-5           2.2e-6
//!    6     68.2606              2.3e-11          2.2e-12
//! ```

use polygrad::array::Rng;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, hessian, tensor, value_and_grad};

const SAMPLES: usize = 200;
const FEATURES: usize = 4;

/// Features, one row per sample, and outcomes 0 or 1.
type Data<T> = (Tensor<T, 2>, Tensor<T, 1>);

/// Minus the log posterior under a standard normal prior: `sum softplus(-+ x w) + |w|^2 / 2`.
fn energy<T: BaseTensor>(w: &Tensor<T, 1>, (x, y): &Data<T>) -> Tensor<T, 0> {
    let logits = x.matvec(w);
    let sign = 2.0 * y - 1.0;
    (-(sign * logits)).softplus().sum() + 0.5 * w.dot(w)
}

/// Value, gradient and Newton's step as a program.
type Step =
    Function<Tensor<Concrete, 1>, Data<Concrete>, (Tensor<Concrete, 0>, Tensor<Concrete, 1>, Tensor<Concrete, 1>)>;

fn record(w: &Tensor<Concrete, 1>, data: &Data<Concrete>) -> Step {
    Function::stage_with(
        |w, data| {
            // Inside a recorded program the verbs are part of it; data enter their functions through `lift`.
            let (value, slope) = value_and_grad(|w| energy(w, &data.lift()), w);
            let direction = hessian(|w| energy(w, &data.lift()), w).solve(&slope);
            (value, slope, direction)
        },
        w,
        data,
    )
}

/// Samples of the model itself, for parameters to be found again.
fn simulate(rng: &mut Rng) -> Data<Concrete> {
    let truth = tensor([1.0, -2.0, 0.5, 0.0]);
    let x: Tensor<Concrete, 2> = Tensor::constant(rng.uniform(&[SAMPLES, FEATURES], -2.0, 2.0));
    let chance = x.matvec(&truth).sigmoid();
    let draw: Tensor<Concrete, 1> = Tensor::constant(rng.uniform(&[SAMPLES], 0.0, 1.0));
    let y = draw.lt(&chance).to_float();
    (x, y)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = simulate(&mut Rng::new(7));
    let mut w: Tensor<Concrete, 1> = Tensor::zeros([FEATURES]);
    let step = record(&w, &data);
    println!("one recorded program of {} operations gives value, gradient and Newton's step\n", step.program().size());
    println!("step      energy   length of gradient   length of step");
    let mut length = f64::INFINITY;
    for iteration in 0..8 {
        let (value, slope, direction) = step.run_with(&w, &data)?;
        w = &w - &direction;
        length = slope.norm().item();
        println!("{iteration:>4}   {:>9.4}   {length:>18.1e}   {:>14.1e}", value.item(), direction.norm().item());
        if length < 1e-10 {
            break;
        }
    }
    println!("\nmost probable parameters {w:.3}");
    if length < 1e-10 { Ok(()) } else { Err(format!("Newton's method did not converge: |gradient| = {length}").into()) }
}
