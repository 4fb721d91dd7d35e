//! Pipelines: ways to compute one thing of a recipe, by name.
//!
//! Law: those that answer one question agree. The first of a question is the reference. To add one, add a row to
//! [`PIPELINES`].

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use polygrad::backend::{Executable, compile};
use polygrad::direct::{self, grad, jvp};
use polygrad::export::Exported;
use polygrad::import::Module;
use polygrad::internals::{
    branched, compile_in_least_memory, compile_in_small_blocks, gradient_in_stacks, gradient_side_by_side,
};
use polygrad::ops::{Binary, Discrete, External, FloatStep};
use polygrad::passes::{Options, checkpoint_loops, optimize, simplify, simplify_with, vectorize};
use polygrad::program::{Program, Slot, Term, interpret};
use polygrad::tree::{Stacked, TreeMath};
use polygrad::{
    ADVal, Array, BaseTensor, Concrete, DType, Dual, Function, Shapes, Tensor, Tree, checkpoint, hvp, laplacian_along,
    sparse_jacobian, symbolic,
};

use crate::any::{self, Level, lists_at};
use crate::dumped::dump;
use crate::gallery::Leaves;
use crate::points::{SINGULAR, numbers};
use crate::poles::has_pole;
use crate::recipe::{Recipe, Step};
use crate::stablehlo::evaluate;

type Point = Leaves<Concrete>;
type Scalar<T> = Tensor<T, 0>;

/// The program with its loops cut in segments, and what is left of these in segments of one trip.
pub(crate) fn in_segments(program: &Program) -> Program {
    checkpoint_loops(&checkpoint_loops(program, checkpoint(2)), checkpoint(1))
}

/// What is computed, of the loss where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// The values no step uses.
    Outputs,
    /// The signs of the zeros among them.
    Signs,
    Value,
    /// The outputs, along with their derivatives.
    Primal,
    Gradient,
    /// The derivative along `v`.
    Slope,
    /// The Hessian times `v`.
    Curvature,
    /// The sum of the second derivatives along `v` and along another direction.
    Bend,
    /// The third derivative along `v`.
    Third,
    /// `<J v, w>` of the outputs.
    Duality,
}

impl Question {
    /// How many derivatives are taken.
    pub(crate) fn order(self) -> u32 {
        match self {
            Question::Outputs | Question::Signs | Question::Value => 0,
            Question::Primal | Question::Gradient | Question::Slope | Question::Duality => 1,
            Question::Curvature | Question::Bend => 2,
            Question::Third => 3,
        }
    }
}

/// A way to answer a question.
pub(crate) struct Pipeline {
    pub(crate) question: Question,
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Case) -> Vec<Array>,
    /// Whether it is the same algorithm as the reference: then it agrees on infinities and NaN, too.
    pub(crate) same: bool,
}

const fn row(question: Question, name: &'static str, same: bool, run: fn(&Case) -> Vec<Array>) -> Pipeline {
    Pipeline { question, name, run, same }
}

use Question::{Bend, Curvature, Duality, Gradient, Outputs, Primal, Signs, Slope, Third, Value};

/// Every pipeline; the first of a question is what the others are compared with.
pub(crate) const PIPELINES: &[Pipeline] = &[
    row(Outputs, "run", true, |case| case.outputs_at(&case.x).0),
    row(Outputs, "staged, interpreted", true, |case| interpret(case.outputs(), case.x.0.clone())),
    row(Outputs, "staged, saved, loaded, interpreted", true, |case| {
        interpret(&saved_and_loaded(case.outputs()), case.x.0.clone())
    }),
    row(Outputs, "simplified", true, |case| interpret(&simplify(case.outputs()), case.x.0.clone())),
    row(Outputs, "simplified with fast math", false, |case| {
        let options = Options { fast_math: true, ..Options::default() };
        interpret(&simplify_with(case.outputs(), options), case.x.0.clone())
    }),
    row(Outputs, "vectorized", true, |case| interpret(case.vectorized_outputs(), case.x.0.clone())),
    row(Outputs, "vectorized, simplified", true, |case| {
        interpret(&simplify(case.vectorized_outputs()), case.x.0.clone())
    }),
    row(Outputs, "staged, compiled", true, |case| run(case.outputs(), &case.x.0)),
    row(Outputs, "staged, compiled in small blocks", true, |case| run_in_blocks(case.outputs(), &case.x.0)),
    row(Outputs, "vectorized, simplified, compiled", true, |case| run(&simplify(case.vectorized_outputs()), &case.x.0)),
    row(Outputs, "cut in segments", true, |case| interpret(&in_segments(case.outputs()), case.x.0.clone())),
    row(Outputs, "cut in segments, optimized, compiled", false, |case| {
        run(&optimize(&in_segments(case.outputs())), &case.x.0)
    }),
    row(Outputs, "exported, evaluated", true, |case| exported(case.outputs(), &case.x.0)),
    row(Outputs, "vectorized, simplified, exported, evaluated", true, |case| {
        exported(&simplify(case.vectorized_outputs()), &case.x.0)
    }),
    row(Outputs, "in branches, vectorized, simplified, exported, imported", true, |case| {
        imported(&simplify(&vectorize(&branched(case.outputs()))), &case.x.0)
    }),
    row(Outputs, "in branches, interpreted", true, |case| interpret(&branched(case.outputs()), case.x.0.clone())),
    row(Outputs, "vectorized, simplified, in branches, compiled", true, |case| {
        run(&branched(&simplify(case.vectorized_outputs())), &case.x.0)
    }),
    row(Outputs, "in branches, saved, loaded, compiled in small blocks", true, |case| {
        run_in_blocks(&saved_and_loaded(&branched(case.outputs())), &case.x.0)
    }),
    row(Outputs, "in branches, exported, evaluated", true, |case| exported(&branched(case.outputs()), &case.x.0)),
    row(Signs, "run", true, |case| case.signs_at(&case.x).0),
    row(Signs, "staged, interpreted", true, |case| interpret(case.signs(), case.x.0.clone())),
    row(Signs, "simplified", true, |case| interpret(&simplify(case.signs()), case.x.0.clone())),
    row(Signs, "vectorized", true, |case| interpret(&vectorize(case.signs()), case.x.0.clone())),
    row(Signs, "vectorized, simplified", true, |case| interpret(&simplify(&vectorize(case.signs())), case.x.0.clone())),
    row(Signs, "staged, compiled", true, |case| run(case.signs(), &case.x.0)),
    row(Signs, "vectorized, simplified, compiled", true, |case| run(&simplify(&vectorize(case.signs())), &case.x.0)),
    row(Value, "run", true, |case| vec![case.at(&case.x).into_raw()]),
    row(Value, "staged, interpreted", true, |case| interpret(case.program(), case.x.0.clone())),
    row(Primal, "run", true, |case| case.outputs_at(&case.x).0),
    row(Primal, "values of jvp", true, |case| jvp(|x| case.outputs_at(x), &case.x, &case.v).0.0),
    row(Primal, "values of vjp", true, |case| direct::vjp(|x| case.outputs_at(x), &case.x).0.0),
    row(Primal, "values of symbolic jvp", true, |case| {
        let mut all = interpret(&symbolic::jvp(case.outputs()), case.with(&case.v));
        all.truncate(all.len() / 2);
        all
    }),
    row(Gradient, "grad by running", true, |case| grad(|x| case.at(x), &case.x).0),
    row(Gradient, "grad by tracing", true, |case| polygrad::grad(|x: &Leaves<_>| case.at(x), &case.x).0),
    row(Gradient, "symbolic gradient", true, |case| interpret(case.gradient(), case.x.0.clone())),
    row(Gradient, "symbolic gradient, saved, loaded", true, |case| {
        interpret(&saved_and_loaded(case.gradient()), case.x.0.clone())
    }),
    row(Gradient, "gradient of the staged program by running", true, |case| {
        let run = |x: &Leaves<ADVal<Concrete>>| Scalar::from_raw(interpret(case.program(), x.0.clone()).remove(0));
        grad(run, &case.x).0
    }),
    row(Gradient, "symbolic gradient of segments", false, |case| {
        interpret(&symbolic::grad(&in_segments(case.program())), case.x.0.clone())
    }),
    row(Gradient, "symbolic gradient of segments, saved, loaded, optimized, compiled", false, |case| {
        let gradient = symbolic::grad(&in_segments(case.program()));
        run(&optimize(&saved_and_loaded(&gradient)), &case.x.0)
    }),
    row(Gradient, "symbolic vjp", true, |case| {
        let mut all = interpret(&symbolic::vjp(case.program()), case.and_one());
        all.split_off(1)
    }),
    row(Gradient, "symbolic linearize, transpose", false, |case| {
        let split = symbolic::linearize(case.program());
        let mut residuals = interpret(&split.primal, case.x.0.clone());
        residuals[0] = Array::scalar(1.0);
        interpret(&symbolic::transpose(&split.linear, case.x.0.len()), residuals)
    }),
    row(Gradient, "symbolic gradient, simplified", true, |case| {
        interpret(&simplify(case.gradient()), case.x.0.clone())
    }),
    row(Gradient, "symbolic gradient, vectorized", true, |case| {
        interpret(&vectorize(case.gradient()), case.x.0.clone())
    }),
    row(Gradient, "symbolic gradient of the vectorized program", true, |case| {
        interpret(&symbolic::grad(case.vectorized()), case.x.0.clone())
    }),
    row(Gradient, "everything simplified and vectorized", true, |case| {
        let gradient = symbolic::grad(&simplify(case.vectorized()));
        interpret(&simplify(&vectorize(&simplify(&gradient))), case.x.0.clone())
    }),
    row(Gradient, "symbolic gradient, compiled", true, |case| run(case.gradient(), &case.x.0)),
    row(Gradient, "everything simplified, vectorized and compiled", true, |case| {
        let gradient = symbolic::grad(&simplify(case.vectorized()));
        run(&simplify(&vectorize(&simplify(&gradient))), &case.x.0)
    }),
    row(Gradient, "everything simplified, vectorized and compiled in small blocks", true, |case| {
        let gradient = symbolic::grad(&simplify(case.vectorized()));
        run_in_blocks(&simplify(&vectorize(&simplify(&gradient))), &case.x.0)
    }),
    row(Gradient, "forwards, side by side", false, |case| {
        interpret(&case.side_by_side(case.program()), case.x.0.clone())
    }),
    row(Gradient, "vectorized, simplified, forwards, side by side, optimized", false, |case| {
        interpret(&optimize(&case.side_by_side(&simplify(case.vectorized()))), case.x.0.clone())
    }),
    row(Gradient, "forwards, in stacks, optimized", false, |case| {
        interpret(&optimize(&gradient_in_stacks(case.program())), case.x.0.clone())
    }),
    row(Gradient, "symbolic gradient, exported, evaluated", true, |case| exported(case.gradient(), &case.x.0)),
    row(Gradient, "everything simplified and vectorized, exported, evaluated", true, |case| {
        let gradient = symbolic::grad(&simplify(case.vectorized()));
        exported(&simplify(&vectorize(&simplify(&gradient))), &case.x.0)
    }),
    row(Gradient, "symbolic gradient, exported, imported", true, |case| imported(case.gradient(), &case.x.0)),
    row(Gradient, "gradient of segments, optimized, exported, evaluated", false, |case| {
        exported(&optimize(&symbolic::grad(&in_segments(case.program()))), &case.x.0)
    }),
    row(Gradient, "gradient of branches by running", true, |case| {
        let program = branched(case.program());
        let run = |x: &Leaves<ADVal<Concrete>>| Scalar::from_raw(interpret(&program, x.0.clone()).remove(0));
        grad(run, &case.x).0
    }),
    row(Gradient, "symbolic gradient of branches, interpreted", true, |case| {
        interpret(&symbolic::grad(&branched(case.program())), case.x.0.clone())
    }),
    row(Gradient, "symbolic gradient of branches, saved, loaded, compiled", true, |case| {
        run(&saved_and_loaded(&symbolic::grad(&branched(case.program()))), &case.x.0)
    }),
    row(Gradient, "symbolic gradient of branches of the vectorized program, optimized, compiled", false, |case| {
        run(&optimize(&symbolic::grad(&branched(&simplify(case.vectorized())))), &case.x.0)
    }),
    row(Gradient, "symbolic gradient of branches, vectorized, in branches, compiled in small blocks", false, |case| {
        run_in_blocks(&branched(&vectorize(&symbolic::grad(&branched(case.program())))), &case.x.0)
    }),
    row(Gradient, "in branches, forwards, side by side, optimized", false, |case| {
        interpret(&optimize(&case.side_by_side(&branched(case.program()))), case.x.0.clone())
    }),
    row(Gradient, "in branches, forwards, in stacks, optimized", false, |case| {
        interpret(&optimize(&gradient_in_stacks(&branched(case.program()))), case.x.0.clone())
    }),
    row(Gradient, "gradient of branches, exported, evaluated", true, |case| {
        exported(&symbolic::grad(&branched(case.program())), &case.x.0)
    }),
    row(Slope, "jvp by running", true, |case| vec![jvp(|x| case.at(x), &case.x, &case.v).1.into_raw()]),
    row(Slope, "series by running", false, |case| {
        vec![direct::taylor(|x| case.at(x), &case.x, &case.v, 1).remove(1).into_raw()]
    }),
    row(Slope, "symbolic jvp", true, |case| interpret(&symbolic::jvp(case.program()), case.with(&case.v)).split_off(1)),
    row(Slope, "symbolic jvp of the vectorized program", true, |case| {
        interpret(&symbolic::jvp(case.vectorized()), case.with(&case.v)).split_off(1)
    }),
    row(Slope, "symbolic jvp, vectorized", true, |case| {
        interpret(&vectorize(&symbolic::jvp(case.program())), case.with(&case.v)).split_off(1)
    }),
    row(Slope, "symbolic jvp of branches, compiled", true, |case| {
        run(&symbolic::jvp(&branched(case.program())), &case.with(&case.v)).split_off(1)
    }),
    row(Slope, "symbolic linearize of branches", false, |case| {
        let split = symbolic::linearize(&branched(case.program()));
        let residuals = interpret(&split.primal, case.x.0.clone()).split_off(1);
        interpret(&split.linear, case.v.0.iter().cloned().chain(residuals).collect())
    }),
    row(Slope, "linearize by running", false, |case| {
        vec![direct::linearize(|x: &Leaves<_>| case.at(x), &case.x).1(&case.v).into_raw()]
    }),
    row(Slope, "symbolic linearize", false, |case| {
        let split = symbolic::linearize(case.program());
        let residuals = interpret(&split.primal, case.x.0.clone()).split_off(1);
        interpret(&split.linear, case.v.0.iter().cloned().chain(residuals).collect())
    }),
    row(Slope, "value and symbolic jvp in one program, optimized", false, |case| {
        run(&case.value_and_slope(), &case.with(&case.v)).split_off(2)
    }),
    row(Slope, "gradient along v", false, |case| vec![grad(|x| case.at(x), &case.x).dot(&case.v).into_raw()]),
    row(Curvature, "jvp of grad by running", true, |case| {
        jvp(|x: &Leaves<_>| grad(|x| case.at(x), x), &case.x, &case.v).1.0
    }),
    row(Curvature, "grad of jvp by running", false, |case| {
        grad(|x: &Leaves<_>| jvp(|x| case.at(x), x, &case.lifted(&case.v)).1, &case.x).0
    }),
    row(Curvature, "grad of grad by running", false, |case| {
        let along = |x: &Leaves<ADVal<Concrete>>| grad(|x| case.at(x), x).dot(&case.lifted(&case.v));
        grad(along, &case.x).0
    }),
    row(Curvature, "hvp by tracing", false, |case| {
        let f = |x: &Leaves<Term>| Scalar::from_raw(interpret(case.program(), x.0.clone()).remove(0));
        hvp(f, &case.x, &case.v).0
    }),
    row(Curvature, "symbolic jvp of gradient", true, |case| {
        let jvp = symbolic::jvp(case.gradient());
        interpret(&jvp, case.with(&case.v)).split_off(case.x.0.len())
    }),
    row(Curvature, "symbolic vjp of gradient of segments", false, |case| {
        let vjp = symbolic::vjp(&symbolic::grad(&in_segments(case.program())));
        interpret(&vjp, case.with(&case.v)).split_off(case.x.0.len())
    }),
    row(Curvature, "symbolic vjp of gradient", false, |case| {
        let vjp = symbolic::vjp(case.gradient());
        interpret(&vjp, case.with(&case.v)).split_off(case.x.0.len())
    }),
    row(Curvature, "symbolic gradient of jvp", false, |case| {
        // The derivative along `v` in `x`: the cotangent of the value is 0, that of the tangent 1.
        let vjp = symbolic::vjp(&symbolic::jvp(case.program()));
        let mut inputs = case.with(&case.v);
        inputs.extend([Array::scalar(0.0), Array::scalar(1.0)]);
        interpret(&vjp, inputs)[2..][..case.x.0.len()].to_vec()
    }),
    row(Curvature, "symbolic vjp of gradient, vectorized before and after, simplified", false, |case| {
        let gradient = vectorize(&symbolic::grad(case.vectorized()));
        let vjp = simplify(&vectorize(&symbolic::vjp(&gradient)));
        interpret(&vjp, case.with(&case.v)).split_off(case.x.0.len())
    }),
    row(Curvature, "symbolic jvp of gradient, optimized, exported, evaluated", false, |case| {
        let jvp = optimize(&symbolic::jvp(case.gradient()));
        exported(&jvp, &case.with(&case.v)).split_off(case.x.0.len())
    }),
    row(Curvature, "symbolic jvp of gradient of branches, compiled", false, |case| {
        let jvp = symbolic::jvp(&symbolic::grad(&branched(case.program())));
        run(&jvp, &case.with(&case.v)).split_off(case.x.0.len())
    }),
    row(Curvature, "symbolic vjp of gradient of branches, optimized", false, |case| {
        let vjp = optimize(&symbolic::vjp(&symbolic::grad(&branched(case.program()))));
        interpret(&vjp, case.with(&case.v)).split_off(case.x.0.len())
    }),
    row(Bend, "jvp of grad along each by running", true, |case| {
        let along = |v: &Point| jvp(|x: &Leaves<_>| grad(|x| case.at(x), x), &case.x, v).1.dot(v);
        let [v, w] = case.directions();
        vec![(along(&v) + along(&w)).into_raw()]
    }),
    row(Bend, "sum along directions by tracing", false, |case| {
        let f = |x: &Leaves<Term>| Scalar::from_raw(interpret(case.program(), x.0.clone()).remove(0));
        vec![laplacian_along(f, &case.x, &Stacked::new(&case.directions())).into_raw()]
    }),
    row(Bend, "sum along directions of the vectorized program", false, |case| {
        let f = |x: &Leaves<Term>| Scalar::from_raw(interpret(case.vectorized(), x.0.clone()).remove(0));
        vec![laplacian_along(f, &case.x, &Stacked::new(&case.directions())).into_raw()]
    }),
    row(Bend, "sum along directions in branches", false, |case| {
        let program = branched(case.program());
        let f = |x: &Leaves<Term>| Scalar::from_raw(interpret(&program, x.0.clone()).remove(0));
        vec![laplacian_along(f, &case.x, &Stacked::new(&case.directions())).into_raw()]
    }),
    row(Third, "jvp of jvp of jvp by running", true, |case| {
        let second = |x: &Leaves<Dual<Concrete>>| {
            jvp(|x: &Leaves<_>| jvp(|x| case.at(x), x, &case.lifted(&case.v)).1, x, &case.lifted(&case.v)).1
        };
        vec![jvp(second, &case.x, &case.v).1.into_raw()]
    }),
    row(Third, "jvp of grad of jvp by running", false, |case| {
        let second = |x: &Leaves<Dual<Concrete>>| {
            let gradient = grad(|x: &Leaves<_>| jvp(|x| case.at(x), x, &case.lifted(&case.v)).1, x);
            gradient.dot(&case.lifted(&case.v))
        };
        vec![jvp(second, &case.x, &case.v).1.into_raw()]
    }),
    row(Third, "series by running", false, |case| {
        let third = direct::taylor(|x| case.at(x), &case.x, &case.v, 3).remove(3);
        vec![(third * 6.0).into_raw()]
    }),
    row(Third, "symbolic jvp of vjp of gradient", false, |case| {
        let vjp = symbolic::vjp(case.gradient());
        let all = interpret(&symbolic::jvp(&vjp), {
            let zeros = case.v.map(&mut |a| Array::zeros(a.shape(), a.dtype()));
            [case.with(&case.v), case.v.0.clone(), zeros.0].concat()
        });
        let count = case.x.0.len();
        let tangents = Leaves(all[3 * count..].to_vec());
        vec![tangents.dot(&case.v).into_raw()]
    }),
    row(Duality, "jvp by running", true, |case| {
        let tangents = jvp(|x| case.outputs_at(x), &case.x, &case.v).1;
        vec![tangents.dot(&case.weights(&tangents)).into_raw()]
    }),
    row(Duality, "vjp by running", false, |case| {
        let (y, pullback) = direct::vjp(|x: &Leaves<_>| case.outputs_at(x), &case.x);
        vec![pullback(&case.weights(&y)).dot(&case.v).into_raw()]
    }),
    row(Duality, "sparse Jacobian", false, |case| {
        let j = sparse_jacobian(|x: &Leaves<Term>| Leaves(interpret(case.outputs(), x.0.clone())), &case.x);
        let w = case.weights(&case.outputs_at(&case.x)).ravel();
        let elements = j.run(&case.x).expect("the same point").elements;
        let (v, w) = (case.v.ravel(), w);
        let sum = elements.into_iter().map(|(i, j, x)| x * w.at([i as i64]).item() * v.at([j as i64]).item()).sum();
        vec![Array::scalar::<f64>(sum)]
    }),
    row(Duality, "symbolic jvp", true, |case| {
        let mut all = interpret(&symbolic::jvp(case.outputs()), case.with(&case.v));
        let tangents = Leaves(all.split_off(all.len() / 2));
        vec![tangents.dot(&case.weights(&tangents)).into_raw()]
    }),
    row(Duality, "symbolic vjp", false, |case| {
        let y = case.outputs_at(&case.x);
        let mut all = interpret(&symbolic::vjp(case.outputs()), case.with(&case.weights(&y)));
        vec![Leaves(all.split_off(y.0.len())).dot(&case.v).into_raw()]
    }),
];

/// The results of the exported text; of the program itself, if it has linear algebra that is not exported.
pub(crate) fn exported(program: &Program, inputs: &[Array]) -> Vec<Array> {
    match program.exported("random") {
        Ok(exported) => {
            let results = evaluate(&exported.text, inputs);
            if crate::dumped::folder().is_some() {
                dumped(&exported, program, inputs);
            }
            results
        }
        Err(_) => interpret(program, inputs.to_vec()),
    }
}

/// The results of the program that is exported and imported again; of the program itself, if it is not exported.
fn imported(program: &Program, inputs: &[Array]) -> Vec<Array> {
    match program.exported("random") {
        Ok(exported) => {
            let module = Module::parse(&exported.text).unwrap_or_else(|error| panic!("{error}\n{}", exported.text));
            module.try_call(inputs).unwrap_or_else(|error| panic!("{error}\n{}", exported.text))
        }
        Err(_) => interpret(program, inputs.to_vec()),
    }
}

/// Writes a program for runs elsewhere, under a name that follows from its text.
fn dumped(exported: &Exported, program: &Program, inputs: &[Array]) {
    let mut hasher = DefaultHasher::new();
    exported.text.hash(&mut hasher);
    let name = format!("random_{:016x}", hasher.finish());
    dump(&name, exported, inputs, &interpret(program, inputs.to_vec()), 1e-9);
}

/// The compiled program, run twice: the second run finds memory as the first has left it.
pub(crate) fn run(program: &Program, x: &[Array]) -> Vec<Array> {
    run_twice(&compile(program), x)
}

/// The program compiled so that steps run in blocks and in parts, on one thread and on three, to the same bits.
pub(crate) fn run_in_blocks(program: &Program, x: &[Array]) -> Vec<Array> {
    static POOLS: LazyLock<[rayon::ThreadPool; 2]> =
        LazyLock::new(|| [1, 3].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool")));
    let executable = compile_in_small_blocks(program);
    let [one, three] = &*POOLS;
    let first = one.install(|| run_twice(&executable, x));
    let second = three.install(|| run_twice(&executable, x));
    for (a, b) in first.iter().zip(&second) {
        assert!(
            same_but_for_nan(a, b),
            "one thread and three differ: {a:?} and {b:?}\n{program}\n{}",
            executable.explain()
        );
    }
    // What runs again changes no bit.
    let bounded = compile_in_least_memory(program);
    assert!(bounded.peak_bytes() <= executable.peak_bytes(), "{program}\n{}", bounded.explain());
    for (a, b) in first.iter().zip(three.install(|| run_twice(&bounded, x))) {
        assert!(same_but_for_nan(a, &b), "{a:?} and {b:?}\n{program}\n{}", bounded.explain());
    }
    second
}

fn run_twice(executable: &Executable, x: &[Array]) -> Vec<Array> {
    let first = executable.run(x);
    let second = executable.run(x);
    for (a, b) in first.iter().zip(&second) {
        assert!(numbers_same(a, b), "two runs differ: {a:?} and {b:?}");
    }
    second
}

/// Which of two NaN a sum hands on depends on how it is computed, in tiles of these lengths or others.
pub(crate) fn same_but_for_nan(a: &Array, b: &Array) -> bool {
    floats(a).iter().zip(floats(b)).all(|(x, y)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()))
}

fn numbers_same(a: &Array, b: &Array) -> bool {
    floats(a).iter().zip(floats(b)).all(|(x, y)| x.to_bits() == y.to_bits())
}

/// A recipe at a point, with what pipelines share.
pub(crate) struct Case {
    pub(crate) recipe: Recipe,
    pub(crate) x: Point,
    pub(crate) v: Point,
    loss: OnceCell<Program>,
    outputs: OnceCell<Program>,
    signs: OnceCell<Program>,
    gradient: OnceCell<Program>,
    vectorized: OnceCell<Program>,
    vectorized_outputs: OnceCell<Program>,
}

impl Case {
    pub(crate) fn new(recipe: Recipe) -> Case {
        let x = Leaves(recipe.inputs.iter().map(numbers).collect());
        let v = direction(&x, 1);
        Case {
            recipe,
            x,
            v,
            loss: OnceCell::new(),
            outputs: OnceCell::new(),
            signs: OnceCell::new(),
            gradient: OnceCell::new(),
            vectorized: OnceCell::new(),
            vectorized_outputs: OnceCell::new(),
        }
    }

    /// The same with all floats of the inputs multiplied by a number.
    pub(crate) fn scaled(&self, by: f64) -> Case {
        let scaled = |a: &Array| match a.dtype() {
            DType::F64 | DType::F32 => a.binary(Binary::Mul, &Array::full_as(a.shape(), a.dtype(), by)),
            DType::I64 | DType::Bool => a.clone(),
        };
        Case { x: self.x.map(&mut |a| scaled(a)), ..Case::new(self.recipe.clone()) }
    }

    /// The loss at an interpreter.
    fn at<L: Level>(&self, x: &Leaves<L>) -> Scalar<L> {
        any::at(|x| Tensor::from_raw(self.recipe.loss(x.0.clone())), x)
    }

    pub(crate) fn value(&self, x: &Point) -> f64 {
        self.at(x).item()
    }

    fn outputs_at<L: Level>(&self, x: &Leaves<L>) -> Leaves<L> {
        Leaves(lists_at(|x| self.recipe.outputs(x), &x.0))
    }

    fn signs_at<L: Level>(&self, x: &Leaves<L>) -> Leaves<L> {
        Leaves(lists_at(|x| self.recipe.signs(x), &x.0))
    }

    fn signs(&self) -> &Program {
        self.signs.get_or_init(|| Function::stage(|x: &Leaves<Term>| self.signs_at(x), &self.x).program().clone())
    }

    /// The loss, staged.
    pub(crate) fn program(&self) -> &Program {
        self.loss.get_or_init(|| Function::stage(|x: &Leaves<Term>| self.at(x), &self.x).program().clone())
    }

    pub(crate) fn outputs(&self) -> &Program {
        self.outputs.get_or_init(|| Function::stage(|x: &Leaves<Term>| self.outputs_at(x), &self.x).program().clone())
    }

    pub(crate) fn gradient(&self) -> &Program {
        self.gradient.get_or_init(|| symbolic::grad(self.program()))
    }

    /// The program of the loss, once more with its tangent, optimized together.
    fn value_and_slope(&self) -> Program {
        let jvp = symbolic::jvp(self.program());
        let variable = |slot: &Slot| Term::variable(&slot.shape, slot.dtype);
        let inputs: Vec<Term> = jvp.inputs().iter().map(variable).collect();
        let value = interpret(self.program(), inputs[..self.x.0.len()].to_vec());
        let results = [value, interpret(&jvp, inputs.clone())].concat();
        optimize(&Term::program(&inputs, &results, &[]).expect("a closed program"))
    }

    /// The gradient of a program of the loss with tangents side by side, if there are not too many.
    fn side_by_side(&self, program: &Program) -> Program {
        let inputs: usize = self.x.0.iter().map(Array::size).sum();
        if inputs > 16 { symbolic::grad(program) } else { gradient_side_by_side(program) }
    }

    fn vectorized(&self) -> &Program {
        self.vectorized.get_or_init(|| vectorize(self.program()))
    }

    fn vectorized_outputs(&self) -> &Program {
        self.vectorized_outputs.get_or_init(|| vectorize(self.outputs()))
    }

    /// The point, then other inputs.
    fn with(&self, more: &Point) -> Vec<Array> {
        self.x.0.iter().chain(&more.0).cloned().collect()
    }

    fn and_one(&self) -> Vec<Array> {
        self.with(&Leaves(vec![Array::scalar(1.0)]))
    }

    fn lifted<T: BaseTensor>(&self, v: &Point) -> Leaves<T> {
        v.map(&mut |a| T::constant(a.clone()))
    }

    /// Weights of outputs.
    fn weights(&self, y: &Point) -> Point {
        direction(y, 2)
    }

    /// The direction `v` and another one.
    fn directions(&self) -> [Point; 2] {
        [self.v.clone(), direction(&self.x, 3)]
    }

    /// Whether finite differences can be the derivative: in `f64`, without gradients that are stopped.
    pub(crate) fn smooth(&self) -> bool {
        let stop = Discrete::FloatStep(FloatStep::StopGradient);
        self.recipe.tame
            && !self.single()
            && !self.recipe.any(|step| matches!(step, Step::Discrete(op, _) if *op == stop))
    }

    /// Whether numbers of single precision are part of it.
    pub(crate) fn single(&self) -> bool {
        let f32 = |n: &crate::recipe::Numbers| n.dtype == DType::F32;
        self.recipe.inputs.iter().any(f32) || self.recipe.any(|step| format!("{step:?}").contains("F32"))
    }

    /// Whether its numbers are those at which functions have kinks, poles and ties.
    pub(crate) fn is_singular(&self) -> bool {
        self.recipe.inputs.iter().all(|input| input.seed >= SINGULAR)
    }

    /// Whether its value or a first derivative is made of numbers that are not all finite, or of powers of zero; or may
    /// be, since what a loss that is a constant computes on the way is not recorded.
    pub(crate) fn has_pole(&self) -> bool {
        let constant = self.program().size() == 0;
        constant
            || has_pole(self.gradient(), &self.x.0)
            || has_pole(&symbolic::jvp(self.program()), &self.with(&self.v))
    }
}

/// Numbers between -1 and 1 in the place of floats, zeros in that of others.
fn direction(x: &Point, seed: u64) -> Point {
    let mut rng = polygrad::array::Rng::new(seed);
    x.map(&mut |leaf| match leaf.dtype() {
        DType::F32 => rng.uniform_as::<f32, _>(leaf.shape(), -1.0, 1.0),
        DType::F64 => rng.uniform(leaf.shape(), -1.0, 1.0),
        other @ (DType::I64 | DType::Bool) => Array::zeros(leaf.shape(), other),
    })
}

pub(crate) fn floats(a: &Array) -> Vec<f64> {
    a.cast::<f64>().to_vec().expect("converted to f64")
}

pub(crate) fn saved_and_loaded(program: &Program) -> Program {
    let text = serde_json::to_string(program).expect("a program can be saved");
    let loaded: Program = serde_json::from_str(&text).expect("a saved program can be loaded");
    let externals: Vec<External> = program.externals().iter().map(|code| (**code).clone()).collect();
    let loaded = loaded.link(&externals).expect("the program names what it was saved with");
    assert_eq!(*program, loaded, "what is loaded is what was saved");
    loaded
}

/// Shapes and element types of the outputs, without computing them.
pub(crate) fn kinds(case: &Case) -> Vec<(Vec<usize>, DType)> {
    let x = case.x.map(&mut |a| Shapes::new(a.shape(), a.dtype()));
    case.outputs_at(&x).0.iter().map(|y| (y.shape().to_vec(), y.dtype())).collect()
}
