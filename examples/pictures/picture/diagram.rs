//! Boxes with lines of text, and arrows between them, as text in the format SVG.

use std::fmt::Write;

use plotters::style::RGBColor;

use super::COLOURS;

/// The height of a line of text, and the width of a letter, of which all are equally wide.
const LINE: f64 = 17.0;
const LETTER: f64 = 7.25;

/// A box: its place, its size, what it is, and the lines in it.
pub(crate) struct Part<'a> {
    pub(crate) at: (f64, f64),
    pub(crate) size: (f64, f64),
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) colour: usize,
}

/// A drawing of boxes and arrows.
pub(crate) struct Diagram {
    svg: String,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Diagram {
    /// A drawing of this height, with a title.
    pub(crate) fn new(title: &str, height: f64) -> Diagram {
        let svg = format!(
            "<svg width=\"720\" height=\"{height}\" viewBox=\"0 0 720 {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
             font-family=\"sans-serif\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
             <path d=\"M0,0 L10,5 L0,10 z\" fill=\"#505050\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n\
             <text x=\"20\" y=\"28\" font-size=\"18\">{}</text>\n",
            escaped(title)
        );
        Diagram { svg }
    }

    /// A box. Its name stands above its lines, which must fit.
    pub(crate) fn part(mut self, part: &Part<'_>) -> Self {
        let Part { at: (x, y), size: (w, h), name, text, colour } = *part;
        let RGBColor(red, green, blue) = COLOURS[colour];
        let colour = format!("#{red:02X}{green:02X}{blue:02X}");
        let lines: Vec<&str> = text.lines().collect();
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(name.len() as f64 * LETTER + 20.0 <= w, "{name}: the name does not fit");
        assert!(widest as f64 * LETTER + 20.0 <= w, "{name}: a line of {widest} letters does not fit");
        assert!((lines.len() + 1) as f64 * LINE + 16.0 <= h, "{name}: {} lines do not fit", lines.len());
        let _ = writeln!(
            self.svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"6\" fill=\"{colour}\" fill-opacity=\"0.07\" stroke=\"{colour}\"/>\n\
             <text x=\"{}\" y=\"{}\" font-size=\"14\" fill=\"{colour}\">{}</text>",
            x + 10.0,
            y + 20.0,
            escaped(name)
        );
        for (k, line) in lines.iter().enumerate() {
            let _ = writeln!(
                self.svg,
                "<text x=\"{}\" y=\"{}\" font-size=\"12\" font-family=\"monospace\" xml:space=\"preserve\">{}</text>",
                x + 10.0,
                y + 41.0 + k as f64 * LINE,
                escaped(line)
            );
        }
        self
    }

    /// An arrow, with a word beside its middle.
    pub(crate) fn arrow(mut self, from: (f64, f64), to: (f64, f64), word: &str) -> Self {
        let _ = writeln!(
            self.svg,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#505050\" stroke-width=\"1.5\" marker-end=\"url(#tip)\"/>",
            from.0, from.1, to.0, to.1
        );
        if !word.is_empty() {
            let _ = writeln!(
                self.svg,
                "<text x=\"{}\" y=\"{}\" font-size=\"13\" fill=\"#505050\">{}</text>",
                (from.0 + to.0) / 2.0 + 8.0,
                (from.1 + to.1) / 2.0 + 4.0,
                escaped(word)
            );
        }
        self
    }

    pub(crate) fn svg(self) -> String {
        self.svg + "</svg>\n"
    }
}
