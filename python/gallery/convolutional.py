"""The convolutional network of `examples/pictures/convolutional.rs` in JAX: loss, norm of the gradient, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/convolutional.py
    taskset -c 0 target/release/examples/convolutional --time
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

CHANNELS, BATCH, SIDE, CLASSES, KEEP, SMOOTHING = [1, 16, 32, 32], 50, 8, 10, 0.7, 0.1
FEATURES = CHANNELS[-1] * (SIDE // 4) ** 2
SHAPES = [
    shape
    for inputs, outputs in zip(CHANNELS, CHANNELS[1:])
    for shape in [(outputs, inputs, 3, 3), (outputs,), (outputs,)]
] + [(FEATURES, CLASSES), (CLASSES,)]


def parameters():
    sizes = [int(np.prod(shape)) for shape in SHAPES]
    numbers = (0.2 * np.sin(0.7 * np.arange(sum(sizes)))).astype(np.float32)
    return [part.reshape(shape) for shape, part in zip(SHAPES, np.split(numbers, np.cumsum(sizes)[:-1]))]


def loss(net, images, labels, kept):
    x = images
    for k in range(3):
        kernel, gain, shift = net[3 * k : 3 * k + 3]
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), [(1, 1), (1, 1)])
        x = x - x.mean((0, 2, 3), keepdims=True)
        deviation = jnp.sqrt(jnp.square(x).mean((0, 2, 3), keepdims=True) + 1e-5)
        x = jax.nn.relu(x / deviation * gain[:, None, None] + shift[:, None, None])
        if k > 0:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    features = jnp.where(kept, x.reshape(BATCH, -1) / KEEP, 0.0)
    said = jax.nn.log_softmax(features @ net[9] + net[10])
    truth = (1.0 - SMOOTHING) * jax.nn.one_hot(labels, CLASSES) + SMOOTHING / CLASSES
    return -(truth * said).sum(1).mean()


if __name__ == "__main__":
    rows = np.loadtxt(Path(__file__).parents[2] / "examples/data/digits.csv", delimiter=",")[:BATCH]
    images, labels = (rows[:, :-1] / 16).astype(np.float32).reshape(BATCH, 1, SIDE, SIDE), rows[:, -1].astype(int)
    kept = np.add.outer(np.arange(BATCH), np.arange(FEATURES)) % 3 > 0
    norm = lambda result: (result[0], jnp.sqrt(sum(jnp.square(x).sum() for x in result[1])))
    timed("loss and gradient", 100, norm, jax.jit(jax.value_and_grad(loss)), parameters(), images, labels, kept)
