//! Properties of elementwise functions: parity, cost and signs of zero, as columns of their rows.
//!
//! Law: a row says one cost. Parity and signs of zero are those of the kernel, which tests of the rows compare them
//! with; costs are as measured.

/// What rules and estimates ask of an elementwise function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// `f(-x) = f(x)`.
    Even,
    /// `f(-x) = -f(x)`.
    Odd,
    /// It takes about as long as it takes to read the operands: a sum, a product, a sign.
    Arithmetic,
    /// Its cost is between those of a product and of a quotient, or depends on the kernel that runs.
    Intermediate,
    /// It takes as long as a few products: one quotient or root.
    Division,
    /// It takes as long as many products: a series, a table, or several quotients and roots.
    Transcendental,
    /// No value is -0.
    NeverMinusZero,
    /// No value is -0 where no operand is.
    KeepsMinusZeroOut,
    /// Values or derivatives tell +0 from -0, even where the sign of the result is not seen.
    SeesSignOfZero,
    /// It is its own absolute value, with its derivatives: no value is negative, and where one is 0 the derivative is a
    /// 0 that hides infinite cotangents.
    OwnAbsolute,
    /// There are poles at 0, or there and left of it: the course of the function is that for positive arguments.
    CourseRightOfZero,
}

/// What a function does with the sign of an operand that is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZeroSign {
    /// Values and derivatives are the same for both signs.
    Hides,
    /// The sign of a result that is zero depends on it, and nothing else.
    HandsOn,
    /// Values or derivatives may tell +0 from -0.
    Sees,
}

/// The properties of a row, a bit each: rules ask for them of each operation that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Properties(u16);

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
        let costs = [Property::Arithmetic, Property::Intermediate, Property::Division, Property::Transcendental];
        costs.into_iter().filter(|cost| properties.has(*cost)).count()
    }

    #[test]
    fn a_row_says_what_it_costs() {
        for f in Unary::ALL {
            assert_eq!(costs(f.properties()), 1, "{}", f.name());
        }
        for f in Binary::ALL {
            assert_eq!(costs(f.properties()), 1, "{}", f.name());
        }
    }
}
