//! Reports on choices: the text that tells a user why a derivative is computed as it is.

use std::fmt::{self, Display, Write};

use super::Way;
use crate::cost::Estimate;
#[cfg(feature = "report")]
use crate::report::{ModeCandidate, ModeChoice};

/// The reason for a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The user asked for the mode.
    Asked,
    /// There are far fewer inputs than results, or the other way round.
    Shapes,
    /// Other ways of this program take no less work.
    Kind,
    /// A function in the program has no rule for tangents.
    Rules,
    /// The estimates of all ways that were compared.
    Estimates(Vec<(Way, Estimate)>),
}

/// A chosen way, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(super) verb: &'static str,
    pub(super) inputs: usize,
    pub(super) results: usize,
    pub(super) way: Way,
    pub(super) why: Why,
}

/// `jacobian, 3 results in 100 inputs: reverse, since there are far fewer results`, or with a line for each estimate.
impl Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        let (inputs, results) = (number(self.inputs, "input"), number(self.results, "result"));
        write!(f, "{}, {results} in {inputs}: {}", self.verb, self.way)?;
        match &self.why {
            Why::Asked => f.write_str(", as asked for"),
            Why::Shapes if self.inputs < self.results => f.write_str(", since there are far fewer inputs"),
            Why::Shapes => f.write_str(", since there are far fewer results"),
            Why::Kind => f.write_str(", since no other mode takes less work"),
            Why::Rules => f.write_str(", since a function has no rule for tangents"),
            Why::Estimates(all) => {
                f.write_str(", by these estimates")?;
                for (way, Estimate { cost, time }) in all {
                    let micros = *time as f64 * 1e-4;
                    write!(f, "\n  {way}: {micros:.1} us, {} elements, {} bytes", cost.work, cost.bytes)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(feature = "report")]
impl Choice {
    /// The choice with what was compared.
    pub(crate) fn compared(&self) -> ModeChoice {
        let all = if let Why::Estimates(all) = &self.why { &all[..] } else { &[] };
        let candidate = |(way, Estimate { cost, time }): &(Way, Estimate)| ModeCandidate {
            name: way.to_string(),
            time: *time as f64 * 1e-4,
            elements: cost.work,
            bytes: cost.bytes,
            chosen: *way == self.way,
        };
        let words = self.to_string().lines().next().unwrap_or_default().to_owned();
        ModeChoice { words, candidates: all.iter().map(candidate).collect() }
    }
}

/// The text of choices: a line for each choice, and for each estimate.
pub(crate) fn explained(choices: &[Choice]) -> String {
    let mut text = String::new();
    for choice in choices {
        let _ = writeln!(text, "{choice}");
    }
    text
}
