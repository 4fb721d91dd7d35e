//! The trees of this library: tensors, tuples, containers, and plain data.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::{PathStep, Plain, Tree, Visitor};
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::shape::exactly;
use crate::tensor::Tensor;

/// Shows trees to a visitor, each under its position.
fn numbered<T: BaseTensor, P: Tree<T>>(trees: &[P], visitor: &mut dyn Visitor<T>) {
    for (k, p) in trees.iter().enumerate() {
        visitor.enter(PathStep::Item(k));
        p.visit(visitor);
        visitor.leave();
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Tree<T> for Tensor<T, D, E> {
    type With<U: BaseTensor> = Tensor<U, D, E>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Tensor<U, D, E> {
        Tensor::from_raw(f(self.raw()))
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        visitor.leaf(self.raw());
    }
}

impl<T: BaseTensor, P: Tree<T>> Tree<T> for Vec<P> {
    type With<U: BaseTensor> = Vec<P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Vec<P::With<U>> {
        let mut out = Vec::with_capacity(self.len());
        for p in self {
            out.push(p.map(f));
        }
        out
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        numbered(self, visitor);
    }
}

impl<T: BaseTensor, P: Tree<T>, const N: usize> Tree<T> for [P; N] {
    type With<U: BaseTensor> = [P::With<U>; N];
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> [P::With<U>; N] {
        let mut out = Vec::with_capacity(N);
        for p in self {
            out.push(Tree::map(p, f));
        }
        exactly(out)
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        numbered(self, visitor);
    }
}

impl<T: BaseTensor, P: Tree<T>> Tree<T> for Option<P> {
    type With<U: BaseTensor> = Option<P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Option<P::With<U>> {
        match self {
            Some(p) => Some(Tree::map(p, f)),
            None => None,
        }
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        visitor.enter(PathStep::Variant(if self.is_some() { "Some" } else { "None" }));
        if let Some(p) = self {
            Tree::visit(p, visitor);
        }
        visitor.leave();
    }
}

impl<T: BaseTensor, P: Tree<T>> Tree<T> for Box<P> {
    type With<U: BaseTensor> = Box<P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Box<P::With<U>> {
        Box::new(Tree::map(&**self, f))
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        Tree::visit(&**self, visitor);
    }
}

/// Named trees; the leaves are in the order of the names.
impl<T: BaseTensor, K: Ord + Display + Clone + Plain, P: Tree<T>> Tree<T> for BTreeMap<K, P> {
    type With<U: BaseTensor> = BTreeMap<K, P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> BTreeMap<K, P::With<U>> {
        let mut out = BTreeMap::new();
        for (name, p) in self {
            out.insert(name.clone(), p.map(f));
        }
        out
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        for (name, p) in self {
            visitor.enter(PathStep::Name(name));
            // Different names may print alike, so the name is also shown as plain data.
            visitor.plain(name);
            p.visit(visitor);
            visitor.leave();
        }
    }
}

/// Plain data within a tuple or container of trees, copied unchanged: a name, a size, a choice. A field of a struct
/// that derives [`Tree`] needs no `Keep`.
///
/// ```
/// use polygrad::tree::Keep;
/// let depth = Keep(3);
/// assert_eq!(*depth + 1, 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keep<X>(
    /// The data.
    pub X,
);

impl<X> Deref for Keep<X> {
    type Target = X;
    fn deref(&self) -> &X {
        &self.0
    }
}

impl<X> DerefMut for Keep<X> {
    fn deref_mut(&mut self) -> &mut X {
        &mut self.0
    }
}

impl<T: BaseTensor, X: Clone + Plain> Tree<T> for Keep<X> {
    type With<U: BaseTensor> = Keep<X>;
    fn map<U: BaseTensor>(&self, _: &mut dyn FnMut(&T) -> U) -> Keep<X> {
        self.clone()
    }
    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        visitor.plain(&self.0);
    }
}

/// One row per tuple.
macro_rules! tuples {
    ($( $($P:ident $i:tt),*; )*) => { $(
        impl<T: BaseTensor, $($P: Tree<T>),*> Tree<T> for ($($P,)*) {
            type With<U: BaseTensor> = ($($P::With<U>,)*);
            #[track_caller]
            #[allow(unused_variables, clippy::unused_unit)]
            fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Self::With<U> {
                ($(self.$i.map(f),)*)
            }
            #[allow(unused_variables)]
            fn visit(&self, visitor: &mut dyn Visitor<T>) {
                $(
                    visitor.enter(PathStep::Item($i));
                    self.$i.visit(visitor);
                    visitor.leave();
                )*
            }
        }
    )* };
}

tuples! {
    ;
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, F 4;
    A 0, B 1, C 2, D 3, F 4, G 5;
    A 0, B 1, C 2, D 3, F 4, G 5, H 6;
    A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7;
}

/// A tree without leaves, for types that mention the interpreter and hold no tensors.
impl<T: BaseTensor> Tree<T> for PhantomData<T> {
    type With<U: BaseTensor> = PhantomData<U>;
    fn map<U: BaseTensor>(&self, _: &mut dyn FnMut(&T) -> U) -> PhantomData<U> {
        PhantomData
    }
    fn visit(&self, _: &mut dyn Visitor<T>) {}
}
