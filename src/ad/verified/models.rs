//! Taylor models: a polynomial in the variables of a box, and an interval that contains the rest.
//!
//! Law: `f(x)` lies in `p(x - c) + r` for every `x` of the box, where `p` is the Taylor polynomial of `f` at the center
//! `c`; its coefficients are enclosed at a point. By Taylor's theorem `r` contains `D^(n + 1) f(x) [v, .., v]`, divided
//! by `(n + 1)!`, for all `x` of the box and all `v = x - c`, so its width shrinks as the power `n + 1` of that of the
//! box; and in any case `r` contains `f(box) - p(box - c)`, which is all that is known of it where a derivative may jump.
//!
//! Sources: R. E. Moore, R. B. Kearfott, M. J. Cloud, "Introduction to Interval Analysis" (2009), section 6.4; M. Berz
//! and G. Hoffstätter, "Computation and application of Taylor polynomials with interval remainder bounds" (1998).

use super::super::differentiate::record::OfBoth;
use super::super::enclose::box_of;
use super::{Number, Region, Vector, VectorProgram, ends, narrowed, number, points};
use std::sync::Arc;

use crate::array::Array;
use crate::base::{BaseTensor, Report};
use crate::interpreters::Enclosure;
use crate::ops::Linear;
use crate::program::Term;
use crate::shape::size;
use crate::tensor::Tensor;
use crate::tree::Tree;
use crate::tree::ravel::raveled_size;

forms! {
    data of Array as Q::With<Term>;

    /// The [`TaylorModel`] of `f` on the box from `lower` to `upper`, with a polynomial of this order.
    ///
    /// `f : P -> Y`, of any number and shapes of floats. The model is of all numbers of `x` together: linear terms cancel
    /// exactly, so that bounds of `x - x` are as narrow as rounding. [`TaylorForm`] records `f` once for many boxes.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Tensor, enclose, taylor_model, tensor};
    /// fn f<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
    ///     x * (1.0 - x)
    /// }
    /// let (lower, upper) = (tensor(0.3), tensor(0.5));
    /// let width = |(a, b): (Tensor<_, 0>, Tensor<_, 0>)| (b - a).item();
    /// assert!(width(enclose(f, &lower, &upper)) > 0.19);
    /// // The range is from 0.21 to 0.25.
    /// assert!(width(taylor_model(f, &lower, &upper, 2).bounds()) < 0.0401);
    /// ```
    ///
    /// # Panics
    /// Like [`enclose`](fn@crate::enclose); when `f` looks at values, or a result is not a float.
    taylor_model,
    /// [`taylor_model`] of a function that also takes `data` with exact values.
    ///
    /// ```
    /// use polygrad::{taylor_model_with, tensor};
    /// let model = taylor_model_with(|x, a| x * a - x * a, &tensor(1.0), &tensor(2.0), &tensor(3.0), 1);
    /// let (lower, upper) = model.bounds();
    /// assert!(lower.item() > -1e-14 && upper.item() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// Like [`taylor_model`].
    taylor_model_with [P: Tree<Array>,] [Y: Tree<Term>] []
        (f: (P::With<Term>) -> Y, lower: &P, upper: &P; data, order: usize) -> TaylorModel<P::With<Array>, Y::With<Array>>
    {
        let form = form_of(f, lower, data, order);
        form.over(&lower.with_leaves(lower.leaves()), &upper.with_leaves(upper.leaves()))
    }
}

/// A function recorded with its derivatives, for [Taylor models](taylor_model) on many boxes.
///
/// ```
/// use polygrad::{Tensor, TaylorForm, tensor};
/// let form = TaylorForm::new(|x: &Tensor<_, 0>| x.exp(), &tensor(0.0), 3);
/// for k in 0..4 {
///     let lower = tensor(f64::from(k));
///     let (least, most) = form.over(&lower, &(&lower + 0.25)).bounds();
///     assert!(least.le(lower.exp()).item() && (most / (lower + 0.25).exp()).item() < 1.001);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct TaylorForm<X, R> {
    /// The argument, and results of zeros.
    like: Arc<(X, R)>,
    /// The function and its derivatives, one more than the order; each is a Jacobian of the one before.
    derivatives: Vec<VectorProgram>,
}

/// [`TaylorForm::new`].
#[track_caller]
fn form_of<P, Q, Y>(
    f: OfBoth<'_, Array, Term, P, Q, Y>,
    x: &P,
    data: &Q,
    order: usize,
) -> TaylorForm<P::With<Array>, Y::With<Array>>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Y: Tree<Term>,
{
    let (vector, leaves) = VectorProgram::variables(&x.leaves());
    let y = f(&x.with_leaves(leaves), &data.to_constant());
    let first = VectorProgram::traced("taylor_model", &[vector], &y.leaves());
    let results = y.map(&mut |leaf: &Term| Array::zeros(leaf.shape(), leaf.dtype()));
    let mut derivatives = vec![first];
    for k in 0..=order {
        let next = derivatives[k].jacobian();
        derivatives.push(next);
    }
    TaylorForm { like: Arc::new((x.with_leaves(x.leaves()), results)), derivatives }
}

impl<X: Tree<Array>, R: Tree<Array>> TaylorForm<X, R> {
    /// Records `f` for arguments like `x`, for polynomials of this order.
    ///
    /// ```
    /// use polygrad::{TaylorForm, tensor};
    /// let form = TaylorForm::new(|x| x.square() - x, &tensor(0.0), 2);
    /// let (lower, upper) = form.over(&tensor(1.0), &tensor(2.0)).bounds();
    /// assert!(lower.item() <= 0.0 && upper.item() >= 2.0 && upper.item() < 2.01);
    /// ```
    ///
    /// # Panics
    /// When `f` looks at values, or a result is not a float.
    #[track_caller]
    pub fn new<P, Y>(f: impl Fn(&P::With<Term>) -> Y, x: &P, order: usize) -> TaylorForm<X, R>
    where
        P: Tree<Array, With<Array> = X>,
        Y: Tree<Term, With<Array> = R>,
    {
        form_of(&|x, _: &()| f(x), x, &(), order)
    }

    /// The model on the box from `lower` to `upper`.
    ///
    /// ```
    /// use polygrad::{TaylorForm, tensor};
    /// let form = TaylorForm::new(|x| x.exp(), &tensor(0.0), 4);
    /// for (a, b) in [(0f64, 0.1f64), (1.0, 1.1)] {
    ///     let (lower, upper) = form.over(&tensor(a), &tensor(b)).bounds();
    ///     assert!(lower.item() <= a.exp() && b.exp() <= upper.item() && (upper - lower).item() < 0.3);
    /// }
    /// ```
    ///
    /// # Panics
    /// When the trees differ from that of the recorded argument, or a lower bound is larger than the upper one.
    #[track_caller]
    pub fn over(&self, lower: &X, upper: &X) -> TaylorModel<X, R> {
        let leaves = box_of("taylor_model", lower, upper);
        let slots = self.like.0.leaves();
        let fits = |(slot, leaf): (&Array, &Enclosure)| {
            let known = slot.dtype().is_float() || leaf.peek().as_ref() == Some(slot);
            (slot.shape(), slot.dtype()) == (leaf.shape(), leaf.dtype()) && known
        };
        if slots.len() != leaves.len() || !slots.iter().zip(&leaves).all(fits) {
            panic!(
                "taylor_model: a box must have the shapes and the integers of the argument for which the function was recorded, but \
                 a leaf differs; record the function for this argument"
            );
        }
        let region = Region::raveled(&leaves);
        let center = region.middle();
        let (x, c) = (region.vector(), points(&center));
        let v = &x - &c;
        let (last, results) = (self.derivatives.len() - 1, raveled_size(&self.like.1.leaves()));
        let mut over = Vec::new();
        let (mut smooth, mut smooth_up_to) = (true, 0);
        for (k, derivative) in self.derivatives.iter().enumerate() {
            let (value, is_continuous) = derivative.over(vec![x.raw().clone()]);
            smooth &= is_continuous;
            smooth_up_to = if smooth { k + 1 } else { smooth_up_to };
            over.push(ModelColumns::of(&value, results));
        }
        let at: Vec<ModelColumns> = self.derivatives[..last]
            .iter()
            .map(|d| ModelColumns::of(&d.over(vec![c.raw().clone()]).0, results))
            .collect();
        let mut range: Vector = over[0].column(0);
        let mut model = TaylorModel {
            like: self.like.clone(),
            center,
            region,
            coefficients: at,
            rest: range.clone(),
            range: range.clone(),
        };
        let mut rests = Vec::new();
        for order in 0..last {
            // Order `k` needs the derivatives up to `k` without a jump.
            let rest = (order < smooth_up_to).then(|| over[order + 1].form(&v, order + 1));
            if let Some(rest) = &rest {
                range = narrowed(&range, &(model.polynomial(&v, order) + rest));
            }
            rests.push(rest);
        }
        let by_range = &range - model.polynomial(&v, last - 1);
        model.rest = match rests.pop().flatten() {
            Some(rest) => {
                let curve = [x.raw().clone(), v.raw().clone()];
                let (series, smooth) = self.derivatives[0].along(last, &[curve.to_vec()]);
                let along = Tensor::from_raw(series[0][last].clone());
                narrowed(&by_range, &if smooth { narrowed(&rest, &along) } else { rest })
            }
            None => by_range,
        };
        model.range = narrowed(&range, &(model.polynomial(&v, last - 1) + &model.rest));
        model
    }
}

/// A polynomial in `x - c`, where `c` is the center of a box, and an interval of what it leaves of a function: see
/// [`taylor_model`].
///
/// ```
/// use polygrad::{TaylorModel, taylor_model, tensor};
/// let model: TaylorModel<_, _> = taylor_model(|x| x.exp(), &tensor(-0.5), &tensor(0.5), 3);
/// let (lower, upper) = model.within(&tensor(0.25), &tensor(0.25));
/// assert!(lower.item() <= 0.25f64.exp() && 0.25f64.exp() <= upper.item() && (upper - lower).item() < 0.01);
/// ```
#[derive(Clone, Debug)]
pub struct TaylorModel<X, R> {
    /// The argument, and results of zeros.
    like: Arc<(X, R)>,
    center: Vec<f64>,
    region: Region,
    /// The derivatives at the center, from the value on.
    coefficients: Vec<ModelColumns>,
    rest: Vector,
    /// The narrowest bounds of the function on the box.
    range: Vector,
}

impl<X: Tree<Array>, R: Tree<Array>> TaylorModel<X, R> {
    /// Bounds of the function on the box: the common part of the range by interval arithmetic, of the mean value form,
    /// and of the polynomials of all orders with their remainders. NaN where a value may be NaN.
    ///
    /// ```
    /// use polygrad::{taylor_model, tensor};
    /// let model = taylor_model(|x| x.exp(), &tensor(-0.5), &tensor(0.5), 3);
    /// let (lower, upper) = model.bounds();
    /// assert!(lower.item() <= (-0.5f64).exp() && 0.5f64.exp() <= upper.item() && (upper - lower).item() < 1.1);
    /// ```
    pub fn bounds(&self) -> (R::With<Array>, R::With<Array>) {
        ends(&self.like.1, &Region::of(&self.range))
    }

    /// Bounds of the function minus the polynomial, which hold on the whole box.
    ///
    /// ```
    /// use polygrad::{taylor_model, tensor};
    /// let model = taylor_model(|x| x.exp(), &tensor(-0.5), &tensor(0.5), 3);
    /// // The rest is `x^4 / 24` times a number between the bounds of `exp`.
    /// let (lower, upper) = model.remainder();
    /// assert!(lower.item() <= 0.0 && upper.item() > 0.0 && (upper - lower).item() < 0.01);
    /// ```
    pub fn remainder(&self) -> (R::With<Array>, R::With<Array>) {
        ends(&self.like.1, &Region::of(&self.rest))
    }

    /// The point around which the polynomial is, near the middle of the box.
    ///
    /// ```
    /// use polygrad::{taylor_model, tensor};
    /// let model = taylor_model(|x| x.exp(), &tensor(-0.5), &tensor(0.5), 3);
    /// assert_eq!(model.center(), tensor(0.0));
    /// ```
    pub fn center(&self) -> X::With<Array> {
        ends(&self.like.0, &Region { lower: self.center.clone(), upper: self.center.clone() }).0
    }

    /// Bounds of the function at the center.
    ///
    /// ```
    /// use polygrad::{taylor_model, tensor};
    /// let model = taylor_model(|x| x.exp(), &tensor(-0.5), &tensor(0.5), 3);
    /// let (lower, upper) = model.at_center();
    /// assert!(lower.item() <= 1.0 && 1.0 <= upper.item() && (upper - lower).item() < 1e-14);
    /// ```
    pub fn at_center(&self) -> (R::With<Array>, R::With<Array>) {
        ends(&self.like.1, &Region::of(&self.coefficients[0].column(0)))
    }

    /// Bounds of the function on a box within that of the model, by the polynomial and the remainder alone; for two
    /// equal ends, at a point.
    ///
    /// ```
    /// use polygrad::{taylor_model, tensor};
    /// let model = taylor_model(|x: &polygrad::Tensor<_, 0>| x.sin(), &tensor(0.9), &tensor(1.1), 4);
    /// let (lower, upper) = model.within(&tensor(1.05), &tensor(1.05));
    /// assert!(lower.item() <= 1.05f64.sin() && 1.05f64.sin() <= upper.item() && (upper - lower).item() < 1e-6);
    /// ```
    ///
    /// # Panics
    /// When the box is not within that of the model.
    #[track_caller]
    pub fn within(&self, lower: &X, upper: &X) -> (R::With<Array>, R::With<Array>) {
        let region = Region::raveled(&box_of("taylor_model", lower, upper));
        if region.len() != self.region.len() || !region.is_within(&self.region) {
            panic!(
                "taylor_model: a box must be within that of the model, but one lies outside; take a model on a larger box"
            );
        }
        let v = region.vector() - points(&self.center);
        ends(&self.like.1, &Region::of(&(self.polynomial(&v, self.coefficients.len() - 1) + &self.rest)))
    }

    /// Bounds of the polynomial up to an order.
    fn polynomial(&self, v: &Vector, order: usize) -> Vector {
        let plain: Vector = self.coefficients[0].column(0);
        let all = (1..=order).fold(plain, |sum, k| sum + self.coefficients[k].form(v, k));
        if order < 2 {
            return all;
        }
        let squares: Vec<Number> = (0..all.len()).map(|row| self.quadratic(v, row)).collect();
        let squares = squares.iter().map(|x| {
            let region = Region::of(&x.reshape([1]));
            (region.lower[0], region.upper[0])
        });
        let squares = Region::from_pairs(squares).vector();
        narrowed(&all, &(3..=order).fold(squares, |sum, k| sum + self.coefficients[k].form(v, k)))
    }

    /// Bounds of the quadratic part of a result, by completing squares: each square is used once, so a quadratic form
    /// of one sign has sharp bounds at its extremum. Lagrange's reduction of quadratic forms.
    fn quadratic(&self, v: &Vector, row: usize) -> Number {
        let n = v.len();
        let element = |k: usize, column: usize| self.coefficients[k].element(row, column);
        let mut sum = element(0, 0);
        let mut linear: Vec<Number> = (0..n).map(|i| element(1, i)).collect();
        let mut square: Vec<Vec<Number>> =
            (0..n).map(|i| (0..n).map(|j| element(2, i.max(j) * n + i.min(j))).collect()).collect();
        let v: Vec<Number> = (0..n).map(|i| v.at([i])).collect();
        let mut left: Vec<usize> = (0..n).collect();
        // The variable with the largest curvature whose sign is known.
        let curvature = |x: &Number| {
            let [(lo, hi)] = [Region::of(&x.reshape([1]))].map(|r| (r.lower[0], r.upper[0]));
            if lo > 0.0 {
                lo
            } else if hi < 0.0 {
                -hi
            } else {
                0.0
            }
        };
        while let Some(i) =
            left.iter().copied().max_by(|i, j| curvature(&square[*i][*i]).total_cmp(&curvature(&square[*j][*j])))
        {
            if curvature(&square[i][i]) == 0.0 {
                break;
            }
            left.retain(|j| *j != i);
            let h = square[i][i].clone();
            let share = |x: &Number| x / &h;
            let mut root = &v[i] + share(&linear[i]);
            for j in &left {
                root += share(&square[i][*j]) * &v[*j];
            }
            sum = sum + root.square() * &h * 0.5 - linear[i].square() / (&h * 2.0);
            for j in &left {
                linear[*j] = &linear[*j] - &linear[i] * share(&square[i][*j]);
                for k in &left {
                    square[*j][*k] = &square[*j][*k] - &square[i][*j] * share(&square[i][*k]);
                }
            }
        }
        for (at, i) in left.iter().enumerate() {
            sum = sum + &linear[*i] * &v[*i] + &square[*i][*i] * v[*i].square() * 0.5;
            for j in &left[..at] {
                sum += &square[*i][*j] * &v[*i] * &v[*j];
            }
        }
        sum
    }
}

/// The derivatives of one order `k` of `m` results in `n` variables, as `[m, n^k]`.
#[derive(Clone, Debug)]
struct ModelColumns {
    all: Tensor<Enclosure, 2>,
}

impl ModelColumns {
    /// Derivatives, with all axes but the last flattened.
    fn of(value: &Enclosure, results: usize) -> ModelColumns {
        // Without results the array is empty, however many columns it has.
        let shape = [results, size(value.shape()).checked_div(results).unwrap_or(1)];
        ModelColumns { all: Tensor::from_raw(value.linear(&Linear::reshape(value.shape(), &shape))) }
    }

    fn column(&self, k: usize) -> Vector {
        let rows = self.all.shape()[0];
        self.all.slice(1, k..k + 1).reshape([rows])
    }

    fn element(&self, row: usize, column: usize) -> Number {
        self.all.slice(0, row..row + 1).slice(1, column..column + 1).reshape([])
    }

    /// `D^k [v, .., v] / k!`, where a power of a variable is used once.
    fn form(&self, v: &Vector, k: usize) -> Vector {
        let n = v.len();
        let v: Vec<Number> = (0..n).map(|i| v.at([i])).collect();
        let mut sum: Vector = Tensor::zeros([self.all.shape()[0]]);
        if n == 0 && k > 0 {
            return sum;
        }
        for column in 0..self.all.shape()[1] {
            // The variables of this partial derivative, which is equal for all orders of them.
            let mut rest = column;
            let mut digits = Vec::with_capacity(k);
            for _ in 0..k {
                digits.push(rest % n);
                rest /= n;
            }
            if !digits.is_sorted() {
                continue;
            }
            let mut monomial = number(1.0);
            for (i, v) in v.iter().enumerate() {
                let exponent = digits.iter().filter(|digit| **digit == i).count();
                if exponent > 0 {
                    let factorial: f64 = (1..=exponent).map(|m| m as f64).product();
                    monomial = monomial * v.powi(exponent as i32) / factorial;
                }
            }
            sum += self.column(column).times(&monomial);
        }
        sum
    }
}
