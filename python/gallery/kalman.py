"""The level of the Nile of `examples/pictures/kalman.rs` in JAX: values, norms of derivatives, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/kalman.py
    taskset -c 0 target/release/examples/kalman --time
"""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

jax.config.update("jax_enable_x64", True)
PROGRAM = (Path(__file__).parents[2] / "examples/pictures/kalman.rs").read_text()
FLOW = np.array([float(x) for x in re.findall(r"\d+\.(?=,)", PROGRAM.split("const FLOW")[1].split("];")[0])])


def energy(x, values, known):
    transition, seen = jnp.eye(1), jnp.ones(1)
    noise, drift = jnp.exp(x[0]), jnp.exp(x[1]).reshape(1, 1)

    def step(state, now):
        (mean, covariance, likelihood), (value, known) = state, now
        miss = value - seen @ mean
        shared = covariance @ seen
        spread = seen @ shared + noise
        likelihood = likelihood - 0.5 * known * (jnp.log(2.0 * jnp.pi * spread) + jnp.square(miss) / spread)
        gain = shared * (known / spread)
        mean = mean + gain * miss
        covariance = covariance - jnp.outer(gain, shared)
        return (transition @ mean, transition @ covariance @ transition.T + drift, likelihood), None

    start = jnp.zeros(1), jnp.eye(1) * 1e7, 0.0
    return -jax.lax.scan(step, start, (values, known))[0][2]


if __name__ == "__main__":
    assert FLOW.shape == (100,), FLOW.shape
    x, known = np.full(2, np.log(FLOW.var() / 2.0)), np.ones(100)
    pair = lambda result: (result[0], jnp.linalg.norm(result[1]))
    timed("energy and gradient", 1000, pair, jax.jit(jax.value_and_grad(energy)), x, FLOW, known)
    timed("Hessian", 1000, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), jax.jit(jax.hessian(energy)), x, FLOW, known)
