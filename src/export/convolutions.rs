//! Contractions that are convolutions.
use super::text::{Code, Value};
use super::views::Bounds;
use crate::ops::Contract;

impl Code {
    /// The contraction as a convolution, if it is one.
    pub(super) fn convolution(&mut self, _op: &Contract, _a: &Value, _b: &Value, _bounds: &Bounds) -> Option<Value> {
        None
    }
}
