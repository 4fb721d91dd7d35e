//! How large the errors of rows may be: `accuracy.rs` holds the rows to it, and the page of operations prints it.

/// The largest errors of a row over the recorded points in units of the last place, rounded up: of the value and of
/// each partial, in `f64` and in `f32`. `docs/operations.md` prints the former.
pub(crate) type Bound = (&'static str, &'static [f64], &'static [f64]);

/// The bounds. Where one is above 4 a comment says why.
pub(crate) const BOUNDS: &[Bound] = &[
    ("neg", &[0.5, 0.5], &[0.5, 0.5]),
    ("abs", &[0.5, 0.5], &[0.5, 0.5]),
    ("recip", &[0.5, 2.0], &[0.5, 2.0]),
    ("square", &[0.5, 0.5], &[0.5, 0.5]),
    ("one_minus_square", &[2.0, 0.5], &[2.0, 0.5]),
    ("sqrt", &[0.5, 2.0], &[0.5, 2.0]),
    ("exp", &[0.5, 0.5], &[0.5, 0.5]),
    ("ln", &[0.5, 0.5], &[0.5, 0.5]),
    ("log1p", &[1.0, 2.0], &[1.0, 2.0]),
    ("expm1", &[1.0, 0.5], &[1.0, 0.5]),
    // At the float nearest to a multiple of pi/2 the system's sine, cosine and tangent err, by 8 and 14; else by 0.5
    // and 1.
    ("sin", &[0.5, 8.0], &[0.5, 0.5]),
    ("cos", &[8.0, 0.5], &[0.5, 0.5]),
    ("tan", &[15.0, 27.0], &[1.0, 2.0]),
    ("asin", &[0.5, 2.0], &[1.0, 2.0]),
    ("acos", &[0.5, 2.0], &[1.0, 2.0]),
    ("atan", &[0.5, 2.0], &[1.0, 2.0]),
    ("sinh", &[2.0, 2.0], &[2.0, 1.0]),
    ("cosh", &[2.0, 2.0], &[1.0, 2.0]),
    ("tanh", &[2.0, 3.0], &[2.0, 2.0]),
    ("sech2", &[4.0, 4.0], &[2.0, 3.0]),
    ("asinh", &[2.0, 2.0], &[0.5, 2.0]),
    ("acosh", &[3.0, 3.0], &[0.5, 3.0]),
    ("atanh", &[2.0, 2.0], &[0.5, 2.0]),
    ("sigmoid", &[2.0, 3.0], &[2.0, 2.0]),
    ("relu", &[0.5, 0.5], &[0.5, 0.5]),
    ("softplus", &[2.0, 2.0], &[2.0, 2.0]),
    // The derivative where the value is subnormal, which has few digits there.
    ("gaussian", &[2.0, 47.0], &[0.5, 11.0]),
    ("erf", &[1.0, 2.0], &[0.5, 2.0]),
    ("erfc", &[3.0, 3.0], &[0.5, 2.0]),
    ("erfinv", &[3.0, 5.0], &[0.5, 5.0]),
    // A recurrence adds up to 12 terms, and a reflection has powers of a sine.
    ("lgamma", &[4.0, 7.0], &[0.5, 0.5]),
    ("digamma", &[5.0, 5.0], &[0.5, 0.5]),
    ("trigamma", &[5.0, 7.0], &[0.5, 0.5]),
    ("add", &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
    ("sub", &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
    ("mul", &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
    ("div", &[0.5, 0.5, 2.0], &[0.5, 0.5, 2.0]),
    // The second partial at (1e-300, 1.03), where the power itself is subnormal.
    ("pow", &[0.5, 3.0, 5.0], &[0.5, 2.0, 3.0]),
    // The first partial, which is a second derivative of `pow`: its factor x^(y - 2) is made with y - 1 rounded, which
    // counts as often as ln x is large.
    ("pow_less_one", &[2.0, 308.0, 3.0], &[2.0, 33.0, 3.0]),
    // The partials where both arguments are subnormal.
    ("atan2", &[0.5, 9.0, 8.0], &[1.0, 2.0, 2.0]),
    ("recip_real", &[3.0, 3.0, 4.0], &[2.0, 3.0, 2.0]),
    ("hypot", &[1.0, 2.0, 2.0], &[0.5, 2.0, 2.0]),
    ("copysign", &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
    ("min", &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
    ("max", &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
    // The rounding of x - y counts in the smaller partial as often as that is large: up to |x - y| units, which is 745
    // before the partial is 0.
    ("logaddexp", &[2.0, 327.0, 477.0], &[1.0, 63.0, 58.0]),
    // The rounding of a term of the recurrence counts as often as the order says.
    ("polygamma", &[9.0, 10.0, 0.5], &[0.5, 0.5, 0.5]),
    ("mul_no_nan", &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
    ("div_no_nan", &[0.5, 0.5, 2.0], &[0.5, 0.5, 2.0]),
];
