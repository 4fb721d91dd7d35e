//! Programs for several devices: a mesh, and the axes of arrays that are divided along its axes.
//!
//! Law: shardings change where the elements of inputs and outputs are, and no number but by rounding. They are
//! attributes of the function `main` in the dialect of XLA's partitioner, Shardy, which derives the shardings of all
//! other values and inserts the communication; the lines of operations are those of the program for one device.
//!
//! The [signature](super::Signature) says the same as the attributes, for loaders.

use std::collections::BTreeSet;

use thiserror::Error;

use super::text::{Ty, list, tensor};
use super::{Exported, Port, Signature};
use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::escape;

/// Devices in a grid whose axes have names.
///
/// The devices are numbered in row-major order: the last axis varies fastest.
///
/// Example: [`Mesh::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "Vec<(String, usize)>", try_from = "Vec<(String, usize)>")
)]
pub struct Mesh {
    axes: Vec<(String, usize)>,
}

impl Mesh {
    /// The mesh with these names and sizes of axes, outermost first.
    ///
    /// ```
    /// use polygrad::export::Mesh;
    /// let mesh = Mesh::new(&[("batch", 4), ("model", 2)]);
    /// assert_eq!((mesh.devices(), mesh.size("batch"), mesh.size("rows")), (8, Some(4), None));
    /// assert_eq!(mesh.axes(), [("batch".to_owned(), 4), ("model".to_owned(), 2)]);
    /// assert!(std::panic::catch_unwind(|| Mesh::new(&[("batch", 4), ("batch", 2)])).is_err());
    /// ```
    ///
    /// # Panics
    /// If a name is not made of letters, digits and underscores, or occurs twice, a size is 0, or there are more devices than
    /// can be numbered.
    #[track_caller]
    pub fn new(axes: &[(&str, usize)]) -> Mesh {
        let axes: Vec<(String, usize)> = axes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        match Mesh::try_from(axes) {
            Ok(mesh) => mesh,
            Err(message) => panic!("{message}"),
        }
    }

    /// The names and sizes of the axes, outermost first.
    ///
    /// Example: [`Mesh::new`].
    pub fn axes(&self) -> &[(String, usize)] {
        &self.axes
    }

    /// The number of devices: the product of the sizes.
    ///
    /// Example: [`Mesh::new`].
    pub fn devices(&self) -> usize {
        self.axes.iter().map(|(_, size)| size).product()
    }

    /// The size of the axis of this name.
    ///
    /// Example: [`Mesh::new`].
    pub fn size(&self, name: &str) -> Option<usize> {
        self.axes.iter().find(|(axis, _)| axis == name).map(|(_, size)| *size)
    }
}

/// The axes of a mesh by their names and sizes, as they are saved: refused if [`Mesh::new`] refuses them.
impl TryFrom<Vec<(String, usize)>> for Mesh {
    type Error = String;

    fn try_from(axes: Vec<(String, usize)>) -> Result<Mesh, String> {
        let mut names = BTreeSet::new();
        for (name, size) in &axes {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(format!(
                    "mesh: the name of an axis must consist of letters, digits and underscores, but it is {name:?}; \
                     choose another name"
                ));
            }
            if !names.insert(name) {
                return Err(format!(
                    "mesh: the names of axes must differ, but {name:?} occurs twice; choose another name"
                ));
            }
            if *size == 0 {
                return Err(format!(
                    "mesh: the size of an axis must be at least 1, but that of {name:?} is 0; give the number of devices"
                ));
            }
        }
        let devices = axes.iter().try_fold(1i32, |product, (_, size)| product.checked_mul(i32::try_from(*size).ok()?));
        if devices.is_none() {
            return Err("mesh: the devices must be numbered in 32 bits, but there are more; give smaller sizes".into());
        }
        Ok(Mesh { axes })
    }
}

impl From<Mesh> for Vec<(String, usize)> {
    fn from(mesh: Mesh) -> Vec<(String, usize)> {
        mesh.axes
    }
}

/// The reason why a program cannot be divided as asked for.
///
/// ```
/// use polygrad::export::{Mesh, ShardingError};
/// use polygrad::{Function, tensor};
/// let exported = Function::stage(|x| x * 2.0, &tensor([1.0, 2.0, 3.0])).exported("double")?;
/// // Three elements on two devices.
/// let uneven = exported.sharded(&Mesh::new(&[("batch", 2)]), &[("x", 0, "batch")]);
/// assert!(matches!(uneven, Err(ShardingError::Uneven { axis: 0, parts: 2, .. })));
/// # Ok::<(), polygrad::export::Unsupported>(())
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShardingError {
    /// No input or output has this path, or lies below it.
    #[error("sharded: a path must be that of inputs or outputs, but {path:?} is not in {known}; take one of these")]
    Path {
        /// The path that was given.
        path: String,
        /// The paths of all inputs and outputs.
        known: String,
    },
    /// An array has no axis of this number.
    #[error(
        "sharded: {} must have the axis {axis}, but its shape is {shape:?}; give another axis, or the paths of leaves \
         one by one",
        escape::quoted(path)
    )]
    Axis {
        /// The path of the array.
        path: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The axis that was given.
        axis: usize,
    },
    /// The mesh has no axis of this name.
    #[error("sharded: an axis of the mesh must be one of {known}, but it is {name:?}; take one of these")]
    MeshAxis {
        /// The name that was given.
        name: String,
        /// The names of the axes of the mesh.
        known: String,
    },
    /// An array is divided twice along one axis of the mesh.
    #[error(
        "sharded: an array is divided at most once along an axis of the mesh, but {} twice along {name:?}; divide it \
         along another axis",
        escape::quoted(path)
    )]
    Twice {
        /// The path of the array.
        path: String,
        /// The axis of the mesh.
        name: String,
    },
    /// The size of an axis is not a multiple of the number of its parts.
    #[error(
        "sharded: the size of an axis must be a multiple of the number of its parts, but axis {axis} of {} with shape \
         {shape:?} has {parts} parts; take another size or another mesh",
        escape::quoted(path)
    )]
    Uneven {
        /// The path of the array.
        path: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The axis that is divided.
        axis: usize,
        /// The number of parts.
        parts: usize,
    },
    /// An element type of the signature does not exist.
    #[error(
        "sharded: an element type must be f64, f32, i64 or bool, but that of {} is {dtype:?}; export the program again",
        escape::quoted(path)
    )]
    ElementType {
        /// The path of the array.
        path: String,
        /// The element type in the signature.
        dtype: String,
    },
    /// The text is not one that this library wrote.
    #[error("sharded: the text must be as it was exported, but it has no line of its function `main`; export it again")]
    Text,
}

debug_by_display!(ShardingError);

impl Exported {
    /// The program for the devices of a mesh: each triple `(path, axis, name)` divides an axis of the arrays at or
    /// below a path along the mesh's axis of this name. All other arrays are whole on every device.
    ///
    /// An axis may be divided along several axes of the mesh, the outermost first. XLA derives from these shardings
    /// where all other values are, and the communication: a loss whose batch is divided becomes sums over parts and one
    /// sum over devices. [`pjrt`](crate::pjrt) runs the result on the devices of a client, and the loader for JAX reads
    /// the same mesh.
    ///
    /// ```
    /// use polygrad::{Function, export::Mesh, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([[3.0, 4.0], [5.0, 6.0]]));
    /// let step = Function::value_and_grad_with(|w, x| x.matvec(w).square().sum(), &w, &x);
    /// let mesh = Mesh::new(&[("batch", 2)]);
    /// let exported = step.exported("step")?.sharded(&mesh, &[("data", 0, "batch")])?;
    /// assert!(exported.text.contains(r#"sdy.mesh @mesh = <["batch"=2]>"#), "{}", exported.text);
    /// let data = r#"%1: tensor<2x2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"batch"}, {}]>}"#;
    /// assert!(exported.text.contains(data), "{}", exported.text);
    /// assert_eq!(exported.signature.inputs[1].sharding, [vec!["batch".to_owned()], vec![]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Source: the dialect `sdy` of Shardy, whose attributes are those that JAX writes.
    ///
    /// # Errors
    /// If a path or an axis does not exist, or the size of an axis is not a multiple of the number of its parts.
    pub fn sharded(&self, mesh: &Mesh, shards: &[(&str, usize, &str)]) -> Result<Exported, ShardingError> {
        let mut signature = self.signature.clone();
        let whole = |port: &mut Port| port.sharding = vec![Vec::new(); port.shape.len()];
        signature.ports_mut().for_each(whole);
        for (path, axis, name) in shards {
            signature.shard(mesh, path, *axis, name)?;
        }
        for port in signature.ports_mut() {
            port.is_even(mesh)?;
        }
        signature.mesh = Some(mesh.clone());
        Ok(Exported { text: signature.attributed(mesh, &self.text)?, signature })
    }
}

impl Port {
    /// The type in the text, with the sharding.
    fn attributed(&self) -> Result<String, ShardingError> {
        let unknown = || ShardingError::ElementType { path: self.path.clone(), dtype: self.dtype.clone() };
        let of = tensor(&self.shape, Ty::of(DType::of_name(&self.dtype).ok_or_else(unknown)?));
        let quoted = |name: &String| format!("\"{}\"", escape::mlir(name));
        let axes = |names: &Vec<String>| format!("{{{}}}", list(names.iter().map(quoted)));
        let axes = list(self.sharding.iter().map(axes));
        Ok(format!("{of} {{sdy.sharding = #sdy.sharding<@mesh, [{axes}]>}}"))
    }

    /// Checks that each axis is a multiple of the number of its parts.
    fn is_even(&self, mesh: &Mesh) -> Result<(), ShardingError> {
        for (axis, names) in self.sharding.iter().enumerate() {
            let parts: usize = names.iter().filter_map(|name| mesh.size(name)).product();
            if !self.shape[axis].is_multiple_of(parts) {
                let (path, shape) = (self.path.clone(), self.shape.clone());
                return Err(ShardingError::Uneven { path, shape, axis, parts });
            }
        }
        Ok(())
    }
}

impl Signature {
    fn ports(&self) -> impl Iterator<Item = &Port> {
        self.inputs.iter().chain(&self.outputs)
    }

    fn ports_mut(&mut self) -> impl Iterator<Item = &mut Port> {
        self.inputs.iter_mut().chain(&mut self.outputs)
    }

    /// Divides an axis of the arrays at or below a path along an axis of the mesh.
    fn shard(&mut self, mesh: &Mesh, path: &str, axis: usize, name: &str) -> Result<(), ShardingError> {
        if mesh.size(name).is_none() {
            let known = list(mesh.axes().iter().map(|(name, _)| format!("{name:?}")));
            return Err(ShardingError::MeshAxis { name: name.to_owned(), known });
        }
        let below =
            |port: &Port| port.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if !self.ports().any(below) {
            let known = list(self.ports().map(|port| escape::quoted(&port.path)));
            return Err(ShardingError::Path { path: path.to_owned(), known });
        }
        for port in self.ports_mut().filter(|port| below(port)) {
            let (path, shape) = (port.path.clone(), port.shape.clone());
            if port.sharding.iter().flatten().any(|used| used == name) {
                return Err(ShardingError::Twice { path, name: name.to_owned() });
            }
            let Some(names) = port.sharding.get_mut(axis) else {
                return Err(ShardingError::Axis { path, shape, axis });
            };
            names.push(name.to_owned());
        }
        Ok(())
    }

    /// The text with this mesh and the shardings of the signature in place of those that it has.
    fn attributed(&self, mesh: &Mesh, text: &str) -> Result<String, ShardingError> {
        const MESH: &str = "  sdy.mesh @";
        let counts = format!("mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32", mesh.devices());
        let axes = list(mesh.axes().iter().map(|(name, size)| format!("\"{}\"={size}", escape::mlir(name))));
        let (mut out, mut found) = (String::with_capacity(text.len()), false);
        for line in text.lines().filter(|line| !line.starts_with(MESH)) {
            if let Some(rest) = line.strip_prefix("module @") {
                let name = rest.split([' ', '{']).next().unwrap_or_default();
                out.push_str(&format!("module @{name} attributes {{{counts}}} {{\n{MESH}mesh = <[{axes}]>\n"));
            } else if line.starts_with("  func.func public @main(") {
                found = true;
                out.push_str(&format!("  func.func public @main{} {{\n", self.types()?));
            } else {
                out.push_str(line);
                out.push('\n');
            }
        }
        if found { Ok(out) } else { Err(ShardingError::Text) }
    }

    /// The inputs and outputs of `main` as in the text: `(%0: tensor<2xf64>) -> (tensor<f64>)`.
    fn types(&self) -> Result<String, ShardingError> {
        let numbered = |(k, port): (usize, &Port)| Ok(format!("%{k}: {}", port.attributed()?));
        let inputs = self.inputs.iter().enumerate().map(numbered).collect::<Result<Vec<_>, ShardingError>>()?;
        let outputs = self.outputs.iter().map(Port::attributed).collect::<Result<Vec<_>, ShardingError>>()?;
        Ok(format!("({}) -> ({})", list(inputs), list(outputs)))
    }
}
