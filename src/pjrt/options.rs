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
const ASSIGNMENT: u64 = 9;
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

/// The options of a program for one device, by its identifier.
pub(super) fn for_device(identifier: i32) -> Vec<u8> {
    let (mut identifiers, mut devices, mut assignment, mut build, mut out) = <(Vec<u8>, _, _, _, _)>::default();
    varint(i64::from(identifier) as u64, &mut identifiers);
    message(IDENTIFIERS, &identifiers, &mut devices);
    number(REPLICA_COUNT, 1, &mut assignment);
    number(COMPUTATION_COUNT, 1, &mut assignment);
    message(DEVICES, &devices, &mut assignment);
    // The ordinal -1 means that the device assignment determines the device.
    number(ORDINAL, -1, &mut build);
    number(REPLICAS, 1, &mut build);
    number(PARTITIONS, 1, &mut build);
    message(ASSIGNMENT, &assignment, &mut build);
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
        assert_eq!(super::for_device(300), needed);
    }
}
