//! Facts 91 to 95: convolutions, with indices out of bounds as padding; and 98, a sign as a power.

use polygrad::{BaseTensor, Concrete, Tensor, build, fold, tensor};

use super::check::{FINE, constants, gradient, near, pullback, shaped, starts};
use super::programs::T16B;

type Operands<T> = (Tensor<T, 4>, Tensor<T, 4>);

/// `out[n, o, y, x] = sum over (c, i, j) of images[n, c, y + i, x + j] * kernels[o, c, i, j]` for the given
/// height and width of the result; what is outside of an image is 0.
fn convolution<T: BaseTensor>(kernels: &Tensor<T, 4>, images: &Tensor<T, 4>, size: [usize; 2]) -> Tensor<T, 4> {
    let ([out, channels, height, width], [n, ..]) = (kernels.shape(), images.shape());
    build([n, out, size[0], size[1]], |[n, o, y, x]| {
        let window: Tensor<T, 3> = build([channels, height, width], |[c, i, j]| images.at([n, c, &(y + i), &(x + j)]));
        window.dot(&kernels.at([o]))
    })
}

/// As large as the images; windows extend forward.
fn preserving<T: BaseTensor>((kernels, images): &Operands<T>) -> Tensor<T, 4> {
    let [.., height, width] = images.shape();
    convolution(kernels, images, [height, width])
}

/// As large as the images; windows start half their size before the pixel.
fn padded<T: BaseTensor>((kernels, images): &Operands<T>) -> Tensor<T, 4> {
    let ([.., i, j], [.., height, width]) = (kernels.shape(), images.shape());
    let images = images.pad([(0, 0), (0, 0), (i / 2, i - i / 2), (j / 2, j - j / 2)]);
    convolution(kernels, &images, [height, width])
}

/// As large as there are windows within the images.
fn shrinking<T: BaseTensor>((kernels, images): &Operands<T>) -> Tensor<T, 4> {
    let ([.., i, j], [.., height, width]) = (kernels.shape(), images.shape());
    convolution(kernels, images, [height + 1 - i, width + 1 - j])
}

fn filter() -> Tensor<Concrete, 4> {
    shaped([2, 2, 2, 2], &T16B)
}

/// Fives.
fn flat(shape: [usize; 4]) -> Tensor<Concrete, 4> {
    Tensor::full(shape, 5.0)
}

#[test]
fn fact_91_images_larger_than_kernels() {
    let (_, images) = gradient!(preserving, (filter(), flat([3, 2, 4, 2])));
    let image = [
        18.1,
        29.1,
        32.1,
        40.1,
        32.1,
        40.1,
        32.1,
        40.1,
        582932.0,
        582934.99432,
        582597.1,
        582625.8943200001,
        582597.1,
        582625.8943200001,
        582597.1,
        582625.8943200001,
    ];
    near(&images, &image.repeat(3), FINE);
}

#[test]
fn fact_91_kernels_larger_than_images() {
    let (kernels, _) = gradient!(preserving, (flat([3, 2, 4, 2]), filter()));
    let kernel = [
        40.1,
        8.0,
        11.0,
        -3.0,
        0.0,
        0.0,
        0.0,
        0.0,
        582625.8943200001,
        28.794320000000003,
        -309.09999999999997,
        25.8,
        0.0,
        0.0,
        0.0,
        0.0,
    ];
    near(&kernels, &kernel.repeat(3), FINE);
}

#[test]
fn fact_94_padded_images() {
    let (_, images) = gradient!(padded, (filter(), flat([2, 2, 2, 2])));
    let image = [40.1, 8.0, 11.0, -3.0, 582625.8943200001, 28.794320000000003, -309.09999999999997, 25.8];
    near(&images, &image.repeat(2), FINE);
}

#[test]
fn fact_94_kernels_over_padded_images() {
    let (kernels, _) = gradient!(padded, (flat([2, 2, 2, 2]), filter()));
    let kernel = [18.1, 29.1, 32.1, 40.1, 582932.0, 582934.99432, 582597.1, 582625.8943200001];
    near(&kernels, &kernel.repeat(2), FINE);
    let (kernels, _) = gradient!(padded, (flat([3, 2, 4, 2]), filter()));
    let kernel = [
        0.0,
        0.0,
        18.1,
        29.1,
        32.1,
        40.1,
        14.0,
        11.0,
        0.0,
        0.0,
        582932.0,
        582934.99432,
        582597.1,
        582625.8943200001,
        -334.9,
        -309.09999999999997,
    ];
    starts(&kernels, &kernel, FINE);
}

#[test]
fn fact_95_constant_operands() {
    let images: Tensor<Concrete, 4> = Tensor::full([5, 2, 4, 8], 1.1);
    let kernels: Tensor<Concrete, 4> = Tensor::full([7, 2, 1, 3], 2.2);
    let cotangent = |y: &Tensor<Concrete, 4>| {
        assert_eq!(y.shape(), [5, 7, 4, 8]);
        constants(y, -3.3)
    };
    let (_, images_bar) = pullback!(preserving, (-&kernels, images.clone()), cotangent);
    let row = [50.82, 101.64, 152.46, 152.46, 152.46, 152.46, 152.46, 152.46];
    near(&images_bar, &row.repeat(5 * 2 * 4), FINE);
    let (kernels_bar, _) = pullback!(preserving, (kernels.clone(), images.clone()), cotangent);
    near(&kernels_bar, &[-580.8, -508.2, -435.6].repeat(7 * 2), FINE);
    let cotangent = |y: &Tensor<Concrete, 4>| {
        assert_eq!(y.shape(), [5, 7, 4, 6]);
        constants(y, 3.3)
    };
    let (kernels_bar, _) = pullback!(shrinking, (kernels, -&images), cotangent);
    near(&kernels_bar, &[-435.6; 7 * 2 * 3], FINE);
}

#[test]
fn fact_98_powers_of_minus_one() {
    /// The determinant as the sum over the permutations of three columns.
    fn determinant<T: BaseTensor>(a: &Tensor<T, 2>) -> Tensor<T, 0> {
        let columns = Tensor::<T, 2, i64>::constant([[0, 1, 2], [0, 2, 1], [1, 2, 0], [1, 0, 2], [2, 0, 1], [2, 1, 0]]);
        let rows: Tensor<T, 2, i64> = Tensor::iota(3).replicate(6);
        let factors: Tensor<T, 2> = a.gather([&rows, &columns]);
        let products = fold(Tensor::ones([6]), factors.t(), |p, row: &Tensor<T, 1>| p * row);
        let signs = Tensor::full([6], -1.0).pow(Tensor::iota(6).to_float());
        products.dot(&signs)
    }
    let a = || tensor([[2.0, 1.0, 3.0], [0.0, -1.0, 4.0], [5.0, 2.0, 1.0]]);
    assert_eq!(determinant(&a()), tensor(17.0));
    // The matrix of cofactors.
    let expected = [-9.0, 20.0, 5.0, 5.0, -13.0, 1.0, 7.0, -8.0, -2.0];
    near(&gradient!(determinant, a()), &expected, FINE);
}
