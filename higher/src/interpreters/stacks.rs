//! Values of loops as tensors within a structure, and arrays of values that tensors alone do not represent.
//!
//! A loop of tensors carries, reads and stacks the tensors within values. A function is its code and what it captures,
//! so an array of functions of one code is an array of captured values (defunctionalisation): one structure, with the
//! tensors of all elements stacked ([`Kept::Alike`]). What the functions capture from outside the loop is kept once.
//! Elements whose structures differ, such as functions of different codes, are kept one by one ([`Kept::Each`]).
//!
//! Laws: a value rebuilt from its structure and its tensors is the same value; the element of an array at a position is
//! the value that the trip at this position made.

use std::collections::HashSet;
use std::rc::Rc;

use polygrad::array::Array;
use polygrad::base::BaseTensor;
use polygrad::ops::Linear;
use polygrad::seam::mistake;
use polygrad::source::Site;

use super::value::{Bag, Entry, FunctionArray, Kept, Skeleton, Val};
use super::{Scattered, ScatteredRows};

impl<T: Clone> Clone for Skeleton<T> {
    fn clone(&self) -> Self {
        match self {
            Skeleton::Zero => Skeleton::Zero,
            Skeleton::Nil => Skeleton::Nil,
            Skeleton::Leaf => Skeleton::Leaf,
            Skeleton::Pair(a, b) => Skeleton::Pair(a.clone(), b.clone()),
            Skeleton::Scattered(shape, dtype, updates) => Skeleton::Scattered(shape.clone(), *dtype, updates.clone()),
            Skeleton::Bag(entries) => Skeleton::Bag(entries.clone()),
            Skeleton::Fun(code, captured) => Skeleton::Fun(code.clone(), captured.clone()),
            Skeleton::Many(n, of) => Skeleton::Many(*n, of.clone()),
            Skeleton::Fixed(of) => Skeleton::Fixed(of.clone()),
            Skeleton::Outer(v) => Skeleton::Outer(v.clone()),
        }
    }
}

/// Values from outside are equal if they are the same value in memory.
impl<T> PartialEq for Skeleton<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Skeleton::Zero, Skeleton::Zero) | (Skeleton::Nil, Skeleton::Nil) | (Skeleton::Leaf, Skeleton::Leaf) => {
                true
            }
            (Skeleton::Pair(a, b), Skeleton::Pair(c, d)) => a == c && b == d,
            (Skeleton::Bag(a), Skeleton::Bag(b)) => a == b,
            (Skeleton::Scattered(s, d, u), Skeleton::Scattered(t, e, v)) => {
                (s, d) == (t, e) && u.iter().map(|(count, _)| count).eq(v.iter().map(|(count, _)| count))
            }
            (Skeleton::Fun(f, a), Skeleton::Fun(g, b)) => f == g && a == b,
            (Skeleton::Many(n, a), Skeleton::Many(m, b)) => n == m && a == b,
            (Skeleton::Fixed(a), Skeleton::Fixed(b)) => a == b,
            (Skeleton::Outer(a), Skeleton::Outer(b)) => address(a).is_some() && address(a) == address(b),
            (
                Skeleton::Zero
                | Skeleton::Nil
                | Skeleton::Leaf
                | Skeleton::Pair(..)
                | Skeleton::Scattered(..)
                | Skeleton::Bag(_)
                | Skeleton::Fun(..)
                | Skeleton::Many(..)
                | Skeleton::Fixed(_)
                | Skeleton::Outer(_),
                _,
            ) => false,
        }
    }
}

/// Where a shared value lies in memory.
fn address<T>(v: &Val<T>) -> Option<usize> {
    match v {
        Val::Pair(p) => Some(p.address()),
        Val::Left(v) | Val::Right(v) => Some(v.address()),
        Val::Either(e) => Some(e.address()),
        Val::Many(m) => Some(Rc::as_ptr(m).addr()),
        Val::Fun(f) => Some(f.address()),
        Val::Zero | Val::Nil | Val::Leaf(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Scattered(_) => None,
    }
}

/// The values that exist outside a loop: all parts of some value, found when they are first asked for.
pub(super) struct Outside<'a, T: 'static> {
    root: &'a Val<T>,
    found: Option<HashSet<usize>>,
}

impl<'a, T: BaseTensor> Outside<'a, T> {
    pub(super) fn of(root: &'a Val<T>) -> Self {
        Outside { root, found: None }
    }

    fn contains(&mut self, v: &Val<T>) -> bool {
        let Some(at) = address(v) else { return false };
        let root = self.root;
        self.found.get_or_insert_with(|| parts(root)).contains(&at)
    }
}

/// The addresses of all parts of a value.
fn parts<T: BaseTensor>(root: &Val<T>) -> HashSet<usize> {
    let (mut found, mut work) = (HashSet::new(), vec![root]);
    while let Some(v) = work.pop() {
        if address(v).is_some_and(|at| !found.insert(at)) {
            continue;
        }
        match v {
            Val::Pair(p) => work.extend([&p.0, &p.1]),
            Val::Left(v) | Val::Right(v) => work.push(&**v),
            Val::Either(e) => work.extend([&e.1, &e.2]),
            Val::Fun(f) => work.extend(f.parts().map(|(_, captured)| captured)),
            Val::Zero | Val::Nil | Val::Leaf(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => {}
            Val::Scattered(_) => {}
        }
    }
    found
}

/// Appends the tensors of a value, in order; `None` if it has parts that are neither tensors nor functions.
pub(super) fn flatten<T: BaseTensor>(
    v: &Val<T>,
    outside: &mut Outside<'_, T>,
    into: &mut Vec<T>,
) -> Option<Skeleton<T>> {
    match v {
        Val::Fun(_) | Val::Many(_) if outside.contains(v) => Some(Skeleton::Outer(v.clone())),
        Val::Fun(f) => {
            let (code, captured) = f.parts()?;
            Some(Skeleton::Fun(code.clone(), Box::new(captures(captured, outside, into)?)))
        }
        Val::Many(elements) => {
            let Kept::Alike { n, form, leaves } = &elements.0 else { return None };
            Some(Skeleton::Many(*n, Box::new(opened(form, &mut leaves.iter(), outside, into)?)))
        }
        Val::Zero | Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Pair(_) | Val::Bag(_) => {
            tensors(v, into, &mut |part, into| flatten(part, outside, into))
        }
        Val::Left(_) | Val::Right(_) | Val::Either(_) | Val::Lin(_) | Val::Mono(_) => None,
    }
}

/// A structure with its tensors, of a part of a value.
type Part<'a, T> = &'a mut dyn FnMut(&Val<T>, &mut Vec<T>) -> Option<Skeleton<T>>;

/// Appends the tensors of a value that consists of tensors, where `part` does so for its parts; `None` for other values.
fn tensors<T: BaseTensor>(v: &Val<T>, into: &mut Vec<T>, part: Part<'_, T>) -> Option<Skeleton<T>> {
    Some(match v {
        Val::Zero => Skeleton::Zero,
        Val::Nil => Skeleton::Nil,
        Val::Leaf(t) => {
            into.push(t.clone());
            Skeleton::Leaf
        }
        Val::Scattered(at) => {
            let count = |update: &ScatteredRows<T>| {
                into.extend(update.ix.iter().cloned());
                into.push(update.rows.clone());
                (update.ix.len(), update.site.clone())
            };
            Skeleton::Scattered(at.shape.clone(), at.dtype, at.updates().iter().map(count).collect())
        }
        Val::Pair(p) => {
            let first = part(&p.0, into)?;
            Skeleton::Pair(Box::new(first), Box::new(part(&p.1, into)?))
        }
        Val::Bag(bag) => {
            let mut found = Vec::new();
            for entry in bag.entries() {
                let (many, a, v) = match entry {
                    Entry::One(a, v) => (false, a, v),
                    Entry::Zip(a, v) => (true, a, v),
                    Entry::Total(_) => return None,
                };
                let a = part(a, into)?;
                found.push((many, a, part(v, into)?));
            }
            Skeleton::Bag(found)
        }
        Val::Left(_) | Val::Right(_) | Val::Either(_) | Val::Fun(_) | Val::Lin(_) => return None,
        Val::Mono(_) | Val::Many(_) => return None,
    })
}

/// [`flatten`] of the captures of a function; parts from outside the loop stay as they are.
fn captures<T: BaseTensor>(v: &Val<T>, outside: &mut Outside<'_, T>, into: &mut Vec<T>) -> Option<Skeleton<T>> {
    if outside.contains(v) {
        return Some(Skeleton::Outer(v.clone()));
    }
    if let Val::Pair(_) = v {
        return tensors(v, into, &mut |part, into| captures(part, outside, into));
    }
    flatten(v, outside, into)
}

/// The structure of the elements of an array, as that of a part of a value: what the elements share is a part, too,
/// unless it is from outside the loop. `None` if the elements are arrays that share something that is not.
fn opened<T: BaseTensor>(
    form: &Skeleton<T>,
    leaves: &mut std::slice::Iter<'_, T>,
    outside: &mut Outside<'_, T>,
    into: &mut Vec<T>,
) -> Option<Skeleton<T>> {
    let mut again = |of: &Skeleton<T>| opened(of, leaves, outside, into).map(Box::new);
    Some(match form {
        Skeleton::Zero | Skeleton::Nil => form.clone(),
        Skeleton::Leaf => {
            into.extend(leaves.next().cloned());
            Skeleton::Leaf
        }
        Skeleton::Pair(a, b) => {
            let first = again(a)?;
            Skeleton::Pair(first, again(b)?)
        }
        Skeleton::Fun(code, captured) => Skeleton::Fun(code.clone(), again(captured)?),
        Skeleton::Outer(v) if outside.contains(v) => form.clone(),
        Skeleton::Outer(v) => Skeleton::Fixed(Box::new(captures(v, outside, into)?)),
        Skeleton::Scattered(..) | Skeleton::Bag(_) | Skeleton::Many(..) | Skeleton::Fixed(_) => return None,
    })
}

/// [`flatten`] of an array whose elements a loop reads: the structure is that of an element, whose tensors are rows.
pub(super) fn rows<T: BaseTensor>(xs: &Val<T>, into: &mut Vec<T>) -> Option<Skeleton<T>> {
    if let Val::Scattered(_) = xs {
        return rows(&xs.clone().dense(), into);
    }
    let Val::Many(elements) = xs else { return tensors(xs, into, &mut rows) };
    let Kept::Alike { form, leaves, .. } = &elements.0 else { return None };
    into.extend(leaves.iter().cloned());
    Some(form.clone())
}

/// How a value is rebuilt from tensors.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// From the tensors themselves.
    Same,
    /// As an array of this number of elements, from stacked tensors.
    Stacked(usize),
    /// As the sum of this number of values, from stacked tensors.
    Sum(usize),
}

pub(super) fn rebuild<T: BaseTensor>(skeleton: &Skeleton<T>, way: Way, leaves: &mut dyn Iterator<Item = T>) -> Val<T> {
    match (skeleton, way) {
        (Skeleton::Zero, _) => Val::Zero,
        (Skeleton::Nil, _) => Val::Nil,
        (Skeleton::Leaf, _) => {
            let leaf = taken(leaves);
            Val::Leaf(if let Way::Sum(_) = way { leaf.linear(&Linear::sum(leaf.shape(), &[0])) } else { leaf })
        }
        (Skeleton::Pair(a, b), _) => {
            let first = rebuild(a, way, leaves);
            Val::pair(first, rebuild(b, way, leaves))
        }
        (Skeleton::Bag(entries), _) => {
            let mut total = Val::Zero;
            // The points and vectors of all trips are arrays.
            let (inside, summed) = if let Way::Sum(n) = way { (Way::Stacked(n), true) } else { (way, false) };
            for (many, a, v) in entries {
                let (mut a, mut v) = (rebuild(a, inside, leaves), rebuild(v, inside, leaves));
                if summed && *many {
                    (a, v) = (merged(&a), merged(&v));
                }
                let bag = if summed || *many { Bag::zip(a, v) } else { Bag::one(a, v) };
                total = total.plus(Val::Bag(bag));
            }
            total
        }
        (Skeleton::Fun(..) | Skeleton::Many(..) | Skeleton::Outer(_) | Skeleton::Scattered(..), Way::Stacked(n)) => {
            let mut own = Vec::new();
            collect(skeleton, leaves, &mut own);
            FunctionArray::alike(n, skeleton.clone(), own)
        }
        (Skeleton::Scattered(shape, dtype, updates), _) => {
            let update = |(count, site): &(usize, Site)| {
                let ix = (0..*count).map(|_| taken(leaves)).collect();
                ScatteredRows { ix, rows: taken(leaves), site: site.clone() }
            };
            let updates = updates.iter().map(update).collect();
            Val::Scattered(Rc::new(Scattered::of(shape.clone(), *dtype, updates)))
        }
        (Skeleton::Fun(code, captured), _) => Val::capturing(code.clone(), rebuild(captured, way, leaves)),
        (Skeleton::Many(n, of), _) => {
            let mut own = Vec::new();
            let form = closed(of, leaves, &mut own);
            FunctionArray::alike(*n, form, own)
        }
        (Skeleton::Fixed(of), _) => rebuild(of, way, leaves),
        (Skeleton::Outer(v), _) => v.clone(),
    }
}

fn taken<T>(leaves: &mut dyn Iterator<Item = T>) -> T {
    leaves.next().expect("as many tensors as before")
}

/// Appends the tensors that belong to a structure.
fn collect<T>(skeleton: &Skeleton<T>, leaves: &mut dyn Iterator<Item = T>, into: &mut Vec<T>) {
    match skeleton {
        Skeleton::Zero | Skeleton::Nil | Skeleton::Outer(_) => {}
        Skeleton::Leaf => into.push(taken(leaves)),
        Skeleton::Scattered(_, _, updates) => {
            into.extend(updates.iter().flat_map(|(count, _)| 0..=*count).map(|_| taken(leaves)));
        }
        Skeleton::Pair(a, b) => {
            collect(a, leaves, into);
            collect(b, leaves, into);
        }
        Skeleton::Bag(entries) => {
            for (_, a, v) in entries {
                collect(a, leaves, into);
                collect(v, leaves, into);
            }
        }
        Skeleton::Fun(_, of) | Skeleton::Many(_, of) | Skeleton::Fixed(of) => collect(of, leaves, into),
    }
}

/// The structure of the elements of an array, from that of a part of a value: what the elements share is a value.
fn closed<T: BaseTensor>(form: &Skeleton<T>, leaves: &mut dyn Iterator<Item = T>, into: &mut Vec<T>) -> Skeleton<T> {
    match form {
        Skeleton::Pair(a, b) => {
            let first = closed(a, leaves, into);
            Skeleton::Pair(Box::new(first), Box::new(closed(b, leaves, into)))
        }
        Skeleton::Fun(code, of) => Skeleton::Fun(code.clone(), Box::new(closed(of, leaves, into))),
        Skeleton::Fixed(of) => Skeleton::Outer(rebuild(of, Way::Same, leaves)),
        Skeleton::Zero
        | Skeleton::Nil
        | Skeleton::Leaf
        | Skeleton::Scattered(..)
        | Skeleton::Bag(_)
        | Skeleton::Many(..)
        | Skeleton::Outer(_) => {
            collect(form, leaves, into);
            form.clone()
        }
    }
}

/// An array of arrays as one array: the two outermost axes of each tensor are merged.
fn merged<T: BaseTensor>(v: &Val<T>) -> Val<T> {
    match v {
        Val::Leaf(t) => {
            let shape = t.shape();
            let flat: Vec<usize> = std::iter::once(shape[0] * shape[1]).chain(shape[2..].iter().copied()).collect();
            Val::Leaf(t.linear(&Linear::reshape(shape, &flat)))
        }
        Val::Pair(p) => Val::pair(merged(&p.0), merged(&p.1)),
        Val::Many(arrays) => {
            let arrays = (0..arrays.len()).map(|k| element(v, k));
            let all = arrays.map(|array| {
                let inner = if let Val::Many(inner) = &array { inner.len() } else { 0 };
                (0..inner).map(|k| element(&array, k)).collect()
            });
            stacked(all.collect::<Vec<Vec<Val<T>>>>().concat())
        }
        Val::Scattered(_) => merged(&v.clone().dense()),
        Val::Zero | Val::Nil | Val::Left(_) | Val::Right(_) | Val::Either(_) => v.clone(),
        Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) => v.clone(),
    }
}

impl<T: BaseTensor> FunctionArray<T> {
    pub(super) fn len(&self) -> usize {
        match &self.0 {
            Kept::Alike { n, .. } => *n,
            Kept::Each(all) => all.len(),
        }
    }

    fn alike(n: usize, form: Skeleton<T>, leaves: Vec<T>) -> Val<T> {
        Val::Many(Rc::new(FunctionArray(Kept::Alike { n, form, leaves })))
    }

    /// An array of these elements.
    pub(super) fn each(all: Vec<Val<T>>) -> Val<T> {
        Val::Many(Rc::new(FunctionArray(Kept::Each(all))))
    }

    /// The array of the values of `f` at each pair of elements of two arrays of one type, at least one of them not an
    /// array of tensors.
    pub(super) fn both(a: &Val<T>, b: &Val<T>, f: &dyn Fn(Val<T>, Val<T>) -> Val<T>) -> Val<T> {
        let ((Val::Many(known), _) | (_, Val::Many(known))) = (a, b) else { unreachable!("an array of functions") };
        FunctionArray::each((0..known.len()).map(|k| f(element(a, k), element(b, k))).collect())
    }
}

/// The element of an array at a position.
pub(super) fn element<T: BaseTensor>(xs: &Val<T>, k: usize) -> Val<T> {
    if let Val::Many(elements) = xs
        && let Kept::Each(all) = &elements.0
    {
        return all[k].clone();
    }
    match xs {
        Val::Pair(p) => Val::pair(element(&p.0, k), element(&p.1, k)),
        Val::Bag(bag) => bag.entries().iter().fold(Val::Zero, |total, entry| {
            total.plus(Val::Bag(match entry {
                Entry::One(a, v) => Bag::one(element(a, k), element(v, k)),
                Entry::Zip(a, v) => Bag::zip(element(a, k), element(v, k)),
                Entry::Total(_) => unreachable!("calls that are known only by their sums are not an array"),
            }))
        }),
        Val::Zero | Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Many(_) => {
            let at = T::constant(Array::scalar(k as i64));
            let mut leaves = Vec::new();
            let form = rows(xs, &mut leaves).expect("an array of tensors");
            rebuild(&form, Way::Same, &mut leaves.iter().map(|t| t.gather(std::slice::from_ref(&at))))
        }
        Val::Left(_) | Val::Right(_) | Val::Either(_) | Val::Fun(_) | Val::Lin(_) | Val::Mono(_) => {
            unreachable!("the elements of arrays are tensors, functions and pairs of them")
        }
    }
}

/// The common length of all arrays.
pub(super) fn length<T: BaseTensor>(op: &str, xs: &Val<T>) -> usize {
    let mut lengths = Vec::new();
    collect_lengths(xs, &mut lengths);
    let mut lengths = lengths.into_iter();
    let Some(first) = lengths.next() else {
        mistake(&format!(
            "{op}: the elements must have an array among their parts, but they have none; pair them with one"
        ))
    };
    if let Some(other) = lengths.find(|n| *n != first) {
        mistake(&format!(
            "{op}: all arrays must be equally long, but they have {first} and {other} elements; slice or pad one"
        ));
    }
    first
}

fn collect_lengths<T: BaseTensor>(xs: &Val<T>, into: &mut Vec<usize>) {
    match xs {
        Val::Leaf(t) => into.push(t.shape()[0]),
        Val::Scattered(at) => into.push(at.shape[0]),
        Val::Many(elements) => into.push(elements.len()),
        Val::Pair(p) => {
            collect_lengths(&p.0, into);
            collect_lengths(&p.1, into);
        }
        Val::Bag(bag) => {
            for entry in bag.entries() {
                if let Entry::One(a, v) | Entry::Zip(a, v) = entry {
                    collect_lengths(a, into);
                    collect_lengths(v, into);
                }
            }
        }
        Val::Zero | Val::Nil | Val::Left(_) | Val::Right(_) | Val::Either(_) => {}
        Val::Fun(_) | Val::Lin(_) | Val::Mono(_) => {}
    }
}

/// The values of all trips as an array: their tensors stacked along a new outermost axis if they have one structure.
pub(super) fn stacked<T: BaseTensor>(outs: Vec<Val<T>>) -> Val<T> {
    let Some(whole) = outs.iter().find(|v| !v.is_zero()) else { return Val::Zero };
    let fits = |v: &Val<T>| match (v, whole) {
        (Val::Zero, _) | (Val::Nil, Val::Nil) | (Val::Pair(_), Val::Pair(_)) => true,
        (Val::Leaf(a), Val::Leaf(b)) => a.shape() == b.shape(),
        _ => false,
    };
    let alike = outs.iter().all(fits);
    if let (Val::Nil, true) = (whole, alike) {
        return Val::Nil;
    }
    if let (Val::Pair(_), true) = (whole, alike) {
        let (first, second) = outs.iter().map(|v| (v.fst(), v.snd())).unzip();
        return Val::pair(stacked(first), stacked(second));
    }
    if let (Val::Leaf(like), true) = (whole, alike) {
        let zero = || T::zeros(like.shape(), like.dtype());
        let rows = outs.iter().map(|v| if let Val::Leaf(t) = v { t.clone() } else { zero() });
        return Val::Leaf(concatenated(&rows.collect::<Vec<T>>()));
    }
    functions(&outs).unwrap_or_else(|| FunctionArray::each(outs))
}

/// The array of values of one structure; `None` if the structures differ.
fn functions<T: BaseTensor>(outs: &[Val<T>]) -> Option<Val<T>> {
    let (none, mut all, mut form) = (Val::Zero, Vec::new(), None);
    for v in outs {
        let mut leaves = Vec::new();
        let found = flatten(v, &mut Outside::of(&none), &mut leaves)?;
        if form.get_or_insert_with(|| found.clone()) != &found {
            return None;
        }
        all.push(leaves);
    }
    let count = all.first()?.len();
    let columns = (0..count).map(|k| all.iter().map(|leaves| leaves[k].clone()).collect::<Vec<T>>());
    let columns: Vec<Vec<T>> = columns.collect();
    if columns.iter().any(|column| column.iter().any(|t| t.shape() != column[0].shape())) {
        return None;
    }
    let stacks: Vec<T> = columns.iter().map(|column| concatenated(column)).collect();
    Some(rebuild(&form?, Way::Stacked(outs.len()), &mut stacks.into_iter()))
}

/// Tensors of one shape, stacked along a new outermost axis.
fn concatenated<T: BaseTensor>(all: &[T]) -> T {
    let rows = all.iter().map(|t| {
        let row: Vec<usize> = std::iter::once(1).chain(t.shape().iter().copied()).collect();
        t.linear(&Linear::reshape(t.shape(), &row))
    });
    T::concat(0, &rows.collect::<Vec<T>>())
}
