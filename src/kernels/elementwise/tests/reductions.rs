//! Sums and extrema of slices.

use super::{LENGTHS, Random};
use crate::dtype::Num;
use crate::kernels::elementwise::{
    Isa, add_apart, add_to, copy, copy_apart, put_apart, reverse, spread, sum, sum_all, sum_each,
};

/// Small integers, whose sums and products are exact in any order.
fn small<E: Num>(n: usize, seed: u64) -> Vec<E> {
    let mut random = Random(seed);
    (0..n).map(|_| num_traits::cast((random.bits() % 17) as i64 - 8).unwrap_or(E::ZERO)).collect()
}

macro_rules! sums {
    ($E:ty) => {
        for (isa, n) in Isa::supported().into_iter().flat_map(|isa| LENGTHS.map(|n| (isa, n))) {
            let (x, y): (Vec<$E>, Vec<$E>) = (small(n, 7), small(n, 99));
            assert_eq!(sum(isa, &x), x.iter().sum::<$E>(), "length {n} on {}", isa.name());
            let mut out = y.clone();
            add_to(isa, &x, &mut out);
            assert!((0..n).all(|i| out[i] == x[i] + y[i]));
        }
    };
}

#[test]
fn sums_are_exact_where_no_order_rounds() {
    sums!(f64);
    sums!(f32);
    sums!(i64);
}

/// Partial sums are added pairwise, so the error of a long sum is small.
#[test]
fn long_sums_lose_little() {
    let x = vec![0.1f32; 100_000];
    for isa in Isa::supported() {
        assert!((sum(isa, &x) - 1e4).abs() < 1.0, "{} on {}", sum(isa, &x), isa.name());
    }
}

#[test]
fn sums_do_not_depend_on_the_instruction_set() {
    let mut random = Random(3);
    let x: Vec<f64> = (0..999).map(|_| random.sample(-1.0, 1.0)).collect();
    for n in LENGTHS.into_iter().filter(|n| *n < 999) {
        let sums: Vec<u64> = Isa::supported().into_iter().map(|isa| sum(isa, &x[..n]).to_bits()).collect();
        assert!(sums.iter().all(|sum| *sum == sums[0]), "length {n}");
    }
}

#[test]
fn short_rows_are_moved_and_summed_as_long_ones() {
    for isa in Isa::supported() {
        for (n, rows, stride) in
            [(1, 4, 1), (3, 50, 3), (5, 17, 6), (7, 3, 9), (8, 5, 8), (9, 4, 9), (20, 6, 25), (33, 2, 0), (64, 3, 70)]
        {
            let x: Vec<f64> = (0..n * rows).map(|i| (i as f64 * 0.7).sin()).collect();
            let place = |i: usize| i / n * stride;
            let source: Vec<f64> = (0..(rows - 1) * stride + n).map(|i| (i as f64 * 0.3).cos()).collect();
            let (mut spread_out, mut copied) = (vec![0.0; n * rows], vec![0.0; n * rows]);
            spread(isa, &source, stride, n, &mut spread_out);
            copy(isa, &source, stride, n, &mut copied);
            for i in 0..n * rows {
                assert_eq!(spread_out[i], source[place(i)], "{n} {rows} {stride} on {}", isa.name());
                assert_eq!(copied[i], source[place(i) + i % n], "{n} {rows} {stride} on {}", isa.name());
            }
            let mut back = vec![0.0; n * rows];
            reverse(isa, &x, &mut back);
            assert!(back.iter().eq(x.iter().rev()), "{n} {rows} on {}", isa.name());
            let mut each = vec![1.0; (rows - 1) * stride.max(1) + 1];
            sum_each(isa, &x, n, stride.max(1), &mut each);
            let mut all = vec![1.0; n];
            sum_all(isa, &x, &mut all);
            for r in 0..rows {
                let expected = 1.0 + sum(isa, &x[r * n..][..n]);
                assert!((each[r * stride.max(1)] - expected).abs() < 1e-14, "{n} {rows} on {}", isa.name());
            }
            for (i, y) in all.iter().enumerate() {
                let expected = (0..rows).fold(1.0, |y, r| y + x[r * n + i]);
                assert!((*y - expected).abs() < 1e-14, "{n} {rows} on {}", isa.name());
            }
        }
    }
}

#[test]
fn elements_apart_are_moved_and_added_one_by_one() {
    for isa in Isa::supported() {
        for step in [2, 3, 4, 5, 40] {
            let rows = [(1, 1, 0), (1, 4, 3), (2, 3, 50), (7, 3, 7 * step), (16, 5, 64), (33, 2, 0), (64, 3, 1)];
            // Columns that interleave, some of which overlap.
            let columns = [(2, 40, 1), (3, 7, 1), (4, 3, 1), (5, 33, 1), (6, 2, 1), (7, 9, 1)];
            for (n, rows, row) in rows.into_iter().chain(columns) {
                let x: Vec<f32> = (0..n * rows).map(|i| (i as f32 * 0.7).sin()).collect();
                let place = |i: usize| i / n * row + i % n * step;
                let source: Vec<f32> = (0..place(n * rows - 1) + 1).map(|i| (i as f32 * 0.3).cos()).collect();
                let mut copied = vec![0.0; n * rows];
                copy_apart(isa, &source, (row, step), n, &mut copied);
                let (mut put, mut added) = (source.clone(), source.clone());
                put_apart(isa, &x, (row, step), n, &mut put);
                add_apart(isa, &x, (row, step), n, &mut added);
                let (mut put_before, mut added_before) = (source.clone(), source.clone());
                for i in 0..n * rows {
                    assert_eq!(copied[i], source[place(i)], "{n} {rows} {row} {step} on {}", isa.name());
                    put_before[place(i)] = x[i];
                    added_before[place(i)] += x[i];
                }
                assert_eq!((put, added), (put_before, added_before), "{n} {rows} {row} {step} on {}", isa.name());
            }
        }
    }
}
