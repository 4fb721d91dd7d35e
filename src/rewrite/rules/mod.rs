//! The tables of rewrite rules: each replaces an operation by a simpler equal one, or simplifies a whole loop.
//!
//! Laws: each rule states an equation that is true up to rounding for all values, including infinities, NaN, and the
//! signs of zeros that an operation sees ([`signs`](super::signs)); so `x * 0` and `1 / (x + 0)` stay. Only the rules
//! of [`fast`] assume more. There are two exceptions: the law of padded values in [`contract`], and replicated divisors
//! that are infinite or have no reciprocal, in [`product`]. A rule keeps derivatives, too. A rule matches an operation,
//! its operands and their operands, and never makes a program more expensive: an operation that the rule bypasses
//! either costs nothing to compute again or has no other use. If a rule moves a factor across a sum or a product, an
//! intermediate result may change by that factor, so only [`moderate`] factors move; near the ends of the range of
//! floats the change counts as rounding. The order of sums and products counts as rounding, too, see [`order`]: a
//! result that is not finite stays so, but NaN and infinities may turn into each other.
//!
//! A rule is a function in the table of its family, written as an [`equation`] of operations if patterns and conditions
//! suffice, and otherwise by hand. Adding an operation means adding its rules to the table of its family. The rules of
//! whole loops are in [`loops`].

#[macro_use]
mod equation;

mod adjacent;
mod choice;
mod concat;
mod contract;
mod discrete;
mod fast;
mod gather;
mod indices;
mod known;
mod linear;
pub(crate) mod loops;
mod masked;
mod order;
pub(crate) mod orders;
mod placed;
mod product;
mod reduce;
mod regroup;
mod scatter;
mod squares;
mod state;
mod sum;
mod unary;
pub(crate) mod views;

use std::fmt;

use smallvec::SmallVec;

use super::{Builder, Constant, NodeId, Op, Single};
use crate::array::{Array, with_elem};
use crate::dtype::DType;
use crate::ops::{Binary, Linear, Unary};
use crate::program::Assumed;
use crate::shape::{Shape, size};

/// A rule as a function.
#[derive(Clone, Copy)]
enum Apply {
    /// The function returns the number of a simpler operation that equals the given one, whose shape and element type
    /// are known; `None` if the rule does not apply.
    Operation(fn(&mut Builder, &Op<NodeId>, &Shape, DType) -> Option<NodeId>),
    /// The function simplifies a loop; see [`loops`].
    Loop(loops::LoopRule),
}

/// A rule: of one operation, or of a whole loop.
///
/// ```
/// use polygrad::passes::{Rule, rules};
/// let of_loops: Vec<&Rule> = rules().filter(|rule| rule.is_of_loops()).collect();
/// assert!(of_loops.len() > 5 && of_loops.iter().all(|rule| !rule.is_fast()));
/// let sum = rules().find(|rule| rule.name() == "sum_of_product").expect("a rule");
/// assert!(!sum.is_of_loops() && !sum.is_fast() && rules().any(|rule| rule.is_fast()));
/// ```
#[derive(Clone, Copy)]
pub struct Rule {
    name: &'static str,
    apply: Apply,
}

impl Rule {
    /// The name of the rule in logs: the name of its function.
    ///
    /// Example: [`Rule`].
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the rule assumes that all numbers are finite and no intermediate result is out of range: such a rule
    /// applies only with [`fast_math`](crate::passes::Options::fast_math).
    ///
    /// Example: [`Rule`].
    pub fn is_fast(&self) -> bool {
        FAST.iter().any(|table| table.iter().any(|rule| rule.name == self.name))
    }

    /// Whether the rule is one of whole loops, not of one operation.
    ///
    /// Example: [`Rule`].
    pub fn is_of_loops(&self) -> bool {
        matches!(self.apply, Apply::Loop(_))
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The rows of a table: rules by the names of their functions.
macro_rules! table {
    ($($rule:path),* $(,)?) => {
        &[$( $crate::rewrite::rules::Rule {
            name: $crate::rewrite::rules::last(stringify!($rule)),
            apply: $crate::rewrite::rules::Apply::Operation($rule),
        }, )*]
    };
}
use table;

/// The name of a function without its path.
const fn last(path: &str) -> &str {
    let bytes = path.as_bytes();
    let mut start = bytes.len();
    while start > 0 && bytes[start - 1] != b':' && bytes[start - 1] != b' ' {
        start -= 1;
    }
    path.split_at(start).1
}

/// Rules for every operation, tried first.
const EVERY: &[Rule] = table![empty, fold, indices::decided, discrete::stopped_again];

/// Every table.
const TABLES: &[&[Rule]] = &[
    EVERY,
    unary::RULES,
    unary::NEG,
    sum::ADD,
    sum::SUB,
    product::MUL,
    product::DIV,
    product::POW,
    product::POW_LESS_ONE,
    product::MUL_NO_NAN,
    product::DIV_NO_NAN,
    choice::EXTREMA,
    choice::OTHER,
    choice::SELECT,
    discrete::RULES,
    linear::RULES,
    contract::RULES,
    reduce::RULES,
    gather::RULES,
    scatter::RULES,
    concat::RULES,
    loops::BEFORE,
    loops::AFTER,
];

/// The tables of rules that assume finite numbers.
const FAST: &[&[Rule]] = &[fast::UNARY, fast::BINARY, fast::LINEAR, fast::CONTRACT];

/// Every rule, of operations and of loops, each once, in the order of the tables.
///
/// Example: [`Rule`].
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    TABLES.iter().chain(FAST).flat_map(|table| table.iter())
}

/// The rules of binary operations that have a table of their own.
const BINARY: &[(Binary, &[Rule])] = &[
    (Binary::Add, sum::ADD),
    (Binary::Sub, sum::SUB),
    (Binary::Mul, product::MUL),
    (Binary::Div, product::DIV),
    (Binary::Pow, product::POW),
    (Binary::PowLessOne, product::POW_LESS_ONE),
    (Binary::MulNoNan, product::MUL_NO_NAN),
    (Binary::DivNoNan, product::DIV_NO_NAN),
    (Binary::Min, choice::EXTREMA),
    (Binary::Max, choice::EXTREMA),
];

/// The rules of an operation.
fn family(op: &Op<NodeId>) -> &'static [Rule] {
    let Some(op) = op.single() else { return &[] };
    match op {
        Single::Unary(Unary::Neg, _) => unary::NEG,
        Single::Unary(..) => unary::RULES,
        Single::Binary(op, ..) => BINARY.iter().find(|(row, _)| *row == op).map_or(choice::OTHER, |(_, rules)| rules),
        Single::Discrete(..) => discrete::RULES,
        Single::Select(_) => choice::SELECT,
        Single::Linear(..) => linear::RULES,
        Single::Contract(..) => contract::RULES,
        Single::Reduce(..) => reduce::RULES,
        Single::Gather(..) => gather::RULES,
        Single::ScatterAdd(..) => scatter::RULES,
        Single::Concat(..) => concat::RULES,
    }
}

/// The rules of an operation that assume finite numbers and no overflow.
fn fast_family(op: &Op<NodeId>) -> &'static [Rule] {
    if let Op::Unary(..) = op {
        fast::UNARY
    } else if let Op::Binary(..) = op {
        fast::BINARY
    } else if let Op::Linear(..) = op {
        fast::LINEAR
    } else if let Op::Contract(..) = op {
        fast::CONTRACT
    } else {
        &[]
    }
}

/// The value of the first rule that applies to `op`: an existing or simpler operation equal to it.
pub(crate) fn simplify(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let fast = match b.assumes() {
        Assumed { fast: true, .. } => fast_family(op),
        Assumed { basis: true, .. } if matches!(op, Op::Contract(..)) => fast::BASIS,
        Assumed { .. } => &[],
    };
    for rule in EVERY.iter().chain(family(op)).chain(fast) {
        if let Apply::Operation(apply) = rule.apply
            && let Some(id) = apply(b, op, shape, dtype)
        {
            b.note(rule.name, id);
            return Some(id);
        }
    }
    None
}

// ---- facts about operands ----

/// The array of a constant.
fn constant(b: &Builder, id: NodeId) -> Option<&Array> {
    b.node(id).op.as_constant().map(|c| &c.0)
}

/// The float that all elements of a constant are equal to.
fn number(b: &Builder, id: NodeId) -> Option<f64> {
    let c = constant(b, id)?;
    c.splat::<f64>().or_else(|| c.splat::<f32>().map(f64::from))
}

/// The integer that all elements of a constant are equal to.
fn integer(b: &Builder, id: NodeId) -> Option<i64> {
    constant(b, id)?.splat::<i64>()
}

/// A literal in the pattern of a rule: a float or a truth value.
trait Written: PartialEq + Sized {
    /// The value that all elements of a constant are equal to.
    fn of(b: &Builder, id: NodeId) -> Option<Self>;
}

impl Written for f64 {
    fn of(b: &Builder, id: NodeId) -> Option<f64> {
        number(b, id)
    }
}

impl Written for bool {
    fn of(b: &Builder, id: NodeId) -> Option<bool> {
        constant(b, id)?.splat()
    }
}

/// Whether a value is a uniform constant equal to `x`.
fn is<E: Written>(b: &Builder, id: NodeId, x: E) -> bool {
    E::of(b, id) == Some(x)
}

/// The operand `x` of a negation `-x`.
fn negated(b: &Builder, id: NodeId) -> Option<NodeId> {
    if let Op::Unary(Unary::Neg, x) = b.node(id).op { Some(x) } else { None }
}

/// The operands `c` and `x` of a product `c * x` with a uniform constant `c`.
fn scaled(b: &Builder, id: NodeId) -> Option<(f64, NodeId)> {
    if let Op::Binary(Binary::Mul, c, x) = b.node(id).op { number(b, c).map(|c| (c, x)) } else { None }
}

/// Whether a factor may move across sums and products: see the [laws](self).
fn moderate(c: f64) -> bool {
    (1.0 / 65536.0..=65536.0).contains(&c.abs())
}

/// Whether multiplication with a factor keeps the signs of zeros, or no operation sees them.
fn keeps_sign(b: &Builder, c: f64) -> bool {
    c > 0.0 || b.is_sign_unseen()
}

/// The number of elements of a value.
fn elements(b: &Builder, id: NodeId) -> usize {
    size(&b.node(id).shape)
}

/// Whether an elementwise operation maps zero operands to +0, or to any zero if no operation sees its sign; operands
/// that are uniform constants keep their values. Then a view of the result that is out of bounds somewhere may be
/// replaced by views of the operands.
fn keeps_zero(b: &Builder, op: &Op<NodeId>) -> bool {
    let mut operands: SmallVec<[Array; 3]> = SmallVec::new();
    op.operands(&mut |a| {
        let zero = || Array::zeros(&[], b.node(*a).dtype);
        let number = |c: &Array| with_elem!(c.dtype(), E => c.splat::<E>().map(|x| Array::full(&[], x)));
        operands.push(constant(b, *a).and_then(number).unwrap_or_else(zero));
    });
    let mut op = op.clone();
    if let Op::Linear(cast, _) = &mut op {
        let Linear::Cast { from, into, .. } = **cast else { return false };
        **cast = Linear::cast(&[], from, into);
    }
    evaluated(&op, &operands).is_some_and(|value| {
        let is_number = |x: f64| value.splat::<f64>() == Some(x) || value.splat::<f32>().map(f64::from) == Some(x);
        Constant(value.clone()).is_zero() || (b.is_sign_unseen() && is_number(0.0))
    })
}

// ---- values that rules construct ----

/// A uniform constant of a float type.
fn full(b: &mut Builder, shape: &Shape, dtype: DType, x: f64) -> NodeId {
    b.cons(Op::Constant(Constant(Array::full_as(shape, dtype, x))), shape.clone(), dtype)
}

/// Zeros of any element type.
fn zeros(b: &mut Builder, shape: &Shape, dtype: DType) -> NodeId {
    b.cons(Op::Constant(Constant(Array::zeros(shape, dtype))), shape.clone(), dtype)
}

/// The uniform constant of another shape with the element of a uniform constant.
fn resized(b: &mut Builder, like: NodeId, shape: &[usize]) -> Option<NodeId> {
    let c = constant(b, like)?;
    let dtype = c.dtype();
    let array = with_elem!(dtype, E => Array::full::<E>(shape, c.splat::<E>()?));
    Some(b.cons(Op::Constant(Constant(array)), Shape::from_slice(shape), dtype))
}

/// Adds an operation whose result has the shape and element type of an existing value.
fn like(b: &mut Builder, op: Op<NodeId>, id: NodeId) -> NodeId {
    let (shape, dtype) = (b.node(id).shape.clone(), b.node(id).dtype);
    b.add(op, shape, dtype)
}

/// Adds the product `c * x`.
fn multiple(b: &mut Builder, c: f64, x: NodeId) -> NodeId {
    let (shape, dtype) = (b.node(x).shape.clone(), b.node(x).dtype);
    let c = full(b, &shape, dtype, c);
    b.add(Op::Binary(Binary::Mul, c, x), shape, dtype)
}

/// Adds a linear operation.
fn linearly(b: &mut Builder, op: Linear, x: NodeId) -> NodeId {
    let dtype = if let Linear::Cast { into, .. } = &op { *into } else { b.node(x).dtype };
    let shape = Shape::from_slice(op.output_shape());
    b.add(Op::Linear(Box::new(op), x), shape, dtype)
}

// ---- constants ----

/// An operation whose result has no elements is a constant
fn empty(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    if size(shape) > 0 || matches!(op, Op::Input(_) | Op::Constant(_) | Op::Loop(_) | Op::Custom(..) | Op::Call(..)) {
        return None;
    }
    Some(zeros(b, shape, dtype))
}

/// The largest number of elements of a result for which constant folding computes a non-uniform constant.
const FOLDED: usize = 64;

/// The largest number of steps of an operation that constant folding computes for a uniform constant, where it is not
/// known that the operation takes one step for all elements.
const STEPS: usize = 1 << 16;

/// Whether an operation on uniform constants is computed in few steps, whatever the sizes are: in one for all elements,
/// or in one for each of few.
fn is_quick(op: &Op<NodeId>, operands: &[Array]) -> bool {
    let Op::Linear(op, _) = op else { return true };
    let few = |shape: &[usize]| size(shape) <= STEPS;
    Constant(operands[0].clone()).is_zero()
        || match &**op {
            Linear::Affine { from, into } => {
                few(from.shape()) && few(into.source()) || from.is_total() && into.covers_by_axes()
            }
            Linear::Reshape { .. } | Linear::Cast { .. } => true,
            Linear::Fourier { shape, .. } | Linear::PrefixSum { shape, .. } => few(shape),
        }
}

/// Whether an operation with a small result reads few elements of its operands, whatever their sizes.
fn reads_little(op: &Op<NodeId>, operands: &[Array]) -> bool {
    let few = |operands: &[Array]| operands.iter().all(|c| c.size() <= FOLDED);
    if let Op::Linear(op, _) = op {
        return match &**op {
            Linear::Affine { from, .. } => size(from.shape()) <= FOLDED,
            Linear::Reshape { .. } | Linear::Cast { .. } => true,
            Linear::Fourier { shape, .. } | Linear::PrefixSum { shape, .. } => size(shape) <= FOLDED,
        };
    }
    // A gather reads at most as many elements of the array as the result has.
    if let Op::Gather(..) = op {
        return few(&operands[1..]);
    }
    // Small factors may repeat their elements over a large iteration space.
    if let Op::Contract(op, ..) = op {
        return size(op.a.shape()) <= STEPS && few(operands);
    }
    matches!(op, Op::Concat(..)) || (op.single().is_some() && few(operands))
}

/// An operation on constants is a constant, if the result is uniform and takes few steps, or small and computed from few
/// elements: a row of a large array, but not its sum
fn fold(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let mut operands: SmallVec<[Array; 3]> = SmallVec::new();
    let mut known = true;
    op.operands(&mut |a| known &= constant(b, *a).is_some());
    if !known {
        return None;
    }
    op.operands(&mut |a| operands.extend(constant(b, *a).cloned()));
    let uniform = matches!(op, Op::Unary(..) | Op::Binary(..) | Op::Select(_) | Op::Linear(..) | Op::Reduce(..));
    let uniform = uniform && operands.iter().all(of_one_value) && is_quick(op, &operands);
    let small = size(shape) <= FOLDED && reads_little(op, &operands);
    if operands.is_empty() || !(small || uniform) {
        return None;
    }
    let value = evaluated(op, &operands)?;
    (small || of_one_value(&value)).then(|| b.cons(Op::Constant(Constant(value)), shape.clone(), dtype))
}

/// The result of an operation on arrays; `None` for operations without operands or with a program inside.
fn evaluated(op: &Op<NodeId>, operands: &[Array]) -> Option<Array> {
    let mut operands = operands.iter().cloned();
    Some(op.single()?.applied(&mut |_| operands.next().expect("a value for each operand")))
}

/// Whether a constant is stored as one element, repeated.
pub(crate) fn of_one_value(c: &Array) -> bool {
    with_elem!(c.dtype(), E => c.splat::<E>().is_some())
}
