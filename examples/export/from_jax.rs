//! Six programs that JAX exported: their values and gradients compiled, one of them bounded, with the time of each.
//!
//! Run with `cargo run --release -p polygrad-export --example from_jax`. With the word `times` it prints the seconds of a
//! run and of the first call alone, for `python/from_jax.py race`.

use std::time::{Duration, Instant};

use polygrad::import::Module;
use polygrad::{FlatFunction, Tensor, enclose};

/// What `jax.export` printed (`python/from_jax.py`): functions of one vector, with a point, the value there and the
/// gradient by JAX.
const PROGRAMS: [(&str, &str); 6] = [
    ("leaky", include_str!("jax/leaky.mlir")),
    ("kalman", include_str!("jax/kalman.mlir")),
    ("process", include_str!("jax/process.mlir")),
    ("arm", include_str!("jax/arm.mlir")),
    ("neuron", include_str!("jax/neuron.mlir")),
    ("orbits", include_str!("jax/orbits.mlir")),
];

/// The numbers after a word in the comments of a text.
fn numbers(text: &str, word: &str) -> Vec<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_default();
    line.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// The median time of a function, in seconds.
fn seconds(mut f: impl FnMut()) -> f64 {
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < Duration::from_millis(500) || times.len() < 5 {
        let start = Instant::now();
        f();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let times_alone = std::env::args().nth(1).is_some_and(|word| word == "times");
    for (name, text) in PROGRAMS {
        let (x, value, slope) = (numbers(text, "// point"), numbers(text, "// value")[0], numbers(text, "// slope"));
        let start = Instant::now();
        let f = FlatFunction::imported(&Module::parse(text)?)?;
        let mut found = vec![0.0; x.len()];
        let at = f.value_and_grad(&x, &mut found);
        let first = start.elapsed().as_secs_f64();
        let size = slope.iter().fold(1.0f64, |most, g| most.max(g.abs()));
        let apart = found.iter().zip(&slope).map(|(a, b)| (a - b).abs() / size).fold(0.0, f64::max);
        assert!((at - value).abs() < 1e-9 * value.abs().max(1.0) && apart < 1e-8, "{name}: {at} {value} {apart:e}");
        let run = seconds(|| _ = f.value_and_grad(&x, &mut found));
        if times_alone {
            println!("{name} {run} {first}");
        } else {
            let n = x.len();
            println!("{name:8} of {n:2} numbers: {at:12.6}, run {:8.1} us, first {:5.1} ms", run * 1e6, first * 1e3);
        }
    }
    if !times_alone {
        bounded()?;
    }
    Ok(())
}

/// What the likelihood of the Gaussian process is at most, and at least, for all parameters close to a point.
fn bounded() -> Result<(), Box<dyn std::error::Error>> {
    let text = PROGRAMS[2].1;
    let module = Module::parse(text)?;
    let at = |by: f64| Tensor::from_fn([3], |[i]| numbers(text, "// point")[i] + by);
    let (low, high) = enclose(|x: &Tensor<_, 1>| module.apply::<_, _, 0, f64>(x), &at(-1e-6), &at(1e-6));
    println!("process: between {:.6} and {:.6} for all parameters within 1e-6", low.item(), high.item());
    Ok(())
}
