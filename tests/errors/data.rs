//! Mistakes outside of programs.

use polygrad::array::Rng;
use polygrad::ops::{Contract, Linear, View};
use polygrad::{Array, DType, Tensor, tensor};

use crate::blind::Blind;
use crate::log::Log;

/// Operations that are no operations, and data that is none.
pub(crate) fn data(log: &mut Log) {
    log.panics(|| View::affine(&[2, 3], &[4], &[1], &[0, 0]));
    log.panics(|| View::axes(&[2, 3], &[2]));
    log.panics(|| View::identity(&[2, 3]).after(&View::identity(&[3, 2])));
    log.panics(|| Linear::affine(View::identity(&[2, 3]), View::identity(&[3, 2])));
    log.panics(|| Linear::sum(&[2, 3], &[2]));
    log.panics(|| Linear::replicate(&[2, 3], &[2]));
    log.panics(|| Linear::slice(&[2, 3], 1, 2, 2, 1));
    log.panics(|| Linear::row(&[2, 3], 1, 3));
    log.panics(|| Linear::pad(&[2, 3], &[1], &[1, 1]));
    log.panics(|| Linear::cast(&[2, 3], DType::I64, DType::F64));
    log.panics(|| Linear::reverse(&[2, 3], 0).after(&Linear::permute(&[2, 3], &[1, 0])));
    log.panics(|| Contract::new(View::identity(&[2]), View::identity(&[2]), View::identity(&[3])));
    log.panics(|| Contract::axes(&[2, 3], &[0], &[2], &[]));

    log.panics(|| Array::new(&[2, 3], vec![1.0]));
    log.fails(Array::try_new(&[2, 3], vec![1.0]));
    log.fails(Array::try_from(vec![vec![1.0, 2.0], vec![3.0]]));
    log.fails(Array::from([1.0, 2.0]).to_vec::<i64>());
    log.fails(<[f64; 3]>::try_from(Array::from([1.0, 2.0])));
    log.fails(Vec::<Vec<f64>>::try_from(Array::from([1.0, 2.0])));
    log.fails(Array::from([1.0, 2.0]).item::<f64>());
    log.fails(tensor([1.0, 2.0]).nested::<[[f64; 1]; 2]>());
    log.fails(serde_json::from_str::<Array>(r#"{"dtype": "f16", "shape": [], "elements": {"every": "1"}}"#));
    log.panics(|| Rng::new(0).below(0));
    log.panics(|| Rng::new(0).uniform(&[2], 2.0, 1.0));
    log.panics(|| Rng::new(0).uniform_as::<f32>(&[2], f64::NAN, 1.0));
    log.panics(|| Rng::new(0).normal(&[2], 0.0, -1.0));
    log.panics(|| Rng::new(0).normal_as::<f32>(&[2], 0.0, -1.0));

    log.panics(|| Tensor::<Blind, 0>::scalar(1.0).item());
}
