//! The messages of the protocol, and their answers.
//!
//! Law: every line has an answer, of one line, which repeats the number of the message if there is one to read. Nothing that a
//! line says ends the process: a fault is the answer, also a panic of the library.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::problems::{Problem, problem};
use crate::runs::Runs;

/// A message.
#[derive(Deserialize)]
struct Message<'a> {
    id: i64,
    kind: String,
    #[serde(default)]
    module: String,
    #[serde(default)]
    function: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// What can be read of a message that is not as it should be.
#[derive(Deserialize)]
struct Numbered {
    id: i64,
}

/// An answer.
#[derive(Serialize, Default)]
struct Answer {
    id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    timings: Vec<Timing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// How long something took.
#[derive(Serialize)]
pub(crate) struct Timing {
    name: &'static str,
    nanoseconds: u64,
}

impl Timing {
    pub(crate) fn new(name: &'static str, took: Duration) -> Timing {
        Timing { name, nanoseconds: took.as_nanos().try_into().unwrap_or(u64::MAX) }
    }
}

/// The output of a function, and how long it took.
pub(crate) type Evaluated = (Box<RawValue>, Vec<Timing>);

/// The problems that were asked for so far, with their recorded functions.
pub(crate) struct Tool {
    problems: Vec<(String, Box<dyn Problem>)>,
}

impl Tool {
    pub(crate) fn new() -> Tool {
        Tool { problems: Vec::new() }
    }

    /// The answer to a line, without its end.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Vec<u8> {
        let answer = match serde_json::from_slice::<Message<'_>>(line) {
            Ok(message) => self.reply(&message),
            Err(fault) => Answer {
                id: serde_json::from_slice::<Numbered>(line).ok().map(|message| message.id),
                success: Some(false),
                error: Some(format!(
                    "a message is an object with an integer `id` and a `kind`, but this line is not: {fault}"
                )),
                ..Answer::default()
            },
        };
        serde_json::to_vec(&answer)
            .unwrap_or_else(|fault| format!(r#"{{"id":null,"error":{:?}}}"#, fault.to_string()).into())
    }

    fn reply(&mut self, message: &Message<'_>) -> Answer {
        let mut answer = Answer { id: Some(message.id), ..Answer::default() };
        let outcome = match message.kind.as_str() {
            "start" => {
                answer.tool = Some("polygrad");
                return answer;
            }
            "define" => self.module(&message.module).map(|_| None),
            "evaluate" => caught(|| self.evaluate(message)).map(Some),
            _ => return answer,
        };
        answer.success = Some(outcome.is_ok());
        match outcome {
            Ok(Some((output, timings))) => (answer.output, answer.timings) = (Some(output), timings),
            Ok(None) => {}
            Err(fault) => answer.error = Some(fault),
        }
        answer
    }

    fn module(&mut self, name: &str) -> Result<&dyn Problem, String> {
        let place = match self.problems.iter().position(|(known, _)| known == name) {
            Some(place) => place,
            None => {
                let new = problem(name).ok_or_else(|| format!("there is no module `{name}`"))?;
                self.problems.push((name.to_owned(), new));
                self.problems.len() - 1
            }
        };
        Ok(&*self.problems[place].1)
    }

    fn evaluate(&mut self, message: &Message<'_>) -> Result<Evaluated, String> {
        let module = self.module(&message.module)?;
        let input = message.input.ok_or("a message of kind `evaluate` needs an `input`")?;
        let runs = Runs::of(input).map_err(|fault| fault.to_string())?;
        let Some(prepared) = module.prepare(&message.function, input) else {
            return Err(format!("the module `{}` has no function `{}`", message.module, message.function));
        };
        let (mut ready, mut timings) = prepared.map_err(|fault| fault.to_string())?;
        runs.time(&mut *ready, &mut timings);
        Ok((ready.output().map_err(|fault| fault.to_string())?, timings))
    }
}

/// The outcome of a call, or what it panics with.
fn caught<Y>(call: impl FnOnce() -> Result<Y, String>) -> Result<Y, String> {
    // What a panic leaves behind in this process are recorded functions, which are whole: one is kept when it is finished.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(text.unwrap_or_else(|| "the function panicked".to_owned()))
    })
}
