"""The spectrum and the cost of `examples/pictures/deconvolution.rs` in JAX: values, norms of derivatives, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/deconvolution.py
    taskset -c 0 target/release/examples/deconvolution --time
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

jax.config.update("jax_enable_x64", True)
SCENE, FRAME, VARIATION = 128, 96, 10.0
MARGIN = (SCENE - FRAME) // 2
INSIDE = slice(MARGIN, MARGIN + FRAME)


def photograph():
    path = Path(__file__).parents[2] / "examples/data/photographer.pgm"
    return jnp.array(np.frombuffer(path.read_bytes()[-SCENE * SCENE :], np.uint8).reshape(SCENE, SCENE) / 255.0)


def squares(side):
    f = np.fft.fftfreq(side)
    return jnp.array(f[:, None] ** 2 + f**2)


def blurring(width, side):
    return jnp.exp(-2.0 * jnp.pi**2 * width**2 * squares(side))


def seen(scene, width):
    return jnp.fft.ifft2(jnp.fft.fft2(scene) * blurring(width, SCENE)).real[INSIDE, INSIDE]


def energy(spectrum, measured):
    level, exponent, width, noise = spectrum
    power = jnp.exp(level - jnp.exp(exponent) * 0.5 * jnp.log(jnp.maximum(squares(FRAME), 1e-9)))
    expected = power * blurring(jnp.exp(width), FRAME) ** 2 + jnp.exp(2.0 * noise)
    terms = jnp.log(expected) + measured / expected
    return jnp.where(squares(FRAME) > (2.5 / FRAME) ** 2, terms, 0.0).sum() * (4.0 / 18.0)


def measure(image):
    hann = 1.0 - jnp.cos(2.0 * jnp.pi * jnp.arange(FRAME) / FRAME)
    window = jnp.outer(hann, hann)
    window = window / jnp.sqrt((window**2).mean())
    return jnp.abs(jnp.fft.fft2((image - image.mean()) * window)) ** 2 / FRAME**2


def cost(scene, image, width, noise):
    missed = (seen(scene, width) - image) / noise
    down, across = [(jnp.roll(scene, -1, axis) - scene) ** 2 for axis in (0, 1)]
    return 0.5 * (missed**2).sum() + VARIATION * jnp.sqrt(down + across + 1e-6).sum()


if __name__ == "__main__":
    scene = photograph()
    image = seen(scene, 1.0) * 0.9
    measured, spectrum = measure(image), jnp.array([-8.0, 0.7, 0.0, -4.0])
    pair = lambda result: (result[0], jnp.linalg.norm(result[1]))
    timed("likelihood and gradient", 300, pair, jax.jit(jax.value_and_grad(energy)), spectrum, measured)
    timed("Hessian", 100, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), jax.jit(jax.hessian(energy)), spectrum, measured)
    timed("cost and gradient", 300, pair, jax.jit(jax.value_and_grad(cost)), scene, image, 2.0, 0.01)
