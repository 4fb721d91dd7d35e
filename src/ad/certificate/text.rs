//! A certificate as text: faults first, then the box, results with their errors, and the cost of a call.

use std::fmt;

use super::{Certificate, CertifiedOperation};
use crate::array::Array;
use crate::escape;

/// The most faults, inputs and outputs that are listed.
const FAULTS: usize = 12;
const INPUTS: usize = 6;
const OUTPUTS: usize = 8;

/// The least and largest element of bounds; `None` if one is NaN, or if the arrays are empty.
fn hull(lower: &Array, upper: &Array) -> Option<[f64; 2]> {
    let numbers = |a: &Array| a.cast::<f64>().to_vec::<f64>().unwrap_or_default();
    let (lower, upper) = (numbers(lower), numbers(upper));
    if lower.is_empty() || lower.iter().chain(&upper).any(|x| x.is_nan()) {
        return None;
    }
    let least = lower.into_iter().fold(f64::INFINITY, f64::min);
    Some([least, upper.into_iter().fold(f64::NEG_INFINITY, f64::max)])
}

fn range(lower: &Array, upper: &Array) -> String {
    match hull(lower, upper) {
        Some([lower, upper]) => format!("in [{lower:?}, {upper:?}]"),
        None if lower.size() == 0 => "without elements".into(),
        None => "may be NaN".into(),
    }
}

/// A bound of an error in few digits, not smaller.
fn error(of: &Array) -> String {
    let most = of.to_vec::<f64>().unwrap_or_default().into_iter().fold(0.0, f64::max);
    match () {
        () if most == 0.0 => "exact".into(),
        () if most.is_infinite() => "error not bounded".into(),
        () => format!("error at most {:.1e}", 1.06 * most),
    }
}

/// What may happen at an operation.
fn fault(operation: &CertifiedOperation) -> String {
    let all = [
        (operation.may_divide_by_zero, "division by zero"),
        (operation.may_be_nan, "NaN"),
        (operation.may_overflow && !operation.may_divide_by_zero, "overflow"),
    ];
    all.into_iter().filter(|(may, _)| *may).map(|(_, what)| what).collect::<Vec<_>>().join(", ")
}

fn name(operation: &CertifiedOperation) -> String {
    match &operation.derivative_of {
        Some(of) => format!("derivative of {of} ({})", operation.operation),
        None => operation.operation.clone(),
    }
}

/// A table of two columns, with at most `most` rows.
fn table(f: &mut fmt::Formatter<'_>, rows: &[[String; 2]], most: usize) -> fmt::Result {
    let width = rows.iter().take(most).map(|[first, _]| first.chars().count()).max().unwrap_or(0);
    rows.iter().take(most).try_for_each(|[first, second]| writeln!(f, "    {first:width$}  {second}"))?;
    if rows.len() > most { writeln!(f, "    and {} more", rows.len() - most) } else { Ok(()) }
}

/// ```text
/// Certificate: a division by zero, NaN or an overflow is possible.
///     src/model.rs:12:9: div  division by zero
/// For
///     x  in [-1.0, 1.0]
/// results are
///     y  in [-inf, inf]; error not bounded
/// A call takes 1 operations on 1 elements, which move 24 bytes; 0 bytes of memory, and 0 on the stack.
/// ```
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failing: Vec<&CertifiedOperation> = self.operations.iter().filter(|row| row.may_fail()).collect();
        let may = |of: fn(&CertifiedOperation) -> bool| failing.iter().any(|row| of(row));
        match [may(|row| row.may_divide_by_zero), may(|row| row.may_be_nan), may(|row| row.may_overflow)] {
            [true, _, _] => writeln!(f, "Certificate: a division by zero is possible, with NaN or infinities.")?,
            [false, true, true] => writeln!(f, "Certificate: NaN and an overflow are possible.")?,
            [false, true, false] => writeln!(f, "Certificate: NaN is possible.")?,
            [false, false, true] => writeln!(f, "Certificate: an overflow is possible.")?,
            [false, false, false] => writeln!(f, "Certificate: neither NaN nor an overflow is possible.")?,
        }
        let row = |row: &&CertifiedOperation| {
            let at = row.at.as_ref().map_or_else(String::new, |at| format!("{at}: "));
            [at + &name(row), fault(row)]
        };
        let first: Vec<[String; 2]> = failing.iter().filter(|row| row.begins).map(row).collect();
        table(f, &first, FAULTS)?;
        if failing.len() > first.len() {
            writeln!(f, "    {} more operations compute with NaN or infinities", failing.len() - first.len())?;
        }
        writeln!(f, "For")?;
        let inputs = self.inputs.iter().map(|x| [escape::name(&x.name).into_owned(), range(&x.lower, &x.upper)]);
        table(f, &inputs.collect::<Vec<_>>(), INPUTS)?;
        writeln!(f, "results are")?;
        let output = |y: &super::CertifiedOutput| format!("{}; {}", range(&y.lower, &y.upper), error(&y.error));
        let outputs: Vec<[String; 2]> =
            self.outputs.iter().map(|y| [escape::name(&y.name).into_owned(), output(y)]).collect();
        table(f, &outputs, OUTPUTS)?;
        write!(
            f,
            "A call takes {} operations on {} elements, which move {} bytes; {} bytes of memory, and {} on the stack.",
            self.cost.calls, self.cost.work, self.cost.bytes, self.scratch_bytes, self.stack_bytes
        )
    }
}

/// The certificate as comments, whose lines are escaped for their language.
pub(super) fn comment(certificate: &Certificate, escaped: fn(&str) -> String) -> String {
    let text = certificate.to_string();
    text.lines().map(|line| format!("// {}\n", escaped(line))).collect::<String>() + "\n"
}
