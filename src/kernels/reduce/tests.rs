//! The extremum of a line is the element at its position, to the bit, for each kernel and each instruction set.

use super::{extrema, positions};
use crate::dtype::Num;
use crate::kernels::isa::Isa;
use crate::ops::Reduce;

/// The position of the first NaN, otherwise of the first of the best elements.
fn first_best<E: Num>(line: &[E], op: Reduce) -> usize {
    let is_nan = |x: E| x.partial_cmp(&x).is_none();
    let beats = |x: E, y: E| if let Reduce::Max { .. } = op { x > y } else { x < y };
    (1..line.len()).fold(0, |best, i| {
        let (x, y) = (line[i], line[best]);
        if !is_nan(y) && (is_nan(x) || beats(x, y)) { i } else { best }
    })
}

fn agree<E: Num>(pattern: &[E]) {
    // Short and long lines, narrow and wide rows, and lengths around those of lanes.
    let shapes =
        [(1, 1, 9), (3, 2, 1), (5, 3, 11), (8, 1, 3), (9, 1, 4), (31, 1, 2), (64, 1, 2), (131, 1, 2), (300, 1, 1)];
    let columns =
        [(1, 5, 2), (2, 3, 5), (40, 2, 2), (100, 7, 1), (4, 8, 2), (5, 9, 1), (3, 45, 2), (3, 70, 1), (2, 1100, 1)];
    for isa in Isa::supported() {
        for (len, inner, outer) in shapes.into_iter().chain(columns) {
            let x: Vec<E> = (0..len * inner * outer).map(|i| pattern[(i + i / 5 + i / 17) % pattern.len()]).collect();
            for op in Reduce::all(0) {
                let (mut best, mut at) = (vec![E::ZERO; inner * outer], vec![0; inner * outer]);
                extrema(isa, op, &x, (len, inner), &mut best);
                positions(isa, op, &x, (len, inner), &mut at);
                for k in 0..inner * outer {
                    let line: Vec<E> = (0..len).map(|i| x[(k / inner * len + i) * inner + k % inner]).collect();
                    let expected = first_best(&line, op);
                    let case = format!("{op} of {len} x {inner} x {outer}, line {k}, on {}", isa.name());
                    assert_eq!(at[k], expected as i64, "{case}");
                    assert!(best[k].same_bits(line[expected]), "{case}");
                }
            }
        }
    }
}

#[test]
fn extrema_are_elements_at_their_positions() {
    let payload = f64::from_bits(f64::NAN.to_bits() | 5);
    let patterns: [&[f64]; 7] = [
        &[1.0, -2.0, 3.0, 0.5],
        &[-0.0, 0.0, -1.0],
        &[0.0, -0.0, 1.0],
        &[-1.0, f64::NEG_INFINITY, -0.0, 0.0],
        &[f64::INFINITY, 2.0, f64::NAN, 1.0, 1.0, 7.0, payload, -1.0, 3.0, -5.0, 0.0],
        &[1.0, 2.0, -4.0, 3.0, f64::NEG_INFINITY, 0.5, 9.0, 2.5, 8.0, -7.0, 6.0, 1.5, -9.0],
        &[f64::NAN, payload],
    ];
    for pattern in patterns {
        agree(pattern);
        agree(&pattern.iter().map(|x| *x as f32).collect::<Vec<f32>>());
    }
    agree(&[3i64, -50, 17, i64::MAX, 0, i64::MIN, 17, -4, 50, i64::MAX]);
}
