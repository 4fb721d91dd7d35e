//! A case for each rule: the left side of its equation.

use polygrad::ops::{Binary, Contract, Discrete, IntBinary, IntUnary, Linear, Unary, View};
use polygrad::program::{Builder, Constant, Loop, NodeId, Op, Program, Slot};
use polygrad::shape::Shape;
use polygrad::{Array, DType};

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

type Make = fn(&mut Builder, &[NodeId]) -> Vec<NodeId>;

fn case(rule: &'static str, inputs: &[(&'static [usize], DType)], make: Make) -> Case {
    Case { rule, inputs: inputs.to_vec(), make, fast: false, regroups: false }
}

fn fast(rule: &'static str, inputs: &[(&'static [usize], DType)], make: Make) -> Case {
    Case { fast: true, ..case(rule, inputs, make) }
}

fn regrouping(rule: &'static str, inputs: &[(&'static [usize], DType)], make: Make) -> Case {
    Case { regroups: true, ..case(rule, inputs, make) }
}

const F: DType = DType::F64;
const I: DType = DType::I64;
const B: DType = DType::Bool;
const X: (&[usize], DType) = (&[3], F);
const N: (&[usize], DType) = (&[3], I);
const M: (&[usize], DType) = (&[3], B);
const A: (&[usize], DType) = (&[3, 4], F);

fn c(b: &mut Builder, x: f64) -> NodeId {
    b.apply(Op::Constant(Constant(Array::full(&[3], x))))
}

fn int(b: &mut Builder, x: i64) -> NodeId {
    b.apply(Op::Constant(Constant(Array::full(&[3], x))))
}

fn un(b: &mut Builder, op: Unary, x: NodeId) -> NodeId {
    b.apply(Op::Unary(op, x))
}

fn neg(b: &mut Builder, x: NodeId) -> NodeId {
    un(b, Unary::Neg, x)
}

fn bin(b: &mut Builder, op: Binary, x: NodeId, y: NodeId) -> NodeId {
    b.apply(Op::Binary(op, x, y))
}

fn mul(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Mul, x, y)
}

fn add(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Add, x, y)
}

fn sub(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Sub, x, y)
}

fn div(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    bin(b, Binary::Div, x, y)
}

/// `k * x`.
fn times(b: &mut Builder, k: f64, x: NodeId) -> NodeId {
    let k = c(b, k);
    mul(b, k, x)
}

fn dis(b: &mut Builder, op: Discrete, args: &[NodeId]) -> NodeId {
    b.apply(Op::Discrete(op, args.into()))
}

fn ints(b: &mut Builder, op: IntBinary, x: NodeId, y: NodeId) -> NodeId {
    dis(b, Discrete::IntBinary(op), &[x, y])
}

fn lin(b: &mut Builder, op: Linear, x: NodeId) -> NodeId {
    b.apply(Op::Linear(Box::new(op), x))
}

fn con(b: &mut Builder, op: Contract, x: NodeId, y: NodeId) -> NodeId {
    b.apply(Op::Contract(Box::new(op), x, y))
}

/// A vector of three, four times.
fn rep(b: &mut Builder, x: NodeId) -> NodeId {
    lin(b, Linear::replicate(&[3, 4], &[0]), x)
}

fn sum_all(b: &mut Builder, x: NodeId) -> NodeId {
    let op = Linear::sum(&[3, 4], &[0, 1]);
    lin(b, op, x)
}

fn matvec() -> Contract {
    Contract::axes(&[3, 4], &[0, 1], &[1], &[0])
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = scalars();
    all.extend(products());
    all.extend(choices());
    all.extend(views());
    all.extend(contractions());
    all.extend(indices());
    all.extend(unsafe_ones());
    all.extend(loops());
    all
}

fn scalars() -> Vec<Case> {
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
            [Unary::Abs, Unary::Square, Unary::Cos, Unary::Cosh].map(|f| un(b, f, y)).to_vec()
        }),
        case("odd_function", &[X], |b, v| {
            let y = neg(b, v[0]);
            let odd = [Unary::Recip, Unary::Sin, Unary::Tan, Unary::Asin, Unary::Atan];
            let more = [Unary::Sinh, Unary::Tanh, Unary::Asinh, Unary::Atanh, Unary::Erf];
            odd.into_iter().chain(more).map(|f| un(b, f, y)).collect()
        }),
        case("absolute", &[X], |b, v| {
            let inner = [Unary::Abs, Unary::Square, Unary::Exp, Unary::Cosh].map(|f| un(b, f, v[0]));
            inner.map(|y| un(b, Unary::Abs, y)).to_vec()
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

fn products() -> Vec<Case> {
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
    ]
}

fn choices() -> Vec<Case> {
    vec![
        case("extremum_same", &[X], |b, v| vec![bin(b, Binary::Min, v[0], v[0]), bin(b, Binary::Max, v[0], v[0])]),
        case("hypot_exchanged", &[X, X], |b, v| {
            vec![bin(b, Binary::Hypot, v[0], v[1]), bin(b, Binary::Hypot, v[1], v[0])]
        }),
        case("select_same", &[M, X], |b, v| vec![b.apply(Op::Select([v[0], v[1], v[1]]))]),
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
            let (k, l) = (int(b, 3), int(b, 5));
            let (x, y, z) =
                (ints(b, IntBinary::Add, v[0], k), ints(b, IntBinary::Sub, v[0], l), ints(b, IntBinary::Mul, k, v[0]));
            vec![ints(b, IntBinary::Sub, x, l), ints(b, IntBinary::Add, k, y), ints(b, IntBinary::Mul, z, l)]
        }),
        case("int_extremum_same", &[N], |b, v| {
            vec![ints(b, IntBinary::Min, v[0], v[0]), ints(b, IntBinary::Max, v[0], v[0])]
        }),
        case("discrete_exchanged", &[N, N, M, M], |b, v| {
            let mut out = Vec::new();
            for op in [IntBinary::Add, IntBinary::Mul, IntBinary::Min, IntBinary::Max] {
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

fn views() -> Vec<Case> {
    vec![
        case("linear_identity", &[A], |b, v| vec![lin(b, Linear::permute(&[3, 4], &[0, 1]), v[0])]),
        case("linear_of_nothing", &[X], |b, v| {
            let y = un(b, Unary::Exp, v[0]);
            vec![lin(b, Linear::read(View::affine(&[3], &[2], &[1], &[7])), y)]
        }),
        case("linear_composed", &[A], |b, v| {
            let y = lin(b, Linear::permute(&[3, 4], &[1, 0]), v[0]);
            let z = lin(b, Linear::slice(&[4, 3], 0, 1, 2, 1), y);
            vec![lin(b, Linear::reverse(&[2, 3], 1), z)]
        }),
        case("linear_ordered", &[A], |b, v| {
            let y = lin(b, Linear::permute(&[3, 4], &[1, 0]), v[0]);
            let z = Linear::affine(View::axes(&[3, 4], &[0, 1]), View::axes(&[3, 4], &[1, 0]));
            vec![lin(b, Linear::sum(&[4, 3], &[0]), y), lin(b, z, v[0])]
        }),
        case("repeated_sum", &[X, N], |b, v| {
            let (y, z) = (rep(b, v[0]), rep(b, v[1]));
            let sum = Linear::sum(&[3, 4], &[1]);
            vec![sum_all(b, y), lin(b, sum.clone(), y), lin(b, sum, z)]
        }),
        case("sum_of_reshape", &[(&[2, 3, 4], F)], |b, v| {
            let y = lin(b, Linear::reshape(&[2, 3, 4], &[6, 2, 2]), v[0]);
            vec![lin(b, Linear::sum(&[6, 2, 2], &[0]), y), lin(b, Linear::sum(&[6, 2, 2], &[1, 2]), y)]
        }),
        case("view_of_reshape", &[(&[12], F)], |b, v| {
            let y = lin(b, Linear::reshape(&[12], &[3, 4]), v[0]);
            vec![lin(b, Linear::permute(&[3, 4], &[1, 0]), y)]
        }),
        case("sum_of_negated", &[A], |b, v| {
            let y = neg(b, v[0]);
            vec![sum_all(b, y)]
        }),
        case("sum_of_scaled", &[A], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            let y = mul(b, k, v[0]);
            vec![sum_all(b, y)]
        }),
        case("replicate_late", &[X, X, M], |b, v| {
            let (x, y, m) = (rep(b, v[0]), rep(b, v[1]), rep(b, v[2]));
            let z = bin(b, Binary::Hypot, x, y);
            let z = un(b, Unary::Sin, z);
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            vec![b.apply(Op::Select([m, z, k]))]
        }),
        case("view_early", &[A, A], |b, v| {
            let (x, y) = [0, 1].map(|k| lin(b, Linear::permute(&[3, 4], &[1, 0]), v[k])).into();
            let z = add(b, x, y);
            let row = un(b, Unary::Exp, v[0]);
            vec![lin(b, Linear::permute(&[4, 3], &[1, 0]), z), lin(b, Linear::row(&[3, 4], 0, 1), row)]
        }),
        case("concat_one", &[X], |b, v| vec![b.apply(Op::Concat(0, vec![v[0]]))]),
        case("concat_empty", &[X, (&[0], F)], |b, v| vec![b.apply(Op::Concat(0, vec![v[0], v[1], v[0]]))]),
        case("concat_nested", &[X, X], |b, v| {
            let y = b.apply(Op::Concat(0, vec![v[0], v[1]]));
            vec![b.apply(Op::Concat(0, vec![v[0], y, v[0]]))]
        }),
        case("concat_of_views", &[(&[6], F)], |b, v| {
            let parts = [(0, 1), (1, 1), (2, 3), (5, 1)];
            let parts = parts.map(|(start, len)| lin(b, Linear::slice(&[6], 0, start, len, 1), v[0]));
            let back = [4, 2, 0].map(|start| lin(b, Linear::slice(&[6], 0, start, 1, 1), v[0]));
            vec![b.apply(Op::Concat(0, parts.to_vec())), b.apply(Op::Concat(0, back.to_vec()))]
        }),
        case("view_of_concat", &[A, A], |b, v| {
            let y = b.apply(Op::Concat(0, v.to_vec()));
            vec![lin(b, Linear::row(&[6, 4], 0, 4), y), lin(b, Linear::slice(&[6, 4], 0, 0, 2, 1), y)]
        }),
    ]
}

fn contractions() -> Vec<Case> {
    vec![
        case("contract_of_nothing", &[X, X], |b, v| {
            let nothing = View::affine(&[3], &[2], &[1], &[7]);
            vec![con(
                b,
                Contract::new(nothing, View::affine(&[3], &[2], &[1], &[0]), View::axes(&[2], &[])),
                v[0],
                v[1],
            )]
        }),
        case("contract_read", &[(&[4, 3], F), (&[8], F)], |b, v| {
            let (x, y) =
                (lin(b, Linear::permute(&[4, 3], &[1, 0]), v[0]), lin(b, Linear::slice(&[8], 0, 1, 4, 2), v[1]));
            vec![con(b, matvec(), x, y)]
        }),
        case("contract_idle_axis", &[X, X], |b, v| vec![con(b, Contract::axes(&[3, 5], &[0], &[0], &[0]), v[0], v[1])]),
        case("contract_number", &[A], |b, v| {
            let ones = b.apply(Op::Constant(Constant(Array::full(&[4], 1.0))));
            let twos = b.apply(Op::Constant(Constant(Array::full(&[4], 2.0))));
            vec![con(b, matvec(), v[0], ones), con(b, matvec(), v[0], twos)]
        }),
        case("contract_negated", &[A, (&[4], F)], |b, v| {
            let x = neg(b, v[0]);
            vec![con(b, matvec(), x, v[1])]
        }),
        case("contract_scaled", &[A, (&[4], F)], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            let x = mul(b, k, v[0]);
            vec![con(b, matvec(), x, v[1])]
        }),
        case("contract_named", &[A, (&[2, 3], F)], |b, v| {
            vec![con(b, Contract::axes(&[4, 3, 2], &[1, 0], &[2, 1], &[2, 0]), v[0], v[1])]
        }),
        case("contract_exchanged", &[X, X], |b, v| {
            let dot = Contract::axes(&[3], &[0], &[0], &[]);
            vec![con(b, dot.clone(), v[0], v[1]), con(b, dot, v[1], v[0])]
        }),
        regrouping("contract_of_product", &[A, (&[4], F), X], |b, v| {
            let y = lin(b, Linear::replicate(&[3, 4], &[1]), v[1]);
            let y = mul(b, v[0], y);
            vec![con(b, Contract::axes(&[3, 4], &[0, 1], &[0], &[]), y, v[2])]
        }),
        regrouping("sum_of_product", &[A, (&[4], F), X], |b, v| {
            let (y, z) = (lin(b, Linear::replicate(&[3, 4], &[1]), v[1]), rep(b, v[2]));
            let (p, q) = (mul(b, v[0], y), mul(b, v[0], z));
            let r = mul(b, p, z);
            vec![lin(b, Linear::sum(&[3, 4], &[1]), q), sum_all(b, r)]
        }),
        case("mul_into_replicated", &[X, A], |b, v| {
            let x = rep(b, v[0]);
            let y = mul(b, x, v[1]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            vec![mul(b, k, y)]
        }),
        case("scaled_contract", &[X, (&[4], F)], |b, v| {
            let y = con(b, Contract::axes(&[3, 4], &[0], &[1], &[0, 1]), v[0], v[1]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            vec![mul(b, k, y)]
        }),
        case("outer_product", &[X, (&[4], F)], |b, v| {
            let (x, y) = (rep(b, v[0]), lin(b, Linear::replicate(&[3, 4], &[1]), v[1]));
            vec![mul(b, x, y)]
        }),
        case("linear_of_contract", &[A, (&[4], F), (&[4, 5], F)], |b, v| {
            let y = con(b, matvec(), v[0], v[1]);
            let z = con(b, Contract::axes(&[3, 4, 5], &[0, 1], &[1, 2], &[0, 2]), v[0], v[2]);
            vec![lin(b, Linear::sum(&[3], &[0]), y), lin(b, Linear::permute(&[3, 5], &[1, 0]), z)]
        }),
    ]
}

fn indices() -> Vec<Case> {
    vec![
        case("gather_affine", &[(&[6], F)], |b, v| {
            let i = dis(b, Discrete::Iota { n: 4 }, &[]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[4], 3i64))));
            let i = ints(b, IntBinary::Sub, k, i);
            vec![b.apply(Op::Gather(v[0], vec![i]))]
        }),
        case("gather_all", &[X], |b, v| vec![b.apply(Op::Gather(v[0], vec![]))]),
        case("scatter_all", &[X, X, N, N], |b, v| {
            vec![b.apply(Op::ScatterAdd(v[0], vec![], v[1])), b.apply(Op::ScatterAdd(v[2], vec![], v[3]))]
        }),
        case("gather_early", &[(&[30], F), (&[2], I)], |b, v| {
            let y = un(b, Unary::Tanh, v[0]);
            vec![b.apply(Op::Gather(y, vec![v[1]]))]
        }),
        case("gather_number", &[(&[4], B)], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[100], 3.0))));
            let i = dis(b, Discrete::ToInt, &[v[0]]);
            vec![b.apply(Op::Gather(k, vec![i]))]
        }),
        case("gather_through", &[(&[6, 7], F), (&[2], I), (&[2], I), (&[4], B)], |b, v| {
            let copies = lin(b, Linear::replicate(&[9, 6, 7], &[1, 2]), v[0]);
            let within = dis(b, Discrete::ToInt, &[v[3]]);
            let copies = b.apply(Op::Gather(copies, vec![within]));
            let turned = lin(b, Linear::permute(&[6, 7], &[1, 0]), v[0]);
            let turned = lin(b, Linear::reverse(&[7, 6], 0), turned);
            vec![b.apply(Op::Gather(turned, vec![v[1], v[2]])), copies]
        }),
        case("scatter_zeros", &[A, (&[2], I)], |b, v| {
            let zeros = b.apply(Op::Constant(Constant(Array::zeros(&[2, 4], F))));
            vec![b.apply(Op::ScatterAdd(v[0], vec![v[1]], zeros))]
        }),
        case("scatter_affine", &[(&[6], F), (&[2], F)], |b, v| {
            let i = dis(b, Discrete::Iota { n: 2 }, &[]);
            vec![b.apply(Op::ScatterAdd(v[0], vec![i], v[1]))]
        }),
        case("add_scattered", &[A, (&[2], I), (&[2, 4], F)], |b, v| {
            let zeros = b.apply(Op::Constant(Constant(Array::zeros(&[3, 4], F))));
            let y = b.apply(Op::ScatterAdd(zeros, vec![v[1]], v[2]));
            vec![add(b, v[0], y)]
        }),
        case("sum_of_scattered", &[(&[3, 2], I), (&[3, 2, 4], F)], |b, v| {
            let i = dis(b, Discrete::Iota { n: 3 }, &[]);
            let i = lin(b, Linear::replicate(&[3, 2], &[0]), i);
            let zeros = b.apply(Op::Constant(Constant(Array::zeros(&[3, 5, 4], F))));
            let y = b.apply(Op::ScatterAdd(zeros, vec![i, v[0]], v[1]));
            vec![lin(b, Linear::sum(&[3, 5, 4], &[0]), y)]
        }),
    ]
}

/// Rules of fast arithmetic.
fn unsafe_ones() -> Vec<Case> {
    vec![
        fast("inverse_functions", &[X], |b, v| {
            let pairs = [
                (Unary::Exp, Unary::Ln),
                (Unary::Ln, Unary::Exp),
                (Unary::Square, Unary::Sqrt),
                (Unary::Sqrt, Unary::Square),
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
        fast("mul_sum_of_multiples", &[X, X], |b, v| {
            let (x, y, z, k) = (times(b, 2.0, v[0]), times(b, 3.0, v[1]), times(b, 7.0, v[0]), c(b, 0.25));
            let (sum, difference, of_used) = (add(b, x, y), sub(b, k, z), add(b, k, v[0]));
            vec![times(b, 0.5, sum), times(b, 3.0, difference), times(b, 3.0, of_used)]
        }),
        fast("contract_lone_axis", &[A, X], |b, v| {
            vec![con(b, Contract::axes(&[3, 4], &[0, 1], &[0], &[0]), v[0], v[1])]
        }),
    ]
}

/// A body from the kinds of its inputs.
fn body(inputs: &[(&[usize], DType)], make: impl FnOnce(&mut Builder, &[NodeId]) -> Vec<NodeId>) -> Program {
    let mut b = Builder::literal();
    let slot = |(shape, dtype): &(&[usize], DType)| Slot {
        name: String::new(),
        shape: Shape::from_slice(shape),
        dtype: *dtype,
    };
    let inputs: Vec<NodeId> = inputs.iter().map(|kind| b.input(slot(kind))).collect();
    let results = make(&mut b, &inputs);
    b.finish(&results, &[])
}

/// The results of a loop with this many of init, xs and captured, in this order.
fn looped(b: &mut Builder, n: usize, parts: [&[NodeId]; 3], body: Program) -> Vec<NodeId> {
    let count = body.outputs().len();
    let [init, xs, captured] = parts.map(<[NodeId]>::to_vec);
    let l = b.apply(Op::Loop(Box::new(Loop { n, reverse: n == 3, body, init, xs, captured })));
    (0..count).map(|k| b.apply(Op::Output(l, k))).collect()
}

const S: (&[usize], DType) = (&[], F);

/// A step that needs what it is given: carry, element and captured value.
fn step() -> Program {
    body(&[S, S, S], |b, v| {
        let y = mul(b, v[0], v[2]);
        let y = add(b, y, v[1]);
        vec![un(b, Unary::Tanh, y), y]
    })
}

fn loops() -> Vec<Case> {
    vec![
        case("loop_never", &[S, (&[0], F), S], |b, v| looped(b, 0, [&v[..1], &v[1..2], &v[2..]], step())),
        case("loop_once", &[S, (&[1], F), S], |b, v| looped(b, 1, [&v[..1], &v[1..2], &v[2..]], step())),
        case("loop_dead_result", &[S, X, S], |b, v| {
            let inner = body(&[S, S, S, S], |b, v| {
                let (y, z) = (un(b, Unary::Sin, v[0]), mul(b, v[1], v[2]));
                vec![y, z, add(b, v[0], v[3]), add(b, v[1], v[2])]
            });
            let out = looped(b, 3, [&[v[0], v[2]], &v[1..2], &v[2..]], inner);
            vec![out[0], out[2]]
        }),
        case("loop_invariant_carry", &[S, X, S], |b, v| {
            let inner = body(&[S, S, S], |b, v| vec![v[0], add(b, v[1], v[2])]);
            // The second result is a carry as well.
            looped(b, 3, [&[v[0], v[2]], &v[1..2], &[]], inner)
        }),
        case("loop_constant_sequence", &[S, S], |b, v| {
            let xs = lin(b, Linear::replicate(&[3], &[]), v[1]);
            let inner = body(&[S, S], |b, v| vec![add(b, v[0], v[1])]);
            looped(b, 3, [&v[..1], &[xs], &[]], inner)
        }),
        case("loop_captured_constant", &[S], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::scalar(2.0))));
            let inner = body(&[S, S], |b, v| {
                let y = mul(b, v[0], v[1]);
                vec![un(b, Unary::Sin, y)]
            });
            looped(b, 3, [&v[..1], &[], &[k]], inner)
        }),
        case("loop_invariant_code", &[S, S], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let y = un(b, Unary::Exp, v[1]);
                vec![mul(b, v[0], y)]
            });
            looped(b, 3, [&v[..1], &[], &v[1..]], inner)
        }),
        case("loop_invariant_result", &[S, S], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let y = un(b, Unary::Exp, v[1]);
                vec![un(b, Unary::Sin, v[0]), y]
            });
            looped(b, 3, [&v[..1], &[], &v[1..]], inner)
        }),
        case("loop_element_output", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| vec![add(b, v[0], v[1]), v[1]]);
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)
        }),
        case("loop_equal_outputs", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let (y, z) = (un(b, Unary::Sin, v[1]), add(b, v[0], v[1]));
                vec![z, y, y]
            });
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)
        }),
    ]
}
