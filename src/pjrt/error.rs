//! The errors of plugins, and of their use.

use std::path::PathBuf;

use crate::dtype::DType;
use crate::errors::debug_by_display;

/// A plugin that cannot be used, a call that it refuses, or buffers that do not fit.
///
/// ```
/// use polygrad::pjrt::{Client, Error};
/// let missing = Client::load("/no/such/plugin.so");
/// assert!(matches!(missing, Err(Error::Library { .. })));
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No plugin was named.
    #[error(
        "pjrt: a plugin must be named, but POLYGRAD_PJRT_PLUGIN is not set; set it to the path of the library of a plugin, or \
         use `Client::load`"
    )]
    NotNamed,
    /// The library cannot be loaded.
    #[error(
        "pjrt: {path:?} must be a library that can be loaded, but it is not ({reason}); name the library of a plugin"
    )]
    Library {
        /// The path of the library.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
    /// The library is not that of a plugin.
    #[error(
        "pjrt: the library of a plugin must have a function `GetPjrtApi`, but {path:?} has none; name that of a plugin"
    )]
    NoPlugin {
        /// The path of the library.
        path: PathBuf,
    },
    /// The interface of the plugin has an unsupported version.
    #[error(
        "pjrt: the interface of the plugin must have version 0.{oldest} or a later version 0, but it is {major}.{minor}; use \
         another release of the plugin"
    )]
    Version {
        /// The major version of the plugin's interface.
        major: i32,
        /// The minor version of the plugin's interface.
        minor: i32,
        /// The oldest supported minor version.
        oldest: i32,
    },
    /// The table of functions is shorter than its version says.
    #[error(
        "pjrt: the table of functions of the plugin must have at least {needed} bytes, but it has {given}; use another release \
         of the plugin"
    )]
    Table {
        /// The bytes of the table up to the last function that is used.
        needed: usize,
        /// The bytes that the plugin reports.
        given: usize,
    },
    /// A function is missing, or returned no result where one is required.
    #[error("pjrt: the plugin must have a working `{call}`, but it {what}; use another release of the plugin")]
    Missing {
        /// The name of the function.
        call: &'static str,
        /// The defect, as the end of a sentence.
        what: &'static str,
    },
    /// A call fails, or the asynchronous work that it started.
    #[error("{call}: {message}")]
    Plugin {
        /// The name of the function.
        call: &'static str,
        /// The message of the plugin.
        message: String,
    },
    /// No device has this number.
    #[error("pjrt: the number of a device must be less than {devices}, but it is {given}; `devices` lists them")]
    Device {
        /// The number of devices of the client.
        devices: usize,
        /// The number that was given.
        given: usize,
    },
    /// A program needs more devices than there are.
    #[error(
        "pjrt: the client must have the {needed} devices of the mesh from number {first} on, but it has {devices}; take a \
         smaller mesh, or a client with more devices"
    )]
    Devices {
        /// The number of devices of the program's mesh.
        needed: usize,
        /// The number of the first one.
        first: usize,
        /// The number of devices of the client.
        devices: usize,
    },
    /// A sharding in the text of a program is not one that is supported.
    #[error(
        "pjrt: shardings must be those that `Exported::sharded` writes, but there is {text}; divide axes evenly, by whole axes \
         of one mesh"
    )]
    Sharding {
        /// The sharding that was found.
        text: String,
    },
    /// A buffer is not on the devices that the program needs, or is divided differently.
    #[error(
        "pjrt: argument {number} must be {needed} from number {first} on, but it is {given} from number {given_first} on; \
         `Executable::upload` divides arrays as the program needs them"
    )]
    Placement {
        /// The number of the argument, from 0.
        number: usize,
        /// The parts and devices that the program needs.
        needed: String,
        /// The number of the first device of the program.
        first: usize,
        /// The parts and devices of the argument.
        given: String,
        /// The number of the first device of the argument.
        given_first: usize,
    },
    /// A program has no input of this number.
    #[error("pjrt: the number of an input must be less than {inputs}, but it is {given}; count them from 0")]
    Input {
        /// The number of inputs.
        inputs: usize,
        /// The number that was given.
        given: usize,
    },
    /// A program got another number of arguments.
    #[error("pjrt: the program takes {needed} arguments, but {given} were given; give one for each input")]
    Arguments {
        /// The number of inputs of the program.
        needed: usize,
        /// The number of arguments.
        given: usize,
    },
    /// An argument has a different shape or element type than the input of the program.
    #[error(
        "pjrt: argument {number} must be {needed}, but it is {given}; export the program for arguments of this kind"
    )]
    Argument {
        /// The number of the argument, from 0.
        number: usize,
        /// The type of the input, as StableHLO writes it.
        needed: String,
        /// The type of the argument.
        given: String,
    },
    /// A buffer belongs to another client.
    #[error(
        "pjrt: argument {number} must be a buffer of the client of the program, but it belongs to another one; upload it again"
    )]
    OtherClient {
        /// The number of the argument, from 0.
        number: usize,
    },
    /// A result has an element type that arrays do not have.
    #[error(
        "pjrt: results must have elements of {}, but result {number} has those of type {code} of the interface; convert it in the program",
        names()
    )]
    ElementType {
        /// The number of the result, from 0.
        number: usize,
        /// The code of the element type in the C interface.
        code: i32,
    },
    /// A buffer has a different number of bytes than its shape says.
    #[error(
        "pjrt: the elements of {needed} bytes were to be copied, but the plugin says they are {given}; use another release of the plugin"
    )]
    Bytes {
        /// The bytes of the shape.
        needed: usize,
        /// The bytes that the plugin reports.
        given: usize,
    },
}

debug_by_display!(Error);

fn names() -> String {
    DType::ALL.map(DType::name).join(", ")
}
