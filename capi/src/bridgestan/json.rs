//! The data of a model and initial values of parameters: JSON, as CmdStan and BridgeStan write it.
//!
//! Law: any text gives data or an error with the byte where it begins, in time of its length and in bounded stack. The text is
//! an object of numbers and nested arrays; numbers that JSON lacks are `NaN`, `Infinity` and `-Infinity`, with quotation
//! marks or without.

use std::collections::BTreeMap;

use polygrad::{Array, DType, Elem, Tensor};

/// How deep arrays are nested at most: tensors have no more axes.
const DEEPEST: usize = 16;

/// A number, and its value as an integer if it was written as one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ReadNumber {
    value: f64,
    integer: Option<i64>,
}

/// A number or nested arrays of one shape.
#[derive(Clone, Debug, PartialEq)]
struct ReadArray {
    shape: Vec<usize>,
    elements: Vec<ReadNumber>,
}

/// The data of a model, by name.
///
/// ```
/// use polygrad_capi::bridgestan::ModelData;
/// use polygrad::{Array, Tensor, tensor};
/// let data = ModelData::parse(r#"{"J": 2, "y": [1.5, "NaN"], "x": [[1, 2], [3, 4]]}"#)?;
/// assert_eq!(data.tensor::<0, i64>("J")?, tensor(2));
/// assert_eq!(data.tensor::<2, f64>("x")?, tensor([[1.0, 2.0], [3.0, 4.0]]));
/// assert!(data.tensor::<1, f64>("y")?.to_vec()[1].is_nan());
/// assert!(data.tensor::<1, f64>("z").unwrap_err().contains("the data must have `z`"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelData {
    all: BTreeMap<String, ReadArray>,
}

impl ModelData {
    /// Reads a text; one of spaces alone stands for no data.
    ///
    /// # Errors
    /// When the text is not an object of numbers and arrays, each array of parts of one shape.
    pub fn parse(text: &str) -> Result<ModelData, String> {
        let mut reader = JsonReader { text, at: 0 };
        reader.spaces();
        if reader.at == text.len() {
            return Ok(ModelData::default());
        }
        let mut all = BTreeMap::new();
        reader.expect('{', "the data must be an object")?;
        while !reader.takes('}') {
            if !all.is_empty() {
                reader.expect(',', "entries are separated by commas")?;
            }
            let at = reader.at;
            let name = reader.word()?;
            reader.expect(':', "a value follows its name")?;
            let value = reader.value(0)?;
            if all.insert(name, value).is_some() {
                return Err(reader.fault(at, "a name stands once"));
            }
        }
        if reader.at < text.len() {
            return Err(reader.fault(reader.at, "nothing follows the object"));
        }
        Ok(ModelData { all })
    }

    /// Whether there is a value of this name.
    ///
    /// Example: [`ModelData`].
    pub fn has(&self, name: &str) -> bool {
        self.all.contains_key(name)
    }

    /// The value of this name, of this rank and element type. An array without elements has any rank.
    ///
    /// Example: [`ModelData`].
    ///
    /// # Errors
    /// When it is missing, has another rank, or a number is not an integer where integers are asked for.
    pub fn tensor<const D: usize, E: Elem>(&self, name: &str) -> Result<Tensor<Array, D, E>, String> {
        let found = self.found(name)?;
        let mut shape = found.shape.clone();
        if found.elements.is_empty() && shape.len() < D {
            shape.resize(D, 0);
        }
        if shape.len() != D {
            return Err(format!("`{name}` must have {D} axes, but it has the shape {:?}; nest it so", found.shape));
        }
        found.array(name, &shape, E::DTYPE).map(Tensor::from_raw)
    }

    /// The value of this name, of this shape and element type.
    pub(super) fn array(&self, name: &str, shape: &[usize], dtype: DType) -> Result<Array, String> {
        let found = self.found(name)?;
        let empty = found.elements.is_empty() && shape.contains(&0);
        if found.shape != shape && !empty {
            return Err(format!(
                "`{name}` must have the shape {shape:?}, but it has {:?}; give each element",
                found.shape
            ));
        }
        found.array(name, shape, dtype)
    }

    fn found(&self, name: &str) -> Result<&ReadArray, String> {
        self.all.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.all.keys().map(String::as_str).collect();
            format!("the data must have `{name}`, but they have {known:?}; add it")
        })
    }
}

impl ReadArray {
    fn array(&self, name: &str, shape: &[usize], dtype: DType) -> Result<Array, String> {
        let values = || self.elements.iter().map(|number| number.value);
        Ok(match dtype {
            DType::F64 => Array::new(shape, values().collect::<Vec<f64>>()),
            DType::F32 => Array::new(shape, values().map(|x| x as f32).collect::<Vec<f32>>()),
            DType::Bool => Array::new(shape, values().map(|x| x != 0.0).collect::<Vec<bool>>()),
            DType::I64 => {
                let integers: Option<Vec<i64>> = self.elements.iter().map(|number| number.integer).collect();
                let integers = integers.ok_or_else(|| {
                    format!("`{name}` must have integers, but one has a fraction; write it without a point")
                })?;
                Array::new(shape, integers)
            }
        })
    }
}

/// A text, and the byte that is read next.
struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn fault(&self, at: usize, needs: &str) -> String {
        let found: String = self.text[at..].chars().take(12).collect();
        format!("data: {needs}, but at byte {at} there is {found:?}; write JSON as CmdStan reads it")
    }

    fn spaces(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    /// Whether the next character is this one, which is then read, with spaces around it.
    fn takes(&mut self, c: char) -> bool {
        self.spaces();
        let found = self.text[self.at..].starts_with(c);
        if found {
            self.at += c.len_utf8();
            self.spaces();
        }
        found
    }

    fn expect(&mut self, c: char, needs: &str) -> Result<(), String> {
        if self.takes(c) { Ok(()) } else { Err(self.fault(self.at, needs)) }
    }

    /// A text in quotation marks.
    fn word(&mut self) -> Result<String, String> {
        let at = self.at;
        let mut found = String::new();
        let mut characters = self.text[at..].char_indices();
        if characters.next().is_none_or(|(_, c)| c != '"') {
            return Err(self.fault(at, "a text has quotation marks"));
        }
        while let Some((k, c)) = characters.next() {
            match c {
                '"' => {
                    self.at = at + k + 1;
                    self.spaces();
                    return Ok(found);
                }
                '\\' => match characters.next().map(|(_, c)| c) {
                    Some(c @ ('"' | '\\' | '/')) => found.push(c),
                    Some('n') => found.push('\n'),
                    Some('t') => found.push('\t'),
                    Some('r') => found.push('\r'),
                    Some('u') => {
                        let digits: String = characters.by_ref().take(4).map(|(_, c)| c).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        found.push(code.ok_or_else(|| self.fault(at, "a code has four digits"))?);
                    }
                    _ => return Err(self.fault(at, "an escape is one of JSON")),
                },
                c => found.push(c),
            }
        }
        Err(self.fault(at, "a text ends"))
    }

    /// A number, or nested arrays.
    fn value(&mut self, depth: usize) -> Result<ReadArray, String> {
        let at = self.at;
        if !self.takes('[') {
            let number = self.number()?;
            return Ok(ReadArray { shape: Vec::new(), elements: vec![number] });
        }
        if depth == DEEPEST {
            return Err(self.fault(at, "arrays are nested 16 deep at most"));
        }
        let (mut inner, mut elements, mut n) = (None, Vec::new(), 0);
        while !self.takes(']') {
            if n > 0 {
                self.expect(',', "elements are separated by commas")?;
            }
            let at = self.at;
            let part = self.value(depth + 1)?;
            if inner.get_or_insert_with(|| part.shape.clone()) != &part.shape {
                return Err(self.fault(at, "all parts of an array have one shape"));
            }
            elements.extend(part.elements);
            n += 1;
        }
        let shape = [&[n][..], &inner.unwrap_or_default()].concat();
        Ok(ReadArray { shape, elements })
    }

    fn number(&mut self) -> Result<ReadNumber, String> {
        let at = self.at;
        let word = if self.text[at..].starts_with('"') {
            self.word()?
        } else {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            let len = self.text[at..].find(|c| !is_part(c)).unwrap_or(self.text.len() - at);
            self.at += len;
            let word = self.text[at..at + len].to_owned();
            self.spaces();
            word
        };
        let special = match word.to_ascii_lowercase().trim_start_matches('+') {
            "nan" => Some(f64::NAN),
            "inf" | "infinity" => Some(f64::INFINITY),
            "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
            "true" => return Ok(ReadNumber { value: 1.0, integer: Some(1) }),
            "false" => return Ok(ReadNumber { value: 0.0, integer: Some(0) }),
            _ => None,
        };
        let begins = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let value = special.or_else(|| word.parse().ok().filter(|_| begins));
        let value = value.ok_or_else(|| self.fault(at, "a value is a number or an array"))?;
        Ok(ReadNumber { value, integer: word.parse().ok() })
    }
}
