//! What do Fourier transforms cost, over lengths, along either axis, and of real numbers?

use polygrad::{Array, Complex, Concrete, Float, Function, Tensor};

use crate::harness::{case, compare};

pub(crate) fn run() {
    let random = |shape: [usize; 2], seed: u64| -> Tensor<Concrete, 2> {
        Tensor::constant(Array::uniform(&shape, -1.0, 1.0, seed))
    };
    let mut cases = Vec::new();
    for n in [16, 64, 256, 1000, 1024, 4061, 4093, 4096, 10_000, 65_536] {
        let units = n * (n as f64).log2() as usize;
        let both = Complex::new(random([1, n], 3), random([1, n], 4));
        let whole = Function::stage(|z: &Complex<_, 2>| z.fft(1), &both);
        cases.push(case(format!("{n} complex numbers"), units, move || whole.run(&both)));
        let x = random([1, n], 3);
        let real = Function::stage(|x: &Tensor<_, 2>| x.rfft(1), &x);
        cases.push(case(format!("{n} real numbers"), units, move || real.run(&x)));
        let x = random([1, n], 3);
        let half = x.rfft(1);
        let back = Function::stage(|z: &Complex<_, 2>| z.irfft(n, 1), &half);
        cases.push(case(format!("{n} real numbers, back"), units, move || back.run(&half)));
    }
    for (rows, columns) in [(10_000, 4), (2500, 16), (512, 77), (256, 256), (40, 1024)] {
        let units = |n: usize| rows * columns * (n as f64).log2() as usize;
        let x = random([rows, columns], 5);
        let last = Function::stage(|x: &Tensor<_, 2>| x.rfft(1), &x);
        cases.push(case(format!("{rows} x {columns} real, last axis"), units(columns), move || last.run(&x)));
        let x = random([columns, rows], 6);
        let first = Function::stage(|x: &Tensor<_, 2>| x.rfft(0), &x);
        cases.push(case(format!("{columns} x {rows} real, first axis"), units(columns), move || first.run(&x)));
    }
    for n in [64, 256, 512] {
        let x = random([n, n], 7);
        let both = Function::stage(|x: &Tensor<_, 2>| x.rfft(1).fft(0), &x);
        cases.push(case(format!("{n} x {n} real, both axes"), 2 * n * n * (n as f64).log2() as usize, move || {
            both.run(&x)
        }));
    }
    compare("Fourier transforms", "n log n", cases);
    images::<f64>("Fourier transforms of matrices in f64");
    images::<f32>("Fourier transforms of matrices in f32");
}

/// Complex matrices along both axes and along rows, and rows of real numbers.
fn images<E: Float>(title: &str) {
    let random = |shape: [usize; 2], seed: u64| -> Tensor<Concrete, 2, E> {
        Tensor::from_raw(Array::uniform(&shape, -1.0, 1.0, seed).cast::<E>())
    };
    let mut cases = Vec::new();
    for (rows, n) in [(512, 512), (500, 500), (1024, 1024), (1000, 1000), (256, 1009)] {
        let units = |axes: usize| axes * rows * n * (n as f64).log2() as usize;
        let z = Complex::new(random([rows, n], 3), random([rows, n], 4));
        let line = Function::stage(|z: &Complex<_, 2, E>| z.fft(1), &z);
        let y = z.clone();
        cases.push(case(format!("{rows} x {n} complex, rows"), units(1), move || line.run(&y)));
        if rows == n {
            let both = Function::stage(|z: &Complex<_, 2, E>| z.fft(1).fft(0), &z);
            cases.push(case(format!("{rows} x {n} complex, both axes"), units(2), move || both.run(&z)));
        }
        let x = random([rows, n], 5);
        let real = Function::stage(|x: &Tensor<_, 2, E>| x.rfft(1), &x);
        cases.push(case(format!("{rows} x {n} real, rows"), units(1), move || real.run(&x)));
    }
    compare(title, "n log n", cases);
}
