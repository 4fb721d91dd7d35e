//! The matrix exponential and its derivative, by Padé approximants with scaling and squaring.
//!
//! Laws: the number of matrix products is bounded, since the exponents of floats are. Rows and columns that no nonzero
//! elements connect are computed apart, so a diagonal matrix gives the exponentials of its elements. The derivative is
//! that of the same steps; as it is linear in the direction, the direction is scaled first, and may have any size.
//!
//! The number of squarings and the degree follow A. Al-Mohy and N. Higham, "A new scaling and squaring algorithm for
//! the matrix exponential" (2009); the derivative follows "Computing the Frechet derivative of the matrix exponential"
//! (2009) by the same authors.

use std::borrow::{Borrow, BorrowMut};
use std::f64::consts::LOG2_E;

use polygrad_math::Arithmetic;

use super::machine::{MachineCell, MatrixLayout, UniformMachine};

/// The degrees of Padé approximants, each with the norm up to which it and its derivative are exact to rounding.
pub(crate) const DOUBLE: &[(usize, f64)] = &[(3, 1.0e-2), (5, 2.0e-1), (7, 7.8e-1), (13, 4.25)];
pub(crate) const SINGLE: &[(usize, f64)] = &[(3, 3.0e-1), (5, 1.4), (7, 3.2)];

/// A matrix, and its tangent, if a derivative is computed.
struct Pair<M: UniformMachine> {
    x: M::OwnReals,
    dx: Option<M::OwnReals>,
}

impl<M: UniformMachine> Pair<M> {
    /// The matrix, or its tangent.
    fn part(&self, tangent: bool) -> &M::Reals {
        let dx = self.dx.as_ref().filter(|_| tangent);
        dx.unwrap_or(&self.x).borrow()
    }

    fn part_mut(&mut self, tangent: bool) -> &mut M::Reals {
        let dx = self.dx.as_mut().filter(|_| tangent);
        dx.unwrap_or(&mut self.x).borrow_mut()
    }

    /// Which parts there are.
    fn parts(&self) -> &'static [bool] {
        if self.dx.is_some() { &[false, true] } else { &[false] }
    }
}

/// The memory of the steps.
struct ExponentialMemory<M: UniformMachine> {
    b: Pair<M>,
    powers: [Pair<M>; 3],
    polynomial: Pair<M>,
    above: Pair<M>,
    x: Pair<M>,
    sums: [M::OwnReals; 2],
    order: M::OwnInts,
}

/// Connected rows and columns of a matrix of `n` rows, which are the first ones of a matrix in memory.
struct ConnectedPart<M: UniformMachine> {
    m: M,
    n: usize,
    size: M::Index,
}

/// Writes the exponential of a matrix of finite elements, or its derivative in the direction `e`.
pub(crate) fn exponential<M: UniformMachine>(
    m: M,
    n: usize,
    (a, of_a): (&M::Reals, MatrixLayout),
    e: Option<&M::Reals>,
    out: &mut M::Reals,
) {
    let (zero, to) = (M::Real::literal(0.0), MatrixLayout::rows(n));
    let (mut labels, mut rows) = (m.ints(n), m.ints(n));
    let (labels, rows) = (labels.borrow_mut(), rows.borrow_mut());
    label(m, n, (a, of_a), e, labels);
    for at in m.first(n * n) {
        m.store(out, at, zero);
    }
    let pair = || Pair { x: m.reals(n * n), dx: e.map(|_| m.reals(n * n)) };
    let mut memory = ExponentialMemory {
        b: pair(),
        powers: [(); 3].map(|()| pair()),
        polynomial: pair(),
        above: pair(),
        x: pair(),
        sums: [(); 2].map(|()| m.reals(n)),
        order: m.ints(n),
    };
    for first in m.first(n) {
        let mut count = m.int_cell(m.int(0.into()));
        for i in m.first(n) {
            for _ in m.wherever(m.same(m.load_int(labels, i), m.int(first))) {
                for at in m.position(count.get(), n) {
                    m.store_int(rows, at, m.int(i));
                }
                count.set(m.add(count.get(), m.int(1.into())));
            }
        }
        let least = if e.is_none() {
            for _ in m.wherever(m.same(count.get(), m.int(1.into()))) {
                m.store(out, to.at(first, first), m.exp(m.load(a, of_a.at(first, first))));
            }
            1
        } else {
            0
        };
        for _ in m.wherever(m.before(m.int(least.into()), count.get())) {
            for size in m.position(count.get(), n + 1) {
                ConnectedPart { m, n, size }.compute(&mut memory, (a, of_a), e, rows, out);
            }
        }
    }
}

/// Writes for each row the least row that it is connected with, as its label.
fn label<M: UniformMachine>(
    m: M,
    n: usize,
    (a, of_a): (&M::Reals, MatrixLayout),
    e: Option<&M::Reals>,
    labels: &mut M::Ints,
) {
    let zero = M::Real::literal(0.0);
    super::factors::identity(m, n.into(), labels);
    for _ in m.forever() {
        let mut changed = m.mask_cell(m.mask(false));
        for i in m.first(n) {
            for j in m.first(n) {
                let apart = m.load(a, of_a.at(i, j)).equals(zero);
                let apart = e.map_or(apart, |e| apart & m.load(e, MatrixLayout::rows(n).at(i, j)).equals(zero));
                let [x, y] = [i, j].map(|i| m.load_int(labels, i));
                for _ in m.wherever(!(apart | m.same(x, y))) {
                    let least = m.select_int(m.before(x, y), x, y);
                    m.store_int(labels, i, least);
                    m.store_int(labels, j, least);
                    changed.set(m.mask(true));
                }
            }
        }
        if m.leaves(!changed.get()) {
            break;
        }
    }
}

impl<M: UniformMachine> ConnectedPart<M> {
    fn to(&self) -> MatrixLayout {
        MatrixLayout::rows(self.n)
    }

    /// Moves elements from or to the rows and columns with these numbers.
    fn moved(&self, rows: &M::Ints, of: MatrixLayout, mut f: impl FnMut(M::Index, M::Index)) {
        let (m, n) = (self.m, self.n);
        for i in m.first(self.size) {
            for row in m.position(m.load_int(rows, i), n) {
                for j in m.first(self.size) {
                    for column in m.position(m.load_int(rows, j), n) {
                        f(self.to().at(i, j), of.at(row, column));
                    }
                }
            }
        }
    }

    /// Writes the part of the result.
    fn compute(
        &self,
        memory: &mut ExponentialMemory<M>,
        (a, of_a): (&M::Reals, MatrixLayout),
        e: Option<&M::Reals>,
        rows: &M::Ints,
        out: &mut M::Reals,
    ) {
        let m = self.m;
        let b = memory.b.part_mut(false);
        self.moved(rows, of_a, |here, there| m.store(b, here, m.load(a, there)));
        let scale = e.zip(memory.b.dx.as_mut()).map(|(e, dx)| {
            let dx = dx.borrow_mut();
            self.moved(rows, self.to(), |here, there| m.store(dx, here, m.load(e, there)));
            let scale = m.exponent(self.largest(dx));
            self.each(dx, |dx, at| m.scaled(m.load(dx, at), m.negated(scale)));
            scale
        });
        self.squared(memory);
        let x: &M::Reals = memory.x.dx.as_ref().unwrap_or(&memory.x.x).borrow();
        self.moved(rows, self.to(), |here, there| {
            let x = m.load(x, here);
            m.store(out, there, scale.map_or(x, |scale| m.scaled(x, scale)));
        });
    }

    /// `out = a b`.
    fn product(&self, a: &Pair<M>, b: &Pair<M>, out: &mut Pair<M>) {
        let (m, sizes) = (self.m, (self.n, self.size));
        m.product(sizes, [a.x.borrow(), b.x.borrow()], out.x.borrow_mut(), false);
        if let (Some(da), Some(db), Some(out)) = (&a.dx, &b.dx, &mut out.dx) {
            m.product(sizes, [da.borrow(), b.x.borrow()], out.borrow_mut(), false);
            m.product(sizes, [a.x.borrow(), db.borrow()], out.borrow_mut(), true);
        }
    }

    /// Replaces the elements of a matrix.
    fn each(&self, x: &mut M::Reals, f: impl Fn(&M::Reals, M::Index) -> M::Real) {
        for i in self.m.first(self.size) {
            for j in self.m.first(self.size) {
                let next = f(x, self.to().at(i, j));
                self.m.store(x, self.to().at(i, j), next);
            }
        }
    }

    /// The largest absolute value.
    fn largest(&self, x: &M::Reals) -> M::Real {
        let mut most = self.m.real_cell(M::Real::literal(0.0));
        for i in self.m.first(self.size) {
            let size = self.m.largest(x, self.m.first(self.size), |j| self.to().at(i, j));
            most.set(M::Real::select(size.above(most.get()), size, most.get()));
        }
        most.get()
    }

    /// Multiplies elements by two to an integer power, rounded where they are subnormal.
    fn multiply_by_power(&self, x: &mut Pair<M>, power: M::Int) {
        let m = self.m;
        let most = m.int(if M::EPSILON < 1e-10 { 1000 } else { 120 }.into());
        let mut left = m.int_cell(power);
        for _ in m.forever() {
            if m.leaves(m.same(left.get(), m.int(0.into()))) {
                break;
            }
            let part = m.smaller(m.larger(left.get(), m.negated(most)), most);
            let factor = m.two_to(part);
            for part in x.parts() {
                self.each(x.part_mut(*part), |x, at| m.load(x, at) * factor);
            }
            left.set(m.subtract(left.get(), part));
        }
    }

    /// The base-2 logarithm of the 1-norm, the largest column sum of absolute values.
    fn log_norm(&self, x: &M::Reals) -> M::Real {
        let m = self.m;
        let mut most = m.real_cell(M::Real::literal(0.0));
        for j in m.first(self.size) {
            let mut sum = m.real_cell(M::Real::literal(0.0));
            for i in m.first(self.size) {
                sum.set(sum.get() + m.load(x, self.to().at(i, j)).magnitude());
            }
            let sum = sum.get();
            most.set(M::Real::select(sum.above(most.get()), sum, most.get()));
        }
        m.ln(most.get()) * M::Real::literal(LOG2_E)
    }

    /// The exponential of `b`, and its derivative, in `x`.
    fn squared(&self, memory: &mut ExponentialMemory<M>) {
        let (m, none) = (self.m, self.m.int(0.into()));
        // The matrix is scaled to a norm of at most 1, so that no power overflows.
        // Of a matrix of zeros it is that of 1, so that the direction is not scaled beyond the range of floats.
        let largest = self.largest(memory.b.x.borrow());
        let largest = M::Real::select(largest.equals(M::Real::literal(0.0)), M::Real::literal(1.0), largest);
        let log = m.ceil(m.ln(largest) * M::Real::literal(LOG2_E));
        let above = (self.n as f64).log2().ceil() as usize + 1;
        let size = m.add(m.larger(log, m.negated(m.int(5000.into()))), m.int(above.into()));
        self.multiply_by_power(&mut memory.b, m.negated(size));
        let ExponentialMemory { b, powers: [two, four, six], .. } = &mut *memory;
        self.product(b, b, two);
        self.product(two, two, four);
        self.product(four, two, six);
        let mean = |x: &M::Reals, power: f64| self.log_norm(x) * M::Real::literal(1.0 / power) + m.real(size);
        let larger = |x: M::Real, y: M::Real| M::Real::select(x.at_least(y), x, y);
        let of_six = mean(six.x.borrow(), 6.0);
        let plain = larger(mean(four.x.borrow(), 4.0), of_six);
        let (last, lower) = M::APPROXIMANTS.split_last().expect("there are approximants");
        let (mut times, mut done) = (m.int_cell(none), m.mask_cell(m.mask(false)));
        for (degree, theta) in lower {
            for _ in m.wherever(plain.at_most(M::Real::literal(theta.log2())) & !done.get()) {
                for _ in m.wherever(m.same(self.further(memory, size, *degree), none)) {
                    self.rational(memory, size, *degree);
                    done.set(m.mask(true));
                }
            }
        }
        for _ in m.wherever(if lower.is_empty() { m.mask(true) } else { !done.get() }) {
            let (degree, most) = (last.0, M::Real::literal(last.1.log2()));
            let mut log = m.real_cell(plain);
            for _ in m.wherever(plain.above(most)) {
                let ExponentialMemory { powers: [_, four, six], x, .. } = &mut *memory;
                self.product(four, four, x);
                let of_eight = mean(x.x.borrow(), 8.0);
                let mut least = larger(of_eight, of_six);
                if degree == 13 {
                    self.product(four, six, x);
                    let of_ten = larger(of_eight, mean(x.x.borrow(), 10.0));
                    least = M::Real::select(least.at_most(of_ten), least, of_ten);
                }
                log.set(M::Real::select(plain.at_most(least), plain, least));
            }
            // The logarithm is that of zero for matrices with a small power that is zero.
            let first = m.larger(m.ceil(log.get() - most), none);
            let more = self.further(memory, m.subtract(size, first), degree);
            times.set(m.add(first, more));
            self.rational(memory, m.subtract(size, times.get()), degree);
        }
        self.square(memory, times.get());
    }

    /// The number of further squarings that the backward error of the approximant at `2^scale b` needs, estimated by a
    /// power of the matrix of absolute values.
    fn further(&self, memory: &mut ExponentialMemory<M>, scale: M::Int, degree: usize) -> M::Int {
        let (m, b, zero) = (self.m, memory.b.x.borrow(), M::Real::literal(0.0));
        let [sums, next] = &mut memory.sums;
        let (sums, next) = (sums.borrow_mut(), next.borrow_mut());
        let log2 = |x: M::Real| m.ln(x) * M::Real::literal(LOG2_E);
        let mut log = m.real_cell(-self.log_norm(b));
        for j in m.first(self.size) {
            m.store(sums, j, M::Real::literal(1.0));
        }
        for _ in m.first(2 * degree + 1) {
            let mut most = m.real_cell(zero);
            for j in m.first(self.size) {
                let mut sum = m.real_cell(zero);
                for i in m.first(self.size) {
                    sum.set(sum.get() + m.load(sums, i) * m.load(b, self.to().at(i, j)).magnitude());
                }
                let sum = sum.get();
                m.store(next, j, sum);
                most.set(M::Real::select(sum.above(most.get()), sum, most.get()));
            }
            // The sums are divided by the largest one in each step, so that they neither overflow nor vanish.
            let most = most.get();
            log.set(log.get() + log2(most));
            for j in m.first(self.size) {
                m.store(sums, j, m.load(next, j) / most);
            }
        }
        let factorial = |n: usize| (1..=n).map(|k| (k as f64).log2()).sum::<f64>();
        let first = 2.0 * factorial(degree) - factorial(2 * degree) - factorial(2 * degree + 1);
        let (steps, fixed) = (2.0 * degree as f64, first - M::EPSILON.log2() + 1.0);
        let excess = log.get() * M::Real::literal(1.0 / steps) + m.real(scale) + M::Real::literal(fixed / steps);
        // A power that is zero has the logarithm of NaN or of zero, which become no squaring.
        m.larger(m.ceil(excess), m.int(0.into()))
    }

    /// The terms of even powers of a polynomial from a coefficient on, without the first one, as an element.
    fn even(&self, powers: [&M::Reals; 3], c: &[f64], at: M::Index) -> M::Real {
        let terms = powers.into_iter().zip(c.iter().skip(2).step_by(2));
        let mut terms = terms.map(|(x, c)| self.m.load(x, at) * M::Real::literal(*c));
        let first = terms.next().expect("there are terms");
        terms.fold(first, |sum, x| sum + x)
    }

    /// The approximant of the exponential of `2^scale b`, in `x`.
    fn rational(&self, memory: &mut ExponentialMemory<M>, scale: M::Int, degree: usize) {
        let (m, sizes) = (self.m, (self.n, self.size));
        // The coefficients `c_j = (2 m - j)! m! / ((2 m)! (m - j)! j!)`.
        let mut c = vec![1.0];
        for j in 0..degree {
            c.push(c[j] * (degree - j) as f64 / (((2 * degree - j) * (j + 1)) as f64));
        }
        let ExponentialMemory { b, powers, polynomial, above, x, order, .. } = memory;
        let parts = b.parts();
        self.multiply_by_power(b, scale);
        let mut power = m.int(0.into());
        for x in powers.iter_mut() {
            power = m.add(power, m.add(scale, scale));
            self.multiply_by_power(x, power);
        }
        // The polynomials in even powers whose coefficients are every second one: the odd ones first.
        for odd in [1, 0] {
            if degree > 7 {
                for part in parts {
                    let of = powers.each_ref().map(|x| x.part(*part));
                    self.each(x.part_mut(*part), |_, at| self.even(of, &c[6 + odd..], at));
                }
                self.product(&powers[2], x, polynomial);
            }
            for part in parts {
                let of = powers.each_ref().map(|x| x.part(*part));
                self.each(polynomial.part_mut(*part), |high, at| {
                    let low = self.even(of, &c[odd..], at);
                    if degree > 7 { low + m.load(high, at) } else { low }
                });
            }
            let diagonal = polynomial.part_mut(false);
            for i in m.first(self.size) {
                let at = self.to().at(i, i);
                m.store(diagonal, at, m.load(diagonal, at) + M::Real::literal(c[odd]));
            }
            if odd == 1 {
                self.product(b, polynomial, above);
            }
        }
        for part in parts {
            let (u, v) = (above.part_mut(*part), polynomial.part_mut(*part));
            for i in m.first(self.size) {
                for j in m.first(self.size) {
                    let at = self.to().at(i, j);
                    let (x, y) = (m.load(u, at), m.load(v, at));
                    m.store(u, at, y + x);
                    m.store(v, at, y - x);
                }
            }
        }
        let order = order.borrow_mut();
        m.factor_system(sizes, polynomial.part_mut(false), order);
        m.solve_system(sizes, (polynomial.part(false), order), above.part(false), x.part_mut(false));
        if parts.len() > 1 {
            m.product(sizes, [polynomial.part(true), x.part(false)], b.part_mut(true), false);
            let moved = b.part(true);
            self.each(above.part_mut(true), |x, at| m.load(x, at) - m.load(moved, at));
            m.solve_system(sizes, (polynomial.part(false), order), above.part(true), x.part_mut(true));
        }
    }

    /// Squares `x` the given number of times. Each squaring doubles the relative error: after as many squarings as the
    /// mantissa has bits, a result is determined only if it has left the range, as 0 or infinity.
    fn square(&self, memory: &mut ExponentialMemory<M>, times: M::Int) {
        let (m, zero, to) = (self.m, M::Real::literal(0.0), self.to());
        let ExponentialMemory { x, above: next, .. } = memory;
        let digits = m.int((-M::EPSILON.log2() as usize).into());
        let mut done = m.int_cell(m.int(0.into()));
        for _ in m.forever() {
            if m.leaves(!m.before(done.get(), times)) {
                break;
            }
            self.product(x, x, next);
            let (mut stays, mut open) = (m.mask_cell(m.mask(true)), m.mask_cell(m.mask(false)));
            for part in x.parts() {
                let (x, next) = (x.part_mut(*part), next.part(*part));
                for i in m.first(self.size) {
                    for j in m.first(self.size) {
                        let (now, then) = (m.load(x, to.at(i, j)), m.load(next, to.at(i, j)));
                        let equal = now.equals(then) | (now.is_not_a_number() & then.is_not_a_number());
                        stays.set(stays.get() & equal);
                        open.set(open.get() | ((then * zero).equals(zero) & !then.equals(zero)));
                        m.store(x, to.at(i, j), then);
                    }
                }
            }
            let lost = open.get() & !m.before(done.get(), digits);
            for _ in m.wherever(lost) {
                for part in x.parts() {
                    self.each(x.part_mut(*part), |_, _| M::Real::literal(f64::NAN));
                }
            }
            if m.leaves(lost | (stays.get() & !open.get())) {
                break;
            }
            done.set(m.add(done.get(), m.int(1.into())));
        }
    }
}
