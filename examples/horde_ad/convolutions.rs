//! Convolutions of images, element by element, and their gradients, as derived and as a person writes them.
//!
//! Images have the shape `[n, c, h, w]`, kernels `[o, c, k, l]`. What is read outside of an image is 0.

use polygrad::{BaseTensor, Conv, Tensor, build};

/// Images, kernels, or results.
pub(crate) type Images<T> = Tensor<T, 4>;

/// Where a window begins, and how large the result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// As large as the images: a window begins at its pixel.
    Preserving,
    /// As many results as there are windows within the image.
    Shrinking,
    /// As many results as there are windows that meet the image.
    Padded,
}

impl Variant {
    /// All of them.
    pub(crate) const ALL: [Variant; 3] = [Variant::Preserving, Variant::Shrinking, Variant::Padded];

    /// The size of a result along an axis.
    pub(crate) fn size(self, image: usize, kernel: usize) -> usize {
        match self {
            Variant::Preserving => image,
            Variant::Shrinking => image + 1 - kernel,
            Variant::Padded => image + kernel - 1,
        }
    }

    /// How far before its pixel a window begins.
    fn before(self, kernel: usize) -> usize {
        match self {
            Variant::Preserving | Variant::Shrinking => 0,
            Variant::Padded => kernel - 1,
        }
    }

    /// The same convolution as an operation of the library.
    pub(crate) fn layout(self, [height, width]: [usize; 2]) -> Conv<2> {
        let padding = |kernel: usize| match self {
            Variant::Preserving => (0, kernel - 1),
            Variant::Shrinking => (0, 0),
            Variant::Padded => (kernel - 1, kernel - 1),
        };
        Conv { padding: [padding(height), padding(width)], ..Conv::default() }
    }
}

/// `y[n, o, y, x] = sum over (c, i, j) of images[n, c, y + i - p, x + j - q] * kernels[o, c, i, j]`.
pub(crate) fn by_index<T: BaseTensor>(variant: Variant, kernels: &Images<T>, images: &Images<T>) -> Images<T> {
    let ([out, channels, height, width], [n, _, h, w]) = (kernels.shape(), images.shape());
    let [up, left] = [height, width].map(|size| variant.before(size) as i64);
    build([n, out, variant.size(h, height), variant.size(w, width)], |[n, o, y, x]| {
        let window: Tensor<T, 3> =
            build([channels, height, width], |[c, i, j]| images.at([n, c, &(y + i - up), &(x + j - left)]));
        window.dot(&kernels.at([o]))
    })
}

/// The gradient in the kernels, by hand: each weight is the inner product of the errors of an output channel and of
/// the pixels that the weight meets.
pub(crate) fn kernels_by_hand<T: BaseTensor>(
    variant: Variant,
    [height, width]: [usize; 2],
    images: &Images<T>,
    errors: &Images<T>,
) -> Images<T> {
    let ([_, channels, ..], [n, out, h, w]) = (images.shape(), errors.shape());
    let [up, left] = [height, width].map(|size| variant.before(size) as i64);
    build([out, channels, height, width], |[o, c, i, j]| {
        let met: Tensor<T, 3> = build([n, h, w], |[n, y, x]| images.at([n, c, &(y + i - up), &(x + j - left)]));
        let felt: Tensor<T, 3> = build([n, h, w], |[n, y, x]| errors.at([n, o, y, x]));
        felt.dot(&met)
    })
}

/// The gradient in the images, by hand: each pixel is the inner product of the errors that it met, and of kernels
/// turned around in both directions.
pub(crate) fn images_by_hand<T: BaseTensor>(
    variant: Variant,
    [h, w]: [usize; 2],
    kernels: &Images<T>,
    errors: &Images<T>,
) -> Images<T> {
    let ([out, channels, height, width], [n, ..]) = (kernels.shape(), errors.shape());
    let turned: Images<T> = kernels.reverse(2).reverse(3).permute([1, 0, 2, 3]);
    let [up, left] = [height, width].map(|size| variant.before(size) as i64 - size as i64 + 1);
    build([n, channels, h, w], |[n, c, y, x]| {
        let felt: Tensor<T, 3> =
            build([out, height, width], |[o, i, j]| errors.at([n, o, &(y + i + up), &(x + j + left)]));
        felt.dot(&turned.at([c]))
    })
}
