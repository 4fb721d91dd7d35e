//! Bounds of linear algebra: solutions, inverses, determinants, Cholesky factors, eigenvalues of symmetric matrices.
//!
//! Bounds of other factors are in `decomposed`.
//!
//! Laws: bounds hold for every matrix within its intervals, in exact arithmetic; a matrix that may be singular, or not
//! positive definite, has bounds that are NaN. And they hold for what is computed: at a point the kernel runs, and its
//! result is included; for other intervals, the matrix is widened by the backward error of elimination, which is at
//! most [`BACKWARD`] units for each pair of row and column, times the growth of pivots, `2^(n - 1)`, up to 20 rows.
//!
//! Methods (S. M. Rump, "Verification methods: rigorous results using floating-point arithmetic", 2010, sections 10 and
//! 13): a system is multiplied by an approximate inverse, and a box that the Krawczyk operator maps into its interior
//! contains the solution. A factorization is that of a matrix close to the identity, between approximate factors.
//! Eigenvalues are those of an approximate diagonalization, whose rest bounds the shift of each (H. Weyl), as the lack
//! of orthogonality bounds its factor (A. M. Ostrowski).

use super::decomposed::{self, at_most_one};
use super::interval::{ANYTHING, Interval, OutwardSum};
use super::{Cell, Elements, Enclosure, jumps, rows};
use crate::array::Array;
use crate::base::{BaseTensor, Report};
use crate::dtype::DType;
use crate::kernels::matrix as kernel;
use crate::ops::{Call, Matrix, Unary};
use crate::shape::size;

/// The backward error of elimination, of a triangular system and of an eigenvalue, in machine epsilons of the largest
/// element, divided by the square of the number of rows and by the growth of pivots.
pub(super) const BACKWARD: f64 = 4.0;
/// The number of attempts to find a box that is mapped into its interior.
const ATTEMPTS: usize = 12;

/// A matrix of intervals, row by row.
#[derive(Clone, Debug)]
pub(super) struct IntervalRows {
    pub(super) n: usize,
    pub(super) columns: usize,
    pub(super) of: Vec<Interval>,
}

impl IntervalRows {
    pub(super) fn new(n: usize, columns: usize, of: impl Fn(usize, usize) -> Interval) -> IntervalRows {
        let of = (0..n * columns).map(|k| of(k / columns, k % columns)).collect();
        IntervalRows { n, columns, of }
    }

    pub(super) fn points(n: usize, of: &[f64]) -> IntervalRows {
        IntervalRows { n, columns: n, of: of.iter().map(|x| Interval::point(*x)).collect() }
    }

    pub(super) fn identity(n: usize) -> IntervalRows {
        IntervalRows::new(n, n, |i, j| Interval::point(if i == j { 1.0 } else { 0.0 }))
    }

    pub(super) fn at(&self, i: usize, j: usize) -> Interval {
        self.of[i * self.columns + j]
    }

    pub(super) fn transposed(&self) -> IntervalRows {
        IntervalRows::new(self.columns, self.n, |i, j| self.at(j, i))
    }

    pub(super) fn product(&self, other: &IntervalRows) -> IntervalRows {
        IntervalRows::new(self.n, other.columns, |i, j| {
            sum((0..self.columns).map(|k| self.at(i, k).product(other.at(k, j))))
        })
    }

    pub(super) fn minus(&self, other: &IntervalRows) -> IntervalRows {
        IntervalRows::new(self.n, self.columns, |i, j| minus(self.at(i, j), other.at(i, j)))
    }

    pub(super) fn plus(&self, other: &IntervalRows) -> IntervalRows {
        IntervalRows::new(self.n, self.columns, |i, j| sum([self.at(i, j), other.at(i, j)].into_iter()))
    }

    pub(super) fn middle(&self) -> Vec<f64> {
        self.of.iter().map(|x| x.lo / 2.0 + x.hi / 2.0).collect()
    }

    /// The largest absolute value; infinite if an element may be NaN.
    pub(super) fn largest(&self) -> f64 {
        self.of.iter().map(|x| if x.nan { f64::INFINITY } else { x.magnitudes()[1] }).fold(0.0, f64::max)
    }

    /// Every element wider by so much at both ends.
    pub(super) fn widened(&self, by: f64) -> IntervalRows {
        let wider = |x: &Interval| Interval { lo: (x.lo - by).next_down(), hi: (x.hi + by).next_up(), nan: x.nan };
        IntervalRows { of: self.of.iter().map(wider).collect(), ..*self }
    }

    /// The symmetric part.
    pub(super) fn symmetric(&self) -> IntervalRows {
        let half = Interval::point(0.5);
        IntervalRows::new(self.n, self.n, |i, j| {
            if i == j { self.at(i, i) } else { sum([self.at(i, j), self.at(j, i)].into_iter()).product(half) }
        })
    }

    /// The largest sum of absolute values in a row, rounded up.
    pub(super) fn norm(&self) -> f64 {
        let row = |i: usize| (0..self.columns).fold(0.0f64, |s, j| (s + self.at(i, j).magnitudes()[1]).next_up());
        if self.of.iter().any(|x| x.nan) { f64::INFINITY } else { (0..self.n).map(row).fold(0.0, f64::max) }
    }
}

/// An exact sum, rounded outwards.
pub(super) fn sum(terms: impl Iterator<Item = Interval>) -> Interval {
    let mut all = OutwardSum::default();
    terms.for_each(|x| Interval::add(&mut all, x));
    all.exact()
}

pub(super) fn minus(x: Interval, y: Interval) -> Interval {
    sum([x, y.negated()].into_iter())
}

/// The intersection of both intervals; one of them may say nothing.
pub(super) fn common(x: Interval, y: Interval) -> Interval {
    let both = Interval { lo: x.lo.max(y.lo), hi: x.hi.min(y.hi), nan: x.nan && y.nan };
    if x.nan || (!y.nan && both.lo > both.hi) {
        y
    } else if y.nan {
        x
    } else {
        both
    }
}

fn both(x: Option<IntervalRows>, y: Option<IntervalRows>) -> Option<IntervalRows> {
    match (x, y) {
        (Some(x), Some(y)) => Some(IntervalRows::new(x.n, x.columns, |i, j| common(x.at(i, j), y.at(i, j)))),
        (x, y) => x.or(y),
    }
}

/// The solutions of `a x = b` for all matrices in `a`; `None` unless all of them are proven regular.
pub(super) fn solve(a: &IntervalRows, b: &IntervalRows) -> Option<IntervalRows> {
    let n = a.n;
    let mut inverse = vec![0.0; n * n];
    kernel::inverse(n, &a.middle(), &mut inverse);
    if !inverse.iter().all(|x| x.is_finite()) {
        return None;
    }
    let inverse = IntervalRows::points(n, &inverse);
    let rest = IntervalRows::identity(n).minus(&inverse.product(a));
    // An approximate solution, with a step of refinement: the middles of bounds.
    let middles = |x: &IntervalRows| IntervalRows { of: x.middle().into_iter().map(Interval::point).collect(), ..*x };
    let (center, right) = (middles(a), middles(b));
    let first = middles(&inverse.product(&right));
    let x = middles(&first.plus(&inverse.product(&right.minus(&center.product(&first)))));
    let start = inverse.product(&b.minus(&a.product(&x)));
    if !start.of.iter().chain(&rest.of).all(|x| !x.nan && x.magnitudes()[1].is_finite()) {
        return None;
    }
    let mut y = start.clone();
    for _ in 0..ATTEMPTS {
        let wider = |x: &Interval| {
            let by = 0.1 * (x.hi - x.lo) + 2.0 * f64::EPSILON * x.magnitudes()[1] + f64::MIN_POSITIVE;
            Interval { lo: x.lo - by, hi: x.hi + by, nan: false }
        };
        let box_of = IntervalRows { of: y.of.iter().map(wider).collect(), ..y };
        y = start.plus(&rest.product(&box_of));
        if y.of.iter().zip(&box_of.of).all(|(y, x)| !y.nan && x.lo < y.lo && y.hi < x.hi) {
            for _ in 0..3 {
                let next = start.plus(&rest.product(&y));
                y = IntervalRows::new(y.n, y.columns, |i, j| common(y.at(i, j), next.at(i, j)));
            }
            return Some(x.plus(&y));
        }
    }
    None
}

/// The solution for a triangular matrix, row by row.
fn substitution(a: &IntervalRows, lower: bool, b: &IntervalRows) -> Option<IntervalRows> {
    let n = a.n;
    let mut x = b.clone();
    for step in 0..n {
        let i = if lower { step } else { n - 1 - step };
        if a.at(i, i).nan || a.at(i, i).holds(0.0) {
            return None;
        }
        for column in 0..b.columns {
            let known = if lower { 0..i } else { i + 1..n };
            let terms = known.map(|k| a.at(i, k).product(x.at(k, column)).negated());
            let value = sum(terms.chain([b.at(i, column)])).quotient(a.at(i, i));
            x.of[i * b.columns + column] = value;
        }
    }
    Some(x)
}

/// The determinant by expansion along the first row.
fn expanded(a: &IntervalRows) -> Interval {
    if a.n == 0 {
        return Interval::point(1.0);
    }
    sum((0..a.n).map(|j| {
        let term = a.at(0, j).product(expanded(&without(a, 0, j)));
        if j % 2 == 0 { term } else { term.negated() }
    }))
}

/// The matrix without a row and a column.
fn without(a: &IntervalRows, row: usize, column: usize) -> IntervalRows {
    let at = |k: usize, gone: usize| if k < gone { k } else { k + 1 };
    IntervalRows::new(a.n - 1, a.n - 1, |i, j| a.at(at(i, row), at(j, column)))
}

/// Matrices of at most this many rows also have their determinant by expansion.
const EXPANDED: usize = 4;

/// Numbers whose product is the determinant: pivots of a matrix close to the identity, and the inverses of the diagonal
/// of an approximate factor. `None` if a pivot may be zero.
fn factors(a: &IntervalRows) -> Option<(Vec<Interval>, Vec<Interval>)> {
    let n = a.n;
    let (mut l, mut u, mut p) = (vec![0.0; n * n], vec![0.0; n * n], vec![0; n]);
    kernel::lu(n, &a.middle(), &mut l, &mut u, &mut p);
    let (mut left, mut right) = (vec![0.0; n * n], vec![0.0; n * n]);
    kernel::inverse(n, &l, &mut left);
    kernel::inverse(n, &u, &mut right);
    if !left.iter().chain(&right).all(|x| x.is_finite()) {
        return None;
    }
    // Any triangular matrices with known determinants will do.
    let left = IntervalRows::new(n, n, |i, j| {
        Interval::point(if j < i { left[i * n + j] } else { f64::from(u8::from(i == j)) })
    });
    let right = IntervalRows::new(n, n, |i, j| Interval::point(if j < i { 0.0 } else { right[i * n + j] }));
    let permuted = IntervalRows::new(n, n, |i, j| a.at(p[i] as usize, j));
    let mut b = left.product(&permuted).product(&right);
    for k in 0..n {
        if b.at(k, k).nan || b.at(k, k).holds(0.0) || right.at(k, k).holds(0.0) {
            return None;
        }
        for i in k + 1..n {
            let factor = b.at(i, k).quotient(b.at(k, k));
            for j in k + 1..n {
                b.of[i * n + j] = minus(b.at(i, j), factor.product(b.at(k, j)));
            }
        }
    }
    let mut pivots: Vec<Interval> = (0..n).map(|k| b.at(k, k)).collect();
    let mut seen = vec![false; n];
    let mut is_odd = false;
    for start in 0..n {
        let (mut at, mut length) = (start, 0);
        while !seen[at] {
            seen[at] = true;
            at = p[at] as usize;
            length += 1;
        }
        is_odd ^= length > 0 && length % 2 == 0;
    }
    if is_odd && let Some(first) = pivots.first_mut() {
        *first = first.negated();
    }
    Some((pivots, (0..n).map(|k| right.at(k, k)).collect()))
}

fn det(a: &IntervalRows) -> Interval {
    let by_factors = factors(a).map(|(pivots, divisors)| {
        let one = Interval::point(1.0);
        pivots.into_iter().zip(divisors).fold(one, |all, (pivot, divisor)| all.product(pivot.quotient(divisor)))
    });
    let by_expansion = (a.n <= EXPANDED).then(|| expanded(a));
    // The inequality of Hadamard.
    let length = |i: usize| (0..a.n).fold(0.0f64, |s, j| s.hypot(a.at(i, j).magnitudes()[1]).next_up().next_up());
    let most = (0..a.n).fold(1.0f64, |all, i| (all * length(i)).next_up());
    if a.largest() == f64::INFINITY {
        return ANYTHING;
    }
    [by_factors, by_expansion].into_iter().flatten().fold(Interval::between(-most, most), common)
}

/// The sign of the determinant, and the logarithm of its absolute value.
fn slogdet(a: &IntervalRows) -> [Interval; 2] {
    let log = |x: &Interval| {
        let [least, largest] = x.magnitudes();
        rows::unary(Unary::Ln, Interval { lo: least, hi: largest, nan: x.nan }, DType::F64)
    };
    let Some((pivots, divisors)) = factors(a) else {
        jumps::found();
        let det = det(a);
        let sign = match (det.lo > 0.0, det.hi < 0.0) {
            (true, _) => Interval::point(1.0),
            (_, true) => Interval::point(-1.0),
            (false, false) => Interval::between(-1.0, 1.0),
        };
        return [sign.or_nan(det.nan), log(&det)];
    };
    let is_negative = pivots.iter().chain(&divisors).filter(|x| x.hi < 0.0).count() % 2 == 1;
    let logs = pivots.iter().map(log).chain(divisors.iter().map(|x| log(x).negated()));
    // The kernel adds rounded logarithms.
    let (mut total, mut most) = (OutwardSum::default(), 0.0);
    for x in logs {
        most += x.magnitudes()[1];
        Interval::add(&mut total, x);
    }
    total.blur(BACKWARD * f64::EPSILON * a.n as f64 * most);
    [Interval::point(if is_negative { -1.0 } else { 1.0 }), Interval::total(&total, DType::F64)]
}

/// The Cholesky factor of a symmetric matrix, column by column.
fn eliminated(a: &IntervalRows) -> Option<IntervalRows> {
    let n = a.n;
    let mut l = IntervalRows::new(n, n, |_, _| Interval::ZERO);
    for j in 0..n {
        let square = |k: usize, l: &IntervalRows| l.at(j, k).square().negated();
        let pivot = sum((0..j).map(|k| square(k, &l)).chain([a.at(j, j)]));
        if pivot.nan || pivot.lo <= 0.0 {
            return None;
        }
        let root = rows::unary(Unary::Sqrt, pivot, DType::F64);
        l.of[j * n + j] = root;
        for i in j + 1..n {
            let terms = (0..j).map(|k| l.at(i, k).product(l.at(j, k)).negated());
            l.of[i * n + j] = sum(terms.chain([a.at(i, j)])).quotient(root);
        }
    }
    Some(l)
}

/// The Cholesky factor of a symmetric matrix; `None` unless all matrices are proven positive definite.
fn cholesky(a: &IntervalRows) -> Option<IntervalRows> {
    let n = a.n;
    let mut l = vec![0.0; n * n];
    kernel::cholesky(n, &a.middle(), &mut l);
    let near = l.iter().all(|x| x.is_finite()).then(|| IntervalRows::points(n, &l));
    // With the approximate factor l: the factor of l^-1 a l^-T, which is close to the identity, times l.
    let by_factor = near.and_then(|l| {
        let back = substitution(&l, true, &IntervalRows::identity(n))?;
        let inner = eliminated(&back.product(a).product(&back.transposed()).symmetric())?;
        Some(l.product(&inner))
    });
    both(by_factor, eliminated(a))
}

/// The eigenvalues of a symmetric matrix, in ascending order.
pub(super) fn eigenvalues(a: &IntervalRows) -> Option<Vec<Interval>> {
    let n = a.n;
    let (mut w, mut v) = (vec![0.0; n], vec![0.0; n * n]);
    kernel::eigh(n, &a.middle(), &mut w, &mut v);
    if !v.iter().chain(&w).all(|x| x.is_finite()) {
        return None;
    }
    let v = IntervalRows::points(n, &v);
    let skew = v.transposed().product(&v).minus(&IntervalRows::identity(n)).norm();
    let inner = v.transposed().product(a).product(&v);
    let mut diagonal: Vec<f64> = (0..n).map(|k| inner.at(k, k)).map(|x| x.lo / 2.0 + x.hi / 2.0).collect();
    let of_diagonal = IntervalRows::new(n, n, |i, j| Interval::point(if i == j { diagonal[i] } else { 0.0 }));
    let shift = inner.minus(&of_diagonal).norm();
    if !(skew < 0.5 && shift.is_finite()) {
        return None;
    }
    diagonal.sort_by(f64::total_cmp);
    let factor = Interval { lo: (1.0 - skew).next_down(), hi: (1.0 + skew).next_up(), nan: false };
    let shifted = |d: f64| sum([Interval::point(d), Interval { lo: -shift, hi: shift, nan: false }].into_iter());
    Some(diagonal.into_iter().map(|d| shifted(d).quotient(factor)).collect())
}

/// A triangle of a matrix, with ones on the diagonal if `unit`.
fn triangle(a: &IntervalRows, lower: bool, unit: bool) -> IntervalRows {
    IntervalRows::new(a.n, a.n, |i, j| match i == j {
        true if unit => Interval::point(1.0),
        true => a.at(i, j),
        false if (j < i) == lower => a.at(i, j),
        false => Interval::ZERO,
    })
}

/// The results of an operation on one matrix, each element by element.
fn of_one(op: Matrix, a: &IntervalRows, b: Option<&IntervalRows>, dtype: DType) -> Vec<Vec<Interval>> {
    let nothing = |n: usize| vec![ANYTHING; n];
    let (n, identity) = (a.n, IntervalRows::identity(a.n));
    let right = b.unwrap_or(&identity);
    let turned = |transposed: bool| if transposed { a.transposed() } else { a.clone() };
    let known = |x: Option<IntervalRows>| {
        x.map_or_else(
            || {
                jumps::found();
                nothing(n * right.columns)
            },
            |x| x.of,
        )
    };
    match op {
        Matrix::Cholesky => vec![known(cholesky(&a.symmetric()))],
        Matrix::Inverse => vec![known(solve(a, &identity))],
        Matrix::Det => vec![vec![det(a)]],
        Matrix::Minors { without: 1 } if a.largest() == f64::INFINITY => vec![nothing(n * n)],
        Matrix::Minors { without: 1 } => {
            let cofactor = |k: usize| {
                let minor = det(&without(a, k / n, k % n));
                if (k / n + k % n).is_multiple_of(2) { minor } else { minor.negated() }
            };
            vec![(0..n * n).map(cofactor).collect()]
        }
        Matrix::SlogDet => slogdet(a).map(|x| vec![x]).to_vec(),
        // Bounds of a solution are those by its matrix; the factors are not used.
        Matrix::LuFactor => vec![nothing(n * n)],
        Matrix::Solve { transposed } => vec![known(solve(&turned(transposed), right))],
        Matrix::SolveTriangular { lower, transposed, unit } => {
            let t = triangle(a, lower, unit);
            let t = if transposed { t.transposed() } else { t };
            vec![known(both(solve(&t, right), substitution(&t, lower != transposed, right)))]
        }
        Matrix::Eigh => {
            // Nothing but the length of an eigenvector is known, and its sign may jump.
            jumps::found();
            let values = eigenvalues(&a.symmetric());
            let vectors = vec![at_most_one(n).or_nan(values.is_none()); n * n];
            vec![values.unwrap_or_else(|| nothing(n)), vectors]
        }
        // A factor 0 makes a product 0, so a product of bounds is one of these products.
        Matrix::Product { transposed } => {
            vec![turned(transposed).product(right).of]
        }
        // The vectors are not known, so neither are their tangents.
        Matrix::EighSolve => vec![nothing((n + 1) * n)],
        Matrix::Minors { without } => vec![decomposed::minors_without(a, without.into())],
        Matrix::Lu => decomposed::lu(a).to_vec(),
        Matrix::Qr => decomposed::qr(a, dtype).to_vec(),
        Matrix::Pivots => vec![Vec::new(), vec![decomposed::sign_of_pivots(a)]],
        Matrix::Svd => {
            // As for eigenvectors.
            jumps::found();
            let (k, values) = (n.min(a.columns), decomposed::singular_values(a));
            let [u, vt] = [n, a.columns].map(|m| vec![at_most_one(n.max(a.columns)).or_nan(values.is_none()); m * k]);
            vec![u, values.unwrap_or_else(|| nothing(k)), vt]
        }
        Matrix::SvdSolve => vec![nothing((n + a.columns + 2) * n.min(a.columns))],
        // As for solutions, the factors are not used.
        Matrix::LstsqFactor => {
            let k = n.min(a.columns);
            [n * k, k * k, k * a.columns].map(nothing).to_vec()
        }
        Matrix::Lstsq { transposed } | Matrix::NullProjection { transposed } => {
            let projects = matches!(op, Matrix::NullProjection { .. });
            let x = decomposed::least_squares(&turned(transposed), right, dtype, projects);
            vec![x.map_or_else(
                || {
                    jumps::found();
                    nothing(if transposed { n } else { a.columns } * right.columns)
                },
                |x| x.of,
            )]
        }
        Matrix::Expm | Matrix::ExpmTangent { .. } => {
            let x = if let Matrix::ExpmTangent { transposed } = op {
                decomposed::exponential_tangent(&turned(transposed), right)
            } else {
                decomposed::exponential(a)
            };
            // A squaring doubles errors.
            vec![decomposed::blurred(&x, BACKWARD * (1.0 + a.norm()) * x.largest(), dtype).of]
        }
        Matrix::PrefixProduct | Matrix::Recurrence { .. } => unreachable!("a recurrence has bounds of its kind"),
    }
}

/// How much a matrix is widened, so that bounds hold for what is computed of it.
pub(super) fn backward_error(a: &IntervalRows, dtype: DType) -> f64 {
    let epsilon = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let [n, steps] = [a.n.max(a.columns), a.n.min(a.columns)];
    let growth = 2f64.powi(steps.saturating_sub(1).min(20) as i32);
    BACKWARD * (n * n) as f64 * growth * epsilon * a.largest()
}

/// The results of an operation of linear algebra, with each matrix of the batch.
pub(super) fn call(op: Matrix, args: &[Enclosure]) -> Vec<Enclosure> {
    let kinds: Vec<_> = args.iter().map(Enclosure::kind).collect();
    let results = Call::Matrix(op).results(&kinds);
    let (a, dtype) = (&args[0], args[0].dtype);
    let [.., n] = a.shape[..] else { unreachable!("a matrix has columns") };
    let operands = &args[..args.len().min(2)];
    let numbers: Option<Vec<Array>> = operands.iter().map(Report::peek).collect();
    let batch = size(&a.shape[..a.shape.len() - 2]);
    let part = |x: &Enclosure, k: usize| {
        let [.., rows, columns] = x.shape[..] else { unreachable!("a matrix has rows and columns") };
        let len = rows * columns;
        IntervalRows { n: rows, columns, of: x.as_floats()[k * len..(k + 1) * len].to_vec() }
    };
    let mut all: Vec<Vec<Interval>> = vec![Vec::new(); results.len()];
    for k in 0..batch {
        let right = args.get(1).map(|b| part(b, k));
        let matrix = part(a, k);
        let matrix = if numbers.is_some() { matrix } else { matrix.widened(backward_error(&matrix, dtype)) };
        let one = of_one(op, &matrix, right.as_ref(), dtype);
        all.iter_mut().zip(one).for_each(|(all, one)| all.extend(one));
    }
    let computed = numbers.filter(|_| op != Matrix::LuFactor).map(|mut numbers| {
        if let Some(factors) = op.factors() {
            numbers.extend(Array::call(&Call::Matrix(factors), &numbers[..1]));
            numbers.truncate(op.arity());
        }
        Array::call(&Call::Matrix(op), &numbers)
    });
    let finished = |(at, (shape, kind)): (usize, &(crate::shape::Shape, DType))| {
        if !kind.is_float() {
            // The rows of a factorization.
            return Enclosure::of(
                shape,
                *kind,
                Elements::Whole(vec![super::range::Range { lo: 0, hi: n as i64 }; size(shape)].into()),
            );
        }
        let mut of = std::mem::take(&mut all[at]);
        if let Some(computed) = &computed {
            let computed = Enclosure::constant(computed[at].clone());
            of.iter_mut().zip(computed.as_floats()).for_each(|(x, y)| *x = x.hull(*y));
        }
        Enclosure::of(shape, *kind, Elements::Floats(of.into_iter().map(|x| x.widened(0, dtype)).collect()))
    };
    results.iter().enumerate().map(finished).collect()
}
