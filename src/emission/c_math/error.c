/* erf(x) / x as a function of x^2, for |x| <= 1. */
static const double polygrad_erf_middle[12] = {
    1.1283791670955126,      -0.3761263890318352,     0.11283791670944174,    -0.026866170643109734,
    0.0052239776061038445,   -0.0008548325928594405,  0.00012055293554838714, -1.4924711868834994e-05,
    1.644712611996815e-06,   -1.6206271254645709e-07, 1.3710793507966323e-08, -7.779114314922552e-10,
};

/* e^(x^2) erfc(x) (x + 4) as a function of (x - 4) / (x + 4), for x from 1/2 to 28. */
static const double polygrad_erf_outside[21] = {
    1.095995661000491,      -0.976548729080882,     0.773208702265236,       -0.5408538313132352,
    0.3308515878780834,     -0.17401093723994218,   0.076381514907509,       -0.026370053339981117,
    0.006112055679011281,   -0.0002809588706613369, -0.000455052860750942,   0.0001768128579556103,
    -3.6343351711633226e-06, -1.8861058475519357e-05, 4.69188531509997e-06,  1.4246316970797073e-06,
    -8.413390755711227e-07, -7.616572917105704e-08, 1.184551293491232e-07,   1.3429743965725694e-09,
    -1.1782239441519705e-08,
};

/* erf x for |x| < 1. */
static inline double polygrad_erf_inner(double x) {
    return x * polygrad_horner(x * x, polygrad_erf_middle, 12);
}

/* 1 - erf |x| for |x| >= 1, to about 50 bits. */
static inline double polygrad_erfc_outer(double x) {
    double a = fabs(x) > 28.0 ? 28.0 : fabs(x);
    double inverse = 1.0 / (a + 4.0);
    double smooth = inverse * polygrad_horner((a - 4.0) * inverse, polygrad_erf_outside, 21);
    /* The rounding error of the square is not corrected: if the square is large, erf is near 1. */
    return polygrad_exp(-a * a) * smooth;
}

/* The error function. */
static inline double polygrad_erf(double x) {
    return fabs(x) < 1.0 ? polygrad_erf_inner(x) : copysign(1.0 - polygrad_erfc_outer(x), x);
}

/* The error function. */
static inline float polygrad_erff(float x) {
    return (float)polygrad_erf((double)x);
}

/* 1 - erf x, without cancellation. */
static inline float polygrad_erfcf(float narrow) {
    double x = (double)narrow;
    if (fabs(x) < 1.0)
        return (float)(1.0 - polygrad_erf_inner(x));
    double outer = polygrad_erfc_outer(x);
    return (float)(x < 0.0 ? 2.0 - outer : outer);
}
