//! Taps: `debug` and `check` inside of programs.
//!
//! Laws: a program with taps computes what the program without them computes, in every interpreter and at every order; a
//! tap runs as often as the program says, in the order of the program; a failed check is an error with the user's line,
//! and leaves the caller's arrays as they were.

use polygrad::backend::compile;
use polygrad::inspect::{count, debug_lines, debug_to, first_nan, transcript};
use polygrad::passes::vectorize;
use polygrad::program::{Program, Term, interpret};
use polygrad::{
    Array, BaseTensor, Concrete, DType, FlatFunction, Function, FunctionOptions, RunError, Tensor, check, check_tree,
    checkpoint, custom_vjp, debug_tree, direct, enclose, fold, grad, hessian, hvp, iterate, jacobian, jvp, laplacian,
    map, sparse_hessian, taylor, tensor, value_and_grad, vmap, while_loop, while_loop_within,
};

use crate::panics::caught;

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// The lines that a function prints, without their places.
fn printed<R>(f: impl FnOnce() -> R) -> (R, Vec<String>) {
    let (y, lines) = debug_lines(f);
    let text = |line: String| {
        let (place, text) = line.split_once("] ").expect("a line begins with its place");
        assert!(place.starts_with('[') && place.contains("taps.rs:"), "{line}");
        text.to_owned()
    };
    (y, lines.into_iter().map(text).collect())
}

fn interpreted() -> FunctionOptions {
    FunctionOptions::new().interpreted(true)
}

fn near<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>) {
    assert!((a - b).abs().max_all().item() <= 1e-11, "{a} is not {b}");
}

// ---- values and derivatives ----

/// Loops with a carry and without, and a product, looked at everywhere if `tapped`.
fn objective<T: BaseTensor>(x: &Vector<T>, tapped: bool) -> Number<T> {
    let see = |x: Number<T>, label: &str| if tapped { x.debug(label).check(&x.lt(1e9), label) } else { x };
    let rows: Vector<T> = map(x, |x: &Number<T>| see(x.sin(), "row") * x);
    let last = iterate(3, rows.sum(), |_, y: Number<T>| see((&y * 0.5).tanh(), "trip") + &y);
    let all = fold(x.clone(), &rows, |c: Vector<T>, r: &Number<T>| if tapped { c.debug("all") } else { c } * r.cos());
    last * all.dot(x)
}

fn plain<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
    objective(x, false)
}

fn tapped<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
    objective(x, true)
}

#[test]
fn taps_change_no_value_and_no_derivative() {
    let (x, v) = (tensor([0.5, -1.0, 2.0]), tensor([1.0, 0.5, -0.25]));
    let ((), lines) = printed(|| {
        near(&plain(&x), &tapped(&x));
        near(&grad(plain, &x), &grad(tapped, &x));
        near(&direct::grad(plain, &x), &direct::grad(tapped, &x));
        near(&value_and_grad(plain, &x).0, &value_and_grad(tapped, &x).0);
        near(&hessian(plain, &x), &hessian(tapped, &x));
        near(&hvp(plain, &x, &v), &hvp(tapped, &x, &v));
        near(&jvp(plain, &x, &v).1, &jvp(tapped, &x, &v).1);
        near(&direct::jvp(plain, &x, &v).1, &direct::jvp(tapped, &x, &v).1);
        near(&jacobian(plain, &x), &jacobian(tapped, &x));
        for (a, b) in taylor(plain, &x, &v, 3).iter().zip(&taylor(tapped, &x, &v, 3)) {
            near(a, b);
        }
        let elements = |f: polygrad::SparseFunction<Vector<Concrete>>| f.run(&x).expect("inputs that fit").elements;
        for (a, b) in elements(sparse_hessian(plain, &x)).iter().zip(elements(sparse_hessian(tapped, &x))) {
            assert!((a.0, a.1) == (b.0, b.1) && (a.2 - b.2).abs() < 1e-9);
        }
    });
    assert!(lines.len() > 100, "{}", lines.len());
}

#[test]
fn compiled_and_interpreted_programs_agree() {
    let x = tensor([0.5, -1.0, 2.0]);
    let ((), lines) = printed(|| {
        let [expected, expected_slope] = [
            Function::stage(plain, &x).run(&x).map(|y| y.into_raw()),
            Function::grad(plain, &x).run(&x).map(|y| y.into_raw()),
        ]
        .map(|y| Tensor::<Concrete, 1>::from_raw(y.expect("inputs that fit").ravelled()));
        let cut = FunctionOptions::new().checkpoint(checkpoint(2));
        for options in [FunctionOptions::new(), interpreted(), cut] {
            let value = Function::stage(tapped, &x).with_options(options).run(&x).expect("inputs that fit");
            near(&Tensor::from_raw(value.into_raw().ravelled()), &expected);
            let slope = Function::grad(tapped, &x).with_options(options).run(&x).expect("inputs that fit");
            near(&slope, &expected_slope);
        }
        let flat = FlatFunction::new(tapped, &x);
        let (mut slope, x) = ([0.0; 3], [0.5, -1.0, 2.0]);
        let value = flat.value_and_grad(&x, &mut slope);
        near(&tensor([value]), &expected);
        near(&tensor(slope), &expected_slope);
    });
    assert!(!lines.is_empty());
}

/// The elements as a vector.
trait Ravelled {
    fn ravelled(&self) -> Array;
}

impl Ravelled for Array {
    fn ravelled(&self) -> Array {
        Array::new(&[self.size()], self.to_vec::<f64>().expect("floats"))
    }
}

// ---- how often, and in which order ----

#[test]
fn a_run_prints_in_the_order_of_the_program() {
    fn two<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
        let x = x.debug("x");
        let y = x.square().debug("y");
        let z = (&x + 1.0).debug("z");
        (z.debug("again") * y).sum().debug("sum")
    }
    let x = tensor([1.0, 2.0]);
    let lines = ["x = [1.0, 2.0]", "y = [1.0, 4.0]", "z = [2.0, 3.0]", "again = [2.0, 3.0]", "sum = 14.0"];
    assert_eq!(printed(|| two(&x)), (tensor(14.0), lines.map(String::from).to_vec()));
    let f = Function::stage(two, &x);
    for f in [f, Function::stage(two, &x).with_options(interpreted())] {
        assert_eq!(printed(|| f.run(&x)), (Ok(tensor(14.0)), lines.map(String::from).to_vec()));
    }
    // Under a derivative, the values are printed once.
    assert_eq!(printed(|| value_and_grad(two, &x)).1, lines);
    assert_eq!(printed(|| direct::value_and_grad(two, &x)).1, lines);
    assert_eq!(printed(|| jvp(two, &x, &x)).1, lines);
    // The gradient alone does not need the sum.
    assert_eq!(printed(|| Function::grad(two, &x).run(&x)).1, lines[..4]);
}

/// A trip that makes tangents steep is recorded once more, and one of known values is not: its taps print once.
#[test]
fn trips_that_are_recorded_again_print_once() {
    fn trips<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        iterate(2, x, |_, y: Number<T>| y.debug("y").atan2(x).sin())
    }
    fn repeated<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        let start = (x.clone(), Number::scalar(0.0));
        let trip = |(y, n): (Number<T>, Number<T>)| (y.debug("y").atan2(x).sin(), n + 1.0);
        while_loop_within(2, start, |(_, n)| n.lt(2.0), trip).0
    }
    let x = tensor(1.0);
    macro_rules! prints_once {
        ($f:ident) => {
            let expected = printed(|| $f(&x)).1;
            assert_eq!(expected.len(), 2);
            assert_eq!(printed(|| jvp($f, &x, &x)).1, expected);
            assert_eq!(printed(|| direct::jvp($f, &x, &x)).1, expected);
            assert_eq!(printed(|| taylor($f, &x, &x, 2)).1, expected);
            assert_eq!(printed(|| direct::taylor($f, &x, &x, 2)).1, expected);
            assert_eq!(printed(|| laplacian($f, &x)).1, expected);
        };
    }
    prints_once!(trips);
    prints_once!(repeated);
}

#[test]
fn a_line_begins_with_the_place_of_the_call() {
    let (_, lines) = debug_lines(|| tensor([1.0, 2.0]).debug("x"));
    assert_eq!(lines, [format!("[{}:{}:56] x = [1.0, 2.0]", file!(), line!() - 1)]);
}

#[test]
fn each_trip_prints() {
    fn trips<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        let outside = x * 2.0;
        iterate(3, x, |_, y: Number<T>| {
            let y = (&y * &y).debug("y");
            // The same value in each trip.
            y + outside.debug("outside")
        })
    }
    let x = tensor(1.0);
    let lines = ["y = 1.0", "outside = 2.0", "y = 9.0", "outside = 2.0", "y = 121.0", "outside = 2.0"];
    assert_eq!(printed(|| trips(&x)).1, lines);
    assert_eq!(printed(|| Function::stage(trips, &x).run(&x)).1, lines);
    assert_eq!(printed(|| Function::stage(trips, &x).with_options(interpreted()).run(&x)).1, lines);
    for (_, lines_of) in [printed(|| value_and_grad(trips, &x)), printed(|| direct::value_and_grad(trips, &x))] {
        assert_eq!(lines_of, lines);
    }
    // What a segment computes again is not printed again.
    fn cut<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        checkpoint(2).iterate(5, x, |_, y: Number<T>| (&y * &y * 0.5).debug("y"))
    }
    let all = printed(|| cut(&x)).1;
    assert_eq!(all.len(), 5);
    assert_eq!(printed(|| value_and_grad(cut, &x)).1, all);
    assert_eq!(printed(|| direct::value_and_grad(cut, &x)).1, all);
    assert_eq!(printed(|| direct::grad(|x| direct::grad(cut, x), &x)).1, all);
}

#[test]
fn each_row_of_a_vectorized_loop_prints() {
    fn rows<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
        let last = x.at([2]);
        map(x, |x: &Number<T>| (x * 2.0).debug("twice") + last.debug("last"))
    }
    let x = tensor([1.0, 2.0, 3.0]);
    let alone = ["twice = 2.0", "last = 3.0", "twice = 4.0", "last = 3.0", "twice = 6.0", "last = 3.0"];
    let (y, lines) = printed(|| rows(&x));
    assert_eq!((y, &lines[..]), (tensor([5.0, 7.0, 9.0]), &alone.map(String::from)[..]));
    let f = Function::stage(rows, &x);
    assert!(!f.optimized().to_string().contains("loop"), "{}", f.optimized());
    let bulk = [
        "twice at [0] = 2.0",
        "twice at [1] = 4.0",
        "twice at [2] = 6.0",
        "last at [0] = 3.0",
        "last at [1] = 3.0",
        "last at [2] = 3.0",
    ];
    let (y, lines) = printed(|| f.run(&x));
    assert_eq!((y, &lines[..]), (Ok(tensor([5.0, 7.0, 9.0])), &bulk.map(String::from)[..]));
    // Two batches, outermost first; a loop in a batch runs trip by trip.
    let square = tensor([[1.0, 2.0], [3.0, 4.0]]);
    let f = Function::stage(
        |x: &Tensor<Term, 2>| map(x, |x: &Vector<_>| map(x, |x: &Number<_>| x.debug("x") * 1.5)),
        &square,
    );
    let y: Tensor<Concrete, 2> = printed(|| f.run(&square)).0.expect("inputs that fit");
    assert_eq!(y, &square * 1.5);
    assert_eq!(printed(|| f.run(&square)).1.len(), 4);
    let sums = |x: &Tensor<Term, 2>| -> Vector<_> {
        map(x, |x: &Vector<_>| fold(Number::scalar(0.0), x, |c: Number<_>, x: &Number<_>| (c + x).debug("sum")))
    };
    let f = Function::stage(sums, &square);
    let (y, lines) = printed(|| f.run(&square));
    assert_eq!(y, Ok(tensor([3.0, 7.0])));
    assert_eq!(lines, ["sum = 1.0", "sum = 3.0", "sum = 3.0", "sum = 7.0"]);
}

#[test]
fn programs_that_run_rows_together_check_no_row_that_has_ended() {
    // A row that has ended would fail.
    fn down<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        while_loop(x, |x: &Number<T>| x.gt(1.0), |x| x.check(&x.gt(1.0), "x is large").debug("x") * 0.5)
    }
    fn within<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        while_loop_within(9, x, |x: &Number<T>| x.gt(1.0), |x| x.check(&x.gt(1.0), "x is large").debug("x") * 0.5)
    }
    let x = tensor([8.0, 1.0, 3.0]);
    let (found, lines) = printed(|| Function::stage(|x: &Vector<Term>| -> Vector<_> { vmap(down)(x) }, &x).run(&x));
    assert_eq!(found, Ok(tensor([1.0, 1.0, 0.75])));
    assert_eq!(lines, ["x = 8.0", "x = 4.0", "x = 2.0", "x = 3.0", "x = 1.5"]);
    for slope in [grad::<Concrete, _, f64>(within, &tensor(8.0)), direct::grad(within, &tensor(8.0))] {
        assert_eq!(slope, tensor(0.125));
    }
    let slopes = |x: &Vector<Term>| -> Number<_> { vmap(within)(x).sum() };
    let (found, _) = printed(|| Function::grad(slopes, &x).run(&x));
    assert_eq!(found, Ok(tensor([0.125, 1.0, 0.25])));
    assert_eq!(direct::grad(|x| map(x, within).sum(), &x), tensor([0.125, 1.0, 0.25]));
}

#[test]
fn what_nothing_uses_is_not_printed() {
    fn unused<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        let _ = x.debug("unused");
        x * 2.0
    }
    assert_eq!(printed(|| Function::stage(unused, &tensor(1.0)).run(&tensor(1.0))).1, Vec::<String>::new());
}

#[test]
fn constants_and_known_data_are_printed_by_each_run() {
    let f = Function::stage(|x: &Number<_>| x + Number::scalar(2.0).debug("c").sin().debug("s"), &tensor(1.0));
    for _ in 0..2 {
        assert_eq!(printed(|| f.run(&tensor(1.0))).1.len(), 2);
    }
    let f = Function::stage_with(|x: &Number<_>, y: &Number<_>| x + y.debug("y").exp(), &tensor(1.0), &tensor(1.0));
    let f = f.with_data(&tensor(3.0)).expect("data that fit");
    for _ in 0..2 {
        assert_eq!(printed(|| f.run(&tensor(1.0))).1, ["y = 3.0"]);
    }
}

// ---- trees, rules, observers ----

#[test]
fn trees_are_looked_at_as_a_whole() {
    fn f<T: BaseTensor>(x: &(Number<T>, Vector<T>)) -> Number<T> {
        let (a, b) = check_tree(&debug_tree(x, "x"), &x.0.gt(0.0), "a is positive");
        (a * b).sum()
    }
    let x = (tensor(2.0), tensor([1.0, 3.0]));
    let (slope, lines) = printed(|| value_and_grad(f, &x).1);
    assert_eq!(slope, (tensor(4.0), tensor([2.0, 2.0])));
    assert_eq!(lines, ["x.0 = 2.0", "x.1 = [1.0, 3.0]"]);
    assert!(Function::grad(f, &x).run(&(tensor(-2.0), x.1)).is_err());
}

#[test]
fn rules_show_their_values() {
    fn ruled<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        custom_vjp("double", |x: &Number<_>| x.debug("x") * 2.0, |_, _, y_bar| y_bar.debug("y_bar") * 2.0, x)
    }
    let x = tensor(3.0);
    let lines = ["x = 3.0", "y_bar = 1.0"];
    assert_eq!(printed(|| value_and_grad(ruled, &x)), ((tensor(6.0), tensor(2.0)), lines.map(String::from).to_vec()));
    assert_eq!(printed(|| direct::value_and_grad(ruled, &x)).1, lines);
    // Observers run the function once more.
    assert_eq!(printed(|| count(ruled, &x).0).1, ["x = 3.0"]);
    assert_eq!(printed(|| first_nan(ruled, &x)).1, ["x = 3.0"]);
}

#[test]
fn observers_pass_taps_by() {
    let x = tensor([0.0, 1.0]);
    let ((_, text), _) = printed(|| transcript(|x| x.debug("x").check(&x.ge(0.0), "x >= 0").sum(), &x));
    assert!(text.contains("= debug \"x\" [t0]") && text.contains("= check \"x >= 0\" ["), "{text}");
    let (found, _) = printed(|| first_nan(|x| x.ln().debug("ln").sum(), &x));
    assert_eq!(found.expect("the logarithm of 0").operation, "ln");
    let (shape, lines) = printed(|| check(|x| x.debug("x").sin(), &Tensor::<polygrad::Shapes, 1>::zeros([3])));
    assert_eq!((shape.expect("no mistake").shape(), lines.len()), ([3], 0));
}

#[test]
fn bounds_fail_where_no_number_holds() {
    fn f<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        x.debug("x").check(&x.gt(0.0), "x is positive").ln()
    }
    let ((lower, _), lines) = printed(|| enclose(f, &tensor(1.0), &tensor(2.0)));
    assert!((lower.item().abs(), lines.len()) < (1e-9, 1));
    // Undecided.
    let _ = enclose(f, &tensor(-1.0), &tensor(2.0));
    let recorded = Function::stage(f, &tensor(1.0));
    assert!(recorded.enclose(&tensor(-1.0), &tensor(2.0)).is_ok());
    let failed = recorded.enclose(&tensor(-2.0), &tensor(-1.0));
    assert!(matches!(failed, Err(RunError::Check(check)) if check.message == "x is positive"));
}

// ---- failed checks ----

fn positive<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    x.check(&x.gt(0.0), "x is positive").sqrt()
}

#[test]
fn a_failed_check_is_an_error_with_the_users_line() {
    let x = tensor([1.0, 4.0]);
    for options in [FunctionOptions::new(), interpreted()] {
        let f = Function::stage(positive, &x).with_options(options);
        for _ in 0..2 {
            assert_eq!(f.run(&x), Ok(tensor([1.0, 2.0])));
            let Err(RunError::Check(failed)) = f.run(&tensor([1.0, -1.0])) else { panic!("the check must fail") };
            assert_eq!(
                (&failed.message[..], &failed.element[..], &failed.shape[..]),
                ("x is positive", &[1][..], &[2][..])
            );
            let at = failed.at.as_ref().expect("a place");
            let text = "check: `x is positive` must hold, but element [1] of the mask of shape [2] does not; fix what \
                        the mask is made of, or take the check out";
            assert_eq!(failed.to_string(), format!("{text} (called at {at})"));
            assert!(at.file.ends_with("taps.rs"));
        }
    }
    // Row by row, and in bulk.
    fn rows<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
        map(x, |x: &Number<T>| x.check(&x.gt(0.0), "positive").ln())
    }
    let Err(RunError::Check(failed)) = Function::stage(rows, &x).run(&tensor([1.0, -1.0])) else {
        panic!("it must fail")
    };
    assert_eq!((&failed.row[..], failed.element.len()), (&[1][..], 0));
    assert!(failed.to_string().contains("but the mask does not in row [1]; "));
    assert!(caught(|| rows(&tensor([1.0, -1.0]))).message.contains("but the mask does not; "));
    // NaN holds nothing.
    assert!(Function::stage(positive, &x).run(&tensor([1.0, f64::NAN])).is_err());
}

#[test]
fn a_failed_check_ends_a_loop() {
    let forever =
        |x: &Number<Term>| while_loop(x, |x: &Number<_>| x.gt(0.0), |x| x.check(&x.lt(1e3), "x is small") * 2.0);
    let f = Function::stage(forever, &tensor(1.0));
    assert!(matches!(f.run(&tensor(1.0)), Err(RunError::Check(_))));
    assert_eq!(f.run(&tensor(-1.0)), Ok(tensor(-1.0)));
}

#[test]
fn evaluation_panics_at_the_users_line() {
    let found = caught(|| positive(&tensor([-1.0])));
    assert!(
        found.message.starts_with("check: `x is positive` must hold") && found.file.ends_with("taps.rs"),
        "{found:?}"
    );
    assert!(caught(|| grad(|x| positive(x).sum(), &tensor([-1.0]))).message.starts_with("check: "));
    assert!(caught(|| direct::grad(|x| positive(x).sum(), &tensor([-1.0]))).message.starts_with("check: "));
}

#[test]
fn a_failed_run_writes_nothing() {
    fn two<T: BaseTensor>(x: &Vector<T>) -> (Vector<T>, Number<T>, Vector<T>) {
        (x * 2.0, x.sum(), x.check(&x.gt(0.0), "x is positive").sqrt())
    }
    let x = tensor([1.0, 4.0]);
    let f = compile(Function::stage(two, &x).optimized());
    let mut workspace = f.workspace();
    let mut y = [Array::from([7.0, 7.0]), Array::from(7.0), Array::from([7.0, 7.0])];
    let before = (y.clone(), y[0].as_slice::<f64>().map(<[f64]>::as_ptr));
    let failed = caught(|| f.run_into(&mut workspace, &[Array::from([1.0, -1.0])], &mut y));
    assert!(failed.message.starts_with("check: "), "{failed:?}");
    assert_eq!(y, before.0);
    drop(before.0);
    f.run_into(&mut workspace, &[Array::from([1.0, 4.0])], &mut y);
    assert_eq!(y, [Array::from([2.0, 8.0]), Array::from(5.0), Array::from([1.0, 2.0])]);
    let flat = FlatFunction::new(positive, &x);
    let mut y = [7.0, 7.0];
    assert!(caught(|| flat.run(&[1.0, -1.0], &mut y)).message.starts_with("check: "));
    assert_eq!(y, [7.0, 7.0]);
    flat.run(&[1.0, 4.0], &mut y);
    assert_eq!(y, [1.0, 2.0]);
}

#[test]
fn threads_fail_and_print_by_themselves() {
    let n = 200_000;
    let f = |x: &Vector<Term>| x.check(&x.gt(0.0), "x is positive").sqrt().sum().debug("sum");
    let f = Function::stage(f, &Tensor::ones([n]));
    std::thread::scope(|scope| {
        for k in 0..4 {
            let f = &f;
            scope.spawn(move || {
                for _ in 0..3 {
                    let x: Vector<Concrete> = Tensor::full([n], if k % 2 == 0 { 1.0 } else { -1.0 });
                    let (y, lines) = printed(|| f.run(&x));
                    assert_eq!((y.is_ok(), lines.len()), if k % 2 == 0 { (true, 1) } else { (false, 0) });
                }
            });
        }
    });
}

#[test]
fn a_sink_is_restored() {
    let (_, outer) = printed(|| {
        let _ = tensor(1.0).debug("before");
        let _ = caught(|| debug_to(|line: &str| panic!("{line}"), || tensor(2.0).debug("inside")));
        let ((), inner) = printed(|| drop(tensor(3.0).debug("inner")));
        assert_eq!(inner, ["inner = 3.0"]);
        let _ = tensor(4.0).debug("after");
    });
    assert_eq!(outer, ["before = 1.0", "after = 4.0"]);
}

// ---- programs as data ----

fn looked<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
    iterate(2, x, |_, x: Vector<T>| x.check(&x.gt(0.0), "x is positive").debug("x").sqrt()).sum()
}

fn looked_at() -> Program {
    Function::stage(looked, &tensor([1.0, 2.0])).program().clone()
}

#[test]
fn taps_are_printed_as_operations() {
    let expected = "\
program(x: f64[2]) {
  t0 = loop 2 carry (h0 = x) over (e0 in iota 2) {
    t1 = h0 > 0.0
    t2 = check \"x is positive\"(t1, h0)
    t3 = debug \"x\"(t2)
    next sqrt t3
  }
  return sum t0
}";
    assert_eq!(looked_at().to_string(), expected);
    assert_eq!(vectorize(&looked_at()), looked_at());
}

#[test]
fn saved_programs_keep_taps() {
    for program in [
        looked_at(),
        Function::stage(
            |x: &Vector<_>| -> Vector<_> { map(x, |x: &Number<_>| x.debug("x").sin()) },
            &tensor([1.0, 2.0]),
        )
        .optimized()
        .clone(),
    ] {
        let text = serde_json::to_string(&program).expect("it can be saved");
        let back: Program = serde_json::from_str(&text).expect("it can be loaded");
        assert_eq!(back, program);
        let run = |program: &Program| debug_lines(|| interpret(program, vec![Array::from([1.0, 4.0])]));
        assert_eq!(run(&back), run(&program));
    }
    let wrong =
        serde_json::to_string(&looked_at()).expect("it can be saved").replace("\"check\":true", "\"check\":false");
    assert!(serde_json::from_str::<Program>(&wrong).is_err());
}

#[test]
fn exports_leave_taps_out_with_a_remark() {
    let f = Function::stage(looked, &tensor([1.0, 2.0]));
    let text = f.to_stablehlo("looked").expect("it can be exported");
    assert!(
        text.starts_with("// left out: check \"x is positive\" at ") && text.contains("// left out: debug \"x\" at "),
        "{text}"
    );
    for source in [f.to_rust("looked"), f.to_c("looked")] {
        let code = source.expect("it can be written").code;
        assert!(code.contains("// Left out: check \"x is positive\" at ") && code.contains("taps.rs:"), "{code}");
    }
}

/// Constructors of data refuse what does not fit.
#[test]
fn operands_of_taps_must_fit() {
    use polygrad::ops::{Call, Tap, TapKind};
    let check = Call::Tap(Tap::new(TapKind::Check("m".into()), None).into());
    let shape: &[usize] = &[2];
    assert!(check.try_results(&[(shape, DType::Bool), (shape, DType::F64)]).is_ok());
    let message = check.try_results(&[(shape, DType::F64), (shape, DType::F64)]).expect_err("no mask");
    assert_eq!(message, "check: the first operand must be a mask, but it is not; compare numbers first");
    let debug = Tap::new(TapKind::Debug(vec!["x".into()]), None);
    assert!(Call::Tap(debug.clone().into()).try_results(&[(shape, DType::F64), (shape, DType::F64)]).is_err());
    let batched = Call::Tap(debug.batched(3, vec![true]).into());
    assert!(batched.try_results(&[(shape, DType::F64)]).is_err());
}
