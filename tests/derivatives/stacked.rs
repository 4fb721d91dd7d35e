//! Structures as carry, rows and outputs of loops.
//!
//! Law: a loop over a structure is the loop over its leaves, whichever the structure: a tuple, a `Vec`, a struct. So
//! are its derivatives, in every interpreter.

use std::collections::BTreeMap;

use polygrad::tree::{Keep, Stacked};
use polygrad::{
    BaseTensor, Concrete, Function, Tensor, Tree, associative_scan, checkpoint, direct, fold, grad, hvp, iterate_all,
    jvp, map, map_accum, map_accum_reverse, parallel_scan, scan, tensor, vmap, while_loop_within, zip_with,
};

/// A row, a carry and an output: leaves of two ranks, plain data, and a container.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Part<T: BaseTensor> {
    gain: Tensor<T, 0>,
    bias: Vec<Tensor<T, 1>>,
    name: String,
}

type Flat<T> = (Tensor<T, 0>, Tensor<T, 1>);
type Flats<T> = (Tensor<T, 1>, Tensor<T, 2>);

fn part<T: BaseTensor>((gain, bias): &Flat<T>) -> Part<T> {
    Part { gain: gain.clone(), bias: vec![bias.clone()], name: "part".into() }
}

fn flat<T: BaseTensor>(part: &Part<T>) -> Flat<T> {
    (part.gain.clone(), part.bias[0].clone())
}

/// The stack of parts of these leaves.
fn parts<T: BaseTensor>((gains, biases): &Flats<T>) -> Stacked<T, Part<T>> {
    map((gains, biases), part)
}

fn flats<T: BaseTensor>(parts: &Stacked<T, Part<T>>) -> Flats<T> {
    (parts.field(|part| &part.gain), parts.field(|part| &part.bias[0]))
}

/// The next carry and an output.
fn step<T: BaseTensor>((g, b): Flat<T>, (x, y): &Flat<T>) -> (Flat<T>, Flat<T>) {
    let next = ((&g * x).sin() + b.sum() * 0.1, (b * &g + y).tanh());
    let out = (&next.0 * x, &next.1 * y);
    (next, out)
}

/// A number that depends on all of these.
fn mixed<T: BaseTensor>((g, b): &Flat<T>, (gs, bs): &Flats<T>) -> Tensor<T, 0> {
    g * 0.7 + b.square().sum() + gs.sin().sum() + (bs * 1.3).cos().sum()
}

/// The loops of a name, as loops over tuples and as loops over structs.
const LOOPS: [&str; 10] =
    ["fold", "scan", "map_accum", "reverse", "checkpoint", "map", "vec", "associative", "parallel", "while"];

fn over_tuples<T: BaseTensor>(which: &str, start: &Flat<T>, rows: &Flats<T>) -> Tensor<T, 0> {
    let (last, all) = match which {
        "fold" => (fold(start, rows, |c: Flat<T>, x: &Flat<T>| step(c, x).0), rows.clone()),
        "scan" => (start.clone(), scan(start, rows, |c: Flat<T>, x: &Flat<T>| step(c, x).0)),
        "map_accum" => map_accum(start, rows, step),
        "reverse" => map_accum_reverse(start, rows, step),
        "checkpoint" => checkpoint(2).map_accum(start, rows, step),
        "map" => (start.clone(), map(rows, |x| step(start.clone(), x).1)),
        "vec" => map_accum(start, rows, step),
        "associative" => {
            (start.clone(), associative_scan(rows, |(a, b): &Flat<T>, (c, d): &Flat<T>| (a * c, b * c + d)))
        }
        "parallel" => (start.clone(), parallel_scan(rows, |(a, b): &Flat<T>, (c, d): &Flat<T>| (a * c, b * c + d))),
        "while" => {
            let trip = |c: Flat<T>| step(c.clone(), &c).0;
            (while_loop_within(5, start, |c: &Flat<T>| c.0.lt(5.0), trip), rows.clone())
        }
        other => unreachable!("{other}"),
    };
    mixed(&last, &all)
}

fn over_structs<T: BaseTensor>(which: &str, start: &Flat<T>, rows: &Flats<T>) -> Tensor<T, 0> {
    let (first, stack) = (part(start), parts(rows));
    let trip = |c: Part<T>, x: &Part<T>| {
        let (next, out) = step(flat(&c), &flat(x));
        (part(&next), part(&out))
    };
    let (last, all) = match which {
        "fold" => (fold(&first, &stack, |c, x| trip(c, x).0), stack),
        "scan" => (first.clone(), scan(&first, &stack, |c, x| trip(c, x).0)),
        "map_accum" => map_accum(&first, &stack, trip),
        "reverse" => map_accum_reverse(&first, &stack, trip),
        "checkpoint" => checkpoint(2).map_accum(&first, &stack, trip),
        "map" => (first.clone(), map(&stack, |x| trip(first.clone(), x).1)),
        "vec" => {
            let (last, mut ys) = map_accum(&first, vec![&stack], |c, x: &Vec<Part<T>>| {
                let (c, y) = trip(c, &x[0]);
                (c, vec![y])
            });
            (last, ys.remove(0))
        }
        "associative" => {
            let combined = |a: &Part<T>, b: &Part<T>| part(&(&a.gain * &b.gain, &a.bias[0] * &b.gain + &b.bias[0]));
            (first, associative_scan(&stack, combined))
        }
        "parallel" => {
            let combined = |a: &Part<T>, b: &Part<T>| part(&(&a.gain * &b.gain, &a.bias[0] * &b.gain + &b.bias[0]));
            (first, parallel_scan(&stack, combined))
        }
        "while" => {
            let go = |c: &Part<T>| c.gain.lt(5.0);
            (while_loop_within(5, first, go, |c: Part<T>| trip(c.clone(), &c).0), stack)
        }
        other => unreachable!("{other}"),
    };
    mixed(&flat(&last), &flats(&all))
}

type Point<T> = (Flat<T>, Flats<T>);

fn point(n: usize) -> Point<Concrete> {
    let waves = |k: usize, s: f64| (Tensor::<Concrete, 1>::linspace(0.0, k as f64, k) * s + 0.4).sin();
    ((tensor(0.8), waves(2, 1.1)), (waves(n, 0.9), waves(2 * n, 0.7).reshape([n, 2])))
}

#[track_caller]
fn close(what: &str, a: &Point<Concrete>, b: &Point<Concrete>) {
    let (a, b) = (a.ravel(), b.ravel());
    assert!((&a - &b).abs().sum().item() < 1e-12, "{what}: {a:?} and {b:?}");
}

#[test]
fn loops_over_structs_are_those_over_their_leaves() {
    for n in [0, 1, 5] {
        let x = point(n);
        for which in LOOPS {
            let value = over_tuples(which, &x.0, &x.1);
            assert_eq!(over_structs(which, &x.0, &x.1), value, "{which}");
            let slope = direct::grad(|(c, x)| over_tuples(which, c, x), &x);
            close(which, &direct::grad(|(c, x)| over_structs(which, c, x), &x), &slope);
            close(which, &grad(|(c, x)| over_structs(which, c, x), &x), &slope);
            let forward = jvp(|(c, x)| over_structs(which, c, x), &x, &x);
            assert_eq!(forward, jvp(|(c, x)| over_tuples(which, c, x), &x, &x), "{which}");
            let curvature = hvp(|(c, x)| over_tuples(which, c, x), &x, &x);
            close(which, &hvp(|(c, x)| over_structs(which, c, x), &x, &x), &curvature);
        }
    }
}

#[test]
fn a_recorded_loop_over_structs_is_the_one_over_their_leaves() {
    let x = point(5);
    for which in LOOPS {
        let tuples = Function::stage(|(c, x): &Point<_>| over_tuples(which, c, x), &x);
        let structs = Function::stage(|(c, x): &Point<_>| over_structs(which, c, x), &x);
        assert_eq!(structs.optimized().to_string(), tuples.optimized().to_string(), "{which}");
    }
}

/// What is done to arrays, and to stacks of structs.
const WHOLE: [&str; 6] = ["build", "take", "scatter", "sum", "at", "nested"];

/// The operation on each array (structure of arrays).
fn on_arrays<T: BaseTensor>(which: &str, start: &Flat<T>, (gs, bs): &Flats<T>) -> Tensor<T, 0> {
    let ix = Tensor::<T, 1, i64>::iota(7) * 2 - 3;
    let all = match which {
        "build" => map(0..4, |i| {
            let (g, b) = (gs.at([i]), bs.at([i]));
            (g * &start.0, b.tanh() + i.to_float::<f64>())
        }),
        "take" => (gs.take(&ix), bs.take(&ix)),
        "scatter" => {
            let (gains, biases) = (gs.take(&ix).sin(), bs.take(&ix).sin());
            let ix = ix + 1;
            (gs.clone().scatter_add([&ix], &gains), bs.clone().scatter_add([&ix], &biases))
        }
        "sum" => return mixed(&(gs.sum(), bs.sum_outer()), &(gs.clone(), bs.clone())),
        "at" => return mixed(&(gs.at([1]), bs.at([1])), &(gs.clone(), bs.clone())),
        "nested" => {
            let deep: (Tensor<T, 2>, Tensor<T, 3>) = map(0..3, |i| {
                let by = i.to_float::<f64>();
                map((gs, bs), |(g, b)| (g * &by, b * &by))
            });
            let ix = Tensor::<T, 1, i64>::iota(2) + 1;
            let (gains, biases): Flats<T> = (deep.0.take(&ix).sum_outer(), deep.1.take(&ix).sum_outer());
            (gains, biases)
        }
        other => unreachable!("{other}"),
    };
    mixed(start, &all)
}

/// The operation on the array of structs.
fn on_stacks<T: BaseTensor>(which: &str, start: &Flat<T>, rows: &Flats<T>) -> Tensor<T, 0> {
    let (ix, stack) = (Tensor::<T, 1, i64>::iota(7) * 2 - 3, parts(rows));
    let all = match which {
        "build" => Stacked::build(4, |i| {
            let row = stack.at(i);
            part(&(row.gain * &start.0, row.bias[0].tanh() + i.to_float::<f64>()))
        }),
        "take" => stack.take(&ix),
        "scatter" => {
            let more = map(stack.take(&ix), |row| part(&(row.gain.sin(), row.bias[0].sin())));
            stack.scatter_add(&(ix + 1), &more)
        }
        "sum" => return mixed(&flat(&stack.sum()), rows),
        "at" => return mixed(&flat(&stack.at(&Tensor::constant(1))), rows),
        "nested" => {
            let scaled = |row: &Part<T>, by: &Tensor<T, 0>| part(&(&row.gain * by, &row.bias[0] * by));
            let deep = Stacked::build(3, |i| {
                let by = i.to_float::<f64>();
                map(&stack, |row| scaled(row, &by))
            });
            deep.take(&(Tensor::iota(2) + 1)).sum()
        }
        other => unreachable!("{other}"),
    };
    mixed(start, &flats(&all))
}

/// A stack is isomorphic to the arrays of its fields: values, derivatives, and recorded programs are the same.
#[test]
fn operations_on_stacks_are_those_on_their_leaves() {
    for n in [0, 1, 5] {
        let x = point(n);
        for which in WHOLE {
            let what = format!("{which} of {n} rows");
            let value = on_arrays(which, &x.0, &x.1);
            assert_eq!(on_stacks(which, &x.0, &x.1), value, "{what}");
            let slope = direct::grad(|(c, x)| on_arrays(which, c, x), &x);
            close(&what, &direct::grad(|(c, x)| on_stacks(which, c, x), &x), &slope);
            close(&what, &grad(|(c, x)| on_stacks(which, c, x), &x), &slope);
            assert_eq!(
                jvp(|(c, x)| on_stacks(which, c, x), &x, &x),
                jvp(|(c, x)| on_arrays(which, c, x), &x, &x),
                "{what}"
            );
            let curvature = hvp(|(c, x)| on_arrays(which, c, x), &x, &x);
            close(&what, &hvp(|(c, x)| on_stacks(which, c, x), &x, &x), &curvature);
            let arrays = Function::value_and_grad(|(c, x): &Point<_>| on_arrays(which, c, x), &x);
            let stacks = Function::value_and_grad(|(c, x): &Point<_>| on_stacks(which, c, x), &x);
            assert_eq!(stacks.optimized().to_string(), arrays.optimized().to_string(), "{what}");
        }
    }
}

/// Structs that are read at indices: a view of each array, since these indices are affine.
#[test]
fn the_program_of_an_array_of_structs_is_the_one_of_arrays() {
    let stack = parts(&(tensor([1.0, 2.0, 3.0]), tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])));
    let picked = Function::stage(
        |stack: &Stacked<_, Part<_>>| {
            let both = stack.take(&Tensor::constant([2, 0]));
            map(&both, |row| &row.bias[0] * &row.gain)
        },
        &stack,
    );
    let expected = "\
program(x.gain: f64[3], x.bias.0: f64[3, 2]) {
  t0 = (view [i<2, j<2] -> x.bias.0[2 - 2*i, j]) * (view [i<2, j<2] -> x.gain[2 - 2*i])
  return t0
}";
    assert_eq!(picked.optimized().to_string().trim_end(), expected);
    assert_eq!(picked.run(&stack).expect("runs"), tensor([[15.0, 18.0], [1.0, 2.0]]));
}

/// `at` of a stack that is built is the function, and a stack is built of its rows; without rows it has the structure
/// of the function at zeros.
#[test]
fn built_stacks_are_functions() {
    let f = |i: &Tensor<Concrete, 0, i64>| {
        let x = i.to_float::<f64>();
        part(&(x.sin(), tensor([1.0, 2.0]) * &x))
    };
    for n in [0, 1, 4] {
        let stack = Stacked::build(n, f);
        for k in 0..n {
            assert_eq!(stack.at(&tensor(k as i64)), f(&tensor(k as i64)));
            assert_eq!(stack.row(k), f(&tensor(k as i64)));
        }
        assert_eq!(Stacked::build(n, |i| stack.at(i)), stack);
        assert_eq!(stack.take(&Tensor::iota(n)), stack);
        assert_eq!(stack.field(|part| &part.bias[0]).shape(), [n, 2]);
    }
    assert_eq!(Stacked::build(0, f).sum(), part(&(tensor(0.0), tensor([0.0, 0.0]))));
}

#[test]
fn a_stack_has_its_rows() {
    let rows: Vec<Part<Concrete>> = (0..3).map(|k| part(&(tensor(f64::from(k)), tensor([0.5, 1.5])))).collect();
    let stack = Stacked::new(&rows);
    assert_eq!((stack.len(), stack.is_empty()), (3, false));
    assert_eq!(stack.unstack(), rows);
    assert_eq!(stack.at(&tensor(2)), rows[2]);
    assert_eq!(stack.at(&tensor(3)).gain, tensor(0.0));
    assert_eq!(stack.names(), rows[0].names());
    assert_eq!(stack.field(|part| &part.bias[0]), tensor([[0.5, 1.5], [0.5, 1.5], [0.5, 1.5]]));
    assert_eq!(format!("{stack:?}"), r#"{"gain": "f64 [3]", "bias.0": "f64 [3, 2]"}"#);
    // A stack is a tree: its key has its length, and leaves can be put into it.
    assert_ne!(stack.key(), Stacked::new(&rows[..2]).key());
    assert_eq!(stack.with_leaves(Stacked::new(&rows[..2]).leaves()).len(), 2);
    // Rows that are stacks, and stacks of stacks.
    let scales = tensor([1.0, 2.0]);
    let doubled = vmap(|row: &Tensor<Concrete, 0>| map(&stack, |part| part.gain.clone() * row));
    assert_eq!(doubled(&scales), tensor([[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]]));
    let twice: Stacked<Concrete, Stacked<Concrete, Part<Concrete>>> = map(0..2, |_| stack.clone());
    assert_eq!(twice.row(1), stack);
    assert_eq!(map(&twice, |stack: &Stacked<Concrete, Part<Concrete>>| stack.row(1).gain), tensor([1.0, 1.0]));
}

/// The leaves of a variant.
#[derive(Tree, Clone, Debug, PartialEq)]
enum Shape<T: BaseTensor> {
    Circle(Tensor<T, 0>),
    Square { side: Tensor<T, 0>, corner: Option<Tensor<T, 1>> },
}

#[test]
fn rows_and_outputs_may_be_any_tree() {
    let x = tensor([1.0, 2.0, 3.0]);
    // Each of a list of sequences has a shape of its own.
    let wide = tensor([[1.0], [2.0], [3.0]]);
    let sums = map(vec![wide.clone(), &wide * 2.0], |rows| rows.iter().map(|row| row.sum()).collect::<Vec<_>>());
    assert_eq!(sums, vec![x.clone(), &x * 2.0]);
    let named = zip_with(BTreeMap::from([("a", &x)]), Some(Box::new(&x)), |named, other| {
        let other = other.as_ref().map(|x| &**x * 2.0);
        (BTreeMap::from([("b", &named["a"] + 1.0)]), other.map(Box::new), Keep(3))
    });
    assert_eq!(named, (BTreeMap::from([("b", &x + 1.0)]), Some(Box::new(&x * 2.0)), Keep(3)));
    let squares = iterate_all(2, Shape::Square { side: tensor(1.0), corner: None }, |_, shape: Shape<Concrete>| {
        let Shape::Square { side, corner } = shape else { unreachable!("the carry is a square") };
        Shape::Square { side: side * 2.0, corner }
    });
    assert_eq!(squares.row(2), Shape::Square { side: tensor(4.0), corner: None });
    let circles = map(&x, |r: &Tensor<Concrete, 0>| Shape::Circle(r.clone()));
    assert_eq!(circles.unstack().len(), 3);
    // A structure that is generic in its parts.
    #[derive(Tree, Clone, Debug, PartialEq)]
    struct Pair<P> {
        first: P,
        second: P,
    }
    let pairs = map(&x, |x: &Tensor<Concrete, 0>| Pair { first: x.clone(), second: x * 2.0 });
    assert_eq!(pairs.field(|pair| &pair.second), &x * 2.0);
}
