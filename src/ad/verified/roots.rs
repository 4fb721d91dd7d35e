//! Roots with proof, by the Krawczyk operator.
//!
//! Law: with `C` any matrix and `c` a point of a box `X`, the operator `K = c - C f(c) + (I - C f'(X)) (X - c)` contains
//! every root of `f` in `X`; if `K` lies in the interior of `X`, there is exactly one. `f'(X)` contains the slopes of
//! both sides of a kink, so `f` need only be continuous, which is proven by the run over the box.
//!
//! Sources: R. Krawczyk, "Newton-Algorithmen zur Bestimmung von Nullstellen mit Fehlerschranken" (1969); R. E. Moore,
//! R. B. Kearfott, M. J. Cloud, "Introduction to Interval Analysis" (2009), sections 8.1 to 8.3; S. M. Rump,
//! "Verification methods" (2010), section 13: boxes are enlarged around an approximate root.

use thiserror::Error;

use super::super::differentiate::record::OfBoth;
use super::super::enclose::box_of;
use super::{Region, Square, VectorProgram, ends, exact, like, middle_of, points};
use crate::array::Array;
use crate::errors::debug_by_display;
use crate::interpreters::Enclosure;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// Why a root has no proof.
///
/// ```
/// use polygrad::{NoProof, Tensor, tensor, verified_root};
/// let f = |x: &Tensor<_, 0>, p: &Tensor<_, 0>| x.ln() - p;
/// assert_eq!(verified_root(f, &tensor(-1.0), &tensor(0.0)), Err(NoProof::NotFinite));
/// assert!(verified_root(f, &tensor(1.0), &tensor(0.0)).is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoProof {
    /// No box around the point has a proof.
    #[error(
        "verified_root: a proof needs a Jacobian that is regular near the root, but of {0} boxes around the point no box has one; start at \
         a root that is neither double nor at a jump, with a point closer to it"
    )]
    Undecided(usize),
    /// The function is not finite at the point.
    #[error(
        "verified_root: the function and its Jacobian must be finite at the point, but they are not, or the Jacobian is singular; start at \
         another point"
    )]
    NotFinite,
}

debug_by_display!(NoProof);

/// The roots of a function in a box, see [`verified_roots`].
///
/// ```
/// use polygrad::{Tensor, VerifiedRoots, tensor, verified_roots};
/// let f = |x: &Tensor<_, 0>, p: &Tensor<_, 0>| x.square() - p;
/// let VerifiedRoots { roots, undecided } = verified_roots(f, &tensor(0.0), &tensor(3.0), &tensor(2.0));
/// assert!(roots.len() == 1 && undecided.is_empty());
/// assert!(roots[0].0.item() <= 2f64.sqrt() && 2f64.sqrt() <= roots[0].1.item());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedRoots<X> {
    /// Boxes, as lower and upper bounds, each with exactly one root.
    pub roots: Vec<(X, X)>,
    /// Boxes that may have any number of roots. Elsewhere the only roots are those of `roots`.
    pub undecided: Vec<(X, X)>,
}

/// The number of boxes that [`verified_roots`] looks at before the rest is undecided.
const MOST_BOXES: usize = 20_000;
/// The width, relative to the numbers of the box, at which a box is not halved any more.
const NARROW: f64 = 1e-10;
/// The share of its width by which a box is enlarged, so that a root on the border of two boxes is inside one.
const SHARE: f64 = 0.125;
/// The number of enlargements, and of steps, around an approximate root.
const ENLARGEMENTS: usize = 20;

/// A function and its Jacobian.
struct EquationSystem {
    f: VectorProgram,
    slope: VectorProgram,
}

/// The verdict of the operator on a box.
enum Verdict {
    /// The box has no root.
    Empty,
    /// All roots are in this box, which is part of the box.
    Within(Region),
    /// There is exactly one root, in this box, which is part of the interior.
    One(Region),
    Unknown,
}

impl EquationSystem {
    #[track_caller]
    fn recorded<X, P>(verb: &str, f: OfBoth<'_, Array, Term, X, P, X::With<Term>>, x: &X, p: &P) -> EquationSystem
    where
        X: Tree<Array>,
        P: Tree<Array>,
    {
        let leaves = x.leaves();
        let (vector, parts) = VectorProgram::variables(&leaves);
        let results = f(&x.with_leaves(parts), &p.to_constant()).leaves();
        like(verb, &leaves, &results);
        let f = VectorProgram::traced(verb, &[vector], &results);
        let slope = f.jacobian();
        EquationSystem { f, slope }
    }

    /// An approximate inverse of the Jacobian in the middle of its bounds; `None` unless it is finite.
    fn preconditioner(&self, slope: &Square) -> Option<Square> {
        let inverse: Tensor<Array, 2> = middle_of(slope).inverse();
        let finite = inverse.raw().to_vec::<f64>().is_ok_and(|v| v.iter().all(|x| x.is_finite()));
        finite.then(|| exact(&inverse))
    }

    fn verdict(&self, region: &Region) -> Verdict {
        let x = region.vector();
        let (range, is_continuous) = self.f.over(vec![x.raw().clone()]);
        if Region::of(&Tensor::from_raw(range)).pairs().any(|(lo, hi)| lo > 0.0 || hi < 0.0) {
            return Verdict::Empty;
        }
        let slope: Square = Tensor::from_raw(self.slope.over(vec![x.raw().clone()]).0);
        let c = points(&region.middle());
        let Some(inverse) = self.preconditioner(&slope).filter(|_| is_continuous) else { return Verdict::Unknown };
        let at = Tensor::from_raw(self.f.over(vec![c.raw().clone()]).0);
        let rest: Square = Tensor::<Enclosure, 2>::eye(region.len()) - inverse.matmul(&slope);
        let image = Region::of(&(&c - inverse.matvec(&at) + rest.matvec(&(&x - &c))));
        if !image.is_bounded() {
            return Verdict::Unknown;
        }
        match image.common(region) {
            None => Verdict::Empty,
            Some(_) if image.is_inside(region) => Verdict::One(image),
            Some(part) => Verdict::Within(part),
        }
    }

    /// A box with one root, as narrow as further steps make it.
    fn tightened(&self, mut root: Region) -> Region {
        for _ in 0..ENLARGEMENTS {
            let next = match self.verdict(&root) {
                Verdict::One(part) | Verdict::Within(part) => part,
                Verdict::Empty | Verdict::Unknown => break,
            };
            let narrower = next.widths().iter().zip(root.widths()).any(|(new, old)| *new < 0.9 * old);
            if let Some(part) = next.common(&root) {
                root = part;
            }
            if !narrower {
                break;
            }
        }
        root
    }
}

/// All roots of `f(x, p) = 0` with `x` in the box from `lower` to `upper`, with proof: boxes with exactly one root each,
/// and boxes that are undecided; elsewhere the function has no root.
///
/// A box without a proof of exactly one root or of no root is halved; boxes that become narrow, as around a double
/// root, are undecided. The parameters are exact: `f` is that of exact arithmetic. Unknowns and results are floats. The
/// bounds of a root are near the rounding of `f`.
///
/// ```
/// use polygrad::{Tensor, tensor, verified_roots};
/// let circle_and_line = |x: &Tensor<_, 1>, r: &Tensor<_, 0>| {
///     polygrad::stack([&(x.square().sum() - r.square()), &(x.at([0]) - x.at([1]))])
/// };
/// let found = verified_roots(circle_and_line, &tensor([-3.0, -3.0]), &tensor([3.0, 3.0]), &tensor(2.0));
/// assert!(found.roots.len() == 2 && found.undecided.is_empty());
/// for (lower, upper) in &found.roots {
///     assert!((upper - lower).max_all().item() < 1e-14 && (lower.square().sum() - 4.0).item().abs() < 1e-13);
/// }
/// ```
///
/// # Panics
/// When the ends are not a box, `f` looks at values, or returns shapes that differ from those of the unknowns.
#[track_caller]
pub fn verified_roots<X, P>(
    f: impl Fn(&X::With<Term>, &P::With<Term>) -> X::With<Term>,
    lower: &X,
    upper: &X,
    parameters: &P,
) -> VerifiedRoots<X::With<Array>>
where
    X: Tree<Array>,
    P: Tree<Array>,
{
    let system = EquationSystem::recorded("verified_roots", &f, lower, parameters);
    let domain = Region::raveled(&box_of("verified_roots", lower, upper));
    let (roots, undecided) = search(&system, &domain);
    let trees = |all: Vec<Region>| all.iter().map(|region| ends(lower, region)).collect();
    VerifiedRoots { roots: trees(roots), undecided: trees(undecided) }
}

/// The boxes with one root, and those that are undecided.
fn search(system: &EquationSystem, domain: &Region) -> (Vec<Region>, Vec<Region>) {
    let (mut rest, mut undecided, mut looked_at) = (vec![domain.clone()], Vec::new(), 0);
    // Boxes with one root each, and narrow bounds of the root.
    let mut found: Vec<(Region, Region)> = Vec::new();
    while let Some(part) = rest.pop() {
        looked_at += 1;
        if found.iter().any(|(owned, _)| part.is_within(owned)) {
            continue;
        }
        let wide = part.inflated(SHARE);
        let mut part = part;
        match system.verdict(&wide) {
            Verdict::Empty => continue,
            Verdict::One(image) => {
                let root = system.tightened(image);
                let known = |(owned, other): &(Region, Region)| root.is_within(owned) || other.is_within(&wide);
                if found.iter().any(known) || root.common(domain).is_none() {
                    continue;
                }
                if root.is_within(domain) && found.iter().all(|(_, other)| root.common(other).is_none()) {
                    found.push((wide, root));
                } else {
                    undecided.extend(root.common(domain));
                }
                continue;
            }
            Verdict::Within(image) => match image.common(&part) {
                None => continue,
                Some(less) => part = less,
            },
            Verdict::Unknown => {}
        }
        match halves(&part) {
            Some(halves) if looked_at < MOST_BOXES => rest.extend(halves),
            Some(_) | None => undecided.push(part),
        }
    }
    (found.into_iter().map(|(_, root)| root).collect(), joined(undecided))
}

/// The two halves of a box along its longest side, relative to its numbers; `None` if all sides are short.
fn halves(part: &Region) -> Option<[Region; 2]> {
    let length = |k: &usize| part.upper[*k] - part.lower[*k];
    let widest = (0..part.len()).max_by(|i, j| length(i).total_cmp(&length(j)))?;
    let (lo, hi) = (part.lower[widest], part.upper[widest]);
    let middle = part.middle()[widest];
    let short = NARROW * lo.abs().max(hi.abs()).max(NARROW);
    if !(middle > lo && middle < hi && (hi - lo > short || (hi - lo).is_infinite())) {
        return None;
    }
    let mut both = [part.clone(), part.clone()];
    both[0].upper[widest] = middle;
    both[1].lower[widest] = middle;
    Some(both)
}

/// Undecided boxes that touch as one box each.
fn joined(mut all: Vec<Region>) -> Vec<Region> {
    let mut out: Vec<Region> = Vec::new();
    while let Some(mut part) = all.pop() {
        while let Some(at) = out.iter().position(|other| part.inflated(0.5).common(other).is_some()) {
            part = part.hull(&out.swap_remove(at));
        }
        out.push(part);
    }
    out
}

/// A box around the root of `f(x, p) = 0` near the point `x`, with the proof that the box has exactly one root: a result
/// of [`root`](crate::root), for example.
///
/// The parameters are exact; the bounds are near the rounding of `f`.
///
/// ```
/// use polygrad::{Tensor, root, tensor, verified_root};
/// let f = |x: &Tensor<_, 0>, p: &Tensor<_, 0>| x.square() - p;
/// let x = root(f, &tensor(1.0), &tensor(2.0));
/// let (lower, upper) = verified_root(f, &x, &tensor(2.0))?;
/// assert!(lower.item() <= 2f64.sqrt() && 2f64.sqrt() <= upper.item() && (upper - lower).item() < 1e-15);
/// // A double root has no proof.
/// assert!(verified_root(f, &tensor(0.0), &tensor(0.0)).is_err());
/// # Ok::<(), polygrad::NoProof>(())
/// ```
///
/// # Errors
/// When no box around the point has a proof, as at a double root.
///
/// # Panics
/// When `f` looks at values, or returns shapes that differ from those of the unknowns.
#[allow(clippy::type_complexity, reason = "the type says what is returned: two trees like the unknowns")]
#[track_caller]
pub fn verified_root<X, P>(
    f: impl Fn(&X::With<Term>, &P::With<Term>) -> X::With<Term>,
    x: &X,
    parameters: &P,
) -> Result<(X::With<Array>, X::With<Array>), NoProof>
where
    X: Tree<Array>,
    P: Tree<Array>,
{
    let system = EquationSystem::recorded("verified_root", &f, x, parameters);
    let mut region = Region::raveled(&box_of("verified_root", x, x));
    let at = points(&region.lower);
    let slope = Tensor::from_raw(system.slope.over(vec![at.raw().clone()]).0);
    let inverse = system.preconditioner(&slope).ok_or(NoProof::NotFinite)?;
    // The first box reaches twice as far as Newton's step.
    let step = Region::of(&inverse.matvec(&Tensor::from_raw(system.f.over(vec![at.raw().clone()]).0)));
    if !step.is_bounded() {
        return Err(NoProof::NotFinite);
    }
    let reach = |((x, _), (lo, hi)): ((f64, f64), (f64, f64))| {
        let by = 2.0 * lo.abs().max(hi.abs());
        (x - by, x + by)
    };
    region = Region::from_pairs(region.pairs().zip(step.pairs()).map(reach));
    for _ in 0..ENLARGEMENTS {
        region = region.inflated(SHARE);
        match system.verdict(&region) {
            Verdict::One(image) => return Ok(ends(x, &system.tightened(image))),
            Verdict::Empty | Verdict::Within(_) | Verdict::Unknown => region = region.inflated(0.5),
        }
    }
    Err(NoProof::Undecided(ENLARGEMENTS))
}
