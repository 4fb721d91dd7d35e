//! The section of a page that draws a program, and the programs of its loops and functions.
//!
//! Law: a page has at most [`MOST`] operations, and every picture at most [`WHOLE`], or [`GROUPS`] groups: a longer program
//! is drawn as its groups, each with its operations below. The page says what is left out.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::described::source_line;
use super::diagram::{Painter, Picture, Programs, RunAt, boxes_read, drawn};
use super::groups::grouped;
use super::page::{counted, microseconds};
use crate::escape;
use crate::program::{NodeId, Program};
use crate::text::line::heading;

/// The most operations that one picture has, and a page.
const WHOLE: usize = 140;
const MOST: usize = 2600;

/// The most groups of one program.
const GROUPS: usize = 300;

/// The space around a picture.
const MARGIN: f64 = 10.0;

/// The longest text of a program, in bytes.
const TEXT: usize = 150_000;

/// The program as pictures, and as text.
pub(super) fn section(program: &Program) -> String {
    let programs = Programs::of(program);
    let painter = Painter { programs: &programs, inside: RefCell::new(BTreeSet::new()) };
    let mut writer = ProgramWriter { painter, html: String::new(), left: MOST, omitted: 0 };
    writer.html.push_str(FIND);
    for (number, (inner, at)) in programs.all.iter().enumerate() {
        if !writer.painter.inside.borrow().contains(&number) {
            writer.program(number, inner, *at);
        }
    }
    if writer.omitted > 0 {
        let _ = write!(
            writer.html,
            "<p class=\"note\">{} of this program {} not drawn, since a page has at most {MOST}.</p>",
            counted(writer.omitted, "operation"),
            if writer.omitted == 1 { "is" } else { "are" }
        );
    }
    let text = program.to_string();
    let shown = text.char_indices().nth(TEXT).map_or(&text[..], |(end, _)| &text[..end]);
    let rest = if shown.len() < text.len() { "\n.." } else { "" };
    let _ = write!(
        writer.html,
        "<details><summary>The program as text</summary><pre>{}{rest}</pre></details>",
        escape::html(shown)
    );
    writer.html
}

const FIND: &str = "<p class=\"find\"><label>Search <input id=\"find\" type=\"search\" placeholder=\"an operation, a value, a \
                    line\"/></label> <output id=\"found\"></output></p><p id=\"told\" class=\"told\">Point at an operation, or \
                    touch it, to see its line of text, the line that wrote it, and its estimated cost.</p><ul \
                    class=\"key\"><li><i style=\"background:var(--in)\"></i>inputs</li><li><i \
                    style=\"background:var(--const)\"></i>constants</li><li><i style=\"background:var(--pick)\"></i>choices \
                    by a mask</li><li><i style=\"background:var(--loop)\"></i>loops and functions</li><li><i \
                    style=\"background:var(--res)\"></i>results</li></ul>";

struct ProgramWriter<'a> {
    painter: Painter<'a>,
    html: String,
    /// How many operations may be drawn.
    left: usize,
    /// How many were not drawn.
    omitted: usize,
}

impl<'a> ProgramWriter<'a> {
    /// One program, and the operation that runs it.
    fn program(&mut self, number: usize, program: &'a Program, at: Option<RunAt<'a>>) {
        let ids = drawn(program);
        if let Some((around, id)) = at {
            let title = heading(around, id);
            let line = source_line(around, id);
            let line = if line.is_empty() { line } else { format!(" at {line}") };
            let count = counted(ids.len(), "operation");
            let open = if ids.len() <= WHOLE { " open=\"\"" } else { "" };
            let _ = write!(
                self.html,
                "<details id=\"p{number}\" class=\"part\"{open}><summary>{}{} <small>{count}</small></summary>",
                escape::html(&title),
                escape::html(&line)
            );
        }
        if ids.len() > WHOLE {
            self.groups(number, program, &ids, at);
        } else if self.takes(ids.len()) {
            let picture = self.painter.part(program, &ids, at.map(|(around, id)| &around.nodes()[id as usize].op), 0);
            self.picture(&picture);
        }
        if at.is_some() {
            self.html.push_str("</details>");
        }
    }

    /// Whether `count` more operations may be drawn.
    fn takes(&mut self, count: usize) -> bool {
        let takes = count <= self.left;
        if takes {
            self.left -= count;
        } else {
            self.omitted += count;
        }
        takes
    }

    /// A long program: its groups as boxes, and each group by itself.
    fn groups(&mut self, number: usize, program: &'a Program, ids: &[NodeId], at: Option<RunAt<'a>>) {
        let place: BTreeMap<NodeId, usize> = ids.iter().enumerate().map(|(k, id)| (*id, k)).collect();
        let reads = |id: NodeId| boxes_read(program, id).into_iter();
        let edges: Vec<(usize, usize)> = ids
            .iter()
            .enumerate()
            .flat_map(|(k, id)| reads(*id).map(|from| (place[&from], k)).collect::<Vec<_>>())
            .collect();
        let keys: Vec<String> = ids.iter().map(|id| source_line(program, *id)).collect();
        let groups = grouped(&keys, &edges, WHOLE);
        let mut of = vec![0; ids.len()];
        groups.iter().enumerate().for_each(|(g, group)| group.iter().for_each(|k| of[*k] = g));
        let all = edges.iter().map(|(from, to)| (of[*from], of[*to]));
        let between: BTreeSet<(usize, usize)> = all.filter(|(from, to)| from != to && *to < GROUPS).collect();
        let members: Vec<Vec<NodeId>> = groups.iter().map(|group| group.iter().map(|k| ids[*k]).collect()).collect();
        let boxes = members.iter().enumerate().take(GROUPS).map(|(g, members)| {
            let words = group_words(program, members);
            let told = format!("{}\n{}", words.join("\n"), lines_of(program, members, 12).join("\n"));
            (format!("p{number}g{g}"), words, told)
        });
        let overview = self.painter.overview(program, boxes.collect(), between.into_iter().collect());
        let _ = write!(
            self.html,
            "<p>{} in {}{}, by line of source. A touch of a group leads to its operations.</p>",
            counted(ids.len(), "operation"),
            counted(members.len(), "group"),
            if members.len() > GROUPS { format!("; the first {GROUPS} are drawn") } else { String::new() }
        );
        self.picture(&overview);
        let outer = at.map(|(around, id)| &around.nodes()[id as usize].op);
        for (g, members) in members.iter().enumerate() {
            if !self.takes(members.len()) {
                continue;
            }
            let [title, rest @ ..] = &group_words(program, members)[..] else { continue };
            let _ = write!(
                self.html,
                "<details id=\"p{number}d{g}\" class=\"part\"><summary>{} <small>{}</small></summary>",
                escape::html(title),
                escape::html(&rest.join(", "))
            );
            let picture = self.painter.part(program, members, outer, 0);
            self.picture(&picture);
            self.html.push_str("</details>");
        }
    }

    fn picture(&mut self, picture: &Picture) {
        figure(&mut self.html, picture);
    }
}

/// A picture that can be moved and made larger.
fn figure(html: &mut String, Picture { svg, size }: &Picture) {
    let (width, height) = (size.0 + 2.0 * MARGIN, size.1 + 2.0 * MARGIN);
    let _ = write!(
        html,
        "<div class=\"pic\"><div class=\"tools\"><button type=\"button\" data-z=\"1.3\" title=\"larger\">+</button><button \
         type=\"button\" data-z=\"0.77\" title=\"smaller\">\u{2212}</button><button type=\"button\" data-z=\"0\">fit</button>\
         </div><div class=\"view\" tabindex=\"0\"><svg role=\"img\" aria-label=\"operations and their operands\" width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"-{MARGIN} -{MARGIN} {width:.0} {height:.0}\">\n{svg}</svg></div></div>"
    );
}

/// The lines of source of some operations, the first ones, each once.
fn lines_of(program: &Program, ids: &[NodeId], most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in ids.iter().map(|id| source_line(program, *id)).filter(|line| !line.is_empty()) {
        if !lines.contains(&line) {
            lines.push(line);
        }
        if lines.len() > most {
            break;
        }
    }
    lines
}

/// The description of a group: its lines, the number of its operations with their estimated time, and its most frequent
/// operations.
fn group_words(program: &Program, ids: &[NodeId]) -> Vec<String> {
    let title = span_of(&lines_of(program, ids, 99));
    let time: u64 = ids.iter().map(|id| program.estimate_of(*id).time).fold(0, u64::saturating_add);
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids {
        let name = program.nodes()[*id as usize].op.words();
        *names.entry(name.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let mut names: Vec<(String, usize)> = names.into_iter().collect();
    crate::order::sort_by_key(&mut names, |(_, count)| std::cmp::Reverse(*count));
    let frequent: Vec<String> = names.iter().take(3).map(|(name, count)| format!("{count} {name}")).collect();
    let about = microseconds(time as f64 * 1e-4);
    vec![title, format!("{}, about {about}", counted(ids.len(), "operation")), frequent.join(", ")]
}

/// Lines of source in short: the file with the first and the last line, or with the number of others.
fn span_of(lines: &[String]) -> String {
    let short = |line: &str| line.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let parts = |line: &str| {
        let (file, number) = line.rsplit_once(':')?;
        Some((file.to_owned(), number.parse::<usize>().ok()?))
    };
    let known: Vec<(String, usize)> = lines.iter().filter_map(|line| parts(line)).collect();
    let Some((file, number)) = known.first() else { return "operations without a line".to_owned() };
    if known.iter().any(|(other, _)| other != file) {
        return format!("{}:{number} and {}", short(file), counted(known.len() - 1, "other line"));
    }
    let (first, last) = known.iter().fold((*number, *number), |(a, b), (_, k)| (a.min(*k), b.max(*k)));
    if first == last { format!("{}:{first}", short(file)) } else { format!("{}:{first}\u{2013}{last}", short(file)) }
}
