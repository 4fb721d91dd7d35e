"""Functions of JAX as functions of this library, and the way back.

Law: a function of JAX is exported once for each list of shapes and types, those of its arguments. JAX is imported when
it is needed, and not when a function runs.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Callable, Sequence

import numpy as np

from ._function import Argument, CSource, FmiSource, Function, Verbs
from ._handle import Handle
from ._library import ArgumentError
from ._structure import Leaf, Structure, Tree, Tuple


def _jax() -> Any:
    """The module `jax`, with `jax.export`, which `import jax` does not load."""
    try:
        import jax
        import jax.export
    except ModuleNotFoundError as error:
        if error.name != "jax":
            raise
        raise ImportError(
            "jit: a function of Python must be exported by JAX, but there is no module 'jax'; pip install jax, "
            "or load what was exported elsewhere by polygrad.load"
        ) from None
    return jax


def _wide() -> Any:
    """The types of the arguments as they are: without this JAX makes `float32` of `float64`."""
    import jax

    enable = getattr(jax, "enable_x64", None)
    if enable is None:
        from jax.experimental import enable_x64 as enable
    return enable(True)


def _structure(tree: Any, avals: Sequence[Any]) -> Structure:
    import jax

    leaves = [Leaf(tuple(aval.shape), np.issubdtype(aval.dtype, np.complexfloating)) for aval in avals]
    return leaves[0] if tree == jax.tree_util.tree_structure(0) else Tree(tree, leaves)


def _names(f: Callable, count: int) -> list[str]:
    """The names of the arguments in Python."""
    names: list[str] = []
    with contextlib.suppress(TypeError, ValueError):
        for parameter in inspect.signature(f).parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                break
            names.append(parameter.name)
    return (names + [f"x{k}" for k in range(len(names), count)])[:count]


def exported(f: Callable, examples: Sequence[Any], argnums: tuple[int, ...], single: bool, x64: bool) -> Function:
    """The function of JAX for the shapes and types of some examples."""
    jax = _jax()
    with _wide() if x64 else contextlib.nullcontext():
        text = jax.export.export(jax.jit(f, keep_unused=True), platforms=["cpu"])(*examples)
        module, inputs, outputs = text.mlir_module(), text.in_avals, text.out_avals
    if max(argnums) >= len(examples):
        raise ArgumentError(
            f"jit: argnums must be below the number of arguments, {len(examples)}, but one is {max(argnums)}; count from 0"
        )
    handle = Handle.from_stablehlo(module)
    (trees, _) = jax.tree_util.treedef_children(text.in_tree)
    arguments, at, leaf = [], 0, 0
    for name, tree in zip(_names(f, len(examples)), jax.tree_util.treedef_children(trees)):
        structure = _structure(tree, inputs[leaf : leaf + tree.num_leaves])
        arguments.append(Argument(name, structure, tuple(range(at, at + structure.count))))
        at, leaf = at + structure.count, leaf + tree.num_leaves
    return Function(handle, arguments, _structure(text.out_tree, outputs), argnums, single)


class Deferred(Verbs):
    """A function of JAX, or a derivative, that is exported at the first call with some shapes and types.

    >>> import numpy as np, polygrad, jax.numpy as jnp
    >>> f = polygrad.jit(lambda x: (jnp.sin(x) * x).sum())
    >>> f.grad(np.zeros(2))
    array([0., 0.])
    """

    def _exported(self, arguments: Sequence[Any]) -> Function:
        raise NotImplementedError

    def _only(self, what: str) -> Function:
        raise NotImplementedError

    def __call__(self, *arguments: Any) -> Any:
        return self._exported(arguments)(*arguments)

    def _verb(self, verb: str) -> "Deferred":
        return _Derivative(self, verb)

    def bounds(self, lower: Any, upper: Any) -> tuple[Any, Any]:
        """As `Function.bounds`, for the function that was exported."""
        return self._only("bounds").bounds(lower, upper)

    @property
    def text(self) -> str:
        """As `Function.text`, for the function that was exported."""
        return self._only("text").text

    def explain(self) -> str:
        """As `Function.explain`, for the function that was exported."""
        return self._only("explain").explain()

    def to_c(self, name: str = "f") -> CSource:
        """As `Function.to_c`, for the function that was exported."""
        return self._only("to_c").to_c(name)

    def to_rust(self, name: str = "f") -> str:
        """As `Function.to_rust`, for the function that was exported."""
        return self._only("to_rust").to_rust(name)

    def to_stablehlo(self, name: str = "f") -> str:
        """As `Function.to_stablehlo`, for the function that was exported."""
        return self._only("to_stablehlo").to_stablehlo(name)

    def to_casadi(self, name: str = "f", derivatives: int = 2) -> str:
        """As `Function.to_casadi`, for the function that was exported."""
        return self._only("to_casadi").to_casadi(name, derivatives)

    def to_fmi(self, name: str, roles: str, start: Sequence[Any] | None = None) -> FmiSource:
        """As `Function.to_fmi`, for the function that was exported."""
        return self._only("to_fmi").to_fmi(name, roles, start)

    def save(self, path: Any = None) -> str:
        """As `Function.save`, for the function that was exported."""
        return self._only("save").save(path)

    def bind(self, position: int, value: Any) -> Function:
        """As `Function.bind`, for the function that was exported."""
        return self._only("bind").bind(position, value)


class Jitted(Deferred):
    """A function of JAX; see `polygrad.jit`."""

    def __init__(self, f: Callable, argnums: tuple[int, ...], single: bool, x64: bool):
        self._f, self._argnums, self._single, self._x64 = f, argnums, single, x64
        self._made: dict[Any, Function] = {}
        self.__doc__ = f.__doc__

    def wrt(self, *argnums: int) -> "Jitted":
        """As `Function.wrt`."""
        if not argnums or len(set(argnums)) != len(argnums) or any(
            not isinstance(k, (int, np.integer)) or k < 0 for k in argnums
        ):
            raise ArgumentError(f"wrt: positions must be different integers, but they are {argnums}; count from 0")
        return Jitted(self._f, argnums, len(argnums) == 1, self._x64)

    def _exported(self, arguments: Sequence[Any]) -> Function:
        def kind(x: Any) -> tuple:
            shape = getattr(x, "shape", None)
            if shape is None or not hasattr(x, "dtype"):
                x = np.asarray(x)
                shape = x.shape
            return tuple(shape), x.dtype

        arguments = tuple(arguments)
        if all(type(x) is np.ndarray for x in arguments):
            key: Any = tuple((x.shape, x.dtype) for x in arguments)
        else:
            leaves, tree = _jax().tree_util.tree_flatten(arguments)
            key = (tree, tuple(map(kind, leaves)))
        made = self._made.get(key)
        if made is None:
            # Lists as arguments are trees for JAX: they have the structure of their example.
            function = exported(self._f, arguments, self._argnums, self._single, self._x64)
            made = self._made.setdefault(key, function)
        return made

    def _only(self, what: str) -> Function:
        if len(self._made) != 1:
            raise ArgumentError(
                f"{what}: the function must be exported for one list of shapes, but it is for {len(self._made)}; "
                "call it once, or give examples: polygrad.jit(f, x)"
            )
        return next(iter(self._made.values()))

    def __repr__(self) -> str:
        name = getattr(self._f, "__name__", type(self._f).__name__)
        return f"jit({name}), exported for {len(self._made)} lists of shapes"


class _Derivative(Deferred):
    """A derivative of a deferred function."""

    def __init__(self, of: Deferred, verb: str):
        self._of, self._name = of, verb

    @property
    def _argnums(self) -> tuple[int, ...]:
        return self._of._argnums  # type: ignore[attr-defined]

    def _exported(self, arguments: Sequence[Any]) -> Function:
        count = {"jvp": len(self._argnums), "hvp": len(self._argnums), "vjp": 1}.get(self._name, 0)
        after = max(self._argnums) + 1
        primal = (*arguments[:after], *arguments[after + count :])
        return self._of._exported(primal)._verb(self._name)

    def _only(self, what: str) -> Function:
        return self._of._only(what)._verb(self._name)

    def __repr__(self) -> str:
        return f"{self._of!r}: {self._name}"


def to_jax(function: Function) -> Callable:
    """A function for programs of JAX, with a gradient: inside `jax.jit`, `jax.grad`, and samplers such as NumPyro's.

    The program runs on the host, once for each call; derivatives in all arguments must exist. Derivatives of the
    gradient do not. In complex arguments derivatives are those of JAX, the conjugates of those of this library.

    >>> import jax, polygrad
    >>> f = polygrad.to_jax(polygrad.load(polygrad.example))
    >>> jax.grad(lambda x: 3 * f(x))(jax.numpy.zeros(2)).shape
    (2,)
    """
    jax = _jax()
    if isinstance(function, Deferred):
        function = function._only("to_jax")
    differentiated = function.wrt(*range(len(function._arguments)))
    structure = function._result

    def shapes(handle: Handle) -> list[Any]:
        canonical = jax.dtypes.canonicalize_dtype
        return [jax.ShapeDtypeStruct(slot.shape, canonical(slot.dtype)) for slot in handle.outputs]

    def called(made: Function, arguments: Sequence[Any]) -> list[Any]:
        """The outputs, by a call of the host."""
        places = shapes(made._handle)

        def host(*leaves: Any) -> list[np.ndarray]:
            inputs = made._handle.inputs
            arrays = [np.asarray(x, slot.dtype, order="C") for x, slot in zip(leaves, inputs)]
            results = made._handle.run(arrays)
            return [np.asarray(y, place.dtype) for y, place in zip(results, places)]

        each = zip(made._arguments, arguments)
        leaves = made._placed([a.structure.flatten(x, f"argument {a.name!r}") for a, x in each])
        return jax.pure_callback(host, places, *leaves, vmap_method="sequential")

    @jax.custom_vjp
    def call(*arguments: Any) -> Any:
        return structure.unflatten(called(function, arguments))

    def forward(*arguments: Any) -> tuple[Any, Any]:
        return call(*arguments), arguments

    def backward(arguments: Any, cotangent: Any) -> Any:
        def conjugated(tree: Any) -> Any:
            return jax.tree_util.tree_map(lambda x: x.conj() if jax.numpy.iscomplexobj(x) else x, tree)

        outputs = called(differentiated.vjp, (*arguments, conjugated(cotangent)))
        bars = Tuple([a.structure for a in function._arguments]).unflatten(outputs[structure.count :])
        return conjugated(bars)

    call.defvjp(forward, backward)
    return call
