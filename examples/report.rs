//! Reports: pages that show how functions run, written to a folder.
//!
//!     cargo run --release --example report target/report
//!
//! `small.html` is the gradient of a loss of a few operations, `loop.html` one of a recurrence, whose mode was compared,
//! `long.html` one of more than 2000 operations, `sparse.html` a Jacobian by passes of both modes.

use std::path::Path;

use polygrad::{BaseTensor, Concrete, Function, ReportError, Tensor, concat, fold, sparse_jacobian, tensor};

type Vector<T> = Tensor<T, 1>;

/// The softmax loss of a linear classifier.
fn loss<T: BaseTensor>(w: &Tensor<T, 2>, x: &Vector<T>, y: &Vector<T>) -> Tensor<T, 0> {
    let scores = w.matvec(x);
    scores.logsumexp() - scores.dot(y)
}

/// The last state of a recurrent network.
fn recurrent<T: BaseTensor>(w: &Tensor<T, 2>, inputs: &Tensor<T, 2>) -> Tensor<T, 0> {
    let start = inputs.at([0]);
    fold(start, inputs, |h: Vector<T>, x: &Vector<T>| (w.matvec(&h) + x).tanh()).square().sum()
}

/// A network of many layers, each with operations of its own.
fn deep<T: BaseTensor>(x: &Vector<T>) -> Tensor<T, 0> {
    let mut state = x.clone();
    for layer in 1..=180 {
        let turned = state.roll(0, layer);
        let mixed = &state * &turned + 0.01 * f64::from(layer as i32);
        let gate = (&mixed * 0.5).tanh();
        state = &gate * &turned + (1.0 - &gate) * state.sin();
    }
    state.square().mean()
}

/// A function whose Jacobian has a full row, a full column and two diagonals.
fn arrow<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    let y = x.exp();
    let (here, next) = (y.slice(0, 1..39), y.slice(0, 2..));
    concat(0, [&y.sum().reshape([1]), &(here * next).times(&y.at([0]))])
}

/// Writes the pages.
fn pages(folder: &Path) -> Result<(), ReportError> {
    let data = (Tensor::<Concrete, 1>::linspace(0.1, 0.9, 20), tensor([1.0, 0.0, 0.0]));
    let small = Function::value_and_grad_with(|w, (x, y)| loss(w, x, y), &Tensor::zeros([3, 20]), &data);
    small.report(folder.join("small.html"))?;

    let (w, inputs) = (Tensor::full([8, 8], 0.1), Tensor::ones([50, 8]));
    let looped = Function::jacobian_with(
        |k: &Tensor<_, 0>, (w, inputs)| recurrent(&w.times(k), inputs),
        &tensor(1.0),
        &(w, inputs),
    );
    looped.report(folder.join("loop.html"))?;

    let long = Function::grad(|x: &Vector<_>| deep(x), &Tensor::<Concrete, 1>::linspace(0.0, 1.0, 500));
    println!("long.html has {} operations", long.optimized().size());
    long.report(folder.join("long.html"))?;

    sparse_jacobian(|x: &Vector<_>| arrow(x), &Tensor::<Concrete, 1>::linspace(0.0, 1.0, 40))
        .report(folder.join("sparse.html"))?;
    let large = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 3000);
    let differences = |x: &Vector<_>| (x.slice(0, 1..) - x.slice(0, ..2999)).square() * x.sin().slice(0, 1..);
    sparse_jacobian(differences, &large).report(folder.join("banded.html"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "target/report".into());
    std::fs::create_dir_all(&folder)?;
    pages(Path::new(&folder))?;
    println!("open {folder}/small.html in a browser");
    Ok(())
}
