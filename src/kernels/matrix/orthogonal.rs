//! QR factorization by Householder reflections.
//!
//! Laws: scaling the columns by powers of two leaves `q` the same and scales the columns of `r`, to the bit if all
//! numbers are in range. The rounding error of a column in the rows that remain is relative to its largest element
//! there, however small that is.

use super::{Real, exponent, scaled};

/// A column-major matrix.
struct Columns<E> {
    elements: Vec<E>,
    rows: usize,
}

impl<E: Real> Columns<E> {
    fn column(&mut self, j: usize) -> &mut [E] {
        &mut self.elements[j * self.rows..(j + 1) * self.rows]
    }

    /// Applies the reflection `I - tau v v^T` to the last `v.len()` rows of the columns from `from` on.
    fn reflect(&mut self, v: &[E], tau: E, from: usize) {
        let first = self.rows - v.len();
        for column in self.elements.chunks_exact_mut(self.rows).skip(from) {
            let column = &mut column[first..];
            let product = v.iter().zip(column.iter()).fold(E::ZERO, |sum, (v, x)| sum + *v * *x) * tau;
            column.iter_mut().zip(v).for_each(|(x, v)| *x -= product * *v);
        }
    }
}

/// The Householder reflection `I - tau v v^T` that maps `x` to a multiple of the first unit vector: `v`, whose first
/// element is 1, `tau`, and the multiple. `None` if all elements below the first are 0.
fn reflection<E: Real>(x: &[E]) -> Option<(Vec<E>, E, E)> {
    let size = exponent(x.iter().copied());
    let x: Vec<E> = x.iter().map(|x| scaled(*x, -size)).collect();
    if x[1..].iter().all(|x| *x == E::ZERO) {
        return None;
    }
    let length = num_traits::Float::sqrt(x.iter().fold(E::ZERO, |sum, x| sum + *x * *x));
    let onto = if x[0] > E::ZERO { -length } else { length };
    let rest = x[0] - onto;
    let v = x.iter().enumerate().map(|(i, x)| if i == 0 { E::ONE } else { *x / rest }).collect();
    Some((v, -rest / onto, scaled(onto, size)))
}

/// The QR factors: `q` with orthonormal columns, and `r`, upper triangular with a diagonal that is not negative; all
/// elements of `a` are finite.
pub(crate) fn factors<E: Real>([m, n]: [usize; 2], a: &[E], q: &mut [E], r: &mut [E]) {
    let k = m.min(n);
    let sizes: Vec<i64> = (0..n).map(|j| exponent((0..m).map(|i| a[i * n + j]))).collect();
    let unit = |at: usize| scaled(a[at % m * n + at / m], -sizes[at / m]);
    let mut right = Columns { elements: (0..m * n).map(unit).collect(), rows: m };
    let mut reflections = Vec::with_capacity(k);
    for j in 0..k {
        let column = &mut right.column(j)[j..];
        let Some((v, tau, onto)) = reflection(column) else {
            reflections.push(None);
            continue;
        };
        column.fill(E::ZERO);
        column[0] = onto;
        right.reflect(&v, tau, j + 1);
        reflections.push(Some((v, tau)));
    }
    let one = |at: usize| if at % m == at / m { E::ONE } else { E::ZERO };
    let mut left = Columns { elements: (0..m * k).map(one).collect(), rows: m };
    for (j, reflection) in reflections.iter().enumerate().rev() {
        if let Some((v, tau)) = reflection {
            left.reflect(v, *tau, j);
        }
    }
    for i in 0..k {
        let down = right.elements[i * m + i] < E::ZERO;
        let turned = |x: E| if down { -x } else { x };
        (0..m).for_each(|row| q[row * k + i] = turned(left.elements[i * m + row]));
        for j in 0..n {
            let x = right.elements[j * m + i];
            r[i * n + j] = if j < i { E::ZERO } else { scaled(turned(x), sizes[j]) };
        }
    }
}
