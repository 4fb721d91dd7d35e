//! Taylor mode: all derivatives along a curve at once, and derivative tensors from derivatives along straight lines.
//!
//! The recorded program runs at truncated power series ([`Jet`]), at a cost that grows as the square of the order.
//! Repeated differentiation costs a little less for low orders, and as much as the cube of the order for high ones.

use super::function::derivative_programs::{closed, split};
use super::pipeline::{OfBoth, VerbPasses, recorded};
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::dtype::{DType, Float};
use crate::interpreters::jet::{Expansion, Jet, fits};
use crate::ops::{Contract, Linear};
use crate::passes::optimize_with;
use crate::program::{Program, Slot, Term, interpret};
use crate::shape::size;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The Taylor coefficients of `t -> f(x + t v)` at `t = 0`, from the power 0 to `order`: coefficient `k` is the `k`-th
/// derivative of `f` at `x` along `v`, divided by `k!`.
///
/// `f : P -> Y`, of any number and shapes of results. The program runs once, on power series, at a cost that grows as
/// the square of the order. For integers and masks, coefficient 0 is the value, and the other coefficients are zeros.
/// Method: A. Griewank and A. Walther, "Evaluating Derivatives" (2008), chapter 13.
///
/// ```
/// use polygrad::{Tensor, taylor, tensor};
/// // exp(2 t) = 1 + 2 t + 2 t^2 + 4/3 t^3 + ..
/// let c = taylor(|x| x.exp(), &tensor(0.0), &tensor(2.0), 3);
/// assert_eq!(c[..3], [tensor(1.0), tensor(2.0), tensor(2.0)]);
/// assert!((c[3].item() - 4.0_f64 / 3.0).abs() < 1e-15);
/// ```
///
/// # Panics
/// When `f` looks at values, or `v` differs from `x` in structure, shapes or element types.
#[track_caller]
pub fn taylor<T, P, Y>(f: impl Fn(&P::With<Term>) -> Y, x: &P, v: &P, order: usize) -> Vec<Y::With<T>>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    along(&|x, _: &()| f(x), &[x, v], &(), order)
}

/// [`taylor`] of a function that also takes `data` that is not expanded.
///
/// ```
/// use polygrad::{taylor_with, tensor};
/// let (x, v, a) = (tensor(1.0), tensor(1.0), tensor(3.0));
/// assert_eq!(taylor_with(|x, a| x.square() * a, &x, &v, &a, 2), [tensor(3.0), tensor(6.0), tensor(3.0)]);
/// ```
///
/// # Panics
/// When `f` looks at values, or `v` differs from `x` in structure, shapes or element types.
#[track_caller]
pub fn taylor_with<T, P, Q, Y>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &P,
    v: &P,
    data: &Q,
    order: usize,
) -> Vec<Y::With<T>>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    along(&f, &[x, v], data, order)
}

/// The Taylor coefficients of `f` along the curve `curve[0] + curve[1] t + curve[2] t^2 + ..`, from the power 0 to
/// `order`. Coefficients of the curve beyond the end of `curve` are zeros.
///
/// ```
/// use polygrad::{taylor_along, tensor};
/// // (1 + t + t^2)^2 = 1 + 2 t + 3 t^2 + 2 t^3 + t^4
/// let c = taylor_along(|x| x.square(), &[tensor(1.0), tensor(1.0), tensor(1.0)], 4);
/// assert_eq!(c, [1.0, 2.0, 3.0, 2.0, 1.0].map(tensor));
/// ```
///
/// # Panics
/// When `f` looks at values, `curve` is empty, or one of its coefficients differs from the first in structure, shapes
/// or element types.
#[track_caller]
pub fn taylor_along<T, P, Y>(f: impl Fn(&P::With<Term>) -> Y, curve: &[P], order: usize) -> Vec<Y::With<T>>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    taylor_along_with(|x, _: &()| f(x), curve, &(), order)
}

/// [`taylor_along`] of a function that also takes `data` that is not expanded.
///
/// ```
/// use polygrad::{taylor_along_with, tensor};
/// let curve = [1.0, 1.0].map(tensor);
/// assert_eq!(taylor_along_with(|x, a| x.square() * a, &curve, &tensor(3.0), 2), [3.0, 6.0, 3.0].map(tensor));
/// ```
///
/// # Panics
/// As for [`taylor_along`].
#[track_caller]
pub fn taylor_along_with<T, P, Q, Y>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    curve: &[P],
    data: &Q,
    order: usize,
) -> Vec<Y::With<T>>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    along(&f, &curve.iter().collect::<Vec<&P>>(), data, order)
}

/// The Taylor coefficients of a function along a curve.
#[track_caller]
fn along<T, P, Q, Y>(f: OfBoth<'_, T, Term, P, Q, Y>, curve: &[&P], data: &Q, order: usize) -> Vec<Y::With<T>>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let [start, powers @ ..] = curve else {
        panic!("taylor: a curve needs a point, but the list of coefficients is empty; give at least the point at t = 0")
    };
    let (point, powers): (Vec<T>, Vec<Vec<T>>) =
        (start.leaves(), powers.iter().take(order).map(|c| c.leaves()).collect());
    for c in &powers {
        one_direction_each(point.len(), c.len());
        for (x, c) in point.iter().zip(c) {
            fits(x, c);
        }
    }
    let (program, y) = recorded("taylor", f, *start, data);
    let expansion = expansion((&program.program, program.count), powers.len(), order, VerbPasses::at::<T>());
    let mut results = program.evaluated(expansion, powers.concat());
    let count = results.len() / (order + 1);
    (0..=order).map(|_| y.with_leaves(results.drain(..count).collect())).collect()
}

/// # Panics
/// When there are not as many directions as leaves.
#[track_caller]
fn one_direction_each(leaves: usize, directions: usize) {
    if leaves != directions {
        panic!(
            "taylor: each leaf of the argument needs a direction, but there are {leaves} leaves and {directions} directions; map the \
             argument to its direction"
        );
    }
}

/// The program of the coefficients of the results of a recorded program, power by power. Its inputs are those of the
/// program, with the coefficients of the first `count` inputs between these and the others, for each power from 1
/// to `powers`.
///
/// # Errors
/// When a result depends on another expansion.
fn expansion(
    (program, count): (&Program, usize),
    powers: usize,
    order: usize,
    passes: VerbPasses,
) -> Result<Program, &'static str> {
    let program = optimize_with(program, passes.before);
    let (x, data) = split(&program, count);
    let slots: Vec<Slot> = program.inputs()[..count].iter().cycle().take(powers * count).cloned().collect();
    let coefficients = Term::variables(&slots);
    let of_powers: Vec<&[Term]> = coefficients.chunks(count.max(1)).collect();
    let results = expanded(&program, &x, &data, &of_powers, order)?;
    Ok(optimize_with(&closed(&program, &slots, "dot", &[x, coefficients, data], &results), passes.after))
}

/// The coefficients of the results of a program, power by power. `powers` has the coefficients of `x` for each power
/// from 1 on; the data are constants.
fn expanded(
    program: &Program,
    x: &[Term],
    data: &[Term],
    powers: &[&[Term]],
    order: usize,
) -> Result<Vec<Term>, &'static str> {
    let expansion = Expansion::new(order);
    let series = |(k, x): (usize, &Term)| {
        let rest = powers.iter().filter_map(|power| power.get(k));
        expansion.input(&std::iter::once(x).chain(rest).cloned().collect::<Vec<Term>>())
    };
    let mut inputs: Vec<Jet<Term>> = x.iter().enumerate().map(series).collect();
    inputs.extend(data.iter().map(|x| <Jet<Term> as Lift<Term>>::lift(x.clone())));
    let results = interpret(program, inputs);
    let mut all = vec![Vec::with_capacity(results.len()); order + 1];
    for y in &results {
        for (k, c) in expansion.result(y)?.into_iter().enumerate() {
            all[k].push(c);
        }
    }
    Ok(all.concat())
}

/// All partial derivatives of order `D` of a scalar function of a vector: a symmetric tensor of `D` axes.
///
/// The partial derivatives are linear combinations of univariate Taylor coefficients along straight lines, as many
/// lines as there are distinct partial derivatives: `(n + D - 1)! / (D! (n - 1)!)`. The expansions are the trips of a
/// loop without a carry, so they run in bulk. Method: A. Griewank, J. Utke and A. Walther, "Evaluating higher
/// derivative tensors by forward propagation of univariate Taylor series" (2000), section 3. The rounding error grows
/// with `D`, since the weights of the linear combinations have both signs.
///
/// ```
/// use polygrad::{Tensor, derivative_tensor, tensor};
/// let third: Tensor<_, 3> = derivative_tensor(|x| x.at([0]).square() * x.at([1]), &tensor([2.0, 3.0]));
/// let is = |i, j, k| third.at([i, j, k]).item();
/// assert!((is(0, 0, 1) - 2.0).abs() < 1e-12 && (is(1, 0, 0) - 2.0).abs() < 1e-12 && is(1, 1, 1).abs() < 1e-12);
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn derivative_tensor<const D: usize, T: BaseTensor, E: Float>(
    f: impl Fn(&Tensor<Term, 1, E>) -> Tensor<Term, 0, E>,
    x: &Tensor<T, 1, E>,
) -> Tensor<T, D, E> {
    derivative_tensor_with(|x, _: &()| f(x), x, &())
}

/// [`derivative_tensor`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{Tensor, derivative_tensor_with, tensor};
/// let x = tensor([2.0, 3.0]);
/// let third: Tensor<_, 3> = derivative_tensor_with(|x, a| x.powi(3).dot(a), &x, &tensor([1.0, 10.0]));
/// assert!((third.at([1, 1, 1]).item() - 60.0).abs() < 1e-12 && third.at([0, 1, 1]).item().abs() < 1e-12);
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn derivative_tensor_with<const D: usize, T: BaseTensor, Q: Tree<T>, E: Float>(
    f: impl Fn(&Tensor<Term, 1, E>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &Tensor<T, 1, E>,
    data: &Q,
) -> Tensor<T, D, E> {
    let (program, _) = recorded("derivative_tensor", &f, x, data);
    let elements = derivative_elements(&program.program, D, VerbPasses::at::<T>());
    Tensor::from_raw(program.evaluated(elements, Vec::new()).remove(0))
}

/// The program of all partial derivatives of this order of a recorded scalar program of a vector and data.
///
/// # Errors
/// When the result depends on another expansion.
fn derivative_elements(program: &Program, order: usize, passes: VerbPasses) -> Result<Program, &'static str> {
    let program = optimize_with(program, passes.before);
    let (x, data) = split(&program, 1);
    let (n, dtype) = (program.inputs()[0].shape[0], program.inputs()[0].dtype);
    let (lines, weights) = lines_and_weights(n, order);
    let (shape, count) = (vec![n; order], lines.len());
    let numbers = |rows: &[Vec<f64>], columns: usize| {
        let (shape, all) = ([rows.len(), columns], rows.concat());
        Term::constant(match dtype {
            DType::F32 => Array::new(&shape, all.iter().map(|x| *x as f32).collect::<Vec<f32>>()),
            DType::F64 | DType::I64 | DType::Bool => Array::new(&shape, all),
        })
    };
    let mut fault = None;
    let directions = numbers(&lines, n);
    let (_, along) = Term::map_accum(count, false, Vec::new(), &[directions], &mut |_, v| {
        let y = match expanded(&program, &x, &data, &[v], order) {
            Ok(mut y) => y.swap_remove(order),
            Err(message) => {
                fault = Some(message);
                Term::zeros(&[], dtype)
            }
        };
        (Vec::new(), vec![y])
    });
    if let Some(message) = fault {
        return Err(message);
    }
    let of_all = Contract::axes(&[weights.len(), count], &[0, 1], &[1], &[0]);
    let all = Term::contract(&of_all, &numbers(&weights, count), &along[0]);
    let all = all.linear(&Linear::reshape(&[size(&shape)], &shape));
    Ok(optimize_with(&closed(&program, &[], "", &[x, Vec::new(), data], &[all]), passes.after))
}

/// The directions of the lines, and for each element of the tensor, in order, the weights of the coefficients along the
/// lines.
fn lines_and_weights(n: usize, order: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let lines = exponents(n, order);
    let row = |i: &[usize]| lines.iter().map(|j| weight(i, j, order)).collect::<Vec<f64>>();
    let of_exponents: Vec<Vec<f64>> = lines.iter().map(|i| row(i)).collect();
    let elements = (n as u128).pow(order as u32) as usize;
    let element = |mut k: usize| {
        let mut i = vec![0; n];
        for _ in 0..order {
            i[k % n] += 1;
            k /= n;
        }
        let at = lines.iter().position(|j| *j == i).expect("every element has exponents of this sum");
        of_exponents[at].clone()
    };
    let weights = (0..elements).map(element).collect();
    (lines.iter().map(|j| j.iter().map(|x| *x as f64).collect()).collect(), weights)
}

/// All multi-indices of `n` exponents with this sum.
fn exponents(n: usize, sum: usize) -> Vec<Vec<usize>> {
    let mut all = vec![(Vec::new(), sum)];
    for k in 0..n {
        let more = |(i, left): (Vec<usize>, usize)| {
            let from = if k + 1 == n { left } else { 0 };
            (from..=left).map(move |e| ([&i[..], &[e]].concat(), left - e)).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(more).collect();
    }
    all.into_iter().filter(|(_, left)| *left == 0).map(|(i, _)| i).collect()
}

/// The weight of the Taylor coefficient along `j` in the partial derivative of multi-index `i`:
/// the sum over all `0 < k <= i` of `(-1)^|i - k| C(i, k) C(d k / |k|, j) (|k| / d)^d`.
fn weight(i: &[usize], j: &[usize], d: usize) -> f64 {
    let mut total = if d == 0 { 1.0 } else { 0.0 };
    let mut k = vec![0; i.len()];
    // Enumerates all k <= i, as a counter of mixed radix.
    while let Some(at) = (0..i.len()).find(|at| k[*at] < i[*at]) {
        k[at] += 1;
        k[..at].fill(0);
        let sum: usize = k.iter().sum();
        let sign = if (d - sum).is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut term = sign * (sum as f64 / d as f64).powi(d as i32);
        for a in 0..i.len() {
            term *= binomial(i[a] as f64, k[a]) * binomial(d as f64 * k[a] as f64 / sum as f64, j[a]);
        }
        total += term;
    }
    total
}

/// `x (x - 1) .. (x - k + 1) / k!`.
fn binomial(x: f64, k: usize) -> f64 {
    (0..k).map(|m| (x - m as f64) / (m + 1) as f64).product()
}

pub(super) mod direct {
    //! `direct::taylor`, which runs the program at power series of values of `T`.

    use super::{Expansion, Jet};
    use crate::base::BaseTensor;
    use crate::tree::Tree;

    /// The Taylor coefficients of `t -> f(x + t v)` at `t = 0`, from the power 0 to `order`, by running `f` on power
    /// series: see [`taylor`](crate::taylor()). `f` may look at values and branch on them.
    ///
    /// ```
    /// use polygrad::{direct, tensor};
    /// let c = direct::taylor(|x| if x.item() > 0.0 { x.square() } else { x.exp() }, &tensor(3.0), &tensor(1.0), 2);
    /// assert_eq!(c, [tensor(9.0), tensor(6.0), tensor(1.0)]);
    /// ```
    ///
    /// # Panics
    /// When `v` differs from `x` in structure, shapes or element types, or `f` mixes series of two expansions.
    #[track_caller]
    pub fn taylor<T, P, Y>(f: impl Fn(&P::With<Jet<T>>) -> Y, x: &P, v: &P, order: usize) -> Vec<Y::With<T>>
    where
        T: BaseTensor,
        P: Tree<T>,
        Y: Tree<Jet<T>>,
    {
        let expansion = Expansion::new(order);
        let (points, directions) = (x.leaves(), v.leaves());
        super::one_direction_each(points.len(), directions.len());
        let mut inputs = Vec::with_capacity(points.len());
        for (x, v) in points.iter().zip(&directions) {
            inputs.push(expansion.input(&[x.clone(), v.clone()]));
        }
        let y = f(&x.with_leaves(inputs));
        let mut all = vec![Vec::new(); order + 1];
        for leaf in y.leaves() {
            let coefficients = match expansion.result(&leaf) {
                Ok(coefficients) => coefficients,
                Err(message) => panic!("{message}"),
            };
            all.iter_mut().zip(coefficients).for_each(|(all, c)| all.push(c));
        }
        all.into_iter().map(|leaves| y.with_leaves(leaves)).collect()
    }
}
