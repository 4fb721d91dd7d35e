//! Functions that are no program for all sizes, and runs that do not fit one.

use polygrad::program::Term;
use polygrad::tree::Keep;
use polygrad::{Array, Concrete, Function, Jit, SizedFunction, SizedModel, Sizes, Tensor, map, tensor};
use serde_json::json;

use crate::log::Log;
use crate::saved_files::{model, sharing};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

fn staged(
    f: fn(&Vector<Term>) -> Number<Term>,
) -> impl Fn(&Vector<Concrete>, &()) -> Function<Vector<Concrete>, (), Number<Concrete>> {
    move |x, _| Function::stage(f, x)
}

/// Mistakes with named sizes.
pub(crate) fn sized(log: &mut Log) {
    let (x, n) = (tensor([1.0, 2.0, 3.0]), Sizes::new().axis("x", 0, "n"));
    // No program for all sizes.
    let new = |f| SizedFunction::new(&n, staged(f), &x, &());
    log.panics_nearby(|| new(|x| (0..x.len()).fold(x.sum(), |y, _| y.sin())));
    log.panics_nearby(|| new(|x| if x.len() > 500 { x.sin().sum() } else { x.cos().sum() }));
    log.panics_nearby(|| new(|x| map(x, |x: &Number<_>| x.sin()).slice(0, ..x.len() / 2).sum()));
    log.panics_nearby(|| new(|x| x.sum() * (x.len() as f64).cbrt()));
    let counted = |x: &Vector<Concrete>, _: &()| Function::stage(|x: &Vector<Term>| (x.sum(), Keep(x.len())), x);
    log.panics(|| SizedFunction::new(&n, counted, &x, &()));
    // Names of axes.
    let sum = || staged(|x| x.sum());
    log.panics(|| SizedFunction::new(&Sizes::new(), sum(), &x, &()));
    log.panics(|| SizedFunction::new(&Sizes::new().axis("y", 0, "n"), sum(), &x, &()));
    log.panics(|| SizedFunction::new(&Sizes::new().axis("x", 1, "n"), sum(), &x, &()));
    log.panics(|| SizedFunction::new(&Sizes::new().axis("x", 0, &"n".repeat(101)), sum(), &x, &()));
    log.panics(|| SizedFunction::new(&Sizes::new().axis("x", 0, "n").axis("x", 0, "m"), sum(), &x, &()));
    log.panics(|| SizedFunction::new(&Sizes::new().axis("x", 0, "n").at_least("m", 2), sum(), &x, &()));
    let product = Jit::stage_with(|x: &Vector<Term>, y: &Vector<Term>| x.sum() * y.sum());
    let both = n.clone().axis("data", 0, "n");
    log.panics(|| product.for_sizes(&both, &x, &tensor([1.0])));
    // Runs.
    let f = product.for_sizes(&both, &x, &x);
    log.fails(f.run_with(&x, &tensor([1.0])));
    log.fails(f.run_with(&tensor([]), &tensor([])));
    log.fails(f.at(&[("m", 3)]).map(|_| ()));
    log.fails(f.model().program().at(&[3, 4]));
    log.fails(f.model().run(&[Array::scalar(1.0)]));
    let shared = model(json!([["n", 0]]), sharing(60, false), json!([]), "value_and_gradient");
    log.fails(serde_json::from_value::<SizedModel>(shared).expect("it is well formed").run(&[Array::scalar(0.5)]));
    let square = SizedFunction::new(&n, staged(|x| x.outer::<1, 2>(x).sum()), &x, &());
    log.fails(square.at(&[("n", 1 << 40)]).map(|_| ()));
}
