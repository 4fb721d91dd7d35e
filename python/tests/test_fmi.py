"""Models in FMPy: descriptions against the schema, a simulation beside its closed form, derivatives beside JAX."""

import os
import shutil
import sys
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
import polygrad
import pytest

fmpy = pytest.importorskip("fmpy")
from fmpy import fmi3  # noqa: E402

if shutil.which("cc") is None:
    pytest.skip("there is no compiler of C", allow_module_level=True)

OMEGA, ZETA = 2.0, 0.1
START = (0.0, np.array([1.0, 0.0]), {"omega": OMEGA, "zeta": ZETA}, 0.0)


def oscillator(t, x, p, force):
    """A damped oscillator with a force: derivatives, and the energy."""
    acceleration = force - 2 * p["zeta"] * p["omega"] * x[1] - p["omega"] ** 2 * x[0]
    return jnp.stack([x[1], acceleration]), 0.5 * (x[1] ** 2 + (p["omega"] * x[0]) ** 2)


def free(t, omega=OMEGA, zeta=ZETA):
    """The position without a force, from 1 at rest."""
    damped = omega * np.sqrt(1 - zeta**2)
    return np.exp(-zeta * omega * t) * (np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t))


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    path = tmp_path_factory.mktemp("fmi") / "oscillator.fmu"
    polygrad.jit(oscillator, *START).to_fmi("oscillator", "txpu", START).save(path)
    return path


def test_description(fmu):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(fmu)) == []
    description = fmpy.read_model_description(str(fmu), validate=True)
    kinds = {v.name: (v.causality, v.variability, v.start) for v in description.modelVariables}
    assert [name for name, kind in kinds.items() if kind[0] == "parameter"] == ["p['omega']", "p['zeta']"]
    assert kinds["x"] == ("local", "continuous", "1.0 0.0") and kinds["t"][0] == "independent"
    assert kinds["p['zeta']"] == ("parameter", "tunable", "0.1")
    (derivative,) = description.derivatives
    assert derivative.variable.derivative.name == "x" and [o.variable.name for o in description.outputs] == ["y1"]
    with zipfile.ZipFile(fmu) as archive:
        assert sorted(archive.namelist())[1:] == ["modelDescription.xml", "sources/buildDescription.xml", "sources/oscillator.c"]


def test_simulation(fmu):
    options = dict(stop_time=5.0, output_interval=0.25, output=["x", "y1"], relative_tolerance=1e-10)
    found = fmpy.simulate_fmu(str(fmu), **options)
    np.testing.assert_allclose(np.stack(found["x"])[:, 0], free(found["time"]), atol=1e-7)
    # Another parameter and start, and a constant force: the position at rest moves.
    moved = {"p['omega']": 3.0, "force": 1.8, "x": [1.2, 0.0]}
    found = fmpy.simulate_fmu(str(fmu), start_values=moved, **options)
    x = np.stack(found["x"])
    np.testing.assert_allclose(x[:, 0], 0.2 + free(found["time"], 3.0), atol=1e-7)
    np.testing.assert_allclose(found["y1"], 0.5 * (x[:, 1] ** 2 + 9 * x[:, 0] ** 2), rtol=1e-12)


def test_sources_alone(tmp_path, monkeypatch):
    """FMPy compiles the sources by itself, as the build description says."""
    # The cmake of this environment.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    if shutil.which("cmake") is None or shutil.which("make") is None:
        pytest.skip("there is no cmake or no make")
    from fmpy.build import build_platform_binary

    path, folder = tmp_path / "sources.fmu", tmp_path / "extracted"
    polygrad.jit(oscillator, *START).to_fmi("sources", "txpu", START).save(path, compiler=None)
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if name.startswith("binaries")]
        archive.extractall(folder)
    build_platform_binary(folder)
    found = fmpy.simulate_fmu(str(folder), stop_time=1.0, output=["x"], relative_tolerance=1e-10)
    np.testing.assert_allclose(np.stack(found["x"])[-1, 0], free(1.0), atol=1e-7)


def test_derivatives(fmu):
    description = fmpy.read_model_description(str(fmu))
    names = {v.name: v.valueReference for v in description.modelVariables}
    model = fmi3.FMU3Model(
        guid=description.guid, unzipDirectory=fmpy.extract(str(fmu)), instanceName="o",
        modelIdentifier=description.modelExchange.modelIdentifier,
    )  # fmt: skip
    model.instantiate()
    model.enterInitializationMode()
    model.exitInitializationMode()
    model.enterContinuousTimeMode()
    x, rng = np.array([0.3, -0.8]), np.random.default_rng(3)
    model.setContinuousStates(np.ctypeslib.as_ctypes(x), 2)

    def flat(v):
        y, energy = oscillator(0.0, v[:2], {"omega": v[2], "zeta": v[3]}, v[4])
        return jnp.append(y, energy)

    jacobian = np.asarray(jax.jacobian(flat)(jnp.array([*x, OMEGA, ZETA, 0.0])))
    knowns = [names[k] for k in ("x", "p['omega']", "p['zeta']", "force")]
    unknowns = [names[k] for k in ("der(x)", "y1")]
    seed, bar = rng.normal(size=5), rng.normal(size=3)
    forward = model.getDirectionalDerivative(unknowns, knowns, list(seed), 3)
    np.testing.assert_allclose(forward, jacobian @ seed, rtol=1e-12)
    reverse = model.getAdjointDerivative(unknowns, knowns, list(bar), 5)
    np.testing.assert_allclose(reverse, bar @ jacobian, rtol=1e-12)
    assert abs(bar @ np.array(forward) - seed @ np.array(reverse)) < 1e-13
    model.terminate()
    model.freeInstance()


def test_what_is_refused(tmp_path):
    f = polygrad.jit(oscillator, *START)
    for roles, start, fact in [
        ("txp", None, "a letter for each of the 4 arguments"),
        ("txpz", None, "txppu|roles"),
        ("tpxu", None, "derivatives of the states"),
        ("txpu", START[0], "start must be a tuple"),
        ("txpu", START[:3], "must have 4 arguments"),
    ]:
        with pytest.raises(polygrad.ArgumentError, match=fact):
            f.to_fmi("f", roles, start)
    with pytest.raises(polygrad.RefusedError):
        f.to_fmi("two words", "txpu")
    with pytest.raises(polygrad.ArgumentError, match="no 'no-such-compiler'"):
        f.to_fmi("f", "txpu").save(tmp_path / "f.fmu", compiler="no-such-compiler")
