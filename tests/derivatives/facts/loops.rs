//! Facts 79 to 86: folds, scans and loops with a carry.

use polygrad::{BaseTensor, Tensor, fold, map_accum_reverse, scan, stack, tensor};

use super::check::{FINE, Scalar, gradient, near, pushforward, relatively_near};
use crate::horde_ad::folds::{nested, over_scans, products};

/// The angle of the row sums of `sin x` to `sin(7 a)`, in every column of `x`.
fn step8<T: BaseTensor>(x: &Tensor<T, 2>, a: &Scalar<T>) -> Tensor<T, 2> {
    let [rows, columns] = x.shape();
    let sums: Tensor<T, 1> = x.sin().sum_axis(1);
    let angles = sums.atan2((a * 7.0).sin().replicate::<1>(rows));
    angles.replicate_axis(1, columns)
}

/// Three steps from `2 a` in all places of `[2, 5]`.
pub(crate) fn fold8<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 2> {
    fold(Tensor::zeros([2, 5]).plus(&(a * 2.0)), a.replicate::<1>(3), |x, a| step8(&x, a))
}

/// The values along the way of [`fold8`].
pub(crate) fn scan8<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 3> {
    scan(Tensor::zeros([2, 5]).plus(&(a * 2.0)), a.replicate::<1>(3), |x, a| step8(&x, a))
}

/// Iterated sines from `x`, with `n` steps.
fn sines<T: BaseTensor>(x: &Scalar<T>, n: usize) -> Tensor<T, 1> {
    scan(x.clone(), x.replicate::<1>(n), |x, _| x.sin())
}

#[test]
fn fact_79_scan_of_sines() {
    fn none<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 1> {
        sines(x, 0)
    }
    fn one<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 1> {
        sines(x, 1)
    }
    fn five<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 1> {
        sines(x, 5)
    }
    near(&gradient!(none, tensor(1.1)), &[1.0], FINE);
    near(&gradient!(one, tensor(1.1)), &[1.4535961214255773], FINE);
    near(&gradient!(five, tensor(1.1)), &[2.2207726343670955], FINE);
}

#[test]
fn fact_79_scan_of_matrices() {
    near(&gradient!(scan8, tensor(1.1)), &[9.53298735735276], FINE);
    let rows = pushforward!(scan8, tensor(1.1), tensor(1.0));
    let expected = [2.0, -0.5864059429583657, -0.24026418024701368, -0.2200311410593445];
    for (k, e) in expected.into_iter().enumerate() {
        near(&rows.row::<2>(k), &[e; 10], FINE);
    }
}

#[test]
fn fact_79_scans_of_rows() {
    fn of_rows<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 1> {
        scan(Tensor::scalar(84.0), a.replicate::<1>(3), |_: Scalar<T>, a: &Scalar<T>| a.sin())
    }
    fn of_both<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 1> {
        scan(a * 2.0, a.replicate::<1>(3), |x: Scalar<T>, a: &Scalar<T>| x.sin().atan2(a.sin()))
    }
    fn of_matrices<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 1> {
        let rows: Tensor<T, 3> = a.replicate::<1>(5).replicate::<2>(2).replicate(3);
        scan(a * 2.0, &rows, |x: Scalar<T>, a: &Tensor<T, 2>| {
            let sums: Tensor<T, 2> = a.replicate::<3>(7).permute([1, 0, 2]).sum_outer();
            let columns: Tensor<T, 1> = sums.sin().sum_outer();
            x.replicate::<1>(5).sin().atan2(columns).sum()
        })
    }
    fn of_sums<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 3> {
        let start: Tensor<T, 2> = a.replicate::<1>(1).replicate(2);
        scan(start, a.replicate::<1>(2), |x: Tensor<T, 2>, a: &Scalar<T>| x + a)
    }
    fn of_totals<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 3> {
        let start: Tensor<T, 2> = a.replicate::<1>(5).replicate(2);
        scan(start, a.replicate::<1>(2), |x: Tensor<T, 2>, _: &Scalar<T>| x.sum_axis::<1>(1).replicate_axis(1, 5))
    }
    near(&gradient!(of_rows, tensor(1.1)), &[1.360788364276732], FINE);
    near(&gradient!(of_both, tensor(1.1)), &[-0.4458209450295252], FINE);
    near(&gradient!(of_matrices, tensor(1.1)), &[4.126141830000979], FINE);
    near(&gradient!(of_sums, tensor(1.1)), &[12.0], FINE);
    near(&gradient!(of_totals, tensor(1.1)), &[310.0], FINE);
}

#[test]
fn fact_80_scan_over_two_rows() {
    fn constant<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 1> {
        scan(x.clone(), Tensor::<T, 1>::constant([5.0, 7.0]), |x, a| x.sin() - a)
    }
    fn dependent<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 1> {
        let rows: Tensor<T, 1> = stack([&(x * 5.0), &(x * 7.0)]);
        scan(x.clone(), &rows, |x, a| x.sin() - a)
    }
    near(&gradient!(constant, tensor(1.1)), &[1.1961317861865948], FINE);
    near(&gradient!(dependent, tensor(1.1)), &[-10.076255083995068], FINE);
}

#[test]
fn fact_82_iterated_sine() {
    fn both<T: BaseTensor>(x: &Scalar<T>) -> (Scalar<T>, Tensor<T, 1>) {
        map_accum_reverse(x.clone(), x.replicate::<1>(7), |x, _| (x.sin(), x.sin()))
    }
    fn last<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        both(x).0
    }
    fn outputs<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 1> {
        both(x).1
    }
    near(&gradient!(last, tensor(1.1)), &[8.621412119476068e-2], FINE);
    near(&gradient!(outputs, tensor(1.1)), &[1.4091291404665697], FINE);
}

#[test]
fn fact_83_the_last_row_comes_first() {
    fn program<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 1> {
        map_accum_reverse(x.clone(), Tensor::<T, 1>::zeros([5]), |x, _| (Tensor::scalar(1.0), x)).1
    }
    near(&program(&tensor(1.1)), &[1.0, 1.0, 1.0, 1.0, 1.1], FINE);
    near(&pushforward!(program, tensor(1.1), tensor(1.1)), &[0.0, 0.0, 0.0, 0.0, 1.1], FINE);
    near(&gradient!(program, tensor(1.1)), &[1.0], FINE);
}

#[test]
fn fact_85_nested_folds() {
    fn two<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        products(&[3, 7], 0.7, a)
    }
    fn three<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        products(&[2, 3, 4], 0.7, a)
    }
    relatively_near(&gradient!(two, tensor(1.1)), &[2.0504979297616553e-43], FINE);
    relatively_near(&gradient!(three, tensor(1.1)), &[3.175389686661287e-207], FINE);
}

#[test]
fn fact_85_deeply_nested_folds() {
    fn four<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        products(&[2, 1, 2, 1], 0.1, a)
    }
    fn five<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        products(&[1, 2, 1, 1, 2], 0.1, a)
    }
    fn ones<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        products(&[1; 5], 0.1, a)
    }
    fn six<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        products(&[1; 6], 0.1, a)
    }
    relatively_near(&gradient!(four, tensor(1.1)), &[7.320500000000004e-4], FINE);
    relatively_near(&gradient!(five, tensor(1.1)), &[1.2400927000000009e-5], FINE);
    relatively_near(&gradient!(ones, tensor(1.1)), &[0.22000000000000003], FINE);
    relatively_near(&gradient!(six, tensor(1.1)), &[0.22000000000000003], FINE);
}

#[test]
fn fact_86_nested_folds_of_tangents() {
    fn program<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        nested(&[2, 2, 2], &|x, a| x + a.tan(), a, a)
    }
    near(&gradient!(program, tensor(0.0001)), &[25.000016360009603], FINE);
}

#[test]
fn fact_86_folds_over_scans() {
    fn program<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        over_scans(0.44, a)
    }
    near(&gradient!(program, tensor(1.1)), &[2.877421010384167e-5], FINE);
    relatively_near(&gradient!(program, tensor(1.1)), &[2.877421010384167e-5], FINE);
    // The rows of one fold are the states of a scan, and its start is the end of another fold.
    fn rows<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        fold(a.clone(), a.replicate::<1>(2), |x: Scalar<T>, a: &Scalar<T>| {
            let start = fold(a.clone(), x.replicate::<1>(2), |y: Scalar<T>, x: &Scalar<T>| y * x);
            let rows: Tensor<T, 1> = scan(x, a.replicate::<1>(2), |y: Scalar<T>, a: &Scalar<T>| y + a);
            fold(start, &rows, |y: Scalar<T>, a: &Scalar<T>| 0.1 * y * a)
        })
    }
    relatively_near(&gradient!(rows, tensor(1.1)), &[6.213134457780058e-8], FINE);
}

#[test]
fn fact_86_scans_of_folds_of_folds() {
    /// Folds over the states of scans, as the steps of a scan, whose states are the lengths of an angle.
    fn program<T: BaseTensor>(a: &Scalar<T>) -> Tensor<T, 1> {
        fold((a * 2.0).replicate::<1>(3), a.replicate::<1>(2), |x: Tensor<T, 1>, a: &Scalar<T>| {
            let powers: Tensor<T, 1> =
                scan(Tensor::scalar(2.0), a.replicate::<1>(1), |y: Scalar<T>, a: &Scalar<T>| y * a);
            let up: Tensor<T, 1> = scan(x.sum(), &powers, |y: Scalar<T>, p: &Scalar<T>| y + p);
            let starts = Tensor::scalar(0.0);
            let rows: Tensor<T, 1> = scan(starts, x.slice(0, 0..1), |y: Scalar<T>, x: &Scalar<T>| y - x);
            let across: Tensor<T, 1> = scan(a.clone(), &rows, |x1: Scalar<T>, a1: &Scalar<T>| {
                fold(x1, a1.replicate::<1>(1), |x2: Scalar<T>, a2: &Scalar<T>| {
                    let sums: Tensor<T, 1> = scan(x2, a2.replicate::<1>(3), |y: Scalar<T>, a: &Scalar<T>| y + a);
                    fold(a2.clone(), &sums, |x3: Scalar<T>, a3: &Scalar<T>| 0.001 * (&x3 * a3 - &x3))
                })
            });
            up.atan2(across)
        })
    }
    near(&gradient!(program, tensor(1.1)), &[-0.20775612781643243], FINE);
}
