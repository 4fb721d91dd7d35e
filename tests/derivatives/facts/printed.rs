//! Facts about programs as syntax: the recorded program, and its bulk and simplified form.
//!
//! Law: an optimized program is the few operations that one would write by hand, and computes the same as the recorded
//! one. The originals print another language, so the set of operations is compared, and their text with ours.

use polygrad::array::Rng;
use polygrad::passes::{Options, optimize, simplify_with, vectorize};
use polygrad::program::{Op, Program, Term, interpret};
use polygrad::symbolic::{derivative, grad, vjp};
use polygrad::{Array, BaseTensor, Concrete, Conv, Function, Tensor, Tree, build, build1, cond, fold, stack, tensor};

use super::check::{FINE, Scalar};
use super::indices::{Columns, vstack_of_branches, vstack_of_slices};
use super::programs::foo;

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Pair<X> = (X, X);
type Three<X> = (X, X, X);

/// A program for inputs of the shapes of `x`, with these names.
fn staged<X, Y>(names: &[&str], x: &X, f: impl Fn(&X::With<Term>) -> Y) -> Program
where
    X: Tree<Array>,
    Y: Tree<Term>,
    Y::With<Array>: Tree<Array, With<Array> = Y::With<Array>>,
{
    let program = Function::stage(|x: &X::With<Term>| f(x), x).program().clone();
    let outputs = vec![""; program.outputs().len()];
    program.named(names, &outputs)
}

/// A program without inputs.
fn closed<const D: usize>(f: impl Fn() -> Tensor<Term, D>) -> Program {
    staged(&[], &(), |(): &()| f())
}

/// The lines of a program between its braces.
fn lines(program: &Program) -> Vec<String> {
    let text = program.to_string();
    let body = text.lines().skip_while(|line| !line.ends_with('{')).skip(1).filter(|line| *line != "}");
    body.map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned()).collect()
}

/// How many operations there are of a kind, in bodies of loops, too.
fn count(program: &Program, kind: &dyn Fn(&Op<u32>) -> bool) -> usize {
    let within = |op: &Op<u32>| if let Op::Loop(l) = op { count(&l.body, kind) } else { 0 };
    program.nodes().iter().map(|node| usize::from(kind(&node.op)) + within(&node.op)).sum()
}

/// Panics if the program has a loop, or reads or writes at indices.
#[track_caller]
fn in_bulk(program: &Program) {
    let slow = |op: &Op<u32>| matches!(op, Op::Loop(_) | Op::Gather(..) | Op::ScatterAdd(..));
    assert_eq!(count(program, &slow), 0, "{program}");
}

/// Panics unless two programs compute the same.
#[track_caller]
fn alike(a: &Program, b: &Program) {
    let mut rng = Rng::new(5);
    let inputs: Vec<Array> = a.inputs().iter().map(|slot| rng.uniform(&slot.shape, 0.5, 1.5)).collect();
    let (a, b) = (interpret(a, inputs.clone()), interpret(b, inputs));
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a.shape(), b.shape());
        let elements = |a: &Array| a.to_vec::<f64>().expect("these programs are in double precision");
        for (x, y) in elements(a).into_iter().zip(elements(b)) {
            assert!((x - y).abs() <= FINE * x.abs().max(1.0), "{x:?} became {y:?}");
        }
    }
}

/// The program as it runs, after a check that it computes the same.
#[track_caller]
fn ready(program: &Program) -> Program {
    let simple = optimize(program);
    alike(program, &simple);
    simple
}

/// The pullback as it runs, which is the same program whether the program itself is optimized before or not.
#[track_caller]
fn pullback(program: &Program) -> Program {
    let pulled = ready(&vjp(&optimize(program)));
    assert_eq!(lines(&ready(&vjp(program))), lines(&pulled));
    pulled
}

fn vector(n: usize) -> Vector<Concrete> {
    Tensor::zeros([n])
}

fn matrix(m: usize, n: usize) -> Matrix<Concrete> {
    Tensor::zeros([m, n])
}

#[test]
fn fact_29_reading_and_writing_at_remainders() {
    let overleaf = staged(&["v"], &vector(28), |v| build1(50, |i| v.at([i % 28])).sum());
    assert_eq!(lines(&ready(&overleaf)), ["return sum v[rem (iota 50) 28]"]);
    let both = "return (sum v[t0], scatter_add f64[28](0.0) [t0] (replicate [50] y_bar))";
    assert_eq!(lines(&pullback(&overleaf)), ["t0 = rem (iota 50) 28", both]);
}

#[test]
fn fact_53_a_build_with_branches_looks_at_slices() {
    let columns = (vector(10), vector(10), vector(10));
    let names = ["a", "b", "c"];
    let slices = staged(&names, &columns, |columns: &Columns<_>| vstack_of_slices(columns));
    let branches = staged(&names, &columns, |columns: &Columns<_>| vstack_of_branches(columns));
    let expected = [
        "t0 = a + concat axis=0 [slice axis=0 1..10 b, f64[1](0.0)]",
        "return t0 + concat axis=0 [f64[1](0.0), slice axis=0 0..9 c]",
    ];
    assert_eq!(lines(&ready(&slices)), expected);
    // No mask remains, and each element is computed in one of the branches alone.
    let expected = [
        "t0 = slice axis=0 1..9 a + slice axis=0 2..10 b + slice axis=0 0..8 c",
        "t1 = slice axis=0 9..10 a + slice axis=0 8..9 c",
        "t2 = concat axis=0 [slice axis=0 0..1 a + slice axis=0 1..2 b, t0, t1]",
        "return t2",
    ];
    assert_eq!(lines(&ready(&branches)), expected);
    alike(&slices, &branches);
    in_bulk(&pullback(&slices));
    in_bulk(&pullback(&branches));
    alike(&vjp(&slices), &vjp(&branches));
}

#[test]
fn fact_53_of_constants_is_a_constant() {
    fn columns() -> Columns<Term> {
        let iota: Vector<Term> = Tensor::constant(Array::from_iter((0..10).map(f64::from)));
        (iota.clone(), &iota * 2.0, &iota * 3.0)
    }
    let expected = Array::from([2.0, 5.0, 11.0, 17.0, 23.0, 29.0, 35.0, 41.0, 47.0, 33.0]);
    for program in [closed(|| vstack_of_slices(&columns())), closed(|| vstack_of_branches(&columns()))] {
        let simple = ready(&program);
        let [result] = simple.results() else { panic!("one result") };
        let Op::Constant(c) = &simple.nodes()[*result as usize].op else { panic!("a constant and not\n{simple}") };
        assert_eq!(c.0, expected);
        assert_eq!(simple.size(), 0, "{simple}");
    }
}

#[test]
fn fact_71_constants_fold_through_derivatives() {
    fn reverse<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        polygrad::direct::grad(|x: &Scalar<_>| x.sin(), x)
    }
    fn forward<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        polygrad::direct::jvp(|x: &Scalar<_>| x.sin(), x, &Tensor::scalar(1.0)).1
    }
    let x = || Tensor::scalar(1.1);
    let first = ["return 0.4535961214255773"];
    let second = ["return -0.8912073600614354"];
    let composed = ["return 0.8988770945225438"];
    assert_eq!(lines(&closed(|| reverse(&x()))), first);
    assert_eq!(lines(&closed(|| forward(&x()))), first);
    assert_eq!(lines(&closed(|| polygrad::direct::grad(|x: &Scalar<_>| reverse(x), &x()))), second);
    assert_eq!(lines(&closed(|| polygrad::direct::grad(|x: &Scalar<_>| forward(x), &x()))), second);
    assert_eq!(lines(&closed(|| reverse(&reverse(&x())))), composed);
    assert_eq!(lines(&closed(|| forward(&forward(&x())))), composed);
}

#[test]
fn fact_71_derivatives_of_the_sine() {
    let mut program = staged(&["x"], &tensor(1.1), |x: &Scalar<_>| x.sin());
    for expected in ["return cos x", "return -sin x", "return -cos x", "return sin x"] {
        program = derivative(&program);
        assert_eq!(lines(&program), [expected]);
    }
}

#[test]
fn fact_80_a_scan_written_out() {
    let program = staged(&["x"], &tensor(1.1), |x: &Scalar<_>| -> Vector<_> {
        let one = x.sin() - 5.0;
        let two = one.sin() - 7.0;
        stack([&two, &one, x])
    });
    let expected = [
        "t0 = sin x - 5.0",
        "t1 = concat axis=0 [replicate [1] (sin t0 - 7.0), replicate [1] t0, replicate [1] x]",
        "t2 = cos x * (row 1 y_bar + cos t0 * row 0 y_bar)",
        "return (t1, row 2 y_bar + t2)",
    ];
    assert_eq!(lines(&pullback(&program)), expected);
}

#[test]
fn fact_97_a_network_of_constants_is_a_constant() {
    let program = closed(|| {
        let (image, kernel): (Tensor<_, 4>, _) = (Tensor::full([3, 3, 3, 3], 7.0), Tensor::full([3, 3, 1, 1], 7.0));
        image.conv2d(&kernel, Conv::default()).max_pool2d([2, 2], [1, 1])
    });
    assert_eq!(lines(&program), ["return f64[3, 3, 2, 2](147.0)"]);
}

#[test]
fn fact_97_the_gradient_of_an_element() {
    let program = staged(&["u"], &Tensor::<Concrete, 4>::zeros([2, 2, 2, 2]), |u| u.at([0, 0, 0, 0]));
    let expected = "return (view [] -> u[0, 0, 0, 0], view [] -> y_bar[] into [2, 2, 2, 2] at [0, 0, 0, 0])";
    assert_eq!(lines(&pullback(&program)), [expected]);
}

/// The operations of the derivative of `foo`, as one would write them.
const FOO_BAR: [&str; 3] = ["t0 = sin y", "t1 = x * t0", "t2 = z * y_bar - mul_no_nan (recip_real z t1) y_bar"];

#[test]
fn fact_107_foo_of_matrices() {
    let three = (matrix(2, 2), matrix(2, 2), matrix(2, 2));
    let program = staged(&["x", "y", "z"], &three, |(x, y, z): &Three<Matrix<_>>| foo(x, y, z));
    // As it is recorded, not simplified: what is shared is there already.
    let pulled = vjp(&program);
    let results = [
        "return (",
        "  atan2 z t1 + z * t1,",
        "  mul_no_nan t0 t2,",
        "  mul_no_nan (cos y) (mul_no_nan x t2),",
        "  y_bar * t1 + mul_no_nan (recip_real t1 z) y_bar,",
        ")",
    ];
    let expected = [&FOO_BAR[..], &results];
    assert_eq!(lines(&pulled), expected.concat());
    assert_eq!(count(&pulled, &|op| matches!(op, Op::Unary(..))), 2, "a sine and a cosine");
    assert_eq!(pulled, optimize(&pulled));
}

#[test]
fn the_gradient_of_foo_is_that_by_hand() {
    let three = (tensor(1.1), tensor(2.2), tensor(3.3));
    let program = staged(&["x", "y", "z"], &three, |(x, y, z): &Three<Scalar<_>>| foo(x, y, z));
    let results = [
        "t2 = z - recip_real z t1",
        "return (mul_no_nan t0 t2, mul_no_nan (cos y) (mul_no_nan x t2), t1 + recip_real t1 z)",
    ];
    let by_hand = [&FOO_BAR[..2], &results];
    assert_eq!(lines(&ready(&grad(&program))), by_hand.concat());
}

/// The program `t_sc` of "Dual arrays", section 7.1.
#[test]
fn self_convolution() {
    let program = staged(&["a"], &vector(6), |a| build1(6, |i| a.at([i]) * a.at([5 - i])).sum());
    assert_eq!(lines(&vectorize(&program)), ["return sum (a * reverse axis=0 a)"]);
    assert_eq!(lines(&ready(&program)), ["return contract [i<6] a[i] * a[5 - i] -> []"]);
    assert_eq!(lines(&ready(&grad(&program))), ["return 2.0 * reverse axis=0 a"]);
    assert_eq!(lines(&ready(&grad(&optimize(&program)))), ["return 2.0 * reverse axis=0 a"]);
    // Both terms of the cotangent are one product.
    let simple = optimize(&program);
    assert_eq!(lines(&ready(&vjp(&simple))).len(), 1, "{}", ready(&vjp(&simple)));
}

#[test]
fn fact_109_a_product_of_vectors() {
    let program = staged(&["a", "b"], &(vector(3), vector(3)), |(a, b): &Pair<Vector<_>>| (a * b).sum());
    assert_eq!(lines(&ready(&program)), ["return dot a b"]);
    assert_eq!(lines(&ready(&grad(&program))), ["return (b, a)"]);
    let late = ["t0 = replicate [3] y_bar", "return (dot a b, b * t0, a * t0)"];
    assert_eq!(lines(&ready(&vjp(&program))), late);
    assert_eq!(lines(&ready(&vjp(&optimize(&program)))), ["return (dot a b, outer y_bar b, outer a y_bar)"]);
}

#[test]
fn fact_110_products_of_matrices() {
    let pair = (matrix(2, 3), matrix(3, 4));
    type Matrices<T> = Pair<Matrix<T>>;
    let names = ["a", "b"];
    let summed = staged(&names, &pair, |(a, b): &Matrices<_>| -> Matrix<_> {
        let (left, right): (Tensor<_, 3>, Tensor<_, 3>) = (a.replicate(4), b.t().replicate(2));
        (left.permute([1, 2, 0]) * right.permute([0, 2, 1])).sum_axis(1)
    });
    let elements = staged(&names, &pair, |(a, b): &Matrices<_>| {
        build([2, 4], |[i, j]| build1(3, |p| a.at([i, p]) * b.at([p, j])).sum())
    });
    let rows = staged(&names, &pair, |(a, b): &Matrices<_>| -> Matrix<_> {
        build1(2, |i| -> Vector<_> {
            let row: Vector<_> = a.at([i]);
            build1(4, |j| build1(3, |p| row.at([p]) * b.at([p, j])).sum())
        })
    });
    for program in [&summed, &elements, &rows] {
        assert_eq!(lines(&ready(program)), ["return matmul a b"]);
        let pulled = ["return (matmul a b, matmul y_bar b.t, matmul a.t y_bar)"];
        assert_eq!(lines(&pullback(program)), pulled);
    }
    // In bulk all of them are the same product of replicas, before anything is simplified.
    let raw = ["t0 = replicate [2, 4, 3] axes=[0, 2] a * replicate [2, 4, 3] axes=[2, 1] b", "return sum axis=2 t0"];
    assert_eq!(lines(&vectorize(&elements)), raw);
    assert_eq!(lines(&vectorize(&rows)), raw);
}

#[test]
fn fact_112_a_rectifier_of_branches() {
    let relu = staged(&["x"], &matrix(3, 4), |x: &Matrix<_>| {
        build([3, 4], |[i, j]| {
            let y = x.at([i, j]);
            cond(y.le(0.0), Tensor::scalar(0.0), Tensor::scalar(1.0)) * y
        })
    });
    assert_eq!(lines(&ready(&relu)), ["return x * select (x <= 0.0) 0.0 1.0"]);
    let expected = ["t0 = select (x <= 0.0) 0.0 1.0", "return (x * t0, y_bar * t0)"];
    assert_eq!(lines(&pullback(&relu)), expected);
}

/// A right fold over four numbers.
fn folded(step: impl Fn(&Scalar<Term>, &Scalar<Term>) -> Scalar<Term>) -> Program {
    let four: Vec<Scalar<Concrete>> = (1..5).map(|k| tensor(f64::from(k))).collect();
    staged(&["x0", "x1", "x2", "x3"], &four, |x: &Vec<Scalar<_>>| {
        let (last, rest) = x.split_last().expect("four numbers");
        rest.iter().rev().fold(last.clone(), |y, x| step(x, &y))
    })
}

fn fast(program: &Program) -> Program {
    let simple = simplify_with(program, Options { fast_math: true, ..Options::default() });
    alike(program, &simple);
    simple
}

#[test]
fn fact_113_constants_are_collected_in_products() {
    let program = folded(|x, y| x * y * 2.0);
    assert_eq!(lines(&ready(&program)), ["return 8.0 * (x0 * (x1 * (x2 * x3)))"]);
}

#[test]
fn fact_113_constants_are_collected_in_sums() {
    let program = folded(|x, y| x * 2.0 + y * 3.0);
    assert_eq!(lines(&ready(&grad(&program))), ["return (2.0, 6.0, 18.0, 27.0)"]);
    // A sum that cancels loses digits where factors move into it, so this has to be asked for; and it is done once for
    // each sum, because through all of a chain it would take time quadratic in its length.
    let kept = ["t0 = 2.0 * x1 + 3.0 * (2.0 * x2 + 3.0 * x3)", "return 2.0 * x0 + 3.0 * t0"];
    assert_eq!(lines(&ready(&program)), kept);
    let fewer = ["t0 = 3.0 * (2.0 * x1 + (6.0 * x2 + 9.0 * x3))", "return 2.0 * x0 + t0"];
    assert_eq!(lines(&fast(&program)), fewer);
}

#[test]
fn fact_115_a_matrix_too_large_for_any_memory() {
    const N: usize = 1_000_000;
    let program = closed(|| build([N, N], |[i, j]| cond(i.le(j), Tensor::scalar(0.0), Tensor::scalar(1.0))));
    let simple = optimize(&program);
    let expected = [
        "t0 = iota 1000000",
        "t1 = select (replicate [1000000, 1000000] axis=0 t0 <= replicate [1000000] t0) 0.0 1.0",
        "return t1",
    ];
    assert_eq!(lines(&simple), expected);
    assert_eq!(simple.size(), 5);
    in_bulk(&simple);
}

/// The step is that of fact 85; the fact says nothing but how many trips there are, and from what.
#[test]
fn fact_116_the_gradient_of_nested_folds_is_two_loops() {
    let program = staged(&["x"], &tensor(1.1), |x: &Scalar<_>| {
        fold(x.clone(), x.replicate::<1>(11), |y, x| fold(x.clone(), y.replicate::<1>(7), |z, y| 0.7 * z * y))
    });
    let simple = ready(&program);
    let expected = [
        "t0 = loop 11 carry (h0 = x) with (x) {",
        "  t1 = loop 7 carry (h1 = x) with (h0) {",
        "    next 0.7 * (h1 * h0)",
        "  }",
        "  next t1",
        "}",
        "return t0",
    ];
    assert_eq!(lines(&simple), expected);
    let pulled = ready(&grad(&simple));
    let expected = [
        "(_, t0, t1) = loop 11 carry (h0 = x) with (x) {",
        "  (t2, t3) = loop 7 carry (h1 = x) with (h0) {",
        "    next 0.7 * (h1 * h0)",
        "    yield h1",
        "  }",
        "  next t2",
        "  yield (h0, t3)",
        "}",
        "(t4, t5) = loop 11 reverse carry (h2 = 1.0) over (e0 in t0, e1 in t1) {",
        "  (t6, t7) = loop 7 reverse carry (h3 = h2) with (e0) {",
        "    t8 = 0.7 * h3",
        "    next e0 * t8",
        "    yield t8",
        "  }",
        "  next dot e1 t7",
        "  yield t6",
        "}",
        "return t4 + sum t5",
    ];
    assert_eq!(lines(&pulled), expected);
}

/// The program is not published; the numbers that it is simplified to determine it.
#[test]
fn fact_118_constants_fold_across_steps() {
    let program = staged(&["v"], &vector(2), |v: &Vector<_>| {
        let quotient = v.at([0]) / v.at([1]);
        (0..6).fold(quotient, |y, _| 0.499999985 * (&y + &y - 4.0)) - 4.0
    });
    // Once more than one number stays of a sum, its digits may change; so this has to be asked for, too.
    assert_eq!(lines(&fast(&program)), ["return 0.9999998200000132 * (row 0 v / row 1 v) - 15.99999874000006"]);
    let expected = [
        "t0 = row 1 v",
        "t1 = -0.9999998200000132 * div_no_nan (row 0 v / t0) t0",
        "t2 = concat axis=0 [reshape [1] (0.9999998200000132 / t0), reshape [1] t1]",
        "return t2",
    ];
    assert_eq!(lines(&ready(&grad(&program))), expected);
}
