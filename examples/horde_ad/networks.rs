//! Networks for handwritten digits of `28 x 28` pixels: with full layers, as lists of vectors or as matrices; with two
//! convolutions; and recurrent.

use polygrad::{BaseTensor, Tensor, fold};

use super::convolutions::Variant;
use super::products::Number;

type Vector<T, E = f64> = Tensor<T, 1, E>;
type Matrix<T, E = f64> = Tensor<T, 2, E>;

/// A picture, and a one at the place of its label.
pub(crate) type Example<T> = (Vector<T>, Vector<T>);

/// Three layers, a vector of weights for each neuron; the weights of the second layer are in single precision.
pub(crate) type Lists<T> = ((Vec<Vector<T>>, Vector<T>), (Vec<Vector<T, f32>>, Vector<T>), (Vec<Vector<T>>, Vector<T>));

/// The same, a matrix of weights for each layer.
pub(crate) type Matrices<T> = ((Matrix<T>, Vector<T>), (Matrix<T, f32>, Vector<T>), (Matrix<T>, Vector<T>));

/// Minus the logarithm of the probability of the label.
fn surprise<T: BaseTensor>(outputs: &Vector<T>, label: &Vector<T>) -> Number<T> {
    -outputs.softmax::<0>(0).ln().dot(label)
}

/// The inner products of a vector with each of a list.
fn products<T: BaseTensor, E: polygrad::Float>(list: &[Vector<T, E>], x: &Vector<T, E>) -> Vector<T, E> {
    let products: Vec<Tensor<T, 0, E>> = list.iter().map(|weights| weights.dot(x)).collect();
    polygrad::stack(&products)
}

/// The loss of a network of lists of vectors.
pub(crate) fn loss_of_lists<T: BaseTensor>(
    ((first, b), (second, c), (third, d)): &Lists<T>,
    (picture, label): &Example<T>,
) -> Number<T> {
    let h = (products(first, picture) + b).sigmoid();
    let h = (products(second, &h.cast::<f32>()).cast::<f64>() + c).sigmoid();
    surprise(&(products(third, &h) + d), label)
}

/// The first layer of a network of matrices.
pub(crate) fn hidden<T: BaseTensor>((weights, bias): &(Matrix<T>, Vector<T>), x: &Vector<T>) -> Vector<T> {
    (weights.matvec(x) + bias).sigmoid()
}

/// Its second layer, with products in single precision.
pub(crate) fn narrow<T: BaseTensor>((weights, bias): &(Matrix<T, f32>, Vector<T>), x: &Vector<T>) -> Vector<T> {
    (weights.matvec(&x.cast::<f32>()).cast::<f64>() + bias).sigmoid()
}

/// Its last layer, with the loss.
pub(crate) fn last<T: BaseTensor>(
    (weights, bias): &(Matrix<T>, Vector<T>),
    (x, label): &(Vector<T>, Vector<T>),
) -> Number<T> {
    surprise(&(weights.matvec(x) + bias), label)
}

/// The loss of a network of matrices.
pub(crate) fn loss_of_matrices<T: BaseTensor>(
    (first, second, third): &Matrices<T>,
    (picture, label): &Example<T>,
) -> Number<T> {
    last(third, &(narrow(second, &hidden(first, picture)), label.clone()))
}

/// A layer with its bias.
pub(crate) type Layer<T, const D: usize> = (Tensor<T, D>, Vector<T>);

/// The parameters of a convolutional network: two layers with kernels, two full layers.
pub(crate) type Convolutional<T> = (Layer<T, 4>, Layer<T, 4>, Layer<T, 2>, Layer<T, 2>);

/// A convolution, a rectifier, the largest of each two by two pixels.
pub(crate) fn convolution<T: BaseTensor>((kernels, bias): &Layer<T, 4>, x: &Tensor<T, 4>) -> Tensor<T, 4> {
    let [.., height, width] = kernels.shape();
    let y = x.conv2d(kernels, Variant::Preserving.layout([height, width]));
    let bias = bias.reshape::<4>([1, bias.len(), 1, 1]);
    (y + bias).relu().max_pool2d([2, 2], [2, 2])
}

/// A full layer, the examples in columns.
pub(crate) fn full<T: BaseTensor>((weights, bias): &Layer<T, 2>, x: &Matrix<T>) -> Matrix<T> {
    weights.matmul(x) + bias.insert_axis(1)
}

/// The outputs of a convolutional network for `[n, 1, h, w]` pictures: a column each.
pub(crate) fn convolutional<T: BaseTensor>(
    (first, second, hidden, readout): &Convolutional<T>,
    pictures: &Tensor<T, 4>,
) -> Matrix<T> {
    let x = convolution(second, &convolution(first, pictures));
    let n = x.len();
    let flat: Matrix<T> = x.reshape([n, x.size() / n]);
    full(readout, &full(hidden, &flat.t()).relu())
}

/// The weights of inputs and of the state, and a bias.
pub(crate) type Cell<T> = (Matrix<T>, Matrix<T>, Vector<T>);

/// The parameters of a recurrent network: two cells, and a full layer.
pub(crate) type Recurrent<T> = (Cell<T>, Cell<T>, Layer<T, 2>);

/// One step of a cell, the examples in columns.
pub(crate) fn step<T: BaseTensor>((of_input, of_state, bias): &Cell<T>, x: &Matrix<T>, state: &Matrix<T>) -> Matrix<T> {
    (of_input.matmul(x) + of_state.matmul(state) + bias.insert_axis(1)).tanh()
}

/// The mean loss of a recurrent network that reads `[w, h, n]` pictures by columns, with labels `[10, n]`.
pub(crate) fn recurrent_loss<T: BaseTensor>(
    (first, second, readout): &Recurrent<T>,
    (pictures, labels): &(Tensor<T, 3>, Matrix<T>),
) -> Number<T> {
    let n = labels.dim::<1>();
    let start = |cell: &Cell<T>| Tensor::zeros([cell.2.len(), n]);
    let states = fold((start(first), start(second)), pictures, |(s, t): (Matrix<T>, Matrix<T>), x: &Matrix<T>| {
        let s = step(first, x, &s);
        let t = step(second, &s, &t);
        (s, t)
    });
    let outputs = full(readout, &states.1);
    let loss: Vector<T> = outputs.logsumexp_axis(0) - (outputs * labels).sum_axis::<1>(0);
    loss.mean()
}
