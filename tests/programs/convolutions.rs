//! Convolutions and pooling, compiled, and their adjoints.
//!
//! Law: the adjoints in the image and in the kernel are those of the definition, for any stride, dilation, padding and
//! number of channels, also where an element is infinite or NaN. Numbers are small integers, whose sums are exact in any order.

use polygrad::array::Rng;
use polygrad::program::interpret;
use polygrad::{Array, Concrete, Conv, Float, Function, Tensor};

type Signals<T, E> = Tensor<T, 3, E>;
type Images<T, E> = Tensor<T, 4, E>;

/// Small integers.
fn integers<const D: usize, E: Float>(rng: &mut Rng, shape: [usize; D]) -> Tensor<Concrete, D, E> {
    let numbers = (0..shape.iter().product()).map(|_| E::of_f64(rng.below(9) as f64 - 4.0)).collect();
    Tensor::constant(Array::new(&shape, numbers))
}

fn numbers<const D: usize, E: Float>(x: &Tensor<Concrete, D, E>) -> Vec<f64> {
    x.to_vec().into_iter().map(|x| x.as_f64()).collect()
}

#[track_caller]
fn assert_equal<const D: usize, E: Float>(what: &str, x: &Tensor<Concrete, D, E>, expected: &[f64]) {
    let same = |(x, y): (&f64, &f64)| x == y || x.is_nan() && y.is_nan();
    let x = numbers(x);
    let wrong = x.iter().zip(expected).position(|both| !same(both));
    assert!(wrong.is_none() && x.len() == expected.len(), "{what}: element {wrong:?} of {x:?}, not {expected:?}");
}

/// A convolution along the last axis or along the last two, of images `[n, c, h, w]`, kernels `[o, c, k, l]` and results
/// `[n, o, u, v]`; signals are images of one row.
#[derive(Debug)]
struct Problem {
    image: [usize; 4],
    kernel: [usize; 4],
    result: [usize; 4],
    how: Conv<2>,
}

impl Problem {
    fn new(rng: &mut Rng, axes: usize, long: usize) -> Problem {
        loop {
            let mut below = |n: usize| rng.below(n);
            let mut channels = || [1, 2, 3, 8, 13][below(5)];
            let (c, o) = (channels(), channels());
            let n = 1 + below(4);
            let mut along = |k: usize| {
                if k + axes < 2 {
                    return (1, 1, (1, (0, 0), 1));
                }
                let size = long / 2 + below(long / 2);
                let (dilation, stride) = (1 + below(2), [1, 1, 2, 3][below(4)]);
                (size, 1 + below(7), (stride, (below(5), below(5)), dilation))
            };
            let [(h, k, by), (w, l, across)] = [along(0), along(1)];
            let how = Conv { stride: [by.0, across.0], padding: [by.1, across.1], dilation: [by.2, across.2] };
            let size = |axis: usize, n: usize, k: usize| {
                let reach = how.dilation[axis] * (k - 1) + 1;
                let padded = how.padding[axis].0 + n + how.padding[axis].1;
                padded.checked_sub(reach).map(|free| free / how.stride[axis] + 1)
            };
            if let (Some(u), Some(v)) = (size(0, h, k), size(1, w, l)) {
                return Problem { image: [n, c, h, w], kernel: [o, c, k, l], result: [n, o, u, v], how };
            }
        }
    }

    /// Calls `each` with the numbers of the elements of image, kernel and result of each product.
    fn products(&self, mut each: impl FnMut(usize, usize, usize)) {
        let ([n, c, h, w], [o, _, k, l], [_, _, u, v]) = (self.image, self.kernel, self.result);
        let meets = |axis: usize, at: usize, within: usize, n: usize| {
            let i = at * self.how.stride[axis] + within * self.how.dilation[axis];
            i.checked_sub(self.how.padding[axis].0).filter(|i| *i < n)
        };
        let rows = |u: usize, k: usize, n: usize, axis: usize| -> Vec<[usize; 3]> {
            let all = (0..u).flat_map(|at| (0..k).map(move |within| (at, within)));
            all.filter_map(|(at, within)| Some([at, within, meets(axis, at, within, n)?])).collect()
        };
        let (down, across) = (rows(u, k, h, 0), rows(v, l, w, 1));
        for (i, ch, to) in (0..n * c * o).map(|i| (i / (c * o), i / o % c, i % o)) {
            for [r, a, y] in &down {
                for [s, b, z] in &across {
                    let image = ((i * c + ch) * h + y) * w + z;
                    let kernel = ((to * c + ch) * k + a) * l + b;
                    each(image, kernel, ((i * o + to) * u + r) * v + s);
                }
            }
        }
    }
}

/// The value and both adjoints, compiled, against the definition; with `hostile`, some elements are infinite or NaN.
fn agree<E: Float>(rng: &mut Rng, axes: usize, long: usize, hostile: bool) {
    let problem = Problem::new(rng, axes, long);
    let mut x: Images<_, E> = integers(rng, problem.image);
    let mut kernel: Images<_, E> = integers(rng, problem.kernel);
    let mut ct: Images<_, E> = integers(rng, problem.result);
    if hostile {
        let k = rng.below(3);
        let special = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY][rng.below(3)];
        let chosen = [&mut x, &mut kernel, &mut ct].into_iter().nth(k).expect("one of three");
        let mut elements = chosen.to_vec();
        let at = rng.below(elements.len());
        elements[at] = E::of_f64(special);
        *chosen = Tensor::constant(Array::new(&chosen.shape(), elements));
    }
    let how = problem.how;
    let in_image = Function::grad_with(
        |x: &Images<_, E>, (kernel, ct): &(Images<_, E>, Images<_, E>)| (x.conv2d(kernel, how) * ct).sum(),
        &x,
        &(kernel.clone(), ct.clone()),
    );
    let in_kernel = Function::grad_with(
        |kernel: &Images<_, E>, (x, ct): &(Images<_, E>, Images<_, E>)| (x.conv2d(kernel, how) * ct).sum(),
        &kernel,
        &(x.clone(), ct.clone()),
    );
    let (xs, ks, ys) = (numbers(&x), numbers(&kernel), numbers(&ct));
    let (mut image, mut weights) = (vec![0.0; xs.len()], vec![0.0; ks.len()]);
    problem.products(|i, j, k| {
        image[i] += ks[j] * ys[k];
        // A zero of the padding is an element of the image in the program, so it meets the cotangent.
        weights[j] += xs[i] * ys[k];
    });
    let what = format!("{problem:?}, {}", E::DTYPE);
    let bar = in_image.run_with(&x, &(kernel.clone(), ct.clone())).expect("the same shapes");
    assert_equal(&what, &bar, &image);
    let bar = in_kernel.run_with(&kernel, &(x.clone(), ct.clone())).expect("the same shapes");
    if ys.iter().all(|y| y.is_finite()) {
        assert_equal(&what, &bar, &weights);
    }
}

#[test]
fn adjoints_are_those_of_the_definition() {
    let rng = &mut Rng::new(41);
    for case in 0..90 {
        let (axes, long) = [(2, 9), (2, 24), (1, 150)][case % 3];
        agree::<f64>(rng, axes, long, case % 5 == 4);
        agree::<f32>(rng, axes, long, case % 5 == 4);
    }
}

/// Pooling, and its gradient, compiled and interpreted.
fn pooled<E: Float>(rng: &mut Rng) {
    let shape = [1 + rng.below(3), 1 + rng.below(3), 8 + rng.below(20), 8 + rng.below(20)];
    let (size, stride) = ([1 + rng.below(6), 1 + rng.below(6)], [1 + rng.below(4), 1 + rng.below(4)]);
    let x: Images<_, E> = integers(rng, shape);
    let signals: Signals<_, E> = x.reshape([shape[0] * shape[1], shape[2], shape[3]]);
    let what = format!("{shape:?}, windows of {size:?} with step {stride:?}, {}", E::DTYPE);
    let images = Function::value_and_grad(
        |x: &Images<_, E>| {
            let (mean, most) = (x.avg_pool2d(size, stride), x.max_pool2d(size, stride));
            (mean.square() + mean * most).sum()
        },
        &x,
    );
    let lines = Function::value_and_grad(
        |x: &Signals<_, E>| {
            let (mean, most) = (x.avg_pool1d(size[1], stride[1]), x.max_pool1d(size[1], stride[1]));
            (mean.square() + mean * most).sum()
        },
        &signals,
    );
    let close = |compiled: &Array, interpreted: &Array| {
        let [a, b] = [compiled, interpreted].map(|a| a.cast::<f64>().to_vec::<f64>().expect("numbers"));
        let least = if E::DTYPE == polygrad::DType::F64 { 1e-12 } else { 1e-4 };
        assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= least * x.abs().max(1.0)), "{what}: {a:?}, not {b:?}");
    };
    let (value, gradient) = images.run(&x).expect("the same shape");
    let expected = interpret(images.program(), vec![x.array().clone()]);
    close(value.array(), &expected[0]);
    close(gradient.array(), &expected[1]);
    let (value, gradient) = lines.run(&signals).expect("the same shape");
    let expected = interpret(lines.program(), vec![signals.array().clone()]);
    close(value.array(), &expected[0]);
    close(gradient.array(), &expected[1]);
}

#[test]
fn pooling_agrees_with_the_interpreter() {
    let rng = &mut Rng::new(43);
    for _ in 0..60 {
        pooled::<f64>(rng);
        pooled::<f32>(rng);
    }
}

/// The gradient of a mean of windows is the number of windows that an element is in, divided by their size.
#[test]
fn gradients_of_means_count_windows() {
    let overlap = [(40, 3, 1), (41, 5, 2), (50, 4, 3), (33, 8, 1), (30, 2, 1), (64, 8, 5), (23, 7, 6)];
    let apart = [(40, 2, 3), (41, 3, 4), (43, 2, 4), (30, 1, 3), (37, 2, 5)];
    for (n, size, stride) in overlap.into_iter().chain(apart) {
        let x: Signals<Concrete, f64> = Tensor::constant(Array::zeros(&[2, 3, n], polygrad::DType::F64));
        let mean = Function::grad(|x: &Signals<_, f64>| x.avg_pool1d(size, stride).scale(size as f64).sum(), &x);
        let windows = (n - size) / stride + 1;
        let contains = |at: usize| (0..windows).filter(|w| (w * stride..w * stride + size).contains(&at)).count();
        let expected: Vec<f64> = (0..6).flat_map(|_| (0..n).map(|at| contains(at) as f64)).collect();
        let gradient = mean.run(&x).expect("the same shape");
        let close = gradient.to_vec().iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-12);
        assert!(close, "{n}, {size}, {stride}: {gradient:?}, not {expected:?}");
    }
}
