//! Linear algebra, exported: every operation on regular matrices, alone and in a batch, singular ones, numbers that are
//! not finite, and right-hand sides of zeros.

use polygrad::array::Rng;
use polygrad::ops::{Call, Linear, Matrix};
use polygrad::program::{Builder, Op, Slot, interpret};
use polygrad::{Array, BaseTensor, DType, Function, Tensor};

use crate::dumped::dump;
use crate::stablehlo::evaluate;
use crate::support::floats;

/// Matrices near to multiples of the identity, with positive eigenvalues.
fn regular(rng: &mut Rng, batch: usize, [m, n]: [usize; 2]) -> Array {
    let a = rng.uniform(&[batch, m, n], -1.0, 1.0).to_vec::<f64>().expect("floats");
    let raised = a.iter().enumerate().map(|(k, x)| if k / n % m == k % n { x + 4.0 } else { *x });
    Array::new(&[batch, m, n], raised.collect::<Vec<f64>>())
}

/// The factors that an operation takes as operands.
#[allow(clippy::wildcard_enum_match_arm, reason = "other operations take no factors")]
fn factors(op: Matrix) -> Option<Matrix> {
    match op {
        Matrix::Solve { .. } => Some(Matrix::LuFactor),
        Matrix::Lstsq { .. } | Matrix::NullProjection { .. } => Some(Matrix::LstsqFactor),
        Matrix::EighSolve => Some(Matrix::Eigh),
        Matrix::SvdSolve => Some(Matrix::Svd),
        _ => None,
    }
}

/// The arguments of an operation: two matrices of which one has no result in some way.
#[allow(clippy::wildcard_enum_match_arm, reason = "other operations take matrices alone")]
fn arguments(op: Matrix, rng: &mut Rng, kind: usize) -> Vec<Array> {
    let is_tall =
        matches!(op, Matrix::Qr | Matrix::Svd | Matrix::SvdSolve | Matrix::LstsqFactor | Matrix::Product { .. })
            || factors(op) == Some(Matrix::LstsqFactor);
    let (m, n) = if is_tall { (4, 3) } else { (3, 3) };
    let mut a = regular(rng, 2, [m, n]).to_vec::<f64>().expect("floats");
    match kind {
        // A column of zeros, a NaN, an infinity in the second matrix; zeros on the right in 4, 5 and 6, and in one column in
        // 7 and 8; equal eigenvalues.
        1 | 5 | 7 => (0..m).for_each(|i| a[m * n + i * n + 1] = 0.0),
        2 | 6 | 8 => a[m * n + 1] = f64::NAN,
        9 => (0..m * n).for_each(|k| a[m * n + k] = if k / n == k % n { 4.0 } else { 0.0 }),
        3 => a[m * n + n] = f64::INFINITY,
        0.. => {}
    }
    let a = Array::new(&[2, m, n], a);
    let rows = match op {
        Matrix::Product { transposed: false } | Matrix::Lstsq { transposed: true } => n,
        Matrix::NullProjection { transposed: false } => n,
        Matrix::EighSolve => n + 1,
        Matrix::SvdSolve => m + n + 2,
        _ => m,
    };
    let columns = match op {
        Matrix::ExpmTangent { .. } | Matrix::Recurrence { .. } | Matrix::EighSolve | Matrix::SvdSolve => n,
        _ => 2,
    };
    let mut b = rng.uniform(&[2, rows, columns], -1.0, 1.0);
    if (4..7).contains(&kind) {
        b = Array::zeros(b.shape(), DType::F64);
    }
    if (7..9).contains(&kind) {
        let numbers = b.to_vec::<f64>().expect("floats").into_iter().enumerate();
        b = Array::new(b.shape(), numbers.map(|(at, x)| if at % columns == 1 { 0.0 } else { x }).collect());
    }
    let mut args = vec![a, b];
    if let Some(factors) = factors(op) {
        args.extend(Array::call(&Call::Matrix(factors), &args[..1]));
    }
    args.truncate(op.arity());
    args
}

fn without_batch(args: &[Array]) -> Vec<Array> {
    args.iter().map(|a| a.linear(&Linear::row(a.shape(), 0, 0))).collect()
}

/// The exported text of an operation gives what the operation gives.
fn check(op: Matrix, case: &str, args: &[Array]) {
    let mut b = Builder::new();
    let slot = |a: &Array| Slot { name: String::new(), shape: a.shape().into(), dtype: a.dtype() };
    let ids: Vec<_> = args.iter().map(|a| b.input(slot(a))).collect();
    let call = Call::Matrix(op);
    let kinds: Vec<_> = args.iter().map(|a| (a.shape(), a.dtype())).collect();
    let count = call.results(&kinds).len();
    let call = b.apply(Op::Call(call, ids));
    let results: Vec<_> = (0..count).map(|k| b.apply(Op::Output(call, k))).collect();
    let program = b.finish(&results, &[]);
    let name = format!("matrix_{}_{case}", op.name());
    let exported = match program.exported(&name) {
        Ok(exported) => exported,
        Err(why) => panic!("{why}"),
    };
    let expected = interpret(&program, args.to_vec());
    dump(&name, &exported, args, &expected, 1e-10);
    let found = evaluate(&exported.text, args);
    for (k, (x, y)) in found.iter().zip(&expected).enumerate() {
        assert_eq!((x.shape(), x.dtype()), (y.shape(), y.dtype()), "{name}: result {k}");
        let (x, y) = (floats(x), floats(y));
        let size = y.iter().filter(|y| y.is_finite()).fold(1.0, |m: f64, y| m.max(y.abs()));
        let close = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-10 * size;
        let same = x.iter().zip(&y).all(|(x, y)| close(*x, *y));
        assert!(same, "{name}: result {k} is {x:?}, not {y:?}\n{}", exported.text);
    }
}

#[test]
fn every_operation() {
    let mut rng = Rng::new(11);
    for op in Matrix::ALL {
        for kind in (0..10).take(if op.arity() == 1 { 4 } else { 10 }) {
            // A column of zeros leaves the sign of a column of the factor open, and vectors of a singular value of 0.
            if kind == 1 && matches!(op, Matrix::Qr | Matrix::Svd | Matrix::LstsqFactor) {
                continue;
            }
            // Vectors of a singular value of 0 are open, so their coordinates are rounding errors or none.
            if (kind == 1 || kind == 7) && *op == Matrix::SvdSolve {
                continue;
            }
            // Products of an infinite factor with other factors are added to each other, infinities of both signs, too.
            if kind == 3 && matches!(op, Matrix::Recurrence { .. }) {
                continue;
            }
            let batched = arguments(*op, &mut rng, kind);
            let single = without_batch(&batched);
            for (form, args) in [batched, single].into_iter().enumerate() {
                check(*op, &format!("{kind}_{form}"), &args);
            }
        }
    }
}

/// Minors of sizes that are expanded and of one that is factorised, regular and singular, and orders of pivots.
#[test]
fn minors_and_pivots_of_several_sizes() {
    let mut rng = Rng::new(13);
    // The rank of the last matrix is so low that what is eliminated is singular; rows of zeros leave no rounding
    // errors.
    for (n, ranks) in [(1, vec![1]), (2, vec![1]), (5, vec![5]), (10, vec![10, 9, 5])] {
        for rank in ranks {
            let (left, right) = (rng.uniform(&[2, n, rank], -1.0, 1.0), rng.uniform(&[2, rank, n], -1.0, 1.0));
            let product = |k: usize| {
                let row = |x: &Array| Tensor::<Array, 3>::from_raw(x.clone()).row(k);
                let kept = Tensor::from_fn([n, n], |[i, _]| f64::from(u8::from(rank != 5 || i < rank)));
                row(&left).matmul(&row(&right)) * kept
            };
            let a = polygrad::stack(vec![product(0), product(1)]).into_raw();
            let without = (1..=8).map(|without| Matrix::Minors { without }).take(if n > 8 { 1 } else { n.min(3) });
            for op in without.chain((rank != 9).then_some(Matrix::Pivots)) {
                for (form, a) in [a.clone(), a.linear(&Linear::row(a.shape(), 0, 0))].into_iter().enumerate() {
                    check(op, &format!("{n}_{rank}_{form}"), &[a]);
                }
            }
        }
    }
}

/// The vectors of a singular value of 0 are anything that completes the others.
#[test]
fn singular_values_of_zero() {
    let mut rng = Rng::new(12);
    for [m, n] in [[4, 3], [3, 4], [3, 3]] {
        let (tall, wide) = (rng.uniform([m, 2], -1.0, 1.0), rng.uniform([2, n], -1.0, 1.0));
        let a = tall.matmul(&wide);
        let f = Function::stage(|a: &Tensor<_, 2>| a.svd::<1>(), &a);
        let exported = f.exported("svd").expect("it is exported");
        let found: Vec<Array> = evaluate(&exported.text, &[a.raw().clone()]);
        let [u, vt] = [0, 2].map(|k| Tensor::<Array, 2>::from_raw(found[k].clone()));
        let s = Tensor::<Array, 1>::from_raw(found[1].clone());
        let close = |what: &str, x: Tensor<Array, 2>, y: Tensor<Array, 2>| {
            assert!((x - y).abs().sum().item() < 1e-12, "{what} of {m} x {n}");
        };
        let one = || Tensor::<Array, 2>::eye(3);
        close("the left vectors", u.t().matmul(&u), one());
        close("the right vectors", vt.matmul(&vt.t()), one());
        close("the product", (&u * s.up_to(&u)).matmul(&vt), a);
        assert!(s.at([2]).item().abs() < 1e-12);
    }
}

/// The sign of a singular matrix is +0, also where rows were exchanged an odd number of times.
#[test]
fn the_sign_of_a_singular_matrix_is_positive_zero() {
    let a: Tensor<Array, 2> = polygrad::tensor([[1.0, 2.0], [2.0, 4.0]]);
    let f = Function::stage(|a: &Tensor<_, 2>| a.slogdet::<0>().0, &a);
    let found = evaluate(&f.to_stablehlo("sign").expect("it is exported"), &[a.into_raw()]);
    assert_eq!(floats(&found[0])[0].to_bits(), 0.0f64.to_bits());
}
