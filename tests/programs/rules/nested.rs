//! A verb within a recorded program is recorded as the program of a `Function`.
//!
//! Law: a nested verb becomes the program that the verb of `Function` makes, or one that does no more; in a loop each
//! trip costs as much, but for what is moved so that trips run together.

use polygrad::inspect::count;
use polygrad::interpreters::Ast;
use polygrad::ops::{Binary, Linear};
use polygrad::program::{Program, Slot, interpret};
use polygrad::shape::size;
use polygrad::{
    Array, BaseTensor, Function, Tensor, hessian_matrix_with, hvp_with, jacobian_matrix_with, jvp_with,
    value_and_grad_with, vjp_with,
};

use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};

/// An objective at some level.
type At<T> = fn(&Leaves<T>, &Leaves<T>) -> Tensor<T, 0>;

/// Several results: the objective, and the squares of the arguments.
fn several<T: BaseTensor>(f: At<T>, x: &Leaves<T>, data: &Leaves<T>) -> Leaves<T> {
    let squares = x.0.iter().map(|x| x.binary(Binary::Mul, x));
    Leaves(std::iter::once(f(x, data).into_raw()).chain(squares).collect())
}

/// The work of a run.
fn work(program: &Program, inputs: &[Array]) -> u64 {
    let run = |x: &Leaves<_>| Leaves(interpret(program, x.0.clone()));
    count(run, &Leaves(inputs.to_vec())).1.total().work
}

/// Without names.
fn nameless(program: &Program) -> Program {
    program.named(&vec![""; program.inputs().len()], &vec![""; program.outputs().len()])
}

/// A verb with its arguments: those of the function, further ones, and data.
struct Verb {
    name: &'static str,
    /// The optimized program of the verb of `Function`.
    whole: Program,
    inputs: Vec<Array>,
    /// The nested verb.
    nested: fn(&Recorded, &[Ast]) -> Vec<Ast>,
}

/// The arguments of a case, what comes between them and data, and data.
fn parts<T: BaseTensor>(case: &Recorded, leaves: &[T]) -> (Leaves<T>, Leaves<T>, Leaves<T>) {
    let (x, rest) = leaves.split_at(case.x.0.len());
    let (between, data) = rest.split_at(rest.len() - case.data.0.len());
    (Leaves(x.to_vec()), Leaves(between.to_vec()), Leaves(data.to_vec()))
}

fn verbs(case: &Recorded) -> [Verb; 6] {
    let (x, data) = (&case.x, &case.data);
    let inputs = |between: &Leaves<Array>| [&x.0[..], &between.0, &data.0].concat();
    let none = Leaves(Vec::new());
    let bars = Leaves(std::iter::once(Array::from(1.0)).chain(x.0.iter().cloned()).collect());
    let dots = x.clone();
    [
        Verb {
            name: "value_and_grad",
            whole: Function::value_and_grad_with(|x: &Leaves<_>, d: &Leaves<_>| (case.eval)(x, d), x, data)
                .optimized()
                .clone(),
            inputs: inputs(&none),
            nested: |case, leaves| {
                let (x, _, data) = parts(case, leaves);
                let (y, g) = value_and_grad_with(|x: &Leaves<_>, d: &Leaves<_>| (case.eval)(x, d), &x, &data);
                [vec![y.into_raw()], g.0].concat()
            },
        },
        Verb {
            name: "jacobian_matrix",
            whole: Function::jacobian_matrix_with(|x: &Leaves<_>, d: &Leaves<_>| several(case.eval, x, d), x, data)
                .optimized()
                .clone(),
            inputs: inputs(&none),
            nested: |case, leaves| {
                let (x, _, data) = parts(case, leaves);
                let f = |x: &Leaves<_>, d: &Leaves<_>| several(case.eval, x, d);
                vec![jacobian_matrix_with(f, &x, &data).into_raw()]
            },
        },
        Verb {
            name: "hessian_matrix",
            whole: Function::hessian_matrix_with(|x: &Leaves<_>, d: &Leaves<_>| (case.eval)(x, d), x, data)
                .optimized()
                .clone(),
            inputs: inputs(&none),
            nested: |case, leaves| {
                let (x, _, data) = parts(case, leaves);
                vec![hessian_matrix_with(|x: &Leaves<_>, d: &Leaves<_>| (case.eval)(x, d), &x, &data).into_raw()]
            },
        },
        Verb {
            name: "jvp",
            whole: Function::jvp_with(|x: &Leaves<_>, d: &Leaves<_>| several(case.eval, x, d), x, data)
                .optimized()
                .clone(),
            inputs: inputs(&dots),
            nested: |case, leaves| {
                let (x, x_dot, data) = parts(case, leaves);
                let f = |x: &Leaves<_>, d: &Leaves<_>| several(case.eval, x, d);
                let (y, y_dot) = jvp_with(f, &x, &x_dot, &data);
                [y.0, y_dot.0].concat()
            },
        },
        Verb {
            name: "vjp",
            whole: Function::vjp_with(|x: &Leaves<_>, d: &Leaves<_>| several(case.eval, x, d), x, data)
                .optimized()
                .clone(),
            inputs: inputs(&bars),
            nested: |case, leaves| {
                let (x, y_bar, data) = parts(case, leaves);
                let f = |x: &Leaves<_>, d: &Leaves<_>| several(case.eval, x, d);
                let (y, pullback) = vjp_with(f, &x, &data);
                [y.0, pullback(&y_bar).0].concat()
            },
        },
        Verb {
            name: "hvp",
            whole: Function::hvp_with(|x: &Leaves<_>, d: &Leaves<_>| (case.eval)(x, d), x, data).optimized().clone(),
            inputs: inputs(&dots),
            nested: |case, leaves| {
                let (x, v, data) = parts(case, leaves);
                hvp_with(|x: &Leaves<_>, d: &Leaves<_>| (case.eval)(x, d), &x, &v, &data).0
            },
        },
    ]
}

/// What differs, what costs more in a loop, and the number of programs that were compared.
#[derive(Default)]
struct Same(Vec<String>, Vec<String>, usize);

/// How many trips.
const TRIPS: usize = 3;

/// The largest objectives that are compared, and the largest derivatives that are put into a loop, so that the test is
/// quick: larger ones where POLYGRAD_FUZZ is set.
fn largest() -> [usize; 2] {
    if std::env::var_os("POLYGRAD_FUZZ").is_some() { [40, 60] } else { [11, 18] }
}

/// The optimized program of the nested verb in a loop, and the inputs of that program.
fn in_a_loop(case: &Recorded, verb: &Verb) -> (Program, Vec<Array>) {
    let rows = |x: &Array| {
        let whole: Vec<usize> = std::iter::once(TRIPS).chain(x.shape().iter().copied()).collect();
        x.linear(&Linear::replicate(&whole, &(1..whole.len()).collect::<Vec<usize>>()))
    };
    let inputs: Vec<Array> = verb.inputs.iter().map(rows).collect();
    let trips = |rows: &Leaves<Ast>| {
        let mut trip = |_: Vec<Ast>, row: &[Ast]| (Vec::new(), (verb.nested)(case, row));
        Leaves(Ast::map_accum(TRIPS, false, Vec::new(), &rows.0, &mut trip).1)
    };
    (Function::stage(trips, &Leaves(inputs.clone())).optimized().clone(), inputs)
}

impl Visitor for Same {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

impl Same {
    fn look(&mut self, case: &Recorded) {
        let f = case.eval;
        if Function::stage_with(f, &case.x, &case.data).program().size() > largest()[0] {
            return;
        }
        for verb in verbs(case) {
            self.2 += 1;
            let inputs = Leaves(verb.inputs.clone());
            let staged = Function::stage(|leaves: &Leaves<Ast>| Leaves((verb.nested)(case, &leaves.0)), &inputs);
            let (nested, whole) = (nameless(staged.optimized()), nameless(&verb.whole));
            let once = work(&whole, &verb.inputs);
            if nested.to_string() != whole.to_string() {
                let work = work(&nested, &verb.inputs);
                if work > once || nested.size() > whole.size() {
                    self.0.push(format!("{}: {} {work} and {once}\n{nested}\n{whole}", case.name, verb.name));
                }
            }
            if whole.size() > largest()[1] {
                continue;
            }
            let (looped, inputs) = in_a_loop(case, &verb);
            // Trips that run together move arguments and results, count their trips, and do more than a constant does.
            let moved = |slots: &[Slot]| slots.iter().map(|slot| size(&slot.shape) as u64).sum::<u64>();
            let most = TRIPS as u64 * once * 5 / 4 + 2 * (moved(looped.inputs()) + moved(looped.outputs()));
            let work = work(&looped, &inputs);
            if work > most {
                self.1.push(format!("{}: {} {work}, once {once}\n{looped}\n{whole}", case.name, verb.name));
            }
        }
    }
}

#[test]
fn a_nested_verb_is_the_program_of_the_function() {
    let same: Vec<Same> = gallery::each_apart();
    let count: usize = same.iter().map(|same| same.2).sum();
    assert!(count > 400, "{count}");
    let all = |of: fn(&Same) -> &Vec<String>| same.iter().flat_map(of).map(String::as_str).collect::<Vec<&str>>();
    let (wrong, dear) = (all(|same| &same.0), all(|same| &same.1));
    assert!(wrong.is_empty(), "{} of {count} programs:\n{}", wrong.len(), wrong.join("\n"));
    assert!(dear.is_empty(), "{} of {count} programs in loops:\n{}", dear.len(), dear.join("\n"));
}
