//! The graph of a function of one float: domain, range and monotonicity.
//!
//! Law: the graph is given by columns of the rows of [`Unary`](super::Unary). These hold for the exact function, and
//! for the kernel up to the error of its row.

/// The monotonicity of a function, not strict: a constant function both rises and falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Course {
    Rises,
    Falls,
    /// Falls up to a number, and rises from there.
    Valley(f64),
    /// Rises up to a number, and falls from there.
    Peak(f64),
    /// A sine wave with peaks at `(peak + 2 k) pi` for all integers `k`.
    Wave {
        peak: f64,
    },
    /// Rises between poles, which are at `(c + k) pi` for this number `c` and all integers `k`.
    Poles(f64),
}

/// Monotonicity, domain and range of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Graph {
    /// The monotonicity; for rows with [`CourseRightOfZero`](super::Property::CourseRightOfZero), that on positive
    /// arguments.
    pub(crate) course: Course,
    /// The domain, a closed interval: elsewhere the function is NaN.
    pub(crate) defined: [f64; 2],
    /// A closed interval that contains all values.
    pub(crate) range: [f64; 2],
}

/// A bound of the error of every kernel of a row, the vector kernels of compiled programs included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KernelError {
    /// The number of steps between neighbouring floats of the element type.
    pub(crate) floats: u32,
    /// The number of units in the last place of 1 that are added, for a function near whose zeros the kernel has an
    /// absolute error.
    pub(crate) of_one: f64,
}

/// A bound of the error of a Fourier transform of lines of `n` elements, in machine epsilons of the sum of the absolute
/// values of a line: it grows with the logarithm of `n`, and with the root of a large prime factor of `n`.
pub(crate) fn fourier_error(n: usize) -> f64 {
    32.0 * (2.0 + (n as f64).log2()) * (n as f64).sqrt()
}

/// A bound of the error of each step of a linear recurrence or of a prefix product, in machine epsilons of the sum of
/// the absolute values of all products that add up to the value: a kernel may multiply several factors first.
pub(crate) const RECURRENCE_ERROR: f64 = 4.0;

pub(crate) const REALS: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
pub(crate) const POSITIVE: [f64; 2] = [0.0, f64::INFINITY];
pub(crate) const FINITE: [f64; 2] = [f64::MIN, f64::MAX];
pub(crate) const UNIT: [f64; 2] = [-1.0, 1.0];

/// The positive argument at which `lgamma` has its minimum.
pub(crate) const LEAST_GAMMA: f64 = 1.461_632_144_968_362_3;

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::Course;
    use crate::dtype::{DType, Float};
    use crate::ops::{Property, Unary};

    /// Numbers of a float type in order: the largest and smallest ones of both signs, and many between.
    fn numbers<F: Float>() -> Vec<f64> {
        let near = (0..=600).map(|k| f64::from(k) / 50.0);
        let far = (-320..=308).map(|k| 10f64.powi(k));
        let ends = [5e-324, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::from(f32::MAX), 1e-45, 1.0 - 1e-7];
        let all = near.chain(far).chain(ends).flat_map(|x| [x, -x]);
        let mut all: Vec<f64> = all.map(|x| F::of_f64(x).as_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Whether the function rises from one number to the next, if it rises or falls all the way.
    fn rises(course: Course, x: f64, y: f64) -> Option<bool> {
        // The number of the interval between multiples of pi that contains both numbers, if that is certain.
        let period = |shift: f64| {
            let (a, b) = (x / PI - shift, y / PI - shift);
            let near = |t: f64| (t - t.round()).abs() < 1e-9;
            (a.floor() == b.floor() && x.abs().max(y.abs()) < 100.0 && !near(a) && !near(b)).then_some(a.floor())
        };
        match course {
            Course::Rises => Some(true),
            Course::Falls => Some(false),
            Course::Valley(c) => (y <= c || x >= c).then_some(x >= c),
            Course::Peak(c) => (y <= c || x >= c).then_some(y <= c),
            Course::Wave { peak } => period(peak).map(|k| k % 2.0 != 0.0),
            Course::Poles(c) => period(c).map(|_| true),
        }
    }

    /// The allowed error of the difference of two values near `y`.
    fn slack<F: Float>(f: Unary, y: f64) -> f64 {
        let (unit, least) = match F::DTYPE {
            DType::F32 => (f64::from(f32::EPSILON), 1e-45),
            DType::F64 | DType::I64 | DType::Bool => (f64::EPSILON, 5e-324),
        };
        let error = f.error();
        2.0 * (f64::from(error.floats) * (unit * y.abs() + least) + error.of_one * unit)
    }

    fn graphs_are_those_of_kernels<F: Float>() {
        let numbers = numbers::<F>();
        for f in Unary::ALL {
            let (graph, name) = (f.graph(), f.name());
            let of = |x: f64| f.apply(F::of_f64(x)).as_f64();
            assert!(of(f64::NAN).is_nan(), "{name} of NaN");
            let right = f.is(Property::CourseRightOfZero);
            assert!(!right || !of(0.0).is_finite(), "{name} has no pole at 0");
            for x in &numbers {
                let (y, inside) = (of(*x), graph.defined[0] <= *x && *x <= graph.defined[1]);
                assert!(inside || y.is_nan(), "{name} at {x}: {y}, where it is not defined");
                assert!(!inside || !y.is_nan() || (right && *x <= 0.0), "{name} at {x}, where it is defined");
                // The ends of a range are rounded, too.
                let within = y.is_nan() || (graph.range[0] <= y && y <= graph.range[1]);
                assert!(within, "{name} at {x}: {y} is not within {:?}", graph.range);
            }
            let course: Vec<f64> =
                numbers.iter().copied().filter(|x| !of(*x).is_nan() && (!right || *x > 0.0)).collect();
            let mut compared = 0;
            for pair in course.windows(2) {
                let (y, z) = (of(pair[0]), of(pair[1]));
                let Some(rises) = rises(graph.course, pair[0], pair[1]) else { continue };
                let (low, high) = if rises { (y, z) } else { (z, y) };
                compared += usize::from(low < high);
                let ordered = low <= high || low <= high + slack::<F>(*f, high);
                assert!(ordered, "{name} from {} to {}: {y}, {z}", pair[0], pair[1]);
            }
            assert!(compared > 90, "{name}: {compared} pairs of numbers differ");
        }
    }

    #[test]
    fn graphs_hold_of_kernels() {
        graphs_are_those_of_kernels::<f64>();
        graphs_are_those_of_kernels::<f32>();
    }
}
