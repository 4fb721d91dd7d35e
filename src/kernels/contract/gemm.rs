//! Plain matrix products (gemm), by the crate `gemm`.
//!
//! Law: `matmul` is safe: it checks that all matrices lie within their slices before it passes pointers to the crate.
//!
//! Unsafe code, as this module is allowed by name to have: the crate takes raw pointers and strides, so operands that
//! are transposed or parts of larger arrays need no copy.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::ops::Range;
use std::sync::Once;

use crate::dtype::Num;
use crate::kernels::loop_nest::Axis;

/// A product of matrices: three loops, each of which moves two of the three arrays.
#[derive(Clone, Copy)]
pub(crate) struct Matmul {
    /// Moves the left operand and the result.
    pub(crate) rows: Axis<3>,
    /// Moves the right operand and the result.
    pub(crate) columns: Axis<3>,
    /// Moves both operands.
    pub(crate) depth: Axis<3>,
}

/// Adds the product of the matrices that start at the offsets `at` to the matrix in `out`. `E` is `f64` or `f32`.
///
/// # Panics
/// When a matrix is not within its slice, or two elements of the result coincide.
pub(crate) fn matmul<E: Num>(product: &Matmul, at: [usize; 3], a: &[E], b: &[E], out: &mut [E]) {
    keep_freed_memory();
    let Matmul { rows, columns, depth } = product;
    assert!(E::DTYPE.is_float(), "matrices of {} are not multiplied here", E::DTYPE);
    assert!(within(a.len(), at[0], [(rows.len, rows.strides[0]), (depth.len, depth.strides[0])]));
    assert!(within(b.len(), at[1], [(columns.len, columns.strides[1]), (depth.len, depth.strides[1])]));
    let (down, right) = ((rows.len, rows.strides[2]), (columns.len, columns.strides[2]));
    assert!(within(out.len(), at[2], [down, right]));
    assert!(down.1 > 0 && right.1 > 0 && (down.0 as i64 * down.1 <= right.1 || right.0 as i64 * right.1 <= down.1));
    // SAFETY: all offsets that the loops reach from `at` lie in the slices, which live through the call and of which
    // only `out` is written; the offsets in `out` are distinct. The crate multiplies both float types.
    unsafe {
        gemm::gemm(
            rows.len,
            columns.len,
            depth.len,
            out.as_mut_ptr().add(at[2]),
            right.1 as isize,
            down.1 as isize,
            true,
            a.as_ptr().add(at[0]),
            depth.strides[0] as isize,
            rows.strides[0] as isize,
            b.as_ptr().add(at[1]),
            columns.strides[1] as isize,
            depth.strides[1] as isize,
            E::ONE,
            E::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Takes the product of two matrices from a part of a matrix `x`, whose rows are `stride` apart: of so many rows,
/// columns and products for each sum. The result and the right factor are the parts of `x` from two elements on. The
/// left factor is a part of `x`, too, or elsewhere, from an element on and with distances of its rows and of its
/// columns.
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
    // SAFETY: all positions that the loops reach lie in the slices, which live through the call. Those that are
    // written lie in `x`, are distinct, and are none that is read. The crate multiplies both float types.
    unsafe {
        let from = a.map_or(to.cast_const(), <[E]>::as_ptr);
        gemm::gemm(
            rows,
            columns,
            depth,
            to.add(c_at),
            1,
            stride as isize,
            true,
            from.add(a_at),
            right as isize,
            down as isize,
            to.cast_const().add(b_at),
            1,
            stride as isize,
            E::ONE,
            -E::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Makes the allocator of the system keep freed memory, once per process, by allocating and freeing a large block.
///
/// The crate takes and gives back a block for each product. The allocator of the GNU C library returns such a block to
/// the system at once, unless it has seen a larger one given back, and every page of the next one is fetched anew: that
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
