//! A program as a picture: boxes and edges in SVG, with small loops inside their boxes.
//!
//! Laws: every operation of the part that is drawn is a box, except for numbers, which are in the text of their uses, and
//! for the results of an operation with several, which are read at its box; each operand is an edge. Ids are those of
//! [`Programs`], so a picture may be drawn once in a page.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::described::{Role, place, source_line};
use super::layout::{Extent, PlacedGraph, layered};
use super::page::microseconds;
use crate::escape;
use crate::program::{NodeId, Op, Program, run_by};
use crate::text::line::{heading, inner_input, inner_result, is_number_at, kind_of, line};

/// The most operations of a program that is drawn inside the box of its loop, and the nesting of such boxes.
const INSIDE: usize = 24;
const NESTED: usize = 3;

/// The longest text in a box, in characters.
const LONGEST: usize = 30;

/// The size of a character, of a line of text, and of the space around texts.
const CHARACTER: f64 = 6.7;
const LINE: f64 = 14.0;
const AROUND: f64 = 9.0;

/// The operation that runs a program, and the program that contains it.
pub(super) type RunAt<'a> = (&'a Program, NodeId);

/// How far arcs go to the side: all of them, and more by their height.
const ARC: f64 = 24.0;
const ARC_SHARE: f64 = 0.07;
const ARC_MOST: f64 = 420.0;

/// The programs of a page: the whole, and each program that an operation runs, once.
pub(super) struct Programs<'a> {
    /// In the order in which they are met, each with the first operation that runs it.
    pub(super) all: Vec<(&'a Program, Option<RunAt<'a>>)>,
    numbers: BTreeMap<u64, usize>,
    uses: BTreeMap<u64, usize>,
}

impl<'a> Programs<'a> {
    pub(super) fn of(program: &'a Program) -> Programs<'a> {
        let numbers = BTreeMap::from([(program.class(), 0)]);
        let mut found = Programs { all: vec![(program, None)], numbers, uses: BTreeMap::new() };
        let mut at = 0;
        while let Some((program, _)) = found.all.get(at).copied() {
            for (id, node) in (0..).zip(program.nodes()) {
                let Some(inner) = run_by(&node.op) else { continue };
                *found.uses.entry(inner.class()).or_default() += 1;
                let next = found.all.len();
                if *found.numbers.entry(inner.class()).or_insert(next) == next {
                    found.all.push((inner, Some((program, id))));
                }
            }
            at += 1;
        }
        found
    }

    pub(super) fn number(&self, program: &Program) -> usize {
        self.numbers.get(&program.class()).copied().unwrap_or_default()
    }

    /// The id of an operation in the page.
    pub(super) fn id(&self, program: &Program, id: NodeId) -> String {
        format!("p{}n{id}", self.number(program))
    }

    /// Whether a program is small enough, and run by one operation alone, to be drawn inside a box.
    fn is_inside(&self, inner: &Program) -> bool {
        self.uses.get(&inner.class()) == Some(&1) && drawn(inner).len() <= INSIDE
    }
}

/// The operations that are boxes.
pub(super) fn drawn(program: &Program) -> Vec<NodeId> {
    let is_box =
        |id: &NodeId| !is_number_at(program, *id) && !matches!(program.nodes()[*id as usize].op, Op::Output(..));
    (0..program.nodes().len() as NodeId).filter(is_box).collect()
}

/// The box at which a value is read: of a result of an operation with several, that operation; of a number, none.
pub(super) fn box_of(program: &Program, id: NodeId) -> Option<NodeId> {
    if let Op::Output(of, _) = program.nodes()[id as usize].op {
        return Some(of);
    }
    (!is_number_at(program, id)).then_some(id)
}

/// The boxes that an operation reads, each once.
pub(super) fn boxes_read(program: &Program, id: NodeId) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    program.nodes()[id as usize].op.operands(&mut |a| found.extend(box_of(program, *a)));
    found
}

/// The name of a value in texts: that of an input, or `t` and its number. `outer` is the operation that runs the program.
fn value_name(program: &Program, id: NodeId, outer: Option<&Op<NodeId>>) -> String {
    if Role::of(&program.nodes()[id as usize].op) != Role::Input {
        return format!("t{id}");
    }
    outer.map_or_else(|| heading(program, id), |outer| inner_input(outer, id as usize))
}

/// A drawn part of a program: its SVG without the outermost element.
pub(super) struct Picture {
    pub(super) svg: String,
    pub(super) size: Extent,
}

/// A thing that is drawn as a box.
enum BoxContent<'a> {
    Operation(NodeId),
    /// An operation with its program in the box.
    Outer(NodeId, &'a Program, Picture),
    /// A value from elsewhere: its words, and the id of its box.
    Elsewhere(String, String),
    /// A result of the program.
    Result(String),
    /// A group: its id, its words, and its description.
    Group(String, Vec<String>, String),
}

/// Boxes and edges between them.
#[derive(Default)]
struct Scene<'a> {
    boxes: Vec<BoxContent<'a>>,
    edges: Vec<(usize, usize)>,
    /// Edges that are drawn next to the others, from side to side.
    arcs: Vec<(usize, usize)>,
}

/// What draws the programs of a page.
pub(super) struct Painter<'a> {
    pub(super) programs: &'a Programs<'a>,
    /// The numbers of the programs that were drawn inside boxes.
    pub(super) inside: RefCell<BTreeSet<usize>>,
}

impl<'a> Painter<'a> {
    /// A part of a program: these operations, with operands from elsewhere as links. `outer` is the operation that runs
    /// the program.
    pub(super) fn part(
        &self,
        program: &'a Program,
        ids: &[NodeId],
        outer: Option<&Op<NodeId>>,
        nesting: usize,
    ) -> Picture {
        let mut scene = Scene::default();
        let mut at: BTreeMap<NodeId, usize> = BTreeMap::new();
        let own: BTreeSet<NodeId> = ids.iter().copied().collect();
        for id in ids {
            let reads = boxes_read(program, *id);
            for from in reads.iter().filter(|from| !own.contains(from)) {
                at.entry(*from).or_insert_with(|| {
                    let content =
                        BoxContent::Elsewhere(value_name(program, *from, outer), self.programs.id(program, *from));
                    scene.boxes.push(content);
                    scene.boxes.len() - 1
                });
            }
            let inner = run_by(&program.nodes()[*id as usize].op);
            let content = match inner.filter(|inner| nesting < NESTED && self.programs.is_inside(inner)) {
                Some(inner) => {
                    self.inside.borrow_mut().insert(self.programs.number(inner));
                    let op = &program.nodes()[*id as usize].op;
                    BoxContent::Outer(*id, inner, self.part(inner, &drawn(inner), Some(op), nesting + 1))
                }
                None => BoxContent::Operation(*id),
            };
            let number = scene.boxes.len();
            scene.boxes.push(content);
            scene.edges.extend(reads.iter().filter_map(|from| at.get(from)).map(|from| (*from, number)));
            at.insert(*id, number);
        }
        for (k, id) in program.results().iter().enumerate() {
            let Some(from) = box_of(program, *id).filter(|id| own.contains(id)).and_then(|id| at.get(&id)) else {
                continue;
            };
            scene.edges.push((*from, scene.boxes.len()));
            scene.boxes.push(BoxContent::Result(result_name(program, k, outer)));
        }
        scene.painted(self, program, outer)
    }

    /// Groups as boxes, each with its id, its words and its description, and the edges between them. Edges that follow from
    /// others are arcs next to these, so that a chain of groups stays a chain.
    pub(super) fn overview(
        &self,
        program: &'a Program,
        groups: Vec<(String, Vec<String>, String)>,
        edges: Vec<(usize, usize)>,
    ) -> Picture {
        let boxes: Vec<BoxContent<'_>> =
            groups.into_iter().map(|(id, words, told)| BoxContent::Group(id, words, told)).collect();
        let (edges, arcs) = reduced(boxes.len(), edges);
        Scene { boxes, edges, arcs }.painted(self, program, None)
    }

    /// The description of an operation: its line, its place, and its estimated cost.
    fn told(&self, program: &Program, id: NodeId, outer: Option<&Op<NodeId>>) -> String {
        let mut text = line(program, id, &|a| value_name(program, a, outer));
        let place = place(program, id);
        if !place.is_empty() {
            let _ = write!(text, "\n{place}");
        }
        let estimate = program.estimate_of(id);
        if estimate.cost.work > 0 {
            let _ = write!(
                text,
                "\n{} elements, {} bytes, about {}",
                estimate.cost.work,
                estimate.cost.bytes,
                microseconds(estimate.time as f64 * 1e-4)
            );
        }
        text
    }

    /// The lines of text in the box of an operation.
    fn words(&self, program: &Program, id: NodeId, outer: Option<&Op<NodeId>>) -> Vec<String> {
        let op = &program.nodes()[id as usize].op;
        let whole = line(program, id, &|a| value_name(program, a, outer));
        let right = whole.split_once(" = ").map_or("", |(_, right)| right);
        let is_input = Role::of(op) == Role::Input;
        let title = if is_input {
            value_name(program, id, outer)
        } else if (1..=LONGEST).contains(&right.chars().count()) {
            right.to_owned()
        } else {
            heading(program, id)
        };
        let (kind, name) = (kind_of(program, id), value_name(program, id, outer));
        let second = if is_input {
            kind
        } else if kind.is_empty() {
            name
        } else {
            format!("{name}: {kind}")
        };
        let place = source_line(program, id);
        let file = place.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let mut words: Vec<String> = [title, second, file].into_iter().map(shortened).collect();
        words.retain(|word| !word.is_empty());
        words
    }
}

/// The name of a result of a program.
fn result_name(program: &Program, k: usize, outer: Option<&Op<NodeId>>) -> String {
    match (outer, program.outputs()[k].name.as_str()) {
        (Some(outer), _) => inner_result(outer, k),
        (None, "") => format!("result {k}"),
        (None, name) => escape::name(name).into_owned(),
    }
}

/// A text of bounded length.
fn shortened(words: String) -> String {
    if words.chars().count() <= LONGEST {
        return words;
    }
    let kept: String = words.chars().take(LONGEST - 1).collect();
    kept + "\u{2026}"
}

/// The size of a box with these lines of text.
fn extent(words: &[String]) -> Extent {
    let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or_default();
    (longest as f64 * CHARACTER + 2.0 * AROUND, words.len() as f64 * LINE + AROUND)
}

impl Scene<'_> {
    fn painted(self, painter: &Painter<'_>, program: &Program, outer: Option<&Op<NodeId>>) -> Picture {
        let words: Vec<Vec<String>> = self
            .boxes
            .iter()
            .map(|content| match content {
                BoxContent::Operation(id) | BoxContent::Outer(id, ..) => painter.words(program, *id, outer),
                BoxContent::Elsewhere(words, _) | BoxContent::Result(words) => vec![shortened(words.clone())],
                BoxContent::Group(_, words, _) => words.iter().cloned().map(shortened).collect(),
            })
            .collect();
        let sizes: Vec<Extent> = self.boxes.iter().zip(&words).map(|(content, words)| content.extent(words)).collect();
        let mut layout = layered(&sizes, &self.edges);
        let mut svg = String::new();
        for (from, to) in &self.arcs {
            let ends = [from, to].map(|k| self.boxes[*k].id(painter, program));
            let side = |k: usize| (layout.corners[k].0 + sizes[k].0, layout.corners[k].1 + sizes[k].1 / 2.0);
            let ((x, y), (p, q)) = (side(*from), side(*to));
            let out = x.max(p) + ARC + ((q - y) * ARC_SHARE).min(ARC_MOST);
            // A curve reaches three quarters of the way to its control points.
            layout.size.0 = layout.size.0.max(0.25 * x.max(p) + 0.75 * out);
            let _ = write!(
                svg,
                "<path class=\"arc\" d=\"M{x:.0} {y:.0}C{out:.0} {y:.0} {out:.0} {q:.0} {p:.0} {q:.0}\" data-e=\"{} {}\"/>",
                ends[0], ends[1]
            );
        }
        for ((from, to), path) in self.edges.iter().zip(&layout.paths) {
            let ends = [from, to].map(|k| self.boxes[*k].id(painter, program));
            let _ = write!(svg, "<path d=\"{}\" data-e=\"{} {}\"/>", curve(path), ends[0], ends[1]);
        }
        for (k, content) in self.boxes.iter().enumerate() {
            content.paint(&mut svg, painter, (program, outer), (&layout, k), sizes[k], &words[k]);
        }
        Picture { svg, size: layout.size }
    }
}

impl BoxContent<'_> {
    fn extent(&self, words: &[String]) -> Extent {
        let (width, height) = extent(words);
        if let BoxContent::Outer(_, _, picture) = self {
            return (width.max(picture.size.0 + 2.0 * AROUND), height + picture.size.1 + 2.0 * AROUND);
        }
        (width, height)
    }

    /// The id of the box; of a result, none.
    fn id(&self, painter: &Painter<'_>, program: &Program) -> String {
        match self {
            BoxContent::Operation(id) | BoxContent::Outer(id, ..) => painter.programs.id(program, *id),
            BoxContent::Elsewhere(_, id) | BoxContent::Group(id, ..) => id.clone(),
            BoxContent::Result(_) => "-".into(),
        }
    }

    fn paint(
        &self,
        svg: &mut String,
        painter: &Painter<'_>,
        (program, outer): (&Program, Option<&Op<NodeId>>),
        (layout, k): (&PlacedGraph, usize),
        size: Extent,
        words: &[String],
    ) {
        let (x, y) = layout.corners[k];
        let rounding = |round: bool| if round { 11 } else { 3 };
        let (class, round, told, link) = match self {
            BoxContent::Operation(id) | BoxContent::Outer(id, ..) => {
                let op = &program.nodes()[*id as usize].op;
                let inner = run_by(op).filter(|_| matches!(self, BoxContent::Operation(_)));
                let link = inner.map(|inner| format!("p{}", painter.programs.number(inner)));
                (class(Role::of(op)), matches!(op, Op::Input(_)), painter.told(program, *id, outer), link)
            }
            BoxContent::Elsewhere(name, id) => ("x", true, format!("{name}, from another part"), Some(id.clone())),
            BoxContent::Result(name) => ("r", true, name.clone(), None),
            BoxContent::Group(id, _, told) => ("g", false, told.clone(), Some(id.replace('g', "d"))),
        };
        let id = match self {
            BoxContent::Elsewhere(..) | BoxContent::Result(_) => String::new(),
            BoxContent::Operation(_) | BoxContent::Outer(..) | BoxContent::Group(..) => {
                format!(" id=\"{}\"", self.id(painter, program))
            }
        };
        let link = link.map_or_else(String::new, |to| format!(" data-to=\"{to}\""));
        let _ = write!(
            svg,
            "<g{id} class=\"n {class}\" transform=\"translate({x:.0} {y:.0})\"{link}><title>{}</title><rect width=\"{:.0}\" \
             height=\"{:.0}\" rx=\"{}\"/>",
            escape::html(&told),
            size.0,
            size.1,
            rounding(round)
        );
        for (k, word) in words.iter().enumerate() {
            let class = if k == 0 { "" } else { " class=\"k\"" };
            let (x, y) = (size.0 / 2.0, AROUND / 2.0 + (k as f64 + 0.75) * LINE);
            let _ = write!(svg, "<text x=\"{x:.0}\" y=\"{y:.0}\"{class}>{}</text>", escape::html(word));
        }
        if let BoxContent::Outer(_, inner, picture) = self {
            let (left, top) = ((size.0 - picture.size.0) / 2.0, extent(words).1 + AROUND / 2.0);
            let _ = write!(
                svg,
                "<g id=\"p{}\" transform=\"translate({left:.0} {top:.0})\">{}</g>",
                painter.programs.number(inner),
                picture.svg
            );
        }
        svg.push_str("</g>\n");
    }
}

/// The numbers of the boxes at the ends of edges.
type Edges = Vec<(usize, usize)>;

/// The edges that no path of others implies, and those that one implies.
fn reduced(count: usize, edges: Edges) -> (Edges, Edges) {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    edges.iter().for_each(|(from, to)| below[*from].push(*to));
    // The boxes that each box leads to, from the last one on.
    let mut leads: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    let (mut kept, mut implied) = (Vec::new(), Vec::new());
    for from in (0..count).rev() {
        let mut reached = BTreeSet::new();
        below[from].sort_unstable();
        for to in &below[from] {
            if reached.contains(to) {
                implied.push((from, *to));
                continue;
            }
            kept.push((from, *to));
            reached.extend(leads[*to].iter().copied());
            reached.insert(*to);
        }
        leads[from] = reached;
    }
    (kept, implied)
}

fn class(role: Role) -> &'static str {
    match role {
        Role::Input => "i",
        Role::Constant => "c",
        Role::Choice => "s",
        Role::Loop | Role::Function => "l",
        Role::Part | Role::Operation => "o",
    }
}

/// A curve through points that go down, upright at each.
fn curve(path: &[Extent]) -> String {
    let mut text = String::new();
    let Some((first, rest)) = path.split_first() else { return text };
    let _ = write!(text, "M{:.0} {:.0}", first.0, first.1);
    let mut before = *first;
    for point in rest {
        if (point.0 - before.0).abs() < 1.0 {
            let _ = write!(text, "L{:.0} {:.0}", point.0, point.1);
        } else {
            let middle = f64::midpoint(before.1, point.1);
            let _ =
                write!(text, "C{:.0} {middle:.0} {:.0} {middle:.0} {:.0} {:.0}", before.0, point.0, point.0, point.1);
        }
        before = *point;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implied_edges_are_arcs() {
        let (kept, implied) = reduced(5, vec![(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (1, 4), (0, 2)]);
        assert_eq!(kept.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([(0, 1), (1, 2), (2, 3), (3, 4)]));
        assert_eq!(implied.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([(0, 2), (0, 3), (1, 4)]));
    }
}
