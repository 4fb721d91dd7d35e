//! Draws the pictures of the pages "Tasks" of the book: what their programs compute, over a range of arguments.
//!
//! `cargo run --release --example tasks [FOLDER OF THE PICTURES]`
//!
//! The programs are those of the pages in `docs/tasks`, which say what each picture shows: a test compares the functions.

use std::error::Error;

use polygrad::array::Rng;
use polygrad::optim::{Adam, Optimizer, Rate};
use polygrad::random::Key;
use polygrad::tree::Parameters;
use polygrad::{
    BaseTensor, Checkpoint, Concrete, Function, FunctionOptions, Tensor, concat, cond, fold, grad, iterate, root, scan,
    stack, tensor, value_and_grad, value_and_jacobian_with, vmap,
};

mod picture;
use picture::diagram::{Diagram, Part};
use picture::{Picture, panels};

type Drawn = Result<String, Box<dyn Error>>;

/// Noisy values, and what is left of them after a robust smoothing.
fn least_squares() -> Drawn {
    fn residuals<T: BaseTensor>(x: &Tensor<T, 1>, seen: &Tensor<T, 1>) -> Tensor<T, 1> {
        let n = x.len();
        let bend = x.slice(0, 2..) - x.slice(0, 1..n - 1) * 2.0 + x.slice(0, ..n - 2);
        // Values far away count as far, not as far squared: a robust residual.
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
        let h = 0.1;
        let kick = |x: &Tensor<T, 1>, v: &Tensor<T, 1>, by: f64| v - grad(energy, x) * by;
        let (end, speed) = iterate(30, (x.clone(), kick(x, &v, h / 2.0)), |_, (x, v): (Tensor<T, 1>, Tensor<T, 1>)| {
            let x = x + &v * h;
            let v = kick(&x, &v, h);
            (x, v)
        });
        let speed = kick(&end, &speed, -h / 2.0);
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
        // The midpoint rule.
        let half = state + rate(state) * (DT / 2.0);
        state + rate(&half) * DT
    }
    fn states<T: BaseTensor>(forces: &Tensor<T, 1>) -> Tensor<T, 2> {
        scan(Tensor::zeros([4]), forces, |state: Tensor<T, 1>, force: &Tensor<T, 0>| moment(&state, force))
    }
    fn loss<T: BaseTensor>(forces: &Tensor<T, 1>) -> Tensor<T, 0> {
        let end = fold(Tensor::zeros([4]), forces, |state, force| moment(&state, force));
        let [place, v, angle, w] = end.unstack();
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
        let (end, _) = iterate(trips, (start.clone(), start * 0.0), |_, (x, v): (Tensor<T, 1>, Tensor<T, 1>)| {
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

/// Newton's method on problem 71 of Hock and Schittkowski, in the plane of two of its unknowns.
fn constrained() -> Drawn {
    fn objective<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let [a, b, c, d] = x.unstack();
        &a * d * (&a + b + &c) + &c
    }
    fn constraints<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
        stack(&[x.prod() - 25.0, x.square().sum() - 40.0, x.at([0]) - 1.0])
    }
    /// A function of the four unknowns and the three multipliers.
    fn lagrangian<T: BaseTensor>(z: &Tensor<T, 1>) -> Tensor<T, 0> {
        let (x, multipliers) = (z.slice(0, ..4), z.slice(0, 4..));
        objective(&x) + multipliers.dot(&constraints(&x))
    }
    let mut z = concat(0, [&tensor([1.0, 5.0, 4.0, 1.5]), &tensor([0.0, 0.0, 0.0])]);
    let (slope, hessian) = (Function::grad(lagrangian, &z), Function::hessian(lagrangian, &z));
    let (mut across, mut up) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        let x = z.to_vec();
        across.push(x[1]);
        up.push(x[3]);
        z = &z - hessian.run(&z)?.try_solve(&slope.run(&z)?)?;
    }
    // Where two conditions hold beside x0 = 1: for each x1 the others are a root.
    fn point<T: BaseTensor>(b: &Tensor<T, 0>, rest: &Tensor<T, 1>) -> Tensor<T, 1> {
        let [c, d] = rest.unstack();
        stack(&[Tensor::scalar(1.0), b.clone(), c, d])
    }
    let at = Tensor::linspace(4.2, 5.8, 81);
    let start = tensor([3.0, 2.0]);
    let curve = |level: Option<f64>| {
        let end = vmap(|b: &Tensor<_, 0>| {
            let conditions = |rest: &Tensor<_, 1>, b: &Tensor<_, 0>| {
                let x = point(b, rest);
                let product = constraints(&x).slice(0, ..1);
                match level {
                    Some(level) => concat(0, [&product, &(objective(&x) - level).reshape([1])]),
                    None => constraints(&x).slice(0, ..2),
                }
            };
            root(conditions, &Tensor::constant(&start), b).at([1])
        })(&at);
        let both = at.to_vec().into_iter().zip(end.to_vec()).filter(|(_, d): &(f64, f64)| (1.0..2.0).contains(d));
        both.unzip::<f64, f64, Vec<_>, Vec<_>>()
    };
    let least = objective(&z.slice(0, ..4)).item();
    let levels = [15.5, 16.0, 16.5, least, 17.5, 18.0, 18.5, 19.0].map(|level| curve(Some(level)));
    let feasible = curve(None);
    let mut picture = Picture::new("The least objective where constraints hold, by Newton's method", "x1", "x3");
    for (k, (b, d)) in levels.iter().enumerate() {
        picture = picture.line(if k == 0 { "levels of the objective" } else { "" }, 2, b, d);
    }
    picture
        .line("constraints hold", 0, &feasible.0, &feasible.1)
        .line("", 1, &across, &up)
        .points("steps", 1, &across, &up)
        .points("solution", 3, &across[7..], &up[7..])
        .svg()
        .map_err(|e| e.to_string().into())
}

/// Training that is saved, loaded and continued.
fn save() -> Drawn {
    type Network<T> = (Tensor<T, 1>, Tensor<T, 1>, Tensor<T, 1>);
    fn loss<T: BaseTensor>((first, bias, last): &Network<T>) -> Tensor<T, 0> {
        let x: Tensor<T, 1> = Tensor::linspace(-3.0, 3.0, 40);
        let hidden: Tensor<T, 2> = (x.outer(first) + bias.expand::<2>()).tanh();
        (hidden.matvec(last) - x.sin()).square().mean()
    }
    const STEPS: usize = 120;
    let rng = &mut Rng::new(1);
    let network: Network<Concrete> = (rng.normal([8], 0.0, 1.0), rng.normal([8], 0.0, 1.0), rng.normal([8], 0.0, 0.5));
    let adam = Adam::new(0.03);
    let start = (network.clone(), adam.init(&network));
    let step = Function::stage(
        |(network, state)| {
            let (value, slope) = value_and_grad(loss, network);
            (adam.update(network, &slope, state), value)
        },
        &start,
    );
    let mut now = start.clone();
    let (mut whole, mut file) = (Vec::new(), Vec::new());
    for k in 0..STEPS {
        if k == STEPS / 2 {
            file = Parameters::of(&now)?.to_safetensors()?;
        }
        let (next, value) = step.run(&now)?;
        whole.push(value.item());
        now = next;
    }
    // What a program does that begins with the file.
    let loaded = Parameters::of_safetensors(&file)?.load_into(&start)?;
    let forgotten = (loaded.0.clone(), adam.init(&loaded.0));
    let continued = |mut now: (Network<Concrete>, _)| {
        let mut curve = Vec::new();
        for _ in STEPS / 2..STEPS {
            let (next, value) = step.run(&now)?;
            curve.push(value.item());
            now = next;
        }
        Ok::<_, polygrad::RunError>(curve)
    };
    let (with_state, without) = (continued(loaded)?, continued(forgotten)?);
    let steps: Vec<f64> = (0..STEPS).map(|k| k as f64).collect();
    let late = &steps[STEPS / 2..];
    let every = |x: &[f64]| x.iter().copied().step_by(3).collect::<Vec<_>>();
    Picture::new("Training, saved after 60 steps", "step", "loss")
        .logarithmic()
        .line("loaded: parameters alone", 1, late, &without)
        .line("never stopped", 2, &steps, &whole)
        .points("loaded: parameters and state of Adam", 0, &every(late), &every(&with_state))
        .svg()
        .map_err(|e| e.to_string().into())
}

/// Four threads that share a function, each with a part of the data.
fn processors() -> Drawn {
    fn loss<T: BaseTensor>(w: &Tensor<T, 1>, seed: &Tensor<T, 0>) -> Tensor<T, 0> {
        (w * seed).sin().square().sum()
    }
    let w = tensor([0.1, 0.2, 0.3]);
    let slope = Function::grad_with(loss, &w, &tensor(1.0));
    let slopes: Vec<Tensor<_, 1>> = std::thread::scope(|scope| {
        let run = |k: usize| slope.run_with(&w, &tensor(k as f64)).expect("shapes are right");
        let threads: Vec<_> = (1..=4).map(|k| scope.spawn(move || run(k))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for (k, by_thread) in slopes.iter().enumerate() {
        assert_eq!(*by_thread, slope.run_with(&w, &tensor(k as f64 + 1.0))?, "a thread changes the bits of a result");
    }
    let total = slopes.iter().fold(Tensor::zeros([3]), |sum: Tensor<Concrete, 1>, slope| sum + slope);
    let mut diagram =
        Diagram::new("One function, four threads, one sum: the same bits as by one thread", 336.0).part(&Part {
            at: (170.0, 48.0),
            size: (380.0, 56.0),
            name: "one Function, which all threads share",
            text: "Function::grad_with(loss, &w, &tensor(1.0))",
            colour: 0,
        });
    for (k, slope) in slopes.iter().enumerate() {
        let x = 14.0 + k as f64 * 176.0;
        let text = format!("seed {}\n{slope:.3}", k + 1);
        diagram = diagram
            .arrow((230.0 + k as f64 * 87.0, 104.0), (x + 82.0, 150.0), "")
            .part(&Part {
                at: (x, 150.0),
                size: (164.0, 74.0),
                name: &format!("thread {}", k + 1),
                text: &text,
                colour: 1,
            })
            .arrow((x + 82.0, 224.0), (230.0 + k as f64 * 87.0, 262.0), "");
    }
    let sum = format!("{total:.3}");
    let last = Part {
        at: (170.0, 262.0),
        size: (380.0, 56.0),
        name: "the sum, in the order of the seeds",
        text: &sum,
        colour: 3,
    };
    Ok(diagram.part(&last).svg())
}

/// The way from a function to a device, with the texts on it.
fn xla() -> Drawn {
    fn energy<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        (x.sin() * x).sum()
    }
    let slope = Function::grad(energy, &tensor([0.5, 1.0, 2.0]));
    let page = include_str!("../../docs/tasks/xla.md");
    let from = page.find("fn energy").ok_or("the page has the function")?;
    let function: Vec<&str> = page[from..].lines().take(3).collect();
    let exported = slope.exported("slope")?;
    // Without the lines of source.
    let text: Vec<&str> = exported.text.lines().filter_map(|line| line.split(" loc(").next()).collect();
    let (function, program, text) = (function.join("\n"), slope.optimized().to_string(), text.join("\n"));
    let part = |y: f64, h: f64, name, text, colour| Part { at: (100.0, y), size: (520.0, h), name, text, colour };
    let mut diagram = Diagram::new("From a function to a device", 646.0)
        .part(&part(48.0, 86.0, "a function in Rust", &function, 0))
        .arrow((360.0, 134.0), (360.0, 166.0), "Function::grad records, differentiates, optimizes")
        .part(&part(166.0, 86.0, "the program of its gradient", &program, 3))
        .arrow((360.0, 252.0), (360.0, 284.0), "exported")
        .part(&part(284.0, 220.0, "a text in StableHLO", &text, 1));
    let devices = [
        ("in Python", "a function of JAX"),
        ("in this process", "a plugin of PJRT"),
        ("several devices", "sharded(&mesh, ..)"),
    ];
    for (k, (name, text)) in devices.into_iter().enumerate() {
        let x = 30.0 + k as f64 * 230.0;
        diagram = diagram
            .arrow((200.0 + k as f64 * 160.0, 504.0), (x + 100.0, 560.0), if k == 1 { "XLA compiles it" } else { "" })
            .part(&Part { at: (x, 560.0), size: (200.0, 60.0), name, text, colour: 2 });
    }
    Ok(diagram.svg())
}

/// The name of a picture, and what draws it.
type Named = (&'static str, fn() -> Drawn);

pub(crate) const PICTURES: [Named; 10] = [
    ("task_least_squares", least_squares),
    ("task_implicit", implicit),
    ("task_sampling", sampling),
    ("task_control", control),
    ("task_checkpointing", checkpointing),
    ("task_test_derivative", test_derivative),
    ("task_constrained", constrained),
    ("task_save", save),
    ("task_processors", processors),
    ("task_xla", xla),
];

fn main() -> Result<(), Box<dyn Error>> {
    for (name, draw) in PICTURES {
        println!("picture: {}", picture::save(&picture::folder(), name, &draw()?)?.display());
    }
    Ok(())
}
