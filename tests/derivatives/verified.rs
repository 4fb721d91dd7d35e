//! Verified numbers: Taylor models, roots with proof, bounds of differential equations, and of linear algebra.
//!
//! Laws: bounds contain what is true in exact arithmetic, of which bounds at a point are a witness; the remainder of a
//! model of order `n` shrinks as the power `n + 1` of the box; linear terms cancel; a jump, a kink or a rule of a user
//! leaves no bound that the mean value theorem does not give. What is not proven is not claimed: double roots, starts
//! before a pole.

use polygrad::array::Rng;
use polygrad::program::Term;
use polygrad::{
    Array, BaseTensor, Concrete, Enclosure, NoProof, TaylorForm, Tensor, Tree, VerifiedOde, VerifiedOdeError, direct,
    enclose, enclose_with, stack, taylor_model, tensor, verified_odeint, verified_root, verified_roots,
};

use crate::agree::Case;
use crate::gallery::{self, Leaves, Objective, Visitor};
use crate::panics::caught;

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Square<T> = Tensor<T, 2>;

fn width<const D: usize>((lower, upper): &(Tensor<Concrete, D>, Tensor<Concrete, D>)) -> f64 {
    let widths = (upper - lower).raw().to_vec::<f64>().expect("floats");
    widths.into_iter().fold(0.0, |a, b| if a >= b { a } else { b })
}

/// Whether bounds have a number in common with those of the same values at a point; bounds that are NaN do.
fn meet(a: &[Array; 2], b: &[Array; 2]) -> bool {
    let all = |x: &Array| x.cast::<f64>().to_vec::<f64>().expect("floats");
    let [a, b] = [a, b].map(|[lower, upper]| (all(lower), all(upper)));
    (0..a.0.len()).all(|k| !(a.0[k] > b.1[k] || a.1[k] < b.0[k]))
}

/// Every objective of the gallery with few numbers.
#[derive(Default)]
struct Models {
    visited: usize,
    narrower: usize,
    wrong: Vec<String>,
}

impl Visitor for Models {
    fn visit<O: Objective>(&mut self) {
        let case = Case::of::<O>();
        let numbers: usize = case.inputs.0.iter().filter(|x| x.dtype().is_float()).map(Array::size).sum();
        if numbers > 5 {
            return;
        }
        let words = caught(|| {
            self.examine(&case);
            panic!("looked at")
        });
        let refused =
            ["bounds", "no derivative", "needs a rule", "value"].iter().any(|word| words.message.contains(word));
        if words.message != "looked at" && !refused {
            self.wrong.push(format!("{}: {}", case.name, words.message));
        }
    }
}

impl Models {
    fn examine(&mut self, case: &Case) {
        let f = |x: &Leaves<Term>| Leaves(vec![case.at(x).into_raw()]);
        let form = TaylorForm::new(f, &case.inputs, 1);
        self.visited += 1;
        let mut rng = Rng::new(5);
        for radius in [0.0, 1e-3, 0.1] {
            let moved = |by: &mut dyn FnMut(&[usize]) -> Array| {
                case.inputs.map(&mut |x: &Array| {
                    let by = Tensor::<Concrete, 1>::from_raw(by(&[x.size()]));
                    match x.dtype() {
                        polygrad::DType::F64 => x.binary(
                            polygrad::ops::Binary::Add,
                            &by.raw().linear(&polygrad::ops::Linear::reshape(&[x.size()], x.shape())),
                        ),
                        polygrad::DType::F32 | polygrad::DType::I64 | polygrad::DType::Bool => x.clone(),
                    }
                })
            };
            let (lower, upper) = (moved(&mut |n| Array::full(n, -radius)), moved(&mut |n| Array::full(n, radius)));
            let model = form.over(&lower, &upper);
            let (a, b) = model.bounds();
            let bounds = [a.0[0].clone(), b.0[0].clone()];
            let (a, b) = enclose(|x: &Leaves<Enclosure>| Leaves(vec![case.at(x).into_raw()]), &lower, &upper);
            let size = |[a, b]: &[Array; 2]| {
                b.cast::<f64>().item::<f64>().expect("a number") - a.cast::<f64>().item::<f64>().expect("a number")
            };
            let plain = [a.0[0].clone(), b.0[0].clone()];
            self.narrower += usize::from(size(&bounds) < 0.9 * size(&plain));
            for _ in 0..3 {
                let x = moved(&mut |n| rng.uniform(n, -radius, radius));
                let (a, b) = enclose(|x: &Leaves<Enclosure>| Leaves(vec![case.at(x).into_raw()]), &x, &x);
                let at = [a.0[0].clone(), b.0[0].clone()];
                let (a, b) = model.within(&x, &x);
                let within = [a.0[0].clone(), b.0[0].clone()];
                if !meet(&bounds, &at) || !meet(&within, &at) {
                    self.wrong
                        .push(format!("{}, radius {radius}: {bounds:?} and {within:?} against {at:?}", case.name));
                }
            }
        }
    }
}

#[test]
fn models_of_the_gallery_contain_its_values() {
    let mut found = Models::default();
    gallery::each(&mut found);
    assert!(found.wrong.is_empty(), "{}", found.wrong.join("\n"));
    assert!(found.visited > 50 && found.narrower > 30, "{} visited, {} narrower", found.visited, found.narrower);
}

fn wavy<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
    let (a, b) = (x.at([0]), x.at([1]));
    (&a * &b).sin() + (&a - &b).exp() * &a - a
}

#[test]
fn remainders_shrink_with_their_order() {
    for order in 0..4 {
        let form = TaylorForm::new(|x: &Vector<Term>| wavy(x), &tensor([0.0, 0.0]), order);
        let rest = |half: f64| {
            width(&form.over(&tensor([0.3 - half, 0.7 - half]), &tensor([0.3 + half, 0.7 + half])).remainder())
        };
        let (wide, narrow) = (rest(1.0 / 16.0), rest(1.0 / 64.0));
        let power = (wide / narrow).log2() / 2.0;
        assert!((power - order as f64 - 1.0).abs() < 0.3, "order {order}: {wide:e} and {narrow:e}, power {power}");
    }
}

/// Linear terms cancel, and squares are used once: bounds are those of the range.
#[test]
fn dependences_cancel() {
    let (lower, upper) = (tensor([-1.0, 2.0]), tensor([3.0, 5.0]));
    let none = taylor_model(|x: &Vector<_>| (x - x.reverse(0)) + x.reverse(0) - x, &lower, &upper, 0);
    assert!(width(&none.bounds()) < 1e-13, "{:?}", none.bounds());
    // x^2 - 2 x y + 3 y^2 - 2 x: a quadratic form whose least value, -1.5, lies inside of the box.
    let form = |x: &Vector<Term>| {
        let (x, y) = (x.at([0]), x.at([1]));
        x.square() - 2.0 * &x * &y + 3.0 * y.square() - 2.0 * x
    };
    let (least, _) = taylor_model(form, &tensor([-1.0, -2.0]), &tensor([3.0, 2.0]), 2).bounds();
    assert!((least.item() + 1.5).abs() < 1e-12, "{least}");
}

/// Jumps, kinks, poles, branch cuts and rules of users.
#[test]
fn the_mean_value_theorem_is_used_where_it_holds() {
    type F = fn(&Number<Term>) -> Number<Term>;
    let jumps: [(&str, F, [f64; 2]); 8] = [
        ("floor", |x| x.floor() + x, [-2.0, 1.0]),
        ("selection", |x| x.gt(0.0).select(x + 3.0, x.clone()), [-1.0, 4.0]),
        ("stopped gradient", |x| x.stop_gradient() * 3.0, [-3.0, 3.0]),
        ("kink", |x| x.abs(), [0.0, 1.0]),
        ("smooth step over a pole", |x| x.recip().tanh(), [-1.0, 1.0]),
        ("branch cut", |x| x.atan2(Number::scalar(-1.0)), [-3.2, 3.2]),
        ("copied sign", |x| Number::scalar(1.0).copysign(x), [-1.0, 1.0]),
        (
            "rule of a user",
            |x| polygrad::custom_jvp("flat", |x: &Number<_>| x * 2.0, |_, _, dx: &Number<_>| dx * 0.0, x),
            [-2.0, 2.0],
        ),
    ];
    for (name, f, [least, most]) in jumps {
        for order in 0..3 {
            let (lower, upper) = taylor_model(f, &tensor(-1.0), &tensor(1.0), order).bounds();
            let (lower, upper) = (lower.item(), upper.item());
            assert!(lower <= least + 0.2 && upper >= most - 0.9, "{name}, order {order}: [{lower}, {upper}]");
        }
    }
}

#[test]
fn roots_are_counted_with_proof() {
    let sine =
        verified_roots(|x: &Number<_>, p: &Number<_>| (x * p).sin(), &tensor(-10.0), &tensor(10.0), &tensor(1.0));
    assert!(sine.roots.len() == 7 && sine.undecided.is_empty(), "{sine:?}");
    let mut places: Vec<f64> =
        sine.roots.iter().map(|(lower, _)| (lower.item() / std::f64::consts::PI).round()).collect();
    places.sort_by(f64::total_cmp);
    assert_eq!(places, [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
    for (lower, upper) in &sine.roots {
        let pi = (lower.item() / std::f64::consts::PI).round() * std::f64::consts::PI;
        assert!(lower.item() <= pi + 1e-15 && upper.item() >= pi - 1e-15 && (upper - lower).item() < 1e-14);
    }
    // Two circles that cross, on the border of halves of the box.
    let circles = |x: &Vector<_>, shift: &Number<_>| {
        let (x, y) = (x.at([0]), x.at([1]));
        stack([&(x.square() + y.square() - 4.0), &((&x - shift).square() + y.square() - 4.0)])
    };
    let cross = verified_roots(circles, &tensor([-4.0, -4.0]), &tensor([4.0, 4.0]), &tensor(2.0));
    assert!(cross.roots.len() == 2 && cross.undecided.is_empty(), "{cross:?}");
    for (lower, upper) in &cross.roots {
        assert!(lower.at([0]).item() <= 1.0 && upper.at([0]).item() >= 1.0);
        assert!((lower.at([1]).item().abs() - 3f64.sqrt()).abs() < 1e-12);
    }
    // Circles apart, and circles that touch: a double root is not claimed, nor is its absence.
    let apart = verified_roots(circles, &tensor([-4.0, -4.0]), &tensor([4.0, 4.0]), &tensor(4.5));
    assert!(apart.roots.is_empty() && apart.undecided.is_empty(), "{apart:?}");
    let square = verified_roots(|x: &Number<_>, _: &()| x.square(), &tensor(-1.0), &tensor(1.5), &());
    assert!(square.roots.is_empty() && square.undecided.len() == 1, "{square:?}");
    assert!(square.undecided[0].0.item() <= 0.0 && square.undecided[0].1.item() >= 0.0);
    // A jump over zero is no root, a kink may have one.
    let jump = |x: &Number<_>, _: &()| x.gt(0.0).select(x + 1.0, x - 1.0);
    assert!(verified_roots(jump, &tensor(-0.5), &tensor(0.75), &()).roots.is_empty());
    let kink = verified_roots(|x: &Number<_>, _: &()| x.abs() + x * 2.0, &tensor(-1.0), &tensor(1.5), &());
    assert!(kink.roots.len() == 1, "{kink:?}");
}

#[test]
fn a_point_near_a_root_is_proven() {
    let rosenbrock = |x: &Vector<_>, _: &()| {
        let (a, b) = (x.at([0]), x.at([1]));
        stack([&((&b - a.square()) * 10.0), &(1.0 - a)])
    };
    let (lower, upper) = verified_root(rosenbrock, &tensor([1.0 + 1e-7, 1.0 - 1e-7]), &()).expect("a simple root");
    assert!(lower.max_all().item() <= 1.0 && upper.min_all().item() >= 1.0 && width(&(lower, upper)) < 1e-14);
    let power = |n: i32| move |x: &Number<_>, _: &()| (x - 1.0).powi(n);
    assert!(verified_root(power(1), &tensor(1.1), &()).is_ok());
    assert_eq!(verified_root(power(2), &tensor(1.0 + 1e-8), &()), Err(NoProof::Undecided(20)));
    assert_eq!(verified_root(power(2), &tensor(1.0), &()), Err(NoProof::NotFinite));
}

/// The states at the last time, of which the exact ones are known.
fn held(what: &str, bounds: &(Vector<Concrete>, Vector<Concrete>), exact: &[f64], most: f64) {
    for (k, x) in exact.iter().enumerate() {
        let (lower, upper) = (bounds.0.at([k]).item(), bounds.1.at([k]).item());
        assert!(lower <= *x && *x <= upper, "{what}: {x:e} is not in [{lower:e}, {upper:e}]");
        assert!(upper - lower <= most, "{what}: [{lower:e}, {upper:e}] is wide");
    }
}

fn lorenz(x: &Vector<Term>, _: &Number<Term>, _: &()) -> Vector<Term> {
    let (a, b, c) = (x.at([0]), x.at([1]), x.at([2]));
    stack([&((&b - &a) * 10.0), &(&a * (28.0 - &c) - &b), &(&a * &b - &c * (8.0 / 3.0))])
}

#[test]
fn solutions_lie_within_their_bounds() {
    let grows = |x: &Vector<_>, _: &Number<_>, rate: &Number<_>| x * rate;
    let one = tensor([1.0]);
    for (rate, time, most) in [(1.0, 1.0, 1e-13), (-1.0, 5.0, 1e-14), (-20.0, 0.5, 1e-16), (1.0, -1.0, 1e-14)] {
        let states = verified_odeint(grows, &one, &one, &[0.0, time], &tensor(rate)).expect("bounds");
        held("exponential", &states[1], &[(rate * time).exp()], most);
    }
    // An oscillator with a time: x'' = -x, and y' = cos t.
    let turn = |x: &Vector<_>, t: &Number<_>, _: &()| stack([&x.at([1]), &-x.at([0]), &t.cos()]);
    let start = tensor([1.0, 0.0, 0.0]);
    let states = verified_odeint(turn, &start, &start, &[0.0, 1.0, 5.0], &()).expect("bounds");
    held("oscillator", &states[1], &[1f64.cos(), -1f64.sin(), 1f64.sin()], 1e-13);
    held("oscillator", &states[2], &[5f64.cos(), -5f64.sin(), 5f64.sin()], 1e-12);
    // A box turns without growing: its corners stay within, and it is not much wider than the turned box.
    let (lower, upper) = (tensor([0.9, -0.1, 0.0]), tensor([1.1, 0.1, 0.0]));
    let states = verified_odeint(turn, &lower, &upper, &[0.0, 5.0], &()).expect("bounds");
    for [x, v] in [[0.9, -0.1], [0.9, 0.1], [1.1, -0.1], [1.1, 0.1]] {
        let (c, s) = (5f64.cos(), 5f64.sin());
        held("corner", &states[1], &[c * x + s * v, c * v - s * x, s], 0.4);
    }
    // A stiff equation with a slow solution: x' = -20 (x - cos t) - sin t.
    let stiff = |x: &Vector<_>, t: &Number<_>, k: &Number<_>| (t.cos() - x) * k - t.sin();
    let states = verified_odeint(stiff, &one, &one, &[0.0, 0.5], &tensor(20.0)).expect("bounds");
    held("stiff", &states[1], &[0.5f64.cos()], 1e-13);
}

/// By a solution of another order, and by solutions from points of a box.
#[test]
fn lorenz_is_bounded_for_a_while() {
    let p = tensor([1.0, 1.0, 1.0]);
    let states = verified_odeint(lorenz, &p, &p, &[0.0, 0.0625], &()).expect("bounds");
    assert!(width(&states[1]) < 1e-12, "{:?}", states[1]);
    let other =
        VerifiedOde::default().order(8).tolerance(1e-12).solve(lorenz, &p, &p, &[0.0, 0.0625], &()).expect("bounds");
    let within = |a: &(Vector<Concrete>, Vector<Concrete>), b: &(Vector<Concrete>, Vector<Concrete>)| {
        meet(&[a.0.raw().clone(), a.1.raw().clone()], &[b.0.raw().clone(), b.1.raw().clone()])
    };
    assert!(within(&states[1], &other[1]));
    let wide = verified_odeint(lorenz, &(&p - 1e-5), &(&p + 1e-5), &[0.0, 0.0625], &()).expect("bounds");
    assert!(width(&wide[1]) < 1e-3, "{:?}", wide[1]);
    let corner = tensor([1.0 + 1e-5, 1.0 - 1e-5, 1.0 + 1e-5]);
    let inside = verified_odeint(lorenz, &corner, &corner, &[0.0, 0.0625], &()).expect("bounds");
    assert!(within(&wide[1], &inside[1]) && within(&wide[1], &states[1]));
}

#[test]
fn what_no_step_proves_has_no_bounds() {
    let square = |x: &Number<_>, _: &Number<_>, _: &()| x.square();
    let one = tensor(1.0);
    let before = verified_odeint(square, &one, &one, &[0.0, 0.5], &()).expect("the pole is at 1");
    assert!(before[1].0.item() <= 2.0 && before[1].1.item() >= 2.0 && (&before[1].1 - &before[1].0).item() < 1e-12);
    let Err(VerifiedOdeError::NoStep { time, .. } | VerifiedOdeError::TooManySteps { time, .. }) =
        VerifiedOde::default().steps(20).solve(square, &one, &one, &[0.0, 1.5], &())
    else {
        panic!("there is no solution at 1.5")
    };
    assert!(time > 0.5 && time < 1.0, "{time}");
    let kink = |x: &Number<_>, _: &Number<_>, _: &()| x.abs() - 1.0;
    let ends = verified_odeint(kink, &tensor(0.1), &tensor(0.1), &[0.0, 2.0], &());
    assert!(matches!(ends, Err(VerifiedOdeError::NoStep { time, .. }) if time < 0.11), "{ends:?}");
}

/// Bounds of an operation for matrices around `a`, and its values at matrices among them.
fn matrices<const D: usize>(
    what: &str,
    bounds: impl Fn(&Square<Enclosure>) -> Tensor<Enclosure, D>,
    values: impl Fn(&Square<Concrete>) -> Tensor<Concrete, D>,
    a: &Square<Concrete>,
    most: f64,
) {
    let mut rng = Rng::new(3);
    let size = values(a).abs().max_all().item();
    for radius in [0.0, 1e-10] {
        let box_of = enclose(&bounds, &(a - radius), &(a + radius));
        let off = width(&box_of);
        let allowed = if radius == 0.0 { most } else { 1e-2 };
        assert!(off <= allowed * size.max(1.0), "{what}, radius {radius}: {off:e}, {size:e}");
        for _ in 0..3 {
            let x = a + Square::<Concrete>::from_raw(rng.uniform(&a.shape(), -radius, radius));
            let y = values(&x);
            assert!(!(y.lt(&box_of.0).any().item() || y.gt(&box_of.1).any().item()), "{what}, radius {radius}: {y}");
        }
    }
}

#[test]
fn linear_algebra_has_bounds() {
    for n in [1, 2, 3, 5, 9, 20] {
        let mut rng = Rng::new(n as u64);
        let a = Square::<Concrete>::from_raw(rng.uniform(&[n, n], -1.0, 1.0)) + Square::<Concrete>::eye(n);
        let b = Vector::<Concrete>::from_raw(rng.uniform(&[n], -1.0, 1.0));
        let s = a.matmul(&a.t()) + Square::<Concrete>::eye(n);
        let most = 1e-11;
        matrices("solve", |a| a.solve(&Vector::constant(&b)), |a| a.solve(&b), &a, most);
        matrices("inverse", |a| a.inverse(), |a| a.inverse(), &a, most);
        matrices("det", |a| a.det(), |a| a.det(), &a, most);
        matrices("logdet", |a| a.slogdet().1, |a| a.slogdet().1, &a, most);
        matrices("cholesky", |a| a.cholesky(), |a| a.cholesky(), &s, most);
        matrices("eigenvalues", |a| a.eigh().0, |a| a.eigh().0, &s, most);
        matrices("triangle", |a| a.solve_lower(&Vector::constant(&b)), |a| a.solve_lower(&b), &s.cholesky(), most);
        matrices("slope", |a| direct::grad(|a| a.logdet(), a), |a| direct::grad(|a| a.logdet(), a), &s, most);
        if n <= 5 {
            matrices("slope of det", |a| direct::grad(|a| a.det(), a), |a| direct::grad(|a| a.det(), a), &a, most);
        }
    }
}

/// Exact results of matrices of integers, and matrices whose box has no result.
#[test]
fn bounds_of_linear_algebra_are_proven() {
    let hilbert = Square::<Concrete>::from_fn([4, 4], |[i, j]| [420.0, 210.0, 140.0, 105.0, 84.0, 70.0, 60.0][i + j]);
    let (lower, upper) = enclose(|a: &Square<Enclosure>| a.det(), &hilbert, &hilbert);
    // 420^4 / 6048000
    assert!(lower.item() <= 5145.0 && upper.item() >= 5145.0 && width(&(lower, upper)) < 1e-3);
    let exact = tensor([
        [16.0, -120.0, 240.0, -140.0],
        [-120.0, 1200.0, -2700.0, 1680.0],
        [240.0, -2700.0, 6480.0, -4200.0],
        [-140.0, 1680.0, -4200.0, 2800.0],
    ]) / 420.0;
    let bounds = enclose(|a: &Square<Enclosure>| a.inverse(), &hilbert, &hilbert);
    assert!(
        !(exact.lt(&(&bounds.0 - 1e-15)).any().item() || exact.gt(&(&bounds.1 + 1e-15)).any().item())
            && width(&bounds) < 1e-8
    );
    // The eigenvalues of this path are 2 - 2 cos (k pi / 6).
    let path = Square::<Concrete>::from_fn([5, 5], |[i, j]| {
        if i == j {
            2.0
        } else if i.abs_diff(j) == 1 {
            -1.0
        } else {
            0.0
        }
    });
    let (lower, upper) = enclose(|a: &Square<Enclosure>| a.eigh().0, &path, &path);
    for k in 0..5 {
        let exact = 2.0 - 2.0 * ((k + 1) as f64 * std::f64::consts::PI / 6.0).cos();
        assert!(lower.at([k]).item() <= exact + 1e-15 && upper.at([k]).item() >= exact - 1e-15);
    }
    let singular = tensor([[1.0, 2.0], [2.0, 4.0]]);
    let near = |r: f64| (&singular - r, &singular + r);
    let (lower, upper) = near(1e-3);
    let ends = enclose_with(|a: &Square<Enclosure>, b| a.solve(b), &lower, &upper, &tensor([1.0, 2.0]));
    assert!(ends.0.at([0]).item().is_nan() && ends.1.at([0]).item().is_nan());
    let (least, most) = enclose(|a: &Square<Enclosure>| a.det(), &lower, &upper);
    assert!(least.item() < 0.0 && most.item() > 0.0 && most.item() < 0.01);
    assert!(enclose(|a: &Square<Enclosure>| a.cholesky(), &lower, &upper).0.at([1, 1]).item().is_nan());
}

/// Where a function jumps from one side of zero to the other there is no root, though the slopes on both sides would prove
/// one: the operator needs continuity.
#[test]
fn a_jump_over_zero_is_no_root() {
    type Of = fn(&Number<Term>, &()) -> Number<Term>;
    let jumps: [Of; 4] = [
        |x, _| x + x.ge(0.0).select(Number::<Term>::scalar(0.5), -0.5),
        |x, _| x * 3.0 + x.sign(),
        |x, _| x + (x + 0.25).floor() + 0.5,
        |x, _| x.gt(0.125).select(x + 1.0, x - 1.0),
    ];
    for (k, f) in jumps.into_iter().enumerate() {
        let all = polygrad::verified_roots(f, &tensor(-0.9), &tensor(0.7), &());
        assert!(all.roots.is_empty() && !all.undecided.is_empty(), "{k}: {:?}", all.roots);
        let near = polygrad::verified_root(f, &tensor(0.01), &());
        assert!(near.is_err(), "{k}: {near:?}");
    }
    // In one of two unknowns.
    let pair = |x: &Vector<Term>, _: &()| {
        let [a, b] = [x.at([0]), x.at([1])];
        polygrad::stack::<Term, 0, 1, f64>([
            &(&a + a.ge(0.0).select(Number::<Term>::scalar(0.5), -0.5)),
            &(b - a * 0.5),
        ])
    };
    let all = polygrad::verified_roots(pair, &tensor([-0.9, -1.0]), &tensor([1.0, 1.0]), &());
    assert!(all.roots.is_empty() && !all.undecided.is_empty(), "{:?}", all.roots);
    // A kink is none.
    let kink =
        polygrad::verified_roots(|x: &Number<Term>, _: &()| x + x.abs() * 0.5 - 0.3, &tensor(-0.9), &tensor(1.0), &());
    assert!(kink.roots.len() == 1 && kink.undecided.is_empty());
}
