//! Verified numbers: Taylor models, roots with proof, bounds of differential equations, by interpreters that nest.
//!
//! Each method runs recorded programs and their derivative programs at [`Enclosure`], or at series of it
//! ([`Jet<Enclosure>`](Jet)): the rows of [`Enclosure`] round outwards, so what follows from their bounds is proven.
//!
//! Laws: bounds hold in exact arithmetic. A method that relies on the mean value theorem is used where the program is
//! proven continuous on the box, and where its derivatives are up to the order that the theorem needs: an operation over
//! a jump says so ([`continuous`]).
//!
//! | module | contents |
//! |---|---|
//! | `models` | polynomials with a remainder, bounds of polynomials |
//! | `roots` | the Krawczyk operator |
//! | `odes` | Taylor steps with a remainder |

mod models;
mod odes;
mod roots;

pub use models::{TaylorForm, TaylorModel, taylor_model, taylor_model_with};
pub use odes::{VerifiedOde, VerifiedOdeError, verified_odeint};
pub use roots::{NoProof, VerifiedRoots, verified_root, verified_roots};

use super::verbs::jacobian_matrix;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::interpreters::Enclosure;
use crate::interpreters::enclosure::continuous;
use crate::interpreters::jet::{Expansion, Jet};
use crate::ops::Linear;
use crate::passes::optimize;
use crate::program::repeat::closed;
use crate::program::{Program, Term, interpret, valid_by_construction};
use crate::shape::size;
use crate::tensor::Tensor;
use crate::tree::Tree;
use crate::tree::ravel::{ravel, raveled_size, unravel};

type Number = Tensor<Enclosure, 0>;
type Vector = Tensor<Enclosure, 1>;
type Square = Tensor<Enclosure, 2>;

/// A program from a vector, and perhaps further inputs, to a vector.
#[derive(Clone, Debug)]
struct VectorProgram {
    program: Program,
}

impl VectorProgram {
    /// A vector as a variable, and the leaves that it is made of; integers are constants.
    fn variables(leaves: &[Array]) -> (Term, Vec<Term>) {
        let leaves: Vec<Term> = leaves.iter().cloned().map(Term::constant).collect();
        let vector = Term::variable(&[raveled_size(&leaves)], DType::F64);
        let parts = unravel(&leaves, &vector);
        (vector, parts)
    }

    /// The program from variables to the raveled results of a function of a user.
    ///
    /// # Panics
    /// When a result is not a float, or depends on a value from outside.
    #[track_caller]
    fn traced(verb: &str, variables: &[Term], results: &[Term]) -> VectorProgram {
        for result in results {
            if !result.dtype().is_float() {
                panic!(
                    "{verb}: results must be floats, but one has the element type {}; convert it with to_float",
                    result.dtype()
                );
            }
        }
        match Term::program(variables, &[ravel(results)], &[]) {
            // As it is written, so that custom rules are seen, since the mean value theorem does not hold for them.
            Ok(program) => VectorProgram { program },
            Err(_) => panic!(
                "{verb}: the function must depend on its arguments alone, but it uses a value from outside; pass that among the data"
            ),
        }
    }

    /// The program of results that depend on these variables alone.
    fn closed(inputs: &[Term], results: &[Term]) -> VectorProgram {
        VectorProgram { program: optimize(&closed(inputs, results)) }
    }

    /// The Jacobian in the first input, `[m, n]`; results of any shape are flattened.
    fn jacobian(&self) -> VectorProgram {
        let inputs = Term::variables(self.program.inputs());
        let (x, rest) = inputs.split_at(1);
        let flat = |x: &Tensor<Term, 1>| -> Tensor<Term, 1> {
            let args = [std::slice::from_ref(x.raw()), rest].concat();
            let y = interpret(&self.program, args).swap_remove(0);
            Tensor::from_raw(y.linear(&Linear::reshape(y.shape(), &[size(y.shape())])))
        };
        let matrix: Tensor<Term, 2> = jacobian_matrix(flat, &Tensor::from_raw(x[0].clone()));
        VectorProgram::closed(&inputs, &[matrix.into_raw()])
    }

    /// The result over a box, and whether the program is proven continuous there.
    fn over(&self, inputs: Vec<Enclosure>) -> (Enclosure, bool) {
        continuous(|| interpret(&self.program, inputs).swap_remove(0))
    }

    /// The coefficients of each result along curves, one for each input.
    fn along(&self, order: usize, curves: &[Vec<Enclosure>]) -> (Vec<Vec<Enclosure>>, bool) {
        let expansion = Expansion::new(order);
        let inputs: Vec<Jet<Enclosure>> = curves.iter().map(|curve| expansion.input(curve)).collect();
        let (results, smooth) = continuous(|| interpret(&self.program, inputs));
        // A closed program has one expansion.
        let coefficients = |y| valid_by_construction(expansion.result(y));
        (results.iter().map(coefficients).collect(), smooth)
    }
}

/// A check that a function has a result for each unknown, in its shape.
///
/// # Panics
/// When it has others.
#[track_caller]
fn like(verb: &str, unknowns: &[Array], results: &[Term]) {
    let alike = |(y, x): (&Term, &Array)| y.shape() == x.shape() && x.dtype().is_float();
    if results.len() != unknowns.len() || !results.iter().zip(unknowns).all(alike) {
        panic!(
            "{verb}: the function must return a float for each unknown, in its shape, but some result or unknown is not a float, or \
             shapes differ; return a tree like the unknowns"
        );
    }
}

/// A box as vectors of bounds.
#[derive(Clone, Debug, PartialEq)]
struct Region {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Region {
    fn of(vector: &Vector) -> Region {
        let numbers = |a: Array| (0..a.size()).map(|k| a.typed::<f64>().get(k)).collect();
        Region { lower: numbers(vector.raw().lower()), upper: numbers(vector.raw().upper()) }
    }

    /// The raveled leaves of a box.
    fn raveled(leaves: &[Enclosure]) -> Region {
        Region::of(&Tensor::from_raw(ravel(leaves)))
    }

    fn vector(&self) -> Vector {
        let side = |side: &[f64]| Array::new(&[side.len()], side.to_vec());
        match Enclosure::between(&side(&self.lower), &side(&self.upper)) {
            Ok(vector) => Tensor::from_raw(vector),
            Err(_) => Tensor::from_raw(Enclosure::constant(Array::full(&[self.lower.len()], f64::NAN))),
        }
    }

    fn len(&self) -> usize {
        self.lower.len()
    }

    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.lower.iter().copied().zip(self.upper.iter().copied())
    }

    /// A box from bounds of each element.
    fn from_pairs(pairs: impl Iterator<Item = (f64, f64)>) -> Region {
        let (lower, upper) = pairs.unzip();
        Region { lower, upper }
    }

    /// A point of each element, near the middle.
    fn middle(&self) -> Vec<f64> {
        self.pairs().map(|(lo, hi)| (lo / 2.0 + hi / 2.0).clamp(lo.min(hi), hi.max(lo))).collect()
    }

    /// The widths, rounded.
    fn widths(&self) -> Vec<f64> {
        self.pairs().map(|(lo, hi)| hi - lo).collect()
    }

    fn is_bounded(&self) -> bool {
        self.pairs().all(|(lo, hi)| lo.is_finite() && hi.is_finite())
    }

    /// Whether the interior of the other box contains this one.
    fn is_inside(&self, other: &Region) -> bool {
        self.pairs().zip(other.pairs()).all(|((lo, hi), (least, most))| least < lo && hi < most)
    }

    /// Whether the other box contains this one.
    fn is_within(&self, other: &Region) -> bool {
        self.pairs().zip(other.pairs()).all(|((lo, hi), (least, most))| least <= lo && hi <= most)
    }

    /// The common part; `None` if it is empty. A bound that is NaN says nothing.
    fn common(&self, other: &Region) -> Option<Region> {
        let both = |((lo, hi), (least, most)): ((f64, f64), (f64, f64))| (lo.max(least), hi.min(most));
        let common = Region::from_pairs(self.pairs().zip(other.pairs()).map(both));
        let is_empty = common.pairs().any(|(lo, hi)| lo > hi);
        (!is_empty).then_some(common)
    }

    fn hull(&self, other: &Region) -> Region {
        let both = |((lo, hi), (least, most)): ((f64, f64), (f64, f64))| (lo.min(least), hi.max(most));
        Region::from_pairs(self.pairs().zip(other.pairs()).map(both))
    }

    /// Wider at both ends by a share of the width, and by a few units in the last place.
    fn inflated(&self, share: f64) -> Region {
        let wider = |(lo, hi): (f64, f64)| {
            let by = share * (hi - lo) + 4.0 * f64::EPSILON * lo.abs().max(hi.abs()) + f64::MIN_POSITIVE;
            (lo - by, hi + by)
        };
        Region::from_pairs(self.pairs().map(wider))
    }
}

/// Numbers as a vector of points.
fn points(x: &[f64]) -> Vector {
    Tensor::from_raw(Enclosure::constant(Array::new(&[x.len()], x.to_vec())))
}

fn number(x: f64) -> Number {
    Tensor::from_raw(Enclosure::constant(Array::scalar(x)))
}

/// The middles of the elements of a matrix.
fn middle_of(matrix: &Square) -> Tensor<Array, 2> {
    let side = |side: Array| Tensor::<Array, 2>::from_raw(side) * 0.5;
    side(matrix.raw().lower()) + side(matrix.raw().upper())
}

/// A matrix of points.
fn exact(matrix: &Tensor<Array, 2>) -> Square {
    Tensor::from_raw(Enclosure::constant(matrix.raw().clone()))
}

/// What both bounds of a vector say. Where a value may be NaN by the first bounds, it may; where the second bounds are
/// NaN, they say nothing.
fn narrowed(first: &Vector, second: &Vector) -> Vector {
    let (a, b) = (Region::of(first), Region::of(second));
    let both = |((lo, hi), (least, most)): ((f64, f64), (f64, f64))| {
        if lo.is_nan() {
            return (lo, hi);
        }
        let (low, high) = (lo.max(least), hi.min(most));
        // Both contain the value, so the common part of two bounds is not empty.
        if low <= high { (low, high) } else { (lo, hi) }
    };
    Region::from_pairs(a.pairs().zip(b.pairs()).map(both)).vector()
}

/// The leaves of a raveled vector of bounds, at both ends, in the structure of a tree.
fn ends<P: Tree<Array>>(like: &P, region: &Region) -> (P::With<Array>, P::With<Array>) {
    let leaves = like.leaves();
    let side = |side: &[f64], up: bool| {
        let vector = Array::new(&[side.len()], side.to_vec());
        // Leaves of single precision are rounded outwards.
        let exact = Enclosure::constant(vector);
        let rounded: Vec<Array> = unravel(&leaves.iter().cloned().map(Enclosure::constant).collect::<Vec<_>>(), &exact)
            .iter()
            .map(|leaf| if up { leaf.upper() } else { leaf.lower() })
            .collect();
        like.with_leaves(rounded)
    };
    (side(&region.lower, false), side(&region.upper, true))
}
