"""Programs exported by polygrad, as functions of JAX.

    program = load("step.mlir")                     # and step.json beside it, the names and types of inputs and outputs
    step = program.jit()                            # or with a mesh and shardings: see `Program.jit`
    outputs = step({"net/w1": w1, ..})              # a dict gives a dict, a list gives a list, in the order of the program

A program that was exported with a mesh (`Exported::sharded`) runs on as many devices, divided as its attributes say.

Shapes and element types are static, and checked in words. A program has no derivative in JAX: asking for one is an error, never a
silent zero. Export value and gradient together, and `Program.differentiable` makes them one function that `jax.grad` knows.
Needs `jax_enable_x64` for programs with 64-bit types. `vmap` of a program is not supported by JAX.
"""

import dataclasses
import json
import math
import pathlib
import re

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax.extend import mlir
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# The oldest version of StableHLO that has all operations of exported texts: artifacts of it load in later releases.
STABLEHLO = "1.8.0"
DTYPES = {"f64": jnp.float64, "f32": jnp.float32, "i64": jnp.int64, "bool": jnp.bool_}
SPELLED = {"f64": "f64", "f32": "f32", "i64": "i64", "bool": "i1"}


@dataclasses.dataclass(frozen=True)
class Leaf:
    """An input or output: its path in the tree of the Rust program, shape, and element type by the name it has there."""

    path: str
    shape: tuple
    dtype: str
    # The axes of the mesh along which each axis is divided; empty without a mesh.
    sharding: tuple = ()

    def spec(self):
        return PartitionSpec(*[names or None for names in self.sharding])

    def struct(self):
        return jax.ShapeDtypeStruct(self.shape, DTYPES[self.dtype])

    def spelled(self):
        return "tensor<" + "".join(f"{n}x" for n in self.shape) + SPELLED[self.dtype] + ">"

    def __str__(self):
        return f"{self.path}: {self.dtype}{list(self.shape)}"


def load(path, signature=None, platform=None):
    """The program in this file of text. Its signature is read from the file of the same name that ends in `.json`."""
    path = pathlib.Path(path)
    signature = json.loads(pathlib.Path(signature or path.with_suffix(".json")).read_text())
    return Program(path.read_text(), signature, platform)


class Program:
    """A program in StableHLO with its signature, for one platform: by default the one that JAX runs on."""

    def __init__(self, text, signature, platform=None):
        axes = lambda l: tuple(map(tuple, l.get("sharding", ())))
        leaves = lambda key: [Leaf(l["path"], tuple(l["shape"]), l["dtype"], axes(l)) for l in signature[key]]
        self.name, self.inputs, self.outputs = signature["name"], leaves("inputs"), leaves("outputs")
        self.mesh = [(name, size) for name, size in signature.get("mesh", [])]
        for leaf in self.inputs + self.outputs:
            if leaf.dtype not in DTYPES:
                raise ValueError(f"{self.name}: element types are {', '.join(DTYPES)}, but that of {leaf} is none")
            if jax.dtypes.canonicalize_dtype(DTYPES[leaf.dtype]) != DTYPES[leaf.dtype]:
                raise ValueError(
                    f"{self.name}: 64-bit types must be on for {leaf}, but they are off; "
                    'say jax.config.update("jax_enable_x64", True) first'
                )
        # The name of a backend may be that of several platforms: "gpu" is "cuda" or "rocm" to `jax.export`.
        self._call = self._exported(text, platform or jax.export.default_export_platform()).call

    def _exported(self, text, platform):
        """An exported function whose program is the text. Its shell is a function of the same types, of which nothing stays: to
        deserialize what was serialized drops its derivative, which would be that of the shell, and zero."""
        zeros = lambda *_: [jnp.zeros(l.shape, DTYPES[l.dtype]) for l in self.outputs]
        shell = jax.export.export(jax.jit(zeros, keep_unused=True), platforms=[platform])
        shell = shell(*[leaf.struct() for leaf in self.inputs])
        text, mesh, shardings = _without_shardings(text)
        if (mesh, shardings) != (self.mesh, [l.sharding for l in self.inputs + self.outputs if l.sharding] if self.mesh else []):
            raise ValueError(f"{self.name}: text and signature must agree, but the mesh is {mesh} with {shardings}, and {self.mesh}")
        module = mlir.serialize_portable_artifact(text, STABLEHLO)
        shell = dataclasses.replace(shell, fun_name=self.name, mlir_module_serialized=module)
        exported = jax.export.deserialize(shell.serialize())
        found, needed = _types(exported.mlir_module()), [[l.spelled() for l in ls] for ls in (self.inputs, self.outputs)]
        if found != needed:
            raise ValueError(f"{self.name}: text and signature must agree, but the types are {found} and {needed}")
        return exported

    def _checked(self, given):
        """The arguments as a list, checked."""
        if isinstance(given, dict):
            paths = [leaf.path for leaf in self.inputs]
            if set(given) != set(paths):
                missing, unknown = sorted(set(paths) - set(given)), sorted(set(given) - set(paths))
                raise ValueError(f"{self.name}: needs one array for each input, but {missing} are missing, {unknown} unknown")
            given = [given[path] for path in paths]
        if len(given) != len(self.inputs):
            raise ValueError(f"{self.name}: needs {len(self.inputs)} arrays, but {len(given)} were given")
        arrays = [jnp.asarray(a) for a in given]
        for leaf, a in zip(self.inputs, arrays):
            if a.shape != leaf.shape or a.dtype != DTYPES[leaf.dtype]:
                raise ValueError(f"{self.name}: the program was exported for {leaf}, but this is {a.dtype}{list(a.shape)}")
        return arrays

    def __call__(self, given):
        """The outputs, as a dict by path if the inputs are one, or as a list. To be called under `jax.jit`."""
        outputs = self._call(*self._checked(given))
        return dict(zip([l.path for l in self.outputs], outputs)) if isinstance(given, dict) else list(outputs)

    def jit(self, mesh=None, inputs={}, outputs={}, **options):
        """The program compiled. With a mesh: arrays are sharded as `inputs` and `outputs` say, by path or position; others are replicated.
        What XLA makes of it can be seen in `.lower(arrays).compile().as_text()`. Inputs are then a dict. Without one, a program that was
        exported with a mesh has its own, of the first devices of JAX."""
        if mesh is None and not self.mesh:
            return jax.jit(self.__call__, **options)
        if mesh is None:
            mesh = self.devices()
            inputs, outputs = ({l.path: l.spec() for l in leaves} for leaves in (self.inputs, self.outputs))
        sharding = lambda spec: NamedSharding(mesh, spec)
        of = lambda leaves, specs: {l.path: sharding(specs.get(l.path, PartitionSpec())) for l in leaves}
        for leaves, specs in ((self.inputs, inputs), (self.outputs, outputs)):
            if unknown := set(specs) - {l.path for l in leaves}:
                raise ValueError(f"{self.name}: shardings are by path, but {sorted(unknown)} are none of {[l.path for l in leaves]}")
        return jax.jit(self.__call__, in_shardings=(of(self.inputs, inputs),), out_shardings=of(self.outputs, outputs), **options)

    def devices(self):
        """The mesh that the program was exported with, of the first devices of JAX."""
        names, sizes = [name for name, _ in self.mesh], [size for _, size in self.mesh]
        if (needed := math.prod(sizes)) > len(jax.devices()):
            raise ValueError(f"{self.name}: the mesh {dict(self.mesh)} needs {needed} devices, but there are {len(jax.devices())}")
        return Mesh(np.array(jax.devices()[:needed]).reshape(sizes), names)

    def differentiable(self):
        """The value as a function of a dict or list of all inputs that `jax.grad` knows, if the outputs are a number and then its
        gradient in the first inputs, as `value_and_gradient` exports them. A derivative in another float input is an error."""
        value, gradient = self.outputs[0], self.outputs[1:]
        kinds = lambda leaves: [(l.shape, l.dtype) for l in leaves]
        if math.prod(value.shape) != 1 or not gradient or kinds(gradient) != kinds(self.inputs[: len(gradient)]):
            raise ValueError(f"{self.name}: outputs must be a number and its gradient in the first inputs, but they are {list(map(str, self.outputs))}")

        function = jax.custom_vjp(lambda arrays: self._call(*arrays)[0])

        def forward(arrays):
            for leaf, a in list(zip(self.inputs, arrays))[len(gradient) :]:
                if a.perturbed and jnp.issubdtype(a.value.dtype, jnp.floating):
                    raise ValueError(f"{self.name}: its gradient in {leaf} was asked for, but was not exported")
            value, *slopes = self._call(*[a.value for a in arrays])
            return value, slopes

        def backward(slopes, bar):
            if isinstance(bar, jax.custom_derivatives.SymbolicZero):
                return ([None] * len(self.inputs),)
            # A cotangent of zero is zero, as in the exported program, even where the slope is infinite.
            scaled = [jnp.where(bar == 0, jnp.zeros_like(s), bar.reshape(()) * s) for s in slopes]
            return (scaled + [None] * (len(self.inputs) - len(slopes)),)

        function.defvjp(forward, backward, symbolic_zeros=True)
        return lambda given: function(self._checked(given))


def _without_shardings(text):
    """A text without the attributes of the partitioner, its mesh, and the shardings of inputs and outputs."""
    mesh = re.search(r"^  sdy\.mesh @mesh = <\[(.*)\]>\n", text, re.MULTILINE)
    if mesh is None:
        return text, [], []
    axes = [(name, int(size)) for name, size in re.findall(r'"(\w+)"=(\d+)', mesh[1])]
    text = text[: mesh.start()] + text[mesh.end() :]
    attribute = r" \{sdy\.sharding = #sdy\.sharding<@mesh, \[(.*?)\]>\}"
    names = lambda part: tuple(tuple(re.findall(r'"(\w+)"', axis)) for axis in re.findall(r"\{(.*?)\}", part))
    shardings = [names(part) for part in re.findall(attribute, text)]
    return re.sub(attribute, "", text), axes, [of for of in shardings if of]


def _types(text):
    """The types of the inputs and outputs of `main` in a text that MLIR printed."""
    line = next(l for l in text.splitlines() if "func.func public @main" in l)
    inputs, outputs = line.split(") -> ") if ") -> " in line else (line, "")
    types = lambda part: ["tensor<" + piece.split(">")[0] + ">" for piece in part.split("tensor<")[1:]]
    return [types(inputs), types(outputs)]
