//! The test programs of StableHLO, where a copy is at hand: `make stablehlo-tests FOLDER=..`, the folder `stablehlo/testdata`
//! of its repository.
//!
//! A program has its inputs and the results of JAX as functions, and ends with checks, which are cut off: the values that
//! they compare are returned instead. Printed is how many of each family of types agree, differ and are refused.

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;

use polygrad::DType;
use polygrad::import::Module;

use crate::golden::numbers;

/// A text that returns what it would check, and the types of that.
fn without_checks(text: &str) -> (String, Vec<String>) {
    let (mut names, mut types, mut out, mut returned) = (Vec::new(), Vec::new(), String::new(), false);
    let between = |line: &str, open: &str, close: &str| {
        let start = line.rfind(open)? + open.len();
        Some(line[start..start + line[start..].find(close)?].to_owned())
    };
    for line in text.lines() {
        if line.contains("@check.expect") {
            let args = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(args, _)| args);
            names.extend(args.split(", ").take(2).map(str::to_owned));
            types.extend(between(line, ": (", ") ->").unwrap_or_default().split(", ").take(2).map(str::to_owned));
        } else if line.trim_start().starts_with("return") && !returned && !names.is_empty() {
            returned = true;
            out += &format!("return {} : {}\n", names.join(", "), types.join(", "));
        } else {
            out += line;
            out.push('\n');
        }
    }
    (out, types)
}

/// How far numbers of a type may be apart, relative to their size.
fn tolerance(ty: &str) -> f64 {
    [("bf16", 3e-2), ("f16", 4e-3), ("f32", 2e-5), ("f64", 1e-9)]
        .into_iter()
        .find(|(name, _)| ty.contains(name))
        .map_or(0.0, |(_, bound)| bound)
}

/// What differs, in a program that runs.
fn compared(text: &str) -> Result<Vec<String>, String> {
    let (text, types) = without_checks(text);
    let module = Module::parse(&text).map_err(|error| error.to_string())?;
    let results = module.try_call::<polygrad::Array>(&[]).map_err(|error| error.to_string())?;
    let (mut k, mut wrong) = (0, Vec::new());
    for ty in types.iter().step_by(2) {
        let parts = if ty.contains("complex") { 2 } else { 1 };
        for part in k..k + parts {
            let (found, expected) = (&results[part], &results[part + parts]);
            if found.dtype() == DType::I64 && found == expected {
                continue;
            }
            let far = |(x, y): (&f64, &f64)| {
                let same = x == y || x.is_nan() && y.is_nan();
                // A NaN is near nothing.
                let near = (x - y).abs() <= tolerance(ty) * y.abs().max(1e-3);
                !same && !near
            };
            let (x, y) = (numbers(found), numbers(expected));
            if found.shape() != expected.shape() || x.iter().zip(&y).any(far) {
                wrong.push(ty.clone());
            }
        }
        k += 2 * parts;
    }
    if types.is_empty() { Err("it checks nothing".into()) } else { Ok(wrong) }
}

/// The family of the types of a text.
fn family(text: &str) -> &'static str {
    let has = |name: &str| {
        text.split("tensor<").skip(1).any(|rest| {
            let ty = rest.split('>').next().unwrap_or_default();
            ty.rsplit('x').next().is_some_and(|element| element.starts_with(name))
        })
    };
    if text.contains("complex<") {
        "complex numbers"
    } else if has("f16") || has("bf16") {
        "floats of 16 bits"
    } else if has("ui") || has("i8") || has("i16") {
        "narrow and unsigned integers"
    } else if has("i32") {
        "with i32"
    } else {
        "f64, f32, i64 and masks"
    }
}

#[test]
fn test_programs_of_stablehlo() {
    // Most users have no copy.
    let Some(folder) = std::env::var_os("STABLEHLO_TESTS") else { return };
    let entries = fs::read_dir(&folder).expect("the folder of the test programs");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "mlir"));
    files.sort();
    let (mut counts, mut panics): (BTreeMap<&str, [usize; 4]>, usize) = (BTreeMap::new(), 0);
    for path in files {
        let text = fs::read_to_string(&path).expect("a text");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let count = counts.entry(family(&text)).or_default();
        count[0] += 1;
        match catch_unwind(|| compared(&text)) {
            Ok(Ok(wrong)) if wrong.is_empty() => count[1] += 1,
            Ok(Ok(wrong)) => {
                count[2] += 1;
                println!("differs: {name}: {}", wrong.join(", "));
            }
            Ok(Err(why)) => {
                count[3] += 1;
                println!("refused: {name}: {why}");
            }
            Err(_) => panics += 1,
        }
    }
    for (family, [all, agree, differ, refused]) in &counts {
        println!("{family}: {all} programs, {agree} agree, {differ} differ, {refused} are refused");
    }
    let all = |k: usize| counts.values().map(|count| count[k]).sum::<usize>();
    println!("{} programs, {} agree, {} differ, {} are refused", all(0), all(1), all(2), all(3));
    assert!(panics == 0 && all(0) > 0 && all(1) * 100 >= 95 * all(0), "{panics} panics");
}
