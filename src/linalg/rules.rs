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
use crate::ops::{Call, Compare, Linear, Matrix, Unary};
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

/// The tangents of the results `y` of an operation on `x`, from the tangents of `x`, at least one of which is given.
fn tangents<U: BaseTensor>(op: Matrix, x: &[U], y: &[U], dx: &[Tangent<U>]) -> Vec<Tangent<U>> {
    let (a, da) = (&x[0], dx[0].as_ref());
    let given = || da.expect("the operand has a tangent").clone();
    match op {
        Matrix::Cholesky => vec![Some(cholesky(&y[0], &given()))],
        Matrix::Inverse => vec![Some(negated(&mm(As(&mm(As(&y[0]), As(&given()))), As(&y[0]))))],
        Matrix::Det => vec![Some(inner(&one(Matrix::Minors { without: 1 }, std::slice::from_ref(a)), &given()))],
        Matrix::Minors { without } => vec![minors::minors(without, a, &y[0], &given())],
        Matrix::Pivots => vec![None, None],
        Matrix::SlogDet => vec![None, Some(relative(a, &given()))],
        Matrix::Lu => lu(y, &given()),
        Matrix::LuFactor => vec![None, None],
        Matrix::Solve { transposed } => vec![solve(op, x, y, dx, &|a, y| product(a, y, transposed))],
        Matrix::SolveTriangular { lower, transposed, unit } => {
            let counts = match (lower, unit) {
                (true, false) => (Compare::Le, 0),
                (true, true) => (Compare::Le, -1),
                (false, false) => (Compare::Ge, 0),
                (false, true) => (Compare::Ge, 1),
            };
            vec![solve(op, x, y, dx, &|a, y| product(&part(a, counts.0, counts.1), y, transposed))]
        }
        Matrix::Qr => qr(y, &given()),
        Matrix::Eigh => eigh(y, &given()),
        Matrix::Svd => svd(y, &given()),
        Matrix::Lstsq => vec![Some(lstsq(x, &y[0], dx))],
        Matrix::Expm => vec![Some(one(Matrix::ExpmTangent { transposed: false }, &[a.clone(), given()]))],
        Matrix::ExpmTangent { transposed } => vec![expm_tangent(transposed, x, dx)],
        Matrix::PrefixProduct => vec![Some(prefix_product(a, &y[0], &given()))],
        Matrix::Recurrence { transposed } => vec![recurrence(transposed, x, &y[0], dx)],
    }
}

fn negated<U: BaseTensor>(x: &U) -> U {
    x.unary(Unary::Neg)
}

fn product<U: BaseTensor>(a: &U, b: &U, transposed: bool) -> U {
    mm(if transposed { T(a) } else { As(a) }, As(b))
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
    mm(As(l), As(&plus(&below(&s), &half)))
}

/// The trace of `a^-1 da`: the relative change of the determinant.
fn relative<U: BaseTensor>(a: &U, da: &U) -> U {
    inner(&t(&one(Matrix::Inverse, std::slice::from_ref(a))), da)
}

/// With `m = l^-1 p da u^-1`: `dl = l lower(m)` without the diagonal, `du = upper(m) u`.
fn lu<U: BaseTensor>(y: &[U], da: &U) -> Vec<Tangent<U>> {
    let (l, u) = (&y[0], &y[1]);
    let rows = mm(As(&permutation(&y[2], l.dtype())), As(da));
    let x = triangular(l, &rows, true, false, true);
    let m = t(&triangular(u, &t(&x), false, true, false));
    vec![Some(mm(As(l), As(&below(&m)))), Some(mm(As(&part(&m, Compare::Ge, 0)), As(u))), None]
}

/// `dx = op(a)^-1 (db - op(da) x)`.
fn solve<U: BaseTensor>(op: Matrix, x: &[U], y: &[U], dx: &[Tangent<U>], by: &dyn Fn(&U, &U) -> U) -> Tangent<U> {
    let moved = dx[0].as_ref().map(|da| negated(&by(da, &y[0])));
    let right = both(dx[1].clone(), moved)?;
    let args: Vec<U> = [&x[..1], &[right], &x[2..]].concat();
    Some(one(op, &args))
}

/// With `g = da r^-1`, `c = q^T g` and `w` the strictly lower triangle of `c` minus its transpose: `dq = q (w - c) + g`
/// and `dr = (c - w) r`. If there are more columns than rows, `q` depends on the first columns alone.
fn qr<U: BaseTensor>(y: &[U], da: &U) -> Vec<Tangent<U>> {
    let (q, r) = (&y[0], &y[1]);
    let shape = r.shape();
    let (k, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let (square, first) = if k < n { (columns(r, 0, k), columns(da, 0, k)) } else { (r.clone(), da.clone()) };
    let g = t(&triangular(&square, &t(&first), false, true, false));
    let c = mm(T(q), As(&g));
    let below = below(&c);
    let w = minus(&below, &t(&below));
    let dq = plus(&mm(As(q), As(&minus(&w, &c))), &g);
    let dr = if k < n { mm(T(q), As(&minus(da, &mm(As(&dq), As(r))))) } else { mm(As(&minus(&c, &w)), As(r)) };
    vec![Some(dq), Some(dr)]
}

/// With `s = v^T sym(da) v`: `dw` is its diagonal, and `dv = v (f s)`, `f_ij = 1 / (w_j - w_i)` off the diagonal.
fn eigh<U: BaseTensor>(y: &[U], da: &U) -> Vec<Tangent<U>> {
    let (w, v) = (&y[0], &y[1]);
    let s = mm(T(v), As(&mm(As(&symmetric(da)), As(v))));
    let gaps = minus(&along(w, s.shape(), 1), &along(w, s.shape(), 0));
    let dv = mm(As(v), As(&times(&reciprocal_off_diagonal(&gaps), &s)));
    vec![Some(diagonal(&s)), Some(dv)]
}

/// With `p = u^T da v`: `ds` is its diagonal; `du = u (f (p s + s p^T))` and `dv = v (f (s p + p^T s))`,
/// `f_ij = 1 / (s_j^2 - s_i^2)` off the diagonal, plus the parts of `da v` and `da^T u` outside of the span of `u` and
/// `v`, divided by `s`.
fn svd<U: BaseTensor>(y: &[U], da: &U) -> Vec<Tangent<U>> {
    let (u, s, vt) = (&y[0], &y[1], &y[2]);
    let p = mm(T(u), As(&mm(As(da), T(vt))));
    let shape = p.shape();
    let (by_columns, by_rows) = (along(s, shape, 1), along(s, shape, 0));
    // The singular values are not squared, since the squares overflow or underflow before the values do.
    let share = reciprocal_off_diagonal(&plus(&by_columns, &by_rows));
    let gap = reciprocal_off_diagonal(&minus(&by_columns, &by_rows));
    let twice = |x: U| times(&gap, &plus(&x, &t(&x)));
    let mut du = mm(As(u), As(&twice(times(&p, &times(&share, &by_columns)))));
    let mut dv = mm(T(vt), As(&twice(times(&times(&share, &by_rows), &p))));
    let (m, n) = (da.shape()[da.shape().len() - 2], da.shape()[da.shape().len() - 1]);
    // The part of `moved` outside of the span of the basis, divided by the singular values.
    let outside = |basis: OrTransposed<'_, U>, coordinates: U, moved: U| {
        let rest = minus(&moved, &mm(basis, As(&coordinates)));
        let over = along(&s.unary(Unary::Recip), rest.shape(), 1);
        times(&rest, &over)
    };
    if m > n {
        let moved = mm(As(da), T(vt));
        du = plus(&du, &outside(As(u), p.clone(), moved));
    }
    if n > m {
        let moved = mm(T(da), As(u));
        dv = plus(&dv, &outside(T(vt), t(&p), moved));
    }
    vec![Some(du), Some(diagonal(&p)), Some(t(&dv))]
}

/// With `a = q r`: `dx = r^-1 (q^T (db - da x) + (da r^-1)^T (b - a x))`.
fn lstsq<U: BaseTensor>(x: &[U], y: &U, dx: &[Tangent<U>]) -> U {
    let (a, b) = (&x[0], &x[1]);
    let factors = U::call(&Call::Matrix(Matrix::Qr), std::slice::from_ref(a));
    let (q, r) = (&factors[0], &factors[1]);
    let mut right = dx[1].as_ref().map(|db| mm(T(q), As(db)));
    if let Some(da) = &dx[0] {
        let residual = minus(b, &mm(As(a), As(y)));
        // In this order no intermediate value has the magnitude of a product of elements of `a` and `b`, which may
        // overflow.
        let turned = mm(As(&triangular(r, &t(da), false, true, false)), As(&residual));
        let moved = minus(&turned, &mm(T(q), As(&mm(As(da), As(y)))));
        right = both(right, Some(moved));
    }
    triangular(r, &right.expect("an operand has a tangent"), false, false, false)
}

/// The tangent of `L(a, e)`, the derivative of `exp` at `a` in the direction `e`: it is linear in `e`, and its
/// derivative in the direction `da` of `a` is the upper right block of `L([a e; 0 a], [da 0; 0 da])`.
fn expm_tangent<U: BaseTensor>(transposed: bool, x: &[U], dx: &[Tangent<U>]) -> Tangent<U> {
    let op = Matrix::ExpmTangent { transposed };
    let moved = dx[1].as_ref().map(|de| one(op, &[x[0].clone(), de.clone()]));
    let Some(da) = &dx[0] else { return moved };
    let turned = |a: &U| if transposed { t(a) } else { a.clone() };
    let (a, e, da) = (turned(&x[0]), &x[1], turned(da));
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
    both(moved, Some(upper))
}

/// `dy[i] = a[i] dy[i - 1] + da[i] y[i - 1]`, a recurrence, where 1 stands before the first product.
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
