"""Writes complex.txt, the values of complex functions at hostile points: python complex.py > complex.txt.

A line is a name, the argument and the value. Values are those of mpmath with 700 digits; at points with a zero part, whose
sign decides the side of a branch cut, those of cmath, which follows C.
"""

import cmath
import itertools

import mpmath

mpmath.mp.dps = 700

NAMES = "exp ln sqrt sinh cosh tanh sin cos tan asinh acosh atanh asin acos atan recip square".split()
MPMATH = dict(ln=mpmath.log, recip=lambda z: 1 / z, square=lambda z: z * z)
CMATH = dict(ln=cmath.log)

POINTS = [
    (0.3, 0.4), (-0.7, 0.2), (1.5, -2.5), (-3.0, -1e-3), (0.8, 0.6), (0.6, -0.8), (1 + 1e-9, 1e-9), (1 - 1e-12, -1e-7),
    (1e-300, -1e-300), (1e-300, 1.0), (-1e-20, 1e-20), (1e-9, 2e-9), (5e-324, 5e-324), (1e300, 1e300), (-1e300, 1e-300),
    (1e-5, 1e300), (1e8, 1e-8), (-1e8, -1e-8), (710.0, 1.5), (-740.0, 2.0), (30.0, 1e-10), (1e-20, 1.5707963267948966),
    (0.5, 1e-200), (1.0000000001, 1e-10), (-0.9999999999, 1e-12), (2.0, 1e-300), (-2.0, -1e-300), (1e-10, 1.0000001),
    (-1e-10, -0.9999999), (1e154, 1e154), (0.1, -20.0), (20.0, 0.1), (3.0, 3.0), (0.70710678118654752, 0.70710678118654752),
]

for name, (x, y) in itertools.product(NAMES, POINTS):
    f = MPMATH.get(name, getattr(mpmath, name, None))
    w = f(mpmath.mpc(x, y))
    re, im = float(w.real), float(w.imag)
    # The absolute value of a subnormal number is rounded before its logarithm is taken.
    if max(abs(re), abs(im)) < 1e308 and not (name == "ln" and abs(x) < 1e-307):
        print(name, repr(x), repr(y), repr(re), repr(im))

SIGNS = [(s * a, t * b) for a, b in [(2.5, 0.0), (0.5, 0.0), (0.0, 2.5), (0.0, 0.5)] for s in (1, -1) for t in (1, -1)]
for name, (x, y) in itertools.product(["ln", "sqrt", "asinh", "acosh", "atanh", "asin", "acos", "atan", "exp", "sinh", "tanh"], SIGNS):
    w = CMATH.get(name, getattr(cmath, name, None))(complex(x, y))
    print(name, repr(x), repr(y), repr(w.real), repr(w.imag))
