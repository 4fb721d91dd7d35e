//! What Stan says of the models, as `stan.py` recorded it in `stan.txt`.
//!
//! Law: a line is a model, a kind, and numbers, one for each parameter without bounds or one in all.

/// The numbers of a kind that are recorded of a model: none where the kind was not recorded.
pub(crate) fn numbers(model: &str, kind: &str) -> Option<Vec<f64>> {
    include_str!("stan.txt").lines().find_map(|line| {
        let mut parts = line.split(" | ");
        let found = parts.next() == Some(model) && parts.next() == Some(kind);
        let number = |word: &str| word.parse().expect("`stan.txt` has numbers");
        found.then(|| parts.next().unwrap_or_default().split_whitespace().map(number).collect())
    })
}
