//! The methods of an interpreter that computes like `Concrete`: an array in a type of its own.

/// The methods of `BaseTensor`, but for those about recording, of a tuple struct around an array.
macro_rules! computed {
    ($T:ident) => {
        fn constant(a: polygrad::Array) -> Self {
            $T(a)
        }
        fn shape(&self) -> &[usize] {
            self.0.shape()
        }
        fn dtype(&self) -> polygrad::DType {
            self.0.dtype()
        }
        fn unary(&self, op: polygrad::ops::Unary) -> Self {
            $T(self.0.unary(op))
        }
        fn binary(&self, op: polygrad::ops::Binary, other: &Self) -> Self {
            $T(self.0.binary(op, &other.0))
        }
        fn discrete(op: &polygrad::ops::Discrete, args: &[&Self]) -> Self {
            $T(polygrad::Array::discrete(op, &args.iter().map(|a| &a.0).collect::<Vec<_>>()))
        }
        fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
            $T(polygrad::Array::select(&mask.0, &then.0, &otherwise.0))
        }
        fn linear(&self, op: &polygrad::ops::Linear) -> Self {
            $T(self.0.linear(op))
        }
        fn contract(op: &polygrad::ops::Contract, a: &Self, b: &Self) -> Self {
            $T(polygrad::Array::contract(op, &a.0, &b.0))
        }
        fn reduce(&self, op: polygrad::ops::Reduce) -> Self {
            $T(self.0.reduce(op))
        }
        fn gather(&self, ix: &[Self]) -> Self {
            $T(self.0.gather(&$T::arrays(ix)))
        }
        fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
            $T(self.0.scatter_add(&$T::arrays(ix), &v.0))
        }
        fn call(op: &polygrad::ops::Call, args: &[Self]) -> Vec<Self> {
            $T::wrapped(polygrad::Array::call(op, &$T::arrays(args)))
        }
        fn custom(rule: &std::sync::Arc<polygrad::program::Custom>, args: &[Self]) -> Vec<Self> {
            rule.value(args.to_vec())
        }
        fn concat(axis: usize, parts: &[Self]) -> Self {
            $T(polygrad::Array::concat(axis, &$T::arrays(parts)))
        }
        fn map_accum(
            n: usize,
            reverse: bool,
            init: Vec<Self>,
            xs: &[Self],
            step: &mut dyn FnMut(Vec<Self>, &[Self]) -> polygrad::base::Trip<Self>,
        ) -> polygrad::base::Trip<Self> {
            let (init, xs) = ($T::arrays(&init), $T::arrays(xs));
            let (carry, outputs) = polygrad::Array::map_accum(n, reverse, init, &xs, &mut |carry, x| {
                let (carry, outputs) = step($T::wrapped(carry), &$T::wrapped(x.to_vec()));
                ($T::arrays(&carry), $T::arrays(&outputs))
            });
            ($T::wrapped(carry), $T::wrapped(outputs))
        }
    };
}

/// The arrays in values, and values of arrays.
macro_rules! arrays {
    ($T:ident) => {
        impl $T {
            fn arrays(ts: &[$T]) -> Vec<polygrad::Array> {
                ts.iter().map(|t| t.0.clone()).collect()
            }
            fn wrapped(arrays: Vec<polygrad::Array>) -> Vec<$T> {
                arrays.into_iter().map($T).collect()
            }
        }
    };
}

pub(crate) use {arrays, computed};
