"""The epidemic of `examples/pictures/epidemic.rs` in JAX: energy, gradient, Hessian, and the fit with its derivative; times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/epidemic.py
    taskset -c 0 target/release/examples/epidemic --time

JAX has no minimum with a derivative, so the implicit function theorem is written out.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jax.scipy.stats import expon, norm
from timed import timed

jax.config.update("jax_enable_x64", True)
BOYS, DAYS, STEPS = 763.0, 14, 4
IN_BED = jnp.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4])


def infected(x):
    infection, recovery = jnp.exp(x[0]) / BOYS, jnp.exp(x[1])
    h = 1.0 / STEPS

    def rate(state):
        new = infection * state[0] * state[1]
        return jnp.stack([-new, new - recovery * state[1]])

    def step(s, _):
        k1 = rate(s)
        k2 = rate(s + k1 * (h / 2.0))
        k3 = rate(s + k2 * (h / 2.0))
        k4 = rate(s + k3 * h)
        s = s + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
        return s, s[1]

    return jax.lax.scan(step, jnp.array([BOYS - 1.0, 1.0]), None, length=DAYS * STEPS)[1][STEPS - 1 :: STEPS]


def neg_binomial(y, log_mean, d):
    m = jnp.exp(log_mean)
    return gammaln(y + d) - gammaln(d) - gammaln(y + 1) - y * jnp.log1p(d / m) - d * jnp.log1p(m / d)


def energy(x, weights):
    infection, recovery, scatter = jnp.exp(x)
    prior = norm.logpdf(infection, 2.0, 1.0) + norm.logpdf(recovery, 0.4, 0.5) + expon.logpdf(scatter, scale=0.2) + x.sum()
    return -(prior + weights @ neg_binomial(IN_BED, jnp.log(infected(x)), 1.0 / scatter))


def reproduction(x):
    return jnp.exp(x[0] - x[1])


def fit(weights):
    """Newton's method with the absolute values of the curvatures; a step that does not lead down is halved."""

    def search(state):
        x, _, count = state
        slope, hessian = jax.grad(energy)(x, weights), jax.hessian(energy)(x, weights)
        values, vectors = jnp.linalg.eigh(hessian)
        step, before = vectors @ (vectors.T @ slope / jnp.abs(values)), energy(x, weights)
        worse = lambda step: energy(x - step, weights) > before + 1e-12
        step = jax.lax.while_loop(lambda step: worse(step) & (jnp.abs(step).max() > 1e-12), lambda step: step / 2, step)
        return x - step, jnp.abs(step).max(), count + 1

    start = jnp.log(jnp.array([2.0, 0.4, 0.2])), jnp.array(1.0), 0
    return jax.lax.while_loop(lambda state: (state[1] > 1e-10) & (state[2] < 50), search, start)[0]


def number_and_slope(weights):
    x = fit(weights)
    value, slope = jax.value_and_grad(reproduction)(x)
    adjoint = jnp.linalg.solve(jax.hessian(energy)(x, weights), slope)
    return value, jax.grad(lambda w: -jax.grad(energy)(x, w) @ adjoint)(weights)


if __name__ == "__main__":
    x, weights = jnp.log(jnp.array([1.7, 0.5, 0.1])), jnp.ones(DAYS)
    pair = lambda result: (result[0], jnp.linalg.norm(result[1]))
    timed("energy and gradient", 1000, pair, jax.jit(jax.value_and_grad(energy)), x, weights)
    timed("Hessian", 1000, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), jax.jit(jax.hessian(energy)), x, weights)
    timed("fit, and its gradient in the weights", 20, pair, jax.jit(number_and_slope), weights)
