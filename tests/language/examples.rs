//! The output of the examples is the text in the README. `make bless` writes it anew.

use std::fs;
use std::sync::{Mutex, PoisonError};

use crate::alike::alike;
use crate::root::root;

#[allow(dead_code)]
#[path = "../../examples/control.rs"]
mod control;
#[allow(dead_code)]
#[path = "../../examples/digits.rs"]
mod digits;
#[allow(dead_code)]
#[path = "../../examples/horde_ad/main.rs"]
mod horde_ad;
#[allow(dead_code)]
#[path = "../../examples/posteriors/main.rs"]
mod posteriors;
#[allow(dead_code)]
#[path = "../../examples/sampler.rs"]
mod sampler;
#[allow(dead_code)]
#[path = "../../examples/server.rs"]
mod server;
#[allow(dead_code)]
#[path = "../../examples/tour.rs"]
mod tour;
#[allow(dead_code)]
#[path = "../../examples/transformer.rs"]
mod transformer;

/// Tests run at once, and each may write a part of a page.
static PAGES: Mutex<()> = Mutex::new(());

/// Compares what an example prints with the block of a page that begins with the same line.
pub(crate) fn assert_printed_in(page: &str, report: &str, tolerance: f64) {
    let first = format!("{}\n", report.lines().next().unwrap_or_default());
    assert_block(page, "```text\n", &first, report, |a, b| alike(a, b, tolerance));
}

/// Compares a text with the block of a page that follows a marker: `<!-- marker -->`.
pub(crate) fn assert_marked_in(page: &str, marker: &str, report: &str) {
    assert_block(page, &format!("<!-- {marker} -->\n```text\n"), "", report, |a, b| a == b);
}

/// Compares a text with the block of a page that has these words before it and as its first line.
fn assert_block(page: &str, before: &str, first: &str, report: &str, same: impl Fn(&str, &str) -> bool) {
    let _guard = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join(page);
    let text = fs::read_to_string(&path).expect("the page can be read");
    let head = format!("{before}{first}");
    let start = text.find(&head).unwrap_or_else(|| panic!("{page} has no block that begins with {head}"));
    let start = start + before.len();
    let end = start + text[start..].find("```").expect("the block has an end");
    let printed = &text[start..end];
    if same(report, printed) {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_EXPECT").is_some(),
        "{page} is old: run `make bless`\n--- it says\n{printed}\n--- printed is\n{report}"
    );
    fs::write(&path, [&text[..start], report, &text[end..]].concat()).expect("the page can be written");
}

#[test]
fn the_tour_is_as_on_its_page() {
    assert_printed_in("docs/guide/readings.md", &tour::report().expect("a text can be written"), 1e-6);
}

#[test]
fn counts_beside_horde_ad_are_as_on_their_page() {
    assert_marked_in("docs/horde-ad.md", "horde-ad: counts", &horde_ad::counts::report());
}

#[test]
fn requests_are_answered_as_on_their_page() {
    let mut out = Vec::new();
    server::run(&mut out).expect("well-formed requests are answered");
    assert_printed_in("docs/examples/server.md", &String::from_utf8(out).expect("a report is text"), 1e-6);
}

/// Whoever serves first, answers are the same to the bit.
#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let pricer = server::pricer().expect("the book fits");
    let alone = server::answers(&pricer, 1, 600);
    assert_eq!((alone.len(), alone.iter().filter(|answer| answer.is_err()).count()), (600, 1));
    for threads in [2, 7] {
        assert_eq!(server::answers(&pricer, threads, 600), alone, "{threads} threads");
    }
}

#[test]
fn the_training_is_as_in_the_readme() {
    let mut out = Vec::new();
    digits::train(1, &mut out).expect("the network learns to read");
    assert_printed_in("docs/examples/digits.md", &String::from_utf8(out).expect("a report is text"), 0.02);
}

#[test]
fn the_ball_learns_and_the_samples_have_the_moments() {
    // Each checks its result and returns an error.
    control::train(50, &mut Vec::new()).expect("the loss falls");
    sampler::sample(150, &mut Vec::new()).expect("the moments are those of the distribution");
}

#[test]
fn the_transformer_learns() {
    let last = transformer::train(8, &mut Vec::new()).expect("a report can be written");
    assert!(last < 3.1, "the loss of a uniform guess is 3.4, and after 8 updates it is {last}");
}

#[test]
fn texts_are_told_apart() {
    assert!(alike("loss 1.892\n90.2 %", "loss 1.8921\n90.3 %", 0.02));
    assert!(!alike("loss 1.892", "loss 1.7", 0.02));
    assert!(!alike("loss 1.892", "cost 1.892", 0.02));
    assert!(!alike("[1.0 -2.0]", "[1.0 2.0]", 0.02));
    assert!(!alike("t1 = sin t0", "t1 = sin t0\nreturn t1", 0.02));
    assert!(!alike("t1 = x + y", "t1 = x", 0.02));
}

/// Models of a public collection have the gradients that finite differences show.
#[test]
fn posteriors_have_their_gradients() {
    let all = posteriors::checked();
    assert!(all.len() > 24);
    for posteriors::Report { name, parameters, error, from_stan, change_from_stan, .. } in all {
        assert!(error < 1e-7, "{name}, {parameters} parameters: {error:e}");
        // An equation is solved up to 1e-8; derivatives may be off by some 20 times that.
        let [far, changed] = if name == "lotka_volterra" { [2e-7, 1e-8] } else { [1e-11, 1e-13] };
        assert!(from_stan < far, "{name}, the gradient beside that of Stan: {from_stan:e}");
        assert!(change_from_stan < changed, "{name}, the log density beside that of Stan: {change_from_stan:e}");
    }
}
