"""How arguments and results are made of arrays: one array, a tree of JAX, a tuple, a matrix cut into blocks.

Law: `flatten` and `unflatten` are inverse to each other. A structure knows no values.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from ._library import ArgumentError


class Structure:
    """A structure over `count` arrays, which have these shapes."""

    shapes: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        return len(self.shapes)

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        raise NotImplementedError

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        raise NotImplementedError


class Leaf(Structure):
    """One array; a result of rank 0 is a number of NumPy."""

    def __init__(self, shape: tuple[int, ...]):
        self.shapes = (shape,)
        self._shape = shape

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        return (x,)

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        array = leaves[0]
        if array.shape != self._shape:
            array = array.reshape(self._shape)
        return array if self._shape else array[()]


class Tree(Structure):
    """A tree of JAX: tuples, lists, dictionaries, registered classes."""

    def __init__(self, definition: Any, shapes: Sequence[tuple[int, ...]]):
        self.definition, self.shapes = definition, tuple(shapes)

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        import jax

        leaves, definition = jax.tree_util.tree_flatten(x)
        if definition != self.definition:
            raise ArgumentError(
                f"{what} must have the structure {self.definition}, but it has {definition}; pass one like the example"
            )
        return leaves

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        import jax

        return jax.tree_util.tree_unflatten(self.definition, [y if y.shape else y[()] for y in leaves])


class Tuple(Structure):
    """A tuple of structures."""

    def __init__(self, parts: Sequence[Structure]):
        self.parts = tuple(parts)
        self.shapes = tuple(shape for part in parts for shape in part.shapes)

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        if not isinstance(x, (tuple, list)) or len(x) != len(self.parts):
            fact = f"{len(x)} elements" if isinstance(x, (tuple, list)) else f"the type {type(x).__name__}"
            raise ArgumentError(f"{what} must be a tuple of {len(self.parts)}, but it has {fact}; pass one for each")
        return [leaf for k, part in enumerate(self.parts) for leaf in part.flatten(x[k], f"{what}[{k}]")]

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        results, at = [], 0
        for part in self.parts:
            results.append(part.unflatten(leaves[at : at + part.count]))
            at += part.count
        return tuple(results)


class Given(Structure):
    """A result that is made of its arrays alone."""

    def __init__(self, shape: tuple[int, ...]):
        self.shapes = (shape,)

    def flatten(self, x: Any, what: str) -> Sequence[Any]:
        raise ArgumentError(
            f"{what} must be an array or a tree, but it is a sparse matrix or one in blocks; "
            "differentiate in one argument that is an array"
        )


class Blocks(Given):
    """A matrix whose rows are elements of one structure and whose columns are elements of another.

    The result is the first structure, with the second one in place of each leaf, as in JAX.
    """

    def __init__(self, rows: Structure, columns: Structure):
        self.rows, self.columns = rows, columns
        super().__init__(tuple(sum(map(math.prod, each.shapes)) for each in (rows, columns)))

    def unflatten(self, leaves: Sequence[np.ndarray]) -> Any:
        (matrix,) = leaves
        rows = self._cut(matrix, self.rows, 0)
        return _filled(self.rows, [
            _filled(self.columns, [
                block.reshape(shape + other) for block, other in zip(self._cut(row, self.columns, 1), self.columns.shapes)
            ])
            for row, shape in zip(rows, self.rows.shapes)
        ])  # fmt: skip

    @staticmethod
    def _cut(matrix: np.ndarray, structure: Structure, axis: int) -> list[np.ndarray]:
        ends = np.cumsum([math.prod(shape) for shape in structure.shapes])[:-1]
        return np.split(matrix, ends, axis)


def _filled(structure: Structure, values: Sequence[Any]) -> Any:
    """The structure with these values, of any kind, in place of its leaves."""
    if isinstance(structure, Tree):
        import jax

        return jax.tree_util.tree_unflatten(structure.definition, values)
    if isinstance(structure, Tuple):
        results, at = [], 0
        for part in structure.parts:
            results.append(_filled(part, values[at : at + part.count]))
            at += part.count
        return tuple(results)
    return values[0]


def matrix(rows: Structure, columns: Structure) -> Structure:
    """The structure of a Jacobian: an array if both structures are, else blocks."""
    if isinstance(rows, Leaf) and isinstance(columns, Leaf):
        return Leaf(rows.shapes[0] + columns.shapes[0])
    for each in (rows, columns):
        if isinstance(each, Given):
            each.flatten(None, "what is differentiated")
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
