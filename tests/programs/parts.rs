//! Steps in parts, and scatter-adds in segments, on several threads.
//!
//! Law: results have the same bits on any number of threads, and agree with the interpreter up to the rounding of sums.
//! Guards count the parts that a report lists.

use polygrad::backend::{Executable, compile};
use polygrad::internals::compile_in_small_blocks;
use polygrad::ops::{Binary, Contract, Linear, Reduce, Unary};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor};

/// Runs in a pool of so many threads.
fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(run)
}

fn program(inputs: &[Array], f: impl FnOnce(&[Term]) -> Vec<Term>) -> Program {
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    Term::program(&variables, &f(&variables), &[]).expect("a closed program")
}

fn waves(shape: &[usize]) -> Array {
    let n = shape.iter().product();
    Array::new(shape, (0..n).map(|i| (i as f64 * 0.7).sin() * 3.0).collect::<Vec<f64>>())
}

fn floats(arrays: &[Array]) -> Vec<f64> {
    arrays.iter().flat_map(|a| a.cast::<f64>().to_vec::<f64>().expect("floats")).collect()
}

/// Whether all bits are equal, of numbers that are no NaN: they are equal, and zeros have one sign.
fn same_bits(a: &[Array], b: &[Array]) -> bool {
    let signs = |a: &[Array]| a.iter().map(|a| a.unary(Unary::Recip)).collect::<Vec<Array>>();
    a == b && signs(a) == signs(b)
}

/// Asserts the law.
#[track_caller]
fn assert_agrees(executable: &Executable, inputs: &[Array]) {
    let expected = interpret(executable.program(), inputs.to_vec());
    let one = with_threads(1, || executable.run(inputs));
    for (x, y) in floats(&expected).iter().zip(&floats(&one)) {
        assert!((x - y).abs() <= 1e-11 * x.abs().max(1.0), "{x:e} and {y:e}\n{}", executable.explain());
    }
    for threads in [2, 3, 5] {
        for _ in 0..2 {
            let found = with_threads(threads, || executable.run(inputs));
            assert!(same_bits(&found, &one), "{threads} threads: {found:?} and {one:?}\n{}", executable.explain());
        }
    }
}

/// The lines of a report that speak of parts.
fn in_parts(executable: &Executable) -> Vec<String> {
    executable.explain().lines().filter(|line| line.contains("in up to")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn sums_of_all_elements_are_added_in_the_same_parts() {
    let x = [waves(&[200_000])];
    let executable = compile(&program(&x, |v| {
        let y = v[0].unary(Unary::Sin);
        vec![y.linear(&Linear::sum(&[200_000], &[0])), y.unary(Unary::Exp)]
    }));
    assert_eq!(in_parts(&executable).len(), 1, "{}", executable.explain());
    assert_agrees(&executable, &x);
}

#[test]
fn sums_along_rows_and_down_columns_are_made_in_parts() {
    for axes in [&[1], &[0]] {
        let x = [waves(&[300, 40])];
        let executable = compile_in_small_blocks(&program(&x, |v| {
            let y = v[0].unary(Unary::Tanh);
            vec![y.linear(&Linear::sum(&[300, 40], axes)), y]
        }));
        assert_eq!(in_parts(&executable).len(), 1, "{}", executable.explain());
        assert_agrees(&executable, &x);
    }
}

#[test]
fn a_sum_onto_what_is_there_keeps_it() {
    // The carry of the loop is added to by all rows of a group.
    let x = [waves(&[3, 500]), Array::scalar(0.25)];
    let executable = compile_in_small_blocks(&program(&x, |v| {
        let (carry, _) = Term::map_accum(3, false, vec![v[1].clone()], &v[..1], &mut |carry, rows| {
            let sum = rows[0].unary(Unary::Sin).linear(&Linear::sum(&[500], &[0]));
            (vec![carry[0].binary(Binary::Add, &sum)], Vec::new())
        });
        carry
    }));
    assert_agrees(&executable, &x);
}

#[test]
fn rows_that_share_blocks_run_in_parts() {
    let x = [waves(&[128, 50])];
    let executable = compile_in_small_blocks(&program(&x, |v| {
        let rows = |y: &Term| y.linear(&Linear::replicate(&[128, 50], &[0]));
        let above = v[0].binary(Binary::Sub, &rows(&v[0].reduce(Reduce::Max { axis: 1 })));
        let y = above.unary(Unary::Exp);
        let share = y.binary(Binary::Div, &rows(&y.linear(&Linear::sum(&[128, 50], &[1]))));
        let total = share.unary(Unary::Square).linear(&Linear::sum(&[128, 50], &[0, 1]));
        vec![share, total]
    }));
    let found = in_parts(&executable);
    assert!(found.iter().any(|line| line.starts_with("128 rows")), "{}", executable.explain());
    assert_agrees(&executable, &x);
}

#[test]
fn a_loop_whose_rows_need_nothing_of_each_other_runs_in_parts() {
    // A batch of oscillators with a row of forces for each step; the carry, one stack, and a matrix product within rows.
    let x = [waves(&[60, 2]), waves(&[9, 60, 2])];
    for reverse in [false, true] {
        let executable = compile_in_small_blocks(&program(&x, |v| {
            let (carry, outputs) = Term::map_accum(9, reverse, vec![v[0].clone()], &v[1..], &mut |carry, rows| {
                let next = carry[0].unary(Unary::Sin).binary(Binary::Add, &rows[0]);
                (vec![next.clone()], vec![carry[0].clone(), next.unary(Unary::Tanh)])
            });
            [carry, outputs].concat()
        }));
        let found = in_parts(&executable);
        assert!(found.iter().any(|line| line.starts_with("loop of 9 trips")), "{}", executable.explain());
        assert_agrees(&executable, &x);
    }
}

#[test]
fn a_loop_whose_rows_meet_does_not_run_in_parts() {
    let x = [waves(&[60]), waves(&[9, 60])];
    let executable = compile_in_small_blocks(&program(&x, |v| {
        Term::map_accum(9, false, vec![v[0].clone()], &v[1..], &mut |carry, rows| {
            let turned = carry[0].linear(&Linear::reverse(&[60], 0));
            (vec![turned.unary(Unary::Sin).binary(Binary::Add, &rows[0])], Vec::new())
        })
        .0
    }));
    let found = in_parts(&executable);
    assert!(!found.iter().any(|line| line.starts_with("loop")), "{}", executable.explain());
    assert_agrees(&executable, &x);
}

#[test]
fn stencils_with_sides_run_in_parts() {
    let n = 700;
    let x = [waves(&[n, n])];
    let executable = compile(&program(&x, |v| {
        // The neighbour before or after along an axis, zero beyond the ends.
        let next = |axis: usize, after: bool| {
            let start = usize::from(after);
            let mut shape = [n, n];
            let inner = v[0].linear(&Linear::slice(&shape, axis, start, n - 1, 1));
            shape[axis] = n - 1;
            let (mut ends, at) = ([[0, 0]; 2], usize::from(after));
            ends[at][axis] = 1;
            inner.linear(&Linear::pad(&shape, &ends[0], &ends[1]))
        };
        let around = [next(0, true), next(0, false), next(1, true), next(1, false)].into_iter();
        vec![around.fold(v[0].unary(Unary::Exp), |sum, y| sum.binary(Binary::Add, &y))]
    }));
    let found = in_parts(&executable);
    assert!(found.iter().any(|line| line.contains("sides")), "{}", executable.explain());
    assert_agrees(&executable, &x);
}

#[test]
fn long_extrema_gathers_and_products_are_shared() {
    let n = 700_000;
    let mut numbers: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
    numbers[n / 2] = 7.0;
    let at: Vec<i64> = (0..200_000).map(|i| (i * 7919) % 800_000 - 50).collect();
    let x = [Array::from(numbers), Array::from(at), waves(&[170, 171]), waves(&[171, 172])];
    let executable = compile(&program(&x, |v| {
        vec![
            v[0].reduce(Reduce::Max { axis: 0 }),
            v[0].gather(&[v[1].clone()]),
            Term::contract(&Contract::axes(&[170, 172, 171], &[0, 2], &[2, 1], &[0, 1]), &v[2], &v[3]),
            Term::contract(&Contract::axes(&[n], &[0], &[0], &[]), &v[0], &v[0]),
        ]
    }));
    assert!(executable.explain().contains("parts"), "{}", executable.explain());
    assert_agrees(&executable, &x);
    assert_eq!(executable.run(&x)[0], Array::scalar(7.0));
}

/// Indices of rows, some of them out of bounds: in any order, sorted, or mostly one row.
fn indices(kind: &str, count: usize, rows: usize) -> Array {
    let mut ix: Vec<i64> = (0..count).map(|i| (i * 7919 % (rows + 20)) as i64 - 10).collect();
    match kind {
        "sorted" => ix.sort_unstable(),
        "mostly one" => ix.iter_mut().filter(|i| **i % 9 != 0).for_each(|i| *i = 5),
        _ => {}
    }
    Array::from(ix)
}

/// Scatter-adds of blocks of this shape onto zeros and onto a base that is kept.
fn scatters(base: &Array, ix: &[Array], v: &Array) -> (Program, Vec<Array>) {
    let inputs = [&[base.clone(), v.clone()], ix].concat();
    let made = program(&inputs, |t| {
        let zero = Term::constant(Array::full(base.shape(), 0.0));
        let onto = |base: &Term| base.clone().scatter_add(&t[2..], &t[1]);
        vec![onto(&zero), onto(&t[0]), t[0].unary(Unary::Sin)]
    });
    (made, inputs)
}

#[test]
fn many_additions_to_few_elements_are_made_in_parts() {
    for (block, count) in [(1, 3000), (3, 2000), (8, 1500), (33, 700)] {
        for kind in ["any", "sorted", "mostly one"] {
            let ix = indices(kind, count, 50);
            let (made, x) = scatters(&waves(&[50, block]), &[ix], &waves(&[count, block]));
            let executable = compile_in_small_blocks(&made);
            let found = in_parts(&executable);
            assert_eq!(found.iter().filter(|line| line.contains("scatter_add")).count(), 2, "{}", executable.explain());
            assert_agrees(&executable, &x);
        }
    }
    // One number for all elements, in two axes, one of which has the same index everywhere.
    let lists = [indices("any", 3000, 20), Array::full(&[3000], 4_i64)];
    let (made, x) = scatters(&waves(&[20, 6]), &lists, &Array::full(&[3000], 0.3));
    assert_agrees(&compile_in_small_blocks(&made), &x);
}

#[test]
fn scatters_to_segments_have_the_same_bits() {
    let (rows, count) = (9_000, 250_000);
    for kind in ["sorted", "any"] {
        for axes in [1, 2] {
            let lists = [indices(kind, count, rows), indices("any", count, 3)];
            let shape = [rows, 3];
            let (made, x) = scatters(&waves(&shape[..axes]), &lists[..axes], &waves(&[count]));
            assert_agrees(&compile(&made), &x);
        }
    }
    // Subarrays of more than a page, and a destination that does not stay in the caches.
    for (rows, block, count) in [(60, 600, 2_000), (1_100_000, 2, 40_000)] {
        let (made, x) = scatters(&waves(&[rows, block]), &[indices("any", count, rows)], &waves(&[count, block]));
        let executable = compile(&made);
        assert!(in_parts(&executable).iter().all(|line| !line.contains("scatter_add")), "{}", executable.explain());
        assert_agrees(&executable, &x);
    }
}
