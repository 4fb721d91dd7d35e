//! Eigenvalues of symmetric matrices by rotations of rows and columns until the matrix is diagonal.
//!
//! Laws: there is a result for any finite matrix. Eigenvalues of a positive definite matrix whose rows and columns have
//! different magnitudes are exact to some roundings each.
//!
//! J. Demmel and K. Veselić, "Jacobi's method is more accurate than QR" (1992).

use polygrad_math::Arithmetic;

use super::machine::{MachineCell, MatrixLayout, UniformMachine};

/// The most sweeps over all pairs of rows; up to ten are usual.
const SWEEPS: usize = 60;

/// Replaces a symmetric matrix by a diagonal one; the rows of `v`, if there is one, by those of the eigenvectors. A rotation
/// of two rows is a function of the rows, the sine of the angle, and 1 minus its cosine: so a small angle rounds little.
#[inline(always)]
pub(crate) fn diagonalize<M: UniformMachine>(
    m: M,
    (n, to): (usize, MatrixLayout),
    x: &mut M::Reals,
    mut v: Option<&mut M::Reals>,
    turn: impl Fn(&mut M::Reals, [M::Index; 2], [M::Real; 2]),
) {
    let (zero, one, epsilon) = (M::Real::literal(0.0), M::Real::literal(1.0), M::Real::literal(M::EPSILON));
    for _ in m.trips(SWEEPS) {
        let mut rotated = m.mask_cell(m.mask(false));
        for p in m.first(n) {
            for q in m.range(p + 1, n) {
                let [beside, first, second] = [to.at(p, q), to.at(p, p), to.at(q, q)].map(|at| m.load(x, at));
                let bound = epsilon * first.magnitude().root() * second.magnitude().root();
                let size = beside.magnitude();
                let is_small = size.at_most(bound) | size.below(M::Real::literal(M::LEAST));
                for _ in m.wherever(!is_small) {
                    rotated.set(m.mask(true));
                    let ratio = (second - first) / (M::Real::literal(2.0) * beside);
                    let size = ratio.magnitude();
                    let is_large = size.above(one / epsilon);
                    let length = M::Real::select(is_large, size, (size * size + one).root());
                    let tangent = one / (size + length);
                    let tangent = M::Real::select(ratio.below(zero), -tangent, tangent);
                    let cosine = one / (tangent * tangent + one).root();
                    let sine = tangent * cosine;
                    let turned = [sine, sine * sine / (one + cosine)];
                    turn(x, [p, q], turned);
                    m.store(x, to.at(p, p), first - tangent * beside);
                    m.store(x, to.at(q, q), second + tangent * beside);
                    m.store(x, to.at(p, q), zero);
                    m.store(x, to.at(q, p), zero);
                    for k in m.first(n) {
                        m.store(x, to.at(k, p), m.load(x, to.at(p, k)));
                        m.store(x, to.at(k, q), m.load(x, to.at(q, k)));
                    }
                    if let Some(v) = v.as_deref_mut() {
                        turn(v, [p, q], turned);
                    }
                }
            }
        }
        if m.leaves(!rotated.get()) {
            break;
        }
    }
}
