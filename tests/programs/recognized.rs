//! Element-wise programs end as the bulk operations one would write by hand.
//!
//! Laws, for a table of programs that index: in the optimized program and in its optimized gradients no loop is left,
//! no array is read or written at indices, and there is no array of indices; each product is one contraction, and so is
//! each of its cotangents. The printed programs are in `tests/programs/recognized.txt`; `UPDATE_EXPECT=1` refreshes
//! them.

use std::fmt::Write;

use polygrad::passes::optimize;
use polygrad::program::{Op, Program, Term, interpret};
use polygrad::symbolic::vjp;
use polygrad::{Array, BaseTensor, Concrete, Tensor, build, build1, cond};

use crate::root::root;

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

/// What every program of the table takes: two matrices and two vectors.
struct Inputs<T> {
    a: Matrix<T>,
    b: Matrix<T>,
    x: Vector<T>,
    y: Vector<T>,
}

const SHAPES: [&[usize]; 4] = [&[6, 4], &[4, 5], &[6], &[4]];

impl<T: BaseTensor> Inputs<T> {
    fn of(t: &[T]) -> Inputs<T> {
        let [a, b, x, y] = [0, 1, 2, 3].map(|k| t[k].clone());
        Inputs { a: Tensor::from_raw(a), b: Tensor::from_raw(b), x: Tensor::from_raw(x), y: Tensor::from_raw(y) }
    }
}

type Case<T> = fn(&Inputs<T>) -> T;

macro_rules! cases {
    ($($name:ident $products:literal $pulled:literal = |$p:ident| $body:expr;)*) => {
        /// The programs, with the number of contractions in the value and in value and cotangents together.
        fn cases<T: BaseTensor>() -> Vec<(&'static str, usize, usize, Case<T>)> {
            $(
                fn $name<T: BaseTensor>($p: &Inputs<T>) -> T {
                    $body.into_raw()
                }
            )*
            vec![$((stringify!($name), $products, $pulled, $name)),*]
        }
    };
}

cases! {
    // Products, in every order of the loops.
    matmul 1 3 = |p| build([6, 5], |[i, j]| build1(4, |k| p.a.at([i, k]) * p.b.at([k, j])).sum());
    matmul_of_columns 1 3 = |p| build([5, 6], |[j, i]| build1(4, |k| p.a.at([i, k]) * p.b.at([k, j])).sum()).t();
    matmul_sum_outside 1 3 = |p| build([4, 6, 5], |[k, i, j]| p.a.at([i, k]) * p.b.at([k, j])).sum_axis::<2>(0);
    matmul_summed_last 1 3 = |p| build([6, 5, 4], |[i, j, k]| p.b.at([k, j]) * p.a.at([i, k])).sum_axis::<2>(2);
    transposed 1 3 = |p| build([5, 6], |[i, j]| build1(4, |k| p.b.at([k, i]) * p.a.at([j, k])).sum());
    // Both terms of the cotangent are one.
    dot 1 2 = |p| build1(6, |i| p.x.at([i]) * p.x.at([5 - i])).sum();
    outer 1 3 = |p| build([6, 4], |[i, j]| p.x.at([i]) * p.y.at([j]));
    matvec 1 3 = |p| build1(6, |i| build1(4, |j| p.a.at([i, j]) * p.y.at([j])).sum());
    bilinear 2 6 = |p| build([6, 4], |[i, j]| p.x.at([i]) * p.a.at([i, j]) * p.y.at([j])).sum();
    batched 1 3 = |p| {
        let left = p.a.reshape::<3>([2, 3, 4]);
        let right = p.b.reshape::<3>([2, 2, 5]);
        build([2, 3, 5], |[n, i, j]| build1(2, |k| left.at([n, i, k]) * right.at([n, k, j])).sum())
    };
    // Convolutions.
    conv1d 1 3 = |p| build1(3, |i| build1(4, |k| p.x.at([i + k]) * p.y.at([k])).sum());
    conv1d_strided 1 3 = |p| build1(2, |i| build1(4, |k| p.x.at([i * 2 + k]) * p.y.at([k])).sum());
    conv1d_padded 1 3 = |p| build1(6, |i| build1(4, |k| p.x.at([i + k - 1]) * p.y.at([k])).sum());
    conv2d 1 3 = |p| {
        let kernel = p.y.reshape::<2>([2, 2]);
        build([5, 3], |[i, j]| build([2, 2], |[k, l]| p.a.at([i + k, j + l]) * kernel.at([k, l])).sum())
    };
    conv2d_strided_padded 1 3 = |p| {
        let kernel = p.y.reshape::<2>([2, 2]);
        build([3, 3], |[i, j]| build([2, 2], |[k, l]| p.a.at([i * 2 + k - 1, j * 2 + l - 1]) * kernel.at([k, l])).sum())
    };
    // Never expanded: it would cancel.
    squared_distances 0 0 = |p| build([6, 4], |[i, j]| (p.x.at([i]) - p.y.at([j])).square());
    // Views.
    reversed 0 0 = |p| build1(6, |i| p.x.at([5 - i]));
    shifted 0 0 = |p| build1(6, |i| p.x.at([i + 1]) - p.x.at([i - 1]));
    strided 0 0 = |p| build1(3, |i| p.x.at([i * 2 + 1]));
    diagonal 0 0 = |p| build1(4, |i| p.a.at([i, i]));
    antidiagonal 0 0 = |p| build1(4, |i| p.a.at([i, &(3 - i)]));
    transposed_by_hand 0 0 = |p| build([4, 6], |[j, i]| p.a.at([i, j]));
    stencil 0 0 = |p| build([6, 4], |[i, j]| {
        p.a.at([&(i - 1), j]) + p.a.at([&(i + 1), j]) + p.a.at([i, &(j - 1)]) + p.a.at([i, &(j + 1)]) - p.a.at([i, j]) * 4.0
    });
    windows 0 0 = |p| build([5, 3, 2, 2], |[i, j, k, l]| p.a.at([i + k, j + l]));
    blocks 0 0 = |p| build([2, 3, 4], |[i, j, k]| p.a.at([&(i * 3 + j), k]));
    blocks_undone 0 0 = |p| {
        let blocks = p.a.reshape::<3>([2, 3, 4]);
        build([6, 4], |[i, j]| blocks.at([&i.quot(3), &i.rem(3), j]))
    };
    sparse_read 0 0 = |p| build1(6, |i| p.x.at([i * 1000]));
    // Choices by position.
    ends 0 0 = |p| build1(6, |i| {
        let (left, right) = (p.x.at([i + 1]) - p.x.at([i]), p.x.at([i]) - p.x.at([i - 1]));
        cond(i.eq(0), &left, cond(i.eq(5), &right, &((&left + &right) * 0.5)))
    });
    border 0 0 = |p| build([6, 4], |[i, j]| {
        let here = p.a.at([i, j]);
        let around = p.a.at([&(i - 1), j]) + p.a.at([&(i + 1), j]) + p.a.at([i, &(j - 1)]) + p.a.at([i, &(j + 1)]);
        let inside = i.gt(0) & i.lt(5) & j.gt(0) & j.lt(3);
        cond(&inside, &(around * 0.25), &here)
    });
    clamped_ramp 0 0 = |p| build1(6, |i| cond(i.lt(2), p.x.at([0]), cond(i.lt(4), &(p.x.at([i]) * 2.0), p.x.at([5]))));
    upper_triangle 0 0 = |p| build([6, 4], |[i, j]| cond(i.le(j), p.a.at([i, j]), Tensor::scalar(0.0)));
}

fn point() -> Vec<Array> {
    SHAPES.iter().zip(1..).map(|(shape, seed)| Array::uniform(shape, -1.0, 1.0, seed)).collect()
}

fn staged(case: Case<Term>) -> Program {
    let inputs: Vec<Term> = point().iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let names = ["a", "b", "x", "y"].map(String::from);
    Term::program(&inputs, &[case(&Inputs::of(&inputs))], &names).expect("a closed program")
}

/// The products of a program, and the operations that should not be there.
fn census(program: &Program) -> (usize, Vec<&'static str>) {
    let (mut products, mut wrong) = (0, Vec::new());
    for node in program.nodes() {
        match &node.op {
            Op::Contract(..) => products += 1,
            Op::Gather(..) => wrong.push("gather"),
            Op::ScatterAdd(..) => wrong.push("scatter"),
            Op::Loop(_) => wrong.push("loop"),
            Op::Call(..) | Op::Custom(..) | Op::Output(..) => wrong.push("several results"),
            Op::Input(_) | Op::Unary(..) | Op::Binary(..) | Op::Select(_) | Op::Reduce(..) => {}
            Op::Constant(c) if c.0.dtype() == polygrad::DType::I64 && c.0.size() > 1 => wrong.push("indices"),
            Op::Discrete(..) if node.dtype == polygrad::DType::I64 && node.shape.len() > 1 => wrong.push("indices"),
            Op::Constant(_) | Op::Linear(..) | Op::Concat(..) | Op::Discrete(..) => {}
        }
    }
    (products, wrong)
}

#[test]
fn programs_end_as_bulk_operations() {
    let mut failures = Vec::new();
    for (name, products, pulled, case) in cases::<Term>() {
        let program = optimize(&staged(case));
        let pullback = optimize(&vjp(&program));
        let late = optimize(&vjp(&staged(case)));
        // Where the cotangent is one number, it scales: after vectorisation as a product, before it element by element.
        let fewer = match name {
            "dot" => pulled - 1,
            "bilinear" => pulled - 1,
            _ => pulled,
        };
        for (what, program, expected) in
            [("value", &program, products), ("vjp", &pullback, pulled), ("vjp of loops", &late, fewer)]
        {
            let (found, mut wrong) = census(program);
            // The cotangent of what stays as it is is zero inside of a box: a mask is cheaper than to put that
            // together.
            if name == "border" && what == "vjp of loops" {
                wrong.retain(|name| *name != "indices");
            }
            if found != expected || !wrong.is_empty() {
                failures.push(format!("{name}, {what}: {found} products, not {expected}; {wrong:?}\n{program}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn values_and_cotangents_are_those_of_the_loops() {
    let plain = cases::<Concrete>();
    for ((name, _, _, case), (_, _, _, plain)) in cases::<Term>().into_iter().zip(plain) {
        let program = staged(case);
        let direct = plain(&Inputs::of(&point()));
        let value = interpret(&optimize(&program), point()).remove(0);
        let near = |a: &Array, b: &Array| {
            assert_eq!(a.shape(), b.shape(), "{name}");
            let (a, b) = (a.to_vec::<f64>().expect("floats"), b.to_vec::<f64>().expect("floats"));
            assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-12), "{name}: {a:?} and {b:?}");
        };
        near(&value, &direct);
        let mut inputs = point();
        inputs.push(Array::uniform(direct.shape(), -1.0, 1.0, 9));
        let looped = interpret(&vjp(&program), inputs.clone());
        let bulk = interpret(&optimize(&vjp(&optimize(&program))), inputs.clone());
        let late = interpret(&optimize(&vjp(&program)), inputs);
        for ((a, b), c) in looped.iter().zip(&bulk).zip(&late) {
            near(a, b);
            near(a, c);
        }
    }
}

#[test]
fn programs_are_printed_as_recorded() {
    let mut text = String::new();
    for (name, _, _, case) in cases::<Term>() {
        let program = optimize(&staged(case));
        let _ = writeln!(text, "{name}\n{program}\n{}\n", optimize(&vjp(&program)));
    }
    let path = root().join("tests/programs/recognized.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).expect("the file can be written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, recorded, "run with UPDATE_EXPECT=1 if this is what it should be");
}
