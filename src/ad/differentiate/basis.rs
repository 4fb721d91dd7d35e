//! Jacobians from products with all basis vectors: a loop of one sweep, forward or reverse.
//!
//! Law: both modes give the same Jacobian, up to rounding. One run of the program serves all rows or columns: the
//! delta term is evaluated in the loop.

use super::strategy::Mode;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::interpreters::adval::{ADVal, Fault, Sweep};
use crate::ops::{Discrete, Linear};
use crate::program::Term;
use crate::shape::{Shape, size};
use crate::tree::ravel::{ravel, raveled_size, unravel};

/// The derivatives of every element of `y` in every element of the only input of the sweep, of shape `x`.
pub(super) fn tensor_jacobian(sweep: &Sweep<Term>, y: &ADVal<Term>, x: &[usize], mode: Mode) -> Result<Term, Fault> {
    let (shape, dtype) = (Shape::from_slice(y.shape()), y.dtype());
    let both: Shape = shape.iter().chain(x).copied().collect();
    match mode {
        Mode::Reverse => {
            let rows = each_basis_vector(&shape, dtype, &|ct| sweep.try_pull(std::slice::from_ref(y), vec![ct]))?;
            Ok(rows.linear(&Linear::reshape(rows.shape(), &both)))
        }
        Mode::Forward => {
            let columns = each_basis_vector(x, dtype, &|x_dot| sweep.try_push(std::slice::from_ref(y), vec![x_dot]))?;
            let (m, n) = (size(&shape), size(x));
            let flat = columns.linear(&Linear::reshape(columns.shape(), &[n, m]));
            let rows = flat.linear(&Linear::permute(&[n, m], &[1, 0]));
            Ok(rows.linear(&Linear::reshape(&[m, n], &both)))
        }
    }
}

/// The Jacobian matrix of the raveled results in the raveled inputs of the sweep, whose primals are `x`.
pub(super) fn matrix_jacobian(sweep: &Sweep<Term>, y: &[ADVal<Term>], x: &[Term], mode: Mode) -> Result<Term, Fault> {
    let primals: Vec<Term> = y.iter().map(|y| y.primal().clone()).collect();
    let (m, n) = (raveled_size(&primals), raveled_size(x));
    match mode {
        Mode::Reverse => {
            each_basis_vector(&[m], DType::F64, &|ct| Ok(vec![ravel(&sweep.try_pull(y, unravel(&primals, &ct))?)]))
        }
        Mode::Forward => {
            let column = |x_dot: Term| Ok(vec![ravel(&sweep.try_push(y, unravel(x, &x_dot))?)]);
            let columns = each_basis_vector(&[n], DType::F64, &column)?;
            Ok(columns.linear(&Linear::permute(&[n, m], &[1, 0])))
        }
    }
}

/// The first result of `f` for each basis vector of a shape, stacked.
fn each_basis_vector(
    shape: &[usize],
    dtype: DType,
    f: &dyn Fn(Term) -> Result<Vec<Term>, Fault>,
) -> Result<Term, Fault> {
    let n = size(shape);
    let positions = Term::discrete(&Discrete::Iota { n }, &[]);
    let one = Term::constant(Array::ones(&[], dtype));
    let mut escape = None;
    let (_, mut stacks) = Term::map_accum(n, false, Vec::new(), &[positions], &mut |_, position| {
        let flat = Term::zeros(&[n], dtype).scatter_add(position, &one);
        let result = match f(flat.linear(&Linear::reshape(&[n], shape))) {
            Ok(mut results) => results.swap_remove(0),
            Err(e) => {
                escape = Some(e);
                flat
            }
        };
        (Vec::new(), vec![result])
    });
    match escape {
        Some(fault) => Err(fault),
        None => Ok(stacks.remove(0)),
    }
}
