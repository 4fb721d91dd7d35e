//! Programs of types that are drawn at run time, as data: for every instance, by the instance without types.

use std::rc::Rc;

use polygrad::Array;
use polygrad::ops::{Binary, Compare, Unary};
use polygrad_higher::interpreters::Erased;
use polygrad_higher::primitive::{Comparison, Constant, Pointwise, Pointwise2, Replicate, SumAll};
use polygrad_higher::{Arrays, Ccc, Expr, Language, Real, Unit};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Real,
    Pair(Rc<Ty>, Rc<Ty>),
    Sum(Rc<Ty>, Rc<Ty>),
    Fun(Rc<Ty>, Rc<Ty>),
}

/// The number of a variable; all binders of a program have numbers of their own.
pub(super) type Name = u32;

/// A program.
#[derive(Clone, Debug)]
pub(super) enum Term {
    Var(Name),
    Number(f64),
    Unary(Unary, Rc<Term>),
    Binary(Binary, Rc<Term>, Rc<Term>),
    Pair(Rc<Term>, Rc<Term>),
    Fst(Rc<Term>),
    Snd(Rc<Term>),
    Lam(Name, Rc<Term>),
    App(Rc<Term>, Rc<Term>),
    Let(Name, Rc<Term>, Rc<Term>),
    Left(Rc<Term>),
    Right(Rc<Term>),
    Case(Rc<Term>, (Name, Rc<Term>), (Name, Rc<Term>)),
    /// The first term if the first number is less than the second one, otherwise the last term.
    IfLess(Rc<Term>, Rc<Term>, Rc<Term>, Rc<Term>),
    /// The sum of the values of a function at two copies of a number.
    SumMap(Rc<Term>, Rc<Term>),
    /// The function of a state and an element, folded over two copies of a number.
    Fold(Rc<Term>, Rc<Term>, Rc<Term>),
}

/// A program of the instance `C`, without types.
pub(super) type Hom<C> = <Erased<C> as Ccc>::Hom<Unit, Unit>;

fn both<C: Ccc>(f: Hom<C>, g: Hom<C>) -> Hom<C> {
    Erased::<C>::pair::<Unit, Unit, Unit>(f, g)
}

fn then<C: Ccc>(f: Hom<C>, g: Hom<C>) -> Hom<C> {
    Erased::<C>::then::<Unit, Unit, Unit>(f, g)
}

/// The variable with this name in a context of these names.
pub(super) fn variable<C: Ccc>(name: Name, context: &[Name]) -> Hom<C> {
    let place = context.iter().rev().position(|x| *x == name).expect("a variable in scope");
    let outer = (0..place).fold(Erased::<C>::id::<Unit>(), |f, _| then::<C>(f, Erased::<C>::fst::<Unit, Unit>()));
    then::<C>(outer, Erased::<C>::snd::<Unit, Unit>())
}

impl Term {
    /// The program at an instance, in a context of variables, the last one innermost.
    pub(super) fn at<C: Arrays>(&self, context: &mut Vec<Name>) -> Hom<C> {
        type E<C> = Erased<C>;
        let mut within = |names: &[Name], term: &Term| {
            context.extend(names);
            let hom = term.at::<C>(context);
            context.truncate(context.len() - names.len());
            hom
        };
        // No variable has this number: a branch binds one that it does not use.
        const UNUSED: Name = Name::MAX;
        match self {
            Term::Var(name) => variable::<C>(*name, context),
            Term::Number(x) => then::<C>(E::<C>::unit::<Unit>(), E::<C>::prim(Constant::<0>::new(Array::scalar(*x)))),
            Term::Unary(op, x) => then::<C>(within(&[], x), E::<C>::prim(Pointwise::<0>(*op))),
            Term::Binary(op, x, y) => {
                let operands = both::<C>(within(&[], x), within(&[], y));
                then::<C>(operands, E::<C>::prim(Pointwise2::<0>(*op)))
            }
            Term::Pair(a, b) => both::<C>(within(&[], a), within(&[], b)),
            Term::Fst(a) => then::<C>(within(&[], a), E::<C>::fst::<Unit, Unit>()),
            Term::Snd(a) => then::<C>(within(&[], a), E::<C>::snd::<Unit, Unit>()),
            Term::Lam(x, body) => E::<C>::curry::<Unit, Unit, Unit>(within(&[*x], body)),
            Term::App(f, a) => then::<C>(both::<C>(within(&[], f), within(&[], a)), E::<C>::eval::<Unit, Unit>()),
            Term::Let(x, value, body) => E::<C>::bind::<Unit, Unit, Unit>(within(&[], value), within(&[*x], body)),
            Term::Left(a) => then::<C>(within(&[], a), E::<C>::inl::<Unit, Unit>()),
            Term::Right(a) => then::<C>(within(&[], a), E::<C>::inr::<Unit, Unit>()),
            Term::Case(sum, (x, a), (y, b)) => {
                let branches = E::<C>::case::<Unit, Unit, Unit, Unit>(within(&[*x], a), within(&[*y], b));
                then::<C>(both::<C>(E::<C>::id::<Unit>(), within(&[], sum)), branches)
            }
            Term::IfLess(x, y, a, b) => {
                let less = then::<C>(both::<C>(within(&[], x), within(&[], y)), E::<C>::prim(Comparison(Compare::Lt)));
                let branches = E::<C>::case::<Unit, Unit, Unit, Unit>(within(&[UNUSED], a), within(&[UNUSED], b));
                then::<C>(both::<C>(E::<C>::id::<Unit>(), then::<C>(less, E::<C>::test())), branches)
            }
            Term::SumMap(f, x) => {
                let copies = then::<C>(within(&[], x), E::<C>::prim(Replicate(2)));
                let mapped = then::<C>(both::<C>(within(&[], f), copies), E::<C>::map::<Real, Real>());
                then::<C>(mapped, E::<C>::prim(SumAll::<1>))
            }
            Term::Fold(f, start, x) => {
                let copies = then::<C>(within(&[], x), E::<C>::prim(Replicate(2)));
                let all = both::<C>(within(&[], f), both::<C>(within(&[], start), copies));
                then::<C>(all, E::<C>::fold::<Real, Real>())
            }
        }
    }

    /// The program of one number, whose variable is `t`.
    pub(super) fn of_number<C: Arrays>(&self, t: Name) -> Hom<C> {
        let start = both::<C>(Erased::<C>::unit::<Unit>(), Erased::<C>::id::<Unit>());
        then::<C>(start, self.at::<C>(&mut vec![t]))
    }

    /// The same, from numbers to numbers.
    pub(super) fn numbers<C: Arrays>(&self, t: Name) -> Expr<C, Real, Real> {
        Erased::<C>::typed(Expr::<Erased<C>, Real, Real>::of(self.of_number::<C>(t)))
    }
}

/// Constructors.
pub(super) fn rc(term: Term) -> Rc<Term> {
    Rc::new(term)
}

pub(super) fn app(f: Term, a: Term) -> Term {
    Term::App(rc(f), rc(a))
}

pub(super) fn times(a: Term, b: Term) -> Term {
    Term::Binary(Binary::Mul, rc(a), rc(b))
}

pub(super) fn plus(a: Term, b: Term) -> Term {
    Term::Binary(Binary::Add, rc(a), rc(b))
}

/// Random types and programs.
pub(super) struct Draw {
    state: u64,
    next: Name,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Draw { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, next: 0 }
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }

    pub(super) fn number(&mut self) -> f64 {
        self.below(9) as f64 * 0.25 - 1.0
    }

    pub(super) fn name(&mut self) -> Name {
        self.next += 1;
        self.next
    }

    /// A type, of at most this depth.
    pub(super) fn ty(&mut self, depth: u32) -> Ty {
        if depth == 0 {
            return Ty::Real;
        }
        let mut part = || Rc::new(self.ty(depth - 1));
        let (a, b) = (part(), part());
        match self.below(8) {
            0 | 1 => Ty::Real,
            2 => Ty::Pair(a, b),
            3 => Ty::Sum(a, b),
            _ => Ty::Fun(a, b),
        }
    }

    /// A program of a type in a context.
    pub(super) fn term(&mut self, context: &mut Vec<(Name, Ty)>, ty: &Ty, size: u32) -> Term {
        let fitting: Vec<Name> = context.iter().filter(|(_, of)| of == ty).map(|(name, _)| *name).collect();
        if !fitting.is_empty() && (size == 0 || self.below(3) == 0) {
            let which = self.below(fitting.len() as u64) as usize;
            return Term::Var(fitting[which]);
        }
        if size > 0 && self.below(2) == 0 {
            return self.eliminated(context, ty, size - 1);
        }
        let smaller = size.saturating_sub(1);
        match ty {
            Ty::Real => self.real(context, size),
            Ty::Pair(a, b) => {
                let first = rc(self.term(context, a, smaller));
                Term::Pair(first, rc(self.term(context, b, smaller)))
            }
            Ty::Sum(a, _) if self.below(2) == 0 => Term::Left(rc(self.term(context, a, smaller))),
            Ty::Sum(_, b) => Term::Right(rc(self.term(context, b, smaller))),
            Ty::Fun(a, b) => {
                let (x, body) = self.bound(context, a, b, smaller);
                Term::Lam(x, rc(body))
            }
        }
    }

    /// A program in a context with one more variable.
    fn bound(&mut self, context: &mut Vec<(Name, Ty)>, of: &Ty, ty: &Ty, size: u32) -> (Name, Term) {
        let x = self.name();
        context.push((x, of.clone()));
        let body = self.term(context, ty, size);
        context.pop();
        (x, body)
    }

    /// A number.
    fn real(&mut self, context: &mut Vec<(Name, Ty)>, size: u32) -> Term {
        if size == 0 {
            return Term::Number(self.number());
        }
        let size = size - 1;
        let mut of = |ty: &Ty| rc(self.term(context, ty, size));
        let (x, y) = (of(&Ty::Real), of(&Ty::Real));
        match self.below(7) {
            0 | 1 => Term::Unary([Unary::Sin, Unary::Tanh, Unary::Cos][self.below(3) as usize], x),
            2 | 3 => Term::Binary([Binary::Add, Binary::Sub, Binary::Mul][self.below(3) as usize], x, y),
            4 => Term::SumMap(rc(self.term(context, &Ty::Fun(Rc::new(Ty::Real), Rc::new(Ty::Real)), size)), x),
            5 => {
                let pair = Ty::Pair(Rc::new(Ty::Real), Rc::new(Ty::Real));
                let step = self.term(context, &Ty::Fun(Rc::new(pair), Rc::new(Ty::Real)), size);
                Term::Fold(rc(step), x, y)
            }
            _ => Term::Number(self.number()),
        }
    }

    /// A program whose outermost form is that of another type: a call, a case, a component, a let.
    fn eliminated(&mut self, context: &mut Vec<(Name, Ty)>, ty: &Ty, size: u32) -> Term {
        let other = self.ty(2);
        let shared = Rc::new(ty.clone());
        match self.below(6) {
            0 | 1 => {
                let f = self.term(context, &Ty::Fun(Rc::new(other.clone()), shared), size);
                app(f, self.term(context, &other, size))
            }
            2 => {
                let value = self.term(context, &other, size);
                let (x, body) = self.bound(context, &other, ty, size);
                Term::Let(x, rc(value), rc(body))
            }
            3 => {
                let pair = self.below(2);
                let other = Rc::new(other);
                if pair == 0 {
                    Term::Fst(rc(self.term(context, &Ty::Pair(shared, other), size)))
                } else {
                    Term::Snd(rc(self.term(context, &Ty::Pair(other, shared), size)))
                }
            }
            4 => {
                let right = self.ty(1);
                let sum = self.term(context, &Ty::Sum(Rc::new(other.clone()), Rc::new(right.clone())), size);
                let left = self.bound(context, &other, ty, size);
                let right = self.bound(context, &right, ty, size);
                Term::Case(rc(sum), (left.0, rc(left.1)), (right.0, rc(right.1)))
            }
            _ => {
                let x = rc(self.term(context, &Ty::Real, size));
                let y = rc(self.term(context, &Ty::Real, size));
                let then = rc(self.term(context, ty, size));
                Term::IfLess(x, y, then, rc(self.term(context, ty, size)))
            }
        }
    }
}
