//! Facts 29 to 53: indexing, gathering and scattering, in and out of bounds, with division by zero in
//! indices.

use polygrad::{BaseTensor, Concrete, Tensor, build, build1, concat, cond, stack, tensor};

use super::check::{FINE, Scalar, elements, everywhere, gradient, near, ones, pullback, shaped};

fn overleaf<T: BaseTensor>(v: &Tensor<T, 1>) -> Scalar<T> {
    build1(50, |i| v.at([i % v.len() as i64])).sum_outer()
}

#[test]
fn fact_29_overleaf() {
    let expected: Vec<f64> = (0..28).map(|i| if i < 22 { 2.0 } else { 1.0 }).collect();
    near(&gradient!(overleaf, Tensor::linspace(0.0, 27.0, 28)), &expected, FINE);
    near(&gradient!(overleaf, tensor([7.0])), &[50.0], FINE);
}

#[test]
fn fact_29_overleaf_of_integers() {
    fn integers<T: BaseTensor>(v: &Tensor<T, 1, i64>) -> Tensor<T, 0, i64> {
        build1(50, |i| v.at([i % 28])).sum_outer()
    }
    fn floored<T: BaseTensor>(v: &Tensor<T, 1>) -> Scalar<T> {
        integers(&v.floor().to_int()).to_float()
    }
    let v: Tensor<Concrete, 1, i64> = Tensor::iota(28);
    assert_eq!(integers(&v), tensor(27 * 14 + 21 * 11));
    assert_eq!(gradient!(integers, v), Tensor::zeros([28]));
    assert_eq!(gradient!(floored, Tensor::linspace(0.5, 27.5, 28)), Tensor::zeros([28]));
}

/// `n` elements of the array that holds only `r`, at indices computed from their position.
fn of_one<T: BaseTensor>(
    r: &Scalar<T>,
    n: usize,
    index: impl Fn(&Tensor<T, 0, i64>) -> Tensor<T, 0, i64>,
) -> Tensor<T, 1> {
    let one: Tensor<T, 1> = r.replicate(1);
    one.take(&build1(n, index))
}

fn twice<T: BaseTensor>(a: &Tensor<T, 1>) -> Tensor<T, 1> {
    concat(0, [a, a])
}

#[test]
fn fact_32_quotients_as_indices() {
    fn four<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        twice(&of_one(r, 5, |i| 1 / (i + 4)))
    }
    fn five<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        twice(&of_one(r, 5, |i| 1 / (i + 5)))
    }
    near(&gradient!(four, tensor(1.1)), &[10.0], FINE);
    near(&gradient!(five, tensor(1.1)), &[10.0], FINE);
}

#[test]
fn fact_34_an_index_of_two_variables() {
    fn program<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        build1(10, |j| concat(0, [&r.replicate(5), &of_one(r, 5, |i| 1 / (j - i).max(1))]).at([j]))
    }
    near(&gradient!(program, tensor(1.1)), &[10.0], FINE);
}

#[test]
fn fact_35_one_quotient_is_out_of_bounds() {
    fn program<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        twice(&of_one(r, 5, |i| 1 / (5 - i)))
    }
    near(&gradient!(program, tensor(1.1)), &[8.0], FINE);
}

#[test]
fn fact_37_constant_indices_out_of_bounds() {
    fn above<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        of_one(r, 5, |_| Tensor::scalar(10000))
    }
    fn below<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        of_one(r, 5, |_| Tensor::scalar(-1))
    }
    fn single<T: BaseTensor>(r: &Scalar<T>) -> Scalar<T> {
        let one: Tensor<T, 1> = r.replicate(1);
        one.at([-1])
    }
    near(&above(&tensor(1.1)), &[0.0; 5], 0.0);
    near(&gradient!(above, tensor(1.1)), &[0.0], 0.0);
    near(&gradient!(below, tensor(1.1)), &[0.0], 0.0);
    near(&gradient!(single, tensor(1.1)), &[0.0], 0.0);
}

#[test]
fn fact_38_both_branches_out_of_bounds() {
    fn floats<T: BaseTensor>(a: &Tensor<T, 1>) -> Tensor<T, 1> {
        build1(10, |i| cond(i.lt(5), a.at([i - 5]), a.at([i])))
    }
    fn integers<T: BaseTensor>(a: &Tensor<T, 1, i64>) -> Tensor<T, 1, i64> {
        build1(10, |i| cond(i.lt(5), a.at([i - 5]), a.at([i])))
    }
    near(&floats(&tensor([1.0, 2.0, 3.0, 4.0, 5.0])), &[0.0; 10], 0.0);
    near(&gradient!(floats, tensor([1.0, 2.0, 3.0, 4.0, 5.0])), &[0.0; 5], 0.0);
    near(&gradient!(integers, tensor([1, 2, 3, 4, 5])), &[0.0; 5], 0.0);
}

/// A matrix to be indexed, with different elements.
fn seven_by_two() -> Tensor<Concrete, 2> {
    Tensor::<Concrete, 1>::linspace(-1.0, 2.0, 14).reshape([7, 2])
}

fn gather1<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 1> {
    build1(2, |i| t.at([&(i * 2), i]))
}

fn gather_nested1<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 1> {
    let i = Tensor::iota(2);
    t.take(&Tensor::iota(4)).gather([&(&i * 2), &i])
}

#[test]
fn fact_40_gather_of_gather() {
    let mut expected = [0.0; 14];
    (expected[0], expected[5]) = (1.0, 1.0);
    near(&gradient!(gather1, seven_by_two()), &expected, 0.0);
    near(&gradient!(gather_nested1, seven_by_two()), &expected, 0.0);
}

#[test]
fn fact_41_gather_in_a_branch_of_a_build() {
    fn program<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 2> {
        build1(5, |i| cond(i.gt(2), gather_nested1(t), t.at([i])))
    }
    let expected = [3.0, 1.0, 1.0, 1.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    near(&gradient!(program, seven_by_two()), &expected, 0.0);
}

fn gather12<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 2> {
    build([2, 4], |[i, k]| t.at([&(i * 3 + k), i]))
}

fn gather_nested12<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 2> {
    let rows: Tensor<T, 2, i64> = build([2, 4], |[i, k]| i * 3 + k);
    let columns: Tensor<T, 2, i64> = build([2, 4], |[i, _]| i.clone());
    t.take(&Tensor::iota(7)).gather([&rows, &columns])
}

#[test]
fn fact_43_gather_to_rank_two() {
    let expected = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
    near(&gradient!(gather12, seven_by_two()), &expected, 0.0);
    near(&gradient!(gather_nested12, seven_by_two()), &expected, 0.0);
}

#[test]
fn fact_44_one_row_of_a_build_with_branches() {
    fn program<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 2> {
        let rows: Tensor<T, 3> = build1(5, |i| {
            let repeated: Tensor<T, 2> = t.at([i]).replicate(4);
            cond(i.gt(2), gather_nested12(t), repeated.t())
        });
        rows.at([1])
    }
    let mut expected = [0.0; 14];
    (expected[2], expected[3]) = (4.0, 4.0);
    near(&gradient!(program, seven_by_two()), &expected, 0.0);
}

fn scatter_nested1<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 1> {
    let inner = Tensor::zeros([7, 2]).scatter_add([&Tensor::iota(7)], t);
    let places: Tensor<T, 2, i64> = build([7, 2], |[i, j]| j / (i + 1));
    Tensor::zeros([2]).scatter_add([&places], &inner)
}

#[test]
fn fact_46_scatter_of_scatter() {
    assert_eq!(scatter_nested1(&tensor([[0.0, 1.0]; 7])), tensor([6.0, 1.0]));
    everywhere(&gradient!(scatter_nested1, seven_by_two()), 1.0, 0.0);
}

#[test]
fn fact_46_scatter_in_a_branch_of_a_build() {
    fn program<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 2> {
        build1(5, |i| cond(i.gt(2), scatter_nested1(t), t.at([i])))
    }
    let expected: Vec<f64> = (0..14).map(|i| if i < 6 { 3.0 } else { 2.0 }).collect();
    near(&gradient!(program, seven_by_two()), &expected, 0.0);
}

#[test]
fn fact_47_scatter_to_a_clamped_index() {
    fn program<T: BaseTensor>(t: &Tensor<T, 2>) -> Tensor<T, 1> {
        let places: Tensor<T, 2, i64> = build([7, 2], |[i, j]| (j + i * 2).min(1));
        Tensor::zeros([2]).scatter_add([&places], t)
    }
    everywhere(&gradient!(program, seven_by_two()), 1.0, 0.0);
}

#[test]
fn fact_49_builds_indexed_at_once() {
    fn program<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 1> {
        build1(2, |i| {
            let middle: Tensor<T, 1> = build1(3, |j| {
                let inner: Tensor<T, 1> = build1(4, |k| v.at([k]));
                inner.at([j])
            });
            middle.at([i])
        })
    }
    near(&gradient!(program, tensor([1.1, 2.2, 3.3, 4.0, 5.0])), &[1.0, 1.0, 0.0, 0.0, 0.0], 0.0);
}

#[test]
fn fact_50_braided_builds() {
    fn program<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 2> {
        build([3, 4], |[i, j]| {
            let row: Tensor<T, 1> = stack([&j.to_float(), &Tensor::scalar(7.0), r, &Tensor::scalar(-0.2)]);
            row.at([i])
        })
    }
    near(&gradient!(program, tensor(1.1)), &[4.0], 0.0);
}

type Images<T> = (Tensor<T, 4>, Tensor<T, 4>);

/// The cost of matching two images at `count` disparities from `start` on: for each pixel the sum over
/// channels of the distance from the pixel so far to the left in the other image.
fn cost<T: BaseTensor>((left, right): &Images<T>, start: i64, count: usize) -> Tensor<T, 4> {
    let [n, channels, height, width] = left.shape();
    build([n, count, height, width], |[i, disparity, y, x]| {
        let column = x - (disparity + start);
        build1(channels, |c| (left.at([i, c, y, x]) - right.at([i, c, y, &column])).abs()).sum_outer()
    })
}

fn images() -> Images<Concrete> {
    let left = [0.2, 0.5, -0.2, 0.0001, 0.44, 0.9, -0.9, 0.00001, -0.22, -0.28, -0.34, -0.40];
    let right = [
        -0.40,
        -0.22,
        -0.28,
        -0.34,
        0.22360679774997896,
        0.35355339059327373,
        0.20412414523193154,
        0.5,
        -0.35355339059327373,
        0.16666666666666666,
        0.17677669529663687,
        -0.25,
    ];
    (shaped([1, 2, 3, 2], &left), shaped([1, 2, 3, 2], &right))
}

#[test]
fn fact_52_disparity() {
    fn from_zero<T: BaseTensor>(images: &Images<T>) -> Tensor<T, 4> {
        cost(images, 0, 4)
    }
    let value =
        [1.7041241452319316, 1.21999, 0.21355339059327375, 0.7867666666666666, 0.7331698975466578, 0.6964466094067263];
    super::check::starts(&from_zero(&images()), &value, 1e-7);
    let (left, right) = pullback!(from_zero, images(), Tensor::clone);
    let expected = [
        5.004124145231932,
        3.3241241452319317,
        -1.0464466094067264,
        1.7006200572599404,
        3.0731698975466575,
        4.5496165069533845,
        -5.004124145231932,
        -1.3240841452319316,
        -1.0464466094067264,
        -0.9933132760733929,
        -3.0731698975466575,
        -4.5496165069533845,
    ];
    near(&left, &expected, FINE);
    let expected = [
        -2.808238290463863,
        -1.21999,
        -0.5672067811865474,
        -0.7867666666666666,
        -1.986339795093316,
        -0.6964466094067263,
        2.808238290463863,
        1.21999,
        -0.5672067811865474,
        0.7867666666666666,
        1.986339795093316,
        0.6964466094067263,
    ];
    near(&right, &expected, FINE);
}

#[test]
fn fact_52_disparity_from_elsewhere() {
    fn from_one<T: BaseTensor>(images: &Images<T>) -> Tensor<T, 4> {
        cost(images, 1, 4)
    }
    fn from_two<T: BaseTensor>(images: &Images<T>) -> Tensor<T, 4> {
        cost(images, 2, 2)
    }
    let (_, right) = gradient!(from_one, images());
    near(&right, &[-1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0], FINE);
    let (left, _) = pullback!(from_two, images(), ones);
    near(&left, &[2.0, 2.0, -2.0, 2.0, 2.0, 2.0, -2.0, 2.0, -2.0, -2.0, -2.0, -2.0], FINE);
}

pub(crate) type Columns<T> = (Tensor<T, 1>, Tensor<T, 1>, Tensor<T, 1>);

pub(crate) fn vstack_of_slices<T: BaseTensor>((a, b, c): &Columns<T>) -> Tensor<T, 1> {
    let (n, zero) = (a.len(), Tensor::zeros([1]));
    a + concat(0, [&b.slice(0, 1..), &zero]) + concat(0, [&zero, &c.slice(0, ..n - 1)])
}

pub(crate) fn vstack_of_branches<T: BaseTensor>((a, b, c): &Columns<T>) -> Tensor<T, 1> {
    let n = a.len();
    build1(n, |i| {
        let (own, after, before) = (a.at([i]), b.at([i + 1]), c.at([i - 1]));
        let inside = cond(i.eq(n as i64 - 1), &(&own + &before), &(&own + &after + &before));
        cond(i.eq(0), &(&own + &after), &inside)
    })
}

#[test]
fn fact_53_vstack() {
    let filled = (Tensor::full([10], 1.0), Tensor::full([10], 2.0), Tensor::full([10], 3.0));
    let iota: Tensor<Concrete, 1> = Tensor::iota(10).to_float();
    let iotas = (iota.clone(), iota.clone(), iota.clone());
    let scaled = (iota.clone(), &iota * 2.0, &iota * 3.0);
    let cases = [
        (filled, [3.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 4.0]),
        (iotas, [1.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0, 24.0, 17.0]),
        (scaled, [2.0, 5.0, 11.0, 17.0, 23.0, 29.0, 35.0, 41.0, 47.0, 33.0]),
    ];
    for (columns, expected) in cases {
        near(&vstack_of_slices(&columns), &expected, 0.0);
        near(&vstack_of_branches(&columns), &expected, 0.0);
        let gradient = gradient!(vstack_of_slices, columns.clone());
        assert_eq!(elements(&gradient), elements(&gradient!(vstack_of_branches, columns)));
    }
}

#[test]
fn fact_53_vstack_of_a_million() {
    let column: Tensor<Concrete, 1> = Tensor::iota(1_000_000).to_float();
    let columns = (column.clone(), &column * 2.0, &column * 3.0);
    assert_eq!(vstack_of_branches(&columns), vstack_of_slices(&columns));
}
