//! Every message the library can raise, and that each points to the user's line.
//!
//! The messages stand in `tests/errors/errors.txt`, each under the code it points to: `make bless` writes that file
//! anew, and the difference is what a reviewer reads. Laws: a message points to the user's own call; a mistake is
//! reported in the same words at the same place in every interpreter, that is, inside a derivative too; messages
//! keep one grammar; a message without a case here is a failure.

use std::cell::RefCell;
use std::fs;

use polygrad::direct::{grad, jvp};
use polygrad::interpreters::Ast;
use polygrad::program::Term;
use polygrad::{ADVal, BaseTensor, Concrete, DType, Dual, Shapes, Tensor, tensor};

use any::{Any, Level};

/// The interpreters in which mistakes are reported alike. At [`Any`] the mistakes are compiled once for all.
macro_rules! interpreters {
    ($levels:ident) => {
        $levels! {
            C = Concrete;
            A = ADVal<Concrete>;
            D = Dual<Concrete>;
            AA = ADVal<ADVal<Concrete>>;
            S = Shapes;
            T = Term;
        }
    };
}
pub(crate) use interpreters;

#[path = "../gallery/any.rs"]
mod any;
#[path = "../support/blind.rs"]
mod blind;
mod checked;
mod composed;
mod data;
mod direct;
mod emission;
mod enclosure;
#[path = "../support/formats.rs"]
mod formats;
mod higher;
mod import;
mod language;
mod layers;
mod log;
mod optim;
mod page;
#[path = "../support/panics.rs"]
mod panics;
#[path = "../support/plain.rs"]
mod plain;
mod programs;
mod refused;
#[path = "../support/root.rs"]
mod root;
#[path = "../support/saved_files.rs"]
mod saved_files;
mod sized;
mod sizes;
mod staged;
mod surface;
mod taylor;
#[path = "../support/wrapped.rs"]
mod wrapped;

/// What [`any`] needs of the gallery.
mod gallery {
    pub(crate) struct Leaves<T>(pub(crate) Vec<T>);
}

use formats::{comes_from, literals, sources};
use log::{Entry, Log};
use root::root;

/// The mistakes of a program that can be seen without running it, at one interpreter.
fn static_mistakes<T: BaseTensor>(x: &Tensor<T, 2>) -> Log {
    let mut log = Log::default();
    surface::surface(x, &mut log);
    composed::composed(x, &mut log);
    layers::layers(x, &mut log);
    language::language(x.raw(), &mut log);
    sizes::sizes(x, &mut log);
    log
}

/// All mistakes of a program, at one interpreter.
fn mistakes<T: BaseTensor>(x: &Tensor<T, 2>) -> Log {
    let mut log = static_mistakes(x);
    surface::trips(x, &mut log);
    language::language_trips(x.raw(), &mut log);
    log
}

fn matrix() -> Tensor<Concrete, 2> {
    tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

/// Every message there is.
fn everything() -> Log {
    let mut log = Log(at(mistakes, &matrix()));
    data::data(&mut log);
    data::plugins(&mut log);
    optim::optimizers(&mut log);
    optim::manifolds(&mut log);
    direct::semirings(&mut log);
    layers::drawn(&mut log);
    direct::verbs(&mut log);
    staged::verbs(&mut log);
    taylor::verbs(&mut log);
    enclosure::verbs(&mut log);
    enclosure::proofs(&mut log);
    programs::programs(&mut log);
    programs::exports(&mut log);
    import::imports(&mut log);
    emission::sources(&mut log);
    emission::certificates(&mut log);
    higher::programs(&mut log);
    sized::sized(&mut log);
    sizes::memory(&mut log);
    log
}

#[test]
fn messages_are_as_recorded() {
    let (path, text) = (root().join("tests/errors/errors.txt"), everything().text());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.split("\n\n").zip(recorded.split("\n\n")) {
        assert_eq!(now, then, "a message has changed: if it should, run `make bless` and read the difference");
    }
    assert_eq!(text.len(), recorded.len(), "messages have come or gone: run `make bless` and read the difference");
}

/// The mistakes at an interpreter.
fn at<L: Level>(mistakes: fn(&Tensor<Any, 2>) -> Log, x: &Tensor<L, 2>) -> Vec<Entry> {
    let mut log = Log::default();
    let run = |mut x: Vec<Any>| {
        log = mistakes(&Tensor::from_raw(x.remove(0)));
        Vec::new()
    };
    any::lists_at(run, std::slice::from_ref(x.raw()));
    log.0
}

/// The log of a program's mistakes, made somewhere inside derivatives.
fn inside(run: impl FnOnce(&RefCell<Vec<Entry>>)) -> Vec<Entry> {
    let log = RefCell::default();
    run(&log);
    log.into_inner()
}

#[test]
fn mistakes_are_reported_alike_in_every_interpreter() {
    let x = matrix();
    let plain = at(mistakes, &x);
    let reverse = inside(|log| {
        let f = |x: &Tensor<ADVal<Concrete>, 2>| {
            log.replace(at(mistakes, x));
            x.sum()
        };
        grad(f, &x);
    });
    let forward = inside(|log| {
        let f = |x: &Tensor<Dual<Concrete>, 2>| {
            log.replace(at(mistakes, x));
            x.sum()
        };
        jvp(f, &x, &x);
    });
    let twice = inside(|log| {
        let f = |x: &Tensor<ADVal<ADVal<Concrete>>, 2>| {
            log.replace(at(mistakes, x));
            x.square().sum()
        };
        grad(|x: &Tensor<ADVal<Concrete>, 2>| grad(f, x).sum(), &x);
    });
    for (name, log) in [("ADVal", reverse), ("Dual", forward), ("ADVal<ADVal>", twice)] {
        assert_eq!(log.len(), plain.len());
        for (here, there) in log.iter().zip(&plain) {
            assert_eq!(here, there, "in {name}");
        }
    }
}

#[test]
fn mistakes_are_reported_alike_where_nothing_runs() {
    let plain = at(static_mistakes, &matrix());
    let shapes = at(static_mistakes, &Tensor::<Shapes, 2>::zeros([2, 3]));
    let traced = at(static_mistakes, &Tensor::from_raw(Term::variable(&[2, 3], DType::F64)));
    let staged = inside(|log| {
        let f = |x: &Tensor<Ast, 2>| {
            log.replace(at(static_mistakes, x));
            x.sum()
        };
        polygrad::grad(f, &matrix());
    });
    for (name, log) in [("Shapes", shapes), ("Ast", traced), ("ADVal<Ast>", staged)] {
        assert_eq!(log.len(), plain.len());
        for (here, there) in log.iter().zip(&plain) {
            assert_eq!(here, there, "in {name}");
        }
    }
}

#[test]
fn messages_keep_one_grammar() {
    for Entry { message, file, line, .. } in everything().0 {
        let Some([op, requirement, fact, way_out]) = log::parts(&message) else {
            panic!("case at {file}:{line}: not `<op>: <requirement>, but <fact>; <way out>`: {message}");
        };
        assert!(!op.contains(' ') && op == op.to_lowercase(), "not an operation: {message}");
        assert!([requirement, fact, way_out].iter().all(|part| !part.is_empty()), "a part is empty: {message}");
        assert!(!message.ends_with('.') && !message.contains("  "), "not one phrase: {message}");
    }
}

#[test]
fn every_message_of_the_sources_has_a_case() {
    let (log, mut files) = (everything(), Vec::new());
    sources(root().join("src"), &mut files);
    sources(root().join("interpreters"), &mut files);
    sources(root().join("higher/src"), &mut files);
    let mut found = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("the file can be read");
        for literal in literals(&text).into_iter().filter(|l| l.contains(", but ")) {
            found += 1;
            let raised = log.0.iter().any(|entry| comes_from(&entry.message, &literal));
            assert!(raised, "{}: no case in tests/errors raises this message: {literal}", file.display());
        }
    }
    assert!(found > 60, "only {found} messages were found");
}

/// Every error type of the sources prints its words as `Debug`, too.
#[test]
fn every_error_prints_its_words() {
    let (mut files, mut seen) = (Vec::new(), 0);
    sources(root().join("src"), &mut files);
    sources(root().join("interpreters"), &mut files);
    sources(root().join("higher/src"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).expect("the file can be read");
        let lines: Vec<&str> = text.lines().collect();
        let derived = |k: &usize| {
            let list = lines[*k].strip_prefix("#[derive(").and_then(|list| list.strip_suffix(")]"));
            list.is_some_and(|list| list.split(", ").any(|name| name == "Error" || name == "thiserror::Error"))
        };
        let item = |k: usize| lines[k..].iter().find_map(|line| line.strip_prefix("pub ")).expect("an error type");
        let by_derive = (0..lines.len()).filter(derived).map(|k| item(k).split_whitespace().nth(1).expect("a name"));
        let by_hand = lines.iter().filter_map(|line| line.strip_prefix("impl std::error::Error for "));
        for name in by_derive.chain(by_hand.map(|rest| rest.split(' ').next().expect("a name"))) {
            seen += 1;
            assert!(text.contains(&format!("debug_by_display!({name});")), "{}: {name}", file.display());
        }
    }
    assert!(seen > 15, "only {seen} error types were found");
}
