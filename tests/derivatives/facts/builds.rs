//! Facts 55 to 61: building by index.

use polygrad::{BaseTensor, Concrete, Tensor, build1, map, stack, tensor};

use super::check::{FINE, Scalar, constants, gradient, near, pullback, pushforward, shaped, starts};
use super::programs::{T16, bar, foo};

#[test]
fn fact_55_sum_of_a_build() {
    fn program<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
        build1(10, |i| a * i.to_float()).sum_outer()
    }
    near(&gradient!(program, tensor(1.1)), &[45.0], FINE);
}

fn foo_build<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 1> {
    let (r, m) = (v.sum(), v.min_all());
    build1(3, |i| &r * foo(&Tensor::scalar(3.0), &(&r * 5.0), &(&r * &m * &m)) + bar(&r, &v.at([i + 1])))
}

#[test]
fn fact_56_foo_build() {
    let v = || tensor([1.1, 2.2, 3.3, 4.0]);
    let expected = [-4521.201512195087, -5568.7163677622175, -5298.386349932494, -4907.349735554627];
    near(&gradient!(foo_build, v()), &expected, FINE);
    let scaled = |y: &Tensor<Concrete, 1>| constants(y, 42.0);
    let expected = [-189890.46351219364, -233886.08744601303, -222532.22669716467, -206108.68889329425];
    near(&pullback!(foo_build, v(), scaled), &expected, 1e-9);
    let expected = [-296584.8166864211, -290062.472288043, -265770.1775742018];
    near(&pushforward!(foo_build, v(), Tensor::full([4], 42.0)), &expected, 1e-9);
}

/// Three numbers from 130 equal ones.
fn foo_map<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
    foo_build(&r.replicate::<1>(130)) * r + 5.0
}

#[test]
fn fact_56_foo_of_equal_numbers() {
    near(&gradient!(foo_map, tensor(1.1)), &[4.438131773948916e7], FINE);
}

/// Five numbers, each from minima of windows of equal numbers, a map, and builds within it.
fn nested_map<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
    let long: Tensor<T, 1> = r.replicate(177);
    let minima: Tensor<T, 1> = build1(5, |i| build1(7, |j| long.at([i + j])).min_all());
    map(&minima, |x: &Scalar<T>| {
        let bars: Tensor<T, 1> = build1(3, |i| bar(x, &long.at([i])));
        let ones: Tensor<T, 1> = map(x.replicate::<1>(4), |y: &Scalar<T>| x / y);
        x * (bars + foo_build(&ones) / foo_map(x)).sum()
    })
}

/// Thirteen sums of four numbers, each chosen from five of which four do not depend on which one it is.
fn nested_sum<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 1> {
    let total = v.sum();
    let positions = |n: usize| -> Scalar<T> { build1(n, |i| i.to_float()).sum() };
    let sums: Tensor<T, 1> = build1(13, |i| {
        let row: Tensor<T, 1> = build1(4, |j| {
            let totals: Scalar<T> = build1(6, |_| v.sum()).sum();
            let fifteen: Scalar<T> = build1(3, |k| k.to_float::<f64>().replicate::<1>(5).sum()).sum();
            let five: Tensor<T, 1> = stack([&i.to_float(), &positions(9), &totals, &v.at([&j]), &fifteen]);
            (total.replicate::<1>(5) * five).at([j])
        });
        row.sum()
    });
    let mapped = nested_map(&total);
    let rest: Tensor<T, 1> = build1(13, |i| mapped.at([i.clamp(0, 4)]));
    sums + rest
}

#[test]
fn fact_58_nested_builds() {
    near(&gradient!(nested_map, tensor(1.1)), &[107.25984443006627], FINE);
    let v = tensor([1.1, 2.2, 3.3, 4.0, -5.22]);
    let [all, fourth] = [-14084.715065313612, -14014.775065313623];
    near(&gradient!(nested_sum, v), &[all, all, all, fourth, all], FINE);
}

#[test]
fn fact_58_one_build_in_many_places() {
    fn program<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 5> {
        let sums = nested_sum(&r.replicate(7));
        sums.replicate::<2>(3).replicate::<3>(2).replicate::<4>(4).replicate(2)
    }
    near(&gradient!(program, tensor(0.0000001)), &[348356.9278600814], 1e-9);
}

#[test]
fn fact_62_foo_build_of_many_axes() {
    fn rows<T: BaseTensor>(n: usize, v: &Tensor<T, 5>) -> Tensor<T, 5> {
        let (r, m): (Tensor<T, 4>, _) = (v.sum_outer(), v.min_all());
        let three = Tensor::full(r.shape(), 3.0);
        build1(n, |i| &r * foo(&three, &(&r * 5.0), &(&r * &m)) + bar(&r, &v.at([(i + 1).clamp(0, 1)])))
    }
    fn three<T: BaseTensor>(v: &Tensor<T, 5>) -> Tensor<T, 5> {
        rows(3, v)
    }
    fn two<T: BaseTensor>(v: &Tensor<T, 5>) -> Tensor<T, 5> {
        rows(2, v)
    }
    let expected = [
        394056.00100873224,
        2652.651012139068,
        -190115.65273218407,
        9038.358355005721,
        1481231.4430045108,
        8665.8566966351,
        -686561.2828884773,
        975098.0370838332,
        405610.50900167174,
        247.29268093759174,
        -190893.00285812665,
        9131.411216464405,
        1388249.3520251075,
        8636.104329095837,
        -692176.9903632513,
        1027508.6863491047,
    ];
    let t16 = || shaped([2, 2, 1, 2, 2], &T16);
    near(&gradient!(three, t16()), &expected, FINE);
    let scaled = |y: &Tensor<Concrete, 5>| constants(y, 42.0);
    let expected = [1.1033568028244503e7, 74274.22833989389, -5323238.2765011545, 253074.03394016018];
    starts(&pullback!(two, t16(), scaled), &expected, FINE);
}

#[test]
fn fact_61_root_of_the_absolute_value() {
    fn program<T: BaseTensor>(v: &Tensor<T, 5>) -> Tensor<T, 5> {
        v.abs().sqrt()
    }
    let expected = [
        0.22360679774997896,
        0.35355339059327373,
        0.20412414523193154,
        0.5,
        -0.35355339059327373,
        500.0,
        1.5811388300841895,
        -1.118033988749895,
        0.1381447409988844,
        0.16666666666666666,
        0.17677669529663687,
        -0.25,
        8.574929257125441e-2,
        0.288948802391873,
        -8.703882797784893e-2,
        9.805806756909202e-2,
    ];
    near(&gradient!(program, shaped([2, 2, 1, 2, 2], &T16)), &expected, FINE);
}
