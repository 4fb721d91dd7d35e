"""Functions in CasADi: values, Jacobians and Hessians of its `external` beside ours, and an optimum of its solver."""

import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import polygrad
import pytest

ca = pytest.importorskip("casadi")

RNG = np.random.default_rng(2)
A, B = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 2))
X = RNG.normal(size=5)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def several(a, b, s):
    """Matrices and numbers; one result does not depend on `b`."""
    return jnp.sin(a @ b) * s, a * s, (a**2).sum() * jnp.tanh(s)


@pytest.fixture
def external(tmp_path):
    def load(function, name="f", derivatives=2):
        source = tmp_path / f"{name}.c"
        source.write_text(function.to_casadi(name, derivatives))
        library = tmp_path / f"{name}.so"
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", *strict, str(source), "-o", str(library), "-lm"], check=True)
        return ca.external(name, str(library))

    return load


def columns(x):
    """A matrix, column by column."""
    return np.asarray(x, float).ravel(order="F")


def test_several_matrices(external):
    f = external(polygrad.jit(several, A, B, 0.7))
    assert (f.name_in(), f.name_out()) == (["a", "b", "s"], ["y0", "y1", "y2"])
    assert [f.size_in(k) for k in range(3)] == [(2, 3), (3, 2), (1, 1)]
    for ours, theirs in zip(f(A, B, 0.7), several(A, B, 0.7)):
        np.testing.assert_allclose(np.asarray(ours), np.reshape(theirs, ours.shape), rtol=1e-13)
    # Whole matrices, their Jacobians over columns, and those of the Jacobians.
    symbols = [ca.MX.sym("a", 2, 3), ca.MX.sym("b", 3, 2), ca.MX.sym("s")]
    x = ca.vertcat(*map(ca.vec, symbols))
    y = ca.vertcat(*map(ca.vec, f(*symbols)))
    jacobian = ca.jacobian(y, x)
    second = ca.jacobian(ca.vec(jacobian), x)
    made = ca.Function("made", symbols, [jacobian, second])

    def flat(x):
        a, b, s = x[:6].reshape(3, 2).T, x[6:12].reshape(2, 3).T, x[12]
        return jnp.concatenate([jnp.ravel(jnp.transpose(jnp.atleast_2d(y))) for y in several(a, b, s)])

    point = np.concatenate([columns(A), columns(B), [0.7]])
    j, h = made(A, B, 0.7)
    known = jax.jacobian(flat)(point)
    np.testing.assert_allclose(np.asarray(j), known, rtol=1e-11, atol=1e-12)
    of_rows = jax.jacobian(jax.jacobian(flat))(point)
    np.testing.assert_allclose(np.asarray(h), of_rows.transpose(1, 0, 2).reshape(-1, 13), rtol=1e-10, atol=1e-11)
    # What is 0 for all arguments is not an element.
    assert jacobian.nnz() == np.count_nonzero(known) < known.size


def test_patterns_and_solver(external):
    f = external(polygrad.jit(rosenbrock, X))
    x = ca.MX.sym("x", 5)
    hessian, slope = ca.hessian(f(x), x)
    assert hessian.nnz() == 13
    at = ca.Function("at", [x], [hessian, slope])(X)
    np.testing.assert_allclose(np.asarray(at[0]), jax.hessian(rosenbrock)(X), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(np.asarray(at[1]).ravel(), jax.grad(rosenbrock)(X), rtol=1e-12)
    # Exact Hessians of the Lagrangian, with a bound on the norm that holds with equality.
    g = external(polygrad.jit(lambda x: jnp.sum(x**2), X), "g")
    problem = {"x": x, "f": f(x), "g": g(x)}
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.tol": 1e-10}
    solver = ca.nlpsol("solver", "ipopt", problem, options)
    found = solver(x0=np.full(5, 0.2), ubg=2.0)
    assert solver.stats()["success"] and solver.stats()["iter_count"] < 40
    optimum = np.asarray(found["x"]).ravel()
    assert abs(optimum @ optimum - 2) < 1e-7
    lagrange = jax.grad(rosenbrock)(optimum) + float(found["lam_g"]) * 2 * optimum
    np.testing.assert_allclose(lagrange, 0, atol=1e-6)


def test_loops_memory_and_graphs(external):
    def steps(x):
        return jax.lax.scan(lambda c, k: (jnp.sin(c) * x[0] + k, c @ x), x, jnp.arange(6.0))

    f = external(polygrad.jit(steps, X), "steps")
    mapped = f.map(3)
    points = RNG.normal(size=(5, 3))
    for k in range(3):
        expected = steps(points[:, k])
        np.testing.assert_allclose(np.asarray(mapped(points)[0])[:, k], expected[0], rtol=1e-12)
    x = ca.MX.sym("x", 5)
    jacobian = ca.Function("jacobian", [x], [ca.jacobian(f(x)[0], x), ca.jtimes(f(x)[1], x, x)])
    for point in points.T:
        j, product = jacobian(point)
        np.testing.assert_allclose(np.asarray(j), jax.jacobian(lambda x: steps(x)[0])(point), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(np.asarray(product).ravel(), jax.jvp(lambda x: steps(x)[1], (point,), (point,))[1], rtol=1e-11)


def test_linear_constant_and_fewer_derivatives(external):
    f = external(polygrad.jit(lambda x: (2 * x, jnp.ones(2)), X), "linear")
    x = ca.MX.sym("x", 5)
    double, constant = (ca.jacobian(y, x) for y in f(x))
    assert (double.nnz(), constant.nnz()) == (5, 0)
    np.testing.assert_array_equal(np.asarray(ca.Function("d", [x], [double])(X)), 2 * np.eye(5))
    once = external(polygrad.jit(rosenbrock, X), "once", 1)
    np.testing.assert_allclose(np.asarray(ca.Function("j", [x], [ca.jacobian(once(x), x)])(X)).ravel(), jax.grad(rosenbrock)(X))


@pytest.mark.parametrize("f, x, fact", [
    (lambda x: x.sum(), np.zeros((2, 2, 2)), "must be matrices"),
    (lambda x: x.sum(), X.astype(np.float32), "must have elements f64"),
    (lambda x: x.sum(), np.array([1, 2]), "must have elements f64"),
    (lambda x: x.argmax(), X, "must have elements f64"),
    (lambda x: x.sum(), np.zeros(0), "must have inputs"),
])  # fmt: skip
def test_what_is_refused(f, x, fact):
    with pytest.raises(polygrad.ArgumentError, match=fact):
        polygrad.jit(f, x).to_casadi("f", 0)


def test_names_and_counts():
    f = polygrad.jit(rosenbrock, X)
    with pytest.raises(polygrad.RefusedError):
        f.to_casadi("two words")
    for derivatives in (-1, 3, None):
        with pytest.raises(polygrad.ArgumentError, match="0, 1 or 2"):
            f.to_casadi("f", derivatives)
