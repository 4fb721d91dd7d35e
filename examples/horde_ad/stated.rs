//! What the repository of horde-ad states: seconds of a call, as slopes over many calls.
//!
//! From its files `bench/baseline-{convvjp,mnist,prod}-released.tsv`, taken on 2026-08-28 with GHC 9.12.4 and
//! ox-arrays 0.2.0.1, on one thread of a machine of 16 cores that is not named. Law: a figure stands here as stated, to
//! four digits.

/// The gradient of a convolution at one size of images.
pub(crate) struct Convolution {
    /// Height and width.
    pub(crate) size: usize,
    /// To run the derived gradient, made before; as it was recorded, without simplification.
    pub(crate) derived: [f64; 2],
    /// To run the gradient written by hand, made before; as it was recorded.
    pub(crate) by_hand: [f64; 2],
    /// To make the derived gradient, and to make and run it.
    pub(crate) made: [f64; 2],
}

const fn convolution(size: usize, derived: [f64; 2], by_hand: [f64; 2], made: [f64; 2]) -> Convolution {
    Convolution { size, derived, by_hand, made }
}

/// The gradients in the kernels.
pub(crate) const IN_KERNELS: [Convolution; 5] = [
    convolution(6, [166.7e-6, 199.0e-6], [197.9e-6, 215.9e-6], [547.0e-6, 769.8e-6]),
    convolution(24, [1.315e-3, 1.732e-3], [1.384e-3, 1.523e-3], [556.8e-6, 1.914e-3]),
    convolution(48, [4.859e-3, 7.444e-3], [4.945e-3, 5.600e-3], [554.3e-6, 5.394e-3]),
    convolution(96, [20.14e-3, 31.09e-3], [20.67e-3, 23.32e-3], [551.6e-6, 20.77e-3]),
    convolution(192, [78.70e-3, 150.9e-3], [84.02e-3, 112.1e-3], [553.7e-6, 72.40e-3]),
];

/// The gradients in the images.
pub(crate) const IN_IMAGES: [Convolution; 5] = [
    convolution(6, [66.80e-6, 100.1e-6], [144.2e-6, 156.6e-6], [423.0e-6, 520.1e-6]),
    convolution(24, [348.1e-6, 481.3e-6], [901.6e-6, 1.092e-3], [419.3e-6, 798.6e-6]),
    convolution(48, [948.4e-6, 1.498e-3], [3.040e-3, 4.056e-3], [427.2e-6, 1.445e-3]),
    convolution(96, [3.078e-3, 5.802e-3], [17.21e-3, 26.15e-3], [423.1e-6, 3.580e-3]),
    convolution(192, [11.94e-3, 24.74e-3], [64.25e-3, 125.4e-3], [498.5e-6, 12.51e-3]),
];

/// A network of convolutions: the size of its images; to run the gradient, to make it, to make and run it.
pub(crate) const CONVOLUTIONAL: [(usize, [f64; 3]); 3] =
    [(6, [4.712e-3, 7.248e-3, 12.11e-3]), (12, [39.96e-3, 8.342e-3, 48.53e-3]), (24, [461.4e-3, 8.440e-3, 480.4e-3])];

/// Windows by gathers, and their adjoints.
pub(crate) const GATHERS: [(&str, f64); 10] = [
    ("two gathers", 5.604e-3),
    ("two gathers, axes turned", 4.029e-3),
    ("two gathers, indices turned", 5.605e-3),
    ("two gathers, rows sorted", 4.105e-3),
    ("one gather", 11.52e-3),
    ("one gather, axes turned", 11.70e-3),
    ("one gather, indices ascending", 11.46e-3),
    ("one gather, indices descending", 11.46e-3),
    ("two scatters", 513.0e-6),
    ("one scatter", 22.71e-3),
];

/// Products of `n` numbers: directly of a list from the left, from the right, and by a fold; then by text, each call
/// differentiates anew, of a list and by a fold.
pub(crate) const PRODUCTS: [(usize, [Option<f64>; 5]); 2] = [
    (100, [Some(56.18e-6), Some(57.28e-6), Some(226.1e-6), Some(2.070e-3), Some(111.3e-6)]),
    (1000, [Some(624.5e-6), None, Some(2.242e-3), Some(327.7e-3), Some(853.7e-6)]),
];

/// Forty steps of descent of a network with two hidden layers of these widths, a picture each: directly, of lists of
/// vectors; by text made before, of lists; directly, of matrices; by text made before, of matrices; and to make that.
pub(crate) const DESCENTS: [([usize; 2], [Option<f64>; 5]); 4] = [
    ([30, 10], [Some(22.88e-3), Some(33.61e-3), Some(7.961e-3), None, Some(858.0e-6)]),
    ([300, 100], [Some(165.1e-3), Some(776.6e-3), Some(28.60e-3), None, Some(3.583e-3)]),
    ([500, 150], [Some(278.5e-3), Some(1.796), Some(47.83e-3), None, Some(5.969e-3)]),
    ([1500, 500], [Some(1.032), Some(15.11), Some(330.2e-3), Some(173.7e-3), Some(27.86e-3)]),
];
