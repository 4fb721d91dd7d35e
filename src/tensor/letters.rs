//! `einsum!`: sums of products whose specification is checked at compile time.
//!
//! Law: the value is that of [`einsum`](super::einsum()) with the same specification. `const` functions count the
//! letters of each operand and of the result, so rustc knows every rank, and reject at compile time each specification
//! that `einsum` rejects.

use std::marker::PhantomData;

use super::einsum::{Multiplicand, einsum_of};
use super::{Complex, Tensor};
use crate::base::BaseTensor;
use crate::dtype::{Float, Num};

/// The sum of products in which every axis has a letter, as [`einsum`](fn@crate::einsum), with letters checked and all
/// ranks known at compile time: no type annotation is needed.
///
/// ```
/// use polygrad::{einsum, tensor};
/// let a = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// let x = tensor([1.0, 10.0]);
/// assert_eq!(einsum!("ij,jk->ik", &a, &a), a.matmul(&a));
/// assert_eq!(einsum!("i,ij,j->", &x, &a, &x * 2.0).item(), 902.0);
/// assert_eq!(einsum!("ii->i", &a), tensor([1.0, 4.0]));
/// ```
///
/// Operands may be [`Complex`]; they are not conjugated. If one is, the result is, too; a real operand is multiplied
/// with each part, which costs two real contractions where two complex operands cost four.
///
/// ```
/// use polygrad::{Complex, einsum, tensor};
/// let z = Complex::new(tensor([1.0, 2.0]), tensor([3.0, 4.0]));
/// let a = tensor([[1.0, 0.0], [1.0, 1.0]]);
/// assert_eq!(einsum!("ij,j->i", &a, &z), Complex::new(tensor([1.0, 3.0]), tensor([3.0, 7.0])));
/// ```
///
/// A letter of the result that no operand has does not compile, neither does an operand of another rank:
///
/// ```compile_fail,E0080
/// use polygrad::{einsum, tensor};
/// einsum!("ij->ik", tensor([[1.0]]));
/// ```
///
/// ```compile_fail,E0277
/// use polygrad::{einsum, tensor};
/// einsum!("ij->i", tensor([1.0]));
/// ```
///
/// # Panics
/// When axes of one letter have different sizes.
#[macro_export]
macro_rules! einsum {
    (@ $spec:literal; $n:expr; [$($done:tt)*]; $x:expr $(, $rest:expr)*) => {
        $crate::einsum!(@ $spec; $n + 1usize; [$($done)* { $x, $n }]; $($rest),*)
    };
    (@ $spec:literal; $n:expr; [$({ $x:expr, $k:expr })*];) => {{
        const _: () = $crate::tensor::letters::check($spec, $n);
        $crate::tensor::letters::product::<_, { $crate::tensor::letters::result($spec) }, _>(
            $spec,
            $crate::einsum!(
                @list $( $crate::tensor::letters::Named::new::<{ $crate::tensor::letters::operand($spec, $k) }>($x) ),*
            ),
        )
    }};
    (@list $last:expr) => { $last };
    (@list $first:expr, $($rest:expr),+) => { ($first, $crate::einsum!(@list $($rest),+)) };
    ($spec:literal, $($x:expr),+ $(,)?) => {
        $crate::einsum!(@ $spec; 0usize; []; $($x),+)
    };
}

/// An operand of `einsum!` with as many letters as it has axes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not have rank {D}, the number of letters of this operand of `einsum!`",
    label = "a tensor with an axis for each of its {D} letters is needed",
    note = "the letters before `->`, separated by commas, name the axes of the operands in order"
)]
pub trait Lettered<T, const D: usize, E> {
    /// The operand as a value.
    fn value(&self) -> T;
}

impl<T: BaseTensor, const D: usize, E: Num> Lettered<T, D, E> for Tensor<T, D, E> {
    fn value(&self) -> T {
        self.raw().clone()
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Lettered<T, D, E> for &Tensor<T, D, E> {
    fn value(&self) -> T {
        self.raw().clone()
    }
}

impl<T: BaseTensor, const D: usize, E: Float> Lettered<[T; 2], D, E> for Complex<T, D, E> {
    fn value(&self) -> [T; 2] {
        self.raws().map(T::clone)
    }
}

impl<T: BaseTensor, const D: usize, E: Float> Lettered<[T; 2], D, E> for &Complex<T, D, E> {
    fn value(&self) -> [T; 2] {
        self.raws().map(T::clone)
    }
}

/// The value of an operand: that of a real tensor, or the parts of a complex one.
pub trait EinsumFactor<E>: Clone {
    /// The type of a value.
    type Base: BaseTensor;
    /// The tensor of rank `D` that is the result.
    type Out<const D: usize>;
    /// The operand as a factor.
    #[doc(hidden)]
    fn factor(self) -> EinsumValue<Self::Base>;
    /// The result.
    #[doc(hidden)]
    #[track_caller]
    fn result<const D: usize>(value: EinsumValue<Self::Base>) -> Self::Out<D>;
}

/// A factor of a product.
#[doc(hidden)]
pub struct EinsumValue<T>(Multiplicand<T>);

impl<T: BaseTensor, E: Num> EinsumFactor<E> for T {
    type Base = T;
    type Out<const D: usize> = Tensor<T, D, E>;
    fn factor(self) -> EinsumValue<T> {
        EinsumValue(Multiplicand::Real(self))
    }
    fn result<const D: usize>(EinsumValue(value): EinsumValue<T>) -> Tensor<T, D, E> {
        Tensor::from_raw(value.into_real())
    }
}

impl<T: BaseTensor, E: Float> EinsumFactor<E> for [T; 2] {
    type Base = T;
    type Out<const D: usize> = Complex<T, D, E>;
    fn factor(self) -> EinsumValue<T> {
        EinsumValue(Multiplicand::Complex(self))
    }
    fn result<const D: usize>(EinsumValue(value): EinsumValue<T>) -> Complex<T, D, E> {
        Complex::from_raw(value.into_complex())
    }
}

/// The value of a product with another factor: complex if one of both is.
#[doc(hidden)]
pub trait Times<W> {
    /// The value of the product.
    type Product;
}

impl<T: BaseTensor> Times<T> for T {
    type Product = T;
}

impl<T: BaseTensor> Times<[T; 2]> for T {
    type Product = [T; 2];
}

impl<T: BaseTensor> Times<T> for [T; 2] {
    type Product = [T; 2];
}

impl<T: BaseTensor> Times<[T; 2]> for [T; 2] {
    type Product = [T; 2];
}

/// An operand whose letters are as many as its axes.
pub struct Named<V, E> {
    value: V,
    marker: PhantomData<E>,
}

impl<V: EinsumFactor<E>, E: Num> Named<V, E> {
    /// The operand, which has rank `D`.
    pub fn new<const D: usize>(operand: impl Lettered<V, D, E>) -> Self {
        Named { value: operand.value(), marker: PhantomData }
    }
}

/// The operands of `einsum!`: one, or a pair of the first and the others.
#[doc(hidden)]
pub trait NamedOperands<E> {
    /// The value of the product.
    type Value: EinsumFactor<E>;
    /// Appends the factors.
    fn append(self, factors: &mut Vec<EinsumValue<<Self::Value as EinsumFactor<E>>::Base>>);
}

impl<V: EinsumFactor<E>, E> NamedOperands<E> for Named<V, E> {
    type Value = V;
    fn append(self, factors: &mut Vec<EinsumValue<V::Base>>) {
        factors.push(self.value.factor());
    }
}

impl<T, V, R, E> NamedOperands<E> for (Named<V, E>, R)
where
    T: BaseTensor,
    V: EinsumFactor<E, Base = T> + Times<R::Value>,
    R: NamedOperands<E>,
    R::Value: EinsumFactor<E, Base = T>,
    V::Product: EinsumFactor<E, Base = T>,
{
    type Value = V::Product;
    fn append(self, factors: &mut Vec<EinsumValue<T>>) {
        factors.push(self.0.value.factor());
        self.1.append(factors);
    }
}

/// The sum of products of these operands, after [`check`] of the specification.
#[track_caller]
pub fn product<L: NamedOperands<E>, const D: usize, E: Num>(
    spec: &str,
    operands: L,
) -> <L::Value as EinsumFactor<E>>::Out<D> {
    let mut factors = Vec::new();
    operands.append(&mut factors);
    let factors = factors.into_iter().map(|factor| factor.0).collect();
    <L::Value as EinsumFactor<E>>::result::<D>(EinsumValue(einsum_of(spec, factors, D)))
}

/// The position of `->`, or the length without an arrow.
const fn arrow(spec: &[u8]) -> usize {
    let mut at = 0;
    while at + 1 < spec.len() {
        if spec[at] == b'-' && spec[at + 1] == b'>' {
            return at;
        }
        at += 1;
    }
    spec.len()
}

/// The number of letters of operand `k`, counted from 0.
pub const fn operand(spec: &str, k: usize) -> usize {
    let spec = spec.as_bytes();
    let (end, mut part, mut count, mut at) = (arrow(spec), 0, 0, 0);
    while at < end {
        if spec[at] == b',' {
            part += 1;
        } else if part == k && spec[at] != b' ' {
            count += 1;
        }
        at += 1;
    }
    count
}

/// The number of letters of the result.
pub const fn result(spec: &str) -> usize {
    let spec = spec.as_bytes();
    let (mut at, mut count) = (arrow(spec) + 2, 0);
    while at < spec.len() {
        if spec[at] != b' ' {
            count += 1;
        }
        at += 1;
    }
    count
}

/// Whether a letter is among the bytes from `start` to `end`.
const fn has(spec: &[u8], start: usize, end: usize, letter: u8) -> bool {
    let mut at = start;
    while at < end {
        if spec[at] == letter {
            return true;
        }
        at += 1;
    }
    false
}

/// Checks a specification for this number of operands.
///
/// # Panics
/// At compile time: when the specification is malformed, or the number of operands it names is not that of `operands`.
pub const fn check(spec: &str, operands: usize) {
    let spec = spec.as_bytes();
    let arrow = arrow(spec);
    assert!(
        arrow < spec.len(),
        "einsum!: needs \"->\" before the axes of the result; end the text with \"->\" to sum all"
    );
    let (mut at, mut parts) = (0, 1);
    while at < spec.len() {
        let c = spec[at];
        if at == arrow {
            at += 2;
            continue;
        }
        if c == b',' && at < arrow {
            parts += 1;
        } else if c != b' ' {
            assert!(
                c.is_ascii_alphabetic(),
                "einsum!: axes must be letters from a to z or A to Z; name every axis by one letter"
            );
            if at > arrow {
                assert!(
                    has(spec, 0, arrow, c),
                    "einsum!: a letter of the result must be one of an operand; replicate the result for a new axis"
                );
                assert!(
                    !has(spec, arrow + 2, at, c),
                    "einsum!: the letters of the result must differ; diag writes a diagonal"
                );
            }
        }
        at += 1;
    }
    assert!(
        parts == operands,
        "einsum!: the text must name as many operands as there are; separate their letters by commas"
    );
}
