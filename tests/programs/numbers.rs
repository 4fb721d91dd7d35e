//! Loops over small arrays, number by number.
//!
//! Law: the pass keeps the meaning of every body, to the bit where no sum is reordered. On integers sums are exact, so
//! random bodies of exact operations have equal results whatever the order. Beside the law: which loops become code on
//! registers, and which stay as they are.

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::ops::{Binary, Compare, Discrete, Linear, Reduce, Unary};
use polygrad::passes::replace_scalars;
use polygrad::program::{Program, Term, interpret};
use polygrad::shape::size;
use polygrad::{
    Array, BaseTensor, Concrete, DType, Function, Tensor, concat, iterate, scan, stack, tensor, while_loop,
    while_loop_within,
};

use crate::support::{assert_close, random_contract, random_linear, random_view};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

/// The most elements of a value of a random body.
const MOST: usize = 16;

/// A value that stays a small integer.
fn bounded(x: &Term) -> Term {
    let full = |bound: f64| Term::constant(Array::full(x.shape(), bound));
    x.binary(Binary::Min, &full(9.0)).binary(Binary::Max, &full(-9.0))
}

/// Values of a body: floats, indices and masks of rank 0.
struct Pool {
    floats: Vec<Term>,
    indices: Vec<Term>,
    table: Term,
}

impl Pool {
    fn float(&self, rng: &mut Rng) -> Term {
        self.floats[rng.below(self.floats.len())].clone()
    }

    /// A value of this shape, seen through a random view if there is none.
    fn of_shape(&self, rng: &mut Rng, shape: &[usize]) -> Term {
        let fit: Vec<&Term> = self.floats.iter().filter(|x| x.shape() == shape).collect();
        if !fit.is_empty() && rng.below(4) > 0 {
            return fit[rng.below(fit.len())].clone();
        }
        let x = self.float(rng);
        x.linear(&Linear::read(random_view(rng, x.shape(), shape)))
    }

    fn index(&self, rng: &mut Rng) -> Term {
        if rng.below(3) == 0 {
            return Term::constant((rng.below(5) as i64 - 1).into());
        }
        self.indices[rng.below(self.indices.len())].clone()
    }
}

/// A random operation on small arrays of integers.
fn operation(pool: &Pool, rng: &mut Rng) -> Option<Term> {
    let x = pool.float(rng);
    let (shape, rank) = (x.shape().to_vec(), x.shape().len());
    let axis = if rank > 0 { rng.below(rank) } else { 0 };
    let compared = |rng: &mut Rng| {
        let op = [Compare::Lt, Compare::Ge, Compare::Eq, Compare::Ne][rng.below(4)];
        Term::discrete(&Discrete::Compare(op), &[&x, &pool.of_shape(rng, &shape)])
    };
    Some(match rng.below(13) {
        0 => x.unary([Unary::Neg, Unary::Abs, Unary::Square, Unary::Relu][rng.below(4)]),
        1 | 2 => {
            let op = [Binary::Add, Binary::Sub, Binary::Mul, Binary::MulNoNan, Binary::Min][rng.below(5)];
            x.binary(op, &pool.of_shape(rng, &shape))
        }
        3 | 4 => x.linear(&random_linear(rng, &shape)),
        5 => {
            let op = random_contract(rng);
            let (a, b) = (pool.of_shape(rng, op.a.source()), pool.of_shape(rng, op.b.source()));
            Term::contract(&op, &a, &b)
        }
        6 if rank > 0 => x.reduce(Reduce::all(axis)[rng.below(2)]),
        7 if rank > 0 => {
            let op = if rng.below(2) == 0 { Discrete::ArgMax { axis } } else { Discrete::ArgMin { axis } };
            Term::discrete(&Discrete::ToFloat(DType::F64), &[&Term::discrete(&op, &[&x])])
        }
        8 => {
            let mask = compared(rng);
            let mask = if rng.below(2) == 0 { Term::discrete(&Discrete::Not, &[&mask]) } else { mask };
            Term::select(&mask, &x, &pool.of_shape(rng, &shape))
        }
        9 if rank > 0 => {
            let ix: Vec<Term> = (0..1 + rng.below(rank)).map(|_| pool.index(rng)).collect();
            x.gather(&ix)
        }
        10 if rank > 0 => {
            let ix = [pool.index(rng)];
            let row = pool.of_shape(rng, &shape[1..]);
            x.scatter_add(&ix, &row)
        }
        11 if rank > 0 => Term::concat(axis, &[x, pool.of_shape(rng, &shape)]),
        12 => pool.table.gather(&[pool.index(rng)]),
        _ => return None,
    })
}

/// A program of one loop with a random body over small arrays, and inputs for it.
fn random(seed: u64) -> (Program, Vec<Array>) {
    let rng = &mut Rng::new(seed);
    let n = 1 + rng.below(5);
    let integers = |rng: &mut Rng, shape: &[usize]| {
        let elements: Vec<f64> = (0..size(shape)).map(|_| rng.below(7) as f64 - 3.0).collect();
        Array::new(shape, elements)
    };
    let shapes: [&[usize]; 7] = [&[], &[2], &[3], &[2, 2], &[n, 2], &[n, 2, 2], &[30, 2]];
    let inputs: Vec<Array> = shapes.iter().map(|shape| integers(rng, shape)).collect();
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let reverse = rng.below(2) == 0;
    let (carry, outputs) =
        Term::map_accum(n, reverse, variables[1..4].to_vec(), &variables[4..6], &mut |carry, rows| {
            let shapes: Vec<Vec<usize>> = carry.iter().map(|c| c.shape().to_vec()).collect();
            let mut floats = [&carry[..], rows, &variables[..1]].concat();
            floats.push(Term::constant(Array::from([1.0, 0.0, -2.0])));
            let mut pool = Pool { floats, indices: Vec::new(), table: variables[6].clone() };
            let at = carry[0].linear(&Linear::row(&[2], 0, 1));
            pool.indices.push(Term::discrete(&Discrete::ToInt, &[&at]));
            for _ in 0..[2, 5, 12, 30][rng.below(4)] {
                if let Some(term) = operation(&pool, rng).filter(|term| (1..=MOST).contains(&size(term.shape()))) {
                    pool.floats.push(bounded(&term));
                }
            }
            let next = shapes.iter().map(|shape| pool.of_shape(rng, shape)).collect();
            (next, (0..rng.below(4)).map(|_| pool.float(rng)).collect())
        });
    let results = [carry, outputs].concat();
    (Term::program(&variables, &results, &[]).expect("a closed program"), inputs)
}

/// A random program without loops, and inputs for it.
fn random_straight(seed: u64) -> (Program, Vec<Array>) {
    let rng = &mut Rng::new(seed);
    let shapes: [&[usize]; 5] = [&[], &[2], &[3], &[2, 2], &[9, 2]];
    let inputs: Vec<Array> = shapes
        .iter()
        .map(|shape| Array::new(shape, (0..size(shape)).map(|_| rng.below(7) as f64 - 3.0).collect()))
        .collect();
    let variables: Vec<Term> = inputs.iter().map(|x| Term::variable(x.shape(), x.dtype())).collect();
    let mut floats = variables[..4].to_vec();
    floats.push(Term::constant(Array::from([1.0, 0.0, -2.0])));
    let mut pool = Pool { floats, indices: Vec::new(), table: variables[4].clone() };
    let at = variables[1].linear(&Linear::row(&[2], 0, 1));
    pool.indices.push(Term::discrete(&Discrete::ToInt, &[&at]));
    for _ in 0..[2, 5, 12, 30][rng.below(4)] {
        if let Some(term) = operation(&pool, rng).filter(|term| (1..=MOST).contains(&size(term.shape()))) {
            pool.floats.push(bounded(&term));
        }
    }
    let results: Vec<Term> = (0..1 + rng.below(3)).map(|_| pool.float(rng)).collect();
    (Term::program(&variables, &results, &[]).expect("a closed program"), inputs)
}

#[test]
fn random_programs_of_small_arrays_have_the_same_results() {
    let mut replaced = 0;
    for seed in 0..300 {
        let (program, inputs) = random_straight(seed);
        let expected = interpret(&program, inputs.clone());
        let numbers = replace_scalars(&program);
        assert_eq!(interpret(&numbers, inputs.clone()), expected, "seed {seed}: {program}\n{numbers}");
        assert_eq!(compile(&program).run(&inputs), expected, "seed {seed}: {program}\n{numbers}");
        replaced += usize::from(numbers != program);
    }
    assert!((50..300).contains(&replaced), "{replaced} programs run on scalars");
}

/// The orientation and the position of the end of an arm of 7 joints.
fn arm<T: BaseTensor>(q: &Vector<T>) -> Vector<T> {
    let q: [Number<T>; 7] = q.unstack();
    let (zero, one) = (Number::<T>::constant(0.0), Number::<T>::constant(1.0));
    let (mut turn, mut end) = (Matrix::<T>::eye(3), Vector::<T>::zeros([3]));
    for (k, q) in q.iter().enumerate() {
        let (s, c) = (q.sin(), q.cos());
        let rows = match k % 2 {
            0 => [c.clone(), -&s, zero.clone(), s, c, zero.clone(), zero.clone(), zero.clone(), one.clone()],
            _ => [c.clone(), zero.clone(), s.clone(), zero.clone(), one.clone(), zero.clone(), -&s, zero.clone(), c],
        };
        turn = turn.matmul(&stack::<_, 0, 1, _>(rows).reshape([3, 3]));
        end += turn.matvec(&Tensor::constant([0.1, 0.02 * k as f64, 0.3]));
    }
    concat(0, [turn.flatten(), end])
}

#[test]
fn programs_of_small_arrays_run_on_scalars_where_that_takes_less_time() {
    let angles: Vector<Concrete> = Tensor::constant(Array::uniform(&[7], -1.0, 1.0, 5));
    let reach = |q: &Vector<_>| (arm(q) - Vector::full([12], 0.3)).square().sum();
    for (name, text) in [
        ("arm", Function::stage(arm, &angles).explain()),
        ("gradient of the reach of an arm", Function::value_and_grad(reach, &angles).explain()),
    ] {
        assert!(text.contains("  numbers: ") && !text.contains("product: "), "{name}: {text}");
    }
    let slope = Function::grad(reach, &angles);
    let expected = interpret(slope.optimized(), vec![angles.raw().clone()]);
    assert_close("gradient of the reach", &expected[0], slope.run(&angles).expect("as traced").raw(), 1e-13);
    // Large products stay.
    let network = |n: usize| {
        let of = |shape: &[usize]| Array::uniform(shape, -1.0, 1.0, 6);
        let (a, x): (Matrix<Concrete>, Vector<Concrete>) = (Tensor::constant(of(&[n, n])), Tensor::constant(of(&[n])));
        Function::grad(|(a, x): &(Matrix<_>, Vector<_>)| a.matvec(&a.matvec(x).tanh()).square().sum(), &(a, x))
            .explain()
    };
    assert!(network(3).contains("  numbers: ") && network(24).contains("product: "), "{}\n{}", network(3), network(24));
}

#[test]
fn random_bodies_of_small_arrays_have_the_same_results() {
    let mut arrays = 0;
    for seed in 0..600 {
        let (program, inputs) = random(seed);
        let expected = interpret(&program, inputs.clone());
        let numbers = replace_scalars(&program);
        assert_eq!(interpret(&numbers, inputs.clone()), expected, "seed {seed}: {program}\n{numbers}");
        let executable = compile(&program);
        let text = executable.explain();
        executable.run(&inputs);
        assert_eq!(executable.run(&inputs), expected, "seed {seed}: {program}\n{numbers}\n{text}");
        arrays += usize::from(text.contains("loop of"));
    }
    // Gathers from what a loop carries, by an index that is computed, and bodies of too many operations.
    assert!(arrays < 30, "{arrays} loops are not code on registers");
}

#[test]
fn a_body_is_written_number_by_number() {
    let f = Function::stage(
        |x: &Vector<_>| iterate(20, x, |_, y: Vector<_>| &y - 0.1 * x * y.square().sum()),
        &tensor([1.0, 2.0]),
    );
    let expected = "\
program(x: f64[2]) {
  t0 = 0.1 * x
  t1 = loop 20 carry (h0 = x) with (t0) {
    t2 = row 0 h0
    t3 = row 1 h0
    t4 = square t2 + square t3
    t5 = reshape [1] (t2 - row 0 t0 * t4)
    t6 = reshape [1] (t3 - row 1 t0 * t4)
    next concat axis=0 [t5, t6]
  }
  return t1
}";
    assert_eq!(replace_scalars(f.optimized()).to_string(), expected);
}

/// A particle that falls towards the origin, pushed by these forces, with all that it comes by.
fn fall<T: BaseTensor>(start: &Vector<T>, forces: &Matrix<T>) -> [Matrix<T>; 2] {
    scan([start.clone(), start * 0.5], forces, |[x, v]: [Vector<T>; 2], push: &Vector<T>| {
        let v = v - 0.1 * &x / x.square().sum().sqrt() + push;
        [x + 0.1 * &v, v]
    })
}

fn lorenz<T: BaseTensor>(start: &Vector<T>) -> Vector<T> {
    iterate(50, start, |_, s: Vector<T>| {
        let [x, y, z]: [Number<T>; 3] = s.unstack();
        let moved = stack([10.0 * (&y - &x), &x * (28.0 - &z) - &y, &x * &y - 8.0 / 3.0 * z]);
        s + 0.01 * moved
    })
}

/// Steps downhill until they are short, and at most so many.
fn downhill<T: BaseTensor>(most: Option<usize>, start: &Vector<T>) -> Vector<T> {
    let slope = |x: &Vector<T>| 2.0 * x * stack([Tensor::scalar(1.0), Tensor::scalar(0.3)]);
    let go = |x: &Vector<T>| slope(x).square().sum().gt(0.01);
    let step = |x: Vector<T>| &x - 0.2 * slope(&x).sin();
    match most {
        Some(most) => while_loop_within(most, start, go, step),
        None => while_loop(start, go, step),
    }
}

#[test]
fn loops_over_small_arrays_are_code_on_registers() {
    let start: Vector<Concrete> = tensor([1.0, 2.0, 3.0]);
    let (flat, forces): (Vector<Concrete>, Matrix<Concrete>) =
        (tensor([1.0, 2.0]), Tensor::constant(Array::uniform(&[20, 2], -0.1, 0.1, 1)));
    let loss = |x: &Vector<_>, f: &Matrix<_>| {
        let [x, v] = fall(x, f);
        x.square().sum() + v.sum()
    };
    let texts = [
        Function::stage(lorenz, &start).explain(),
        Function::grad(|x: &Vector<_>| lorenz(x).sum(), &start).explain(),
        Function::jvp(lorenz, &start).explain(),
        Function::stage_with(fall, &flat, &forces).explain(),
        Function::grad_with(loss, &flat, &forces).explain(),
        Function::stage(|x: &Vector<_>| downhill(None, x), &flat).explain(),
        Function::stage(|x: &Vector<_>| downhill(Some(90), x), &flat).explain(),
        Function::grad(|x: &Vector<_>| downhill(Some(90), x).sum(), &flat).explain(),
    ];
    for text in texts {
        assert!(text.contains("numbers, ") && !text.contains("loop of"), "{text}");
        assert!(!text.contains("loop until"), "{text}");
    }
    // The loops within a loop; around them there are steps.
    let around = |x: &Vector<_>| iterate(7, x, |_, x: Vector<_>| downhill(Some(90), &(x * 3.0)));
    for text in
        [Function::stage(around, &flat).explain(), Function::grad(|x: &Vector<_>| around(x).sum(), &flat).explain()]
    {
        let inner: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
        assert!(inner.iter().any(|line| line.contains("numbers, ")), "{text}");
        assert!(text.lines().all(|line| !line.starts_with("  ") || !line.contains("    loop of")), "{text}");
    }
}

#[test]
fn derivatives_of_small_loops_agree() {
    let (flat, forces): (Vector<Concrete>, Matrix<Concrete>) =
        (tensor([1.0, 2.0]), Tensor::constant(Array::uniform(&[20, 2], -0.1, 0.1, 1)));
    let f = Function::grad_with(
        |x: &Vector<_>, f: &Matrix<_>| {
            let [x, v] = fall(x, f);
            x.square().sum() + v.sum() + downhill(Some(90), &x.row(20)).sum()
        },
        &flat,
        &forces,
    );
    let inputs = [flat].map(|x| x.raw().clone()).into_iter().chain([forces.raw().clone()]);
    let inputs: Vec<Array> = inputs.collect();
    let (expected, found) = (interpret(f.optimized(), inputs.clone()), f.executable().run(&inputs));
    for (a, b) in expected.iter().zip(&found) {
        assert_close("gradient", a, b, 1e-12);
    }
}

#[test]
fn large_values_and_operations_without_a_form_stay() {
    fn same(f: &Program) {
        assert_eq!(&replace_scalars(f), f);
    }
    let of = |n: usize| -> Vector<Concrete> { Tensor::constant(Array::uniform(&[n], 0.1, 0.9, 1)) };
    // One large value is enough.
    same(Function::stage(|x: &Vector<_>| iterate(9, x, |_, y: Vector<_>| &y * x + y.sum()), &of(17)).optimized());
    let table: Matrix<Concrete> = Tensor::constant(Array::uniform(&[9, 2], 0.1, 0.9, 2));
    let inside = |x: &Vector<_>, table: &Matrix<_>| {
        iterate(9, x, |_, y: Vector<_>| {
            let many: Matrix<_> = y.replicate(9);
            y + (many + table).sin().sum_outer::<1>()
        })
    };
    same(Function::stage_with(inside, &of(2), &table).optimized());
    // Functions of many numbers, and equations.
    same(Function::stage(|x: &Vector<_>| iterate(9, x, |_, y: Vector<_>| (y + x).sin()), &of(13)).optimized());
    let solved = |x: &Vector<_>| {
        iterate(9, x, |_, y: Vector<_>| {
            let a: Matrix<_> = y.outer(&y) + Tensor::<_, 2>::constant([[2.0, 0.0], [0.0, 3.0]]);
            a.solve(&y) + x
        })
    };
    same(Function::stage(solved, &of(2)).optimized());
    // Without a loop, arrays of many elements.
    same(Function::stage(|x: &Vector<_>| x * x.sum(), &of(200)).optimized());
}
