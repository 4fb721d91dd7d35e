//! `vectorize`: loops become bulk operations.
//!
//! Laws, for a table of programs, their values and all their derivatives: what is vectorised computes the same; no loop
//! without a carry remains; the cost, counted in elements and in bytes, does not grow faster with the size of the
//! problem than that of the program run element by element. For every objective of the gallery: the same, and no
//! program gets dearer than by a constant factor.

use crate::forms::{has_no_build, reads_only_variables};
use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};
use polygrad::inspect::{Cost, count};
use polygrad::ops::{Binary, Unary};
use polygrad::passes::{optimize, vectorize};
use polygrad::program::{Node, Op, Program, Term, interpret};
use polygrad::shape::size;
use polygrad::symbolic::{self, jvp, vjp};
use polygrad::{
    Array, BaseTensor, Concrete, DType, Function, Tensor, build, build1, checkpoint, concat, cond, custom_jvp, direct,
    fold, grad, iterate, map, map_accum, map_accum_reverse, scan, vmap, zip_with,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Index<T> = Tensor<T, 0, i64>;

/// A program of a vector, a matrix and a vector of integers.
type Case<T> = fn(&Vector<T>, &Matrix<T>, &Tensor<T, 1, i64>) -> Matrix<T>;

/// The sine, with a rule of its own.
fn ruled<T: BaseTensor>(x: &Number<T>) -> Number<T> {
    custom_jvp("sine", |x: &Number<_>| x.sin(), |x, _, x_dot| x.cos() * x_dot, x)
}

macro_rules! cases {
    ($T:ident; $($name:ident = |$x:ident, $a:ident, $ix:ident| $body:expr;)*) => {
        /// The programs, at an interpreter.
        fn cases<$T: BaseTensor>() -> Vec<(&'static str, Case<$T>)> {
            $(
                #[allow(unused_variables)]
                fn $name<$T: BaseTensor>($x: &Vector<$T>, $a: &Matrix<$T>, $ix: &Tensor<$T, 1, i64>) -> Matrix<$T> {
                    let n = $x.dim::<0>();
                    ($body)(n)
                }
            )*
            vec![$((stringify!($name), $name)),*]
        }
    };
}

cases! { T;
    elementwise = |x, a, ix| |n| build([n, n], |[i, j]| a.at([&i, &j]).sin() * x.at([&i]) + x.at([j - i]));
    product = |x, a, ix| |n| build([n, n], |[i, j]| build1(n, |p| a.at([&i, &p]) * a.at([&p, &j])).sum());
    hostile = |x, a, ix| |n| build([n, n], |[i, j]| {
        let far = ix.at([&i]) * ix.at([&j]) - 3;
        x.at([far.quot(j)]) * a.at([ix.at([ix.at([&i]) - 1]), far.rem(n as i64)]) + x.at([i * 7 - j])
    });
    branching = |x, a, ix| |n| build([n, n], |[i, j]| cond(i.lt(j), a.at([&i, &j]).exp(), x.at([i + 1]).sqrt()));
    scattering = |x, a, ix| |n| build1(n, |i| {
        Tensor::zeros([n]).scatter_add([&ix.plus(i)], &x.times(&a.at([&i, &i])))
    });
    scattering_rows = |x, a, ix| |n| a.clone().scatter_add([ix], &build1(n, |i| a.at([n as i64 - 1 - i]) * x));
    shapes_inside = |x, a, ix| |n| build1(n, |i| {
        let row: Vector<_> = a.at([&i]);
        let two = concat(0, &[row, x.reverse(0)]).reshape::<2>([2, n]);
        two.t().window::<3>(0, 1, 1).sum_axes([1, 2]).times(&x.at([i]))
    });
    folding = |x, a, ix| |n| build([n, n], |[i, j]| {
        fold(x.at([&j]), a.at::<_, 1, 1>([&i]), |c, v: &Number<_>| (c * v).sin() + a.at([&j, &i]))
    });
    scanning = |x, a, ix| |n| map(a, |row: &Vector<_>| {
        let sums: Vector<_> = scan(x.at([0]), row, |c, v: &Number<_>| (c + v).tanh());
        sums.slice(0, 1..) * x
    });
    carried_outside = |x, a, ix| |n| iterate(3, a.clone(), |k, m| {
        build([n, n], |[i, j]| m.at([&i, &j]) * 0.5 + m.at([&j, &i]).sin() * x.at([i + k]))
    });
    adding_up = |x, a, ix| |n| fold(a.clone(), x, |m: Matrix<_>, v: &Number<_>| m + a.times(v).sin() - x.outer::<1, 2>(x).times(v));
    adding_by_index = |x, a, ix| |n| fold(a.clone(), ix, |m: Matrix<_>, i: &Index<_>| m.scatter_add([&i.insert_axis::<1>(0)], &x.times(&x.at([i])).insert_axis::<2>(0)));
    two_carries = |x, a, ix| |n| {
        let carried: (Number<_>, Matrix<_>) = fold((x.at([0]), a.clone()), x, |(c, m), v: &Number<_>| {
            let c = (c * v).cos();
            (c.clone(), m + x.outer::<1, 2>(x).times(&c))
        });
        carried.1.times(&carried.0)
    };
    shared = |x, a, ix| |n| {
        let s = build1(n, |i| x.at([&i]).exp() + a.at([&i, &i]));
        build([n, n], |[i, j]| s.at([&i]) * s.at([&j]) + s.at([i - j]))
    };
    reading_a_result = |x, a, ix| |n| build([n, n], |[i, j]| {
        let inner = build1(n, |k| a.at([&k, &i]) * x.at([k]));
        inner.at([&j]) - inner.at([&i]) + inner.sum()
    });
    positions = |x, a, ix| |n| build1(n, |i| {
        let row: Vector<_> = a.at([&i]) * x;
        row.sort(0).times(&x.at([row.argmax() - i]))
    });
    integers = |x, a, ix| |n| build([n, n], |[i, j]| (ix.at([&i]) * 2 + j).to_float::<f64>() * x.at([&j]) + (i.rem(2) * j).to_float::<f64>());
    other_types = |x, a, ix| |n| build([n, n], |[i, j]| (a.at([&i, &j]).cast::<f32>() * x.at([i]).cast::<f32>()).cast::<f64>());
    rules_inside = |x, a, ix| |n| build([n, n], |[i, j]| ruled(&a.at([&i, &j])) * ruled(&x.at([i])));
    nothing = |x, a, ix| |n| build([0, n], |[i, j]| a.at([&i, &j]) * x.at([j]));
    batched_products = |x, a, ix| |n| build1(n, |i| a.matvec(&a.at([&i])).plus(&(a.at([&i, &i]) * x.sum())));
    gradients_inside = |x, a, ix| |n| vmap(|row: &Vector<_>| direct::grad(|row: &Vector<_>| (row * row.reverse(0)).sin().sum(), row))(a) ;
    pairs = |x, a, ix| |n| zip_with(a, x, |row: &Vector<_>, v: &Number<_>| row.times(v) + x);
    unused_carry = |x, a, ix| |n| {
        let out: (Number<_>, Matrix<_>) = map_accum(x.at([1]), a, |c: Number<_>, row: &Vector<_>| (c.clone(), row.times(&c)));
        out.1
    };
    recurrent = |x, a, ix| |n| {
        let (last, ys): (Vector<_>, Matrix<_>) = map_accum(x.clone(), a, |h: Vector<_>, row: &Vector<_>| {
            let h = (a.matvec(&h) + a.t().matvec(&(row.exp() * x))).tanh();
            (h.clone(), a.matvec(&h.sin()) + row)
        });
        ys * last.insert_axis::<2>(0)
    };
    reading_in_turn = |x, a, ix| |n| {
        let i = Tensor::<_, 1, i64>::iota(n);
        let read = |c: Number<_>, i: &Index<_>| {
            let c = (c * x.at([ix.at([i])]) + a.at([i, i])).sin();
            (c.clone(), a.at::<_, 1, 1>([n as i64 - 1 - i]).times(&(&c + x.at([i]))))
        };
        map_accum(x.at([0]), i, read).1
    };
    counting = |x, a, ix| |n| {
        let start: Index<_> = Tensor::scalar(n as i64);
        let (last, ys): (Index<_>, Matrix<_>) =
            map_accum(start.clone(), a, |i: Index<_>, row: &Vector<_>| (&i - 2, row.times(&x.at([i]))));
        let (first, zs): (Index<_>, Matrix<_>) =
            map_accum_reverse(start, a, |i: Index<_>, row: &Vector<_>| (ix.at([0]) + &i, row.times(&x.at([i - 3]))));
        (ys + zs).times(&(last * 10 + first).to_float::<f64>())
    };
    counting_in_turn = |x, a, ix| |n| {
        let step = |(i, h): (Index<_>, Number<_>), row: &Vector<_>| {
            let h = (h * x.at([&i])).sin() + a.at([i.clone(), &i - 1]);
            ((i + 1, h.clone()), row.times(&h))
        };
        let ((last, _), ys): ((Index<_>, Number<_>), Matrix<_>) = map_accum((Tensor::scalar(0), x.at([n as i64 - 1])), a, step);
        ys.times(&last.to_float::<f64>())
    };
    replicated = |x, a, ix| |n| build([n, n], |[i, _j]| x.at([i]).exp());
}

fn point(n: usize) -> Vec<Array> {
    let ix: Vec<i64> = (0..n as i64).map(|k| (k * 7 + 3) % (n as i64 + 2) - 1).collect();
    vec![Array::uniform(&[n], 0.2, 0.9, 1), Array::uniform(&[n, n], -0.9, 0.9, 2), Array::new(&[n], ix)]
}

fn staged(case: Case<Term>, n: usize) -> Program {
    let inputs: Vec<Term> = point(n).iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let [x, a, ix] = [0, 1, 2].map(|k| inputs[k].clone());
    let y = case(&Tensor::from_raw(x), &Tensor::from_raw(a), &Tensor::from_raw(ix));
    Term::program(&inputs, &[y.into_raw()], &[]).expect("a closed program")
}

/// Inputs for the program: more where it takes tangents or cotangents, too.
fn inputs_of(program: &Program, n: usize) -> Vec<Array> {
    let mut inputs = point(n);
    for (k, slot) in program.inputs().iter().enumerate().skip(inputs.len()) {
        inputs.push(match slot.dtype {
            DType::F64 => Array::uniform(&slot.shape, -1.0, 1.0, k as u64),
            DType::F32 | DType::I64 | DType::Bool => Array::zeros(&slot.shape, slot.dtype),
        });
    }
    inputs
}

fn floats(values: &[Array]) -> Vec<f64> {
    values.iter().flat_map(|a| a.cast::<f64>().to_vec().expect("converted to f64")).collect()
}

#[track_caller]
fn close(what: &str, a: &[Array], b: &[Array]) {
    // Sums in `f32` are in another order.
    let bound = if what.starts_with("other_types") { 1e-6 } else { 1e-11 };
    let shapes = |values: &[Array]| values.iter().map(|a| (a.shape().to_vec(), a.dtype())).collect::<Vec<_>>();
    assert_eq!(shapes(a), shapes(b), "{what}");
    let (a, b) = (floats(a), floats(b));
    let size = a.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    for (k, (x, y)) in a.iter().zip(&b).enumerate() {
        assert!((x - y).abs() <= bound * size, "{what}: element {k}: {x} and {y}");
    }
}

fn cost(program: &Program, inputs: Vec<Array>) -> Cost {
    count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &Leaves(inputs)).1.total()
}

/// The program, its pushforward and its pullback.
fn readings(program: &Program) -> [(&'static str, Program); 3] {
    [("value", program.clone()), ("jvp", jvp(program)), ("vjp", vjp(program))]
}

#[test]
fn values_and_derivatives_are_unchanged() {
    let n = 5;
    let plain = cases::<Concrete>();
    for ((name, case), (_, plain)) in cases::<Term>().into_iter().zip(plain) {
        let program = staged(case, n);
        let [x, a, ix] = [0, 1, 2].map(|k| point(n)[k].clone());
        let direct = plain(&Tensor::from_raw(x), &Tensor::from_raw(a), &Tensor::from_raw(ix)).into_raw();
        close(name, &[direct], &interpret(&vectorize(&program), point(n)));
        for ((reading, looped), (_, bulk)) in readings(&program).into_iter().zip(readings(&vectorize(&program))) {
            let what = format!("{name}, {reading}");
            let inputs = inputs_of(&looped, n);
            let expected = interpret(&looped, inputs.clone());
            close(&what, &expected, &interpret(&vectorize(&looped), inputs.clone()));
            close(&format!("{what} of what is vectorised"), &expected, &interpret(&bulk, inputs.clone()));
            close(&format!("{what}, optimized"), &expected, &interpret(&optimize(&looped), inputs));
        }
    }
}

#[test]
fn no_build_remains() {
    for (name, case) in cases::<Term>() {
        for (reading, program) in readings(&staged(case, 4)) {
            let bulk = vectorize(&program);
            assert!(has_no_build(&bulk), "{name}, {reading}: {bulk}");
            assert!(vectorize(&bulk).size() <= bulk.size(), "{name}, {reading}: a second pass makes it larger");
        }
    }
}

#[test]
fn no_program_becomes_asymptotically_dearer() {
    for (name, case) in cases::<Term>() {
        for k in 0..3 {
            let ratios = [6, 24].map(|n| {
                let (reading, program) = readings(&staged(case, n)).into_iter().nth(k).expect("three readings");
                let inputs = inputs_of(&program, n);
                let (before, after) = (cost(&program, inputs.clone()), cost(&vectorize(&program), inputs));
                let ratio = |a: u64, b: u64| b as f64 / a.max(1) as f64;
                (reading, ratio(before.work, after.work), ratio(before.bytes, after.bytes))
            });
            let [(reading, work, bytes), (_, more_work, more_bytes)] = ratios;
            // Four times the size; what grows with it is four times as dear.
            let grows = |small: f64, large: f64| large > 1.6 * small && large > 1.0;
            assert!(!grows(work, more_work), "{name}, {reading}: work grows from {work} to {more_work} times");
            assert!(!grows(bytes, more_bytes), "{name}, {reading}: bytes grow from {bytes} to {more_bytes} times");
        }
    }
}

/// A carry that counts is no recurrence.
#[test]
fn counters_are_sequences() {
    for (name, loops) in [("counting", 0), ("counting_in_turn", 1)] {
        let (_, case) = cases::<Term>().into_iter().find(|(other, _)| *other == name).expect("in the table");
        for (reading, program) in readings(&staged(case, 5)) {
            let bulk = optimize(&program);
            let found = bulk.nodes().iter().filter(|node| matches!(node.op, Op::Loop(_))).count();
            let expected = if reading == "vjp" { 2 * loops } else { loops };
            assert_eq!(found, expected, "{name}, {reading}: {bulk}");
            let reads = bulk.nodes().iter().filter(|node| matches!(node.op, Op::Gather(..))).count();
            let known = name == "counting_in_turn";
            assert!(!known || reads == 0, "{name}, {reading}: the positions are known: {bulk}");
        }
    }
}

/// In a recurrent network only the product with the state is done in turn.
#[test]
fn what_need_not_be_done_in_turn_is_not() {
    let products = |program: &Program| {
        let is_product = |node: &&Node| matches!(node.op, Op::Contract(..));
        program.nodes().iter().filter(is_product).count()
    };
    let (_, case) = cases::<Term>().into_iter().find(|(name, _)| *name == "recurrent").expect("in the table");
    for (reading, program) in readings(&staged(case, 4)) {
        let bulk = vectorize(&program);
        let inside = |p: &Program| {
            let loops = p
                .nodes()
                .iter()
                .filter_map(|node| if let Op::Loop(l) = &node.op { Some(products(&l.body)) } else { None });
            loops.collect::<Vec<usize>>()
        };
        let before = inside(&program).into_iter().sum::<usize>();
        let after = inside(&bulk);
        let expected = match reading {
            "value" => vec![1],
            // The tangent of the state is multiplied, too, and the state with the tangent of the weights.
            "jvp" => vec![3],
            _ => vec![1, 1],
        };
        assert_eq!(after, expected, "{reading}, of {before}:\n{bulk}");
    }
}

/// Few elements that each trip copies are not copied before the loop: the stack of copies would be larger.
#[test]
fn copies_of_few_elements_are_made_in_the_trips() {
    let [h, x] = [&[4, 3][..], &[5]].map(|shape| Term::variable(shape, DType::F64));
    let step = |h: Matrix<Term>, x: &Number<Term>| (h + x.tanh().replicate::<1>(3).replicate::<2>(4)).sin();
    let start: Matrix<Term> = Tensor::from_raw(h.clone());
    let last = fold(start, Vector::from_raw(x.clone()), step).into_raw();
    let program = Term::program(&[h, x], &[last], &[]).expect("closed");
    let ready = optimize(&program);
    let loops = ready.nodes().iter().filter_map(|node| if let Op::Loop(l) = &node.op { Some(l) } else { None });
    let rows: Vec<_> = loops.flat_map(|l| l.xs.iter().map(|x| ready.nodes()[*x as usize].shape.to_vec())).collect();
    assert_eq!(rows, [vec![5]], "{ready}");
    let inputs = vec![Array::uniform(&[4, 3], -1.0, 1.0, 1), Array::uniform(&[5], -1.0, 1.0, 2)];
    let cost = |program: &Program| {
        count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &Leaves(inputs.clone())).1.total()
    };
    let (before, after) = (cost(&program), cost(&ready));
    assert!(after.work <= before.work && after.bytes <= before.bytes, "{before:?} became {after:?}: {ready}");
}

/// The recurrence of two reads of "Dual arrays", each step a `build`: pushing indices into what is read would double it per
/// step.
#[test]
fn a_recurrence_of_two_reads_stays_linear() {
    let sizes = [10, 20].map(|steps| {
        let x = Term::variable(&[8], DType::F64);
        let mut y: Vector<Term> = Tensor::from_raw(x.clone());
        for _ in 0..steps {
            let before = y.clone();
            y = build1(8, |i| before.at([&i]) * 0.5 + before.at([i + 1]));
        }
        let program = Term::program(&[x], &[y.sum().into_raw()], &[]).expect("closed");
        (vectorize(&program).size(), vectorize(&symbolic::grad(&program)).size())
    });
    let [(value, slope), (values, slopes)] = sizes;
    assert!(values <= 2 * value && slopes <= 2 * slope, "{sizes:?}");
    assert!(values <= 20 * 6 + 2 && slopes <= 20 * 12 + 2, "{sizes:?}");
}

#[test]
fn vmap_of_a_gradient_is_the_gradient_of_a_vmap() {
    let rows: Matrix<Concrete> = Tensor::from_raw(Array::uniform(&[4, 3], -1.0, 1.0, 5));
    fn energy<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
        let steps: Vector<_> = scan(x.at([0]), x, |c, v: &Number<_>| (c * v).sin() + v);
        (steps.slice(0, 1..) * x.reverse(0)).exp().sum()
    }
    let each = vmap(|row: &Vector<_>| grad(energy, row))(&rows);
    let whole = grad(|rows: &Matrix<_>| vmap(energy)(rows).sum(), &rows);
    for (k, row) in (0..4).map(|k| (k, rows.row::<1>(k))) {
        let one = direct::grad(energy, &row);
        close("vmap of grad", &[one.raw().clone()], &[each.row::<1>(k).into_raw()]);
        close("grad of vmap", &[one.raw().clone()], &[whole.row::<1>(k).into_raw()]);
    }
}

/// The gallery, in bulk.
#[derive(Default)]
struct Gallery {
    visited: usize,
    failures: Vec<String>,
}

impl Gallery {
    fn look(&mut self, case: &Recorded) {
        self.visited += 1;
        let (program, inputs) = (case.program(&[]), case.inputs());
        for (reading, looped) in [("value", program.clone()), ("gradient", symbolic::grad(&program))] {
            let bulk = vectorize(&looped);
            let (before, after) = (cost(&looped, inputs.clone()), cost(&bulk, inputs.clone()));
            let mut check = |holds: bool, what: String| {
                if !holds {
                    self.failures.push(format!("{}, {reading}: {what}", case.name));
                }
            };
            check(has_no_build(&bulk), String::from("a build remains"));
            check(after.work <= before.work + before.work / 2 + 64, format!("work {} -> {}", before.work, after.work));
            check(
                after.bytes <= before.bytes + before.bytes / 2 + 512,
                format!("bytes {} -> {}", before.bytes, after.bytes),
            );
            check(after.calls <= before.calls + 4, format!("calls {} -> {}", before.calls, after.calls));
            let (a, b) = (floats(&interpret(&looped, inputs.clone())), floats(&interpret(&bulk, inputs.clone())));
            check(!case.smooth || a.iter().all(|x| x.is_finite()), String::from("not finite"));
            let size = a.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            let same = |x: &f64, y: &f64| (x - y).abs() <= case.tolerance * size || x.to_bits() == y.to_bits();
            check(a.iter().zip(&b).all(|(x, y)| same(x, y)), format!("{a:?} and {b:?}"));
        }
    }
}

impl Visitor for Gallery {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn the_gallery_is_not_dearer_in_bulk() {
    let mut visitor = Gallery::default();
    gallery::each(&mut visitor);
    assert!(visitor.visited > 100);
    assert!(visitor.failures.is_empty(), "{}", visitor.failures.join("\n"));
}

#[test]
fn elements_are_read_of_variables() {
    for (name, case) in cases::<Term>() {
        for (reading, program) in readings(&staged(case, 9)) {
            let bulk = optimize(&program);
            assert!(reads_only_variables(&bulk), "{name}, {reading}: {bulk}");
        }
    }
    // Not of a sum, nor through a view: both are read through.
    let x = Term::variable(&[4, 4], DType::F64);
    let i = Term::variable(&[2], DType::I64);
    let (a, ix): (Matrix<Term>, Tensor<Term, 1, i64>) = (Tensor::from_raw(x.clone()), Tensor::from_raw(i.clone()));
    let y = (a.sin() + a.t().reverse(0)).at([ix.at([0]), ix.at([1])]);
    let program = Term::program(&[x, i], &[y.into_raw()], &[]).expect("closed");
    let bulk = optimize(&program);
    assert!(!reads_only_variables(&vectorize(&program)) && reads_only_variables(&bulk), "{bulk}");
}

/// A loop of a number and of a sum `s`: the term that is added in a trip, and an output.
type Summing = fn(&Number<Term>, &Vector<Term>) -> (Vector<Term>, Number<Term>);

/// A sum leaves its loop if the stack of its terms is small. Else the memory grows with the trips, or a state is copied
/// for a sum alone.
#[test]
fn sums_leave_a_loop_if_the_stacks_of_their_terms_are_small() {
    let cases: [(&str, Summing, usize); 6] = [
        ("as large as the sum", |c, v| (v.times(c).sin(), c.clone()), 2),
        ("no larger than the state", |c, _| (c.cos().insert_axis(0), c.clone()), 1),
        ("smaller than the sum", |c, v| (c.cos().replicate(v.dim::<0>()), c.clone()), 1),
        ("the state before the step", |c, _| (c.insert_axis(0), Tensor::scalar(1.0)), 2),
        ("the state after the step", |c, _| (c.sin().insert_axis(0), Tensor::scalar(1.0)), 2),
        ("an output", |c, _| (c.insert_axis(0), c.clone()), 1),
    ];
    let n = 12;
    for (what, terms, carried) in cases {
        let [c, v] = [&[][..], &[30]].map(|shape| Term::variable(shape, DType::F64));
        let (start, vector) = (Number::from_raw(c.clone()), Vector::from_raw(v.clone()));
        let zeros = Tensor::zeros([terms(&start, &vector).0.dim::<0>()]);
        let step = |(c, s): (Number<Term>, Vector<Term>), _: &Index<Term>| {
            let (term, out) = terms(&c, &vector);
            ((c.sin(), s + term), out)
        };
        let trips = Tensor::<Term, 1, i64>::iota(n);
        let ((_, sum), outs): ((Number<Term>, Vector<Term>), Vector<Term>) = map_accum((start, zeros), &trips, step);
        let program = Term::program(&[c, v], &[sum.into_raw(), outs.into_raw()], &[]).expect("closed");
        let bulk = optimize(&program);
        let carries = |node: &Node| if let Op::Loop(l) = &node.op { Some(l.init.len()) } else { None };
        let found: Vec<usize> = bulk.nodes().iter().filter_map(carries).collect();
        assert_eq!(found, [carried], "{what}: {bulk}");
        let largest = bulk.nodes().iter().map(|node| size(&node.shape)).max();
        assert!(largest <= Some(30), "{what}: the stacks are large: {bulk}");
        let inputs = vec![Array::from(0.3), Array::uniform(&[30], -1.0, 1.0, 3)];
        close(what, &interpret(&program, inputs.clone()), &interpret(&bulk, inputs));
    }
}

/// Programs whose last carry, or the sum of a carry, was once computed twice.
#[test]
fn states_are_neither_copied_nor_computed_again() {
    let x = Term::variable(&[24], DType::F64);
    let vector = Vector::from_raw(x.clone());
    // The sum of the states before the step: 24 elements and two zeros.
    let sums = |(c, s): (Vector<Term>, Vector<Term>), _: &Index<Term>| (Tensor::zeros([24]), s + c);
    let summed: (Vector<Term>, Vector<Term>) =
        fold((vector.clone(), Tensor::zeros([24])), Tensor::<Term, 1, i64>::iota(3), sums);
    // The next state is an element of a sequence, and the state before the step is an output.
    let rows = vector.reshape::<2>([4, 6]).sin();
    let (last, outs): (Vector<Term>, Matrix<Term>) =
        map_accum(vector.slice(0, 0..6), &rows, |c: Vector<Term>, row: &Vector<Term>| (row.clone(), c));
    let inputs = vec![Array::uniform(&[24], -1.0, 1.0, 4)];
    let [summed, last] = [vec![summed.1.into_raw()], vec![last.into_raw(), outs.into_raw()]].map(|results| {
        let program = Term::program(std::slice::from_ref(&x), &results, &[]).expect("closed");
        let ready = optimize(&program);
        close("the program", &interpret(&program, inputs.clone()), &interpret(&ready, inputs.clone()));
        (program, ready)
    });
    let (before, after) = (cost(&summed.0, inputs.clone()), cost(&summed.1, inputs));
    let cheap = 100 * after.work <= 105 * before.work && 100 * after.bytes <= 105 * before.bytes;
    assert!(cheap, "{before:?} became {after:?}: {}\nis {}", summed.0, summed.1);
    let sines = last.1.nodes().iter().filter(|node| matches!(node.op, Op::Unary(..))).count();
    assert_eq!(sines, 1, "{}", last.1);
}

/// A state that is subtracted, or added to something else at indices, is no sum of the terms of all trips.
#[test]
fn states_that_are_subtracted_or_scattered_are_no_sums() {
    let (x, at) = (Term::variable(&[3], DType::F64), Term::variable(&[2], DType::I64));
    let (rows, places) = (Vector::from_raw(x.clone()), Tensor::<Term, 1, i64>::from_raw(at.clone()));
    let minus = fold(Tensor::scalar(0.5), &rows, |c: Number<Term>, v: &Number<Term>| v - c);
    let trips = Tensor::<Term, 1, i64>::iota(3);
    let integers = fold(Tensor::scalar(2), &trips, |c: Index<Term>, i: &Index<Term>| i * 3 - c);
    let base = rows.slice(0, 0..2);
    let scattered =
        fold(base.clone(), &rows, |c: Vector<Term>, _: &Number<Term>| base.clone().scatter_add([&places], &c));
    let results = [minus.into_raw(), integers.into_raw(), scattered.into_raw()];
    let program = Term::program(&[x, at], &results, &[]).expect("closed");
    let inputs = vec![Array::from([1.0, 2.0, 4.0]), Array::new(&[2], vec![1i64, 1])];
    close("the states", &interpret(&program, inputs.clone()), &interpret(&optimize(&program), inputs));
}

#[test]
fn what_trips_share_may_be_large() {
    // A table of 200000 numbers, of which each trip reads one, and to whose cotangent each trip adds one.
    let table: Vector<Concrete> = Tensor::linspace(0.0, 1.0, 200_000);
    let places: Vec<i64> = (0..200).map(|k| 997 * k).collect();
    let read = |table: &Vector<Term>| {
        map(Tensor::<Term, 1, i64>::constant(places.clone()), |k: &Index<Term>| table.at([k]).sin()).sum()
    };
    for f in [Function::grad(read, &table), Function::stage(|x| read(x).reshape([1]), &table)] {
        assert!(!f.optimized().to_string().contains("loop"), "{}", f.optimized());
    }
}

#[test]
fn large_trips_stay_apart() {
    // Sorting needs its operand in memory: for all trips at once 300 MB.
    let summed = |x: &Tensor<Term, 1>| {
        let t = Tensor::linspace(0.0, 1.0, 1 << 17);
        fold(0.0, x, move |sum: Tensor<Term, 0>, x| sum + (t.times(x)).sort(0).square().sum())
    };
    let cut = |x: &Tensor<Term, 1>| {
        let t = Tensor::linspace(0.0, 1.0, 1 << 17);
        checkpoint(1).fold(0.0, x, move |sum: Tensor<Term, 0>, x| sum + (t.times(x)).sort(0).square().sum())
    };
    let (few, many) = (Tensor::ones([200]), Tensor::ones([300]));
    let loops =
        |f: &Function<Tensor<Concrete, 1>, (), Tensor<Concrete, 1>>| f.optimized().to_string().matches("loop").count();
    assert_eq!(loops(&Function::grad(summed, &few)), 0);
    assert!(Function::stage(summed, &many).executable().peak_bytes() < 16 << 20);
    let gradient = Function::grad(cut, &many);
    assert!(gradient.executable().peak_bytes() < 16 << 20, "{}", gradient.executable().explain());
    assert_eq!(loops(&gradient), 1, "{}", gradient.optimized());
}

/// `x - (y - sin h)` is `sin h + (x - y)`: in a sum or difference of a function of the state and of two rows, in all
/// brackets, orders and signs, the rows are added up before the loop, which reads one.
#[test]
fn rows_in_sums_of_any_brackets_are_added_before_the_loop() {
    let binary = |minus: bool, a: &Term, b: &Term| a.binary(if minus { Binary::Sub } else { Binary::Add }, b);
    let inputs = [(&[][..], 1), (&[6], 2), (&[6], 3)].map(|(shape, seed)| Array::uniform(shape, -1.0, 1.0, seed));
    for case in 0..48 {
        let [left, first, second] = [1, 2, 4].map(|bit| case & bit != 0);
        let order = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][case / 8];
        let variables = inputs.each_ref().map(|a| Term::variable(a.shape(), DType::F64));
        let [h, x, y] = &variables;
        let mut step = |carry: Vec<Term>, rows: &[Term]| {
            let terms = [carry[0].unary(Unary::Sin), rows[0].clone(), rows[1].clone()];
            let [p, q, r] = order.map(|k| &terms[k]);
            let next =
                if left { binary(second, &binary(first, p, q), r) } else { binary(first, p, &binary(second, q, r)) };
            (vec![next], Vec::new())
        };
        let (last, _) = Term::map_accum(6, false, vec![h.clone()], &[x.clone(), y.clone()], &mut step);
        let program = Term::program(&variables, &last, &[]).expect("closed");
        let ready = optimize(&program);
        let values = [&program, &ready].map(|p| interpret(p, inputs.to_vec())[0].item::<f64>().expect("a number"));
        assert!((values[0] - values[1]).abs() < 1e-12, "{values:?}: {program}\nis {ready}");
        let rows =
            ready.nodes().iter().filter_map(|node| if let Op::Loop(l) = &node.op { Some(l.xs.len()) } else { None });
        assert_eq!(rows.collect::<Vec<_>>(), [1], "{program}\nis {ready}");
    }
}
