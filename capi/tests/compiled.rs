//! A program of C against the shared library: as C and with warnings as errors, as C++, and under sanitizers of addresses and
//! of undefined behaviour. Where there is no compiler, a sentence says so.

use std::env;
use std::fs;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use polygrad_capi::functions::{PatternView, SlotView};
use polygrad_capi::{LentArray, Status};

use crate::support::{casadi, fmi};

/// The folder of a shared library: that of the test, one above, or that of the examples.
fn library(name: &str) -> Option<PathBuf> {
    let test = env::current_exe().expect("the path of the test");
    let name = format!("{}{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let time = |folder: &PathBuf| fs::metadata(folder.join(&name)).and_then(|known| known.modified()).ok();
    let folders = test.ancestors().skip(1).take(2).flat_map(|folder| [folder.to_owned(), folder.join("examples")]);
    folders.filter(|folder| time(folder).is_some()).max_by_key(time)
}

/// Whether there is a compiler of this name.
fn there_is(compiler: &str) -> bool {
    let found = Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("capi: no client was compiled, since there is no {compiler}");
    }
    found
}

/// What a client prints that is linked with a library, or what the compiler prints if it refuses.
fn compiled(client: &str, (folder, library): (&Path, &str), flags: &[&str], name: &str) -> Output {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = folder.join(format!("capi-{name}-{}", std::process::id()));
    let mut command = Command::new("cc");
    command.args(flags).arg("-I").arg(crate_folder.join("include")).arg(crate_folder.join("tests").join(client));
    command.arg("-o").arg(&target).arg("-L").arg(folder).arg(format!("-l{library}")).args(["-lm", "-lpthread"]);
    command.arg(format!("-Wl,-rpath,{}", folder.display()));
    let made = command.output().expect("the compiler runs");
    if !made.status.success() {
        return made;
    }
    let options = [("ASAN_OPTIONS", "detect_leaks=1"), ("UBSAN_OPTIONS", "halt_on_error=1")];
    let ran = Command::new(&target).envs(options).output();
    // A file that stays does no harm.
    let _ = fs::remove_file(&target);
    ran.expect("the client runs")
}

const STRICT: [&str; 6] = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
const SANITIZED: [&str; 3] = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];

/// Runs a client under sanitizers of addresses, of leaks and of undefined behaviour.
#[track_caller]
fn sanitized(client: &str, library: (&Path, &str), name: &str) {
    let output = compiled(client, library, &SANITIZED, name);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && (words.contains("cannot find") || words.contains("unrecognized")) {
        eprintln!("capi: nothing ran under sanitizers, since the compiler has none: {words}");
        return;
    }
    succeeded(&output);
}

/// The folder of the shared library of the interface.
fn interface() -> PathBuf {
    library("polygrad_capi").expect("the shared library is built with its tests")
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).ends_with("done\n"), "{}", text(&output.stdout));
    text(&output.stdout)
}

#[test]
fn a_client_in_c_runs() {
    if !there_is("cc") {
        return;
    }
    let folder = interface();
    let text = succeeded(&compiled("client.c", (&folder, "polygrad_capi"), &STRICT, "c"));
    let lines: Vec<String> = vec![
        format!(
            "pg_array {} {} {} {}",
            size_of::<LentArray>(),
            offset_of!(LentArray, dtype),
            offset_of!(LentArray, size),
            offset_of!(LentArray, data)
        ),
        format!(
            "pg_slot {} {} {} {} {} {}",
            size_of::<SlotView>(),
            offset_of!(SlotView, name),
            offset_of!(SlotView, dtype),
            offset_of!(SlotView, rank),
            offset_of!(SlotView, shape),
            offset_of!(SlotView, size)
        ),
        format!(
            "pg_pattern {} {} {} {} {} {}",
            size_of::<PatternView>(),
            offset_of!(PatternView, rows),
            offset_of!(PatternView, columns),
            offset_of!(PatternView, nonzeros),
            offset_of!(PatternView, row_pointers),
            offset_of!(PatternView, column_indices)
        ),
        String::from("codes 0 1 2 3 types 0 1 2 3"),
        String::from("done"),
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), lines);
}

/// The header alone is C++, too.
#[test]
fn the_header_is_cpp() {
    if !there_is("c++") {
        return;
    }
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/polygrad.h");
    let arguments = ["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];
    let output = Command::new("c++").args(arguments).arg(header).output().expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The same client, with its accesses and frees watched, and those of the library that go through the allocator of C.
#[test]
fn a_client_runs_under_sanitizers() {
    if !there_is("cc") {
        return;
    }
    let folder = interface();
    sanitized("client.c", (&folder, "polygrad_capi"), "sanitized");
}

/// BridgeStan's interface, as its clients declare it.
#[test]
fn a_client_of_bridgestan_runs() {
    if !there_is("cc") {
        return;
    }
    let Some(folder) = library("eight_schools") else {
        eprintln!(
            "capi: no client of BridgeStan was compiled, since the example is not built; cargo test -p polygrad-capi"
        );
        return;
    };
    succeeded(&compiled("bridgestan.c", (&folder, "eight_schools"), &STRICT, "bridgestan"));
    sanitized("bridgestan.c", (&folder, "eight_schools"), "bridgestan-sanitized");
}

/// A matrix and a number: the transposed matrix times the number, and the sum of squares.
const SCALED: &str = "func.func @main(%a: tensor<2x3xf64>, %s: tensor<f64>) -> (tensor<3x2xf64>, tensor<f64>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f64>) -> tensor<3x2xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<3x2xf64>
  %3 = stablehlo.multiply %a, %a : tensor<2x3xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<2x3xf64>, tensor<f64>) -> tensor<f64>
  return %2, %4 : tensor<3x2xf64>, tensor<f64>
}";

/// Runs a client that is compiled with a source, without warnings and under sanitizers.
#[track_caller]
fn runs_with(source: &str, client: &str, argument: &str) {
    let folder = env::temp_dir().join(format!("capi-{client}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (file, program) = (folder.join("source.c"), folder.join("program"));
    fs::write(&file, source).expect("a file");
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(client);
    for flags in [&STRICT[..1], &SANITIZED[..]] {
        let mut command = Command::new("cc");
        command.args(flags).args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
        let made = command.arg(&file).arg(&client).arg("-lm").output().expect("the compiler runs");
        let words = String::from_utf8_lossy(&made.stderr);
        if !made.status.success() && words.contains("cannot find") {
            eprintln!("capi: nothing ran under sanitizers, since the compiler has none: {words}");
            continue;
        }
        assert!(made.status.success(), "{words}");
        let mut run = Command::new(&program);
        run.arg(argument).env("ASAN_OPTIONS", "detect_leaks=1").env("UBSAN_OPTIONS", "halt_on_error=1");
        succeeded(&run.output().expect("the client runs"));
    }
    // A folder that stays does no harm.
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn functions_for_casadi_run() {
    if there_is("cc") {
        runs_with(&casadi(SCALED, c"scaled", 2).expect("a source"), "casadi.c", "");
    }
}

#[test]
fn functions_that_casadi_does_not_take() {
    let refused = |module: &str, name, derivatives| casadi(module, name, derivatives).expect_err("refused");
    for (more, fact) in
        [("i64", "inputs must have elements f64, but one has i64"), ("1x1x1xf64", "inputs must be matrices")]
    {
        let module = SCALED.replace("%s: tensor<f64>)", &format!("%s: tensor<f64>, %more: tensor<{more}>)"));
        let (status, words) = refused(&module, c"f", 0);
        assert!(status == Status::Argument && words.contains(fact), "{words}");
    }
    assert_eq!(refused(SCALED, c"f", 3).0, Status::Argument);
    assert_eq!(refused(SCALED, c"two words", 0).0, Status::Refused);
    // Without derivatives there is one function.
    assert!(!casadi(SCALED, c"f", 0).expect("a source").contains("jac_f"));
    assert!(!casadi(SCALED, c"f", 1).expect("a source").contains("jac_jac_f"));
}

/// The right side of a pendulum with a drive, and its energy: time, states, a parameter, an input.
const PENDULUM: &str = "func.func @main(%t: tensor<f64>, %x: tensor<2xf64>, %k: tensor<f64>, %u: tensor<f64>)
    -> (tensor<2xf64>, tensor<f64>) {
  %0 = stablehlo.slice %x [0:1] : (tensor<2xf64>) -> tensor<1xf64>
  %1 = stablehlo.slice %x [1:2] : (tensor<2xf64>) -> tensor<1xf64>
  %2 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
  %3 = stablehlo.cosine %t : tensor<f64>
  %4 = stablehlo.multiply %u, %3 : tensor<f64>
  %5 = stablehlo.multiply %k, %2 : tensor<f64>
  %6 = stablehlo.sine %5 : tensor<f64>
  %7 = stablehlo.subtract %4, %6 : tensor<f64>
  %8 = stablehlo.reshape %7 : (tensor<f64>) -> tensor<1xf64>
  %9 = stablehlo.concatenate %1, %8, dim = 0 : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
  %10 = stablehlo.multiply %x, %x : tensor<2xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %11 = stablehlo.reduce(%10 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
  %12 = stablehlo.multiply %11, %k : tensor<f64>
  return %9, %12 : tensor<2xf64>, tensor<f64>
}";

/// The token of a description.
fn token(description: &str) -> &str {
    let from = description.split_once("instantiationToken=\"").expect("a token").1;
    from.split_once('"').expect("an end").0
}

#[test]
fn models_for_fmi_run() {
    let starts = [0.0, 1.0, 0.5, 4.0, 2.0];
    let [description, build, code] = fmi(PENDULUM, c"pendulum", c"txpu", Some(&starts)).expect("an FMU");
    for line in [
        "<Float64 name=\"t\" valueReference=\"0\" causality=\"independent\" variability=\"continuous\"></Float64>",
        "initial=\"exact\" start=\"1.0 0.5\"><Dimension start=\"2\"/></Float64>",
        "name=\"k\" valueReference=\"2\" causality=\"parameter\" variability=\"tunable\" start=\"4.0\"",
        "name=\"der(x)\" valueReference=\"4\" causality=\"local\" variability=\"continuous\" derivative=\"1\"",
        "<Output valueReference=\"5\"/>\n    <ContinuousStateDerivative valueReference=\"4\"/>",
    ] {
        assert!(description.contains(line), "{description}");
    }
    assert!(build.contains("<SourceFile name=\"pendulum.c\"/>") && code.contains(token(&description)), "{build}");
    // The same model has the same texts, and another one has another token.
    let again = fmi(PENDULUM, c"pendulum", c"txpu", Some(&starts)).expect("an FMU");
    assert_eq!(again, [description.clone(), build, code.clone()]);
    let other = fmi(PENDULUM, c"pendulum", c"txpu", None).expect("an FMU");
    assert_ne!(token(&other[0]), token(&description));
    if there_is("cc") {
        runs_with(&code, "fmi.c", token(&description));
    }
}

/// Without a time there is one, names are written as XML, and two names differ.
#[test]
fn descriptions_for_fmi_have_a_time_and_names() {
    let module = SCALED.replace("%a", "%time").replace("%s", "%x0");
    let [description, ..] = fmi(&module, c"scaled", c"pu", None).expect("an FMU");
    assert!(description.contains("name=\"time\" valueReference=\"0\" causality=\"parameter\""), "{description}");
    assert!(description.contains("name=\"time_2\" valueReference=\"2\" causality=\"independent\""), "{description}");
    assert!(description.contains("<Dimension start=\"2\"/><Dimension start=\"3\"/>"), "{description}");
    assert!(!description.contains("ContinuousStateDerivative"), "{description}");
    let named = PENDULUM.replace("%x:", "%x: ").replace("%k: tensor<f64>", "%k: tensor<f64> loc(\"p['a<b']\")");
    let [description, ..] = fmi(&named, c"named", c"txpu", None).expect("an FMU");
    assert!(description.contains("name=\"p['a&lt;b']\""), "{description}");
}

#[test]
fn functions_that_fmi_does_not_take() {
    let refused = |module: &str, name, roles, starts| fmi(module, name, roles, starts).expect_err("refused");
    let f32s = PENDULUM.replace("%u: tensor<f64>)", "%u: tensor<f64>, %more: tensor<f32>)");
    for (module, roles, starts, fact) in [
        (PENDULUM, c"txp", None, "a letter for each of the 4 inputs, but the roles are \"txp\""),
        (PENDULUM, c"txpz", None, "but the roles are \"txpz\""),
        (PENDULUM, c"xtpu", None, "the time must be one number, but inputs with this role have the shapes [[2]]"),
        (PENDULUM, c"ttpu", None, "the time must be one number"),
        (PENDULUM, c"tupx", None, "derivatives of the states, with shapes [[]], but results have the shapes [[2], []]"),
        (PENDULUM, c"xxxx", None, "derivatives of the states"),
        (&f32s, c"txpuu", None, "elements f64, but one has f32 in the shape []"),
        (PENDULUM, c"txpu", Some(&[1.0; 4][..]), "for each of the 5 elements"),
        (PENDULUM, c"txpu", Some(&[f64::NAN; 5][..]), "a finite start value"),
    ] {
        let (status, words) = refused(module, c"f", roles, starts);
        assert!(status == Status::Argument && words.contains(fact), "{words}");
    }
    assert_eq!(refused(PENDULUM, c"two words", c"txpu", None).0, Status::Refused);
}
