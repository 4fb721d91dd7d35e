//! Programs that a plugin compiled, for one device or several.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::{RawBuffer, RawClient, copied, given};
use crate::pjrt::error::Error;
use crate::pjrt::layout::{Args, Counted, Execute, ExecuteOptions, Opaque, Optimized, Program, Related, Text};

/// A compiled program on its devices.
pub(in crate::pjrt) struct RawExecutable {
    client: Arc<RawClient>,
    executable: NonNull<c_void>,
    outputs: usize,
}

// SAFETY: the functions of the interface may be called from any thread.
unsafe impl Send for RawExecutable {}
// SAFETY: as above.
unsafe impl Sync for RawExecutable {}

impl RawExecutable {
    /// The executable, which is ours from now on.
    pub(super) fn of(client: Arc<RawClient>, executable: NonNull<c_void>) -> Result<RawExecutable, Error> {
        let mut made = RawExecutable { client, executable, outputs: 0 };
        made.outputs = made.described(|of| {
            let plugin = made.client.plugin;
            let (call, f) = ("PJRT_Executable_NumOutputs", plugin.api.executable_num_outputs);
            // SAFETY: the description is alive.
            unsafe { plugin.call(call, f, Counted { of, out: 0 }) }.map(|count| count.out)
        })?;
        Ok(made)
    }

    pub(in crate::pjrt) fn client(&self) -> &Arc<RawClient> {
        &self.client
    }

    /// The number of results.
    pub(in crate::pjrt) fn outputs(&self) -> usize {
        self.outputs
    }

    /// What a function reads off the description of the executable.
    fn described<R>(&self, read: impl FnOnce(Opaque) -> Result<R, Error>) -> Result<R, Error> {
        let (plugin, call) = (self.client.plugin, "PJRT_LoadedExecutable_GetExecutable");
        let fields = Related { of: self.executable.as_ptr(), out: ptr::null_mut() };
        // SAFETY: the executable is alive; its description is ours, and destroyed here.
        unsafe {
            let found = plugin.call(call, plugin.api.loaded_executable_get_executable, fields)?;
            let of = given(call, found.out)?;
            let result = read(of.as_ptr());
            plugin.destroy("PJRT_Executable_Destroy", plugin.api.executable_destroy, of);
            result
        }
    }

    /// The program after optimization, as bytes, and the name of their format.
    pub(in crate::pjrt) fn optimized(&self) -> Result<(Vec<u8>, String), Error> {
        self.described(|of| {
            let (plugin, call) = (self.client.plugin, "PJRT_Executable_OptimizedProgram");
            let f = plugin.api.executable_optimized_program;
            let none = Program { code: ptr::null(), code_length: 0, format: ptr::null(), format_length: 0 };
            let mut program = Args::new(none);
            // SAFETY: the description is alive; without a destination only the length and the format are returned.
            unsafe { plugin.call(call, f, Optimized { of, program: &raw mut program }) }?;
            let mut bytes = vec![0u8; program.fields.code_length];
            program.fields.code = bytes.as_mut_ptr().cast_const().cast::<c_char>();
            // SAFETY: the destination has the length that was returned.
            unsafe { plugin.call(call, f, Optimized { of, program: &raw mut program }) }?;
            let format =
                Text { of: ptr::null_mut(), start: program.fields.format, length: program.fields.format_length };
            // SAFETY: the name of the format is a constant of the plugin.
            Ok((bytes, unsafe { copied(&format) }))
        })
    }

    /// Starts a run on every device of the program, each with a list of inputs, and returns the buffers of its results
    /// for each, whose elements may not be computed yet. Input buffers must belong to the same client, and are not
    /// donated; the lists have the same length.
    pub(in crate::pjrt) fn execute(&self, inputs: &[Vec<&RawBuffer>]) -> Result<Vec<Vec<RawBuffer>>, Error> {
        let (plugin, call) = (self.client.plugin, "PJRT_LoadedExecutable_Execute");
        let count = inputs.first().map_or(0, Vec::len);
        for of_device in inputs {
            assert_eq!(of_device.len(), count, "every device has as many inputs");
            if let Some(number) = of_device.iter().position(|input| !Arc::ptr_eq(&self.client, &input.client)) {
                return Err(Error::OtherClient { number });
            }
        }
        let kept: Vec<i64> = (0..count as i64).collect();
        let mut options = Args::new(ExecuteOptions {
            callbacks: [ptr::null(); 2],
            numbers_of_callbacks: [0; 2],
            launch: 0,
            kept: kept.as_ptr(),
            number_of_kept: kept.len(),
        });
        let pointers = |buffers: &Vec<&RawBuffer>| buffers.iter().map(|b| b.buffer.as_ptr()).collect();
        let inputs: Vec<Vec<Opaque>> = inputs.iter().map(pointers).collect();
        let mut outputs: Vec<Vec<Opaque>> = vec![vec![ptr::null_mut(); self.outputs]; inputs.len()];
        let inputs_of_devices: Vec<*const Opaque> = inputs.iter().map(Vec::as_ptr).collect();
        let outputs_of_devices: Vec<*mut Opaque> = outputs.iter_mut().map(Vec::as_mut_ptr).collect();
        let fields = Execute {
            executable: self.executable.as_ptr(),
            options: &raw mut options,
            inputs: inputs_of_devices.as_ptr(),
            number_of_devices: inputs.len(),
            number_of_inputs: count,
            outputs: outputs_of_devices.as_ptr(),
            complete_events: ptr::null_mut(),
            device: ptr::null_mut(),
        };
        // SAFETY: the executable is for as many devices; it and all inputs are alive and of one client; there is a
        // destination for each result on each device; the lists need to live through the call only.
        let done = unsafe { plugin.call(call, plugin.api.loaded_executable_execute, fields) };
        // Results are ours even if the call fails halfway.
        let ours = |out| given(call, out).map(|buffer| RawBuffer { client: self.client.clone(), buffer });
        let made: Vec<Vec<Result<RawBuffer, Error>>> =
            outputs.into_iter().map(|of_device| of_device.into_iter().map(ours).collect()).collect();
        done?;
        made.into_iter().map(|of_device| of_device.into_iter().collect()).collect()
    }
}

impl Drop for RawExecutable {
    fn drop(&mut self) {
        let (plugin, call) = (self.client.plugin, "PJRT_LoadedExecutable_Destroy");
        // SAFETY: the executable is ours; the plugin keeps alive what unfinished runs need.
        unsafe { plugin.destroy(call, plugin.api.loaded_executable_destroy, self.executable) };
    }
}
