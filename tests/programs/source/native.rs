//! Programs as native code in the process: what it computes, and the folder of libraries when several threads and processes
//! use it, files are cut, the disk is full, the processor is another one, and a compiler does not end.

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

#[test]
fn other_compilers_than_one_word() {
    if !has_compiler() {
        return;
    }
    let folder = folder("words");
    let f = Function::stage(|x: &Tensor<_, 1>| x * 2.0, &tensor([1.0, 2.0]));
    for command in ["cc -DWORD=1", " cc  -g0\t-DWORD=2 "] {
        let native = f.native(&Compiler::new(command).options(["-O0"]).folder(&folder)).expect("it is compiled");
        assert_eq!(native.run(&tensor([1.5, 2.0])).expect("it fits"), tensor([3.0, 4.0]));
    }
    assert!(matches!(f.native(&Compiler::new("").folder(&folder)), Err(NativeError::NoCompiler { .. })));
    fs::remove_dir_all(&folder).expect("the folder was written");
}

/// Hessians of loops that end by themselves: products that are 0 where a factor is, chosen by masks within masks.
#[test]
fn the_usual_options_compute_what_a_run_computes() {
    if !has_compiler() {
        return;
    }
    let folder = folder("usual");
    let f = |x: &Tensor<_, 1>| {
        let rows: Tensor<_, 1> = polygrad::map(x, |a: &Tensor<_, 0>| {
            polygrad::while_loop_within(30, a, |c: &Tensor<_, 0>| c.lt(10.0), |c: Tensor<_, 0>| c.sqrt() + &c)
        });
        rows.sum()
    };
    let x = tensor([1.0, 3.0, 5.0]);
    let h = Function::hessian(f, &x);
    let compiler = Compiler::default().folder(&folder);
    let native = h.native(&compiler).expect("it is compiled").run(&x).expect("it fits");
    // By JAX 0.10.
    let expected = [-1.49957394, -0.20801426, -0.06983857];
    for of in [native, h.run(&x).expect("it fits")] {
        let diagonal = of.diagonal::<1>(0, 1).to_vec();
        assert!(diagonal.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-8), "{diagonal:?}");
        assert!((of.sum().item() - expected.iter().sum::<f64>()).abs() < 1e-8, "{of}");
    }
    fs::remove_dir_all(&folder).expect("the folder was written");
}

/// Numbers are rounded to `f32` and back. Of two such statements gcc 12 makes a vector that does not round.
#[test]
fn rounding_to_single_precision_is_kept() {
    if !has_compiler() {
        return;
    }
    let folder = folder("rounding");
    let compiler = Compiler::default().folder(&folder);
    for n in [1, 2, 3, 4, 7, 15, 16, 31] {
        let x = Tensor::<Array, 1>::from_fn([n], |[i]| 0.1 * (i + 1) as f64);
        let f = Function::stage(|x: &Tensor<_, 1>| x.cast::<f32>().cast::<f64>(), &x);
        let native = f.native(&compiler).expect("it is compiled").run(&x).expect("it fits");
        assert_eq!(native.to_vec(), f.run(&x).expect("it fits").to_vec());
    }
    fs::remove_dir_all(&folder).expect("the folder was written");
}

/// A file whose input has a name that is C, which would end the process.
#[test]
fn code_in_a_saved_program_does_not_run() {
    if !has_compiler() {
        return;
    }
    let code = "x\n#include <stdlib.h>\n__attribute__((constructor)) static void owned(void) { _Exit(77); }\n//";
    let slot = serde_json::json!({"name": code, "dtype": "f64", "shape": []});
    let sine = serde_json::json!({"op": {"unary": ["sin", 0]}, "dtype": "f64", "shape": []});
    let program = serde_json::json!({"inputs": [slot], "operations": [sine], "outputs": [{"name": code, "of": 1}]});
    let program: Program =
        serde_json::from_value(serde_json::json!({"format": 1, "programs": [program]})).expect("it loads");
    let folder = folder("planted");
    let native = program.native(&Compiler::new("cc").options(["-O0"]).folder(&folder)).expect("it is compiled");
    assert_eq!(native.run(&[Array::scalar(0.0)]), [Array::scalar(0.0)]);
    fs::remove_dir_all(&folder).expect("the folder was written");
}

#[cfg(unix)]
mod store {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;

    /// A function, and whether native code of it is right.
    fn works(compiler: &Compiler) -> Result<(), NativeError> {
        let f = Function::grad(|x: &Tensor<_, 1>| (x * x * x).sum(), &tensor([1.0, 2.0]));
        let native = f.native(compiler)?;
        assert_eq!(native.run(&tensor([1.0, -2.0])).expect("it fits"), tensor([3.0, 12.0]));
        Ok(())
    }

    /// The files of a folder that end so.
    fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.to_string_lossy().ends_with(end)).collect()
    }

    /// A compiler that is a script of the shell, beside the folder of libraries.
    fn script(folder: &Path, lines: &str) -> Compiler {
        let at = folder.with_extension("sh");
        fs::write(&at, lines).expect("the script is written");
        Compiler::new(&format!("sh {}", at.display())).options(["-O0"]).folder(folder)
    }

    fn clean(folder: &Path) {
        let _ = fs::remove_dir_all(folder);
        ["sh", "log", "txt"].into_iter().for_each(|of| _ = fs::remove_file(folder.with_extension(of)));
    }

    #[test]
    fn threads_compile_one_program_at_once() {
        if !has_compiler() {
            return;
        }
        let folder = folder("threads");
        let compiler = Compiler::new("cc").options(["-O0"]).folder(&folder);
        let all = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    all.wait();
                    works(&compiler).expect("each thread has the function");
                });
            }
        });
        assert_eq!(files(&folder), 2);
        works(&compiler).expect("the library is kept");
        clean(&folder);
    }

    /// What the test does in a process of its own, in this folder.
    const FOLDER: &str = "POLYGRAD_TEST_NATIVE_FOLDER";

    #[test]
    fn in_a_process() {
        let Some(folder) = std::env::var_os(FOLDER) else { return };
        match works(&Compiler::new("cc").options(["-O0"]).folder(folder)) {
            Ok(()) => println!("it works"),
            Err(error) => println!("refused: {error}"),
        }
    }

    /// This program again, which runs `in_a_process` after these commands of the shell.
    fn process(folder: &Path, before: &str) -> Command {
        let (_, test) = module_path!().split_once("::").expect("a module of the test");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{before} exec \"$0\" \"$@\""))
            .arg(std::env::current_exe().expect("this program"));
        command.args(["--exact", "--nocapture", "--test-threads=1"]).arg(format!("{test}::in_a_process"));
        command.env(FOLDER, folder);
        command
    }

    #[test]
    fn processes_compile_one_program_at_once() {
        if !has_compiler() {
            return;
        }
        let folder = folder("processes");
        let mut started = Vec::new();
        for _ in 0..4 {
            let mut command = process(&folder, "");
            started.push(command.stdout(std::process::Stdio::piped()).spawn().expect("it is started"));
        }
        for child in started {
            let done = child.wait_with_output().expect("it ends");
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(done.status.success() && text.contains("it works"), "{text}");
        }
        assert_eq!(files(&folder), 2);
        clean(&folder);
    }

    /// Files cannot grow beyond a number of blocks of 512 bytes: first the source, then the library does not fit.
    #[test]
    fn a_full_disk_is_an_error() {
        if !has_compiler() {
            return;
        }
        let folder = folder("full");
        for (blocks, words) in [(0, "cannot be used"), (8, "says: ")] {
            let limit = format!("trap '' XFSZ; ulimit -f {blocks};");
            let done = process(&folder, &limit).output().expect("it ends");
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(done.status.success() && text.contains("refused: native: ") && text.contains(words), "{text}");
            assert_eq!(files(&folder), 0, "{text}");
        }
        clean(&folder);
    }

    #[test]
    fn cut_libraries_are_compiled_again() {
        if !has_compiler() {
            return;
        }
        let folder = folder("cut");
        let compiler = Compiler::new("cc").options(["-O0"]).folder(&folder);
        works(&compiler).expect("it is compiled");
        let [library] = &ending(&folder, ".so")[..] else { panic!("one library") };
        let original = fs::read(library).expect("it can be read");
        let mut changed = original.clone();
        changed[original.len() / 2] ^= 1;
        for broken in [&original[..0], &original[..4096], &original[..original.len() - 1], &changed] {
            // As a crash would leave it: not a change of the file that this process has loaded.
            fs::remove_file(library).expect("it is there");
            fs::write(library, broken).expect("the library is cut");
            fs::set_permissions(library, fs::Permissions::from_mode(0o600)).expect("the mode is changed");
            works(&compiler).expect("it is compiled again");
            assert_eq!(fs::read(library).expect("it can be read"), original, "the same library");
        }
        for source in ending(&folder, ".c") {
            fs::remove_file(source).expect("it is there");
        }
        works(&compiler).expect("it is compiled again");
        assert_eq!(files(&folder), 2);
        clean(&folder);
    }

    /// A compiler that logs what it compiles, and says that it compiles for the processor whose name is in a file.
    #[test]
    fn each_processor_has_its_library() {
        if !has_compiler() {
            return;
        }
        let folder = folder("processor");
        let (log, name) = (folder.with_extension("log"), folder.with_extension("txt"));
        let compiler = script(
            &folder,
            &format!(
                "for a in \"$@\"; do if [ \"$a\" = -dM ]; then cat '{}'; exit 0; fi; done\n\
                 for a in \"$@\"; do if [ \"$a\" = -shared ]; then echo compiled >> '{}'; fi; done\nexec cc \"$@\"\n",
                name.display(),
                log.display()
            ),
        );
        for (processor, compiled) in [("one", 1), ("one", 1), ("two", 2), ("one", 2), ("two", 2), ("three", 3)] {
            fs::write(&name, format!("#define __{processor}__ 1\n")).expect("the name is written");
            works(&compiler).expect("it is compiled");
            assert_eq!(fs::read_to_string(&log).expect("a log").lines().count(), compiled, "{processor}");
            assert_eq!(files(&folder), 2 * compiled);
        }
        clean(&folder);
        // A compiler that does not say for which processor it compiles: nothing is kept.
        let compiler =
            script(&folder, "for a in \"$@\"; do if [ \"$a\" = -dM ]; then exit 1; fi; done\nexec cc \"$@\"\n");
        works(&compiler).expect("it is compiled");
        assert_eq!(files(&folder), 0);
        clean(&folder);
    }

    /// Options and versions of a compiler that change no macro of it change what it writes.
    #[test]
    fn each_version_and_each_option_has_its_library() {
        if !has_compiler() {
            return;
        }
        let folder = folder("versions");
        let name = folder.with_extension("txt");
        let compiler = script(
            &folder,
            &format!(
                "for a in \"$@\"; do case $a in --version) cat '{}'; exit 0;; -dM) echo x; exit 0;; esac; done\nexec cc \"$@\"\n",
                name.display()
            ),
        );
        let mut known = 0;
        for version in ["one", "two", "one"] {
            fs::write(&name, version).expect("the version is written");
            for options in [["-O0", "-g0"], ["-O0", "-g1"]] {
                works(&compiler.clone().options(options)).expect("it is compiled");
                known = if version == "one" && known == 8 { known } else { known + 2 };
                assert_eq!(files(&folder), known, "{version} {options:?}");
            }
        }
        clean(&folder);
    }

    /// A library may be whole, and what it needs be gone; as it stands here, it is none.
    #[test]
    fn libraries_that_cannot_be_loaded_are_compiled_again() {
        use std::hash::{DefaultHasher, Hasher as _};
        if !has_compiler() {
            return;
        }
        let folder = folder("unloadable");
        let compiler = Compiler::new("cc").options(["-O0"]).folder(&folder);
        works(&compiler).expect("it is compiled");
        let ([library], [record]) = (&ending(&folder, ".so")[..], &ending(&folder, ".c")[..]) else {
            panic!("one library")
        };
        let text = fs::read_to_string(record).expect("it can be read");
        let source = &text[..text.trim_end().rfind('\n').expect("lines") + 1];
        let mut hasher = DefaultHasher::new();
        hasher.write(b"nothing");
        let digest = format!("// The library has 7 bytes with the hash {:016x}.\n", hasher.finish());
        // As a crash would leave it: not a change of the file that this process has loaded.
        fs::remove_file(library).expect("it is there");
        fs::write(library, "nothing").expect("the library is changed");
        fs::set_permissions(library, fs::Permissions::from_mode(0o600)).expect("the mode is changed");
        fs::write(record, format!("{source}{digest}")).expect("the record is changed");
        works(&compiler).expect("it is compiled again");
        assert_eq!(fs::read_to_string(record).expect("it can be read"), text, "the same library");
        clean(&folder);
    }

    /// What a compiler has started ends with it: the end of a pipe, to which it would write a second later.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_compilers_start_ends() {
        use std::io::{ErrorKind, Read as _};
        use std::os::unix::fs::OpenOptionsExt as _;
        const NONBLOCK: i32 = 0o4000;
        let folder = folder("started");
        let pipe = folder.with_extension("txt");
        if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|done| done.success()) {
            return;
        }
        let mut end = fs::OpenOptions::new().read(true).custom_flags(NONBLOCK).open(&pipe).expect("a pipe");
        let lines = format!("(sleep 1; echo alive) > '{}' &\nwait", pipe.display());
        let compiler = script(&folder, &lines).time_limit(Duration::from_millis(150));
        assert!(matches!(works(&compiler), Err(NativeError::TimeLimit { .. })));
        let mut text = [0; 8];
        let read = loop {
            match end.read(&mut text) {
                // Somebody can still write.
                Err(fault) if fault.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                other => break other.expect("it can be read"),
            }
        };
        assert_eq!(read, 0, "it wrote");
        clean(&folder);
    }

    #[test]
    fn compilers_end() {
        let folder = folder("endless");
        // Stops at each stage: the version, the processor, the compilation; with a process that it has started, and with files.
        for (stage, lines) in [
            ("version", "tail -f /dev/null & wait"),
            ("processor", "[ \"$1\" = --version ] && exit 0\ntail -f /dev/null"),
            (
                "compilation",
                "for a in \"$@\"; do case $a in --version) exit 0;; -dM) echo x; exit 0;; esac; done\n\
              echo > \"$TMPDIR/ccfile.s\"; tail -f /dev/null & wait",
            ),
        ] {
            let compiler = script(&folder, lines).time_limit(Duration::from_millis(150));
            let Err(error @ NativeError::TimeLimit { .. }) = works(&compiler) else {
                panic!("it does not end: {stage}")
            };
            assert!(error.to_string().contains("must end within 150ms"), "{error}");
            assert_eq!(files(&folder), 0, "{stage}");
        }
        clean(&folder);
    }

    #[test]
    fn compilers_without_a_library_are_errors() {
        let folder = folder("without");
        let failing = "for a in \"$@\"; do case $a in --version|-dM) echo x; exit 0;; esac; done\n";
        // It writes nothing, something else, or fails when its file is written.
        for lines in ["exit 0", "while [ \"$1\" != -o ]; do shift; done; echo junk > \"$2\"", "echo broken >&2; exit 1"]
        {
            let error = works(&script(&folder, &format!("{failing}{lines}\n"))).expect_err("there is no library");
            assert!(matches!(error, NativeError::Library { .. } | NativeError::Refused { .. }), "{error}");
            assert_eq!(files(&folder), 0, "{lines}");
        }
        clean(&folder);
    }

    #[test]
    fn folders_and_files_of_others_are_refused() {
        if !has_compiler() {
            return;
        }
        let folder = folder("others");
        let compiler = Compiler::new("cc").options(["-O0"]).folder(&folder);
        works(&compiler).expect("it is compiled");
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode is changed");
        };
        let mut paths = ending(&folder, ".so");
        paths.extend(ending(&folder, ".c"));
        paths.push(folder.clone());
        for path in paths {
            let before = fs::metadata(&path).expect("it is there").permissions().mode();
            assert_eq!(before & 0o077, 0, "others cannot read {}", path.display());
            mode(&path, 0o777);
            let Err(error @ NativeError::Foreign { .. }) = works(&compiler) else { panic!("others can write it") };
            assert!(error.to_string().contains("can be written by others, since its mode is 777"), "{error}");
            mode(&path, before);
            works(&compiler).expect("it is as before");
        }
        clean(&folder);
    }
}
