"""The option of `examples/pictures/greeks.rs` in JAX, by the same draws: price, Greeks, times.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/greeks.py
    taskset -c 0 target/release/examples/greeks --time
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from timed import timed

jax.config.update("jax_enable_x64", True)
DAYS, MONTHS, ASSETS, STRIKE, DRAWS = 260, 12, 4, 100.0, 2000


def returns():
    closes = np.loadtxt(Path(__file__).parents[2] / "examples/data/indices.csv", delimiter=",", skiprows=1)
    return jnp.asarray(np.diff(np.log(closes), axis=0))


def market(weights, returns):
    share = weights / weights.sum()
    apart = returns - share @ returns
    covariance = apart.T @ (share[:, None] * apart) * DAYS
    volatilities = jnp.sqrt(jnp.diagonal(covariance))
    correlations = covariance / jnp.outer(volatilities, volatilities)
    return {"spots": jnp.full(ASSETS, 100.0), "vols": volatilities, "corr": correlations, "rate": jnp.asarray(0.035)}


def terms(market, draws):
    dt = 1.0 / MONTHS
    first = jnp.zeros((MONTHS, ASSETS)).at[:, 0].set(jnp.arange(MONTHS, 0, -1.0))
    direction = first / jnp.linalg.norm(first)
    factors = jnp.linalg.cholesky(market["corr"]).T
    moved = lambda normals: jnp.cumsum(normals @ factors, axis=-2) * dt**0.5 * market["vols"]
    b, z = moved(direction), (direction * draws).sum((-2, -1))
    drift = jnp.cumsum(jnp.tile((market["rate"] - 0.5 * market["vols"] ** 2) * dt, (MONTHS, 1)), axis=0)
    rest = moved(draws - direction * z[:, None, None])
    return jnp.exp(rest + drift) * market["spots"] / (MONTHS * ASSETS), b, z


def price(market, draws):
    a, b, _ = terms(market, draws)
    above = lambda z, a, b: (a * jnp.exp(b * z[:, None, None])).sum((-2, -1)) - STRIKE
    slope = lambda z, a, b: (a * b * jnp.exp(b * z[:, None, None])).sum((-2, -1))
    change = lambda z, a, b: -above(z, a, b) / slope(z, a, b)

    fixed = jax.lax.stop_gradient((a, b))
    step = lambda state: (state[0] + state[1], change(state[0] + state[1], *fixed))
    start = (jnp.zeros(DRAWS), change(jnp.zeros(DRAWS), *fixed))
    z = jax.lax.while_loop(lambda state: jnp.abs(state[1]).max() > 1e-12, step, start)[0]
    # The last step is differentiated: it gives the first derivative of the root, and the price needs no more for its second one.
    z = z + change(z, a, b)
    normal = lambda x: 0.5 * erfc(-x / 2**0.5)
    paid = (a * jnp.exp(0.5 * b**2) * normal(b - z[:, None, None])).sum((-2, -1)) - STRIKE * normal(-z)
    return (paid * jnp.exp(-market["rate"])).mean()


def norms(result):
    value, slope = result
    return value, jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(slope)))


if __name__ == "__main__":
    now, draws = market(jnp.ones(DAYS), returns()), jax.random.normal(jax.random.key(1), (DRAWS, MONTHS, ASSETS))
    timed("price", 50, lambda y: (y, 0.0), jax.jit(price), now, draws)
    timed("price and its first derivatives", 50, norms, jax.jit(jax.value_and_grad(price)), now, draws)
    of_spots = lambda spots, market, draws: price({**market, "spots": spots}, draws)
    hessian = jax.jit(jax.hessian(of_spots))
    timed("Hessian in the assets", 20, lambda h: (jnp.trace(h), jnp.linalg.norm(h)), hessian, now["spots"], now, draws)
    by_weights = jax.jit(jax.value_and_grad(lambda w, r, draws: price(market(w, r), draws)))
    timed("price and derivatives in days", 50, norms, by_weights, jnp.ones(DAYS), returns(), draws)
