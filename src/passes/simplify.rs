//! Simplification: the rewrite rules, applied until nothing changes.
//!
//! Law: the result has the same values and derivatives up to rounding, infinities and NaN included unless
//! [`Options::fast_math`] says otherwise, does no more work and moves no more bytes. The pass rebuilds a program,
//! bodies of loops first, through the rules of [`rewrite::rules`](crate::rewrite::rules()), now with known uses of each
//! value, until nothing changes. Each round is linear in the size of the program.

use std::fmt;
use std::sync::Arc;

use super::{Options, body_by_body};
use crate::program::{Assumed, Builder, Custom, Loop, NodeId, Op, Program, Rebuilt, Taking};
use crate::rewrite::facts::Fact;
use crate::rewrite::rules::loops;
use crate::rewrite::signs::Seen;

/// A rule that fired.
///
/// Example: [`explain`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fired {
    /// The name of the rule.
    pub rule: &'static str,
    /// The round, from 0.
    pub round: usize,
    /// The number of the rebuilt operation in the program of that round, after the numbers of the loops that contain
    /// it.
    pub at: Vec<NodeId>,
}

/// `round 0: sum_of_product at 5.3`: in the body of loop 5, operation 3.
impl fmt::Display for Fired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {}: {} at ", self.round, self.rule)?;
        for (k, id) in self.at.iter().enumerate() {
            write!(f, "{}{id}", if k > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

/// An equal, cheaper program: rebuilt through the [rules](crate::rewrite::rules()) until nothing changes.
///
/// The result has the same values and derivatives up to rounding, infinities and NaN included; it does no more work and
/// moves no more bytes. Where loops share bodies, so that the program would be much longer without sharing, each body is
/// simplified once, for itself.
///
/// Example: [`explain`].
pub fn simplify(program: &Program) -> Program {
    simplify_with(program, Options::default())
}

/// [`simplify()`] with options.
///
/// ```
/// use polygrad::passes::{Options, optimize_with, simplify_with};
/// use polygrad::{Function, tensor};
/// let f = Function::stage(|x| x - x, &tensor(1.0));
/// // At infinity this is not zero.
/// assert_eq!(simplify_with(f.program(), Options::default()).size(), 1);
/// let fast = Options { fast_math: true, ..Options::default() };
/// assert_eq!((simplify_with(f.program(), fast).size(), optimize_with(f.program(), fast).size()), (0, 0));
/// ```
pub fn simplify_with(program: &Program, options: Options) -> Program {
    Simplifier { options, log: None, round: 0, path: Vec::new() }.run(program)
}

/// [`simplify_with`], together with a list of the rules that fired.
///
/// ```
/// use polygrad::passes::{Fired, Options, explain, simplify};
/// use polygrad::{Function, tensor};
/// let x = tensor([1.0, 2.0]);
/// let dot = Function::stage_with(|x, y| (x * y).sum(), &x, &x);
/// let (simple, fired) = explain(dot.program(), Options::default());
/// assert_eq!(simple.to_string(), "program(x: f64[2], data: f64[2]) {\n  return dot x data\n}");
/// assert_eq!(fired[0], Fired { rule: "sum_of_product", round: 0, at: vec![3] });
/// assert_eq!((fired[0].to_string().as_str(), simplify(dot.program())), ("round 0: sum_of_product at 3", simple));
/// ```
pub fn explain(program: &Program, options: Options) -> (Program, Vec<Fired>) {
    let mut simplifier = Simplifier { options, log: Some(Vec::new()), round: 0, path: Vec::new() };
    let simple = simplifier.run(program);
    (simple, simplifier.log.unwrap_or_default())
}

/// The state of a simplification.
struct Simplifier {
    options: Options,
    log: Option<Vec<Fired>>,
    round: usize,
    /// The loops that contain the program being rebuilt.
    path: Vec<NodeId>,
}

impl Simplifier {
    fn run(&mut self, program: &Program) -> Program {
        if program.is_shared() {
            return body_by_body(program);
        }
        let mut program = program.clone();
        for round in 0..self.options.rounds {
            self.round = round;
            let next = self.rebuilt(&program, &[], &[]);
            if next == program {
                break;
            }
            program = next;
        }
        program
    }

    fn builder(&self) -> Builder {
        let assumed = Assumed { fast: self.options.fast_math, basis: self.options.basis };
        Builder::rebuilding(assumed, self.log.is_some())
    }

    /// Records the rules that a builder noted while operation `at` was rebuilt.
    fn record(&mut self, b: &mut Builder, at: NodeId) {
        if let Some(log) = &mut self.log {
            for (rule, _) in b.noted() {
                let at = self.path.iter().copied().chain([at]).collect();
                log.push(Fired { rule, round: self.round, at });
            }
        }
    }

    /// One round, with facts about the inputs, and for each result whether an operation outside sees its sign of zero.
    fn rebuilt(&mut self, program: &Program, facts: &[Option<Fact>], seen: &[bool]) -> Program {
        let (uses, mut taken, mut seen) = (program.uses(), program.results_taken(), Seen::of(program, seen));
        let mut b = self.builder();
        let inputs = b.inputs(program.inputs(), facts);
        inputs.iter().zip(&uses).for_each(|(id, uses)| b.used(*id, *uses));
        program.rebuilt(b, inputs, &mut |b, k, node, now| {
            b.sign_seen(seen.values[k as usize]);
            let made = if let Op::Loop(_) = node.op
                && let Op::Loop(l) = now.op(&node.op)
            {
                let taken = taken.remove(&k).unwrap_or_default();
                let seen = seen.results.remove(&k).unwrap_or_default();
                b.sign_seen(true);
                Rebuilt::Many(self.rebuilt_loop(b, k, *l, taken, &seen))
            } else if let Op::Custom(custom, args) = &node.op
                && custom.is_checkpointed()
            {
                let args = args.iter().map(|a| now.of(*a)).collect();
                Rebuilt::Many(self.rebuilt_again(b, k, custom, args, taken.remove(&k).unwrap_or_default()))
            } else if let Op::Custom(custom, args) = &node.op
                && let Some(branches) = custom.branches()
            {
                let args = args.iter().map(|a| now.of(*a)).collect();
                Rebuilt::Many(self.rebuilt_cond(b, k, (custom, branches), args, taken.remove(&k).unwrap_or_default()))
            } else if let Op::Custom(custom, args) = &node.op
                && custom.is_while()
            {
                let seen = vec![true; custom.primal().results().len()];
                self.path.push(k);
                let body = custom.map(&mut |program| self.rebuilt(program, &[], &seen));
                self.path.pop();
                Rebuilt::One(b.apply(Op::Custom(body.into(), args.iter().map(|a| now.of(*a)).collect())))
            } else {
                now.again(b, node)
            };
            self.record(b, k);
            if let Rebuilt::One(id) = made {
                b.used(id, uses[k as usize]);
            }
            made
        })
    }

    /// The results of a loop in the program that is being built, in which its operands exist already. `needed` and
    /// `seen` say which results are needed, and for which an operation sees the sign of zero.
    fn rebuilt_loop(
        &mut self,
        b: &mut Builder,
        at: NodeId,
        l: Loop<NodeId>,
        needed: Vec<bool>,
        seen: &[bool],
    ) -> loops::RebuiltOutputs {
        let mut state = loops::before_body(b, l, needed);
        self.path.push(at);
        let body = self.rebuilt(&state.of().body, &b.facts_inside(state.of()), seen);
        self.path.pop();
        loops::after_body(b, &mut state, body);
        state.rebuilt(b, self.builder())
    }

    /// The results of a conditional; `needed` says which are used. A known mask leaves one branch.
    fn rebuilt_cond(
        &mut self,
        b: &mut Builder,
        at: NodeId,
        (custom, branches): (&Custom, [&Program; 2]),
        mut args: Vec<NodeId>,
        needed: Vec<bool>,
    ) -> Vec<Option<NodeId>> {
        if let Op::Constant(mask) = &b.node(args[0]).op {
            let branch = branches[usize::from(mask.0.as_scalar::<bool>() != Some(&true))];
            args.remove(0);
            let now = b.copy(branch, args);
            return branch.results().iter().zip(needed).map(|(r, needed)| needed.then(|| now.of(*r))).collect();
        }
        let narrower = custom.with_branch_results(branches, &needed);
        self.path.push(at);
        // Any operation may see the results of a function.
        let rule = narrower.rule.map(&mut |program| {
            let seen = vec![true; program.results().len()];
            self.rebuilt(program, &[], &seen)
        });
        self.path.pop();
        applied(b, Taking { rule: Arc::new(rule), ..narrower }, args, needed)
    }

    /// The results of a function without rules; `needed` says which are used.
    fn rebuilt_again(
        &mut self,
        b: &mut Builder,
        at: NodeId,
        custom: &Custom,
        args: Vec<NodeId>,
        needed: Vec<bool>,
    ) -> Vec<Option<NodeId>> {
        let results: Vec<NodeId> =
            custom.primal().results().iter().zip(&needed).filter(|(_, needed)| **needed).map(|(r, _)| *r).collect();
        // Any operation may see the results of a function.
        let seen = vec![true; results.len()];
        self.path.push(at);
        let program = self.rebuilt(&custom.primal().with_results(&results), &[], &seen);
        self.path.pop();
        applied(b, custom.narrowed_to(&needed, &program), args, needed)
    }
}

/// The results of a function that takes some of the arguments and returns the results that are needed.
fn applied(b: &mut Builder, function: Taking, args: Vec<NodeId>, needed: Vec<bool>) -> Vec<Option<NodeId>> {
    let Taking { rule, takes, .. } = function;
    let args = args.into_iter().zip(takes).filter_map(|(arg, takes)| takes.then_some(arg)).collect();
    let of = b.apply(Op::Custom(rule, args));
    let mut position = 0..;
    let mut output = || position.next().map(|k| b.apply(Op::Output(of, k)));
    needed.into_iter().map(|needed| needed.then(&mut output).flatten()).collect()
}
