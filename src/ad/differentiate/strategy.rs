//! The modes of differentiation, and the strategies of each.

use std::fmt::{self, Display};

/// The mode in which a derivative is computed.
///
/// The verbs choose the mode with the least estimated time. [`jacobian_by`](crate::jacobian_by()) and
/// [`FunctionOptions::mode`](crate::FunctionOptions::mode) request a mode.
///
/// Closed: a derivative is evaluated from inputs to outputs, or from outputs to inputs.
///
/// ```
/// use polygrad::{Mode, Tensor, jacobian_by, tensor};
/// let j = |mode| -> Tensor<_, 2> { jacobian_by(mode, |x: &Tensor<_, 1>| x.square(), &tensor([1.0, 2.0])) };
/// assert_eq!(j(Mode::Forward), tensor([[2.0, 0.0], [0.0, 4.0]]));
/// assert_eq!(j(Mode::Reverse), j(Mode::Forward));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One evaluation per input element: best for few inputs.
    Forward,
    /// One evaluation per output element: best for few outputs.
    Reverse,
}

/// A strategy to compute a derivative: one of the derivative programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The delta term is evaluated backwards.
    Pull,
    /// The delta term is evaluated forwards.
    Push,
    /// The program runs at dual numbers, with the tangents for all basis vectors side by side.
    Lanes,
    /// The program runs at dual numbers, with the tangents for all basis vectors as one stack.
    Stacks,
}

impl Strategy {
    pub(super) fn mode(self) -> Mode {
        match self {
            Strategy::Pull => Mode::Reverse,
            Strategy::Push | Strategy::Lanes | Strategy::Stacks => Mode::Forward,
        }
    }
}

impl Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Pull => "reverse",
            Strategy::Push => "forward",
            Strategy::Lanes => "forward, side by side",
            Strategy::Stacks => "forward, in stacks",
        })
    }
}
