//! Plain matrix products (gemm), by the crate `gemm`.
//!
//! Law: `matmul` is safe: it checks that all matrices lie within their slices before it passes pointers to the crate.
//!
//! Unsafe code, as this module is allowed by name to have: the crate takes raw pointers and strides, so operands that
//! are transposed or parts of larger arrays need no copy.
#![allow(unsafe_code)]

use std::hint::black_box;
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
    matmul_times(E::ONE, product, at, a, b, out);
}

/// [`matmul`] with the product times `factor`.
///
/// # Panics
/// When a matrix is not within its slice, or two elements of the result coincide.
fn matmul_times<E: Num>(factor: E, product: &Matmul, at: [usize; 3], a: &[E], b: &[E], out: &mut [E]) {
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
            factor,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Subtracts a matrix product: `out -= a b`, with `a` of `rows` by `depth` and `b` of `depth` by `columns` elements.
/// The strides `of_a` and `of_b` are those of rows and of columns, `of_out` is that of rows; rows of `out` are
/// contiguous.
pub(crate) fn subtract_product<E: Num + std::ops::Neg<Output = E>>(
    [rows, columns, depth]: [usize; 3],
    (a, of_a): (&[E], [usize; 2]),
    (b, of_b): (&[E], [usize; 2]),
    (out, of_out): (&mut [E], usize),
) {
    let product = Matmul {
        rows: Axis::plain(rows, [of_a[0] as i64, 0, of_out as i64]),
        columns: Axis::plain(columns, [0, of_b[1] as i64, 1]),
        depth: Axis::plain(depth, [of_a[1] as i64, of_b[0] as i64, 0]),
    };
    matmul_times(-E::ONE, &product, [0; 3], a, b, out);
}

/// Makes the allocator of the system keep freed memory, once per process, by allocating and freeing a large block.
///
/// The crate allocates and frees a block for each product. The allocator of the GNU C library returns such a block to
/// the system at once, unless a larger block has been freed before, and then every page of the next block faults, which
/// takes as long as the product. Other allocators are not affected.
fn keep_freed_memory() {
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
