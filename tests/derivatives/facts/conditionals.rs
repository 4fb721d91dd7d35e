//! Facts 16 to 28: conditionals, comparisons, minimum and maximum.

use polygrad::{BaseTensor, Concrete, Tensor, build, build1, cond, tensor};

use super::check::{FINE, Scalar, constants, everywhere, gradient, near, pullback, pushforward};
use super::programs::bar;

#[test]
fn fact_16_piecewise_linear() {
    fn program<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        cond(x.gt(0.0), Tensor::scalar(2.0), Tensor::scalar(5.0)) * x
    }
    near(&gradient!(program, tensor(-42.0)), &[5.0], FINE);
    near(&gradient!(program, tensor(42.0)), &[2.0], FINE);
}

/// The rectifier as the product with a mask.
fn relu<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D> {
    x.le(0.0).select(0.0, 1.0) * x
}

/// The rectifier as the larger of 0 and `x`; on ties the 0 is chosen.
fn relu_max<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D> {
    Tensor::zeros(x.shape()).max(x)
}

#[test]
fn fact_17_relu() {
    fn table<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 2> {
        x.relu()
    }
    let x = || tensor([[1.1, -2.2, 0.0, 4.4], [5.5, 6.6, 7.7, 8.8], [-9.9, -10.0, 11.0, 12.0]]);
    let expected = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0];
    near(&gradient!(relu, x()), &expected, FINE);
    near(&gradient!(relu_max, x()), &expected, FINE);
    near(&gradient!(table, x()), &expected, FINE);
}

fn bar_relu<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D> {
    relu(&bar(x, &relu(x)))
}

fn bar_relu_max<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D> {
    relu_max(&bar(x, &relu_max(x)))
}

#[test]
fn fact_19_bar_relu() {
    near(&gradient!(bar_relu, tensor(1.1)), &[4.5309153191767395], FINE);
    let scaled = |y: &Scalar<Concrete>| constants(y, 42.2);
    near(&pullback!(bar_relu, tensor(1.1), scaled), &[191.20462646925841], FINE);
}

#[test]
fn fact_20_bar_relu_of_rank_three() {
    let x = || tensor([[[1.1], [2.0]], [[3.0], [4.2]]]);
    let expected = [4.5309153191767395, 4.5302138998556, -9.39547533946234, 95.29759282497125];
    near(&gradient!(bar_relu, x()), &expected, FINE);
    near(&gradient!(bar_relu_max, x()), &expected, FINE);
    let x_dot = tensor([[[0.1], [0.2]], [[0.3], [0.42]]]);
    let expected = [0.45309153191767404, 0.9060427799711201, -2.8186426018387007, 40.02498898648793];
    near(&pushforward!(bar_relu, x(), x_dot), &expected, FINE);
    near(&pushforward!(bar_relu_max, x(), x_dot), &expected, FINE);
}

#[test]
fn fact_23_indices_and_branches_from_values() {
    #[expect(clippy::approx_constant, reason = "the program says 3.14, not pi")]
    const ALMOST_PI: f64 = 3.14;
    fn program<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 1> {
        let r = v.sum();
        let far = Tensor::scalar(ALMOST_PI);
        let rows: Tensor<T, 1> = build1(3, |i| {
            let k = (i + r.floor().to_int()).clamp(0, 2);
            let taken = v.at([i * 2]).le(0.0) & i.abs().lt(6);
            bar(&far, &bar(&far, &v.at([k]))) + cond(&taken, &r, &(&r * 5.0))
        });
        let all: Tensor<T, 1> = r.replicate(v.len());
        rows / v.gt(&all).select(&all, v).slice(0, 1..4)
    }
    let expected = [5.037878787878788, -14.394255484765257, 43.23648655081373, -0.8403418295960368, 5.037878787878788];
    near(&gradient!(program, tensor([1.1, 2.2, 3.3, 4.0, 5.0])), &expected, FINE);
}

#[test]
fn fact_25_comparing_empty_tensors() {
    fn program<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        let one: Tensor<T, 1> = r.replicate(1);
        let empty = one.slice(0, 0..0);
        let equal = empty.ne(one.slice(0, 1..)).to_int().sum().eq(0);
        cond(&equal, &empty, &(&empty * 2.0))
    }
    assert_eq!(program(&tensor(3.0)).shape(), [0]);
    near(&gradient!(program, tensor(3.0)), &[0.0], FINE);
}

#[test]
fn fact_28_integer_maximum_as_a_factor() {
    fn program<T: BaseTensor>(v: &Tensor<T, 2>) -> Tensor<T, 4> {
        build([5, 2], |[i, j]| v.times(&j.max(i / (j + 1)).to_float()))
    }
    everywhere(&gradient!(program, tensor([[0.5, -1.0, 2.0], [4.0, 0.25, 1.0]])), 16.0, FINE);
}
