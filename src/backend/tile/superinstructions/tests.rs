//! Compares each row of the table, and sums with weights, with the same operations without superinstructions.

use super::*;
use crate::array::{Array, with_float};
use crate::backend::ir::limits::Limits;
use crate::backend::{Executable, compile_within};
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::ops::{Linear, View};
use crate::passes::Settings;
use crate::program::{Program, Term, interpret};

/// An array with zeros of both signs, infinities, NaN, subnormal and large numbers among others.
fn hostile(n: usize, seed: usize, dtype: DType) -> Array {
    let special = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -1e-310, 1e308, -1e308];
    let number = |i: usize| match i % 3 {
        0 => special[(i / 3 + seed * i / 40) % special.len()],
        _ => ((i * (seed + 1)) as f64 * 0.37).sin() * 3.0,
    };
    let all = Array::new(&[n], (0..n).map(number).collect::<Vec<f64>>());
    if dtype == DType::F32 { all.cast::<f32>() } else { all }
}

/// Compiles a program to tiles, however few elements there are.
fn compile(program: &Program) -> Executable {
    let passes = Settings { scalar_replacement: false, ..Settings::DEFAULT };
    compile_within(program, Limits { passes, ..Limits::DEFAULT })
}

/// The bits of the elements as double precision; all NaN are one.
fn bits(array: &Array) -> Vec<u64> {
    let numbers = array.cast::<f64>().to_vec::<f64>().expect("floats");
    numbers.into_iter().map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).collect()
}

/// Asserts that a compiled program has the bits of the interpreter; returns the plan as text.
#[track_caller]
fn assert_same_bits(program: &Program, inputs: &[Array], name: &str) -> String {
    let executable = compile(program);
    let text = executable.explain();
    for (a, b) in interpret(program, inputs.to_vec()).iter().zip(executable.run(inputs)) {
        for (i, (x, y)) in bits(a).into_iter().zip(bits(&b)).enumerate() {
            let [u, v] = [x, y].map(f64::from_bits);
            assert!(x == y, "{name}, element {i} of {}: {u:e} and {v:e}\n{program}\n{text}", a.size());
        }
    }
    text
}

/// A function from four inputs to results.
type Make<'a> = dyn Fn(&[Term; 4]) -> Vec<Term> + 'a;

/// A program of four inputs of `n` elements, and arrays for them; bit `k` of `ones` says that input `k` is a scalar
/// that the program broadcasts.
fn of_four(n: usize, dtype: DType, ones: usize, f: &Make<'_>) -> (Program, Vec<Array>) {
    let is_one = |k: usize| ones >> k & 1 == 1;
    let shape = |k: usize| if is_one(k) { vec![] } else { vec![n] };
    let inputs: [Term; 4] = std::array::from_fn(|k| Term::variable(&shape(k), dtype));
    let replicate = Linear::replicate(&[n], &[]);
    let wide: [Term; 4] =
        std::array::from_fn(|k| if is_one(k) { inputs[k].linear(&replicate) } else { inputs[k].clone() });
    let program = Term::program(&inputs, &f(&wide), &[]).expect("a closed program");
    let one = |k: usize| with_float!(dtype, E => Array::scalar(E::of_f64(k as f64 - 1.5)));
    (program, (0..4).map(|k| if is_one(k) { one(k) } else { hostile(n, k, dtype) }).collect())
}

/// The operations of a tree.
fn term(tree: &Tree, leaves: &[Term; 4]) -> Term {
    match tree {
        Tree::Leaf(k) => leaves[*k].clone(),
        Tree::Unary(op, a) => term(a, leaves).unary(*op),
        Tree::Binary(op, a, b) => term(a, leaves).binary(*op, &term(b, leaves)),
    }
}

/// The number of operands of a tree.
fn arity(tree: &Tree) -> usize {
    match tree {
        Tree::Leaf(k) => k + 1,
        Tree::Unary(_, a) => arity(a),
        Tree::Binary(_, a, b) => arity(a).max(arity(b)),
    }
}

/// Lengths around those of vectors and tiles.
const LENGTHS: [usize; 5] = [2, 9, 65, 511, 1030];

/// The values inside a tree.
fn inside(tree: &Tree, leaves: &[Term; 4]) -> Vec<Term> {
    let operands = match tree {
        Tree::Leaf(_) => return Vec::new(),
        Tree::Unary(_, a) => vec![*a],
        Tree::Binary(_, a, b) => vec![*a, *b],
    };
    operands.into_iter().filter(|tree| !matches!(tree, Tree::Leaf(_))).map(|tree| term(tree, leaves)).collect()
}

#[test]
fn each_row_has_the_bits_of_its_operations() {
    for rule in RULES {
        let (name, arity) = (rule.form.name(), arity(&rule.tree));
        let mut seen = false;
        for (dtype, n) in [DType::F64, DType::F32].into_iter().flat_map(|dtype| LENGTHS.map(|n| (dtype, n))) {
            // For each proper subset of the operands: broadcast those, and no others.
            for ones in 0..(1 << arity) - 1 {
                let (program, inputs) = of_four(n, dtype, ones, &|x| vec![term(&rule.tree, x)]);
                let executable = compile(&program);
                // The same operations with all values as results, so that none is absorbed.
                let all = |x: &[Term; 4]| [vec![term(&rule.tree, x)], inside(&rule.tree, x)].concat();
                let (program, _) = of_four(n, dtype, ones, &all);
                let apart = compile(&program);
                let (text, apart_text) = (executable.explain(), apart.explain());
                assert_eq!(apart.superinstructions().count, 0, "{name} with ones {ones:b}\n{apart_text}");
                let (x, y) = (executable.run(&inputs).remove(0), apart.run(&inputs).remove(0));
                assert_eq!(bits(&x), bits(&y), "{name} with ones {ones:b}\n{text}{apart_text}");
                assert!(ones != 0 || executable.superinstructions().count == 1, "{name}\n{text}");
                seen |= text.contains(&format!(": {name};"));
            }
        }
        assert!(seen, "{name} is never used");
    }
}

#[test]
fn squares_are_products() {
    let (program, inputs) = of_four(1030, DType::F64, 0, &|[x, y, z, _]| {
        let square = x.unary(Unary::Square);
        vec![square.binary(Binary::Add, y), z.binary(Binary::Sub, &y.unary(Unary::Square))]
    });
    let text = assert_same_bits(&program, &inputs, "squares");
    assert!(text.contains(": mul_add, sub_mul;"), "{text}");
}

/// A uniform constant of `n` elements.
fn full(n: usize, dtype: DType, x: f64) -> Term {
    Term::constant(with_float!(dtype, E => Array::full(&[n], E::of_f64(x))))
}

#[test]
fn sums_with_weights_have_the_bits_of_their_operations() {
    for (dtype, n) in [DType::F64, DType::F32].into_iter().flat_map(|dtype| LENGTHS.map(|n| (dtype, n))) {
        for (length, shape) in (1..12).flat_map(|length| (0..6).map(move |shape| (length, shape))) {
            let (program, inputs) = of_four(n, dtype, 0, &|x| {
                let term = |k: usize| {
                    let scaled = x[k % 4].binary(Binary::Mul, &full(n, dtype, 0.1 + k as f64));
                    let element = View::affine(&[n], &[n], &[0], &[(k % n) as i64]);
                    let element = x[3].linear(&Linear::affine(element, View::identity(&[n])));
                    match (k + shape) % 5 {
                        0 => x[k % 4].clone(),
                        1 => scaled.unary(Unary::Neg),
                        2 => element.binary(Binary::Mul, &x[k % 3]),
                        _ => scaled,
                    }
                };
                let constant = full(n, dtype, 0.7);
                let start = match shape {
                    0..2 => term(0),
                    2 => constant.binary(Binary::Sub, &term(0)),
                    3 => term(0).binary(Binary::Sub, &constant),
                    _ => term(0).binary(Binary::Add, &constant),
                };
                vec![(1..length).fold(start, |sum, k| match (k * shape) % 3 {
                    0 => sum.binary(Binary::Add, &term(k)),
                    1 => term(k).binary(Binary::Add, &sum),
                    _ => sum.binary(Binary::Sub, &term(k)),
                })]
            });
            let text = assert_same_bits(&program, &inputs, "sum");
            if length > 2 {
                assert!(text.contains(" with weights"), "{program}\n{text}");
            }
        }
    }
}

#[test]
fn sums_of_products_have_the_bits_of_sums_of_their_products() {
    for (dtype, n) in [DType::F64, DType::F32].into_iter().flat_map(|dtype| LENGTHS.map(|n| (dtype, n))) {
        let total = |x: &Term| {
            let onto = View::affine(&[], &[n], &[], &[]);
            x.linear(&Linear::affine(View::identity(&[n]), onto))
        };
        let finite = |x: &Term| x.unary(Unary::Tanh);
        for square in [true, false] {
            let product = |x: &[Term; 4]| match square {
                true => finite(&x[0]).unary(Unary::Square),
                false => finite(&x[0]).binary(Binary::Mul, &finite(&x[1])),
            };
            let (program, inputs) = of_four(n, dtype, 0, &|x| vec![total(&product(x))]);
            let executable = compile(&program);
            assert!(executable.explain().contains("sum of products"), "{}", executable.explain());
            // The product is a result, too: it is stored.
            let (stored, _) = of_four(n, dtype, 0, &|x| vec![total(&product(x)), product(x)]);
            let (found, apart) = (executable.run(&inputs), compile(&stored).run(&inputs));
            assert_eq!(bits(&found[0]), bits(&apart[0]), "{dtype} {n} {square}");
        }
    }
}

#[test]
fn what_is_needed_elsewhere_is_not_absorbed() {
    // A product with two uses, a product that is a result, and `z - (x - y)`, which is no row of the table.
    let used_twice = |[x, y, z, w]: &[Term; 4]| {
        let product = x.binary(Binary::Mul, y);
        vec![product.binary(Binary::Add, z), product.binary(Binary::Sub, w)]
    };
    let result = |[x, y, z, _]: &[Term; 4]| {
        let product = x.binary(Binary::Mul, y);
        vec![product.binary(Binary::Add, z), product]
    };
    let from_the_left = |[x, y, z, _]: &[Term; 4]| vec![z.binary(Binary::Sub, &x.binary(Binary::Sub, y))];
    let programs: [&Make<'_>; 3] = [&used_twice, &result, &from_the_left];
    for f in programs {
        let (program, inputs) = of_four(600, DType::F64, 0, f);
        let text = assert_same_bits(&program, &inputs, "used twice");
        assert!(text.contains("0 superinstructions"), "{text}");
    }
}

#[test]
fn sine_and_cosine_of_an_angle_come_together() {
    let sine = |x: &Term| x.unary(Unary::Sin);
    let cosine = |x: &Term| x.unary(Unary::Cos);
    for (dtype, n) in [DType::F64, DType::F32].into_iter().flat_map(|dtype| LENGTHS.map(|n| (dtype, n))) {
        let alone = |f: &dyn Fn(&Term) -> Term| {
            let (program, inputs) = of_four(n, dtype, 0, &|x| vec![f(&x[0])]);
            compile(&program).run(&inputs).remove(0)
        };
        let apart = [alone(&sine), alone(&cosine)];
        for order in 0..3 {
            let (program, inputs) = of_four(n, dtype, 0, &|[x, y, ..]| match order {
                0 => vec![sine(x), cosine(x)],
                1 => vec![cosine(x).binary(Binary::Max, y), sine(x), cosine(x)],
                _ => vec![sine(x).binary(Binary::Max, y).binary(Binary::Min, &cosine(x)), sine(x), cosine(x)],
            });
            let executable = compile(&program);
            assert!(executable.explain().contains("sin_cos"), "{}", executable.explain());
            let results = executable.run(&inputs);
            for (a, b) in results[results.len() - 2..].iter().zip(&apart) {
                assert_eq!(bits(a), bits(b), "{dtype} {n}\n{program}");
            }
        }
    }
}

#[test]
fn parts_of_a_complex_product_come_together() {
    let mul = |x: &Term, y: &Term| x.binary(Binary::Mul, y);
    let add = |x: &Term, y: &Term| x.binary(Binary::Add, y);
    let sub = |x: &Term, y: &Term| x.binary(Binary::Sub, y);
    let product = |[x, y, z, w]: &[Term; 4]| vec![sub(&mul(x, z), &mul(y, w)), add(&mul(x, w), &mul(y, z))];
    let conjugate = |[x, y, z, w]: &[Term; 4]| vec![add(&mul(z, x), &mul(w, y)), sub(&mul(y, z), &mul(x, w))];
    // What uses a part comes after both.
    let twice = |[x, y, z, w]: &[Term; 4]| {
        let (re, im) = (sub(&mul(x, z), &mul(y, w)), add(&mul(x, w), &mul(y, z)));
        vec![sub(&mul(&re, z), &mul(&im, w)), add(&mul(&re, w), &mul(&im, z)), re.unary(Unary::Abs)]
    };
    // The negation of a factor of the sum.
    let negated = |[x, y, z, w]: &[Term; 4]| {
        let n = x.shape()[0];
        let scaled = |c: f64| mul(&full(n, x.dtype(), c), x);
        vec![add(&mul(z, &scaled(2.0)), &mul(w, y)), add(&mul(z, y), &mul(w, &scaled(-2.0)))]
    };
    let programs: [(&str, &Make<'_>, usize); 4] =
        [("product", &product, 1), ("conjugate", &conjugate, 1), ("twice", &twice, 2), ("negated", &negated, 1)];
    for (dtype, n) in [DType::F64, DType::F32].into_iter().flat_map(|dtype| LENGTHS.map(|n| (dtype, n))) {
        for (name, f, count) in programs {
            let (program, inputs) = of_four(n, dtype, 0, f);
            let text = assert_same_bits(&program, &inputs, name);
            let found = if count == 1 { " complex_product" } else { " 2 complex_product" };
            assert!(text.contains(found), "{name}\n{text}");
            assert!(name != "negated" || text.contains(" *, complex_product;"), "{text}");
        }
    }
    // A product with another use stays, and so does a pair with other factors.
    let used = |[x, y, z, w]: &[Term; 4]| {
        let first = mul(x, z);
        vec![sub(&first, &mul(y, w)), add(&mul(x, w), &mul(y, z)), first]
    };
    let unlike = |[x, y, z, w]: &[Term; 4]| vec![sub(&mul(x, z), &mul(y, w)), add(&mul(x, y), &mul(z, z))];
    let others: [&Make<'_>; 2] = [&used, &unlike];
    for f in others {
        let (program, inputs) = of_four(600, DType::F64, 0, f);
        let text = assert_same_bits(&program, &inputs, "no pair");
        assert!(!text.contains("complex_product"), "{text}");
    }
}
