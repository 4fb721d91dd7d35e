"""The likelihood of `examples/pictures/gaussian_process.rs` in JAX: values, norms of derivatives, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/gaussian_process.py
    taskset -c 0 target/release/examples/gaussian_process --time
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from timed import timed

jax.config.update("jax_enable_x64", True)


def energy(kernel, x, y):
    amplitude, length, noise = kernel
    distance = (x[:, None] - x[None, :]) / jnp.exp(length)
    covariance = jnp.exp(2.0 * amplitude - 0.5 * jnp.square(distance)) + jnp.eye(x.size) * jnp.exp(2.0 * noise)
    factor = jnp.linalg.cholesky(covariance)
    white = solve_triangular(factor, y, lower=True)
    return 0.5 * jnp.square(white).sum() + jnp.log(jnp.diag(factor)).sum() + 0.5 * x.size * jnp.log(2.0 * jnp.pi)


if __name__ == "__main__":
    kernel = np.array([0.1, -0.2, -1.5])
    pair = lambda result: (result[0], jnp.linalg.norm(result[1]))
    for values, runs in [(60, 300), (240, 100), (960, 10)]:
        x = np.linspace(-3.0, 3.0, values)
        y = np.sin(2.0 * x) + 0.5 * x + 0.2 * np.sin(7.0 * np.arange(values))
        timed(f"energy and gradient, {values} values", runs, pair, jax.jit(jax.value_and_grad(energy)), kernel, x, y)
        hessian = jax.jit(jax.hessian(energy))
        timed(f"Hessian, {values} values", runs, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), hessian, kernel, x, y)
