//! The rates of a predator and its prey, fitted to their numbers over time by the Gauss-Newton method.

use polygrad::{BaseTensor, Concrete, Tensor, iterate_all, stack, tensor, value_and_jacobian};

use super::solve;

const STEPS: usize = 60;
const H: f64 = 0.1;

/// `x' = a x - b x y`, `y' = c x y - d y`.
fn rate<T: BaseTensor>(p: &Tensor<T, 1>, state: &Tensor<T, 1>) -> Tensor<T, 1> {
    let [a, b, c, d] = p.unstack();
    let [x, y] = state.unstack();
    let met = &x * &y;
    stack((a * x - b * &met, c * met - d * y))
}

/// The numbers of both at each step, by the classical Runge-Kutta method.
fn numbers<T: BaseTensor>(p: &Tensor<T, 1>) -> Tensor<T, 2> {
    iterate_all(STEPS, Tensor::constant([1.0, 0.5]), |_, s| {
        let k1 = rate(p, &s);
        let k2 = rate(p, &(&s + &k1 * (H / 2.0)));
        let k3 = rate(p, &(&s + &k2 * (H / 2.0)));
        let k4 = rate(p, &(&s + &k3 * H));
        s + (k1 + (k2 + k3) * 2.0 + k4) * (H / 6.0)
    })
}

#[test]
fn the_rates_are_found() {
    let truth = tensor([1.1, 0.4, 0.3, 0.7]);
    let seen = numbers(&truth);
    let mut p: Tensor<Concrete, 1> = tensor([0.9, 0.5, 0.35, 0.6]);
    for _ in 0..12 {
        let (r, j) = value_and_jacobian(|p| (numbers(p) - seen.lift()).flatten(), &p);
        p -= solve(&j.t().matmul(&j), &j.t().matvec(&r));
    }
    assert!((&p - &truth).abs().max_all().item() < 1e-9, "{p}");
}
