//! A Kalman filter that JAX exported: its likelihood, the gradient of its loop compiled, and bounds for all noises of a range.
//!
//! Run with `cargo run --release -p polygrad-export --example from_jax`.

use std::time::Instant;

use polygrad::import::Module;
use polygrad::{Function, Tensor, enclose, tensor};

/// What `jax.export` printed (`python/export_goldens.py`): the negative log-likelihood of 12 measurements, by `lax.scan`.
const TEXT: &str = include_str!("../../tests/data/jax/kalman.mlir");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let module = Module::parse(TEXT)?;
    let (inputs, outputs) = module.signature();
    println!("{} arguments, {} result", inputs.len(), outputs.len());

    let measured = tensor((0..12).map(|t| (0.5 * f64::from(t)).sin()).collect::<Vec<f64>>());
    let x = (tensor(0.1), measured);
    let likelihood = |x: &(Tensor<_, 0>, Tensor<_, 1>)| module.apply::<_, _, 0, f64>(x);
    let slope = Function::value_and_grad(likelihood, &x);
    println!("read, differentiated and compiled in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    println!("{}", slope.optimized());

    // The noise that explains the measurements best, by steps along the gradient of its logarithm.
    let mut at = x;
    for _ in 0..200 {
        let (_, slope) = slope.run(&at)?;
        let step = (slope.0.item() * at.0.item()).clamp(-1.0, 1.0);
        at.0 = tensor(at.0.item() * (0.1 * step).exp());
    }
    println!("noise {:.6}, log-likelihood {:.6}", at.0.item(), slope.run(&at)?.0.item());

    // What the likelihood is at most, and at least, for all noises within a thousandth of this one.
    let [low, high] = [0.999, 1.001].map(|by| (tensor(at.0.item() * by), at.1.clone()));
    let (least, most) = enclose(|x: &(Tensor<_, 0>, Tensor<_, 1>)| module.apply::<_, _, 0, f64>(x), &low, &high);
    println!("between {:.6} and {:.6} there", least.item(), most.item());
    Ok(())
}
