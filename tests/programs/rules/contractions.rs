//! What becomes of products that are written as products: one contraction each, of what they are read from.

use polygrad::interpreters::Ast;
use polygrad::passes::simplify;
use polygrad::program::Term;
use polygrad::{DType, Tensor, symbolic};

/// The simplified program of typed tensors, as text.
pub(crate) fn simplified(inputs: &[(&str, &[usize])], f: impl Fn(&[Ast]) -> Ast) -> polygrad::program::Program {
    let variables: Vec<Term> = inputs.iter().map(|(_, shape)| Term::variable(shape, DType::F64)).collect();
    let names: Vec<String> = inputs.iter().map(|(name, _)| (*name).to_owned()).collect();
    simplify(&Term::program(&variables, &[f(&variables)], &names).expect("closed"))
}

pub(crate) fn vector(x: &Ast) -> Tensor<Ast, 1> {
    Tensor::from_raw(x.clone())
}

pub(crate) fn matrix(x: &Ast) -> Tensor<Ast, 2> {
    Tensor::from_raw(x.clone())
}

/// The lines of a program between its head and its end.
#[track_caller]
pub(crate) fn prints(program: &polygrad::program::Program, lines: &[&str]) {
    let text = program.to_string();
    let inner: Vec<&str> = text.lines().skip(1).map(str::trim).filter(|line| *line != "}").collect();
    assert_eq!(inner, lines, "{text}");
}

#[test]
fn a_dot_product() {
    let p = simplified(&[("x", &[3]), ("y", &[3])], |v| (vector(&v[0]) * vector(&v[1])).sum().into_raw());
    prints(&p, &["return dot x y"]);
    let scaled = simplified(&[("x", &[3]), ("y", &[3])], |v| (vector(&v[0]) * 2.0 * -vector(&v[1])).sum().into_raw());
    prints(&scaled, &["return -2.0 * dot x y"]);
}

#[test]
fn a_matrix_product_in_any_order_of_axes() {
    // sum_k a[i, k] * b[k, j], over spaces [i, j, k], [k, i, j] and [j, k, i].
    type Order = ([usize; 3], [usize; 2], [usize; 2], usize);
    let orders: [Order; 3] =
        [([2, 4, 3], [0, 2], [2, 1], 2), ([3, 2, 4], [1, 0], [0, 2], 0), ([4, 3, 2], [2, 1], [1, 0], 1)];
    for (space, a, b, k) in orders {
        use polygrad::BaseTensor;
        use polygrad::ops::{Binary, Linear};
        let p = simplified(&[("a", &[2, 3]), ("b", &[3, 4])], |v| {
            let (x, y) = (v[0].linear(&Linear::replicate(&space, &a)), v[1].linear(&Linear::replicate(&space, &b)));
            x.binary(Binary::Mul, &y).linear(&Linear::sum(&space, &[k]))
        });
        let words = if k == 1 { "return matmul b.t a.t" } else { "return matmul a b" };
        prints(&p, &[words]);
        let gradient = simplify(&symbolic::vjp(&p));
        assert_eq!(gradient.size(), 3, "{gradient}");
    }
}

#[test]
fn a_product_with_a_vector_and_its_gradient() {
    let p = simplified(&[("a", &[3, 4]), ("x", &[4])], |v| {
        (matrix(&v[0]) * vector(&v[1]).replicate::<2>(3)).sum_axis::<1>(1).into_raw()
    });
    prints(&p, &["return matvec a x"]);
    prints(&simplify(&symbolic::vjp(&p)), &["return (matvec a x, outer y_bar x, matvec a.t y_bar)"]);
}

#[test]
fn an_outer_product() {
    let p = simplified(&[("x", &[3]), ("y", &[4])], |v| {
        let x = vector(&v[0]).replicate::<2>(4).t();
        (x * vector(&v[1]).replicate::<2>(3)).into_raw()
    });
    prints(&p, &["return outer x y"]);
}

#[test]
fn a_bilinear_form_is_two() {
    let form = |v: &[Ast]| {
        let x = vector(&v[0]).replicate::<2>(4).t();
        (x * matrix(&v[1]) * vector(&v[2]).replicate::<2>(3)).sum().into_raw()
    };
    let p = simplified(&[("x", &[3]), ("a", &[3, 4]), ("y", &[4])], form);
    prints(&p, &["return dot (matvec a y) x"]);
}

#[test]
fn a_product_with_a_transposed_and_cut_matrix() {
    let p = simplified(&[("a", &[5, 3]), ("x", &[4])], |v| {
        let a = matrix(&v[0]).slice(0, 1..5).t();
        a.matvec(&vector(&v[1])).into_raw()
    });
    prints(&p, &["return contract [i<3, j<4] a[j + 1, i] * x[j] -> [i]"]);
}

#[test]
fn squared_distances_stay() {
    let p = simplified(&[("x", &[3]), ("y", &[3])], |v| (vector(&v[0]) - vector(&v[1])).square().sum().into_raw());
    prints(&p, &["return sum (square (x - y))"]);
}
