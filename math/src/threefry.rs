//! Threefry-2x32 with 20 rounds: a block of 64 bits under a key of 64 bits, the source of random numbers in programs.
//!
//! Law: for each key a bijection of blocks, so that distinct counters give distinct blocks. Source: J. K. Salmon,
//! M. A. Moraes, R. O. Dror, D. E. Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC 2011. It is an elementwise
//! function of integers: it has no state, and neither threads, loops nor batches change its values.

use crate::number::{WideWord, Word};

/// Rotations of the rounds, four after four.
const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// The third word of a key is this number, exclusive or both words.
const PARITY: u64 = 0x1bd1_1bda;

/// The block of a counter under a key, of words or of what stands for them. Example: [`threefry`].
#[inline(always)]
pub fn threefry_of<W: WideWord>(key: W, counter: W) -> W {
    let ([k0, k1], [c0, c1]) = (key.halves(), counter.halves());
    let keys = [k0, k1, k0 ^ k1 ^ Word::literal(PARITY)];
    let (mut x0, mut x1) = (c0.plus(k0), c1.plus(k1));
    for group in 0..5 {
        for r in ROTATIONS[group % 2] {
            x0 = x0.plus(x1);
            x1 = ((x1 << r) | (x1 >> (32 - r))) ^ x0;
        }
        x0 = x0.plus(keys[(group + 1) % 3]);
        x1 = x1.plus(keys[(group + 2) % 3]).plus(Word::literal(group as u64 + 1));
    }
    W::of_halves([x0, x1])
}

/// The block `counter` under `key`, by Threefry-2x32 with 20 rounds. A number of 64 bits is two words of 32 bits, the
/// first word above.
///
/// ```
/// use polygrad_math::threefry;
/// // The first of the known answers that come with the paper.
/// assert_eq!(threefry(0, 0) as u64, 0x6b20_0159_99ba_4efe);
/// ```
#[inline(always)]
pub fn threefry(key: i64, counter: i64) -> i64 {
    threefry_of(key as u64, counter as u64) as i64
}

#[cfg(test)]
mod tests {
    use super::threefry;

    /// The known answers of the reference implementation for 20 rounds: all bits clear, all bits set, digits of pi.
    #[test]
    fn known_answers() {
        let cases: [(u64, u64, u64); 3] = [
            (0, 0, 0x6b20_0159_99ba_4efe),
            (u64::MAX, u64::MAX, 0x1cb9_96fc_bb00_2be7),
            (0x1319_8a2e_0370_7344, 0x243f_6a88_85a3_08d3, 0xc492_3a9c_483d_f7a0),
        ];
        for (key, counter, block) in cases {
            assert_eq!(threefry(key as i64, counter as i64) as u64, block, "{key:x}");
        }
    }
}
