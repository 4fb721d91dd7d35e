//! Locations: the lines of the program that was exported, which a text gives in `loc(..)`.
//!
//! Law: any text after `loc` is a location or an error of the text; names that lead back to themselves are unknown, and
//! looking them up takes time in proportion to the text. An operation without a line of a file has that of the text.

use std::collections::HashMap;
use std::sync::Arc;

use super::module::{ModuleOperation, ParsedModule, RegionBlock};
use super::text::{Cursor, Read};
use crate::source::SourceLine;

/// How many parts a location has at most; one of more is not known.
const MOST_PARTS: usize = 32;

/// A location, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) enum TextLocation {
    #[default]
    Unknown,
    /// A line of a file.
    File(Arc<SourceLine>),
    /// A line of the text, under the name of the module.
    Text(Arc<SourceLine>),
    /// What another line of the text defines.
    Alias(String),
    /// The first of these that is known.
    First(Vec<TextLocation>),
}

impl TextLocation {
    /// The line, once aliases are resolved.
    pub(super) fn line(&self) -> Option<&Arc<SourceLine>> {
        match self {
            TextLocation::File(line) | TextLocation::Text(line) => Some(line),
            TextLocation::Unknown | TextLocation::Alias(_) | TextLocation::First(_) => None,
        }
    }

    /// The line of a file.
    pub(super) fn file(&self) -> Option<&SourceLine> {
        if let TextLocation::File(line) = self { Some(line) } else { None }
    }
}

/// Reads `(..)` after `loc`.
pub(super) fn parse_location(c: &mut Cursor<'_>) -> Read<TextLocation> {
    c.peek();
    let start = c.at;
    let mut parts = MOST_PARTS;
    if c.take("(")
        && let Some(found) = location(c, &mut parts)
        && c.take(")")
    {
        return Ok(found);
    }
    c.at = start;
    c.skip_balanced()?;
    Ok(TextLocation::Unknown)
}

/// A location without its parentheses; `None` if it is of another form.
fn location(c: &mut Cursor<'_>, parts: &mut usize) -> Option<TextLocation> {
    *parts = parts.checked_sub(1)?;
    // A location in a location may have `loc` in front, and parentheses.
    if c.take_word("loc") {
        c.take("(").then_some(())?;
        let inner = location(c, parts)?;
        return c.take(")").then_some(inner);
    }
    match c.peek()? {
        b'#' => Some(TextLocation::Alias(c.name().ok()?)),
        b'"' => {
            let text = c.string().ok()?;
            match c.here() {
                Some(b':') => file(c, text),
                Some(b'(') => {
                    c.at += 1;
                    let inner = location(c, parts)?;
                    c.take(")").then_some(inner)
                }
                _ => Some(TextLocation::Unknown),
            }
        }
        _ if c.take_word("unknown") => Some(TextLocation::Unknown),
        _ if c.take_word("callsite") => {
            c.take("(").then_some(())?;
            let callee = location(c, parts)?;
            c.take_word("at").then_some(())?;
            let caller = location(c, parts)?;
            c.take(")").then(|| TextLocation::First(vec![callee, caller]))
        }
        _ if c.take_word("fused") => {
            if c.here() == Some(b'<') {
                c.skip_balanced().ok()?;
            }
            c.take("[").then_some(())?;
            let mut all = Vec::new();
            while !c.take("]") {
                if !all.is_empty() {
                    c.take(",").then_some(())?;
                }
                all.push(location(c, parts)?);
            }
            Some(TextLocation::First(all))
        }
        _ => None,
    }
}

/// `:12:4`, or `:12:4 to 13:9`, or `:12:4 to :9`.
fn file(c: &mut Cursor<'_>, file: String) -> Option<TextLocation> {
    c.take(":").then_some(())?;
    let line = c.digits().parse().ok()?;
    let column = if c.take(":") { c.digits().parse().ok()? } else { 0 };
    if c.take_word("to") {
        c.blank();
        c.digits();
        if c.take(":") {
            c.digits();
        }
    }
    Some(TextLocation::File(Arc::new(SourceLine { file, line, column })))
}

/// What the names of locations mean.
pub(super) struct LocationNames {
    given: HashMap<String, TextLocation>,
    /// The lines that were looked up; `None` while a name waits for others.
    found: HashMap<String, Option<Arc<SourceLine>>>,
}

impl LocationNames {
    pub(super) fn new() -> LocationNames {
        LocationNames { given: HashMap::new(), found: HashMap::new() }
    }

    pub(super) fn define(&mut self, name: String, location: TextLocation) {
        self.given.insert(name, location);
    }

    /// The line of a location, or a name that must be looked up before.
    fn known<'l>(&self, of: &'l TextLocation) -> Result<Option<Arc<SourceLine>>, &'l str> {
        match of {
            TextLocation::Unknown => Ok(None),
            TextLocation::File(line) | TextLocation::Text(line) => Ok(Some(line.clone())),
            TextLocation::Alias(name) => match self.found.get(name) {
                Some(line) => Ok(line.clone()),
                None if self.given.contains_key(name) => Err(name),
                None => Ok(None),
            },
            TextLocation::First(all) => {
                for one in all {
                    if let Some(line) = self.known(one)? {
                        return Ok(Some(line));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The line of a location. Each name is looked up once, and a list holds those that wait for others.
    fn line(&mut self, of: &TextLocation) -> Option<Arc<SourceLine>> {
        let mut open: Vec<String> = Vec::new();
        loop {
            let current = open.last().map_or(Some(of), |name| self.given.get(name));
            match current.map_or(Ok(None), |location| self.known(location)) {
                Ok(line) => match open.pop() {
                    Some(name) => drop(self.found.insert(name, line)),
                    None => return line,
                },
                Err(name) => {
                    let name = name.to_owned();
                    self.found.insert(name.clone(), None);
                    open.push(name);
                }
            }
        }
    }

    /// Gives each operation its line.
    pub(super) fn resolve(&mut self, text: &str, module: &str, parsed: &mut ParsedModule) {
        let mut lines = TextLines { text, name: format!("@{module}"), at: 0, line: 1, start: 0 };
        for function in &mut parsed.functions {
            self.resolve_block(&mut lines, &mut function.body);
        }
    }

    fn resolve_block(&mut self, lines: &mut TextLines<'_>, block: &mut RegionBlock) {
        for op in &mut block.operations {
            op.location = match self.line(&op.location) {
                Some(line) => TextLocation::File(line),
                None => TextLocation::Text(Arc::new(lines.at(op))),
            };
            op.regions.iter_mut().for_each(|region| self.resolve_block(lines, region));
        }
    }
}

/// Counts lines, at positions that grow.
struct TextLines<'a> {
    text: &'a str,
    name: String,
    at: usize,
    line: u32,
    start: usize,
}

impl TextLines<'_> {
    fn at(&mut self, op: &ModuleOperation) -> SourceLine {
        let to = (op.at as usize).min(self.text.len());
        for (k, c) in self.text.as_bytes()[self.at.min(to)..to].iter().enumerate() {
            if *c == b'\n' {
                (self.line, self.start) = (self.line + 1, self.at + k + 1);
            }
        }
        self.at = self.at.max(to);
        SourceLine { file: self.name.clone(), line: self.line, column: (to - self.start.min(to) + 1) as u32 }
    }
}
