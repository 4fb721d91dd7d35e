//! Efficient CHAD as text: the reverse derivative of a program as a program that adds to accumulators.
//!
//! A variable `x` has an accumulator `x'`. The forward part of the text is the program, in which a function gives its
//! result and its pullback; the reverse part visits it backwards, and a use of `x` is an addition to `x'`. A function is
//! converted to a closure: its cotangent is that of the variables that it captures, which a call gives next to that of
//! its argument, so no function runs again. A case keeps what its reverse part needs of the branch that ran.
//!
//! "Efficient CHAD" (arXiv 2307.05738) does this in a monad of accumulators, by the types of a context; here accumulators
//! have names. Law: the value and the gradient are those of the text of "CHAD"; the text is larger than the program by a
//! constant factor, and so is its work, also for functions within functions.

use std::collections::HashSet;
use std::rc::Rc;

use super::super::recursion::called;
use super::simplify::{self, as_lam, as_pair, cheap, is_zero, let_, replace};
use super::{AnyPrimitive, E, Exp, Lambda, Name, Names, Op, app, fst, op, pair, snd, var, zero};
use crate::Layout;
use crate::shared::Shared;

/// The reverse part of a term: from the cotangent of its value to additions to the accumulators of its variables. It is
/// written once.
enum Back {
    /// No variable has a cotangent.
    Nothing,
    /// Adds to the accumulator of a variable.
    Variable(Name),
    /// Of the components.
    Pair(Box<Back>, Box<Back>),
    /// Of a pair whose component this is.
    First(Box<Back>),
    Second(Box<Back>),
    /// Of the vector of a case.
    Left(Box<Back>),
    Right(Box<Back>),
    /// Of the argument, at a point.
    Primitive(Rc<dyn AnyPrimitive>, E, Box<Back>),
    /// Of the body of a let, then of the value of the variable.
    Scope(Name, Box<Back>, Box<Back>),
    /// Of the captured variables of a function.
    Captured(Vec<Name>),
    /// Calls a pullback, then goes on to the function and its argument.
    Call(E, Box<Back>, Box<Back>),
    /// Of the branch that ran, by what it left.
    Case(E, Box<[BackBranch; 2]>, Box<Back>),
}

/// The reverse part of a branch: from the cotangent `of` of the result to that of the payload of the case.
struct BackBranch {
    of: Name,
    /// The variables of the branch that the text reads.
    reads: Vec<Name>,
    text: E,
}

/// What a text of accumulators cannot say.
fn refused(what: &str) -> String {
    format!(
        "accumulated: a text with accumulators is that of a program of numbers, pairs, cases and functions, but this one has {what}; \
         take the text of Reverse<Syntax>"
    )
}

fn nil() -> E {
    op(Op::Nil, vec![])
}

fn is_nil(e: &E) -> bool {
    matches!(&**e, Exp::Op(Op::Nil, _))
}

/// One after the other.
fn then(first: E, second: E) -> E {
    if is_nil(&first) {
        second
    } else if is_nil(&second) {
        first
    } else {
        op(Op::Seq, vec![first, second])
    }
}

/// The sums of these accumulators after a command, as nested pairs: `<<x, y>, z>`.
fn with(names: Vec<Name>, command: E) -> E {
    Shared::new(Exp::With(names, command))
}

/// The bindings, then the term.
fn bound(bindings: Vec<(Name, E)>, body: E) -> E {
    bindings.into_iter().rev().fold(body, |body, (x, value)| let_(x, value, body))
}

/// The free variables of a term, by number; those that it adds to are among them.
fn free(e: &E) -> Vec<Name> {
    let (mut bound, mut found) = (HashSet::new(), HashSet::new());
    let mut work: Vec<&Exp> = vec![e];
    while let Some(e) = work.pop() {
        match e {
            Exp::Var(x) => _ = found.insert(*x),
            Exp::Add(x, _) => _ = found.insert(*x),
            Exp::Let(x, ..) | Exp::Lam(x, _) => _ = bound.insert(*x),
            Exp::Case(_, (x, _), (y, _)) => bound.extend([*x, *y]),
            Exp::With(..) | Exp::Op(..) => {}
        }
        work.extend(e.parts().into_iter().map(|part| &**part));
    }
    // All binders of a term have distinct numbers.
    let mut free: Vec<Name> = found.into_iter().filter(|x| !bound.contains(x)).collect();
    free.sort_unstable();
    free
}

/// Whether a command adds to an accumulator that is not bound in it.
fn adds_to(e: &E, x: Name) -> bool {
    let mut work: Vec<&Exp> = vec![e];
    while let Some(e) = work.pop() {
        match e {
            Exp::Add(y, _) if *y == x => return true,
            Exp::With(names, _) if names.contains(&x) => {}
            Exp::Var(_) | Exp::Let(..) | Exp::Lam(..) | Exp::Case(..) | Exp::With(..) | Exp::Add(..) | Exp::Op(..) => {
                work.extend(e.parts().into_iter().map(|part| &**part));
            }
        }
    }
    false
}

impl Names {
    /// A body that uses a term several times.
    fn shared(&mut self, value: E, body: impl FnOnce(&mut Names, E) -> E) -> E {
        if cheap(&value) { body(self, value) } else { self.let_(value, body) }
    }

    /// The components of nested pairs `<<x, y>, z>` of this number, first to last.
    fn unpacked(&mut self, tuple: E, count: usize, body: &mut dyn FnMut(&mut Names, Vec<E>) -> E) -> E {
        let (mut bindings, mut rest, mut parts) = (Vec::new(), tuple, Vec::new());
        for k in (1..count).rev() {
            let x = self.fresh();
            bindings.push((x, rest));
            parts.push(snd(var(x)));
            rest = fst(var(x));
            if k == 1 {
                parts.push(rest.clone());
            }
        }
        if count == 1 {
            parts.push(rest);
        }
        parts.reverse();
        bound(bindings, body(self, parts))
    }

    /// The forward part of a term: its bindings, and the value in them.
    fn forward(&mut self, e: &E, out: &mut Vec<(Name, E)>) -> Result<(E, Back), String> {
        let _leave = called();
        match &**e {
            Exp::Var(x) => Ok((e.clone(), Back::Variable(*x))),
            Exp::Let(x, value, body) => {
                let (value, of_value) = self.forward(value, out)?;
                out.push((*x, value));
                let (body, of_body) = self.forward(body, out)?;
                Ok((body, Back::Scope(*x, Box::new(of_body), Box::new(of_value))))
            }
            Exp::Lam(x, body) => {
                let captured = free(e);
                let function = self.function((*x, body), None, &captured)?;
                Ok((self.named(function, out), Back::Captured(captured)))
            }
            Exp::Case(sum, left, right) => {
                let (sum, of_sum) = self.forward(sum, out)?;
                let (left, of_left) = self.branch(left, Op::Linl, Op::Inl)?;
                let (right, of_right) = self.branch(right, Op::Linr, Op::Inr)?;
                let ran = self.named(Shared::new(Exp::Case(sum, left, right)), out);
                let branches = Box::new([of_left, of_right]);
                Ok((fst(ran.clone()), Back::Case(snd(ran), branches, Box::new(of_sum))))
            }
            Exp::Op(o, args) => self.forward_operation(o, args, out),
            Exp::With(..) | Exp::Add(..) => Err(refused("accumulators")),
        }
    }

    /// A variable for a term of the forward part.
    fn named(&mut self, e: E, out: &mut Vec<(Name, E)>) -> E {
        if cheap(&e) {
            return e;
        }
        let x = self.fresh();
        out.push((x, e));
        var(x)
    }

    fn forward_operation(&mut self, o: &Op, args: &[E], out: &mut Vec<(Name, E)>) -> Result<(E, Back), String> {
        let mut inner = |names: &mut Names, k: usize| -> Result<(E, Box<Back>), String> {
            let (value, back) = names.forward(&args[k], out)?;
            Ok((value, Box::new(back)))
        };
        let (value, back) = match o {
            Op::Nil => (nil(), Back::Nothing),
            Op::Pair => {
                let (a, of_a) = inner(self, 0)?;
                let (b, of_b) = inner(self, 1)?;
                (pair(a, b), Back::Pair(of_a, of_b))
            }
            Op::Fst => {
                let (a, of_a) = inner(self, 0)?;
                (as_pair(&a).map_or_else(|| fst(a), |(first, _)| first), Back::First(of_a))
            }
            Op::Snd => {
                let (a, of_a) = inner(self, 0)?;
                (as_pair(&a).map_or_else(|| snd(a), |(_, second)| second), Back::Second(of_a))
            }
            Op::Inl => {
                let (a, of_a) = inner(self, 0)?;
                (op(Op::Inl, vec![a]), Back::Left(of_a))
            }
            Op::Inr => {
                let (a, of_a) = inner(self, 0)?;
                (op(Op::Inr, vec![a]), Back::Right(of_a))
            }
            Op::Test => (op(Op::Test, vec![inner(self, 0)?.0]), Back::Nothing),
            Op::Prim(p) => {
                let (a, of_a) = inner(self, 0)?;
                let y = op(Op::Prim(p.clone()), vec![a.clone()]);
                (y, if matches!(*of_a, Back::Nothing) { Back::Nothing } else { Back::Primitive(p.clone(), a, of_a) })
            }
            Op::App => {
                let (f, of_f) = inner(self, 0)?;
                let (a, of_a) = inner(self, 1)?;
                let ran = self.named(app(f, a), out);
                return Ok((fst(ran.clone()), Back::Call(snd(ran), of_f, of_a)));
            }
            Op::Fix => return self.forward_fix(&args[0], out),
            Op::Iterate => return self.forward_iterate(args, out),
            Op::Map | Op::Fold | Op::Accumulate(_) => return Err(refused("a loop over an array")),
            Op::Vjp(_) | Op::Jvp => return Err(refused("a derivative")),
            Op::Push(_) | Op::Pull(_) | Op::Differences(_) | Op::Spread(..) | Op::Zero | Op::Plus | Op::Single => {
                return Err(refused("a linear function"));
            }
            Op::Sum | Op::Zip | Op::ZipWith | Op::Linl | Op::Linr | Op::CastLeft | Op::CastRight | Op::Seq => {
                return Err(refused("a linear function"));
            }
        };
        Ok((self.named(value, out), back))
    }

    /// A function that calls itself: its cotangent is that of what it captures, too.
    fn forward_fix(&mut self, body: &E, out: &mut Vec<(Name, E)>) -> Result<(E, Back), String> {
        let parts = as_lam(body).and_then(|(own, inner)| Some((own, as_lam(&inner)?)));
        let Some((own, (x, inner))) = parts else { return Err(refused("a recursive function without its argument")) };
        let captured = free(body);
        let function = self.function((x, &inner), Some(own), &captured)?;
        let fixed = op(Op::Fix, vec![Shared::new(Exp::Lam(own, function))]);
        Ok((self.named(fixed, out), Back::Captured(captured)))
    }

    /// A loop, as a function that calls itself.
    fn forward_iterate(&mut self, args: &[E], out: &mut Vec<(Name, E)>) -> Result<(E, Back), String> {
        let Some((s, body)) = as_lam(&args[0]) else { return Err(refused("a loop without its step")) };
        let (own, next, result) = (self.fresh(), self.fresh(), self.fresh());
        let again = app(var(own), var(next));
        let repeated = Shared::new(Exp::Case(body, (next, again), (result, var(result))));
        let function = Shared::new(Exp::Lam(own, Shared::new(Exp::Lam(s, repeated))));
        self.forward(&app(op(Op::Fix, vec![function]), args[1].clone()), out)
    }

    /// `\x -> <y, \v -> <c, a>>`: the result, and the pullback to what is captured and to the argument. `own` is the name
    /// of the function in its body.
    fn function(&mut self, (x, body): (Name, &E), own: Option<Name>, captured: &[Name]) -> Result<E, String> {
        let mut bindings = Vec::new();
        let (y, back) = self.forward(body, &mut bindings)?;
        let v = self.fresh();
        let mut command = self.backward(back, var(v));
        if let Some(own) = own.filter(|own| adds_to(&command, *own)) {
            let captured = captured.to_vec();
            command = self.after(with(vec![own], command), Back::Captured(captured));
        }
        let mut names = captured.to_vec();
        names.push(x);
        let sums = with(names, command);
        let sums = if captured.is_empty() { pair(nil(), sums) } else { sums };
        let pullback = Shared::new(Exp::Lam(v, sums));
        Ok(Shared::new(Exp::Lam(x, bound(bindings, pair(y, pullback)))))
    }

    /// The forward part of a branch, which gives its result and what the reverse part reads.
    fn branch(&mut self, (x, body): &(Name, E), inject: Op, kept: Op) -> Result<((Name, E), BackBranch), String> {
        let mut bindings = Vec::new();
        let (y, back) = self.forward(body, &mut bindings)?;
        let of = self.fresh();
        let command = self.backward(back, var(of));
        let payload = if adds_to(&command, *x) { with(vec![*x], command) } else { then_zero(command) };
        let text = op(inject, vec![payload]);
        let own: HashSet<Name> = bindings.iter().map(|(name, _)| *name).chain([*x]).collect();
        let mut reads = Vec::new();
        variables(&text, &mut |y| {
            if own.contains(&y) && !reads.contains(&y) {
                reads.push(y);
            }
        });
        reads.sort_unstable();
        let left = reads.iter().map(|y| var(*y)).reduce(pair).unwrap_or_else(nil);
        let forward = bound(bindings, pair(y, op(kept, vec![left])));
        Ok(((*x, forward), BackBranch { of, reads, text }))
    }

    /// The additions for a cotangent.
    fn backward(&mut self, back: Back, v: E) -> E {
        let _leave = called();
        if is_zero(&v) {
            return nil();
        }
        match back {
            Back::Nothing => nil(),
            Back::Variable(x) => Shared::new(Exp::Add(x, v)),
            Back::Pair(a, b) => match as_pair(&v) {
                Some((v, w)) => {
                    let first = self.backward(*a, v);
                    then(first, self.backward(*b, w))
                }
                None => self.shared(v, |names, v| {
                    let first = names.backward(*a, fst(v.clone()));
                    then(first, names.backward(*b, snd(v)))
                }),
            },
            Back::First(a) => self.backward(*a, pair(v, zero())),
            Back::Second(a) => self.backward(*a, pair(zero(), v)),
            Back::Left(a) => self.backward(*a, op(Op::CastLeft, vec![v])),
            Back::Right(a) => self.backward(*a, op(Op::CastRight, vec![v])),
            Back::Primitive(p, x, a) => self.shared(v, |names, v| {
                let pulled = simplify::pure(names, &p.pull_term(x, v));
                names.backward(*a, pulled)
            }),
            Back::Scope(x, body, value) => {
                let command = self.backward(*body, v);
                if !adds_to(&command, x) {
                    return command;
                }
                self.after(with(vec![x], command), *value)
            }
            Back::Captured(names) if names.is_empty() => nil(),
            Back::Captured(captured) => self.unpacked(v, captured.len(), &mut |_, parts| {
                let adds = captured.iter().zip(parts).map(|(x, part)| Shared::new(Exp::Add(*x, part)));
                adds.fold(nil(), then)
            }),
            Back::Call(pullback, f, a) => self.let_(app(pullback, v), |names, both| {
                let first = names.backward(*f, fst(both.clone()));
                then(first, names.backward(*a, snd(both)))
            }),
            Back::Case(ran, branches, sum) => self.shared(v, |names, v| {
                let [left, right] = *branches;
                let (left, right) = (names.branch_back(left, &v), names.branch_back(right, &v));
                names.after(Shared::new(Exp::Case(ran, left, right)), *sum)
            }),
        }
    }

    /// The additions for a cotangent whose computation adds to accumulators, too: it runs, whether it is used or not.
    fn after(&mut self, cotangent: E, back: Back) -> E {
        let x = self.fresh();
        let rest = self.backward(back, var(x));
        if is_nil(&rest) { cotangent } else { let_(x, cotangent, rest) }
    }

    /// The reverse part of a branch, for a cotangent, at what the branch left.
    fn branch_back(&mut self, branch: BackBranch, v: &E) -> (Name, E) {
        let BackBranch { of, reads, text } = branch;
        let text = replace(self, &text, of, v);
        let t = self.fresh();
        let body = self.unpacked(var(t), reads.len(), &mut |names, parts| {
            let mut text = text.clone();
            let mut bindings = Vec::new();
            for (x, part) in reads.iter().zip(parts) {
                let y = names.fresh();
                text = replace(names, &text, *x, &var(y));
                bindings.push((y, part));
            }
            bound(bindings, text)
        });
        (t, body)
    }
}

/// A command, then the zero vector.
fn then_zero(command: E) -> E {
    if is_nil(&command) { zero() } else { op(Op::Seq, vec![command, zero()]) }
}

/// Calls a function with the variables that a term reads.
fn variables(e: &E, f: &mut dyn FnMut(Name)) {
    let mut work: Vec<&Exp> = vec![e];
    while let Some(e) = work.pop() {
        if let Exp::Var(x) = e {
            f(*x);
        }
        work.extend(e.parts().into_iter().map(|part| &**part));
    }
}

/// A value of this layout from nested pairs `<<x, y>, z>` of its leaves.
fn laid_out(layout: &Layout, leaves: &mut dyn Iterator<Item = E>) -> E {
    match layout {
        Layout::Unit => zero(),
        Layout::Leaf(..) => leaves.next().unwrap_or_else(zero),
        Layout::Pair(a, b) => {
            let first = laid_out(a, leaves);
            pair(first, laid_out(b, leaves))
        }
    }
}

/// Whether a layout is that of nested pairs `<<x, y>, z>` of leaves.
fn is_chain(layout: &Layout) -> bool {
    let mut layout = layout;
    while let Layout::Pair(a, b) = layout {
        if !matches!(**b, Layout::Leaf(..)) {
            return false;
        }
        layout = a;
    }
    matches!(layout, Layout::Leaf(..))
}

impl Lambda {
    /// The value of the program, and its pullback by accumulators to inputs of this layout.
    pub(in crate::interpreters) fn accumulated(&self, layout: &Layout) -> Result<Lambda, String> {
        let tidy = self.tidied();
        let (mut names, mut bindings) = (Names(tidy.next), Vec::new());
        let (y, back) = names.forward(&tidy.body, &mut bindings)?;
        let v = names.fresh();
        let command = names.backward(back, var(v));
        let sums = with(tidy.inputs.clone(), command);
        let gradient = if is_chain(layout) {
            sums
        } else if tidy.inputs.is_empty() {
            zero()
        } else {
            let count = tidy.inputs.len();
            names.unpacked(sums, count, &mut |_, parts| laid_out(layout, &mut parts.into_iter()))
        };
        let body = bound(bindings, pair(y, Shared::new(Exp::Lam(v, gradient))));
        Ok(Lambda { inputs: tidy.inputs, body, next: names.0 })
    }
}
