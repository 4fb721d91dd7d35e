"""The models of `check_bridgestan.py` in NumPy: data, densities, gradients by hand, and moments of posteriors by integrals.

Values and gradients take complex numbers, so that steps along the imaginary axis differentiate them to the last digit.
"""

import numpy as np


def normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


def half_cauchy(x, scale):
    return np.log(2 / (np.pi * scale)) - np.log(1 + (x / scale) ** 2)


def sigmoid(u):
    return 1 / (1 + np.exp(-u))


def weights_of(log):
    """The weights of points of a grid, from the logarithms of a density."""
    weights = np.exp(log - log.max())
    return weights / weights.sum()


class Schools:
    """Eight schools: the effects have a common mean and spread."""

    name, data, positive = "eight_schools", None, "tau"
    names = ["mu", "tau"] + [f"eta.{k}" for k in range(1, 9)]
    transformed, generated = [f"theta.{k}" for k in range(1, 9)], []
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def constrain(self, u):
        return np.concatenate([u[:1], np.exp(u[1:2]), u[2:], u[0] + np.exp(u[1]) * u[2:]])

    def log_density(self, u, jacobian):
        mu, tau, eta = u[0], np.exp(u[1]), u[2:]
        prior = normal(mu, 0, 5) + half_cauchy(tau, 5) + normal(eta, 0, 1).sum()
        return prior + normal(self.y, mu + tau * eta, self.sigma).sum() + jacobian * u[1]

    def gradient(self, u, jacobian):
        mu, tau, eta = u[0], np.exp(u[1]), u[2:]
        pull = (self.y - mu - tau * eta) / self.sigma**2
        of_tau = -2 * tau / (25 + tau**2) + (pull * eta).sum()
        return np.concatenate([[-mu / 25 + pull.sum(), tau * of_tau + jacobian], -eta + tau * pull])

    def moments(self):
        """The effects are normal for each mean and spread; those two are summed over a grid."""
        mu = np.linspace(-25, 35, 1201)
        t = np.linspace(0, np.arctan(400), 2001)[:-1] + np.arctan(400) / 4000
        tau = np.tan(t)
        log = normal(mu, 0, 5)[:, None] + (half_cauchy(tau, 5) - 2 * np.log(np.cos(t)))[None]
        for y, sigma in zip(self.y, self.sigma):
            log = log + normal(y, mu[:, None], np.hypot(sigma, tau)[None])
        weight = weights_of(log)
        # The first school: its effect is between what it shows and the mean.
        trust = tau**2 / (tau**2 + self.sigma[0] ** 2)
        centre = trust * self.y[0] + (1 - trust) * mu[:, None]
        spread = trust * self.sigma[0] ** 2
        return {
            "mu": ((weight * mu[:, None]).sum(), (weight * mu[:, None] ** 2).sum()),
            "tau": ((weight * tau).sum(), (weight * tau**2).sum()),
            "theta.1": ((weight * centre).sum(), (weight * (centre**2 + spread)).sum()),
        }


class Autoregression:
    """A series whose numbers depend on the five before."""

    name, positive = "ar_k", "sigma"
    names = ["alpha"] + [f"beta.{k}" for k in range(1, 6)] + ["sigma"]
    transformed, generated = [], [f"forecast.{k}" for k in range(1, 4)]

    def __init__(self):
        draws, y = np.random.default_rng(5), [0.0] * 5
        for _ in range(200):
            y.append(0.4 + np.dot([0.5, -0.3, 0.2, 0.1, -0.1], y[:-6:-1]) + 0.8 * draws.normal())
        y = np.array(y[5:])
        self.data = {"K": 5, "y": y.tolist()}
        self.y = y[5:]
        # A column of ones, and the numbers before, the last one first.
        self.before = np.stack([np.ones(len(y) - 5)] + [y[5 - k : len(y) - k] for k in range(1, 6)], axis=1)
        self.last = np.concatenate([[1.0], y[:-6:-1]])

    def constrain(self, u):
        return np.concatenate([u[:6], np.exp(u[6:])])

    def log_density(self, u, jacobian):
        sigma = np.exp(u[6])
        prior = normal(u[:6], 0, 10).sum() + half_cauchy(sigma, 2.5)
        return prior + normal(self.y, self.before @ u[:6], sigma).sum() + jacobian * u[6]

    def gradient(self, u, jacobian):
        sigma = np.exp(u[6])
        away = (self.y - self.before @ u[:6]) / sigma
        of_log = -2 * sigma**2 / (2.5**2 + sigma**2) + (away**2 - 1).sum() + jacobian
        return np.concatenate([-u[:6] / 100 + self.before.T @ away / sigma, [of_log]])

    def moments(self):
        """The weights are normal for each deviation, which is summed over a grid."""
        logs, x = [], self.last
        sums = {name: [0.0, 0.0] for name in ("alpha", "beta.1", "beta.5", "sigma", "forecast.1", "forecast.2")}
        grid, products, right = np.linspace(-1.5, 1.5, 3001), self.before.T @ self.before, self.before.T @ self.y
        known = []
        for log_sigma in grid:
            variance = np.exp(2 * log_sigma)
            precision = products / variance + np.eye(6) / 100
            mean = np.linalg.solve(precision, right / variance)
            log = -0.5 * (self.y @ self.y / variance - mean @ precision @ mean) - 0.5 * np.linalg.slogdet(precision)[1]
            logs.append(log - len(self.y) * log_sigma + half_cauchy(np.exp(log_sigma), 2.5) + log_sigma)
            known.append((variance, mean, np.linalg.inv(precision)))
        for weight, (variance, mean, covariance) in zip(weights_of(np.array(logs)), known):
            next_one = x @ mean
            # After the first forecast the numbers before are it and the first four.
            later = mean[0] + mean[1] * next_one + covariance[1] @ x + mean[2:] @ x[1:5]
            moments = {
                **{name: (mean[k], mean[k] ** 2 + covariance[k, k]) for k, name in ((0, "alpha"), (1, "beta.1"), (5, "beta.5"))},
                "sigma": (np.sqrt(variance), variance),
                "forecast.1": (next_one, next_one**2 + x @ covariance @ x + variance),
                "forecast.2": (later, np.nan),
            }
            for name, moment in moments.items():
                sums[name] = [total + weight * part for total, part in zip(sums[name], moment)]
        return {name: (mean, None if np.isnan(square) else square) for name, (mean, square) in sums.items()}


class Volatility:
    """Returns whose variance depends on the last return and on the last variance."""

    name, positive = "garch", "alpha0"
    names = ["mu", "alpha0", "alpha1", "share"]
    transformed, generated = ["beta1"], ["next_sd"]

    def __init__(self):
        draws, variance, y = np.random.default_rng(8), 0.8, []
        for _ in range(120):
            y.append(0.5 + np.sqrt(variance) * draws.normal())
            variance = 0.3 + 0.35 * (y[-1] - 0.5) ** 2 + 0.4 * variance
        self.y = np.array(y)
        self.data = {"y": y, "sigma1": 0.9}

    def constrain(self, u):
        alpha1, share = sigmoid(u[2]), sigmoid(u[3])
        return np.stack([u[0], np.exp(u[1]), alpha1, share, share * (1 - alpha1)])

    def variances(self, u):
        """The variance of each return, and that of the next one."""
        mu, alpha0, alpha1, _, beta1 = self.constrain(u)
        variance = 0.81 + 0 * mu
        for y in self.y:
            yield y, variance
            variance = alpha0 + alpha1 * (y - mu) ** 2 + beta1 * variance
        yield None, variance

    def log_density(self, u, jacobian):
        alpha1, share = sigmoid(u[2]), sigmoid(u[3])
        value = np.log(1 - alpha1) + jacobian * (u[1] + np.log(alpha1 * (1 - alpha1)) + np.log(share * (1 - share)))
        for y, variance in self.variances(u):
            if y is not None:
                value = value + normal(y, u[0], np.sqrt(variance))
        return value

    def gradient(self, u, jacobian):
        mu, alpha0, alpha1, share, beta1 = self.constrain(u)
        # The derivatives of a variance in mu, alpha0, alpha1 and beta1.
        change, slope = np.zeros(4, u.dtype), np.zeros(4, u.dtype)
        for y, variance in self.variances(u):
            if y is not None:
                away = y - mu
                slope = slope + (0.5 * away**2 / variance**2 - 0.5 / variance) * change
                slope[0] += away / variance
                change = beta1 * change + np.array([-2 * alpha1 * away, 1.0, away**2, variance])
        of_alpha1 = slope[2] - share * slope[3] - 1 / (1 - alpha1)
        return np.array([
            slope[0],
            slope[1] * alpha0 + jacobian,
            of_alpha1 * alpha1 * (1 - alpha1) + jacobian * (1 - 2 * alpha1),
            slope[3] * (1 - alpha1) * share * (1 - share) + jacobian * (1 - 2 * share),
        ])  # fmt: skip

    def moments(self):
        """Sums over a grid of the unconstrained parameters, which converge fast: another grid gives the same."""
        fine, coarse = self.sums(36), self.sums(30)
        for name, (mean, square) in fine.items():
            assert abs(mean - coarse[name][0]) < 2e-3 * np.sqrt(square - mean**2), (name, mean, coarse[name])
        return fine

    def sums(self, n):
        centre, error = self.y.mean(), self.y.std() / np.sqrt(len(self.y))
        axes = (centre + 7 * error * np.linspace(-1, 1, n), np.linspace(-7.5, 2.0, n), np.linspace(-9, 5, n), np.linspace(-9, 7, n))
        u = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(4, -1)
        weight = weights_of(self.log_density(u, True))
        *_, (_, variance) = self.variances(u)
        values = dict(zip([*self.names, *self.transformed, "next_sd"], [*self.constrain(u), np.sqrt(variance)]))
        return {name: ((weight * x).sum(), (weight * x**2).sum()) for name, x in values.items()}


MODELS = [Schools(), Autoregression(), Volatility()]
