//! What the reader of exported texts refuses: texts with one fault.
//!
//! Law: a text in which one size or element type of one type is another one, or one line is missing, or the operands of a
//! line are exchanged for values of other types, is refused. Of faults in attributes, which may leave a text valid, JAX says
//! the same: `make xla` reads `faults/` of the folder that POLYGRAD_EXPORT_DIR names.

use std::fs;

use polygrad::array::Rng;
use polygrad::ops::{Call, Discrete, Matrix};
use polygrad::program::{Builder, Constant, Op, Slot};
use polygrad::{Array, DType};

use super::{contractions, golden};
use crate::dumped::folder;
use crate::panics::caught_if_any;
use crate::stablehlo::check;

/// Texts in which each operation occurs, without places in the source.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = golden::texts().into_iter().map(|(_, text)| golden::placeless(&text)).collect();
    let slot = |shape: &[usize], dtype| Slot { name: String::new(), shape: shape.into(), dtype };
    let mut push = |slots: &[Slot], op: &dyn Fn(&mut Builder, &[u32]) -> u32| {
        let mut b = Builder::literal();
        let ids: Vec<u32> = slots.iter().map(|slot| b.input(slot.clone())).collect();
        let result = op(&mut b, &ids);
        texts.push(b.finish(&[result], &[]).to_stablehlo("f").expect("it is exported"));
    };
    let x = slot(&[2, 3], DType::F64);
    for op in [Discrete::ArgSort { axis: 1, descending: true }, Discrete::ArgMax { axis: 1 }] {
        push(std::slice::from_ref(&x), &|b, ids| b.apply(Op::Discrete(op.clone(), ids.into())));
    }
    let square = slot(&[2, 3, 3], DType::F64);
    for op in [Matrix::Qr, Matrix::Eigh, Matrix::Cholesky, Matrix::Inverse] {
        push(std::slice::from_ref(&square), &|b, ids| {
            let all = b.apply(Op::Call(Call::Matrix(op), ids.into()));
            b.apply(Op::Output(all, 0))
        });
    }
    let (index, rows) = (slot(&[4], DType::I64), slot(&[4, 3], DType::F64));
    push(&[x.clone(), index, rows], &|b, ids| b.apply(Op::ScatterAdd(ids[0], [ids[1]].into(), ids[2])));
    let table = Array::new(&[3, 4], (0..12).map(|k| f64::from(k) * 0.5).collect::<Vec<f64>>());
    push(&[], &|b, _| b.apply(Op::Constant(Constant(table.clone()))));
    texts
        .extend((0..9).map(|seed| contractions::programs(seed).remove(0).1.to_stablehlo("f").expect("it is exported")));
    texts
}

/// The places in a line at which a number begins, and after it ends, that is no part of a name or of a word.
fn numbers(line: &str) -> Vec<(usize, usize)> {
    let bytes = line.as_bytes();
    let digit = |k: usize| bytes.get(k).is_some_and(u8::is_ascii_digit);
    let mut found = Vec::new();
    let mut k = 0;
    while k < bytes.len() {
        let end = (k..bytes.len()).find(|k| !digit(*k)).unwrap_or(bytes.len());
        let before = if k == 0 { b' ' } else { bytes[k - 1] };
        let after = bytes.get(end).copied().unwrap_or(b' ');
        let in_type = before == b'x' || before == b'<';
        let alone = b" [:<x".contains(&before) && (b",]:>} ".contains(&after) || (after == b'x' && in_type));
        if end > k && alone {
            found.push((k, end));
        }
        k = end.max(k + 1);
    }
    found
}

/// The text with a part of a line replaced.
fn with(lines: &[&str], at: usize, (start, end): (usize, usize), by: &str) -> String {
    let line = [&lines[at][..start], by, &lines[at][end..]].concat();
    let each = |(k, own): (usize, &&str)| if k == at { line.clone() } else { (*own).to_owned() };
    lines.iter().enumerate().map(each).flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// Texts with one fault, and whether it is one of types, after which no text is valid.
fn faults(text: &str) -> Vec<(bool, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (k, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with("//")) {
        let types: Vec<(usize, usize)> = line
            .match_indices("tensor<")
            .map(|(at, _)| (at, at + line[at..].find('>').expect("a type ends")))
            .collect();
        // An input that nothing reads may have any type.
        let stated = !line.contains("func.func");
        for (start, end) in numbers(line) {
            let Ok(number) = line[start..end].parse::<i64>() else { continue };
            let of_type = stated && types.iter().any(|(a, b)| (*a..*b).contains(&start));
            for other in [number.wrapping_add(1), (number - 1).max(0)].into_iter().filter(|other| *other != number) {
                found.push((of_type, with(&lines, k, (start, end), &other.to_string())));
            }
        }
        for (start, end) in &types {
            let element = ["f64", "i64", "i1"].iter().find(|element| line[*start..*end].ends_with(**element));
            let Some(element) = element else { continue };
            let other = if *element == "f64" { "f32" } else { "f64" };
            found.push((stated, with(&lines, k, (end - element.len(), *end), other)));
        }
        if line.trim_start().starts_with('%') && !line.ends_with('{') {
            found.push((true, with(&lines, k, (0, line.len()), "")));
        }
        let operand = line.find(" = ").and_then(|at| line[at..].find('%').map(|name| at + name));
        if let Some((start, next)) = operand.and_then(|at| line[at..].find(", %").map(|next| (at, at + next + 2))) {
            let end = next + line[next..].find([',', ' ', ')']).unwrap_or(line.len() - next);
            found.push((false, with(&lines, k, (start, end), &format!("{0}, {0}", &line[next..end]))));
        }
    }
    found
}

#[test]
fn texts_with_one_fault() {
    let mut rng = Rng::new(41);
    let all = std::env::var_os("POLYGRAD_FUZZ").is_some() || folder().is_some();
    let (mut of_types, mut refused, mut count) = (0, 0, 0);
    for text in texts() {
        assert!(caught_if_any(|| check(&text)).is_none(), "{text}");
        for (is_of_types, faulty) in faults(&text) {
            if !all && rng.below(16) > 0 {
                continue;
            }
            let why = caught_if_any(|| check(&faulty));
            assert!(why.is_some() || !is_of_types, "no fault is seen in {faulty}");
            count += 1;
            of_types += usize::from(is_of_types);
            refused += usize::from(why.is_some());
            if let Some(folder) = folder() {
                let folder = folder.join("faults");
                fs::create_dir_all(&folder).expect("the folder can be made");
                let verdict = if why.is_some() { "refused" } else { "taken" };
                fs::write(folder.join(format!("{verdict}_{count}.mlir")), faulty).expect("the text can be written");
            }
        }
    }
    // Faults in attributes are mostly seen, but some are another valid text.
    assert!(of_types > 100 && refused > of_types + (count - of_types) / 5, "{of_types}, {refused} of {count}");
}
