//! Mistakes in what optimizers are given.

use argmin::core::CostFunction as _;
use polygrad::manifold::{Direction, Manifold, Rotation};
use polygrad::optim::argmin::Problem;
use polygrad::optim::{Adam, Optimizer, Rate, Sgd};
use polygrad::{Concrete, Tensor, tensor};

use crate::log::Log;

/// Numbers that no optimizer takes, and states of another.
pub(crate) fn optimizers(log: &mut Log) {
    let x: Tensor<Concrete, 1> = tensor([1.0]);
    let state = Sgd::new(0.1).init(&x);
    log.panics(|| Sgd::new(f64::NAN));
    log.panics(|| Sgd::new(0.1).momentum(1.0));
    log.panics(|| Sgd::new(0.1).nesterov());
    log.panics(|| Sgd::new(0.1).momentum(0.9).update(&x, &x, &state));
    log.panics(|| Adam::new(0.1).betas(0.9, -0.5));
    log.panics(|| Adam::new(0.1).epsilon(-1.0));
    log.panics(|| Adam::new(0.1).decay(f64::INFINITY));
    log.panics(|| Adam::new(0.1).update(&x, &x, &state));
    let (one, two) = (vec![tensor([1.0, 2.0])], vec![tensor([1.0, 2.0]), tensor([3.0, 4.0])]);
    let longer = vec![tensor([1.0, 2.0, 3.0])];
    let adam = Adam::new(0.1);
    log.panics(|| adam.update(&one, &longer, &adam.init(&one)));
    log.panics(|| adam.update(&one, &two, &adam.init(&one)));
    log.panics(|| adam.update(&one, &one, &adam.init(&longer)));
    log.panics(|| Sgd::new(0.1).update(&one, &longer, &Sgd::new(0.1).init(&one)));
    log.panics(|| Rate::linear(0.1, -0.1, 10));
    log.panics(|| Rate::cosine(0.1, 0.0, 0));
    log.panics(|| Rate::exponential(0.1, 0.0, 10));
    log.panics(|| Rate::steps(0.1, [(10, f64::NAN)]));
    log.fails(Problem::new(|x| x.square().sum(), &x).tree(&[1.0, 2.0]));
    log.fails(Problem::new(|x| x.square().sum(), &x).cost(&vec![f64::NAN; x.len()]));
}

/// Points and tangent vectors of other shapes.
pub(crate) fn manifolds(log: &mut Log) {
    let (one, two): (Tensor<Concrete, 1>, Tensor<Concrete, 1>) = (tensor([1.0]), tensor([3.0, 4.0]));
    log.panics(|| vec![one.clone()].retract(&vec![one.clone(), one.clone()]));
    log.panics(|| vec![one.clone()].local(&vec![]));
    log.panics(|| Rotation::from_matrix(&Tensor::<Concrete, 2>::eye(2)));
    log.panics(|| Rotation::exp(&two));
    log.panics(|| Rotation::<Concrete>::identity().rotate(&two));
    log.panics(|| Rotation::<Concrete>::identity().retract(&two));
    log.panics(|| Direction::towards(&Tensor::<Concrete, 1>::zeros([0])));
    log.panics(|| Direction::towards(&two).retract(&two));
}
