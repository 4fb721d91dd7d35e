//! Higher-order programs: functions that take and return functions, and their derivatives.
//!
//! This crate extends `polygrad`, which does not know it: types and traits for such programs, their instances, and verbs. Law:
//! the language names no instance, and an instance no verb. [`guide::higher_order`] is a page that teaches both.
//!
//! A program is generic in the instance ([`Language`]). An instance gives the program a meaning, as an interpreter of
//! tensors does; the ground types are tensors of any [`BaseTensor`](polygrad::BaseTensor). So there are two parameters,
//! the instance and the interpreter of tensors:
//!
//! | instance | meaning of a program |
//! |---|---|
//! | [`Run<T>`](crate::interpreters::Run) | its value |
//! | [`Syntax`](crate::interpreters::Syntax) | its text |
//! | [`Reverse<I>`](crate::interpreters::Reverse) | over an instance `I`: its value and its pullback, by CHAD |
//! | [`Forward<I>`](crate::interpreters::Forward) | over an instance `I`: its value and its pushforward, by CHAD |
//! | [`CurryClosures<T>`](crate::interpreters::CurryClosures) | its value and its pullback; tangents of functions are those of what they capture |
//! | [`CurryLists<T>`](crate::interpreters::CurryLists) | its value and its pullback; tangents of functions are lists of calls |
//!
//! Functions of a program have derivatives as terms of the program, by [`Differential`].
//!
//! First-order programs have a language of their own, [`Monoidal`], which
//! [`ReverseOptic`](crate::interpreters::ReverseOptic) differentiates to any order.
//!
//! | tensors `T` | |
//! |---|---|
//! | `Array` | numbers |
//! | `Term` | a first-order [`Program`](polygrad::program::Program), in which no function is left |
//! | dual numbers | derivatives of derivatives |
//!
//! Reading order: [`object`] (types), [`category`] (programs), [`expr`] (the user's syntax: functions and pairs; with
//! [`scope`], [`cases`], [`arrays`], [`operators`]), [`primitive`], [`differential`] (derivatives as terms), [`linear`]
//! (the target language of differentiation); then [`interpreters`], the instances. The verbs are functions of the crate.

#![allow(clippy::type_complexity, reason = "the type of a program is its typing rule")]

pub mod arrays;
pub mod cases;
pub mod category;
pub mod differential;
pub mod expr;
// A page alone: a change of it does not compile the crate again.
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod interpreters;
pub mod linear;
pub mod monoidal;
pub mod object;
pub mod operators;
pub mod primitive;
pub mod scope;
mod shared;
mod verbs;

pub use arrays::{build, filter, fold, keep, map, reduce};
pub use cases::{case, fix, if_, inl, inr, iterate, iterate_within, roll, unroll};
pub use category::{Arrays, Ccc, Language};
pub use differential::Differential;
pub use expr::{Expr, closed, fun1, fun2, fun3, fun4, lam, lam2, let_, let2, tup, unit};
pub use interpreters::{with_call_memory, with_recorded_calls};
pub use linear::{ArrayTarget, Target};
pub use monoidal::Monoidal;
pub use object::{
    Arr, Copower, Element, Fun, Functor, Ground, Int, Layout, LinFun, LinSum, Linear, Many, Mask, Matrix, Mono, Monoid,
    Mu, Obj, Parity, Prod, Real, Recursive, Rows, Signature, Stack, Stacks, Sum, TypeParts, Unit, Vector,
};
pub use operators::{apply, constant, num};
pub use primitive::Primitive;
pub use scope::Var;
pub use verbs::*;
