//! Plain matrix products (gemm), by the crates `gemm-f64` and `gemm-f32`.
//!
//! Law: `matmul` is safe: it checks that all matrices lie within their slices before it passes pointers to the crate.
//!
//! Unsafe code, as this module is allowed by name to have: the crates take raw pointers and strides, so operands that
//! are transposed or parts of larger arrays need no copy.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::ops::Range;
use std::sync::Once;

use gemm_common::Parallelism;

use super::not_of_floats;
use super::transposed::{self, TransposedLines};
use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::kernels::loop_nest::Axis;

/// A product of matrices: three loops; each moves two of the three arrays.
#[derive(Clone, Copy)]
pub(crate) struct Matmul {
    /// Moves the left operand and the result.
    pub(crate) rows: Axis<3>,
    /// Moves the right operand and the result.
    pub(crate) columns: Axis<3>,
    /// Moves both operands.
    pub(crate) depth: Axis<3>,
    /// Whether the factor that has the contiguous loop of the result lies transposed and is copied panel by panel. Parts of a
    /// product are copied as the whole is.
    pub(crate) is_copied: bool,
}

impl Matmul {
    /// The product of three loops.
    pub(crate) fn new([rows, columns, depth]: [Axis<3>; 3]) -> Matmul {
        let product = Matmul { rows, columns, depth, is_copied: false };
        let (wide, side) = product.wide();
        let is_copied = depth.strides[side] == 1
            && depth.len >= MACHINE.transposed_depth
            && wide.strides[side].unsigned_abs() > 1
            && wide.len >= MACHINE.transposed_lines;
        Matmul { is_copied, ..product }
    }

    /// The loop along which neighbours of the result are close, and the operand that it moves.
    fn wide(&self) -> (Axis<3>, usize) {
        if self.columns.strides[2] < self.rows.strides[2] { (self.columns, 1) } else { (self.rows, 0) }
    }
}

/// Adds the product of the matrices that start at the offsets `at` to the matrix in `out`. `E` is `f64` or `f32`. `panel` is
/// memory for a part of a factor that lies transposed.
///
/// # Panics
/// When a matrix is not within its slice, or two elements of the result coincide.
pub(crate) fn matmul<E: Num>(product: &Matmul, at: [usize; 3], a: &[E], b: &[E], out: &mut [E], panel: &mut Vec<E>) {
    keep_freed_memory();
    let Matmul { rows, columns, depth, is_copied } = product;
    assert!(E::DTYPE.is_float(), "matrices of {} are not multiplied here", E::DTYPE);
    assert!(within(a.len(), at[0], [(rows.len, rows.strides[0]), (depth.len, depth.strides[0])]));
    assert!(within(b.len(), at[1], [(columns.len, columns.strides[1]), (depth.len, depth.strides[1])]));
    let (down, right) = ((rows.len, rows.strides[2]), (columns.len, columns.strides[2]));
    assert!(within(out.len(), at[2], [down, right]));
    assert!(down.1 > 0 && right.1 > 0 && (down.0 as i64 * down.1 <= right.1 || right.0 as i64 * right.1 <= down.1));
    if *is_copied {
        return multiply_by_panels(product, at, [a, b], out, panel);
    }
    let most = part_of_depth(depth.len);
    for step in (0..depth.len).step_by(most) {
        let start = |k: usize| at[k] as isize + depth.strides[k] as isize * step as isize;
        // SAFETY: all offsets that the loops reach from `at` lie in the slices, which live through the call, and only `out`
        // is written; the offsets in `out` are distinct.
        unsafe {
            add_product(
                [rows.len, columns.len, most.min(depth.len - step)],
                Strided { at: a.as_ptr().offset(start(0)), by: [rows, depth].map(|axis| axis.strides[0] as isize) },
                Strided { at: b.as_ptr().offset(start(1)), by: [depth, columns].map(|axis| axis.strides[1] as isize) },
                Strided { at: out.as_mut_ptr().add(at[2]), by: [down.1 as isize, right.1 as isize] },
                E::ONE,
            );
        }
    }
}

/// The length of the parts of a sum of `depth` products. The crates cut a longer sum by the sizes of the whole product, and a
/// part of the rows or columns would have other bits than the whole has.
fn part_of_depth(depth: usize) -> usize {
    depth.div_ceil(depth.div_ceil(MOST_DEPTH).max(1)).max(1)
}

/// The longest sum that the crates compute in one piece, whatever the other sizes are.
const MOST_DEPTH: usize = 512;

/// The most numbers of a result for which the crates sum along the lines of both factors, in another order. They do so for one row
/// or one column, too. Parts of a product are larger.
pub(crate) const SMALL_RESULT: usize = 16 * 16;

/// [`matmul`] with copies of parts of the factor that lies transposed. The caller has checked that all matrices are within their
/// slices.
fn multiply_by_panels<E: Num>(
    product: &Matmul,
    at: [usize; 3],
    operands: [&[E]; 2],
    out: &mut [E],
    panel: &mut Vec<E>,
) {
    let (wide, side) = product.wide();
    let Matmul { rows, columns, depth, .. } = product;
    let other = if side == 1 { rows } else { columns };
    let lines = TransposedLines { of: operands[side], start: at[side], apart: wide.strides[side] };
    let (pitch, most) = (transposed::pitch::<E>(), [MACHINE.transposed_lines, transposed::steps::<E>()]);
    let room = pitch * most[1].min(depth.len);
    if panel.len() < room {
        panel.resize(room, E::ZERO);
    }
    for line in (0..wide.len).step_by(most[0]) {
        let count = most[0].min(wide.len - line);
        for step in (0..depth.len).step_by(most[1]) {
            let steps = most[1].min(depth.len - step);
            lines.copy([line, count], [step, steps], panel);
            // SAFETY: the offsets are some of those that the caller has checked. The panel has `steps` rows, `pitch` apart,
            // of `count` numbers. All live through the call, and only `out` is written, at distinct offsets.
            unsafe {
                let from = operands[1 - side].as_ptr().add(at[1 - side]);
                let from = from.offset(depth.strides[1 - side] as isize * step as isize);
                let x = Strided { at: from, by: [other, depth].map(|axis| axis.strides[1 - side] as isize) };
                let w = Strided { at: panel.as_ptr(), by: [pitch as isize, 1] };
                let to = out.as_mut_ptr().add(at[2]).offset(wide.strides[2] as isize * line as isize);
                let c = Strided { at: to, by: [other, &wide].map(|axis| axis.strides[2] as isize) };
                add_product([other.len, count, steps], x, w, c, E::ONE);
            }
        }
    }
}

/// Takes the product of two matrices from a part of a matrix `x`, whose rows are `stride` apart. The result has `rows`
/// rows and `columns` columns, each a sum of `depth` products. The result and the right factor are the parts of `x`
/// from two elements on. The left factor is a part of `x`, too, or elsewhere, from an element on and with distances of
/// its rows and of its columns.
///
/// # Panics
/// When a matrix is not within its slice, or the result overlaps a factor.
pub(crate) fn subtract_within<E: Num + std::ops::Neg<Output = E>>(
    [rows, columns, depth]: [usize; 3],
    (a, a_at, [down, right]): (Option<&[E]>, usize, [usize; 2]),
    (x, stride): (&mut [E], usize),
    [c_at, b_at]: [usize; 2],
) {
    keep_freed_memory();
    assert!(E::DTYPE.is_float(), "matrices of {} are not multiplied here", E::DTYPE);
    let of_a = [(rows, down as i64), (depth, right as i64)];
    assert!(within(a.map_or(x.len(), <[E]>::len), a_at, of_a));
    assert!(within(x.len(), b_at, [(depth, stride as i64), (columns, 1)]));
    assert!(within(x.len(), c_at, [(rows, stride as i64), (columns, 1)]));
    // Parts as rows and columns of `x`.
    let part = |at: usize, rows: usize, columns: usize| {
        assert!(at % stride + columns <= stride, "a part ends at the end of a row");
        [at / stride..at / stride + rows, at % stride..at % stride + columns]
    };
    let apart = |p: &[Range<usize>; 2], q: &[Range<usize>; 2]| {
        (0..2).any(|axis| p[axis].end <= q[axis].start || q[axis].end <= p[axis].start)
    };
    let c = part(c_at, rows, columns);
    assert!(apart(&c, &part(b_at, depth, columns)));
    if a.is_none() {
        assert!([down, right] == [stride, 1] || [down, right] == [1, stride]);
        let (high, wide) = if right == 1 { (rows, depth) } else { (depth, rows) };
        assert!(apart(&c, &part(a_at, high, wide)));
    }
    let to = x.as_mut_ptr();
    let by_rows = [stride as isize, 1];
    // SAFETY: all positions that the loops reach lie in the slices, which live through the call. Those that are
    // written lie in `x`, are distinct, and are not read.
    unsafe {
        let from = a.map_or(to.cast_const(), <[E]>::as_ptr);
        add_product(
            [rows, columns, depth],
            Strided { at: from.add(a_at), by: [down as isize, right as isize] },
            Strided { at: to.cast_const().add(b_at), by: by_rows },
            Strided { at: to.add(c_at), by: by_rows },
            -E::ONE,
        );
    }
}

/// A matrix: its first element, and the distances of its rows and of its columns.
#[derive(Clone, Copy)]
struct Strided<P> {
    at: P,
    by: [isize; 2],
}

impl<P> Strided<P> {
    fn transposed(self) -> Strided<P> {
        let [down, right] = self.by;
        Strided { at: self.at, by: [right, down] }
    }
}

/// `c += factor a b`, where `c` has `rows` rows and `columns` columns, and `a` has `depth` columns. The distances in `c`
/// are positive.
///
/// # Safety
/// All elements of the three matrices may be read, and those of `c` written; they are distinct, and not shared with
/// another matrix. `E` is a float type.
unsafe fn add_product<E: Num>(
    [rows, columns, depth]: [usize; 3],
    mut a: Strided<*const E>,
    mut b: Strided<*const E>,
    c: Strided<*mut E>,
    factor: E,
) {
    // The kernels prefer results whose columns are contiguous: else this is the transposed product.
    let (rows, columns, c) = match c.by[1] < c.by[0] {
        true => {
            (a, b) = (b.transposed(), a.transposed());
            (columns, rows, c.transposed())
        }
        false => (rows, columns, c),
    };
    // They go forward through the columns of `a`.
    if a.by[1] < 0 {
        let last = depth as isize - 1;
        a = Strided { at: a.at.wrapping_offset(last * a.by[1]), by: [a.by[0], -a.by[1]] };
        b = Strided { at: b.at.wrapping_offset(last * b.by[0]), by: [-b.by[0], b.by[1]] };
    }
    // SAFETY: as the caller says; a pointer to a float type is cast to a pointer to the same type.
    macro_rules! of_type {
        ($multiply:expr, $Float:ty, $factor:expr) => {
            unsafe {
                $multiply(
                    rows,
                    columns,
                    depth,
                    c.at.cast::<$Float>(),
                    c.by[1],
                    c.by[0],
                    true,
                    a.at.cast::<$Float>(),
                    a.by[1],
                    a.by[0],
                    b.at.cast::<$Float>(),
                    b.by[1],
                    b.by[0],
                    1.0,
                    $factor,
                    false,
                    false,
                    false,
                    Parallelism::None,
                )
            }
        };
    }
    let of = factor.to_f64().unwrap_or(f64::NAN);
    match E::DTYPE {
        DType::F64 => of_type!(gemm_f64::gemm::f64::get_gemm_fn(), f64, of),
        DType::F32 => of_type!(gemm_f32::gemm::f32::get_gemm_fn(), f32, of as f32),
        DType::I64 | DType::Bool => not_of_floats(),
    }
}

/// Adds the product of two square matrices of `n` rows to a third one, all row by row. `E` is `f64` or `f32`.
pub(crate) fn product_of_squares<E: Num>(n: usize, a: &[E], b: &[E], out: &mut [E]) {
    if n < SMALL {
        for (out, a) in out.chunks_exact_mut(n.max(1)).zip(a.chunks_exact(n.max(1))) {
            for (a, b) in a.iter().zip(b.chunks_exact(n)) {
                out.iter_mut().zip(b).for_each(|(out, b)| *out = out.plus(a.mul(*b)));
            }
        }
        return;
    }
    let axis = |by: [i64; 3]| Axis::plain(n, by);
    let down = n as i64;
    let product = Matmul::new([axis([down, 0, down]), axis([0, 1, 1]), axis([1, down, 0])]);
    matmul(&product, [0; 3], a, b, out, &mut Vec::new());
}

/// The number of rows from which on a product is worth a call of the crates.
const SMALL: usize = 8;

/// Makes the allocator of the system keep freed memory, once per process, by allocating and freeing a large block.
///
/// The crates take and give back a block for each product. The allocator of the GNU C library returns such a block to
/// the system at once, unless it has seen a larger one given back, and every page of the next one is fetched again: that
/// takes as long as the product. Elsewhere, nothing happens.
pub(crate) fn keep_freed_memory() {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| drop(black_box(Vec::<u8>::with_capacity(KEPT))));
}

/// The number of bytes of the block: freed blocks up to this size are kept.
const KEPT: usize = 16 << 20;

/// Whether all offsets that two loops reach from `start` on are less than `len`.
fn within(len: usize, start: usize, loops: [(usize, i64); 2]) -> bool {
    let (mut lo, mut hi) = (start as i128, start as i128);
    for (n, stride) in loops {
        let reach = stride as i128 * (n as i128 - 1);
        (lo, hi) = (lo + reach.min(0), hi + reach.max(0));
    }
    0 <= lo && hi < len as i128 && loops.iter().all(|(n, _)| *n > 0)
}
