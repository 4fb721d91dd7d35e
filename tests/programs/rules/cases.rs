//! A case for each rule: the left side of its equation. Those of structure are in [`structure`].

#[path = "structure.rs"]
pub(crate) mod structure;

use polygrad::ops::{Binary, Contract, Discrete, FloatStep, IntBinary, IntUnary, Linear, Unary, View};
use polygrad::program::{Builder, Constant, NodeId, Op};
use polygrad::{Array, DType};

use structure::{contractions, indices, loops, reductions, views};

/// The left side of a rule as a program.
pub(crate) struct Case {
    pub(crate) rule: &'static str,
    pub(crate) inputs: Vec<(&'static [usize], DType)>,
    pub(crate) make: fn(&mut Builder, &[NodeId]) -> Vec<NodeId>,
    /// Whether it is a rule of fast arithmetic.
    pub(crate) fast: bool,
    /// Whether sums come in another order, so that what is not finite may be NaN on one side and infinite on the other.
    pub(crate) regroups: bool,
}

pub(crate) type Make = fn(&mut Builder, &[NodeId]) -> Vec<NodeId>;

pub(crate) fn case(rule: &'static str, inputs: &[(&'static [usize], DType)], make: Make) -> Case {
    Case { rule, inputs: inputs.to_vec(), make, fast: false, regroups: false }
}

pub(crate) fn fast(rule: &'static str, inputs: &[(&'static [usize], DType)], make: Make) -> Case {
    Case { fast: true, ..case(rule, inputs, make) }
}

pub(crate) fn regrouping(rule: &'static str, inputs: &[(&'static [usize], DType)], make: Make) -> Case {
    Case { regroups: true, ..case(rule, inputs, make) }
}

pub(crate) const F: DType = DType::F64;
pub(crate) const I: DType = DType::I64;
pub(crate) const B: DType = DType::Bool;
pub(crate) const X: (&[usize], DType) = (&[3], F);
pub(crate) const N: (&[usize], DType) = (&[3], I);
pub(crate) const M: (&[usize], DType) = (&[3], B);
pub(crate) const A: (&[usize], DType) = (&[3, 4], F);

pub(crate) fn c(b: &mut Builder, x: f64) -> NodeId {
    b.apply(Op::Constant(Constant(Array::full(&[3], x))))
}

pub(crate) fn int(b: &mut Builder, x: i64) -> NodeId {
    b.apply(Op::Constant(Constant(Array::full(&[3], x))))
}

pub(crate) fn un(b: &mut Builder, op: Unary, x: NodeId) -> NodeId {
    b.apply(Op::Unary(op, x))
}

pub(crate) fn neg(b: &mut Builder, x: NodeId) -> NodeId {
    un(b, Unary::Neg, x)
}

pub(crate) fn bin(b: &mut Builder, op: Binary, x: NodeId, y: NodeId) -> NodeId {
    b.apply(Op::Binary(op, x, y))
}

pub(crate) fn mul(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Mul, x, y)
}

pub(crate) fn add(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Add, x, y)
}

pub(crate) fn sub(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Sub, x, y)
}

pub(crate) fn div(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Div, x, y)
}

/// `k * x`.
pub(crate) fn times(b: &mut Builder, k: f64, x: NodeId) -> NodeId {
    let k = c(b, k);
    mul(b, k, x)
}

pub(crate) fn dis(b: &mut Builder, op: Discrete, args: &[NodeId]) -> NodeId {
    b.apply(Op::Discrete(op, args.into()))
}

pub(crate) fn ints(b: &mut Builder, op: IntBinary, x: NodeId, y: NodeId) -> NodeId {
    dis(b, Discrete::IntBinary(op), &[x, y])
}

pub(crate) fn lin(b: &mut Builder, op: Linear, x: NodeId) -> NodeId {
    b.apply(Op::Linear(Box::new(op), x))
}

pub(crate) fn con(b: &mut Builder, op: Contract, x: NodeId, y: NodeId) -> NodeId {
    b.apply(Op::Contract(Box::new(op), x, y))
}

/// A vector of three, four times.
pub(crate) fn rep(b: &mut Builder, x: NodeId) -> NodeId {
    lin(b, Linear::replicate(&[3, 4], &[0]), x)
}

/// A number, three times.
pub(crate) fn rep0(b: &mut Builder, x: NodeId) -> NodeId {
    lin(b, Linear::replicate(&[3], &[]), x)
}

pub(crate) fn sum_all(b: &mut Builder, x: NodeId) -> NodeId {
    let op = Linear::sum(&[3, 4], &[0, 1]);
    lin(b, op, x)
}

pub(crate) fn matvec() -> Contract {
    Contract::axes(&[3, 4], &[0, 1], &[1], &[0])
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = scalars();
    all.extend(products());
    all.extend(choices());
    all.extend(reductions());
    all.extend(views());
    all.extend(contractions());
    all.extend(indices());
    all.extend(unsafe_ones());
    all.extend(loops());
    all
}

pub(crate) fn scalars() -> Vec<Case> {
    vec![
        case("fold", &[X], |b, v| {
            let table = b.apply(Op::Constant(Constant(Array::from([1.0, 2.0, 3.0]))));
            let table = un(b, Unary::Sqrt, table);
            vec![add(b, table, v[0])]
        }),
        case("empty", &[(&[0], F)], |b, v| {
            let y = un(b, Unary::Exp, v[0]);
            vec![lin(b, Linear::sum(&[0], &[0]), y)]
        }),
        case("neg_neg", &[X], |b, v| {
            let y = neg(b, v[0]);
            vec![neg(b, y)]
        }),
        case("neg_difference", &[X, X], |b, v| {
            let y = sub(b, v[0], v[1]);
            vec![neg(b, y)]
        }),
        case("neg_scaled", &[X], |b, v| {
            let y = times(b, 3.0, v[0]);
            vec![neg(b, y)]
        }),
        case("neg_quotient", &[X], |b, v| {
            let k = c(b, 3.0);
            let y = div(b, k, v[0]);
            vec![neg(b, y)]
        }),
        case("recip_recip", &[X], |b, v| {
            let y = un(b, Unary::Recip, v[0]);
            vec![un(b, Unary::Recip, y)]
        }),
        case("recip_quotient", &[X, X], |b, v| {
            let y = div(b, v[0], v[1]);
            vec![un(b, Unary::Recip, y)]
        }),
        case("recip_scaled", &[X], |b, v| {
            let y = times(b, 3.0, v[0]);
            vec![un(b, Unary::Recip, y)]
        }),
        case("even_function", &[X], |b, v| {
            let y = neg(b, v[0]);
            let even = [Unary::Abs, Unary::Square, Unary::Cos, Unary::Cosh, Unary::Sech2, Unary::Gaussian];
            even.map(|f| un(b, f, y)).to_vec()
        }),
        case("odd_function", &[X; 10], |b, v| {
            let odd = [Unary::Recip, Unary::Sin, Unary::Tan, Unary::Asin, Unary::Atan];
            let more = [Unary::Sinh, Unary::Tanh, Unary::Asinh, Unary::Atanh, Unary::Erf];
            let of = |(f, x): (Unary, &NodeId)| {
                let y = neg(b, *x);
                un(b, f, y)
            };
            odd.into_iter().chain(more).zip(v).map(of).collect()
        }),
        case("absolute", &[X], |b, v| {
            let inner = [Unary::Abs, Unary::Exp, Unary::Cosh].map(|f| un(b, f, v[0]));
            inner.map(|y| un(b, Unary::Abs, y)).to_vec()
        }),
        regrouping("square_of_root", &[X, X], |b, v| {
            let square = un(b, Unary::Square, v[0]);
            let (root, hypot) = (un(b, Unary::Sqrt, square), bin(b, Binary::Hypot, v[0], v[1]));
            let multiple = times(b, 3.0, root);
            [root, hypot, multiple].map(|x| un(b, Unary::Square, x)).to_vec()
        }),
        case("even_of_absolute", &[X], |b, v| {
            let y = un(b, Unary::Abs, v[0]);
            let even = [Unary::Square, Unary::Cos, Unary::Cosh, Unary::Sech2, Unary::Gaussian];
            even.map(|f| un(b, f, y)).to_vec()
        }),
        case("power_of_root", &[X], |b, v| {
            let (square, three) = (un(b, Unary::Square, v[0]), c(b, 3.0));
            let root = un(b, Unary::Sqrt, square);
            vec![bin(b, Binary::Pow, root, three)]
        }),
        case("even_power_of_absolute", &[X], |b, v| {
            let (y, four) = (un(b, Unary::Abs, v[0]), c(b, 4.0));
            vec![bin(b, Binary::Pow, y, four)]
        }),
        case("add_zero", &[X], |b, v| {
            let zero = c(b, 0.0);
            vec![add(b, v[0], zero), add(b, zero, v[0])]
        }),
        case("add_negated", &[X, X], |b, v| {
            let y = neg(b, v[1]);
            vec![add(b, v[0], y), add(b, y, v[0])]
        }),
        case("add_same", &[X], |b, v| vec![add(b, v[0], v[0])]),
        case("add_like_terms", &[X], |b, v| {
            let (y, z) = (times(b, 3.0, v[0]), times(b, 0.25, v[0]));
            vec![add(b, y, z), add(b, v[0], z), add(b, y, v[0])]
        }),
        case("sub_like_terms", &[X], |b, v| {
            let (y, z) = (times(b, 3.0, v[0]), times(b, -0.25, v[0]));
            vec![sub(b, y, z), sub(b, v[0], z)]
        }),
        regrouping("opposite_terms", &[X], |b, v| {
            let (y, z) = (times(b, 0.4, v[0]), times(b, -0.75, v[0]));
            vec![sub(b, v[0], y), add(b, y, z), add(b, z, v[0]), sub(b, y, v[0])]
        }),
        case("sub_from_negative", &[X], |b, v| {
            let y = neg(b, v[0]);
            vec![sub(b, y, v[0])]
        }),
        case("add_negative_multiple", &[X, X], |b, v| {
            let y = times(b, -3.0, v[1]);
            vec![add(b, v[0], y)]
        }),
        case("sub_negative_multiple", &[X, X], |b, v| {
            let y = times(b, -3.0, v[1]);
            vec![sub(b, v[0], y)]
        }),
        case("add_exchanged", &[X, X], |b, v| {
            let (y, z) = (add(b, v[0], v[1]), add(b, v[1], v[0]));
            vec![un(b, Unary::Sin, y), un(b, Unary::Cos, z)]
        }),
        case("sub_zero", &[X], |b, v| {
            let zero = c(b, 0.0);
            vec![sub(b, v[0], zero)]
        }),
        case("zero_sub", &[X], |b, v| {
            let zero = c(b, 0.0);
            vec![sub(b, zero, v[0])]
        }),
        case("sub_negated", &[X, X], |b, v| {
            let y = neg(b, v[1]);
            vec![sub(b, v[0], y)]
        }),
    ]
}

pub(crate) fn products() -> Vec<Case> {
    vec![
        case("mul_ordered", &[X, X], |b, v| vec![mul(b, v[0], v[1]), mul(b, v[1], v[0])]),
        case("mul_one", &[X], |b, v| vec![times(b, 1.0, v[0])]),
        case("mul_minus_one", &[X], |b, v| vec![times(b, -1.0, v[0])]),
        case("mul_same", &[X], |b, v| vec![mul(b, v[0], v[0])]),
        case("mul_constants", &[X], |b, v| {
            let y = times(b, 3.0, v[0]);
            vec![times(b, -0.5, y)]
        }),
        case("mul_negated_both", &[X, X], |b, v| {
            let (x, y) = (neg(b, v[0]), neg(b, v[1]));
            vec![mul(b, x, y)]
        }),
        case("mul_constant_negated", &[X], |b, v| {
            let y = neg(b, v[0]);
            vec![times(b, 3.0, y)]
        }),
        case("mul_negated", &[X, X], |b, v| {
            let y = neg(b, v[0]);
            let z = neg(b, v[1]);
            vec![mul(b, y, v[1]), mul(b, v[0], z)]
        }),
        case("mul_quotient", &[X], |b, v| {
            let k = c(b, 3.0);
            let y = div(b, k, v[0]);
            vec![times(b, 5.0, y)]
        }),
        case("mul_scaled", &[X, X], |b, v| {
            let y = times(b, 3.0, v[0]);
            let z = times(b, 5.0, v[1]);
            vec![mul(b, y, z)]
        }),
        case("div_one", &[X], |b, v| {
            let one = c(b, 1.0);
            vec![div(b, v[0], one)]
        }),
        case("one_div", &[X], |b, v| {
            let one = c(b, 1.0);
            vec![div(b, one, v[0])]
        }),
        case("div_negated_both", &[X, X], |b, v| {
            let (x, y) = (neg(b, v[0]), neg(b, v[1]));
            vec![div(b, x, y)]
        }),
        case("div_constant_negated", &[X], |b, v| {
            let (k, y) = (c(b, 3.0), neg(b, v[0]));
            vec![div(b, k, y), div(b, y, k)]
        }),
        case("div_constant_scaled", &[X], |b, v| {
            let (k, y) = (c(b, 3.0), times(b, 5.0, v[0]));
            vec![div(b, k, y)]
        }),
        case("div_negated", &[X, X], |b, v| {
            let (x, y) = (neg(b, v[0]), neg(b, v[1]));
            vec![div(b, x, v[1]), div(b, v[0], y)]
        }),
        case("div_power_of_two", &[X], |b, v| {
            let k = c(b, -4.0);
            vec![div(b, v[0], k)]
        }),
        case("div_scaled", &[X, X], |b, v| {
            let y = times(b, 3.0, v[0]);
            vec![div(b, y, v[1])]
        }),
        case("pow_zero", &[X], |b, v| {
            let k = c(b, 0.0);
            vec![bin(b, Binary::Pow, v[0], k)]
        }),
        case("pow_one", &[X], |b, v| {
            let k = c(b, 1.0);
            vec![bin(b, Binary::Pow, v[0], k)]
        }),
        case("pow_two", &[X], |b, v| {
            let k = c(b, 2.0);
            vec![bin(b, Binary::Pow, v[0], k)]
        }),
        case("pow_minus_one", &[X], |b, v| {
            let k = c(b, -1.0);
            vec![bin(b, Binary::Pow, v[0], k)]
        }),
        case("pow_less_one_number", &[X], |b, v| {
            let (k, l) = (c(b, 3.0), c(b, -0.5));
            vec![bin(b, Binary::PowLessOne, v[0], k), bin(b, Binary::PowLessOne, v[0], l)]
        }),
        case("no_nan_zero", &[X], |b, v| {
            let k = c(b, 0.0);
            vec![bin(b, Binary::MulNoNan, v[0], k), bin(b, Binary::MulNoNan, k, v[0])]
        }),
        case("no_nan_number", &[X], |b, v| {
            let k = c(b, 3.0);
            vec![bin(b, Binary::MulNoNan, v[0], k), bin(b, Binary::MulNoNan, k, v[0])]
        }),
        case("no_nan_negated", &[X, X], |b, v| {
            let (x, y) = (neg(b, v[0]), neg(b, v[1]));
            vec![bin(b, Binary::MulNoNan, x, v[1]), bin(b, Binary::MulNoNan, v[0], y)]
        }),
        case("no_nan_exchanged", &[X, X], |b, v| {
            let (y, z) = (bin(b, Binary::MulNoNan, v[0], v[1]), bin(b, Binary::MulNoNan, v[1], v[0]));
            vec![un(b, Unary::Sin, y), un(b, Unary::Cos, z)]
        }),
        case("div_negative", &[X], |b, v| {
            let (k, l) = (c(b, 3.0), c(b, -3.0));
            let (y, z) = (div(b, k, v[0]), div(b, l, v[0]));
            vec![un(b, Unary::Sin, y), un(b, Unary::Cos, z)]
        }),
        case("div_again", &[X], |b, v| {
            let k = c(b, -3.0);
            let y = div(b, k, v[0]);
            vec![un(b, Unary::Sin, y), div(b, y, v[0])]
        }),
        case("over_zero", &[X], |b, v| {
            let zero = c(b, 0.0);
            vec![bin(b, Binary::DivNoNan, zero, v[0])]
        }),
        case("over_of_number", &[X], |b, v| {
            let k = c(b, -3.0);
            vec![bin(b, Binary::DivNoNan, k, v[0])]
        }),
        case("over_number", &[X], |b, v| {
            let k = c(b, -3.0);
            vec![bin(b, Binary::DivNoNan, v[0], k)]
        }),
        case("over_negated", &[X, X], |b, v| {
            let (x, y) = (neg(b, v[0]), neg(b, v[1]));
            vec![bin(b, Binary::DivNoNan, x, v[1]), bin(b, Binary::DivNoNan, v[0], y)]
        }),
        case("over_scaled", &[X, X], |b, v| {
            let x = times(b, -3.0, v[0]);
            vec![bin(b, Binary::DivNoNan, x, v[1])]
        }),
        // A divisor that is neither infinite nor near 0, as the rule says.
        case("over_replicated", &[A, X], |b, v| {
            let y = un(b, Unary::Tanh, v[1]);
            let y = un(b, Unary::Exp, y);
            let y = rep(b, y);
            vec![bin(b, Binary::DivNoNan, v[0], y)]
        }),
        case("no_nan_scaled", &[X], |b, v| {
            let square = bin(b, Binary::MulNoNan, v[0], v[0]);
            let y = times(b, 3.0, square);
            vec![bin(b, Binary::MulNoNan, y, v[0])]
        }),
        case("product_again", &[X, X, X], |b, v| {
            let (y, z) = (bin(b, Binary::MulNoNan, v[0], v[1]), times(b, 3.0, v[2]));
            let (y, z) = (bin(b, Binary::MulNoNan, y, v[2]), bin(b, Binary::MulNoNan, v[1], z));
            vec![y, bin(b, Binary::MulNoNan, z, v[0])]
        }),
        case("like_terms_apart", &[X, X, X], |b, v| {
            let product = bin(b, Binary::MulNoNan, v[0], v[1]);
            let (y, z) = (times(b, -3.0, product), times(b, 5.0, product));
            let sum = add(b, y, v[2]);
            vec![sub(b, sum, z)]
        }),
    ]
}

pub(crate) fn choices() -> Vec<Case> {
    vec![
        case("extremum_same", &[X], |b, v| vec![bin(b, Binary::Min, v[0], v[0]), bin(b, Binary::Max, v[0], v[0])]),
        case("add_adjacent", &[(&[5, 6], F), (&[5, 6], F)], |b, v| {
            // The first row, the last one, and those between, moved down by one; the last one goes.
            let rows = |from: usize, n: usize| {
                let read = Linear::slice(&[5, 6], 0, from, n, 1);
                let write = View::affine(&[5, 6], &[n, 6], &[1, 0, 0, 1], &[from as i64 + 1, 0]);
                (read, Linear::affine(View::identity(&[n, 6]), write))
            };
            let moved = |b: &mut Builder, from: usize, n: usize| {
                let (read, write) = rows(from, n);
                let part = lin(b, read, v[0]);
                lin(b, write, part)
            };
            let (first, last, between) = (moved(b, 0, 1), moved(b, 3, 1), moved(b, 1, 2));
            let sum = add(b, v[1], first);
            let sum = add(b, between, sum);
            vec![add(b, sum, last)]
        }),
        case("hypot_exchanged", &[X, X], |b, v| {
            vec![bin(b, Binary::Hypot, v[0], v[1]), bin(b, Binary::Hypot, v[1], v[0])]
        }),
        case("select_same", &[M, X], |b, v| vec![b.apply(Op::Select([v[0], v[1], v[1]]))]),
        case("add_choices", &[M, X, X, X], |b, v| {
            let zero = c(b, 0.0);
            let (x, y) = (b.apply(Op::Select([v[0], v[1], zero])), b.apply(Op::Select([v[0], zero, v[2]])));
            let sum = add(b, x, v[3]);
            let (z, w) = (b.apply(Op::Select([v[0], v[2], v[1]])), b.apply(Op::Select([v[0], zero, v[3]])));
            vec![add(b, sum, y), add(b, z, w)]
        }),
        case("choice_of_numbers", &[M, X], |b, v| {
            let (p, q, k) = (c(b, 4.0), c(b, -0.0), c(b, 3.0));
            let x = b.apply(Op::Select([v[0], p, q]));
            let y = b.apply(Op::Select([v[0], q, p]));
            let (x, y) = (un(b, Unary::Sqrt, x), sub(b, k, y));
            vec![mul(b, x, v[1]), y]
        }),
        case("select_known", &[X, X], |b, v| {
            let m = b.apply(Op::Constant(Constant(Array::full(&[3], true))));
            let n = b.apply(Op::Constant(Constant(Array::full(&[3], false))));
            vec![b.apply(Op::Select([m, v[0], v[1]])), b.apply(Op::Select([n, v[0], v[1]]))]
        }),
        case("select_not", &[M, X, X], |b, v| {
            let m = dis(b, Discrete::Not, &[v[0]]);
            vec![b.apply(Op::Select([m, v[1], v[2]]))]
        }),
        case("select_again", &[M, X, X, X], |b, v| {
            let inner = b.apply(Op::Select([v[0], v[1], v[2]]));
            vec![b.apply(Op::Select([v[0], inner, v[3]])), b.apply(Op::Select([v[0], v[3], inner]))]
        }),
        case("select_interval", &[(&[6], F), (&[6], F)], |b, v| {
            let i = dis(b, Discrete::Iota { n: 6 }, &[]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[6], 2i64))));
            let m = dis(b, Discrete::Compare(polygrad::ops::Compare::Lt), &[i, k]);
            let x = lin(b, Linear::reverse(&[6], 0), v[0]);
            vec![b.apply(Op::Select([m, x, v[1]]))]
        }),
        case("select_diagonal", &[(&[3, 4], F)], |b, v| {
            let (i, j) = (dis(b, Discrete::Iota { n: 3 }, &[]), dis(b, Discrete::Iota { n: 4 }, &[]));
            let i = lin(b, Linear::replicate(&[3, 4], &[0]), i);
            let j = lin(b, Linear::replicate(&[3, 4], &[1]), j);
            let [one, two, zero] = [1.0, 2.0, 0.0].map(|x| b.apply(Op::Constant(Constant(Array::full(&[3, 4], x)))));
            let shift = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 1i64))));
            let next = ints(b, IntBinary::Add, i, shift);
            let equal = dis(b, Discrete::Compare(polygrad::ops::Compare::Eq), &[i, j]);
            let other = dis(b, Discrete::Compare(polygrad::ops::Compare::Ne), &[j, next]);
            let choices = [[equal, v[0], zero], [equal, one, zero], [other, zero, v[0]], [other, zero, two]];
            choices.map(|choice| b.apply(Op::Select(choice))).to_vec()
        }),
        case("to_float_diagonal", &[X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 3 }, &[]);
            let j = lin(b, Linear::replicate(&[3, 3], &[1]), i);
            let i = lin(b, Linear::replicate(&[3, 3], &[0]), i);
            let equal = dis(b, Discrete::Compare(polygrad::ops::Compare::Eq), &[i, j]);
            vec![dis(b, Discrete::ToFloat(F), &[equal]), v[0]]
        }),
        case("select_constants", &[X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 3 }, &[]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[3], 1i64))));
            let m = dis(b, Discrete::Compare(polygrad::ops::Compare::Eq), &[i, k]);
            let table = b.apply(Op::Constant(Constant(Array::from([1.0, 2.0, 3.0]))));
            let other = b.apply(Op::Constant(Constant(Array::from([4.0, 5.0, 6.0]))));
            let y = b.apply(Op::Select([m, table, other]));
            let rows = |b: &mut Builder, a: NodeId| lin(b, Linear::replicate(&[3, 3], &[0]), a);
            let (n, x, z) = (rows(b, m), lin(b, Linear::replicate(&[3, 3], &[1]), table), rows(b, other));
            let z = b.apply(Op::Select([n, x, z]));
            vec![add(b, y, v[0]), z]
        }),
        case("stop_of_step", &[X, N], |b, v| {
            let steps = [dis(b, Discrete::FloatStep(FloatStep::Floor), &[v[0]]), dis(b, Discrete::ToFloat(F), &[v[1]])];
            let [x, y] = steps.map(|step| dis(b, Discrete::FloatStep(FloatStep::StopGradient), &[step]));
            vec![x, y]
        }),
        case("stopped_again", &[X, X], |b, v| {
            let [y, z] = [0, 1].map(|k| dis(b, Discrete::FloatStep(FloatStep::StopGradient), &[v[k]]));
            let (before, after) = (un(b, Unary::Exp, v[0]), un(b, Unary::Exp, y));
            vec![before, after, mul(b, v[0], v[1]), mul(b, y, z)]
        }),
        case("not_not", &[M], |b, v| {
            let m = dis(b, Discrete::Not, &[v[0]]);
            vec![dis(b, Discrete::Not, &[m])]
        }),
        case("logic_same", &[M], |b, v| {
            vec![dis(b, Discrete::And, &[v[0], v[0]]), dis(b, Discrete::Or, &[v[0], v[0]])]
        }),
        case("logic_known", &[M], |b, v| {
            let known = [true, false].map(|k| b.apply(Op::Constant(Constant(Array::full(&[3], k)))));
            let mut out = Vec::new();
            for k in known {
                out.push(dis(b, Discrete::And, &[v[0], k]));
                out.push(dis(b, Discrete::Or, &[k, v[0]]));
            }
            out
        }),
        case("int_neg_neg", &[N], |b, v| {
            let n = dis(b, Discrete::IntUnary(IntUnary::Neg), &[v[0]]);
            vec![dis(b, Discrete::IntUnary(IntUnary::Neg), &[n])]
        }),
        case("int_sub_same", &[N], |b, v| vec![ints(b, IntBinary::Sub, v[0], v[0])]),
        case("int_constants", &[N], |b, v| {
            // Their sum wraps to the smallest integer.
            let (k, l) = (int(b, i64::MAX), int(b, 1));
            let y = ints(b, IntBinary::Add, v[0], k);
            vec![ints(b, IntBinary::Add, y, l)]
        }),
        case("int_constants", &[N], |b, v| {
            let (k, l) = (int(b, 3), int(b, 5));
            let (x, y, z) =
                (ints(b, IntBinary::Add, v[0], k), ints(b, IntBinary::Sub, v[0], l), ints(b, IntBinary::Mul, k, v[0]));
            vec![ints(b, IntBinary::Sub, x, l), ints(b, IntBinary::Add, k, y), ints(b, IntBinary::Mul, z, l)]
        }),
        case("int_extremum_same", &[N], |b, v| {
            vec![
                ints(b, IntBinary::Min, v[0], v[0]),
                ints(b, IntBinary::Max, v[0], v[0]),
                ints(b, IntBinary::BitAnd, v[0], v[0]),
                ints(b, IntBinary::BitOr, v[0], v[0]),
            ]
        }),
        case("int_xor_same", &[N], |b, v| vec![ints(b, IntBinary::BitXor, v[0], v[0])]),
        case("discrete_exchanged", &[N, N, M, M], |b, v| {
            let mut out = Vec::new();
            for op in IntBinary::ALL.iter().copied().filter(|op| op.apply(2, 5) == op.apply(5, 2)) {
                out.extend([ints(b, op, v[0], v[1]), ints(b, op, v[1], v[0])]);
            }
            out.extend([dis(b, Discrete::And, &[v[2], v[3]]), dis(b, Discrete::And, &[v[3], v[2]])]);
            out
        }),
        case("decided", &[X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 3 }, &[]);
            let k = int(b, 5);
            let m = dis(b, Discrete::Compare(polygrad::ops::Compare::Lt), &[i, k]);
            let y = neg(b, v[0]);
            vec![b.apply(Op::Select([m, v[0], y]))]
        }),
        case("discrete_bounded", &[N], |b, v| {
            let zero = int(b, 0);
            vec![ints(b, IntBinary::Add, v[0], zero)]
        }),
    ]
}

/// Rules of fast arithmetic.
pub(crate) fn unsafe_ones() -> Vec<Case> {
    vec![
        fast("inverse_functions", &[X], |b, v| {
            let pairs = [
                (Unary::Exp, Unary::Ln),
                (Unary::Ln, Unary::Exp),
                (Unary::Square, Unary::Sqrt),
                (Unary::Sqrt, Unary::Square),
                (Unary::Abs, Unary::Square),
                (Unary::Log1p, Unary::Expm1),
                (Unary::Expm1, Unary::Log1p),
            ];
            let both = |(f, g)| {
                let y = un(b, g, v[0]);
                un(b, f, y)
            };
            pairs.map(both).to_vec()
        }),
        fast("mul_zero", &[X], |b, v| vec![times(b, 0.0, v[0])]),
        fast("sub_same", &[X], |b, v| vec![sub(b, v[0], v[0])]),
        fast("div_same", &[X], |b, v| vec![div(b, v[0], v[0])]),
        fast("mul_recip", &[X, X], |b, v| {
            let y = un(b, Unary::Recip, v[1]);
            vec![mul(b, v[0], y)]
        }),
        fast("div_recip", &[X, X], |b, v| {
            let y = un(b, Unary::Recip, v[1]);
            vec![div(b, v[0], y)]
        }),
        fast("mul_of_quotient", &[X, X], |b, v| {
            let y = div(b, v[0], v[1]);
            vec![mul(b, y, v[1])]
        }),
        fast("add_constants", &[X], |b, v| {
            let (k, l) = (c(b, 3.0), c(b, 0.5));
            let (x, y) = (add(b, v[0], k), sub(b, v[0], l));
            vec![sub(b, x, l), add(b, k, y)]
        }),
        fast("like_terms_of_any_sign", &[X], |b, v| {
            let (y, z) = (times(b, 3.0, v[0]), times(b, 0.25, v[0]));
            vec![sub(b, y, z), sub(b, v[0], z)]
        }),
        fast("common_factor", &[X, X, X], |b, v| {
            let (y, z) = (mul(b, v[0], v[1]), mul(b, v[1], v[2]));
            vec![add(b, y, z)]
        }),
        fast("mask_on_factor", &[(&[3, 3], F), A, (&[3, 3], B)], |b, v| {
            let (x, y) = (
                lin(b, Linear::replicate(&[3, 3, 4], &[0, 1]), v[0]),
                lin(b, Linear::replicate(&[3, 3, 4], &[1, 2]), v[1]),
            );
            let (m, p) = (lin(b, Linear::replicate(&[3, 3, 4], &[0, 1]), v[2]), mul(b, x, y));
            let zero = b.apply(Op::Constant(Constant(Array::zeros(&[3, 3, 4], F))));
            let s = b.apply(Op::Select([m, p, zero]));
            vec![lin(b, Linear::sum(&[3, 3, 4], &[1]), s)]
        }),
        fast("mul_sum_of_multiples", &[X, X], |b, v| {
            let (x, y, z, k) = (times(b, 2.0, v[0]), times(b, 3.0, v[1]), times(b, 7.0, v[0]), c(b, 0.25));
            let (sum, difference, of_used) = (add(b, x, y), sub(b, k, z), add(b, k, v[0]));
            vec![times(b, 0.5, sum), times(b, 3.0, difference), times(b, 3.0, of_used)]
        }),
    ]
}
