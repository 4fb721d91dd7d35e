//! The simplifications of "CHAD", Table 1, and the rules that they need besides.
//!
//! Law: no rule duplicates work, or adds work: a value is moved into a function only if it has no cost there. So a
//! function with several calls is inlined only if it is small.

use std::collections::HashMap;

use super::super::recursion::called;
use super::{E, Exp, Lambda, Name, Names, Op, app, op, pair, plus, var, zero};
use crate::shared::Shared;

/// A rule: the simplified term; `None` if the rule does not apply.
type Rule = fn(&mut Names, &E) -> Option<E>;

/// The rules by the names of Table 1, where `sum f bag` is `sum (map f bag)`. `plusLet` is `letProj` for any operation
/// that is strict in its operand; `plusFun` and `caseBeta` are not in Table 1: the language there has no sums, and does
/// not add functions.
const TABLE: &[(&str, Rule)] = &[
    ("lamAppLet", lam_app_let),
    ("letRotate", let_rotate),
    ("letPairSplit", let_pair_split),
    ("letInline", let_inline),
    ("pairProj", pair_proj),
    ("pairEta", pair_eta),
    ("letProj", let_float),
    ("plusZero", plus_zero),
    ("plusPair", plus_pair),
    ("plusFun", plus_fun),
    ("algebra", algebra),
    ("letLamPairSplit", let_lam_pair_split),
    ("mapPairSplit", map_pair_split),
    ("mapZero", map_zero),
    ("sumZip", sum_pair_split),
    ("sumZero", sum_zero),
    ("sumSingleton", sum_singleton),
    ("caseBeta", case_beta),
];

impl Lambda {
    /// The term, simplified by all rules until none applies.
    ///
    /// Example: [`Lambda`].
    /// A text with accumulators ([`Code::accumulated`](crate::interpreters::Code::accumulated)) stays as it is: what it does has an
    /// order, which the rules do not keep.
    pub fn simplify(&self) -> Lambda {
        self.simplified(TABLE).0
    }

    /// The term without pairs that are taken apart: simplified by all rules, but functions stay, and are not copied.
    pub(super) fn tidied(&self) -> Lambda {
        let keeps = |(name, rule): &(&'static str, Rule)| match *name {
            "lamAppLet" => None,
            "letInline" => Some((*name, let_inline_value as Rule)),
            _ => Some((*name, *rule)),
        };
        self.simplified(&TABLE.iter().filter_map(keeps).collect::<Vec<_>>()).0
    }

    /// The names of the rules that [`simplify`](Lambda::simplify) uses here, each once.
    ///
    /// ```
    /// use polygrad_higher::interpreters::{Lambda, Syntax};
    /// use polygrad_higher::{Expr, Language, Real, fun1, lam};
    /// fn program<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| lam(|z| z.at() + 1.0).app(x.at()))
    /// }
    /// let term = program::<Syntax>().hom().term();
    /// assert_eq!(term.rules_used(), ["lamAppLet", "letInline", "letPairSplit", "pairProj"]);
    /// assert!(term.rules_used().iter().all(|rule| Lambda::rules().contains(rule)));
    /// ```
    pub fn rules_used(&self) -> Vec<&'static str> {
        self.simplified(TABLE).1
    }

    /// The names of all rules.
    ///
    /// Example: [`Lambda::rules_used`].
    pub fn rules() -> Vec<&'static str> {
        TABLE.iter().map(|(name, _)| *name).collect()
    }

    /// The simplified term, and the rules used.
    fn simplified(&self, rules: &[(&'static str, Rule)]) -> (Lambda, Vec<&'static str>) {
        if has_accumulators(&self.body) {
            return (self.clone(), Vec::new());
        }
        let mut pass = Pass { names: Names(self.next), rules, used: Vec::new(), changed: true };
        let mut body = self.body.clone();
        // Each pass makes the term smaller in some order; the bound is far more than any program needs.
        for _ in 0..200 {
            pass.changed = false;
            body = pass.term(&body);
            if !pass.changed {
                break;
            }
        }
        pass.used.sort_unstable();
        pass.used.dedup();
        (Lambda { body, next: pass.names.0, ..self.clone() }, pass.used)
    }
}

struct Pass<'a> {
    names: Names,
    rules: &'a [(&'static str, Rule)],
    used: Vec<&'static str>,
    changed: bool,
}

impl Pass<'_> {
    fn term(&mut self, e: &E) -> E {
        let _leave = called();
        let mut e = match &**e {
            Exp::Var(_) => e.clone(),
            Exp::Let(x, a, b) => Shared::new(Exp::Let(*x, self.term(a), self.term(b))),
            Exp::Lam(x, a) => Shared::new(Exp::Lam(*x, self.term(a))),
            Exp::Case(s, (x, a), (y, b)) => {
                let (s, a) = (self.term(s), self.term(a));
                Shared::new(Exp::Case(s, (*x, a), (*y, self.term(b))))
            }
            Exp::With(names, a) => Shared::new(Exp::With(names.clone(), self.term(a))),
            Exp::Add(x, a) => Shared::new(Exp::Add(*x, self.term(a))),
            Exp::Op(o, args) => op(o.clone(), args.iter().map(|a| self.term(a)).collect()),
        };
        let mut again = true;
        while again {
            again = false;
            for (name, rule) in self.rules {
                if let Some(next) = rule(&mut self.names, &e) {
                    self.used.push(name);
                    (e, again, self.changed) = (next, true, true);
                }
            }
        }
        e
    }
}

/// Whether a term adds to accumulators.
fn has_accumulators(e: &E) -> bool {
    let mut work: Vec<&Exp> = vec![e];
    while let Some(e) = work.pop() {
        if matches!(e, Exp::With(..) | Exp::Add(..)) {
            return true;
        }
        work.extend(e.parts().into_iter().map(|part| &**part));
    }
    false
}

/// A term without accumulators, simplified.
pub(super) fn pure(names: &mut Names, e: &E) -> E {
    let term = Lambda { inputs: Vec::new(), body: e.clone(), next: names.0 }.simplify();
    names.0 = term.next;
    term.body
}

/// Substitutes a term for a variable. Binders of copies are renamed, so that all binders are distinct.
pub(super) fn replace(names: &mut Names, e: &E, x: Name, by: &E) -> E {
    replaced(names, e, x, by).unwrap_or_else(|| e.clone())
}

/// [`replace`], if the variable occurs in the term.
fn replaced(names: &mut Names, e: &E, x: Name, by: &E) -> Option<E> {
    let _leave = called();
    let mut changed = false;
    let mut part = |names: &mut Names, part: &E| match replaced(names, part, x, by) {
        Some(next) => {
            changed = true;
            next
        }
        None => part.clone(),
    };
    let next = match &**e {
        Exp::Var(y) => return (*y == x).then(|| renamed(names, by, &mut HashMap::new())),
        Exp::Let(y, a, b) => Exp::Let(*y, part(names, a), part(names, b)),
        Exp::Lam(y, a) => Exp::Lam(*y, part(names, a)),
        Exp::With(all, a) => Exp::With(all.clone(), part(names, a)),
        Exp::Add(y, a) => Exp::Add(*y, part(names, a)),
        Exp::Case(s, (y, a), (z, b)) => Exp::Case(part(names, s), (*y, part(names, a)), (*z, part(names, b))),
        Exp::Op(o, args) => Exp::Op(o.clone(), args.iter().map(|a| part(names, a)).collect()),
    };
    changed.then(|| Shared::new(next))
}

/// The term with new names for its binders.
fn renamed(names: &mut Names, e: &E, map: &mut HashMap<Name, Name>) -> E {
    let _leave = called();
    let bind = |names: &mut Names, map: &mut HashMap<Name, Name>, x: Name| {
        let y = names.fresh();
        map.insert(x, y);
        y
    };
    match &**e {
        Exp::Var(x) => map.get(x).map_or_else(|| e.clone(), |y| var(*y)),
        Exp::Let(x, a, b) => {
            let a = renamed(names, a, map);
            let y = bind(names, map, *x);
            Shared::new(Exp::Let(y, a, renamed(names, b, map)))
        }
        Exp::Lam(x, a) => {
            let y = bind(names, map, *x);
            Shared::new(Exp::Lam(y, renamed(names, a, map)))
        }
        Exp::Case(s, (x, a), (y, b)) => {
            let s = renamed(names, s, map);
            let (u, v) = (bind(names, map, *x), bind(names, map, *y));
            let a = renamed(names, a, map);
            Shared::new(Exp::Case(s, (u, a), (v, renamed(names, b, map))))
        }
        // Accumulators have the names of their variables.
        Exp::With(all, a) => {
            let all = all.iter().map(|x| map.get(x).copied().unwrap_or(*x)).collect();
            Shared::new(Exp::With(all, renamed(names, a, map)))
        }
        Exp::Add(x, a) => Shared::new(Exp::Add(map.get(x).copied().unwrap_or(*x), renamed(names, a, map))),
        Exp::Op(o, args) => op(o.clone(), args.iter().map(|a| renamed(names, a, map)).collect()),
    }
}

/// The number of uses of a variable at run time; a use in a function or a branch counts as more than one.
fn uses(e: &E, x: Name) -> usize {
    let _leave = called();
    match &**e {
        Exp::Var(y) => usize::from(*y == x),
        Exp::Lam(_, a) => 2 * uses(a, x),
        Exp::Let(..) | Exp::Case(..) | Exp::With(..) | Exp::Add(..) | Exp::Op(..) => {
            e.parts().into_iter().map(|part| uses(part, x)).sum()
        }
    }
}

/// The number of occurrences of a variable in a term.
fn occurrences(e: &E, x: Name) -> usize {
    let _leave = called();
    match &**e {
        Exp::Var(y) => usize::from(*y == x),
        Exp::Lam(..) | Exp::Let(..) | Exp::Case(..) | Exp::With(..) | Exp::Add(..) | Exp::Op(..) => {
            e.parts().into_iter().map(|part| occurrences(part, x)).sum()
        }
    }
}

/// Whether a term has no cost at run time.
pub(super) fn cheap(e: &E) -> bool {
    match &**e {
        Exp::Var(_) => true,
        Exp::Op(Op::Nil | Op::Zero, _) => true,
        Exp::Op(Op::Fst | Op::Snd | Op::Pair, args) => args.iter().all(cheap),
        Exp::Op(Op::Prim(_), args) => matches!(&*args[0], Exp::Op(Op::Nil, _)),
        Exp::Let(..) | Exp::Lam(..) | Exp::Case(..) | Exp::With(..) | Exp::Add(..) | Exp::Op(..) => false,
    }
}

/// The largest size of a function that is inlined at several calls.
const SMALL: usize = 30;

fn args(e: &E, is: fn(&Op) -> bool) -> Option<&[E]> {
    match &**e {
        Exp::Op(o, args) if is(o) => Some(args),
        Exp::Var(_) | Exp::Let(..) | Exp::Lam(..) | Exp::Case(..) => None,
        Exp::With(..) | Exp::Add(..) | Exp::Op(..) => None,
    }
}

pub(super) fn is_zero(e: &E) -> bool {
    args(e, |o| matches!(o, Op::Zero)).is_some()
}

pub(super) fn as_pair(e: &E) -> Option<(E, E)> {
    args(e, |o| matches!(o, Op::Pair)).map(|parts| (parts[0].clone(), parts[1].clone()))
}

pub(super) fn as_lam(e: &E) -> Option<(Name, E)> {
    if let Exp::Lam(x, a) = &**e { Some((*x, a.clone())) } else { None }
}

pub(super) fn let_(x: Name, a: E, b: E) -> E {
    Shared::new(Exp::Let(x, a, b))
}

fn lam(x: Name, a: E) -> E {
    Shared::new(Exp::Lam(x, a))
}

/// `(\x. e) a ~> let x = a in e`.
fn lam_app_let(_: &mut Names, e: &E) -> Option<E> {
    let parts = args(e, |o| matches!(o, Op::App))?;
    let (x, body) = as_lam(&parts[0])?;
    Some(let_(x, parts[1].clone(), body))
}

/// `let x = (let y = a in b) in e ~> let y = a in let x = b in e`.
fn let_rotate(_: &mut Names, e: &E) -> Option<E> {
    let Exp::Let(x, value, body) = &**e else { return None };
    let Exp::Let(y, a, b) = &**value else { return None };
    Some(let_(*y, a.clone(), let_(*x, b.clone(), body.clone())))
}

/// `let x = <a, b> in e ~> let y = a in let z = b in e[<y, z> / x]`.
fn let_pair_split(names: &mut Names, e: &E) -> Option<E> {
    let Exp::Let(x, value, body) = &**e else { return None };
    let (a, b) = as_pair(value)?;
    let (y, z) = (names.fresh(), names.fresh());
    let body = replace(names, body, *x, &pair(var(y), var(z)));
    Some(let_(y, a, let_(z, b, body)))
}

/// `let x = a in e ~> e[a / x]`, if `a` is cheap, used once, or a small function.
fn let_inline(names: &mut Names, e: &E) -> Option<E> {
    let Exp::Let(x, a, body) = &**e else { return None };
    let function = as_lam(a).is_some();
    let once = uses(body, *x) <= 1 || (function && occurrences(body, *x) <= 1);
    (once || cheap(a) || (function && a.size() <= SMALL)).then(|| replace(names, body, *x, a))
}

/// [`let_inline`], but a function that is called several times stays.
fn let_inline_value(names: &mut Names, e: &E) -> Option<E> {
    let Exp::Let(x, a, body) = &**e else { return None };
    if as_lam(a).is_some() && occurrences(body, *x) > 1 { None } else { let_inline(names, e) }
}

/// `fst <a, b> ~> a`, `snd <a, b> ~> b`; and the components of zero are zero.
fn pair_proj(_: &mut Names, e: &E) -> Option<E> {
    let first = args(e, |o| matches!(o, Op::Fst));
    let parts = first.or_else(|| args(e, |o| matches!(o, Op::Snd)))?;
    if is_zero(&parts[0]) {
        return Some(zero());
    }
    let (a, b) = as_pair(&parts[0])?;
    Some(if first.is_some() { a } else { b })
}

/// `<fst a, snd a> ~> a`.
fn pair_eta(_: &mut Names, e: &E) -> Option<E> {
    let (a, b) = as_pair(e)?;
    let a = &args(&a, |o| matches!(o, Op::Fst))?[0];
    let b = &args(&b, |o| matches!(o, Op::Snd))?[0];
    same(a, b).then(|| a.clone())
}

/// Whether two terms are one variable, or the same projections of it.
fn same(a: &E, b: &E) -> bool {
    let _leave = called();
    match (&**a, &**b) {
        (Exp::Var(x), Exp::Var(y)) => x == y,
        (Exp::Op(Op::Fst, a), Exp::Op(Op::Fst, b)) | (Exp::Op(Op::Snd, a), Exp::Op(Op::Snd, b)) => same(&a[0], &b[0]),
        (Exp::Var(_) | Exp::Let(..) | Exp::Lam(..) | Exp::Case(..) | Exp::With(..) | Exp::Add(..) | Exp::Op(..), _) => {
            false
        }
    }
}

/// `fst (let x = a in e) ~> let x = a in fst e`, and the same for the operand of any operation that is strict in it:
/// `letProj`, `plusLet`.
fn let_float(_: &mut Names, e: &E) -> Option<E> {
    let Exp::Op(o, parts) = &**e else { return None };
    if !matches!(o, Op::Fst | Op::Snd | Op::Plus | Op::App | Op::CastLeft | Op::CastRight | Op::Sum | Op::Prim(_)) {
        return None;
    }
    let at = parts.iter().position(|part| matches!(**part, Exp::Let(..)))?;
    let Exp::Let(x, a, b) = &*parts[at] else { return None };
    let mut inner = parts.clone();
    inner[at] = b.clone();
    Some(let_(*x, a.clone(), op(o.clone(), inner)))
}

/// `plus zero a ~> a`, `plus a zero ~> a`.
fn plus_zero(_: &mut Names, e: &E) -> Option<E> {
    let parts = args(e, |o| matches!(o, Op::Plus))?;
    match (is_zero(&parts[0]), is_zero(&parts[1])) {
        (true, _) => Some(parts[1].clone()),
        (_, true) => Some(parts[0].clone()),
        (false, false) => None,
    }
}

/// `plus <a, b> <c, d> ~> <plus a c, plus b d>`.
fn plus_pair(_: &mut Names, e: &E) -> Option<E> {
    let parts = args(e, |o| matches!(o, Op::Plus))?;
    let ((a, b), (c, d)) = (as_pair(&parts[0])?, as_pair(&parts[1])?);
    Some(pair(plus(a, c), plus(b, d)))
}

/// `(\x. a) + (\y. b) ~> \z. a[z / x] + b[z / y]`, and `(f + g) a ~> let x = a in f x + g x`.
fn plus_fun(names: &mut Names, e: &E) -> Option<E> {
    if let Some(parts) = args(e, |o| matches!(o, Op::App)) {
        let terms = args(&parts[0], |o| matches!(o, Op::Plus))?;
        let x = names.fresh();
        let sum = plus(app(terms[0].clone(), var(x)), app(terms[1].clone(), var(x)));
        return Some(let_(x, parts[1].clone(), sum));
    }
    let parts = args(e, |o| matches!(o, Op::Plus))?;
    let ((x, a), (y, b)) = (as_lam(&parts[0])?, as_lam(&parts[1])?);
    let z = names.fresh();
    Some(lam(z, plus(replace(names, &a, x, &var(z)), replace(names, &b, y, &var(z)))))
}

/// Linear operations of zero are zero, and so are pairs of zeros; `x * 1 ~> x`.
fn algebra(_: &mut Names, e: &E) -> Option<E> {
    let Exp::Op(o, parts) = &**e else { return None };
    match o {
        Op::Prim(p) => {
            if is_zero(&parts[0]) {
                return Some(zero());
            }
            let (a, b) = as_pair(&parts[0])?;
            let name = p.name();
            let number = |e: &E, text: &str| {
                args(e, |o| matches!(o, Op::Prim(_)))
                    .is_some_and(|_| if let Exp::Op(Op::Prim(p), _) = &**e { p.name() == text } else { false })
            };
            match name.as_str() {
                // A symbolic zero is a tangent, and products of derivatives are linear in it.
                "mul" | "mul_no_nan" if is_zero(&a) || is_zero(&b) => Some(zero()),
                "div_no_nan" if is_zero(&a) => Some(zero()),
                "mul" if number(&a, "1.0") => Some(b),
                "mul" if number(&b, "1.0") => Some(a),
                "add" if is_zero(&a) => Some(b),
                "add" | "sub" if is_zero(&b) => Some(a),
                _ => None,
            }
        }
        Op::Pair => (is_zero(&parts[0]) && is_zero(&parts[1])).then(zero),
        Op::Push(_) | Op::Pull(_) | Op::Differences(_) => is_zero(&parts[1]).then(zero),
        Op::App | Op::Linl | Op::Linr | Op::CastLeft | Op::CastRight | Op::Spread(..) => is_zero(&parts[0]).then(zero),
        Op::Nil | Op::Fst | Op::Snd | Op::Inl | Op::Inr | Op::Test | Op::Zero | Op::Plus | Op::Single => None,
        Op::Sum | Op::Zip | Op::ZipWith | Op::Map | Op::Iterate | Op::Fix | Op::Fold | Op::Accumulate(_) => None,
        Op::Vjp(_) | Op::Jvp | Op::Seq => None,
    }
}

/// `let f = \x. <a, b> in e ~> let g = \x. a in let h = \x. b in e[\x. <g x, h x> / f]`.
fn let_lam_pair_split(names: &mut Names, e: &E) -> Option<E> {
    let Exp::Let(f, value, body) = &**e else { return None };
    let (x, inner) = as_lam(value)?;
    let (a, b) = as_pair(&inner)?;
    let (g, h, y) = (names.fresh(), names.fresh(), names.fresh());
    let second = renamed(names, &lam(x, b), &mut HashMap::new());
    let both = lam(y, pair(app(var(g), var(y)), app(var(h), var(y))));
    let body = replace(names, body, *f, &both);
    Some(let_(g, lam(x, a), let_(h, second, body)))
}

/// `map (\x. <b, c>) a ~> let y = a in <map (\x. b) y, map (\x. c) y>`.
fn map_pair_split(names: &mut Names, e: &E) -> Option<E> {
    let parts = args(e, |o| matches!(o, Op::Map))?;
    let (x, body) = as_lam(&parts[0])?;
    let (b, c) = as_pair(&body)?;
    let y = names.fresh();
    let second = renamed(names, &lam(x, c), &mut HashMap::new());
    let maps = pair(op(Op::Map, vec![lam(x, b), var(y)]), op(Op::Map, vec![second, var(y)]));
    Some(let_(y, parts[1].clone(), maps))
}

/// `map (\x. zero) a ~> zero`, and the same for two arrays.
fn map_zero(_: &mut Names, e: &E) -> Option<E> {
    if let Some(parts) = args(e, |o| matches!(o, Op::Map)) {
        return (is_zero(&parts[0]) || is_zero(&as_lam(&parts[0])?.1)).then(zero);
    }
    let parts = args(e, |o| matches!(o, Op::ZipWith))?;
    if is_zero(&parts[2]) {
        return Some(zero());
    }
    is_zero(&as_lam(&as_lam(&parts[0])?.1)?.1).then(zero)
}

/// `sum (map (\a v. <b, c>) bag) ~> let y = bag in <sum (map (\a v. b) y), sum (map (\a v. c) y)>`.
fn sum_pair_split(names: &mut Names, e: &E) -> Option<E> {
    let parts = args(e, |o| matches!(o, Op::Sum))?;
    let (a, inner) = as_lam(&parts[0])?;
    let (v, body) = as_lam(&inner)?;
    let (b, c) = as_pair(&body)?;
    let y = names.fresh();
    let second = renamed(names, &lam(a, lam(v, c)), &mut HashMap::new());
    let sums = pair(op(Op::Sum, vec![lam(a, lam(v, b)), var(y)]), op(Op::Sum, vec![second, var(y)]));
    Some(let_(y, parts[1].clone(), sums))
}

/// `sum zero ~> zero`, and the sum of zeros.
fn sum_zero(_: &mut Names, e: &E) -> Option<E> {
    let parts = args(e, |o| matches!(o, Op::Sum))?;
    if is_zero(&parts[1]) {
        return Some(zero());
    }
    is_zero(&as_lam(&as_lam(&parts[0])?.1)?.1).then(zero)
}

/// `sum (map f [(a, v)]) ~> f a v`, and `sum (map (\a v. [(a, v)]) e) ~> e`.
fn sum_singleton(_: &mut Names, e: &E) -> Option<E> {
    let parts = args(e, |o| matches!(o, Op::Sum))?;
    if let Some(entry) = args(&parts[1], |o| matches!(o, Op::Single)) {
        return Some(app(app(parts[0].clone(), entry[0].clone()), entry[1].clone()));
    }
    let (a, inner) = as_lam(&parts[0])?;
    let (v, body) = as_lam(&inner)?;
    let entry = args(&body, |o| matches!(o, Op::Single))?;
    (same(&entry[0], &var(a)) && same(&entry[1], &var(v))).then(|| parts[1].clone())
}

/// The branch of a known case; the vector of a known case.
fn case_beta(_: &mut Names, e: &E) -> Option<E> {
    if let Exp::Case(s, (x, a), (y, b)) = &**e {
        let left = args(s, |o| matches!(o, Op::Inl)).map(|v| let_(*x, v[0].clone(), a.clone()));
        return left.or_else(|| args(s, |o| matches!(o, Op::Inr)).map(|v| let_(*y, v[0].clone(), b.clone())));
    }
    let left = args(e, |o| matches!(o, Op::CastLeft)).and_then(|v| args(&v[0], |o| matches!(o, Op::Linl)));
    let right = args(e, |o| matches!(o, Op::CastRight)).and_then(|v| args(&v[0], |o| matches!(o, Op::Linr)));
    left.or(right).map(|v| v[0].clone())
}
