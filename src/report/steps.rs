//! The sections of a page on a run: its steps with their times and bytes, and the buffers in memory.
//!
//! Law: rows are in the order in which steps run; a bar of time is a share of the longest step.

use std::fmt::Write;

use super::page::{bytes, counted, microseconds};
use crate::backend::traffic::{BufferLife, BufferOwner, StepTraffic, Traffic};
use crate::escape;

/// The most steps and the most buffers that a page lists.
const STEPS: usize = 500;
const BUFFERS: usize = 60;

/// The steps as a table; `measured` says on what times were measured, or why they were not.
pub(super) fn section(traffic: &Traffic, measured: &str) -> String {
    let mut html = format!("<p>{}</p>", escape::html(measured));
    if traffic.steps.is_empty() {
        html.push_str("<p>A run has no steps: its results are inputs or constants.</p>");
        return html;
    }
    let timed = traffic.runs > 0;
    let time = |step: &StepTraffic| step.measured.map_or(0.0, |(_, us)| us);
    if timed {
        let all: f64 = traffic.steps.iter().filter(|step| step.depth == 0).map(time).sum();
        let _ = write!(html, "<p>The steps of a run take {} together.</p>", microseconds(all));
    }
    let longest = traffic.steps.iter().map(time).fold(0.0, f64::max).max(1e-9);
    let head = if timed { "<th class=\"num\">time</th><th class=\"num\">times</th>" } else { "" };
    let _ = writeln!(
        html,
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th class=\"num\">step</th><th>what it \
         does</th>{head}<th class=\"num\">reads</th><th class=\"num\">writes</th></tr></thead><tbody>"
    );
    for (k, step) in traffic.steps.iter().enumerate().take(STEPS) {
        let times = step.measured.map_or_else(String::new, |(count, us)| {
            let share = 100.0 * us / longest;
            format!(
                "<td class=\"num\">{}<span class=\"time\" style=\"width:{share:.0}%\"></span></td><td class=\"num\">{count}</td>",
                microseconds(us)
            )
        });
        let _ = writeln!(
            html,
            "<tr><td class=\"num\">{k}</td><td class=\"what\" style=\"padding-left:{}em\">{}</td>{times}<td class=\"num\">{}</td>\
             <td class=\"num\">{}</td></tr>",
            step.depth,
            escape::html(&step.words),
            bytes(step.read),
            bytes(step.written)
        );
    }
    html.push_str("</tbody></table></div>");
    if let Some(more) = traffic.steps.len().checked_sub(STEPS).filter(|more| *more > 0) {
        let _ = write!(html, "<p class=\"note\">{} follow, which are not listed.</p>", counted(more, "step"));
    }
    html.push_str(
        "<p class=\"note\">Bytes are those of the operands of the code in one execution, whether a cache has them or not. The \
         steps inside a loop or a block of rows follow it, further to the right; the loop contains their time.</p>",
    );
    html
}

/// The width of a chart, and of its part with names.
const WIDTH: f64 = 900.0;
const NAMES: f64 = 250.0;
const ROW: f64 = 17.0;
const CURVE: f64 = 70.0;

/// The buffers as bars over the outermost steps, and the bytes that live at each.
pub(super) fn buffers(traffic: &Traffic) -> String {
    let mut html = format!(
        "<p>A run on one thread takes {} for values, and {} for registers and partial sums, not counting inputs and results.</p>",
        bytes(traffic.block as u64),
        bytes(traffic.beside as u64)
    );
    if traffic.buffers.is_empty() {
        html.push_str("<p>No step reads or writes a buffer.</p>");
        return html;
    }
    html.push_str(
        "<ul class=\"key\"><li><svg width=\"14\" height=\"11\"><rect class=\"bi\" width=\"14\" height=\"11\"/></svg> inputs and \
         constants</li><li><svg width=\"14\" height=\"11\"><rect class=\"bw\" width=\"14\" height=\"11\"/></svg> values</li>\
         <li><svg width=\"14\" height=\"11\"><rect class=\"bb\" width=\"14\" height=\"11\"/></svg> bodies of loops</li><li><svg \
         width=\"14\" height=\"11\"><rect class=\"br\" width=\"14\" height=\"11\"/></svg> results</li></ul>",
    );
    let mut shown: Vec<&BufferLife> = traffic.buffers.iter().collect();
    if shown.len() > BUFFERS {
        crate::order::sort_by_key(&mut shown, |life| std::cmp::Reverse(life.bytes));
        shown.truncate(BUFFERS);
        crate::order::sort_by_key(&mut shown, |life| (life.first, life.last));
        let _ = write!(
            html,
            "<p class=\"note\">The {BUFFERS} largest of {} are listed.</p>",
            counted(traffic.buffers.len(), "buffer")
        );
    }
    let steps = traffic.outermost.max(1);
    let x = |step: usize| NAMES + (WIDTH - NAMES) * step as f64 / steps as f64;
    let height = CURVE + 22.0 + ROW * shown.len() as f64;
    let _ = write!(
        html,
        "<div class=\"wide\" tabindex=\"0\"><svg class=\"chart\" style=\"min-width:600px\" role=\"img\" aria-label=\"lives of \
         buffers\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\">"
    );
    curve(&mut html, traffic, &x);
    for (k, life) in shown.iter().enumerate() {
        let (y, left) = (CURVE + 22.0 + ROW * k as f64, x(life.first));
        let class = match life.owner {
            BufferOwner::Input => "bi",
            BufferOwner::Constant => "bc",
            BufferOwner::Result => "br",
            BufferOwner::Workspace if life.holds.starts_with("result") => "br",
            BufferOwner::Workspace => "bw",
            BufferOwner::Body => "bb",
        };
        let place = life.start.map_or_else(String::new, |start| format!(", from byte {start} of the workspace"));
        let _ = writeln!(
            html,
            "<g><title>{}: {}, steps {} to {}{place}</title><text x=\"0\" y=\"{:.0}\">{} <tspan class=\"k\">{}</tspan></text><rect \
             class=\"{class}\" x=\"{left:.1}\" y=\"{y:.0}\" width=\"{:.1}\" height=\"{:.0}\" rx=\"2\"/></g>",
            escape::html(&life.holds),
            bytes(life.bytes as u64),
            life.first,
            life.last,
            y + 11.0,
            escape::html(&shortened(&life.holds)),
            bytes(life.bytes as u64),
            (x(life.last + 1) - left - 1.0).max(1.0),
            ROW - 4.0
        );
    }
    html.push_str("</svg></div>");
    html
}

fn shortened(words: &str) -> String {
    const LONGEST: usize = 28;
    if words.chars().count() <= LONGEST {
        return words.to_owned();
    }
    words.chars().take(LONGEST - 1).collect::<String>() + "\u{2026}"
}

/// The bytes of the workspace that live at each outermost step, as an area.
fn curve(html: &mut String, traffic: &Traffic, x: &dyn Fn(usize) -> f64) {
    let mut live = vec![0u64; traffic.outermost.max(1)];
    for life in traffic.buffers.iter().filter(|life| life.start.is_some()) {
        live[life.first..=life.last].iter_mut().for_each(|bytes| *bytes += life.bytes as u64);
    }
    let most = live.iter().copied().max().unwrap_or_default();
    let y = |bytes: u64| CURVE - (CURVE - 16.0) * bytes as f64 / most.max(1) as f64;
    let mut path = format!("M{:.1} {CURVE:.0}", x(0));
    for (step, bytes) in live.iter().enumerate() {
        let _ = write!(path, "V{:.1}H{:.1}", y(*bytes), x(step + 1));
    }
    let _ = write!(
        html,
        "<text x=\"0\" y=\"{:.0}\">values that live <tspan class=\"k\">at most {}</tspan></text><path class=\"area\" \
         d=\"{path}V{CURVE:.0}Z\"/><path class=\"axis\" d=\"M{NAMES:.0} {CURVE:.0}H{WIDTH:.0}\"/><text class=\"k\" x=\"{NAMES:.0}\" \
         y=\"{:.0}\">step 0</text><text class=\"k\" x=\"{WIDTH:.0}\" y=\"{:.0}\" text-anchor=\"end\">step {}</text>",
        CURVE - 20.0,
        bytes(most),
        CURVE + 14.0,
        CURVE + 14.0,
        traffic.outermost.saturating_sub(1)
    );
}
