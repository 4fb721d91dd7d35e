//! Minima of functions that take derivatives themselves: each function is a pair of modes, of the outer derivative and of
//! the inner one.

use polygrad::Mode::{Forward, Reverse};
use polygrad::{Concrete, Jit, tensor};
use serde::Deserialize;

use super::sizes::at_least;
use super::{functions, only};
use crate::json::vector;
use crate::programs::{Scalar, Vector, particle, saddle};

/// The first place of a charge.
#[derive(Deserialize)]
struct Charge {
    w: f64,
}

functions! {
    /// A particle between charges.
    Particle(Charge) of Scalar<Concrete>, ();
    |Charge { w }| Ok((tensor(w), ()));
    ff: Jit::stage(|w| particle::best(Forward, Forward, w)) => Scalar<Concrete>, only;
    fr: Jit::stage(|w| particle::best(Forward, Reverse, w)) => Scalar<Concrete>, only;
    rf: Jit::stage(|w| particle::best(Reverse, Forward, w)) => Scalar<Concrete>, only;
    rr: Jit::stage(|w| particle::best(Reverse, Reverse, w)) => Scalar<Concrete>, only;
}

/// Where descents start.
#[derive(Deserialize)]
struct Start {
    #[serde(deserialize_with = "vector")]
    start: Vector<Concrete>,
}

functions! {
    /// A minimum of maxima.
    Saddle(Start) of Vector<Concrete>, ();
    |Start { start }| {
        at_least(1, ("the length of `start`", start.len()))?;
        Ok((start, ()))
    };
    ff: Jit::stage(|start| saddle::saddle(Forward, Forward, start)) => Vector<Concrete>, only;
    fr: Jit::stage(|start| saddle::saddle(Forward, Reverse, start)) => Vector<Concrete>, only;
    rf: Jit::stage(|start| saddle::saddle(Reverse, Forward, start)) => Vector<Concrete>, only;
    rr: Jit::stage(|start| saddle::saddle(Reverse, Reverse, start)) => Vector<Concrete>, only;
}
