"""The declarations for ctypes are those of the header, and errors become exceptions of the right kind."""

import copy
import doctest
import gc
import pickle
import random
import re
import weakref

import numpy as np
import polygrad
import polygrad._function
import polygrad._jax
import pytest
from conftest import ROOT
from polygrad import _library


def test_declarations_are_those_of_the_header():
    header = (ROOT / "capi" / "include" / "polygrad.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = {
        name: 0 if arguments.strip() == "void" else arguments.count(",") + 1
        for name, arguments in re.findall(r"pg_(\w+)\(([^)]*)\);", header)
    }
    ours = {name: len(arguments) for name, arguments in _library.CALLS.items()}
    ours |= {name: len(arguments) for name, (_, arguments) in _library.OTHERS.items()}
    assert ours == declared


def test_structs_are_those_of_the_header():
    header = (ROOT / "capi" / "include" / "polygrad.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for ours, name in ((_library.Slot, "pg_slot"), (_library.Pattern, "pg_pattern")):
        body = re.search(rf"struct {name} \{{(.*?)\}}", header, re.DOTALL)[1]
        assert [field[0] for field in ours._fields_] == re.findall(r"(\w+);", body)
    body = re.search(r"struct pg_array \{(.*?)\}", header, re.DOTALL)[1]
    assert re.findall(r"(\w+ \*?)(\w+);", body) == [("int32_t ", "type"), ("size_t ", "size"), ("void *", "data")]


@pytest.mark.parametrize("module", [polygrad, polygrad._function, polygrad._jax])
def test_examples(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_kinds_of_errors():
    with pytest.raises(polygrad.ProgramError, match="line 5, column 5, quantum"):
        polygrad.load(polygrad.example.replace("stablehlo.sine", "stablehlo.quantum"))
    with pytest.raises(polygrad.ProgramError):
        polygrad.load('{"not": "a program"}')
    with pytest.raises(polygrad.ArgumentError, match="grad: the function must return one float"):
        polygrad.load(polygrad.example).grad.grad([0.0, 0.0])
    with pytest.raises(polygrad.RefusedError):
        polygrad.load(polygrad.example).to_c("not a name")
    with pytest.raises(polygrad.ArgumentError, match="identifier"):
        polygrad.load(polygrad.example).to_c("a\0b")
    for error in (polygrad.ArgumentError, polygrad.ProgramError, polygrad.RefusedError):
        assert issubclass(error, polygrad.PolygradError)


@pytest.mark.parametrize("cut", range(0, len(polygrad.example), 7))
def test_a_text_that_ends_early(cut):
    with pytest.raises((polygrad.ProgramError, FileNotFoundError, IsADirectoryError)):
        polygrad.load("//\n" + polygrad.example[:cut])


@pytest.mark.parametrize("source", [None, 3, b"module", ["module"]])
def test_sources_that_are_neither(source):
    with pytest.raises(polygrad.ArgumentError, match="load: the source must be a path or a text"):
        polygrad.load(source)


def test_files(tmp_path):
    (tmp_path / "f.mlir").write_text(polygrad.example)
    f = polygrad.load(tmp_path / "f.mlir")
    f.save(tmp_path / "f.json")
    x = np.array([0.3, -2.0])
    assert f(x) == polygrad.load(str(tmp_path / "f.json"))(x) == np.sum(np.sin(x) * x)
    with pytest.raises(FileNotFoundError):
        polygrad.load(tmp_path / "missing.mlir")
    (tmp_path / "bytes").write_bytes(b"ML\xefR\x00\xff")
    with pytest.raises(polygrad.ProgramError, match="UTF-8"):
        polygrad.load(tmp_path / "bytes")


def test_copies_and_pickles():
    x = np.array([0.3, -2.0])
    f = polygrad.load(polygrad.example)
    slope = f.grad
    expected = slope(x)
    for made in (copy.copy(slope), copy.deepcopy(slope), pickle.loads(pickle.dumps(slope))):
        np.testing.assert_array_equal(made(x), expected)
        del made
        gc.collect()
    np.testing.assert_array_equal(slope(x), expected)
    with pytest.raises(TypeError, match="sparse"):
        pickle.dumps(f.sparse_hessian)


def test_objects_are_collected_in_any_order():
    functions = [polygrad.load(polygrad.example) for _ in range(10)]
    made = [g for f in functions for g in (f, f.grad, f.hessian, f.sparse_hessian, f.grad.jacobian, f.bind(0, [0.0, 0.0]))]
    handles = [weakref.ref(g._handle) for g in made]
    for g in made:
        g.cycle = made
    random.Random(3).shuffle(made)
    del functions, g
    while len(made) > 1:
        made.pop()
        if len(made) % 7 == 0:
            gc.collect()
    last = made.pop()
    last.cycle = None
    gc.collect()
    assert sum(handle() is not None for handle in handles) <= 6
    assert last.text.startswith("program(")


def test_a_freed_handle_is_refused():
    f = polygrad.load(polygrad.example)
    f._handle.__del__()
    f._handle.__del__()
    for call in (lambda: f([0.0, 0.0]), f.to_c, f.save, lambda: f.grad):
        with pytest.raises(polygrad.ArgumentError, match="must have an address, but it is null"):
            call()


def test_a_derivative_outlives_its_function():
    slope = polygrad.load(polygrad.example).grad
    gc.collect()
    np.testing.assert_array_equal(slope([0.0, 0.0]), [0.0, 0.0])


def test_texts():
    f = polygrad.load(polygrad.example)
    assert repr(f.value_and_grad) == "Function(arg0: float64[2]) -> (float64[], float64[2])"
    source = f.grad.to_c("slope")
    assert "slope" in source.code and "slope" in source.header
    assert "pub fn slope" in f.grad.to_rust("slope")
    assert polygrad.__version__ == "0.1.0"
