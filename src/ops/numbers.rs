//! The numbers of operations, sizes, coefficients and offsets, and the same operations with other numbers.
//!
//! Law: the order in which an operation shows its numbers depends on its structure alone. With the numbers that it
//! shows, an operation is remade as it was; a number that fits no operation is an error in words, never a panic.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Call, Contract, Discrete, External, Linear, Tap, View, check_fourier};
use crate::dtype::DType;
use crate::shape::{self, MAX_SIZE, Shape, Show, is_possible};

/// Shows each number of an operation, and says by which number it is replaced.
pub(crate) trait Renumber {
    /// The number in the place of an integer.
    fn int(&mut self, n: i64) -> Result<i64, String>;

    /// The number in the place of a float of this type, as an `f64`.
    fn float(&mut self, x: f64, dtype: DType) -> Result<f64, String>;

    /// The number in the place of a size, which is not negative.
    fn size(&mut self, n: usize) -> Result<usize, String> {
        let n = self.int(i64::try_from(n).unwrap_or(i64::MAX))?;
        usize::try_from(n).map_err(|_| format!("a size is {n}"))
    }

    /// The shape in the place of a shape: that of an array, unless it is an iteration space.
    fn shape(&mut self, shape: &[usize]) -> Result<Shape, String> {
        shape.iter().map(|n| self.size(*n)).collect()
    }

    /// The shape in the place of that of an array.
    fn array(&mut self, shape: &[usize]) -> Result<Shape, String> {
        let shape = self.shape(shape)?;
        if is_possible(&shape) { Ok(shape) } else { Err(format!("no array can have shape {}", Show(&shape))) }
    }
}

impl View {
    pub(crate) fn renumbered(&self, numbers: &mut dyn Renumber) -> Result<View, String> {
        let (source, shape) = (numbers.array(&self.source)?, numbers.shape(&self.shape)?);
        if self.empty {
            return View::nothing(&source, &shape);
        }
        let mut ints = |all: &[i64]| all.iter().map(|n| numbers.int(*n)).collect::<Result<SmallVec<[i64; 16]>, _>>();
        let (matrix, offset) = (ints(&self.matrix)?, ints(&self.offset)?);
        let mut view = View::try_affine(&source, &shape, &matrix, &offset)?;
        for (axis, (lo, hi)) in self.bounds.iter().enumerate() {
            // A side of a box may lie outside an iteration space that has become small.
            let mut side = |n: usize| numbers.int(n as i64).map(|n| n.clamp(0, shape[axis] as i64) as usize);
            let (lo, hi) = (side(*lo)?, side(*hi)?);
            view = view.clipped(axis, lo, hi);
        }
        Ok(view)
    }
}

impl Linear {
    pub(crate) fn renumbered(&self, numbers: &mut dyn Renumber) -> Result<Linear, String> {
        Ok(match self {
            Linear::Affine { from, into } => {
                let (from, into) = (from.renumbered(numbers)?, into.renumbered(numbers)?);
                if from.shape() != into.shape() {
                    return Err(different(&[from.shape(), into.shape()]));
                }
                Linear::Affine { from, into }
            }
            Linear::Reshape { from, into } => {
                let (from, into) = (numbers.array(from)?, numbers.array(into)?);
                if shape::size(&from) != shape::size(&into) {
                    return Err(format!("{} is reshaped into {}", Show(&from), Show(&into)));
                }
                Linear::Reshape { from, into }
            }
            Linear::Cast { from, into, shape } => {
                Linear::Cast { from: *from, into: *into, shape: numbers.array(shape)? }
            }
            Linear::Fourier { shape, parts, axis, conjugate } => {
                let shape = numbers.array(shape)?;
                check_fourier(&shape, *parts, *axis)?;
                Linear::Fourier { shape, parts: *parts, axis: *axis, conjugate: *conjugate }
            }
            Linear::PrefixSum { shape, axis, reverse } => {
                Linear::PrefixSum { shape: numbers.array(shape)?, axis: *axis, reverse: *reverse }
            }
        })
    }
}

/// The words for views with different iteration spaces.
fn different(spaces: &[&[usize]]) -> String {
    let spaces: Vec<String> = spaces.iter().map(|space| Show(space).to_string()).collect();
    format!("the iteration spaces {} differ", spaces.join(" and "))
}

impl Contract {
    pub(crate) fn renumbered(&self, numbers: &mut dyn Renumber) -> Result<Contract, String> {
        let (a, b) = (self.a.renumbered(numbers)?, self.b.renumbered(numbers)?);
        let out = self.out.renumbered(numbers)?;
        if a.shape() != b.shape() || a.shape() != out.shape() {
            return Err(different(&[a.shape(), b.shape(), out.shape()]));
        }
        Ok(Contract { a, b, out })
    }
}

impl Discrete {
    pub(crate) fn renumbered(&self, numbers: &mut dyn Renumber) -> Result<Discrete, String> {
        Ok(match self {
            Discrete::Iota { n } => Discrete::Iota { n: numbers.array(&[*n])?[0] },
            Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::FloatStep(_) => {
                self.clone()
            }
            Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_) => self.clone(),
            Discrete::ArgMax { .. } | Discrete::ArgMin { .. } | Discrete::ArgSort { .. } => self.clone(),
            Discrete::PrefixArg { .. } => self.clone(),
        })
    }
}

impl Call {
    pub(crate) fn renumbered(&self, numbers: &mut dyn Renumber) -> Result<Call, String> {
        Ok(match self {
            Call::Matrix(op) => Call::Matrix(*op),
            Call::External(external) => Call::External(Arc::new(renumbered_host(external, numbers)?)),
            Call::Tap(tap) => Call::Tap(Arc::new(renumbered_tap(tap, numbers)?)),
        })
    }

    /// The same call with the host function of another.
    pub(crate) fn linked_like(&self, other: &Call) -> Call {
        match (self, other) {
            (Call::External(own), Call::External(other)) => Call::External(Arc::new(own.with_function(other))),
            (Call::Matrix(_) | Call::External(_) | Call::Tap(_), _) => self.clone(),
        }
    }
}

/// A tap for another number of executions.
fn renumbered_tap(tap: &Tap, numbers: &mut dyn Renumber) -> Result<Tap, String> {
    let mut made = Tap::new(tap.kind().clone(), tap.at().cloned());
    for (n, stacked) in tap.each() {
        made = made.batched(numbers.size(*n)?, stacked.clone());
    }
    Ok(made)
}

/// Host code for arrays of other shapes: the same function.
fn renumbered_host(external: &External, numbers: &mut dyn Renumber) -> Result<External, String> {
    let mut kinds = |all: &[(Shape, DType)]| {
        let of = |(shape, dtype): &(Shape, DType)| Ok((numbers.array(shape)?, *dtype));
        all.iter().map(of).collect::<Result<Vec<(Shape, DType)>, String>>()
    };
    let (takes, returns) = (kinds(external.takes())?, kinds(external.returns())?);
    let mut made = External::unlinked(external.name(), takes, returns).with_function(external);
    for (n, stacked) in external.each() {
        let n = numbers.size(*n)?;
        if n > MAX_SIZE {
            return Err(format!("a function is called {n} times"));
        }
        made = made.batched(n, stacked.clone());
    }
    for (shape, _) in made.results() {
        if !is_possible(&shape) {
            return Err(format!("no array can have shape {}", Show(&shape)));
        }
    }
    Ok(made)
}
