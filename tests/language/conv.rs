//! Convolution and pooling against loops over the definition, and their derivatives.

use polygrad::array::Rng;
use polygrad::direct::{grad, jvp, vjp};
use polygrad::{BaseTensor, Concrete, Conv, Tensor, tensor};

use crate::blind::Blind;

fn random<const D: usize>(rng: &mut Rng, shape: [usize; D]) -> Tensor<Concrete, D> {
    Tensor::constant(rng.uniform(&shape, -1.0, 1.0))
}

fn close<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>) {
    assert_eq!(a.shape(), b.shape());
    for (x, y) in a.to_vec().into_iter().zip(b.to_vec()) {
        assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{x} and {y}");
    }
}

/// The definition, one product at a time.
fn naive(x: &Tensor<Concrete, 4>, kernel: &Tensor<Concrete, 4>, how: Conv<2>) -> Tensor<Concrete, 4> {
    let ([n, c, h, w], [o, _, k, l]) = (x.shape(), kernel.shape());
    let size = |axis: usize, n: usize, k: usize| {
        let (before, after) = how.padding[axis];
        (before + n + after - (how.dilation[axis] * (k - 1) + 1)) / how.stride[axis] + 1
    };
    let (u, v) = (size(0, h, k), size(1, w, l));
    let (xs, ks) = (x.to_vec(), kernel.to_vec());
    // The element of the input a kernel element meets, if it is not in the padding.
    let meets = |axis: usize, at: usize, within: usize, n: usize| {
        let i = (at * how.stride[axis] + within * how.dilation[axis]).checked_sub(how.padding[axis].0)?;
        (i < n).then_some(i)
    };
    let mut out = Vec::new();
    for (i, o_at, u_at, v_at) in points([n, o, u, v]) {
        let mut sum = 0.0;
        for (ch, a, b, _) in points([c, k, l, 1]) {
            if let (Some(y), Some(z)) = (meets(0, u_at, a, h), meets(1, v_at, b, w)) {
                sum += xs[((i * c + ch) * h + y) * w + z] * ks[((o_at * c + ch) * k + a) * l + b];
            }
        }
        out.push(sum);
    }
    Tensor::constant(polygrad::Array::new(&[n, o, u, v], out))
}

/// All indices of a shape in row-major order.
fn points([a, b, c, d]: [usize; 4]) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    (0..a * b * c * d).map(move |i| (i / (b * c * d), i / (c * d) % b, i / d % c, i % d))
}

/// Sizes and strides at random, such that the kernel fits.
fn problem(rng: &mut Rng) -> (Tensor<Concrete, 4>, Tensor<Concrete, 4>, Conv<2>) {
    loop {
        let mut draw = |most: usize| 1 + rng.below(most);
        let (n, c, o) = (draw(3), draw(3), draw(3));
        let (image, kernel) = ([draw(7), draw(7)], [draw(3), draw(3)]);
        let how = Conv {
            stride: [draw(3), draw(3)],
            padding: [(draw(3) - 1, draw(3) - 1), (draw(3) - 1, draw(3) - 1)],
            dilation: [draw(2), draw(2)],
        };
        let fits = |k: usize| how.padding[k].0 + image[k] + how.padding[k].1 > how.dilation[k] * (kernel[k] - 1);
        if fits(0) && fits(1) {
            let x = random(rng, [n, c, image[0], image[1]]);
            return (x, random(rng, [o, c, kernel[0], kernel[1]]), how);
        }
    }
}

#[test]
fn convolutions_mean_their_definition() {
    let rng = &mut Rng::new(1);
    for _ in 0..200 {
        let (x, kernel, how) = problem(rng);
        close(&x.conv2d(&kernel, how), &naive(&x, &kernel, how));
        let hidden = |t: &Tensor<Concrete, 4>| Tensor::<Blind, 4>::constant(t.array().clone());
        assert_eq!(hidden(&x).conv2d(&hidden(&kernel), how).raw().0, *x.conv2d(&kernel, how).array());
    }
}

#[test]
fn signals_are_images_of_one_row() {
    let rng = &mut Rng::new(2);
    for (stride, padding, dilation) in [(1, 0, 1), (2, 1, 1), (1, 2, 3), (3, 2, 2)] {
        let (x, kernel) = (random(rng, [2, 3, 11]), random(rng, [4, 3, 3]));
        let line = Conv::<1>::default().stride([stride]).padding([padding]).dilation([dilation]);
        let image = Conv::<2>::default().stride([1, stride]).padding([0, padding]).dilation([1, dilation]);
        let expected = x.insert_axis::<4>(2).conv2d(&kernel.insert_axis(2), image).remove_axis(2);
        close(&x.conv1d(&kernel, line), &expected);
    }
}

type Pair<T> = (Tensor<T, 4>, Tensor<T, 4>);

#[test]
fn derivatives_of_convolutions_are_adjoint() {
    let rng = &mut Rng::new(3);
    for _ in 0..60 {
        let (x, kernel, how) = problem(rng);
        let pair: Pair<Concrete> = (x, kernel);
        let dots: Pair<Concrete> = (random(rng, pair.0.shape()), random(rng, pair.1.shape()));
        let (y, y_dot) = jvp(|p: &Pair<_>| p.0.conv2d(&p.1, how), &pair, &dots);
        // The product rule, by the definition.
        close(&y_dot, &(naive(&dots.0, &pair.1, how) + naive(&pair.0, &dots.1, how)));
        let ct = random(rng, y.shape());
        let (_, pullback) = vjp(|p: &Pair<_>| p.0.conv2d(&p.1, how), &pair);
        let bars = pullback(&ct);
        let (left, right) = (y_dot.dot(&ct).item(), dots.0.dot(&bars.0).item() + dots.1.dot(&bars.1).item());
        assert!((left - right).abs() <= 1e-12 * left.abs().max(1.0), "{left} and {right}");
    }
}

fn network<T: BaseTensor>(p: &Pair<T>) -> Tensor<T, 0> {
    let hidden = p.0.conv2d(&p.1, Conv::default().padding([1, 1])).tanh();
    let pooled = hidden.max_pool2d([2, 2], [2, 2]);
    pooled.avg_pool2d([2, 1], [1, 1]).square().sum()
}

#[test]
fn gradients_match_finite_differences() {
    let rng = &mut Rng::new(4);
    let pair: Pair<Concrete> = (random(rng, [1, 2, 4, 6]), random(rng, [2, 2, 3, 3]));
    let dots: Pair<Concrete> = (random(rng, [1, 2, 4, 6]), random(rng, [2, 2, 3, 3]));
    let g = grad(network, &pair);
    let slope = g.0.dot(&dots.0).item() + g.1.dot(&dots.1).item();
    let h = 1e-6;
    let at = |h: f64| network(&(&pair.0 + dots.0.scale(h), &pair.1 + dots.1.scale(h))).item();
    let fd = (at(h) - at(-h)) / (2.0 * h);
    assert!((fd - slope).abs() <= 1e-7 * slope.abs().max(1.0), "{fd} and {slope}");
}

#[test]
fn pools_reduce_windows() {
    let rng = &mut Rng::new(5);
    for _ in 0..50 {
        let shape = [1 + rng.below(2), 1 + rng.below(2), 1 + rng.below(6), 1 + rng.below(6)];
        let x = random(rng, shape);
        let size = [1 + rng.below(shape[2]), 1 + rng.below(shape[3])];
        let stride = [1 + rng.below(3), 1 + rng.below(3)];
        let xs = x.to_vec();
        let reduced = |combine: &dyn Fn(&[f64]) -> f64| {
            let [u, v] = [0, 1].map(|k| (shape[2 + k] - size[k]) / stride[k] + 1);
            let mut out = Vec::new();
            for (i, c, a, b) in points([shape[0], shape[1], u, v]) {
                let window: Vec<f64> = points([1, 1, size[0], size[1]])
                    .map(|(_, _, y, z)| {
                        let row = (i * shape[1] + c) * shape[2] + a * stride[0] + y;
                        xs[row * shape[3] + b * stride[1] + z]
                    })
                    .collect();
                out.push(combine(&window));
            }
            Tensor::constant(polygrad::Array::new(&[shape[0], shape[1], u, v], out))
        };
        assert_eq!(x.max_pool2d(size, stride), reduced(&|w| w.iter().copied().fold(f64::MIN, f64::max)));
        close(&x.avg_pool2d(size, stride), &reduced(&|w| w.iter().sum::<f64>() / w.len() as f64));
        // One axis at a time.
        let rows: Tensor<Concrete, 3> = x.reshape([shape[0] * shape[1], shape[2], shape[3]]);
        let flat = |t: Tensor<Concrete, 3>| t.flatten();
        let wide = [1, size[1]];
        assert_eq!(flat(rows.max_pool1d(size[1], stride[1])), x.max_pool2d(wide, [1, stride[1]]).flatten());
        close(&flat(rows.avg_pool1d(size[1], stride[1])), &x.avg_pool2d(wide, [1, stride[1]]).flatten());
    }
}

#[test]
fn ties_in_a_pool_go_to_the_first_row_by_row() {
    let x = tensor([[[[1.0, 2.0], [2.0, 2.0]]]]);
    assert_eq!(grad(|x| x.max_pool2d([2, 2], [1, 1]).sum(), &x), tensor([[[[0.0, 1.0], [0.0, 0.0]]]]));
    let y = tensor([[[[2.0, 2.0], [2.0, 1.0]]]]);
    assert_eq!(grad(|x| x.max_pool2d([2, 2], [1, 1]).sum(), &y), tensor([[[[1.0, 0.0], [0.0, 0.0]]]]));
    let z = tensor([[[[1.0, 2.0], [2.0, 1.0]]]]);
    assert_eq!(grad(|x| x.max_pool2d([2, 2], [1, 1]).sum(), &z), tensor([[[[0.0, 1.0], [0.0, 0.0]]]]));
}
