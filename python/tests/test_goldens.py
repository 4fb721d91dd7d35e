"""Programs of JAX equal JAX: values of all goldens, and derivatives of those whose function is rebuilt."""

import jax
import numpy as np
import polygrad
import pytest
from conftest import NAMES, golden, programs

PROGRAMS = programs()
# Adaptive steps of an equation: JAX has the adjoint equation, this library the derivative of the steps.
LOOSE = {"pendulum": 1e-5, "lowered": 2e-2}
# JAX has no reverse mode for these loops.
FORWARD = {"newton"}


def near(name, ours, theirs, scale=1.0):
    theirs = np.asarray(theirs)
    single = theirs.dtype == np.float32
    tolerance = LOOSE.get(name, 2e-5 if single else 1e-11) * scale
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, np.abs(theirs).max(initial=0)))


def results(f, *inputs):
    y = f(*inputs)
    return y if isinstance(y, tuple) else (y,)


def test_there_are_goldens():
    assert len(NAMES) >= 26
    assert set(PROGRAMS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    text, inputs, expected = golden(name)
    ours = results(polygrad.load(text), *inputs)
    assert len(ours) == len(expected)
    for y, recorded in zip(ours, expected):
        assert y.shape == recorded.shape
        if recorded.dtype.kind == "f":
            near(name, y, recorded)
        else:
            np.testing.assert_array_equal(np.asarray(y, recorded.dtype), recorded)


def floats(arrays):
    return tuple(k for k, x in enumerate(arrays) if np.asarray(x).dtype.kind == "f")


def in_floats(f, inputs, moved):
    """The outputs of floats of a function of JAX, over its inputs of floats."""

    def g(*x):
        arguments = list(inputs)
        for k, each in zip(moved, x):
            arguments[k] = each
        return [y for y in jax.tree.leaves(f(*arguments)) if y.dtype.kind == "f"]

    return g


@pytest.mark.parametrize("name", [name for name in NAMES if floats(golden(name)[2])])
def test_derivatives(name):
    text, inputs, expected = golden(name)
    f = PROGRAMS[name][0]
    moved = floats(inputs)
    ours = polygrad.load(text).wrt(*moved)
    theirs = in_floats(f, inputs, moved)
    rng = np.random.default_rng(1)
    x = [inputs[k] for k in moved]
    x_dot = [np.asarray(rng.normal(size=a.shape), a.dtype) for a in x]
    y_bar = [np.asarray(rng.normal(size=y.shape), y.dtype) for y in expected]
    float_bars = [y for y in y_bar if y.dtype.kind == "f"]
    after = max(moved) + 1

    direct = [*inputs[:after], *x_dot, *inputs[after:]]
    _, y_dot = ours.jvp(*direct)
    y_dot = [y for k, y in enumerate(y_dot if isinstance(y_dot, tuple) else (y_dot,)) if k in floats(expected)]
    if name != "pendulum":  # odeint has a rule for reverse mode alone
        _, their_dot = jax.jvp(theirs, x, x_dot)
        for mine, other in zip(y_dot, their_dot, strict=True):
            near(name, mine, other, 10)

    bars = tuple(y_bar) if len(y_bar) > 1 else y_bar[0]
    _, x_bar = ours.vjp(*inputs[:after], bars, *inputs[after:])
    x_bar = x_bar if isinstance(x_bar, tuple) else (x_bar,)
    if name not in FORWARD:
        _, pull = jax.vjp(theirs, *x)
        for mine, other in zip(x_bar, pull(float_bars), strict=True):
            near(name, mine, other, 10)
    # Both modes are of one matrix.
    left = sum(np.vdot(np.float64(a), np.float64(b)) for a, b in zip(y_dot, float_bars, strict=True))
    right = sum(np.vdot(np.float64(a), np.float64(b)) for a, b in zip(x_dot, x_bar, strict=True))
    np.testing.assert_allclose(left, right, rtol=2e-2 if name == "lowered" else 1e-8, atol=1e-8)


SCALARS = ["mlp", "gmm", "rosenbrock", "gaussian_process", "kalman", "newton", "fori"]


@pytest.mark.parametrize("name", SCALARS)
def test_verbs_of_numbers(name):
    text, inputs, _ = golden(name)
    f, g = PROGRAMS[name][0], polygrad.load(text)
    value, slope = g.value_and_grad(*inputs)
    near(name, value, f(*inputs))
    derive = jax.jacfwd if name == "newton" else jax.grad
    near(name, slope, derive(f)(*inputs), 10)
    near(name, g.grad(*inputs), slope)
    second = jax.jacfwd(derive(f))(*inputs)
    near(name, g.hessian(*inputs), second, 100)
    near(name, g.grad.jacobian(*inputs), second, 100)
    v = np.random.default_rng(2).normal(size=inputs[0].shape)
    product = np.tensordot(second, v, v.ndim)
    near(name, g.hvp(inputs[0], v, *inputs[1:]), product, 100)
    size = inputs[0].size
    sparse = g.sparse_hessian(*inputs)
    near(name, sparse.toarray(), np.reshape(second, (size, size)), 100)


def test_rosenbrock_is_sparse():
    text, inputs, _ = golden("rosenbrock")
    n = inputs[0].size
    assert polygrad.load(text).sparse_hessian(*inputs).nnz == 3 * n - 2


@pytest.mark.parametrize("name", SCALARS)
def test_saved_and_exported(name):
    text, inputs, _ = golden(name)
    g = polygrad.load(text)
    slope = g.grad(*inputs)
    np.testing.assert_array_equal(polygrad.load(g.save()).grad(*inputs), slope)
    if name != "newton":
        near(name, polygrad.load(g.grad.to_stablehlo("slope"))(*inputs), slope)
    assert g.explain()
    assert str(g.text).startswith("program(")
