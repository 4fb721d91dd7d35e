//! Optics of programs whose wires carry arrays, pairs of arrays, and cases: to the third order, they agree with the
//! nested modes of the array language, with the definition of the nested functor, and with their recorded programs.

use polygrad::backend::compile;
use polygrad::ops::{Binary, Compare, Unary};
use polygrad::passes::optimize;
use polygrad::program::{Program, Term};
use polygrad::tree::Tree;
use polygrad::{Array, BaseTensor, Tensor, grad, jvp, tensor};
use polygrad_higher::interpreters::optic::{Stage, Staged, Wire, Wiring, wired};
use polygrad_higher::interpreters::{CurryClosures, ReverseOptic, Run, Wires};
use polygrad_higher::primitive::{Comparison, Constant, Gather, Pointwise, Pointwise2, SumAll};
use polygrad_higher::{
    self as higher, Ground, Int, Mask, Matrix, Monoidal, Obj, Primitive, Prod, Real, Sum, Unit, Vector,
};

use super::agree::{close, numbers};
use super::both::to_second_order;
use super::gallery;

type Base<T> = Wires<Run<T>>;
type First<T = Array> = ReverseOptic<Base<T>>;
type Second<T = Array> = ReverseOptic<First<T>>;
type Third<T = Array> = ReverseOptic<Second<T>>;
type Fourth<T = Array> = ReverseOptic<Third<T>>;

/// A vector of 3, a square matrix and a number.
pub(crate) type Three = Prod<Vector, Prod<Matrix, Real>>;
pub(crate) type Values<T = Array> = <Three as Ground>::Value<T>;

/// A program of wires from and to such values.
pub(crate) type Program3 = Wire<Base<Array>, Three, Three>;

/// Pseudo-random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn number(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }

    fn array(&mut self, shape: &[usize]) -> Array {
        Array::new(shape, (0..shape.iter().product()).map(|_| self.number()).collect::<Vec<f64>>())
    }

    pub(crate) fn values(&mut self) -> Values {
        let shapes: [&[usize]; 3] = [&[3], &[3, 3], &[]];
        let leaves: Vec<Array> = shapes.into_iter().map(|shape| self.array(shape)).collect();
        Three::read(&mut leaves.into_iter())
    }
}

/// `tanh (m v)`, a primitive of a vector and a matrix.
#[derive(Clone)]
struct Layer;

impl Primitive for Layer {
    type Dom = Prod<Vector, Matrix>;
    type Cod = Vector;

    fn name(&self) -> String {
        "layer".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (v, m) = (Tensor::<T, 1>::from_raw(args[0].clone()), Tensor::<T, 2>::from_raw(args[1].clone()));
        vec![m.matvec(&v).tanh().into_raw()]
    }
}

/// A primitive with several results, one of which is no float: of `v`, `m` and `r`, the products `r v` and `v v^t m`, and
/// the position of an extremum.
#[derive(Clone)]
struct Mixed;

impl Primitive for Mixed {
    type Dom = Three;
    type Cod = Prod<Prod<Vector, Matrix>, Int>;

    fn name(&self) -> String {
        "mixed".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (v, m) = (Tensor::<T, 1>::from_raw(args[0].clone()), Tensor::<T, 2>::from_raw(args[1].clone()));
        let r = Tensor::<T, 0>::from_raw(args[2].clone());
        let product = v.outer(&v).matmul(&m);
        vec![(&v * &r).into_raw(), product.sin().into_raw(), v.argmax().into_raw()]
    }
}

fn first<C: Monoidal, A: Obj, B: Obj>() -> C::Hom<Prod<A, B>, A> {
    C::then(C::then(C::beside(C::id(), C::delete()), C::swap()), C::elim())
}

fn second<C: Monoidal, A: Obj, B: Obj>() -> C::Hom<Prod<A, B>, B> {
    C::then(C::beside(C::delete(), C::id()), C::elim())
}

fn both<C: Monoidal, A: Obj, B: Obj, D: Obj>(f: C::Hom<A, B>, g: C::Hom<A, D>) -> C::Hom<A, Prod<B, D>> {
    C::then(C::copy(), C::beside(f, g))
}

fn vector<C: Monoidal>() -> C::Hom<Three, Vector> {
    first::<C, _, _>()
}

fn matrix<C: Monoidal>() -> C::Hom<Three, Matrix> {
    C::then(second::<C, _, _>(), first::<C, _, _>())
}

fn number<C: Monoidal>() -> C::Hom<Three, Real> {
    C::then(second::<C, _, _>(), second::<C, _, _>())
}

fn three<C: Monoidal>(
    v: C::Hom<Three, Vector>,
    m: C::Hom<Three, Matrix>,
    r: C::Hom<Three, Real>,
) -> C::Hom<Three, Three> {
    both::<C, _, _, _>(v, both::<C, _, _, _>(m, r))
}

/// `r v`: wires and primitives of different ranks.
fn scaled<C: Monoidal>() -> C::Hom<Three, Vector> {
    let mixed = C::then(C::primitive(Mixed), C::then(first::<C, _, _>(), first::<C, _, _>()));
    C::then(mixed, C::primitive(Pointwise::<1>(Unary::Sin)))
}

/// The value as the left case where `r > 0.1`.
fn branched<C: Monoidal>() -> C::Hom<Three, Sum<Three, Three>> {
    let bound = C::then(C::delete(), C::constant(0.1));
    let condition: C::Hom<Three, Mask> =
        C::then(both::<C, _, _, _>(number::<C>(), bound), C::primitive(Comparison(Compare::Gt)));
    C::then(both::<C, _, _, _>(C::id(), condition), C::branch())
}

/// A random program of `size` parts.
pub(crate) fn program<C: Monoidal>(random: &mut Random, size: usize) -> C::Hom<Three, Three> {
    (0..size).fold(C::id(), |so_far, _| C::then(so_far, part::<C>(random, size)))
}

fn part<C: Monoidal>(random: &mut Random, size: usize) -> C::Hom<Three, Three> {
    match random.below(11) {
        0 => {
            let layer = C::then(both::<C, _, _, _>(vector::<C>(), matrix::<C>()), C::primitive(Layer));
            three::<C>(layer, matrix::<C>(), number::<C>())
        }
        1 => three::<C>(scaled::<C>(), matrix::<C>(), number::<C>()),
        2 => {
            // The number is thrown away, and made anew.
            let sum = C::then(vector::<C>(), C::primitive(SumAll::<1>));
            three::<C>(vector::<C>(), matrix::<C>(), C::then(sum, C::unary(Unary::Cos)))
        }
        3 => {
            let of = C::then(C::primitive(Mixed), C::then(first::<C, _, _>(), second::<C, _, _>()));
            three::<C>(vector::<C>(), of, number::<C>())
        }
        4 => C::then(both::<C, _, _, _>(C::id(), C::id()), C::add()),
        5 => {
            // A zero of wires, which has no shape.
            let zero = C::then(C::delete(), C::zero::<Vector>());
            let sum = C::then(both::<C, _, _, _>(vector::<C>(), zero), C::add());
            three::<C>(sum, matrix::<C>(), number::<C>())
        }
        6 => {
            let at = C::then(C::delete(), C::primitive(Constant::<0, i64>::new(Array::scalar(1_i64))));
            let read = C::then(both::<C, _, _, _>(vector::<C>(), at), C::primitive(Gather));
            let product = C::then(both::<C, _, _, _>(read, number::<C>()), C::binary(Binary::Mul));
            three::<C>(vector::<C>(), matrix::<C>(), product)
        }
        7 => C::beside(C::primitive(Pointwise::<1>(Unary::Tanh)), C::beside(C::id(), C::unary(Unary::Sin))),
        8 => C::then(C::then(C::unassoc(), C::beside(C::swap(), C::id())), {
            // `((m, v), r)`, with the product of the matrix with itself.
            let squared = C::then(C::copy(), C::primitive(Pointwise2::<2>(Binary::Mul)));
            C::then(C::beside(C::then(C::beside(squared, C::id()), C::swap()), C::id()), C::assoc())
        }),
        9 if size > 1 => {
            let (f, g) = (program::<C>(random, size / 2), program::<C>(random, size / 2));
            C::then(C::then(branched::<C>(), C::either(f, g)), C::join())
        }
        _ => {
            // The cases of a pair apart, and together again.
            let pairs = C::either(both::<C, _, _, _>(C::id(), C::id()), both::<C, _, _, _>(C::id(), C::zero_of()));
            let apart = C::then(C::then(C::then(branched::<C>(), pairs), C::split()), C::unsplit());
            C::then(apart, C::then(C::join(), C::add()))
        }
    }
}

/// Zero, from any value.
trait ZeroOf: Monoidal {
    fn zero_of<A: Obj, B: Obj>() -> Self::Hom<A, B> {
        Self::then(Self::delete(), Self::zero())
    }
}

impl<C: Monoidal> ZeroOf for C {}

/// The value of a program, at any interpreter of tensors.
fn value<T: BaseTensor>(program: &Program3, x: &Values<T>) -> Values<T> {
    Base::<T>::stages(&program.at::<Base<T>>())[0].take::<Three, Three>(x)
}

/// `<y', f(x)>`, recorded.
fn pairing(program: &Program3, y_bar: &Values, x: &Values<Term>) -> Tensor<Term, 0> {
    let (v, (m, r)) = value(program, x);
    let (a, (b, c)): Values<Term> = y_bar.to_constant();
    (v * a).sum() + (m * b).sum() + r * c
}

/// The reverse derivative by the nested modes of the array language, which do not know the cases that run.
fn by_modes(program: &Program3, x: &Values, directions: &[Values], y_bar: &Values) -> Values {
    let of = |x: &Values<Term>| pairing(program, y_bar, x);
    let v: Vec<Values<Term>> = directions.iter().map(|v| v.to_constant()).collect();
    match &v[..] {
        [] => grad(of, x),
        [v] => grad(|x: &Values<Term>| jvp(of, x, v).1, x),
        [v, w] => grad(|x: &Values<Term>| jvp(|x: &Values<Term>| jvp(of, x, v).1, x, w).1, x),
        _ => unreachable!("up to the third order"),
    }
}

/// The reverse derivative by the optic of that order.
pub(crate) fn by_optic(program: &Program3, x: &Values, directions: &[Values], y_bar: &Values) -> Values {
    match directions.len() {
        0 => higher::reverse_derivative(&program.at::<First>(), x, directions, y_bar),
        1 => higher::reverse_derivative(&program.at::<Second>(), x, directions, y_bar),
        2 => higher::reverse_derivative(&program.at::<Third>(), x, directions, y_bar),
        _ => higher::reverse_derivative(&program.at::<Fourth>(), x, directions, y_bar),
    }
}

#[test]
fn random_programs_have_the_derivatives_of_nested_modes() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let program: Program3 = program::<Base<Array>>(&mut random, 1 + seed as usize % 4);
        let (x, y_bar) = (random.values(), random.values());
        let directions = [random.values(), random.values()];
        for order in 1..=3 {
            let directions = &directions[..order - 1];
            let expected = by_modes(&program, &x, directions, &y_bar);
            let found = by_optic(&program, &x, directions, &y_bar);
            close(&format!("seed {seed}, order {order}"), &numbers(&found), &numbers(&expected), 1e-11);
        }
    }
}

/// The outputs of all stages, from inputs that alternate.
pub(crate) fn driven(stages: &[Stage<Array>], inputs: &[Values]) -> Vec<Vec<f64>> {
    stages.iter().zip(inputs).map(|(stage, x)| numbers(&stage.take::<Three, Three>(x))).collect()
}

/// The stages are those of the functor by its definition, and those of an order are the first ones of the next order.
#[test]
fn stages_are_those_of_the_definition() {
    fn compared<W: Staged<Array>>(
        program: &Program3,
        inputs: &[Values],
        lower: &[Vec<f64>],
        what: &str,
    ) -> Vec<Vec<f64>> {
        let program = program.at::<W>();
        let (stages, defined) = (W::stages(&program), W::defined_stages(&program));
        let labels = |stages: &[Stage<Array>]| stages.iter().map(|s| s.label.clone()).collect::<Vec<_>>();
        assert_eq!(labels(&stages), labels(&defined));
        assert_eq!(stages.len(), 1 << W::ORDER);
        let found = driven(&stages, inputs);
        for (k, (a, b)) in found.iter().zip(driven(&defined, inputs)).enumerate() {
            close(&format!("{what}, stage {k}"), a, &b, 1e-11);
        }
        assert_eq!(found[..lower.len()], *lower, "{what}: the stages of a lower order come first");
        found
    }
    for seed in 0..20 {
        let mut random = Random::new(seed + 100);
        let program: Program3 = program::<Base<Array>>(&mut random, 1 + seed as usize % 3);
        let inputs: Vec<Values> = (0..8).map(|_| random.values()).collect();
        let what = format!("seed {seed}");
        let first = compared::<First>(&program, &inputs, &[], &what);
        let second = compared::<Second>(&program, &inputs, &first, &what);
        compared::<Third>(&program, &inputs, &second, &what);
    }
}

fn leaves_of(inputs: &[Values]) -> Vec<Array> {
    inputs.iter().flat_map(Tree::leaves).collect()
}

/// All stages as one program, compiled: it has the outputs of the stages, whichever case runs.
#[test]
fn recorded_optics_have_the_outputs_of_the_stages() {
    for seed in 0..12 {
        let mut random = Random::new(seed + 200);
        let program: Program3 = program::<Base<Array>>(&mut random, 2);
        let inputs: Vec<Values> = (0..8).map(|_| random.values()).collect();
        let all = compile(&higher::stage_optic(&program.at::<Third<Term>>(), &inputs[0]));
        let found = elements(all.run(&leaves_of(&inputs)));
        let expected = driven(&Third::stages(&program.at::<Third>()), &inputs).concat();
        close(&format!("seed {seed}"), &found, &expected, 1e-11);

        let last = compile(&higher::stage_reverse_derivative(&program.at::<Third<Term>>(), &inputs[0]));
        let found = elements(last.run(&leaves_of(&inputs[..4])));
        let expected = by_optic(&program, &inputs[0], &inputs[2..4], &inputs[1]);
        close(&format!("seed {seed}"), &found, &numbers(&expected), 1e-11);
    }
}

/// A network: two layers with bias, and a softmax loss.
#[derive(Clone)]
struct Affine;

impl Primitive for Affine {
    type Dom = Prod<Prod<Matrix, Vector>, Matrix>;
    type Cod = Matrix;

    fn name(&self) -> String {
        "affine".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (w, b) = (Tensor::<T, 2>::from_raw(args[0].clone()), Tensor::<T, 1>::from_raw(args[1].clone()));
        vec![affine(&w, &b, &Tensor::from_raw(args[2].clone())).into_raw()]
    }
}

fn affine<T: BaseTensor>(w: &Tensor<T, 2>, b: &Tensor<T, 1>, x: &Tensor<T, 2>) -> Tensor<T, 2> {
    let product = x.matmul(w);
    &product + b.up_to(&product)
}

#[derive(Clone)]
struct Loss(Array);

impl Primitive for Loss {
    type Dom = Matrix;
    type Cod = Real;

    fn name(&self) -> String {
        "loss".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let y = Tensor::<T, 2>::from_raw(T::constant(self.0.clone()));
        vec![loss(&Tensor::from_raw(args[0].clone()), &y).into_raw()]
    }
}

fn loss<T: BaseTensor>(z: &Tensor<T, 2>, y: &Tensor<T, 2>) -> Tensor<T, 0> {
    (z.logsumexp_axis::<1>(1).sum() - (z * y).sum()) / 4.0
}

type Weights = Prod<Prod<Matrix, Vector>, Prod<Matrix, Vector>>;
type WeightValues<T = Array> = <Weights as Ground>::Value<T>;

fn network<C: Monoidal>(x: &Array, y: &Array) -> C::Hom<Weights, Real> {
    let data = C::then(C::then(C::intro(), C::beside(C::primitive(Constant::<2>::new(x.clone())), C::id())), C::swap());
    let hidden = C::then(C::then(data, C::primitive(Affine)), C::primitive(Pointwise::<2>(Unary::Tanh)));
    let out = C::then(C::beside(hidden, C::id()), C::then(C::swap(), C::primitive(Affine)));
    C::then(out, C::primitive(Loss(y.clone())))
}

/// The third derivative of a network is that of reverse over forward over forward mode; both are recorded, and differ in
/// size by less than half.
#[test]
fn third_derivative_of_a_network() {
    let mut random = Random::new(7);
    let (x, y) = (random.array(&[4, 3]), random.array(&[4, 2]));
    let shapes: [&[usize]; 4] = [&[3, 5], &[5], &[5, 2], &[2]];
    let mut weights = || -> WeightValues {
        let leaves: Vec<Array> = shapes.iter().map(|shape| random.array(shape)).collect();
        Weights::read(&mut leaves.into_iter())
    };
    let (w, v1, v2) = (weights(), weights(), weights());
    let plain = |((w1, b1), (w2, b2)): &WeightValues<Term>| {
        let [x, y] = [&x, &y].map(|a| Tensor::from_raw(Term::constant(a.clone())));
        loss(&affine(w2, b2, &affine(w1, b1, &x).tanh()), &y)
    };
    let mut inputs: Vec<Term> = Vec::new();
    let mut variables = || -> WeightValues<Term> {
        let leaves: Vec<Term> = w.leaves().iter().map(|x| Term::variable(x.shape(), x.dtype())).collect();
        inputs.extend(leaves.clone());
        Weights::read(&mut leaves.into_iter())
    };
    let (at, d1, d2) = (variables(), variables(), variables());
    let third = grad(|w: &WeightValues<Term>| jvp(|w: &WeightValues<Term>| jvp(plain, w, &d1).1, w, &d2).1, &at);
    let nested = optimize(&Term::program(&inputs, &third.leaves(), &[]).expect("a closed program"));
    let arrays = [w.leaves(), v1.leaves(), v2.leaves()].concat();
    let expected: Vec<f64> = elements(compile(&nested).run(&arrays));

    let found = higher::reverse_derivative(&network::<Third>(&x, &y), &w, &[v1.clone(), v2.clone()], &tensor(1.0));
    close("network", &numbers(&found), &expected, 1e-11);
    let staged = higher::stage_reverse_derivative(&network::<Third<Term>>(&x, &y), &w);
    let arrays = [w.leaves(), vec![Array::scalar(1.0)], v1.leaves(), v2.leaves()].concat();
    close("network", &elements(compile(&staged).run(&arrays)), &expected, 1e-11);
    assert!(2 * staged.size() < 3 * nested.size(), "{} and {} operations", staged.size(), nested.size());
}

fn elements(results: Vec<Array>) -> Vec<f64> {
    results.iter().flat_map(|y| y.to_vec::<f64>().expect("floats")).collect()
}

/// A recorded program of arrays as wires, an operation at a time: loops, and operations with several results.
#[test]
fn recorded_programs_of_arrays_as_wires() {
    fn gradient<A: Ground>(program: &Program, x: &A::Value<Array>) -> Vec<f64> {
        let optic = wired::<First, A, Real>(program);
        numbers(&higher::reverse_derivative(&optic, x, &[], &tensor(1.0)))
    }
    macro_rules! agree {
        ($program:ident, $layout:ty, $x:expr) => {{
            let x = $x;
            let staged = higher::stage(to_second_order(gallery::$program()).at(), &x);
            let expected = numbers(
                &higher::value_and_grad_by(to_second_order(gallery::$program()).at::<CurryClosures<Array>, _>(), &x).1,
            );
            close(stringify!($program), &gradient::<$layout>(&staged, &x), &expected, 1e-12);
        }};
    }
    agree!(fig_2b, Prod<Real, Vector>, (tensor(3.0), tensor([1.0, 2.0, 5.0])));
    let vectors = || (tensor([0.7, -1.3, 0.4]), tensor([1.0, 2.0, 0.5]));
    agree!(captured, Prod<Vector, Real>, (tensor([0.7, -1.3, 0.4]), tensor(0.3)));
    agree!(pairwise, Prod<Vector, Vector>, vectors());
    agree!(pair_fold, Prod<Prod<Real, Real>, Vector>, ((tensor(0.7), tensor(1.3)), tensor([0.7, -1.3, 0.4])));
    agree!(indexed, Prod<Vector, Vector>, vectors());
    agree!(scattered, Prod<Vector, Vector>, vectors());
    agree!(filtered, Prod<Vector, Real>, (tensor([0.7, -1.3, 0.4]), tensor(0.3)));
}

/// A branch deletes its condition, and integers have no cotangents: what goes back for them is zero.
#[test]
fn integers_and_masks_have_zero_cotangents() {
    type Indexed = Prod<Vector, Int>;
    fn read<C: Monoidal>() -> C::Hom<Indexed, Real> {
        C::then(C::primitive(Gather), C::unary(Unary::Square))
    }
    let stages = Second::stages(&read::<Second>());
    let at = (tensor([1.0, 2.0, 3.0]), tensor(1_i64));
    assert_eq!(stages[0].take::<Indexed, Real>(&at), tensor(4.0));
    assert_eq!(stages[1].take::<Real, Indexed>(&tensor(1.0)), (tensor([0.0, 4.0, 0.0]), tensor(0_i64)));
    // The index of a direction is not read.
    let v = (tensor([0.0, 10.0, 0.0]), tensor(7_i64));
    assert_eq!(stages[2].take::<Indexed, Real>(&v), tensor(40.0));
    assert_eq!(stages[3].take_zero::<Indexed>(), (tensor([0.0, 20.0, 0.0]), tensor(0_i64)));
}

/// A run of the stages can start again, with another case.
#[test]
fn stages_run_again() {
    fn program<C: Monoidal>() -> C::Hom<Three, Three> {
        let square = C::beside(C::primitive(Pointwise::<1>(Unary::Square)), C::id());
        let sine = C::beside(C::primitive(Pointwise::<1>(Unary::Sin)), C::id());
        C::then(C::then(branched::<C>(), C::either(square, sine)), C::join())
    }
    let stages = Third::stages(&program::<Third>());
    let mut random = Random::new(3);
    for r in [1.0, -1.0, 1.0] {
        let mut inputs: Vec<Values> = (0..8).map(|_| random.values()).collect();
        inputs[0].1.1 = tensor(r);
        assert_eq!(driven(&stages, &inputs), driven(&Third::stages(&program::<Third>()), &inputs));
    }
}

/// The sine and the cosine, elementwise.
#[derive(Clone)]
struct Circle;

impl Primitive for Circle {
    type Dom = Vector;
    type Cod = Prod<Vector, Vector>;

    fn name(&self) -> String {
        "circle".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![args[0].unary(Unary::Sin), args[0].unary(Unary::Cos)]
    }
}

/// A result that is thrown away has the cotangent zero, which is symbolic. Of `s' cos x - c' sin x` one part remains.
#[test]
fn results_that_are_thrown_away() {
    fn derivatives<W: Staged<Array> + Wiring>(v: &[Tensor<Array, 1>]) {
        let (x, y_bar) = (tensor([0.3, -1.2]), tensor([2.0, 3.0]));
        let sine = <W as Monoidal>::then(<W as Monoidal>::primitive(Circle), first::<W, Vector, Vector>());
        let cosine = <W as Monoidal>::then(<W as Monoidal>::primitive(Circle), second::<W, Vector, Vector>());
        for (half, op) in [(sine, Unary::Sin), (cosine, Unary::Cos)] {
            let alone = <W as Monoidal>::primitive(Pointwise::<1>(op));
            let found = higher::reverse_derivative(&half, &x, v, &y_bar).to_vec();
            let expected = higher::reverse_derivative(&alone, &x, v, &y_bar).to_vec();
            close(&format!("{op:?}, order {}", W::ORDER), &found, &expected, 1e-15);
        }
    }
    let v = [tensor([0.5, -0.7]), tensor([1.5, 0.2]), tensor([-1.0, 0.4])];
    derivatives::<First>(&v[..0]);
    derivatives::<Second>(&v[..1]);
    derivatives::<Third>(&v[..2]);
    derivatives::<Fourth>(&v);
}

/// Only the unit type has no leaf.
#[test]
fn a_program_without_inputs() {
    fn constant<W: Wiring>() -> Wire<W, Unit, Vector> {
        <W as Monoidal>::primitive(Constant::<1>::new(Array::from([1.0, 2.0])))
    }
    let stages = First::stages(&constant::<First>());
    assert_eq!(stages[0].take::<Unit, Vector>(&()), tensor([1.0, 2.0]));
    stages[1].take::<Vector, Unit>(&tensor([3.0, 4.0]));
}
