//! An interpreter outside of the library, from `docs/interpreter.md` and public items alone.
//!
//! `Slope<T>` is forward mode over any interpreter, without levels. Law: at every program, over and under the
//! interpreters of the library, it gives what `Dual` gives: with lifted values, linear algebra, loops that end by
//! themselves, rules of users, code of the host, and taps.

use std::sync::Arc;

use polygrad::base::{BaseTensor, Group, Over, Trip, TripFn, WhileFn, map_accum_grouped, repeat_grouped};
use polygrad::inspect::{debug_lines, transcript};
use polygrad::linalg::rules;
use polygrad::ops::{Binary, Call, Contract, Discrete, Linear, Partial, Reduce, Unary};
use polygrad::program::{Custom, CustomKind, interpret};
use polygrad::{
    ADVal, Array, Concrete, DType, Dual, Function, Shapes, Tensor, build1, check, checkpoint, custom_jvp, direct,
    external, grad, jvp, map_accum_reverse, root, scan, tensor, while_loop, while_loop_within,
};

use crate::panics::caught;
use crate::plain::Plain;
use crate::support::assert_close;

/// A value, and its derivative unless that is a known zero.
#[derive(Clone)]
struct Slope<T> {
    value: T,
    slope: Option<T>,
}

impl<T: BaseTensor> Slope<T> {
    fn constant_of(value: T) -> Self {
        Slope { value, slope: None }
    }

    fn slope(&self) -> T {
        self.slope.clone().unwrap_or_else(|| T::zeros(self.value.shape(), self.value.dtype()))
    }

    /// A value with a derivative that is computed from that of `self`.
    fn along(&self, value: T, f: impl FnOnce(&T) -> T) -> Self {
        Slope { value, slope: self.slope.as_ref().map(f) }
    }

    fn group(self) -> Group<T> {
        let slope = self.value.dtype().is_float().then(|| self.slope());
        std::iter::once(self.value).chain(slope).collect()
    }

    fn of_group(group: Group<T>) -> Self {
        let mut parts = group.into_iter();
        Slope { value: parts.next().expect("a value"), slope: parts.next() }
    }
}

fn values<T: BaseTensor>(all: &[Slope<T>]) -> Vec<T> {
    all.iter().map(|x| x.value.clone()).collect()
}

fn groups<T: BaseTensor>(all: Vec<Slope<T>>) -> Vec<Group<T>> {
    all.into_iter().map(Slope::group).collect()
}

fn of_groups<T: BaseTensor>(all: Vec<Group<T>>) -> Vec<Slope<T>> {
    all.into_iter().map(Slope::of_group).collect()
}

fn times<T: BaseTensor>(partial: Partial<T>, slope: &T) -> T {
    partial.times(slope)
}

fn sum<T: BaseTensor>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.accumulate(&b)),
        (a, b) => a.or(b),
    }
}

fn pairs<T: BaseTensor>(values: Vec<T>, slopes: Vec<Option<T>>) -> Vec<Slope<T>> {
    let pair = |(value, slope): (T, Option<T>)| Slope { slope: slope.filter(|_| value.dtype().is_float()), value };
    values.into_iter().zip(slopes).map(pair).collect()
}

impl<T: BaseTensor> BaseTensor for Slope<T> {
    fn constant(a: Array) -> Self {
        Slope::constant_of(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.value.shape()
    }

    fn dtype(&self) -> DType {
        self.value.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        let y = self.value.unary(op);
        let slope = self.slope.as_ref().map(|x| times(op.derivative(&self.value, &y), x));
        Slope { value: y, slope }
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let (x, y) = (&self.value, &other.value);
        let z = x.binary(op, y);
        let left = self.slope.as_ref().map(|x_dot| times(op.partial_left(x, y, &z), x_dot));
        let right = other.slope.as_ref().map(|y_dot| times(op.partial_right(x, y, &z), y_dot));
        Slope { slope: sum(left, right), value: z }
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        Slope::constant_of(T::discrete(op, &args.iter().map(|x| &x.value).collect::<Vec<_>>()))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let moves = then.slope.is_some() || otherwise.slope.is_some();
        let slope = moves.then(|| T::select(&mask.value, &then.slope(), &otherwise.slope()));
        Slope { value: T::select(&mask.value, &then.value, &otherwise.value), slope }
    }

    fn linear(&self, op: &Linear) -> Self {
        self.along(self.value.linear(op), |x| x.linear(op))
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let left = a.slope.as_ref().map(|x| T::contract(op, x, &b.value));
        let right = b.slope.as_ref().map(|x| T::contract(op, &a.value, x));
        Slope { value: T::contract(op, &a.value, &b.value), slope: sum(left, right) }
    }

    fn reduce(&self, op: Reduce) -> Self {
        op.result((self.shape(), self.dtype()));
        let at = op.indices(self.shape(), &T::discrete(&op.position(), &[&self.value]));
        self.along(self.value.gather(&at), |x| x.gather(&at))
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let ix = values(ix);
        self.along(self.value.gather(&ix), |x| x.gather(&ix))
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let (ix, moves) = (values(ix), self.slope.is_some() || v.slope.is_some());
        let slope = moves.then(|| self.slope().scatter_add(&ix, &v.slope()));
        Slope { value: self.value.scatter_add(&ix, &v.value), slope }
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let moves = parts.iter().any(|x| x.slope.is_some());
        let slopes = || parts.iter().map(Slope::slope).collect::<Vec<T>>();
        Slope { value: T::concat(axis, &values(parts)), slope: moves.then(|| T::concat(axis, &slopes())) }
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        let (carry, outputs) =
            map_accum_grouped(n, reverse, groups(init), &groups(xs.to_vec()), &mut |carry, elements| {
                let (carry, outputs) = step(of_groups(carry), &of_groups(elements));
                (groups(carry), groups(outputs))
            });
        (of_groups(carry), of_groups(outputs))
    }

    /// Linear algebra has rules; a tap returns its operands; code of the host has none.
    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        let x = values(args);
        let y = T::call(op, &x);
        if args.iter().all(|x| x.slope.is_none()) {
            return y.into_iter().map(Slope::constant_of).collect();
        }
        let slopes: Vec<Option<T>> = args.iter().map(|x| x.slope.clone()).collect();
        let slopes = rules::call(op, &x, &y, &slopes);
        pairs(y, slopes)
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        let x = values(args);
        if args.iter().all(|x| x.slope.is_none()) {
            return T::custom(rule, &x).into_iter().map(Slope::constant_of).collect();
        }
        let slopes = || args.iter().map(Slope::slope);
        match rule.kind() {
            CustomKind::Checkpointed | CustomKind::While { .. } | CustomKind::Cond { .. } => rule.value(args.to_vec()),
            CustomKind::Rules { .. } => {
                let jvp = rule.jvp().expect("a rule for tangents");
                let y = T::custom(rule, &x);
                let inputs = x.into_iter().chain(y.iter().cloned()).chain(slopes()).collect();
                let slopes = interpret(jvp, inputs).into_iter().map(Some).collect();
                pairs(y, slopes)
            }
            CustomKind::Solve(equations) => {
                // a_dot y + a y_dot = b_dot.
                let (given, y) = (x.len() - 1, T::custom(rule, &x));
                let inputs = x[..given].iter().chain(&y).cloned().chain(slopes().take(given)).collect();
                let change = interpret(&equations.moved, inputs);
                let right = args[given].slope().binary(Binary::Sub, &change[0]);
                let y_dot = T::custom(rule, &[&x[..given], &[right]].concat());
                pairs(y, y_dot.into_iter().map(Some).collect())
            }
        }
    }

    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        of_groups(repeat_grouped(most, groups(init), &mut |carry| groups(step(of_groups(carry)))))
    }

    fn accumulate(self, other: &Self) -> Self {
        Slope { value: self.value.accumulate(&other.value), slope: sum(self.slope, other.slope.clone()) }
    }
}

impl<T: BaseTensor> Over for Slope<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.value
    }

    fn of_base(value: T) -> Self {
        Slope::constant_of(value)
    }
}

/// The value and the derivative along a direction: the verb of this interpreter.
fn sloped<T: BaseTensor>(
    f: impl Fn(&Tensor<Slope<T>, 1>) -> Tensor<Slope<T>, 1>,
    x: &Tensor<T, 1>,
    x_dot: &Tensor<T, 1>,
) -> (Tensor<T, 1>, Tensor<T, 1>) {
    let y = f(&Tensor::from_raw(Slope { value: x.raw().clone(), slope: Some(x_dot.raw().clone()) })).into_raw();
    (Tensor::from_raw(y.value.clone()), Tensor::from_raw(y.slope()))
}

/// A program that runs in any interpreter.
trait Program {
    const NAME: &'static str;
    fn run<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1>;
}

type Number<T> = Tensor<T, 0>;

macro_rules! programs {
    ($($name:ident |$x:ident| $body:expr;)*) => {
        $(
            #[allow(non_camel_case_types)]
            struct $name;
            impl Program for $name {
                const NAME: &'static str = stringify!($name);
                fn run<T: BaseTensor>($x: &Tensor<T, 1>) -> Tensor<T, 1> {
                    $body
                }
            }
        )*
        macro_rules! each_program {
            ($law:ident) => { $( $law::<$name>(); )* };
        }
    };
}

/// A regular matrix of a vector.
fn matrix<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 2> {
    x.outer(&x.sin()) + Tensor::eye(3) * 2.0
}

/// A function of the host, and its derivative.
fn by_host<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
    custom_jvp(
        "sine of the host",
        |x| external("sine", |x: &Tensor<Concrete, 1>| x.sin(), &tensor([0.0; 3]), x),
        |x, _, x_dot| x.cos() * x_dot,
        x,
    )
}

programs! {
    elementwise |x| x.gt(0.5).select(x.sqrt(), x.sin()) * x.max_all() + x.powf(2.5);
    indexed |x| x.gather([&x.argmax().reshape([1])]).sum() * x.sin().scatter_add([&Tensor::constant([1, 1, 7])], x);
    factored |x| {
        let a = matrix(x);
        let spd = a.matmul(&a.t());
        let l = spd.cholesky();
        let (w, _) = spd.eigh();
        l.solve_lower(x) + a.solve(x) * a.det() + a.inverse().matvec(x) + w.times(&spd.logdet()) + a.expm().sum_axis(0)
    };
    decomposed |x| {
        let a = matrix(x);
        let ((q, r), (_, s, _)) = (a.qr(), a.svd());
        q.matvec(x) + r.matvec(&s)
    };
    scanned |x| {
        let sums: Tensor<T, 1> = scan(Tensor::scalar(1.0), x, |c: Number<T>, x| (c * x).sin());
        let (last, back): (Number<T>, Tensor<T, 1>) = map_accum_reverse(sums.sum(), x, |c, x: &Number<T>| ((&c * x).cos(), c));
        back.times(&last)
    };
    ended |x| {
        let y = while_loop(x, |y: &Tensor<T, 1>| y.sum().lt(100.0), |y| &y * &y + x);
        let z: Tensor<T, 1> = build1(3, |i| while_loop_within(20, x.at([&i]), |z: &Number<T>| z.lt(9.0), |z| z * 1.7 + 0.1));
        y.ln() + z
    };
    ruled |x| {
        let twisted = custom_jvp("twisted", |x: &Tensor<_, 1>| x.exp(), |_, y, x_dot| y * x_dot * 3.0, x);
        checkpoint(2).iterate(4, x, |_, y: Tensor<T, 1>| y.sin() + 1.0) * twisted
    };
    solved |x| root(|y: &Tensor<_, 1>, x: &Tensor<_, 1>| y.powi(3) + y - x, &Tensor::ones([3]), x);
    hosted |x| by_host(&(x * 2.0));
    watched |x| x.square().check(&x.gt(-5.0), "x is above -5").debug("square");
    lifted |x| {
        let slope = grad(|z: &Tensor<_, 1>| (z.powi(3) * x.lift()).sum(), x);
        let turned = jvp(|z: &Tensor<_, 1>| z.sin() * x.lift(), x, x).1;
        slope + turned + direct::grad(|z: &Tensor<_, 1>| (z.square() * x.lift()).sum(), x)
    };
}

fn point() -> (Tensor<Concrete, 1>, Tensor<Concrete, 1>) {
    (tensor([0.3, 0.9, 0.6]), tensor([1.0, -0.5, 0.25]))
}

fn agrees<P: Program>() {
    let (x, x_dot) = point();
    let near = |what: &str, a: &Tensor<Concrete, 1>, b: &Tensor<Concrete, 1>| {
        assert_close(&format!("{}, {what}", P::NAME), a.array(), b.array(), 1e-11);
    };
    let (y, y_dot) = direct::jvp(P::run, &x, &x_dot);
    let ((value, slope), _) = debug_lines(|| sloped(P::run, &x, &x_dot));
    near("value", &value, &y);
    near("slope", &slope, &y_dot);
    // Recorded: over terms.
    let recorded = Function::stage_with(|x: &Tensor<_, 1>, x_dot| sloped(P::run, x, x_dot), &x, &x_dot);
    let ((_, slope), _) = debug_lines(|| recorded.run_with(&x, &x_dot).expect("the shapes of the trace"));
    near("recorded", &slope, &y_dot);
}

#[test]
fn it_is_forward_mode() {
    each_program!(agrees);
}

/// Rows have partials that divide, or two factors, so that products of them are in range. All public products have all
/// factors: those of the page, and those of the guard and the factors.
#[test]
fn every_row_has_the_derivative_of_forward_mode() {
    let along = |op: Unary, at: f64| {
        let (x, x_dot) = (Array::from(vec![at]), Array::from(vec![1e-3]));
        let with = Slope { value: x.clone(), slope: Some(x_dot.clone()) }.unary(op).slope();
        let expected = direct::jvp(
            |x: &Tensor<Dual<Concrete>, 1>| Tensor::<_, 1>::from_raw(x.raw().unary(op)),
            &Tensor::<Concrete, 1>::from_raw(x.clone()),
            &Tensor::from_raw(x_dot.clone()),
        );
        let partial = op.derivative(&x, &x.unary(op));
        let by_guard = partial.guard.times(partial.value.as_ref(), &x_dot);
        for slope in [with, by_guard] {
            assert_close(&format!("{} at {at}", op.name()), &slope, expected.1.array(), 0.0);
        }
    };
    for op in Unary::ALL {
        let (low, high) = op.domain();
        [low + 0.3 * (high - low), high].into_iter().for_each(|at| along(*op, at));
    }
    along(Unary::Recip, 1e-154);
    along(Unary::Recip, 1e-200);
    for op in Binary::ALL {
        let [x, y] = op.domain().map(|(low, high)| Array::from(vec![low + 0.7 * (high - low), high]));
        let directions = [[1e-3, -2.0], [0.5, 4.0]].map(|x_dot| Array::from(x_dot.to_vec()));
        let [left, right] = [(&x, &directions[0]), (&y, &directions[1])]
            .map(|(value, slope)| Slope { value: value.clone(), slope: Some(slope.clone()) });
        let expected = direct::jvp(
            |(x, y): &(Tensor<Dual<Concrete>, 1>, Tensor<Dual<Concrete>, 1>)| {
                Tensor::<_, 1>::from_raw(x.raw().binary(*op, y.raw()))
            },
            &(Tensor::<Concrete, 1>::from_raw(x.clone()), Tensor::<Concrete, 1>::from_raw(y.clone())),
            &(Tensor::from_raw(directions[0].clone()), Tensor::from_raw(directions[1].clone())),
        );
        let z = x.binary(*op, &y);
        let products = [op.partial_left(&x, &y, &z), op.partial_right(&x, &y, &z)]
            .iter()
            .zip(&directions)
            .map(|(partial, along)| partial.guard.times(partial.value.as_ref(), along))
            .reduce(|a, b| a.binary(Binary::Add, &b))
            .expect("two partials");
        for slope in [left.binary(*op, &right).slope(), products] {
            assert_close(op.name(), &slope, expected.1.array(), 0.0);
        }
    }
}

fn nests<P: Program>() {
    let (x, x_dot) = point();
    let near = |what: &str, a: &Tensor<Concrete, 1>, b: &Tensor<Concrete, 1>| {
        assert_close(&format!("{}, {what}", P::NAME), a.array(), b.array(), 1e-9);
    };
    let ((second, over, under, staged), _) = debug_lines(|| {
        let along = |x: &Tensor<Dual<Concrete>, 1>| direct::jvp(P::run, x, &Tensor::constant(x_dot.array().clone())).1;
        let second = direct::jvp(along, &x, &x_dot).1;
        let over = direct::jvp(|x| sloped(P::run, x, &Tensor::constant(x_dot.array().clone())).1, &x, &x_dot).1;
        // Forward mode of reverse mode, the inner one recorded or not.
        let square = |x: &Tensor<ADVal<Slope<Concrete>>, 1>| P::run(x).square().sum();
        let under = sloped(|x| direct::grad(square, x), &x, &x_dot).1;
        let staged = sloped(|x| grad(|x| P::run(x).square().sum(), x), &x, &x_dot).1;
        (second, over, under, staged)
    });
    near("over forward mode", &over, &second);
    let expected = polygrad::hvp(|x| P::run(x).square().sum(), &x, &x_dot);
    near("under reverse mode", &under, &expected);
    near("under recorded reverse mode", &staged, &expected);
}

#[test]
fn it_nests_with_the_interpreters_of_the_library() {
    // Reverse mode of loops without a bound needs known values; recorded, it is refused.
    macro_rules! each {
        ($($name:ident)*) => { $( nests::<$name>(); )* };
    }
    each!(elementwise indexed factored scanned ruled solved hosted watched lifted);
}

/// Observers run over it, and it is checked without elements.
#[test]
fn it_is_observed_and_checked() {
    let (x, x_dot) = point();
    let (y, text) = transcript(|x: &Tensor<_, 1>| sloped(lifted::run, x, &Tensor::ones([3])).1, &x);
    assert_close("observed", y.array(), sloped(lifted::run, &x, &tensor([1.0; 3])).1.array(), 1e-12);
    assert!(text.to_string().contains("sin"), "{text}");
    let shape = check(|x: &Tensor<Shapes, 1>| sloped(factored::run, x, x).1, &x);
    assert_eq!(shape.map(|y| y.shape()), Ok([3]));
    let _ = x_dot;
}

/// Code of the host without a rule is refused in words.
#[test]
fn host_code_needs_a_rule() {
    let (x, x_dot) = point();
    let host =
        |x: &Tensor<Slope<Concrete>, 1>| external("sine", |x: &Tensor<Concrete, 1>| x.sin(), &tensor([0.0; 3]), x);
    let said = caught(|| sloped(host, &x, &x_dot)).message;
    assert!(said.starts_with("external: a derivative needs a rule, but `sine` has none"), "{said}");
}

#[test]
fn a_lifted_value_that_is_not_forwarded_is_named() {
    let slope = |x: &Tensor<Dual<Concrete>, 0>| {
        let here = Tensor::<Plain<Dual<Concrete>>, 0>::from_raw(Plain(x.raw().clone()));
        let g = grad(|z: &Number<_>| z.square() * x.lift(), &here).into_raw();
        Tensor::<Dual<Concrete>, 0>::from_raw(g.0)
    };
    let said = caught(|| direct::jvp(slope, &tensor(3.0), &tensor(1.0))).message;
    let sentence = "grad: an interpreter over another one must say what the values of that one are, but a value of `Dual<Array>` was \
                    lifted, and `Staging::captured` of `Plain<Dual<Array>>` gives none for it; write it as";
    assert!(said.starts_with(sentence), "{said}");
    // A while loop runs all its trips, not one.
    let y = while_loop(tensor(3.0), |y: &Number<Concrete>| y.lt(10.0), |y| y * 2.0);
    let f = Function::stage(|x: &Number<_>| while_loop(x, |y: &Number<_>| y.lt(10.0), |y| y * 2.0), &tensor(3.0));
    let here = interpret(f.program(), vec![Plain(Array::scalar(3.0))]);
    assert_eq!(here[0].0, *y.array());
}
