//! All interpreters agree on the gallery.
//!
//! A pipeline is a way to compute a quantity of an objective: its value, a derivative along directions, a gradient.
//! Laws, for every objective (a failure is reported with the names of objective and pipeline):
//! * the value is the same in every interpreter, bit for bit, and so is a second run;
//! * forward and reverse mode give one first derivative, all four nestings of two levels one second
//!   derivative, and all eight nestings of three levels one third derivative;
//! * Taylor coefficient `k` along a line is the `k`-th derivative along it, divided by `k!`;
//! * a program that is recorded, simplified and run gives the same as the program run directly;
//! * `v' H w == w' H v`; a pullback is linear; gradients have the shapes and element types of the inputs;
//! * where the objective is smooth, each derivative is the limit of finite differences of the one before.

/// The interpreters of [`any`]: those of numbers, programs, shapes and bounds, that of the plain verbs, and those over
/// any other.
macro_rules! interpreters {
    ($levels:ident) => {
        $levels! {
            C = Concrete;
            T = Term;
            AT = ADVal<Term>;
            S = Shapes;
            E = polygrad::Enclosure;
            D = Dual<Any>;
            A = ADVal<Any>;
            J = polygrad::Jet<Any>;
        }
    };
}
pub(crate) use interpreters;

#[path = "../gallery/any.rs"]
pub(crate) mod any;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::gallery::{self, Leaves, Objective, Visitor};
use any::{Any, Level, lists_at};
use polygrad::direct::{grad, jvp, taylor, value_and_grad_with, vjp};
use polygrad::passes::optimize;
use polygrad::program::{Term, interpret};
use polygrad::tree::TreeMath;
use polygrad::{ADVal, BaseTensor, Concrete, DType, Dual, Jet, Shapes, Tensor, Tree};

type Scalar<T> = Tensor<T, 0>;
type Point = Leaves<Concrete>;
/// Values at the interpreter that runs.
type Values = Leaves<Any>;
/// A value and a derivative.
type Pair = (Scalar<Any>, Scalar<Any>);
/// A function whose interpreter is chosen while it runs.
type Function<'a> = &'a dyn Fn(&Values) -> Scalar<Any>;

/// The same numbers at the interpreter that runs.
fn constants(p: &Point) -> Values {
    p.map(&mut |a| Any::constant(a.clone()))
}

/// An objective whose interpreter is chosen while it runs.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    smooth: bool,
    pub(crate) tolerance: f64,
    pub(crate) inputs: Point,
    pub(crate) data: Point,
    eval: fn(&Values, &Values) -> Scalar<Any>,
}

impl Case {
    pub(crate) fn of<O: Objective>() -> Case {
        Case {
            name: O::NAME,
            smooth: O::SMOOTH,
            tolerance: O::TOLERANCE,
            inputs: O::inputs(),
            data: O::data(),
            eval: O::eval::<Any>,
        }
    }

    /// The function at the interpreter that runs.
    pub(crate) fn run(&self, x: &Values) -> Scalar<Any> {
        (self.eval)(x, &constants(&self.data))
    }

    /// The function at an interpreter.
    pub(crate) fn at<L: Level>(&self, x: &Leaves<L>) -> Scalar<L> {
        any::at(|x| self.run(x), x)
    }

    /// The function at an interpreter, of other data.
    pub(crate) fn with<L: Level>(&self, x: &Leaves<L>, data: &Leaves<L>) -> Scalar<L> {
        let data = Leaves(data.0.iter().cloned().map(Level::wrap).collect());
        any::at(|x| (self.eval)(x, &data), x)
    }

    /// Value and derivative along a direction in forward mode.
    fn d(&self, x: &Values, v: &Point) -> Pair {
        forward(&|x| self.run(x), x, v)
    }

    /// Value and derivative along a direction in reverse mode.
    fn a(&self, x: &Values, v: &Point) -> Pair {
        reverse(&|x| self.run(x), x, v)
    }

    /// The gradient, at the interpreter that runs.
    pub(crate) fn grad(&self, x: &Values) -> Values {
        grad(|x: &Leaves<ADVal<_>>| self.at(x), x)
    }

    /// The derivative along a direction, at the interpreter that runs.
    pub(crate) fn slope(&self, x: &Values, v: &Point) -> Scalar<Any> {
        self.d(x, v).1
    }

    /// The gradient at an interpreter.
    pub(crate) fn gradient<L: Level>(&self, x: &Leaves<L>) -> Leaves<L> {
        Leaves(lists_at(|x| self.grad(&Leaves(x)).0, &x.0))
    }
}

/// Value and derivative along `v` in forward mode.
fn forward(f: Function<'_>, x: &Values, v: &Point) -> Pair {
    jvp(|x: &Leaves<Dual<_>>| any::at(f, x), x, &constants(v))
}

/// Value and derivative along `v` in reverse mode: the inner product of the gradient with it.
fn reverse(f: Function<'_>, x: &Values, v: &Point) -> Pair {
    let (y, gradient) = value_and_grad_with(|x: &Leaves<ADVal<_>>, _: &()| any::at(f, x), x, &());
    (y, gradient.dot(&constants(v)))
}

/// A value and a derivative of numbers.
fn pair(x: &Point, f: impl FnOnce(&Values) -> Pair) -> [f64; 2] {
    let both = |x| {
        let (y, derivative) = f(&Leaves(x));
        vec![y.into_raw(), derivative.into_raw()]
    };
    let numbers = floats(&Leaves(lists_at::<Concrete>(both, &x.0)));
    [numbers[0], numbers[1]]
}

/// The results of several ways to compute one thing, by name.
type Ways<X> = Vec<(&'static str, X)>;

/// The first derivative along one direction and the second along both, in all nestings. Names are those of
/// the type the program runs at: the derivative taken first stands outside.
fn second(case: &Case, x: &Point, [v, w]: [&Point; 2]) -> Ways<[f64; 2]> {
    vec![
        ("Dual<Dual>", pair(x, |x| forward(&|x| case.d(x, v).1, x, w))),
        ("ADVal<Dual>", pair(x, |x| forward(&|x| case.a(x, v).1, x, w))),
        ("Dual<ADVal>", pair(x, |x| reverse(&|x| case.d(x, v).1, x, w))),
        ("ADVal<ADVal>", pair(x, |x| reverse(&|x| case.a(x, v).1, x, w))),
    ]
}

/// The second derivative along two directions and the third along all, in all nestings.
fn third(case: &Case, x: &Point, [u, v, w]: [&Point; 3]) -> Ways<[f64; 2]> {
    vec![
        ("Dual<Dual<Dual>>", pair(x, |x| forward(&|x| forward(&|x| case.d(x, u).1, x, v).1, x, w))),
        ("ADVal<Dual<Dual>>", pair(x, |x| forward(&|x| forward(&|x| case.a(x, u).1, x, v).1, x, w))),
        ("Dual<ADVal<Dual>>", pair(x, |x| forward(&|x| reverse(&|x| case.d(x, u).1, x, v).1, x, w))),
        ("ADVal<ADVal<Dual>>", pair(x, |x| forward(&|x| reverse(&|x| case.a(x, u).1, x, v).1, x, w))),
        ("Dual<Dual<ADVal>>", pair(x, |x| reverse(&|x| forward(&|x| case.d(x, u).1, x, v).1, x, w))),
        ("ADVal<Dual<ADVal>>", pair(x, |x| reverse(&|x| forward(&|x| case.a(x, u).1, x, v).1, x, w))),
        ("Dual<ADVal<ADVal>>", pair(x, |x| reverse(&|x| reverse(&|x| case.d(x, u).1, x, v).1, x, w))),
        ("ADVal<ADVal<ADVal>>", pair(x, |x| reverse(&|x| reverse(&|x| case.a(x, u).1, x, v).1, x, w))),
    ]
}

/// What does not hold, with the objective's name.
struct Failures {
    name: &'static str,
    found: Vec<String>,
}

impl Failures {
    fn say(&mut self, what: String) {
        self.found.push(format!("{}: {what}", self.name));
    }

    fn check(&mut self, holds: bool, what: &str) {
        if !holds {
            self.say(what.to_string());
        }
    }

    /// Two finite numbers, equal up to rounding relative to the sizes of the terms they are sums of.
    fn near(&mut self, what: &str, a: f64, b: f64, tolerance: f64, size: f64) {
        let bound = tolerance * size.max(a.abs()).max(b.abs());
        if !a.is_finite() || !b.is_finite() || (a - b).abs() > bound {
            self.say(format!("{what}: {a:e} and {b:e} differ by more than {bound:e}"));
        }
    }

    /// The same for every element.
    fn all_near(&mut self, what: &str, a: &Point, b: &Point, tolerance: f64, size: f64) {
        for (k, (a, b)) in floats(a).into_iter().zip(floats(b)).enumerate() {
            self.near(&format!("{what}, element {k}"), a, b, tolerance, size);
        }
    }
}

fn floats(p: &Point) -> Vec<f64> {
    p.0.iter().flat_map(|a| a.cast::<f64>().to_vec().expect("converted to f64")).collect()
}

fn bits(p: &Point) -> Vec<u64> {
    floats(p).into_iter().map(f64::to_bits).collect()
}

/// The largest absolute value.
fn largest(p: &Point) -> f64 {
    floats(p).into_iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// A direction with entries between -1 and 1.
fn direction(x: &Point, seed: u64) -> Point {
    let mut rng = polygrad::array::Rng::new(seed);
    x.map(&mut |leaf| match leaf.dtype() {
        DType::F32 => rng.uniform_as::<f32, _>(leaf.shape(), -1.0, 1.0),
        DType::F64 => rng.uniform(leaf.shape(), -1.0, 1.0),
        other @ (DType::I64 | DType::Bool) => panic!("an input has elements {other}"),
    })
}

/// The derivative of `f` at 0 by differences over two steps and their extrapolation; the first number says
/// how far apart the two are.
fn difference(f: impl Fn(f64) -> Vec<f64>) -> (f64, Vec<f64>) {
    let step = 1e-3;
    let central = |h: f64| {
        let (up, down) = (f(h), f(-h));
        up.into_iter().zip(down).map(move |(u, d)| (u - d) / (2.0 * h)).collect::<Vec<f64>>()
    };
    let (wide, narrow) = (central(step), central(step / 2.0));
    let apart = wide.iter().zip(&narrow).fold(0.0, |m: f64, (w, n)| m.max((w - n).abs()));
    (apart, wide.iter().zip(&narrow).map(|(w, n)| (4.0 * n - w) / 3.0).collect())
}

/// Finite differences against a derivative.
fn limits(fails: &mut Failures, what: &str, f: impl Fn(f64) -> Vec<f64>, derivative: &[f64], size: f64) {
    let (apart, differences) = difference(f);
    let size = derivative.iter().fold(size, |m, d| m.max(d.abs()));
    if apart.is_nan() || apart > 1e-2 * size {
        fails.say(format!("{what}: finite differences do not settle, they are {apart:e} apart"));
    }
    for (k, (d, x)) in differences.into_iter().zip(derivative).enumerate() {
        fails.near(&format!("{what}, finite difference {k}"), d, *x, 1e-7, size);
    }
}

/// Everything that does not hold for one objective.
fn examine(case: &Case) -> Vec<String> {
    let mut fails = Failures { name: case.name, found: Vec::new() };
    let x = &case.inputs;
    let [u, v, w] = [1, 2, 3].map(|seed| direction(x, seed));
    let value = case.at(x).item();
    fails.check(value.is_finite(), "the value is not finite");
    fails.check(case.at(x).item().to_bits() == value.to_bits(), "a second run gives another value");

    let gradient = case.gradient(x);
    let size = value.abs().max(largest(&gradient));
    first_order(&mut fails, case, &gradient, &v, size);
    if case.smooth {
        let along_v = gradient.dot(&v).item();
        limits(&mut fails, "derivative along v", |h| vec![case.at(&x.add_scaled(h, &v)).item()], &[along_v], size);
    }

    let curved = Leaves(lists_at(|x| product(case, &Leaves(x), &w).0, &x.0));
    let size = size.max(largest(&curved));
    second_order(&mut fails, case, (&gradient, &curved), [&v, &w], size);
    if case.smooth {
        let below = |h: f64| floats(&case.gradient(&x.add_scaled(h, &w)));
        limits(&mut fails, "H w", below, &floats(&curved), size);
    }

    staged(&mut fails, case, (&gradient, &curved), [&v, &w], size);

    let results = third(case, x, [&u, &v, &w]);
    let (two, three) = (curved_along(case, x, [&u, &v]), results[0].1[1]);
    let size = size.max(three.abs());
    for (way, [dd, ddd]) in &results {
        fails.near(&format!("{way}: its second derivative"), *dd, two, case.tolerance, size);
        fails.near(&format!("{way}: third derivative"), *ddd, three, case.tolerance, size);
    }
    if case.smooth {
        let below = |h: f64| vec![curved_along(case, &x.add_scaled(h, &w), [&u, &v])];
        limits(&mut fails, "third derivative", below, &[three], size);
    }
    expanded(&mut fails, case, (&gradient, &curved), [&v, &w], size);
    fails.found
}

/// The derivatives along `v` from one Taylor expansion, and those of the gradient along `w`.
fn expanded(fails: &mut Failures, case: &Case, (gradient, curved): (&Point, &Point), [v, w]: [&Point; 2], size: f64) {
    let x = &case.inputs;
    let series = |x| {
        let c = taylor(|x: &Leaves<Jet<_>>| case.at(x), &Leaves(x), &constants(v), 3);
        c.into_iter().map(Tensor::into_raw).collect()
    };
    let c = floats(&Leaves(lists_at::<Concrete>(series, &x.0)));
    let two = curved_along(case, x, [v, v]);
    let [_, three] = pair(x, |x| forward(&|x| forward(&|x| case.d(x, v).1, x, v).1, x, v));
    let size = size.max(two.abs()).max(three.abs());
    fails.check(c[0].to_bits() == case.at(x).item().to_bits(), "Jet: the primal differs from the value");
    for (k, (c, derivative)) in
        [(c[1], gradient.dot(v).item()), (2.0 * c[2], two), (6.0 * c[3], three)].into_iter().enumerate()
    {
        fails.near(&format!("Jet: derivative {} along v", k + 1), c, derivative, case.tolerance, size);
    }
    let series = |x| {
        let along_w = taylor(|x: &Leaves<Jet<_>>| case.gradient(x), &Leaves(x), &constants(w), 2);
        along_w.into_iter().take(2).flat_map(|c| c.0).collect()
    };
    let mut along_w = lists_at(series, &x.0);
    let second = Leaves(along_w.split_off(x.0.len()));
    fails.all_near("ADVal<Jet>: gradient", &Leaves(along_w), gradient, case.tolerance, size);
    fails.all_near("ADVal<Jet>: H w", &second, curved, case.tolerance, size);
}

/// The second derivative along two directions.
fn curved_along(case: &Case, x: &Point, [v, w]: [&Point; 2]) -> f64 {
    pair(x, |x| forward(&|x| case.d(x, v).1, x, w))[1]
}

/// The product of the Hessian with a direction: the derivative of the gradient along it.
fn product(case: &Case, x: &Values, w: &Point) -> Values {
    jvp(|x: &Leaves<Dual<_>>| case.gradient(x), x, &constants(w)).1
}

fn first_order(fails: &mut Failures, case: &Case, gradient: &Point, v: &Point, size: f64) {
    let x = &case.inputs;
    let value = case.at(x).item();
    fails.check(largest(gradient) > 0.0, "the gradient is zero, which shows nothing");
    fails.check(bits(&case.gradient(x)) == bits(gradient), "a second run gives another gradient");
    let with_data = |x| {
        let f = |x: &Leaves<ADVal<_>>, data: &Leaves<ADVal<_>>| case.with(x, data);
        value_and_grad_with(f, &Leaves(x), &constants(&case.data)).1.0
    };
    let pulled = |x| {
        let x = Leaves(x);
        let (_, pullback) = vjp(|x: &Leaves<ADVal<_>>| case.at(x), &x);
        let [a, b] = [1.75, -0.75].map(|ct| pullback(&Tensor::scalar(ct)));
        a.add(&b).0
    };
    let ways = [
        ("grad", gradient.clone()),
        ("value_and_grad_with", Leaves(lists_at(with_data, &x.0))),
        ("vjp", Leaves(lists_at(pulled, &x.0))),
    ];
    for (way, g) in &ways {
        fails.check(g.0.len() == x.0.len(), &format!("{way}: the gradient has another number of leaves"));
        for (g, x) in g.0.iter().zip(&x.0) {
            let same = (g.shape(), g.dtype()) == (x.shape(), x.dtype());
            fails.check(same, &format!("{way}: the gradient has another shape or element type"));
        }
        fails.all_near(way, g, gradient, case.tolerance, size);
    }
    let along_v = gradient.dot(v).item();
    for (way, [y, d]) in [("Dual", pair(x, |x| case.d(x, v))), ("ADVal", pair(x, |x| case.a(x, v)))] {
        fails.check(y.to_bits() == value.to_bits(), &format!("{way}: the primal differs from the value"));
        fails.near(&format!("{way}: derivative along v"), d, along_v, case.tolerance, size);
    }
}

fn second_order(
    fails: &mut Failures,
    case: &Case,
    (gradient, curved): (&Point, &Point),
    [v, w]: [&Point; 2],
    size: f64,
) {
    let x = &case.inputs;
    let by = |f: Function<'_>| {
        let gradient = |x| grad(|x: &Leaves<ADVal<_>>| any::at(f, x), &Leaves(x)).0;
        Leaves(lists_at(gradient, &x.0))
    };
    let ways = [("Dual<ADVal>", by(&|x| case.d(x, w).1)), ("ADVal<ADVal>", by(&|x| case.a(x, w).1))];
    for (way, product) in &ways {
        fails.all_near(&format!("{way}: H w"), product, curved, case.tolerance, size);
    }
    let (along_v, both) = (gradient.dot(v).item(), curved.dot(v).item());
    for (way, [d, dd]) in second(case, x, [v, w]) {
        fails.near(&format!("{way}: its first derivative"), d, along_v, case.tolerance, size);
        fails.near(&format!("{way}: v' H w"), dd, both, case.tolerance, size);
    }
    for (way, [_, dd]) in second(case, x, [w, v]) {
        fails.near(&format!("{way}: w' H v"), dd, both, case.tolerance, size);
    }
}

/// The same by way of recorded programs, and what is known without any number.
fn staged(fails: &mut Failures, case: &Case, (gradient, curved): (&Point, &Point), [v, w]: [&Point; 2], size: f64) {
    let x = &case.inputs;
    let shapes = x.map(&mut |leaf| Shapes::new(leaf.shape(), leaf.dtype()));
    // There it is enough that nothing panics: the type says that the result is a scalar.
    case.at(&shapes);

    let (value, along_v) = (case.at(x).item(), gradient.dot(v).item());
    let results = traced(x, |x| {
        let (y, d) = case.d(x, v);
        vec![case.run(x).into_raw(), y.into_raw(), d.into_raw()]
    });
    let expected = [("Term", value), ("Dual<Term>: value", value), ("Dual<Term>: derivative along v", along_v)];
    for (result, (way, expected)) in floats(&Leaves(results)).into_iter().zip(expected) {
        fails.near(way, result, expected, case.tolerance, size);
    }
    let staged = polygrad::grad(|x: &Leaves<_>| case.at(x), x);
    fails.all_near("ADVal<Term>: gradient", &staged, gradient, case.tolerance, size);
    let product = traced(x, |x| product(case, x, w).0);
    fails.all_near("ADVal<Dual<Term>>: H w", &Leaves(product), curved, case.tolerance, size);
}

/// The results of a program that is recorded, simplified and run.
fn traced(x: &Point, f: impl Fn(&Values) -> Vec<Any>) -> Vec<Concrete> {
    let variables: Vec<Term> = x.0.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let results = lists_at::<Term>(|x| f(&Leaves(x)), &variables);
    let program = Term::program(&variables, &results, &[]).expect("no variable escapes");
    interpret(&optimize(&program), x.0.clone())
}

/// Visits objectives and collects what does not hold.
#[derive(Default)]
struct Agreement {
    visited: usize,
    failures: Vec<String>,
}

impl Agreement {
    /// A panic is a failure, too, and must not hide the objective's name.
    fn run(&mut self, case: &Case) {
        self.visited += 1;
        match catch_unwind(AssertUnwindSafe(|| examine(case))) {
            Ok(failures) => self.failures.extend(failures),
            Err(_) => self.failures.push(format!("{}: a pipeline panicked, see above", case.name)),
        }
    }

    #[track_caller]
    fn conclude(self) {
        assert!(self.visited > 0, "no objective was visited");
        assert!(self.failures.is_empty(), "{} failures:\n{}", self.failures.len(), self.failures.join("\n"));
    }
}

impl Visitor for Agreement {
    fn visit<O: Objective>(&mut self) {
        self.run(&Case::of::<O>());
    }
}

macro_rules! files {
    ($($file:ident)*) => { $(
        #[test]
        fn $file() {
            let mut agreement = Agreement::default();
            gallery::$file::each(&mut agreement);
            agreement.conclude();
        }
    )* };
}

files! { scalars regression networks physics matrices linalg structure indexing edges statistics densities rearranged losses signals complex gradbench }

/// The tests above can fail.
#[test]
fn wrong_derivatives_are_reported() {
    // Forward mode is off by a little.
    let mut wrong = Case::of::<gallery::scalars::himmelblau>();
    wrong.eval = |x, data| {
        let y = <gallery::scalars::himmelblau as Objective>::eval(x, data);
        match any::path() == [any::Which::C, any::Which::D] {
            true => &y + (&y - y.stop_gradient()) * 1e-9,
            false => y,
        }
    };
    let failures = examine(&wrong);
    assert!(failures.iter().all(|f| f.starts_with("himmelblau: Dual: derivative along v")), "{failures:?}");
    assert_eq!(failures.len(), 1);

    // All interpreters agree on what is not the derivative.
    let mut stopped = Case::of::<gallery::edges::stopped>();
    stopped.smooth = true;
    let failures = examine(&stopped);
    assert!(failures.iter().all(|f| f.contains("finite difference")), "{failures:?}");
    assert_eq!(failures.iter().filter(|f| f.contains("derivative along v")).count(), 1);
}
