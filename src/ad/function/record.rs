//! Recording: the program, the key and the template of results, from which all constructors make a [`Function`].

use super::derivative_programs::Derived;
use super::static_arguments::Fixed;
use super::{Function, Parts, Shown, both};
use crate::ad::pipeline::OfBoth;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::program::{Program, Term};
use crate::tensor::Tensor;
use crate::tree::{Key, PathStep, Tree, Visitor};

/// A tensor whose elements are known.
pub(super) type KnownTensor<const D: usize, E> = Tensor<Array, D, E>;

/// A function recorded for some arguments and data.
pub(in crate::ad) struct RecordedFunction<Z> {
    pub(in crate::ad) program: Program,
    /// The number of inputs that are arguments.
    pub(in crate::ad) count: usize,
    pub(super) results: Z,
}

/// Records `f` for arguments and data like these: of these shapes, element types and structure, whatever the elements.
#[track_caller]
pub(super) fn record<P, Q, Z>(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, x: &P, data: &Q) -> RecordedFunction<Z>
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

pub(super) fn variables(leaves: &[Array]) -> Vec<Term> {
    leaves.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect()
}

#[track_caller]
fn closed(inputs: &[Term], results: &[Term], names: &[String]) -> Program {
    match Term::program(inputs, results, names) {
        Ok(program) => program,
        Err(message) => panic!("{message}"),
    }
}

/// Builds the results of a run from a template of their structure, the argument, and the output arrays.
pub(super) type Assemble<P, Y> = fn(&Y, &P, &[Array]) -> Y;

/// The next of the output arrays in the structure of a tree.
pub(super) fn next_of<P: Tree<Array>>(tree: &P, leaves: &mut &[Array]) -> P::With<Array> {
    tree.map(&mut |_| match leaves.split_first() {
        Some((first, rest)) => {
            *leaves = rest;
            first.clone()
        }
        None => unreachable!("a tree has more leaves in one map than in another"),
    })
}

/// The output arrays in the structure of a tree.
pub(super) fn all_of<P: Tree<Array>>(tree: &P, mut leaves: &[Array]) -> P::With<Array> {
    let all = next_of(tree, &mut leaves);
    assert!(leaves.is_empty(), "a tree has fewer leaves in one map than in another");
    all
}

/// The output arrays in the structure of the template.
pub(super) fn in_place<P, Y: Tree<Array, With<Array> = Y>>(template: &Y, _: &P, leaves: &[Array]) -> Y {
    all_of(template, leaves)
}

/// The only output array, as a tensor.
pub(super) fn single<P, const R: usize, E: Float>(_: &KnownTensor<R, E>, _: &P, leaves: &[Array]) -> KnownTensor<R, E> {
    Tensor::from_raw(leaves[0].clone())
}

/// Zeros in the structure of recorded results.
pub(super) fn zeros<Z: Tree<Term>>(results: &Z) -> Z::With<Array> {
    results.map(&mut |t| Array::zeros(t.shape(), t.dtype()))
}

/// Zeros in the structure of an argument.
pub(super) fn zeros_like<P: Tree<Array>>(x: &P) -> P::With<Array> {
    x.map(&mut |a| Array::zeros(a.shape(), a.dtype()))
}

pub(super) fn paths<P: Tree<Array>>(x: &P, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    x.paths(root, &mut names);
    names
}

/// The key of a function of these arguments.
pub(super) fn key(x: Shown<'_>, data: Shown<'_>) -> Key {
    Key::shown(&|visitor: &mut dyn Visitor<Array>| both(x, data, visitor))
}

/// Shows two trees as the items of a pair.
pub(super) fn pair(a: Shown<'_>, b: Shown<'_>, visitor: &mut dyn Visitor<Array>) {
    for (k, part) in [a, b].into_iter().enumerate() {
        visitor.enter(PathStep::Item(k));
        part(visitor);
        visitor.leave();
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y> Function<P, Q, Y> {
    /// A derivative of `f` that has the inputs of `f`, and results whose structure does not depend on the results of
    /// `f`.
    #[track_caller]
    pub(super) fn derived<Z: Tree<Term>>(
        derived: Derived,
        (f, x, data): (impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, &P, &Q),
        names: Vec<String>,
        template: Y,
        assemble: Assemble<P, Y>,
    ) -> Self {
        let RecordedFunction { program, count, .. } = record(f, x, data);
        Function::of_program(derived, (program, count), (x, data), names, (template, assemble))
    }

    /// A function of arguments and data like these, from a recorded program and the derivative to compute.
    #[track_caller]
    pub(super) fn of_program(
        derived: Derived,
        (recorded, count): (Program, usize),
        (x, data): (&P, &Q),
        names: Vec<String>,
        (template, assemble): (Y, Assemble<P, Y>),
    ) -> Self {
        let key = key(&|v| x.visit(v), &|v| data.visit(v));
        Function::of(Parts { derived, recorded, count, names, template, assemble, key })
    }
}

impl<P: Tree<Array>, Q: Tree<Array>> Function<P, Q, Tensor<Array, 1>> {
    /// A function of arguments and data like these, whose program has one result, a vector of length `len`. The fixed
    /// leaves of the data are constants of the program.
    #[track_caller]
    pub(in crate::ad) fn made(program: Program, (x, data): (&P, &Q), fixed: Fixed, len: usize) -> Self {
        let mut function = Function::of(Parts {
            derived: Derived::Value,
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
