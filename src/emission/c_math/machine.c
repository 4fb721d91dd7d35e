/* The bits of a number. */
static inline uint64_t polygrad_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The number with these bits. */
static inline double polygrad_from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The bits of a number. */
static inline uint32_t polygrad_bitsf(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The number with these bits. */
static inline float polygrad_from_bitsf(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a b + c; rounded twice. */
static inline double polygrad_madd_unfused(double a, double b, double c) {
    return a * b + c;
}

/* a b + c; rounded once on processors of the kind x86 with the instruction, and twice on all others, as in Rust. */
static inline double polygrad_madd(double a, double b, double c) {
#ifdef __FMA__
    return fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* a b + c; rounded once on processors of the kind x86 with the instruction, and twice on all others, as in Rust. */
static inline float polygrad_maddf(float a, float b, float c) {
#ifdef __FMA__
    return fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* a b - product, where the product is a b, rounded: by products of halves of 26 bits, which are exact (Veltkamp's
   splitting). */
static inline double polygrad_product_error_unfused(double a, double b, double product) {
    double wide_a = a * 134217729.0, wide_b = b * 134217729.0;
    double a0 = wide_a - (wide_a - a), b0 = wide_b - (wide_b - b);
    double a1 = a - a0, b1 = b - b0;
    return ((a0 * b0 - product) + a0 * b1 + a1 * b0) + a1 * b1;
}

/* a b - product, where the product is a b, rounded. */
static inline double polygrad_product_error(double a, double b, double product) {
#ifdef __FMA__
    return fma(a, b, -product);
#else
    return polygrad_product_error_unfused(a, b, product);
#endif
}

/* a b - product, where the product is a b, rounded. */
static inline float polygrad_product_errorf(float a, float b, float product) {
#ifdef __FMA__
    return fmaf(a, b, -product);
#else
    return (float)((double)a * (double)b - (double)product);
#endif
}
