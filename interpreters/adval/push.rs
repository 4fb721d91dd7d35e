//! Forward evaluation of a term: the linear map itself; [`pull`](super::pull) is its transpose.
//!
//! One term serves both evaluations ("Dual arrays", section 2.3), any number of times.
//!
//! `push : Delta -> tangents of its references -> tangent of the value`.
//!
//! Law: for every term, `push` is linear and `dot(push(x_dot), ct) == dot(x_dot, pull(ct))`. Terms are visited by
//! ascending id, each shared term once; a tangent is passed by value at its last use.

use std::rc::Rc;

use smallvec::SmallVec;

use super::delta::{Delta, Edge, Id, SharedTerm, given_or_refused, reachable};
use super::pull::{Env, Fault, Residual};
use crate::base::BaseTensor;
use crate::interpreters::guarded::{self, Care, Side};

/// The tangents of a term: one, or one for each result of a loop; `None` for a known zero.
pub(super) type TermTangents<T> = SmallVec<[Option<T>; 1]>;

/// Tangents by position, and the number of uses left of each.
pub(super) struct TangentTable<T> {
    tangents: Vec<TermTangents<T>>,
    uses: Vec<usize>,
}

impl<T: Clone> TangentTable<T> {
    pub(super) fn new(uses: Vec<usize>) -> Self {
        let mut tangents = Vec::new();
        tangents.resize_with(uses.len(), TermTangents::new);
        TangentTable { tangents, uses }
    }

    pub(super) fn set(&mut self, at: usize, tangent: T) {
        self.set_all(at, one(Some(tangent)));
    }

    pub(super) fn set_all(&mut self, at: usize, tangents: TermTangents<T>) {
        self.tangents[at] = tangents;
    }

    /// The `k`-th tangent at a position; its last use moves it out of the table, so that it can be updated in place.
    pub(super) fn take(&mut self, at: usize, k: usize) -> Option<T> {
        self.uses[at] -= 1;
        let found = self.tangents[at].get_mut(k)?;
        if self.uses[at] > 0 {
            return found.clone();
        }
        let found = found.take();
        self.tangents[at].clear();
        found
    }
}

/// The tangent of a term that has one value.
pub(super) fn one<T>(tangent: Option<T>) -> TermTangents<T> {
    let mut one = TermTangents::new();
    one.push(tangent);
    one
}

fn sum<T: BaseTensor>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.accumulate(&b)),
        (one, None) | (None, one) => one,
    }
}

/// The tangents of a term; `of(r, k)` is the `k`-th tangent of the reference `r`, and is called once for every
/// reference. Products with the tangents of references have this care for infinite and NaN factors.
pub(super) fn push<T: BaseTensor, F: Residual<T>, R>(
    delta: &Delta<F, R>,
    env: &Env<'_, T>,
    care: Care,
    of: &mut dyn FnMut(&R, usize) -> Option<T>,
) -> TermTangents<T> {
    let mut times = |t: &Edge<F, R>| {
        let factor = t.factor.as_ref().map(|f| f.get(env));
        of(&t.to, 0).map(|t_dot| guarded::times(t.guard, factor, &t_dot, care))
    };
    let tangent = match delta {
        Delta::Input(_) | Delta::Unbounded => given_or_refused(),
        Delta::Scale(t) => times(t),
        Delta::Scale2(s, t) => {
            let left = times(s);
            sum(left, times(t))
        }
        Delta::Select { mask, then, otherwise } => {
            let then = then.as_ref().and_then(|to| of(to, 0));
            let otherwise = otherwise.as_ref().and_then(|to| of(to, 0));
            then.as_ref().or(otherwise.as_ref()).map(|t| T::zeros(t.shape(), t.dtype())).map(|zero| {
                T::select(mask.get(env), then.as_ref().unwrap_or(&zero), otherwise.as_ref().unwrap_or(&zero))
            })
        }
        Delta::Linear(op, to, _) => of(to, 0).map(|t| t.linear(op)),
        Delta::Contract(p) => {
            let left = p.left.as_ref().and_then(|(to, b)| {
                let factors = [&of(to, 0)?, b.get(env)];
                Some(guarded::contract(&p.op, factors, Side::Left, care, true))
            });
            let right = p.right.as_ref().and_then(|(to, a)| {
                let factors = [a.get(env), &of(to, 0)?];
                Some(guarded::contract(&p.op, factors, Side::Right, care, true))
            });
            sum(left, right)
        }
        Delta::Reduce(m) => of(&m.of, 0).map(|t| t.gather(&m.op.indices(&m.source, m.at.get(env)))),
        Delta::Gather(g) => of(&g.of, 0).map(|t| t.gather(&indices(&g.ix, env))),
        Delta::ScatterAdd(s) => {
            let base = s.base.as_ref().and_then(|to| of(to, 0));
            match s.v.as_ref().and_then(|to| of(to, 0)) {
                Some(v) => {
                    let base = base.unwrap_or_else(|| T::zeros(&s.shape, s.dtype));
                    Some(base.scatter_add(&indices(&s.ix, env), &v))
                }
                None => base,
            }
        }
        Delta::Concat(axis, parts) => {
            let (mut tangents, mut dtype) = (Vec::with_capacity(parts.len()), None);
            for (_, to) in parts {
                let tangent = to.as_ref().and_then(|to| of(to, 0));
                if let Some(tangent) = &tangent {
                    dtype = dtype.or(Some(tangent.dtype()));
                }
                tangents.push(tangent);
            }
            let Some(dtype) = dtype else { return one(None) };
            let mut all = Vec::with_capacity(parts.len());
            for (k, tangent) in tangents.into_iter().enumerate() {
                all.push(match tangent {
                    Some(tangent) => tangent,
                    None => T::zeros(&parts[k].0, dtype),
                });
            }
            Some(T::concat(*axis, &all))
        }
        Delta::Loop(l) => return l.push(env, care, of),
        Delta::Call(c) => of(&c.to, 0).map(|tangent| c.push(env, tangent)),
        Delta::Custom(c) => return c.push(env, care, of),
        Delta::Fork(fork) => return fork.push(env, care, of),
        Delta::Again(a) => return a.push(env, care, of),
        Delta::Output(from, k) => of(from, *k),
    };
    one(tangent)
}

/// The values of the indices of a gather or scatter.
pub(super) fn indices<T: BaseTensor, F: Residual<T>>(ix: &[F], env: &Env<'_, T>) -> SmallVec<[T; 2]> {
    let mut indices = SmallVec::new();
    for i in ix {
        indices.push(i.get(env).clone());
    }
    indices
}

/// The forward pass: from tangents of the inputs, given with the ids of their terms in ascending order, to those of the
/// results. Results may depend on no other term that is older than `first`. The tangents of the inputs need this care.
///
/// # Errors
/// When a result depends on a differentiated value that is not an input: one of another derivative of the same level,
/// or a loop variable that left its loop.
pub(super) fn forward<T: BaseTensor>(
    results: &[Option<Rc<SharedTerm<T>>>],
    first: Id,
    inputs: &[(Id, Option<T>)],
    care: Care,
) -> Result<Vec<Option<T>>, Fault> {
    let terms = reachable(results, first);
    let mut ids: Vec<Id> = Vec::with_capacity(terms.len());
    for node in &terms {
        ids.push(node.id);
    }
    let mut uses = vec![0; ids.len()];
    let mut used = |to: &Rc<SharedTerm<T>>| {
        if let Ok(at) = ids.binary_search(&to.id) {
            uses[at] += 1;
        }
    };
    for node in &terms {
        node.delta.refs(&mut used);
    }
    for result in results.iter().flatten() {
        used(result);
    }

    let mut table = TangentTable::new(uses);
    let (mut young, mut escape) = (true, None);
    let mut of = |table: &mut TangentTable<T>, to: &Rc<SharedTerm<T>>, k: usize| match ids.binary_search(&to.id) {
        Ok(at) => table.take(at, k),
        Err(_) => {
            let input = inputs.binary_search_by(|(id, _)| id.cmp(&to.id)).ok();
            young &= input.is_some() || to.id >= first;
            if let (None, Delta::Input(given)) = (input, &to.delta)
                && to.id >= first
            {
                escape.get_or_insert(Fault::of(*given));
            }
            input.and_then(|k| inputs[k].1.clone())
        }
    };
    let env = Env { held: &[], stacked: &[], elements: &[], codes: &[] };
    for node in &terms {
        if node.delta.is_unbounded() {
            return Err(Fault::Unbounded);
        }
    }
    // The care for the tangent of each term.
    let mut cares: Vec<Care> = Vec::with_capacity(terms.len());
    for (at, node) in terms.iter().enumerate() {
        let before = T::attribute(node.site.clone());
        let mut received = care;
        node.delta.refs(&mut |to| {
            if let Ok(k) = ids.binary_search(&to.id) {
                received = received.max(cares[k]);
            }
        });
        cares.push(if node.delta.is_steep() { Care::Rows } else { received });
        let tangents = push(&node.delta, &env, received, &mut |to, k| of(&mut table, to, k));
        T::attribute(before);
        table.set_all(at, tangents);
    }
    let mut tangents = Vec::with_capacity(results.len());
    for result in results {
        tangents.push(match result {
            Some(node) => of(&mut table, node, 0),
            None => None,
        });
    }
    match (escape, young) {
        (Some(escape), _) => Err(escape),
        (None, false) => Err(Fault::Outside),
        (None, true) => Ok(tangents),
    }
}
