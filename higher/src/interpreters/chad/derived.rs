//! The derivative of a primitive as a primitive: a first-order program again, so it has a derivative itself.
//!
//! Laws: both are linear in the second argument; the derivative of the derivative in the second argument is the
//! derivative of the primitive itself.

use polygrad::base::BaseTensor;

use super::{Tangents, pull_primitive, push_primitive};
use crate::primitive::{leaves, of_floats};
use crate::{Ground, Primitive, Prod};

/// `(x, v) -> Dop x v`: the tangents of the results of a primitive.
#[derive(Clone)]
pub(super) struct Pushed<P>(pub(super) P);

/// `(x, w) -> Dop^t x w`: the cotangents of the arguments of a primitive.
#[derive(Clone)]
pub(super) struct Pulled<P>(pub(super) P);

/// The (co)tangents of floats, with explicit zeros of the shapes of `like`.
fn filled<T: BaseTensor>(tangents: Tangents<T>, like: &[T]) -> Vec<T> {
    let floats = tangents.into_iter().zip(like).filter(|(_, x)| x.dtype().is_float());
    floats.map(|(t, x)| t.unwrap_or_else(|| T::zeros(x.shape(), x.dtype()))).collect()
}

/// The arguments of a primitive, and those of its derivative that follow them.
fn split<P: Primitive, T>(args: &[T]) -> (&[T], &[T]) {
    args.split_at(leaves(&P::Dom::layout()))
}

/// The leaves of the argument of a derivative of `p`, where (co)tangents may be symbolic zeros; `like` gives values
/// with their shapes at the arguments of `p`.
fn complete<P: Primitive, T: BaseTensor>(p: &P, args: &[Option<T>], like: impl FnOnce(&[T]) -> Vec<T>) -> Vec<T> {
    let (at, given) = split::<P, _>(args);
    let mut all = p.complete(at);
    if given.iter().all(Option::is_some) {
        all.extend(given.iter().flatten().cloned());
        return all;
    }
    let like = like(&all);
    let zeros = filled(vec![None; like.len()], &like);
    all.extend(given.iter().zip(zeros).map(|(v, zero)| v.clone().unwrap_or(zero)));
    all
}

impl<P: Primitive> Primitive for Pushed<P> {
    type Dom = Prod<P::Dom, <P::Dom as Ground>::Tangent>;
    type Cod = <P::Cod as Ground>::Tangent;

    fn name(&self) -> String {
        format!("D[{}]", self.0.name())
    }

    /// A primitive without floats among its arguments runs, since nothing else knows the shapes of its results.
    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (at, given) = split::<P, _>(args);
        let x_dots = of_floats(&P::Dom::layout(), given.iter().cloned().map(Some));
        let y_dots = push_primitive(&self.0, at, &x_dots);
        if given.is_empty() { filled(y_dots, &self.0.run(at)) } else { y_dots.into_iter().flatten().collect() }
    }

    fn complete<T: BaseTensor>(&self, args: &[Option<T>]) -> Vec<T> {
        complete(&self.0, args, <[T]>::to_vec)
    }
}

impl<P: Primitive> Primitive for Pulled<P> {
    type Dom = Prod<P::Dom, <P::Cod as Ground>::Tangent>;
    type Cod = <P::Dom as Ground>::Tangent;

    fn name(&self) -> String {
        format!("D[{}]^t", self.0.name())
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (at, given) = split::<P, _>(args);
        let y_bars = of_floats(&P::Cod::layout(), given.iter().cloned().map(Some));
        filled(pull_primitive(&self.0, at, &y_bars), at)
    }

    fn complete<T: BaseTensor>(&self, args: &[Option<T>]) -> Vec<T> {
        complete(&self.0, args, |at| self.0.run(at))
    }
}
