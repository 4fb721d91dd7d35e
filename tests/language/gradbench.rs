//! The process of the example `gradbench`, by its lines: recorded conversations for each problem, whose results come from a
//! reference written by hand, and lines that are not as they should be.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::root::root;

/// The example, as cargo compiles it for the tests; compiled now if only some tests are run.
fn executable() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let test = std::env::current_exe().expect("a test has a path");
        let folder = test.parent().and_then(Path::parent).expect("a test lies in `deps`");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--example", "gradbench", "--manifest-path"]);
        cargo.arg(root().join("Cargo.toml"));
        cargo.arg("--target-dir").arg(folder.parent().expect("the folder of a profile lies in another"));
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo can be run").success(), "the example is compiled");
        folder.join("examples").join(format!("gradbench{}", std::env::consts::EXE_SUFFIX))
    })
}

struct Process {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Process {
    fn start(arguments: &[&str]) -> Process {
        let mut command = Command::new(executable());
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the process starts");
        let (to, from) = (child.stdin.take(), child.stdout.take().expect("the output is a pipe"));
        Process { child, to, from: BufReader::new(from) }
    }

    /// The answer to a line.
    fn say(&mut self, line: &[u8]) -> Value {
        let to = self.to.as_mut().expect("the process has not ended");
        to.write_all(line).and_then(|()| to.write_all(b"\n")).expect("the process reads");
        let mut answer = String::new();
        self.from.read_line(&mut answer).expect("the process answers");
        serde_json::from_str(&answer)
            .unwrap_or_else(|fault| panic!("{fault}: an answer is a line of JSON, not {answer:?}"))
    }

    /// The end of the input ends the process, which has nothing more to say.
    fn end(mut self) {
        self.to = None;
        let mut rest = String::new();
        self.from.read_line(&mut rest).expect("the output ends");
        assert_eq!(rest, "");
        assert!(self.child.wait().expect("the process ends").success());
    }
}

/// Whether two outputs are the same up to rounding; the reference has `null` where it says nothing.
fn alike(given: &Value, needed: &Value) -> bool {
    match (given, needed) {
        (_, Value::Null) => true,
        (Value::Number(given), Value::Number(needed)) => match (given.as_f64(), needed.as_f64()) {
            (Some(x), Some(y)) => (x - y).abs() <= 1e-10 * x.abs().max(y.abs()).max(1.0),
            _ => false,
        },
        (Value::Array(given), Value::Array(needed)) => {
            given.len() == needed.len() && given.iter().zip(needed).all(|(given, needed)| alike(given, needed))
        }
        (Value::Object(given), Value::Object(needed)) => {
            given.len() == needed.len()
                && needed.iter().all(|(key, needed)| given.get(key).is_some_and(|x| alike(x, needed)))
        }
        _ => given == needed,
    }
}

/// The durations of this name in an answer.
fn durations(answer: &Value, name: &str) -> Vec<u64> {
    let timings = answer["timings"].as_array().expect("an evaluation has timings");
    let named = timings.iter().filter(|timing| timing["name"] == name);
    named.map(|timing| timing["nanoseconds"].as_u64().expect("a duration is a number of nanoseconds")).collect()
}

fn replay(module: &str, arguments: &[&str]) {
    let path = root().join(format!("tests/data/gradbench/{module}.jsonl"));
    let text = fs::read_to_string(&path).expect("the conversation can be read");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let mut process = Process::start(arguments);
    for pair in lines.chunks(2) {
        let (message, needed) = (&pair[0]["message"], &pair[1]["response"]);
        let mut answer = process.say(message.to_string().as_bytes());
        if message["kind"] == "evaluate" {
            let runs = message["input"]["min_runs"].as_u64().unwrap_or(1);
            assert_eq!(durations(&answer, "evaluate").len() as u64, runs, "{module}");
            answer.as_object_mut().expect("an answer is an object").remove("timings");
        }
        assert!(alike(&answer, needed), "to {message} the answer is\n{answer}, and not\n{needed}");
    }
    process.end();
}

#[test]
fn vectors_are_as_recorded() {
    for module in ["hello", "llsq", "lse", "det", "ode"] {
        replay(module, &[]);
    }
}

#[test]
fn models_are_as_recorded() {
    for module in ["kmeans", "gmm", "lstm", "ba", "ht"] {
        replay(module, &["--threads", "1"]);
    }
}

#[test]
fn descents_are_as_recorded() {
    for module in ["particle", "saddle"] {
        replay(module, &["--threads", "2"]);
    }
}

/// The error of an answer that reports one.
fn error(answer: &Value) -> &str {
    assert_eq!(answer["success"], false, "{answer}");
    assert!(answer.get("output").is_none(), "{answer}");
    answer["error"].as_str().expect("an error is a text")
}

/// The files for the repository of the suite name the problems that the process knows.
#[test]
fn every_problem_is_listed_for_the_suite() {
    let listed = fs::read_to_string(root().join("contrib/gradbench/evals.txt")).expect("the list can be read");
    let listed: Vec<&str> = listed.lines().collect();
    assert!(listed.len() == 12 && listed.is_sorted(), "{listed:?}");
    let mut process = Process::start(&[]);
    for (id, module) in listed.into_iter().enumerate() {
        let answer = process.say(json!({ "id": id, "kind": "define", "module": module }).to_string().as_bytes());
        assert_eq!(answer["success"], json!(true), "{module}: {answer}");
    }
    process.end();
}

#[test]
fn a_line_that_is_no_message_is_answered() {
    let mut process = Process::start(&[]);
    for line in [&b""[..], b"{", b"not json", b"[1, 2]", b"{\"id\": 7.5, \"kind\": \"start\"}", b"\xff\xfe", b"null"] {
        let answer = process.say(line);
        assert!(answer["id"].is_null(), "{answer}");
        assert!(error(&answer).starts_with("a message is an object with an integer `id` and a `kind`"), "{answer}");
    }
    // A number that can be read is repeated.
    for line in [&b"{\"id\": 3}"[..], b"{\"id\": 3, \"kind\": 1}", b"{\"id\": 3, \"kind\": \"define\", \"module\": []}"]
    {
        assert_eq!(process.say(line)["id"], 3);
    }
    assert_eq!(process.say(br#"{"id": 4, "kind": "anything else"}"#), json!({ "id": 4 }));
    assert_eq!(
        process.say(br#"{"kind": "start", "config": {"a": [1]}, "id": 5}"#),
        json!({ "id": 5, "tool": "polygrad" })
    );
    process.end();
}

#[test]
fn what_is_unknown_or_does_not_fit_is_refused() {
    let mut process = Process::start(&[]);
    let refused = |process: &mut Process, message: Value, words: &str| {
        let answer = process.say(message.to_string().as_bytes());
        assert_eq!(answer["id"], message["id"]);
        assert!(error(&answer).contains(words), "{answer}");
    };
    refused(&mut process, json!({ "id": 1, "kind": "define", "module": "nobody" }), "there is no module `nobody`");
    let evaluate = |module: &str, function: &str, input: Value| json!({ "id": 2, "kind": "evaluate", "module": module, "function": function, "input": input });
    refused(&mut process, evaluate("nobody", "primal", json!(1.0)), "there is no module `nobody`");
    refused(&mut process, evaluate("hello", "cube", json!(1.0)), "the module `hello` has no function `cube`");
    refused(
        &mut process,
        json!({ "id": 2, "kind": "evaluate", "module": "hello", "function": "square" }),
        "needs an `input`",
    );
    refused(&mut process, evaluate("hello", "square", json!("1")), "expected f64");
    refused(&mut process, evaluate("lse", "primal", json!({ "x": [1.0, null] })), "expected f64");
    refused(&mut process, evaluate("lse", "primal", json!({ "y": [1.0] })), "missing field `x`");
    refused(&mut process, evaluate("lse", "primal", json!({ "x": [] })), "at least one element");
    refused(
        &mut process,
        evaluate("det", "primal", json!({ "A": [1.0, 2.0], "ell": 2 })),
        "ell * ell, but they are 2 and 4",
    );
    let ragged = json!({ "points": [[1.0, 2.0], [3.0]], "centroids": [[1.0, 2.0]] });
    refused(&mut process, evaluate("kmeans", "cost", ragged), "rows need one length");
    // JSON has no word for what a number is divided by 0.
    let alone = json!({ "points": [[1.0]], "centroids": [[1.0], [2.0]] });
    refused(&mut process, evaluate("kmeans", "dir", alone), "finite numbers only");
    // After all that the process goes on.
    let answer = process.say(evaluate("hello", "square", json!(3)).to_string().as_bytes());
    assert_eq!(answer["output"], 9.0);
    process.end();
}

/// The input of the first evaluation that was recorded for a module.
fn recorded(module: &str) -> Value {
    let path = root().join(format!("tests/data/gradbench/{module}.jsonl"));
    let text = fs::read_to_string(path).expect("the conversation can be read");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    lines.find_map(|line| line["message"].get("input").cloned()).expect("something is evaluated")
}

/// One size of a good input changed: what then contradicts is named with both numbers.
#[test]
fn sizes_that_contradict_each_other_are_refused() {
    let mut process = Process::start(&[]);
    let row = |n: usize| vec![0.5; n];
    let rows = |m: usize, n: usize| vec![row(n); m];
    let cubes = |l: usize, m: usize, n: usize| vec![rows(m, n); l];
    let model = |name: &str| format!("/data/model/{name}");
    let cases: Vec<(&str, &str, String, Value, &str)> = vec![
        ("gmm", "objective", "/d".into(), json!(3), "`d` must be the width of `x`, but they are 3 and 2"),
        ("gmm", "jacobian", "/k".into(), json!(5), "`k` must be the length of `alpha`, but they are 5 and 2"),
        ("gmm", "objective", "/n".into(), json!(1), "`n` must be the number of samples `x`, but they are 1 and 3"),
        ("gmm", "objective", "/x".into(), json!(rows(3, 1)), "`d` must be the width of `x`, but they are 2 and 1"),
        (
            "gmm",
            "objective",
            "/mu".into(),
            json!(rows(1, 2)),
            "rows of `mu` must be the length of `alpha`, but they are 1 and 2",
        ),
        (
            "gmm",
            "objective",
            "/mu".into(),
            json!(rows(2, 1)),
            "the width of `mu` must be the width of `x`, but they are 1 and 2",
        ),
        (
            "gmm",
            "objective",
            "/q".into(),
            json!(rows(1, 2)),
            "rows of `q` must be the length of `alpha`, but they are 1 and 2",
        ),
        (
            "gmm",
            "objective",
            "/q".into(),
            json!(rows(2, 1)),
            "the width of `q` must be the width of `x`, but they are 1 and 2",
        ),
        ("gmm", "objective", "/l".into(), json!(rows(2, 3)), "with the width d of `x`, but they are 3 and 1"),
        (
            "gmm",
            "objective",
            "/l".into(),
            json!(rows(1, 1)),
            "rows of `l` must be the length of `alpha`, but they are 1 and 2",
        ),
        ("lstm", "objective", "/l".into(), json!(3), "rows of `state` must be twice `l`, but they are 2 and 6"),
        ("lstm", "objective", "/c".into(), json!(4), "characters of `sequence` must be `c`, but they are 3 and 4"),
        (
            "lstm",
            "objective",
            "/state".into(),
            json!(rows(4, 2)),
            "rows of `main_params` must be the number of rows of `state`, but they are 2 and 4",
        ),
        (
            "lstm",
            "objective",
            "/state".into(),
            json!(rows(3, 2)),
            "`state` must be even, two for each layer, but it is 3",
        ),
        (
            "lstm",
            "jacobian",
            "/main_params".into(),
            json!(rows(4, 4)),
            "rows of `main_params` must be the number of rows of `state`, but they are 4 and 2",
        ),
        (
            "lstm",
            "objective",
            "/main_params".into(),
            json!(rows(2, 4)),
            "4 times the width of `state`, but they are 4 and 8",
        ),
        (
            "lstm",
            "objective",
            "/extra_params".into(),
            json!(rows(2, 2)),
            "rows of `extra_params` must be 3, but they are 2 and 3",
        ),
        (
            "lstm",
            "objective",
            "/extra_params".into(),
            json!(rows(3, 1)),
            "of `extra_params` must be the width of `state`, but they are 1 and 2",
        ),
        (
            "lstm",
            "objective",
            "/sequence".into(),
            json!(rows(3, 1)),
            "of `sequence` must be the width of `state`, but they are 1 and 2",
        ),
        ("lstm", "objective", "/sequence".into(), json!(rows(1, 2)), "`sequence` must be at least 2, but it is 1"),
        (
            "kmeans",
            "cost",
            "/centroids".into(),
            json!(rows(2, 1)),
            "of `centroids` must be the width of `points`, but they are 1 and 2",
        ),
        (
            "kmeans",
            "dir",
            "/points".into(),
            json!(rows(4, 1)),
            "of `centroids` must be the width of `points`, but they are 2 and 1",
        ),
        ("ba", "objective", "/cam".into(), json!(row(10)), "the length of `cam` must be 11, but they are 10 and 11"),
        ("ba", "objective", "/x".into(), json!(row(1)), "the length of `x` must be 3, but they are 1 and 3"),
        ("ba", "jacobian", "/feat".into(), json!(row(1)), "the length of `feat` must be 2, but they are 1 and 2"),
        ("ba", "objective", "/n".into(), json!(0), "`n` must be at least 1, but it is 0"),
        ("ba", "objective", "/m".into(), json!(0), "`m` must be at least 1, but it is 0"),
        ("ba", "objective", "/p".into(), json!(9), "`p` must be at least 10, but it is 9"),
        ("ht", "objective", "/theta".into(), json!(row(5)), "the length of `theta` must be at least 6, but it is 5"),
        (
            "ht",
            "objective",
            "/us".into(),
            json!(rows(3, 2)),
            "the number of `us` must be the number of `points`, but they are 3 and 2",
        ),
        ("ht", "objective", "/data/correspondences".into(), json!([0, 7]), "`triangles`, but they are 7 and 2"),
        (
            "ht",
            "objective",
            "/data/correspondences".into(),
            json!([0]),
            "`correspondences` must be the number of `points`, but they are 1 and 2",
        ),
        (
            "ht",
            "jacobian",
            "/data/points".into(),
            json!(rows(2, 1)),
            "the width of `points` must be 3, but they are 1 and 3",
        ),
        (
            "ht",
            "objective",
            model("triangles/0/1"),
            json!(3),
            "below the number of `base_positions`, but they are 3 and 3",
        ),
        (
            "ht",
            "objective",
            model("triangles/0/1"),
            json!(-1),
            "below the number of `base_positions`, but they are -1 and 3",
        ),
        (
            "ht",
            "objective",
            model("bone_count"),
            json!(21),
            "`bone_count` must be the number of `parents`, but they are 21 and 22",
        ),
        (
            "ht",
            "objective",
            model("parents/3"),
            json!(3),
            "the parent of bone 3 must be from 0 on and below the number of bones before, but they are 3 and 3",
        ),
        ("ht", "objective", model("parents/3"), json!(-2), "but they are -2 and 3"),
        (
            "ht",
            "objective",
            model("base_relatives"),
            json!(cubes(1, 4, 4)),
            "of `base_relatives` must be the number of `parents`, but they are 1 and 22",
        ),
        (
            "ht",
            "objective",
            model("base_relatives"),
            json!(cubes(22, 3, 4)),
            "rows of one of `base_relatives` must be 4, but they are 3 and 4",
        ),
        (
            "ht",
            "objective",
            model("inverse_base_absolutes"),
            json!(cubes(22, 4, 1)),
            "one of `inverse_base_absolutes` must be 4, but they are 1 and 4",
        ),
        (
            "ht",
            "objective",
            model("base_positions"),
            json!(rows(3, 1)),
            "the width of `base_positions` must be 4, but they are 1 and 4",
        ),
        (
            "ht",
            "objective",
            model("weights"),
            json!(rows(1, 22)),
            "rows of `weights` must be the number of `base_positions`, but they are 1 and 3",
        ),
        (
            "ht",
            "objective",
            model("weights"),
            json!(rows(3, 1)),
            "of `weights` must be the number of `parents`, but they are 1 and 22",
        ),
        ("det", "primal", "/ell".into(), json!(2), "the length of `A` must be ell * ell, but they are 9 and 4"),
        ("det", "primal", "/ell".into(), json!(0), "`ell` must be at least 1, but it is 0"),
        ("ode", "primal", "/s".into(), json!(0), "`s` must be at least 1, but it is 0"),
        ("ode", "gradient", "/x".into(), json!([]), "the length of `x` must be at least 1, but it is 0"),
        ("llsq", "primal", "/n".into(), json!(1), "`n` must be at least 2, but it is 1"),
        ("llsq", "gradient", "/x".into(), json!([]), "the length of `x` must be at least 1, but it is 0"),
        ("saddle", "ff", "/start".into(), json!([]), "the length of `start` must be at least 1, but it is 0"),
    ];
    for (module, function, place, size, words) in cases {
        let mut input = recorded(module);
        match input.pointer_mut(&place) {
            Some(at) => *at = size,
            None => input[&place[1..]] = size,
        }
        let message = json!({ "id": 2, "kind": "evaluate", "module": module, "function": function, "input": input });
        let answer = process.say(message.to_string().as_bytes());
        assert!(error(&answer).contains(words), "{module} {place}: {answer} should say {words}");
    }
    // Vertices instead of triangles.
    let mut input = recorded("ht");
    (input["us"], input["data"]["correspondences"]) = (json!([]), json!([0, 3]));
    let message = json!({ "id": 2, "kind": "evaluate", "module": "ht", "function": "objective", "input": input });
    let answer = process.say(message.to_string().as_bytes());
    assert!(error(&answer).contains("below the number of `base_positions`, but they are 3 and 3"), "{answer}");
    process.end();
}

#[test]
fn there_are_no_more_threads_than_processors() {
    let output = Command::new(executable()).args(["--threads", "999999"]).stdin(Stdio::null()).output();
    let output = output.expect("the process starts");
    let most = std::thread::available_parallelism().expect("a machine has processors");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    assert!(words.contains("--threads 999999") && words.contains(&format!("processors for: {most};")), "{words}");
    let mut process = Process::start(&["--threads", "999999"]);
    process.say(br#"{"id": 1, "kind": "start"}"#);
    // The threads of the pool, the first one, and what the system adds.
    if let Ok(status) = fs::read_to_string(format!("/proc/{}/status", process.child.id())) {
        let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).expect("Linux says so");
        assert!(threads.trim().parse::<usize>().expect("a number") <= most.get() + 3, "{threads}");
    }
    process.end();
}

#[test]
fn a_program_is_recorded_once_for_each_shape() {
    let mut process = Process::start(&[]);
    let mut compiled = |x: Value| {
        let input = json!({ "x": x, "min_runs": 2, "min_seconds": 0 });
        let message = json!({ "id": 1, "kind": "evaluate", "module": "lse", "function": "gradient", "input": input });
        let answer = process.say(message.to_string().as_bytes());
        assert_eq!(durations(&answer, "evaluate").len(), 2);
        (answer["output"].clone(), [durations(&answer, "trace").len(), durations(&answer, "compile").len()])
    };
    let [(a, first), (b, second), (c, other)] =
        [json!([0.0, 0.0]), json!([0.0, 3f64.ln()]), json!([0.0])].map(&mut compiled);
    assert!(alike(&a, &json!([0.5, 0.5])) && alike(&b, &json!([0.25, 0.75])) && alike(&c, &json!([1.0])));
    assert_eq!([first, second, other], [[1, 1], [0, 0], [1, 1]]);
    process.end();
}

#[test]
fn other_arguments_are_refused() {
    for arguments in [&["--threads"][..], &["--threads", "0"], &["--threads", "two"], &["2"], &["--threads", "1", "2"]]
    {
        let output =
            Command::new(executable()).args(arguments).stdin(Stdio::null()).output().expect("the process starts");
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("--threads"));
    }
}
