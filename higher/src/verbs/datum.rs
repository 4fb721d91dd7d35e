//! Verbs of programs whose inputs and results are sums and lists, besides tensors and pairs.
//!
//! The cotangent of a value has the structure of the value: that of the left case of a sum is a cotangent of the left
//! type, and that of a list of `n` elements has `n` elements. So the type of cotangents depends on the point ("The
//! Differentiable Curry", section 3); here it is the type of values, and the structure is that of the point. Law: for
//! tensors and pairs, each verb here is the verb without sums.

use std::marker::PhantomData;

use polygrad::ad::LinearMap;
use polygrad::base::BaseTensor;
use polygrad::interpreters::Tower;
use polygrad::seam::{linear_map, mistake};
use polygrad::tensor::Tensor;
use polygrad::tree::Tree;

use super::{by_cells, check_like, one};
use crate::interpreters::{Backward, CurryClosures, Run, Shared, Val};
use crate::object::Knot;
use crate::{Arr, Element, Expr, Mu, Obj, Prod, Real, Recursive, Signature, Sum, Unit};

/// A type whose values have a structure that may differ from value to value: tensors, pairs, sums and lists.
///
/// Example: [`Datum::given`].
pub trait Datum: Obj {
    /// The values, in the host language, over an interpreter `T` of tensors.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::{Datum, List, Real};
    /// // A list is a vector of the values of its elements.
    /// let list: <List<Real> as Datum>::Value<Array> = vec![tensor(1.0), tensor(2.0)];
    /// assert_eq!(list.len(), 2);
    /// ```
    type Value<T: BaseTensor>: Clone;

    /// The value in a program.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::{Datum, List, Real, Sided, Sum};
    /// let list = List::<Real>::given::<Array>(&vec![tensor(1.0), tensor(2.0)]);
    /// assert_eq!(List::<Real>::taken(&list), [tensor(1.0), tensor(2.0)]);
    /// // Zero is a cotangent of the left case where the value is one.
    /// let zero = Sum::<Real, Real>::cotangent(&polygrad_higher::interpreters::Val::Zero, &Sided::Left(tensor(7.0)));
    /// assert_eq!(zero, Ok(Sided::<_, polygrad::Tensor<Array, 0>>::Left(tensor(0.0))));
    /// ```
    fn given<T: BaseTensor>(x: &Self::Value<T>) -> Val<Tower<T>>;

    /// The value of a result.
    ///
    /// Example: [`Datum::given`].
    ///
    /// # Panics
    /// When the case of a sum is not known, since a program is traced.
    fn taken<T: BaseTensor>(v: &Val<Tower<T>>) -> Self::Value<T>;

    /// The cotangent of a value `x`, with the structure of `x`.
    ///
    /// Example: [`Datum::given`].
    ///
    /// # Errors
    /// When the cotangent has another structure.
    fn cotangent<T: BaseTensor>(v: &Val<Tower<T>>, x: &Self::Value<T>) -> Result<Self::Value<T>, String>;

    /// An error unless a cotangent has the structure and the kinds of a value.
    ///
    /// Example: [`vjp_of`].
    ///
    /// # Errors
    /// When there is another case or length, or another shape or element type.
    fn check<T: BaseTensor>(value: &Self::Value<T>, cotangent: &Self::Value<T>) -> Result<(), String>;
}

/// A value of a sum, in the host language.
///
/// Closed: a sum has two cases.
///
/// Example: [`grad_of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sided<A, B> {
    /// The left case.
    Left(A),
    /// The right case.
    Right(B),
}

/// The signature of lists of elements of `A`: nothing, or an element and a list.
///
/// ```
/// use polygrad_higher::{Items, List, Mu, Real};
/// fn same(list: std::marker::PhantomData<List<Real>>) -> std::marker::PhantomData<Mu<Items<Real>>> {
///     list
/// }
/// # let _ = same(std::marker::PhantomData);
/// ```
pub struct Items<A>(PhantomData<A>);

impl<A: Obj> Signature for Items<A> {
    type Of<X: Obj> = Sum<Unit, Prod<A, X>>;
}

/// Lists of elements of `A`; in the host language, vectors.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, List, Real, case, fix, fun1, num, unroll};
/// /// The sum of the squares of a list.
/// fn squares<C: Language>() -> Expr<C, List<Real>, Real> {
///     fun1(|list| {
///         let more = |own: higher::Var<_, _>, p: higher::Var<_, higher::Prod<Real, List<Real>>>| {
///             p.at().fst() * p.at().fst() + own.at().app(p.at().snd())
///         };
///         fix(|own, list| case(unroll(list.at()), |_| num(0.0), |p| more(own, p))).app(list.at())
///     })
/// }
/// let list = [1.0, 2.0, 3.0].map(tensor).to_vec();
/// assert_eq!(higher::run_of(squares(), &list), tensor(14.0));
/// assert_eq!(higher::grad_of(squares(), &list), [2.0, 4.0, 6.0].map(tensor).to_vec());
/// ```
pub type List<A> = Mu<Items<A>>;

impl Datum for Unit {
    type Value<T: BaseTensor> = ();

    fn given<T: BaseTensor>((): &()) -> Val<Tower<T>> {
        Val::Nil
    }

    fn taken<T: BaseTensor>(_: &Val<Tower<T>>) {}

    fn cotangent<T: BaseTensor>(_: &Val<Tower<T>>, (): &()) -> Result<(), String> {
        Ok(())
    }

    fn check<T: BaseTensor>((): &(), (): &()) -> Result<(), String> {
        Ok(())
    }
}

impl<const D: usize, E: Element> Datum for Arr<D, E> {
    type Value<T: BaseTensor> = Tensor<T, D, E>;

    fn given<T: BaseTensor>(x: &Tensor<T, D, E>) -> Val<Tower<T>> {
        Val::given::<Self>(x)
    }

    fn taken<T: BaseTensor>(v: &Val<Tower<T>>) -> Tensor<T, D, E> {
        v.read::<Self>()
    }

    fn cotangent<T: BaseTensor>(v: &Val<Tower<T>>, x: &Tensor<T, D, E>) -> Result<Tensor<T, D, E>, String> {
        Ok(v.tangent_like::<Self>(x))
    }

    fn check<T: BaseTensor>(value: &Tensor<T, D, E>, cotangent: &Tensor<T, D, E>) -> Result<(), String> {
        check_like("vjp_of", "cotangent", &value.leaves(), &cotangent.leaves())
    }
}

impl<A: Datum, B: Datum> Datum for Prod<A, B> {
    type Value<T: BaseTensor> = (A::Value<T>, B::Value<T>);

    fn given<T: BaseTensor>(x: &Self::Value<T>) -> Val<Tower<T>> {
        Val::Pair(Shared::new((A::given(&x.0), B::given(&x.1))))
    }

    fn taken<T: BaseTensor>(v: &Val<Tower<T>>) -> Self::Value<T> {
        (A::taken(&v.fst()), B::taken(&v.snd()))
    }

    fn cotangent<T: BaseTensor>(v: &Val<Tower<T>>, x: &Self::Value<T>) -> Result<Self::Value<T>, String> {
        Ok((A::cotangent(&v.fst(), &x.0)?, B::cotangent(&v.snd(), &x.1)?))
    }

    fn check<T: BaseTensor>(value: &Self::Value<T>, cotangent: &Self::Value<T>) -> Result<(), String> {
        A::check::<T>(&value.0, &cotangent.0)?;
        B::check::<T>(&value.1, &cotangent.1)
    }
}

/// The error of a cotangent of another case, or of another number of elements.
fn other_structure() -> String {
    String::from(
        "vjp_of: a cotangent must have the cases and the lengths of its value, but it has others; take the structure of the value",
    )
}

/// Fails where the case of a sum is not known.
#[cold]
fn unknown_case() -> ! {
    mistake(
        "run_of: the cases of a result must be known, but one depends on an input while a program is traced; return its parts \
         with a mask, or run the program without tracing it",
    )
}

impl<A: Datum, B: Datum> Datum for Sum<A, B> {
    type Value<T: BaseTensor> = Sided<A::Value<T>, B::Value<T>>;

    fn given<T: BaseTensor>(x: &Self::Value<T>) -> Val<Tower<T>> {
        match x {
            Sided::Left(x) => Val::Left(Shared::new(A::given(x))),
            Sided::Right(x) => Val::Right(Shared::new(B::given(x))),
        }
    }

    fn taken<T: BaseTensor>(v: &Val<Tower<T>>) -> Self::Value<T> {
        if let Val::Left(x) = v {
            return Sided::Left(A::taken(x));
        }
        if let Val::Right(x) = v {
            return Sided::Right(B::taken(x));
        }
        unknown_case()
    }

    fn cotangent<T: BaseTensor>(v: &Val<Tower<T>>, x: &Self::Value<T>) -> Result<Self::Value<T>, String> {
        match (v, x) {
            (Val::Zero, Sided::Left(x)) => A::cotangent(&Val::Zero, x).map(Sided::Left),
            (Val::Zero, Sided::Right(x)) => B::cotangent(&Val::Zero, x).map(Sided::Right),
            (Val::Left(v), Sided::Left(x)) => A::cotangent(v, x).map(Sided::Left),
            (Val::Right(v), Sided::Right(x)) => B::cotangent(v, x).map(Sided::Right),
            (_, Sided::Left(_) | Sided::Right(_)) => Err(other_structure()),
        }
    }

    fn check<T: BaseTensor>(value: &Self::Value<T>, cotangent: &Self::Value<T>) -> Result<(), String> {
        match (value, cotangent) {
            (Sided::Left(value), Sided::Left(ct)) => A::check::<T>(value, ct),
            (Sided::Right(value), Sided::Right(ct)) => B::check::<T>(value, ct),
            (Sided::Left(_), Sided::Right(_)) | (Sided::Right(_), Sided::Left(_)) => Err(other_structure()),
        }
    }
}

/// Without recursion over the length of the list.
impl<A: Datum> Datum for Recursive<Knot<Items<A>>> {
    type Value<T: BaseTensor> = Vec<A::Value<T>>;

    fn given<T: BaseTensor>(x: &Self::Value<T>) -> Val<Tower<T>> {
        let end = Val::Left(Shared::new(Val::Nil));
        let with = |rest, x| Val::Right(Shared::new(Val::Pair(Shared::new((A::given(x), rest)))));
        x.iter().rev().fold(end, with)
    }

    fn taken<T: BaseTensor>(v: &Val<Tower<T>>) -> Self::Value<T> {
        let (mut found, mut at) = (Vec::new(), v.clone());
        loop {
            at = match &at {
                Val::Right(p) => {
                    found.push(A::taken(&p.fst()));
                    p.snd()
                }
                Val::Left(_) => return found,
                Val::Zero
                | Val::Nil
                | Val::Leaf(_)
                | Val::Scattered(_)
                | Val::Pair(_)
                | Val::Either(_)
                | Val::Fun(_) => unknown_case(),
                Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => unknown_case(),
            };
        }
    }

    fn cotangent<T: BaseTensor>(v: &Val<Tower<T>>, x: &Self::Value<T>) -> Result<Self::Value<T>, String> {
        let (mut found, mut at) = (Vec::new(), v.clone());
        for x in x {
            let (first, rest) = match &at {
                Val::Right(p) => (p.fst(), p.snd()),
                Val::Zero => (Val::Zero, Val::Zero),
                Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Pair(_) | Val::Left(_) | Val::Either(_) => {
                    return Err(other_structure());
                }
                Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => return Err(other_structure()),
            };
            found.push(A::cotangent(&first, x)?);
            at = rest;
        }
        if let Val::Right(_) = at { Err(other_structure()) } else { Ok(found) }
    }

    fn check<T: BaseTensor>(value: &Self::Value<T>, cotangent: &Self::Value<T>) -> Result<(), String> {
        if value.len() != cotangent.len() {
            return Err(other_structure());
        }
        value.iter().zip(cotangent).try_for_each(|(value, ct)| A::check::<T>(value, ct))
    }
}

/// The value of a program whose input and result may be sums and lists.
///
/// Example: [`List`].
///
/// # Panics
/// When the case of a sum in the result is not known, since a program is traced.
#[track_caller]
pub fn run_of<A: Datum, B: Datum, T: BaseTensor>(program: Expr<Run<T>, A, B>, x: &A::Value<T>) -> B::Value<T> {
    B::taken(&program.hom().at(A::given(x)))
}

/// Value and pullback of a program whose input and result may be sums and lists, by any instance of reverse mode. The
/// cotangent of a value has its structure.
///
/// `vjp_of : (A -> B) -> (x : A) -> (y : B, T[y] -o T[x])`.
///
/// Source: "The Differentiable Curry", section 3: types of cotangents depend on the point.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::CurryClosures;
/// use polygrad_higher::{self as higher, Datum, Expr, Language, Real, Sided, Sum, case, fun1, inl, inr};
/// /// Squares a left number, and doubles a right one, on the other side.
/// fn crossed<C: Language>() -> Expr<C, Sum<Real, Real>, Sum<Real, Real>> {
///     fun1(|s| case(s.at(), |x| inr(x.at() * x.at()), |x| inl(x.at() * 2.0)))
/// }
/// type Value = Sided<polygrad::Tensor<Array, 0>, polygrad::Tensor<Array, 0>>;
/// let x: Value = Sided::Left(tensor(3.0));
/// let (y, pullback) = higher::vjp_of(crossed::<CurryClosures<Array>>(), &x);
/// assert_eq!(y, Sided::Right(tensor(9.0)));
/// assert_eq!(pullback(&Sided::Right(tensor(10.0))), Sided::Left(tensor(60.0)));
/// let ct: Value = Sided::Left(tensor(1.0));
/// assert!(Sum::<Real, Real>::check::<Array>(&y, &ct).is_err());
/// ```
///
/// # Panics
/// Like [`run_of`]. The pullback panics when the cotangent has another structure than the value.
#[track_caller]
pub fn vjp_of<'a, C: Backward<T>, A: Datum, B: Datum, T: BaseTensor>(
    program: Expr<C, A, B>,
    x: &'a A::Value<T>,
) -> (B::Value<T>, LinearMap<'a, B::Value<T>, A::Value<T>>) {
    let ran = C::pulled(&program.hom(), A::given(x));
    let (value, pullback) = (B::taken(&ran.fst()), ran.snd().lin());
    let like = value.clone();
    let back = move |ct: &B::Value<T>| {
        B::check::<T>(&like, ct)?;
        A::cotangent(&by_cells(&pullback, B::given(ct)), x)
    };
    (value, linear_map(back))
}

/// The value and the gradient of a program whose result is a number, and whose input may be a sum or a list.
///
/// Example: [`grad_of`].
#[track_caller]
pub fn value_and_grad_of<C: Backward<T>, A: Datum, T: BaseTensor>(
    program: Expr<C, A, Real>,
    x: &A::Value<T>,
) -> (Tensor<T, 0>, A::Value<T>) {
    let ran = C::pulled(&program.hom(), A::given(x));
    match A::cotangent(&by_cells(&ran.snd().lin(), one()), x) {
        Ok(gradient) => (ran.fst().read::<Real>(), gradient),
        Err(message) => panic!("{message}"),
    }
}

/// The gradient of a program whose result is a number, and whose input may be a sum or a list, by [`CurryClosures`]. It
/// has the structure of the input.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::interpreters::{CurryLists, Reverse, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Real, Sided, Sum, case, fun1};
/// /// The square of a left number, the sine of a right one.
/// fn either<C: Language>() -> Expr<C, Sum<Real, Real>, Real> {
///     fun1(|s| case(s.at(), |x| x.at() * x.at(), |x| x.at().sin()))
/// }
/// assert_eq!(higher::grad_of(either(), &Sided::Left(tensor(3.0))), Sided::Left(tensor(6.0)));
/// let right = Sided::Right(tensor(0.5));
/// let found = higher::value_and_grad_of(either::<CurryLists<polygrad::Array>>(), &right);
/// assert_eq!(found, (tensor(0.5_f64.sin()), Sided::Right(tensor(0.5_f64.cos()))));
/// assert_eq!(higher::value_and_grad_of(either::<Reverse<Run<_>>>(), &right), found);
/// ```
#[track_caller]
pub fn grad_of<A: Datum, T: BaseTensor>(program: Expr<CurryClosures<T>, A, Real>, x: &A::Value<T>) -> A::Value<T> {
    value_and_grad_of(program, x).1
}
