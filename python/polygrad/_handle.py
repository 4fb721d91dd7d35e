"""A function of C: its slots, runs on arrays of NumPy, derivatives, and texts.

Law: a handle is not changed after it is made, so several threads may run one. Arrays of the right type and layout are
passed by their address; results are written into new arrays. What does not fit is an error before the call.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, NamedTuple, Sequence

import numpy as np

from ._library import ArgumentError, Pattern, Slot, library

_TYPES = [np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_)]


class Input(NamedTuple):
    """An input or output: its name, its element type, its shape, and the number of its elements."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    size: int

    def __str__(self) -> str:
        kind = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        return f"{self.name}: {kind}" if self.name else kind


def fitted(x: Any, slot: Input, shape: tuple[int, ...], what: str) -> np.ndarray:
    """The array itself if it has the type and layout of a slot, else a converted copy.

    A conversion loses nothing: `float32` becomes `float64`, but not the other way round. Numbers and lists of Python have
    no type yet, and take that of the slot.
    """
    dtype = slot.dtype
    if type(x) is np.ndarray and x.dtype is dtype and x.shape == shape:
        flags = x.flags
        if flags.c_contiguous and flags.aligned:
            return x
    if isinstance(x, np.ma.MaskedArray):
        raise ArgumentError(f"{what} must have all its elements, but it is a masked array; fill it by x.filled(..)")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ArgumentError(f"{what} must be an array, but it is not: {error}; make rows of one length") from None
    if array.dtype != dtype:
        if array.dtype == np.uint64 and dtype == np.int64:
            array = array.view(np.int64) if array.flags.c_contiguous else array.astype(np.int64)
        else:
            casting = "safe" if hasattr(x, "dtype") else "same_kind"
            if array.size and not np.can_cast(array.dtype, dtype, casting):
                raise ArgumentError(
                    f"{what} must have elements {dtype}, but they are {array.dtype}; convert it by x.astype(np.{dtype})"
                )
    if array.shape != shape:
        raise ArgumentError(
            f"{what} must have the shape {list(shape)}, but it has {list(array.shape)}; "
            "pass an array of this shape, or load a function for the other"
        )
    array = np.asarray(array, dtype, order="C")
    return array if array.flags.aligned else array.copy()


_byte_of, _address_of = ctypes.c_char.from_buffer, ctypes.addressof


def _address(array: np.ndarray) -> int:
    """Where the elements are. A writable array is asked by its buffer, in a third of the time."""
    if not array.size:
        return 0
    if array.flags.writeable:
        return _address_of(_byte_of(array))
    return array.ctypes.data


class _Layout:
    """How arrays for some slots become the `pg_array`s of C: packed bytes."""

    def __init__(self, slots: Sequence[Input]):
        self._pack = struct.Struct("@" + "iNP" * len(slots) + ("0P" if slots else "")).pack
        self._heads = [(_TYPES.index(slot.dtype), slot.size) for slot in slots]

    def packed(self, arrays: Sequence[np.ndarray]) -> bytes:
        values: list[int] = []
        for (kind, size), array in zip(self._heads, arrays):
            values += (kind, size, _address(array))
        return self._pack(*values)


class Handle:
    """A function that C holds. It is freed with this object."""

    __slots__ = ("_address", "_free", "_run", "inputs", "outputs", "_in", "_out", "_empty", "__weakref__")

    def __init__(self, address: int):
        self._address = address
        self._free = library.function_free
        self._run = library.function_run
        self.inputs = self._slots("input")
        self.outputs = self._slots("output")
        self._in, self._out = _Layout(self.inputs), _Layout(self.outputs)
        self._empty = [(slot.shape, slot.dtype) for slot in self.outputs]

    def __del__(self) -> None:
        address, self._address = getattr(self, "_address", None), None
        if address:
            self._free(address)

    # A copy of the address would be freed twice. Nothing changes a handle, so it is its own copy.
    def __copy__(self) -> "Handle":
        return self

    def __deepcopy__(self, memo: Any) -> "Handle":
        return self

    def __reduce__(self) -> tuple:
        return Handle.load, (self.save(),)

    @staticmethod
    def _made(name: str, *arguments: Any) -> "Handle":
        place = ctypes.c_void_p()
        library.call(name, *arguments, ctypes.byref(place))
        return Handle(place.value)

    @staticmethod
    def load(saved: str) -> "Handle":
        text = _encoded(saved)
        return Handle._made("function_load", text, len(text))

    @staticmethod
    def from_stablehlo(module: str) -> "Handle":
        text = _encoded(module)
        return Handle._made("function_from_stablehlo", text, len(text))

    def _slots(self, kind: str) -> tuple[Input, ...]:
        count, slot, slots = ctypes.c_size_t(), Slot(), []
        library.call(f"function_{kind}_count", self._address, ctypes.byref(count))
        for k in range(count.value):
            library.call(f"function_{kind}", self._address, k, ctypes.byref(slot))
            shape = tuple(slot.shape[: slot.rank]) if slot.rank else ()
            slots.append(Input(slot.name.decode(), _TYPES[slot.type], shape, slot.size))
        return tuple(slots)

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results for arrays that fit the inputs."""
        results = [np.empty(shape, dtype) for shape, dtype in self._empty]
        status = self._run(
            self._address, self._in.packed(arrays), len(arrays), self._out.packed(results), len(results)
        )
        if status:
            raise library.error(status)
        return results

    def bounds(
        self, lower: Sequence[np.ndarray], upper: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Bounds of the results for all inputs between these."""
        low, high = ([np.empty(shape, dtype) for shape, dtype in self._empty] for _ in range(2))
        library.call(
            "function_bounds", self._address, self._in.packed(lower), self._in.packed(upper), len(lower),
            self._out.packed(low), self._out.packed(high), len(low),
        )  # fmt: skip
        return low, high

    def derivative(self, verb: str, wrt: Sequence[int]) -> "Handle":
        """A derivative in the inputs at these positions."""
        if not wrt:
            raise ArgumentError(f"{verb}: there must be inputs to differentiate, but there are none; name them by wrt")
        positions = (ctypes.c_size_t * len(wrt))(*wrt)
        return Handle._made(f"function_{verb}", self._address, positions, len(wrt))

    def bind(self, position: int, known: np.ndarray) -> "Handle":
        """The function with a known input."""
        packed = _Layout([self.inputs[position]]).packed([known])
        return Handle._made("function_bind", self._address, position, packed)

    def pattern(self) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
        """Row pointers, column indices and shape of a sparse matrix."""
        pattern = Pattern()
        library.call("function_pattern", self._address, ctypes.byref(pattern))
        small = max(pattern.nonzeros, pattern.columns) < 2**31
        kind = np.int32 if small else np.int64

        def copied(at: Any, count: int) -> np.ndarray:
            return np.array(np.ctypeslib.as_array(at, (count,)) if count else [], kind)

        pointers = copied(pattern.row_pointers, pattern.rows + 1)
        return pointers, copied(pattern.column_indices, pattern.nonzeros), (pattern.rows, pattern.columns)

    def text(self) -> str:
        return library.text("function_text", self._address)[0]

    def explain(self) -> str:
        return library.text("function_explain", self._address)[0]

    def save(self) -> str:
        return library.text("function_save", self._address)[0]

    def to_c(self, name: str) -> tuple[str, str]:
        code, header = library.text("function_to_c", self._address, _name(name), count=2)
        return code, header

    def to_rust(self, name: str) -> str:
        return library.text("function_to_rust", self._address, _name(name))[0]

    def to_stablehlo(self, name: str) -> str:
        return library.text("function_to_stablehlo", self._address, _name(name))[0]

    def to_casadi(self, name: str, derivatives: int) -> str:
        return library.text("function_to_casadi", self._address, _name(name), derivatives)[0]

    def to_fmi(self, name: str, roles: str, starts: Sequence[np.ndarray] | None) -> tuple[str, ...]:
        """The description, the build description and the file of C; start values are those of all inputs."""
        values = None if starts is None else np.concatenate([np.ravel(x) for x in starts], dtype=np.float64)
        address, count = (None, 0) if values is None else (values.ctypes.data, values.size)
        return library.text("function_to_fmi", self._address, _name(name), _name(roles), address, count, count=3)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"the text must be Unicode, but {error}; decode it as UTF-8") from None


def _name(name: str) -> bytes:
    if "\0" in name:
        raise ArgumentError(f"the name must be an identifier, but it is {name!r}; use letters, digits and _")
    return _encoded(name)
