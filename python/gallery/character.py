"""The recurrent network of `examples/pictures/character.rs` in JAX: loss, norm of the gradient, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/character.py
    taskset -c 0 target/release/examples/character --time
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from timed import timed

jax.config.update("jax_enable_x64", True)
HIDDEN, WINDOW, BATCH = 80, 50, 16
STORY = (Path(__file__).parents[2] / "examples/data/keeper.txt").read_text()
LETTERS = sorted(set(STORY))
SHAPES = {
    "letters": (len(LETTERS), HIDDEN // 2),
    "input": (HIDDEN // 2, 4 * HIDDEN),
    "bias": (4 * HIDDEN,),
    "state": (HIDDEN, 4 * HIDDEN),
    "weight": (HIDDEN, len(LETTERS)),
    "shift": (len(LETTERS),),
}


def parameters():
    numbers = 0.2 * np.sin(0.7 * np.arange(sum(np.prod(shape) for shape in SHAPES.values())))
    ends = np.cumsum([np.prod(shape) for shape in SHAPES.values()])
    return {name: part.reshape(shape) for (name, shape), part in zip(SHAPES.items(), np.split(numbers, ends[:-1]))}


def loss(model, text, following):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x + h @ model["state"], 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((BATCH, HIDDEN)), jnp.zeros((BATCH, HIDDEN))
    inputs = model["letters"][text] @ model["input"] + model["bias"]
    said = jax.lax.scan(step, start, inputs)[1] @ model["weight"] + model["shift"]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(said), following[..., None], axis=2)
    return -chosen.mean() / jnp.log(2.0)


if __name__ == "__main__":
    numbers = np.array([LETTERS.index(letter) for letter in STORY])
    text, following = (
        np.stack([numbers[k * WINDOW + later : k * WINDOW + later + WINDOW] for k in range(BATCH)], axis=1)
        for later in (0, 1)
    )
    norm = lambda result: (result[0], jnp.sqrt(sum(jnp.square(x).sum() for x in jax.tree.leaves(result[1]))))
    timed("loss and gradient", 50, norm, jax.jit(jax.value_and_grad(loss)), parameters(), text, following)
