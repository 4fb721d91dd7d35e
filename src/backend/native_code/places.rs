//! Where values are: alone in variables, or in lanes of vectors.
//!
//! Law: a variable has one place at each statement, whatever way led there.

use cranelift_codegen::ir::{ConstantData, InstBuilder as _, Value};
use cranelift_frontend::Variable as FrontendVariable;

use super::arithmetic::type_of;
use super::packs::LaneKind;
use super::translate::{ArrayStart, Translator};
use crate::backend::trees::tree::{ArrayId, ElementIndex, VariableId};

/// Where the value of a variable is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Alone(FrontendVariable),
    /// A lane of a vector.
    Lane(FrontendVariable, u8, LaneKind),
}

impl Translator<'_, '_> {
    /// Variables for the elements of an array: lanes of vectors, if several are stored at once.
    pub(super) fn declare_elements(&mut self, array: ArrayId) {
        let info = &self.function.arrays[array as usize];
        let lanes = LaneKind::of(info.dtype).filter(|_| self.unrolled.packed.contains(&array));
        let whole = lanes.map_or(0, |lanes| info.len / lanes.count() * lanes.count());
        for k in 0..info.len {
            let place = match (lanes, self.elements.last()) {
                (Some(lanes), Some(Place::Lane(vector, ..))) if k < whole && k % lanes.count() > 0 => {
                    Place::Lane(*vector, (k % lanes.count()) as u8, lanes)
                }
                (Some(lanes), _) if k < whole => Place::Lane(self.vector_variable(lanes), 0, lanes),
                _ => Place::Alone(self.builder.declare_var(type_of(info.dtype))),
            };
            self.elements.push(place);
        }
    }

    /// A variable for a vector that is set lane by lane.
    fn vector_variable(&mut self, lanes: LaneKind) -> FrontendVariable {
        let variable = self.builder.declare_var(lanes.vector());
        let zero = self.builder.func.dfg.constants.insert(ConstantData::from(&[0u8; 16][..]));
        let zero = self.builder.ins().vconst(lanes.vector(), zero);
        self.builder.def_var(variable, zero);
        variable
    }

    /// Where the value of a variable is, if it has one.
    pub(super) fn place(&self, variable: VariableId) -> Option<Place> {
        self.variables[variable as usize]
    }

    pub(super) fn put_at(&mut self, variable: VariableId, place: Place) {
        self.variables[variable as usize] = Some(place);
    }

    /// The value of a variable from its declaration on.
    pub(super) fn declare(&mut self, variable: VariableId, value: Value) {
        let declared = match self.place(variable) {
            Some(Place::Alone(declared)) => declared,
            Some(Place::Lane(..)) | None => self.builder.declare_var(type_of(self.dtype_of(variable))),
        };
        self.put_at(variable, Place::Alone(declared));
        self.builder.def_var(declared, value);
    }

    /// A new value of a variable.
    pub(super) fn set(&mut self, variable: VariableId, value: Value) {
        let place = self.place(variable).expect("a variable is declared before it is set");
        self.set_at(place, value);
    }

    pub(super) fn set_at(&mut self, place: Place, value: Value) {
        match place {
            Place::Lane(vector, lane, lanes) => {
                let (before, value) = (self.builder.use_var(vector), self.as_lane(value, lanes));
                let now = self.builder.ins().insertlane(before, value, lane);
                self.builder.def_var(vector, now);
            }
            Place::Alone(variable) => self.builder.def_var(variable, value),
        }
    }

    pub(super) fn variable(&mut self, variable: VariableId) -> Value {
        let place = self.place(variable).expect("a variable is declared before its uses");
        self.value_at(place)
    }

    pub(super) fn value_at(&mut self, place: Place) -> Value {
        match place {
            Place::Alone(declared) => self.builder.use_var(declared),
            Place::Lane(vector, lane, lanes) => {
                let vector = self.builder.use_var(vector);
                self.lane_of(vector, lane.into(), lanes)
            }
        }
    }

    /// The place of an element that is a variable, at a position in the array.
    pub(super) fn known_cell(&self, array: ArrayId, index: &ElementIndex) -> Option<Place> {
        let Some(ArrayStart::Variables(first)) = self.starts[array as usize] else { return None };
        let at = usize::try_from(self.reach(index)?.0).ok()?;
        (at < self.function.arrays[array as usize].len).then(|| self.elements[first + at])
    }

    /// The variable that is an element, if the elements of the array are variables.
    ///
    /// A position outside the array is in a branch that is not taken: one that is ends the call with an error.
    pub(super) fn cell(&mut self, array: ArrayId, index: &ElementIndex) -> Option<Place> {
        let Some(ArrayStart::Variables(first)) = self.starts[array as usize] else { return None };
        if let Some(cell) = self.known_cell(array, index) {
            return Some(cell);
        }
        self.builder.ins().jump(self.fault, &[]);
        let rest = self.builder.create_block();
        self.builder.switch_to_block(rest);
        Some(self.elements[first])
    }
}
