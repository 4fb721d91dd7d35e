//! Verbs with data: the derivatives in the parameters are those of the verbs without data, and the work for cotangents
//! of the data is left out.

use polygrad::interpreters::Count;
use polygrad::interpreters::count::Family;
use polygrad::program::{Program, interpret};
use polygrad::tree::Tree;
use polygrad::{Array, Lift, tensor};
use polygrad_higher::{self as higher, Arrays, Expr, Language, Matrix, Prod, Real, Vector, fun2, lam, lam2, let_, map};

use super::agree::{close, moved, numbers};
use super::both::to_second_order;
use super::gallery;

type N = Count<Array>;

/// A value at the interpreter that counts.
fn lifted<P: Tree<Array>>(x: &P) -> P::With<N> {
    x.map(&mut |leaf: &Array| N::lift(leaf.clone()))
}

macro_rules! agree {
    ($($name:ident: $program:expr, at $x:expr;)*) => { $(
        #[test]
        fn $name() {
            let (p, data) = $x;
            let both = (p.clone(), data.clone());
            let program = to_second_order($program);
            let (value, (expected, _)) = higher::value_and_grad(program.at(), &both);
            assert_eq!(higher::value_and_grad_with(program.at(), &p, &data), (value.clone(), expected.clone()));
            assert_eq!(higher::grad_with(program.at(), &p, &data), expected);
            let (y, pullback) = higher::vjp_with(program.at(), &p, &data);
            assert_eq!((y, pullback(&tensor(1.0))), (value.clone(), expected.clone()));

            let (direction, _) = moved(&p, 0.0);
            let still = data.map(&mut |leaf: &Array| Array::zeros(leaf.shape(), leaf.dtype()));
            let along = (direction.clone(), still);
            let (y, tangent) = higher::jvp_with(program.at(), &p, &direction, &data);
            assert_eq!(y, value);
            close("tangent", &[tangent.item()], &[higher::jvp(program.at(), &both, &along).1.item()], 1e-12);
            let (of_x, second) = higher::hvp_with(program.at(), &p, &direction, &data);
            let ((of_both, _), (of_second, _)) = higher::hvp(program.at(), &both, &along);
            close("gradient", &numbers(&of_x), &numbers(&of_both), 1e-12);
            close("second", &numbers(&second), &numbers(&of_second), 1e-12);

            let staged = higher::stage_grad_with(program.at(), &p, &data);
            let leaves = p.leaves().into_iter().chain(data.leaves()).collect();
            let found: Vec<f64> = interpret(&staged, leaves).iter().flat_map(|y| y.to_vec::<f64>().expect("floats")).collect();
            close("staged", &found, &[vec![value.item()], numbers(&expected)].concat(), 1e-12);

            // Never more work than with the cotangents of the data.
            let at = lifted(&both);
            let count = |f: &dyn Fn()| N::counted(f).1.total().work;
            let all = count(&|| drop(higher::value_and_grad::<_, N>(program.at(), &at)));
            let some = count(&|| drop(higher::value_and_grad_with::<_, _, N>(program.at(), &at.0, &at.1)));
            assert!(some <= all, "{some} elements with data, {all} without");
        }
    )* };
}

agree! {
    twice: gallery::twice(), at (tensor(0.7), tensor(1.3));
    composed: gallery::composed(), at (tensor(0.7), tensor(1.3));
    nested: gallery::nested(), at (tensor(0.7), tensor(1.3));
    chosen: gallery::chosen(), at (tensor(0.7), tensor(1.3));
    power: gallery::power(), at (tensor(1.1), tensor(0.9));
    fig_2b: gallery::fig_2b(), at (tensor(3.0), tensor([1.0, 2.0, 5.0]));
    captured: gallery::captured(), at (tensor([0.3, -0.5]), tensor(0.8));
    pairwise: gallery::pairwise(), at (tensor([0.3, -0.5]), tensor([0.8, 0.1, 1.4]));
    escaping: gallery::escaping(), at (tensor([0.3, -0.5]), tensor(0.8));
    network: gallery::network(), at (
        ((tensor([[0.3, -0.2], [0.5, 0.1]]), tensor([0.4, 0.6])), tensor([0.1, -0.1])),
        tensor([[1.0, 0.5], [-0.3, 0.8]])
    );
    pair_fold: gallery::pair_fold(), at ((tensor(0.8), tensor(1.2)), tensor([0.3, -0.5]));
    indexed: gallery::indexed(), at (tensor([0.3, -0.5, 0.8]), tensor([1.0, 2.0, 3.0]));
    picked: gallery::picked(), at (tensor([0.3, -0.5]), tensor([[1.0, 2.0], [0.4, -0.7]]));
    scattered: gallery::scattered(), at (tensor([0.3, -0.5, 0.8]), tensor([1.0, 2.0, 3.0]));
    filtered: gallery::filtered(), at (tensor([0.3, -0.5]), tensor(0.1));
    kept: gallery::kept(), at (tensor([0.3, 1.5]), tensor(0.7));
    bounded: gallery::bounded(), at (tensor(1.7), tensor(0.9));
    losses: loss(), at (tensor([[0.3, -0.2, 0.1]]), (tensor([[1.0, 2.0, -1.0], [0.5, 0.1, 2.0]]), tensor([0.3, 0.7])));
}

/// A layer on each row of the data, and what its sum misses of a label.
fn loss<C: Arrays>() -> Expr<C, Prod<Matrix, Prod<Matrix, Vector>>, Real> {
    fun2(|w, data| {
        let (xs, labels) = data.split();
        let missed = lam2(|x, label| let_(w.at().matvec(x.at()).tanh().sum() - label.at(), |by| by.at() * by.at()));
        xs.at().zip_with(labels.at(), missed).sum()
    })
}

/// Data, whose cotangents are as large as they are, and a function of them.
fn weighed<C: Language>() -> Expr<C, Prod<Real, Vector>, Real> {
    fun2(|w, x| let_(x.at().sin(), |s| s.at().sum() * w.at()))
}

/// A loop whose trips read an array that it captures.
fn read<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Real> {
    fun2(|w, x| map(lam(|w| w.at() * x.at().sum()), w.at()).sum())
}

fn products(f: impl FnOnce()) -> (u64, u64) {
    let tally = N::counted(f).1;
    (tally.of(Family::Contract).calls, tally.total().work)
}

/// A product with a matrix in each trip, and in the reverse pass the outer product alone, not the product with the
/// transposed matrix.
#[test]
fn no_cotangents_of_data() {
    let (w, x) = (tensor([[0.3, -0.2, 0.1]]), (tensor([[1.0, 2.0, -1.0], [0.5, 0.1, 2.0]]), tensor([0.3, 0.7])));
    let at = lifted(&(w, x));
    let value = products(|| drop(higher::run::<_, _, N>(loss(), &at)));
    let all = products(|| drop(higher::value_and_grad::<_, N>(loss(), &at)));
    let some = products(|| drop(higher::value_and_grad_with::<_, _, N>(loss(), &at.0, &at.1)));
    println!("calls of products and work: value {value:?}, gradient {all:?}, with data {some:?}");
    // The reverse pass of a map runs the function again, and that of an operation the operation.
    assert_eq!((value.0, all.0, some.0), (2, 10, 8));

    let x = polygrad::Tensor::from_fn([1000], |[k]| (k as f64).sin());
    let at = lifted(&(tensor(0.5), x.clone()));
    let unary = |f: &dyn Fn()| N::counted(f).1.of(Family::Unary).calls;
    let value = unary(&|| drop(higher::run::<_, _, N>(weighed(), &at)));
    let some = unary(&|| drop(higher::value_and_grad_with::<_, _, N>(weighed(), &at.0, &at.1)));
    assert_eq!((value, some), (1, 1), "the sine is not differentiated");

    let at = lifted(&(tensor([0.5, 0.7]), x));
    let all = products(|| drop(higher::value_and_grad::<_, N>(read(), &at))).1;
    let some = products(|| drop(higher::value_and_grad_with::<_, _, N>(read(), &at.0, &at.1))).1;
    assert!(some + 2000 < all, "{some} elements, and {all} with the cotangents of an array in each trip");
}

/// What is recorded is the program of the array language with data.
#[test]
fn the_recorded_program_has_no_cotangents_of_data() {
    let (w, data) = (tensor([0.5, 0.7]), tensor([0.1, 0.2, 0.3]));
    let staged: Program = higher::stage_grad_with(read(), &w, &data);
    assert_eq!(staged.outputs().len(), 2);
    let by_arrays = polygrad::Function::value_and_grad_with(
        |w: &polygrad::Tensor<_, 1>, x: &polygrad::Tensor<_, 1>| higher::run(read(), &(w.clone(), x.clone())),
        &w,
        &data,
    );
    let text = |program: &Program| program.named(&["w", "x"], &["value", "gradient"]).to_string();
    assert_eq!(text(&staged), text(by_arrays.optimized()));
}
