//! Steps as statements: passes, kernel calls and loops over the buffers of a lowered program.
//!
//! Law: a loop stays a loop, however many trips it has. A state of a loop is in one array or variable that each trip
//! updates, or in two that exchange their names after each trip.

#[cfg(all(feature = "jit", not(target_family = "wasm")))]
use std::collections::{BTreeMap, BTreeSet};

use super::groups::GroupWriter;
use super::places::{self, Slots};
use super::tree::{
    ArrayId, ArrayKind, ElementIndex, ElementPlace, EmittedFunction, Expression, Literal, Stmt, VariableId,
};
use super::writer::{Writer, refused_before};
use super::{kernels, lines, matrices};
use crate::array::Array;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::FusionGroup;
use crate::backend::ir::step::{Buffer, BufferId, Carry, FusedStep, LoopStep, States, Step, StepOperand, Storage};
use crate::backend::plan::{Lowered, ResultSource, kept};
use crate::dtype::DType;
use crate::program::{Program, Slot};
use crate::shape::size;

/// The largest state, in elements, that is copied after each trip; larger ones exchange their names.
const COPIED: usize = 32;

/// The function of a lowered program.
pub(crate) fn function(program: &Program, lowered: Lowered) -> EmittedFunction {
    let Lowered { mut steps, buffers, inputs: _, constants, outputs } = lowered;
    prune(&mut steps);
    let slots = places::assign(&steps, &buffers, &kept(&outputs));
    let mut emitter = Emitter { w: Writer::new(), buffers: &buffers, places: vec![None; buffers.len()] };
    emitter.arrays(program, &slots, &constants, &outputs);
    emitter.frame(&steps);
    emitter.results(program.outputs(), &outputs);
    emitter.w.finish()
}

/// Removes values of groups that nothing reads.
fn prune(steps: &mut [FusedStep]) {
    for step in steps {
        match step {
            Step::Pass(group) => group.prune(),
            Step::Loop(l) => prune(&mut l.body),
            Step::KernelCall(_) | Step::Matrices(_) | Step::Interpreted(_) | Step::RowBlocks(_) => {}
        }
    }
}

/// The function of some steps of a plan, which runs where the plan would run them.
///
/// Buffers for which `is_local` holds are memory of the function alone; others are arrays of the caller. Buffers of one
/// element are variables: those of the caller are read before the steps, and written after each step that sets them. With
/// the function come the buffers of its arrays.
#[cfg(all(feature = "jit", not(target_family = "wasm")))]
pub(crate) fn function_of_run(
    steps: &[FusedStep],
    buffers: &[Buffer],
    constants: &[Array],
    is_local: &dyn Fn(BufferId) -> bool,
) -> (EmittedFunction, Vec<Option<BufferId>>) {
    let mut emitter = Emitter { w: Writer::new(), buffers, places: vec![None; buffers.len()] };
    let mut arrays = Vec::new();
    let mut variables = BTreeMap::new();
    for buf in touched(steps).into_keys() {
        let Buffer { dtype, size, storage, .. } = buffers[buf as usize];
        let kind = match storage {
            Storage::Constant(k) if size == 1 => {
                emitter.places[buf as usize] = Some(ElementPlace::Number(number_at(&constants[k], 0)));
                continue;
            }
            Storage::Constant(k) => ArrayKind::Constant(constants[k].clone()),
            Storage::Workspace(_) if is_local(buf) && size == 1 => continue,
            Storage::Workspace(_) if is_local(buf) => ArrayKind::Scratch,
            Storage::Workspace(_) | Storage::Input | Storage::Output | Storage::Loop => ArrayKind::Output(0),
        };
        let array = emitter.w.array(dtype, size, kind);
        arrays.resize(array as usize + 1, None);
        arrays[array as usize] = Some(buf);
        let place = ElementPlace::Elements(array, ElementIndex::default());
        emitter.places[buf as usize] = Some(place.clone());
        if size == 1 {
            let first = place.load(&ElementIndex::default());
            let variable = ElementPlace::Variable(emitter.w.var(dtype, first));
            emitter.places[buf as usize] = Some(variable.clone());
            variables.insert(buf, (variable, place));
        }
    }
    for step in steps {
        emitter.frame(std::slice::from_ref(step));
        // At once: a buffer of a later step may have the memory of one that is not read any more.
        for (buf, _) in touched(std::slice::from_ref(step)).into_iter().filter(|(_, written)| *written) {
            if let Some((variable, place)) = variables.get(&buf) {
                copy(&mut emitter.w, variable, place, 1);
            }
        }
    }
    let function = emitter.w.finish();
    arrays.resize(function.arrays.len(), None);
    (function, arrays)
}

/// The buffers that steps touch and loops in them do not set, each with whether it is written.
#[cfg(all(feature = "jit", not(target_family = "wasm")))]
pub(crate) fn touched(steps: &[FusedStep]) -> BTreeMap<BufferId, bool> {
    let (mut touched, mut set) = (BTreeMap::new(), BTreeSet::new());
    let mut open: Vec<&FusedStep> = steps.iter().collect();
    while let Some(step) = open.pop() {
        step.buffers(&mut |buf, written| *touched.entry(buf).or_default() |= written);
        if let Step::Loop(l) = step {
            set.extend(l.carries.iter().flat_map(|carry| [carry.input, carry.output]));
            set.extend(l.xs.iter().chain(&l.outputs).map(|row| row.row));
            open.extend(&l.body);
        }
    }
    touched.retain(|buf, _| !set.contains(buf));
    touched
}

struct Emitter<'a> {
    w: Writer,
    buffers: &'a [Buffer],
    /// Where each buffer is; variables have places once they are declared.
    places: Vec<Option<ElementPlace>>,
}

/// An element of an array as a number.
pub(crate) fn number_at(array: &Array, at: usize) -> Literal {
    match array.dtype() {
        DType::F64 => Literal::F64(array.typed::<f64>().get(at)),
        DType::F32 => Literal::F32(array.typed::<f32>().get(at)),
        DType::I64 => Literal::I64(array.typed::<i64>().get(at)),
        DType::Bool => Literal::Bool(array.typed::<bool>().get(at)),
    }
}

/// The place of a buffer; one without elements has none, and stands for zero.
fn place_of(places: &[Option<ElementPlace>], buffers: &[Buffer], buf: BufferId) -> ElementPlace {
    let zero = || ElementPlace::Number(Literal::zero(buffers[buf as usize].dtype));
    places[buf as usize].clone().unwrap_or_else(zero)
}

impl Emitter<'_> {
    /// Declares the arrays of the function.
    fn arrays(&mut self, program: &Program, slots: &Slots, constants: &[Array], outputs: &[ResultSource]) {
        for (k, slot) in program.inputs().iter().enumerate() {
            let array = self.port(slot, ArrayKind::Input(k));
            let place = ElementPlace::Elements(array, ElementIndex::default());
            self.places[k] = Some(if slot.shape.is_empty() { place.one(&ElementIndex::default()) } else { place });
        }
        let results: Vec<ArrayId> =
            program.outputs().iter().enumerate().map(|(k, slot)| self.port(slot, ArrayKind::Output(k))).collect();
        for (found, array) in outputs.iter().zip(results) {
            let ResultSource::Buffer(buf) = found else { continue };
            if let Storage::Output = self.buffers[*buf as usize].storage {
                self.places[*buf as usize] = Some(ElementPlace::Elements(array, ElementIndex::default()));
            }
        }
        for (buf, buffer) in self.buffers.iter().enumerate() {
            let Storage::Constant(k) = buffer.storage else { continue };
            let constant = &constants[k];
            self.places[buf] = Some(match constant.size() {
                1 => ElementPlace::Number(number_at(constant, 0)),
                size => {
                    let array = self.w.array(constant.dtype(), size, ArrayKind::Constant(constant.clone()));
                    ElementPlace::Elements(array, ElementIndex::default())
                }
            });
        }
        let scratch: Vec<ElementPlace> = slots.kinds.iter().map(|(dtype, len)| self.w.scratch(*dtype, *len)).collect();
        for (buf, slot) in &slots.of {
            self.places[*buf as usize] = Some(scratch[*slot].clone());
        }
    }

    fn port(&mut self, slot: &Slot, kind: ArrayKind) -> ArrayId {
        let array = self.w.array(slot.dtype, size(&slot.shape), kind);
        self.w.function.arrays[array as usize].number = slot.shape.is_empty();
        array
    }

    fn place(&self, buf: BufferId) -> ElementPlace {
        place_of(&self.places, self.buffers, buf)
    }

    /// The place of a buffer that the next step writes: a variable is declared, if it is not yet.
    fn written(&mut self, buf: BufferId) -> ElementPlace {
        let buffer = &self.buffers[buf as usize];
        if self.places[buf as usize].is_none() && buffer.size == 1 {
            let variable = self.w.var(buffer.dtype, Expression::zero(buffer.dtype));
            self.places[buf as usize] = Some(ElementPlace::Variable(variable));
        }
        self.place(buf)
    }

    fn operand(&self, operand: &StepOperand) -> ElementPlace {
        let (place, at) = (self.place(operand.buf), ElementIndex::constant(operand.at as i64));
        if operand.one { place.one(&at) } else { place.moved(&at) }
    }

    fn frame(&mut self, steps: &[FusedStep]) {
        for step in steps {
            match step {
                Step::Pass(group) => self.pass(group),
                Step::KernelCall(call) => {
                    lines::all(&mut self.w, [&call.origin]);
                    let out = self.written(call.out);
                    let operands: Vec<ElementPlace> =
                        call.operands.iter().map(|(operand, _)| self.operand(operand)).collect();
                    kernels::call(&mut self.w, call, &operands, &out);
                }
                Step::Matrices(call) => {
                    lines::all(&mut self.w, [&call.origin]);
                    let out: Vec<ElementPlace> = call.out.iter().map(|(buf, ..)| self.written(*buf)).collect();
                    let operands: Vec<ElementPlace> =
                        call.operands.iter().map(|(operand, _)| self.operand(operand)).collect();
                    matrices::matrices(&mut self.w, call, &operands, &out);
                }
                Step::Loop(l) => self.trips(l),
                // Row blocks are formed in plans, and source code is written from lowered steps.
                Step::Interpreted(_) | Step::RowBlocks(_) => refused_before(),
            }
        }
    }

    fn pass(&mut self, group: &FusionGroup) {
        if group.size != 1 {
            lines::all(&mut self.w, &group.origins);
        }
        group.buffers(&mut |buf, written| {
            if written {
                self.written(buf);
            }
        });
        let Emitter { w, buffers, places } = self;
        let place = |buf: BufferId| place_of(places, buffers, buf);
        let dtype = |buf: BufferId| buffers[buf as usize].dtype;
        if group.size == 0 {
            for (buf, _) in group.cleared() {
                fill(w, &place(buf), buffers[buf as usize].size, &Expression::zero(dtype(buf)));
            }
            return;
        }
        let writer = GroupWriter::new(group, &place, &dtype);
        for buf in writer.cleared() {
            fill(w, &place(buf), buffers[buf as usize].size, &Expression::zero(dtype(buf)));
        }
        writer.write(w);
    }

    /// Writes a loop.
    fn trips(&mut self, l: &LoopStep<FusionGroup>) {
        lines::all(&mut self.w, [&l.origin]);
        let states: Vec<State> = l.carries.iter().map(|carry| self.start(carry, l)).collect();
        for row in &l.outputs {
            self.written(row.of);
        }
        let renamed: Vec<([ArrayId; 2], [ArrayId; 2])> = states.iter().filter_map(State::renamed).collect();
        renamed.iter().for_each(|_| self.w.open());
        let counter = self.w.open_loop();
        self.rows(l, &ElementIndex::of(counter));
        if let Some(go) = l.carries.first().filter(|_| l.ends) {
            let go = self.place(go.input).load(&ElementIndex::default());
            self.w.push(Stmt::If(Expression::op(ElementwiseOp::Not(go), DType::Bool), vec![Stmt::Break], Vec::new()));
        }
        let mut copies: Vec<(ElementPlace, ElementPlace, usize)> = Vec::new();
        for (carry, state) in l.carries.iter().zip(&states) {
            let next = match state {
                State::InPlace => self.place(carry.input),
                State::Renamed { names, .. } => ElementPlace::Elements(names[1], ElementIndex::default()),
                State::Stacked { next, .. } | State::Copied(Some(next)) => next.clone(),
                State::Copied(None) => ElementPlace::Variable(self.w.var(carry.dtype, Expression::zero(carry.dtype))),
            };
            if let State::Copied(_) | State::Stacked { .. } = state {
                copies.push((next.clone(), self.place(carry.input), carry.bytes / carry.dtype.width()));
            }
            self.places[carry.output as usize] = Some(next);
        }
        self.frame(&l.body);
        for (next, input, size) in copies {
            copy(&mut self.w, &next, &input, size);
        }
        for (carry, state) in l.carries.iter().zip(&states) {
            self.keep_state(carry, state, l, counter);
        }
        renamed.iter().for_each(|(names, _)| self.w.push(Stmt::Swap(*names)));
        let body = self.w.close_loop();
        self.w.push(match l.n {
            usize::MAX => Stmt::Loop(body),
            n => Stmt::For {
                counter,
                from: ElementIndex::default(),
                to: ElementIndex::constant(n as i64),
                down: l.reverse,
                body,
            },
        });
        for (names, of) in renamed.into_iter().rev() {
            let body = self.w.close();
            self.w.push(Stmt::Renamed { names, of, body });
        }
        for (carry, state) in l.carries.iter().zip(&states) {
            if let (State::Stacked { now, .. }, Some(stack)) = (state, carry.states)
                && stack.of != carry.result
            {
                let result = self.written(carry.result);
                copy(&mut self.w, now, &result, carry.bytes / carry.dtype.width());
            }
        }
    }

    /// Memory for a state.
    fn state(&mut self, dtype: DType, size: usize) -> ElementPlace {
        if size == 1 {
            ElementPlace::Variable(self.w.var(dtype, Expression::zero(dtype)))
        } else {
            self.w.scratch(dtype, size)
        }
    }

    /// Copies the state after a trip into its row of the stack, if there is one.
    fn keep_state(&mut self, carry: &Carry, state: &State, l: &LoopStep<FusionGroup>, counter: VariableId) {
        let (State::Stacked { now, .. }, Some(states)) = (state, carry.states) else { return };
        let size = carry.bytes / carry.dtype.width();
        let (at, after) = (ElementIndex::of(counter), if l.reverse { states.last } else { states.first });
        // Reversed loops count down, and so do the rows.
        let row = at.clone().plus_constant(i64::from(after) - i64::from(l.reverse));
        let place = self.place(states.of).moved(&row.times(size as i64));
        let kept = match (states.last, l.reverse) {
            (true, _) => Vec::new(),
            (false, true) => vec![Expression::AtMost(ElementIndex::constant(1), at)],
            (false, false) => vec![Expression::Below(at, ElementIndex::constant(l.n as i64 - 1))],
        };
        let now = now.clone();
        self.w.if_all(kept, |w| copy(w, &now, &place, size));
    }

    /// Copies the initial value of a carry, and decides where its states are.
    fn start(&mut self, carry: &Carry, l: &LoopStep<FusionGroup>) -> State {
        let size = carry.bytes / carry.dtype.width();
        if let Some(states) = carry.states {
            return self.start_stack(carry, states, l);
        }
        let result = self.written(carry.result);
        let init = self.operand(&carry.init);
        let other = carry.other.map(|other| self.place(other));
        let mut first = result.clone();
        let state = match (&result, other) {
            _ if carry.input == carry.output => State::InPlace,
            // A name stands for an array from its first element on, which a row of a stack around the loop is not.
            (ElementPlace::Elements(result, at), Some(ElementPlace::Elements(other, from)))
                if size > COPIED && !l.ends && *at == ElementIndex::default() && from == *at =>
            {
                // The last of `n` trips writes the result.
                let of = if l.n.is_multiple_of(2) { [*result, other] } else { [other, *result] };
                first = ElementPlace::Elements(of[0], ElementIndex::default());
                State::Renamed { names: of.map(|_| self.w.array(carry.dtype, size, ArrayKind::Name)), of }
            }
            (_, other) => State::Copied(other.filter(|_| size > 1)),
        };
        copy(&mut self.w, &init, &first, size);
        self.places[carry.input as usize] = Some(match &state {
            State::Renamed { names, .. } => ElementPlace::Elements(names[0], ElementIndex::default()),
            State::InPlace | State::Copied(_) | State::Stacked { .. } => result,
        });
        state
    }

    /// Copies the initial value of a carry whose states are kept.
    fn start_stack(&mut self, carry: &Carry, states: States, l: &LoopStep<FusionGroup>) -> State {
        let size = carry.bytes / carry.dtype.width();
        let [now, next] = [(); 2].map(|()| self.state(carry.dtype, size));
        let init = self.operand(&carry.init);
        copy(&mut self.w, &init, &now, size);
        let stack = self.written(states.of);
        if let Some(row) = states.row(0, l.n, l.reverse) {
            copy(&mut self.w, &now, &stack.moved(&ElementIndex::constant((row * size) as i64)), size);
        }
        self.places[carry.input as usize] = Some(now.clone());
        State::Stacked { now, next }
    }

    /// Sets the places of the rows of a trip.
    fn rows(&mut self, l: &LoopStep<FusionGroup>, trip: &ElementIndex) {
        for row in l.xs.iter().chain(&l.outputs) {
            let width = self.buffers[row.row as usize].dtype.width();
            let at = trip.clone().times((row.bytes / width) as i64).plus_constant((row.start / width) as i64);
            self.places[row.row as usize] = Some(self.place(row.of).moved(&at));
        }
    }

    /// Writes the results that are in no array of the caller yet.
    fn results(&mut self, slots: &[Slot], outputs: &[ResultSource]) {
        let arrays: Vec<(ArrayId, usize)> = (0..)
            .zip(&self.w.function.arrays)
            .filter_map(|(id, info)| if let ArrayKind::Output(k) = info.kind { Some((id, k)) } else { None })
            .collect();
        for (array, k) in arrays {
            let (ResultSource::Buffer(buf) | ResultSource::Input(buf)) = outputs[k];
            let (from, to) = (self.place(buf), ElementPlace::Elements(array, ElementIndex::default()));
            if !matches!(from, ElementPlace::Elements(source, _) if source == array) {
                copy(&mut self.w, &from, &to, size(&slots[k].shape));
            }
        }
    }
}

/// Where the states of a carry are.
enum State {
    /// Each trip updates the state where it is.
    InPlace,
    /// The next state is in a separate array or variable, and is copied after each trip.
    Copied(Option<ElementPlace>),
    /// As `Copied`, and copied into the stack of all states.
    Stacked { now: ElementPlace, next: ElementPlace },
    /// The names of two arrays are exchanged after each trip.
    Renamed { names: [ArrayId; 2], of: [ArrayId; 2] },
}

impl State {
    fn renamed(&self) -> Option<([ArrayId; 2], [ArrayId; 2])> {
        match self {
            State::Renamed { names, of } => Some((*names, *of)),
            State::InPlace | State::Copied(_) | State::Stacked { .. } => None,
        }
    }
}

/// Sets all elements of a place.
pub(crate) fn fill(w: &mut Writer, place: &ElementPlace, size: usize, value: &Expression) {
    w.for_(size, |w, i| w.store(place, i, value.clone()));
}

/// Copies elements.
fn copy(w: &mut Writer, from: &ElementPlace, to: &ElementPlace, size: usize) {
    w.for_(size, |w, i| w.store(to, i, from.load(i)));
}
