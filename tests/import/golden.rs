//! Programs of JAX: the texts that `jax.export` printed, with inputs and results of runs there (`python/export_goldens.py`).

use std::fs;

use polygrad::import::Module;
use polygrad::program::interpret;
use polygrad::{Array, DType};

use crate::root::root;

/// The number of goldens; of them, those whose results are floats and whose inputs are all `f64`.
const COUNT: usize = 27;

pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) inputs: Vec<Array>,
    pub(crate) results: Vec<Array>,
}

/// An array of a comment: `f64[2,3] 0.5 ..`.
pub(crate) fn array(line: &str) -> Array {
    let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (kind, shape) = head.split_once('[').expect("a type and a shape");
    let sizes = shape.trim_end_matches(']').split(',').filter(|n| !n.is_empty());
    let shape: Vec<usize> = sizes.map(|n| n.parse().expect("a size")).collect();
    let words = rest.split_whitespace();
    match kind {
        "f64" => Array::new(&shape, words.map(|w| w.parse::<f64>().expect("a number")).collect()),
        "f32" => Array::new(&shape, words.map(|w| w.parse::<f32>().expect("a number")).collect()),
        "i1" => Array::new(&shape, words.map(|w| w == "1").collect()),
        _ => Array::new(&shape, words.map(|w| w.parse::<i64>().expect("an integer")).collect()),
    }
}

pub(crate) fn goldens() -> Vec<Golden> {
    let mut files: Vec<_> = fs::read_dir(root().join("tests/data/jax"))
        .expect("the folder of goldens")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "mlir"))
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).expect("a text");
        let of = |what: &str| text.lines().filter_map(|line| line.strip_prefix(what)).map(array).collect();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Golden { name, inputs: of("// input "), results: of("// result "), text }
    };
    files.iter().map(read).collect()
}

pub(crate) fn numbers(a: &Array) -> Vec<f64> {
    match a.dtype() {
        DType::F64 => a.to_vec::<f64>().expect("floats"),
        DType::F32 => a.to_vec::<f32>().expect("floats").into_iter().map(f64::from).collect(),
        DType::I64 => a.to_vec::<i64>().expect("integers").into_iter().map(|n| n as f64).collect(),
        DType::Bool => a.to_vec::<bool>().expect("masks").into_iter().map(|m| f64::from(u8::from(m))).collect(),
    }
}

/// Panics unless two lists of arrays agree up to rounding; integers and masks exactly.
pub(crate) fn agree(what: &str, found: &[Array], expected: &[Array]) {
    assert_eq!(found.len(), expected.len(), "{what}: the number of results");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()), "{what}: result {k}");
        let (x, y) = (numbers(found), numbers(expected));
        let scale = y.iter().filter(|y| y.is_finite()).fold(1.0f64, |most, y| most.max(y.abs()));
        let bound = match expected.dtype() {
            DType::F64 => 1e-10 * scale,
            DType::F32 => 1e-5 * scale,
            DType::I64 | DType::Bool => 0.0,
        };
        let same = |(x, y): (&f64, &f64)| x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= bound;
        assert!(x.iter().zip(&y).all(same), "{what}: result {k} is {x:?}, not {y:?}");
    }
}

#[test]
fn programs_of_jax_compute_what_jax_computes() {
    let goldens = goldens();
    assert_eq!(goldens.len(), COUNT);
    for Golden { name, text, inputs, results } in goldens {
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = module.try_call(&inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        agree(&name, &found, &results);
        // As a recorded program, too.
        let program = module.program().unwrap_or_else(|error| panic!("{name}: {error}"));
        agree(&format!("{name}, recorded"), &interpret(&program, inputs), &results);
    }
}

#[test]
fn loops_that_count_are_loops_with_outputs() {
    for (name, loops) in [("scan", 1), ("reverse_scan", 1), ("kalman", 1), ("fori", 1)] {
        let golden = goldens().into_iter().find(|golden| golden.name == name).expect("a golden");
        let program = Module::parse(&golden.text).expect("a module").program().expect("a program").to_string();
        assert_eq!(program.matches("= loop ").count(), loops, "{program}");
        assert!(!program.contains("while"), "{program}");
    }
}
