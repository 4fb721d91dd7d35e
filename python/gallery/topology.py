"""The compliance of `examples/pictures/topology.rs` in JAX: values, norms of derivatives, times. And by the sparse solver of SciPy.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python python/gallery/topology.py
    taskset -c 0 target/release/examples/topology --time
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from jax.scipy.linalg import solve_triangular
from timed import timed

jax.config.update("jax_enable_x64", True)
POISSON, VOID, RADIUS, SUPPORT = 0.3, 1e-9, 2.4, 1e9
COLUMNS, ROWS = 60, 20
NUMBERS = 2 * (ROWS + 1)


def strain_energy(u):
    a, b, c, d = u[:, :-1, :-1], u[:, :-1, 1:], u[:, 1:, :-1], u[:, 1:, 1:]
    energy = 0.0
    for s in (0.5 - 12**-0.5, 0.5 + 12**-0.5):
        for t in (0.5 - 12**-0.5, 0.5 + 12**-0.5):
            xx, yx = (c - a) * (1 - t) + (d - b) * t
            xy, yy = (b - a) * (1 - s) + (d - c) * s
            stretch = xx**2 + yy**2 + 2 * POISSON * xx * yy
            energy += (stretch + 0.5 * (1 - POISSON) * (xy + yx) ** 2) / (8 * (1 - POISSON**2))
    return energy


def nodes(u):
    return u.reshape(-1, 2, NUMBERS // 2).transpose(1, 0, 2)


def strip(element):
    energy = lambda u: strain_energy(nodes(u))[0] @ element
    return jax.hessian(energy)(jnp.zeros((2, NUMBERS)))


STRIPS = jax.vmap(strip)(jnp.eye(ROWS))
STIFFNESS = [STRIPS[:, i, :, j] for i, j in ((0, 0), (1, 1), (0, 1))]
SPRINGS = np.zeros((COLUMNS + 1, NUMBERS))
SPRINGS[0, : ROWS + 1] = SPRINGS[-1, -1] = SUPPORT
LOAD = np.zeros((COLUMNS + 1, NUMBERS))
LOAD[0, ROWS + 1] = 1.0


def factors(moduli):
    left, right, between = [jnp.einsum("xe,eab->xab", moduli, k) for k in STIFFNESS]
    springs = jnp.einsum("xa,ab->xab", SPRINGS, jnp.eye(NUMBERS))
    own = jnp.pad(left, ((0, 1), (0, 0), (0, 0))) + jnp.pad(right, ((1, 0), (0, 0), (0, 0))) + springs

    def column(eliminated, blocks):
        diagonal = jnp.linalg.cholesky(blocks[0] - eliminated)
        beside = solve_triangular(diagonal, blocks[1], lower=True)
        return beside.T @ beside, (diagonal, beside)

    return jax.lax.scan(column, jnp.zeros((NUMBERS, NUMBERS)), (own, jnp.pad(between, ((0, 1), (0, 0), (0, 0)))))[1]


def substitute(blocks, load):
    def down(before, row):
        y = solve_triangular(row[0], row[2] - before, lower=True)
        return y @ row[1], y

    def up(after, row):
        u = solve_triangular(row[0], row[2] - row[1] @ after, lower=True, trans=1)
        return u, u

    y = jax.lax.scan(down, jnp.zeros(NUMBERS), (*blocks, load))[1]
    return jax.lax.scan(up, jnp.zeros(NUMBERS), (*blocks, y), reverse=True)[1]


@jax.custom_vjp
def displacements(moduli):
    return substitute(factors(moduli), LOAD)


def forward(moduli):
    blocks = factors(moduli)
    u = substitute(blocks, LOAD)
    return u, (blocks, u)


def backward(kept, cotangent):
    adjoint = substitute(kept[0], cotangent)
    return (-jax.jvp(strain_energy, (nodes(kept[1]),), (nodes(adjoint),))[1],)


displacements.defvjp(forward, backward)


def filtered(x):
    reach = int(np.ceil(RADIUS)) - 1
    i, j = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    kernel = jnp.array(np.maximum(RADIUS - np.hypot(i, j), 0.0))
    sums = lambda x: jax.lax.conv(x[None, None], kernel[None, None], (1, 1), "SAME")[0, 0]
    return sums(x) / sums(jnp.ones_like(x))


def moduli(x):
    return VOID + (1.0 - VOID) * filtered(x) ** 3


def compliance(x):
    return (displacements(moduli(x)) * LOAD).sum()


def roller(x):
    return displacements(moduli(x))[COLUMNS, ROWS]


def through_the_loops(x):
    return (substitute(factors(moduli(x)), LOAD) * LOAD).sum()


def sparse():
    """The compliance and its derivative in the moduli by a sparse LU factorization, and the formula by hand."""
    number = np.arange((COLUMNS + 1) * NUMBERS).reshape(COLUMNS + 1, 2, ROWS + 1)
    corners = [number[:-1, :, :-1], number[:-1, :, 1:], number[1:, :, :-1], number[1:, :, 1:]]
    at = np.stack(corners, 1).transpose(0, 3, 1, 2).reshape(-1, 8)
    element = lambda u: strain_energy(u.reshape(2, 2, 2).transpose(2, 0, 1))[0, 0]
    k = np.array(jax.hessian(element)(jnp.zeros(8)))
    rows, columns = np.repeat(at, 8, 1).ravel(), np.tile(at, (1, 8)).ravel()
    free = np.flatnonzero(SPRINGS.ravel() == 0)
    load = LOAD.ravel()

    def f(moduli):
        values = (np.asarray(moduli).reshape(-1, 1) * k.ravel()).ravel()
        matrix = scipy.sparse.csc_matrix((values, (rows, columns)), shape=(load.size, load.size))[free][:, free]
        u = np.zeros(load.size)
        u[free] = scipy.sparse.linalg.spsolve(matrix, load[free])
        return u @ load, -np.einsum("ea,ab,eb->e", u[at], k, u[at])

    return f


if __name__ == "__main__":
    i, j = np.mgrid[:COLUMNS, :ROWS]
    x = jnp.array(0.5 + 0.4 * np.sin(i * 7 + j * 3))
    pair = lambda result: (result[0], jnp.linalg.norm(result[1]))
    timed("compliance and gradient", 100, pair, jax.jit(jax.value_and_grad(compliance)), x)
    timed("compliance", 100, lambda y: (y, 0.0), jax.jit(compliance), x)
    timed("roller and gradient", 100, pair, jax.jit(jax.value_and_grad(roller)), x)
    timed("through the loops", 20, pair, jax.jit(jax.value_and_grad(through_the_loops)), x)
    chain, by_hand = jax.jit(lambda x: jax.vjp(moduli, x)), sparse()

    def adjoint(x):
        e, pull = chain(x)
        work, slope = by_hand(e)
        return work, pull(jnp.array(slope.reshape(COLUMNS, ROWS)))[0]

    timed("by SciPy, compliance and gradient", 50, pair, adjoint, x)
