//! Tests of products in tiles: against the definition, to the bit.

use crate::dtype::Float;
use crate::kernels::contract::tiles::*;
use crate::kernels::contract::unrolled::Unrolled;
use crate::kernels::contract::{PlannedContraction, Scratch};
use crate::ops::{Contract, View};

/// A product of `batch` matrices; each array has its axes in an order of its own: rows first or last, the batch
/// outermost or innermost.
fn product([batch, rows, columns, depth]: [usize; 4], turned: [bool; 3], inner: bool) -> Contract {
    let space = [batch, rows, columns, depth];
    let view = |turned: bool, [i, j]: [usize; 2]| {
        let [i, j] = if turned { [j, i] } else { [i, j] };
        View::axes(&space, &if inner { [i, j, 0] } else { [0, i, j] })
    };
    Contract::new(view(turned[0], [1, 3]), view(turned[1], [3, 2]), view(turned[2], [1, 2]))
}

/// The offsets in the three arrays at an index.
fn places([n, i, j, k]: [usize; 4], of: [usize; 4], turned: [bool; 3], inner: bool) -> [usize; 3] {
    let [batch, rows, columns, depth] = of;
    let place = |turned: bool, (i, m): (usize, usize), (j, l): (usize, usize)| {
        let matrix = if turned { j * m + i } else { i * l + j };
        if inner { matrix * batch + n } else { n * m * l + matrix }
    };
    [
        place(turned[0], (i, rows), (k, depth)),
        place(turned[1], (k, depth), (j, columns)),
        place(turned[2], (i, rows), (j, columns)),
    ]
}

fn numbers<E: Float>(n: usize, seed: usize) -> Vec<E> {
    (0..n).map(|i| E::of_f64(((i * 7919 + seed * 104_729) % 1009) as f64 / 1009.0 - 0.5)).collect()
}

/// The definition: the sums of products, each in order from the first to the last, added to `start`.
fn defined<E: Float>(
    [a, b]: [&[E]; 2],
    start: &[E],
    of: [usize; 4],
    (turned, inner): ([bool; 3], bool),
    isa: Isa,
) -> Vec<E> {
    let mut out = start.to_vec();
    let [batch, rows, columns, depth] = of;
    for index in 0..batch * rows * columns {
        let (n, i, j) = (index / (rows * columns), index / columns % rows, index % columns);
        let at = |k: usize| places([n, i, j, k], of, turned, inner);
        let add = |sum: E, k: usize| {
            let [p, q, _] = at(k);
            if isa.has_fma() { a[p].fused(b[q], sum) } else { sum.plus(Num::mul(a[p], b[q])) }
        };
        let o = at(0)[2];
        out[o] = out[o].plus((0..depth).fold(E::ZERO, add));
    }
    out
}

fn same<E: Float>(x: &[E], y: &[E]) -> bool {
    x.iter().zip(y).all(|(x, y)| x.same_bits(*y) || (x.is_nan() && y.is_nan()))
}

fn orders() -> impl Iterator<Item = ([bool; 3], bool)> + Clone {
    (0..16).map(|k| ([k & 1 == 1, k & 2 == 2, k & 4 == 4], k & 8 == 8))
}

/// Checks tiles on every instruction set, with `out` set and added to, and the kernel that is chosen; returns whether
/// there are tiles.
fn check<E: Float>(of: [usize; 4], turned: [bool; 3], inner: bool, v: [&[E]; 2]) -> bool {
    let op = product(of, turned, inner);
    let [batch, rows, columns, _] = of;
    let size = batch * rows * columns;
    let (zeros, start) = (vec![E::ZERO; size], numbers::<E>(size, 3));
    let nest = Nest::new([&op.a, &op.b, &op.out], [false; 3]);
    let tiles = nest.and_then(|nest| Tiles::new(&nest));
    for isa in Isa::supported() {
        let Some(tiles) = &tiles else { break };
        let (mut out, mut added) = (vec![E::of_f64(f64::NAN); size], start.clone());
        assert!(tiles.covers(size), "{of:?}");
        tiles.run(isa, v, &mut out, true, &mut Room::default());
        tiles.run(isa, v, &mut added, false, &mut Room::default());
        let order = (turned, inner);
        assert!(same(&out, &defined(v, &zeros, of, order, isa)), "{of:?} {order:?} {}", isa.name());
        assert!(same(&added, &defined(v, &start, of, order, isa)), "{of:?} {order:?} {}", isa.name());
    }
    let mut chosen = vec![E::of_f64(f64::NAN); size];
    let plan = PlannedContraction::new(&op, E::DTYPE, [false; 2]);
    plan.run(v[0], v[1], &mut chosen, true, &mut Scratch::default());
    let expected = defined(v, &zeros, of, (turned, inner), Isa::detect());
    let near = |x: E, y: E| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() < E::of_f64(1e-5);
    assert!(chosen.iter().zip(&expected).all(|(x, y)| near(*x, *y)), "{of:?} {turned:?} {}", plan.describe());
    tiles.is_some()
}

fn sizes() -> impl Iterator<Item = [usize; 3]> {
    (0..729).map(|k| [k / 81 + 1, k / 9 % 9 + 1, k % 9 + 1])
}

/// Each element is the sum from the first product to the last, whatever the shape, the order of axes, the precision
/// and the instruction set.
#[test]
fn small_products_are_sums_from_the_first_product_to_the_last() {
    let mut tiles = 0;
    for ([rows, columns, depth], (k, (turned, inner))) in sizes().zip(orders().enumerate().cycle()) {
        let batch = [0, 1, 2, 5][(rows + columns + depth + k / 8) % 4];
        // Every shape meets one of the batches in each precision.
        for batch in [batch, 3] {
            let of = [batch, rows, columns, depth];
            let size = |n: usize| batch * n;
            let (a, b) = (numbers(size(rows * depth), 1), numbers(size(depth * columns), 2));
            tiles += usize::from(check::<f64>(of, turned, inner, [&a, &b]));
            let (a, b) = (numbers(size(rows * depth), 1), numbers(size(depth * columns), 2));
            tiles += usize::from(check::<f32>(of, turned, inner, [&a, &b]));
        }
    }
    assert!(tiles > 2000, "{tiles}");
}

/// Lanes of several tiles, and strided lanes that many rows share.
#[test]
fn long_axes_are_products_too() {
    for of in [[1, 37, 19, 3], [1, 3, 3000, 2], [2, 5, 21, 17], [1, 700, 5, 4], [40, 2, 9, 3]] {
        for (turned, inner) in orders() {
            let [batch, rows, columns, depth] = of;
            let (a, b) = (numbers(batch * rows * depth, 1), numbers(batch * depth * columns, 2));
            assert!(check::<f64>(of, turned, inner, [&a, &b]), "{of:?}");
        }
    }
}

/// Infinities, NaN and zeros of both signs: none is lost, none spreads to another element, and no sum is -0.
#[test]
fn hostile_numbers_stay_in_their_sums() {
    let hostile = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY, -0.0, 0.0, f64::MAX, -f64::MIN_POSITIVE];
    for of in [[3, 4, 4, 4], [1, 9, 5, 2], [2, 3, 7, 1], [5, 2, 2, 3]] {
        let [batch, rows, columns, depth] = of;
        for (n, x) in hostile.iter().enumerate() {
            for (turned, inner) in orders() {
                let (mut a, mut b) = (numbers(batch * rows * depth, 1), numbers(batch * depth * columns, 2));
                let (i, j) = (n * 5 % a.len(), n * 3 % b.len());
                (a[i], b[j]) = (*x, -0.0);
                check::<f64>(of, turned, inner, [&a, &b]);
            }
        }
        let (a, b) = (vec![-0.0; batch * rows * depth], vec![1.0; batch * depth * columns]);
        let op = product(of, [false; 3], false);
        let mut out = vec![1.0; batch * rows * columns];
        let plan = PlannedContraction::new(&op, crate::dtype::DType::F64, [false; 2]);
        plan.run(&a, &b, &mut out, true, &mut Scratch::default());
        assert!(out.iter().all(|x| f64::to_bits(*x) == 0), "{of:?}");
    }
}

/// Unrolled code computes batches of every length, including those whose last matrices have nothing behind them, and only
/// the results of the batch.
#[test]
fn batches_of_very_small_matrices_are_unrolled() {
    let mut unrolled = 0;
    for (n, of) in sizes().enumerate() {
        for turned in [[false; 3], [true, false, false], [false, true, false], [true, true, false]] {
            let of = [1 + n % 7, of[0], of[1].min(8), of[2].min(8)];
            let [batch, rows, columns, depth] = of;
            let op = product(of, turned, false);
            let Some(plan) = Nest::new([&op.a, &op.b, &op.out], [false; 3]).and_then(|nest| Unrolled::new(&nest))
            else {
                continue;
            };
            unrolled += 1;
            let (a, b) = (numbers::<f32>(batch * rows * depth, 1), numbers::<f32>(batch * depth * columns, 2));
            for isa in Isa::supported() {
                let size = batch * rows * columns;
                let mut out = vec![7.0; size + 20];
                let done = plan.run(isa, [&a, &b], &mut out[..size]);
                assert_eq!(done, isa.has_fma(), "{of:?}");
                let expected = defined([&a[..], &b[..]], &vec![0.0; size], of, (turned, false), isa);
                assert!(!done || same(&out[..size], &expected), "{of:?} {turned:?} {}", isa.name());
                assert!(out[size..].iter().all(|x| *x == 7.0), "{of:?}");
            }
        }
    }
    assert!(unrolled > 1000, "{unrolled}");
}

/// A part of the rows, as of a row block, has the code of the whole.
#[test]
fn parts_of_very_small_products_are_unrolled() {
    for of in [[1, 3000, 2, 1], [1, 3000, 8, 1], [3000, 2, 2, 1], [3000, 4, 1, 4], [1, 3000, 3, 3]] {
        let op = product(of, [false; 3], false);
        let tiles = Nest::new([&op.a, &op.b, &op.out], [false; 3]).and_then(|nest| Tiles::new(&nest)).expect("tiles");
        assert!(tiles.is_unrolled(), "{of:?}");
        let place = tiles.outer().0.axes().iter().position(|axis| axis.len == 3000).expect("a loop over rows");
        let part = tiles.part(tiles.outer().0.part(place, 100..200, [0; 3]));
        assert!(part.is_unrolled(), "{of:?}");
    }
}

/// Rows times numbers, and inner products of rows, stay elementwise passes, with which other operations can be fused.
#[test]
fn passes_stay_passes() {
    let [rows, numbers] = [View::axes(&[50_000, 3], &[0, 1]), View::axes(&[50_000, 3], &[0])];
    let scaled = Contract::new(rows.clone(), numbers.clone(), rows.clone());
    let inner = Contract::new(rows.clone(), rows, numbers);
    for op in [scaled, inner] {
        let plan = PlannedContraction::new(&op, crate::dtype::DType::F64, [false; 2]);
        assert!(plan.has_short_runs(), "{}", plan.describe());
    }
}

/// Few columns are the lanes of tiles, though they do not fill them: the rows as lanes would be read one by one.
#[test]
fn few_columns_are_lanes() {
    for columns in 2..5 {
        for dtype in [crate::dtype::DType::F64, crate::dtype::DType::F32] {
            let plan = PlannedContraction::new(&product([1, 400, columns, 64], [false; 3], false), dtype, [false; 2]);
            let expected = format!("matrix product in registers [400, {columns}, 64]");
            assert!(plan.describe().starts_with(&expected), "{}", plan.describe());
        }
    }
}

/// The shapes for which tiles were made run in tiles.
#[test]
fn tiles_are_chosen() {
    for of in
        [[2000, 4, 4, 4], [2000, 7, 7, 7], [2000, 4, 4, 1], [1, 20000, 10, 2], [1, 512, 512, 3], [1, 100_000, 3, 3]]
    {
        let plan = PlannedContraction::new(&product(of, [false; 3], false), crate::dtype::DType::F64, [false; 2]);
        assert!(plan.describe().starts_with("matrix product in registers"), "{of:?}: {}", plan.describe());
    }
    for of in [[2000, 4, 4, 4], [2000, 4, 1, 4], [2000, 2, 2, 1], [1, 100_000, 3, 3], [2000, 7, 8, 5]] {
        let plan = PlannedContraction::new(&product(of, [false; 3], false), crate::dtype::DType::F32, [false; 2]);
        assert!(plan.describe().ends_with("unrolled"), "{of:?}: {}", plan.describe());
    }
}
