//! Laplacians, sums of second derivatives along directions, and divergences.
//!
//! Laws: the Laplacian is the trace of the Hessian and the divergence of the gradient, and the divergence the trace of the
//! Jacobian, of each row of a table and each objective of the gallery; the Laplacian is linear, and rotations do not change
//! it. Along a direction the sum is twice the second Taylor coefficient. There is one second derivative for all
//! directions, also in loops.

use polygrad::inspect::count;
use polygrad::ops::{Binary, Unary};
use polygrad::program::{Op, Program, Slot, Term, interpret};
use polygrad::tree::Stacked;
use polygrad::{
    Array, BaseTensor, Concrete, DType, Function, Jit, Tensor, Tree, concat, custom_jvp, divergence, divergence_with,
    fold, grad, hessian, hessian_diagonal, hessian_matrix_with, iterate, jacobian, laplacian, laplacian_along,
    laplacian_along_with, laplacian_with, map, symbolic, taylor_with, tensor, while_loop,
};

use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};
use crate::support::{assert_close, assert_near};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

fn trace(matrix: &Matrix<Concrete>) -> f64 {
    (0..matrix.shape()[0]).map(|k| matrix.at([k, k]).item()).sum()
}

/// The objectives of the gallery for which the law does not hold.
#[derive(Default)]
struct Gallery(Vec<String>);

fn direction(x: &Leaves<Array>, seed: u64) -> Leaves<Array> {
    let mut rng = polygrad::array::Rng::new(seed);
    x.map(&mut |leaf| match leaf.dtype() {
        DType::F32 => rng.uniform_as::<f32, _>(leaf.shape(), -1.0, 1.0),
        DType::F64 => rng.uniform(leaf.shape(), -1.0, 1.0),
        other @ (DType::I64 | DType::Bool) => panic!("an input has elements {other}"),
    })
}

impl Gallery {
    fn look(&mut self, case: &Recorded) {
        let (x, data) = (&case.x, &case.data);
        let f = case.eval;
        let v = [1, 2].map(|seed| direction(x, seed));
        let second = |v: &Leaves<Array>| 2.0 * taylor_with(f, x, v, data, 2)[2].item();
        let each = v.each_ref().map(second);
        let size = each.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        let mut near = |what: &str, a: f64, b: f64, size: f64| {
            // In f32, second derivatives of quotients are sums of terms that cancel.
            let bound = if case.tolerance > 1e-6 { 50.0 } else { 10.0 } * case.tolerance * size;
            if a.is_nan() || (a - b).abs() > bound {
                self.0.push(format!("{}, {what}: {a:e} and {b:e} differ by more than {bound:e}", case.name));
            }
        };
        let along = laplacian_along_with(f, x, &Stacked::new(&v), data).item();
        near("along directions", along, each.iter().sum(), size);
        // A Hessian takes as many passes as there are numbers.
        if x.ravel().shape()[0] <= 6 {
            let hessian = hessian_matrix_with(f, x, data);
            let all = (0..hessian.shape()[0]).map(|k| hessian.at([k, k]).item().abs());
            let size = all.fold(size, f64::max);
            near("the trace", laplacian_with(f, x, data).item(), trace(&hessian), size);
        }
    }
}

impl Visitor for Gallery {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn objectives_have_the_trace_of_their_hessians() {
    let failures: Vec<String> = gallery::each_apart::<Gallery>().into_iter().flat_map(|g| g.0).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Points in the domain of a row, and one at each end.
fn points((lo, hi): (f64, f64)) -> [f64; 4] {
    [lo + 0.3 * (hi - lo), lo + 0.8 * (hi - lo), lo, hi]
}

#[test]
fn rows_bend_as_their_series_do() {
    let directions = tensor([[0.7, -0.2], [0.1, 0.9], [-1.3, 0.4]]);
    let of_each = |f: &dyn Fn(&Vector<Term>) -> Number<Term>, x: &Vector<Concrete>| {
        let second = |k: usize| 2.0 * taylor_with(|x, _: &()| f(x), x, &directions.row(k), &(), 2)[2].item();
        (second(0) + second(1) + second(2), laplacian_along(f, x, &directions).item())
    };
    for op in Unary::ALL {
        for x in &points(op.domain())[..2] {
            let f = |x: &Vector<Term>| Number::from_raw((x.at([0]) + x.at([1]) * 0.5).raw().unary(*op));
            let (each, all) = of_each(&f, &tensor([*x - 0.05, 0.1]));
            assert_near(&format!("{op:?} at {x}"), all, each, 1e-12);
        }
    }
    for op in Binary::ALL {
        let [first, second] = op.domain();
        for (x, y) in points(first).into_iter().zip(points(second)).take(2) {
            let f = |x: &Vector<Term>| Number::from_raw(x.at([0]).raw().binary(*op, x.at([1]).raw()));
            let (each, all) = of_each(&f, &tensor([x, y]));
            assert_near(&format!("{op:?} at {x}, {y}"), all, each, 1e-12);
            let same = |x: &Vector<Term>| Number::from_raw(x.at([0]).raw().binary(*op, x.at([0]).raw()));
            let (each, all) = of_each(&same, &tensor([x, y]));
            if !each.is_nan() || !all.is_nan() {
                assert_near(&format!("{op:?} of one number {x}"), all, each, 1e-12);
            }
        }
    }
}

/// Where partials are infinite, an operand that does not move gives zero.
#[test]
fn still_operands_give_zero() {
    let f = |x: &Vector<_>| (x.at([0]).sqrt() + x.at([0]).ln()) * x.at([1]) + x.at([1]).square() / x.at([2]);
    let x = tensor([0.0, 2.0, 3.0]);
    assert_eq!(laplacian_along(f, &x, &tensor([[0.0, 0.0, 0.0]])).item(), 0.0);
    let one_moves = laplacian_along(|x: &Vector<_>| f(x).sum(), &tensor([1.0, 2.0, 3.0]), &tensor([[0.0, 3.0, 0.0]]));
    assert_near("one moves", one_moves.item(), 9.0 * 2.0 / 3.0, 1e-14);
    assert_eq!(laplacian(|x: &Number<_>| x.relu() + x.abs(), &tensor(0.0)).item(), 0.0);
}

/// Exact for polynomials of integers.
#[test]
fn polynomials_have_their_laplacians() {
    let x = tensor([1.0, -2.0, 3.0]);
    let norm = |x: &Vector<Term>| x.dot(x);
    assert_eq!(laplacian(norm, &x).item(), 6.0);
    // Of |x|^4 it is 4 (n + 2) |x|^2, and its own Laplacian is 8 n (n + 2).
    let fourth = |x: &Vector<Term>| norm(x).square();
    assert_eq!(laplacian(fourth, &x).item(), 20.0 * 14.0);
    assert_eq!(laplacian(|x: &Vector<_>| laplacian(fourth, x), &x).item(), 120.0);
    let saddle = |x: &Vector<_>| x.at([0]).square() - x.at([1]).square() + x.at([0]) * x.at([2]) * 7.0;
    assert_eq!(laplacian(saddle, &x).item(), 0.0);
    // Each result of a tree has its own.
    let several = |x: &Vector<_>| (x.powi(3), x.sum(), x.gt(0.0), x.at([0]).square());
    let (cubes, sum, mask, square) = laplacian(several, &x);
    assert_eq!((cubes, sum.item(), square.item()), (tensor([6.0, -12.0, 18.0]), 0.0, 2.0));
    assert_eq!(mask, tensor([false, false, false]));
    // Of trees, with data.
    let of_both = |(a, b): &(Number<_>, Matrix<_>), c: &Number<_>| a.square() * c + b.square().sum() * a;
    let at = (tensor(2.0), tensor([[1.0, 2.0], [3.0, 4.0]]));
    assert_eq!(laplacian_with(of_both, &at, &tensor(5.0)).item(), 2.0 * 5.0 + 2.0 * 2.0 * 4.0);
}

fn network<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    let weights = |rows: usize, columns: usize, s: f64| {
        Tensor::constant(Tensor::<Concrete, 2>::from_fn([rows, columns], |[i, j]| (s + (5 * i + 3 * j) as f64).sin()))
    };
    let columns = x.shape()[0];
    let hidden = weights(7, columns, 0.3).matvec(x).tanh();
    weights(columns, 7, 0.9).matvec(&(hidden.exp() / (1.0 + hidden.square())))
}

#[test]
fn rotations_do_not_change_it() {
    let (c, s) = (0.6, 0.8);
    let turn = tensor([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]);
    let x = tensor([0.3, -0.7, 0.2]);
    let turned = laplacian_with(|x: &Vector<_>, q: &Matrix<_>| network(&q.matvec(x)), &x, &turn);
    assert_close("turned", turned.raw(), laplacian(network, &turn.matvec(&x)).raw(), 1e-13);
    let along = laplacian_along(network, &x, &turn);
    assert_close("an orthonormal basis", along.raw(), laplacian(network, &x).raw(), 1e-13);
}

#[test]
fn it_is_linear() {
    let x = tensor([0.3, -0.7, 0.2]);
    let (f, g) = (|x: &Vector<Term>| network(x).square().sum(), |x: &Vector<Term>| (x.exp() * network(x)).sum());
    let both = laplacian(|x: &Vector<_>| f(x) * 3.0 - g(x) * 0.5, &x).item();
    assert_near("sum", both, 3.0 * laplacian(f, &x).item() - 0.5 * laplacian(g, &x).item(), 1e-13);
    // Directions add up.
    let [v, w] = [tensor([[1.0, 2.0, 0.5]]), tensor([[0.1, -1.0, 3.0], [0.0, 0.2, 0.4]])];
    let all = laplacian_along(f, &x, &concat(0, [&v, &w]));
    assert_near("directions", all.item(), (laplacian_along(f, &x, &v) + laplacian_along(f, &x, &w)).item(), 1e-13);
}

#[test]
fn divergences_are_traces() {
    let x = tensor([0.3, -0.7, 0.2, 1.1]);
    let jacobian: Matrix<_> = jacobian(network, &x);
    assert_near("a field", divergence(network, &x).item(), trace(&jacobian), 1e-13);
    let loss = |x: &Vector<Term>| network(x).square().sum();
    let of_gradient = divergence(|x: &Vector<_>| grad(loss, x), &x).item();
    assert_near("a gradient", of_gradient, laplacian(loss, &x).item(), 1e-12);
    let diagonal = hessian_diagonal(loss, &x).run(&x).expect("the point").elements.iter().map(|e| e.2).sum();
    assert_near("the diagonal", diagonal, of_gradient, 1e-12);
    let hessian: Matrix<_> = hessian(loss, &x);
    assert_near("the Hessian", trace(&hessian), of_gradient, 1e-12);
    // Of any rank, and of 32 bits; with data.
    let of_matrix = divergence(|x: &Matrix<_>| x.matmul(x), &tensor([[1.0, 2.0], [3.0, 4.0]]));
    assert_eq!(of_matrix.item(), 20.0);
    let of_number = divergence_with(|x: &Number<_>, a: &Number<_>| x.square() * a, &tensor(3.0), &tensor(0.5));
    assert_eq!(of_number.item(), 3.0);
    assert_eq!(divergence(|x: &Tensor<_, 1, f32>| x.square(), &tensor([1f32, 2.0])).item(), 6f32);
    assert_eq!(divergence(|x: &Vector<_>| x.square(), &Vector::<Concrete>::zeros([0])).item(), 0.0);
}

#[test]
fn narrow_numbers_and_empty_axes() {
    let (x, none) = (tensor([1f32, 2.0]), Vector::<Concrete>::zeros([0]));
    assert_eq!(laplacian(|x: &Tensor<_, 1, f32>| x.powi(3).sum(), &x).item(), 18f32);
    assert_eq!(laplacian(|x: &Tensor<_, 1, f32>| x.cast::<f64>().powi(3).sum(), &x).item(), 18.0);
    assert_eq!(laplacian(|x: &Vector<_>| x.square().sum() + 1.0, &none).item(), 0.0);
    assert_eq!(laplacian(|x: &Vector<_>| x.square().sum(), &tensor([5.0])).item(), 2.0);
    assert_eq!(laplacian_along(|x: &Vector<_>| x.square().sum(), &tensor([5.0]), &Tensor::zeros([0, 1])).item(), 0.0);
    let rows = |x: &Matrix<_>| x.square().sum_axis(0);
    assert_eq!(laplacian(rows, &Matrix::<Concrete>::zeros([0, 3])), tensor([0.0, 0.0, 0.0]));
    assert_eq!(laplacian(rows, &Matrix::<Concrete>::zeros([1, 1])), tensor([2.0]));
    // Integers and masks stand beside floats.
    let mixed = |(x, k): &(Vector<_>, Tensor<_, 1, i64>)| (x * k.to_float()).square().sum();
    assert_eq!(laplacian(mixed, &(tensor([1.0, 2.0]), tensor([3, 5]))).item(), 68.0);
}

#[test]
fn loops_carry_one_sum() {
    let x = tensor([0.3, -0.7, 0.2]);
    let unrolled = |x: &Vector<Term>| {
        let mut y = x.clone();
        for _ in 0..4 {
            y = network(&y);
        }
        y.sum()
    };
    let looped = |x: &Vector<Term>| iterate(4, x.clone(), |_, y: Vector<_>| network(&y)).sum();
    assert_near("a loop", laplacian(looped, &x).item(), laplacian(unrolled, &x).item(), 1e-11);
    // Over a sequence that moves, with outputs, and captured values that move.
    let rows = |x: &Matrix<Term>| {
        let scale = x.at([0, 0]);
        fold(x.at([1, 1]), x, |c: Number<_>, row: &Vector<_>| (c * row.sum().tanh() + &scale) / (1.0 + row.dot(row)))
    };
    let at = tensor([[0.3, -0.7], [0.2, 0.9], [1.1, -0.4]]);
    let hessian: Tensor<_, 4> = hessian(rows, &at);
    let trace: f64 =
        (0..3).flat_map(|i| (0..2).map(move |j| (i, j))).map(|(i, j)| hessian.at([i, j, i, j]).item()).sum();
    assert_near("rows", laplacian(rows, &at).item(), trace, 1e-12);
    let outputs = |x: &Matrix<_>| map(x, |row: &Vector<_>| network(row));
    let each = map(&at, |row: &Vector<_>| laplacian(|x: &Vector<_>| network(x), row));
    assert_close("rows apart", laplacian(outputs, &at).raw(), each.raw(), 1e-12);
    // Newton's method for a square root, which ends by itself.
    let root = |x: &Number<Term>| {
        let go = |c: &Number<_>| (c * c - x).abs().gt(1e-12);
        while_loop(x * 0.5 + 1.0, go, |y: Number<_>| (&y + x / &y) * 0.5)
    };
    let known = -0.25 * 2f64.powf(-1.5);
    assert!((laplacian(root, &tensor(2.0)).item() - known).abs() < 1e-6);
}

#[test]
fn rules_of_users_are_used() {
    // The rule says that the slope is that of the cube, twice.
    let cube =
        |x: &Number<Term>| custom_jvp("cube", |x: &Number<_>| x.powi(3), |x, _, x_dot| x.square() * x_dot * 6.0, x);
    assert_eq!(laplacian(cube, &tensor(2.0)).item(), 24.0);
    let moved = |x: &Vector<_>| cube(&(x.at([0]).square() + x.at([1])));
    // f = 2 u^3 with u = x^2 + y: f_xx + f_yy = 12 u (4 x^2 + 1) + 6 u^2 2.
    assert_eq!(laplacian(moved, &tensor([1.0, 2.0])).item(), 12.0 * 3.0 * 5.0 + 6.0 * 9.0 * 2.0);
}

#[test]
fn every_home_agrees() {
    let x = tensor([0.3, -0.7, 0.2]);
    let plain = laplacian(network, &x);
    let f = Function::laplacian(network, &x);
    assert_close("Function", f.run(&x).expect("its shape").raw(), plain.raw(), 1e-14);
    assert_close("Jit", Jit::laplacian(network).call(&x).raw(), plain.raw(), 1e-14);
    let program = symbolic::laplacian(Function::stage(network, &x).program());
    assert_close("symbolic", &interpret(&program, vec![x.raw().clone()])[0], plain.raw(), 1e-13);
    let v = tensor([[1.0, 0.5, 0.2], [0.1, 0.1, 2.0]]);
    let along = laplacian_along(network, &x, &v);
    let f = Function::laplacian_along(network, &x, &v);
    assert_close("Function, along", f.run_with(&x, &v).expect("its shape").raw(), along.raw(), 1e-14);
    assert_close("Jit, along", Jit::laplacian_along(network).call_with(&x, &v).raw(), along.raw(), 1e-14);
    let divergences =
        [Function::divergence(network, &x).run(&x).expect("its shape"), Jit::divergence(network).call(&x)];
    for d in divergences {
        assert_near("divergence", d.item(), divergence(network, &x).item(), 1e-14);
    }
}

/// A network of a point.
fn learned<T: BaseTensor>((a, b, c): &Parameters<T>, x: &Vector<T>) -> Number<T> {
    b.matvec(&a.matvec(x).tanh()).tanh().dot(c)
}

type Parameters<T> = (Matrix<T>, Matrix<T>, Vector<T>);

fn parameters(inputs: usize, width: usize) -> Parameters<Concrete> {
    let weights = |shape: [usize; 2], s: f64| {
        let scale = 1.0 / (shape[1] as f64).sqrt();
        Tensor::from_fn(shape, |[i, j]| scale * (s + (7 * i + 3 * j) as f64).sin())
    };
    let last = Tensor::from_fn([width], |[i]| (0.2 + i as f64).cos());
    (weights([width, inputs], 0.1), weights([width, width], 0.5), last)
}

fn samples(n: usize, inputs: usize) -> Matrix<Concrete> {
    Tensor::from_fn([n, inputs], |[i, j]| ((3 * i + 5 * j) as f64).sin())
}

/// A network that learns a differential equation: the gradient in the parameters of a loss of Laplacians.
#[test]
fn losses_of_laplacians_have_gradients() {
    let (p, x) = (parameters(3, 4), samples(5, 3));
    let by = |laplacian: fn(&Parameters<Term>, &Vector<Term>) -> Number<Term>| {
        move |p: &Parameters<Term>, x: &Matrix<Term>| {
            map(x, |x: &Vector<_>| (laplacian(p, x) - x.sum()).square()).mean()
        }
    };
    let collapsed = by(|p, x| laplacian_with(|x: &Vector<_>, p: &Parameters<Term>| learned(p, x), x, p));
    let nested = by(|p, x| {
        let hessian: Matrix<_> = polygrad::hessian_with(|x: &Vector<_>, p: &Parameters<Term>| learned(p, x), x, p);
        hessian.trace()
    });
    let [a, b] = [Function::value_and_grad_with(collapsed, &p, &x), Function::value_and_grad_with(nested, &p, &x)];
    let [(y, g), (z, h)] = [a, b].map(|f| f.run_with(&p, &x).expect("its shapes"));
    assert_near("the loss", y.item(), z.item(), 1e-12);
    for (g, h) in g.leaves().iter().zip(h.leaves()) {
        assert_close("its gradient", g, &h, 1e-11);
    }
}

/// Elements computed or moved by the program of a function.
fn work(program: &Program) -> u64 {
    let zeros = |slot: &Slot| Array::zeros(&slot.shape, slot.dtype);
    let inputs: Vec<Array> = program.inputs().iter().map(zeros).collect();
    let run = |x: &Leaves<_>| Leaves(interpret(program, x.0.clone()));
    count(run, &Leaves(inputs)).1.total().work
}

/// For each direction a first derivative, but one second derivative for all: the square of the width enters with one
/// product for each direction and few beside these.
#[test]
fn the_second_derivatives_are_summed_early() {
    let (inputs, width) = (20, 24);
    let (p, x) = (parameters(inputs, width), samples(1, inputs).row(0));
    let f = |x: &Vector<_>, p: &Parameters<Term>| learned(p, x);
    let value = work(Function::stage_with(f, &x, &p).optimized());
    let collapsed = Function::laplacian_with(f, &x, &p);
    let nested = Function::stage_with(
        |x: &Vector<_>, p: &Parameters<Term>| {
            let hessian: Matrix<_> = polygrad::hessian_with(f, x, p);
            hessian.trace()
        },
        &x,
        &p,
    );
    let [one, all] = [collapsed.optimized(), nested.optimized()].map(work);
    // A multiplication and an addition for each direction and each weight between the layers, and few elements beside
    // these: a stack of second derivatives would double them.
    let products = 2 * (inputs * width * width) as u64;
    let bound = products + 4 * value;
    assert!(one < bound, "{one} elements, not below {bound}\n{}", collapsed.optimized());
    // The rules find the same in series along all directions, of which the last coefficients are summed.
    let series = Function::stage_with(
        |x: &Vector<_>, p: &Parameters<Term>| {
            let along = |v: &Vector<Term>| taylor_with(f, x, v, p, 2).swap_remove(2);
            map(Matrix::eye(inputs), along).sum() * 2.0
        },
        &x,
        &p,
    );
    let found = work(series.optimized());
    assert!(found < bound + 2 * (inputs * inputs * width) as u64, "{found} elements\n{}", series.optimized());
    assert!(2 * one < all, "{one} elements, and {all} with nested modes");
}

/// No value of the loop is a stack of second derivatives: the loop carries a state, its tangents, and one sum.
#[test]
fn a_loop_carries_no_stack_of_second_derivatives() {
    let x = samples(1, 9).row(0);
    let f = |x: &Vector<_>| iterate(5, x.clone(), |_, y: Vector<_>| network(&y)).sum();
    let program = symbolic::laplacian(Function::stage(f, &x).program());
    let mut carried = Vec::new();
    for node in program.nodes() {
        if let Op::Loop(l) = &node.op {
            carried.push(l.body.inputs()[..l.init.len()].iter().map(|slot| slot.shape.to_vec()).collect::<Vec<_>>());
        }
    }
    assert!(carried.contains(&vec![vec![9], vec![9, 9], vec![9]]), "{carried:?}\n{program}");
}
