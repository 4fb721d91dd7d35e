//! Hand tracking: where the skin of a hand is, by the angles of its bones, and how far from where it was measured.

use polygrad::{BaseTensor, Tensor, Tree, cond, einsum, stack};

use super::{Matrix, Vector};

/// The model of a hand.
#[derive(Tree, Clone, Debug)]
pub struct Hand<T: BaseTensor> {
    /// The bone on which each bone stands, `None` for the root; it comes before.
    pub parents: Vec<Option<usize>>,
    /// Where bones are relative to their parents: a matrix of homogeneous coordinates each.
    pub relatives: Tensor<T, 3>,
    /// The inverses of where bones are in the hand at rest.
    pub inverses: Tensor<T, 3>,
    /// The vertices of the hand at rest, in homogeneous coordinates.
    pub positions: Matrix<T>,
    /// How much each vertex follows each bone.
    pub weights: Matrix<T>,
    /// Whether this is the other hand.
    pub is_mirrored: bool,
}

/// What is measured: points, and on which vertex or triangle of the skin each of them is.
#[derive(Tree, Clone, Debug)]
pub enum Measured<T: BaseTensor> {
    /// Points of vertices.
    Vertices(Tensor<T, 1, i64>, Matrix<T>),
    /// Points of triangles: their three vertices, and two weights of these, of which the third is what is left of 1.
    Triangles(Tensor<T, 2, i64>, Matrix<T>, Matrix<T>),
}

/// For each bone the place of its angles about x and z in the parameters; -1 for those that do not turn.
fn places(bones: usize) -> [Vec<i64>; 2] {
    let (mut x, mut z) = (vec![-1; bones], vec![-1; bones]);
    for finger in 0..5 {
        let (bone, first) = (2 + 4 * finger, 6 + 4 * finger as i64);
        for (k, place) in [first, first + 2, first + 3].into_iter().enumerate() {
            if let Some(x) = x.get_mut(bone + k) {
                *x = place;
            }
        }
        if let Some(z) = z.get_mut(bone) {
            *z = first + 1;
        }
    }
    [x, z]
}

/// The rotation of each bone about x, then about z, in homogeneous coordinates.
fn turns<T: BaseTensor>(theta: &Vector<T>, bones: usize) -> Tensor<T, 3> {
    // Places that are out of bounds read 0.
    let [x, z] = places(bones).map(|places| theta.take(&Tensor::constant(places)));
    let (cx, sx, cz, sz) = (x.cos(), x.sin(), z.cos(), z.sin());
    let (zero, one): (Vector<T>, Vector<T>) = (Tensor::zeros([bones]), Tensor::ones([bones]));
    let rows: [Tensor<T, 2>; 4] = [
        stack((&cz, -&sz * &cx, &sz * &sx, &zero)),
        stack((&sz, &cz * &cx, -&cz * &sx, &zero)),
        stack((&zero, &sx, &cx, &zero)),
        stack((&zero, &zero, &zero, &one)),
    ];
    stack::<_, 2, 3, _>(&rows).permute([2, 0, 1])
}

/// The rotation about an axis, by an angle that is its length; none if it is short.
fn rotation<T: BaseTensor>(axis: &Vector<T>) -> Matrix<T> {
    let angle = axis.square().sum().sqrt();
    let rests = angle.lt(1e-4);
    let [x, y, z] = (axis / &angle).unstack();
    let (cos, sin) = (angle.cos(), angle.sin());
    let rest = 1.0 - &cos;
    let rows: [Vector<T>; 3] = [
        stack((&x * &x * &rest + &cos, &x * &y * &rest - &z * &sin, &x * &z * &rest + &y * &sin)),
        stack((&y * &x * &rest + &z * &sin, &y * &y * &rest + &cos, &y * &z * &rest - &x * &sin)),
        stack((&z * &x * &rest - &y * &sin, &z * &y * &rest + &x * &sin, &z * &z * &rest + &cos)),
    ];
    cond(rests, Tensor::eye(3), stack::<_, 1, 2, _>(&rows))
}

/// The vertices of a hand with these angles.
fn vertices<T: BaseTensor>(theta: &Vector<T>, hand: &Hand<T>) -> Matrix<T> {
    let bones = hand.parents.len();
    let relatives: Tensor<T, 3> = hand.relatives.batched_matmul(&turns(theta, bones));
    let mut absolutes: Vec<Matrix<T>> = Vec::with_capacity(bones);
    for (bone, parent) in hand.parents.iter().enumerate() {
        let relative = relatives.row(bone);
        absolutes.push(parent.map_or(relative.clone(), |parent| absolutes[parent].matmul(&relative)));
    }
    let moves = stack(&absolutes).batched_matmul(&hand.inverses).slice(1, ..3);
    let skin: Tensor<T, 3> = einsum!("vb,bij->vij", &hand.weights, moves);
    let place: Matrix<T> = einsum!("vij,vj->vi", skin, &hand.positions);
    let place = if hand.is_mirrored { place * Tensor::constant([[-1.0, 1.0, 1.0]]) } else { place };
    let moved = place.matmul(&rotation(&theta.slice(0, ..3)).t());
    &moved + theta.slice(0, 3..6).up_to(&moved)
}

/// The measured points less those of the skin, three coordinates each.
///
/// All pairs of weights of triangles are moved by `shift`, so the derivatives in `shift` are those of each measurement in its own weights.
pub fn residuals<T: BaseTensor>(
    (shift, theta): &(Option<Vector<T>>, Vector<T>),
    (hand, measured): &(Hand<T>, Measured<T>),
) -> Vector<T> {
    let skin = vertices(theta, hand);
    match measured {
        Measured::Vertices(vertex, points) => (points - skin.take::<1>(vertex)).flatten(),
        Measured::Triangles(corners, weights, points) => {
            let weights = shift.as_ref().map_or(weights.clone(), |shift| weights + shift.up_to(weights));
            let ([a, b], corners) = (weights.t().unstack(), corners.t());
            let weighted = |k: usize, w: &Vector<T>| skin.take::<1>(&corners.row(k)) * w.insert_axis::<2>(1);
            (points - weighted(0, &a) - weighted(1, &b) - weighted(2, &(1.0 - &a - &b))).flatten()
        }
    }
}
