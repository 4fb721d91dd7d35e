//! The machine that runs functions: what remains to be done after a call is a frame on the heap, not on the host's stack.
//!
//! A function that calls others has a rule in two parts: [`enter`](Callable::enter) starts it, and
//! [`resume`](Callable::resume) goes on with the result of a call. Between the two, the machine keeps a [`Frame`]: the rule,
//! its stage, and one value. A rule that only calls another function leaves no frame, so tail calls take no memory. Linear
//! functions run on the same frames, since a function of a pullback may be linear, and a linear function may apply one.
//!
//! Laws: calls of programs, in any instance, nest as deep as memory for frames allows ([`with_call_memory`]), on any thread;
//! beyond that, a message. Functions without calls run directly, by nested calls of a bounded height. What the host calls
//! ([`Closure::at`]) runs on separate frames, so loops of tensors, whose bodies the host calls, nest on the host's stack.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

use polygrad::base::BaseTensor;
use polygrad::seam::written_at;

use super::recursion::{Limit, called, refuse_frames, refuse_undecided};
use super::value::{Activation, Callable, Closure, Code, Frame, Frames, RUNS, Task, Transition, Val, WAITS};
use crate::shared::Shared;

/// The memory of frames where nothing else is set.
const MEMORY: usize = 512 << 20;

thread_local! {
    /// The bytes that frames of one run may take.
    static CALL_MEMORY: Cell<usize> = const { Cell::new(MEMORY) };

    /// The empty frames of the last run, of some interpreter: most runs are short.
    static SPARE: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// The largest number of frames whose memory is kept from one run to the next.
const KEPT: usize = 1024;

/// Runs `f` with a limit of bytes for the calls that wait for others, on this thread. Without it, the limit is 512 MiB.
///
/// A call that waits takes one to three frames of about 100 bytes in evaluation, and up to five in reverse mode; the values
/// that it still needs come in addition. A recursion that needs more panics with a message.
///
/// ```
/// use std::panic::catch_unwind;
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, fix, fun1, if_, num};
/// /// `x` times `x`, which is a whole number, by additions.
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| {
///         let times = fix(|f, n| if_(n.at().less(num(0.5)), || num(0.0), || x.at() + f.at().app(n.at() - 1.0)));
///         times.app(x.at())
///     })
/// }
/// let deep = || higher::run(square(), &tensor(10_000.0));
/// assert_eq!(deep(), tensor(1e8));
/// let refused = catch_unwind(|| higher::with_call_memory(1 << 16, deep)).unwrap_err();
/// assert!(refused.downcast_ref::<String>().unwrap().contains("65536 bytes"));
/// ```
pub fn with_call_memory<R>(bytes: usize, f: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            CALL_MEMORY.set(self.0);
        }
    }
    let _restore = Restore(CALL_MEMORY.replace(bytes));
    f()
}

impl<T> Clone for Closure<T> {
    fn clone(&self) -> Self {
        Closure(self.0.clone())
    }
}

/// Functions of the host language. Functions of a program that they call run on frames of their own.
impl<T: 'static, F: Fn(Val<T>) -> Val<T>> Callable<T> for F {
    fn enter(&self, _: &Closure<T>, x: Val<T>, _: &mut Frames<T>) -> Transition<T> {
        Transition::Value(self(x))
    }

    fn direct(&self, x: Val<T>) -> Result<Val<T>, Val<T>> {
        Ok(self(x))
    }

    fn height(&self) -> Option<u8> {
        Some(0)
    }
}

/// The largest number of nested choices whose branches both run while a program is traced: a recursion that ends by a
/// condition that is not known would never end.
const UNDECIDED: usize = 256;

impl<T: 'static> Frames<T> {
    fn new() -> Self {
        let most = CALL_MEMORY.get() / size_of::<Frame<T>>();
        let spare = SPARE.with_borrow_mut(Option::take).and_then(|spare| spare.downcast().ok());
        Frames { frames: spare.unwrap_or_default(), most, undecided: 0, recursion: None, probe: 0 }
    }

    /// Keeps the memory of a few frames for the next run.
    fn end(self) {
        if self.frames.is_empty() && self.frames.capacity() <= KEPT {
            SPARE.set(Some(self.frames));
        }
    }

    #[inline]
    fn add(&mut self, frame: Frame<T>) {
        if self.frames.len() >= self.most {
            refuse_frames(
                self.recursion,
                Limit { frame: size_of::<Frame<T>>(), frames: self.most, bytes: CALL_MEMORY.get() },
            );
        }
        self.frames.push(frame);
    }

    /// The rest of a rule.
    pub(super) fn push(&mut self, rule: &Closure<T>, stage: u8, kept: Val<T>) {
        self.add(Frame::Rule(rule.clone(), stage, kept));
    }

    /// The rest of the evaluation of a linear function.
    pub(super) fn task(&mut self, task: Task<T>) {
        self.add(Frame::Linear(task));
    }

    /// A choice runs both branches: the first one starts.
    pub(super) fn choose(&mut self) {
        self.undecided += 1;
        if self.undecided > UNDECIDED {
            refuse_undecided(self.recursion, UNDECIDED);
        }
    }

    /// Both branches of a choice have run.
    pub(super) fn chosen(&mut self) {
        self.undecided -= 1;
    }

    /// The call of the function with this address that waits for a call of it.
    pub(super) fn activation(&mut self, of: usize) -> Activation<T> {
        let mut choices = 0;
        for at in (0..self.frames.len()).rev().take_while(|_| self.undecided > 0) {
            let Frame::Rule(rule, stage, kept) = &self.frames[at] else { continue };
            choices += usize::from(rule.0.undecided(*stage, kept).is_some());
            if rule.0.activates(rule, *stage) != Some(of) {
                continue;
            }
            if choices == 0 || *stage != WAITS {
                return if *stage == WAITS { Activation::First } else { Activation::Runs };
            }
            self.undecided -= choices;
            let Some(Frame::Rule(rule, _, x)) = self.frames.drain(at..).next() else {
                unreachable!("a frame of a rule")
            };
            return Activation::Conditional(rule, x);
        }
        Activation::First
    }

    /// The choices whose branches run, from the outermost: the values whose cases are not known, and whether the branches of the
    /// left cases run.
    pub(super) fn path(&self) -> Vec<(Val<T>, bool)> {
        let choice = |frame: &Frame<T>| {
            if let Frame::Rule(rule, stage, kept) = frame { rule.0.undecided(*stage, kept) } else { None }
        };
        self.frames.iter().filter_map(choice).collect()
    }

    /// Gives up the branch that runs, of the innermost choice that runs both; whether there is one.
    pub(super) fn give_up(&mut self) -> bool {
        let is_choice = |frame: &Frame<T>| matches!(frame, Frame::Rule(rule, stage, kept) if rule.0.undecided(*stage, kept).is_some());
        let found = self.frames.iter().rposition(is_choice);
        self.frames.truncate(found.map_or(self.frames.len(), |at| at + 1));
        found.is_some()
    }

    /// A recursive function of this name, written at this place, is called.
    pub(super) fn recurses(&mut self, name: &'static str, at: Option<&'static Location<'static>>) {
        self.recursion = Some((name, at));
    }
}

impl<T: BaseTensor> Frames<T> {
    /// Starts a call of a recursive function while a program is traced. If the call lies in a branch of a choice that its
    /// own body makes, the call that waits is recorded instead.
    pub(super) fn entered(&mut self, own: &Closure<T>, x: Val<T>) -> Transition<T> {
        let stage = match self.activation(own.address()) {
            Activation::First => WAITS,
            Activation::Runs => RUNS,
            Activation::Conditional(waiting, x) => {
                if let Some(result) = waiting.0.recorded(&waiting, &x) {
                    return Transition::Value(result);
                }
                self.push(&waiting, RUNS, x.clone());
                return waiting.0.body(&waiting, x);
            }
        };
        self.push(own, stage, x.clone());
        own.0.body(own, x)
    }

    /// The value of a step and all that follows from it.
    fn run(mut self, mut next: Transition<T>) -> Val<T> {
        loop {
            next = match next {
                Transition::Call(f, x) => f.0.enter(&f, x, &mut self),
                Transition::Value(v) => match self.frames.pop() {
                    None => {
                        self.end();
                        return v;
                    }
                    Some(Frame::Rule(rule, stage, kept)) => rule.0.resume(&rule, stage, kept, v, &mut self),
                    Some(Frame::Linear(task)) => task.run(v, &mut self),
                },
            };
        }
    }
}

/// The value that these tasks make of a vector, on frames of their own.
pub(super) fn finished<T: BaseTensor>(tasks: impl IntoIterator<Item = Task<T>>, v: Val<T>) -> Val<T> {
    let _leave = called();
    let mut frames = Frames::new();
    for task in tasks {
        frames.task(task);
    }
    frames.run(Transition::Value(v))
}

impl<T> Closure<T> {
    pub(super) fn new(f: impl Fn(Val<T>) -> Val<T> + 'static) -> Self {
        Closure(Shared::of(Rc::new(f)))
    }

    /// The function with this rule.
    pub(super) fn of(rule: impl Callable<T> + 'static) -> Self {
        Closure(Shared::of(Rc::new(rule)))
    }

    /// The result of a function that makes no calls; the argument back for another one.
    pub(super) fn direct(&self, x: Val<T>) -> Result<Val<T>, Val<T>> {
        self.0.direct(x)
    }

    /// How deep calls of the host nest in [`direct`](Closure::direct); `None` if the function makes calls.
    pub(super) fn height(&self) -> Option<u8> {
        self.0.height()
    }

    /// The code and the captured value, if they are data.
    pub(super) fn parts(&self) -> Option<(&Code<T>, &Val<T>)> {
        self.0.parts()
    }

    /// A number that identifies the function among all that exist.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(&*self.0).addr()
    }
}

impl<T: BaseTensor> Closure<T> {
    /// The result at a value, for the host.
    pub(super) fn at(&self, x: Val<T>) -> Val<T> {
        let _leave = called();
        match self.0.direct(x) {
            Ok(y) => y,
            Err(x) => Frames::new().run(Transition::Call(self.clone(), x)),
        }
    }

    /// The result of a body at a value that this function, a probe, is a part of.
    pub(super) fn probed(&self, body: &Closure<T>, x: Val<T>) -> Val<T> {
        let _leave = called();
        let mut frames = Frames::new();
        frames.probe = self.address();
        frames.run(Transition::Call(body.clone(), x))
    }

    /// The function, with errors reported at `at`.
    pub(super) fn placed(self, at: &'static Location<'static>) -> Self {
        match self.0.placed(at) {
            Some(placed) => placed,
            None => Closure::of(Placed { f: self, at }),
        }
    }
}

/// A function with errors reported at a place: those of a call of the host, or of the start of a call.
struct Placed<T: 'static> {
    f: Closure<T>,
    at: &'static Location<'static>,
}

impl<T: 'static> Callable<T> for Placed<T> {
    fn enter(&self, _: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        written_at(self.at, || self.f.0.enter(&self.f, x, frames))
    }

    fn direct(&self, x: Val<T>) -> Result<Val<T>, Val<T>> {
        if self.f.height().is_none() { Err(x) } else { written_at(self.at, || self.f.direct(x)) }
    }

    fn height(&self) -> Option<u8> {
        self.f.height()
    }
}

/// The largest height of a function that runs directly.
const HEIGHT: u8 = 24;

/// The height of a function of two others, if it runs directly.
fn above(f: Option<u8>, g: Option<u8>) -> Option<u8> {
    Some(f?.max(g?) + 1).filter(|height| *height <= HEIGHT)
}

/// `f`, then `g`.
struct Then<T: 'static> {
    f: Closure<T>,
    g: Closure<T>,
    height: Option<u8>,
}

pub(super) fn then<T: BaseTensor>(f: Closure<T>, g: Closure<T>) -> Closure<T> {
    let height = above(f.height(), g.height());
    Closure::of(Then { f, g, height })
}

impl<T: BaseTensor> Callable<T> for Then<T> {
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        match self.f.direct(x) {
            Ok(y) => Transition::Call(self.g.clone(), y),
            Err(x) => {
                frames.push(own, 0, Val::Zero);
                Transition::Call(self.f.clone(), x)
            }
        }
    }

    fn resume(&self, _: &Closure<T>, _: u8, _: Val<T>, y: Val<T>, _: &mut Frames<T>) -> Transition<T> {
        Transition::Call(self.g.clone(), y)
    }

    fn direct(&self, x: Val<T>) -> Result<Val<T>, Val<T>> {
        if self.height.is_none() {
            return Err(x);
        }
        self.g.direct(self.f.direct(x)?)
    }

    fn height(&self) -> Option<u8> {
        self.height
    }

    fn placed(&self, at: &'static Location<'static>) -> Option<Closure<T>> {
        self.height.is_none().then(|| then(self.f.clone().placed(at), self.g.clone().placed(at)))
    }
}

/// The function that joins the results of two functions at one argument.
pub(super) fn joined<T: BaseTensor>(
    f: Closure<T>,
    g: Closure<T>,
    join: impl Fn(Val<T>, Val<T>) -> Val<T> + Copy + 'static,
) -> Closure<T> {
    chained(f, g, |x, _: &Val<T>| x, join)
}

/// A function called after another one, at an argument that `argument` makes of that of the first and its result. `join`
/// makes the result of both results.
struct Chain<T: 'static, A, J> {
    f: Closure<T>,
    g: Closure<T>,
    argument: A,
    join: J,
    height: Option<u8>,
}

/// The function that joins the results of `f x` and of `g` at an argument made of `x` and `f x`.
pub(super) fn chained<T: BaseTensor>(
    f: Closure<T>,
    g: Closure<T>,
    argument: impl Fn(Val<T>, &Val<T>) -> Val<T> + Copy + 'static,
    join: impl Fn(Val<T>, Val<T>) -> Val<T> + Copy + 'static,
) -> Closure<T> {
    let height = above(f.height(), g.height());
    Closure::of(Chain { f, g, argument, join, height })
}

impl<T, A, J> Chain<T, A, J>
where
    T: BaseTensor,
    A: Fn(Val<T>, &Val<T>) -> Val<T>,
    J: Fn(Val<T>, Val<T>) -> Val<T>,
{
    fn second(&self, own: &Closure<T>, first: Val<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        match self.g.direct((self.argument)(x, &first)) {
            Ok(second) => Transition::Value((self.join)(first, second)),
            Err(x) => {
                frames.push(own, 1, first);
                Transition::Call(self.g.clone(), x)
            }
        }
    }
}

impl<T, A, J> Callable<T> for Chain<T, A, J>
where
    T: BaseTensor,
    A: Fn(Val<T>, &Val<T>) -> Val<T> + Copy + 'static,
    J: Fn(Val<T>, Val<T>) -> Val<T> + Copy + 'static,
{
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        match self.f.direct(x.clone()) {
            Ok(first) => self.second(own, first, x, frames),
            Err(again) => {
                frames.push(own, 0, x);
                Transition::Call(self.f.clone(), again)
            }
        }
    }

    fn resume(&self, own: &Closure<T>, stage: u8, kept: Val<T>, y: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        if stage == 0 { self.second(own, y, kept, frames) } else { Transition::Value((self.join)(kept, y)) }
    }

    fn direct(&self, x: Val<T>) -> Result<Val<T>, Val<T>> {
        if self.height.is_none() {
            return Err(x);
        }
        let first = self.f.direct(x.clone())?;
        let second = self.g.direct((self.argument)(x, &first))?;
        Ok((self.join)(first, second))
    }

    fn height(&self) -> Option<u8> {
        self.height
    }

    fn placed(&self, at: &'static Location<'static>) -> Option<Closure<T>> {
        let again = || chained(self.f.clone().placed(at), self.g.clone().placed(at), self.argument, self.join);
        self.height.is_none().then(again)
    }
}

/// A function whose argument is passed on, and whose result is changed.
struct After<T: 'static, B, E> {
    begin: B,
    end: E,
    /// What both use.
    kept: Val<T>,
}

/// The function that calls what `begin` makes of a captured value and the argument, keeps a value, and makes the result of
/// that value and the result of the call by `end`.
pub(super) fn called_with<T: BaseTensor>(
    kept: Val<T>,
    begin: impl Fn(&Val<T>, Val<T>) -> (Transition<T>, Val<T>) + 'static,
    end: impl Fn(Val<T>, Val<T>) -> Val<T> + 'static,
) -> Closure<T> {
    Closure::of(After { begin, end, kept })
}

impl<T, B, E> Callable<T> for After<T, B, E>
where
    T: BaseTensor,
    B: Fn(&Val<T>, Val<T>) -> (Transition<T>, Val<T>) + 'static,
    E: Fn(Val<T>, Val<T>) -> Val<T> + 'static,
{
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        let (next, kept) = (self.begin)(&self.kept, x);
        frames.push(own, 0, kept);
        next
    }

    fn resume(&self, _: &Closure<T>, _: u8, kept: Val<T>, y: Val<T>, _: &mut Frames<T>) -> Transition<T> {
        Transition::Value((self.end)(kept, y))
    }
}
