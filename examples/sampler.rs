//! Draws samples from a curved distribution by Hamiltonian Monte Carlo.
//!
//! `cargo run --release --example sampler`
//!
//! The energy is written once. One step of all chains, with the gradients along the trajectory and the decision, is one
//! recorded program, whose noise is data. The moments of the distribution are known, and the samples must show them.
//!
//! ```text
//! 100 chains, 1000 steps, 20 gradients a step: 100 % accepted
//!               samples    exact
//! mean of a       0.002    0.000
//! mean of b       1.000    1.000
//! var  of a       0.999    1.000
//! var  of b       3.013    3.000
//! ```

use std::io::Write;

use polygrad::array::Rng;
use polygrad::{BaseTensor, Concrete, Function, Tensor, cond, grad, iterate, vmap};

const CHAINS: usize = 100;
const STEPS: usize = 1000;
const GRADIENTS: usize = 20;
const H: f64 = 0.1;

/// Minus the log density: `a` is standard normal, `b` is normal around `a^2` with deviation 1.
fn energy<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let [a, b] = x.unstack();
    0.5 * (a.square() + (b - a.square()).square())
}

/// The end of the trajectory from `x` with velocity `v` if it is accepted, else `x`; and whether it is.
fn step<T: BaseTensor>(x: &Tensor<T, 1>, v: &Tensor<T, 1>, luck: &Tensor<T, 0>) -> (Tensor<T, 1>, Tensor<T, 0>) {
    let kick = |x: &Tensor<T, 1>, v: &Tensor<T, 1>, h: f64| v - grad(energy, x) * h;
    let (end, speed) = iterate(GRADIENTS, (x.clone(), kick(x, v, H / 2.0)), |_, (x, v)| {
        let x = x + &v * H;
        let v = kick(&x, &v, H);
        (x, v)
    });
    // The last kick was twice as long as it should be.
    let speed = kick(&end, &speed, -H / 2.0);
    let total = |x: &Tensor<T, 1>, v: &Tensor<T, 1>| energy(x) + 0.5 * v.dot(v);
    let accepted = luck.ln().lt(total(x, v) - total(&end, &speed));
    (cond(&accepted, &end, x), accepted.to_float())
}

/// Draws the samples, and reports to `out`.
pub(crate) fn sample(steps: usize, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = Rng::new(1);
    let mut x: Tensor<Concrete, 2> = Tensor::zeros([CHAINS, 2]);
    let noise = |rng: &mut Rng| (rng.normal([CHAINS, 2], 0.0, 1.0), rng.uniform([CHAINS], 0.0, 1.0));
    let all = Function::stage_with(
        |x, (v, luck)| vmap(|((x, v), luck)| step(x, v, luck))(((x, v), luck)),
        &x,
        &noise(&mut rng),
    );
    let (mut samples, mut accepted) = (Vec::new(), 0.0);
    for k in 0..steps + 50 {
        let (next, took) = all.run_with(&x, &noise(&mut rng))?;
        x = next;
        // The first steps lead away from where the chains began.
        if k >= 50 {
            samples.extend(x.to_vec());
            accepted += took.mean().item() / steps as f64;
        }
    }
    let samples = Tensor::<Concrete, 2>::new([steps * CHAINS, 2], samples);
    let [a, b] = samples.t().unstack::<2, 1>();
    let percent = 100.0 * accepted;
    writeln!(out, "{CHAINS} chains, {steps} steps, {GRADIENTS} gradients a step: {percent:.0} % accepted")?;
    writeln!(out, "              samples    exact")?;
    for (name, seen, exact) in [
        ("mean of a", a.mean(), 0.0),
        ("mean of b", b.mean(), 1.0),
        ("var  of a", a.var(), 1.0),
        ("var  of b", b.var(), 3.0),
    ] {
        let seen = seen.item();
        writeln!(out, "{name}   {seen:>9.3}   {exact:>6.3}")?;
        if (seen - exact).abs() > 0.2 {
            return Err(format!("the {name} must be near {exact}, but it is {seen}").into());
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    sample(STEPS, &mut std::io::stdout())
}
