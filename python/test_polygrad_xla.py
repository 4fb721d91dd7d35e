"""Tests of the loader, and the exported cases of `cargo test` run by XLA: `make xla`.

Cases are the files of the folder that POLYGRAD_EXPORT_DIR names: `case.mlir`, and `case.json` with signature, inputs and expected
outputs, whose elements are little endian bytes in hexadecimal.
"""

import json
import os
import pathlib
import time
import unittest

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import mlir
from jax.sharding import Mesh, PartitionSpec

import polygrad_xla

jax.config.update("jax_enable_x64", True)

DTYPES = {"f64": np.dtype("<f8"), "f32": np.dtype("<f4"), "i64": np.dtype("<i8"), "bool": np.dtype("bool")}


def leaves(*kinds):
    return [{"path": path, "shape": list(shape), "dtype": dtype} for path, shape, dtype in kinds]


def module(inputs, outputs, body):
    arguments = ", ".join(f"%a{k}: {of}" for k, of in enumerate(inputs))
    return f"module {{\n func.func public @main({arguments}) -> ({', '.join(outputs)}) {{\n{body}\n }}\n}}"


VECTOR = "tensor<3xf64>"

# The value is `sum w w x`, the gradient in w is `2 w x`, and that in x is not exported.
VALUE_AND_GRADIENT = module(
    [VECTOR, VECTOR, "tensor<i64>"],
    ["tensor<f64>", VECTOR],
    f"""
    %wx = stablehlo.multiply %a0, %a1 : {VECTOR}
    %wwx = stablehlo.multiply %a0, %wx : {VECTOR}
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %value = stablehlo.reduce(%wwx init: %zero) applies stablehlo.add across dimensions = [0] : ({VECTOR}, tensor<f64>) -> tensor<f64>
    %slope = stablehlo.add %wx, %wx : {VECTOR}
    return %value, %slope : tensor<f64>, {VECTOR}""",
)
SIGNATURE = {
    "name": "energy",
    "inputs": leaves(("x.w", [3], "f64"), ("data.0", [3], "f64"), ("data.1", [], "i64")),
    "outputs": leaves(("y.0", [], "f64"), ("y.1.w", [3], "f64")),
}
W, X, N = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, -1.0]), np.int64(7)


def energy(**changes):
    return polygrad_xla.Program(VALUE_AND_GRADIENT, {**SIGNATURE, **changes})


class Loader(unittest.TestCase):
    def test_a_dict_gives_a_dict_and_a_list_a_list(self):
        program = energy()
        given = {"data.1": N, "data.0": X, "x.w": W}
        for run in (program, program.jit()):
            by_path, by_position = run(given), run([W, X, N])
            self.assertEqual(list(by_path), ["y.0", "y.1.w"])
            for outputs in (list(by_path.values()), by_position):
                np.testing.assert_array_equal(outputs[0], (W * W * X).sum())
                np.testing.assert_array_equal(outputs[1], 2 * W * X)

    def test_what_does_not_fit_is_refused_in_words(self):
        program = energy()
        refused = lambda words, run: self.assertRaisesRegex(ValueError, words, run)
        refused(r"needs 3 arrays, but 1 were given", lambda: program([W]))
        refused(r"\['data.1'\] are missing, \['z'\] unknown", lambda: program({"x.w": W, "data.0": X, "z": N}))
        refused(r"exported for x.w: f64\[3\], but this is float64\[2\]", lambda: program([W[:2], X, N]))
        refused(r"exported for data.0: f64\[3\], but this is float32\[3\]", lambda: program([W, X.astype("f4"), N]))
        refused(r"exported for data.1: i64\[\], but this is float64\[\]", lambda: jax.jit(program)([W, X, 7.0]))

    def test_text_and_signature_must_agree(self):
        for changes in (
            {"inputs": SIGNATURE["inputs"][:2]},
            {"outputs": SIGNATURE["outputs"][::-1]},
            {"inputs": leaves(("x.w", [3], "f32"), ("data.0", [3], "f64"), ("data.1", [], "i64"))},
            {"outputs": leaves(("y.0", [], "f64"), ("y.1.w", [4], "f64"))},
        ):
            self.assertRaisesRegex(ValueError, "text and signature must agree", lambda: energy(**changes))
        half = {"inputs": leaves(("x.w", [3], "f16"))}
        self.assertRaisesRegex(ValueError, "element types are f64, f32, i64, bool", lambda: energy(**half))

    def test_a_fault_of_the_text_has_its_line(self):
        wrong = VALUE_AND_GRADIENT.replace("%wwx = stablehlo.multiply", "%wwx = stablehlo.times")
        fault = lambda: polygrad_xla.Program(wrong, SIGNATURE)
        self.assertRaisesRegex(Exception, r"5:\d+: error: custom op 'stablehlo.times' is unknown", fault)

    def test_types_of_64_bits_need_the_option(self):
        jax.config.update("jax_enable_x64", False)
        try:
            self.assertRaisesRegex(ValueError, "64-bit types must be on for x.w", energy)
        finally:
            jax.config.update("jax_enable_x64", True)


class Derivatives(unittest.TestCase):
    """Never a silent zero."""

    def test_a_program_has_none(self):
        program = energy()
        value = lambda w: program([w, X, N])[0]
        for derivative in (jax.grad(value), jax.jit(jax.grad(value)), jax.jacrev(value), jax.value_and_grad(value)):
            self.assertRaisesRegex(ValueError, "No VJP is available", lambda: derivative(W))
        self.assertRaises(TypeError, lambda: jax.jvp(value, (W,), (W,)))
        self.assertRaises(TypeError, lambda: jax.jacfwd(value)(W))
        self.assertRaises(Exception, lambda: jax.linearize(value, W)[1](W))

    def test_value_and_gradient_are_one_function(self):
        value = energy().differentiable()
        for given in (lambda w: [w, X, N], lambda w: {"x.w": w, "data.0": X, "data.1": N}):
            f = lambda w: 3.0 * value(given(jnp.sin(w)))
            for grad in (jax.grad(f), jax.jit(jax.grad(f))):
                np.testing.assert_allclose(grad(W), 6.0 * np.sin(W) * X * np.cos(W), rtol=1e-15)
            np.testing.assert_allclose(jax.jit(f)(W), 3.0 * (np.sin(W) ** 2 * X).sum(), rtol=1e-15)
        # Where nothing depends on the value, its slope is not asked for.
        np.testing.assert_array_equal(jax.grad(lambda w: jax.lax.stop_gradient(value([w, X, N])) + w.sum())(W), np.ones(3))

    def test_a_gradient_that_was_not_exported_is_an_error(self):
        value = energy().differentiable()
        missing = r"its gradient in data.0: f64\[3\] was asked for, but was not exported"
        for f in (lambda x: value([W, x, N]), lambda x: value([x, x, N]), lambda x: value([W, jnp.sin(x), N]) * 0.0):
            self.assertRaisesRegex(ValueError, missing, lambda: jax.grad(f)(X))
            self.assertRaisesRegex(ValueError, missing, lambda: jax.jit(jax.grad(f))(X))
        self.assertRaises(Exception, lambda: jax.hessian(lambda w: value([w, X, N]))(W))
        self.assertRaises(Exception, lambda: jax.grad(lambda w: jax.grad(lambda w: value([w, X, N]))(w).sum())(W))
        self.assertRaises(TypeError, lambda: jax.jvp(lambda w: value([w, X, N]), (W,), (W,)))

    def test_other_outputs_are_no_value_and_gradient(self):
        for outputs in (SIGNATURE["outputs"][:1], SIGNATURE["outputs"][::-1]):
            program = energy()
            program.outputs = [polygrad_xla.Leaf(l["path"], tuple(l["shape"]), l["dtype"]) for l in outputs]
            self.assertRaisesRegex(ValueError, "must be a number and its gradient", program.differentiable)

    def test_a_zero_cotangent_gives_zero(self):
        body = f"""
    %one = stablehlo.constant dense<1.0> : {VECTOR}
    %slope = stablehlo.divide %one, %a0 : {VECTOR}
    %value = stablehlo.constant dense<1.0> : tensor<f64>
    return %value, %slope : tensor<f64>, {VECTOR}"""
        signature = {"name": "pole", "inputs": leaves(("x", [3], "f64")), "outputs": leaves(("y.0", [], "f64"), ("y.1", [3], "f64"))}
        value = polygrad_xla.Program(module([VECTOR], ["tensor<f64>", VECTOR], body), signature).differentiable()
        slope = jax.grad(lambda x: jnp.where(x[0] > 1.0, value([x]), 2.0))(np.zeros(3))
        np.testing.assert_array_equal(slope, np.zeros(3))


def sharded(devices, **changes):
    """The program as `Exported::sharded` writes it, with the vectors divided along an axis of a mesh of so many devices."""
    attribute = lambda axes: f" {{sdy.sharding = #sdy.sharding<@mesh, [{axes}]>}}"
    vector, scalar = attribute('{"data"}'), attribute("")
    lines = VALUE_AND_GRADIENT.splitlines()
    inputs = [VECTOR + vector, VECTOR + vector, "tensor<i64>" + scalar]
    outputs = ["tensor<f64>" + scalar, VECTOR + vector]
    head = module(inputs, outputs, "").splitlines()
    lines[:2] = ["module @energy {", f'  sdy.mesh @mesh = <["data"={devices}]>', head[1]]
    leaf = lambda l: {**l, "sharding": [["data"]] if l["shape"] else []}
    both = {key: list(map(leaf, SIGNATURE[key])) for key in ("inputs", "outputs")}
    return polygrad_xla.Program("\n".join(lines), {**SIGNATURE, **both, "mesh": [["data", devices]], **changes})


class Sharded(unittest.TestCase):
    def test_a_program_with_a_mesh_has_its_shardings(self):
        program = sharded(1)
        outputs = program.jit()({"x.w": W, "data.0": X, "data.1": N})
        np.testing.assert_array_equal(outputs["y.1.w"], 2 * W * X)
        self.assertEqual(outputs["y.1.w"].sharding.spec, PartitionSpec("data"))
        self.assertEqual(outputs["y.0"].sharding.spec, PartitionSpec())
        for changes in ({"mesh": [["data", 2]]}, {"mesh": [["other", 1]]}, SIGNATURE):
            self.assertRaisesRegex(ValueError, "text and signature must agree, but the mesh", lambda: sharded(1, **changes))

    def test_shardings_are_by_path(self):
        program, mesh = energy(), Mesh(np.array(jax.devices()[:1]), ("data",))
        step = program.jit(mesh, inputs={"data.0": PartitionSpec("data")}, outputs={"y.1.w": PartitionSpec("data")})
        outputs = step({"x.w": W, "data.0": X, "data.1": N})
        np.testing.assert_array_equal(outputs["y.1.w"], 2 * W * X)
        self.assertRaisesRegex(ValueError, "mesh .* needs 8 devices", sharded(8).jit)
        unknown = lambda: program.jit(mesh, inputs={"w": PartitionSpec("data")})
        self.assertRaisesRegex(ValueError, r"\['w'\] are none of \['x.w', 'data.0', 'data.1'\]", unknown)


def arrays(texts, leaves):
    return [np.frombuffer(bytes.fromhex(t), DTYPES[l["dtype"]]).reshape(l["shape"]) for t, l in zip(texts, leaves, strict=True)]


def difference(found, expected):
    """The largest difference beside the larger of 1 and the expected number; infinite where one alone is NaN or infinite."""
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(found, expected) else np.inf
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(all="ignore"):
        d = np.abs(found - expected) / np.maximum(1.0, np.abs(expected))
    d = np.where(same, 0.0, np.where(np.isnan(d), np.inf, d))
    return float(d.max(initial=0.0))


class Cases(unittest.TestCase):
    def test_cases_agree(self):
        folder = os.environ.get("POLYGRAD_EXPORT_DIR")
        if not folder:
            self.skipTest("POLYGRAD_EXPORT_DIR names no folder of cases")
        files, start, loose = sorted(pathlib.Path(folder).glob("*.mlir")), time.time(), {}
        self.assertTrue(files, f"there are no cases in {folder}")
        failures = 0
        for file in files:
            with self.subTest(file.stem):
                case = json.loads(file.with_suffix(".json").read_text())
                # Numbers of f64 that are computed from numbers of f32 have the digits of those.
                bound = 1e-5 if "f32>" in file.read_text() else 1e-13
                try:
                    inputs, expected = (arrays(case["values"][key], case[key]) for key in ("inputs", "outputs"))
                    found = polygrad_xla.load(file).jit()(inputs)
                    for leaf, f, e in zip(case["outputs"], found, expected, strict=True):
                        d, allowed = difference(np.asarray(f), e), bound if leaf["dtype"] in ("f64", "f32") else 0.0
                        if allowed < d < np.inf:
                            loose[file.stem] = max(loose.get(file.stem, 0.0), d)
                        self.assertLessEqual(d, max(allowed, case.get("tolerance", 0.0)), f"{leaf['path']}: {f} and {e}"[:400])
                except Exception:
                    failures += 1
                    raise
        print(f"{len(files)} cases, {failures} failures, {time.time() - start:.0f} s")
        print(f"{len(loose)} of them differ by more than 1e-13, or 1e-5 where there is f32, as their tolerance allows; the largest:")
        for name, d in sorted(loose.items(), key=lambda item: -item[1])[:12]:
            print(f"    {d:.0e} {name}")


class Draws(unittest.TestCase):
    def test_draws_of_a_key_are_those_of_jax(self):
        file = pathlib.Path(os.environ.get("POLYGRAD_EXPORT_DIR", "")) / "jax_draws.mlir"
        if not file.exists():
            self.skipTest("POLYGRAD_EXPORT_DIR names no folder with the case jax_draws")
        draws, random, n = polygrad_xla.load(file).jit(), jax.random, (37,)
        for seed in (42, 0, -1, 2**40 + 7):
            key = random.key(seed)
            expected = [
                random.bits(key, n, np.uint32),
                random.bits(key, n, np.uint64),
                random.permutation(key, 37),
                random.uniform(key, n),
                random.normal(key, n),
                random.exponential(key, n),
                random.gumbel(key, n),
                random.uniform(key, n, np.float32),
                random.normal(key, n, np.float32),
                random.key_data(random.split(key, 3)).astype(np.uint64) @ np.array([2**32, 1], np.uint64),
            ]
            for k, (found, known) in enumerate(zip(draws([np.int64(seed)]), expected, strict=True)):
                found, known = np.asarray(found), np.asarray(known)
                with self.subTest(seed=seed, draw=k):
                    if found.dtype == np.int64:
                        np.testing.assert_array_equal(found.astype(np.uint64), known.astype(np.uint64))
                    else:
                        np.testing.assert_array_equal(found, known)


class Faults(unittest.TestCase):
    """Texts with one fault each, of which the reader in the tests of Rust has said whether it takes them."""

    def test_what_the_reader_takes_is_a_text(self):
        folder = pathlib.Path(os.environ.get("POLYGRAD_EXPORT_DIR", "")) / "faults"
        files = sorted(folder.glob("*.mlir")) if "POLYGRAD_EXPORT_DIR" in os.environ else []
        if not files:
            self.skipTest("POLYGRAD_EXPORT_DIR names no folder with texts that have faults")
        stricter, refused = 0, 0
        for file in files:
            try:
                mlir.serialize_portable_artifact(file.read_text(), polygrad_xla.STABLEHLO)
                stricter += file.stem.startswith("refused")
            except Exception as why:
                refused += 1
                self.assertFalse(file.stem.startswith("taken"), f"{file}: {why}"[:600])
        print(f"{len(files)} texts with a fault: JAX refuses {refused}, the reader {refused + stricter}")


if __name__ == "__main__":
    unittest.main()
