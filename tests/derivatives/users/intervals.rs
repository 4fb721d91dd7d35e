//! An interpreter of one's own, outside of the library: intervals that enclose every value a program can have.

use std::sync::Arc;

use polygrad::array::Rng;
use polygrad::base::{BaseTensor, Report, Staging, Trip, TripFn, map_accum_grouped};
use polygrad::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary};
use polygrad::program::Custom;
use polygrad::{Array, Concrete, DType, Tensor, grad, tensor};

/// The least and the greatest value of each element, up to rounding. Integers and masks are known.
#[derive(Clone)]
struct Interval {
    low: Array,
    high: Array,
}

impl Interval {
    fn known(a: Array) -> Self {
        Interval { low: a.clone(), high: a }
    }

    /// The extremes of several arrays.
    fn of(ends: &[Array]) -> Self {
        let fold = |op| ends[1..].iter().fold(ends[0].clone(), |a, b| a.binary(op, b));
        Interval { low: fold(Binary::Min), high: fold(Binary::Max) }
    }

    /// Both ends, for an operation that neither grows nor falls with another sign than its operand.
    fn each(&self, f: impl Fn(&Array) -> Array) -> Self {
        Interval { low: f(&self.low), high: f(&self.high) }
    }
}

fn lows(values: &[Interval]) -> Vec<Array> {
    values.iter().map(|v| v.low.clone()).collect()
}

fn highs(values: &[Interval]) -> Vec<Array> {
    values.iter().map(|v| v.high.clone()).collect()
}

impl BaseTensor for Interval {
    fn constant(a: Array) -> Self {
        Interval::known(a)
    }

    fn shape(&self) -> &[usize] {
        self.low.shape()
    }

    fn dtype(&self) -> DType {
        self.low.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        let ends = [self.low.unary(op), self.high.unary(op)];
        let zero = || Array::zeros(self.shape(), self.dtype());
        if [Unary::Neg, Unary::Exp, Unary::Ln, Unary::Sqrt, Unary::Tanh, Unary::Sigmoid, Unary::Relu].contains(&op) {
            return Interval::of(&ends);
        }
        assert!([Unary::Square, Unary::Sech2, Unary::Abs].contains(&op), "no interval of `{}`", op.name());
        // The extreme at 0 counts if 0 is inside.
        let inside = self.low.binary(Binary::Max, &zero()).binary(Binary::Min, &self.high).unary(op);
        Interval::of(&[ends[0].clone(), ends[1].clone(), inside])
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let monotone = [Binary::Add, Binary::Sub, Binary::Mul, Binary::MulNoNan, Binary::Min, Binary::Max];
        assert!(monotone.contains(&op), "no interval of `{}`", op.name());
        let mut ends = Vec::new();
        for a in [&self.low, &self.high] {
            ends.extend([&other.low, &other.high].map(|b| a.binary(op, b)));
        }
        Interval::of(&ends)
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let all = |end: fn(&Interval) -> &Array| Array::discrete(op, &args.iter().map(|a| end(a)).collect::<Vec<_>>());
        let (a, b) = (all(|v| &v.low), all(|v| &v.high));
        assert!(a == b, "a decision that is not the same everywhere in an interval");
        Interval::known(a)
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let low = Array::select(&mask.low, &then.low, &otherwise.low);
        Interval { low, high: Array::select(&mask.low, &then.high, &otherwise.high) }
    }

    /// A linear operation has no negative coefficient: it reads, writes and adds.
    fn linear(&self, op: &Linear) -> Self {
        self.each(|end| end.linear(op))
    }

    /// By centres and radii: `|a b - a0 b0| <= |a0| rb + ra |b0| + ra rb`.
    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let half = |v: &Interval, sign: Binary| {
            let sum = v.high.binary(sign, &v.low);
            sum.binary(Binary::Mul, &Array::full_as(sum.shape(), sum.dtype(), 0.5))
        };
        let [(a0, ra), (b0, rb)] = [a, b].map(|v| (half(v, Binary::Add), half(v, Binary::Sub)));
        let centre = Array::contract(op, &a0, &b0);
        let mut radius = Array::contract(op, &ra, &rb);
        for (a, b) in [(a0.unary(Unary::Abs), &rb), (ra, &b0.unary(Unary::Abs))] {
            radius = radius.binary(Binary::Add, &Array::contract(op, &a, b));
        }
        Interval { low: centre.binary(Binary::Sub, &radius), high: centre.binary(Binary::Add, &radius) }
    }

    fn reduce(&self, op: Reduce) -> Self {
        self.each(|end| end.reduce(op))
    }

    fn gather(&self, ix: &[Self]) -> Self {
        self.each(|end| end.gather(&lows(ix)))
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let ix = lows(ix);
        Interval { low: self.low.scatter_add(&ix, &v.low), high: self.high.scatter_add(&ix, &v.high) }
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        Interval { low: Array::concat(axis, &lows(parts)), high: Array::concat(axis, &highs(parts)) }
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        let open = |v: &Interval| [v.low.clone(), v.high.clone()].into_iter().collect();
        let close = |g: &polygrad::base::Group<Array>| Interval { low: g[0].clone(), high: g[1].clone() };
        let rows: Vec<_> = xs.iter().map(open).collect();
        let (carry, outputs) =
            map_accum_grouped(n, reverse, init.iter().map(open).collect(), &rows, &mut |carry, rows| {
                let rows: Vec<_> = rows.iter().map(close).collect();
                let (carry, outputs) = step(carry.iter().map(close).collect(), &rows);
                (carry.iter().map(open).collect(), outputs.iter().map(open).collect())
            });
        (carry.iter().map(close).collect(), outputs.iter().map(close).collect())
    }

    fn call(op: &Call, _: &[Self]) -> Vec<Self> {
        panic!("no interval of `{}`", op.name())
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        rule.value(args.to_vec())
    }
}

impl Staging for Interval {}

impl Report for Interval {}

/// A small network with a loop over its layers.
fn network<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let weights = Tensor::<T, 3>::constant(Rng::new(3).normal(&[3, 4, 4], 0.0, 0.6));
    let out = polygrad::fold(x.clone(), &weights, |x: Tensor<T, 1>, w: &Tensor<T, 2>| (w.matvec(&x) + 0.1).tanh());
    out.relu().square().sum() + (out.sigmoid() * out).sum()
}

#[test]
fn values_and_gradients_are_enclosed() {
    let (centre, radius) = (tensor([0.3, -0.2, 0.5, 0.0]), 0.05);
    let ends = Interval { low: (&centre - radius).into_raw(), high: (&centre + radius).into_raw() };
    let x = Tensor::<Interval, 1>::from_raw(ends);
    let value = network(&x).into_raw();
    let mut rng = Rng::new(1);
    let samples: Vec<Tensor<Concrete, 1>> =
        (0..200).map(|_| &centre + Tensor::<_, 1>::constant(rng.uniform(&[4], -radius, radius))).collect();
    let inside = |a: &Interval, b: &Array| {
        let (low, high, b) = (a.low.to_vec::<f64>(), a.high.to_vec::<f64>(), b.to_vec::<f64>());
        let all = low.iter().flatten().zip(high.iter().flatten()).zip(b.iter().flatten());
        all.clone().count() > 0 && all.into_iter().all(|((low, high), b)| low - 1e-12 <= *b && *b <= high + 1e-12)
    };
    assert!(value.high.item::<f64>().expect("one") < 10.0, "an enclosure that says something");
    // The same interpreter under reverse mode encloses the gradient.
    let smooth = grad(|x| (x.tanh() * x).sum() + x.exp().sum(), &x).into_raw();
    for x in &samples {
        assert!(inside(&value, network(x).raw()));
        assert!(inside(&smooth, grad(|x| (x.tanh() * x).sum() + x.exp().sum(), x).raw()));
    }
    assert!(!inside(&value, &Array::scalar(value.high.item::<f64>().expect("one") + 1.0)));
}
