//! Triangles and diagonals of matrices, against their definitions, and their adjoints.

use polygrad::array::Rng;
use polygrad::direct::{grad, vjp};
use polygrad::{Array, Concrete, Tensor, tensor};

fn random(rng: &mut Rng, shape: &[usize]) -> Array {
    rng.uniform(shape, -1.0, 1.0)
}

#[test]
fn triangles_keep_one_side_of_a_diagonal() {
    let rng = &mut Rng::new(1);
    for [n, m] in [[3, 3], [2, 4], [4, 2], [1, 1], [0, 2], [2, 0]] {
        let stack: Tensor<Concrete, 3> = Tensor::constant(random(rng, &[2, n, m]));
        for k in -5..6i64 {
            let (low, high) = (stack.tril(k).to_vec(), stack.triu(k).to_vec());
            for (at, x) in stack.to_vec().into_iter().enumerate() {
                let (i, j) = (at / m % n, at % m);
                let over = j as i64 - i as i64;
                assert_eq!(low[at], if over <= k { x } else { 0.0 });
                assert_eq!(high[at], if over >= k { x } else { 0.0 });
            }
        }
    }
}

#[test]
fn triangles_hide_what_they_cut_off() {
    let x = tensor([[1.0, f64::NAN], [2.0, 3.0]]);
    assert_eq!(x.tril(0), tensor([[1.0, 0.0], [2.0, 3.0]]));
    assert_eq!(grad(|x| x.ln().tril(0).sum(), &tensor([[1.0, 0.0], [2.0, 4.0]])), tensor([[1.0, 0.0], [0.5, 0.25]]));
    assert_eq!(tensor([[true, true], [true, true]]).triu(1), tensor([[false, true], [false, false]]));
}

#[test]
fn diagonals_go_both_ways() {
    let rng = &mut Rng::new(2);
    for n in [0, 1, 4] {
        let v: Tensor<Concrete, 1> = Tensor::constant(random(rng, &[n]));
        let x: Tensor<Concrete, 2> = Tensor::constant(random(rng, &[n, n]));
        assert_eq!(v.diag().diagonal(0, 1), v);
        assert_eq!(v.diag(), Tensor::eye(n) * v.insert_axis(0));
        assert_eq!(x.trace(), x.diagonal(0, 1).sum());
        // Each is the adjoint of the other.
        let (_, pullback) = vjp(|v: &Tensor<_, 1>| v.diag(), &v);
        assert_eq!(pullback(&x), x.diagonal(0, 1));
        assert_eq!(grad(|x: &Tensor<_, 2>| x.trace(), &x), Tensor::eye(n));
    }
}

#[test]
fn identities_have_offsets() {
    for [n, m] in [[3, 3], [2, 4], [4, 2], [1, 3], [0, 2], [2, 0]] {
        for k in -5..6i64 {
            let ones = Tensor::<Concrete, 2>::ones([n, m]);
            assert_eq!(Tensor::eye_at([n, m], k), ones.tril(k).triu(k), "{n} x {m}, diagonal {k}");
        }
    }
    assert_eq!(Tensor::<Concrete, 2, i64>::eye_at([2, 2], -1), tensor([[0, 0], [1, 0]]));
}
