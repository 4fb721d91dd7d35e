//! `custom_jvp` and `custom_vjp`: functions whose derivative is given by a user's rule.
//!
//! Function and rule are recorded when the function is applied, as programs that every interpreter can run
//! ([`Custom`]). Law: the derivative of the result is given by the rule, in forward and reverse mode and at every
//! order, since the rule is itself differentiated.

use std::sync::Arc;

use super::symbolic;
use crate::base::BaseTensor;
use crate::escape;
use crate::program::{Custom, Program, Term, interpret};
use crate::tree::Tree;

/// Applies a function whose derivative is given by a rule for tangents.
///
/// `f : P -> Y` and `rule : (x, f(x), x_dot) -> y_dot`, which must be linear in `x_dot`; reverse mode transposes the
/// rule. Function and rule are recorded for the shapes of `x`, and may depend only on their arguments and on constants.
/// `name` is the name of the function in printed programs. Leaves of `x_dot` and `y_dot` at integers and masks are
/// ignored.
///
/// # Panics
/// When the tangents that the rule returns differ in number, shapes or element types from the results of `f`; when `f`
/// or `rule` depends on another variable, or looks at values.
///
/// ```
/// use polygrad::{Tensor, custom_jvp, grad, tensor};
/// // The logarithm of 1 + exp x, with a derivative that does not overflow.
/// fn softplus<T: polygrad::BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
///     custom_jvp("softplus", |x| (x.exp() + 1.0).ln(), |x, _, x_dot| x.sigmoid() * x_dot, x)
/// }
/// assert_eq!(grad(|x| softplus(x).sum(), &tensor([0.0, 1000.0])), tensor([0.5, 1.0]));
/// ```
#[track_caller]
pub fn custom_jvp<T, P, Y>(
    name: &str,
    f: impl Fn(&P::With<Term>) -> Y,
    rule: impl Fn(&P::With<Term>, &Y, &P::With<Term>) -> Y,
    x: &P,
) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term, With<Term> = Y>,
{
    let args = x.leaves();
    let (xs, dots) = (Term::variables_like(&args), Term::variables_like(&args));
    let template = f(&x.with_leaves(xs.clone()));
    let results = template.leaves();
    let ys = Term::variables_like(&results);
    let tangents = rule(&x.with_leaves(xs.clone()), &template.with_leaves(ys.clone()), &x.with_leaves(dots.clone()));
    let takes: Vec<Term> = [&xs[..], &ys, &dots].concat();
    let made = closed(&xs, &results)
        .and_then(|primal| Ok((primal, closed(&takes, &tangents.leaves())?)))
        .and_then(|(primal, jvp)| fitting(Custom::new(name, primal, Some(jvp), None), TANGENTS));
    match made {
        Ok(custom) => template.with_leaves(T::custom(&custom, &args)),
        Err(fault) => panic!("custom_jvp: the rule of {} must fit its function, but {fault}", escape::quoted(name)),
    }
}

/// Applies a function whose derivative is given by a rule for cotangents.
///
/// `f : P -> Y` and `rule : (x, f(x), y_bar) -> x_bar`. If the rule is linear in `y_bar`, forward mode transposes the
/// rule. If the rule is not linear (a clipped gradient), or passes `y_bar` to code of the host, forward mode is an
/// error. If the rule is not linear, the gradient depends on common subexpression elimination: equal applications in a
/// recorded program are merged, so the rule receives the sum of their cotangents. Function and rule are recorded for
/// the shapes of `x`, and may depend only on their arguments and on constants. `name` is the name of the function in
/// printed programs. Leaves of `x_bar` and `y_bar` at integers and masks are ignored.
///
/// # Panics
/// When the cotangents that the rule returns differ in number, shapes or element types from the leaves of `x`; when `f`
/// or `rule` depends on another variable, or looks at values.
///
/// ```
/// use polygrad::{Tensor, custom_vjp, grad, tensor};
/// // The identity, with a gradient between -1 and 1.
/// fn clipped<T: polygrad::BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
///     custom_vjp("clipped", |x| x.clone(), |_, _, y_bar| y_bar.clamp(-1.0, 1.0), x)
/// }
/// assert_eq!(grad(|x| clipped(x).square().sum(), &tensor([0.25, -3.0])), tensor([0.5, -1.0]));
/// ```
#[track_caller]
pub fn custom_vjp<T, P, Y>(
    name: &str,
    f: impl Fn(&P::With<Term>) -> Y,
    rule: impl Fn(&P::With<Term>, &Y, &Y) -> P::With<Term>,
    x: &P,
) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term, With<Term> = Y>,
{
    let args = x.leaves();
    let xs = Term::variables_like(&args);
    let template = f(&x.with_leaves(xs.clone()));
    let results = template.leaves();
    let (ys, bars) = (Term::variables_like(&results), Term::variables_like(&results));
    let structured = |leaves: &[Term]| template.with_leaves(leaves.to_vec());
    let cotangents = rule(&x.with_leaves(xs.clone()), &structured(&ys), &structured(&bars)).leaves();
    let takes: Vec<Term> = [&xs[..], &ys, &bars].concat();
    let made = closed(&xs, &results).and_then(|primal| Ok((primal, closed(&takes, &cotangents)?))).and_then(
        |(primal, vjp)| {
            let custom = fitting(Custom::new(name, primal, None, Some(vjp.clone())), COTANGENTS)?;
            let jvp = transposed(&vjp, xs.len() + ys.len());
            fitting(Custom::new(name, custom.primal().clone(), jvp, Some(vjp)), COTANGENTS)
        },
    );
    match made {
        Ok(custom) => template.with_leaves(T::custom(&custom, &args)),
        Err(fault) => panic!("custom_vjp: the rule of {} must fit its function, but {fault}", escape::quoted(name)),
    }
}

/// The last part of the error message if the results of a rule do not fit its function.
const TANGENTS: &str = "return a tangent for each leaf of what the function returns, of its shape and element type";
const COTANGENTS: &str = "return a cotangent for each leaf of the argument, of its shape and element type";

/// The function with its rules, or the error followed by the advice `way_out`.
fn fitting(made: Result<Custom, String>, way_out: &str) -> Result<Arc<Custom>, String> {
    made.map(Arc::new).map_err(|fact| format!("{fact}; {way_out}"))
}

fn closed(inputs: &[Term], results: &[Term]) -> Result<Program, String> {
    Term::program(inputs, results, &[])
        .map_err(|_| String::from("it uses a value from outside; pass that as an argument"))
}

/// The transpose `(x, y, x_dot) -> y_dot` of a rule `(x, y, y_bar) -> x_bar` with `known` inputs before `y_bar`, if the
/// rule is linear in `y_bar`.
fn transposed(vjp: &Program, known: usize) -> Option<Program> {
    let inputs = Term::variables(vjp.inputs());
    let (fixed, bars) = inputs.split_at(known);
    let order: Vec<Term> = bars.iter().chain(fixed).cloned().collect();
    let linear = closed(&order, &interpret(vjp, inputs.clone())).ok()?;
    // Code of the host has no transpose.
    if linear.calls_host_on(bars.len()) {
        return None;
    }
    let adjoint = symbolic::try_transpose(&linear, bars.len()).ok()?;
    let dots = Term::variables(vjp.outputs());
    let tangents = interpret(&adjoint, dots.iter().chain(fixed).cloned().collect());
    closed(&fixed.iter().cloned().chain(dots).collect::<Vec<Term>>(), &tangents).ok()
}
