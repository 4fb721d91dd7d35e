//! The programs of a nested optic, one after the other.
//!
//! An optic of order `n` consists of `2^n` programs, which run in turn, each from an input to an output. Their order is
//! that of "dP guide", section VII.B: the order of level `n - 1` with `l` in front, then its reverse with `r` in front.
//! Law: the stages share what they compute, so that a stage costs what the operations with its number of stars cost;
//! with numbers for bits, stage `k` of a smooth function has the result
//!
//! ```text
//! y_k = sum over partitions P of the bits of k:  D^|P| f(x) [x_B for B in P]            for even k
//! x_k = sum over partitions P of the bits of k:  D^|P| f(x) [x_B for B in P, .]^t y_C   for odd k, bit 0 in C
//! ```
//!
//! where `x_B` is the input of stage `B`, a number with these bits: the formula of Faa di Bruno, and its reverse.

use std::cell::RefCell;
use std::rc::Rc;

use polygrad::base::BaseTensor;
use polygrad::dtype::DType;
use polygrad::seam::mistake;
use polygrad::shape::{Shape, Show};
use polygrad::tree::Tree;

use super::super::run::Run;
use super::super::value::{Closure, Val};
use super::diagram::Diagram;
use super::residual::{Pair, optic};
use super::strand::Strand;
use super::{ReverseOptic, Wire, Wires, Wiring, operation};
use crate::{Ground, Obj, primitive};

/// Shapes and element types of the leaves of a value.
type Kinds = Vec<(Shape, DType)>;

/// The kinds of the input and of the output of the first stage, between which all stages go.
type Ends = [Option<Kinds>; 2];

/// One program of a nested optic.
///
/// ```
/// use polygrad::ops::Unary;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::{Stage, Staged, stars};
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{Monoidal, Real};
/// type Second = ReverseOptic<ReverseOptic<Wires<Run<Array>>>>;
/// let stages: Vec<Stage<Array>> = Second::stages(&Second::unary(Unary::Square));
/// assert_eq!(stages.iter().map(|stage| &stage.label[..]).collect::<Vec<_>>(), ["ll", "rl", "rr", "lr"]);
/// assert_eq!(stars(&stages), [0, 1, 2, 1]);
/// // The value, the derivative in reverse and in forward mode, and the second derivative, whose input is zero.
/// let inputs = [3.0, 1.0, 1.0].map(tensor);
/// let found = stages.iter().zip(&inputs).map(|(stage, x)| stage.take::<Real, Real>(x).item());
/// assert_eq!(found.collect::<Vec<f64>>(), [9.0, 6.0, 6.0]);
/// assert_eq!(stages[3].take_zero::<Real>(), tensor(2.0));
/// ```
pub struct Stage<T: 'static> {
    /// The program's label: the way forward (`l`) or back (`r`) at each level, from the outermost.
    pub label: String,
    /// The position among the stages.
    at: usize,
    /// The code, which may store a residual for a later stage.
    run: Closure<T>,
    /// The results of the first stage of the run.
    ends: Rc<RefCell<Ends>>,
}

impl<T> Clone for Stage<T> {
    fn clone(&self) -> Self {
        Stage { label: self.label.clone(), at: self.at, run: self.run.clone(), ends: self.ends.clone() }
    }
}

impl<T: BaseTensor> Stage<T> {
    /// The output for an input. Stages run in order, each once for each run of the previous one. Integers and masks
    /// have no cotangents: in stages after the first, those of an input are not read, and those of an output are zeros.
    ///
    /// Example: [`Stage`].
    ///
    /// # Panics
    /// When the first stage has not run, or the input differs in shape from that of the first stage or, in odd stages,
    /// from its output.
    #[track_caller]
    pub fn take<A: Ground, B: Ground>(&self, x: &A::Value<T>) -> B::Value<T> {
        let given = x.leaves();
        if self.at > 0 {
            self.check(&given);
        }
        let y = self.run.at(Val::of_leaves(&A::layout(), &mut given.iter().map(|x| self.linear(x))));
        let mut found = Vec::new();
        y.leaves(&B::layout(), &mut found);
        if self.at == 0 {
            let kinds = |leaves: &[T]| leaves.iter().map(|x| (Shape::from_slice(x.shape()), x.dtype())).collect();
            let mut results: Vec<T> = Vec::with_capacity(found.len());
            for (y, kind) in found.iter().zip(primitive::kinds(&B::layout())) {
                // No closure, so that the user's call is named.
                results.push(match y {
                    Some(y) => y.clone(),
                    None => operation::zero("optic", kind),
                });
            }
            *self.ends.borrow_mut() = [Some(kinds(&given)), Some(kinds(&results))];
        }
        self.read::<B>(found)
    }

    /// The output for the input zero, which is symbolic: operations that would only make zeros of it do not run.
    ///
    /// Example: [`Stage`].
    ///
    /// # Panics
    /// Like [`take`](Stage::take), and at the first stage, whose input is not a cotangent.
    #[track_caller]
    pub fn take_zero<B: Ground>(&self) -> B::Value<T> {
        self.check(&[]);
        let mut found = Vec::new();
        self.run.at(Val::Zero).leaves(&B::layout(), &mut found);
        self.read::<B>(found)
    }

    /// An output with these leaves, where zeros get the shapes at this end of the program.
    fn read<B: Ground>(&self, found: Vec<Option<T>>) -> B::Value<T> {
        let ends = self.ends.borrow();
        let end = if self.at.is_multiple_of(2) { &ends[1] } else { &ends[0] };
        let kinds = end.as_ref().expect("the first stage has run");
        let filled =
            found.into_iter().zip(kinds).map(|(y, (shape, dtype))| y.unwrap_or_else(|| T::zeros(shape, *dtype)));
        B::read(&mut filled.collect::<Vec<T>>().into_iter())
    }

    /// A leaf of an input: after the first stage, integers and masks are not part of it.
    fn linear(&self, x: &T) -> Option<T> {
        (self.at == 0 || x.dtype().is_float()).then(|| x.clone())
    }

    /// Panics unless the first stage has run, and the leaves of an input fit its results.
    #[track_caller]
    fn check(&self, given: &[T]) {
        let (ends, end) = (self.ends.borrow(), self.at % 2);
        let Some(kinds) = &ends[end] else {
            mistake(&format!(
                "optic: the first stage must run before the others, with a value, but stage {} runs without it; run the stages in \
                 order",
                self.at
            ))
        };
        let differs = |k: usize, x: &T| kinds.get(k).is_none_or(|(shape, _)| x.shape() != &shape[..]);
        if let Some((k, x)) = given.iter().enumerate().find(|(k, x)| differs(*k, x)) {
            mistake(&format!(
                "optic: an input of stage {} must have the shapes of the {} of the first stage, but part {k} has shape {}; give one \
                 like it",
                self.at,
                if end == 0 { "input" } else { "output" },
                Show(x.shape())
            ))
        }
    }
}

/// A category whose morphisms run in stages, over tensors of `T`.
///
/// Example: [`Stage`].
pub trait Staged<T: BaseTensor>: Wiring {
    /// The stages of a program, which start a run of their own.
    ///
    /// Example: [`Stage`].
    fn stages<A: Obj, B: Obj>(program: &Wire<Self, A, B>) -> Vec<Stage<T>> {
        let strand = Rc::new(RefCell::new(Strand::new(&program.inner, Self::ORDER)));
        let each = labels(Self::ORDER).into_iter().enumerate().map(|(at, label)| {
            let strand = strand.clone();
            (label, Closure::new(move |x| strand.borrow_mut().turn(at, x)))
        });
        numbered(each.collect())
    }

    /// The stages by the definition of the nested functor, in which residuals are wires: what [`stages`](Self::stages)
    /// means, at a cost that grows tenfold with each order.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::{Stage, Staged};
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Real};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let square = First::unary(Unary::Square);
    /// let slope = |stages: Vec<Stage<Array>>| {
    ///     stages[0].take::<Real, Real>(&tensor(3.0));
    ///     stages[1].take::<Real, Real>(&tensor(1.0)).item()
    /// };
    /// assert_eq!((slope(First::defined_stages(&square)), slope(First::stages(&square))), (6.0, 6.0));
    /// ```
    fn defined_stages<A: Obj, B: Obj>(program: &Wire<Self, A, B>) -> Vec<Stage<T>> {
        numbered(unfolded(&program.inner, Self::ORDER))
    }
}

impl<T: BaseTensor> Staged<T> for Wires<Run<T>> {}
impl<T: BaseTensor, C: Staged<T>> Staged<T> for ReverseOptic<C> {}

/// Stages with their positions.
fn numbered<T>(stages: Vec<(String, Closure<T>)>) -> Vec<Stage<T>> {
    let ends = Rc::new(RefCell::new([None, None]));
    let each = stages.into_iter().enumerate();
    each.map(|(at, (label, run))| Stage { label, at, run, ends: ends.clone() }).collect()
}

/// Whether a stage is a way back at the outermost level: in pairs of stages, the way that a stage of the lower level
/// goes comes first.
fn is_back(at: usize) -> bool {
    at.is_multiple_of(2) != (at / 2).is_multiple_of(2)
}

/// The labels of all stages of an order.
fn labels(order: usize) -> Vec<String> {
    let label = |at: usize| {
        let way = |level: usize| if is_back(at >> level) { 'r' } else { 'l' };
        (0..order).map(way).collect()
    };
    (0..1 << order).map(label).collect()
}

/// The stages of a program at an order, by definition: those of the way forward and of the way back at one order less,
/// in pairs.
fn unfolded<T: BaseTensor>(program: &Diagram, order: usize) -> Vec<(String, Closure<T>)> {
    if order == 0 {
        let strand = RefCell::new(Strand::new(program, 0));
        return vec![(String::new(), Closure::new(move |x| strand.borrow_mut().turn(0, x)))];
    }
    let Pair { l, r } = optic(program, false);
    let mut stages = Vec::new();
    for (below, (there, back)) in unfolded(&l, order - 1).into_iter().zip(unfolded(&r, order - 1)).enumerate() {
        let (there, back) = ((format!("l{}", there.0), there.1), (format!("r{}", back.0), back.1));
        let ((name, first), (other, second)) = if below.is_multiple_of(2) { (there, back) } else { (back, there) };
        let wire = Rc::new(RefCell::new(Val::Zero));
        let residual = wire.clone();
        let turn = move |x| {
            let out = first.at(x);
            *residual.borrow_mut() = out.fst();
            out.snd()
        };
        stages.push((name, Closure::new(turn)));
        let turn = move |x| second.at(Val::pair(wire.borrow().clone(), x));
        stages.push((other, Closure::new(turn)));
    }
    stages
}

/// The stages of a composition, from those of its parts: forward through both, then back through both, and so on ("dP
/// guide", Snippets 16 and 17).
///
/// ```
/// use polygrad::ops::Unary;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::{Staged, woven};
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{Monoidal, Real};
/// type First = ReverseOptic<Wires<Run<Array>>>;
/// let square = || First::stages(&First::unary(Unary::Square));
/// let fourth = woven(&square(), &square());
/// assert_eq!(fourth[0].take::<Real, Real>(&tensor(3.0)), tensor(81.0));
/// assert_eq!(fourth[1].take::<Real, Real>(&tensor(1.0)), tensor(108.0));
/// ```
pub fn woven<T: BaseTensor>(f: &[Stage<T>], g: &[Stage<T>]) -> Vec<Stage<T>> {
    let each = f.iter().cloned().zip(g.iter().cloned()).enumerate();
    let stages = each.map(|(at, (f, g))| {
        let (first, second) = if at.is_multiple_of(2) { (f, g) } else { (g, f) };
        (first.label.clone(), Closure::new(move |x| second.run.at(first.run.at(x))))
    });
    numbered(stages.collect())
}

/// The number of stars of each stage ("dP guide", section V.C): the number of levels at which it is a way back.
///
/// Example: [`Stage`].
pub fn stars<T>(stages: &[Stage<T>]) -> Vec<usize> {
    stages.iter().map(|stage| stage.label.matches('r').count()).collect()
}
