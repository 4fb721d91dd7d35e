"""Records densities.txt: log densities at large, small and ordinary parameters, computed with 150 digits by mpmath.

    pip install mpmath && python3 tests/data/densities.py > tests/data/densities.txt

Tests read the file; no test runs the script. Each line holds a name, an integer outcome or `-`, the real arguments, the
value, and the gradient; then how much the value, and each part of the gradient, changes if all arguments change by one
part in themselves: what the rounding of arguments is magnified by. Arguments are numbers of both float types.
"""

import math
import random
import struct

from mpmath import mp, mpf

mp.dps = 150
L, ln = mp.loggamma, mp.log


def student_t(x, d, m, s):
    return L((d + 1) / 2) - L(d / 2) - ln(d * mp.pi) / 2 - ln(s) - (d + 1) / 2 * mp.log1p(((x - m) / s) ** 2 / d)


def cauchy(x, m, s):
    return -ln(mp.pi) - ln(s) - mp.log1p(((x - m) / s) ** 2)


def gamma(x, a, b):
    return a * ln(b) - L(a) + (a - 1) * ln(x) - b * x


def inv_gamma(x, a, b):
    return a * ln(b) - L(a) - (a + 1) * ln(x) - b / x


def beta(x, a, b):
    return (a - 1) * ln(x) + (b - 1) * mp.log1p(-x) + L(a + b) - L(a) - L(b)


def neg_binomial_2_log(y, t, d):
    m = mp.exp(t)
    return L(y + d) - L(d) - L(mpf(y) + 1) - y * mp.log1p(d / m) - d * mp.log1p(m / d)


rng = random.Random("densities")


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def between(low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


# Parameters from tiny to very large.
SIZES = [1e-9, 1e-3, 0.3, 1.0, 4.5, 9.99, 10.0, 33.0, 1e3, 1e5, 1e7, 1e9, 1e12]


def points(name):
    for size in SIZES:
        for far in (False, True):
            a, b = size * rng.uniform(0.9, 1.1), between(0.1, 10)
            normal = rng.gauss(0, 1)
            if name == "student_t":
                yield [b * (1e3 if far else normal), a, 0.5 * b, b]
            elif name == "cauchy":
                yield [10.0 ** rng.uniform(-20, 35) if far else normal, 0.5, b]
            elif name == "gamma":
                yield [a / b * (rng.uniform(0.01, 5) if far else max(0.1, 1 + normal / math.sqrt(a))), a, b]
            elif name == "inv_gamma":
                yield [b / a * (rng.uniform(0.01, 5) if far else max(0.1, 1 + normal / math.sqrt(a))), a, b]
            elif name == "beta":
                b = a * rng.uniform(0.5, 2) if not far else rng.choice(SIZES)
                mean = a / (a + b)
                x = single(mean + normal * math.sqrt(mean * (1 - mean) / (a + b + 1)))
                yield [x if 0 < x < 1 else rng.uniform(0.1, 0.9), a, b]
            elif name == "neg_binomial_2_log":
                t = rng.uniform(-2, 9)
                m = math.exp(t)
                y = int(max(0, m + normal * math.sqrt(m + m * m / a))) if not far else int(between(1, 1e5))
                yield [min(y, 2 ** 20), t, a]


def record(name, f, arguments):
    integer = [arguments.pop(0)] if name == "neg_binomial_2_log" else []
    xs = [single(x) for x in arguments]
    exact = [mpf(x) for x in xs]
    n = range(len(xs))

    def slope(*orders):
        counts = tuple(orders.count(k) for k in n)
        return mp.diff(lambda *x: f(*integer, *x), tuple(exact), counts)

    gradient = [slope(k) for k in n]
    magnified = [sum(abs(x * g) for x, g in zip(exact, gradient))]
    magnified += [sum(abs(exact[j] * slope(j, k)) for j in n) for k in n]
    numbers = [f(*integer, *exact)] + gradient
    cells = [repr(float(x)) for x in numbers] + [f"{float(x):.3g}" for x in magnified]
    print(name, integer[0] if integer else "-", *[repr(x) for x in xs], *cells)


for name, f in list(globals().items()):
    if name in ("student_t", "cauchy", "gamma", "inv_gamma", "beta", "neg_binomial_2_log"):
        for arguments in points(name):
            record(name, f, arguments)
