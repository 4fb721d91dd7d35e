//! Products of matrices with a factor that lies transposed: it is copied, panel by panel, as the product reads it.
//!
//! The lines of such a factor `W` in `x W^T` lie along the sum. The crates pack them number by number, and where the lines are a
//! power of two apart, the numbers of neighbouring lines share few places of the caches: the copy takes longer than the
//! product. Here four lines at a time are read from their start to their end and transposed in registers, into a panel
//! that stays in the second level of cache until it is multiplied. The rows of the panel are a cache line more than a power
//! of two apart.
//!
//! Law: a panel has the numbers of the factor. The parts of a sum are as long for every part of the result, so their order
//! does not depend on how the result is cut.

use crate::cost::MACHINE;
use crate::dtype::Num;
use crate::kernels::isa::transposed;

/// Lines of a factor, each with its numbers one after the other.
#[derive(Clone, Copy)]
pub(super) struct TransposedLines<'a, E> {
    pub(super) of: &'a [E],
    /// Where the first line begins, and the distance to the next one.
    pub(super) start: usize,
    pub(super) apart: i64,
}

impl<'a, E: Num> TransposedLines<'a, E> {
    /// Numbers of a line.
    fn numbers(self, line: usize, first: usize, len: usize) -> &'a [E] {
        let start = (self.start as i64 + self.apart * line as i64) as usize;
        &self.of[start + first..][..len]
    }

    /// Copies some lines, from a number of each on, into the columns of a panel, whose rows are [`pitch`] apart.
    pub(super) fn copy(self, [first_line, lines]: [usize; 2], [first, len]: [usize; 2], panel: &mut [E]) {
        let pitch = pitch::<E>();
        assert!(lines <= pitch && panel.len() >= len * pitch);
        for line in (0..lines / 4 * 4).step_by(4) {
            let four = [0, 1, 2, 3].map(|k| self.numbers(first_line + line + k, first, len).as_chunks::<4>());
            let [a, b, c, d] = four.map(|line| line.0);
            let rows = panel[..len / 4 * 4 * pitch].chunks_exact_mut(4 * pitch);
            for ((((to, a), b), c), d) in rows.zip(a).zip(b).zip(c).zip(d) {
                for (row, of) in transposed([a, b, c, d]).iter().enumerate() {
                    to[row * pitch + line..][..4].copy_from_slice(of);
                }
            }
            for (k, (_, rest)) in four.iter().enumerate() {
                let rows = panel[len / 4 * 4 * pitch..].chunks_exact_mut(pitch);
                rows.zip(*rest).for_each(|(to, x)| to[line + k] = *x);
            }
        }
        for line in lines / 4 * 4..lines {
            let numbers = self.numbers(first_line + line, first, len);
            panel.chunks_exact_mut(pitch).zip(numbers).for_each(|(to, x)| to[line] = *x);
        }
    }
}

/// The distance of the rows of a panel.
pub(super) fn pitch<E>() -> usize {
    MACHINE.transposed_lines + MACHINE.line / size_of::<E>()
}

/// The rows of a panel: steps of the sum.
pub(super) fn steps<E>() -> usize {
    MACHINE.level2_beside / 4 / MACHINE.transposed_lines / size_of::<E>()
}

#[cfg(test)]
mod tests {
    use super::{TransposedLines, pitch};
    use crate::cost::MACHINE;
    use crate::dtype::{DType, Float};
    use crate::kernels::contract::{Kernel, PlannedContraction, Scratch};
    use crate::ops::{Contract, View};
    use crate::shape::size;

    #[test]
    fn panels_have_the_numbers_of_the_lines() {
        let of: Vec<f64> = (0..4000).map(f64::from).collect();
        for (lines, len, apart, start) in [(7, 9, 40, 3), (4, 8, -100, 900), (1, 3, 5, 0), (64, 5, 62, 2), (6, 0, 8, 1)]
        {
            let mut panel = vec![f64::NAN; len * pitch::<f64>()];
            let from = TransposedLines { of: &of, start, apart };
            from.copy([1, lines], [2, len], &mut panel);
            for (step, row) in panel.chunks_exact(pitch::<f64>()).enumerate() {
                for (line, x) in row[..lines].iter().enumerate() {
                    assert_eq!(*x as i64, start as i64 + apart * (line as i64 + 1) + 2 + step as i64);
                }
                assert!(row[lines..].iter().all(|x| x.is_nan()), "numbers beyond the lines");
            }
        }
    }

    /// Products of rows with rows, one side large enough for panels; the result row by row, or column by column.
    fn products() -> impl Iterator<Item = ([usize; 3], Contract)> {
        let (least, lines) = (MACHINE.transposed_depth, MACHINE.transposed_lines);
        let shapes = [[66, lines, least], [67, lines + 5, 1030], [101, lines + 1, 513]];
        shapes.into_iter().flat_map(|[m, n, depth]| {
            let op = |out: &[usize]| {
                let axes = |of: &[usize]| View::axes(&[m, n, depth], of);
                ([m, n, depth], Contract::new(axes(&[0, 2]), axes(&[1, 2]), axes(out)))
            };
            [op(&[0, 1]), op(&[1, 0])]
        })
    }

    fn is_copied(product: &PlannedContraction) -> bool {
        matches!(&product.kernel, Kernel::Matrix { product, .. } if product.is_copied)
    }

    fn check<E: Float>() {
        for ([m, n, depth], op) in products() {
            // Small integers, whose sums are exact in any order.
            let numbers = |n: usize, by: usize| (0..n).map(|i| ((i * by) % 11) as f64 - 5.0).collect::<Vec<f64>>();
            let (a, b) = (numbers(size(op.a.source()), 7), numbers(size(op.b.source()), 5));
            let product = PlannedContraction::new(&op, E::DTYPE, [false; 2]);
            assert!(is_copied(&product), "{}", product.describe());
            let of = |v: &[f64]| v.iter().map(|x| E::of_f64(*x)).collect::<Vec<E>>();
            let mut out = vec![E::ONE; size(op.out.source())];
            product.run(&of(&a), &of(&b), &mut out, false, &mut Scratch::default());
            let down = if op.out.source() == [m, n] { [n, 1] } else { [1, m] };
            for (i, x) in a.chunks_exact(depth).enumerate() {
                for (j, y) in b.chunks_exact(depth).enumerate() {
                    let sum: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                    assert_eq!(out[i * down[0] + j * down[1]].as_f64(), sum + 1.0, "{}", product.describe());
                }
            }
        }
    }

    #[test]
    fn products_with_a_transposed_factor_are_the_products() {
        check::<f64>();
        check::<f32>();
    }

    /// Zero times infinity is NaN, in panels, too, and nothing else of the result is touched.
    #[test]
    fn infinities_meet_zeros() {
        let (_, op) = products().next().expect("a product");
        let (mut a, mut b) = (vec![0.0f32; size(op.a.source())], vec![1.0f32; size(op.b.source())]);
        let depth = MACHINE.transposed_depth;
        (a[depth + 3], b[5 * depth + 7]) = (2.0, f32::INFINITY);
        let mut out = vec![0.0f32; size(op.out.source())];
        PlannedContraction::new(&op, DType::F32, [false; 2]).run(&a, &b, &mut out, true, &mut Scratch::default());
        let n = MACHINE.transposed_lines;
        for (i, x) in out.iter().enumerate() {
            match (i / n, i % n) {
                (_, 5) => assert!(x.is_nan()),
                (1, _) => assert_eq!(*x, 2.0),
                (_, _) => assert_eq!(*x, 0.0),
            }
        }
    }

    /// A sum has the same bits however the result is cut, and parts of it are multiplied as the whole is.
    #[test]
    fn cuts_change_no_bit() {
        for (_, op) in products() {
            let numbers = |n: usize, by: f64| (0..n).map(|i| (i as f64 * by).sin() as f32).collect::<Vec<f32>>();
            let (a, b) = (numbers(size(op.a.source()), 0.7), numbers(size(op.b.source()), 1.3));
            let product = PlannedContraction::new(&op, DType::F32, [false; 2]);
            let run = |threads: usize| {
                let mut out = vec![0.0f32; size(op.out.source())];
                product.kernel.add(&a, &b, &mut out, &mut Scratch::default(), threads);
                out.iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
            };
            let whole = run(1);
            (2..6).for_each(|threads| assert!(run(threads) == whole, "{}, {threads} threads", product.describe()));
        }
    }
}
