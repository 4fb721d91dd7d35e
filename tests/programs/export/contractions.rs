//! Random contractions of reshaped, concatenated, sliced, padded and windowed arrays, and their gradients, exported: an
//! axis of such a contraction may serve several windows, of operands and of the result.
//!
//! Law: the text is one that a parser of StableHLO takes, and gives what the program gives, to the bit at small whole
//! numbers. `POLYGRAD_FUZZ` says how many programs are tried, `POLYGRAD_SEED` which is the first.

use polygrad::array::Rng;
use polygrad::ops::{Binary, Contract, Linear, View};
use polygrad::passes::optimize;
use polygrad::program::{Builder, Op, Program, Slot, Term};
use polygrad::{Array, BaseTensor, Conv, DType, Function, Tensor, concat, symbolic};

use super::views::{assert_exact, of_contract, whole};

/// Terms of random shapes made of few variables.
struct Terms<'r> {
    rng: &'r mut Rng,
    dtype: DType,
    variables: Vec<Term>,
}

impl Terms<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n)
    }

    /// A term of this shape, of a few views of a variable.
    fn of(&mut self, shape: &[usize], depth: usize) -> Term {
        let same = self.variables.iter().find(|v| v.shape() == shape).cloned();
        if depth == 0 || self.below(8) == 0 {
            if let Some(same) = same.filter(|_| self.rng.below(2) == 0) {
                return same;
            }
            self.variables.push(Term::variable(shape, self.dtype));
            return self.variables[self.variables.len() - 1].clone();
        }
        let axis = if shape.is_empty() { 0 } else { self.below(shape.len()) };
        let mut other = shape.to_vec();
        match self.below(if shape.is_empty() { 1 } else { 11 }) {
            // The same elements: along one axis, or with one axis cut in two, or with two axes made one.
            0 | 1 => {
                let x = self.of(&[shape.iter().product()], depth - 1);
                x.linear(&Linear::reshape(x.shape(), shape))
            }
            2 if shape.len() > 1 => {
                let at = axis.min(shape.len() - 2);
                other[at] *= other.remove(at + 1);
                let x = self.of(&other, depth - 1);
                x.linear(&Linear::reshape(&other, shape))
            }
            2 | 3 => {
                let (before, after) = (self.below(3), self.below(3));
                let step = 1 + self.below(2);
                let n = shape[axis];
                other[axis] = before + (n - 1) * step + 1 + after;
                let x = self.of(&other, depth - 1);
                x.linear(&Linear::slice(&other, axis, before, n, step))
            }
            4 | 5 if shape[axis] > 1 => {
                // The same array twice, as far as it fits, or two.
                let n = if self.below(3) > 0 { shape[axis].div_ceil(2) } else { 1 + self.below(shape[axis] - 1) };
                other[axis] = n;
                let first = self.of(&other, depth - 1);
                let mut rest = other.clone();
                rest[axis] = shape[axis] - n;
                let second = if rest[axis] <= n && self.below(2) == 0 {
                    first.linear(&Linear::slice(&other, axis, 0, rest[axis], 1))
                } else {
                    self.of(&rest, depth - 1)
                };
                Term::concat(axis, &[first, second])
            }
            4..=6 => {
                let order = self.rng.permutation(shape.len());
                let mut from = vec![0; shape.len()];
                order.iter().enumerate().for_each(|(k, d)| from[*d] = shape[k]);
                let x = self.of(&from, depth - 1);
                x.linear(&Linear::permute(&from, &order))
            }
            7 => {
                let x = self.of(shape, depth - 1);
                x.linear(&Linear::reverse(shape, axis))
            }
            8 if shape[axis] > 2 => {
                let (before, after) = (self.below(2), self.below(2));
                other[axis] -= before + after;
                let widths = |n: usize| (0..shape.len()).map(|k| if k == axis { n } else { 0 }).collect::<Vec<usize>>();
                let x = self.of(&other, depth - 1);
                x.linear(&Linear::pad(&other, &widths(before), &widths(after)))
            }
            9 if shape.len() > 1 && axis + 1 < shape.len() => {
                let (size, stride) = (shape[axis + 1], 1 + self.below(3));
                let size_before = (shape[axis] - 1) * stride + size + self.below(stride);
                other.remove(axis + 1);
                other[axis] = size_before;
                let x = self.of(&other, depth - 1);
                x.linear(&Linear::window(&other, axis, size, stride))
            }
            _ if self.dtype != DType::I64 => {
                let (x, y) = (self.of(shape, depth - 1), self.of(shape, 0));
                x.binary(Binary::Add, &y)
            }
            _ => self.of(shape, 0),
        }
    }

    /// A contraction of two such terms: of matrices, stacks of them, signals, images, or of a window by itself.
    fn contraction(&mut self) -> Term {
        let mut draw = |n: usize| 1 + self.rng.below(n);
        let (m, n, k, batch) = (draw(4), draw(4), draw(4), draw(3));
        let (stride, dilation) = (draw(3), draw(2));
        let op = match self.below(6) {
            0 | 1 => Contract::axes(&[m, n, k], &[0, 2], &[2, 1], &[0, 1]),
            2 => Contract::axes(&[batch, m, n, k], &[0, 1, 3], &[0, 3, 2], &[0, 1, 2]),
            // Batch, features of the result, of the input, positions, and those within a window.
            3 | 4 => {
                let space = [batch, m, n, k + 1, 2];
                let width = k * stride + dilation + 1;
                let rows = [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, stride as i64, dilation as i64]].concat();
                Contract::new(
                    View::affine(&[batch, n, width], &space, &rows, &[0, 0, 0]),
                    View::axes(&space, &[1, 2, 4]),
                    View::axes(&space, &[0, 1, 3]),
                )
            }
            // The positions count in the result and in what the window is multiplied by.
            _ => {
                let space = [m + 1, k + 1];
                let row =
                    View::affine(&[m * stride + k * dilation + 1], &space, &[stride as i64, dilation as i64], &[0]);
                Contract::new(row, View::axes(&space, &[0, 1]), View::axes(&space, &[0]))
            }
        };
        let op = if self.below(3) == 0 { op.swapped() } else { op };
        let (a, b) = (self.of(op.a.source(), 3), self.of(op.b.source(), 3));
        Term::contract(&op, &a, &b)
    }
}

/// A random program, and its gradient if it is one of floats, plain and optimized.
pub(super) fn programs(seed: u64) -> Vec<(&'static str, Program)> {
    let mut rng = Rng::new(seed);
    let dtype = [DType::F64, DType::F64, DType::F32, DType::I64][rng.below(4)];
    let mut terms = Terms { rng: &mut rng, dtype, variables: Vec::new() };
    let mut y = terms.contraction();
    let shape = y.shape().to_vec();
    if terms.below(3) == 0 {
        let n = shape.iter().product();
        let flat = y.linear(&Linear::reshape(&shape, &[n]));
        let x = terms.of(&[2, n], 2);
        y = Term::contract(&Contract::axes(&[2, n], &[1], &[0, 1], &[0]), &flat, &x);
    }
    let weights = terms.of(y.shape(), 1);
    let axes: Vec<usize> = (0..y.shape().len()).collect();
    let loss = Term::contract(&Contract::axes(y.shape(), &axes, &axes, &[]), &y, &weights);
    let variables = std::mem::take(&mut terms.variables);
    let program = |result: &Term| Term::program(&variables, std::slice::from_ref(result), &[]).expect("it is closed");
    let (value, loss) = (program(&y), program(&loss));
    let mut all = vec![("optimized", optimize(&value)), ("value", value)];
    if dtype != DType::I64 {
        let gradient = symbolic::grad(&loss);
        all.push(("optimized_gradient", optimize(&gradient)));
        all.push(("gradient", gradient));
    }
    all
}

/// A number from the environment.
fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|n| n.parse().expect("a number"))
}

#[test]
fn random_contractions_of_views_and_their_gradients() {
    let first = from_environment("POLYGRAD_SEED").unwrap_or(0);
    let mut seen = [0; 5];
    for seed in first..first + from_environment("POLYGRAD_FUZZ").unwrap_or(24) {
        for (form, program) in programs(seed) {
            let mut rng = Rng::new(seed + 1);
            let inputs: Vec<Array> = program.inputs().iter().map(|s| whole(&mut rng, &s.shape, s.dtype)).collect();
            let text = assert_exact(&format!("views_{seed}_{form}"), &program, &inputs);
            for (count, word) in seen.iter_mut().zip(["convolution", "dot_general", "gather", "scatter", "concatenate"])
            {
                *count += usize::from(text.contains(word));
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 3), "{seen:?}");
}

/// Each element of a convolution counts as often as an axis is long that moves nothing.
#[test]
fn an_axis_that_moves_nothing_counts() {
    let space = [4, 2, 3];
    let row = View::affine(&[5], &space, &[1, 1, 0], &[0]);
    let op = Contract::new(row, View::axes(&space, &[1]), View::axes(&space, &[0]));
    let inputs = [Array::from([1.0, 2.0, 3.0, 4.0, 5.0]), Array::from([1.0, -2.0])];
    let text = assert_exact("counted", &of_contract(&op, DType::F64), &inputs);
    assert!(text.contains("convolution"), "{text}");
}

/// A kernel with a window that reaches out of it adds nothing there, whatever the signal is.
#[test]
fn kernels_that_are_read_out_of_range_add_nothing() {
    let space = [3, 2, 2, 2];
    let signal = View::affine(&[4], &space, &[1, 1, 0, 0], &[0]);
    let kernel = View::affine(&[2, 2], &space, &[0, 1, 0, 0, 0, 0, 1, 1], &[0, 0]);
    let op = Contract::new(signal, kernel, View::axes(&space, &[0, 2, 3]));
    let inputs = [Array::from([1.0, f64::INFINITY, 2.0, 3.0]), Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])];
    assert_exact("out_of_kernel", &of_contract(&op, DType::F64), &inputs);
}

/// Zeros around the image of the adjoint of a convolution with strides: the zeros between its elements come after them.
#[test]
fn zeros_around_an_image_that_is_dilated() {
    // Batch, features that are summed and those of the result, positions, and those within a window.
    let space = [2, 2, 2, 5, 2];
    for stride in [1, 2] {
        let rows = [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, stride, 1]].concat();
        let out = View::affine(&[2, 2, 4 * stride as usize + 2], &space, &rows, &[0, 0, 0]);
        let op = Contract::new(View::axes(&space, &[0, 1, 3]), View::axes(&space, &[2, 1, 4]), out);
        let mut b = Builder::literal();
        let [x, kernel] = [[2, 2, 3], [2, 2, 2]]
            .map(|shape| b.input(Slot { name: String::new(), shape: shape.as_slice().into(), dtype: DType::F64 }));
        let padded = b.apply(Op::Linear(Box::new(Linear::pad(&[2, 2, 3], &[0, 0, 1], &[0, 0, 1])), x));
        let result = b.apply(Op::Contract(Box::new(op), padded, kernel));
        let program = b.finish(&[result], &[]);
        let mut rng = Rng::new(5);
        let inputs = [[2, 2, 3], [2, 2, 2]].map(|shape| whole(&mut rng, &shape, DType::F64));
        let text = assert_exact(&format!("dilated_{stride}"), &program, &inputs);
        assert_eq!((text.contains("convolution"), text.contains("stablehlo.pad")), (true, stride == 2), "{text}");
    }
}

/// The gradient of a convolution in a kernel that is a part of a vector: the axis within a window moves the row of the
/// result, too.
#[test]
fn kernels_that_are_parts_of_a_vector() {
    for (n, stride) in [(6, 1), (7, 2), (6, 3)] {
        let x: Tensor<Array, 1> = Tensor::linspace(0.0, n as f64 - 1.0, n);
        let signal: Tensor<Array, 3> = Tensor::linspace(0.0, 7.0, 8).reshape([1, 1, 8]);
        let how = Conv { stride: [stride], ..Conv::default() };
        let gradient = Function::grad_with(
            |x: &Tensor<_, 1>, signal: &Tensor<_, 3>| {
                signal.conv1d(&x.slice(0, ..6).reshape([2, 1, 3]), how).square().sum()
            },
            &x,
            &signal,
        );
        let inputs = [x.into_raw(), signal.into_raw()];
        assert_exact(&format!("kernel_{n}_{stride}"), gradient.optimized(), &inputs);
    }
}

/// The products with a matrix that is cut out of an array that stands twice in a row.
#[test]
fn matrices_that_are_parts_of_a_concatenation() {
    for n in [6, 7, 9, 12] {
        let t: Tensor<Array, 1> = Tensor::linspace(0.0, n as f64 - 1.0, n);
        let x: Tensor<Array, 2> = Tensor::linspace(0.0, 5.0, 6).reshape([2, 3]);
        let loss = |t: &Tensor<_, 1>, x: &Tensor<_, 2>| {
            x.matmul(&concat(0, [t, t]).slice(0, ..12).reshape([3, 4])).square().sum()
        };
        let gradient = Function::grad_with(loss, &t, &x);
        assert_exact(&format!("matrix_{n}"), gradient.optimized(), &[t.into_raw(), x.into_raw()]);
    }
}

/// `a[s j + e k + ..] b[t i + f k + ..]`: windows of both operands slide along one axis, which is summed or kept, as are
/// the positions of the windows; a window may reach out of its operand.
fn two_windows(rng: &mut Rng) -> Contract {
    let mut draw = |lo: usize, n: usize| lo + rng.below(n);
    let space = [draw(1, 4), draw(1, 4), draw(1, 4)];
    let mut row = |axis: usize| {
        let (stride, within) = (draw(1, 3) as i64, [1, 1, 1, 2, -1][draw(0, 5)]);
        let reach = within * (space[2] as i64 - 1);
        let (low, rest) = (draw(0, 3) as i64 - 1, draw(0, 3) as i64 - 1);
        let extent = stride * (space[axis] as i64 - 1) + reach.abs() + 1 + low + rest;
        let mut row = [0, 0, within];
        row[axis] = stride;
        View::affine(&[extent.max(1) as usize], &space, &row, &[low - reach.min(0)])
    };
    let (a, b) = (row(1), row(0));
    let kept: Vec<usize> = (0..3).filter(|_| rng.below(2) == 0).collect();
    Contract::new(a, b, View::axes(&space, &kept))
}

#[test]
fn windows_of_both_operands_along_one_axis() {
    let first = from_environment("POLYGRAD_SEED").unwrap_or(0);
    for seed in first..first + from_environment("POLYGRAD_FUZZ").unwrap_or(16) {
        let mut rng = Rng::new(seed);
        let op = two_windows(&mut rng);
        for (k, op) in [op.adjoint_left(), op.adjoint_right(), op.clone()].into_iter().enumerate() {
            let inputs = [&op.a, &op.b].map(|view| whole(&mut rng, view.source(), DType::F64));
            assert_exact(&format!("windows_{seed}_{k}"), &of_contract(&op, DType::F64), &inputs);
        }
        let [a, b] = [&op.a, &op.b].map(|view| Term::variable(view.source(), DType::F64));
        let y = Term::contract(&op, &a, &b);
        let axes: Vec<usize> = (0..y.shape().len()).collect();
        let loss = Term::contract(&Contract::axes(y.shape(), &axes, &axes, &[]), &y, &y);
        let gradient = symbolic::grad(&Term::program(&[a, b], &[loss], &[]).expect("it is closed"));
        let inputs = [&op.a, &op.b].map(|view| whole(&mut rng, view.source(), DType::F64));
        for (form, program) in [("gradient", optimize(&gradient)), ("recorded", gradient)] {
            assert_exact(&format!("windows_{seed}_{form}"), &program, &inputs);
        }
    }
}
