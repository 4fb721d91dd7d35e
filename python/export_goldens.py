"""The goldens of the import: texts that `jax.export` prints, with inputs and results.

    python export_goldens.py FOLDER

Each file holds one module. Lines of comments in front of it give the inputs and the results of a run in JAX, with as
many digits as the elements have: `// input f64[2,3] 0.5 ..`, `// result f64[] 1.25`. Of long texts the locations are
left out.
"""

import os
import pathlib
import re
import sys

# Results of 16 bits are rounded, as the text says.
os.environ["XLA_FLAGS"] = "--xla_allow_excess_precision=false"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.ode import odeint

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(7)


def normal(*shape, dtype=np.float64):
    return rng.normal(size=shape).astype(dtype)


def positive_definite(n):
    a = normal(n, n)
    return a @ a.T + n * np.eye(n)


def mlp(w1, b1, w2, b2, x):
    h = jnp.tanh(x @ w1 + b1)
    return -jax.nn.log_softmax(h @ w2 + b2)[:, 0].mean()


def scan(w, xs):
    def step(c, x):
        c = jnp.sin(w * c) + x
        return c, c * w.sum()

    return lax.scan(step, jnp.zeros(3), xs)


def reverse_scan(w, xs):
    return lax.scan(lambda c, x: (c * w + x, c), 0.5, xs, reverse=True)


def gmm(means, x):
    d = ((x[:, None, :] - means[None]) ** 2).sum(-1)
    return jax.scipy.special.logsumexp(-0.5 * d, axis=1).sum()


def rosenbrock(v):
    return (100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2).sum()


def gaussian_process(log_scale, x, y):
    k = jnp.exp(-((x[:, None] - x[None, :]) ** 2) / jnp.exp(log_scale)) + 0.1 * jnp.eye(x.size)
    l = jnp.linalg.cholesky(k)
    a = jax.scipy.linalg.solve_triangular(l, y, lower=True)
    return 0.5 * a @ a + jnp.log(jnp.diag(l)).sum()


def convolution(w, x):
    return lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pooled(x):
    peaks = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")
    return peaks, lax.reduce_window(x, 0.0, lax.add, (1, 3, 3), (1, 1, 1), "SAME")


def random(x):
    key = jax.random.PRNGKey(3)
    a, b = jax.random.split(key)
    return x + jax.random.uniform(a, (4,)), jax.random.normal(b, (3,)), jax.random.bits(a, (2,))


def embedding(table, ids):
    return table[ids].sum(0), jax.grad(lambda t: (t[ids] ** 2).sum())(table)


def ordered(x):
    return jnp.sort(x), jnp.argsort(-x), jnp.median(x)


def top(x):
    return lax.top_k(x, 3)


def newton(a):
    return lax.while_loop(lambda y: jnp.abs(y * y - a) > 1e-12, lambda y: 0.5 * (y + a / y), a)


def conditional(i, x):
    y = lax.cond(x.sum() > 0, jnp.sin, jnp.exp, x)
    return y, lax.switch(i, [jnp.cos, lambda v: v**3, jnp.sqrt], jnp.abs(x))


def spectrum(x):
    f = jnp.fft.rfft(x)
    return jnp.abs(f) ** 2, jnp.fft.irfft(f, 8), jnp.fft.fft(x + 0j).imag


def cumulative(x):
    return jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, 0)


def special(x):
    return (
        jax.scipy.special.gammaln(x),
        jax.scipy.special.digamma(x),
        jax.scipy.special.erf(x),
        jax.scipy.special.erfinv(x / 4),
        jnp.arctan2(x, 1.5),
    )


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2.0
    mask = jnp.tril(jnp.ones((3, 3), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -1e30)), v)


def pendulum(y, t):
    return odeint(lambda y, t: jnp.stack([y[1], -jnp.sin(y[0])]), y, t, rtol=1e-8, atol=1e-8)


def symmetric(a):
    return jnp.linalg.eigh(a)[0], jnp.linalg.svd(a, compute_uv=False)


def equations(a, b):
    return jnp.linalg.solve(a, b), jnp.linalg.slogdet(a)[1], jnp.linalg.det(a)


def updated(x, i):
    y = x.at[i].set(1.5).at[1:3].multiply(2.0).at[jnp.array([0, 0, 2])].max(0.25)
    z = lax.dynamic_update_slice(y, jnp.array([7.0, 8.0]), (i,))
    return z, lax.dynamic_slice(z, (i - 1,), (2,)), jnp.roll(z, 2), jnp.pad(x, (1, 2), constant_values=0.5)


def kalman(q, ys):
    def step(carry, y):
        m, p = carry
        p = p + q * jnp.eye(2)
        s = p[0, 0] + 0.5
        k = p[:, 0] / s
        m = m + k * (y - m[0])
        p = p - jnp.outer(k, p[0])
        return (m, p), -0.5 * (jnp.log(s) + (y - m[0]) ** 2 / s)

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)[1].sum()


def fori(x):
    return lax.fori_loop(2, 7, lambda i, c: c * x + i, 1.0)


def lowered(x, n):
    y = x.astype(jnp.float16) * jnp.float16(1.1)
    z = (x.astype(jnp.bfloat16) + jnp.bfloat16(0.3)).astype(jnp.float32)
    m = (n.astype(jnp.int8) * jnp.int8(7), n.astype(jnp.uint32) - jnp.uint32(9), n // 3, n % 3)
    return y.astype(jnp.float32), z, *[a.astype(jnp.int64) for a in m]


def orthogonal(a, b):
    q, r = jnp.linalg.qr(a)
    # The signs of LAPACK do not count.
    signs = jnp.sign(jnp.diag(r))
    return q * signs, r * signs[:, None], jnp.linalg.solve(r, q.T @ b)


def hessian(v):
    return jax.hessian(rosenbrock)(v)


PROGRAMS = {
    "mlp": (mlp, normal(4, 6), normal(6), normal(6, 3), normal(3), normal(5, 4)),
    "scan": (scan, normal(3), normal(8, 3)),
    "reverse_scan": (reverse_scan, np.float64(0.7), normal(6)),
    "gmm": (gmm, normal(3, 2), normal(10, 2)),
    "rosenbrock": (rosenbrock, normal(6)),
    "hessian": (hessian, normal(4)),
    "gaussian_process": (gaussian_process, np.float64(0.3), normal(7), normal(7)),
    "convolution": (convolution, normal(3, 3, 2, 4), normal(2, 6, 5, 2)),
    "pooled": (pooled, normal(2, 6, 6)),
    "random": (random, normal(4)),
    "embedding": (embedding, normal(5, 3), np.array([1, 4, 1, 0])),
    "ordered": (ordered, normal(7)),
    "top": (top, normal(2, 6)),
    "newton": (newton, np.float64(2.0)),
    "conditional": (conditional, np.int64(1), normal(3)),
    "spectrum": (spectrum, normal(8)),
    "cumulative": (cumulative, normal(4, 3)),
    "special": (special, np.abs(normal(5)) + 0.2),
    "attention": (attention, normal(2, 3, 2, 4), normal(2, 3, 2, 4), normal(2, 3, 2, 4)),
    "pendulum": (pendulum, np.array([1.0, 0.0]), np.linspace(0.0, 2.0, 4)),
    "symmetric": (symmetric, positive_definite(4)),
    "equations": (equations, normal(4, 4) + 3 * np.eye(4), normal(4)),
    "updated": (updated, normal(5), np.int64(2)),
    "kalman": (kalman, np.float64(0.1), normal(12)),
    "fori": (fori, np.float64(0.9)),
    "lowered": (lowered, normal(4, dtype=np.float32), np.array([-40, -1, 7, 300])),
    "orthogonal": (orthogonal, normal(5, 3), normal(5)),
}


def shown(a):
    a = np.asarray(a)
    if a.dtype == bool:
        a = a.astype(np.int64)
        kind = "i1"
    else:
        kind = {"f": "f", "i": "i", "u": "ui"}[a.dtype.kind] + str(8 * a.dtype.itemsize)
    return f"{kind}[{','.join(map(str, a.shape))}] " + " ".join(repr(x) for x in a.ravel().tolist())


def sized(w, x, y):
    h = jnp.tanh(x @ w)
    best = jnp.concatenate([h, y]).max()
    return jax.nn.logsumexp(x) + (h**2).mean() * best, jnp.exp(h)[::-1], jnp.outer(h, y).sum(0)


def sized_scan(w, xs):
    def step(c, x):
        c = jnp.sin(w * c) + x
        return c, c.sum()

    last, sums = lax.scan(step, jnp.zeros(w.shape), xs)
    return last, sums.mean()


# Programs for all sizes: shapes with names, and the sizes of the runs.
SIZED = {
    "sized": (sized, ["3", "n, 3", "m"], [(4, 2), (1, 5), (7, 7)]),
    "sized_scan": (sized_scan, ["m", "n, m"], [(3, 2), (6, 1)]),
}


def main_sized(folder):
    for name, (f, shapes, runs) in SIZED.items():
        scope = jax.export.SymbolicScope()
        symbolic = [jax.export.symbolic_shape(shape, scope=scope) for shape in shapes]
        specs = [jax.ShapeDtypeStruct(shape, np.float64) for shape in symbolic]
        text = jax.export.export(jax.jit(f), platforms=["cpu"])(*specs).mlir_module()
        text = "".join(line for line in text.splitlines(True) if not line.startswith("#loc"))
        text = re.sub(r' loc\((#loc\d*|unknown|"[^"]*"(\(#loc\d*\))?)\)', "", text)
        head = []
        for n, m in runs:
            sizes = {"n": n, "m": m, "3": 3}
            inputs = [normal(*(sizes[word] for word in shape.split(", "))) for shape in shapes]
            results = jax.tree.leaves(jax.jit(f)(*inputs))
            head += ["// run"] + [f"// input {shown(x)}" for x in inputs] + [f"// result {shown(y)}" for y in results]
        (folder / f"{name}.mlir").write_text("\n".join(head) + "\n" + text)
        print(name, len(text))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (f, *inputs) in PROGRAMS.items():
        text = jax.export.export(jax.jit(f), platforms=["cpu"])(*inputs).mlir_module()
        if len(text) > 6000:
            text = "".join(line for line in text.splitlines(True) if not line.startswith("#loc"))
            text = re.sub(r' loc\((#loc\d*|unknown|"[^"]*"(\(#loc\d*\))?)\)', "", text)
        results = jax.tree.leaves(jax.jit(f)(*inputs))
        text = text.replace(str(pathlib.Path(__file__).resolve().parent) + "/", "")
        head = [f"// input {shown(x)}" for x in inputs] + [f"// result {shown(y)}" for y in results]
        (folder / f"{name}.mlir").write_text("\n".join(head) + "\n" + text)
        print(name, len(text))


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv[1])
    main(FOLDER)
    (FOLDER / "sized").mkdir(exist_ok=True)
    main_sized(FOLDER / "sized")
