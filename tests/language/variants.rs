//! No list of rows of an operation stands outside of its table, but in matches that rustc completes.
//!
//! A class of operations (odd ones, cheap ones, those that are never negative) is a column of their table: a new row must
//! say whether it is one of them. A match that names all rows is completed by rustc; a list that names some is not.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use crate::layering::{modules, without_tests};
use crate::root::root;
use polygrad::ops::{Binary, Compare, FloatStep, IntBinary, Matrix, Unary};

/// So many rows are a class. Two are often a pair that a rule is about (a sum and a difference, a sine and a cosine).
const CLASS: usize = 3;

/// A list that stays, with the reason.
struct Allowed {
    file: &'static str,
    rows: &'static str,
    reason: &'static str,
}

/// The lists that stay.
const ALLOWED: &[Allowed] = &[
    Allowed {
        file: "src/import/control.rs",
        rows: "Compare: Ge Gt Le Lt Ne",
        reason: "the comparisons by which a loop counts, each with the number of its trips; equality ends no count",
    },
    Allowed {
        file: "src/backend/trees/matrices/factors.rs",
        rows: "Matrix: Det Inverse Minors SlogDet",
        reason: "the operations with a formula for two and three rows",
    },
    Allowed {
        file: "src/rewrite/rules/squares.rs",
        rows: "Binary: Add Div Hypot Max Min Mul MulNoNan Pow",
        reason: "rows whose result has no negative element where those of the operands have none; others are not known",
    },
    Allowed {
        file: "src/rewrite/rules/squares.rs",
        rows: "Binary: Div Hypot Mul",
        reason: "the forms of a root whose square has a formula, one for each",
    },
    Allowed {
        file: "interpreters/watch/kinks.rs",
        rows: "Binary: Copysign Hypot Max Min Pow PowLessOne",
        reason: "kinks have conditions, one for each; other rows are smooth, or steep, which is a column",
    },
    Allowed {
        file: "src/rewrite/rules/mod.rs",
        rows: "Binary: Add Div DivNoNan Max Min Mul MulNoNan Pow PowLessOne Sub",
        reason: "the rules that begin with a row; a row may have none",
    },
    Allowed {
        file: "interpreters/enclosure/rows.rs",
        rows: "Unary: Recip Sqrt Square",
        reason: "intervals have these operations, rounded outwards; values of other rows are widened by their errors",
    },
    Allowed {
        file: "interpreters/enclosure/rows.rs",
        rows: "Unary: Digamma Lgamma Recip Trigamma",
        reason: "each has bounds of its own near its poles; a row with poles that is not listed has none",
    },
    Allowed {
        file: "interpreters/jet/series.rs",
        rows: "Binary: Div DivNoNan Mul MulNoNan",
        reason: "their series have recurrences, which a function of that file has; others have the chain rule",
    },
];

/// An enum of rows: its name, the file of its table, and its rows.
struct Table {
    name: &'static str,
    file: &'static str,
    rows: Vec<String>,
}

/// Every table with more rows than a class. An extremum and a function of one integer are one of two.
fn tables() -> Vec<Table> {
    fn table<T: std::fmt::Debug>(name: &'static str, file: &'static str, rows: &[T]) -> Table {
        // The fields of a row are no part of its name.
        let word = |row: &T| format!("{row:?}").split(' ').next().expect("a name").to_owned();
        let mut rows: Vec<String> = rows.iter().map(word).collect();
        rows.sort();
        rows.dedup();
        Table { name, file, rows }
    }
    vec![
        table("Unary", "src/ops/unary.rs", Unary::ALL),
        table("Binary", "src/ops/binary.rs", Binary::ALL),
        table("Compare", "src/ops/discrete.rs", Compare::ALL),
        table("FloatStep", "src/ops/discrete.rs", FloatStep::ALL),
        table("IntBinary", "src/ops/discrete.rs", IntBinary::ALL),
        table("Matrix", "src/ops/matrix.rs", Matrix::ALL),
    ]
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

/// The rows of an enum that a text names, in order of their names.
fn named<'a>(text: &'a str, table: &str) -> Vec<&'a str> {
    let path = format!("{table}::");
    let mut found: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices(&path) {
        let word = word(&text[at + path.len()..]);
        let whole = !text[..at].chars().next_back().is_some_and(is_part);
        if whole && word.starts_with(char::is_uppercase) && word != "ALL" {
            found.push(word);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The code of a file: comments, the insides of literals and lifetimes are blanks.
fn code_alone(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            'r' if rest.starts_with("r\"") || rest.starts_with("r#\"") => {
                let end = if rest.starts_with("r#") { "\"#" } else { "\"" };
                rest[3..].find(end).map_or(rest.len(), |at| 3 + at + end.len())
            }
            '"' | '\'' => literal(rest, c),
            _ => {
                // A word as a whole, so that none ends like the beginning of a raw text.
                let word = rest.find(|c| !is_part(c)).unwrap_or(rest.len()).max(c.len_utf8());
                kept.push_str(&rest[..word]);
                rest = &rest[word..];
                continue;
            }
        };
        kept.push(' ');
        rest = &rest[length..];
    }
    kept
}

/// The length of the literal, or of the tick of a lifetime, that begins with this quote.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    let length = end.map_or(text.len(), |(at, _)| at + 1);
    let is_lifetime = quote == '\'' && !text[1..].starts_with('\\') && text[..length].chars().count() != 3;
    if is_lifetime { 1 } else { length }
}

/// The end of the group whose bracket opens at this place.
fn end_of_group(text: &str, open: usize) -> usize {
    let mut depth = 0;
    let end = text[open..].char_indices().find(|(_, c)| {
        depth += i32::from("([{".contains(*c)) - i32::from(")]}".contains(*c));
        depth == 0
    });
    end.map_or(text.len(), |(at, _)| open + at)
}

/// Where the patterns of a match are, given where its braces open: all but the values of its cases.
fn patterns(text: &str, open: usize) -> Vec<Range<usize>> {
    // What a guard asks is no pattern.
    let bare = |at: Range<usize>| at.start..at.start + outside(&text[at.clone()], " if ").unwrap_or(at.len());
    cases(text, open).into_iter().map(|(pattern, _)| bare(pattern)).collect()
}

/// Where the cases of a match are: pattern and guard, and value.
fn cases(text: &str, open: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let (mut found, mut at, end) = (Vec::new(), open + 1, end_of_group(text, open));
    while let Some(arrow) = outside(&text[at..end], "=>") {
        let value = at + arrow + 2;
        let start = value + text[value..end].find(|c: char| !c.is_whitespace()).unwrap_or(0);
        let next = match text[start..].starts_with('{') {
            true => end_of_group(text, start) + 1,
            false => outside(&text[start..end], ",").map_or(end, |comma| start + comma + 1),
        };
        found.push((at..at + arrow, start..next.min(end)));
        at = next.min(end);
    }
    found
}

/// Where a word stands that is in no group.
fn outside(text: &str, word: &str) -> Option<usize> {
    let mut depth = 0;
    let found = text.char_indices().find(|(at, c)| {
        let here = depth == 0 && text[*at..].starts_with(word);
        depth += i32::from("([{".contains(*c)) - i32::from(")]}".contains(*c));
        here
    });
    found.map(|(at, _)| at)
}

/// The places of a word that is whole.
fn places<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let whole = |at: &usize| !text[..*at].chars().next_back().is_some_and(is_part);
    text.match_indices(word).map(|(at, _)| at).filter(whole)
}

/// The rows that are the elements of an array, or stand first in its pairs.
fn elements<'a>(inside: &'a str, table: &str) -> Vec<&'a str> {
    let (mut rest, mut found) = (inside, Vec::new());
    loop {
        let comma = outside(rest, ",");
        let element = rest[..comma.unwrap_or(rest.len())].trim().trim_start_matches(['(', '&']);
        if element.starts_with(&format!("{table}::")) {
            found.extend(named(element, table).first());
        }
        let Some(comma) = comma else { break };
        rest = &rest[comma + 1..];
    }
    found
}

/// The rows of alternatives `A | B | ..`, from the first one on; and where they end.
fn alternatives<'a>(text: &'a str, table: &str) -> (Vec<&'a str>, usize) {
    let mut at = 0;
    loop {
        let path = at + table.len() + 2;
        at = path + text[path..].find(|c| !is_part(c)).unwrap_or(text.len() - path);
        if let Some(rest) = text[at..].trim_start().strip_prefix('{') {
            at = end_of_group(text, text.len() - rest.len() - 1) + 1;
        }
        let rest = text[at..].trim_start().strip_prefix('|').map(str::trim_start);
        let Some(next) = rest.filter(|rest| rest.starts_with(&format!("{table}::"))) else { break };
        at = text.len() - next.len();
    }
    (named(&text[..at], table), at)
}

/// The lists of some rows in the code of a file, each as the rows that it names: in a match, in alternatives elsewhere,
/// in an array, and in what one function compares with.
fn lists(text: &str, table: &Table) -> Vec<String> {
    let (name, mut found) = (table.name, Vec::new());
    let mut keep = |mut rows: Vec<&str>| {
        rows.sort_unstable();
        rows.dedup();
        if (CLASS..table.rows.len()).contains(&rows.len()) {
            found.push(format!("{name}: {}", rows.join(" ")));
        }
    };
    let mut matched: Vec<Range<usize>> = Vec::new();
    for at in places(text, "match ") {
        if let Some(open) = outside(&text[at..], "{").map(|open| at + open) {
            let own = patterns(text, open);
            keep(own.iter().flat_map(|range| named(&text[range.clone()], name)).collect());
            matched.extend(own);
        }
    }
    let path = format!("{name}::");
    let mut end = 0;
    for at in places(text, &path) {
        if at >= end && !matched.iter().any(|range| range.contains(&at)) {
            let (rows, length) = alternatives(&text[at..], name);
            end = at + length;
            keep(rows);
        }
    }
    // Alternatives of other operations may stand between.
    for at in places(text, "matches!(") {
        let inside = &text[at + 9..end_of_group(text, at + 8)];
        let pattern = outside(inside, ",").map_or("", |comma| &inside[comma..]);
        keep(named(&pattern[..outside(pattern, " if ").unwrap_or(pattern.len())], name));
    }
    for (at, _) in text.match_indices('[') {
        keep(elements(&text[at + 1..end_of_group(text, at)], name));
    }
    for function in text.split("fn ") {
        let sides = ["== ", "!= ", "== &", "!= &"].map(|sign| format!("{sign}{path}"));
        let compared = sides.iter().flat_map(|side| function.match_indices(side).map(|(at, side)| at + side.len()));
        keep(compared.map(|at| word(&function[at..])).collect());
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn lists_of_operations_are_columns() {
    let (tables, mut used, mut wrong, mut files) = (tables(), [false; ALLOWED.len()], Vec::new(), 0);
    for (path, _) in modules() {
        let file = path.strip_prefix(root()).expect("a file of the package").to_string_lossy().replace('\\', "/");
        let text = without_tests(&code_alone(&fs::read_to_string(&path).expect("the file can be read")));
        files += 1;
        for table in tables.iter().filter(|table| table.file != file) {
            for rows in lists(&text, table) {
                match ALLOWED.iter().position(|list| list.file == file && list.rows == rows) {
                    Some(listed) => used[listed] = true,
                    None => wrong.push(format!("{file} lists {rows}")),
                }
            }
            for open in ["::{", "::*"].map(|open| format!("{}{open}", table.name)) {
                assert_eq!(places(&text, &open).count(), 0, "{file} names rows of {} without their table", table.name);
            }
        }
    }
    assert!(files > 100, "{files} files were read");
    let advice = "make the class a column of the table, or name all rows in a match";
    assert!(wrong.is_empty(), "{advice}:\n{}", wrong.join("\n"));
    for (list, used) in ALLOWED.iter().zip(used) {
        assert!(used, "{} no longer lists {}: {}", list.file, list.rows, list.reason);
    }
}

/// So many structural operations may stand in one case of a match, without a look at their parts.
const FEW: usize = 3;

/// The names of the structural operations.
fn structural() -> Vec<String> {
    let text = code_alone(&fs::read_to_string(root().join("src/program/op.rs")).expect("the file can be read"));
    let open = text.find("pub enum Op<R> {").map(|at| at + text[at..].find('{').expect("its braces"));
    let inside = open.map_or("", |open| &text[open + 1..end_of_group(&text, open)]);
    inside.lines().map(|line| word(line.trim()).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The operations of a pattern that looks at no part of them: `Op::Reduce(..) | Op::Output(..)`.
fn whole<'a>(pattern: &'a str, operations: &[String]) -> Option<Vec<&'a str>> {
    let pattern = pattern.trim().trim_start_matches(',').trim();
    let pattern = pattern.split_once('@').map_or(pattern, |(_, rest)| rest.trim().trim_matches(['(', ')']));
    let name = |alternative: &'a str| {
        let path = ["Op::", "Operation::", "Single::"].iter().find_map(|path| alternative.trim().strip_prefix(path))?;
        let (name, parts) = (word(path), &path[word(path).len()..]);
        let looks = parts.chars().any(|c| !"()._, \n".contains(c));
        (!looks && operations.iter().any(|operation| operation == name)).then_some(name)
    };
    pattern.split('|').map(name).collect()
}

/// The operations that a match lists for one value.
fn unasked(text: &str, operations: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for at in places(text, "match ") {
        let Some(open) = outside(&text[at..], "{").map(|open| at + open) else { continue };
        let mut listed: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (pattern, value) in cases(text, open) {
            let value = text[value].trim_matches(['{', '}', ',', ';', ' ', '\n']).to_owned();
            listed.entry(value).or_default().extend(whole(&text[pattern], operations).into_iter().flatten());
        }
        found.extend(listed.into_values().filter(|names| names.len() > FEW).map(|names| names.join(" ")));
    }
    found
}

#[test]
fn what_an_operation_is_stands_beside_it() {
    let (operations, mut wrong) = (structural(), Vec::new());
    assert!(operations.len() > 10 && operations.contains(&"Concat".to_owned()), "{operations:?}");
    let own = ["src/program/op.rs", "src/program/single.rs"].map(|file| root().join(file));
    for (path, _) in modules().into_iter().filter(|(path, _)| !own.contains(path)) {
        let text = without_tests(&code_alone(&fs::read_to_string(&path).expect("the file can be read")));
        wrong.extend(unasked(&text, &operations).into_iter().map(|names| format!("{}: {names}", path.display())));
    }
    assert!(
        wrong.is_empty(),
        "ask the operation: its class, or a question of src/program/single.rs:\n{}",
        wrong.join("\n")
    );
    // This test can fail.
    let found = |text: &str| unasked(text, &operations);
    let listed =
        "match op { Op::Input(_) => 1, Op::Reduce(..) | Op::Gather(..) => { 2 } Op::Select(_) | Op::Loop(_) => 2, }";
    assert_eq!(found(listed), ["Reduce Gather Select Loop"]);
    assert_eq!(
        found("match op { op @ (Op::Unary(..) | Op::Binary(_, ..) | Op::Linear(..) | Op::Loop(_)) => f(op) }").len(),
        1
    );
    assert!(found("match op { Op::Reduce(..) | Op::Gather(..) | Op::Loop(_) => 2, Op::Select(_) => 3 }").is_empty());
    assert!(
        found("match op { Op::Unary(_, a) | Op::Linear(_, a) | Op::Reduce(_, a) | Op::Output(a, _) => f(a) }")
            .is_empty()
    );
}

#[test]
fn tables_stand_where_this_test_looks() {
    for table in tables() {
        let text = fs::read_to_string(root().join(table.file)).expect("the file can be read");
        assert!(text.contains(&format!("enum {}", table.name)) || text.contains("pub enum $Enum"), "{}", table.name);
        assert!(table.rows.len() > CLASS, "{} has {} rows", table.name, table.rows.len());
    }
}

#[test]
fn the_guard_can_fail() {
    let rows = ["Eq", "Ne", "Lt", "Le"].map(str::to_owned).to_vec();
    let table = Table { name: "Compare", file: "", rows };
    let found = |text: &str| lists(&code_alone(text), &table);
    let class = ["Compare: Eq Le Lt"];
    // Every form of a list.
    assert_eq!(found("matches!(op, Compare::Lt | Compare::Le | Compare::Eq)"), class);
    assert_eq!(found("matches!(op, Op::C(Compare::Lt, _) | Op::C(Compare::Le, _) | Op::C(Compare::Eq, _))"), class);
    assert_eq!(found("match op { Compare::Lt => f(a, b), Compare::Le => { g(',') } Compare::Eq => 0, _ => 1 }"), class);
    assert_eq!(found("rule { Is(Compare::Lt | Compare::Le | Compare::Eq, x, ==x) => x }"), class);
    assert_eq!(found("if let C(Compare::Lt | Compare::Le | Compare::Eq) = op {}"), class);
    assert_eq!(found("const FAST: &[Compare] = &[Compare::Lt, Compare::Le, Compare::Eq];"), class);
    assert_eq!(found("[(Compare::Lt, f(1, 2)), (Compare::Le, 2), (Compare::Eq, 3)].iter()"), class);
    assert_eq!(found("fn f() { a == Compare::Lt || a != Compare::Le || g(|c| c == Compare::Eq) }"), class);
    assert_eq!(
        found("match (a, '{') { (Compare::Lt | Compare::Le | Compare::Eq, '\\'') if h('\"') => 0, _ => 1 }"),
        class
    );
    // Matches that rustc completes, pairs, and what is no list.
    let none: [&str; 0] = [];
    assert_eq!(found("match op { Compare::Lt | Compare::Le | Compare::Eq => 0, Compare::Ne => 1 }"), none);
    assert_eq!(found("matches!(op, Compare::Lt | Compare::Le)"), none);
    assert_eq!(found("fn f() { a == Compare::Lt } fn g() { a == Compare::Le || a == Compare::Eq }"), none);
    assert_eq!(found("[f(Compare::Lt), f(Compare::Le), f(Compare::Eq)]"), none);
    assert_eq!(found("// [Compare::Lt, Compare::Le, Compare::Eq]\n\"[Compare::Lt, Compare::Le, Compare::Eq]\""), none);
    assert_eq!(found("match op { Compare::Lt => Compare::Le, x => f::<'a>(Compare::Eq, Compare::Ne) }"), none);
    assert_eq!(found("[MyCompare::Lt, MyCompare::Le, MyCompare::Eq]"), none);
}
