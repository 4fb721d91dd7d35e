//! One program, many readings: every part of the report runs the same function at another interpreter.
//!
//! `cargo run --release --example tour`

use std::fmt::{self, Write};

use polygrad::{BaseTensor, Function, Shapes, Tensor, check, direct, hessian, inspect, tensor};

/// The energy of pendulums side by side at angles `x`, neighbours joined by springs of stiffness `k`.
fn energy<T: BaseTensor>(x: &Tensor<T, 1>, k: &Tensor<T, 1>) -> Tensor<T, 0> {
    let stretch = x.slice(0, 1..) - x.slice(0, ..x.len() - 1);
    (1.0 - x.cos()).sum() + 0.5 * (k * stretch.square()).sum()
}

/// The gradient in the angles, at any interpreter: derivatives are programs, too.
fn slope<T: BaseTensor>(x: &Tensor<T, 1>, k: &Tensor<T, 1>) -> Tensor<T, 1> {
    direct::value_and_grad_with(energy, x, k).1
}

/// All readings, one after the other.
pub(crate) fn report() -> Result<String, fmt::Error> {
    let mut out = String::new();
    let x = tensor([0.5, 0.0, 0.0, -0.5]);
    let k = tensor([1.0, 2.0, 1.0]);

    writeln!(out, "the value:\n{}\n", energy(&x, &k))?;

    let push = tensor([1.0, 0.0, 0.0, 0.0]);
    let along = direct::jvp(|x| energy(x, &k.lift()), &x, &push).1;
    writeln!(out, "its derivative along {push}:\n{along}\n")?;

    writeln!(out, "the gradient:\n{}\n", slope(&x, &k))?;

    let rest = tensor([0.0, 0.0, 0.0, 0.0]);
    let curvature: Tensor<_, 2> = hessian(|x| energy(x, &Tensor::constant(&k)), &rest);
    writeln!(out, "the Hessian, with everything at rest:\n{curvature}")?;

    writeln!(out, "\nthe shapes alone, for a million pendulums and for a spring too many:")?;
    for springs in [999_999, 1_000_000] {
        let example = (Tensor::<Shapes, 1>::zeros([1_000_000]), Tensor::<Shapes, 1>::zeros([springs]));
        match check(|(x, k)| slope(x, k), &example) {
            Ok(gradient) => writeln!(out, "{gradient}")?,
            Err(error) => {
                let line = error.place.map_or(0, |place| place.line);
                writeln!(out, "line {line}: {}", error.message.replace("; ", ";\n    "))?;
            }
        }
    }

    writeln!(out, "\nwhat the value costs, and what the gradient does:")?;
    writeln!(out, "{}\n", inspect::count(|(x, k)| energy(x, k), &(x.clone(), k.clone())).1)?;
    writeln!(out, "{}\n", inspect::count(|(x, k)| slope(x, k), &(x.clone(), k.clone())).1)?;

    writeln!(out, "the value, line by line:")?;
    writeln!(out, "{}", inspect::transcript(|(x, k)| energy(x, k), &(x.clone(), k.clone())).1)?;

    let staged = Function::stage_with(energy, &x, &k);
    writeln!(out, "the value as a program:\n{}\n", staged.program().named(&["x", "k"], &["energy"]))?;

    writeln!(out, "value and gradient as one program, traced and differentiated once, to be run many times:")?;
    let staged = Function::value_and_grad_with(energy, &x, &k);
    writeln!(out, "{}", staged.program().named(&["x", "k"], &["energy", "slope"]))?;
    Ok(out)
}

fn main() -> Result<(), fmt::Error> {
    print!("{}", report()?);
    Ok(())
}
