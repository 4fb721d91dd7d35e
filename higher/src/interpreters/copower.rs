//! Copowers: formal sums of points with vectors.
//!
//! An entry is one point with a vector, or an array of points with an array of vectors, as in the derivative of `map`:
//! so the sum over all elements of an array is one loop, and no list of pairs is built ("CHAD", section 9.4). Law: a
//! copower is a quotient: only the tangents of functions in [`crate::interpreters::curry`] access single
//! entries.

use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::loops::{Trip, sweep};
use super::value::{Bag, Each, Entries, Entry, Total, Val};
use crate::shared::Shared;

impl<T> Clone for Bag<T> {
    fn clone(&self) -> Self {
        Bag(self.0.clone())
    }
}

impl<T: BaseTensor> Bag<T> {
    fn of(entries: Entries<T>) -> Self {
        Bag(Shared::new(entries))
    }

    fn parts(&self) -> &Entries<T> {
        &self.0
    }

    /// A point with a vector.
    pub(super) fn one(a: Val<T>, v: Val<T>) -> Self {
        Bag::of(Entries::One(a, v))
    }

    /// The elements of an array, each with the vector at its position.
    pub(super) fn zip(xs: Val<T>, vs: Val<T>) -> Self {
        Bag::of(Entries::Zip(xs, vs))
    }

    /// The copower with these sums, which are linear in the vectors.
    pub(super) fn of_total(total: Total<T>) -> Self {
        Bag::of(Entries::Total(total))
    }

    /// The sum of two copowers: the entries of both.
    pub(super) fn both(self, other: Bag<T>) -> Self {
        Bag::of(Entries::Both(self, other))
    }

    /// All entries, in order.
    pub(super) fn entries(&self) -> Vec<Entry<'_, T>> {
        let (mut found, mut work) = (Vec::new(), vec![self]);
        while let Some(bag) = work.pop() {
            match bag.parts() {
                Entries::One(a, v) => found.push(Entry::One(a, v)),
                Entries::Zip(xs, vs) => found.push(Entry::Zip(xs, vs)),
                Entries::Both(a, b) => work.extend([b, a]),
                Entries::Total(total) => found.push(Entry::Total(total)),
            }
        }
        found
    }

    /// The same points with other vectors; `f` is linear.
    pub(super) fn each(&self, f: &Rc<dyn Fn(Val<T>) -> Val<T>>) -> Self {
        let mut bags = self.entries().into_iter().map(|entry| match entry {
            Entry::One(a, v) => Bag::one(a.clone(), f(v.clone())),
            Entry::Zip(xs, vs) => Bag::zip(xs.clone(), f(vs.clone())),
            Entry::Total(total) => {
                let (total, f) = (total.clone(), f.clone());
                Bag::of_total(Rc::new(move |each| {
                    let (each, f) = (each.clone(), f.clone());
                    total(&(Rc::new(move |a, v| each(a, f(v))) as Each<T>))
                }))
            }
        });
        let first = bags.next().expect("a copower that is not zero has an entry");
        bags.fold(first, Bag::both)
    }

    /// The sum of `f` over all entries.
    pub(super) fn total(&self, f: &Each<T>) -> Val<T> {
        self.entries().into_iter().fold(Val::Zero, |total, entry| {
            total.plus(match entry {
                Entry::One(a, v) => f(a.clone(), v.clone()),
                Entry::Zip(xs, vs) => Bag::summed(xs.clone(), vs.clone(), &**f),
                Entry::Total(total) => total(f),
            })
        })
    }

    /// The sum of `f` over the pairs of elements of two arrays.
    pub(super) fn summed(xs: Val<T>, vs: Val<T>, f: &dyn Fn(Val<T>, Val<T>) -> Val<T>) -> Val<T> {
        if vs.is_zero() {
            return Val::Zero;
        }
        let step = |_, both: Val<T>| Trip { carry: Val::Nil, out: Val::Nil, sum: f(both.fst(), both.snd()) };
        sweep("fold", false, Val::Nil, &Val::pair(xs, vs), &step).sum
    }
}
