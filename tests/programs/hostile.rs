//! Files made to cost much more than they are long: bodies that share bodies, equal bodies written twice, loops nested deep,
//! arrays of many axes, sizes and counts of all kinds.
//!
//! Law: to load, print, save, measure, optimize, compile and export a file takes work in proportion to its length, or the file
//! is refused in words. Work is what is allocated, which a run repeats exactly; no time is measured.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polygrad::backend::compile;
use polygrad::ops::{Linear, View};
use polygrad::passes::{optimize, simplify, vectorize};
use polygrad::program::{Builder, Op, Program, Slot, Term, interpret};
use polygrad::shape::MAX_RANK;
use polygrad::{Array, BaseTensor, Concrete, DType, SizedModel};
use serde_json::{Value, json};

use crate::compiled::bytes_of;
use crate::saved_files::{file, model, node, number, output, program, sharing, sine, trips};

fn loaded(file: &Value) -> Result<Program, String> {
    serde_json::from_value(file.clone()).map_err(|e| e.to_string())
}

// ---- making files ----

/// The same, with each program written twice, of which each runs both of the level before.
fn twins(levels: usize) -> Value {
    let mut programs = vec![sine(), sine()];
    for below in 0..levels {
        for _ in 0..2 {
            let operations = vec![trips(2 * below, 1, &[0]), output(1, 0), trips(2 * below + 1, 1, &[2]), output(3, 0)];
            programs.push(program(vec![number("")], operations, &[4]));
        }
    }
    file(programs)
}

/// Two loops for each level, of which each has a body that differs in a constant, and both run the same body.
fn halves(levels: usize) -> Value {
    let mut programs = vec![sine()];
    let mut below = 0;
    for level in 0..levels {
        for half in 0..2 {
            let c = json!({"constant": {"dtype": "f64", "shape": [], "elements": {"every": format!("{}", level * 2 + half)}}});
            let operations = vec![trips(below, 2, &[0]), output(1, 0), node(c), node(json!({"binary": ["add", 2, 3]}))];
            programs.push(program(vec![number("")], operations, &[4]));
        }
        let (a, b) = (programs.len() - 2, programs.len() - 1);
        let operations = vec![trips(a, 1, &[0]), output(1, 0), trips(b, 1, &[2]), output(3, 0)];
        programs.push(program(vec![number("")], operations, &[4]));
        below = programs.len() - 1;
    }
    file(programs)
}

/// One loop in another; each hands its carries round, so that what one of them needs, another needs a trip before.
fn deep(levels: usize) -> Value {
    const CARRIES: usize = 3;
    let inputs = || vec![number(""); CARRIES];
    let mut programs = vec![program(inputs(), vec![node(json!({"unary": ["sin", 0]}))], &[1, 2, 3])];
    for below in 0..levels {
        let operations = vec![trips(below, 2, &[0, 1, 2]), output(3, 0), output(3, 1), output(3, 2)];
        programs.push(program(inputs(), operations, &[5, 6, 4]));
    }
    file(programs)
}

/// Many loops, side by side, of one body.
fn wide(count: usize) -> Value {
    let mut operations = Vec::new();
    for k in 0..count {
        operations.push(trips(0, 2, &[2 * k]));
        operations.push(output(2 * k + 1, 0));
    }
    file(vec![sine(), program(vec![number("x")], operations, &[2 * count])])
}

/// Many inputs with one name, and one operation of all.
fn namesakes(count: usize) -> Value {
    let x = json!({"name": "x", "dtype": "f64", "shape": [1]});
    let one = |op: Value| json!({"op": op, "dtype": "f64", "shape": [1]});
    let mut operations: Vec<Value> = (0..count).map(|k| one(json!({"unary": ["sin", k]}))).collect();
    let parts: Vec<usize> = (count..2 * count).collect();
    operations.push(json!({"op": {"concat": [0, parts]}, "dtype": "f64", "shape": [count]}));
    file(vec![program(vec![x; count], operations, &[2 * count])])
}

/// A function of the host with many results.
fn results(count: usize) -> Value {
    let kinds = vec![json!([[], "f64"]); count];
    let call = json!({"external": {"name": "f", "takes": [], "returns": kinds, "each": [], "of": []}});
    let operations: Vec<Value> = std::iter::once(node(call)).chain((0..count).map(|k| output(0, k))).collect();
    file(vec![program(vec![], operations, &(1..=count).collect::<Vec<usize>>())])
}

/// Constants that differ in one place, and bodies that differ in one name.
fn alike(count: usize) -> Value {
    let constant = |k: usize| {
        let elements: Vec<&str> = (0..40).map(|i| if i == k % 40 { "2" } else { "1" }).collect();
        json!({"op": {"constant": {"dtype": "f64", "shape": [40], "elements": {"each": elements.join(" ")}}}, "dtype": "f64", "shape": [40]})
    };
    let mut programs: Vec<Value> =
        (0..count).map(|k| program(vec![], vec![constant(k), constant(k / 40)], &[0, 1])).collect();
    for k in 0..count {
        programs.push(sine());
        programs[count + k]["outputs"][0]["name"] = json!(format!("y{k}"));
    }
    programs.push(sine());
    file(programs)
}

/// Operations on arrays of many axes.
fn axes(rank: usize) -> Value {
    let shape = vec![1; rank];
    let x = json!({"name": "x", "dtype": "f64", "shape": shape});
    let nothing = json!({"nothing": {"source": shape, "shape": shape}});
    let one = |op: Value| json!({"op": op, "dtype": "f64", "shape": shape});
    let bounds = vec![json!([0, 1]); rank];
    let at = |k: usize| json!({"at": {"source": shape, "shape": shape, "matrix": vec![0; rank * rank], "offset": vec![k; rank], "bounds": bounds}});
    let mut operations = vec![
        one(json!({"affine": {"from": nothing, "into": nothing, "of": 0}})),
        one(json!({"unary": ["sin", 1]})),
        one(json!({"affine": {"from": at(0), "into": nothing, "of": 2}})),
        one(json!({"contract": {"a": nothing, "b": at(0), "out": at(0), "of": [0, 3]}})),
        one(json!({"binary": ["add", 4, 0]})),
        one(json!({"reduce": [{"max": rank - 1}, 5]})),
    ];
    operations[5]["shape"] = json!(shape[1..]);
    file(vec![program(vec![x], operations, &[5, 6])])
}

// ---- what they cost ----

/// The bytes that everything but a run allocates.
fn work(file: &Value) -> (usize, usize) {
    let length = file.to_string().len();
    let bytes = bytes_of(|| {
        let program = loaded(file).expect("it is well formed");
        assert_eq!(loaded(&serde_json::to_value(&program).expect("it can be saved")), Ok(program.clone()));
        let text = program.to_string();
        assert!(text.len() < 100 * length, "{} bytes of text for {length}", text.len());
        assert!(program.size() < length && format!("{program:#}").len() < 100 * length);
        program.externals();
        let ready = optimize(&program);
        assert!(ready.size() <= 40 * length, "{} operations of {length} bytes", ready.size());
        for program in [&program, &ready] {
            let plan = compile(program).explain();
            assert!(plan.len() < 1000 * length + (1 << 22), "{} bytes of plan for {length}", plan.len());
        }
    });
    (length, bytes)
}

/// The work for a file, and for one that is about twice as long.
#[track_caller]
fn assert_linear(name: &str, make: impl Fn(usize) -> Value, n: usize) {
    let [(short, less), (long, more)] = [n, 2 * n].map(|n| work(&make(n)));
    let (lengths, works) = (long as f64 / short as f64, more as f64 / less as f64);
    assert!(
        works < 1.6 * lengths,
        "{name}: {lengths} times the length takes {works} times the work, {less} and {more}"
    );
}

#[test]
fn work_is_linear_in_the_file() {
    assert_linear("sharing", |n| sharing(n, false), 40);
    assert_linear("functions", |n| sharing(n, true), 40);
    assert_linear("twins", twins, 40);
    assert_linear("halves", halves, 20);
    assert_linear("wide", wide, 100);
    assert_linear("namesakes", namesakes, 200);
    assert_linear("results", results, 200);
    assert_linear("alike", alike, 100);
    assert_linear("deep", deep, 8);
}

#[test]
fn the_deepest_file_that_loads_is_optimized_and_compiled() {
    let (length, bytes) = work(&deep(100));
    assert!(bytes < 40_000 * length, "{bytes} bytes for {length}");
    let (length, bytes) = work(&sharing(120, false));
    assert!(bytes < 20_000 * length, "{bytes} bytes for {length}");
    for file in [deep(200), sharing(200, false), sharing(200, true), twins(200)] {
        assert!(loaded(&file).is_err_and(|e| e.contains("nest deeper than 128")));
    }
}

#[test]
fn ranks_are_limited_in_words() {
    let (length, bytes) = work(&axes(MAX_RANK - 1));
    assert!(bytes < 4000 * length, "{bytes} bytes for {length}");
    for rank in [MAX_RANK + 1, 200] {
        let mut error = String::new();
        let file = axes(rank);
        let bytes = bytes_of(|| error = loaded(&file).expect_err("too many axes"));
        assert!(error.contains(&format!("at most {MAX_RANK} axes, but there would be {rank}")), "{error}");
        assert!(error.len() < 400 && bytes < 100 * file.to_string().len(), "{bytes}: {error}");
    }
    // The views of a short file: their matrices are not made.
    let long = vec![1; 5000];
    let nothing = json!({"nothing": {"source": long, "shape": long}});
    let op = json!({"affine": {"from": nothing, "into": nothing, "of": 0}});
    let file = file(vec![program(vec![number("x")], vec![node(op)], &[1])]);
    let bytes = bytes_of(|| assert!(loaded(&file).is_err()));
    assert!(bytes < 100 * file.to_string().len(), "{bytes}");
    // Constants, external functions, inputs.
    let many = json!({"dtype": "f64", "shape": long, "elements": {"every": "1"}});
    for operation in [
        json!({"constant": many}),
        json!({"external": {"name": "f", "takes": [], "returns": [[long, "f64"]], "each": [], "of": []}}),
        json!({"external": {"name": "f", "takes": [], "returns": [], "each": vec![json!([1, []]); MAX_RANK + 1], "of": []}}),
        json!({"reshape": [long, 0]}),
    ] {
        let error = loaded(&self::file(vec![program(vec![number("x")], vec![node(operation)], &[1])]));
        let error = error.expect_err("too many axes");
        assert!(error.contains(&format!("at most {MAX_RANK} axes")) && error.len() < 400, "{error}");
    }
}

/// All that makes arrays, views and traced values has one limit of the axes, and panics in words of it.
#[test]
fn every_constructor_has_the_limit_of_axes() {
    let (most, more) = (vec![1; MAX_RANK], vec![1; MAX_RANK + 1]);
    let axes: Vec<usize> = (0..=MAX_RANK).collect();
    let variable = || Term::variable(&vec![1; MAX_RANK], DType::F64);
    type Maker<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let makers: Vec<Maker<'_>> = vec![
        ("array", Box::new(|| drop(Array::zeros(&more, DType::F64)))),
        ("from elements", Box::new(|| drop(Array::new(&more, vec![1.0])))),
        ("variable", Box::new(|| drop(Term::variable(&more, DType::F64)))),
        ("affine", Box::new(|| drop(View::affine(&[], &more, &[], &[])))),
        ("identity", Box::new(|| drop(View::identity(&more)))),
        ("axes", Box::new(|| drop(View::axes(&[1], &vec![0; MAX_RANK + 1])))),
        ("batched", Box::new(|| drop(View::identity(&most).batched(2)))),
        ("widened", Box::new(|| drop(View::identity(&most).widened(2)))),
        ("reshape", Box::new(|| drop(Linear::reshape(&[1], &more)))),
        ("replicate", Box::new(|| drop(Linear::replicate(&more, &axes)))),
        ("gather", Box::new(|| drop(variable().gather(&[Term::zeros(&[1, 1], DType::I64)])))),
        (
            "stack of trips",
            Box::new(|| {
                drop(Term::map_accum(2, false, vec![], &[], &mut |_, _| (vec![], vec![variable()])));
            }),
        ),
        (
            "builder",
            Box::new(|| {
                let mut b = Builder::new();
                let x = b.input(Slot { name: "x".into(), shape: most.as_slice().into(), dtype: DType::F64 });
                let row = b.input(Slot { name: "k".into(), shape: [1, 1].as_slice().into(), dtype: DType::I64 });
                b.apply(Op::Gather(x, vec![row]));
            }),
        ),
    ];
    for (name, make) in makers {
        let payload = catch_unwind(AssertUnwindSafe(make)).expect_err(name);
        let words = payload.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(
            words.contains(&format!("at most {MAX_RANK} axes")) && words.contains(&(MAX_RANK + 1).to_string()),
            "{name}: {words}"
        );
    }
    let error = Array::try_new(&more, vec![1.0]).expect_err("too many axes").to_string();
    assert!(error.contains(&format!("at most {MAX_RANK} axes")), "{error}");
    // As many as there can be.
    assert_eq!(variable().linear(&Linear::sum(&most, &[0])).sizes().len(), MAX_RANK - 1);
}

/// Loops that share a body and differ in all else: the number of trips, and the direction, which the sequence shows.
fn differing(levels: usize) -> Value {
    let mut programs = sharing(levels, false)["programs"].as_array().expect("a list").clone();
    let mixed = vec![trips(levels, 1, &[0]), output(2, 0), node(json!({"binary": ["sub", 3, 1]}))];
    programs.push(program(vec![number(""), number("")], mixed, &[4]));
    let over = |n: usize, reverse: bool, xs: usize, init: usize| {
        node(
            json!({"loop": {"n": n, "reverse": reverse, "body": levels + 1, "init": [init], "xs": [xs], "captured": []}}),
        )
    };
    let row = |n: usize| json!({"name": "", "dtype": "f64", "shape": [n]});
    let operations =
        vec![over(2, false, 1, 0), output(3, 0), over(2, true, 1, 4), output(5, 0), over(1, false, 2, 6), output(7, 0)];
    programs.push(program(vec![number("x"), row(2), row(1)], operations, &[4, 6, 8]));
    file(programs)
}

#[test]
fn long_constants_that_differ_in_one_element_are_not_equal() {
    let of = |other: usize| {
        let elements: Vec<&str> = (0..5000).map(|i| if i == other { "2" } else { "1" }).collect();
        let c = json!({"constant": {"dtype": "f64", "shape": [5000], "elements": {"each": elements.join(" ")}}});
        loaded(&file(vec![program(vec![], vec![json!({"op": c, "dtype": "f64", "shape": [5000]})], &[0])]))
    };
    let all: Vec<Program> = [7, 8, 4999, 7].map(of).into_iter().map(|p| p.expect("it is well formed")).collect();
    assert!(all[0] == all[3] && all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    // One that is gone tells nothing about those that come later.
    drop(all);
    assert!(of(9) != of(10) && of(9) == of(9));
}

/// What is asked of a body is asked for each loop anew: which carries one loop needs, and whether the signs of zeros that
/// go into it are seen, says nothing about another loop of this body.
#[test]
fn loops_that_share_a_body_are_asked_apart() {
    let zero = || node(json!({"constant": {"dtype": "f64", "shape": [], "elements": {"every": "0"}}}));
    let unary = |name: &str, of: usize| node(json!({"unary": [name, of]}));
    let binary = |name: &str, a: usize, b: usize| node(json!({"binary": [name, a, b]}));
    // Two carries, each of itself; and one whose next value shows no sign.
    let inner = program(vec![number(""), number("")], vec![trips(0, 2, &[0]), output(2, 0), unary("neg", 1)], &[3, 4]);
    let outer = program(vec![number(""), number("")], vec![trips(1, 3, &[0, 1]), output(2, 0), output(2, 1)], &[3, 4]);
    // `x + 0` is 0 for -0: one loop hands it to a quotient, the loops before it and after it do not.
    let quotient = |at: usize, which: usize, all: &mut Vec<Value>| {
        all.extend([
            trips(2, 1, &[at, at]),
            output(at + 1, which),
            unary(if which == 0 { "abs" } else { "recip" }, at + 2),
        ]);
    };
    let mut operations = vec![zero(), binary("add", 0, 2)];
    quotient(3, 1, &mut operations);
    operations.extend([binary("add", 1, 2)]);
    quotient(7, 0, &mut operations);
    operations.extend([binary("add", 1, 2)]);
    quotient(11, 1, &mut operations);
    operations.extend([binary("add", 0, 2)]);
    quotient(15, 0, &mut operations);
    let file = file(vec![sine(), inner, outer, program(vec![number("x"), number("y")], operations, &[6, 10, 14, 18])]);
    let program = loaded(&file).expect("it is well formed");
    for x in [[-0.0, -0.0], [0.0, -0.0], [-0.0, 0.5]] {
        let x = x.map(Array::scalar).to_vec();
        let number = |y: &Array| y.item::<f64>().expect("a number");
        let expected: Vec<f64> = interpret::<Concrete>(&program, x.clone()).iter().map(number).collect();
        for ready in [optimize(&program), simplify(&program), vectorize(&program)] {
            let found: Vec<f64> = interpret::<Concrete>(&ready, x.clone()).iter().map(number).collect();
            assert_eq!(found, expected, "{program}\n{ready}");
        }
    }
}

/// Equal programs are found while other threads make and drop theirs.
#[test]
fn programs_of_several_threads_are_equal() {
    let file = halves(2);
    let some = || (0..20).map(|_| loaded(&file).expect("it is well formed")).collect::<Vec<Program>>();
    let all: Vec<Program> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it loads")).collect()
    });
    assert!(all.iter().all(|program| *program == all[0]));
}

// ---- models for all sizes ----

fn loaded_model(file: &Value) -> Result<SizedModel, String> {
    serde_json::from_value(file.clone()).map_err(|e| e.to_string())
}

/// Models whose programs share bodies are made at sizes, printed, saved and run in work linear in their length.
#[test]
fn models_of_shared_bodies_take_work_by_their_length() {
    // No input has the size: a run takes 0 for it, which is served.
    // The number of trips of the first loop of the last level depends on the size.
    let number = json!([[0, {"size": [[[[1], 1]], 1]}]]);
    let file = |levels: usize, numbers: Value| model(json!([["n", 0]]), sharing(levels, false), numbers, "value");
    let work = |levels: usize, numbers: Value| {
        let file = file(levels, numbers);
        let bytes = bytes_of(|| {
            let model = loaded_model(&file).expect("it is well formed");
            let program = model.program().at(&[7]).expect("a program");
            assert!(program.size() <= 3 * levels && model.program().to_string().len() < file.to_string().len());
            compile(&model.at(&[("n", 7)]).expect("a program"));
            assert!(serde_json::to_value(&model).expect("saved").to_string().len() < 2 * file.to_string().len());
        });
        (file.to_string().len(), bytes)
    };
    for numbers in [json!([]), number] {
        let [(short, less), (long, more)] = [60, 120].map(|levels| work(levels, numbers.clone()));
        assert!(more as f64 / (less as f64) < 1.6 * long as f64 / short as f64, "{less} and {more} bytes");
    }
    // A derivative would be made for each loop anew.
    let model = |levels: usize| model(json!([["n", 0]]), sharing(levels, false), json!([]), "value_and_gradient");
    assert!(loaded_model(&model(4)).expect("it is well formed").run(&[Array::scalar(0.5)]).is_ok());
    let shared = loaded_model(&model(60)).expect("it is well formed");
    let words = shared.run(&[Array::scalar(0.5)]).expect_err("it would not end").to_string();
    assert!(words.contains("bodies that are not shared"), "{words}");
    let mut high = model(4);
    high["derivative"] = json!(["nth_derivative", 1_000_000_000]);
    assert!(loaded_model(&high).expect_err("too high").contains("the order of a derivative must be at most 256"));
    // The values are those of the program.
    let x = vec![Array::scalar(0.5)];
    let expected = interpret::<Concrete>(&loaded(&sharing(5, false)).expect("it is well formed"), x.clone());
    let results = loaded_model(&file(5, json!([]))).expect("it is well formed").run(&x).expect("it runs");
    let [a, b] = [&expected, &results].map(|all| all[0].item::<f64>().expect("a number"));
    assert!((a - b).abs() < 1e-12, "{a} and {b}");
}

/// Names, terms and positions of a saved model are bounded, and powers are written as powers.
#[test]
fn sizes_of_saved_models_are_bounded_in_words() {
    let x = json!({"name": "x", "dtype": "f64", "shape": [3]});
    let traced = || file(vec![program(vec![x.clone()], vec![], &[0])]);
    let size = |terms: usize| json!([(1..=terms).map(|k| json!([[255], k])).collect::<Vec<Value>>(), 1]);
    let with = |name: &str, terms: usize, at: usize| {
        let mut model = model(json!([[name, 1]]), traced(), json!([[at, {"size": size(terms)}]]), "value");
        model["inputs"][0]["shape"] = json!([size(terms)]);
        loaded_model(&model)
    };
    let model = with("n", 3, 0).expect("it is well formed");
    assert_eq!(model.inputs(), ["x: f64[n^255 + 2*n^255 + 3*n^255]"]);
    let refused = |model: Result<SizedModel, String>| model.expect_err("it is refused");
    assert!(refused(with(&"n".repeat(500), 1, 0)).contains("at most 100 bytes, but one has 500"));
    assert!(refused(with("n", 100, 0)).contains("a size must have at most 64 terms, but one has 100"));
    assert!(refused(with("n", 1, 1)).contains("a number must be one of the program, but there are 1, and it is 1"));
    let mut more = self::model(json!([["n", 1]]), traced(), json!([]), "value");
    more["names"] = json!(["a", "b"]);
    assert!(refused(loaded_model(&more)).contains("the derivative must be one of the program"));
    // Constants of equal steps grow with the sizes that are asked for, and no further.
    let steps = json!({"constant": {"dtype": "i64", "shape": [4], "elements": {"each": "0 1 2 3"}}});
    let traced =
        file(vec![program(vec![number("x")], vec![json!({"op": steps, "dtype": "i64", "shape": [4]})], &[0, 1])]);
    for at in [[0, 0], [1, 0]] {
        let numbers = json!(at.map(|at| json!([at, {"size": size(1)}])));
        let words = refused(loaded_model(&self::model(json!([["n", 1]]), traced.clone(), numbers, "value")));
        assert!(words.contains("numbers must come in order, but one does not"), "{words}");
    }
    // A size is a whole number.
    let half = json!([[0, {"size": [[[[1], 1]], 2]}], [1, {"size": [[[[1], 1]], 2]}]]);
    let mut half = self::model(json!([["n", 1]]), traced.clone(), half, "value");
    half["names"] = json!([]);
    let half = loaded_model(&half).expect("it is well formed");
    for n in 1..9 {
        match half.program().at(&[n]) {
            Ok(program) => assert!(n % 2 == 0 && program.outputs()[1].shape[..] == [n / 2], "{n}"),
            Err(words) => assert!(n % 2 == 1 && words.contains("a size is not a whole number"), "{words}"),
        }
    }
    let grows = json!([[0, {"size": [[[[4], 1]], 1]}], [1, {"size": [[[[4], 1]], 1]}]]);
    let mut grown = self::model(json!([["n", 1]]), traced, grows, "value");
    grown["names"] = json!([]);
    let grown = loaded_model(&grown).expect("it is well formed");
    let bytes = bytes_of(|| {
        assert_eq!(grown.program().at(&[5]).expect("a program").outputs()[1].shape[..], [625]);
        for n in [1000, 1 << 20, usize::MAX] {
            let words = grown.program().at(&[n]).expect_err("too large");
            assert!(words.starts_with("sizes: the program must exist at these sizes"), "{words}");
        }
    });
    assert!(bytes < 1 << 20, "{bytes}");
}

/// What cannot be seen by counting: the values of shared bodies are right, optimized and compiled.
#[test]
fn shared_bodies_run_as_if_they_were_not_shared() {
    for file in [sharing(13, false), sharing(13, true), twins(5), halves(5), wide(20), deep(6), differing(12)] {
        let program = loaded(&file).expect("it is well formed");
        let some = |(k, shape): (usize, &[usize])| {
            Array::new(shape, (0..shape.iter().product()).map(|i: usize| 0.5 + (k + 3 * i) as f64).collect())
        };
        let x: Vec<Array> = program.inputs().iter().map(|slot| &slot.shape[..]).enumerate().map(some).collect();
        let expected = interpret::<Concrete>(&program, x.clone());
        let ready = optimize(&program);
        for (name, found) in [
            ("optimized", interpret(&ready, x.clone())),
            ("compiled", compile(&program).run(&x)),
            ("both", compile(&ready).run(&x)),
        ] {
            for (a, b) in expected.iter().zip(&found) {
                let (a, b) = (a.item::<f64>().expect("a number"), b.item::<f64>().expect("a number"));
                assert!((a - b).abs() <= 1e-12 * a.abs(), "{name}: {a} and {b}\n{program}");
            }
        }
    }
}

#[test]
fn shared_bodies_are_exported_once() {
    let text = |levels| {
        let program = loaded(&sharing(levels, false)).expect("it is well formed");
        program.to_stablehlo("main").expect("it can be exported").len()
    };
    assert!(text(40) < 3 * text(20), "{} and {}", text(20), text(40));
}

#[test]
fn shared_bodies_are_printed_once() {
    let program = loaded(&sharing(2, false)).expect("it is well formed");
    let expected = "\
program(x0: f64) {
  body f0(x1: f64) {
    return sin x1
  }
  body f1(x2: f64) {
    t0 = loop 1 carry (h0 = x2) {
      next f0(h0)
    }
    t1 = loop 1 carry (h1 = t0) {
      next f0(h1)
    }
    return t1
  }
  t2 = loop 1 carry (h2 = x0) {
    next f1(h2)
  }
  t3 = loop 1 carry (h3 = t2) {
    next f1(h3)
  }
  return t3
}";
    // The program of the last level runs that of the level before, which runs the first.
    assert_eq!(program.to_string(), expected);
    assert_eq!(program.size(), 5);
}
