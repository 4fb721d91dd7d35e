//! Parameters as a safetensors file, which the crate `safetensors` reads, checks and writes.

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use super::{ParameterError, Parameters};
use crate::array::Array;
use crate::dtype::DType;
use crate::escape;
use crate::shape::{Show, is_possible};

/// An array as little-endian bytes.
fn bytes(a: &Array) -> Vec<u8> {
    match a.dtype() {
        DType::F64 => a.typed_elements::<f64>().iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::F32 => a.typed_elements::<f32>().iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::I64 => a.typed_elements::<i64>().iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::Bool => a.typed_elements::<bool>().iter().map(|x| u8::from(*x)).collect(),
    }
}

/// The array of a tensor in a file.
fn array(name: &str, view: &TensorView<'_>) -> Result<Array, ParameterError> {
    let refused = |fact: String| ParameterError::File { fact };
    let (shape, data) = (view.shape(), view.data());
    if !is_possible(shape) {
        return Err(refused(format!("{} has the shape {}, which no array has", escape::quoted(name), Show(shape))));
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum belongs to another crate, and may grow")]
    let made = match view.dtype() {
        Dtype::F64 => Array::try_new(shape, words(data).map(f64::from_le_bytes).collect()),
        Dtype::F32 => Array::try_new(shape, words(data).map(f32::from_le_bytes).collect()),
        Dtype::I64 => Array::try_new(shape, words(data).map(i64::from_le_bytes).collect()),
        Dtype::BOOL => Array::try_new(shape, data.iter().map(|x| *x != 0).collect::<Vec<bool>>()),
        other => {
            return Err(refused(format!(
                "{} has elements {other:?}, and not f64, f32, i64 or bool",
                escape::quoted(name)
            )));
        }
    };
    // The crate compares the shape with the bytes, too.
    made.map_err(|error| refused(format!("{} cannot be read: {error}", escape::quoted(name))))
}

/// The bytes of each element.
fn words<const N: usize>(data: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    data.as_chunks::<N>().0.iter().copied()
}

impl Parameters {
    /// The bytes of a safetensors file.
    ///
    /// Example: [`Parameters::of_safetensors`].
    ///
    /// # Errors
    /// When the format refuses the tensors.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, ParameterError> {
        let file = |fault: safetensors::SafeTensorError| ParameterError::File { fact: fault.to_string() };
        let kind = |dtype| match dtype {
            DType::F64 => Dtype::F64,
            DType::F32 => Dtype::F32,
            DType::I64 => Dtype::I64,
            DType::Bool => Dtype::BOOL,
        };
        let tensors: Vec<(&String, DType, Vec<usize>, Vec<u8>)> =
            self.tensors.iter().map(|(name, a)| (name, a.dtype(), a.shape().to_vec(), bytes(a))).collect();
        let mut views = Vec::new();
        for (name, dtype, shape, bytes) in &tensors {
            views.push((name.as_str(), TensorView::new(kind(*dtype), shape.clone(), bytes).map_err(file)?));
        }
        serialize(views, None).map_err(file)
    }

    /// The parameters of a safetensors file.
    ///
    /// ```
    /// use polygrad::tree::Parameters;
    /// use polygrad::tensor;
    /// let parameters = Parameters::of(&(tensor([1.0, f64::INFINITY]), tensor(3), tensor([-0.0])))?;
    /// assert_eq!(Parameters::of_safetensors(&parameters.to_safetensors()?)?, parameters);
    /// assert!(Parameters::of_safetensors(b"no such file").is_err());
    /// # Ok::<(), polygrad::tree::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// When the bytes are not a safetensors file, or a tensor has elements of a type that arrays do not have.
    pub fn of_safetensors(bytes: &[u8]) -> Result<Parameters, ParameterError> {
        let file = SafeTensors::deserialize(bytes)
            .map_err(|fault| ParameterError::File { fact: format!("it is not a safetensors file: {fault}") })?;
        let mut parameters = Parameters::default();
        for (name, view) in file.iter() {
            parameters.tensors.insert(name.to_owned(), array(name, &view)?);
        }
        Ok(parameters)
    }
}
