//! Recording: the program, the key and the template of results, from which all constructors make a [`Function`].

use super::static_arguments::Fixed;
use super::structure::{Assemble, key, paths, variables};
use super::{Function, FunctionParts};
use crate::ad::differentiate::record::OfBoth;
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::dtype::DType;
use crate::program::{Program, Term};
use crate::tensor::Tensor;
use crate::tree::Tree;

/// A function recorded for some arguments and data.
pub(in crate::ad) struct RecordedFunction<Z> {
    pub(in crate::ad) program: Program,
    /// The number of inputs that are arguments.
    pub(in crate::ad) count: usize,
    pub(super) results: Z,
}

/// Records `f` for arguments and data like these: of these shapes, element types and structure, whatever the elements.
#[track_caller]
pub(in crate::ad) fn record<P, Q, Z>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
    x: &P,
    data: &Q,
) -> RecordedFunction<Z>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Z: Tree<Term>,
{
    record_by(&f, x, data, &Fixed::default())
}

/// Records `f` for arguments and data like these, with the fixed leaves of the data as constants of the program.
#[track_caller]
pub(in crate::ad) fn record_at<P, Q, Z>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
    x: &P,
    data: &Q,
    fixed: &Fixed,
) -> RecordedFunction<Z>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Z: Tree<Term>,
{
    record_by(&f, x, data, fixed)
}

/// [`record_at`], compiled once for the types of arguments and results.
#[track_caller]
fn record_by<P, Q, Z>(f: OfBoth<'_, Array, Term, P, Q, Z>, x: &P, data: &Q, fixed: &Fixed) -> RecordedFunction<Z>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Z: Tree<Term>,
{
    let (leaves, constants) = (variables(&x.leaves()), fixed.terms(&data.leaves()));
    let results = f(&x.with_leaves(leaves.clone()), &data.with_leaves(constants.clone()));
    let (mut names, count) = (paths(x, "x"), leaves.len());
    names.extend(fixed.others(paths(data, "data")));
    let inputs = [leaves, fixed.others(constants)].concat();
    RecordedFunction { program: closed(&inputs, &results.leaves(), &names), count, results }
}

// Helpers that are not generic in the type of a function are compiled once, not for each function of a user's program.

#[track_caller]
fn closed(inputs: &[Term], results: &[Term], names: &[String]) -> Program {
    match Term::program(inputs, results, names) {
        Ok(program) => program,
        Err(message) => panic!("{message}"),
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y> Function<P, Q, Y> {
    /// A derivative of `f` that has the inputs of `f`, and results whose structure does not depend on the results of
    /// `f`.
    #[track_caller]
    pub(super) fn derived<Z: Tree<Term>>(
        transformation: Transformation,
        (f, x, data): (impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, &P, &Q),
        names: Vec<String>,
        template: Y,
        assemble: Assemble<P, Y>,
    ) -> Self {
        let RecordedFunction { program, count, .. } = record(f, x, data);
        Function::of_program(transformation, (program, count), (x, data), names, (template, assemble))
    }

    /// A function of arguments and data like these, from a recorded program and the derivative to compute.
    #[track_caller]
    pub(super) fn of_program(
        transformation: Transformation,
        (recorded, count): (Program, usize),
        (x, data): (&P, &Q),
        names: Vec<String>,
        (template, assemble): (Y, Assemble<P, Y>),
    ) -> Self {
        let key = key(&|v| x.visit(v), &|v| data.visit(v));
        Function::of(FunctionParts { transformation, recorded, count, names, template, assemble, key })
    }
}

impl<P: Tree<Array>, Q: Tree<Array>> Function<P, Q, Tensor<Array, 1>> {
    /// A function of arguments and data like these, whose program has one result, a vector of length `len`. The fixed
    /// leaves of the data are constants of the program.
    #[track_caller]
    pub(in crate::ad) fn of_elements(program: Program, (x, data): (&P, &Q), fixed: Fixed, len: usize) -> Self {
        let mut function = Function::of(FunctionParts {
            transformation: Transformation::Value,
            count: program.inputs().len(),
            recorded: program,
            names: Vec::new(),
            template: Tensor::from_raw(Array::zeros(&[len], DType::F64)),
            assemble: |_, _, results| Tensor::from_raw(results[0].clone()),
            key: key(&|v| x.visit(v), &|v| data.visit(v)),
        });
        function.fixed = fixed;
        function
    }
}
