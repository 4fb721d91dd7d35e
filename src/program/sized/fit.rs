//! The numbers of a program as expressions of named sizes, found from recordings at several sizes.
//!
//! Law: an expression that is found has the numbers of all recordings, to the bit.

use super::numbers::ShownNumber;
use super::polynomial::{Fitting, Polynomial};
use crate::dtype::DType;

/// A number that depends on the named sizes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Varying {
    Int(Polynomial),
    Float(FloatForm),
}

/// A float that depends on a size `e`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FloatForm {
    pub(super) scale: f64,
    /// Whether `scale` is divided by the function of the size, not multiplied.
    pub(super) divides: bool,
    pub(super) of: SizeFunction,
    pub(super) size: Polynomial,
    pub(super) dtype: DType,
}

/// The functions of a size in programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeFunction {
    Itself,
    Root,
    Log,
}

impl SizeFunction {
    pub(super) const ALL: [SizeFunction; 3] = [SizeFunction::Itself, SizeFunction::Root, SizeFunction::Log];

    pub(super) fn name(self) -> &'static str {
        match self {
            SizeFunction::Itself => "",
            SizeFunction::Root => "sqrt",
            SizeFunction::Log => "ln",
        }
    }

    fn at(self, x: f64) -> f64 {
        match self {
            SizeFunction::Itself => x,
            SizeFunction::Root => x.sqrt(),
            SizeFunction::Log => x.ln(),
        }
    }
}

impl FloatForm {
    pub(super) fn at(&self, sizes: &[usize]) -> Option<f64> {
        let size = self.of.at(self.size.at(sizes)? as f64);
        let x = if self.divides { self.scale / size } else { self.scale * size };
        Some(if self.dtype == DType::F32 { f64::from(x as f32) } else { x })
    }
}

impl Varying {
    pub(super) fn at(&self, sizes: &[usize]) -> Option<ShownNumber> {
        match self {
            Varying::Int(size) => size.at(sizes).map(ShownNumber::Int),
            Varying::Float(form) => form.at(sizes).map(|x| ShownNumber::Float(x, form.dtype)),
        }
    }

    /// The expression as programs print it; in parentheses where it stands next to a factor or a sign.
    pub(super) fn words(&self, names: &[&str], beside: bool) -> String {
        let FloatForm { scale, divides, of, size, .. } = match self {
            Varying::Int(size) => return size.words(names, beside),
            Varying::Float(form) => form,
        };
        let size = match of {
            SizeFunction::Itself => size.words(names, true),
            SizeFunction::Root | SizeFunction::Log => format!("{}({})", of.name(), size.words(names, false)),
        };
        let text = match (scale, divides) {
            (1.0, false) => return size,
            (_, true) => format!("{scale:?} / {size}"),
            (_, false) => format!("{scale:?} * {size}"),
        };
        format!("({text})")
    }
}

/// The numbers near a scale that a program may have been written with: a rounded one, and the neighbours.
fn scales(x: f64) -> Vec<f64> {
    let mut all = vec![x, x.round()];
    all.extend([6, 14].iter().filter_map(|digits| format!("{x:.digits$e}").parse::<f64>().ok()));
    all.push(f64::from(x as f32));
    let neighbour = |steps: i64| f64::from_bits((x.to_bits() as i64).wrapping_add(steps) as u64);
    all.extend([1, -1, 2, -2].map(neighbour));
    all
}

/// A float as a function of one of these sizes.
fn float(values: &[f64], dtype: DType, fitting: &Fitting<'_>, sizes: &[Polynomial]) -> Option<FloatForm> {
    let points = fitting.points();
    let holds = |form: &FloatForm| {
        points.iter().zip(values).all(|(point, x)| form.at(point).is_some_and(|y| y.to_bits() == x.to_bits()))
    };
    // A size itself, or its inverse, which may be any polynomial.
    let whole = |f: &dyn Fn(f64) -> f64| {
        let near = |x: &f64| {
            let n = f(*x).round();
            (n.abs() < 2f64.powi(53)).then_some(n as i64)
        };
        fitting.of(&values.iter().map(near).collect::<Option<Vec<i64>>>()?)
    };
    let own = [(whole(&|x| x), false), (whole(&|x| 1.0 / x), true)];
    for (size, divides) in own {
        let form = |size| FloatForm { scale: 1.0, divides, of: SizeFunction::Itself, size, dtype };
        if let Some(form) = size.map(form).filter(holds) {
            return Some(form);
        }
    }
    let at = points.len() - 1;
    for size in sizes {
        let Some(n) = size.at(&points[at]) else { continue };
        for of in SizeFunction::ALL {
            for divides in [true, false] {
                let (x, y) = (values[at], of.at(n as f64));
                for scale in scales(if divides { x * y } else { x / y }) {
                    let form = FloatForm { scale, divides, of, size: size.clone(), dtype };
                    if holds(&form) {
                        return Some(form);
                    }
                }
            }
        }
    }
    None
}

/// The numbers of all recordings at one position, which differ, as an expression of the named sizes; `sizes` are those
/// on which a float may depend.
pub(super) fn fitted(numbers: &[ShownNumber], fitting: &Fitting<'_>, sizes: &[Polynomial]) -> Option<Varying> {
    let int = |number: &ShownNumber| match number {
        ShownNumber::Int(n) => Some(*n),
        ShownNumber::Float(..) => None,
    };
    if let Some(values) = numbers.iter().map(int).collect::<Option<Vec<i64>>>() {
        return fitting.of(&values).map(Varying::Int);
    }
    let mut values = Vec::with_capacity(numbers.len());
    let mut dtype = DType::F64;
    for number in numbers {
        let ShownNumber::Float(x, t) = number else { return None };
        (values, dtype) = ([values, vec![*x]].concat(), *t);
    }
    float(&values, dtype, fitting, sizes).map(Varying::Float)
}
