//! Random draws of keys: the bits of JAX, equal in every reading, with the right distributions and derivatives.
//!
//! Numbers of JAX are those of version 0.10.2 with 64-bit types, on a CPU.

use std::f64::consts::PI;

use polygrad::random::Key;
use polygrad::{
    BaseTensor, Concrete, DType, Float, Function, Tensor, assert_gradient, concat, fold, grad, hessian, jacobian, jvp,
    map, tensor, vmap,
};

use crate::support::assert_close;

type Vector = Tensor<Concrete, 1>;

fn key(seed: i64) -> Key<Concrete> {
    Key::new(seed)
}

fn word(key: Key<Concrete>) -> i64 {
    key.into_tensor().item()
}

#[track_caller]
fn close<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>, tolerance: f64) {
    assert_close("values", a.array(), b.array(), tolerance);
}

#[test]
fn keys_and_bits_are_those_of_jax() {
    let k = key(42);
    let split: [_; 3] = k.split();
    let words = [7871734211187709741, 276886910877598708, -7855648935367878381];
    assert_eq!(split.map(word), words);
    assert_eq!(k.keys(3), tensor(words));
    assert_eq!(word(k.fold_in(7)), -7507406917103292001);
    assert_eq!((word(key(-5)), word(key((1 << 40) + 3))), (-5, 1099511627779));
    let bits = [[2098992034, 2919706841, 2646866425], [2409546199, 1935504149, 2516274904]];
    assert_eq!(k.bits32([2, 3]), tensor(bits));
    let bits = [
        [7871734211187709741, 276886910877598708, -7855648935367878381],
        [-4983961662352807791, -5759067205219197450, -6568189349171407794],
    ];
    assert_eq!(k.bits([2, 3]), tensor(bits));
    assert_eq!(k.permutation(8), tensor([7, 4, 2, 5, 3, 6, 0, 1]));
    assert_eq!(k.permutation(2000).slice(0, ..6), tensor([1474, 815, 539, 874, 1693, 84]));
    assert_eq!(k.choice(2000, 2), tensor([1474, 815]));
    let masks = k.bernoulli(&Tensor::full([8], 0.3)).to_int();
    assert_eq!(masks, tensor([0, 1, 0, 0, 0, 0, 0, 0]));
    let logits = tensor([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 5.0]]);
    assert_eq!(k.categorical(&logits), tensor([2, 0, 0, 2]));
}

#[test]
fn draws_are_those_of_jax() {
    let k = key(42);
    let uniform = [0.4267275666499091, 0.015010069515314584, 0.5741444178995352, 0.7298188969046309];
    assert_eq!(k.uniform([4]), tensor(uniform));
    let single = [0.48870956897735596, 0.6797971725463867, 0.6162714958190918, 0.5610160827636719];
    assert_eq!(k.uniform_as::<f32, 1>([4]).cast(), tensor(single));
    let (lo, hi) = (Tensor::full([4], -1.5), Tensor::full([4], 0.7));
    let between = [-0.5611993533702, -1.466977847066308, -0.23688228062102248, 0.10560157319018804];
    close(&k.uniform_between(&lo, &hi), &tensor(between), 3e-16);
    let normal = [
        -0.18471174528191162,
        -2.169824560397754,
        0.18693555179382582,
        0.6122653570510959,
        0.4896249504757018,
        0.36900430470828355,
    ];
    close(&k.normal([6]), &tensor(normal), 1e-15);
    let single = [-0.02830461598932743, 0.4671318531036377, 0.2957029640674591, 0.15354591608047485];
    close(&k.normal_as::<f32, 1>([4]).cast(), &tensor(single), 1e-7);
    let truncated = [0.2375773078131765, -0.47168742449458445, 0.50287804147634, 0.829454746929316];
    close(&k.truncated_normal(&Tensor::full([4], -0.5), &Tensor::full([4], 2.0)), &tensor(truncated), 1e-14);
    let waits = [0.5563942243855916, 0.015123860720489336, 0.8536549993431988, 1.30866279263241];
    close(&k.exponential([4]), &tensor(waits), 1e-15);
    let gumbel = [0.16062720630382138, -1.4348544993307841, 0.5890136500161952, 1.1553132453508888];
    close(&k.gumbel([4]), &tensor(gumbel), 1e-15);
}

/// Draws of each kind, of a key.
fn all<T: BaseTensor>(key: &Key<T>) -> Tensor<T, 1> {
    let keys: [Key<T>; 8] = key.split();
    let shape = [50];
    let ones = Tensor::<T, 1>::full(shape, 1.0);
    let numbers = [
        keys[0].uniform(shape),
        keys[1].normal(shape),
        keys[2].truncated_normal(&-&ones, &ones),
        keys[3].exponential(shape),
        keys[4].gamma(&(&ones * 0.4)),
        keys[5].beta(&ones, &(&ones * 3.0)),
        keys[6].integers(shape, 0, 1000).to_float(),
        keys[7].permutation(50).to_float(),
    ];
    concat(0, &numbers)
}

#[test]
fn a_key_gives_the_same_numbers_in_every_reading() {
    let k = key(3);
    let here = all(&k);
    let recorded = Function::stage(|k: &Key<_>| all(k), &k);
    close(&recorded.run(&k).expect("it fits"), &here, 1e-13);
    close(&recorded.run(&key(4)).expect("it fits"), &all(&key(4)), 1e-13);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    assert_eq!(threads.install(|| recorded.run(&k)).expect("it fits"), recorded.run(&k).expect("it fits"));
    // In a loop, in a map and in a batch.
    let keys = k.keys(3);
    let rows: Tensor<Concrete, 2> = map(&keys, |w: &Tensor<_, 0, i64>| all(&Key::from_tensor(w.clone())));
    let batch: Tensor<Concrete, 2> = vmap(|w: &Tensor<_, 0, i64>| all(&Key::from_tensor(w.clone())))(&keys);
    for (row, key) in k.split::<3>().iter().enumerate() {
        close(&rows.row(row), &all(key), 1e-13);
        close(&batch.row(row), &all(key), 1e-13);
    }
    let sums = fold(Tensor::<Concrete, 1>::zeros([400]), &keys, |sum, w: &Tensor<_, 0, i64>| {
        sum + all(&Key::from_tensor(w.clone()))
    });
    close(&sums, &k.split::<3>().iter().map(all).reduce(|a, b| a + b).expect("three"), 1e-13);
}

/// The largest distance of the distribution function of numbers from a known one (Kolmogorov and Smirnov), times the
/// root of their number: above 2 with a probability of 0.0007.
fn distance(numbers: &Vector, distribution: impl Fn(f64) -> f64) -> f64 {
    let sorted = numbers.sort(0).to_vec();
    let n = sorted.len() as f64;
    let at = |(k, x): (usize, &f64)| {
        let p = distribution(*x);
        (p - k as f64 / n).abs().max((p - (k as f64 + 1.0) / n).abs())
    };
    sorted.iter().enumerate().map(at).fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn draws_have_their_distributions() {
    let n = 20_000;
    let normal = |x: f64| 0.5 * (tensor(-x / 2.0_f64.sqrt()).erfc().item());
    let [a, b, c, d, e] = key(1).split();
    assert!(distance(&a.uniform([n]), |x| x) < 2.0);
    assert!(distance(&b.normal([n]), normal) < 2.0);
    assert!(distance(&c.exponential([n]), |x| 1.0 - (-x).exp()) < 2.0);
    assert!(distance(&d.gumbel([n]), |x| (-(-x).exp()).exp()) < 2.0);
    let (lo, hi) = (-0.5, 3.0);
    let truncated = e.truncated_normal(&Tensor::full([n], lo), &Tensor::full([n], hi));
    assert!(distance(&truncated, |x| (normal(x) - normal(lo)) / (normal(hi) - normal(lo))) < 2.0);
    // Gamma distributions with integer shapes, and with 1/2: the square of a normal number, halved.
    let [a, b, c, d, e] = key(2).split();
    let erlang = |x: f64| 1.0 - (-x).exp() * (1.0 + x + x * x / 2.0);
    assert!(distance(&a.gamma(&Tensor::full([n], 3.0)), erlang) < 2.0);
    assert!(distance(&b.gamma(&Tensor::full([n], 1.0)), |x| 1.0 - (-x).exp()) < 2.0);
    assert!(distance(&c.gamma(&Tensor::full([n], 0.5)), |x| 2.0 * normal((2.0 * x).sqrt()) - 1.0) < 2.0);
    // The beta distribution of shapes 2 and 1, and the arcsine distribution.
    assert!(distance(&d.beta(&Tensor::full([n], 2.0), &Tensor::full([n], 1.0)), |x| x * x) < 2.0);
    let half = Tensor::full([n], 0.5);
    assert!(distance(&e.beta(&half, &half), |x| 2.0 / PI * x.sqrt().asin()) < 2.0);
    let shares = key(3).categorical::<f64, 2, 1>(&tensor([0.2, 0.3, 0.5]).ln().replicate(n));
    for (category, p) in [0.2, 0.3, 0.5].into_iter().enumerate() {
        let share = shares.eq(category as i64).to_float::<f64>().mean().item();
        assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / n as f64).sqrt());
    }
}

/// The logarithm of the gamma distribution's density, and its distribution function by the series.
fn gamma_law(a: f64, x: f64) -> (f64, f64) {
    let log_gamma = |a: f64| tensor(a).lgamma().item();
    let density = ((a - 1.0) * x.ln() - x - log_gamma(a)).exp();
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..20_000 {
        term *= x / (a + f64::from(k));
        sum += term;
        if term < 1e-18 * sum {
            break;
        }
    }
    (density, (a * x.ln() - x - log_gamma(a + 1.0)).exp() * sum)
}

/// Where the distribution function of another shape has the value that it has for `a` at `x`, by Newton's method.
fn moved(a: f64, x: f64, to: f64) -> f64 {
    let aim = gamma_law(a, x).1;
    (0..8).fold(x, |x, _| {
        let (density, value) = gamma_law(to, x);
        x - (value - aim) / density
    })
}

#[test]
fn derivatives_of_gamma_draws_keep_the_probability() {
    let mut seen = 0;
    for a in [0.05, 0.4, 1.0, 2.5, 9.0, 40.0, 600.0] {
        for seed in 0..6 {
            let draw = |a: &Tensor<Concrete, 0>| Key::new(seed).gamma(a);
            let (at, one) = (tensor(a), tensor(1.0));
            let (x, slope) = jvp(|a| Key::new(seed).gamma(a), &at, &one);
            let (x, slope) = (x.item(), slope.item());
            assert_eq!(x, draw(&at).item());
            // The distribution function is too close to 1 for a difference.
            if x < 1e-8 || gamma_law(a, x).1 > 1.0 - 1e-4 {
                continue;
            }
            seen += 1;
            let h = 5e-4 * a.min(a.sqrt());
            let [down, up] = [-h, h].map(|h| moved(a, x, a + h));
            let by_difference = (up - down) / (2.0 * h);
            assert!((slope - by_difference).abs() < 1e-5 * slope.abs(), "{a} {x}: {slope} {by_difference}");
            assert!((grad(|a| Key::new(seed).gamma(a), &at).item() - slope).abs() < 1e-12 * slope.abs());
            let second = hessian(|a| Key::new(seed).gamma(a), &at).item();
            let by_difference = (up - 2.0 * x + down) / (h * h);
            let scale = x / (a * a) + second.abs();
            assert!((second - by_difference).abs() < 1e-3 * scale, "{a} {x}: {second} {by_difference}");
        }
    }
    assert!(seen > 30);
    // Shapes whose draws underflow, and shapes that are none.
    let log = Key::<Concrete>::new(1).log_gamma(&tensor([1e-4, 1e-3]));
    assert!(log.lt(-700.0).any().item() && log.gt(f64::NEG_INFINITY).all().item());
    let slopes = grad(|a| Key::new(1).log_gamma(a).sum(), &tensor([1e-4, 1e-3]));
    // Of a power of a uniform number: ln u / a.
    assert!(((slopes / (-&log / tensor([1e-4, 1e-3]))) - 1.0).abs().lt(1e-2).all().item());
    let none = Key::<Concrete>::new(1).gamma(&tensor([0.0, -1.0, f64::NAN]));
    assert!(none.is_nan().all().item());
    let small = Key::<Concrete>::new(1).beta(&tensor([1e-5, 1e-5]), &tensor([1e-5, 1e-5]));
    assert!((small.eq(0.0) | small.eq(1.0)).all().item());
}

/// The loop of a rejection ends for each shape, and says NaN or infinity where there is no distribution.
#[test]
fn shapes_at_the_ends_of_floats_are_drawn() {
    fn of<E: Float>(largest: f64, least: f64) {
        let number = |x: f64| E::of_f64(x);
        let (inf, k) = (f64::INFINITY, key(3));
        let all = |shapes: &[f64]| {
            let a = Tensor::<Concrete, 1, E>::new([shapes.len()], shapes.iter().map(|x| number(*x)).collect());
            let slopes = grad(|a: &Tensor<_, 1, E>| Key::new(3).log_gamma(a).sum(), &a);
            (k.gamma(&a), k.log_gamma(&a), slopes)
        };
        let none = all(&[f64::NAN, 0.0, -0.0, -1.0, -least, -inf]);
        assert!(none.0.is_nan().all().item() && none.1.is_nan().all().item() && none.2.is_nan().all().item());
        let (x, log, slope) = all(&[inf, largest, largest / 4.0, largest * 1e-6, least, 2.0]);
        let [x, log, slope] = [x, log, slope].map(|v| v.to_vec().into_iter().map(|x| x.as_f64()).collect::<Vec<_>>());
        assert!(x[0] == inf && log[0] == inf && slope[0].is_nan());
        for (k, a) in [largest, largest / 4.0, largest * 1e-6].into_iter().enumerate() {
            // The distribution is as narrow as rounding, so the logarithm of a draw is that of the shape.
            let near = |x: f64, y: f64| (x / y - 1.0).abs() < 1e3 * if E::DTYPE == DType::F32 { 1e-7 } else { 1e-15 };
            assert!(near(log[k + 1], a.ln()) && (near(slope[k + 1], 1.0 / a) || 1.0 / a < least), "{a}");
        }
        assert!(x[4] == 0.0 && log[4] < -1e30 && x[5].is_finite() && slope[5].is_finite());
        assert!(slope[4].is_nan() || slope[4] > 1e30);
        let with = |a: f64, b: f64| {
            let [a, b] = [a, b].map(|x| Tensor::<Concrete, 1, E>::full([1], number(x)));
            k.beta(&a, &b).at([0]).item().as_f64()
        };
        assert_eq!((with(inf, 2.0), with(2.0, inf), with(largest, 1.0)), (1.0, 0.0, 1.0));
        assert!(with(inf, inf).is_nan() && with(f64::NAN, 1.0).is_nan() && with(1.0, -1.0).is_nan());
    }
    of::<f64>(f64::MAX, f64::MIN_POSITIVE);
    of::<f32>(f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE));
    // Recorded, and beside others: one shape does not keep the loop of all.
    let mixed = tensor([f64::INFINITY, 2.0, f64::NAN, 0.5]);
    let f = Function::value_and_grad(|a: &Tensor<_, 1>| Key::new(3).log_gamma(&a.slice(0, 1..2)).sum(), &mixed);
    let draws = Function::stage(|a: &Tensor<_, 1>| Key::new(3).gamma(a), &mixed).run(&mixed).expect("draws");
    assert_eq!(draws.is_finite(), tensor([false, true, false, true]));
    assert!(f.run(&mixed).expect("a gradient").1.at([1]).item().is_finite());
}

/// Large shapes: `a dx/da / x`, computed with 40 digits by mpmath from the integral of `dP/da` at the draw.
#[test]
fn derivatives_in_large_shapes() {
    let expected = [1.0024622956051464, 1.000004944888431, 0.9999214554813907, 1.000028333636077, 1.0];
    let a = tensor([1e4, 1e7, 5e7, 1e9, 1e300]);
    let slopes = grad(|a| Key::new(1).log_gamma(a).sum(), &a) * &a;
    assert!((slopes - tensor(expected)).abs().lt(1e-10).all().item());
    let a: Tensor<_, 1, f32> = tensor([1.9e3, 5e3, 1e5]);
    let slopes = grad(|a: &Tensor<_, 1, f32>| Key::new(1).log_gamma(a).sum(), &a) * &a;
    assert!((slopes - tensor([1.0026269, 1.0010543, 1.0001789])).abs().lt(2e-6).all().item());
    // x = a (1 + O(1 / sqrt a)), so its second derivative is that of the logarithm.
    let second = hessian(|a: &Tensor<_, 0>| Key::new(1).log_gamma(&a.reshape([1])).sum(), &tensor(1e12)).item() * 1e24;
    assert!((second + 1.0).abs() < 1e-5, "{second}");
}

#[test]
fn parameters_have_derivatives_and_other_draws_stop_them() {
    let lo = tensor([-0.5, 0.25]);
    assert_gradient(|x: &Tensor<_, 1>| Key::new(1).uniform_between(x, &(x.exp() + 1.0)).sin().sum(), &lo);
    assert_gradient(|x: &Tensor<_, 1>| Key::new(2).truncated_normal(x, &(x.exp() + 1.0)).sin().sum(), &lo);
    // The mean of a beta distribution, a / (a + b).
    let means = |shapes: &(Tensor<_, 0>, Tensor<_, 0>)| {
        let like = Tensor::<_, 1, i64>::iota(6000);
        Key::new(3).beta(&shapes.0.up_to(&like), &shapes.1.up_to(&like)).mean()
    };
    let slopes = grad(means, &(tensor(2.0), tensor(3.0)));
    assert!((slopes.0.item() - 3.0 / 25.0).abs() < 0.01 && (slopes.1.item() + 2.0 / 25.0).abs() < 0.01);
    let stopped = jacobian(
        |x: &Tensor<_, 1>| {
            let key = Key::new(4);
            let mask = key.bernoulli(&x.sigmoid()).to_float();
            let position = key.categorical::<f64, 1, 0>(x).to_float();
            mask + position + key.integers([2], 0, 9).to_float()
        },
        &lo,
    );
    assert_eq!(stopped, Tensor::zeros([2, 2]));
}

#[test]
fn hostile_shapes_and_sizes() {
    let k = key(1);
    assert_eq!(k.uniform([0]).shape(), [0]);
    assert_eq!(k.normal([2, 0, 3]).shape(), [2, 0, 3]);
    assert_eq!(k.permutation(0).shape(), [0]);
    assert_eq!(k.permutation(1), tensor([0]));
    assert_eq!(k.choice(3, 0).shape(), [0]);
    assert_eq!(k.gamma(&Tensor::<Concrete, 1>::zeros([0])).shape(), [0]);
    assert_eq!(k.integers([3], 5, 6), tensor([5, 5, 5]));
    assert_eq!(k.integers([3], i64::MIN, i64::MIN + 1), Tensor::full([3], i64::MIN));
    assert!(k.integers([100], 0, 1 << 32).ge(0).all().item());
    let ends = k.truncated_normal(&tensor([f64::NEG_INFINITY, 9.0]), &tensor([f64::INFINITY, 9.5]));
    assert!(ends.is_finite().all().item() && ends.at([1]).item() >= 9.0);
    fn of<E: Float>(k: &Key<Concrete>) -> bool {
        let x = k.gamma(&Tensor::<Concrete, 1, E>::full([500], E::of_f64(1.5)));
        (x.mean().item().as_f64() - 1.5).abs() < 0.2
    }
    assert!(of::<f32>(&k) && of::<f64>(&k));
}
