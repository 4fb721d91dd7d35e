"""Liquid argon of `examples/pictures/molecules.rs` in JAX: virial coefficients, forces, derivatives through a simulation; times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/molecules.py
    taskset -c 0 target/release/examples/molecules --time
"""

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

jax.config.update("jax_enable_x64", True)
WARM = jnp.array([100.0, 120, 140, 160, 180, 200, 300, 400, 500, 600, 700, 800, 900, 1000])
TEMPERATURE, DENSITY, MASS, STEP, CELLS, MOLE = 85.0, 0.02125, 48.047, 0.01, 4, 0.602214076
N = 4 * CELLS**3
SIDE = (N / DENSITY) ** (1 / 3)


def pair(potential, square):
    s = (potential[1] ** 2 / square) ** 3
    return 4.0 * potential[0] * (s**2 - s)


def virial(potential):
    n, end = 2000, 40.0
    r = (jnp.arange(n) + 0.5) * (end / n)
    inner = ((jnp.exp(-pair(potential, r**2) / WARM[:, None]) - 1.0) * r**2).sum(1) * (end / n)
    outer = 4.0 * potential[0] * potential[1] ** 6 / (3.0 * end**3 * WARM)
    return -2.0 * jnp.pi * MOLE * (inner + outer)


def energy(at, potential):
    d = at[:, :, None] - at[:, None, :]
    squares = ((d - jnp.round(d)) ** 2).sum(0) * SIDE**2
    cut = (SIDE / 2.0) ** 2
    squares = jnp.where(squares > 0.0, jnp.minimum(squares, cut), cut)
    return 0.5 * (pair(potential, squares) - pair(potential, cut)).sum()


def acceleration(at, potential):
    return jax.grad(energy)(at, potential) / (-MASS * SIDE**2)


def trajectory(potential, start):
    def step(atoms, _):
        at, speed, pull = atoms
        speed = speed + pull * (0.5 * STEP)
        at = at + speed * STEP
        pull = acceleration(at, potential)
        return (at, speed + pull * (0.5 * STEP), pull), at

    rest = jax.lax.scan(step, start, None, length=30)[1]
    return jnp.concatenate([start[0][None], rest])


def crystal(potential):
    corners = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    k = np.arange(N)
    cell = np.stack([k // 4 // CELLS**axis % CELLS for axis in range(3)])
    at = jnp.array((cell + 0.5 * corners[k % 4].T) / CELLS)
    speed = jax.random.normal(jax.random.key(1), (3, N)) * ((TEMPERATURE / MASS) ** 0.5 / SIDE)
    at = at + speed * 0.1
    return at, speed, acceleration(at, potential)


if __name__ == "__main__":
    potential = jnp.array([120.0, 3.4])
    both = jax.jit(lambda p: (virial(p), jax.jacfwd(virial)(p)))
    timed("virial coefficients and their Jacobian", 100, lambda r: (r[0].sum(), jnp.linalg.norm(r[1])), both, potential)
    start = crystal(potential)
    pair_of = lambda r: (r[0], jnp.linalg.norm(r[1]))
    timed("energy and forces", 500, pair_of, jax.jit(jax.value_and_grad(energy)), start[0], potential)
    last = jax.jit(jax.value_and_grad(lambda p, start: energy(trajectory(p, start)[30], p)))
    timed("energy after 30 steps, and its gradient in the potential", 5, pair_of, last, potential, start)
    along = jnp.array([0.0, 1.0])
    places = jax.jit(lambda p, start: jax.jvp(lambda p: trajectory(p, start), (p,), (along,)))
    norms = lambda r: ((r[0] ** 2).sum(), jnp.linalg.norm(r[1]))
    timed("30 steps, and the derivative of all places in sigma", 5, norms, places, potential, start)
