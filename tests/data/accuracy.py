"""Records accuracy.txt: elementwise rows and their derivatives, computed with 60 digits and more by mpmath.

    pip install mpmath && python3 tests/data/accuracy.py > tests/data/accuracy.txt

Tests read the file; no test runs the script. Each line holds the arguments, then the value and the partials: each as the
nearest `f64` and what is missing to the exact number, in thousandths of a unit in the last place. `?` stands for a
number that no convention fixes (a derivative outside of the domain, or on both sides of a pole).
"""

import math
import random
import struct
from fractions import Fraction

from mpmath import mp, mpf

mp.dps = 60
NAN, INF = math.nan, math.inf
TINY, LEAST, MOST = 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308


def exactly(x):
    """An mpf as a fraction."""
    sign, man, exp, _ = x._mpf_
    value = Fraction(int(man)) * Fraction(2) ** int(exp) if abs(exp) < 40000 else Fraction(0)
    return -value if sign else value


def nearest(x):
    """The nearest float and the rest in thousandths of a unit in the last place."""
    if isinstance(x, float):
        return f"{x!r} 0"
    if x == 0:
        return "0.0 0"
    if abs(x) > mpf(2) ** 1025:
        return f"{INF if x > 0 else -INF} 0"
    if abs(x) < mpf(2) ** -1100:
        return f"{math.copysign(0.0, float(mp.sign(x)))} 0"
    exact = exactly(x)
    try:
        near = float(exact)
    except OverflowError:
        return f"{INF if x > 0 else -INF} 0"
    if near == 0:
        near = math.copysign(0.0, float(mp.sign(x)))
    rest = (exact - Fraction(near)) / Fraction(math.ulp(near))
    return f"{near!r} {round(rest * 1000)}"


def cell(x):
    return "? 0" if x is None else nearest(x)


# ---- arguments ----

def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def spread(seed, low, high, n, both=True):
    """Numbers of all magnitudes from `low` to `high`, every other one an f32."""
    rng = random.Random(seed)
    out = []
    for k in range(n):
        x = math.exp(rng.uniform(math.log(low), math.log(high)))
        x = x if k % 2 else single(x)
        out.append(-x if both and rng.random() < 0.5 else x)
    return out


def within(seed, low, high, n):
    rng = random.Random(seed)
    return [single(rng.uniform(low, high)) if k % 2 else rng.uniform(low, high) for k in range(n)]


SPECIAL = [0.0, -0.0, INF, -INF, NAN]
ENDS = [TINY, 1e-310, LEAST, 1e-308, 1e-200, single(1e-30), 1e-16, 2.0 ** -30, single(1e30), 1e155, 1e200, 1e308, MOST]
ONES = [1.0, 1 - 2.0 ** -53, 1 - 2.0 ** -24, 1 + 2.0 ** -52, 1 + 2.0 ** -23, 0.999, 1.0001, 0.5, 2.0]


def signed(xs):
    return [s for x in xs for s in (x, -x)]


COMMON = SPECIAL + signed(ENDS + ONES)


# ---- functions of one argument: value and derivative at finite x, then both at 0, -0, inf, -inf ----

def inside(f, test):
    return lambda x: f(x) if test(x) else (NAN, None)


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def psi(order, x):
    if x > 0 or order > 2:
        return mp.psi(order, x)
    # Reflected, since far below 0 the recurrence would be long.
    angle = mp.pi * x
    other = [mp.pi * mp.cot(angle), -(mp.pi / mp.sin(angle)) ** 2, 2 * mp.pi ** 3 * mp.cos(angle) / mp.sin(angle) ** 3]
    return (-1) ** order * mp.psi(order, 1 - x) - other[order]


def at_pole(x):
    return x <= 0 and x == mp.floor(x)


def lgamma(x):
    if at_pole(x):
        return INF, NAN
    # The relative precision of a small sum: near the zeros of the function 60 digits are not enough for it.
    value = mp.loggamma(x) if x > 0 else mp.log(mp.pi / abs(mp.sin(mp.pi * x))) - mp.loggamma(1 - x)
    return value, psi(0, x)


def digamma(x):
    return (NAN, INF) if at_pole(x) else (psi(0, x), psi(1, x))


def trigamma(x):
    return (INF, NAN) if at_pole(x) else (psi(1, x), psi(2, x))


def gauss(x):
    return mp.exp(-x * x)


ROOT = 2 / mp.sqrt(mp.pi)


def erfinv(x):
    if abs(x) == 1:
        return mp.sign(x) * INF, INF
    y = mp.erfinv(x)
    return y, 1 / (ROOT * gauss(y))


HUGE_ANGLES = [math.pi / 4, math.pi / 2, math.pi, 3 * math.pi / 2, 2 * math.pi, 100 * math.pi, 710.0, 1e5, 1e10, 1e22,
               6381956970095103.0 * 2.0 ** 797]
EXPONENTS = [1e-5, 0.1, 0.3, 0.7, 1.5, 3.0, 5.0, 10.0, 19.0, 19.1, 22.0, 36.5, 37.0, 40.0, 88.0, 100.0, 300.0, 353.0, 372.0, 700.0,
             708.0, 709.7, 710.4, 720.0, 744.0, 746.0]

H = mp.mpf(1) / 2
UNARY = {
    "neg": (lambda x: (-x, -mpf(1)), [(-0.0, -1.0), (0.0, -1.0), (-INF, -1.0), (INF, -1.0)], []),
    "abs": (lambda x: (abs(x), mp.sign(x)), [(0.0, 0.0), (0.0, 0.0), (INF, 1.0), (INF, -1.0)], []),
    "recip": (lambda x: (1 / x, -1 / x ** 2), [(INF, -INF), (-INF, -INF), (0.0, 0.0), (-0.0, 0.0)],
              spread("recip", 1e-150, 1e150, 24)),
    "square": (lambda x: (x * x, 2 * x), [(0.0, 0.0), (0.0, 0.0), (INF, INF), (INF, -INF)], spread("square", 1e-150, 1e150, 12)),
    "one_minus_square": (lambda x: ((1 - x) * (1 + x), -2 * x), [(1.0, 0.0), (1.0, 0.0), (-INF, -INF), (-INF, INF)],
                         spread("one_minus_square", 1e-150, 1e150, 12) + within("one_minus_square", -1, 1, 12)),
    "sqrt": (inside(lambda x: (mp.sqrt(x), H / mp.sqrt(x)), lambda x: x > 0), [(0.0, INF), (-0.0, None), (INF, 0.0), (NAN, None)],
             spread("sqrt", 1e-300, 1e300, 24, False)),
    "exp": (lambda x: (mp.exp(x), mp.exp(x)), [(1.0, 1.0), (1.0, 1.0), (INF, INF), (0.0, 0.0)], signed(EXPONENTS)),
    "ln": (inside(lambda x: (mp.log(x), 1 / x), lambda x: x > 0), [(-INF, INF), (-INF, None), (INF, 0.0), (NAN, None)],
           spread("ln", 1e-300, 1e300, 24, False)),
    "log1p": (inside(lambda x: (-INF, INF) if x == -1 else (mp.log1p(x), 1 / (1 + x)), lambda x: x >= -1), [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (NAN, None)],
              spread("log1p", 1e-12, 0.99, 24) + spread("log1p", 1, 1e20, 8, False)),
    "expm1": (lambda x: (mp.expm1(x), mp.exp(x)), [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-1.0, 0.0)],
              signed(EXPONENTS) + spread("expm1", 1e-12, 1, 12)),
    "sin": (lambda x: (mp.sin(x), mp.cos(x)), [(0.0, 1.0), (-0.0, 1.0), (NAN, None), (NAN, None)],
            signed(HUGE_ANGLES) + spread("sin", 1e-5, 1e5, 24)),
    "cos": (lambda x: (mp.cos(x), -mp.sin(x)), [(1.0, 0.0), (1.0, 0.0), (NAN, None), (NAN, None)],
            signed(HUGE_ANGLES) + spread("cos", 1e-5, 1e5, 24)),
    "tan": (lambda x: (mp.tan(x), 1 + mp.tan(x) ** 2), [(0.0, 1.0), (-0.0, 1.0), (NAN, None), (NAN, None)],
            signed(HUGE_ANGLES) + spread("tan", 1e-5, 1e5, 24)),
    "asin": (inside(lambda x: (mp.asin(x), INF if abs(x) == 1 else 1 / mp.sqrt(1 - x * x)), lambda x: abs(x) <= 1),
             [(0.0, 1.0), (-0.0, 1.0), (NAN, None), (NAN, None)], within("asin", -1, 1, 24)),
    "acos": (inside(lambda x: (mp.acos(x), -INF if abs(x) == 1 else -1 / mp.sqrt(1 - x * x)), lambda x: abs(x) <= 1),
             [(mp.pi / 2, -1.0), (mp.pi / 2, -1.0), (NAN, None), (NAN, None)], within("acos", -1, 1, 24)),
    "atan": (lambda x: (mp.atan(x), 1 / (1 + x * x)), [(0.0, 1.0), (-0.0, 1.0), (mp.pi / 2, 0.0), (-mp.pi / 2, 0.0)],
             spread("atan", 1e-3, 1e3, 24) + signed([1e150, 1.3e154])),
    "sinh": (lambda x: (mp.sinh(x), mp.cosh(x)), [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)], signed(EXPONENTS)),
    "cosh": (lambda x: (mp.cosh(x), mp.sinh(x)), [(1.0, 0.0), (1.0, 0.0), (INF, INF), (INF, -INF)], signed(EXPONENTS)),
    "tanh": (lambda x: (mp.tanh(x), mp.sech(x) ** 2), [(0.0, 1.0), (-0.0, 1.0), (1.0, 0.0), (-1.0, 0.0)],
             signed(EXPONENTS) + spread("tanh", 1e-3, 350, 24)),
    "sech2": (lambda x: (mp.sech(x) ** 2, -2 * mp.tanh(x) * mp.sech(x) ** 2), [(1.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)],
              signed(EXPONENTS) + spread("sech2", 1e-3, 350, 24)),
    "asinh": (lambda x: (mp.asinh(x), 1 / mp.sqrt(1 + x * x)), [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0)],
              spread("asinh", 1e-3, 1e3, 24) + signed([1e8, 3e8, 1e100, 1e154, 9e307])),
    "acosh": (inside(lambda x: (mp.acosh(x), INF if x == 1 else 1 / mp.sqrt(x * x - 1)), lambda x: x >= 1),
              [(NAN, None), (NAN, None), (INF, 0.0), (NAN, None)],
              [1 + x for x in spread("acosh", 1e-12, 1e3, 24, False)] + [1e8, 3e8, 1e100, 1e154, 9e307]),
    "atanh": (inside(lambda x: ((mp.sign(x) * INF, INF) if abs(x) == 1 else (mp.atanh(x), 1 / (1 - x * x))), lambda x: abs(x) <= 1),
              [(0.0, 1.0), (-0.0, 1.0), (NAN, None), (NAN, None)],
              within("atanh", -1, 1, 24) + signed([0.9999, 0.999999, 0.9999999999, 1e-5, 1e-9])),
    "sigmoid": (lambda x: (sigmoid(x), sigmoid(x) * sigmoid(-x)), [(0.5, 0.25), (0.5, 0.25), (1.0, 0.0), (0.0, 0.0)],
                signed(EXPONENTS) + spread("sigmoid", 1e-3, 700, 24)),
    "relu": (lambda x: (max(x, mpf(0)), mpf(1) if x > 0 else mpf(0)), [(0.0, 0.0), (0.0, 0.0), (INF, 1.0), (0.0, 0.0)], []),
    "softplus": (lambda x: (mp.log1p(mp.exp(x)), sigmoid(x)), [(mp.log(2), 0.5), (mp.log(2), 0.5), (INF, 1.0), (0.0, 0.0)],
                 signed(EXPONENTS) + spread("softplus", 1e-3, 700, 24)),
    # The derivative at infinity is a product of infinity and 0.
    "gaussian": (lambda x: (gauss(x), -2 * x * gauss(x)), [(1.0, 0.0), (1.0, 0.0), (0.0, None), (0.0, None)],
                 signed([5.0, 9.0, 26.0, 26.5, 26.6, 27.0, 28.0, 40.0]) + spread("gaussian", 1e-3, 26, 24)),
    "erf": (lambda x: (mp.erf(x), ROOT * gauss(x)), [(0.0, ROOT), (-0.0, ROOT), (1.0, 0.0), (-1.0, 0.0)],
            signed([5.0, 6.0, 9.0, 26.0, 26.5, 27.0]) + spread("erf", 1e-3, 26, 24)),
    "erfc": (lambda x: (mp.erfc(x) if abs(x) < 1e5 else mpf(2 if x < 0 else 0), -ROOT * gauss(x)), [(1.0, -ROOT), (1.0, -ROOT), (0.0, 0.0), (2.0, 0.0)],
             signed([5.0, 6.0, 9.0, 26.0, 26.5, 27.0]) + spread("erfc", 1e-3, 26, 24)),
    "erfinv": (inside(erfinv, lambda x: abs(x) <= 1), [(0.0, 1 / ROOT), (-0.0, 1 / ROOT), (NAN, None), (NAN, None)],
               within("erfinv", -1, 1, 24) + spread("erfinv", 1e-12, 0.1, 12) + signed([0.1, 0.4999, 0.999999, 0.9999999999])),
    "lgamma": (lgamma, [(INF, None), (INF, None), (INF, INF), (INF, None)],
               [-3.0, -2.5, -2.457, -7.25, -20.5, 3.0, 1.4616321449683623, 1e5, 1e10, 2.5e305] + spread("lgamma", 1e-3, 170, 24, False)),
    "digamma": (digamma, [(NAN, INF), (NAN, INF), (INF, 0.0), (NAN, None)],
                [-3.0, -2.5, -7.25, -20.5, 3.0, 1.4616321449683623, 1e5, 1e10, 2.5e305] + spread("digamma", 1e-3, 170, 24, False)),
    "trigamma": (trigamma, [(INF, NAN), (INF, NAN), (0.0, -0.0), (NAN, NAN)],
                 [-3.0, -2.5, -7.25, -20.5, 3.0, 1e5, 1e10] + spread("trigamma", 1e-3, 170, 24, False)),
}
# Functions whose arguments far below zero are all poles or of no use in a table.
POSITIVE = {"lgamma", "digamma", "trigamma"}


# The worst of many random points of each row, beside those above.
WORST = {
    "lgamma": [-14.99999999999921, -12.999999999839376, 9.915765846491023, 8.00321745212532, 0.5289073843857017, -32.999999999785004,
               -28.999951112782497, -2.6697925523314834, -174.50001852541277, -100.01800834766281, -46.82074489650224],
    "digamma": [0.5000000000000132, -34601077086.95901, 0.9999999945560619, 0.5156468177255834, 1.4616321052446042, 9.252383668506873,
                -5.565958664161794, -5.667162441556892, -11.80729597865453, -21.002809423890266, -8445434.952984286, -31766.90633319818,
                -18571201.90935373],
    "trigamma": [-2.4994443912584825, -0.4957156769130384, 10.488396210856084, 0.41879850514458683, 0.3548372182474746,
                 -37.090508702847835, -22.902576474429384, -13.041219408931298, -12.082784006593027, -1243321977.0315251,
                 -231125549.20099977, -2924598316.8721123],
    "gaussian": [-0.6205992114628205, 26.678698069259195, 26.685937100368438, 9.498559951782227],
    "erfinv": [0.9999999999998263, 0.9999867081642151, 0.9927853575469823, 0.999999943001646, 0.9999999981843212, -0.36520329117774963],
    "polygamma": [(7.243388800191291e+157, 2.0), (31.017965723980385, 15.0), (3.0000005853046616, 15.0), (30.43751938112511, 15.0),
                  (0.04254909286656824, 2.0), (-26.515424682645914, 10.0), (-15.742528169445151, 2.0), (-19.463631230131256, 5.0),
                  (-7.156930854263514, 4.0), (-56.50000000323304, 4.0), (-53.49999993408274, 3.0), (-51.500000154125246, 3.0)],
    "recip": [1.1116442309014257e-05, -1.4488881826400757],
    "one_minus_square": [-1.564213694713088e-06, -0.006924571003764868],
    "sqrt": [16.842005540232428, 64.40309143066406],
    "log1p": [0.6364116641791373, 1.007652022218023, 1.000010214585224, -0.30180656909942627, 15.2559175491333],
    "expm1": [0.49325670533891164, 26.743019104003906],
    "tan": [2263.517578125, -1851.9688720703125],
    "asin": [-0.9613032983058284, 0.9999999978397516, 0.6059417724609375, -0.806984007358551],
    "acos": [0.8567355102572649, -0.9993016386148436, -0.5312898755073547, -0.9999597668647766],
    "atan": [-1.0422306460657096, -0.6800881624221802],
    "sinh": [-0.8223335984214908, 1.8821667049160702, -0.4583730697631836, -1.0801982879638672],
    "cosh": [1.251332386926519, -0.4083679042875419, -2.017157793045044, -0.7675997614860535],
    "tanh": [-0.3978104933417774, -2.0733488944300458, -0.5430886149406433],
    "sech2": [1.706227111078917, -0.9050026654490022, -0.9999999999999893, 0.9999999999999893, 0.19624631106853485],
    "asinh": [-1.1378090376158123, -0.24820680381822502, -0.0030974481001051035, 0.23672643303871155],
    "acosh": [1.0070716586146198, 1.0280072946834475, 1099.7603006142601, 273.4453870558982, 1.4190770387649536],
    "atanh": [0.22079225097978172, 0.4331460287518052, 0.6562799681156918, -0.6928649544715881],
    "sigmoid": [-3.4435311271307087, -5.56261736766899, -1.9835093021392822],
    "softplus": [-1.320652422890914, -2.790496973920357, 0.27613887190818787, -2.7719945907592773],
    "erf": [-0.0019918832712033105, 0.5835301081382436, -1.7751947298159505, -0.35370883345603943],
    "erfc": [0.8180068982258505, 2.367523199830411, 0.9840197100341075, -1.000178386502541, 2.6649487018585205],
    "div": [(0.0010140591201205018, 0.0010140591182316693), (-0.003943192151007028, -0.003943192151006804),
            (0.0013762166490778327, 0.010256599634885788)],
    "pow": [(3.920165374081871e+95, 0.055343228723957284), (0.02054736204445362, 24.235397338867188),
            (0.0034312973730266094, 15.58430290222168)],
    "pow_less_one": [(6.982199924454912e+25, -0.01446659220870789), (4.711868129647435e-224, -0.00014000389094644223),
                     (2.113202908533527e-33, -7.388222256210497e-10), (0.0026190336793661118, -7.592113971710205),
                     (398.7563781738281, -13.778053283691406)],
    "atan2": [(2.864518986897616e-309, 2.86451898689729e-309), (-4.204552195284503e-309, -4.2035256932837e-309),
              (57.69727325439453, 56.795753479003906)],
    "recip_real": [(-1.2476198252323796e-308, -1.2476198205846334e-308), (2.03369784556952e-163, 2.0336978455694043e-163),
                   (2.1453884760820596, 2.1453886039571777), (-0.004033175870084618, 0.0011682356253392484),
                   (15.874015808105469, -1.1915682554244995), (0.18176308274269104, 0.18176308274269104)],
    "hypot": [(1.0217006398449435e-308, 1.021700640082827e-308), (-8.690257924359407e-309, -1.086282240544926e-308),
              (-2319849.1567488, 2011.040060044246), (0.003330861663459964, -0.2548207560475699), (-2319849.25, 2011.0400390625),
              (-0.023115964606404305, 0.058767858892679214)],
    "div_no_nan": [(4.6908049150935645, -0.07277775520775626), (0.0010235949671374162, 0.001021595758217226),
                   (606511300608.0, 1.1944368020697094e-13)],
    "logaddexp": [(-0.18829002169313022, 661.1268699731401), (0.20023895963452606, 547.4296449885497),
                  (595.5347092857199, 1.49539739024107), (-0.5623024512249858, -692.465457096148),
                  (0.8255102038383484, 0.8255101442337036), (-39.46232223510742, 38.189117431640625),
                  (33.13371276855469, -32.81351089477539)],
}


def unary(name):
    f, special, more = UNARY[name]
    at = {"0.0": special[0], "-0.0": special[1], "inf": special[2], "-inf": special[3]}
    xs = COMMON + more + WORST.get(name, [])
    if name in POSITIVE:
        xs = [x for x in xs if x in WORST.get(name, []) or (not x < -1e6 and not -1e-300 < x < 0)]
    for x in dict.fromkeys(xs):
        if x != x:
            slope = {"neg": -1.0, "relu": 0.0}.get(name, NAN)
            yield [x], [NAN, slope]
        elif repr(x) in at:
            yield [x], list(at[repr(x)])
        else:
            yield [x], list(f(mpf(x)))


# ---- functions of two arguments: python floats in, [value, left, right] out ----

def product(x, y):
    """The IEEE product, exact where finite."""
    return mpf(x) * mpf(y) if math.isfinite(x) and math.isfinite(y) and x != 0 and y != 0 else x * y


def quotient(x, y):
    if y == 0:
        return NAN if x == 0 or x != x else math.copysign(INF, x) * math.copysign(1.0, y)
    return mpf(x) / mpf(y) if math.isfinite(x) and math.isfinite(y) and x != 0 else x / y


def add(x, y):
    return mpf(x) + mpf(y) if math.isfinite(x) and math.isfinite(y) and x + y != 0 else x + y


def div(x, y):
    z = quotient(x, y)
    if not math.isfinite(x) or not math.isfinite(y) or y == 0:
        return [z, quotient(1.0, y), None]
    return [z, quotient(1.0, y), -mpf(x) / mpf(y) ** 2]


def div_no_nan(x, y):
    z, slope, other = div(x, y)
    return [0.0, slope, None if math.isnan(y) or y == 0 else 0.0] if x == 0 else [z, slope, other]


def power(x, y):
    """x^y for finite x and y; NaN or an infinity as IEEE says."""
    if x == 0 or (x < 0 and y != math.floor(y)):
        try:
            return float(x) ** float(y) if x == 0 else NAN
        except ZeroDivisionError:
            odd = y == math.floor(y) and math.fmod(y, 2) != 0
            return math.copysign(INF, x) if odd else INF
    return mp.power(mpf(x), mpf(y))


def ieee_pow(x, y):
    if x == 0 and y < 0:
        return power(x, y)
    try:
        return math.pow(x, y)
    except (ValueError, OverflowError):
        return NAN


def pow_row(x, y):
    if not (math.isfinite(x) and math.isfinite(y)):
        return [ieee_pow(x, y), None, None]
    z = power(x, y)
    if isinstance(z, float) and z != z:
        return [NAN, None, None]
    left = 0.0 if y == 0 else None
    if y != 0 and (x != 0 or y >= 1):
        # The exact exponent: y - 1 need not be a float.
        left = mpf(y) * mp.power(mpf(x), mpf(y) - 1) if x != 0 else (mpf(1) if y == 1 else 0.0)
    elif y != 0 and y > 0:
        left = INF
    if x > 0:
        right = z * mp.log(mpf(x))
    else:
        right = 0.0 if x == 0 and y >= 0 else None
    return [z, left, right]


def pow_less_one(x, y):
    if not (math.isfinite(x) and math.isfinite(y)):
        return [ieee_pow(x, y - 1), None, None]
    if x == 0:
        return [power(x, y - 1), None, 0.0 if y >= 1 else None]
    if x < 0 and y != math.floor(y):
        return [NAN, None, None]
    z = mp.power(mpf(x), mpf(y) - 1)
    return [z, (mpf(y) - 1) * mp.power(mpf(x), mpf(y) - 2), z * mp.log(mpf(x)) if x > 0 else None]


def atan2(x, y):
    if not (math.isfinite(x) and math.isfinite(y)) or (x == 0 and (y == 0 or y > 0)):
        z = math.atan2(x, y)
        sizes = {0.0: z, math.pi: mp.pi, math.pi / 2: mp.pi / 2, math.pi / 4: mp.pi / 4, 3 * math.pi / 4: 3 * mp.pi / 4}
        exact = sizes.get(abs(z))
        z = z if z != z or z == 0 else mp.sign(mpf(z)) * exact
        if x == 0 and y != 0 and math.isfinite(y):
            return [z, 1 / mpf(y), 0.0]
        return [z, NAN if x == 0 and y == 0 else None, NAN if x == 0 and y == 0 else None]
    z = mp.atan2(mpf(x), mpf(y))
    if x == 0:
        z = mp.pi if math.copysign(1.0, x) > 0 else -mp.pi
    r = mpf(x) ** 2 + mpf(y) ** 2
    return [z, mpf(y) / r, -mpf(x) / r]


def recip_real(x, y):
    if not (math.isfinite(x) and math.isfinite(y)):
        return [NAN if math.isnan(x) or math.isnan(y) else None, None, None]
    if x == 0 and y == 0:
        return [NAN, NAN, NAN]
    x, y, zero = mpf(x), mpf(y), math.copysign(0.0, x)
    r = x ** 2 + y ** 2
    if max(abs(x), abs(y)) / r > mpf(MOST):
        # The partials are made of the value and of that with the arguments exchanged, of which one is infinite.
        return [x / r if x != 0 else zero, None, None]
    return [x / r if x != 0 else zero, (y - x) * (y + x) / r ** 2, -2 * x * y / r ** 2]


def hypot(x, y):
    if not (math.isfinite(x) and math.isfinite(y)):
        return [INF if math.isinf(x) or math.isinf(y) else NAN, None, None]
    if x == 0 and y == 0:
        return [0.0, 0.0, 0.0]
    z = mp.sqrt(mpf(x) ** 2 + mpf(y) ** 2)
    # Where the length overflows its partials are those of an infinite number, and where it is subnormal those of a rounded
    # one: they are not recorded.
    far = z > mpf(MOST) or z < mpf(LEAST)
    return [z] + [None if far else mpf(side) / z for side in (x, y)]


def sign(x):
    return x if x != x else (0.0 if x == 0 else math.copysign(1.0, x))


def copysign(x, y):
    slope = sign(x) * math.copysign(1.0, y) if y == y else None
    return [NAN if x != x else (math.copysign(x, y) if y == y else None), slope, 0.0]


def extremum(first):
    def f(x, y):
        left = first(x, y) or x != x
        return [x if left else y, float(left), float(not left)]
    return f


def mul_no_nan(x, y):
    return [0.0 if x == 0 or y == 0 else product(x, y), y, x]


def logaddexp(x, y):
    if x != x or y != y:
        return [NAN, NAN, NAN]
    if math.isinf(x) or math.isinf(y):
        big = max(x, y)
        if x == y:
            return [big, None, None]
        # The sum begins with a logarithm that is +0.
        return [big + 0.0, float(x > y), float(y > x)]
    big, small = mpf(max(x, y)), mpf(min(x, y))
    # More digits: the sum is much smaller than the larger argument where both are near -ln 2.
    return [big + mp.log1p(mp.exp(small - big)), sigmoid(mpf(x) - mpf(y)), sigmoid(mpf(y) - mpf(x))]


def pairs(seed, low, high, n, signs="++"):
    rng = random.Random(seed)
    xs, ys = spread(seed + "x", low, high, 2 * n), spread(seed + "y", low, high, 2 * n)
    rng.shuffle(ys)
    out = []
    for k in range(n):
        # Both of one precision, so that f32 has its share.
        x, y = (single(abs(xs[k])), single(abs(ys[k]))) if k % 2 else (abs(xs[k]), abs(ys[k]))
        x = x if signs[0] == "+" or rng.random() < 0.5 else -x
        y = y if signs[1] == "+" or rng.random() < 0.5 else -y
        out.append((x, y))
    return out


def polygamma(x, n):
    """The derivative of order n of digamma, and its own; orders are integers."""
    if x != x or x == -INF or n != n or n == INF or n < 0:
        return [NAN, None, 0.0]
    if x == INF:
        return [INF if n == 0 else (0.0 if n % 2 else -0.0), None, 0.0]
    if at_pole(x):
        value = [NAN, INF]
        return [value[int(n) % 2], value[int(n + 1) % 2], 0.0]
    return [psi(int(n), mpf(x)), psi(int(n) + 1, mpf(x)), 0.0]


def orders(seed):
    """Positive numbers of all magnitudes and orders up to 20, and negative numbers."""
    near = [(x, float(k % 21)) for k, x in enumerate(spread(seed, 1e-3, 170, 42, False))]
    far = [(1e5, 2.0), (1e150, 2.0), (1e10, 7.0), (1e16, 18.0), (1e-16, 9.0), (2.0, 40.0), (30.5, 60.0), (3.0, 150.0)]
    return near + far + [(-0.3, 2.0), (-2.4, 3.0), (-7.25, 4.0), (-20.6, 5.0), (-2.125, 10.0), (-0.75, 11.0), (-3.9, 20.0)]


CORNERS = [0.0, -0.0, 1.0, -2.5, INF, -INF, NAN]
CORNER_PAIRS = [(x, y) for x in CORNERS for y in CORNERS]
EXTREMES = [(1e308, 1e308), (1e308, 1.0), (1.0, 1e308), (1e200, 1e200), (1e200, -3e200), (1e-200, 1e-200), (3e-200, -1e-200),
            (1e-308, 1e-308), (1e-308, 1e308), (1e308, 1e-308), (LEAST, 1.0), (1.0, LEAST), (1e-310, 1.0), (1e-310, 3e-310),
            (1e155, 1e154), (1e-155, 1e-154), (1.0, 1e-8), (1e-8, 1.0), (1e160, 1.0), (1.0, 1e160), (-1e160, -1e-160),
            (single(1e30), single(1e30)), (single(1e-30), single(3e-30)), (single(1e30), single(1e-8)), (MOST, 0.5), (0.5, MOST)]
POWERS = [(1e308, 0.3), (1e308, 0.1), (1e308, -0.2), (1e-308, 0.3), (1e-308, -0.4), (1e-300, 1.03), (1e300, 1.02), (1e300, 1.03),
          (2.0, 1000.0), (2.0, -1000.0), (10.0, 300.3), (10.0, -300.3), (1 + 2.0 ** -52, 1e15), (1 - 2.0 ** -53, 1e16), (1.0, 1e300),
          (0.5, 1e-300), (3.0, 1e-17), (single(1e30), single(0.3)), (single(1e-30), single(0.1)), (-2.0, 3.0), (-2.0, -3.0),
          (-1.5, 0.5), (0.0, 0.5), (0.0, 1.0), (0.0, 1.5), (0.0, 2.0), (0.0, -0.5), (1e200, -0.999), (7.0, 0.25), (1e-200, 0.499),
          (1e100, -1.0000001), (1e80, -3.9)]
LOGS = [(700.0, -700.0), (-700.0, 30.0), (0.0, 0.0), (1e10, 1e10), (-1000.0, -1000.0), (-1000.0, -1001.0), (1000.0, 1000.5),
        (-0.6931471805599453, -0.6931471805599453), (3.0, 1e-5), (-745.0, 0.0), (0.0, 40.0), (20.0, -17.5), (1e308, -1e308),
        (single(0.1), single(80.25)), (12.0, -300.25)]

BINARY = {
    "add": (lambda x, y: [add(x, y), 1.0, 1.0], pairs("add", 1e-3, 1e3, 12, "--")),
    "sub": (lambda x, y: [add(x, -y), 1.0, -1.0], pairs("sub", 1e-3, 1e3, 12, "--")),
    "mul": (lambda x, y: [product(x, y), y, x], pairs("mul", 1e-100, 1e100, 12, "--")),
    "div": (div, EXTREMES + pairs("div", 1e-3, 1e3, 24, "--") + pairs("div far", 1e-120, 1e120, 12, "--")),
    "pow": (pow_row, POWERS + pairs("pow", 1e-3, 30, 24, "+-") + pairs("pow unit", 0.01, 2.5, 24, "+-")
            + [(x, y) for (x, _), (_, y) in zip(pairs("wide", 1e-300, 1e300, 24), pairs("small", 0.01, 0.99, 24, "--"))]),
    "pow_less_one": (pow_less_one, POWERS + pairs("pow", 1e-3, 30, 24, "+-")
                     + [(x, y) for (x, _), (_, y) in zip(pairs("wide", 1e-300, 1e300, 24), pairs("small", 0.01, 0.99, 24, "--"))]),
    "atan2": (atan2, EXTREMES + pairs("atan2", 1e-3, 1e3, 30, "--")),
    "recip_real": (recip_real, EXTREMES + pairs("recip_real", 1e-3, 1e3, 30, "--")),
    "hypot": (hypot, EXTREMES + pairs("hypot", 1e-3, 1e3, 30, "--")),
    "div_no_nan": (div_no_nan, EXTREMES + pairs("div_no_nan", 1e-3, 1e3, 8, "--")),
    "copysign": (copysign, pairs("copysign", 1e-3, 1e3, 8, "--")),
    "min": (extremum(lambda x, y: x <= y), pairs("min", 1e-3, 1e3, 8, "--")),
    "max": (extremum(lambda x, y: x >= y), pairs("max", 1e-3, 1e3, 8, "--")),
    "mul_no_nan": (mul_no_nan, pairs("mul_no_nan", 1e-100, 1e100, 8, "--")),
    "polygamma": (polygamma, orders("polygamma")),
    "logaddexp": (logaddexp, LOGS + pairs("logaddexp", 1e-3, 700, 24, "--")),
}


def binary(name):
    f, more = BINARY[name]
    for x, y in dict.fromkeys((repr(x), repr(y)) for x, y in CORNER_PAIRS + more + WORST.get(name, [])):
        x, y = float(x), float(y)
        yield [x, y], f(x, y)


def main():
    for rows, points in ((UNARY, unary), (BINARY, binary)):
        for name in rows:
            # Functions that cancel near their zeros, and large angles: so many digits that 50 remain.
            mp.dps = 700 if name in ("softplus", "logaddexp", "expm1", "tanh", "erf", "acosh", "asinh", "sinh", "atanh") else 120
            print(f"# {name}")
            for arguments, results in points(name):
                print(" ".join([repr(x) for x in arguments] + [cell(x) for x in results]))


main()
