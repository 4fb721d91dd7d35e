//! Saving and loading of arrays by `serde`.
//!
//! Law: a loaded array equals the saved array to the bit, even in the bits of NaN, and is stored alike (as one repeated
//! value or one by one). Elements are saved as text, as short as possible, since formats differ in their treatment of
//! floats. Data that does not fit is an error.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Array, Values, with_elem};
use crate::dtype::{DType, Elem};
use crate::shape::{MAX_RANK, Show, is_possible, size};

/// The saved form of an array.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    dtype: String,
    shape: Vec<usize>,
    elements: Elements,
}

/// The elements of an array, separated by spaces.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Elements {
    /// Every element has this value.
    Every(String),
    /// The elements in row-major order.
    Each(String),
}

/// The conversion of an element to text and back.
trait Word: Elem {
    fn of_word(word: &str) -> Option<Self>;

    fn word(self) -> String {
        if self.is_itself() { format!("{self:?}") } else { format!("NaN:{:x}", self.bits()) }
    }

    /// Whether the element equals itself, that is, is not NaN.
    fn is_itself(self) -> bool {
        self.partial_cmp(&self).is_some()
    }
}

impl Word for f64 {
    fn of_word(word: &str) -> Option<f64> {
        match word.strip_prefix("NaN:") {
            Some(bits) => u64::from_str_radix(bits, 16).ok().map(f64::from_bits).filter(|x| x.is_nan()),
            None => word.parse().ok().filter(|x: &f64| !x.is_nan()),
        }
    }
}

impl Word for f32 {
    fn of_word(word: &str) -> Option<f32> {
        match word.strip_prefix("NaN:") {
            Some(bits) => u32::from_str_radix(bits, 16).ok().map(f32::from_bits).filter(|x| x.is_nan()),
            None => word.parse().ok().filter(|x: &f32| !x.is_nan()),
        }
    }
}

impl Word for i64 {
    fn of_word(word: &str) -> Option<i64> {
        word.parse().ok()
    }
}

impl Word for bool {
    fn of_word(word: &str) -> Option<bool> {
        word.parse().ok()
    }
}

/// Element type, shape, and the elements as text: `"1.0 -0.0 inf NaN:7ff8000000000000"`.
impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let elements = with_elem!(self.dtype(), E => match self.typed::<E>() {
            Values::Splat(x) => Elements::Every(x.word()),
            Values::Dense(v) => Elements::Each(v.iter().map(|x| x.word()).collect::<Vec<String>>().join(" ")),
        });
        let saved = Saved { dtype: self.dtype().name().to_owned(), shape: self.shape().to_vec(), elements };
        saved.serialize(serializer)
    }
}

/// Loads the form that [`Serialize`] saves. For other data, the error names the misfit.
impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Array, D::Error> {
        load(Saved::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn load(saved: Saved) -> Result<Array, String> {
    let dtype = DType::of_name(&saved.dtype).ok_or_else(|| {
        refused("the element type must be f64, f32, i64 or bool", &format!("it is {:?}", saved.dtype))
    })?;
    let shape = &saved.shape;
    if shape.len() > MAX_RANK {
        return Err(refused(
            &format!("an array must have at most {MAX_RANK} axes"),
            &format!("it has {}", shape.len()),
        ));
    }
    if !is_possible(shape) {
        return Err(refused("the shape must be one of an array", &format!("it is {}", Show(shape))));
    }
    let size = size(shape);
    let wrong = |word: &str| {
        let shown: String = word.chars().take(40).collect();
        refused(&format!("elements must be {dtype}"), &format!("one is {shown:?}"))
    };
    with_elem!(dtype, E => match &saved.elements {
        Elements::Every(word) => E::of_word(word).map(|x| Array::full(shape, x)).ok_or_else(|| wrong(word)),
        Elements::Each(words) => {
            let words = words.split(' ').filter(|word| !word.is_empty());
            let each: Vec<E> = words.map(|w| E::of_word(w).ok_or_else(|| wrong(w))).collect::<Result<_, _>>()?;
            let given = each.len();
            Array::try_new(shape, each).map_err(|_| {
                refused(&format!("shape {} must have {size} elements", Show(shape)), &format!("there are {given}"))
            })
        }
    })
}

/// The message for data that cannot be loaded.
pub(crate) fn refused(requirement: &str, fact: &str) -> String {
    format!("load: {requirement}, but {fact}; the file is damaged, save it again")
}
