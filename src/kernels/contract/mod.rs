//! Contractions: sums of products over a loop nest of three arrays, by the kernel that suits the nest.
//!
//! Law: every visit of the nest contributes one product, even if a factor is zero, so NaN and infinities are not lost;
//! an index out of bounds of any of the arrays contributes nothing. A kernel may choose only the order of the sum.
//!
//! | module | computes | used for |
//! |---|---|---|
//! | `unrolled` | batches of matrices with sums of at most 8 products and at most 8 columns | the same as `tiles`, if results lie in one piece |
//! | `tiles` | products with short axes, in registers | runs shorter than `short_run`, and matrices that share an operand of at most `shared_panel` elements |
//! | `gemm`, `transposed` | plain matrix products, of copies of factors that lie transposed | matrices from `packed` products on, in a batch from `plain` products on |
//! | `implicit_gemm`, `micro_kernel` | products with several axes for rows, columns or the sum: convolutions and their adjoints | matrices from `packed` products on |
//! | `inner_products` | products that are summed along runs of both operands | runs from `summed_run` elements, sums from `summed` products on |
//! | `gemv` | products of a matrix and a vector | matrices from `gemv` elements on |
//! | `windows` | nothing: it brings convolutions and their adjoints into the form that other kernels compute best | |
//! | `partition` | contractions in parts, on several threads | contractions from `thread` nanoseconds on |
//!
//! The thresholds are constants of `src/cost/machine.rs`.

pub(crate) mod gemm;
mod gemv;
mod implicit_gemm;
mod inner_products;
mod micro_kernel;
mod partition;
mod tiles;
mod transposed;
mod unrolled;
mod windows;

use std::any::Any;
use std::ops::Range;
use std::slice::from_ref;

use super::isa::Isa;
use super::loop_nest::{Axis, Nest, stepped};
use super::threads;
use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::ops::Contract;
use crate::shape::{Show, size};
pub(crate) use gemm::product_of_squares;
use gemm::{Matmul, matmul};
use gemv::{Panels, Rows, is_gemv};
use implicit_gemm::{Packed, Room};
use inner_products::Sums;
use partition::{add_apart, apart};
use tiles::Tiles;
use windows::{Pad, Prepared, all_finite, joined, prepared};

/// Tiles, packed panels and the products of other crates are planned for floats alone.
#[cold]
fn not_of_floats() -> ! {
    unreachable!("only floats are multiplied so")
}

/// A contraction `out[O i] += a[A i] * b[B i]`, planned once for its shapes.
pub(crate) struct PlannedContraction {
    /// The numbers of elements of the three arrays as they are stored.
    sizes: [usize; 3],
    /// The number of products.
    visits: usize,
    /// The loops of the contraction as given.
    loops: Option<Nest<3>>,
    pub(crate) kernel: Kernel,
}

/// The kernel of a contraction, with its plan.
pub(crate) enum Kernel {
    /// No index is in bounds of all three arrays.
    Nothing,
    /// A matrix product for each visit of the loops around it.
    Matrix { product: Matmul, around: Nest<3> },
    /// Implicit GEMM: the plan, and its loops, which run instead if a zero that stands for an element out of range would
    /// meet an infinity or NaN.
    Packed { plan: Box<Packed>, nest: Nest<3> },
    /// Other kernels, on operands that are padded with zeros.
    Padded(Box<Padded>),
    /// Inner products along runs, summed in registers.
    Sums { plan: Box<Sums>, nest: Nest<3> },
    /// Products with short axes, summed in registers tile by tile.
    Tiles(Box<Tiles>),
    /// Loops over runs.
    Loops(Nest<3>),
    /// A sum in several parts, each with its own result; the results are added in order.
    Apart(Vec<Kernel>),
}

/// Kernels that together have the products of a contraction, except for zeros of the padding.
pub(crate) struct Padded {
    pads: [Option<Pad>; 2],
    parts: Vec<Kernel>,
    /// The loops of the contraction as given, which run instead if a zero of the padding would meet an infinity or NaN.
    loops: Nest<3>,
}

/// Scratch memory of contractions. A caller that keeps it between runs saves its allocation.
#[derive(Default)]
pub(crate) struct Scratch {
    f64: Room<f64>,
    f32: Room<f32>,
    /// The scratch memory of other threads.
    pub(crate) others: Vec<Scratch>,
}

impl Scratch {
    /// The scratch memory for an element type; `None` for a type that is neither `f64` nor `f32`.
    pub(crate) fn room<E: Num>(&mut self) -> Option<&mut Room<E>> {
        let Scratch { f64, f32, .. } = self;
        let rooms: [&mut dyn Any; 2] = [f64, f32];
        rooms.into_iter().find_map(|room| room.downcast_mut())
    }
}

impl PlannedContraction {
    /// The plan for operands of element type `dtype`; if `singles[k]`, operand k is stored as one element for all.
    pub(crate) fn new(op: &Contract, dtype: DType, singles: [bool; 2]) -> PlannedContraction {
        let stored = |single: bool, source: &[usize]| if single { 1 } else { size(source) };
        let sizes = [stored(singles[0], op.a.source()), stored(singles[1], op.b.source()), size(op.out.source())];
        let Some(nest) = Nest::new([&op.a, &op.b, &op.out], [singles[0], singles[1], false]) else {
            return PlannedContraction { sizes, visits: 0, loops: None, kernel: Kernel::Nothing };
        };
        let (visits, loops) = (repeats(&nest), Some(nest.clone()));
        let windows = if dtype.is_float() && singles == [false; 2] { windows(op, &nest, dtype) } else { None };
        let kernel = match windows {
            Some(padded) => Kernel::Padded(Box::new(padded)),
            None => apart(choose(nest, dtype), sizes[2], MACHINE.thread),
        };
        PlannedContraction { sizes, visits, loops, kernel }
    }

    /// Adds the products to `out`; if `fresh`, `out` is set to zeros before.
    ///
    /// # Panics
    /// When an array has a different size than the plan.
    pub(crate) fn run<E: Num>(&self, a: &[E], b: &[E], out: &mut [E], fresh: bool, scratch: &mut Scratch) {
        assert_eq!([a.len(), b.len(), out.len()], self.sizes, "the arrays have the sizes of the plan");
        let threads = threads::number(self.nanoseconds());
        let only = if let Kernel::Padded(padded) = &self.kernel { &padded.parts[..] } else { from_ref(&self.kernel) };
        let covers = matches!(only, [Kernel::Tiles(tiles)] if tiles.covers(out.len()));
        if fresh && !covers {
            out.fill(E::ZERO);
        }
        self.kernel.run([a, b], out, fresh && covers, scratch, threads);
    }

    /// The loops of the contraction as given; `None` if no index is in bounds of all three arrays.
    pub(crate) fn loops(&self) -> Option<&Nest<3>> {
        self.loops.as_ref()
    }

    /// The loop nest whose outermost loops may run in parts, and the number of these loops.
    fn outer(&self) -> Option<(&Nest<3>, usize)> {
        match &self.kernel {
            Kernel::Matrix { around, .. } => Some((around, around.axes().len())),
            // The innermost loop is not cut, so that runs stay long.
            Kernel::Loops(nest) => nest.is_box().then_some((nest, nest.axes().len().saturating_sub(1))),
            Kernel::Tiles(tiles) => Some(tiles.outer()),
            Kernel::Nothing | Kernel::Packed { .. } | Kernel::Padded(_) | Kernel::Sums { .. } | Kernel::Apart(_) => {
                None
            }
        }
    }

    /// Calls `f` with the length of each loop that may run in parts.
    pub(crate) fn outer_sizes(&self, f: &mut dyn FnMut(usize)) {
        if let Some((nest, count)) = self.outer() {
            nest.axes()[..count].iter().for_each(|axis| f(axis.len));
        }
    }

    /// The loop that may run in parts over rows: its number, and for which arrays each of its steps touches only the
    /// elements of one of `rows` rows (for at least one).
    pub(crate) fn by_rows(&self, rows: usize) -> Option<(usize, [bool; 3])> {
        let (outer, count) = self.outer()?;
        let inner: &[Axis<3>] = match &self.kernel {
            Kernel::Matrix { product, .. } => &[product.rows, product.columns, product.depth],
            Kernel::Tiles(tiles) => tiles.sum(),
            Kernel::Nothing | Kernel::Packed { .. } | Kernel::Padded(_) => &[],
            Kernel::Sums { .. } | Kernel::Loops(_) | Kernel::Apart(_) => &[],
        };
        outer.by_rows(self.sizes, count, inner, rows).next()
    }

    /// Whether [`run_part`](Self::run_part) can set all elements of the result in a part of `rows` rows.
    pub(crate) fn sets_rows(&self, rows: usize) -> bool {
        let covers = matches!(&self.kernel, Kernel::Tiles(tiles) if tiles.covers(self.sizes[2]));
        covers && self.by_rows(rows).is_some_and(|(_, by_rows)| by_rows[2])
    }

    /// Adds the products of a range of steps of one loop, given by its number; or, if `fresh`, which needs
    /// [`sets_rows`](Self::sets_rows), sets the rows of the result to them. The slices of the arrays begin with the
    /// elements `first`.
    pub(crate) fn run_part<E: Num>(
        &self,
        (place, steps): (usize, Range<usize>),
        first: [i64; 3],
        [a, b]: [&[E]; 2],
        out: &mut [E],
        fresh: bool,
    ) {
        let outer = self.outer().expect("the loops may run in parts").0;
        let count = steps.len() as i64;
        let part = outer.part(place, steps, first);
        match &self.kernel {
            Kernel::Matrix { product, .. } => {
                let mut panel = Vec::new();
                part.points(|at| matmul(product, at, a, b, out, &mut panel));
            }
            Kernel::Loops(_) => add_runs(&part, a, b, out),
            Kernel::Tiles(tiles) => {
                // Elements that are set lie before those of the next part.
                let end =
                    if fresh { part.base()[2] + outer.axes()[place].strides[2] * count } else { out.len() as i64 };
                let out = &mut out[..end as usize];
                tiles.part(part).run(Isa::detect(), [a, b], out, fresh, &mut Room::default());
            }
            Kernel::Nothing | Kernel::Packed { .. } | Kernel::Padded(_) | Kernel::Sums { .. } | Kernel::Apart(_) => {
                unreachable!("the loops of this kernel do not run in parts")
            }
        }
    }

    /// A rough estimate of the time on one thread.
    pub(crate) fn nanoseconds(&self) -> f64 {
        self.kernel.nanoseconds()
    }

    /// The kernel and its sizes, in words.
    pub(crate) fn describe(&self) -> String {
        self.kernel.describe()
    }

    /// Whether the kernel is loops over short runs, or products of narrow matrices: an elementwise pass over the
    /// products takes less time then.
    pub(crate) fn has_short_runs(&self) -> bool {
        self.kernel.has_short_runs(true)
    }

    /// The operand that a call packs, along a loop of this stride and length: if it is stored in the order of that loop,
    /// parts of the rows share one packing.
    pub(crate) fn packs(&self) -> Option<(usize, i64, usize)> {
        if let Kernel::Tiles(tiles) = &self.kernel { tiles.packs() } else { None }
    }

    /// The number of floating-point operations of a run: a product and a sum for each index of the loops, including for
    /// indices that range checks exclude.
    pub(crate) fn flops(&self) -> usize {
        self.visits.saturating_mul(2)
    }
}

impl Kernel {
    /// Whether the kernel is loops over short runs, or multiplies narrow matrices; products with vectors do not count, if
    /// `but_gemv`.
    fn has_short_runs(&self, but_gemv: bool) -> bool {
        match self {
            Kernel::Loops(nest) => {
                nest.is_box() && nest.inner().len < MACHINE.short_run && !(but_gemv && is_gemv(nest))
            }
            Kernel::Matrix { product, .. } => is_narrow(product),
            Kernel::Nothing | Kernel::Packed { .. } | Kernel::Padded(_) | Kernel::Sums { .. } => false,
            Kernel::Tiles(_) | Kernel::Apart(_) => false,
        }
    }

    /// Adds the products to `out`, on at most `threads` threads.
    pub(crate) fn add<E: Num>(&self, a: &[E], b: &[E], out: &mut [E], scratch: &mut Scratch, threads: usize) {
        self.run([a, b], out, false, scratch, threads);
    }

    /// [`add`](Self::add); or, if `fresh`, sets `out` to the products, which is allowed only for tiles that cover
    /// `out`, of padded operands or not.
    fn run<E: Num>(&self, [a, b]: [&[E]; 2], out: &mut [E], fresh: bool, scratch: &mut Scratch, threads: usize) {
        if threads > 1 && self.share([a, b], out, fresh, scratch, threads) {
            return;
        }
        match self {
            Kernel::Tiles(tiles) => {
                let room = scratch.room().expect("tiles of floats have room");
                tiles.run(Isa::detect(), [a, b], out, fresh, room);
            }
            Kernel::Nothing => {}
            Kernel::Matrix { product, around } => {
                let panel = &mut scratch.room().expect("matrices of floats have room").columns;
                around.points(|at| matmul(product, at, a, b, out, panel));
            }
            Kernel::Packed { plan, nest } => {
                let done = scratch.room().is_some_and(|room| plan.run(Isa::detect(), a, b, out, room));
                if !done {
                    add_runs(nest, a, b, out);
                }
            }
            Kernel::Padded(padded) => {
                if !padded.run([a, b], out, fresh, scratch, threads) {
                    if fresh {
                        out.fill(E::ZERO);
                    }
                    add_runs(&padded.loops, a, b, out);
                }
            }
            Kernel::Sums { plan, .. } => {
                let room = scratch.room().expect("sums of floats have room");
                plan.run(Isa::detect(), a, b, out, room);
            }
            Kernel::Loops(nest) => add_runs(nest, a, b, out),
            Kernel::Apart(parts) => add_apart(parts, a, b, out, scratch, threads),
        }
    }

    /// The kernel and its sizes, in words.
    fn describe(&self) -> String {
        match self {
            Kernel::Nothing => "nothing".to_owned(),
            Kernel::Matrix { product, around } => {
                let sizes = [product.rows.len, product.columns.len, product.depth.len];
                format!("matrix product {} x {}", Show(&sizes), repeats(around))
            }
            Kernel::Packed { plan, .. } => {
                let [rows, columns, steps, times] = plan.sizes();
                format!("packed matrix product {} x {times}", Show(&[rows, columns, steps]))
            }
            Kernel::Padded(padded) => match &padded.parts[..] {
                [part] => part.describe(),
                parts => format!("{}, and {} more phases", parts[0].describe(), parts.len() - 1),
            },
            Kernel::Sums { plan, .. } => format!("sums along runs {}", Show(&plan.sizes())),
            Kernel::Tiles(tiles) => {
                let [rows, lanes, steps, times] = tiles.sizes();
                let how = if tiles.is_unrolled() { ", unrolled" } else { "" };
                format!("matrix product in registers {} x {times}{how}", Show(&[rows, lanes, steps]))
            }
            Kernel::Loops(nest) => loops(nest).to_owned(),
            Kernel::Apart(parts) => {
                let nest = parts.iter().find_map(|part| if let Kernel::Loops(nest) = part { Some(nest) } else { None });
                format!("{}, in {} parts", nest.map_or("nothing", loops), parts.len())
            }
        }
    }
}

impl Padded {
    /// Adds the products to `out`, or, if `fresh`, sets `out` to them; `false`, with nothing done, if a zero of the padding
    /// would be multiplied by an infinity or NaN, or if memory for a padded operand is missing.
    fn run<E: Num>(&self, v: [&[E]; 2], out: &mut [E], fresh: bool, scratch: &mut Scratch, threads: usize) -> bool {
        let Some(copies) = scratch.room().and_then(|room| between_zeros(&self.pads, v, room)) else { return false };
        let operand = |k: usize| copies[k].as_deref().unwrap_or(v[k]);
        for part in &self.parts {
            part.run([operand(0), operand(1)], out, fresh, scratch, threads);
        }
        if let Some(room) = scratch.room() {
            room.keep(copies);
        }
        true
    }
}

/// The description of loops over runs.
fn loops(nest: &Nest<3>) -> &'static str {
    match nest.inner().strides {
        [_, _, 0] => "loops, sums innermost",
        [_, _, _] => "loops",
    }
}

/// The kernels of a convolution, or of an adjoint, that is prepared for them, if it needs preparation, and if that makes
/// products of matrices of it.
fn windows(op: &Contract, nest: &Nest<3>, dtype: DType) -> Option<Padded> {
    let is_matrix = |kernel: &Kernel| match kernel {
        Kernel::Matrix { .. } | Kernel::Packed { .. } | Kernel::Sums { .. } | Kernel::Tiles(_) => true,
        Kernel::Nothing | Kernel::Padded(_) | Kernel::Loops(_) | Kernel::Apart(_) => false,
    };
    let is_long = matches!(nest.inner().strides, [0, 1, 1] | [1, 0, 1])
        && nest.inner().len >= MACHINE.window_run
        && repeats(nest) < MACHINE.short_run.saturating_mul(size(op.out.source()));
    if is_long && matches!(choose(nest.clone(), dtype), Kernel::Loops(_)) {
        return None;
    }
    if let Some(Prepared { parts, pads }) = prepared(op) {
        let kernel = |op: &Contract| Some(choose(Nest::new([&op.a, &op.b, &op.out], [false; 3])?, dtype));
        let parts: Vec<Kernel> = parts.iter().map(kernel).collect::<Option<_>>()?;
        return parts.iter().any(is_matrix).then(|| Padded { pads, parts, loops: nest.clone() });
    }
    let (run, padded, pad) = joined(nest, [size(op.a.source()), size(op.b.source())])?;
    let plan = Box::new(Sums::new(&run, dtype)?);
    let mut pads = [None, None];
    pads[padded] = Some(pad);
    Some(Padded { pads, parts: vec![Kernel::Sums { plan, nest: run }], loops: nest.clone() })
}

/// The copies of the operands that are padded with zeros; `None` if a zero of the padding would be multiplied by an
/// infinity or NaN, or if memory for the copies is missing.
pub(crate) fn between_zeros<E: Num>(
    pads: &[Option<Pad>; 2],
    v: [&[E]; 2],
    room: &mut Room<E>,
) -> Option<[Option<Vec<E>>; 2]> {
    if (0..2).any(|k| pads[k].as_ref().is_some_and(|pad| pad.zeros) && !all_finite(v[1 - k])) {
        return None;
    }
    let mut copy = |k: usize| {
        let Some(pad) = &pads[k] else { return Some(None) };
        let mut copy = std::mem::take(&mut room.padded[k]);
        pad.run(v[k], &mut copy).then_some(Some(copy))
    };
    Some([copy(0)?, copy(1)?])
}

/// The kernel for the loops of a nest.
fn choose(nest: Nest<3>, dtype: DType) -> Kernel {
    if !dtype.is_float() {
        return Kernel::Loops(nest);
    }
    let tiles = Tiles::new(&nest);
    let kernel = choose_other(nest.clone(), dtype);
    let beats = |tiles: &Tiles| match &kernel {
        Kernel::Matrix { .. } => tiles.beat_matrices(),
        Kernel::Packed { plan, .. } => {
            let [_, columns, steps, _] = plan.sizes();
            let large = columns >= MACHINE.packed_columns && steps >= MACHINE.short_run;
            // Tiles whose lanes are at most half full take the time of full ones: packed lanes are full.
            let full = !large || tiles.are_full(dtype);
            tiles.beat_matrices() && ((tiles.is_in_place() && full) || (!large && tiles.is_near(dtype)))
        }
        Kernel::Nothing | Kernel::Padded(_) | Kernel::Sums { .. } | Kernel::Tiles(_) => false,
        Kernel::Loops(_) | Kernel::Apart(_) => false,
    };
    // Lanes of a product with a vector that are apart are read one by one, unless the code is unrolled.
    let apart = |tiles: &Tiles| !tiles.is_unrolled() && !tiles.is_in_place();
    match tiles {
        Some(tiles) if (kernel.has_short_runs(apart(&tiles)) || is_apart(&kernel)) && tiles.beat_passes() => {
            Kernel::Tiles(Box::new(tiles))
        }
        Some(tiles) if beats(&tiles) => Kernel::Tiles(Box::new(tiles)),
        // Inner products in place, where packing the other operand would take longer than the products.
        Some(_) | None if has_few_rows(&kernel) => match Sums::new(&nest, dtype) {
            Some(plan) => Kernel::Sums { plan: Box::new(plan), nest },
            None => kernel,
        },
        Some(_) | None => kernel,
    }
}

/// Whether the kernel packs a matrix for a few rows.
fn has_few_rows(kernel: &Kernel) -> bool {
    let few = |product: &Matmul| product.rows.len.min(product.columns.len) <= MACHINE.summed_rows;
    matches!(kernel, Kernel::Matrix { product, around } if few(product) && repeats(around) == 1)
}

/// Whether the kernel is loops that write elements one by one.
fn is_apart(kernel: &Kernel) -> bool {
    matches!(kernel, Kernel::Loops(nest) if !matches!(nest.inner().strides, [_, _, 0 | 1]))
}

/// The kernel for the loops of a nest of floats, except tiles.
fn choose_other(nest: Nest<3>, dtype: DType) -> Kernel {
    let large = |m: &Matmul| m.rows.len * m.columns.len * m.depth.len >= MACHINE.plain && !is_narrow(m);
    let matrix = as_matmul(&nest);
    if !matrix.as_ref().is_some_and(|(product, around)| repeats(around) == 1 || large(product))
        && let Some(plan) = Sums::new(&nest, dtype)
    {
        return Kernel::Sums { plan: Box::new(plan), nest };
    }
    match (matrix, Packed::new(&nest, dtype)) {
        (Some((product, around)), Some(plan)) if repeats(&around) <= plan.sizes()[3] || large(&product) => {
            Kernel::Matrix { product, around }
        }
        (_, Some(plan)) if plan.pays() => Kernel::Packed { plan: Box::new(plan), nest },
        (Some((product, around)), _) => Kernel::Matrix { product, around },
        (None, _) => Kernel::Loops(nest),
    }
}

/// Whether a matrix product is so narrow that an elementwise pass over the products takes less time.
fn is_narrow(product: &Matmul) -> bool {
    let least = product.rows.len.min(product.columns.len).min(product.depth.len);
    least * product.depth.len < MACHINE.short_run
}

/// The number of visits of a nest, those that range checks exclude included.
pub(crate) fn repeats(nest: &Nest<3>) -> usize {
    nest.axes().iter().fold(1, |n, axis| n.saturating_mul(axis.len))
}

/// The matrix product of the innermost loops that form one, and the loops around it; `None` without such loops, or if
/// the product is too small for packing.
fn as_matmul(nest: &Nest<3>) -> Option<(Matmul, Nest<3>)> {
    if !nest.is_box() {
        return None;
    }
    // The innermost loop that moves exactly the two arrays that are marked.
    let find = |moves: [bool; 3]| nest.axes().iter().rposition(|axis| axis.strides.map(|s| s != 0) == moves);
    let (m, n, k) = (find([true, false, true])?, find([false, true, true])?, find([true, true, false])?);
    let [rows, columns, depth] = [m, n, k].map(|i| nest.axes()[i]);
    let worth = rows.len.min(columns.len).min(depth.len) > 1
        && rows.len.saturating_mul(columns.len).saturating_mul(depth.len) >= MACHINE.packed;
    (worth && are_apart(&rows, &columns)).then(|| (Matmul::new([rows, columns, depth]), nest.without(&[m, n, k])))
}

/// Whether the elements of a matrix product are distinct elements of the result.
fn are_apart(rows: &Axis<3>, columns: &Axis<3>) -> bool {
    let reach = |axis: &Axis<3>| axis.strides[2].checked_mul(axis.len as i64);
    let within = |inner: &Axis<3>, outer: &Axis<3>| reach(inner).is_some_and(|reach| reach <= outer.strides[2]);
    within(rows, columns) || within(columns, rows)
}

/// Adds the products run by run; the loop body is chosen by the strides of the innermost loop.
fn add_runs<E: Num>(nest: &Nest<3>, a: &[E], b: &[E], out: &mut [E]) {
    match nest.inner().strides {
        [1, 1, 0] => add_dots(nest, a, b, out),
        [s, t, 0] => nest.run(|[i, j, o], len| out[o] = out[o].plus(dot_strided(a, b, [i, j], [s, t], len))),
        [0, 1, 1] => add_rows(nest, [0, 1], a, b, out),
        [1, 0, 1] => add_rows(nest, [1, 0], b, a, out),
        [1, 1, 1] => nest.run(|[i, j, o], len| {
            let factors = a[i..i + len].iter().zip(&b[j..j + len]);
            out[o..o + len].iter_mut().zip(factors).for_each(|(o, (x, y))| *o = o.plus(x.mul(*y)));
        }),
        [_, _, _] => nest.points(|[i, j, o]| out[o] = out[o].plus(a[i].mul(b[j]))),
    }
}

/// Adds products in runs that are contiguous in both operands and sum to one element.
fn add_dots<E: Num>(nest: &Nest<3>, a: &[E], b: &[E], out: &mut [E]) {
    let steps = nest.middle().strides;
    let (v, common, [of_v, of_common]) = match steps {
        [_, 0, _] => (a, b, [0, 1]),
        [0, _, _] => (b, a, [1, 0]),
        // Both operands move: each run is a separate product.
        [_, _, _] => {
            return nest.panels(|[i, j, o], count, len| {
                let places = [j as i64, o as i64, 0];
                gemv::add_dots(Rows { v: a, at: i, by: 0, count: 1, len }, b, out, places, Panels { count, by: steps });
            });
        }
    };
    nest.stacks(&mut |start, stack, count, len| {
        let rows = Rows { v, at: start[of_v], by: steps[of_v], count, len };
        let places = [start[of_common] as i64, start[2] as i64, steps[2]];
        let by = [of_v, of_common, 2].map(|k| stack.strides[k]);
        gemv::add_dots(rows, common, out, places, Panels { count: stack.len, by });
    });
}

/// Adds products in runs that are contiguous in the result and in `v` and have one factor in `x`. `place` has the
/// numbers that `x` and `v` have among the operands of the nest.
fn add_rows<E: Num>(nest: &Nest<3>, place: [usize; 2], x: &[E], v: &[E], out: &mut [E]) {
    let steps = nest.middle().strides;
    nest.panels(|start, count, len| {
        // Rows that are added to the same elements are one call.
        let (calls, count) = if steps[2] == 0 { (1, count) } else { (count, 1) };
        for call in 0..calls {
            let at = stepped(start, steps, call);
            if len * count < MACHINE.isa_run {
                for row in 0..count {
                    let at = stepped(at, steps, row);
                    let (x, v) = (x[at[place[0]]], &v[at[place[1]]..][..len]);
                    out[at[2]..][..len].iter_mut().zip(v).for_each(|(o, y)| *o = o.plus(x.mul(*y)));
                }
                continue;
            }
            let rows = Rows { v, at: at[place[1]], by: steps[place[1]], count, len };
            gemv::add_scaled(x, [at[place[0]] as i64, steps[place[0]]], rows, &mut out[at[2]..]);
        }
    });
}

/// The inner product of strided operands, by interleaved partial sums.
fn dot_strided<E: Num>(a: &[E], b: &[E], start: [usize; 2], strides: [i64; 2], len: usize) -> E {
    let at = |k: usize, i: usize| (start[k] as i64 + strides[k] * i as i64) as usize;
    let term = |i: usize| a[at(0, i)].mul(b[at(1, i)]);
    let mut sums = [E::ZERO; 4];
    let whole = len / 4 * 4;
    for i in (0..whole).step_by(4) {
        (0..4).for_each(|k| sums[k] = sums[k].plus(term(i + k)));
    }
    let sum = sums[0].plus(sums[2]).plus(sums[1].plus(sums[3]));
    (whole..len).fold(sum, |sum, i| sum.plus(term(i)))
}
