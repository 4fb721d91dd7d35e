//! Discrete Fourier transforms, by the crate `rustfft`.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use crate::array::Array;
use crate::dtype::{DType, Float};
use crate::shape::Shape;

/// The transform along `axis` of complex numbers whose parts are the two positions of another axis. Those of `f32` are
/// computed in `f64`: the crate is compiled for one element type, which takes several seconds for each.
pub(super) fn fourier(t: &Array, parts: usize, axis: usize, conjugate: bool) -> Array {
    match t.dtype() {
        DType::F64 => transformed::<f64>(t, parts, axis, conjugate),
        DType::F32 => transformed::<f32>(t, parts, axis, conjugate),
        DType::I64 | DType::Bool => unreachable!("the rule of the operation admits floats alone"),
    }
}

fn transformed<E: Float>(t: &Array, parts: usize, axis: usize, conjugate: bool) -> Array {
    let shape = t.shape();
    if t.size() == 0 {
        return t.clone();
    }
    let Ok(mut v) = t.to_vec::<E>() else { unreachable!("the element type was asked for") };
    let stride = |k: usize| shape[k + 1..].iter().product::<usize>();
    let (n, step, imaginary) = (shape[axis], stride(axis), stride(parts));
    // The starts of the lines along the axis: one for each index of the other axes.
    let mut starts = vec![0];
    for k in (0..shape.len()).filter(|k| *k != parts && *k != axis) {
        starts = starts.iter().flat_map(|start| (0..shape[k]).map(move |i| start + i * stride(k))).collect();
    }
    let places = || starts.iter().flat_map(|start| (0..n).map(move |i| start + i * step));
    let mut lines: Vec<Complex<f64>> =
        places().map(|at| Complex::new(v[at].as_f64(), v[at + imaginary].as_f64())).collect();
    let mut planner = FftPlanner::new();
    let plan = if conjugate { planner.plan_fft_inverse(n) } else { planner.plan_fft_forward(n) };
    plan.process(&mut lines);
    for (at, z) in places().zip(lines) {
        v[at] = E::of_f64(z.re);
        v[at + imaginary] = E::of_f64(z.im);
    }
    Array::new(&Shape::from_slice(shape), v)
}
