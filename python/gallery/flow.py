"""The flow of `examples/pictures/flow.rs` in JAX, with the same random numbers: loss, training, densities; times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/flow.py
    taskset -c 0 target/release/examples/flow --time
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from timed import timed

jax.config.update("jax_enable_x64", True)
HELD_OUT, STEPS, HIDDEN, BATCH, UPDATES = 200, 20, 64, 256, 8000
WAVES = jnp.array([2.0, 4.0, 8.0])


def permutation(key, n):
    """That of `Key::permutation`."""
    key, now = jax.random.split(key)
    return jnp.argsort(jax.random.bits(now, (n,), "uint32"), stable=True)


def places():
    quakes = np.loadtxt(Path(__file__).parents[2] / "examples/data/quakes.csv", delimiter=",", skiprows=1)
    quakes = jnp.asarray((quakes - quakes.mean(0)) / quakes.std(0))
    quakes = quakes[permutation(jax.random.key(1), len(quakes))]
    return quakes[HELD_OUT:], quakes[:HELD_OUT]


def velocity(field, at, time):
    waves = jnp.outer(at, WAVES).ravel()
    x = jnp.concatenate([at, jnp.reshape(time, (1,)), jnp.sin(waves), jnp.cos(waves)])
    for w, b in field[:-1]:
        x = jax.nn.silu(x @ w + b)
    return x @ field[-1][0] + field[-1][1]


def loss(field, points, key):
    of_noise, of_times = jax.random.split(key)
    noise, times = jax.random.normal(of_noise, points.shape), jax.random.uniform(of_times, points.shape[:1])

    def missed(a, b, time):
        return ((velocity(field, a + (b - a) * time, time) - (b - a)) ** 2).sum()

    return jax.vmap(missed)(noise, points, times).mean()


def train(field, points, keys):
    def update(now, key):
        field, m, v, k = now
        of_rows, of_loss = jax.random.split(key)
        batch = points[permutation(of_rows, len(points))[:BATCH]]
        value, slope = jax.value_and_grad(loss)(field, batch, of_loss)
        rate = 0.005 * (1.0 + jnp.cos(jnp.pi * k / UPDATES))
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, slope)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, v, slope)
        a, b = 1.0 - 0.9 ** (k + 1), 1.0 - 0.999 ** (k + 1)
        field = jax.tree.map(lambda x, m, v: x - rate * (m / a) / (jnp.sqrt(v / b) + 1e-8), field, m, v)
        return (field, m, v, k + 1), value

    zeros = jax.tree.map(jnp.zeros_like, field)
    (field, *_), losses = jax.lax.scan(update, (field, zeros, zeros, 0.0), keys)
    return field, losses


def log_density(field, at):
    def rate(at, time):
        return velocity(field, at, time), jnp.trace(jax.jacfwd(velocity, 1)(field, at, time))

    def step(now, k):
        (at, total), h = now, -1.0 / STEPS
        time = 1.0 + k * h
        k1, d1 = rate(at, time)
        k2, d2 = rate(at + k1 * (h / 2.0), time + h / 2.0)
        k3, d3 = rate(at + k2 * (h / 2.0), time + h / 2.0)
        k4, d4 = rate(at + k3 * h, time + h)
        at = at + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
        return (at, total + (d1 + (d2 + d3) * 2.0 + d4) * (h / 6.0)), None

    (start, shrunk), _ = jax.lax.scan(step, (at, 0.0), jnp.arange(STEPS))
    return shrunk - 0.5 * (start**2).sum() - jnp.log(2.0 * jnp.pi)


if __name__ == "__main__":
    learnt, held_out = places()
    sizes = [3 + 4 * len(WAVES), HIDDEN, HIDDEN, HIDDEN, 2]
    field = [(jnp.zeros((a, b)), jnp.zeros(b)) for a, b in zip(sizes, sizes[1:])]
    flat, unravel = ravel_pytree(field)
    field = unravel(jax.random.normal(jax.random.key(4), flat.shape) * 0.2)
    norm = lambda tree: jnp.linalg.norm(ravel_pytree(tree)[0])
    batch = learnt[:BATCH], jax.random.key(5)
    timed("loss and gradient of a batch", 200, lambda r: (r[0], norm(r[1])), jax.jit(jax.value_and_grad(loss)), field, *batch)
    keys = jax.random.split(jax.random.key(2), 200)
    timed("200 updates", 5, lambda r: (r[1].mean(), norm(r[0])), jax.jit(train), field, learnt, keys)
    densities = jax.jit(jax.vmap(log_density, (None, 0)))
    timed("densities of 200 places", 20, lambda y: (y.mean(), jnp.linalg.norm(y)), densities, field, held_out)
