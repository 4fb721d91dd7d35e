//! `check`: shapes and element types of the results of a program, or its first mistake, without computing elements.
//!
//! The program runs at [`Shapes`]. Law: a program is accepted exactly when evaluation would accept it; a mistake is
//! reported with the message and the line of the panic of evaluation. There are two exceptions: a program that looks at
//! values is refused at the line where it does, and arrays that do not fit into memory are accepted.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::base::BaseTensor;
use crate::errors::debug_by_display;
use crate::interpreters::Shapes;
use crate::source::SourceLine;
use crate::tree::Tree;

/// The first mistake in a program: its message and its line. Prints as both.
///
/// ```
/// use polygrad::{ShapeError, Tensor, check, tensor};
/// let error: ShapeError = check(|x| x.dot(&Tensor::ones([3])), &tensor([1.0, 2.0])).unwrap_err();
/// assert!(error.message.starts_with("dot: "));
/// assert!(error.to_string().ends_with(&error.message));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ShapeError {
    /// The message with which evaluation would panic.
    pub message: String,
    /// The user's line; `None` if another panic hook was installed later that does not call the hook of `check`.
    pub place: Option<SourceLine>,
}

debug_by_display!(ShapeError);

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ShapeError {}

thread_local! {
    /// Whether a check is running on this thread.
    static CHECKING: Cell<bool> = const { Cell::new(false) };
    /// The source location of the last panic of a check on this thread.
    static PLACE: RefCell<Option<SourceLine>> = const { RefCell::new(None) };
}

/// Installs a panic hook. For a mistake found by a check on the panicking thread, the hook records the source location,
/// which only panic hooks receive, and prints nothing. It passes every other panic on to the previous hook.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if !CHECKING.get() || mistake(info.payload()).is_none() {
                return before(info);
            }
            PLACE.set(info.location().map(SourceLine::from));
        }));
    });
}

/// The message of a panic, if the language has raised the panic: messages of the language are recognised by their
/// grammar, `<op>: <requirement>, but <fact>; <fix>`.
fn mistake(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))?;
    let (op, rest) = text.split_once(": ")?;
    let (_, fact) = rest.split_once(", but")?;
    (!op.is_empty() && !op.contains(char::is_whitespace) && fact.contains("; ")).then_some(text)
}

/// The shapes and element types of the results of a program, or its first mistake.
///
/// No element is computed: only the structure, shapes and element types of `example` are used, so `example` may consist
/// of tensors of [`Shapes`], which store no elements. A mistake is a panic that the language raises; any other panic of
/// the program is passed on to the caller. Values of the caller enter the program through `lift`.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, check, interpreters::Shapes};
/// fn predict<T: BaseTensor>((w, x): &(Tensor<T, 2>, Tensor<T, 1>)) -> Tensor<T, 1> {
///     w.matvec(x)
/// }
/// let w = Tensor::<Shapes, 2>::zeros([10, 784]);
/// let y = check(predict, &(w.clone(), Tensor::zeros([784]))).unwrap();
/// assert_eq!(y.shape(), [10]);
/// let error = check(predict, &(w, Tensor::zeros([28]))).unwrap_err();
/// assert!(error.message.starts_with("matvec: "));
/// assert!(error.place.is_some());
/// ```
///
/// # Errors
/// The first mistake, with its message and line. This needs `panic = "unwind"`, which is the default: with
/// `panic = "abort"`, a mistake prints its message and ends the process.
///
/// The first call installs a panic hook, which passes all panics on to the previous hook, except for mistakes that a
/// check finds; these are not printed.
///
/// # Panics
/// When the program panics with a message that is not one of the language.
pub fn check<T, P, Y>(program: impl FnOnce(&P::With<Shapes>) -> Y, example: &P) -> Result<Y, ShapeError>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Shapes>,
{
    let inputs = example.map(&mut |leaf| Shapes::new(leaf.shape(), leaf.dtype()));
    if cfg!(panic = "abort") {
        return Ok(program(&inputs));
    }
    let (mut program, mut results) = (Some(program), None);
    refused(&mut || results = program.take().map(|program| program(&inputs)))?;
    Ok(results.expect("a program that is not refused gives results"))
}

/// Runs a program, and catches its first mistake. Not generic in the program, so that it is compiled once.
fn refused(run: &mut dyn FnMut()) -> Result<(), ShapeError> {
    install_hook();
    let outer = CHECKING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(run));
    CHECKING.set(outer);
    let place = PLACE.take();
    outcome.map_err(|payload| match mistake(&*payload) {
        Some(message) => ShapeError { message: message.to_owned(), place },
        None => resume_unwind(payload),
    })
}
