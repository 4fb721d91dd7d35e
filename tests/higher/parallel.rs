//! Efficient CHAD on arrays (arXiv 2307.05738): the work and the span of derivatives, counted.
//!
//! Laws: the work of a gradient is at most a constant factor more than that of the program, and so is its span, up to a
//! term in the logarithm of the number of elements that is due to sums of cotangents. Factors do not grow with the size.

use polygrad::inspect::Tally;
use polygrad::interpreters::Count;
use polygrad::program::{Term, interpret};
use polygrad::{Array, Lift, Tensor, Tree};
use polygrad_higher::interpreters::{Backward, CurryClosures, CurryLists, Erased, Reverse, Run};
use polygrad_higher::{
    self as higher, Arr, Arrays, Expr, Fun, Obj, Prod, Real, Vector, fun2, lam, lam2, let_, map, num, tup,
};

use super::agree::{close, numbers};

type N = Count<Array>;
type At = Prod<Vector, Arr<1, i64>>;
type Two = Prod<Real, Real>;
type Program<C> = Expr<C, At, Real>;
type Values<T> = (Tensor<T, 1>, Tensor<T, 1, i64>);

/// Squares of elements that are read at indices.
fn reads<C: Arrays>() -> Program<C> {
    fun2(|xs, ix| ix.at().map(lam(|i| xs.at().row(i.at()))).map(lam(|v| v.at() * v.at())).sum())
}

/// Products of all pairs of elements that are read at indices.
fn nested_reads<C: Arrays>() -> Program<C> {
    fun2(|xs, ix| ix.at().map(lam(|i| ix.at().map(lam(|j| xs.at().row(i.at()) * xs.at().row(j.at()))).sum())).sum())
}

/// Steps that read an element each, one after the other.
fn reading_steps<C: Arrays>() -> Program<C> {
    fun2(|xs, ix| ix.at().fold(num(0.5), lam2(|s, i| s.at().sin() + xs.at().row(i.at()))))
}

/// A function that gives an array, of which each call reads one element.
fn array_of_a_function<C: Arrays>() -> Program<C> {
    fun2(|xs, ix| {
        let_(lam(|k: higher::Var<_, higher::Int>| tup(xs.at(), k.at().to_float())), |f| {
            ix.at().map(lam(|i| f.at().app(i.at()).fst().row(i.at()).sin())).sum()
        })
    })
}

/// A number that all trips capture.
fn shared_number<C: Arrays>() -> Program<C> {
    fun2(|xs, ix| let_(xs.at().sum(), |s| map(lam(|i| (xs.at().row(i.at()) * s.at()).sin()), ix.at()).sum()))
}

/// Products of rotations and scalings, as pairs, in logarithmic depth or one after the other. The operation is associative.
fn products<C: Arrays>(by_tree: bool) -> Program<C> {
    fun2(move |xs, ix| {
        let pairs =
            ix.at().map(lam(|i| xs.at().row(i.at()).cos())).zip_with(xs.at(), lam2(|a, x| tup(a.at(), x.at().sin())));
        let times = lam2(|p, q| {
            let (a, b) = p.split();
            let (c, d) = q.split();
            tup(a.at() * c.at() - b.at() * d.at(), a.at() * d.at() + b.at() * c.at())
        });
        let_(combined(by_tree, pairs, tup(num(1.0), num(0.0)), times), |p| p.at().fst() * num(3.0) + p.at().snd())
    })
}

/// All pairs, combined by a tree or by a fold.
fn combined<C: Arrays, G: Obj>(
    by_tree: bool,
    pairs: Expr<C, G, Prod<Vector, Vector>>,
    unit: Expr<C, G, Two>,
    both: Expr<C, G, Fun<Prod<Two, Two>, Two>>,
) -> Expr<C, G, Two> {
    if by_tree { pairs.reduce(unit, both) } else { pairs.fold(unit, both) }
}

fn tree<C: Arrays>() -> Program<C> {
    products(true)
}

fn folded<C: Arrays>() -> Program<C> {
    products(false)
}

fn at(n: usize) -> Values<Array> {
    let xs: Vec<f64> = (0..n).map(|k| (k as f64 * 0.7).sin() * 0.3 + 0.1).collect();
    let ix: Vec<i64> = (0..n as i64).map(|k| k * 7 % n as i64 / 2).collect();
    (Tensor::from_raw(Array::new(&[n], xs)), Tensor::from_raw(Array::new(&[n], ix)))
}

fn counted<R>(n: usize, f: impl FnOnce(Values<N>) -> R) -> Tally {
    let (xs, ix) = at(n);
    let x = (Tensor::from_raw(N::lift(xs.into_raw())), Tensor::from_raw(N::lift(ix.into_raw())));
    N::counted(|| f(x)).1
}

/// The counts of the value and of the gradient.
fn counts<C: Backward<N>>(n: usize, value: Program<Run<N>>, gradient: Program<C>) -> [Tally; 2] {
    [
        counted(n, |x| higher::run::<_, _, N>(value, &x)),
        counted(n, |x| higher::value_and_grad_by::<C, _, N>(gradient, &x)),
    ]
}

/// The number of levels of a tree.
fn levels(n: usize) -> f64 {
    (n as f64).log2().ceil()
}

/// Work and span of value and gradient for three sizes, by each instance: `work` and `span` are the largest factors.
macro_rules! efficient {
    ($($program:ident: $sizes:expr, work $work:expr, span $span:expr;)*) => { $(
        #[test]
        fn $program() {
            let value = higher::run::<_, _, Array>(super::$program(), &at($sizes[0]));
            let expected = polygrad::value_and_grad(|x| higher::run(super::$program(), x), &at($sizes[0]));
            let instances: [(&str, Vec<[Tally; 2]>, (Tensor<Array, 0>, Values<Array>)); 3] = [
                instance!("closures", CurryClosures, $program, $sizes),
                instance!("lists", CurryLists, $program, $sizes),
                ("CHAD", $sizes.map(|n| counts::<Reverse<Run<N>>>(n, super::$program(), Erased::typed(super::$program()))).to_vec(),
                    higher::value_and_grad_by::<Reverse<Run<Array>>, _, Array>(Erased::typed(super::$program()), &at($sizes[0]))),
            ];
            for (name, all, found) in instances {
                close(name, &[found.0.item()], &[value.item()], 1e-12);
                close(name, &numbers(&found.1.0), &numbers(&expected.1.0), 1e-11);
                for ([value, gradient], n) in all.iter().zip($sizes) {
                    let (work, more) = (value.total().work, gradient.total().work);
                    let (span, longer) = (value.span(), gradient.span());
                    println!("{} of {n} by {name}: work {work} and {more}, span {span} and {longer}", stringify!($program));
                    assert!(more as f64 <= $work * work as f64, "{name}, {n}: work {more} for {work}");
                    assert!(longer as f64 <= $span * (span as f64 + levels(n)), "{name}, {n}: span {longer} for {span}");
                }
                let factor = |[value, gradient]: &[Tally; 2]| gradient.total().work as f64 / value.total().work as f64;
                assert!(factor(&all[2]) <= 1.1 * factor(&all[0]), "{name}: the factor of work grows with the size");
            }
        }
    )* };
}

macro_rules! instance {
    ($name:literal, $instance:ident, $program:ident, $sizes:expr) => {
        (
            $name,
            $sizes.map(|n| counts::<$instance<N>>(n, super::$program(), super::$program())).to_vec(),
            higher::value_and_grad_by::<$instance<Array>, _, Array>(super::$program(), &at($sizes[0])),
        )
    };
}

mod cost {
    use super::*;

    efficient! {
        reads: [16, 64, 256], work 12.0, span 4.0;
        nested_reads: [8, 16, 32], work 12.0, span 4.0;
        reading_steps: [16, 64, 256], work 12.0, span 4.0;
        array_of_a_function: [16, 64, 256], work 12.0, span 4.0;
        shared_number: [16, 64, 256], work 12.0, span 4.0;
        tree: [16, 64, 256], work 12.0, span 4.0;
        folded: [16, 64, 256], work 12.0, span 4.0;
    }
}

/// Of independent trips, and of a tree, the span grows with the logarithm of their number; of steps, with their number.
#[test]
fn spans_are_logarithmic_where_trips_are_independent() {
    macro_rules! spans {
        ($program:ident) => {
            [64, 256].map(|n| {
                let all = counts::<CurryClosures<N>>(n, $program(), $program());
                let chad = counts::<Reverse<Run<N>>>(n, $program(), Erased::typed($program()));
                [all[0].span(), all[1].span(), chad[1].span()]
            })
        };
    }
    // Two levels more: a few steps for each.
    for [few, many] in [spans!(reads), spans!(array_of_a_function), spans!(shared_number)] {
        for (a, b) in few.iter().zip(many) {
            assert!(b - a <= 12, "{few:?} and {many:?}");
        }
    }
    let ([few, many], [fold_few, fold_many]) = (spans!(tree), spans!(folded));
    for k in 0..3 {
        assert!(many[k] - few[k] <= 60, "{few:?} and {many:?}");
        assert!(fold_many[k] > 3 * fold_few[k] && fold_many[k] > 4 * many[k], "{fold_few:?} and {fold_many:?}");
    }
}

/// A tree is a fold, for any number of elements, for an operation that does not commute.
#[test]
fn a_reduction_keeps_the_order() {
    fn steps<C: Arrays>(by_tree: bool) -> Program<C> {
        fun2(move |xs, ix| {
            let pairs = xs.at().zip_with(ix.at(), lam2(|x, i| tup(x.at(), i.at().to_float())));
            let both = lam2(|f, g| {
                let ((a, b), (c, d)) = (f.split(), g.split());
                tup(c.at() * a.at(), c.at() * b.at() + d.at())
            });
            let_(combined(by_tree, pairs, tup(num(1.0), num(0.0)), both), |p| p.at().fst().sin() + p.at().snd())
        })
    }
    for n in 0..10 {
        let x =
            if n == 0 { (Tensor::zeros([0]), Tensor::from_raw(Array::new(&[0], Vec::<i64>::new()))) } else { at(n) };
        let (value, gradient) = higher::value_and_grad::<_, Array>(steps(false), &x);
        let (tree, of_tree) = higher::value_and_grad::<_, Array>(steps(true), &x);
        close("value", &[tree.item()], &[value.item()], 1e-12);
        close("gradient", &numbers(&of_tree.0), &numbers(&gradient.0), 1e-12);
        let chad = higher::value_and_grad_by::<Reverse<Run<Array>>, _, Array>(Erased::typed(steps(true)), &x).1;
        close("by CHAD", &numbers(&chad.0), &numbers(&gradient.0), 1e-12);
        let direction = (at(n.max(1)).0, x.1.clone());
        if n > 0 {
            let forward = higher::jvp::<_, _, Array>(Erased::typed(steps(true)), &x, &direction).1.item();
            let dot: f64 = numbers(&gradient.0).iter().zip(numbers(&direction.0)).map(|(a, b)| a * b).sum();
            close("forward", &[forward], &[dot], 1e-12);
        }
        let staged = higher::stage_grad(steps(true), &x);
        let found = interpret(&staged, x.leaves());
        close("recorded", &found[1].to_vec::<f64>().expect("floats"), &numbers(&gradient.0), 1e-12);
    }
}

/// Recorded, reads at indices are one gather, and their derivative is one scatter-add, by each instance.
#[test]
fn recorded_reads_are_bulk_operations() {
    let x = at(20);
    for program in [
        higher::stage_grad_by::<CurryClosures<Term>, _>(reads(), &x),
        higher::stage_grad_by::<CurryLists<Term>, _>(reads(), &x),
        higher::stage_grad_by::<Reverse<Run<Term>>, _>(Erased::typed(reads()), &x),
        higher::stage_grad(reads(), &x),
    ] {
        let text = program.to_string();
        assert!(!text.contains("loop") && text.matches("scatter_add").count() == 1, "{text}");
    }
}
