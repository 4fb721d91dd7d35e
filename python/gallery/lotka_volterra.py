"""The hares and lynxes of `examples/pictures/lotka_volterra.rs` in JAX: values, norms of derivatives, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/lotka_volterra.py
    taskset -c 0 target/release/examples/lotka_volterra --time
"""

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

jax.config.update("jax_enable_x64", True)
YEARS, STEPS = 20, 10
HARES = "30.0 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22.0 25.4 27.1 40.3 57.0 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNXES = "4.0 6.1 9.8 35.2 59.4 41.7 19.0 13.0 8.3 9.1 7.4 8.0 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
SEEN = np.log(np.array([[float(x) for x in row.split()] for row in (HARES, LYNXES)]).T)


def curves(x):
    birth, predation, death, growth = jnp.exp(x[:4])

    def rate(state):
        hares, lynxes = jnp.exp(state)
        return jnp.stack([birth - predation * lynxes, growth * hares - death])

    h = 1.0 / STEPS

    def step(s, _):
        k1 = rate(s)
        k2 = rate(s + k1 * (h / 2))
        k3 = rate(s + k2 * (h / 2))
        k4 = rate(s + k3 * h)
        s = s + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
        return s, s

    rows = jax.lax.scan(step, x[4:], None, length=YEARS * STEPS)[1]
    return jnp.concatenate([x[None, 4:], rows])


def residuals(x, seen):
    return (curves(x)[::STEPS] - seen).ravel()


def energy(x, seen):
    return 0.5 * jnp.square(residuals(x, seen)).sum()


if __name__ == "__main__":
    x = np.concatenate([np.log([0.5, 0.03, 0.5, 0.03]), SEEN[0]])
    both = jax.jit(lambda x, seen: (residuals(x, seen), jax.jacfwd(residuals)(x, seen)))
    timed("residuals and Jacobian", 1000, lambda r: (jnp.square(r[0]).sum(), jnp.linalg.norm(r[1])), both, x, SEEN)
    pair = lambda result: (result[0], jnp.linalg.norm(result[1]))
    timed("energy and gradient", 1000, pair, jax.jit(jax.value_and_grad(energy)), x, SEEN)
    timed("Hessian", 300, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), jax.jit(jax.hessian(energy)), x, SEEN)
