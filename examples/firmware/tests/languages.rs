//! The filter in C computes what the filter in Rust does.

#[path = "../host/mod.rs"]
mod host;

use std::path::Path;
use std::process::Command;

use polygrad_firmware::Real;

/// Runs a command, which must succeed and print nothing to the standard error; gives what it prints.
fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [out, err] = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(done.status.success() && err.is_empty(), "{command:?}: {}\n{out}{err}", done.status);
    out
}

#[test]
fn c_computes_what_rust_does() {
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&cc).arg("--version").output().is_err() {
        eprintln!("skipped: there is no {cc}");
        return;
    }
    let (here, sources) = (Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(env!("OUT_DIR")));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (log, program) = (folder.join("log"), folder.join("replay"));
    let flight = host::flight(2000, 4);
    let (mut filter, mut of) = (host::started(&flight), host::Log::new(&flight));
    for (event, _) in &flight.events {
        host::step(&mut filter, event);
        of.add(event, &filter);
    }
    of.write(&log, &filter).expect("the log is written");
    let real = if size_of::<Real>() == 4 { "-DREAL=float" } else { "-DREAL=double" };
    let mut compile = Command::new(&cc);
    compile.args(["-std=c99", "-Wall", "-Wextra", "-O2", real, "-I"]).arg(sources).arg("-o").arg(&program);
    compile.arg(here.join("replay.c"));
    ["predict.c", "update_position.c", "update_field.c"].iter().for_each(|name| _ = compile.arg(sources.join(name)));
    run(compile.arg("-lm"));
    print!("{}", run(Command::new(&program).arg(&log)));
    let _ = std::fs::remove_dir_all(&folder);
}
