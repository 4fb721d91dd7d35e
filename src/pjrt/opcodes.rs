//! The operations of a compiled program, read off the wire format of protocol buffers.
//!
//! The bytes are the message `HloModuleProto` of XLA, or `HloModuleProtoWithConfig` around one. Of it are read the
//! computations, of these the instructions, and of these the names of the operations; other fields are skipped.
//!
//! Law: bytes that are not such a message give no operations, or fewer; nothing is read beyond their end.

use std::collections::BTreeMap;

/// The field of the message with a configuration that holds the module.
const MODULE: u64 = 1;
/// The field of the module with its computations, of these with their instructions, and of these with the operation.
const COMPUTATIONS: u64 = 3;
const INSTRUCTIONS: u64 = 2;
const OPCODE: u64 = 2;

/// The fields of a message that have a length, with their numbers.
struct Fields<'b>(&'b [u8]);

impl Fields<'_> {
    fn varint(&mut self) -> Option<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(n);
            }
        }
        None
    }
}

impl<'b> Fields<'b> {
    fn take(&mut self, length: u64) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = (u64, &'b [u8]);

    fn next(&mut self) -> Option<(u64, &'b [u8])> {
        loop {
            let key = self.varint()?;
            // Wire types: a varint, 8 bytes, a length and as many bytes, 4 bytes.
            match key & 7 {
                0 => self.varint().map(|_| ())?,
                1 => self.take(8).map(|_| ())?,
                2 => {
                    let length = self.varint()?;
                    return Some((key >> 3, self.take(length)?));
                }
                5 => self.take(4).map(|_| ())?,
                _ => return None,
            }
        }
    }
}

fn all(message: &[u8], field: u64) -> impl Iterator<Item = &[u8]> {
    Fields(message).filter(move |(number, _)| *number == field).map(|(_, bytes)| bytes)
}

/// The number of instructions of each operation in a program of this format.
pub(super) fn counts(program: &[u8], format: &str) -> BTreeMap<String, usize> {
    let module = if format == "hlo_with_config" { all(program, MODULE).next().unwrap_or_default() } else { program };
    let mut counts = BTreeMap::new();
    for instruction in all(module, COMPUTATIONS).flat_map(|computation| all(computation, INSTRUCTIONS)) {
        if let Some(name) = all(instruction, OPCODE).next() {
            *counts.entry(String::from_utf8_lossy(name).into_owned()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a length.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat()
    }

    #[test]
    fn operations_are_counted_over_all_computations() {
        let instruction = |name: &str| {
            let other = [0x08, 0x96, 0x01, 0x3d, 1, 2, 3, 4, 0x41, 1, 2, 3, 4, 5, 6, 7, 8];
            field(2, &[&field(1, b"%x")[..], &other, &field(2, name.as_bytes())].concat())
        };
        let first = field(3, &[instruction("add"), instruction("all-reduce")].concat());
        let second = field(3, &[field(1, b"name"), instruction("add")].concat());
        let module = [field(1, b"step"), first, second].concat();
        let needed = BTreeMap::from([("add".to_owned(), 2), ("all-reduce".to_owned(), 1)]);
        assert_eq!(counts(&module, "hlo"), needed);
        assert_eq!(counts(&[field(1, &module), field(2, b"..")].concat(), "hlo_with_config"), needed);
        for end in 0..module.len() {
            let of = counts(&module[..end], "hlo");
            assert!(of.iter().all(|(name, count)| needed[name] >= *count), "{of:?}");
        }
    }
}
