//! Functions with derivative rules of their own.
//!
//! Law: the value of a [`Custom`] is that of its primal program in every interpreter (of a while loop, that of the
//! primal program repeated); its derivative, at any order, is given by its kind ([`CustomKind`]). Rules are programs,
//! and are differentiated like any other.
//!
//! A [checkpointed](Custom::checkpointed) function has the derivative of its program, and needs less memory: reverse
//! mode keeps its arguments alone, and runs the program again to recompute the intermediate values. Its transposed
//! derivative is a checkpointed function, too, so this law about memory holds at every order, and no pass hoists the
//! second run.
//!
//! A [conditional](Custom::cond) runs one of two programs, and has the derivative of that one (`cond`).
//!
//! A function that [solves linear equations](Custom::solve) has a derivative that consists of the tangent of the
//! left-hand side and of the function itself, or the function that solves the transposed equations. A program cannot
//! contain itself, so interpreters know that formula, which holds at every order.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

use super::Program;
use super::transposed_while::TransposedWhile;
use crate::array::Array;
use crate::dtype::DType;
use crate::ops::kinds::Kind;
use crate::shape::Show;

/// A closed program with knowledge about its derivative: rules, recomputation, linear equations, repetition, or choice.
///
/// Made by [`custom_jvp`](crate::custom_jvp()), [`custom_vjp`](crate::custom_vjp()),
/// [`checkpoint`](crate::checkpoint()), [`while_loop`](crate::while_loop()) and the solvers of equations.
///
/// ```
/// use polygrad::program::Op;
/// use polygrad::{Function, Tensor, custom_jvp, tensor};
/// let sin = |x: &Tensor<_, 0>| custom_jvp("sine", |x| x.sin(), |x, _, x_dot| x.cos() * x_dot, x);
/// let f = Function::stage(sin, &tensor(1.0));
/// let found = f.program().nodes().iter().find_map(|node| match &node.op {
///     Op::Custom(rule, _) => Some(rule.name()),
///     _ => None,
/// });
/// assert_eq!(found, Some("sine"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Custom {
    name: String,
    primal: Program,
    kind: CustomKind,
    derived: Memo,
    reason: Reason,
    transposes: Transposes,
}

/// The kind of a function, which determines its derivative.
///
/// Closed: an interpreter fails to compile where a new kind has no derivative yet.
///
/// Example: [`Custom::while_loop`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CustomKind {
    /// The derivative is that of the rules, at least one: see [`Custom::new`].
    Rules {
        /// `(x, y, x_dot) -> y_dot`.
        jvp: Option<Program>,
        /// `(x, y, y_bar) -> x_bar`.
        vjp: Option<Program>,
    },
    /// The derivative is that of the program, which reverse mode runs again: see [`Custom::checkpointed`].
    Checkpointed,
    /// The function solves linear equations, whose derivative is its own: see [`Custom::solve`].
    Solve(Box<LinearEquations>),
    /// The program runs while the first value of its carry, a mask, holds: see [`Custom::while_loop`].
    While {
        /// The largest number of trips, if there is one.
        most: Option<usize>,
    },
    /// The first argument, a mask of rank 0, chooses the program that runs: see [`Custom::cond`].
    Cond {
        /// The program that runs where the mask holds.
        then: Program,
        /// The program that runs where it does not.
        otherwise: Program,
        /// For each branch the results that it does not have: nothing reads them if it runs. In interpreters these are
        /// zeros.
        absent: [Vec<bool>; 2],
    },
}

/// Linear equations, as programs in addition to the solution: see [`Custom::solve`].
///
/// Example: [`Custom::solve`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LinearEquations {
    /// The left-hand side with the tangent of the matrix: `(given, y, given_dot) -> a_dot y`.
    pub moved: Program,
    /// The same programs for the transposed equations: the solution, and the left-hand side.
    pub transposed: Transposed,
}

/// The solution of the transposed equations, and their left-hand side with the tangent of the matrix: see
/// [`Custom::solve`].
///
/// Example: [`Custom::solve`].
pub type Transposed = (Program, Program);

/// The key of a derived function. `moving` marks the arguments that are differentiated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Derivative {
    /// The function of tangents that follows from the delta term. Tangents of arguments that are `steep` may be infinite or
    /// NaN where the values are finite.
    Pushed { moving: Vec<bool>, steep: bool },
    /// The function of cotangents; `given` marks the results that have a cotangent.
    Transposed { moving: Vec<bool>, given: Vec<bool> },
    /// A while loop over values and tangents, whose trip computes them in pairs.
    Paired { moving: Vec<bool>, steep: bool },
    /// A conditional whose results are followed by the residuals of the branch that ran.
    Residuals { moving: Vec<bool> },
}

/// A derived function, and for each possible input whether the function takes it.
#[derive(Clone, Debug)]
pub(crate) struct Taking {
    pub(crate) rule: Arc<Custom>,
    pub(crate) takes: Vec<bool>,
    /// Whether tangents of results may be infinite or NaN where the values are finite.
    pub(crate) steep: bool,
}

/// A cache of the derived functions: they follow from the function, and are not part of its equality.
#[derive(Clone, Debug, Default)]
struct Memo(Arc<Mutex<BTreeMap<Derivative, Taking>>>);

impl PartialEq for Memo {
    fn eq(&self, _: &Memo) -> bool {
        true
    }
}

impl Eq for Memo {}

impl Hash for Memo {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Why results are not finite, from arguments that are: words for reports. They are not part of the equality of the
/// function, and are not saved.
#[derive(Clone, Default)]
struct Reason(Option<Arc<Why>>);

/// From the arguments to the reason, if there is one.
type Why = dyn Fn(&[Array]) -> Option<String> + Send + Sync + UnwindSafe + RefUnwindSafe;

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reason")
    }
}

impl PartialEq for Reason {
    fn eq(&self, _: &Reason) -> bool {
        true
    }
}

impl Eq for Reason {}

impl Hash for Reason {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The parts of a transposed while loop. A function without them has the same derivatives, which need more memory: they
/// are not part of its equality, and are not saved.
#[derive(Clone, Debug, Default)]
struct Transposes(Option<Arc<TransposedWhile>>);

impl PartialEq for Transposes {
    fn eq(&self, _: &Transposes) -> bool {
        true
    }
}

impl Eq for Transposes {}

impl Hash for Transposes {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The program without the inputs that it does not use, and which inputs it uses.
fn without_unused_inputs(program: &Program) -> (Program, Vec<bool>) {
    let (uses, count) = (program.uses(), program.inputs().len());
    let takes: Vec<bool> = (0..count).map(|k| uses[k] > 0).collect();
    (program.of_inputs(&takes), takes)
}

/// Shapes and element types of the inputs, or of the outputs, of a program.
pub(super) fn kinds(slots: &[super::Slot]) -> impl Iterator<Item = Kind<'_>> {
    slots.iter().map(|slot| (&slot.shape[..], slot.dtype))
}

pub(super) fn fit(what: &str, given: &[Kind<'_>], needed: &[Kind<'_>]) -> Result<(), String> {
    if given.len() != needed.len() {
        return Err(format!("the number of {what} is {} and should be {}", given.len(), needed.len()));
    }
    let wrong = given.iter().zip(needed).find(|(a, b)| a != b);
    let show = |(shape, dtype): &(&[usize], DType)| format!("{dtype} {}", Show(shape));
    match wrong {
        None => Ok(()),
        Some((a, b)) => Err(format!("among the {what} there is {} where {} is needed", show(a), show(b))),
    }
}

impl LinearEquations {
    fn map(&self, f: &mut dyn FnMut(&Program) -> Program) -> Box<LinearEquations> {
        let moved = f(&self.moved);
        Box::new(LinearEquations { moved, transposed: (f(&self.transposed.0), f(&self.transposed.1)) })
    }
}

impl Custom {
    /// A function and its rules: `primal : x -> y`, `jvp : (x, y, x_dot) -> y_dot` and `vjp : (x, y, y_bar) -> x_bar`.
    ///
    /// # Errors
    /// When both rules are missing, or a rule takes or returns different shapes or element types.
    ///
    /// ```
    /// use polygrad::{BaseTensor, DType, ops::{Binary, Unary}, program::{Custom, CustomKind, Term}};
    /// let [x, y, t] = [(); 3].map(|()| Term::variable(&[2], DType::F64));
    /// let primal = Term::program(&[x.clone()], &[x.unary(Unary::Exp)], &[])?;
    /// let rule = Term::program(&[x, y.clone(), t.clone()], &[y.binary(Binary::Mul, &t)], &[])?;
    /// let exp = Custom::new("exp", primal.clone(), Some(rule.clone()), Some(rule.clone()))?;
    /// assert_eq!((exp.name(), exp.primal(), exp.jvp(), exp.vjp()), ("exp", &primal, Some(&rule), Some(&rule)));
    /// assert!(Custom::new("exp", primal.clone(), Some(primal.clone()), None).is_err());
    /// let segment = Custom::checkpointed("segment", primal);
    /// assert!(segment.is_checkpointed() && segment.jvp().is_none() && segment.vjp().is_none());
    /// assert!(segment.kind() == &CustomKind::Checkpointed && segment.solves().is_none());
    /// # Ok::<(), String>(())
    /// ```
    pub fn new(name: &str, primal: Program, jvp: Option<Program>, vjp: Option<Program>) -> Result<Custom, String> {
        if jvp.is_none() && vjp.is_none() {
            return Err("both rules are missing".into());
        }
        let (x, y): (Vec<_>, Vec<_>) = (kinds(primal.inputs()).collect(), kinds(primal.outputs()).collect());
        let both: Vec<_> = x.iter().chain(&y).copied().collect();
        for (rule, last, results, words) in
            [(&jvp, &x, &y, "tangents returned by the rule"), (&vjp, &y, &x, "cotangents returned by the rule")]
        {
            let Some(rule) = rule else { continue };
            let takes: Vec<_> = both.iter().chain(last).copied().collect();
            fit("arguments of the rule", &kinds(rule.inputs()).collect::<Vec<_>>(), &takes)?;
            fit(words, &kinds(rule.outputs()).collect::<Vec<_>>(), results)?;
        }
        Ok(Custom::of_kind(name, primal, CustomKind::Rules { jvp, vjp }))
    }

    pub(super) fn of_kind(name: &str, primal: Program, kind: CustomKind) -> Custom {
        let (derived, reason, transposes) = (Memo::default(), Reason::default(), Transposes::default());
        Custom { name: name.to_owned(), primal, kind, derived, reason, transposes }
    }

    /// The same function, known as the transposed function of a while loop.
    pub(super) fn transposing(self, parts: TransposedWhile) -> Custom {
        Custom { transposes: Transposes(Some(Arc::new(parts))), ..self }
    }

    /// The parts of a transposed while loop.
    pub(crate) fn transposed_while(&self) -> Option<&TransposedWhile> {
        self.transposes.0.as_deref()
    }

    /// The same function with the reason why results are not finite, from arguments that are.
    pub(crate) fn with_reason(
        self,
        why: impl Fn(&[Array]) -> Option<String> + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Custom {
        Custom { reason: Reason(Some(Arc::new(why))), ..self }
    }

    /// Why results are not finite, from arguments that are; `None` if the function does not say.
    pub(crate) fn reason(&self, args: &[Array]) -> Option<String> {
        self.reason.0.as_ref().and_then(|why| why(args))
    }

    /// A checkpointed function: its derivative is that of its program, but reverse mode keeps the arguments alone, and
    /// runs the program again.
    ///
    /// Example: [`Custom::new`].
    pub fn checkpointed(name: &str, primal: Program) -> Custom {
        Custom::of_kind(name, primal, CustomKind::Checkpointed)
    }

    /// The kind of the function.
    ///
    /// Example: [`Custom::new`].
    pub fn kind(&self) -> &CustomKind {
        &self.kind
    }

    /// Whether the function is checkpointed, so that reverse mode runs its program again: see [`Custom::checkpointed`].
    ///
    /// Example: [`Custom::new`].
    pub fn is_checkpointed(&self) -> bool {
        self.kind == CustomKind::Checkpointed
    }

    /// Whether the derivative of the function is that of its program: it has no rules.
    pub(crate) fn has_no_rules(&self) -> bool {
        match self.kind {
            CustomKind::Checkpointed | CustomKind::While { .. } | CustomKind::Cond { .. } => true,
            CustomKind::Rules { .. } | CustomKind::Solve(_) => false,
        }
    }

    /// Whether the function is a while loop: see [`Custom::while_loop`].
    ///
    /// Example: [`Custom::while_loop`].
    pub fn is_while(&self) -> bool {
        matches!(self.kind, CustomKind::While { .. })
    }

    /// A function that solves linear equations: `primal : (given, b) -> y` with `a(given) y = b`, for any number of
    /// values `given`, and `y` with the shape and element type of `b`; `moved : (given, y, given_dot) -> a_dot y`.
    /// `transposed` has both programs for the transposed matrix.
    ///
    /// The derivative is that of the equations, `y_dot = a^-1 (b_dot - a_dot y)`, in both modes and at every order: it
    /// is as exact as the solution, whatever method computes the solution.
    ///
    /// # Errors
    /// When a program takes or returns different shapes or element types, or the right-hand side is missing.
    ///
    /// ```
    /// use polygrad::program::{Custom, LinearEquations, Term, Transposed};
    /// use polygrad::{BaseTensor, DType, Tensor, ops::Binary, tensor};
    /// use std::sync::Arc;
    /// // The quotient `b / a`, as the solution of `a y = b`; a number is its own transpose.
    /// let [a, b, a_dot] = [(); 3].map(|()| Term::variable(&[], DType::F64));
    /// let quotient = Term::program(&[a.clone(), b.clone()], &[b.binary(Binary::Div, &a)], &[])?;
    /// let moved = Term::program(&[a, b.clone(), a_dot.clone()], &[a_dot.binary(Binary::Mul, &b)], &[])?;
    /// let transposed: Transposed = (quotient.clone(), moved.clone());
    /// let rule = Arc::new(Custom::solve("quotient", quotient, moved.clone(), transposed)?);
    /// assert!(matches!(rule.solves(), Some(LinearEquations { moved: left, .. }) if left == &moved));
    /// fn recip<T: BaseTensor>(rule: &Arc<Custom>, a: &Tensor<T, 0>) -> Tensor<T, 0> {
    ///     let one = Tensor::<T, 0>::scalar(1.0);
    ///     Tensor::from_raw(T::custom(rule, &[a.raw().clone(), one.into_raw()]).remove(0))
    /// }
    /// assert_eq!(polygrad::direct::grad(|a| recip(&rule, a), &tensor(2.0)), tensor(-0.25));
    /// # Ok::<(), String>(())
    /// ```
    pub fn solve(name: &str, primal: Program, moved: Program, transposed: Transposed) -> Result<Custom, String> {
        let inputs: Vec<_> = kinds(primal.inputs()).collect();
        let Some((right, given)) = inputs.split_last() else {
            return Err("the arguments have no right-hand side".into());
        };
        for solution in [&primal, &transposed.0] {
            fit("arguments of a solution", &kinds(solution.inputs()).collect::<Vec<_>>(), &inputs)?;
            fit("results of a solution", &kinds(solution.outputs()).collect::<Vec<_>>(), &[*right])?;
        }
        let takes = [given, &[*right], given].concat();
        for moved in [&moved, &transposed.1] {
            fit("arguments of a left-hand side", &kinds(moved.inputs()).collect::<Vec<_>>(), &takes)?;
            fit("results of a left-hand side", &kinds(moved.outputs()).collect::<Vec<_>>(), &[*right])?;
        }
        Ok(Custom::of_kind(name, primal, CustomKind::Solve(Box::new(LinearEquations { moved, transposed }))))
    }

    /// The linear equations of a function that [solves](Custom::solve) them.
    ///
    /// Example: [`Custom::solve`].
    pub fn solves(&self) -> Option<&LinearEquations> {
        if let CustomKind::Solve(equations) = &self.kind { Some(equations) } else { None }
    }

    /// The function that solves the transposed equations, if this function solves equations.
    pub(crate) fn transposed(&self) -> Option<Arc<Custom>> {
        let LinearEquations { moved, transposed } = self.solves()?;
        let back = LinearEquations { moved: transposed.1.clone(), transposed: (self.primal.clone(), moved.clone()) };
        Some(Arc::new(Custom::of_kind(&self.name, transposed.0.clone(), CustomKind::Solve(Box::new(back)))))
    }

    /// All programs of the function. Of a conditional these are the branches, from which its primal program is made.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &Program> {
        let primal = Some(&self.primal);
        let all = match &self.kind {
            CustomKind::Rules { jvp, vjp } => [primal, jvp.as_ref(), vjp.as_ref(), None],
            CustomKind::Solve(e) => [primal, Some(&e.moved), Some(&e.transposed.0), Some(&e.transposed.1)],
            CustomKind::Checkpointed | CustomKind::While { .. } => [primal, None, None, None],
            CustomKind::Cond { then, otherwise, .. } => [Some(then), Some(otherwise), None, None],
        };
        all.into_iter().flatten()
    }

    /// A while loop: a function that repeats a program while the first value of the carry, a mask of rank 0, holds, at
    /// most `most` times. The program takes the carry, then captured values, and returns the next carry.
    ///
    /// # Errors
    /// When the outputs of the program do not have the kinds of its first inputs, or the first output is not a mask of rank 0.
    ///
    /// ```
    /// use polygrad::{BaseTensor, DType, ops::Unary, program::{Custom, CustomKind, Term}};
    /// let (go, x) = (Term::variable(&[], DType::Bool), Term::variable(&[2], DType::F64));
    /// let body = Term::program(&[go.clone(), x.clone()], &[go, x.unary(Unary::Sin)], &[])?;
    /// let three = Custom::while_loop("while", body, Some(3))?;
    /// assert!(three.is_while() && matches!(three.kind(), CustomKind::While { most: Some(3) }));
    /// let wrong = Term::program(&[x.clone()], &[x], &[])?;
    /// assert!(Custom::while_loop("while", wrong, None).is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn while_loop(name: &str, body: Program, most: Option<usize>) -> Result<Custom, String> {
        let takes: Vec<_> = kinds(body.inputs()).take(body.outputs().len()).collect();
        fit("values that a trip returns", &kinds(body.outputs()).collect::<Vec<_>>(), &takes)?;
        match takes.first() {
            Some(([], DType::Bool)) => Ok(Custom::of_kind(name, body, CustomKind::While { most })),
            Some(_) | None => Err("the first value that is carried is not a mask of rank 0".into()),
        }
    }

    /// The checkpointed function of another program, under the name of this function and without the inputs that the
    /// program does not use.
    pub(crate) fn checkpointed_as(&self, program: &Program) -> Taking {
        let (program, takes) = without_unused_inputs(program);
        Taking { rule: Arc::new(Custom::checkpointed(&self.name, program)), takes, steep: false }
    }

    /// The checkpointed function with these of its results alone, as the program that computes them, without the inputs
    /// that the program does not use.
    pub(crate) fn narrowed_to(&self, results: &[bool], program: &Program) -> Taking {
        let Taking { rule, takes, steep } = self.checkpointed_as(program);
        let Some(parts) = self.transposed_while().map(|parts| parts.narrowed(&takes, results)) else {
            return Taking { rule, takes, steep };
        };
        Taking { rule: Arc::new(Custom::clone(&rule).transposing(parts)), takes, steep }
    }

    /// The derived function with this key from the cache, or made with `make` on first use.
    pub(crate) fn derived(&self, which: Derivative, make: impl FnOnce() -> Taking) -> Taking {
        let known = || self.derived.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(linear) = known().get(&which) {
            return linear.clone();
        }
        let linear = make();
        known().insert(which, linear.clone());
        linear
    }

    /// [`derived`](Custom::derived) for several keys, whose functions are made together.
    pub(crate) fn derived_with(&self, which: Derivative, make: impl FnOnce() -> Vec<(Derivative, Taking)>) -> Taking {
        let known = || self.derived.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(one) = known().get(&which) {
            return one.clone();
        }
        let made = make();
        let mut known = known();
        known.extend(made);
        known[&which].clone()
    }

    /// The name of the function in printed programs.
    ///
    /// Example: [`Custom::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program of the values, `x -> y`; of a while loop, one trip.
    ///
    /// Example: [`Custom::new`].
    pub fn primal(&self) -> &Program {
        &self.primal
    }

    /// The rule for tangents, `(x, y, x_dot) -> y_dot`, if there is one.
    ///
    /// Example: [`Custom::new`].
    pub fn jvp(&self) -> Option<&Program> {
        if let CustomKind::Rules { jvp, .. } = &self.kind { jvp.as_ref() } else { None }
    }

    /// The rule for cotangents, `(x, y, y_bar) -> x_bar`, if there is one.
    ///
    /// Example: [`Custom::new`].
    pub fn vjp(&self) -> Option<&Program> {
        if let CustomKind::Rules { vjp, .. } = &self.kind { vjp.as_ref() } else { None }
    }

    /// The rule for tangents, or a message if it is missing.
    pub(crate) fn require_jvp(&self) -> Result<&Program, String> {
        self.jvp().ok_or_else(|| {
            format!(
                "custom_vjp: forward mode needs a rule that is linear in the cotangent, by operations of the library, but \
                 that of `{}` is not; use reverse mode, or give a rule by custom_jvp",
                self.name
            )
        })
    }

    /// The same function with each of its programs rewritten.
    pub(crate) fn map(&self, f: &mut dyn FnMut(&Program) -> Program) -> Custom {
        if let CustomKind::Cond { then, otherwise, absent } = &self.kind {
            return Custom::chosen(&self.name, [f(then), f(otherwise)], absent.clone());
        }
        let primal = f(&self.primal);
        let kind = match &self.kind {
            CustomKind::Rules { jvp, vjp } => {
                CustomKind::Rules { jvp: jvp.as_ref().map(&mut *f), vjp: vjp.as_ref().map(&mut *f) }
            }
            CustomKind::Solve(equations) => CustomKind::Solve(equations.map(f)),
            CustomKind::Checkpointed | CustomKind::While { .. } | CustomKind::Cond { .. } => self.kind.clone(),
        };
        let transposes = Transposes(self.transposed_while().map(|parts| Arc::new(parts.map(f))));
        Custom { transposes, ..Custom::of_kind(&self.name, primal, kind) }
    }

    /// The same function with another primal program; not for a conditional, whose programs are its branches.
    pub(crate) fn with_primal(&self, primal: Program) -> Custom {
        Custom { primal, derived: Memo::default(), ..self.clone() }
    }

    /// The function with each of its programs rewritten by the closure for its role: solutions and values, rules for
    /// tangents, rules for cotangents, left-hand sides.
    pub(crate) fn map_each(
        &self,
        primal: &mut dyn FnMut(&Program) -> Program,
        jvp: &mut dyn FnMut(&Program) -> Program,
        vjp: &mut dyn FnMut(&Program) -> Program,
        moved: &mut dyn FnMut(&Program) -> Program,
    ) -> Custom {
        if let CustomKind::Cond { then, otherwise, absent } = &self.kind {
            return Custom::chosen(&self.name, [primal(then), primal(otherwise)], absent.clone());
        }
        let now = primal(&self.primal);
        let kind = match &self.kind {
            CustomKind::Rules { jvp: tangents, vjp: cotangents } => {
                CustomKind::Rules { jvp: tangents.as_ref().map(jvp), vjp: cotangents.as_ref().map(vjp) }
            }
            CustomKind::Solve(e) => {
                let transposed = (primal(&e.transposed.0), moved(&e.transposed.1));
                CustomKind::Solve(Box::new(LinearEquations { moved: moved(&e.moved), transposed }))
            }
            CustomKind::Checkpointed | CustomKind::While { .. } | CustomKind::Cond { .. } => self.kind.clone(),
        };
        Custom::of_kind(&self.name, now, kind)
    }

    /// An error unless the function accepts arguments of these kinds.
    pub(crate) fn accepts(&self, args: &[Kind<'_>]) -> Result<(), String> {
        fit("arguments", args, &kinds(self.primal.inputs()).collect::<Vec<_>>())
    }
}
