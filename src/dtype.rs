//! Element types: the closed list of element types, and the traits of code that is generic in the element type.
//!
//! Law: every [`Elem`] type has exactly one [`DType`], and no code in the crate assumes a particular float type: code
//! for floats is generic in [`Float`].

use std::fmt;

/// The element type of a tensor, as a value known at run time.
///
/// Closed: an interpreter fails to compile where a new element type has no values yet.
///
/// Example: [`DType::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// 64-bit IEEE floats, differentiable.
    F64,
    /// 32-bit IEEE floats, differentiable.
    F32,
    /// 64-bit signed integers with wrapping arithmetic: indices and counts.
    I64,
    /// Truth values: masks and conditions.
    Bool,
}

impl DType {
    /// All element types.
    ///
    /// Example: [`DType::name`].
    pub const ALL: [DType; 4] = [DType::F64, DType::F32, DType::I64, DType::Bool];

    /// Whether values of this type have a tangent space: floats do, integers and masks do not.
    ///
    /// Example: [`DType::name`].
    pub fn is_float(self) -> bool {
        match self {
            DType::F64 | DType::F32 => true,
            DType::I64 | DType::Bool => false,
        }
    }

    /// The number of bytes of one element.
    #[inline]
    pub(crate) fn width(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 => 4,
            DType::Bool => 1,
        }
    }

    /// The element type with this [`name`](DType::name).
    pub(crate) fn of_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The name of the type in Rust: `f64`, `f32`, `i64` or `bool`.
    ///
    /// ```
    /// use polygrad::{DType, tensor};
    /// assert_eq!(DType::ALL.map(DType::name), ["f64", "f32", "i64", "bool"]);
    /// assert_eq!(DType::ALL.map(DType::is_float), [true, true, false, false]);
    /// assert_eq!(tensor([1, 2]).raw().dtype(), DType::I64);
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::I64 => "i64",
            DType::Bool => "bool",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
    impl Sealed for i64 {}
    impl Sealed for bool {}
}

/// A family of types, one for each element type, such as vectors of elements.
#[doc(hidden)]
pub trait ElemFamily {
    /// The type of the family for this element type.
    type Of<E: Elem>;
}

/// A value of one of the types of a family. Code that stores elements of any type defines its own family; the list of
/// the element types is here alone.
///
/// Closed: [`DType`] is.
#[doc(hidden)]
pub enum Member<F: ElemFamily> {
    /// The member for 64-bit floats.
    F64(F::Of<f64>),
    /// The member for 32-bit floats.
    F32(F::Of<f32>),
    /// The member for 64-bit integers.
    I64(F::Of<i64>),
    /// The member for truth values.
    Bool(F::Of<bool>),
}

/// A Rust type that can be the element of an [`Array`](crate::Array): `f64`, `f32`, `i64`, `bool`.
///
/// ```
/// use polygrad::{Array, DType, Elem};
/// /// An array of zeros of any element type.
/// fn none<E: Elem>(n: usize) -> Array {
///     Array::full(&[n], E::ZERO)
/// }
/// assert_eq!((none::<bool>(2).dtype(), none::<i64>(2)), (DType::Bool, Array::from([0, 0])));
/// ```
pub trait Elem:
    sealed::Sealed + Copy + PartialEq + PartialOrd + fmt::Debug + fmt::Display + Send + Sync + 'static
{
    /// The run-time name of this type.
    const DTYPE: DType;
    /// Zero, or `false`: the value read out of bounds.
    const ZERO: Self;

    /// Whether two elements are the same to the bit (NaN equals itself, 0.0 differs from -0.0).
    ///
    /// ```
    /// use polygrad::Elem;
    /// assert!(f64::NAN.same_bits(f64::NAN) && !0.0.same_bits(-0.0));
    /// ```
    fn same_bits(self, other: Self) -> bool;

    /// The element type by which elements of this one are moved, where no operation looks at them: it has the same size, and its
    /// zero has the same bits. So what moves elements is compiled once for all types of a size.
    #[doc(hidden)]
    type Moved: Elem;
    /// Elements, to be moved.
    #[doc(hidden)]
    fn moved(elements: &[Self]) -> &[Self::Moved];
    /// Elements that others are moved to.
    #[doc(hidden)]
    fn moved_mut(elements: &mut [Self]) -> &mut [Self::Moved];

    /// The bits of an element, for hashing: equal if [`same_bits`](Elem::same_bits) holds.
    #[doc(hidden)]
    fn bits(self) -> u64;
    /// The member of a family for this element type.
    #[doc(hidden)]
    fn member<F: ElemFamily>(of: F::Of<Self>) -> Member<F>;
    /// The value of a member, if it is the member for this element type.
    #[doc(hidden)]
    fn of_member<F: ElemFamily>(member: Member<F>) -> Option<F::Of<Self>>;
}

/// An element type with arithmetic: `f64`, `f32`, `i64`. Integers wrap around.
///
/// ```
/// use polygrad::{BaseTensor, Num, Tensor, tensor};
/// /// A function of floats and of integers.
/// fn total<T: BaseTensor, E: Num>(x: &Tensor<T, 1, E>) -> Tensor<T, 0, E> {
///     x.sum()
/// }
/// assert_eq!((total(&tensor([1, 2])), total(&tensor([0.5f32, 1.0]))), (tensor(3), tensor(1.5f32)));
/// ```
pub trait Num: Elem + num_traits::NumCast {
    /// One.
    const ONE: Self;
    /// `a + b`, wrapping for integers; the element kernel of sums.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
    /// `a * b`, wrapping for integers; the element kernel of contractions.
    #[doc(hidden)]
    fn mul(self, other: Self) -> Self;
    /// `a * b + c`, rounded once, wrapping for integers. Slow on machines without an instruction for it.
    #[doc(hidden)]
    fn fused(self, factor: Self, sum: Self) -> Self;
}

/// A differentiable element type: `f64` or `f32`.
///
/// ```
/// use polygrad::{BaseTensor, Float, Tensor, tensor};
/// /// A function of `f64` and of `f32`.
/// fn half<T: BaseTensor, E: Float>(x: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
///     x * E::of_f64(0.5)
/// }
/// assert_eq!(half(&tensor([1.0f32])), tensor([0.5f32]));
/// // The number nearest to 0.1 among those of 32 bits.
/// assert_ne!(0.1f32.as_f64(), 0.1);
/// ```
pub trait Float: Num + num_traits::Float + num_traits::FloatConst {
    /// The nearest value of this type.
    ///
    /// Example: [`Float`].
    fn of_f64(x: f64) -> Self;
    /// The value as `f64`, exact.
    ///
    /// Example: [`Float`].
    fn as_f64(self) -> f64;
}

macro_rules! elem {
    ($t:ty, $variant:ident, $zero:expr, $moved:ty, |$v:ident| $cast:expr, $cast_mut:expr, |$a:ident| $bits:expr) => {
        impl Elem for $t {
            const DTYPE: DType = DType::$variant;
            const ZERO: Self = $zero;
            type Moved = $moved;
            #[inline]
            fn same_bits(self, other: Self) -> bool {
                self.bits() == other.bits()
            }
            #[inline]
            fn moved($v: &[Self]) -> &[$moved] {
                $cast
            }
            #[inline]
            fn moved_mut($v: &mut [Self]) -> &mut [$moved] {
                $cast_mut
            }
            #[inline]
            fn bits(self) -> u64 {
                let $a = self;
                $bits
            }
            #[inline]
            fn member<F: ElemFamily>(of: F::Of<Self>) -> Member<F> {
                Member::$variant(of)
            }
            #[inline]
            fn of_member<F: ElemFamily>(member: Member<F>) -> Option<F::Of<Self>> {
                if let Member::$variant(of) = member { Some(of) } else { None }
            }
        }
    };
}

elem!(f64, F64, 0.0, i64, |v| bytemuck::cast_slice(v), bytemuck::cast_slice_mut(v), |a| a.to_bits());
elem!(f32, F32, 0.0, f32, |v| v, v, |a| a.to_bits().into());
elem!(i64, I64, 0, i64, |v| v, v, |a| a as u64);
elem!(bool, Bool, false, bool, |v| v, v, |a| a.into());

macro_rules! float {
    ($t:ty) => {
        impl Num for $t {
            const ONE: Self = 1.0;
            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn fused(self, factor: Self, sum: Self) -> Self {
                self.mul_add(factor, sum)
            }
        }
        impl Float for $t {
            #[inline]
            fn of_f64(x: f64) -> Self {
                x as $t
            }
            #[inline]
            fn as_f64(self) -> f64 {
                self.into()
            }
        }
    };
}

float!(f64);
float!(f32);

impl Num for i64 {
    const ONE: Self = 1;
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline]
    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline]
    fn fused(self, factor: Self, sum: Self) -> Self {
        self.wrapping_mul(factor).wrapping_add(sum)
    }
}
