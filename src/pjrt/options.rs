//! Compile options for a plugin, encoded in the wire format of protocol buffers.
//!
//! The options are the message `CompileOptionsProto` of XLA with the fields that must be set. A field is encoded as one
//! varint with its number and wire type, then its value.

/// The field of the options that holds the build options.
const BUILD: u64 = 3;
/// Fields of the build options.
const ORDINAL: u64 = 1;
const REPLICAS: u64 = 4;
const PARTITIONS: u64 = 5;
const PARTITIONED: u64 = 6;
const ASSIGNMENT: u64 = 9;
const SHARDY: u64 = 19;
/// Fields of the device assignment.
const REPLICA_COUNT: u64 = 1;
const COMPUTATION_COUNT: u64 = 2;
const DEVICES: u64 = 3;
/// The field of the devices of one computation that holds their identifiers.
const IDENTIFIERS: u64 = 1;

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn number(field: u64, n: i64, out: &mut Vec<u8>) {
    varint(field << 3, out);
    varint(n as u64, out);
}

fn message(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// The options of a program for the devices with these identifiers; with a mesh, the partitioner divides it among them.
pub(super) fn for_devices(identifiers: &[i32], mesh: bool) -> Vec<u8> {
    let (mut assignment, mut build, mut out) = <(Vec<u8>, _, _)>::default();
    let count = identifiers.len() as i64;
    number(REPLICA_COUNT, 1, &mut assignment);
    number(COMPUTATION_COUNT, count, &mut assignment);
    for identifier in identifiers {
        let (mut packed, mut device) = <(Vec<u8>, _)>::default();
        varint(i64::from(*identifier) as u64, &mut packed);
        message(IDENTIFIERS, &packed, &mut device);
        message(DEVICES, &device, &mut assignment);
    }
    // The ordinal -1 means that the device assignment determines the device.
    number(ORDINAL, -1, &mut build);
    number(REPLICAS, 1, &mut build);
    number(PARTITIONS, count, &mut build);
    if mesh {
        number(PARTITIONED, 1, &mut build);
    }
    message(ASSIGNMENT, &assignment, &mut build);
    if mesh {
        number(SHARDY, 1, &mut build);
    }
    message(BUILD, &build, &mut out);
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_are_those_of_the_format() {
        let ordinal = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let counts = [0x20, 1, 0x28, 1];
        let assignment = [0x4a, 10, 0x08, 1, 0x10, 1, 0x1a, 4, 0x0a, 2, 0xac, 0x02];
        let build: Vec<u8> = [&ordinal[..], &counts, &assignment].concat();
        let needed = [&[0x1a, build.len() as u8][..], &build].concat();
        assert_eq!(super::for_devices(&[300], false), needed);
    }

    #[test]
    fn a_program_for_two_devices_has_both_and_is_partitioned() {
        let ordinal = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let counts = [0x20, 1, 0x28, 2, 0x30, 1];
        let assignment = [0x4a, 14, 0x08, 1, 0x10, 2, 0x1a, 3, 0x0a, 1, 3, 0x1a, 3, 0x0a, 1, 5];
        let build: Vec<u8> = [&ordinal[..], &counts, &assignment, &[0x98, 1, 1]].concat();
        let needed = [&[0x1a, build.len() as u8][..], &build].concat();
        assert_eq!(super::for_devices(&[3, 5], true), needed);
    }
}
