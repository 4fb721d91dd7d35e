/* Compilers must neither contract products and sums into fused operations (-ffp-contract=off), nor compute
   with more or with fewer digits than types have (-ffast-math, the x87 unit). */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_MANT_DIG != 24 || DBL_MANT_DIG != 53 || FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 1 || \
    FLT_EVAL_METHOD == 2 || defined(__FAST_MATH__)
#error "The functions of polygrad need the arithmetic of IEEE 754 in the precision of each type."
#endif
#if defined(__clang__)
/* A function may be used on some processors alone. */
#pragma clang diagnostic ignored "-Wunused-function"
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
