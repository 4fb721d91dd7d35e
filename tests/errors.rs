//! Every message the library can raise, and that each points to the user's line.
//!
//! The messages stand in `errors.txt`, each under the code it points to: `make bless` writes that file
//! anew, and the difference is what a reviewer reads. Laws: a message points to the user's own call; a mistake is
//! reported in the same words at the same place in every interpreter, that is, inside a derivative too; messages
//! keep one grammar; a message without a case here is a failure.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::ops::{AddAssign, DivAssign, MulAssign, SubAssign};
use std::panic::Location;
use std::path::Path;

use polygrad::array::Rng;
use polygrad::direct::{grad, jvp, value_and_grad, value_and_grad_with, vjp};
use polygrad::ops::{Binary, Contract, Discrete, FloatStep, IntBinary, Linear, Unary, View};
use polygrad::tree::TreeMath;
use polygrad::{
    ADVal, Array, BaseTensor, Concrete, Conv, DType, Dual, Tensor, Tree, build, build1, concat, cond, einsum, fold,
    iterate, map, map_accum, map_accum_reverse, scan, stack, tensor, tree, zip_with,
};

#[path = "support/blind.rs"]
mod blind;
#[path = "support/formats.rs"]
mod formats;
#[path = "support/panics.rs"]
mod panics;

use blind::Blind;
use formats::{comes_from, literals, sources};
use panics::caught;

tree! {
    /// A structure of the user's.
    struct Layer<T> {
        weights: Tensor<T, 2>,
        bias: Vec<Tensor<T, 1>>,
    }
}

// ---- the log ----

/// One message, and the place it points to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    line: u32,
    column: u32,
    message: String,
}

/// Messages in the order they were raised.
#[derive(Default)]
struct Log(Vec<Entry>);

impl Log {
    /// A call that must panic, at a place within the call.
    #[track_caller]
    fn panics<R>(&mut self, f: impl FnOnce() -> R) {
        let seen = caught(f);
        let case = Location::caller();
        assert!(
            seen.file == file!() && (case.line()..case.line() + 8).contains(&seen.line),
            "the case at line {} is reported at {}:{}: {}",
            case.line(),
            seen.file,
            seen.line,
            seen.message
        );
        self.0.push(Entry { line: seen.line, column: seen.column, message: seen.message });
    }

    /// A call that must panic in a file of the library: a closure does not know who calls it.
    #[track_caller]
    fn panics_in<R>(&mut self, file: &str, f: impl FnOnce() -> R) {
        let (seen, case) = (caught(f), Location::caller());
        assert_eq!(seen.file, file, "{}", seen.message);
        self.0.push(Entry { line: case.line(), column: case.column(), message: seen.message });
    }

    /// A result that must be an error.
    #[track_caller]
    fn fails<R, E: ToString>(&mut self, result: Result<R, E>) {
        let case = Location::caller();
        let Err(e) = result else { panic!("an error was expected") };
        self.0.push(Entry { line: case.line(), column: case.column(), message: e.to_string() });
    }

    /// The code that each message points to, to the end of its line, and the message.
    fn text(&self) -> String {
        let lines: Vec<&str> = include_str!("errors.rs").lines().collect();
        let mut out = String::new();
        for entry in &self.0 {
            let code: String =
                lines[entry.line as usize - 1].chars().skip(entry.column as usize - 1).collect::<String>();
            writeln!(out, "{}\n    {}\n", code.trim_start_matches("fails(").trim_end_matches(");"), entry.message)
                .expect("a string takes text");
        }
        out
    }
}

// ---- mistakes that every interpreter sees ----

type Vector<T> = Tensor<T, 1>;

/// What the typed surface refuses; `x` has shape `[2, 3]`.
fn surface<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    operators(x, log);
    let v: &Vector<T> = &x.slice(1, 0..2).row(0);
    let zero = &Tensor::<T, 2>::zeros([0, 3]);

    log.panics(|| x.sum_axis(2));
    log.panics(|| x.sum_axes([1, 1]));
    log.panics(|| x.sum_axes([0, 2]));
    log.panics(|| x.replicate_axis(3, 4));
    log.panics(|| x.insert_axis(4));
    log.panics(|| x.remove_axis(2));
    log.panics(|| x.remove_axis(0));
    log.panics(|| x.broadcast_to([4, 3]));
    log.panics(|| x.permute([0, 0]));
    log.panics(|| x.slice(2, ..));
    log.panics(|| x.slice(1, 2..4));
    log.panics(|| x.slice(1, ..=usize::MAX));
    log.panics(|| x.slice_step(1, .., 0));
    log.panics(|| x.reverse(2));
    log.panics(|| x.diagonal(0, 2));
    log.panics(|| x.diagonal(0, 1));
    log.panics(|| x.window(2, 1, 1));
    log.panics(|| x.window(1, 4, 1));
    log.panics(|| x.reshape([4]));
    log.panics(|| x.row(2));
    log.panics(|| concat::<T, 2, f64>(0, []));
    log.panics(|| concat(2, [x]));
    log.panics(|| concat(0, [x, &x.t()]));
    log.panics(|| stack::<T, 1, 2, f64>([]));
    log.panics(|| stack([v, &x.row(0)]));

    log.panics(|| x.argmax_axis(2));
    log.panics(|| x.argmin_axis(2));
    log.panics(|| x.max_axis(2));
    log.panics(|| x.min_axis(2));
    log.panics(|| zero.max_axis(0));
    log.panics(|| zero.max_all());
    log.panics(|| zero.min_all());
    log.panics(|| v.slice(0, 2..).argmax());
    log.panics(|| v.slice(0, 2..).argmin());
    log.panics(|| x.mean_axis(2));
    log.panics(|| x.var_axis(2));
    log.panics(|| x.logsumexp_axis(2));
    log.panics(|| x.softmax(2));
    log.panics(|| x.log_softmax(2));

    log.panics(|| v.dot(&x.row(0)));
    log.panics(|| v.vecmat(&x.t()));
    log.panics(|| x.matvec(v));
    log.panics(|| x.matmul(x));
    let cube = &x.replicate::<3>(2);
    log.panics(|| cube.batched_matmul(&x.t().replicate(3)));
    log.panics(|| cube.batched_matmul(cube));

    let ix = |n| Tensor::<T, 1, i64>::iota(n);
    log.panics(|| x.gather([&ix(1), &ix(2)]));
    log.panics(|| x.clone().scatter_add([&ix(1), &ix(2)], v));
    log.panics(|| x.clone().scatter_add([&ix(1)], &x.t()));

    log.panics(|| x.item());
    log.panics(|| Tensor::<T, 1>::constant(1.0));
    log.panics(|| Tensor::<T, 2, i64>::from_raw(x.raw().clone()));
    trees(x, v, log);
    loops(x, v, log);
    vocabulary(x, log);
    specifications(x, log);
}

/// What is made of several operations.
fn vocabulary<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    let t = &x.t();
    log.panics(|| x.hypot(t));
    log.panics(|| x.copysign(t));
    log.panics(|| x.argsort(2));
    log.panics(|| x.argsort_descending(2));
    log.panics(|| x.sort(2));
    log.panics(|| x.sort_descending(2));
    log.panics(|| x.top_k(2, 1));
    log.panics(|| x.top_k(1, 4));
    log.panics(|| x.take_along(2, &x.argsort(0)));
    log.panics(|| x.take_along(1, &t.argsort(0)));
    log.panics(|| x.prod_axis(2));
    log.panics(|| x.cumsum(2));
    log.panics(|| x.cumsum_reverse(2));
    log.panics(|| x.cumprod(2));
    log.panics(|| x.cummax(2));
    log.panics(|| x.cummin_reverse(2));
    log.panics(|| x.trace());

    let (signal, kernel) = (&x.insert_axis::<3>(0), &t.insert_axis::<3>(0));
    log.panics(|| signal.conv1d(kernel, Conv::default()));
    log.panics(|| signal.conv1d(&signal.pad([(0, 0), (0, 0), (1, 0)]), Conv::default()));
    log.panics(|| signal.conv1d(&signal.slice(2, ..0), Conv::default()));
    log.panics(|| signal.conv1d(signal, Conv::default().dilation([0])));
    log.panics(|| signal.max_pool1d(4, 1));
    log.panics(|| signal.avg_pool1d(2, 0));
    let image = &signal.insert_axis::<4>(0);
    log.panics(|| image.conv2d(&kernel.insert_axis(0).replicate_axis::<5>(1, 2).sum_axis(0), Conv::default()));
    log.panics(|| image.conv2d(image, Conv::default().stride([1, 0])));
    log.panics(|| image.conv2d(image, Conv::default().dilation([1, 2])));
    log.panics(|| image.max_pool2d([3, 1], [1, 1]));
    log.panics(|| image.avg_pool2d([0, 1], [1, 1]));
}

/// Sums of products that are none.
fn specifications<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    let (v, none): (_, [&Vector<T>; 0]) = (&x.row(0), []);
    log.panics(|| einsum::<_, 2, _>("ij,jk", [x, x]));
    log.panics(|| einsum::<_, 2, _>("ij,1k->ik", [x, x]));
    log.panics(|| einsum::<_, 2, _>("ij,jk->i.k", [x, x]));
    log.panics(|| einsum::<_, 2, _>("ij,jk->ik", [x, x]));
    log.panics(|| einsum::<_, 2, _>("ij,ik->jz", [x, x]));
    log.panics(|| einsum::<_, 2, _>("ij,ik->jj", [x, x]));
    log.panics(|| einsum::<_, 1, _>("ij,ik->jk", [x, x]));
    log.panics(|| einsum::<_, 2, _>("ij,ik,k->jk", [x, x]));
    log.panics(|| einsum::<_, 2, _>("ij,jk->ij", (x, v)));
    log.panics(|| einsum::<_, 0, _>("ii->", x));
    log.panics(|| einsum::<_, 0, f64>("->", none));
}

/// Operators and functions of two tensors, in their ownership forms.
fn operators<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    let (t, y) = (&x.t(), || x.clone());
    log.panics(|| x + t);
    log.panics(|| x + t.clone());
    log.panics(|| x.clone() + t);
    log.panics(|| x.clone() + t.clone());
    log.panics(|| x - t);
    log.panics(|| x.clone() - t.clone());
    log.panics(|| x * t);
    log.panics(|| x.clone() * t);
    log.panics(|| x / t);
    log.panics(|| y().add_assign(t));
    log.panics(|| y().sub_assign(t.clone()));
    log.panics(|| y().mul_assign(t));
    log.panics(|| y().div_assign(t));
    log.panics(|| x.to_int() % t.to_int());
    log.panics(|| x.to_int() / t.to_int());
    log.panics(|| x.gt(0.0) & t.gt(0.0));
    log.panics(|| x.gt(0.0) | t.gt(0.0));

    log.panics(|| x.eq(t));
    log.panics(|| x.ne(t));
    log.panics(|| x.lt(t));
    log.panics(|| x.le(t));
    log.panics(|| x.gt(t));
    log.panics(|| x.ge(t.clone()));
    log.panics(|| x.min(t));
    log.panics(|| x.max(t));
    log.panics(|| x.clamp(t, 1.0));
    log.panics(|| x.clamp(0.0, t));
    log.panics(|| x.pow(t));
    log.panics(|| x.atan2(t));
    log.panics(|| x.mul_no_nan(t));
    log.panics(|| x.to_int().quot(t.to_int()));
    log.panics(|| x.to_int().rem(t.to_int()));
    log.panics(|| x.gt(0.0).select(t, 0.0));
    log.panics(|| x.gt(0.0).select(0.0, t));
    log.panics(|| cond(&x.sum().gt(0.0), x, t));
}

/// Structures that do not fit, in all forms a structure can have.
fn trees<T: BaseTensor>(x: &Tensor<T, 2>, v: &Vector<T>, log: &mut Log) {
    let (one, two) = (&vec![v.clone()], &vec![v.clone(), v.clone()]);
    let other = &vec![x.row(0)];
    log.panics(|| one.add(two));
    log.panics(|| one.add(other));
    log.panics(|| one.sub(two));
    log.panics(|| one.add_scaled(2.0, other));
    log.panics(|| one.binary(Binary::Pow, other));
    log.panics(|| one.dot(other));
    log.panics(|| one.zip_map(two, &mut |a, _| a.clone()));
    log.panics(|| one.zip_map(other, &mut |a, _| a.clone()));
    log.panics(|| one.with_leaves(vec![v.raw().clone(); 2]));
    // A leaf of another rank.
    let wrong = || vec![x.raw().clone()];
    log.panics(|| v.with_leaves(wrong()));
    log.panics(|| (v.clone(),).with_leaves(wrong()));
    log.panics(|| one.with_leaves(wrong()));
    log.panics(|| [v.clone()].with_leaves(wrong()));
    log.panics(|| Some(v.clone()).with_leaves(wrong()));
    log.panics(|| Box::new(v.clone()).with_leaves(wrong()));
    log.panics(|| BTreeMap::from([("v", v.clone())]).with_leaves(wrong()));
    let layer = Layer { weights: x.clone(), bias: vec![v.clone()] };
    log.panics(|| layer.with_leaves(vec![x.raw().clone(); 2]));
}

/// Loops over what does not fit, and bodies that return what does not.
fn loops<T: BaseTensor>(x: &Tensor<T, 2>, v: &Vector<T>, log: &mut Log) {
    let long = &x.row::<1>(0);
    log.panics(|| map((x, long), |(a, b)| a.times(b)));
    log.panics(|| zip_with(x, long, |a, b| a.times(b)));
    log.panics(|| fold(v.sum(), (v, long), |c, (a, b)| c + a * b));
    log.panics(|| scan(v.sum(), (v, long), |c, (a, b)| c + a * b));
    log.panics(|| map_accum(v.sum(), (v, long), |c, (a, _)| (c, a.clone())));
    log.panics(|| map_accum_reverse(v.sum(), (v, long), |c, (a, _)| (c, a.clone())));
    // The carry changes.
    log.panics(|| fold(long.clone(), x, |c, _| c.slice(0, 1..)));
    log.panics(|| scan(long.clone(), x, |c, _| c.slice(0, 1..)));
    log.panics(|| iterate(2, long.clone(), |_, c| c.slice(0, 1..)));
    log.panics(|| map_accum(long.clone(), x, |c, r| (c.slice(0, 1..), r.sum())));
    log.panics(|| fold(vec![v.sum()], x, |c, _| [c.clone(), c].concat()));
    log.panics(|| fold(vec![v.sum()], x, |_, _| vec![]));
    log.panics(|| fold(long.clone(), Tensor::<T, 1>::zeros([0]), |c, _| c.slice(0, 1..)));
    // The output changes.
    let trip = Cell::new(0);
    let growing = || v.slice(0, ..trip.replace(trip.get() + 1).min(2));
    log.panics(|| map(x, |_| growing()));
    trip.set(0);
    log.panics(|| map_accum(v.sum(), x, |c, _| (c, growing())));
    trip.set(0);
    log.panics(|| build1(2, |_| growing()));
    trip.set(0);
    log.panics(|| build([1, 2], |_| growing()));
    // A mistake within a body.
    log.panics(|| build1(2, |i| x.at([i]) + v));
    log.panics(|| build([2, 2], |[i, _]| x.at([i]).dot(v)));
    log.panics(|| map(x, |row| row.dot(v)));
    log.panics(|| fold(v.sum(), x, |c, row| c + row.dot(v)));
}

/// What the language refuses, where ranks and element types are known at run time only; `x` has shape `[2, 3]`.
fn language<T: BaseTensor>(x: &T, log: &mut Log) {
    let t = &x.linear(&Linear::permute(&[2, 3], &[1, 0]));
    let n = &T::discrete(&Discrete::ToInt, &[x]);
    let mask = &T::discrete(&Discrete::Not, &[&T::zeros(&[2, 3], DType::Bool)]);
    let f = &T::zeros(&[2, 3], DType::F32);

    log.panics(|| n.unary(Unary::Sin));
    log.panics(|| x.binary(Binary::Add, t));
    log.panics(|| x.binary(Binary::Mul, n));
    log.panics(|| n.binary(Binary::Mul, n));
    log.panics(|| x.clone().accumulate(t));
    log.panics(|| x.clone().accumulate(f));
    log.panics(|| n.clone().accumulate(x));
    log.panics(|| mask.clone().accumulate(mask));
    log.panics(|| T::select(x, x, x));
    log.panics(|| T::select(mask, x, t));
    log.panics(|| T::select(mask, x, f));

    log.panics(|| T::discrete(&Discrete::Not, &[]));
    log.panics(|| T::discrete(&Discrete::And, &[mask]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[n, n, n]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[x, t]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[x, n]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[x, x]));
    log.panics(|| T::discrete(&Discrete::Not, &[n]));
    log.panics(|| T::discrete(&Discrete::FloatStep(FloatStep::Floor), &[n]));
    log.panics(|| T::discrete(&Discrete::ToFloat(DType::F64), &[x]));
    log.panics(|| T::discrete(&Discrete::ToFloat(DType::I64), &[mask]));
    log.panics(|| T::discrete(&Discrete::ArgMax { axis: 0 }, &[mask]));
    log.panics(|| T::discrete(&Discrete::ArgMax { axis: 2 }, &[x]));
    log.panics(|| T::discrete(&Discrete::ArgSort { axis: 0, descending: false }, &[mask]));
    log.panics(|| T::discrete(&Discrete::ArgSort { axis: 2, descending: false }, &[x]));
    log.panics(|| T::discrete(&Discrete::ArgMin { axis: 1 }, &[&T::zeros(&[3, 0], DType::F64)]));

    log.panics(|| x.linear(&Linear::reshape(&[6], &[6, 1])));
    log.panics(|| mask.linear(&Linear::sum(&[2, 3], &[0])));
    log.panics(|| x.linear(&Linear::cast(&[2, 3], DType::F32, DType::F64)));
    log.panics(|| x.clone().accumulate_linear(&Linear::reshape(&[2, 3], &[3, 2]), x));
    let product = &Contract::axes(&[2, 2, 3], &[0, 2], &[1, 2], &[0, 1]);
    log.panics(|| T::contract(product, x, t));
    log.panics(|| T::contract(product, x, n));
    log.panics(|| T::contract(product, mask, mask));

    let ix = |n: usize| T::discrete(&Discrete::Iota { n }, &[]);
    log.panics(|| x.gather(&[ix(1), ix(1), ix(1)]));
    log.panics(|| x.gather(&[ix(1), x.clone()]));
    log.panics(|| x.gather(&[ix(1), ix(2)]));
    log.panics(|| x.clone().scatter_add(&[ix(1)], &ix(1)));
    log.panics(|| n.clone().scatter_add(&[ix(2)], x));
    log.panics(|| mask.clone().scatter_add(&[ix(2)], mask));
    log.panics(|| T::concat(0, &[]));
    log.panics(|| T::concat(2, std::slice::from_ref(x)));
    log.panics(|| T::concat(0, &[x.clone(), t.clone()]));
    log.panics(|| T::concat(0, &[x.clone(), n.clone()]));

    // Outputs that differ in number, and in element type.
    let xs = std::slice::from_ref(x);
    let trip = Cell::new(0);
    let odd = || trip.replace(trip.get() + 1) % 2 == 1;
    log.panics(|| T::map_accum(3, false, vec![], xs, &mut |_, _| (vec![], vec![])));
    log.panics(|| T::map_accum(2, false, vec![], xs, &mut |_, r| (vec![], r[usize::from(odd())..].to_vec())));
    trip.set(0);
    log.panics(|| T::map_accum(2, true, vec![], xs, &mut |_, _| (vec![], vec![ix(2); 1 + usize::from(odd())])));
    trip.set(0);
    log.panics(|| T::map_accum(2, true, vec![], xs, &mut |_, _| (vec![], vec![(if odd() { f } else { x }).clone()])));
    log.panics(|| T::map_accum(2, true, vec![ix(3)], xs, &mut |_, r| (r.to_vec(), vec![])));
}

/// All mistakes of a program, at one interpreter.
fn mistakes<T: BaseTensor>(x: &Tensor<T, 2>) -> Log {
    let mut log = Log::default();
    surface(x, &mut log);
    language(x.raw(), &mut log);
    log
}

fn matrix() -> Tensor<Concrete, 2> {
    tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

// ---- mistakes outside of programs ----

/// Operations that are no operations, and data that is none.
fn data(log: &mut Log) {
    log.panics(|| View::affine(&[2, 3], &[4], &[1], &[0, 0]));
    log.panics(|| View::axes(&[2, 3], &[2]));
    log.panics(|| View::identity(&[2, 3]).after(&View::identity(&[3, 2])));
    log.panics(|| Linear::affine(View::identity(&[2, 3]), View::identity(&[3, 2])));
    log.panics(|| Linear::sum(&[2, 3], &[2]));
    log.panics(|| Linear::replicate(&[2, 3], &[2]));
    log.panics(|| Linear::slice(&[2, 3], 1, 2, 2, 1));
    log.panics(|| Linear::pad(&[2, 3], &[1], &[1, 1]));
    log.panics(|| Linear::cast(&[2, 3], DType::I64, DType::F64));
    log.panics(|| Linear::reverse(&[2, 3], 0).after(&Linear::permute(&[2, 3], &[1, 0])));
    log.panics(|| Contract::new(View::identity(&[2]), View::identity(&[2]), View::identity(&[3])));
    log.panics(|| Contract::axes(&[2, 3], &[0], &[2], &[]));

    log.panics(|| Array::new(&[2, 3], vec![1.0]));
    log.fails(Array::try_new(&[2, 3], vec![1.0]));
    log.fails(Array::try_from(vec![vec![1.0, 2.0], vec![3.0]]));
    log.fails(Array::from([1.0, 2.0]).to_vec::<i64>());
    log.fails(<[f64; 3]>::try_from(Array::from([1.0, 2.0])));
    log.fails(Vec::<Vec<f64>>::try_from(Array::from([1.0, 2.0])));
    log.fails(Array::from([1.0, 2.0]).item::<f64>());
    log.fails(tensor([1.0, 2.0]).nested::<[[f64; 1]; 2]>());
    log.panics(|| Rng::new(0).below(0));
    log.panics(|| Rng::new(0).uniform(&[2], 2.0, 1.0));
    log.panics(|| Rng::new(0).uniform_as::<f32>(&[2], f64::NAN, 1.0));
    log.panics(|| Rng::new(0).normal(&[2], 0.0, -1.0));
    log.panics(|| Rng::new(0).normal_as::<f32>(&[2], 0.0, -1.0));

    log.panics(|| Tensor::<Blind, 0>::scalar(1.0).item());
}

/// Misuse of the verbs.
fn verbs(log: &mut Log) {
    let v = tensor([1.0, 2.0]);
    log.panics(|| jvp(|x: &Vec<Vector<_>>| x[0].clone(), &vec![v.clone()], &vec![]));
    log.panics(|| jvp(|x: &Vector<_>| x.sum(), &v, &tensor([1.0])));
    let (_, pullback) = vjp(|x: &Vector<_>| vec![x.square()], &v);
    log.panics_in("src/ad/direct.rs", || pullback(&vec![]));
    log.panics_in("src/ad/direct.rs", || pullback(&vec![tensor([1.0])]));

    // Where the table of derivatives ends.
    log.panics(|| grad(|x: &Vector<_>| x.trigamma().sum(), &v));
    log.panics(|| grad(|x: &Vector<_>| grad(|x: &Vector<_>| x.digamma().sum(), x).sum(), &v));
    log.panics(|| jvp(|x: &Vector<_>| x.trigamma(), &v, &v));

    let log = RefCell::new(log);
    reverse_levels(&log);
    forward_levels(&log);
    recorded_loops(&log);
}

/// A value of an outer derivative of the same level, in reverse.
fn reverse_levels(log: &RefCell<&mut Log>) {
    type Value = Tensor<ADVal<Concrete>, 0>;
    let one = tensor(1.0);
    let inner = |outer: &Value| {
        let mut log = log.borrow_mut();
        log.panics(|| grad(|y: &Value| y * outer, &one));
        log.panics(|| value_and_grad(|y: &Value| y * outer, &one));
        log.panics(|| value_and_grad_with(|y: &Value, _: &()| y * outer, &one, &()));
        outer.clone()
    };
    grad(inner, &one);
}

/// A value of an outer derivative of the same level, forward: the tangents meet in the user's own line.
fn forward_levels(log: &RefCell<&mut Log>) {
    type Value = Tensor<Dual<Concrete>, 0>;
    let one = &tensor(1.0);
    let inner = |outer: &Value| {
        let mut log = log.borrow_mut();
        let mut meets = |f: &dyn Fn(&Value) -> Value| {
            let seen = caught(|| jvp(f, one, one));
            assert_eq!(seen.file, file!(), "{}", seen.message);
            log.0.push(Entry { line: seen.line, column: seen.column, message: seen.message });
        };
        let (rows, packed) = (&Tensor::zeros([2]), std::array::from_ref(outer));
        meets(&|_| outer * 2.0);
        meets(&|y| y * outer);
        meets(&|y| y.clone() + outer);
        meets(&|y| y.max(outer));
        meets(&|y| y.atan2(outer));
        meets(&|y| y.times(outer));
        meets(&|y| y.dot(outer));
        meets(&|y| cond(&y.gt(0.0), y, outer));
        meets(&|y| stack::<_, 0, 1, f64>([y, outer]).sum());
        meets(&|y| [y.clone()].add(packed)[0].clone());
        meets(&|y| [y.clone()].add_scaled(2.0, packed)[0].clone());
        meets(&|y| TreeMath::dot(y, outer));
        meets(&|y| fold(y.clone(), rows, |_, _: &Value| outer.clone()));
        meets(&|y| fold(y.clone(), rows, |c, _: &Value| c * outer));
        meets(&|y| build1::<_, 0, 1, f64>(2, |_| y * outer).sum());
        outer.clone()
    };
    jvp(inner, one, one);
}

/// Loops whose derivative cannot be recorded.
fn recorded_loops(log: &RefCell<&mut Log>) {
    type Up = ADVal<Concrete>;
    type Value = Tensor<Up, 0>;
    let x = tensor([1.0, -1.0]);
    let inner = |x: &Vector<Up>| {
        let mut log = log.borrow_mut();
        let one = Value::scalar(1.0);
        let branch = |h: Value, x: &Value| if x.item() > 0.0 { h * x } else { h + x };
        log.panics(|| fold(one.clone(), x, branch));
        log.panics(|| build1::<Up, 0, 1, f64>(2, |i| if i.item() > 0 { x.at([i]).sin() } else { x.at([i]) }));
        let kept = RefCell::new(one.clone());
        log.panics(|| fold(one.clone(), x, |h, x: &Value| h * x * kept.replace(x.clone())));
        x.sum()
    };
    grad(inner, &x);
    log.borrow_mut().panics(|| {
        grad(
            |x: &Vector<Up>| {
                let escaped = RefCell::new(Value::scalar(1.0));
                let y = fold(Value::scalar(1.0), x, |h, x: &Value| {
                    escaped.replace(x.clone());
                    h * x
                });
                y + escaped.into_inner()
            },
            &x,
        )
    });
}

// ---- the tests ----

/// Every message there is.
fn everything() -> Log {
    let mut log = mistakes(&matrix());
    data(&mut log);
    verbs(&mut log);
    log
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn messages_are_as_recorded() {
    let (path, text) = (root().join("tests/errors.txt"), everything().text());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.split("\n\n").zip(recorded.split("\n\n")) {
        assert_eq!(now, then, "a message has changed: if it should, run `make bless` and read the difference");
    }
    assert_eq!(text.len(), recorded.len(), "messages have come or gone: run `make bless` and read the difference");
}

/// The log of a program's mistakes, made somewhere inside derivatives.
fn inside(run: impl FnOnce(&RefCell<Log>)) -> Vec<Entry> {
    let log = RefCell::default();
    run(&log);
    log.into_inner().0
}

#[test]
fn mistakes_are_reported_alike_in_every_interpreter() {
    let (x, plain) = (matrix(), mistakes(&matrix()).0);
    let reverse = inside(|log| {
        let f = |x: &Tensor<ADVal<Concrete>, 2>| {
            log.replace(mistakes(x));
            x.sum()
        };
        grad(f, &x);
    });
    let forward = inside(|log| {
        let f = |x: &Tensor<Dual<Concrete>, 2>| {
            log.replace(mistakes(x));
            x.sum()
        };
        jvp(f, &x, &x);
    });
    let twice = inside(|log| {
        let f = |x: &Tensor<ADVal<ADVal<Concrete>>, 2>| {
            log.replace(mistakes(x));
            x.square().sum()
        };
        grad(|x: &Tensor<ADVal<Concrete>, 2>| grad(f, x).sum(), &x);
    });
    for (name, log) in [("ADVal", reverse), ("Dual", forward), ("ADVal<ADVal>", twice)] {
        assert_eq!(log.len(), plain.len());
        for (here, there) in log.iter().zip(&plain) {
            assert_eq!(here, there, "in {name}");
        }
    }
}

#[test]
fn messages_keep_one_grammar() {
    for Entry { message, line, .. } in everything().0 {
        let parts = message.split_once(": ").and_then(|(op, rest)| {
            let (requirement, rest) = rest.split_once(", but ")?;
            let (fact, way_out) = rest.split_once("; ")?;
            Some([op, requirement, fact, way_out])
        });
        let Some([op, requirement, fact, way_out]) = parts else {
            panic!("case at line {line}: not `<op>: <requirement>, but <fact>; <way out>`: {message}");
        };
        assert!(!op.contains(' ') && op == op.to_lowercase(), "not an operation: {message}");
        assert!([requirement, fact, way_out].iter().all(|part| !part.is_empty()), "a part is empty: {message}");
        assert!(!message.ends_with('.') && !message.contains("  "), "not one phrase: {message}");
    }
}

#[test]
fn every_message_of_the_sources_has_a_case() {
    let (log, mut files) = (everything(), Vec::new());
    sources(root().join("src"), &mut files);
    sources(root().join("interpreters"), &mut files);
    let mut found = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("the file can be read");
        for literal in literals(&text).into_iter().filter(|l| l.contains(", but ")) {
            found += 1;
            let raised = log.0.iter().any(|entry| comes_from(&entry.message, &literal));
            assert!(raised, "{}: no case in tests/errors.rs raises this message: {literal}", file.display());
        }
    }
    assert!(found > 60, "only {found} messages were found");
}
