"""The pulse of a transmon of `examples/pictures/quantum.rs` in JAX: values, norms of derivatives, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/quantum.py
    taskset -c 0 target/release/examples/quantum --time
"""

from math import pi

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

jax.config.update("jax_enable_x64", True)
ANHARMONICITY, LEVELS, SAMPLES, SAMPLE, ROUGHNESS = -0.212, 4, 15, 1.0 / 2.4, 0.004
UP = np.diag(np.sqrt(np.arange(1.0, LEVELS)), -1)
ENERGIES = np.diag(0.5 * ANHARMONICITY * np.arange(LEVELS) * (np.arange(LEVELS) - 1.0))
WANTED = np.array([[1.0, -1.0j], [-1.0j, 1.0]]) / np.sqrt(2.0)


def propagator(drive):
    up = drive * UP
    return jax.scipy.linalg.expm(-2j * pi * SAMPLE * (0.5 * (up + up.conj().T) + ENERGIES))


def error(drive):
    steps = jax.vmap(propagator)(drive)
    end, _ = jax.lax.scan(lambda state, step: (step @ state, None), jnp.eye(LEVELS, 2, dtype=complex), steps)
    seen = end[:2]
    return 1.0 - (jnp.abs(jnp.vdot(WANTED, seen)) ** 2 + (jnp.abs(seen) ** 2).sum()) / 6.0


def cost(parts):
    """Of real and imaginary parts, one after the other."""
    drive = parts[:SAMPLES] + 1j * parts[SAMPLES:]
    steps = jnp.diff(jnp.pad(drive, 1))
    return error(drive) + ROUGHNESS * (steps.real**2 + steps.imag**2).sum()


def cosine(amplitude, drag, detuning):
    length = SAMPLES * SAMPLE
    time = (np.arange(SAMPLES) + 0.5) * SAMPLE
    envelope = (1.0 - np.cos(2.0 * pi * time / length)) / 2.0
    slope = np.sin(2.0 * pi * time / length) * pi / length
    pulse = amplitude * (envelope - 1j * drag * slope / (2.0 * pi * ANHARMONICITY))
    return pulse * np.exp(2j * pi * detuning * (time - length / 2.0))


if __name__ == "__main__":
    drive = cosine(0.07, 1.2, 0.03)
    parts = jnp.concatenate([drive.real, drive.imag])
    norms = lambda result: (result[0], jnp.linalg.norm(result[1]))
    timed("error and gradient", 1000, norms, jax.jit(jax.value_and_grad(cost)), parts)
    timed("Hessian in the samples", 100, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), jax.jit(jax.hessian(cost)), parts)
