//! Translation of morphisms to terms: "CHAD", section 9.2.
//!
//! Law: a term has the values of its morphism; the parts of a morphism that are used twice are one variable.

use super::super::recursion::called;
use super::super::syntax::Node;
use super::{E, Exp, Lambda, Name, Names, Op, app, fst, op, pair, plus, snd, var, zero};
use crate::Layout;
use crate::shared::Shared;

impl Lambda {
    /// The term of a program whose inputs have these parts.
    pub(in crate::interpreters) fn of(node: &Node, layout: &Layout) -> Lambda {
        let mut names = Names(0);
        let mut inputs = Vec::new();
        let input = input(layout, &mut names, &mut inputs);
        let body = names.let_(input, |names, x| concrete(node, names, x));
        Lambda { inputs, body, next: names.0 }
    }
}

fn input(layout: &Layout, names: &mut Names, inputs: &mut Vec<Name>) -> E {
    match layout {
        Layout::Unit => op(Op::Nil, vec![]),
        Layout::Leaf(..) => {
            inputs.push(names.fresh());
            var(names.0)
        }
        Layout::Pair(a, b) => {
            let first = input(a, names, inputs);
            pair(first, input(b, names, inputs))
        }
    }
}

/// The term of a linear function that combines the values of two others.
fn linear_of((f, g): (&Node, &Node), names: &mut Names, x: &E, join: impl FnOnce(&mut Names, E, E, E) -> E) -> E {
    let f = concrete(f, names, x.clone());
    names.let_(f, |names, f| {
        let g = concrete(g, names, x.clone());
        names.let_(g, |names, g| names.lam(|names, v| join(names, f, g, v)))
    })
}

/// The term of a linear function that depends on the value of a term.
fn linear_from(a: &Node, names: &mut Names, x: E, body: impl FnOnce(&mut Names, E, E) -> E) -> E {
    let a = concrete(a, names, x);
    names.let_(a, |names, a| names.lam(|names, v| body(names, a, v)))
}

/// The combinator applied to a variable.
fn concrete(node: &Node, names: &mut Names, x: E) -> E {
    let _leave = called();
    match node {
        Node::Id => x,
        Node::Then(f, g) => {
            let first = concrete(f, names, x);
            names.let_(first, |names, y| concrete(g, names, y))
        }
        Node::Bind(value, body) => {
            let value = concrete(value, names, x.clone());
            names.let_(value, |names, a| names.let_(pair(x, a), |names, context| concrete(body, names, context)))
        }
        Node::Unit => op(Op::Nil, vec![]),
        Node::Pair(f, g) => {
            let first = concrete(f, names, x.clone());
            pair(first, concrete(g, names, x))
        }
        Node::Fst => fst(x),
        Node::Snd => snd(x),
        Node::Curry(f) => names.lam(|names, y| names.let_(pair(x, y), |names, both| concrete(f, names, both))),
        Node::Eval => app(fst(x.clone()), snd(x)),
        Node::Prim(p) => op(Op::Prim(p.clone()), vec![x]),
        Node::Inl => op(Op::Inl, vec![x]),
        Node::Inr => op(Op::Inr, vec![x]),
        Node::Case(left, right) => {
            let (a, b) = (names.fresh(), names.fresh());
            let left = names.let_(pair(fst(x.clone()), var(a)), |names, both| concrete(left, names, both));
            let right = names.let_(pair(fst(x.clone()), var(b)), |names, both| concrete(right, names, both));
            Shared::new(Exp::Case(snd(x), (a, left), (b, right)))
        }
        Node::Test => op(Op::Test, vec![x]),
        Node::Iterate(step) => {
            let start = snd(x.clone());
            let step = names.lam(|names, s| names.let_(pair(fst(x), s), |names, both| concrete(step, names, both)));
            op(Op::Iterate, vec![step, start])
        }
        Node::Fix(body) => {
            let function = names.lam(|names, f| {
                names.lam(|names, y| names.let_(pair(pair(x, f), y), |names, all| concrete(body, names, all)))
            });
            op(Op::Fix, vec![function])
        }
        Node::Map => op(Op::Map, vec![fst(x.clone()), snd(x)]),
        Node::Fold => op(Op::Fold, vec![fst(x.clone()), fst(snd(x.clone())), snd(snd(x))]),
        Node::Accumulate(reverse) => {
            op(Op::Accumulate(*reverse), vec![fst(x.clone()), fst(snd(x.clone())), snd(snd(x))])
        }
        Node::Vjp(kinds) => op(Op::Vjp(kinds.clone()), vec![fst(x.clone()), snd(x)]),
        Node::Jvp => op(Op::Jvp, vec![fst(x.clone()), fst(snd(x.clone())), snd(snd(x))]),
        Node::Lapp(f, v) => {
            let function = concrete(f, names, x.clone());
            app(function, concrete(v, names, x))
        }
        Node::Pushforward(p) => names.lam(|_, v| p.push_term(x, v)),
        Node::Pullback(p) => names.lam(|_, v| p.pull_term(x, v)),
        Node::Differences(p) => names.lam(|_, v| op(Op::Differences(p.clone()), vec![x, v])),
        Node::Zero => zero(),
        Node::Plus(a, b) => {
            let first = concrete(a, names, x.clone());
            let second = concrete(b, names, x);
            plus(first, second)
        }
        Node::Spread(..) | Node::Lid | Node::Lcomp(..) | Node::Lpair(..) | Node::Lfst | Node::Lsnd => {
            concrete_linear(node, names, x)
        }
        Node::Lswap(_) | Node::Leval(_) | Node::Singleton(_) | Node::Lcopowfold(_) | Node::Lcopowsum(_) => {
            concrete_linear(node, names, x)
        }
        Node::Linl | Node::Linr | Node::Lcastl | Node::Lcastr | Node::Lzip(_) | Node::LzipWith(..) => {
            concrete_linear(node, names, x)
        }
        Node::Lbind(..) | Node::Lmap(_) | Node::Laccumulate(..) => concrete_linear(node, names, x),
    }
}

/// [`concrete`] for a combinator whose value is a linear function.
fn concrete_linear(node: &Node, names: &mut Names, x: E) -> E {
    let _leave = called();
    match node {
        Node::Spread(from, to) => names.lam(|_, v| op(Op::Spread(from.clone(), to.clone()), vec![v])),
        Node::Lid => names.lam(|_, v| v),
        Node::Lcomp(f, g) => linear_of((f, g), names, &x, |_, f, g, v| app(g, app(f, v))),
        Node::Lpair(f, g) => linear_of((f, g), names, &x, |_, f, g, v| pair(app(f, v.clone()), app(g, v))),
        Node::Lbind(body, value) => linear_of((body, value), names, &x, |names, body, value, v| {
            names.let_(app(body, v), |_, both| plus(fst(both.clone()), app(value, snd(both))))
        }),
        Node::Lfst => names.lam(|_, v| fst(v)),
        Node::Lsnd => names.lam(|_, v| snd(v)),
        Node::Lswap(f) => linear_from(f, names, x, |names, f, v| names.lam(|_, y| app(app(f, y), v))),
        Node::Leval(a) => linear_from(a, names, x, |_, a, f| app(f, a)),
        Node::Singleton(a) => linear_from(a, names, x, |_, a, v| op(Op::Single, vec![a, v])),
        Node::Lcopowfold(f) => linear_from(f, names, x, |_, f, bag| op(Op::Sum, vec![f, bag])),
        Node::Lcopowsum(f) => linear_from(f, names, x, |names, f, bag| {
            let each = names.lam(|names, a| names.lam(|_, v| app(f, pair(a, v))));
            op(Op::Sum, vec![each, bag])
        }),
        Node::Linl => names.lam(|_, v| op(Op::Linl, vec![v])),
        Node::Linr => names.lam(|_, v| op(Op::Linr, vec![v])),
        Node::Lcastl => names.lam(|_, v| op(Op::CastLeft, vec![v])),
        Node::Lcastr => names.lam(|_, v| op(Op::CastRight, vec![v])),
        Node::Lzip(xs) => linear_from(xs, names, x, |_, xs, vs| op(Op::Zip, vec![xs, vs])),
        Node::LzipWith(f, xs) => linear_of((f, xs), names, &x, |names, f, xs, vs| {
            let each = names.lam(|names, a| names.lam(|_, v| app(app(f, a), v)));
            op(Op::ZipWith, vec![each, xs, vs])
        }),
        Node::Lmap(xs) => linear_from(xs, names, x, |_, xs, f| op(Op::Map, vec![f, xs])),
        Node::Laccumulate(reverse, f, xs) => linear_of((f, xs), names, &x, |names, f, xs, v| {
            let step = names.lam(|names, at| {
                let next = app(app(f, fst(snd(at.clone()))), pair(fst(at.clone()), snd(snd(at.clone()))));
                names.let_(next, |_, next| pair(fst(next.clone()), pair(fst(at), snd(next))))
            });
            op(Op::Accumulate(*reverse), vec![step, fst(v.clone()), pair(xs, snd(v))])
        }),
        Node::Id | Node::Then(..) | Node::Bind(..) | Node::Unit | Node::Pair(..) | Node::Fst | Node::Snd => {
            unreachable!("no linear function")
        }
        Node::Curry(_) | Node::Eval | Node::Prim(_) | Node::Inl | Node::Inr | Node::Case(..) | Node::Test => {
            unreachable!("no linear function")
        }
        Node::Iterate(_) | Node::Fix(_) | Node::Map | Node::Fold | Node::Accumulate(_) | Node::Lapp(..) => {
            unreachable!("no linear function")
        }
        Node::Pushforward(_) | Node::Pullback(_) | Node::Differences(_) => unreachable!("no linear function"),
        Node::Zero | Node::Plus(..) | Node::Vjp(_) | Node::Jvp => unreachable!("no linear function"),
    }
}
