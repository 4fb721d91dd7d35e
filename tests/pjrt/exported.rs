//! Exported programs on the plugin: what they mean there is what they mean here.
//!
//! With POLYGRAD_EXPORT_DIR the cases that the tests of exports have written to that folder run, too.

use std::fs;
use std::path::{Path, PathBuf};

use polygrad::{Array, BaseTensor, DType, Elem, Function, Tensor, Tree, scan, tensor};
use serde_json::Value;

use crate::client;

/// The largest difference, beside the larger of 1 and the expected number; infinite where one alone is NaN or infinite.
fn difference(found: &Array, expected: &Array) -> f64 {
    assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()));
    let numbers = |a: &Array| match a.dtype() {
        DType::F64 => a.to_vec::<f64>().expect("floats"),
        DType::F32 => a.to_vec::<f32>().expect("floats").into_iter().map(f64::from).collect(),
        DType::I64 => a.to_vec::<i64>().expect("integers").into_iter().map(|n| n as f64).collect(),
        DType::Bool => a.to_vec::<bool>().expect("masks").into_iter().map(|b| f64::from(u8::from(b))).collect(),
    };
    let pair = |(x, y): (f64, f64)| match (x - y).abs() / y.abs().max(1.0) {
        _ if x == y || (x.is_nan() && y.is_nan()) => 0.0,
        d if d.is_nan() => f64::INFINITY,
        d => d,
    };
    numbers(found).into_iter().zip(numbers(expected)).map(pair).fold(0.0, f64::max)
}

/// Exports a function, and runs it here and there.
fn agrees<P: Tree<Array>, Y: Tree<Array, With<Array> = Y>>(f: &Function<P, (), Y>, x: &P) {
    let program = client().compile(&f.to_stablehlo("f").expect("an export")).expect("a program");
    let there = program.run(&x.leaves()).expect("a run");
    let here = f.run(x).expect("a run").leaves();
    assert_eq!(there.len(), here.len());
    for (there, here) in there.iter().zip(&here) {
        let d = difference(there, here);
        assert!(d <= if here.dtype() == DType::F32 { 1e-5 } else { 1e-13 }, "{d}: {there} and {here}");
    }
}

fn network<T: BaseTensor>((w, v): &(Tensor<T, 2>, Tensor<T, 2>)) -> Tensor<T, 0> {
    let states: Tensor<T, 2> = scan(v.row(0), v, |h: Tensor<T, 1>, x: &Tensor<T, 1>| (w.matvec(&h) + x).tanh());
    (states.softmax(1) * &states).sum()
}

#[test]
fn functions_agree() {
    let w = tensor([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6], [0.7, 0.8, 0.9]]);
    let v = tensor([[1.0, 2.0, 3.0], [0.5, -0.5, 0.25]]);
    let x = (w.clone(), v.clone());
    agrees(&Function::value_and_grad(network, &x), &x);
    agrees(&Function::stage(|x| (x.sort(1), x.argmax_axis(0), x.gt(0.5), x.cumsum(0)), &v), &v);
    let single = tensor([1.0f32, -2.0, 0.5]);
    agrees(&Function::stage(|x| (x.exp(), x.relu().sum(), x.reverse(0)), &single), &single);
}

fn array(hexadecimal: &str, port: &Value) -> Array {
    fn of<E: Elem, const N: usize>(shape: &[usize], bytes: &[u8], number: fn([u8; N]) -> E) -> Array {
        let chunks = bytes.chunks_exact(N).map(|c| number(c.try_into().expect("so many bytes")));
        Array::new(shape, chunks.collect())
    }
    let byte = |k: usize| u8::from_str_radix(&hexadecimal[2 * k..2 * k + 2], 16).expect("hexadecimal digits");
    let bytes: Vec<u8> = (0..hexadecimal.len() / 2).map(byte).collect();
    let sizes = port["shape"].as_array().expect("a shape").iter();
    let shape: Vec<usize> = sizes.map(|n| n.as_u64().expect("a size") as usize).collect();
    match port["dtype"].as_str().expect("a type") {
        "f64" => of(&shape, &bytes, f64::from_le_bytes),
        "f32" => of(&shape, &bytes, f32::from_le_bytes),
        "i64" => of(&shape, &bytes, i64::from_le_bytes),
        "bool" => of(&shape, &bytes, |[b]| b != 0),
        other => panic!("no element type: {other}"),
    }
}

/// What is wrong with a case, if anything.
fn fault(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).expect("a text");
    let json = fs::read_to_string(file.with_extension("json")).expect("a signature");
    let case: Value = serde_json::from_str(&json).expect("a signature");
    let arrays = |key: &str| -> Vec<Array> {
        let values = case["values"][key].as_array().expect("arrays").iter();
        values
            .zip(case[key].as_array().expect("ports"))
            .map(|(v, port)| array(v.as_str().expect("digits"), port))
            .collect()
    };
    let found = match client().compile(&text).and_then(|program| program.run(&arrays("inputs"))) {
        Ok(found) => found,
        Err(e) => return Some(e.to_string()),
    };
    let least = case["tolerance"].as_f64().unwrap_or(0.0);
    found.iter().zip(&arrays("outputs")).enumerate().find_map(|(k, (found, expected))| {
        let allowed = least.max(if expected.dtype() == DType::F32 { 1e-5 } else { 1e-13 });
        let d = difference(found, expected);
        (d > allowed).then(|| format!("output {k} differs by {d}"))
    })
}

#[test]
fn cases_of_a_folder_agree() {
    let Some(folder) = std::env::var_os("POLYGRAD_EXPORT_DIR") else {
        return println!("POLYGRAD_EXPORT_DIR names no folder of cases: none are run");
    };
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "mlir")).collect();
    files.sort();
    assert!(!files.is_empty(), "there are no cases");
    let faults: Vec<String> =
        files.iter().filter_map(|file| fault(file).map(|why| format!("{}: {why}", file.display()))).collect();
    println!("{} cases, {} failures", files.len(), faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
