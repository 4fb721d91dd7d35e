//! Pages of HTML and graphs in DOT, read as far as laws of their structure need.

use std::collections::{BTreeMap, BTreeSet};

use polygrad::program::{NodeId, Op, Program};

/// What a page has.
pub(crate) struct Page {
    pub(crate) ids: BTreeSet<String>,
    /// The ids that attributes name.
    pub(crate) named: BTreeSet<String>,
    /// The number of elements of each name.
    pub(crate) elements: BTreeMap<String, usize>,
}

/// Reads a page: tags are balanced, ids are unique, texts are escaped, nothing outside is named.
pub(crate) fn page(html: &str) -> Page {
    let mut page = Page { ids: BTreeSet::new(), named: BTreeSet::new(), elements: BTreeMap::new() };
    let mut open: Vec<String> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a page says what it is");
    assert!(
        !html.contains("http") && !html.contains("@import") && !html.contains("url("),
        "a page names no other file"
    );
    while let Some((text, after)) = rest.split_once('<') {
        escaped(text);
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "the tag that ends here began");
            continue;
        }
        let (inner, empty) = tag.strip_suffix('/').map_or((tag, false), |inner| (inner, true));
        let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "<{tag}>");
        *page.elements.entry(name.to_owned()).or_default() += 1;
        page.attributes(attributes);
        if name == "script" || name == "style" {
            let end = rest.find(&format!("</{name}>")).expect("a script or style ends");
            rest = &rest[end..];
        }
        if !empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} stay open before {rest}");
    page
}

/// Each `&` of a text begins an entity.
fn escaped(text: &str) {
    for (_, rest) in text.match_indices('&').map(|(at, _)| (at, &text[at..])) {
        let entity = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].iter().any(|entity| rest.starts_with(entity));
        assert!(entity, "not escaped: {text}");
    }
    assert!(!text.contains('>'), "not escaped: {text}");
}

impl Page {
    fn attributes(&mut self, mut rest: &str) {
        while let Some((name, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"').expect("an attribute ends");
            escaped(value);
            match name.trim() {
                "id" => assert!(self.ids.insert(value.to_owned()), "the id {value} occurs twice"),
                "href" => _ = self.named.insert(value.strip_prefix('#').expect("links stay in the page").to_owned()),
                "data-to" => _ = self.named.insert(value.to_owned()),
                "data-e" => self.named.extend(value.split(' ').filter(|id| *id != "-").map(str::to_owned)),
                _ => {}
            }
            rest = after;
        }
        assert!(rest.trim().is_empty(), "not an attribute: {rest}");
    }

    /// Whether everything that is named is there.
    pub(crate) fn is_closed(&self) -> bool {
        self.named.is_subset(&self.ids)
    }
}

/// Reads a graph: each edge names declared nodes, brackets are balanced, and each operand of each operation is an edge.
pub(crate) fn assert_drawn(program: &Program, dot: &str) {
    let (mut nodes, mut edges, mut depth) = (BTreeSet::new(), BTreeMap::new(), 0);
    for line in dot.lines().map(str::trim) {
        depth += i32::from(line.ends_with('{')) - i32::from(line == "}");
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert!(quotes % 2 == 0 && depth >= 0 && (line == "}" || line.ends_with(['{', ';'])), "{line}");
        if let Some((from, rest)) = line.split_once(" -> ") {
            let to = rest.split([' ', ';']).next().expect("the end of an edge");
            *edges.entry((from.to_owned(), to.to_owned())).or_insert(0) += 1;
        } else if let Some((name, _)) = line.split_once(" [label=") {
            assert!(nodes.insert(name.to_owned()), "{name} is declared twice");
        }
    }
    assert_eq!(depth, 0, "brackets are balanced");
    assert!(edges.keys().all(|(from, to)| nodes.contains(from) && nodes.contains(to)), "{dot}");
    let mut drawn: Vec<&Program> = Vec::new();
    let mut open: Vec<(&Program, String, usize)> = vec![(program, String::new(), 0)];
    while let Some((program, prefix, at)) = open.pop() {
        let Some(node) = program.nodes().get(at) else { continue };
        let name = |id: NodeId| format!("{prefix}n{id}");
        assert!(nodes.contains(&name(at as NodeId)), "{program}");
        let mut needed: BTreeMap<(String, String), usize> = BTreeMap::new();
        node.op.operands(&mut |a| *needed.entry((name(*a), name(at as NodeId))).or_default() += 1);
        assert!(needed.iter().all(|(edge, count)| edges.get(edge) >= Some(count)), "{needed:?} of {program}");
        open.push((program, prefix.clone(), at + 1));
        let body = if let Op::Loop(l) = &node.op { Some(&l.body) } else { None };
        let inner = if let Op::Custom(c, _) = &node.op { Some(c.primal()) } else { body };
        if let Some(inner) = inner.filter(|inner| !drawn.contains(inner)) {
            open.push((inner, format!("b{}_", drawn.len()), 0));
            drawn.push(inner);
        }
    }
}
