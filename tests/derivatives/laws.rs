//! Laws over the operation tables: every row and every piece of data obeys them, by existing.
//!
//! * `rows_match_finite_differences`: `f(x + h) - f(x - h) ~ 2 h f'(x)` for every unary and binary row.
//! * `forward_and_reverse_are_dual`: `dot(jvp(x_dot), ct) == dot(x_dot, vjp(ct))`, rows and operations.
//! * `second_derivatives_agree`: four nestings of the interpreters give one second derivative.
//! * `linear_operations_have_adjoints`, `adjoints_are_involutions`, the same for contractions.
//! * `batching_commutes_with_stacking`, `composition_agrees`.
//! * `branches_not_taken_send_nothing`: guards, over all rows and many singular points.

use crate::support::*;
use polygrad::array::Rng;
use polygrad::interpreters::adval::{ADVal, Sweep};
use polygrad::interpreters::dual::{Dual, Forward};
use polygrad::ops::{Binary, Guard, Linear, Unary, View};
use polygrad::shape::{Shape, size};
use polygrad::{Array, BaseTensor, Concrete, DType};
use quickcheck::QuickCheck;

/// Runs a law on many seeds that quickcheck draws; it prints the one that fails.
fn for_seeds(count: u64, law: fn(u32)) {
    QuickCheck::new().tests(count).quickcheck(law);
}

fn sample(rng: &mut Rng, (lo, hi): (f64, f64), shape: &[usize]) -> Array {
    rng.uniform(shape, lo, hi)
}

/// Value and tangent of a function of one value.
fn forward<T: BaseTensor>(x: &T, x_dot: &T, f: &dyn Fn(&Dual<T>) -> Dual<T>) -> (T, T) {
    let pass = Forward::new();
    pass.result(&f(&pass.input(x, x_dot)))
}

/// Value and cotangent of a function of one value; the cotangent of the result is made from its value.
fn backward<T: BaseTensor>(x: &T, f: &dyn Fn(&ADVal<T>) -> ADVal<T>, ct: &dyn Fn(&T) -> T) -> (T, T) {
    let mut pass = Sweep::new();
    let y = f(&pass.input(x));
    let ct = ct(y.primal());
    let x_bar = pass.pull(std::slice::from_ref(&y), vec![ct]).remove(0);
    (y.primal().clone(), x_bar)
}

fn ones_like<T: BaseTensor>(y: &T) -> T {
    T::constant(Array::ones(y.shape(), y.dtype()))
}

#[test]
fn rows_match_finite_differences() {
    let mut rng = Rng::new(1);
    let shape = [17];
    let h = 1e-5;
    let step = Array::full(&shape, h);
    let derivative = |f: &dyn Fn(&Array) -> Array, x: &Array| {
        let up = f(&x.binary(Binary::Add, &step));
        let down = f(&x.binary(Binary::Sub, &step));
        up.binary(Binary::Sub, &down).binary(Binary::Div, &Array::full(&shape, 2.0 * h))
    };
    for op in Unary::ALL {
        let x = sample(&mut rng, op.domain(), &shape);
        let fd = derivative(&|x| x.unary(*op), &x);
        let (_, d) = forward(&x, &ones_like(&x), &|x| x.unary(*op));
        assert_close(op.name(), &fd, &d, 1e-8);
    }
    for op in Binary::ALL {
        let [dx, dy] = op.domain();
        let (x, y) = (sample(&mut rng, dx, &shape), sample(&mut rng, dy, &shape));
        let (_, left) = forward(&x, &ones_like(&x), &|x| x.binary(*op, &Dual::constant(y.clone())));
        assert_close(op.name(), &derivative(&|x| x.binary(*op, &y), &x), &left, 1e-8);
        let (_, right) = forward(&y, &ones_like(&y), &|y| Dual::constant(x.clone()).binary(*op, y));
        assert_close(op.name(), &derivative(&|y| x.binary(*op, y), &y), &right, 1e-8);
    }
}

#[test]
fn rows_agree_in_both_float_types() {
    let mut rng = Rng::new(2);
    for op in Unary::ALL {
        let x = sample(&mut rng, op.domain(), &[9]);
        let narrow = x.cast::<f32>();
        let wide = narrow.cast::<f64>();
        let (y, d) = forward(&wide, &ones_like(&wide), &|x| x.unary(*op));
        let (y32, d32) = forward(&narrow, &ones_like(&narrow), &|x| x.unary(*op));
        assert_eq!((y32.dtype(), d32.dtype()), (DType::F32, DType::F32));
        assert_close(op.name(), &y, &y32.cast::<f64>(), 1e-5);
        assert_close(op.name(), &d, &d32.cast::<f64>(), 1e-5);
    }
}

#[test]
fn forward_and_reverse_are_dual() {
    let mut rng = Rng::new(3);
    for op in Unary::ALL {
        let x = sample(&mut rng, op.domain(), &[5]);
        let (x_dot, ct) = (random(&mut rng, &[5]), random(&mut rng, &[5]));
        let (y, y_dot) = forward(&x, &x_dot, &|x| x.unary(*op));
        let (z, x_bar) = backward(&x, &|x| x.unary(*op), &|_| ct.clone());
        assert_close(op.name(), &y, &z, 0.0);
        assert_near(op.name(), inner(&y_dot, &ct), inner(&x_dot, &x_bar), 1e-12);
    }
    for op in Binary::ALL {
        let [dx, dy] = op.domain();
        let (x, y) = (sample(&mut rng, dx, &[5]), sample(&mut rng, dy, &[5]));
        let (x_dot, y_dot, ct) = (random(&mut rng, &[5]), random(&mut rng, &[5]), random(&mut rng, &[5]));
        let pass = Forward::new();
        let (_, z_dot) = pass.result(&pass.input(&x, &x_dot).binary(*op, &pass.input(&y, &y_dot)));
        let mut pass = Sweep::new();
        let (u, v) = (pass.input(&x), pass.input(&y));
        let bars = pass.pull(&[u.binary(*op, &v)], vec![ct.clone()]);
        let right = inner(&x_dot, &bars[0]) + inner(&y_dot, &bars[1]);
        assert_near(op.name(), inner(&z_dot, &ct), right, 1e-12);
    }
}

#[test]
fn second_derivatives_agree() {
    let mut rng = Rng::new(4);
    for op in Unary::ALL {
        let x = sample(&mut rng, op.domain(), &[6]);
        let h = 1e-4;
        let first = |x: &Array| forward(x, &ones_like(x), &|x| x.unary(*op)).1;
        let step = Array::full(&[6], h);
        let fd = first(&x.binary(Binary::Add, &step))
            .binary(Binary::Sub, &first(&x.binary(Binary::Sub, &step)))
            .binary(Binary::Div, &Array::full(&[6], 2.0 * h));
        let forward_forward = forward(&x, &ones_like(&x), &|x| forward(x, &ones_like(x), &|x| x.unary(*op)).1).1;
        let forward_reverse = forward(&x, &ones_like(&x), &|x| backward(x, &|x| x.unary(*op), &ones_like).1).1;
        let reverse_forward = backward(&x, &|x| forward(x, &ones_like(x), &|x| x.unary(*op)).1, &ones_like).1;
        let reverse_reverse = backward(&x, &|x| backward(x, &|x| x.unary(*op), &ones_like).1, &ones_like).1;
        assert_close(op.name(), &fd, &forward_forward, 1e-6);
        for other in [forward_reverse, reverse_forward, reverse_reverse] {
            assert_close(op.name(), &forward_forward, &other, 1e-13);
        }
    }
}

#[test]
fn linear_operations_have_adjoints() {
    for_seeds(500, |seed| {
        let rng = &mut Rng::new(seed.into());
        let shape = random_shape(rng, 4);
        let op = random_linear(rng, &shape);
        let (x, y) = (random(rng, op.input_shape()), random(rng, op.output_shape()));
        let adjoint = op.adjoint();
        assert_eq!(adjoint.adjoint(), op);
        assert_near(&op.to_string(), inner(&x.linear(&op), &y), inner(&x, &y.linear(&adjoint)), 1e-12);
        // The interpreters apply the operation and its adjoint.
        let (_, y_dot) = forward(&x, &x, &|x| x.linear(&op));
        assert_close(&op.to_string(), &y_dot, &x.linear(&op), 0.0);
        let (_, x_bar) = backward(&x, &|x| x.linear(&op), &|_| y.clone());
        assert_close(&op.to_string(), &x_bar, &y.linear(&adjoint), 0.0);
    });
}

#[test]
fn casts_have_adjoints() {
    let x = Array::from([1.5, -2.0]);
    let op = Linear::cast(&[2], DType::F64, DType::F32);
    let (y, x_bar) = backward(&x, &|x| x.linear(&op), &|_| Array::from([3.0f32, 4.0]));
    assert_eq!(y, Array::from([1.5f32, -2.0]));
    assert_eq!(x_bar, Array::from([3.0, 4.0]));
}

#[test]
fn contractions_have_adjoints() {
    for_seeds(500, |seed| {
        let rng = &mut Rng::new(seed.into());
        let op = random_contract(rng);
        let (a, b) = (random(rng, op.a.source()), random(rng, op.b.source()));
        let y = random(rng, op.output_shape());
        let value = inner(&Array::contract(&op, &a, &b), &y);
        let left = Array::contract(&op.adjoint_left(), &y, &b);
        let right = Array::contract(&op.adjoint_right(), &a, &y);
        let name = op.to_string();
        assert_near(&name, value, inner(&a, &left), 1e-12);
        assert_near(&name, value, inner(&b, &right), 1e-12);
        assert_close(&name, &Array::contract(&op, &a, &b), &Array::contract(&op.swapped(), &b, &a), 1e-13);
        // The interpreters apply the contraction in both arguments, forward and transposed.
        let (a_dot, b_dot) = (random(rng, op.a.source()), random(rng, op.b.source()));
        let pass = Forward::new();
        let (_, c_dot) = pass.result(&Dual::contract(&op, &pass.input(&a, &a_dot), &pass.input(&b, &b_dot)));
        assert_near(&name, inner(&c_dot, &y), inner(&a_dot, &left) + inner(&b_dot, &right), 1e-12);
        let mut pass = Sweep::new();
        let (u, v) = (pass.input(&a), pass.input(&b));
        let bars = pass.pull(&[ADVal::contract(&op, &u, &v)], vec![y]);
        assert_close(&name, &bars[0], &left, 0.0);
        assert_close(&name, &bars[1], &right, 0.0);
    });
}

#[test]
fn batching_commutes_with_stacking() {
    for_seeds(300, |seed| {
        let rng = &mut Rng::new(seed.into());
        let n = 1 + rng.below(3);
        let shape = random_shape(rng, 3);
        let op = random_linear(rng, &shape);
        let xs: Vec<Array> = (0..n).map(|_| random(rng, op.input_shape())).collect();
        let each: Vec<Array> = xs.iter().map(|x| x.linear(&op)).collect();
        assert_close(&op.to_string(), &stack(&each), &stack(&xs).linear(&op.batched(n)), 1e-13);

        let op = random_contract(rng);
        let (batch_a, batch_b) = (rng.below(2) == 0, rng.below(2) == 0);
        let a: Vec<Array> = (0..n).map(|_| random(rng, op.a.source())).collect();
        let b: Vec<Array> = (0..n).map(|_| random(rng, op.b.source())).collect();
        let at = |xs: &[Array], batch: bool, k: usize| xs[if batch { k } else { 0 }].clone();
        let each: Vec<Array> = (0..n).map(|k| Array::contract(&op, &at(&a, batch_a, k), &at(&b, batch_b, k))).collect();
        let side = |xs: &[Array], batch: bool| if batch { stack(xs) } else { xs[0].clone() };
        let all = Array::contract(&op.batched(n, batch_a, batch_b), &side(&a, batch_a), &side(&b, batch_b));
        assert_close(&op.to_string(), &stack(&each), &all, 1e-13);
    });
}

#[test]
fn composition_agrees() {
    for_seeds(2000, |seed| {
        let rng = &mut Rng::new(seed.into());
        let shape = random_shape(rng, 3);
        let first = random_linear(rng, &shape);
        let second = random_linear(rng, first.output_shape());
        if let Some(both) = second.after(&first) {
            let x = random(rng, &shape);
            assert_close(
                &format!("{second} after {first}"),
                &x.linear(&first).linear(&second),
                &x.linear(&both),
                1e-12,
            );
        }
    });
}

#[test]
fn composition_declines_rarely() {
    let mut rng = Rng::new(9);
    let mut composed = 0;
    let mut views = 0;
    while views < 2000 {
        let shape = random_shape(&mut rng, 3);
        let (first, second) = {
            let first = random_linear(&mut rng, &shape);
            let second = random_linear(&mut rng, first.output_shape());
            (first, second)
        };
        if let (Linear::Affine { .. }, Linear::Affine { .. }) = (&first, &second) {
            views += 1;
            composed += usize::from(second.after(&first).is_some());
        }
    }
    assert!(composed * 2 > views, "only {composed} of {views} pairs of views compose");
}

#[test]
fn views_look_through_views() {
    let mut rng = Rng::new(12);
    let mut composed = 0;
    for _ in 0..6000 {
        let mut shape = |rank: usize| -> Shape { (0..rng.below(rank + 1)).map(|_| 1 + rng.below(5)).collect() };
        let (source, middle, outermost) = (shape(2), shape(2), shape(2));
        let inner = random_view(&mut rng, &source, &middle);
        let outer = random_view(&mut rng, &middle, &outermost);
        let Some(both) = inner.after(&outer) else { continue };
        composed += 1;
        let sizes = Shape::from_slice(&outermost);
        for k in 0..size(&sizes) {
            let index: Shape = (0..sizes.len()).map(|a| k / size(&sizes[a + 1..]) % sizes[a]).collect();
            let expected = outer.at(&index).and_then(|middle| inner.at(&middle));
            assert_eq!(both.at(&index), expected, "{inner} after {outer} is {both}, at {index:?}");
        }
    }
    assert!(composed > 4000, "only {composed} of 6000 pairs compose");
}

/// A view that moves each axis of the iteration space by one step along an axis of the source, forwards or backwards,
/// some way from its start; other axes of the source stand still.
fn steps(rng: &mut Rng, shape: &[usize]) -> View {
    let rank = shape.len() + rng.below(2);
    let places = rng.permutation(rank);
    let mut source = vec![3; rank];
    let (mut matrix, mut offset) = (vec![0; rank * shape.len()], vec![1; rank]);
    for (axis, n) in shape.iter().enumerate() {
        let (place, start, forwards) = (places[axis], rng.below(3) as i64, rng.below(2) == 0);
        source[place] = n + rng.below(4);
        matrix[place * shape.len() + axis] = if forwards { 1 } else { -1 };
        offset[place] = start + if forwards { 0 } else { *n as i64 - 1 };
    }
    let view = View::affine(&source, shape, &matrix, &offset);
    let lo = rng.below(2);
    if rng.below(3) == 0 && !shape.is_empty() { view.clipped(0, lo, shape[0].max(lo)) } else { view }
}

#[test]
fn what_is_written_and_read_again_is_looked_through() {
    let mut rng = Rng::new(11);
    let mut composed = 0;
    for k in 0..3000 {
        let shape: Shape = (0..rng.below(4)).map(|_| 1 + rng.below(4)).collect();
        let written = steps(&mut rng, &shape);
        let source: Shape = (0..rng.below(3)).map(|_| 1 + rng.below(4)).collect();
        let first = Linear::affine(random_view(&mut rng, &source, &shape), written.clone());
        let wide: Shape = (0..rng.below(3)).map(|_| 1 + rng.below(4)).collect();
        let target: Shape = (0..rng.below(3)).map(|_| 1 + rng.below(4)).collect();
        let read = random_view(&mut rng, written.source(), &wide);
        let second = Linear::affine(read, random_view(&mut rng, &target, &wide));
        // The adjoint of the composite is the composite of the adjoints, the other way around.
        for (first, second) in [(first.clone(), second.clone()), (second.adjoint(), first.adjoint())] {
            let Some(both) = second.after(&first) else { continue };
            composed += 1;
            let x = random(&mut rng, first.input_shape());
            let expected = x.linear(&first).linear(&second);
            assert_close(&format!("{k}: {second} after {first}"), &expected, &x.linear(&both), 1e-12);
        }
    }
    assert!(composed > 4000, "only {composed} of 6000 pairs compose");
}

#[test]
fn gather_and_scatter_are_adjoint() {
    for_seeds(300, |seed| {
        let rng = &mut Rng::new(seed.into());
        let shape = random_shape(rng, 3);
        let common = random_shape(rng, 2);
        let count = rng.below(shape.len() + 1);
        let common = if count == 0 { Default::default() } else { common };
        // One in three indices or so is out of bounds, on either side.
        let ix: Vec<Array> = (0..count)
            .map(|k| {
                let draw = |_| rng.below(shape[k] + 4) as i64 - 2;
                Array::new(&common, (0..crate::support::count(&common)).map(draw).collect())
            })
            .collect();
        let x = random(rng, &shape);
        let y = x.gather(&ix);
        let ct = random(rng, y.shape());
        let scattered = Array::zeros(&shape, DType::F64).scatter_add(&ix, &ct);
        assert_near("gather", inner(&y, &ct), inner(&x, &scattered), 1e-12);
        let constants = |ix: &[Array]| ix.iter().cloned().map(ADVal::constant).collect::<Vec<ADVal<Concrete>>>();
        let (_, x_bar) = backward(&x, &|x| x.gather(&constants(&ix)), &|_| ct.clone());
        assert_close("gather", &x_bar, &scattered, 0.0);
        // The adjoint of a scatter in its values is the gather.
        let zero = ADVal::<Concrete>::constant(Array::zeros(&shape, DType::F64));
        let (_, v_bar) = backward(&ct, &|v| zero.clone().scatter_add(&constants(&ix), v), &|_| x.clone());
        assert_close("scatter_add", &v_bar, &y, 0.0);
    });
}

/// Numbers at which some function is singular, or overflows.
const HARD: [f64; 10] = [0.0, -0.0, 1.0, -1.0, -2.0, 0.5, 800.0, -800.0, 1e200, -1e200];

#[test]
fn branches_not_taken_send_nothing() {
    let no = Array::scalar(false);
    let zero = Array::scalar(0.0);
    let check = |name: &str,
                 x: &Array,
                 f: &dyn Fn(&ADVal<Concrete>) -> ADVal<Concrete>,
                 g: &dyn Fn(&Dual<Concrete>) -> Dual<Concrete>| {
        let chosen =
            |y: &ADVal<Concrete>| ADVal::select(&ADVal::constant(no.clone()), y, &ADVal::constant(zero.clone()));
        let (_, x_bar) = backward(x, &|x| chosen(&f(x)), &ones_like);
        assert_eq!(x_bar.item::<f64>(), Ok(0.0), "{name} in reverse at {x:?}");
        // And forward: a tangent of zero stays zero.
        let (_, y_dot) = forward(x, &zero, g);
        assert_eq!(y_dot.item::<f64>(), Ok(0.0), "{name} forward at {x:?}");
    };
    for at in HARD {
        let x = Array::scalar(at);
        for op in Unary::ALL {
            check(op.name(), &x, &|x| x.unary(*op), &|x| x.unary(*op));
        }
        for op in Binary::ALL {
            for other in HARD {
                let c = Array::scalar(other);
                check(op.name(), &x, &|x| x.binary(*op, &ADVal::constant(c.clone())), &|x| {
                    x.binary(*op, &Dual::constant(c.clone()))
                });
                check(op.name(), &x, &|x| ADVal::constant(c.clone()).binary(*op, x), &|x| {
                    Dual::constant(c.clone()).binary(*op, x)
                });
            }
        }
    }
}

#[test]
fn branches_not_taken_send_nothing_at_second_order() {
    let (no, zero, one) = (Array::scalar(false), Array::scalar(0.0), Array::scalar(1.0));
    for at in HARD {
        let x = Array::scalar(at);
        for op in Unary::ALL {
            // The branch also depends on a factor, so that the mixed derivative passes through it.
            let chosen = |x: &Dual<ADVal<Concrete>>, c: &Dual<ADVal<Concrete>>| {
                let y = x.unary(*op).binary(Binary::MulNoNan, c);
                Dual::select(&Dual::constant(no.clone()), &y, &Dual::constant(zero.clone()))
            };
            let mut pass = Sweep::new();
            let (u, c) = (pass.input(&x), pass.input(&one));
            let forward = Forward::new();
            let tangent = ADVal::constant(one.clone());
            let (_, slope) = forward.result(&chosen(&forward.input(&u, &tangent), &forward.input(&c, &tangent)));
            for bar in pass.pull(&[slope], vec![one.clone()]) {
                assert_eq!(bar.item::<f64>(), Ok(0.0), "{} at {at}", op.name());
            }
        }
    }
}

#[test]
fn plain_partials_are_finite() {
    for at in HARD {
        let x = Array::scalar(at);
        for op in Unary::ALL {
            let (guard, factor) = op.derivative(&x, &x.unary(*op)).factor();
            if guard == Guard::Plain {
                let p: f64 = factor.expect("a plain partial has a value").item().expect("one float");
                assert!(p.is_finite(), "{} is plain, but its derivative at {at} is {p}", op.name());
            }
        }
    }
}

#[test]
fn derivatives_at_kinks_are_as_documented() {
    let d = |op: Unary, at: f64| {
        forward(&Array::scalar(at), &Array::scalar(1.0), &|x| x.unary(op)).1.item::<f64>().unwrap()
    };
    assert_eq!(d(Unary::Abs, 0.0), 0.0);
    assert_eq!(d(Unary::Relu, 0.0), 0.0);
    assert_eq!(d(Unary::Sqrt, 0.0), f64::INFINITY);
    let both = |op: Binary, x: f64, y: f64| {
        let mut pass = Sweep::new();
        let (u, v) = (pass.input(&Array::scalar(x)), pass.input(&Array::scalar(y)));
        let bars = pass.pull(&[u.binary(op, &v)], vec![Array::scalar(1.0)]);
        (bars[0].item::<f64>().unwrap(), bars[1].item::<f64>().unwrap())
    };
    assert_eq!(both(Binary::Max, 1.0, 1.0), (1.0, 0.0));
    assert_eq!(both(Binary::Min, 1.0, 1.0), (1.0, 0.0));
    assert_eq!(both(Binary::Max, f64::NAN, 1.0), (1.0, 0.0));
    assert_eq!(both(Binary::Max, 1.0, f64::NAN), (0.0, 1.0));
    assert_eq!(both(Binary::Pow, 0.0, 0.0), (0.0, 0.0));
    assert_eq!(both(Binary::Pow, 0.0, 2.0), (0.0, 0.0));
    assert_eq!(both(Binary::Pow, -1.0, 3.0).0, 3.0);
}

#[test]
fn derivatives_outside_of_the_domain_are_as_documented() {
    let value_and_derivative = |op: Unary, at: f64| {
        let (y, y_dot) = forward(&Array::scalar(at), &Array::scalar(1.0), &|x| x.unary(op));
        (y.item::<f64>().expect("a float"), y_dot.item::<f64>().expect("a float"))
    };
    for (op, at, slope) in [(Unary::Ln, -4.0, -0.25), (Unary::Log1p, -5.0, -0.25), (Unary::Atanh, -3.0, -0.125)] {
        let (y, y_dot) = value_and_derivative(op, at);
        assert!(y.is_nan() && y_dot == slope, "{} at {at}: {y} and {y_dot}", op.name());
    }
    for (op, at) in [
        (Unary::Sqrt, -4.0),
        (Unary::Asin, 2.0),
        (Unary::Acos, -2.0),
        (Unary::Acosh, 0.5),
        (Unary::Acosh, -2.0),
        (Unary::Erfinv, 2.0),
    ] {
        let (y, y_dot) = value_and_derivative(op, at);
        assert!(y.is_nan() && y_dot.is_nan(), "{} at {at}: {y} and {y_dot}", op.name());
    }
    // No other function of one number is NaN at a number.
    let partial = |op: Unary| [-4.0f64, -2.0, -0.5, 0.5, 2.0].iter().any(|x| op.apply(*x).is_nan());
    let named =
        [Unary::Ln, Unary::Log1p, Unary::Atanh, Unary::Sqrt, Unary::Asin, Unary::Acos, Unary::Acosh, Unary::Erfinv];
    let poles = [Unary::Digamma];
    for op in Unary::ALL {
        assert_eq!(partial(*op), named.contains(op) || poles.contains(op), "{}", op.name());
    }
}

#[test]
fn nan_propagates_in_values() {
    let nan = Array::scalar(f64::NAN);
    for op in Unary::ALL {
        assert!(nan.unary(*op).item::<f64>().unwrap().is_nan(), "{} of NaN", op.name());
    }
    for op in Binary::ALL {
        let z: f64 = nan.binary(*op, &Array::scalar(2.0)).item().unwrap();
        assert!(z.is_nan(), "{} of NaN", op.name());
    }
}
