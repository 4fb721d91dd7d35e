//! Numbers of about 32 digits, each the sum of two, and rotations of columns in them, by their definitions.

/// `high + low`, where `low` is at most half a rounding unit of `high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Double {
    high: f64,
    low: f64,
}

/// The sum of two numbers and its rounding error.
fn sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let of_b = high - a;
    Double { high, low: (a - (high - of_b)) + (b - of_b) }
}

impl Double {
    pub(super) fn of(x: f64) -> Double {
        Double { high: x, low: 0.0 }
    }

    fn plus(self, other: Double) -> Double {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = sum(high.high, high.low + low.high);
        sum(first.high, first.low + low.low)
    }

    fn negated(self) -> Double {
        Double { high: -self.high, low: -self.low }
    }

    fn minus(self, other: Double) -> Double {
        self.plus(other.negated())
    }

    fn times(self, other: Double) -> Double {
        let high = self.high * other.high;
        let error = self.high.mul_add(other.high, -high);
        sum(high, error + (self.high * other.low + self.low * other.high))
    }

    fn over(self, other: Double) -> Double {
        // Two steps of long division after the first one.
        let mut quotient = Double::of(self.high / other.high);
        for _ in 0..2 {
            let rest = self.minus(quotient.times(other));
            quotient = quotient.plus(Double::of(rest.high / other.high));
        }
        quotient
    }

    fn root(self) -> Double {
        if self.high <= 0.0 {
            return Double::of(0.0);
        }
        let mut root = Double::of(self.high.sqrt());
        for _ in 0..2 {
            root = root.plus(self.over(root)).times(Double::of(0.5));
        }
        root
    }
}

fn product(x: &[Double], y: &[Double]) -> Double {
    x.iter().zip(y).fold(Double::of(0.0), |sum, (x, y)| sum.plus(x.times(*y)))
}

/// The lengths of columns after rotations that make all of them orthogonal, up to a part of the square of the largest
/// one; these are the singular values, in descending order: the method of M. Hestenes, "Inversion of matrices by
/// biorthogonalization and related results" (1958).
pub(super) fn orthogonalized(columns: impl Iterator<Item = Vec<Double>>, part: f64) -> Vec<f64> {
    let mut columns: Vec<Vec<Double>> = columns.collect();
    let n = columns.len();
    let least = part * columns.iter().map(|x| product(x, x).high).fold(0.0, f64::max);
    for sweep in 0.. {
        assert!(sweep < 50, "the columns do not become orthogonal");
        let mut rotated = false;
        for (p, q) in (0..n * n).map(|at| (at / n, at % n)).filter(|(p, q)| p < q) {
            let (x, y) = (columns[p].clone(), columns[q].clone());
            let [of_x, of_y, both] = [product(&x, &x), product(&y, &y), product(&x, &y)];
            if both.high.abs() <= (1e-28 * of_x.high.sqrt() * of_y.high.sqrt()).max(least) {
                continue;
            }
            rotated = true;
            let ratio = of_y.minus(of_x).over(both.times(Double::of(2.0)));
            let size = if ratio.high < 0.0 { ratio.negated() } else { ratio };
            let one = Double::of(1.0);
            let tangent = one.over(size.plus(size.times(size).plus(one).root()));
            let tangent = if ratio.high < 0.0 { tangent.negated() } else { tangent };
            let cosine = one.over(tangent.times(tangent).plus(one).root());
            let sine = cosine.times(tangent);
            for k in 0..x.len() {
                columns[p][k] = cosine.times(x[k]).minus(sine.times(y[k]));
                columns[q][k] = sine.times(x[k]).plus(cosine.times(y[k]));
            }
        }
        if !rotated {
            break;
        }
    }
    let mut lengths: Vec<f64> = columns.iter().map(|x| product(x, x).root().high).collect();
    lengths.sort_by(|x, y| y.total_cmp(x));
    lengths
}

/// The rows of the lower Cholesky factor of a positive definite matrix.
pub(super) fn cholesky(n: usize, a: &[f64]) -> Vec<Vec<Double>> {
    let mut l = vec![vec![Double::of(0.0); n]; n];
    for i in 0..n {
        for j in 0..=i {
            let rest = Double::of(a[i * n + j]).minus(product(&l[i][..j], &l[j][..j]));
            l[i][j] = if i == j { rest.root() } else { rest.over(l[j][j]) };
        }
    }
    l
}
