//! Copowers: formal sums of points with vectors.
//!
//! An entry is one point with a vector, or an array of points with an array of vectors, which the derivative of `map`
//! makes: so the sum over all elements of an array is one loop, and no list of pairs is ever built ("CHAD", section
//! 9.4). Law: a copower is a quotient. Nothing outside of the closure-tangents of [`super::curry`] sees entries.

use std::rc::Rc;

use super::loops::{Trip, sweep};
use super::value::Val;
use crate::base::BaseTensor;

/// A value of a copower type; zero is [`Val::Zero`].
pub struct Bag<T>(Rc<Entries<T>>);

enum Entries<T> {
    One(Val<T>, Val<T>),
    Zip(Val<T>, Val<T>),
    Both(Bag<T>, Bag<T>),
}

/// An entry.
pub(super) enum Entry<'a, T> {
    /// A point and a vector.
    One(&'a Val<T>, &'a Val<T>),
    /// An array of points, and an array of vectors.
    Zip(&'a Val<T>, &'a Val<T>),
}

impl<T> Clone for Bag<T> {
    fn clone(&self) -> Self {
        Bag(self.0.clone())
    }
}

impl<T: BaseTensor> Bag<T> {
    /// A point with a vector.
    pub(super) fn one(a: Val<T>, v: Val<T>) -> Self {
        Bag(Rc::new(Entries::One(a, v)))
    }

    /// Every element of an array with the vector at its position.
    pub(super) fn zip(xs: Val<T>, vs: Val<T>) -> Self {
        Bag(Rc::new(Entries::Zip(xs, vs)))
    }

    /// The entries of both.
    pub(super) fn both(self, other: Bag<T>) -> Self {
        Bag(Rc::new(Entries::Both(self, other)))
    }

    /// All entries, in order.
    pub(super) fn entries(&self) -> Vec<Entry<'_, T>> {
        let (mut found, mut work) = (Vec::new(), vec![self]);
        while let Some(bag) = work.pop() {
            match &*bag.0 {
                Entries::One(a, v) => found.push(Entry::One(a, v)),
                Entries::Zip(xs, vs) => found.push(Entry::Zip(xs, vs)),
                Entries::Both(a, b) => work.extend([b, a]),
            }
        }
        found
    }

    /// The same points with other vectors.
    pub(super) fn each(&self, f: &dyn Fn(Val<T>) -> Val<T>) -> Self {
        match &*self.0 {
            Entries::One(a, v) => Bag::one(a.clone(), f(v.clone())),
            Entries::Zip(xs, vs) => Bag::zip(xs.clone(), f(vs.clone())),
            Entries::Both(a, b) => a.each(f).both(b.each(f)),
        }
    }

    /// Shows `f` of every entry; an array of entries gives the sum of its results.
    pub(super) fn fold(&self, f: &dyn Fn(Val<T>, Val<T>) -> Val<T>, show: &mut dyn FnMut(Val<T>)) {
        for entry in self.entries() {
            match entry {
                Entry::One(a, v) => show(f(a.clone(), v.clone())),
                Entry::Zip(_, vs) if vs.is_zero() => {}
                Entry::Zip(xs, vs) => {
                    let both = Val::pair(xs.clone(), vs.clone());
                    let swept = sweep("fold", false, Val::Nil, &both, &|_, both| Trip {
                        carry: Val::Nil,
                        out: Val::Nil,
                        sum: f(both.fst(), both.snd()),
                    });
                    show(swept.sum);
                }
            }
        }
    }
}
