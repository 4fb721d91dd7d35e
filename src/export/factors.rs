//! Factorizations of matrices, and the matrix exponential, in StableHLO.
//!
//! The LU factorization is a loop over columns. `Qr`, `ProductOfElementaryHouseholderReflectors` and `Eigh` are custom
//! calls that XLA expands into operations on every device.

use super::hlo::result_types;
use super::text::{HloValue, Region, Ty, names, types};
use crate::shape::{Shape, size};

/// The largest norm for which the Padé approximant of the exponential is exact to rounding (N. Higham, The scaling and
/// squaring method for the matrix exponential revisited, 2005, table 2.3).
const THETA: f64 = 5.371_920_351_148_152;

/// The coefficients of the Padé approximant of order 13, from the constant term on.
const PADE: [f64; 14] = [
    64_764_752_532_480_000.0,
    32_382_376_266_240_000.0,
    7_771_770_303_897_600.0,
    1_187_353_796_428_800.0,
    129_060_195_264_000.0,
    10_559_470_521_600.0,
    670_442_572_800.0,
    33_522_128_640.0,
    1_323_241_920.0,
    40_840_800.0,
    960_960.0,
    16_380.0,
    182.0,
    1.0,
];

impl Region {
    /// The results of a custom call.
    fn custom_call(&mut self, name: &str, config: &str, args: &[HloValue], kinds: &[(Shape, Ty)]) -> Vec<HloValue> {
        let config = if config.is_empty() { String::new() } else { format!(" {{backend_config = \"{config}\"}}") };
        let text = format!(
            "stablehlo.custom_call @{name}({}){config} : ({}) -> {}",
            names(args),
            types(args),
            result_types(kinds)
        );
        self.results(&text, kinds)
    }

    /// The LU factors of square matrices in one matrix, `l` below the diagonal and `u` on and above it, and the
    /// permutation: for each row, the row of the matrix.
    pub(super) fn lu_factor(&mut self, a: &HloValue) -> [HloValue; 2] {
        let rank = a.shape.len();
        let (batch, n) = (size(&a.shape[..rank - 2]), a.shape[rank - 1]);
        let rows: Shape = a.shape[..rank - 1].into();
        if a.shape.contains(&0) {
            return [a.clone(), self.full(0.0, &rows, Ty::I64)];
        }
        let stack = self.reshape(a, &[batch, n, n]);
        let order = self.iota(&[batch, n], 1);
        let state =
            self.trips(n, vec![stack, order], |code, step, state| code.eliminated(step, &state[0], &state[1]).into());
        let lu = self.reshape(&state[0], &a.shape);
        let p = self.reshape(&state[1], &rows);
        let finite = self.finite(a);
        let finite = self.reduce("and", &finite, 1.0, &[rank - 2, rank - 1]);
        let axes: Vec<usize> = (0..rank - 2).collect();
        let known = self.broadcast(&finite, &rows, &axes);
        let unmoved = self.iota(&rows, rank - 2);
        [self.if_finite(a, &lu), self.select(&known, &p, &unmoved)]
    }

    /// One step of the elimination: the row with the largest element of column `k` becomes row `k`, and multiples of it
    /// are subtracted from those below.
    fn eliminated(&mut self, k: &HloValue, lu: &HloValue, p: &HloValue) -> [HloValue; 2] {
        let (batch, n) = (lu.shape[0], lu.shape[1]);
        let zero = self.integer(0, &[]);
        let (row, column) = (self.iota(&lu.shape, 1), self.iota(&lu.shape, 2));
        let all_k = self.broadcast(k, &lu.shape, &[]);
        let own_k = self.broadcast(k, &p.shape, &[]);
        let own = self.iota(&p.shape, 1);
        let values = self.dynamic_slice(lu, &[zero.clone(), zero.clone(), k.clone()], &[batch, n, 1]);
        let values = self.reshape(&values, &p.shape);
        let sizes = self.unary("abs", &values);
        let minus = self.like(-1.0, &sizes);
        let left = self.compare("GE", &own, &own_k);
        let sizes = self.select(&left, &sizes, &minus);
        let best = self.position("GT", &sizes, 1);
        let own_best = self.broadcast(&best, &p.shape, &[0]);
        let all_best = self.broadcast(&best, &lu.shape, &[0]);
        // The two rows are exchanged, and their entries of the permutation.
        let nothing = self.like(0.0, lu);
        let at_best = self.compare("EQ", &row, &all_best);
        let picked = self.select(&at_best, lu, &nothing);
        let picked = self.sum(&picked, &[1]);
        let here = self.dynamic_slice(lu, &[zero.clone(), k.clone(), zero.clone()], &[batch, 1, n]);
        let here = self.reshape(&here, &p.shape);
        let own_at_best = self.compare("EQ", &own, &own_best);
        let no_position = self.like(0.0, p);
        let from = self.select(&own_at_best, p, &no_position);
        let from = self.sum(&from, &[1]);
        let from = self.broadcast(&from, &p.shape, &[0]);
        let to = self.dynamic_slice(p, &[zero.clone(), k.clone()], &[batch, 1]);
        let to = self.reshape(&to, &[batch]);
        let to = self.broadcast(&to, &p.shape, &[0]);
        let own_at_k = self.compare("EQ", &own, &own_k);
        let moved = self.select(&own_at_best, &to, p);
        let p = self.select(&own_at_k, &from, &moved);
        let (upper, lower) = (self.broadcast(&picked, &lu.shape, &[0, 2]), self.broadcast(&here, &lu.shape, &[0, 2]));
        let at_k = self.compare("EQ", &row, &all_k);
        let moved = self.select(&at_best, &lower, lu);
        let moved = self.select(&at_k, &upper, &moved);
        // The multipliers: the column divided by the pivot, or zeros if the pivot is 0.
        let pivot = self.dynamic_slice(&picked, &[zero.clone(), k.clone()], &[batch, 1]);
        let pivot = self.reshape(&pivot, &[batch]);
        let none = self.compare_with("EQ", &pivot, 0.0);
        let one = self.like(1.0, &pivot);
        let pivot = self.select(&none, &one, &pivot);
        let pivot = self.broadcast(&pivot, &lu.shape, &[0]);
        let column_k = self.dynamic_slice(&moved, &[zero.clone(), zero, k.clone()], &[batch, n, 1]);
        let column_k = self.reshape(&column_k, &[batch, n]);
        let column_k = self.broadcast(&column_k, &lu.shape, &[0, 1]);
        let factor = self.binary("divide", &column_k, &pivot);
        let product = self.binary("multiply", &factor, &upper);
        let rest = self.binary("subtract", &moved, &product);
        let (below, right, on) = (
            self.compare("GT", &row, &all_k),
            self.compare("GT", &column, &all_k),
            self.compare("EQ", &column, &all_k),
        );
        let changes = self.binary("and", &below, &right);
        let divided = self.binary("and", &below, &on);
        let lu = self.select(&changes, &rest, &moved);
        [self.select(&divided, &factor, &lu), p]
    }

    /// `q` with orthonormal columns, and `r`, upper triangular with a diagonal that is not negative.
    pub(super) fn qr(&mut self, a: &HloValue) -> [HloValue; 2] {
        let rank = a.shape.len();
        let (m, n) = (a.shape[rank - 2], a.shape[rank - 1]);
        let k = m.min(n);
        let (mut left, mut right) = (a.shape.clone(), a.shape.clone());
        (left[rank - 1], right[rank - 2]) = (k, k);
        if a.shape.contains(&0) {
            return [self.full(0.0, &left, a.ty), self.full(0.0, &right, a.ty)];
        }
        let taus: Shape = a.shape[..rank - 2].iter().copied().chain([k]).collect();
        // Columns are scaled to elements of at most 1, so that their norms do not overflow.
        let sizes = self.unary("abs", a);
        let most = self.reduce("maximum", &sizes, 0.0, &[rank - 2]);
        let nothing = self.compare_with("EQ", &most, 0.0);
        let one = self.like(1.0, &most);
        let most = self.select(&nothing, &one, &most);
        let axes: Vec<usize> = (0..rank - 2).chain([rank - 1]).collect();
        let by = self.broadcast(&most, &a.shape, &axes);
        let unit = self.binary("divide", a, &by);
        let factors = self.custom_call("Qr", "", std::slice::from_ref(&unit), &[(a.shape.clone(), a.ty), (taus, a.ty)]);
        let part = |code: &mut Region, axis: usize| {
            let mut parts: Vec<_> = a.shape.iter().map(|n| (0, *n, 1)).collect();
            parts[axis].1 = k;
            code.slice(&factors[0], &parts)
        };
        let columns = part(self, rank - 1);
        let householder = [columns, factors[1].clone()];
        let q = self.custom_call("ProductOfElementaryHouseholderReflectors", "", &householder, &[(left, a.ty)]);
        let rows = part(self, rank - 2);
        let below = self.triangle("GT", &rows);
        let nothing = self.like(0.0, &rows);
        let r = self.select(&below, &nothing, &rows);
        // The sign of each negative diagonal element of `r` moves from the row of `r` to the column of `q`.
        let on = self.triangle("EQ", &r);
        let diagonal = self.select(&on, &r, &nothing);
        let diagonal = self.sum(&diagonal, &[rank - 1]);
        let negative = self.compare_with("LT", &diagonal, 0.0);
        let [q, r] = [(&q[0], rank - 1), (&r, rank - 2)].map(|(v, axis)| self.turned(v, &negative, axis));
        let by = self.broadcast(&most, &r.shape, &axes);
        let r = self.binary("multiply", &r, &by);
        [self.if_finite(a, &q), self.if_finite(a, &r)]
    }

    /// The value negated along an axis where a mask over the batch and this axis holds.
    fn turned(&mut self, v: &HloValue, mask: &HloValue, axis: usize) -> HloValue {
        let axes: Vec<usize> = (0..v.shape.len() - 2).chain([axis]).collect();
        let mask = self.broadcast(mask, &v.shape, &axes);
        let minus = self.unary("negate", v);
        self.select(&mask, &minus, v)
    }

    /// The eigenvalues of the symmetric parts in ascending order, and the eigenvectors as columns, whose largest
    /// element is positive.
    pub(super) fn eigh(&mut self, a: &HloValue) -> [HloValue; 2] {
        let rank = a.shape.len();
        let values: Shape = a.shape[..rank - 1].into();
        if a.shape.contains(&0) {
            return [self.full(0.0, &values, a.ty), a.clone()];
        }
        let (t, half) = (self.transposed(a), self.like(0.5, a));
        let twice = self.binary("add", a, &t);
        let symmetric = self.binary("multiply", &twice, &half);
        // The lower triangle is read, eigenvalues are sorted, at most 100 sweeps, and the tolerance.
        let config = "1,1,100,1e-15";
        let kinds = [(a.shape.clone(), a.ty), (values, a.ty)];
        let found = self.custom_call("Eigh", config, std::slice::from_ref(&symmetric), &kinds);
        let w = &found[1];
        let v = &self.refined(&symmetric, &found[0], w);
        let down = self.points_down(v);
        let v = self.turned(v, &down, rank - 1);
        [self.if_finite(a, w), self.if_finite(a, &v)]
    }

    /// For each column, whether its element of the largest absolute value is negative.
    fn points_down(&mut self, v: &HloValue) -> HloValue {
        let rank = v.shape.len();
        let sizes = self.unary("abs", v);
        let largest = self.position("GT", &sizes, rank - 2);
        let axes: Vec<usize> = (0..rank - 2).chain([rank - 1]).collect();
        let largest = self.broadcast(&largest, &v.shape, &axes);
        let row = self.iota(&v.shape, rank - 2);
        let there = self.compare("EQ", &row, &largest);
        let nothing = self.like(0.0, v);
        let element = self.select(&there, v, &nothing);
        let element = self.sum(&element, &[rank - 2]);
        self.compare_with("LT", &element, 0.0)
    }

    /// The left singular vectors as columns whose largest element is positive, the singular values in descending order,
    /// and the right singular vectors as rows.
    ///
    /// The matrix `[[0, a], [a^T, 0]]` has the eigenvalues `s` and `-s`, and the eigenvectors `(u, v)` and `(u, -v)`,
    /// as exact as those of `a`. For a singular value of 0, the halves of an eigenvector are arbitrary: a QR
    /// factorization keeps the vectors before it, and completes them to an orthonormal basis.
    pub(super) fn svd(&mut self, a: &HloValue) -> [HloValue; 3] {
        let rank = a.shape.len();
        let (m, n) = (a.shape[rank - 2], a.shape[rank - 1]);
        let k = m.min(n);
        let kind = |rows: &[usize]| a.shape[..rank - 2].iter().copied().chain(rows.iter().copied()).collect::<Shape>();
        if a.shape.contains(&0) {
            return [kind(&[m, k]), kind(&[k]), kind(&[k, n])].map(|shape| self.full(0.0, &shape, a.ty));
        }
        let (top, bottom) = (self.full(0.0, &kind(&[m, m]), a.ty), self.full(0.0, &kind(&[n, n]), a.ty));
        let t = self.transposed(a);
        let top = self.concat(rank - 1, &[top, a.clone()]);
        let bottom = self.concat(rank - 1, &[t, bottom]);
        let both = self.concat(rank - 2, &[top, bottom]);
        let [w, x] = self.eigh(&both);
        // The largest eigenvalues come last.
        let part = |code: &mut Region, from: &HloValue, rows: Option<(usize, usize)>| {
            let mut parts: Vec<_> = from.shape.iter().map(|n| (0, *n, 1)).collect();
            let last = parts.len() - 1;
            parts[last] = (m + n - k, m + n, 1);
            if let Some((start, end)) = rows {
                parts[last - 1] = (start, end, 1);
            }
            let part = code.slice(from, &parts);
            code.reverse(&part, &[last])
        };
        let s = part(self, &w, None);
        let nothing = self.like(0.0, &s);
        let s = self.binary("maximum", &s, &nothing);
        let [u, v] = [(0, m), (m, m + n)].map(|rows| {
            let half = part(self, &x, Some(rows));
            self.qr(&half)[0].clone()
        });
        let down = self.points_down(&u);
        let [u, v] = [u, v].map(|columns| self.turned(&columns, &down, rank - 1));
        let vt = self.transposed(&v);
        [u, s, vt].map(|value| self.if_finite(a, &value))
    }

    /// One step of iterative refinement: eigenvectors whose error is about the square of that of `v`, which XLA
    /// computes to about half of the digits. The correction is of first order in the off-diagonal part of `v^T a v`.
    fn refined(&mut self, a: &HloValue, v: &HloValue, w: &HloValue) -> HloValue {
        let rank = a.shape.len();
        let batch: Vec<usize> = (0..rank - 2).collect();
        let image = self.matmul(a, v);
        let rest = self.dot(v, &image, [&batch, &batch], [&[rank - 2], &[rank - 2]]);
        let [of_row, of_column] = [rank - 2, rank - 1].map(|axis| {
            let axes: Vec<usize> = batch.iter().copied().chain([axis]).collect();
            self.broadcast(w, &a.shape, &axes)
        });
        let gap = self.binary("subtract", &of_column, &of_row);
        let (size, far) = (self.unary("abs", &rest), self.unary("abs", &gap));
        let small = self.like(1e-3, &far);
        let far = self.binary("multiply", &far, &small);
        // No correction between vectors of equal eigenvalues, or on the diagonal.
        let apart = self.compare("LT", &size, &far);
        let (zero, one) = (self.like(0.0, v), self.like(1.0, v));
        let divisor = self.select(&apart, &gap, &one);
        let step = self.binary("divide", &rest, &divisor);
        let step = self.select(&apart, &step, &zero);
        let change = self.matmul(v, &step);
        self.binary("add", v, &change)
    }

    /// The matrix exponential by scaling and squaring: the Padé approximant of the matrix divided by `2^k`, squared `k`
    /// times.
    pub(super) fn matrix_exponential(&mut self, a: &HloValue) -> HloValue {
        if a.shape.contains(&0) {
            return a.clone();
        }
        let rank = a.shape.len();
        let sizes = self.unary("abs", a);
        let columns = self.sum(&sizes, &[rank - 2]);
        let norm = self.reduce("maximum", &columns, 0.0, &[rank - 2]);
        let theta = self.like(THETA, &norm);
        let ratio = self.binary("divide", &norm, &theta);
        let (log, log_2) = (self.unary("log", &ratio), self.like(std::f64::consts::LN_2, &norm));
        let times = self.binary("divide", &log, &log_2);
        let times = self.unary("ceil", &times);
        let (zero, most) = (self.like(0.0, &times), self.like(1100.0, &times));
        let times = self.binary("maximum", &times, &zero);
        let times = self.binary("minimum", &times, &most);
        let fine = self.compare("EQ", &times, &times);
        let times = self.select(&fine, &times, &zero);
        let (minus, two) = (self.unary("negate", &times), self.like(2.0, &times));
        let scale = self.binary("power", &two, &minus);
        let batch: Vec<usize> = (0..rank - 2).collect();
        let scale = self.broadcast(&scale, &a.shape, &batch);
        let scaled = self.binary("multiply", a, &scale);
        let [above, below] = self.pade(&scaled);
        let [lu, p] = self.lu_factor(&below);
        let start = self.solve([&lu, &p], &above, false);
        let all = self.reduce("maximum", &times, 0.0, &batch);
        let count = self.full(0.0, &[], a.ty);
        let state = self.repeat(
            &[count, start, all, times],
            |code, state| code.compare("LT", &state[0], &state[2]),
            |code, state| {
                let square = code.matmul(&state[1], &state[1]);
                let done = code.broadcast(&state[0], &state[3].shape, &[]);
                let goes_on = code.compare("LT", &done, &state[3]);
                let goes_on = code.broadcast(&goes_on, &square.shape, &batch);
                let one = code.full(1.0, &[], state[0].ty);
                let next = code.select(&goes_on, &square, &state[1]);
                vec![code.binary("add", &state[0], &one), next, state[2].clone(), state[3].clone()]
            },
        );
        // With more squarings than the mantissa has bits, no digit of a result in range is determined.
        let digits = if a.ty == Ty::F32 { 23.0 } else { 52.0 };
        let (many, finite) = (self.compare_with("GT", &state[3], digits), self.finite(&state[1]));
        let other = self.compare_with("NE", &state[1], 0.0);
        let open = self.binary("and", &finite, &other);
        let open = self.reduce("or", &open, 0.0, &[rank - 2, rank - 1]);
        let unknown = self.binary("and", &many, &open);
        let unknown = self.broadcast(&unknown, &a.shape, &batch);
        let nan = self.like(f64::NAN, a);
        let found = self.select(&unknown, &nan, &state[1]);
        self.if_finite(a, &found)
    }

    /// Numerator and denominator of the Padé approximant of order 13.
    fn pade(&mut self, a: &HloValue) -> [HloValue; 2] {
        let two = self.matmul(a, a);
        let four = self.matmul(&two, &two);
        let six = self.matmul(&four, &two);
        let one = self.diagonal_of(1.0, a);
        let powers = [one, two, four, six.clone()];
        let mut halves = Vec::new();
        for odd in [1, 0] {
            let sum = |code: &mut Region, from: usize, powers: &[HloValue]| {
                let mut sum: Option<HloValue> = None;
                for (k, power) in powers.iter().enumerate() {
                    let c = code.like(PADE[from + 2 * k + odd], power);
                    let term = code.binary("multiply", power, &c);
                    sum = Some(match sum {
                        Some(sum) => code.binary("add", &sum, &term),
                        None => term,
                    });
                }
                sum.unwrap_or_else(|| a.clone())
            };
            let (high, low) = (sum(self, 8, &powers[1..]), sum(self, 0, &powers));
            let high = self.matmul(&six, &high);
            let half = self.binary("add", &high, &low);
            halves.push(if odd == 1 { self.matmul(a, &half) } else { half });
        }
        [self.binary("add", &halves[1], &halves[0]), self.binary("subtract", &halves[1], &halves[0])]
    }
}
