//! Recurrences and prefix products by their definition, with factors whose products overflow and underflow, too.

use super::*;
use crate::array::Rng;

/// The definition, one value after the other.
fn defined(a: &[f64], b: Option<&[f64]>, [m, n]: [usize; 2], transposed: bool) -> Vec<f64> {
    let mut y = b.unwrap_or(a).to_vec();
    for k in 1..m {
        for j in 0..n {
            let (at, before) = if transposed { (m - 1 - k, m - k) } else { (k, k - 1) };
            let moved = a[if transposed { before } else { at } * n + j] * y[before * n + j];
            y[at * n + j] = b.map_or(moved, |b| b[at * n + j] + moved);
        }
    }
    y
}

/// All operations on matrices of these elements, on each instruction set, against the definition; errors are relative to
/// at least this magnitude.
fn agree(a: &[f64], b: &[f64], [m, n]: [usize; 2], least: f64) {
    let size = m * n;
    let mut known: [Option<Vec<f64>>; 3] = [const { None }; 3];
    for isa in Isa::supported() {
        for (k, known) in known.iter_mut().enumerate() {
            let mut out = vec![9.0; a.len()];
            match k {
                2 => prefix_products(isa, a, [m, n], &mut out),
                k => recurrences(isa, [a, b], [m, n], k == 1, &mut out),
            }
            for at in (0..a.len()).step_by(size) {
                let part = at..at + size;
                let defined = defined(&a[part.clone()], (k < 2).then_some(&b[part.clone()]), [m, n], k == 1);
                for (x, y) in out[part].iter().zip(defined) {
                    let same = *x == y || x.is_nan() && y.is_nan();
                    let close = same || (x - y).abs() <= 1e-12 * y.abs().max(least);
                    assert!(close, "{x} is {y}: operation {k} of {m} x {n} on {}", isa.name());
                }
            }
            let known = known.get_or_insert_with(|| out.clone());
            assert!(
                out.iter().zip(known).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()),
                "the same bits on {}",
                isa.name()
            );
        }
    }
}

#[test]
fn values_are_those_of_the_definition() {
    let mut rng = Rng::new(11);
    for m in [1, 2, 5, 64, 255, 256, 300, 1100] {
        for n in [1, 2, 3, 5, 7, 8, 13, 40] {
            let count = if n == 1 { 11 } else { 2 };
            let mut random =
                || -> Vec<f64> { (0..count * m * n).map(|_| rng.below(2001) as f64 / 1000.0 - 1.0).collect() };
            agree(&random(), &random(), [m, n], 1.0);
        }
    }
}

#[test]
fn chunks_overflow_and_underflow_only_where_values_do() {
    for m in [300, 1000] {
        let factors: [&dyn Fn(usize) -> f64; 6] = [
            &|i| if i % 100 < 50 { 1e10 } else { 1e-10 },
            &|i| if i % 80 < 40 { 1e-10 } else { 1e10 },
            &|i| if i == 3 { 0.0 } else { 1e8 },
            &|_| -0.0,
            &|i| if i == m / 2 { f64::INFINITY } else { 0.5 },
            &|i| if i == m / 3 { f64::NAN } else { -0.5 },
        ];
        for factor in factors {
            for first in [0.0, 1e-200, 1e250] {
                let mut a: Vec<f64> = (0..m).map(factor).collect();
                let mut b = vec![0.0; m];
                (b[0], b[m - 1], a[0]) = (first, first, first);
                agree(&a, &b, [m, 1], 0.0);
            }
        }
    }
}
