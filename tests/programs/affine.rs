//! Affine indices are views: a program with integer tensors that count, scaled, shifted, divided and combined, has no
//! index array once it is recorded, and keeps its meaning.

use polygrad::array::Rng;
use polygrad::interpreters::Count;
use polygrad::ops::{Compare, Discrete, IntBinary, IntUnary, Linear};
use polygrad::passes::{simplify, vectorize};
use polygrad::program::{Op, Program, Term, interpret};
use polygrad::shape::{Shape, size};
use polygrad::symbolic::grad;
use polygrad::{Array, BaseTensor, DType, Tensor, build, build1, cond, direct, iterate};
use quickcheck::QuickCheck;

/// Integers of a grid: each index along an axis of the shape.
fn axis<T: BaseTensor, const D: usize>(shape: [usize; D], axis: usize) -> Tensor<T, D, i64> {
    let iota = Tensor::<T, 1, i64>::iota(shape[axis]).into_raw();
    Tensor::from_raw(iota.linear(&Linear::replicate(&shape, &[axis])))
}

fn iota<T: BaseTensor>(n: usize) -> Tensor<T, 1, i64> {
    Tensor::iota(n)
}

/// The program that `f` is, with an input of this name and shape.
fn staged(name: &str, shape: &[usize], f: impl FnOnce(&Term) -> Term) -> Program {
    let x = Term::variable(shape, DType::F64);
    let y = f(&x);
    Term::program(&[x], &[y], &[name.to_owned()]).expect("no variable escapes")
}

/// How many operations pass a test, those in the bodies of loops included.
fn count(program: &Program, test: fn(&Op<u32>, DType) -> bool) -> usize {
    let of = |op: &Op<u32>| if let Op::Loop(l) = op { count(&l.body, test) } else { 0 };
    program.nodes().iter().map(|node| usize::from(test(&node.op, node.dtype)) + of(&node.op)).sum()
}

/// Operations that handle indices or masks, or look at them.
fn indexing(program: &Program) -> usize {
    count(program, |op, dtype| match op {
        Op::Input(_) => false,
        Op::Gather(..) | Op::ScatterAdd(..) | Op::Select(_) => true,
        Op::Constant(_)
        | Op::Unary(..)
        | Op::Binary(..)
        | Op::Discrete(..)
        | Op::Linear(..)
        | Op::Contract(..)
        | Op::Reduce(..)
        | Op::Concat(..)
        | Op::Loop(_)
        | Op::Custom(..)
        | Op::Call(..)
        | Op::Output(..) => matches!(dtype, DType::I64 | DType::Bool),
    })
}

/// The total of the results, so that there is something to differentiate; they are weighted, so that places matter.
fn total<T: BaseTensor>(y: &T) -> T {
    let n = size(y.shape());
    let flat = y.linear(&Linear::reshape(y.shape(), &[n]));
    let weights: Vec<f64> = (0..n).map(|k| ((k * 7) % 11) as f64 - 4.0).collect();
    let weights = Tensor::<T, 1>::from_raw(T::constant(Array::new(&[n], weights)));
    Tensor::<T, 1>::from_raw(flat).dot(&weights).into_raw()
}

/// A value of small integers, so that sums are exact in any order.
fn sample(shape: &[usize]) -> Array {
    Array::new(shape, (0..size(shape)).map(|k| ((k * 5) % 89) as f64 - 6.0).collect())
}

/// A program of one array that says the same at any interpreter.
trait Reading {
    fn shape(&self) -> Shape;
    fn run<T: BaseTensor>(&self, a: &T) -> T;
}

/// Checks value and gradient of the recorded program against the one that was recorded; returns both recorded programs.
fn agree(f: &impl Reading) -> [Program; 2] {
    let x = sample(&f.shape());
    let primal = staged("a", &f.shape(), |a| f.run(a));
    assert_eq!(interpret(&primal, vec![x.clone()])[0], f.run(&x), "{primal}");
    let objective = staged("a", &f.shape(), |a| total(&f.run(a)));
    let derivative = grad(&objective);
    let mut sweep = polygrad::interpreters::adval::Sweep::new();
    let y = total(&f.run(&sweep.input(&x)));
    let expected = sweep.pull(&[y], vec![Array::scalar(1.0)]).remove(0);
    assert_eq!(interpret(&derivative, vec![x.clone()])[0], expected, "{objective}\n{derivative}");
    [primal, derivative]
}

macro_rules! readings {
    ($($name:ident: $shape:expr, |$a:ident: $D:literal| $body:expr;)*) => { $(
        #[test]
        fn $name() {
            struct It;
            impl Reading for It {
                fn shape(&self) -> Shape {
                    Shape::from_slice(&$shape)
                }
                fn run<T: BaseTensor>(&self, a: &T) -> T {
                    let $a = Tensor::<T, $D>::from_raw(a.clone());
                    $body
                }
            }
            for program in agree(&It) {
                assert_eq!(indexing(&program), 0, "{program}");
            }
        }
    )* };
}

readings! {
    reversed: [5], |a: 1| a.gather::<_, 1, 1, 0, 1>([&(4 - iota::<T>(5))]).into_raw();
    shifted_up: [5], |a: 1| a.gather::<_, 1, 1, 0, 1>([&(iota::<T>(5) + 1)]).into_raw();
    shifted_down: [5], |a: 1| a.gather::<_, 1, 1, 0, 1>([&(iota::<T>(5) - 1)]).into_raw();
    strided: [9], |a: 1| a.gather::<_, 1, 1, 0, 1>([&(iota::<T>(4) * 2 + 1)]).into_raw();
    diagonal: [4, 4], |a: 2| a.gather::<_, 2, 1, 0, 1>([&iota::<T>(4), &iota::<T>(4)]).into_raw();
    antidiagonal: [4, 4], |a: 2| a.gather::<_, 2, 1, 0, 1>([&iota::<T>(4), &(3 - iota::<T>(4))]).into_raw();
    transposed: [3, 4], |a: 2| a.gather::<_, 2, 2, 0, 2>([&axis::<T, 2>([4, 3], 1), &axis::<T, 2>([4, 3], 0)]).into_raw();
    rows_reversed: [3, 4], |a: 2| a.gather::<_, 1, 1, 1, 2>([&(2 - iota::<T>(3))]).into_raw();
    outer_product: [5], |a: 1| {
        let read = |k: usize| a.gather::<_, 1, 2, 0, 2>([&axis::<T, 2>([5, 5], k)]);
        (read(0) * read(1)).into_raw()
    };
    stencil: [6], |a: 1| {
        let read = |d: i64| a.gather::<_, 1, 1, 0, 1>([&(iota::<T>(6) + d)]);
        (read(-1) - read(0) * 2.0 + read(1)).into_raw()
    };
    windows: [5, 6], |a: 2| {
        let shape = [3, 4, 3, 3];
        let at = |k: usize| axis::<T, 4>(shape, k);
        a.gather::<_, 2, 4, 0, 4>([&(at(0) + at(2)), &(at(1) + at(3))]).into_raw()
    };
    windows_of_a_padded_image: [5, 6], |a: 2| {
        let shape = [5, 6, 3, 3];
        let at = |k: usize| axis::<T, 4>(shape, k);
        a.gather::<_, 2, 4, 0, 4>([&(at(0) + at(2) - 1), &(at(1) + at(3) - 1)]).into_raw()
    };
    blocks_from_a_line: [9], |a: 1| a.gather::<_, 1, 2, 0, 2>([&(axis::<T, 2>([3, 3], 0) * 3 + axis::<T, 2>([3, 3], 1))]).into_raw();
    a_line_from_blocks: [4, 3], |a: 2| a.gather::<_, 2, 1, 0, 1>([&iota::<T>(12).quot(3), &iota::<T>(12).rem(3)]).into_raw();
    digits_by_subtraction: [4, 3], |a: 2| {
        let i = iota::<T>(12);
        a.gather::<_, 2, 1, 0, 1>([&i.quot(3), &(&i - i.quot(3) * 3)]).into_raw()
    };
    three_digits: [2, 3, 2], |a: 3| {
        let i = iota::<T>(12);
        a.gather::<_, 3, 1, 0, 1>([&i.quot(6), &i.quot(2).rem(3), &i.rem(2)]).into_raw()
    };
    repeated_each: [4], |a: 1| a.gather::<_, 1, 1, 0, 1>([&iota::<T>(12).quot(3)]).into_raw();
    repeated_all: [4], |a: 1| a.gather::<_, 1, 1, 0, 1>([&iota::<T>(12).rem(4)]).into_raw();
    blocks_reversed: [6], |a: 1| a.gather::<_, 1, 1, 0, 1>([&(iota::<T>(6).quot(2) * 2 + 1 - iota::<T>(6).rem(2))]).into_raw();
    reshaped_index: [6], |a: 1| {
        let i: Tensor<T, 1, i64> = axis::<T, 2>([2, 3], 1).reshape([6]);
        a.gather::<_, 1, 1, 0, 1>([&i]).into_raw()
    };
    far_apart: [10], |a: 1| a.gather::<_, 1, 1, 0, 1>([&(iota::<T>(10) * 1000)]).into_raw();
    one_place: [3, 2], |a: 2| a.at::<_, 2, 0>([2, 1]).into_raw();
    nowhere: [3], |a: 1| a.gather::<_, 1, 1, 0, 1>([&(iota::<T>(4) + 7)]).into_raw();
    known_positions: [6], |a: 1| {
        let ix = Tensor::<T, 1, i64>::constant([5, 3, 1]);
        a.gather::<_, 1, 1, 0, 1>([&ix]).into_raw()
    };
    clamps_that_do_nothing: [5], |a: 1| {
        let i = (4 - iota::<T>(5)).max(0).min(4).rem(5);
        a.gather::<_, 1, 1, 0, 1>([&i]).into_raw()
    };
    guarded: [5], |a: 1| {
        let i = iota::<T>(7) - 1;
        let inside = i.ge(0) & i.lt(5);
        inside.select(a.gather::<_, 1, 1, 0, 1>([&i]), 0.0).into_raw()
    };
    boundary_values: [5], |a: 1| {
        let (i, left) = (iota::<T>(5), a.at::<_, 1, 0>([0]).replicate::<1>(5));
        let before = a.gather::<_, 1, 1, 0, 1>([&(&i - 1)]);
        let y = i.eq(0).select(&left, &before);
        i.ne(4).select(&y, 7.0).into_raw()
    };
    both_halves: [6], |a: 1| {
        let i = iota::<T>(6);
        let (up, down) = (a.gather::<_, 1, 1, 0, 1>([&(&i * 2)]), a.gather::<_, 1, 1, 0, 1>([&(11 - &i * 2)]));
        i.lt(3).select(&up, &down).into_raw()
    };
    triangle_of_whole_rows: [4, 3], |a: 2| {
        let low = axis::<T, 2>([4, 3], 0).quot(2).eq(1);
        low.select(&a, 0.0).into_raw()
    };
    scattered_apart: [4], |a: 1| {
        let base = Tensor::<T, 1>::constant(Array::full(&[9], 2.0));
        base.scatter_add::<_, 1, 1, 0, 1>([&(iota::<T>(4) * 2)], &a).into_raw()
    };
    scattered_together: [6], |a: 1| {
        let base = Tensor::<T, 1>::zeros([3]);
        base.scatter_add::<_, 1, 1, 0, 1>([&iota::<T>(6).quot(2)], &a).into_raw()
    };
}

/// What an index could be that is no view: these stay gathers, and agree.
#[test]
fn tables_and_clamps_stay_gathers() {
    struct Table;
    impl Reading for Table {
        fn shape(&self) -> Shape {
            Shape::from_slice(&[6])
        }
        fn run<T: BaseTensor>(&self, a: &T) -> T {
            let table = Tensor::<T, 1, i64>::constant([3, 1, 4, 1, 5, 9]);
            let clamped = (iota::<T>(6) - 2).max(0).min(3);
            let crossed = (iota::<T>(6) - 3).quot(2);
            let a = Tensor::<T, 1>::from_raw(a.clone());
            let read = |ix: &Tensor<T, 1, i64>| a.gather::<_, 1, 1, 0, 1>([ix]);
            (read(&table) * read(&clamped) + read(&crossed) + read(&iota::<T>(6).quot(4))).into_raw()
        }
    }
    let [primal, derivative] = agree(&Table);
    let gathers = |p: &Program| count(p, |op, _| matches!(op, Op::Gather(..) | Op::ScatterAdd(..)));
    assert_eq!(gathers(&primal), 4, "{primal}");
    assert!(gathers(&derivative) >= 4, "{derivative}");
}

#[test]
fn far_apart_positions_make_nothing_large() {
    let program = staged("a", &[10], |a| {
        let i = iota::<Term>(10) * 1000;
        Tensor::<Term, 1>::from_raw(a.clone()).gather::<_, 1, 1, 0, 1>([&i]).into_raw()
    });
    assert!(program.nodes().iter().all(|node| size(&node.shape) <= 10), "{program}");
    assert_eq!(program.size(), 1, "{program}");
}

#[test]
fn elements_in_order_are_a_reshape() {
    let program = staged("a", &[9], |a| {
        let place = axis::<Term, 2>([3, 3], 0) * 3 + axis([3, 3], 1);
        Tensor::<Term, 1>::from_raw(a.clone()).gather::<_, 1, 2, 0, 2>([&place]).into_raw()
    });
    assert_eq!(program.to_string(), "program(a: f64[9]) {\n  return reshape [3, 3] a\n}");
}

/// Written element by element, the same.
#[test]
fn builds_have_no_index_arrays() {
    let program = |shape: &[usize], f: &dyn Fn(&Term) -> Term| simplify(&vectorize(&staged("a", shape, f)));
    let vector = |a: &Term| Tensor::<Term, 1>::from_raw(a.clone());
    let matrix = |a: &Term| Tensor::<Term, 2>::from_raw(a.clone());
    let all: [(Program, &str); 6] = [
        (program(&[5], &|a| build1(5, |i| vector(a).at([4 - i])).into_raw()), "reverse axis=0 a"),
        (program(&[3, 4], &|a| build([4, 3], |[i, j]| matrix(a).at([j, i])).into_raw()), "permute [1, 0] a"),
        (program(&[4, 4], &|a| build1(4, |i| matrix(a).at([i, &(3 - i)])).into_raw()), "view [i<4] -> a[i, 3 - i]"),
        (program(&[3, 3], &|a| build1(9, |i| matrix(a).at([i.quot(3), i.rem(3)])).into_raw()), "reshape [9] a"),
        (
            program(&[4, 5], &|a| build([3, 3, 2, 3], |[i, j, k, l]| matrix(a).at([i + k, j + l])).into_raw()),
            "view [i<3, j<3, k<2, l<3] -> a[i + k, j + l]",
        ),
        (
            program(&[5], &|a| {
                let a = vector(a);
                build1(5, |i| cond(i.eq(0), a.at([0]), a.at([i - 1]))).into_raw()
            }),
            "concat axis=0 [slice axis=0 0..1 a, slice axis=0 0..4 a]",
        ),
    ];
    for (program, expected) in all {
        let text = program.to_string();
        assert!(text.ends_with(&format!("{{\n  return {expected}\n}}")), "{text}");
    }
}

/// The position in a loop is known to be one of its trips.
#[test]
fn bounds_hold_in_the_bodies_of_loops() {
    let program = staged("a", &[6], |a| {
        let a = Tensor::<Term, 1>::from_raw(a.clone());
        let f = |i: &Tensor<Term, 0, i64>, c: Tensor<Term, 0>| (c * a.at([i.max(0).min(5)])).sin();
        iterate(6, Tensor::scalar(0.5), f).into_raw()
    });
    let simple = simplify(&program);
    let bounding = |p: &Program| count(p, |op, _| matches!(op, Op::Discrete(Discrete::IntBinary(_), _)));
    assert_eq!((bounding(&program), bounding(&simple)), (2, 0), "{simple}");
    let x = sample(&[6]);
    assert_eq!(interpret(&simple, vec![x.clone()]), interpret(&program, vec![x]));
}

/// A random integer tensor of this shape: the same for the same seed at every interpreter.
fn index<T: BaseTensor>(rng: &mut Rng, shape: &[usize], depth: usize) -> T {
    let constant = |x: i64| T::constant(Array::full(shape, x));
    let small = |rng: &mut Rng| rng.below(7) as i64 - 3;
    if depth == 0 {
        return match rng.below(6) {
            0 => constant(small(rng)),
            1 => {
                let (start, step) = (small(rng), small(rng));
                T::constant(Array::new(shape, (0..size(shape)).map(|k| start + step * k as i64).collect()))
            }
            _ if shape.is_empty() => constant(small(rng)),
            _ => {
                let axis = rng.below(shape.len());
                let iota = T::discrete(&Discrete::Iota { n: shape[axis] }, &[]);
                iota.linear(&Linear::replicate(shape, &[axis]))
            }
        };
    }
    let binary = |op: IntBinary, x: &T, y: &T| T::discrete(&Discrete::IntBinary(op), &[x, y]);
    match rng.below(17) {
        16 => T::constant(Array::from([3i64, 1, 4, 1, 5])).gather(&[index(rng, shape, depth - 1)]),
        0..3 => binary(IntBinary::Add, &index(rng, shape, depth - 1), &index(rng, shape, depth - 1)),
        3 => binary(IntBinary::Sub, &index(rng, shape, depth - 1), &index(rng, shape, depth - 1)),
        4 | 12 => binary(IntBinary::Mul, &index(rng, shape, depth - 1), &constant(small(rng))),
        5 | 13 | 14 => binary(IntBinary::Quot, &index(rng, shape, depth - 1), &constant(small(rng))),
        6 | 15 => binary(IntBinary::Rem, &index(rng, shape, depth - 1), &constant(small(rng) * 2)),
        7 => T::discrete(&Discrete::IntUnary(IntUnary::ALL[rng.below(2)]), &[&index(rng, shape, depth - 1)]),
        8 => {
            let op = if rng.below(2) == 0 { IntBinary::Min } else { IntBinary::Max };
            binary(op, &index(rng, shape, depth - 1), &constant(small(rng)))
        }
        9 => {
            let mask = mask(rng, shape, depth - 1);
            T::select(&mask, &index(rng, shape, depth - 1), &index(rng, shape, depth - 1))
        }
        10 => {
            // The same elements in other axes.
            let mut other = Shape::from_slice(shape);
            other.reverse();
            if rng.below(2) == 0 && !other.is_empty() {
                let n = other.remove(0);
                let d = (2..4).find(|d| n.is_multiple_of(*d)).unwrap_or(1);
                other.insert(0, d);
                other.insert(1, n / d);
            }
            index::<T>(rng, &other, depth - 1).linear(&Linear::reshape(&other, shape))
        }
        _ => {
            let view = crate::support::random_view(rng, &[2, 4], shape);
            index::<T>(rng, &[2, 4], depth - 1).linear(&Linear::read(view))
        }
    }
}

/// A comparison of an index, or two of them put together.
fn mask<T: BaseTensor>(rng: &mut Rng, shape: &[usize], depth: usize) -> T {
    let x: T = index(rng, shape, depth.min(1));
    let compare = |rng: &mut Rng, x: &T| {
        let op = Discrete::Compare(Compare::ALL[rng.below(Compare::ALL.len())]);
        let bound = T::constant(Array::full(shape, rng.below(7) as i64 - 2));
        if rng.below(4) == 0 { T::discrete(&op, &[&bound, x]) } else { T::discrete(&op, &[x, &bound]) }
    };
    let (first, second) = (compare(rng, &x), compare(rng, &x));
    match rng.below(5) {
        0 => T::discrete(&Discrete::And, &[&first, &second]),
        1 => T::discrete(&Discrete::Or, &[&first, &second]),
        2 => T::discrete(&Discrete::Not, &[&first]),
        3 => {
            let other = index(rng, shape, 0);
            T::discrete(&Discrete::And, &[&first, &compare(rng, &other)])
        }
        _ => first,
    }
}

/// A program of this seed: it reads and adds at random indices, and chooses.
struct Random(u32);

impl Reading for Random {
    fn shape(&self) -> Shape {
        let mut rng = Rng::new(u64::from(self.0));
        (0..1 + rng.below(3)).map(|_| 1 + rng.below(5)).collect()
    }

    fn run<T: BaseTensor>(&self, a: &T) -> T {
        let mut rng = Rng::new(u64::from(self.0) ^ 0x5eed);
        let rng = &mut rng;
        let m = 1 + rng.below(a.shape().len());
        let shape: Shape = (0..rng.below(3)).map(|_| [1, 2, 3, 4, 6][rng.below(5)]).collect();
        let depth = |rng: &mut Rng| rng.below(4);
        let indices = |rng: &mut Rng, shape: &[usize]| -> Vec<T> {
            (0..m)
                .map(|_| {
                    let d = depth(rng);
                    index(rng, shape, d)
                })
                .collect()
        };
        let mut y = a.gather(&indices(rng, &shape));
        let whole = Shape::from_slice(y.shape());
        for _ in 0..rng.below(3) {
            let mask = mask::<T>(rng, &whole, 1);
            let other = match rng.below(3) {
                0 => T::zeros(&whole, DType::F64),
                1 => T::constant(Array::full(&whole, 3.0)),
                _ => a.gather(&indices(rng, &shape)),
            };
            y = if rng.below(2) == 0 { T::select(&mask, &y, &other) } else { T::select(&mask, &other, &y) };
        }
        if rng.below(2) == 0 { y } else { a.clone().scatter_add(&indices(rng, &shape), &y) }
    }
}

/// One index or one mask, seen through what it reads.
struct Alone(u32);

impl Reading for Alone {
    fn shape(&self) -> Shape {
        Shape::from_slice(&[81])
    }

    fn run<T: BaseTensor>(&self, a: &T) -> T {
        let mut rng = Rng::new(u64::from(self.0) ^ 0xa10e);
        let rng = &mut rng;
        let shape: Shape = (0..1 + rng.below(2)).map(|_| [2, 3, 4, 6, 8][rng.below(5)]).collect();
        let depth = 1 + rng.below(4);
        let i: T = index(rng, &shape, depth);
        // Far enough from the ends of the array that most indices read something.
        let middle = T::constant(Array::full(&shape, 40i64));
        let y = a.gather(&[T::discrete(&Discrete::IntBinary(IntBinary::Add), &[&i, &middle])]);
        let mask = mask(rng, &shape, depth);
        T::select(&mask, &y, &T::constant(Array::full(&shape, 100.0)))
    }
}

#[test]
fn random_indices_agree() {
    fn law(seed: u32) {
        agree(&Random(seed));
        agree(&Alone(seed));
    }
    let count = std::env::var("POLYGRAD_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    QuickCheck::new().tests(count).quickcheck(law as fn(u32));
}

/// The law is about something: many of these programs have no index array left.
#[test]
fn many_random_indices_are_views() {
    let views = (0..300).filter(|seed| indexing(&agree(&Random(*seed))[0]) == 0).count();
    assert!(views > 100, "{views}");
}

/// Adding to a large array, a few elements at a time, costs the elements.
#[test]
fn a_chain_of_views_into_a_large_array_is_added_in_place() {
    let (n, steps) = (100_000, 200);
    let program = staged("v", &[steps, 2], |v| {
        let v = Tensor::<Term, 2>::from_raw(v.clone());
        let mut sum = Tensor::<Term, 1>::zeros([n]);
        for k in 0..steps {
            let ix = iota::<Term>(2) * 100 + (k as i64 * 7);
            sum = sum.scatter_add::<_, 1, 1, 0, 1>([&ix], &v.row(k));
        }
        sum.into_raw()
    });
    assert_eq!(indexing(&program), 0, "{program}");
    let v = sample(&[steps, 2]);
    let ((), tally) = Count::<Array>::counted(|| drop(interpret(&program, vec![Count::<Array>::constant(v.clone())])));
    assert!(tally.total().work < 2 * n as u64, "{tally}");
    let expected = direct_scatter(n, &v);
    assert_eq!(interpret(&program, vec![v])[0], expected);
}

fn direct_scatter(n: usize, v: &Array) -> Array {
    let v = v.to_vec::<f64>().expect("floats");
    let mut sum = vec![0.0; n];
    v.iter().enumerate().for_each(|(k, x)| sum[k / 2 * 7 + k % 2 * 100] += x);
    Array::new(&[n], sum)
}

/// So does the gradient of a program that reads a large array so.
#[test]
fn reading_a_few_elements_many_times_costs_what_it_reads() {
    let (n, steps) = (100_000, 200);
    let f = |x: &Tensor<Term, 1>| {
        let reads = (0..steps).map(|k| x.gather::<_, 1, 1, 0, 1>([&(iota::<Term>(3) + 5 * k)]).square().sum());
        reads.reduce(|a, b| a + b).expect("some")
    };
    let program = staged("x", &[n], |x| f(&Tensor::from_raw(x.clone())).into_raw());
    let derivative = grad(&program);
    assert_eq!(indexing(&derivative), 0);
    let x = Array::linspace(0.0, 1.0, n);
    let ((), tally) =
        Count::<Array>::counted(|| drop(interpret(&derivative, vec![Count::<Array>::constant(x.clone())])));
    assert!(tally.total().work < 2 * n as u64, "{tally}");
    let g = interpret(&derivative, vec![x.clone()]).remove(0).to_vec::<f64>().expect("floats");
    let by_running = direct::grad(
        |x: &Tensor<_, 1>| {
            let reads = (0..steps as usize).map(|k| x.slice(0, 5 * k..5 * k + 3).square().sum());
            reads.reduce(|a, b| a + b).expect("some")
        },
        &Tensor::from_raw(x),
    );
    assert_eq!(g, by_running.to_vec());
}

/// Integers at the ends of the range have no opposite, and their bounds do not fit.
#[test]
fn integers_at_the_ends_of_the_range_are_themselves() {
    let x = Term::variable(&[4], DType::I64);
    for c in [i64::MIN, i64::MIN + 1, i64::MAX] {
        for op in IntBinary::ALL {
            let c = Term::constant(Array::full(&[4], c));
            let i = Term::discrete(&Discrete::Iota { n: 4 }, &[]);
            let apply = |a: &Term, b: &Term| Term::discrete(&Discrete::IntBinary(*op), &[a, b]);
            let absolute = Term::discrete(&Discrete::IntUnary(IntUnary::Abs), &[&apply(&i, &c)]);
            let results = [apply(&x, &c), apply(&c, &x), apply(&c, &i), absolute];
            let program = Term::program(std::slice::from_ref(&x), &results, &[]).expect("closed");
            let at = vec![Array::new(&[4], vec![i64::MIN, -1, 0, i64::MAX])];
            assert_eq!(interpret(&simplify(&program), at.clone()), interpret(&program, at), "{program}");
        }
    }
}

/// Zeros have no bit: their facts are those of the number 0.
#[test]
fn bits_of_zeros_are_known() {
    let x = polygrad::tensor([5_i64, -7]);
    let bits = |x: &polygrad::Tensor<_, 1, i64>| {
        let zeros = x.bit_and(0);
        zeros.bit_or(zeros.shr(3)).bit_xor(zeros.min(x.abs()))
    };
    let f = polygrad::Function::stage(bits, &x);
    assert_eq!(f.run(&x).expect("it fits"), polygrad::tensor([0_i64, 0]));
}
