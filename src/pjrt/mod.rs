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
//! # Several devices
//! A text with a mesh, as [`sharded`](crate::export::Exported::sharded) writes it, is compiled for as many devices of the
//! client, and a [`Buffer`] of it has a part on each: [`Executable::upload`] divides an array as an input needs it, a run
//! takes and gives such buffers, and [`Buffer::to_array`] joins the parts. The communication is that which XLA inserted;
//! [`Executable::operations`] shows it. XLA's plugins for CPUs have four devices, whatever `XLA_FLAGS` says.
//!
//! # Time
//! Runs are asynchronous: [`Executable::execute`] may return before the run is over, and its results may be arguments
//! of the next run at once. [`Buffer::wait`] and [`Buffer::to_array`] wait, and return the error of a run that failed.
//! All types are `Send` and `Sync`.
//!
//! # Sources
//! The header `pjrt_c_api.h` of OpenXLA, versions 0.57 to 0.115; the layouts of its structs are in `layout.rs`, and all
//! calls in `plugin`, the only module with unsafe code.

mod division;
mod error;
mod layout;
mod opcodes;
mod options;
mod plugin;
mod signature;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::array::{Array, Values, with_elem};
use crate::dtype::{DType, Elem};
use crate::shape;

use division::Division;
pub use error::Error;
use plugin::{Bits, Element, Plugin, RawBuffer, RawClient, RawExecutable};
use signature::Parsed;

/// The environment variable that names the library of a plugin.
///
/// Example: [`Client::load`].
pub const PLUGIN_VARIABLE: &str = "POLYGRAD_PJRT_PLUGIN";

/// A client of a plugin: compiles programs for its devices, and copies arrays to them. See the [module](self).
///
/// ```no_run
/// use polygrad::pjrt::{Client, Executable};
/// use polygrad::{Array, Function, tensor};
/// let client = Client::from_env()?;
/// let text = Function::value_and_grad(|x| x.square().sum(), &tensor([1.0, 2.0])).to_stablehlo("step")?;
/// let step: Executable = client.compile(&text)?;
/// assert_eq!((step.outputs(), step.device()), (2, 0));
/// assert_eq!(step.run(&[Array::from([3.0, 4.0])])?, [Array::scalar(25.0), Array::from([6.0, 8.0])]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client {
    raw: Arc<RawClient>,
    platform: String,
    devices: Vec<Device>,
}

/// A device of a client.
///
/// Example: [`Client::load`].
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
    /// ```no_run
    /// use polygrad::pjrt::{Client, Device, PLUGIN_VARIABLE};
    /// let client = Client::load("plugins/pjrt_c_api_cpu_plugin.so")?;
    /// assert_eq!(client.platform(), "cpu");
    /// assert!(client.interface_version().1 >= 57 && !client.platform_version()?.is_empty());
    /// let first: &Device = &client.devices()[0];
    /// assert!(!first.kind.is_empty());
    /// // With POLYGRAD_PJRT_PLUGIN=plugins/pjrt_c_api_cpu_plugin.so
    /// assert_eq!(PLUGIN_VARIABLE, "POLYGRAD_PJRT_PLUGIN");
    /// assert_eq!(Client::from_env()?.platform(), "cpu");
    /// # Ok::<(), polygrad::pjrt::Error>(())
    /// ```
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
    /// Example: [`Client::load`].
    ///
    /// # Errors
    /// Like [`Client::load`], and if the variable is not set.
    pub fn from_env() -> Result<Client, Error> {
        match std::env::var_os(PLUGIN_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => Client::load(Path::new(&path)),
            None => Err(Error::NotNamed),
        }
    }

    /// The name of the platform: `cpu`, `cuda`, ..
    ///
    /// Example: [`Client::load`].
    pub fn platform(&self) -> &str {
        &self.platform
    }

    /// The version of the platform, as the plugin describes it.
    ///
    /// Example: [`Client::load`].
    ///
    /// # Errors
    /// If the call fails.
    pub fn platform_version(&self) -> Result<String, Error> {
        self.raw.platform_version()
    }

    /// The version of the C interface that the plugin was compiled with.
    ///
    /// Example: [`Client::load`].
    pub fn interface_version(&self) -> (i32, i32) {
        self.raw.version()
    }

    /// The devices that this process can use; there is at least one.
    ///
    /// Example: [`Client::load`].
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Compiles a program for the first device, or, if the text has a mesh, for as many devices from the first on. The
    /// text is StableHLO with a public function `main`.
    ///
    /// Example: [`Client`].
    ///
    /// # Errors
    /// If the compiler refuses the text, and if there are fewer devices than the mesh has, or a sharding is not one of
    /// those of [`sharded`](crate::export::Exported::sharded).
    pub fn compile(&self, text: &str) -> Result<Executable, Error> {
        self.compile_for(text, 0)
    }

    /// Compiles a program for the device of this number in [`Client::devices`], and the next ones if the text has a
    /// mesh.
    ///
    /// ```no_run
    /// use polygrad::pjrt::Client;
    /// use polygrad::{Function, tensor};
    /// let client = Client::from_env()?;
    /// let text = Function::stage(|x| x.sin(), &tensor([1.0, 2.0])).to_stablehlo("wave")?;
    /// let last = client.devices().len() - 1;
    /// assert_eq!(client.compile_for(&text, last)?.device(), last);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Like [`Client::compile`], and if the device does not exist.
    pub fn compile_for(&self, text: &str, device: usize) -> Result<Executable, Error> {
        if device >= self.devices.len() {
            return Err(Error::Device { devices: self.devices.len(), given: device });
        }
        let parsed = signature::parsed_module(text)?;
        let needed = parsed.devices();
        let Some(devices) = self.devices.get(device..device + needed) else {
            return Err(Error::Devices { needed, first: device, devices: self.devices.len() });
        };
        let identifiers: Vec<i32> = devices.iter().map(|device| device.id).collect();
        let raw = self.raw.compile(text, &options::for_devices(&identifiers, parsed.mesh.is_some()))?;
        Ok(Executable { raw, parsed, first: device, waits: needed > 1 && self.platform == "cpu" })
    }

    /// Copies an array to the first device.
    ///
    /// ```no_run
    /// use polygrad::pjrt::{self, Buffer, Client};
    /// use polygrad::{Array, DType};
    /// let (client, x) = (Client::from_env()?, Array::from([1.0, 2.0]));
    /// let buffer: Buffer = client.upload(&x)?;
    /// assert_eq!((buffer.shape(), buffer.dtype(), buffer.to_array()?), (&[2][..], DType::F64, x.clone()));
    /// assert_eq!(client.upload_to(&x, 0)?.to_array()?, x);
    /// assert!(matches!(client.upload_to(&x, client.devices().len()), Err(pjrt::Error::Device { .. })));
    /// # Ok::<(), polygrad::pjrt::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the plugin fails to copy, for instance because the device is out of memory.
    pub fn upload(&self, array: &Array) -> Result<Buffer, Error> {
        self.upload_to(array, 0)
    }

    /// Copies an array to the device of this number in [`Client::devices`].
    ///
    /// Example: [`Client::upload`].
    ///
    /// # Errors
    /// Like [`Client::upload`], and if the device does not exist.
    pub fn upload_to(&self, array: &Array, device: usize) -> Result<Buffer, Error> {
        upload(&self.raw, array, device, Division::whole(array.shape().len(), 1))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("platform", &self.platform).field("devices", &self.devices).finish()
    }
}

/// Copies the blocks of an array to the devices from this number on.
fn upload(client: &Arc<RawClient>, array: &Array, first: usize, division: Division) -> Result<Buffer, Error> {
    fn elements<E: Element + Elem>(
        client: &Arc<RawClient>,
        array: &Array,
        first: usize,
        division: &Division,
    ) -> Result<Vec<RawBuffer>, Error> {
        let sizes: Vec<i64> = division.block(array.shape()).iter().map(|n| *n as i64).collect();
        let part = |k: usize| match array.typed::<E>() {
            Values::Dense(elements) if division.is_whole() => client.upload(first + k, &sizes, elements),
            Values::Dense(_) | Values::Splat(_) => client.upload(first + k, &sizes, &division.cut::<E>(array, k)),
        };
        (0..division.devices()).map(part).collect()
    }
    let parts = with_elem!(array.dtype(), E => elements::<E>(client, array, first, &division))?;
    Ok(Buffer { parts, first, division, shape: array.shape().to_vec(), dtype: array.dtype() })
}

/// A program compiled for a device, or for the devices of its mesh. See the [module](self).
///
/// Example: [`Client`].
pub struct Executable {
    raw: RawExecutable,
    parsed: Parsed,
    /// The number of the first device.
    first: usize,
    /// Whether a run waits for its results: devices that share the threads of the host may wait for each other in
    /// different runs.
    waits: bool,
}

impl Executable {
    /// The number of results.
    ///
    /// Example: [`Client`].
    pub fn outputs(&self) -> usize {
        self.raw.outputs()
    }

    /// The number of the program's first device in [`Client::devices`].
    ///
    /// Example: [`Client`].
    pub fn device(&self) -> usize {
        self.first
    }

    /// The number of devices on which the program runs: 1, or the size of its mesh.
    ///
    /// Example: [`Executable::operations`].
    pub fn devices(&self) -> usize {
        self.parsed.devices()
    }

    /// How many operations of each kind the compiled program has, by their names in HLO: `fusion`, `all-reduce`, ..
    ///
    /// ```no_run
    /// use polygrad::export::Mesh;
    /// use polygrad::pjrt::Client;
    /// use polygrad::{Array, Function, tensor};
    /// // The sum of an array whose halves are on two devices needs one sum over devices.
    /// let exported = Function::stage(|x| x.square().sum(), &tensor([1.0, 2.0])).exported("norm")?;
    /// let halves = exported.sharded(&Mesh::new(&[("halves", 2)]), &[("x", 0, "halves")])?;
    /// let norm = Client::from_env()?.compile(&halves.text)?;
    /// assert_eq!((norm.devices(), norm.operations()?.get("all-reduce")), (2, Some(&1)));
    /// // An element on each of two devices.
    /// let x = Array::from([3.0, 4.0]);
    /// assert_eq!(norm.upload(0, &x)?.to_array()?, x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the plugin does not report it.
    pub fn operations(&self) -> Result<BTreeMap<String, usize>, Error> {
        let (program, format) = self.raw.optimized()?;
        Ok(opcodes::counts(&program, &format))
    }

    /// Copies an array to the devices of the program, as its input of this number needs it: whole, or in parts.
    ///
    /// Example: [`Executable::operations`].
    ///
    /// # Errors
    /// If the input does not exist, the array does not fit, or the plugin fails to copy.
    pub fn upload(&self, input: usize, array: &Array) -> Result<Buffer, Error> {
        if let Some(inputs) = &self.parsed.inputs {
            let missing = Error::Input { inputs: inputs.len(), given: input };
            inputs.get(input).ok_or(missing)?.check(input, array.shape(), array.dtype())?;
        }
        let division = self.division(input, array.shape().len()).into_owned();
        upload(self.raw.client(), array, self.first, division)
    }

    /// The division of an argument of this rank: whole on each device, if nothing else is known of the input.
    fn division(&self, input: usize, rank: usize) -> Cow<'_, Division> {
        let known = self.parsed.inputs.as_ref().and_then(|inputs| inputs[input].division.as_ref());
        known.map_or_else(|| Cow::Owned(Division::whole(rank, self.devices())), Cow::Borrowed)
    }

    /// Starts a run, and returns its results, which stay on the devices. The inputs are not donated.
    ///
    /// On several devices of the platform `cpu` the run is over when this returns, since they share threads.
    ///
    /// ```no_run
    /// use polygrad::pjrt::Client;
    /// use polygrad::{Array, Function, tensor};
    /// let client = Client::from_env()?;
    /// let text = Function::stage(|x| x * 2.0, &tensor([1.0, 2.0])).to_stablehlo("double")?;
    /// let (double, mut x) = (client.compile(&text)?, client.upload(&Array::from([1.0, 2.0]))?);
    /// for _ in 0..3 {
    ///     x = double.execute(&[&x])?.remove(0);
    /// }
    /// // The runs are over, and did not fail.
    /// x.wait()?;
    /// assert_eq!(x.to_array()?, Array::from([8.0, 16.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit the program, or belong to another client or other devices, or if the call fails.
    pub fn execute(&self, arguments: &[&Buffer]) -> Result<Vec<Buffer>, Error> {
        self.check(&arguments.iter().map(|b| (b.shape(), b.dtype())).collect::<Vec<_>>())?;
        self.check_places(arguments)?;
        let of_device = |k: usize| arguments.iter().map(|b| &b.parts[k]).collect();
        let inputs: Vec<Vec<&RawBuffer>> = (0..self.devices()).map(of_device).collect();
        let mut results: Vec<_> = self.raw.execute(&inputs)?.into_iter().map(Vec::into_iter).collect();
        let result = |number: usize| {
            let parts: Vec<RawBuffer> = results.iter_mut().filter_map(Iterator::next).collect();
            let known = self.parsed.outputs.as_ref().and_then(|all| all.get(number)?.division.clone());
            Buffer::of(number, parts, self.first, known)
        };
        let results: Vec<Buffer> = (0..self.outputs()).map(result).collect::<Result<_, _>>()?;
        if self.waits {
            results.iter().try_for_each(Buffer::wait)?;
        }
        Ok(results)
    }

    /// Copies arrays to the devices of the program, runs it, and copies the results back.
    ///
    /// Example: [`Client`].
    ///
    /// # Errors
    /// Like [`Executable::execute`].
    pub fn run(&self, arguments: &[Array]) -> Result<Vec<Array>, Error> {
        self.check(&arguments.iter().map(|a| (a.shape(), a.dtype())).collect::<Vec<_>>())?;
        let buffers = arguments.iter().enumerate().map(|(input, a)| self.upload(input, a));
        let buffers = buffers.collect::<Result<Vec<Buffer>, Error>>()?;
        self.execute(&buffers.iter().collect::<Vec<_>>())?.iter().map(Buffer::to_array).collect()
    }

    /// Checks that arguments of these kinds fit the program, if its text could be parsed.
    fn check(&self, given: &[(&[usize], DType)]) -> Result<(), Error> {
        let Some(inputs) = &self.parsed.inputs else { return Ok(()) };
        if inputs.len() != given.len() {
            return Err(Error::Arguments { needed: inputs.len(), given: given.len() });
        }
        let mut all = inputs.iter().zip(given).enumerate();
        all.try_for_each(|(number, (input, (shape, dtype)))| input.check(number, shape, *dtype))
    }

    /// Checks that arguments are on the devices of the program, in the parts that it needs.
    fn check_places(&self, arguments: &[&Buffer]) -> Result<(), Error> {
        for (number, argument) in arguments.iter().enumerate() {
            let needed = self.division(number, argument.shape.len());
            if (&*needed, self.first) != (&argument.division, argument.first) {
                return Err(Error::Placement {
                    number,
                    needed: needed.to_string(),
                    first: self.first,
                    given: argument.division.to_string(),
                    given_first: argument.first,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs = self.parsed.inputs.as_ref().map(|of| of.iter().map(|i| i.text.as_str()).collect::<Vec<_>>());
        let mut out = f.debug_struct("Executable");
        out.field("inputs", &inputs).field("outputs", &self.outputs()).field("devices", &self.devices()).finish()
    }
}

/// An array on a device, or whole or in parts on several. See the [module](self).
///
/// Example: [`Client::upload`].
pub struct Buffer {
    /// The block on each device, from the device of number `first` on.
    parts: Vec<RawBuffer>,
    first: usize,
    division: Division,
    shape: Vec<usize>,
    dtype: DType,
}

impl Buffer {
    /// The buffer of the result of index `number`; without a division it is whole on one device.
    fn of(number: usize, parts: Vec<RawBuffer>, first: usize, division: Option<Division>) -> Result<Buffer, Error> {
        let missing = || Error::Missing { call: "PJRT_LoadedExecutable_Execute", what: "gives no result" };
        let raw = parts.first().ok_or_else(missing)?;
        let code = raw.element_type()?;
        let dtype = DType::ALL.into_iter().find(|dtype| with_elem!(*dtype, E => <E as Element>::CODE) == code);
        let dtype = dtype.ok_or(Error::ElementType { number, code })?;
        let block = raw.shape()?;
        let division = division.unwrap_or_else(|| Division::whole(block.len(), parts.len()));
        Ok(Buffer { shape: division.joined(&block), parts, first, division, dtype })
    }

    /// The shape.
    ///
    /// Example: [`Client::upload`].
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    ///
    /// Example: [`Client::upload`].
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Waits until the elements are computed, on every device.
    ///
    /// Example: [`Executable::execute`].
    ///
    /// # Errors
    /// If the run that computes them fails.
    pub fn wait(&self) -> Result<(), Error> {
        self.parts.iter().try_for_each(RawBuffer::wait)
    }

    /// Waits until the elements are computed, and copies them to an array, each part from one device.
    ///
    /// Example: [`Client::upload`].
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
        let block = self.division.block(&self.shape);
        let download = |device: usize| {
            let mut place = vec![none; shape::size(&block)];
            self.parts[device].download(block.len(), &mut place).map(|()| (device, place))
        };
        let mut blocks: Vec<(usize, Vec<B>)> =
            self.division.owners().into_iter().map(download).collect::<Result<_, _>>()?;
        match &mut blocks[..] {
            [(_, whole)] => Ok(std::mem::take(whole)),
            blocks => Ok(self.division.join(&self.shape, none, blocks)),
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = signature::written(&self.shape, self.dtype);
        if self.parts.len() == 1 { write!(f, "Buffer({of})") } else { write!(f, "Buffer({of}, {})", self.division) }
    }
}
