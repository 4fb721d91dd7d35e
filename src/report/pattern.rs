//! The section of a page on the pattern of a sparse matrix: its elements, in the colours of the passes that compute them.
//!
//! Law: an element is drawn in the colour of the pass off which it is read; a cell for several elements has their colour if
//! they have one, and none otherwise.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::page::counted;

/// A sparse matrix, for its picture.
pub(crate) struct PatternPicture<'a> {
    pub(crate) shape: (usize, usize),
    /// Row and column of each element.
    pub(crate) elements: Vec<(usize, usize)>,
    /// The pass of each element: those of forward mode first.
    pub(crate) passes: Vec<u32>,
    /// The number of passes of forward and of reverse mode.
    pub(crate) counts: [usize; 2],
    /// The number of elements that are the same for all arguments.
    pub(crate) constant: usize,
    pub(crate) what: &'a str,
}

/// The most rows and columns of a picture, and of the corner of a larger matrix.
const CELLS: usize = 96;
const CORNER: usize = 48;

/// The size of a picture, and the largest size of a cell.
const PIXELS: usize = 560;
const CELL: usize = 22;

/// The most passes that are listed.
const LISTED: usize = 24;

pub(super) fn section(pattern: &PatternPicture<'_>) -> String {
    let (m, n) = pattern.shape;
    let count = pattern.elements.len();
    let whole = m.saturating_mul(n).max(1);
    let [forward, reverse] = pattern.counts;
    let mut html = format!(
        "<p>{} of {m} \u{d7} {n} elements: {count} can be nonzero ({:.3} %), {} of them the same for all arguments. A run makes {} \
         of forward mode and {} of reverse mode. An element has the colour of the pass that it is read off.</p>",
        pattern.what,
        100.0 * count as f64 / whole as f64,
        pattern.constant,
        passes(forward),
        passes(reverse)
    );
    if count == 0 {
        html.push_str("<p>All elements are zero.</p>");
        return html;
    }
    let (rows, columns) = (m.min(CELLS), n.min(CELLS));
    if (rows, columns) == (m, n) {
        picture(&mut html, pattern, (m, n), (m, n));
    } else {
        let _ = write!(
            html,
            "<h3>The whole matrix</h3><p class=\"note\">A cell stands for up to {} \u{d7} {} elements; grey cells have elements of \
             several passes.</p>",
            m.div_ceil(rows),
            n.div_ceil(columns)
        );
        picture(&mut html, pattern, (m, n), (rows, columns));
        let corner = (m.min(CORNER), n.min(CORNER));
        let _ = write!(html, "<h3>The first {} rows and {} columns</h3>", corner.0, corner.1);
        picture(&mut html, pattern, corner, corner);
    }
    legend(&mut html, pattern);
    html
}

fn passes(n: usize) -> String {
    if n == 1 { "1 pass".into() } else { format!("{n} passes") }
}

/// The colour of a pass: hues that differ by the golden angle.
fn color(pass: u32) -> String {
    format!("hsl({} 62% 52%)", (210 + pass * 137) % 360)
}

/// The part of the matrix up to row `m` and column `n`, in `rows` times `columns` cells.
fn picture(html: &mut String, pattern: &PatternPicture<'_>, (m, n): (usize, usize), (rows, columns): (usize, usize)) {
    // For each cell its pass, unless it has several.
    let mut cells: BTreeMap<(usize, usize), Option<u32>> = BTreeMap::new();
    for ((i, j), pass) in pattern.elements.iter().zip(&pattern.passes).filter(|((i, j), _)| *i < m && *j < n) {
        let cell = (i * rows / m, j * columns / n);
        cells.entry(cell).and_modify(|known| *known = known.filter(|known| known == pass)).or_insert(Some(*pass));
    }
    let mut paths: BTreeMap<Option<u32>, String> = BTreeMap::new();
    for ((i, j), pass) in cells {
        let _ = write!(paths.entry(pass).or_default(), "M{j} {i}h1v1h-1z");
    }
    let cell = (PIXELS / rows.max(columns)).clamp(1, CELL);
    let _ = write!(
        html,
        "<svg class=\"pattern\" role=\"img\" aria-label=\"elements that can be nonzero\" style=\"max-width:{}px\" viewBox=\"0 0 \
         {columns} {rows}\">",
        columns * cell
    );
    for (pass, path) in paths {
        let fill = pass.map_or_else(|| "#8a939c".to_owned(), color);
        let title = pass.map_or_else(|| "several passes".to_owned(), |pass| format!("pass {pass}"));
        let _ = write!(html, "<path fill=\"{fill}\" d=\"{path}\"><title>{title}</title></path>");
    }
    html.push_str("</svg>");
}

/// The passes with their colours and the numbers of their elements.
fn legend(html: &mut String, pattern: &PatternPicture<'_>) {
    let mut elements: BTreeMap<u32, usize> = BTreeMap::new();
    pattern.passes.iter().for_each(|pass| *elements.entry(*pass).or_default() += 1);
    html.push_str("<ul class=\"key\">");
    for (pass, count) in elements.iter().take(LISTED) {
        let mode = if (*pass as usize) < pattern.counts[0] { "forward" } else { "reverse" };
        let _ = write!(
            html,
            "<li><i style=\"background:{}\"></i>pass {pass}, {mode}: {}</li>",
            color(*pass),
            counted(*count, "element")
        );
    }
    html.push_str("</ul>");
    if let Some(more) = elements.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = write!(html, "<p class=\"note\">and {} more.</p>", passes(more));
    }
}
