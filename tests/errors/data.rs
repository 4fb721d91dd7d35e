//! Mistakes outside of programs.

use std::path::PathBuf;

use polygrad::array::{Rng, sample};
use polygrad::interpreters::{Ast, Shapes};
use polygrad::ops::{Contract, Linear, View};
use polygrad::stats::{Constrained, Domain, constrain, unconstrain};
use polygrad::{Array, BaseTensor, DType, GradientError, Tensor, Tree, check_gradient, pjrt, sparse_jacobian, tensor};

use crate::blind::Blind;
use crate::log::Log;

/// A tree that says nothing of its leaf.
#[derive(Tree, Clone)]
struct Forgetful<T: BaseTensor> {
    x: Tensor<T, 1>,
}

impl<T: BaseTensor> Constrained for Forgetful<T> {
    fn domains(&self) -> Vec<Domain> {
        Vec::new()
    }
}

/// Operations that are no operations, and data that is none.
pub(crate) fn data(log: &mut Log) {
    log.panics(|| View::affine(&[2, 3], &[4], &[1], &[0, 0]));
    log.panics(|| View::axes(&[2, 3], &[2]));
    log.panics(|| View::identity(&[2, 3]).after(&View::identity(&[3, 2])));
    log.panics(|| Linear::affine(View::identity(&[2, 3]), View::identity(&[3, 2])));
    log.panics(|| Linear::sum(&[2, 3], &[2]));
    log.panics(|| Linear::replicate(&[2, 3], &[2]));
    log.panics(|| Linear::slice(&[2, 3], 1, 2, 2, 1));
    log.panics(|| Linear::window(&[2, 3], 1, 0, 1));
    log.panics(|| Linear::row(&[2, 3], 1, 3));
    log.panics(|| Linear::pad(&[2, 3], &[1], &[1, 1]));
    log.panics(|| Linear::cast(&[2, 3], DType::I64, DType::F64));
    log.panics(|| Linear::reverse(&[2, 3], 0).after(&Linear::permute(&[2, 3], &[1, 0])));
    log.panics(|| Contract::new(View::identity(&[2]), View::identity(&[2]), View::identity(&[3])));
    log.panics(|| Contract::axes(&[2, 3], &[0], &[2], &[]));
    log.panics(|| Domain::Corr.unconstrain(&Array::from([[1.0, 0.0]])));
    log.panics(|| Domain::Simplex.constrain(&Array::from([0.0, 1.0]), &[2]));
    log.panics(|| Domain::Positive.unconstrain(&Array::from([1])));
    log.panics(|| constrain::tree(&tensor([1.0]), &tensor([1.0, 2.0])));
    log.panics(|| unconstrain::tree(&Forgetful { x: tensor([1.0]) }));
    let columns = sparse_jacobian(|x: &Tensor<_, 1>| x.square(), &tensor([1.0, 2.0])).pattern().by_columns();
    log.panics(|| columns.values(&[1.0]));
    log.panics(|| columns.fill(&[1.0, 2.0], &mut [0.0; 3]));

    log.panics(|| View::affine(&[1 << 60], &[], &[], &[0]));
    log.panics(|| View::affine(&[2], &[usize::MAX], &[1], &[0]));
    log.panics(|| View::affine(&[2], &[3, 2], &[1, i64::MAX], &[0]));
    log.panics(|| View::affine(&[2, 3], &[2], &[1, -1], &[0, i64::MIN]));
    log.panics(|| View::identity(&[1; 129]));
    log.panics(|| View::identity(&[2]).widened(usize::MAX));
    log.panics(|| View::identity(&[1 << 30]).batched(1 << 30));
    log.panics(|| Linear::slice(&[2, 3], 1, 2, 2, usize::MAX));
    log.panics(|| Array::full(&[1 << 63, 2], 1.0));
    log.panics(|| Array::new(&[0, 1 << 63], vec![1.0; 0]));
    log.panics(|| Rng::new(0).normal(&[1 << 32, 1 << 32], 0.0, 1.0));
    log.panics(|| sample::<f64, _>(&[1 << 32, 1 << 32], rand_distr::StandardNormal, &mut Rng::new(0)));
    log.panics(|| Shapes::new(&[1 << 32, 1 << 32], DType::F64));
    log.panics(|| Ast::variable(&[1 << 32, 1 << 32], DType::F64));
    log.fails(Array::try_new(&[1 << 63, 2], vec![1.0]));
    log.fails(check_gradient(|x| (x * x.stop_gradient()).sum(), &tensor([1.0, 2.0])));
    log.fails(check_gradient(|x| x.sqrt().sum(), &tensor([1.0, 0.0])));
    // Rules that do not fit each other are in `tests/derivatives/gradients.rs`.
    let modes = GradientError::Modes { entry: "x[0]".into(), reverse: 0.5, forward: 0.25 };
    log.fails(Err::<(), _>(modes));
    log.fails(serde_json::from_str::<Array>(
        r#"{"dtype": "bool", "shape": [4294967296, 4294967296], "elements": {"every": "true"}}"#,
    ));

    log.panics(|| Array::new(&[2, 3], vec![1.0]));
    log.fails(Array::try_new(&[2, 3], vec![1.0]));
    log.fails(Array::try_from(vec![vec![1.0, 2.0], vec![3.0]]));
    log.fails(Array::from([1.0, 2.0]).to_vec::<i64>());
    log.fails(<[f64; 3]>::try_from(Array::from([1.0, 2.0])));
    log.fails(Vec::<Vec<f64>>::try_from(Array::from([1.0, 2.0])));
    log.fails(Array::from([1.0, 2.0]).item::<f64>());
    log.fails(tensor([1.0, 2.0]).nested::<[[f64; 1]; 2]>());
    let parts = serde_json::to_string(&(tensor([1.0]), tensor([1.0, 2.0]))).expect("it is saved");
    log.fails(serde_json::from_str::<polygrad::Complex<Array, 1>>(&parts));
    log.fails(serde_json::from_str::<Array>(r#"{"dtype": "f16", "shape": [], "elements": {"every": "1"}}"#));
    log.panics(|| Rng::new(0).below(0));
    log.panics(|| Rng::new(0).uniform(&[2], 2.0, 1.0));
    log.panics(|| Rng::new(0).uniform_as::<f32, _>(&[2], f64::NAN, 1.0));
    log.panics(|| Rng::new(0).normal(&[2], 0.0, -1.0));
    log.panics(|| Rng::new(0).normal(&[2], 0.0, f64::NAN));
    log.panics(|| Rng::new(0).normal_as::<f32, _>(&[2], 0.0, -1.0));

    log.panics(|| Tensor::<Blind, 0>::scalar(1.0).item());
}

/// Plugins that cannot be used, and arguments that do not fit. The plugin itself is in `tests/pjrt`, which raises them.
pub(crate) fn plugins(log: &mut Log) {
    let mut says = |error: pjrt::Error| log.fails(Err::<(), _>(error));
    let path = PathBuf::from("plugin.so");
    says(pjrt::Error::NotNamed);
    says(pjrt::Error::Library { path: path.clone(), reason: "no such file".into() });
    says(pjrt::Error::NoPlugin { path });
    says(pjrt::Error::Version { major: 0, minor: 33, oldest: 57 });
    says(pjrt::Error::Table { needed: 624, given: 600 });
    says(pjrt::Error::Missing { call: "PJRT_Client_Create", what: "gives a null pointer" });
    says(pjrt::Error::Device { devices: 4, given: 4 });
    says(pjrt::Error::Devices { needed: 8, first: 0, devices: 4 });
    says(pjrt::Error::Sharding { text: "a division of tensor<3xf64> into unequal blocks".into() });
    let (whole, parts) = ("whole on 1 device".to_owned(), "[4, 1] parts on 4 devices".to_owned());
    says(pjrt::Error::Placement { number: 2, needed: parts, first: 0, given: whole, given_first: 1 });
    says(pjrt::Error::Input { inputs: 4, given: 9 });
    says(pjrt::Error::Arguments { needed: 2, given: 1 });
    says(pjrt::Error::Argument { number: 0, needed: "tensor<3xf64>".into(), given: "tensor<2xf64>".into() });
    says(pjrt::Error::OtherClient { number: 1 });
    says(pjrt::Error::ElementType { number: 0, code: 4 });
    says(pjrt::Error::Bytes { needed: 24, given: 32 });
}
