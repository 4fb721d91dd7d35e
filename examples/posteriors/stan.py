"""Records what Stan makes of the models of the example `posteriors`, in `stan.txt`.

    pip install numpy stanli
    cargo run --release --example posteriors -- --data data.json
    python examples/posteriors/stan.py data.json

`stanli` interprets programs of Stan over Stan's mathematics. A line is a model, a kind, and numbers:

* `change`: the log density at the second point of the data less that at the first one. Constants do not matter.
* `gradient 0`, `gradient 1`: the gradient at each point.
* `mean`, `deviation`: of each parameter without bounds, in the draws of Stan's sampler; `error of mean` and `error of
  deviation`: their standard errors, by means of batches. The models of `NOT_SAMPLED` have none.

Names of models after the file of the data restrict the run to these. With `--time` the times of gradients are printed
instead, the least of several means in nanoseconds.
"""

import ctypes
import json
import pathlib
import sys
import time

import numpy as np
import stanli

from stan_programs import PROGRAMS

CHAINS, WARMUP, DRAWS, BATCH = 4, 1000, 4000, 200

# Models without draws, and why.
NOT_SAMPLED = {
    "radon_hierarchical_noncentered": "minutes",
    "hmm_drive_0": "minutes",
    "accel_gp": "the posterior of noise has a funnel",
    "ldaK2": "topics may be exchanged",
}


def array(shape, elements):
    return np.array(elements).reshape(shape)


def plain(value):
    value = np.asarray(value)
    return (value.astype(int) if value.dtype == bool else value).tolist()


def models(file):
    """The name of each model, the model, and its points."""
    data = json.load(open(file))
    for name, (program, named) in PROGRAMS.items():
        of = "diamonds" if name == "diamonds, reduced" else name
        arrays = [array(*a) for a in data[of]["data"]]
        model = stanli.Model(stan_code=program, data={key: plain(value) for key, value in named(arrays).items()})
        points = np.array(data[name]["points"])
        assert model.n_unconstrained == points.shape[1], name
        yield name, model, points


def line(name, kind, numbers, digits):
    return f"{name} | {kind} | " + " ".join(f"{x:.{digits}g}" for x in numbers) + "\n"


def gradients(name, model, points):
    (first, slope), (second, other) = map(model.log_prob_grad, points)
    lines = [line(name, "change", [second - first], 17)]
    return lines + [line(name, f"gradient {k}", g, 13) for k, g in enumerate([slope, other])]


def draws(model, start):
    """Draws of the parameters without bounds: chain, draw, parameter."""
    fit = model.sample(chains=CHAINS, seed=1, warmup=WARMUP, samples=DRAWS, inits=start, refresh=0, parallel_chains=1)
    given = {name.split("[")[0] for name in model.constrained_names}
    values = {name: fit.draws(name) for name in given}
    free = lambda c, d: model.unconstrain({name: value[c, d].tolist() for name, value in values.items()})
    return np.array([[free(c, d) for d in range(DRAWS)] for c in range(CHAINS)]), fit


def batches(x):
    """The error of the mean of a quantity by means of batches, which are nearly independent."""
    means = x.reshape(-1, BATCH, x.shape[-1]).mean(1)
    return means.std(0, ddof=1) / np.sqrt(len(means))


def reference(name, model, start):
    begin = time.time()
    free, fit = draws(model, start)
    mean = free.mean((0, 1))
    squares = (free - mean) ** 2
    deviation = np.sqrt(squares.mean((0, 1)))
    error, of_deviation = batches(free), batches(squares) / (2 * deviation)
    between = free.mean(1).std(0, ddof=1) / np.sqrt(CHAINS)
    print(
        f"{name}: {time.time() - begin:.0f} s, {np.sum(fit.divergences)} divergences, "
        f"errors up to {(error / deviation).max():.4f} deviations, from chains {(between / deviation).max():.4f}",
        flush=True,
    )
    kinds = [("mean", mean), ("error of mean", error), ("deviation", deviation), ("error of deviation", of_deviation)]
    return [line(name, kind, x, 6 if kind in ("mean", "deviation") else 2) for kind, x in kinds]


def nanoseconds(model, x):
    """The time of a value and a gradient, called as by a sampler: without the conversions of Python."""
    f, x, slope, value = stanli._lib.stanli_grad, np.ascontiguousarray(x), np.empty(len(x)), ctypes.c_double()
    args = model._m, stanli._dptr(x), ctypes.byref(value), stanli._dptr(slope)

    def batch(calls):
        start = time.perf_counter()
        for _ in range(calls):
            f(*args)
        return (time.perf_counter() - start) / calls * 1e9

    calls = int(min(max(2e7 / batch(10), 10), 1e5))
    return min(batch(calls) for _ in range(10))


def main(file, *rest):
    if rest == ("--time",):
        for name, model, points in models(file):
            print(f"{name:30} {nanoseconds(model, points[0]):10.0f}", flush=True)
        return
    only = rest or list(PROGRAMS)
    path = pathlib.Path(__file__).with_name("stan.txt")
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    lines = {name: [line for line in lines if line.startswith(f"{name} | ")] for name in PROGRAMS}
    for name, model, points in models(file):
        if name in only:
            lines[name] = gradients(name, model, points)
            lines[name] += [] if name in NOT_SAMPLED else reference(name, model, points[0])
            path.write_text("".join(line for name in PROGRAMS for line in lines[name]))


if __name__ == "__main__":
    main(*sys.argv[1:])
