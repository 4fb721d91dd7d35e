//! Derivatives: a gradient costs a few times its function, optimized programs at most what was recorded, and nested verbs
//! at most what the verb of `Function` costs.

use std::hint::black_box;

use polygrad::backend::compile;
use polygrad::program::Program;
use polygrad::{Array, BaseTensor, Concrete, Conv, Function, Tensor, einsum, grad, hessian, iterate, jacobian};

use crate::Law;
use crate::count::Side;

type M<T> = Tensor<T, 2>;
type N<T> = Tensor<T, 0>;

fn matrix(shape: [usize; 2]) -> M<Concrete> {
    Tensor::from_raw(Array::uniform(&shape, 0.1, 1.0, 3))
}

fn run(program: &Program, x: &M<Concrete>) -> impl FnMut() + use<> {
    let (compiled, inputs) = (compile(program), vec![x.raw().clone()]);
    move || drop(black_box(compiled.run(&inputs)))
}

/// The laws of a scalar function of a matrix; `times` is the most that value and gradient cost, in values.
macro_rules! scalar {
    ($laws:ident, $name:literal, $shape:expr, $times:expr, $f:expr) => {{
        let value = |name: &str| {
            Side::new(format!("{}, {name}", $name), || {
                let x = matrix($shape);
                let f = Function::stage($f, &x);
                move || drop(black_box(f.run(&x)))
            })
        };
        let gradient = || {
            Side::new(concat!($name, ", gradient"), || {
                let x = matrix($shape);
                let f = Function::value_and_grad($f, &x);
                move || drop(black_box(f.run(&x)))
            })
        };
        $laws.push(Law { kind: "gradient", factor: $times, whole: gradient(), parts: vec![(1.0, value("value"))] });
        let recorded = Side::new(concat!($name, ", recorded"), || {
            let x = matrix($shape);
            run(Function::grad($f, &x).program(), &x)
        });
        let optimized = Side::new(concat!($name, ", optimized"), || {
            let x = matrix($shape);
            run(Function::grad($f, &x).optimized(), &x)
        });
        $laws.push(Law { kind: "optimized", factor: 1.02, whole: optimized, parts: vec![(1.0, recorded)] });
        let direct = Side::new(concat!($name, ", gradient alone"), || {
            let x = matrix($shape);
            let f = Function::grad($f, &x);
            move || drop(black_box(f.run(&x)))
        });
        let nested = Side::new(concat!($name, ", nested gradient"), || {
            let x = matrix($shape);
            let f = Function::stage(|x: &M<_>| grad($f, x), &x);
            move || drop(black_box(f.run(&x)))
        });
        $laws.push(Law { kind: "nested", factor: 1.02, whole: nested, parts: vec![(1.0, direct)] });
    }};
}

fn attention<T: BaseTensor>(x: &M<T>) -> N<T> {
    let scores = x.matmul(&x.t::<0>()) / 4.0;
    scores.softmax::<1>(1).matmul(x).square().sum()
}

fn layer_norm<T: BaseTensor>(x: &M<T>) -> N<T> {
    let centered = x - x.mean_axis::<1>(1).insert_axis::<2>(1);
    let scale = (x.var_axis::<1>(1) + 1e-5).sqrt().insert_axis::<2>(1);
    (centered / scale).tanh().sum()
}

fn convolved<T: BaseTensor>(x: &M<T>) -> N<T> {
    let image: Tensor<T, 4> = x.reshape([1, 1, 48, 64]);
    let kernel: Tensor<T, 4> = x.slice(0, ..1).slice(1, ..36).reshape([4, 1, 3, 3]);
    image.conv2d(&kernel, Conv::default().padding([1, 1])).square().sum()
}

fn heat<T: BaseTensor>(x: &M<T>) -> N<T> {
    let step = |y: M<T>| &y + 0.2 * (y.roll(1, 1) + y.roll(1, -1) - 2.0 * &y);
    iterate(20, x.clone(), |_, y| step(y)).square().sum()
}

pub(crate) fn laws() -> Vec<Law> {
    let mut laws = Vec::new();
    scalar!(laws, "attention", [40, 16], 4.0, attention);
    scalar!(laws, "layer norm", [100, 30], 4.0, layer_norm);
    scalar!(laws, "convolution", [48, 64], 4.2, convolved);
    scalar!(laws, "heat", [30, 40], 4.0, heat);
    scalar!(laws, "logsumexp", [200, 30], 4.0, |x: &M<_>| x.logsumexp_axis::<1>(1).sum());
    scalar!(laws, "running sums", [100, 30], 4.0, |x: &M<_>| x.cumsum(1).square().sum());
    scalar!(laws, "running products", [100, 30], 4.5, |x: &M<_>| x.cumprod(1).sum());
    scalar!(laws, "running maxima", [100, 30], 4.0, |x: &M<_>| x.cummax(1).square().sum());
    scalar!(laws, "sort", [50, 30], 4.0, |x: &M<_>| (x.sort(1).cumsum(1)).square().sum());
    // A factorization takes a third of the products of an inverse.
    scalar!(laws, "determinant", [20, 20], 5.5, |x: &M<_>| {
        let a: M<_> = x + 20.0 * Tensor::eye(20);
        a.det::<0>().ln()
    });
    scalar!(laws, "products of rows", [60, 8], 4.0, |x: &M<_>| {
        let each: Tensor<_, 3> = einsum("bi,bj->bij", [x, x]);
        each.tanh().sum()
    });
    nested_matrices(&mut laws);
    laws
}

/// The Hessian of a function of a vector and the Jacobian of another, nested and by the verbs of `Function`.
fn nested_matrices(laws: &mut Vec<Law>) {
    fn scalar<T: BaseTensor>(x: &Tensor<T, 1>) -> N<T> {
        (x.square().sum() + 1.0).ln() * x.prod()
    }
    fn vector<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
        x.softmax::<0>(0)
    }
    let x = || matrix([1, 12]).flatten();
    macro_rules! sides {
        ($name:literal, $direct:expr, $nested:expr) => {{
            let part = Side::new($name, move || {
                let x = x();
                let f = $direct(&x);
                move || drop(black_box(f.run(&x)))
            });
            let whole = Side::new(concat!($name, ", nested"), move || {
                let x = x();
                let f = Function::stage(|x: &Tensor<_, 1>| -> M<_> { $nested(x) }, &x);
                move || drop(black_box(f.run(&x)))
            });
            laws.push(Law { kind: "nested", factor: 1.02, whole, parts: vec![(1.0, part)] });
        }};
    }
    sides!("Hessian", |x| Function::hessian(scalar, x), |x| hessian(scalar, x));
    sides!("Jacobian", |x| Function::jacobian(vector, x), |x| jacobian(vector, x));
}
