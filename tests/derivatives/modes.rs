//! Forward and reverse mode give the same, and the choice between them is told and can be made by the user.
//!
//! The choice itself is tested in the library, where its candidates are known.

use polygrad::program::Term;
use polygrad::{
    Array, BaseTensor, Concrete, Function, FunctionOptions, Mode, Tensor, checkpoint, custom_vjp, grad, hessian,
    iterate, jacobian, jacobian_by, tensor, value_and_grad, value_and_jacobian,
};

use crate::agree::Case;
use crate::gallery::{self, Leaves, Objective, Visitor};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

fn floats(arrays: &[Array]) -> Vec<f64> {
    arrays.iter().flat_map(|a| a.cast::<f64>().to_vec::<f64>().expect("floats")).collect()
}

/// The derivatives of the objectives that differ between modes.
#[derive(Default)]
struct Modes {
    failures: Vec<String>,
    /// The number of derivatives for which several were compared.
    compared: usize,
}

impl Modes {
    /// A function in each mode, and in the one that it chooses, if that is not the same.
    fn compare<Y>(
        &mut self,
        name: &str,
        (tolerance, x, data): (f64, &Leaves<Array>, &Leaves<Array>),
        mut function: Function<Leaves<Array>, Leaves<Array>, Y>,
        arrays: impl Fn(Y) -> Vec<Array>,
    ) {
        let run = |f: &Function<_, _, Y>| floats(&arrays(f.run_with(x, data).expect("the same shapes")));
        self.compared += usize::from(function.explain().contains("estimates"));
        let expected = run(&function);
        let size = expected.iter().fold(1.0, |max: f64, x| max.max(x.abs()));
        // One derivative, whose mode is told: `gradient, 1 result in 3 inputs: reverse, since ..`.
        let told = function.explain();
        let [forward, reverse] = ["forward", "reverse"].map(|mode| {
            let is_chosen = told.lines().next().is_some_and(|line| line.contains(&format!(": {mode},")));
            told.starts_with("gradient") && is_chosen
        });
        for (mode, is_chosen) in [(Mode::Forward, forward), (Mode::Reverse, reverse)] {
            if is_chosen {
                continue;
            }
            function = function.with_options(FunctionOptions::new().mode(mode));
            let found = run(&function);
            let near = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * size;
            if found.len() != expected.len() || !found.iter().zip(&expected).all(near) {
                self.failures.push(format!("{name}, {mode:?}: {found:?}, not {expected:?}"));
            }
        }
    }
}

/// The largest number of inputs of which a Hessian is compared.
const MOST: usize = 8;

impl Modes {
    fn look(&mut self, case: &Case) {
        let (x, data) = (&case.inputs, &case.data);
        let at = (10.0 * case.tolerance, x, data);
        let eval = |x: &Leaves<Term>, data: &Leaves<Term>| case.with(x, data);
        let gradient = Function::grad_with(eval, x, data);
        self.compare(&format!("{}: gradient", case.name), at, gradient, |y: Leaves<Array>| y.0);
        if floats(&x.0).len() <= MOST {
            let hessian = Function::hessian_matrix_with(eval, x, data);
            self.compare(&format!("{}: Hessian", case.name), at, hessian, |y: Tensor<_, 2>| vec![y.into_raw()]);
        }
    }
}

impl Visitor for Modes {
    fn visit<O: Objective>(&mut self) {
        self.look(&Case::of::<O>());
    }
}

#[test]
fn the_modes_agree_on_the_gallery() {
    let modes: Vec<Modes> = gallery::each_apart();
    let failures: Vec<&str> = modes.iter().flat_map(|modes| &modes.failures).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let compared: usize = modes.iter().map(|modes| modes.compared).sum();
    assert!(compared > 5, "{compared}");
}

/// A path with kinks: absolute values, extrema, a choice.
fn kinked<T: BaseTensor>(x: &Number<T>) -> Vector<T> {
    let y = iterate(4, Tensor::scalar(0.0), |_, y: Number<T>| (&y + x).abs().max(x) - y.min(0.0).relu());
    (y * Tensor::<T, 1>::constant([1.0, -1.0, 0.0])).abs()
}

/// The derivatives at a kink are those by convention, in both modes.
#[test]
fn the_modes_agree_at_kinks() {
    for at in [0.0, 1.0, -1.0] {
        let x = tensor(at);
        let [forward, reverse]: [Vector<Concrete>; 2] =
            [Mode::Forward, Mode::Reverse].map(|mode| jacobian_by(mode, kinked, &x));
        assert_eq!(forward, reverse, "at {at}");
        let f = Function::jacobian(kinked, &x);
        assert_eq!(f.run(&x).as_ref(), Ok(&forward), "at {at}");
    }
}

/// The sum of many numbers that decay in so many steps.
fn decay<T: BaseTensor>(n: usize, k: &Number<T>) -> Number<T> {
    iterate(n, Tensor::ones([512]), |_, y: Vector<T>| &y - 0.01 * k * y.square()).sum() / 512.0
}

/// So many steps that a plain verb compares modes.
const LONG: usize = 10_000;

fn twice<T: BaseTensor>(k: &Number<T>) -> Vector<T> {
    decay(LONG, k) * Tensor::<T, 1>::constant([1.0, 2.0])
}

#[test]
fn the_choice_is_told() {
    let x = tensor(0.5);
    let function = |k: &Number<_>| decay(200, k);
    let first = |text: String| text.lines().next().map(str::to_owned).unwrap_or_default();
    let made = Function::grad(function, &x);
    let text = made.explain();
    assert_eq!(first(text.clone()), "gradient, 1 result in 1 input: forward, side by side, by these estimates");
    assert_eq!(text.lines().filter(|line| line.contains(" us, ") && line.contains(" elements, ")).count(), 2, "{text}");
    // What a run does comes after.
    assert!(text.ends_with(&made.executable().explain()), "{text}");
    let reverse = made.with_options(FunctionOptions::new().mode(Mode::Reverse));
    assert_eq!(first(reverse.explain()), "gradient, 1 result in 1 input: reverse, as asked for");
    let free = reverse.with_options(FunctionOptions::new());
    assert_eq!(free.explain(), text);

    let v = Tensor::<Concrete, 1>::ones([9]);
    let told = |f: String| first(f);
    assert_eq!(
        told(Function::grad(|x: &Vector<_>| x.sin().sum(), &v).explain()),
        "gradient, 1 result in 9 inputs: reverse, since there are far fewer results"
    );
    let wide = |x: &Vector<_>| x.slice(0, ..2).sin();
    assert_eq!(
        told(Function::<_, _, Tensor<_, 2>>::jacobian(wide, &v).explain()),
        "jacobian, 2 results in 9 inputs: reverse, since there are far fewer results"
    );
    let tall = |x: &Number<_>| x * Tensor::<Term, 1>::constant([1.0; 5]);
    assert_eq!(
        told(Function::<_, _, Vector<_>>::jacobian(tall, &x).explain()),
        "jacobian, 5 results in 1 input: forward, since there are far fewer inputs"
    );
    // A value has no mode.
    let value = Function::stage(function, &x);
    let passes = "passes: vectorize; before the plan: none\n";
    assert_eq!(value.explain(), format!("{passes}{}", value.executable().explain()));
}

/// What changed the program before its derivative, after it and before the plan.
#[test]
fn the_passes_are_told() {
    let options = FunctionOptions::new().mode(Mode::Reverse);
    let made = Function::grad(|k: &Number<_>| decay(200, k), &tensor(0.5)).with_options(options);
    let told = |text: String| text.lines().find(|line| line.starts_with("passes ")).map(str::to_owned);
    let plain = "passes before the derivative: vectorize; after it: vectorize, simplify; before the plan: sink";
    assert_eq!(told(made.explain()).as_deref(), Some(plain));
    let cut = made.with_options(options.checkpoint(checkpoint(20)));
    let segments = told(cut.explain()).expect("a line about passes");
    assert!(segments.starts_with("passes before the derivative: checkpoint_loops, "), "{segments}");
    assert!(segments.contains("before the plan: inline"), "{segments}");
}

/// The Hessian tells the mode of the gradient, too.
#[test]
fn a_hessian_has_two_modes() {
    let f = Function::<_, _, Number<_>>::hessian(|k: &Number<_>| decay(50, k), &tensor(0.5));
    let text = f.explain();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" result in ")).collect();
    assert!(lines[0].starts_with("gradient, 1 result in 1 input: "), "{text}");
    assert!(lines[1].starts_with("hessian, 1 result in 1 input: "), "{text}");
    let asked = f.with_options(FunctionOptions::new().mode(Mode::Reverse)).explain();
    assert!(asked.contains("gradient, 1 result in 1 input: reverse, as asked for\nhessian"), "{asked}");
}

/// The plain verbs run long programs in the chosen mode, and give what the functions give.
#[test]
fn plain_verbs_choose_too() {
    let x = tensor(0.5);
    let (y, slope) = value_and_grad(|k: &Number<_>| decay(LONG, k), &x);
    let f = Function::value_and_grad(|k: &Number<_>| decay(LONG, k), &x);
    assert!(f.explain().contains("forward, side by side, by these estimates"), "{}", f.explain());
    assert_eq!(f.run(&x), Ok((y, slope)));
    let (_, j): (_, Vector<Concrete>) = value_and_jacobian(twice, &x);
    assert_eq!(Function::jacobian(twice, &x).run(&x), Ok(j));
    let short = |k: &Number<_>| decay(20, k);
    let h: Number<Concrete> = hessian(short, &x);
    let all: Number<Concrete> = Function::hessian(|k: &Number<Term>| decay(20, k), &x).run(&x).expect("the same shape");
    assert!((h.item() - all.item()).abs() < 1e-12, "{h:?} and {all:?}");
    // Within another program there is no threshold, and the result can be differentiated again.
    let inner = grad(|k: &Number<_>| grad(|k: &Number<_>| decay(20, k), k), &x);
    assert!((inner.item() - all.item()).abs() < 1e-12, "{inner:?} and {all:?}");
}

/// A function whose cotangents are clipped: forward mode has no rule for it.
fn clipped<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    custom_vjp("clipped", |x: &Vector<_>| x * 3.0, |_, _, y_bar| y_bar.clamp(-1.0, 1.0), x)
}

#[test]
fn a_function_without_a_rule_for_tangents_is_differentiated_backwards() {
    let x = tensor([1.0, 2.0]);
    let expected = tensor([[1.0, 0.0], [0.0, 1.0]]);
    let j: Tensor<Concrete, 2> = jacobian(clipped, &x);
    assert_eq!(j, expected);
    let f = Function::jacobian(clipped, &x);
    assert_eq!(f.run(&x), Ok(expected));
    assert!(f.explain().contains("reverse, since a function has no rule for tangents"), "{}", f.explain());
}
