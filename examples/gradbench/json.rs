//! Tensors from nested lists, and nested lists from results.
//!
//! Law: lists must be as deep and as even as the tensor; a number that JSON cannot write is a fault, and no `null`.

use std::borrow::Cow;

use polygrad::array::ArrayError;
use polygrad::{Array, Concrete, Tensor};
use serde::ser::{Error, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// An input of this type.
pub(crate) fn read<'a, X: Deserialize<'a>>(input: &'a RawValue) -> serde_json::Result<X> {
    serde_json::from_str(input.get())
}

/// A vector from a list.
pub(crate) fn vector<'de, D: Deserializer<'de>>(from: D) -> Result<Tensor<Concrete, 1>, D::Error> {
    Vec::<f64>::deserialize(from).map(Tensor::constant)
}

/// A matrix from a list of lists.
pub(crate) fn matrix<'de, D: Deserializer<'de>>(from: D) -> Result<Tensor<Concrete, 2>, D::Error> {
    even(Array::try_from(Vec::<Vec<f64>>::deserialize(from)?))
}

/// Matrices from a list of lists of lists.
pub(crate) fn matrices<'de, D: Deserializer<'de>>(from: D) -> Result<Tensor<Concrete, 3>, D::Error> {
    even(Array::try_from(Vec::<Vec<Vec<f64>>>::deserialize(from)?))
}

fn even<const N: usize, E: serde::de::Error>(array: Result<Array, ArrayError>) -> Result<Tensor<Concrete, N>, E> {
    array.map(Tensor::constant).map_err(E::custom)
}

/// Numbers as nested lists.
pub(crate) struct Nested<'a> {
    numbers: Cow<'a, [f64]>,
    shape: &'a [usize],
}

impl<'a> Nested<'a> {
    /// The elements of an array of floats.
    pub(crate) fn of(array: &'a Array) -> serde_json::Result<Nested<'a>> {
        let numbers = array.elements::<f64>().map_err(serde_json::Error::custom)?;
        Ok(Nested { numbers, shape: array.shape() })
    }

    /// All numbers in one list.
    pub(crate) fn into_vec(self) -> Vec<f64> {
        self.numbers.into_owned()
    }
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Part { numbers: &self.numbers, shape: self.shape }.serialize(to)
    }
}

/// One of the lists.
struct Part<'a> {
    numbers: &'a [f64],
    shape: &'a [usize],
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Some((n, shape)) = self.shape.split_first() else {
            return number(self.numbers[0]).map_err(S::Error::custom)?.serialize(to);
        };
        let size: usize = shape.iter().product();
        let mut list = to.serialize_seq(Some(*n))?;
        for i in 0..*n {
            list.serialize_element(&Part { numbers: &self.numbers[i * size..(i + 1) * size], shape })?;
        }
        list.end()
    }
}

/// A number that JSON can write.
fn number(x: f64) -> Result<f64, String> {
    if x.is_finite() { Ok(x) } else { Err(format!("JSON has finite numbers only, but the output has {x}")) }
}

/// Lists one after the other, as one list.
pub(crate) fn flat<P>(_: &P, results: &[Array]) -> serde_json::Result<Box<RawValue>> {
    let mut numbers = Vec::new();
    for result in results {
        numbers.extend(Nested::of(result)?.into_vec());
    }
    to_raw_value(&Part { numbers: &numbers, shape: &[numbers.len()] })
}
