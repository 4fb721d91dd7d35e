//! Lines of an operand are gathered as complex numbers, and those of a result are scattered, a few neighbours at a time.
//!
//! Law: each element with a place is read once, and each element that is read of the result is written once.

use super::{Number, PartSource, Transform, Transformed, Way};
use crate::cost::MACHINE;
use crate::kernels::threads::Columns;

/// The largest number of lines that are moved together.
pub(super) const MOST: usize = 128;

/// A few neighbouring lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// The places of position 0 of the first line in the parts of the operand, and the distances to the next line.
    pub(super) from: [i64; 2],
    pub(super) next: [i64; 2],
    /// The same in the parts of the result.
    pub(super) into: [usize; 2],
    pub(super) next_into: usize,
    pub(super) count: usize,
}

impl Lines {
    /// Goes `steps` lines on along an axis.
    pub(super) fn advance(&mut self, axis: &super::Batch, steps: usize) {
        for p in 0..2 {
            self.from[p] += axis.from[p] * steps as i64;
            self.into[p] += axis.into * steps;
        }
    }

    /// One of the lines.
    pub(super) fn only(mut self, k: usize) -> Lines {
        for p in 0..2 {
            self.from[p] += self.next[p] * k as i64;
            self.into[p] += self.next_into * k;
        }
        self.count = 1;
        self
    }
}

/// The elements of a line that have places: the first of them, their number, and their stride.
#[derive(Clone, Copy)]
struct Elements<'a, E> {
    x: &'a [E],
    first: usize,
    len: usize,
    step: i64,
}

impl<'a, E: Transformed> Elements<'a, E> {
    /// The elements, if they lie one after the other.
    fn straight(self) -> Option<&'a [E]> {
        (self.step == 1 || self.len == 1).then(|| &self.x[self.first..self.first + self.len])
    }

    /// The elements at position `k` of neighbouring lines.
    #[inline]
    fn row(self, k: usize, count: usize) -> &'a [E] {
        let at = (self.first as i64 + self.step * k as i64) as usize;
        &self.x[at..at + count]
    }

    #[inline]
    fn at(self, k: usize) -> E {
        number(self.x[(self.first as i64 + self.step * k as i64) as usize])
    }
}

/// An element as a number whose zero is +0.
#[inline]
fn number<E: Transformed>(x: E) -> E {
    x + E::ZERO
}

/// Whether all elements are zeros: by blocks, which are compared without branches.
fn are_zeros<E: Transformed>(x: &[E]) -> bool {
    x.chunks(16).all(|x| x.iter().fold(true, |zeros, x| zeros & (*x == E::ZERO)))
}

/// Real and imaginary parts of `len` numbers of lines that are `pitch` apart: `of` has those of all lines at a position.
fn rows<'a, E: Transformed + 'a>(to: &mut [Number<E>], pitch: usize, len: usize, of: impl Fn(usize) -> [&'a [E]; 2]) {
    for k in 0..len {
        let [re, im] = of(k);
        for ((to, re), im) in to[k..].iter_mut().step_by(pitch).zip(re).zip(im) {
            *to = Number::new(number(*re), number(*im));
        }
    }
}

/// Two elements as one number; the last number may have one.
fn pairs<E: Transformed>(x: &[E], to: &mut [Number<E>]) {
    let (pairs, last) = x.as_chunks::<2>();
    to.iter_mut().zip(pairs).for_each(|(to, [re, im])| *to = Number::new(number(*re), number(*im)));
    if let [last] = last {
        to[x.len() / 2] = Number::new(number(*last), E::ZERO);
    }
}

impl Transform {
    /// The elements of a part of one line, and the position of the first one.
    fn elements<'a, E: Transformed>(
        &self,
        operands: &[&'a [E]],
        line: Lines,
        p: usize,
    ) -> Option<(Elements<'a, E>, usize)> {
        let PartSource { operand, strides, seen: (lo, hi), .. } = self.sources[p].as_ref()?;
        let step = strides[self.along];
        let first = line.from[p] + step * *lo as i64;
        let x = operands[*operand];
        (lo < hi).then(|| (Elements { x, first: first as usize, len: hi - lo, step }, *lo))
    }

    /// The elements of a part of all lines, if they lie one after the other.
    fn block<'a, E: Transformed>(&self, operands: &[&'a [E]], lines: Lines, p: usize) -> Option<&'a [E]> {
        let source = self.sources[p].as_ref()?;
        let near = lines.count == 1 || lines.next[p] == self.n as i64;
        let whole = source.strides[self.along] == 1 && source.seen == (0, self.n);
        let first = lines.from[p] as usize;
        (near && whole).then(|| &operands[source.operand][first..first + lines.count * self.n])
    }

    /// Finds which lines have imaginary parts that are all zeros.
    pub(super) fn find_real<E: Transformed>(&self, operands: &[&[E]], lines: Lines, real: &mut [bool]) {
        if let Some(x) = self.block(operands, lines, 1) {
            let each = real.iter_mut().zip(x.chunks_exact(self.n));
            return each.for_each(|(real, line)| *real = are_zeros(line));
        }
        real.fill(true);
        if lines.next[1] == 1 {
            self.columns(operands, lines, 1, |_, row| {
                real.iter_mut().zip(row).for_each(|(real, x)| *real &= *x == E::ZERO);
                real.contains(&true)
            });
            return;
        }
        for (k, real) in real.iter_mut().enumerate() {
            if let Some((line, _)) = self.elements(operands, lines.only(k), 1) {
                *real = line.straight().map_or_else(|| (0..line.len).all(|k| line.at(k) == E::ZERO), are_zeros);
            }
        }
    }

    /// Gathers lines as complex numbers.
    pub(super) fn gather_complex<E: Transformed>(
        &self,
        operands: &[&[E]],
        lines: Lines,
        to: &mut [Number<E>],
        pitch: usize,
    ) {
        if let [Some(re), Some(im)] = [0, 1].map(|p| self.block(operands, lines, p))
            && pitch == self.n
        {
            for ((to, re), im) in to.iter_mut().zip(re).zip(im) {
                *to = Number::new(number(*re), number(*im));
            }
            return;
        }
        let (full, wide) = (self.is_full(0) && self.is_full(1), self.is_wide(lines));
        if full && wide {
            let [re, im] = [0, 1].map(|p| self.elements(operands, lines, p).expect("a part that is full"));
            return rows(to, pitch, self.n, |k| [re.0.row(k, lines.count), im.0.row(k, lines.count)]);
        }
        if !full {
            to.fill(Number::default());
        }
        if wide {
            self.columns(operands, lines, 0, |k, row| {
                to[k..].iter_mut().step_by(pitch).zip(row).for_each(|(to, x)| to.re = number(*x));
                true
            });
            self.columns(operands, lines, 1, |k, row| {
                to[k..].iter_mut().step_by(pitch).zip(row).for_each(|(to, x)| to.im = number(*x));
                true
            });
            return;
        }
        for (k, to) in to.chunks_exact_mut(pitch).enumerate() {
            let [re, im] = [0, 1].map(|p| self.elements(operands, lines.only(k), p));
            if let Some((re, from)) = re {
                let to = to[from..].iter_mut();
                match re.straight() {
                    Some(x) => to.zip(x).for_each(|(to, x)| to.re = number(*x)),
                    None => to.take(re.len).enumerate().for_each(|(k, to)| to.re = re.at(k)),
                }
            }
            if let Some((im, from)) = im {
                let to = to[from..].iter_mut();
                match im.straight() {
                    Some(x) => to.zip(x).for_each(|(to, x)| to.im = number(*x)),
                    None => to.take(im.len).enumerate().for_each(|(k, to)| to.im = im.at(k)),
                }
            }
        }
    }

    /// Gathers real lines; two elements make a complex number.
    pub(super) fn gather_pairs<E: Transformed>(
        &self,
        operands: &[&[E]],
        lines: Lines,
        to: &mut [Number<E>],
        pitch: usize,
    ) {
        if let Some(x) = self.block(operands, lines, 0)
            && pitch == self.n / 2
        {
            return pairs(x, to);
        }
        let (full, wide) = (self.is_full(0), self.is_wide(lines));
        if full && wide {
            let (re, _) = self.elements(operands, lines, 0).expect("a part that is full");
            return rows(to, pitch, self.n / 2, |k| [re.row(2 * k, lines.count), re.row(2 * k + 1, lines.count)]);
        }
        if !full {
            to.fill(Number::default());
        }
        if wide {
            return self.columns(operands, lines, 0, |k, row| {
                let to = to[k / 2..].iter_mut().step_by(pitch).zip(row);
                match k % 2 {
                    0 => to.for_each(|(to, x)| to.re = number(*x)),
                    _ => to.for_each(|(to, x)| to.im = number(*x)),
                }
                true
            });
        }
        for (k, to) in to.chunks_exact_mut(pitch).enumerate() {
            match self.elements(operands, lines.only(k), 0) {
                None => {}
                Some((re, 0)) if re.straight().is_some() => pairs(re.straight().unwrap_or(&[]), to),
                Some((re, from)) => {
                    for k in 0..re.len {
                        let to = &mut to[(from + k) / 2];
                        if (from + k).is_multiple_of(2) { to.re = re.at(k) } else { to.im = re.at(k) }
                    }
                }
            }
        }
    }

    /// Whether all positions of a part have elements.
    fn is_full(&self, p: usize) -> bool {
        self.sources[p].as_ref().is_some_and(|source| source.seen == (0, self.n))
    }

    /// Whether neighbouring lines, and not those of one line, have neighbouring elements in the operand.
    fn is_wide(&self, lines: Lines) -> bool {
        let near = |p: usize| self.sources[p].is_none() || lines.next[p] == 1;
        lines.count > 1 && near(0) && near(1)
    }

    /// Calls `f` with the elements of all lines at each position that has elements, while it returns true.
    fn columns<E: Transformed>(
        &self,
        operands: &[&[E]],
        lines: Lines,
        p: usize,
        mut f: impl FnMut(usize, &[E]) -> bool,
    ) {
        let Some((first, from)) = self.elements(operands, lines, p) else { return };
        let mut at = first.first as i64;
        for k in from..from + first.len {
            if !f(k, &first.x[at as usize..at as usize + lines.count]) {
                return;
            }
            at += first.step;
        }
    }

    /// Scatters the parts of the results of lines that are read.
    pub(super) fn scatter<E: Transformed>(
        &self,
        out: &mut Columns<'_, E>,
        lines: Lines,
        way: Way,
        from: &[Number<E>],
        pitch: usize,
    ) {
        for p in (0..2).filter(|p| self.reads.parts[*p]) {
            let (start, len) = (lines.into[p], self.reads.len);
            if self.step != 1 && lines.next_into == 1 {
                for k in 0..len {
                    self.scatter_row((out.run(start + k * self.step, lines.count), 1), k, p, way, from, pitch);
                }
                continue;
            }
            if self.step == 1 && lines.next_into == self.n && lines.count > 1 {
                // Elements that are not read lie between the lines.
                let out = out.run(start, lines.count * self.n);
                if self.n <= MACHINE.short_line {
                    (0..len).for_each(|k| self.scatter_row((&mut out[k..], self.n), k, p, way, from, pitch));
                    continue;
                }
                for (out, from) in out.chunks_exact_mut(self.n).zip(from.chunks_exact(pitch)) {
                    self.scatter_line(&mut out[..len], p, way, from);
                }
                continue;
            }
            for (line, from) in from.chunks_exact(pitch).enumerate() {
                let start = start + line * lines.next_into;
                if self.step == 1 {
                    self.scatter_line(out.run(start, len), p, way, from);
                    continue;
                }
                for k in 0..len {
                    self.scatter_row((out.run(start + k * self.step, 1), 1), k, p, way, from, pitch);
                }
            }
        }
    }

    /// Scatters position `k` of one part of all lines, whose elements at this position have a stride.
    #[inline]
    fn scatter_row<E: Transformed>(
        &self,
        (row, stride): (&mut [E], usize),
        k: usize,
        p: usize,
        way: Way,
        from: &[Number<E>],
        pitch: usize,
    ) {
        let m = self.n / 2;
        let (at, sign) = match way {
            Way::Complex => (k, E::ONE),
            Way::RealResult => (k / 2, E::ONE),
            Way::RealOperand if k == m => (0, E::ONE),
            Way::RealOperand if k < m => (k, E::ONE),
            // The second half has the conjugates of the first one.
            Way::RealOperand => (self.n - k, -E::ONE),
        };
        let imaginary = match way {
            Way::Complex => p == 1,
            Way::RealResult => !k.is_multiple_of(2),
            // The two ends are real, and one number.
            Way::RealOperand if p == 1 && (k == 0 || k == m) => {
                return row.iter_mut().step_by(stride).for_each(|to| *to = E::ZERO);
            }
            Way::RealOperand => p == 1 || k == m,
        };
        let to = row.iter_mut().step_by(stride).zip(from[at..].iter().step_by(pitch));
        match (imaginary, p) {
            (false, _) => to.for_each(|(to, z)| *to = z.re),
            (true, 0) => to.for_each(|(to, z)| *to = z.im),
            (true, _) => to.for_each(|(to, z)| *to = sign * z.im),
        }
    }

    /// Scatters one part of a line whose elements lie one after the other.
    fn scatter_line<E: Transformed>(&self, to: &mut [E], p: usize, way: Way, from: &[Number<E>]) {
        let m = self.n / 2;
        let copy = |to: &mut [E], from: &[Number<E>]| match p {
            0 => to.iter_mut().zip(from).for_each(|(to, z)| *to = z.re),
            _ => to.iter_mut().zip(from).for_each(|(to, z)| *to = z.im),
        };
        match way {
            Way::Complex => copy(to, from),
            Way::RealResult => {
                let (pairs, last) = to.as_chunks_mut::<2>();
                pairs.iter_mut().zip(from).for_each(|(to, z)| *to = [z.re, z.im]);
                if let [last] = last {
                    *last = from[self.reads.len / 2].re;
                }
            }
            Way::RealOperand => {
                copy(&mut to[..self.reads.len.min(m)], from);
                if p == 1 {
                    to[..self.reads.len.min(1)].fill(E::ZERO);
                }
                let Some((middle, mirrored)) = to.get_mut(m..).and_then(<[E]>::split_first_mut) else { return };
                *middle = if p == 0 { from[0].im } else { E::ZERO };
                let from = from[1..m].iter().rev();
                match p {
                    0 => mirrored.iter_mut().zip(from).for_each(|(to, z)| *to = z.re),
                    _ => mirrored.iter_mut().zip(from).for_each(|(to, z)| *to = -z.im),
                }
            }
        }
    }
}
