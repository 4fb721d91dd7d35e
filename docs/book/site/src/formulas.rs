//! Formulas of pages: `$..$` in a line and `$$..$$` as a paragraph, in the notation of LaTeX, become MathML.
//!
//! Law: what stands in programs and code spans stays as it is; a formula that cannot be read is an error that shows it.

use anyhow::{Result, bail};
use pulldown_latex::{Parser, RenderConfig, Storage, config::DisplayMode, push_mathml};

/// A formula as MathML.
fn mathml(formula: &str, display: bool, page: &str) -> Result<String> {
    let storage = Storage::new();
    let mut parsed = Vec::new();
    for event in Parser::new(formula, &storage) {
        match event {
            Ok(event) => parsed.push(event),
            Err(error) => bail!("{page}: the formula `{formula}` cannot be read: {error}"),
        }
    }
    let display_mode = if display { DisplayMode::Block } else { DisplayMode::Inline };
    let mut out = String::new();
    let events = parsed.into_iter().map(Ok::<_, std::convert::Infallible>);
    push_mathml(&mut out, events, RenderConfig { display_mode, ..RenderConfig::default() })?;
    // An empty line would end the paragraph that holds the formula.
    Ok(out.split('\n').map(str::trim).collect())
}

/// A text with its formulas as MathML.
pub(crate) fn drawn(text: &str, page: &str) -> Result<String> {
    let (mut out, mut inside, mut display) = (String::new(), false, None::<String>);
    for line in text.lines() {
        inside ^= line.trim_start().starts_with("```");
        if inside {
            out += line;
        } else if let Some(formula) = &mut display {
            match line.trim_end().strip_suffix("$$") {
                Some(last) => {
                    out += &mathml(&format!("{formula} {last}"), true, page)?;
                    display = None;
                }
                None => *formula += &format!(" {line}"),
            }
            if display.is_some() {
                continue;
            }
        } else if let Some(formula) = line.trim().strip_prefix("$$") {
            match formula.strip_suffix("$$") {
                Some(formula) => out += &mathml(formula, true, page)?,
                None => {
                    display = Some(formula.to_owned());
                    continue;
                }
            }
        } else {
            out += &in_line(line, page)?;
        }
        out.push('\n');
    }
    Ok(out)
}

/// A line with its formulas as MathML.
fn in_line(line: &str, page: &str) -> Result<String> {
    let mut out = String::new();
    // Code spans are every second part between backticks.
    for (k, part) in line.split('`').enumerate() {
        if k > 0 {
            out.push('`');
        }
        if k % 2 == 1 {
            out += part;
            continue;
        }
        for (k, part) in part.split('$').enumerate() {
            out += &if k % 2 == 1 { mathml(part, false, page)? } else { part.to_owned() };
        }
    }
    Ok(out)
}
