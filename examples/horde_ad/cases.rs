//! The programs with the sizes of the benchmarks and tests that they stand beside, and with inputs.

use polygrad::program::Term;
use polygrad::tree::TreeMath;
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, direct, grad_with};

use super::convolutions::{Images, Variant, by_index, images_by_hand, kernels_by_hand};
use super::gathers::{
    one_gather, one_scatter, two_gathers, two_gathers_turned, two_gathers_with_indices_turned,
    two_gathers_with_rows_sorted, two_scatters,
};
use super::measure::Leaves;
use super::networks::{
    Convolutional, Example, Lists, Matrices, Recurrent, convolutional, loss_of_lists, loss_of_matrices,
};
use super::products::Number;

/// Numbers between -0.5 and 0.5.
pub(crate) fn drawn<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<Concrete, D> {
    Tensor::from_raw(Array::uniform(&shape, -0.5, 0.5, seed))
}

/// What a gradient of a convolution is taken in, and the other operand with the errors.
type Bilinear<T> = (Images<T>, (Images<T>, Images<T>));

/// A gradient of a convolution in an operand, of the other one and of errors.
pub(crate) type Gradient = Function<Images<Concrete>, (Images<Concrete>, Images<Concrete>), Images<Concrete>>;

/// A convolution of 3 images of 3 channels with 3 kernels of `3 x 3`, and errors of its result.
pub(crate) struct ConvolutionCase {
    variant: Variant,
    kernels: Images<Concrete>,
    images: Images<Concrete>,
    errors: Images<Concrete>,
}

impl ConvolutionCase {
    /// With images of this height and width.
    pub(crate) fn new(variant: Variant, size: usize) -> ConvolutionCase {
        let out = variant.size(size, 3);
        ConvolutionCase {
            variant,
            kernels: drawn([3, 3, 3, 3], 42),
            images: drawn([3, 3, size, size], 43),
            errors: drawn([3, 3, out, out], 44),
        }
    }

    /// The arguments of the functions of this case.
    pub(crate) fn arguments(&self, in_kernels: bool) -> Bilinear<Concrete> {
        let (x, other) = if in_kernels { (&self.kernels, &self.images) } else { (&self.images, &self.kernels) };
        (x.clone(), (other.clone(), self.errors.clone()))
    }

    /// The inner product of the result with the errors: its gradient is what errors give back.
    pub(crate) fn paired<T: BaseTensor>(
        &self,
        in_kernels: bool,
        x: &Images<T>,
        (other, errors): &(Images<T>, Images<T>),
    ) -> Number<T> {
        let (kernels, images) = if in_kernels { (x, other) } else { (other, x) };
        by_index(self.variant, kernels, images).dot(errors)
    }

    /// The gradient, derived.
    pub(crate) fn derived(&self, in_kernels: bool) -> Gradient {
        let (x, data) = self.arguments(in_kernels);
        Function::grad_with(|x: &Images<Term>, data: &_| self.paired(in_kernels, x, data), &x, &data)
    }

    /// The same function by hand.
    pub(crate) fn by_hand(&self, in_kernels: bool) -> Gradient {
        let (x, data) = self.arguments(in_kernels);
        let [.., h, w] = x.shape();
        let by_hand = |_: &Images<Term>, (other, errors): &(Images<Term>, Images<Term>)| match in_kernels {
            true => kernels_by_hand(self.variant, [h, w], other, errors),
            false => images_by_hand(self.variant, [h, w], other, errors),
        };
        Function::stage_with(by_hand, &x, &data)
    }
}

/// The outputs of a convolutional network paired with errors.
pub(crate) fn convolutional_loss<T: BaseTensor>(
    x: &Convolutional<T>,
    (pictures, errors): &(Images<T>, Tensor<T, 2>),
) -> Number<T> {
    convolutional(x, pictures).dot(errors)
}

/// A network of 4 channels with kernels of `3 x 4` and 5 hidden neurons, and 7 pictures of this height and width.
pub(crate) fn convolutional_case(size: usize) -> (Convolutional<Concrete>, (Images<Concrete>, Tensor<Concrete, 2>)) {
    let flat = 4 * (size / 4) * (size / 4);
    let parameters = (
        (drawn([4, 1, 3, 4], 1), drawn([4], 2)),
        (drawn([4, 4, 3, 4], 3), drawn([4], 4)),
        (drawn([5, flat], 5), drawn([5], 6)),
        (drawn([10, 5], 7), drawn([10], 8)),
    );
    (parameters, (drawn([7, 1, size, size], 9), drawn([10, 7], 10)))
}

/// A program with a name of the table of gathers, and its input.
pub(crate) fn gather_case(name: &str) -> (Function<Leaves<Array>, (), Leaves<Array>>, Leaves<Array>) {
    macro_rules! case {
        ($shape:expr, $f:expr) => {{
            let x = Leaves(vec![drawn($shape, 42).into_raw()]);
            let f = |x: &Leaves<Term>| Leaves(vec![$f(&Tensor::from_raw(x.0[0].clone())).into_raw()]);
            (Function::stage(f, &x), x)
        }};
    }
    match name {
        "two gathers" => case!([50, 3, 3, 50], two_gathers),
        "two gathers, axes turned" => case!([50, 3, 3, 50], two_gathers_turned),
        "two gathers, indices turned" => case!([50, 3, 3, 50], two_gathers_with_indices_turned),
        "two gathers, rows sorted" => case!([50, 3, 3, 50], two_gathers_with_rows_sorted),
        "one gather" => case!([50, 50, 3, 3], |x: &_| one_gather([0, 1, 2, 3], x)),
        "one gather, axes turned" => case!([50, 50, 3, 3], |x: &_| one_gather([1, 0, 3, 2], x)),
        "one gather, indices ascending" => case!([50, 50, 3, 3], |x: &_| one_gather([1, 3, 0, 2], x)),
        "one gather, indices descending" => case!([50, 50, 3, 3], |x: &_| one_gather([0, 2, 1, 3], x)),
        "two scatters" => case!([48, 3, 3, 48, 3, 3], two_scatters),
        "one scatter" => case!([48, 3, 48, 3, 3, 3], one_scatter),
        other => panic!("there is no program {other}"),
    }
}

/// Pictures of a step of descent each.
const STEPS: usize = 40;
/// The rate of a descent.
const RATE: f64 = 0.02;
const PIXELS: usize = 784;
const LABELS: usize = 10;

fn examples() -> Vec<Example<Concrete>> {
    let label = |k: usize| Tensor::from_fn([LABELS], move |[i]| f64::from(u8::from(i == k % LABELS)));
    (0..STEPS).map(|k| (drawn([PIXELS], 100 + k as u64) + 0.5, label(k))).collect()
}

/// A network of matrices with hidden layers of these widths, and pictures.
pub(crate) fn matrices_case([first, second]: [usize; 2]) -> (Matrices<Concrete>, Vec<Example<Concrete>>) {
    let parameters = (
        (drawn([first, PIXELS], 1), drawn([first], 2)),
        (drawn([second, first], 3).cast::<f32>(), drawn([second], 4)),
        (drawn([LABELS, second], 5), drawn([LABELS], 6)),
    );
    (parameters, examples())
}

/// The same network of lists.
pub(crate) fn lists_case(widths: [usize; 2]) -> (Lists<Concrete>, Vec<Example<Concrete>>) {
    let (((first, b), (second, c), (third, d)), examples) = matrices_case(widths);
    let lists = ((rows(&first), b), (rows(&second), c), (rows(&third), d));
    (lists, examples)
}

/// The rows of a matrix.
fn rows<E: polygrad::Float>(matrix: &Tensor<Concrete, 2, E>) -> Vec<Tensor<Concrete, 1, E>> {
    (0..matrix.len()).map(|k| matrix.row::<1>(k)).collect()
}

/// The parameters after a step of descent, as a program.
pub(crate) fn step_of_lists(x: &Lists<Term>, example: &Example<Term>) -> Lists<Term> {
    x.add_scaled(-RATE, &grad_with(loss_of_lists, x, example))
}

/// As [`step_of_lists`].
pub(crate) fn step_of_matrices(x: &Matrices<Term>, example: &Example<Term>) -> Matrices<Term> {
    x.add_scaled(-RATE, &grad_with(loss_of_matrices, x, example))
}

/// The parameters after a step of descent, differentiated as it is computed.
pub(crate) fn direct_step_of_lists(x: &Lists<Concrete>, example: &Example<Concrete>) -> Lists<Concrete> {
    x.add_scaled(-RATE, &direct::grad_with(loss_of_lists, x, example))
}

/// As [`direct_step_of_lists`].
pub(crate) fn direct_step_of_matrices(x: &Matrices<Concrete>, example: &Example<Concrete>) -> Matrices<Concrete> {
    x.add_scaled(-RATE, &direct::grad_with(loss_of_matrices, x, example))
}

/// The parameters after a step for each example.
pub(crate) fn descent<P: polygrad::Tree<Concrete> + Clone>(
    step: &Function<P, Example<Concrete>, P>,
    x: &P,
    examples: &[Example<Concrete>],
) -> P {
    examples.iter().fold(x.clone(), |x, example| {
        step.run_with(&x, example).unwrap_or_else(|error| panic!("a step runs on what it was recorded for: {error}"))
    })
}

/// How often each of nested folds runs the next.
pub(crate) const NESTED: [&[usize]; 4] = [&[3, 7], &[2, 3, 4], &[11, 11], &[5, 5, 5, 5]];

/// A recurrent network with cells of this width, and so many pictures with labels.
pub(crate) fn recurrent_case(
    width: usize,
    n: usize,
) -> (Recurrent<Concrete>, (Tensor<Concrete, 3>, Tensor<Concrete, 2>)) {
    let side = 28;
    let parameters = (
        (drawn([width, side], 1), drawn([width, width], 2), drawn([width], 3)),
        (drawn([width, width], 4), drawn([width, width], 5), drawn([width], 6)),
        (drawn([LABELS, width], 7), drawn([LABELS], 8)),
    );
    let labels = Tensor::from_fn([LABELS, n], |[label, k]| f64::from(u8::from(label == k % LABELS)));
    (parameters, (drawn([side, side, n], 9) + 0.5, labels))
}
