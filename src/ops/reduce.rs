//! Reductions that are not linear: the extremum of each line along an axis.
//!
//! Laws: the result is, to the bit, the element that [`gather`](crate::BaseTensor::gather) reads at the
//! [`position`](Reduce::position) of the extremum. So the derivative is `gather` at that position, and the position is
//! computed only if a tangent, or a term of a derivative, reads it.

use std::fmt;

use smallvec::SmallVec;

use super::kinds::{Kind, or_panic, try_axis};
use super::{Discrete, Linear};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::shape::{Shape, Show};

/// The extremum of each line along one axis, which disappears. The elements are floats or integers, and a line has at
/// least one element.
///
/// Closed: an interpreter fails to compile where a new operation has no meaning yet.
///
/// ```
/// use polygrad::ops::Reduce;
/// use polygrad::{Array, BaseTensor};
/// let x = Array::from([[3.0, 1.0], [2.0, 4.0]]);
/// assert_eq!(x.reduce(Reduce::Max { axis: 1 }), Array::from([3.0, 4.0]));
/// assert_eq!(x.reduce(Reduce::Min { axis: 0 }), Array::from([2.0, 1.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reduce {
    /// The largest element of each line: the first of equal ones, the first NaN if there is one. The derivative is
    /// that of reading this element.
    Max {
        /// The axis that the lines run along.
        axis: usize,
    },
    /// The smallest element of each line: the first of equal ones, the first NaN if there is one. The derivative is
    /// that of reading this element.
    Min {
        /// The axis that the lines run along.
        axis: usize,
    },
}

impl Reduce {
    /// Every reduction, along this axis.
    ///
    /// ```
    /// use polygrad::ops::Reduce;
    /// assert_eq!(Reduce::all(1), [Reduce::Max { axis: 1 }, Reduce::Min { axis: 1 }]);
    /// ```
    pub fn all(axis: usize) -> [Reduce; 2] {
        [Reduce::Max { axis }, Reduce::Min { axis }]
    }

    /// The name of the operation in printed programs.
    ///
    /// ```
    /// use polygrad::ops::Reduce;
    /// assert_eq!(Reduce::all(0).map(Reduce::name), ["max", "min"]);
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Reduce::Max { .. } => "max",
            Reduce::Min { .. } => "min",
        }
    }

    /// The axis that the lines run along.
    ///
    /// ```
    /// use polygrad::ops::Reduce;
    /// assert_eq!(Reduce::Max { axis: 1 }.axis(), 1);
    /// ```
    pub fn axis(self) -> usize {
        match self {
            Reduce::Max { axis } | Reduce::Min { axis } => axis,
        }
    }

    /// The same reduction along another axis.
    ///
    /// ```
    /// use polygrad::ops::Reduce;
    /// assert_eq!(Reduce::Max { axis: 1 }.along(0), Reduce::Max { axis: 0 });
    /// ```
    pub fn along(self, axis: usize) -> Reduce {
        match self {
            Reduce::Max { .. } => Reduce::Max { axis },
            Reduce::Min { .. } => Reduce::Min { axis },
        }
    }

    /// The same reduction of each of several arrays, stacked along a new outermost axis.
    ///
    /// ```
    /// use polygrad::ops::Reduce;
    /// assert_eq!(Reduce::Max { axis: 1 }.batched(), Reduce::Max { axis: 2 });
    /// ```
    pub fn batched(self) -> Reduce {
        self.along(self.axis() + 1)
    }

    /// The operation that finds the positions of the extrema.
    ///
    /// ```
    /// use polygrad::ops::{Discrete, Reduce};
    /// use polygrad::{Array, BaseTensor};
    /// let op = Reduce::Max { axis: 1 }.position();
    /// assert_eq!(op, Discrete::ArgMax { axis: 1 });
    /// assert_eq!(Array::discrete(&op, &[&Array::from([[3.0, 1.0], [2.0, 4.0]])]), Array::from([0, 1]));
    /// ```
    pub fn position(self) -> Discrete {
        match self {
            Reduce::Max { axis } => Discrete::ArgMax { axis },
            Reduce::Min { axis } => Discrete::ArgMin { axis },
        }
    }

    /// The indices at which `gather` reads the elements at these positions of their lines, from an array of shape
    /// `source`.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor, ops::Reduce};
    /// let x = Array::new(&[2, 2], vec![3.0, 1.0, 2.0, 4.0]);
    /// let op = Reduce::Max { axis: 1 };
    /// let position = Array::discrete(&op.position(), &[&x]);
    /// assert_eq!(x.gather(&op.indices(x.shape(), &position)), x.reduce(op));
    /// ```
    ///
    /// # Panics
    /// When the shape of the positions is not that of the result of the reduction.
    #[track_caller]
    pub fn indices<T: BaseTensor>(self, source: &[usize], position: &T) -> SmallVec<[T; 2]> {
        let shape = position.shape();
        let index = |k: usize| {
            if k == self.axis() {
                return position.clone();
            }
            let own = if k < self.axis() { k } else { k - 1 };
            T::discrete(&Discrete::Iota { n: source[k] }, &[]).linear(&Linear::replicate(shape, &[own]))
        };
        (0..source.len()).map(index).collect()
    }

    /// Shape and element type of the result.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Reduce;
    /// let (shape, dtype) = Reduce::Max { axis: 0 }.result((&[2, 3], DType::F32));
    /// assert_eq!((&shape[..], dtype), (&[3][..], DType::F32));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, it is empty, or the operand is a mask.
    #[track_caller]
    pub fn result(self, of: Kind<'_>) -> (Shape, DType) {
        or_panic(self.try_result(of))
    }

    /// [`result`](Reduce::result), with the message as an error.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Reduce;
    /// assert!(Reduce::Max { axis: 0 }.try_result((&[0, 3], DType::F64)).is_err());
    /// assert!(Reduce::Max { axis: 1 }.try_result((&[0, 3], DType::F64)).is_ok());
    /// ```
    ///
    /// # Errors
    /// When the axis does not exist, it is empty, or the operand is a mask.
    pub fn try_result(self, (shape, dtype): Kind<'_>) -> Result<(Shape, DType), String> {
        let (name, axis) = (self.name(), self.axis());
        if dtype == DType::Bool {
            return Err(format!("{name}: needs numbers, but the element type is {dtype}; convert it first"));
        }
        try_axis(name, axis, shape)?;
        if shape[axis] == 0 {
            return Err(format!(
                "{name}: the axis must not be empty, but axis {axis} of {} is; give it an element, or skip it",
                Show(shape)
            ));
        }
        let mut out = Shape::from_slice(shape);
        out.remove(axis);
        Ok((out, dtype))
    }
}

/// The name and the axis: `max axis=1`.
impl fmt::Display for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} axis={}", self.name(), self.axis())
    }
}
