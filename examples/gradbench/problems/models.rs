//! Models and data.

use polygrad::{Array, Concrete, Jit, Tensor};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::sizes::{all_equal, at_least, equal, fault};
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

impl Clusters {
    fn parts(self) -> serde_json::Result<(Rows, Rows)> {
        let Clusters { points, centroids } = self;
        at_least(1, ("the number of `centroids`", centroids.len()))?;
        at_least(1, ("the number of `points`", points.len()))?;
        equal(("the width of `centroids`", centroids.shape()[1]), ("the width of `points`", points.shape()[1]))?;
        Ok((centroids, points))
    }
}

functions! {
    /// Clusters.
    Kmeans(Clusters) of Rows, Rows;
    Clusters::parts;
    cost: Jit::stage_with(kmeans::cost) => Number, only;
    dir: Jit::stage_with(kmeans::direction) => Rows, only;
}

/// A mixture, samples, and the prior.
#[derive(Deserialize)]
struct Mixture {
    /// The numbers of dimensions, of means and of samples.
    d: Option<usize>,
    k: Option<usize>,
    n: Option<usize>,
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
    fn parts(self) -> serde_json::Result<(gmm::Mixture<Concrete>, gmm::Samples<Concrete>)> {
        let Mixture { d, k, n, x, m, gamma, alpha, mu, q, l } = self;
        let ([rows, width], means) = (x.shape(), alpha.len());
        at_least(1, ("the number of samples `x`", rows))?;
        at_least(1, ("the width of `x`", width))?;
        at_least(1, ("the length of `alpha`", means))?;
        for (stated, name, size) in [
            (d, "`d`", ("the width of `x`", width)),
            (k, "`k`", ("the length of `alpha`", means)),
            (n, "`n`", ("the number of samples `x`", rows)),
        ] {
            stated.map_or(Ok(()), |stated| equal((name, stated), size))?;
        }
        let (of_alpha, of_x) = (("the length of `alpha`", means), ("the width of `x`", width));
        all_equal(&[
            (("the number of rows of `mu`", mu.len()), of_alpha),
            (("the number of rows of `q`", q.len()), of_alpha),
            (("the number of rows of `l`", l.len()), of_alpha),
            (("the width of `mu`", mu.shape()[1]), of_x),
            (("the width of `q`", q.shape()[1]), of_x),
            (("the width of `l`", l.shape()[1]), ("d (d - 1) / 2 with the width d of `x`", width * (width - 1) / 2)),
        ])?;
        Ok((gmm::Mixture { alpha, mu, q, l }, gmm::Samples { x, gamma: Tensor::scalar(gamma), m }))
    }
}

functions! {
    /// A mixture of Gaussians.
    Gmm(Mixture) of gmm::Mixture<Concrete>, gmm::Samples<Concrete>;
    Mixture::parts;
    objective: Jit::stage_with(gmm::posterior) => Number, only;
    jacobian: Jit::grad_with(gmm::posterior) => gmm::Mixture<Concrete>, mixture;
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
    /// The number of layers, and of characters.
    l: Option<usize>,
    c: Option<usize>,
    #[serde(deserialize_with = "matrix")]
    main_params: Rows,
    #[serde(deserialize_with = "matrix")]
    extra_params: Rows,
    #[serde(deserialize_with = "matrix")]
    state: Rows,
    #[serde(deserialize_with = "matrix")]
    sequence: Rows,
}

impl Memory {
    fn parts(self) -> serde_json::Result<(lstm::Parameters<Concrete>, lstm::Text<Concrete>)> {
        let Memory { l, c, main_params, extra_params, state, sequence } = self;
        let [rows, width] = state.shape();
        at_least(2, ("the number of rows of `state`", rows))?;
        at_least(2, ("the number of characters of `sequence`", sequence.len()))?;
        if !rows.is_multiple_of(2) {
            return fault(&format!("the number of rows of `state` must be even, two for each layer, but it is {rows}"));
        }
        if let Some(l) = l {
            equal(("the number of rows of `state`", rows), ("twice `l`", l.saturating_mul(2)))?;
        }
        if let Some(c) = c {
            equal(("the number of characters of `sequence`", sequence.len()), ("`c`", c))?;
        }
        let of_state = ("the width of `state`", width);
        all_equal(&[
            (("the number of rows of `main_params`", main_params.len()), ("the number of rows of `state`", rows)),
            (("the width of `main_params`", main_params.shape()[1]), ("4 times the width of `state`", 4 * width)),
            (("the number of rows of `extra_params`", extra_params.len()), ("3", 3)),
            (("the width of `extra_params`", extra_params.shape()[1]), of_state),
            (("the width of `sequence`", sequence.shape()[1]), of_state),
        ])?;
        Ok(((main_params, extra_params), (state, sequence)))
    }
}

functions! {
    /// A long short-term memory.
    Lstm(Memory) of lstm::Parameters<Concrete>, lstm::Text<Concrete>;
    Memory::parts;
    objective: Jit::stage_with(lstm::loss) => Number, only;
    jacobian: Jit::grad_with(lstm::loss) => lstm::Parameters<Concrete>, flat;
}
