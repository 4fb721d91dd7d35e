//! Draws the pictures of the pages "Tasks" of the book: what their programs compute, over a range of arguments.
//!
//! `cargo run --release --example tasks [FOLDER OF THE PICTURES]`
//!
//! The programs are those of the pages in `docs/tasks`, which say what each picture shows.

use std::error::Error;

use polygrad::array::Rng;
use polygrad::optim::{Adam, Optimizer, Rate};
use polygrad::random::Key;
use polygrad::{
    BaseTensor, Checkpoint, Concrete, Function, FunctionOptions, Tensor, concat, cond, grad, iterate, root, scan,
    stack, tensor, value_and_grad, value_and_jacobian_with, vmap,
};

mod picture;
use picture::{Picture, panels};

type Drawn = Result<String, Box<dyn Error>>;

/// Noisy values, and what is left of them after a robust smoothing.
fn least_squares() -> Drawn {
    fn residuals<T: BaseTensor>(x: &Tensor<T, 1>, seen: &Tensor<T, 1>) -> Tensor<T, 1> {
        let n = x.len();
        let bend = x.slice(0, 2..) - x.slice(0, 1..n - 1) * 2.0 + x.slice(0, ..n - 2);
        let miss = x - seen;
        concat(0, [&(&miss / (1.0 + miss.square()).powf(0.25)), &(bend * 20.0)])
    }
    let t = Tensor::linspace(0.0, 6.0, 200);
    let seen = t.sin() + Rng::new(1).normal([200], 0.0, 0.3);
    let mut x = Tensor::zeros([200]);
    for _ in 0..5 {
        let (r, j) = value_and_jacobian_with(residuals, &x, &seen);
        x -= j.t().matmul(&j).try_solve(&j.t().matvec(&r))?;
    }
    let t_values = t.to_vec();
    Picture::new("200 unknowns, smoothed by least squares", "t", "x")
        .points("seen", 2, &t_values, &seen.to_vec())
        .line("found", 0, &t_values, &x.to_vec())
        .line("sine", 1, &t_values, &t.sin().to_vec())
        .svg()
}

/// Kepler's equation for some eccentricities.
fn implicit() -> Drawn {
    fn place<T: BaseTensor>(time: &Tensor<T, 0>, e: &Tensor<T, 0>) -> Tensor<T, 0> {
        let equation = |x: &Tensor<_, 0>, (time, e): &(Tensor<_, 0>, Tensor<_, 0>)| x - e * x.sin() - time;
        root(equation, time, &(time.clone(), e.clone()))
    }
    let times = Tensor::linspace(0.0, std::f64::consts::TAU, 81);
    let t = times.to_vec();
    let mut above = Picture::new("The place of a planet on its orbit, by Kepler's equation", "time", "place");
    let mut below =
        Picture::new("Its derivative in time, by the implicit function theorem", "time", "d place / d time");
    for (colour, name, e) in [(2, "e = 0", 0.0), (0, "e = 0.3", 0.3), (1, "e = 0.6", 0.6)] {
        let both = vmap(|time: &Tensor<_, 0>| value_and_grad(|time| place(time, &tensor(e).lift()), time));
        let (places, slopes) = both(&times);
        above = above.line(name, colour, &t, &places.to_vec());
        below = below.line(name, colour, &t, &slopes.to_vec());
    }
    panels(&[above, below])
}

/// The draws of all chains.
fn sampling() -> Drawn {
    fn energy<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let [height, width] = x.unstack();
        0.5 * height.square() + 0.5 * (width * (-&height).exp()).square() + height
    }
    fn step<T: BaseTensor>(x: &Tensor<T, 1>, key: &Key<T>) -> Tensor<T, 1> {
        let [first, second] = key.split();
        let v: Tensor<T, 1> = first.normal([2]);
        let kick = |x: &Tensor<T, 1>, v: &Tensor<T, 1>, by: f64| v - grad(energy, x) * by;
        let start = (x.clone(), kick(x, &v, 0.05));
        let (end, speed) = iterate(30, start, |_, (x, v): (Tensor<T, 1>, Tensor<T, 1>)| {
            let x = x + &v * 0.1;
            let v = kick(&x, &v, 0.1);
            (x, v)
        });
        let speed = kick(&end, &speed, -0.05);
        let total = |x: &Tensor<T, 1>, v: &Tensor<T, 1>| energy(x) + 0.5 * v.dot(v);
        let luck: Tensor<T, 0> = second.uniform([]);
        cond(luck.ln().lt(total(x, &v) - total(&end, &speed)), &end, x)
    }
    let (chains, start) = (400, (Tensor::<Concrete, 2>::zeros([400, 2]), Key::<Concrete>::new(1)));
    let run = Function::stage(
        |(x, key)| {
            iterate(40, (x.clone(), key.clone()), |_, (x, key): (Tensor<_, 2>, Key<_>)| {
                let [next, now] = key.split();
                let chain = Tensor::iota(chains);
                (vmap(|(x, chain)| step(x, &now.fold_in(chain)))((&x, &chain)), next)
            })
            .0
        },
        &start,
    );
    let [height, width] = run.run(&start)?.t().unstack::<2, 1>();
    let edge = Tensor::linspace(-3.0, 2.5, 60);
    let wide = edge.exp() * 2.0;
    Picture::new("A funnel: 400 chains after 40 steps", "height", "width")
        .band("two standard deviations", 0, &edge.to_vec(), &(-&wide).to_vec(), &wide.to_vec())
        .points("draws", 1, &height.to_vec(), &width.clamp(-25.0, 25.0).to_vec())
        .svg()
}

/// The forces that swing a pendulum up, and its angle.
fn control() -> Drawn {
    const DT: f64 = 0.05;
    fn moment<T: BaseTensor>(state: &Tensor<T, 1>, force: &Tensor<T, 0>) -> Tensor<T, 1> {
        let rate = |state: &Tensor<T, 1>| {
            let [_, v, angle, w] = state.unstack();
            let (sin, cos) = (angle.sin(), angle.cos());
            let push = force - 0.1 * &v + 0.2 * &sin * (w.square() + 9.81 * &cos);
            let a = push / (1.0 + 0.2 * sin.square());
            stack(&[v, a.clone(), w.clone(), -(a * cos + 9.81 * sin) - 0.05 * w])
        };
        let half = state + rate(state) * (DT / 2.0);
        state + rate(&half) * DT
    }
    fn states<T: BaseTensor>(forces: &Tensor<T, 1>) -> Tensor<T, 2> {
        scan(Tensor::zeros([4]), forces, |state: Tensor<T, 1>, force: &Tensor<T, 0>| moment(&state, force))
    }
    fn loss<T: BaseTensor>(forces: &Tensor<T, 1>) -> Tensor<T, 0> {
        let all = states(forces);
        let [place, v, angle, w] = all.row::<1>(all.dim::<0>() - 1).unstack();
        let off = (angle.cos() + 1.0) * 10.0 + place.square() + (v.square() + w.square()) * 0.1;
        off + forces.square().mean() * 0.002
    }
    let adam = Adam::new(Rate::cosine(0.3, 0.01, 600));
    let forces = Tensor::linspace(0.5, -0.5, 60);
    let mut now = (forces.clone(), adam.init(&forces));
    let step = Function::stage(
        |(forces, state)| {
            let (_, slope) = value_and_grad(loss, forces);
            adam.update(forces, &slope, state)
        },
        &now,
    );
    for _ in 0..600 {
        now = step.run(&now)?;
    }
    let [place, _, angle, _] = states(&now.0).t().unstack::<4, 1>();
    let times: Vec<f64> = (0..place.len()).map(|k| k as f64 * DT).collect();
    let force_times: Vec<f64> = (0..60).map(|k| k as f64 * DT).collect();
    panels(&[
        Picture::new("A pendulum on a cart, swung up: minus the cosine of its angle is 1 at the top", "seconds", "")
            .line("minus cosine of the angle", 0, &times, &(-angle.cos()).to_vec())
            .line("place of the cart", 1, &times, &place.to_vec()),
        Picture::new("The forces that were found", "seconds", "newton").line("", 2, &force_times, &now.0.to_vec()),
    ])
}

/// Memory of the gradient of a loop, by its length.
fn checkpointing() -> Drawn {
    fn energy<T: BaseTensor>(start: &Tensor<T, 1>, trips: usize) -> Tensor<T, 0> {
        let begin = (start.clone(), start * 0.0);
        let (end, _) = iterate(trips, begin, |_, (x, v): (Tensor<T, 1>, Tensor<T, 1>)| {
            let left = x.slice(0, 1..).pad([(0, 1)]);
            let right = x.slice(0, ..x.len() - 1).pad([(1, 0)]);
            let v = v + (left + right - &x * 2.0 - x.powi(3) * 0.01) * 0.1;
            (x + &v * 0.1, v)
        });
        end.square().sum()
    }
    let x = Tensor::linspace(0.0, 1.0, 1000);
    let trips = [50, 100, 200, 400, 800, 1400, 2000];
    let bytes = |states: Option<f64>| -> Vec<f64> {
        let of = |n: &usize| {
            let f = Function::grad(|x| energy(x, *n), &x);
            let options = FunctionOptions::new();
            let options = match states {
                Some(times) => options.checkpoint(Checkpoint::states((times * (*n as f64).sqrt()) as usize)),
                None => options,
            };
            let f = f.with_options(options);
            f.executable().peak_bytes() as f64 / 1e6
        };
        trips.iter().map(of).collect()
    };
    let n = trips.map(|n| n as f64);
    Picture::new("Memory of a gradient through a loop of 1000 numbers", "trips", "megabytes")
        .with_zero()
        .line("all states", 1, &n, &bytes(None))
        .line("twice the square root", 0, &n, &bytes(Some(2.0)))
        .svg()
}

/// The error of a difference quotient, by its step.
fn test_derivative() -> Drawn {
    let f = |x: &Tensor<Concrete, 0>| (x.sin() * x.exp()).item();
    let x = tensor(1.0);
    let slope = grad(|x| x.sin() * x.exp(), &x).item();
    let steps: Vec<f64> = (0..=48).map(|k| -12.0 + k as f64 * 0.25).collect();
    let error = |power: &f64| {
        let h = 10f64.powf(*power);
        ((f(&(&x + h)) - f(&(&x - h))) / (2.0 * h) - slope).abs().max(1e-14)
    };
    Picture::new(
        "The error of a difference quotient: too long a step, or too short",
        "power of ten of the step",
        "error",
    )
    .logarithmic()
    .line("", 0, &steps, &steps.iter().map(error).collect::<Vec<_>>())
    .svg()
}

/// The name of a picture, and what draws it.
type Named = (&'static str, fn() -> Drawn);

pub(crate) const PICTURES: [Named; 6] = [
    ("task_least_squares", least_squares),
    ("task_implicit", implicit),
    ("task_sampling", sampling),
    ("task_control", control),
    ("task_checkpointing", checkpointing),
    ("task_test_derivative", test_derivative),
];

fn main() -> Result<(), Box<dyn Error>> {
    for (name, draw) in PICTURES {
        println!("picture: {}", picture::save(&picture::folder(), name, &draw()?)?.display());
    }
    Ok(())
}
