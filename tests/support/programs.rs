//! Staged programs used by several tests: every kind of operation, small.

use polygrad::interpreters::Ast;
use polygrad::program::{Program, Term};
use polygrad::{BaseTensor, DType, Tensor, build, concat, cond, fold, map_accum, map_accum_reverse, scan, symbolic};

/// A program from inputs with names, shapes and element types.
pub(crate) fn staged<const N: usize>(
    inputs: [(&str, &[usize], DType); N],
    f: impl FnOnce([Ast; N]) -> Vec<Ast>,
) -> Program {
    let variables = inputs.map(|(_, shape, dtype)| Term::variable(shape, dtype));
    let results = f(variables.clone());
    Term::program(&variables, &results, &inputs.map(|(name, ..)| name.to_owned())).expect("no variable escapes")
}

fn vector<T: BaseTensor>(x: T) -> Tensor<T, 1> {
    Tensor::from_raw(x)
}

/// Programs by name.
pub(crate) fn gallery() -> Vec<(&'static str, Program)> {
    let mut all = vec![
        (
            "foo",
            staged([("x", &[], DType::F64), ("y", &[], DType::F64), ("z", &[], DType::F64)], |xs| {
                let [x, y, z] = xs.map(Tensor::<Ast, 0>::from_raw);
                let w = &x * y.sin();
                vec![(z.atan2(&w) + &z * &w).into_raw()]
            }),
        ),
        (
            "products",
            staged([("a", &[2, 3], DType::F64), ("b", &[3, 4], DType::F64), ("v", &[4], DType::F64)], |[a, b, v]| {
                let (a, b) = (Tensor::<Ast, 2>::from_raw(a), Tensor::<Ast, 2>::from_raw(b));
                let c = a.matmul(&b).tanh();
                let y = c.matvec(&vector(v));
                vec![y.dot(&(&y * 2.0)).into_raw(), y.outer::<1, 2>(&y).into_raw()]
            }),
        ),
    ];
    all.extend(structure());
    all.extend(discrete());
    all.extend(loops());
    all.extend(derivatives());
    all
}

fn structure() -> Vec<(&'static str, Program)> {
    vec![
        (
            "views",
            staged([("x", &[4, 6], DType::F64)], |[x]| {
                let x = Tensor::<Ast, 2>::from_raw(x);
                let y = x.slice(1, 1..5).t().reverse(0);
                let z = x.pad([(0, 1), (2, 0)]).sum_outer::<1>();
                let w = x.window::<3>(1, 3, 1).sum_axes::<2, 1>([0, 2]);
                vec![y.into_raw(), z.into_raw(), w.into_raw(), x.row::<1>(2).replicate::<2>(3).into_raw()]
            }),
        ),
        (
            "convolution",
            staged([("x", &[8], DType::F64), ("w", &[3], DType::F64)], |[x, w]| {
                use polygrad::ops::{Contract, View};
                let op = Contract::new(
                    View::affine(&[8], &[8, 3], &[1, 1], &[-1]),
                    View::axes(&[8, 3], &[1]),
                    View::axes(&[8, 3], &[0]),
                );
                let y = Ast::contract(&op, &x, &w);
                vec![Ast::contract(&op.adjoint_right(), &x, &y), Ast::contract(&op.adjoint_left(), &y, &w)]
            }),
        ),
        (
            "casts and constants",
            staged([("x", &[3], DType::F32)], |[x]| {
                let x = Tensor::<Ast, 1, f32>::from_raw(x);
                let table = Tensor::<Ast, 1>::constant([0.25, f64::INFINITY, -1e-300]);
                let y = x.cast::<f64>() * &table + &table;
                vec![y.into_raw(), (x * 3.0f32).into_raw()]
            }),
        ),
        (
            "shared",
            staged([("x", &[3], DType::F64)], |[x]| {
                let x = vector(x);
                let y = (&x * 3.0 + 1.0).exp();
                let z = &y / (&y + 1.0);
                vec![(&z * (1.0 - &z)).into_raw(), z.sum().into_raw()]
            }),
        ),
        (
            "long expression",
            staged([("alpha", &[2], DType::F64), ("beta", &[2], DType::F64)], |[a, b]| {
                let (a, b) = (vector(a), vector(b));
                let terms = (0..12).map(|k| (&a * f64::from(k)).sin() * (&b + f64::from(k)).cos());
                vec![terms.reduce(|x, y| x + y).expect("some").sqrt().into_raw()]
            }),
        ),
    ]
}

fn discrete() -> Vec<(&'static str, Program)> {
    vec![
        (
            "select and integers",
            staged([("x", &[5], DType::F64), ("n", &[5], DType::I64)], |[x, n]| {
                let (x, n) = (vector(x), Tensor::<Ast, 1, i64>::from_raw(n));
                let m = x.gt(0.0) & !n.eq(3);
                let y = m.select(x.sqrt(), -&x);
                let at = (&n * 2 - 1) % 5;
                vec![y.take(&at).into_raw(), x.argmax().into_raw(), at.to_float::<f64>().floor().into_raw()]
            }),
        ),
        (
            "extrema",
            staged([("x", &[5, 3], DType::F64), ("n", &[4], DType::I64)], |[x, n]| {
                let (x, n) = (Tensor::<Ast, 2>::from_raw(x), Tensor::<Ast, 1, i64>::from_raw(n));
                let spread = x.max_axis::<1>(0) - (-&x).min_axis::<1>(0);
                vec![spread.into_raw(), n.min_all().into_raw()]
            }),
        ),
        (
            "gather and scatter",
            staged([("t", &[4, 3], DType::F64), ("i", &[2], DType::I64)], |[t, i]| {
                let (t, i) = (Tensor::<Ast, 2>::from_raw(t), Tensor::<Ast, 1, i64>::from_raw(i));
                let rows: Tensor<Ast, 2> = t.gather([&i]);
                let picked: Tensor<Ast, 1> = t.gather([&i, &(&i + 1)]);
                let back = Tensor::<Ast, 2>::zeros([4, 3]).scatter_add([&i], &(&rows * 0.5));
                vec![picked.into_raw(), back.into_raw(), concat(0, [&t, &rows]).into_raw()]
            }),
        ),
        (
            "conditional",
            staged([("x", &[], DType::F64)], |[x]| {
                let x = Tensor::<Ast, 0>::from_raw(x);
                vec![cond(x.gt(0.0), x.ln(), Tensor::scalar(f64::NEG_INFINITY)).into_raw()]
            }),
        ),
    ]
}

fn loops() -> Vec<(&'static str, Program)> {
    vec![
        (
            "loop",
            staged([("xs", &[10], DType::F64), ("w", &[], DType::F64)], |[xs, w]| {
                let (xs, w) = (vector(xs), Tensor::<Ast, 0>::from_raw(w));
                let (h, ys): (Tensor<Ast, 0>, Tensor<Ast, 1>) =
                    map_accum(Tensor::scalar(0.0), &xs, |h, x: &Tensor<Ast, 0>| {
                        let h = (h * &w + x).tanh();
                        (h.clone(), h.square())
                    });
                vec![(h + ys.sum()).into_raw()]
            }),
        ),
        (
            "loop backwards, one result",
            staged([("xs", &[3, 2], DType::F64), ("m", &[2, 2], DType::F64)], |[xs, m]| {
                let (xs, m) = (Tensor::<Ast, 2>::from_raw(xs), Tensor::<Ast, 2>::from_raw(m));
                let (_, ys): (Tensor<Ast, 1>, Tensor<Ast, 2>) =
                    map_accum_reverse(Tensor::ones([2]), &xs, |h, x: &Tensor<Ast, 1>| {
                        let y = m.matvec(&h) * x;
                        (&y + 1.0, y)
                    });
                vec![ys.into_raw()]
            }),
        ),
        (
            "loop in a loop",
            staged([("a", &[4], DType::F64)], |[a]| {
                let a = vector(a);
                let b: Tensor<Ast, 2> = build([4, 4], |[i, j]| a.at([i]) * a.at([&(i - j)]));
                let c: Tensor<Ast, 1> =
                    scan(a.sum(), &a, |h, x: &Tensor<Ast, 0>| fold(h, &a, |h, y: &Tensor<Ast, 0>| (h * x + y).sin()));
                vec![b.into_raw(), c.into_raw()]
            }),
        ),
    ]
}

fn derivatives() -> Vec<(&'static str, Program)> {
    let scalars = [("x", &[][..], DType::F64), ("y", &[][..], DType::F64), ("z", &[][..], DType::F64)];
    let angle = staged(scalars, |xs| {
        let [x, y, z] = xs.map(Tensor::<Ast, 0>::from_raw);
        let w = &x * y.sin();
        vec![(z.atan2(&w) + &z * &w).into_raw()]
    });
    let matmul = staged([("a", &[2, 3], DType::F64), ("b", &[3, 4], DType::F64)], |[a, b]| {
        vec![Tensor::<Ast, 2>::from_raw(a).matmul(&Tensor::from_raw(b)).into_raw()]
    });
    let logistic = [("w", &[3][..], DType::F64), ("b", &[][..], DType::F64), ("xs", &[5, 3][..], DType::F64)];
    let logistic = staged(logistic, |[w, b, xs]| {
        let y = Tensor::<Ast, 2>::from_raw(xs).matvec(&vector(w)).plus(&Tensor::from_raw(b));
        vec![y.sigmoid().ln().sum().into_raw()]
    });
    let reads = staged([("t", &[4, 3], DType::F64), ("i", &[2], DType::I64)], |[t, i]| {
        let rows: Tensor<Ast, 2> = Tensor::<Ast, 2>::from_raw(t).gather([&Tensor::from_raw(i)]);
        vec![rows.square().sum().into_raw()]
    });
    let recurrence = staged([("w", &[], DType::F64), ("xs", &[10], DType::F64)], |[w, xs]| {
        let w = Tensor::<Ast, 0>::from_raw(w);
        let step = |h: Tensor<Ast, 0>, x: &Tensor<Ast, 0>| (h * &w + x).sin();
        vec![fold(Tensor::scalar(0.0), vector(xs), step).into_raw()]
    });
    let one = staged([("x", &[], DType::F64)], |[x]| {
        let x = Tensor::<Ast, 0>::from_raw(x);
        vec![(x.exp() * &x).sin().into_raw()]
    });
    vec![
        ("gradient of foo", symbolic::grad(&angle)),
        ("jvp of foo", symbolic::jvp(&angle)),
        ("vjp of a matrix product", symbolic::vjp(&matmul)),
        ("value and gradient of a logistic loss", symbolic::value_and_grad_in(&logistic, &[0, 1])),
        ("gradient of reads", symbolic::grad(&reads)),
        ("gradient of a loop", symbolic::grad(&recurrence)),
        ("second derivative", symbolic::derivative(&symbolic::derivative(&one))),
    ]
}
