/* The number, negated if the lowest of the bits is set. */
static inline double polygrad_flip(double x, uint64_t bits) {
    return polygrad_from_bits(polygrad_bits(x) ^ (bits << 63));
}

/* The sine and the cosine of an angle up to multiples of pi / 2, whose number is in the lowest bits of quarter. */
typedef struct {
    double sine, cosine;
    uint64_t quarter;
} polygrad_quarters;

static inline polygrad_quarters polygrad_quarters_of$(double x) {
    const double magic = 6755399441055744.0;
    double rounded = polygrad_madd$(x, 0.6366197723675814, magic);
    /* r + rest = x - half pi, with pi in four parts: 33 bits each, then the rest. */
    double half = 0.5 * (rounded - magic);
    double near = polygrad_madd$(-half, 3.1415926534682512, x);
    double step = half * 1.2154201012607932e-10;
    /* If the difference is small, both subtractions are exact. */
    double top = near - step;
    double more = polygrad_madd$(half, 4.044532497422333e-21, step - (near - top));
    double r = top - more;
    double rest = polygrad_madd$(-half, 1.69568553207378e-31, (top - r) - more);
    double z = r * r, square = z * z, fourth = square * square;
    /* (sin r - r) / r^3 */
    double odd = polygrad_madd$(1.5894710581634463e-10, z, -2.505073457106949e-8);
    odd = polygrad_madd$(odd, fourth, polygrad_cubic$(z, square, -0.1666666666666664, 0.008333333333323662,
        -0.00019841269830144393, 2.755731365185318e-6));
    /* (cos r - 1 + r^2 / 2) / r^4 */
    double even = polygrad_madd$(-1.1367981880469046e-11, z, 2.0875897738682843e-9);
    even = polygrad_madd$(even, fourth, polygrad_cubic$(z, square, 0.04166666666666665, -0.001388888888888284,
        2.4801587294628004e-5, -2.7557315738613277e-7));
    double half_square = 0.5 * z;
    double one = 1.0 - half_square;
    polygrad_quarters quarters;
    quarters.sine = r + polygrad_madd$(r, z * odd, rest);
    quarters.cosine = one + polygrad_madd$(square, even, polygrad_madd$(-r, rest, (1.0 - one) - half_square));
    quarters.quarter = polygrad_bits(rounded);
    return quarters;
}

/* sin x; the sine of zero is zero, with its sign. */
static inline double polygrad_sin$(double x) {
    if (!(fabs(x) <= 1048576.0))
        return sin(x);
    polygrad_quarters of = polygrad_quarters_of$(x);
    double y = polygrad_flip(of.quarter & 1 ? of.cosine : of.sine, of.quarter >> 1);
    return x == 0.0 ? x : y;
}

/* cos x */
static inline double polygrad_cos$(double x) {
    if (!(fabs(x) <= 1048576.0))
        return cos(x);
    polygrad_quarters of = polygrad_quarters_of$(x);
    return polygrad_flip(of.quarter & 1 ? of.sine : of.cosine, (of.quarter + 1) >> 1);
}

/* tan x */
static inline double polygrad_tan$(double x) {
    if (!(fabs(x) <= 1048576.0))
        return tan(x);
    polygrad_quarters of = polygrad_quarters_of$(x);
    double quotient = of.quarter & 1 ? of.cosine / of.sine : of.sine / of.cosine;
    return x == 0.0 ? x : polygrad_flip(quotient, of.quarter);
}

/* The sine of x - n pi, negated if the integer in the low bits of rounded is odd, to single precision. */
static inline double polygrad_sine_less(double x, double rounded, double n) {
    /* The product with the leading part of pi is exact. */
    double r = polygrad_madd(-n, 1.2154201012607932e-10 + 4.044532497422333e-21,
        polygrad_madd(-n, 3.1415926534682512, x));
    double z = r * r;
    /* (sin r - r) / r^3 */
    double odd = -2.3889270990985938e-8;
    odd = polygrad_madd(odd, z, 2.7525861137491537e-6);
    odd = polygrad_madd(odd, z, -0.00019840890276762898);
    odd = polygrad_madd(odd, z, 0.00833333142264532);
    odd = polygrad_madd(odd, z, -0.16666666638948474);
    return polygrad_flip(polygrad_madd(r, z * odd, r), polygrad_bits(rounded));
}

/* sin x in double precision, for a number of single precision. */
static inline double polygrad_short_sine(double x) {
    const double magic = 6755399441055744.0;
    double rounded = polygrad_madd(x, 0.3183098861837907, magic);
    return polygrad_sine_less(x, rounded, rounded - magic);
}

/* cos x in double precision, for a number of single precision: a sine from a half period on. */
static inline double polygrad_short_cosine(double x) {
    const double magic = 6755399441055744.0;
    double rounded = polygrad_madd(fabs(x), 0.3183098861837907, 0.5) + magic;
    return polygrad_sine_less(fabs(x), rounded, (rounded - magic) - 0.5);
}

/* sin x */
static inline float polygrad_sinf(float x) {
    if (!(fabsf(x) <= 1048576.0f))
        return (float)sin((double)x);
    return x == 0.0f ? x : (float)polygrad_short_sine((double)x);
}

/* cos x */
static inline float polygrad_cosf(float x) {
    if (!(fabsf(x) <= 1048576.0f))
        return (float)cos((double)x);
    return (float)polygrad_short_cosine((double)x);
}

/* tan x */
static inline float polygrad_tanf(float x) {
    if (!(fabsf(x) <= 1048576.0f))
        return (float)tan((double)x);
    return x == 0.0f ? x : (float)(polygrad_short_sine((double)x) / polygrad_short_cosine((double)x));
}

/* atan x = atan c + atan t with t = (x - c) / (1 + c x), for the nearest c of 0, 1/2, 1, 3/2 and infinity. */
static inline double polygrad_atan(double x) {
    double a = fabs(x);
    /* c, and its inverse tangent in two parts. */
    double near = 0.0, high = 0.0, low = 0.0;
    if (a >= 39.0 / 16.0) {
        high = 1.5707963267948966;
        low = 6.123233995736766e-17;
    } else if (a >= 19.0 / 16.0) {
        near = 1.5;
        high = 0.982793723247329;
        low = 1.3903311031230998e-17;
    } else if (a >= 11.0 / 16.0) {
        near = 1.0;
        high = 0.7853981633974483;
        low = 3.061616997868383e-17;
    } else if (a >= 7.0 / 16.0) {
        near = 0.5;
        high = 0.4636476090008061;
        low = 2.2698777452961687e-17;
    }
    double t = a >= 39.0 / 16.0 ? -1.0 / a : (a - near) / (1.0 + near * a);
    /* (atan t - t) / t^3 as a function of t^2, for |t| <= 7/16. */
    double z = t * t, square = z * z, fourth = square * square;
    double sum = polygrad_madd(-0.017547235157290005, square,
        polygrad_madd(0.03782521866106712, z, -0.05033942776485848));
    sum = polygrad_madd(sum, fourth, polygrad_cubic(z, square, -0.09090900195560148, 0.07692087348767168,
        -0.06663239299107136, 0.05847724720645106));
    sum = polygrad_madd(sum, fourth, polygrad_cubic(z, square, -0.33333333333333326, 0.1999999999998778,
        -0.1428571428314864, 0.11111110900560475));
    double odd = t * z * sum;
    return copysign(high + (t + (odd + low)), x);
}

/* atan x */
static inline float polygrad_atanf(float x) {
    return (float)polygrad_atan((double)x);
}

/* The smaller of two positive numbers, divided by the larger one. */
static inline double polygrad_quotient(double a, double b) {
    return a > b ? b / a : a / b;
}

/* The angle of the point (x, y), measured from the nearest axis, given the quotient of the coordinates. */
static inline double polygrad_angle(double y, double x, double quotient) {
    const double quarter = 1.5707963267948966, rest = 6.123233995736766e-17;
    double acute = polygrad_atan(quotient);
    double angle;
    if (fabs(y) > fabs(x))
        angle = x < 0.0 ? quarter + (acute + rest) : quarter + (-acute + rest);
    else
        angle = x < 0.0 ? 2.0 * quarter - (acute - 2.0 * rest) : acute;
    return copysign(angle, y);
}

/* The angle of the point (x, y), from -pi to pi; extreme quotients and coordinates are left to the platform. */
static inline REAL polygrad_atan2@(REAL y, REAL x) {
    double a = fabs(WIDE y), b = fabs(WIDE x);
    double quotient = polygrad_quotient(a, b);
    if (quotient > 1e-300 && quotient <= 1.0 && a < 1e300 && b < 1e300)
        return NARROW polygrad_angle(WIDE y, WIDE x, quotient);
    return NARROW atan2(WIDE y, WIDE x);
}

/* asin x: the angle of a point of the unit circle; NaN outside of the interval from -1 to 1. */
static inline REAL polygrad_asin@(REAL narrow) {
    double x = WIDE narrow;
    if (!(fabs(x) < 1.0 && fabs(x) > 1e-200))
        return NARROW asin(x);
    double other = sqrt((1.0 - x) * (1.0 + x));
    return NARROW polygrad_angle(x, other, polygrad_quotient(fabs(x), other));
}

/* acos x: the angle of a point of the unit circle; NaN outside of the interval from -1 to 1. */
static inline REAL polygrad_acos@(REAL narrow) {
    double x = WIDE narrow;
    if (!(fabs(x) < 1.0 && fabs(x) > 1e-200))
        return NARROW acos(x);
    double other = sqrt((1.0 - x) * (1.0 + x));
    return NARROW polygrad_angle(other, x, polygrad_quotient(other, fabs(x)));
}
