//! The span of a program: the length of its critical path, on as many processors as it can use.
//!
//! A value is ready a number of steps after the values it is computed from: one step for an elementwise operation, and
//! the depth of a balanced tree more for a sum. Trips of a loop depend on each other through the carry alone. Additions
//! to an accumulator commute, so accumulators of their own for all processors are added up by a tree, and a value that
//! is accumulated from terms that are ready at `d_1, .., d_k` is ready at the least `d` with `2^d_1 + .. + 2^d_k <= 2^d`
//! (Kraft's inequality: the depths of the leaves of a binary tree).
//!
//! Law: a span is at most the work, and does not depend on the order of additions to one accumulator, as long as its
//! terms are ready within 60 steps of each other; otherwise it is rounded up, by at most one step for an addition.

/// The time at which a value is ready: `mantissa 2^exponent` is the sum of `2^d` over the terms that are accumulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    mantissa: u64,
    exponent: u64,
}

/// The depth of a balanced binary tree with `leaves` leaves.
pub(super) fn tree(leaves: u64) -> u64 {
    u64::from(u64::BITS - leaves.saturating_sub(1).leading_zeros())
}

impl Ready {
    /// At this step.
    pub(super) fn at(step: u64) -> Self {
        Ready { mantissa: 1, exponent: step }
    }

    /// Several terms, at this step.
    pub(super) fn terms(count: u64, step: u64) -> Self {
        Ready { mantissa: count.clamp(1, LARGEST - 1), exponent: step }
    }

    /// The step at which the sum of all terms is ready.
    pub(super) fn step(self) -> u64 {
        self.exponent + tree(self.mantissa)
    }

    /// The terms of both.
    pub(super) fn plus(self, other: Ready) -> Self {
        let (low, high) = if self.exponent < other.exponent { (self, other) } else { (other, self) };
        // The exponent of the sum is as low as the mantissa allows, which keeps below 2^62.
        let room = u64::from(high.mantissa.leading_zeros()).saturating_sub(3);
        let exponent = high.exponent - (high.exponent - low.exponent).min(room);
        let rounded = |terms: Ready| terms.mantissa.div_ceil(1 << (exponent - terms.exponent).min(63));
        let sum = (high.mantissa << (high.exponent - exponent)) + rounded(low);
        if sum < LARGEST {
            Ready { mantissa: sum, exponent }
        } else {
            Ready { mantissa: sum.div_ceil(2), exponent: exponent + 1 }
        }
    }
}

/// The bound of mantissas.
const LARGEST: u64 = 1 << 61;

#[cfg(test)]
mod tests {
    use super::{Ready, tree};

    #[test]
    fn a_sum_is_ready_after_the_least_tree() {
        assert_eq!([1, 2, 3, 4, 5, 1024, 1025].map(tree), [0, 1, 2, 2, 3, 10, 11]);
        let sum = |steps: &[u64]| steps.iter().map(|d| Ready::at(*d)).reduce(Ready::plus).map(Ready::step);
        assert_eq!(sum(&[7]), Some(7));
        assert_eq!(sum(&[0; 8]), Some(3));
        // One late term: the others are added while it is computed.
        assert_eq!(sum(&[0, 0, 0, 0, 5]), Some(6));
        assert_eq!(sum(&[5, 0, 0, 0, 0]), Some(6));
        assert_eq!(sum(&[3, 2, 1, 0, 0]), Some(4));
        assert_eq!(Ready::terms(1000, 2).plus(Ready::at(0)).step(), 12);
        // Far apart: rounded up, by one step at most.
        assert_eq!(sum(&[0, 500]), Some(501));
        assert_eq!(sum(&[500, 0, 1, 2]), Some(501));
    }

    #[test]
    fn long_chains_of_additions_have_the_depth_of_a_tree() {
        let all = |n: u64| (0..n).map(|_| Ready::at(3)).reduce(Ready::plus).map(Ready::step);
        assert_eq!([1, 2, 1000, 1 << 20].map(all), [3, 4, 13, 23].map(Some));
        let many = (0..64).map(|_| Ready::terms(u64::MAX, 0)).reduce(Ready::plus).map(Ready::step);
        // 64 times almost 2^61.
        assert_eq!(many, Some(67));
    }
}
