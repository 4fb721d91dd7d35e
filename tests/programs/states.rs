//! The states of a loop, returned before and after each trip, lie in one stack.
//!
//! Law: which states a loop returns, from which start, in which direction, and what becomes of them later, changes no
//! bit. Guards count what is written in a trip.

use polygrad::backend::compile;
use polygrad::internals::compile_in_small_blocks;
use polygrad::ops::{Binary, Linear, Unary, View};
use polygrad::program::{Builder, Loop, Op, Program, Slot, Term, interpret};
use polygrad::{Array, BaseTensor, Concrete, DType, Function, Tensor, scan, while_loop_within};

/// The elements of a carry: so many that one element is added in place.
const ROW: usize = 20;

/// Where a loop starts.
#[derive(Clone, Copy, Debug)]
enum Start {
    Input,
    Part,
    Computed,
    Same,
}

/// What happens to the results.
#[derive(Clone, Copy, Debug)]
enum Then {
    Returned,
    Read,
    /// A number is added to one of the results in place, of which all are returned.
    Changed(usize),
    /// The results are the sequences of another loop.
    Again(bool),
}

/// What becomes of the first of two carries in a trip.
#[derive(Clone, Copy, Debug)]
enum Next {
    Computed,
    /// The next value is the carry with a number added in place.
    Added,
    /// The carry goes on under another shape.
    Reshaped,
    /// The next value is the other carry.
    Other,
    /// Both carries have one next value.
    Both,
}

/// One element of a row added at another place.
fn added(x: &Term, row: &Term) -> Term {
    let place = Linear::affine(View::affine(&[ROW], &[], &[], &[2]), View::affine(&[ROW], &[], &[], &[1]));
    x.binary(Binary::Add, &row.linear(&place))
}

/// A loop of two carries that returns the states of the first one before and after each trip, or one of both.
fn states(n: usize, reverse: bool, start: Start, next: Next, asked: [bool; 2], then: Then) -> Program {
    let x = Term::variable(&[2, ROW], DType::F64);
    let xs = Term::variable(&[n, ROW], DType::F64);
    let part = x.linear(&Linear::read(View::affine(&[2, ROW], &[ROW], &[0, 1], &[1, 0])));
    let h = match start {
        Start::Input => Term::variable(&[ROW], DType::F64),
        Start::Part => part.clone(),
        Start::Computed => part.unary(Unary::Square),
        Start::Same => Term::constant(Array::full(&[ROW], 0.5)),
    };
    let wide = Linear::reshape(&[ROW], &[1, ROW]);
    let narrow = Linear::reshape(&[1, ROW], &[ROW]);
    let (last, outputs) =
        Term::map_accum(n, reverse, vec![h.clone(), part], std::slice::from_ref(&xs), &mut |carry, row| {
            let (h, g) = (&carry[0], &carry[1]);
            let mut other = g.binary(Binary::Sub, &h.binary(Binary::Mul, &row[0]));
            let new = match next {
                Next::Computed => h.binary(Binary::Mul, &row[0]).binary(Binary::Add, g),
                Next::Added => added(h, &row[0]),
                Next::Reshaped => h.linear(&wide).linear(&narrow),
                Next::Other => g.clone(),
                Next::Both => other.clone(),
            };
            if let Next::Added | Next::Other = next {
                other = g.unary(Unary::Neg);
            }
            let outputs = [(asked[0], h.clone()), (asked[1], new.clone()), (true, g.clone())];
            (vec![new, other], outputs.into_iter().filter(|(asked, _)| *asked).map(|(_, value)| value).collect())
        });
    let mut results: Vec<Term> = last.into_iter().chain(outputs).collect();
    match then {
        Then::Returned => {}
        Then::Read => results.iter_mut().for_each(|r| *r = r.unary(Unary::Square)),
        Then::Changed(k) => {
            let k = k % results.len();
            let rank = results[k].shape().len();
            let at: Vec<i64> = vec![1; rank];
            let into = View::affine(results[k].shape(), &[], &[], &at);
            let place = Linear::affine(View::affine(&[2, ROW], &[], &[], &[0, 1]), into);
            let sum = results[k].binary(Binary::Add, &x.linear(&place));
            results.push(sum);
        }
        Then::Again(reverse) => {
            let (carry, outputs) = (results[..1].to_vec(), &results[2..]);
            let (last, again) = Term::map_accum(n, reverse, carry, outputs, &mut |carry, rows| {
                let sum = rows.iter().fold(carry[0].clone(), |sum, row| sum.binary(Binary::Sub, row));
                (vec![sum.clone()], vec![sum])
            });
            results = last.into_iter().chain(again).collect();
        }
    }
    let mut inputs = vec![x, xs];
    if let Start::Input = start {
        inputs.push(h);
    }
    Term::program(&inputs, &results, &[]).expect("a closed program")
}

fn waves(shape: &[usize], phase: f64) -> Array {
    let n = shape.iter().product::<usize>();
    Array::new(shape, (0..n).map(|i| (i as f64 * 0.7 + phase).sin() * 1.5).collect::<Vec<f64>>())
}

/// Asserts that a program gives the same bits compiled as interpreted, and the same again.
#[track_caller]
fn assert_exact(program: &Program, name: &str) {
    let inputs: Vec<Array> =
        program.inputs().iter().enumerate().map(|(k, slot)| waves(&slot.shape, k as f64)).collect();
    let expected = interpret(program, inputs.clone());
    for executable in [compile(program), compile_in_small_blocks(program)] {
        for _ in 0..2 {
            for (k, (a, b)) in expected.iter().zip(executable.run(&inputs)).enumerate() {
                assert_eq!(a.to_vec::<f64>(), b.to_vec::<f64>(), "result {k} of {name}\n{program}");
            }
        }
    }
}

#[test]
fn states_are_what_they_were_however_they_are_returned() {
    let asked = [[true, true], [true, false], [false, true], [false, false]];
    let nexts = [Next::Computed, Next::Added, Next::Reshaped, Next::Other, Next::Both];
    let thens = [Then::Returned, Then::Read, Then::Again(false), Then::Again(true)];
    // Starts are of equal right: each case has the next one.
    let mut starts = [Start::Input, Start::Part, Start::Computed, Start::Same, Start::Input].into_iter().cycle();
    for (n, reverse) in [1, 2, 3, 4].into_iter().flat_map(|n| [(n, false), (n, true)]) {
        for (next, asked) in nexts.iter().flat_map(|next| asked.map(|asked| (*next, asked))) {
            for (then, start) in thens.into_iter().chain((0..5).map(Then::Changed)).zip(&mut starts) {
                let name = format!("{n} trips, reverse {reverse}, {start:?}, {next:?}, {asked:?}, {then:?}");
                assert_exact(&states(n, reverse, start, next, asked, then), &name);
            }
        }
    }
}

#[test]
fn loops_in_loops_return_states() {
    // The inner states are the carry of the outer loop, one after the other.
    for reverse in [false, true] {
        let x = Term::variable(&[4, ROW], DType::F64);
        let (last, outputs) = Term::map_accum(3, reverse, vec![x.clone()], &[], &mut |carry, _| {
            let start = Term::constant(Array::full(&[ROW], 0.5));
            let (end, states) = Term::map_accum(4, !reverse, vec![start], &carry, &mut |h, row| {
                let next = h[0].binary(Binary::Mul, &row[0]).binary(Binary::Add, &h[0]);
                (vec![next.clone()], vec![h[0].clone(), next])
            });
            (vec![states[1].binary(Binary::Sub, &states[0])], vec![end[0].clone(), carry[0].clone()])
        });
        let results: Vec<Term> = last.into_iter().chain(outputs).collect();
        let program = Term::program(&[x], &results, &[]).expect("a closed program");
        assert_exact(&program, "nested loops");
        let text = compile(&program).explain();
        assert_eq!(text.lines().filter(|line| line.contains("1 carried (1 in stacks)")).count(), 2, "{text}");
    }
}

#[test]
fn the_gradient_of_a_cell_with_memory_writes_each_state_once() {
    type Cell<T> = (Tensor<T, 1>, Tensor<T, 1>);
    type Stacks<T> = (Tensor<T, 2>, Tensor<T, 2>);
    let x = Tensor::<Concrete, 2>::from_raw(waves(&[20, 24], 0.0));
    let w = Tensor::<Concrete, 2>::from_raw(waves(&[4, 24], 1.0));
    let start = Tensor::<Concrete, 1>::from_raw(waves(&[24], 2.0));
    let f = Function::grad_with(
        |(w, start): &(Tensor<_, 2>, Tensor<_, 1>), x: &Tensor<_, 2>| {
            let (hs, _): Stacks<_> = scan((start.clone(), start * 0.5), x.clone(), |(h, c): Cell<_>, x| {
                let gate = |k: usize| w.row(k) * &h + x;
                let c = gate(0).sigmoid() * &c + gate(1).sigmoid() * gate(2).tanh();
                (gate(3).sigmoid() * c.tanh(), c)
            });
            hs.square().sum()
        },
        &(w, start),
        &x,
    );
    let text = f.executable().explain();
    let mut lines = text.lines().skip_while(|line| !line.contains("loop of 20 trips, 2 carried (2 in stacks)"));
    assert!(lines.next().is_some(), "{text}");
    let body: Vec<&str> = lines.take_while(|line| line.starts_with("    ")).collect();
    // What is stored is stored by the operation that computes it.
    assert!(body.len() == 1 && !body[0].contains("write") && !body[0].contains("copy"), "{text}\n{}", f.optimized());
}

#[test]
fn a_loop_that_ends_has_the_last_states_after_any_number_of_trips() {
    type State = (Tensor<Term, 1>, Tensor<Term, 0>);
    for most in [4, 5] {
        // A carry of many elements has two places in turn.
        let f = |(x, end): &State| {
            let go = |(_, k): &State| k.lt(end.clone());
            let next = |(y, k): State| (y.reverse(0).sin() + 0.1, k + 1.0);
            while_loop_within(most, (x.clone(), Tensor::<Term, 0>::scalar(0.0)), go, next)
        };
        let x = Tensor::<Concrete, 1>::new([70], (0..70).map(|i| (f64::from(i) * 0.3).sin()).collect());
        let f = Function::stage(f, &(x.clone(), Tensor::scalar(0.0)));
        for trips in 0..7 {
            let inputs = [x.array().clone(), Array::scalar(f64::from(trips))];
            let expected = interpret(f.program(), inputs.to_vec());
            for executable in [compile(f.program()), compile_in_small_blocks(f.program())] {
                for (a, b) in expected.iter().zip(executable.run(&inputs)) {
                    let numbers = |a: &Array| a.to_vec::<f64>().expect("floats");
                    let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-14;
                    assert!(numbers(a).iter().zip(&numbers(&b)).all(near), "{trips} of {most}: {a} and {b}");
                }
            }
        }
    }
}

#[test]
fn a_state_that_is_the_one_before_by_another_name_is_written() {
    // A program of a file is not simplified: its carry goes on under another shape and back.
    let slot = |name: &str, shape: &[usize]| Slot { name: name.into(), shape: shape.into(), dtype: DType::F64 };
    let mut body = Builder::literal();
    let h = body.input(slot("h", &[4]));
    let wide = body.apply(Op::Linear(Box::new(Linear::reshape(&[4], &[2, 2])), h));
    let next = body.apply(Op::Linear(Box::new(Linear::reshape(&[2, 2], &[4])), wide));
    let body = body.finish(&[next, h, next], &[]);
    for reverse in [false, true] {
        let mut b = Builder::literal();
        let x = b.input(slot("x", &[4]));
        let (xs, captured) = (Vec::new(), Vec::new());
        let l = b.apply(Op::Loop(Box::new(Loop { n: 3, reverse, body: body.clone(), init: vec![x], xs, captured })));
        let results: Vec<_> = (0..3).map(|k| b.apply(Op::Output(l, k))).collect();
        let program = b.finish(&results, &[]);
        let inputs = [Array::from([1.0, 2.0, 3.0, 4.0])];
        let expected = interpret(&program, inputs.to_vec());
        for executable in [compile(&program), compile_in_small_blocks(&program)] {
            assert_eq!(executable.run(&inputs), expected, "{program}");
        }
    }
}
