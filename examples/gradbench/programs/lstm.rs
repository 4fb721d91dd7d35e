//! A long short-term memory of several layers that predicts characters.

use polygrad::{BaseTensor, Tensor, map_accum};

use super::{Matrix, Scalar, Vector};

/// The parameters: those of the layers, weights and biases in turn, a row each of four gates (forget, input, output, change);
/// and those of the ends, weights of the inputs, weights and biases of the outputs.
pub type Parameters<T> = (Matrix<T>, Matrix<T>);

/// The state of each layer, hidden and cell in turn; and the characters, a row of bits each.
pub type Text<T> = (Matrix<T>, Matrix<T>);

/// Hidden state and cell of one layer.
type Memory<T> = (Vector<T>, Vector<T>);

/// The state of a layer after it has read `x`.
fn remember<T: BaseTensor>(gates: &Tensor<T, 3>, (hidden, cell): &Memory<T>, x: &Vector<T>) -> Memory<T> {
    let gate = |k: usize, x: &Vector<T>| x * gates.at([0, k]) + gates.at([1, k]);
    let (forget, write) = (gate(0, x).sigmoid(), gate(1, hidden).sigmoid());
    let (read, change) = (gate(2, x).sigmoid(), gate(3, hidden).tanh());
    let cell = cell * forget + write * change;
    (read * cell.tanh(), cell)
}

/// The mean loss of predicting each character from those before.
pub fn loss<T: BaseTensor>((layers, ends): &Parameters<T>, (state, text): &Text<T>) -> Scalar<T> {
    let ([rows, width], length) = (state.shape(), text.len());
    let layers: Tensor<T, 4> = layers.reshape([rows / 2, 2, 4, width]);
    let [from, weight, bias] = ends.unstack();
    let start: Vec<Memory<T>> = (0..rows / 2).map(|k| (state.row(2 * k), state.row(2 * k + 1))).collect();
    let (read, next) = (text.slice(0, ..length - 1), text.slice(0, 1..));
    let (_, guesses): (_, Matrix<T>) = map_accum(start, &read, |mut memory: Vec<Memory<T>>, x: &Vector<T>| {
        let mut x = x * &from;
        for (k, layer) in memory.iter_mut().enumerate() {
            *layer = remember(&layers.at([k]), layer, &x);
            x = layer.0.clone();
        }
        (memory, x * &weight + &bias)
    });
    let totals: Matrix<T> = (2.0 + guesses.exp().sum_keep(1)).ln();
    -(next * (guesses - totals)).mean()
}
