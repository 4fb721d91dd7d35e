//! The layouts of the structs of the C interface that are used.
//!
//! Laws of the interface: a struct begins with its size in bytes and a pointer to extensions; new versions only append
//! fields. So an older plugin reads a prefix of a struct, and a newer plugin determines from the size which fields
//! exist. The layouts are those of the header `pjrt_c_api.h` of OpenXLA: its versions 0.33, 0.81 and 0.113 agree in all
//! fields used here.
//!
//! Arguments of calls end with a reserve of zeros, which is included in their size ([`Args`]): plugins refuse structs
//! that are shorter than their own, and zero means "not used" in every field that has been appended so far.

use std::ffi::{c_char, c_void};
use std::ptr;

/// A pointer to an object of the plugin.
pub(super) type Opaque = *mut c_void;

/// A function of the table with arguments `A`, which returns null, or an error that the caller destroys.
pub(super) type Call<A> = Option<unsafe extern "C" fn(*mut Args<A>) -> Opaque>;

/// A function of the table that cannot fail.
pub(super) type Told<A> = Option<unsafe extern "C" fn(*mut Args<A>)>;

/// A function of the table that is not used.
type Unused = *const c_void;

/// The number of zero words at the end of arguments.
const RESERVE: usize = 16;

/// The arguments of a call, or a struct that they point to: size, extensions, fields, zeros.
#[repr(C)]
pub(super) struct Args<A> {
    size: usize,
    extensions: *const c_void,
    pub(super) fields: A,
    reserve: [usize; RESERVE],
}

impl<A> Args<A> {
    pub(super) fn new(fields: A) -> Args<A> {
        Args { size: size_of::<Args<A>>(), extensions: ptr::null(), fields, reserve: [0; RESERVE] }
    }
}

/// The version of the interface that a plugin was compiled with.
#[repr(C)]
pub(super) struct Version {
    pub(super) size: usize,
    extensions: *const c_void,
    pub(super) major: i32,
    pub(super) minor: i32,
}

/// The start of the table of functions, which can be read before the version is known.
#[repr(C)]
pub(super) struct Header {
    pub(super) size: usize,
    extensions: *const c_void,
    pub(super) version: Version,
}

/// The table of functions, up to the last one that is used.
#[repr(C)]
pub(super) struct Api {
    pub(super) header: Header,
    pub(super) error_destroy: Told<Handle>,
    pub(super) error_message: Told<Text>,
    pub(super) error_code: Unused,
    pub(super) plugin_initialize: Call<Nothing>,
    plugin_attributes: Unused,
    pub(super) event_destroy: Call<Handle>,
    event_queries: [Unused; 2],
    pub(super) event_await: Call<Handle>,
    event_on_ready: Unused,
    pub(super) client_create: Call<ClientCreate>,
    pub(super) client_destroy: Call<Handle>,
    pub(super) client_platform_name: Call<Text>,
    client_process_index: Unused,
    pub(super) client_platform_version: Call<Text>,
    client_devices: Unused,
    pub(super) client_addressable_devices: Call<Devices>,
    client_queries: [Unused; 3],
    pub(super) client_compile: Call<Compile>,
    client_default_device_assignment: Unused,
    pub(super) client_buffer_from_host_buffer: Call<FromHost>,
    pub(super) device_description_id: Call<Number>,
    device_description_queries: [Unused; 2],
    pub(super) device_description_kind: Call<Text>,
    device_description_texts: [Unused; 2],
    pub(super) device_get_description: Call<Related>,
    device_queries: [Unused; 5],
    memory_queries: [Unused; 5],
    pub(super) executable_destroy: Call<Handle>,
    executable_numbers: [Unused; 3],
    pub(super) executable_num_outputs: Call<Counted>,
    executable_queries: [Unused; 3],
    pub(super) executable_optimized_program: Call<Optimized>,
    executable_serialize: Unused,
    pub(super) loaded_executable_destroy: Call<Handle>,
    pub(super) loaded_executable_get_executable: Call<Related>,
    loaded_executable_queries: [Unused; 3],
    pub(super) loaded_executable_execute: Call<Execute>,
    executable_saved: [Unused; 2],
    pub(super) buffer_destroy: Call<Handle>,
    pub(super) buffer_element_type: Call<Number>,
    pub(super) buffer_dimensions: Call<Dimensions>,
    buffer_queries: [Unused; 9],
    pub(super) buffer_to_host_buffer: Call<ToHost>,
    buffer_is_on_cpu: Unused,
    pub(super) buffer_ready_event: Call<Related>,
}

/// No fields.
#[repr(C)]
pub(super) struct Nothing;

/// The object of a call.
#[repr(C)]
pub(super) struct Handle {
    pub(super) of: Opaque,
}

/// An object, and another object that is returned.
#[repr(C)]
pub(super) struct Related {
    pub(super) of: Opaque,
    pub(super) out: Opaque,
}

/// An object, and a number that is returned: an identifier, or the code of an element type.
#[repr(C)]
pub(super) struct Number {
    pub(super) of: Opaque,
    pub(super) out: i32,
}

/// An object, and a count that is returned.
#[repr(C)]
pub(super) struct Counted {
    pub(super) of: Opaque,
    pub(super) out: usize,
}

/// An object, and characters that are returned and live as long as the object.
#[repr(C)]
pub(super) struct Text {
    pub(super) of: Opaque,
    pub(super) start: *const c_char,
    pub(super) length: usize,
}

/// Options and callbacks, all unused, and the client that is returned.
#[repr(C)]
pub(super) struct ClientCreate {
    pub(super) options: *const c_void,
    pub(super) number_of_options: usize,
    pub(super) callbacks: [*const c_void; 4],
    pub(super) client: Opaque,
}

/// A client, and its devices, which are returned and live as long as the client.
#[repr(C)]
pub(super) struct Devices {
    pub(super) client: Opaque,
    pub(super) start: *const Opaque,
    pub(super) length: usize,
}

/// A program, and the name of its format.
#[repr(C)]
pub(super) struct Program {
    pub(super) code: *const c_char,
    pub(super) code_length: usize,
    pub(super) format: *const c_char,
    pub(super) format_length: usize,
}

/// A program, options in the wire format of protocol buffers, and the executable that is returned.
#[repr(C)]
pub(super) struct Compile {
    pub(super) client: Opaque,
    pub(super) program: *const Args<Program>,
    pub(super) options: *const c_char,
    pub(super) options_length: usize,
    pub(super) executable: Opaque,
}

/// The description of an executable, and the place for its program after optimization.
#[repr(C)]
pub(super) struct Optimized {
    pub(super) of: Opaque,
    pub(super) program: *mut Args<Program>,
}

/// Elements on the host, and the buffer and the event that are returned.
#[repr(C)]
pub(super) struct FromHost {
    pub(super) client: Opaque,
    pub(super) data: *const c_void,
    pub(super) element_type: i32,
    pub(super) sizes: *const i64,
    pub(super) rank: usize,
    pub(super) strides: *const i64,
    pub(super) number_of_strides: usize,
    pub(super) semantics: i32,
    pub(super) device: Opaque,
    pub(super) memory: Opaque,
    pub(super) device_layout: *const c_void,
    pub(super) done_with_host_buffer: Opaque,
    pub(super) buffer: Opaque,
}

/// The semantics by which the plugin does not read the elements on the host after the call.
pub(super) const IMMUTABLE_ONLY_DURING_CALL: i32 = 0;

/// A buffer, and its sizes, which are returned and live as long as the buffer.
#[repr(C)]
pub(super) struct Dimensions {
    pub(super) buffer: Opaque,
    pub(super) start: *const i64,
    pub(super) length: usize,
}

/// A layout by the order of axes in memory, from the one of stride 1 on, and by tiles, an empty list here.
#[repr(C)]
pub(super) struct Tiled {
    size: usize,
    extensions: *const c_void,
    minor_to_major: *const i64,
    rank: usize,
    tile_sizes: *const i64,
    tile_ranks: *const usize,
    number_of_tiles: usize,
}

/// A layout in memory of the first kind, which is [`Tiled`].
#[repr(C)]
pub(super) struct MemoryLayout {
    size: usize,
    extensions: *const c_void,
    tiled: Tiled,
    kind: i32,
}

impl MemoryLayout {
    /// The layout with this order of axes; the slice must live as long as the layout is used.
    pub(super) fn of_order(minor_to_major: &[i64]) -> MemoryLayout {
        let tiled = Tiled {
            size: size_of::<Tiled>(),
            extensions: ptr::null(),
            minor_to_major: minor_to_major.as_ptr(),
            rank: minor_to_major.len(),
            tile_sizes: ptr::null(),
            tile_ranks: ptr::null(),
            number_of_tiles: 0,
        };
        MemoryLayout { size: size_of::<MemoryLayout>(), extensions: ptr::null(), tiled, kind: 0 }
    }
}

/// A buffer, the destination of its elements, and the event that is returned. With a null destination, only the size is
/// returned.
#[repr(C)]
pub(super) struct ToHost {
    pub(super) buffer: Opaque,
    pub(super) layout: *const MemoryLayout,
    pub(super) place: *mut c_void,
    pub(super) bytes: usize,
    pub(super) event: Opaque,
}

/// Options of a run: no callbacks, and the inputs that must not be donated.
#[repr(C)]
pub(super) struct ExecuteOptions {
    pub(super) callbacks: [*const c_void; 2],
    pub(super) numbers_of_callbacks: [usize; 2],
    pub(super) launch: i32,
    pub(super) kept: *const i64,
    pub(super) number_of_kept: usize,
}

/// A run: for each device, a list of input buffers and a list of destinations for output buffers.
#[repr(C)]
pub(super) struct Execute {
    pub(super) executable: Opaque,
    pub(super) options: *mut Args<ExecuteOptions>,
    pub(super) inputs: *const *const Opaque,
    pub(super) number_of_devices: usize,
    pub(super) number_of_inputs: usize,
    pub(super) outputs: *const *mut Opaque,
    pub(super) complete_events: *mut Opaque,
    pub(super) device: Opaque,
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The index of a function in the table of the header, from its offset.
    fn number(offset: usize) -> usize {
        (offset - 40) / 8
    }

    #[test]
    fn functions_lie_where_the_header_has_them() {
        assert_eq!(size_of::<Header>(), 40);
        assert_eq!(number(offset_of!(Api, error_destroy)), 0);
        assert_eq!(number(offset_of!(Api, plugin_initialize)), 3);
        assert_eq!(number(offset_of!(Api, event_destroy)), 5);
        assert_eq!(number(offset_of!(Api, event_await)), 8);
        assert_eq!(number(offset_of!(Api, client_create)), 10);
        assert_eq!(number(offset_of!(Api, client_platform_version)), 14);
        assert_eq!(number(offset_of!(Api, client_addressable_devices)), 16);
        assert_eq!(number(offset_of!(Api, client_compile)), 20);
        assert_eq!(number(offset_of!(Api, client_buffer_from_host_buffer)), 22);
        assert_eq!(number(offset_of!(Api, device_description_kind)), 26);
        assert_eq!(number(offset_of!(Api, device_get_description)), 29);
        assert_eq!(number(offset_of!(Api, executable_destroy)), 40);
        assert_eq!(number(offset_of!(Api, executable_num_outputs)), 44);
        assert_eq!(number(offset_of!(Api, executable_optimized_program)), 48);
        assert_eq!(number(offset_of!(Api, loaded_executable_destroy)), 50);
        assert_eq!(number(offset_of!(Api, loaded_executable_execute)), 55);
        assert_eq!(number(offset_of!(Api, buffer_destroy)), 58);
        assert_eq!(number(offset_of!(Api, buffer_to_host_buffer)), 70);
        assert_eq!(number(offset_of!(Api, buffer_ready_event)), 72);
        assert_eq!(number(size_of::<Api>()), 73);
    }

    #[test]
    fn fields_lie_where_the_header_has_them() {
        assert_eq!(offset_of!(Args<Handle>, fields), 16);
        assert_eq!((offset_of!(FromHost, sizes), offset_of!(FromHost, device), size_of::<FromHost>()), (24, 64, 104));
        assert_eq!((offset_of!(MemoryLayout, tiled), offset_of!(MemoryLayout, kind), size_of::<Tiled>()), (16, 72, 56));
        assert_eq!((offset_of!(ExecuteOptions, launch), offset_of!(ExecuteOptions, kept)), (32, 40));
        assert_eq!((offset_of!(Execute, outputs), size_of::<Execute>()), (40, 64));
        assert_eq!((offset_of!(ClientCreate, client), offset_of!(Compile, executable)), (48, 32));
    }
}
