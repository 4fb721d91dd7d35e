//! Buffers of a plugin: arrays on one device.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use super::{Bits, Event, RawClient, given};
use crate::pjrt::error::Error;
use crate::pjrt::layout::{Dimensions, MemoryLayout, Number, Related, ToHost};

/// An array on a device.
pub(in crate::pjrt) struct RawBuffer {
    pub(super) client: Arc<RawClient>,
    pub(super) buffer: NonNull<c_void>,
}

// SAFETY: the functions of the interface may be called from any thread.
unsafe impl Send for RawBuffer {}
// SAFETY: as above.
unsafe impl Sync for RawBuffer {}

impl RawBuffer {
    /// The code of the element type.
    pub(in crate::pjrt) fn element_type(&self) -> Result<i32, Error> {
        let (plugin, call) = (self.client.plugin, "PJRT_Buffer_ElementType");
        let fields = Number { of: self.buffer.as_ptr(), out: 0 };
        // SAFETY: the buffer is alive.
        let found = unsafe { plugin.call(call, plugin.api.buffer_element_type, fields) }?;
        Ok(found.out)
    }

    /// The shape, which is known before the elements are computed.
    pub(in crate::pjrt) fn shape(&self) -> Result<Vec<usize>, Error> {
        let (plugin, call) = (self.client.plugin, "PJRT_Buffer_Dimensions");
        let fields = Dimensions { buffer: self.buffer.as_ptr(), start: ptr::null(), length: 0 };
        // SAFETY: the buffer is alive, and its sizes as long as it is.
        let found = unsafe { plugin.call(call, plugin.api.buffer_dimensions, fields) }?;
        if found.length == 0 {
            return Ok(Vec::new());
        }
        if found.start.is_null() {
            return Err(Error::Missing { call, what: "gives a null pointer" });
        }
        // SAFETY: the plugin states this number of sizes.
        let sizes = unsafe { slice::from_raw_parts(found.start, found.length) };
        let known =
            |n: &i64| usize::try_from(*n).map_err(|_| Error::Missing { call, what: "gives a size that is not known" });
        sizes.iter().map(known).collect()
    }

    /// Waits until the elements are computed.
    pub(in crate::pjrt) fn wait(&self) -> Result<(), Error> {
        let (plugin, call) = (self.client.plugin, "PJRT_Buffer_ReadyEvent");
        let fields = Related { of: self.buffer.as_ptr(), out: ptr::null_mut() };
        // SAFETY: the buffer is alive.
        let event = unsafe { plugin.call(call, plugin.api.buffer_ready_event, fields) }?.out;
        Event { plugin, event: given(call, event)? }.wait(call)
    }

    /// Waits until the elements are computed, and copies them in row-major order; `place` must have the size of all of
    /// them.
    pub(in crate::pjrt) fn download<B: Bits>(&self, rank: usize, place: &mut [B]) -> Result<(), Error> {
        let (plugin, call) = (self.client.plugin, "PJRT_Buffer_ToHostBuffer");
        let order: Vec<i64> = (0..rank as i64).rev().collect();
        let layout = MemoryLayout::of_order(&order);
        let fields = |place: *mut c_void, bytes: usize| ToHost {
            buffer: self.buffer.as_ptr(),
            layout: &raw const layout,
            place,
            bytes,
            event: ptr::null_mut(),
        };
        let needed = size_of_val(place);
        // SAFETY: the buffer is alive; with a null destination only the size is returned.
        let found = unsafe { plugin.call(call, plugin.api.buffer_to_host_buffer, fields(ptr::null_mut(), 0)) }?;
        if found.bytes != needed {
            return Err(Error::Bytes { needed, given: found.bytes });
        }
        let fields = fields(place.as_mut_ptr().cast::<c_void>(), needed);
        // SAFETY: the buffer is alive, and the destination has its size and lives until the event, which is waited for;
        // any bit pattern is a value of the type.
        let found = unsafe { plugin.call(call, plugin.api.buffer_to_host_buffer, fields) }?;
        Event { plugin, event: given(call, found.event)? }.wait(call)
    }
}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        let plugin = self.client.plugin;
        // SAFETY: the buffer is ours; the plugin keeps alive what unfinished runs need.
        unsafe { plugin.destroy("PJRT_Buffer_Destroy", plugin.api.buffer_destroy, self.buffer) };
    }
}
