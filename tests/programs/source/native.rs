//! Programs as native code in the process.

use std::fs;
use std::path::{Path, PathBuf};

use polygrad::backend::compile;
use polygrad::emission::{Compiler, NativeError};
use polygrad::program::Program;
use polygrad::{Array, DType, Function, Tensor, fold, tensor};

use crate::programs::gallery;
use crate::support::floats;

/// A folder for the libraries of one test.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("native-{name}-{}", std::process::id()))
}

/// Whether the machine has a C compiler.
fn has_compiler() -> bool {
    let found = std::process::Command::new("cc").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no cc");
    }
    found
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, |entries| entries.count())
}

#[test]
fn native_code_computes_what_a_run_computes() {
    if !has_compiler() {
        return;
    }
    let folder = folder("agrees");
    let compiler = Compiler::new("cc").options(["-O1"]).folder(&folder);
    let (w, x) = (tensor([[0.5, -0.2], [0.1, 0.7]]), Tensor::<Array, 2>::full([20, 2], 0.3));
    let f = Function::value_and_grad_with(
        |w: &Tensor<_, 2>, x: &Tensor<_, 2>| {
            fold(Tensor::zeros([2]), x, |h, x: &Tensor<_, 1>| (w.matvec(&h) + x).tanh()).square().sum()
        },
        &w,
        &x,
    );
    let native = f.native(&compiler).expect("the program is compiled");
    let ((value, grad), (found, slope)) =
        (f.run_with(&w, &x).expect("it fits"), native.run_with(&w, &x).expect("it fits"));
    assert!((value.item() - found.item()).abs() < 1e-14);
    assert!(((grad - slope).abs().sum()).item() < 1e-14);
    let error = native.run_with(&w, &Tensor::full([21, 2], 0.3)).expect_err("other shapes do not fit");
    assert_eq!(error.to_string(), f.run_with(&w, &Tensor::full([21, 2], 0.3)).expect_err("as above").to_string());
    fs::remove_dir_all(&folder).expect("the folder was written");
}

#[test]
fn numbers_of_all_types_and_repeated_elements_pass() {
    if !has_compiler() {
        return;
    }
    let folder = folder("types");
    let compiler = Compiler::new("cc").options(["-O1"]).folder(&folder);
    let mut count = 0;
    let mixed =
        |program: &Program| program.inputs().iter().chain(program.outputs()).any(|slot| slot.dtype != DType::F64);
    for (name, program) in gallery().into_iter().filter(|(_, program)| mixed(program)).take(6) {
        let inputs: Vec<Array> = program.inputs().iter().map(|slot| Array::ones(&slot.shape, slot.dtype)).collect();
        let Ok(native) = program.native(&compiler) else { continue };
        count += 1;
        for (found, expected) in native.run(&inputs).iter().zip(compile(&program).run(&inputs)) {
            assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()), "{name}");
            let close = floats(found)
                .iter()
                .zip(floats(&expected))
                .all(|(x, y)| *x == y || x.is_nan() || (x - y).abs() <= 1e-6);
            assert!(close, "{name}: {found:?} and {expected:?}");
        }
    }
    assert!(count >= 2, "{count} programs of other types");
    fs::remove_dir_all(&folder).expect("the folder was written");
}

#[test]
fn a_library_is_compiled_once() {
    if !has_compiler() {
        return;
    }
    let folder = folder("once");
    let compiler = Compiler::new("cc").options(["-O1"]).folder(&folder);
    let f = Function::stage(|x: &Tensor<_, 1>| x.sin(), &tensor([1.0, 2.0]));
    f.native(&compiler).expect("the program is compiled");
    // A source and a library, and nothing else.
    assert_eq!(files(&folder), 2);
    let changed = |folder: &Path| {
        let times = fs::read_dir(folder).expect("a folder").map(|entry| {
            let path = entry.expect("an entry").path();
            fs::metadata(path).and_then(|data| data.modified()).expect("a time")
        });
        times.max()
    };
    let before = changed(&folder);
    f.native(&compiler).expect("the library is there");
    assert_eq!(changed(&folder), before);
    f.native(&compiler.clone().options(["-O0"])).expect("other options give another library");
    assert_eq!(files(&folder), 4);
    // A library whose source is another one is compiled anew.
    for entry in fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "c") {
            fs::write(&path, "int other;").expect("the source is changed");
        }
    }
    let native = f.native(&compiler).expect("the program is compiled again");
    assert_eq!(native.run(&tensor([0.0, 0.0])).expect("it fits"), tensor([0.0, 0.0]));
    fs::remove_dir_all(&folder).expect("the folder was written");
}

#[test]
fn faults_of_compilers_are_errors() {
    let folder = folder("faults");
    let f = Function::stage(|x: &Tensor<_, 1>| x.sin(), &tensor([1.0, 2.0]));
    let missing = Compiler::new("no-compiler-of-this-name").folder(&folder);
    let Err(error @ NativeError::NoCompiler { .. }) = f.native(&missing) else { panic!("there is no such compiler") };
    assert!(error.to_string().contains("`no-compiler-of-this-name` cannot be run"), "{error}");
    if has_compiler() {
        let refused = Compiler::new("cc").options(["-no-option-of-this-name"]).folder(&folder);
        let Err(error @ NativeError::Refused { .. }) = f.native(&refused) else { panic!("there is no such option") };
        assert!(error.to_string().contains("no-option-of-this-name"), "{error}");
        assert_eq!(files(&folder), 0);
        let fft = Function::stage(|x: &Tensor<_, 1>| x.rfft(0).re().sum(), &tensor([1.0, 2.0]));
        assert!(matches!(fft.native(&Compiler::new("cc").folder(&folder)), Err(NativeError::Emission(_))));
    }
    let _ = fs::remove_dir_all(&folder);
}
