//! Cells of recurrent networks, and their run along a sequence.
//!
//! Law: a run is one loop, `map_accum`, over the steps of the cell; a step is what a run does at one time.

use super::{Init, Linear, check_bias, check_input};
use crate::array::{Array, Rng};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::shape::Show;
use crate::tensor::{Tensor, concat, map_accum};
use crate::tree::Tree;

/// A cell: a map from a state and an input to the next state. All have a row for each sequence of a batch.
///
/// ```
/// use polygrad::array::Rng;
/// use polygrad::nn::{Gru, Linear, Lstm, RecurrentCell, Rnn};
/// use polygrad::{Tensor, tensor};
/// let cell = Rnn { input: Linear { weight: tensor([[1.0]]), bias: None }, state: tensor([[0.5]]) };
/// assert_eq!(cell.step(&cell.start(1), &tensor([[1.0]])).item(), 1f64.tanh());
/// // One sequence, two times.
/// let (last, outputs) = cell.run(cell.start(1), &tensor([[[1.0]], [[0.0]]]));
/// assert_eq!(outputs.to_vec(), [1f64.tanh(), (0.5 * 1f64.tanh()).tanh()]);
/// assert_eq!(last, outputs.row(1));
/// // Two sequences, five times.
/// let x: Tensor<_, 3> = Rng::new(2).normal([5, 2, 3], 0.0, 1.0);
/// let (gru, lstm): (Gru<_>, Lstm<_>) = (Gru::new(3, 8, &mut Rng::new(1)), Lstm::new(3, 8, &mut Rng::new(1)));
/// assert_eq!(gru.run(gru.start(2), &x).1.shape(), [5, 2, 8]);
/// let (last, outputs) = lstm.run(lstm.start(2), &x);
/// assert_eq!((outputs.row(4), lstm.output(&last)), (last.0.clone(), last.0));
/// ```
pub trait RecurrentCell<T: BaseTensor, E: Float = f64> {
    /// The state of the cell.
    type State: Tree<T, With<T> = Self::State>;

    /// The state before anything was read: zeros, for this number of sequences.
    ///
    /// Example: [`RecurrentCell`].
    #[track_caller]
    fn start(&self, batch: usize) -> Self::State;

    /// The next state, after an input `[batch, inputs]`.
    ///
    /// Example: [`RecurrentCell`].
    ///
    /// # Panics
    /// When the size of the input is not the number of inputs of the cell, or state and input have different batches.
    #[track_caller]
    fn step(&self, state: &Self::State, x: &Tensor<T, 2, E>) -> Self::State;

    /// The output of a state, `[batch, hidden]`.
    ///
    /// Example: [`RecurrentCell`].
    fn output(&self, state: &Self::State) -> Tensor<T, 2, E>;

    /// Panics unless a state and inputs of this shape, `[.., batch, inputs]`, fit the cell: a step and a run check this first.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// use polygrad::nn::{Gru, RecurrentCell};
    /// let cell: Gru<_> = Gru::new(3, 4, &mut Rng::new(1));
    /// let fits = |inputs: [usize; 2]| std::panic::catch_unwind(|| cell.check(&cell.start(2), &inputs)).is_ok();
    /// assert!(fits([2, 3]) && !fits([2, 5]));
    /// ```
    #[track_caller]
    fn check(&self, _state: &Self::State, _inputs: &[usize]) {}

    /// The last state, and the outputs `[time, batch, hidden]` of all times, after inputs `[time, batch, inputs]`.
    ///
    /// Example: [`RecurrentCell`].
    ///
    /// # Panics
    /// When the size of the inputs is not the number of inputs of the cell, or state and inputs have different batches.
    #[track_caller]
    fn run(&self, start: Self::State, xs: &Tensor<T, 3, E>) -> (Self::State, Tensor<T, 3, E>) {
        self.check(&start, xs.raw().shape());
        map_accum(start, xs, |state: Self::State, x: &Tensor<T, 2, E>| {
            let next = self.step(&state, x);
            let output = self.output(&next);
            (next, output)
        })
    }
}

/// The weights of `blocks` gates side by side: of the input by Glorot's rule, of the state orthogonal, each gate for
/// itself; biases are 0.
#[track_caller]
fn gates<E: Float>(
    [inputs, hidden]: [usize; 2],
    blocks: usize,
    rng: &mut Rng,
) -> (Linear<Array, E>, Tensor<Array, 2, E>) {
    let mut side_by_side = |rows: usize, init: Init| {
        let parts: Vec<Tensor<Array, 2, E>> =
            (0..blocks).map(|_| init.draw([rows, hidden], [rows, hidden], rng)).collect();
        concat(1, &parts)
    };
    let input = side_by_side(inputs, Init::GlorotUniform);
    let bias = Some(Tensor::zeros([blocks * hidden]));
    (Linear { weight: input, bias }, side_by_side(hidden, Init::Orthogonal))
}

/// Panics unless the weights of a cell are those of `gates` gates, and the states and inputs are those of a batch.
///
/// A run checks this before its loop: in a body the user's line is unknown.
#[track_caller]
fn check_cell<T: BaseTensor, E: Float>(
    op: &str,
    (input, state): (&Linear<T, E>, &Tensor<T, 2, E>),
    gates: usize,
    states: &[&Tensor<T, 2, E>],
    inputs: &[usize],
) {
    let (weight, hidden) = (input.weight.raw().shape(), state.len());
    let (rows, features) = (inputs.len() - 2, inputs.len() - 1);
    check_input(op, (inputs, features), (weight, 0));
    if let Some(bias) = &input.bias {
        check_bias(op, &[inputs[rows], weight[1]], 1, bias);
    }
    let columns = gates.saturating_mul(hidden);
    if [weight[1], state.dim::<1>()] != [columns; 2] {
        panic!(
            "{op}: both weights must have {gates} columns for each of the {hidden} rows of those of the state, but the shapes are {} and \
             {}; make the cell with new",
            Show(weight),
            Show(&state.shape())
        );
    }
    let expected = [inputs[rows], hidden];
    if let Some(wrong) = states.iter().find(|state| state.shape() != expected) {
        panic!(
            "{op}: the state must have shape {} for inputs of shape {}, but it has {}; begin with start",
            Show(&expected),
            Show(inputs),
            Show(&wrong.shape())
        );
    }
}

/// Columns of gate `k`.
#[track_caller]
fn gate<T: BaseTensor, E: Float>(gates: &Tensor<T, 2, E>, k: usize, hidden: usize) -> Tensor<T, 2, E> {
    gates.slice(1, k * hidden..(k + 1) * hidden)
}

/// The simple cell: `h' = tanh(x W + b + h U)`.
///
/// (Elman, *Finding structure in time*, Cognitive Science 14, 1990.)
///
/// Example: [`RecurrentCell`].
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Rnn<T: BaseTensor, E: Float = f64> {
    /// `W` and `b`, from the inputs to `hidden` numbers.
    pub input: Linear<T, E>,
    /// `U`, of shape `[hidden, hidden]`.
    pub state: Tensor<T, 2, E>,
}

impl<E: Float> Rnn<Array, E> {
    /// A cell with these numbers of inputs and of numbers in its state: input weights by [`Init::GlorotUniform`], state
    /// weights by [`Init::Orthogonal`].
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// use polygrad::nn::{Gru, Lstm, Rnn};
    /// use polygrad::tensor;
    /// let (rnn, gru): (Rnn<_>, Gru<_>) = (Rnn::new(3, 8, &mut Rng::new(1)), Gru::new(3, 8, &mut Rng::new(1)));
    /// assert_eq!((rnn.input.weight.shape(), rnn.state.shape()), ([3, 8], [8, 8]));
    /// assert_eq!((gru.input.weight.shape(), gru.state.shape()), ([3, 24], [8, 24]));
    /// let lstm: Lstm<_> = Lstm::new(3, 1, &mut Rng::new(1));
    /// assert_eq!(lstm.input.bias, Some(tensor([0.0, 1.0, 0.0, 0.0])));
    /// ```
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize, rng: &mut Rng) -> Self {
        let (input, state) = gates([inputs, hidden], 1, rng);
        Rnn { input, state }
    }
}

impl<T: BaseTensor, E: Float> RecurrentCell<T, E> for Rnn<T, E> {
    type State = Tensor<T, 2, E>;

    #[track_caller]
    fn start(&self, batch: usize) -> Self::State {
        Tensor::zeros([batch, self.state.len()])
    }

    #[track_caller]
    fn step(&self, h: &Self::State, x: &Tensor<T, 2, E>) -> Self::State {
        self.check(h, x.raw().shape());
        (self.input.apply(x) + h.matmul(&self.state)).tanh()
    }

    fn output(&self, state: &Self::State) -> Tensor<T, 2, E> {
        state.clone()
    }

    #[track_caller]
    fn check(&self, state: &Self::State, inputs: &[usize]) {
        check_cell("rnn", (&self.input, &self.state), 1, &[state], inputs);
    }
}

/// The gated recurrent unit: with gates `r = sigmoid(x W_r + b_r + h U_r)` and `z = sigmoid(x W_z + b_z + h U_z)`, and the
/// candidate `n = tanh(x W_n + b_n + r (h U_n + c))`, the next state is `(1 - z) n + z h`.
///
/// (Cho et al., *Learning phrase representations using RNN encoder-decoder for statistical machine translation*, EMNLP
/// 2014; with the reset gate after the product, as in cuDNN, so that all products with the state are one.)
///
/// Example: [`RecurrentCell`].
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Gru<T: BaseTensor, E: Float = f64> {
    /// `W` and `b`, from the inputs to the gates `r`, `z` and the candidate `n`, `3 hidden` numbers.
    pub input: Linear<T, E>,
    /// `U`, of shape `[hidden, 3 hidden]`.
    pub state: Tensor<T, 2, E>,
    /// `c`, of shape `[hidden]`.
    pub reset: Tensor<T, 1, E>,
}

impl<E: Float> Gru<Array, E> {
    /// A cell with these numbers of inputs and of numbers in its state: input weights by [`Init::GlorotUniform`], state
    /// weights by [`Init::Orthogonal`] for each gate, biases 0.
    ///
    /// Example: [`Rnn::new`].
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize, rng: &mut Rng) -> Self {
        let (input, state) = gates([inputs, hidden], 3, rng);
        Gru { input, state, reset: Tensor::zeros([hidden]) }
    }
}

impl<T: BaseTensor, E: Float> RecurrentCell<T, E> for Gru<T, E> {
    type State = Tensor<T, 2, E>;

    #[track_caller]
    fn start(&self, batch: usize) -> Self::State {
        Tensor::zeros([batch, self.state.len()])
    }

    #[track_caller]
    fn step(&self, h: &Self::State, x: &Tensor<T, 2, E>) -> Self::State {
        self.check(h, x.raw().shape());
        let hidden = self.state.len();
        let (of_input, of_state) = (self.input.apply(x), h.matmul(&self.state));
        let sum = |k: usize| gate(&of_input, k, hidden) + gate(&of_state, k, hidden);
        let (r, z) = (sum(0).sigmoid(), sum(1).sigmoid());
        let recalled = gate(&of_state, 2, hidden) + self.reset.up_to(h);
        let n = (gate(&of_input, 2, hidden) + r * recalled).tanh();
        &n + z * (h - &n)
    }

    fn output(&self, state: &Self::State) -> Tensor<T, 2, E> {
        state.clone()
    }

    #[track_caller]
    fn check(&self, state: &Self::State, inputs: &[usize]) {
        check_cell("gru", (&self.input, &self.state), 3, &[state], inputs);
        check_bias("gru", state.raw().shape(), 1, &self.reset);
    }
}

/// Long short-term memory: with gates `i, f, o = sigmoid(x W + b + h U)` and the candidate `g = tanh(x W + b + h U)`,
/// each with its own columns, the memory is `c' = f c + i g`, and the output `h' = o tanh(c')`.
///
/// The state is the pair `(h, c)`. (Hochreiter and Schmidhuber, *Long short-term memory*, Neural Computation 9, 1997; with
/// the forget gate of Gers, Schmidhuber and Cummins, *Learning to forget*, Neural Computation 12, 2000.)
///
/// Example: [`RecurrentCell`].
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Lstm<T: BaseTensor, E: Float = f64> {
    /// `W` and `b`, from the inputs to the gates `i`, `f`, the candidate `g` and the gate `o`, `4 hidden` numbers.
    pub input: Linear<T, E>,
    /// `U`, of shape `[hidden, 4 hidden]`.
    pub state: Tensor<T, 2, E>,
}

impl<E: Float> Lstm<Array, E> {
    /// A cell with these numbers of inputs and of numbers in its memory: input weights by [`Init::GlorotUniform`], state
    /// weights by [`Init::Orthogonal`] for each gate, biases 0, but 1 for the forget gate.
    ///
    /// (Jozefowicz, Zaremba and Sutskever, *An empirical exploration of recurrent network architectures*, ICML 2015,
    /// section 2.)
    ///
    /// Example: [`Rnn::new`].
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize, rng: &mut Rng) -> Self {
        let (input, state) = gates([inputs, hidden], 4, rng);
        let remember = |[k]: [usize; 1]| if (hidden..2 * hidden).contains(&k) { E::ONE } else { E::ZERO };
        Lstm { input: Linear { bias: Some(Tensor::from_fn([4 * hidden], remember)), ..input }, state }
    }
}

impl<T: BaseTensor, E: Float> RecurrentCell<T, E> for Lstm<T, E> {
    type State = (Tensor<T, 2, E>, Tensor<T, 2, E>);

    #[track_caller]
    fn start(&self, batch: usize) -> Self::State {
        let zeros = Tensor::zeros([batch, self.state.len()]);
        (zeros.clone(), zeros)
    }

    #[track_caller]
    fn step(&self, state: &Self::State, x: &Tensor<T, 2, E>) -> Self::State {
        self.check(state, x.raw().shape());
        let (h, c) = state;
        let hidden = self.state.len();
        let gates = self.input.apply(x) + h.matmul(&self.state);
        let [i, f, o] = [0, 1, 3].map(|k| gate(&gates, k, hidden).sigmoid());
        let c = f * c + i * gate(&gates, 2, hidden).tanh();
        (o * c.tanh(), c)
    }

    fn output(&self, (h, _): &Self::State) -> Tensor<T, 2, E> {
        h.clone()
    }

    #[track_caller]
    fn check(&self, (h, c): &Self::State, inputs: &[usize]) {
        check_cell("lstm", (&self.input, &self.state), 4, &[h, c], inputs);
    }
}
