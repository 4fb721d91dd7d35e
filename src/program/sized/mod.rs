//! One program for all sizes: a program whose sizes are expressions of named sizes.
//!
//! A program is recorded at several sizes, as it is traced, and its numbers (shapes, coefficients and offsets of views,
//! trips, constants that depend on a size) are fitted by expressions of the names; further recordings check these. An
//! expression is a polynomial, or a float made of one: a factor times a size, its root or its logarithm, or the factor
//! divided by it. A body that several operations run is made once, unless its numbers change. Passes may decide by
//! size, so they run when the sizes are known.
//!
//! Law: [`SizedProgram::at`] some sizes is the program that is recorded at these sizes, in the same text; the
//! recordings at the smallest sizes are compared with it, and sizes below those that agree are refused.

mod fit;
mod numbers;
mod polynomial;
#[cfg(feature = "serde")]
mod serial;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

#[cfg(feature = "serde")]
pub(crate) use serial::SavedSize;

use self::fit::{Varying, fitted};
use self::numbers::{
    Counts, GivenNumbers, RenumberProgram, Shown, ShownNumber, first_apart, first_difference, renumbered,
};
use self::polynomial::{Fitting, Polynomial, points};
use super::term::simplified;
use super::{Loop, Node, NodeId, Op, OpClass, Program, Slot, programs_of};
use crate::dtype::DType;
use crate::escape;
use crate::ops::Renumber;
use crate::shape::Shape;
use crate::source::SourceLine;

/// A shape whose sizes are expressions of the named sizes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizedShape(Vec<Polynomial>);

impl SizedShape {
    /// The shape at some sizes.
    pub(crate) fn at(&self, sizes: &[usize]) -> Option<Shape> {
        self.0.iter().map(|size| usize::try_from(size.at(sizes)?).ok()).collect()
    }

    pub(crate) fn rank(&self) -> usize {
        self.0.len()
    }

    /// The named size that an axis has.
    pub(crate) fn name(&self, axis: usize, names: usize) -> Option<usize> {
        (0..names).find(|name| self.0[axis] == Polynomial::of(*name, names))
    }

    /// A shape in words, as `[batch, 10]`.
    pub(crate) fn words(&self, names: &[&str]) -> String {
        let each: Vec<String> = self.0.iter().map(|size| size.words(names, false)).collect();
        format!("[{}]", each.join(", "))
    }

    /// Several shapes from the shapes at some of the points of recordings, the first of them.
    pub(crate) fn fitted(points: &[Vec<usize>], shapes: &[Vec<Shape>]) -> Option<Vec<SizedShape>> {
        let fitting = Fitting::new(points);
        let axis = |leaf: usize, axis: usize| {
            let sizes = shapes.iter().map(|all| i64::try_from(*all.get(leaf)?.get(axis)?).ok());
            fitting.of(&sizes.collect::<Option<Vec<i64>>>()?)
        };
        let shape = |(leaf, shape): (usize, &Shape)| {
            Some(SizedShape((0..shape.len()).map(|k| axis(leaf, k)).collect::<Option<Vec<Polynomial>>>()?))
        };
        shapes.first()?.iter().enumerate().map(shape).collect()
    }
}

/// The largest number of named sizes of a program.
pub(crate) const NAMES: usize = 4;

/// The largest number of bytes of the name of a size: texts repeat it.
pub(crate) const NAME_BYTES: usize = 100;

/// The number of operations that a program may have at some sizes, in addition to a multiple of those of the template.
/// A body counts for each operation that runs it at different sizes.
const OPERATIONS: usize = 1 << 18;

/// The number of elements that all constants of equal steps may have at some sizes, in addition to a multiple of the
/// largest size.
const ELEMENTS: usize = 1 << 22;

/// A named size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedSize {
    pub(crate) name: String,
    /// The least size that is served.
    pub(crate) least: usize,
}

/// A program whose sizes are expressions of named sizes: see [`SizedFunction`](crate::SizedFunction).
///
/// It prints as the program does, with expressions in the place of sizes.
///
/// Example: [`SizedProgram::at`].
#[derive(Clone, Debug)]
pub struct SizedProgram {
    names: Vec<NamedSize>,
    /// The program as it was traced, at the first of the sizes.
    template: Program,
    /// The numbers of the template that depend on the named sizes, by their positions.
    varying: Vec<(usize, Varying)>,
}

/// The numbers of the template, with those that depend on the named sizes at some sizes.
struct SizePoint<'a> {
    position: usize,
    varying: &'a [(usize, Varying)],
    sizes: &'a [usize],
    counts: Counts,
    /// The operations and elements that may still be made.
    operations: usize,
    elements: usize,
}

impl SizePoint<'_> {
    fn next(&mut self, number: ShownNumber) -> Result<ShownNumber, String> {
        // Positions saturate, as counts do. No number that varies has the last of them.
        let here = self.position;
        self.position = here.saturating_add(1);
        match self.varying.split_first() {
            Some(((position, varying), rest)) if *position == here => {
                self.varying = rest;
                varying.at(self.sizes).ok_or_else(|| String::from("a size is not a whole number, or too large"))
            }
            Some(_) | None => Ok(number),
        }
    }
}

impl Renumber for SizePoint<'_> {
    fn int(&mut self, n: i64) -> Result<i64, String> {
        match self.next(ShownNumber::Int(n))? {
            ShownNumber::Int(n) => Ok(n),
            ShownNumber::Float(..) => Err(String::from("a size is a float")),
        }
    }

    fn float(&mut self, x: f64, dtype: DType) -> Result<f64, String> {
        match self.next(ShownNumber::Float(x, dtype))? {
            ShownNumber::Float(x, _) => Ok(x),
            ShownNumber::Int(_) => Err(String::from("a float is a size")),
        }
    }
}

impl RenumberProgram for SizePoint<'_> {
    fn passes(&mut self, program: &Program) -> bool {
        let end = self.position.saturating_add(self.counts.of(program));
        let stays = self.varying.first().is_none_or(|(position, _)| *position >= end);
        if stays {
            self.position = end;
        }
        stays
    }

    fn operations(&mut self, count: usize) -> Result<(), String> {
        let left = self.operations.checked_sub(count);
        self.operations = left.ok_or("there are too many operations, as bodies with sizes of their own count each")?;
        Ok(())
    }

    fn elements(&mut self, count: usize) -> Result<(), String> {
        let left = self.elements.checked_sub(count);
        self.elements = left.ok_or("the constants of the program are too large")?;
        Ok(())
    }
}

/// The program of a trace after the rules of the constructors, as it is recorded. `known` has the programs inside that are
/// made, by the class of their traces: each is made once.
fn simplified_trace(program: &Program, seen: bool, known: &mut HashMap<u64, Program>) -> Program {
    let mut inner = |program: &Program| {
        if let Some(made) = known.get(&program.class()) {
            return made.clone();
        }
        let made = simplified_trace(program, true, known);
        known.insert(program.class(), made.clone());
        made
    };
    let simpler = |node: &Node| {
        let op = match node.op.class() {
            OpClass::Loop(l) => Op::Loop(Box::new(Loop { body: inner(&l.body), ..l.clone() })),
            OpClass::Custom(c, args) => Op::Custom(Arc::new(c.map(&mut inner)), args.to_vec()),
            OpClass::Input(_) | OpClass::Constant(_) | OpClass::Output(..) => node.op.clone(),
            OpClass::Single(_) | OpClass::Call(..) => node.op.clone(),
        };
        Node { op, ..node.clone() }
    };
    let nodes: Vec<Node> = program.nodes().iter().map(simpler).collect();
    let places = (0..nodes.len()).map(|k| program.place(k as NodeId)).collect();
    let made = simplified((program.inputs().to_vec(), nodes, places), program.results(), seen);
    if program.outputs().iter().all(|slot| slot.name.is_empty()) {
        return made;
    }
    let names = |slots: &'_ [Slot]| slots.iter().map(|slot| slot.name.clone()).collect::<Vec<String>>();
    let (inputs, outputs) = (names(program.inputs()), names(program.outputs()));
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    made.named(&inputs, &outputs.iter().map(String::as_str).collect::<Vec<&str>>())
}

/// `batch = 23, length = 37`.
pub(crate) fn sizes_in_words(names: &[NamedSize], sizes: &[usize]) -> String {
    let each = names.iter().zip(sizes).map(|(named, n)| format!("{} = {n}", escape::name(&named.name)));
    each.collect::<Vec<String>>().join(", ")
}

/// An operation in messages, with its line.
fn operation(program: &Program, id: NodeId) -> String {
    let op = program.nodes().get(id as usize).map_or_else(|| String::from("no operation"), |node| node.op.words());
    match &program.place(id).at {
        Some(at) => format!("{op} ({})", SourceLine::from(at)),
        None => op,
    }
}

/// Records a program at some sizes, as it is traced.
type RecordAt<'a> = &'a mut dyn FnMut(&[usize]) -> Program;

impl SizedProgram {
    /// The program that `record` records as it is traced, for all sizes of these names from the least that are given;
    /// no size of a recording is `taken`.
    ///
    /// # Errors
    /// When the recordings differ in more than numbers, or a number is not an expression of the sizes.
    pub(crate) fn recorded(
        mut names: Vec<NamedSize>,
        taken: &[usize],
        record: RecordAt<'_>,
    ) -> Result<SizedProgram, String> {
        let least: Vec<usize> = names.iter().map(|named| named.least).collect();
        let points = points(&least, taken);
        let fitting = Fitting::new(&points);
        let mut programs: Vec<Program> = Vec::new();
        for point in &points {
            // One after the other: those at large sizes come last, and are not made if small ones differ.
            let program = record(point);
            if let Some(first) = programs.first() {
                same_structure(&names, [&points[0], point], [first, &program])?;
            }
            programs.push(program);
        }
        let varying = expressions(&names, &fitting, &programs)?;
        let template = programs.swap_remove(0);
        let mut made = SizedProgram { names: names.clone(), template, varying };
        for (name, named) in names.iter_mut().enumerate() {
            named.least = made.least_that_agrees(name, &points[0], record);
        }
        made.names = names;
        // The smallest sizes together.
        let both = |made: &SizedProgram| made.names.iter().map(|named| named.least).collect::<Vec<usize>>();
        while !made.agrees(&both(&made), record) {
            let smallest = points[0].iter().copied().min().unwrap_or_default();
            let low = |named: &&mut NamedSize| named.least < smallest;
            let Some(named) = made.names.iter_mut().filter(low).min_by_key(|named| named.least) else { break };
            named.least += 1;
        }
        Ok(made)
    }

    /// The least size of a name at which the program is the one that is recorded there, with other names at a point.
    fn least_that_agrees(&self, name: usize, point: &[usize], record: RecordAt<'_>) -> usize {
        const SMALL: [usize; 7] = [12, 8, 5, 4, 3, 2, 1];
        let asked = self.names[name].least;
        let mut least = point[name];
        for size in SMALL.into_iter().chain([0]).filter(|size| *size >= asked).chain([asked]) {
            let mut sizes = point.to_vec();
            sizes[name] = size;
            if size < least && !self.agrees(&sizes, record) {
                // Between a size that differs and one that agrees, each is compared.
                let mut at = |n: usize| {
                    sizes[name] = n;
                    self.agrees(&sizes, record)
                };
                while least > size + 1 && at(least - 1) {
                    least -= 1;
                }
                break;
            }
            least = least.min(size);
        }
        least
    }

    /// Whether the program at these sizes is the one that is recorded. What fits no program is not recorded.
    fn agrees(&self, sizes: &[usize], record: RecordAt<'_>) -> bool {
        match self.traced(sizes) {
            Ok(program) => first_difference(&program, &record(sizes)).is_none(),
            Err(_) => false,
        }
    }

    /// The names, in the order in which [`at`](SizedProgram::at) takes sizes.
    ///
    /// Example: [`SizedProgram::at`].
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|named| named.name.as_str())
    }

    /// The least size of each name: that for which the program was recorded, or at which it is another one.
    ///
    /// Example: [`SizedProgram::at`].
    pub fn least(&self) -> impl ExactSizeIterator<Item = usize> {
        self.names.iter().map(|named| named.least)
    }

    /// The program as it was traced at the first of the sizes.
    #[cfg(feature = "serde")]
    pub(crate) fn template(&self) -> &Program {
        &self.template
    }

    /// The number of the first recordings, from which expressions are found; those after them may differ.
    pub(crate) fn fitted_recordings(&self) -> usize {
        points(&vec![1; self.names.len()], &[]).len()
    }

    pub(crate) fn named_sizes(&self) -> &[NamedSize] {
        &self.names
    }

    /// The program as it is traced at these sizes.
    fn traced(&self, sizes: &[usize]) -> Result<Program, String> {
        let parts = self.template.distinct(programs_of);
        let count: usize = parts.iter().map(|program| program.nodes().len()).sum();
        let largest = sizes.iter().copied().max().unwrap_or_default();
        let mut at = SizePoint {
            position: 0,
            varying: &self.varying,
            sizes,
            counts: Counts::default(),
            operations: OPERATIONS.saturating_add(count.saturating_mul(16)),
            elements: ELEMENTS.saturating_add(largest.saturating_mul(16)),
        };
        renumbered(&self.template, &mut at)
    }

    /// The program at these sizes, one for each name: as if recorded for them.
    ///
    /// ```
    /// use polygrad::program::SizedProgram;
    /// use polygrad::{Jit, Sizes, Tensor, tensor};
    /// let mean = Jit::stage(|x: &Tensor<_, 1>| x.mean());
    /// let mean = mean.for_sizes(&Sizes::new().axis("x", 0, "n"), &tensor([1.0, 2.0]), &());
    /// let program: &SizedProgram = mean.model().program();
    /// assert!(program.to_string().contains("x: f64[n]"), "{program}");
    /// assert_eq!((program.names().collect::<Vec<_>>(), program.least().collect::<Vec<_>>()), (vec!["n"], vec![1]));
    /// assert_eq!(program.at(&[7])?.inputs()[0].shape[..], [7]);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// When there are more or fewer sizes than names, a size is smaller than the least that is served, or there is no
    /// such program, since an array would be too large.
    pub fn at(&self, sizes: &[usize]) -> Result<Program, String> {
        let small = self.names.iter().zip(sizes).find(|(named, n)| **n < named.least);
        if let Some((NamedSize { name, least }, n)) = small {
            return Err(format!(
                "sizes: `{name}` must be at least {least}, where the program was seen to be the same, but it is {n}; record \
                 a function for this size alone"
            ));
        }
        if sizes.len() != self.names.len() {
            return Err(format!(
                "sizes: each of the {} names needs a size, but there are {}; give one for each",
                self.names.len(),
                sizes.len()
            ));
        }
        let fault = |fact: String| {
            let sizes = sizes_in_words(&self.names, sizes);
            format!("sizes: the program must exist at these sizes, but at {sizes} {fact}; take other sizes")
        };
        Ok(simplified_trace(&self.traced(sizes).map_err(fault)?, false, &mut HashMap::new()))
    }
}

/// An error unless two recordings differ in numbers alone.
fn same_structure(names: &[NamedSize], sizes: [&[usize]; 2], programs: [&Program; 2]) -> Result<(), String> {
    let [a, b] = programs;
    let mut shown = Shown::default();
    renumbered(b, &mut shown)?;
    let mut values = shown.0.into_iter();
    // The first program with the numbers of the second is the second.
    let like = renumbered(a, &mut GivenNumbers(&mut values));
    let differ = match &like {
        Ok(like) => first_difference(like, b),
        Err(_) => None,
    };
    if like.is_ok() && differ.is_none() && values.next().is_none() {
        return Ok(());
    }
    let last = |p: &'_ Program| p.nodes().len().saturating_sub(1) as NodeId;
    let at = first_apart(a, b).or(differ).unwrap_or([(a, last(a)), (b, last(b))]);
    let [first, second] = sizes.map(|sizes| sizes_in_words(names, sizes));
    let counts = programs.map(Program::size);
    Err(format!(
        "sizes: the operations must be the same at all sizes, but at {first} there are {}, at {second} {}, and the first that \
         differ are {} and {}; replace a loop of the host by `iterate`, `map` or `build`, a branch on a size by `Jit`",
        counts[0],
        counts[1],
        operation(at[0].0, at[0].1),
        operation(at[1].0, at[1].1)
    ))
}

/// The numbers that differ between recordings, as expressions of the sizes.
fn expressions(
    names: &[NamedSize],
    fitting: &Fitting<'_>,
    programs: &[Program],
) -> Result<Vec<(usize, Varying)>, String> {
    let shown = |program: &Program| {
        let mut shown = Shown::default();
        renumbered(program, &mut shown).map(|_| shown.0)
    };
    let all = programs.iter().map(shown).collect::<Result<Vec<Vec<ShownNumber>>, String>>()?;
    let at = |k: usize| all.iter().map(|numbers| numbers[k]).collect::<Vec<ShownNumber>>();
    let differ = |k: &usize| all.iter().any(|numbers| !numbers[*k].is(all[0][*k]));
    let differing: Vec<usize> = (0..all[0].len()).filter(differ).collect();
    let mut sizes: Vec<Polynomial> = (0..names.len()).map(|k| Polynomial::of(k, names.len())).collect();
    // Sizes first: floats depend on those that occur.
    let mut found: Vec<(usize, Option<Varying>)> = Vec::with_capacity(differing.len());
    for k in differing {
        let ints = matches!(all[0][k], ShownNumber::Int(_));
        let fit = if ints { fitted(&at(k), fitting, &[]) } else { None };
        if let Some(Varying::Int(size)) = &fit
            && !sizes.contains(size)
        {
            sizes.push(size.clone());
        }
        found.push((k, fit));
    }
    let mut varying = Vec::with_capacity(found.len());
    for (k, fit) in found {
        let fit = match (fit, all[0][k]) {
            (None, ShownNumber::Float(..)) => fitted(&at(k), fitting, &sizes),
            (fit, _) => fit,
        };
        let Some(fit) = fit else { return Err(no_expression(names, fitting.points(), &programs[0], (k, &at(k)))) };
        varying.push((k, fit));
    }
    Ok(varying)
}

/// The message for a number that is not an expression of the sizes.
fn no_expression(
    names: &[NamedSize],
    points: &[Vec<usize>],
    program: &Program,
    (position, numbers): (usize, &[ShownNumber]),
) -> String {
    const FEW: usize = 4;
    let text = |number: &ShownNumber| match number {
        ShownNumber::Int(n) => n.to_string(),
        ShownNumber::Float(x, _) => format!("{x:?}"),
    };
    let each = points.iter().zip(numbers).take(FEW);
    let seen = each.map(|(point, number)| format!("{} at {}", text(number), sizes_in_words(names, point)));
    let seen = seen.collect::<Vec<String>>().join(", ");
    // The operation whose numbers these are.
    let mut first: usize = program.inputs().iter().map(|slot| slot.shape.len()).sum();
    let mut of = String::from("an input");
    for k in program.inputs().len()..program.nodes().len() {
        let count = Shown::of(program, k as NodeId).map(|all| all.len()).unwrap_or_default();
        if (first..first + count).contains(&position) {
            of = operation(program, k as NodeId);
        }
        first += count;
    }
    format!(
        "sizes: a number must be a polynomial of the named sizes, or its root, logarithm or inverse with a factor, but in \
         {of} it is {seen}; pass it as data, or use `Jit`"
    )
}
