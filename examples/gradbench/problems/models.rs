//! Models and data.

use polygrad::{Array, Concrete, Jit, Tensor};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{functions, only};
use crate::json::{Nested, flat, matrix, vector};
use crate::programs::{Matrix, Scalar, Vector, gmm, kmeans, lstm};

type Number = Scalar<Concrete>;
type Rows = Matrix<Concrete>;

/// Points, and where clusters are.
#[derive(Deserialize)]
struct Clusters {
    #[serde(deserialize_with = "matrix")]
    points: Rows,
    #[serde(deserialize_with = "matrix")]
    centroids: Rows,
}

functions! {
    /// Clusters.
    Kmeans(Clusters) of Rows, Rows;
    |Clusters { points, centroids }| Ok((centroids, points));
    cost: Jit::stage_with(kmeans::cost) => Number, only;
    dir: Jit::stage_with(kmeans::direction) => Rows, only;
}

/// A mixture, samples, and the prior.
#[derive(Deserialize)]
struct Mixture {
    #[serde(deserialize_with = "matrix")]
    x: Rows,
    m: usize,
    gamma: f64,
    #[serde(deserialize_with = "vector")]
    alpha: Vector<Concrete>,
    #[serde(deserialize_with = "matrix")]
    mu: Rows,
    #[serde(deserialize_with = "matrix")]
    q: Rows,
    #[serde(deserialize_with = "matrix")]
    l: Rows,
}

impl Mixture {
    fn parts(self) -> (gmm::Mixture<Concrete>, gmm::Samples<Concrete>) {
        let Mixture { x, m, gamma, alpha, mu, q, l } = self;
        (gmm::Mixture { alpha, mu, q, l }, gmm::Samples { x, gamma: Tensor::scalar(gamma), m })
    }
}

functions! {
    /// A mixture of Gaussians.
    Gmm(Mixture) of gmm::Mixture<Concrete>, gmm::Samples<Concrete>;
    |input| Ok(input.parts());
    objective: Jit::stage_with(gmm::posterior) => Number, only;
    jacobian: Jit::gradient_with(gmm::posterior) => gmm::Mixture<Concrete>, mixture;
}

/// The gradient of a mixture.
#[derive(Serialize)]
struct Slopes<'a> {
    alpha: Nested<'a>,
    mu: Nested<'a>,
    q: Nested<'a>,
    l: Nested<'a>,
}

fn mixture(_: &gmm::Mixture<Concrete>, results: &[Array]) -> serde_json::Result<Box<RawValue>> {
    let [alpha, mu, q, l] = [0, 1, 2, 3].map(|k| Nested::of(&results[k]));
    to_raw_value(&Slopes { alpha: alpha?, mu: mu?, q: q?, l: l? })
}

/// Parameters, the first state, and a text.
#[derive(Deserialize)]
struct Memory {
    #[serde(deserialize_with = "matrix")]
    main_params: Rows,
    #[serde(deserialize_with = "matrix")]
    extra_params: Rows,
    #[serde(deserialize_with = "matrix")]
    state: Rows,
    #[serde(deserialize_with = "matrix")]
    sequence: Rows,
}

functions! {
    /// A long short-term memory.
    Lstm(Memory) of lstm::Parameters<Concrete>, lstm::Text<Concrete>;
    |input| Ok(((input.main_params, input.extra_params), (input.state, input.sequence)));
    objective: Jit::stage_with(lstm::loss) => Number, only;
    jacobian: Jit::gradient_with(lstm::loss) => lstm::Parameters<Concrete>, flat;
}
