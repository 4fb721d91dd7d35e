//! The largest value of an axis is an operation of its own; it means what reading at the position of the extremum
//! means.
//!
//! * `reductions_read_at_positions`: both agree in value, to the bit, and in derivatives of orders 1 to 3, in every
//!   nesting of forward and reverse mode, run and traced, on arrays with ties, zeros of both signs and NaN.
//! * `values_need_no_positions`: programs of values alone, and the shifted sums of exponentials, have neither `argmax`
//!   nor `gather`.
//! * `pooling_is_the_reduction_of_windows`: maxima of slices choose as reductions of windows do.

use crate::support::{assert_close, floats};
use polygrad::array::Rng;
use polygrad::interpreters::adval::{ADVal, Sweep};
use polygrad::interpreters::dual::{Dual, Forward};
use polygrad::ops::{Binary, Discrete, Reduce, Unary};
use polygrad::passes::optimize;
use polygrad::program::{Op, Program, Term, interpret};
use polygrad::shape::size;
use polygrad::symbolic::grad;
use polygrad::{Array, BaseTensor, Concrete, DType, Function, Tensor, direct, inspect, map, tensor};

// ---- derivatives, nested ----

/// A program of one value.
trait Map {
    fn run<T: BaseTensor>(&self, x: &T) -> T;
}

/// A smooth function of the extrema of a smooth function.
struct Extremum {
    op: Reduce,
    by_position: bool,
}

impl Map for Extremum {
    fn run<T: BaseTensor>(&self, x: &T) -> T {
        let x = x.binary(Binary::Mul, x).binary(Binary::Add, x);
        let y = if self.by_position {
            x.gather(&self.op.indices(x.shape(), &T::discrete(&self.op.position(), &[&x])))
        } else {
            x.reduce(self.op)
        };
        y.unary(Unary::Sin).binary(Binary::Mul, &y)
    }
}

/// Different numbers of this shape.
fn weights<T: BaseTensor>(like: &T) -> T {
    let numbers: Vec<f64> = (0..size(like.shape())).map(|k| 1.0 + (k * 7 % 5) as f64 * 0.25).collect();
    let all = Array::new(like.shape(), numbers);
    T::constant(if like.dtype() == DType::F32 { all.cast::<f32>() } else { all })
}

/// The derivative in a direction.
struct F<P>(P);

impl<P: Map> Map for F<P> {
    fn run<T: BaseTensor>(&self, x: &T) -> T {
        let pass = Forward::new();
        pass.result(&self.0.run(&pass.input::<T>(x, &weights(x)))).1
    }
}

/// The cotangent of the argument.
struct R<P>(P);

impl<P: Map> Map for R<P> {
    fn run<T: BaseTensor>(&self, x: &T) -> T {
        let mut pass = Sweep::new();
        let y: ADVal<T> = self.0.run(&pass.input(x));
        let ct = weights(y.primal());
        pass.pull(&[y], vec![ct]).remove(0)
    }
}

/// A program as it is recorded.
fn traced(p: &impl Map, like: &Array) -> Program {
    let x = Term::variable(like.shape(), like.dtype());
    Term::program(std::slice::from_ref(&x), &[p.run(&x)], &[]).expect("nothing escapes")
}

/// Elements of which many are equal; NaN among them, if asked for.
fn ties(rng: &mut Rng, shape: &[usize], dtype: DType, nan: bool) -> Array {
    let few = [-1.5, -0.0, 0.0, 0.0, 0.75, 0.75, if nan { f64::NAN } else { 0.5 }];
    let all = Array::new(shape, (0..size(shape)).map(|_| few[rng.below(few.len())]).collect());
    if dtype == DType::F32 { all.cast::<f32>() } else { all }
}

fn bits(a: &Array) -> Vec<u64> {
    floats(a).into_iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
}

/// Both forms of an extremum, through one nesting, run and traced.
fn agree<N: Map>(name: &str, nest: impl Fn(Extremum) -> N, op: Reduce, x: &Array) {
    let [new, old] = [false, true].map(|by_position| nest(Extremum { op, by_position }));
    let expected = old.run(x);
    assert_eq!(bits(&expected), bits(&new.run(x)), "{name} of {op} at {x:?}");
    // In reverse mode a recorded read sends zeros to the elements that it does not read, and these meet a NaN in the data
    // as they are; those of an extremum do not: `docs/decisions/08-guarded-partials.md`.
    let by_position = (name != "reverse" || floats(x).iter().all(|x| !x.is_nan())).then(|| optimize(&traced(&old, x)));
    for program in [traced(&new, x), optimize(&traced(&new, x))].into_iter().chain(by_position) {
        let got = interpret(&program, vec![x.clone()]).remove(0);
        assert_close(&format!("{name} of {op} at {x:?}, {program}"), &expected, &got, 1e-5);
    }
}

#[test]
fn reductions_read_at_positions() {
    let mut rng = Rng::new(1);
    let shapes: [&[usize]; 5] = [&[1], &[40], &[3, 4], &[4, 3], &[2, 3, 2]];
    for (k, shape) in shapes.into_iter().enumerate() {
        for op in (0..shape.len()).flat_map(Reduce::all) {
            let dtype = if k % 2 == 0 { DType::F64 } else { DType::F32 };
            let x = ties(&mut rng, shape, dtype, false);
            agree("value", |p| p, op, &x);
            agree("value", |p| p, op, &ties(&mut rng, shape, dtype, true));
            agree("forward", F, op, &x);
            agree("forward", F, op, &ties(&mut rng, shape, dtype, true));
            agree("reverse", R, op, &x);
            agree("reverse", R, op, &ties(&mut rng, shape, dtype, true));
            agree("forward of forward", |p| F(F(p)), op, &x);
            agree("forward of reverse", |p| F(R(p)), op, &x);
            agree("reverse of forward", |p| R(F(p)), op, &x);
            agree("reverse of reverse", |p| R(R(p)), op, &x);
            agree("three times forward", |p| F(F(F(p))), op, &x);
            agree("three times reverse", |p| R(R(R(p))), op, &x);
            agree("reverse of forward of reverse", |p| R(F(R(p))), op, &x);
        }
    }
}

/// Integers have extrema, which are constants of every derivative.
#[test]
fn extrema_of_integers() {
    let n = Array::new(&[2, 3], vec![3i64, -7, 3, 5, 9, i64::MIN]);
    assert_eq!(n.reduce(Reduce::Max { axis: 1 }), Array::from([3i64, 9]));
    assert_eq!(n.reduce(Reduce::Min { axis: 0 }), Array::from([3i64, -7, i64::MIN]));
    let dual: Dual<Concrete> = Dual::constant(n.clone()).reduce(Reduce::Max { axis: 0 });
    assert_eq!(dual.primal(), &Array::from([5i64, 9, 3]));
    let pass = Sweep::<Concrete>::new();
    let y = ADVal::<Concrete>::constant(n).reduce(Reduce::Max { axis: 0 });
    assert_eq!(pass.pull(&[y], vec![Array::zeros(&[3], DType::I64)]), []);
}

// ---- programs ----

fn count(program: &Program, kind: &dyn Fn(&Op<u32>) -> bool) -> usize {
    let within = |op: &Op<u32>| if let Op::Loop(l) = op { count(&l.body, kind) } else { 0 };
    program.nodes().iter().map(|node| usize::from(kind(&node.op)) + within(&node.op)).sum()
}

fn positions(program: &Program) -> usize {
    let positional = |op: &Op<u32>| {
        let position = matches!(op, Op::Discrete(Discrete::ArgMax { .. } | Discrete::ArgMin { .. }, _));
        position || matches!(op, Op::Gather(..) | Op::ScatterAdd(..))
    };
    count(program, &positional)
}

/// The lines between the braces of an optimized program of `x`.
fn lines<const D: usize>(
    x: &Tensor<Concrete, D>,
    f: impl Fn(&Tensor<Term, D>) -> Tensor<Term, 0>,
) -> (Program, String) {
    let program = Function::stage(|x: &Tensor<Term, D>| f(x), x).program().named(&["x"], &[""]);
    let text = optimize(&program).to_string();
    let body: Vec<&str> = text.lines().skip(1).map(str::trim).filter(|line| *line != "}").collect();
    (program, body.join("\n"))
}

#[test]
fn values_need_no_positions() {
    let x = Tensor::<Concrete, 2>::from_raw(Array::uniform(&[6, 5], -1.0, 1.0, 1));
    let (_, text) = lines(&x, |x| x.max_axis(1).min_all());
    assert_eq!(text, "return min axis=0 (max axis=1 x)");
    // The position is found where there is a derivative, and the value is read there.
    let (program, _) = lines(&x, |x| x.max_axis(1).sum());
    let text = optimize(&grad(&program)).to_string();
    assert!(text.contains("scatter_add f64[6, 5](0.0) [iota 6, argmax axis=1 x] "), "{text}");
    assert_eq!(text.matches("max axis=1").count(), 1, "{text}");

    let (program, text) = lines(&x, |x| x.logsumexp_axis(1).sum());
    assert_eq!(
        text,
        "t0 = max axis=1 (stop_gradient x)\n\
         t1 = select (abs t0 < inf) t0 0.0\n\
         t2 = sum axis=1 (exp (x - replicate [6, 5] axis=0 t1))\n\
         return sum (ln t2 + t1)"
    );
    assert_eq!(positions(&optimize(&grad(&program))), 0);
    let (program, text) = lines(&x, |x| x.softmax(1).square().sum());
    assert_eq!(
        text,
        "t0 = max axis=1 (stop_gradient x)\n\
         t1 = replicate [6, 5] axis=0 (select (abs t0 < inf) t0 0.0)\n\
         t2 = exp (x - t1)\n\
         t3 = square (t2 / replicate [6, 5] axis=0 (sum axis=1 t2))\n\
         return sum t3"
    );
    assert_eq!(positions(&optimize(&grad(&program))), 0);
    for (program, _) in [lines(&x, |x| x.log_softmax(0).square().sum()), lines(&x, |x| x.norm())] {
        assert_eq!(positions(&optimize(&program)), 0);
        assert_eq!(positions(&optimize(&grad(&program))), 0);
    }
}

/// A tangent that is known to be zero asks for no position, neither run nor traced.
#[test]
fn stopped_gradients_find_no_positions() {
    let x = tensor([0.5, 2.0, -1.0]);
    let f =
        |x: &Tensor<_, 1>| direct::value_and_grad(|x: &Tensor<_, 1>| x.times(&x.stop_gradient().max_all()).sum(), x).1;
    let (g, text) = inspect::transcript(f, &x);
    assert_eq!(g, tensor([2.0, 2.0, 2.0]));
    assert!(text.contains("max axis=0") && !text.contains("argmax"), "{text}");
}

#[test]
fn extrema_in_loops_become_one() {
    let x = Tensor::<Concrete, 2>::from_raw(Array::uniform(&[6, 5], -1.0, 1.0, 1));
    let (program, text) = lines(&x, |x| map(x, |row: &Tensor<_, 1>| row.max_all() - row.min_all()).sum());
    assert!(count(&program, &|op| matches!(op, Op::Loop(_))) == 1);
    assert_eq!(text, "return sum (max axis=1 x - min axis=1 x)");
    let text = optimize(&grad(&program)).to_string();
    assert!(!text.contains("loop") && text.contains("argmax axis=1 x"), "{text}");
}

// ---- pooling ----

type Images<T> = Tensor<T, 4>;

/// The largest of each window, as a reduction of windows.
fn reduced<T: BaseTensor>(x: &Images<T>, size: [usize; 2], stride: [usize; 2]) -> Images<T> {
    let rows: Images<T> = x.window::<5>(3, size[1], stride[1]).max_axis(4);
    rows.window::<5>(2, size[0], stride[0]).max_axis(3)
}

#[test]
fn pooling_is_the_reduction_of_windows() {
    let mut rng = Rng::new(5);
    let cases =
        [[[2, 2], [2, 2]], [[2, 3], [1, 2]], [[3, 3], [1, 1]], [[1, 4], [3, 4]], [[7, 2], [1, 1]], [[17, 1], [2, 1]]];
    for [size, stride] in cases {
        for nan in [false, true] {
            let x = Images::<Concrete>::from_raw(ties(&mut rng, &[2, 1, 18, 7], DType::F64, nan));
            assert_eq!(
                bits(reduced(&x, size, stride).raw()),
                bits(x.max_pool2d(size, stride).raw()),
                "{size:?} {stride:?}"
            );
            let loss = |y: Images<ADVal<Concrete>>| (Images::from_raw(weights(y.raw())) * y).sum();
            let expected = direct::grad(|x: &Images<_>| loss(reduced(x, size, stride)), &x);
            let got = direct::grad(|x: &Images<_>| loss(x.max_pool2d(size, stride)), &x);
            assert_eq!(bits(expected.raw()), bits(got.raw()), "{size:?} {stride:?}");
        }
    }
}

#[test]
fn pooling_is_a_maximum_of_slices() {
    let x = Images::<Concrete>::from_raw(Array::uniform(&[2, 3, 8, 8], -1.0, 1.0, 1));
    let (program, text) = lines(&x, |x| x.max_pool2d([2, 2], [2, 2]).sum());
    assert_eq!(
        text,
        "t0 = slice axis=2 0..7 step=2 axis=3 0..7 step=2 x\n\
         t1 = max t0 (slice axis=2 0..7 step=2 axis=3 1..8 step=2 x)\n\
         t2 = max t1 (slice axis=2 1..8 step=2 axis=3 0..7 step=2 x)\n\
         return sum (max t2 (slice axis=2 1..8 step=2 axis=3 1..8 step=2 x))"
    );
    assert_eq!(positions(&optimize(&grad(&program))), 0);
    // Windows that overlap share the maxima of their rows; large ones are reduced.
    let (_, text) = lines(&x, |x| x.max_pool2d([3, 3], [1, 1]).sum());
    assert_eq!(text.matches("max ").count(), 4, "{text}");
    let wide = Images::<Concrete>::from_raw(Array::uniform(&[1, 1, 2, 40], -1.0, 1.0, 1));
    let (_, text) = lines(&wide, |x| x.max_pool2d([1, 20], [1, 4]).sum());
    assert!(text.contains("max axis=4 ("), "{text}");
    assert_eq!(wide.max_pool2d([2, 40], [1, 1]).sum(), wide.max_all());
}
