"""The shared library in C, declared for ctypes, and its errors as exceptions.

Law: each function of `capi/include/polygrad.h` is declared here with its types, and called by `Library` alone. A call
releases the lock of the interpreter while it runs.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, c_char_p, c_int32, c_size_t, c_void_p

__all__ = ["ArgumentError", "PolygradError", "ProgramError", "RefusedError", "library"]


class PolygradError(Exception):
    """An error of the library: what is required, what is the case, and what to do."""


class ArgumentError(PolygradError, ValueError):
    """An argument has a wrong shape, type or number."""


class ProgramError(PolygradError, ValueError):
    """A text or a saved program is not read."""


class RefusedError(PolygradError, RuntimeError):
    """The library refuses: a derivative that does not exist, an operation that is not written, no memory."""


class Slot(ctypes.Structure):
    """An input or output, as C describes it."""

    _fields_ = [
        ("name", c_char_p),
        ("type", c_int32),
        ("rank", c_size_t),
        ("shape", POINTER(c_size_t)),
        ("size", c_size_t),
    ]


class Pattern(ctypes.Structure):
    """The elements of a sparse matrix that may not be 0, as C describes them."""

    _fields_ = [
        ("rows", c_size_t),
        ("columns", c_size_t),
        ("nonzeros", c_size_t),
        ("row_pointers", POINTER(c_size_t)),
        ("column_indices", POINTER(c_size_t)),
    ]


# Functions and texts are addresses, so that ctypes converts nothing. Arrays are packed bytes: see `_handle.py`.
_FUNCTION, _PLACE, _TEXT, _ARRAYS = c_void_p, POINTER(c_void_p), c_char_p, c_void_p
_DERIVATIVE = [_FUNCTION, c_void_p, c_size_t, _PLACE]

# The functions that return a code, without `pg_`.
CALLS: dict[str, list] = {
    "function_load": [_TEXT, c_size_t, _PLACE],
    "function_from_stablehlo": [_TEXT, c_size_t, _PLACE],
    "function_save": [_FUNCTION, _PLACE],
    "function_input_count": [_FUNCTION, POINTER(c_size_t)],
    "function_output_count": [_FUNCTION, POINTER(c_size_t)],
    "function_input": [_FUNCTION, c_size_t, POINTER(Slot)],
    "function_output": [_FUNCTION, c_size_t, POINTER(Slot)],
    "function_run": [_FUNCTION, _ARRAYS, c_size_t, _ARRAYS, c_size_t],
    "function_run_f64": [_FUNCTION, c_void_p, c_size_t, c_void_p, c_size_t],
    "function_run_f32": [_FUNCTION, c_void_p, c_size_t, c_void_p, c_size_t],
    "function_bounds": [_FUNCTION, _ARRAYS, _ARRAYS, c_size_t, _ARRAYS, _ARRAYS, c_size_t],
    "function_grad": _DERIVATIVE,
    "function_value_and_grad": _DERIVATIVE,
    "function_jvp": _DERIVATIVE,
    "function_vjp": _DERIVATIVE,
    "function_hvp": _DERIVATIVE,
    "function_jacobian": _DERIVATIVE,
    "function_hessian": _DERIVATIVE,
    "function_sparse_jacobian": _DERIVATIVE,
    "function_sparse_hessian": _DERIVATIVE,
    "function_pattern": [_FUNCTION, POINTER(Pattern)],
    "function_bind": [_FUNCTION, c_size_t, _ARRAYS, _PLACE],
    "function_text": [_FUNCTION, _PLACE],
    "function_explain": [_FUNCTION, _PLACE],
    "function_to_c": [_FUNCTION, _TEXT, _PLACE, _PLACE],
    "function_to_rust": [_FUNCTION, _TEXT, _PLACE],
    "function_to_stablehlo": [_FUNCTION, _TEXT, _PLACE],
    "function_to_casadi": [_FUNCTION, _TEXT, c_size_t, _PLACE],
    "function_to_fmi": [_FUNCTION, _TEXT, _TEXT, c_void_p, c_size_t, _PLACE, _PLACE, _PLACE],
}

# The functions that return nothing or a text, without `pg_`.
OTHERS: dict[str, tuple] = {
    "last_error": (c_char_p, []),
    "version": (c_char_p, []),
    "string_free": (None, [c_void_p]),
    "function_free": (None, [c_void_p]),
}

_EXCEPTIONS = {1: ArgumentError, 2: ProgramError, 3: RefusedError}


def _path() -> str:
    """The file of the library: that of `POLYGRAD_LIBRARY`, or the one beside this module."""
    named = os.environ.get("POLYGRAD_LIBRARY")
    if named:
        return named
    name = {"darwin": "libpolygrad_capi.dylib", "win32": "polygrad_capi.dll"}.get(sys.platform, "libpolygrad_capi.so")
    path = pathlib.Path(__file__).with_name(name)
    if not path.exists():
        raise ImportError(
            f"the package must have its library {name}, but there is none beside {path.parent.name}/; "
            "install it by `pip install .` in the repository, or name one by POLYGRAD_LIBRARY"
        )
    return str(path)


class Library:
    """The functions of C. A code other than 0 is raised with the text of the library."""

    def __init__(self, path: str):
        self._functions = functions = ctypes.CDLL(path)
        for name, (result, arguments) in OTHERS.items():
            function = getattr(functions, f"pg_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        for name, arguments in CALLS.items():
            function = getattr(functions, f"pg_{name}")
            function.restype, function.argtypes = c_int32, arguments
            setattr(self, name, function)

    def error(self, status: int) -> PolygradError:
        """The exception of a code. The text belongs to this thread."""
        text = self.last_error().decode("utf-8", "replace")
        return _EXCEPTIONS.get(status, PolygradError)(text)

    def call(self, name: str, *arguments) -> None:
        """Calls a function that returns a code."""
        status = getattr(self, name)(*arguments)
        if status:
            raise self.error(status)

    def text(self, name: str, *arguments, count: int = 1) -> tuple[str, ...]:
        """Calls a function whose last arguments are places for texts."""
        places = [c_void_p() for _ in range(count)]
        self.call(name, *arguments, *map(ctypes.byref, places))
        texts = tuple(ctypes.string_at(place.value).decode() for place in places)
        for place in places:
            self.string_free(place)
        return texts


library = Library(_path())
