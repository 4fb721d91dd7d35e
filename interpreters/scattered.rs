//! Cotangents of arrays that are zero but at some indices.
//!
//! The transpose of a read at an index is a vector with one nonzero element. As an array, it would take time and memory
//! for all elements, so the gradient of `n` reads of an array of `n` elements would take `n^2` steps. Here it is the
//! indices with their values, and a sum of such vectors is the list of both. Law: the dense array is the base zero with
//! all updates added, in order; a sum of two lists that would have as many values as the array is an array.

use smallvec::SmallVec;

use crate::base::{BaseTensor, attributed};
use crate::dtype::DType;
use crate::shape::{Shape, size};
use crate::source::Site;

/// An array that is zero but at some indices.
///
/// ```
/// use polygrad::{direct, tensor};
/// // A read, whose cotangent is scattered until the gradient is an array.
/// let slope = direct::grad(|x| x.at([1]), &tensor([1.0, 2.0, 3.0]));
/// assert_eq!(slope, tensor([0.0, 1.0, 0.0]));
/// ```
#[derive(Clone)]
pub struct Scattered<T> {
    /// The shape of the array.
    pub shape: Shape,
    /// Its element type.
    pub dtype: DType,
    updates: Vec<ScatteredRows<T>>,
    /// The number of values in all updates.
    values: usize,
}

/// The operands of a scatter-add: indices along the outermost axes, and the rows that are added there.
#[derive(Clone)]
pub struct ScatteredRows<T> {
    /// The indices, one array for each axis.
    pub ix: SmallVec<[T; 2]>,
    /// The value that is added there.
    pub rows: T,
    /// The operation that this is the derivative of.
    pub site: Site,
}

impl<T: BaseTensor> Scattered<T> {
    /// Of a read whose derivative runs now.
    pub fn new(shape: Shape, dtype: DType, ix: SmallVec<[T; 2]>, rows: T) -> Self {
        let site = T::attribute(Site::UNKNOWN);
        T::attribute(site.clone());
        Scattered::of(shape, dtype, vec![ScatteredRows { ix, rows, site }])
    }

    /// From the operands of several scatter-adds.
    pub fn of(shape: Shape, dtype: DType, updates: Vec<ScatteredRows<T>>) -> Self {
        let values = updates.iter().map(|update| size(update.rows.shape())).sum();
        Scattered { shape, dtype, updates, values }
    }

    /// The operands, in order.
    pub fn updates(&self) -> &[ScatteredRows<T>] {
        &self.updates
    }

    /// The same indices with other rows; `f` is linear, and keeps the shape.
    pub fn each(&self, f: impl Fn(&T) -> T) -> Self {
        let changed = |update: &ScatteredRows<T>| ScatteredRows {
            ix: update.ix.clone(),
            rows: f(&update.rows),
            site: update.site.clone(),
        };
        Scattered::of(self.shape.clone(), self.dtype, self.updates.iter().map(changed).collect())
    }

    /// The sum of two vectors of one shape; as an array, if the list would have as many values as the array.
    pub fn plus(mut self, other: Scattered<T>) -> Result<Self, T> {
        if self.values + other.values >= size(&self.shape) {
            return Err(other.onto(self.dense()));
        }
        self.values += other.values;
        self.updates.extend(other.updates);
        Ok(self)
    }

    /// The sum with an array, in place if nobody else has it.
    pub fn onto(self, base: T) -> T {
        let add = |base: T, update: ScatteredRows<T>| {
            attributed::<T, T>(update.site.clone(), || base.scatter_add(&update.ix, &update.rows))
        };
        self.updates.into_iter().fold(base, add)
    }

    /// The array.
    pub fn dense(self) -> T {
        let base = T::zeros(&self.shape, self.dtype);
        self.onto(base)
    }
}

/// The cotangent of an array.
///
/// Closed: whoever adds cotangents has to know each form.
pub enum ArrayCotangent<T> {
    /// As an array.
    Dense(T),
    /// Of an array that is only read at indices.
    Scattered(Box<Scattered<T>>),
}

impl<T: BaseTensor> ArrayCotangent<T> {
    /// The cotangent as an array.
    pub fn dense(self) -> T {
        match self {
            ArrayCotangent::Dense(ct) => ct,
            ArrayCotangent::Scattered(ct) => ct.dense(),
        }
    }
}
