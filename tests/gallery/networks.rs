//! Dense, recurrent and convolutional networks, attention.

use polygrad::{Array, BaseTensor, Tensor, build, build1, concat, fold, map, map_accum};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    perceptron(
        w1 = real([3, 4], 1), b1 = real([4], 2), w2 = real([4, 2], 3), b2 = real([2], 4);
        x = real([5, 3], 5), y = real([5, 2], 6)
    );
    rectifier_network(w1 = real([4, 3], 7), w2 = real([4], 8); x = real([5, 3], 9));
    residual_layers(layers = real([3, 4, 4], 10), x = real([4], 11));
    recurrent(w = real([3, 3], 12), u = real([3, 2], 13), start = real([3], 14); x = real([6, 2], 15));
    lstm(w = real([12, 5], 16), b = real([12], 17); x = real([4, 2], 18), y = real([4, 3], 19));
    convolution(kernel = real([3], 20), x = real([8], 21));
    convolution_by_index(kernel = real([3], 22), x = real([6], 23));
    strided_convolution(kernel = real([3], 24), x = real([9], 25));
    image_convolution(kernel = real([2, 3], 26), image = real([5, 5], 27));
    image_convolution_by_index(kernel = real([2, 2], 28), image = real([3, 4], 29));
    max_pooling(x = real([4, 6], 30), w = real([2, 3], 31));
    attention(q = real([3, 2], 32), k = real([4, 2], 33), v = real([4, 3], 34));
    masked_attention(q = real([3, 2], 35), k = real([3, 2], 36), v = real([3, 2], 37));
    layer_norm(x = real([3, 5], 38), gain = real([5], 39), shift = real([5], 40));
    embedding_bag(
        table = real([6, 3], 41), w = real([3], 42);
        words = Array::from([5i64, 0, 5, 2, 9, -1]), bags = Array::from([0i64, 1, 1, 0, 1, 2])
    );
    per_example(w = real([3], 43); x = real([4, 3], 44));
    self_convolution(x = real([5], 45));
}

fn perceptron<T: BaseTensor>(
    w1: &Matrix<T>,
    b1: &Vector<T>,
    w2: &Matrix<T>,
    b2: &Vector<T>,
    x: &Matrix<T>,
    y: &Matrix<T>,
) -> Scalar<T> {
    let hidden = (x.matmul(w1) + b1.insert_axis(0)).tanh();
    (hidden.matmul(w2) + b2.replicate(x.len()) - y).square().mean()
}

fn rectifier_network<T: BaseTensor>(w1: &Matrix<T>, w2: &Vector<T>, x: &Matrix<T>) -> Scalar<T> {
    x.matmul(&w1.t()).relu().matvec(w2).sigmoid().sum()
}

fn residual_layers<T: BaseTensor>(layers: &Tensor<T, 3>, x: &Vector<T>) -> Scalar<T> {
    fold(x.clone(), layers, |x, w: &Matrix<T>| w.matvec(&x).tanh() + x).square().sum()
}

fn recurrent<T: BaseTensor>(w: &Matrix<T>, u: &Matrix<T>, start: &Vector<T>, x: &Matrix<T>) -> Scalar<T> {
    fold(start.clone(), x, |h, x| (w.matvec(&h) + u.matvec(x)).tanh()).square().sum()
}

/// Four gates from one product; the squared error of all states.
fn lstm<T: BaseTensor>(w: &Matrix<T>, b: &Vector<T>, x: &Matrix<T>, y: &Matrix<T>) -> Scalar<T> {
    let zero: Vector<T> = Tensor::zeros([3]);
    let (_, states): (_, Matrix<T>) = map_accum((zero.clone(), zero), x, |(h, c), x| {
        let gates = (w.matvec(&concat(0, [x, &h])) + b).reshape([4, 3]);
        let [i, f, o] = [0, 1, 2].map(|k| gates.row::<1>(k).sigmoid());
        let c = f * c + i * gates.row(3).tanh();
        let h = o * c.tanh();
        ((h.clone(), c), h)
    });
    (states - y).square().sum()
}

fn convolution<T: BaseTensor>(kernel: &Vector<T>, x: &Vector<T>) -> Scalar<T> {
    x.window(0, 3, 1).matvec(kernel).square().sum()
}

/// The same with zeros around, which reading out of bounds gives.
fn convolution_by_index<T: BaseTensor>(kernel: &Vector<T>, x: &Vector<T>) -> Scalar<T> {
    let y = build1(x.len(), |i| build1(3, |p| x.at([i + p - 1]) * kernel.at([p])).sum());
    y.square().sum()
}

fn strided_convolution<T: BaseTensor>(kernel: &Vector<T>, x: &Vector<T>) -> Scalar<T> {
    x.window(0, 3, 2).matvec(kernel).sin().sum()
}

fn image_convolution<T: BaseTensor>(kernel: &Matrix<T>, image: &Matrix<T>) -> Scalar<T> {
    let windows: Tensor<T, 4> = image.window::<3>(0, 2, 1).window(2, 3, 1);
    let windows = windows.permute([0, 2, 1, 3]).reshape([12, 6]);
    windows.matvec(&kernel.flatten()).tanh().sum()
}

fn image_convolution_by_index<T: BaseTensor>(kernel: &Matrix<T>, image: &Matrix<T>) -> Scalar<T> {
    let [h, w] = image.shape();
    let y: Matrix<T> = build([h, w], |[i, j]| {
        let products: Matrix<T> = build([2, 2], |[p, q]| image.at([i + p, j + q]) * kernel.at([p, q]));
        products.sum()
    });
    (y.square() * y).sum()
}

/// The largest of each two by two block.
fn max_pooling<T: BaseTensor>(x: &Matrix<T>, w: &Matrix<T>) -> Scalar<T> {
    let blocks: Tensor<T, 4> = x.window::<3>(0, 2, 2).window(2, 2, 2);
    let blocks: Tensor<T, 3> = blocks.permute([0, 2, 1, 3]).reshape([2, 3, 4]);
    let largest: Matrix<T> = blocks.max_axis(2);
    (largest * w).sin().sum()
}

fn attention<T: BaseTensor>(q: &Matrix<T>, k: &Matrix<T>, v: &Matrix<T>) -> Scalar<T> {
    let weights = (q.matmul(&k.t()) * 0.7).softmax(1);
    weights.matmul(v).square().sum()
}

/// No position sees a later one.
fn masked_attention<T: BaseTensor>(q: &Matrix<T>, k: &Matrix<T>, v: &Matrix<T>) -> Scalar<T> {
    let scores = q.matmul(&k.t());
    let positions = Tensor::<T, 1, i64>::iota(3);
    let seen = positions.insert_axis::<2>(1).ge(positions.insert_axis::<2>(0));
    seen.select(scores, f64::NEG_INFINITY).softmax(1).matmul(v).square().sum()
}

fn layer_norm<T: BaseTensor>(x: &Matrix<T>, gain: &Vector<T>, shift: &Vector<T>) -> Scalar<T> {
    let centered = x - x.mean_axis::<1>(1).insert_axis(1);
    let scale = (x.var_axis::<1>(1) + 1e-3).sqrt().insert_axis(1);
    (centered / scale * gain.insert_axis(0) + shift.insert_axis(0)).tanh().sum()
}

/// Rows of a table added up by bag; words and bags outside of both are ignored.
fn embedding_bag<T: BaseTensor>(
    table: &Matrix<T>,
    w: &Vector<T>,
    words: &Tensor<T, 1, i64>,
    bags: &Tensor<T, 1, i64>,
) -> Scalar<T> {
    let rows = table.take(words);
    let sums: Matrix<T> = Tensor::zeros([2, 3]).scatter_add([bags], &rows);
    sums.tanh().matvec(w).square().sum()
}

/// A loop over examples that all use one captured weight.
fn per_example<T: BaseTensor>(w: &Vector<T>, x: &Matrix<T>) -> Scalar<T> {
    let losses: Vector<T> = map(x, |x| (x.dot(w) - 0.3).square() * w.norm());
    losses.sum()
}

/// One element of the convolution of an array with itself: its inner product with its reverse.
fn self_convolution<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let n = x.len() as i64;
    build1(x.len(), |i| x.at([i]) * x.at([n - 1 - i])).sum()
}
