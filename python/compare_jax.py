"""Measures exported gradients beside the same gradients written in JAX, in one process.

    cargo run --release --example export FOLDER --models
    python compare_jax.py FOLDER [ONLY]

Both get the same numbers and must agree with what the Rust program computed. Rounds of both take turns, measured in processor time, which other
programs of the machine change less; use one thread, XLA_FLAGS=--xla_cpu_multi_thread_eigen=false. The last column is the ratio of the quickest rounds.
"""

import pathlib
import re
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import polygrad_xla
from train_digits import read

jax.config.update("jax_enable_x64", True)


def cross_entropy(z, labels):
    picked = jnp.take_along_axis(z, labels[..., None], -1)[..., 0]
    return (jax.scipy.special.logsumexp(z, -1) - picked).mean()


def mlp(p, data):
    x, labels = data
    h = jax.nn.relu(x @ p[0] + p[1])
    h = jax.nn.relu(h @ p[2] + p[3])
    return cross_entropy(h @ p[4] + p[5], labels)


def cnn(p, data, pooled=False):
    h, labels = data
    for k in range(3):
        kernel, bias = p[2 * k : 2 * k + 2]
        if k and pooled:
            h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        strides = (2, 2) if k and not pooled else (1, 1)
        h = jax.lax.conv_general_dilated(h, kernel, strides, [(1, 1), (1, 1)])
        h = jax.nn.relu(h + bias[None, :, None, None])
    return cross_entropy(h.mean((2, 3)) @ p[6] + p[7], labels)


def cnn_pool(p, data):
    return cnn(p, data, True)


def normal(x, gain):
    return (x - x.mean(2, keepdims=True)) / jnp.sqrt(x.var(2, keepdims=True) + 1e-5) * gain


def transformer(p, data):
    letters, places, *rest, scores = p
    text, following = data
    x = letters[text] + places
    for k in range(2):
        gain1, gain2, q, k_, v, out, up, down = rest[8 * k : 8 * k + 8]
        y = normal(x, gain1)
        q, k_, v = (jnp.einsum("bld,dhk->bhlk", y, w) for w in (q, k_, v))
        weights = jnp.einsum("bhlk,bhmk->bhlm", q, k_) / np.sqrt(q.shape[-1]).astype(q.dtype)
        past = jnp.tril(jnp.ones(weights.shape[2:], bool))
        weights = jax.nn.softmax(jnp.where(past, weights, jnp.asarray(-1e9, weights.dtype)), 3)
        x = x + jnp.einsum("bhlk,hkd->bld", jnp.einsum("bhlm,bhmk->bhlk", weights, v), out)
        x = x + jax.nn.gelu(normal(x, gain2) @ up, approximate=False) @ down
    return cross_entropy(x @ scores, following)


MODELS = {"mlp": mlp, "cnn": cnn, "cnn_pool": cnn_pool, "transformer": transformer}


def timed(functions, budget=6.0):
    """Times of rounds of each function, which take turns."""
    for f in functions:
        jax.block_until_ready(f())
    start = time.perf_counter()
    for f in functions:
        jax.block_until_ready(f())
    calls = max(1, int(0.01 * len(functions) / (time.perf_counter() - start)))
    times, end = [[] for _ in functions], time.perf_counter() + budget
    while time.perf_counter() < end or len(times[0]) < 9:
        for own, f in zip(times, functions):
            start = time.process_time()
            for _ in range(calls):
                result = f()
            jax.block_until_ready(result)
            own.append((time.process_time() - start) / calls)
    return times


def compare(folder, only=""):
    print("| gradient | exported, ms | JAX, ms | ratio of medians | of the quickest |\n|---|---|---|---|---|")
    for path in sorted(p for p in folder.iterdir() if re.search(only, p.name)):
        program, data = polygrad_xla.load(path / "program.mlir"), read(path)
        inputs = [jnp.asarray(data[l.path]) for l in program.inputs]
        expected = [data[l.path] for l in program.outputs]
        count = sum(l.path.startswith("x") for l in program.inputs)
        p, rest = inputs[:count], inputs[count:]
        exported = program.jit()
        there = jax.jit(jax.value_and_grad(MODELS[path.name.rsplit("_", 1)[0]]))
        value, gradient = there(p, rest)
        tolerance = 1e-10 if path.name.endswith("f64") else 1e-3
        for found in (exported(inputs), [value, *gradient]):
            for leaf, f, e in zip(program.outputs, found, expected, strict=True):
                d = np.max(np.abs(np.asarray(f, "f8") - e)) / max(np.max(np.abs(e)), 1e-3)
                assert d < tolerance, f"{path.name}: {leaf} differs by {d}"
        ours, theirs = timed([lambda: exported(inputs), lambda: there(p, rest)])
        median = lambda times: 1e3 * float(np.median(times))
        print(
            f"| {path.name} | {median(ours):.3f} | {median(theirs):.3f} | {median(ours) / median(theirs):.2f} | {min(ours) / min(theirs):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    compare(pathlib.Path(sys.argv[1]), *sys.argv[2:])
