"""Functions of JAX: trees, several arguments, shapes of the first call, and the way back into JAX."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import polygrad
import pytest

X = np.array([0.5, -1.0, 2.0])


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def loss(parameters, data, scale):
    prediction = jnp.tanh(data["x"] @ parameters["w"] + parameters["b"])
    return scale * ((prediction - data["y"]) ** 2).sum()


PARAMETERS = {"w": np.array([0.5, -0.2]), "b": np.float64(0.1)}
DATA = {"x": np.arange(6.0).reshape(3, 2) / 6, "y": np.array([0.1, 0.2, 0.3])}


def same(ours, theirs, tolerance=1e-12):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_every_verb_at_the_first_call():
    f = polygrad.jit(rosenbrock)
    v = np.array([1.0, 0.0, -2.0])
    hessian = jax.hessian(rosenbrock)(X)
    same(f.hvp(X, v), hessian @ v, 1e-10)
    assert type(f(X)) is np.float64
    same(f(X), rosenbrock(X))
    same(f.grad(X), jax.grad(rosenbrock)(X))
    same(f.value_and_grad(X), jax.value_and_grad(rosenbrock)(X))
    same(f.hessian(X), hessian, 1e-10)
    same(f.grad.jacobian(X), hessian, 1e-10)
    same(f.grad.vjp(X, v)[1], hessian @ v, 1e-10)
    same(f.jvp(X, v), jax.jvp(rosenbrock, (X,), (v,)))
    same(f.vjp(X, 2.0)[1], 2 * jax.grad(rosenbrock)(X))
    same(f.sparse_hessian(X).toarray(), hessian, 1e-10)
    assert repr(f) == "jit(rosenbrock), exported for 1 lists of shapes"


def test_trees():
    f = polygrad.jit(loss)
    arguments = (PARAMETERS, DATA, 2.0)
    same(f(*arguments), loss(*arguments))
    same(f.grad(*arguments), jax.grad(loss)(*arguments))
    same(f.hessian(*arguments), jax.hessian(loss)(*arguments), 1e-10)
    direction = jax.tree.map(np.ones_like, PARAMETERS)
    product = jax.jvp(lambda p: jax.grad(loss)(p, *arguments[1:]), (PARAMETERS,), (direction,))[1]
    same(f.hvp(PARAMETERS, direction, DATA, 2.0), product, 1e-10)
    both = polygrad.jit(loss, argnums=(0, 2))
    same(both.grad(*arguments), jax.grad(loss, argnums=(0, 2))(*arguments))
    same(f.wrt(2).grad(*arguments), jax.grad(loss, argnums=2)(*arguments))
    with pytest.raises(polygrad.ArgumentError, match="structure"):
        polygrad.jit(loss, *arguments)({"w": X}, DATA, 2.0)


def test_trees_as_results():
    class Moments(NamedTuple):
        mean: object
        spread: object

    def f(x):
        return Moments(x.mean(), [x - x.mean(), (x**2).sum()])

    g = polygrad.jit(f, X)
    same(g(X), f(X))
    same(g.jacobian(X), jax.jacobian(f)(X))
    bar = Moments(1.0, [np.ones(3), 2.0])
    same(g.vjp(X, bar)[1], jax.vjp(f, X)[1](jax.tree.map(jnp.asarray, bar))[0])
    with pytest.raises(polygrad.ArgumentError, match="one in blocks"):
        g.jacobian.vjp
    assert g.sparse_jacobian(X).shape == (5, 3)


def test_jacobian_of_several_arguments():
    def f(a, b):
        return jnp.outer(a, b) + a.sum()

    a, b = X, np.array([1.0, 4.0])
    g = polygrad.jit(f, a, b, argnums=(0, 1))
    same(g.jacobian(a, b), jax.jacobian(f, argnums=(0, 1))(a, b))
    same(g.wrt(1).jacobian(a, b), jax.jacobian(f, argnums=1)(a, b))
    # Directions stand after the last argument that is differentiated.
    same(g.wrt(0).jvp(a, np.ones(3), b)[1], jax.jvp(lambda a: f(a, b), (a,), (np.ones(3),))[1])
    same(g.jvp(a, b, np.ones(3), np.ones(2))[1], jax.jvp(f, (a, b), (np.ones(3), np.ones(2)))[1])


def test_a_derivative_of_a_jacobian():
    def f(x):
        return jnp.sin(x) * x[0]

    g = polygrad.jit(f, X)
    same(g.jacobian.jacobian(X), jax.jacobian(jax.jacobian(f))(X))


def test_shapes_and_types_are_those_of_the_call():
    f = polygrad.jit(rosenbrock)
    for x in (X, X[:2], X.astype(np.float32)):
        y, slope = f.value_and_grad(x)
        assert y.dtype == slope.dtype == x.dtype
        np.testing.assert_allclose(slope, jax.grad(rosenbrock)(x), rtol=1e-5)
    assert "3 lists of shapes" in repr(f)
    with pytest.raises(polygrad.ArgumentError, match="to_c: the function must be exported for one list of shapes"):
        f.to_c()


def test_wide_numbers_without_the_flag_of_jax():
    with jax.enable_x64(False):
        f = polygrad.jit(rosenbrock)
        assert f(X).dtype == np.float64
        narrow = polygrad.jit(rosenbrock, jax.ShapeDtypeStruct((3,), np.float32), x64=False)
        assert narrow(X.astype(np.float32)).dtype == np.float32


def test_unused_arguments_and_closures():
    data = np.arange(3.0)
    f = polygrad.jit(lambda unused, x: (x * data).sum(), 1.0, X, argnums=1)
    np.testing.assert_array_equal(f.grad(5.0, X), data)


def test_known_arguments():
    f = polygrad.jit(loss, PARAMETERS, DATA, 2.0)
    g = f.bind(1, DATA).bind(1, 2.0)
    same(g(PARAMETERS), loss(PARAMETERS, DATA, 2.0))
    same(g.grad(PARAMETERS), jax.grad(loss)(PARAMETERS, DATA, 2.0))
    same(f.bind(0, PARAMETERS)(DATA, 2.0), loss(PARAMETERS, DATA, 2.0))
    of_scale = f.wrt(2).bind(0, PARAMETERS)
    same(of_scale.grad(DATA, 2.0), jax.grad(loss, argnums=2)(PARAMETERS, DATA, 2.0))
    with pytest.raises(polygrad.ArgumentError, match="bind: positions must be below 3"):
        f.bind(3, 0.0)

    def picked(x, k):
        return (x[k] ** 2).sum()

    k = np.array([0, 2])
    h = polygrad.jit(picked, X, k)
    with pytest.raises(polygrad.ArgumentError, match="bind it first"):
        h.sparse_hessian
    np.testing.assert_array_equal(h.bind(1, k).sparse_hessian(X).toarray(), np.diag([2.0, 0.0, 2.0]))


def test_bounds():
    f = polygrad.jit(lambda x, s: jnp.sin(x * s), X, 1.0)
    low, high = f.bounds((X - 0.1, 0.9), (X + 0.1, 1.1))
    rng = np.random.default_rng(3)
    for _ in range(100):
        y = f(rng.uniform(X - 0.1, X + 0.1), rng.uniform(0.9, 1.1))
        assert np.all(low <= y) and np.all(y <= high)
    with pytest.raises(polygrad.ArgumentError, match="bounds: a bound must be a tuple of 2"):
        f.bounds(X, X)


@pytest.mark.parametrize("argnums", [(), (0, 0), -1, (1,), None, "x", float("nan"), (0.0,)])
def test_positions_that_do_not_exist(argnums):
    with pytest.raises(polygrad.ArgumentError, match="argnums"):
        polygrad.jit(rosenbrock, X, argnums=argnums)
    positions = argnums if isinstance(argnums, tuple) else (argnums,)
    with pytest.raises(polygrad.ArgumentError, match="wrt|argnums"):
        polygrad.jit(rosenbrock).wrt(*positions)(X)


def test_text_is_loaded():
    assert polygrad.jit(polygrad.example)([0.0, 0.0]) == 0
    with pytest.raises(polygrad.ArgumentError, match="leave them out"):
        polygrad.jit(polygrad.example, X)
    with pytest.raises(polygrad.ArgumentError, match="function or a text"):
        polygrad.jit(3)


def test_a_function_in_programs_of_jax():
    f = polygrad.to_jax(polygrad.jit(rosenbrock, X))
    same(jax.jit(f)(X), rosenbrock(X))
    same(jax.jit(jax.grad(lambda x: 2 * f(x)))(X), 2 * jax.grad(rosenbrock)(X))
    same(jax.vmap(jax.grad(f))(np.stack([X, 2 * X])), jax.vmap(jax.grad(rosenbrock))(np.stack([X, 2 * X])))
    g = polygrad.to_jax(polygrad.jit(loss, PARAMETERS, DATA, 2.0))
    same(jax.grad(g)(PARAMETERS, DATA, 2.0), jax.grad(loss)(PARAMETERS, DATA, 2.0))
    with jax.enable_x64(False):
        assert jax.grad(f)(jnp.asarray(X)).dtype == jnp.float32
