//! Printed texts that are the same up to the last digits of their numbers.

/// The last number of a word and the word without it: units and brackets may stand around it.
fn number(word: &str) -> Option<(f64, String)> {
    let digits = |c: char| c.is_ascii_digit();
    let (start, end) = (word.find(digits)?, word.rfind(digits)? + 1);
    let start = if word[..start].ends_with('-') { start - 1 } else { start };
    Some((word[start..end].parse().ok()?, [&word[..start], &word[end..]].concat()))
}

/// Whether two texts are the same, numbers up to `tolerance` relative to the larger of both and 1. The last digits of a
/// sine, and the order of the sums in a matrix product, are the processor's business.
pub(crate) fn alike(a: &str, b: &str, tolerance: f64) -> bool {
    let same = |(a, b): (&str, &str)| match (number(a), number(b)) {
        (Some((x, a)), Some((y, b))) => a == b && (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0),
        _ => a == b,
    };
    let words = |text: &str| text.split_whitespace().count();
    a.lines().count() == b.lines().count()
        && a.lines()
            .zip(b.lines())
            .all(|(a, b)| words(a) == words(b) && a.split_whitespace().zip(b.split_whitespace()).all(same))
}
