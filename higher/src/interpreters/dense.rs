//! Values without scattered cotangents.
//!
//! Law: accumulators, sums over the trips of a loop, and copowers may hold cotangents that are zero but at some indices; the
//! results of linear functions, and the arguments of functions of the host language, are dense.

use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::value::Val;

impl<T: BaseTensor> Val<T> {
    /// The value with tensors in place of their nonzero elements.
    pub(super) fn dense(self) -> Val<T> {
        if !self.has_scattered() {
            return self;
        }
        match self {
            Val::Scattered(s) => Val::Leaf(Rc::unwrap_or_clone(s).dense()),
            Val::Pair(p) => Val::pair(p.0.clone().dense(), p.1.clone().dense()),
            Val::Left(v) => Val::Left(Rc::new(Rc::unwrap_or_clone(v).dense())),
            Val::Right(v) => Val::Right(Rc::new(Rc::unwrap_or_clone(v).dense())),
            Val::Either(e) => Val::Either(Rc::new((e.0.clone(), e.1.clone().dense(), e.2.clone().dense()))),
            v @ (Val::Zero | Val::Nil | Val::Leaf(_) | Val::Fun(_) | Val::Lin(_)) => v,
            v @ (Val::Bag(_) | Val::Mono(_) | Val::Many(_)) => v,
        }
    }

    /// Whether [`dense`](Val::dense) changes the value.
    fn has_scattered(&self) -> bool {
        match self {
            Val::Scattered(_) => true,
            Val::Pair(p) => p.0.has_scattered() || p.1.has_scattered(),
            Val::Left(v) | Val::Right(v) => v.has_scattered(),
            Val::Either(e) => e.1.has_scattered() || e.2.has_scattered(),
            Val::Zero | Val::Nil | Val::Leaf(_) | Val::Fun(_) | Val::Lin(_) => false,
            Val::Bag(_) | Val::Mono(_) | Val::Many(_) => false,
        }
    }
}
