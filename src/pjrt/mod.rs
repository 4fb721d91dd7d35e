//! Runs exported programs in the calling process, by a PJRT plugin.
//!
//! PJRT is the interface by which JAX, PyTorch and others use compilers for CPUs, GPUs and TPUs. A plugin is a shared
//! library that is named at run time; this crate compiles without any plugin.
//!
//! ```no_run
//! use polygrad::{Array, pjrt};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "module {
//!   func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
//!     %y = stablehlo.multiply %x, %x : tensor<3xf64>
//!     return %y : tensor<3xf64>
//!   }
//! }";
//! let client = pjrt::Client::from_env()?; // the plugin that POLYGRAD_PJRT_PLUGIN names
//! let square = client.compile(text)?;
//! let mut x = client.upload(&Array::from([1.0, 2.0, 3.0]))?;
//! for _ in 0..2 {
//!     x = square.execute(&[&x])?.remove(0); // stays on the device
//! }
//! assert_eq!(x.to_array()?, Array::from([1.0, 16.0, 81.0]));
//! # Ok(())
//! # }
//! ```
//!
//! # Ownership
//! A [`Client`] is a handle, and a clone of it is another handle of the same client. A [`Buffer`] and an [`Executable`]
//! keep their client alive, so they may be dropped in any order; the plugin's object is released when the handle is
//! dropped, and the client after the last object that belongs to it. Arrays are copied to a device and back: no memory
//! is shared. A run does not donate its inputs, even if the program permits donation. The library of a plugin stays
//! loaded until the process ends.
//!
//! # Time
//! Runs are asynchronous: [`Executable::execute`] may return before the run is over, and its results may be arguments
//! of the next run at once. [`Buffer::wait`] and [`Buffer::to_array`] wait, and return the error of a run that failed.
//! All types are `Send` and `Sync`.
//!
//! # Sources
//! The header `pjrt_c_api.h` of OpenXLA, versions 0.57 to 0.115; the layouts of its structs are in `layout.rs`, and all
//! calls in `plugin.rs`, the only module with unsafe code.

mod error;
mod layout;
mod options;
mod plugin;
mod signature;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::array::{Array, Values, with_elem};
use crate::dtype::{DType, Elem};
use crate::shape;

pub use error::Error;
use plugin::{Bits, Element, Plugin, RawBuffer, RawClient, RawExecutable};
use signature::Input;

/// The environment variable that names the library of a plugin.
pub const PLUGIN_VARIABLE: &str = "POLYGRAD_PJRT_PLUGIN";

/// A client of a plugin: compiles programs for its devices, and copies arrays to them. See the [module](self).
#[derive(Clone)]
pub struct Client {
    raw: Arc<RawClient>,
    platform: String,
    devices: Vec<Device>,
}

/// A device of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// The identifier of the device in the plugin.
    pub id: i32,
    /// The kind of the device, as the plugin names it.
    pub kind: String,
}

impl Client {
    /// A client of the plugin in the library at a path.
    ///
    /// Loading a library runs its initializers: load trusted libraries only.
    ///
    /// # Errors
    /// If the library cannot be loaded, is not that of a plugin, has an interface older than 0.57, or finds no device.
    pub fn load(path: impl AsRef<Path>) -> Result<Client, Error> {
        let raw = Arc::new(RawClient::create(Plugin::load(path.as_ref())?)?);
        let describe = |k| raw.describe(k).map(|(id, kind)| Device { id, kind });
        let devices = (0..raw.devices()).map(describe).collect::<Result<_, _>>()?;
        Ok(Client { platform: raw.platform_name()?, devices, raw })
    }

    /// A client of the plugin that the environment variable `POLYGRAD_PJRT_PLUGIN` names.
    ///
    /// # Errors
    /// As [`Client::load`], and if the variable is not set.
    pub fn from_env() -> Result<Client, Error> {
        match std::env::var_os(PLUGIN_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => Client::load(Path::new(&path)),
            None => Err(Error::NotNamed),
        }
    }

    /// The name of the platform: `cpu`, `cuda`, ..
    pub fn platform(&self) -> &str {
        &self.platform
    }

    /// The version of the platform, as the plugin describes it.
    ///
    /// # Errors
    /// If the call fails.
    pub fn platform_version(&self) -> Result<String, Error> {
        self.raw.platform_version()
    }

    /// The version of the C interface that the plugin was compiled with.
    pub fn interface_version(&self) -> (i32, i32) {
        self.raw.version()
    }

    /// The devices that this process can use; there is at least one.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Compiles a program for the first device. The text is StableHLO with a public function `main`.
    ///
    /// # Errors
    /// If the compiler refuses the text.
    pub fn compile(&self, text: &str) -> Result<Executable, Error> {
        self.compile_for(text, 0)
    }

    /// Compiles a program for the device of this number in [`Client::devices`].
    ///
    /// # Errors
    /// As [`Client::compile`], and if there is no such device.
    pub fn compile_for(&self, text: &str, device: usize) -> Result<Executable, Error> {
        let Some(known) = self.devices.get(device) else {
            return Err(Error::Device { devices: self.devices.len(), given: device });
        };
        let raw = self.raw.compile(text, &options::for_device(known.id))?;
        Ok(Executable { raw, inputs: signature::inputs(text), device })
    }

    /// Copies an array to the first device.
    ///
    /// # Errors
    /// If the plugin fails to copy, for instance because the device is out of memory.
    pub fn upload(&self, array: &Array) -> Result<Buffer, Error> {
        self.upload_to(array, 0)
    }

    /// Copies an array to the device of this number in [`Client::devices`].
    ///
    /// # Errors
    /// As [`Client::upload`], and if there is no such device.
    pub fn upload_to(&self, array: &Array, device: usize) -> Result<Buffer, Error> {
        upload(&self.raw, array, device)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("platform", &self.platform).field("devices", &self.devices).finish()
    }
}

fn upload(client: &Arc<RawClient>, array: &Array, device: usize) -> Result<Buffer, Error> {
    fn elements<E: Element + Elem>(client: &Arc<RawClient>, array: &Array, device: usize) -> Result<RawBuffer, Error> {
        let sizes: Vec<i64> = array.shape().iter().map(|n| *n as i64).collect();
        match array.typed::<E>() {
            Values::Dense(elements) => client.upload(device, &sizes, elements),
            Values::Splat(x) => client.upload(device, &sizes, &vec![x; array.size()]),
        }
    }
    let raw = with_elem!(array.dtype(), E => elements::<E>(client, array, device))?;
    Ok(Buffer { raw, shape: array.shape().to_vec(), dtype: array.dtype() })
}

/// A program compiled for a device. See the [module](self).
pub struct Executable {
    raw: RawExecutable,
    inputs: Option<Vec<Input>>,
    device: usize,
}

impl Executable {
    /// The number of results.
    pub fn outputs(&self) -> usize {
        self.raw.outputs()
    }

    /// The number of the program's device in [`Client::devices`].
    pub fn device(&self) -> usize {
        self.device
    }

    /// Starts a run, and returns its results, which stay on the device. The inputs are not donated.
    ///
    /// # Errors
    /// If the arguments do not fit the program, or belong to another client or device, or if the call fails.
    pub fn execute(&self, arguments: &[&Buffer]) -> Result<Vec<Buffer>, Error> {
        self.check(&arguments.iter().map(|b| (b.shape(), b.dtype())).collect::<Vec<_>>())?;
        let raw: Vec<&RawBuffer> = arguments.iter().map(|b| &b.raw).collect();
        let results = self.raw.execute(&raw)?;
        results.into_iter().enumerate().map(|(number, raw)| Buffer::of(number, raw)).collect()
    }

    /// Copies arrays to the device of the program, runs it, and copies the results back.
    ///
    /// # Errors
    /// As [`Executable::execute`].
    pub fn run(&self, arguments: &[Array]) -> Result<Vec<Array>, Error> {
        self.check(&arguments.iter().map(|a| (a.shape(), a.dtype())).collect::<Vec<_>>())?;
        let buffers = arguments.iter().map(|a| upload(self.raw.client(), a, self.device));
        let buffers = buffers.collect::<Result<Vec<Buffer>, Error>>()?;
        self.execute(&buffers.iter().collect::<Vec<_>>())?.iter().map(Buffer::to_array).collect()
    }

    /// Checks that arguments of these kinds fit the program, if its text could be parsed.
    fn check(&self, given: &[(&[usize], DType)]) -> Result<(), Error> {
        let Some(inputs) = &self.inputs else { return Ok(()) };
        if inputs.len() != given.len() {
            return Err(Error::Arguments { needed: inputs.len(), given: given.len() });
        }
        for (number, (input, (shape, dtype))) in inputs.iter().zip(given).enumerate() {
            let fits = |(needed, of): &(Vec<usize>, DType)| needed == shape && of == dtype;
            if !input.kind.as_ref().is_none_or(fits) {
                let (needed, given) = (input.text.clone(), signature::written(shape, *dtype));
                return Err(Error::Argument { number, needed, given });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs = self.inputs.as_ref().map(|of| of.iter().map(|i| i.text.as_str()).collect::<Vec<_>>());
        f.debug_struct("Executable").field("inputs", &inputs).field("outputs", &self.outputs()).finish()
    }
}

/// An array on a device. See the [module](self).
pub struct Buffer {
    raw: RawBuffer,
    shape: Vec<usize>,
    dtype: DType,
}

impl Buffer {
    /// The buffer of the result of index `number`.
    fn of(number: usize, raw: RawBuffer) -> Result<Buffer, Error> {
        let code = raw.element_type()?;
        let dtype = DType::ALL.into_iter().find(|dtype| with_elem!(*dtype, E => <E as Element>::CODE) == code);
        Ok(Buffer { shape: raw.shape()?, dtype: dtype.ok_or(Error::ElementType { number, code })?, raw })
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Waits until the elements are computed.
    ///
    /// # Errors
    /// If the run that computes them fails.
    pub fn wait(&self) -> Result<(), Error> {
        self.raw.wait()
    }

    /// Waits until the elements are computed, and copies them to an array.
    ///
    /// # Errors
    /// If the run that computes them fails.
    pub fn to_array(&self) -> Result<Array, Error> {
        match self.dtype {
            DType::F64 => self.elements(0.0f64).map(|v| Array::new(&self.shape, v)),
            DType::F32 => self.elements(0.0f32).map(|v| Array::new(&self.shape, v)),
            DType::I64 => self.elements(0i64).map(|v| Array::new(&self.shape, v)),
            DType::Bool => {
                let truth: Vec<bool> = self.elements(0u8)?.into_iter().map(|byte| byte != 0).collect();
                Ok(Array::new(&self.shape, truth))
            }
        }
    }

    fn elements<B: Bits>(&self, none: B) -> Result<Vec<B>, Error> {
        let mut place = vec![none; shape::size(&self.shape)];
        self.raw.download(self.shape.len(), &mut place)?;
        Ok(place)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({})", signature::written(&self.shape, self.dtype))
    }
}
