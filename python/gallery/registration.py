"""The cost of `examples/pictures/registration.rs` in JAX: values, norms of derivatives, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/registration.py
    taskset -c 0 target/release/examples/registration --time
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.ndimage import map_coordinates
from timed import timed

jax.config.update("jax_enable_x64", True)
SIDE, POINTS, STIFFNESS = 80, 11, 0.1
ROW, COLUMN = np.mgrid[:SIDE, :SIDE].astype(float)


def splines():
    d = np.abs(np.arange(SIDE)[:, None] / (SIDE - 1) * (POINTS - 3) - (np.arange(POINTS) - 1.0))
    return np.where(d < 1, 2 / 3 - d**2 + d**3 / 2, np.where(d < 2, (2 - d) ** 3 / 6, 0.0))


SPLINES = splines()


def moved(image, down, right):
    return map_coordinates(image, [down + ROW, right + COLUMN], order=1, mode="nearest")


def cost(control, sections):
    down, right = [SPLINES @ points @ SPLINES.T for points in control]
    differ = moved(sections[0], -down, -right) - moved(sections[1], down, right)
    bent = lambda a, b: (jnp.diff(jnp.diff(control, axis=a), axis=b) ** 2).sum()
    return (differ**2).sum() + STIFFNESS * (bent(1, 1) + bent(2, 2) + 2.0 * bent(1, 2))


def sections():
    path = Path(__file__).parents[2] / "examples/data/sections.pgm"
    images = np.frombuffer(path.read_bytes()[-3 * SIDE * SIDE :], np.uint8).reshape(3, SIDE, SIDE) / 255.0
    blur = np.exp(-0.5 * (np.arange(SIDE)[:, None] - np.arange(SIDE)) ** 2.0)
    blur /= blur.sum(1, keepdims=True)
    return tuple(jnp.array(blur @ images[k] @ blur.T) for k in (0, 2))


if __name__ == "__main__":
    k, i, j = np.mgrid[:2, :POINTS, :POINTS]
    control, images = jnp.array(0.1 + (k + 2 * i + 3 * j) / 40.0), sections()
    pair = lambda result: (result[0], jnp.linalg.norm(result[1]))
    timed("cost and gradient", 300, pair, jax.jit(jax.value_and_grad(cost)), control, images)
    hvp = jax.jit(lambda x, v, images: jax.jvp(lambda x: jax.grad(cost)(x, images), (x,), (v,))[1])
    sums = lambda h: (h.sum(), jnp.linalg.norm(h))
    timed("Hessian times a direction", 300, sums, hvp, control, jnp.sin((k + i + j) * 1.0), images)
