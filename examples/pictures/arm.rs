//! Plans a motion of a robot arm through its equations of motion, which are derivatives of its energy.
//!
//! `cargo run --release --example arm [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The program states the kinetic and the potential energy of an arm with seven joints. Lagrange's equation makes torques of
//! them, by derivatives of derivatives. The effort of a motion is a sum over these torques, and its gradient finds a motion
//! that takes half of it. The torques are then played back through the mass matrix, a Hessian. `docs/examples/arm.md` shows the
//! picture and what is printed.

use std::error::Error;
use std::io::Write;

use argmin::core::Executor;
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use polygrad::optim::argmin::Problem;
use polygrad::{BaseTensor, Concrete, Function, Tensor, fold, grad_with, hessian_with, jvp, map, stack, tensor};

mod picture;
use picture::{Picture, panels};

/// Of each joint: the turn about x and the place in the link before; of its link the mass, centre and inertia; limits.
const PANDA: &str = include_str!("../data/panda.csv");
const JOINTS: usize = 7;
const GRAVITY: f64 = 9.80665;
/// The load in kg, as much as the arm may carry, and its distance from the last joint in m.
const LOAD: f64 = 3.0;
const REACH: f64 = 0.21;
/// Where the motion begins and ends, how long it takes in s, and at how many times it is looked at.
const START: [f64; JOINTS] = [-1.2, 1.1, 0.0, -1.0, 0.0, 2.1, 0.8];
const END: [f64; JOINTS] = [1.2, 0.3, 0.0, -1.2, 0.0, 1.5, 0.8];
const DURATION: f64 = 2.2;
const TIMES: usize = 40;
/// Functions of time that are added to each joint's plain motion.
const BUMPS: usize = 5;

type Real<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// A frame that moves with a link: the axes of the world in it (rows), its place in the world; its velocities, in its own axes.
struct Frame<T: BaseTensor> {
    axes: Tensor<T, 2>,
    place: Vector<T>,
    turning: Vector<T>,
    moving: Vector<T>,
}

fn cross<T: BaseTensor>(a: &Vector<T>, b: &Vector<T>) -> Vector<T> {
    let ([a, b, c], [x, y, z]) = (a.unstack(), b.unstack());
    stack(&[&b * &z - &c * &y, c * &x - &a * z, a * y - b * x])
}

impl<T: BaseTensor> Frame<T> {
    /// Where a point of the link is, and its velocity in the axes of the link.
    fn point(&self, at: &Vector<T>) -> [Vector<T>; 2] {
        [&self.place + self.axes.matvec(at), &self.moving + cross(&self.turning, at)]
    }

    /// The frame of the next link, behind a joint with this angle and speed.
    fn next(&self, link: &[f64], angle: &Real<T>, speed: &Real<T>) -> Self {
        let [place, moving] = self.point(&Tensor::constant(&link[1..4]));
        let (sin, cos) = link[0].sin_cos();
        let tilt: Tensor<T, 2> = Tensor::constant([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]]);
        let (sin, cos) = (angle.sin(), angle.cos());
        let (zero, one) = (Tensor::scalar(0.0), Tensor::scalar(1.0));
        let spin = [[cos.clone(), -&sin, zero.clone()], [sin, cos, zero.clone()], [zero.clone(), zero, one]];
        let turn = tilt.matmul(&stack(spin.map(|row| stack(row))));
        let turning = self.turning.vecmat(&turn) + speed * Tensor::constant([0.0, 0.0, 1.0]);
        Frame { axes: self.axes.matmul(&turn), place, turning, moving: moving.vecmat(&turn) }
    }
}

fn links() -> Vec<Vec<f64>> {
    let number = |x: &str| x.parse().unwrap_or(f64::NAN);
    PANDA.lines().skip(1).map(|line| line.split(',').map(number).collect()).collect()
}

/// A column of the table.
fn column<T: BaseTensor>(k: usize) -> Vector<T> {
    Tensor::from_fn([JOINTS], |[joint]| links()[joint][k])
}

/// The frame of the base, and those of all links.
fn frames<T: BaseTensor>(angles: &Vector<T>, speeds: &Vector<T>) -> Vec<Frame<T>> {
    let [place, turning, moving] = std::array::from_fn(|_| Tensor::zeros([3]));
    let mut frames = vec![Frame { axes: Tensor::eye(3), place, turning, moving }];
    for (k, link) in links().iter().enumerate() {
        frames.push(frames[k].next(link, &angles.at([k]), &speeds.at([k])));
    }
    frames
}

/// The place of the load.
fn hand<T: BaseTensor>(angles: &Vector<T>) -> Vector<T> {
    let [place, _] = frames(angles, &Tensor::zeros([JOINTS]))[JOINTS].point(&Tensor::constant([0.0, 0.0, REACH]));
    place
}

/// The kinetic and the potential energy of the arm and its load.
fn energies<T: BaseTensor>(angles: &Vector<T>, speeds: &Vector<T>) -> [Real<T>; 2] {
    let [mut kinetic, mut potential] = [Tensor::scalar(0.0), Tensor::scalar(0.0)];
    let mut add = |frame: &Frame<T>, mass: f64, centre: &[f64]| {
        let [place, velocity] = frame.point(&Tensor::constant(centre));
        kinetic += 0.5 * mass * velocity.square().sum();
        potential += mass * GRAVITY * place.at([2]);
    };
    let frames = frames(angles, speeds);
    let mut spinning = Tensor::scalar(0.0);
    for (frame, link) in frames[1..].iter().zip(links()) {
        add(frame, link[4], &link[5..8]);
        let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|k| link[8 + k]);
        let inertia: Tensor<T, 2> = Tensor::constant([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]);
        spinning += 0.5 * frame.turning.dot(&inertia.matvec(&frame.turning));
    }
    add(&frames[JOINTS], LOAD, &[0.0, 0.0, REACH]);
    [kinetic + spinning, potential]
}

fn lagrangian<T: BaseTensor>(angles: &Vector<T>, speeds: &Vector<T>) -> Real<T> {
    let [kinetic, potential] = energies(angles, speeds);
    kinetic - potential
}

fn momenta<T: BaseTensor>(angles: &Vector<T>, speeds: &Vector<T>) -> Vector<T> {
    grad_with(|speeds, angles| lagrangian(angles, speeds), speeds, angles)
}

/// Angles of the joints, their speeds and accelerations.
type Motion<X> = [X; 3];

/// The torques of a motion, by Lagrange's equation: the change of the momenta in time is the torque, and the slope of the Lagrangian.
fn torques<T: BaseTensor>([angles, speeds, accelerations]: &Motion<Vector<T>>) -> Vector<T> {
    let (now, change) = ((angles.clone(), speeds.clone()), (speeds.clone(), accelerations.clone()));
    let (_, change) = jvp(|(angles, speeds)| momenta(angles, speeds), &now, &change);
    change - grad_with(lagrangian, angles, speeds)
}

/// The accelerations that torques make: the mass matrix is the Hessian of the energy in the speeds.
fn accelerations<T: BaseTensor>(angles: &Vector<T>, speeds: &Vector<T>, torque: &Vector<T>) -> Vector<T> {
    let mass: Tensor<T, 2> = hessian_with(|speeds, angles| lagrangian(angles, speeds), speeds, angles);
    mass.solve(&(torque - torques(&[angles.clone(), speeds.clone(), speeds * 0.0])))
}

/// The plain motion at times from 0 to 1, and what may be added to it.
fn shapes<T: BaseTensor>(t: &Vector<T>) -> [Tensor<T, 2>; 2] {
    use std::f64::consts::PI;
    let ramp = t.powi(3) * (10.0 - 15.0 * t + 6.0 * t.square());
    let bump = |k: usize| (t * PI).sin().powi(3) * (t * (PI * k as f64)).cos();
    [ramp.insert_axis(1), stack((0..BUMPS).map(bump).collect::<Vec<_>>()).t()]
}

/// The shapes, and their first and second derivatives in time.
fn rates(times: &Vector<Concrete>) -> Motion<[Tensor<Concrete, 2>; 2]> {
    let ones = Tensor::ones(times.shape());
    let slope = jvp(shapes, times, &ones).1;
    let bend = jvp(|t| jvp(shapes, t, &Tensor::ones(t.shape())).1, times, &ones).1;
    [shapes(times), slope.map(|x| x / DURATION), bend.map(|x| x / (DURATION * DURATION))]
}

/// The motion at all times: rows of angles, of speeds, of accelerations.
fn motion<T: BaseTensor>(control: &Tensor<T, 2>, rates: &Motion<[Tensor<T, 2>; 2]>) -> Motion<Tensor<T, 2>> {
    let (start, end): (Vector<T>, Vector<T>) = (Tensor::constant(START), Tensor::constant(END));
    let way = (end - &start).insert_axis(0);
    let [angles, speeds, accelerations] =
        rates.each_ref().map(|[ramp, bumps]| ramp.matmul(&way) + bumps.matmul(control));
    let start = start.up_to(&angles);
    [angles + start, speeds, accelerations]
}

/// The torques at all times, as shares of what the motors give.
fn loads<T: BaseTensor>(motion: &Motion<Tensor<T, 2>>) -> Tensor<T, 2> {
    map(motion, |motion: &Motion<Vector<T>>| torques(motion) / column(14))
}

/// The mean of the squares of all loads, with the price of going beyond limits: of speeds, of angles, and of the table below the load.
fn cost<T: BaseTensor>(control: &Tensor<T, 2>, rates: &Motion<[Tensor<T, 2>; 2]>) -> Real<T> {
    let motion = motion(control, rates);
    let beyond = map(&motion, |[angles, speeds, _]: &Motion<Vector<T>>| {
        let fast = (speeds.abs() / column(15) - 0.9).relu();
        let far = (angles - column(17) + 0.1).relu() + (column(16) - angles + 0.1).relu();
        let below = (0.05 - hand(angles).at([2])).relu();
        10.0 * (fast.square().sum() + far.square().sum()) + 100.0 * below.square()
    });
    (loads(&motion).square().sum() + beyond.sum()) / TIMES as f64
}

fn middles() -> Vector<Concrete> {
    Tensor::from_fn([TIMES], |[k]| (k as f64 + 0.5) / TIMES as f64)
}

fn plan(steps: u64) -> Result<Tensor<Concrete, 2>, Box<dyn Error>> {
    let problem = Problem::new_with(cost, &Tensor::zeros([BUMPS, JOINTS]), &rates(&middles()));
    let start = problem.start();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 20);
    let found = Executor::new(problem, solver).configure(|state| state.param(start).max_iters(steps)).run()?;
    Ok(Tensor::new([BUMPS, JOINTS], found.state.best_param.ok_or("the solver must find a point")?))
}

/// Where torques take the arm, by the method of Runge and Kutta: of each step those at its beginning, at its middle twice, at its end.
fn played<T: BaseTensor>(torques: &Tensor<T, 3>, step: f64) -> Vector<T> {
    let still = || Tensor::zeros([JOINTS]);
    let (shift, weight) = ([0.0, 0.5, 0.5, 1.0], [1.0, 2.0, 2.0, 1.0]);
    let stages: [Vector<T>; 2] = [shift, weight].map(|x| Tensor::constant(x.map(|x| x * step)));
    let start = [Tensor::constant(START), still()];
    let [end, _] = fold(start, torques, |now: [Vector<T>; 2], torques: &Tensor<T, 2>| {
        let zero = [still(), still(), still(), still()];
        let [.., angles, speeds] = fold(zero, (&stages, torques), |[dq, dv, q, v]: [Vector<T>; 4], stage| {
            let ([shift, weight], torque): &([Real<T>; 2], Vector<T>) = stage;
            let (angles, dq) = (&now[0] + shift * dq, &now[1] + shift * dv);
            let dv = accelerations(&angles, &dq, torque);
            [dq.clone(), dv.clone(), q + weight * dq / 6.0, v + weight * dv / 6.0]
        });
        [&now[0] + angles, &now[1] + speeds]
    });
    end
}

/// The energy that torques give in so many steps, by Simpson's rule, and what the arm gains.
fn work(torques: &Tensor<Concrete, 2>, speeds: &Tensor<Concrete, 2>, steps: usize) -> [f64; 2] {
    let power = (torques * speeds).sum_axis::<1>(1).to_vec();
    let thirds = power.windows(3).step_by(2).map(|p| p[0] + 4.0 * p[1] + p[2]);
    let energy = |angles: [f64; JOINTS]| energies::<Concrete>(&tensor(angles), &Tensor::zeros([JOINTS]))[1].item();
    [thirds.sum::<f64>() * DURATION / (6 * steps) as f64, energy(END) - energy(START)]
}

/// The arm at some times of a motion, and the way of its load, seen from the front and from a bit above.
fn poses<'a>(title: &'a str, colour: usize, angles: &Tensor<Concrete, 2>) -> Picture<'a> {
    let seen = |[x, y, z]: [f64; 3]| (y + 0.3 * x, z - 0.3 * x);
    let point = |place: &Vector<Concrete>| seen(place.unstack().map(|x| x.item()));
    let rows = angles.shape()[0];
    let load: Vec<_> = (0..rows).map(|k| point(&hand(&angles.row(k)))).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = load.into_iter().unzip();
    let table = [[0.8, -0.8, 0.0], [0.8, 0.8, 0.0], [-0.2, 0.8, 0.0], [-0.2, -0.8, 0.0], [0.8, -0.8, 0.0]].map(seen);
    let (tx, ty): (Vec<f64>, Vec<f64>) = table.into_iter().unzip();
    let mut picture = Picture::new(title, "m", "m").equal().line("", 2, &tx, &ty).line("way of the load", 1, &x, &y);
    for k in (0..rows).step_by((rows - 1) / 6) {
        let angles = angles.row(k);
        let places =
            frames(&angles, &Tensor::zeros([JOINTS])).into_iter().map(|frame| frame.place).chain([hand(&angles)]);
        let (x, y): (Vec<f64>, Vec<f64>) = places.map(|place| point(&place)).unzip();
        picture = picture.line(if k == 0 { "arm" } else { "" }, colour, &x, &y).points("", 1, &x[8..], &y[8..]);
    }
    picture
}

/// Plans a motion in so many steps of the optimizer, plays it back in so many steps of time, and reports to `out`; the picture.
pub(crate) fn run(searches: u64, steps: usize, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let times = Tensor::linspace(0.0, 1.0, 2 * steps + 1);
    let rates = rates(&times);
    let motions = [Tensor::zeros([BUMPS, JOINTS]), plan(searches)?].map(|control| motion(&control, &rates));
    let all_loads = Function::stage(loads, &motions[0]);
    let step = DURATION / steps as f64;
    let play = Function::stage(|torques| played(torques, step), &Tensor::zeros([steps, 4, JOINTS]));
    let every = 2 * steps / 60;
    let seconds = (times.slice_step(0, .., every) * DURATION).to_vec();
    let mut chart = Picture::new("Loads of the shoulder and of the elbow", "s", "% of the largest torque");
    writeln!(out, "motion    effort   largest load   speed   energy given       gained   the load misses its goal by")?;
    for (name, shoulder, motion, colours) in
        [("plain", "plain: shoulder", &motions[0], [2, 0]), ("planned", "planned: shoulder", &motions[1], [3, 1])]
    {
        let loads = all_loads.run(motion)?;
        let torques = &loads * column(14).up_to(&loads);
        let parts = [0, 1, 1, 2].map(|k| torques.slice_step(0, k..2 * steps - 1 + k, 2));
        let end = play.run(&stack::<_, 2, 3, _>(&parts).permute([1, 0, 2]))?;
        let missed = 1e3 * (hand(&end) - hand(&tensor(END))).norm().item();

        let effort = loads.square().sum_axis::<1>(1).mean().item();
        let most = |x: &Tensor<Concrete, 2>| 100.0 * x.abs().max_all().item();
        let (load, speed) = (most(&loads), most(&(&motion[1] / column(15).up_to(&motion[1]))));
        let [given, gained] = work(&torques, &motion[1], steps);
        writeln!(
            out,
            "{name:<8} {effort:>7.3} {load:>12.0} % {speed:>5.0} % {given:>12.6} J {gained:>10.6} J {missed:>26.4} mm"
        )?;
        for ((joint, name), colour) in [(3, "elbow"), (1, shoulder)].iter().zip(colours) {
            let load = (loads.slice(1, *joint..=*joint).slice_step(0, .., every) * 100.0).to_vec();
            chart = chart.line(name, colour, &seconds, &load);
        }
    }
    let [plain, planned] = motions.each_ref().map(|[angles, ..]| angles.slice_step(0, .., every));
    panels(&[poses("The plain motion", 0, &plain), poses("The planned motion", 0, &planned), chart])
}

/// The times beside those of `python/gallery/arm.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let control = Tensor::from_fn([BUMPS, JOINTS], |[k, joint]| 0.1 * ((k * JOINTS + joint) as f64).sin());
    let rates = rates(&middles());
    picture::timed("torques", 1000, || {
        let motion = motion(&control, &rates);
        let f =
            Function::stage(|motion: &Motion<_>| map(motion, |motion: &Motion<Vector<_>>| torques(motion)), &motion);
        move || f.run(&motion).map(|x| [x.sum().item(), x.norm().item()])
    })?;
    picture::timed("cost and gradient", 300, || {
        let f = Function::value_and_grad_with(cost, &control, &rates);
        let (control, rates) = (&control, &rates);
        move || f.run_with(control, rates).map(|(y, slope)| [y.item(), slope.norm().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("arm", |out| run(300, 1500, out), times)
}
