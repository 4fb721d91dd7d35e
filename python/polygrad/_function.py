"""A function over arrays of NumPy, and its derivatives, which are functions again.

Law: arguments and results have the structures of the original function; `_handle.py` sees lists of arrays alone.
Directions stand after the last argument that is differentiated, so `hvp(x, v, *rest)` is what SciPy calls.
"""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import tempfile
import zipfile
from typing import Any, NamedTuple, Sequence

import numpy as np

from ._handle import Handle, Input, fitted
from ._library import ArgumentError, RefusedError
from ._structure import COMPLEX, Given, Leaf, Sparse, Structure, Tuple, matrix


class CSource(NamedTuple):
    """Source code in C: the file, and its header."""

    code: str
    header: str


class FmiSource(NamedTuple):
    """An FMU of FMI 3.0 for Model Exchange: its name, and the texts of its files."""

    name: str
    description: str
    build: str
    code: str

    def save(self, path: str | os.PathLike, compiler: str | None = "cc") -> None:
        """Writes the FMU: its sources, and a shared library for this platform, made by a compiler of C if one is named."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("modelDescription.xml", self.description)
            archive.writestr("sources/buildDescription.xml", self.build)
            archive.writestr(f"sources/{self.name}.c", self.code)
            if compiler is not None:
                end, folder = _platform()
                archive.writestr(f"binaries/{folder}/{self.name}{end}", self._compiled(compiler, end))

    def _compiled(self, compiler: str, end: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder, f"{self.name}.c"), pathlib.Path(folder, f"{self.name}{end}")
            source.write_text(self.code, encoding="utf-8")
            command = [compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(target), "-lm"]
            try:
                made = subprocess.run(command, capture_output=True, text=True)
            except FileNotFoundError:
                raise ArgumentError(
                    f"save: the compiler must be a program, but there is no {compiler!r}; name one, or None for sources alone"
                ) from None
            if made.returncode:
                raise RefusedError(f"save: the FMU must be compiled, but {compiler} refuses: {made.stderr.strip()}")
            return target.read_bytes()


def _platform() -> tuple[str, str]:
    """The end of a shared library, and the folder of FMI 3.0 for libraries of this platform."""
    system = platform.system().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    return {"darwin": ".dylib", "windows": ".dll"}.get(system, ".so"), f"{machine}-{system}"


class Argument(NamedTuple):
    """An argument: its name, its structure, and which inputs its arrays are."""

    name: str
    structure: Structure
    positions: tuple[int, ...]


def _joined(slots: Sequence[Input]) -> list[tuple[str, Leaf]]:
    """The names and kinds of arrays of NumPy: those of complex ones are two of C."""
    arrays, at = [], 0
    while at < len(slots):
        slot = slots[at]
        head, point, tail = slot.name.rpartition(".re")
        other = slots[at + 1] if at + 1 < len(slots) else None
        # The name of a derivative, such as `z.re_grad`, has an end.
        parts = point and (not tail or tail[0] == "_") and other is not None and other.name == f"{head}.im{tail}"
        is_complex = bool(parts) and slot.dtype in COMPLEX and (slot.dtype, slot.shape) == (other.dtype, other.shape)
        arrays.append((head + tail if is_complex else slot.name, Leaf(slot.shape, is_complex)))
        at += 2 if is_complex else 1
    return arrays


class Verbs:
    """The derivatives, as attributes. Each is a function: call it, differentiate it, print its source."""

    def _verb(self, verb: str) -> Any:
        raise NotImplementedError

    @property
    def grad(self) -> Any:
        """The gradient of a function that returns one number: `f.grad(x)` has the structure of `x`.

        >>> import polygrad
        >>> f = polygrad.load(polygrad.example)  # the sum of sin(x) * x for two numbers
        >>> f.grad([0.0, 0.0])
        array([0., 0.])
        """
        return self._verb("grad")

    @property
    def value_and_grad(self) -> Any:
        """The pair of value and gradient, for `scipy.optimize.minimize(.., jac=True)`.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).value_and_grad([0.0, 0.0])
        (np.float64(0.0), array([0., 0.]))
        """
        return self._verb("value_and_grad")

    @property
    def hessian(self) -> Any:
        """The Hessian of a function that returns one number, an `f64` array of the shape of `x`, twice.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).hessian([0.0, 0.0])
        array([[2., 0.],
               [0., 2.]])
        """
        return self._verb("hessian")

    @property
    def hvp(self) -> Any:
        """The Hessian times a direction: `f.hvp(x, v)`.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).hvp([0.0, 0.0], [1.0, 3.0])
        array([2., 6.])
        """
        return self._verb("hvp")

    @property
    def jacobian(self) -> Any:
        """The Jacobian, an `f64` array with the shape of the result, then that of `x`.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).grad.jacobian([0.0, 0.0])
        array([[2., 0.],
               [0., 2.]])
        """
        return self._verb("jacobian")

    @property
    def wirtinger(self) -> Any:
        """The derivatives in a complex argument `z = x + iy` and in its conjugate: `(df/dx - i df/dy) / 2`, `(df/dx + i df/dy) / 2`.

        Of a holomorphic function the first one is its complex derivative, and the second one is 0. They are `complex128`
        arrays with the shape of the result, then that of `z`.

        >>> import polygrad
        >>> square = polygrad.load(polygrad.complex_example)
        >>> square.wirtinger(1 + 2j)
        (np.complex128(2+4j), np.complex128(0j))
        """
        return self._verb("wirtinger")

    @property
    def jvp(self) -> Any:
        """The pair of value and tangent: `f.jvp(x, x_dot)`.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).jvp([0.0, 0.0], [1.0, 0.0])
        (np.float64(0.0), np.float64(0.0))
        """
        return self._verb("jvp")

    @property
    def vjp(self) -> Any:
        """The pair of value and cotangent: `f.vjp(x, y_bar)`.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).vjp([0.0, 0.0], 1.0)
        (np.float64(0.0), array([0., 0.]))
        """
        return self._verb("vjp")

    @property
    def sparse_hessian(self) -> Any:
        """The Hessian over the elements of `x` as a `scipy.sparse.csr_array`. Its pattern holds for all arguments.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).sparse_hessian([0.0, 0.0]).toarray()
        array([[2., 0.],
               [0., 2.]])
        """
        return self._verb("sparse_hessian")

    @property
    def sparse_jacobian(self) -> Any:
        """The Jacobian as a `scipy.sparse.csr_array`: rows are elements of the result, columns those of `x`.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).grad.sparse_jacobian([0.0, 0.0]).nnz
        2
        """
        return self._verb("sparse_jacobian")


class Function(Verbs):
    """A compiled function of arrays.

    >>> import numpy as np, polygrad
    >>> f = polygrad.load(polygrad.example)
    >>> f
    Function(arg0: float64[2]) -> float64[]
    >>> f(np.array([0.0, 0.0]))
    np.float64(0.0)

    Arrays of the right type, aligned and in C order, are not copied. Several threads may call one function at once: the
    lock of the interpreter is released. An argument must not be changed by another thread during a call.
    """

    def __init__(
        self, handle: Handle, arguments: Sequence[Argument], result: Structure, argnums: tuple[int, ...], single: bool
    ):
        self._handle, self._arguments, self._result = handle, tuple(arguments), result
        self._argnums, self._single = argnums, single
        self._made: dict[Any, Function] = {}
        # The argument of each input, where all are real arrays.
        plain = all(isinstance(a.structure, Leaf) and not a.structure.is_complex for a in self._arguments)
        order = {argument.positions[0]: k for k, argument in enumerate(self._arguments)} if plain else {}
        self._order = [order[k] for k in range(len(order))] if plain else None
        self._shapes = self._placed([argument.structure.shapes for argument in arguments])

    @staticmethod
    def of(handle: Handle) -> "Function":
        """The function whose arguments are the inputs of a program, and whose results are its outputs.

        Two neighbours with names such as `z.re` and `z.im` are the parts of one complex array.
        """
        arguments, at = [], 0
        for name, leaf in _joined(handle.inputs):
            arguments.append(Argument(name or f"x{at}", leaf, tuple(range(at, at + leaf.count))))
            at += leaf.count
        leaves = [leaf for _, leaf in _joined(handle.outputs)]
        result = leaves[0] if len(leaves) == 1 else Tuple(leaves)
        return Function(handle, arguments, result, (0,), True)

    def _placed(self, values: Sequence[Sequence[Any]]) -> list[Any]:
        """The values of the leaves of each argument, in the order of the inputs."""
        placed: list[Any] = [None] * len(self._handle.inputs)
        for argument, leaves in zip(self._arguments, values):
            for position, leaf in zip(argument.positions, leaves):
                placed[position] = leaf
        return placed

    def _arrays(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        """The arrays of the inputs."""
        if len(arguments) != len(self._arguments):
            names = ", ".join(argument.name for argument in self._arguments)
            raise ArgumentError(
                f"the function must have {len(self._arguments)} arguments, ({names}), but there are {len(arguments)}; "
                "pass one for each"
            )
        if self._order is not None:
            leaves = [arguments[k] for k in self._order]
        else:
            each = zip(self._arguments, arguments)
            leaves = self._placed([a.structure.flatten(x, f"argument {a.name!r}") for a, x in each])
        slots = self._handle.inputs
        return [
            fitted(x, slot, shape, f"input {k} ({slot.name})" if slot.name else f"input {k}")
            for k, (x, slot, shape) in enumerate(zip(leaves, slots, self._shapes))
        ]

    def __call__(self, *arguments: Any) -> Any:
        """The result for these arguments.

        >>> import polygrad
        >>> float(polygrad.load(polygrad.example)([0.0, 0.0]))
        0.0
        """
        return self._result.unflatten(self._handle.run(self._arrays(arguments)))

    # ---- Derivatives ----

    def wrt(self, *argnums: int) -> "Function":
        """The same function, whose derivatives are those in the arguments at these positions; the first one by default.

        With one position a gradient has the structure of that argument, with several it is a tuple.

        >>> import polygrad
        >>> f = polygrad.load(polygrad.example)
        >>> f.wrt(0).grad([0.0, 0.0])
        array([0., 0.])
        """
        count = len(self._arguments)
        for at, k in enumerate(argnums):
            if not isinstance(k, (int, np.integer)) or not 0 <= k < count:
                raise ArgumentError(f"wrt: positions must be below {count}, but one is {k!r}; count from 0")
            if k in argnums[:at]:
                raise ArgumentError(f"wrt: positions must differ, but {k} occurs twice; name it once")
        if not argnums:
            raise ArgumentError("wrt: there must be a position, but there is none; name one, such as wrt(0)")
        return Function(self._handle, self._arguments, self._result, tuple(map(int, argnums)), len(argnums) == 1)

    @property
    def argnums(self) -> tuple[int, ...]:
        """The positions of the arguments in which derivatives are taken."""
        return self._argnums

    def _verb(self, verb: str) -> "Function":
        made = self._made.get(verb)
        # Two threads may both make it; one stays.
        return made if made is not None else self._made.setdefault(verb, self._derivative(verb))

    def _derivative(self, verb: str) -> "Function":
        if not self._arguments:
            raise ArgumentError(f"{verb}: the function must have arguments, but there is none; nothing is differentiated")
        moved = [self._arguments[k] for k in self._argnums]
        wrt = [position for argument in moved for position in argument.positions]
        x: Structure = moved[0].structure if self._single else Tuple([argument.structure for argument in moved])
        result = self._result
        if verb in ("jacobian", "hessian", "wirtinger"):
            result = matrix(verb, x if verb == "hessian" else self._result, x)
        handle = self._handle.derivative("jacobian" if verb == "wirtinger" else verb, wrt)
        first = len(self._handle.inputs)
        directions: list[Argument] = []
        if verb in ("jvp", "hvp"):
            for argument in moved:
                positions = tuple(range(first, first + argument.structure.count))
                directions.append(argument._replace(name=f"{argument.name}_dot", positions=positions))
                first += argument.structure.count
        elif verb == "vjp":
            if isinstance(result, Given):
                result.flatten(None, "the result")
            directions.append(Argument("y_bar", result, tuple(range(first, first + result.count))))
        results: dict[str, Any] = {
            "grad": lambda: x,
            "hvp": lambda: x,
            "value_and_grad": lambda: Tuple([self._result, x]),
            "jvp": lambda: Tuple([self._result, self._result]),
            "vjp": lambda: Tuple([self._result, x]),
            "jacobian": lambda: result,
            "hessian": lambda: result,
            "wirtinger": lambda: result,
            "sparse_jacobian": lambda: Sparse(handle.pattern()),
            "sparse_hessian": lambda: Sparse(handle.pattern()),
        }
        after = max(self._argnums) + 1
        arguments = [*self._arguments[:after], *directions, *self._arguments[after:]]
        return Function(handle, arguments, results[verb](), self._argnums, self._single)

    def bind(self, position: int, value: Any) -> "Function":
        """The function with a known argument, which then is not an argument: what depends on it alone is computed once.

        >>> import polygrad
        >>> polygrad.load(polygrad.example).bind(0, [0.0, 0.0])()
        np.float64(0.0)
        """
        count = len(self._arguments)
        if not isinstance(position, (int, np.integer)) or not 0 <= position < count:
            raise ArgumentError(f"bind: positions must be below {count}, but one is {position!r}; count from 0")
        known = self._arguments[position]
        leaves = known.structure.flatten(value, f"argument {known.name!r}")
        pairs = sorted(zip(known.positions, leaves, known.structure.shapes), reverse=True, key=lambda pair: pair[0])
        handle = self._handle
        for at, leaf, shape in pairs:
            handle = handle.bind(at, fitted(leaf, handle.inputs[at], shape, f"input {at}"))
        gone = set(known.positions)

        def moved(argument: Argument) -> Argument:
            return argument._replace(positions=tuple(p - sum(q < p for q in gone) for p in argument.positions))

        arguments = [moved(a) for k, a in enumerate(self._arguments) if k != position]
        argnums = tuple(k - (k > position) for k in self._argnums if k != position) or (0,)
        return Function(handle, arguments, self._result, argnums, self._single or len(argnums) == 1)

    def bounds(self, lower: Any, upper: Any) -> tuple[Any, Any]:
        """Bounds of the result that hold for all arguments between two; tuples of arguments if there are several.

        >>> import polygrad
        >>> low, high = polygrad.load(polygrad.example).bounds([0.0, 0.0], [1.0, 1.0])
        >>> bool(low <= 0.0 and 1.68 <= high)
        True
        """
        one = len(self._arguments) == 1
        low, high = (self._arrays((x,) if one else self._tuple(x)) for x in (lower, upper))
        below, above = self._handle.bounds(low, high)
        return self._result.unflatten(below), self._result.unflatten(above)

    def _tuple(self, x: Any) -> Sequence[Any]:
        if not isinstance(x, (tuple, list)):
            raise ArgumentError(
                f"bounds: a bound must be a tuple of {len(self._arguments)} arguments, "
                f"but it is a {type(x).__name__}; pass one for each argument"
            )
        return x

    # ---- Texts ----

    @property
    def text(self) -> str:
        """The optimized program."""
        return self._handle.text()

    def explain(self) -> str:
        """How the function runs: modes of derivatives, passes, steps, memory.

        >>> import polygrad
        >>> "steps" in polygrad.load(polygrad.example).grad.explain()
        True
        """
        return self._handle.explain()

    def to_c(self, name: str = "f") -> CSource:
        """Source code in C, without a library: the file, and its header `name.h`.

        >>> import polygrad
        >>> "slope" in polygrad.load(polygrad.example).grad.to_c("slope").header
        True
        """
        return CSource(*self._handle.to_c(name))

    def to_rust(self, name: str = "f") -> str:
        """Source code in Rust, for `no_std`.

        >>> import polygrad
        >>> "fn slope" in polygrad.load(polygrad.example).grad.to_rust("slope")
        True
        """
        return self._handle.to_rust(name)

    def to_stablehlo(self, name: str = "f") -> str:
        """A module of StableHLO, which `polygrad.load` reads, too.

        >>> import polygrad
        >>> slope = polygrad.load(polygrad.example).grad
        >>> polygrad.load(slope.to_stablehlo()).jacobian([0.0, 0.0]).shape
        (2, 2)
        """
        return self._handle.to_stablehlo(name)

    def to_casadi(self, name: str = "f", derivatives: int = 2) -> str:
        """A file of C for CasADi's `external`: the function, its sparse Jacobian, and that of the Jacobian.

        Compiled by `cc -O2 -shared -fPIC f.c -o f.so -lm`, it is `casadi.external("f", "./f.so")`. Arguments and results are
        matrices of `float64`: bind other arguments first.

        >>> import polygrad
        >>> "jac_jac_f" in polygrad.load(polygrad.example).to_casadi("f")
        True
        """
        if derivatives not in (0, 1, 2):
            raise ArgumentError(f"to_casadi: derivatives must be 0, 1 or 2, but it is {derivatives!r}; CasADi asks for no more")
        return self._handle.to_casadi(name, int(derivatives))

    def to_fmi(self, name: str, roles: str, start: Sequence[Any] | None = None) -> FmiSource:
        """The right side of a differential equation as an FMU for simulators: FMI 3.0, Model Exchange.

        `roles` has a letter for each argument: `t` the time, `x` states, `p` parameters, `u` inputs. The first results are the
        derivatives of the states, in their order, and the others are outputs. `start` has a value for each argument, zeros
        without it. All arrays must be `float64`. The FMU has directional and adjoint derivatives.

        >>> import polygrad
        >>> slope = polygrad.load(polygrad.example).grad  # a vector of the shape of its argument
        >>> fmu = slope.to_fmi("descent", "x", start=([1.0, 2.0],))
        >>> "continuous" in fmu.description  # fmu.save("descent.fmu") writes it, with a library for this platform
        True
        """
        count = len(self._arguments)
        if not isinstance(roles, str) or len(roles) != count:
            raise ArgumentError(
                f"to_fmi: roles must have a letter for each of the {count} arguments, but they are {roles!r}; "
                "write t for the time, x for states, p for parameters, u for inputs"
            )
        if start is not None and not isinstance(start, (tuple, list)):
            raise ArgumentError(
                f"to_fmi: start must be a tuple of {count} arguments, but it is a {type(start).__name__}; "
                "pass one for each argument, also for the time"
            )
        letters = {k: role for a, role in zip(self._arguments, roles) for k in a.positions}
        each = "".join(letters[k] for k in range(len(letters)))
        starts = None if start is None else self._arrays(start)
        return FmiSource(name, *self._handle.to_fmi(name, each, starts))

    def save(self, path: str | os.PathLike | None = None) -> str:
        """The program as JSON, which `polygrad.load` and the library in Rust read; written to a file if one is named.

        The text has inputs and outputs alone: a loaded function has one argument for each input.

        >>> import polygrad
        >>> polygrad.load(polygrad.load(polygrad.example).save())
        Function(arg0: float64[2]) -> float64[]
        """
        text = self._handle.save()
        if path is not None:
            pathlib.Path(path).write_text(text, encoding="utf-8")
        return text

    def __repr__(self) -> str:
        def shown(structure: Structure, slots: Sequence[Input]) -> list[str]:
            kinds, at = [], 0
            for leaf in structure.leaves:
                dtype = slots[at].dtype
                kinds.append(f"{COMPLEX[dtype] if leaf.is_complex else dtype}[{', '.join(map(str, leaf.shape))}]")
                at += leaf.count
            return kinds

        def argument(a: Argument) -> str:
            kinds = shown(a.structure, [self._handle.inputs[k] for k in a.positions])
            return f"{a.name}: {kinds[0] if isinstance(a.structure, Leaf) else '{' + ', '.join(kinds) + '}'}"

        results = shown(self._result, self._handle.outputs)
        single = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"Function({', '.join(map(argument, self._arguments))}) -> {single}"

    def __reduce__(self) -> tuple:
        if isinstance(self._result, Sparse):
            raise TypeError("a sparse matrix is not saved with its pattern; save the function, and make the matrix anew")
        return Function, (self._handle, self._arguments, self._result, self._argnums, self._single)
