//! Loops that hold functions: arrays of functions, functions of elements, and states with functions among their parts.

use polygrad_higher::{
    Arrays, Expr, Fun, Many, Matrix, Prod, Real, Var, Vector, build, fold, fun2, fun3, if_, lam, let_, map, num, tup,
};

pub(crate) type At<C> = Expr<C, Prod<Vector, Real>, Real>;
type Function = Fun<Real, Real>;

/// Functions of the elements, each applied to the element at its position.
pub(crate) fn scaled<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(map(lam(|a| lam(|z| (a.at() * z.at()).sin() + x.at())), a.at()), |fs: Var<_, Many<Function>>| {
            fs.at().zip_with(a.at(), lam(|p| p.at().fst().app(p.at().snd() * x.at()))).sum()
        })
    })
}

/// An array of functions that two loops apply, one of them twice to each element.
pub(crate) fn shared<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(map(lam(|a| lam(|z| a.at().tanh() * z.at() + x.at())), a.at()), |fs: Var<_, Many<Function>>| {
            let once = fs.at().map(lam(|f: Var<_, Function>| f.at().app(x.at()))).sum();
            let twice = fs.at().map(lam(|f: Var<_, Function>| f.at().app(f.at().app(x.at())))).sum();
            once * twice
        })
    })
}

/// A number that goes through all functions of an array.
pub(crate) fn pipeline<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(map(lam(|a| lam(|z| (a.at() * z.at()).sin() + a.at())), a.at()), |fs: Var<_, Many<Function>>| {
            fs.at().fold(x.at(), lam(|p| p.at().snd().app(p.at().fst())))
        })
    })
}

/// Functions by index.
pub(crate) fn by_index<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(
            build(3, lam(|i| lam(|z| z.at() * a.at().gather(i.at()) + i.at().to_float() * x.at()))),
            |fs: Var<_, Many<Function>>| fs.at().map(lam(|f: Var<_, Function>| f.at().app(f.at().app(x.at())))).sum(),
        )
    })
}

/// Pairs of an element's function and its square.
pub(crate) fn paired<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(
            map(lam(|a| tup(lam(|z| z.at() * a.at() * x.at()), a.at() * a.at())), a.at()),
            |both: Var<_, Prod<Many<Function>, Vector>>| both.at().map(lam(|p| p.at().fst().app(p.at().snd()))).sum(),
        )
    })
}

/// Functions of functions, in an array.
pub(crate) fn of_functions<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(
            map(lam(|a| lam(|f: Var<_, Function>| f.at().app(f.at().app(a.at())) * x.at())), a.at()),
            |gs: Var<_, Many<Fun<Function, Real>>>| {
                gs.at().map(lam(|g: Var<_, Fun<Function, Real>>| g.at().app(lam(|z| (z.at() * x.at()).sin())))).sum()
            },
        )
    })
}

/// An array of arrays of functions, each of which captures an element of both.
pub(crate) fn nested<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let row = lam(|u: Var<_, Real>| map(lam(|v| lam(|z| (u.at() * z.at()).sin() + v.at() * x.at())), a.at()));
        let_(map(row, a.at()), |fs: Var<_, Many<Many<Function>>>| {
            fs.at()
                .map(lam(|row: Var<_, Many<Function>>| {
                    row.at().map(lam(|f: Var<_, Function>| f.at().app(x.at()))).sum()
                }))
                .sum()
        })
    })
}

/// A state with a function that no step changes, and a number.
pub(crate) fn kept_function<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let start: Expr<C, _, Prod<Function, Real>> = tup(lam(|z| z.at().sin() * x.at()), num(1.0));
        fold(
            lam(|p: Var<_, Prod<Prod<Function, Real>, Real>>| {
                tup(p.at().fst().fst(), p.at().fst().fst().app(p.at().fst().snd() + p.at().snd()))
            }),
            start,
            a.at(),
        )
        .snd()
    })
}

/// A state that is a function, made anew in each step by the same code.
pub(crate) fn renewed<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(
            lam(|c: Var<_, Real>| lam(|z: Var<_, Real>| (z.at() * c.at()).sin() + x.at())),
            |make: Var<_, Fun<Real, Function>>| {
                fold(
                    lam(|p: Var<_, Prod<Function, Real>>| make.at().app(p.at().fst().app(p.at().snd()))),
                    make.at().app(x.at()),
                    a.at(),
                )
                .app(x.at())
            },
        )
    })
}

/// Compositions: each step puts a function before the last one.
pub(crate) fn compositions<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        fold(
            lam(|p: Var<_, Prod<Function, Real>>| lam(|z| p.at().fst().app((z.at() * p.at().snd()).sin()) + z.at())),
            lam(|z| z.at() * x.at()),
            a.at(),
        )
        .app(x.at())
    })
}

/// Functions that do not call the one before them, that call it twice, and that call it from within a loop.
pub(crate) fn other_calls<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let none = fold(lam(|p| lam(|z| z.at() * p.at().snd())), lam(|z| z.at()), a.at());
        let twice = fold(
            lam(|p: Var<_, Prod<Function, Real>>| lam(|z| p.at().fst().app(p.at().fst().app(z.at()) * p.at().snd()))),
            lam(|z| z.at() * x.at()),
            a.at(),
        );
        let looped = fold(
            lam(|p: Var<_, Prod<Function, Real>>| {
                lam(|z| map(lam(|b| p.at().fst().app(b.at() * z.at()).sin()), a.at()).sum() + p.at().snd())
            }),
            lam(|z| z.at() * x.at()),
            a.at(),
        );
        none.app(x.at()) + twice.app(x.at()) * looped.app(x.at())
    })
}

/// Compositions, applied to each element.
pub(crate) fn mapped_compositions<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(
            fold(
                lam(|p: Var<_, Prod<Function, Real>>| lam(|z| p.at().fst().app(z.at() * p.at().snd()).sin() * x.at())),
                lam(|z| z.at() + x.at()),
                a.at(),
            ),
            |f: Var<_, Function>| map(f.at(), a.at()).sum(),
        )
    })
}

/// One of two arrays of functions.
pub(crate) fn chosen_array<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(
            if_(
                x.at().less(num(1.0)),
                || map(lam(|a| lam(|z| z.at().sin() * a.at() + x.at())), a.at()),
                || map(lam(|b| lam(|z| b.at() * b.at() - z.at() * a.at().sum())), a.at()),
            ),
            |fs: Var<_, Many<Function>>| {
                fs.at().fold(x.at(), lam(|p| p.at().snd().app(p.at().fst())))
                    + fs.at().zip_with(a.at(), lam(|p| p.at().fst().app(p.at().snd()))).sum()
            },
        )
    })
}

/// Functions of two codes, chosen by the element.
pub(crate) fn two_codes<C: Arrays>() -> At<C> {
    fun2(|a, x| {
        let_(
            map(
                lam(|a| {
                    if_(a.at().less(num(0.0)), || lam(|z| z.at() * a.at() * x.at()), || lam(|z| z.at().sin() + x.at()))
                }),
                a.at(),
            ),
            |fs: Var<_, Many<Function>>| {
                let once = fs.at().zip_with(a.at(), lam(|p| p.at().fst().app(p.at().snd()))).sum();
                once + fs.at().fold(x.at(), lam(|p| p.at().snd().app(p.at().fst())))
            },
        )
    })
}

/// Layers: each is a matrix and an activation that a number chooses, applied to a cell's weights.
pub(crate) fn cells<C: Arrays>() -> Expr<C, Prod<Prod<Matrix, Vector>, Matrix>, Real> {
    fun3(|w, start, xs| {
        let cell = lam(|b: Var<_, Vector>| lam(|h: Var<_, Vector>| (w.at().matvec(h.at()) + b.at()).tanh()));
        let_(map(cell, xs.at()), |layers: Var<_, Many<Fun<Vector, Vector>>>| {
            layers
                .at()
                .fold(start.at(), lam(|p: Var<_, Prod<Vector, Fun<Vector, Vector>>>| p.at().snd().app(p.at().fst())))
                .sum()
        })
    })
}
