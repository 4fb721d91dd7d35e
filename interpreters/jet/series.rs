//! The Taylor coefficients of elementwise functions, derived from the partials of their rows.
//!
//! Let `y = f(x)` with `x = x_0 + x_1 t + ..`. By the chain rule `y' = p x'`, where `p` is the partial of the row, so
//!
//! ```text
//! k y_k = sum over j = 1 ..= k of  j x_j (.) p_(k - j)
//! ```
//!
//! with the guard of the partial as the product `(.)`. The formula of the partial is recorded once, as a program of `x`
//! and `y`; its operations become series of a system, in which equal operations are one series, and the partials of
//! these operations are recorded in turn. All series advance one coefficient at a time. So the classical recurrences
//! result without further rules: the partial of `tanh` is a function of `tanh`, `sin` leads to `cos` and back to `sin`.
//!
//! Law: a coefficient needs a partial to one order less, so the system is finite, and its cost grows as the square of
//! the order.

use super::super::guarded::{self, Care};
use super::Coefficients;
use crate::array::{Array, with_elem};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::hash::Table;
use crate::ops::{Binary, Guard, Linear, Partial, Unary};
use crate::program::repeat::closed;
use crate::program::{NodeId, Op, Program, Term};
use crate::shape::Shape;

/// The partials of a row: for each operand the guard, and the position of the value among the results of the program,
/// which takes the operands and the result.
struct Row {
    program: Program,
    partials: Vec<(Guard, Option<usize>)>,
}

/// The function of a row whose series follows by the chain rule. Products and quotients have their own rules.
#[derive(Clone, Copy)]
enum ChainedFunction {
    Unary(Unary),
    Binary(Binary),
}

impl ChainedFunction {
    /// The function of an operation, if it is such a row.
    fn of(op: &Op<NodeId>) -> Option<ChainedFunction> {
        if let Op::Unary(op, _) = op {
            return Some(ChainedFunction::Unary(*op));
        }
        let Op::Binary(op, ..) = op else { return None };
        let by_rule = matches!(op, Binary::Mul | Binary::MulNoNan | Binary::Div | Binary::DivNoNan);
        (!by_rule).then_some(ChainedFunction::Binary(*op))
    }
}

/// The row of a function, recorded on scalars.
#[track_caller]
fn row(function: ChainedFunction, dtype: DType) -> Row {
    let variable = || Term::variable(&[], dtype);
    let (variables, partials): (Vec<Term>, Vec<Partial<Term>>) = match function {
        ChainedFunction::Unary(op) => {
            let (x, y) = (variable(), variable());
            let partial = op.derivative(&x, &y);
            (vec![x, y], vec![partial])
        }
        ChainedFunction::Binary(op) => {
            let (x, y, z) = (variable(), variable(), variable());
            let partials = vec![op.partial_left(&x, &y, &z), op.partial_right(&x, &y, &z)];
            (vec![x, y, z], partials)
        }
    };
    let mut values = Vec::new();
    let mut of = |partial: Partial<Term>| {
        // A coefficient of a product is linear in the coefficients of each factor, so the partial is one factor.
        let (guard, factor) = partial.factor();
        let at = factor.map(|value| {
            values.push(value);
            values.len() - 1
        });
        (guard, at)
    };
    let partials = partials.into_iter().map(&mut of).collect();
    // A row is a formula of its operands and its result.
    Row { program: closed(&variables, &values), partials }
}

/// A partial of a series in an operand.
#[derive(Clone, Copy)]
struct Along {
    operand: NodeId,
    guard: Guard,
    /// The series of the partial, unless the guard determines it.
    value: Option<NodeId>,
}

/// The series of one operation.
struct Series<T> {
    op: Op<NodeId>,
    /// Whether a coefficient after the first can be nonzero.
    moves: bool,
    /// The highest coefficient that is needed.
    order: Option<usize>,
    partials: Option<Vec<Along>>,
    /// The coefficients so far.
    known: Coefficients<T>,
    /// `j` times coefficient `j`, where it was needed; for a quotient the reciprocal of the divisor, first.
    weighted: Vec<Option<T>>,
}

/// Series that depend on each other; an operand comes before its users.
struct System<T> {
    shape: Shape,
    dtype: DType,
    /// The care for products of coefficients.
    care: Care,
    all: Vec<Series<T>>,
    of: Table<Op<NodeId>, NodeId>,
}

/// The coefficients of `op`, a row of a table whose operands are numbered in order, up to this order; `first` is its
/// value; products of coefficients have this care for infinite and NaN factors.
#[track_caller]
pub(super) fn elementwise<T: BaseTensor>(
    op: &Op<NodeId>,
    first: &T,
    operands: &[Coefficients<T>],
    order: usize,
    care: Care,
) -> Coefficients<T> {
    let mut system =
        System { shape: first.shape().into(), dtype: first.dtype(), care, all: Vec::new(), of: Table::default() };
    for (k, operand) in operands.iter().enumerate() {
        let id = system.id(Op::Input(k as u64));
        system.all[id as usize].moves = operand[1..].iter().any(Option::is_some);
        system.all[id as usize].known.clone_from(operand);
    }
    let result = system.id(op.clone());
    system.all[result as usize].known.push(Some(first.clone()));
    system.expand(result, order);
    for k in 0..=order {
        for id in 0..system.all.len() {
            let series = &system.all[id];
            if series.order.is_some_and(|order| k <= order) && series.known.len() == k {
                let next = system.coefficient(id as NodeId, k);
                system.all[id].known.push(next);
            }
        }
    }
    system.all.swap_remove(result as usize).known
}

/// The operands of an operation.
fn operands(op: &Op<NodeId>) -> Vec<NodeId> {
    let mut all = Vec::new();
    op.operands(&mut |a| all.push(*a));
    all
}

pub(super) fn add<T: BaseTensor>(sum: Option<T>, term: Option<T>) -> Option<T> {
    match (sum, term) {
        (Some(sum), Some(term)) => Some(sum.accumulate(&term)),
        (one, None) | (None, one) => one,
    }
}

/// The product of a constant and a value.
pub(super) fn scaled<T: BaseTensor>(x: &T, c: f64) -> T {
    if c == 1.0 {
        return x.clone();
    }
    T::constant(Array::full_as(x.shape(), x.dtype(), c)).binary(Binary::Mul, x)
}

/// The sum over all `j` of a product of coefficient `j` of one series and coefficient `k - j` of another.
pub(super) fn convolved<T: BaseTensor>(
    a: &[Option<T>],
    b: &[Option<T>],
    k: usize,
    mut product: impl FnMut(&T, &T) -> T,
) -> Option<T> {
    let mut sum = None;
    for j in 0..=k {
        if let (Some(Some(x)), Some(Some(y))) = (a.get(j), b.get(k - j)) {
            sum = add(sum, Some(product(x, y)));
        }
    }
    sum
}

impl<T: BaseTensor> System<T> {
    /// The series of an operation: an existing one, or a new one.
    fn id(&mut self, op: Op<NodeId>) -> NodeId {
        if let Some(id) = self.of.get(&op) {
            return *id;
        }
        let id = self.all.len() as NodeId;
        let moves = !matches!(op, Op::Discrete(..)) && operands(&op).iter().any(|a| self.all[*a as usize].moves);
        self.of.insert(op.clone(), id);
        self.all.push(Series { op, moves, order: None, partials: None, known: Vec::new(), weighted: Vec::new() });
        id
    }

    /// Adds all series on which a series up to this order depends.
    #[track_caller]
    fn expand(&mut self, id: NodeId, order: usize) {
        let mut work = vec![(id, order)];
        while let Some((id, order)) = work.pop() {
            let series = &mut self.all[id as usize];
            if series.order.is_some_and(|known| known >= order) {
                continue;
            }
            series.order = Some(order);
            let op = series.op.clone();
            work.extend(operands(&op).into_iter().map(|a| (a, order)));
            let Some(function) = ChainedFunction::of(&op) else { continue };
            if order == 0 || !self.all[id as usize].moves {
                continue;
            }
            if self.all[id as usize].partials.is_none() {
                let partials = self.partials(id, function);
                self.all[id as usize].partials = Some(partials);
            }
            let partials = self.all[id as usize].partials.iter().flatten();
            work.extend(partials.filter_map(|along| Some((along.value?, order - 1))));
        }
    }

    /// The partials of a row in the operands that move.
    #[track_caller]
    fn partials(&mut self, id: NodeId, function: ChainedFunction) -> Vec<Along> {
        let op = self.all[id as usize].op.clone();
        let args = operands(&op);
        let row = row(function, self.dtype);
        let mut numbers: Vec<NodeId> = Vec::with_capacity(row.program.nodes().len());
        for node in row.program.nodes() {
            let number = if let Op::Input(k) = &node.op {
                args.get(*k as usize).copied().unwrap_or(id)
            } else {
                self.id(node.op.map(&mut |a| numbers[*a as usize]))
            };
            numbers.push(number);
        }
        let along = |(operand, (guard, at)): (&NodeId, &(Guard, Option<usize>))| Along {
            operand: *operand,
            guard: *guard,
            value: at.map(|at| numbers[row.program.results()[at] as usize]),
        };
        let all = args.iter().zip(&row.partials).map(along);
        all.filter(|along| self.all[along.operand as usize].moves).collect()
    }

    /// Coefficient `k` of a series, from its earlier coefficients and those of its operands.
    fn coefficient(&mut self, id: NodeId, k: usize) -> Option<T> {
        let series = &self.all[id as usize];
        if k > 0 && !series.moves {
            return None;
        }
        let known = |a: &NodeId| &self.all[*a as usize].known;
        let value = |a: &NodeId| known(a)[0].as_ref().expect("every series has a first coefficient");
        let op = &series.op;
        if let Op::Constant(c) = op {
            let repeated = |c: &Array| with_elem!(c.dtype(), E => c.splat::<E>().map(|x| Array::full(&self.shape, x)));
            return Some(T::constant(repeated(&c.0).expect("a constant of a formula is a number")));
        }
        if let Op::Binary(op @ (Binary::Mul | Binary::MulNoNan), a, b) = op {
            let is_derivative = k > 0 && *op == Binary::Mul;
            return convolved(known(a), known(b), k, |x, y| match is_derivative {
                true => guarded::product(x, y, self.care),
                false => x.binary(*op, y),
            });
        }
        if let Op::Select([mask, a, b]) = op {
            return select(value(mask), &known(a)[k], &known(b)[k]);
        }
        if let Op::Linear(op, a) = op {
            let Linear::Cast { from, into, .. } = **op else { unreachable!("a formula of a row is elementwise") };
            return known(a)[k].as_ref().map(|x| x.linear(&Linear::cast(&self.shape, from, into)));
        }
        if k == 0 || matches!(op, Op::Discrete(..)) {
            return op.single().map(|op| op.applied(&mut |a| value(a).clone()));
        }
        if let Op::Binary(op @ (Binary::Div | Binary::DivNoNan), a, b) = op {
            // What a guarded quotient of 0 hides is not in its coefficients either.
            let times = if *op == Binary::Div { Binary::Mul } else { Binary::MulNoNan };
            let (a, b) = (*a, *b);
            return self.quotient(id, (a, b), times, k);
        }
        self.chain(id, k)
    }

    /// Coefficient `k > 0` of `z = x / y`. Since `z y = x`, it is `(x_k - sum_j y_j z_(k - j)) / y_0` with `j` from 1
    /// to `k`, and 0 where that numerator is 0.
    fn quotient(&mut self, id: NodeId, (x, y): (NodeId, NodeId), times: Binary, k: usize) -> Option<T> {
        let known = |a: NodeId| &self.all[a as usize].known[..];
        let product = convolved(&known(y)[1..], known(id), k - 1, |y, z| {
            if times == Binary::MulNoNan { y.binary(times, z) } else { guarded::product(y, z, self.care) }
        });
        let rest = match (&known(x)[k], product) {
            (Some(x), Some(product)) => x.binary(Binary::Sub, &product),
            (Some(x), None) => x.clone(),
            (None, Some(product)) => product.unary(Unary::Neg),
            (None, None) => return None,
        };
        let y = known(y)[0].clone().expect("every series has a first coefficient");
        let weighted = &mut self.all[id as usize].weighted;
        if weighted.is_empty() {
            weighted.push(Some(y.unary(Unary::Recip)));
        }
        weighted[0].as_ref().map(|inverse| inverse.binary(Binary::MulNoNan, &rest))
    }

    /// Coefficient `k > 0` of a row, by the chain rule.
    fn chain(&mut self, id: NodeId, k: usize) -> Option<T> {
        let partials = self.all[id as usize].partials.clone().unwrap_or_default();
        let care = self.care;
        let (mut whole, mut sum) = (None, None);
        for Along { operand, guard, value } in partials {
            let Some(value) = value else {
                // The partial is 1 or -1.
                let x = self.all[operand as usize].known[k].clone();
                whole = add(whole, x.map(|x| guard.times(None, &x)));
                continue;
            };
            for j in 1..=k {
                if self.all[value as usize].known[k - j].is_none() {
                    continue;
                }
                if let Some(x) = self.weighted(operand, j) {
                    let partial = self.all[value as usize].known[k - j].as_ref();
                    sum = add(sum, Some(guarded::times(guard, partial, &x, care)));
                }
            }
        }
        add(whole, sum.map(|sum| scaled(&sum, 1.0 / k as f64)))
    }

    /// `j` times coefficient `j`.
    fn weighted(&mut self, id: NodeId, j: usize) -> Option<T> {
        let series = &mut self.all[id as usize];
        let x = series.known[j].as_ref()?;
        if j == 1 {
            return Some(x.clone());
        }
        if series.weighted.len() <= j {
            series.weighted.resize(j + 1, None);
        }
        Some(series.weighted[j].get_or_insert_with(|| scaled(x, j as f64)).clone())
    }
}

/// A choice between two coefficients.
pub(super) fn select<T: BaseTensor>(mask: &T, then: &Option<T>, otherwise: &Option<T>) -> Option<T> {
    let like = then.as_ref().or(otherwise.as_ref())?;
    let zero = T::zeros(like.shape(), like.dtype());
    Some(T::select(mask, then.as_ref().unwrap_or(&zero), otherwise.as_ref().unwrap_or(&zero)))
}
