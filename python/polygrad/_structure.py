"""How arguments and results are made of arrays: one array, a tree of JAX, a tuple, a matrix cut into blocks.

Law: `flatten` and `unflatten` are inverse to each other. A structure knows no values.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Callable, Sequence

import numpy as np

from ._library import ArgumentError


class Structure:
    """A structure over `count` arrays of C. Its leaves are arrays of NumPy: one of C, or two for a complex one."""

    def __init__(self, leaves: Sequence["Leaf"]):
        self.leaves = tuple(leaves)
        # The shapes of the arrays of C.
        self.shapes = tuple(leaf.shape for leaf in leaves for _ in range(2 if leaf.is_complex else 1))
        self.count = len(self.shapes)

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        raise NotImplementedError

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        raise NotImplementedError


class Leaf(Structure):
    """One array; a result of rank 0 is a number of NumPy. A complex array is two of C: its real and imaginary parts."""

    def __init__(self, shape: tuple[int, ...], is_complex: bool = False):
        self.shape, self.is_complex = shape, is_complex
        super().__init__([self])

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        if not self.is_complex:
            return (x,)
        if hasattr(x, "dtype") or isinstance(x, numbers.Number):
            # What has no parts, such as text, is refused as it is.
            return (x.real, x.imag) if hasattr(x, "imag") else (x, x)
        try:
            array = np.asarray(x)
        except ValueError as error:
            raise ArgumentError(f"{what} must be an array, but it is not: {error}; make rows of one length") from None
        # Lists have no type yet, so their parts have none.
        return (array.real.tolist(), array.imag.tolist()) if array.dtype.kind in "biufc" else (x, x)

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        array = leaves[0]
        if self.is_complex:
            array = joined(array, leaves[1])
        if array.shape != self.shape:
            array = array.reshape(self.shape)
        return array if self.shape else array[()]


def joined(re: Any, im: Any) -> Any:
    """The complex array of these parts, bit by bit: a sum with `1j * im` would make NaN of infinities."""
    if not isinstance(re, (np.ndarray, np.generic)):
        import jax

        return jax.lax.complex(re, im)
    array = np.empty(re.shape, COMPLEX[re.dtype])
    array.real, array.imag = re, im
    return array if array.shape else array[()]


COMPLEX = {np.dtype(np.float64): np.dtype(np.complex128), np.dtype(np.float32): np.dtype(np.complex64)}


def _each(parts: Sequence[Structure], leaves: Sequence[np.ndarray]) -> list[Any]:
    """What the parts of a structure make of its arrays."""
    results, at = [], 0
    for part in parts:
        results.append(part.unflatten(leaves[at : at + part.count]))
        at += part.count
    return results


class Tree(Structure):
    """A tree of JAX: tuples, lists, dictionaries, registered classes."""

    def __init__(self, definition: Any, leaves: Sequence[Leaf]):
        self.definition = definition
        super().__init__(leaves)

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        import jax

        leaves, definition = jax.tree_util.tree_flatten(x)
        if definition != self.definition:
            raise ArgumentError(
                f"{what} must have the structure {self.definition}, but it has {definition}; pass one like the example"
            )
        return [part for leaf, x in zip(self.leaves, leaves) for part in leaf.flatten(x, what)]

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        import jax

        return jax.tree_util.tree_unflatten(self.definition, _each(self.leaves, leaves))


class Tuple(Structure):
    """A tuple of structures."""

    def __init__(self, parts: Sequence[Structure]):
        self.parts = tuple(parts)
        super().__init__([leaf for part in parts for leaf in part.leaves])

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        if not isinstance(x, (tuple, list)) or len(x) != len(self.parts):
            fact = f"{len(x)} elements" if isinstance(x, (tuple, list)) else f"the type {type(x).__name__}"
            raise ArgumentError(f"{what} must be a tuple of {len(self.parts)}, but it has {fact}; pass one for each")
        return [leaf for k, part in enumerate(self.parts) for leaf in part.flatten(x[k], f"{what}[{k}]")]

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        return tuple(_each(self.parts, leaves))


class Given(Structure):
    """A result that is made of its arrays alone."""

    def __init__(self, shape: tuple[int, ...]):
        super().__init__([Leaf(shape)])

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        raise ArgumentError(
            f"{what} must be an array or a tree, but it is a sparse matrix or one in blocks; "
            "differentiate in one argument that is an array"
        )


class Blocks(Given):
    """A matrix whose rows are elements of one structure and whose columns are elements of another.

    The result is the first structure, with the second one in place of each leaf, as in JAX. A row of a real result in a
    complex argument `x + iy` is a gradient, `d/dx + i d/dy`; of a complex result it is the derivative in a real argument.
    """

    def __init__(self, rows: Structure, columns: Structure):
        self.rows, self.columns = rows, columns
        super().__init__(tuple(sum(map(math.prod, each.shapes)) for each in (rows, columns)))

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        def block(parts: np.ndarray) -> np.ndarray:
            flat = parts.reshape(-1, *parts.shape[2:])
            return flat[0] if len(flat) == 1 else joined(flat[0], flat[1])

        return self._of(leaves[0], block)

    def _of(self, matrix: np.ndarray, block: Callable[[np.ndarray], np.ndarray]) -> Any:
        """Both structures, of blocks: each made of real matrices, one for a part of a row and a part of a column."""

        def made(cell: np.ndarray, row: Leaf, column: Leaf) -> np.ndarray:
            sizes = (row.count, math.prod(row.shape), column.count, math.prod(column.shape))
            parts = cell.reshape(sizes).transpose(0, 2, 1, 3)
            return block(parts.reshape(row.count, column.count, *row.shape, *column.shape))

        rows, columns = self.rows.leaves, self.columns.leaves
        return _filled(self.rows, [
            _filled(self.columns, [made(cell, row, column) for cell, column in zip(_cut(band, columns, 1), columns)])
            for band, row in zip(_cut(matrix, rows, 0), rows)
        ])  # fmt: skip


class Wirtinger(Blocks):
    """The derivatives in complex arguments `z = x + iy` and in their conjugates: `(d/dx - i d/dy) / 2`, `(d/dx + i d/dy) / 2`."""

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        def block(parts: np.ndarray, sign: float) -> np.ndarray:
            by_x, by_y = parts[:, 0], parts[:, 1]
            if len(parts) == 1:
                return joined(by_x[0] / 2, sign * by_y[0] / 2)
            return joined((by_x[0] - sign * by_y[1]) / 2, (by_x[1] + sign * by_y[0]) / 2)

        return tuple(self._of(leaves[0], lambda parts, sign=sign: block(parts, sign)) for sign in (-1.0, 1.0))


def _cut(matrix: np.ndarray, leaves: Sequence[Leaf], axis: int) -> list[np.ndarray]:
    ends = np.cumsum([leaf.count * math.prod(leaf.shape) for leaf in leaves])[:-1]
    return np.split(matrix, ends, axis)


def _filled(structure: Structure, values: Sequence[Any]) -> Any:
    """The structure with these values, of any kind, in place of its leaves."""
    if isinstance(structure, Tree):
        import jax

        return jax.tree_util.tree_unflatten(structure.definition, values)
    if isinstance(structure, Tuple):
        results, at = [], 0
        for part in structure.parts:
            count = len(part.leaves)
            results.append(_filled(part, values[at : at + count]))
            at += count
        return tuple(results)
    return values[0]


def matrix(verb: str, rows: Structure, columns: Structure) -> Structure:
    """The structure of a Jacobian or a Hessian: an array if both structures are real ones, else blocks."""
    for each in (rows, columns):
        if isinstance(each, Given):
            each.flatten(None, "what is differentiated")
    both = [any(leaf.is_complex for leaf in each.leaves) for each in (rows, columns)]
    if verb == "wirtinger":
        if not all(leaf.is_complex for leaf in columns.leaves):
            raise ArgumentError(
                "wirtinger: the arguments must be complex, but one that is differentiated is real; name others by wrt"
            )
        return Wirtinger(rows, columns)
    if all(both):
        other = "hvp, or grad.wirtinger" if verb == "hessian" else "wirtinger, jvp or vjp"
        raise ArgumentError(
            f"{verb}: a complex function of complex arguments must have two derivatives, but a matrix has one; use {other}"
        )
    if isinstance(rows, Leaf) and isinstance(columns, Leaf) and not any(both):
        return Leaf(rows.shape + columns.shape)
    return Blocks(rows, columns)


class CompressedRows:
    """A sparse matrix in compressed rows, where SciPy is missing: `data`, `indices`, `indptr`, `shape`."""

    def __init__(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]):
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape

    def toarray(self) -> np.ndarray:
        """The matrix with its zeros."""
        dense = np.zeros(self.shape, self.data.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        dense[rows, self.indices] = self.data
        return dense

    def __repr__(self) -> str:
        return f"CompressedRows(shape={self.shape}, {self.data.size} elements)"


class Sparse(Given):
    """The elements of a sparse matrix. The result is a `scipy.sparse.csr_array`, where SciPy is installed."""

    def __init__(self, pattern: tuple[np.ndarray, np.ndarray, tuple[int, int]]):
        self.pattern = pattern
        super().__init__((pattern[1].size,))

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        pointers, columns, shape = self.pattern
        # Copies: methods of SciPy change them in place.
        parts = (leaves[0], columns.copy(), pointers.copy())
        try:
            from scipy.sparse import csr_array
        except ImportError:
            return CompressedRows(*parts, shape)
        return csr_array(parts, shape=shape)
