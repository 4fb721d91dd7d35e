//! Constants of time, and of the sizes of caches, stand in `src/cost/` alone.
//!
//! A constant elsewhere must not look like one: by its name, its comment, its type (a time is a fraction), or its value
//! (a size of a cache is large). What looks like one and is something else is listed, with a reason.

use std::fs;
use std::path::Path;

use super::layering::{FOLDERS, sources};
use crate::root::root;

/// Files and folders with numbers of mathematics or of pictures, and what these are: fractions, and large numbers.
const MATHEMATICS: [(&str, &str); 19] = [
    ("src/kernels/matrix/machine.rs", "the roundings of two formats"),
    ("src/kernels/matrix/small/lanes.rs", "the rounding of a format"),
    ("src/backend/trees/matrices/machine.rs", "the roundings of two formats, and the degree of a fraction"),
    ("src/kernels/matrix/exponential.rs", "coefficients of the exponential of a matrix"),
    ("src/export/factors.rs", "coefficients of the exponential of a matrix, in exported text"),
    ("src/stats/stirling.rs", "coefficients of a series"),
    ("src/report/", "distances in a picture, and lengths of a page"),
    ("src/rewrite/products.rs", "factors with which nothing overflows"),
    ("src/ad/check_gradient.rs", "the first step of finite differences"),
    ("src/ad/implicit/ode.rs", "a tolerance"),
    ("src/ad/implicit/ode/steps.rs", "coefficients of a method, and shares of a tolerance"),
    ("src/ad/implicit/search.rs", "how much rounding may hide of a residual"),
    ("src/ad/verified/odes.rs", "how far a step is shortened"),
    ("src/ad/verified/roots.rs", "how narrow a box becomes, and by how much it is enlarged"),
    ("interpreters/enclosure/machine.rs", "the rounding of a format, and the degree of a fraction"),
    ("interpreters/enclosure/matrix.rs", "factors of the error of elimination"),
    ("interpreters/enclosure/decomposed.rs", "the norm up to which a polynomial is exact"),
    ("interpreters/enclosure/interval.rs", "numbers below which digits are lost"),
    ("src/ops/graph.rs", "where a function is defined, and where it is least"),
];

/// Other constants that look like a time or the size of a cache: file, name, and what they are.
const OTHERS: [(&str, &str, &str); 45] = [
    ("src/import/convolution.rs", "LARGEST_STEP", "a number with which sums do not overflow"),
    ("src/import/attributes.rs", "MOST_INTEGERS", "a limit of work while a text is read"),
    ("src/import/mod.rs", "MOST_OPERATIONS", "a limit of work while a text is read"),
    ("src/import/ordering.rs", "LONGEST", "a limit of work while a text runs"),
    ("src/import/value.rs", "MOST_POSITIONS", "a limit of work while a text runs"),
    ("src/ad/function/memory.rs", "WEIGHTS", "factors of a cost that are tried"),
    ("src/array/display.rs", "THRESHOLD", "elements that are printed"),
    ("src/array/pages.rs", "LEAST", "memory that holds an aligned page"),
    ("src/array/pages.rs", "PAGE", "an alignment"),
    ("src/array/pool.rs", "BYTES", "a limit of the memory that a thread keeps"),
    ("src/array/pool.rs", "SMALL", "memory that is left to the allocator"),
    ("src/backend/explain.rs", "TILES", "a limit of work while a plan is explained"),
    ("src/backend/ir/step.rs", "LINE", "an alignment"),
    ("src/backend/lower/mod.rs", "LARGEST", "a limit of the length of code"),
    ("src/backend/plan/recompute/schedule.rs", "MANY", "a length of a program"),
    ("src/backend/plan/recompute/schedule.rs", "TRIALS", "a limit of work while a program is compiled"),
    ("src/backend/plan/recompute/schedule.rs", "PAIRS", "a limit of work while a program is compiled"),
    ("src/backend/run/idle.rs", "KEPT_BYTES", "a limit of the memory that a function keeps"),
    ("src/checkpoint.rs", "WHOLE", "the denominator of a share"),
    ("src/emission/check.rs", "MOST", "a limit of the length of code"),
    ("src/emission/native/process.rs", "LONGEST", "a limit of what is kept of the words of a compiler"),
    ("src/backend/trees/simplify.rs", "STACK", "a limit of memory"),
    ("src/kernels/contract/gemm.rs", "KEPT", "memory that the allocator is asked to keep"),
    ("src/kernels/fourier/mod.rs", "PLANNED", "a limit of memory before the first run"),
    ("src/kernels/indexing/segments.rs", "LOOKS", "a number of tries"),
    ("src/kernels/matrix/guarded.rs", "LITTLE", "a length of a product that has a plain form"),
    ("src/kernels/threads.rs", "LOOKS", "a number of tries"),
    ("src/passes/vectorize.rs", "TOO_LARGE", "a limit of memory"),
    ("src/ad/implicit/ode/adjoint.rs", "NUMBERS", "a limit of memory"),
    ("src/ad/implicit/ode/adjoint.rs", "OF_PARAMETERS", "a share of a direction"),
    ("src/pjrt/layout.rs", "IMMUTABLE_ONLY_DURING_CALL", "a code of an interface"),
    ("src/program/known.rs", "LARGEST", "a limit of work while a program is traced"),
    ("src/program/op.rs", "ALL", "elements of a constant that are hashed"),
    ("src/program/sized/mod.rs", "ELEMENTS", "a limit of work while a program is made"),
    ("src/program/sized/mod.rs", "OPERATIONS", "a limit of work while a program is made"),
    ("src/program/shared.rs", "MANY", "a length of a program"),
    ("src/rewrite/rules/mod.rs", "STEPS", "a limit of work while a program is made"),
    ("src/rewrite/rules/known.rs", "ELEMENTS", "a limit of work while a program is made"),
    ("src/shape.rs", "LARGE", "memory that is asked for before it is taken"),
    ("interpreters/guarded.rs", "FEW_WITH_POLES", "a length of a product that is guarded"),
    ("higher/src/interpreters/loops.rs", "STEPS", "a limit of the length of code"),
    ("higher/src/interpreters/machine.rs", "MEMORY", "a limit of memory"),
    ("higher/src/interpreters/machine.rs", "KEPT", "a limit of memory"),
    ("higher/src/interpreters/recursion.rs", "STACK", "a limit of the stack"),
    ("interpreters/sparsity/sets.rs", "LATELY", "a number of answers that are remembered, which no command measures"),
];

/// Names of times and caches.
const NAMES: [&str; 14] = [
    "BYTE",
    "CACHE",
    "CALL",
    "COST",
    "FAR",
    "KIB",
    "MIB",
    "NANOSECONDS",
    "NEAR",
    "NS",
    "START",
    "TIME",
    "WEIGHT",
    "WORTH",
];

/// Words in comments on times and caches.
const WORDS: [&str; 13] = [
    "ns",
    "nanosecond",
    "nanoseconds",
    "microseconds",
    "milliseconds",
    "cache",
    "caches",
    "kib",
    "mib",
    "measured",
    "faster",
    "pay",
    "pays",
];

/// The number that a literal, or a shift, sum or product of literals, is.
fn number(value: &str) -> Option<u128> {
    if let Some((a, b)) = value.split_once(" + ") {
        return number(a)?.checked_add(number(b)?);
    }
    if let Some((a, b)) = value.split_once(" << ") {
        return number(a)?.checked_shl(u32::try_from(number(b)?).ok()?);
    }
    if let Some((a, b)) = value.split_once(" * ") {
        return number(a)?.checked_mul(number(b)?);
    }
    let value = value.trim_matches(['(', ')', ' ']).replace('_', "");
    let digits = value.trim_end_matches("usize").trim_end_matches("u64");
    digits.strip_prefix("0x").map_or_else(|| digits.parse().ok(), |hex| u128::from_str_radix(hex, 16).ok())
}

/// A numeric constant of a file.
struct Constant {
    line: usize,
    name: String,
    dtype: String,
    value: String,
    comment: String,
}

/// The numeric constants of a file, with the comments on them: a constant right below another shares its comment.
fn constants(text: &str) -> Vec<Constant> {
    let mut found = Vec::new();
    let (mut comment, mut fresh) = (String::new(), true);
    // What is compiled for tests alone comes last.
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    for (k, line) in code.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("//") {
            if fresh {
                comment.clear();
            }
            fresh = false;
            comment = format!("{comment} {}", line.trim_start_matches('/'));
            continue;
        }
        let item = line.split_once("const ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
        let parts = item.and_then(|(_, item)| item.split_once(": ")).and_then(|(name, rest)| {
            let (dtype, value) = rest.split_once(" =")?;
            Some((name, dtype, value.split("//").next()?.trim().trim_end_matches(';')))
        });
        if let Some((name, dtype, value)) = parts {
            let scalar = |word: &str| {
                let width = word.trim_start_matches(['f', 'i', 'u']);
                word.len() - width.len() == 1 && (width == "size" || width.parse::<u8>().is_ok())
            };
            if dtype.split(|c: char| !c.is_alphanumeric()).any(scalar) {
                found.push(Constant {
                    line: k + 1,
                    name: name.to_owned(),
                    dtype: dtype.to_owned(),
                    value: value.to_owned(),
                    comment: comment.clone(),
                });
            }
            fresh = true;
        } else if !line.starts_with("#[") {
            comment.clear();
            fresh = true;
        }
    }
    found
}

/// Why a constant looks like a time or the size of a cache, if it does. A number of mathematics may be a fraction, or
/// large.
fn looks_like_one(constant: &Constant, mathematics: bool) -> Option<String> {
    let Constant { name, dtype, value, comment, .. } = constant;
    if value.contains("MACHINE") {
        return None;
    }
    if let Some(part) = name.split('_').find(|part| NAMES.contains(part)) {
        return Some(format!("its name says {part}"));
    }
    let comment = comment.to_lowercase();
    let mut words = comment.split(|c: char| !c.is_alphanumeric());
    if let Some(word) = words.find(|word| WORDS.contains(word)) {
        return Some(format!("its comment says {word}"));
    }
    if mathematics {
        return None;
    }
    if dtype.contains("f64") || dtype.contains("f32") {
        return Some("it is a fraction".to_owned());
    }
    let large = number(value).filter(|value| (1000..1 << 32).contains(value));
    large.map(|value| format!("{value} is large"))
}

/// Lines outside of constants in which a number is a multiple of 1024, as sizes of caches are.
fn sizes(text: &str) -> Vec<(usize, String)> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = code.lines().enumerate().map(|(k, line)| (k + 1, line.split("//").next().unwrap_or("").to_owned()));
    let shifted = |line: &str| {
        line.match_indices("<< ").any(|(at, _)| {
            let by: String = line[at + 3..].chars().take_while(char::is_ascii_digit).collect();
            line[..at].trim_end().ends_with(|c: char| c.is_ascii_digit())
                && by.parse().is_ok_and(|by: u32| (10..31).contains(&by))
        })
    };
    lines.filter(|(_, line)| !line.contains("const ") && shifted(line)).collect()
}

#[test]
fn constants_of_time_stand_in_one_place() {
    let (mut wrong, mut used, mut seen) = (Vec::new(), [false; OTHERS.len()], 0);
    let mut mathematics = [false; MATHEMATICS.len()];
    for path in FOLDERS.iter().flat_map(|folder| sources(&root().join(folder))) {
        let inside = path.strip_prefix(root()).expect("a path under the root");
        let file = inside.display().to_string();
        let test = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
        if inside.starts_with(Path::new("src/cost")) || inside.iter().any(test) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("the file can be read");
        let place = MATHEMATICS.iter().position(|(listed, _)| file.starts_with(listed));
        for constant in constants(&text) {
            seen += 1;
            if let Some(k) = place {
                mathematics[k] |= looks_like_one(&constant, false).is_some();
            }
            let Some(why) = looks_like_one(&constant, place.is_some()) else { continue };
            match OTHERS.iter().position(|(listed, name, _)| *listed == file && *name == constant.name) {
                Some(k) => used[k] = true,
                None => wrong.push(format!("{file}:{}: {}: {why}", constant.line, constant.name)),
            }
        }
        wrong.extend(sizes(&text).iter().map(|(line, code)| format!("{file}:{line}: {}", code.trim())));
    }
    assert!(seen > 100, "{seen} constants were found");
    assert!(wrong.is_empty(), "constants of time and of caches belong to src/cost/machine.rs:\n{}", wrong.join("\n"));
    for ((file, name, _), used) in OTHERS.iter().zip(used) {
        assert!(used, "{name} of {file} no longer looks like a time: take it from the list");
    }
    for ((file, _), used) in MATHEMATICS.iter().zip(mathematics) {
        assert!(used, "{file} has no such numbers: take it from the list");
    }
}

#[test]
fn constants_are_found() {
    let why = |text: &str| constants(text).iter().filter_map(|c| looks_like_one(c, false)).collect::<Vec<String>>();
    assert_eq!(why("const CACHE: usize = 1 << 20;"), ["its name says CACHE"]);
    assert_eq!(why("    pub(crate) const LEAST: f64 = 20.0;"), ["it is a fraction"]);
    assert_eq!(why("/// Elements of a stack.\nconst STACK: usize = 1 << 17;"), ["131072 is large"]);
    assert_eq!(why("const ALL: [f64; 2] =\n    [0.1, 0.25];"), ["it is a fraction"]);
    assert_eq!(why("const PAIR: (usize, u64) = (4096, 16); // of what"), [""; 0]);
    let shared =
        "/// The nanoseconds of a trip, and of an element.\n#[rustfmt::skip]\nconst A: u64 = 5;\nconst B: u64 = 7;";
    assert_eq!(why(shared), ["its comment says nanoseconds"; 2]);
    assert_eq!(why("/// A lane.\nconst A: usize = 8;\n\n/// It stays in the first cache.\nfn f() {}"), [""; 0]);
    assert_eq!(
        why("const ROW: usize = MACHINE.tile_row;\n#[cfg(test)]\nmod tests { const TIME: f64 = 1.0; }"),
        [""; 0]
    );
    assert_eq!(sizes("let x = f(128 << 10); // 1 << 20\nlet y = x << 20; let z = 1 << 3;").len(), 1);
}
