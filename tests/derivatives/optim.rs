//! Optimizers: equal to the published rules written out with numbers, at every interpreter, recorded and not.

use polygrad::optim::{Adam, Optimizer, Rate, Sgd, clip_by_norm};
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, grad, iterate, tensor, value_and_grad};

use crate::support::assert_near;

/// A valley: its lowest point is at (1, 1), where it is 0.
fn rosenbrock<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let (a, b) = (x.slice(0, ..x.len() - 1), x.slice(0, 1..));
    ((1.0 - &a).square() + 100.0 * (b - a.square()).square()).sum()
}

/// The gradients an optimizer meets in the tests by numbers: they change sign and size.
fn slopes(n: usize) -> Vec<[f64; 3]> {
    (0..n).map(|k| [0, 1, 2].map(|i| ((k * 3 + i) as f64 * 1.7).sin() * 10f64.powi(i as i32 - 1))).collect()
}

/// Updates from (1, 2, 3) with the slopes, and the same with `rule`, which holds two moments for each element.
#[track_caller]
fn compare(optimizer: &impl Optimizer, rule: impl Fn(f64, f64, [f64; 2], f64) -> (f64, [f64; 2])) {
    let mut x = tensor([1.0, 2.0, 3.0]);
    let mut state = optimizer.init(&x);
    let mut expected = [1.0, 2.0, 3.0].map(|x| (x, [0.0; 2]));
    for (k, slope) in slopes(30).into_iter().enumerate() {
        (x, state) = optimizer.update(&x, &tensor(slope), &state);
        for (e, g) in expected.iter_mut().zip(slope) {
            *e = rule(e.0, g, e.1, (k + 1) as f64);
        }
        for (e, x) in expected.iter().zip(x.to_vec()) {
            assert_near(&format!("update {k}"), e.0, x, 1e-12);
        }
    }
    assert_eq!(state.count.item(), 30.0);
}

#[test]
fn updates_are_those_of_the_papers() {
    compare(&Sgd::new(0.1), |x, g, m, _| (x - 0.1 * g, m));
    compare(&Sgd::new(0.1).momentum(0.8), |x, g, [v, _], _| {
        let v = 0.8 * v + g;
        (x - 0.1 * v, [v, 0.0])
    });
    compare(&Sgd::new(0.1).momentum(0.8).nesterov(), |x, g, [v, _], _| {
        let v = 0.8 * v + g;
        (x - 0.1 * (g + 0.8 * v), [v, 0.0])
    });
    let adam = |decay: f64| {
        move |x: f64, g: f64, [m, v]: [f64; 2], t: f64| {
            let (m, v) = (0.7 * m + 0.3 * g, 0.95 * v + 0.05 * g * g);
            let (a, b) = (m / (1.0 - 0.7f64.powf(t)), v / (1.0 - 0.95f64.powf(t)));
            (x - 0.01 * (a / (b.sqrt() + 1e-3) + decay * x), [m, v])
        }
    };
    let base = Adam::new(0.01).betas(0.7, 0.95).epsilon(1e-3);
    compare(&base, adam(0.0));
    compare(&base.decay(0.3), adam(0.3));
    compare(&Adam::new(0.01).betas(0.0, 0.0), |x, g, m, _| (x - 0.01 * g / (g.abs() + 1e-8), m));
}

#[test]
fn schedules_are_read_from_the_count() {
    let rate = Rate::steps(0.5, [(3, 0.1), (5, 0.0)]);
    compare(&Sgd::new(rate), |x, g, m, t| {
        (
            x - g * if t <= 3.0 {
                0.5
            } else if t <= 5.0 {
                0.05
            } else {
                0.0
            },
            m,
        )
    });
    let at = |rate: &Rate, n: usize| rate.at(&tensor(n as f64)).item();
    for rate in [Rate::linear(2.0, 1.0, 8), Rate::cosine(2.0, 1.0, 8), Rate::exponential(2.0, 0.5, 8)] {
        assert_near("start", at(&rate, 0), 2.0, 1e-15);
        assert_near("end", at(&rate, 8), 1.0, 1e-15);
        // The schedule after five updates of growth is the schedule, five updates later.
        let later = rate.clone().warmup(5);
        assert!((0..5).all(|k| (at(&later, k) - 2.0 * (k + 1) as f64 / 5.0).abs() < 1e-15));
        assert!((0..20).all(|k| at(&later, k + 5) == at(&rate, k)));
    }
    assert_eq!([Rate::linear(2.0, 1.0, 8), Rate::cosine(2.0, 1.0, 8)].map(|r| at(&r, 100)), [1.0, 1.0]);
}

/// Steps from `x`, one call after the other.
fn descend(optimizer: &impl Optimizer, x: &Tensor<Concrete, 1>, steps: usize) -> Tensor<Concrete, 1> {
    let (mut x, mut state) = (x.clone(), optimizer.init(x));
    let both = Function::value_and_grad(rosenbrock, &x);
    for _ in 0..steps {
        (x, state) = optimizer.update(&x, &both.run(&x).unwrap().1, &state);
    }
    x
}

#[test]
fn a_recorded_step_is_the_step() {
    fn check(optimizer: &impl Optimizer) {
        let start = tensor([-1.0, 1.5, 0.5]);
        let expected = descend(optimizer, &start, 20);
        // Gradient and update as one program.
        let mut now = (start.clone(), optimizer.init(&start));
        let step = Function::stage(
            |(x, state)| {
                let (value, slope) = value_and_grad(rosenbrock, x);
                (optimizer.update(x, &slope, state), value)
            },
            &now,
        );
        for _ in 0..20 {
            now = step.run(&now).unwrap().0;
        }
        // All of the steps as one loop.
        let carry = (start.clone(), optimizer.init(&start));
        let (looped, state) = iterate(20, carry, |_, (x, state)| optimizer.update(&x, &grad(rosenbrock, &x), &state));
        assert_eq!(state.count.item(), 20.0);
        for x in [&now.0, &looped] {
            for (a, b) in x.to_vec().into_iter().zip(expected.to_vec()) {
                assert_near("recorded", a, b, 1e-9);
            }
        }
    }
    check(&Sgd::new(1e-3));
    check(&Sgd::new(Rate::cosine(1e-3, 1e-4, 20)).momentum(0.9).nesterov());
    check(&Adam::new(Rate::exponential(0.1, 0.5, 10).warmup(3)).decay(0.01));
}

#[test]
fn the_lowest_point_is_found() {
    for x in [
        descend(&Sgd::new(1e-3).momentum(0.95), &tensor([-1.2, 1.0]), 1500),
        descend(&Adam::new(0.1), &tensor([-1.2, 1.0]), 2000),
    ] {
        assert!(rosenbrock(&x).item() < 1e-6, "{x}");
    }
}

/// The loss after three updates, as a function of the start and of the slope's scale.
fn unrolled<T: BaseTensor>(optimizer: &impl Optimizer, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let (mut x, mut state) = (x.clone(), optimizer.init(x));
    for _ in 0..3 {
        let slope = (&x - 1.0) + x.sin();
        (x, state) = optimizer.update(&x, &clip_by_norm(&slope, 2.0), &state);
    }
    x.square().sum()
}

#[test]
fn updates_are_differentiated() {
    for adam in [false, true] {
        let x = tensor([0.5, -2.0]);
        let value = |x: &Tensor<Concrete, 1>| {
            if adam { unrolled(&Adam::new(0.1).decay(0.1), x) } else { unrolled(&Sgd::new(0.1).momentum(0.5), x) }
        };
        let slope = if adam {
            grad(|x| unrolled(&Adam::new(0.1).decay(0.1), x), &x)
        } else {
            grad(|x| unrolled(&Sgd::new(0.1).momentum(0.5), x), &x)
        };
        for (k, slope) in slope.to_vec().into_iter().enumerate() {
            let e = tensor([0, 1].map(|i| if i == k { 1e-5 } else { 0.0 }));
            let difference = (value(&(&x + &e)) - value(&(&x - &e))).item() / 2e-5;
            assert_near("an updated loss", slope, difference, 1e-8);
        }
    }
}

#[test]
fn leaves_of_all_types() {
    let x = (tensor([1.0f32, 2.0]), tensor(3i64), vec![tensor([[true]])], tensor([0.5]));
    let g = (tensor([0.5f32, -1.0]), tensor(7i64), vec![tensor([[false]])], tensor([-2.0]));
    let adam = Adam::new(0.25);
    let (y, state) = adam.update(&x, &g, &adam.init(&x));
    assert_eq!((y.1, &y.2), (x.1, &x.2));
    assert!((y.0 - tensor([0.75f32, 2.25])).abs().max_all().item() < 1e-6 && (y.3 - 0.75).abs().to_vec()[0] < 1e-8);
    let mut names = Vec::new();
    state.paths("state", &mut names);
    assert_eq!(names[..3], ["state.count", "state.moments.0.0", "state.moments.0.1"]);
    let short = clip_by_norm(&g, 1.0);
    assert_near("length of a clipped gradient", polygrad::tree::TreeMath::norm(&short).item(), 1.0, 1e-6);
    assert_eq!(clip_by_norm(&tensor([0.0, 0.0]), 1.0).to_vec(), [0.0, 0.0]);
    assert!(clip_by_norm(&tensor([f64::NAN, 1.0]), 1.0).to_vec()[1].is_nan());
}
