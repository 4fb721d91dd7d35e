//! Candidates: the derivative program for each strategy.
//!
//! Law: all candidates give the same results, up to rounding.

use super::{DenseDerivative, DerivativeLayout, Differentiation};
use crate::ad::differentiate::basis::{matrix_jacobian, tensor_jacobian};
use crate::ad::differentiate::inputs::{closed, split};
use crate::ad::differentiate::strategy::{Mode, Strategy};
use crate::ad::differentiate::sweep::{dual, jvp};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::interpreters::adval::{ADVal, Fault, Sweep};
use crate::ops::{Discrete, Linear};
use crate::passes::multi_tangent::{LaneValue, multi_tangent};
use crate::program::{Builder, Constant, NodeId, Op, Program, Slot, Term, interpret};
use crate::shape::{Shape, size};
use crate::tree::ravel::{ravel, unravel};

impl DerivativeLayout {
    /// The derivatives of the results of a sweep in its inputs, whose primals are `x`.
    ///
    /// # Errors
    /// When a result depends on a differentiated value that is not an input.
    fn of(self, sweep: &Sweep<Term>, y: &[ADVal<Term>], x: &[Term], mode: Mode) -> Result<Vec<Term>, Fault> {
        match (self, mode) {
            (DerivativeLayout::Tensor, _) => Ok(vec![tensor_jacobian(sweep, &y[0], x[0].shape(), mode)?]),
            (DerivativeLayout::Matrix, _) => Ok(vec![matrix_jacobian(sweep, y, x, mode)?]),
            (DerivativeLayout::Leaves, Mode::Reverse) => {
                sweep.try_pull(y, vec![Term::constant(Array::ones(&[], y[0].dtype()))])
            }
            (DerivativeLayout::Leaves, Mode::Forward) => {
                let row = matrix_jacobian(sweep, y, x, mode)?;
                Ok(leaves(x, &row.linear(&Linear::reshape(row.shape(), &[row.shape()[1]]))))
            }
        }
    }
}

impl DenseDerivative {
    /// The values, if they are asked for, and the derivatives, from the results of a sweep.
    ///
    /// # Errors
    /// When a result depends on a differentiated value that is not an input.
    pub(super) fn results(
        self,
        sweep: &Sweep<Term>,
        y: &[ADVal<Term>],
        x: &[Term],
        mode: Mode,
    ) -> Result<Vec<Term>, Fault> {
        let values = y.iter().filter(|_| self.value).map(|y| y.primal().clone());
        Ok(values.chain(self.layout.of(sweep, y, x, mode)?).collect())
    }
}

/// The elements of a vector in leaves like `x`; zeros for integers and masks.
fn leaves(x: &[Term], vector: &Term) -> Vec<Term> {
    let zeros: Vec<Term> = x.iter().map(|x| Term::zeros(x.shape(), x.dtype())).collect();
    unravel(&zeros, vector)
}

impl Differentiation<'_> {
    /// The derivative program for a strategy.
    ///
    /// # Errors
    /// When the derivative does not exist.
    pub(super) fn by(&self, strategy: Strategy) -> Result<Program, Fault> {
        let (x, data) = split(self.program, self.count);
        let results = match strategy {
            // Without inputs, tangents do not exist.
            Strategy::Lanes if self.inputs() > 0 => self.by_lanes(&x, &data),
            Strategy::Stacks if self.inputs() > 0 => self.by_stacks(&x, &data),
            Strategy::Pull | Strategy::Push | Strategy::Lanes | Strategy::Stacks => {
                let (sweep, y) = dual(self.program, &[&x[..], &data].concat(), self.count);
                self.derivative.results(&sweep, &y, &x, strategy.mode())?
            }
        };
        Ok(closed(self.program, &[], "", &[x, Vec::new(), data], &results))
    }

    /// Values and derivatives by dual numbers, with the tangents for all basis vectors side by side.
    fn by_lanes(&self, x: &[Term], data: &[Term]) -> Vec<Term> {
        let (n, outputs) = (self.inputs(), self.program.outputs());
        let (program, live) = self.in_lanes(x);
        let mut made = interpret(&program, [x, data].concat()).into_iter();
        let mut results: Vec<Term> = made.by_ref().take(outputs.len()).filter(|_| self.derivative.value).collect();
        let mut tangent = |(slot, live): (&Slot, &bool)| {
            let known = live.then(|| made.next()).flatten();
            known.unwrap_or_else(|| Term::constant(Array::zeros(&slot.shape, slot.dtype)))
        };
        let mut row = |k: usize| {
            let y_dot: Vec<Term> = outputs.iter().zip(&live[k * outputs.len()..]).map(&mut tangent).collect();
            let flat = match self.derivative.layout {
                DerivativeLayout::Tensor => y_dot[0].clone(),
                DerivativeLayout::Matrix | DerivativeLayout::Leaves => ravel(&y_dot),
            };
            flat.linear(&Linear::reshape(flat.shape(), &[1, size(flat.shape())]))
        };
        let rows: Vec<Term> = (0..n).map(&mut row).collect();
        results.extend(self.of_columns(x, &Term::concat(0, &rows)));
        results
    }

    /// Values and derivatives by dual numbers, with the tangents for all basis vectors as stacks.
    fn by_stacks(&self, x: &[Term], data: &[Term]) -> Vec<Term> {
        let (n, outputs, jvp) = (self.inputs(), self.program.outputs().len(), jvp(self.program, self.count));
        let positions = Term::discrete(&Discrete::Iota { n }, &[]);
        let dtype = if self.derivative.layout == DerivativeLayout::Tensor { x[0].dtype() } else { DType::F64 };
        let one = Term::constant(Array::ones(&[], dtype));
        // A trip for each basis vector, in which the values are the same: vectorized, they are computed once.
        let (_, stacks) = Term::map_accum(n, false, Vec::new(), &[positions], &mut |_, position| {
            let x_dot = Term::zeros(&[n], dtype).scatter_add(position, &one);
            let x_dot = match self.derivative.layout {
                DerivativeLayout::Tensor => vec![x_dot.linear(&Linear::reshape(&[n], x[0].shape()))],
                DerivativeLayout::Matrix | DerivativeLayout::Leaves => unravel(x, &x_dot),
            };
            let mut y = interpret(&jvp, [x, &x_dot, data].concat());
            let y_dot = y.split_off(outputs);
            y.push(match self.derivative.layout {
                DerivativeLayout::Tensor => {
                    y_dot[0].linear(&Linear::reshape(y_dot[0].shape(), &[size(y_dot[0].shape())]))
                }
                DerivativeLayout::Matrix | DerivativeLayout::Leaves => ravel(&y_dot),
            });
            (Vec::new(), y)
        });
        let first = |stack: &Term| {
            let row = stack.linear(&Linear::slice(stack.shape(), 0, 0, 1, 1));
            row.linear(&Linear::reshape(row.shape(), &stack.shape()[1..]))
        };
        let values = stacks[..outputs].iter().filter(|_| self.derivative.value).map(first);
        values.chain(self.of_columns(x, &stacks[outputs])).collect()
    }

    /// The derivatives in their form, from the tangents for each basis vector as a row.
    fn of_columns(&self, x: &[Term], columns: &Term) -> Vec<Term> {
        let (n, m) = (columns.shape()[0], columns.shape()[1]);
        let matrix = columns.linear(&Linear::permute(&[n, m], &[1, 0]));
        match self.derivative.layout {
            DerivativeLayout::Tensor => {
                let both: Shape = self.program.outputs()[0].shape.iter().chain(x[0].shape()).copied().collect();
                vec![matrix.linear(&Linear::reshape(&[m, n], &both))]
            }
            DerivativeLayout::Matrix => vec![matrix],
            DerivativeLayout::Leaves => leaves(x, &matrix.linear(&Linear::reshape(&[m, n], &[n]))),
        }
    }

    /// The program from arguments and data to values and to the tangents for each basis vector, without the tangents
    /// that are known to be zero; and for each tangent, whether it is a result.
    fn in_lanes(&self, x: &[Term]) -> (Program, Vec<bool>) {
        let (n, jvp) = (self.inputs(), jvp(self.program, self.count));
        let mut b = Builder::new();
        let known = b.inputs(self.program.inputs(), &[]);
        let (x_ids, data) = known.split_at(self.count);
        let mut inputs: Vec<LaneValue> = x_ids.iter().copied().map(LaneValue::Same).collect();
        let mut start = 0;
        for leaf in x {
            let count = if leaf.dtype().is_float() { size(leaf.shape()) } else { 0 };
            let lane = |k: usize| (start..start + count).contains(&k).then(|| one_hot(&mut b, leaf, k - start));
            inputs.push(LaneValue::Each((0..n).map(lane).collect()));
            start += count;
        }
        inputs.extend(data.iter().copied().map(LaneValue::Same));
        let results = multi_tangent(&mut b, n, &jvp, inputs);
        let (y, y_dot) = results.split_at(self.program.outputs().len());
        let tangents: Vec<Option<NodeId>> = (0..n).flat_map(|k| y_dot.iter().map(move |y| y.lane(k))).collect();
        let live = tangents.iter().map(Option::is_some).collect();
        let ids: Vec<NodeId> = y.iter().filter_map(|y| y.lane(0)).chain(tangents.into_iter().flatten()).collect();
        (b.finish(&ids, &[]), live)
    }
}

/// The constant of the shape of `x` that is 1 at one element and 0 at the others.
fn one_hot(b: &mut Builder, x: &Term, at: usize) -> NodeId {
    let mut elements = vec![0.0; size(x.shape())];
    elements[at] = 1.0;
    let array = match x.dtype() {
        DType::F32 => Array::new(x.shape(), elements.iter().map(|x| *x as f32).collect()),
        DType::F64 | DType::I64 | DType::Bool => Array::new(x.shape(), elements),
    };
    b.apply(Op::Constant(Constant(array)))
}
