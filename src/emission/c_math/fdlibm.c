/* c[0] + c[1] x + .. + c[n - 1] x^(n - 1) */
static inline double polygrad_fdlibm_horner(double x, const double *c, int n) {
    double sum = c[n - 1];
    for (int k = n - 2; k >= 0; k--)
        sum = sum * x + c[k];
    return sum;
}

/* The leading 32 bits of |x|, which grow with |x|. */
static inline uint32_t polygrad_fdlibm_leading(double x) {
    return (uint32_t)(polygrad_bits(x) >> 32) & UINT32_C(0x7fffffff);
}

/* ln x for finite x > 0, as FDLIBM computes it. */
static inline double polygrad_fdlibm_ln(double x) {
    static const double even[3] = {3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01};
    static const double odd[4] = {6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01,
                                  1.479819860511658591e-01};
    if (x == 1.0)
        return 0.0;
    int k = 0;
    if (x < DBL_MIN) {
        k = -54;
        x *= 18014398509481984.0;
    }
    /* x = 2^k (1 + f) with 1 + f between the roots of 1/2 and of 2. */
    uint64_t bits = polygrad_bits(x);
    uint32_t leading = (uint32_t)(bits >> 32) + (UINT32_C(0x3ff00000) - UINT32_C(0x3fe6a09e));
    k += (int)(leading >> 20) - 1023;
    leading = (leading & UINT32_C(0xfffff)) + UINT32_C(0x3fe6a09e);
    double f = polygrad_from_bits((uint64_t)leading << 32 | (bits & UINT64_C(0xffffffff))) - 1.0;
    double half = 0.5 * f * f;
    double s = f / (2.0 + f);
    double z = s * s, w = z * z;
    double r = z * polygrad_fdlibm_horner(w, odd, 4) + w * polygrad_fdlibm_horner(w, even, 3);
    return s * (half + r) + k * 1.90821492927058770002e-10 - half + f + k * 6.93147180369123816490e-01;
}

/* e^x for finite x below 1, as FDLIBM computes it. */
static inline double polygrad_fdlibm_exp(double x) {
    static const double c[5] = {1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05,
                                -1.65339022054652515390e-06, 4.13813679705723846039e-08};
    if (x < -745.13321910194110842)
        return 0.0;
    uint32_t leading = polygrad_fdlibm_leading(x);
    if (leading <= UINT32_C(0x3e300000))
        return 1.0 + x;
    /* x = k ln 2 + high - low */
    int k = 0;
    if (leading >= UINT32_C(0x3ff0a2b2))
        k = (int)(1.44269504088896338700e+00 * x + (x < 0.0 ? -0.5 : 0.5));
    else if (leading > UINT32_C(0x3fd62e42))
        k = x < 0.0 ? -1 : 1;
    double high = x - k * 6.93147180369123816490e-01;
    double low = k * 1.90821492927058770002e-10;
    double r = high - low;
    double square = r * r;
    double rest = r - square * polygrad_fdlibm_horner(square, c, 5);
    return ldexp(1.0 + (r * rest / (2.0 - rest) - low + high), k);
}

/* erf(x) / x - 1 for |x| < 0.84375. */
static inline double polygrad_fdlibm_erf_slope(double x) {
    static const double p[5] = {1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
                                -5.77027029648944159157e-03, -2.37630166566501626084e-05};
    static const double q[6] = {1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02,
                                5.08130628187576562776e-03, 1.32494738004321644526e-04, -3.96022827877536812320e-06};
    double z = x * x;
    return polygrad_fdlibm_horner(z, p, 5) / polygrad_fdlibm_horner(z, q, 6);
}

/* 1 - erf |x| for |x| from 0.84375 to 28. */
static inline double polygrad_fdlibm_erfc_outer(double x) {
    static const double pa[7] = {-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
                                 3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
                                 -2.16637559486879084300e-03};
    static const double qa[7] = {1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01,
                                 7.18286544141962662868e-02, 1.26171219808761642112e-01, 1.36370839120290507362e-02,
                                 1.19844998467991074170e-02};
    static const double ra[8] = {-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
                                 -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
                                 -8.12874355063065934246e+01, -9.81432934416914548592e+00};
    static const double sa[9] = {1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02,
                                 4.34565877475229228821e+02, 6.45387271733267880336e+02, 4.29008140027567833386e+02,
                                 1.08635005541779435134e+02, 6.57024977031928170135e+00, -6.04244152148580987438e-02};
    static const double rb[7] = {-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
                                 -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
                                 -4.83519191608651397019e+02};
    static const double sb[8] = {1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02,
                                 1.53672958608443695994e+03, 3.19985821950859553908e+03, 2.55305040643316442583e+03,
                                 4.74528541206955367215e+02, -2.24409524465858183362e+01};
    double a = fabs(x);
    if (a < 1.25) {
        double s = a - 1.0;
        return 1.0 - 8.45062911510467529297e-01 -
        polygrad_fdlibm_horner(s, pa, 7) / polygrad_fdlibm_horner(s, qa, 7);
    }
    double s = 1.0 / (a * a);
    double quotient = polygrad_fdlibm_leading(a) < UINT32_C(0x4006db6d)
                          ? polygrad_fdlibm_horner(s, ra, 8) / polygrad_fdlibm_horner(s, sa, 9)
                          : polygrad_fdlibm_horner(s, rb, 7) / polygrad_fdlibm_horner(s, sb, 8);
    /* The square of the leading bits is exact. */
    double z = polygrad_from_bits(polygrad_bits(a) & UINT64_C(0xffffffff00000000));
    return polygrad_fdlibm_exp(-z * z - 0.5625) * polygrad_fdlibm_exp((z - a) * (z + a) + quotient) / a;
}

/* 1 - erf x, without cancellation. */
static inline double polygrad_fdlibm_erfc(double x) {
    double a = fabs(x);
    if (x != x)
        return x;
    if (a >= 28.0)
        return x < 0.0 ? 2.0 : 0.0;
    if (a >= 0.84375)
        return x < 0.0 ? 2.0 - polygrad_fdlibm_erfc_outer(x) : polygrad_fdlibm_erfc_outer(x);
    if (a < 1.3877787807814456755e-17)
        return 1.0 - x;
    double rest = x * polygrad_fdlibm_erf_slope(x);
    return x < 0.25 ? 1.0 - (x + rest) : 0.5 - (x - 0.5 + rest);
}

/* sin(pi x) for x >= 0. */
static inline double polygrad_fdlibm_sin_pi(double x) {
    x = 2.0 * (x * 0.5 - floor(x * 0.5));
    int n = ((int)(x * 4.0) + 1) / 2;
    double r = (x - n * 0.5) * 3.14159265358979311600e+00;
    if (n == 2)
        r = -r;
    double z = r * r, w = z * z;
    if (n == 1 || n == 3) {
        static const double low[3] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                      2.48015872894767294178e-05};
        static const double high[3] = {-2.75573143513906633035e-07, 2.08757232129817482790e-09,
                                       -1.13596475577881948265e-11};
        double rest = z * polygrad_fdlibm_horner(z, low, 3) + w * w * polygrad_fdlibm_horner(z, high, 3);
        double half = 0.5 * z;
        double one = 1.0 - half;
        double cosine = one + (((1.0 - one) - half) + z * rest);
        return n == 1 ? cosine : -cosine;
    }
    static const double low[3] = {8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06};
    static const double high[2] = {-2.50507602534068634195e-08, 1.58969099521155010221e-10};
    double rest = polygrad_fdlibm_horner(z, low, 3) + z * w * polygrad_fdlibm_horner(z, high, 2);
    return r + z * r * (-1.66666666666666324348e-01 + z * rest);
}

/* A term of ln gamma(2 - y). */
static inline double polygrad_fdlibm_lgamma_near_two(double y) {
    static const double even[6] = {7.72156649015328655494e-02, 6.73523010531292681824e-02, 7.38555086081402883957e-03,
                                   1.19270763183362067845e-03, 2.20862790713908385557e-04, 2.52144565451257326939e-05};
    static const double odd[6] = {3.22467033424113591611e-01, 2.05808084325167332806e-02, 2.89051383673415629091e-03,
                                  5.10069792153511336608e-04, 1.08011567247583939954e-04, 4.48640949618915160150e-05};
    double z = y * y;
    double p = y * polygrad_fdlibm_horner(z, even, 6) + z * polygrad_fdlibm_horner(z, odd, 6);
    return p - 0.5 * y;
}

/* ln gamma(x + y) around the number x > 0 with the least value. */
static inline double polygrad_fdlibm_lgamma_near_least(double y) {
    static const double c0[5] = {4.83836122723810047042e-01, -3.27885410759859649565e-02, 6.10053870246291332635e-03,
                                 -1.40346469989232843813e-03, 3.15632070903625950361e-04};
    static const double c1[5] = {-1.47587722994593911752e-01, 1.79706750811820387126e-02, -3.68452016781138256760e-03,
                                 8.81081882437654011382e-04, -3.12754168375120860518e-04};
    static const double c2[5] = {6.46249402391333854778e-02, -1.03142241298341437450e-02, 2.25964780900612472250e-03,
                                 -5.38595305356740546715e-04, 3.35529192635519073543e-04};
    double z = y * y, w = z * y;
    double odd = polygrad_fdlibm_horner(w, c1, 5) + y * polygrad_fdlibm_horner(w, c2, 5);
    double p = z * polygrad_fdlibm_horner(w, c0, 5) - (-3.63867699703950536541e-18 - w * odd);
    return -1.21486290535849611461e-01 + p;
}

/* ln gamma(1 + y) for small y. */
static inline double polygrad_fdlibm_lgamma_near_one(double y) {
    static const double u[6] = {-7.72156649015328655494e-02, 6.32827064025093366517e-01, 1.45492250137234768737e+00,
                                9.77717527963372745603e-01, 2.28963728064692451092e-01, 1.33810918536787660377e-02};
    static const double v[6] = {1.0, 2.45597793713041134822e+00, 2.12848976379893395361e+00,
                                7.69285150456672783825e-01, 1.04222645593369134254e-01, 3.21709242282423911810e-03};
    return -0.5 * y + y * polygrad_fdlibm_horner(y, u, 6) / polygrad_fdlibm_horner(y, v, 6);
}

/* ln gamma(x) for x > 0, from 2^-70 on. */
static inline double polygrad_fdlibm_lgamma_positive(double x) {
    static const double s[7] = {-7.72156649015328655494e-02, 2.14982415960608852501e-01, 3.25778796408930981787e-01,
                                1.46350472652464452805e-01, 2.66422703033638609560e-02, 1.84028451407337715652e-03,
                                3.19475326584100867617e-05};
    static const double q[7] = {1.0, 1.39200533467621045958e+00, 7.21935547567138069525e-01,
                                1.71933865632803078993e-01, 1.86459191715652901344e-02, 7.77942496381893596434e-04,
                                7.32668430744625636189e-06};
    static const double stirling[6] = {8.33333333333329678849e-02, -2.77777777728775536470e-03,
                                       7.93650558643019558500e-04, -5.95187557450339963135e-04,
                                       8.36339918996282139126e-04, -1.63092934096575273989e-03};
    const double least = 1.46163214496836224576e+00;
    uint32_t leading = polygrad_fdlibm_leading(x);
    if (x == 1.0 || x == 2.0)
        return 0.0;
    if (leading <= UINT32_C(0x3feccccc)) {
        double below = -polygrad_fdlibm_ln(x);
        if (leading >= UINT32_C(0x3fe76944))
            return below + polygrad_fdlibm_lgamma_near_two(1.0 - x);
        if (leading >= UINT32_C(0x3fcda661))
            return below + polygrad_fdlibm_lgamma_near_least(x - (least - 1.0));
        return below + polygrad_fdlibm_lgamma_near_one(x);
    }
    if (x < 2.0) {
        if (leading >= UINT32_C(0x3ffbb4c3))
            return polygrad_fdlibm_lgamma_near_two(2.0 - x);
        if (leading >= UINT32_C(0x3ff3b4c4))
            return polygrad_fdlibm_lgamma_near_least(x - least);
        return polygrad_fdlibm_lgamma_near_one(x - 1.0);
    }
    if (x < 8.0) {
        int n = (int)x;
        double y = x - n;
        double sum = 0.5 * y + y * polygrad_fdlibm_horner(y, s, 7) / polygrad_fdlibm_horner(y, q, 7);
        double product = 1.0;
        for (int k = n - 1; k >= 2; k--)
            product *= y + k;
        return n >= 3 ? sum + polygrad_fdlibm_ln(product) : sum;
    }
    if (x < 288230376151711744.0) {
        double z = 1.0 / x;
        double rest = 4.18938533204672725052e-01 + z * polygrad_fdlibm_horner(z * z, stirling, 6);
        return (x - 0.5) * (polygrad_fdlibm_ln(x) - 1.0) + rest;
    }
    return x * (polygrad_fdlibm_ln(x) - 1.0);
}

/* ln |gamma(x)|; unlike the function of the standard library, it writes no variable signgam. */
static inline double polygrad_fdlibm_lgamma(double x) {
    double a = fabs(x);
    if (!(a <= DBL_MAX))
        return x * x;
    if (a == 0.0)
        return HUGE_VAL;
    if (a < 8.470329472543003390683e-22)
        return -polygrad_fdlibm_ln(a);
    if (x > 0.0)
        return polygrad_fdlibm_lgamma_positive(x);
    double sine = fabs(polygrad_fdlibm_sin_pi(a));
    if (sine == 0.0)
        return HUGE_VAL;
    return polygrad_fdlibm_ln(3.14159265358979311600e+00 / (sine * a)) - polygrad_fdlibm_lgamma_positive(a);
}
