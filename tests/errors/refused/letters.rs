// Texts that `einsum!` refuses while the program is compiled; see `refused.rs`.
#![allow(unused)]
use polygrad::{BaseTensor, Tensor};

type Matrix<T> = Tensor<T, 2>;

fn unknown_letter<T: BaseTensor>(m: &Matrix<T>) { polygrad::einsum!("ij->ik", m); }
fn letter_twice<T: BaseTensor>(m: &Matrix<T>) { polygrad::einsum!("ij->ii", m); }
fn no_arrow<T: BaseTensor>(m: &Matrix<T>) { polygrad::einsum!("ij", m); }
fn no_letter<T: BaseTensor>(m: &Matrix<T>) { polygrad::einsum!("i1->i", m); }
fn too_few_operands<T: BaseTensor>(m: &Matrix<T>) { polygrad::einsum!("ij,j->i", m); }
fn too_many_operands<T: BaseTensor>(m: &Matrix<T>) { polygrad::einsum!("ij->i", m, m); }
