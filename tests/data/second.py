"""Second derivatives of the elementwise rows and of small functions of them, over all exponents: tests/data/second.txt.

Run `python tests/data/second.py > tests/data/second.txt`; it needs mpmath. A line has the arguments, each second
derivative (of two arguments xx, xy and yy), and how much of the last places of the arguments it magnifies: the sum of
|a df / da / f| over the arguments a, for the derivative that magnifies most.
"""

import math
import random
import struct

from mpmath import mp, mpf

NEAR = mpf(10) ** -14
LEAST, MOST = mpf(2) ** -1022, mpf(2) ** 1024


def single(x):
    """The nearest number of single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def number(rng, exponent):
    x = math.ldexp(1 + rng.random(), exponent)
    return single(x) if -126 <= exponent <= 126 else x


def sech2(x):
    return mp.sech(x) ** 2


def erfinv(x):
    # Near the ends by the complement, which is exact.
    if abs(x) < mpf(1) / 2:
        y = mp.erfinv(x)
    else:
        y = mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(1 - abs(x)), mp.sqrt(-mp.log(1 - abs(x)))) * mp.sign(x)
    return 2 * y * (mp.sqrt(mp.pi) / 2 * mp.exp(y ** 2)) ** 2


HALF = mpf(1) / 2
# The second derivative, the exponents of arguments, and whether there are negative ones.
UNARY = {
    "recip": (lambda x: 2 / x ** 3, (-340, 340), True),
    "square": (lambda x: mpf(2), (-1020, 1020), True),
    "one_minus_square": (lambda x: mpf(-2), (-1020, 500), True),
    "sqrt": (lambda x: -x ** mpf(-1.5) / 4, (-670, 670), False),
    "exp": (mp.exp, (-1020, 9), True),
    "ln": (lambda x: -1 / x ** 2, (-510, 510), False),
    "log1p": (lambda x: -1 / (1 + x) ** 2, (-1020, 510), False),
    "expm1": (mp.exp, (-1020, 9), True),
    "sin": (lambda x: -mp.sin(x), (-1020, 1020), True),
    "cos": (lambda x: -mp.cos(x), (-1020, 1020), True),
    "tan": (lambda x: 2 * mp.tan(x) * (1 + mp.tan(x) ** 2), (-1020, 1020), True),
    "asin": (lambda x: x / (1 - x ** 2) ** mpf(1.5), (-1020, -1), True),
    "acos": (lambda x: -x / (1 - x ** 2) ** mpf(1.5), (-1020, -1), True),
    "atan": (lambda x: -2 * x / (1 + x ** 2) ** 2, (-1020, 340), True),
    "sinh": (mp.sinh, (-1020, 9), True),
    "cosh": (mp.cosh, (-1020, 9), True),
    "tanh": (lambda x: -2 * mp.tanh(x) * sech2(x), (-1020, 8), True),
    "sech2": (lambda x: (4 - 6 * sech2(x)) * sech2(x), (-1020, 8), True),
    "asinh": (lambda x: -x / (1 + x ** 2) ** mpf(1.5), (-1020, 510), True),
    "acosh": (lambda x: -x / (x ** 2 - 1) ** mpf(1.5), (0, 510), False),
    "atanh": (lambda x: 2 * x / (1 - x ** 2) ** 2, (-1020, -1), True),
    "sigmoid": (lambda x: -mp.tanh(x / 2) * sech2(x / 2) / 4, (-1020, 9), True),
    "softplus": (lambda x: sech2(x / 2) / 4, (-1020, 9), True),
    "gaussian": (lambda x: (4 * x ** 2 - 2) * mp.exp(-x ** 2), (-1020, 4), True),
    "erf": (lambda x: -4 * x * mp.exp(-x ** 2) / mp.sqrt(mp.pi), (-1020, 4), True),
    "erfc": (lambda x: 4 * x * mp.exp(-x ** 2) / mp.sqrt(mp.pi), (-1020, 4), True),
    "erfinv": (erfinv, (-1020, -1), True),
    "lgamma": (lambda x: mp.psi(1, x), (-510, 1020), False),
    "digamma": (lambda x: mp.psi(2, x), (-340, 510), False),
    "trigamma": (lambda x: mp.psi(3, x), (-250, 340), False),
    # Compositions: a second derivative is in range where that of an operand is not.
    "x ln x": (lambda x: 1 / x, (-1020, 1020), False),
    "x^2 ln x": (lambda x: 2 * mp.log(x) + 3, (-60, 60), False),
    "ln^2 x": (lambda x: (2 - 2 * mp.log(x)) / x ** 2, (-510, 510), False),
    "x sqrt x": (lambda x: 3 / (4 * mp.sqrt(x)), (-1020, 680), False),
    "x / (1 + x)": (lambda x: -2 / (1 + x) ** 3, (-1020, 2), False),
    "x ln(1 + x)": (lambda x: 1 / (1 + x) + 1 / (1 + x) ** 2, (-1020, 500), False),
    "x asin x": (lambda x: 2 / mp.sqrt(1 - x ** 2) + x ** 2 / (1 - x ** 2) ** mpf(1.5), (-1020, -1), True),
    "x atan x": (lambda x: 2 / (1 + x ** 2) ** 2, (-1020, 1), True),
    "x^-3": (lambda x: 12 / x ** 5, (-200, 200), True),
    "x^-12": (lambda x: 156 / x ** 14, (-70, 70), True),
}


def steps(low, high):
    """Exponents from low to high, closer to each other around 0 and at the ends of single precision."""
    close = list(range(-6, 7)) + [-12, -16, -24, -30, -40, -60, -66, -80, -100, -126, 12, 16, 24, 30, 40, 60, 66, 80, 100, 126]
    ends = [low, high - 1]
    far = list(range(-1000, 1020, 90))
    return sorted({e for e in close + far + ends if low <= e < high})


def magnified(f, args, value):
    total = mpf(0)
    for k, a in enumerate(args):
        near = list(args)
        near[k] = a * (1 + NEAR)
        total += abs(f(*near) - value) / abs(value) / NEAR if value else 0
    return total


def cell(x):
    return "0" if x == 0 else repr(float(x))


def short(x):
    return f"{float(x):.2g}"


def unary():
    for name, (f, (low, high), signed) in UNARY.items():
        rng = random.Random(name)
        print(f"# {name}")
        points = [number(rng, e) for e in steps(low, high)]
        # Near the ends of the interval from -1 to 1.
        if high == -1:
            points += [single(1 - 2.0 ** -k * (1 + rng.random())) for k in (2, 4, 8, 12, 16, 20)]
        if name == "acosh":
            points += [single(1 + 2.0 ** -k * (1 + rng.random())) for k in (2, 4, 8, 12, 16, 20)]
        for x in points:
            for x in ((x, -x) if signed else (x,)):
                mp.dps = 400 if name in ("sin", "cos", "tan") else 60
                value = f(mpf(x))
                if abs(value) > MOST / 4 or (value and abs(value) < LEAST * 4):
                    continue
                print(x, cell(value), short(magnified(f, [mpf(x)], value)))


def hypot(x, y):
    h = mp.hypot(x, y)
    return [y ** 2 / h ** 3, -x * y / h ** 3, x ** 2 / h ** 3]


def power(x, y):
    z = x ** y
    return [y * (y - 1) * x ** (y - 2), x ** (y - 1) * (1 + y * mp.log(x)), z * mp.log(x) ** 2]


def recip_real(x, y):
    r = x ** 2 + y ** 2
    return [2 * x * (x ** 2 - 3 * y ** 2) / r ** 3, 2 * y * (3 * x ** 2 - y ** 2) / r ** 3, -2 * x * (x ** 2 - 3 * y ** 2) / r ** 3]


def atan2(x, y):
    r = x ** 2 + y ** 2
    return [-2 * x * y / r ** 2, (x - y) * (x + y) / r ** 2, 2 * x * y / r ** 2]


def logaddexp(x, y):
    s = sech2((x - y) / 2) / 4
    return [s, -s, s]


WIDE = [-480, -300, -150, -63, -62, -40, -20, -8, -2, -1, 0, 1, 2, 8, 20, 40, 62, 63, 150, 300, 480]
SOME = [-6, -3, -1, 0, 1, 2, 4]
# The second derivatives, and the exponents of both arguments.
BINARY = {
    "div": (lambda x, y: [mpf(0), -1 / y ** 2, 2 * x / y ** 3], WIDE, WIDE),
    "div_no_nan": (lambda x, y: [mpf(0), -1 / y ** 2, 2 * x / y ** 3], WIDE, [-40, -1, 0, 3, 62]),
    "pow": (power, [-60, -40, -20, -5, -1, 0, 1, 5, 20, 40, 60], SOME),
    "pow_less_one": (lambda x, y: power(x, y - 1), [-60, -40, -20, -5, -1, 0, 1, 5, 20, 40, 60], SOME),
    "atan2": (atan2, WIDE, WIDE),
    "recip_real": (recip_real, [e for e in WIDE if abs(e) < 310], [e for e in WIDE if abs(e) < 310]),
    "hypot": (hypot, WIDE, WIDE),
    "logaddexp": (logaddexp, SOME + [6, 9], SOME + [6, 9]),
    "x^2 / y": (lambda x, y: [2 / y, -2 * x / y ** 2, 2 * x ** 2 / y ** 3], WIDE, WIDE),
    "x / y^2": (lambda x, y: [mpf(0), -2 / y ** 3, 6 * x / y ** 4], [e for e in WIDE if abs(e) < 30], [e for e in WIDE if abs(e) < 9]),
}


def binary():
    for name, (f, xs, ys) in BINARY.items():
        rng = random.Random(name)
        print(f"# {name}")
        pairs = [(i, j) for i in xs for j in ys]
        rng.shuffle(pairs)
        for i, j in pairs[:44]:
            mp.dps = 60
            x, y = number(rng, i), number(rng, j)
            if name not in ("pow", "pow_less_one") and rng.random() < 0.4:
                x = -x
            if name not in ("pow", "pow_less_one", "hypot") and rng.random() < 0.4:
                y = -y
            values = f(mpf(x), mpf(y))
            if any(abs(v) > MOST / 4 or (v and abs(v) < LEAST * 4) for v in values):
                continue
            worst = max(magnified(lambda *a, k=k: f(*a)[k], [mpf(x), mpf(y)], v) for k, v in enumerate(values))
            print(x, y, " ".join(cell(v) for v in values), short(worst))


unary()
binary()
