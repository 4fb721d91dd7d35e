//! Contractions: bilinear operations as three views of one iteration space.
//!
//! `out[O i] += a[A i] * b[B i]`. Dot, matrix and outer products, batched or not, and convolutions
//! are instances; so are both adjoints, by exchanging views: three views are closed under
//! differentiation, two views and a list of summed axes are not.
//!
//! Laws: `dot(c(a, b), y) == dot(a, c.adjoint_left()(y, b)) == dot(b, c.adjoint_right()(a, y))`;
//! `c.batched(n, true, true)` of two stacks is the stack of `c`.

use std::fmt;

use smallvec::SmallVec;

use super::view::View;
use crate::dtype::DType;
use crate::shape::{Shape, Show};

/// A bilinear operation: `out[O i] += a[A i] * b[B i]` over an iteration space, from zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contract {
    /// How the iteration space looks at the left operand.
    pub a: View,
    /// How it looks at the right operand.
    pub b: View,
    /// How it looks at the result.
    pub out: View,
}

impl Contract {
    /// A contraction from its three views.
    ///
    /// # Panics
    /// When their iteration spaces differ.
    #[track_caller]
    pub fn new(a: View, b: View, out: View) -> Contract {
        if a.shape() != b.shape() || a.shape() != out.shape() {
            panic!(
                "contract: the three views need one iteration space, but they have {}, {} and {}; give all one shape",
                Show(a.shape()),
                Show(b.shape()),
                Show(out.shape())
            );
        }
        Contract { a, b, out }
    }

    /// The contraction over an iteration space of shape `shape` in which each operand and the
    /// result has the named axes, in order: a matrix product is `axes(&[n, m, k], &[0, 2], &[2, 1], &[0, 1])`.
    #[track_caller]
    pub fn axes(shape: &[usize], a: &[usize], b: &[usize], out: &[usize]) -> Contract {
        Contract { a: View::axes(shape, a), b: View::axes(shape, b), out: View::axes(shape, out) }
    }

    /// The shape of the result.
    pub fn output_shape(&self) -> &[usize] {
        self.out.source()
    }

    /// The adjoint in the left operand: of the cotangent of the result (left) and `b` (right).
    pub fn adjoint_left(&self) -> Contract {
        Contract { a: self.out.clone(), b: self.b.clone(), out: self.a.clone() }
    }

    /// The adjoint in the right operand: of `a` (left) and the cotangent of the result (right).
    pub fn adjoint_right(&self) -> Contract {
        Contract { a: self.a.clone(), b: self.out.clone(), out: self.b.clone() }
    }

    /// The same contraction with its operands exchanged.
    pub fn swapped(&self) -> Contract {
        Contract { a: self.b.clone(), b: self.a.clone(), out: self.out.clone() }
    }

    /// The same contraction on each of `n` pairs, stacked along a new outermost axis where a side
    /// is marked as stacked; a side that is not is used for every pair.
    pub fn batched(&self, n: usize, a: bool, b: bool) -> Contract {
        let lift = |view: &View, stacked: bool| if stacked { view.batched(n) } else { view.widened(n) };
        Contract { a: lift(&self.a, a), b: lift(&self.b, b), out: self.out.batched(n) }
    }

    /// Shape and element type of the result.
    ///
    /// # Panics
    /// When an operand has the wrong shape, the element types differ, or they are masks.
    #[track_caller]
    pub fn result(&self, a: (&[usize], DType), b: (&[usize], DType)) -> (Shape, DType) {
        if a.0 != self.a.source() || b.0 != self.b.source() {
            panic!(
                "contract: the operands must have shapes {} and {}, but they have {} and {}; make the operation for those shapes",
                Show(self.a.source()),
                Show(self.b.source()),
                Show(a.0),
                Show(b.0)
            );
        }
        if a.1 != b.1 || a.1 == DType::Bool {
            panic!("contract: needs numbers of one element type, but they are {} and {}; convert one", a.1, b.1);
        }
        (Shape::from_slice(self.out.source()), a.1)
    }

    /// For each axis of the iteration space, which of `a`, `b` and `out` it moves.
    pub fn roles(&self) -> SmallVec<[[bool; 3]; 6]> {
        let moves = |view: &View, axis: usize| (0..view.source().len()).any(|k| view.row(k)[axis] != 0);
        (0..self.a.shape().len()).map(|i| [&self.a, &self.b, &self.out].map(|v| moves(v, i))).collect()
    }
}

/// `a <view>, b <view> into <view>`.
impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "contract a{} * b{} into {}", self.a, self.b, self.out)
    }
}
