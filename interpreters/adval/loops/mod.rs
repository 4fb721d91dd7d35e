//! Reverse mode of loops.
//!
//! `ADVal<T>` runs one loop of `T` ([`record`]). The step is traced into a *body*: the delta terms of one trip, with
//! references by position. The coefficients of the terms are *held* if they were computed before the loop (a captured
//! weight), and *residuals* otherwise; the loop of `T` returns residuals as additional stacked outputs. The
//! term of the loop is transposed into one loop of `T` in the opposite direction ([`pull`]), whose carry consists of
//! the cotangents of the carry and of every captured value. This is lambda lifting: no function type is needed, and
//! loops nest. Evaluated forwards ([`push`]), the term is a loop of `T` over the tangents of the carry and of the
//! sequences, in the direction of the original.
//!
//! Law: bodies are data without values, so equal trips have equal bodies. A step that branches on host values records
//! one body per branch; the branches may differ in all but the number and shapes of residuals.

mod pull;
mod push;
mod record;

use std::sync::Arc;

use super::checkpointed_call::RerunCode;
use super::delta::{Coefficient, Delta, SharedTerm, mapped, mapped_options, present};
use super::pull::{Env, Residual};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::interpreters::guarded::Care;
use crate::shape::Shape;
use crate::source::Site;

pub(super) use record::{Alone, map_accum};
pub(in super::super) use record::{counts_trips, evaluates, in_a_loop};

/// The source of a value in the body of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodySource {
    /// Among the values held for all trips.
    Held(usize),
    /// Among the current elements of the sequences, which are not stored again.
    Element(usize),
    /// Among the residuals of this trip.
    Stacked(usize),
}

impl Coefficient for BodySource {
    /// The position of the function among those of the trips.
    type Code = usize;
}

impl<T> Residual<T> for BodySource {
    fn code<'a>(code: &'a usize, env: &'a Env<'_, T>) -> &'a RerunCode {
        &env.codes[*code]
    }

    fn get<'a>(&'a self, env: &'a Env<'_, T>) -> &'a T {
        match *self {
            BodySource::Held(k) => &env.held[k],
            BodySource::Element(k) => &env.elements[k],
            BodySource::Stacked(k) => &env.stacked[k],
        }
    }
}

/// The reference of a term in the body of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermPlace {
    /// A carry before the trip.
    Carry(usize),
    /// The current element of a sequence.
    Element(usize),
    /// A term from outside the loop.
    Captured(usize),
    /// A term of the body.
    Local(usize),
}

/// The delta terms of one trip, in which references come before their uses.
#[derive(Debug, PartialEq)]
pub(super) struct Body {
    pub(super) terms: Vec<Delta<BodySource, TermPlace>>,
    /// The operation of the program that each term is the derivative of.
    pub(super) sites: Vec<Site>,
    /// The results, carry first; `None` for results without a tangent.
    pub(super) results: Vec<Option<TermPlace>>,
}

impl Body {
    /// Takes the carry, and the values in contractions, to be possibly infinite or NaN.
    fn assume_poles(&mut self) {
        let mut of_carry: Vec<bool> = Vec::with_capacity(self.terms.len());
        for term in &mut self.terms {
            let mut depends = false;
            term.refs(&mut |to| {
                depends |= match *to {
                    TermPlace::Carry(_) => true,
                    TermPlace::Local(k) => of_carry[k],
                    TermPlace::Element(_) | TermPlace::Captured(_) => false,
                }
            });
            term.assume_poles(depends);
            of_carry.push(depends);
        }
    }
}

/// Shape and element type.
type Kind = (Shape, DType);

fn kind<T: BaseTensor>(t: &T) -> Kind {
    (Shape::from_slice(t.shape()), t.dtype())
}

fn node_kind<T>(node: &SharedTerm<T>) -> Kind {
    (node.shape.as_deref().map(Shape::from_slice).unwrap_or_default(), node.dtype)
}

fn zeros<T: BaseTensor>(kind: &Kind) -> T {
    T::zeros(&kind.0, kind.1)
}

/// The tangent or cotangent, zeros if it is missing.
fn or_zeros<T: BaseTensor>(found: Option<T>, kind: &Kind) -> T {
    match found {
        Some(found) => found,
        None => zeros(kind),
    }
}

/// A loop without the values and terms that its bodies refer to. What is computed from it alone is compiled once, for
/// all interpreters.
#[derive(Debug, PartialEq)]
pub(super) struct LoopForm {
    n: usize,
    reverse: bool,
    bodies: Vec<Body>,
    /// The number of the body of each trip, in the order of the trips; empty if there is one body.
    which: Vec<usize>,
    /// For each carry, its kind, and whether it has a tangent.
    carry: Vec<(Kind, bool)>,
    /// For each sequence, the kind of an element, and whether it has a tangent.
    elements: Vec<(Kind, bool)>,
    /// For each stacked output, the kind of an element, and whether it has a tangent.
    outputs: Vec<(Kind, bool)>,
    captured: Vec<Kind>,
    /// The number of residuals of a trip.
    residuals: usize,
    /// The number of sequences whose elements are factors in the terms.
    factors: usize,
}

impl LoopForm {
    /// The body of a trip.
    fn body(&self, trip: Option<usize>) -> &Body {
        let which = trip.and_then(|trip| self.which.get(trip));
        &self.bodies[which.map_or(0, |which| *which)]
    }

    /// The care for the cotangents of a trip, whatever comes before.
    fn care(&self) -> Care {
        self.bodies.iter().flat_map(|body| &body.terms).map(Delta::care).max().unwrap_or_default()
    }

    /// Whether a partial of a trip can be infinite or NaN where the value is finite.
    fn is_steep(&self) -> bool {
        self.bodies.iter().any(|body| body.terms.iter().any(Delta::is_steep))
    }

    /// The positions of the carry that have a tangent.
    fn live(&self) -> Vec<usize> {
        (0..self.carry.len()).filter(|k| self.carry[*k].1).collect()
    }
}

/// The term of a loop: its form, and the values and terms that its bodies refer to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoopTerm<F: Coefficient, R> {
    form: Arc<LoopForm>,
    /// For each carry, its initial tangent.
    carry: Vec<Option<R>>,
    /// For each sequence, its tangent.
    elements: Vec<Option<R>>,
    captured: Vec<R>,
    held: Vec<F>,
    /// The residuals, then the sequences whose elements are factors in the terms.
    sequences: Vec<F>,
    /// The functions that trips run again.
    codes: Vec<F::Code>,
}

impl<F: Coefficient, R> LoopTerm<F, R> {
    pub(super) fn map<G: Coefficient, S>(
        &self,
        f: &mut dyn FnMut(&F) -> G,
        r: &mut dyn FnMut(&R) -> S,
        c: &mut dyn FnMut(&F::Code) -> G::Code,
    ) -> LoopTerm<G, S> {
        LoopTerm {
            form: self.form.clone(),
            carry: mapped_options(&self.carry, r),
            elements: mapped_options(&self.elements, r),
            captured: mapped(&self.captured, r),
            held: mapped(&self.held, f),
            sequences: mapped(&self.sequences, f),
            codes: mapped(&self.codes, c),
        }
    }

    /// Whether a partial of a trip can be infinite or NaN where the value is finite.
    pub(super) fn is_steep(&self) -> bool {
        self.form.is_steep()
    }

    /// The care for the cotangents that the loop sends, whatever comes before.
    pub(super) fn care(&self) -> Care {
        self.form.care()
    }

    /// Whether a trip contains a loop without a bound whose trips were not recorded as a program.
    pub(super) fn is_unbounded(&self) -> bool {
        self.form.bodies.iter().any(|body| body.terms.iter().any(Delta::is_unbounded))
    }

    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        present(&self.carry, r);
        present(&self.elements, r);
        for to in &self.captured {
            r(to);
        }
    }
}

const _: () = {
    const fn sent<X: Send + Sync>() {}
    sent::<Body>();
};
