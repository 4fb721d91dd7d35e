"""The six programs of the example `from_jax`: their texts, and the times of JAX.

    python from_jax.py export FOLDER    writes a text and a point for each
    python from_jax.py time FOLDER      reads the points, and prints the time of value and gradient for each
    python from_jax.py race FOLDER COMMAND..   times this JAX and another program in turns

Each program takes one vector of f64 and gives one number. They are small loops and small matrices: what simulations and
filters are made of. A time is the median of repetitions, after a first call; `race` runs the other command, which prints
lines `name seconds`, five times in turns with the times of JAX, and prints the medians of both.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)


def leaky(w):
    """60 scalars that leak into one another, carried one by one through 614 steps."""
    n, steps = 60, 614
    drive = jnp.sin(0.1 * jnp.arange(steps))

    def step(state, x):
        return [s + 0.05 * (jnp.tanh(w[i] * state[i - 1] + x) - s) for i, s in enumerate(state)], None

    state, _ = lax.scan(step, [jnp.float64(0.01 * i) for i in range(n)], drive)
    return sum(s**2 for s in state)


def kalman(q):
    """A Kalman filter of three states over 2000 measurements: the negative log-likelihood in the noise of the states."""
    a = jnp.array([[0.99, 0.01, 0.0], [-0.02, 0.97, 0.01], [0.0, -0.01, 0.95]])
    h = jnp.array([1.0, 0.5, 0.25])
    ys = jnp.sin(0.05 * jnp.arange(2000))

    def step(carry, y):
        p, m, sum = carry
        p, m = a @ p @ a.T + jnp.diag(q), a @ m
        v, r = h @ p @ h + 0.1, y - h @ m
        k = p @ h / v
        return (p - jnp.outer(k, h @ p), m + k * r, sum + 0.5 * (jnp.log(v) + r * r / v)), None

    (_, _, sum), _ = lax.scan(step, (jnp.eye(3), jnp.zeros(3), 0.0), ys)
    return sum


def process(x):
    """A Gaussian process at 10 points: the negative log-likelihood in scale, amplitude and noise."""
    t = jnp.linspace(0.0, 3.0, 10)
    y = jnp.sin(2.0 * t)
    scale, amplitude, noise = jnp.exp(x)
    k = amplitude * jnp.exp(-0.5 * ((t[:, None] - t[None]) / scale) ** 2) + noise * jnp.eye(10)
    l = jnp.linalg.cholesky(k)
    b = jax.scipy.linalg.solve_triangular(l, y, lower=True)
    return 0.5 * b @ b + jnp.log(jnp.diag(l)).sum()


def arm(x):
    """The kinetic energy of an arm with seven joints, by its mass matrix."""
    q, v = x[:7], x[7:]
    frame, origin, axes, centres = jnp.eye(3), jnp.zeros(3), [], []
    mass = jnp.zeros((7, 7))
    for i in range(7):
        s, c = jnp.sin(q[i]), jnp.cos(q[i])
        turn = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]] if i % 2 == 0 else [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
        axes.append((frame[:, 2 if i % 2 == 0 else 1], origin))
        frame = frame @ jnp.array(turn)
        centre = origin + 0.15 * frame[:, 2]
        columns = [jnp.cross(axis, centre - at) for axis, at in axes] + [jnp.zeros(3)] * (6 - i)
        turns = [axis for axis, _ in axes] + [jnp.zeros(3)] * (6 - i)
        linear, angular = jnp.stack(columns, 1), jnp.stack(turns, 1)
        mass = mass + (2.0 - 0.2 * i) * linear.T @ linear + 0.01 * angular.T @ angular
        origin = origin + 0.3 * frame[:, 2]
    return 0.5 * v @ mass @ v


def neuron(x):
    """A neuron of 8 compartments by Hodgkin and Huxley, 400 implicit steps: each solves a tridiagonal system."""
    n, dt = 8, 0.025
    sodium, potassium, axial = x[0], x[1], x[2]
    current = jnp.zeros(n).at[0].set(20.0)

    def gate(v, g, a, b):
        return (g + dt * a) / (1.0 + dt * (a + b))

    def ratio(u):
        return jnp.where(jnp.abs(u) < 1e-6, 1.0, u / jnp.expm1(jnp.where(jnp.abs(u) < 1e-6, 1.0, u)))

    def step(state, _):
        v, m, h, k = state
        m = gate(v, m, ratio(-(v + 40.0) / 10.0), 4.0 * jnp.exp(-(v + 65.0) / 18.0))
        h = gate(v, h, 0.07 * jnp.exp(-(v + 65.0) / 20.0), 1.0 / (1.0 + jnp.exp(-(v + 35.0) / 10.0)))
        k = gate(v, k, 0.1 * ratio(-(v + 55.0) / 10.0), 0.125 * jnp.exp(-(v + 65.0) / 80.0))
        open_na, open_k = sodium * m**3 * h, potassium * k**4
        inner = jnp.ones(n).at[0].set(0.5).at[-1].set(0.5) * 2.0
        diagonal = 1.0 + dt * (open_na + open_k + 0.3 + axial * inner)
        right = v + dt * (open_na * 50.0 - open_k * 77.0 - 0.3 * 54.4 + current)
        off = -dt * axial

        def down(carry, row):
            d, r = row
            c, e = carry
            below = d - off * c
            c, e = off / below, (r - off * e) / below
            return (c, e), (c, e)

        def up(above, row):
            c, e = row
            u = e - c * above
            return u, u

        _, rows = lax.scan(down, (0.0, 0.0), (diagonal, right))
        _, v = lax.scan(up, 0.0, rows, reverse=True)
        return (v, m, h, k), v[-1]

    start = (jnp.full(n, -65.0), jnp.full(n, 0.05), jnp.full(n, 0.6), jnp.full(n, 0.32))
    _, trace = lax.scan(step, start, None, length=400)
    return (trace**2).mean()


def orbits(x):
    """Five bodies for 1000 steps of leapfrog: the distance of the last from the first, in all places and velocities."""
    masses = jnp.array([1.0, 1e-3, 3e-4, 1e-4, 5e-5])

    def pull(q):
        d = q[None] - q[:, None]
        r2 = (d**2).sum(-1) + 1e-4
        return (masses[None, :, None] * d / (r2 * jnp.sqrt(r2))[..., None]).sum(1)

    def step(state, _):
        q, v = state
        v = v + 0.005 * pull(q)
        q = q + 0.01 * v
        return (q, v + 0.005 * pull(q)), None

    (q, _), _ = lax.scan(step, (x[:15].reshape(5, 3), x[15:].reshape(5, 3)), None, length=1000)
    return ((q[-1] - q[0]) ** 2).sum()


def points():
    rng = np.random.default_rng(3)
    radii = np.array([0.0, 1.0, 1.5, 2.2, 3.1])
    places = np.stack([radii, 0 * radii, 0.05 * radii], 1)
    speeds = np.stack([0 * radii, np.where(radii > 0, 1 / np.sqrt(np.maximum(radii, 1.0)), 0.0), 0 * radii], 1)
    return {
        "leaky": (leaky, rng.normal(size=60)),
        "kalman": (kalman, np.array([0.1, 0.05, 0.02])),
        "process": (process, np.array([0.1, 0.3, -2.0])),
        "arm": (arm, rng.normal(size=14)),
        "neuron": (neuron, np.array([120.0, 36.0, 5.0])),
        "orbits": (orbits, np.concatenate([places.ravel(), speeds.ravel()])),
    }


def export(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (f, x) in points().items():
        text = jax.export.export(jax.jit(f), platforms=["cpu"])(x).mlir_module()
        text = "".join(line for line in text.splitlines(True) if not line.startswith("#loc"))
        text = re.sub(r' loc\((#loc\d*|unknown|"[^"]*"(\(#loc\d*\))?)\)', "", text)
        value, slope = jax.value_and_grad(f)(x)
        head = f"// point {' '.join(map(repr, x.tolist()))}\n// value {float(value)!r}\n"
        head += f"// slope {' '.join(map(repr, np.asarray(slope).tolist()))}\n"
        (folder / f"{name}.mlir").write_text(head + text)
        print(name, len(text))


def compiled():
    """Value and gradient of each program, with its point and the seconds of the first call."""
    found = {}
    for name, (f, x) in points().items():
        g, x = jax.jit(jax.value_and_grad(f)), jnp.asarray(x)
        start = time.perf_counter()
        jax.block_until_ready(g(x))
        found[name] = (g, x, time.perf_counter() - start)
    return found


def seconds(g, x):
    """The median time of a run."""
    times, end = [], time.perf_counter() + 0.5
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        jax.block_until_ready(g(x))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def race(command):
    programs, ours, theirs = compiled(), {}, {}
    for _ in range(5):
        for name, (g, x, _) in programs.items():
            theirs.setdefault(name, []).append(seconds(g, x))
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            name, run, first = line.split()
            ours.setdefault(name, []).append((float(run), float(first)))
    print("jax", jax.__version__)
    for name, (_, _, first) in programs.items():
        run, begin = [statistics.median(row[k] for row in ours[name]) for k in range(2)]
        other = statistics.median(theirs[name])
        print(f"{name:8} {run * 1e3:9.4f} ms {other * 1e3:9.4f} ms ratio {run / other:.3f} first {begin:.4f} s {first:.3f} s")


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "export":
        export(pathlib.Path(rest[0]))
    elif verb == "time":
        for name, (g, x, first) in compiled().items():
            print(name, seconds(g, x), first)
    else:
        race(rest)
