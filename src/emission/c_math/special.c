/* ln(x + sqrt(x^2 + 1)); odd. */
static inline double polygrad_asinh(double x) {
    double a = fabs(x), y;
    /* From 2^28 on, adding 1 to the square does not change the rounded square. */
    if (a < 268435456.0)
        y = polygrad_log1p_unfused(a + a * a / (1.0 + sqrt(1.0 + a * a)));
    else
        y = polygrad_ln_unfused(a) + 0.6931471805599453;
    return copysign(y, x);
}

/* ln(x + sqrt(x^2 - 1)), by the distance of x from 1, which is exact near 1; NaN below 1. */
static inline double polygrad_acosh(double x) {
    if (x < 1.0)
        return (double)NAN;
    double t = x - 1.0;
    if (x < 268435456.0)
        return polygrad_log1p_unfused(t + sqrt(t * (t + 2.0)));
    return polygrad_ln_unfused(x) + 0.6931471805599453;
}

/* ln((1 + x) / (1 - x)) / 2; odd; NaN outside of the interval from -1 to 1. */
static inline double polygrad_atanh(double x) {
    double a = fabs(x);
    /* Below a half, the quotient 2 a / (1 - a) is computed as 2 a, which is exact, plus a small rest. */
    double quotient = a < 0.5 ? 2.0 * a + 2.0 * a * a / (1.0 - a) : 2.0 * (a / (1.0 - a));
    return copysign(0.5 * polygrad_log1p_unfused(quotient), x);
}

/* The Bernoulli numbers B_2, B_4, .., B_16. */
static const double polygrad_bernoulli[8] = {
    1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
};

/* The derivative of ln gamma: ln x - 1 / (2 x) - sum_k B_2k / (2k x^2k) for large x > 0; the terms of the recurrence
   are summed from the smallest one on. */
static inline double polygrad_digamma_positive(double x) {
    double first = 0.0, others = 0.0, y = x;
    if (x < 12.0) {
        double steps = ceil(12.0 - x);
        for (double k = steps - 1.0; k > 0.0; k -= 1.0)
            others += 1.0 / (x + k);
        first = 1.0 / x;
        y = x + steps;
    }
    double z = 1.0 / (y * y), sum = 0.0;
    for (int k = 8; k > 0; k--)
        sum = (sum + polygrad_bernoulli[k - 1] / (2.0 * k)) * z;
    return polygrad_ln_unfused(y) - 0.5 / y - sum - others - first;
}

/* The derivative of ln |gamma|; negative numbers are reflected; NaN at the poles. */
static inline double polygrad_digamma(double x) {
    const double pi = 3.141592653589793;
    if (x > 0.0 || x != x)
        return polygrad_digamma_positive(x);
    if (x == floor(x))
        return (double)NAN;
    /* The tangent has period 1: its argument is reduced without rounding. */
    return polygrad_digamma_positive(1.0 - x) - pi / polygrad_tan_unfused(pi * (x - round(x)));
}

/* The derivative of digamma: 1 / x + 1 / (2 x^2) + sum_k B_2k / x^(2k + 1) for large x > 0. */
static inline double polygrad_trigamma_positive(double x) {
    double first = 0.0, others = 0.0, y = x;
    if (x < 12.0) {
        double steps = ceil(12.0 - x);
        for (double k = steps - 1.0; k > 0.0; k -= 1.0)
            others += 1.0 / ((x + k) * (x + k));
        first = 1.0 / (x * x);
        y = x + steps;
    }
    double z = 1.0 / (y * y), sum = 0.0;
    for (int k = 8; k > 0; k--)
        sum = (sum + polygrad_bernoulli[k - 1]) * z;
    return (1.0 + 0.5 / y + sum) / y + others + first;
}

/* The derivative of digamma; negative numbers are reflected; infinite at the poles. */
static inline double polygrad_trigamma(double x) {
    const double pi = 3.141592653589793;
    if (x > 0.0 || x != x)
        return polygrad_trigamma_positive(x);
    if (x == floor(x))
        return x >= -DBL_MAX ? HUGE_VAL : (double)NAN;
    double inverse = pi / polygrad_sin_unfused(pi * (x - round(x)));
    return inverse * inverse - polygrad_trigamma_positive(1.0 - x);
}

/* n! sum_k 1 / (x + k)^(n + 1) for positive x and n >= 2: terms until x + k is large, and the rest by the series
   1 / (n y^n) + 1 / (2 y^(n + 1)) + sum_k B_2k (n + 1) .. (n + 2k - 1) / ((2k)! y^(n + 2k)). */
static inline double polygrad_polygamma_size(double x, double n) {
    /* Terms below this bound do not change the rounded sum, whose first term is 1. */
    const double hidden = DBL_EPSILON / 64.0;
    if (!(x <= DBL_MAX))
        return 0.0;
    double y = x, terms = 0.0, part = 1.0;
    for (int k = 0; k < 64 && y < 12.0 + 1.5 * n && part > hidden; k++) {
        terms += part;
        y += 1.0;
        part = polygrad_pow_unfused(x / y, n + 1.0);
    }
    double z = 1.0 / (y * y);
    /* The factor (n + 1) .. (n + 2k - 1) / (2k)!, times y^(1 - 2k), from k = 1 on. */
    double factor = (n + 1.0) / (2.0 * y);
    double rest = y / n + 0.5;
    for (int i = 0; i < 8; i++) {
        double k = 2.0 * (i + 1);
        rest += polygrad_bernoulli[i] * factor;
        factor *= (n + k) * (n + k + 1.0) / ((k + 1.0) * (k + 2.0)) * z;
    }
    double whole = part <= hidden ? terms : terms + part * rest;
    /* The largest factorial that is a number is that of 170. */
    if (n > 170.0)
        return polygrad_exp_unfused(polygrad_lgamma(n + 1.0) - (n + 1.0) * polygrad_ln_unfused(x) +
        polygrad_ln_unfused(whole));
    double factorial = 1.0;
    for (int k = 1; k <= (int)n; k++)
        factorial *= k;
    /* Neither power is out of range if the result is in range. */
    double lower = floor(n / 2.0);
    return factorial / polygrad_pow_unfused(x, lower) * (whole / x) / polygrad_pow_unfused(x, n - lower);
}

/* The derivative of digamma of an order that is rounded to an integer, if it is nearer to one than 1/4; NaN for other
   and for negative orders. At the poles: infinite for odd orders, NaN for even ones.
   psi_n(x) = psi_n(f) - (-1)^n (psi_n(g) - psi_n(1 - x)) for negative x, where f and g are the distances of x from
   the integers below and above; the first two terms of order 2 are -2 pi^3 cos(pi x) / sin(pi x)^3. */
static inline double polygrad_polygamma(double x, double order) {
    double n = round(order);
    if (!(n >= 0.0 && fabs(order - n) <= 0.25 && n <= DBL_MAX) || x != x)
        return (double)NAN;
    if (n == 0.0)
        return polygrad_digamma(x);
    if (n == 1.0)
        return polygrad_trigamma(x);
    int even = floor(0.5 * n) == 0.5 * n;
    if (x > 0.0)
        return even ? -polygrad_polygamma_size(x, n) : polygrad_polygamma_size(x, n);
    if (x == floor(x))
        return even || x < -DBL_MAX ? (double)NAN : HUGE_VAL;
    if (n == 2.0) {
        const double pi = 3.141592653589793;
        double d = x - round(x), inverse = pi / polygrad_sin_unfused(pi * d);
        /* The cosine is the sine of what is missing to a half. */
        double slope = 2.0 * polygrad_sin_unfused(pi * (0.5 - fabs(d))) * inverse * (inverse * inverse);
        return -slope - polygrad_polygamma_size(1.0 - x, n);
    }
    double below = polygrad_polygamma_size(x - floor(x), n);
    double above = polygrad_polygamma_size(ceil(x) - x, n);
    return (even ? above - below : above + below) - polygrad_polygamma_size(1.0 - x, n);
}

/* The inverse hyperbolic sine. */
static inline float polygrad_asinhf(float x) {
    return (float)polygrad_asinh((double)x);
}

/* The inverse hyperbolic cosine; NaN below 1. */
static inline float polygrad_acoshf(float x) {
    return (float)polygrad_acosh((double)x);
}

/* The inverse hyperbolic tangent; NaN outside of the interval from -1 to 1. */
static inline float polygrad_atanhf(float x) {
    return (float)polygrad_atanh((double)x);
}

/* The derivative of ln |gamma|; NaN at the poles. */
static inline float polygrad_digammaf(float x) {
    return (float)polygrad_digamma((double)x);
}

/* The derivative of digamma; infinite at the poles. */
static inline float polygrad_trigammaf(float x) {
    return (float)polygrad_trigamma((double)x);
}

/* The derivative of digamma of an order that is rounded to an integer. */
static inline float polygrad_polygammaf(float x, float order) {
    return (float)polygrad_polygamma((double)x, (double)order);
}
