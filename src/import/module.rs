//! Modules, functions, blocks and operations as data.

use std::collections::HashMap;

use super::attributes::{Attribute, find};
use super::flow::BodySummary;
use super::locations::TextLocation;
use super::text::TextOffset;
use super::types::Type;

/// The number of a value in its function.
pub(super) type SsaValue = u32;

/// An operation.
#[derive(Clone, Debug)]
pub(super) struct ModuleOperation {
    /// The name without its dialect, unless that is `chlo`.
    pub(super) name: String,
    pub(super) operands: Vec<SsaValue>,
    /// The first of the results, which have consecutive numbers.
    pub(super) first: SsaValue,
    pub(super) attributes: Vec<(String, Attribute)>,
    pub(super) regions: Vec<RegionBlock>,
    /// The types of the results.
    pub(super) types: Vec<Type>,
    pub(super) at: TextOffset,
    pub(super) location: TextLocation,
}

/// A region, of one block.
#[derive(Clone, Debug, Default)]
pub(super) struct RegionBlock {
    pub(super) arguments: Vec<SsaValue>,
    /// The types of the arguments.
    pub(super) types: Vec<Type>,
    pub(super) operations: Vec<ModuleOperation>,
    /// What the block returns.
    pub(super) results: Vec<SsaValue>,
}

/// A function.
#[derive(Clone, Debug)]
pub(super) struct Defined {
    pub(super) name: String,
    pub(super) inputs: Vec<(String, Type)>,
    pub(super) outputs: Vec<(String, Type)>,
    pub(super) body: RegionBlock,
    /// The number of values.
    pub(super) values: u32,
    pub(super) at: TextOffset,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct ParsedModule {
    pub(super) functions: Vec<Defined>,
    /// A lookup table, never iterated over.
    pub(super) by_name: HashMap<String, usize>,
    /// What is known of each function.
    pub(super) summaries: Vec<BodySummary>,
}

impl ParsedModule {
    /// The operation at a position of the text.
    pub(super) fn operation_at(&self, at: TextOffset) -> Option<&ModuleOperation> {
        self.functions.iter().find_map(|function| function.body.operation_at(at))
    }
}

impl RegionBlock {
    fn operation_at(&self, at: TextOffset) -> Option<&ModuleOperation> {
        fn of(op: &ModuleOperation, at: TextOffset) -> Option<&ModuleOperation> {
            if op.at == at { Some(op) } else { op.regions.iter().find_map(|region| region.operation_at(at)) }
        }
        self.operations.iter().find_map(|op| of(op, at))
    }
}

impl ModuleOperation {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        find(&self.attributes, name)
    }

    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name)?.ints()
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.int()
    }

    /// Whether an attribute is `true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.int(name) == Some(1)
    }

    pub(super) fn words(&self, name: &str) -> Option<&str> {
        self.attribute(name)?.words()
    }

    /// The name of the function that is called.
    pub(super) fn callee(&self) -> Option<&str> {
        match self.name.as_str() {
            "call" => self.words("callee"),
            "composite" => self.words("decomposition"),
            _ => None,
        }
    }
}
