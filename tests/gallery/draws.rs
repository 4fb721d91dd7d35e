//! Random draws: keys as data, reparametrised draws, draws without derivative.

use polygrad::random::Key;
use polygrad::{Array, BaseTensor, Tensor, fold, map};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Word<T> = Tensor<T, 0, i64>;

objectives! {
    dropped_and_noisy(x = real([3, 4], 1); key = Array::from(7i64));
    between_bounds(lo = real([5], 2), width = real([5], 3); key = Array::from(-3i64));
    of_exponential_families(x = real([6], 4); key = Array::from(11i64)) { const TOLERANCE: f64 = 1e-10; };
    of_gammas(x = real([4], 5); key = Array::from(1i64 << 40)) { const TOLERANCE: f64 = 1e-9; };
    of_betas(x = real([3], 6), y = real([3], 7); key = Array::from(5i64)) { const TOLERANCE: f64 = 1e-9; };
    likelihood_of_samples(x = real([4, 3], 8); key = Array::from(9i64));
    noise_of_each_trip(x = real([3], 9); key = Array::from(2i64));
    keys_of_each_row(x = real([4, 3], 10); key = Array::from(8i64));
    rows_in_another_order(x = real([5, 2], 11); key = Array::from(6i64));
    integers_of_bits(x = real([8], 12); key = Array::from(4i64));
    drawn_in_f32(x = real([6], 13).cast::<f32>(); key = Array::from(3i64)) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-4;
    };
}

fn key<T: BaseTensor>(word: &Word<T>) -> Key<T> {
    Key::from_tensor(word.clone())
}

fn dropped_and_noisy<T: BaseTensor>(x: &Matrix<T>, word: &Word<T>) -> Scalar<T> {
    let [mask, noise] = key(word).split();
    let kept = mask.bernoulli(&Tensor::full(x.shape(), 0.75)).select(x / 0.75, 0.0);
    (kept + noise.normal(x.shape()) * 0.1).sin().sum()
}

fn between_bounds<T: BaseTensor>(lo: &Vector<T>, width: &Vector<T>, word: &Word<T>) -> Scalar<T> {
    let [a, b] = key(word).split();
    let hi = lo + width.square() + 0.5;
    (a.uniform_between(lo, &hi).square() + b.truncated_normal(lo, &hi).exp()).sum()
}

fn of_exponential_families<T: BaseTensor>(x: &Vector<T>, word: &Word<T>) -> Scalar<T> {
    let [a, b] = key(word).split();
    let waits = a.exponential(x.shape()) * x.exp();
    // A relaxed sample of a category.
    let relaxed = ((x + b.gumbel(x.shape())) / 0.7).softmax(0);
    (waits.log1p() * relaxed).sum()
}

fn of_gammas<T: BaseTensor>(x: &Vector<T>, word: &Word<T>) -> Scalar<T> {
    let [a, b] = key(word).split();
    (a.gamma(&x.exp()).sqrt() + b.gamma(&(x.square() + 20.0)).ln()).sum()
}

fn of_betas<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>, word: &Word<T>) -> Scalar<T> {
    key(word).beta(&x.exp(), &(y.exp() + 1.0)).sin().sum()
}

fn likelihood_of_samples<T: BaseTensor>(x: &Matrix<T>, word: &Word<T>) -> Scalar<T> {
    let sampled: Tensor<T, 1, i64> = key(word).categorical(x);
    let log = x.log_softmax(1);
    log.take_along(1, &sampled.insert_axis(1)).sum()
}

/// A stochastic differential equation, by the method of Euler and Maruyama.
fn noise_of_each_trip<T: BaseTensor>(x: &Vector<T>, word: &Word<T>) -> Scalar<T> {
    let key = key(word);
    let steps = Tensor::<T, 1, i64>::iota(5);
    let end = fold(x, &steps, |x: Vector<T>, step: &Tensor<T, 0, i64>| {
        let noise = key.fold_in(step).normal(x.shape());
        &x - x.sin() * 0.1 + noise * (x.square() + 1.0).sqrt() * 0.3
    });
    end.square().sum()
}

fn keys_of_each_row<T: BaseTensor>(x: &Matrix<T>, word: &Word<T>) -> Scalar<T> {
    let keys = key(word).keys(4);
    let rows: Vector<T> = map((x, &keys), |(x, word): &(Vector<T>, Word<T>)| {
        let noise = Key::from_tensor(word.clone()).normal(x.shape());
        (x * noise).sum().tanh()
    });
    rows.sum()
}

fn rows_in_another_order<T: BaseTensor>(x: &Matrix<T>, word: &Word<T>) -> Scalar<T> {
    let [a, b] = key(word).split();
    let some: Matrix<T> = x.take::<1>(&b.choice(5, 3));
    let changes = a.shuffle::<_, 2, 1>(x).diff(0).square().sum();
    changes + some.sin().sum()
}

fn integers_of_bits<T: BaseTensor>(x: &Vector<T>, word: &Word<T>) -> Scalar<T> {
    let [a, b] = key(word).split();
    let dice = a.integers(x.shape(), -2, 5).to_float::<f64>();
    let bits = b.bits(x.shape());
    let mixed = bits.shr(60).bit_xor(3).bit_or(bits.bit_not().bit_and(4)) + bits.shr_signed(62) + bits.shl(61).shr(61);
    (x * dice + x.square() * mixed.to_float()).sum()
}

fn drawn_in_f32<T: BaseTensor>(x: &Tensor<T, 1, f32>, word: &Word<T>) -> Scalar<T> {
    let [a, b] = key(word).split();
    let noise = a.normal_as::<f32, 1>(x.shape()) + b.uniform_as::<f32, 1>(x.shape());
    (noise * x).square().sum().cast()
}
