//! What is reported of a measurement: one line of JSON, with check sums by which programs show that they computed the
//! same; and a table of the lines of several programs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use polygrad::Array;
use serde::{Deserialize, Serialize};

/// A measurement of one program on one workload. Times in the unit that the name ends with, `ratio` is that of the
/// medians.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) workload: String,
    pub(crate) peer: String,
    pub(crate) threads: usize,
    pub(crate) primal_ms: f64,
    pub(crate) grad_ms: f64,
    pub(crate) ratio: f64,
    pub(crate) first_primal_s: f64,
    pub(crate) first_grad_s: f64,
    pub(crate) compile_primal_s: f64,
    pub(crate) compile_grad_s: f64,
    pub(crate) primal_min_ms: f64,
    pub(crate) grad_min_ms: f64,
    /// Means of the time on a processor.
    pub(crate) primal_processor_ms: f64,
    pub(crate) grad_processor_ms: f64,
    pub(crate) primal_iqr_ms: f64,
    pub(crate) grad_iqr_ms: f64,
    /// The number of samples.
    pub(crate) n: usize,
    /// Peak memory before inputs are made, and at the end.
    pub(crate) rss_base_mb: f64,
    pub(crate) rss_peak_mb: f64,
    pub(crate) value: CheckSum,
    pub(crate) deriv: CheckSum,
}

/// The peak memory of this process in MiB, if the system says it, else NaN.
pub(crate) fn peak_memory() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}

/// The sum of numbers, rounded once: partial sums that do not overlap are kept, so that nothing is lost (Shewchuk,
/// *Adaptive precision floating-point arithmetic*, 1997). Finite numbers whose sums are finite; others give NaN.
pub(crate) fn exact_sum(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut parts: Vec<f64> = Vec::new();
    for mut x in numbers {
        let mut kept = 0;
        for k in 0..parts.len() {
            let (large, small) = if x.abs() < parts[k].abs() { (parts[k], x) } else { (x, parts[k]) };
            x = large + small;
            let lost = small - (x - large);
            if lost != 0.0 {
                parts[kept] = lost;
                kept += 1;
            }
        }
        parts.truncate(kept);
        parts.push(x);
    }
    // From the largest part on, the first sum that is not exact is the result, unless what it loses is half of its last
    // digit: then the sign of the next part decides how it is rounded.
    let mut rest = parts.into_iter().rev();
    let mut sum = rest.next().unwrap_or(0.0);
    while let Some(part) = rest.next() {
        let before = sum;
        sum = before + part;
        let lost = part - (sum - before);
        if lost != 0.0 {
            let next = rest.next().unwrap_or(0.0);
            let doubled = sum + 2.0 * lost;
            return if lost * next > 0.0 && doubled - sum == 2.0 * lost { doubled } else { sum };
        }
    }
    sum
}

/// What tells whether two programs computed the same numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckSum {
    /// The number of numbers.
    pub(crate) count: usize,
    pub(crate) sum: f64,
    /// The root of the sum of squares.
    pub(crate) l2: f64,
    pub(crate) first5: Vec<f64>,
}

fn numbers(a: &Array) -> Vec<f64> {
    let wide = a.cast::<f64>();
    wide.to_vec().unwrap_or_else(|e| panic!("numbers become f64: {e}"))
}

impl CheckSum {
    /// Of arrays, one after the other.
    pub(crate) fn of(arrays: &[Array]) -> CheckSum {
        let all: Vec<f64> = arrays.iter().flat_map(numbers).collect();
        CheckSum {
            count: all.len(),
            sum: exact_sum(all.iter().copied()),
            l2: exact_sum(all.iter().map(|x| x * x)).sqrt(),
            first5: all.into_iter().take(5).collect(),
        }
    }

    /// Whether this is `reference` within a tolerance relative to the norm; for the sum, times the root of the count.
    pub(crate) fn is_close_to(&self, reference: &CheckSum, tolerance: f64) -> bool {
        let scale = tolerance * reference.l2.max(1e-300);
        let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= scale;
        self.count == reference.count
            && near(self.l2, reference.l2, scale)
            && near(self.sum, reference.sum, scale * (reference.count as f64).sqrt().max(1.0))
            && self.first5.len() == reference.first5.len()
            && self.first5.iter().zip(&reference.first5).all(|(a, b)| near(*a, *b, scale))
    }
}

/// The numbers that a workload must give, and how exactly.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Reference {
    pub(crate) value: CheckSum,
    pub(crate) deriv: CheckSum,
    pub(crate) tolerance: f64,
}

impl Reference {
    /// What is wrong with results, if anything is.
    pub(crate) fn fault(&self, value: &CheckSum, deriv: &CheckSum) -> Option<String> {
        let wrong = |what, ours: &CheckSum, reference: &CheckSum| {
            let close = ours.is_close_to(reference, self.tolerance);
            (!close).then(|| format!("the {what} is\n  {ours:?}, but should be\n  {reference:?}"))
        };
        wrong("value", value, &self.value).or_else(|| wrong("derivative", deriv, &self.deriv))
    }
}

/// The recorded references, by workload.
pub(crate) fn references() -> Result<BTreeMap<String, Reference>, serde_json::Error> {
    serde_json::from_str(include_str!("../../tests/data/anchors.json"))
}

/// What the table needs of a line of any program's report.
#[derive(Debug, Deserialize)]
struct Line {
    workload: String,
    peer: String,
    threads: usize,
    grad_ms: Option<f64>,
    error: Option<String>,
    value: Option<CheckSum>,
    deriv: Option<CheckSum>,
}

/// Whether a line was measured by this library.
fn is_ours(line: &Line) -> bool {
    line.peer.starts_with("polygrad")
}

/// What to add to a row: that ours failed, or computed something else than the fastest peer.
fn remark(ours: &Line, best: Option<&Line>) -> String {
    if let Some(error) = &ours.error {
        return format!("  failed: {error}");
    }
    let tolerance = if ours.workload.ends_with("f32") { 2e-5 } else { 1e-9 };
    let same = |a: &Option<CheckSum>, b: &Option<CheckSum>| match (a, b) {
        (Some(a), Some(b)) => a.is_close_to(b, tolerance),
        (None, _) | (_, None) => true,
    };
    match best {
        Some(best) if !same(&ours.deriv, &best.deriv) => "  other derivative".to_owned(),
        // Some programs give no value beside the derivative.
        Some(best) if !same(&ours.value, &best.value) => "  other value".to_owned(),
        Some(_) | None => String::new(),
    }
}

/// The lines of JSON of one run as a table: value and derivative by this library, by the fastest other program, and
/// the ratio.
///
/// # Errors
/// When a line is not a report.
pub(crate) fn table(lines: &str) -> Result<String, Box<dyn std::error::Error>> {
    let lines: Vec<Line> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut out = String::new();
    let ms = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.4}"));
    writeln!(out, "{:<27}{:>8}{:>12}{:>12}{:>8}  peer", "workload", "threads", "ours ms", "best ms", "ratio")?;
    let mut logarithms: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ours in lines.iter().filter(|line| is_ours(line)) {
        let same_job = |l: &&Line| !is_ours(l) && l.workload == ours.workload && l.threads == ours.threads;
        let others = lines.iter().filter(same_job).filter(|line| line.grad_ms.is_some());
        let best = others.min_by(|a, b| a.grad_ms.partial_cmp(&b.grad_ms).unwrap_or(std::cmp::Ordering::Equal));
        let theirs = best.and_then(|line| line.grad_ms);
        let ratio = ours.grad_ms.zip(theirs).map(|(ours, theirs)| ours / theirs);
        logarithms.entry(&ours.peer).or_default().extend(ratio.map(f64::ln));
        let (name, other) = (&ours.workload, best.map_or("-", |line| &line.peer));
        let ratio = ratio.map_or("-".to_owned(), |r| format!("{r:.2}"));
        let (a, b, said) = (ms(ours.grad_ms), ms(theirs), remark(ours, best));
        let own = if ours.peer == "polygrad" { String::new() } else { format!("  {}", ours.peer) };
        writeln!(out, "{name:<27}{:>8}{a:>12}{b:>12}{ratio:>8}  {other}{own}{said}", ours.threads)?;
    }
    for (peer, all) in logarithms.iter().filter(|(_, all)| !all.is_empty()) {
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        writeln!(out, "geometric mean of {} ratios of {peer}: {:.2}", all.len(), mean.exp())?;
    }
    Ok(out)
}
