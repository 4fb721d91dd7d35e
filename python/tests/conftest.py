"""The goldens of JAX: texts with inputs and results, and the functions that they were exported from."""

import importlib.util
import pathlib

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDENS = ROOT / "tests" / "data" / "jax"
NAMES = sorted(path.stem for path in GOLDENS.glob("*.mlir"))

# The types in which this library holds those of the files.
HELD = {"f64": np.float64, "f32": np.float32, "i1": np.bool_, "ui64": np.uint64}


def programs():
    """The functions of `export_goldens.py`, with their arguments."""
    spec = importlib.util.spec_from_file_location("export_goldens", ROOT / "python" / "export_goldens.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PROGRAMS


def golden(name):
    """The text, the inputs and the results of a run in JAX."""
    text = (GOLDENS / f"{name}.mlir").read_text(encoding="utf-8")
    arrays = {"input": [], "result": []}
    for line in text.splitlines():
        if line.startswith("// "):
            _, kind, head, *numbers = line.split(" ")
            dtype, shape = head.rstrip("]").split("[")
            shape = tuple(int(size) for size in shape.split(",") if size)
            held = HELD.get(dtype, np.int64)
            values = [float(x) if held in (np.float64, np.float32) else int(x) for x in numbers if x]
            arrays[kind].append(np.array(values, held).reshape(shape))
    return text, arrays["input"], arrays["result"]
