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
    /// let [max, min] = Reduce::all(1);
    /// assert_eq!((max, max.name(), min.name(), max.axis()), (Reduce::Max { axis: 1 }, "max", "min", 1));
    /// assert_eq!((max.along(0), max.batched()), (Reduce::Max { axis: 0 }, Reduce::Max { axis: 2 }));
    /// ```
    pub fn all(axis: usize) -> [Reduce; 2] {
        [Reduce::Max { axis }, Reduce::Min { axis }]
    }

    /// The name of the operation in printed programs.
    ///
    /// Example: [`Reduce::all`].
    pub fn name(self) -> &'static str {
        match self {
            Reduce::Max { .. } => "max",
            Reduce::Min { .. } => "min",
        }
    }

    /// The axis that the lines run along.
    ///
    /// Example: [`Reduce::all`].
    pub fn axis(self) -> usize {
        match self {
            Reduce::Max { axis } | Reduce::Min { axis } => axis,
        }
    }

    /// The same reduction along another axis.
    ///
    /// Example: [`Reduce::all`].
    pub fn along(self, axis: usize) -> Reduce {
        match self {
            Reduce::Max { .. } => Reduce::Max { axis },
            Reduce::Min { .. } => Reduce::Min { axis },
        }
    }

    /// The same reduction of each of several arrays, stacked along a new outermost axis.
    ///
    /// Example: [`Reduce::all`].
    pub fn batched(self) -> Reduce {
        self.along(self.axis() + 1)
    }

    /// The operation that finds the positions of the extrema.
    ///
    /// Example: [`Reduce::indices`].
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
    /// use polygrad::ops::{Discrete, Reduce};
    /// use polygrad::{Array, BaseTensor};
    /// let (op, x) = (Reduce::Max { axis: 1 }, Array::from([[3.0, 1.0], [2.0, 4.0]]));
    /// assert_eq!(op.position(), Discrete::ArgMax { axis: 1 });
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
    /// Example: [`Reduce::try_result`].
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
    /// let (shape, dtype) = Reduce::Max { axis: 1 }.result((&[0, 3], DType::F32));
    /// assert_eq!((&shape[..], dtype), (&[0][..], DType::F32));
    /// assert!(Reduce::Max { axis: 0 }.try_result((&[0, 3], DType::F32)).is_err());
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
