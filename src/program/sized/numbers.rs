//! The numbers of a program: the same program with other sizes, and the comparison of programs up to numbers.
//!
//! Laws: a program with the numbers that it shows is the same program. Every operation passes the checks of tracing, so
//! numbers that fit no program are an error. A body that several operations run shows its numbers for each of them; if
//! these do not change, the body is taken as it is, so the work grows with the length of the program and the number of
//! changes, not with the number of times that bodies run.

use std::collections::HashMap;
use std::sync::Arc;

use crate::array::{Array, Values};
use crate::dtype::DType;
use crate::ops::Renumber;
use crate::program::{
    Builder, Constant, Custom, CustomKind, Loop, NodeId, Op, OpClass, Program, Single, Slot, programs_of,
};
use crate::shape::{MAX_SIZE, Shape, is_possible, try_room};

/// A number as a program shows it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ShownNumber {
    Int(i64),
    Float(f64, DType),
}

impl ShownNumber {
    /// Whether two numbers are one, to the bit.
    pub(super) fn is(self, other: ShownNumber) -> bool {
        match (self, other) {
            (ShownNumber::Int(a), ShownNumber::Int(b)) => a == b,
            (ShownNumber::Float(a, s), ShownNumber::Float(b, t)) => a.to_bits() == b.to_bits() && s == t,
            (ShownNumber::Int(_) | ShownNumber::Float(..), _) => false,
        }
    }
}

/// The numbers that a program or an operation shows, in order.
#[derive(Default)]
pub(super) struct Shown(pub(super) Vec<ShownNumber>);

impl Renumber for Shown {
    fn int(&mut self, n: i64) -> Result<i64, String> {
        self.0.push(ShownNumber::Int(n));
        Ok(n)
    }

    fn float(&mut self, x: f64, dtype: DType) -> Result<f64, String> {
        self.0.push(ShownNumber::Float(x, dtype));
        Ok(x)
    }
}

impl Shown {
    /// The numbers of an operation and its result, with those of the programs that it runs.
    pub(super) fn of(program: &Program, id: NodeId) -> Result<Vec<ShownNumber>, String> {
        let mut shown = Shown::default();
        let node = &program.nodes()[id as usize];
        if !node.op.has_several_results() {
            shown.array(&node.shape)?;
        }
        operation(&node.op, &mut shown)?;
        Ok(shown.0)
    }
}

/// Says by which numbers those of a program are replaced, and how much may be made.
pub(super) trait RenumberProgram: Renumber {
    /// Whether no number of this program, which comes next, changes; these numbers are then passed over.
    fn passes(&mut self, _: &Program) -> bool {
        false
    }

    /// An error if this number of further operations is too many.
    fn operations(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }

    /// An error if constants with this number of further elements are too large.
    fn elements(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }
}

impl RenumberProgram for Shown {}

/// The number of numbers that each program shows, by its class. It saturates: shared bodies may show very many.
#[derive(Default)]
pub(super) struct Counts(HashMap<u64, usize>);

impl Renumber for usize {
    fn int(&mut self, n: i64) -> Result<i64, String> {
        *self = self.saturating_add(1);
        Ok(n)
    }

    fn float(&mut self, x: f64, _: DType) -> Result<f64, String> {
        *self = self.saturating_add(1);
        Ok(x)
    }
}

impl RenumberProgram for usize {}

impl Counts {
    /// The number of numbers that a program shows, with those of the programs that its operations run.
    pub(super) fn of(&mut self, program: &Program) -> usize {
        if let Some(count) = self.0.get(&program.class()) {
            return *count;
        }
        for part in program.distinct(programs_of) {
            if self.0.contains_key(&part.class()) {
                continue;
            }
            let mut count: usize = part.inputs().iter().map(|slot| slot.shape.len()).sum();
            for node in &part.nodes()[part.inputs().len()..] {
                count = count.saturating_add(if node.op.has_several_results() { 0 } else { node.shape.len() });
                if let Op::Loop(_) = &node.op {
                    count = count.saturating_add(1);
                } else if let Op::Custom(c, _) = &node.op {
                    count = count.saturating_add(usize::from(is_bounded(c)));
                } else {
                    // An operation that shows its own numbers is itself again.
                    let _ = operation(&node.op, &mut count);
                }
                for inner in programs_of(&node.op) {
                    count = count.saturating_add(self.0.get(&inner.class()).copied().unwrap_or(usize::MAX));
                }
            }
            self.0.insert(part.class(), count);
        }
        self.0.get(&program.class()).copied().unwrap_or(usize::MAX)
    }
}

/// Other numbers, one after the other.
pub(super) struct GivenNumbers<'a>(pub(super) &'a mut dyn Iterator<Item = ShownNumber>);

impl Renumber for GivenNumbers<'_> {
    fn int(&mut self, _: i64) -> Result<i64, String> {
        match self.0.next() {
            Some(ShownNumber::Int(n)) => Ok(n),
            Some(ShownNumber::Float(..)) | None => Err(String::from("a number is missing")),
        }
    }

    fn float(&mut self, _: f64, dtype: DType) -> Result<f64, String> {
        match self.0.next() {
            Some(ShownNumber::Float(x, of)) if of == dtype => Ok(x),
            Some(_) | None => Err(String::from("a number is missing")),
        }
    }
}

impl RenumberProgram for GivenNumbers<'_> {}

/// The program with other numbers: inputs and operations in order, for each its shape, its own numbers, and those of
/// the programs that it runs.
pub(super) fn renumbered(program: &Program, numbers: &mut dyn RenumberProgram) -> Result<Program, String> {
    if numbers.passes(program) {
        return Ok(program.clone());
    }
    numbers.operations(program.nodes().len())?;
    let (mut b, count) = (Builder::verbatim(), program.inputs().len());
    b.reserve(program.nodes().len());
    for slot in program.inputs() {
        let shape = numbers.array(&slot.shape)?;
        b.input(Slot { shape, ..slot.clone() });
    }
    for (k, node) in program.nodes().iter().enumerate().skip(count) {
        let single = !node.op.has_several_results();
        let shape = if single { numbers.array(&node.shape)? } else { Shape::new() };
        let op = operation(&node.op, numbers)?;
        let (needed, dtype) = b.try_kind(&op)?;
        if single && (needed != shape || dtype != node.dtype || !is_possible(&needed)) {
            return Err(String::from("the sizes of an operation and of its operands differ"));
        }
        b.placed(program.place(k as NodeId));
        b.cons(op, needed, if single { dtype } else { node.dtype });
    }
    let names: Vec<String> = program.outputs().iter().map(|slot| slot.name.clone()).collect();
    Ok(b.finish(program.results(), &names))
}

fn operation(op: &Op<NodeId>, numbers: &mut dyn RenumberProgram) -> Result<Op<NodeId>, String> {
    Ok(match op.class() {
        OpClass::Constant(c) => Op::Constant(constant(c, numbers)?),
        OpClass::Single(Single::Discrete(op, args)) => Op::Discrete(op.renumbered(numbers)?, args.into()),
        OpClass::Single(Single::Linear(op, a)) => Op::Linear(Box::new(op.renumbered(numbers)?), *a),
        OpClass::Single(Single::Contract(op, a, b)) => Op::Contract(Box::new(op.renumbered(numbers)?), *a, *b),
        OpClass::Call(op, args) => Op::Call(op.renumbered(numbers)?, args.to_vec()),
        OpClass::Loop(l) => {
            let n = numbers.size(l.n)?;
            if n == 0 || n > MAX_SIZE {
                return Err(format!("a loop has {n} trips"));
            }
            Op::Loop(Box::new(Loop { n, body: renumbered(&l.body, numbers)?, ..l.clone() }))
        }
        OpClass::Custom(c, args) => Op::Custom(Arc::new(function(c, numbers)?), args.to_vec()),
        OpClass::Input(_) | OpClass::Single(_) | OpClass::Output(..) => op.clone(),
    })
}

/// Whether a function is a loop that shows the bound of its trips.
fn is_bounded(c: &Custom) -> bool {
    matches!(c.kind(), CustomKind::While { most: Some(_) })
}

/// A function with other numbers, if its programs still fit together.
fn function(c: &Custom, numbers: &mut dyn RenumberProgram) -> Result<Custom, String> {
    let name = c.name();
    let mut again = |program: &Program| renumbered(program, numbers);
    match c.kind() {
        CustomKind::Cond { then, otherwise, absent } => {
            Custom::cond(name, again(then)?, again(otherwise)?)?.with_absent(absent.clone())
        }
        CustomKind::Rules { jvp, vjp } => {
            let primal = again(c.primal())?;
            let jvp = jvp.as_ref().map(&mut again).transpose()?;
            Custom::new(name, primal, jvp, vjp.as_ref().map(&mut again).transpose()?)
        }
        CustomKind::Checkpointed => Ok(Custom::checkpointed(name, again(c.primal())?)),
        CustomKind::Solve(e) => {
            let (primal, moved) = (again(c.primal())?, again(&e.moved)?);
            let transposed = (again(&e.transposed.0)?, again(&e.transposed.1)?);
            Custom::solve(name, primal, moved, transposed)
        }
        CustomKind::While { most } => {
            let primal = again(c.primal())?;
            let most = most.map(|n| numbers.size(n)).transpose()?;
            Custom::while_loop(name, primal, most)
        }
    }
}

/// A constant: one number in all places, equal steps, or the same elements for all sizes.
fn constant(Constant(array): &Constant, numbers: &mut dyn RenumberProgram) -> Result<Constant, String> {
    let dtype = array.dtype();
    let (real, single) = (array.splat::<f64>(), array.splat::<f32>());
    if let Some(x) = real.or(single.map(f64::from)) {
        let shape = numbers.array(array.shape())?;
        let x = numbers.float(x, dtype)?;
        return Ok(Constant(if single.is_some() { Array::full(&shape, x as f32) } else { Array::full(&shape, x) }));
    }
    if let Some(n) = array.splat::<i64>() {
        let shape = numbers.array(array.shape())?;
        return Ok(Constant(Array::full(&shape, numbers.int(n)?)));
    }
    if let Some(yes) = array.splat::<bool>() {
        return Ok(Constant(Array::full(&numbers.array(array.shape())?, yes)));
    }
    let Some(ends) = ends(array) else { return Ok(Constant(array.clone())) };
    let n = numbers.array(array.shape())?[0];
    Ok(Constant(match ends {
        SteadyEnds::Integers { first, step } => {
            let (first, step) = (numbers.int(first)?, numbers.int(step)?);
            numbers.elements(n)?;
            try_room(&[n], size_of::<i64>())?;
            Array::new(&[n], (0..n as i64).map(|k| first.wrapping_add(step.wrapping_mul(k))).collect())
        }
        SteadyEnds::Floats { first, last } => {
            let (first, last) = (numbers.float(first, dtype)?, numbers.float(last, dtype)?);
            numbers.elements(n)?;
            try_room(&[n], size_of::<f64>())?;
            spaced(first, last, n, dtype)
        }
    }))
}

/// Numbers at equal distances, as `linspace` makes them.
fn spaced(first: f64, last: f64, n: usize, dtype: DType) -> Array {
    let all = Array::linspace(first, last, n);
    if dtype == DType::F32 { all.cast::<f32>() } else { all }
}

/// The numbers that determine a vector with equal steps.
enum SteadyEnds {
    Integers { first: i64, step: i64 },
    Floats { first: f64, last: f64 },
}

/// Those numbers, of a vector with equal steps.
fn ends(array: &Array) -> Option<SteadyEnds> {
    let dtype = array.dtype();
    if array.rank() != 1 || array.size() < 3 {
        return None;
    }
    match dtype {
        DType::Bool => None,
        DType::I64 => {
            let Values::Dense(v) = array.typed::<i64>() else { return None };
            let step = v[1].wrapping_sub(v[0]);
            let steady = v.windows(2).all(|w| w[1].wrapping_sub(w[0]) == step);
            steady.then_some(SteadyEnds::Integers { first: v[0], step })
        }
        DType::F64 | DType::F32 => {
            let last = array.size() - 1;
            let end = |k: usize| match (array.values::<f64>(), array.values::<f32>()) {
                (Some(v), _) => Some(v.get(k)),
                (None, v) => v.map(|v| f64::from(v.get(k))),
            };
            let (first, last) = (end(0)?, end(last)?);
            let is_spaced = Constant(spaced(first, last, array.size(), dtype)) == Constant(array.clone());
            is_spaced.then_some(SteadyEnds::Floats { first, last })
        }
    }
}

/// The first operation in which two programs of equally many operations differ, for programs inside too; `None` if
/// they are equal. Host functions are compared by name.
pub(super) fn first_difference<'a>(a: &'a Program, b: &'a Program) -> Option<[(&'a Program, NodeId); 2]> {
    if a == b {
        return None;
    }
    let last = |p: &'a Program| (p, p.nodes().len().saturating_sub(1) as NodeId);
    for (k, (x, y)) in a.nodes().iter().zip(b.nodes()).enumerate() {
        let inside = programs_of(&x.op).zip(programs_of(&y.op)).find_map(|(p, q)| first_difference(p, q));
        if inside.is_some() && is_alike(&x.op, &y.op) {
            return inside;
        }
        if (&x.shape, x.dtype) != (&y.shape, y.dtype) || !is_alike(&x.op, &y.op) {
            return Some([(a, k as NodeId), (b, k as NodeId)]);
        }
    }
    let ends = a.nodes().len() != b.nodes().len() || a.results() != b.results() || a.inputs() != b.inputs();
    ends.then(|| [last(a), last(b)])
}

/// Whether two operations are equal except for the programs that they run.
fn is_alike(a: &Op<NodeId>, b: &Op<NodeId>) -> bool {
    match (a, b) {
        (Op::Loop(x), Op::Loop(y)) => {
            (x.n, x.reverse, &x.init, &x.xs, &x.captured) == (y.n, y.reverse, &y.init, &y.xs, &y.captured)
        }
        (Op::Custom(x, of_x), Op::Custom(y, of_y)) => {
            let kinds = (x.kind(), y.kind());
            let same = match kinds {
                (CustomKind::While { most }, CustomKind::While { most: other }) => most == other,
                (CustomKind::Rules { jvp, vjp }, CustomKind::Rules { jvp: j, vjp: v }) => {
                    (jvp.is_some(), vjp.is_some()) == (j.is_some(), v.is_some())
                }
                (CustomKind::Solve(_), CustomKind::Solve(_)) | (CustomKind::Checkpointed, CustomKind::Checkpointed) => {
                    true
                }
                (CustomKind::Cond { absent: x, .. }, CustomKind::Cond { absent: y, .. }) => x == y,
                (
                    CustomKind::While { .. }
                    | CustomKind::Rules { .. }
                    | CustomKind::Solve(_)
                    | CustomKind::Cond { .. }
                    | CustomKind::Checkpointed,
                    _,
                ) => false,
            };
            same && x.name() == y.name() && of_x == of_y
        }
        (Op::Call(x, of_x), Op::Call(y, of_y)) => x.linked_like(y) == *y && of_x == of_y,
        (a, b) => a == b,
    }
}

/// The first operation in which two programs differ in more than numbers, for programs inside too.
pub(super) fn first_apart<'a>(a: &'a Program, b: &'a Program) -> Option<[(&'a Program, NodeId); 2]> {
    let shorter = a.nodes().len().min(b.nodes().len());
    for k in 0..shorter {
        if is_apart(a, b, k as NodeId) {
            let programs = programs_of(&a.nodes()[k].op).zip(programs_of(&b.nodes()[k].op));
            let inside = programs.into_iter().find_map(|(p, q)| first_apart(p, q));
            return Some(inside.unwrap_or([(a, k as NodeId), (b, k as NodeId)]));
        }
    }
    (a.nodes().len() != b.nodes().len()).then_some([(a, shorter as NodeId), (b, shorter as NodeId)])
}

/// Whether an operation of the first program with the numbers of that of the second is not the second.
fn is_apart(a: &Program, b: &Program, id: NodeId) -> bool {
    let (x, y) = (&a.nodes()[id as usize], &b.nodes()[id as usize]);
    let Ok(numbers) = Shown::of(b, id) else { return true };
    let mut values = numbers.into_iter();
    let mut given = GivenNumbers(&mut values);
    let shape = if x.op.has_several_results() { Ok(x.shape.clone()) } else { given.shape(&x.shape) };
    let (Ok(shape), Ok(op)) = (shape, operation(&x.op, &mut given)) else { return true };
    let inside = programs_of(&op).zip(programs_of(&y.op)).any(|(p, q)| first_difference(p, q).is_some());
    shape != y.shape || x.dtype != y.dtype || inside || !is_alike(&op, &y.op) || values.next().is_some()
}
