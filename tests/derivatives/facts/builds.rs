//! Facts 55 to 61: building by index.

use polygrad::{BaseTensor, Concrete, Tensor, build1, tensor};

use super::check::{FINE, Scalar, constants, gradient, near, pullback, pushforward, shaped};
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
