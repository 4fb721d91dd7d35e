//! Properties of elementwise functions: parity, cost and signs of zero, as columns of their rows.
//!
//! Law: a row has exactly one cost, as measured. Parity and signs of zero are those of the kernel, as tests check for
//! each row.

/// A property of an elementwise function that rules and estimates read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// `f(-x) = f(x)`.
    Even,
    /// `f(-x) = -f(x)`.
    Odd,
    /// The cost is about that of reading the operands: a sum, a product, a sign.
    Arithmetic,
    /// The cost is between those of a product and of a quotient, or depends on the kernel that runs.
    Intermediate,
    /// The cost is that of a few products: one quotient or root.
    Division,
    /// The cost is that of many products: a series, a table, or several quotients and roots.
    Transcendental,
    /// No value is -0.
    NeverMinusZero,
    /// No value is -0 where no operand is.
    KeepsMinusZeroOut,
    /// Values or derivatives differ for +0 and -0 by more than the sign of a zero result.
    SeesSignOfZero,
    /// The function is its own absolute value, derivatives included: no value is negative, and where a value is 0, the
    /// derivative is 0, with a guard against infinite cotangents.
    OwnAbsolute,
    /// A partial can be infinite or NaN where the value is finite, as that of `sqrt` at 0.
    Steep,
    /// There is a pole at 0, and there may be poles left of 0: the course of the function is that for positive
    /// arguments.
    CourseRightOfZero,
}

/// The effect of the sign of a zero operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZeroSign {
    /// Values and derivatives are the same for both signs.
    Hides,
    /// The sign affects only the sign of a zero result.
    HandsOn,
    /// Values or derivatives may differ between +0 and -0.
    Sees,
}

/// The properties of a row as a bit set: rules test the properties of each operation that is made.
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
    use crate::Array;
    use crate::ops::{Binary, Partial, Unary};

    /// The number of properties of a row that are costs.
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
    /// Ends of domains, borders and infinities, and points between them; no point at which a partial overflows.
    const POINTS: [f64; 7] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, f64::INFINITY];

    fn points() -> impl Iterator<Item = f64> + Clone {
        POINTS.into_iter().flat_map(|x| [x, -x])
    }

    fn is_infinite_or_nan(partial: Partial<Array>) -> bool {
        partial.factor().1.is_some_and(|p| !p.item::<f64>().expect("a number").is_finite())
    }

    #[test]
    fn rows_with_finite_values_and_infinite_partials_are_steep() {
        for f in Unary::ALL {
            let at = |x: f64| {
                let [x, y] = [x, f.apply(x)].map(Array::scalar);
                y.item::<f64>().expect("a number").is_finite() && is_infinite_or_nan(f.derivative(&x, &y))
            };
            let found: Vec<f64> = points().filter(|x| at(*x)).collect();
            assert_eq!(f.is(Property::Steep), !found.is_empty(), "{} at {found:?}", f.name());
        }
        // These two are steep only where an operand is infinite, NaN or a divisor that is zero, which interpreters know.
        for f in Binary::ALL.iter().filter(|f| !matches!(f, Binary::MulNoNan | Binary::DivNoNan)) {
            let at = |(x, y): (f64, f64)| {
                let [x, y, z] = [x, y, f.apply(x, y)].map(Array::scalar);
                let partials = [f.partial_left(&x, &y, &z), f.partial_right(&x, &y, &z)];
                z.item::<f64>().expect("a number").is_finite() && partials.into_iter().any(is_infinite_or_nan)
            };
            let pairs = points().flat_map(|x| points().map(move |y| (x, y)));
            let found: Vec<(f64, f64)> = pairs.filter(|pair| at(*pair)).collect();
            assert_eq!(f.is(Property::Steep), !found.is_empty(), "{} at {found:?}", f.name());
        }
    }
}
