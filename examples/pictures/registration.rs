//! Registers two sections of a brain, and predicts the section between them.
//!
//! `cargo run --release --example registration [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! A smooth deformation by cubic splines carries the section between to one side and, in the other direction, to the other side.
//! The Gauss-Newton method finds the deformation at which both sections agree; its Jacobian goes through the interpolation of
//! the images. The prediction is compared with the true section. `docs/examples/registration.md` shows the picture and what
//! is printed.

use std::error::Error;
use std::io::Write;

use polygrad::{BaseTensor, Concrete, Function, Tensor, concat};

mod picture;
use picture::raster::{Raster, rasters};

/// Three sections, 8 mm apart, one below the other; a pixel is 2 mm wide.
const SECTIONS: &[u8] = include_bytes!("../data/sections.pgm");
const SIDE: usize = 80;
/// Control points of the splines in each direction.
const POINTS: usize = 11;
/// How much bending costs.
const STIFFNESS: f64 = 0.3;

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

/// How the sections differ, and how the deformation is bent: its second differences. Moves, turns and changes of scale do not bend.
fn residuals<T: BaseTensor>(control: &Tensor<T, 3>, sections: &[Tensor<T, 2>; 2]) -> Tensor<T, 1> {
    let [first, last] = seen(control, sections);
    let step = |x: &Tensor<T, 3>, axis: usize| x.slice(axis, 1..) - x.slice(axis, ..x.shape()[axis] - 1);
    let bent = |a: usize, b: usize, factor: f64| (step(&step(control, a), b) * (STIFFNESS * factor)).flatten();
    concat(0, [(first - last).flatten(), bent(1, 1, 1.0), bent(2, 2, 1.0), bent(1, 2, 2.0_f64.sqrt())])
}

/// The deformation from `control` on, by the Gauss-Newton method with damping, in so many steps.
fn register(
    mut control: Tensor<Concrete, 3>,
    sections: &[Tensor<Concrete, 2>; 2],
    steps: usize,
) -> Result<Tensor<Concrete, 3>, Box<dyn Error>> {
    let both = Function::value_and_jacobian_matrix_with(residuals, &control, sections);
    let mut damping = 1e-2;
    let (mut r, mut j) = both.run_with(&control, sections)?;
    for _ in 0..steps {
        let normal = j.t().matmul(&j);
        let damped = &normal + (normal.diagonal(0, 1) * damping + 1e-9).diag();
        let change = -damped.try_solve(&j.t().matvec(&r))?;
        let trial = &control + change.reshape(control.shape());
        let (next_r, next_j) = both.run_with(&trial, sections)?;
        if next_r.norm().item() <= r.norm().item() {
            (control, r, j, damping) = (trial, next_r, next_j, damping / 5.0);
        } else {
            damping *= 10.0;
        }
    }
    Ok(control)
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
pub(crate) fn run(steps: usize, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let [first, middle, last] = sections();
    let ends = [first, last];
    let mut control = Tensor::zeros([2, POINTS, POINTS]);
    writeln!(out, "blur, pixels   difference before   after")?;
    let difference = |a: &Tensor<Concrete, 2>, b: &Tensor<Concrete, 2>| 100.0 * (a - b).square().mean().sqrt().item();
    for width in [3.0, 1.0] {
        let smooth = ends.each_ref().map(|image| blurred(image, width));
        control = register(control, &smooth, steps)?;
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
    picture::timed("squares and gradient", 300, || {
        let squares = |x: &Tensor<_, 3>, sections: &[Tensor<_, 2>; 2]| residuals(x, sections).square().sum();
        let f = Function::value_and_grad_with(squares, &control, &sections);
        let (x, sections) = (&control, &sections);
        move || f.run_with(x, sections).map(|(y, slope)| [y.item(), slope.square().sum().sqrt().item()])
    })?;
    picture::timed("residuals and Jacobian", 50, || {
        let f = Function::value_and_jacobian_matrix_with(residuals, &control, &sections);
        let (x, sections) = (&control, &sections);
        move || f.run_with(x, sections).map(|(r, j)| [r.norm().item(), j.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("--time") {
        return times();
    }
    let svg = run(8, &mut std::io::stdout())?;
    println!("picture: {}", picture::save(&picture::folder(), "registration", &svg)?.display());
    Ok(())
}
