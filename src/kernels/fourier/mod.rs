//! Discrete Fourier transforms of the lines of an array, planned once, of half the length for real lines.
//!
//! The crate `rustfft` transforms lines of complex numbers.
//!
//! `out[k] = sum_j t[j] e^(-2 pi i j k / n)`, with `+` in the exponent of the conjugate transform. Of even length `n`
//! are transformed as `n / 2` complex numbers a line whose imaginary parts are all zeros, and any line of whose result
//! the real parts alone are read. Numbers of `f32` are transformed as such, by factors that are rounded from `f64`.
//!
//! Laws: a line sees no other line, so no bit depends on the number of threads nor on the lines that are transformed with it. The
//! elements of the line decide whether it is real, not what is known of them: a program that knows more computes the same
//! bits. The sign of a zero in the operand is not seen. Errors are relative to the largest element of the line. A line with
//! a NaN or an infinity has some in its result; at which positions is not said.

mod lines;
mod real;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use smallvec::SmallVec;

use crate::cost::MACHINE;
use crate::dtype::{DType, Float};
use crate::kernels::threads::{self, Columns};
use lines::{Lines, MOST};
use real::Halves;

/// A transform of one length. A run changes nothing of it, so a panic leaves it whole.
type Plan<E> = AssertUnwindSafe<Arc<dyn Fft<E>>>;

fn plan<E: Transformed>(n: usize, direction: FftDirection) -> Plan<E> {
    AssertUnwindSafe(FftPlanner::new().plan_fft(n, direction))
}

/// A complex number.
type Number<E> = Complex<E>;

/// The transforms of `n` complex numbers of a float type, and of half as many; each is planned where a line needs it.
pub(crate) struct LinePlans<E> {
    whole: OnceLock<Plan<E>>,
    halves: OnceLock<Halves<E>>,
}

impl<E> Default for LinePlans<E> {
    fn default() -> Self {
        LinePlans { whole: OnceLock::new(), halves: OnceLock::new() }
    }
}

/// The same for each float type.
#[derive(Default)]
struct TypePlans {
    f64: LinePlans<f64>,
    f32: LinePlans<f32>,
}

/// A float type whose lines are transformed.
pub(crate) trait Transformed: Float + FftNum + Default {
    /// The plans for this type.
    fn plans(of: &Transform) -> &LinePlans<Self>;
    /// The memory for this type.
    fn room(of: &mut Room) -> &mut Vec<LineRoom<Self>>;
}

impl Transformed for f64 {
    fn plans(of: &Transform) -> &LinePlans<f64> {
        &of.plans.f64
    }
    fn room(of: &mut Room) -> &mut Vec<LineRoom<f64>> {
        &mut of.f64
    }
}

impl Transformed for f32 {
    fn plans(of: &Transform) -> &LinePlans<f32> {
        &of.plans.f32
    }
    fn room(of: &mut Room) -> &mut Vec<LineRoom<f32>> {
        &mut of.f32
    }
}

/// The greatest length of lines whose transform is planned before the first run.
const PLANNED: usize = 1 << 14;

/// The numbers of the tables of a plan, for each number of a line, and those of its scratch memory, by measurement of
/// `rustfft`: more where a large prime divides the length, and twice as many while they are made.
fn planned(n: usize) -> [usize; 2] {
    let mut rest = n.max(1);
    for prime in [2, 3, 5, 7, 11, 13] {
        while rest.is_multiple_of(prime) {
            rest /= prime;
        }
    }
    if rest == 1 { [2, 1] } else { [11, 5] }
}

/// Where the elements of one part, real or imaginary, of the operand lie.
#[derive(Clone, Debug)]
pub(crate) struct PartSource {
    /// The number of the operand.
    pub(crate) operand: usize,
    /// The place of the first element of the first line; it may be a hole, and lie outside.
    pub(crate) base: i64,
    /// The stride of each axis of the lines, and of the axis that is transformed, in the order of the result's axes.
    pub(crate) strides: SmallVec<[i64; 4]>,
    /// The positions along the line that have elements; others are zeros.
    pub(crate) seen: (usize, usize),
}

/// The part of the result that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartsRead {
    /// Whether real and imaginary parts are.
    pub(crate) parts: [bool; 2],
    /// How many positions of a line are, from the first on.
    pub(crate) len: usize,
}

/// Axes of the lines whose lines have one stride.
#[derive(Clone, Copy, Debug)]
struct Batch {
    len: usize,
    from: [i64; 2],
    into: usize,
}

/// A planned transform.
pub(crate) struct Transform {
    n: usize,
    /// The number of the transformed axis among the strides of a source.
    along: usize,
    direction: FftDirection,
    sources: [Option<PartSource>; 2],
    reads: PartsRead,
    /// The axes of the lines, outermost first; at least one. Those of the last one are computed together.
    batch: SmallVec<[Batch; 4]>,
    /// The place of the first element of each part in the result, and the stride along a line.
    into: [usize; 2],
    step: usize,
    plans: TypePlans,
    /// The bytes of a complex number.
    number: usize,
}

/// How a line is transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As complex numbers.
    Complex,
    /// As real numbers; two make one complex number.
    RealOperand,
    /// As the spectrum of real numbers; two make one complex number of the result.
    RealResult,
}

/// Memory for the lines that one thread transforms together.
#[derive(Debug, Default)]
pub(crate) struct LineRoom<E> {
    lines: Vec<Number<E>>,
    /// A complex line; only the real part of its result is read.
    whole: Vec<Number<E>>,
    scratch: Vec<Number<E>>,
}

/// Memory for lines, kept by the caller.
#[derive(Debug, Default)]
pub(crate) struct Room {
    f64: Vec<LineRoom<f64>>,
    f32: Vec<LineRoom<f32>>,
}

impl Room {
    /// The bytes of the memory.
    pub(crate) fn bytes(&self) -> usize {
        fn of<E>(rooms: &[LineRoom<E>]) -> usize {
            let of = |room: &LineRoom<E>| room.lines.len() + room.whole.len() + room.scratch.len();
            rooms.iter().map(of).sum::<usize>() * size_of::<Number<E>>()
        }
        of(&self.f64) + of(&self.f32)
    }
}

impl Transform {
    /// The transform along `axis` of a result of this shape, whose parts lie along the axis `parts`. A part without a
    /// source is zero.
    pub(crate) fn new(
        shape: &[usize],
        [parts, axis]: [usize; 2],
        conjugate: bool,
        sources: [Option<PartSource>; 2],
        reads: PartsRead,
        dtype: DType,
    ) -> Transform {
        let stride = |k: usize| shape[k + 1..].iter().product::<usize>();
        let mut batch: SmallVec<[Batch; 4]> = SmallVec::new();
        let outer = (0..shape.len()).filter(|k| *k != parts);
        for (at, k) in outer.enumerate().filter(|(_, k)| *k != axis && shape[*k] != 1) {
            let from = [0, 1].map(|p| sources[p].as_ref().map_or(0, |source: &PartSource| source.strides[at]));
            let next = Batch { len: shape[k], from, into: stride(k) };
            match batch.last_mut() {
                Some(last)
                    if last.into == next.into * next.len
                        && (0..2).all(|p| last.from[p] == next.from[p] * next.len as i64) =>
                {
                    *last = Batch { len: last.len * next.len, ..next };
                }
                Some(_) | None => batch.push(next),
            }
        }
        if batch.is_empty() {
            batch.push(Batch { len: 1, from: [0; 2], into: shape.iter().product() });
        }
        let direction = if conjugate { FftDirection::Inverse } else { FftDirection::Forward };
        let transform = Transform {
            n: shape[axis],
            along: axis - usize::from(parts < axis),
            direction,
            sources,
            reads,
            batch,
            into: [0, stride(parts)],
            step: stride(axis),
            plans: TypePlans::default(),
            number: 2 * dtype.width(),
        };
        // What is known to be needed is planned now, unless its tables are large: then the first run plans it.
        if transform.n <= PLANNED {
            match dtype {
                DType::F32 => transform.plan_ahead::<f32>(),
                DType::F64 | DType::I64 | DType::Bool => transform.plan_ahead::<f64>(),
            }
        }
        transform
    }

    /// Makes the plan that is needed first.
    fn plan_ahead<E: Transformed>(&self) {
        if self.is_halved() {
            self.halves::<E>();
        } else {
            self.whole::<E>();
        }
    }

    /// The transform of a whole array of this shape.
    pub(crate) fn of_array(shape: &[usize], [parts, axis]: [usize; 2], conjugate: bool, dtype: DType) -> Transform {
        let stride = |k: usize| shape[k + 1..].iter().product::<usize>() as i64;
        let source = |part: i64| PartSource {
            operand: 0,
            base: part * stride(parts),
            strides: (0..shape.len()).filter(|k| *k != parts).map(stride).collect(),
            seen: (0, shape[axis]),
        };
        let reads = PartsRead { parts: [true; 2], len: shape[axis] };
        Transform::new(shape, [parts, axis], conjugate, [Some(source(0)), Some(source(1))], reads, dtype)
    }

    /// Whether every line is transformed as half as many complex numbers.
    pub(crate) fn is_halved(&self) -> bool {
        self.n.is_multiple_of(2) && (self.has_real_operand() || self.has_real_result())
    }

    /// About the bytes of the tables of the plans of a line, and of the memory in which one thread transforms lines: bounds,
    /// which do not need the tables.
    pub(crate) fn bytes(&self) -> [usize; 2] {
        let [tables, scratch] = planned(self.n);
        // Complex lines whose imaginary parts are zeros take the plan of half the length, too.
        let tables = self.n.saturating_mul(tables).saturating_mul(3) / 2;
        let lines = self.n.saturating_add(4).saturating_mul(2 * self.lines_together());
        let room = lines.saturating_add(self.n.saturating_mul(scratch));
        [tables, room].map(|numbers| numbers.saturating_mul(self.number))
    }

    /// The largest number of lines that are transformed together.
    fn lines_together(&self) -> usize {
        // Lines whose elements are neighbours are many together, for long rows of the array; otherwise short lines are.
        let few = MACHINE.transformed_lines;
        let wide = |n: usize| (MACHINE.level2_beside / 2 / self.number / n).next_multiple_of(few).max(few);
        let most = match self.step {
            1 => MACHINE.level1 / 4 / self.number / self.n.max(1),
            _ if self.has_real_result() => wide(self.n.saturating_mul(2).max(1)),
            _ => wide(self.n.max(1)),
        };
        most.clamp(1, MOST)
    }

    /// Whether the imaginary part of the operand is known to be zero.
    pub(crate) fn has_real_operand(&self) -> bool {
        self.sources[1].is_none()
    }

    /// Whether the real part of the result alone is read.
    pub(crate) fn has_real_result(&self) -> bool {
        !self.reads.parts[1]
    }

    /// The number of lines, and their length.
    pub(crate) fn lines(&self) -> (usize, usize) {
        (self.batch.iter().map(|axis| axis.len).product(), self.n)
    }

    /// About the number of arithmetic operations.
    pub(crate) fn operations(&self) -> usize {
        let (lines, n) = self.lines();
        let stages = (usize::BITS - n.leading_zeros()) as usize;
        let all = lines.saturating_mul(n).saturating_mul(5 * stages);
        if self.is_halved() { all / 2 } else { all }
    }

    /// A rough estimate of the time on one thread.
    pub(crate) fn nanoseconds(&self) -> f64 {
        MACHINE.transformed * self.operations() as f64
    }

    fn whole<E: Transformed>(&self) -> &Plan<E> {
        E::plans(self).whole.get_or_init(|| plan(self.n, self.direction))
    }

    /// The transform of half the length, if there is one.
    fn halves<E: Transformed>(&self) -> Option<&Halves<E>> {
        let even = self.n > 0 && self.n.is_multiple_of(2);
        even.then(|| E::plans(self).halves.get_or_init(|| Halves::new(self.n, self.direction)))
    }

    /// Runs the transform. The part of the result that is not read stays as it is.
    pub(crate) fn run<E: Transformed>(&self, operands: &[&[E]], out: &mut [E], room: &mut Room) {
        if out.is_empty() {
            return;
        }
        let threads = threads::number(self.nanoseconds());
        let (cut, axis) = self.batch.iter().enumerate().rev().max_by_key(|(_, axis)| axis.len).expect("an axis");
        let (cut, axis) = match threads {
            0 | 1 => (cut, Batch { len: 1, ..*axis }),
            _ => (cut, *axis),
        };
        // More parts than threads, since threads come late; whole cache lines of columns stay together.
        let part =
            axis.len.div_ceil(4 * threads).next_multiple_of(if self.step > 1 { MACHINE.transformed_lines } else { 1 });
        let count = axis.len.div_ceil(part);
        let rooms = E::room(room);
        rooms.resize_with(rooms.len().max(count), LineRoom::default);
        if count < 2 {
            return self.lines_of(operands, &mut Columns::whole(out), None, &mut rooms[0]);
        }
        let ends = (1..=count).map(|k| (k * part).min(axis.len));
        let columns = Columns::cut(out, axis.len * axis.into, ends.map(|end| end * axis.into));
        let jobs = columns.into_iter().zip(rooms).enumerate();
        threads::share(threads, jobs, |(k, (mut out, room))| {
            let here = (k * part, (k * part + part).min(axis.len));
            self.lines_of(operands, &mut out, Some((cut, here)), room);
        });
    }

    /// Transforms the lines of a part of one of the axes of lines, or all.
    fn lines_of<E: Transformed>(
        &self,
        operands: &[&[E]],
        out: &mut Columns<'_, E>,
        cut: Option<(usize, (usize, usize))>,
        room: &mut LineRoom<E>,
    ) {
        let range = |k: usize| match cut {
            Some((cut, here)) if cut == k => here,
            Some(_) | None => (0, self.batch[k].len),
        };
        let (near, outer) = self.batch.split_last().expect("an axis");
        let (first, end) = range(outer.len());
        let count: usize = (0..outer.len()).map(|k| range(k).1 - range(k).0).product();
        let most = self.lines_together();
        for index in 0..count {
            let mut rest = index;
            let mut lines = self.first_lines();
            for (k, axis) in outer.iter().enumerate().rev() {
                let (lo, hi) = range(k);
                lines.advance(axis, lo + rest % (hi - lo));
                rest /= hi - lo;
            }
            lines.advance(near, first);
            let mut at = first;
            while at < end {
                lines.count = most.min(end - at);
                self.together(operands, out, lines, room);
                lines.advance(near, lines.count);
                at += lines.count;
            }
        }
    }

    /// Neighbouring lines, from the first on.
    fn first_lines(&self) -> Lines {
        let near = self.batch.last().expect("an axis");
        let base = |p: usize| self.sources[p].as_ref().map_or(0, |source| source.base);
        Lines { from: [base(0), base(1)], next: near.from, into: self.into, next_into: near.into, count: 1 }
    }

    /// Transforms a few neighbouring lines.
    fn together<E: Transformed>(
        &self,
        operands: &[&[E]],
        out: &mut Columns<'_, E>,
        lines: Lines,
        room: &mut LineRoom<E>,
    ) {
        let even = self.n.is_multiple_of(2);
        let otherwise = if self.has_real_result() && even { Way::RealResult } else { Way::Complex };
        if !even {
            return self.transform(operands, out, lines, otherwise, room);
        }
        if self.has_real_operand() {
            return self.transform(operands, out, lines, Way::RealOperand, room);
        }
        let mut real = [false; MOST];
        let real = &mut real[..lines.count];
        self.find_real(operands, lines, real);
        let mut at = 0;
        for same in real.chunk_by(PartialEq::eq) {
            let way = if same[0] { Way::RealOperand } else { otherwise };
            let lines = Lines { count: same.len(), ..lines.only(at) };
            self.transform(operands, out, lines, way, room);
            at += same.len();
        }
    }

    /// The distance in memory of lines of `len` numbers: lines whose length is a multiple of many cache lines would
    /// share few places of the cache.
    fn pitch(&self, len: usize) -> usize {
        if self.step > 1 && len.is_multiple_of(64) { len + 4 } else { len }
    }

    /// Transforms a few lines in one way.
    fn transform<E: Transformed>(
        &self,
        operands: &[&[E]],
        out: &mut Columns<'_, E>,
        lines: Lines,
        way: Way,
        room: &mut LineRoom<E>,
    ) {
        let halves = self.halves::<E>().filter(|_| way != Way::Complex);
        let fft: &dyn Fft<E> = &***halves.map_or_else(|| self.whole::<E>(), |halves| &halves.fft);
        let len = fft.len();
        let pitch = self.pitch(len);
        let LineRoom { lines: memory, whole, scratch } = room;
        grow(memory, pitch * lines.count);
        grow(scratch, fft.get_inplace_scratch_len());
        let memory = &mut memory[..pitch * lines.count];
        match way {
            Way::Complex => self.gather_complex(operands, lines, memory, pitch),
            Way::RealOperand => self.gather_pairs(operands, lines, memory, pitch),
            Way::RealResult => {
                let wide = self.pitch(self.n);
                grow(whole, wide * lines.count);
                let whole = &mut whole[..wide * lines.count];
                self.gather_complex(operands, lines, whole, wide);
                real::fold_all((whole, wide), self.n, memory, pitch);
            }
        }
        if let (Way::RealResult, Some(halves)) = (way, halves) {
            real::turn_all(memory, [pitch, len], &halves.back);
        }
        match pitch == len {
            true => fft.process_with_scratch(memory, scratch),
            false => {
                memory.chunks_exact_mut(pitch).for_each(|line| fft.process_with_scratch(&mut line[..len], scratch));
            }
        }
        if let (Way::RealOperand, Some(halves)) = (way, halves) {
            real::turn_all(memory, [pitch, len], &halves.forth);
        }
        self.scatter(out, lines, way, memory, pitch);
    }
}

/// Makes room for `len` numbers.
fn grow<E: Transformed>(v: &mut Vec<Number<E>>, len: usize) {
    if v.len() < len {
        v.resize(len, Number::default());
    }
}

#[cfg(test)]
mod tests {
    use super::{Room, Transform, Transformed};

    /// The transform of lines, complex or with imaginary parts that are zeros, or of lines whose result is real.
    fn transformed<E: Transformed>(x: &[f64], n: usize, conjugate: bool) -> Vec<f64> {
        let shape = [x.len() / (2 * n), 2, n];
        let x: Vec<E> = x.iter().map(|x| E::of_f64(*x)).collect();
        let mut out = vec![E::nan(); x.len()];
        Transform::of_array(&shape, [1, 2], conjugate, E::DTYPE).run(&[&x], &mut out, &mut Room::default());
        out.iter().map(|x| x.as_f64()).collect()
    }

    /// Transforms in `f32` err by few of its roundings, relative to the largest element, at every kind of length.
    #[test]
    fn single_precision_is_near_double_precision() {
        for n in [1, 2, 3, 5, 8, 12, 31, 64, 100, 257, 500, 512, 1000, 1009, 1024, 4093, 4096, 30_000] {
            let lines = if n > 2000 { 1 } else { 3 };
            let mut x: Vec<f64> = (0..lines * 2 * n).map(|i| f64::from((i as f64 * 0.37).sin() as f32)).collect();
            for real in [false, true] {
                if real {
                    x.chunks_exact_mut(2 * n).for_each(|line| line[n..].fill(0.0));
                }
                for conjugate in [false, true] {
                    let (wide, narrow) = (transformed::<f64>(&x, n, conjugate), transformed::<f32>(&x, n, conjugate));
                    let largest = wide.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                    let far = wide.iter().zip(&narrow).fold(0.0f64, |most, (x, y)| most.max((x - y).abs()));
                    let bound = f64::from(f32::EPSILON) * (2.0 + 0.5 * (n as f64).log2());
                    assert!(far <= bound * largest, "{n} {real} {conjugate}: {:e}", far / largest);
                }
            }
        }
    }
}
