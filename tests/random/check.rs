//! Asking a recipe every question, and making a recipe that fails small.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use polygrad::Array;
use polygrad::tree::TreeMath;

use crate::infinities;
use crate::pipelines::{Case, PIPELINES, Pipeline, Question, floats, kinds};
use crate::recipe::{Recipe, Step};
use crate::rounding;
use crate::unwritten;

/// How many recipes are tried to make one small.
const TRIES: usize = 4000;

/// What does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    question: Question,
    pipeline: &'static str,
    panicked: bool,
    what: String,
}

impl Failure {
    /// How results differ, or the words of a panic.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static COMPARED: Cell<u64> = const { Cell::new(0) };
}

/// How many answers this thread has compared with others.
pub(crate) fn compared() -> u64 {
    COMPARED.get()
}

/// The result, or the words of the panic, which are not printed.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    QUIET.set(outer);
    result.map_err(|words| {
        let fixed = words.downcast_ref::<&str>().map(|words| words.to_string());
        fixed.or_else(|| words.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

/// The largest finite absolute value, at least 1.
pub(crate) fn largest(arrays: &[Array]) -> f64 {
    arrays.iter().flat_map(floats).filter(|x| x.is_finite()).fold(1.0, |m, x| m.max(x.abs()))
}

/// What is asked of a result where the reference is infinite or NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    /// That it is infinite or NaN, too: products are regrouped, and that can make NaN of infinity.
    Also,
    /// The same, but where it is NaN a number will do, too: an infinity is multiplied with a sum.
    AlsoUnlessNan,
    /// Nothing there, but elsewhere it is a number.
    Any,
    /// Nothing there, and nothing where it is infinite or NaN itself.
    Ignored,
}

/// How results differ: in number, kind, or in elements by more than rounding.
fn differ(a: &[Array], b: &[Array], bound: f64, beyond: Beyond) -> Option<String> {
    if a.len() != b.len() {
        return Some(format!("{} and {} results", a.len(), b.len()));
    }
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        if (a.shape(), a.dtype()) != (b.shape(), b.dtype()) {
            return Some(format!("result {i}: {a:?} and {b:?}"));
        }
        for (k, (x, y)) in floats(a).into_iter().zip(floats(b)).enumerate() {
            let same = if x.is_finite() && y.is_finite() {
                (x - y).abs() <= bound
            } else {
                match beyond {
                    Beyond::Also => x.is_finite() == y.is_finite(),
                    Beyond::AlsoUnlessNan => x.is_nan() || x.is_finite() == y.is_finite(),
                    Beyond::Any => !x.is_finite(),
                    Beyond::Ignored => true,
                }
            };
            if !same {
                return Some(format!("result {i}, element {k}: {x:e} and {y:e}\n{a:?}\n{b:?}"));
            }
        }
    }
    None
}

/// Where it is known that nothing depends on a value, no cotangent is handed to it, elsewhere one of zeros; and zero
/// times infinity is NaN. So a derivative can be NaN in one pipeline and a number in another, even by the same
/// algorithm; but a program that is recorded never has one more. Values are the same.
fn beyond(case: &Case, pipeline: &Pipeline) -> Beyond {
    match (pipeline.same, pipeline.question) {
        (true, Question::Outputs | Question::Signs | Question::Value | Question::Primal) => Beyond::Also,
        (true, Question::Gradient | Question::Slope | Question::Curvature) => Beyond::Any,
        (true, Question::Bend | Question::Third | Question::Duality) => Beyond::Any,
        (false, _) if case.is_singular() => Beyond::Any,
        (false, _) => Beyond::Ignored,
    }
}

/// What the pipelines of a question are compared with.
fn reference_of(question: Question) -> &'static Pipeline {
    PIPELINES.iter().find(|p| p.question == question).expect("each question has a pipeline")
}

/// How much rounding of the inputs, or of sums and transforms, may change the reference, times a margin; nothing where even the sort of a number
/// changes. A program that amplifies rounding so much shows nothing.
fn sensitivity(case: &Case, question: Question, a: &[Array]) -> Option<f64> {
    let reference = reference_of(question);
    let step = if case.single() { 1e-6 } else { 1e-14 };
    let mut most: f64 = 0.0;
    let scaled = [1.0 - step, 1.0 + step].map(|by| quietly(|| (reference.run)(&case.scaled(by))));
    let noisy = rounding::NOISES.map(|noise| quietly(|| rounding::with_noise(noise, || (reference.run)(case))));
    for b in scaled.into_iter().chain(noisy) {
        let b = b.ok()?;
        if b.len() != a.len() || differ(a, &b, f64::INFINITY, Beyond::Also).is_some() {
            return None;
        }
        let pairs = a.iter().flat_map(floats).zip(b.iter().flat_map(floats));
        most = pairs.map(|(x, y)| (x - y).abs()).filter(|d| d.is_finite()).fold(most, f64::max);
    }
    Some(50.0 * most)
}

/// The answer of a pipeline compared with the reference; `size` is that of what the answers are made of.
fn compare(case: &Case, pipeline: &Pipeline, reference: &Result<Vec<Array>, String>, size: f64) -> Option<Failure> {
    if !case.recipe.tame && !pipeline.same && !across_modes(case, pipeline.question) {
        return None;
    }
    judged(case, pipeline, reference, quietly(|| (pipeline.run)(case)), size)
}

/// Whether the loss is finite. Where it is not, there is no derivative: of a zero factor beside an infinite one, running,
/// which guards all products, makes 0, and a recorded program NaN.
fn has_value(case: &Case) -> bool {
    let value = quietly(|| (reference_of(Question::Value).run)(case));
    value.is_ok_and(|value| value.iter().flat_map(floats).all(f64::is_finite))
}

/// Whether derivatives of every mode are compared, though numbers are not tame: at singular and degenerate points, where
/// the program computes finite numbers alone, modes agree.
fn across_modes(case: &Case, question: Question) -> bool {
    let asked = matches!(question, Question::Gradient | Question::Slope | Question::Curvature | Question::Bend);
    asked && case.is_singular()
}

/// An answer, as a pipeline gives it, compared with the reference.
pub(crate) fn judged(
    case: &Case,
    pipeline: &Pipeline,
    reference: &Result<Vec<Array>, String>,
    answer: Result<Vec<Array>, String>,
    size: f64,
) -> Option<Failure> {
    let failure = |panicked: bool, what: String| {
        Some(Failure { question: pipeline.question, pipeline: pipeline.name, panicked, what })
    };
    let one_mode = pipeline.same && pipeline.question.order() < 2;
    let nested = across_modes(case, pipeline.question) && !one_mode;
    COMPARED.set(COMPARED.get() + 1);
    match (reference, answer) {
        (_, Err(words)) => failure(true, format!("panics: {words}")),
        (Err(_), Ok(_)) => None,
        (Ok(a), Ok(b)) => {
            let precision = match (case.recipe.tame, case.single()) {
                (true, false) => 1e-9,
                (true, true) => 2e-4,
                // Next to where an operation is infinite, rounding is all there is.
                (false, _) => 5e-2,
            };
            // Next to 0 there is rounding; zeros differ in sign alone.
            let signs = pipeline.question == Question::Signs;
            let bound = if signs { 1.5 } else { precision * size.max(largest(a)).max(largest(&b)) };
            let mut beyond = beyond(case, pipeline);
            if signs
                && differ(a, &b, bound, beyond).is_some()
                && unwritten::are_in_bodies(&case.recipe)
                && let Ok(other) =
                    quietly(|| unwritten::with_minus_zeros(|| (reference_of(pipeline.question).run)(case)))
                && differ(&unwritten::nearest(a, &other, &b), &b, bound, beyond).is_none()
            {
                return None;
            }
            // Whether the exceptions hold is asked only where it would matter.
            if !case.recipe.tame && differ(a, &b, bound, beyond).is_some() {
                let seen = infinities::seen_in(|| (reference_of(pipeline.question).run)(case));
                let discarded = seen.undefined && case.recipe.any(|step| matches!(step, Step::Loop(_)));
                let order = pipeline.question.order();
                let lost = seen.returned || seen.tiny || discarded || !has_value(case);
                let derived = (order > 0 && lost) || (order > 1 && seen.kink);
                if seen.integer || seen.divided || (seen.multiplied && seen.decided) || derived {
                    return None;
                }
                if beyond == Beyond::Also && seen.multiplied {
                    beyond = Beyond::AlsoUnlessNan;
                }
            }
            // A derivative that is finite in one order of nesting alone is no rounding.
            let finite = |arrays: &[Array]| arrays.iter().flat_map(floats).all(f64::is_finite);
            differ(a, &b, bound, beyond)
                .filter(|_| {
                    if nested && case.has_pole() {
                        return false;
                    }
                    if nested && finite(a) && !finite(&b) {
                        return true;
                    }
                    let unstable = sensitivity(case, pipeline.question, a);
                    unstable.is_some_and(|change| differ(a, &b, bound.max(change), beyond).is_some())
                })
                .and_then(|what| failure(false, what))
        }
    }
}

/// The derivative of `f` at 0 by differences over two steps and their extrapolation, if the two are close, and
/// those to either side are: at a kink they are not.
fn difference(f: impl Fn(f64) -> f64, size: f64) -> Option<f64> {
    let central = |h: f64| (f(h) - f(-h)) / (2.0 * h);
    let (wide, narrow) = (central(2e-4), central(1e-4));
    let (up, down) = (f(1e-4) - f(0.0), f(0.0) - f(-1e-4));
    let smooth = (wide - narrow).abs() <= 1e-5 * size && (up - down).abs() <= 1e-6 * size;
    smooth.then(|| (4.0 * narrow - wide) / 3.0)
}

/// What fails, of all pipelines or of those that a filter lets pass; and whether finite differences settled.
pub(crate) fn failure(
    recipe: &Recipe,
    pipelines: &[Pipeline],
    only: &dyn Fn(&Pipeline) -> bool,
) -> (Option<Failure>, bool) {
    let case = Case::new(recipe.clone());
    let mut settled = false;
    let mut size: f64 = 1.0;
    let mut k = 0;
    while k < pipelines.len() {
        let question = pipelines[k].question;
        let others = pipelines[k..].iter().take_while(|p| p.question == question).count();
        let asked = &pipelines[k..k + others];
        k += others;
        if !asked.iter().any(only) {
            continue;
        }
        let reference = quietly(|| (asked[0].run)(&case));
        if let Ok(a) = &reference {
            size = size.max(largest(a));
        }
        for pipeline in asked.iter().filter(|p| only(p)) {
            let found = match &reference {
                Err(words) if pipeline.name == asked[0].name => {
                    let what = format!("panics: {words}");
                    Some(Failure { question, pipeline: pipeline.name, panicked: true, what })
                }
                _ => compare(&case, pipeline, &reference, size),
            };
            if found.is_some() {
                return (found, settled);
            }
        }
        if let (Question::Slope, Ok(slope)) = (question, &reference) {
            match limit(&case, floats(&slope[0])[0], size) {
                Ok(yes) => settled = yes,
                Err(what) => {
                    let pipeline = "finite differences";
                    return (Some(Failure { question, pipeline, panicked: false, what }), false);
                }
            }
        }
    }
    (None, settled)
}

/// Whether finite differences settle; an error if they do on another number.
fn limit(case: &Case, slope: f64, size: f64) -> Result<bool, String> {
    if !case.smooth() || !slope.is_finite() {
        return Ok(false);
    }
    let at = |h: f64| case.value(&case.x.add_scaled(h, &case.v));
    match difference(at, size) {
        Some(d) if (d - slope).abs() > 1e-4 * size => Err(format!("{slope:e} and {d:e}")),
        Some(_) => Ok(true),
        None => Ok(false),
    }
}

/// The smallest recipe found that fails as this one does.
pub(crate) fn shrunk(recipe: &Recipe, pipelines: &[Pipeline], first: Failure) -> (Recipe, Failure) {
    let (mut best, mut known) = (recipe.clone(), first);
    let mut tries = 0;
    loop {
        let smaller = best.smaller().into_iter().find_map(|candidate| {
            tries += 1;
            if tries > TRIES {
                return None;
            }
            let only = |p: &Pipeline| {
                p.name == known.pipeline && p.question == known.question
                    || p.question == Question::Slope && known.pipeline == "finite differences"
            };
            let (found, _) = failure(&candidate, pipelines, &only);
            let found = found.filter(|f| (f.pipeline, f.panicked) == (known.pipeline, known.panicked))?;
            Some((candidate, found))
        });
        match smaller {
            Some((recipe, failure)) => (best, known) = (recipe, failure),
            None => return (best, known),
        }
    }
}

/// The failure in words, with the recipe to paste.
pub(crate) fn report(recipe: &Recipe, pipelines: &[Pipeline], failure: &Failure) -> String {
    let reference = pipelines.iter().find(|p| p.question == failure.question).map_or("", |p| p.name);
    let program = quietly(|| Case::new(recipe.clone()).program().to_string()).unwrap_or_else(|words| words);
    format!(
        "{:?}: `{reference}` and `{}` differ: {}\n\nthe loss as a program:\n{program}\n\npaste into tests/random/regressions.rs:\n\n{recipe}\n",
        failure.question, failure.pipeline, failure.what
    )
}

/// Panics with the smallest recipe that fails like this one, if it fails.
#[track_caller]
pub(crate) fn assert_agree(recipe: &Recipe) -> bool {
    assert_agree_about(recipe, &|_| true)
}

/// Panics with the smallest recipe that fails like this one, if it fails in one of these pipelines.
#[track_caller]
pub(crate) fn assert_agree_about(recipe: &Recipe, only: &dyn Fn(&Pipeline) -> bool) -> bool {
    match failure(recipe, PIPELINES, only) {
        (None, settled) => settled,
        (Some(first), _) => {
            let (recipe, failure) = shrunk(recipe, PIPELINES, first);
            panic!("{}", report(&recipe, PIPELINES, &failure));
        }
    }
}

/// Whether shapes and element types known beforehand are those of the results.
pub(crate) fn has_expected_kinds(recipe: &Recipe) -> bool {
    let case = Case::new(recipe.clone());
    let results = (PIPELINES[0].run)(&case);
    let found: Vec<_> = results.iter().map(|a| (a.shape().to_vec(), a.dtype())).collect();
    found == kinds(&case)
}

/// Whether finite differences settle on the derivative.
pub(crate) fn settles(recipe: &Recipe) -> bool {
    let case = Case::new(recipe.clone());
    let slope = PIPELINES.iter().find(|p| p.question == Question::Slope).expect("some");
    matches!(limit(&case, floats(&(slope.run)(&case)[0])[0], 1.0), Ok(true))
}
