"""Densities of polygrad, as shared libraries, in BridgeStan's Python client and in the sampler nutpie.

    python python/check_bridgestan.py target/release/examples

Three models: eight schools, an autoregression, and changing volatility. The client checks values, gradients, Hessians and
parameters against formulas in NumPy. The sampler draws from the posterior, whose means and mean squares are compared with
integrals: normal parameters are integrated by hand, and the others by sums over a grid. Each must lie within five standard
errors, those of transformed parameters and generated quantities, too.
"""

import pathlib
import sys

import bridgestan
import numpy as np

from bridgestan_models import MODELS


def close(what, found, known):
    """How far apart two arrays are, relative to the largest number."""
    found, known = np.asarray(found), np.asarray(known)
    assert found.shape == known.shape, (what, found.shape, known.shape)
    error = np.max(np.abs(found - known), initial=0.0) / max(1.0, np.max(np.abs(known), initial=0.0))
    assert error < 1e-12, (what, error)
    return error


def check_client(path, known):
    model = bridgestan.StanModel(path, data=known.data)
    n = len(known.names)
    assert model.model_version() == (2, 9, 0) and model.name() == known.name, model.name()
    assert "STAN_THREADS=true" in model.model_info()
    assert model.param_names() == known.names == model.param_unc_names()
    for tp in (False, True):
        for gq in (False, True):
            names = known.names + known.transformed * tp + known.generated * gq
            assert model.param_names(include_tp=tp, include_gq=gq) == names
            assert model.param_num(include_tp=tp, include_gq=gq) == len(names)
    draws, worst = np.random.default_rng(1), 0.0
    for jacobian in (True, False):
        for _ in range(20):
            u, v = draws.normal(size=n), draws.normal(size=n)
            lp = known.log_density(u, jacobian)
            slope = known.gradient(u, jacobian)
            # The formula of the gradient is tried by that of the value: a complex step rounds as the value does.
            steps = [known.log_density(u + 1e-30j * e, jacobian).imag / 1e-30 for e in np.eye(n)]
            close("the formula", slope, steps)
            hessian = np.array([known.gradient(u + 1e-30j * e, jacobian).imag / 1e-30 for e in np.eye(n)])
            value, gradient = model.log_density_gradient(u, jacobian=jacobian)
            again, same, matrix = model.log_density_hessian(u, jacobian=jacobian)
            third, product = model.log_density_hessian_vector_product(u, v, jacobian=jacobian)
            alone = model.log_density(u, jacobian=jacobian, propto=False)
            x = model.param_constrain(u)
            everything = model.param_constrain(u, include_tp=True, include_gq=True, rng=model.new_rng(1))
            errors = [
                close("values", [value, again, third, alone], [lp] * 4),
                close("gradients", [gradient, same], [slope] * 2),
                close("Hessians", matrix, hessian),
                close("products", product, hessian @ v),
                close("parameters", x, known.constrain(u)[:n]),
                close("transformed parameters", everything[: n + len(known.transformed)], known.constrain(u)),
                close("unconstrained parameters", model.param_unconstrain(x), u),
            ]
            worst = max(worst, *errors)
    wrong = model.param_constrain(np.zeros(n))
    wrong[known.names.index(known.positive)] *= -1
    try:
        model.param_unconstrain(wrong)
        raise AssertionError("a negative scale was taken")
    except RuntimeError as error:
        assert "must lie in its domain" in str(error), error
    first = model.param_initialize(model.new_rng(3), {known.positive: 2.0})
    assert abs(first[known.names.index(known.positive)] - np.log(2.0)) < 1e-15 and np.all(np.abs(first) <= 2.0)
    print(f"bridgestan {bridgestan.__version__}: {known.name}, all derivatives and parameters within {worst:.1e}")


def standard_error(values):
    """That of the mean of draws, chains in rows, by means of batches."""
    batches = values.reshape(len(values), 25, -1).mean(axis=2).ravel()
    return batches.std(ddof=1) / np.sqrt(len(batches))


def check_sampler(path, known):
    import nutpie
    from nutpie import _lib
    from nutpie.compile_stan import CompiledStanModel

    library = _lib.StanLibrary(path)
    blank = CompiledStanModel(code="", library=library, dims={}, _coords={}, model_name=known.name, model=None, data=None)
    model = blank.with_data(seed=1, **(known.data or {}))
    trace = nutpie.sample(model, draws=2500, tune=1000, chains=4, cores=2, seed=3, progress_bar=False)
    worst = 0.0
    for name, (mean, square) in known.moments().items():
        name, *index = name.split(".")
        chains = np.asarray(trace.posterior[name])
        assert chains.shape[:2] == (4, 2500), chains.shape
        for k in index:
            chains = chains[:, :, int(k) - 1]
        for what, values, moment in (("mean", chains, mean), ("mean square", chains**2, square)):
            if moment is None:
                continue
            away = (values.mean() - moment) / standard_error(values)
            print(f"  {name} {' '.join(index)}: {what} {values.mean():.4f}, known {moment:.4f}, {away:+.1f} standard errors")
            assert abs(away) < 5, (name, what, away)
            worst = max(worst, abs(away))
    print(f"nutpie {nutpie.__version__}: {known.name}, all within {worst:.1f} standard errors")


if __name__ == "__main__":
    for known in MODELS:
        names = [f"lib{known.name}.so", f"lib{known.name}.dylib", f"{known.name}.dll"]
        path = str(next(p for p in map(pathlib.Path(sys.argv[1]).joinpath, names) if p.exists()))
        check_client(path, known)
        check_sampler(path, known)
