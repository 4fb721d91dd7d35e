//! What do convolutions and pooling cost, next to loops in Rust?

use polygrad::{Array, BaseTensor, Concrete, Conv, Function, Tensor};

use crate::harness::{case, compare};

const BATCH: usize = 8;
const CHANNELS: usize = 16;
const SIDE: usize = 32;

fn energy<T: BaseTensor>((x, kernel): &(Tensor<T, 4, f32>, Tensor<T, 4, f32>)) -> Tensor<T, 0, f32> {
    x.conv2d(kernel, Conv::default().padding([1, 1])).square().sum()
}

/// The convolution with a 3 x 3 kernel and a border of zeros, as loops.
fn in_rust(x: &[f32], kernel: &[f32], out: &mut [f32]) {
    let inside = |i: usize, k: usize| (i + k).checked_sub(1).filter(|i| *i < SIDE);
    out.fill(0.0);
    for n in 0..BATCH {
        for (o, c) in (0..CHANNELS).flat_map(|o| (0..CHANNELS).map(move |c| (o, c))) {
            for (k, l) in (0..3).flat_map(|k| (0..3).map(move |l| (k, l))) {
                let weight = kernel[((o * CHANNELS + c) * 3 + k) * 3 + l];
                for (i, from) in (0..SIDE).filter_map(|i| Some((i, inside(i, k)?))) {
                    let (to, from) =
                        (((n * CHANNELS + o) * SIDE + i) * SIDE, ((n * CHANNELS + c) * SIDE + from) * SIDE);
                    let (lo, hi) = (usize::from(l == 0), SIDE - usize::from(l == 2));
                    let seen = &x[from + lo + l - 1..from + hi + l - 1];
                    out[to + lo..to + hi].iter_mut().zip(seen).for_each(|(y, x)| *y += weight * x);
                }
            }
        }
    }
}

pub(crate) fn run() {
    let array = |shape: &[usize], seed| Array::uniform(shape, -1.0, 1.0, seed).cast::<f32>();
    let images: Tensor<_, 4, f32> = Tensor::constant(array(&[BATCH, CHANNELS, SIDE, SIDE], 1));
    let kernel: Tensor<_, 4, f32> = Tensor::constant(array(&[CHANNELS, CHANNELS, 3, 3], 2));
    let numbers = |x: &Tensor<Concrete, 4, f32>| x.raw().to_vec::<f32>().expect("floats");
    let (plain, weights) = (numbers(&images), numbers(&kernel));
    let mut out = vec![0.0f32; plain.len()];
    let x = (images, kernel);
    let (value, both) = (Function::stage(energy, &x), Function::value_and_grad(energy, &x));
    let flops = BATCH * CHANNELS * CHANNELS * SIDE * SIDE * 9;
    compare(
        "convolutions: 8 images of 16 channels, 32 x 32, kernels of 3 x 3",
        "multiplication and addition of the value",
        vec![
            case("value as loops in Rust", flops, || {
                in_rust(&plain, &weights, &mut out);
                out.iter().map(|y| y * y).sum::<f32>()
            }),
            case("value", flops, || value.run(&x)),
            case("value and gradient", flops, || both.run(&x)),
        ],
    );
    let pooled = |x: &Tensor<_, 4, f32>| x.max_pool2d([2, 2], [2, 2]).square().sum();
    let (value, both) = (Function::stage(pooled, &x.0), Function::value_and_grad(pooled, &x.0));
    compare(
        "pooling: the largest of 2 x 2",
        "element",
        vec![
            case("copy", plain.len(), || plain.clone()),
            case("value", plain.len(), || value.run(&x.0)),
            case("value and gradient", plain.len(), || both.run(&x.0)),
        ],
    );
}
