/* The sum in two parts, if a is 0 or not smaller in absolute value (Fast2Sum). */
static inline polygrad_parts polygrad_sum(double a, double b) {
    double high = a + b;
    polygrad_parts parts = {high, (a - high) + b};
    return parts;
}

/* The product of two numbers of two parts each. */
static inline polygrad_parts polygrad_product_of_parts$(polygrad_parts a, polygrad_parts b) {
    polygrad_parts parts = polygrad_product$(a.high, b.high);
    parts.low = polygrad_madd$(a.high, b.low, polygrad_madd$(a.low, b.high, parts.low));
    return parts;
}

/* (2 artanh s - 2 s - 2/3 s^3) / s^5 as a function of s^2, for s <= (sqrt 2 - 1) / (sqrt 2 + 1). */
static const double polygrad_ln_tail[7] = {
    0.40000000000000385, 0.2857142857099817,  0.2222222236369857,  0.18181797453549092,
    0.15386186335814736, 0.1326932913384263,  0.13087499024340296,
};

/* k ln 2 + ln (1 + f) in two parts, of about 64 bits, for 1 + f between the roots of 1/2 and of 2. */
static inline polygrad_parts polygrad_ln_parts$(double f, double k) {
    /* s = f / (2 + f), with 2 + f exact in two parts. */
    double number = 1.0 + f;
    double whole = 1.0 + number;
    double part = number - (whole - 1.0);
    double inverse = 1.0 / whole;
    polygrad_parts s = {f * inverse, 0.0};
    polygrad_parts back = polygrad_product$(s.high, whole);
    s.low = inverse * ((f - back.high) - polygrad_madd$(s.high, part, back.low));
    /* ln (1 + f) = 2 s + s z (2/3 + z tail) with z = s^2. */
    polygrad_parts z = polygrad_product_of_parts$(s, s);
    polygrad_parts p = polygrad_sum(2.0 / 3.0, z.high * polygrad_horner$(z.high, polygrad_ln_tail, 7));
    p.low = p.low + 3.700743415417188e-17;
    polygrad_parts cubic = polygrad_product_of_parts$(s, polygrad_product_of_parts$(z, p));
    polygrad_parts inner = polygrad_sum(2.0 * s.high, cubic.high);
    inner.low = inner.low + (2.0 * s.low + cubic.low);
    polygrad_parts outer = polygrad_sum(k * 0.6931471804855391, inner.high);
    outer.low = polygrad_madd$(k, 7.440617110012397e-11, inner.low) + outer.low;
    return outer;
}

/* e^(x + rest) for a small rest, if the result and its reciprocal are normal numbers. */
static inline double polygrad_exp_of_parts$(double x, double rest) {
    double rounded = polygrad_exponent$(x);
    double n = rounded - 6755399441055744.0;
    double r = polygrad_madd$(-n, 0.6931471804855391, x) + polygrad_madd$(-n, 7.440617110012397e-11, rest);
    double square = r * r;
    double power = 1.0 + polygrad_madd$(square, polygrad_exp_series$(r, square), r);
    return power * polygrad_from_bits((polygrad_bits(rounded) + 1023) << 52);
}

/* A number, and whether it is accurate. */
typedef struct {
    REAL value;
    int accurate;
} polygrad_guarded@;

/* x^y, by the logarithm in two parts, so that its error times a large exponent is small. */
static inline polygrad_guarded polygrad_power$(double x, double y) {
    polygrad_split split = polygrad_split_of(x);
    polygrad_parts ln = polygrad_ln_parts$(split.f, split.exponent);
    polygrad_parts whole = polygrad_product$(y, ln.high);
    polygrad_guarded power;
    power.value = polygrad_exp_of_parts$(whole.high, polygrad_madd$(y, ln.low, whole.low));
    power.accurate = x >= DBL_MIN && x <= DBL_MAX && fabs(y) < 1e280 && fabs(whole.high) < 700.0;
    return power;
}

/* x^y, computed in double precision, whose rounding errors are negligible. */
static inline polygrad_guardedf polygrad_powerf(float x, float y) {
    polygrad_guardedf power;
    power.value = (float)polygrad_exp((double)y * polygrad_ln_normal((double)x));
    power.accurate = x > 0.0f && x <= FLT_MAX && fabsf(y) <= FLT_MAX;
    return power;
}

/* x^y */
static inline REAL polygrad_pow$(REAL x, REAL y) {
    polygrad_guarded@ power = polygrad_power$(x, y);
    return power.accurate ? power.value : NARROW pow(WIDE x, WIDE y);
}

/* x^(y - 1) at rare arguments. */
static inline double polygrad_pow_less_one_rare(double x, double y) {
    double less = y - 1.0;
    double power = polygrad_pow_unfused(x, less);
    double lost = fabs(y) < 1.0 ? y - (less + 1.0) : -1.0 - (less - y);
    if (lost == 0.0 || power == 0.0 || !(fabs(power) <= DBL_MAX) || !(fabs(y) <= DBL_MAX))
        return power;
    return power * polygrad_exp_unfused(lost * polygrad_ln_unfused(fabs(x)));
}

/* x^(y - 1), corrected for the rounding error of y - 1. */
static inline REAL polygrad_pow_less_one$(REAL x, REAL y) {
    REAL less = y - 1.0@;
    polygrad_guarded@ power = polygrad_power$(x, less);
    if (!power.accurate || !(x >= REAL_MIN && x <= REAL_MAX))
        return NARROW polygrad_pow_less_one_rare(WIDE x, WIDE y);
    REAL lost = fabs@(y) < 1.0@ ? y - (less + 1.0@) : -1.0@ - (less - y);
    /* Where nothing is lost, the factor is 1. */
    return power.value * polygrad_exp$(lost * polygrad_ln_normal$(x));
}

/* sqrt(x^2 + y^2), without overflow of the squares. */
static inline REAL polygrad_hypot$(REAL x, REAL y) {
    REAL a = fabs@(x), b = fabs@(y);
    /* The same for both orders of the arguments. */
    REAL large = a < b ? b : a, small = a < b ? a : b;
    if (large < HYPOT_LARGE && large > HYPOT_SMALL && small >= 0.0@)
        return sqrt@(polygrad_madd$(large, large, small * small));
    return NARROW hypot(WIDE x, WIDE y);
}

/* x / (x^2 + y^2), by the length of (x, y) where the sum of squares is out of range. */
static inline double polygrad_recip_real(double x, double y) {
    double squares = x * x + y * y;
    /* From this bound on, a square that underflows does not change the rounded sum. */
    if (squares <= DBL_MAX && squares >= DBL_MIN / DBL_EPSILON)
        return x / squares;
    double length = polygrad_hypot_unfused(x, y);
    if (length > DBL_MAX && x == x && y == y)
        return copysign(0.0, x);
    return x / length / length;
}

/* x / (x^2 + y^2) */
static inline float polygrad_recip_realf(float x, float y) {
    float squares = x * x + y * y;
    if (squares <= FLT_MAX && squares >= FLT_MIN / FLT_EPSILON)
        return x / squares;
    return (float)polygrad_recip_real((double)x, (double)y);
}
