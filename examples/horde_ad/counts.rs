//! What the programs cost: the counts of the laws, which hold on any machine.

use std::fmt::Write;

use polygrad::inspect::Cost;
use polygrad::program::Term;
use polygrad::{BaseTensor, Concrete, Function, FunctionOptions, Mode, Tensor, grad_with, tensor};

use super::cases::{
    ConvolutionCase, convolutional_case, convolutional_loss, drawn, gather_case, matrices_case, recurrent_case,
};
use super::convolutions::{Images, Variant};
use super::measure::cost;
use super::products::Number;
use super::{folds, networks, products, stated};

/// The costs of gradients of a convolution of images of this size, derived and by hand, in kernels and in images.
pub(crate) fn convolutions(size: usize) -> Vec<(String, [Cost; 2])> {
    let mut found = Vec::new();
    for variant in Variant::ALL {
        for (what, in_kernels) in [("kernels", true), ("images", false)] {
            let case = ConvolutionCase::new(variant, size);
            let both = [case.derived(in_kernels), case.by_hand(in_kernels)];
            found.push((format!("{variant:?}, {what}").to_lowercase(), both.map(|made| cost(made.optimized()))));
        }
    }
    found
}

/// The cost of the value of a layer, and of what errors of it give back to its parameters and to its operand.
macro_rules! layer {
    ($f:expr, $p:expr, $x:expr) => {{
        let both = ($p, $x);
        let errors = drawn($f(&both.0, &both.1).shape(), 77);
        let made = Function::stage_with(
            |both: &(_, _), errors: &Tensor<Term, _>| {
                let paired = |both: &(_, _), errors: &Tensor<_, _>| $f(&both.0, &both.1).dot(errors);
                ($f(&both.0, &both.1), grad_with(paired, both, errors))
            },
            &both,
            &errors,
        );
        cost(made.optimized())
    }};
}

/// As [`layer!`], where the operand is data.
macro_rules! first_layer {
    ($f:expr, $p:expr, $x:expr) => {{
        let (p, x) = ($p, $x);
        let errors = drawn($f(&p, &x).shape(), 77);
        let made = Function::stage_with(
            |p: &_, (x, errors): &(_, Tensor<Term, _>)| {
                let paired = |p: &_, (x, errors): &(_, Tensor<_, _>)| $f(p, x).dot(errors);
                let data = (Clone::clone(x), errors.clone());
                ($f(p, x), grad_with(paired, p, &data))
            },
            &p,
            &(x, errors),
        );
        cost(made.optimized())
    }};
}

/// The gradient of a network, and its layers alone.
pub(crate) struct Whole {
    pub(crate) name: &'static str,
    pub(crate) whole: Cost,
    pub(crate) parts: Vec<Cost>,
}

impl Whole {
    /// What the layers cost together.
    pub(crate) fn sum(&self) -> Cost {
        self.parts.iter().copied().sum()
    }
}

fn network_of_matrices() -> Whole {
    let (p, examples) = matrices_case([300, 100]);
    let made = Function::grad_with(networks::loss_of_matrices, &p, &examples[0]);
    let ((first, second, third), (picture, label)) = (p, examples[0].clone());
    let last = Function::grad_with(
        |(p, x): &(_, Tensor<Term, 1>), label: &Tensor<Term, 1>| networks::last(p, &(x.clone(), label.clone())),
        &(third, drawn([100], 6)),
        &label,
    );
    let parts = vec![
        first_layer!(networks::hidden, first, picture),
        layer!(networks::narrow, second, drawn([300], 5)),
        cost(last.optimized()),
    ];
    Whole { name: "network of matrices", whole: cost(made.optimized()), parts }
}

/// A full layer with a rectifier, of pictures.
fn rectified<T: BaseTensor>(p: &networks::Layer<T, 2>, x: &Images<T>) -> Tensor<T, 2> {
    let flat: Tensor<T, 2> = x.reshape([x.len(), x.size() / x.len()]);
    networks::full(p, &flat.t()).relu()
}

fn convolutional_network() -> Whole {
    let (p, data) = convolutional_case(12);
    let made = Function::grad_with(convolutional_loss, &p, &data);
    let (first, second, hidden, readout) = p;
    let parts = vec![
        first_layer!(networks::convolution, first, data.0),
        layer!(networks::convolution, second, drawn([7, 4, 6, 6], 5)),
        layer!(rectified, hidden, drawn([7, 4, 3, 3], 6)),
        layer!(networks::full, readout, drawn([5, 7], 7)),
    ];
    Whole { name: "convolutional network", whole: cost(made.optimized()), parts }
}

/// Networks with their layers.
pub(crate) fn networks() -> [Whole; 2] {
    [network_of_matrices(), convolutional_network()]
}

fn in_reverse(f: impl Fn(&Number<Term>) -> Number<Term>) -> Cost {
    let made = Function::grad(f, &tensor(1.1)).with_options(FunctionOptions::new().mode(Mode::Reverse));
    cost(made.optimized())
}

/// The gradient of a program of so many steps.
pub(crate) type Steps = fn(usize) -> Cost;

/// Programs of any number of steps, with their gradients.
pub(crate) const FOLDS: [(&str, Steps); 6] = [
    ("fold of sines", |n| in_reverse(move |a| folds::sines(n, a))),
    ("fold of folds of 7 products", |n| in_reverse(move |a| folds::products(&[n, 7], 0.7, a))),
    ("7 folds of products", |n| in_reverse(move |a| folds::products(&[7, n], 0.7, a))),
    ("fold of products", |n| cost(Function::grad(products::folded, &drawn([n], 1)).optimized())),
    ("products of a list", |n| {
        let list: Vec<Tensor<Concrete, 0>> = (0..n).map(|k| tensor(k as f64)).collect();
        cost(Function::grad(|list: &Vec<_>| products::from_left(list), &list).optimized())
    }),
    ("recurrent network", |n| {
        let (p, (pictures, labels)) = recurrent_case(16, 5);
        let pictures = pictures.slice(0, 0..n);
        cost(Function::grad_with(networks::recurrent_loss, &p, &(pictures, labels)).optimized())
    }),
];

/// The counts as a text.
pub(crate) fn report() -> String {
    let mut text = format!(
        "{:<36}{:>12}{:>12}{:>12}{:>12}\n",
        "gradient of a convolution, 24 x 24", "derived", "bytes", "by hand", "bytes"
    );
    for (name, [derived, by_hand]) in convolutions(24) {
        let of = [derived.work, derived.bytes, by_hand.work, by_hand.bytes];
        line(&mut text, &name, &of);
    }
    let _ = writeln!(text, "\n{:<36}{:>12}{:>12}{:>12}{:>12}", "network", "whole", "bytes", "layers", "bytes");
    for network in networks() {
        let (whole, sum) = (network.whole, network.sum());
        line(&mut text, network.name, &[whole.work, whole.bytes, sum.work, sum.bytes]);
    }
    let _ = writeln!(text, "\n{:<36}{:>12}{:>12}{:>12}{:>12}", "program of n steps", "7", "14", "28", "a step");
    for (name, steps) in FOLDS {
        let [a, b, c] = [7, 14, 28].map(|n| steps(n).work);
        line(&mut text, name, &[a, b, c, (c - b) / 14]);
    }
    let _ = writeln!(text, "\n{:<36}{:>12}{:>12}", "windows", "elements", "bytes");
    for (name, _) in stated::GATHERS {
        let found = cost(gather_case(name).0.optimized());
        line(&mut text, name, &[found.work, found.bytes]);
    }
    text
}

fn line(text: &mut String, name: &str, numbers: &[u64]) {
    let _ = write!(text, "{name:<36}");
    numbers.iter().for_each(|n| text.extend([format!("{n:>12}")]));
    text.push('\n');
}
