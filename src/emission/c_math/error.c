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

/* erf x for |x| < 1: the sum of x and a small number. */
static inline float polygrad_erf_innerf(float x) {
    static const float c[7] = {
        0.12837917f, -0.3761263f, 0.11283618f, -0.026855124f, 0.005190726f, -0.0008030654f, 7.919902e-5f,
    };
    return polygrad_maddf(x, polygrad_hornerf(x * x, c, 7), x);
}

/* erf a for a >= 1: 1 from 4 on. */
static inline float polygrad_erf_outerf(float a) {
    static const float c[15] = {
        0.00040695237f, -0.0021781847f, 0.0054456885f, -0.008351769f, 0.008622605f, -0.00610911f, 0.002797552f,
        -0.0005603602f, -0.00025872662f, 0.0002706186f, -8.110275e-5f, -1.7760463e-5f, 1.5720007e-5f,
        -4.9852787e-7f, -8.902305e-7f,
    };
    return 1.0f - polygrad_hornerf((a > 4.0f ? 4.0f : a) - 2.5f, c, 15);
}

/* The error function. */
static inline float polygrad_erff(float x) {
    float a = fabsf(x);
    return a < 1.0f ? polygrad_erf_innerf(x) : copysignf(polygrad_erf_outerf(a), x);
}

/* 1 - erf x, without cancellation. */
static inline float polygrad_erfcf(float narrow) {
    double x = (double)narrow;
    if (fabs(x) < 1.0)
        return (float)(1.0 - polygrad_erf_inner(x));
    double outer = polygrad_erfc_outer(x);
    return (float)(x < 0.0 ? 2.0 - outer : outer);
}

/* erfinv a, by l = -ln (1 - a^2) below 6. */
static inline double polygrad_erfinv_middle(double a, double l) {
    static const double c[22] = {
        -3.8332932499128993e-17, 0.2320136665346536, 0.011549342038307644, -0.002335101642147849,
        -0.00012804329026198558, 4.661142252674815e-5, 2.0200416094819137e-6, -1.012663530306967e-6,
        -3.713055316603079e-8, 2.260736443828224e-8, 9.149363591481383e-10, -6.309179208577772e-10,
        3.8512519033957294e-11, -9.32282441700473e-12, 6.7870311195067e-12, -1.67257310426352e-12,
        1.82379584360432e-13, -2.2207024314573522e-15, -1.8995677139067925e-15, 2.4601387203671296e-16,
        -1.3911862504538346e-17, 3.187912239761794e-19,
    };
    return polygrad_madd(0.886226925452758, a, a * polygrad_horner(l, c, 22));
}

/* erfinv a, by s = (-ln (1 - a))^(1/2), for a near to 1. */
static inline double polygrad_erfinv_ends(double s) {
    static const double c[23] = {
        -0.24093755190824154, 0.029801060623082805, -0.003929906239754828, 0.0004555877514823572,
        -2.8021908115140318e-5, -7.321644975181294e-6, 4.1853275590801625e-6, -1.4128586042225797e-6,
        4.0359211055657863e-7, -1.0579096025228102e-7, 2.6246892371294072e-8, -6.255711904396294e-9,
        1.4439652726389528e-9, -3.233261862482433e-10, 7.004815613095378e-11, -1.508707334847501e-11,
        3.304670347049062e-12, -5.866927792602569e-13, 6.705872627731459e-14, -2.764734719622479e-14,
        1.1019131179016614e-14, 2.127346160834682e-17, -4.467409335446154e-16,
    };
    return s + polygrad_horner(s - 4.25, c, 23);
}

/* erfinv a, by l = -ln (1 - a^2) below 6. */
static inline float polygrad_erfinv_middlef(float a, float l) {
    static const float c[10] = {
        -2.66232e-8f, 0.23201372f, 0.011549209f, -0.0023355032f, -0.00012614121f, 4.3724493e-5f, 4.293091e-6f,
        -2.042907e-6f, 2.2869555e-7f, -9.158451e-9f,
    };
    return polygrad_maddf(0.88622695f, a, a * polygrad_hornerf(l, c, 10));
}

/* erfinv a, by s = (-ln (1 - a))^(1/2), for a near to 1. */
static inline float polygrad_erfinv_endsf(float s) {
    static const float c[9] = {
        -0.27513868f, 0.039063595f, -0.0052824602f, 0.00032490457f, 0.00017173208f, -0.000107870495f, 4.296168e-5f,
        -1.8397503e-5f, 6.9397006e-6f,
    };
    return s + polygrad_hornerf(s - 3.25f, c, 9);
}

/* The inverse of the error function; odd; NaN outside of the interval from -1 to 1. */
static inline REAL polygrad_erfinv@(REAL x) {
    REAL a = fabs@(x), below = 1.0@ - a;
    if (!(a < 1.0@))
        return copysign@(a == 1.0@ ? (REAL)HUGE_VAL : (REAL)NAN, x);
    if (a > 0.99609375@)
        return copysign@(polygrad_erfinv_ends@(sqrt@(-polygrad_ln_normal$(below))), x);
    return copysign@(polygrad_erfinv_middle@(a, -polygrad_ln_normal$(below * (1.0@ + a))), x);
}
