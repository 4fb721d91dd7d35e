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
