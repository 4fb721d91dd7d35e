//! Static arguments: data that are constants of a recorded program.
//!
//! Law: a program in which data are constants runs for these data alone; other data are an error, and are never
//! ignored.

use super::run_error::RunError;
use super::structure::{paths, variables};
use crate::array::{Array, with_elem};
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::program::Term;
use crate::shape::element_name;
use crate::tree::Tree;

/// The leaves of the data that are constants of the program, with their elements. By default the list is empty.
#[derive(Clone, Debug, Default)]
pub(in crate::ad) struct Fixed {
    /// For each leaf of the data, its elements if it is a constant; empty if no leaf is a constant.
    leaves: Vec<Option<Array>>,
}

impl Fixed {
    /// Makes the integers and masks of the data constants; floats remain inputs.
    pub(in crate::ad) fn integers<Q: Tree<Array>>(data: &Q) -> Fixed {
        let leaves: Vec<Option<Array>> =
            data.leaves().into_iter().map(|leaf| (!leaf.dtype().is_float()).then_some(leaf)).collect();
        if leaves.iter().all(Option::is_none) { Fixed::default() } else { Fixed { leaves } }
    }

    /// A term for each leaf of the data: a constant, or a variable.
    pub(super) fn terms(&self, given: &[Array]) -> Vec<Term> {
        let mut terms = variables(given);
        for k in (0..given.len()).filter(|k| self.has(*k)) {
            terms[k] = Term::constant(given[k].clone());
        }
        terms
    }

    /// Whether this leaf of the data is a constant.
    fn has(&self, leaf: usize) -> bool {
        self.leaves.get(leaf).is_some_and(Option::is_some)
    }

    /// From a list with an item for each leaf of the data, the items of the leaves that are inputs of the program.
    pub(super) fn others<X>(&self, of_leaves: Vec<X>) -> Vec<X> {
        let of_all = of_leaves.into_iter().enumerate();
        of_all.filter(|(k, _)| !self.has(*k)).map(|(_, x)| x).collect()
    }

    /// Leaves the inputs of the program of the leaves of arguments and data; returns whether the others, which are
    /// constants of the program, have the elements of the constants.
    pub(super) fn taken(&self, leaves: &mut Vec<Array>) -> bool {
        if self.leaves.is_empty() {
            return true;
        }
        let first = leaves.len() - self.leaves.len();
        let same = |(fixed, given): (&Option<Array>, &Array)| fixed.as_ref().is_none_or(|fixed| fixed == given);
        let all = self.leaves.iter().zip(&leaves[first..]).all(same);
        let mut k = 0;
        leaves.retain(|_| {
            k += 1;
            k <= first || !self.has(k - 1 - first)
        });
        all
    }

    /// An error unless data of the same shapes and element types have the elements of the constants.
    pub(super) fn compared<Q: Tree<Array>>(&self, data: &Q) -> Result<(), RunError> {
        if self.leaves.is_empty() {
            return Ok(());
        }
        let given = data.leaves();
        let differs =
            |(k, leaf): (usize, &Option<Array>)| leaf.as_ref().is_some_and(|leaf| *leaf != given[k]).then_some(k);
        let Some(k) = self.leaves.iter().enumerate().find_map(differs) else { return Ok(()) };
        let names = paths(data, "data");
        let needed = self.leaves[k].as_ref().expect("a constant");
        Err(with_elem!(needed.dtype(), E => difference::<E>(&names[k], needed, &given[k])))
    }
}

/// The error for the first element that differs.
fn difference<E: Elem>(path: &str, needed: &Array, given: &Array) -> RunError {
    let (a, b) = (needed.typed::<E>(), given.typed::<E>());
    let first = (0..needed.size()).find(|k| a.get(*k) != b.get(*k)).expect("arrays that differ");
    let name = element_name(path, needed.shape(), first);
    RunError::Fixed { name, needed: format!("{:?}", a.get(first)), given: format!("{:?}", b.get(first)) }
}
