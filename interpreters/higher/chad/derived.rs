//! The derivative of a primitive as a primitive: a first-order program again, so it has a derivative itself.
//!
//! Laws: both are linear in the second argument; the derivative of the derivative in the second argument is the
//! derivative of the primitive itself.

use super::{Tangents, pull_primitive, push_primitive};
use crate::base::BaseTensor;
use crate::higher::{Ground, Layout, Primitive, Prod};

/// `(x, v) -> Dop x v`: the tangents of the results of a primitive.
#[derive(Clone)]
pub(super) struct Pushed<P>(pub(super) P);

/// `(x, w) -> Dop^t x w`: the cotangents of the arguments of a primitive.
#[derive(Clone)]
pub(super) struct Pulled<P>(pub(super) P);

/// The leaves of a layout that are floats, with all leaves of the tangents.
fn of_floats<T: BaseTensor>(layout: &Layout, tangents: &mut dyn Iterator<Item = Option<T>>, into: &mut Tangents<T>) {
    match layout {
        Layout::Unit => {}
        Layout::Leaf(_, dtype) => into.push(if dtype.is_float() { tangents.next().flatten() } else { None }),
        Layout::Pair(a, b) => {
            of_floats(a, tangents, into);
            of_floats(b, tangents, into);
        }
    }
}

/// The (co)tangents of floats, with explicit zeros of the shapes of `like`.
fn filled<T: BaseTensor>(tangents: Tangents<T>, like: &[T]) -> Vec<T> {
    let floats = tangents.into_iter().zip(like).filter(|(_, x)| x.dtype().is_float());
    floats.map(|(t, x)| t.unwrap_or_else(|| T::zeros(x.shape(), x.dtype()))).collect()
}

/// The number of arguments.
fn split<P: Primitive>() -> usize {
    crate::higher::primitive::leaves(&P::Dom::layout())
}

impl<P: Primitive> Primitive for Pushed<P> {
    type Dom = Prod<P::Dom, <P::Dom as Ground>::Tangent>;
    type Cod = <P::Cod as Ground>::Tangent;

    fn name(&self) -> String {
        format!("D[{}]", self.0.name())
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (at, given) = args.split_at(split::<P>());
        let mut x_dots = Vec::new();
        of_floats(&P::Dom::layout(), &mut given.iter().cloned().map(Some), &mut x_dots);
        let like = self.0.run(at);
        filled(push_primitive(&self.0, at, &x_dots), &like)
    }

    fn complete<T: BaseTensor>(&self, args: &[Option<T>]) -> Vec<T> {
        let (at, given) = args.split_at(split::<P>());
        let at = self.0.complete(at);
        let zeros = filled(vec![None; at.len()], &at);
        at.into_iter().chain(given.iter().zip(zeros).map(|(v, zero)| v.clone().unwrap_or(zero))).collect()
    }
}

impl<P: Primitive> Primitive for Pulled<P> {
    type Dom = Prod<P::Dom, <P::Cod as Ground>::Tangent>;
    type Cod = <P::Dom as Ground>::Tangent;

    fn name(&self) -> String {
        format!("D[{}]^t", self.0.name())
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (at, given) = args.split_at(split::<P>());
        let mut y_bars = Vec::new();
        of_floats(&P::Cod::layout(), &mut given.iter().cloned().map(Some), &mut y_bars);
        filled(pull_primitive(&self.0, at, &y_bars), at)
    }

    fn complete<T: BaseTensor>(&self, args: &[Option<T>]) -> Vec<T> {
        let (at, given) = args.split_at(split::<P>());
        let at = self.0.complete(at);
        if given.iter().all(Option::is_some) {
            return at.into_iter().chain(given.iter().flatten().cloned()).collect();
        }
        let results = self.0.run(&at);
        let zeros = filled(vec![None; results.len()], &results);
        at.into_iter().chain(given.iter().zip(zeros).map(|(v, zero)| v.clone().unwrap_or(zero))).collect()
    }
}
