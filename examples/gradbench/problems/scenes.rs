//! Jacobians: of cameras that see points, a sparse one, and of a hand, one of few columns.

use polygrad::{Array, Concrete, Function, Jit, Tensor};
use serde::Deserialize;
use serde::de::Error;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::{functions, only};
use crate::json::{Nested, matrices, matrix, vector};
use crate::programs::{Matrix, Vector, ba, ht};

/// A camera, a point, a weight, and where the point was seen; and how many copies there are of each.
#[derive(Deserialize)]
struct Copies {
    n: usize,
    m: usize,
    p: usize,
    #[serde(deserialize_with = "vector")]
    cam: Vector<Concrete>,
    #[serde(deserialize_with = "vector")]
    x: Vector<Concrete>,
    w: f64,
    #[serde(deserialize_with = "vector")]
    feat: Vector<Concrete>,
}

impl Copies {
    /// The scene, which sees each copy in turn.
    fn scene(self) -> serde_json::Result<(ba::Scene<Concrete>, ba::Seen<Concrete>)> {
        let Copies { n, m, p, .. } = self;
        let sizes = [self.cam.len(), self.x.len(), self.feat.len()];
        if sizes != [11, 3, 2] || n == 0 || m == 0 || p < 10 {
            return Err(Error::custom(format!(
                "a scene needs 11 numbers of a camera, 3 of a point, 2 of a feature, one camera and point, and 10 observations, but \
                 there are {sizes:?}, {n}, {m} and {p}"
            )));
        }
        let turns = |n: usize| Tensor::from_fn([p], |[k]| (k % n) as i64);
        let scene = (self.cam.replicate(n), self.x.replicate(m), Tensor::full([p], self.w));
        Ok((scene, (turns(n), turns(m), self.feat.replicate(p))))
    }
}

functions! {
    /// Bundle adjustment.
    Ba(Copies) of ba::Scene<Concrete>, ba::Seen<Concrete>;
    |copies| copies.scene();
    objective: Jit::stage_with(ba::errors) => (Matrix<Concrete>, Vector<Concrete>), errors;
    jacobian: Jit::stage_with(ba::blocks) => (Tensor<Concrete, 3>, Vector<Concrete>), ends;
}

/// The first errors, and how many there are.
fn errors((_, _, weights): &ba::Scene<Concrete>, results: &[Array]) -> serde_json::Result<Box<RawValue>> {
    let repeated = weights.len();
    let [distances, doubts] = [0, 1].map(|k| Nested::of(&results[k]).map(Nested::into_vec));
    let (distances, doubts) = (distances?, doubts?);
    to_raw_value(&json!({
        "reproj_error": { "elements": distances[..2], "repeated": repeated },
        "w_err": { "element": doubts[0], "repeated": repeated },
    }))
}

/// The first entries and the last one of the arrays of compressed rows.
fn ends((cameras, points, weights): &ba::Scene<Concrete>, results: &[Array]) -> serde_json::Result<Box<RawValue>> {
    let (n, m, p) = (cameras.len(), points.len(), weights.len());
    const FIRST: usize = 30;
    const ROW: usize = 15;
    let [blocks, slopes] = [0, 1].map(|k| Nested::of(&results[k]).map(Nested::into_vec));
    let (blocks, slopes) = (blocks?, slopes?);
    // The first two rows are those of the first observation, which sees the first camera and the first point.
    let columns = |k: usize| match k % ROW {
        k @ 0..11 => k,
        k @ 11..14 => 11 * n + k - 11,
        _ => 11 * n + 3 * m,
    };
    let start = |row: usize| if row <= 2 * p { ROW * row } else { 2 * ROW * p + row - 2 * p };
    let rows: Vec<usize> = (0..FIRST).chain([3 * p]).map(start).collect();
    let cols: Vec<usize> = (0..FIRST).map(columns).chain([11 * n + 3 * m + p - 1]).collect();
    let vals: Vec<f64> = blocks[..FIRST].iter().chain(slopes.last()).copied().collect();
    to_raw_value(&json!({ "rows": rows, "cols": cols, "vals": vals }))
}

/// The model of a hand.
#[derive(Deserialize)]
struct Model {
    parents: Vec<i64>,
    #[serde(deserialize_with = "matrices")]
    base_relatives: Tensor<Concrete, 3>,
    #[serde(deserialize_with = "matrices")]
    inverse_base_absolutes: Tensor<Concrete, 3>,
    #[serde(deserialize_with = "matrix")]
    base_positions: Matrix<Concrete>,
    #[serde(deserialize_with = "matrix")]
    weights: Matrix<Concrete>,
    triangles: Vec<[i64; 3]>,
    is_mirrored: bool,
}

/// Points, and the vertices or triangles on which they are.
#[derive(Deserialize)]
struct Measured {
    model: Model,
    correspondences: Vec<usize>,
    #[serde(deserialize_with = "matrix")]
    points: Matrix<Concrete>,
}

/// Angles of bones, weights of vertices unless there are no triangles, and what was measured.
#[derive(Deserialize)]
struct Tracking {
    #[serde(deserialize_with = "vector")]
    theta: Vector<Concrete>,
    us: Vec<[f64; 2]>,
    data: Measured,
}

type Angles = (Option<Vector<Concrete>>, Vector<Concrete>);
type Skin = (ht::Hand<Concrete>, ht::Measured<Concrete>);

impl Tracking {
    fn parts(self) -> serde_json::Result<(Angles, Skin)> {
        let Measured { model, correspondences, points } = self.data;
        let Model { base_relatives: relatives, inverse_base_absolutes: inverses, .. } = model;
        let Model { base_positions: positions, weights, triangles, is_mirrored, .. } = model;
        let parents = model.parents.iter().map(|parent| usize::try_from(*parent).ok()).collect();
        let hand = ht::Hand { parents, relatives, inverses, positions, weights, is_mirrored };
        if self.us.is_empty() {
            let vertices: Vec<i64> = correspondences.iter().map(|k| *k as i64).collect();
            return Ok(((None, self.theta), (hand, ht::Measured::Vertices(Tensor::constant(vertices), points))));
        }
        let corners =
            correspondences.iter().map(|k| triangles.get(*k).copied().ok_or(*k)).collect::<Result<Vec<_>, _>>();
        let corners =
            corners.map_err(|k| Error::custom(format!("there is no triangle {k}; there are {}", triangles.len())))?;
        let corners = Tensor::new([corners.len(), 3], corners.concat());
        let weights = Tensor::new([self.us.len(), 2], self.us.concat());
        Ok(((Some(Tensor::zeros([2])), self.theta), (hand, ht::Measured::Triangles(corners, weights, points))))
    }
}

functions! {
    /// Hand tracking.
    Ht(Tracking) of Angles, Skin;
    Tracking::parts;
    objective: Jit::stage_with(ht::residuals) => Vector<Concrete>, only;
    jacobian: Jit::new(|x, data| Function::jacobian_matrix_with(ht::residuals, x, data)) => Matrix<Concrete>, only;
}
