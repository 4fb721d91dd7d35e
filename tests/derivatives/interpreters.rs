//! The small interpreters, and terms evaluated forwards.
//!
//! * Pushing a tangent through a term gives the result of forward mode, and the transpose of the reverse pass: for
//!   every program below, at first and second order.
//! * `check` accepts programs that run and refuses others, with the same words at the same line.
//! * `count` and `transcript` leave values alone; their reports are exact, and nest.

use std::thread;

use crate::panics::caught;

use crate::support::{assert_close, assert_near};
use polygrad::array::Rng;
use polygrad::base::Report;
use polygrad::direct::{grad, jvp, linearize, vjp};
use polygrad::inspect::{Family, Tally, count, transcript};
use polygrad::interpreters::tower::{ForwardLevel, ReverseLevel};
use polygrad::interpreters::{Count, Tower, Transcript};
use polygrad::tensor::{build1, concat, cond, fold, iterate, map, map_accum, map_accum_reverse, scan, tensor};
use polygrad::tree::{Tree, TreeMath};
use polygrad::{ADVal, BaseTensor, Concrete, Dual, Shapes, Tensor, check};

type Params<T> = (Tensor<T, 0>, Tensor<T, 1>, Tensor<T, 2>);

/// A program that runs in any interpreter.
trait Program {
    const NAME: &'static str;
    fn run<T: BaseTensor>(p: &Params<T>) -> Tensor<T, 1>;
}

/// Runs a law on every program.
macro_rules! programs {
    ($($name:ident |$s:ident, $v:ident, $m:ident| $body:expr;)*) => {
        $(
            #[allow(non_camel_case_types)]
            struct $name;
            impl Program for $name {
                const NAME: &'static str = stringify!($name);
                fn run<T: BaseTensor>(p: &Params<T>) -> Tensor<T, 1> {
                    let ($s, $v, $m) = (&p.0, &p.1, &p.2);
                    let _ = ($s, $v, $m);
                    $body
                }
            }
        )*
        macro_rules! each_program {
            ($law:ident) => { $( $law::<$name>(); )* };
        }
    };
}

programs! {
    elementwise |s, v, m| (v.sin() * v + v.exp().times(s)) / (v.square() + 1.0);
    one_used_twice |s, v, m| { let y = v.tanh(); &y * &y + &y };
    independent |s, v, m| Tensor::constant([1.0, 2.0]);
    passed_on |s, v, m| v.clone();
    masked |s, v, m| v.gt(0.2).select(v.sqrt(), 0.0) + cond(s.gt(0.0), v, v.sin());
    half_masked |s, v, m| v.gt(0.2).select(v.square(), 7.0) - v.gt(0.2).select(3.0, v.square());
    products |s, v, m| m.t().matmul(m).matvec(&m.sum_outer()) + m.sum_axis(0).times(s);
    half_products |s, v, m| Tensor::<_, 2>::constant([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]]).matvec(v);
    views |s, v, m| m.permute([1, 0]).slice(0, 1..3).pad([(1, 0), (0, 2)]).reverse(1).flatten();
    windows |s, v, m| v.window::<2>(0, 2, 1).sum_axis(1).square();
    gathered |s, v, m| v.take(&tensor([2, 0, 2, 9]).lift_to()) * m.at([1]).at([0]).broadcast(4);
    scattered |s, v, m| v.sin().scatter_add([&tensor([1, 1, 7]).lift_to()], &v.square());
    scattered_into_zeros |s, v, m| Tensor::zeros([5]).scatter_add([&tensor([4, 1, 4]).lift_to()], v);
    scattered_constants |s, v, m| v.square().scatter_add([&tensor([0]).lift_to()], &Tensor::constant([5.0]));
    joined |s, v, m| concat(0, [&v.square(), &Tensor::constant([3.0]), &m.at([0])]);
    integers |s, v, m| v.times(&v.argmax().to_float()) + v.floor();
    stopped |s, v, m| v.stop_gradient() * v;
    loop_over_reads |s, v, m| build1(4, |i| v.at([i]) * v.at([i - 1]) + s);
    loop_with_everything |s, v, m| {
        let (last, ys): (Tensor<_, 0>, Tensor<_, 1>) = map_accum(s.clone(), v, |h, x: &Tensor<_, 0>| {
            let inner = fold(h.clone(), v, |c, w: &Tensor<_, 0>| (c * w + x).sin());
            let h = (inner * x + m.sum()).tanh();
            (h.clone(), &h * x)
        });
        ys.times(&last)
    };
    loop_backwards |s, v, m| {
        let (_, ys): (Tensor<_, 0>, Tensor<_, 1>) =
            map_accum_reverse(s.clone(), m, |h, row: &Tensor<_, 1>| ((&h * row.sum()).sin(), h));
        ys
    };
    loop_updating_in_place |s, v, m| {
        iterate(3, Tensor::zeros([3]), |i, c| {
            c.scatter_add([&i.reshape([1])], &v.at([i]).sin().reshape([1]))
        })
    };
    loop_of_constant_carry |s, v, m| {
        let ones = Tensor::<_, 1>::ones([3]);
        let (last, ys): (Tensor<_, 0>, Tensor<_, 1>) =
            map_accum(Tensor::scalar(2.0), &ones, |h, o: &Tensor<_, 0>| (&h + o, h * s));
        ys.times(&last)
    };
    loop_over_integers |s, v, m| {
        fold((v.clone(), Tensor::<_, 0, i64>::scalar(0)), m, |(c, k), row: &Tensor<_, 1>| (c * row + row.at([&k]).broadcast(3), k + 1)).0
    };
    loop_without_trips |s, v, m| {
        let (last, ys): (Tensor<_, 0>, Tensor<_, 1>) =
            map_accum(s * s, v.slice(0, 0..0), |h, x: &Tensor<_, 0>| (&h * x, h.sin()));
        concat(0, [&ys, &last.reshape([1])])
    };
    scanned |s, v, m| scan(s.clone(), v, |c, x: &Tensor<_, 0>| c * x);
    mapped |s, v, m| map(m, |row: &Tensor<_, 1>| row.softmax(0).dot(v));
}

/// What keeps the programs above short.
trait Short<T: BaseTensor> {
    /// Rank 0 repeated `n` times.
    fn broadcast(&self, n: usize) -> Tensor<T, 1>;
}
impl<T: BaseTensor> Short<T> for Tensor<T, 0> {
    fn broadcast(&self, n: usize) -> Tensor<T, 1> {
        self.replicate(n)
    }
}
trait LiftTo {
    /// Known indices in any interpreter.
    fn lift_to<T: BaseTensor>(&self) -> Tensor<T, 1, i64>;
}
impl LiftTo for Tensor<Concrete, 1, i64> {
    fn lift_to<T: BaseTensor>(&self) -> Tensor<T, 1, i64> {
        Tensor::constant(self.array().clone())
    }
}

fn params() -> Params<Concrete> {
    (tensor(0.3), tensor([0.5, -0.2, 0.9]), tensor([[0.1, 0.7, -0.4], [0.2, 0.6, 0.3]]))
}

fn direction(seed: u64) -> Params<Concrete> {
    let mut rng = Rng::new(seed);
    params().map(&mut |leaf| rng.uniform(leaf.shape(), -1.0, 1.0))
}

/// The constants of any interpreter.
fn known<T: BaseTensor, P: Tree<Concrete>>(p: &P) -> P::With<T> {
    p.map(&mut |leaf| T::constant(leaf.clone()))
}

fn forward_agrees<P: Program>() {
    let (x, x_dot) = (params(), direction(1));
    let (y, y_dot) = jvp(P::run, &x, &x_dot);
    let (z, pushforward) = linearize(P::run, &x);
    assert_close(P::NAME, y.array(), z.array(), 0.0);
    assert_close(P::NAME, y_dot.array(), pushforward(&x_dot).array(), 1e-13);
    // Linear, and callable again.
    let other = direction(2);
    let both = pushforward(&x_dot.add_scaled(3.0, &other));
    let apart = pushforward(&x_dot).add_scaled(3.0, &pushforward(&other));
    assert_close(P::NAME, both.array(), apart.array(), 1e-12);
}

#[test]
fn pushing_forwards_is_forward_mode() {
    each_program!(forward_agrees);
}

fn transposes_agree<P: Program>() {
    let (x, x_dot) = (params(), direction(3));
    let (y, pullback) = vjp(P::run, &x);
    let ct = Tensor::from_raw(Rng::new(4).uniform(&y.shape(), -1.0, 1.0));
    let (_, pushforward) = linearize(P::run, &x);
    let (left, right) = (pushforward(&x_dot).dot(&ct), TreeMath::dot(&x_dot, &pullback(&ct)));
    assert_near(P::NAME, left.item(), right.item(), 1e-12);
}

#[test]
fn pushing_forwards_is_the_transpose_of_pulling_back() {
    each_program!(transposes_agree);
}

/// The squared length of a directional derivative, by the term and by forward mode: programs to differentiate again.
fn by_term<P: Program, T: BaseTensor>(x: &Params<T>) -> Tensor<T, 0> {
    linearize(P::run, x).1(&known(&direction(5))).square().sum()
}
fn by_dual<P: Program, T: BaseTensor>(x: &Params<T>) -> Tensor<T, 0> {
    jvp(P::run, x, &known(&direction(5))).1.square().sum()
}

fn second_order_agrees<P: Program>() {
    let x = params();
    let expected = grad(by_dual::<P, ADVal<Concrete>>, &x);
    let check = |g: Params<Concrete>| {
        expected.zip_map(&g, &mut |a, b| {
            assert_close(P::NAME, a, b, 1e-12);
            a.clone()
        });
    };
    check(grad(by_term::<P, ADVal<Concrete>>, &x));
    let along = jvp(by_term::<P, Dual<Concrete>>, &x, &direction(6)).1.item();
    assert_near(P::NAME, along, TreeMath::dot(&expected, &direction(6)).item(), 1e-12);
    let (_, pushforward) = linearize(by_term::<P, ADVal<Concrete>>, &x);
    assert_near(P::NAME, along, pushforward(&direction(6)).item(), 1e-12);
}

#[test]
fn pushing_forwards_is_differentiable() {
    each_program!(second_order_agrees);
}

#[test]
fn host_branches_in_a_loop_push_their_own_body() {
    fn f<T: BaseTensor>((h, w, m): &Params<T>) -> Tensor<T, 0> {
        let (a, b) = (w.at([0]), m.at([0, 0]));
        fold(h.clone(), w, |h, x: &Tensor<T, 0>| if x.item() > 0.0 { (h * &a) * x.sin() } else { (h * &b) * x.cos() })
    }
    let (x, x_dot) = (params(), direction(7));
    let pushed = linearize(f, &x).1(&x_dot);
    assert_near("branches", pushed.item(), jvp(f, &x, &x_dot).1.item(), 1e-14);
}

#[test]
fn long_chains_push_in_a_small_stack() {
    let (_, pushforward) = linearize(
        |x: &Tensor<_, 0>| {
            let mut y = x.clone();
            for _ in 0..300_000 {
                y = &y * 0.5 + x;
            }
            y
        },
        &tensor(1.0),
    );
    // The derivative of the sum of 2^-k.
    assert_near("chain", pushforward(&tensor(1.0)).item(), 2.0, 1e-12);
}

/// The words of a panic that is expected.
fn words<R>(f: impl FnOnce() -> R) -> String {
    caught(f).message
}

#[test]
fn tangents_that_do_not_fit_are_refused() {
    let (_, pushforward) = linearize(|x: &Tensor<_, 1>| x.square(), &tensor([1.0, 2.0]));
    let said = words(|| pushforward(&tensor([1.0])));
    let sentence = "linearize: a tangent must have the shape and element type of its argument, but the argument is f64 [2] and the \
                    tangent f64 [1]; map the argument to its tangent";
    assert!(said.starts_with(sentence), "{said}");
    let (_, pushforward) = linearize(|x: &Vec<Tensor<_, 1>>| x[0].square(), &vec![tensor([1.0])]);
    let said = words(|| pushforward(&Vec::new()));
    let sentence =
        "linearize: each leaf of the argument needs a tangent, but there are 1 leaves and 0 tangents; map the argument";
    assert!(said.starts_with(sentence), "{said}");
}

#[test]
fn values_of_another_differentiation_are_refused() {
    grad(
        |x: &Tensor<ADVal<Concrete>, 0>| {
            let (_, pushforward) = linearize(|y: &Tensor<_, 0>| x * y, &tensor(2.0));
            assert!(words(|| pushforward(&tensor(1.0))).contains("a differentiated value from outside"));
            x.clone()
        },
        &tensor(3.0),
    );
}

// Levels that are known at run time.

type Level = Tower<Concrete>;

/// The values of a tree as leaves of a tower.
fn raised(p: &Params<Concrete>) -> Vec<Level> {
    p.leaves().into_iter().map(Tower::of).collect()
}

/// A program at the leaves of its parameters.
fn at_leaves<P: Program>(leaves: &[Level]) -> Level {
    let [s, v, m] = leaves else { unreachable!("three leaves") };
    let of = |leaf: &Level| leaf.clone();
    P::run(&(Tensor::from_raw(of(s)), Tensor::from_raw(of(v)), Tensor::from_raw(of(m)))).into_raw()
}

/// The derivative along a direction at a level of its own.
fn along_direction<P: Program>(x: &[Level], x_dot: &[Level]) -> Level {
    let along = ForwardLevel::start();
    let inputs: Vec<Level> = x.iter().zip(x_dot).map(|(x, d)| along.input(x, d)).collect();
    let (y, y_dot) = along.parts(&at_leaves::<P>(&inputs));
    y_dot.unwrap_or_else(|| Level::zeros(y.shape(), y.dtype()))
}

/// The gradient of the squared length of a derivative along a direction, at a level of its own.
fn gradient_of_length<P: Program>(x: &[Level], x_dot: &[Level]) -> Vec<Level> {
    let mut back = ReverseLevel::start();
    let inputs: Vec<Level> = x.iter().map(|x| back.input(x)).collect();
    let length = Tensor::<_, 1>::from_raw(along_direction::<P>(&inputs, x_dot)).square().sum();
    let (_, pullback) = back.ended(&[length.into_raw()]);
    pullback.pull(vec![Some(Level::constant(polygrad::Array::scalar(1.0)))])
}

fn levels_agree<P: Program>() {
    let (x, d, w) = (params(), direction(5), direction(6));
    let (here, d_leaves) = (raised(&x), raised(&d));
    let (y, y_dot) = jvp(P::run, &x, &d);
    assert_close(P::NAME, &at_leaves::<P>(&here).into_base(), y.array(), 0.0);
    assert_close(P::NAME, &along_direction::<P>(&here, &d_leaves).into_base(), y_dot.array(), 1e-13);
    let expected = grad(by_dual::<P, ADVal<Concrete>>, &x);
    for (found, expected) in gradient_of_length::<P>(&here, &d_leaves).into_iter().zip(expected.leaves()) {
        assert_close(P::NAME, &found.into_base(), &expected, 1e-12);
    }
    // A third level, around both.
    let along = ForwardLevel::start();
    let inputs: Vec<Level> = here.iter().zip(raised(&w)).map(|(x, w)| along.input(x, &w)).collect();
    let third = jvp(|x| grad(by_dual::<P, ADVal<Dual<Concrete>>>, x), &x, &w).1;
    for (found, expected) in gradient_of_length::<P>(&inputs, &d_leaves).iter().zip(third.leaves()) {
        let (value, dot) = along.parts(found);
        let dot = dot.map_or_else(|| Concrete::zeros(value.shape(), value.dtype()), Tower::into_base);
        assert_close(P::NAME, &dot, &expected, 1e-11);
    }
}

#[test]
fn levels_of_a_tower_are_those_of_types() {
    each_program!(levels_agree);
}

/// A loop of which only a later trip depends on the number that is differentiated, by a choice of the host.
#[test]
fn a_level_that_a_later_trip_shows() {
    for outer in [false, true] {
        let around = outer.then(ForwardLevel::start);
        let one = Level::constant(polygrad::Array::scalar(1.0));
        let x: Level = match &around {
            Some(around) => around.input(&Level::constant(polygrad::Array::scalar(3.0)), &one),
            None => Level::constant(polygrad::Array::scalar(3.0)),
        };
        let mut back = ReverseLevel::start();
        let inner = Tensor::<Level, 0>::from_raw(back.input(&x));
        let xs = Tensor::<Level, 1>::constant([1.0, -1.0, 2.0, -2.0]);
        let y = fold(
            Tensor::scalar(1.0),
            &xs,
            |h: Tensor<Level, 0>, x: &Tensor<Level, 0>| {
                if x.item() < 0.0 { h * &inner * x } else { h.square() + x }
            },
        );
        let (values, pullback) = back.ended(&[y.into_raw()]);
        let slope = pullback.pull(vec![Some(one.clone())]).swap_remove(0);
        // (((1^2 + 1) x (-1))^2 + 2) x (-2) = -8 x^3 - 4 x.
        let base = |value: &Level| value.peek().and_then(|a| a.item::<f64>().ok());
        assert_eq!((base(&values[0]), base(&slope)), (Some(-228.0), Some(-220.0)));
        if let Some(around) = around {
            let second = around.parts(&slope).1.map(Tower::into_base);
            assert_eq!(second, Some(polygrad::Array::scalar(-144.0)));
        }
    }
}

// Shapes.

fn shapes_agree<P: Program>() {
    let run = P::run::<Concrete>(&params());
    let checked = check(P::run, &params()).expect(P::NAME);
    assert_eq!(checked.shape(), run.shape(), "{}", P::NAME);
    // And of the gradient, of which nothing is computed either.
    let g = check(|p: &Params<_>| grad(|p: &Params<_>| P::run(p).square().sum(), p), &params()).expect(P::NAME);
    assert_eq!((g.0.shape(), g.1.shape(), g.2.shape()), ([], [3], [2, 3]));
    let pushed = check(|p: &Params<_>| linearize(P::run, p).1(p), &params()).expect(P::NAME);
    assert_eq!(pushed.shape(), run.shape(), "{}", P::NAME);
}

#[test]
fn shapes_are_those_of_evaluation() {
    each_program!(shapes_agree);
}

fn mistaken<T: BaseTensor>((a, b): &(Tensor<T, 2>, Tensor<T, 2>)) -> Tensor<T, 2> {
    let rows = map(a, |row: &Tensor<T, 1>| row.sin());
    rows.matmul(b)
}

#[test]
fn the_first_mistake_is_reported_at_its_line() {
    let (a, b) = (Tensor::<Concrete, 2>::zeros([2, 3]), Tensor::zeros([2, 3]));
    let panic = caught(|| mistaken(&(a.clone(), b.clone())));
    let error = check(mistaken, &(a.clone(), b.clone())).unwrap_err();
    let place = error.place.clone().expect("the hook of this test hands on");
    assert_eq!((&error.message, &place.file, place.line), (&panic.message, &panic.file, panic.line));
    assert_eq!((place.file.as_str(), place.column), (file!(), panic.column));
    assert_eq!(error.to_string(), format!("{place}: {}", panic.message));
    // The same inside of a gradient, and from shapes alone.
    let loss = |p: &(Tensor<_, 2>, Tensor<_, 2>)| mistaken(p).sum();
    assert_eq!(check(|p: &(Tensor<_, 2>, Tensor<_, 2>)| grad(loss, p), &(a, b)).unwrap_err(), error);
    let vast = Tensor::<Shapes, 2>::zeros([1 << 20, 1 << 20]);
    assert_eq!(check(mistaken, &(vast.clone(), vast.clone())).unwrap().shape(), [1 << 20, 1 << 20]);
}

#[test]
fn loops_are_checked() {
    let xs = tensor([1.0, 2.0]);
    let grows = check(|x: &Tensor<_, 1>| fold(x.clone(), x, |c, _: &Tensor<_, 0>| concat(0, [&c, &c])), &xs);
    let said = words(|| fold(xs.clone(), &xs, |c, _: &Tensor<_, 0>| concat(0, [&c, &c])));
    assert_eq!(grows.unwrap_err().message, said);
}

#[test]
fn programs_that_look_at_numbers_are_refused() {
    let looks = |x: &Tensor<_, 0>| if x.item() > 0.0 { x.clone() } else { -x };
    assert!(check(looks, &tensor(1.0)).unwrap_err().message.starts_with("item: needs a number"));
}

#[test]
fn checks_nest_and_constants_enter() {
    let inner = |x: &Tensor<Shapes, 1>| {
        let error = check(|y: &Tensor<_, 1>| y + Tensor::<_, 1>::ones([7]), x).unwrap_err();
        assert!(error.message.starts_with("add: "), "{error}");
        panic!("after {}", 1)
    };
    let x = tensor([1.0, 2.0]);
    // A panic that is no mistake of the program is passed on.
    assert_eq!(words(|| check(|x: &Tensor<_, 1>| -> Tensor<Shapes, 1> { inner(x) }, &x)), "after 1");
    let w = tensor([1.0, 2.0]);
    assert_eq!(check(|x: &Tensor<_, 1>| x * w.lift(), &x).unwrap().shape(), [2]);
}

#[test]
fn other_panics_are_as_before() {
    let of_another_thread = check(
        |x: &Tensor<_, 0>| {
            let thread = thread::spawn(|| words(|| panic!("elsewhere")));
            assert_eq!(thread.join().expect("the panic was caught"), "elsewhere");
            x.clone()
        },
        &tensor(1.0),
    );
    assert_eq!(of_another_thread.map(|y| y.shape()), Ok([]));
    assert_eq!(words(|| panic!("afterwards")), "afterwards");
}

// Counts.

fn counting_leaves_values_alone<P: Program>() {
    let x = params();
    let plain = P::run(&x);
    let (y, tally) = count(P::run, &x);
    assert_eq!(y, plain, "{}", P::NAME);
    // Nested counts see the same operations.
    assert_eq!(counted_twice::<P>(&x), [tally.clone(), tally.clone()], "{}", P::NAME);
    // Around a gradient and inside of one.
    let loss = |p: &Params<_>| P::run(p).square().sum();
    let g = grad(loss, &x);
    let (h, cost) = count(|p: &Params<_>| grad(|p: &Params<_>| P::run(p).square().sum(), p), &x);
    let same = |h: &Params<Concrete>| g.0 == h.0 && g.1 == h.1 && g.2 == h.2;
    assert!(same(&h), "{}", P::NAME);
    assert!(same(&grad(|p: &Params<_>| count(|p: &Params<_>| P::run(p).square().sum(), p).0, &x)));
    // A gradient costs a small multiple of the program.
    let (work, all) = (tally.total().work + 30, cost.total().work);
    assert!(all <= 6 * work, "{}: {work} for the value, {all} for the gradient\n{tally}\n{cost}", P::NAME);
}

/// The counts of a count within a count.
fn counted_twice<P: Program>(x: &Params<Concrete>) -> [Tally; 2] {
    let mut inner = Tally::default();
    let (_, outer) = count(
        |p: &Params<Count<Concrete>>| {
            let (y, tally) = count(|p: &Params<Count<Count<Concrete>>>| P::run(p), p);
            inner = tally;
            y
        },
        x,
    );
    [inner, outer]
}

#[test]
fn counts_do_not_change_programs() {
    each_program!(counting_leaves_values_alone);
}

#[test]
fn counts_are_exact() {
    let (a, b) = (Tensor::<Concrete, 2>::ones([2, 3]), Tensor::ones([3, 5]));
    let (_, tally) = count(|(a, b): &(Tensor<_, 2>, Tensor<_, 2>)| a.matmul(b).sin().sum(), &(a, b));
    let cost = |family| {
        let cost = tally.of(family);
        (cost.calls, cost.work, cost.bytes)
    };
    assert_eq!(cost(Family::Contract), (1, 2 * 2 * 3 * 5, 8 * (6 + 15 + 10)));
    assert_eq!(cost(Family::Unary), (1, 10, 8 * 20));
    assert_eq!(cost(Family::Linear), (1, 10, 8 * 11));
    assert_eq!(tally.total().calls, 3);
    let table = "\
family           calls            work           bytes
unary                1              10             160
linear               1              10              88
contract             1              60             248
total                3              80             496";
    assert_eq!(tally.to_string(), table);
    // A slice reads what it keeps, a gather what it finds, and a mask is a byte an element.
    let x = Tensor::<Concrete, 1>::ones([1000]);
    let cost = |f: fn(&Tensor<Count<Concrete>, 1>) -> Tensor<Count<Concrete>, 1>| count(f, &x).1.total();
    assert_eq!(cost(|x| x.slice(0, 3..5)).bytes, 8 * 4);
    assert_eq!(cost(|x| x.take(&tensor([1, 2]).lift_to())).bytes, 8 * (2 + 4));
    let compared = count(|x: &Tensor<_, 1>| x.gt(x), &x).1.total();
    assert_eq!((compared.work, compared.bytes), (1000, 16_000 + 1000));
}

/// Law: an update of a value that has another owner costs a copy more.
#[test]
fn an_update_of_a_shared_value_counts_its_copy() {
    type Vector = Tensor<Count<Concrete>, 1>;
    let cost = |f: fn(Vector, &Vector) -> (Vector, Vector)| {
        let (_, tally) = count(|x: &Vector| f(x + 1.0, &x.slice(0, 0..1)), &Tensor::ones([1000]));
        let cost = tally.of(Family::Scatter);
        (cost.calls, cost.work, cost.bytes)
    };
    let alone = cost(|base, v| (base.scatter_add([&tensor([3]).lift_to()], v), v.clone()));
    assert_eq!(alone, (1, 1, 8 * 4));
    let shared = cost(|base, v| (base.clone().scatter_add([&tensor([3]).lift_to()], v), base));
    assert_eq!(shared, (1, 1001, 8 * 4 + 16 * 1000));
    // A reshape has the elements of its operand, and a loop leaves a captured value and its start alone.
    let reshaped = cost(|base, v| (base.reshape([1000]).scatter_add([&tensor([3]).lift_to()], v), base));
    assert_eq!(reshaped, shared);
    let carried = cost(|base, v| {
        let sum = fold(base.clone(), 0..3_usize, |sum: Vector, _| sum.scatter_add([&tensor([3]).lift_to()], v));
        (sum, base)
    });
    assert_eq!(carried, (3, 1003, 3 * 8 * 4 + 16 * 1000));
}

#[test]
fn reading_in_a_loop_has_a_linear_gradient() {
    let cost = |n: usize| {
        let reads = |x: &Tensor<_, 1>| -> Tensor<ADVal<Count<Concrete>>, 0> {
            build1(x.len(), |i| x.at([i]) * x.at([i + 1])).sum()
        };
        count(|x: &Tensor<_, 1>| grad(reads, x), &Tensor::ones([n])).1.total()
    };
    let (small, large) = (cost(100), cost(1000));
    assert!(large.bytes <= 10 * small.bytes, "{small:?} and {large:?}");
    assert!(large.work <= 10 * small.work, "{small:?} and {large:?}");
}

#[test]
fn counts_depend_on_shapes_alone() {
    let f = |m: &Tensor<_, 2>| m.softmax(1).matmul(&m.t()).sum();
    let (_, computed) = count(f, &tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]));
    let f = |m: &Tensor<_, 2>| m.softmax(1).matmul(&m.t()).sum();
    let (y, dry) = count(f, &Tensor::<Shapes, 2>::zeros([2, 3]));
    assert_eq!((computed, y.shape()), (dry, []));
}

#[test]
fn what_runs_outside_of_the_verb_is_not_counted() {
    let (y, tally) = count(|x: &Tensor<_, 0>| x.clone(), &tensor(1.0));
    assert_eq!((y.item(), tally.total().calls), (1.0, 0));
    // An abandoned count leaves nothing behind.
    words(|| count(|x: &Tensor<_, 0>| -> Tensor<Count<Concrete>, 0> { panic!("{x}") }, &tensor(1.0)));
    let before = Tensor::<Count<Concrete>, 0>::scalar(2.0);
    let (_, tally) = count(|x: &Tensor<_, 0>| before.sin() + x, &tensor(1.0));
    assert_eq!((tally.of(Family::Unary).calls, tally.of(Family::Binary).calls), (1, 1));
}

// Transcripts.

#[test]
fn a_transcript_is_a_line_an_operation() {
    let x = (tensor([0.5, 2.0]), tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1, 0]));
    let (_, text) = transcript(
        |(v, m, ix): &(Tensor<_, 1>, Tensor<_, 2>, Tensor<_, 1, i64>)| {
            let y = m.matvec(v).atan2(v);
            let z = y.gt(1.0).select(&y, -v).take(ix).scatter_add([ix], v);
            (concat(0, [&z, &Tensor::constant([1.0, 2.0])]), v.argmax().to_float::<f64>(), m.t(), ix % 2)
        },
        &x,
    );
    let expected = "\
t0 : f64 [2] = input
t1 : f64 [2, 2] = input
t2 : i64 [2] = input
t3 : f64 [2] = matvec t1 t0
t4 : f64 [2] = atan2 t3 t0
t5 : bool [2] = t4 > (full 1.0 [2])
t6 : f64 [2] = neg t0
t7 : f64 [2] = select t5 t4 t6
t8 : f64 [2] = gather t7 [t2]
t9 : f64 [2] = scatter_add t8 [t2] t0
t10 : f64 [4] = concat axis=0 [t9, (constant f64 [2])]
t11 : i64 [] = argmax axis=0 t0
t12 : f64 [] = to_float f64 t11
t13 : f64 [2, 2] = permute [1, 0] t1
t14 : i64 [2] = rem t2 (full 2 [2])
return t10, t12, t13, t14
";
    assert_eq!(text, expected);
}

#[test]
fn of_a_loop_the_first_trip_is_written() {
    fn f<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let (last, ys): (Tensor<T, 0>, Tensor<T, 1>) =
            map_accum_reverse(Tensor::scalar(1.0), x, |h, x: &Tensor<T, 0>| {
                let h = iterate(3, h, |_, c| c * x);
                (h.clone(), h.sin())
            });
        last + ys.sum()
    }
    let expected = "\
t0 : f64 [2] = input
loop 2, reversed: t1 : f64 [] from 1.0, t2 : f64 [] of t0
    t3 : i64 [3] = iota 3
    loop 3: t4 : f64 [] from t1, t5 : i64 [] of t3
        t6 : f64 [] = t4 * t2
        next [t6], output []
    t7 : f64 [] = end
    t8 : f64 [] = sin t7
    next [t7], output [t8]
t9 : f64 [], t10 : f64 [2] = end
t11 : f64 [] = sum t10
t12 : f64 [] = t9 + t11
return t12
";
    let x = tensor([1.0, 2.0]);
    assert_eq!(transcript(f, &x).1, expected);
    // The same text from an interpreter that runs a step once, and, but for sizes, of a loop without trips.
    let at_shapes = transcript(f, &Tensor::<Shapes, 1>::zeros([2])).1;
    assert_eq!(at_shapes, expected.replace("from 1.0", "from (constant f64 [])"));
    let until_sum = |text: &str| text.split("t11").next().unwrap_or_default().to_string();
    let empty = transcript(f, &x.slice(0, 0..0)).1.replace("[0]", "[2]").replace("loop 0", "loop 2");
    assert_eq!(until_sum(&empty), until_sum(expected));
}

fn writing_leaves_values_alone<P: Program>() {
    let x = params();
    let (y, text) = transcript(P::run, &x);
    assert_eq!(y, P::run(&x), "{}", P::NAME);
    assert_eq!(transcript(P::run, &x).1, text, "{}", P::NAME);
    let g = grad(|p: &Params<_>| P::run(p).square().sum(), &x);
    let (h, _) = transcript(|p: &Params<_>| grad(|p: &Params<_>| P::run(p).square().sum(), p), &x);
    assert!(g.1 == h.1 && g.2 == h.2, "{}", P::NAME);
    let h = grad(|p: &Params<_>| transcript(|p: &Params<_>| P::run(p).square().sum(), p).0, &x);
    assert!(g.1 == h.1 && g.2 == h.2, "{}", P::NAME);
}

#[test]
fn transcripts_do_not_change_programs() {
    each_program!(writing_leaves_values_alone);
}

#[test]
fn a_gradient_can_be_written_down() {
    let (_, text) = transcript(|x: &Tensor<_, 1>| grad(|x: &Tensor<_, 1>| x.sin().sum(), x), &tensor([1.0, 2.0]));
    let expected = "\
t0 : f64 [2] = input
t1 : f64 [2] = sin t0
t2 : f64 [2] = cos t0
t3 : f64 [] = sum t1
t4 : f64 [2] = replicate [2] 1.0
t5 : f64 [2] = t4 * t2
return t5
";
    assert_eq!(text, expected);
    // An outer transcript sees what an inner one passes down.
    let nested =
        |x: &Tensor<Transcript<Concrete>, 0>| transcript(|x: &Tensor<Transcript<Transcript<Concrete>>, 0>| x.exp(), x);
    let mut inner = String::new();
    let (_, outer) = transcript(
        |x: &Tensor<_, 0>| {
            let (y, text) = nested(x);
            inner = text;
            y
        },
        &tensor(0.0),
    );
    assert_eq!(inner, outer);
}
