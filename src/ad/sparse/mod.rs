//! Jacobians and Hessians with few elements that are not zero, in few passes.
//!
//! A program is recorded and read at [`Sparsity`], which says what depends on what; rows or columns that share no element
//! get one colour; a pass computes all of one colour, and the elements are read off the passes. All of this is a
//! [`Function`], recorded once. Rows and columns are the elements of the raveled trees, as in
//! [`jacobian_matrix`](crate::jacobian_matrix).

mod coloring;

use super::function::{Function, RunError, program_of};
use super::modes::Mode;
use super::symbolic;
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::dtype::DType;
use crate::interpreters::Concrete;
use crate::interpreters::adval::{ADVal, Sweep};
use crate::interpreters::dual::{Dual, Forward};
use crate::interpreters::sparsity::{Reading, Sparsity};
use crate::passes::optimize;
use crate::program::{Program, Slot, Term, interpret};
use crate::shape::size;
use crate::tensor::Tensor;
use crate::tree::Tree;
use crate::tree::ravel::{ravel, unravel};

/// Where a matrix may have elements that are not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparsityPattern {
    rows: usize,
    columns: usize,
    entries: Vec<(usize, usize)>,
    constant: Vec<bool>,
}

impl SparsityPattern {
    /// The numbers of rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Row and column of each element that may not be zero, by rows.
    pub fn entries(&self) -> &[(usize, usize)] {
        &self.entries
    }

    /// For each of the [`entries`](Self::entries), whether it is the same at all inputs: the row is linear in the column.
    pub fn constant(&self) -> &[bool] {
        &self.constant
    }

    fn of(program: &Program) -> SparsityPattern {
        let mut reading = Reading::default();
        let input = |slot: &Slot| reading.input::<Concrete>(&slot.shape, slot.dtype);
        let inputs: Vec<Sparsity<Concrete>> = program.inputs().iter().map(input).collect();
        let results = interpret(program, inputs);
        let (mut entries, mut constant, mut rows) = (Vec::new(), Vec::new(), 0);
        for y in results.iter().filter(|y| y.dtype().is_float()) {
            for row in reading.result(y) {
                entries.extend(row.iter().map(|(column, _)| (rows, *column)));
                constant.extend(row.iter().map(|(_, linear)| *linear));
                rows += 1;
            }
        }
        SparsityPattern { rows, columns: raveled(program.inputs()), entries, constant }
    }

    /// The columns of each row.
    fn by_rows(&self) -> coloring::Neighbours {
        let mut rows = vec![Vec::new(); self.rows];
        self.entries.iter().for_each(|(row, column)| rows[*row].push(*column));
        rows
    }

    /// This pattern and its transpose: what is symmetric has zeros where either has.
    fn symmetric(mut self) -> SparsityPattern {
        let both: std::collections::BTreeMap<(usize, usize), bool> =
            self.entries.iter().copied().zip(self.constant.iter().copied()).collect();
        let kept = both.iter().filter(|((i, j), _)| both.contains_key(&(*j, *i)));
        (self.entries, self.constant) = kept.map(|((i, j), linear)| ((*i, *j), *linear || both[&(*j, *i)])).unzip();
        self
    }
}

/// The number of elements of the float inputs.
fn raveled(slots: &[Slot]) -> usize {
    slots.iter().filter(|slot| slot.dtype.is_float()).map(|slot| size(&slot.shape)).sum()
}

/// The elements of a matrix that may not be zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Triplets {
    /// The numbers of rows and columns.
    pub shape: (usize, usize),
    /// Row, column and value of each element, by rows.
    pub elements: Vec<(usize, usize, f64)>,
}

impl Triplets {
    /// The matrix with its zeros.
    pub fn to_dense(&self) -> Tensor<Concrete, 2> {
        let (rows, columns) = self.shape;
        let mut all = vec![0.0; rows * columns];
        self.elements.iter().for_each(|(i, j, x)| all[i * columns + j] = *x);
        Tensor::new([rows, columns], all)
    }
}

/// A sparse Jacobian or Hessian, recorded once and run many times: see [`sparse_jacobian`].
#[derive(Debug)]
pub struct SparseFunction<P> {
    pattern: SparsityPattern,
    mode: Mode,
    passes: usize,
    function: Function<P, (), Tensor<Array, 1>>,
}

impl<P: Tree<Array>> SparseFunction<P> {
    /// Where the matrix may have elements that are not zero.
    pub fn pattern(&self) -> &SparsityPattern {
        &self.pattern
    }

    /// The number of passes of forward or reverse mode that a run makes: the number of colours.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// Whether the passes are those of forward or of reverse mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The function from the argument to the values of the [`entries`](SparsityPattern::entries), in order.
    pub fn function(&self) -> &Function<P, (), Tensor<Array, 1>> {
        &self.function
    }

    /// The matrix for this argument.
    ///
    /// # Errors
    /// As for [`Function::run`].
    pub fn run(&self, x: &P) -> Result<Triplets, RunError> {
        let values = self.function.run(x)?.to_vec();
        let elements = self.pattern.entries.iter().zip(values).map(|((i, j), x)| (*i, *j, x)).collect();
        Ok(Triplets { shape: self.pattern.shape(), elements })
    }
}

/// The Jacobian of a function from trees to trees, by as many passes as its pattern has colours: `J[i, j] = d y[i] / d x[j]`,
/// where `x` and `y` are the raveled trees.
///
/// The pattern is that of the recorded program, for all numbers in `x`; indices and masks that the function captures are
/// read as they are. Columns that share no row are computed in one pass of forward mode, or rows that share no column in
/// one of reverse mode, whichever is cheaper by the number of passes.
///
/// ```
/// use polygrad::{Tensor, sparse_jacobian, tensor};
/// let x = tensor([1.0, 2.0, 3.0, 4.0]);
/// // Differences of neighbours: two elements a row, two passes.
/// let j = sparse_jacobian(|x: &Tensor<_, 1>| (x.slice(0, 1..) - x.slice(0, ..3)).square(), &x);
/// assert_eq!((j.pattern().entries().len(), j.passes()), (6, 2));
/// assert_eq!(j.run(&x)?.elements[..2], [(0, 0, -2.0), (0, 1, 2.0)]);
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn sparse_jacobian<P: Tree<Array>, Y: Tree<Term>>(f: impl Fn(&P::With<Term>) -> Y, x: &P) -> SparseFunction<P> {
    let program = optimize(&program_of(f, x));
    let pattern = SparsityPattern::of(&program);
    let of_rows = pattern.by_rows();
    let of_columns = coloring::turned(&of_rows, pattern.columns);
    let forward = coloring::columns(&of_columns, &of_rows);
    let reverse = coloring::columns(&of_rows, &of_columns);
    // A pass of reverse mode costs about one and a half of forward mode.
    let (passes, back) = (coloring::count(&forward), coloring::count(&reverse));
    let mode = if 2 * passes <= 3 * back { Mode::Forward } else { Mode::Reverse };
    let (colors, passes) = if mode == Mode::Forward { (forward, passes) } else { (reverse, back) };
    let places: Vec<(usize, usize)> = pattern
        .entries
        .iter()
        .map(|(i, j)| if mode == Mode::Forward { (colors[*j], *i) } else { (colors[*i], *j) })
        .collect();
    let function = Function::made(compressed(&program, mode, &colors, passes, &places), x, pattern.entries.len());
    SparseFunction { pattern, mode, passes, function }
}

/// The Hessian of a scalar function of a tree, by as many passes as its pattern has star colours: symmetric, with both
/// halves.
///
/// ```
/// use polygrad::{Tensor, sparse_hessian, tensor};
/// let x = tensor([1.0, 2.0, 3.0, 4.0, 5.0]);
/// // Each element meets its neighbours: three passes, however many elements there are.
/// let h = sparse_hessian(|x: &Tensor<_, 1>| (x.slice(0, 1..) * x.slice(0, ..4)).square().sum(), &x);
/// assert_eq!((h.pattern().entries().len(), h.passes()), (13, 3));
/// assert_eq!(h.run(&x)?.elements[1], (0, 1, 8.0));
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values, or has no second derivative.
#[track_caller]
pub fn sparse_hessian<P: Tree<Array>>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0>, x: &P) -> SparseFunction<P> {
    let gradient = gradient_program(f, x);
    let pattern = SparsityPattern::of(&gradient).symmetric();
    let neighbours = pattern.by_rows();
    let colors = coloring::stars(&neighbours);
    let passes = coloring::count(&colors);
    // In the pass of the colour of a column, a row has the sum of the elements of that colour: read where there is one.
    let alone = |i: usize, j: usize| neighbours[i].iter().filter(|k| colors[**k] == colors[j]).count() == 1;
    let place = |(i, j): &(usize, usize)| if alone(*i, *j) { (colors[*j], *i) } else { (colors[*i], *j) };
    let places: Vec<(usize, usize)> = pattern.entries.iter().map(place).collect();
    let program = compressed(&gradient, Mode::Forward, &colors, passes, &places);
    let function = Function::made(program, x, places.len());
    SparseFunction { pattern, mode: Mode::Forward, passes, function }
}

/// The diagonal of the Hessian of a scalar function of a tree, as a function of the raveled tree's elements in order: by as
/// many passes as it takes colours to tell neighbours apart; by one, if no two elements meet.
///
/// ```
/// use polygrad::{Tensor, hessian_diagonal, tensor};
/// let x = tensor([1.0, 2.0, 3.0]);
/// let d = hessian_diagonal(|x: &Tensor<_, 1>| (x * x * x).sum(), &x);
/// assert_eq!((d.passes(), d.function().run(&x)?), (1, tensor([6.0, 12.0, 18.0])));
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values, or has no second derivative.
#[track_caller]
pub fn hessian_diagonal<P: Tree<Array>>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0>, x: &P) -> SparseFunction<P> {
    let gradient = gradient_program(f, x);
    let whole = SparsityPattern::of(&gradient).symmetric();
    let colors = coloring::neighbours_apart(&whole.by_rows());
    let passes = coloring::count(&colors);
    let n = whole.columns;
    let places: Vec<(usize, usize)> = (0..n).map(|k| (colors[k], k)).collect();
    let of = |k: usize| whole.entries.iter().position(|entry| *entry == (k, k)).is_none_or(|at| whole.constant[at]);
    let constant = (0..n).map(of).collect();
    let entries = (0..n).map(|k| (k, k)).collect();
    let program = compressed(&gradient, Mode::Forward, &colors, passes, &places);
    let function = Function::made(program, x, n);
    let pattern = SparsityPattern { rows: n, columns: n, entries, constant };
    SparseFunction { pattern, mode: Mode::Forward, passes, function }
}

/// The optimized gradient, as a program, in all float inputs.
#[track_caller]
fn gradient_program<P: Tree<Array>>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0>, x: &P) -> Program {
    let program = optimize(&program_of(f, x));
    let floats = program.inputs().iter().enumerate().filter(|(_, slot)| slot.dtype.is_float());
    let wrt: Vec<usize> = floats.map(|(k, _)| k).collect();
    optimize(&symbolic::gradient_in(&program, &wrt))
}

/// The program from inputs to elements of the Jacobian. For each colour there is one pass, forward along the sum of the
/// columns or backward from that of the rows of this colour; an element is at a place of the stack of passes.
fn compressed(program: &Program, mode: Mode, colors: &[usize], passes: usize, places: &[(usize, usize)]) -> Program {
    let inputs = Term::variables(program.inputs());
    let mut seeds = vec![0.0; passes * colors.len()];
    colors.iter().enumerate().for_each(|(k, color)| seeds[color * colors.len() + k] = 1.0);
    let seeds = Term::constant(Array::new(&[passes, colors.len()], seeds));
    let (_, stack) = Term::map_accum(passes, false, Vec::new(), &[seeds], &mut |_, seed| {
        let all = match mode {
            Mode::Forward => pushed(program, &inputs, &seed[0]),
            Mode::Reverse => pulled(program, &inputs, &seed[0]),
        };
        (Vec::new(), vec![all])
    });
    let indices = |of: fn(&(usize, usize)) -> usize| {
        let all: Vec<i64> = places.iter().map(|place| of(place) as i64).collect();
        Term::constant(Array::new(&[places.len()], all))
    };
    let values = if passes == 0 {
        Term::zeros(&[places.len()], DType::F64)
    } else {
        stack[0].gather(&[indices(|(pass, _)| *pass), indices(|(_, k)| *k)])
    };
    let names: Vec<String> = program.inputs().iter().map(|slot| slot.name.clone()).collect();
    match Term::program(&inputs, &[values], &names) {
        Ok(program) => program,
        Err(message) => unreachable!("the elements depend on the inputs alone: {message}"),
    }
}

/// The raveled tangents of the results.
fn pushed(program: &Program, inputs: &[Term], seed: &Term) -> Term {
    let sweep = Forward::new();
    let tangents = unravel(inputs, seed);
    let dual = |(x, dot): (&Term, &Term)| {
        if x.dtype().is_float() { sweep.input(x, dot) } else { <Dual<Term> as Lift<Term>>::lift(x.clone()) }
    };
    let results = interpret(program, inputs.iter().zip(&tangents).map(dual).collect());
    ravel(&results.iter().filter(|y| y.dtype().is_float()).map(|y| sweep.result(y).1).collect::<Vec<Term>>())
}

/// The raveled cotangents of the inputs.
fn pulled(program: &Program, inputs: &[Term], seed: &Term) -> Term {
    let mut sweep = Sweep::new();
    let dual = |x: &Term| {
        if x.dtype().is_float() { sweep.input(x) } else { <ADVal<Term> as Lift<Term>>::lift(x.clone()) }
    };
    let results: Vec<ADVal<Term>> = interpret(program, inputs.iter().map(dual).collect());
    let floats: Vec<ADVal<Term>> = results.into_iter().filter(|y| y.dtype().is_float()).collect();
    let primals: Vec<Term> = floats.iter().map(|y| y.primal().clone()).collect();
    ravel(&sweep.pull(&floats, unravel(&primals, seed)))
}
