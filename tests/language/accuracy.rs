//! Every row of the tables of elementwise functions, and its derivatives, against exact numbers: at zeros of both
//! signs, infinities and NaN, at the ends of the range of floats, near kinks, poles and zeros, at large angles.

use crate::bounds::BOUNDS;
use crate::recorded::{computed, largest, recorded};
use polygrad::Float;
use polygrad::ops::{Binary, Unary};

/// What exceeds its bound, and bounds that are much larger than the errors, in one float type.
fn misjudged<E: Float>(name: &str, bounds: &[f64]) -> Vec<String> {
    let worst = largest::<E>(name, &recorded()[name]);
    assert_eq!(worst.len(), bounds.len(), "{name} has a value and {} partials", worst.len() - 1);
    let parts = ["value", "first partial", "second partial"].iter().zip(worst).zip(bounds);
    // Other mathematical libraries may be more exact.
    let reference = cfg!(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"));
    parts
        .filter(|((_, (error, _)), bound)| error > *bound || (reference && **bound > error.max(0.5) + 1.5))
        .map(|((part, (error, at)), bound)| {
            format!("{name} in {}: the {part} errs by {error:.2} at {at:?}, the bound is {bound}", E::DTYPE)
        })
        .collect()
}

#[test]
fn rows_are_as_exact_as_stated() {
    let mut wrong = Vec::new();
    for (name, wide, narrow) in BOUNDS {
        wrong.extend(misjudged::<f64>(name, wide));
        wrong.extend(misjudged::<f32>(name, narrow));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows without records, with the reason for each.
const UNRECORDED: &[(&str, &str)] = &[];

#[test]
fn rows_have_records_and_bounds() {
    let rows: Vec<&str> = Unary::ALL.iter().map(|op| op.name()).chain(Binary::ALL.iter().map(|op| op.name())).collect();
    let mut bounded: Vec<&str> = BOUNDS.iter().map(|bound| bound.0).collect();
    bounded.sort_unstable();
    assert!(bounded.iter().all(|name| rows.contains(name)), "{bounded:?}");
    for name in rows {
        let excused = UNRECORDED.iter().any(|(row, _)| *row == name);
        assert!(bounded.contains(&name) != excused, "{name}: needs records and bounds, or a reason why there are none");
    }
    assert!(recorded().keys().eq(bounded.iter()), "each row of records needs a bound, and the other way around");
}

#[test]
fn odd_and_even_functions_are_so_to_the_last_bit() {
    let points = recorded();
    let (mut odd, mut even) = (0, 0);
    for op in Unary::ALL.iter().filter(|op| op.is_odd() || op.is_even()) {
        (odd, even) = (odd + usize::from(op.is_odd()), even + usize::from(op.is_even()));
        let name = op.name();
        // A row without records has a reason, see above.
        for point in points.get(name).into_iter().flatten() {
            let x = point.arguments[0];
            let (here, there) = (computed::<f64>(name, &[x])[0], computed::<f64>(name, &[-x])[0]);
            let there = if op.is_odd() { -there } else { there };
            assert!(here.to_bits() == there.to_bits() || (here.is_nan() && there.is_nan()), "{name} at {x}");
        }
    }
    assert!(odd > 10 && even > 5, "{odd} odd and {even} even rows were tried");
}
