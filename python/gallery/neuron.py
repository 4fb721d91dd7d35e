"""The voltage clamp and the action potential of `examples/pictures/neuron.rs` in JAX: values, norms of Jacobians, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/neuron.py
    taskset -c 0 target/release/examples/neuron --time
"""

from math import log
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from timed import timed

jax.config.update("jax_enable_x64", True)
UNIT, NOISE, POTENTIALS, STEPS, STEP, SHOCK = 20.0, 0.06, (-12.0, 115.0), 600, 0.02, 15.0
PAPER = {
    "potassium": log(36.0),
    "sodium": log(120.0),
    "n": ([log(0.1), 9.9 / UNIT, log(10.0 / UNIT)], [log(0.125), -UNIT / 80.0]),
    "m": ([0.0, 24.9 / UNIT, log(10.0 / UNIT)], [log(4.0), -UNIT / 18.0]),
    "h": ([log(0.07), -UNIT / 20.0], [0.0, 30.0 / UNIT, log(10.0 / UNIT)]),
}


def clamps():
    return np.loadtxt(Path(__file__).parents[2] / "examples/data/axon17.csv", delimiter=",", skiprows=1).T


def ramp(constants, v):
    x = (constants[1] - v / UNIT) / jnp.exp(constants[2])
    return jnp.exp(constants[0]) * x / jnp.expm1(x)


def exponential(constants, v):
    return jnp.exp(constants[0] + constants[1] * v / UNIT)


def switch(constants, v):
    return jnp.exp(constants[0]) * jax.nn.sigmoid((v / UNIT - constants[1]) / jnp.exp(constants[2]))


def rates(axon, v):
    n, m, h = axon["n"], axon["m"], axon["h"]
    return (
        (ramp(n[0], v), exponential(n[1], v)),
        (ramp(m[0], v), exponential(m[1], v)),
        (exponential(h[0], v), switch(h[1], v)),
    )


def relax(axon, gates, v, time):
    ends = [(a / (a + b), a + b) for a, b in rates(axon, v)]
    return [end + (gate - end) * jnp.exp(-both * time) for gate, (end, both) in zip(gates, ends)]


def rest(axon):
    return [a / (a + b) for a, b in rates(axon, 0.0)]


def conductances(axon, gates):
    n, m, h = gates
    return jnp.exp(axon["potassium"]) * n**4, jnp.exp(axon["sodium"]) * m**3 * h


def residuals(axon, data):
    sodium, v, time, seen, largest = data
    k, na = conductances(axon, relax(axon, rest(axon), v, time))
    missed = (jnp.where(sodium > 0, na, k) - seen) / (largest * NOISE)
    prior = [jnp.ravel(jnp.asarray(x - y)) for x, y in zip(jax.tree.leaves(axon), jax.tree.leaves(PAPER))]
    return jnp.concatenate([missed, *prior])


def spike(axon, leak):
    start = rest(axon)
    k, na = conductances(axon, start)
    leak_current = k * POTENTIALS[0] + na * POTENTIALS[1]

    def step(state, _):
        v, gates = state
        gates = relax(axon, gates, v, STEP)
        k, na = conductances(axon, gates)
        total = k + na + jnp.exp(leak)
        end = (k * POTENTIALS[0] + na * POTENTIALS[1] - leak_current) / total
        v = end + (v - end) * jnp.exp(-total * STEP)
        return (v, gates), v

    return jax.lax.scan(step, (jnp.asarray(SHOCK), start), None, length=STEPS)[1]


def both(f, jacobian):
    """Value and Jacobian in one program."""
    return jax.jit(lambda *x: (f(*x), jacobian(*x)))


def norms(result):
    value, jacobian = result
    return jnp.linalg.norm(value), jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(jacobian)))


if __name__ == "__main__":
    paper, data, leak = jax.tree.map(jnp.asarray, PAPER), tuple(map(jnp.asarray, clamps())), jnp.asarray(log(0.3))
    timed("residuals and Jacobian", 1000, norms, both(residuals, jax.jacfwd(residuals)), paper, data)
    flat, unravel = ravel_pytree(paper)
    energy = lambda x, data: 0.5 * (residuals(unravel(x), data) ** 2).sum()
    timed("Hessian", 300, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), jax.jit(jax.hessian(energy)), flat, data)
    timed("action potential and Jacobian", 100, norms, both(spike, jax.jacfwd(spike, (0, 1))), paper, leak)
