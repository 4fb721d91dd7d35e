//! Bicolouring: a Jacobian is read off forward passes for some columns and reverse passes for some rows.
//!
//! Where a row and a column are full, either mode alone takes as many passes as there are columns or rows. Both together
//! take few: T. F. Coleman and A. Verma, "The efficient computation of sparse Jacobian matrices using automatic
//! differentiation" (1998); S. Hossain and T. Steihaug, "Computing a sparse Jacobian matrix by rows and columns" (1998).
//! The elements are divided: those of the longest rows are read off reverse passes and all others off forward passes, or
//! those of the longest columns off forward passes and all others off reverse passes.
//!
//! Laws: in the pass that an element is read off, no other row or column of the colour has an element there; both modes
//! together make no more passes than the better one alone, and take less time by the number of these.

use super::coloring::{Colors, columns, count};
use super::input_slicing::InputElement;
use super::lists::Lists;
use super::pattern::SparsityPattern;

/// The cost of a pass of forward mode, and of reverse mode.
const FORWARD: usize = 2;
const REVERSE: usize = 3;

/// The number of ways to divide the elements that are tried, for rows and for columns.
const TRIED: usize = 8;

/// Which elements are read off forward passes; all others are read off reverse passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColoringDivision {
    /// All of them, or none.
    All(bool),
    /// Those of rows with at most this many elements.
    ShortRows(usize),
    /// Those of columns with more than this many elements.
    LongColumns(usize),
}

/// The colours of columns for forward passes, and those of rows for reverse passes. What is in no pass has the colour `NO`.
#[derive(Clone, Debug)]
pub(super) struct Bicoloring {
    pub(super) columns: Colors,
    pub(super) rows: Colors,
    division: ColoringDivision,
}

/// The elements of a matrix by rows and by columns. A row of reverse mode has an element for each copy of an input
/// element that the row reads.
pub(super) struct MatrixElements<'a> {
    of_inputs: &'a Lists,
    of_columns: Lists,
    of_copies: &'a Lists,
    copies: usize,
    /// The input element of each copy; without them each copy is the element of its number.
    sources: Option<&'a [InputElement]>,
}

impl<'a> MatrixElements<'a> {
    pub(super) fn new(
        of_inputs: &'a SparsityPattern,
        of_copies: &'a SparsityPattern,
        sources: Option<&'a [InputElement]>,
    ) -> MatrixElements<'a> {
        let of_columns = of_inputs.rows().turned(of_inputs.shape().1, |_, _| ());
        let copies = of_copies.shape().1;
        MatrixElements { of_inputs: of_inputs.rows(), of_columns, of_copies: of_copies.rows(), copies, sources }
    }

    /// The column of a copy, if it is not 0.
    fn column(&self, copy: usize) -> Option<usize> {
        self.sources.map_or(Some(copy), |sources| sources[copy].map(|number| number.get() as usize - 1))
    }

    /// Whether the element in a row and a column is read off a forward pass.
    fn is_forward(&self, division: ColoringDivision, row: usize, column: usize) -> bool {
        match division {
            ColoringDivision::All(forward) => forward,
            ColoringDivision::ShortRows(most) => self.of_inputs.of(row).len() <= most,
            ColoringDivision::LongColumns(most) => self.of_columns.of(column).len() > most,
        }
    }

    /// The colours of a division, unless they cost more than `most`.
    fn colored(&self, division: ColoringDivision, most: usize) -> Option<Bicoloring> {
        let forward = self.of_inputs.filtered(|row, column| self.is_forward(division, row, column));
        let forwards = columns(&forward.turned(self.of_columns.count(), |_, _| ()), &forward, most / FORWARD)?;
        let left = most - FORWARD * count(&forwards);
        let is_reverse =
            |row: usize, copy: usize| self.column(copy).is_some_and(|column| !self.is_forward(division, row, column));
        let reverse = self.of_copies.filtered(is_reverse);
        let rows = columns(&reverse, &reverse.turned(self.copies, |_, _| ()), left / REVERSE)?;
        Some(Bicoloring { columns: forwards, rows, division })
    }

    /// The mode that takes less time by the number of its passes. What can be no better than the other is not coloured.
    fn of_one_mode(&self) -> Bicoloring {
        let all = |forward: bool, most: usize| self.colored(ColoringDivision::All(forward), most);
        let rows = self.of_copies.turned(self.copies, |_, _| ());
        let forward_first = FORWARD * self.of_inputs.longest() <= REVERSE * rows.longest();
        let known = all(forward_first, usize::MAX).expect("a row has no more colours than rows");
        // Forward mode is taken where both cost the same.
        let most = if forward_first { known.cost().saturating_sub(1) } else { known.cost() };
        all(!forward_first, most).unwrap_or(known)
    }

    /// The colours that cost least of those that are tried.
    pub(super) fn colors(&self) -> Bicoloring {
        let mut best = self.of_one_mode();
        let passes = best.passes();
        for by_rows in [true, false] {
            let lines = if by_rows { self.of_inputs } else { &self.of_columns };
            // Both modes compute the values, and there is a pass of each, one of them for each element of a short line.
            let (short, long) = if by_rows { (FORWARD, REVERSE) } else { (REVERSE, FORWARD) };
            let most = |best: &Bicoloring| best.cost().saturating_sub(if best.is_mixed() { 1 } else { FORWARD });
            for length in lengths(lines, most(&best).saturating_sub(long) / short) {
                let division =
                    if by_rows { ColoringDivision::ShortRows(length) } else { ColoringDivision::LongColumns(length) };
                let found = self.colored(division, most(&best));
                best = found.filter(|found| found.passes() <= passes).unwrap_or(best);
            }
        }
        best
    }
}

/// Some of the lengths of these lists that are at most this, the longest left out: in falling order, further and further apart.
fn lengths(lines: &Lists, most: usize) -> Vec<usize> {
    if most == 0 {
        return Vec::new();
    }
    let mut all: Vec<usize> = lines.starts.windows(2).map(|ends| ends[1] - ends[0]).collect();
    all.sort_unstable();
    all.dedup();
    all.pop();
    let mut found: Vec<usize> = Vec::new();
    let mut most = most;
    while found.len() < TRIED {
        all.truncate(all.partition_point(|length| *length <= most));
        let Some(length) = all.pop().filter(|length| *length > 0) else { break };
        found.push(length);
        most = length * 3 / 4;
    }
    found
}

impl Bicoloring {
    /// The number of passes.
    pub(super) fn passes(&self) -> usize {
        count(&self.columns) + count(&self.rows)
    }

    fn cost(&self) -> usize {
        FORWARD * count(&self.columns) + REVERSE * count(&self.rows)
    }

    fn is_mixed(&self) -> bool {
        count(&self.columns) > 0 && count(&self.rows) > 0
    }

    /// Whether the element in a row and a column is read off a forward pass.
    pub(super) fn is_forward(&self, elements: &MatrixElements<'_>, row: usize, column: usize) -> bool {
        elements.is_forward(self.division, row, column)
    }

    /// For each entry the pass that it is read off: those of forward mode first.
    pub(super) fn passes_of(&self, pattern: &SparsityPattern) -> Vec<u32> {
        let (elements, forward) = (MatrixElements::new(pattern, pattern, None), count(&self.columns) as u32);
        let pass = |(i, j): (usize, usize)| match self.is_forward(&elements, i, j) {
            true => self.columns[j],
            false => forward + self.rows[i],
        };
        pattern.entries().map(pass).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad::sparse::coloring::NO;
    use crate::array::Rng;

    /// A matrix with some elements anywhere, and some rows and columns of many.
    fn matrix(rng: &mut Rng, [m, n]: [usize; 2], [long_rows, long_columns, few]: [usize; 3]) -> Lists {
        let mut below = |k: usize| (rng.uniform([1], 0.0, k as f64).to_vec()[0] as usize).min(k - 1);
        let mut rows = vec![vec![false; n]; m];
        for _ in 0..few {
            rows[below(m)][below(n)] = true;
        }
        for _ in 0..long_rows {
            let row = below(m);
            (0..n).for_each(|j| rows[row][j] |= below(5) > 0);
        }
        for _ in 0..long_columns {
            let column = below(n);
            (0..m).for_each(|i| rows[i][column] |= below(5) > 0);
        }
        let mut lists = Lists::default();
        for row in rows {
            lists.items.extend((0..n).filter(|j| row[*j]));
            lists.end();
        }
        lists
    }

    /// The elements of a matrix without copies.
    fn elements(lists: &Lists, n: usize) -> MatrixElements<'_> {
        let of_columns = lists.turned(n, |_, _| ());
        MatrixElements { of_inputs: lists, of_columns, of_copies: lists, copies: n, sources: None }
    }

    /// Whether exactly one of these lines has a colour, which is one.
    fn alone(colors: &[u32], lines: &[usize], color: u32) -> bool {
        color != NO && lines.iter().filter(|line| colors[**line] == color).count() == 1
    }

    #[test]
    fn each_element_is_alone_in_its_pass() {
        let mut rng = Rng::new(5);
        for shape in [[12, 12], [20, 9], [7, 18], [1, 6], [6, 1]] {
            for long in [[0, 0, 20], [1, 1, 9], [2, 3, 14], [3, 0, 12], [0, 2, 12], [1, 1, 0]] {
                let lists = matrix(&mut rng, shape, long);
                let all = elements(&lists, shape[1]);
                let (one, both) = (all.of_one_mode(), all.colors());
                for colors in [&one, &both] {
                    for (i, j) in lists.pairs() {
                        let readable = if colors.is_forward(&all, i, j) {
                            alone(&colors.columns, lists.of(i), colors.columns[j])
                        } else {
                            alone(&colors.rows, all.of_columns.of(j), colors.rows[i])
                        };
                        assert!(readable, "{shape:?} {long:?}: ({i}, {j}) of {lists:?}");
                    }
                }
                assert!(!one.is_mixed());
                assert!(both.passes() <= one.passes() && both.cost() <= one.cost(), "{shape:?} {long:?}: {lists:?}");
            }
        }
    }

    /// Copies of one input element are read together: another pass gets none.
    #[test]
    fn copies_are_alone_too() {
        let mut rng = Rng::new(6);
        for seed in 0..20 {
            let (n, copies) = (8, 14);
            let of_copies = matrix(&mut rng, [10, copies], [1, 2, 16]);
            let sources: Vec<InputElement> =
                (0..copies).map(|k| std::num::NonZeroU32::new((k * 5 % (n + 1)) as u32)).collect();
            let mut of_inputs = Lists::default();
            for row in 0..of_copies.count() {
                let mut columns: Vec<usize> =
                    of_copies.of(row).iter().filter_map(|k| sources[*k]).map(|k| k.get() as usize - 1).collect();
                columns.sort_unstable();
                columns.dedup();
                of_inputs.items.extend(columns);
                of_inputs.end();
            }
            let of_columns = of_inputs.turned(n, |_, _| ());
            let all = MatrixElements {
                of_inputs: &of_inputs,
                of_columns,
                of_copies: &of_copies,
                copies,
                sources: Some(&sources),
            };
            let by_copies = of_copies.turned(copies, |_, _| ());
            let divisions =
                [2, 3, 5].into_iter().flat_map(|k| [ColoringDivision::ShortRows(k), ColoringDivision::LongColumns(k)]);
            for colors in divisions.map(|division| all.colored(division, usize::MAX).expect("colours")) {
                for (i, j) in of_inputs.pairs().filter(|(i, j)| colors.is_forward(&all, *i, *j)) {
                    assert!(alone(&colors.columns, of_inputs.of(i), colors.columns[j]), "{seed}: ({i}, {j})");
                }
                for (i, copy) in of_copies.pairs() {
                    if all.column(copy).is_some_and(|j| !colors.is_forward(&all, i, j)) {
                        assert!(alone(&colors.rows, by_copies.of(copy), colors.rows[i]), "{seed}: ({i}, copy {copy})");
                    }
                }
            }
        }
    }

    #[test]
    fn an_arrow_takes_three_passes() {
        for n in [6, 40] {
            let mut arrow = Lists::default();
            for i in 0..n {
                let row: Vec<usize> = if i == 0 { (0..n).collect() } else { vec![0, i] };
                arrow.items.extend(row);
                arrow.end();
            }
            let colors = elements(&arrow, n).colors();
            assert_eq!((count(&colors.columns), count(&colors.rows)), (2, 1));
        }
    }
}
