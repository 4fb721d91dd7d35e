//! The language in which algorithms on matrices are written: numbers in arrays, and control.
//!
//! Laws: an algorithm is one function, generic in the machine. At [`Direct`] it is a kernel; a machine that writes
//! statements makes source code of it. A loop runs its body once for each index, or is written with its body once; so
//! what a body changes is in an array or in a cell, and a body is not left but by [`UniformMachine::leaves`]. Where a
//! number decides, [`MatrixMachine::wherever`] runs a body for the lanes in which a mask holds: what the body changes,
//! it changes by a choice with the mask that it gets.

use std::borrow::BorrowMut;
use std::marker::PhantomData;
use std::ops::{Add, Mul, Range, RangeFrom};

use polygrad_math::{Arithmetic, Mask};

use super::blocks::TriangleView;
use super::factors::SolvedTriangle;
use super::guarded::GuardedProduct;
use super::least_squares::is_identity;
use super::{Real, exponent, exponential, factors, reflections, scaled};
use crate::kernels::contract::product_of_squares;

/// A position in an array, or the number of a row or column.
pub(crate) trait ArrayIndex: Copy + From<usize> + Add<usize, Output = Self> + Mul<usize, Output = Self> {
    /// The sum.
    fn plus(self, other: Self) -> Self;
}

impl ArrayIndex for usize {
    #[inline(always)]
    fn plus(self, other: usize) -> usize {
        self + other
    }
}

/// Where the elements of a matrix are: the distances of rows and of columns.
#[derive(Clone, Copy)]
pub(crate) struct MatrixLayout {
    pub(crate) down: usize,
    pub(crate) right: usize,
}

impl MatrixLayout {
    /// Row by row.
    pub(crate) fn rows(columns: usize) -> MatrixLayout {
        MatrixLayout { down: columns, right: 1 }
    }

    pub(crate) fn transposed(self, transposed: bool) -> MatrixLayout {
        if transposed { MatrixLayout { down: self.right, right: self.down } } else { self }
    }

    #[inline(always)]
    pub(crate) fn at<I: ArrayIndex>(self, i: I, j: I) -> I {
        (i * self.down).plus(j * self.right)
    }
}

/// A value that changes.
pub(crate) trait MachineCell<X> {
    fn get(&self) -> X;
    fn set(&mut self, x: X);
}

/// What computes with numbers, masks and integers, of one matrix or of several in lanes.
pub(crate) trait MatrixMachine: Copy {
    type Mask: Mask;
    type Real: Arithmetic<Mask = Self::Mask>;
    type Int: Copy;
    type Index: ArrayIndex;
    type Reals: ?Sized;
    type Ints: ?Sized;
    type OwnReals: BorrowMut<Self::Reals>;
    type OwnInts: BorrowMut<Self::Ints>;
    type RealCell: MachineCell<Self::Real>;
    type MaskCell: MachineCell<Self::Mask>;
    type IntCell: MachineCell<Self::Int>;
    type Loop: Iterator<Item = Self::Index>;
    type Backwards: Iterator<Item = Self::Index>;
    type Wherever: Iterator<Item = Self::Mask>;

    /// The distance of 1 and the next number.
    const EPSILON: f64;
    /// The least positive normal number.
    const LEAST: f64;
    /// The unit in which the machine has powers of two: this many.
    const UNIT: f64;

    /// Memory, whose elements are written before they are read.
    fn reals(self, len: usize) -> Self::OwnReals;
    fn ints(self, len: usize) -> Self::OwnInts;
    fn load(self, a: &Self::Reals, at: Self::Index) -> Self::Real;
    fn store(self, a: &mut Self::Reals, at: Self::Index, x: Self::Real);
    fn load_int(self, a: &Self::Ints, at: Self::Index) -> Self::Int;
    fn store_int(self, a: &mut Self::Ints, at: Self::Index, x: Self::Int);
    fn real_cell(self, x: Self::Real) -> Self::RealCell;
    fn mask_cell(self, x: Self::Mask) -> Self::MaskCell;
    fn int_cell(self, x: Self::Int) -> Self::IntCell;

    fn mask(self, x: bool) -> Self::Mask;
    fn int(self, x: Self::Index) -> Self::Int;
    fn add(self, x: Self::Int, y: Self::Int) -> Self::Int;
    fn subtract(self, x: Self::Int, y: Self::Int) -> Self::Int;
    /// Whether integers are equal.
    fn same(self, x: Self::Int, y: Self::Int) -> Self::Mask;
    /// Whether the first integer is less.
    fn before(self, x: Self::Int, y: Self::Int) -> Self::Mask;
    fn select_int(self, mask: Self::Mask, x: Self::Int, y: Self::Int) -> Self::Int;
    fn ln(self, x: Self::Real) -> Self::Real;
    /// The exponent of a power of two near to a finite number, in units of the machine; 0 for 0. A number over the
    /// power is so moderate that products of eight of them, and the sum of some hundred squares, are normal numbers.
    fn exponent(self, x: Self::Real) -> Self::Int;
    /// The opposite of an integer.
    #[inline(always)]
    fn negated(self, x: Self::Int) -> Self::Int {
        self.subtract(self.int(0.into()), x)
    }
    /// A number times a power of two, given in units of the machine, and rounded where it is subnormal.
    fn scaled(self, x: Self::Real, power: Self::Int) -> Self::Real;
    /// An integer as a number.
    fn real(self, x: Self::Int) -> Self::Real;

    /// The indices from one to another, without the last.
    fn range(self, from: impl Into<Self::Index>, to: impl Into<Self::Index>) -> Self::Loop;
    /// These indices in the opposite order.
    fn backwards(self, from: impl Into<Self::Index>, to: impl Into<Self::Index>) -> Self::Backwards;
    /// The first indices: those below a number.
    #[inline(always)]
    fn first(self, to: impl Into<Self::Index>) -> Self::Loop {
        self.range(Self::Index::from(0), to)
    }
    /// The remainder of a division of indices.
    fn remainder(self, x: Self::Index, by: usize) -> Self::Index;
    /// Once, with the mask, if it holds in some lane.
    fn wherever(self, mask: Self::Mask) -> Self::Wherever;

    /// Whether the elements from one to another, without the last, are finite.
    #[inline(always)]
    fn are_finite(self, a: &Self::Reals, from: Self::Index, to: Self::Index) -> Self::Mask {
        // Finite numbers become 0, and all others NaN.
        let zero = Self::Real::literal(0.0);
        let mut sum = self.real_cell(zero);
        for at in self.range(from, to) {
            sum.set(sum.get() + self.load(a, at) * zero);
        }
        sum.get().equals(zero)
    }

    /// The largest absolute value of some elements.
    #[inline(always)]
    fn largest(self, a: &Self::Reals, rows: Self::Loop, at: impl Fn(Self::Index) -> Self::Index) -> Self::Real {
        let mut most = self.real_cell(Self::Real::literal(0.0));
        for i in rows {
            let size = self.load(a, at(i)).magnitude();
            most.set(Self::Real::select(size.above(most.get()), size, most.get()));
        }
        most.get()
    }

    /// Multiplies some elements by a power of two.
    #[inline(always)]
    fn scale(self, a: &mut Self::Reals, rows: Self::Loop, at: impl Fn(Self::Index) -> Self::Index, power: Self::Int) {
        for i in rows {
            self.store(a, at(i), self.scaled(self.load(a, at(i)), power));
        }
    }

    /// Takes a multiple of a row from one below, in the columns from one to another: rows are given by where they begin.
    #[inline(always)]
    fn subtract_row(
        self,
        a: &mut Self::Reals,
        [to, from]: [Self::Index; 2],
        [first, end]: [Self::Index; 2],
        factor: Self::Real,
    ) {
        for j in self.range(first, end) {
            self.store(a, to.plus(j), self.load(a, to.plus(j)) - factor * self.load(a, from.plus(j)));
        }
    }

    /// Exchanges two elements where a mask holds.
    #[inline(always)]
    fn exchange(self, here: Self::Mask, a: &mut Self::Reals, [i, j]: [Self::Index; 2]) {
        let (x, y) = (self.load(a, i), self.load(a, j));
        self.store(a, i, Self::Real::select(here, y, x));
        self.store(a, j, Self::Real::select(here, x, y));
    }

    #[inline(always)]
    fn exchange_ints(self, here: Self::Mask, a: &mut Self::Ints, [i, j]: [Self::Index; 2]) {
        let (x, y) = (self.load_int(a, i), self.load_int(a, j));
        self.store_int(a, i, self.select_int(here, y, x));
        self.store_int(a, j, self.select_int(here, x, y));
    }

    /// Changes a truth value where a mask holds.
    #[inline(always)]
    fn flip(self, here: Self::Mask, odd: &mut Self::MaskCell) {
        let x = odd.get();
        odd.set((x & !here) | (!x & here));
    }

    /// Fills the first elements with NaN where a mask does not hold.
    #[inline(always)]
    fn fill_unless(self, good: Self::Mask, a: &mut Self::Reals, len: usize) {
        for bad in self.wherever(!good) {
            for at in self.first(len) {
                let x = self.load(a, at);
                self.store(a, at, Self::Real::select(bad, Self::Real::literal(f64::NAN), x));
            }
        }
    }
}

/// A machine without lanes, whose control may follow numbers.
pub(crate) trait UniformMachine: MatrixMachine {
    type Trips: Iterator<Item = Self::Index>;
    type Forever: Iterator;
    type Position: Iterator<Item = Self::Index>;
    type Members: Iterator<Item = [Self::Index; 2]>;

    /// The degrees of approximants of exponentials, each with the norm up to which it is exact to rounding.
    const APPROXIMANTS: &'static [(usize, f64)];

    /// The first indices; the body may leave the loop.
    fn trips(self, most: usize) -> Self::Trips;
    /// A loop that the body leaves.
    fn forever(self) -> Self::Forever;
    /// Whether to `break` from the innermost loop that may be left: if the mask holds.
    fn leaves(self, mask: Self::Mask) -> bool;
    /// Once, an integer as an index, which is below `n`.
    fn position(self, x: Self::Int, n: usize) -> Self::Position;
    /// The numbers below `n` in a set, which is an index with their bits, in ascending order: each with the set without it.
    fn members(self, set: Self::Index, n: usize) -> Self::Members;
    fn exp(self, x: Self::Real) -> Self::Real;
    /// The least integer that is not below; that of NaN is 0, and others are limited to the range of integers.
    fn ceil(self, x: Self::Real) -> Self::Int;
    /// Two to a power, which is a normal number.
    fn two_to(self, power: Self::Int) -> Self::Real;

    #[inline(always)]
    fn larger(self, x: Self::Int, y: Self::Int) -> Self::Int {
        self.select_int(self.before(x, y), y, x)
    }

    #[inline(always)]
    fn smaller(self, x: Self::Int, y: Self::Int) -> Self::Int {
        self.select_int(self.before(x, y), x, y)
    }

    /// Writes, or adds, the product of the first rows and columns of square matrices of `n` rows in memory.
    fn product(self, sizes: (usize, Self::Index), factors: [&Self::Reals; 2], out: &mut Self::Reals, adds: bool) {
        let (to, [a, b]) = (MatrixLayout::rows(sizes.0), factors);
        for i in self.first(sizes.1) {
            for j in self.first(sizes.1) {
                let first = if adds { self.load(out, to.at(i, j)) } else { Self::Real::literal(0.0) };
                let mut sum = self.real_cell(first);
                for k in self.first(sizes.1) {
                    sum.set(sum.get() + self.load(a, to.at(i, k)) * self.load(b, to.at(k, j)));
                }
                self.store(out, to.at(i, j), sum.get());
            }
        }
    }

    /// Replaces the first rows and columns by their factors, and writes the order of rows.
    fn factor_system(self, (n, size): (usize, Self::Index), a: &mut Self::Reals, order: &mut Self::Ints) {
        factors::factor(self, MatrixLayout::rows(n), size, a, order);
    }

    /// Writes the solution for the first columns of a right-hand side.
    fn solve_system(
        self,
        (n, size): (usize, Self::Index),
        (lu, order): (&Self::Reals, &Self::Ints),
        b: &Self::Reals,
        x: &mut Self::Reals,
    ) {
        let to = MatrixLayout::rows(n);
        for i in self.first(size) {
            for row in self.position(self.load_int(order, i), n) {
                for j in self.first(size) {
                    self.store(x, to.at(i, j), self.load(b, to.at(row, j)));
                }
            }
        }
        for l in [true, false] {
            for j in self.first(size) {
                SolvedTriangle::of_factors(n, l, false).substitute(self, size, lu, x, |i| to.at(i, j));
            }
        }
    }

    /// Replaces the first rows of a matrix of finite elements by the second QR factor, and writes the first one.
    fn orthogonal(self, [rows, columns]: [usize; 2], a: &mut Self::Reals, q: &mut Self::Reals) {
        let (mut taus, mut sizes) = (self.reals(rows.min(columns)), self.ints(columns));
        let memory = (taus.borrow_mut(), sizes.borrow_mut());
        reflections::qr_of_any_scale(self, [rows, columns], a, q, memory);
    }

    /// Writes a product in which a factor 0 makes a product 0.
    fn guarded_product(self, of: GuardedProduct, factors: [&Self::Reals; 2], out: &mut Self::Reals) {
        of.by_loops(self, factors, out, true);
    }

    /// Writes a product of finite numbers.
    fn finite_product(self, of: GuardedProduct, factors: [&Self::Reals; 2], out: &mut Self::Reals) {
        of.by_loops(self, factors, out, false);
    }

    /// Writes the solutions of systems with a triangle: zeros for zeros, and otherwise NaN where none exists.
    fn solve_triangle(
        self,
        of: SolvedTriangle,
        a: &Self::Reals,
        (b, width): (&Self::Reals, usize),
        x: &mut Self::Reals,
    ) {
        let good = of.is_good(self, a);
        factors::solve_columns(self, (&[of], a), good, (None, false), (b, width), x);
    }

    /// Whether the columns of a triangle, of length 1, are known to be so independent that pivoting finds no smaller pivot
    /// than a bound.
    fn is_independent(self, _: usize, _: &Self::Reals, _: f64) -> Self::Mask {
        self.mask(false)
    }
}

/// Numbers that are computed at once: a float, or some in lanes.
pub(crate) trait DirectNumber: Arithmetic {
    type Int: Copy;
    fn any(mask: Self::Mask) -> bool;
    fn mask(x: bool) -> Self::Mask;
    fn int(x: usize) -> Self::Int;
    fn zip(x: Self::Int, y: Self::Int, f: impl Fn(i64, i64) -> i64) -> Self::Int;
    fn compare(x: Self::Int, y: Self::Int, f: impl Fn(i64, i64) -> bool) -> Self::Mask;
    fn select_int(mask: Self::Mask, x: Self::Int, y: Self::Int) -> Self::Int;
    fn ln(self) -> Self;
    fn exponent(self) -> Self::Int;
    fn scaled(self, power: Self::Int) -> Self;
    fn of_int(x: Self::Int) -> Self;
    fn are_finite(x: &[Self]) -> Self::Mask;
    const EPSILON: f64;
}

/// The machine that computes: each operation, when it is called.
#[derive(Clone, Copy)]
pub(crate) struct Direct<R>(PhantomData<R>);

impl<R> Direct<R> {
    #[inline(always)]
    pub(crate) fn new() -> Direct<R> {
        Direct(PhantomData)
    }
}

/// A variable.
pub(crate) struct Held<X>(X);

impl<X: Copy> MachineCell<X> for Held<X> {
    #[inline(always)]
    fn get(&self) -> X {
        self.0
    }
    #[inline(always)]
    fn set(&mut self, x: X) {
        self.0 = x;
    }
}

/// The members of a set, and those that are left.
pub(crate) struct SetMembers {
    set: usize,
    left: usize,
}

impl SetMembers {
    #[inline(always)]
    pub(crate) fn of(set: usize) -> SetMembers {
        SetMembers { set, left: set }
    }
}

impl Iterator for SetMembers {
    type Item = [usize; 2];
    #[inline(always)]
    fn next(&mut self) -> Option<[usize; 2]> {
        let smaller = self.left & self.left.wrapping_sub(1);
        let member = (self.left != 0).then(|| [self.left.trailing_zeros() as usize, self.set ^ self.left ^ smaller]);
        self.left = smaller;
        member
    }
}

impl<R: DirectNumber> MatrixMachine for Direct<R> {
    type Mask = R::Mask;
    type Real = R;
    type Int = R::Int;
    type Index = usize;
    type Reals = [R];
    type Ints = [R::Int];
    type OwnReals = Vec<R>;
    type OwnInts = Vec<R::Int>;
    type RealCell = Held<R>;
    type MaskCell = Held<R::Mask>;
    type IntCell = Held<R::Int>;
    type Loop = Range<usize>;
    type Backwards = std::iter::Rev<Range<usize>>;
    type Wherever = std::option::IntoIter<R::Mask>;

    const EPSILON: f64 = R::EPSILON;
    const LEAST: f64 = if R::EPSILON < 1e-10 { f64::MIN_POSITIVE } else { f32::MIN_POSITIVE as f64 };
    const UNIT: f64 = 1.0;

    fn reals(self, len: usize) -> Vec<R> {
        vec![R::literal(0.0); len]
    }
    fn ints(self, len: usize) -> Vec<R::Int> {
        vec![R::int(0); len]
    }
    #[inline(always)]
    fn load(self, a: &[R], at: usize) -> R {
        a[at]
    }
    #[inline(always)]
    fn store(self, a: &mut [R], at: usize, x: R) {
        a[at] = x;
    }
    #[inline(always)]
    fn load_int(self, a: &[R::Int], at: usize) -> R::Int {
        a[at]
    }
    #[inline(always)]
    fn store_int(self, a: &mut [R::Int], at: usize, x: R::Int) {
        a[at] = x;
    }
    #[inline(always)]
    fn real_cell(self, x: R) -> Held<R> {
        Held(x)
    }
    #[inline(always)]
    fn mask_cell(self, x: R::Mask) -> Held<R::Mask> {
        Held(x)
    }
    #[inline(always)]
    fn int_cell(self, x: R::Int) -> Held<R::Int> {
        Held(x)
    }
    #[inline(always)]
    fn mask(self, x: bool) -> R::Mask {
        R::mask(x)
    }
    #[inline(always)]
    fn int(self, x: usize) -> R::Int {
        R::int(x)
    }
    #[inline(always)]
    fn add(self, x: R::Int, y: R::Int) -> R::Int {
        R::zip(x, y, |x, y| x + y)
    }
    #[inline(always)]
    fn subtract(self, x: R::Int, y: R::Int) -> R::Int {
        R::zip(x, y, |x, y| x - y)
    }
    #[inline(always)]
    fn same(self, x: R::Int, y: R::Int) -> R::Mask {
        R::compare(x, y, |x, y| x == y)
    }
    #[inline(always)]
    fn before(self, x: R::Int, y: R::Int) -> R::Mask {
        R::compare(x, y, |x, y| x < y)
    }
    #[inline(always)]
    fn select_int(self, mask: R::Mask, x: R::Int, y: R::Int) -> R::Int {
        R::select_int(mask, x, y)
    }
    #[inline(always)]
    fn ln(self, x: R) -> R {
        R::ln(x)
    }
    #[inline(always)]
    fn exponent(self, x: R) -> R::Int {
        R::exponent(x)
    }
    #[inline(always)]
    fn scaled(self, x: R, power: R::Int) -> R {
        R::scaled(x, power)
    }
    #[inline(always)]
    fn real(self, x: R::Int) -> R {
        R::of_int(x)
    }
    #[inline(always)]
    fn subtract_row(self, a: &mut [R], [to, from]: [usize; 2], [first, end]: [usize; 2], factor: R) {
        let (above, below) = a.split_at_mut(to);
        let row = &above[from + first..from + end];
        below[first..end].iter_mut().zip(row).for_each(|(x, y)| *x = *x - factor * *y);
    }
    #[inline(always)]
    fn range(self, from: impl Into<usize>, to: impl Into<usize>) -> Range<usize> {
        from.into()..to.into()
    }
    #[inline(always)]
    fn backwards(self, from: impl Into<usize>, to: impl Into<usize>) -> std::iter::Rev<Range<usize>> {
        (from.into()..to.into()).rev()
    }
    #[inline(always)]
    fn remainder(self, x: usize, by: usize) -> usize {
        x % by
    }
    #[inline(always)]
    fn wherever(self, mask: R::Mask) -> std::option::IntoIter<R::Mask> {
        R::any(mask).then_some(mask).into_iter()
    }
    #[inline(always)]
    fn are_finite(self, a: &[R], from: usize, to: usize) -> R::Mask {
        R::are_finite(&a[from..to])
    }
}

impl<E: Real> UniformMachine for Direct<E> {
    type Trips = Range<usize>;
    type Forever = RangeFrom<usize>;
    type Position = std::iter::Once<usize>;
    type Members = SetMembers;

    const APPROXIMANTS: &'static [(usize, f64)] =
        if size_of::<E>() == size_of::<f64>() { exponential::DOUBLE } else { exponential::SINGLE };

    #[inline(always)]
    fn trips(self, most: usize) -> Range<usize> {
        0..most
    }
    #[inline(always)]
    fn forever(self) -> RangeFrom<usize> {
        0..
    }
    #[inline(always)]
    fn leaves(self, mask: bool) -> bool {
        mask
    }
    #[inline(always)]
    fn position(self, x: i64, _: usize) -> std::iter::Once<usize> {
        std::iter::once(x as usize)
    }
    #[inline(always)]
    fn members(self, set: usize, _: usize) -> SetMembers {
        SetMembers::of(set)
    }
    fn exp(self, x: E) -> E {
        num_traits::Float::exp(x)
    }
    fn ceil(self, x: E) -> i64 {
        x.as_f64().ceil() as i64
    }
    fn two_to(self, power: i64) -> E {
        E::of_f64(2f64.powi(power as i32))
    }
    fn product(self, (n, size): (usize, usize), [a, b]: [&[E]; 2], out: &mut [E], adds: bool) {
        if !adds {
            out.fill(E::ZERO);
        }
        if size == n {
            return product_of_squares(n, a, b, out);
        }
        for i in 0..size {
            for k in 0..size {
                let (x, row) = (a[i * n + k], &b[k * n..][..size]);
                out[i * n..][..size].iter_mut().zip(row).for_each(|(sum, y)| *sum += x * *y);
            }
        }
    }
    fn factor_system(self, (n, size): (usize, usize), a: &mut [E], order: &mut [i64]) {
        if size < n {
            factors::factor(self, MatrixLayout::rows(n), size, a, order);
        } else {
            let system = a.to_vec();
            super::lu_factor(n, &system, a, order);
        }
    }
    fn solve_system(self, (n, size): (usize, usize), (lu, order): (&[E], &[i64]), b: &[E], x: &mut [E]) {
        let order = &order[..size];
        order.iter().zip(x.chunks_exact_mut(n)).for_each(|(p, x)| x.copy_from_slice(&b[*p as usize * n..][..n]));
        for l in [true, false] {
            let of = SolvedTriangle::of_factors(n, l, false);
            if size == n {
                TriangleView { of: lu, n, transposed: false, lower: l, unit: l }.solve(x, n);
            } else {
                (0..size).for_each(|j| of.substitute(self, size, lu, x, |i| i * n + j));
            }
        }
    }
    fn orthogonal(self, [rows, columns]: [usize; 2], a: &mut [E], q: &mut [E]) {
        let mut r = vec![E::ZERO; rows.min(columns) * columns];
        super::orthogonal::factors([rows, columns], a, q, &mut r);
        a[..r.len()].copy_from_slice(&r);
    }
    fn guarded_product(self, of: GuardedProduct, [a, b]: [&[E]; 2], out: &mut [E]) {
        let [of_b, of_out] = of.parts();
        super::product_no_nan(of.sizes, a, of.transposed, &b[of_b], &mut out[of_out]);
    }
    fn finite_product(self, of: GuardedProduct, [a, b]: [&[E]; 2], out: &mut [E]) {
        let [k, n] = of.sizes;
        if is_identity(k, n, a) { out.copy_from_slice(b) } else { self.guarded_product(of, [a, b], out) }
    }
    fn solve_triangle(self, of: SolvedTriangle, a: &[E], (b, _): (&[E], usize), x: &mut [E]) {
        super::solve_triangular(of.n, a, [of.lower != of.transposed, of.transposed, of.unit], b, x);
    }
    fn is_independent(self, n: usize, r: &[E], tolerance: f64) -> bool {
        super::least_squares::is_regular(n, r, E::of_f64(tolerance))
    }
}

impl<E: Real> DirectNumber for E {
    type Int = i64;

    const EPSILON: f64 = if size_of::<E>() == size_of::<f64>() { f64::EPSILON } else { f32::EPSILON as f64 };

    #[inline(always)]
    fn any(mask: bool) -> bool {
        mask
    }
    #[inline(always)]
    fn mask(x: bool) -> bool {
        x
    }
    #[inline(always)]
    fn int(x: usize) -> i64 {
        x as i64
    }
    #[inline(always)]
    fn zip(x: i64, y: i64, f: impl Fn(i64, i64) -> i64) -> i64 {
        f(x, y)
    }
    #[inline(always)]
    fn compare(x: i64, y: i64, f: impl Fn(i64, i64) -> bool) -> bool {
        f(x, y)
    }
    #[inline(always)]
    fn select_int(mask: bool, x: i64, y: i64) -> i64 {
        if mask { x } else { y }
    }
    fn ln(self) -> E {
        num_traits::Float::ln(self)
    }
    fn exponent(self) -> i64 {
        exponent([self].into_iter())
    }
    fn scaled(self, power: i64) -> E {
        scaled(self, power)
    }
    fn of_int(x: i64) -> E {
        E::of_f64(x as f64)
    }
    fn are_finite(x: &[E]) -> bool {
        x.iter().all(|x| num_traits::Float::is_finite(*x))
    }
}
