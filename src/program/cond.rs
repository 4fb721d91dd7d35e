//! Conditionals: functions that run one of two programs.
//!
//! The first argument is a mask of rank 0; both programs take the other arguments, and return values of the same kinds.
//! Law: the results are those of the primal program, which runs both branches and selects. What a run computes is one
//! branch: interpreters that know the mask run it alone ([`Custom::value`]), and so do compiled programs.
//!
//! The derivative is the conditional of the derivatives. In forward mode each branch carries tangents with its values
//! ([`with_tangents_of_branches`]). In reverse mode the branch that runs returns residuals, which the transposed branch
//! takes ([`Derivative::Residuals`]): both branches share the results for residuals of one kind, and those that a branch
//! does not have are zeros.

use std::sync::Arc;

use super::custom::{fit, kinds};
use super::repeat::{TripRule, WithTangents, closed, known};
use super::{Builder, Custom, CustomKind, Derivative, NodeId, Op, Program, Slot, Taking, Term, interpret};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::Linear;
use crate::shape::Shape;

/// The value of the mask of a conditional that an interpreter may act on: one that is known, where neither programs are
/// recorded, nor all trips of a loop must keep residuals of the same kinds.
pub(crate) fn decided<T: BaseTensor>(mask: &T) -> Option<bool> {
    known(mask).filter(|_| !T::records() && !T::runs_all_trips())
}

impl Custom {
    /// A conditional: a function `(mask, x) -> y` that runs `then : x -> y` if the mask, of rank 0, holds, and
    /// `otherwise : x -> y` if not.
    ///
    /// # Errors
    /// When the programs take or return other shapes or element types.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::program::{Custom, Term};
    /// use polygrad::{Array, BaseTensor, DType};
    /// let x = Term::variable(&[], DType::F64);
    /// let [sin, exp] = [Unary::Sin, Unary::Exp].map(|op| Term::program(&[x.clone()], &[x.unary(op)], &[]));
    /// let either = Custom::cond("either", sin?, exp?)?;
    /// assert_eq!(either.value(vec![Array::scalar(false), Array::scalar(0.0)]), [Array::scalar(1.0)]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn cond(name: &str, then: Program, otherwise: Program) -> Result<Custom, String> {
        let [first, other] = [&then, &otherwise].map(|program| [program.inputs(), program.outputs()]);
        for (k, what) in ["arguments of the other branch", "results of the other branch"].into_iter().enumerate() {
            fit(what, &kinds(other[k]).collect::<Vec<_>>(), &kinds(first[k]).collect::<Vec<_>>())?;
        }
        let absent = vec![false; then.outputs().len()];
        Ok(Custom::chosen(name, [then, otherwise], [absent.clone(), absent]))
    }

    /// [`Custom::cond`] of programs that take and return the same kinds of values, with marks for the results that a
    /// branch does not have.
    pub(crate) fn chosen(name: &str, [then, otherwise]: [Program; 2], absent: [Vec<bool>; 2]) -> Custom {
        debug_assert!(absent.iter().all(|marks| marks.len() == then.outputs().len()), "a mark for each result");
        let primal = selection(&then, &otherwise);
        Custom::of_kind(name, primal, CustomKind::Cond { then, otherwise, absent })
    }

    /// The same conditional with these marks for the results that a branch does not have. A result that is not zeros
    /// there gets no mark.
    ///
    /// # Errors
    /// When there is not one mark for each result and branch.
    pub(crate) fn with_absent(self, mut absent: [Vec<bool>; 2]) -> Result<Custom, String> {
        let CustomKind::Cond { then, otherwise, .. } = self.kind() else { return Ok(self) };
        for (program, marks) in [then, otherwise].into_iter().zip(&mut absent) {
            if marks.len() != program.results().len() {
                return Err("a branch has not one mark for each result".into());
            }
            for (r, mark) in program.results().iter().zip(marks) {
                *mark &= matches!(&program.nodes()[*r as usize].op, Op::Constant(c) if c.is_zero());
            }
        }
        let branches = [then.clone(), otherwise.clone()];
        Ok(Custom::chosen(self.name(), branches, absent))
    }

    /// The branches of a conditional: the program that runs where the mask holds, and the other one.
    pub(crate) fn branches(&self) -> Option<[&Program; 2]> {
        if let CustomKind::Cond { then, otherwise, .. } = self.kind() { Some([then, otherwise]) } else { None }
    }

    /// For each branch of a conditional the results that it does not have.
    pub(crate) fn absent(&self) -> [&[bool]; 2] {
        if let CustomKind::Cond { absent: [then, otherwise], .. } = self.kind() { [then, otherwise] } else { [&[]; 2] }
    }

    /// The results of a conditional: those of one branch if the mask is decided.
    pub(super) fn of_branch<T: BaseTensor>(&self, branches: [&Program; 2], mut args: Vec<T>) -> Vec<T> {
        match decided(&args[0]) {
            None => interpret(self.primal(), args),
            Some(holds) => {
                args.remove(0);
                interpret(branches[usize::from(!holds)], args)
            }
        }
    }

    /// The same conditional with these results alone, and the arguments that it still takes.
    pub(crate) fn with_branch_results(&self, branches: [&Program; 2], needed: &[bool]) -> Taking {
        let kept = branches.map(|program| {
            let results = program.results().iter().zip(needed).filter(|(_, needed)| **needed);
            program.with_results(&results.map(|(r, _)| *r).collect::<Vec<NodeId>>())
        });
        let of_needed =
            |marks: &[bool]| marks.iter().zip(needed).filter(|(_, needed)| **needed).map(|(m, _)| *m).collect();
        taking(self.name(), kept, self.absent().map(of_needed))
    }
}

/// The conditional of two programs without the arguments that neither uses.
fn taking(name: &str, branches: [Program; 2], absent: [Vec<bool>; 2]) -> Taking {
    let uses = branches.each_ref().map(Program::uses);
    let count = branches[0].inputs().len();
    let takes: Vec<bool> = (0..count).map(|k| uses.iter().any(|uses| uses[k] > 0)).collect();
    let branches = branches.map(|program| program.of_inputs(&takes));
    let takes = std::iter::once(true).chain(takes).collect();
    Taking { rule: Arc::new(Custom::chosen(name, branches, absent)), takes, steep: false }
}

/// The primal program of a conditional: both branches, and a selection of each result.
fn selection(then: &Program, otherwise: &Program) -> Program {
    let mut b = Builder::literal();
    let slot = |shape: &[usize], dtype| Slot { name: String::new(), shape: Shape::from_slice(shape), dtype };
    let mask = b.input(slot(&[], DType::Bool));
    let args: Vec<NodeId> = then.inputs().iter().map(|of| b.input(slot(&of.shape, of.dtype))).collect();
    let results = [then, otherwise].map(|program| {
        let now = b.copy(program, args.clone());
        program.results().iter().map(|r| now.of(*r)).collect::<Vec<NodeId>>()
    });
    let mut chosen = Vec::with_capacity(results[0].len());
    for ((x, y), out) in results[0].iter().zip(&results[1]).zip(then.outputs()) {
        let mask = match out.shape.is_empty() {
            true => mask,
            false => b.apply(Op::Linear(Box::new(Linear::replicate(&out.shape, &[])), mask)),
        };
        chosen.push(b.apply(Op::Select([mask, *x, *y])));
    }
    b.finish(&chosen, &[])
}

/// A branch at variables, with tangents for those that move.
struct MovedBranch {
    /// The values, then the tangents of those that move.
    inputs: Vec<Term>,
    results: WithTangents<Term>,
}

impl MovedBranch {
    fn of(program: &Program, (moving, steep): (&[bool], bool), trip: TripRule<'_>) -> MovedBranch {
        let x = Term::variables(program.inputs());
        let dot = |(x, moves): (&Term, &bool)| moves.then(|| Term::variable(x.shape(), x.dtype()));
        let dots: Vec<Option<Term>> = x.iter().zip(moving).map(dot).collect();
        let inputs = x.iter().chain(dots.iter().flatten()).cloned().collect();
        let results = trip(program, WithTangents { pairs: x.into_iter().zip(dots).collect(), steep });
        MovedBranch { inputs, results }
    }

    /// The program from values and tangents to the values of the results, then the tangents of those that move in
    /// either branch.
    fn closed(self, moves: &[bool]) -> Program {
        let pairs = self.results.pairs;
        let mut results: Vec<Term> = pairs.iter().map(|(y, _)| y.clone()).collect();
        let dots = pairs.into_iter().zip(moves).filter(|(_, moves)| **moves);
        results.extend(dots.map(|((y, dot), _)| dot.unwrap_or_else(|| Term::zeros(y.shape(), y.dtype()))));
        closed(&self.inputs, &results)
    }
}

/// The results of a conditional for arguments with tangents, by a conditional whose branches carry tangents beside
/// values, under a key for the marks of the arguments that have tangents, and for whether these are steep.
pub(crate) fn with_tangents_of_branches<T: BaseTensor>(
    (rule, branches): (&Custom, [&Program; 2]),
    key: fn(Vec<bool>, bool) -> Derivative,
    args: WithTangents<T>,
    trip: TripRule<'_>,
) -> WithTangents<T> {
    let WithTangents { pairs, steep } = args;
    let moving: Vec<bool> = pairs.iter().map(|(_, dot)| dot.is_some()).collect();
    let both = rule.derived(key(moving.clone(), steep), || {
        let [then, otherwise] = branches.map(|program| MovedBranch::of(program, (&moving[1..], steep), trip));
        let steep = then.results.steep || otherwise.results.steep;
        let of = then.results.pairs.iter().zip(&otherwise.results.pairs);
        let takes: Vec<bool> = of.map(|(x, y)| x.1.is_some() || y.1.is_some()).collect();
        let absent = rule.absent().map(|marks| {
            let of_dots = marks.iter().zip(&takes).filter(|(_, moves)| **moves).map(|(mark, _)| *mark);
            marks.iter().copied().chain(of_dots).collect()
        });
        let rule = Arc::new(Custom::chosen(rule.name(), [then.closed(&takes), otherwise.closed(&takes)], absent));
        // The marks are those of the results here.
        Taking { rule, takes, steep }
    });
    let (mut inputs, mut dots) = (Vec::with_capacity(2 * pairs.len()), Vec::new());
    for (x, dot) in pairs {
        inputs.push(x);
        dots.extend(dot);
    }
    inputs.append(&mut dots);
    let mut results = T::custom(&both.rule, &inputs);
    let mut dots = results.split_off(both.takes.len()).into_iter();
    let with = |(y, moves): (T, &bool)| (y, if *moves { dots.next() } else { None });
    WithTangents { pairs: results.into_iter().zip(&both.takes).map(with).collect(), steep: both.steep }
}
