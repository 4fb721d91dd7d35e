//! Layers of neural networks: equal to their definitions as loops over numbers, with right gradients, of a batch what they
//! are of its rows, and recorded what they are directly.

use polygrad::array::Rng;
use polygrad::nn::{
    Attention, AttentionMask, BatchNorm, BatchStatistics, Conv1d, Conv2d, Embedding, Gru, Init, LayerNorm, Linear,
    Lstm, RecurrentCell, RmsNorm, Rnn, accuracy, attention, binary_cross_entropy, dropout, dropout_mask, huber,
    smoothed_cross_entropy,
};
use polygrad::{
    BaseTensor, Concrete, Conv, Float, Function, GradientCheck, Tensor, Tree, assert_gradient, grad, map, tensor,
    value_and_grad, vmap,
};

use crate::support::{assert_close, assert_near};

type Vector = Tensor<Concrete, 1>;

fn drawn<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<Concrete, D> {
    Rng::new(seed).normal(shape, 0.0, 1.0)
}

#[track_caller]
fn close<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>) {
    assert_close("values", a.array(), b.array(), 1e-13);
}

/// An element by its position.
fn at<const D: usize>(x: &Tensor<Concrete, D>, ix: [usize; D]) -> f64 {
    let flat = x.shape().iter().zip(ix).fold(0, |flat, (n, i)| flat * n + i);
    x.elements()[flat]
}

fn sum(n: usize, f: impl Fn(usize) -> f64) -> f64 {
    (0..n).map(f).sum()
}

/// Layers with biases that are not 0.
fn linear(sizes: [usize; 2], seed: u64) -> Linear<Concrete> {
    Linear { weight: drawn(sizes, seed), bias: Some(drawn([sizes[1]], seed + 100)) }
}

#[test]
fn affine_maps_and_tables_are_their_definitions() {
    let (layer, x) = (linear([3, 4], 1), drawn([2, 5, 3], 2));
    let bias = layer.bias.as_ref().expect("a bias");
    let by_loops = Tensor::from_fn([2, 5, 4], |[b, l, o]| {
        at(bias, [o]) + sum(3, |i| at(&x, [b, l, i]) * at(&layer.weight, [i, o]))
    });
    close(&layer.apply(&x), &by_loops);
    close(&layer.apply(&x.row::<2>(1)), &by_loops.row(1));
    close(&layer.apply(&x.row::<2>(1).row::<1>(2)), &by_loops.row::<2>(1).row(2));
    close(&(layer.clone().without_bias().apply(&x) + bias.up_to(&by_loops)), &by_loops);
    // No examples, and no inputs.
    assert_eq!(layer.apply(&Tensor::<Concrete, 2>::zeros([0, 3])).shape(), [0, 4]);
    let none = Linear { weight: Tensor::zeros([0, 4]), bias: layer.bias.clone() };
    close(&none.apply(&Tensor::zeros([2, 0])), &bias.replicate(2));

    let table = Embedding { table: drawn([3, 2], 3) };
    let rows = table.apply(&tensor([[2, 0], [3, -1]]));
    let read = |k: i64, j: usize| if (0..3).contains(&k) { at(&table.table, [k as usize, j]) } else { 0.0 };
    close(&rows, &Tensor::from_fn([2, 2, 2], |[a, b, j]| read([[2, 0], [3, -1]][a][b], j)));
}

#[test]
fn convolutions_are_their_definitions() {
    let how = Conv::<2>::default().stride([2, 1]).padding([1, 2]);
    let layer = Conv2d { kernel: drawn([3, 2, 2, 3], 4), bias: Some(drawn([3], 5)), how };
    let x = drawn([2, 2, 5, 4], 6);
    let bias = layer.bias.as_ref().expect("a bias");
    let padded = |n, c, i: isize, j: isize| {
        let inside = (0..5).contains(&i) && (0..4).contains(&j);
        if inside { at(&x, [n, c, i as usize, j as usize]) } else { 0.0 }
    };
    let by_loops = Tensor::from_fn([2, 3, 3, 6], |[n, o, u, v]| {
        let places = (0..2).flat_map(|c| (0..2).flat_map(move |k| (0..3).map(move |l| (c, k, l))));
        let product = |(c, k, l): (usize, usize, usize)| {
            padded(n, c, (2 * u + k) as isize - 1, (v + l) as isize - 2) * at(&layer.kernel, [o, c, k, l])
        };
        at(bias, [o]) + places.map(product).sum::<f64>()
    });
    close(&layer.apply(&x), &by_loops);
    // A signal is an image of one row.
    let signal = Conv1d { kernel: drawn([3, 2, 3], 7), bias: Some(bias.clone()), how: Conv::default().stride([2]) };
    let image =
        Conv2d { kernel: signal.kernel.insert_axis(2), bias: Some(bias.clone()), how: Conv::default().stride([1, 2]) };
    let x = drawn([2, 2, 8], 8);
    close(&signal.apply(&x).insert_axis(2), &image.apply(&x.insert_axis(2)));
}

#[test]
fn normalisations_are_their_definitions() {
    let x = drawn([4, 3], 9);
    let norm = LayerNorm { gain: drawn([3], 10), shift: drawn([3], 11), epsilon: 1e-3 };
    let mean = |i: usize| sum(3, |j| at(&x, [i, j])) / 3.0;
    let variance = |i: usize| sum(3, |j| (at(&x, [i, j]) - mean(i)).powi(2)) / 3.0;
    let by_loops = Tensor::from_fn([4, 3], |[i, j]| {
        at(&norm.gain, [j]) * (at(&x, [i, j]) - mean(i)) / (variance(i) + 1e-3).sqrt() + at(&norm.shift, [j])
    });
    close(&norm.apply(&x), &by_loops);
    close(&norm.apply(&x.row::<1>(2)), &by_loops.row(2));

    let rms = RmsNorm { gain: norm.gain.clone(), epsilon: 1e-3 };
    let by_loops = Tensor::from_fn([4, 3], |[i, j]| {
        at(&rms.gain, [j]) * at(&x, [i, j]) / (sum(3, |k| at(&x, [i, k]).powi(2)) / 3.0 + 1e-3).sqrt()
    });
    close(&rms.apply(&x), &by_loops);
    // Lines of zeros, and of equal numbers, are no division by 0.
    assert_eq!(RmsNorm::<_, f64>::new(3).apply(&Tensor::<Concrete, 2>::zeros([2, 3])), Tensor::zeros([2, 3]));
    close(&LayerNorm::new(3).apply(&Tensor::<Concrete, 2>::full([2, 3], 7.0)), &Tensor::zeros([2, 3]));
}

#[test]
fn batches_are_normalised_by_channel() {
    let x = drawn([4, 2, 3], 12);
    let norm = BatchNorm { gain: drawn([2], 13), shift: drawn([2], 14), momentum: 0.75, epsilon: 1e-3 };
    let before = BatchStatistics { mean: drawn([2], 15), variance: drawn([2], 16).square() };
    let over = |c: usize, f: &dyn Fn(f64) -> f64| sum(12, |k| f(at(&x, [k / 3, c, k % 3])));
    let mean = |c: usize| over(c, &|x| x) / 12.0;
    let squares = |c: usize| over(c, &|x| (x - mean(c)).powi(2));
    let by = |mean: &dyn Fn(usize) -> f64, variance: &dyn Fn(usize) -> f64| {
        Tensor::from_fn([4, 2, 3], |[n, c, w]| {
            at(&norm.gain, [c]) * (at(&x, [n, c, w]) - mean(c)) / (variance(c) + 1e-3).sqrt() + at(&norm.shift, [c])
        })
    };
    let (y, after) = norm.train(&x, &before);
    close(&y, &by(&mean, &|c| squares(c) / 12.0));
    close(&after.mean, &Tensor::from_fn([2], |[c]| 0.75 * at(&before.mean, [c]) + 0.25 * mean(c)));
    let variance = |[c]: [usize; 1]| 0.75 * at(&before.variance, [c]) + 0.25 * squares(c) / 11.0;
    close(&after.variance, &Tensor::from_fn([2], variance));
    let known = by(&|c| at(&after.mean, [c]), &|c| at(&after.variance, [c]));
    close(&norm.apply(&x, &after), &known);
    // Of each example alone.
    close(&map(&x, |x: &Tensor<_, 2>| norm.apply::<3>(&x.insert_axis(0), &after).row(0)), &known);
}

/// The value and the averages of one recorded step share their operations.
#[test]
fn averages_cost_nothing_more() {
    let (norm, x, before) = (BatchNorm::new(2), drawn([8, 2], 17), BatchStatistics::new(2));
    let data = (x, before);
    let loss = Function::stage_with(
        |norm, (x, before)| {
            value_and_grad(|norm: &BatchNorm<_>| norm.train(&x.lift(), &before.lift()).0.sin().sum(), norm)
        },
        &norm,
        &data,
    );
    let both = Function::stage_with(
        |norm, (x, before)| {
            let value = value_and_grad(|norm: &BatchNorm<_>| norm.train(&x.lift(), &before.lift()).0.sin().sum(), norm);
            (value, norm.train(x, before).1)
        },
        &norm,
        &data,
    );
    let count = |text: String, word: &str| text.matches(word).count();
    for word in ["recip", "sqrt", "sum"] {
        let [alone, together] = [loss.optimized(), both.optimized()].map(|program| count(program.to_string(), word));
        assert_eq!(alone, together, "{word} in\n{}", both.optimized());
    }
    let ((value, _), after) = both.run_with(&norm, &data).expect("a run");
    close(&after.mean, &norm.train(&data.0, &data.1).1.mean);
    assert_near("the loss", value.item(), norm.train(&data.0, &data.1).0.sin().sum().item(), 1e-13);
}

/// Attention by loops, of each query that sees a key where `seen` says so.
fn by_loops(
    [q, k, v]: [&Tensor<Concrete, 4>; 3],
    seen: impl Fn(usize, usize, usize, usize) -> bool,
) -> Tensor<Concrete, 4> {
    let ([b, h, l, d], [.., m, _], [.., e]) = (q.shape(), k.shape(), v.shape());
    Tensor::from_fn([b, h, l, e], |[b, h, i, c]| {
        let score = |j: usize| sum(d, |p| at(q, [b, h, i, p]) * at(k, [b, h, j, p])) / (d as f64).sqrt();
        let weight = |j: usize| if seen(b, h, i, j) { score(j).exp() } else { 0.0 };
        sum(m, |j| weight(j) * at(v, [b, h, j, c])) / sum(m, weight)
    })
}

#[test]
fn attention_is_its_definition() {
    let (q, k, v) = (drawn([2, 2, 3, 4], 18), drawn([2, 2, 5, 4], 19), drawn([2, 2, 5, 3], 20));
    let all = [&q, &k, &v];
    close(&attention(&q, &k, &v, &AttentionMask::All), &by_loops(all, |_, _, _, _| true));
    // The three queries are at the last of five places.
    close(&attention(&q, &k, &v, &AttentionMask::Causal), &by_loops(all, |_, _, i, j| j <= i + 2));
    let mask = Tensor::from_fn([2, 1, 1, 5], |[b, _, _, j]| j < 3 + b);
    close(&attention(&q, &k, &v, &AttentionMask::Where(mask)), &by_loops(all, |b, _, _, j| j < 3 + b));
    let mask = Tensor::from_fn([3, 5], |[i, j]| (i + j) % 2 == 0);
    close(&attention(&q, &k, &v, &AttentionMask::of(&mask)), &by_loops(all, |_, _, i, j| (i + j) % 2 == 0));
    // What is not seen may be anything that is finite; what sees nothing has no value.
    let other = k.set_slice(2, 4, &Tensor::full([2, 2, 1, 4], 1e300));
    let mask = AttentionMask::of(&tensor([true, true, true, true, false]));
    assert_eq!(attention(&q, &other, &v, &mask), attention(&q, &k, &v, &mask));
    let nothing = attention(&q, &k, &v, &AttentionMask::of(&Tensor::full([1], false)));
    assert!(nothing.to_vec().iter().all(|y| y.is_nan()));

    let layer: Attention<_> = Attention::new(4, 2, &mut Rng::new(21));
    let (x, y) = (drawn([2, 3, 4], 22), drawn([2, 5, 4], 23));
    let heads = |x: &Tensor<Concrete, 3>, w: &Tensor<Concrete, 3>| {
        Tensor::from_fn([2, 2, x.dim::<1>(), 2], |[b, h, l, s]| sum(4, |c| at(x, [b, l, c]) * at(w, [c, h, s])))
    };
    let [q, k, v] = [heads(&x, &layer.query), heads(&y, &layer.key), heads(&y, &layer.value)];
    let z = by_loops([&q, &k, &v], |_, _, i, j| j <= i + 2);
    let out = Tensor::from_fn([2, 3, 4], |[b, l, c]| {
        sum(4, |hs| at(&z, [b, hs / 2, l, hs % 2]) * at(&layer.out, [hs / 2, hs % 2, c]))
    });
    close(&layer.apply_across(&x, &y, &AttentionMask::Causal), &out);
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Runs a cell, and a rule for the numbers of one sequence: `next(h, c, of_input, of_state)` by columns of the gates.
fn compare<C: RecurrentCell<Concrete>>(
    cell: &C,
    (input, state): (&Linear<Concrete>, &Tensor<Concrete, 2>),
    next: impl Fn(&[f64], &[f64], &[f64], &[f64]) -> (Vec<f64>, Vec<f64>),
) where
    C::State: Clone,
{
    let x = drawn([4, 2, 3], 24);
    let (last, outputs) = cell.run(cell.start(2), &x);
    close(&outputs.row(3), &cell.output(&last));
    for b in 0..2 {
        let hidden = state.len();
        let (mut h, mut c) = (vec![0.0; hidden], vec![0.0; hidden]);
        for t in 0..4 {
            let columns = state.dim::<1>();
            let bias = input.bias.as_ref().expect("a bias");
            let of_input = |j: usize| at(bias, [j]) + sum(3, |i| at(&x, [t, b, i]) * at(&input.weight, [i, j]));
            let of_input: Vec<f64> = (0..columns).map(of_input).collect();
            let of_state: Vec<f64> = (0..columns).map(|j| sum(hidden, |i| h[i] * at(state, [i, j]))).collect();
            (h, c) = next(&h, &c, &of_input, &of_state);
            close(&outputs.row::<2>(t).row(b), &Vector::new([hidden], h.clone()));
        }
    }
    // Half of the times, and the rest from there on.
    let (middle, _) = cell.run(cell.start(2), &x.slice(0, ..2));
    let (again, rest) = cell.run(middle, &x.slice(0, 2..));
    close(&rest, &outputs.slice(0, 2..));
    close(&cell.output(&again), &cell.output(&last));
}

#[test]
fn cells_are_their_definitions() {
    let cell = Rnn { input: linear([3, 2], 25), state: drawn([2, 2], 26) };
    compare(&cell, (&cell.input, &cell.state), |_, c, x, u| {
        (x.iter().zip(u).map(|(x, u)| (x + u).tanh()).collect(), c.to_vec())
    });
    let cell = Gru { input: linear([3, 6], 27), state: drawn([2, 6], 28), reset: drawn([2], 29) };
    compare(&cell, (&cell.input, &cell.state), |h, c, x, u| {
        let next = |k: usize| {
            let (r, z) = (sigmoid(x[k] + u[k]), sigmoid(x[2 + k] + u[2 + k]));
            let n = (x[4 + k] + r * (u[4 + k] + at(&cell.reset, [k]))).tanh();
            (1.0 - z) * n + z * h[k]
        };
        ((0..2).map(next).collect(), c.to_vec())
    });
    let cell = Lstm { input: linear([3, 8], 30), state: drawn([2, 8], 31) };
    compare(&cell, (&cell.input, &cell.state), |_, c, x, u| {
        let gate = |block: usize, k: usize| x[2 * block + k] + u[2 * block + k];
        let next = |k: usize| sigmoid(gate(1, k)) * c[k] + sigmoid(gate(0, k)) * gate(2, k).tanh();
        let memory: Vec<f64> = (0..2).map(next).collect();
        ((0..2).map(|k| sigmoid(gate(3, k)) * memory[k].tanh()).collect(), memory)
    });
    // Drawn: orthogonal in the state, and nothing is forgotten.
    let cell: Lstm<Concrete> = Lstm::new(3, 4, &mut Rng::new(32));
    for k in 0..4 {
        let u = cell.state.slice(1, 4 * k..4 * k + 4);
        close(&u.t().matmul(&u), &Tensor::eye(4));
    }
    assert_eq!(cell.input.bias.expect("a bias").to_vec()[3..9], [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn losses_are_their_definitions() {
    let (x, labels) = (drawn([3, 4], 33), tensor([2, 0, 4]));
    for smoothing in [0.0, 0.2, 1.0] {
        let loss = smoothed_cross_entropy(&x, 1, &labels, smoothing);
        let by_loops = |[i]: [usize; 1]| {
            let total = sum(4, |k| at(&x, [i, k]).exp()).ln();
            let label = [2, 0][i];
            total - (1.0 - smoothing) * at(&x, [i, label]) - smoothing * sum(4, |k| at(&x, [i, k])) / 4.0
        };
        close(&loss.slice(0, ..2), &Tensor::from_fn([2], by_loops));
        assert_eq!(loss.row::<0>(2).item(), 0.0);
        close(&smoothed_cross_entropy(&x.t(), 0, &labels, smoothing), &loss);
    }
    assert_eq!(smoothed_cross_entropy(&x, 1, &labels, 0.0), x.cross_entropy(1, &labels));
    let huge = smoothed_cross_entropy(&tensor([[1e300, 0.0]]), 1, &tensor([0]), 0.5);
    assert_near("no overflow", huge.row::<0>(0).item(), 0.25e300, 1e-12);

    let logits = tensor([0.3, -2.0, 40.0, -1000.0]);
    let p = tensor([0.25, 1.0, 0.0, 1.0]);
    let expected = |x: f64, p: f64| -p * sigmoid(x).ln() - (1.0 - p) * sigmoid(-x).ln();
    let loss = binary_cross_entropy(&logits, &p).to_vec();
    assert_near("logit 0.3", loss[0], expected(0.3, 0.25), 1e-15);
    assert_near("logit -2", loss[1], expected(-2.0, 1.0), 1e-15);
    assert_eq!(loss[2..], [40.0, 1000.0]);
    assert_eq!(binary_cross_entropy(&tensor([40.0]), 1.0).to_vec(), [(-40f64).exp()]);

    assert_eq!(huber(&tensor([1.0, 5.0, -2.0]), tensor([0.5, 0.0, 2.0]), 2.0).to_vec(), [0.125, 8.0, 6.0]);
    assert_eq!(
        grad(|x| huber(x, 0.0, 2.0).sum(), &tensor([0.5, -1.5, 7.0, -1e200, 0.0])).to_vec(),
        [0.5, -1.5, 2.0, -2.0, 0.0]
    );
    assert!(huber(&tensor([f64::NAN]), 0.0, 1.0).to_vec()[0].is_nan());
    assert_eq!(accuracy(&tensor([[0.0, 1.0], [2.0, 1.0]]).t(), 0, &tensor([1, 1])).item(), 0.5);
}

#[test]
fn weights_have_the_variances_of_the_papers() {
    let variance = |init: Init| {
        let drawn = init.draw::<2, 1, f64>([300, 200], [300, 200], &mut Rng::new(34));
        let limit = drawn.abs().max_all().item();
        (drawn.square().mean().item(), limit)
    };
    let cases = [
        (Init::GlorotUniform, 2.0 / 500.0, true),
        (Init::GlorotNormal, 2.0 / 500.0, false),
        (Init::HeUniform, 2.0 / 300.0, true),
        (Init::HeNormal, 2.0 / 300.0, false),
        (Init::LecunNormal, 1.0 / 300.0, false),
        (Init::Normal(0.5), 0.25, false),
        (Init::Uniform(0.3), 0.03, true),
        (Init::Orthogonal, 1.0 / 300.0, false),
    ];
    for (init, expected, is_uniform) in cases {
        let (seen, limit) = variance(init);
        assert!((seen / expected - 1.0).abs() < 0.03, "{init:?}: {seen} for {expected}");
        assert_eq!(limit <= (3.0 * expected).sqrt(), is_uniform, "{init:?}: {limit}");
    }
    // Fans of a kernel are those of its windows.
    let layer: Conv2d<_> = Conv2d::new([50, 40], [3, 3], Conv::default(), Init::HeNormal, &mut Rng::new(35));
    let seen = layer.kernel.square().mean().item();
    assert!((seen * 450.0 / 2.0 - 1.0).abs() < 0.03, "{seen}");
    // Wide, tall and of a kernel; in both precisions.
    for shape in [[2, 5], [5, 2]] {
        let q = Init::Orthogonal.draw::<2, 1, f32>(shape, shape, &mut Rng::new(36));
        let gram = if shape[0] < shape[1] { q.matmul(&q.t()) } else { q.t().matmul(&q) };
        assert!((gram - Tensor::eye(2)).abs().max_all().item() < 1e-6);
    }
    let q = Init::Orthogonal.draw::<3, 2, f64>([3, 2, 4], [8, 12], &mut Rng::new(37)).reshape([3, 8]);
    close(&q.matmul(&q.t()), &Tensor::eye(3));
}

#[test]
fn dropout_is_a_function_of_its_mask() {
    let (x, mask) = (drawn([3, 4], 38), dropout_mask([3, 4], 0.5, &mut Rng::new(39)));
    let slope = grad(|x| dropout(x, &mask.lift(), 0.5).sum(), &x);
    assert_eq!(slope, mask.select(2.0, 0.0));
    assert_eq!(dropout_mask([3, 4], 0.5, &mut Rng::new(39)), mask);
    assert!(dropout_mask([9], 1.0, &mut Rng::new(40)).all().item());
    // A recorded program takes the mask as data.
    let f = Function::stage_with(|x, mask| dropout(x, mask, 0.5), &x, &mask);
    for seed in 0..3 {
        let mask = dropout_mask([3, 4], 0.5, &mut Rng::new(seed));
        assert_eq!(f.run_with(&x, &mask).expect("a run"), dropout(&x, &mask, 0.5));
    }
    // What is dropped may be anything.
    assert_eq!(dropout(&tensor([f64::NAN, 1.0]), &tensor([false, true]), 0.25).to_vec(), [0.0, 4.0]);
}

/// One of each layer.
#[derive(Tree, Clone, Debug)]
struct Everything<T: BaseTensor, E: Float> {
    letters: Embedding<T, E>,
    signal: Conv1d<T, E>,
    batch: BatchNorm<T, E>,
    cells: (Rnn<T, E>, Gru<T, E>, Lstm<T, E>),
    before: LayerNorm<T, E>,
    attention: Attention<T, E>,
    after: RmsNorm<T, E>,
    image: Conv2d<T, E>,
    scores: Linear<T, E>,
}

fn everything<E: Float>() -> Everything<Concrete, E> {
    let rng = &mut Rng::new(41);
    Everything {
        letters: Embedding::new([5, 4], Init::Normal(1.0), rng),
        signal: Conv1d::new([3, 3], [3], Conv::default().padding([1]), Init::GlorotUniform, rng),
        batch: BatchNorm::new(3),
        cells: (Rnn::new(4, 4, rng), Gru::new(4, 4, rng), Lstm::new(4, 4, rng)),
        before: LayerNorm::new(4),
        attention: Attention::new(4, 2, rng),
        after: RmsNorm::new(4),
        image: Conv2d::new([1, 2], [2, 2], Conv::default().stride([1, 2]), Init::HeNormal, rng),
        scores: Linear::new([8, 3], Init::LecunNormal, rng),
    }
}

/// Two texts of three letters, a mask of dropout, and labels.
type Data<T> = (Tensor<T, 2, i64>, Tensor<T, 3, bool>, Tensor<T, 1, i64>);

fn data() -> Data<Concrete> {
    let mask = dropout_mask([2, 3, 4], 0.8, &mut Rng::new(42));
    (tensor([[0, 4, 2], [1, 1, 3]]), mask, tensor([2, 0]))
}

/// Through all of them.
fn loss<T: BaseTensor, E: Float>(net: &Everything<T, E>, (text, mask, labels): &Data<T>) -> Tensor<T, 0, E> {
    let x = dropout(&net.signal.apply(&net.letters.apply(text)), mask, 0.8);
    let (x, seen) = net.batch.train(&x, &BatchStatistics::new(3));
    let x = &x + net.batch.apply(&x, &seen).tanh();
    let x: Tensor<T, 3, E> = x.permute([1, 0, 2]);
    let (rnn, gru, lstm) = &net.cells;
    let (_, x) = rnn.run(rnn.start(2), &x);
    let (_, x) = gru.run(gru.start(2), &x);
    let (_, x) = lstm.run(lstm.start(2), &x);
    let x: Tensor<T, 3, E> = x.permute([1, 0, 2]);
    let x = &x + net.attention.apply(&net.before.apply(&x), &AttentionMask::Causal);
    let x = net.image.apply(&net.after.apply(&x).insert_axis(1));
    let scores = net.scores.apply(&x.reshape([2, 8]));
    smoothed_cross_entropy(&scores, 1, labels, 0.1).mean()
        + huber(&scores, E::ONE, 0.5).mean()
        + binary_cross_entropy(&scores, E::ZERO).mean()
}

#[test]
fn all_layers_have_their_gradients() {
    // Random directions see all entries; finite differences of each would take long.
    let check = GradientCheck { entries: 20, ..GradientCheck::default() };
    check.run(loss, &everything::<f64>(), &data()).expect("the gradient is the slope");
    // In the inputs, too.
    let layer: Attention<Concrete> = Attention::new(4, 2, &mut Rng::new(43));
    let mask = tensor([[true, false, true], [true, true, false], [false, true, true]]);
    assert_gradient(
        |(layer, x): &(Attention<_>, Tensor<_, 3>)| {
            layer.apply(x, &AttentionMask::of(&Tensor::<_, 2, bool>::constant(mask.array().clone()))).sin().sum()
        },
        &(layer, drawn([2, 3, 4], 44)),
    );
    let norm: BatchNorm<Concrete> = BatchNorm::new(2);
    assert_gradient(
        |(norm, x): &(BatchNorm<_>, Tensor<_, 2>)| {
            let (y, seen) = norm.train(x, &BatchStatistics::new(2));
            y.sin().sum() + seen.variance.sum() + norm.apply(x, &seen).cos().sum()
        },
        &(norm, drawn([5, 2], 45)),
    );
}

#[test]
fn recorded_layers_are_the_layers() {
    fn compare<E: Float>(tolerance: f64) {
        let (net, data) = (everything::<E>(), data());
        let (value, slope) = value_and_grad(|net: &Everything<_, E>| loss(net, &data.lift()), &net);
        assert_near("the value", value.item().as_f64(), loss(&net, &data).item().as_f64(), tolerance);
        let (recorded, gradient) =
            Function::value_and_grad_with(loss, &net, &data).run_with(&net, &data).expect("a run");
        assert_near("recorded", recorded.item().as_f64(), value.item().as_f64(), tolerance);
        assert_close("gradient", gradient.ravel().array(), slope.ravel().array(), tolerance);
    }
    compare::<f64>(1e-12);
    compare::<f32>(1e-4);
    // Named by their fields, as they are saved.
    let names = everything::<f64>().names();
    assert!(
        ["signal.bias", "cells.2.input.weight", "attention.out"].iter().all(|name| names.contains(&(*name).into()))
    );
}

#[test]
fn a_batch_is_its_rows() {
    let net = everything::<f64>();
    let x = drawn([2, 3, 4], 46);
    close(&vmap(|x: &Tensor<_, 2>| net.before.apply(x))(&x), &net.before.apply(&x));
    close(&vmap(|x: &Tensor<_, 2>| net.after.apply(x))(&x), &net.after.apply(&x));
    let alone = |x: &Tensor<_, 2>| net.attention.apply(&x.insert_axis(0), &AttentionMask::Causal).row::<2>(0);
    close(&vmap(alone)(&x), &net.attention.apply(&x, &AttentionMask::Causal));
    close(&vmap(|x: &Tensor<_, 2>| net.signal.apply(&x.insert_axis(0)).row::<2>(0))(&x), &net.signal.apply(&x));
    let image = |x: &Tensor<_, 3>| net.image.apply(&x.insert_axis(0)).row::<3>(0);
    let images = x.insert_axis(1);
    close(&vmap(image)(&images), &net.image.apply(&images));
    let layer = linear([4, 3], 47);
    close(&vmap(|x: &Tensor<_, 2>| layer.apply(x))(&x), &layer.apply(&x));
    // Sequences, the batch along axis 1.
    let (_, _, lstm) = &net.cells;
    let one = |x: &Tensor<_, 2>| lstm.run(lstm.start(1), &x.insert_axis(1)).1.remove_axis::<2>(1);
    let (_, all) = lstm.run(lstm.start(2), &x.permute([1, 0, 2]));
    close(&vmap(one)(&x), &all.permute([1, 0, 2]));
}
