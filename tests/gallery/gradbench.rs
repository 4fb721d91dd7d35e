//! The programs of the example `gradbench`, at a few numbers each.

use polygrad::{Array, BaseTensor, Mode, Tensor};

use super::{positive, real};
use programs::{Matrix, Scalar, Vector, ba, det, gmm, hello, ht, kmeans, llsq, lse, lstm, ode, particle, saddle};

#[allow(dead_code, reason = "what only the example runs")]
#[path = "../../examples/gradbench/programs/mod.rs"]
pub mod programs;

objectives! {
    square(x = Array::from(1.5));
    signs_by_polynomial(x = real([3], 1));
    log_sum_exp(x = real([4], 2));
    determinant_by_expansion(m = real([3, 3], 3));
    chain_of_reactions(x = positive([3], 4));
    clusters(centroids = real([2, 2], 5); points = real([5, 2], 6));
    direction_of_clusters(centroids = real([2, 2], 5); points = real([5, 2], 6));
    mixture_with_prior(alpha = real([2], 7), mu = real([2, 2], 8), q = real([2, 2], 9), l = real([2, 1], 10); x = real([3, 2], 11));
    characters(layers = real([4, 8], 12), ends = real([3, 2], 13); state = real([4, 2], 14), text = real([4, 2], 15));
    observations(
        cameras = real([2, 11], 16), points = positive([3, 3], 17), weights = positive([4], 18);
        seen = real([4, 2], 19)
    );
    hand(shift = real([2], 20), theta = real([26], 21); positions = real([3, 4], 22), weights = real([3, 22], 23), points = real([2, 3], 24));
    falling_particle(w = Array::from(0.3));
    highest_of_saddle(x = positive([2], 25));
}

fn square<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    hello::square(x)
}

fn signs_by_polynomial<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    llsq::cost(x, &llsq::Grid { count: 5 })
}

fn log_sum_exp<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    lse::log_sum_exp(x)
}

fn determinant_by_expansion<T: BaseTensor>(m: &Matrix<T>) -> Scalar<T> {
    det::det(m)
}

fn chain_of_reactions<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let steps = ode::Steps { count: 3 };
    ode::end(x, &steps).square().sum() + ode::last(x, &steps)
}

fn clusters<T: BaseTensor>(centroids: &Matrix<T>, points: &Matrix<T>) -> Scalar<T> {
    kmeans::cost(centroids, points)
}

fn direction_of_clusters<T: BaseTensor>(centroids: &Matrix<T>, points: &Matrix<T>) -> Scalar<T> {
    kmeans::direction(centroids, points).square().sum()
}

fn mixture_with_prior<T: BaseTensor>(
    alpha: &Vector<T>,
    mu: &Matrix<T>,
    q: &Matrix<T>,
    l: &Matrix<T>,
    x: &Matrix<T>,
) -> Scalar<T> {
    let mixture = gmm::Mixture { alpha: alpha.clone(), mu: mu.clone(), q: q.clone(), l: l.clone() };
    gmm::posterior(&mixture, &gmm::Samples { x: x.clone(), gamma: Tensor::scalar(1.5), m: 1 })
}

fn characters<T: BaseTensor>(layers: &Matrix<T>, ends: &Matrix<T>, state: &Matrix<T>, text: &Matrix<T>) -> Scalar<T> {
    lstm::loss(&(layers.clone(), ends.clone()), &(state.clone(), text.clone()))
}

fn observations<T: BaseTensor>(
    cameras: &Matrix<T>,
    points: &Matrix<T>,
    weights: &Vector<T>,
    seen: &Matrix<T>,
) -> Scalar<T> {
    let turns = |n: i64| Tensor::constant([0, 1 % n, 2 % n, 3 % n]);
    let scene = (cameras.clone(), points.clone(), weights.clone());
    let (distances, doubts) = ba::errors(&scene, &(turns(2), turns(3), seen.clone()));
    distances.square().sum() + doubts.square().sum()
}

fn hand<T: BaseTensor>(
    shift: &Vector<T>,
    theta: &Vector<T>,
    positions: &Matrix<T>,
    weights: &Matrix<T>,
    points: &Matrix<T>,
) -> Scalar<T> {
    let parents =
        (0..22).map(|bone| if bone == 0 { None } else { Some(if bone % 4 == 1 { 0 } else { bone - 1 }) }).collect();
    let rest = |seed| Tensor::constant(Array::uniform(&[22, 4, 4], -0.5, 0.5, seed));
    let hand = ht::Hand {
        parents,
        relatives: rest(1),
        inverses: rest(2),
        positions: positions.clone(),
        weights: weights.clone(),
        is_mirrored: true,
    };
    let uneven = Tensor::constant([[0.2, 0.3], [0.5, 0.1]]);
    let measured = ht::Measured::Triangles(Tensor::constant([[0, 1, 2], [2, 1, 0]]), uneven, points.clone());
    ht::residuals(&(Some(shift.clone()), theta.clone()), &(hand, measured)).square().sum()
}

/// From a height from which it falls in a few steps.
fn falling_particle<T: BaseTensor>(w: &Scalar<T>) -> Scalar<T> {
    particle::miss(Mode::Forward, (9, 3e-4), w) + particle::miss(Mode::Reverse, (9, 3e-4), w)
}

/// Few rounds leave it far from the maximum, so that the place where they start matters.
fn highest_of_saddle<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let start = x * 0.5 + 1.0;
    saddle::highest(Mode::Forward, 4, x, &start) + saddle::highest(Mode::Reverse, 4, x, &start)
}
