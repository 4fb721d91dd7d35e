//! Loops over arrays, as syntax.
//!
//! Law: each is the morphism of [`Arrays`] of its name, composed with its arguments. The type of an array determines that
//! of its elements ([`Rows`]), so no loop needs a type argument. The methods take the array first, for which reason the
//! parameter of a function that is written in place has a known type.

use std::panic::Location;

use polygrad::array::Array;
use polygrad::seam::mistake;
use polygrad::tensor::Tensor;

use super::cases::{if_, inl, inr, iterate};
use super::category::Arrays;
use super::expr::{Expr, fun3, lam, tup};
use super::object::{Arr, Fun, Ground, Int, Mask, Obj, Prod, Rows, Stack};
use super::operators::{apply, constant};
use super::primitive::{IsSingle, Neighbours, RowAt, Take, leaves};

/// Applies a function to every element along the outermost axis.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Matrix, Vector, fun1, lam, map};
/// /// The sum of each row, and its square: as a function, and as a method.
/// fn squares<C: Arrays>() -> Expr<C, Matrix, Vector> {
///     fun1(|x| map(lam(|row| row.at().sum()), x.at()).map(lam(|sum| sum.at() * sum.at())))
/// }
/// assert_eq!(higher::run(squares(), &tensor([[1.0, 2.0], [3.0, 4.0]])), tensor([9.0, 49.0]));
/// ```
///
/// # Panics
/// When a program runs in which the elements are pairs, and their arrays are not equally long.
#[track_caller]
pub fn map<C: Arrays, G: Obj, X: Rows, B: Stack>(
    f: Expr<C, G, Fun<X::Row, B>>,
    xs: Expr<C, G, X>,
) -> Expr<C, G, B::Stacked> {
    tup(f, xs).then(C::written(C::map::<X::Row, B>(), Location::caller()))
}

/// The final state of a left fold over all elements.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Real, Vector, fold, fun1, lam2, num};
/// /// `((0 * 10 + x0) * 10 + x1) * 10 + ..`
/// fn decimal<C: Arrays>() -> Expr<C, Vector, Real> {
///     fun1(|xs| fold(lam2(|sum, x| sum.at() * 10.0 + x.at()), num(0.0), xs.at()))
/// }
/// assert_eq!(higher::run(decimal(), &tensor([1.0, 2.0, 3.0])), tensor(123.0));
/// ```
///
/// # Panics
/// When a program runs in which the elements are pairs, and their arrays are not equally long.
#[track_caller]
pub fn fold<C: Arrays, G: Obj, S: Stack, X: Rows>(
    f: Expr<C, G, Fun<Prod<S, X::Row>, S>>,
    start: Expr<C, G, S>,
    xs: Expr<C, G, X>,
) -> Expr<C, G, S> {
    tup(f, tup(start, xs)).then(C::written(C::fold::<S, X::Row>(), Location::caller()))
}

/// All elements, combined by an associative function with the given unit, in logarithmic depth: neighbours are combined
/// until one element is left.
///
/// `f` is called for all pairs of a level in one loop, whose trips do not depend on each other. So are the trips of the
/// derivative, which goes from the last element back to all elements: the work is that of [`fold`], up to a constant, and
/// the span is that of `log2 n` calls ("Efficient CHAD", arXiv 2307.05738, on derivatives of data-parallel operations).
/// The order of the elements is kept, so `f` need not be commutative. Of no elements the result is the unit.
///
/// # Panics
/// When the elements have no array among their parts, so that their number is not known.
///
/// Requirement, not checked: `f (f x y) z = f x (f y z)` and `f x unit = x`; otherwise the result is that of the tree.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, fun2, lam2, num, reduce, tup};
/// /// The affine function that applies `z -> a z + b` for all `(a, b)`, one after the other.
/// fn composed<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Prod<Real, Real>> {
///     fun2(|a, b| {
///         let both = lam2(|f, g| tup(g.at().fst() * f.at().fst(), g.at().fst() * f.at().snd() + g.at().snd()));
///         reduce(both, tup(num(1.0), num(0.0)), tup(a.at(), b.at()))
///     })
/// }
/// let x = (tensor([2.0, 3.0, 4.0]), tensor([1.0, 1.0, 1.0]));
/// assert_eq!(higher::run(composed(), &x), (tensor(24.0), tensor(17.0)));
/// ```
#[track_caller]
pub fn reduce<C: Arrays, G: Obj, X: Rows<Row: Ground> + Ground>(
    f: Expr<C, G, Fun<Prod<X::Row, X::Row>, X::Row>>,
    unit: Expr<C, G, X::Row>,
    xs: Expr<C, G, X>,
) -> Expr<C, G, X::Row> {
    if leaves(&X::layout()) == 0 {
        mistake("reduce: the elements must have an array among their parts, but they have none; pair them with one");
    }
    let tree: Expr<C, Prod<Prod<Fun<Prod<X::Row, X::Row>, X::Row>, X::Row>, X>, X::Row> = fun3(|f, unit, xs| {
        iterate(xs.at(), |level| {
            if_(
                apply(IsSingle::<X::Row>::new(), level.at()),
                || inr(level.at().row(constant(Tensor::from_raw(Array::scalar(0_i64))))),
                || inl(map(f.at(), apply(Neighbours::<X::Row>::new(), tup(unit.at(), level.at())))),
            )
        })
    });
    tree.call(tup(tup(f, unit), xs))
}

/// Applies a function to `0, 1, .., n - 1`: the array of the values.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Real, Vector, build, fun1, lam};
/// /// `0, x, 2 x, 3 x`.
/// fn multiples<C: Arrays>() -> Expr<C, Real, Vector> {
///     fun1(|x| build(4, lam(|k| k.at().to_float() * x.at())))
/// }
/// assert_eq!(higher::run(multiples(), &tensor(2.0)), tensor([0.0, 2.0, 4.0, 6.0]));
/// ```
#[track_caller]
pub fn build<C: Arrays, G: Obj, B: Stack>(n: usize, f: Expr<C, G, Fun<Int, B>>) -> Expr<C, G, B::Stacked> {
    f.then(C::build::<B>(n))
}

/// The number of elements for which the predicate holds, and these elements in order.
///
/// Shapes do not depend on values, so the array keeps its length, and is padded with zeros. The derivative moves each
/// (co)tangent with its element; the predicate has no derivative.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, filter, fun2, lam};
/// fn smaller<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Vector> {
///     fun2(|xs, limit| filter(lam(|x| x.at().less(limit.at())), xs.at()).snd())
/// }
/// let x = (tensor([3.0, 9.0, 1.0, 5.0]), tensor(4.0));
/// let (kept, pullback) = higher::vjp(smaller(), &x);
/// assert_eq!(kept, tensor([3.0, 1.0, 0.0, 0.0]));
/// assert_eq!(pullback(&tensor([10.0, 20.0, 30.0, 40.0])).0, tensor([10.0, 0.0, 20.0, 0.0]));
/// ```
#[track_caller]
pub fn filter<C: Arrays, G: Obj, X: Rows + Ground>(
    holds: Expr<C, G, Fun<X::Row, Mask>>,
    xs: Expr<C, G, X>,
) -> Expr<C, G, Prod<Int, X>> {
    tup(holds, xs).then(C::written(C::filter::<X::Row>(), Location::caller()))
}

/// The elements for which the predicate holds, at their positions, and another value at the other positions.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Real, Vector, fun1, keep, lam, num};
/// fn positive<C: Arrays>() -> Expr<C, Vector, Vector> {
///     fun1(|xs| keep(lam(|x| num(0.0).less(x.at())), xs.at(), num(0.0)))
/// }
/// assert_eq!(higher::run(positive(), &tensor([3.0, -1.0, 2.0])), tensor([3.0, 0.0, 2.0]));
/// ```
#[track_caller]
pub fn keep<C: Arrays, G: Obj, X: Rows>(
    holds: Expr<C, G, Fun<X::Row, Mask>>,
    xs: Expr<C, G, X>,
    otherwise: Expr<C, G, X::Row>,
) -> Expr<C, G, X> {
    let kept: Expr<C, Prod<Prod<Fun<X::Row, Mask>, X::Row>, X>, X> =
        fun3(|holds, other, xs| xs.at().map(lam(|x| if_(holds.at().app(x.at()), || x.at(), || other.at()))));
    kept.call(tup(tup(holds, otherwise), xs))
}

/// Loops over arrays, whose type determines the type of the elements.
impl<C: Arrays, G: Obj, X: Rows> Expr<C, G, X> {
    /// Applies a function to every element along the outermost axis.
    ///
    /// Example: [`map`].
    ///
    /// # Panics
    /// Like [`map`].
    #[track_caller]
    pub fn map<B: Stack>(self, f: Expr<C, G, Fun<X::Row, B>>) -> Expr<C, G, B::Stacked> {
        map(f, self)
    }

    /// Applies a function to each pair of elements at one position.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Vector, fun2, lam2};
    /// fn products<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Vector> {
    ///     fun2(|xs, ys| xs.at().zip_with(ys.at(), lam2(|x, y| x.at() * y.at())))
    /// }
    /// assert_eq!(higher::run(products(), &(tensor([1.0, 2.0]), tensor([10.0, 20.0]))), tensor([10.0, 40.0]));
    /// ```
    ///
    /// # Panics
    /// When a program runs in which the arrays are not equally long.
    #[track_caller]
    pub fn zip_with<Y: Rows, B: Stack>(
        self,
        ys: Expr<C, G, Y>,
        f: Expr<C, G, Fun<Prod<X::Row, Y::Row>, B>>,
    ) -> Expr<C, G, B::Stacked> {
        map(f, tup(self, ys))
    }

    /// The elements for which the predicate holds, as [`filter`].
    ///
    /// Example: [`filter`].
    #[track_caller]
    pub fn filter(self, holds: Expr<C, G, Fun<X::Row, Mask>>) -> Expr<C, G, Prod<Int, X>>
    where
        X: Ground,
    {
        filter(holds, self)
    }

    /// The elements for which the predicate holds, at their positions, as [`keep`].
    ///
    /// Example: [`keep`].
    #[track_caller]
    pub fn keep(self, holds: Expr<C, G, Fun<X::Row, Mask>>, otherwise: Expr<C, G, X::Row>) -> Self {
        keep(holds, self, otherwise)
    }

    /// The element at an index; zeros at an index out of bounds.
    ///
    /// An array of pairs is a pair of arrays, and an array of arrays of one shape is one of higher rank, so elements of
    /// any type are read by one gather for each array.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Arrays, Expr, Int, Matrix, Prod, Vector, fun2, lam, let2};
    /// /// The row of the matrix at an index, scaled by the number there.
    /// fn scaled<C: Arrays>() -> Expr<C, Prod<Prod<Vector, Matrix>, Int>, Vector> {
    ///     fun2(|all, k| let2(all.at().row(k.at()), |by, row| row.at().map(lam(|x| x.at() * by.at()))))
    /// }
    /// let all = (tensor([2.0, 3.0]), tensor([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(higher::run(scaled(), &(all, tensor(1))), tensor([9.0, 12.0]));
    /// ```
    #[track_caller]
    pub fn row(self, ix: Expr<C, G, Int>) -> Expr<C, G, X::Row>
    where
        X: Ground,
        X::Row: Ground,
    {
        apply(RowAt::<X::Row>::new(), tup(self, ix))
    }

    /// The elements at indices, in their order; zeros at indices out of bounds.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Arrays, Expr, Matrix, constant, fun1};
    /// fn taken<C: Arrays>() -> Expr<C, Matrix, Matrix> {
    ///     fun1(|rows| rows.at().take(constant(tensor([1, 7]))))
    /// }
    /// assert_eq!(higher::run(taken(), &tensor([[1.0, 2.0], [3.0, 4.0]])), tensor([[3.0, 4.0], [0.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn take(self, ix: Expr<C, G, Arr<1, i64>>) -> Self
    where
        X: Ground,
    {
        apply(Take::<X::Row>::new(), tup(self, ix))
    }

    /// All elements, combined by an associative function with the given unit, as [`reduce`].
    ///
    /// Example: [`reduce`].
    #[track_caller]
    pub fn reduce(
        self,
        unit: Expr<C, G, X::Row>,
        f: Expr<C, G, Fun<Prod<X::Row, X::Row>, X::Row>>,
    ) -> Expr<C, G, X::Row>
    where
        X: Rows<Row: Ground> + Ground,
    {
        reduce(f, unit, self)
    }

    /// The final state of a left fold over all elements.
    ///
    /// Example: [`fold`].
    ///
    /// # Panics
    /// Like [`fold`].
    #[track_caller]
    pub fn fold<S: Stack>(self, start: Expr<C, G, S>, f: Expr<C, G, Fun<Prod<S, X::Row>, S>>) -> Expr<C, G, S> {
        fold(f, start, self)
    }
}
