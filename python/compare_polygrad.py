"""Times of functions of JAX compiled by `polygrad.jit`, beside `jax.jit`.

    python compare_polygrad.py [ROUNDS]

Value and gradient of each program, called from Python with arrays of NumPy, on one thread. In each round both take
turns: a batch of calls of one, then of the other. A time is the median over the rounds, for one call. Results are
compared first, so what is timed is right.
"""

import os
import statistics
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["RAYON_NUM_THREADS"] = "1"

# The package that is installed, and not its sources beside this file.
sys.path.pop(0)

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import polygrad

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def scan(w, drive):
    """A leaky integrator: a scan over 60 numbers."""

    def step(v, i):
        v = v + 0.1 * (-v + jnp.tanh(w[0] * v + w[1] * i))
        return v, v

    return (lax.scan(step, 0.0, drive)[1] ** 2).sum()


def kalman(q, ys):
    def step(carry, y):
        m, p = carry
        p = p + jnp.exp(q) * jnp.eye(2)
        s = p[0, 0] + 0.5
        k = p[:, 0] / s
        m = m + k * (y - m[0])
        return (m, p - jnp.outer(k, p[0])), 0.5 * (jnp.log(s) + (y - m[0]) ** 2 / s)

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)[1].sum()


def process(theta, x, y):
    """The likelihood of a Gaussian process."""
    k = jnp.exp(theta[0] - 0.5 * (x[:, None] - x[None]) ** 2 / jnp.exp(theta[1])) + 0.1 * jnp.eye(x.size)
    l = jnp.linalg.cholesky(k)
    a = jax.scipy.linalg.solve_triangular(l, y, lower=True)
    return 0.5 * a @ a + jnp.log(jnp.diag(l)).sum()


def mixture(means, x):
    d = ((x[:, None, :] - means[None]) ** 2).sum(-1)
    return -jax.scipy.special.logsumexp(-0.5 * d, axis=1).sum()


def network(parameters, x, y):
    w1, b1, w2, b2 = parameters
    return ((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()


WEIGHTS = tuple(rng.normal(size=s) for s in ((16, 64), (64,), (64, 4), (4,)))
PROGRAMS = [
    ("Rosenbrock's function, 10 numbers", rosenbrock, (rng.normal(size=10),)),
    ("Rosenbrock's function, 10000 numbers", rosenbrock, (rng.normal(size=10000),)),
    ("scan over 60 numbers", scan, (np.array([0.5, 1.0]), rng.normal(size=60))),
    ("Kalman filter, 100 steps, 2 states", kalman, (np.float64(0.1), rng.normal(size=100))),
    ("Gaussian process, 30 points", process, (np.zeros(2), np.linspace(0, 3, 30), rng.normal(size=30))),
    ("Gaussian mixture, 10 components, 1000 points", mixture, (rng.normal(size=(10, 4)), rng.normal(size=(1000, 4)))),
    ("network 16-64-4, 128 rows", network, (WEIGHTS, rng.normal(size=(128, 16)), rng.normal(size=(128, 4)))),
]


def batch(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def main(rounds):
    print("| value and gradient, microseconds for a call | polygrad | jax.jit | ratio |\n|---|---|---|---|")
    for name, f, inputs in PROGRAMS:
        theirs = jax.jit(jax.value_and_grad(f))
        ours = polygrad.jit(f, *inputs).value_and_grad
        for a, b in zip(jax.tree.leaves(ours(*inputs)), jax.tree.leaves(theirs(*inputs)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
        calls = [lambda: ours(*inputs), lambda: jax.block_until_ready(theirs(*inputs))]
        counts = [max(1, int(2e-3 / batch(call, 3))) for call in calls]
        times = [[batch(call, count) for call, count in zip(calls, counts)] for _ in range(rounds)]
        us, them = (1e6 * statistics.median(column) for column in zip(*times))
        print(f"| {name} | {us:.1f} | {them:.1f} | {us / them:.2f} |", flush=True)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
