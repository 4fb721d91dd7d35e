//! Recording: the program, the key and the template of results, from which all constructors make a [`Function`].

use super::static_arguments::Fixed;
use super::structure::{filled, key_of, paths, variables};
use super::{Function, FunctionParts};
use crate::ad::differentiate::record::OfBoth;
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::dtype::DType;
use crate::program::{Program, Term};
use crate::tensor::Tensor;
use crate::tree::{Key, Tree};

/// A function recorded for some arguments and data.
pub(in crate::ad) struct RecordedFunction<Z> {
    pub(in crate::ad) program: Program,
    /// The number of inputs that are arguments.
    pub(in crate::ad) count: usize,
    pub(in crate::ad) results: Z,
}

/// Records `f` for arguments and data like these: of these shapes, element types and structure, whatever the elements.
#[track_caller]
pub(in crate::ad) fn record<P, Q, Z>(f: OfBoth<'_, Array, Term, P, Q, Z>, x: &P, data: &Q) -> RecordedFunction<Z>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Z: Tree<Term>,
{
    record_at(f, x, data, &Fixed::default())
}

/// [`record`], with the fixed leaves of the data as constants of the program.
#[track_caller]
pub(in crate::ad) fn record_at<P, Q, Z>(
    f: OfBoth<'_, Array, Term, P, Q, Z>,
    x: &P,
    data: &Q,
    fixed: &Fixed,
) -> RecordedFunction<Z>
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

#[track_caller]
fn closed(inputs: &[Term], results: &[Term], names: &[String]) -> Program {
    match Term::program(inputs, results, names) {
        Ok(program) => program,
        Err(message) => panic!("{message}"),
    }
}

impl<P, Q, Y: Tree<Array, With<Array> = Y>> Function<P, Q, Y> {
    /// A function that computes a transformation of what was recorded. The names are those of the last outputs; the
    /// template has the structure of the results.
    #[track_caller]
    pub(in crate::ad) fn of_recorded<Z>(
        transformation: Transformation,
        recorded: RecordedFunction<Z>,
        key: Key,
        names: Vec<String>,
        template: Y,
    ) -> Self {
        let RecordedFunction { program: recorded, count, .. } = recorded;
        transformation.check(&recorded);
        Function::of(FunctionParts { transformation, recorded, count, names, template, fill: filled, key })
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
            fill: filled,
            key: key_of(x, data),
        });
        function.fixed = fixed;
        function
    }
}
