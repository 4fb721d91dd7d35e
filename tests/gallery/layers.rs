//! Layers of `nn`: transformer blocks, convolutions with normalised batches, recurrent cells.

use polygrad::nn::{
    Attention, AttentionMask, BatchNorm, BatchStatistics, Conv1d, Gru, LayerNorm, Linear, Lstm, RecurrentCell, RmsNorm,
    dropout, smoothed_cross_entropy,
};
use polygrad::{Array, BaseTensor, Conv, Tensor};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Cube<T> = Tensor<T, 3>;

objectives! {
    transformer_block(
        x = real([2, 3, 4], 1), qkv = real([3, 4, 4], 2), out = real([2, 2, 4], 3), gain = real([4], 4), wide = real([4, 6], 5),
        narrow = real([6, 4], 6)
    );
    normalised_signals(x = real([3, 2, 5], 7), kernel = real([3, 2, 3], 8), gain = real([3], 9), shift = real([3], 10); labels = Array::from([2i64, 0, 1]));
    lstm_cell(x = real([4, 2, 3], 11), input = real([3, 8], 12), bias = real([8], 13), state = real([2, 8], 14));
    gru_cell(x = real([4, 2, 3], 15), input = real([3, 6], 16), bias = real([6], 17), state = real([2, 6], 18), reset = real([2], 19));
}

/// Causal attention between two sums with the input, the second after a network of one hidden layer.
fn transformer_block<T: BaseTensor>(
    x: &Cube<T>,
    qkv: &Cube<T>,
    out: &Cube<T>,
    gain: &Vector<T>,
    wide: &Matrix<T>,
    narrow: &Matrix<T>,
) -> Scalar<T> {
    let [query, key, value] = [0, 1, 2].map(|k| qkv.row(k).reshape([4, 2, 2]));
    let attention = Attention { query, key, value, out: out.clone() };
    let before = LayerNorm { gain: gain.clone(), shift: gain * 0.5, epsilon: 1e-3 };
    let after = RmsNorm { gain: gain.clone(), ..RmsNorm::new(4) };
    let [wide, narrow] = [wide, narrow].map(|weight| Linear { weight: weight.clone(), bias: None });
    let x = x + attention.apply(&before.apply(x), &AttentionMask::Causal);
    let y = &x + narrow.apply(&wide.apply(&after.apply(&x)).gelu());
    (y.square().mean() + y.sin().sum()) * 0.5
}

/// A convolution, channels normalised by the batch, some of whose numbers are dropped, and a loss with smoothed labels.
fn normalised_signals<T: BaseTensor>(
    x: &Cube<T>,
    kernel: &Cube<T>,
    gain: &Vector<T>,
    shift: &Vector<T>,
    labels: &Tensor<T, 1, i64>,
) -> Scalar<T> {
    let layer = Conv1d { kernel: kernel.clone(), bias: Some(shift.clone()), how: Conv::default().padding([1]) };
    let norm = BatchNorm { gain: gain.clone(), shift: shift.clone(), ..BatchNorm::new(3) };
    let (y, after) = norm.train(&layer.apply(x), &BatchStatistics::new(3));
    let keep = Tensor::constant(Array::new(&[3, 3, 5], (0..45).map(|k| k % 4 != 1).collect::<Vec<bool>>()));
    let logits = dropout(&y.tanh(), &keep, 0.75).mean_axis(2);
    smoothed_cross_entropy(&logits, 1, labels, 0.1).mean() + after.variance.sum() * 0.1 + after.mean.square().sum()
}

fn lstm_cell<T: BaseTensor>(x: &Cube<T>, input: &Matrix<T>, bias: &Vector<T>, state: &Matrix<T>) -> Scalar<T> {
    let cell = Lstm { input: Linear { weight: input.clone(), bias: Some(bias.clone()) }, state: state.clone() };
    let ((_, memory), outputs) = cell.run(cell.start(2), x);
    outputs.square().sum() + memory.sum()
}

fn gru_cell<T: BaseTensor>(
    x: &Cube<T>,
    input: &Matrix<T>,
    bias: &Vector<T>,
    state: &Matrix<T>,
    reset: &Vector<T>,
) -> Scalar<T> {
    let cell = Gru {
        input: Linear { weight: input.clone(), bias: Some(bias.clone()) },
        state: state.clone(),
        reset: reset.clone(),
    };
    let (last, outputs) = cell.run(cell.start(2), x);
    outputs.square().sum() + last.sum()
}
