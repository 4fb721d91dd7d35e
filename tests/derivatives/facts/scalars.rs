//! Facts 1 to 14: scalars, products, sharing, re-entrancy.

use polygrad::{BaseTensor, Concrete, Tensor, stack, tensor};

use super::check::{FINE, Scalar, everywhere, gradient, near, pushforward};
use super::programs::{bar, foo};

const FOO: [f64; 3] = [2.4396285219055063, -1.953374825727421, 0.9654825811012627];

type Three<X> = (X, X, X);

fn foo_sum<T: BaseTensor, const D: usize>((x, y, z): &Three<Tensor<T, D>>) -> Scalar<T> {
    foo(x, y, z).sum()
}

/// The point of the facts about `foo`, in every cell of a shape.
fn filled<const D: usize>(shape: [usize; D]) -> Three<Tensor<Concrete, D>> {
    (Tensor::full(shape, 1.1), Tensor::full(shape, 2.2), Tensor::full(shape, 3.3))
}

#[test]
fn fact_1_foo() {
    near(&gradient!(foo_sum, filled([])), &FOO, 1e-10);
}

#[test]
fn fact_2_foo_matrix() {
    let (x, y, z) = filled([2, 2]);
    everywhere(&foo(&x, &y, &z), 4.242393641025528, FINE);
    near(&foo_sum(&filled([2, 2])), &[16.96957456410211], FINE);
    let (x_bar, y_bar, z_bar) = gradient!(foo_sum, (x, y, z));
    everywhere(&x_bar, FOO[0], FINE);
    everywhere(&y_bar, FOO[1], FINE);
    everywhere(&z_bar, FOO[2], FINE);
}

#[test]
fn fact_4_foo_summed_in_single_precision() {
    fn program<T: BaseTensor>((x, y, z): &Three<Tensor<T, 3>>) -> Tensor<T, 0, f32> {
        foo(x, y, z).cast::<f32>().sum()
    }
    let (x_bar, y_bar, z_bar) = polygrad::direct::grad(program, &filled([3, 534, 3]));
    everywhere(&x_bar, FOO[0], 1e-5);
    everywhere(&y_bar, FOO[1], 1e-5);
    everywhere(&z_bar, FOO[2], 1e-5);
}

#[test]
fn fact_4_foo_of_both_precisions() {
    type Both<T> = (Scalar<T>, Tensor<T, 0, f32>, Scalar<T>);
    fn program<T: BaseTensor>((x, y, z): &Both<T>) -> Scalar<T> {
        foo(x, &y.cast(), z)
    }
    let (x_bar, y_bar, z_bar): Both<Concrete> = gradient!(program, (tensor(1.1), tensor(2.2f32), tensor(3.3)));
    near(&x_bar, &[2.439628436155373], FINE);
    // The nearest number to the derivative at 2.2f32 is the one next to this.
    near(&y_bar, &[-1.9533749], 1e-7);
    near(&z_bar, &[0.9654825479484146], FINE);
}

fn bar_of<T: BaseTensor>((x, y): &(Scalar<T>, Scalar<T>)) -> Scalar<T> {
    bar(x, y)
}

#[test]
fn fact_5_bar() {
    let x = (tensor(1.1), tensor(2.2));
    near(&gradient!(bar_of, x.clone()), &[3.1435239435581166, -1.1053869545195814], FINE);
    near(&pushforward!(bar_of, x, (tensor(0.1), tensor(0.2))), &[9.327500345189534e-2], FINE);
}

#[test]
fn fact_7_rank_one_hundred() {
    let mut shape = [1; 100];
    (shape[20], shape[40], shape[60], shape[80]) = (2, 11, 2, 111);
    let (x_bar, y_bar, z_bar) = gradient!(foo_sum, filled(shape));
    assert_eq!(x_bar.shape(), shape);
    everywhere(&x_bar, FOO[0], FINE);
    everywhere(&y_bar, FOO[1], FINE);
    everywhere(&z_bar, FOO[2], FINE);
}

#[test]
fn fact_8_baz_twice() {
    fn bar2<T: BaseTensor>(x: &Scalar<T>, y: &Scalar<T>, z: &Scalar<T>) -> Scalar<T> {
        let w = foo(x, y, z) * y.sin();
        z.atan2(&w) + z * &w
    }
    fn baz<T: BaseTensor>((_, y, z): &Three<Scalar<T>>) -> Scalar<T> {
        // A value from outside of what is differentiated.
        let c = foo(&tensor(7.0), &tensor(8.0), &tensor(9.0)).item();
        let w = bar2(y, y, z) * c * y.sin();
        z.atan2(&w) + z * &w
    }
    let first = gradient!(baz, filled([]));
    near(&first, &[0.0, -5219.20995030263, 2782.276274462047], FINE);
    assert_eq!(gradient!(baz, filled([])), first);
}

#[test]
fn fact_10_product_of_a_list() {
    #[expect(clippy::ptr_arg, reason = "what is differentiated is a tree, and a vector is one")]
    fn product<T: BaseTensor>(xs: &Vec<Scalar<T>>) -> Scalar<T> {
        xs.iter().fold(Tensor::scalar(1.0), |p, x| p * x)
    }
    near(&gradient!(product, [1.0, 2.0, 3.0, 4.0].map(tensor).to_vec()), &[24.0, 12.0, 8.0, 6.0], FINE);
}

#[test]
fn fact_11_part_of_an_unravelled_list() {
    fn program<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 1> {
        let elements: Vec<Scalar<T>> = (0..v.len()).map(|i| v.at([i])).collect();
        stack(&elements[..12])
    }
    let expected: Vec<f64> = (0..15).map(|i| if i < 12 { 1.0 } else { 0.0 }).collect();
    near(&gradient!(program, Tensor::linspace(-7.0, 7.0, 15)), &expected, 1e-10);
}

/// The product of two numbers through `n` steps that each change it very little, and use it thrice.
fn blowup<T: BaseTensor>(x: &Tensor<T, 1>, n: usize, gap: f64) -> Scalar<T> {
    let c = 0.499999985 * 0.499999985;
    (0..n).fold(x.at([0]) * x.at([1]), |y, _| {
        let s = &y + &y * &y / (&y - gap);
        (c * &s * &s).sqrt()
    })
}

#[test]
fn fact_14_shared_values_do_not_blow_up() {
    fn three<T: BaseTensor>(x: &Tensor<T, 1>) -> Scalar<T> {
        blowup(x, 3, 1e-9)
    }
    fn five<T: BaseTensor>(x: &Tensor<T, 1>) -> Scalar<T> {
        blowup(x, 5, 1e-6)
    }
    fn fifty<T: BaseTensor>(x: &Tensor<T, 1>) -> Scalar<T> {
        blowup(x, 50, 1e-6)
    }
    let x = || tensor([2.0, 3.0]);
    near(&gradient!(three, x()), &[2.999999730000007, 1.9999998200000046], FINE);
    near(&gradient!(five, x()), &[2.9999995500000267, 1.9999997000000178], FINE);
    near(&gradient!(fifty, x()), &[2.999995500001215, 1.99999700000081], FINE);
}

#[test]
fn the_kink_of_an_absolute_value_hides_a_pole() {
    fn program<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        (x * x).abs().recip()
    }
    near(&gradient!(program, tensor(0.0)), &[0.0], 0.0);
    near(&gradient!(program, tensor(2.0)), &[-0.25], FINE);
}
