"""The robot arm of `examples/pictures/arm.rs` in JAX: values, norms of gradients, times. Where the library Pinocchio is installed, its torques and times, too.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/arm.py
    taskset -c 0 target/release/examples/arm --time
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

jax.config.update("jax_enable_x64", True)
TABLE = np.loadtxt(Path(__file__).parents[2] / "examples/data/panda.csv", delimiter=",", skiprows=1)
GRAVITY, LOAD, REACH, DURATION, TIMES, BUMPS = 9.80665, 3.0, 0.21, 2.2, 40, 5
START = np.array([-1.2, 1.1, 0.0, -1.0, 0.0, 2.1, 0.8])
END = np.array([1.2, 0.3, 0.0, -1.2, 0.0, 1.5, 0.8])
TORQUES, SPEEDS, LOWER, UPPER = TABLE[:, 14:].T


def frames(q, v):
    """Of each link the axes of the world, the place in the world, and the angular and the linear velocity in its own axes."""
    axes, place, turning, moving = jnp.eye(3), jnp.zeros(3), jnp.zeros(3), jnp.zeros(3)
    for row, angle, rate in zip(TABLE, q, v):
        cos, sin = np.cos(row[0]), np.sin(row[0])
        tilt = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
        cos, sin, zero = jnp.cos(angle), jnp.sin(angle), jnp.zeros_like(angle)
        turn = tilt @ jnp.array([[cos, -sin, zero], [sin, cos, zero], [zero, zero, zero + 1.0]])
        moving = (moving + jnp.cross(turning, row[1:4])) @ turn
        place, axes = place + axes @ row[1:4], axes @ turn
        turning = turning @ turn + jnp.array([0.0, 0.0, 1.0]) * rate
        yield axes, place, turning, moving


def lagrangian(q, v):
    """Kinetic minus potential energy of the arm and its load."""
    tip, energy = np.array([0.0, 0.0, REACH]), 0.0
    for row, (axes, place, turning, moving) in zip(TABLE, frames(q, v)):
        xx, yy, zz, xy, xz, yz = row[8:14]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        velocity = moving + jnp.cross(turning, row[5:8])
        energy += 0.5 * (row[4] * velocity @ velocity + turning @ (inertia @ turning))
        energy -= row[4] * GRAVITY * (place + axes @ row[5:8])[2]
    velocity = moving + jnp.cross(turning, tip)
    return energy + LOAD * (0.5 * velocity @ velocity - GRAVITY * (place + axes @ tip)[2])


def height(q):
    """That of the load."""
    axes, place, _, _ = list(frames(q, jnp.zeros(7)))[-1]
    return (place + axes @ np.array([0.0, 0.0, REACH]))[2]


def torques(q, v, a):
    """Lagrange's equation."""
    momentum = jax.grad(lagrangian, 1)
    return jax.jvp(momentum, (q, v), (v, a))[1] - jax.grad(lagrangian)(q, v)


def bumps(t):
    """What is added to the plain motion, between times 0 and 1."""
    return jnp.stack([jnp.sin(np.pi * t) ** 3 * jnp.cos(np.pi * k * t) for k in range(BUMPS)], -1)


def ramp(t):
    return t**3 * (10.0 - 15.0 * t + 6.0 * t**2)


def with_rates(f, t):
    first = lambda t: jax.jvp(f, (t,), (jnp.ones_like(t),))
    (value, slope), (_, bend) = jax.jvp(first, (t,), (jnp.ones_like(t),))
    return value, slope / DURATION, bend / DURATION**2


def motion(control, t):
    plain = with_rates(ramp, t)
    added = with_rates(bumps, t)
    parts = [jnp.outer(s, END - START) + b @ control for s, b in zip(plain, added)]
    return parts[0] + START, parts[1], parts[2]


def middles():
    return (jnp.arange(TIMES) + 0.5) / TIMES


def cost(control):
    q, v, a = motion(control, middles())
    loads = jax.vmap(torques)(q, v, a) / TORQUES
    fast = jax.nn.relu(jnp.abs(v) / SPEEDS - 0.9)
    far = jax.nn.relu(q - UPPER + 0.1) + jax.nn.relu(LOWER - q + 0.1)
    below = jax.nn.relu(0.05 - jax.vmap(height)(q))
    beyond = 10.0 * ((fast**2).sum() + (far**2).sum()) + 100.0 * (below**2).sum()
    return ((loads**2).sum() + beyond) / TIMES


def pinocchio(q, v, a):
    """Torques, and their derivatives in angles, speeds and accelerations, by the library Pinocchio."""
    import pinocchio as pin

    model, joint = pin.Model(), 0
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    for k, row in enumerate(TABLE):
        cos, sin = np.cos(row[0]), np.sin(row[0])
        tilt = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
        joint = model.addJoint(joint, pin.JointModelRZ(), pin.SE3(tilt, row[1:4]), str(k))
        xx, yy, zz, xy, xz, yz = row[8:14]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(joint, pin.Inertia(row[4], row[5:8], inertia), pin.SE3.Identity())
    load = pin.Inertia(LOAD, np.array([0.0, 0.0, REACH]), np.zeros((3, 3)))
    model.appendBodyToJoint(joint, load, pin.SE3.Identity())
    data = model.createData()
    rows = [tuple(map(np.array, row)) for row in zip(q, v, a)]
    norms = lambda x: (np.sum(x), np.linalg.norm(x))
    timed("Pinocchio: torques", 1000, norms, lambda: np.array([pin.rnea(model, data, *row) for row in rows]))

    def derivatives():
        for row in rows:
            pin.computeRNEADerivatives(model, data, *row)
        return data.dtau_dq

    timed("Pinocchio: torques and their derivatives (norm: of the last in angles)", 1000, norms, derivatives)


if __name__ == "__main__":
    control = jnp.asarray(0.1 * np.sin(np.arange(BUMPS * 7.0)).reshape(BUMPS, 7))
    norms = lambda result: (result[0], jnp.linalg.norm(result[1]))
    q, v, a = motion(control, middles())
    timed("torques", 1000, lambda x: (x.sum(), jnp.linalg.norm(x)), jax.jit(jax.vmap(torques)), q, v, a)
    timed("cost and gradient", 300, norms, jax.jit(jax.value_and_grad(cost)), control)
    try:
        pinocchio(q, v, a)
    except ImportError:
        print("Pinocchio is not installed")
