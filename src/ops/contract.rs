//! Contractions: bilinear operations as three views of one iteration space.
//!
//! `out[O i] += a[A i] * b[B i]`. Dot, matrix and outer products, batched or not, and convolutions are instances. Both
//! adjoints are contractions with exchanged views, so contractions are closed under differentiation; with two views and
//! a list of summed axes they would not be.
//!
//! Laws: `dot(c(a, b), y) == dot(a, c.adjoint_left()(y, b)) == dot(b, c.adjoint_right()(a, y))`;
//! `c.batched(n, true, true)` of two stacks is the stack of `c`.

use std::fmt;

use smallvec::SmallVec;

use super::familiar::Product;
use super::kinds::{Kind, or_panic};
use super::view::{ShownView, Space, View};
use crate::dtype::DType;
use crate::shape::{Shape, Show};
use crate::source::mistake;

/// A bilinear operation: `out[O i] += a[A i] * b[B i]` over an iteration space, from zeros.
///
/// ```
/// use polygrad::ops::Contract;
/// use polygrad::{Array, BaseTensor};
/// // A matrix by a vector: the iteration space has the axes of the matrix.
/// let matvec = Contract::axes(&[2, 2], &[0, 1], &[1], &[0]);
/// let (a, b) = (Array::from([[1.0, 2.0], [3.0, 4.0]]), Array::from([1.0, 10.0]));
/// assert_eq!(Array::contract(&matvec, &a, &b), Array::from([21.0, 43.0]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contract {
    /// The view of the left operand.
    pub a: View,
    /// The view of the right operand.
    pub b: View,
    /// The view of the result.
    pub out: View,
}

impl Contract {
    /// A contraction from its three views.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor, ops::{Contract, View}};
    /// let all = View::identity(&[2]);
    /// let dot = Contract::new(all.clone(), all, View::axes(&[2], &[]));
    /// let (a, b) = (Array::new(&[2], vec![1., 2.]), Array::new(&[2], vec![3., 4.]));
    /// assert_eq!(BaseTensor::contract(&dot, &a, &b), Array::scalar(11.));
    /// ```
    ///
    /// # Panics
    /// When their iteration spaces differ.
    #[track_caller]
    pub fn new(a: View, b: View, out: View) -> Contract {
        if a.shape() != b.shape() || a.shape() != out.shape() {
            mistake(&format!(
                "contract: the three views need one iteration space, but they have {}, {} and {}; give all one shape",
                Show(a.shape()),
                Show(b.shape()),
                Show(out.shape())
            ));
        }
        Contract { a, b, out }
    }

    /// The contraction over an iteration space of shape `shape` in which each operand and the
    /// result has the named axes, in order: a matrix product is `axes(&[n, m, k], &[0, 2], &[2, 1], &[0, 1])`.
    ///
    /// ```
    /// use polygrad::ops::Contract;
    /// let matmul = Contract::axes(&[2, 3, 4], &[0, 2], &[2, 1], &[0, 1]);
    /// assert_eq!(matmul.to_string(), "matmul a b: [2, 4], [4, 3] -> [2, 3]");
    /// assert_eq!(matmul.output_shape(), [2, 3]);
    /// assert_eq!(matmul.adjoint_left().applied("y", "b"), "matmul y b.t");
    /// assert_eq!(matmul.adjoint_right().applied("a", "y"), "matmul a.t y");
    /// ```
    ///
    /// # Panics
    /// When an axis is not one of the iteration space.
    #[track_caller]
    pub fn axes(shape: &[usize], a: &[usize], b: &[usize], out: &[usize]) -> Contract {
        Contract { a: View::axes(shape, a), b: View::axes(shape, b), out: View::axes(shape, out) }
    }

    /// The shape of the result.
    ///
    /// Example: [`Contract::axes`].
    pub fn output_shape(&self) -> &[usize] {
        self.out.source()
    }

    /// The adjoint in the left operand: a contraction of the cotangent of the result (left) and `b` (right).
    /// `da[A i] += y[O i] * b[B i]`.
    ///
    /// Example: [`Contract::axes`].
    pub fn adjoint_left(&self) -> Contract {
        Contract { a: self.out.clone(), b: self.b.clone(), out: self.a.clone() }
    }

    /// The adjoint in the right operand: a contraction of `a` (left) and the cotangent of the result (right).
    /// `db[B i] += a[A i] * y[O i]`.
    ///
    /// Example: [`Contract::axes`].
    pub fn adjoint_right(&self) -> Contract {
        Contract { a: self.a.clone(), b: self.out.clone(), out: self.b.clone() }
    }

    /// The same contraction with its operands exchanged.
    /// `c.swapped()(b, a) == c(a, b)`.
    ///
    /// Example: [`Contract::batched`].
    pub fn swapped(&self) -> Contract {
        Contract { a: self.b.clone(), b: self.a.clone(), out: self.out.clone() }
    }

    /// The same contraction on each of `n` pairs, stacked along a new outermost axis on each side that is marked; an
    /// operand that is not marked is used for every pair.
    ///
    /// ```
    /// use polygrad::ops::Contract;
    /// use polygrad::{Array, BaseTensor};
    /// let dot = Contract::axes(&[2], &[0], &[0], &[]);
    /// let (a, b) = (Array::from([[1.0, 2.0], [3.0, 4.0]]), Array::from([1.0, 10.0]));
    /// // Each row of `a` with the same `b`.
    /// let each = dot.batched(2, true, false);
    /// assert_eq!(Array::contract(&each, &a, &b), Array::from([21.0, 43.0]));
    /// assert_eq!(Array::contract(&each.swapped(), &b, &a), Array::from([21.0, 43.0]));
    /// ```
    ///
    /// # Panics
    /// When no array can hold the stacks.
    #[track_caller]
    pub fn batched(&self, n: usize, a: bool, b: bool) -> Contract {
        let lift = |view: &View, stacked: bool| if stacked { view.batched(n) } else { view.widened(n) };
        Contract { a: lift(&self.a, a), b: lift(&self.b, b), out: self.out.batched(n) }
    }

    /// Shape and element type of the result.
    ///
    /// Example: [`Contract::try_result`].
    ///
    /// # Panics
    /// When an operand has the wrong shape, the element types differ, or they are masks.
    #[track_caller]
    pub fn result(&self, a: Kind<'_>, b: Kind<'_>) -> (Shape, DType) {
        or_panic(self.try_result(a, b))
    }

    /// [`result`](Contract::result), with the message as an error.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Contract;
    /// let matmul = Contract::axes(&[2, 3, 4], &[0, 2], &[2, 1], &[0, 1]);
    /// let (shape, dtype) = matmul.result((&[2, 4], DType::F32), (&[4, 3], DType::F32));
    /// assert_eq!((&shape[..], dtype), (&[2, 3][..], DType::F32));
    /// assert!(matmul.try_result((&[2, 4], DType::F64), (&[4, 3], DType::F32)).is_err());
    /// ```
    ///
    /// # Errors
    /// When an operand has the wrong shape, the element types differ, or they are masks.
    pub fn try_result(&self, a: Kind<'_>, b: Kind<'_>) -> Result<(Shape, DType), String> {
        if a.0 != self.a.source() || b.0 != self.b.source() {
            return Err(format!(
                "contract: the operands must have shapes {} and {}, but they have {} and {}; make the operation for those shapes",
                Show(self.a.source()),
                Show(self.b.source()),
                Show(a.0),
                Show(b.0)
            ));
        }
        if a.1 != b.1 || a.1 == DType::Bool {
            return Err(format!(
                "contract: needs numbers of one element type, but they are {} and {}; convert one",
                a.1, b.1
            ));
        }
        Ok((Shape::from_slice(self.out.source()), a.1))
    }

    /// For each axis of the iteration space, whether it moves (has a nonzero coefficient in) the views of `a`, `b` and
    /// the result.
    ///
    /// ```
    /// use polygrad::ops::Contract;
    /// let matvec = Contract::axes(&[2, 3], &[0, 1], &[1], &[0]);
    /// // The rows are those of `a` and of the result; the sum is over the axis of `a` and `b`.
    /// assert_eq!(matvec.roles()[..], [[true, false, true], [true, true, false]]);
    /// ```
    pub fn roles(&self) -> SmallVec<[[bool; 3]; 6]> {
        let moves = |view: &View, axis: usize| (0..view.source().len()).any(|k| view.row(k)[axis] != 0);
        (0..self.a.shape().len()).map(|i| [&self.a, &self.b, &self.out].map(|v| moves(v, i))).collect()
    }
}

impl Contract {
    /// The printed form of the operation, applied to operands that are names or texts in brackets: its familiar name or
    /// its views. `matmul a b.t`, `contract [i<3, j<2] a[i + j] * b[j] -> [i]`.
    ///
    /// ```
    /// use polygrad::ops::{Contract, View};
    /// let dot = Contract::axes(&[2], &[0], &[0], &[]);
    /// assert_eq!(dot.applied("a", "b"), "dot a b");
    /// let windows = View::affine(&[4], &[3, 2], &[1, 1], &[0]);
    /// let filter = Contract::new(windows, View::axes(&[3, 2], &[1]), View::axes(&[3, 2], &[0]));
    /// assert_eq!(filter.applied("a", "b"), "contract [i<3, j<2] a[i + j] * b[j] -> [i]");
    /// ```
    pub fn applied(&self, a: &str, b: &str) -> String {
        let transposed = |yes: bool| if yes { ".t" } else { "" };
        match self.familiar() {
            Some(Product { name, left, right }) => format!("{name} {a}{} {b}{}", transposed(left), transposed(right)),
            None => self.products(a, b),
        }
    }

    /// The result by the definition, product by product: what tests compare with.
    #[cfg(test)]
    pub(crate) fn defined(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; crate::shape::size(self.out.source())];
        let [of_a, of_b, of_out] = [&self.a, &self.b, &self.out].map(View::places);
        for ((i, j), o) in of_a.into_iter().zip(of_b).zip(of_out) {
            if let (Some(i), Some(j), Some(o)) = (i, j, o) {
                out[o] += a[i] * b[j];
            }
        }
        out
    }

    fn products(&self, a: &str, b: &str) -> String {
        let Contract { a: left, b: right, out } = self;
        let sum = format!("contract {} {a}{} * {b}{} -> ", Space(left.shape()), ShownView(left), ShownView(right));
        // If the axes of the result are whole axes of the space, they show its shape.
        if out.is_total() && out.axes_sizes().as_deref() == Some(out.source()) {
            format!("{sum}{}", ShownView(out))
        } else {
            format!("{sum}{} at {}", Show(out.source()), ShownView(out))
        }
    }
}

/// The familiar name or the three views, then the shapes of operands and result:
/// `matmul a b.t: [2, 4], [3, 4] -> [2, 3]`, `contract [i<3, j<2] a[i + j] * b[j] -> [i]: [4], [2] -> [3]`.
impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, b, out) = (self.a.source(), self.b.source(), self.out.source());
        write!(f, "{}: {}, {} -> {}", self.applied("a", "b"), Show(a), Show(b), Show(out))
    }
}
