//! Saving and loading of tensors by `serde`: as their values, whose rank and element type are checked on loading.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Tensor;
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::shape::Show;

/// A tensor is saved as its value: a [`Concrete`](crate::Concrete) one as its array.
///
/// ```
/// use polygrad::{Concrete, Tensor, tensor};
/// let x = tensor([[1.0, f64::INFINITY]]);
/// let saved = serde_json::to_string(&x).unwrap();
/// assert_eq!(serde_json::from_str::<Tensor<Concrete, 2>>(&saved).unwrap(), x);
/// assert!(serde_json::from_str::<Tensor<Concrete, 1>>(&saved).is_err());
/// ```
impl<T: Serialize, const D: usize, E> Serialize for Tensor<T, D, E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

/// Loads a tensor that [`Serialize`] saved. Another rank or element type is an error, whose message says what is needed
/// and what was saved.
impl<'de, T: BaseTensor + Deserialize<'de>, const D: usize, E: Elem> Deserialize<'de> for Tensor<T, D, E> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> Result<Self, S::Error> {
        let raw = T::deserialize(deserializer)?;
        if raw.shape().len() == D && raw.dtype() == E::DTYPE {
            return Ok(Tensor::from_raw(raw));
        }
        Err(S::Error::custom(format!(
            "load: needs a tensor of rank {D} and elements {}, but the file has {} {}; load it as what it is",
            E::DTYPE,
            raw.dtype(),
            Show(raw.shape())
        )))
    }
}
