//! The programs of a nested optic, one after the other.
//!
//! An optic of order `n` consists of `2^n` programs, which run in turn, each from an input to an output. Their order is
//! that of "dP guide", section VII.B: the order of level `n - 1` with `l` in front, then its reverse with `r` in front.
//! This is the second encoding of derivatives there; it agrees with the first one, by nesting.

use std::cell::RefCell;
use std::rc::Rc;

use super::super::run::Run;
use super::super::value::{Closure, Val};
use super::{ReverseOptic, Wire, Wires, Wiring};
use crate::base::BaseTensor;
use crate::higher::{Ground, Obj};

/// One program of a nested optic.
pub struct Stage<T: 'static> {
    /// The program's label: the way forward (`l`) or back (`r`) at each level, from the outermost.
    pub label: String,
    /// The code, which may store a residual for a later stage.
    run: Closure<T>,
}

impl<T> Clone for Stage<T> {
    fn clone(&self) -> Self {
        Stage { label: self.label.clone(), run: self.run.clone() }
    }
}

impl<T: BaseTensor> Stage<T> {
    /// The output for an input. Stages run in order, each once for each run of the previous one.
    pub fn take<A: Ground, B: Ground>(&self, x: &A::Value<T>) -> B::Value<T> {
        let y = self.run.at(Val::of_value::<A>(x));
        let mut leaves = Vec::new();
        y.leaves(&B::layout(), &mut leaves);
        let zero = || T::zeros(&[], crate::dtype::DType::F64);
        B::read(&mut leaves.into_iter().map(|leaf| leaf.unwrap_or_else(zero)))
    }
}

/// A category whose morphisms run in stages, over tensors of `T`.
pub trait Staged<T: BaseTensor>: Wiring {
    /// The stages of a morphism.
    fn unfold(program: &Self::Morphism) -> Vec<Stage<T>>;

    /// The stages of a program.
    fn stages<A: Obj, B: Obj>(program: &Wire<Self, A, B>) -> Vec<Stage<T>> {
        Self::unfold(&program.inner)
    }
}

impl<T: BaseTensor> Staged<T> for Wires<Run<T>> {
    fn unfold(program: &Self::Morphism) -> Vec<Stage<T>> {
        vec![Stage { label: String::new(), run: program.run.clone() }]
    }
}

impl<T: BaseTensor, C: Staged<T>> Staged<T> for ReverseOptic<C> {
    fn unfold(program: &Self::Morphism) -> Vec<Stage<T>> {
        let (forward, back) = (C::unfold(&program.l), C::unfold(&program.r));
        let mut stages = Vec::new();
        for (k, (l, r)) in forward.into_iter().zip(back).enumerate() {
            let (l, r) = (Stage { label: format!("l{}", l.label), ..l }, Stage { label: format!("r{}", r.label), ..r });
            let (first, second) = if k % 2 == 0 { (l, r) } else { (r, l) };
            let wire = Rc::new(RefCell::new(Val::Zero));
            let (residual, [label, other]) = (wire.clone(), [first.label.clone(), second.label.clone()]);
            let turn = move |x| {
                let out = first.run.at(x);
                *residual.borrow_mut() = out.fst();
                out.snd()
            };
            stages.push(Stage { label, run: Closure::new(turn) });
            let turn = move |x| second.run.at(Val::pair(wire.borrow().clone(), x));
            stages.push(Stage { label: other, run: Closure::new(turn) });
        }
        stages
    }
}

/// The stages of a composition, from those of its parts: forward through both, then back through both, and so on ("dP
/// guide", Snippets 18 and 19).
pub fn woven<T: BaseTensor>(f: &[Stage<T>], g: &[Stage<T>]) -> Vec<Stage<T>> {
    let each = f.iter().cloned().zip(g.iter().cloned()).enumerate();
    let stages = each.map(|(k, (f, g))| {
        let (first, second) = if k % 2 == 0 { (f, g) } else { (g, f) };
        Stage { label: first.label.clone(), run: Closure::new(move |x| second.run.at(first.run.at(x))) }
    });
    stages.collect()
}

/// The number of stars of each stage ("dP guide", section V.C): the number of levels at which it is a way back.
pub fn stars<T>(stages: &[Stage<T>]) -> Vec<usize> {
    stages.iter().map(|stage| stage.label.matches('r').count()).collect()
}
