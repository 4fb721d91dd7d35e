//! Safe wrappers of a plugin: its library, its table of functions, and its objects, each destroyed once.
//!
//! Laws: a buffer and an executable own a reference to their client, so the client is destroyed after the last of them;
//! a loaded library stays loaded until the process ends, since plugins keep threads and globals; a plugin is
//! initialized once.
//!
//! The unsafe code of this module calls functions of the C interface, and reads pointers that they return. It relies on
//! the plugin to implement the interface whose version it states: returned pointers are valid as long as the header
//! says, and all functions may be called from any thread.
#![allow(unsafe_code)]

mod buffer;
mod executable;

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;

pub(super) use buffer::RawBuffer;
pub(super) use executable::RawExecutable;

use super::error::Error;
use super::layout::{
    Api, Args, Call, ClientCreate, Compile, Devices, FromHost, Handle, Header, IMMUTABLE_ONLY_DURING_CALL, Nothing,
    Number, Opaque, Program, Related, Text,
};

/// The oldest minor version whose structs are known to have these layouts.
const OLDEST: i32 = 57;

/// The function of a library that returns the table.
const ENTRY: &CStr = c"GetPjrtApi";

/// A Rust type whose values have the representation of elements in the interface: one byte for a truth value.
pub(super) trait Element: Copy {
    /// The code of the element type.
    const CODE: i32;
}

/// A Rust type for which any bit pattern is a value, so that a plugin may write it. Truth values are read as bytes.
pub(super) trait Bits: Copy {}

impl Bits for u8 {}
impl Bits for i64 {}
impl Bits for f32 {}
impl Bits for f64 {}

impl Element for bool {
    const CODE: i32 = 1;
}

impl Element for i64 {
    const CODE: i32 = 5;
}

impl Element for f32 {
    const CODE: i32 = 11;
}

impl Element for f64 {
    const CODE: i32 = 12;
}

/// Checks that a table of this size and version has the functions and structs that are used.
fn check(size: usize, (major, minor): (i32, i32)) -> Result<(), Error> {
    if size >= size_of::<Header>() && (major != 0 || minor < OLDEST) {
        return Err(Error::Version { major, minor, oldest: OLDEST });
    }
    if size < size_of::<Api>() {
        return Err(Error::Table { needed: size_of::<Api>(), given: size });
    }
    Ok(())
}

/// The addresses of the tables of plugins that have been initialized.
static SET_UP: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The table of functions of an initialized plugin.
#[derive(Clone, Copy)]
pub(super) struct Plugin {
    api: &'static Api,
}

// SAFETY: the table is constant, and its functions may be called from any thread.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

impl Plugin {
    /// Loads the library of a plugin, unless it is loaded, and initializes the plugin.
    pub(super) fn load(path: &Path) -> Result<Plugin, Error> {
        // SAFETY: the initializers of the library run, which the user answers for by naming it.
        let library = unsafe { Library::new(path) };
        let library = library.map_err(|e| Error::Library { path: path.to_path_buf(), reason: e.to_string() })?;
        // SAFETY: a function of this name has this type in every library that is a plugin.
        let entry = unsafe { library.get::<unsafe extern "C" fn() -> *const Header>(ENTRY) };
        let table = match entry {
            // SAFETY: as above.
            Ok(entry) => unsafe { entry() },
            Err(_) => return Err(Error::NoPlugin { path: path.to_path_buf() }),
        };
        // Initialization may start threads, so the library is never unloaded from here on.
        std::mem::forget(library);
        // SAFETY: the table belongs to the library, which stays.
        let plugin = unsafe { Plugin::of_table(table) }?;
        plugin.set_up()?;
        Ok(plugin)
    }

    /// The plugin with this table.
    ///
    /// # Safety
    /// The pointer is null, or points to a table that is constant from now on, as long as its own first word says, and
    /// of the layout that its version says.
    unsafe fn of_table(table: *const Header) -> Result<Plugin, Error> {
        if table.is_null() {
            return Err(Error::Missing { call: "GetPjrtApi", what: "gives no table" });
        }
        // SAFETY: the first word is there in any table.
        let size = unsafe { ptr::read(table.cast::<usize>()) };
        // SAFETY: the header is read only if the table is as long.
        let version = (size >= size_of::<Header>()).then(|| unsafe { &(*table).version });
        check(size, version.map_or((0, 0), |v| (v.major, v.minor)))?;
        // SAFETY: the table is long enough, and constant.
        Ok(Plugin { api: unsafe { &*table.cast::<Api>() } })
    }

    fn set_up(self) -> Result<(), Error> {
        let mut done = SET_UP.lock().unwrap_or_else(PoisonError::into_inner);
        let table = ptr::from_ref(self.api) as usize;
        if !done.contains(&table) {
            // SAFETY: the call has no arguments.
            unsafe { self.call("PJRT_Plugin_Initialize", self.api.plugin_initialize, Nothing) }?;
            done.push(table);
        }
        Ok(())
    }

    /// The version of the plugin's interface.
    pub(super) fn version(self) -> (i32, i32) {
        (self.api.header.version.major, self.api.header.version.minor)
    }

    /// Calls a function with these fields, and returns the fields as the function leaves them.
    ///
    /// # Safety
    /// Pointers in the fields are valid for this function.
    unsafe fn call<A>(self, call: &'static str, f: Call<A>, fields: A) -> Result<A, Error> {
        let f = f.ok_or(Error::Missing { call, what: "is not in its table" })?;
        let mut args = Args::new(fields);
        // SAFETY: the arguments are those of this function, and live through the call.
        let error = unsafe { f(&mut args) };
        match NonNull::new(error) {
            None => Ok(args.fields),
            // SAFETY: a pointer that is not null is an error that we own.
            Some(error) => Err(Error::Plugin { call, message: unsafe { self.message(error) } }),
        }
    }

    /// The message of an error, which is destroyed.
    ///
    /// # Safety
    /// The pointer is an error of this plugin that nobody else destroys.
    unsafe fn message(self, error: NonNull<c_void>) -> String {
        let text = self.api.error_message.map(|f| {
            let mut args = Args::new(Text { of: error.as_ptr(), start: ptr::null(), length: 0 });
            // SAFETY: the error is alive, and its text as long as it is.
            unsafe {
                f(&mut args);
                copied(&args.fields)
            }
        });
        if let Some(destroy) = self.api.error_destroy {
            // SAFETY: the error is ours, and is not used again.
            unsafe { destroy(&mut Args::new(Handle { of: error.as_ptr() })) };
        }
        text.unwrap_or_default()
    }

    /// Destroys an object. An error is ignored, and destroyed, too.
    ///
    /// # Safety
    /// The pointer is an object that this function destroys, and is not used again.
    unsafe fn destroy(self, call: &'static str, f: Call<Handle>, of: NonNull<c_void>) {
        // SAFETY: as the caller says.
        let _ = unsafe { self.call(call, f, Handle { of: of.as_ptr() }) };
    }
}

/// A copy of the characters that a call returned.
///
/// # Safety
/// The object that they belong to is alive.
unsafe fn copied(text: &Text) -> String {
    if text.start.is_null() {
        return String::new();
    }
    // SAFETY: the plugin states this number of bytes.
    let bytes = unsafe { slice::from_raw_parts(text.start.cast::<u8>(), text.length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks that a returned pointer is not null.
fn given(call: &'static str, out: Opaque) -> Result<NonNull<c_void>, Error> {
    NonNull::new(out).ok_or(Error::Missing { call, what: "gives a null pointer" })
}

/// An event: the completion of asynchronous work.
struct Event {
    plugin: Plugin,
    event: NonNull<c_void>,
}

impl Event {
    /// Waits for the completion of the work, and returns its error.
    fn wait(self, during: &'static str) -> Result<(), Error> {
        // SAFETY: the event is alive.
        let done = unsafe { self.plugin.call(during, self.plugin.api.event_await, Handle { of: self.event.as_ptr() }) };
        done.map(|_| ())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is ours.
        unsafe { self.plugin.destroy("PJRT_Event_Destroy", self.plugin.api.event_destroy, self.event) };
    }
}

/// A client, whose devices live as long as the client.
pub(super) struct RawClient {
    plugin: Plugin,
    client: NonNull<c_void>,
    devices: Vec<NonNull<c_void>>,
}

// SAFETY: the functions of the interface may be called from any thread.
unsafe impl Send for RawClient {}
// SAFETY: as above.
unsafe impl Sync for RawClient {}

impl RawClient {
    pub(super) fn create(plugin: Plugin) -> Result<RawClient, Error> {
        let call = "PJRT_Client_Create";
        let fields = ClientCreate {
            options: ptr::null(),
            number_of_options: 0,
            callbacks: [ptr::null(); 4],
            client: ptr::null_mut(),
        };
        // SAFETY: options and callbacks are empty.
        let made = unsafe { plugin.call(call, plugin.api.client_create, fields) }?;
        let mut client = RawClient { plugin, client: given(call, made.client)?, devices: Vec::new() };

        let call = "PJRT_Client_AddressableDevices";
        let fields = Devices { client: client.client.as_ptr(), start: ptr::null(), length: 0 };
        // SAFETY: the client is alive, and so are its devices.
        let found = unsafe { plugin.call(call, plugin.api.client_addressable_devices, fields) }?;
        if found.length == 0 || found.start.is_null() {
            return Err(Error::Missing { call, what: "gives no device" });
        }
        // SAFETY: the plugin states this number of devices.
        let devices = unsafe { slice::from_raw_parts(found.start, found.length) };
        client.devices = devices.iter().map(|d| given(call, *d)).collect::<Result<_, _>>()?;
        Ok(client)
    }

    pub(super) fn version(&self) -> (i32, i32) {
        self.plugin.version()
    }

    pub(super) fn platform_name(&self) -> Result<String, Error> {
        self.text("PJRT_Client_PlatformName", self.plugin.api.client_platform_name)
    }

    pub(super) fn platform_version(&self) -> Result<String, Error> {
        self.text("PJRT_Client_PlatformVersion", self.plugin.api.client_platform_version)
    }

    fn text(&self, call: &'static str, f: Call<Text>) -> Result<String, Error> {
        let fields = Text { of: self.client.as_ptr(), start: ptr::null(), length: 0 };
        // SAFETY: the client is alive, and its texts as long as it is.
        unsafe { self.plugin.call(call, f, fields).map(|text| copied(&text)) }
    }

    /// The number of devices, at least 1.
    pub(super) fn devices(&self) -> usize {
        self.devices.len()
    }

    fn device(&self, k: usize) -> Result<NonNull<c_void>, Error> {
        self.devices.get(k).copied().ok_or(Error::Device { devices: self.devices.len(), given: k })
    }

    /// The identifier and the kind of a device.
    pub(super) fn describe(&self, k: usize) -> Result<(i32, String), Error> {
        let (plugin, call) = (self.plugin, "PJRT_Device_GetDescription");
        let fields = Related { of: self.device(k)?.as_ptr(), out: ptr::null_mut() };
        // SAFETY: the device is alive as the client is, and so is its description with its text.
        unsafe {
            let of = given(call, plugin.call(call, plugin.api.device_get_description, fields)?.out)?.as_ptr();
            let f = plugin.api.device_description_id;
            let id = plugin.call("PJRT_DeviceDescription_Id", f, Number { of, out: 0 })?.out;
            let f = plugin.api.device_description_kind;
            let text = plugin.call("PJRT_DeviceDescription_Kind", f, Text { of, start: ptr::null(), length: 0 })?;
            Ok((id, copied(&text)))
        }
    }

    /// Compiles an MLIR text with these options.
    pub(super) fn compile(self: &Arc<Self>, text: &str, options: &[u8]) -> Result<RawExecutable, Error> {
        let (plugin, call, format) = (self.plugin, "PJRT_Client_Compile", "mlir");
        // Parsers of MLIR read a zero byte after the end, whatever the length is.
        let code = [text.as_bytes(), &[0]].concat();
        let program = Args::new(Program {
            code: code.as_ptr().cast::<c_char>(),
            code_length: text.len(),
            format: format.as_ptr().cast::<c_char>(),
            format_length: format.len(),
        });
        let fields = Compile {
            client: self.client.as_ptr(),
            program: &raw const program,
            options: options.as_ptr().cast::<c_char>(),
            options_length: options.len(),
            executable: ptr::null_mut(),
        };
        // SAFETY: the client is alive, and program and options need to live through the call only.
        let made = unsafe { plugin.call(call, plugin.api.client_compile, fields) }?;
        let executable = given(call, made.executable)?;
        RawExecutable::of(self.clone(), executable)
    }

    /// A buffer with a copy of these elements.
    pub(super) fn upload<E: Element>(
        self: &Arc<Self>,
        device: usize,
        sizes: &[i64],
        data: &[E],
    ) -> Result<RawBuffer, Error> {
        let (plugin, call) = (self.plugin, "PJRT_Client_BufferFromHostBuffer");
        let size: i64 = sizes.iter().product();
        assert_eq!(usize::try_from(size), Ok(data.len()), "the elements are those of the shape");
        let fields = FromHost {
            client: self.client.as_ptr(),
            data: data.as_ptr().cast::<c_void>(),
            element_type: E::CODE,
            sizes: sizes.as_ptr(),
            rank: sizes.len(),
            strides: ptr::null(),
            number_of_strides: 0,
            semantics: IMMUTABLE_ONLY_DURING_CALL,
            device: self.device(device)?.as_ptr(),
            memory: ptr::null_mut(),
            device_layout: ptr::null(),
            done_with_host_buffer: ptr::null_mut(),
            buffer: ptr::null_mut(),
        };
        // SAFETY: client and device are alive; there are as many elements as the sizes say, in row-major order, which
        // the plugin does not read after the call.
        let made = unsafe { plugin.call(call, plugin.api.client_buffer_from_host_buffer, fields) }?;
        let event = NonNull::new(made.done_with_host_buffer).map(|event| Event { plugin, event });
        let buffer = RawBuffer { client: self.clone(), buffer: given(call, made.buffer)? };
        event.map_or(Ok(()), |event| event.wait(call))?;
        Ok(buffer)
    }
}

impl Drop for RawClient {
    fn drop(&mut self) {
        // SAFETY: every object of the client owns a reference to it, so all of them have been destroyed.
        unsafe { self.plugin.destroy("PJRT_Client_Destroy", self.plugin.api.client_destroy, self.client) };
    }
}

#[cfg(test)]
mod fake;
