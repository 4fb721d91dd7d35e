//! Eight schools of polygrad, a shared library, loaded by the crate `bridgestan`: `make bridgestan`.
//!
//! The crate compares the version of the interface, and loads all of its functions. Values, gradients and Hessians are compared with
//! formulas by hand, parameters go there and back, and several threads use one model. With the path of the library as its argument
//! the program prints what it checked.

use std::env;
use std::error::Error;
use std::ffi::CString;
use std::thread;

use bridgestan::{BridgeStanError, Model, StanLibrary, open_library};

const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SIGMA: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
/// The mean, the logarithm of the spread, and an effect for each school.
const N: usize = 10;

type Loaded<'a> = Model<&'a StanLibrary>;

/// The log density of unconstrained parameters, and its gradient.
fn known(u: &[f64], jacobian: bool) -> (f64, Vec<f64>) {
    let (mu, tau) = (u[0], u[1].exp());
    let half = 0.5 * (2.0 * std::f64::consts::PI).ln();
    let normal = |z: f64, sd: f64| -0.5 * z * z - sd.ln() - half;
    let cauchy = (2.0 / (std::f64::consts::PI * 5.0)).ln() - (1.0 + (tau / 5.0).powi(2)).ln();
    let own = if jacobian { 1.0 } else { 0.0 };
    let mut value = normal(mu / 5.0, 5.0) + cauchy + own * u[1];
    let mut slope = vec![-mu / 25.0, -2.0 * tau * tau / (25.0 + tau * tau) + own];
    for ((eta, y), sigma) in u[2..].iter().zip(Y).zip(SIGMA) {
        let z = (y - mu - tau * eta) / sigma;
        value += normal(*eta, 1.0) + normal(z, sigma);
        slope[0] += z / sigma;
        slope[1] += z / sigma * tau * eta;
        slope.push(-eta + z / sigma * tau);
    }
    (value, slope)
}

/// How far apart two lists are, relative to the largest number.
fn apart(found: &[f64], known: &[f64]) -> f64 {
    assert_eq!(found.len(), known.len());
    let scale = known.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    found.iter().zip(known).map(|(x, y)| (x - y).abs() / scale).fold(0.0, f64::max)
}

/// Points in a wide range, the same in each run.
fn points(count: usize) -> impl Iterator<Item = Vec<f64>> {
    (0..count).map(|k| (0..N).map(|j| 1.5 * ((k * N + j) as f64 * 2.399 + 0.1).sin()).collect())
}

/// The largest error of values and derivatives at a point.
fn derivatives(model: &Loaded<'_>, u: &[f64], jacobian: bool) -> Result<f64, BridgeStanError> {
    let (value, slope) = known(u, jacobian);
    let (mut gradient, mut hessian, mut product) = (vec![0.0; N], vec![0.0; N * N], vec![0.0; N]);
    let with_gradient = model.log_density_gradient(u, false, jacobian, &mut gradient)?;
    let alone = model.log_density(u, false, jacobian)?;
    let mut worst = apart(&gradient, &slope).max(apart(&[with_gradient, alone], &[value, value]));
    let with_hessian = model.log_density_hessian(u, false, jacobian, &mut gradient, &mut hessian)?;
    worst = worst.max(apart(&gradient, &slope)).max(apart(&[with_hessian], &[value]));
    let v: Vec<f64> = (0..N).map(|k| (k as f64 + 0.5).cos()).collect();
    let with_product = model.log_density_hessian_vector_product(u, &v, false, jacobian, &mut product)?;
    let rows: Vec<f64> = hessian.chunks(N).map(|row| row.iter().zip(&v).map(|(h, v)| h * v).sum()).collect();
    worst = worst.max(apart(&product, &rows)).max(apart(&[with_product], &[value]));
    // Central differences of the gradient by hand have some ten digits.
    let moved = |step: f64| known(&u.iter().zip(&v).map(|(u, v)| u + step * v).collect::<Vec<_>>(), jacobian).1;
    let differences: Vec<f64> = moved(1e-5).iter().zip(moved(-1e-5)).map(|(a, b)| (a - b) / 2e-5).collect();
    assert!(apart(&product, &differences) < 1e-8, "{product:?} {differences:?}");
    Ok(worst)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name the library: target/release/examples/libeight_schools.so")?;
    let library = open_library(path)?;
    let model: Loaded<'_> = Model::new(&library, None::<CString>, 7)?;
    assert_eq!((model.name()?, model.param_num(false, false), model.param_unc_num()), ("eight_schools", N, N));
    assert!(model.param_names(false, false).starts_with("mu,tau,eta.1,"), "{}", model.param_names(false, false));
    assert!(model.info().to_str()?.contains("STAN_THREADS=true"));

    let check = || -> Result<f64, BridgeStanError> {
        let mut worst = 0.0f64;
        for u in points(40) {
            worst = worst.max(derivatives(&model, &u, true)?).max(derivatives(&model, &u, false)?);
        }
        Ok(worst)
    };
    let results: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(check)).collect();
        all.into_iter().map(|one| one.join().expect("a thread that ends")).collect()
    });
    let worst = results.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().fold(0.0, f64::max);
    assert!(worst < 1e-12, "{worst:e}");

    // Parameters, transformed ones, and the way back.
    let mut rng = model.new_rng(3)?;
    let count = model.param_num(true, true);
    for u in points(5) {
        let (mut x, mut back) = (vec![0.0; count], vec![0.0; N]);
        model.param_constrain(&u, true, true, &mut x, Some(&mut rng))?;
        assert!((x[1] - u[1].exp()).abs() < 1e-15 * x[1].max(1.0) && (x[N] - (x[0] + x[1] * x[2])).abs() < 1e-14);
        model.param_unconstrain(&x[..N], &mut back)?;
        assert!(apart(&back, &u) < 1e-14);
        x[1] = -1.0;
        let refused = model.param_unconstrain(&x[..N], &mut back).expect_err("a negative spread");
        assert!(refused.to_string().contains("must lie in its domain"), "{refused}");
    }
    let wrong = CString::new(r#"{"y": [1, 2], "sigma": [1]}"#)?;
    let refused = Model::new(&library, Some(wrong), 7).err().ok_or("data of two lengths were taken")?;
    assert!(refused.to_string().contains("must have one length"), "{refused}");
    println!("bridgestan {} of Rust: eight_schools, all derivatives within {worst:.1e}", bridgestan::VERSION);
    Ok(())
}
