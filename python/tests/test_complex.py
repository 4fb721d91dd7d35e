"""Complex arguments and results: values and derivatives beside JAX, whose gradients are the conjugates of ours."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import polygrad
import pytest

RNG = np.random.default_rng(11)


def normal(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


Z, W = normal(3), normal(3)
M = normal(3, 3)
X = RNG.normal(size=3)


def near(ours, theirs, tolerance=1e-12):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
        b = np.asarray(b)
        assert (np.shape(a), np.asarray(a).dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.abs(b).max(initial=0)))


def conj(tree):
    return jax.tree.map(np.conj, tree)


LOSSES = [
    lambda z: (jnp.abs(z) ** 2).sum(),
    lambda z: jnp.abs(jnp.vdot(z, W)) ** 2,
    lambda z: jnp.real(jnp.exp(z * W)).sum(),
    lambda z: jnp.imag(jnp.sin(z) / (2 + z * z)).sum(),
    lambda z: jnp.abs(jnp.fft.fft(z))[1] + jnp.angle(z).sum(),
    lambda z: jnp.linalg.norm(M @ z - W),
    lambda z: jnp.log(jnp.abs(jnp.linalg.det(M + z))),
    lambda z: (jnp.sqrt(z) * jnp.conj(jnp.log(z))).real.sum(),
    lambda z: jax.lax.fori_loop(0, 4, lambda i, c: c * z + W, z).imag.sum(),
]

HOLOMORPHIC = [
    lambda z: z * z,
    lambda z: jnp.exp(z) @ M,
    lambda z: jnp.fft.ifft(jnp.tanh(z) * W),
    lambda z: jnp.cumprod(z) / (z + W),
    lambda z: (z**3).sum(),
]

GENERAL = [
    lambda z: z * jnp.conj(z),
    lambda z: jnp.conj(z) @ M + z,
    lambda z: jnp.where(jnp.abs(z) > 1, z, jnp.conj(z) * 2),
    lambda z: jnp.abs(z) * jnp.exp(1j * z),
]


@pytest.mark.parametrize("f", LOSSES)
def test_gradients_of_real_losses(f):
    g = polygrad.jit(f, Z)
    near(g(Z), f(Z))
    slope = conj(jax.grad(f)(Z))
    near(g.grad(Z), slope)
    near(g.value_and_grad(Z), (f(Z), slope))
    near(g.jacobian(Z), conj(jax.jacobian(f)(Z)))
    direction = normal(3)
    near(g.jvp(Z, direction), jax.jvp(f, (Z,), (direction,)))
    near(g.vjp(Z, 2.0)[1], 2 * slope)
    # The gradient is that of the parts, so its change is, too.
    change = jax.jvp(lambda z: jnp.conj(jax.grad(f)(z)), (jnp.asarray(Z),), (jnp.asarray(direction),))[1]
    near(g.hvp(Z, direction), change, 1e-10)
    near(g.grad.jvp(Z, direction)[1], change, 1e-10)
    by_z, by_conjugate = g.wirtinger(Z)
    np.testing.assert_allclose(by_conjugate, slope / 2, rtol=1e-12)
    np.testing.assert_array_equal(by_z, by_conjugate.conj())
    # Descent goes along the gradient.
    assert g(Z - 1e-4 * slope) < g(Z)


@pytest.mark.parametrize("f", HOLOMORPHIC)
def test_derivatives_of_holomorphic_functions(f):
    g = polygrad.jit(f, Z)
    near(g(Z), f(Z))
    by_z, by_conjugate = g.wirtinger(Z)
    near(by_z, jax.jacobian(f, holomorphic=True)(Z))
    assert np.abs(by_conjugate).max() <= 1e-14 * max(1.0, np.abs(by_z).max())
    # A derivative is a function: the second one.
    if np.ndim(f(Z)) == 0:
        near(polygrad.jit(lambda z: jax.grad(f, holomorphic=True)(z), Z).wirtinger(Z)[0], np.diag(6 * Z), 1e-11)


@pytest.mark.parametrize("f", HOLOMORPHIC + GENERAL)
def test_products_with_jacobians(f):
    g = polygrad.jit(f, Z)
    direction, bar = normal(3), normal(*np.shape(f(Z)))
    near(g.jvp(Z, direction), jax.jvp(f, (Z,), (direction,)))
    value, pull = jax.vjp(f, jnp.asarray(Z))
    near(g.vjp(Z, bar), (value, conj(pull(jnp.conj(bar))[0])))
    by_z, by_conjugate = g.wirtinger(Z)
    near(by_z @ direction + by_conjugate @ direction.conj(), g.jvp(Z, direction)[1])
    # The adjoint in the real part of the inner product.
    left = np.vdot(bar, g.jvp(Z, direction)[1]).real
    np.testing.assert_allclose(left, np.vdot(g.vjp(Z, bar)[1], direction).real, rtol=1e-12)
    with pytest.raises(polygrad.ArgumentError, match="use wirtinger, jvp or vjp"):
        g.jacobian


def test_complex_results_of_real_arguments():
    def f(x):
        return jnp.exp(1j * x) * x[0]

    g = polygrad.jit(f, X)
    near(g(X), f(X))
    near(g.jacobian(X), jax.jacfwd(f)(X))
    near(g.jvp(X, np.ones(3)), jax.jvp(f, (X,), (np.ones(3),)))
    near(g.vjp(X, W)[1], jax.vjp(f, X)[1](jnp.conj(W))[0])
    with pytest.raises(polygrad.ArgumentError, match="wirtinger: the arguments must be complex"):
        g.wirtinger


def circuit(parameters, signal, gain):
    response = jnp.fft.fft(signal) * parameters["filter"] * jnp.exp(1j * parameters["delay"])
    return {"power": gain * (jnp.abs(response) ** 2).sum(), "response": response}


PARAMETERS = {"delay": X, "filter": Z}


def test_trees_with_complex_leaves():
    g = polygrad.jit(circuit, PARAMETERS, X, 2.0)
    assert repr(g) == (
        "Function(parameters: {float64[3], complex128[3]}, signal: float64[3], gain: float64[]) -> "
        "(float64[], complex128[3])"
    )
    near(g(PARAMETERS, X, 2.0), circuit(PARAMETERS, X, 2.0))

    def loss(parameters, signal, gain):
        made = circuit(parameters, signal, gain)
        return made["power"] + jnp.abs(made["response"][0]) + parameters["filter"].imag.prod()

    h = polygrad.jit(loss, argnums=(0, 1))
    near(h.grad(PARAMETERS, X, 2.0), conj(jax.grad(loss, argnums=(0, 1))(PARAMETERS, X, 2.0)))
    near(h.jacobian(PARAMETERS, X, 2.0), conj(jax.jacobian(loss, argnums=(0, 1))(PARAMETERS, X, 2.0)))
    direction = ({"delay": W.real, "filter": W}, Z.real)
    jvp = jax.jvp(lambda p, s: jnp.asarray(loss(p, s, 2.0)), (PARAMETERS, X), direction)
    near(h.jvp(PARAMETERS, X, *direction, 2.0), jvp)
    with pytest.raises(polygrad.ArgumentError, match="hessian: a complex function .* use hvp, or grad.wirtinger"):
        h.hessian(PARAMETERS, X, 2.0)
    near(h.wrt(1).hessian(PARAMETERS, X, 2.0), jax.hessian(loss, argnums=1)(PARAMETERS, X, 2.0), 1e-10)
    known = g.bind(0, PARAMETERS).bind(1, 2.0)
    near(known(X), circuit(PARAMETERS, X, 2.0))
    # A row of a real result is a gradient, and one of a complex result a derivative in a real argument.
    over_signal = known.jacobian(X)
    near(over_signal, jax.jacfwd(lambda s: circuit(PARAMETERS, s, 2.0))(X))


def test_sparse_matrices_are_those_of_the_parts():
    f = polygrad.jit(lambda z: (jnp.abs(z) ** 4).sum(), Z)
    parts = np.concatenate([Z.real, Z.imag])
    hessian = jax.hessian(lambda p: ((p[:3] ** 2 + p[3:] ** 2) ** 2).sum())(parts)
    found = f.sparse_hessian(Z)
    near(found.toarray(), hessian)
    assert found.nnz == 12
    assert f.grad.sparse_jacobian(Z).shape == (6, 6)


def test_second_derivatives():
    f = polygrad.jit(lambda z: (jnp.abs(z) ** 2).sum() + (z**3).real.sum(), Z)
    by_z, by_conjugate = f.grad.wirtinger(Z)
    # The gradient is 2 z + 3 conj(z)^2.
    near(by_z, 2 * np.eye(3) + 0j)
    near(by_conjugate, np.diag(6 * Z.conj()))
    v = normal(3)
    near(f.hvp(Z, v), by_z @ v + by_conjugate @ v.conj())


def test_single_precision_and_numbers():
    f = polygrad.jit(lambda z, a: (a * jnp.abs(z) ** 2).sum())
    small = Z.astype(np.complex64)
    y, slope = f.value_and_grad(small, np.float32(2.0))
    assert (y.dtype, slope.dtype) == (np.float32, np.complex64)
    np.testing.assert_allclose(slope, 4 * small, rtol=1e-6)
    narrow = polygrad.jit(lambda z: z * z, small)
    assert narrow(small).dtype == np.complex64
    with pytest.raises(polygrad.ArgumentError, match="float32, but they are float64"):
        narrow(Z)
    square = polygrad.load(polygrad.complex_example)
    for one in (1 + 2j, np.complex64(1 + 2j), np.array(1 + 2j), jnp.asarray(1 + 2j)):
        assert square(one) == -3 + 4j and type(square(one)) is np.complex128
    for real in (2, 2.0, True, np.float32(2), np.int32(2)):
        assert square(real) == complex(real) ** 2
    three = polygrad.jit(lambda z: z * 2, Z)
    np.testing.assert_array_equal(three([1, 2j, 3.5]), [2, 4j, 7])
    np.testing.assert_array_equal(polygrad.jit(lambda z: z * 2, small)([1, 2j, 3.5]), [2, 4j, 7])


@pytest.mark.parametrize("z, fact", [
    (Z[:2], "shape"), (Z[None], "shape"), (1j, "shape"), ([], "shape"), (X.astype(str), "float64"), ("text", "float64"),
    (Z.astype(object), "object"), (Z.astype(np.clongdouble), "float128|longdouble"), (None, "object"), ({"z": 1}, "object"),
    ([[1j], [2, 3]], "one length"), (np.ma.masked_less(X + 0j, 0), "masked"), (X.astype("datetime64[s]"), "datetime64"),
    (object(), "object"),
])  # fmt: skip
def test_arrays_that_do_not_fit(z, fact):
    with pytest.raises(polygrad.ArgumentError, match=fact):
        polygrad.jit(lambda z: z * 2, Z)(z)


def test_infinities_and_signs_of_zero_stay_in_their_parts():
    f = polygrad.jit(lambda z: jnp.conj(z), np.zeros(4, complex))
    z = np.empty(4, complex)
    z.real, z.imag = [np.inf, 1.0, -0.0, np.nan], [1.0, np.inf, -np.inf, 2.0]
    y = f(z)
    np.testing.assert_array_equal(y.real, z.real)
    np.testing.assert_array_equal(y.imag, -z.imag)
    assert not np.shares_memory(y, z)


@pytest.mark.parametrize("z", [Z[::-1], np.asfortranarray(M), M.T, M[:, ::2], M.astype(">c16"), np.zeros((0, 2), complex)])
def test_layouts(z):
    def f(z):
        return jnp.exp(z), jnp.abs(z).sum()

    near(polygrad.jit(f, z.astype(complex))(z), f(z.astype(complex)))


def test_load_save_and_texts(tmp_path):
    f = polygrad.load(polygrad.complex_example)
    assert repr(f) == "Function(arg0: complex128[]) -> complex128[]" or repr(f) == "Function(z: complex128[]) -> complex128[]"
    again = polygrad.load(f.save(tmp_path / "square.json"))
    assert repr(again) == repr(f) and again(3j) == -9
    assert pickle.loads(pickle.dumps(f)).wirtinger(1j) == (2j, 0)
    g = polygrad.jit(lambda z, k: (jnp.abs(z) ** 2).sum() * k, Z, 3)
    slope = polygrad.load(g.grad.save())
    near(slope(Z, 3), 6 * Z)
    loaded = polygrad.load(g.grad.to_stablehlo("slope"))
    # What is exported has the parts, as in C.
    near(loaded(Z.real, Z.imag, 3) if len(loaded._arguments) == 3 else loaded(Z, 3), (6 * Z.real, 6 * Z.imag))
    low, high = g.bind(1, 1).bounds(Z - (0.1 + 0.1j), Z + (0.1 + 0.1j))
    assert low < g(Z, 1) < high
    low, high = f.bounds(1 + 1j, 2 + 1.5j)
    for z in (1 + 1j, 1.5 + 1.2j, 2 + 1.5j, 2 + 1j):
        assert low.real <= f(z).real <= high.real and low.imag <= f(z).imag <= high.imag


def test_names_that_only_look_like_parts():
    text = """func.func @main(%z.re: tensor<2xf64>, %z.im: tensor<3xf64>, %k.re: tensor<i64>, %k.im: tensor<i64>) -> tensor<2xf64> {
      return %z.re : tensor<2xf64>
    }"""
    try:
        f = polygrad.load(text)
    except polygrad.ProgramError:
        pytest.skip("names with points are not read")
    assert len(f._arguments) == 4


def test_programs_of_jax():
    f = lambda z, x: (jnp.abs(z) ** 2 * x).sum() + jnp.real(z * x).prod()  # noqa: E731
    g = polygrad.to_jax(polygrad.jit(f, Z, X))
    near(np.asarray(jax.jit(g)(Z, X)), np.asarray(f(Z, X)))
    near(jax.grad(g, argnums=(0, 1))(Z, X), jax.grad(f, argnums=(0, 1))(Z, X))
    h = lambda z: jnp.exp(z) * jnp.conj(z)  # noqa: E731
    k = polygrad.to_jax(polygrad.jit(h, Z))
    near(np.asarray(k(Z)), np.asarray(h(Z)))
    loss = lambda z: jnp.abs(k(z) * jnp.asarray(W)).sum()  # noqa: E731
    near(jax.jit(jax.grad(loss))(Z), jax.grad(lambda z: jnp.abs(h(z) * W).sum())(Z))
    near(jax.vmap(jax.grad(loss))(np.stack([Z, W])), np.stack([jax.grad(loss)(Z), jax.grad(loss)(W)]))
    with jax.enable_x64(False):
        assert jax.grad(loss)(jnp.asarray(Z)).dtype == jnp.complex64
