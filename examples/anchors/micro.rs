//! Small array programs: one idea each.

use polygrad::{BaseTensor, Concrete, Tensor, build, build1, iterate, scan, tensor};

use super::inputs::Inputs;
use super::measure::{Case, Cases, Workload};

const N: usize = 1_000_000;

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Number<T> = Tensor<T, 0>;

/// Elementwise functions, one after the other.
fn chain<T: BaseTensor>(x: &Vector<T>, _: &()) -> Number<T> {
    (x.sin() * (-x.square()).exp() + x.square().log1p()).sum()
}

fn dot<T: BaseTensor>((x, y): &(Vector<T>, Vector<T>), _: &()) -> Number<T> {
    x.dot(y)
}

fn reversed<T: BaseTensor>(x: &Vector<T>, _: &()) -> Number<T> {
    x.dot(&x.reverse(0))
}

/// A matrix product, written element by element.
fn by_elements<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Matrix<T> {
    build([a.dim::<0>(), b.dim::<1>()], |[i, j]| build1(a.dim::<1>(), |k| a.at([i, k]) * b.at([k, j])).sum())
}

fn product_by_elements<T: BaseTensor>((a, b): &(Matrix<T>, Matrix<T>), _: &()) -> Number<T> {
    by_elements(a, b).sum()
}

fn square_by_elements<T: BaseTensor>((a, b): &(Matrix<T>, Matrix<T>), _: &()) -> Number<T> {
    by_elements(a, b).square().sum()
}

fn product<T: BaseTensor>((a, b): &(Matrix<T>, Matrix<T>), _: &()) -> Number<T> {
    a.matmul(b).sum()
}

fn square<T: BaseTensor>((a, b): &(Matrix<T>, Matrix<T>), _: &()) -> Number<T> {
    a.matmul(b).square().sum()
}

fn cross_entropy<T: BaseTensor>(z: &Matrix<T>, labels: &Tensor<T, 1, i64>) -> Number<T> {
    z.cross_entropy(1, labels).mean()
}

/// Heat in a square plate with cold edges, by explicit steps. Neighbours outside of the plate are read as 0.
fn heat<T: BaseTensor>(start: &Matrix<T>, _: &()) -> Number<T> {
    let [rows, columns] = start.shape();
    let end = iterate(100, start, |_, u: Matrix<T>| {
        build([rows, columns], |[i, j]| {
            let around = u.at((i - 1, j)) + u.at((i + 1, j)) + u.at((i, j - 1)) + u.at((i, j + 1));
            let here = u.at([i, j]);
            &here + 0.1 * (around - 4.0 * &here)
        })
    });
    end.square().sum()
}

fn logsumexp<T: BaseTensor>(x: &Vector<T>, _: &()) -> Number<T> {
    x.logsumexp()
}

/// `h' = tanh(a h + x)`, and the sum of all states but the first.
fn recurrence<T: BaseTensor>((a, start, x): &(Number<T>, Number<T>, Vector<T>), _: &()) -> Number<T> {
    let states: Vector<T> = scan(start, x, |h: Number<T>, x: &Number<T>| (a * h + x).tanh());
    states.slice(0, 1..).sum()
}

/// The same, with vectors for states.
fn recurrence_of_vectors<T: BaseTensor>((a, start, x): &(Vector<T>, Vector<T>, Matrix<T>), _: &()) -> Number<T> {
    let states: Matrix<T> = scan(start, x, |h: Vector<T>, x: &Vector<T>| (a * h + x).tanh());
    states.slice(0, 1..).sum()
}

/// Two square matrices.
fn square_matrices(inputs: &Inputs, seed: u64, n: usize) -> (Matrix<Concrete>, Matrix<Concrete>) {
    (inputs.uniform(seed, [n, n], -1.0, 1.0), inputs.uniform(seed + 1, [n, n], -1.0, 1.0))
}

/// The workloads of this family.
pub(crate) fn workloads() -> Vec<Workload> {
    let all: [(_, Cases); 12] = [
        ("C1.chain.1e6", |inputs| Case::gradient(chain, inputs.uniform(6001, [N], -2.0, 2.0), ())),
        ("C2.dot.1e6", |inputs| {
            let (x, y) = (inputs.uniform(6002, [N], -1.0, 1.0), inputs.uniform(6003, [N], -1.0, 1.0));
            Case::gradient(dot, (x, y), ())
        }),
        ("C3.revdot.1e6", |inputs| Case::gradient(reversed, inputs.uniform(6004, [N], -1.0, 1.0), ())),
        ("C4.matmul_naive256.sum", |inputs| {
            Case::gradient(product_by_elements, square_matrices(inputs, 6100, 256), ())
        }),
        ("C4.matmul512.sum", |inputs| Case::gradient(product, square_matrices(inputs, 6110, 512), ())),
        ("C4.matmul_naive256.sumsq", |inputs| {
            Case::gradient(square_by_elements, square_matrices(inputs, 6100, 256), ())
        }),
        ("C4.matmul512.sumsq", |inputs| Case::gradient(square, square_matrices(inputs, 6110, 512), ())),
        ("C5.softmax_xent.1024x1000", |inputs| {
            let logits = inputs.uniform(6200, [1024, 1000], -4.0, 4.0);
            Case::gradient(cross_entropy, logits, inputs.integers(6201, [1024], 1000))
        }),
        ("C7.heat.256x100", |inputs| Case::gradient(heat, inputs.uniform(6400, [256, 256], 0.0, 1.0), ())),
        ("C8.logsumexp.1e6", |inputs| Case::gradient(logsumexp, inputs.uniform(6500, [N], -5.0, 5.0), ())),
        ("C9.recur_scalar.T1e4", |inputs| {
            let x = inputs.uniform(6600, [10_000], -1.0, 1.0);
            Case::gradient(recurrence, (tensor(0.9), tensor(0.1), x), ())
        }),
        ("C9.recur_vec128.T1e3", |inputs| {
            let (a, start) = (inputs.uniform(6601, [128], 0.5, 1.0), inputs.uniform(6602, [128], -1.0, 1.0));
            Case::gradient(recurrence_of_vectors, (a, start, inputs.uniform(6603, [1000, 128], -1.0, 1.0)), ())
        }),
    ];
    all.map(|(name, cases)| Workload { name, cases }).into()
}
