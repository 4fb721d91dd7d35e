// Types that cannot derive `Tree` or `Constrained`, see `types.rs`.
#![allow(unused)]
use polygrad::*;

#[derive(Clone, Debug)]
struct Opaque;

// What the macro says.
fn bare_value() { #[derive(Tree)] struct A<T> { x: T } }
fn fixed_interpreter() { #[derive(Tree)] struct A { x: Tensor<Concrete, 1>, n: usize } }
fn lifetime() { #[derive(Tree)] struct A<'a, T: BaseTensor> { x: &'a Tensor<T, 1> } }
fn two_interpreters() { #[derive(Tree)] struct A<T: BaseTensor, U: BaseTensor> { x: Tensor<T, 1>, y: Tensor<U, 1> } }
fn no_struct() { #[derive(Tree)] union A { x: usize } }
fn unknown_domain() { #[derive(Tree, stats::Constrained)] struct A<T: BaseTensor> { #[constrain(nonnegative)] x: Tensor<T, 1> } }
fn domain_without_bounds() { #[derive(Tree, stats::Constrained)] struct A<T: BaseTensor> { #[constrain(bounds(1.0))] x: Tensor<T, 1> } }
fn domain_twice() { #[derive(Tree, stats::Constrained)] struct A<T: BaseTensor> { #[constrain(positive)] #[constrain(ordered)] x: Tensor<T, 1> } }
fn domain_of_plain_data() { #[derive(Tree, stats::Constrained)] struct A<T: BaseTensor> { x: Tensor<T, 1>, #[constrain(positive)] n: usize } }

// What the traits say.
fn unordered_container() { #[derive(Tree)] struct A<T: BaseTensor> { x: std::collections::HashMap<String, Tensor<T, 1>> } }
fn number_in_a_tuple() { #[derive(Tree)] struct A<T: BaseTensor> { x: (usize, Tensor<T, 1>) } }
fn plain_without_equality() { #[derive(Tree)] struct A<T: BaseTensor> { x: Tensor<T, 1>, y: Opaque } }
