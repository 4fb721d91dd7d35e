//! Steps that run together, block of rows by block of rows.
//!
//! Law: what is computed does not depend on whether steps share blocks, up to the rounding of sums. Guards count what
//! runs in blocks, and the memory it takes, instead of timing it.

mod turned;

use polygrad::backend::{Executable, compile};
use polygrad::internals::compile_in_small_blocks;
use polygrad::passes::optimize;
use polygrad::program::{Program, Term, interpret};
use polygrad::symbolic::value_and_grad_in;
use polygrad::{Array, Concrete, DType, Function, Tensor, concat, einsum, iterate};

/// The lines of a report that say this.
fn count(executable: &Executable, words: &str) -> usize {
    executable.explain().lines().filter(|line| line.contains(words)).count()
}

/// The lines of a report that belong to the step at the first line that says this.
fn within(executable: &Executable, words: &str) -> Vec<String> {
    let text = executable.explain();
    let mut lines = text.lines().skip_while(|line| !line.contains(words));
    let depth = |line: &str| line.len() - line.trim_start().len();
    let outer = lines.next().map_or(0, depth);
    lines.take_while(|line| depth(line) > outer).map(|line| line.trim().to_owned()).collect()
}

fn waves(shape: &[usize]) -> Array {
    let n = shape.iter().product();
    Array::new(shape, (0..n).map(|i| (i as f64 * 0.7).sin() * 3.0).collect::<Vec<f64>>())
}

/// Asserts that a program gives the same in small blocks as it does interpreted, up to rounding, and the same again.
#[track_caller]
fn assert_agrees(program: &Program, inputs: &[Array]) -> Executable {
    let executable = compile_in_small_blocks(program);
    let expected = interpret(program, inputs.to_vec());
    for _ in 0..2 {
        for (a, b) in expected.iter().zip(executable.run(inputs)) {
            assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
            let numbers = |a: &Array| match a.dtype() {
                DType::I64 => a.to_vec::<i64>().expect("integers").iter().map(|x| *x as f64).collect::<Vec<f64>>(),
                DType::F64 | DType::F32 | DType::Bool => a.cast::<f64>().to_vec::<f64>().expect("floats"),
            };
            for (x, y) in numbers(a).iter().zip(numbers(&b)) {
                let same = *x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-13 * x.abs().max(1.0);
                assert!(same, "{x:e} and {y:e}\n{program}\n{}", executable.explain());
            }
        }
    }
    executable
}

/// The mean cross-entropy of rows of logits at their labels, with its gradient, optimized.
fn cross_entropy_program(rows: usize, columns: usize) -> Program {
    let x = Tensor::<Term, 2>::from_raw(Term::variable(&[rows, columns], DType::F64));
    let labels = Tensor::<Term, 1, i64>::from_raw(Term::variable(&[rows], DType::I64));
    let y = x.cross_entropy(1, &labels).mean().into_raw();
    let program = Term::program(&[x.into_raw(), labels.into_raw()], &[y], &[]).expect("a closed program");
    optimize(&value_and_grad_in(&optimize(&program), &[0]))
}

fn labels(rows: usize, columns: usize) -> Array {
    Array::new(&[rows], (0..rows).map(|i| (i * 7 % columns.max(1)) as i64).collect::<Vec<i64>>())
}

#[test]
fn a_softmax_is_one_pass_over_its_rows() {
    let program = cross_entropy_program(256, 1000);
    let executable = compile(&program);
    let inside = within(&executable, "256 rows");
    let passes = inside.iter().filter(|line| line.contains("group of 256000")).count();
    let maxima = inside.iter().filter(|line| line.contains("max of lines of 1000")).count();
    assert_eq!((passes, maxima), (2, 1), "{}", executable.explain());
    assert_eq!(count(&executable, "of 256000"), 2, "{}", executable.explain());
    // The logits have 2 MB. What is not a result has memory for some rows.
    assert!(executable.peak_bytes() < 256 << 10, "{}", executable.explain());
    let inputs = [waves(&[256, 1000]), labels(256, 1000)];
    let (a, b) = (interpret(&program, inputs.to_vec()), executable.run(&inputs));
    for (a, b) in a.iter().zip(b) {
        assert!(
            (a.to_vec::<f64>().expect("floats").iter())
                .zip(b.to_vec::<f64>().expect("floats"))
                .all(|(x, y)| (x - y).abs() <= 1e-13)
        );
    }
}

#[test]
fn blocks_of_all_sizes_agree() {
    for rows in [0, 1, 2, 3, 7, 8, 9, 64, 65] {
        for columns in [1, 2, 7, 16, 17, 64, 255, 513] {
            let program = cross_entropy_program(rows, columns);
            let executable = assert_agrees(&program, &[waves(&[rows, columns]), labels(rows, columns)]);
            assert!(rows < 7 || columns < 2 || count(&executable, "at a time") > 0, "{}", executable.explain());
        }
    }
}

/// The value and gradient of a function of an array, optimized.
fn gradient<const D: usize>(f: impl Fn(&Tensor<Term, D>) -> Tensor<Term, 0>, shape: [usize; D]) -> Program {
    let x = Tensor::<Concrete, D>::from_raw(waves(&shape));
    Function::value_and_grad(f, &x).optimized().clone()
}

#[test]
fn rows_of_several_axes_and_columns_agree() {
    for shape in [[6, 35], [12, 64], [35, 6]] {
        let x = waves(&shape);
        // Along the first axis no step runs by rows of the second; along both, sums cross the rows.
        let programs = [
            gradient(|x| x.softmax(1).square().sum(), shape),
            gradient(|x| x.softmax(0).square().sum(), shape),
            gradient(|x| (x.softmax(1) * x.softmax(0)).sum(), shape),
            gradient(|x| (x.logsumexp_axis(1) * x.max_axis(1)).sum() + x.logsumexp(), shape),
            gradient(|x| (x * 0.5).exp().t().softmax(1).square().sum(), shape),
        ];
        for program in &programs {
            assert_agrees(program, std::slice::from_ref(&x));
        }
        let executable = compile_in_small_blocks(&programs[0]);
        assert!(count(&executable, "at a time") > 0, "{}", executable.explain());
    }
}

#[test]
fn one_number_for_each_row_is_read_where_it_is_used() {
    for columns in [255, 256, 257, 300, 513, 1030] {
        let x = Tensor::<Concrete, 2>::from_raw(waves(&[5, columns]));
        let f = Function::stage(
            |x: &Tensor<Term, 2>| {
                let per_row = x.slice(1, ..1).sum_axis::<1>(1).replicate_axis::<2>(1, columns);
                let per_column = x.slice(0, ..1).sum_axis::<1>(0).replicate_axis::<2>(0, 5);
                let chosen = x.gt(&per_row).select(&per_row * 2.0 - x * 3.0, (x - &per_row).exp());
                (chosen, concat(1, [&per_row, x]), &per_row * &per_column, x.atan2(&per_row) + per_row.square())
            },
            &x,
        );
        let executable = assert_agrees(f.optimized(), &[waves(&[5, columns])]);
        let inputs = [waves(&[5, columns])];
        let expected = interpret(f.optimized(), inputs.to_vec());
        for (a, b) in expected.iter().zip(compile(f.optimized()).run(&inputs)) {
            let (a, b) = (a.to_vec::<f64>().expect("floats"), b.to_vec::<f64>().expect("floats"));
            assert!(
                a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * a.abs().max(1.0)),
                "{}",
                executable.explain()
            );
        }
    }
}

#[test]
fn diagonals_are_written_row_by_row() {
    // What is written along a diagonal, and cleared elsewhere, is read by a pass over the same rows.
    let x = Tensor::<Concrete, 1>::from_raw(waves(&[40]));
    let f = Function::stage(|x: &Tensor<Term, 1>| (x.diag() + x.replicate::<2>(40)).exp(), &x);
    let executable = assert_agrees(f.optimized(), &[waves(&[40])]);
    let inside = within(&executable, "40 rows");
    assert!(inside.iter().any(|line| line.contains("write")), "{}", executable.explain());
}

#[test]
fn products_run_by_rows() {
    for shape in [[4, 12, 12], [5, 3, 4], [40, 9, 10]] {
        let attention = gradient(
            |x| {
                let scores: Tensor<_, 3> = einsum("bid,bjd->bij", (x, &(x * 0.5)));
                let mixed: Tensor<_, 3> = einsum("bij,bjd->bid", (&scores.softmax(2), x));
                mixed.square().sum()
            },
            shape,
        );
        // The results of the rows lie between each other, and the rows of one factor do.
        let interleaved = gradient(
            |x| {
                let y: Tensor<_, 3> = einsum("bij,bjk->ikb", (&x.exp(), &x.sin().permute([0, 2, 1])));
                let z: Tensor<_, 3> = einsum("bij,ikb->bkj", (&x.cos(), &y));
                z.square().sum() * 0.001
            },
            shape,
        );
        let vectors = gradient(
            |x| {
                let weights = x.softmax(2);
                let sums: Tensor<_, 2> = einsum("bij,j->bi", (&weights, &x.at([0, 0])));
                sums.exp().sum()
            },
            shape,
        );
        for program in [&attention, &interleaved, &vectors] {
            assert_agrees(program, &[waves(&shape)]);
        }
        let executable = compile_in_small_blocks(&attention);
        let text = executable.explain();
        assert!(shape[0] == 5 || text.lines().any(|line| line.starts_with("    product")), "{text}");
    }
}

#[test]
fn blocks_run_within_loops() {
    let program = gradient(|x| iterate(3, x.clone(), |_, x| x.softmax(1) + x * 0.5).square().sum(), [8, 40]);
    let executable = assert_agrees(&program, &[waves(&[8, 40])]);
    let inside = within(&executable, "loop of 3 trips");
    assert!(inside.iter().any(|line| line.contains("at a time")), "{}", executable.explain());
}

#[test]
fn what_is_read_elsewhere_keeps_its_memory() {
    // The exponentials are a result, and the maxima are read by a step that crosses rows.
    let x = Tensor::<Concrete, 2>::from_raw(waves(&[16, 100]));
    let f = Function::stage(
        |x: &Tensor<Term, 2>| {
            let max: Tensor<Term, 1> = x.max_axis(1);
            let e = (x - max.replicate_axis::<2>(1, 100)).exp();
            let sums: Tensor<Term, 1> = e.sum_axis(1);
            (e.clone(), e / sums.replicate_axis::<2>(1, 100), max.softmax(0))
        },
        &x,
    );
    for program in [f.program(), f.optimized()] {
        assert_agrees(program, &[waves(&[16, 100])]);
    }
}
