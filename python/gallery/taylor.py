"""The Taylor coefficients of `examples/pictures/taylor.rs` by `jax.experimental.jet`: sizes, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/taylor.py
    taskset -c 0 target/release/examples/taylor --time
"""

from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.jet import jet
from timed import timed

jax.config.update("jax_enable_x64", True)
ECCENTRICITY = 0.6


def rate(y):
    at, speed = y[:2], y[2:]
    inverse = 1.0 / jnp.sqrt(jnp.square(at).sum())
    return jnp.concatenate([speed, at * -(inverse * inverse * inverse)])


def orbit(order):
    """Derivative `k + 1` of the curve is derivative `k` of the rate along it; `jet` counts in derivatives."""

    def coefficients(y):
        derivatives = [rate(y)]
        for _ in range(1, order):
            derivatives.append(jet(rate, (y,), (derivatives,))[1][-1])
        return jnp.stack([y] + [d / factorial(k) for k, d in enumerate(derivatives, 1)])

    return coefficients


if __name__ == "__main__":
    start = np.array([1 - ECCENTRICITY, 0.0, 0.0, np.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))])
    norms = lambda c: (jnp.linalg.norm(c[1]), jnp.linalg.norm(c))
    for order in (6, 12, 18):
        timed(f"coefficients to the order {order}", 1000, norms, jax.jit(orbit(order)), start)
