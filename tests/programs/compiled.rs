//! Compiled programs: they agree with the interpreter, and do no more passes, writes and allocations than they should.
//!
//! Law: up to rounding, [`compile`] changes no result: not over the gallery, at no size around those of tiles and
//! vectors, and for no special number. Guards count what a run does instead of timing it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use polygrad::backend::{Executable, compile};
use polygrad::ops::{Binary, Compare, Contract, Discrete, Linear, Unary, View};
use polygrad::passes::optimize;
use polygrad::program::{Builder, Op, Program, Slot, Term, interpret};
use polygrad::symbolic::value_and_grad_in;
use polygrad::tree::TreeMath;
use polygrad::{Array, BaseTensor, Concrete, DType, Function, FunctionOptions, Tensor, build1, iterate, stack, tensor};

use crate::gallery::{self, Objective, Recorded, Visitor};
use crate::support::floats;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static ZEROED: Cell<usize> = const { Cell::new(0) };
    /// The bytes that are held now, and the most that were: what one thread gives back for another may count as less
    /// than none.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn hold(bytes: isize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

/// The most bytes that something holds at once on this thread, beside those that were held before.
pub(crate) fn most_held_by(run: impl FnOnce()) -> usize {
    let before = HELD.with(Cell::get);
    MOST.with(|most| most.set(before));
    run();
    usize::try_from(MOST.with(Cell::get) - before).unwrap_or(0)
}

/// The bytes that something allocates on this thread, given back or not.
pub(crate) fn bytes_of(run: impl FnOnce()) -> usize {
    let before = BYTES.with(Cell::get);
    run();
    BYTES.with(Cell::get) - before
}

/// The bytes of [`bytes_of`] that are asked for as zeros.
pub(crate) fn zeroed_of(run: impl FnOnce()) -> usize {
    let before = ZEROED.with(Cell::get);
    run();
    ZEROED.with(Cell::get) - before
}

/// The system's allocator, which counts the allocations and the bytes of each thread.
struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
// SAFETY: every call is passed on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        hold(layout.size() as isize);
        // SAFETY: as required of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        let _ = ZEROED.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        hold(layout.size() as isize);
        // SAFETY: as required of the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    /// A long array grows where it is, so it is not held twice.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + size));
        hold(size as isize - layout.size() as isize);
        // SAFETY: as required of the caller.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: as required of the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The numbers of an array.
fn numbers(a: &Array) -> Vec<f64> {
    match a.dtype() {
        DType::F64 => a.to_vec::<f64>().expect("floats"),
        DType::F32 => a.to_vec::<f32>().expect("floats").iter().map(|x| f64::from(*x)).collect(),
        DType::I64 => a.to_vec::<i64>().expect("integers").iter().map(|x| *x as f64).collect(),
        DType::Bool => a.to_vec::<bool>().expect("masks").iter().map(|x| f64::from(u8::from(*x))).collect(),
    }
}

/// Asserts that a program gives the same compiled, up to rounding relative to the largest number of each result.
#[track_caller]
fn assert_agrees(program: &Program, inputs: &[Array], tolerance: f64, name: &str) {
    let expected = interpret(program, inputs.to_vec());
    let executable = compile(program);
    // The second run finds the memory as the first has left it.
    executable.run(inputs);
    for (a, b) in expected.iter().zip(executable.run(inputs)) {
        assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()), "{name}");
        let (a, b) = (numbers(a), numbers(&b));
        let scale = a.iter().copied().filter(|x| x.is_finite()).fold(1e-300, |m: f64, x| m.max(x.abs()));
        for (x, y) in a.iter().zip(&b) {
            let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * scale;
            assert!(same, "{name}: {x:e} and {y:e}\n{program}\n{}", executable.explain());
        }
    }
}

/// Every objective: its value with its gradient, as recorded and optimized.
struct Gallery;

impl Gallery {
    fn look(&mut self, case: &Recorded) {
        let (program, inputs) = (case.program(&[]), case.inputs());
        let wrt: Vec<usize> = (0..case.x.0.len()).collect();
        let recorded = value_and_grad_in(&program, &wrt);
        let optimized = optimize(&value_and_grad_in(&optimize(&program), &wrt));
        assert_agrees(&recorded, &inputs, case.tolerance, case.name);
        assert_agrees(&optimized, &inputs, case.tolerance, case.name);
        assert_allocates_nothing(&compile(&optimized), &inputs, case.name);
    }
}

impl Visitor for Gallery {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

/// Operations of linear algebra that allocate at every size.
const ALLOCATING: [&str; 8] = ["qr of", "eigh", "svd", "lstsq", "null_projection", "expm", "pivots of", "minors."];

/// Asserts that a run into memory that was there before allocates nothing, unless an operation is interpreted,
/// or is one of those of linear algebra that allocate.
#[track_caller]
fn assert_allocates_nothing(executable: &Executable, inputs: &[Array], name: &str) {
    if ALLOCATING.iter().chain(&["interpreted"]).any(|text| count(executable, text) > 0) {
        return;
    }
    // An array that is stored as one number is spelled out by each run.
    let spelled_out = |a: &Array| match a.dtype() {
        DType::F64 => Array::new(a.shape(), numbers(a)),
        DType::F32 | DType::I64 | DType::Bool => a.clone(),
    };
    let inputs: Vec<Array> = inputs.iter().map(spelled_out).collect();
    let (mut workspace, mut outputs) = (executable.workspace(), executable.run(&inputs));
    executable.run_into(&mut workspace, &inputs, &mut outputs);
    let before = ALLOCATIONS.get();
    executable.run_into(&mut workspace, &inputs, &mut outputs);
    let allocations = ALLOCATIONS.get() - before;
    assert_eq!(outputs, executable.run(&inputs), "{name}");
    assert_eq!(allocations, 0, "{name}\n{}", executable.explain());
}

#[test]
fn the_gallery_agrees() {
    gallery::each(&mut Gallery);
}

/// Numbers of all kinds.
fn hostile(n: usize) -> Vec<f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        1e308,
        -1e308,
        1e-300,
        709.9,
        -745.2,
        1e6,
        1e22,
    ];
    (0..n).map(|i| if i % 3 == 0 { special[i / 3 % special.len()] } else { (i as f64 * 0.37).sin() * 3.0 }).collect()
}

/// A program of one variable of this many elements.
fn of_one(n: usize, dtype: DType, f: impl Fn(&Term) -> Term) -> Program {
    let x = Term::variable(&[n], dtype);
    Term::program(std::slice::from_ref(&x), &[f(&x)], &[]).expect("a closed program")
}

#[test]
fn rows_agree_at_every_size_and_number() {
    for n in [0, 1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1000] {
        let x = Array::new(&[n], hostile(n));
        for (dtype, x, tolerance) in [(DType::F64, x.clone(), 0.0), (DType::F32, x.cast::<f32>(), 0.0)] {
            // Rounding is that of the kernels, which their own tests bound; here results need only be near.
            let near = tolerance + if dtype == DType::F64 { 1e-13 } else { 1e-5 };
            for op in Unary::ALL {
                let program = of_one(n, dtype, |x| x.unary(*op));
                let (a, b) =
                    (&interpret(&program, vec![x.clone()])[0], &compile(&program).run(std::slice::from_ref(&x))[0]);
                for ((x, a), b) in numbers(&x).iter().zip(numbers(a)).zip(numbers(b)) {
                    let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= near * a.abs().max(1e-290);
                    assert!(same, "{} {dtype} at {x:e}: {a:e} and {b:e}", op.name());
                }
            }
            for op in Binary::ALL {
                let program = of_one(n, dtype, |x| x.binary(*op, &x.unary(Unary::Neg)));
                let (a, b) =
                    (&interpret(&program, vec![x.clone()])[0], &compile(&program).run(std::slice::from_ref(&x))[0]);
                for ((x, a), b) in numbers(&x).iter().zip(numbers(a)).zip(numbers(b)) {
                    let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= near * a.abs().max(1e-290);
                    assert!(same, "{} {dtype} at {x:e}: {a:e} and {b:e}", op.name());
                }
            }
        }
    }
}

/// The compiled form of value and gradient.
fn gradient(f: impl Fn(&Tensor<Term, 1>) -> Tensor<Term, 0>, n: usize) -> Executable {
    let x =
        Tensor::<Concrete, 1>::from_raw(Array::new(&[n], (0..n).map(|i| 0.1 + 0.01 * i as f64).collect::<Vec<f64>>()));
    compile(Function::value_and_grad(f, &x).optimized())
}

/// The number of lines of a report that say this.
fn count(executable: &Executable, words: &str) -> usize {
    executable.explain().lines().filter(|line| line.contains(words)).count()
}

#[test]
fn value_and_gradient_of_a_chain_are_one_pass() {
    let f = gradient(|x| ((x * 2.0).sin() * x.exp() + x.square()).sum(), 1000);
    assert_eq!((count(&f, "group of"), count(&f, "bytes;")), (1, 0), "{}", f.explain());
    assert!(f.peak_bytes() < 40 * 1024, "{}", f.explain());
}

#[test]
fn a_reversed_dot_product_and_its_gradient_are_one_pass() {
    let f = gradient(|x| (x * x.reverse(0)).sum(), 1000);
    assert_eq!(count(&f, "1000"), 1, "{}", f.explain());
    let x = Array::new(&[1000], (0..1000).map(|i| (f64::from(i) * 0.3).sin()).collect::<Vec<f64>>());
    assert_agrees(f.program(), &[x], 1e-13, "reversed");
}

/// Inner products that share operands read them once; small ones, and those without a shared operand, are kernels.
#[test]
fn inner_products_of_shared_operands_are_one_pass() {
    let n = 5000;
    let x: [Term; 4] = std::array::from_fn(|_| Term::variable(&[n], DType::F64));
    let dot = |i: usize, j: usize| Term::contract(&Contract::axes(&[n], &[0], &[0], &[]), &x[i], &x[j]);
    let pairs = |pairs: &[(usize, usize)]| {
        let results: Vec<Term> = pairs.iter().map(|(i, j)| dot(*i, *j)).collect();
        Term::program(&x, &results, &[]).expect("a closed program")
    };
    let inputs = [1, 2, 3, 4].map(|seed| Array::uniform(&[n], -1.0, 1.0, seed));
    for (all, groups, products) in [
        (vec![(0, 2), (1, 3), (0, 3), (1, 2)], 1, 0),
        (vec![(0, 0), (0, 1)], 1, 0),
        (vec![(0, 1), (2, 3)], 0, 2),
        (vec![(0, 0)], 0, 1),
    ] {
        let program = pairs(&all);
        let executable = compile(&program);
        assert_eq!(
            (count(&executable, "group of"), count(&executable, "product:")),
            (groups, products),
            "{}",
            executable.explain()
        );
        assert_agrees(&program, &inputs, 1e-13, "inner products");
    }
}

#[test]
fn a_stencil_and_its_adjoint_are_passes_without_copies() {
    let f = gradient(
        |x| {
            let step = |x: &Tensor<_, 1>| {
                let inner = x.slice(0, 2..) - x.slice(0, 1..999) * 2.0 + x.slice(0, ..998);
                x + inner.pad([(1, 1)]) * 0.1
            };
            step(&step(x)).square().sum()
        },
        1000,
    );
    assert!(count(&f, "group of") <= 10, "{}", f.explain());
    assert_eq!(count(&f, "interpreted"), 0, "{}", f.explain());
}

#[test]
fn narrow_matrices_in_large_products_are_packed() {
    // Three columns and four rows at the innermost loops, 88 and 84 in all.
    let (x, y) = (Term::variable(&[22, 4, 1000], DType::F64), Term::variable(&[28, 22, 4, 3], DType::F64));
    let op = Contract::axes(&[22, 28, 4, 1000, 3], &[0, 2, 3], &[1, 0, 2, 4], &[1, 3, 4]);
    let program =
        Term::program(&[x.clone(), y.clone()], &[Term::contract(&op, &x, &y)], &[]).expect("a closed program");
    let executable = compile(&program);
    assert_eq!(count(&executable, "packed matrix product [84, 1000, 88]"), 1, "{}", executable.explain());
    let inputs = [Array::uniform(&[22, 4, 1000], -1.0, 1.0, 1), Array::uniform(&[28, 22, 4, 3], -1.0, 1.0, 2)];
    assert_agrees(&program, &inputs, 1e-13, "a product of several axes");
}

/// The row blocks of a product with a transposed factor share one copy of it, also if both factors are one matrix.
#[test]
fn a_transposed_factor_is_packed_once() {
    for [batch, rows, columns, depth] in [[1, 300, 200, 3], [1, 64, 1000, 9], [3, 90, 40, 5], [2, 20, 33, 2]] {
        for same in [false, true] {
            let columns = if same { rows } else { columns };
            let (x, y) = ([batch, rows, depth], [batch, columns, depth]);
            let [a, b] = [x, y].map(|shape| Term::variable(&shape, DType::F64));
            let op = Contract::axes(&[batch, rows, columns, depth], &[0, 1, 3], &[0, 2, 3], &[0, 1, 2]);
            let product = Term::contract(&op, &a, if same { &a } else { &b }).unary(Unary::Relu);
            let program = Term::program(&[a, b], &[product], &[]).expect("a closed program");
            let inputs = [Array::uniform(&x, -1.0, 1.0, 3), Array::uniform(&y, -1.0, 1.0, 4)];
            assert_agrees(&program, &inputs, 1e-14, &format!("{batch} x {rows} x {columns} x {depth}, {same}"));
            let steps = count(&compile(&program), "view, write");
            assert!(steps == 1 || rows < 90 || columns < 90, "{}", compile(&program).explain());
        }
    }
}

/// Views of all kinds of a matrix, of which some lie in one piece within a tile.
fn seen(x: &Term) -> Vec<Term> {
    let shape = [x.shape()[0], x.shape()[1]];
    let ends = [0, shape[1] as i64 - 1];
    let read =
        |matrix: [i64; 4], offset: [i64; 2]| x.linear(&Linear::read(View::affine(&shape, &shape, &matrix, &offset)));
    vec![
        read([1, 0, 0, 1], [1, 0]),
        read([1, 0, 0, 1], [-1, 0]),
        read([1, 0, 0, 1], [0, 1]),
        read([1, 0, 0, 1], [0, -1]),
        read([1, 0, 0, 1], [-1, 2]),
        read([1, 0, 0, -1], ends),
        read([0, 0, 0, 1], [0, 0]),
        read([1, 0, 0, 0], [0, 0]),
        read([1, 0, 0, 0], ends),
    ]
}

#[test]
fn views_agree_at_every_length_of_rows() {
    for (rows, columns) in
        [1, 2, 5, 70].into_iter().flat_map(|n| [1, 2, 3, 4, 7, 64, 192, 257, 512, 1030].map(|m| (n, m)))
    {
        let x = Term::variable(&[rows, columns], DType::F64);
        let views = seen(&x);
        let sum = |views: &[Term]| views.iter().fold(x.clone(), |sum, view| sum.binary(Binary::Add, view));
        let product = |views: &[Term]| views.iter().fold(x.clone(), |y, view| view.binary(Binary::Mul, &y));
        let mask = Term::discrete(&Discrete::Compare(Compare::Lt), &[&views[7], &views[2]]);
        let all: Vec<Term> = (0..views.len()).map(|k| views[k].binary(Binary::Max, &views[(k * 2 + 1) % 9])).collect();
        let rows_alone: Vec<Term> = views.iter().map(|view| view.unary(Unary::Abs).binary(Binary::Sub, &x)).collect();
        let chosen = [Term::select(&mask, &views[8], &views[6]), views[7].binary(Binary::Mul, &views[8])];
        let results = [vec![sum(&views), product(&views[..6]), product(&views[5..])], all, rows_alone, chosen.to_vec()];
        let program = Term::program(std::slice::from_ref(&x), &results.concat(), &[]).expect("a closed program");
        let numbers = Array::new(&[rows, columns], hostile(rows * columns));
        assert_agrees(&program, &[numbers], 0.0, &format!("{rows} rows of {columns}"));
    }
}

#[test]
fn views_in_one_piece_are_read_where_they_lie() {
    // Tiles of four rows: at the first and the last, a view of the row above or below looks at nothing somewhere.
    let views = |used: &[usize]| {
        let x = Term::variable(&[32, 256], DType::F64);
        let views = seen(&x);
        let y = used.iter().fold(x.clone(), |sum, k| sum.binary(Binary::Max, &views[*k]));
        compile(&Term::program(&[x], &[y], &[]).expect("a closed program")).explain()
    };
    assert!(views(&[0, 1]).contains("views copied 2 of 16 times"), "{}", views(&[0, 1]));
    // Tiles of one row: one row for all, and one number for each row.
    assert!(!views(&[6, 7, 8]).contains("copied"), "{}", views(&[6, 7, 8]));
    assert!(views(&[6, 5]).contains("views copied 32 of 64 times"), "{}", views(&[6, 5]));
}

#[test]
fn sides_of_stencils_are_computed_apart() {
    let text = |rows: usize, columns: usize, used: &[usize]| {
        let x = Term::variable(&[rows, columns], DType::F64);
        let views = seen(&x);
        let y = used.iter().fold(x.clone(), |sum, k| sum.binary(Binary::Add, &views[*k]));
        let program = Term::program(&[x], &[y.clone(), y.unary(Unary::Sin)], &[]).expect("a closed program");
        let numbers = Array::new(&[rows, columns], hostile(rows * columns));
        assert_agrees(&program, &[numbers], 1e-15, &format!("views {used:?} of {rows} rows of {columns}"));
        compile(&program).explain()
    };
    // One column at each side; one at the end; one at the start and two at the end.
    for (used, apart) in [(&[0, 1, 2, 3][..], 512), (&[2], 256), (&[3, 4], 768)] {
        let text = text(256, 256, used);
        assert!(text.contains(&format!("{apart} at sides computed apart")), "{text}");
    }
    // The first position sees nothing before the array, and the last nothing behind.
    assert!(text(256, 256, &[2, 3]).contains("views copied 2 of"), "{}", text(256, 256, &[2, 3]));
    // Rows above and below have no sides, small arrays and short rows are not worth it.
    for (rows, columns, used) in [(256, 256, &[0, 1, 5][..]), (15, 256, &[2]), (4096, 16, &[3, 2])] {
        assert!(!text(rows, columns, used).contains("apart"), "{}", text(rows, columns, used));
    }
}

#[test]
fn scaled_arrays_are_looked_at_where_they_lie() {
    let read = |x: &Term, offset: [i64; 2]| {
        x.linear(&Linear::read(View::affine(&[70, 64], &[70, 64], &[1, 0, 0, 1], &offset)))
    };
    let scaled = |x: &Term, by: f64| x.binary(Binary::Mul, &Term::constant(Array::full(&[70, 64], by)));
    let numbers = Array::new(&[70, 64], hostile(70 * 64));
    // The signs of zeros are seen by the reciprocal.
    for (by, groups) in [(0.1, 1), (-0.1, 2), (f64::INFINITY, 2), (f64::NAN, 2), (0.0, 2)] {
        let x = Term::variable(&[70, 64], DType::F64);
        let y = scaled(&x, by);
        let sum = read(&y, [1, 0]).binary(Binary::Add, &read(&y, [0, -1]));
        let program = Term::program(&[x], &[sum, read(&y, [0, 1]).unary(Unary::Recip)], &[]).expect("a closed program");
        assert_agrees(&program, std::slice::from_ref(&numbers), 0.0, &format!("a weight of {by}"));
        assert_eq!(count(&compile(&program), "group of"), groups, "{}", compile(&program).explain());
    }
    // Elements are added to what was scaled, before a view of the scaled array is read.
    let x = Term::variable(&[70, 64], DType::F64);
    let (from, to) = (Term::variable(&[70], DType::I64), Term::variable(&[2], DType::I64));
    let base = x.gather(std::slice::from_ref(&from));
    let y = scaled(&base, 0.5);
    let added = base.scatter_add(std::slice::from_ref(&to), &Term::constant(Array::full(&[2, 64], 7.0)));
    let results = [y.unary(Unary::Abs), added, read(&y, [1, 0])];
    let program = Term::program(&[x, from, to], &results, &[]).expect("a closed program");
    let rows: Vec<i64> = (0..70).rev().collect();
    let inputs = [numbers, Array::from(rows), Array::from([3i64, 3])];
    assert_agrees(&program, &inputs, 0.0, "an array that is changed after it was scaled");
}

#[test]
fn parts_are_written_to_their_place() {
    let x = Tensor::<Concrete, 2>::new([2, 100], (0..200).map(f64::from).collect());
    let f = Function::stage(|x: &Tensor<_, 2>| -> Tensor<_, 3> { stack([x.square(), x.abs()]) }, &x);
    let executable = f.executable();
    assert_eq!(count(executable, "group of"), 1, "{}", executable.explain());
    assert_eq!(f.run(&x), Ok(stack([x.square(), x.abs()])));
}

#[test]
fn loops_run_in_place_and_allocate_nothing() {
    let x = Tensor::<Concrete, 1>::from_raw(Array::new(&[40], (0..40).map(f64::from).collect::<Vec<f64>>()));
    let f = Function::value_and_grad(|x| iterate(50, x.clone(), |i, x| (&x * 0.9 + x.at([i]) * 0.01).sin()).sum(), &x);
    let executable = f.executable();
    assert!(count(executable, "loop of 50 trips") == 2, "{}", executable.explain());
    assert_eq!(count(executable, "interpreted"), 0, "{}", executable.explain());
    assert_allocates_nothing(executable, &[x.into_raw()], "loop");
}

#[test]
fn a_function_allocates_only_what_its_caller_keeps() {
    let numbers = (tensor(0.5), [tensor(1.5), tensor(-2.0)], tensor([3.0, 4.0, 5.0]));
    let f = Function::value_and_grad(
        |(a, [b, c], d): &(Tensor<_, 0>, [Tensor<_, 0>; 2], Tensor<_, 1>)| (d.sin() * a * b).sum() + c * c * a,
        &numbers,
    );
    let first = f.run(&numbers).expect("as traced");
    for _ in 0..2 {
        // Arrays of results that are dropped serve the next run.
        drop(f.run(&numbers).expect("as traced"));
        let before = ALLOCATIONS.get();
        let (value, slope) = f.run(&numbers).expect("as traced");
        let arrays = ALLOCATIONS.get() - before;
        assert_eq!((value, slope.0, slope.1), (first.0.clone(), first.1.0.clone(), first.1.1.clone()));
        // The array of the results of `map` on two trees is a vector of theirs.
        assert!(arrays <= 1, "{arrays} allocations");
    }
    // A result that is kept is not changed by later runs.
    let kept = f.run(&numbers).expect("as traced");
    let other = (tensor(0.1), numbers.1.clone(), tensor([0.0, 1.0, 2.0]));
    let changed = f.run(&other).expect("as traced");
    assert_eq!(kept.1.2, first.1.2);
    assert_ne!(changed.1.2, first.1.2);
}

#[test]
fn carries_may_change_places_and_stay() {
    // The carries are exchanged, one is kept, and one is updated in place at an index.
    let f = Function::stage(
        |x: &Tensor<_, 1>| {
            let start = (x.clone(), x * 2.0, x + 1.0, x.zeros_like());
            let (a, b, c, d) = iterate(7, start, |i, (a, b, c, d)| {
                let d = d.set([i], &a.at([i]));
                (b, a + &c, c, d)
            });
            (a, b, c, d)
        },
        &tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
    );
    for program in [f.program(), f.optimized()] {
        assert_agrees(program, &[Array::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])], 1e-15, "exchange");
    }
}

#[test]
fn inputs_of_one_repeated_value_are_written_out() {
    let x = tensor([1.0, 2.0, 3.0]);
    let f = Function::stage(|x| (x.square(), x.sum()), &x);
    let ones = Tensor::<Concrete, 1>::from_raw(Array::full(&[3], 2.0));
    assert_eq!(f.run(&ones).expect("same shape"), (tensor([4.0, 4.0, 4.0]), tensor(6.0)));
}

#[test]
fn results_that_are_inputs_are_not_copied() {
    let x = Tensor::<Concrete, 1>::linspace(0.3, 0.7, 200);
    let f = Function::stage(|x| (x.clone(), x.square(), x.clone()), &x);
    assert_eq!(count(f.executable(), "group of"), 1, "{}", f.executable().explain());
    for _ in 0..3 {
        assert_eq!(f.run(&x), Ok((x.clone(), x.square(), x.clone())));
    }
    let y = &x + 1.0;
    assert_eq!(f.run(&y), Ok((y.clone(), y.square(), y.clone())));
}

#[test]
fn results_of_runs_are_values() {
    // The memory of a result that the caller has dropped is used again; that of one which the caller keeps is not.
    let x = tensor([1.0, 2.0, 3.0]);
    let f = Function::stage(|x| x * 2.0, &x);
    let first = f.run(&x).expect("same shape");
    let second = f.run(&first).expect("same shape");
    drop(f.run(&second));
    let third = f.run(&second).expect("same shape");
    assert_eq!((first, second, third), (&x * 2.0, &x * 4.0, &x * 8.0));
}

#[test]
fn a_function_runs_interpreted_on_request() {
    let x = tensor([0.3, 0.7]);
    let f = Function::grad(|x| build1(2, |i| x.at([&i]).sin() * x.at([1 - i])).sum(), &x);
    let compiled = f.run(&x).expect("same shape");
    let interpreted = f.with_options(FunctionOptions::new().interpreted(true)).run(&x).expect("same shape");
    assert!((compiled - interpreted).abs().max_all().item() < 1e-15);
}

/// A view that looks at the same again and again, a bias of all rows, is copied once, not for each tile: whatever the
/// last tile is, and beside others that repeat otherwise or not within a tile.
#[test]
fn what_repeats_is_copied_once() {
    for (rows, p, q) in [(700, 3, 1), (211, 10, 1), (43, 8, 10), (29, 7, 18), (30, 2, 90), (1000, 4, 2), (20, 90, 7)] {
        let shapes: [&[usize]; 4] = [&[rows, p, q], &[p, q], &[q], &[q, p]];
        let variables = shapes.map(|shape| Term::variable(shape, DType::F64));
        let [x, bias, last, turned] = variables.clone();
        let all = |x: &Term, axes: &[usize]| x.linear(&Linear::replicate(&[rows, p, q], axes));
        let (bias, last) = (all(&bias, &[1, 2]), all(&last, &[2]));
        let turned = all(&turned.linear(&Linear::permute(&[q, p], &[1, 0])), &[1, 2]);
        let y = x.binary(Binary::Mul, &bias).binary(Binary::Add, &last.unary(Unary::Neg)).binary(Binary::Sub, &bias);
        let z = last.unary(Unary::Square).binary(Binary::Sub, &turned).binary(Binary::Mul, &x);
        let inputs = (1..).zip(shapes).map(|(k, shape)| Array::uniform(shape, -1.0, 1.0, k)).collect::<Vec<Array>>();
        let within = p * q < 192;
        for results in [vec![y.clone()], vec![y, z.clone()], vec![z]] {
            let program = Term::program(&variables, &results, &[]).expect("a closed program");
            assert_agrees(&program, &inputs, 0.0, &format!("{rows} [{p}, {q}]"));
            let text = compile(&program).explain();
            assert!(!within || !text.contains("views copied"), "{rows} [{p}, {q}]\n{text}");
        }
    }
}

#[test]
fn one_executable_runs_on_several_threads() {
    let x = tensor([1.0, 2.0, 3.0]);
    let f = Function::grad(|x| (x.sin() * x).sum(), &x);
    let expected = f.run(&x);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| (0..50).all(|_| f.run(&x) == expected))).collect();
        assert!(runs.into_iter().all(|run| run.join().expect("a thread ends")));
    });
}

#[test]
fn long_programs_compile_in_proportion_to_their_length() {
    let x = Term::variable(&[], DType::F64);
    let mut y = x.clone();
    for k in 0..20_000 {
        y = y.unary(if k % 2 == 0 { Unary::Sin } else { Unary::Cos }).binary(Binary::Add, &x);
    }
    let program = Term::program(&[x], &[y], &[]).expect("a closed program");
    assert_agrees(&program, &[Array::scalar(0.3)], 1e-9, "chain");
}

/// The sum of a vector that many trips of a loop change.
fn trips<T: BaseTensor>(n: usize, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    iterate(n, x.clone(), |_, x| x.sin() * 0.9 + 0.1).sum()
}

#[test]
fn plain_verbs_run_large_programs_compiled() {
    let x = tensor([0.3, -0.2, 0.7]);
    let allocations = |n: usize| {
        let before = ALLOCATIONS.get();
        polygrad::value_and_grad(|x| trips(n, x), &x);
        ALLOCATIONS.get() - before
    };
    // What is kept between calls is allocated by the first.
    allocations(100_000);
    // Interpreted, each trip allocates; compiled, the number does not depend on the trips, where these are so many that
    // stacks are larger than the cache: what is computed again instead of stored depends on that. A few allocations
    // more or less are those of tables that grow, and of calls for threads.
    let (few, many) = (allocations(100_000), allocations(200_000));
    assert!(many < few + 1000, "{few} and {many}");
    assert!(allocations(6) > allocations(3));
    let (value, slope) = polygrad::value_and_grad(|x| trips(5000, x), &x);
    let f = Function::value_and_grad(|x| trips(5000, x), &x).with_options(FunctionOptions::new().interpreted(true));
    let expected = f.run(&x).expect("same shape");
    for (a, b) in [(value.raw(), expected.0.raw()), (slope.raw(), expected.1.raw())] {
        for (a, b) in numbers(a).iter().zip(numbers(b)) {
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} and {b}");
        }
    }
}

#[test]
fn views_that_see_parts_move_what_both_see() {
    // Every pair of boxes, of an array read along both axes, along one, or everywhere at one element, and added up to
    // either axis, or to one number.
    for shape in [[3, 3], [2, 9], [4, 20], [2, 70]] {
        let reads =
            [View::identity(&shape), View::axes(&shape, &[1]), View::axes(&shape, &[0]), View::axes(&shape, &[])];
        for (reading, writing) in reads.iter().flat_map(|a| reads.iter().map(move |b| (a, b))) {
            // 3 has no factor in common with 16: every box is read and written, and the pairs differ from shape to
            // shape.
            for k in (shape[1] % 3..256).step_by(if shape == [3, 3] { 1 } else { 3 }) {
                let cut = |view: &View, k: usize| {
                    let (rows, columns) =
                        ([(0, 0), (1, 0), (0, 1), (1, 1)][k % 4], [(0, 1), (1, 0), (1, 1), (2, 0)][k / 4]);
                    let (n, m) = (shape[0], shape[1]);
                    view.clone().clipped(0, rows.0, n - rows.1).clipped(1, columns.0.min(m - 1), m - columns.1)
                };
                let (from, into) = (cut(reading, k % 16), cut(writing, k / 16));
                let n: usize = from.source().iter().product();
                let x = Array::new(from.source(), (0..n).map(|i| 1.0 + i as f64).collect::<Vec<f64>>());
                // As a loaded program may be: not simplified.
                let mut builder = Builder::literal();
                let slot = Slot { name: "x".into(), shape: x.shape().into(), dtype: DType::F64 };
                let variable = builder.input(slot);
                let shape = into.source().into();
                let op = Linear::Affine { from: from.clone(), into: into.clone() };
                let moved = builder.add(Op::Linear(Box::new(op), variable), shape, DType::F64);
                let program = builder.finish(&[moved], &[]);
                let found = compile(&program).run(std::slice::from_ref(&x));
                assert_eq!(found, interpret(&program, vec![x]), "{from} into {into}");
            }
        }
    }
}

/// Matrices that are transposed, with rows or columns in reverse order: every element is where the view says.
#[test]
fn transposed_and_reversed_matrices_have_their_elements() {
    for (n, m) in [(1, 1), (3, 17), (16, 10), (33, 40), (70, 5), (18, 31), (2, 50), (41, 12)] {
        let x = Array::new(&[m, n], (0..n * m).map(|k| k as f64).collect::<Vec<f64>>());
        for (back, down) in [(false, false), (true, false), (false, true), (true, true)] {
            let sign = |reversed: bool| if reversed { -1 } else { 1 };
            let start = |reversed: bool, n: usize| if reversed { n as i64 - 1 } else { 0 };
            let matrix = [0, sign(down), sign(back), 0];
            let view = View::affine(&[m, n], &[n, m], &matrix, &[start(down, m), start(back, n)]);
            let whole = View::identity(&[n, m]);
            let function = |x: &Tensor<Term, 2>| -> Tensor<Term, 2> {
                Tensor::from_raw(x.raw().linear(&Linear::affine(view.clone(), whole.clone())))
            };
            let found = Function::stage(function, &Tensor::from_raw(x.clone()))
                .run(&Tensor::from_raw(x.clone()))
                .expect("one matrix fits");
            let at = |i: usize, n: usize, reversed: bool| if reversed { n - 1 - i } else { i };
            let expected: Vec<f64> = (0..n * m).map(|k| (at(k % m, m, down) * n + at(k / m, n, back)) as f64).collect();
            assert_eq!(floats(found.raw()), expected, "{n} {m} {back} {down}");
        }
    }
}

/// Arrays of short rows that are padded, permuted and reversed, under an operation: boxes between holes are read.
#[test]
fn short_rows_with_holes_are_read() {
    for (shape, before, after) in
        [([9, 5, 4], [2, 0, 1], [0, 3, 2]), ([40, 2, 7], [0, 1, 2], [1, 1, 0]), ([3, 30, 1], [1; 3], [4; 3])]
            .into_iter()
            .chain((1..10).map(|n| ([3, 40, n], [0; 3], [0; 3])))
    {
        let x = Array::new(&shape, (0..shape.iter().product()).map(|k: usize| k as f64 + 1.0).collect::<Vec<f64>>());
        let x = Tensor::<Concrete, 3>::from_raw(x);
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
            let padded = |x: &Tensor<Term, 3>| {
                let pads: [(usize, usize); 3] = std::array::from_fn(|k| (before[k], after[k]));
                x.pad(pads).permute(order).reverse(2).square()
            };
            let function = Function::stage(padded, &x);
            let found = function.run(&x).expect("the array fits");
            let expected = interpret(function.optimized(), vec![x.raw().clone()]);
            assert_eq!(floats(found.raw()), floats(&expected[0]), "{shape:?} {order:?}");
        }
    }
}

/// Sums over windows that overlap or lie apart, along either axis, with steps, in windows of every length around the
/// largest that becomes a sum of views.
#[test]
fn sums_over_short_windows_agree() {
    for (length, step) in (1..11).flat_map(|length| (1..6).map(move |step| (length, step))) {
        let (n, m) = (23, 17);
        let x = Array::new(&[n, m], (0..n * m).map(|k| (k as f64 * 0.7).sin()).collect::<Vec<f64>>());
        for axis in [0, 1] {
            let count = ([n, m][axis] - length) / step + 1;
            let (rows, columns) = if axis == 0 { (count, m) } else { (n, count) };
            let steps = |own: usize| if own == axis { (step as i64, 1) } else { (1, 0) };
            let ((r, r_in), (c, c_in)) = (steps(0), steps(1));
            // Windows innermost, and between the axes.
            for [i, j, k] in [[0, 1, 2], [0, 2, 1]] {
                let mut shape = [0; 3];
                (shape[i], shape[j], shape[k]) = (rows, columns, length);
                let (mut from, mut into) = ([0; 6], [0; 6]);
                (from[i], from[3 + j], into[i], into[3 + j]) = (r, c, 1, 1);
                (from[k], from[3 + k]) = (r_in, c_in);
                let from = View::affine(&[n, m], &shape, &from, &[0, 0]);
                let into = View::affine(&[rows, columns], &shape, &into, &[0, 0]);
                let sums = |x: &Tensor<Term, 2>| -> Tensor<Term, 2> {
                    Tensor::from_raw(x.raw().linear(&Linear::affine(from.clone(), into.clone())))
                };
                let x = Tensor::<Concrete, 2>::from_raw(x.clone());
                let found = Function::stage(sums, &x).run(&x).expect("the array fits");
                let at = |row: usize, column: usize| floats(x.raw())[row * m + column];
                for (k, sum) in floats(found.raw()).into_iter().enumerate() {
                    let (row, column) = (k / columns * r as usize, k % columns * c as usize);
                    let terms = (0..length).map(|l| at(row + l * r_in as usize, column + l * c_in as usize));
                    assert!((sum - terms.sum::<f64>()).abs() < 1e-13, "{length} {step} {axis} {k}");
                }
            }
        }
    }
}

/// Sums over the first axis and another one, of grids of every small shape.
#[test]
fn sums_of_many_small_grids_agree() {
    for (rows, columns) in (1..7).flat_map(|rows| (1..10).map(move |columns| (rows, columns))) {
        for count in [2, 7, 300] {
            let shape = [count, rows, columns];
            let x =
                Array::new(&shape, (0..shape.iter().product()).map(|k: usize| (k * 7 % 13) as f64).collect::<Vec<_>>());
            let x = Tensor::<Concrete, 3>::from_raw(x);
            let sums = |x: &Tensor<Term, 3>| {
                let y = x + 1.0;
                (y.sum_axes([0, 2]), y.sum_axes([0, 1]), y.sum_axes([1, 2]), y.sum_axes([0]))
            };
            let function = Function::stage(sums, &x);
            let (a, b, c, d) = function.run(&x).expect("the array fits");
            let expected = interpret(function.optimized(), vec![x.raw().clone()]);
            for (found, expected) in [a.raw(), b.raw(), c.raw(), d.raw()].into_iter().zip(&expected) {
                assert_eq!(floats(found), floats(expected), "{shape:?}");
            }
        }
    }
}

/// Differences of all pairs, of which one operand is one number in each row: squared in either order.
#[test]
fn squares_of_differences_of_pairs_agree() {
    for (n, m) in [(3, 200), (5, 1000), (200, 3), (300, 190), (2, 4100)] {
        let array = |n: usize| Tensor::<Concrete, 1>::from_raw(Array::uniform(&[n], -1.0, 1.0, n as u64));
        let (x, y) = (array(n), array(m));
        let function = Function::stage(
            |(x, y): &(Tensor<Term, 1>, Tensor<Term, 1>)| {
                let (x, y): (Tensor<_, 2>, Tensor<_, 2>) = (x.reshape([n, 1]), y.reshape([1, m]));
                let (x, y) = (x.broadcast_to([n, m]), y.broadcast_to([n, m]));
                ((&x - &y).square(), (&y - &x).square(), &x * &y + &y, &y * &x + &x)
            },
            &(x.clone(), y.clone()),
        );
        let (a, b, c, d) = function.run(&(x.clone(), y.clone())).expect("the arrays fit");
        let expected = interpret(function.optimized(), vec![x.raw().clone(), y.raw().clone()]);
        for (found, expected) in [a.raw(), b.raw(), c.raw(), d.raw()].into_iter().zip(&expected) {
            assert_eq!(floats(found), floats(expected), "{n} {m}");
        }
    }
}

/// Rows of a matrix that are too long for unrolled code and shorter than a vector register needs meet a vector one by
/// one: lanes that are apart in memory would be read element by element, which takes several times as long.
#[test]
fn short_rows_times_a_vector_are_no_tiles() {
    for k in 9..16 {
        let (a, x) = (Tensor::<Concrete, 2>::ones([1000, k]), Tensor::<Concrete, 1>::ones([k]));
        let f = Function::stage(|(a, x): &(Tensor<Term, 2>, Tensor<Term, 1>)| a.matvec(x), &(a, x));
        let text = f.executable().explain();
        assert!(!text.contains("in registers"), "{k} columns:\n{text}");
    }
}
