//! Bundle adjustment: cameras and points from images, by least squares with a sparse Jacobian and `nalgebra-sparse` 0.11.
//!
//! `cargo run --release -p polygrad-solvers --example bundle [FILE]`
//!
//! The file has the text format of the BAL problems (S. Agarwal, N. Snavely, S. Seitz, R. Szeliski, *Bundle Adjustment in
//! the Large*, 2010); without one, a scene is made. The error of one observation is a generic function, mapped over all of them. The
//! method is Levenberg's and Marquardt's on the normal equations. Points stand before cameras, so the Cholesky
//! factorization in the given order eliminates the points first, which fills the block of the cameras alone: it is the Schur
//! complement. Law: for a made scene, the remaining errors are as large as the noise.
//!
//! ```text
//! 4800 errors of 1344 numbers, 57600 elements
//! 5 factorizations; root mean square 7.7110 before, 0.4246 after
//! the errors are those of noise of 0.500 pixels; it was 0.500
//! ```

use std::error::Error;
use std::str::FromStr;

use nalgebra::DVector;
use nalgebra_sparse::CscMatrix;
use nalgebra_sparse::factorization::CscCholesky;
use polygrad::array::Rng;
use polygrad::{Array, BaseTensor, Concrete, FlatFunction, Tensor, Tree, map, stack};

type Failed = Box<dyn Error>;

/// What is to be found. A camera has a rotation vector, a translation, a focal length and two coefficients of distortion.
#[derive(Tree, Clone)]
struct Scene<T: BaseTensor> {
    points: Tensor<T, 2>,
    cameras: Tensor<T, 2>,
}

/// For each observation its camera, its point, and where in the image this was seen.
type Seen<T> = (Tensor<T, 1, i64>, Tensor<T, 1, i64>, Tensor<T, 2>);

/// Where a camera sees a point.
fn image<T: BaseTensor>(camera: &Tensor<T, 1>, point: &Tensor<T, 1>) -> Tensor<T, 1> {
    let (turn, shift) = (&camera.slice(0, ..3), camera.slice(0, 3..6));
    let [focus, k1, k2] = camera.slice(0, 6..).unstack();
    // The small number makes the axis 0 where there is no rotation.
    let angle = &(turn.dot(turn) + 1e-30).sqrt();
    let axis = &(turn / angle);
    let turned = point * angle.cos() + axis.cross(point) * angle.sin() + axis * (axis.dot(point) * (1.0 - angle.cos()));
    let [x, y, z] = (turned + shift).unstack();
    let (x, y) = (-x / &z, -y / z);
    let r = x.square() + y.square();
    let scale = &((1.0 + k1 * &r + k2 * r.square()) * focus);
    stack([x * scale, y * scale])
}

/// How far each image of a point is from where it was seen.
fn errors<T: BaseTensor>(scene: &Scene<T>, (cameras, points, seen): &Seen<T>) -> Tensor<T, 2> {
    map((cameras, points, seen), |(i, j, seen)| image(&scene.cameras.at([i]), &scene.points.at([j])) - seen)
}

/// A scene, and what was seen of it.
struct Problem {
    scene: Scene<Concrete>,
    seen: Seen<Concrete>,
}

/// A tensor of these rows.
fn rows<const N: usize>(rows: &[[f64; N]]) -> Tensor<Concrete, 2> {
    Tensor::constant(Array::new(&[rows.len(), N], rows.concat()))
}

/// The next number of a text.
fn number<'a, N: FromStr<Err: Error + 'static>>(words: &mut impl Iterator<Item = &'a str>) -> Result<N, Failed> {
    Ok(words.next().ok_or("the file ends too early")?.parse()?)
}

/// As many rows of numbers.
fn numbers<'a, const N: usize>(
    count: usize,
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<Tensor<Concrete, 2>, Failed> {
    let mut all = vec![[0.0; N]; count];
    for element in all.as_flattened_mut() {
        *element = number(words)?;
    }
    Ok(rows(&all))
}

/// Reads a problem in the format of BAL: three sizes, the observations, the cameras, the points.
fn read(text: &str) -> Result<Problem, Failed> {
    let words = &mut text.split_ascii_whitespace();
    let [cameras, points, count]: [usize; 3] = [number(words)?, number(words)?, number(words)?];
    let (mut of, mut at, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let (camera, point): (i64, i64) = (number(words)?, number(words)?);
        if camera >= cameras as i64 || point >= points as i64 {
            return Err(format!("an observation of point {point} by camera {camera}, which are not there").into());
        }
        of.push(camera);
        at.push(point);
        seen.push([number(words)?, number(words)?]);
    }
    let cameras = numbers::<9>(cameras, words)?;
    let points = numbers::<3>(points, words)?;
    let seen = (Tensor::constant(of), Tensor::constant(at), rows::<2>(&seen));
    Ok(Problem { scene: Scene { points, cameras }, seen })
}

/// Cameras on an arc around points in a cube, of which each is seen by six neighbouring cameras, with noise of this size in
/// pixels; the scene is that from which one starts.
fn made(cameras: usize, points: usize, noise: f64) -> Problem {
    let mut rng = Rng::new(1);
    let camera = |k: usize| {
        let angle = 2.4 * (k as f64 / (cameras - 1) as f64 - 0.5);
        [0.1 * angle, angle, 0.05, 0.1, -0.2, -5.0, 500.0, -0.1, 0.02]
    };
    let truth = Scene {
        cameras: rows(&(0..cameras).map(camera).collect::<Vec<_>>()),
        points: Tensor::constant(rng.uniform([points, 3], -1.0, 1.0)),
    };
    let (mut of, mut at) = (Vec::new(), Vec::new());
    for point in 0..points {
        let first = rng.below(cameras - 5);
        of.extend((first..first + 6).map(|camera| camera as i64));
        at.extend([point as i64; 6]);
    }
    let (of, at) = (Tensor::constant(of), Tensor::constant(at));
    let nothing = Tensor::zeros([6 * points, 2]);
    let seen = errors(&truth, &(of.clone(), at.clone(), nothing)) + rng.normal([6 * points, 2], 0.0, noise);
    let off = rng.normal([cameras, 9], 0.0, 1.0);
    let sizes = rows(&vec![[0.01, 0.01, 0.01, 0.05, 0.05, 0.05, 5.0, 0.01, 0.01]; cameras]);
    let scene =
        Scene { cameras: truth.cameras + off * sizes, points: truth.points + rng.normal([points, 3], 0.0, 0.05) };
    Problem { scene, seen: (of, at, seen) }
}

/// Half the sum of squares.
fn cost(errors: &[f64]) -> f64 {
    0.5 * errors.iter().map(|x| x * x).sum::<f64>()
}

/// Goes down from `x` to a least sum of squares: half of it before and after, and the number of factorizations.
fn adjusted<P>(f: &FlatFunction<P>, x: &mut Vec<f64>) -> Result<([f64; 2], usize), Failed> {
    let (n, m, pattern) = (f.len(), f.results(), f.jacobian_pattern());
    let (mut errors, mut elements) = (vec![0.0; m], vec![0.0; pattern.len()]);
    let (mut damping, mut factorizations, mut factor) = (1e-4, 0, None::<CscCholesky<f64>>);
    f.run(x, &mut errors);
    let (first, mut last) = (cost(&errors), f64::INFINITY);
    while cost(&errors) < last * (1.0 - 1e-9) && damping < 1e12 {
        last = cost(&errors);
        f.sparse_jacobian(x, &mut elements);
        // Compressed rows are the compressed columns of the transposed matrix.
        let (starts, columns) = (pattern.row_pointers().to_vec(), pattern.columns().to_vec());
        let transposed = CscMatrix::try_from_csc_data(n, m, starts, columns, elements.clone())?;
        let normal = &transposed * &transposed.transpose();
        let slope = &transposed * &DVector::from_column_slice(&errors);
        while cost(&errors) >= last && damping < 1e12 {
            let mut damped = normal.clone();
            damped.triplet_iter_mut().filter(|(i, j, _)| i == j).for_each(|(_, _, x)| *x *= 1.0 + damping);
            let factor = match &mut factor {
                Some(factor) => {
                    factor.refactor(damped.values())?;
                    factor
                }
                None => factor.insert(CscCholesky::factor(&damped)?),
            };
            let trial: Vec<f64> = x.iter().zip(&factor.solve(&slope)).map(|(x, step)| x - step).collect();
            f.run(&trial, &mut errors);
            factorizations += 1;
            match cost(&errors) < last {
                true => (*x, damping) = (trial, damping * 0.1),
                false => damping *= 10.0,
            }
        }
    }
    Ok(([first, last.min(cost(&errors))], factorizations))
}

/// A table of what was done: root mean squares of errors, in pixels.
fn report(problem: &Problem) -> Result<f64, Failed> {
    let f = FlatFunction::new_with(errors, &problem.scene, &problem.seen);
    let mut x = f.flatten(&problem.scene)?;
    let ([before, after], factorizations) = adjusted(&f, &mut x)?;
    let rms = |half: f64| (2.0 * half / f.results() as f64).sqrt();
    println!("{} errors of {} numbers, {} elements", f.results(), f.len(), f.jacobian_pattern().len());
    println!("{factorizations} factorizations; root mean square {:.4} before, {:.4} after", rms(before), rms(after));
    Ok(after)
}

fn main() -> Result<(), Failed> {
    if let Some(path) = std::env::args().skip(1).find(|argument| !argument.starts_with('-')) {
        return report(&read(&std::fs::read_to_string(path)?)?).map(|_| ());
    }
    let noise = 0.5;
    let problem = made(16, 400, noise);
    let after = report(&problem)?;
    // A similarity of the whole scene, 7 numbers, changes no image.
    let free = (problem.seen.2.shape()[0] * 2 + 7 - 400 * 3 - 16 * 9) as f64;
    let size = (2.0 * after / free).sqrt();
    println!("the errors are those of noise of {size:.3} pixels; it was {noise:.3}");
    assert!((size / noise - 1.0).abs() < 4.0 / (2.0 * free).sqrt(), "not a least sum of squares");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// The text of a problem.
    fn written(problem: &Problem) -> String {
        let (Scene { points, cameras }, (of, at, seen)) = (&problem.scene, &problem.seen);
        let mut text = format!("{} {} {}\n", cameras.shape()[0], points.shape()[0], seen.shape()[0]);
        for ((of, at), seen) in of.to_vec().iter().zip(at.to_vec()).zip(seen.to_vec().chunks_exact(2)) {
            writeln!(text, "{of} {at} {:e} {:e}", seen[0], seen[1]).expect("a string grows");
        }
        for x in cameras.to_vec().iter().chain(&points.to_vec()) {
            writeln!(text, "{x:e}").expect("a string grows");
        }
        text
    }

    #[test]
    fn errors_are_as_large_as_the_noise() {
        main().unwrap();
    }

    #[test]
    fn without_noise_there_are_no_errors() {
        assert!(report(&made(8, 40, 0.0)).unwrap() < 1e-12);
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let problem = made(6, 5, 0.5);
        let text = written(&problem);
        let again = read(&text).unwrap();
        assert_eq!(written(&again), text);
        assert_eq!(again.scene.leaves(), problem.scene.leaves());
        assert!(read(&text[..text.len() / 2]).is_err());
    }

    #[test]
    fn an_observation_of_nothing_is_an_error() {
        assert!(read("1 1 1  0 1  0.0 0.0").is_err());
    }
}
