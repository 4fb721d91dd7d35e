//! Mistakes that the typed surface refuses, in every interpreter.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::{AddAssign, DivAssign, MulAssign, SubAssign};

use polygrad::ops::Binary;
use polygrad::optim::clip_by_norm;
use polygrad::tree::{self, Stacked, TreeMath};
use polygrad::{
    Array, BaseTensor, Checkpoint, Conv, Tensor, Tree, associative_scan, build, build1, checkpoint, concat, cond,
    einsum, fold, iterate, map, map_accum, map_accum_reverse, parallel_scan, scan, stack, switch, vmap, while_loop,
    while_loop_within, zip_with,
};

use crate::log::Log;

type Vector<T> = Tensor<T, 1>;

/// A structure of the user's.
#[derive(Tree, Clone)]
struct Layer<T: BaseTensor> {
    weights: Tensor<T, 2>,
    bias: Vec<Tensor<T, 1>>,
}

/// A structure with plain data.
#[derive(Tree, Clone)]
struct Counted<T: BaseTensor> {
    sum: Tensor<T, 0>,
    count: usize,
}

impl<T: BaseTensor> Counted<T> {
    fn more(self, x: &Tensor<T, 0>) -> Self {
        Counted { sum: self.sum + x, count: self.count + 1 }
    }
}

/// What the typed surface refuses; `x` has shape `[2, 3]`.
pub(crate) fn surface<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    operators(x, log);
    let v: &Vector<T> = &x.slice(1, 0..2).row(0);
    let zero = &Tensor::<T, 2>::zeros([0, 3]);

    log.panics(|| x.cholesky());
    log.panics(|| x.solve(x));
    let square = &x.slice(1, 0..2);
    log.panics(|| square.solve(&x.t()));
    log.panics(|| square.solve(&x.row(0)));
    log.panics(|| square.solve_lower(&x.row(0)));
    log.panics(|| x.lstsq(&v.slice(0, 0..1)));

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
    log.panics(|| concat(0, Vec::<&Tensor<T, 2>>::new()));
    log.panics(|| concat(2, [x]));
    log.panics(|| concat(0, [x, &x.t()]));
    log.panics(|| stack::<T, 1, 2, f64>(Vec::<&Vector<T>>::new()));
    log.panics(|| x.unstack::<3, 1>());
    log.panics(|| v.up_to(x));
    log.panics(|| x.sum_keep(2));
    log.panics(|| Tensor::new([2, 2], vec![1.0]));
    log.panics(|| Tensor::<T, 2>::from_fn([usize::MAX, 2], |_| 0.0));
    log.panics(|| cond::<T, 1, f64>(x.sum().gt(0.0), 1.0, 0.0));
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
    log.panics(|| x.gather::<_, 2, 1, 0, 1>([0, 1]));
    log.panics(|| x.clone().scatter_add::<_, 2, 1, 0, 1>((0, 1), v));
    log.panics(|| x.clone().scatter_add([&ix(1), &ix(2)], v));
    log.panics(|| x.clone().scatter_add([&ix(1)], &x.t()));

    log.panics(|| Tensor::<T, 1>::constant(Array::from(1.0)));
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
    log.panics(|| x.linear_recurrence(x, 2));
    log.panics(|| x.linear_recurrence(&x.slice(0, 1..), 0));
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
    log.panics(|| cond(x.sum().gt(0.0), x, t));
    log.panics(|| cond(x.sum().gt(0.0), x.slice(0, ..1), x));
    log.panics(|| switch(Tensor::scalar(0), Vec::<Vector<Array>>::new()));
    log.panics(|| switch(Tensor::scalar(0), [x.clone(), x.slice(0, ..1)]));
    log.panics(|| tree::cond(x.sum().gt(0.0), &(x.clone(), x.clone()), &(x.clone(), x.slice(0, ..1))));
    let counted = |count: usize| Counted { sum: x.sum(), count };
    log.panics(|| tree::cond(x.sum().gt(0.0), &counted(1), &counted(2)));
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
    log.panics(|| two.unravel(v));
    log.panics(|| clip_by_norm(one, 0.0));
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
    log.panics_naming_the_call(|| vmap(|(a, b): &(Vector<T>, Tensor<T, 0>)| a.times(b))((x, long)));
    log.panics(|| fold(v.sum(), (v, long), |c, (a, b)| c + a * b));
    log.panics(|| scan(v.sum(), (v, long), |c, (a, b)| c + a * b));
    log.panics(|| map_accum(v.sum(), (v, long), |c, (a, _)| (c, a.clone())));
    log.panics(|| map_accum_reverse(v.sum(), (v, long), |c, (a, _)| (c, a.clone())));
    // The carry changes.
    log.panics(|| fold(long.clone(), x, |c, _| c.slice(0, 1..)));
    log.panics(|| scan(long.clone(), x, |c, _| c.slice(0, 1..)));
    log.panics(|| iterate(2, long.clone(), |_, c| c.slice(0, 1..)));
    log.panics(|| map_accum_reverse(long.clone(), x, |c, r| (c.slice(0, 1..), r.sum())));
    log.panics(|| map_accum(long.clone(), x, |c, r| (c.slice(0, 1..), r.sum())));
    log.panics(|| fold(vec![v.sum()], x, |c, _| [c.clone(), c].concat()));
    log.panics(|| fold(vec![v.sum()], x, |_, _| vec![]));
    log.panics(|| fold(long.clone(), Tensor::<T, 1>::zeros([0]), |c, _| c.slice(0, 1..)));
    structures(x, v, log);
    segments(x, v, log);
    repeats(v, log);
    log.panics(|| associative_scan(x, |a: &Vector<T>, b| a.slice(0, 1..) + b.slice(0, 1..)));
    log.panics(|| associative_scan((v, long), |(a, b), (c, d)| (a + c, b * d)));
    log.panics(|| parallel_scan(x, |a: &Vector<T>, b| a.slice(0, 1..) + b.slice(0, 1..)));
    // A mistake within a body.
    log.panics(|| build1(2, |i| x.at([i]) + v));
    log.panics(|| build([2, 2], |[i, _]| x.at([i]).dot(v)));
    log.panics(|| map(x, |row| row.dot(v)));
    log.panics(|| vmap(|row: &Vector<T>| row.dot(v))(x));
    log.panics(|| fold(v.sum(), x, |c, row| c + row.dot(v)));
}

/// Structures that change within a loop, and stacks of them.
fn structures<T: BaseTensor>(x: &Tensor<T, 2>, v: &Vector<T>, log: &mut Log) {
    let start = Counted { sum: v.sum(), count: 0 };
    log.panics(|| fold(start.clone(), v, Counted::more));
    log.panics(|| scan(start.clone(), v, Counted::more));
    log.panics(|| map_accum(start.clone(), v, |c: Counted<T>, x| (c.more(x), ())));
    log.panics(|| checkpoint(1).fold(start.clone(), v.clone(), Counted::more));
    log.panics(|| while_loop_within(3, start.clone(), |c: &Counted<T>| c.sum.lt(9.0), |c| c.clone().more(&c.sum)));
    log.panics(|| fold(None::<Tensor<T, 0>>, v, |_, x: &Tensor<T, 0>| Some(x.clone())));
    log.panics(|| fold(v.sum(), Vec::<Tensor<T, 1>>::new(), |c: Tensor<T, 0>, _: &Vec<Tensor<T, 0>>| c));
    let layers = Stacked::new(&[Layer { weights: x.clone(), bias: vec![v.clone()] }]);
    let cut = |a: &Layer<T>, _: &Layer<T>| Layer { weights: a.weights.clone(), bias: vec![] };
    log.panics(|| associative_scan(stack_of_two(&layers), cut));
    log.panics(|| Stacked::new(&[v.clone(), x.row(0)]));
    log.panics(|| Stacked::new(&[start.clone(), start.clone().more(&v.sum())]));
    log.panics(|| Stacked::<T, Tensor<T, 0>>::new(&[]));
    log.panics(|| layers.row(1));
    log.panics(|| layers.clone().scatter_add(&Tensor::iota(2), &layers));
    log.panics(|| Stacked::new(&[(v.sum(), v.gt(0.0))]).sum());
    let other = &*Box::leak(Box::new(v.clone()));
    log.panics(|| layers.field(|_| other));
    log.panics(|| layers.with_leaves(vec![v.raw().clone(); 2]));
}

/// The only row twice.
fn stack_of_two<T: BaseTensor>(layers: &Stacked<T, Layer<T>>) -> Stacked<T, Layer<T>> {
    Stacked::new(&[layers.row(0), layers.row(0)])
}

/// Loops that are cut in segments.
fn segments<T: BaseTensor>(x: &Tensor<T, 2>, v: &Vector<T>, log: &mut Log) {
    let long = &x.row::<1>(0);
    log.panics(|| checkpoint(0));
    log.panics(|| Checkpoint::states(0));
    log.panics(|| checkpoint(1).fold(v.sum(), (v, long), |c, (a, b)| c + a * b));
    log.panics(|| checkpoint(1).map_accum(v.sum(), (v, long), |c, (a, _)| (c, a.clone())));
    log.panics(|| checkpoint(1).map_accum_reverse(long.clone(), x, |c, r| (c.slice(0, 1..), r.sum())));
    log.panics(|| checkpoint(1).iterate(2, long.clone(), |_, c| c.slice(0, 1..)));
}

/// Loops that end by themselves.
fn repeats<T: BaseTensor>(v: &Vector<T>, log: &mut Log) {
    log.panics(|| while_loop(v.clone(), |c: &Vector<T>| c.sum().gt(-1e9), |c| c.slice(0, 1..)));
    log.panics(|| while_loop_within(3, v.clone(), |c: &Vector<T>| c.sum().gt(-1e9), |c| c.slice(0, 1..)));
    log.panics(|| while_loop_within(usize::MAX, v.clone(), |c: &Vector<T>| c.sum().gt(-1e9), |c| c));
}

/// Trips that differ from each other, which only an interpreter that runs them all can see.
pub(crate) fn trips<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    let v: &Vector<T> = &x.slice(1, 0..2).row(0);
    log.panics(|| x.item());
    let trip = Cell::new(0);
    let growing = || v.slice(0, ..trip.replace(trip.get() + 1).min(2));
    log.panics(|| map(x, |_| growing()));
    trip.set(0);
    log.panics_naming_the_call(|| vmap(|_: &Vector<T>| growing())(x));
    trip.set(0);
    log.panics(|| map_accum(v.sum(), x, |c, _| (c, growing())));
    trip.set(0);
    log.panics(|| zip_with(x, x, |_, _| growing()));
    trip.set(0);
    log.panics(|| map(x, |_| vec![v.sum(); trip.replace(trip.get() + 1)]));
    trip.set(0);
    log.panics(|| map(x, |_| Counted { sum: v.sum(), count: trip.replace(trip.get() + 1) }));
    trip.set(0);
    log.panics(|| build1(2, |_| growing()));
    trip.set(0);
    log.panics(|| build([1, 2], |_| growing()));
}
