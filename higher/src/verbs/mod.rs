//! The verbs of higher-order programs ([`crate`]): evaluation, differentiation, staging and dependency
//! analysis.

#![allow(clippy::type_complexity, reason = "the type of a program is its typing rule")]

mod data;
mod datum;
pub mod transform;

pub use data::{grad_with, hvp_with, jvp_with, stage_grad_with, value_and_grad_with, vjp_with};
pub use datum::{Datum, Items, List, Sided, grad_of, run_of, value_and_grad_of, vjp_of};

use polygrad::ad::LinearMap;
use polygrad::array::Array;
use polygrad::base::BaseTensor;
use polygrad::dtype::DType;
use polygrad::interpreters::Tower;
use polygrad::interpreters::tower::ForwardLevel;
use polygrad::passes::optimize;
use polygrad::program::{Program, Term};
use polygrad::seam::{gradient_program, linear_map, variables_like};
use polygrad::tensor::Tensor;
use polygrad::tree::Tree;

use crate::interpreters::misfit;
use crate::interpreters::optic::{Stage, Staged, Wire};
use crate::interpreters::{Backward, Booleans, CurryClosures, Dependency, Forward, Lin, Mode, Reverse, Run, Val};
use crate::primitive::leaves;
use crate::{Expr, Ground, Mask, Monoid, Parity, Real};

/// The value of a program.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2, lam};
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| lam(|z| x.at() * z.at()).app(y.at()))
/// }
/// assert_eq!(higher::run(program(), &(tensor(2.0), tensor(3.0))), tensor(6.0));
/// ```
#[track_caller]
pub fn run<A: Ground, B: Ground, T: BaseTensor>(program: Expr<Run<T>, A, B>, x: &A::Value<T>) -> B::Value<T> {
    program.hom().at(Val::given::<A>(x)).read::<B>()
}

/// Value and pullback of a program, by any instance of reverse mode: CHAD or differentiable curry.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{CurryLists, Reverse, Run};
/// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, fun2, lam, map};
/// /// "CHAD", Fig. 2(b).
/// fn program<C: Arrays>() -> Expr<C, Prod<Real, Vector>, Real> {
///     fun2(|x, y| map(lam(|z| x.at() * z.at()), y.at()).sum())
/// }
/// let (x, expected) = ((tensor(3.0), tensor([1.0, 2.0, 5.0])), (tensor(16.0), tensor([6.0, 6.0, 6.0])));
/// let (value, pullback) = higher::vjp_by(program::<Reverse<Run<Array>>>(), &x);
/// assert_eq!((value, &pullback(&tensor(2.0))), (tensor(24.0), &expected));
/// let (_, pullback) = higher::vjp_by(program::<CurryLists<Array>>(), &x);
/// assert_eq!(pullback(&tensor(2.0)), expected);
/// ```
#[track_caller]
pub fn vjp_by<C, A, B, T>(
    program: Expr<C, A, B>,
    x: &A::Value<T>,
) -> (B::Value<T>, LinearMap<'_, B::Value<T>, A::Value<T>>)
where
    C: Backward<T>,
    A: Ground,
    B: Ground,
    T: BaseTensor,
{
    with_pullback::<A, B, T>(&C::pulled(&program.hom(), Val::given::<A>(x)), x, by_cells)
}

/// The run of a pullback: the cotangent of what is differentiated, from that of the value.
type Pull<T> = fn(&Lin<Tower<T>>, Val<Tower<T>>) -> Val<Tower<T>>;

fn by_cells<T: BaseTensor>(pullback: &Lin<Tower<T>>, y_bar: Val<Tower<T>>) -> Val<Tower<T>> {
    pullback.run(Mode::Cells, y_bar)
}

/// Value and pullback to `x`, from those of a program that has run.
fn with_pullback<'a, A: Ground, B: Ground, T: BaseTensor>(
    ran: &Val<Tower<T>>,
    x: &'a A::Value<T>,
    pull: Pull<T>,
) -> (B::Value<T>, LinearMap<'a, B::Value<T>, A::Value<T>>) {
    let (value, pullback) = (ran.fst().read::<B>(), ran.snd().lin());
    let like = value.leaves();
    let back = move |ct: &B::Value<T>| {
        check_like("vjp", "cotangent", &like, &ct.leaves())?;
        Ok::<_, String>(pull(&pullback, Val::given::<B>(ct)).tangent_like::<A>(x))
    };
    (value, linear_map(back))
}

/// Value and gradient in `x`, from the value and the pullback of a program that has run.
fn with_gradient<A: Ground, T: BaseTensor>(
    ran: &Val<Tower<T>>,
    x: &A::Value<T>,
    pull: Pull<T>,
) -> (Tensor<T, 0>, A::Value<T>) {
    (ran.fst().read::<Real>(), pull(&ran.snd().lin(), one()).tangent_like::<A>(x))
}

/// Value and derivative along a tangent, of a program that has run.
fn with_tangent<B: Ground, T: BaseTensor>(ran: &Val<Tower<T>>, x_dot: Val<Tower<T>>) -> (B::Value<T>, B::Value<T>) {
    let value = ran.fst().read::<B>();
    let tangent = ran.snd().lin().run(Mode::Tuples, x_dot).tangent_like::<B>(&value);
    (value, tangent)
}

/// The cotangent of `x` for a cotangent of the value, with linear functions evaluated in the given [`Mode`]. The other
/// verbs of reverse mode evaluate linear functions by cells.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Mode, Reverse, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn cube<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at() * x.at())
/// }
/// for mode in [Mode::Tuples, Mode::Cells] {
///     let x_bar = higher::pullback_by(cube::<Reverse<Run<Array>>>(), &tensor(2.0), &tensor(10.0), mode);
///     assert_eq!(x_bar, tensor(120.0));
/// }
/// ```
///
/// # Panics
/// When the cotangent differs from the value in shape or element type.
#[track_caller]
pub fn pullback_by<C: Backward<T>, A: Ground, B: Ground, T: BaseTensor>(
    program: Expr<C, A, B>,
    x: &A::Value<T>,
    y_bar: &B::Value<T>,
    mode: Mode,
) -> A::Value<T> {
    let ran = C::pulled(&program.hom(), Val::given::<A>(x));
    if let Err(message) = check_like("vjp", "cotangent", &ran.fst().results(&B::layout()), &y_bar.leaves()) {
        panic!("{message}");
    }
    ran.snd().lin().run(mode, Val::given::<B>(y_bar)).tangent_like::<A>(x)
}

/// Value and pullback of a program, by [`CurryClosures`], whose work is at most a constant multiple of the work of the
/// program.
///
/// `vjp : (A -> B) -> A -> (B, B -o A)`. The pullback maps a cotangent of the value, a tree of the same structure, to
/// the cotangent of `x`; integers and masks have the cotangent zero.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, lam, let_};
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| let_(lam(|z| z.at() * x.at()), |f| f.at().app(f.at().app(x.at()))))
/// }
/// let x = tensor(2.0);
/// let (value, pullback) = higher::vjp(program(), &x);
/// assert_eq!((value, pullback(&tensor(1.0))), (tensor(8.0), tensor(12.0)));
/// ```
#[track_caller]
pub fn vjp<A: Ground, B: Ground, T: BaseTensor>(
    program: Expr<CurryClosures<T>, A, B>,
    x: &A::Value<T>,
) -> (B::Value<T>, LinearMap<'_, B::Value<T>, A::Value<T>>) {
    vjp_by(program, x)
}

/// Value and gradient of a program whose result is a scalar, by [`CurryClosures`].
///
/// Example: [`grad`].
#[track_caller]
pub fn value_and_grad<A: Ground, T: BaseTensor>(
    program: Expr<CurryClosures<T>, A, Real>,
    x: &A::Value<T>,
) -> (Tensor<T, 0>, A::Value<T>) {
    value_and_grad_by(program, x)
}

/// [`value_and_grad`] by any instance of reverse mode.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{CurryLists, Reverse, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn cube<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at() * x.at())
/// }
/// let expected = (tensor(8.0), tensor(12.0));
/// assert_eq!(higher::value_and_grad_by(cube::<Reverse<Run<Array>>>(), &tensor(2.0)), expected);
/// assert_eq!(higher::value_and_grad_by(cube::<CurryLists<Array>>(), &tensor(2.0)), expected);
/// ```
#[track_caller]
pub fn value_and_grad_by<C: Backward<T>, A: Ground, T: BaseTensor>(
    program: Expr<C, A, Real>,
    x: &A::Value<T>,
) -> (Tensor<T, 0>, A::Value<T>) {
    with_gradient::<A, T>(&C::pulled(&program.hom(), Val::given::<A>(x)), x, by_cells)
}

/// Gradient of a program whose result is a scalar, by [`CurryClosures`].
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, lam};
/// fn cube<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| lam(|z| x.at() * z.at()).app(x.at() * x.at()))
/// }
/// assert_eq!(higher::grad(cube(), &tensor(2.0)), tensor(12.0));
/// assert_eq!(higher::value_and_grad(cube(), &tensor(2.0)), (tensor(8.0), tensor(12.0)));
/// // The gradient, and the second derivative times 1.
/// assert_eq!(higher::hvp(cube(), &tensor(2.0), &tensor(1.0)), (tensor(12.0), tensor(12.0)));
/// ```
#[track_caller]
pub fn grad<A: Ground, T: BaseTensor>(program: Expr<CurryClosures<T>, A, Real>, x: &A::Value<T>) -> A::Value<T> {
    value_and_grad(program, x).1
}

/// The value of a program and its derivative along `x_dot`, by forward CHAD.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Real, Vector, fun1, lam, map};
/// /// "CHAD", Fig. 2(a).
/// fn program<C: Arrays>() -> Expr<C, Real, Vector> {
///     fun1(|x| map(lam(|z| x.at() * z.at() + 1.0), x.at().replicate(3)))
/// }
/// let (value, tangent) = higher::jvp(program(), &tensor(3.0), &tensor(1.0));
/// assert_eq!((value, tangent), (tensor([10.0, 10.0, 10.0]), tensor([6.0, 6.0, 6.0])));
/// ```
///
/// # Panics
/// When a leaf of `x_dot` differs in shape or element type from that of `x`.
#[track_caller]
pub fn jvp<A: Ground, B: Ground, T: BaseTensor>(
    program: Expr<Forward<Run<T>>, A, B>,
    x: &A::Value<T>,
    x_dot: &A::Value<T>,
) -> (B::Value<T>, B::Value<T>) {
    if let Err(message) = check_like("jvp", "tangent", &x.leaves(), &x_dot.leaves()) {
        panic!("{message}");
    }
    with_tangent::<B, T>(&program.hom().at(Val::given::<A>(x)), Val::given::<A>(x_dot))
}

/// The gradient of a program whose result is a scalar, and the Hessian times `v`: forward mode over
/// reverse mode by [`CurryClosures`].
///
/// Example: [`grad`].
///
/// # Panics
/// When a leaf of `v` differs in shape or element type from that of `x`.
#[track_caller]
pub fn hvp<A: Ground, T: BaseTensor>(
    program: Expr<CurryClosures<T>, A, Real>,
    x: &A::Value<T>,
    v: &A::Value<T>,
) -> (A::Value<T>, A::Value<T>) {
    if let Err(message) = check_like("hvp", "direction", &x.leaves(), &v.leaves()) {
        panic!("{message}");
    }
    second::<A, T>(x, v, |x| by_cells(&program.hom().at(x).snd().lin(), one()))
}

/// The cotangent 1 of a number.
fn one<T: BaseTensor>() -> Val<Tower<T>> {
    Val::Leaf(Tower::constant(Array::scalar(1.0)))
}

/// The gradient that `f` computes at `x`, and its derivative along `v`.
fn second<A: Ground, T: BaseTensor>(
    x: &A::Value<T>,
    v: &A::Value<T>,
    f: impl FnOnce(Val<Tower<T>>) -> Val<Tower<T>>,
) -> (A::Value<T>, A::Value<T>) {
    let along = ForwardLevel::start();
    let inputs = x.leaves().into_iter().zip(v.leaves()).map(|(x, v)| Some(along.input(&Tower::of(x), &Tower::of(v))));
    let mut leaves = Vec::new();
    f(Val::of_leaves(&A::layout(), &mut inputs.collect::<Vec<_>>().into_iter())).leaves(&A::layout(), &mut leaves);
    let zeros = |x: &T| Tower::of(T::zeros(x.shape(), x.dtype()));
    let parts = leaves.into_iter().zip(x.leaves()).map(|(leaf, x)| {
        let (first, second) = along.parts(&leaf.unwrap_or_else(|| zeros(&x)));
        (first.into_base(), second.unwrap_or_else(|| zeros(&x)).into_base())
    });
    let (first, second): (Vec<T>, Vec<T>) = parts.unzip();
    (A::read(&mut first.into_iter()), A::read(&mut second.into_iter()))
}

/// The first-order program of a higher-order program, for inputs with the shapes of `like`. All applications of
/// functions are evaluated while the program is traced, so no function is left.
///
/// Inputs and results of the first-order program are the leaves, in order. The program is optimized.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, fun2, lam, map};
/// fn program<C: Arrays>() -> Expr<C, Prod<Real, Vector>, Real> {
///     fun2(|x, y| map(lam(|z| x.at() * z.at()), y.at()).sum())
/// }
/// let staged = higher::stage(program(), &(tensor(0.0), tensor([0.0; 3])));
/// let inputs = vec![Array::scalar(3.0), Array::from([1.0, 2.0, 5.0])];
/// assert_eq!(interpret(&staged, inputs), [Array::scalar(24.0)]);
/// ```
///
/// # Panics
/// When control flow depends on values of inputs and cannot be recorded: a recursion that ends by a condition on inputs, if
/// its argument and its result are more than tensors whose shapes stay the same; and an `iterate` whose state contains more
/// than tensors, and functions of one code.
#[track_caller]
pub fn stage<A: Ground, B: Ground>(program: Expr<Run<Term>, A, B>, like: &A::Value<Array>) -> Program {
    optimize(&recorded(program, like))
}

/// The first-order program of the value and the gradient of a higher-order program, for inputs with the shapes of
/// `like`. Its results are the value and the leaves of the gradient.
///
/// All functions are gone from the program when it is differentiated ([`stage`]), by reverse or forward mode of the array
/// language, whichever has the less estimated time: so the result is the program that
/// [`Function::value_and_grad`](polygrad::Function::value_and_grad) makes of the array form. [`stage_grad_by`] takes an
/// instance that differentiates by structure.
///
/// ```
/// use polygrad::backend::compile;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, fun2, lam, map};
/// /// Scales by functions, one for each element.
/// fn program<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Real> {
///     fun2(|a, x| map(lam(|a| lam(|z| a.at() * z.at())), a.at()).zip_with(x.at(), lam(|p| p.at().fst().app(p.at().snd()))).sum())
/// }
/// let like = (tensor([0.0; 2]), tensor([0.0; 2]));
/// let gradient = higher::stage_grad(program(), &like);
/// let (a, x) = (Array::from([2.0, 3.0]), Array::from([10.0, 20.0]));
/// assert_eq!(compile(&gradient).run(&[a.clone(), x.clone()]), [Array::scalar(80.0), x, a]);
/// ```
///
/// # Panics
/// Like [`stage`]; and when a part of the program has no derivative in reverse mode.
#[track_caller]
pub fn stage_grad<A: Ground>(program: Expr<Run<Term>, A, Real>, like: &A::Value<Array>) -> Program {
    gradient(&recorded(program, like), leaves(&A::layout()), like)
}

/// The program of the value and the gradient of a recorded program in the first `count` inputs, which are those of `like`.
#[track_caller]
fn gradient<X: Tree<Array>>(recorded: &Program, count: usize, like: &X) -> Program {
    let ready = match gradient_program(recorded, count) {
        Ok(ready) => ready,
        Err(fault) => panic!("{fault}"),
    };
    let mut results = vec![String::from("value")];
    like.paths("grad", &mut results);
    let inputs: Vec<&str> = recorded.inputs().iter().map(|slot| slot.name.as_str()).collect();
    ready.named(&inputs, &results.iter().map(String::as_str).collect::<Vec<&str>>())
}

/// The program of a higher-order program, as it is recorded. Inputs have the names that a function of the array language
/// gives them.
#[track_caller]
fn recorded<A: Ground, B: Ground>(program: Expr<Run<Term>, A, B>, like: &A::Value<Array>) -> Program {
    let mut names = Vec::new();
    like.paths("x", &mut names);
    traced::<A>(like, &names, |x| program.hom().at(Val::given::<A>(&x)).results(&B::layout()))
}

/// The program of [`stage_grad`] by any instance of reverse mode: the program is differentiated by its structure, and then
/// recorded.
///
/// ```
/// use polygrad::program::{Term, interpret};
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Reverse, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn cube<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at() * x.at())
/// }
/// let program = higher::stage_grad_by(cube::<Reverse<Run<Term>>>(), &tensor(0.0));
/// assert_eq!(interpret(&program, vec![Array::scalar(2.0)]), [Array::scalar(8.0), Array::scalar(12.0)]);
/// ```
#[track_caller]
pub fn stage_grad_by<C: Backward<Term>, A: Ground>(program: Expr<C, A, Real>, like: &A::Value<Array>) -> Program {
    optimize(&traced::<A>(like, &[], |x| {
        let (value, gradient) = value_and_grad_by::<C, A, Term>(program, &x);
        std::iter::once(value.into_raw()).chain(gradient.leaves()).collect()
    }))
}

/// All programs of an optic of order `n`, `n` times [`ReverseOptic`](crate::interpreters::ReverseOptic), as one
/// first-order program, for arguments with the shapes of `like`. Equal operations of different stages are one.
///
/// ```text
/// inputs:   d_0 in A, d_1 in B, d_2 in A, d_3 in B, ..    one for each of the 2^n stages
/// results:  o_0 in B, o_1 in A, o_2 in B, o_3 in A, ..    their outputs: see `optic::Stage`
/// ```
///
/// Inputs and results are the leaves, in order; after the first stage those of floats alone, since integers and masks
/// have no cotangents. The program is optimized.
///
/// ```
/// use polygrad::backend::compile;
/// use polygrad::program::Term;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::{Wire, Wiring};
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{self as higher, Monoidal, Real};
/// type Second = ReverseOptic<ReverseOptic<Wires<Run<Term>>>>;
/// fn sine<W: Wiring>() -> Wire<W, Real, Real> {
///     <W as Monoidal>::unary(polygrad::ops::Unary::Sin)
/// }
/// let program = higher::stage_optic(&sine::<Second>(), &tensor(0.0));
/// let found = compile(&program).run(&[0.7, 1.0, 1.0, 0.0].map(Array::scalar));
/// let (s, c) = (0.7_f64.sin(), 0.7_f64.cos());
/// assert_eq!(found, [s, c, c, -s].map(Array::scalar));
/// ```
///
/// # Panics
/// When an operation gets arrays whose shapes do not fit.
#[track_caller]
pub fn stage_optic<W: Staged<Term>, A: Ground, B: Ground>(program: &Wire<W, A, B>, like: &A::Value<Array>) -> Program {
    let stages = W::stages(program);
    let (mut inputs, x) = variables(&like.leaves(), |_| true);
    let start = A::read(&mut x.into_iter());
    let y = stages[0].take::<A, B>(&start);
    let (of_a, of_b, mut results) = (start.leaves(), y.leaves(), y.leaves());
    for (at, stage) in stages.iter().enumerate().skip(1) {
        let like = if at % 2 == 1 { &of_b } else { &of_a };
        let (given, input) = variables(like, DType::is_float);
        let found = match at % 2 {
            1 => stage.take::<B, A>(&B::read(&mut input.into_iter())).leaves(),
            _ => stage.take::<A, B>(&A::read(&mut input.into_iter())).leaves(),
        };
        inputs.extend(given);
        results.extend(found.into_iter().filter(|leaf| leaf.dtype().is_float()));
    }
    optimize(&program_of(&inputs, &results, &[]))
}

/// The reverse derivative of order `n` of a program `f` of wires, as the last of the `2^n` programs of its optic:
///
/// ```text
/// (x, v_1, .., v_(n-1), y') -> D^n f(x) [v_1, .., v_(n-1), .]^t y'
/// ```
///
/// the gradient in `x` of `<y', D^(n-1) f(x) [v_1, .., v_(n-1)]>`. Integers and masks have the derivative zero.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::{Wire, Wiring};
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{self as higher, Monoidal, Real};
/// type Third = ReverseOptic<ReverseOptic<ReverseOptic<Wires<Run<Array>>>>>;
/// fn sine<W: Wiring>() -> Wire<W, Real, Real> {
///     <W as Monoidal>::unary(polygrad::ops::Unary::Sin)
/// }
/// let found = higher::reverse_derivative(&sine::<Third>(), &tensor(0.7), &[tensor(2.0), tensor(3.0)], &tensor(1.0));
/// assert_eq!(found, tensor(-6.0 * 0.7_f64.cos()));
/// ```
///
/// # Panics
/// When the number of directions is not the order minus one, the shape of a direction is not that of `x`, or that of
/// the cotangent not that of the value.
#[track_caller]
pub fn reverse_derivative<W: Staged<T>, A: Ground, B: Ground, T: BaseTensor>(
    program: &Wire<W, A, B>,
    x: &A::Value<T>,
    directions: &[A::Value<T>],
    y_bar: &B::Value<T>,
) -> A::Value<T> {
    if W::ORDER != directions.len() + 1 {
        panic!(
            "reverse_derivative: there must be one direction less than the order of the optic, but there are {} for order {}; give \
             as many, or take the program at another order",
            directions.len(),
            W::ORDER
        );
    }
    let stages = W::stages(program);
    stages[0].take::<A, B>(x);
    last_stage::<A, B, T>(&stages, directions, y_bar)
}

/// The program of [`reverse_derivative`], for arguments with the shapes of `like`. Its inputs are the leaves of `x`,
/// and the floats of `y'` and of `v_1`, .., `v_(n-1)`, in this order; its results are the floats of the derivative. The
/// program is optimized.
///
/// ```
/// use polygrad::backend::compile;
/// use polygrad::program::Term;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::{Wire, Wiring};
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{self as higher, Monoidal, Real};
/// type Second = ReverseOptic<ReverseOptic<Wires<Run<Term>>>>;
/// fn sine<W: Wiring>() -> Wire<W, Real, Real> {
///     <W as Monoidal>::unary(polygrad::ops::Unary::Sin)
/// }
/// let program = higher::stage_reverse_derivative(&sine::<Second>(), &tensor(0.0));
/// let found = compile(&program).run(&[0.7, 1.0, 2.0].map(Array::scalar));
/// assert_eq!(found, [Array::scalar(-2.0 * 0.7_f64.sin())]);
/// ```
///
/// # Panics
/// Like [`stage_optic`]; and at order 0, which has no derivative.
#[track_caller]
pub fn stage_reverse_derivative<W: Staged<Term>, A: Ground, B: Ground>(
    program: &Wire<W, A, B>,
    like: &A::Value<Array>,
) -> Program {
    let Some(directions) = W::ORDER.checked_sub(1) else {
        panic!(
            "stage_reverse_derivative: the program must be at an order of at least 1, but it is one of wires alone; take it at \
             `ReverseOptic`"
        )
    };
    let stages = W::stages(program);
    let (mut inputs, x) = variables(&like.leaves(), |_| true);
    let start = A::read(&mut x.into_iter());
    let y = stages[0].take::<A, B>(&start);
    let mut further = |like: &[Term]| {
        let (given, leaves) = variables(like, DType::is_float);
        inputs.extend(given);
        leaves.into_iter()
    };
    let y_bar = B::read(&mut further(&y.leaves()));
    let of_a = start.leaves();
    let directions: Vec<A::Value<Term>> = (0..directions).map(|_| A::read(&mut further(&of_a))).collect();
    let found = last_stage::<A, B, Term>(&stages, &directions, &y_bar);
    let results: Vec<Term> = found.leaves().into_iter().filter(|leaf| leaf.dtype().is_float()).collect();
    optimize(&program_of(&inputs, &results, &[]))
}

/// The output of the last stage, after the first one has run: the directions are the inputs of the further stages whose
/// number is a power of two, and the inputs of all others are zero.
#[track_caller]
fn last_stage<A: Ground, B: Ground, T: BaseTensor>(
    stages: &[Stage<T>],
    directions: &[A::Value<T>],
    y_bar: &B::Value<T>,
) -> A::Value<T> {
    let mut last = stages[1].take::<B, A>(y_bar);
    for (at, stage) in stages.iter().enumerate().skip(2) {
        if at.is_power_of_two() {
            stage.take::<A, B>(&directions[at.ilog2() as usize - 1]);
        } else if at % 2 == 0 {
            stage.take_zero::<B>();
        } else {
            last = stage.take_zero::<A>();
        }
    }
    last
}

/// Variables like these leaves, and the leaves of a value with them, where those that do not vary are zero.
fn variables<T: BaseTensor>(like: &[T], varies: impl Fn(DType) -> bool) -> (Vec<Term>, Vec<Term>) {
    let mut variables = Vec::new();
    let mut leaf = |x: &T| {
        if !varies(x.dtype()) {
            return Term::zeros(x.shape(), x.dtype());
        }
        let variable = Term::variable(x.shape(), x.dtype());
        variables.push(variable.clone());
        variable
    };
    let leaves = like.iter().map(&mut leaf).collect();
    (variables, leaves)
}

/// Dependency analysis: for each leaf of the input, the sum of the marks of the result leaves over all paths from the
/// input to a result.
///
/// Marks are values of a monoid. They are propagated backwards: each operand of an operation receives the sum of the
/// marks of the operation's results. With sets of results as marks, an input receives the set of the results that
/// depend on it; with the number 1, the number of paths.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Dependency, Reverse, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Monoid, Prod, Real, fun2};
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Paths(usize);
/// impl Monoid for Paths {
///     fn plus(&self, other: &Paths) -> Paths {
///         Paths(self.0 + other.0)
///     }
/// }
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| x.at() * x.at() + y.at())
/// }
/// let program = program::<Reverse<Run<Array>, Dependency<Paths>>>();
/// assert_eq!(higher::dependencies(program, &(tensor(1.0), tensor(2.0)), &[Paths(1)]), [Paths(2), Paths(1)]);
/// ```
///
/// # Panics
/// When the number of marks differs from the number of leaves of the result, or when the program branches on a mask
/// that is not known.
#[track_caller]
pub fn dependencies<M: Monoid, A: Ground, B: Ground, T: BaseTensor>(
    program: Expr<Reverse<Run<T>, Dependency<M>>, A, B>,
    x: &A::Value<T>,
    marks: &[M],
) -> Vec<M> {
    let results = leaves(&B::layout());
    if results != marks.len() {
        panic!(
            "dependencies: each leaf of the result needs a mark, but there are {results} leaves and {} marks; give as many",
            marks.len()
        );
    }
    let pullback = program.hom().at(Val::given::<A>(x)).snd().lin();
    let marks = Val::of_marks(&B::layout(), &mut marks.iter().cloned());
    pullback.run(Mode::Cells, marks).marks(&A::layout())
}

/// The formal derivatives of a program of scalar masks over the ring of two elements, in each input, by CHAD ("CHAD",
/// section 11.3). Addition is exclusive or, multiplication is conjunction. The derivative in an input that the program
/// uses once says whether negating the input changes the result.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Booleans, Reverse, Run};
/// use polygrad_higher::primitive::Logic;
/// use polygrad_higher::{self as higher, Expr, Language, Mask, Prod, apply, fun2, tup};
/// /// `x y + x`, where `+` is exclusive or: the derivatives are `y + 1` and `x`.
/// fn circuit<C: Language>() -> Expr<C, Prod<Mask, Mask>, Mask> {
///     fun2(|x, y| apply(Logic::Xor, tup(apply(Logic::And, tup(x.at(), y.at())), x.at())))
/// }
/// let circuit = || circuit::<Reverse<Run<Array>, Booleans>>();
/// assert_eq!(higher::formal_derivatives(circuit(), &(tensor(true), tensor(false))), [true, true]);
/// assert_eq!(higher::formal_derivatives(circuit(), &(tensor(false), tensor(true))), [false, false]);
/// ```
///
/// # Panics
/// When the program computes values that are not scalar masks, or a mask is not known.
#[track_caller]
pub fn formal_derivatives<A: Ground, T: BaseTensor>(
    program: Expr<Reverse<Run<T>, Booleans>, A, Mask>,
    x: &A::Value<T>,
) -> Vec<bool> {
    let pullback = program.hom().at(Val::given::<A>(x)).snd().lin();
    let one = Val::of_marks(&Mask::layout(), &mut std::iter::once(Parity(true)));
    pullback.run(Mode::Cells, one).marks::<Parity>(&A::layout()).into_iter().map(|p| p.0).collect()
}

/// The program of a function, traced at variables with the shapes of `like` and these names.
#[track_caller]
fn traced<A: Ground>(like: &A::Value<Array>, names: &[String], f: impl FnOnce(A::Value<Term>) -> Vec<Term>) -> Program {
    let variables = variables_like(&like.leaves());
    program_of(&variables, &f(A::read(&mut variables.iter().cloned())), names)
}

/// The program from variables to results.
#[track_caller]
fn program_of(variables: &[Term], results: &[Term], names: &[String]) -> Program {
    match Term::program(variables, results, names) {
        Ok(program) => program,
        Err(message) => panic!("{message}"),
    }
}

/// An error unless (co)tangents have the shapes and element types of their values.
fn check_like<T: BaseTensor>(verb: &str, what: &str, values: &[T], tangents: &[T]) -> Result<(), String> {
    values.iter().zip(tangents).find_map(|(x, t)| misfit(verb, what, x, t)).map_or(Ok(()), Err)
}
