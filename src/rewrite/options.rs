//! Options of a simplification: what its rewrite rules may assume.

/// Options of a simplification.
///
/// Example: [`simplify_with`](crate::passes::simplify_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether all numbers count as finite and no intermediate result as out of range: `0 * x = 0`, `x - x = 0`,
    /// `exp (ln x) = x`.
    pub fast_math: bool,
    /// Whether a product with a zero of a basis vector, an identity matrix or another array of zeros with a written
    /// number is left out, even if the other factor is infinite or NaN. All verbs that record make their Jacobians and
    /// Hessians so: the elements of the factor are then those of the Jacobian, and NaN stays where it is.
    /// [`optimize_with`](crate::passes::optimize_with) then computes multiples of basis vectors piece by piece, too.
    pub basis: bool,
    /// The number of rounds after which to stop even if rules still fire; 0 leaves the program as it is written.
    pub rounds: usize,
}

impl Options {
    pub(crate) const DEFAULT: Options = Options { fast_math: false, basis: false, rounds: 12 };
    pub(crate) const AS_WRITTEN: Options = Options { rounds: 0, ..Options::DEFAULT };
}

impl Default for Options {
    fn default() -> Options {
        Options::DEFAULT
    }
}
