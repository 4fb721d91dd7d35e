//! The grammar of modules, functions and operations, in pretty and in generic form.
//!
//! One grammar reads the pretty form of all operations but a few: operands, attributes, words and ranges, up to the
//! types. [`Attribute`]s then have the names of the generic form.
//!
//! Law: any text gives a module or an error. Regions are nested at most [`DEEPEST_REGION`] deep.

use std::collections::HashMap;

use super::attributes::{Attribute, parse_attribute, parse_dict};
use super::literal::parse_literal;
use super::locations::{LocationNames, TextLocation, parse_location};
use super::module::{Defined, ModuleOperation, ParsedModule, RegionBlock, SsaValue};
use super::pretty::named;
use super::text::{Cursor, Read};
use super::types::{Type, parse_type};

/// How deep regions, and functions that are called in them, are nested at most.
pub(super) const DEEPEST_REGION: usize = 48;

/// The names of a function that are visible, and the number of values.
struct ParsingScope {
    names: HashMap<String, Vec<(SsaValue, usize)>>,
    /// The names that each open region has defined.
    open: Vec<Vec<String>>,
    next: SsaValue,
}

pub(super) struct Parser<'a> {
    pub(super) c: Cursor<'a>,
    scope: ParsingScope,
    locations: LocationNames,
}

/// What follows the name of an operation, up to its types.
#[derive(Default)]
pub(super) struct Tail {
    pub(super) operands: Vec<SsaValue>,
    pub(super) attributes: Vec<(String, Attribute)>,
    pub(super) words: Vec<String>,
    pub(super) regions: Vec<RegionBlock>,
    pub(super) types: Vec<Type>,
}

/// Reads a module.
pub(super) fn parse_module(text: &str) -> Read<ParsedModule> {
    let mut p = Parser { c: Cursor::new(text), scope: ParsingScope::new(), locations: LocationNames::new() };
    let mut name = String::from("module");
    let mut parsed = ParsedModule::default();
    let mut depth = 0;
    loop {
        match p.c.peek() {
            None if depth == 0 => break,
            None => return p.c.error("expected `}` of the module"),
            Some(b'#' | b'!') => p.alias()?,
            Some(b'}') if depth > 0 => {
                p.c.at += 1;
                depth -= 1;
                p.location()?;
            }
            _ if p.c.take_word("module") || p.c.take_word("builtin.module") => {
                if depth > 0 {
                    return p.c.error("a module in a module");
                }
                if p.c.peek() == Some(b'@') {
                    name = p.c.name()?;
                }
                if p.c.take_word("attributes") {
                    p.c.expect("{")?;
                    parse_dict(&mut p.c, "}", 0)?;
                }
                p.c.expect("{")?;
                depth += 1;
            }
            _ => {
                let at = p.c.at;
                if p.c.take("\"builtin.module\"") || p.c.take("\"func.func\"") {
                    p.c.at = at;
                    return p.c.error("modules and functions in generic form are not read; print them in pretty form");
                }
                if p.c.take("sdy.mesh") || p.c.take("sdy.") {
                    return p.c.error("meshes are not read; export for one device");
                }
                if !p.c.take_word("func.func") && !p.c.take_word("func") {
                    return p.c.error("expected a function: `func.func`");
                }
                let function = p.function(at)?;
                if parsed.by_name.insert(function.name.clone(), parsed.functions.len()).is_some() {
                    p.c.at = at;
                    return p.c.error("a second function of this name");
                }
                parsed.functions.push(function);
            }
        }
    }
    p.locations.resolve(text, &name, &mut parsed);
    Ok(parsed)
}

impl ParsingScope {
    fn new() -> ParsingScope {
        ParsingScope { names: HashMap::new(), open: vec![Vec::new()], next: 0 }
    }

    fn define(&mut self, name: String, count: usize) -> SsaValue {
        let first = self.next;
        self.next += count as SsaValue;
        if let Some(open) = self.open.last_mut() {
            open.push(name.clone());
        }
        self.names.entry(name).or_default().push((first, count));
        first
    }

    fn enter(&mut self) {
        self.open.push(Vec::new());
    }

    fn leave(&mut self) {
        for name in self.open.pop().unwrap_or_default() {
            if let Some(all) = self.names.get_mut(&name) {
                all.pop();
            }
        }
    }
}

impl Parser<'_> {
    /// `#name = ..` or `!name = ..`: names of locations, and of attributes of no meaning here.
    fn alias(&mut self) -> Read<()> {
        let at = self.c.at;
        let name = self.c.name()?;
        self.c.expect("=")?;
        if self.c.take_word("loc") {
            let location = parse_location(&mut self.c)?;
            self.locations.define(name, location);
            return Ok(());
        }
        match parse_attribute(&mut self.c, 0)? {
            Attribute::Other => Ok(()),
            _ => {
                self.c.at = at;
                self.c.error("names of attributes are not read; print the module without them")
            }
        }
    }

    /// Reads `loc(..)`, if it is next.
    pub(super) fn location(&mut self) -> Read<TextLocation> {
        if self.c.take_word("loc") { parse_location(&mut self.c) } else { Ok(TextLocation::Unknown) }
    }

    fn function(&mut self, at: usize) -> Read<Defined> {
        self.scope = ParsingScope::new();
        while self.c.peek() != Some(b'@') {
            self.c.some_word("the name of a function")?;
        }
        let name = self.c.name()?;
        self.c.expect("(")?;
        let (mut inputs, mut arguments) = (Vec::new(), Vec::new());
        while !self.c.take(")") {
            if !inputs.is_empty() {
                self.c.expect(",")?;
            }
            if self.c.peek() != Some(b'%') {
                return self.c.error("expected an argument; functions without a body are not read");
            }
            let value = self.c.name()?;
            arguments.push(self.scope.define(value.clone(), 1));
            self.c.expect(":")?;
            let ty = parse_type(&mut self.c, 0)?;
            if self.c.take("{") {
                parse_dict(&mut self.c, "}", 0)?;
            }
            let label = if self.c.take_word("loc") { self.label()? } else { String::new() };
            inputs.push((if label.is_empty() { value } else { label }, ty));
        }
        let mut outputs = Vec::new();
        if self.c.take("->") {
            self.results(&mut outputs)?;
        }
        if self.c.take_word("attributes") {
            self.c.expect("{")?;
            parse_dict(&mut self.c, "}", 0)?;
        }
        self.c.expect("{")?;
        let types = inputs.iter().map(|(_, ty): &(String, Type)| ty.clone()).collect();
        let mut body = RegionBlock { arguments, types, ..RegionBlock::default() };
        self.operations(&mut body, 0)?;
        self.c.expect("}")?;
        self.location()?;
        Ok(Defined { name, inputs, outputs, body, values: self.scope.next, at: at as u32 })
    }

    /// The name in `loc("x")`.
    fn label(&mut self) -> Read<String> {
        let start = self.c.at;
        self.c.expect("(")?;
        let label = if self.c.peek() == Some(b'"') { self.c.string()? } else { String::new() };
        let plain = self.c.peek() == Some(b')');
        self.c.at = start;
        self.c.peek();
        self.c.skip_balanced()?;
        Ok(if plain { label } else { String::new() })
    }

    /// The types of the results of a function, with their names.
    fn results(&mut self, outputs: &mut Vec<(String, Type)>) -> Read<()> {
        if !self.c.take("(") {
            outputs.push((String::new(), parse_type(&mut self.c, 0)?));
            return Ok(());
        }
        while !self.c.take(")") {
            if !outputs.is_empty() {
                self.c.expect(",")?;
            }
            let ty = parse_type(&mut self.c, 0)?;
            let mut name = String::new();
            if self.c.take("{") {
                let attributes = parse_dict(&mut self.c, "}", 0)?;
                let info = super::attributes::find(&attributes, "jax.result_info").and_then(Attribute::words);
                name = info.unwrap_or_default().to_owned();
            }
            outputs.push((name, ty));
        }
        Ok(())
    }

    /// The operations of a block, up to the brace that ends it, or a further block.
    fn operations(&mut self, block: &mut RegionBlock, depth: usize) -> Read<()> {
        loop {
            match self.c.peek() {
                Some(b'}') | None => return Ok(()),
                Some(b'^') => return self.c.error("regions of several blocks are not read"),
                _ => {}
            }
            let at = self.c.at;
            if self.returned(block)? {
                match self.c.peek() {
                    Some(b'}') => return Ok(()),
                    _ => return self.c.error("expected `}` after what a block returns"),
                }
            }
            let (mut names, mut starts) = (Vec::new(), Vec::new());
            while self.c.peek() == Some(b'%') {
                starts.push(self.c.at);
                let name = self.c.name()?;
                let count = if self.c.take(":") { self.c.integer()? } else { 1 };
                names.push((name, usize::try_from(count).unwrap_or(0)));
                if !self.c.take(",") {
                    self.c.expect("=")?;
                    break;
                }
            }
            let mut operation = self.operation(depth)?;
            operation.at = at as u32;
            if names.iter().fold(0usize, |n, (_, count)| n.saturating_add(*count)) != operation.types.len() {
                self.c.at = at;
                return self.c.error(format!(
                    "an operation with {} results: names for {}",
                    operation.types.len(),
                    names.len()
                ));
            }
            operation.first = self.scope.next;
            for (name, count) in names {
                self.scope.define(name, count);
            }
            block.operations.push(operation);
        }
    }

    /// Reads the operation that ends a block, if it is next.
    fn returned(&mut self, block: &mut RegionBlock) -> Read<bool> {
        let names = ["stablehlo.return", "func.return", "return", "\"stablehlo.return\"", "\"func.return\""];
        if !names.iter().any(|name| self.c.take_word(name)) {
            return Ok(false);
        }
        let tail = self.tail()?;
        block.results = tail.operands;
        self.location()?;
        Ok(true)
    }

    /// The value of this name, which is next.
    pub(super) fn operand(&mut self) -> Read<SsaValue> {
        let at = self.c.at;
        let name = self.c.name()?;
        let part = if self.c.here() == Some(b'#') {
            self.c.at += 1;
            self.c.integer()?
        } else {
            0
        };
        let known = self.scope.names.get(&name).and_then(|all| all.last());
        match known {
            Some((first, count)) if (part as u64) < *count as u64 => Ok(first + part as SsaValue),
            _ => {
                self.c.at = at;
                self.c.error("a value that is not defined here")
            }
        }
    }

    /// A region in braces. Its arguments are these names, or those that its block gives.
    pub(super) fn region(&mut self, arguments: Vec<(String, Type)>, depth: usize) -> Read<RegionBlock> {
        if depth >= DEEPEST_REGION {
            return self.c.error("regions are nested too deeply");
        }
        self.c.expect("{")?;
        self.scope.enter();
        let mut block = RegionBlock::default();
        for (name, ty) in arguments {
            block.arguments.push(self.scope.define(name, 1));
            block.types.push(ty);
        }
        if self.c.peek() == Some(b'^') {
            self.c.name()?;
            if self.c.take("(") {
                while !self.c.take(")") {
                    if !block.arguments.is_empty() {
                        self.c.expect(",")?;
                    }
                    if self.c.peek() != Some(b'%') {
                        return self.c.error("expected an argument");
                    }
                    let name = self.c.name()?;
                    block.arguments.push(self.scope.define(name, 1));
                    self.c.expect(":")?;
                    block.types.push(parse_type(&mut self.c, 0)?);
                    self.location()?;
                }
            }
            self.c.expect(":")?;
        }
        self.operations(&mut block, depth + 1)?;
        self.scope.leave();
        self.c.expect("}")?;
        Ok(block)
    }

    /// An operation, after its results.
    fn operation(&mut self, depth: usize) -> Read<ModuleOperation> {
        let start = self.c.at;
        let generic = self.c.peek() == Some(b'"');
        let full = if generic { self.c.string()? } else { self.c.some_word("an operation")?.to_owned() };
        let name = ["stablehlo.", "func.", "mhlo."].iter().find_map(|dialect| full.strip_prefix(dialect));
        let name = name.unwrap_or(&full).to_owned();
        let tail = match name.as_str() {
            _ if generic => self.generic(depth)?,
            "while" => self.while_loop(depth)?,
            "reduce" => self.reduce(depth)?,
            "convolution" => self.convolution()?,
            _ => self.tail()?,
        };
        let location = self.location()?;
        let mut operation = ModuleOperation {
            name,
            operands: tail.operands,
            first: 0,
            attributes: tail.attributes,
            regions: tail.regions,
            types: tail.types,
            at: 0,
            location,
        };
        if let Err(what) = named(&mut operation, tail.words) {
            self.c.at = start;
            return Err(super::ImportError::at(self.c.text, start, &operation.name, what));
        }
        Ok(operation)
    }

    /// The generic form: `(operands) <{properties}> ({regions}) {attributes} : (types) -> (types)`.
    fn generic(&mut self, depth: usize) -> Read<Tail> {
        let mut tail = Tail::default();
        self.c.expect("(")?;
        while !self.c.take(")") {
            if !tail.operands.is_empty() {
                self.c.expect(",")?;
            }
            if self.c.peek() != Some(b'%') {
                return self.c.error("expected a value");
            }
            tail.operands.push(self.operand()?);
        }
        if self.c.take("<{") {
            tail.attributes = parse_dict(&mut self.c, "}", 0)?;
            self.c.expect(">")?;
        }
        if self.c.take("(") {
            while !self.c.take(")") {
                if !tail.regions.is_empty() {
                    self.c.expect(",")?;
                }
                tail.regions.push(self.region(Vec::new(), depth)?);
            }
        }
        if self.c.take("{") {
            tail.attributes.extend(parse_dict(&mut self.c, "}", 0)?);
        }
        self.types(&mut tail)?;
        Ok(tail)
    }

    /// `: (types) -> types`, or the types of the results alone.
    pub(super) fn types(&mut self, tail: &mut Tail) -> Read<()> {
        if !self.c.take(":") {
            return Ok(());
        }
        let first = self.type_list()?;
        tail.types = if self.c.take("->") { self.type_list()? } else { first };
        Ok(())
    }

    /// Types, in parentheses or not.
    fn type_list(&mut self) -> Read<Vec<Type>> {
        let mut all = Vec::new();
        if self.c.take("(") {
            while !self.c.take(")") {
                if !all.is_empty() {
                    self.c.expect(",")?;
                }
                all.push(parse_type(&mut self.c, 0)?);
            }
            return Ok(all);
        }
        loop {
            all.push(parse_type(&mut self.c, 0)?);
            if !self.c.take(",") {
                return Ok(all);
            }
        }
    }

    /// The pretty form of most operations.
    fn tail(&mut self) -> Read<Tail> {
        let mut tail = Tail::default();
        loop {
            match self.c.peek() {
                Some(b'%') => {
                    tail.operands.push(self.operand()?);
                    // Ranges of a slice, or a position in a tuple.
                    if self.c.peek() == Some(b'[') {
                        let range = self.ranges()?;
                        tail.attributes.push(("ranges".into(), range));
                    }
                }
                Some(b'@') => tail.attributes.push(("callee".into(), parse_attribute(&mut self.c, 0)?)),
                Some(b'"') => tail.attributes.push(("name".into(), parse_attribute(&mut self.c, 0)?)),
                Some(b'(' | b')' | b',') => self.c.at += 1,
                Some(b'{') => {
                    self.c.at += 1;
                    tail.attributes.extend(parse_dict(&mut self.c, "}", 0)?);
                }
                Some(b':') => {
                    self.types(&mut tail)?;
                    return Ok(tail);
                }
                Some(b'd') if self.c.take("dense<") => {
                    let (literal, shape, element) = parse_literal(&mut self.c)?;
                    tail.attributes.push(("value".into(), Attribute::Literal(Box::new(literal))));
                    tail.types = vec![Type::Tensor { shape: shape.iter().copied().map(Some).collect(), element }];
                    return Ok(tail);
                }
                Some(b) if b.is_ascii_alphabetic() => {
                    let start = self.c.at;
                    let word = self.c.word().to_owned();
                    if self.c.take("=") {
                        let value = parse_attribute(&mut self.c, 0)?;
                        // A pair of lists, for both operands.
                        let value = if self.c.take("x") {
                            Attribute::List(vec![value, parse_attribute(&mut self.c, 0)?])
                        } else {
                            value
                        };
                        tail.attributes.push((word, value));
                    } else if word == "loc" || starts_operation(&word) {
                        self.c.at = start;
                        return Ok(tail);
                    } else {
                        tail.words.push(word);
                    }
                }
                _ => return Ok(tail),
            }
        }
    }

    /// `[0:4, 1:5:2]`, as lists of three, or `[1]`.
    fn ranges(&mut self) -> Read<Attribute> {
        self.c.expect("[")?;
        let mut all = Vec::new();
        while !self.c.take("]") {
            if !all.is_empty() {
                self.c.expect(",")?;
            }
            let mut range = vec![Attribute::Int(self.c.integer()?)];
            while self.c.take(":") {
                range.push(Attribute::Int(self.c.integer()?));
            }
            all.push(Attribute::List(range));
        }
        Ok(Attribute::List(all))
    }
}

/// Whether a word begins the next operation, after one without types.
fn starts_operation(word: &str) -> bool {
    ["stablehlo.", "func.", "chlo."].iter().any(|dialect| word.starts_with(dialect)) || word == "return"
}
