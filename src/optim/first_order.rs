//! Stochastic gradient descent and Adam.

use super::{Optimizer, Rate, State};
use crate::base::BaseTensor;
use crate::ops::{Binary, Unary};
use crate::tensor::Tensor;
use crate::tree::{Tree, TreeMath, unlike};

/// Gradient descent, optionally with momentum.
///
/// With velocity `v`, which starts at zero: `v' = momentum v + g` and `x' = x - rate v'`; with Nesterov's momentum
/// `x' = x - rate (g + momentum v')`. (Sutskever, Martens, Dahl and Hinton, *On the importance of initialization and
/// momentum in deep learning*, ICML 2013; with the rate outside the velocity, as is usual today.)
///
/// ```
/// use polygrad::{optim::{Optimizer, Sgd}, tensor};
/// /// Two updates of the number 1, along the gradients 2 and 0.
/// fn two_steps(sgd: Sgd) -> [f64; 2] {
///     let (x, state) = sgd.update(&tensor(1.0), &tensor(2.0), &sgd.init(&tensor(1.0)));
///     [x.item(), sgd.update(&x, &tensor(0.0), &state).0.item()]
/// }
/// assert_eq!(two_steps(Sgd::new(0.25)), [0.5, 0.5]);
/// // The velocity is 2, then `0.5 * 2 + 0`.
/// assert_eq!(two_steps(Sgd::new(0.25).momentum(0.5)), [0.5, 0.25]);
/// // The first step is `0.25 * (2 + 0.5 * 2)`.
/// assert_eq!(two_steps(Sgd::new(0.25).momentum(0.5).nesterov())[0], 0.25);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sgd {
    rate: Rate,
    momentum: f64,
    nesterov: bool,
}

impl Sgd {
    /// Gradient descent at a rate: a number, or a schedule.
    ///
    /// Example: [`Sgd`].
    ///
    /// # Panics
    /// When a rate given as a number is negative or not finite.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Self {
        Sgd { rate: rate.into(), momentum: 0.0, nesterov: false }
    }

    /// With momentum: the factor by which each update multiplies the velocity.
    ///
    /// Example: [`Sgd`].
    ///
    /// # Panics
    /// When `momentum` is not in `0..1`.
    #[track_caller]
    #[must_use]
    pub fn momentum(self, momentum: f64) -> Self {
        Sgd { momentum: share("momentum", momentum), ..self }
    }

    /// With Nesterov's momentum: the step looks ahead along the new velocity.
    ///
    /// Example: [`Sgd`].
    ///
    /// # Panics
    /// When the momentum is 0.
    #[track_caller]
    #[must_use]
    pub fn nesterov(self) -> Self {
        assert!(self.momentum > 0.0, "nesterov: the momentum must be above 0, but it is 0; call `momentum` first");
        Sgd { nesterov: true, ..self }
    }
}

impl Optimizer for Sgd {
    fn moments(&self) -> usize {
        usize::from(self.momentum > 0.0)
    }

    #[track_caller]
    fn update<T: BaseTensor, P: Tree<T, With<T> = P>>(
        &self,
        x: &P,
        gradient: &P,
        state: &State<T, P>,
    ) -> (P, State<T, P>) {
        let rate = self.rate.at(&state.count);
        let count = &state.count + 1.0;
        let Some(velocity) = remembered("sgd", self.moments(), x, gradient, state).first() else {
            return (x.sub(&gradient.times(&rate)), State { count, moments: Vec::new() });
        };
        let velocity = velocity.scale(self.momentum).add(gradient);
        let ahead = self.nesterov.then(|| gradient.add_scaled(self.momentum, &velocity));
        let step = ahead.as_ref().unwrap_or(&velocity).times(&rate);
        (x.sub(&step), State { count, moments: vec![velocity] })
    }
}

/// Adam: steps scaled by running moments of the gradient; with `decay`, AdamW.
///
/// `m' = b1 m + (1 - b1) g`, `v' = b2 v + (1 - b2) g^2`, and after `t` updates, this one included,
/// `x' = x - rate (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + eps) - rate decay x`, element by element. (Kingma and
/// Ba, *Adam*, ICLR 2015, algorithm 1; Loshchilov and Hutter, *Decoupled weight decay regularization*, ICLR 2019,
/// algorithm 2.)
///
/// ```
/// use polygrad::{optim::{Adam, Optimizer}, tensor};
/// let step = |adam: Adam| adam.update(&tensor([1.0, 1.0]), &tensor([1.0, -1e3]), &adam.init(&tensor([1.0, 1.0])));
/// let near = |x: polygrad::Tensor<_, 1>, y: [f64; 2]| (x - tensor(y)).abs().max_all().item() < 1e-8;
/// // The first step has the length of the rate, whatever the length of the gradient: `0.5 g / (|g| + eps)`.
/// assert!(near(step(Adam::new(0.5)).0, [0.5, 1.5]));
/// assert!(near(step(Adam::new(0.5).epsilon(1e3)).0, [1.0 - 0.5 / 1001.0, 1.25]));
/// // Weight decay also subtracts `0.5 * 0.5 x`.
/// assert!(near(step(Adam::new(0.5).decay(0.5)).0, [0.25, 1.25]));
/// // The moments are `g`, and a quarter of `g^2`.
/// assert_eq!(step(Adam::new(0.5).betas(0.0, 0.75)).1.moments, [tensor([1.0, -1e3]), tensor([0.25, 2.5e5])]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    rate: Rate,
    betas: [f64; 2],
    epsilon: f64,
    decay: f64,
}

impl Adam {
    /// Adam at a rate, a number or a schedule, with `b1 = 0.9`, `b2 = 0.999`, `eps = 1e-8` and no decay.
    ///
    /// Example: [`Adam`].
    ///
    /// # Panics
    /// When a rate given as a number is negative or not finite.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Self {
        Adam { rate: rate.into(), betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.0 }
    }

    /// With other decay rates `b1` and `b2` of the moments.
    ///
    /// Example: [`Adam`].
    ///
    /// # Panics
    /// When one is not in `0..1`.
    #[track_caller]
    #[must_use]
    pub fn betas(self, b1: f64, b2: f64) -> Self {
        Adam { betas: [share("betas", b1), share("betas", b2)], ..self }
    }

    /// With another `eps`, which bounds the steps of elements whose gradient is almost zero.
    ///
    /// Example: [`Adam`].
    ///
    /// # Panics
    /// When it is negative or not finite.
    #[track_caller]
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        Adam { epsilon: not_negative("epsilon: `eps`", epsilon, 1e-8), ..self }
    }

    /// With decoupled weight decay (AdamW): each update also subtracts `rate * decay * x` from each parameter `x`.
    ///
    /// Example: [`Adam`].
    ///
    /// # Panics
    /// When it is negative or not finite.
    #[track_caller]
    #[must_use]
    pub fn decay(self, decay: f64) -> Self {
        Adam { decay: not_negative("decay: the decay", decay, 0.01), ..self }
    }
}

impl Optimizer for Adam {
    fn moments(&self) -> usize {
        2
    }

    #[track_caller]
    fn update<T: BaseTensor, P: Tree<T, With<T> = P>>(
        &self,
        x: &P,
        gradient: &P,
        state: &State<T, P>,
    ) -> (P, State<T, P>) {
        let rate = self.rate.at(&state.count);
        let count = &state.count + 1.0;
        let moments = remembered("adam", 2, x, gradient, state);
        let [b1, b2] = self.betas;
        let first = moments[0].scale(b1).add_scaled(1.0 - b1, gradient);
        let second = moments[1].scale(b2).add_scaled(1.0 - b2, &gradient.unary(Unary::Square));
        // The moments start at zero: after t updates they are too small by these factors.
        let [c1, c2] = [b1, b2].map(|b| missing(b, &count));
        let size = second.times(&c2.recip()).unary(Unary::Sqrt).shift(self.epsilon);
        let mut next = x.sub(&first.times(&(&rate / c1)).binary(Binary::Div, &size));
        if self.decay > 0.0 {
            next = next.sub(&x.times(&(&rate * self.decay)));
        }
        (next, State { count, moments: vec![first, second] })
    }
}

/// Checks that a number is finite and not negative.
#[track_caller]
fn not_negative(what: &str, number: f64, usual: f64) -> f64 {
    let possible = number >= 0.0 && number.is_finite();
    assert!(possible, "{what} must be finite and not negative, but it is {number}; {usual:?} is usual");
    number
}

/// `1 - b^count`, to full precision for `b` near 1.
#[track_caller]
fn missing<T: BaseTensor>(b: f64, count: &Tensor<T, 0>) -> Tensor<T, 0> {
    if b == 0.0 { Tensor::full([], 1.0) } else { -(count * b.ln()).expm1() }
}

/// The moments of the state, as many as the rule needs.
#[track_caller]
fn remembered<'a, T: BaseTensor, P: Tree<T>>(
    name: &str,
    needed: usize,
    x: &P,
    gradient: &P,
    state: &'a State<T, P>,
) -> &'a [P] {
    let given = state.moments.len();
    assert!(
        given == needed,
        "{name}: the state must have {needed} moments, but it has {given}; make it with `init` of the same optimizer"
    );
    let leaves = x.leaves();
    same_leaves(name, "the gradient", "take it at these parameters", &leaves, &gradient.leaves());
    for moment in &state.moments {
        same_leaves(name, "the state", "make it with `init` for these parameters", &leaves, &moment.leaves());
    }
    &state.moments
}

/// Checks that a tree has leaves of the shapes and element types of the parameters.
#[track_caller]
fn same_leaves<T: BaseTensor>(name: &str, what: &str, way_out: &str, x: &[T], other: &[T]) {
    let (given, needed) = (other.len(), x.len());
    assert!(
        given == needed,
        "{name}: {what} must have the structure of the parameters, but they have {given} and {needed} leaves; {way_out}"
    );
    if let Some((i, [given, needed])) = unlike(other, x) {
        panic!(
            "{name}: {what} must have the leaves of the parameters, but leaf {i} is {given} and that of the parameters {needed}; {way_out}"
        );
    }
}

#[track_caller]
fn share(name: &str, b: f64) -> f64 {
    assert!((0.0..1.0).contains(&b), "{name}: a share must be at least 0 and below 1, but it is {b}; 0.9 is usual");
    b
}
