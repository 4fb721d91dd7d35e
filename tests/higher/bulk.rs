//! A program with functions becomes the program of its array form: equal text, of values and gradients.

use polygrad::{Array, BaseTensor, Function, Tensor, tensor};
use polygrad_higher::{self as higher, Arrays, Fun, Real, Var, fun2, lam, let_, map};

use super::{gallery, held};

type Function1 = Fun<Real, Real>;

/// The recorded programs of both forms, and those of their gradients, as text.
macro_rules! same_text {
    ($higher:path, $array:path, $x:expr) => {{
        let x = $x;
        let array = Function::stage(|x| $array(x), &x);
        assert_eq!(higher::stage($higher(), &x).to_string(), array.optimized().to_string(), "value");
        let array = Function::value_and_grad(|x| $array(x), &x);
        assert_eq!(higher::stage_grad($higher(), &x).to_string(), array.optimized().to_string(), "gradient");
    }};
}

type AtVector<T> = (Tensor<T, 1>, Tensor<T, 0>);

fn at_vector() -> AtVector<Array> {
    (tensor([0.3, -0.5, 0.8, 0.1]), tensor(0.9))
}

fn network<T: BaseTensor>(x: &(((Tensor<T, 2>, Tensor<T, 1>), Tensor<T, 1>), Tensor<T, 2>)) -> Tensor<T, 0> {
    let (((w, b), start), xs) = x;
    polygrad::fold(start.clone(), xs, |h: Tensor<T, 1>, x: &Tensor<T, 1>| (w.matvec(&h) + b * x).tanh()).sum()
}

/// The recurrent network, with a cell that is partially applied to its parameters.
#[test]
fn recurrent_network() {
    let x = (((Tensor::ones([5, 5]), Tensor::ones([5])), Tensor::ones([5])), Tensor::ones([7, 5]));
    same_text!(gallery::network, network, x);
}

fn captured<T: BaseTensor>((v, x): &AtVector<T>) -> Tensor<T, 0> {
    polygrad::map(v, |a| (a * v.sum() * x).tanh() * (a * x).tanh()).sum()
}

#[test]
fn map_with_captured_values() {
    same_text!(gallery::captured, captured, at_vector());
}

fn composition<C: Arrays>() -> held::At<C> {
    fun2(|v, x| {
        let_(
            lam(|f: Var<_, Function1>| lam(|g: Var<_, Function1>| lam(|z| g.at().app(f.at().app(z.at()))))),
            |then: Var<_, Fun<Function1, Fun<Function1, Function1>>>| {
                let scale = lam(|z| z.at() * x.at());
                let wave = lam(|z| z.at().sin() + x.at());
                map(then.at().app(scale).app(then.at().app(wave.clone()).app(wave)), v.at()).sum()
            },
        )
    })
}

fn composed<T: BaseTensor>((v, x): &AtVector<T>) -> Tensor<T, 0> {
    polygrad::map(v, |z| ((z * x).sin() + x).sin() + x).sum()
}

#[test]
fn composition_of_functions() {
    same_text!(composition, composed, at_vector());
}

fn pipeline<T: BaseTensor>((a, x): &AtVector<T>) -> Tensor<T, 0> {
    polygrad::fold(x.clone(), a, |z: Tensor<T, 0>, a: &Tensor<T, 0>| (a * z).sin() + a)
}

#[test]
fn fold_over_an_array_of_functions() {
    same_text!(held::pipeline, pipeline, at_vector());
}

fn scaled<T: BaseTensor>((a, x): &AtVector<T>) -> Tensor<T, 0> {
    polygrad::map(a, |a| (a * (a * x)).sin() + x).sum()
}

#[test]
fn array_of_functions_that_is_applied() {
    same_text!(held::scaled, scaled, at_vector());
}

fn by_index<T: BaseTensor>((a, x): &AtVector<T>) -> Tensor<T, 0> {
    polygrad::build1(3, |i| {
        let f = |z: &Tensor<T, 0>| z * a.at([i.clone()]) + i.to_float() * x;
        f(&f(x))
    })
    .sum()
}

#[test]
fn build_of_functions_that_are_applied() {
    same_text!(held::by_index, by_index, at_vector());
}

fn cells<T: BaseTensor>(x: &((Tensor<T, 2>, Tensor<T, 1>), Tensor<T, 2>)) -> Tensor<T, 0> {
    let ((w, start), bs) = x;
    polygrad::fold(start.clone(), bs, |h: Tensor<T, 1>, b: &Tensor<T, 1>| (w.matvec(&h) + b).tanh()).sum()
}

#[test]
fn cells_of_an_array() {
    same_text!(held::cells, cells, ((Tensor::ones([5, 5]), Tensor::ones([5])), Tensor::ones([7, 5])));
}

fn kept_function<T: BaseTensor>((a, x): &AtVector<T>) -> Tensor<T, 0> {
    polygrad::fold(Tensor::full([], 1.0), a, |s: Tensor<T, 0>, a: &Tensor<T, 0>| (s + a).sin() * x)
}

#[test]
fn state_with_a_function() {
    same_text!(held::kept_function, kept_function, at_vector());
}

fn compositions<T: BaseTensor>((a, x): &AtVector<T>) -> Tensor<T, 0> {
    // Arguments go from the last function to the first one, results back.
    let (last, arguments) =
        polygrad::map_accum_reverse(x.clone(), a, |z: Tensor<T, 0>, a: &Tensor<T, 0>| ((&z * a).sin(), z));
    polygrad::fold(last * x, &arguments, |y: Tensor<T, 0>, z: &Tensor<T, 0>| y + z)
}

#[test]
fn fold_of_compositions() {
    same_text!(held::compositions, compositions, at_vector());
}
