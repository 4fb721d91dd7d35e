//! What stands beside a tensor: tensors of its rank, of rank 0, and numbers.

use polygrad::tensor::{Beside, Operand, Rank, RightSide};
use polygrad::{BaseTensor, Concrete, Tensor, concat, direct, grad, tensor};

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

#[test]
fn a_scalar_tensor_stands_beside_any_rank_on_either_side() {
    let (s, v, m) = (tensor(2.0), tensor([1.0, 4.0]), tensor([[1.0, 2.0], [4.0, 8.0]]));
    assert_eq!(&v + &s, tensor([3.0, 6.0]));
    assert_eq!(&s + &v, tensor([3.0, 6.0]));
    assert_eq!(&v - s.clone(), tensor([-1.0, 2.0]));
    assert_eq!(&s - &v, tensor([1.0, -2.0]));
    assert_eq!(v.clone() * &s, tensor([2.0, 8.0]));
    assert_eq!(s.clone() * v.clone(), tensor([2.0, 8.0]));
    assert_eq!(&m / &s, tensor([[0.5, 1.0], [2.0, 4.0]]));
    assert_eq!(&s / &m, tensor([[2.0, 1.0], [0.5, 0.25]]));
    assert_eq!(v.clone() + s.clone(), tensor([3.0, 6.0]));
    assert_eq!(s.clone() + m.clone(), tensor([[3.0, 4.0], [6.0, 10.0]]));
    assert_eq!(&s + &s, tensor(4.0));
    let high = Tensor::<Concrete, 8>::ones([1, 2, 1, 1, 1, 2, 1, 1]);
    assert_eq!((&high * &s).sum() + (&s * &high).sum(), tensor(16.0));
    let none = Tensor::<Concrete, 2>::zeros([0, 3]);
    assert_eq!((&none + &s).shape(), [0, 3]);
    assert_eq!((&s - &none).shape(), [0, 3]);
}

#[test]
fn integers_and_masks_have_scalars_too() {
    let (n, i) = (tensor(3), tensor([7, -7]));
    assert_eq!(&i % &n, tensor([1, -1]));
    assert_eq!(&n - &i, tensor([-4, 10]));
    assert_eq!(&i / &n, tensor([2, -2]));
    assert_eq!(tensor(true) & tensor([true, false]), tensor([true, false]));
    assert_eq!(tensor([true, false]) | tensor(true), tensor([true, true]));
    assert_eq!(2 * &i, tensor([14, -14]));
    assert_eq!(1 - i.clone(), tensor([-6, 8]));
}

#[test]
fn scalars_are_operands_of_functions_and_of_assignments() {
    let (s, v) = (tensor(2.0), tensor([1.0, 4.0]));
    assert_eq!(v.max(&s), tensor([2.0, 4.0]));
    assert_eq!(v.min(&s), tensor([1.0, 2.0]));
    assert_eq!(v.clamp(&s, &s + 1.0), tensor([2.0, 3.0]));
    assert_eq!(v.clamp(0.0, &s), tensor([1.0, 2.0]));
    assert_eq!(v.gt(&s), tensor([false, true]));
    assert_eq!(v.gt(&s).select(&s, &v), tensor([1.0, 2.0]));
    assert_eq!(v.gt(&s).select(0.0, &s), tensor([2.0, 0.0]));
    assert_eq!(v.gt(&s).select(&v, 0.0), tensor([0.0, 4.0]));
    assert_eq!(v.gt(&s).select(0.0, tensor(1.0_f32)), tensor([1.0_f32, 0.0]));
    assert_eq!(v.pow(&s), tensor([1.0, 16.0]));
    let mut x = v.clone();
    x += &s;
    assert_eq!(x, tensor([3.0, 6.0]));
    x -= s.clone();
    x *= &s;
    x /= &s;
    assert_eq!(x, v);
    x += &v;
    x -= 1.0;
    assert_eq!(x, tensor([1.0, 7.0]));
    // The assigned tensor keeps its shape; rows of size 1 are repeated.
    let mut m = tensor([[1.0, 2.0]]);
    m += tensor([[1.0], [2.0]]);
    assert_eq!(m, tensor([[2.0, 3.0], [3.0, 4.0]]));
}

/// A scalar beside other ranks, in every operator and function.
fn mixed<T: BaseTensor>(s: &Tensor<T, 0>, v: &Vector<T>, m: &Matrix<T>) -> Tensor<T, 0> {
    let normal = (v - v.mean()) / (v.square().mean() + 1.0).sqrt();
    let raised = s * m + m / s - (s - m);
    (normal.max(s) * s).sum() + (raised * s).tanh().sum()
}

/// The same with the scalar repeated by hand.
fn repeated<T: BaseTensor>(s: &Tensor<T, 0>, v: &Vector<T>, m: &Matrix<T>) -> Tensor<T, 0> {
    let over = |s: &Tensor<T, 0>| s.reshape([1]).broadcast_to(v.shape());
    let wide = s.reshape([1, 1]).broadcast_to(m.shape());
    let normal = (v - over(&v.mean())) / over(&(v.square().mean() + 1.0)).sqrt();
    let raised = &wide * m + m / &wide - (&wide - m);
    (normal.max(over(s)) * over(s)).sum() + (raised * &wide).tanh().sum()
}

#[test]
fn a_scalar_beside_a_tensor_is_the_scalar_repeated_and_so_are_its_derivatives() {
    let x = (tensor(0.7), tensor([1.0, 4.0, 0.5]), tensor([[0.1, 0.2], [0.4, 0.8]]));
    let flat = |(s, v, m): (Tensor<Concrete, 0>, Vector<Concrete>, Matrix<Concrete>)| {
        let rows = m.reshape([4]);
        concat(0, &[s.reshape([1]), v, rows])
    };
    let close = |a: Vector<Concrete>, b: Vector<Concrete>| assert!((a - b).abs().max_all().item() < 1e-14);
    assert!((mixed(&x.0, &x.1, &x.2) - repeated(&x.0, &x.1, &x.2)).abs().item() < 1e-14);
    close(flat(grad(|(s, v, m)| mixed(s, v, m), &x)), flat(grad(|(s, v, m)| repeated(s, v, m), &x)));
    close(
        flat(direct::grad(|(s, v, m): &(Tensor<_, 0>, Vector<_>, Matrix<_>)| mixed(s, v, m), &x)),
        flat(direct::grad(|(s, v, m): &(Tensor<_, 0>, Vector<_>, Matrix<_>)| repeated(s, v, m), &x)),
    );
}

#[test]
fn code_generic_in_the_rank_states_what_stands_beside() {
    fn centered<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D>
    where
        for<'a> &'a Tensor<T, 0>: RightSide<T, D, f64, Out = Tensor<T, D>>,
    {
        x - &x.mean()
    }
    fn squared<T: BaseTensor, const D: usize>(x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
        x * y - x * 2.0
    }
    fn floored<T: BaseTensor, const D: usize>(x: &Tensor<T, D>, floor: impl Operand<T, D, f64>) -> Tensor<T, D> {
        x.max(floor)
    }
    fn wide<const D: usize, const F: usize>(
        x: &Tensor<Concrete, D>,
        y: &Tensor<Concrete, F>,
    ) -> <Rank<D> as Beside<F>>::Out<Concrete, f64>
    where
        Rank<D>: Beside<F>,
    {
        x * y
    }
    let x = tensor([1.0, 3.0]);
    assert_eq!(centered(&x), tensor([-1.0, 1.0]));
    assert_eq!(squared(&x, &x), tensor([-1.0, 3.0]));
    assert_eq!(floored(&x, tensor(2.0)), tensor([2.0, 3.0]));
    assert_eq!(floored(&x, 2.0), tensor([2.0, 3.0]));
    assert_eq!(wide(&tensor(2.0), &x), tensor([2.0, 6.0]));
}

#[test]
fn data_of_many_types_are_constants() {
    let x = tensor([1.0, 2.0]);
    assert_eq!(&x * Tensor::constant(2.0), tensor([2.0, 4.0]));
    assert_eq!(&x * Tensor::constant([3.0, 4.0]), tensor([3.0, 8.0]));
    assert_eq!(&x * Tensor::constant(vec![3.0, 4.0]), tensor([3.0, 8.0]));
    assert_eq!(&x * Tensor::constant(&x), tensor([1.0, 4.0]));
    assert_eq!(&x * Tensor::constant(tensor(2.0)), tensor([2.0, 4.0]));
    let known: Vector<Concrete> = tensor(x.array().clone());
    assert_eq!(known, x);
    assert_eq!(grad(|y| (y * Tensor::constant(&x) * Tensor::constant(3.0)).sum(), &x), tensor([3.0, 6.0]));
}
