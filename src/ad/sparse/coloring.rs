//! Colourings of rows and columns: all rows, or columns, of one colour are computed in one pass.
//!
//! Greedy colourings, in the order of descending degree: A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your
//! Jacobian? Graph coloring for computing derivatives" (2005), sections 3 and 4.
//!
//! Law: the elements of the matrix can be read off the sums of the columns (or rows) of one colour. A colouring takes
//! time in proportion to the number of elements times the number of colours at most, and none if a row is known
//! beforehand to need too many colours.

use super::lists::Lists;

/// A colour for each row or column.
pub(super) type Colors = Vec<u32>;

/// The mark of a vertex that has no colour yet, or is in no pass.
pub(super) const NO: u32 = u32::MAX;

/// The smallest colour that is not forbidden; `forbidden[c] == v` forbids `c` to `v`.
fn smallest(forbidden: &[usize], v: usize) -> u32 {
    forbidden.iter().position(|by| *by != v).unwrap_or(forbidden.len()) as u32
}

fn forbid(forbidden: &mut Vec<usize>, color: u32, v: usize) {
    let color = color as usize;
    if forbidden.len() <= color {
        forbidden.resize(color + 1, usize::MAX);
    }
    forbidden[color] = v;
}

/// The vertices in the order of descending degree.
fn by_degree(neighbours: &Lists) -> Vec<usize> {
    let mut order: Vec<usize> = (0..neighbours.count()).collect();
    crate::order::sort_by_key(&mut order, |v| std::cmp::Reverse(neighbours.of(*v).len()));
    order
}

/// A colouring in which no two columns of one colour have an element in one row; `None` if it takes more than `most`
/// colours. With rows and columns exchanged, it is a colouring of the rows. A column without elements is in no pass.
pub(super) fn columns(of_columns: &Lists, of_rows: &Lists, most: usize) -> Option<Colors> {
    // The columns of one row need a colour each.
    if of_rows.longest() > most {
        return None;
    }
    let mut colors = vec![NO; of_columns.count()];
    let mut forbidden = Vec::new();
    for v in by_degree(of_columns).into_iter().take_while(|v| !of_columns.of(*v).is_empty()) {
        for w in of_columns.of(v).iter().flat_map(|row| of_rows.of(*row)) {
            if colors[*w] != NO {
                forbid(&mut forbidden, colors[*w], v);
            }
        }
        colors[v] = smallest(&forbidden, v);
        if colors[v] as usize >= most {
            return None;
        }
    }
    Some(colors)
}

/// A colouring in which no two neighbours have one colour, which suffices for the diagonal of a symmetric matrix.
pub(super) fn neighbours_apart(neighbours: &Lists) -> Colors {
    let mut colors = vec![NO; neighbours.count()];
    let mut forbidden = Vec::new();
    for v in by_degree(neighbours) {
        for w in neighbours.of(v).iter().filter(|w| **w != v && colors[**w] != NO) {
            forbid(&mut forbidden, colors[*w], v);
        }
        colors[v] = smallest(&forbidden, v);
    }
    colors
}

/// A colour among the neighbours of a vertex, the first neighbour that got it, and whether another neighbour has it,
/// too.
struct SeenColors {
    color: u32,
    first: usize,
    again: bool,
}

/// Star colouring of a symmetric matrix: no two neighbours have one colour, and no path of four vertices has two
/// colours.
///
/// The neighbours of a vertex without a colour all have different colours. So a vertex `v` that gets a colour is not an
/// inner vertex of a path of two colours. It is not an end of a path `v, w, u, x` of two colours either, if it avoids
/// the colour of each neighbour `u` of a neighbour `w` such that another neighbour `x` of `u` has the colour of `w`.
/// The colours of such `u` are listed for `w` and for `x` when the second of these gets the common colour; so a
/// neighbour
/// `w` costs as many steps as there are colours, however many neighbours it has.
pub(super) fn stars(neighbours: &Lists) -> Colors {
    let mut colors = vec![NO; neighbours.count()];
    let mut forbidden = Vec::new();
    // For each vertex, the colours among its neighbours; and the colours of those of its neighbours that have another
    // neighbour of its colour.
    let mut seen: Vec<Vec<SeenColors>> = colors.iter().map(|_| Vec::new()).collect();
    let mut centres: Vec<Vec<u32>> = vec![Vec::new(); neighbours.count()];
    for v in by_degree(neighbours) {
        for w in neighbours.of(v).iter().copied().filter(|w| *w != v) {
            if colors[w] == NO {
                seen[w].iter().for_each(|of| forbid(&mut forbidden, of.color, v));
            } else {
                forbid(&mut forbidden, colors[w], v);
                centres[w].iter().for_each(|color| forbid(&mut forbidden, *color, v));
            }
        }
        let color = smallest(&forbidden, v);
        colors[v] = color;
        for w in neighbours.of(v).iter().copied().filter(|w| *w != v) {
            let Some(of) = seen[w].iter_mut().find(|of| of.color == color) else {
                seen[w].push(SeenColors { color, first: v, again: false });
                continue;
            };
            if !of.again {
                of.again = true;
                centres[of.first].push(colors[w]);
            }
            centres[v].push(colors[w]);
        }
    }
    colors
}

/// The number of colours.
pub(super) fn count(colors: &[u32]) -> usize {
    colors.iter().filter(|color| **color != NO).max().map_or(0, |color| *color as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Rng;

    /// A symmetric pattern with a diagonal, in which a few vertices have many neighbours.
    fn symmetric(n: usize, seed: u64) -> Lists {
        let mut rng = Rng::new(seed);
        let mut below = |k: usize| (rng.uniform([1], 0.0, k as f64).to_vec()[0] as usize).min(k - 1);
        let mut rows = vec![vec![false; n]; n];
        (0..n).for_each(|k| rows[k][k] = true);
        for k in 0..2 * n {
            let (i, j) = (below(if k % 2 == 0 { n } else { 3 }), below(n));
            (rows[i][j], rows[j][i]) = (true, true);
        }
        let mut lists = Lists::default();
        for row in rows {
            lists.items.extend((0..n).filter(|j| row[*j]));
            lists.end();
        }
        lists
    }

    #[test]
    fn stars_are_apart_and_no_path_of_four_has_two_colours() {
        for seed in 0..20 {
            let all = symmetric(14, seed);
            let colors = stars(&all);
            let next = |v: usize| all.of(v).iter().copied().filter(move |w| *w != v);
            for v in 0..all.count() {
                for w in next(v) {
                    assert_ne!(colors[v], colors[w], "neighbours, seed {seed}");
                    for x in next(w).filter(|x| *x != v && colors[*x] == colors[v]) {
                        let path = next(x).any(|y| y != w && colors[y] == colors[w]);
                        assert!(!path, "a path through {v}, {w}, {x}, seed {seed}");
                    }
                }
            }
            let apart = neighbours_apart(&all);
            assert!((0..all.count()).all(|v| next(v).all(|w| apart[v] != apart[w])), "seed {seed}");
        }
    }

    #[test]
    fn columns_of_one_colour_share_no_row() {
        for seed in 0..20 {
            let all = symmetric(14, seed);
            let colors = columns(&all, &all, usize::MAX).expect("as many colours as it takes");
            for row in (0..all.count()).map(|row| all.of(row)) {
                let different: std::collections::BTreeSet<u32> = row.iter().map(|j| colors[*j]).collect();
                assert_eq!(different.len(), row.len(), "seed {seed}");
            }
            assert!(columns(&all, &all, count(&colors)).is_some(), "seed {seed}");
            assert!(columns(&all, &all, count(&colors) - 1).is_none(), "seed {seed}");
        }
    }
}
