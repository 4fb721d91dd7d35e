//! Registers two sections of a brain, and predicts the section between them.
//!
//! `cargo run --release --example registration [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! A smooth deformation by cubic splines carries the section between to one side and, in the other direction, to the other side.
//! L-BFGS of the crate `argmin` finds the deformation at which both sections agree; the gradient goes through the interpolation of
//! the images. The prediction is compared with the true section. `docs/examples/registration.md` shows the picture and what
//! is printed.

use std::error::Error;
use std::io::Write;

use argmin::core::Executor;
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use polygrad::optim::argmin::Problem;
use polygrad::{BaseTensor, Concrete, Function, Tensor};

mod picture;
use picture::raster::{Raster, rasters};

/// Three sections, 8 mm apart, one below the other; a pixel is 2 mm wide.
const SECTIONS: &[u8] = include_bytes!("../data/sections.pgm");
const SIDE: usize = 80;
/// Control points of the splines in each direction.
const POINTS: usize = 11;
/// How much bending costs.
const STIFFNESS: f64 = 0.1;

/// The values of the cubic splines, a column for each control point, at the pixels.
fn splines<T: BaseTensor>() -> Tensor<T, 2> {
    let distance =
        |pixel: usize, k: usize| (pixel as f64 / (SIDE - 1) as f64 * (POINTS - 3) as f64 - (k as f64 - 1.0)).abs();
    Tensor::from_fn([SIDE, POINTS], |[pixel, k]| match distance(pixel, k) {
        d if d < 1.0 => 2.0 / 3.0 - d * d + d.powi(3) / 2.0,
        d if d < 2.0 => (2.0 - d).powi(3) / 6.0,
        _ => 0.0,
    })
}

/// How far each pixel moves, down and to the right, in pixels: for each control point two numbers.
fn displacement<T: BaseTensor>(control: &Tensor<T, 3>) -> [Tensor<T, 2>; 2] {
    let splines = splines();
    control.unstack().map(|points: Tensor<T, 2>| splines.matmul(&points).matmul(&splines.t()))
}

/// The image at the moved pixels, by linear interpolation.
fn moved<T: BaseTensor>(image: &Tensor<T, 2>, [down, right]: &[Tensor<T, 2>; 2]) -> Tensor<T, 2> {
    let row = Tensor::from_fn([SIDE, SIDE], |[i, _]| i as f64);
    image.interp_grid([&(down + &row), &(right + row.t())])
}

/// Both sections as they are seen from the middle between them: they moved in opposite directions.
fn seen<T: BaseTensor>(control: &Tensor<T, 3>, [first, last]: &[Tensor<T, 2>; 2]) -> [Tensor<T, 2>; 2] {
    let shift = displacement(control);
    [moved(first, &shift.each_ref().map(|x| -x)), moved(last, &shift)]
}

/// How much the sections differ, and how much the deformation is bent: its second differences. Moves, turns and changes of scale
/// do not bend.
fn cost<T: BaseTensor>(control: &Tensor<T, 3>, sections: &[Tensor<T, 2>; 2]) -> Tensor<T, 0> {
    let [first, last] = seen(control, sections);
    let step = |x: &Tensor<T, 3>, axis: usize| x.slice(axis, 1..) - x.slice(axis, ..x.shape()[axis] - 1);
    let bent = |a: usize, b: usize| step(&step(control, a), b).square().sum();
    (first - last).square().sum() + STIFFNESS * (bent(1, 1) + bent(2, 2) + 2.0 * bent(1, 2))
}

/// The deformation from `control` on, by so many steps of L-BFGS.
fn register(
    control: &Tensor<Concrete, 3>,
    sections: &[Tensor<Concrete, 2>; 2],
    steps: u64,
) -> Result<Tensor<Concrete, 3>, Box<dyn Error>> {
    let problem = Problem::new_with(cost, control, sections);
    let start = problem.start();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 10);
    let found = Executor::new(problem, solver).configure(|state| state.param(start).max_iters(steps)).run()?;
    Ok(Tensor::new(control.shape(), found.state.best_param.ok_or("the solver must find a point")?))
}

/// An image, blurred by a normal distribution with this deviation in pixels.
fn blurred(image: &Tensor<Concrete, 2>, width: f64) -> Tensor<Concrete, 2> {
    let factor = |[i, j]: [usize; 2]| (-0.5 * ((i as f64 - j as f64) / width).powi(2)).exp();
    let blur: Tensor<Concrete, 2> = Tensor::from_fn([SIDE, SIDE], factor);
    let blur = &blur / blur.sum_keep(1);
    blur.matmul(image).matmul(&blur.t())
}

fn sections() -> [Tensor<Concrete, 2>; 3] {
    let pixels = &SECTIONS[SECTIONS.len() - 3 * SIDE * SIDE..];
    Tensor::new([3, SIDE, SIDE], pixels.iter().map(|&p| f64::from(p) / 255.0).collect()).unstack()
}

/// The lines of a grid of 8 pixels, each pixel moved.
fn lines([down, right]: &[Tensor<Concrete, 2>; 2], sign: f64) -> Vec<Vec<(f64, f64)>> {
    let [down, right] = [down, right].map(Tensor::to_vec);
    let point = |i: usize, j: usize| {
        let k = i * SIDE + j;
        (0.5 + j as f64 + sign * right[k], 0.5 + i as f64 + sign * down[k])
    };
    let line = |at: usize| {
        let row: Vec<_> = (6..74).map(|k| point(at, k)).collect();
        let column: Vec<_> = (6..74).map(|k| point(k, at)).collect();
        [row, column]
    };
    (8..SIDE - 2).step_by(8).flat_map(line).collect()
}

/// Registers the sections in so many steps for each blur, and reports to `out`; the picture.
pub(crate) fn run(steps: u64, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let [first, middle, last] = sections();
    let ends = [first, last];
    let mut control = Tensor::zeros([2, POINTS, POINTS]);
    writeln!(out, "blur, pixels   difference before   after")?;
    let difference = |a: &Tensor<Concrete, 2>, b: &Tensor<Concrete, 2>| 100.0 * (a - b).square().mean().sqrt().item();
    for width in [3.0, 1.0] {
        let smooth = ends.each_ref().map(|image| blurred(image, width));
        control = register(&control, &smooth, steps)?;
        let [first, last] = seen(&control, &smooth);
        let before = difference(&smooth[0], &smooth[1]);
        writeln!(out, "{width:>12}   {before:>15.1} %   {:>3.1} %", difference(&first, &last))?;
    }
    let shift = displacement(&control);
    let most = shift.each_ref().map(|x| x.abs().max_all().item());
    writeln!(out, "the section between moves by up to {:.1} mm", 2.0 * f64::max(most[0], most[1]))?;

    let [a, b] = seen(&control, &ends);
    let predicted = (a + b) * 0.5;
    let mean = (&ends[0] + &ends[1]) * 0.5;
    writeln!(out, "the mean of both misses the section between by {:.1} %", difference(&mean, &middle))?;
    writeln!(out, "the registered mean by {:.1} %", difference(&predicted, &middle))?;

    let still = shift.each_ref().map(|x| x * 0.0);
    let images = [
        ("a section at the back", &ends[0], lines(&shift, -1.0)),
        ("between, predicted", &predicted, lines(&still, 1.0)),
        ("16 mm to the front", &ends[1], lines(&shift, 1.0)),
        ("the mean, without registration", &mean, Vec::new()),
        ("predicted", &predicted, Vec::new()),
        ("the true section between", &middle, Vec::new()),
    ]
    .map(|(name, image, lines)| (name, image.to_vec(), lines));
    let images =
        images.each_ref().map(|(name, pixels, lines)| Raster { name, width: SIDE, pixels, lines: lines.clone() });
    Ok(rasters("Two sections of a brain, registered", 3, &images))
}

/// The times beside those of `python/gallery/registration.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let [first, _, last] = sections();
    let sections = [first, last].map(|image| blurred(&image, 1.0));
    let control = Tensor::from_fn([2, POINTS, POINTS], |[k, i, j]| 0.1 + (k + 2 * i + 3 * j) as f64 / 40.0);
    picture::timed("cost and gradient", 300, || {
        let f = Function::value_and_grad_with(cost, &control, &sections);
        let (x, sections) = (&control, &sections);
        move || f.run_with(x, sections).map(|(y, slope)| [y.item(), slope.square().sum().sqrt().item()])
    })?;
    let direction = Tensor::from_fn([2, POINTS, POINTS], |[k, i, j]| ((k + i + j) as f64).sin());
    picture::timed("Hessian times a direction", 300, || {
        let f = Function::hvp_with(cost, &control, &sections);
        let (x, data) = (&control, (direction, sections.clone()));
        move || f.run_with(x, &data).map(|h| [h.sum().item(), h.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("registration", |out| run(60, out), times)
}
