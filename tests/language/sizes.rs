//! Sizes up to the largest that an array can have, and views whose indices go far beyond it: nothing wraps.
//!
//! What is too large is refused in words: see `tests/errors/sizes.rs`.

use polygrad::inspect::count;
use polygrad::ops::{Contract, Linear, View};
use polygrad::passes::{optimize, vectorize};
use polygrad::program::{Program, interpret};
use polygrad::shape::{MAX_SIZE, is_possible};
use polygrad::{Array, BaseTensor, Concrete, DType, Function, Shapes, Tensor, build1, check, direct, grad, tensor};

type Vector<T> = Tensor<T, 1>;

fn ones(n: usize) -> Vector<Concrete> {
    Tensor::ones([n])
}

#[test]
fn repeated_numbers_have_the_size_they_say() {
    for n in [1 << 40, 1 << 53, 1 << 59, MAX_SIZE] {
        let x = ones(n);
        assert_eq!((x.size(), x.is_empty(), x.raw().size()), (n, false, n));
        assert_eq!(x.sum().item(), n as f64);
        assert_eq!((&x * 3.0).mean().item(), 3.0);
        assert_eq!(x.at([n as i64 - 1]).item() + x.at([n as i64]).item(), 1.0);
        assert_eq!(x.slice(0, n - 3..).to_vec(), [1.0; 3]);
        assert_eq!(x.reverse(0).slice_step(0, 1.., n / 2).to_vec(), [1.0; 2]);
        let empty = Tensor::<Concrete, 2>::zeros([0, n]);
        assert_eq!((empty.size(), empty.is_empty(), empty.sum().item()), (0, true, 0.0));
    }
    let square = Tensor::<Concrete, 2>::full([1 << 30, (1 << 30) - 1], 2.0);
    assert_eq!(square.sum().item(), 2f64.powi(61) - 2f64.powi(31));
    assert_eq!(square.sum_axis(0).slice(0, ..2).to_vec(), [2f64.powi(31); 2]);
    assert_eq!(square.t().reshape([(1 << 30) - 1, 1 << 15, 1 << 15]).shape()[2], 1 << 15);
}

#[test]
fn derivatives_of_huge_repetitions_are_right() {
    const N: usize = 1 << 59;
    let x = tensor([2.0, 3.0]);
    let f = |x: &Vector<_>| x.row(0).replicate::<1>(N).sum() + x.row(1).replicate::<1>(N / 2).mean();
    assert_eq!(direct::grad(f, &x), tensor([N as f64, 1.0]));
    assert_eq!(
        grad(|x: &Vector<_>| x.row(0).replicate::<1>(N).sum() + x.row(1).replicate::<1>(N / 2).mean(), &x),
        tensor([N as f64, 1.0])
    );
    // Recorded, a loop of that many trips is a few operations.
    let built = |x: &Vector<_>| build1::<_, 0, 1, _>(N / 2, |_| x.row(0)).sum();
    assert_eq!(grad(built, &x), tensor([N as f64 / 2.0, 0.0]));
}

#[test]
fn counts_of_huge_arrays_do_not_wrap() {
    let (_, tally) = count(|x: &Vector<_>| (x.sum() + x.square().sum()) * x.mean(), &ones(MAX_SIZE));
    assert_eq!(tally.total().bytes, u64::MAX);
    assert!(tally.total().work > MAX_SIZE as u64);
}

#[test]
fn shapes_are_as_far_as_arrays_can_be() {
    let square = Tensor::<Shapes, 2>::zeros([1 << 29, 1 << 30]);
    assert_eq!(
        check(|x: &Tensor<_, 2>| x.t().matmul(x).sum_outer(), &square.slice(1, ..1 << 29)).unwrap().shape(),
        [1 << 29]
    );
    let error = check(|x: &Tensor<_, 2>| x.t().matmul(x).sum_outer(), &square).unwrap_err();
    assert!(error.message.starts_with("matmul: "), "{error}");
}

/// Coefficients and offsets from everyday to absurd.
fn coefficients() -> [i64; 13] {
    [0, 1, -1, 2, -3, 1 << 20, 1 << 40, -(1 << 59), 1 << 60, i64::MAX / 4, i64::MIN / 4, i64::MAX, i64::MIN]
}

/// What a view looks at, in wider arithmetic.
fn exact(source: usize, row: &[i64], c: i64, index: &[usize]) -> Option<usize> {
    let at = row.iter().zip(index).map(|(m, i)| i128::from(*m) * *i as i128).sum::<i128>() + i128::from(c);
    usize::try_from(at).ok().filter(|at| *at < source)
}

#[test]
fn views_look_where_wider_arithmetic_says_or_are_refused() {
    let (mut made, mut refused) = (0, 0);
    for m in coefficients() {
        for k in coefficients() {
            for c in coefficients() {
                for shape in [[1, 1], [3, 2], [1, 4]] {
                    let make = || View::affine(&[7], &shape, &[m, k], &[c]);
                    let Ok(view) = std::panic::catch_unwind(make) else {
                        refused += 1;
                        let last = [shape[0] - 1, shape[1] - 1];
                        let far = |i: [usize; 2]| {
                            let at = i128::from(m) * i[0] as i128 + i128::from(k) * i[1] as i128 + i128::from(c);
                            at.abs() > i128::from(i64::MAX / 4)
                        };
                        assert!(
                            [[0, 0], [0, last[1]], [last[0], 0], last].into_iter().any(far),
                            "{m} {k} {c} {shape:?}"
                        );
                        continue;
                    };
                    made += 1;
                    let read = Array::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).linear(&Linear::read(view.clone()));
                    let read = read.to_vec::<f64>().unwrap();
                    for i in 0..shape[0] {
                        for j in 0..shape[1] {
                            let at = exact(7, &[m, k], c, &[i, j]);
                            assert_eq!(view.at(&[i, j]).map(|at| at[0]), at, "{view}");
                            assert_eq!(read[i * shape[1] + j], at.map_or(0.0, |at| at as f64 + 1.0), "{view}");
                        }
                    }
                }
            }
        }
    }
    assert!(made > 1000 && refused > 1000, "{made} {refused}");
}

#[test]
fn views_of_views_are_exact_or_none() {
    let views = |source: usize, n: usize| -> Vec<View> {
        let all = coefficients().into_iter().flat_map(|m| coefficients().map(|c| (m, c)));
        let make = |(m, c): (i64, i64)| std::panic::catch_unwind(|| View::affine(&[source], &[n], &[m], &[c])).ok();
        all.filter_map(make).collect()
    };
    let (inner, outer) = (views(1 << 59, 1 << 40), views(1 << 40, 3));
    let mut composed = 0;
    for f in &inner {
        for g in &outer {
            let Some(both) = f.after(g) else { continue };
            composed += 1;
            for i in 0..3 {
                let two = g.at(&[i]).and_then(|j| f.at(&j));
                assert_eq!(both.at(&[i]), two, "{f} after {g}");
            }
        }
    }
    assert!(composed > 1000, "{composed}");
}

#[test]
fn loops_whose_stacks_could_not_be_stay_loops() {
    // A body of 2^30 elements, 2^31 times: in bulk no array could hold it.
    let x = Vector::<Concrete>::ones([1 << 30]);
    let f = Function::stage(|x: &Vector<_>| build1::<_, 0, 1, _>(1 << 31, |i| x.times(&i.to_float()).sin().sum()), &x);
    let bulk = vectorize(f.program());
    assert!(bulk.to_string().contains("loop"), "{bulk}");
    let optimal = optimize(f.program());
    assert_eq!(interpret(&optimal, vec![Shapes::new(&[1 << 30], DType::F64)])[0].shape(), [1 << 31]);
    // Arrays could hold this one, and a trip costs more than its elements.
    let x = Vector::<Concrete>::ones([1 << 10]);
    let small =
        Function::stage(|x: &Vector<_>| build1::<_, 0, 1, _>(1 << 49, |i| x.times(&i.to_float()).sin().sum()), &x);
    assert!(!vectorize(small.program()).to_string().contains("loop"));
}

#[test]
fn every_possible_shape_is_one_of_a_program() {
    assert!(is_possible(&[MAX_SIZE]) && !is_possible(&[MAX_SIZE + 1]));
    let x = Vector::<Concrete>::ones([MAX_SIZE]);
    let f = Function::stage(|x: &Vector<_>| (x.sum(), x.reshape([MAX_SIZE, 1]).sum_axis(0)), &x);
    let text = serde_json::to_string(f.program()).unwrap();
    let loaded: Program = serde_json::from_str(&text).unwrap();
    assert_eq!(&loaded, f.program());
    assert_eq!(interpret(&loaded, vec![x.raw().clone()])[1], Array::from([MAX_SIZE as f64]));
    // A contraction may go over more points than an array has elements.
    let product = Contract::axes(&[1 << 29, 1 << 29, 1 << 29], &[0, 2], &[2, 1], &[0, 1]);
    let y = Array::full(&[1 << 29, 1 << 29], 1.0);
    assert_eq!(
        Shapes::contract(&product, &Shapes::new(y.shape(), y.dtype()), &Shapes::new(y.shape(), y.dtype())).shape(),
        y.shape()
    );
}
