//! Manifolds: retractions and their inverses, and derivatives between tangent spaces, against charts and differences.

use polygrad::manifold::{self, Angle, Direction, Manifold, Rotation, between_charts, in_chart};
use polygrad::optim::{Adam, Optimizer, Sgd};
use polygrad::prelude::*;
use polygrad::program::Term;
use polygrad::tree::Keep;
use polygrad::{Function, grad_with, hessian_with, jacobian_with, tensor};

/// The largest absolute value.
fn size<const D: usize>(x: &Tensor<Array, D>) -> f64 {
    x.abs().max_all().item()
}

/// Vectors of all lengths: zero, tiny, at the borders of the series, near half a turn.
fn lengths() -> Vec<f64> {
    vec![0.0, 1e-300, 1e-160, 1e-9, 1e-3, 0.17, 0.1733, 0.9999, 1.0, 1.0001, 1.7, 3.0, 3.1414]
}

fn rotations(rng: &mut Rng, n: usize) -> Vec<Rotation<Array>> {
    (0..n).map(|_| Rotation::exp(&(rng.normal([3], 0.0, 1.0) * 2.0))).collect()
}

fn directions(rng: &mut Rng, n: usize) -> Vec<Direction<Array>> {
    let axes = [tensor([1.0, 0.0, 0.0]), tensor([-1.0, 0.0, 0.0]), tensor([0.0, -1.0, 0.0])];
    let drawn = (0..n).map(|_| rng.normal([3], 0.0, 1.0));
    axes.into_iter().chain(drawn.collect::<Vec<_>>()).map(|v| Direction::towards(&v)).collect()
}

/// The laws of a retraction at a point, for tangent vectors along `v`, which has length one.
fn inverses<P>(p: &P, v: &Tensor<Array, 1>, off: impl Fn(&P, &P) -> f64)
where
    P: Manifold<Array, Tangent = Tensor<Array, 1>>,
{
    assert!(off(&p.retract(&p.zero()), p) == 0.0);
    assert!(size(&p.local(p)) < 1e-15);
    for length in lengths() {
        let v = v * length;
        let q = p.retract(&v);
        // The direction of the way is the less certain, the nearer the point is to half a turn.
        let tolerance = 4e-15 * length.max(1.0) / (1.0 - length / std::f64::consts::PI);
        assert!(size(&(p.local(&q) - &v)) < tolerance, "{length}: {:?} {v:?}", p.local(&q));
        assert!(off(&p.retract(&p.local(&q)), &q) < 4e-15, "{length}");
    }
}

#[test]
fn local_is_the_inverse_of_retract() {
    let mut rng = Rng::new(1);
    for r in rotations(&mut rng, 20) {
        let v = Direction::towards(&rng.normal([3], 0.0, 1.0));
        inverses(&r, v.vector(), |a, b| size(&(a.matrix() - b.matrix())));
    }
    for p in directions(&mut rng, 20) {
        let v = Direction::towards(&rng.normal([2], 0.0, 1.0));
        inverses(&p, v.vector(), |a, b| size(&(a.vector() - b.vector())));
    }
    for x in [0.0, 1.0, -3.1, 3.1] {
        let p = Angle::new(&tensor([x, -x]));
        let v = tensor([0.6, -0.8]);
        inverses(&p, &v, |a, b| size(&a.local(b)));
        // Full turns do not count.
        let turned = Angle::new(&(p.radians() + 20.0 * std::f64::consts::PI));
        assert!(size(&(turned.local(&p.retract(&v)) - &v)) < 1e-13);
    }
}

#[test]
fn points_stay_on_their_manifold() {
    let mut rng = Rng::new(2);
    let (mut r, mut p) = (Rotation::<Array>::identity(), Direction::towards(&tensor([0.0, 0.0, 0.0, 1.0])));
    for _ in 0..1000 {
        r = r.retract(&rng.normal([3], 0.0, 1.0)).orthonormalized();
        p = p.retract(&rng.normal([3], 0.0, 1.0));
    }
    assert!(size(&(r.matrix().matmul(&r.matrix().t()) - Tensor::eye(3))) < 1e-14);
    assert!((r.matrix().det().item() - 1.0).abs() < 1e-14);
    assert!((p.vector().norm().item() - 1.0).abs() < 1e-12);
}

/// A smooth function of all coordinates of a matrix or vector.
fn wave<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, 0> {
    let n = x.shape().iter().product();
    let k = Tensor::linspace(0.3, 1.1, n).reshape(x.shape());
    (x * &k + 0.2).sin().sum() + (x * k).sum().square()
}

/// The gradient on a manifold against central differences along the retraction.
#[test]
fn gradients_agree_with_differences_along_the_retraction() {
    let mut rng = Rng::new(3);
    let h = 1e-5;
    for r in rotations(&mut rng, 5) {
        let slope = manifold::grad(|r: &Rotation<Term>| wave(r.matrix()), &r);
        for k in 0..3 {
            let v = Tensor::eye(3).row::<1>(k) * h;
            let ahead = wave(r.retract(&v).matrix()) - wave(r.retract(&-v).matrix());
            assert!((ahead.item() / (2.0 * h) - slope.at([k]).item()).abs() < 1e-8);
        }
    }
    for p in directions(&mut rng, 5) {
        let slope = manifold::grad(|p: &Direction<Term>| wave(p.vector()), &p);
        for k in 0..2 {
            let v = Tensor::eye(2).row::<1>(k) * h;
            let ahead = wave(p.retract(&v).vector()) - wave(p.retract(&-v).vector());
            assert!((ahead.item() / (2.0 * h) - slope.at([k]).item()).abs() < 1e-8);
        }
    }
}

/// Rotations by another chart, Euler's angles: the gradient in these is that along the manifold, by the derivative of the
/// chart.
#[test]
fn rotations_agree_with_a_chart_by_angles() {
    fn of_angles<T: BaseTensor>(a: &Tensor<T, 1>) -> Rotation<T> {
        let about = |k: usize| Rotation::exp(&a.slice(0, k..k + 1).pad([(k, 2 - k)]));
        about(0).then(&about(1)).then(&about(2))
    }
    let a = tensor([0.4, -0.7, 2.0]);
    let r = of_angles(&a);
    let by_chart = polygrad::grad(|a| wave(of_angles(a).matrix()), &a);
    let slope = manifold::grad(|r: &Rotation<Term>| wave(r.matrix()), &r);
    let chart = jacobian_with(between_charts(of_angles), &a.zero(), &a);
    assert!(size(&(by_chart - slope.vecmat(&chart))) < 1e-14);
}

/// The chain rule between manifolds, and the product of a cotangent with a tangent.
#[test]
fn derivatives_compose() {
    /// Where a rotation takes a vector.
    fn orbit<T: BaseTensor>(r: &Rotation<T>) -> Direction<T> {
        Direction::towards(&r.rotate(&Tensor::constant(tensor([0.2, 0.5, -0.9]))))
    }
    /// The angle of a direction in a plane.
    fn around<T: BaseTensor>(p: &Direction<T>) -> Angle<T> {
        Angle::new(&p.vector().at([1]).atan2(p.vector().at([0])))
    }
    let mut rng = Rng::new(4);
    for r in rotations(&mut rng, 10) {
        let v = rng.normal([3], 0.0, 1.0);
        let whole = manifold::jvp(|r: &Rotation<Term>| around(&orbit(r)), &r, &v);
        let first: Tensor<Array, 1> = manifold::jvp(orbit, &r, &v);
        let both = manifold::jvp(around, &orbit(&r), &first);
        assert!((whole.item() - both.item()).abs() < 1e-12 * (1.0 + both.item().abs()), "{whole:?} {both:?}");
        let zero = r.zero();
        let (_, pullback) = polygrad::direct::vjp(|v| between_charts(around_of)(v, &lifted(&r)), &zero);
        let slope = pullback(&tensor(1.0));
        assert!((slope.dot(&v).item() - whole.item()).abs() < 1e-12 * (1.0 + whole.item().abs()));
    }
    fn around_of<T: BaseTensor>(r: &Rotation<T>) -> Angle<T> {
        around(&orbit(r))
    }
    fn lifted<T: BaseTensor>(r: &Rotation<Array>) -> Rotation<T> {
        Rotation::from_matrix(&Tensor::constant(r.matrix()))
    }
}

/// Second and third derivatives at zero, where the length of the vector has none.
#[test]
fn higher_derivatives_at_zero() {
    // exp: d^2/dt^2 at 0 of exp(t v) is [v]^2, and the third derivative is [v]^3.
    let v = tensor([0.3, -1.2, 0.5]);
    let series = polygrad::taylor(
        |t: &Tensor<Term, 0>| Rotation::exp(&(Tensor::constant(&v) * t)).matrix().clone(),
        &tensor(0.0),
        &tensor(1.0),
        4,
    );
    let m = series[1].clone();
    assert!(size(&(&series[2] - m.matmul(&m) * 0.5)) < 1e-15);
    assert!(size(&(&series[3] - m.matmul(&m).matmul(&m) * (1.0 / 6.0))) < 1e-15);
    // On the sphere, the Hessian of a linear function c.p at p is -(c.p) I.
    let p = Direction::towards(&tensor([1.0, 2.0, -2.0]));
    let c = tensor([3.0, -1.0, 0.5]);
    let height = |p: &Direction<Term>, c: &Tensor<Term, 1>| p.vector().dot(c);
    let h = hessian_with(
        |v, (p, c)| in_chart(|p: &Direction<Term>| height(p, c))(v, p),
        &p.zero(),
        &(p.clone(), c.clone()),
    );
    let expected = Tensor::eye(2) * -c.dot(p.vector()).item();
    assert!(size(&(h - expected)) < 1e-14);
}

/// Half a turn has two logarithms, and one of them is given; opposite directions have no shortest way.
#[test]
fn half_turns() {
    let pi = std::f64::consts::PI;
    for v in [[pi, 0.0, 0.0], [0.0, pi, 0.0], [0.0, 0.0, -pi], [pi * 0.6, 0.0, -pi * 0.8]] {
        let r = Rotation::exp(&tensor(v));
        let log = r.log();
        assert!((log.norm().item() - pi).abs() < 1e-14, "{log:?}");
        assert!(size(&(Rotation::exp(&log).matrix() - r.matrix())) < 1e-14);
    }
    let (a, b) = (Direction::towards(&tensor([0.0, 1.0])), Direction::towards(&tensor([0.0, -1.0])));
    assert!(a.local(&b).at([0]).item().is_nan());
}

type Mixed<T> = (Tensor<T, 1, i64>, Vec<Angle<T>>, [Tensor<T, 0>; 1], Keep<&'static str>);

/// Integers and truth values have no tangent vectors; trees have trees of them.
#[test]
fn trees_of_manifolds() {
    let p = (tensor([1_i64, 2]), vec![Angle::new(&tensor(0.5)), Angle::new(&tensor(1.0))], [tensor(2.0)], Keep("name"));
    let slope = manifold::grad(
        |(n, a, [x], _): &Mixed<Term>| (a[0].radians() * x).sin() + a[1].radians() * n.to_float::<f64>().sum(),
        &p,
    );
    let ((), a, [x], ()) = slope;
    assert!((a[0].item() - 2.0 * 1.0_f64.cos()).abs() < 1e-15 && a[1].item() == 3.0);
    assert!((x.item() - 0.5 * 1.0_f64.cos()).abs() < 1e-15);
}

/// Optimizers move along the manifold: alone, and recorded with the gradient.
#[test]
fn optimizers_move_along_manifolds() -> Result<(), RunError> {
    let goal = Rotation::exp(&tensor([1.0, -2.0, 0.5]));
    fn miss<T: BaseTensor>(r: &Rotation<T>, goal: &Rotation<T>) -> Tensor<T, 0> {
        r.local(goal).square().sum()
    }
    let start = Rotation::<Array>::identity();
    let adam = Adam::new(0.05);
    let step = Function::stage_with(
        |(r, state), goal: &Rotation<Term>| {
            let slope = grad_with(
                |v, (r, goal)| miss(&r.retract(v), goal),
                &Manifold::<Term>::zero(r),
                &(r.clone(), goal.clone()),
            );
            manifold::update(&adam, r, &slope, state)
        },
        &(start.clone(), adam.init(&start.zero())),
        &goal,
    );
    let mut now = (start.clone(), adam.init(&start.zero()));
    for _ in 0..500 {
        now = step.run_with(&now, &goal)?;
    }
    assert!(size(&(now.0.matrix() - goal.matrix())) < 1e-6);
    let sgd = Sgd::new(0.25);
    let (mut r, mut state) = (start.clone(), sgd.init(&start.zero()));
    for _ in 0..40 {
        let slope = grad_with(|v, (r, goal)| miss(&r.retract(v), goal), &r.zero(), &(r.clone(), goal.clone()));
        (r, state) = manifold::update(&sgd, &r, &slope, &state);
    }
    assert!(size(&(r.matrix() - goal.matrix())) < 1e-9);
    Ok(())
}

#[test]
#[should_panic(expected = "retract: a tangent vector must have as many items as the point")]
fn other_lengths_are_refused() {
    let p = vec![tensor(1.0), tensor(2.0)];
    drop(p.retract(&vec![tensor(1.0)]));
}
