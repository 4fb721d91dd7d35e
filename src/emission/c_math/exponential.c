/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, given the square of r. */
static inline double polygrad_exp_series$(double r, double square) {
    double fourth = square * square;
    double sum = polygrad_madd$(2.5110049985895716e-8, r, 2.763265575933203e-7);
    sum = polygrad_madd$(sum, fourth, polygrad_cubic$(r, square, 0.0013888888947820891, 0.00019841269886591,
        2.4801487326012337e-5, 2.7557242336680357e-6));
    return polygrad_madd$(sum, fourth, polygrad_cubic$(r, square, 0.500000000000001, 0.16666666666666674,
        0.04166666666652199, 0.008333333333322207));
}

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, given the square of r. */
static inline float polygrad_exp_seriesf(float r, float square) {
    return polygrad_maddf(0.0013950538f, square * square,
        polygrad_cubicf(r, square, 0.5f, 0.1666652f, 0.041666206f, 0.00836889f));
}

/* The nearest integer to x / ln 2, plus a number whose unit in the last place is 1: the integer is in the low bits. */
static inline REAL polygrad_exponent$(REAL x) {
    return polygrad_madd$(x, LOG2_E, MAGIC);
}

/* x - n ln 2, with ln 2 in two parts. */
static inline REAL polygrad_without_exponent$(REAL x, REAL n) {
    return polygrad_madd$(-n, LN_2_LOW, polygrad_madd$(-n, LN_2_HIGH, x));
}

/* e^x */
static inline REAL polygrad_exp$(REAL x) {
    /* Comparisons keep NaN. */
    x = x < EXP_ZERO ? EXP_ZERO : x;
    x = x > EXP_INFINITE ? EXP_INFINITE : x;
    REAL rounded = polygrad_exponent$(x);
    REAL r = polygrad_without_exponent$(x, rounded - MAGIC);
    REAL square = r * r;
    REAL power = 1.0@ + polygrad_madd$(square, polygrad_exp_series$(r, square), r);
    /* The scale is a product of two powers of two, neither of which leaves the range of exponents. */
    WORD sum = (polygrad_bits@(rounded) + WORD_C(TWICE_BIAS)) & WORD_C(SCALES);
    WORD half = sum >> 1;
    return power * polygrad_from_bits@(half << MANTISSA) * polygrad_from_bits@((sum - half) << MANTISSA);
}

/* scale e^r - less, for less near to the scale or much smaller. */
static inline REAL polygrad_scaled_less$(REAL scale, REAL less, REAL r) {
    REAL a = scale * r, b = scale - less;
    REAL sum = a + b;
    REAL part = sum - b;
    REAL lost = (b - (sum - part)) + (a - part);
    REAL square = r * r;
    REAL rest = square * polygrad_exp_series$(r, square);
    return sum + polygrad_madd$(scale, rest, lost);
}

/* e^x - 1, accurate near 0. */
static inline REAL polygrad_expm1$(REAL x) {
    REAL bounded = x < EXPM1_LEAST ? EXPM1_LEAST : x;
    bounded = bounded > EXP_INFINITE ? EXP_INFINITE : bounded;
    REAL rounded = polygrad_exponent$(bounded);
    REAL r = polygrad_without_exponent$(bounded, rounded - MAGIC);
    /* Half of the result, as the scale itself may be out of range. */
    REAL scale = polygrad_from_bits@((polygrad_bits@(rounded) + WORD_C(BIAS) - 1) << MANTISSA);
    REAL y = 2.0@ * polygrad_scaled_less$(scale, 0.5@, r);
    return fabs@(x) < EXPM1_IDENTITY ? x : y;
}

/* e^x - 1 for x <= 0; the sign of a zero is lost. */
static inline REAL polygrad_expm1_below$(REAL x) {
    x = x < EXPM1_LEAST ? EXPM1_LEAST : x;
    REAL rounded = polygrad_exponent$(x);
    REAL r = polygrad_without_exponent$(x, rounded - MAGIC);
    REAL scale = polygrad_from_bits@((polygrad_bits@(rounded) + WORD_C(BIAS)) << MANTISSA);
    return polygrad_scaled_less$(scale, 1.0@, r);
}

/* (2 artanh s - 2 s) / s^3 as a function of z = s^2, for s <= (sqrt 2 - 1) / (sqrt 2 + 1). */
static inline double polygrad_ln_series$(double z) {
    double square = z * z;
    double sum = polygrad_madd$(0.14810677359592228, square,
        polygrad_madd$(0.1531314946958875, z, 0.1818357208406401));
    return polygrad_madd$(sum, square * square, polygrad_cubic$(z, square, 0.666666666666671, 0.3999999999951953,
        0.2857142872936539, 0.22222199081404306));
}

/* (2 artanh s - 2 s) / s^3 as a function of z = s^2, for s <= (sqrt 2 - 1) / (sqrt 2 + 1). */
static inline float polygrad_ln_seriesf(float z) {
    return polygrad_cubicf(z, z * z, 0.6666667f, 0.4000034f, 0.28536045f, 0.23617562f);
}

/* x = 2^exponent (1 + f) with 1 + f between the roots of 1/2 and of 2, and down = 2^-exponent. */
typedef struct {
    REAL f, exponent, down;
} polygrad_split@;

static inline polygrad_split@ polygrad_split_of@(REAL x) {
    /* The sum of mantissas carries into the exponent field if the number is above the root of 2. */
    const WORD root_half = WORD_C(ROOT_HALF);
    WORD bits = polygrad_bits@(x) + ((WORD_C(BIAS) << MANTISSA) - root_half);
    WORD field = bits >> MANTISSA;
    REAL number = polygrad_from_bits@((bits & WORD_C(MANTISSA_MASK)) + root_half);
    polygrad_split@ split;
    split.f = number - 1.0@;
    /* The exponent field in the low bits of a number that has a unit in the last place of 1. */
    split.exponent = polygrad_from_bits@(field | WORD_C(LARGE_BITS)) - LARGE_AND_BIAS;
    split.down = polygrad_from_bits@((WORD_C(TWICE_BIAS) - field) << MANTISSA);
    return split;
}

/* exponent ln 2 + ln (1 + f) + rest for a small rest, with s = f / (2 + f):
   ln (1 + f) = 2 artanh s = f - s f + s (2 artanh s - 2 s) / s, where s f = half - s half. */
static inline REAL polygrad_ln_scaled$(REAL f, REAL exponent, REAL s, REAL rest) {
    REAL z = s * s, half = 0.5@ * f * f;
    REAL series = polygrad_madd$(z, polygrad_ln_series$(z), half);
    REAL small = polygrad_madd$(exponent, LN_2_LOW, rest);
    REAL tail = polygrad_madd$(s, series, small) - half;
    return polygrad_madd$(exponent, LN_2_HIGH, f + tail);
}

/* ln x for positive normal x. */
static inline REAL polygrad_ln_normal$(REAL x) {
    polygrad_split@ split = polygrad_split_of@(x);
    return polygrad_ln_scaled$(split.f, split.exponent, split.f / (2.0@ + split.f), 0.0@);
}

/* ln x; -inf at 0 and NaN below. */
static inline REAL polygrad_ln$(REAL x) {
    if (x >= REAL_MIN && x <= REAL_MAX)
        return polygrad_ln_normal$(x);
    return NARROW log(WIDE x);
}

/* ln (1 + x) for x above -1 that is not near to the end of the range. */
static inline REAL polygrad_log1p_inner$(REAL x) {
    /* The sum and its rounding error. */
    REAL sum = 1.0@ + x;
    REAL part = sum - 1.0@;
    REAL lost = (1.0@ - (sum - part)) + (x - part);
    polygrad_split@ split = polygrad_split_of@(sum);
    REAL s = split.f / (2.0@ + split.f);
    /* The error over the sum, where 1 / (1 + f) = (1 - s) / (1 + s) is expanded in s. */
    REAL error = lost * split.down;
    REAL rest = polygrad_madd$(error, 2.0@ * polygrad_madd$(s, s, -s), error);
    return copysign@(polygrad_ln_scaled$(split.f, split.exponent, s, rest), x);
}

/* ln (1 + x), accurate near 0; -inf at -1 and NaN below. */
static inline REAL polygrad_log1p$(REAL x) {
    if (x > -1.0@ && x < LOG1P_LARGE)
        return polygrad_log1p_inner$(x);
    return NARROW log1p(WIDE x);
}

/* tanh x, from e^(-2 |x|) - 1. */
static inline REAL polygrad_tanh$(REAL x) {
    REAL less = polygrad_expm1_below$(-(fabs@(x) + fabs@(x)));
    return copysign@(less / (2.0@ + less), x);
}

/* 1 / cosh(x)^2 */
static inline REAL polygrad_sech2$(REAL x) {
    REAL e = polygrad_exp$(-(fabs@(x) + fabs@(x)));
    REAL s = 1.0@ + e;
    return 4.0@ * e / (s * s);
}

/* 1 / (1 + e^-x) */
static inline REAL polygrad_sigmoid$(REAL x) {
    REAL e = polygrad_exp$(-fabs@(x));
    return (x < 0.0@ ? e : 1.0@) / (1.0@ + e);
}

/* ln (1 + e^x) */
static inline REAL polygrad_softplus$(REAL x) {
    REAL small = polygrad_log1p_inner$(polygrad_exp$(-fabs@(x)));
    return (x > 0.0@ ? x : 0.0@) + small;
}

/* ln (e^x + e^y) */
static inline REAL polygrad_logaddexp$(REAL x, REAL y) {
    /* Equal infinities have no difference. */
    if (x == y)
        return x + LN_2;
    REAL larger = x > y || x != x ? x : y;
    return larger + polygrad_log1p_inner$(polygrad_exp$(-fabs@(x - y)));
}

/* sinh x, from e^|x| - 1. */
static inline REAL polygrad_sinh$(REAL x) {
    if (!(fabs@(x) < LN_MAX - 1.0@))
        return NARROW sinh(WIDE x);
    REAL less = polygrad_expm1$(fabs@(x));
    return copysign@(0.5@ * (less + less / (less + 1.0@)), x);
}

/* cosh x, from e^|x|. */
static inline REAL polygrad_cosh$(REAL x) {
    if (!(fabs@(x) < LN_MAX - 1.0@))
        return NARROW cosh(WIDE x);
    REAL y = polygrad_exp$(fabs@(x));
    return 0.5@ * (y + 1.0@ / y);
}

/* e^(-x^2), corrected for the rounding error of the square. */
static inline double polygrad_gaussian(double x) {
    double a = fabs(x) > 40.0 ? 40.0 : fabs(x);
    polygrad_parts square = polygrad_product(a, a);
    double y = polygrad_exp(-square.high);
    return polygrad_madd(-square.low, y, y);
}

/* e^(-x^2), corrected for the rounding error of the square. */
static inline float polygrad_gaussianf(float x) {
    float a = fabsf(x) > 40.0f ? 40.0f : fabsf(x);
    float square = a * a;
#ifdef __FMA__
    float lost = fmaf(a, a, -square);
#else
    float lost = (float)((double)a * (double)a - (double)square);
#endif
    float y = polygrad_expf(-square);
    return polygrad_maddf(-lost, y, y);
}
