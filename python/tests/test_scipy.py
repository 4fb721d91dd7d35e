"""Functions in SciPy: optimizers, least squares, roots, stiff equations."""

import jax.numpy as jnp
import numpy as np
import polygrad
import pytest
from scipy import optimize, sparse
from scipy.integrate import solve_ivp


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


F = polygrad.jit(rosenbrock, np.zeros(5))
START = np.full(5, 0.5)


@pytest.mark.parametrize("method, derivatives", [
    ("BFGS", {"jac": F.grad}),
    ("L-BFGS-B", {"jac": F.grad}),
    ("Newton-CG", {"jac": F.grad, "hessp": F.hvp}),
    ("trust-ncg", {"jac": F.grad, "hess": F.hessian}),
    ("trust-krylov", {"jac": F.grad, "hessp": F.hvp}),
    ("trust-constr", {"jac": F.grad, "hess": F.sparse_hessian}),
])  # fmt: skip
def test_minimize(method, derivatives):
    fit = optimize.minimize(F, START, method=method, **derivatives)
    np.testing.assert_allclose(fit.x, 1, atol=1e-3)


def test_value_and_gradient_in_one_call():
    fit = optimize.minimize(F.value_and_grad, START, jac=True, method="BFGS")
    np.testing.assert_allclose(fit.x, 1, atol=1e-3)


def test_further_arguments():
    f = polygrad.jit(lambda x, a, b: ((x - a) ** 2).sum() * b)
    a = np.arange(3.0)
    fit = optimize.minimize(f, np.zeros(3), args=(a, 2.0), jac=f.grad, hessp=f.hvp, method="Newton-CG")
    np.testing.assert_allclose(fit.x, a, atol=1e-6)


def test_least_squares_and_roots():
    t = np.linspace(0, 1, 20)
    y = 2 * np.exp(-3 * t)
    r = polygrad.jit(lambda p, t, y: p[0] * jnp.exp(-p[1] * t) - y)
    fit = optimize.least_squares(r, np.ones(2), jac=r.jacobian, args=(t, y))
    np.testing.assert_allclose(fit.x, [2, 3], atol=1e-6)
    g = polygrad.jit(lambda x: jnp.array([x[0] * x[1] - 2, x[0] + x[1] - 3]), np.zeros(2))
    root = optimize.root(g, np.array([0.5, 2.5]), jac=g.jacobian)
    np.testing.assert_allclose(np.sort(root.x), [1, 2], atol=1e-8)


def test_a_stiff_equation():
    f = polygrad.jit(lambda t, y: jnp.array([y[1], 100 * (1 - y[0] ** 2) * y[1] - y[0]]), 0.0, np.zeros(2), argnums=1)
    with_jacobian = solve_ivp(f, (0, 10), [2.0, 0.0], method="BDF", jac=f.jacobian, rtol=1e-8, atol=1e-10)
    without = solve_ivp(f, (0, 10), [2.0, 0.0], method="BDF", rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(with_jacobian.y[:, -1], without.y[:, -1], rtol=1e-5)


def test_a_sparse_matrix_is_the_callers():
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    first = F.sparse_hessian(x)
    assert sparse.issparse(first) and first.format == "csr"
    expected = F.hessian(x)
    np.testing.assert_allclose(first.toarray(), expected, rtol=1e-12)
    # Methods of SciPy change a matrix in place; the next one has its pattern all the same.
    first.data[:] = 0
    first.eliminate_zeros()
    np.testing.assert_allclose(F.sparse_hessian(x).toarray(), expected, rtol=1e-12)


def test_without_scipy(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    x = START
    matrix = F.sparse_hessian(x)
    assert isinstance(matrix, polygrad.CompressedRows)
    np.testing.assert_allclose(matrix.toarray(), F.hessian(x), rtol=1e-12)
