//! The passes of a sparse matrix, and the elements in their results.
//!
//! Law: a pass computes the sum of the columns, or of the rows, of one colour, where arguments alone have columns. So
//! each element of the matrix is at one known place in the concatenated results of all passes.

use super::affine_gathers;
use super::coloring::{Colors, NO};
use super::input_slicing::SlicedProgram;
use super::pattern::Merged;
use super::seeding::Subject;
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::dtype::DType;
use crate::interpreters::adval::{ADVal, Sweep};
use crate::interpreters::dual::{Dual, Forward};
use crate::ops::Linear;
use crate::program::{OpClass, Program, Single, Term, interpret, valid_by_construction};
use crate::shape::size;
use crate::tree::ravel::{ravel, unravel};

/// The results of passes.
pub(super) struct Passes {
    /// The results of all passes, concatenated; `None` without passes.
    results: Option<Term>,
    /// Whether the passes are unrolled, each with its own operations, instead of a loop over the passes.
    apart: bool,
}

impl Passes {
    /// These passes, and others after them.
    pub(super) fn and(self, others: Passes) -> Passes {
        let results = match (self.results, others.results) {
            (Some(first), Some(second)) => Some(Term::concat(0, &[first, second])),
            (first, second) => first.or(second),
        };
        Passes { results, apart: self.apart && others.apart }
    }
}

/// The largest number of passes that are unrolled, if the unrolled passes cost no more than a loop.
const FEW: usize = 4;

/// The largest number of products in each sum of a contraction, if passes are unrolled.
const SUMMED: usize = 16;

/// Whether each operation of a program takes as long for several passes at once as for the passes one by one:
/// elementwise operations, views and the like. Unrolled passes keep the rows of the program, so they are computed
/// together in row blocks. Loops are excluded, since they would run again for each pass, and so are products that read
/// a large matrix.
fn is_bulk(program: &Program) -> bool {
    program.nodes().iter().all(|node| match node.op.class() {
        OpClass::Input(_) | OpClass::Constant(_) => true,
        OpClass::Single(Single::Contract(op, ..)) => size(op.out.shape()) <= SUMMED * size(&node.shape),
        OpClass::Single(_) => true,
        OpClass::Loop(_) | OpClass::Call(..) | OpClass::Custom(..) | OpClass::Output(..) => false,
    })
}

/// One pass for each of `count` colours: forward along the sum of the columns of the colour, or backward from the sum
/// of its rows. `pass` gets this sum of basis vectors as its seed.
pub(super) fn passed(subject: &Subject, colors: &Colors, count: usize, pass: &dyn Fn(&Term) -> Term) -> Passes {
    if count == 0 {
        return Passes { results: None, apart: true };
    }
    if count == 1 || count <= FEW && is_bulk(&subject.program) {
        let seed = |color: u32| {
            let seed: Vec<f64> = colors.iter().map(|of| if *of == color { 1.0 } else { 0.0 }).collect();
            Term::constant(Array::new(&[colors.len()], seed))
        };
        let all: Vec<Term> = (0..count as u32).map(|color| pass(&seed(color))).collect();
        return Passes { results: Some(Term::concat(0, &all)), apart: true };
    }
    let mut seeds = vec![0.0; count * colors.len()];
    let colored = colors.iter().enumerate().filter(|(_, color)| **color != NO);
    colored.for_each(|(k, color)| seeds[*color as usize * colors.len() + k] = 1.0);
    let seeds = Term::constant(Array::new(&[count, colors.len()], seeds));
    let (_, stack) =
        Term::map_accum(count, false, Vec::new(), &[seeds], &mut |_, seed| (Vec::new(), vec![pass(&seed[0])]));
    let results = stack[0].linear(&Linear::reshape(stack[0].shape(), &[size(stack[0].shape())]));
    Passes { results: Some(results), apart: false }
}

/// The elements at these places of the results of all passes; without passes, the list of places is empty.
pub(super) fn taken(passes: &Passes, places: Vec<i64>) -> Term {
    match &passes.results {
        Some(results) if passes.apart => affine_gathers::read(results, places),
        Some(results) => affine_gathers::gathered(results, places),
        None => Term::zeros(&[places.len()], DType::F64),
    }
}

/// The elements of the merged pattern: sums of the elements at these places. An element that forward passes compute
/// alone, at a place in `whole`, is read there.
pub(super) fn added(passes: &Passes, whole: &[Option<i64>], places: &[i64], merged: &Merged) -> Term {
    let place = |(whole, first): (&Option<i64>, &usize)| whole.unwrap_or(places[*first]);
    let first = taken(passes, whole.iter().zip(&merged.first).map(place).collect());
    let parts = merged.further.iter().filter(|(to, _)| whole[*to].is_none());
    let (to, from): (Vec<i64>, Vec<i64>) = parts.map(|(to, from)| (*to as i64, places[*from])).unzip();
    if to.is_empty() {
        return first;
    }
    first.scatter_add(&[Term::constant(Array::new(&[to.len()], to))], &taken(passes, from))
}

/// The inputs of the part of a sliced program that computes: the copies, and the inputs that have no columns.
pub(super) fn copied(subject: &Subject, reads: &SlicedProgram, inputs: &[Term]) -> Vec<Term> {
    interpret(&reads.reads, inputs.to_vec()).into_iter().chain(subject.part(inputs, false)).collect()
}

/// The program from these inputs to this value.
pub(super) fn closed(program: &Program, inputs: &[Term], value: Term) -> Program {
    let names: Vec<String> = program.inputs().iter().map(|slot| slot.name.clone()).collect();
    // The elements depend on the inputs alone.
    valid_by_construction(Term::program(inputs, &[value], &names))
}

/// The raveled tangents of the results, for raveled tangents of the inputs that have columns.
pub(super) fn pushed(subject: &Subject, inputs: &[Term], seed: &Term) -> Term {
    let sweep = Forward::new();
    let mut tangents = unravel(&subject.part(inputs, true), seed).into_iter();
    let dual = |(k, x): (usize, &Term)| match subject.has_columns(k).then(|| tangents.next()).flatten() {
        Some(dot) => sweep.input(x, &dot),
        None => <Dual<Term> as Lift<Term>>::lift(x.clone()),
    };
    let results = interpret(&subject.program, inputs.iter().enumerate().map(dual).collect());
    ravel(&results.iter().filter(|y| y.dtype().is_float()).map(|y| sweep.result(y).1).collect::<Vec<Term>>())
}

/// The raveled cotangents of the inputs that have columns, for raveled cotangents of the results.
pub(super) fn pulled(subject: &Subject, inputs: &[Term], seed: &Term) -> Term {
    let mut sweep = Sweep::new();
    let dual = |(k, x): (usize, &Term)| {
        if subject.has_columns(k) { sweep.input(x) } else { <ADVal<Term> as Lift<Term>>::lift(x.clone()) }
    };
    let results: Vec<ADVal<Term>> = interpret(&subject.program, inputs.iter().enumerate().map(dual).collect());
    let floats: Vec<ADVal<Term>> = results.into_iter().filter(|y| y.dtype().is_float()).collect();
    let primals: Vec<Term> = floats.iter().map(|y| y.primal().clone()).collect();
    ravel(&sweep.pull(&floats, unravel(&primals, seed)))
}
