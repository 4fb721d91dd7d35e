//! Sums of products, simplified: an axis that one factor alone has is summed first, products are multiplied in the
//! cheapest order, and sums that depend on no input are constants. For each rule, a program that it must leave alone.

use polygrad::interpreters::Ast;
use polygrad::ops::{Contract, Discrete, Linear, View};
use polygrad::passes::{Options, optimize, simplify, simplify_with};
use polygrad::program::{Op, Program, Term};
use polygrad::{BaseTensor, DType, Function, Tensor, build, build1, cond, symbolic};
use polygrad::{hessian_matrix_with, hessian_with, jacobian_matrix_with, jacobian_with};

use super::contractions::{matrix, prints, vector};
use crate::support::assert_close;

const N: usize = 32;
const SQUARE: &[usize] = &[N, N];

fn program(inputs: &[(&str, &[usize])], f: impl Fn(&[Ast]) -> Ast) -> Program {
    let variables: Vec<Term> = inputs.iter().map(|(_, shape)| Term::variable(shape, DType::F64)).collect();
    let names: Vec<String> = inputs.iter().map(|(name, _)| (*name).to_owned()).collect();
    Term::program(&variables, &[f(&variables)], &names).expect("closed")
}

/// The value and the gradients in every input, as they run.
fn gradient(program: &Program) -> Program {
    let all: Vec<usize> = (0..program.inputs().len()).collect();
    optimize(&symbolic::value_and_grad_in(program, &all))
}

#[test]
fn the_sum_of_a_matrix_product_is_a_dot_product_of_sums() {
    let p = program(&[("a", SQUARE), ("b", SQUARE)], |v| matrix(&v[0]).matmul(&matrix(&v[1])).sum().into_raw());
    prints(&optimize(&p), &["return dot (sum axis=0 a) (sum axis=1 b)"]);
    let gradients = "return (dot t0 t1, replicate [32] t1, replicate [32, 32] axis=0 t0)";
    prints(&gradient(&p), &["t0 = sum axis=0 a", "t1 = sum axis=1 b", gradients]);
}

#[test]
fn the_mean_of_an_affine_layer() {
    let p = program(&[("x", &[N, 20]), ("w", &[20, 10]), ("b", &[10])], |v| {
        (matrix(&v[0]).matmul(&matrix(&v[1])) + vector(&v[2]).replicate::<2>(N)).mean().into_raw()
    });
    prints(&optimize(&p), &["return (dot (sum axis=0 x) (sum axis=1 w) + 32.0 * sum b) / 320.0"]);
    let lines = [
        "t0 = sum axis=0 x",
        "t1 = sum axis=1 w",
        "return (",
        "(dot t0 t1 + 32.0 * sum b) / 320.0,",
        "replicate [32] (0.003125 * t1),",
        "replicate [20, 10] axis=0 (0.003125 * t0),",
        "f64[10](0.1),",
        ")",
    ];
    prints(&gradient(&p), &lines);
}

#[test]
fn terms_are_summed_together_unless_one_is_a_product_or_a_replica() {
    let p = program(&[("x", SQUARE), ("y", SQUARE)], |v| (matrix(&v[0]) - matrix(&v[1])).sum().into_raw());
    prints(&optimize(&p), &["return sum (x - y)"]);
    // Separate sums would cancel, and are no less work.
    let p = program(&[("x", SQUARE), ("y", SQUARE), ("z", SQUARE)], |v| {
        (matrix(&v[0]) * matrix(&v[1]) - matrix(&v[2])).sum().into_raw()
    });
    prints(&optimize(&p), &["return sum (x * y - z)"]);
}

#[test]
fn an_axis_of_one_factor_is_summed_first() {
    let contract = |shape: &[usize], a: &[usize], b: &[usize], out: &[usize]| Contract::axes(shape, a, b, out);
    let sizes: &[(&str, &[usize])] = &[("q", &[5, 100, 8]), ("r", &[8, 7, 5])];
    let p =
        program(sizes, |v| Ast::contract(&contract(&[5, 100, 8, 7], &[0, 1, 2], &[2, 3, 0], &[0, 3]), &v[0], &v[1]));
    let product = "t0 = contract [i<5, j<8, k<7] (sum axis=1 q)[i, j] * r[j, k, i] -> [i, k]";
    prints(&simplify(&p), &[product, "return t0"]);
    // With three rows alone, sum and dot product cost no less.
    let p = program(&[("a", &[3, 4]), ("x", &[4])], |v| {
        Ast::contract(&contract(&[3, 4], &[0, 1], &[1], &[]), &v[0], &v[1])
    });
    prints(&simplify(&p), &["return contract [i<3, j<4] a[i, j] * x[j] -> []"]);
    // For some `j` the window reads no element of `x`. There is no product with `w[j]` then, which may be infinite, so
    // the sum stays inside.
    let p = program(&[("x", &[20]), ("w", &[30])], |v| {
        let window = View::affine(&[20], &[20, 30], &[1, 1], &[-25]);
        Ast::contract(&Contract::new(window, View::axes(&[20, 30], &[1]), View::axes(&[20, 30], &[])), &v[0], &v[1])
    });
    prints(&simplify(&p), &["return contract [i<20, j<30] x[i + j - 25] * w[j] -> []"]);
}

#[test]
fn an_axis_of_the_result_alone_is_replicated_along() {
    let p = program(&[("a", SQUARE), ("b", SQUARE)], |v| {
        Ast::contract(&Contract::axes(&[N, N, N], &[0, 1], &[1, 0], &[2, 0]), &v[0], &v[1])
    });
    prints(&simplify(&p), &["return replicate [32] (contract [i<32, j<32] a[i, j] * b[j, i] -> [i])"]);
    let spread = |n: usize| Linear::affine(View::axes(&[n, n, n], &[0, 1]), View::axes(&[n, n, n], &[1, 2]));
    let p = program(&[("a", SQUARE)], |v| v[0].linear(&spread(N)));
    prints(&simplify(&p), &["return replicate [32, 32] axis=0 (sum axis=0 a)"]);
    // For two by two elements, both ways cost the same.
    let p = program(&[("a", &[2, 2])], |v| v[0].linear(&spread(2)));
    prints(&simplify(&p), &["return view [i<2, j<2, k<2] -> a[i, j] into [2, 2] at [j, k]"]);
}

#[test]
fn products_are_multiplied_in_the_cheapest_order() {
    let p = program(&[("a", SQUARE), ("b", SQUARE), ("v", &[N])], |v| {
        matrix(&v[0]).matmul(&matrix(&v[1])).matvec(&vector(&v[2])).into_raw()
    });
    prints(&optimize(&p), &["return matvec a (matvec b v)"]);
    let p = program(&[("a", &[4, N]), ("b", SQUARE), ("c", SQUARE), ("d", &[N, 3])], |v| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| matrix(&v[k]));
        a.matmul(&b.matmul(&c)).matmul(&d).into_raw()
    });
    prints(&optimize(&p), &["return matmul a (matmul b (matmul c d))"]);
    let p = program(&[("u", &[N]), ("v", &[N]), ("w", &[N])], |v| {
        vector(&v[0]).outer(&vector(&v[1])).matvec(&vector(&v[2])).into_raw()
    });
    prints(&optimize(&p), &["return outer u (dot v w)"]);
    // Both orders cost the same: the order of the program stays.
    let p = program(&[("a", SQUARE), ("b", SQUARE), ("c", SQUARE)], |v| {
        matrix(&v[0]).matmul(&matrix(&v[1])).matmul(&matrix(&v[2])).into_raw()
    });
    prints(&optimize(&p), &["return matmul (matmul a b) c"]);
}

#[test]
fn a_product_with_other_uses_is_no_reason_for_more() {
    let rest = |v: &[Ast]| (matrix(&v[0]).matmul(&matrix(&v[1])), vector(&v[2]));
    let p = program(&[("a", SQUARE), ("b", SQUARE), ("v", &[N])], |v| {
        let (product, v) = rest(v);
        (product.square().sum() + product.matvec(&v).sum()).into_raw()
    });
    prints(&simplify(&p), &["t0 = matmul a b", "return sum (square t0) + dot (sum axis=0 t0) v"]);
    // An outer product that is there is not read, if the product of its factors is less.
    let p = program(&[("u", &[N]), ("v", &[N]), ("w", &[N])], |v| {
        let product = vector(&v[0]).outer(&vector(&v[1]));
        let other = product.square().sum();
        (product.matvec(&vector(&v[2])) * other.replicate::<1>(N)).into_raw()
    });
    prints(&simplify(&p), &["t0 = replicate [32] (sum (square (outer u v)))", "return outer u (dot v w) * t0"]);
}

type Position = Tensor<Ast, 0, i64>;

#[test]
fn a_product_with_basis_vectors_is_a_view() {
    let basis = Options { basis: true, ..Options::default() };
    let diagonal = Linear::diagonal(SQUARE, 0, 1).adjoint();
    let identity = || matrix(&Ast::constant(polygrad::Array::full(&[N], 1.0)).linear(&diagonal));
    let p = program(&[("w", SQUARE)], |v| identity().matmul(&matrix(&v[0])).into_raw());
    prints(&simplify_with(&p, basis), &["return w"]);
    prints(&simplify(&p), &["return matmul (adjoint (diagonal axes=[0, 1]) [32, 32] f64[32](1.0)) w"]);
    // The zeros beside a diagonal that is no constant stay zeros.
    let p =
        program(&[("d", &[N]), ("w", SQUARE)], |v| matrix(&v[0].linear(&diagonal)).matmul(&matrix(&v[1])).into_raw());
    assert_eq!(simplify_with(&p, basis), simplify(&p));
}

#[test]
fn a_jacobian_has_no_product_with_the_basis() {
    let (x, w) = (polygrad::Array::uniform(&[N], -1.0, 1.0, 1), polygrad::Array::uniform(SQUARE, -1.0, 1.0, 2));
    let (x, w): (Tensor<_, 1>, Tensor<_, 2>) = (Tensor::from_raw(x), Tensor::from_raw(w));
    let layers = Function::jacobian_with(|x, w: &Tensor<_, 2>| w.matvec(&w.matvec(x).tanh()), &x, &w);
    let products = |program: &Program| {
        let cubic = |op: &Op<u32>| matches!(op, Op::Contract(op, ..) if op.a.shape().len() == 3);
        program.nodes().iter().filter(|node| cubic(&node.op)).count()
    };
    assert_eq!(products(layers.optimized()), 1, "{}", layers.optimized());
    let plain: Tensor<_, 2> = jacobian_with(|x, w: &Tensor<_, 2>| w.matvec(&w.matvec(x).tanh()), &x, &w);
    assert_close("jacobian", layers.run_with(&x, &w).expect("it fits").raw(), plain.raw(), 1e-12);
    // A NaN stays where it is.
    let linear = Function::jacobian_with(|x, w: &Tensor<_, 2>| w.matvec(x), &x, &w);
    let bad = w.set([2, 3], &Tensor::scalar(f64::NAN));
    let nan = linear.run_with(&x, &bad).expect("it fits");
    let nans = |j: &Tensor<polygrad::Concrete, 2>| {
        j.raw().to_vec::<f64>().expect("floats").iter().filter(|x| x.is_nan()).count()
    };
    assert_eq!(nans(&nan), 1);
    let plain: Tensor<_, 2> = jacobian_with(|x, w: &Tensor<_, 2>| w.matvec(x), &x, &bad);
    assert_eq!(nans(&plain), 1);
    let plain = jacobian_matrix_with(|x, w: &Tensor<_, 2>| w.matvec(x), &x, &bad);
    assert_eq!(nans(&plain), 1);
    let squared = |x: &Tensor<_, 1>, w: &Tensor<_, 2>| x.dot(&w.matvec(x));
    let plain: Tensor<_, 2> = hessian_with(squared, &x, &bad);
    assert_eq!(nans(&plain), 2);
    assert_eq!(nans(&hessian_matrix_with(squared, &x, &bad)), 2);
}

#[test]
fn what_is_written_on_a_diagonal_is_multiplied_there() {
    // By default the zeros beside the diagonal meet NaN and infinities.
    let fast = Options { fast_math: true, ..Options::default() };
    let diagonal = Linear::diagonal(SQUARE, 0, 1).adjoint();
    let p =
        program(&[("d", &[N]), ("w", SQUARE)], |v| matrix(&v[0].linear(&diagonal)).matmul(&matrix(&v[1])).into_raw());
    prints(&simplify_with(&p, fast), &["return contract [i<32, j<32] d[i] * w[i, j] -> [i, j]"]);
    let p = program(&[("w", SQUARE)], |v| {
        let ones = Ast::constant(polygrad::Array::full(&[N], 1.0));
        matrix(&ones.linear(&diagonal)).matmul(&matrix(&v[0])).into_raw()
    });
    prints(&simplify_with(&p, fast), &["return w"]);
    // An identity matrix is one, however it is made.
    let chosen = |i: &Position, j: &Position| cond(Tensor::eq(i, j), Tensor::scalar(1.0), Tensor::scalar(0.0));
    let cast = |i: &Position, j: &Position| Tensor::eq(i, j).to_float();
    type Element<'a> = &'a dyn Fn(&Position, &Position) -> Tensor<Ast, 0>;
    for way in [&chosen as Element<'_>, &cast] {
        let p = program(&[("w", SQUARE)], |v| {
            let identity: Tensor<Ast, 2> = build([N, N], |[i, j]| way(i, j));
            identity.matmul(&matrix(&v[0])).into_raw()
        });
        let ready = optimize(&p);
        prints(&ready, &["return matmul (adjoint (diagonal axes=[0, 1]) [32, 32] f64[32](1.0)) w"]);
        prints(&simplify_with(&ready, fast), &["return w"]);
    }
    // The operand is read at a sum of two axes.
    let p = program(&[("d", &[3]), ("w", &[4])], |v| {
        let spread = Linear::affine(View::identity(&[3]), View::affine(&[6], &[3], &[2], &[0]));
        let window = View::affine(&[6], &[3, 4], &[1, 1], &[0]);
        let op = Contract::new(window, View::axes(&[3, 4], &[1]), View::axes(&[3, 4], &[0]));
        Ast::contract(&op, &v[0].linear(&spread), &v[1])
    });
    let adjoint = "(adjoint (slice axis=0 0..5 step=2) [6] d)";
    prints(
        &simplify_with(&p, fast),
        &[&format!("t0 = contract [i<3, j<4] {adjoint}[i + j] * w[j] -> [i]"), "return t0"],
    );
}

#[test]
fn sums_over_positions_are_numbers() {
    let sum = |n: usize| {
        program(&[("q", &[])], |v| {
            let q = Tensor::<Ast, 0>::from_raw(v[0].clone());
            build1(n, |i| i.to_float::<f64>() * &q).sum().into_raw()
        })
    };
    prints(&optimize(&sum(N)), &["return 496.0 * q"]);
    prints(&gradient(&sum(N)), &["return (496.0 * q, 496.0)"]);
    let large = "return q * sum (to_float f64 (iota 100000))";
    prints(&optimize(&sum(100_000)), &[large]);
    let p = program(&[], |_| {
        let i = Tensor::<Ast, 1, i64>::from_raw(Ast::discrete(&Discrete::Iota { n: 1000 }, &[]));
        i.to_float::<f64>().sqrt().sum().into_raw()
    });
    prints(&simplify(&p), &["return 21065.833110879055"]);
}

fn triangle() -> Program {
    program(&[("l", SQUARE), ("x", SQUARE)], |v| {
        let (l, x) = (matrix(&v[0]), matrix(&v[1]));
        build([N, N], |[i, k]| build1(N, |j| cond(j.lt(i), &(l.at([i, j]) * x.at([j, k])), Tensor::scalar(0.0))).sum())
            .into_raw()
    })
}

/// An infinite element of `x` that the mask keeps away would be multiplied with 0 if the mask was one of `l`.
#[test]
fn a_mask_is_one_of_the_smaller_factor_if_numbers_are_finite() {
    let ready = optimize(&triangle());
    let [mask, product] = [
        "replicate [32, 32, 32] axes=[0, 2] (replicate [32] t0 < replicate [32, 32] axis=0 t0)",
        "replicate [32, 32, 32] axes=[0, 2] l * replicate [32, 32, 32] axes=[2, 1] x",
    ];
    let lines =
        ["t0 = iota 32", &format!("t1 = {product}"), &format!("t2 = {mask}"), "return sum axis=2 (select t2 t1 0.0)"];
    prints(&ready, &lines);
    let fast = simplify_with(&ready, Options { fast_math: true, ..Options::default() });
    let product = "t1 = matmul (select (replicate [32] t0 < replicate [32, 32] axis=0 t0) l 0.0) x";
    prints(&fast, &["t0 = iota 32", product, "return t1"]);
}

#[test]
fn cotangents_at_indices_are_summed_along_a_replicated_axis_in_any_order() {
    let p = program(&[("u", SQUARE)], |v| {
        let w: Tensor<Ast, 3> = matrix(&v[0]).replicate::<3>(N).permute([2, 0, 1]);
        build1(N, |i| w.at([&(i * i).rem(2), i, i])).square().sum().into_raw()
    });
    let lines = [
        "t0 = iota 32",
        "t1 = rem (t0 * t0) 2",
        "t2 = u[t0, t1]",
        "return (sum (square t2), scatter_add f64[32, 32](0.0) [t0, t1] (2.0 * t2))",
    ];
    prints(&gradient(&p), &lines);
}
