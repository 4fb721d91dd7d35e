//! Properties of elementwise functions: parity, cost and signs of zero, as columns of their rows.
//!
//! Law: a row says at most one cost, one of a function of one argument exactly one. Parity and signs of zero are those
//! of the kernel, which tests of the rows compare them with; costs are as measured.

/// What rules and estimates ask of an elementwise function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// `f(-x) = f(x)`.
    Even,
    /// `f(-x) = -f(x)`.
    Odd,
    /// It takes about as long as it takes to read the operands: a sum, a product, a sign.
    Arithmetic,
    /// It takes as long as a few products: one quotient or root.
    Division,
    /// It takes as long as many products: a series, a table, or several quotients and roots.
    Transcendental,
    /// No value is -0.
    NeverMinusZero,
    /// Values or derivatives tell +0 from -0, even where the sign of the result is not seen.
    SeesSignOfZero,
}

/// The properties of a row, a bit each: rules ask for them of each operation that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Properties(u8);

impl Properties {
    /// The properties of a list.
    pub(crate) const fn of(list: &[Property]) -> Properties {
        let (mut bits, mut k) = (0, 0);
        while k < list.len() {
            bits |= 1 << list[k] as u8;
            k += 1;
        }
        Properties(bits)
    }

    #[inline]
    pub(crate) fn has(self, property: Property) -> bool {
        self.0 & (1 << property as u8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Properties, Property};
    use crate::ops::{Binary, Unary};

    /// The number of costs that a row says.
    fn costs(properties: Properties) -> usize {
        let costs = [Property::Arithmetic, Property::Division, Property::Transcendental];
        costs.into_iter().filter(|cost| properties.has(*cost)).count()
    }

    #[test]
    fn a_row_says_what_it_costs() {
        for f in Unary::ALL {
            assert_eq!(costs(f.properties()), 1, "{}", f.name());
        }
        for f in Binary::ALL {
            // Their cost is between those of a product and of a quotient, or depends on the kernel that runs.
            let between = matches!(f, Binary::RecipReal | Binary::Copysign | Binary::Min | Binary::Max);
            assert_eq!(costs(f.properties()), usize::from(!between), "{}", f.name());
        }
    }
}
