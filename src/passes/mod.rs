//! Passes: programs to programs. One pass is one file, and one function of the same name.
//!
//! Law: a pass keeps the meaning of a program, up to rounding, in every interpreter, and never makes the program
//! asymptotically more expensive. No pass names an interpreter; none recurses over the length of a program. The
//! [`pipeline()`] lists all passes, each with its law, in the order in which they run.

mod batch;
mod checkpoint_loops;
mod fission;
mod induction_variables;
mod inline;
mod join_while_loops;
mod leaving_rows;
mod min_cut;
pub(crate) mod multi_tangent;
mod partial_evaluation;
mod pipeline;
mod propagate_one_hot;
mod reductions;
mod rematerialize;
mod replace_scalars;
mod select_to_branch;
mod simplify;
mod sink;
mod split_index_sets;
mod vectorize;

pub use crate::rewrite::{Options, Rule, rules};
pub use checkpoint_loops::checkpoint_loops;
use inline::inline;
pub use join_while_loops::join_while_loops;
pub(crate) use partial_evaluation::{constants_evaluated, partially_evaluated};
pub(crate) use pipeline::after;
pub use pipeline::{Keeps, Pass, Phase, Settings, changed_by, pipeline};
use rematerialize::rematerialize;
pub use replace_scalars::replace_scalars;
pub(crate) use select_to_branch::branched;
use select_to_branch::select_to_branch;
pub use simplify::{Fired, explain, simplify, simplify_with};
use sink::sink;
pub use split_index_sets::split_index_sets;
pub use vectorize::vectorize;

use std::collections::HashMap;
use std::sync::Arc;

use crate::program::{Builder, Op, Program, Rebuilt, run_by};

/// The program in the form in which it runs: in bulk, and simplified. The plain verbs and [`Function`](crate::Function)
/// run this form.
///
/// ```
/// use polygrad::passes::optimize;
/// use polygrad::{Function, build1, tensor};
/// let x = tensor([1.0, 2.0, 3.0]);
/// let f = Function::stage(|x| build1(3, |i| x.at([i]) + 0.0), &x);
/// assert_eq!(optimize(f.program()).to_string(), "program(x: f64[3]) {\n  return x\n}");
/// ```
pub fn optimize(program: &Program) -> Program {
    optimize_with(program, Options::default())
}

/// [`optimize`] with options.
///
/// Example: [`simplify_with`].
pub fn optimize_with(program: &Program, options: Options) -> Program {
    if options.rounds == 0 {
        return program.clone();
    }
    after(Phase::Optimize, program, &Settings { options, ..Settings::DEFAULT })
}

/// The program with each of its bodies simplified once, without facts about the operands of its loops: such facts
/// differ from loop to loop, and would turn one shared body into many.
fn body_by_body(program: &Program) -> Program {
    let mut simple: HashMap<u64, Program> = HashMap::new();
    for body in program.distinct(|op| run_by(op).into_iter()) {
        let mut b = Builder::new();
        let inputs = b.inputs(body.inputs(), &[]);
        let made = body.rebuilt(b, inputs, &mut |b, _, node, now| {
            let mut op = now.op(&node.op);
            if let Op::Loop(l) = &mut op {
                l.body = simple[&l.body.class()].clone();
            } else if let Op::Custom(c, _) = &mut op {
                let primal = simple[&c.primal().class()].clone();
                *c = Arc::new(c.with_primal(primal));
            } else {
                return now.again(b, node);
            }
            Rebuilt::One(b.cons(op, node.shape.clone(), node.dtype))
        });
        simple.insert(body.class(), made);
    }
    simple[&program.class()].clone()
}
