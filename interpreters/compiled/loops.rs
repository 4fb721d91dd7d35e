//! Loops: a body is lowered once, and runs in place.
//!
//! Law: a carry has two places that change roles from trip to trip, or one if the body updates it in place. Rows of
//! sequences are read where they lie, outputs are written where they belong, and captured values are not copied.

use super::memory::Slot;
use super::schedule::{Known, Lowering};
use super::steps::{self, Carry, Home, Operand, Row, Step};
use crate::dtype::DType;
use crate::program::{Loop, NodeId};
use crate::shape::size;

/// Element type and number of elements.
type Kind = (DType, usize);

/// An input of the body that is a row of a sequence.
enum Element {
    Row(Row),
    /// All rows are one value.
    Same(Known),
}

impl Lowering {
    /// The results of a loop: carries, then stacked outputs. `kinds` and `known` are those of the initial carry, of the
    /// sequences and of the captured values.
    pub(super) fn map_accum(
        &mut self,
        l: &Loop<NodeId>,
        kinds: [Vec<Kind>; 3],
        [mut init, mut xs, mut captured]: [Vec<Known>; 3],
    ) -> Known {
        let [carried, sequences, outside] = &kinds;
        if l.n == 0 {
            return self.no_trip(l, carried, &mut init);
        }
        let init: Vec<Operand> = init.iter_mut().zip(carried).map(|(known, k)| self.operand(known, k.0, k.1)).collect();
        let mut places = Vec::new();
        let xs: Vec<(Operand, Kind)> = xs
            .iter_mut()
            .zip(sequences)
            .map(|(known, (dtype, n))| (self.operand(known, *dtype, *n), (*dtype, n / l.n)))
            .collect();
        for (known, (dtype, n)) in captured.iter_mut().zip(outside) {
            self.capture(known, *dtype, *n, &mut places);
        }
        self.enter();
        let inputs: Vec<Slot> = carried.iter().map(|(dtype, n)| self.place(*dtype, *n, Home::Loop)).collect();
        let elements: Vec<Element> = xs.iter().map(|(x, kind)| self.element(*x, *kind, &mut places)).collect();
        let mut known: Vec<Known> = inputs.iter().map(|slot| Known::Dense(*slot, 0)).collect();
        known.extend(elements.iter().map(|element| match element {
            Element::Row(row) => Known::Dense(row.row, 0),
            Element::Same(known) => known.clone(),
        }));
        known.extend(captured);
        let owned: Vec<bool> = (0..known.len()).map(|k| k < inputs.len()).collect();
        let mut results = self.program(&l.body, &known, &owned);
        let outputs: Vec<Slot> = results
            .iter_mut()
            .zip(l.body.outputs())
            .enumerate()
            .map(|(k, (known, slot))| match known {
                Known::Dense(place, 0) if inputs.get(k) == Some(place) => *place,
                Known::Dense(..)
                | Known::One(..)
                | Known::View(..)
                | Known::Places(_)
                | Known::Fused(..)
                | Known::Many(_)
                | Known::Deferred => {
                    let place = self.result(known, slot.dtype, size(&slot.shape));
                    self.places[place as usize].home = Home::Loop;
                    place
                }
            })
            .collect();
        let body = self.leave();
        let rows: Vec<Row> = elements
            .into_iter()
            .filter_map(|element| match element {
                Element::Row(row) => Some(row),
                Element::Same(_) => None,
            })
            .collect();
        self.finish(l, body, (&init, &inputs, &outputs), rows, places)
    }

    /// A captured value as the body reads it: in memory, unless the view of it is much larger than the memory.
    fn capture(&mut self, known: &mut Known, dtype: DType, n: usize, places: &mut Vec<Slot>) {
        let keep = match known {
            Known::View(slot, _) => n > 2 * self.places[*slot as usize].size,
            Known::Dense(..) | Known::One(..) | Known::Places(_) => true,
            Known::Fused(..) | Known::Many(_) | Known::Deferred => false,
        };
        if !keep {
            let (slot, at) = self.dense(known, dtype, n);
            *known = Known::Dense(slot, at);
        }
        match known {
            Known::Dense(slot, _) | Known::One(slot, _) | Known::View(slot, _) => places.push(*slot),
            Known::Places(_) | Known::Fused(..) | Known::Many(_) | Known::Deferred => {}
        }
    }

    fn element(&mut self, x: Operand, (dtype, n): Kind, places: &mut Vec<Slot>) -> Element {
        if x.one {
            places.push(x.slot);
            return Element::Same(Known::One(x.slot, x.at));
        }
        let (start, bytes) = (x.at * dtype.width(), n * dtype.width());
        Element::Row(Row { row: self.place(dtype, n, Home::Loop), of: x.slot, start, bytes })
    }

    /// Adds the loop to the steps around it.
    fn finish(
        &mut self,
        l: &Loop<NodeId>,
        body: Vec<Step>,
        (init, inputs, outputs): (&[Operand], &[Slot], &[Slot]),
        xs: Vec<Row>,
        captured: Vec<Slot>,
    ) -> Known {
        let mut results = Vec::with_capacity(outputs.len());
        let mut carries = Vec::with_capacity(inputs.len());
        for ((init, input), output) in init.iter().zip(inputs).zip(outputs) {
            let (dtype, n) = self.kind(*input);
            let result = self.arena(dtype, n);
            let other = (input != output).then(|| self.arena(dtype, n));
            let (input, output, bytes) = (*input, *output, n * dtype.width());
            carries.push(Carry { init: *init, result, other, input, output, dtype, bytes });
            results.push(Known::Dense(result, 0));
        }
        let mut stacks = Vec::new();
        for row in &outputs[inputs.len()..] {
            let (dtype, n) = self.kind(*row);
            let of = self.arena(dtype, n * l.n);
            stacks.push(Row { row: *row, of, start: 0, bytes: n * dtype.width() });
            results.push(Known::Dense(of, 0));
        }
        self.push(Step::Loop(Box::new(steps::Loop {
            n: l.n,
            reverse: l.reverse,
            body,
            first: 0,
            carries,
            xs,
            outputs: stacks,
            captured,
            bytes: 0,
            start: 0,
        })));
        Known::Many(results)
    }

    fn kind(&self, slot: Slot) -> Kind {
        let place = &self.places[slot as usize];
        (place.dtype, place.size)
    }

    /// The results of a loop of no trips: the initial carry, and empty outputs.
    fn no_trip(&mut self, l: &Loop<NodeId>, carried: &[Kind], init: &mut [Known]) -> Known {
        let mut results: Vec<Known> = Vec::new();
        for (known, (dtype, n)) in init.iter_mut().zip(carried) {
            results.push(Known::Dense(self.copied(known, *dtype, *n), 0));
        }
        for slot in &l.body.outputs()[init.len()..] {
            results.push(Known::Dense(self.arena(slot.dtype, 0), 0));
        }
        Known::Many(results)
    }
}
