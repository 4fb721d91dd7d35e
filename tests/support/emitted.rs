//! Emitted source code, compiled by the compilers of the machine, and run.
//!
//! Each case is a function in Rust and in C. All cases of a batch are one crate without the standard library, which
//! forbids unsafe code and warnings, and one C program; both read the numbers of the inputs from a file, and print those
//! of the outputs.

#![allow(dead_code)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use polygrad::emission::Source;
use polygrad::program::{Program, Slot};
use polygrad::{Array, DType};

/// A program with its source code and with inputs.
#[derive(Clone)]
pub(crate) struct Emitted {
    pub(crate) name: String,
    pub(crate) program: Program,
    pub(crate) rust: Source,
    pub(crate) c: Source,
    pub(crate) inputs: Vec<Array>,
}

impl Emitted {
    /// The program in both languages.
    pub(crate) fn new(
        name: &str,
        program: &Program,
        inputs: Vec<Array>,
    ) -> Result<Emitted, polygrad::emission::EmissionError> {
        let numbered = |root: &str, slots: &[Slot]| (0..slots.len()).map(|k| format!("{root}{k}")).collect::<Vec<_>>();
        let (x, y) = (numbered("x", program.inputs()), numbered("y", program.outputs()));
        let names = |all: &[String]| all.iter().map(|name| &name[..]).collect::<Vec<_>>().join(" ");
        let (x, y) = (names(&x), names(&y));
        let program =
            program.named(&x.split_whitespace().collect::<Vec<_>>(), &y.split_whitespace().collect::<Vec<_>>());
        let (rust, c) = (program.to_rust(name)?, program.to_c(name)?);
        Ok(Emitted { name: name.into(), program, rust, c, inputs })
    }
}

/// The results of all cases.
pub(crate) type Results = Vec<Vec<Array>>;

/// A folder for the files of a batch.
fn folder(tag: &str) -> PathBuf {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emitted-{tag}-{}", std::process::id()));
    fs::create_dir_all(&at).expect("a folder for the batch");
    at
}

/// The bits of the elements of arrays, 64 for each.
fn words(arrays: &[Array]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for array in arrays {
        let bits: Vec<u64> = match array.dtype() {
            DType::F64 => array.to_vec::<f64>().expect("of the type").iter().map(|x| x.to_bits()).collect(),
            DType::F32 => array.to_vec::<f32>().expect("of the type").iter().map(|x| x.to_bits().into()).collect(),
            DType::I64 => array.to_vec::<i64>().expect("of the type").iter().map(|x| *x as u64).collect(),
            DType::Bool => array.to_vec::<bool>().expect("of the type").iter().map(|x| (*x).into()).collect(),
        };
        bytes.extend(bits.iter().flat_map(|bits| bits.to_le_bytes()));
    }
    bytes
}

/// The arrays of the outputs of all cases, from their bits.
fn arrays(cases: &[Emitted], bytes: &[u8]) -> Results {
    let mut words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let mut of = |slot: &Slot| {
        let bits: Vec<u64> = words.by_ref().take(slot.shape.iter().product()).collect();
        match slot.dtype {
            DType::F64 => Array::new(&slot.shape, bits.iter().map(|x| f64::from_bits(*x)).collect()),
            DType::F32 => Array::new(&slot.shape, bits.iter().map(|x| f32::from_bits(*x as u32)).collect()),
            DType::I64 => Array::new(&slot.shape, bits.iter().map(|x| *x as i64).collect()),
            DType::Bool => Array::new(&slot.shape, bits.iter().map(|x| *x != 0).collect()),
        }
    };
    cases.iter().map(|case| case.program.outputs().iter().map(&mut of).collect()).collect()
}

/// Runs a command, which must succeed.
fn run(command: &mut Command) -> Vec<u8> {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {}\n{text}", done.status);
    done.stdout
}

/// Whether a program is on the machine.
fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
}

/// The newest library of this name beside the running test.
fn library(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("the path of the test");
    let folder = here.parent().expect("a folder").to_path_buf();
    let mut found: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of the test")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
        })
        .collect();
    found.sort_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
    found.pop().unwrap_or_else(|| panic!("no {name} in {}", folder.display()))
}

/// Code of Rust that reads an input.
fn read_in_rust(slot: &Slot, name: &str) -> String {
    let of = match slot.dtype {
        DType::F64 => "f64::from_bits(word())",
        DType::F32 => "f32::from_bits(word() as u32)",
        DType::I64 => "word() as i64",
        DType::Bool => "word() != 0",
    };
    match &slot.shape[..] {
        [] => format!("let {name} = {of};"),
        shape => format!("let {name}: Vec<_> = (0..{}).map(|_| {of}).collect();", shape.iter().product::<usize>()),
    }
}

/// Whether this machine has fused multiply-adds, which compiled programs then use.
pub(crate) fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The elementary functions compiled for a machine with fused multiply-adds, or for one without.
fn math(rustc: &str, at: &Path, fma: bool) -> PathBuf {
    let (libm, out) = (library("libm"), at.join("libpolygrad_math.rlib"));
    let mut command = Command::new(rustc);
    command.args(["--edition", "2024", "-C", "opt-level=1", "--crate-type", "rlib", "--crate-name", "polygrad_math"]);
    command.arg("--cfg").arg("feature=\"std\"").args(if fma { &["-C", "target-feature=+fma"][..] } else { &[] });
    command.arg(crate::root::root().join("math/src/lib.rs")).arg("--extern").arg(format!("libm={}", libm.display()));
    command.arg("-L").arg(libm.parent().expect("a folder")).arg("-o").arg(&out);
    run(&mut command);
    out
}

/// [`in_rust`] with elementary functions for a machine with fused multiply-adds, or for one without.
pub(crate) fn in_rust_with_fma(tag: &str, cases: &[Emitted], fma: bool) -> Option<Results> {
    let at = folder(&format!("{tag}-math"));
    let math = math(&rustc()?, &at, fma);
    let found = built(tag, cases, if fma { &["-C", "target-feature=+fma"] } else { &[] }, &math);
    let _ = fs::remove_dir_all(&at);
    found
}

/// The assembly of all cases as one crate; nothing if there is no compiler.
pub(crate) fn assembly(tag: &str, cases: &[Emitted], level: &str) -> Option<String> {
    let rustc = rustc()?;
    let at = folder(&format!("{tag}-assembly"));
    let math = library("polygrad_math");
    let mut lib = String::from("#![no_std]\n");
    for Emitted { name, rust, .. } in cases {
        fs::write(at.join(format!("{name}.rs")), &rust.code).expect("the code is written");
        let _ = writeln!(lib, "pub mod {name};");
    }
    fs::write(at.join("emitted.rs"), lib).expect("the crate is written");
    let mut command = Command::new(rustc);
    command.current_dir(&at).args(["--edition", "2021", "--crate-type", "lib", "--emit", "asm", "emitted.rs"]);
    command
        .arg("-C")
        .arg(format!("opt-level={level}"))
        .arg("--extern")
        .arg(format!("polygrad_math={}", math.display()));
    command.arg("-L").arg(math.parent().expect("a folder"));
    run(&mut command);
    let text = fs::read_to_string(at.join("emitted.s")).expect("the compiler has written a file");
    let _ = fs::remove_dir_all(&at);
    Some(text)
}

/// The compiler of Rust, if there is one.
fn rustc() -> Option<String> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    if !exists(&rustc) {
        eprintln!("skipped: there is no {rustc}");
        return None;
    }
    Some(rustc)
}

/// The results of all cases in Rust; nothing if there is no compiler.
pub(crate) fn in_rust(tag: &str, cases: &[Emitted], options: &[&str]) -> Option<Results> {
    built(tag, cases, options, &library("polygrad_math"))
}

/// The results of all cases in Rust, with this crate of elementary functions.
fn built(tag: &str, cases: &[Emitted], options: &[&str], math: &Path) -> Option<Results> {
    let rustc = rustc()?;
    let at = folder(&format!("{tag}-rust"));
    let (mut lib, mut main) = (String::new(), String::new());
    let _ = writeln!(lib, "#![no_std]\n#![forbid(unsafe_code)]\n#![deny(warnings)]");
    // A function for each case, since the time of rustc grows faster than the size of a function.
    let mut calls = String::new();
    for Emitted { name, program, rust, .. } in cases {
        fs::write(at.join(format!("{name}.rs")), &rust.code).expect("the code is written");
        let _ = writeln!(lib, "pub mod {name};");
        let _ = writeln!(main, "#[allow(unused)]\nfn {name}(word: &mut dyn FnMut() -> u64, out: &mut Vec<u8>) {{");
        let _ = writeln!(calls, "    {name}(&mut word, &mut out);");
        let mut args = Vec::new();
        for (k, slot) in program.inputs().iter().enumerate() {
            let _ = writeln!(main, "        {}", read_in_rust(slot, &format!("x{k}")));
            args.push(if slot.shape.is_empty() { format!("x{k}") } else { format!("x{k}[..].try_into().unwrap()") });
        }
        for (k, slot) in program.outputs().iter().enumerate() {
            let zero = match slot.dtype {
                DType::F64 => "1e77f64",
                DType::F32 => "1e17f32",
                DType::I64 => "77i64",
                DType::Bool => "true",
            };
            let _ = match &slot.shape[..] {
                [] => writeln!(main, "        let mut y{k} = {zero};"),
                shape => writeln!(main, "        let mut y{k} = vec![{zero}; {}];", shape.iter().product::<usize>()),
            };
            args.push(if slot.shape.is_empty() {
                format!("&mut y{k}")
            } else {
                format!("(&mut y{k}[..]).try_into().unwrap()")
            });
        }
        if rust.scratch_bytes > 0 {
            let ty: String = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            let _ = writeln!(
                main,
                "        static WORK: std::sync::Mutex<emitted::{name}::{ty}Work> = std::sync::Mutex::new(emitted::{name}::{ty}Work::new());"
            );
            args.push("&mut WORK.lock().unwrap()".into());
        }
        let _ = writeln!(main, "        emitted::{name}::{name}({});", args.join(", "));
        for (k, slot) in program.outputs().iter().enumerate() {
            let bits = match slot.dtype {
                DType::F64 => "v.to_bits()",
                DType::F32 => "u64::from(v.to_bits())",
                DType::I64 => "v as u64",
                DType::Bool => "u64::from(v)",
            };
            let all = if slot.shape.is_empty() { format!("[y{k}]") } else { format!("y{k}") };
            let _ = writeln!(main, "        for v in {all} {{ out.extend(({bits}).to_le_bytes()); }}");
        }
        let _ = writeln!(main, "}}");
    }
    let _ = writeln!(main, "fn main() {{\n    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();");
    let _ =
        writeln!(main, "    let mut words = bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap()));");
    let _ = writeln!(main, "    let mut word = || words.next().unwrap();\n    let mut out: Vec<u8> = Vec::new();");
    main.push_str(&calls);
    let _ = writeln!(main, "    std::io::Write::write_all(&mut std::io::stdout(), &out).unwrap();\n}}");
    fs::write(at.join("emitted.rs"), lib).expect("the crate is written");
    fs::write(at.join("main.rs"), main).expect("the program is written");
    let libraries = library("libm").parent().expect("a folder").display().to_string();
    let compile = |crate_type: &str, file: &str| {
        let mut command = Command::new(&rustc);
        command.current_dir(&at).args(["--edition", "2021", "-C", "debuginfo=0", "--crate-type", crate_type, file]);
        // The elementary functions are sought beside the given file first.
        for folder in [math.parent().map_or_else(String::new, |folder| folder.display().to_string()), libraries.clone()]
        {
            command.arg("-L").arg(format!("dependency={folder}"));
        }
        command.args(options).arg("-L").arg(".");
        command
    };
    run(compile("rlib", "emitted.rs").arg("--extern").arg(format!("polygrad_math={}", math.display())));
    let math = format!("polygrad_math={}", math.display());
    run(compile("bin", "main.rs").args(["--extern", "emitted=libemitted.rlib", "--extern", &math]));
    let bytes: Vec<u8> = cases.iter().flat_map(|case| words(&case.inputs)).collect();
    fs::write(at.join("inputs"), bytes).expect("the inputs are written");
    let out = run(Command::new(at.join("main")).arg(at.join("inputs")));
    let results = arrays(cases, &out);
    let _ = fs::remove_dir_all(&at);
    Some(results)
}

/// The name of an element type in C, and its union of bits.
fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "double",
        DType::F32 => "float",
        DType::I64 => "int64_t",
        DType::Bool => "bool",
    }
}

/// The results of all cases in C; nothing if there is no compiler.
pub(crate) fn in_c(tag: &str, cases: &[Emitted], options: &[&str]) -> Option<Results> {
    in_c_by(&std::env::var("CC").unwrap_or_else(|_| "cc".into()), tag, cases, options)
}

/// [`in_c`] by this compiler.
pub(crate) fn in_c_by(cc: &str, tag: &str, cases: &[Emitted], options: &[&str]) -> Option<Results> {
    if !exists(cc) {
        eprintln!("skipped: there is no {cc}");
        return None;
    }
    let at = folder(&format!("{tag}-c"));
    let mut main = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <stdint.h>\n#include <stdbool.h>\n",
    );
    cases.iter().for_each(|case| _ = writeln!(main, "#include \"{}.h\"", case.name));
    main.push_str(
        "static FILE *in;\nstatic uint64_t word(void) { uint64_t w; if (fread(&w, 8, 1, in) != 1) exit(2); return w; }\n\
         static void put(uint64_t w) { fwrite(&w, 8, 1, stdout); }\n\
         static double as_double(uint64_t w) { double x; memcpy(&x, &w, 8); return x; }\n\
         static float as_float(uint64_t w) { uint32_t n = (uint32_t)w; float x; memcpy(&x, &n, 4); return x; }\n\
         static uint64_t of_double(double x) { uint64_t w; memcpy(&w, &x, 8); return w; }\n\
         static uint64_t of_float(float x) { uint32_t w; memcpy(&w, &x, 4); return w; }\n\
         int main(int n, char **args) {\n    (void)n; (void)as_double; (void)as_float; (void)of_double; (void)of_float;\n    in = fopen(args[1], \"rb\");\n",
    );
    for Emitted { name, program, c, .. } in cases {
        fs::write(at.join(format!("{name}.c")), &c.code).expect("the code is written");
        fs::write(at.join(format!("{name}.h")), &c.header).expect("the header is written");
        let _ = writeln!(main, "    {{");
        let mut args = Vec::new();
        for (k, slot) in program.inputs().iter().enumerate() {
            let n: usize = slot.shape.iter().product();
            let of = match slot.dtype {
                DType::F64 => "as_double(word())",
                DType::F32 => "as_float(word())",
                DType::I64 => "(int64_t)word()",
                DType::Bool => "word() != 0",
            };
            let _ = writeln!(
                main,
                "        static {} x{k}[{}]; for (size_t i = 0; i < {n}; i++) x{k}[i] = {of};",
                c_type(slot.dtype),
                n.max(1)
            );
            args.push(if slot.shape.is_empty() { format!("x{k}[0]") } else { format!("x{k}") });
        }
        for (k, slot) in program.outputs().iter().enumerate() {
            let n: usize = slot.shape.iter().product();
            let _ = writeln!(main, "        static {} y{k}[{}];", c_type(slot.dtype), n.max(1));
            args.push(format!("y{k}"));
        }
        if c.scratch_bytes > 0 {
            let _ = writeln!(main, "        static {name}_work work; memset(&work, 0x5a, sizeof work);");
            args.push("&work".into());
        }
        let _ = writeln!(main, "        {name}({});", args.join(", "));
        for (k, slot) in program.outputs().iter().enumerate() {
            let n: usize = slot.shape.iter().product();
            let of = match slot.dtype {
                DType::F64 => format!("of_double(y{k}[i])"),
                DType::F32 => format!("of_float(y{k}[i])"),
                DType::I64 | DType::Bool => format!("(uint64_t)y{k}[i]"),
            };
            let _ = writeln!(main, "        for (size_t i = 0; i < {n}; i++) put({of});");
        }
        let _ = writeln!(main, "    }}");
    }
    main.push_str("    return 0;\n}\n");
    fs::write(at.join("main.c"), main).expect("the program is written");
    let mut command = Command::new(cc);
    command.current_dir(&at).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits"]).args(options);
    command.args(["-o", "main", "main.c"]).args(cases.iter().map(|case| format!("{}.c", case.name))).arg("-lm");
    run(&mut command);
    let bytes: Vec<u8> = cases.iter().flat_map(|case| words(&case.inputs)).collect();
    fs::write(at.join("inputs"), bytes).expect("the inputs are written");
    let out = run(Command::new(at.join("main")).arg(at.join("inputs")));
    let results = arrays(cases, &out);
    let _ = fs::remove_dir_all(&at);
    Some(results)
}
