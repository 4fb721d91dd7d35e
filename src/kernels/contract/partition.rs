//! Parallel partition of contractions: along the result, or, if the result is small, along the sum.
//!
//! A contraction is cut along the loop whose steps write consecutive parts of the result, in as many parts as there are
//! threads. If the result is small, the sum is cut instead: each part has its own result, and these results are added
//! in order.
//!
//! Law: a contraction has the same bits on any number of threads. A cut along the result does not change the order of
//! any sum, so it may depend on the number of threads; a cut of the sum changes the order, so it depends on the shapes
//! alone.

use std::ops::Range;

use super::gemm::SMALL_RESULT;
use super::gemv::sums_in_turn;
use super::implicit_gemm::Packed;
use super::inner_products::Sums;
use super::{Kernel, Scratch, repeats};
use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::kernels::loop_nest::{Axis, Nest};
use crate::kernels::threads;
use crate::shape::check_room;

/// Kernels compute this many neighbouring lines together, so cuts between lines are at multiples of it.
const TOGETHER: usize = 8;

/// The largest number of parts of a sum.
const MOST: usize = 32;

/// The loop along which a contraction is cut.
struct Cut {
    place: usize,
    axis: Axis<3>,
    /// The first offset in the result that the loop writes to.
    start: usize,
    /// Cuts are at multiples of this number of steps.
    together: usize,
}

impl Cut {
    fn of(nest: &Nest<3>, together: usize) -> Option<Cut> {
        nest.is_box().then(|| Cut::outermost(nest.axes(), nest.base(), together))?
    }

    /// The loop with the largest stride in the result, if all offsets that a step writes to are less than those of the
    /// next step.
    fn outermost(axes: &[Axis<3>], base: [i64; 3], together: usize) -> Option<Cut> {
        let place = (0..axes.len()).max_by_key(|k| axes[*k].strides[2])?;
        let axis = axes[place];
        let others = || axes.iter().enumerate().filter(|(k, _)| *k != place).map(|(_, axis)| axis);
        let reach: i64 = others().map(|axis| axis.strides[2] * (axis.len as i64 - 1)).sum();
        let forward = base[2] >= 0 && others().all(|axis| axis.strides[2] >= 0);
        (forward && reach < axis.strides[2]).then_some(Cut { place, axis, start: base[2] as usize, together })
    }
}

impl Kernel {
    /// A rough estimate of the time on one thread.
    pub(crate) fn nanoseconds(&self) -> f64 {
        match self {
            Kernel::Nothing => 0.0,
            Kernel::Matrix { product, around } => {
                let [rows, columns, depth] = [product.rows, product.columns, product.depth].map(|axis| axis.len as f64);
                MACHINE.tiled_product * rows * columns * depth * repeats(around) as f64
            }
            Kernel::Packed { nest, .. } => MACHINE.tiled_product * repeats(nest) as f64,
            Kernel::Padded(padded) => padded.parts.iter().map(Kernel::nanoseconds).sum(),
            Kernel::Sums { nest, .. } => MACHINE.tiled_product * repeats(nest) as f64,
            Kernel::Tiles(tiles) => MACHINE.short_product * repeats(tiles.outer().0) as f64,
            Kernel::Loops(nest) => MACHINE.looped_product * repeats(nest) as f64,
            Kernel::Apart(parts) => parts.iter().map(Kernel::nanoseconds).sum(),
        }
    }

    /// Runs on several threads; `false`, with nothing done, if the loops cannot be cut.
    pub(crate) fn share<E: Num>(
        &self,
        [a, b]: [&[E]; 2],
        out: &mut [E],
        fresh: bool,
        scratch: &mut Scratch,
        threads: usize,
    ) -> bool {
        let Some(cut) = self.cut() else { return false };
        // The last part has the steps that are left, so that none is shorter than the steps that stay together.
        let blocks = (cut.axis.len / cut.together).max(1);
        let count = threads.min(blocks);
        let step = |k: usize| if k == count { cut.axis.len } else { blocks * k / count * cut.together };
        let place = |k: usize| cut.start + cut.axis.strides[2] as usize * step(k);
        let part = |k: usize| self.part(&cut, step(k)..step(k + 1), place(k), E::DTYPE);
        let Some(parts) = (0..count).map(part).collect::<Option<Vec<Kernel>>>().filter(|parts| parts.len() > 1) else {
            return false;
        };
        let mut others = std::mem::take(&mut scratch.others);
        others.resize_with(count.max(others.len()), Scratch::default);
        let mut rest = &mut out[place(0)..];
        let mut jobs = Vec::with_capacity(count);
        for (k, job) in parts.iter().zip(&mut others).enumerate() {
            let end = if k + 1 == count { rest.len() } else { place(k + 1) - place(k) };
            let (here, after) = rest.split_at_mut(end);
            jobs.push((job, here));
            rest = after;
        }
        threads::share(count, jobs, |((part, scratch), out)| part.run([a, b], out, fresh, scratch, 1));
        scratch.others = others;
        true
    }

    /// The loop along which the kernel is cut: its steps write consecutive parts of the result.
    fn cut(&self) -> Option<Cut> {
        match self {
            Kernel::Matrix { product, around } => {
                let axes: Vec<Axis<3>> = [product.rows, product.columns].iter().chain(around.axes()).copied().collect();
                let cut = Cut::outermost(&axes, around.base(), 1)?;
                let least = |other: &Axis<3>| (SMALL_RESULT / other.len + 1).next_multiple_of(TOGETHER);
                let together = match cut.place {
                    0 => least(&product.columns),
                    1 => least(&product.rows),
                    _ => 1,
                };
                Some(Cut { together, ..cut })
            }
            Kernel::Packed { nest, .. } => Cut::of(nest, 1),
            Kernel::Sums { nest, .. } => Cut::of(nest, 1),
            Kernel::Tiles(tiles) => {
                let (nest, count) = tiles.outer();
                let cut = Cut::outermost(&nest.axes()[..count], nest.base(), 1)?;
                // The last two loops are rows and lanes.
                Some(Cut { together: if cut.place + 2 < count { 1 } else { TOGETHER }, ..cut })
            }
            // Sums whose order depends on the length of a row are not cut along it.
            Kernel::Loops(nest) => {
                Cut::of(nest, TOGETHER).filter(|cut| !(sums_in_turn(nest) && cut.place + 1 == nest.axes().len()))
            }
            // Each of the kernels is cut on its own.
            Kernel::Nothing | Kernel::Padded(_) | Kernel::Apart(_) => None,
        }
    }

    /// The kernel for a range of steps of the loop that is cut; the slice of the result begins with element `start`.
    fn part(&self, cut: &Cut, steps: Range<usize>, start: usize, dtype: DType) -> Option<Kernel> {
        let first = [0, 0, start as i64];
        match self {
            Kernel::Matrix { product, around } => {
                if let Some(place) = cut.place.checked_sub(2) {
                    return Some(Kernel::Matrix { product: *product, around: around.part(place, steps, first) });
                }
                let mut product = *product;
                let axis = if cut.place == 0 { &mut product.rows } else { &mut product.columns };
                axis.len = steps.len();
                let around = around.moved(axis.strides.map(|s| s * steps.start as i64), first);
                Some(Kernel::Matrix { product, around })
            }
            Kernel::Packed { nest, .. } => {
                let nest = nest.part(cut.place, steps, first);
                let plan = Box::new(Packed::new(&nest, dtype)?);
                Some(Kernel::Packed { plan, nest })
            }
            Kernel::Sums { nest, .. } => {
                let nest = nest.part(cut.place, steps, first);
                Some(Kernel::Sums { plan: Box::new(Sums::new(&nest, dtype)?), nest })
            }
            Kernel::Tiles(tiles) => {
                let nest = tiles.outer().0.part(cut.place, steps, first);
                Some(Kernel::Tiles(Box::new(tiles.part(nest))))
            }
            Kernel::Loops(nest) => Some(Kernel::Loops(nest.part(cut.place, steps, first))),
            Kernel::Nothing | Kernel::Padded(_) | Kernel::Apart(_) => None,
        }
    }
}

/// Cuts loops with a small result along the sum, if they take at least `worth` nanoseconds; returns other kernels
/// unchanged.
pub(crate) fn apart(kernel: Kernel, size: usize, worth: f64) -> Kernel {
    let Kernel::Loops(nest) = &kernel else { return kernel };
    let time = kernel.nanoseconds();
    let sums = nest.axes().iter().enumerate().filter(|(_, axis)| axis.strides[2] == 0);
    let Some((place, axis)) = sums.max_by_key(|(_, axis)| axis.len) else { return kernel };
    let parts = ((time / worth * 2.0) as usize)
        .min(repeats(nest) / size.max(1).saturating_mul(MACHINE.sum_products))
        .min(MOST)
        .min(axis.len);
    if time < worth || parts < 2 || !nest.is_box() {
        return kernel;
    }
    let step = |k: usize| (axis.len as u128 * k as u128 / parts as u128) as usize;
    Kernel::Apart((0..parts).map(|k| Kernel::Loops(nest.part(place, step(k)..step(k + 1), [0; 3]))).collect())
}

/// Computes the parts of a sum on several threads, each into its own result, and adds these to `out` in order.
pub(crate) fn add_apart<E: Num>(
    parts: &[Kernel],
    a: &[E],
    b: &[E],
    out: &mut [E],
    scratch: &mut Scratch,
    threads: usize,
) {
    let size = out.len();
    let mut results = scratch.room().map(|room| std::mem::take(&mut room.results)).unwrap_or_default();
    results.clear();
    check_room::<E>(&[parts.len(), size]);
    results.resize(parts.len() * size, E::ZERO);
    let each = parts.len().div_ceil(threads);
    let jobs = parts.chunks(each).zip(results.chunks_mut(each * size));
    let add = |(parts, results): (&[Kernel], &mut [E])| {
        for (part, out) in parts.iter().zip(results.chunks_exact_mut(size)) {
            part.add(a, b, out, &mut Scratch::default(), 1);
        }
    };
    threads::share(threads, jobs, add);
    for part in results.chunks_exact(size) {
        out.iter_mut().zip(part).for_each(|(out, x)| *out = out.plus(*x));
    }
    if let Some(room) = scratch.room() {
        room.results = results;
    }
}

#[cfg(test)]
mod tests {
    use crate::dtype::Float;
    use crate::kernels::contract::PlannedContraction;
    use crate::kernels::contract::partition::*;
    use crate::ops::{Contract, View};
    use crate::shape::size;

    /// Pseudorandom numbers between -1/2 and 1/2, so that sums round.
    fn numbers<E: Float>(n: usize, seed: u64) -> Vec<E> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / f64::from(1 << 24) - 0.5
        };
        (0..n).map(|_| E::of_f64(next())).collect()
    }

    /// Contractions for each kernel, of sizes that threads divide evenly or not.
    fn products() -> Vec<(&'static str, Contract)> {
        let axes = |space: &[usize], of: &[usize]| View::axes(space, of);
        let product = |name, space: &[usize], [a, b, out]: [&[usize]; 3]| {
            (name, Contract::new(axes(space, a), axes(space, b), axes(space, out)))
        };
        let window = |images: usize, left: usize, right: usize, side: usize| {
            let space = [images, right, side, side, left, 3, 3];
            let rows: Vec<i64> =
                [[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0, 1]].concat();
            let image = View::affine(&[images, left, side, side], &space, &rows, &[0, 0, -1, -1]);
            Contract::new(image, View::axes(&space, &[1, 4, 5, 6]), View::axes(&space, &[0, 1, 2, 3]))
        };
        let adjoint = |images: usize, left: usize, right: usize, side: usize| {
            let space = [left, right, 3, 3, images, side, side];
            let rows: Vec<i64> =
                [[0, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0, 1]].concat();
            let image = View::affine(&[images, left, side + 2, side + 2], &space, &rows, &[0; 4]);
            Contract::new(image, View::axes(&space, &[4, 1, 5, 6]), View::axes(&space, &[1, 0, 2, 3]))
        };
        vec![
            product("rows", &[37, 19, 23], [&[0, 2], &[2, 1], &[0, 1]]),
            product("columns first", &[37, 40, 23], [&[0, 2], &[2, 1], &[1, 0]]),
            product("transposed", &[64, 33, 70], [&[2, 0], &[1, 2], &[0, 1]]),
            product("long sums", &[33, 133, 1030], [&[0, 2], &[2, 1], &[0, 1]]),
            product("long sums, transposed", &[33, 133, 1030], [&[0, 2], &[1, 2], &[0, 1]]),
            product("long sums, columns first", &[133, 33, 1030], [&[0, 2], &[1, 2], &[1, 0]]),
            product("few sums along both", &[41, 18, 128], [&[0, 2], &[1, 2], &[0, 1]]),
            product("one row more", &[25, 90, 600], [&[0, 2], &[1, 2], &[0, 1]]),
            product("batch", &[5, 24, 24, 40], [&[0, 1, 3], &[0, 3, 2], &[0, 1, 2]]),
            product("two batches", &[3, 17, 6, 7, 8], [&[0, 1, 2, 4], &[0, 1, 4, 3], &[1, 0, 2, 3]]),
            product("small matrices", &[301, 4, 5, 3], [&[0, 1, 3], &[0, 3, 2], &[0, 1, 2]]),
            product("low rank", &[67, 45, 2], [&[0, 2], &[2, 1], &[0, 1]]),
            product("low rank, columns first", &[67, 45, 3], [&[0, 2], &[1, 2], &[1, 0]]),
            product("several columns", &[9, 3, 20, 31], [&[0, 3], &[1, 3, 2], &[0, 1, 2]]),
            product("lines", &[43, 600], [&[0, 1], &[1], &[0]]),
            product("lines down", &[600, 43], [&[1, 0], &[1], &[0]]),
            product("outer", &[45, 71], [&[0], &[1], &[0, 1]]),
            product("elements", &[45, 71], [&[0, 1], &[0, 1], &[0, 1]]),
            product("sum of elements", &[45, 71], [&[0, 1], &[0, 1], &[1]]),
            ("convolution", window(7, 3, 5, 10)),
            ("adjoint in the kernel", adjoint(3, 4, 12, 20)),
        ]
    }

    fn agree<E: Float>() {
        for (name, op) in products() {
            let product = PlannedContraction::new(&op, E::DTYPE, [false; 2]);
            let (a, b) = (numbers::<E>(size(op.a.source()), 1), numbers::<E>(size(op.b.source()), 2));
            let n = size(op.out.source());
            let run = |kernel: &Kernel, threads: usize| {
                let mut out = numbers::<E>(n, 3);
                kernel.add(&a, &b, &mut out, &mut Scratch::default(), threads);
                out.iter().map(|x| x.as_f64().to_bits()).collect::<Vec<u64>>()
            };
            let whole = run(&product.kernel, 1);
            for threads in [2, 3, 7] {
                assert!(run(&product.kernel, threads) == whole, "{name}: {}, {threads} threads", product.describe());
                let is_cut = |kernel: &Kernel| kernel.cut().is_some_and(|cut| cut.axis.len > cut.together);
                let parts = match &product.kernel {
                    Kernel::Padded(padded) => Some(&padded.parts[..]),
                    Kernel::Nothing | Kernel::Matrix { .. } | Kernel::Packed { .. } | Kernel::Sums { .. } => None,
                    Kernel::Tiles(_) | Kernel::Loops(_) | Kernel::Apart(_) => None,
                };
                let cut = parts.unwrap_or(std::slice::from_ref(&product.kernel)).iter().all(is_cut);
                assert!(cut || threads > 3, "{name}: {} is cut", product.describe());
            }
        }
    }

    #[test]
    fn products_have_the_same_bits_on_any_number_of_threads() {
        agree::<f64>();
        agree::<f32>();
    }

    #[test]
    fn cut_sums_are_sums_with_the_same_bits_on_any_number_of_threads() {
        let long = View::axes(&[10_000], &[0]);
        let number = View::affine(&[], &[10_000], &[], &[]);
        let down = [View::axes(&[7000, 3], &[0, 1]), View::axes(&[7000, 3], &[0]), View::axes(&[7000, 3], &[1])];
        for [a, b, out] in [[long.clone(), long, number], down] {
            let op = Contract::new(a, b, out);
            let (x, y) = (numbers::<f64>(size(op.a.source()), 1), numbers::<f64>(size(op.b.source()), 2));
            let n = size(op.out.source());
            let run = |kernel: &Kernel, threads: usize| {
                let mut out = numbers::<f64>(n, 3);
                kernel.add(&x, &y, &mut out, &mut Scratch::default(), threads);
                out
            };
            let whole = PlannedContraction::new(&op, DType::F64, [false; 2]).kernel;
            let expected = run(&whole, 1);
            let parts = apart(whole, n, 100.0);
            assert!(matches!(&parts, Kernel::Apart(parts) if parts.len() > 4));
            let one = run(&parts, 1);
            assert!(one.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-10));
            (2..6).for_each(|threads| assert_eq!(run(&parts, threads), one));
        }
    }
}
