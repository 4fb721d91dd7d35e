//! Programs as primitives, and what only one of the instances supports. What is refused is in `tests/errors`.

use polygrad::{Array, tensor};
use polygrad_higher::interpreters::{CurryClosures, Run};
use polygrad_higher::primitive::{MatVec, Recorded};
use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2, lam};

use super::gallery;

/// A recorded program is a primitive of other programs, with its derivatives.
#[test]
fn a_recorded_program_is_a_primitive() {
    let program = higher::stage(gallery::twice(), &(tensor(0.0), tensor(0.0)));
    let primitive = Recorded::<Prod<Real, Real>, Real>::new(program);
    fn with<C: Language>(p: Recorded<Prod<Real, Real>, Real>) -> Expr<C, Prod<Real, Real>, Real> {
        fun2(|x, y| higher::apply(p.clone(), higher::tup(lam(|z| z.at() * z.at()).app(x.at()), y.at())))
    }
    let x = (tensor(0.7), tensor(1.3));
    let (value, gradient) = higher::value_and_grad(with::<CurryClosures<Array>>(primitive.clone()), &x);
    let inner = (tensor(0.7 * 0.7), tensor(1.3));
    let (expected, slopes) = higher::value_and_grad(gallery::twice(), &inner);
    assert_eq!((value, gradient), (expected, (slopes.0 * 1.4, slopes.1)));
    assert_eq!(higher::run(with::<Run<Array>>(primitive), &x), expected_again());
    fn expected_again() -> polygrad::Tensor<Array, 0> {
        higher::run(gallery::twice(), &(tensor(0.7 * 0.7), tensor(1.3)))
    }
}

#[test]
fn the_operands_of_matvec() {
    use polygrad_higher::Primitive;
    assert_eq!(MatVec.name(), "matvec");
    let product = MatVec.run(&[Array::from([[1.0, 2.0], [3.0, 4.0]]), Array::from([1.0, 10.0])]);
    assert_eq!(product, [Array::from([21.0, 43.0])]);
}
