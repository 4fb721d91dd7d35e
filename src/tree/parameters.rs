//! Parameters by name: the leaves of a tree, saved and loaded.
//!
//! Law: loading saved parameters gives the same tree, to the bit. A file that does not fit the tree is refused as a
//! whole.

use std::collections::BTreeMap;

use thiserror::Error;

use super::Tree;
use crate::array::Array;
use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::escape;
use crate::shape::Show;

#[cfg(feature = "safetensors")]
mod safetensors;

/// The tensors of a tree by their [names](Tree::names), without the structure and the plain fields.
///
/// With the feature `serde` they are saved and loaded in any of its formats, as a map from names to arrays; with the
/// feature `safetensors` as the bytes of a safetensors file.
///
/// ```
/// use polygrad::tree::{Parameters, Tree};
/// use polygrad::{BaseTensor, Concrete, Tensor, tensor};
/// #[derive(Tree, Clone, Debug, PartialEq)]
/// struct Line<T: BaseTensor> {
///     slope: Tensor<T, 0>,
///     offset: Tensor<T, 0>,
/// }
/// let trained = Line { slope: tensor(2.0), offset: tensor(-1.0) };
/// let saved = serde_json::to_string(&Parameters::of(&trained)?).unwrap();
/// let start: Line<Concrete> = Line { slope: tensor(0.0), offset: tensor(0.0) };
/// let parameters: Parameters = serde_json::from_str(&saved).unwrap();
/// assert_eq!(parameters.tensors()["slope"], polygrad::Array::from(2.0));
/// assert_eq!(parameters.load_into(&start)?, trained);
/// # Ok::<(), polygrad::tree::ParameterError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Parameters {
    tensors: BTreeMap<String, Array>,
}

/// The reason why parameters were not saved or loaded.
///
/// ```
/// use polygrad::tensor;
/// use polygrad::tree::{ParameterError, Parameters};
/// let saved = Parameters::of(&vec![tensor(1.0)])?;
/// let error = saved.load_into(&vec![tensor(0.0), tensor(0.0)]).unwrap_err();
/// assert_eq!(error, ParameterError::Missing { name: "1".into() });
/// # Ok::<(), polygrad::tree::ParameterError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// Two tensors of a tree have one name.
    #[error(
        "save: every tensor needs a unique name, but two are called {}; rename an entry of a map",
        escape::quoted(name)
    )]
    Twice {
        /// The name.
        name: String,
    },
    /// The file has no tensor for a leaf of the tree.
    #[error(
        "load: the file needs a tensor {}, but it has no tensor of this name; load it into the tree it was saved from",
        escape::quoted(name)
    )]
    Missing {
        /// The name in the tree.
        name: String,
    },
    /// The tree has no leaf for a tensor of the file.
    #[error(
        "load: the tree needs a tensor {}, but it has no tensor of this name; load the file into the tree it was saved from",
        escape::quoted(name)
    )]
    Unknown {
        /// The name in the file.
        name: String,
    },
    /// A tensor of the file has a different shape or element type than the leaf of the tree.
    #[error(
        "load: {} must be {} {} as in the tree, but in the file it is {} {}; load it into the tree it was saved from",
        escape::quoted(name), .needed.1, Show(&.needed.0), .given.1, Show(&.given.0)
    )]
    Kind {
        /// The name of the tensor.
        name: String,
        /// Shape and element type in the tree.
        needed: (Vec<usize>, DType),
        /// Shape and element type in the file.
        given: (Vec<usize>, DType),
    },
    /// The file is malformed, or has a tensor that no array can hold.
    #[error("load: the file must be one of parameters, but {fact}; save it again")]
    File {
        /// The fault in the file.
        fact: String,
    },
}

debug_by_display!(ParameterError);

impl Parameters {
    /// The tensors of a tree.
    ///
    /// Example: [`Parameters`].
    ///
    /// # Errors
    /// When two have the same name, which only names of a map can cause.
    pub fn of<P: Tree<Array>>(tree: &P) -> Result<Parameters, ParameterError> {
        let mut tensors = BTreeMap::new();
        for (name, leaf) in tree.names().into_iter().zip(tree.leaves()) {
            if tensors.contains_key(&name) {
                return Err(ParameterError::Twice { name });
            }
            tensors.insert(name, leaf);
        }
        Ok(Parameters { tensors })
    }

    /// The tensors by name, in the order of the names.
    ///
    /// Example: [`Parameters`].
    pub fn tensors(&self) -> &BTreeMap<String, Array> {
        &self.tensors
    }

    /// A tree with the structure and the plain fields of `tree`, and these tensors as leaves. `tree` is not changed.
    ///
    /// Example: [`Parameters`].
    ///
    /// # Errors
    /// When a name is missing or unknown, or a tensor has another shape or element type.
    pub fn load_into<P: Tree<Array, With<Array> = P>>(&self, tree: &P) -> Result<P, ParameterError> {
        let of_tree = Parameters::of(tree)?;
        for (name, leaf) in &of_tree.tensors {
            let Some(given) = self.tensors.get(name) else {
                return Err(ParameterError::Missing { name: name.clone() });
            };
            if given.shape() != leaf.shape() || given.dtype() != leaf.dtype() {
                let kind = |a: &Array| (a.shape().to_vec(), a.dtype());
                return Err(ParameterError::Kind { name: name.clone(), needed: kind(leaf), given: kind(given) });
            }
        }
        if let Some(name) = self.tensors.keys().find(|name| !of_tree.tensors.contains_key(*name)) {
            return Err(ParameterError::Unknown { name: name.clone() });
        }
        let leaves = tree.names().iter().map(|name| self.tensors[name].clone()).collect();
        Ok(tree.with_leaves(leaves))
    }
}
