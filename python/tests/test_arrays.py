"""Arrays of the caller: hostile shapes, types and layouts, results without copies, threads."""

import ctypes
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import polygrad
import pytest
from polygrad._library import library

MATRIX = """
module @jit_f {
  func.func public @main(%x: tensor<2x3xf64>, %k: tensor<3xi64>, %on: tensor<3xi1>, %h: tensor<3xf32>)
      -> (tensor<3x2xf64>, tensor<3xi64>, tensor<3xi1>, tensor<3xf32>) {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf64>) -> tensor<3x2xf64>
    %1 = stablehlo.add %k, %k : tensor<3xi64>
    %2 = stablehlo.not %on : tensor<3xi1>
    %3 = stablehlo.add %h, %h : tensor<3xf32>
    return %0, %1, %2, %3 : tensor<3x2xf64>, tensor<3xi64>, tensor<3xi1>, tensor<3xf32>
  }
}
"""
X = np.arange(6.0).reshape(2, 3)
K = np.array([1, -2, 2**62])
ON = np.array([True, False, True])
H = np.array([0.5, 1.5, np.inf], np.float32)


@pytest.fixture(scope="module")
def f():
    return polygrad.load(MATRIX)


def test_all_types(f):
    y = f(X, K, ON, H)
    for mine, theirs in zip(y, (X.T, 2 * K.astype(np.int64), ~ON, H + H), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("x", [
    np.asfortranarray(X),
    np.arange(12.0).reshape(2, 6)[:, ::2] / 2,
    X[::-1][::-1],
    X.astype(np.float32),
    X.astype(">f8"),
    X.astype(np.int32),
    X.tolist(),
    np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(2, 3),
    np.lib.stride_tricks.as_strided(X, X.shape, X.strides, writeable=False),
])  # fmt: skip
def test_layouts_and_types_that_lose_nothing(f, x):
    np.testing.assert_array_equal(f(x, K, ON, H)[0], X.T)


@pytest.mark.parametrize("x, fact", [
    (X.T, "shape"), (X.ravel(), "shape"), (X[None], "shape"), (1.0, "shape"), (np.zeros((0, 3)), "shape"), ([], "shape"),
    (X + 0j, "complex128"), (X.astype(str), "float64"), (X.astype(object), "object"), (X.astype(np.longdouble), "float128|longdouble"),
    ("text", "float64"), (None, "object"), ([[1.0, 2.0], [3.0]], "one length"), (X.astype("datetime64[s]"), "datetime64"),
    (np.ma.masked_less(X, 2), "masked"), ({"x": 1}, "object"), (object(), "object"), ([[2**70, 0, 0]] * 2, "object"),
])  # fmt: skip
def test_arrays_that_do_not_fit(f, x, fact):
    with pytest.raises(polygrad.ArgumentError, match=fact):
        f(x, K, ON, H)


@pytest.mark.parametrize("k, on, h", [
    (K + 0.5, ON, H), ([1.5, 2.0, 3.0], ON, H), (K, [1, 0, 1], H), (K, np.array([2, 0, 1], np.uint8), H),
    (K, ON, H.astype(np.float64)),
])  # fmt: skip
def test_conversions_that_lose_something(f, k, on, h):
    with pytest.raises(polygrad.ArgumentError, match="must have elements"):
        f(X, k, on, h)


def test_unsigned_integers_keep_their_bits(f):
    k = np.array([1, 2, 2**64 - 1], np.uint64)
    np.testing.assert_array_equal(f(X, k, ON, H)[1].view(np.uint64), [2, 4, 2**64 - 2])
    np.testing.assert_array_equal(f(X, np.repeat(k, 2)[::2], ON, H)[1].view(np.uint64), [2, 4, 2**64 - 2])


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_numbers_of_arguments(f, count):
    with pytest.raises(polygrad.ArgumentError, match=f"must have 4 arguments, .* but there are {count}"):
        f(*[X] * count)


def test_messages_name_the_input(f):
    with pytest.raises(polygrad.ArgumentError, match=r"input 1 \(k\) must have the shape \[3\], but it has \[2\]"):
        f(X, K[:2], ON, H)


def test_no_copies():
    # What reaches C is the array itself.
    handle = polygrad.load(polygrad.example)._handle
    slot = handle.inputs[0]
    from polygrad._handle import fitted

    x = np.zeros(2)
    assert fitted(x, slot, (2,), "x") is x
    locked = np.zeros(2)
    locked.flags.writeable = False
    assert fitted(locked, slot, (2,), "x") is locked
    assert np.shares_memory(fitted(jnp.zeros(2), slot, (2,), "x"), np.asarray(jnp.zeros(2))) is False
    j = jnp.zeros(2)
    assert np.shares_memory(fitted(j, slot, (2,), "x"), np.asarray(j))


def test_results_are_new_and_arguments_stay():
    g = polygrad.load(polygrad.example).grad
    x = np.array([0.3, 0.4])
    first, second = g(x), g(x)
    assert not np.shares_memory(first, second)
    assert first.flags.writeable
    np.testing.assert_array_equal(x, [0.3, 0.4])


def test_not_finite_and_empty():
    g = polygrad.load(polygrad.example)
    for bad in (np.nan, np.inf):
        assert np.isnan(g(np.array([bad, 0.0])))
        slope = g.grad(np.array([bad, 0.0]))
        assert np.isnan(slope[0]) and slope[1] == 0
    empty = polygrad.load(polygrad.example.replace("2xf64", "0xf64"))
    assert empty(np.zeros(0)) == 0
    assert empty.grad(np.zeros(0)).shape == (0,)
    assert empty.hessian([]).shape == (0, 0)
    assert empty.sparse_hessian(np.zeros(0)).shape == (0, 0)
    big = np.ones(9)
    assert empty(big[9:]) == 0


@pytest.mark.parametrize("argnums", [(1,), (-1,), (0, 0), (), ("x",), (True, 1)])
def test_positions(argnums):
    with pytest.raises(polygrad.ArgumentError, match="wrt"):
        polygrad.load(polygrad.example).wrt(*argnums)


def test_integers_have_no_derivative(f):
    with pytest.raises(polygrad.ArgumentError, match="inputs with derivatives must have floats"):
        f.wrt(1).jvp
    with pytest.raises(polygrad.ArgumentError, match="grad: the function must have arguments"):
        polygrad.load("module { func.func @main() -> tensor<f64> {\n %0 = stablehlo.constant dense<1.0> : tensor<f64>\n return %0 : tensor<f64> } }").grad


def test_threads_share_a_function():
    f = polygrad.load(polygrad.example)
    points = np.random.default_rng(5).normal(size=(8, 200, 2))
    expected = np.sin(points) + points * np.cos(points)
    found = np.empty_like(points)
    errors = []
    start = threading.Barrier(8)

    def work(k):
        try:
            start.wait()
            # All threads make the derivative, and each makes an error, whose text is its own.
            for i, x in enumerate(points[k]):
                found[k, i] = f.grad(x)
                name = f"not a name {k}"
                with pytest.raises(polygrad.RefusedError, match=name):
                    f.to_c(name)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


def test_other_threads_run_during_a_call():
    # With this interval a thread gets the lock of the interpreter only where another gives it up: in a call.
    loop = polygrad.jit(lambda x: jax.lax.fori_loop(0, 10_000, lambda i, c: jnp.sin(c) + x, x), 0.5)
    go, ran = threading.Event(), []

    def other():
        go.wait()
        ran.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1000)
        go.set()
        for _ in range(10_000):
            loop(0.5)
            if ran:
                break
    finally:
        sys.setswitchinterval(before)
        thread.join()
    assert ran
    assert not library._functions._FuncPtr._flags_ & ctypes._FUNCFLAG_PYTHONAPI
