//! The time of a compiled program, estimated from the costs of its operations.
//!
//! Laws: the time of a program is the sum of the times of its operations; the time of a loop is `n` times the time of
//! its body and the overhead of its trips. Times are whole tenths of nanoseconds, so sums do not depend on their order.
//! The estimate ranks programs that compute the same values; it does not predict a time.

use super::{Cost, MACHINE};

/// The estimated cost of a run of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) cost: Cost,
    /// The estimated time of a compiled run, in tenths of nanoseconds.
    pub(crate) time: u64,
}

/// The kind of work of an operation, which determines the time per element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A pass over elements in their order.
    Elements,
    /// A transcendental function of each element.
    Functions,
    /// Elements are moved one by one, since neighbours do not stay neighbours.
    Moves,
    /// Products and their sums.
    Products,
}

/// Whole tenths of nanoseconds.
pub(crate) const fn tenths(nanoseconds: f64) -> u64 {
    (10.0 * nanoseconds + 0.5) as u64
}

/// The constants of the machine that are the weights of estimates, in tenths of nanoseconds.
mod weights {
    use super::{MACHINE, tenths};

    pub(super) const NUMBER: u64 = tenths(MACHINE.number);
    pub(super) const FUNCTION_OF_NUMBER: u64 = tenths(MACHINE.number_function);
    pub(super) const CALL: u64 = tenths(MACHINE.call);
    pub(super) const CONTRACTION: u64 = tenths(MACHINE.contraction);
    pub(super) const ELEMENT: u64 = tenths(MACHINE.element);
    pub(super) const FUNCTION: u64 = tenths(MACHINE.element_function);
    pub(super) const MOVED: u64 = tenths(MACHINE.moved);
    pub(super) const FAR: u64 = tenths(MACHINE.far_number);
    /// The number of products in a tenth of a nanosecond.
    pub(super) const PRODUCTS: u64 = (0.1 / MACHINE.product + 0.5) as u64;
}

impl Estimate {
    /// An operation of this cost.
    pub(crate) fn of(work: Work, cost: Cost) -> Estimate {
        Estimate { cost, time: time(work, cost) }
    }

    /// A loop of `n` trips; `own` is its cost without the operations of the body.
    pub(crate) fn of_loop(n: usize, own: Cost, body: Estimate) -> Estimate {
        let elements = own.work.saturating_mul(weights::ELEMENT);
        let time = (n as u64).saturating_mul(weights::NUMBER).saturating_add(elements).saturating_add(far(own));
        Estimate { cost: own, time }.plus(body.times(n))
    }

    pub(crate) fn plus(self, other: Estimate) -> Estimate {
        Estimate { cost: self.cost + other.cost, time: self.time.saturating_add(other.time) }
    }

    fn times(self, n: usize) -> Estimate {
        Estimate { cost: self.cost.times(n), time: self.time.saturating_mul(n as u64) }
    }
}

/// The time to read and write large arrays, in addition to the time of their elements; 0 for arrays that fit in cache.
fn far(cost: Cost) -> u64 {
    let numbers = cost.bytes / 8;
    if numbers < MACHINE.level2_beside as u64 / 8 { 0 } else { numbers.saturating_mul(weights::FAR) }
}

/// The estimated time of an operation of this cost.
fn time(work: Work, cost: Cost) -> u64 {
    if cost.work == 0 {
        return 0;
    }
    if cost.work == 1 {
        return if work == Work::Functions { weights::FUNCTION_OF_NUMBER } else { weights::NUMBER };
    }
    let (call, elements) = match work {
        // The work counts a product and its sum as two.
        Work::Products => (weights::CONTRACTION, cost.work / (2 * weights::PRODUCTS)),
        Work::Functions => (weights::CALL, cost.work.saturating_mul(weights::FUNCTION)),
        Work::Moves => (weights::CALL, cost.work.saturating_mul(weights::MOVED)),
        Work::Elements => (weights::CALL, cost.work.saturating_mul(weights::ELEMENT)),
    };
    elements.saturating_add(call).saturating_add(far(cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All constants are whole tenths of nanoseconds, so the conversion rounds none.
    #[test]
    fn weights_are_exact() {
        let m = MACHINE;
        let times = [m.number, m.number_function, m.call, m.contraction, m.element, m.element_function, m.moved];
        for time in times.into_iter().chain([m.far_number, m.comparison]) {
            assert_eq!(tenths(time) as f64 / 10.0, time);
        }
        assert_eq!(0.1 / weights::PRODUCTS as f64, m.product);
    }

    #[test]
    fn a_loop_takes_as_long_as_its_trips() {
        let cost = Cost { calls: 3, work: 100, bytes: 1600 };
        let body = Estimate::of(Work::Functions, cost);
        let own = Cost { calls: 1, work: 10, bytes: 160 };
        let whole = Estimate::of_loop(10, own, body);
        assert_eq!(whole.cost, own + cost.times(10));
        assert_eq!(whole.time, 10 * body.time + 10 * weights::NUMBER + 10 * weights::ELEMENT);
        assert_eq!(Estimate::of_loop(0, own, body).time, 10 * weights::ELEMENT);
    }

    /// Arrays larger than a cache take longer than the time of their elements.
    #[test]
    fn large_arrays_are_far() {
        let of = |bytes: u64| Estimate::of(Work::Elements, Cost { calls: 1, work: 1000, bytes }).time;
        let largest = MACHINE.level2_beside as u64 - 8;
        assert_eq!(of(largest), of(0));
        assert_eq!(of(largest + 8), of(0) + (largest + 8) / 8 * weights::FAR);
    }
}
