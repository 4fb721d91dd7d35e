//! Operations on all parts of a value: sums, and values without scattered cotangents.
//!
//! A list is as deep as it is long. Laws: no operation of this module recurses over the depth of a value; accumulators, sums
//! over the trips of a loop, and copowers may hold cotangents that are zero but at some indices, while the results of linear
//! functions, and the arguments of functions of the host language, are dense.

use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::access::mistyped;
use super::counter;
use super::machine::joined;
use super::value::{FunctionArray, Val};
use crate::shared::Shared;

/// How deep an operation recurses before it goes on with a list of what remains.
const NESTED: u8 = 16;

/// How a value is made of the parts that were made before it.
enum Form<T: 'static> {
    Pair,
    Left,
    Right,
    Either(T),
}

impl<T: BaseTensor> Form<T> {
    /// Makes a value of the last of those that were made.
    fn make(self, made: &mut Vec<Val<T>>) {
        let mut last = || made.pop().expect("the parts of the value");
        let value = match self {
            Form::Pair => {
                let second = last();
                Val::pair(last(), second)
            }
            Form::Left => Val::Left(Shared::new(last())),
            Form::Right => Val::Right(Shared::new(last())),
            Form::Either(mask) => {
                let right = last();
                Val::Either(Shared::new((mask, last(), right)))
            }
        };
        made.push(value);
    }
}

/// What remains to be done: to work on a value, or to make one.
enum Work<X, T: 'static> {
    On(X),
    Make(Form<T>),
}

impl<T: BaseTensor> Val<T> {
    /// The sum, of any type with addition.
    pub(super) fn plus(self, other: Val<T>) -> Val<T> {
        self.added(other, 0)
    }

    fn added(self, other: Val<T>, depth: u8) -> Val<T> {
        counter::addition::<T>();
        match (self, other) {
            (Val::Zero, v) | (v, Val::Zero) => v,
            (Val::Nil, Val::Nil) => Val::Nil,
            (Val::Leaf(a), Val::Leaf(b)) => Val::Leaf(a.accumulate(&b)),
            (Val::Leaf(a), Val::Scattered(b)) => Val::Leaf(Rc::unwrap_or_clone(b).onto(a)),
            (Val::Scattered(a), Val::Leaf(b)) => Val::Leaf(Rc::unwrap_or_clone(a).onto(b)),
            (Val::Scattered(a), Val::Scattered(b)) => match Rc::unwrap_or_clone(a).plus(Rc::unwrap_or_clone(b)) {
                Ok(both) => Val::Scattered(Rc::new(both)),
                Err(dense) => Val::Leaf(dense),
            },
            (Val::Fun(f), Val::Fun(g)) => Val::Fun(joined(f, g, Val::plus)),
            (Val::Lin(f), Val::Lin(g)) => Val::Lin(f.plus(g)),
            (Val::Bag(a), Val::Bag(b)) => Val::Bag(a.both(b)),
            (Val::Mono(a), Val::Mono(b)) => Val::Mono(a.sum(&*b)),
            (a @ Val::Many(_), b) | (a, b @ Val::Many(_)) => FunctionArray::both(&a, &b, &Val::plus),
            (a, b) if depth == NESTED => Val::deep_sum(a, b),
            (Val::Pair(p), Val::Pair(q)) => {
                let (a, b) = Shared::unwrap_or_clone(p);
                let (c, d) = Shared::unwrap_or_clone(q);
                Val::pair(a.added(c, depth + 1), b.added(d, depth + 1))
            }
            (Val::Left(a), Val::Left(b)) => {
                let (a, b) = (Shared::unwrap_or_clone(a), Shared::unwrap_or_clone(b));
                Val::Left(Shared::new(a.added(b, depth + 1)))
            }
            (Val::Right(a), Val::Right(b)) => {
                let (a, b) = (Shared::unwrap_or_clone(a), Shared::unwrap_or_clone(b));
                Val::Right(Shared::new(a.added(b, depth + 1)))
            }
            (Val::Either(e), Val::Either(f)) => {
                let (mask, left, right) = Shared::unwrap_or_clone(e);
                let (_, a, b) = Shared::unwrap_or_clone(f);
                Val::Either(Shared::new((mask, left.added(a, depth + 1), right.added(b, depth + 1))))
            }
            _ => mistyped("of the type of what is added to it"),
        }
    }

    /// The sum of pairs, or of values of one case, with a list of what remains.
    fn deep_sum(a: Val<T>, b: Val<T>) -> Val<T> {
        let (mut work, mut made) = (vec![Work::On((a, b))], Vec::new());
        while let Some(next) = work.pop() {
            let (a, b) = match next {
                Work::On(both) => both,
                Work::Make(form) => {
                    form.make(&mut made);
                    continue;
                }
            };
            match (a, b) {
                (Val::Pair(p), Val::Pair(q)) => {
                    let (a, b) = Shared::unwrap_or_clone(p);
                    let (c, d) = Shared::unwrap_or_clone(q);
                    work.extend([Work::Make(Form::Pair), Work::On((b, d)), Work::On((a, c))]);
                }
                (Val::Left(a), Val::Left(b)) => {
                    let both = (Shared::unwrap_or_clone(a), Shared::unwrap_or_clone(b));
                    work.extend([Work::Make(Form::Left), Work::On(both)]);
                }
                (Val::Right(a), Val::Right(b)) => {
                    let both = (Shared::unwrap_or_clone(a), Shared::unwrap_or_clone(b));
                    work.extend([Work::Make(Form::Right), Work::On(both)]);
                }
                (Val::Either(e), Val::Either(f)) => {
                    let (mask, left, right) = Shared::unwrap_or_clone(e);
                    let (_, a, b) = Shared::unwrap_or_clone(f);
                    work.extend([Work::Make(Form::Either(mask)), Work::On((right, b)), Work::On((left, a))]);
                }
                (a, b) => made.push(a.added(b, 0)),
            }
        }
        made.pop().expect("the sum")
    }

    /// The value with `f` of all parts that have no parts.
    fn each_part(self, f: &dyn Fn(Val<T>) -> Val<T>) -> Val<T> {
        let (mut work, mut made) = (vec![Work::On(self)], Vec::new());
        while let Some(next) = work.pop() {
            let value = match next {
                Work::On(value) => value,
                Work::Make(form) => {
                    form.make(&mut made);
                    continue;
                }
            };
            match value {
                Val::Pair(p) => {
                    let (a, b) = Shared::unwrap_or_clone(p);
                    work.extend([Work::Make(Form::Pair), Work::On(b), Work::On(a)]);
                }
                Val::Left(v) => work.extend([Work::Make(Form::Left), Work::On(Shared::unwrap_or_clone(v))]),
                Val::Right(v) => work.extend([Work::Make(Form::Right), Work::On(Shared::unwrap_or_clone(v))]),
                Val::Either(e) => {
                    let (mask, a, b) = Shared::unwrap_or_clone(e);
                    work.extend([Work::Make(Form::Either(mask)), Work::On(b), Work::On(a)]);
                }
                v @ (Val::Zero | Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Fun(_)) => made.push(f(v)),
                v @ (Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_)) => made.push(f(v)),
            }
        }
        made.pop().expect("the value")
    }

    /// Whether some part that has no parts is such.
    fn some_part(&self, is: &dyn Fn(&Val<T>) -> bool) -> bool {
        // Most values are one tensor, or a pair of two.
        let mut work = Vec::new();
        let mut at = self;
        loop {
            match at {
                Val::Pair(p) => {
                    work.push(&p.1);
                    at = &p.0;
                    continue;
                }
                Val::Left(v) | Val::Right(v) => {
                    at = v;
                    continue;
                }
                Val::Either(e) => {
                    work.push(&e.2);
                    at = &e.1;
                    continue;
                }
                v @ (Val::Zero | Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Fun(_)) if is(v) => return true,
                v @ (Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_)) if is(v) => return true,
                Val::Zero | Val::Nil | Val::Leaf(_) | Val::Scattered(_) | Val::Fun(_) => {}
                Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => {}
            }
            let Some(next) = work.pop() else { return false };
            at = next;
        }
    }

    /// The value with tensors in place of their nonzero elements.
    pub(super) fn dense(self) -> Val<T> {
        if !self.some_part(&|v| matches!(v, Val::Scattered(_))) {
            return self;
        }
        self.each_part(&|v| if let Val::Scattered(s) = v { Val::Leaf(Rc::unwrap_or_clone(s).dense()) } else { v })
    }

    /// The (co)tangent with units replaced by zeros.
    pub(super) fn without_units(self) -> Val<T> {
        // Most are a tensor or zero.
        if let Val::Zero | Val::Leaf(_) | Val::Scattered(_) = self {
            return self;
        }
        if !self.some_part(&|v| matches!(v, Val::Nil)) {
            return self;
        }
        self.each_part(&|v| if let Val::Nil = v { Val::Zero } else { v })
    }

    /// Whether the value contains a function.
    pub(super) fn has_function(&self) -> bool {
        self.some_part(&|v| matches!(v, Val::Fun(_) | Val::Lin(_) | Val::Many(_)))
    }
}
