//! Derivatives with respect to complex numbers: those of holomorphic functions, and pairs of Wirtinger derivatives.
//!
//! Law: `grad` of a real function `L` of `z = x + i y` is `dL/dx + i dL/dy`, as for any tree of two leaves. The verbs
//! here are made of plain verbs, and state what their results mean for a complex function.

use super::verbs::{grad, vjp};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Complex;

/// The complex derivative of a holomorphic function of `n` complex numbers with one complex number as its result:
/// `df/dz` for each element of `z`.
///
/// The result is right if `f` is holomorphic, which is not checked: [`wirtinger`] gives the derivative in the conjugate
/// `z`, too, which is 0 of a holomorphic function. For one number, derivatives of higher orders are nested calls.
///
/// # Panics
/// Like [`grad`](crate::grad()).
///
/// ```
/// use polygrad::{Complex, holomorphic_grad, tensor};
/// let z = Complex::new(tensor(1.0), tensor(2.0));
/// assert_eq!(holomorphic_grad(|z| z.square(), &z), &z * 2.0);
/// let second = holomorphic_grad(|z| holomorphic_grad(|z| z.square() * z, z), &z);
/// assert_eq!(second, &z * 6.0);
/// ```
#[track_caller]
pub fn holomorphic_grad<T: BaseTensor, const D: usize, E: Float>(
    f: impl Fn(&Complex<Term, D, E>) -> Complex<Term, 0, E>,
    z: &Complex<T, D, E>,
) -> Complex<T, D, E> {
    grad(|z: &Complex<Term, D, E>| f(z).into_parts().0, z).conj()
}

/// The Wirtinger derivatives of a function with one complex number as its result: `(df/dz, df/dz*)` for each element of
/// `z`, where `df/dz = (df/dx - i df/dy) / 2` and `df/dz* = (df/dx + i df/dy) / 2`.
///
/// For a change `dz` the result changes by `df/dz dz + df/dz* dz*`.
///
/// # Panics
/// Like [`vjp`](crate::vjp()).
///
/// ```
/// use polygrad::{Complex, tensor, wirtinger};
/// let z = Complex::new(tensor(1.0), tensor(2.0));
/// let (by_z, by_conjugate) = wirtinger(|z| z * z.conj(), &z);
/// assert_eq!((by_z, by_conjugate), (z.conj(), z));
/// ```
#[track_caller]
pub fn wirtinger<T: BaseTensor, const D: usize, E: Float>(
    f: impl Fn(&Complex<Term, D, E>) -> Complex<Term, 0, E>,
    z: &Complex<T, D, E>,
) -> (Complex<T, D, E>, Complex<T, D, E>) {
    let (_, pullback) = vjp(|z: &Complex<Term, D, E>| f(z), z);
    let of_real = pullback(&Complex::scalar(E::ONE, E::ZERO));
    let of_imaginary = pullback(&Complex::scalar(E::ZERO, E::ONE)).times_i();
    ((&of_real - &of_imaginary).conj().scale(0.5), (of_real + of_imaginary).scale(0.5))
}
