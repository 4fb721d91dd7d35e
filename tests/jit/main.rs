//! Native code (feature `jit`): its bits, its positions, its loops. `make jit` runs these tests, and with the feature those of
//! random programs and derivatives.
//!
//! Law: elementwise native code has the bits of kernels; loops agree with the interpreter of arrays; no position that data
//! decide leaves an array. Each test asks the plan whether native code is in it.

use polygrad::backend::{Executable, compile};
use polygrad::ops::{Binary, Compare, Discrete, FloatStep, IntBinary, IntUnary, Linear, Unary};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, DType, Function, Tensor, fold, iterate, map_accum, map_accum_reverse, while_loop};
use quickcheck::{Arbitrary, Gen, quickcheck};

/// Numbers where functions have edges.
const EDGES: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    -3.5,
    1e-300,
    5e-324,
    -2.2e-308,
    1e300,
    -1e300,
    0.99999999,
    700.0,
    -745.0,
    1e16,
    9.3e18,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.1,
];

/// Integers where operations have edges.
const WHOLE: [i64; 12] = [0, 1, -1, 2, -7, 63, 64, 65, i64::MAX, i64::MIN, 1 << 40, -(1 << 40)];

/// The bits of an array; all NaN are one.
fn bits(array: &Array) -> Vec<u64> {
    let of = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    match array.dtype() {
        DType::F64 => array.to_vec::<f64>().unwrap().into_iter().map(of).collect(),
        DType::F32 => array.to_vec::<f32>().unwrap().into_iter().map(|x| of(x.into())).collect(),
        DType::I64 => array.to_vec::<i64>().unwrap().into_iter().map(|x| x as u64).collect(),
        DType::Bool => array.to_vec::<bool>().unwrap().into_iter().map(u64::from).collect(),
    }
}

/// The executable of one operation on operands of `len` elements.
fn of_operation(len: usize, dtypes: &[DType], op: &dyn Fn(&[Term]) -> Term) -> Executable {
    let shape: &[usize] = if len == 1 { &[] } else { &[len] };
    let inputs: Vec<Term> = dtypes.iter().map(|dtype| Term::variable(shape, *dtype)).collect();
    compile(&Term::program(&inputs, &[op(&inputs)], &["y".into()]).unwrap())
}

/// Compares native code for one number with tiles of all numbers at once.
fn same_bits(name: &str, operands: &[Array], op: &dyn Fn(&[Term]) -> Term) {
    let len = operands[0].size();
    let dtypes: Vec<DType> = operands.iter().map(Array::dtype).collect();
    // So many that they are no native code.
    let copies = 4096usize.div_ceil(len);
    let (one, all) = (of_operation(1, &dtypes, op), of_operation(len * copies, &dtypes, op));
    assert!(one.explain().contains("native code"), "{name}: {}", one.explain());
    assert!(!all.explain().contains("native code"), "{name}: {}", all.explain());
    let repeated: Vec<Array> = operands.iter().map(|x| repeat(x, copies)).collect();
    let by_tiles = bits(&all.run(&repeated)[0]);
    for (k, by_tile) in by_tiles.into_iter().enumerate().take(len) {
        let at: Vec<Array> = operands.iter().map(|x| element(x, k)).collect();
        assert_eq!(bits(&one.run(&at)[0])[0], by_tile, "{name} at {at:?}");
    }
    // Side by side, as vectors: a part of eight, one of two, and one alone.
    let several = of_operation(TOGETHER, &dtypes, op);
    assert!(several.explain().contains("native code"), "{name}: {}", several.explain());
    let all = bits(&all.run(&repeated)[0]);
    for start in (0..len).step_by(TOGETHER - 2) {
        let at: Vec<Array> = repeated.iter().map(|x| window(x, start)).collect();
        assert_eq!(bits(&several.run(&at)[0]), all[start..start + TOGETHER], "{name} at {at:?}");
    }
}

/// The elements that are computed side by side.
const TOGETHER: usize = 11;

fn window(x: &Array, start: usize) -> Array {
    let range = start..start + TOGETHER;
    match x.dtype() {
        DType::F64 => Array::new(&[TOGETHER], x.to_vec::<f64>().unwrap()[range].to_vec()),
        DType::F32 => Array::new(&[TOGETHER], x.to_vec::<f32>().unwrap()[range].to_vec()),
        DType::I64 => Array::new(&[TOGETHER], x.to_vec::<i64>().unwrap()[range].to_vec()),
        DType::Bool => Array::new(&[TOGETHER], x.to_vec::<bool>().unwrap()[range].to_vec()),
    }
}

fn repeat(x: &Array, copies: usize) -> Array {
    let shape = [x.size() * copies];
    match x.dtype() {
        DType::F64 => Array::new(&shape, x.to_vec::<f64>().unwrap().repeat(copies)),
        DType::F32 => Array::new(&shape, x.to_vec::<f32>().unwrap().repeat(copies)),
        DType::I64 => Array::new(&shape, x.to_vec::<i64>().unwrap().repeat(copies)),
        DType::Bool => Array::new(&shape, x.to_vec::<bool>().unwrap().repeat(copies)),
    }
}

fn element(x: &Array, k: usize) -> Array {
    match x.dtype() {
        DType::F64 => Array::scalar(x.to_vec::<f64>().unwrap()[k]),
        DType::F32 => Array::scalar(x.to_vec::<f32>().unwrap()[k]),
        DType::I64 => Array::scalar(x.to_vec::<i64>().unwrap()[k]),
        DType::Bool => Array::scalar(x.to_vec::<bool>().unwrap()[k]),
    }
}

/// All pairs of elements.
fn pairs<E: Copy>(of: &[E]) -> [Vec<E>; 2] {
    let all = of.iter().flat_map(|a| of.iter().map(move |b| (*a, *b)));
    let (a, b): (Vec<E>, Vec<E>) = all.unzip();
    [a, b]
}

fn floats(dtype: DType, x: &[f64]) -> Array {
    match dtype {
        DType::F32 => Array::new(&[x.len()], x.iter().map(|x| *x as f32).collect()),
        DType::F64 | DType::I64 | DType::Bool => Array::new(&[x.len()], x.to_vec()),
    }
}

fn cast(x: &Term, from: DType, to: DType) -> Term {
    match (from, to) {
        (DType::I64, _) => Term::discrete(&Discrete::ToFloat(to), &[x]),
        (_, DType::I64) => Term::discrete(&Discrete::ToInt, &[x]),
        _ => x.linear(&Linear::cast(x.shape(), from, to)),
    }
}

#[test]
fn functions_of_one_number_have_the_bits_of_kernels() {
    for dtype in [DType::F64, DType::F32] {
        let x = [floats(dtype, &EDGES)];
        for op in Unary::ALL {
            same_bits(op.name(), &x, &|x| x[0].unary(*op));
        }
        for op in [FloatStep::Floor, FloatStep::Ceil, FloatStep::Round, FloatStep::Sign] {
            same_bits(op.name(), &x, &|x| Term::discrete(&Discrete::FloatStep(op), &[&x[0]]));
        }
        for to in [DType::F64, DType::F32, DType::I64].into_iter().filter(|to| *to != dtype) {
            same_bits("cast", &x, &|x| cast(&x[0], dtype, to));
        }
    }
}

#[test]
fn functions_of_two_numbers_have_the_bits_of_kernels() {
    for dtype in [DType::F64, DType::F32] {
        let x = pairs(&EDGES).map(|x| floats(dtype, &x));
        for op in Binary::ALL {
            same_bits(op.name(), &x, &|x| x[0].binary(*op, &x[1]));
        }
        for op in [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge] {
            same_bits(op.name(), &x, &|x| Term::discrete(&Discrete::Compare(op), &[&x[0], &x[1]]));
        }
    }
}

#[test]
fn operations_on_integers_have_the_bits_of_kernels() {
    let x = pairs(&WHOLE).map(|x| Array::new(&[x.len()], x));
    for op in IntBinary::ALL {
        same_bits(op.name(), &x, &|x| Term::discrete(&Discrete::IntBinary(*op), &[&x[0], &x[1]]));
    }
    for op in IntUnary::ALL {
        same_bits(op.name(), &x, &|x| Term::discrete(&Discrete::IntUnary(*op), &[&x[0]]));
    }
    for to in [DType::F64, DType::F32] {
        same_bits("cast", &x, &|x| cast(&x[0], DType::I64, to));
    }
}

/// A program natively, beside the interpreter.
fn agrees(program: &Program, inputs: &[Array]) {
    let run = compile(program);
    assert!(run.explain().contains("native code"), "{}", run.explain());
    let expected = interpret(program, inputs.to_vec());
    for (found, expected) in run.run(inputs).iter().zip(&expected) {
        let [found, expected] = [found, expected].map(|x| x.to_vec::<f64>().unwrap());
        let most = expected.iter().filter(|x| x.is_finite()).fold(1e-300f64, |most, x| most.max(x.abs()));
        for (a, b) in found.iter().zip(&expected) {
            assert!(a == b || (a - b).abs() <= 1e-11 * most || (a.is_nan() && b.is_nan()), "{a} for {b}");
        }
    }
}

/// Sizes of loops and arrays, and numbers.
#[derive(Clone, Debug)]
struct Sizes {
    trips: usize,
    width: usize,
    numbers: Vec<f64>,
}

impl Arbitrary for Sizes {
    fn arbitrary(g: &mut Gen) -> Sizes {
        let (trips, width) = (usize::arbitrary(g) % 9 + 2, usize::arbitrary(g) % 21 + 1);
        let number = |g: &mut Gen| (i32::arbitrary(g) % 1000) as f64 * 1e-3;
        Sizes { trips, width, numbers: (0..trips * width).map(|_| number(g)).collect() }
    }
}

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

/// A loop whose gradient keeps states, forward and backward, with matrices, choices and positions.
fn walk<T: BaseTensor>((xs, w): &(Matrix<T>, Vector<T>)) -> Tensor<T, 0> {
    let (c, ys): (Vector<T>, Matrix<T>) = map_accum(w, xs, |c: Vector<T>, x: &Vector<T>| {
        let c = (c * 0.7 + x).tanh() + x.reverse(0) * 0.1;
        (c.clone(), c.square())
    });
    let (d, zs): (Vector<T>, Matrix<T>) = map_accum_reverse(&c, &ys, |c: Vector<T>, y: &Vector<T>| {
        let dot = c.dot(y);
        let up = c.gt(y.clone()).select(&(&c * 1.1), &(y - 0.2));
        (up.clone() * 0.9, up + &dot.replicate(c.len()))
    });
    zs.square().sum() + d.sum()
}

/// Bodies that attract one another: differences of pairs, sums over axes, roots and quotients, and a logarithm that some
/// lanes do not have.
fn bodies<T: BaseTensor>((x, m): &(Matrix<T>, Vector<T>)) -> Tensor<T, 0> {
    let n = m.len();
    let (x, v): (Matrix<T>, Matrix<T>) = iterate(3, &(x.clone(), x * 0.0), |_, (x, v): (Matrix<T>, Matrix<T>)| {
        let all: Tensor<T, 3> = x.replicate(n);
        let apart = &all - &all.permute([1, 0, 2]);
        let square: Matrix<T> = apart.square().sum_axis(2) + 0.05;
        let cube: Tensor<T, 3> = (&square * square.sqrt()).replicate(3);
        let weights: Tensor<T, 3> = m.replicate::<2>(n).replicate(3);
        let pull = apart * (weights / cube).permute([1, 2, 0]);
        let near = square.lt(0.3).select(square.ln(), square * 0.1);
        let v = v + pull.sum_axis::<2>(1) * 0.01 + &near.matmul(&x) * 0.001;
        (x + v.clone() * 0.1, v)
    });
    x.square().sum() + (v * x).sum()
}

quickcheck! {
    fn loops_over_pairs_agree_with_the_interpreter(s: Sizes) -> bool {
        let n = s.trips.min(6);
        let x = Tensor::<Array, 2>::from_fn([n, 3], |[i, j]| i as f64 * 0.2 + s.numbers[(3 * i + j) % s.numbers.len()]);
        let m = Tensor::<Array, 1>::from_fn([n], |[j]| 0.3 + s.numbers[j % s.numbers.len()]);
        let inputs = [x.array().clone(), m.array().clone()];
        agrees(Function::value_and_grad(bodies, &(x.clone(), m.clone())).optimized(), &inputs);
        agrees(Function::stage(bodies, &(x, m)).optimized(), &inputs);
        true
    }

    fn loops_over_small_arrays_agree_with_the_interpreter(s: Sizes) -> bool {
        let xs = Tensor::<Array, 2>::from_fn([s.trips, s.width], |[i, j]| s.numbers[i * s.width + j]);
        let w = Tensor::<Array, 1>::from_fn([s.width], |[j]| 0.3 + s.numbers[j]);
        let at = (xs.clone(), w.clone());
        let inputs = [xs.array().clone(), w.array().clone()];
        agrees(Function::value_and_grad(walk, &at).optimized(), &inputs);
        agrees(Function::stage(walk, &at).optimized(), &inputs);
        true
    }

    fn loops_that_end_agree_with_the_interpreter(start: u8) -> bool {
        let x = Tensor::<Array, 0>::from_fn([], |[]| 1.0 + f64::from(start));
        let f = |x: &Tensor<_, 0>| {
            let (y, n) = while_loop(
                (x.clone(), x * 0.0),
                |(y, _)| y.gt(0.9),
                |(y, n): (Tensor<_, 0>, Tensor<_, 0>)| (y * 0.8, n + 1.0),
            );
            y * n
        };
        agrees(Function::stage(f, &x).optimized(), &[x.array().clone()]);
        true
    }
}

/// Numbers, each computed from the one before, by one form: lanes of a vector they must not be.
fn chain<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
    let next = |x: Tensor<T, 0>| &x * 1.1 - (&x * &x + 1.0).sqrt() * 0.3;
    iterate(3, x, |_, x: Tensor<T, 0>| (0..9).fold(x, |x, _| next(x)))
}

#[test]
fn statements_that_depend_on_one_another_stay_in_order() {
    for at in [0.3, -2.0, f64::INFINITY, f64::NAN] {
        let x = Tensor::<Array, 0>::from_fn([], |[]| at);
        agrees(Function::stage(chain, &x).optimized(), &[x.array().clone()]);
        agrees(Function::value_and_grad(chain, &x).optimized(), &[x.array().clone()]);
    }
}

#[test]
fn positions_out_of_bounds_give_zero_and_are_dropped() {
    let f = |(x, k): &(Vector<_>, Tensor<_, 1, i64>)| {
        iterate(4, x, |i, x: Vector<_>| {
            let at = k.at([i]);
            let moved = x.at([&at]) + x.at([&(&at - 1i64)]) * 0.5;
            x.set([&at], &moved) + x.reverse(0) * 0.25
        })
    };
    let x = Tensor::<Array, 1>::from_fn([5], |[i]| i as f64 + 1.0);
    for k in [[0, 4, 5, -1], [i64::MAX, i64::MIN, 2, 3], [1 << 61, -(1 << 61), 1 << 62, 7]] {
        let k = Tensor::<Array, 1, i64>::from_fn([4], |[i]| k[i]);
        agrees(Function::stage(f, &(x.clone(), k.clone())).optimized(), &[x.array().clone(), k.array().clone()]);
    }
}

#[test]
fn several_threads_run_one_executable() {
    let x = Tensor::<Array, 1>::from_fn([6], |[i]| i as f64 * 0.1);
    let f = Function::value_and_grad(|x: &Vector<_>| iterate(50, x, |_, x: Vector<_>| (x * 1.01).sin()).sum(), &x);
    let run = compile(f.optimized());
    let expected = run.run(&[x.array().clone()]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..50).for_each(|_| assert_eq!(run.run(&[x.array().clone()]), expected)));
        }
    });
}

#[test]
fn code_is_freed_with_its_executable() {
    // Each compiles pages, which are given back: the address space does not run out.
    let x = Tensor::<Array, 1>::from_fn([4], |[i]| i as f64);
    let sum = |x: &Vector<_>| fold(x.sum(), x, |c: Tensor<_, 0>, x: &Tensor<_, 0>| c * 0.5 + x.square());
    for _ in 0..300 {
        let f = Function::stage(sum, &x);
        assert_eq!(compile(f.optimized()).run(&[x.array().clone()]).len(), 1);
    }
}
