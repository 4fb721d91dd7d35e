//! A network that learns the solution of Poisson's equation in a ball of five dimensions.
//!
//! `cargo run --release --example poisson [FOLDER OF THE PICTURE]`
//!
//! The loss is the square of what the network misses of the equation at random points, so it contains Laplacians of the
//! network, and is differentiated in the parameters. `docs/examples/poisson.md` shows the picture and what is printed, and
//! times.

use std::error::Error;
use std::io::Write;

use polygrad::array::Rng;
use polygrad::nn::Init;
use polygrad::optim::{Adam, Optimizer, Rate};
use polygrad::{
    BaseTensor, Concrete, Function, Tensor, Tree, laplacian, laplacian_with, map, tensor, value_and_grad_with,
};

mod picture;
use picture::Picture;

const DIMENSIONS: usize = 5;
const WIDTH: usize = 16;
const POINTS: usize = 32;
const STEPS: usize = 300;

#[derive(Tree, Clone, Debug)]
struct Network<T: BaseTensor> {
    first: Tensor<T, 2>,
    first_bias: Tensor<T, 1>,
    second: Tensor<T, 2>,
    second_bias: Tensor<T, 1>,
    last: Tensor<T, 1>,
}

fn start(rng: &mut Rng) -> Network<Concrete> {
    Network {
        first: Init::GlorotNormal.draw([WIDTH, DIMENSIONS], [DIMENSIONS, WIDTH], rng),
        first_bias: Tensor::zeros([WIDTH]),
        second: Init::GlorotNormal.draw([WIDTH, WIDTH], [WIDTH, WIDTH], rng),
        second_bias: Tensor::zeros([WIDTH]),
        last: Init::GlorotNormal.draw([WIDTH], [WIDTH, 1], rng),
    }
}

/// What is zero on the boundary, the sphere of radius 1.
fn inside<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    1.0 - x.dot(x)
}

/// The solution as the network has it: zero on the boundary, whatever the parameters.
fn learnt<T: BaseTensor>(x: &Tensor<T, 1>, p: &Network<T>) -> Tensor<T, 0> {
    let hidden = (p.first.matvec(x) + &p.first_bias).tanh();
    inside(x) * (p.second.matvec(&hidden) + &p.second_bias).tanh().dot(&p.last)
}

/// The solution that is to be found.
fn exact<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    inside(x) * (2.0 * x.sum() + 0.5).sin()
}

/// The mean square of what is missing of the equation at points: there the Laplacian must be `source`.
fn loss<T: BaseTensor>(p: &Network<T>, (points, source): &(Tensor<T, 2>, Tensor<T, 1>)) -> Tensor<T, 0> {
    map((points, source), |(x, source): &(Tensor<T, 1>, Tensor<T, 0>)| (laplacian_with(learnt, x, p) - source).square())
        .mean()
}

/// Points in the ball, uniformly.
fn points(n: usize, rng: &mut Rng) -> Tensor<Concrete, 2> {
    let towards = rng.normal([n, DIMENSIONS], 0.0, 1.0);
    let distance = rng.uniform([n], 0.0, 1.0).powf(1.0 / DIMENSIONS as f64);
    let scale = distance / towards.square().sum_axis(1).sqrt();
    map((&towards, &scale), |(x, s): &(Tensor<Concrete, 1>, Tensor<Concrete, 0>)| x.times(s))
}

/// The solutions at points: that of the network, and the exact one.
fn both(p: &Network<Concrete>, at: &Tensor<Concrete, 2>) -> [Tensor<Concrete, 1>; 2] {
    [map(at, |x: &Tensor<Concrete, 1>| learnt(x, p)), map(at, |x: &Tensor<Concrete, 1>| exact(x))]
}

/// Trains the network, and reports to `out`; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let mut rng = Rng::new(1);
    let tests = points(200, &mut rng);
    // Along a diameter.
    let along: Vec<f64> = (0..=80).map(|k| k as f64 / 40.0 - 1.0).collect();
    let diameter = Tensor::from_fn([along.len(), DIMENSIONS], |[k, _]| along[k] / (DIMENSIONS as f64).sqrt());
    let adam = Adam::new(Rate::cosine(0.02, 0.0005, STEPS));
    let parameters = start(&mut rng);
    let mut now = (parameters.clone(), adam.init(&parameters));
    let first = points(POINTS, &mut rng);
    let source = Function::stage(|x: &Tensor<_, 2>| map(x, |x: &Tensor<_, 1>| laplacian(exact, x)), &first);
    let data = (first.clone(), source.run(&first)?);
    // Loss, gradient and update as one program.
    let step = Function::stage_with(
        |(p, state), data| {
            let (loss, slope) = value_and_grad_with(loss, p, data);
            (adam.update(p, &slope, state), loss)
        },
        &now,
        &data,
    );
    writeln!(out, "step   mean square of what is missing   relative error of the solution")?;
    let mut curves = Vec::new();
    for k in 0..=STEPS {
        let at = points(POINTS, &mut rng);
        let data = (at.clone(), source.run(&at)?);
        let (next, loss) = step.run_with(&now, &data)?;
        if k % (STEPS / 6) == 0 {
            let [found, known] = both(&now.0, &tests);
            let error = (&found - &known).norm().item() / known.norm().item();
            writeln!(out, "{k:>4}   {:>29.4}   {error:>30.4}", loss.item())?;
        }
        if [0, STEPS / 6, STEPS].contains(&k) {
            curves.push((format!("after {k} steps"), both(&now.0, &diameter)));
        }
        now = next;
    }
    let center = tensor([0.0; DIMENSIONS]);
    writeln!(
        out,
        "the Laplacian at the center: {:.3}, exactly {:.3}",
        laplacian_with(learnt, &center, &now.0).item(),
        laplacian(exact, &center).item()
    )?;
    let title = "Poisson's equation in five dimensions, along a diameter of the ball";
    let mut picture = Picture::new(title, "distance from the center", "solution");
    for (k, (name, [found, _])) in curves.iter().enumerate() {
        picture = picture.line(name, [2, 3, 1][k], &along, &found.to_vec());
    }
    let known = curves[0].1[1].to_vec();
    let (every, known) = (along.iter().step_by(4), known.into_iter().step_by(4));
    picture
        .points("exact", 0, &every.copied().collect::<Vec<f64>>(), &known.collect::<Vec<f64>>())
        .svg()
        .map_err(|e| e.to_string().into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let svg = run(&mut std::io::stdout())?;
    println!("picture: {}", picture::save(&picture::folder(), "poisson", &svg)?.display());
    Ok(())
}
