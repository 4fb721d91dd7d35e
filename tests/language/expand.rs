//! Lower ranks beside higher ones, and tensors made of elements and of random numbers.

use polygrad::array::Rng;
use polygrad::tensor::Norm;
use polygrad::{BaseTensor, Concrete, Tensor, direct, grad, tensor};

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

#[test]
fn a_tensor_is_brought_up_along_its_last_axes() {
    let x = Tensor::<Concrete, 3>::from_fn([2, 3, 2], |[i, j, k]| (100 * i + 10 * j + k) as f64);
    let v = tensor([1.0, 2.0]);
    let m = tensor([[1.0], [2.0], [3.0]]);
    let up = v.up_to(&x);
    assert_eq!(up, Tensor::from_fn([2, 3, 2], |[_, _, k]| (k + 1) as f64));
    assert_eq!(m.up_to(&x), Tensor::from_fn([2, 3, 2], |[_, j, _]| (j + 1) as f64));
    assert_eq!(tensor(5.0).up_to(&x), Tensor::full([2, 3, 2], 5.0));
    assert_eq!(x.up_to(&x), x);
    assert_eq!(tensor([7.0]).up_to(&v), tensor([7.0, 7.0]));
    // The element type of what it is brought up to does not matter.
    assert_eq!(v.up_to(&tensor([[true, false]])), tensor([[1.0, 2.0]]));
    assert_eq!(v.expand::<3>().shape(), [1, 1, 2]);
    assert_eq!(v.expand::<1>(), v);
    assert_eq!(tensor(5.0).expand::<2>(), tensor([[5.0]]));
    let none = Tensor::<Concrete, 2>::zeros([0, 2]);
    assert_eq!(v.up_to(&none).shape(), [0, 2]);
    let high = Tensor::<Concrete, 8>::ones([1, 1, 1, 1, 1, 1, 2, 2]);
    assert_eq!((v.up_to(&high) * &high).sum(), tensor(6.0));
}

#[test]
fn reductions_keep_their_axis() {
    let x = tensor([[1.0, 3.0, 5.0], [2.0, 2.0, 8.0]]);
    for axis in 0..2 {
        let same = |kept: Matrix<Concrete>, reduced: Vector<Concrete>| {
            assert_eq!(kept, reduced.insert_axis::<2>(axis), "axis {axis}");
        };
        same(x.sum_keep(axis), x.sum_axis(axis));
        same(x.mean_keep(axis), x.mean_axis(axis));
        same(x.var_keep(axis), x.var_axis(axis));
        same(x.std_keep(axis), x.std_axis(axis));
        same(x.max_keep(axis), x.max_axis(axis));
        same(x.min_keep(axis), x.min_axis(axis));
        same(x.prod_keep(axis), x.prod_axis(axis));
        same(x.logsumexp_keep(axis), x.logsumexp_axis(axis));
        same(x.norm_keep(axis, Norm::One), x.norm_axis(axis, Norm::One));
    }
    assert_eq!(tensor([[1, 2], [3, 4]]).sum_keep(0), tensor([[4, 6]]));
    assert_eq!(tensor([1.0, 3.0]).mean_keep(0), tensor([2.0]));
}

#[test]
fn a_layer_norm_reads_like_its_formula() {
    fn norm<T: BaseTensor>(x: &Tensor<T, 3>, gain: &Vector<T>, bias: &Vector<T>) -> Tensor<T, 3> {
        (x - x.mean_keep(2)) / (x.var_keep(2) + 1e-3).sqrt() * gain.up_to(x) + bias.up_to(x)
    }
    fn by_hand<T: BaseTensor>(x: &Tensor<T, 3>, gain: &Vector<T>, bias: &Vector<T>) -> Tensor<T, 3> {
        let [n, l, _] = x.shape();
        let wide = |v: &Vector<T>| v.replicate::<2>(l).replicate::<3>(n);
        let mean: Matrix<T> = x.mean_axis(2);
        let var: Matrix<T> = x.var_axis(2);
        (x - mean.insert_axis(2)) / (var.insert_axis(2) + 1e-3).sqrt() * wide(gain) + wide(bias)
    }
    let mut rng = Rng::new(1);
    let data = (rng.normal([2, 3, 4], 0.0, 1.0), rng.normal([4], 1.0, 0.1), rng.normal([4], 0.0, 0.1));
    let weights = rng.normal([2, 3, 4], 0.0, 1.0);
    assert_eq!(norm(&data.0, &data.1, &data.2), by_hand(&data.0, &data.1, &data.2));
    type Args<T> = (Tensor<T, 3>, Vector<T>, Vector<T>);
    let close = |a: &Args<Concrete>, b: &Args<Concrete>| {
        assert!((&a.0 - &b.0).abs().max_all().item() < 1e-14);
        assert!((&a.1 - &b.1).abs().max_all().item() < 1e-14);
        assert!((&a.2 - &b.2).abs().max_all().item() < 1e-14);
    };
    let expected = grad(|(x, g, b)| (by_hand(x, g, b) * weights.lift()).sum(), &data);
    close(&grad(|(x, g, b)| (norm(x, g, b) * weights.lift()).sum(), &data), &expected);
    close(&direct::grad(|(x, g, b): &Args<_>| (norm(x, g, b) * weights.lift()).sum(), &data), &expected);
}

#[test]
fn tensors_are_made_of_elements() {
    let x = Tensor::<Concrete, 2>::new([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(x, tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
    assert_eq!(Tensor::from_fn([2, 3], |[i, j]| (3 * i + j + 1) as f64), x);
    assert_eq!(Tensor::from_fn([], |[]| 7), tensor(7));
    assert_eq!(Tensor::<Concrete, 2, bool>::from_fn([2, 0], |_| true).shape(), [2, 0]);
    // Also where a program is differentiated.
    let g = grad(|x| (x * Tensor::constant([[2.0], [3.0]])).sum(), &x);
    assert_eq!(g, tensor([[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]));
}

#[test]
fn random_tensors_are_the_random_arrays_of_the_shape() {
    let (mut a, mut b) = (Rng::new(3), Rng::new(3));
    assert_eq!(a.normal([2, 3], 1.0, 2.0).array(), &b.normal(&[2, 3], 1.0, 2.0));
    assert_eq!(a.uniform([4], -1.0, 1.0).array(), &b.uniform(&[4], -1.0, 1.0));
    let x: Tensor<_, 1, f32> = a.normal_as([5], 0.0, 1.0);
    assert_eq!(x.array(), &b.normal_as::<f32, _>(&[5], 0.0, 1.0));
    let y: Tensor<_, 2, f32> = a.uniform_as([5, 1], 0.0, 1.0);
    assert_eq!(y.array(), &b.uniform_as::<f32, _>(&vec![5, 1], 0.0, 1.0));
    assert_eq!(a, b);
}
