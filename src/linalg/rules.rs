//! The rules for tangents of the operations of linear algebra.
//!
//! Law: a rule gives the tangents of the results from the tangents of the operands, by operations of the language that
//! are linear in the tangents; so forward mode is the rule, and reverse mode the transposed rule. Rules use operations
//! of linear algebra, which have rules, so all orders are covered. The formulas are those of M. Giles, "Collected
//! matrix derivative results for forward and reverse mode algorithmic differentiation" (2008), and for `e^a` of R.
//! Mathias, "A chain rule for matrix functions" (1996).

use super::algebra::OrTransposed::{As, T};
use super::algebra::*;
use super::minors;
use crate::base::BaseTensor;
use crate::ops::{Binary, Call, Compare, Discrete, Linear, Matrix, Unary};
use crate::source::mistake;

/// A tangent; `None` is zero.
type Tangent<U> = Option<U>;

/// The tangents of the results `y` of a call on `x`, from the tangents `dx` of the operands; `None` is zero, and one at
/// least is given. An interpreter that differentiates calls it in [`BaseTensor::call`].
///
/// ```
/// use polygrad::linalg::rules;
/// use polygrad::ops::{Call, Matrix};
/// use polygrad::{Array, BaseTensor};
/// // The inverse has the tangent `-a^-1 da a^-1`.
/// let inverse = Call::Matrix(Matrix::Inverse);
/// let (a, da) = (Array::from([[2.0]]), Array::from([[1.0]]));
/// let y = Array::call(&inverse, &[a.clone()]);
/// assert_eq!(rules::call(&inverse, &[a], &y, &[Some(da)]), [Some(Array::from([[-0.25]]))]);
/// ```
///
/// # Panics
/// When the call has no derivative: it is code of the host.
#[track_caller]
pub fn call<U: BaseTensor>(op: &Call, x: &[U], y: &[U], dx: &[Tangent<U>]) -> Vec<Tangent<U>> {
    match op {
        Call::Matrix(op) => tangents(*op, x, y, dx),
        Call::External(external) => mistake(&format!(
            "external: a derivative needs a rule, but `{}` has none; give one with custom_vjp or custom_jvp, or stop the \
             gradient of its arguments with stop_gradient",
            external.name()
        )),
        Call::Tap(tap) => tap.passed(dx).to_vec(),
    }
}

/// The tangents of the results `y` of an operation on `x`, from the tangents of `x`, with at least one given.
fn tangents<U: BaseTensor>(op: Matrix, x: &[U], y: &[U], dx: &[Tangent<U>]) -> Vec<Tangent<U>> {
    let (a, da) = (&x[0], dx[0].as_ref());
    let given = || da.expect("the operand has a tangent").clone();
    match op {
        Matrix::Cholesky => vec![Some(cholesky(&y[0], &given()))],
        Matrix::Inverse => vec![Some(negated(&guarded(As(&guarded(As(&y[0]), As(&given()))), As(&y[0]))))],
        Matrix::Det => {
            vec![Some(guarded_inner(&one(Matrix::Minors { without: 1 }, std::slice::from_ref(a)), &given()))]
        }
        Matrix::Minors { without } => vec![minors::minors(without, a, &y[0], &given())],
        Matrix::Pivots => vec![None, None],
        Matrix::SlogDet => vec![None, Some(relative(a, &given()))],
        Matrix::Lu => lu(y, &given()),
        Matrix::LuFactor => vec![None, None],
        Matrix::Solve { transposed } => vec![solve(op, x, y, dx, &|a, y| applied(a, y, transposed))],
        Matrix::SolveTriangular { lower, transposed, unit } => {
            let counts = match (lower, unit) {
                (true, false) => (Compare::Le, 0),
                (true, true) => (Compare::Le, -1),
                (false, false) => (Compare::Ge, 0),
                (false, true) => (Compare::Ge, 1),
            };
            vec![solve(op, x, y, dx, &|a, y| applied(&part(a, counts.0, counts.1), y, transposed))]
        }
        Matrix::Qr => qr(a, y, &given()),
        Matrix::Eigh => eigh(a, y, &given()),
        Matrix::EighSolve => vec![eigh_solve(x, &y[0], dx)],
        Matrix::Svd => svd(a, y, &given()),
        Matrix::SvdSolve => vec![svd_solve(x, &y[0], dx)],
        Matrix::LstsqFactor => vec![None; 4],
        Matrix::Lstsq { transposed } => vec![LeastSquares { x, transposed }.solution(&y[0], dx)],
        Matrix::NullProjection { transposed } => vec![LeastSquares { x, transposed }.projection(&y[0], dx)],
        Matrix::Product { transposed } => vec![product(transposed, x, dx)],
        Matrix::Expm => vec![Some(one(Matrix::ExpmTangent { transposed: false }, &[a.clone(), given()]))],
        Matrix::ExpmTangent { transposed } => vec![expm_tangent(transposed, x, dx)],
        Matrix::PrefixProduct => vec![Some(prefix_product(a, &y[0], &given()))],
        Matrix::Recurrence { transposed } => vec![recurrence(transposed, x, &y[0], dx)],
    }
}

fn negated<U: BaseTensor>(x: &U) -> U {
    x.unary(Unary::Neg)
}

/// `d(op(a) b) = op(da) b + op(a) db`.
fn product<U: BaseTensor>(transposed: bool, x: &[U], dx: &[Tangent<U>]) -> Tangent<U> {
    let moved = dx[1].as_ref().map(|db| one(Matrix::Product { transposed }, &[x[0].clone(), db.clone()]));
    let other = dx[0].as_ref().map(|da| {
        let turned = if transposed { da.clone() } else { t(da) };
        t(&one(Matrix::Product { transposed: true }, &[x[1].clone(), turned]))
    });
    both(moved, other)
}

/// The sum of two tangents.
fn both<U: BaseTensor>(a: Tangent<U>, b: Tangent<U>) -> Tangent<U> {
    match (a, b) {
        (Some(a), Some(b)) => Some(plus(&a, &b)),
        (a, b) => a.or(b),
    }
}

/// `dl = l Phi(l^-1 sym(da) l^-T)`, where `Phi` takes the lower triangle and half of the diagonal.
fn cholesky<U: BaseTensor>(l: &U, da: &U) -> U {
    let x = triangular(l, &symmetric(da), true, false, false);
    let s = triangular(l, &t(&x), true, false, false);
    let half = times(&part(&s, Compare::Eq, 0), &number(s.shape(), s.dtype(), 0.5));
    guarded(As(l), As(&plus(&below(&s), &half)))
}

/// The trace of `a^-1 da`: the relative change of the determinant.
fn relative<U: BaseTensor>(a: &U, da: &U) -> U {
    guarded_inner(&t(&one(Matrix::Inverse, std::slice::from_ref(a))), da)
}

/// With `m = l^-1 p da u^-1`: `dl = l lower(m)` without the diagonal, `du = upper(m) u`.
fn lu<U: BaseTensor>(y: &[U], da: &U) -> Vec<Tangent<U>> {
    let (l, u) = (&y[0], &y[1]);
    let rows = mm(As(&permutation(&y[2], l.dtype())), As(da));
    let x = triangular(l, &rows, true, false, true);
    let m = t(&triangular(u, &t(&x), false, true, false));
    vec![Some(guarded(As(l), As(&below(&m)))), Some(guarded(As(&part(&m, Compare::Ge, 0)), As(u))), None]
}

/// `dx = op(a)^-1 (db - op(da) x)`.
fn solve<U: BaseTensor>(op: Matrix, x: &[U], y: &[U], dx: &[Tangent<U>], by: &dyn Fn(&U, &U) -> U) -> Tangent<U> {
    let moved = dx[0].as_ref().map(|da| negated(&by(da, &y[0])));
    let right = both(dx[1].clone(), moved)?;
    let args: Vec<U> = [&x[..1], &[right], &x[2..]].concat();
    Some(one(op, &args))
}

/// With `g = da r^-1` and `c = q^T g`: `dq = g - q (upper(c) + lower(c)^T)`, where the lower triangle is without the
/// diagonal, and `dr = q^T da + dq^T a`. If there are more columns than rows, `q` depends on the first columns alone.
///
/// A column that depends on those before it, with a 0 on the diagonal of `r`, leaves its column of `q` open: from there
/// on, columns of `dq` and rows of `dr` are NaN, unless they are 0. Those before do not depend on it: their equations
/// have the identity for the rest of `r`, and read the columns of `q` up to their own.
fn qr<U: BaseTensor>(a: &U, y: &[U], da: &U) -> Vec<Tangent<U>> {
    let (q, r) = (&y[0], &y[1]);
    let [k, n] = sizes(r);
    let (square, first) = if k < n { (columns(r, 0, k), columns(da, 0, k)) } else { (r.clone(), da.clone()) };
    let behind = Behind::first_zero(&square);
    let g = t(&triangular(&behind.identity(&square), &t(&first), false, true, false));
    let c = guarded(T(q), As(&g));
    let along = plus(&part(&c, Compare::Ge, 0), &t(&below(&c)));
    let dq = behind.open(&minus(&g, &guarded(As(q), As(&along))), 1);
    let dr = part(&plus(&guarded(T(q), As(da)), &guarded(T(&dq), As(a))), Compare::Ge, 0);
    vec![Some(dq), Some(behind.open(&dr, 0))]
}

/// The positions from the first zero on the diagonals of triangles on, as a mask for each.
struct Behind<U>(U);

impl<U: BaseTensor> Behind<U> {
    fn first_zero(r: &U) -> Behind<U> {
        let (diagonal, shape) = (diagonal(r), r.shape());
        let zeros = U::zeros(diagonal.shape(), r.dtype());
        let is_zero = U::discrete(&Discrete::Compare(Compare::Eq), &[&diagonal, &zeros]);
        let ones = U::discrete(&Discrete::ToFloat(r.dtype()), &[&is_zero]);
        // The number of zeros up to each position.
        let before = part(&along(&ones, shape, 1), Compare::Le, 0);
        let count = before.linear(&over(shape, 0).adjoint());
        Behind(U::discrete(&Discrete::Compare(Compare::Gt), &[&count, &zeros]))
    }

    /// The triangles, with rows and columns of the identity behind the first zero.
    fn identity(&self, r: &U) -> U {
        let one = part(&number(r.shape(), r.dtype(), 1.0), Compare::Eq, 0);
        // Elements below the diagonal are zeros anyway, so the columns suffice.
        U::select(&along(&self.0, r.shape(), 1), &one, r)
    }

    /// Elements after the given ones are NaN, unless they are 0: along the columns (`axis` 1), or the rows.
    fn open(&self, x: &U, axis: usize) -> U {
        let weight = |w: f64| number(x.shape(), x.dtype(), w);
        let weights = U::select(&along(&self.0, x.shape(), axis), &weight(f64::NAN), &weight(1.0));
        weights.binary(Binary::MulNoNan, x)
    }
}

/// The tangents of eigenvectors, `(w - a) dv + dw v = da v`, above those of eigenvalues, in a row.
fn eigenvector_tangents<U: BaseTensor>(a: &U, [w, v]: [&U; 2], da: &U) -> U {
    let moved = guarded(As(&symmetric(da)), As(v));
    let rank = moved.shape().len();
    let right = U::concat(rank - 2, &[moved, row_of(&U::zeros(w.shape(), w.dtype()))]);
    one(Matrix::EighSolve, &[a.clone(), right, w.clone(), v.clone()])
}

fn eigh<U: BaseTensor>(a: &U, y: &[U], da: &U) -> Vec<Tangent<U>> {
    let (w, v) = (&y[0], &y[1]);
    let all = eigenvector_tangents(a, [w, v], da);
    let n = w.shape()[w.shape().len() - 1];
    vec![Some(vector_of(&rows(&all, n, 1))), Some(rows(&all, 0, n))]
}

/// The matrix of the equations is `[w - a, v; v^T, 0]`, for each eigenvector: its tangent applied to the solution is
/// taken from the right-hand side.
fn eigh_solve<U: BaseTensor>(x: &[U], y: &U, dx: &[Tangent<U>]) -> Tangent<U> {
    let (a, w, v) = (&x[0], &x[2], &x[3]);
    let moved = dx[0].as_ref().map(|da| {
        let (all, n) = (eigenvector_tangents(a, [w, v], da), a.shape()[a.shape().len() - 1]);
        let (dv, dw) = (rows(&all, 0, n), vector_of(&rows(&all, n, 1)));
        let (top, last) = (rows(y, 0, n), vector_of(&rows(y, n, 1)));
        let changed = minus(&by_columns(&top, &dw), &guarded(As(&symmetric(da)), As(&top)));
        let changed = plus(&changed, &by_columns(&dv, &last));
        negated(&U::concat(changed.shape().len() - 2, &[changed, row_of(&column_sums(&top, &dv))]))
    });
    let right = both(dx[1].clone(), moved)?;
    Some(one(Matrix::EighSolve, &[a.clone(), right, w.clone(), v.clone()]))
}

/// The tangents of the vectors on the left, of those on the right, and twice, in rows, of the singular values:
/// `s du - a dv + ds u = da v`, `s dv - a^T du + ds v = da^T u`, where vectors keep their length.
fn singular_tangents<U: BaseTensor>(a: &U, factors: &[U], da: &U) -> [U; 3] {
    let (u, s, vt) = (&factors[0], &factors[1], &factors[2]);
    let none = row_of(&U::zeros(s.shape(), s.dtype()));
    let parts = [guarded(As(da), T(vt)), guarded(T(da), As(u)), none.clone(), none];
    let all =
        one(Matrix::SvdSolve, &[a.clone(), U::concat(a.shape().len() - 2, &parts), u.clone(), s.clone(), vt.clone()]);
    let [m, n] = sizes(a);
    [rows(&all, 0, m), rows(&all, m, n), vector_of(&rows(&all, m + n, 1))]
}

fn svd<U: BaseTensor>(a: &U, y: &[U], da: &U) -> Vec<Tangent<U>> {
    let [du, dv, ds] = singular_tangents(a, y, da);
    vec![Some(du), Some(ds), Some(t(&dv))]
}

/// The matrix of the equations is `[s, -a, u, 0; -a^T, s, 0, v; u^T, 0, 0, 0; 0, v^T, 0, 0]`, for each singular value.
fn svd_solve<U: BaseTensor>(x: &[U], y: &U, dx: &[Tangent<U>]) -> Tangent<U> {
    let a = &x[0];
    let moved = dx[0].as_ref().map(|da| {
        let [du, dv, ds] = singular_tangents(a, &x[2..], da);
        let [m, n] = sizes(a);
        let (left, right) = (rows(y, 0, m), rows(y, m, n));
        let [first, second] = [m + n, m + n + 1].map(|at| vector_of(&rows(y, at, 1)));
        let of_left = minus(&by_columns(&left, &ds), &guarded(As(da), As(&right)));
        let of_left = plus(&of_left, &by_columns(&du, &first));
        let of_right = minus(&by_columns(&right, &ds), &guarded(T(da), As(&left)));
        let of_right = plus(&of_right, &by_columns(&dv, &second));
        let ends = [column_sums(&left, &du), column_sums(&right, &dv)].map(|x| row_of(&x));
        let [first, second] = ends;
        negated(&U::concat(a.shape().len() - 2, &[of_left, of_right, first, second]))
    });
    let right = both(dx[1].clone(), moved)?;
    let args: Vec<U> = [&x[..1], &[right], &x[2..]].concat();
    Some(one(Matrix::SvdSolve, &args))
}

/// Least squares with `m`, the matrix `a` or its transpose, by its factors. The rank is constant, and `n` is the
/// projection `1 - m^+ m`. G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
/// problems whose variables separate" (1973).
struct LeastSquares<'x, U> {
    /// The matrix, the right-hand side, and the factors.
    x: &'x [U],
    transposed: bool,
}

impl<U: BaseTensor> LeastSquares<'_, U> {
    fn call(&self, op: Matrix, z: &U) -> U {
        one(op, &[&self.x[..1], std::slice::from_ref(z), &self.x[2..]].concat())
    }

    /// `m^+ z`.
    fn solved(&self, z: &U) -> U {
        self.call(Matrix::Lstsq { transposed: self.transposed }, z)
    }

    /// `n z`.
    fn projected(&self, z: &U) -> U {
        self.call(Matrix::NullProjection { transposed: self.transposed }, z)
    }

    /// `dm^T m^+T z`. The vectors have a largest element of 1 in between, so no value has the magnitude of a product of
    /// elements of two operands, which may overflow.
    fn turned(&self, da: &U, z: &U) -> U {
        let (unit, size) = in_units(z);
        let other = self.call(Matrix::Lstsq { transposed: !self.transposed }, &unit);
        let moved = applied(da, &other, !self.transposed);
        guarded_times(&stretch(&size, moved.shape()), &moved)
    }

    /// `dx = m^+ (db - dm x + m^+T dm^T (b - m x)) + n dm^T m^+T x`.
    fn solution(&self, y: &U, dx: &[Tangent<U>]) -> Tangent<U> {
        let Some(da) = &dx[0] else { return dx[1].as_ref().map(|db| self.solved(db)) };
        let (a, b) = (&self.x[0], &self.x[1]);
        let (residual, size) = in_units(&minus(b, &applied(a, y, self.transposed)));
        let turned =
            self.call(Matrix::Lstsq { transposed: !self.transposed }, &applied(da, &residual, !self.transposed));
        let turned = guarded_times(&stretch(&size, turned.shape()), &turned);
        let moved = minus(&turned, &applied(da, y, self.transposed));
        let right = both(dx[1].clone(), Some(moved))?;
        Some(plus(&self.solved(&right), &self.projected(&self.turned(da, y))))
    }

    /// `dw = n dz - m^+ dm w - n dm^T m^+T z`.
    fn projection(&self, y: &U, dx: &[Tangent<U>]) -> Tangent<U> {
        let Some(da) = &dx[0] else { return dx[1].as_ref().map(|dz| self.projected(dz)) };
        let moved = self.solved(&applied(da, y, self.transposed));
        let right = both(dx[1].clone(), Some(negated(&self.turned(da, &self.x[1]))))?;
        Some(minus(&self.projected(&right), &moved))
    }
}

/// The tangent of `L(a, e)`, the derivative of `exp` at `a` in the direction `e`: it is linear in `e`, and its
/// derivative in the direction `da` of `a` is the upper right block of `L([a e; 0 a], [da 0; 0 da])`.
fn expm_tangent<U: BaseTensor>(transposed: bool, x: &[U], dx: &[Tangent<U>]) -> Tangent<U> {
    let op = Matrix::ExpmTangent { transposed };
    let moved = dx[1].as_ref().map(|de| one(op, &[x[0].clone(), de.clone()]));
    let Some(da) = &dx[0] else { return moved };
    // Where the exponential is not finite, the second derivative is NaN, but 0 for a direction 0.
    let fine = are_finite(&one(Matrix::Expm, &x[..1]));
    let nan = nan_unless(&fine, da.shape(), da.dtype());
    let fine = U::discrete(&Discrete::Compare(Compare::Eq), &[&nan, &nan]);
    let or_zeros = |x: &U| U::select(&fine, x, &U::zeros(x.shape(), x.dtype()));
    let open = guarded(As(&marked(&nan, &x[1])), As(&marked(&nan, da)));
    let turned = |a: &U| if transposed { t(a) } else { a.clone() };
    let (a, e, da) = (turned(&or_zeros(&x[0])), &or_zeros(&x[1]), turned(&or_zeros(da)));
    let zeros = U::zeros(a.shape(), a.dtype());
    let (rank, n) = (a.shape().len(), a.shape()[a.shape().len() - 1]);
    let block = |upper: [&U; 2], lower: [&U; 2]| {
        let rows = [upper, lower].map(|row| U::concat(rank - 1, &row.map(U::clone)));
        U::concat(rank - 2, &rows)
    };
    let (big, direction) = (block([&a, e], [&zeros, &a]), block([&da, &zeros], [&zeros, &da]));
    let result = one(Matrix::ExpmTangent { transposed: false }, &[big, direction]);
    let right = columns(&result, n, n);
    let upper = right.linear(&Linear::slice(right.shape(), rank - 2, 0, n, 1));
    both(moved, Some(plus(&upper, &open)))
}

/// `dy[i] = a[i] dy[i - 1] + da[i] y[i - 1]`, a recurrence, where 1 comes before the first product.
fn prefix_product<U: BaseTensor>(a: &U, y: &U, da: &U) -> U {
    let (rank, m) = (a.shape().len(), a.shape()[a.shape().len() - 2]);
    if m == 0 {
        return da.clone();
    }
    let first = rows(y, 0, 1);
    let before = U::concat(rank - 2, &[number(first.shape(), y.dtype(), 1.0), rows(y, 0, m - 1)]);
    one(Matrix::Recurrence { transposed: false }, &[a.clone(), times(da, &before)])
}

/// `dy[i] = a[i] dy[i - 1] + db[i] + da[i] y[i - 1]`, or transposed with `i + 1` for `i` in `a`, and for `i - 1`. What
/// `da` adds is never at the first value.
fn recurrence<U: BaseTensor>(transposed: bool, x: &[U], y: &U, dx: &[Tangent<U>]) -> Tangent<U> {
    let (rank, m) = (y.shape().len(), y.shape()[y.shape().len() - 2]);
    let moved = dx[0].as_ref().filter(|_| m > 0).map(|da| {
        let (from, place) = if transposed { (1, 0) } else { (0, 1) };
        let added = times(&rows(da, 1, m - 1), &rows(y, from, m - 1));
        added.linear(&Linear::slice(y.shape(), rank - 2, place, m - 1, 1).adjoint())
    });
    let right = both(dx[1].clone(), moved)?;
    Some(one(Matrix::Recurrence { transposed }, &[x[0].clone(), right]))
}
