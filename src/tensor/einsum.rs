//! `einsum`: sums of products that are specified by a letter for each axis.
//!
//! Law: a specification is a set of views of one iteration space with an axis per letter, one view for each operand and
//! one for the result. So one operand needs one linear operation, two operands need one contraction, and more operands
//! are contracted from left to right.

use smallvec::SmallVec;

use super::Tensor;
use crate::base::BaseTensor;
use crate::dtype::Num;
use crate::ops::{Binary, Contract, Linear, View};
use crate::shape::{Shape, Show, check_possible};

/// The operands of [`einsum`]: one tensor, an array of tensors of one rank, or a tuple of tensors of several ranks, all
/// borrowed and with one element type.
///
/// ```
/// use polygrad::tensor::Operands;
/// use polygrad::{BaseTensor, Tensor, einsum, tensor};
/// fn product<T: BaseTensor>(operands: impl Operands<T, f64>) -> Tensor<T, 1> {
///     einsum("ij,j->i", operands)
/// }
/// assert_eq!(product((&tensor([[1.0, 2.0]]), &tensor([3.0, 4.0]))), tensor([11.0]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the operands of `einsum`",
    label = "`&a`, an array `[&a, &b]` of tensors of one rank, or a tuple `(&a, &b)` is needed"
)]
pub trait Operands<T, E> {
    /// The operands, in order.
    #[doc(hidden)]
    fn operands(&self) -> Vec<T>;
}

impl<T: BaseTensor, const D: usize, E: Num> Operands<T, E> for &Tensor<T, D, E> {
    fn operands(&self) -> Vec<T> {
        vec![self.raw().clone()]
    }
}

impl<T: BaseTensor, const D: usize, E: Num, const N: usize> Operands<T, E> for [&Tensor<T, D, E>; N] {
    fn operands(&self) -> Vec<T> {
        self.iter().map(|t| t.raw().clone()).collect()
    }
}

macro_rules! tuples {
    ($($($D:ident $k:tt),*;)*) => { $(
        impl<T: BaseTensor, E: Num, $(const $D: usize),*> Operands<T, E> for ($(&Tensor<T, $D, E>,)*) {
            fn operands(&self) -> Vec<T> {
                vec![$( self.$k.raw().clone() ),*]
            }
        }
    )* };
}
tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, F 4;
    A 0, B 1, C 2, D 3, F 4, G 5;
}

/// A factor of a product: the value of a real tensor, or the parts of a complex one.
#[derive(Clone)]
pub(super) enum Multiplicand<T> {
    Real(T),
    Complex([T; 2]),
}

impl<T: BaseTensor> Multiplicand<T> {
    /// The shape of the value, or of each part.
    fn sizes(&self) -> &[usize] {
        match self {
            Multiplicand::Real(x) | Multiplicand::Complex([x, _]) => x.shape(),
        }
    }

    /// The value of a product of real factors.
    pub(super) fn into_real(self) -> T {
        match self {
            Multiplicand::Real(x) => x,
            Multiplicand::Complex(_) => unreachable!("a product of real factors is real"),
        }
    }

    /// The parts of a product.
    pub(super) fn into_complex(self) -> [T; 2] {
        match self {
            Multiplicand::Complex(parts) => parts,
            Multiplicand::Real(x) => {
                let zeros = T::zeros(x.shape(), x.dtype());
                [x, zeros]
            }
        }
    }

    /// A linear operation, of each part.
    #[track_caller]
    fn rearranged(&self, op: &Linear) -> Self {
        match self {
            Multiplicand::Real(x) => Multiplicand::Real(x.linear(op)),
            Multiplicand::Complex([x, y]) => Multiplicand::Complex([x.linear(op), y.linear(op)]),
        }
    }

    /// A product; a real factor is multiplied with each part of the other one.
    #[track_caller]
    fn product(op: &Contract, a: &Self, b: &Self) -> Self {
        match (a, b) {
            (Multiplicand::Real(a), Multiplicand::Real(b)) => Multiplicand::Real(T::contract(op, a, b)),
            (Multiplicand::Real(a), Multiplicand::Complex([c, d])) => {
                Multiplicand::Complex([T::contract(op, a, c), T::contract(op, a, d)])
            }
            (Multiplicand::Complex([a, b]), Multiplicand::Real(c)) => {
                Multiplicand::Complex([T::contract(op, a, c), T::contract(op, b, c)])
            }
            (Multiplicand::Complex([a, b]), Multiplicand::Complex([c, d])) => {
                let (ac, bd) = (T::contract(op, a, c), T::contract(op, b, d));
                let (ad, bc) = (T::contract(op, a, d), T::contract(op, b, c));
                Multiplicand::Complex([ac.binary(Binary::Sub, &bd), ad.binary(Binary::Add, &bc)])
            }
        }
    }
}

/// The letters of the axes of one tensor, in order.
type Labels = SmallVec<[char; 6]>;

/// The sum of products in which every axis has a letter: the elements of the operands with equal letters
/// at equal positions are multiplied, and summed over all letters that the result does not have.
///
/// `"ij,jk->ik"` is the matrix product. Spaces are ignored. A letter twice in one operand reads its diagonal, as in
/// `"ii->"`, the trace. Three and more operands are multiplied from left to right; a letter is summed over as soon as
/// no later operand has it.
///
/// ```
/// use polygrad::{Tensor, einsum, tensor};
/// let (a, x) = (tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 10.0]));
/// let product: Tensor<_, 2> = einsum("ij,jk->ik", [&a, &a]);
/// assert_eq!(product, a.matmul(&a));
/// let form: Tensor<_, 0> = einsum("i,ij,j->", (&x, &a, &x));
/// let diagonal: Tensor<_, 1> = einsum("ii->i", &a);
/// assert_eq!((form, diagonal), (tensor(451.0), tensor([1.0, 4.0])));
/// ```
///
/// # Panics
/// When the specification has no `->`, or a character that is not a letter, a comma or a space; when the number of
/// operands, or of the axes of an operand or of the result, is another than in the specification; when axes of one
/// letter differ in size; or when the result has a letter twice, or a letter that no operand has.
#[track_caller]
pub fn einsum<T: BaseTensor, const D: usize, E: Num>(spec: &str, operands: impl Operands<T, E>) -> Tensor<T, D, E> {
    let operands = operands.operands().into_iter().map(Multiplicand::Real).collect();
    Tensor::from_raw(einsum_of(spec, operands, D).into_real())
}

/// [`einsum`] of these operands, with a result of this rank.
#[track_caller]
pub(super) fn einsum_of<T: BaseTensor>(spec: &str, operands: Vec<Multiplicand<T>>, rank: usize) -> Multiplicand<T> {
    let (inputs, output) = parse(spec);
    if output.len() != rank {
        panic!(
            "einsum: the result must have an axis per letter after \"->\", but {spec:?} has {} there and rank {rank} is \
             asked for; change one",
            output.len()
        );
    }
    let sizes = Sizes::new(spec, &inputs, &operands.iter().map(Multiplicand::sizes).collect::<Vec<_>>());
    check_output(spec, &inputs, &output);
    evaluate(&sizes, inputs, operands, &output)
}

/// The letters of each operand and of the result.
#[track_caller]
fn parse(spec: &str) -> (Vec<Labels>, Labels) {
    let Some((inputs, output)) = spec.split_once("->") else {
        panic!(
            "einsum: needs \"->\" before the axes of the result, but {spec:?} has none; end it with \"->\" to sum all"
        );
    };
    let mut start = 0;
    let mut operands = Vec::new();
    for part in inputs.split(',') {
        operands.push(labels(spec, part, start));
        start += part.chars().count() + 1;
    }
    let output = labels(spec, output, start + 1);
    (operands, output)
}

/// The letters of one part of the specification; the part starts at character `start`.
#[track_caller]
fn labels(spec: &str, part: &str, start: usize) -> Labels {
    let mut labels = Labels::new();
    for (k, c) in part.chars().enumerate().filter(|(_, c)| *c != ' ') {
        if !c.is_alphabetic() {
            panic!(
                "einsum: axes must be letters, but character {} of {spec:?}, counted from 0, is {c:?}; name every axis \
                 by one letter",
                start + k
            );
        }
        labels.push(c);
    }
    labels
}

/// The size of every letter, in the order of their first use.
struct Sizes(SmallVec<[(char, usize); 8]>);

impl Sizes {
    #[track_caller]
    fn new(spec: &str, inputs: &[Labels], operands: &[&[usize]]) -> Sizes {
        if inputs.len() != operands.len() {
            panic!(
                "einsum: needs an operand per part before \"->\", but {spec:?} has {} and there are {}; separate the \
                 parts by commas",
                inputs.len(),
                operands.len()
            );
        }
        let mut sizes = Sizes(SmallVec::new());
        for (k, (labels, shape)) in inputs.iter().zip(operands).enumerate() {
            if labels.len() != shape.len() {
                panic!(
                    "einsum: needs a letter per axis, but in {spec:?} operand {k}, counted from 0, has {} and its shape \
                     is {}; name every axis",
                    labels.len(),
                    Show(shape)
                );
            }
            for (label, size) in labels.iter().zip(*shape) {
                sizes.record(spec, *label, *size);
            }
        }
        sizes
    }

    #[track_caller]
    fn record(&mut self, spec: &str, label: char, size: usize) {
        match self.0.iter().find(|(l, _)| *l == label) {
            Some((_, known)) if *known != size => panic!(
                "einsum: axes of one letter must have one size, but {label:?} in {spec:?} has sizes {known} and {size}; \
                 slice or pad one"
            ),
            Some(_) => {}
            None => self.0.push((label, size)),
        }
    }

    fn of(&self, label: char) -> usize {
        self.0.iter().find(|(l, _)| *l == label).map_or(0, |(_, size)| *size)
    }

    /// The view of a tensor with axes `labels` by an iteration space with axes `space`.
    #[track_caller]
    fn view(&self, space: &[char], labels: &[char]) -> View {
        check_possible("einsum", &labels.iter().map(|l| self.of(*l)).collect::<Shape>());
        let shape: Shape = space.iter().map(|l| self.of(*l)).collect();
        let axes: SmallVec<[usize; 6]> = labels.iter().filter_map(|l| space.iter().position(|s| s == l)).collect();
        View::axes(&shape, &axes)
    }
}

#[track_caller]
fn check_output(spec: &str, inputs: &[Labels], output: &[char]) {
    for (k, label) in output.iter().enumerate() {
        if !inputs.iter().any(|labels| labels.contains(label)) {
            panic!(
                "einsum: axes of the result must come from an operand, but no operand of {spec:?} has {label:?}; \
                 replicate the result for a new axis"
            );
        }
        if output[..k].contains(label) {
            panic!(
                "einsum: axes of the result must differ, but {spec:?} has {label:?} twice there; diag writes a diagonal"
            );
        }
    }
}

/// The distinct letters of some tensors; those of `first` come first.
fn space<'a>(first: &[char], labels: impl IntoIterator<Item = &'a char>) -> Labels {
    let mut space = Labels::from_slice(first);
    for label in labels {
        if !space.contains(label) {
            space.push(*label);
        }
    }
    space
}

/// The distinct letters of some tensors that the result or a later operand has.
fn needed<'a>(labels: impl IntoIterator<Item = &'a char>, later: &[Labels], output: &[char]) -> Labels {
    let all = space(&[], labels);
    all.into_iter().filter(|l| output.contains(l) || later.iter().any(|labels| labels.contains(l))).collect()
}

/// One tensor with axes `into` instead of `labels`: takes diagonals, sums over axes, and permutes axes.
#[track_caller]
fn rearranged<T: BaseTensor>(sizes: &Sizes, x: &Multiplicand<T>, labels: &[char], into: &[char]) -> Multiplicand<T> {
    if labels == into {
        return x.clone();
    }
    let space = space(into, labels);
    x.rearranged(&Linear::affine(sizes.view(&space, labels), sizes.view(&space, into)))
}

#[track_caller]
fn evaluate<T: BaseTensor>(
    sizes: &Sizes,
    mut inputs: Vec<Labels>,
    mut operands: Vec<Multiplicand<T>>,
    output: &[char],
) -> Multiplicand<T> {
    if operands.len() > 1 {
        // Letters of one operand alone are summed over first, so that they do not multiply the work.
        for k in 0..operands.len() {
            let others = [&inputs[..k], &inputs[k + 1..]].concat();
            let kept = needed(&inputs[k], &others, output);
            if kept.len() < space(&[], &inputs[k]).len() {
                operands[k] = rearranged(sizes, &operands[k], &inputs[k], &kept);
                inputs[k] = kept;
            }
        }
    }
    let (mut product, mut labels) = (operands[0].clone(), inputs[0].clone());
    for k in 1..operands.len() {
        let last = k + 1 == operands.len();
        let both = labels.iter().chain(&inputs[k]);
        let into = if last { Labels::from_slice(output) } else { needed(both.clone(), &inputs[k + 1..], output) };
        let space = space(&into, both);
        let op = Contract::new(sizes.view(&space, &labels), sizes.view(&space, &inputs[k]), sizes.view(&space, &into));
        (product, labels) = (Multiplicand::product(&op, &product, &operands[k]), into);
    }
    rearranged(sizes, &product, &labels, output)
}
