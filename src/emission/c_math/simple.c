/* The bits of a number. */
static inline WORD polygrad_bits@(REAL x) {
    WORD bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The number with these bits. */
static inline REAL polygrad_from_bits@(WORD bits) {
    REAL x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* -x */
static inline REAL polygrad_neg@(REAL x) {
    return -x;
}

/* |x| */
static inline REAL polygrad_abs@(REAL x) {
    return fabs@(x);
}

/* 1 / x */
static inline REAL polygrad_recip@(REAL x) {
    return 1.0@ / x;
}

/* x^2 */
static inline REAL polygrad_square@(REAL x) {
    return x * x;
}

/* 1 - x^2 */
static inline REAL polygrad_one_minus_square@(REAL x) {
    return (1.0@ - x) * (1.0@ + x);
}

/* The square root; NaN below 0. */
static inline REAL polygrad_sqrt@(REAL x) {
    return sqrt@(x);
}

/* The largest integer that is not above x. */
static inline REAL polygrad_floor@(REAL x) {
    return floor@(x);
}

/* The smallest integer that is not below x. */
static inline REAL polygrad_ceil@(REAL x) {
    return ceil@(x);
}

/* The nearest integer; halves are rounded away from zero. */
static inline REAL polygrad_round@(REAL x) {
    return round@(x);
}

/* -1, 0 or 1 by the sign of x; NaN for NaN. */
static inline REAL polygrad_sign@(REAL x) {
    if (x != x)
        return x;
    return x > 0.0@ ? 1.0@ : x < 0.0@ ? -1.0@ : 0.0@;
}

/* The larger of 0 and x; NaN is kept. */
static inline REAL polygrad_relu@(REAL x) {
    return x < 0.0@ ? 0.0@ : x;
}

/* |x| with the sign of y, or without a sign if y is NaN. */
static inline REAL polygrad_copysign@(REAL x, REAL y) {
    return y != y ? fabs@(x) : copysign@(x, y);
}

/* The smaller number; NaN if one of both is. */
static inline REAL polygrad_min@(REAL x, REAL y) {
    return x <= y || x != x ? x : y;
}

/* The larger number; NaN if one of both is. */
static inline REAL polygrad_max@(REAL x, REAL y) {
    return x >= y || x != x ? x : y;
}

/* x y; 0 if one factor is, whatever the other one is. */
static inline REAL polygrad_mul_no_nan@(REAL x, REAL y) {
    return x == 0.0@ || y == 0.0@ ? 0.0@ : x * y;
}

/* x / y; 0 if x is, whatever y is. */
static inline REAL polygrad_div_no_nan@(REAL x, REAL y) {
    return x == 0.0@ ? 0.0@ : x / y;
}

/* a b + c; rounded twice. */
static inline double polygrad_madd_unfused(double a, double b, double c) {
    return a * b + c;
}

/* a b + c; rounded once on processors of the kind x86 with the instruction, and twice on all others, as in Rust. */
static inline REAL polygrad_madd$(REAL a, REAL b, REAL c) {
#ifdef __FMA__
    return fma@(a, b, c);
#else
    return a * b + c;
#endif
}

/* c0 + c1 x + c2 x^2 + c3 x^3, given the square of x. */
static inline REAL polygrad_cubic$(REAL x, REAL square, REAL c0, REAL c1, REAL c2, REAL c3) {
    return polygrad_madd$(polygrad_madd$(c3, x, c2), square, polygrad_madd$(c1, x, c0));
}

/* c[0] + c[1] x + .. + c[n - 1] x^(n - 1) */
static inline REAL polygrad_horner$(REAL x, const REAL *c, int n) {
    REAL sum = c[n - 1];
    for (int k = n - 2; k >= 0; k--)
        sum = polygrad_madd$(sum, x, c[k]);
    return sum;
}

/* The unrounded value of an operation: the rounded one, and what rounding lost. */
typedef struct {
    double high, low;
} polygrad_parts;

/* a b in two parts, by products of halves of 26 bits, which are exact (Veltkamp's splitting). */
static inline polygrad_parts polygrad_product_unfused(double a, double b) {
    double wide_a = a * 134217729.0, wide_b = b * 134217729.0;
    double a0 = wide_a - (wide_a - a), b0 = wide_b - (wide_b - b);
    double a1 = a - a0, b1 = b - b0;
    double high = a * b;
    polygrad_parts parts = {high, ((a0 * b0 - high) + a0 * b1 + a1 * b0) + a1 * b1};
    return parts;
}

/* a b in two parts. */
static inline polygrad_parts polygrad_product(double a, double b) {
#ifdef __FMA__
    double high = a * b;
    polygrad_parts parts = {high, fma(a, b, -high)};
    return parts;
#else
    return polygrad_product_unfused(a, b);
#endif
}
