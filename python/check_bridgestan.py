"""Eight schools of polygrad, as a shared library, in BridgeStan's Python client and in the sampler nutpie.

    python python/check_bridgestan.py target/release/examples/libeight_schools.so

The client checks values, gradients, Hessians and parameters against formulas in NumPy. The sampler draws from the posterior,
whose means and standard deviations are compared with those of quadrature: the effects of the schools are integrated by hand,
and the mean and the scale by sums over a grid. Each must lie within five standard errors.
"""

import sys

import bridgestan
import numpy as np

Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


def log_density(u, jacobian):
    """The log density of unconstrained parameters, of real or complex numbers."""
    mu, log_tau, eta = u[0], u[1], u[2:]
    tau = np.exp(log_tau)
    value = normal(mu, 0, 5) + np.log(2 / (5 * np.pi)) - np.log(1 + (tau / 5) ** 2) + normal(eta, 0, 1).sum()
    return value + normal(Y, mu + tau * eta, SIGMA).sum() + jacobian * log_tau


def gradient(u, jacobian):
    """By complex steps, which round as the density does."""
    steps = 1e-30j * np.eye(len(u))
    return np.array([log_density(u + step, jacobian).imag / 1e-30 for step in steps])


def check_client(path):
    model = bridgestan.StanModel(path)
    assert model.model_version() == (2, 9, 0) and model.name() == "eight_schools", model.model_version()
    assert "STAN_THREADS=true" in model.model_info()
    assert model.param_names() == ["mu", "tau"] + [f"eta.{k}" for k in range(1, 9)] == model.param_unc_names()
    assert model.param_num(include_tp=True, include_gq=True) == 10 == model.param_unc_num()
    draws = np.random.default_rng(1)
    worst = 0.0
    for jacobian in (True, False):
        for _ in range(20):
            u, v = draws.normal(size=10), draws.normal(size=10)
            value, slope = model.log_density_gradient(u, jacobian=jacobian)
            again, same, hessian = model.log_density_hessian(u, jacobian=jacobian)
            third, product = model.log_density_hessian_vector_product(u, v, jacobian=jacobian)
            # Differences of gradients by complex steps are exact to about 1e-9 of their size.
            h = 1e-5
            rows = [(gradient(u + h * e, jacobian) - gradient(u - h * e, jacobian)) / (2 * h) for e in np.eye(10)]
            assert np.allclose(hessian, rows, rtol=1e-7, atol=1e-7)
            found = [
                value - log_density(u, jacobian),
                again - value,
                third - value,
                model.log_density(u, jacobian=jacobian, propto=False) - value,
                *(slope - gradient(u, jacobian)),
                *(same - slope),
                *(product - hessian @ v),
                *(hessian - hessian.T).ravel(),
                *(model.param_constrain(u) - np.where(np.arange(10) == 1, np.exp(u), u)),
                *(model.param_unconstrain(model.param_constrain(u)) - u),
            ]
            worst = max(worst, np.max(np.abs(found)))
    assert worst < 1e-12, worst
    names = {"mu": 1.0, "tau": 2.0, "eta": [float(k) for k in range(8)]}
    assert np.allclose(model.param_unconstrain_json(names)[:2], [1.0, np.log(2.0)], atol=1e-15)
    first = model.param_initialize(model.new_rng(3), {"tau": 2.0})
    assert abs(first[1] - np.log(2.0)) < 1e-15 and np.all(np.abs(first) <= 2.0)
    try:
        model.param_unconstrain(-model.param_constrain(np.zeros(10)))
        raise AssertionError("a negative scale was taken")
    except RuntimeError as error:
        assert "must lie in its domain" in str(error), error
    print(f"bridgestan {bridgestan.__version__}: values, gradients, Hessians, products and parameters within {worst:.1e}")


def quadrature():
    """Means and standard deviations of mu and tau, with the effects integrated by hand."""
    mu = np.linspace(-25, 35, 1201)
    t = np.linspace(0, np.arctan(400), 4001)[:-1] + np.arctan(400) / 8000
    tau = np.tan(t)
    log = normal(mu, 0, 5)[:, None] + (np.log(2 / (5 * np.pi)) - np.log1p((tau / 5) ** 2) - 2 * np.log(np.cos(t)))[None]
    for y, sigma in zip(Y, SIGMA):
        log = log + normal(y, mu[:, None], np.hypot(sigma, tau)[None])
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    known = {}
    for name, values, marginal in (("mu", mu, weight.sum(1)), ("tau", tau, weight.sum(0))):
        mean = (values * marginal).sum()
        known[name] = (mean, np.sqrt(((values - mean) ** 2 * marginal).sum()))
    return known


def standard_error(chains, f):
    """That of the mean of f over chains, by means of batches."""
    batches = f(chains).reshape(len(chains), 25, -1).mean(axis=2).ravel()
    return batches.std(ddof=1) / np.sqrt(len(batches))


def check_sampler(path):
    try:
        import nutpie
        from nutpie import _lib
        from nutpie.compile_stan import CompiledStanModel
    except ImportError as error:
        print(f"nutpie: nothing was sampled, since it is not installed: {error}")
        return
    library = _lib.StanLibrary(path)
    blank = CompiledStanModel(code="", library=library, dims={}, _coords={}, model_name="eight", model=None, data=None)
    model = blank.with_data(seed=1)
    trace = nutpie.sample(model, draws=2500, tune=1000, chains=4, cores=2, seed=3, progress_bar=False)
    for name, (mean, sd) in quadrature().items():
        chains = np.asarray(trace.posterior[name])
        assert chains.shape == (4, 2500), chains.shape
        for what, f, known in (
            ("mean", lambda x: x, mean),
            ("mean square", lambda x: (x - mean) ** 2, sd**2),
        ):
            error = standard_error(chains, f)
            away = (f(chains).mean() - known) / error
            print(f"nutpie {nutpie.__version__}: {name}, {what} {f(chains).mean():.3f}, known {known:.3f}, {away:+.1f} standard errors")
            assert abs(away) < 5, (name, what, away)


if __name__ == "__main__":
    check_client(sys.argv[1])
    check_sampler(sys.argv[1])
