//! Functions that call themselves, as loops.
//!
//! The body of such a function is a program: from the argument, and from the results of its calls, to the arguments of its
//! calls, each with a mask that says whether the call takes place, and to the result. Law: the value is that of the body
//! whose calls are those of the function itself, in their order.
//!
//! * One call at most, whose result is the result: a loop, from argument to argument.
//! * One call at most: a loop goes down to the argument that calls nothing, and a sweep comes back through the arguments
//!   from the last to the first, by the stored states of transposed loops ([`BackwardSweep`]). Its depth has no bound.
//! * Several calls: a loop over frames, in arrays that have a row for each call that waits. A frame is the argument, the
//!   results of the calls that have ended, and the number of the call that waits; the body runs again from its start for
//!   each of its calls. Frames beyond the stated number end the loop, and the results are NaN.
//!
//! Both are programs over loops, so every derivative is that of loops.

use std::collections::BTreeSet;

use super::repeat::{closed, compare, int, like};
use super::transposed_while::{BackwardSweep, Packing, plus, stored};
use super::{Custom, NodeId, Op, Program, Slot, Term, interpret};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, Linear};

/// The parts of the inputs and results of a body.
struct RecursiveBody<'a> {
    body: &'a Program,
    /// The number of values of the argument, of the result, and of calls.
    takes: usize,
    gives: usize,
    calls: usize,
}

/// What a body computes.
struct Ran<T> {
    /// For each call whether it takes place, and its argument.
    calls: Vec<(T, Vec<T>)>,
    result: Vec<T>,
}

impl RecursiveBody<'_> {
    fn run<T: BaseTensor>(&self, x: &[T], results: &[Vec<T>], captured: &[T]) -> Ran<T> {
        let mut found = interpret(self.body, [x, &results.concat(), captured].concat()).into_iter();
        let mut call = |_| {
            let mask: Vec<T> = found.by_ref().take(1 + self.takes).collect();
            (mask[0].clone(), mask[1..].to_vec())
        };
        let calls = (0..self.calls).map(&mut call).collect();
        Ran { calls, result: found.collect() }
    }

    fn argument(&self) -> &[Slot] {
        &self.body.inputs()[..self.takes]
    }

    fn result(&self) -> &[Slot] {
        &self.body.outputs()[self.calls * (1 + self.takes)..]
    }

    fn captured(&self) -> &[Slot] {
        &self.body.inputs()[self.takes + self.calls * self.gives..]
    }
}

/// The first values where a mask of rank 0 holds, and the others elsewhere.
fn chosen<T: BaseTensor>(mask: &T, then: &[T], otherwise: &[T]) -> Vec<T> {
    let one = |(x, y): (&T, &T)| T::select(&like(mask, x.shape()), x, y);
    then.iter().zip(otherwise).map(one).collect()
}

fn and<T: BaseTensor>(x: &T, y: &T) -> T {
    T::discrete(&Discrete::And, &[x, y])
}

fn or<T: BaseTensor>(x: &T, y: &T) -> T {
    T::discrete(&Discrete::Or, &[x, y])
}

fn not<T: BaseTensor>(x: &T) -> T {
    T::discrete(&Discrete::Not, &[x])
}

fn zeros<T: BaseTensor>(slots: &[Slot]) -> Vec<T> {
    slots.iter().map(|slot| T::zeros(&slot.shape, slot.dtype)).collect()
}

fn slot(shape: &[usize], dtype: DType) -> Slot {
    Slot { name: String::new(), shape: shape.into(), dtype }
}

impl Custom {
    /// A function that calls itself: `f(x) = y`, where `body : (x, y_1, .., y_n, captured) -> (go_1, x_1, .., go_n, x_n, y)`
    /// gives for each of `calls` calls a mask of rank 0, whether it takes place, and its argument, where `y_k = f(x_k)` if
    /// it does and zeros if not. A call may depend on the results of those before it. `takes` is the number of values of
    /// `x`. The function takes `(x, captured)`.
    ///
    /// Without `depth`, one call takes place at most: the recursion is as deep as its arguments say. With `depth`, this is
    /// the largest number of calls that wait for others; the results are NaN where more would be needed.
    ///
    /// # Errors
    /// When the body does not take and return these kinds; with `depth`, when a result is not a float.
    ///
    /// ```
    /// use polygrad::ops::{Binary, Compare, Discrete};
    /// use polygrad::program::{Custom, Term};
    /// use polygrad::{Array, BaseTensor, DType};
    /// // `f x = if x > 0.5 then x * f (x - 1) else 1`.
    /// let [x, y] = [(); 2].map(|()| Term::variable(&[], DType::F64));
    /// let number = |x: f64| Term::constant(Array::scalar(x));
    /// let go = Term::discrete(&Discrete::Compare(Compare::Gt), &[&x, &number(0.5)]);
    /// let next = x.binary(Binary::Sub, &number(1.0));
    /// let result = Term::select(&go, &x.binary(Binary::Mul, &y), &number(1.0));
    /// let body = Term::program(&[x, y], &[go, next, result], &[])?;
    /// let factorial = Custom::recursion("factorial", body, 1, 1, None)?;
    /// assert_eq!(factorial.value(vec![Array::scalar(5.0)]), [Array::scalar(120.0)]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn recursion(
        name: &str,
        body: Program,
        takes: usize,
        calls: usize,
        depth: Option<usize>,
    ) -> Result<Custom, String> {
        let gives = body.outputs().len().saturating_sub(calls * (1 + takes));
        let parts = RecursiveBody { body: &body, takes, gives, calls };
        parts.check(depth.is_some())?;
        match depth {
            None => Ok(Custom::checkpointed(name, parts.linear())),
            Some(depth) => Ok(parts.nested(name, depth.max(1))),
        }
    }
}

impl RecursiveBody<'_> {
    fn check(&self, floats: bool) -> Result<(), String> {
        let kinds = |slots: &[Slot]| slots.iter().map(|s| (s.shape.clone(), s.dtype)).collect::<Vec<_>>();
        let (inputs, outputs) = (kinds(self.body.inputs()), kinds(self.body.outputs()));
        if self.gives == 0 || inputs.len() < self.takes + self.calls * self.gives {
            return Err("the body does not take an argument and the results of its calls, and return a result".into());
        }
        let mut needed = inputs[..self.takes].to_vec();
        needed.insert(0, (Vec::<usize>::new().as_slice().into(), DType::Bool));
        let of_calls = outputs.chunks(1 + self.takes).take(self.calls).all(|call| call == needed);
        let results = &outputs[self.calls * (1 + self.takes)..];
        let of_results = inputs[self.takes..].chunks(self.gives).take(self.calls).all(|given| given == results);
        match (of_calls, of_results) {
            (false, _) => Err("a call does not have a mask of rank 0 and the kinds of the argument".into()),
            (_, false) => Err("the result of a call does not have the kinds of the result".into()),
            (true, true) if floats && results.iter().any(|(_, dtype)| !dtype.is_float()) => {
                Err("a function with several calls has a result that is not a float".into())
            }
            (true, true) => Ok(()),
        }
    }

    /// Whether a call takes place, and its argument, of a function with one call at most.
    fn next<T: BaseTensor>(&self, ran: &Ran<T>) -> (T, Vec<T>) {
        let mut calls = ran.calls.iter().rev();
        let (mut go, mut x) = calls.next().cloned().expect("a function that calls itself has a call");
        for (mask, other) in calls {
            x = chosen(mask, other, &x);
            go = or(mask, &go);
        }
        (go, x)
    }

    fn variables(&self) -> (Vec<Term>, Vec<Term>) {
        (Term::variables(self.argument()), Term::variables(self.captured()))
    }

    /// The step down and the step up, of a function with one call at most: `(go, x, captured) -> (go, x)`, and
    /// `(go, x, captured, y) -> y`.
    fn steps(&self) -> (Program, Program) {
        let (x, captured) = self.variables();
        let go = Term::variable(&[], DType::Bool);
        let nothing: Vec<Vec<Term>> = vec![zeros(self.result()); self.calls];
        let given = [std::slice::from_ref(&go), &x, &captured].concat();
        let (_, next) = self.next(&self.run(&x, &nothing, &captured));
        let (again, _) = self.next(&self.run(&next, &nothing, &captured));
        let y = Term::variables(self.result());
        let back = self.run(&x, &vec![y.clone(); self.calls], &captured).result;
        (closed(&given, &[&[again], &next[..]].concat()), closed(&[&given[..], &y].concat(), &back))
    }

    /// The program of a function with one call at most.
    fn linear(&self) -> Program {
        let (down, up) = self.steps();
        let (x, captured) = self.variables();
        let nothing: Vec<Vec<Term>> = vec![zeros(self.result()); self.calls];
        let (go, _) = self.next(&self.run(&x, &nothing, &captured));
        let start = [&[go], &x[..]].concat();
        if self.is_tail() {
            let last = Term::repeat(None, start, &mut |carry| interpret(&down, [&carry[..], &captured].concat()));
            let result = self.run(&last[1..], &nothing, &captured).result;
            return closed(&[x, captured].concat(), &result);
        }
        let sweep = BackwardSweep::of(&down, &up, &captured);
        let ran = sweep.forwards(start);
        let innermost = self.run(&ran.last[1..], &nothing, &captured).result;
        closed(&[x, captured].concat(), &sweep.backwards(ran, innermost))
    }

    /// Whether the result of a call that takes place is the result.
    fn is_tail(&self) -> bool {
        let nodes = self.body.nodes();
        let results = self.takes..self.takes + self.calls * self.gives;
        let mut depends = vec![false; nodes.len()];
        for (k, node) in nodes.iter().enumerate() {
            let mut some = results.contains(&k);
            node.op.operands(&mut |a| some |= depends[*a as usize]);
            depends[k] = some;
        }
        let (of_calls, of_result) = self.body.results().split_at(self.calls * (1 + self.takes));
        let masks: Vec<Conditions> =
            of_calls.chunks(1 + self.takes).map(|call| conditions(self.body, call[0])).collect();
        let passed = |j: usize, result: NodeId| {
            let mut found = vec![None; self.calls];
            let mut work = vec![(result, Conditions::new())];
            while let Some((at, under)) = work.pop() {
                if results.contains(&(at as usize)) {
                    let (call, value) =
                        ((at as usize - self.takes) / self.gives, (at as usize - self.takes) % self.gives);
                    if value != j || found[call].replace(under).is_some() {
                        return false;
                    }
                    continue;
                }
                let Op::Select([mask, x, y]) = &nodes[at as usize].op else {
                    if depends[at as usize] {
                        return false;
                    }
                    continue;
                };
                let of_mask = conditions(self.body, *mask);
                if depends[*mask as usize] || of_mask.len() != 1 {
                    return false;
                }
                for (side, holds) in [(x, true), (y, false)].into_iter().filter(|(side, _)| depends[**side as usize]) {
                    let more = of_mask.iter().map(|(mask, of)| (*mask, *of == holds));
                    work.push((*side, under.iter().copied().chain(more).collect()));
                }
            }
            found.into_iter().zip(&masks).all(|(found, mask)| found.as_ref() == Some(mask))
        };
        !of_calls.iter().any(|k| depends[*k as usize]) && of_result.iter().enumerate().all(|(j, r)| passed(j, *r))
    }

    /// The function with several calls.
    fn nested(&self, name: &str, depth: usize) -> Custom {
        let (x, captured) = self.variables();
        let (results, full) = CallFrames::of(self, depth).run(self, x.clone(), &captured);
        let nan = |slot: &Slot| Term::constant(Array::full_as(&slot.shape, slot.dtype, f64::NAN));
        let nan: Vec<Term> = self.result().iter().map(nan).collect();
        let inputs = [x, captured].concat();
        let is_full = closed(&inputs, std::slice::from_ref(&full));
        let function = Custom::checkpointed(name, closed(&inputs, &chosen(&full, &nan, &results)));
        function.with_reason(move |args| {
            let full = interpret(&is_full, args.to_vec())[0].item::<bool>() == Ok(true);
            full.then(|| format!("more than {depth} calls wait for others, and there are frames for {depth}"))
        })
    }
}

/// Masks, each with whether it holds.
type Conditions = BTreeSet<(NodeId, bool)>;

/// The masks that together decide whether a mask holds.
fn conditions(body: &Program, mask: NodeId) -> Conditions {
    let (mut found, mut work) = (Conditions::new(), vec![mask]);
    while let Some(at) = work.pop() {
        let node = &body.nodes()[at as usize];
        if let Op::Discrete(Discrete::And, both) = &node.op {
            work.extend(both.iter().copied());
            continue;
        }
        if let Op::Linear(linear, of) = &node.op
            && **linear == Linear::replicate(&node.shape, &[])
        {
            work.push(*of);
            continue;
        }
        found.insert(if let Op::Discrete(Discrete::Not, of) = &node.op { (of[0], false) } else { (at, true) });
    }
    found
}

/// The frames of calls that wait, in arrays with a row for each.
struct CallFrames {
    depth: usize,
    /// A frame: a mask that is not kept, the number of the call that waits, the argument, and the results of the calls.
    packing: Packing,
}

/// The state of a loop over frames.
struct CallState<T> {
    /// The frames in use, and the number of the next call of the current one.
    used: T,
    next: T,
    x: Vec<T>,
    results: Vec<Vec<T>>,
    /// The result of the call that ended last.
    last: Vec<T>,
    frames: Vec<T>,
}

impl CallFrames {
    fn of(body: &RecursiveBody<'_>, depth: usize) -> CallFrames {
        let mut frame = vec![slot(&[], DType::Bool), slot(&[], DType::I64)];
        frame.extend_from_slice(body.argument());
        (0..body.calls).for_each(|_| frame.extend_from_slice(body.result()));
        CallFrames { depth, packing: Packing::of(&frame) }
    }

    /// The result, and whether there were too few frames.
    fn run<T: BaseTensor>(&self, body: &RecursiveBody<'_>, x: Vec<T>, captured: &[T]) -> (Vec<T>, T) {
        let truth = |holds: bool| T::constant(Array::scalar(holds));
        let start = CallState {
            used: int(0),
            next: int(0),
            x,
            results: vec![zeros(body.result()); body.calls],
            last: zeros(body.result()),
            frames: self.packing.empty_rows(self.depth),
        };
        let init = [vec![truth(true), truth(false)], start.flat()].concat();
        let mut done = T::repeat(None, init, &mut |mut carry| {
            let state = CallState::of(body, carry.split_off(2));
            let (go, full, after) = self.step(body, state, captured);
            [vec![go, full], after.flat()].concat()
        });
        let full = done[1].clone();
        (CallState::of(body, done.split_off(2)).last, full)
    }

    /// The next call, or the return to the call that waits: whether there is more to do, whether a frame is missing, and
    /// the state.
    fn step<T: BaseTensor>(
        &self,
        body: &RecursiveBody<'_>,
        state: CallState<T>,
        captured: &[T],
    ) -> (T, T, CallState<T>) {
        let ran = body.run(&state.x, &state.results, captured);
        // The first call that takes place and has not ended; its mask depends on calls that have ended.
        let (mut calls, mut which, mut callee) = (T::constant(Array::scalar(false)), int(0), state.x.clone());
        for (k, (mask, x)) in ran.calls.iter().enumerate().rev() {
            let due = and(mask, &compare(Compare::Le, &state.next, &int(k as i64)));
            which = T::select(&due, &int(k as i64 + 1), &which);
            callee = chosen(&due, x, &callee);
            calls = or(&due, &calls);
        }
        let room = compare(Compare::Lt, &state.used, &int(self.depth as i64));
        let called = and(&calls, &room);
        let waits = compare(Compare::Gt, &state.used, &int(0));
        let row = T::select(&called, &state.used, &int(self.depth as i64));
        let unused = T::constant(Array::scalar(true));
        let frame = [vec![unused, which], state.x, state.results.concat()].concat();
        let frames = stored(&state.frames, &row, &self.packing.pack(&frame));
        // The call that waits goes on with the result.
        let top = T::select(&waits, &plus(&state.used, -1), &int(0));
        let rows: Vec<T> = state.frames.iter().map(|rows| rows.gather(std::slice::from_ref(&top))).collect();
        let waiting = self.packing.unpack(&rows);
        let (next, before) = (&waiting[1], &waiting[2..2 + body.takes]);
        let nothing: Vec<T> = zeros(body.result());
        let results = (0..body.calls).map(|k| {
            let is_this = compare(Compare::Eq, next, &int(k as i64 + 1));
            let kept = &waiting[2 + body.takes + k * body.gives..][..body.gives];
            chosen(&called, &nothing, &chosen(&is_this, &ran.result, kept))
        });
        let after = CallState {
            used: T::select(&called, &plus(&state.used, 1), &top),
            next: T::select(&called, &int(0), next),
            x: chosen(&called, &callee, before),
            results: results.collect(),
            last: ran.result,
            frames,
        };
        let full = and(&calls, &not(&room));
        let go = T::select(&calls, &room, &waits);
        (go, full, after)
    }
}

impl<T: BaseTensor> CallState<T> {
    fn flat(self) -> Vec<T> {
        let CallState { used, next, x, results, last, frames } = self;
        [vec![used, next], x, results.concat(), last, frames].concat()
    }

    fn of(body: &RecursiveBody<'_>, flat: Vec<T>) -> CallState<T> {
        let mut flat = flat.into_iter();
        let mut part = |n: usize| flat.by_ref().take(n).collect::<Vec<T>>();
        let head = part(2);
        let (x, results) = (part(body.takes), (0..body.calls).map(|_| part(body.gives)).collect());
        let last = part(body.gives);
        CallState { used: head[0].clone(), next: head[1].clone(), x, results, last, frames: flat.collect() }
    }
}
