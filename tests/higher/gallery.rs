//! Higher-order programs that the tests share.

use polygrad::ops::{Binary, Unary};
use polygrad::tensor;
use polygrad_higher::{
    Arrays, Expr, Language, Matrix, Prod, Real, Vector, build, constant, fix, fold, fun1, fun2, fun3, fun4, if_, inl,
    inr, iterate, iterate_within, lam, lam2, let_, let2, map, num, tup,
};

pub(crate) type Two = Prod<Real, Real>;
pub(crate) type Four = Prod<Prod<Prod<Real, Real>, Real>, Real>;

/// "CHAD", Fig. 1(a).
pub(crate) fn fig_1a<C: Language>() -> Expr<C, Real, Prod<Prod<Real, Real>, Real>> {
    fun1(|x| {
        let_(2.0 * x.at(), |y| let_(x.at() * y.at(), |z| let_(z.at().cos(), |w| tup(tup(y.at(), z.at()), w.at()))))
    })
}

/// "CHAD", Fig. 1(b).
pub(crate) fn fig_1b<C: Language>() -> Expr<C, Four, Real> {
    fun4(|x1, x2, x3, x4| {
        let_(x1.at() * x4.at() + 2.0 * x2.at(), |y| {
            let_(y.at() * x3.at(), |z| let_(z.at() + x4.at(), |w| w.at().sin()))
        })
    })
}

/// "CHAD", Fig. 2(a).
pub(crate) fn fig_2a<C: Arrays>() -> Expr<C, Real, Vector> {
    fun1(|x| {
        let_(lam(|z| x.at() * z.at() + 1.0), |f| {
            let_(x.at().replicate(3), |zs| let_(map(f.at(), zs.at()), |ys| ys.at()))
        })
    })
}

/// "CHAD", Fig. 2(b).
pub(crate) fn fig_2b<C: Arrays>() -> Expr<C, Prod<Real, Vector>, Real> {
    fun2(|x1, x2| {
        let_(lam(|x2i| x1.at() * x2i.at()), |f| let_(map(f.at(), x2.at()), |ys| let_(ys.at().sum(), |w| w.at())))
    })
}

/// A function applied twice.
pub(crate) fn twice<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| let_(lam(|z| (x.at() * z.at()).sin()), |f| f.at().app(f.at().app(y.at()))))
}

/// A function that takes a function and returns one.
pub(crate) fn composed<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(lam(|f| lam(|z| f.at().app(f.at().app(z.at())))), |twice| {
            let_(lam(|z| z.at() * x.at()), |f| twice.at().app(twice.at().app(f.at())).app(y.at().cos()))
        })
    })
}

/// Functions within functions, each of which captures the variables of those outside.
pub(crate) fn nested<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        lam(|a| lam(|b| lam(|c| a.at() * b.at() + (c.at() * x.at()).sin()).app(b.at() * y.at())).app(a.at() * x.at()))
            .app(x.at() * y.at())
    })
}

/// A function chosen by a condition.
pub(crate) fn chosen<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(if_(x.at().less(y.at()), || lam(|z| z.at() * x.at()), || lam(|z| z.at() + y.at() * y.at())), |f| {
            f.at().app(f.at().app(x.at()))
        })
    })
}

/// The absolute value, by a condition.
pub(crate) fn absolute<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| if_(num(0.0).less(x.at()), || x.at(), || -x.at()))
}

/// `x -> x * a + 1` until the number exceeds 40.
pub(crate) fn repeated<C: Language>() -> Expr<C, Two, Real> {
    fun2(|a, x| {
        iterate(x.at(), |s| if_(s.at().less(num(40.0)), || inl(s.at() * a.at() + 1.0), || inr(s.at() * s.at().sin())))
    })
}

/// `x^n y` by recursion, where `n` is a number.
pub(crate) fn power<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(fix(|f, n| if_(n.at().less(num(0.5)), || y.at(), || x.at() * f.at().app(n.at() - 1.0))), |power| {
            power.at().app(num(5.0))
        })
    })
}

/// A `map` whose function captures a vector and a function.
pub(crate) fn captured<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|v, x| {
        let_(lam(|z| (z.at() * x.at()).tanh()), |f| {
            map(lam(|a| f.at().app(a.at() * v.at().sum()) * f.at().app(a.at())), v.at()).sum()
        })
    })
}

/// A `map` within a `map`.
pub(crate) fn pairwise<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Real> {
    fun2(|u, v| map(lam(|a| map(lam(|b| (a.at() * b.at()).sin()), v.at()).sum() * a.at()), u.at()).sum())
}

/// An element captured by a function that another function takes.
pub(crate) fn escaping<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|v, x| {
        let_(lam(|f| f.at().app(f.at().app(x.at()))), |twice| {
            map(lam(|a| twice.at().app(lam(|z| z.at() * a.at() + x.at()))), v.at()).sum()
        })
    })
}

/// The recurrent network of "The Differentiable Curry", section 2: a cell, partially applied to its parameters, folded
/// over a sequence.
pub(crate) fn network<C: Arrays>() -> Expr<C, Prod<Prod<Prod<Matrix, Vector>, Vector>, Matrix>, Real> {
    fun4(|w, b, start, xs| {
        let_(
            lam(|parameters| {
                let (w, b) = parameters.split();
                lam2(|state, x| (w.at().matvec(state.at()) + b.at() * x.at()).tanh())
            }),
            |cell| let_(cell.at().app(tup(w.at(), b.at())), |g| fold(g.at(), start.at(), xs.at()).sum()),
        )
    })
}

/// A fold whose state is a pair.
pub(crate) fn pair_fold<C: Arrays>() -> Expr<C, Prod<Prod<Real, Real>, Vector>, Real> {
    fun3(|a, b, xs| {
        let2(
            fold(
                lam2(|state, x| {
                    let (s, t) = state.split();
                    tup(t.at() * a.at(), s.at() + (x.at() * t.at()).sin())
                }),
                tup(a.at(), b.at()),
                xs.at(),
            ),
            |s, t| s.at() * t.at(),
        )
    })
}

/// A dot product, and an array built by index.
pub(crate) fn indexed<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Real> {
    fun2(|u, v| {
        let_(build(3, lam(|i| u.at().gather(i.at()) * i.at().to_float())), |w| {
            w.at().zip_with(v.at(), lam2(|a, b| a.at() * b.at())).sum()
        })
    })
}

/// Elements of an array of pairs of numbers and vectors, read at indices, some of them out of bounds.
pub(crate) fn picked<C: Arrays>() -> Expr<C, Prod<Vector, Matrix>, Real> {
    fun2(|xs, rows| {
        let_(tup(xs.at(), rows.at()), |all| {
            let_(all.at().take(constant(tensor([1_i64, 0, 7, 1]))), |few| {
                let weighed = few.at().map(lam2(|x, row| x.at() * row.at().sum().sin()));
                let2(all.at().row(constant(tensor(1_i64))), |x, row| {
                    weighed.sum() + x.at() * (row.at() * row.at()).sum()
                })
            })
        })
    })
}

/// Scattered elements.
pub(crate) fn scattered<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Real> {
    fun2(|u, v| let_(u.at().scatter_add(constant(tensor([2_i64, 0, 7])), v.at()), |w| (w.at() * w.at() * w.at()).sum()))
}

/// What is filtered by a function that captures a number, with its number of elements.
pub(crate) fn filtered<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, limit| {
        let2(xs.at().filter(lam(|x| x.at().less(limit.at()))), |count, kept| {
            let weighed = kept.at().fold(num(1.0), lam2(|sum, x| sum.at() * limit.at() + x.at().sin()));
            weighed * count.at().to_float()
        })
    })
}

/// A filter of pairs.
pub(crate) fn filtered_pairs<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Real> {
    fun2(|xs, ys| {
        let2(tup(xs.at(), ys.at()).filter(lam2(|x, y| x.at().less(y.at()))), |_, kept| {
            let (xs, ys) = kept.split();
            (xs.at() * ys.at().exp()).sum()
        })
    })
}

/// Elements that fail are replaced by a number.
pub(crate) fn kept<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, limit| {
        let_(xs.at().keep(lam(|x| x.at().less(limit.at())), limit.at() * limit.at()), |ys| (ys.at() * ys.at()).sum())
    })
}

/// `x -> x * a + 1` until the number exceeds 40, in a bounded number of steps.
pub(crate) fn bounded<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|a, x| {
        iterate_within(12, x.at(), a.at(), |s| {
            if_(s.at().less(num(40.0)), || inl(s.at() * a.at() + 1.0), || inr(s.at() * s.at().sin()))
        })
    })
}

// The examples of the reference implementation of CHAD, where they are not figures.

/// `2 (x^2) + 7 x + 3`, with a function for the square.
pub(crate) fn polynomial<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| let_(lam(|z| z.at() * z.at()), |sq| 2.0 * sq.at().app(x.at()) + (7.0 * x.at() + 3.0)))
}

pub(crate) fn slid<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| lam(|y| y.at()).app(x.at()))
}

pub(crate) fn paired<C: Language>() -> Expr<C, Real, Prod<Real, Real>> {
    fun1(|x| tup(x.at(), x.at()))
}

pub(crate) fn added<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| x.at() + y.at())
}

pub(crate) fn multiplied<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| x.at() * y.at())
}

pub(crate) fn add_copy<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| x.at() + x.at())
}

pub(crate) fn times_constant<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| 5.0 * x.at())
}

pub(crate) fn square<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| x.at() * x.at())
}

pub(crate) fn cube<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| x.at() * x.at() * x.at())
}

pub(crate) fn quadratic<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| x.at() * x.at() + 7.0 * x.at() + 3.0)
}

pub(crate) fn map_quadratic<C: Arrays>() -> Expr<C, Vector, Vector> {
    fun1(|xs| map(lam(|x| x.at() * x.at() + 7.0 * x.at() + 3.0), xs.at()))
}

/// Elementwise functions of arrays, and a constant array.
pub(crate) fn elementwise<C: Language>() -> Expr<C, Vector, Real> {
    fun1(|x| {
        let_(constant(tensor([0.5, -1.0, 2.0])), |c| x.at().unary(Unary::Sigmoid).binary(Binary::Atan2, c.at()).sum())
    })
}

/// A function that is never called.
pub(crate) fn unused<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| let_(lam(|z| z.at() * x.at()), |_| y.at() * y.at()))
}
