//! What the patches for contributors add, used: `make contributing` compiles this program with a patched library.

use polygrad::nn::Scale;
use polygrad::passes::{Phase, Settings, changed_by, pipeline};
use polygrad::{Function, Tensor, grad, second_derivative, second_derivative_with, tensor};

fn close(what: &str, x: &Tensor<polygrad::Concrete, 0>, y: f64) {
    assert!((x.item() - y).abs() < 1e-12 * y.abs().max(1.0), "{what}: {} and not {y}", x.item());
}

fn main() {
    // cbrt.patch: values and derivatives of two orders, for both signs.
    for sign in [1.0, -1.0] {
        let x = tensor(8.0 * sign);
        close("cbrt", &x.cbrt(), 2.0 * sign);
        close("its derivative", &grad(|x| x.cbrt(), &x), 1.0 / 12.0);
        close("its second derivative", &grad(|x| grad(|x| x.cbrt(), x), &x), -sign / 144.0);
    }
    assert_eq!(tensor(f64::INFINITY).cbrt().item(), f64::INFINITY);
    let run = Function::stage(|x: &Tensor<_, 1>| x.cbrt(), &tensor([1.0, 27.0])).run(&tensor([-1.0, 64.0]));
    let cube = |x: f64| x * x * x;
    assert!(run.expect("a run").to_vec().iter().zip([-1.0, 64.0]).all(|(y, x)| (cube(*y) - x).abs() < 1e-12));

    // second_derivative.patch: the verb in its homes.
    let x = tensor(2.0);
    assert_eq!(second_derivative(|x: &Tensor<_, 0>| x.powi(3), &x), tensor(12.0));
    assert_eq!(second_derivative_with(|x: &Tensor<_, 0>, a: &Tensor<_, 0>| x.powi(3) * a, &x, &tensor(3.0)), tensor(36.0));
    let staged = Function::second_derivative(|x: &Tensor<_, 0>| x.powi(3), &x);
    assert_eq!(staged.run(&x).expect("a run"), tensor(12.0));

    // double_to_sum.patch: the pass is a row of the pipeline, changes the program, and keeps the values.
    assert!(pipeline().iter().any(|pass| pass.name == "double_to_sum"));
    let f = Function::stage(|x: &Tensor<_, 1>| (x * 2.0).sin(), &tensor([1.0, 3.0]));
    let changed = changed_by(Phase::BeforePlan, f.program(), &Settings::DEFAULT);
    assert!(changed.iter().any(|pass| pass.name == "double_to_sum"), "{changed:?}");
    let x = tensor([0.5, -7.0]);
    assert_eq!(f.run(&x).expect("a run"), (&x * 2.0).sin());

    // scale.patch: the layer, and its gradient.
    let layer = Scale { gain: tensor([2.0, 3.0]) };
    let x = tensor([[1.0, 1.0], [0.0, 5.0]]);
    assert_eq!(layer.apply(&x), tensor([[2.0, 3.0], [0.0, 15.0]]));
    let slope = polygrad::grad_with(|layer: &Scale<_>, x: &Tensor<_, 2>| layer.apply(x).sum(), &layer, &x);
    assert_eq!(slope.gain, tensor([1.0, 6.0]));
    println!("contributing: what the patches add compiles and runs");
}
