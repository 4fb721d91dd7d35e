//! Pictures of programs: the graph of a program as DOT, and a report on a function as one page of HTML.
//!
//! Laws: what is drawn follows from the program, its plan and what the caller tells, except for measured times, and is
//! deterministic; a page names no other file; nothing recurses over the length of a program.
//!
//! | module | contents |
//! |---|---|
//! | `described` | the description of an operation |
//! | `dot` | programs in the language of Graphviz |
//! | `layout` | places of boxes and edges, in layers |
//! | `groups` | long programs in parts, by line of source |
//! | `diagram` | parts of programs as SVG |
//! | `program`, `steps`, `choices`, `pattern` | the sections of a page |
//! | `page` | its frame |

mod choices;
mod described;
mod diagram;
mod dot;
mod groups;
mod layout;
mod page;
mod pattern;
mod program;
mod steps;

pub(crate) use choices::{ModeCandidate, ModeChoice};
pub(crate) use pattern::PatternPicture;

use crate::backend::traffic::Traffic;
use crate::escape;
use crate::program::{Program, Slot};
use crate::shape::Show;
use page::counted;

/// The contents of a page.
pub(crate) struct ReportFacts<'a> {
    /// The description of the function.
    pub(crate) title: &'a str,
    /// The program that runs.
    pub(crate) program: &'a Program,
    /// The passes that changed it, as a line.
    pub(crate) passes: &'a str,
    pub(crate) traffic: &'a Traffic,
    /// On what times were measured, or why they were not.
    pub(crate) measured: &'a str,
    pub(crate) choices: &'a [ModeChoice],
    pub(crate) pattern: Option<&'a PatternPicture<'a>>,
}

impl ReportFacts<'_> {
    /// The page.
    pub(crate) fn html(&self) -> String {
        let pattern = self.pattern.map_or_else(
            || "<p>The function gives no sparse matrix; sparse Jacobians and Hessians have a picture of their pattern here.</p>".into(),
            pattern::section,
        );
        let sections = [
            ("program", "Program", program::section(self.program)),
            ("steps", "Steps of a run", steps::section(self.traffic, self.measured)),
            ("memory", "Memory", steps::buffers(self.traffic)),
            ("mode", "Choice of mode", choices::section(self.choices, self.pattern.is_some())),
            ("pattern", "Pattern", pattern),
        ];
        page::page(self.title, &self.told(), &sections)
    }

    /// Inputs, results and sizes, below the title.
    fn told(&self) -> String {
        const NAMED: usize = 12;
        let slots = |slots: &[Slot], word: &str| {
            let one = |(k, slot): (usize, &Slot)| {
                let name = if slot.name.is_empty() { format!("{word} {k}").into() } else { escape::name(&slot.name) };
                let shape = if slot.shape.is_empty() { String::new() } else { Show(&slot.shape).to_string() };
                format!("<code>{}: {}{shape}</code>", escape::html(&name), slot.dtype)
            };
            let mut all: Vec<String> = slots.iter().enumerate().take(NAMED).map(one).collect();
            if slots.len() > NAMED {
                all.push(format!("and {} more", slots.len() - NAMED));
            }
            if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
        };
        format!(
            "<p>From {} to {}. The program that runs has {}, in {}.</p>\n<p class=\"soft\">{}</p>",
            slots(self.program.inputs(), "input"),
            slots(self.program.outputs(), "result"),
            counted(self.program.size(), "operation"),
            counted(self.traffic.steps.len(), "step"),
            escape::html(self.passes.trim_end())
        )
    }
}
