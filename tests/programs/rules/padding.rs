//! What NaN and infinity are beside padding: products with padding are products, but in windows that are recognised as
//! those of a convolution.

use polygrad::interpreters::Ast;
use polygrad::passes::optimize;
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, DType, Tensor, build1};

use crate::support::floats;

/// A function of two vectors, written once.
trait Both {
    fn of<T: BaseTensor>(&self, x: &Tensor<T, 1>, w: &Tensor<T, 1>) -> Tensor<T, 1>;
}

fn recorded(f: &impl Both, x: &Array, w: &Array) -> Program {
    let vector = |a: &Array| Term::variable(a.shape(), DType::F64);
    let inputs = [vector(x), vector(w)];
    let [x, w] = inputs.clone().map(Tensor::<Ast, 1>::from_raw);
    optimize(&Term::program(&inputs, &[f.of(&x, &w).into_raw()], &[]).expect("closed"))
}

/// The results of a direct and of a recorded run.
fn runs(f: &impl Both, x: &Array, w: &Array) -> [Vec<f64>; 2] {
    let [a, b] = [x, w].map(|a| Tensor::from_raw(a.clone()));
    let recorded = interpret(&recorded(f, x, w), vec![x.clone(), w.clone()]).remove(0);
    [floats(&f.of(&a, &b).into_raw()), floats(&recorded)]
}

/// Padding times a vector and summed, in several words.
struct Padded(usize);

impl Both for Padded {
    fn of<T: BaseTensor>(&self, x: &Tensor<T, 1>, w: &Tensor<T, 1>) -> Tensor<T, 1> {
        let padded = x.pad([(1, 0)]);
        let sum = match self.0 {
            0 => (padded * w).sum(),
            1 => padded.dot(w),
            2 => (w * padded * 3.0).sum(),
            _ => build1(3, |i| padded.at([i]) * w.at([i])).sum(),
        };
        sum.reshape([1])
    }
}

#[test]
fn nan_and_infinity_meet_padding() {
    let x = Array::from([1.0, 2.0]);
    for k in 0..4 {
        for special in [f64::NAN, f64::INFINITY] {
            let found = runs(&Padded(k), &x, &Array::from([special, 1.0, 1.0]));
            assert!(found.iter().all(|y| y[0].is_nan()), "{k} with {special}: {found:?}");
        }
    }
}

/// A convolution, element by element.
struct Windows;

impl Both for Windows {
    fn of<T: BaseTensor>(&self, x: &Tensor<T, 1>, w: &Tensor<T, 1>) -> Tensor<T, 1> {
        build1(x.dim::<0>(), |i| build1(w.dim::<0>(), |j| x.at([&(i + j - 1)]) * w.at([j])).sum())
    }
}

/// The one exception: windows that overlap. Inside of the array, and where the kernel is finite, nothing is hidden.
#[test]
fn overlapping_windows_leave_padding_out() {
    let (x, finite) = (Array::from([1.0, 2.0, 4.0]), Array::from([3.0, 5.0, 7.0]));
    assert!(recorded(&Windows, &x, &finite).to_string().contains("contract"));
    let [direct, found] = runs(&Windows, &x, &finite);
    assert_eq!(direct, found);
    let special = Array::from([f64::NAN, 5.0, 7.0]);
    let [direct, found] = runs(&Windows, &x, &special);
    assert_eq!(direct.iter().map(|y| y.is_nan()).collect::<Vec<bool>>(), [true, true, true]);
    assert_eq!(found.iter().map(|y| y.is_nan()).collect::<Vec<bool>>(), [false, true, true], "{found:?}");
    let [direct, found] = runs(&Windows, &Array::from([1.0, f64::NAN, 4.0]), &finite);
    assert!(direct.iter().zip(&found).all(|(a, b)| a.is_nan() && b.is_nan()), "{found:?}");
}
