//! Colours of rows and columns: what has one colour is computed in one pass.
//!
//! Greedy colourings, in order of falling degree: A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your Jacobian?
//! Graph coloring for computing derivatives" (2005), sections 3 and 4. Law: the elements of the matrix can be read off the
//! sums of columns (or rows) of one colour.

/// For each of `n` groups, its neighbours in the other side: for each row its columns, or the other way round.
pub(super) type Neighbours = Vec<Vec<usize>>;

/// The neighbours of the other side.
pub(super) fn turned(neighbours: &Neighbours, count: usize) -> Neighbours {
    let mut other = vec![Vec::new(); count];
    for (k, all) in neighbours.iter().enumerate() {
        all.iter().for_each(|j| other[*j].push(k));
    }
    other
}

/// The smallest colour that is not forbidden; `forbidden[c] == v` forbids `c` to `v`.
fn smallest(forbidden: &[usize], v: usize) -> usize {
    forbidden.iter().position(|by| *by != v).unwrap_or(forbidden.len())
}

fn forbid(forbidden: &mut Vec<usize>, color: usize, v: usize) {
    if forbidden.len() <= color {
        forbidden.resize(color + 1, usize::MAX);
    }
    forbidden[color] = v;
}

/// All numbers, those with most neighbours first.
fn by_degree(neighbours: &Neighbours) -> Vec<usize> {
    let mut order: Vec<usize> = (0..neighbours.len()).collect();
    order.sort_by_key(|v| std::cmp::Reverse(neighbours[*v].len()));
    order
}

/// Colours such that no two columns of one colour have an element in one row.
pub(super) fn columns(of_columns: &Neighbours, of_rows: &Neighbours) -> Vec<usize> {
    let mut colors = vec![usize::MAX; of_columns.len()];
    let mut forbidden = Vec::new();
    for v in by_degree(of_columns) {
        for w in of_columns[v].iter().flat_map(|row| &of_rows[*row]) {
            if colors[*w] != usize::MAX {
                forbid(&mut forbidden, colors[*w], v);
            }
        }
        colors[v] = smallest(&forbidden, v);
    }
    colors
}

/// Colours such that no two neighbours have one: enough for the diagonal.
pub(super) fn neighbours_apart(neighbours: &Neighbours) -> Vec<usize> {
    let mut colors = vec![usize::MAX; neighbours.len()];
    let mut forbidden = Vec::new();
    for v in by_degree(neighbours) {
        for w in neighbours[v].iter().filter(|w| **w != v && colors[**w] != usize::MAX) {
            forbid(&mut forbidden, colors[*w], v);
        }
        colors[v] = smallest(&forbidden, v);
    }
    colors
}

/// Star colours of a symmetric matrix: no two neighbours have one colour, and no path of four has two.
pub(super) fn stars(neighbours: &Neighbours) -> Vec<usize> {
    const NO: usize = usize::MAX;
    let mut colors = vec![NO; neighbours.len()];
    let mut forbidden = Vec::new();
    for v in by_degree(neighbours) {
        for w in neighbours[v].iter().filter(|w| **w != v) {
            if colors[*w] != NO {
                forbid(&mut forbidden, colors[*w], v);
            }
            for x in neighbours[*w].iter().filter(|x| **x != v && **x != *w && colors[**x] != NO) {
                // A path v, w, x, y would have two colours if y had that of w, and v that of x.
                let two = |y: &usize| *y != *x && *y != *w && colors[*y] == colors[*w];
                if colors[*w] == NO || neighbours[*x].iter().any(two) {
                    forbid(&mut forbidden, colors[*x], v);
                }
            }
        }
        colors[v] = smallest(&forbidden, v);
    }
    colors
}

/// The number of colours.
pub(super) fn count(colors: &[usize]) -> usize {
    colors.iter().max().map_or(0, |c| c + 1)
}
