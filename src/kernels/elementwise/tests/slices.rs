//! Loops over slices: every row and every form, at lengths around those of vectors.

use super::{HOSTILE, LENGTHS, distance, hostile};
use crate::dtype::Elem;
use crate::kernels::elementwise::{
    Arg, Form, Isa, Real, and, binary, compare, complex_product, float_step, form, int_binary, int_unary,
    linear_combination, not, or, select, sin_cos, to_float, to_int, unary,
};
use crate::ops::{Binary, Compare, FloatStep, IntBinary, IntUnary, Unary};

/// Whether two slices are the same to the bit, but for the bits of NaN.
fn same<E: Real>(x: &[E], y: &[E]) -> bool {
    x.len() == y.len() && x.iter().zip(y).all(|(x, y)| distance(*x, *y) == 0)
}

/// An array of `n` elements, `start` at first, that a loop over positions has written to.
fn filled<E: Elem>(n: usize, start: E, run: impl FnOnce(&mut [E])) -> Vec<E> {
    let mut out = vec![start; n];
    run(&mut out);
    out
}

/// The result at an element does not depend on its position in a slice, nor on the length of the slice: the vectorised
/// part and the remainder of a loop round alike.
fn positions<E: Real>() {
    let all: Vec<E> = (0..LENGTHS[13]).map(|i| E::of_f64((i as f64 * 0.37).sin() * 9.0)).collect();
    for isa in Isa::supported() {
        for op in Unary::ALL {
            let whole = filled(all.len(), E::ONE, |out| unary(isa, *op, &all, out));
            for n in LENGTHS {
                let part = filled(n, E::ONE, |out| unary(isa, *op, &all[all.len() - n..], out));
                assert!(same(&part, &whole[all.len() - n..]), "{} at length {n} on {}", op.name(), isa.name());
            }
        }
        let (x, y) = all.split_at(500);
        for op in Binary::ALL {
            let whole = filled(500, E::ONE, |out| binary(isa, *op, Arg::Slice(x), Arg::Slice(y), out));
            for n in LENGTHS.into_iter().filter(|n| *n <= 500) {
                let (x, y) = (&x[500 - n..], &y[500 - n..]);
                let part = filled(n, E::ONE, |out| binary(isa, *op, Arg::Slice(x), Arg::Slice(y), out));
                assert!(same(&part, &whole[500 - n..]), "{} at length {n} on {}", op.name(), isa.name());
            }
            for i in 0..20 {
                let right = filled(20, E::ONE, |out| binary(isa, *op, Arg::Slice(&x[..20]), Arg::Scalar(y[i]), out));
                let left = filled(20, E::ONE, |out| binary(isa, *op, Arg::Scalar(x[i]), Arg::Slice(&y[..20]), out));
                let both = filled(2, E::ONE, |out| binary(isa, *op, Arg::Scalar(x[i]), Arg::Scalar(y[i]), out));
                let pair = [whole[i], whole[i]];
                assert!(same(&[right[i], left[i]], &pair) && same(&both, &pair), "{} on {}", op.name(), isa.name());
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_positions() {
    positions::<f64>();
    positions::<f32>();
}

/// The definition of a form by rows.
fn by_rows<E: Real>(form: Form, [x, y, z, w]: [E; 4]) -> E {
    match form {
        Form::DifferenceSquare => Unary::Square.apply(x - y),
        Form::DifferenceExp => unreachable!("the kernel of the exponential is tested by itself"),
        Form::MulAdd => x * y + z,
        Form::MulSub => x * y - z,
        Form::SubMul => z - x * y,
        Form::MulMul => (x * y) * z,
        Form::SumMul => (x + y) * z,
        Form::DifferenceMul => (x - y) * z,
        Form::RestMul => (y - x) * z,
        Form::Add3 => (x + y) + z,
        Form::MaxAbs => Binary::Max.apply(Unary::Abs.apply(x), Unary::Abs.apply(y)),
        Form::DivDiv => (x / y) / z,
        Form::TwoProductsSum => x * y + z * w,
        Form::TwoProductsDifference => x * y - z * w,
    }
}

fn forms<E: Real>() {
    for (isa, n) in Isa::supported().into_iter().flat_map(|isa| LENGTHS.map(|n| (isa, n))) {
        let args: [Vec<E>; 4] = [0, 5, 11, 17].map(|seed| hostile(n, seed));
        for (op, scalars) in Form::ALL.iter().flat_map(|op| (0..4).map(move |scalars| (*op, scalars))) {
            // The bits of `scalars` say which of the operands that need not be slices are scalars.
            let arg = |k: usize| match k >= op.slices() && scalars >> (k - 1) & 1 == 1 {
                true => Arg::Scalar(E::of_f64(-2.5)),
                false => Arg::Slice(&args[k][..]),
            };
            let at = |i: usize| {
                [0, 1, 2, 3].map(|k| match arg(k) {
                    Arg::Slice(x) => x[i],
                    Arg::Scalar(x) => x,
                })
            };
            let got = filled(n, E::ONE, |out| form(isa, op, &[0, 1, 2, 3].map(arg), out));
            let expected: Vec<E> = if op == Form::DifferenceExp {
                let differences: Vec<E> = (0..n).map(|i| at(i)[0] - at(i)[1]).collect();
                filled(n, E::ONE, |out| unary(isa, Unary::Exp, &differences, out))
            } else {
                (0..n).map(|i| by_rows(op, at(i))).collect()
            };
            assert!(same(&got, &expected), "{} of length {n}, scalars {scalars}, {}", op.name(), isa.name());
        }
    }
}

#[test]
fn forms_are_compositions_of_rows() {
    forms::<f64>();
    forms::<f32>();
}

fn combinations<E: Real>() {
    for (isa, n) in Isa::supported().into_iter().flat_map(|isa| [0, 1, 9, 65].map(|n| (isa, n))) {
        let terms: Vec<Vec<E>> = (0..8).map(|k| hostile(n, k)).collect();
        let terms: Vec<&[E]> = terms.iter().map(|term| &term[..]).collect();
        let weights: Vec<E> = (0..8).map(|k| E::of_f64(1.5 - f64::from(k))).collect();
        for (k, constant) in (1..=8).flat_map(|k| [(k, None), (k, Some(E::of_f64(0.3)))]) {
            let mut out = vec![E::ONE; n];
            linear_combination(isa, &terms[..k], &weights[..k], constant, &mut out);
            for (i, y) in out.iter().enumerate() {
                let start = constant.unwrap_or(-E::ZERO);
                let sum = (0..k).fold(start, |sum, k| sum + terms[k][i] * weights[k]);
                assert!(distance(*y, sum) == 0, "{k} terms of length {n} on {}", isa.name());
            }
        }
    }
}

#[test]
fn combinations_add_in_order() {
    combinations::<f64>();
    combinations::<f32>();
}

fn complex_products<E: Real>() {
    for (isa, n) in Isa::supported().into_iter().flat_map(|isa| LENGTHS.map(|n| (isa, n))) {
        let args: [Vec<E>; 4] = [0, 5, 11, 17].map(|seed| hostile(n, seed));
        let [x, y, z, w] = args.each_ref().map(|x| &x[..]);
        let (mut difference, mut sum) = (vec![E::ONE; n], vec![E::ONE; n]);
        complex_product(isa, [x, y, z, w], &mut difference, &mut sum);
        for i in 0..n {
            let expected = [x[i] * y[i] - z[i] * w[i], x[i] * w[i] + z[i] * y[i]];
            assert!(same(&[difference[i], sum[i]], &expected), "element {i} of {n}, {}", isa.name());
        }
    }
}

#[test]
fn parts_of_complex_products_are_compositions_of_rows() {
    complex_products::<f64>();
    complex_products::<f32>();
}

/// Sine and cosine computed together have the bits and the error of each computed alone.
fn sines<E: Real>() {
    let x: Vec<E> = (0..700).map(|i| E::of_f64(f64::from(i) * 0.173 - 60.0)).chain(hostile(64, 0)).collect();
    for isa in Isa::supported() {
        let (mut sine, mut cosine) = (vec![E::ONE; x.len()], vec![E::ONE; x.len()]);
        sin_cos(isa, &x, &mut sine, &mut cosine);
        let alone = [Unary::Sin, Unary::Cos].map(|op| filled(x.len(), E::ONE, |out| unary(isa, op, &x, out)));
        assert!(same(&sine, &alone[0]) && same(&cosine, &alone[1]), "on {}", isa.name());
        for (i, x) in x.iter().enumerate() {
            let exact = [core_math::sin(x.as_f64()), core_math::cos(x.as_f64())].map(E::of_f64);
            assert!(distance(sine[i], exact[0]) <= 1 && distance(cosine[i], exact[1]) <= 1, "{x:?} on {}", isa.name());
        }
    }
}

#[test]
fn sine_and_cosine_together_are_exact_to_one_unit() {
    sines::<f64>();
    sines::<f32>();
}

fn comparisons<E: Elem>(x: &[E], y: &[E]) {
    for (isa, op) in Isa::supported().into_iter().flat_map(|isa| Compare::ALL.iter().map(move |op| (isa, *op))) {
        for n in LENGTHS.into_iter().filter(|n| *n <= x.len()) {
            let (x, y) = (&x[..n], &y[..n]);
            let got = filled(n, false, |out| compare(isa, op, Arg::Slice(x), Arg::Slice(y), out));
            assert!((0..n).all(|i| got[i] == op.apply(x[i], y[i])), "{} at length {n} on {}", op.name(), isa.name());
            if let Some(s) = x.last() {
                let got = filled(n, false, |out| compare(isa, op, Arg::Scalar(*s), Arg::Slice(y), out));
                assert!((0..n).all(|i| got[i] == op.apply(*s, y[i])), "{} of a number", op.name());
            }
        }
    }
}

/// Integers at the ends of the range and near zero.
fn integers(n: usize, seed: usize) -> Vec<i64> {
    let list = [0, 1, -1, 2, -7, 63, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 53, (1 << 53) + 1, -(1 << 62) + 3, 10];
    (0..n).map(|i| list[(i * 5 + i / 13 + seed) % list.len()]).collect()
}

#[test]
fn discrete_rows_are_the_rows() {
    let (x, y) = (integers(257, 0), integers(257, 4));
    let masks: Vec<bool> = x.iter().map(|x| x % 3 == 0).collect();
    let others: Vec<bool> = y.iter().map(|y| y % 2 == 0).collect();
    comparisons(&x, &y);
    comparisons(&masks, &others);
    comparisons::<f64>(&hostile(257, 0), &hostile(257, 3));
    comparisons::<f32>(&hostile(257, 0), &hostile(257, 3));
    for (isa, n) in Isa::supported().into_iter().flat_map(|isa| LENGTHS.map(|n| (isa, n.min(257)))) {
        let (x, y, a, b) = (&x[..n], &y[..n], &masks[..n], &others[..n]);
        for op in IntUnary::ALL {
            let got = filled(n, 5, |out| int_unary(isa, *op, x, out));
            assert!((0..n).all(|i| got[i] == op.apply(x[i])), "{}", op.name());
        }
        for op in IntBinary::ALL {
            let got = filled(n, 5, |out| int_binary(isa, *op, Arg::Slice(x), Arg::Slice(y), out));
            assert!((0..n).all(|i| got[i] == op.apply(x[i], y[i])), "{}", op.name());
            for by in [-3, 0, 1, -1, 2, 7, -10, 641, 1 << 62, i64::MAX, i64::MIN] {
                let got = filled(n, 5, |out| int_binary(isa, *op, Arg::Slice(x), Arg::Scalar(by), out));
                assert!((0..n).all(|i| got[i] == op.apply(x[i], by)), "{} by {by}", op.name());
            }
        }
        let both = filled(n, true, |out| and(isa, Arg::Slice(a), Arg::Slice(b), out));
        let either = filled(n, true, |out| or(isa, Arg::Slice(a), Arg::Slice(b), out));
        let neither = filled(n, true, |out| not(isa, a, out));
        assert!((0..n).all(|i| [both[i], either[i], neither[i]] == [a[i] && b[i], a[i] || b[i], !a[i]]));
    }
}

fn floats<E: Real + crate::kernels::elementwise::discrete::Convert>() {
    for (isa, n) in Isa::supported().into_iter().flat_map(|isa| LENGTHS.map(|n| (isa, n))) {
        let (x, y) = (hostile::<E>(n, 0), hostile::<E>(n, 9));
        for op in FloatStep::ALL {
            let got = filled(n, E::ONE, |out| float_step(isa, *op, &x, out));
            assert!((0..n).all(|i| distance(got[i], op.apply(x[i])) == 0), "{} on {}", op.name(), isa.name());
        }
        let got = filled(n, 5, |out| to_int(isa, &x, out));
        let truncated = |x: E| if x.is_nan() { 0 } else { x.as_f64() as i64 };
        assert!((0..n).all(|i| got[i] == truncated(x[i])), "to_int on {}", isa.name());
        let (ints, masks) = (integers(n, 0), x.iter().map(|x| *x > E::ZERO).collect::<Vec<bool>>());
        let got = filled(n, E::ZERO, |out| to_float(isa, &ints, out));
        let nearest = |x: i64| if E::DTYPE == crate::DType::F32 { f64::from(x as f32) } else { x as f64 };
        assert!((0..n).all(|i| got[i].as_f64() == nearest(ints[i])), "to_float on {}", isa.name());
        let got = filled(n, E::ZERO, |out| to_float(isa, &masks, out));
        assert!((0..n).all(|i| (got[i] == E::ONE) == masks[i] && (got[i] == E::ZERO) != masks[i]));
        for (a, b) in [
            (Arg::Slice(&x[..]), Arg::Slice(&y[..])),
            (Arg::Scalar(E::ONE), Arg::Slice(&y[..])),
            (Arg::Slice(&x[..]), Arg::Scalar(E::ONE)),
            (Arg::Scalar(E::nan()), Arg::Scalar(E::ONE)),
        ] {
            let got = filled(n, E::ZERO, |out| select(isa, &masks, a, b, out));
            for i in 0..n {
                let chosen = match if masks[i] { a } else { b } {
                    Arg::Slice(x) => x[i],
                    Arg::Scalar(x) => x,
                };
                assert_eq!(distance(got[i], chosen), 0);
            }
        }
    }
}

#[test]
fn steps_conversions_and_choices_are_the_rows() {
    assert_eq!(HOSTILE.len(), 32);
    floats::<f64>();
    floats::<f32>();
}
