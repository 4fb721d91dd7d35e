//! Saving and loading programs for all sizes.
//!
//! Law: a loaded program is the saved one at every size. Any other file is an error in words.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::fit::{FloatForm, SizeFunction, Varying};
use super::numbers::Counts;
use super::polynomial::Polynomial;
use super::{NAME_BYTES, NAMES, NamedSize, SizedProgram, SizedShape};
use crate::array::refused;
use crate::dtype::DType;
use crate::program::Program;
use crate::program::serial::AsTraced;

/// The terms of a polynomial, each with its exponents, and the divisor.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedSize(Vec<(Vec<u8>, i64)>, i64);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSized {
    /// The names, each with its least size.
    sizes: Vec<(String, usize)>,
    /// The program as it was traced at some sizes.
    traced: AsTraced,
    /// The numbers that depend on the sizes, by position.
    numbers: Vec<(usize, SavedNumber)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum SavedNumber {
    Size(SavedSize),
    Float { scale: f64, divides: bool, of: String, size: SavedSize, dtype: String },
}

fn save_size(size: &Polynomial) -> SavedSize {
    SavedSize(size.terms.clone(), size.over)
}

/// The largest number of terms of a size; what is recorded has at most 25.
const TERMS: usize = 64;

fn load_size(SavedSize(terms, over): SavedSize, names: usize) -> Result<Polynomial, String> {
    if terms.len() > TERMS {
        return Err(refused(&format!("a size must have at most {TERMS} terms"), &format!("one has {}", terms.len())));
    }
    if over < 1 || terms.iter().any(|(monomial, _)| monomial.len() != names) {
        return Err(refused("a size must be an expression of the names", "one is not"));
    }
    Ok(Polynomial { terms, over })
}

impl SizedShape {
    pub(crate) fn save(&self) -> Vec<SavedSize> {
        self.0.iter().map(save_size).collect()
    }

    pub(crate) fn load(saved: Vec<SavedSize>, names: usize) -> Result<SizedShape, String> {
        Ok(SizedShape(saved.into_iter().map(|size| load_size(size, names)).collect::<Result<Vec<_>, String>>()?))
    }
}

/// Saved with its names and the expressions of its sizes; a number that is equal at all sizes is saved once.
impl Serialize for SizedProgram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |varying: &Varying| match varying {
            Varying::Int(size) => SavedNumber::Size(save_size(size)),
            Varying::Float(FloatForm { scale, divides, of, size, dtype }) => SavedNumber::Float {
                scale: *scale,
                divides: *divides,
                of: of.name().to_owned(),
                size: save_size(size),
                dtype: dtype.name().to_owned(),
            },
        };
        SavedSized {
            sizes: self.names.iter().map(|named| (named.name.clone(), named.least)).collect(),
            traced: AsTraced(self.template.clone()),
            numbers: self.varying.iter().map(|(k, varying)| (*k, number(varying))).collect(),
        }
        .serialize(serializer)
    }
}

/// Loads and checks what [`Serialize`] saved. Anything else is an error that says what is wrong.
impl<'de> Deserialize<'de> for SizedProgram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SizedProgram, D::Error> {
        load(SavedSized::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn load(saved: SavedSized) -> Result<SizedProgram, String> {
    let SavedSized { sizes, traced: AsTraced(template), numbers } = saved;
    let names = sizes.len();
    if names == 0 || names > NAMES {
        return Err(refused(&format!("there must be 1 to {NAMES} named sizes"), &format!("there are {names}")));
    }
    if let Some((name, _)) = sizes.iter().find(|(name, _)| name.len() > NAME_BYTES) {
        return Err(refused(
            &format!("the name of a size must have at most {NAME_BYTES} bytes"),
            &format!("one has {}", name.len()),
        ));
    }
    let count = Counts::default().of(&template);
    let mut varying = Vec::with_capacity(numbers.len());
    for (position, number) in numbers {
        if position >= count {
            return Err(refused(
                "a number must be one of the program",
                &format!("there are {count}, and it is {position}"),
            ));
        }
        if varying.last().is_some_and(|(last, _)| *last >= position) {
            return Err(refused("numbers must come in order", "one does not"));
        }
        varying.push((position, load_number(number, names)?));
    }
    let names = sizes.into_iter().map(|(name, least)| NamedSize { name, least }).collect();
    Ok(SizedProgram { names, template, varying })
}

fn load_number(saved: SavedNumber, names: usize) -> Result<Varying, String> {
    let (scale, divides, of, size, dtype) = match saved {
        SavedNumber::Size(size) => return Ok(Varying::Int(load_size(size, names)?)),
        SavedNumber::Float { scale, divides, of, size, dtype } => (scale, divides, of, size, dtype),
    };
    let Some(of) = SizeFunction::ALL.into_iter().find(|f| f.name() == of) else {
        return Err(refused("a float must be a known function of a size", "one is not"));
    };
    let Some(dtype) = DType::of_name(&dtype).filter(|dtype| dtype.is_float()) else {
        return Err(refused("a float must have an element type of floats", "one does not"));
    };
    Ok(Varying::Float(FloatForm { scale, divides, of, size: load_size(size, names)?, dtype }))
}

impl Program {
    /// Whether the program has at least `count` inputs and the first `count` are floats, so that it can be
    /// differentiated in them.
    pub(crate) fn takes_floats(&self, count: usize) -> bool {
        self.inputs().get(..count).is_some_and(|first| first.iter().all(|slot| slot.dtype.is_float()))
    }
}
