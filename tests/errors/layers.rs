//! Mistakes in what layers of neural networks are given.

use polygrad::array::Rng;
use polygrad::nn::{
    Attention, AttentionMask, BatchNorm, BatchStatistics, Conv2d, Gru, Init, LayerNorm, Linear, Lstm, RecurrentCell,
    RmsNorm, Rnn, accuracy, attention, binary_cross_entropy, dropout, dropout_mask, huber, smoothed_cross_entropy,
};
use polygrad::random::Key;
use polygrad::{BaseTensor, Concrete, Conv, Tensor};

use crate::log::Log;

/// What layers refuse at any interpreter; `x` has shape `[2, 3]`.
pub(crate) fn layers<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    let layer = |shape| Linear::<T> { weight: Tensor::zeros(shape), bias: None };
    log.panics(|| layer([2, 4]).apply(x));
    log.panics(|| Linear { bias: Some(Tensor::zeros([3])), ..layer([3, 4]) }.apply(x));
    let image = Tensor::<T, 4>::zeros([1, 2, 3, 3]);
    let kernel = Tensor::zeros([1, 3, 2, 2]);
    log.panics(|| Conv2d { kernel: kernel.clone(), bias: None, how: Conv::default() }.apply(&image));

    log.panics(|| LayerNorm::new(2).apply(x));
    log.panics(|| RmsNorm::new(2).apply(x));
    log.panics(|| BatchNorm::new(3).apply(x, &BatchStatistics::new(2)));
    log.panics(|| BatchNorm::new(3).train(&x.slice(0, ..1), &BatchStatistics::new(3)));

    let [q, k] = [[1, 2, 3, 4], [1, 2, 2, 4]].map(Tensor::<T, 4>::zeros);
    let all = &AttentionMask::All;
    log.panics(|| attention(&q, &q, &k, all));
    log.panics(|| attention(&q, &k, &k, &AttentionMask::Causal));
    log.panics(|| attention(&q, &k, &k, &AttentionMask::of(&x.gt(0.0))));
    let weight = || Tensor::<T, 3>::zeros([4, 2, 2]);
    let heads = Attention { query: weight(), key: weight(), value: weight(), out: weight() };
    log.panics(|| heads.apply(&x.insert_axis(0), all));

    let square = Tensor::<T, 2>::zeros([4, 4]);
    let rnn = Rnn { input: layer([3, 4]), state: square.clone() };
    log.panics(|| rnn.step(&rnn.start(2), &x.t()));
    log.panics(|| rnn.step(&rnn.start(3), x));
    log.panics(|| rnn.run(rnn.start(3), &x.insert_axis(0)));
    log.panics(|| rnn.run(rnn.start(2), &x.t().insert_axis(0)));
    let input = Linear { bias: Some(Tensor::zeros([3])), ..layer([3, 4]) };
    let biased = Rnn { input, state: square.clone() };
    log.panics(|| biased.run(biased.start(2), &x.insert_axis(0)));
    let lstm = Lstm { input: layer([3, 4]), state: square.clone() };
    log.panics(|| lstm.step(&lstm.start(2), x));
    let wide = Tensor::zeros([4, 12]);
    let gru = Gru { input: layer([3, 12]), state: wide, reset: Tensor::<T, 1>::zeros([3]) };
    log.panics(|| gru.step(&gru.start(2), x));

    let mask = &x.gt(0.0);
    log.panics(|| dropout(&x.t(), mask, 0.5));
    log.panics(|| dropout(x, mask, 0.0));
    log.panics(|| smoothed_cross_entropy(x, 1, &Tensor::iota(2), 1.5));
    log.panics(|| smoothed_cross_entropy(x, 1, &Tensor::iota(3), 0.1));
    log.panics(|| binary_cross_entropy(x, x.t()));
    log.panics(|| huber(x, x.t(), 1.0));
    log.panics(|| huber(x, 0.0, 0.0));
    log.panics(|| accuracy(x, 1, &Tensor::iota(3)));
    let key = Key::<T>::new(1);
    log.panics(|| key.normal([1 << 40, 1 << 40]));
    log.panics(|| key.uniform_between(x, &x.t()));
    log.panics(|| key.truncated_normal(x, &x.t()));
    log.panics(|| key.beta(x, &x.t()));
    log.panics(|| key.integers([3], 2, 2));
    log.panics(|| key.integers([3], 0, (1 << 32) + 1));
    log.panics(|| key.choice(3, 4));
    log.panics(|| key.categorical::<f64, 2, 1>(&Tensor::zeros([2, 0])));
}

/// What cannot be drawn.
pub(crate) fn drawn(log: &mut Log) {
    let rng = &mut Rng::new(1);
    log.panics(|| Linear::<Concrete>::new([2, 3], Init::Normal(-1.0), rng));
    log.panics(|| Attention::<Concrete>::new(6, 4, rng));
    log.panics(|| dropout_mask([2], f64::NAN, rng));
}
