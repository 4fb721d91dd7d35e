//! Products of a matrix and a vector: inner products of its rows, and sums of its rows times numbers.
//!
//! A whole matrix is one call, in which several rows are in registers together: a call for each row would take longer
//! than a short row.
//!
//! Law: the order of the sum of an inner product depends on its length alone. Rows times numbers are added to the
//! result in order, or, if there are at least `turns` rows of few elements, in four sums in turn.

#![allow(clippy::needless_range_loop, reason = "adapters of iterators are compiled for the baseline")]

use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch, unrolled};
use crate::kernels::loop_nest::Nest;

/// The number of lanes in which a sum of the elements of a row is computed, for rows that are long enough.
const LONG: usize = 16;

/// The same for shorter rows.
const SHORT: usize = 8;

/// The number of rows that are added to long results together.
const TOGETHER: usize = 8;

/// Whether the two innermost loops are a product of a matrix and a vector that is worth a call.
pub(super) fn is_gemv(nest: &Nest<3>) -> bool {
    let (inner, rows) = (nest.inner(), nest.middle());
    let dots = inner.strides == [1, 1, 0] && (rows.strides[0] == 0 || rows.strides[1] == 0) && rows.strides[2] != 0;
    (dots || adds_rows(nest)) && inner.len.saturating_mul(rows.len) >= MACHINE.gemv
}

/// Whether the order of the sums depends on the length of the innermost loop.
pub(super) fn sums_in_turn(nest: &Nest<3>) -> bool {
    adds_rows(nest) && nest.middle().len >= MACHINE.turns
}

/// Whether the innermost loop adds a row times a number, and the one around it adds to the same elements.
fn adds_rows(nest: &Nest<3>) -> bool {
    matches!(nest.inner().strides, [0, 1, 1] | [1, 0, 1]) && nest.middle().strides[2] == 0
}

/// The rows of a matrix in `v`: the offset of the first, the stride of rows, and the numbers of rows and of elements.
#[derive(Clone, Copy)]
pub(super) struct Rows<'r, E> {
    pub(super) v: &'r [E],
    pub(super) at: usize,
    pub(super) by: i64,
    pub(super) count: usize,
    pub(super) len: usize,
}

impl<'r, E> Rows<'r, E> {
    /// The elements from the first of a row on.
    #[inline(always)]
    fn from(&self, row: usize) -> &'r [E] {
        &self.v[(self.at as i64 + self.by * row as i64) as usize..]
    }
}

/// Several products of the same shape, in one call: their number, and the distances from one to the next in the rows,
/// in what is common to the rows, and in the result.
#[derive(Clone, Copy)]
pub(super) struct Panels {
    pub(super) count: usize,
    pub(super) by: [i64; 3],
}

/// `out[o + s i] += sum_j rows[i][j] * common[c + j]`, for the offsets `[c, o]` and a stride in `out`, for each product
/// of several.
pub(super) fn add_dots<E: Num>(rows: Rows<'_, E>, common: &[E], out: &mut [E], places: [i64; 3], panels: Panels) {
    match rows.len < LONG {
        true => dispatch(Isa::detect(), Dots::<E, SHORT> { rows, common, out, places, panels }),
        false => dispatch(Isa::detect(), Dots::<E, LONG> { rows, common, out, places, panels }),
    }
}

/// `out[j] += sum_i x[at + s i] * rows[i][j]`, for an offset and a stride in `x`.
pub(super) fn add_scaled<E: Num>(x: &[E], places: [i64; 2], rows: Rows<'_, E>, out: &mut [E]) {
    let (isa, out) = (Isa::detect(), &mut out[..rows.len]);
    // The conditions are constants, so that the code of one type is compiled.
    if const { matches!(E::DTYPE, DType::F32) } {
        dispatch(isa, Scaled::<E, 16, 2> { x, places, rows, out });
    } else {
        dispatch(isa, Scaled::<E, 8, 4> { x, places, rows, out });
    }
}

#[inline(always)]
fn fused<M: Machine, E: Num>(x: E, y: E, sum: E) -> E {
    if M::FMA { x.fused(y, sum) } else { sum.plus(x.mul(y)) }
}

/// Inner products with `L` lanes.
struct Dots<'d, E, const L: usize> {
    rows: Rows<'d, E>,
    common: &'d [E],
    out: &'d mut [E],
    places: [i64; 3],
    panels: Panels,
}

impl<E: Num, const L: usize> Kernel for Dots<'_, E, L> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        for panel in 0..self.panels.count {
            if panel > 0 {
                let [row, common, out] = self.panels.by;
                self.rows.at = (self.rows.at as i64 + row) as usize;
                (self.places[0], self.places[1]) = (self.places[0] + common, self.places[1] + out);
            }
            let mut row = 0;
            while row + 4 <= self.rows.count {
                self.block::<M, 4>(row);
                row += 4;
            }
            while row < self.rows.count {
                self.block::<M, 1>(row);
                row += 1;
            }
        }
    }
}

impl<E: Num, const L: usize> Dots<'_, E, L> {
    /// Computes `R` inner products.
    #[inline(always)]
    fn block<M: Machine, const R: usize>(&mut self, row: usize) {
        let len = self.rows.len;
        let (common, rest) = self.common[self.places[0] as usize..][..len].as_chunks::<L>();
        let mut whole: [&[[E; L]]; R] = [&[]; R];
        let mut rests: [&[E]; R] = [&[]; R];
        for r in 0..R {
            let (chunks, rest_of_row) = self.rows.from(row + r)[..len].as_chunks::<L>();
            (whole[r], rests[r]) = (&chunks[..common.len()], &rest_of_row[..rest.len()]);
        }
        let mut sums = [[E::ZERO; L]; R];
        for c in 0..common.len() {
            for r in 0..R {
                for l in 0..L {
                    sums[r][l] = fused::<M, E>(whole[r][c][l], common[c][l], sums[r][l]);
                }
            }
        }
        for r in 0..R {
            let out = &mut self.out[(self.places[1] + self.places[2] * (row + r) as i64) as usize];
            *out = out.plus(total::<M, E, L>(sums[r], rests[r], rest));
        }
    }
}

/// The sum of the lanes, and of the products of fewer than `L` elements: half of the lanes are added to the other half,
/// then as many products as lanes are left, if there are as many, and so on.
#[inline(always)]
fn total<M: Machine, E: Num, const L: usize>(mut sums: [E; L], mut v: &[E], mut w: &[E]) -> E {
    macro_rules! halve {
        ($($half:literal)*) => {$(
            if L > $half {
                for l in 0..$half {
                    sums[l] = sums[l].plus(sums[l + $half]);
                }
                if let (Some(x), Some(y)) = (v.split_first_chunk::<$half>(), w.split_first_chunk::<$half>()) {
                    for l in 0..$half {
                        sums[l] = fused::<M, E>(x.0[l], y.0[l], sums[l]);
                    }
                    (v, w) = (x.1, y.1);
                }
            }
        )*};
    }
    halve!(8 4 2 1);
    debug_assert!(v.is_empty() && w.is_empty(), "all products are summed");
    sums[0]
}

/// Sums of rows times numbers: `L` lanes are a vector, and at most `MOST` vectors are summed in registers together.
struct Scaled<'s, E, const L: usize, const MOST: usize> {
    x: &'s [E],
    places: [i64; 2],
    rows: Rows<'s, E>,
    out: &'s mut [E],
}

impl<E: Num, const L: usize, const MOST: usize> Kernel for Scaled<'_, E, L, MOST> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let Rows { count, len, .. } = self.rows;
        if len < L && count >= MACHINE.turns {
            return self.in_turn::<M>();
        }
        if len > MACHINE.gemv_row || count < 8 {
            return self.long::<M>();
        }
        let mut lane = 0;
        while lane < len {
            let vectors = (len - lane).div_ceil(L).min(MOST);
            match vectors {
                1 => self.vectors::<M, 1>(lane),
                2 => self.vectors::<M, 2>(lane),
                3 if MOST > 2 => self.vectors::<M, 3>(lane),
                _ => self.vectors::<M, MOST>(lane),
            }
            lane += vectors * L;
        }
    }
}

impl<E: Num, const L: usize, const MOST: usize> Scaled<'_, E, L, MOST> {
    #[inline(always)]
    fn factor(&self, row: usize) -> E {
        self.x[(self.places[0] + self.places[1] * row as i64) as usize]
    }

    /// The number of first rows that have `len` elements before the end of the array.
    #[inline(always)]
    fn roomy(&self, len: usize) -> usize {
        let Rows { v, at, by, count, .. } = self.rows;
        let room = |row: usize| at as i64 + by * row as i64 + len as i64 <= v.len() as i64;
        let mut rows = count;
        while rows > 0 && !(room(rows - 1) && room(0)) {
            rows -= 1;
        }
        rows
    }

    /// Adds rows of fewer than `L` elements, in four sums in turn.
    #[inline(always)]
    fn in_turn<M: Machine>(&mut self) {
        let roomy = self.roomy(L) / 4 * 4;
        let mut sums = [[E::ZERO; L]; 4];
        let mut row = 0;
        while row < roomy {
            unrolled!(for turn in 4, {
                let (x, v) = (self.factor(row + turn), &self.rows.from(row + turn)[..L]);
                for l in 0..L {
                    sums[turn][l] = fused::<M, E>(x, v[l], sums[turn][l]);
                }
            });
            row += 4;
        }
        // A copy, element by element, since an array whose address is passed on does not stay in registers.
        let mut lent = [[E::ZERO; L]; 4];
        unrolled!(for turn in 4, {
            for l in 0..L {
                lent[turn][l] = sums[turn][l];
            }
        });
        self.end_turns::<M>(lent, roomy);
    }

    /// The rest of [`in_turn`](Self::in_turn), from a row on.
    #[inline(never)]
    fn end_turns<M: Machine>(&mut self, mut sums: [[E; L]; 4], from: usize) {
        let len = self.out.len();
        for row in from..self.rows.count {
            let (x, v) = (self.factor(row), self.rows.from(row));
            for l in 0..len.min(L) {
                sums[row % 4][l] = fused::<M, E>(x, v[l], sums[row % 4][l]);
            }
        }
        for l in 0..len.min(L) {
            let [a, b, c, d] = [sums[0][l], sums[1][l], sums[2][l], sums[3][l]];
            self.out[l] = self.out[l].plus(a.plus(c).plus(b.plus(d)));
        }
    }

    /// Adds `C` vectors of each row, from a lane on. The last vector begins where it ends with the row.
    #[inline(always)]
    fn vectors<M: Machine, const C: usize>(&mut self, lane: usize) {
        let len = self.out.len();
        let mut starts = [0; C];
        for c in 0..C {
            starts[c] = (lane + c * L).min(len.saturating_sub(L));
        }
        let roomy = self.roomy(starts[C - 1] + L);
        let mut sums = [[E::ZERO; L]; C];
        let before = self.before(starts);
        unrolled!(for c in C, {
            for l in 0..L {
                sums[c][l] = before[c][l];
            }
        });
        for row in 0..roomy {
            let (x, v) = (self.factor(row), self.rows.from(row));
            unrolled!(for c in C, {
                let v = &v[starts[c]..][..L];
                for l in 0..L {
                    sums[c][l] = fused::<M, E>(x, v[l], sums[c][l]);
                }
            });
        }
        // A copy, as above.
        let mut lent = [[E::ZERO; L]; C];
        unrolled!(for c in C, {
            for l in 0..L {
                lent[c][l] = sums[c][l];
            }
        });
        self.end_vectors::<M, C>(lent, roomy, starts, lane);
    }

    /// The numbers in the result before rows are added; zeros beyond its end.
    #[inline(never)]
    fn before<const C: usize>(&self, starts: [usize; C]) -> [[E; L]; C] {
        let mut before = [[E::ZERO; L]; C];
        for (before, start) in before.iter_mut().zip(starts) {
            before.iter_mut().zip(&self.out[start..]).for_each(|(before, x)| *before = *x);
        }
        before
    }

    /// The rest of [`vectors`](Self::vectors), from a row on.
    #[inline(never)]
    fn end_vectors<M: Machine, const C: usize>(
        &mut self,
        mut sums: [[E; L]; C],
        from: usize,
        starts: [usize; C],
        lane: usize,
    ) {
        let len = self.out.len();
        for c in 0..C {
            let (start, count) = (starts[c], L.min(len - starts[c]));
            for row in from..self.rows.count {
                let (x, v) = (self.factor(row), &self.rows.from(row)[start..]);
                for l in 0..count {
                    sums[c][l] = fused::<M, E>(x, v[l], sums[c][l]);
                }
            }
            for l in lane + c * L - start..count {
                self.out[start + l] = sums[c][l];
            }
        }
    }

    /// Adds long rows, some elements of all rows at a time.
    #[inline(always)]
    fn long<M: Machine>(&mut self) {
        let Rows { count, len, .. } = self.rows;
        let mut first = 0;
        while first < len {
            let part = MACHINE.gemv_part.min(len - first);
            let mut row = 0;
            while row + TOGETHER <= count {
                self.together::<M, TOGETHER>(row, first, part);
                row += TOGETHER;
            }
            if row + 4 <= count {
                self.together::<M, 4>(row, first, part);
                row += 4;
            }
            while row < count {
                self.together::<M, 1>(row, first, part);
                row += 1;
            }
            first += part;
        }
    }

    /// Adds some elements of `R` rows.
    #[inline(always)]
    fn together<M: Machine, const R: usize>(&mut self, row: usize, first: usize, len: usize) {
        let mut v: [&[E]; R] = [&[]; R];
        let mut x = [E::ZERO; R];
        for r in 0..R {
            (v[r], x[r]) = (&self.rows.from(row + r)[first..][..len], self.factor(row + r));
        }
        let out = &mut self.out[first..][..len];
        for i in 0..len {
            let mut sum = out[i];
            for r in 0..R {
                sum = fused::<M, E>(x[r], v[r][i], sum);
            }
            out[i] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::contract::gemv::*;

    const ONE: Panels = Panels { count: 1, by: [0; 3] };

    /// Small integers, whose sums are exact in any order.
    fn integers<E: Num>(n: usize, by: usize) -> Vec<E> {
        let number = |i: usize| num_traits::cast::<i64, E>((i * by % 11) as i64 - 5);
        (0..n).map(|i| number(i).expect("small integers are elements")).collect()
    }

    /// Checks both products of a matrix of `count` rows, `apart` elements from one to the next, backwards if `turned`.
    fn check<E: Num>([count, len, apart]: [usize; 3], turned: bool) {
        let v = integers::<E>((count - 1) * apart + len, 7);
        let at = if turned { (count - 1) * apart } else { 0 };
        let by = if turned { -(apart as i64) } else { apart as i64 };
        let rows = Rows { v: &v, at, by, count, len };
        let (x, common) = (integers::<E>(2 * count, 5), integers::<E>(len, 3));
        let element = |i: usize, j: usize| rows.from(i)[j];
        let name = format!("{count} rows of {len}, {apart} apart, {}", E::DTYPE);

        let mut out = integers::<E>(3 * count, 2);
        let dot = |i: usize| (0..len).fold(E::ZERO, |sum, j| sum.plus(element(i, j).mul(common[j])));
        let expected: Vec<E> =
            out.iter().enumerate().map(|(k, o)| if k % 3 == 1 { o.plus(dot(k / 3)) } else { *o }).collect();
        add_dots(rows, &common, &mut out, [0, 1, 3], ONE);
        assert!(out == expected, "inner products, {name}");

        let mut out = integers::<E>(len, 2);
        let sum = |j: usize| (0..count).fold(out[j], |sum, i| sum.plus(x[2 * i + 1].mul(element(i, j))));
        let expected: Vec<E> = (0..len).map(sum).collect();
        add_scaled(&x, [1, 2], rows, &mut out);
        assert!(out == expected, "sums of rows, {name}");
    }

    #[test]
    fn products_with_vectors_are_those_of_the_definition() {
        for len in (1..42).chain([63, 64, 65, 100, 129, 1024, 1030]) {
            for count in [1, 2, 3, 4, 5, 8, 9, 13, MACHINE.turns - 1, MACHINE.turns + 3] {
                for apart in [len, len + 3] {
                    let turned = (len + count) % 2 == 1;
                    check::<f64>([count, len, apart], turned);
                    check::<f32>([count, len, apart], turned);
                }
            }
        }
    }

    /// A number that is not part of a row does not reach its sum.
    #[test]
    fn what_is_between_rows_is_not_read() {
        for (count, len) in [(600, 3), (20, 5), (20, 13), (9, 37)] {
            let apart = len + 1;
            let v: Vec<f64> = (0..count * apart).map(|i| if i % apart == len { f64::NAN } else { 1.0 }).collect();
            let rows = Rows { v: &v, at: 0, by: apart as i64, count, len };
            let (mut dots, mut sums) = (vec![0.0; count], vec![0.0; len]);
            add_dots(rows, &vec![1.0; len], &mut dots, [0, 0, 1], ONE);
            add_scaled(&vec![1.0; count], [0, 1], rows, &mut sums);
            assert!(dots.iter().all(|x| *x == len as f64) && sums.iter().all(|x| *x == count as f64), "{count} {len}");
        }
    }
}
