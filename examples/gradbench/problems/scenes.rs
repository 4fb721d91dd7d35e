//! Jacobians: of cameras that see points, a sparse one, and of a hand, one of few columns.

use polygrad::{Array, Concrete, Function, Jit, Tensor};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::sizes::{all_equal, at_least, equal, position};
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
        all_equal(&[
            (("the length of `cam`", self.cam.len()), ("11", 11)),
            (("the length of `x`", self.x.len()), ("3", 3)),
            (("the length of `feat`", self.feat.len()), ("2", 2)),
        ])?;
        at_least(1, ("`n`", n))?;
        at_least(1, ("`m`", m))?;
        at_least(10, ("`p`", p))?;
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
    bone_count: Option<usize>,
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
    /// Whether all sizes and positions fit.
    fn check(&self) -> serde_json::Result<()> {
        let Measured { model, correspondences, points } = &self.data;
        let (bones, vertices) = (model.parents.len(), model.base_positions.len());
        at_least(1, ("the number of `parents`", bones))?;
        at_least(6, ("the length of `theta`", self.theta.len()))?;
        let (of_parents, of_positions) =
            (("the number of `parents`", bones), ("the number of `base_positions`", vertices));
        let [relatives, inverses] = [&model.base_relatives, &model.inverse_base_absolutes].map(Tensor::shape);
        let count = model.bone_count.unwrap_or(bones);
        let of_points = ("the number of `points`", points.len());
        all_equal(&[
            (("`bone_count`", count), of_parents),
            (("the number of `base_relatives`", relatives[0]), of_parents),
            (("the number of rows of one of `base_relatives`", relatives[1]), ("4", 4)),
            (("the width of one of `base_relatives`", relatives[2]), ("4", 4)),
            (("the number of `inverse_base_absolutes`", inverses[0]), of_parents),
            (("the number of rows of one of `inverse_base_absolutes`", inverses[1]), ("4", 4)),
            (("the width of one of `inverse_base_absolutes`", inverses[2]), ("4", 4)),
            (("the width of `base_positions`", model.base_positions.shape()[1]), ("4", 4)),
            (("the number of rows of `weights`", model.weights.len()), of_positions),
            (("the width of `weights`", model.weights.shape()[1]), of_parents),
            (("the number of `correspondences`", correspondences.len()), of_points),
            (("the width of `points`", points.shape()[1]), ("3", 3)),
        ])?;
        for (bone, parent) in model.parents.iter().enumerate().filter(|(_, parent)| **parent != -1) {
            position(&format!("the parent of bone {bone}"), *parent, ("the number of bones before", bone))?;
        }
        for corner in model.triangles.iter().flatten() {
            position("a corner of a triangle", *corner, of_positions)?;
        }
        let among =
            if self.us.is_empty() { of_positions } else { ("the number of `triangles`", model.triangles.len()) };
        for k in correspondences {
            position("one of the `correspondences`", i64::try_from(*k).unwrap_or(i64::MAX), among)?;
        }
        if self.us.is_empty() { Ok(()) } else { equal(("the number of `us`", self.us.len()), of_points) }
    }

    fn parts(self) -> serde_json::Result<(Angles, Skin)> {
        self.check()?;
        let Measured { model, correspondences, points } = self.data;
        let Model { base_relatives: relatives, inverse_base_absolutes: inverses, .. } = model;
        let Model { base_positions: positions, weights, triangles, is_mirrored, .. } = model;
        let parents = model.parents.iter().map(|parent| usize::try_from(*parent).ok()).collect();
        let hand = ht::Hand { parents, relatives, inverses, positions, weights, is_mirrored };
        if self.us.is_empty() {
            let vertices: Vec<i64> = correspondences.iter().map(|k| *k as i64).collect();
            return Ok(((None, self.theta), (hand, ht::Measured::Vertices(Tensor::constant(vertices), points))));
        }
        let corners: Vec<[i64; 3]> = correspondences.iter().map(|k| triangles[*k]).collect();
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
