//! First-order linear recurrences, and prefix products, along the rows of matrices: chains side by side.
//!
//! A matrix has `m` rows of `n` elements; each column is a recurrence `y[i] = b[i] + a[i] y[i - 1]`, or transposed
//! `y[i] = b[i] + a[i + 1] y[i + 1]`, whose first value is that of `b`. Prefix products are `y[i] = a[i] y[i - 1]` from
//! the first value of `a` on. Laws: the result does not depend on the instruction set; a value overflows or underflows
//! only where it does if all values are computed one after the other.
//!
//! | shape | kernel |
//! |---|---|
//! | one column, of fewer than [`SHORT`] rows | a chain for each of [`SIDE`] matrices |
//! | one column | a chain for each of [`SIDE`] chunks, from 0, and what the value before a chunk adds ([`in_chunks`]) |
//! | fewer than [`WIDE`] columns | a chain for each column |
//! | other matrices | a lane for each column |
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use super::isa::{Isa, Kernel, Machine, dispatch};
use crate::dtype::{DType, Num};

/// The number of chains that run side by side, which hides the latency of products and sums.
const SIDE: usize = 8;

/// The longest chunk.
const CHUNK: usize = 64;

/// Columns of fewer rows are one chain.
const SHORT: usize = 256;

/// The least values that are computed in chunks.
const LEAST: usize = 64;

/// The number of lanes; a multiple for long rows.
const WIDE: usize = 8;

/// The lanes of long rows.
const LONG: usize = 32;

/// The chains of `R` chunks of `len` elements each, from 0 on: their values, unless `SUM` is false and all are 0, and of
/// each chunk the last value and the product of the factors. A separate function, compiled for the baseline: vectors
/// would gather and scatter the elements of different chunks.
#[inline(never)]
fn chains<E: Num, const R: usize, const SUM: bool, const REVERSE: bool>(
    [a, b]: [&[E]; 2],
    len: usize,
    out: &mut [E],
) -> [[E; R]; 2] {
    let [a, b]: [[&[E]; R]; 2] = [a, b].map(|x| std::array::from_fn(|r| &x[r * len..][..len]));
    let mut parts = out.chunks_exact_mut(len);
    let out: [&mut [E]; R] = std::array::from_fn(|_| parts.next().expect("each chunk has a result"));
    let (mut y, mut product) = ([E::ZERO; R], [E::ONE; R]);
    for k in 0..len {
        let k = if REVERSE { len - 1 - k } else { k };
        for r in 0..R {
            product[r] = product[r].mul(a[r][k]);
            if SUM {
                y[r] = b[r][k].plus(a[r][k].mul(y[r]));
                out[r][k] = y[r];
            }
        }
    }
    [y, product]
}

/// Adds to the values of `R` chunks what follows from the value before each chunk, and returns what is added last.
#[inline(never)]
fn carried<E: Num, const R: usize, const SUM: bool, const REVERSE: bool>(
    a: &[E],
    len: usize,
    mut before: [E; R],
    out: &mut [E],
) -> [E; R] {
    let a: [&[E]; R] = std::array::from_fn(|r| &a[r * len..][..len]);
    let mut parts = out.chunks_exact_mut(len);
    let out: [&mut [E]; R] = std::array::from_fn(|_| parts.next().expect("each chunk has a result"));
    for k in 0..len {
        let k = if REVERSE { len - 1 - k } else { k };
        for r in 0..R {
            before[r] = a[r][k].mul(before[r]);
            out[r][k] = if SUM { out[r][k].plus(before[r]) } else { before[r] };
        }
    }
    before
}

/// The recurrences of [`SIDE`] matrices of one column.
#[inline(never)]
fn short_columns<E: Num, const SUM: bool, const REVERSE: bool>([a, b]: [&[E]; 2], m: usize, out: &mut [E]) {
    // The elements from which a value follows, and the first value.
    let (rest, first) = if REVERSE { (0, m - 1) } else { (1, 0) };
    let len = m - 1;
    let mut y: [E; SIDE] = std::array::from_fn(|r| b[r * m + first]);
    for r in 0..SIDE {
        out[r * m + first] = y[r];
    }
    let a: [&[E]; SIDE] = std::array::from_fn(|r| &a[r * m + 1..][..len]);
    let b: [&[E]; SIDE] = std::array::from_fn(|r| &b[r * m + rest..][..len]);
    let mut parts = out.chunks_exact_mut(m);
    let out: [&mut [E]; SIDE] = std::array::from_fn(|_| &mut parts.next().expect("a matrix")[rest..][..len]);
    for k in 0..len {
        let k = if REVERSE { len - 1 - k } else { k };
        for r in 0..SIDE {
            y[r] = next::<E, SUM>(a[r][k], b[r][k], y[r]);
            out[r][k] = y[r];
        }
    }
}

#[inline(always)]
fn next<E: Num, const SUM: bool>(a: E, b: E, y: E) -> E {
    if SUM { b.plus(a.mul(y)) } else { a.mul(y) }
}

/// Whether the value before a chunk times the product of the factors of the chunk is what follows from the value by one
/// factor after the other, up to rounding, compared with the last value `y` of the chunk: it is not where the product
/// overflows, underflows, or was subnormal.
fn agrees<E: Num>(one_by_one: E, at_once: E, y: E) -> bool {
    let [one_by_one, at_once, y] = [one_by_one, at_once, y].map(|x| x.to_f64().unwrap_or(f64::NAN));
    let epsilon = if E::DTYPE == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let error = (one_by_one - at_once).abs();
    error <= 2.0 * CHUNK as f64 * epsilon * one_by_one.abs() + epsilon * y.abs() && one_by_one.is_finite()
}

/// The values of [`SIDE`] chunks of `len` elements after a value, and the last of them; `None` if only values one after
/// the other are right.
#[inline(always)]
fn in_chunks<E: Num, const SUM: bool, const REVERSE: bool>(
    [a, b]: [&[E]; 2],
    len: usize,
    before: E,
    out: &mut [E],
) -> Option<E> {
    let [y, product] = chains::<E, SIDE, SUM, REVERSE>([a, b], len, out);
    let (mut befores, mut at_once, mut last) = ([E::ZERO; SIDE], [E::ZERO; SIDE], before);
    for c in 0..SIDE {
        let c = if REVERSE { SIDE - 1 - c } else { c };
        befores[c] = last;
        at_once[c] = product[c].mul(last);
        last = if SUM { y[c].plus(at_once[c]) } else { at_once[c] };
    }
    let one_by_one = carried::<E, SIDE, SUM, REVERSE>(a, len, befores, out);
    let good = (0..SIDE).all(|c| agrees(one_by_one[c], at_once[c], y[c]));
    (good && last.to_f64().is_some_and(f64::is_finite)).then_some(last)
}

/// The values of a column after a value.
#[inline(always)]
fn column<E: Num, const SUM: bool, const REVERSE: bool>([a, b]: [&[E]; 2], mut y: E, out: &mut [E]) {
    let (mut done, is_short) = (0, a.len() + 1 < SHORT);
    while done < a.len() {
        let left = a.len() - done;
        let len = if is_short || left < LEAST { left } else { (left / SIDE).min(CHUNK) * SIDE };
        let start = if REVERSE { left - len } else { done };
        let ([a, b], out) = ([a, b].map(|x| &x[start..][..len]), &mut out[start..][..len]);
        done += len;
        if !is_short
            && len >= LEAST
            && let Some(last) = in_chunks::<E, SUM, REVERSE>([a, b], len / SIDE, y, out)
        {
            y = last;
            continue;
        }
        for k in 0..len {
            let k = if REVERSE { len - 1 - k } else { k };
            y = next::<E, SUM>(a[k], b[k], y);
            out[k] = y;
        }
    }
}

/// The values of `W` columns, which start the slices, after the values of a row, of rows of `n` elements.
#[inline(always)]
fn columns<E: Num, const W: usize, const SUM: bool, const REVERSE: bool>(
    [a, b]: [&[E]; 2],
    [rows, n]: [usize; 2],
    before: &[E],
    out: &mut [E],
) {
    let mut y = [E::ZERO; W];
    y.copy_from_slice(&before[..W]);
    for k in 0..rows {
        let at = n * if REVERSE { rows - 1 - k } else { k };
        let (a, b, out) = (&a[at..][..W], &b[at..][..W], &mut out[at..][..W]);
        for i in 0..W {
            y[i] = next::<E, SUM>(a[i], b[i], y[i]);
            out[i] = y[i];
        }
    }
}

struct Recurrences<'a, E, const SUM: bool, const REVERSE: bool> {
    a: &'a [E],
    b: &'a [E],
    m: usize,
    n: usize,
    out: &'a mut [E],
}

/// The recurrences of the columns of one matrix of at least one row.
#[inline(always)]
fn one<E: Num, const SUM: bool, const REVERSE: bool>([a, b]: [&[E]; 2], n: usize, out: &mut [E]) {
    // The rest of the results, and the elements from which a result follows, are at one position.
    let rest = a.len() - n;
    let (a, b, first, out) = if REVERSE {
        let (rest, row) = out.split_at_mut(rest);
        row.copy_from_slice(&b[rest.len()..]);
        (&a[n..], &b[..rest.len()], &b[rest.len()..], rest)
    } else {
        let (row, rest) = out.split_at_mut(n);
        row.copy_from_slice(&b[..n]);
        (&a[n..], &b[n..], &b[..n], rest)
    };
    let sizes = [rest / n, n];
    match n {
        1 => column::<E, SUM, REVERSE>([a, b], first[0], out),
        2 => columns::<E, 2, SUM, REVERSE>([a, b], sizes, first, out),
        3 => columns::<E, 3, SUM, REVERSE>([a, b], sizes, first, out),
        4 => columns::<E, 4, SUM, REVERSE>([a, b], sizes, first, out),
        5 => columns::<E, 5, SUM, REVERSE>([a, b], sizes, first, out),
        6 => columns::<E, 6, SUM, REVERSE>([a, b], sizes, first, out),
        7 => columns::<E, 7, SUM, REVERSE>([a, b], sizes, first, out),
        _ if rest == 0 => {}
        _ => {
            let mut at = 0;
            while at + LONG <= n {
                columns::<E, LONG, SUM, REVERSE>([&a[at..], &b[at..]], sizes, &first[at..], &mut out[at..]);
                at += LONG;
            }
            // The last columns may be computed twice, with the same result.
            while at < n {
                let start = at.min(n - WIDE);
                columns::<E, WIDE, SUM, REVERSE>([&a[start..], &b[start..]], sizes, &first[start..], &mut out[start..]);
                at = start + WIDE;
            }
        }
    }
}

impl<E: Num, const SUM: bool, const REVERSE: bool> Kernel for Recurrences<'_, E, SUM, REVERSE> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Recurrences { a, b, m, n, out } = self;
        let group = if n == 1 && m < SHORT { SIDE * m } else { a.len() + 1 };
        let mut at = a.len() / group * group;
        for start in (0..at).step_by(group) {
            let part = start..start + group;
            short_columns::<E, SUM, REVERSE>([&a[part.clone()], &b[part.clone()]], m, &mut out[part]);
        }
        while at < a.len() {
            let part = at..at + m * n;
            at = part.end;
            one::<E, SUM, REVERSE>([&a[part.clone()], &b[part.clone()]], n, &mut out[part]);
        }
    }
}

/// The recurrences of the columns of matrices of `m` rows and `n` columns.
pub(crate) fn recurrences<E: Num>(isa: Isa, [a, b]: [&[E]; 2], [m, n]: [usize; 2], transposed: bool, out: &mut [E]) {
    assert!(a.len() == out.len() && b.len() == out.len(), "each element has a result");
    if a.is_empty() {
        return;
    }
    match transposed {
        false => dispatch(isa, Recurrences::<E, true, false> { a, b, m, n, out }),
        true => dispatch(isa, Recurrences::<E, true, true> { a, b, m, n, out }),
    }
}

/// The prefix products of the columns of matrices of `m` rows and `n` columns.
pub(crate) fn prefix_products<E: Num>(isa: Isa, a: &[E], [m, n]: [usize; 2], out: &mut [E]) {
    assert!(a.len() == out.len(), "each element has a result");
    if !a.is_empty() {
        dispatch(isa, Recurrences::<E, false, false> { a, b: a, m, n, out });
    }
}

#[cfg(test)]
mod tests;
