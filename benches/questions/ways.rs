//! Does the way in which a function is written matter: on whole arrays, element by element, sum by sum?

use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, build, build1, einsum};

use crate::harness::{case, compare};

const SAMPLES: usize = 200;
const GAUSSIANS: usize = 10;
const AXES: usize = 8;

/// The logarithms of weights, means, and roots of inverse covariances of Gaussians.
type Mixture<T> = (Tensor<T, 1>, Tensor<T, 2>, Tensor<T, 3>);

fn bulk<T: BaseTensor>((alphas, means, roots): &Mixture<T>, x: &Tensor<T, 2>) -> Tensor<T, 0> {
    let apart = x.insert_axis::<3>(0) - means.insert_axis::<3>(1);
    let scaled: Tensor<T, 3> = einsum!("knj,kij->kni", apart, roots);
    let inner = alphas.insert_axis::<2>(1) - 0.5 * scaled.square().sum_axis::<2>(2);
    inner.logsumexp_axis::<1>(0).sum()
}

fn by_index<T: BaseTensor>((alphas, means, roots): &Mixture<T>, x: &Tensor<T, 2>) -> Tensor<T, 0> {
    let of = |n: &Tensor<T, 0, i64>, k: &Tensor<T, 0, i64>| {
        let apart: Tensor<T, 1> = x.at([n]) - means.at([k]);
        let root: Tensor<T, 2> = roots.at([k]);
        let weight: Tensor<T, 0> = alphas.at([k]);
        weight - 0.5 * root.matvec(&apart).square().sum()
    };
    let each: Tensor<T, 1> = build1(SAMPLES, |n| {
        let inner: Tensor<T, 1> = build1(GAUSSIANS, |k| of(n, k));
        inner.logsumexp()
    });
    each.sum()
}

fn every_sum_by_index<T: BaseTensor>((alphas, means, roots): &Mixture<T>, x: &Tensor<T, 2>) -> Tensor<T, 0> {
    let inner: Tensor<T, 2> = build([SAMPLES, GAUSSIANS], |[n, k]| {
        let squares: Tensor<T, 1> = build1(AXES, |i| {
            let products: Tensor<T, 1> = build1(AXES, |j| {
                let (root, x, mean): (Tensor<T, 0>, Tensor<T, 0>, Tensor<T, 0>) =
                    (roots.at([k, i, j]), x.at([n, j]), means.at([k, j]));
                root * (x - mean)
            });
            products.sum().square()
        });
        let weight: Tensor<T, 0> = alphas.at([k]);
        weight - 0.5 * squares.sum()
    });
    let each: Tensor<T, 1> = build1(SAMPLES, |n| {
        let row: Tensor<T, 1> = inner.at([n]);
        row.exp().sum().ln()
    });
    each.sum()
}

fn naive<T: BaseTensor>((a, b): &(Tensor<T, 2>, Tensor<T, 2>)) -> Tensor<T, 0> {
    let n = a.shape()[0];
    let product: Tensor<T, 2> = build([n, n], |[i, j]| {
        let terms: Tensor<T, 1> = build1(n, |k| {
            let (x, y): (Tensor<T, 0>, Tensor<T, 0>) = (a.at([i, k]), b.at([k, j]));
            x * y
        });
        terms.sum()
    });
    product.square().sum()
}

pub(crate) fn run() {
    let array = |shape: &[usize], seed| Array::uniform(shape, -1.0, 1.0, seed);
    let mixture: Mixture<Concrete> = (
        Tensor::constant(array(&[GAUSSIANS], 1)),
        Tensor::constant(array(&[GAUSSIANS, AXES], 2)),
        Tensor::constant(array(&[GAUSSIANS, AXES, AXES], 3)),
    );
    let x: Tensor<Concrete, 2> = Tensor::constant(array(&[SAMPLES, AXES], 4));
    let ways = [
        Function::value_and_grad_with(bulk, &mixture, &x),
        Function::value_and_grad_with(by_index, &mixture, &x),
        Function::value_and_grad_with(every_sum_by_index, &mixture, &x),
    ];
    let units = SAMPLES * GAUSSIANS * AXES * AXES;
    let names = ["on whole arrays", "by index", "every sum by index"];
    let cases = names.iter().zip(&ways).map(|(name, f)| case(*name, units, || f.run_with(&mixture, &x)));
    compare("ways to write: the gradient of a mixture of Gaussians", "element of a product", cases.collect());
    let n = 128;
    let factors: (Tensor<Concrete, 2>, Tensor<Concrete, 2>) =
        (Tensor::constant(array(&[n, n], 5)), Tensor::constant(array(&[n, n], 6)));
    let explicit = Function::value_and_grad(|(a, b)| a.matmul(b).square().sum(), &factors);
    let naive = Function::value_and_grad(naive, &factors);
    compare(
        "ways to write: the gradient of a product of matrices, 128 x 128",
        "multiplication and addition of the value",
        vec![
            case("matmul", n * n * n, || explicit.run(&factors)),
            case("element by element", n * n * n, || naive.run(&factors)),
        ],
    );
}
