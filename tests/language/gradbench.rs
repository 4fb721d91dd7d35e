//! The process of the example `gradbench`, by its lines: recorded conversations for each problem, whose results come from a
//! reference written by hand, and lines that are not as they should be.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

/// The example, as cargo compiles it for the tests; compiled now if only some tests are run.
fn executable() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let test = std::env::current_exe().expect("a test has a path");
        let folder = test.parent().and_then(Path::parent).expect("a test lies in `deps`");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--example", "gradbench", "--manifest-path"]);
        cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/gradbench/{module}.jsonl"));
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
    refused(&mut process, evaluate("det", "primal", json!({ "A": [1.0, 2.0], "ell": 2 })), "needs ell * ell numbers");
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
