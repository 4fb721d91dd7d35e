"""Functions of JAX, StableHLO, and saved programs, compiled on this machine: values and derivatives of arrays of NumPy.

    import numpy as np, polygrad, jax.numpy as jnp
    from scipy.optimize import minimize

    f = polygrad.jit(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
    minimize(f, np.zeros(6), jac=f.grad, hessp=f.hvp, method="trust-ncg")
    f.grad.to_c("slope").code  # source code for a machine without Python

`polygrad.load` needs no JAX. Errors of the library are exceptions with its text: `PolygradError` and its three kinds.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any, Callable, Sequence

import numpy as np

from ._function import CSource, FmiSource, Function
from ._handle import Handle
from ._library import ArgumentError, PolygradError, ProgramError, RefusedError, library
from ._structure import CompressedRows

__all__ = [
    "ArgumentError",
    "CSource",
    "CompressedRows",
    "FmiSource",
    "Function",
    "PolygradError",
    "ProgramError",
    "RefusedError",
    "complex_example",
    "example",
    "jit",
    "load",
    "to_jax",
]

__version__: str = library.version().decode()

example: str = """
module @jit_f {
  func.func public @main(%arg0: tensor<2xf64>) -> (tensor<f64>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = stablehlo.sine %arg0 : tensor<2xf64>
    %1 = stablehlo.multiply %0, %arg0 : tensor<2xf64>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    return %2 : tensor<f64>
  }
}
"""
"""A module of StableHLO for examples: the sum of `sin(x) * x` of two numbers."""

complex_example: str = """
module @jit_square {
  func.func public @main(%z: tensor<complex<f64>>) -> tensor<complex<f64>> {
    %0 = stablehlo.multiply %z, %z : tensor<complex<f64>>
    return %0 : tensor<complex<f64>>
  }
}
"""
"""A module of StableHLO for examples: the square of a complex number."""


def load(source: str | os.PathLike) -> Function:
    """The function of a file or a text: StableHLO, as `jax.export` prints it, or a saved program. JAX is not needed.

    A text of several lines, or one that begins with `module` or a brace, is the program; else it names a file.

    >>> import polygrad
    >>> polygrad.load(polygrad.example)
    Function(arg0: float64[2]) -> float64[]
    """
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith(("module", "{", "func.func", "//"))):
        text = source
    elif isinstance(source, (str, os.PathLike)):
        try:
            text = pathlib.Path(source).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ProgramError(f"{source} must be text, but it is not UTF-8: {error}; write mlir_module(), not bytecode") from None
    else:
        raise ArgumentError(
            f"load: the source must be a path or a text, but it is a {type(source).__name__}; decode bytes, "
            "and pass functions to polygrad.jit"
        )
    saved = text.lstrip().startswith("{")
    return Function.of(Handle.load(text) if saved else Handle.from_stablehlo(text))


def jit(f: Callable | str, *examples: Any, argnums: int | Sequence[int] = 0, x64: bool = True) -> Any:
    """A function of JAX, compiled by this library; or the text of one, as `load` reads it.

    With examples, arrays or `jax.ShapeDtypeStruct`, it is exported at once and a `Function`. Without, it is exported at
    the first call for each list of shapes and types. Arguments and results are trees of arrays, as in JAX. `argnums` are
    the positions of the arguments in which derivatives are taken, as in `jax.grad`.

    `x64` exports with 64 bits where the examples have 64 bits, whatever JAX is configured to; without, JAX decides.

    >>> import numpy as np, polygrad, jax.numpy as jnp
    >>> f = polygrad.jit(lambda x, scale: scale * jnp.sum(x**2), np.zeros(3), 1.0)
    >>> f
    Function(x: float64[3], scale: float64[]) -> float64[]
    >>> f.grad(np.array([1.0, 2.0, 3.0]), 0.5)
    array([1., 2., 3.])
    """
    single = not isinstance(argnums, (tuple, list))
    positions = (argnums,) if single else tuple(argnums)
    if isinstance(f, str):
        if examples:
            raise ArgumentError("jit: a text has its shapes, but examples are given; leave them out")
        function = load(f)
        return function if positions == (0,) and single else function.wrt(*positions)
    if not callable(f):
        raise ArgumentError(f"jit: f must be a function or a text, but it is a {type(f).__name__}; use load for a path")
    integers = all(isinstance(k, (int, np.integer)) for k in positions)
    if not positions or not integers or len(set(positions)) != len(positions) or any(k < 0 for k in positions):
        raise ArgumentError(f"jit: argnums must be different positions, but they are {positions}; count from 0")
    from ._jax import Jitted, exported

    if not examples:
        return Jitted(f, positions, single, x64)
    return exported(f, examples, positions, single, x64)


def to_jax(function: Any) -> Callable:
    """A function for programs of JAX, with a gradient: inside `jax.jit`, `jax.grad`, and samplers such as NumPyro's.

    It runs on the host, and its derivatives are of first order.

    >>> import jax, polygrad
    >>> f = polygrad.to_jax(polygrad.load(polygrad.example))
    >>> jax.grad(lambda x: 3 * f(x))(jax.numpy.zeros(2)).shape
    (2,)
    """
    from ._jax import to_jax as made

    return made(function)
