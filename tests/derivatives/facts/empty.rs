//! Facts 65 to 68: arrays and loops without elements.

use polygrad::{BaseTensor, Concrete, Tensor, fold, map_accum, map_accum_reverse, tensor};

use super::check::{Scalar, gradient, near};

const NOTHING: [usize; 5] = [0, 2, 4, 0, 1];

#[test]
fn fact_65_constant_of_an_empty_shape() {
    fn program<T: BaseTensor>(x: &Tensor<T, 5>) -> Tensor<T, 5> {
        Tensor::full(x.shape(), 3.0)
    }
    fn pair<T: BaseTensor>((x, y): &(Tensor<T, 5>, Tensor<T, 5>)) -> Scalar<T> {
        (Tensor::full(x.shape(), 3.0) * y).sum()
    }
    let x: Tensor<Concrete, 5> = Tensor::zeros(NOTHING);
    assert_eq!(gradient!(program, x.clone()).shape(), NOTHING);
    assert_eq!(super::check::pushforward!(program, x, x).shape(), NOTHING);
    let (x_bar, y_bar) = gradient!(pair, (x.clone(), x));
    assert_eq!((x_bar.shape(), y_bar.shape()), (NOTHING, NOTHING));
}

#[test]
fn fact_67_empty_slice() {
    fn program<T: BaseTensor>(r: &Scalar<T>) -> Tensor<T, 1> {
        let two: Tensor<T, 1> = r.replicate(2);
        two.slice(0, 0..0)
    }
    near(&gradient!(program, tensor(1.1)), &[0.0], 0.0);
}

#[test]
fn fact_68_loops_of_no_trips() {
    fn forward<T: BaseTensor>(r: &Scalar<T>) -> Scalar<T> {
        let none: Tensor<T, 1> = r.replicate(0);
        let (last, outputs): (_, Tensor<T, 1>) = map_accum(r.clone(), &none, |c, x| (c.sin() * x, x.cos()));
        last + outputs.sum()
    }
    fn reverse<T: BaseTensor>(r: &Scalar<T>) -> Scalar<T> {
        let none: Tensor<T, 1> = r.replicate(0);
        let (last, outputs): (_, Tensor<T, 1>) = map_accum_reverse(r.clone(), &none, |c, x| (c.sin() * x, x.cos()));
        last + outputs.sum()
    }
    fn folded<T: BaseTensor>(r: &Scalar<T>) -> Scalar<T> {
        let none: Tensor<T, 1> = r.replicate(0);
        fold(r.clone(), &none, |c, x| c.sin() * x)
    }
    assert_eq!(forward(&tensor(1.1)), tensor(1.1));
    near(&gradient!(forward, tensor(1.1)), &[1.0], 0.0);
    near(&gradient!(reverse, tensor(1.1)), &[1.0], 0.0);
    near(&gradient!(folded, tensor(1.1)), &[1.0], 0.0);
}

#[test]
fn fact_68_nested_folds_of_no_trips() {
    fn nested<T: BaseTensor>(depth: usize, x: Scalar<T>, a: &Scalar<T>) -> Scalar<T> {
        let none: Tensor<T, 1> = a.replicate(0);
        fold(x, &none, |x, a| if depth == 0 { x.sin() * a } else { nested(depth - 1, x, a) })
    }
    fn five<T: BaseTensor>(r: &Scalar<T>) -> Scalar<T> {
        nested(4, r.clone(), r)
    }
    near(&gradient!(five, tensor(1.1)), &[1.0], 0.0);
}

#[test]
fn fact_68_sum_of_no_elements() {
    fn floats<T: BaseTensor>(x: &Tensor<T, 1>) -> Scalar<T> {
        x.sum()
    }
    fn integers<T: BaseTensor>(x: &Tensor<T, 1, i64>) -> Tensor<T, 0, i64> {
        x.sum()
    }
    assert_eq!(gradient!(floats, Tensor::zeros([0])), Tensor::zeros([0]));
    assert_eq!(gradient!(integers, Tensor::zeros([0])), Tensor::zeros([0]));
}
