//! The signature of an exported program: names, shapes and element types of its inputs and outputs.

use super::{Mesh, Unsupported};
use crate::program::{Program, Slot};

/// The text of a program, and its signature.
///
/// ```
/// use polygrad::export::Exported;
/// use polygrad::{Function, tensor};
/// let Exported { text, signature } = Function::stage(|x| x * 2.0, &tensor([1.0, 2.0])).exported("double")?;
/// assert!(text.contains("module @double") && text.contains("stablehlo.multiply"), "{text}");
/// assert_eq!((&signature.name[..], &signature.inputs[0].path[..]), ("double", "x"));
/// # Ok::<(), polygrad::export::Unsupported>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The StableHLO module; its function is `main`.
    pub text: String,
    /// The inputs and outputs of `main`.
    pub signature: Signature,
}

/// Inputs and outputs of an exported program, in order.
///
/// With the feature `serde` it is serialized as an object:
/// `{"name": "step", "inputs": [{"path": "x.w", "shape": [3], "dtype": "f64"}], "outputs": [..]}`; a program that is
/// sharded has `"mesh": [["batch", 8]]`, too, and its inputs and outputs have `"sharding": [["batch"], []]`.
///
/// ```
/// use polygrad::export::{Port, Signature};
/// use polygrad::{Function, tensor};
/// let f = Function::value_and_grad(|x| x.sum(), &tensor([1.0f32, 2.0]));
/// let signature: Signature = f.program().signature("step");
/// assert_eq!((signature.inputs.len(), signature.outputs.len(), signature.mesh), (1, 2, None));
/// let Port { path, shape, dtype, .. } = &signature.inputs[0];
/// assert_eq!((&path[..], &shape[..], &dtype[..]), ("x", &[2][..], "f32"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Signature {
    /// The name of the module.
    pub name: String,
    /// The inputs.
    pub inputs: Vec<Port>,
    /// The outputs.
    pub outputs: Vec<Port>,
    /// The devices, of a program that is [`sharded`](Exported::sharded).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub mesh: Option<Mesh>,
}

/// An input or output of an exported program.
///
/// Example: [`Signature`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Port {
    /// The path to the leaf of the tree, `x.layers.0.weights`; without a name in the program, its position: `out.0`.
    pub path: String,
    /// The sizes of the axes, outermost first.
    pub shape: Vec<usize>,
    /// The element type: `f64`, `f32`, `i64` or `bool`.
    pub dtype: String,
    /// For each axis, the axes of the mesh along which it is divided; empty for a program without a mesh.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub sharding: Vec<Vec<String>>,
}

impl Port {
    fn of(slots: &[Slot], root: &str) -> Vec<Port> {
        let port = |(k, slot): (usize, &Slot)| Port {
            path: if slot.name.is_empty() { format!("{root}.{k}") } else { slot.name.clone() },
            shape: slot.shape.to_vec(),
            dtype: slot.dtype.name().to_owned(),
            sharding: Vec::new(),
        };
        slots.iter().enumerate().map(port).collect()
    }
}

impl Signature {
    /// A program with these names of its inputs and outputs.
    pub(crate) fn names(&self, program: &Program) -> Program {
        let paths = |ports: &[Port]| ports.iter().map(|port| port.path.clone()).collect::<Vec<String>>();
        let (inputs, outputs) = (paths(&self.inputs), paths(&self.outputs));
        let [inputs, outputs] = [&inputs, &outputs].map(|all| all.iter().map(|name| &name[..]).collect::<Vec<&str>>());
        program.named(&inputs, &outputs)
    }
}

impl Program {
    /// Names, shapes and element types of inputs and outputs.
    ///
    /// Example: [`Signature`].
    pub fn signature(&self, name: &str) -> Signature {
        Signature {
            name: name.to_owned(),
            inputs: Port::of(self.inputs(), "in"),
            outputs: Port::of(self.outputs(), "out"),
            mesh: None,
        }
    }

    /// [`to_stablehlo`](Program::to_stablehlo) with its signature.
    ///
    /// Example: [`Exported`].
    ///
    /// # Errors
    /// Like [`to_stablehlo`](Program::to_stablehlo).
    pub fn exported(&self, name: &str) -> Result<Exported, Unsupported> {
        Ok(Exported { text: self.to_stablehlo(name)?, signature: self.signature(name) })
    }
}
