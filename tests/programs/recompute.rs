//! Values that a loop computes again instead of reading what another loop has stored.
//!
//! Law: which values are stored changes no bit. Guards look at the memory that a run takes.

use polygrad::backend::{Executable, compile};
use polygrad::internals::compile_in_small_blocks;
use polygrad::ops::{Binary, Linear, Unary};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, iterate};

const N: usize = 40;

fn waves(shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    Array::new(shape, (0..n).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<f64>>())
}

fn bits(arrays: &[Array]) -> Vec<u64> {
    let floats = |a: &Array| a.to_vec::<f64>().expect("floats");
    arrays.iter().flat_map(floats).map(f64::to_bits).collect()
}

/// What the body of the first loop stores of each trip, from the carry, a sequence and a captured value, by operations
/// that round alike in all interpreters.
type Stores = fn(&Term, &Term, &Term) -> Vec<Term>;

/// A loop that stores values, one that reads them, in this order of trips, and those of the first that are returned.
fn pair(stores: Stores, reverse: bool, returned: &[usize]) -> (Program, Vec<Array>) {
    let inputs = vec![waves(&[N]), waves(&[5, N]), waves(&[N]).binary(Binary::Add, &Array::full(&[N], 2.0))];
    let v: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let (_, kept) = Term::map_accum(5, false, vec![v[0].clone()], &v[1..2], &mut |carry, rows| {
        let next = carry[0].binary(Binary::Mul, &rows[0]).unary(Unary::Abs).unary(Unary::Sqrt);
        (vec![next], stores(&carry[0], &rows[0], &v[2]))
    });
    let (carry, _) = Term::map_accum(5, reverse, vec![v[2].clone()], &kept, &mut |carry, rows| {
        let sum = rows.iter().fold(carry[0].clone(), |sum, row| sum.unary(Unary::Recip).binary(Binary::Mul, row));
        (vec![sum], Vec::new())
    });
    let results: Vec<Term> = carry.into_iter().chain(returned.iter().map(|k| kept[*k].clone())).collect();
    (Term::program(&v, &results, &[]).expect("a closed program"), inputs)
}

/// The bytes that values take.
fn values(executable: &Executable) -> usize {
    let text = executable.explain();
    let (_, rest) = text.split_once("values in ").expect("a report says how many bytes values take");
    rest.split_once(' ').and_then(|(bytes, _)| bytes.parse().ok()).expect("a number of bytes")
}

/// Asserts the law, and returns how many stacks fewer there are than in a run that stores everything.
#[track_caller]
fn spared(stores: Stores, reverse: bool, returned: &[usize]) -> usize {
    let (program, inputs) = pair(stores, reverse, returned);
    let expected = interpret(&program, inputs.clone());
    let executable = compile_in_small_blocks(&program);
    assert!(bits(&expected) == bits(&executable.run(&inputs)), "{program}\n{}", executable.explain());
    // Rows of so few elements are stored otherwise.
    values(&compile(&program)).saturating_sub(values(&executable)) / (5 * N * 8)
}

fn twice(x: &Term, y: &Term) -> Term {
    x.binary(Binary::Mul, y).binary(Binary::Add, x)
}

#[test]
fn cheap_functions_of_what_is_kept_are_not_stored() {
    for reverse in [false, true] {
        // Of the carry, a sequence and a captured value.
        assert_eq!(spared(|h, x, c| vec![h.clone(), twice(h, x).binary(Binary::Sub, c)], reverse, &[]), 1);
        // Of one another, and of a value that is kept because it is no cheap function.
        assert_eq!(
            spared(|h, x, _| vec![twice(x, x), h.unary(Unary::Recip), twice(&h.unary(Unary::Recip), x)], reverse, &[]),
            2
        );
        // Through a view.
        assert_eq!(spared(|h, _, _| vec![h.clone(), h.linear(&Linear::reverse(&[N], 0))], reverse, &[]), 1);
    }
}

#[test]
fn what_is_read_elsewhere_or_of_nothing_that_is_kept_is_stored() {
    let of_carry: Stores = |h, x, _| vec![h.clone(), twice(h, x)];
    assert_eq!(spared(of_carry, true, &[1]), 0);
    assert_eq!(spared(of_carry, true, &[0, 1]), 0);
    // Nothing says what the carry was.
    assert_eq!(spared(|h, x, _| vec![twice(h, x)], true, &[]), 0);
    assert_eq!(spared(|h, _, _| vec![h.unary(Unary::Recip), h.unary(Unary::Abs).unary(Unary::Sqrt)], true, &[]), 0);
}

#[test]
fn what_several_values_are_computed_from_is_stored_instead_of_them() {
    for reverse in [false, true] {
        // Neither is a function of the other: the quotient, which no other loop asks for, takes half of the memory.
        let of_quotient: Stores = |h, x, c| {
            let quotient = h.unary(Unary::Recip);
            vec![twice(&quotient, x), quotient.binary(Binary::Mul, c)]
        };
        assert_eq!(spared(of_quotient, reverse, &[]), 1);
        // An element of a row instead of the rows that repeat it: more than one stack, less than two.
        let repeated: Stores = |h, x, _| {
            let one = h.linear(&Linear::row(&[N], 0, 3)).linear(&Linear::replicate(&[N], &[]));
            vec![one.clone(), one.binary(Binary::Mul, x)]
        };
        assert_eq!(spared(repeated, reverse, &[]), 1);
    }
}

#[test]
fn a_nonlinear_time_step_keeps_its_states_alone() {
    fn step<T: BaseTensor>(u: &Tensor<T, 1>) -> Tensor<T, 1> {
        let n = u.shape()[0];
        let right = u.slice(0, 1..n).pad([(0, 1)]);
        let left = u.slice(0, 0..n - 1).pad([(1, 0)]);
        u - u * (&right - &left) * 0.1 + (right + left - u * 2.0) * 0.05
    }
    let (n, trips) = (8192, 30);
    let start = Tensor::<Concrete, 1>::from_raw(waves(&[n]));
    let f = Function::value_and_grad(|u| iterate(trips, u.clone(), |_, u| step(&u)).square().sum(), &start);
    let executable = compile(f.optimized());
    let stack = n * trips * 8;
    assert!(executable.peak_bytes() < 3 * stack / 2, "{}", executable.explain());
    // A row of a few numbers is stored: to start an operation takes longer.
    let small = Tensor::<Concrete, 1>::from_raw(waves(&[16]));
    let g = Function::value_and_grad(|u| iterate(trips, u.clone(), |_, u| step(&u)).square().sum(), &small);
    assert!(compile(g.optimized()).peak_bytes() > 2 * 16 * trips * 8);
    let inputs = [start.into_raw()];
    assert_eq!(bits(&executable.run(&inputs)[1..]), bits(&interpret(f.optimized(), inputs.to_vec())[1..]));
}

#[test]
fn rows_that_are_a_function_of_what_is_kept_have_no_stack() {
    let run = |scale: fn(&Term) -> Term, twice: bool| {
        let inputs = vec![waves(&[N]), waves(&[5, N])];
        let v: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
        let (_, kept) = Term::map_accum(5, false, vec![v[0].clone()], &v[1..2], &mut |carry, rows| {
            (vec![carry[0].binary(Binary::Mul, &rows[0]).unary(Unary::Abs).unary(Unary::Sqrt)], vec![carry[0].clone()])
        });
        let rows = scale(&kept[0]);
        let (carry, _) =
            Term::map_accum(5, true, vec![v[0].clone()], std::slice::from_ref(&rows), &mut |carry, rows| {
                (vec![carry[0].unary(Unary::Recip).binary(Binary::Mul, &rows[0])], Vec::new())
            });
        let results: Vec<Term> = carry.into_iter().chain(twice.then_some(rows)).collect();
        let program = Term::program(&v, &results, &[]).expect("a closed program");
        let executable = compile_in_small_blocks(&program);
        assert!(
            bits(&interpret(&program, inputs.clone())) == bits(&executable.run(&inputs)),
            "{}",
            executable.explain()
        );
        values(&executable) / (8 * N)
    };
    // Elements of other rows are no function of the row.
    let stored = run(|x| x.linear(&Linear::reverse(x.shape(), 0)), false);
    for scale in [
        (|x| x.binary(Binary::Mul, &Term::constant(Array::full(x.shape(), 3.0)))) as fn(&Term) -> Term,
        |x| x.unary(Unary::Square).unary(Unary::Neg),
        |x| Term::constant(Array::full(x.shape(), 1.0)).binary(Binary::Sub, x),
        // A value on the way that is used twice, and a value that is the same in all rows.
        |x| x.unary(Unary::Recip).binary(Binary::Mul, &x.unary(Unary::Recip).unary(Unary::Square)),
        |x| {
            let same = Term::constant(waves(&[N])).linear(&Linear::replicate(&[5, N], &[1]));
            x.binary(Binary::Mul, &same).unary(Unary::Abs).unary(Unary::Sqrt)
        },
    ] {
        assert!(run(scale, false) + 4 <= stored);
        // A sequence that is a result, too, is computed as it was.
        run(scale, true);
    }
}
