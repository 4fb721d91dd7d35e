//! Loops are differentiated as loops: every law is agreement with the same program unrolled by hand,
//! at every nesting of interpreters.

use std::cell::{Cell, RefCell};

use polygrad::direct::{grad, jvp, vjp};
use polygrad::program::interpret;
use polygrad::tensor::{build, build1, fold, map, map_accum, map_accum_reverse, scan, stack, tensor};
use polygrad::{ADVal, BaseTensor, Concrete, Dual, Function, Tensor, symbolic};

type Params<T> = (Tensor<T, 0>, Tensor<T, 1>, Tensor<T, 1>);

/// A loop with a carry, a sequence, a captured value, stacked outputs, and an inner loop.
fn looped<T: BaseTensor>((h0, w, xs): &Params<T>) -> Tensor<T, 0> {
    let (last, hs): (Tensor<T, 0>, Tensor<T, 1>) = map_accum(h0.clone(), xs, |h, x: &Tensor<T, 0>| {
        let inner = fold(h.clone(), w, |c, w: &Tensor<T, 0>| (c * w + x).sin());
        let h = (inner * x + w.sum()).tanh();
        (h.clone(), &h * x)
    });
    last + hs.square().sum()
}

/// The same, unrolled.
fn unrolled<T: BaseTensor>((h0, w, xs): &Params<T>) -> Tensor<T, 0> {
    let mut h = h0.clone();
    let mut sum = Tensor::scalar(0.0);
    for i in 0..xs.len() {
        let x = xs.at([i]);
        let mut inner = h.clone();
        for j in 0..w.len() {
            inner = (inner * w.at([j]) + &x).sin();
        }
        h = (inner * &x + w.sum()).tanh();
        sum += (&h * &x).square();
    }
    h + sum
}

fn params() -> Params<Concrete> {
    (tensor(0.3), tensor([0.5, -0.2, 0.9]), tensor([0.1, 0.7, -0.4, 0.2]))
}

fn direction() -> Params<Concrete> {
    (tensor(1.0), tensor([-0.3, 0.8, 0.2]), tensor([0.5, -1.0, 0.3, 0.6]))
}

#[track_caller]
fn close(a: &Params<Concrete>, b: &Params<Concrete>) {
    let leaves = |p: &Params<Concrete>| [vec![p.0.item()], p.1.to_vec(), p.2.to_vec()].concat();
    for (x, y) in leaves(a).iter().zip(leaves(b)) {
        assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{x} and {y}: {a:?} and {b:?}");
    }
}

/// The directional derivative as a program: forward mode inside whatever runs it.
fn slope<T: BaseTensor>(f: fn(&Params<Dual<T>>) -> Tensor<Dual<T>, 0>, x: &Params<T>) -> Tensor<T, 0> {
    let d = direction();
    let d = (Tensor::constant(&d.0), Tensor::constant(&d.1), Tensor::constant(&d.2));
    jvp(f, x, &d).1
}

/// The gradient against the direction, as a program.
fn gradient<T: BaseTensor>(f: fn(&Params<ADVal<T>>) -> Tensor<ADVal<T>, 0>, x: &Params<T>) -> Tensor<T, 0> {
    let g = grad(f, x);
    let d = direction();
    g.0 * Tensor::constant(d.0) + g.1.dot(&Tensor::constant(d.1)) + g.2.dot(&Tensor::constant(d.2))
}

#[test]
fn values_and_first_derivatives() {
    let p = params();
    assert!((looped(&p).item() - unrolled(&p).item()).abs() < 1e-14);
    close(&grad(|p: &Params<_>| looped(p), &p), &grad(|p: &Params<_>| unrolled(p), &p));
    let (a, b) = (slope(looped, &p), slope(unrolled, &p));
    assert!((a.item() - b.item()).abs() < 1e-13);
    assert!((a.item() - gradient(looped, &p).item()).abs() < 1e-13);
}

#[test]
fn second_derivatives_in_every_nesting() {
    let p = params();
    let reference = grad(|p: &Params<_>| gradient(unrolled, p), &p);
    close(&grad(|p: &Params<_>| gradient(looped, p), &p), &reference);
    close(&grad(|p: &Params<_>| slope(looped, p), &p), &reference);
    let along = slope_of(|p| gradient(looped, p), &p);
    let expected = slope_of(|p| gradient(unrolled, p), &p);
    assert!((along - expected).abs() < 1e-12, "{along} and {expected}");
    assert!((slope_of(|p| slope(looped, p), &p) - expected).abs() < 1e-12);
}

fn slope_of(f: impl Fn(&Params<Dual<Concrete>>) -> Tensor<Dual<Concrete>, 0>, p: &Params<Concrete>) -> f64 {
    jvp(f, p, &direction()).1.item()
}

#[test]
fn third_derivatives() {
    let p = params();
    let reference = grad(|p: &Params<_>| slope(|p| gradient(unrolled, p), p), &p);
    close(&grad(|p: &Params<_>| slope(|p| gradient(looped, p), p), &p), &reference);
    close(&grad(|p: &Params<_>| gradient(|p| gradient(looped, p), p), &p), &reference);
    close(&grad(|p: &Params<_>| gradient(|p| slope(looped, p), p), &p), &reference);
}

#[test]
fn loops_without_trips() {
    fn f<T: BaseTensor>((h, w, xs): &Params<T>) -> Tensor<T, 0> {
        let empty = xs.slice(0, 0..0);
        let (last, out): (Tensor<T, 0>, Tensor<T, 1>) =
            map_accum(h * w.sum(), &empty, |h, x: &Tensor<T, 0>| (&h * x, h.sin()));
        last + out.sum()
    }
    let p = params();
    let g = grad(|p: &Params<_>| f(p), &p);
    assert!((g.0.item() - 1.2).abs() < 1e-15);
    assert_eq!(g.1, tensor([0.3, 0.3, 0.3]));
    assert_eq!(g.2, tensor([0.0, 0.0, 0.0, 0.0]));
    let second = grad(|p: &Params<_>| grad(|p: &Params<_>| f(p), p).0, &p);
    assert_eq!(second.1, tensor([1.0, 1.0, 1.0]));
}

#[test]
fn reversed_loops() {
    fn f<T: BaseTensor>((h, w, xs): &Params<T>) -> Tensor<T, 0> {
        let (last, out): (Tensor<T, 0>, Tensor<T, 1>) =
            map_accum_reverse(h.clone(), xs, |h, x: &Tensor<T, 0>| ((&h * x + w.sum()).sin(), h));
        last * out.at([0])
    }
    fn g<T: BaseTensor>((h, w, xs): &Params<T>) -> Tensor<T, 0> {
        let mut h = h.clone();
        let mut first = h.clone();
        for i in (0..xs.len()).rev() {
            first = h.clone();
            h = (&h * xs.at([i]) + w.sum()).sin();
        }
        h * first
    }
    let p = params();
    close(&grad(|p: &Params<_>| f(p), &p), &grad(|p: &Params<_>| g(p), &p));
    close(&grad(|p: &Params<_>| gradient(f, p), &p), &grad(|p: &Params<_>| gradient(g, p), &p));
}

#[test]
fn scans_and_maps() {
    let x = tensor([0.1, 0.7, -0.4]);
    let powers = |x: &Tensor<_, 1>| {
        let all: Tensor<_, 1> = scan(Tensor::scalar(1.0), x, |c, x: &Tensor<_, 0>| c * x);
        all.sum()
    };
    // 1 + a + ab + abc
    let (a, b, c) = (0.1, 0.7, -0.4);
    let g = grad(powers, &x).to_vec();
    for (g, e) in g.iter().zip([1.0 + b + b * c, a + a * c, a * b]) {
        assert!((g - e).abs() < 1e-15);
    }
    let g = grad(|x: &Tensor<_, 1>| map::<_, _, Tensor<_, 0>, _, Tensor<_, 1>>(x, |x| x.sin() * x).sum(), &x);
    for (g, x) in g.to_vec().iter().zip(x.to_vec()) {
        assert!((g - (x.sin() + x * x.cos())).abs() < 1e-15);
    }
}

/// What a result depends on, beside an inner loop whose other carry, sequence and captured value overflow, and that nothing
/// uses.
fn overflowing<T: BaseTensor>(unused: bool, (x, w, rows): &Params<T>) -> Tensor<T, 0> {
    type Both<T> = (Tensor<T, 0>, Tensor<T, 0>);
    // What is infinite is made of a derivative's argument outside of the loops, too.
    let large = (w.sum() * 1e3).exp();
    let beside = rows.exp() * 1e300;
    let both: Tensor<T, 2> = stack([rows.clone(), beside]);
    fold(x.clone(), both.t(), |h: Tensor<T, 0>, row: &Tensor<T, 1>| {
        let (row, further): Both<T> = (row.at([0]), row.at([1]));
        if !unused {
            return fold(h, w, |a: Tensor<T, 0>, w: &Tensor<T, 0>| (a * w).sin() + &row);
        }
        let start: Both<T> = (h.clone(), h * 1e200);
        let ((last, _), _): (Both<T>, Tensor<T, 1>) = map_accum(start, w, |(a, b): Both<T>, w: &Tensor<T, 0>| {
            let shown = (&b * &further).exp();
            (((a * w).sin() + &row, b.square() * w * &large), shown)
        });
        last
    })
}

/// Zero times an infinite partial is NaN: what no result depends on has no cotangent, not even zeros.
#[test]
fn what_nothing_uses_has_no_cotangent() {
    let x = params();
    let expected = grad(|x| overflowing(false, x), &x);
    close(&grad(|x| overflowing(true, x), &x), &expected);
    close(&polygrad::grad(|x| overflowing(true, x), &x), &expected);
    let f = Function::stage(|x| overflowing(true, x), &x);
    for program in [symbolic::grad(f.program()), symbolic::grad(f.optimized())] {
        let found = interpret::<Concrete>(&program, vec![x.0.raw().clone(), x.1.raw().clone(), x.2.raw().clone()]);
        let [a, b, c] = <[Concrete; 3]>::try_from(found).expect("three derivatives");
        close(&(Tensor::from_raw(a), Tensor::from_raw(b), Tensor::from_raw(c)), &expected);
    }
    let twice = |unused: bool| {
        grad(
            move |x: &Params<ADVal<Concrete>>| {
                slope(if unused { |x| overflowing(true, x) } else { |x| overflowing(false, x) }, x)
            },
            &x,
        )
    };
    close(&twice(true), &twice(false));
}

#[test]
fn host_branches_inside_a_loop() {
    // Each branch captures another weight, and multiplies by another function of the element.
    fn f<T: BaseTensor>((h, w, xs): &Params<T>) -> Tensor<T, 0> {
        let (a, b) = (w.at([0]), w.at([1]));
        fold(h.clone(), xs, |h, x: &Tensor<T, 0>| if x.item() > 0.0 { (h * &a) * x.sin() } else { (h * &b) * x.cos() })
    }
    fn g<T: BaseTensor>((h, w, xs): &Params<T>) -> Tensor<T, 0> {
        let (a, b) = (w.at([0]), w.at([1]));
        let mut h = h.clone();
        for i in 0..xs.len() {
            let x = xs.at([i]);
            h = if x.item() > 0.0 { (h * &a) * x.sin() } else { (h * &b) * x.cos() };
        }
        h
    }
    let p = params();
    close(&grad(|p: &Params<_>| f(p), &p), &grad(|p: &Params<_>| g(p), &p));
    close(&grad(|p: &Params<_>| gradient(f, p), &p), &grad(|p: &Params<_>| gradient(g, p), &p));
}

#[test]
#[should_panic(expected = "loop: every trip must keep the same residuals")]
fn host_branches_with_other_residuals_are_refused() {
    let x = tensor([1.0, -1.0]);
    grad(
        |x: &Tensor<_, 1>| {
            let f = |h: Tensor<ADVal<Concrete>, 0>, x: &Tensor<ADVal<Concrete>, 0>| {
                if x.item() > 0.0 { h * x } else { h + x }
            };
            fold(Tensor::scalar(1.0), x, f)
        },
        &x,
    );
}

#[test]
#[should_panic(expected = "loop: a loop variable may be used only inside its closure")]
fn an_escaped_loop_variable_is_refused() {
    grad(
        |x: &Tensor<ADVal<Concrete>, 1>| {
            let escaped = RefCell::new(None);
            let y = fold(Tensor::scalar(1.0), x, |h, x: &Tensor<_, 0>| {
                escaped.replace(Some(x.clone()));
                h * x
            });
            y + escaped.into_inner().expect("a trip ran")
        },
        &tensor([1.0, 2.0]),
    );
}

#[test]
#[should_panic(expected = "loop: a loop variable may be used only inside its closure")]
fn a_variable_of_an_earlier_trip_is_refused() {
    grad(
        |x: &Tensor<ADVal<Concrete>, 1>| {
            let kept = RefCell::new(Tensor::scalar(1.0));
            fold(Tensor::scalar(1.0), x, |h, x: &Tensor<_, 0>| {
                let before = kept.replace(x.clone());
                h * x * before
            })
        },
        &tensor([1.0, 2.0, 3.0]),
    );
}

#[test]
fn constants_that_differ_by_trip_are_residuals() {
    let trip = Cell::new(0.0);
    let g = grad(
        |x: &Tensor<_, 1>| {
            trip.set(0.0);
            fold(Tensor::scalar(0.0), x, |h, x: &Tensor<_, 0>| {
                trip.set(trip.get() + 1.0);
                h + x * trip.get()
            })
        },
        &tensor([1.0, 1.0, 1.0]),
    );
    assert_eq!(g, tensor([1.0, 2.0, 3.0]));
}

#[test]
fn loops_of_constants_have_no_tangent() {
    let g = grad(
        |x: &Tensor<_, 0>| {
            let ones: Tensor<_, 1> = Tensor::ones([3]);
            x * fold(Tensor::scalar(2.0), &ones, |h, o: &Tensor<_, 0>| h + o)
        },
        &tensor(4.0),
    );
    assert_eq!(g, tensor(5.0));
}

#[test]
fn matrix_product_by_build() {
    fn matmul<T: BaseTensor>(a: &Tensor<T, 2>, b: &Tensor<T, 2>) -> Tensor<T, 2> {
        build([a.dim::<0>(), b.dim::<1>()], |[i, j]| build1(a.dim::<1>(), |p| a.at([i, p]) * b.at([p, j])).sum_outer())
    }
    let (a, b) = (tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), tensor([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]]));
    assert_eq!(matmul(&a, &b), a.matmul(&b));
    let by_build = grad(|(a, b): &(Tensor<_, 2>, Tensor<_, 2>)| matmul(a, b).square().sum(), &(a.clone(), b.clone()));
    let by_matmul = grad(|(a, b): &(Tensor<_, 2>, Tensor<_, 2>)| a.matmul(b).square().sum(), &(a.clone(), b.clone()));
    assert_eq!(by_build, by_matmul);
    let (_, pullback) = vjp(|a: &Tensor<_, 2>| matmul(a, &b.lift()), &a);
    let ct = tensor([[1.0, -1.0], [0.5, 2.0]]);
    assert_eq!(pullback(&ct), ct.matmul(&b.t()));
    let _ = stack([&a, &a]);
}
