//! Sparsity patterns: the elements of a matrix that can be nonzero, by rows or by columns.
//!
//! Law: the entries are in row-major order, each once. A pattern by columns has the same entries in column-major order,
//! with the index of each in row-major order.

use super::input_slicing::InputElement;
use super::lists::Lists;
use super::row_program::RowProgram;
use super::seeding::Subject;
use crate::base::BaseTensor;
use crate::interpreters::Concrete;
use crate::interpreters::sparsity::{Reading, Sparsity};
use crate::program::{Slot, interpret};

/// The positions of the elements of a matrix that can be nonzero (the entries), in compressed rows.
///
/// ```
/// use polygrad::{Tensor, sparse_hessian, sparse_jacobian, tensor};
/// // The Jacobian is `[[x1, x0, 0], [0, x2, x1]]`.
/// let x = tensor([1.0, 2.0, 4.0]);
/// let j = sparse_jacobian(|x: &Tensor<_, 1>| x.slice(0, 1..) * x.slice(0, ..2), &x);
/// let pattern = j.pattern();
/// assert_eq!(pattern.entries().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 1), (1, 2)]);
/// assert_eq!((pattern.row_pointers(), pattern.columns()), (&[0, 2, 4][..], &[0, 1, 1, 2][..]));
/// assert_eq!((pattern.shape(), pattern.len(), pattern.constant()), ((2, 3), 4, &[false; 4][..]));
/// // The sum is linear.
/// assert!(sparse_hessian(|x: &Tensor<_, 1>| x.sum(), &x).pattern().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparsityPattern {
    /// The number of columns.
    width: usize,
    rows: Lists,
    constant: Vec<bool>,
}

impl SparsityPattern {
    /// The numbers of rows and columns.
    ///
    /// Example: [`SparsityPattern`].
    pub fn shape(&self) -> (usize, usize) {
        (self.rows.count(), self.width)
    }

    /// The number of entries.
    ///
    /// Example: [`SparsityPattern`].
    pub fn len(&self) -> usize {
        self.rows.items.len()
    }

    /// Whether the pattern has no entries, so that all elements are zero.
    ///
    /// Example: [`SparsityPattern`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row and column of each entry, in row-major order.
    ///
    /// Example: [`SparsityPattern`].
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone {
        self.rows.pairs()
    }

    /// For each of the [`entries`](Self::entries), whether its value is the same for all arguments and data, since the
    /// result of the row is linear in the input of the column.
    ///
    /// ```
    /// use polygrad::{Tensor, sparse_jacobian, tensor};
    /// let j = sparse_jacobian(|x: &Tensor<_, 1>| x.cumsum(0), &tensor([1.0, 2.0]));
    /// assert_eq!(j.pattern().constant(), [true; 3]);
    /// ```
    pub fn constant(&self) -> &[bool] {
        &self.constant
    }

    /// The index of the first entry of each row, and the number of entries: one number more than there are rows.
    ///
    /// Example: [`SparsityPattern`].
    pub fn row_pointers(&self) -> &[usize] {
        &self.rows.starts
    }

    /// The column of each entry.
    ///
    /// Example: [`SparsityPattern`].
    pub fn columns(&self) -> &[usize] {
        &self.rows.items
    }

    /// The same pattern in compressed columns, for solvers that take these.
    ///
    /// Example: [`ColumnPattern`].
    pub fn by_columns(&self) -> ColumnPattern {
        let mut order = vec![0; self.len()];
        let columns = self.rows.turned(self.width, |from, to| order[to] = from);
        ColumnPattern { height: self.rows.count(), columns, order }
    }

    /// The pattern of the Jacobian of a program in all inputs that have columns, for all values of all inputs. If all
    /// rows of all values are computed alike, one of them is read.
    pub(super) fn read(subject: &Subject) -> SparsityPattern {
        let Some(rows) = RowProgram::of(subject) else { return SparsityPattern::read_whole(subject) };
        let row = SparsityPattern::read_whole(&rows.row);
        let (all, constant) = rows.all(&row.rows, &row.constant);
        SparsityPattern { width: subject.width(), rows: all, constant }
    }

    /// [`read`](Self::read), element by element.
    pub(super) fn read_whole(subject: &Subject) -> SparsityPattern {
        let mut reading = Reading::default();
        let input = |(k, slot): (usize, &Slot)| match subject.has_columns(k) {
            true => reading.input(&slot.shape, slot.dtype),
            false => Sparsity::unknown(&slot.shape, slot.dtype),
        };
        let inputs: Vec<Sparsity<Concrete>> = subject.program.inputs().iter().enumerate().map(input).collect();
        let results = interpret(&subject.program, inputs);
        let (mut rows, mut constant) = (Lists::default(), Vec::new());
        for y in results.iter().filter(|y| y.dtype().is_float()) {
            reading.result(y, |row| {
                for (column, linear) in row {
                    rows.items.push(column);
                    constant.push(linear);
                }
                rows.end();
            });
        }
        SparsityPattern { width: subject.width(), rows, constant }
    }

    /// The pattern of a diagonal; for each of its elements, whether it is constant.
    pub(super) fn diagonal(constant: Vec<bool>) -> SparsityPattern {
        let n = constant.len();
        SparsityPattern { width: n, rows: Lists { starts: (0..=n).collect(), items: (0..n).collect() }, constant }
    }

    pub(super) fn rows(&self) -> &Lists {
        &self.rows
    }

    /// Whether the element of the diagonal in this row is the same for all arguments and data; an element without an
    /// entry is 0.
    pub(super) fn is_constant_at(&self, row: usize) -> bool {
        let found = self.rows.of(row).binary_search(&row);
        found.map_or(true, |at| self.constant[self.rows.starts[row] + at])
    }

    /// The intersection of this pattern and its transpose: an element of a symmetric matrix is zero if the pattern has
    /// no entry for the element or for its mirror image.
    pub(super) fn symmetric(&self) -> SparsityPattern {
        let turned = self.by_columns();
        let (mut rows, mut constant) = (Lists::default(), Vec::new());
        for row in 0..self.rows.count() {
            let start = turned.columns.starts[row];
            let mut others = turned.columns.of(row).iter().zip(&turned.order[start..]).peekable();
            for (column, linear) in self.rows.of(row).iter().zip(&self.constant[self.rows.starts[row]..]) {
                while others.next_if(|(other, _)| *other < column).is_some() {}
                if let Some((_, place)) = others.next_if(|(other, _)| *other == column) {
                    rows.items.push(*column);
                    constant.push(*linear || self.constant[*place]);
                }
            }
            rows.end();
        }
        SparsityPattern { width: self.width, rows, constant }
    }

    /// The pattern of the same rows in the columns of the input elements, where the present columns are copies of
    /// these. Entries of one row for copies of one input element are merged.
    pub(super) fn of_copies(&self, sources: &[InputElement], width: usize) -> Merged {
        let (mut rows, mut constant) = (Lists::default(), Vec::new());
        let (mut first, mut further) = (Vec::new(), Vec::new());
        let mut row: Vec<(usize, usize)> = Vec::new();
        for ends in self.rows.starts.windows(2) {
            row.clear();
            let column = |place: usize| Some((sources[self.rows.items[place]]?.get() as usize - 1, place));
            row.extend((ends[0]..ends[1]).filter_map(column));
            row.sort_unstable();
            let start = rows.items.len();
            for (column, place) in &row {
                if rows.items[start..].last() == Some(column) {
                    further.push((first.len() - 1, *place));
                    constant[first.len() - 1] &= self.constant[*place];
                } else {
                    rows.items.push(*column);
                    constant.push(self.constant[*place]);
                    first.push(*place);
                }
            }
            rows.end();
        }
        Merged { pattern: SparsityPattern { width, rows, constant }, first, further }
    }
}

/// A pattern whose elements are sums of elements of another pattern.
pub(super) struct Merged {
    pub(super) pattern: SparsityPattern,
    /// For each entry, the index of the first summand in the other pattern.
    pub(super) first: Vec<usize>,
    /// The further summands: the index of the entry, and that of the summand.
    pub(super) further: Vec<(usize, usize)>,
}

/// A [`SparsityPattern`] in compressed columns, with the index of each entry in the order by rows.
///
/// It is made once, and permutes the values of each run.
///
/// ```
/// use polygrad::{Tensor, sparse_jacobian, tensor};
/// // The Jacobian is full: `[[x1, x0], [2 x0, 2 x1]]`.
/// let x = tensor([1.0, 2.0]);
/// let j = sparse_jacobian(|x: &Tensor<_, 1>| (x.at([0]) * x.at([1]), x.square().sum()), &x);
/// let (columns, by_rows) = (j.pattern().by_columns(), j.values(&x)?);
/// assert_eq!((columns.shape(), columns.column_pointers(), columns.rows()), ((2, 2), &[0, 2, 4][..], &[0, 1, 0, 1][..]));
/// assert_eq!((columns.order(), &by_rows[..]), (&[0, 2, 1, 3][..], &[2.0, 1.0, 2.0, 4.0][..]));
/// let mut by_columns = [0.0; 4];
/// columns.fill(&by_rows, &mut by_columns);
/// assert_eq!((by_columns.to_vec(), by_columns), (columns.values(&by_rows), [2.0, 2.0, 1.0, 4.0]));
/// # Ok::<(), polygrad::RunError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPattern {
    /// The number of rows.
    height: usize,
    columns: Lists,
    order: Vec<usize>,
}

impl ColumnPattern {
    /// The numbers of rows and columns.
    ///
    /// Example: [`ColumnPattern`].
    pub fn shape(&self) -> (usize, usize) {
        (self.height, self.columns.count())
    }

    /// The index of the first entry of each column, and the number of entries: one number more than there are columns.
    ///
    /// Example: [`ColumnPattern`].
    pub fn column_pointers(&self) -> &[usize] {
        &self.columns.starts
    }

    /// The row of each entry, in column-major order.
    ///
    /// Example: [`ColumnPattern`].
    pub fn rows(&self) -> &[usize] {
        &self.columns.items
    }

    /// For each entry in column-major order, its index in row-major order.
    ///
    /// Example: [`ColumnPattern`].
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The values in column-major order, from the values in row-major order.
    ///
    /// Example: [`ColumnPattern`].
    ///
    /// # Panics
    /// When the number of values is not that of the entries.
    #[track_caller]
    pub fn values(&self, by_rows: &[f64]) -> Vec<f64> {
        let mut by_columns = vec![0.0; self.order.len()];
        self.fill(by_rows, &mut by_columns);
        by_columns
    }

    /// [`values`](Self::values), written to the values of a matrix that has this pattern.
    ///
    /// Example: [`ColumnPattern`].
    ///
    /// # Panics
    /// When the number of values, or the length of the destination, is not the number of entries.
    #[track_caller]
    pub fn fill(&self, by_rows: &[f64], by_columns: &mut [f64]) {
        let n = self.order.len();
        if by_rows.len() != n || by_columns.len() != n {
            panic!(
                "fill: values by rows and by columns must be as many as the elements of the pattern, but they are {} and {} for \
                 {n}; take the values of the function that has this pattern",
                by_rows.len(),
                by_columns.len()
            );
        }
        by_columns.iter_mut().zip(&self.order).for_each(|(to, from)| *to = by_rows[*from]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::ops::{Binary, Compare, Contract, Discrete, Linear, Reduce, Unary, View};
    use crate::program::Term;
    use crate::{DType, Tensor};

    type Rows = Tensor<Term, 2>;

    /// A program of a stack of rows, a list of numbers with columns, and a row of data.
    fn subject(f: impl Fn(&Rows, &Tensor<Term, 1>, &Tensor<Term, 1>) -> Vec<Term>) -> Subject {
        let inputs: Vec<Term> = [&[5, 3][..], &[5], &[3]].map(|shape| Term::variable(shape, DType::F64)).to_vec();
        let [x, w, data] = [0, 1, 2].map(|k| inputs[k].clone());
        let results = f(&Tensor::from_raw(x), &Tensor::from_raw(w), &Tensor::from_raw(data));
        Subject { program: Term::program(&inputs, &results, &[]).expect("closed"), count: 2 }
    }

    #[track_caller]
    fn same(subject: &Subject, is_by_rows: bool) {
        assert_eq!(RowProgram::of(subject).is_some(), is_by_rows, "{}", subject.program);
        assert_eq!(SparsityPattern::read(subject), SparsityPattern::read_whole(subject), "{}", subject.program);
    }

    /// What rows alone depend on is read in one row.
    #[test]
    fn the_pattern_of_one_row_is_that_of_all() {
        same(&subject(|x, w, _| vec![(x.sin() * 2.0).into_raw(), w.square().into_raw()]), true);
        same(&subject(|x, w, _| vec![(x.sum_axis::<1>(1) * w).into_raw()]), true);
        same(&subject(|x, _, data| vec![(x * data.replicate(5)).into_raw()]), true);
        same(&subject(|x, _, _| vec![x.slice(1, 1..3).reverse(1).pad([(0, 0), (2, 1)]).into_raw()]), true);
        same(&subject(|x, w, _| vec![x.max_axis::<1>(1).into_raw(), (w * 3.0).into_raw()]), true);
        same(
            &subject(|x, w, _| vec![x.reshape::<3>([5, 1, 3]).into_raw(), w.reshape::<2>([5, 1]).exp().into_raw()]),
            true,
        );
        // A product of each row with a known matrix that has zeros, and of rows with each other.
        let known = Tensor::<Term, 2>::constant([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]);
        same(&subject(|x, _, _| vec![x.matmul(&known).into_raw()]), true);
        same(&subject(|x, _, _| vec![(x * x.sin()).sum_axis::<1>(1).into_raw()]), true);
        // Known rows that differ, with zeros at the same places.
        let differ = Tensor::<Term, 2>::from_raw(Term::constant(Array::new(
            &[5, 3],
            (0..15).map(|k| if k % 3 == 1 { 0.0 } else { f64::from(k) + 1.0 }).collect(),
        )));
        same(&subject(|x, _, _| vec![(x * &differ).into_raw()]), true);
        same(&subject(|x, _, _| vec![(&differ - x).square().into_raw()]), true);
    }

    /// What differs from row to row, or depends on other rows, is read element by element.
    #[test]
    fn rows_that_differ_are_read_one_by_one() {
        same(&subject(|x, _, _| vec![x.reverse(0).into_raw()]), false);
        same(&subject(|x, w, _| vec![x.cumsum(0).into_raw(), w.clone().into_raw()]), false);
        same(&subject(|x, _, _| vec![x.row::<1>(0).replicate::<2>(5).into_raw()]), false);
        same(&subject(|x, _, _| vec![x.slice(0, 1..5).pad([(0, 1), (0, 0)]).into_raw()]), false);
        same(&subject(|x, _, _| vec![x.sum_axis::<1>(0).replicate::<2>(5).into_raw()]), false);
        same(&subject(|x, _, _| vec![x.max_axis::<1>(0).into_raw()]), false);
        same(&subject(|x, w, _| vec![w.clone().into_raw(), x.sum().into_raw()]), false);
        same(&subject(|x, _, data| vec![x.matvec(data).sum().into_raw()]), false);
        same(
            &subject(|x, w, _| vec![x.take(&Tensor::constant([4, 3, 2, 1, 0])).into_raw(), w.clone().into_raw()]),
            false,
        );
        // Zeros and masks at other places in other rows.
        let zeros = Tensor::<Term, 1>::constant([0.0, 1.0, 2.0, 3.0, 4.0]);
        same(&subject(|_, w, _| vec![(w * &zeros).into_raw()]), false);
        same(&subject(|_, w, _| vec![zeros.gt(2.5).select(w.square(), w.sin()).into_raw()]), false);
        let places = Tensor::<Term, 1>::constant([1.0, 2.0, 3.0, 4.0, 5.0]);
        same(&subject(|_, w, _| vec![places.gt(2.5).select(w.square(), w * 0.0).into_raw()]), false);
    }

    /// Views with offsets, bounds and steps, rows in the middle of the iteration space, and a square stack.
    #[test]
    fn views_of_rows_are_views_of_each_row() {
        let x = || Term::variable(&[5, 3], DType::F64);
        let of = |make: &dyn Fn(&Term) -> Term| {
            let x = x();
            Subject { program: Term::program(std::slice::from_ref(&x), &[make(&x)], &[]).expect("closed"), count: 1 }
        };
        let late = View::affine(&[5, 3], &[2, 5, 4], &[0, 1, 0, 1, 0, 1], &[0, -1]).clipped(2, 1, 3);
        let into = View::affine(&[5, 2], &[2, 5, 4], &[0, 1, 0, 1, 0, 0], &[0, 0]);
        same(&of(&|x| x.linear(&Linear::Affine { from: late.clone(), into: into.clone() })), true);
        // Rows two at a time, and rows that move.
        let skew = View::affine(&[5, 3], &[5, 3], &[1, 0, 1, 1], &[0, 0]);
        let whole = View::identity(&[5, 3]);
        same(&of(&|x| x.linear(&Linear::Affine { from: skew.clone(), into: whole.clone() })), false);
        let square = Term::variable(&[3, 3], DType::F64);
        let turned = square.linear(&Linear::permute(&[3, 3], &[1, 0]));
        for (y, by_rows) in
            [(turned.clone(), false), (square.binary(Binary::Mul, &turned), false), (square.unary(Unary::Exp), true)]
        {
            same(
                &Subject {
                    program: Term::program(std::slice::from_ref(&square), &[y], &[]).expect("closed"),
                    count: 1,
                },
                by_rows,
            );
        }
        let product = Contract::axes(&[3, 3, 3], &[0, 1], &[1, 2], &[0, 2]);
        let known = Term::constant(Array::from([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [1.0, 1.0, 1.0]]));
        // The known matrix is a stack of three different rows, too: then nothing is known of rows.
        for (a, b) in [(&square, &known), (&known, &square), (&square, &square)] {
            let product = Term::contract(&product, a, b);
            same(
                &Subject {
                    program: Term::program(std::slice::from_ref(&square), &[product], &[]).expect("closed"),
                    count: 1,
                },
                false,
            );
        }
        let least = |x: &Term| x.reduce(Reduce::all(1)[1]).linear(&Linear::replicate(&[5, 3], &[0]));
        same(&of(&least), true);
        let mask = |x: &Term| {
            let mask = Term::discrete(&Discrete::Compare(Compare::Lt), &[x, &x.unary(Unary::Sin)]);
            Term::select(&mask, x, &x.unary(Unary::Square))
        };
        same(&of(&mask), true);
    }
}
