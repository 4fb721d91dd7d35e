//! Neural networks that classify, in single and double precision.

use polygrad::nn::Linear;
use polygrad::{BaseTensor, Float, Tensor, fold};

use super::inputs::Inputs;
use super::measure::{Case, Workload};

/// Inputs, a row for each example, and labels.
type Batch<T, E> = (Tensor<T, 2, E>, Tensor<T, 1, i64>);

/// The loss of a network with two hidden layers.
fn perceptron<T: BaseTensor, E: Float>(
    [first, second, third]: &[Linear<T, E>; 3],
    (x, labels): &Batch<T, E>,
) -> Tensor<T, 0, E> {
    let h = first.apply(x).relu();
    let h = second.apply(&h).relu();
    third.apply(&h).cross_entropy(1, labels).mean()
}

fn perceptron_case<E: Float>(inputs: &Inputs, batch: usize) -> Vec<Case> {
    let sizes = [784, 300, 100, 10];
    let layer = |k: usize| {
        let seed = 5001 + 2 * k as u64;
        let weight = inputs.weights::<E>(seed, [sizes[k], sizes[k + 1]], sizes[k]);
        Linear { weight, bias: Some(inputs.uniform::<1, E>(seed + 1, [sizes[k + 1]], -0.1, 0.1)) }
    };
    let x = inputs.uniform::<2, E>(5011, [batch, 784], 0.0, 1.0);
    Case::gradient(perceptron, [0, 1, 2].map(layer), (x, inputs.integers(5012, [batch], 10)))
}

/// The parameters of a recurrent network: of its inputs, of its state, of the common bias, and of its outputs.
type Recurrent<T, E> = (Tensor<T, 2, E>, Tensor<T, 2, E>, Tensor<T, 1, E>, Linear<T, E>);

/// Sequences, the time first, and labels.
type Sequences<T, E> = (Tensor<T, 3, E>, Tensor<T, 1, i64>);

/// The loss of a recurrent network that reads a sequence and then says its label.
fn recurrent<T: BaseTensor, E: Float>(
    (of_inputs, of_state, bias, output): &Recurrent<T, E>,
    (x, labels): &Sequences<T, E>,
) -> Tensor<T, 0, E> {
    let start = Tensor::zeros([x.dim::<1>(), bias.len()]);
    let state = fold(start, x, |h: Tensor<T, 2, E>, x: &Tensor<T, 2, E>| {
        let sum = x.matmul(of_inputs) + h.matmul(of_state);
        (&sum + bias.up_to(&sum)).tanh()
    });
    output.apply(&state).cross_entropy(1, labels).mean()
}

fn recurrent_case<E: Float>(inputs: &Inputs) -> Vec<Case> {
    let parameters = (
        inputs.weights::<E>(5201, [28, 128], 28),
        inputs.weights::<E>(5202, [128, 128], 128),
        inputs.uniform::<1, E>(5203, [128], -0.1, 0.1),
        Linear {
            weight: inputs.weights::<E>(5204, [128, 10], 128),
            bias: Some(inputs.uniform::<1, E>(5205, [10], -0.1, 0.1)),
        },
    );
    let x = inputs.uniform::<3, E>(5211, [28, 64, 28], 0.0, 1.0);
    Case::gradient(recurrent, parameters, (x, inputs.integers(5212, [64], 10)))
}

/// The workloads of this family.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload { name: "B.mlp.b64.f32", cases: |inputs| perceptron_case::<f32>(inputs, 64) },
        Workload { name: "B.mlp.b1.f32", cases: |inputs| perceptron_case::<f32>(inputs, 1) },
        Workload { name: "B.rnn.b64.f32", cases: recurrent_case::<f32> },
        Workload { name: "B.mlp.b64.f64", cases: |inputs| perceptron_case::<f64>(inputs, 64) },
        Workload { name: "B.mlp.b1.f64", cases: |inputs| perceptron_case::<f64>(inputs, 1) },
        Workload { name: "B.rnn.b64.f64", cases: recurrent_case::<f64> },
    ]
}
