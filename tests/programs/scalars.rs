//! Loops of single numbers, compiled: registers are no reason for another result.
//!
//! Law: on random bodies, with carries that move, swap and stay, with values of all element types, compiled loops give
//! the bits that the interpreter gives; and such bodies are single pieces of code.

use polygrad::backend::compile;
use polygrad::ops::{Binary, Compare, Discrete, FloatStep, IntBinary, Linear, Unary};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, DType};

/// Random numbers below a bound, for choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Values of a body by element type: `f64`, `f32`, `i64`, masks.
#[derive(Default)]
struct Pool([Vec<Term>; 4]);

impl Pool {
    fn add(&mut self, term: Term) {
        self.0[kind(term.dtype())].push(term);
    }

    fn pick(&self, dtype: DType, choices: &mut Choices) -> Term {
        choices.of(&self.0[kind(dtype)]).clone()
    }
}

fn kind(dtype: DType) -> usize {
    match dtype {
        DType::F64 => 0,
        DType::F32 => 1,
        DType::I64 => 2,
        DType::Bool => 3,
    }
}

/// A random operation on values of the pool.
fn operation(pool: &Pool, table: &Term, choices: &mut Choices) -> Term {
    use DType::{Bool, F32, F64, I64};
    let mut x = |dtype| pool.pick(dtype, choices);
    let (a, b, c, i, j, m, s) = (x(F64), x(F64), x(F64), x(I64), x(I64), x(Bool), x(F32));
    match choices.below(18) {
        0 | 1 => a.binary(Binary::Add, &b),
        2 | 3 => a.binary(Binary::Sub, &b),
        4 => a.binary(Binary::Mul, &b),
        5 => a.binary(Binary::Mul, &b).binary(Binary::Add, &c),
        6 => a.binary(Binary::Sub, &b.binary(Binary::Mul, &c)),
        7 => a.binary(Binary::Mul, &b).binary(Binary::Sub, &c),
        8 => a.binary(*choices.of(&[Binary::Div, Binary::Min, Binary::Max, Binary::Copysign]), &b),
        9 => a.unary(*choices.of(&[Unary::Neg, Unary::Square, Unary::Abs, Unary::Relu])),
        10 => Term::discrete(&Discrete::FloatStep(FloatStep::Floor), &[&a]),
        11 => Term::discrete(&Discrete::Compare(Compare::Lt), &[&a, &b]),
        12 => Term::select(&m, &a, &b),
        13 => Term::discrete(&Discrete::IntBinary(*choices.of(&[IntBinary::Add, IntBinary::Mul])), &[&i, &j]),
        14 => Term::discrete(&Discrete::ToFloat(F64), &[&i]),
        15 => Term::discrete(&Discrete::ToFloat(F32), &[&m]).binary(Binary::Add, &s),
        16 => Term::discrete(&Discrete::ToInt, &[&s]),
        _ => table.gather(&[Term::discrete(&Discrete::IntBinary(IntBinary::Rem), &[&i, &Term::constant(5.into())])]),
    }
}

/// A program of one loop with a random body, and inputs for it.
fn random(seed: u64) -> (Program, Vec<Array>) {
    let choices = &mut Choices(seed);
    let n = *choices.of(&[1, 2, 3, 8, 9]);
    let floats = |k: usize, n: usize| (0..n).map(|i| ((k + 3 * i) as f64 * 0.7).sin() * 2.0).collect::<Vec<f64>>();
    let scalars: Vec<Array> = (0..4).map(|k| Array::scalar(floats(k, 1)[0])).collect();
    let mut inputs = scalars;
    // Trips with equal rows and a mask that does not hold may be copied, if they change nothing.
    let rows = |k: usize, width: usize| match seed % 3 {
        0 => floats(k, width).repeat(n),
        _ => floats(k, n * width),
    };
    inputs.extend([Array::scalar(3i64), Array::scalar(1.5f32), Array::scalar(seed % 2 == 1)]);
    inputs.extend([Array::new(&[n], rows(7, 1)), Array::new(&[n, 2], rows(9, 2)), Array::new(&[4], floats(5, 4))]);
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let (init, captured) = ([&variables[..2], &variables[4..7]].concat(), &variables[2..4]);
    let sequences = [variables[7].clone(), variables[8].clone()];
    let table = &variables[9];
    let (carry, outputs) = Term::map_accum(n, choices.below(2) == 1, init, &sequences, &mut |carry, rows| {
        let mut pool = Pool::default();
        let kinds: Vec<DType> = carry.iter().map(|c| c.dtype()).collect();
        carry.into_iter().chain(captured.iter().cloned()).for_each(|term| pool.add(term));
        pool.add(rows[0].clone());
        pool.add(rows[1].gather(&[Term::constant(1i64.into())]));
        // Some bodies are longer than a chain of instructions.
        for _ in 0..*choices.of(&[3, 8, 14, 20, 90, 300]) {
            let term = operation(&pool, table, choices);
            pool.add(term);
        }
        let next = kinds.iter().map(|dtype| pool.pick(*dtype, choices)).collect();
        let mut outputs: Vec<Term> = (0..choices.below(6)).map(|_| pool.pick(DType::F64, choices)).collect();
        outputs.push(pool.pick(*choices.of(&[DType::F32, DType::I64, DType::Bool]), choices));
        (next, outputs)
    });
    let results = [carry, outputs].concat();
    (Program::clone(&Term::program(&variables, &results, &[]).expect("a closed program")), inputs)
}

#[test]
fn random_bodies_agree_to_the_bit() {
    for seed in 0..400 {
        let (program, inputs) = random(seed);
        let executable = compile(&program);
        let text = executable.explain();
        assert!(!text.contains("loop of"), "{program}\n{text}");
        // The second run finds the registers as the first has left them.
        executable.run(&inputs);
        let found = executable.run(&inputs);
        for (a, b) in interpret(&program, inputs).iter().zip(&found) {
            // Sums of infinities and the like: NaN is one number here.
            let same = a.to_string() == b.to_string() || bits(a) == bits(b);
            assert!(same, "seed {seed}: {a} and {b}\n{program}\n{text}");
        }
    }
}

fn bits(a: &Array) -> Option<Vec<u64>> {
    a.to_vec::<f64>()
        .ok()
        .map(|v| v.iter().map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).collect())
}

/// A loop of one carry and one sequence, with the carry before and after each trip as outputs.
fn recurrence(n: usize, reverse: bool, next: impl Fn(&Term, &Term, &Term) -> Term) -> (Program, Vec<Array>) {
    let numbers: Vec<f64> = (0..n).map(|i| (i as f64 * 0.9).cos()).collect();
    let inputs = vec![Array::scalar(0.3), Array::scalar(-0.9), Array::new(&[n], numbers)];
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let (carry, outputs) =
        Term::map_accum(n, reverse, vec![variables[0].clone()], &variables[2..], &mut |carry, rows| {
            let h = next(&carry[0], &variables[1], &rows[0]);
            (vec![h.clone()], vec![carry[0].clone(), h])
        });
    (Term::program(&variables, &[carry, outputs].concat(), &[]).expect("a closed program"), inputs)
}

#[test]
fn affine_recurrences_have_a_kernel() {
    use Binary::{Add, Mul, Sub};
    type Next = fn(&Term, &Term, &Term) -> Term;
    let forms: [Next; 12] = [
        |h, _, x| h.binary(Add, x),
        |h, a, _| a.binary(Mul, h),
        |h, _, x| h.binary(Sub, x),
        |h, _, x| x.binary(Sub, h),
        |h, a, x| h.binary(Mul, a).binary(Add, x),
        |h, a, x| x.binary(Add, &a.binary(Mul, h)),
        |h, a, x| x.binary(Mul, h).binary(Sub, a),
        |h, a, x| a.binary(Sub, &x.binary(Mul, h)),
        |h, a, x| h.binary(Add, &x.binary(Mul, a)),
        |h, a, x| h.binary(Sub, &x.binary(Mul, a)),
        |h, a, x| x.binary(Mul, a).binary(Sub, h),
        |h, _, x| h.binary(Mul, x).binary(Add, x),
    ];
    for (form, next) in forms.iter().enumerate() {
        for (n, reverse) in [(2, false), (9, true), (64, false), (1, false)] {
            let (program, inputs) = recurrence(n, reverse, next);
            let executable = compile(&program);
            let text = executable.explain();
            assert_eq!(text.contains("recurrence"), n > 1, "form {form}\n{text}");
            assert_eq!(executable.run(&inputs), interpret(&program, inputs), "form {form}, {n} trips\n{text}");
        }
    }
}

/// Numbers at which functions have ordinary values, others, and none.
fn points() -> Vec<f64> {
    let ordinary = (0..60).map(|i| f64::from(i * i * i - 30_000) * 1.37e-4);
    let ends = [0.0, f64::MIN_POSITIVE, 5e-324, 1e-9, 0.5, 1.0, 1.5, 19.1, 709.9, 1e7, 1e300, f64::INFINITY, f64::NAN];
    ordinary.chain(ends.into_iter().flat_map(|x| [x, -x])).collect()
}

/// The values of an operation at these points, which come as arrays or one by one.
fn values(operands: &[Vec<f64>], apply: &dyn Fn(&[Term]) -> Term) -> [Vec<u64>; 2] {
    let program = |shape: &[usize]| {
        let variables: Vec<Term> = operands.iter().map(|_| Term::variable(shape, DType::F64)).collect();
        compile(&Term::program(&variables, &[apply(&variables)], &[]).expect("a closed program"))
    };
    let n = operands[0].len();
    let (whole, single) = (program(&[n]), program(&[]));
    assert!(single.explain().contains("numbers"), "{}", single.explain());
    let arrays: Vec<Array> = operands.iter().map(|v| Array::new(&[n], v.clone())).collect();
    let numbers = |i: usize| operands.iter().map(|v| Array::scalar(v[i])).collect::<Vec<Array>>();
    let one = |i: usize| bits(&single.run(&numbers(i))[0]).expect("numbers")[0];
    [bits(&whole.run(&arrays)[0]).expect("numbers"), (0..n).map(one).collect()]
}

#[test]
fn functions_of_numbers_have_the_bits_of_slices() {
    let x = points();
    for op in Unary::ALL {
        let [whole, single] = values(std::slice::from_ref(&x), &|v| v[0].clone().unary(*op));
        assert_eq!(whole, single, "{}", op.name());
    }
    let pairs = x.iter().flat_map(|a| x.iter().step_by(3).map(move |b| (*a, *b)));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    for op in Binary::ALL {
        let [whole, single] = values(&[a.clone(), b.clone()], &|v| v[0].clone().binary(*op, &v[1]));
        assert_eq!(whole, single, "{}", op.name());
    }
}

/// Random arithmetic of many operations on numbers that are near in the program, so that many wait for nothing.
fn arithmetic(start: &[Term], seed: u64, count: usize) -> Vec<Term> {
    let (choices, mut pool) = (&mut Choices(seed), start.to_vec());
    for _ in 0..count {
        let mut x = || pool[pool.len() - 1 - choices.below(pool.len().min(250))].clone();
        let (a, b, c) = (x(), x(), x());
        pool.push(match choices.below(7) {
            0 => a.binary(Binary::Add, &b),
            1 => a.binary(Binary::Sub, &b),
            2 => a.binary(Binary::Mul, &b),
            3 => a.binary(Binary::Mul, &b).binary(Binary::Add, &c),
            4 => a.binary(Binary::Sub, &b.binary(Binary::Mul, &c)),
            5 => a.binary(*choices.of(&[Binary::Div, Binary::Min]), &b),
            _ => a.unary(*choices.of(&[Unary::Neg, Unary::Relu])),
        });
    }
    pool
}

#[test]
fn wide_programs_agree_to_the_bit() {
    let inputs: Vec<Array> = (0..40).map(|i| Array::scalar((f64::from(i) * 0.7).sin())).collect();
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    for seed in 0..12 {
        let straight = arithmetic(&variables, seed, 1500).split_off(1400);
        // The same in a loop, whose carries are those of the last numbers that are not the first.
        let (carry, _) = Term::map_accum(3, false, variables.clone(), &[], &mut |carry, _| {
            let pool = arithmetic(&carry, seed, 600);
            (pool[pool.len() - carry.len()..].to_vec(), Vec::new())
        });
        for results in [straight, carry] {
            let program = Term::program(&variables, &results, &[]).expect("a closed program");
            let found = compile(&program).run(&inputs);
            for (a, b) in interpret(&program, inputs.clone()).iter().zip(&found) {
                assert!(bits(a) == bits(b), "seed {seed}: {a} and {b}\n{program}");
            }
        }
    }
}

#[test]
fn functions_that_run_together_have_the_bits_of_slices() {
    // Around the lengths of vectors and of the parts that run together.
    for (op, n) in
        [(Unary::Tanh, 1), (Unary::Sin, 7), (Unary::Exp, 8), (Unary::Ln, 9), (Unary::Sin, 63), (Unary::Tanh, 70)]
    {
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.9).cos() * if i % 5 == 0 { 1e8 } else { 2.0 }).collect();
        let inputs = [Array::new(&[n], x), Array::scalar(0.9)];
        let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
        let (x, factor) = (&variables[0], &variables[1]);
        let spread = factor.linear(&Linear::replicate(&[n], &[]));
        let (whole, _) = Term::map_accum(3, false, vec![x.clone()], &[], &mut |carry, _| {
            (vec![carry[0].unary(op).binary(Binary::Mul, &spread)], Vec::new())
        });
        let numbers: Vec<Term> = (0..n).map(|i| x.gather(&[Term::constant((i as i64).into())])).collect();
        let (single, _) = Term::map_accum(3, false, numbers, &[], &mut |carry, _| {
            (carry.iter().map(|h| h.unary(op).binary(Binary::Mul, factor)).collect(), Vec::new())
        });
        let run = |results: &[Term]| {
            let found = compile(&Term::program(&variables, results, &[]).expect("a closed program")).run(&inputs);
            found.iter().flat_map(|a| bits(a).expect("numbers")).collect::<Vec<u64>>()
        };
        assert_eq!(run(&whole), run(&single), "{} of {n} numbers", op.name());
    }
}

#[test]
fn trips_that_change_nothing_are_what_they_would_be() {
    let n = 40;
    let masks: [fn(usize) -> bool; 5] = [|k| k < 7, |k| k > 30, |k| k % 11 == 3, |_| false, |k| !(5..34).contains(&k)];
    let rows: [fn(usize) -> f64; 3] = [|_| 0.5, |k| if k < 20 { 1.0 } else { 2.0 }, |k| k as f64];
    for (mask, row) in masks.iter().flat_map(|mask| rows.iter().map(move |row| (mask, row))) {
        for (reverse, counts) in [(false, false), (true, false), (false, true), (true, true)] {
            let inputs = vec![
                Array::scalar(0.3),
                Array::scalar(0.0),
                Array::new(&[n], (0..n).map(mask).collect::<Vec<bool>>()),
                Array::new(&[n], (0..n).map(row).collect::<Vec<f64>>()),
                Array::new(&[n], (0..n).map(|k| row(k) as f32).collect::<Vec<f32>>()),
            ];
            let x: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
            // Some carry may change though the mask does not hold.
            let (carry, outputs) = Term::map_accum(n, reverse, x[..2].to_vec(), &x[2..], &mut |carry, rows| {
                let narrow = Term::discrete(&Discrete::ToInt, &[&rows[2]]);
                let sum = carry[0].binary(Binary::Mul, &rows[1]).binary(Binary::Add, &rows[1]);
                let next = Term::select(&rows[0], &sum, &carry[0]);
                let one = Term::constant(Array::scalar(1.0));
                let count = if counts { carry[1].binary(Binary::Add, &one) } else { carry[1].clone() };
                (vec![next.clone(), count], vec![next, narrow, rows[0].clone(), sum])
            });
            let program = Term::program(&x, &[carry, outputs].concat(), &[]).expect("a closed program");
            let executable = compile(&program);
            assert!(!executable.explain().contains("loop of"), "{}", executable.explain());
            assert_eq!(interpret(&program, inputs.clone()), executable.run(&inputs), "{program}");
        }
    }
    // A mask that is carried, and does not hold any more.
    for most in [1, 3, 20] {
        let x = [Term::variable(&[], DType::Bool), Term::variable(&[], DType::F64)];
        let (carry, outputs) = Term::map_accum(most, false, x.to_vec(), &[], &mut |carry, _| {
            let next = carry[1].binary(Binary::Add, &carry[1]);
            let goes = Term::discrete(&Discrete::Compare(Compare::Lt), &[&next, &Term::constant(Array::scalar(30.0))]);
            let next = Term::select(&carry[0], &next, &carry[1]);
            (vec![Term::discrete(&Discrete::And, &[&carry[0], &goes]), next.clone()], vec![carry[0].clone(), next])
        });
        let program = Term::program(&x, &[carry, outputs].concat(), &[]).expect("a closed program");
        let inputs = [Array::scalar(true), Array::scalar(1.0)];
        assert_eq!(interpret(&program, inputs.to_vec()), compile(&program).run(&inputs), "{program}");
    }
}
