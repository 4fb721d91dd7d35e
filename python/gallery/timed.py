"""Prints values and times as the programs in `examples/pictures` do with `--time`."""

import statistics
import time

import jax


def timed(name, runs, norms, f, *args):
    """Runs a function of JAX; `norms` makes a value and the norm of a derivative of what it returns."""
    begin = time.perf_counter()
    value, norm = norms(jax.block_until_ready(f(*args)))
    first, times = (time.perf_counter() - begin) * 1e3, []
    for _ in range(runs):
        begin = time.perf_counter()
        jax.block_until_ready(f(*args))
        times.append((time.perf_counter() - begin) * 1e3)
    middle, least = statistics.median(times), min(times)
    print(f"{name}: {value:.12e}, derivative {norm:.12e}; {middle:.4f} ms, at least {least:.4f}, the first time {first:.1f} ms")
