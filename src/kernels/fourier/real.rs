//! Real lines of even length `n` as `n / 2` complex numbers: the spectrum of the one from that of the other, and back.
//!
//! Two neighbours `x[2 j]` and `x[2 j + 1]` are one number `z[j]`. With `m = n / 2` and `w = e^(-2 pi i / n)` the
//! spectra are related by `X[k] = E[k] + w^k O[k]` and `X[m - k] = conj (E[k] - w^k O[k])`, where
//! `E[k] = (Z[k] + conj Z[m - k]) / 2` and `O[k] = -i (Z[k] - conj Z[m - k]) / 2`. The way back has the same form with
//! another factor. A spectrum is `m` numbers: `X[0]` and `X[m]` are real, so number 0 is made of these two.

use std::f64::consts::TAU;

use rustfft::FftDirection;

use super::{Number, Plan, Transformed, plan};
use crate::cost::MACHINE;

/// The transform of half the length, and the factors of [`turn`].
pub(super) struct Halves<E> {
    pub(super) fft: Plan<E>,
    /// From the spectrum of the pairs to that of the line.
    pub(super) forth: Vec<Number<E>>,
    /// From the spectrum of the line to that of the pairs.
    pub(super) back: Vec<Number<E>>,
}

impl<E: Transformed> Halves<E> {
    pub(super) fn new(n: usize, direction: FftDirection) -> Halves<E> {
        let sign = match direction {
            FftDirection::Forward => -1.0,
            FftDirection::Inverse => 1.0,
        };
        // -i / 2 and i / 2 times the power.
        let powers = || (0..=n / 4).map(|k| root(k, n)).map(|(cos, sin)| Number::new(cos, sign * sin));
        let rounded = |re: f64, im: f64| Number::new(E::of_f64(re), E::of_f64(im));
        Halves {
            fft: plan(n / 2, direction),
            forth: powers().map(|w| rounded(0.5 * w.im, -0.5 * w.re)).collect(),
            back: powers().map(|w| rounded(-0.5 * w.im, 0.5 * w.re)).collect(),
        }
    }
}

/// Cosine and sine of `2 pi k / n`, of `k` at most `n / 4`: exact where they are 0 or 1.
fn root(k: usize, n: usize) -> (f64, f64) {
    if 8 * k <= n {
        let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
        (cos, sin)
    } else {
        let (sin, cos) = (TAU * (n - 4 * k) as f64 / (4 * n) as f64).sin_cos();
        (sin, cos)
    }
}

/// Turns one of the two spectra of lines, a `pitch` apart, into the other one.
pub(super) fn turn_all<E: Transformed>(z: &mut [Number<E>], [pitch, len]: [usize; 2], factors: &[Number<E>]) {
    if 2 * len > MACHINE.short_line {
        return z.chunks_exact_mut(pitch).for_each(|line| turn(&mut line[..len], factors));
    }
    z.iter_mut().step_by(pitch).for_each(ends);
    for k in 1..len.div_ceil(2) {
        let c = factors[k];
        for line in z.chunks_exact_mut(pitch) {
            (line[k], line[len - k]) = partners(line[k], line[len - k], c);
        }
    }
    if len.is_multiple_of(2) {
        let c = factors[len / 2];
        z[len / 2..].iter_mut().step_by(pitch).for_each(|a| *a = middle(*a, c));
    }
}

/// Turns one of the two spectra of a line into the other one.
fn turn<E: Transformed>(z: &mut [Number<E>], factors: &[Number<E>]) {
    let [first, rest @ ..] = z else { return };
    ends(first);
    let half = rest.len() / 2;
    let (front, back) = rest.split_at_mut(rest.len() - half);
    for ((a, b), c) in front.iter_mut().zip(back.iter_mut().rev()).zip(&factors[1..]) {
        (*a, *b) = partners(*a, *b, *c);
    }
    if front.len() > half {
        front[half] = middle(front[half], factors[half + 1]);
    }
}

/// Number 0: the two ends of one of the spectra.
#[inline]
fn ends<E: Transformed>(z: &mut Number<E>) {
    *z = Number::new(z.re + z.im, z.re - z.im);
}

/// Numbers `k` and `m - k`.
#[inline]
fn partners<E: Transformed>(a: Number<E>, b: Number<E>, c: Number<E>) -> (Number<E>, Number<E>) {
    let half = E::of_f64(0.5);
    let even = Number::new(half * (a.re + b.re), half * (a.im - b.im));
    let odd = Number::new(a.re - b.re, a.im + b.im);
    let odd = Number::new(c.re * odd.re - c.im * odd.im, c.re * odd.im + c.im * odd.re);
    (Number::new(even.re + odd.re, even.im + odd.im), Number::new(even.re - odd.re, odd.im - even.im))
}

/// Number `m / 2`, which is its own partner.
#[inline]
fn middle<E: Transformed>(a: Number<E>, c: Number<E>) -> Number<E> {
    let twice = a.im + a.im;
    let odd = Number::new(-c.im * twice, c.re * twice);
    Number::new(a.re + odd.re, odd.im)
}

/// The spectra whose transforms are the real parts of the transforms of lines of `n` complex numbers, `wide` apart.
pub(super) fn fold_all<E: Transformed>(
    (lines, wide): (&[Number<E>], usize),
    n: usize,
    spectra: &mut [Number<E>],
    pitch: usize,
) {
    let m = n / 2;
    if n > MACHINE.short_line {
        return lines
            .chunks_exact(wide)
            .zip(spectra.chunks_exact_mut(pitch))
            .for_each(|(z, s)| fold(&z[..n], &mut s[..m]));
    }
    for k in 0..m {
        let partner = if k == 0 { m } else { n - k };
        let partners = lines[k..].iter().step_by(wide).zip(lines[partner..].iter().step_by(wide));
        let to = spectra[k..].iter_mut().step_by(pitch).zip(partners);
        match k {
            0 => to.for_each(|(s, (z, c))| *s = Number::new(z.re, c.re)),
            _ => to.for_each(|(s, (z, c))| *s = Number::new(z.re + c.re, z.im - c.im)),
        }
    }
}

fn fold<E: Transformed>(line: &[Number<E>], spectrum: &mut [Number<E>]) {
    let m = spectrum.len();
    spectrum[0] = Number::new(line[0].re, line[m].re);
    let conjugates = line[m + 1..].iter().rev();
    for ((s, z), c) in spectrum[1..].iter_mut().zip(&line[1..m]).zip(conjugates) {
        *s = Number::new(z.re + c.re, z.im - c.im);
    }
}
