// Programs that do not compile: one mistake each, with the words of the compiler recorded in `refused.txt`. This file
// is read by `refused.rs`; it is not a module.
#![allow(unused)]
use polygrad::tensor::{AtLeast, Rank};
use polygrad::*;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Known = Tensor<Concrete, 1>;

#[derive(Tree)]
struct Layer<T: BaseTensor> { gain: Tensor<T, 0> }

// Numbers.
fn integer_beside_floats(x: &Known) { x * 2; }
fn integer_on_the_left(x: &Known) { 2 - x; }
fn integer_assigned(mut x: Known) { x += 1; }
fn integer_in_max(x: &Known) { x.max(0); }
fn usize_beside_floats(x: &Known) { x / x.len(); }
fn f32_beside_f64(x: &Known) { x * 2.0_f32; }
fn float_beside_integers(n: &Tensor<Concrete, 1, i64>) { n * 2.0; }

// Element types.
fn integers_beside_floats(x: &Known, n: &Tensor<Concrete, 1, i64>) { x * n; }
fn integers_in_max(x: &Known, n: &Tensor<Concrete, 1, i64>) { x.max(n); }
fn branches_of_two_types(x: &Known, n: &Tensor<Concrete, 1, i64>) { x.gt(0.0).select(x, n); }

// Ranks.
fn vector_beside_matrix<T: BaseTensor>(m: &Matrix<T>, v: &Vector<T>) { m - v; }
fn reduced_beside_matrix<T: BaseTensor>(m: &Matrix<T>) { m - m.mean_axis(1); }
fn vector_added_to_scalar(mut s: Scalar<Concrete>, v: &Known) { s += v; }
fn vector_in_max<T: BaseTensor>(m: &Matrix<T>, v: &Vector<T>) { m.max(v); }
fn brought_down<T: BaseTensor>(m: &Matrix<T>, v: &Vector<T>) { m.up_to(v); }
fn any_rank<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) { x - x.mean(); }

// Levels.
fn captured(x: &Known, k: &Known) { grad(|x| (x * k).sum(), x); }
fn captured_on_the_left(x: &Known, k: &Known) { grad(|x| (k * x).sum(), x); }
fn captured_in_generic_code<T: BaseTensor>(x: &Vector<T>, k: &Vector<T>) { grad(|x| (x * k).sum(), x); }
fn captured_in_max(x: &Known, k: &Known) { grad(|x| x.max(k).sum(), x); }
fn captured_two_levels_below(x: &Known, k: &Known) { hvp(|x| (x * x * k).sum(), x, x); }
fn lifted_down(x: &Known) { grad(|x: &Vector<_>| { let y: Known = x.lift(); x.sum() }, x); }

// Parts, branches, loops, indices.
fn parts_of_two_ranks(m: &Matrix<Concrete>, v: &Known) { stack((v, m)); }
fn number_among_vectors(v: &Known) { concat(0, (v, 1.0)); }
fn iterator_of_parts(v: &Known) { stack(vec![v].into_iter()); }
fn number_of_another_type(v: &Known) { cond(v.sum().gt(0.0), v, 1); }
fn mask_as_condition(v: &Known) { cond(v.gt(0.0), v, 1.0); }
fn start_of_another_type(v: &Known) { fold(0_f32, v, |s: Scalar<Concrete>, x| s + x); }
fn loop_over_a_number(v: &Known) { fold(0.0, 3, |s: Scalar<Concrete>, _: &Scalar<Concrete>| s); }
fn loop_over_structs<T: BaseTensor>(layers: Vec<Layer<T>>, v: &Vector<T>) { fold(v, layers, |x: Vector<T>, layer: &Vec<Layer<T>>| x); }
fn output_of_a_number(v: &Known) { map(v, |x: &Scalar<Concrete>| 1.0); }
fn float_index(v: &Known) { v.at([0.5]); }
fn constant_of_text(v: &Known) { v * Tensor::<_, 1>::constant("1"); }
fn shape_by_name(rng: &mut array::Rng) { rng.normal("2", 0.0, 1.0); }

// Trees.
fn numbers_as_argument(v: &Vec<f64>) { grad(|x| x.sum(), v); }
fn number_as_argument() { grad(|x: &Scalar<_>| x.sin(), &1.0); }

// Letters.
fn letters_of_another_rank<T: BaseTensor>(m: &Matrix<T>, v: &Vector<T>) { polygrad::einsum!("ij,jk->ik", m, v); }

// Comparisons and brackets.
fn compared_to_a_number<T: BaseTensor>(s: Scalar<T>) { if s > 0.0 {} }
fn compared_in_a_closure(x: &Known) { grad(|x: &Vector<_>| if x.sum() > 0.0 { x.sum() } else { -x.sum() }, x); }
fn equal_to_a_number<T: BaseTensor>(s: Scalar<T>) { if s == 0.0 {} }
fn brackets<T: BaseTensor>(v: &Vector<T>) { &v[0]; }
fn two_brackets<T: BaseTensor>(m: &Matrix<T>) { &m[0][1]; }
fn range_in_brackets<T: BaseTensor>(v: &Vector<T>) { &v[1..3]; }
