//! Complex tensors as trees of two leaves, `re` and `im`, and as sequences and outputs of loops.

use super::Complex;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::{Above, Outputs, Rank, Rows, Tensor};
use crate::tree::{PathStep, Tree, Visitor, next_leaf};

/// The leaves are the real and the imaginary part, in this order.
///
/// ```
/// use polygrad::{Complex, Tree, tensor};
/// let z = Complex::new(tensor([1.0, 2.0]), tensor([3.0, 4.0]));
/// assert_eq!(z.names(), ["re", "im"]);
/// assert_eq!(z.ravel(), tensor([1.0, 2.0, 3.0, 4.0]));
/// ```
impl<T: BaseTensor, const D: usize, E: Float> Tree<T> for Complex<T, D, E> {
    type With<U: BaseTensor> = Complex<U, D, E>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Complex<U, D, E> {
        Complex { re: Tensor::from_raw(f(self.re.raw())), im: Tensor::from_raw(f(self.im.raw())) }
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        for (name, part) in [("re", &self.re), ("im", &self.im)] {
            visitor.enter(PathStep::Field(name));
            visitor.leaf(part.raw());
            visitor.leave();
        }
    }
}

impl<T: BaseTensor, const D: usize, const M: usize, E: Float> Rows<T, Complex<T, M, E>> for Complex<T, D, E>
where
    Rank<D>: Above<M>,
{
    fn sequences(&self, out: &mut Vec<T>) {
        out.extend(self.raws().map(T::clone));
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> Complex<T, M, E> {
        Complex { re: Tensor::from_raw(next_leaf(parts)), im: Tensor::from_raw(next_leaf(parts)) }
    }
}

impl<T: BaseTensor, const D: usize, const M: usize, E: Float> Outputs<T, Complex<T, D, E>> for Complex<T, M, E>
where
    Rank<D>: Above<M>,
{
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> Complex<T, D, E> {
        Complex { re: Tensor::from_raw(next_leaf(parts)), im: Tensor::from_raw(next_leaf(parts)) }
    }
}
