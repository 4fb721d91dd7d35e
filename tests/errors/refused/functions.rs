// Programs with functions that do not compile: one mistake each, with the words of the compiler recorded in
// `refused.txt`. This file is read by `refused.rs`; it is not a module.
#![allow(unused)]
use polygrad::{Array, tensor};
use polygrad_higher::*;

fn captured_by_a_closed_term<C: Arrays>() { let _: Expr<C, Real, _> = fun1(|x: Var<Unit, Real>| closed(lam(|y: Var<Unit, Vector>| x.at() * y.at().sum()))); }
fn loop_over_a_number<C: Arrays>() { let _: Expr<C, Real, Vector> = fun1(|x| map(lam(|y| y.at() * 2.0), x.at())); }
fn array_of_cases<C: Arrays>(f: Expr<C, Vector, Fun<Real, Sum<Real, Real>>>) { let _ = fun1(|xs: Var<Unit, Vector>| map(f.call(xs.at()), xs.at())); }
fn result_is_a_function() { stage(fun1(|x| lam(|y| x.at() * y.at())), &tensor(1.0)); }
