//! Tests with a fake plugin that logs its calls, and with errors that real plugins do not have.

use std::cell::RefCell;
use std::mem;

use super::super::layout::{Counted, Execute, Optimized};
use super::*;

thread_local! {
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn log(what: &'static str) {
    LOG.with_borrow_mut(|log| log.push(what));
}

/// Takes the log of the calls so far.
fn calls() -> Vec<&'static str> {
    LOG.with_borrow_mut(mem::take)
}

/// The target of the fake plugin's pointers.
static OBJECT: u64 = 0;

fn object() -> Opaque {
    (&raw const OBJECT).cast_mut().cast()
}

/// Defines a function that logs its name and succeeds.
macro_rules! logged {
    ($name:ident, $fields:ty, $what:literal) => {
        unsafe extern "C" fn $name(_: *mut Args<$fields>) -> Opaque {
            log($what);
            ptr::null_mut()
        }
    };
}

logged!(set_up, Nothing, "set up");
logged!(client_destroy, Handle, "client gone");
logged!(executable_destroy, Handle, "description gone");
logged!(loaded_executable_destroy, Handle, "executable gone");
logged!(buffer_destroy, Handle, "buffer gone");
logged!(event_destroy, Handle, "event gone");
logged!(event_await, Handle, "waited");

/// Defines a function that sets some fields.
macro_rules! gives {
    ($name:ident, $fields:ty, $($field:ident = $value:expr),+) => {
        unsafe extern "C" fn $name(args: *mut Args<$fields>) -> Opaque {
            $(unsafe { (*args).fields.$field = $value };)+
            ptr::null_mut()
        }
    };
}

struct Listed([Opaque; 1]);
// SAFETY: the functions do not dereference the pointers.
unsafe impl Sync for Listed {}
static DEVICES: Listed = Listed([(&raw const OBJECT).cast_mut().cast()]);

gives!(client_create, ClientCreate, client = object());
gives!(client_devices, Devices, start = DEVICES.0.as_ptr(), length = 1);
gives!(compile, Compile, executable = object());
gives!(get_executable, Related, out = object());
gives!(num_outputs, Counted, out = 2);
gives!(from_host, FromHost, buffer = object(), done_with_host_buffer = object());

/// A run that returns one of two results on each device, and fails.
unsafe extern "C" fn execute_halfway(args: *mut Args<Execute>) -> Opaque {
    for device in 0..unsafe { (*args).fields.number_of_devices } {
        unsafe { **(*args).fields.outputs.add(device) = object() };
        log("run");
    }
    object()
}

/// Gives the length of a program and its format, and the program itself if there is a place.
unsafe extern "C" fn optimized(args: *mut Args<Optimized>) -> Opaque {
    let program = unsafe { &mut (*(*args).fields.program).fields };
    let (code, format) = (b"code", "hlo");
    if program.code.is_null() {
        program.code_length = code.len();
    } else {
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), program.code.cast_mut().cast(), code.len()) };
    }
    (program.format, program.format_length) = (format.as_ptr().cast(), format.len());
    ptr::null_mut()
}

unsafe extern "C" fn error_message(args: *mut Args<Text>) {
    let text = "no room";
    unsafe { ((*args).fields.start, (*args).fields.length) = (text.as_ptr().cast(), text.len()) };
}

unsafe extern "C" fn error_destroy(_: *mut Args<Handle>) {
    log("error gone");
}

/// A table that is leaked and constant from now on, as those of libraries are.
fn table(change: impl FnOnce(&mut Api)) -> *const Header {
    // SAFETY: zeros are null pointers and absent functions.
    let mut api: Api = unsafe { mem::zeroed() };
    api.header.size = size_of::<Api>();
    (api.header.version.major, api.header.version.minor) = (0, OLDEST);
    api.error_message = Some(error_message);
    api.error_destroy = Some(error_destroy);
    api.plugin_initialize = Some(set_up);
    api.event_destroy = Some(event_destroy);
    api.event_await = Some(event_await);
    api.client_create = Some(client_create);
    api.client_destroy = Some(client_destroy);
    api.client_addressable_devices = Some(client_devices);
    api.client_compile = Some(compile);
    api.client_buffer_from_host_buffer = Some(from_host);
    api.executable_destroy = Some(executable_destroy);
    api.executable_num_outputs = Some(num_outputs);
    api.executable_optimized_program = Some(optimized);
    api.loaded_executable_destroy = Some(loaded_executable_destroy);
    api.loaded_executable_get_executable = Some(get_executable);
    api.loaded_executable_execute = Some(execute_halfway);
    api.buffer_destroy = Some(buffer_destroy);
    change(&mut api);
    ptr::from_ref(Box::leak(Box::new(api))).cast()
}

fn plugin(change: impl FnOnce(&mut Api)) -> Result<Plugin, Error> {
    // SAFETY: the table is of the layout of its version, and leaked.
    unsafe { Plugin::of_table(table(change)) }
}

fn refused(change: impl FnOnce(&mut Api)) -> String {
    match plugin(change) {
        Ok(_) => panic!("an error was expected"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn tables_of_other_versions_are_refused() {
    assert!(plugin(|api| api.header.version.minor = 1000).is_ok());
    assert!(plugin(|api| api.header.size += 800).is_ok());
    assert!(refused(|api| api.header.version.minor = OLDEST - 1).contains("it is 0.56"));
    assert!(refused(|api| api.header.version.major = 1).contains("it is 1.57"));
    // The version of a table that is too short for it is not read.
    assert!(refused(|api| api.header.size = 39).ends_with("it has 39; use another release of the plugin"));
    assert!(refused(|api| api.header.size -= 8).contains(&format!("it has {}", size_of::<Api>() - 8)));
    // SAFETY: null is allowed.
    let none = unsafe { Plugin::of_table(ptr::null()) };
    assert!(none.is_err_and(|e| e.to_string().contains("it gives no table")));
}

#[test]
fn libraries_that_are_none_or_no_plugins_are_errors() {
    for path in ["/no/such/library.so", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")] {
        let error = Plugin::load(Path::new(path)).err();
        assert!(matches!(&error, Some(Error::Library { path: p, .. }) if p == Path::new(path)), "{error:?}");
    }
    if cfg!(target_os = "linux") {
        let error = Plugin::load(Path::new("libc.so.6")).err();
        assert!(matches!(error, Some(Error::NoPlugin { .. })), "{error:?}");
    }
}

#[test]
fn functions_that_are_missing_or_give_nothing_are_errors() {
    let missing = plugin(|api| api.client_create = None).map(RawClient::create);
    assert!(matches!(missing, Ok(Err(Error::Missing { call: "PJRT_Client_Create", what: "is not in its table" }))));
    let nothing = plugin(|api| api.client_create = None::<unsafe extern "C" fn(_) -> _>.or(Some(creates_nothing)));
    assert!(matches!(nothing.map(RawClient::create), Ok(Err(Error::Missing { what: "gives a null pointer", .. }))));
    assert!(calls().is_empty());
}

gives!(creates_nothing, ClientCreate, client = ptr::null_mut());

#[test]
fn a_plugin_is_set_up_once() {
    let plugin = plugin(|_| {}).expect("a plugin");
    plugin.set_up().expect("no error");
    plugin.set_up().expect("no error");
    assert_eq!(calls(), ["set up"]);
}

#[test]
fn everything_is_given_back_once_and_the_client_last() {
    let client = Arc::new(RawClient::create(plugin(|_| {}).expect("a plugin")).expect("a client"));
    let executable = client.compile("", &[]).expect("an executable");
    assert_eq!((executable.outputs(), calls()), (2, vec!["description gone"]));
    let buffer = client.upload(0, &[2], &[1.0, 2.0]).expect("a buffer");
    assert_eq!(calls(), ["waited", "event gone"]);
    drop(client);
    assert!(calls().is_empty(), "the client is still needed");
    // A result that was returned although the run failed is destroyed, too.
    for devices in 1..=3 {
        let failed = executable.execute(&vec![vec![&buffer]; devices]).err().map(|e| e.to_string());
        assert_eq!(failed.as_deref(), Some("PJRT_LoadedExecutable_Execute: no room"));
        assert_eq!(calls(), [&vec!["run"; devices][..], &["error gone"], &vec!["buffer gone"; devices]].concat());
    }
    assert_eq!(executable.optimized().expect("a program"), (b"code".to_vec(), "hlo".to_owned()));
    assert_eq!(calls(), ["description gone"]);
    drop(executable);
    assert_eq!(calls(), ["executable gone"]);
    drop(buffer);
    assert_eq!(calls(), ["buffer gone", "client gone"]);
}
