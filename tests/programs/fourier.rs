//! Fourier transforms in compiled programs: steps that read real and imaginary parts where they lie.
//!
//! Laws: a compiled transform agrees with that of the interpreter, to the bit unless real parts alone are read; no line
//! sees another one; threads change no bit; what joins and pads an operand is not computed.

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::ops::{Binary, Linear, Unary};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, Complex, Concrete, Function, Tensor, iterate};

fn program(inputs: &[Array], f: impl FnOnce(&[Term]) -> Vec<Term>) -> Program {
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    Term::program(&variables, &f(&variables), &[]).expect("a closed program")
}

fn random(shape: &[usize], seed: u64) -> Array {
    Rng::new(seed).uniform(shape, -1.0, 1.0)
}

fn numbers(a: &Array) -> Vec<f64> {
    a.cast::<f64>().to_vec::<f64>().expect("floats")
}

/// Numbers with one NaN for all.
fn bits(a: &Array) -> Vec<u64> {
    numbers(a).into_iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

/// Asserts that a program gives the same compiled, within so much of the largest number of a result.
#[track_caller]
fn assert_agrees(program: &Program, inputs: &[Array], tolerance: f64) {
    let executable = compile(program);
    let explained = executable.explain();
    assert!(!explained.contains("interpreted"), "{explained}");
    let expected = interpret(program, inputs.to_vec());
    // The second run finds the memory as the first has left it.
    executable.run(inputs);
    for (a, b) in expected.iter().zip(executable.run(inputs)) {
        assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
        if tolerance == 0.0 {
            assert_eq!(bits(a), bits(&b), "{program}\n{explained}");
            continue;
        }
        let (a, b) = (numbers(a), numbers(&b));
        let scale = a.iter().fold(1e-300, |m: f64, x| m.max(x.abs()));
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() <= tolerance * scale, "{x:e} and {y:e}\n{program}\n{explained}");
        }
    }
}

const LENGTHS: [usize; 11] = [1, 2, 3, 4, 6, 7, 8, 31, 34, 64, 100];

/// Every layout of a transform of three axes and the parts.
fn layouts(n: usize) -> impl Iterator<Item = (Vec<usize>, usize, usize)> {
    let places = (0..4).flat_map(|parts| (0..4).map(move |axis| (parts, axis))).filter(|(parts, axis)| parts != axis);
    places.map(move |(parts, axis)| {
        let mut others = [3, 2].into_iter();
        let size = |k: usize| if k == parts { 2 } else { n };
        let shape = (0..4).map(|k| if k == parts || k == axis { size(k) } else { others.next().expect("two") });
        (shape.collect(), parts, axis)
    })
}

#[test]
fn transforms_along_every_axis_are_those_of_the_interpreter() {
    for n in LENGTHS {
        for (shape, parts, axis) in layouts(n) {
            let x = random(&shape, 3 + n as u64);
            for op in [Linear::fourier(&shape, parts, axis), Linear::fourier(&shape, parts, axis).adjoint()] {
                for x in [x.clone(), x.cast::<f32>()] {
                    let p = program(std::slice::from_ref(&x), |v| vec![v[0].unary(Unary::Neg).linear(&op)]);
                    assert_agrees(&p, &[x], 0.0);
                }
            }
        }
    }
}

/// Real operands, of which the padding is not computed, and parts of results.
#[test]
fn real_operands_and_parts_of_results_agree() {
    for n in LENGTHS {
        for (shape, parts, axis) in layouts(n) {
            let mut part = shape.clone();
            part[parts] = 1;
            let x = random(&part, 5 + n as u64);
            let widths = |p: usize| {
                let mut widths = vec![0; 4];
                widths[parts] = p;
                widths
            };
            // The real or the imaginary part is zero.
            for p in 0..2 {
                let pad = Linear::pad(&part, &widths(1 - p), &widths(p));
                let op = Linear::fourier(&shape, parts, axis);
                let half = Linear::slice(&shape, axis, 0, n / 2 + 1, 1);
                let p = program(std::slice::from_ref(&x), |v| {
                    let y = v[0].linear(&pad).linear(&op);
                    vec![y.linear(&half), y.linear(&Linear::row(&shape, parts, 1))]
                });
                assert_agrees(&p, std::slice::from_ref(&x), 0.0);
            }
            // Real parts alone, of lines with and without a second half.
            let y = random(&shape, 7 + n as u64);
            let mut short = shape.clone();
            short[axis] = n / 2 + 1;
            let mut after = vec![0; 4];
            after[axis] = n - short[axis];
            let z = random(&short, 8 + n as u64);
            let op = Linear::fourier(&shape, parts, axis).adjoint();
            let p = program(&[y.clone(), z.clone()], |v| {
                let whole = v[0].unary(Unary::Neg).linear(&op).linear(&Linear::row(&shape, parts, 0));
                let half = v[1].linear(&Linear::pad(&short, &[0; 4], &after)).linear(&op);
                vec![whole, half.linear(&Linear::row(&shape, parts, 0))]
            });
            assert_agrees(&p, &[y, z], 1e-14);
        }
    }
}

/// Operands that are padded along the line, reversed, or taken from another order of the axes, in each part.
#[test]
fn operands_are_read_through_views() {
    for n in [6, 33, 40] {
        for (shape, parts, axis) in layouts(n) {
            let mut part = shape.clone();
            part[parts] = 1;
            part[axis] = n - 3;
            let order = [3, 1, 0, 2];
            let turned: Vec<usize> =
                (0..4).map(|k| part[order.iter().position(|to| *to == k).expect("an axis")]).collect();
            let inputs = [random(&part, 19 + n as u64), random(&turned, 20 + n as u64)];
            let widths = |line: usize, p: usize| {
                let mut widths = vec![0; 4];
                (widths[axis], widths[parts]) = (line, p);
                widths
            };
            let op = Linear::fourier(&shape, parts, axis);
            let p = program(&inputs, |v| {
                let re = v[0].linear(&Linear::reverse(&part, axis));
                let re = re.linear(&Linear::pad(&part, &widths(1, 0), &widths(2, 1)));
                let im = v[1].linear(&Linear::permute(&turned, &order));
                let im = im.linear(&Linear::pad(&part, &widths(3, 1), &widths(0, 0)));
                let row = Linear::row(&shape, parts, 0);
                vec![
                    re.linear(&op),
                    im.linear(&op),
                    re.binary(Binary::Add, &im).linear(&op.adjoint()),
                    re.linear(&op).linear(&row),
                ]
            });
            assert_agrees(&p, &inputs, 0.0);
        }
    }
}

fn spectra<T: BaseTensor, const AXIS: usize>(x: &Tensor<T, 2>) -> Vec<Tensor<T, 0>> {
    let n = x.shape()[AXIS];
    let (re, im) = x.rfft(AXIS).into_parts();
    let back = Complex::new(re.square(), &re * &im).irfft(n, AXIS);
    let (a, b) = Complex::new(x.clone(), x.sin()).fft(AXIS).into_parts();
    let (c, d) = Complex::new(&a * &b, b).ifft(1 - AXIS).into_parts();
    let whole = x.to_complex().fft_axes([AXIS, 1 - AXIS]);
    vec![
        (re.square() + im.square() + 1.0).sqrt().sum(),
        (back * x).sum(),
        (c * x + d.square()).sum(),
        (whole.re().square() * 0.5 + whole.im().square()).sum(),
    ]
}

fn gradients_agree<const AXIS: usize>(shape: [usize; 2]) {
    let x: Tensor<Concrete, 2> = Tensor::constant(random(&shape, 9));
    for which in 0..4 {
        let f = Function::value_and_grad(|x| spectra::<_, AXIS>(x).swap_remove(which), &x);
        let explained = f.explain();
        assert!(!explained.contains("interpreted"), "{explained}");
        let (y, g) = f.run(&x).expect("the shape is that of the record");
        let wanted = interpret(f.optimized(), vec![x.array().clone()]);
        let scale = numbers(&wanted[1]).iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        assert!((y.item() - numbers(&wanted[0])[0]).abs() <= 1e-12 * y.item().abs().max(1.0), "{which} {shape:?}");
        for (a, b) in numbers(&wanted[1]).iter().zip(g.to_vec()) {
            assert!((a - b).abs() <= 1e-13 * scale, "{which} of {shape:?}: {a} and {b}\n{explained}");
        }
        // Along one direction, finite differences.
        let along = Tensor::<Concrete, 2>::constant(random(&shape, 10));
        let at = |h: f64| spectra::<_, AXIS>(&(&x + &along * h)).swap_remove(which).item();
        let (slope, found) = ((at(1e-5) - at(-1e-5)) / 2e-5, g.dot(&along).item());
        assert!((slope - found).abs() <= 1e-6 * scale * (shape[0] * shape[1]) as f64, "{slope} and {found}");
    }
}

#[test]
fn gradients_of_transforms_agree() {
    for shape in [[1, 1], [2, 2], [3, 4], [8, 5], [16, 6], [12, 33]] {
        gradients_agree::<0>(shape);
        gradients_agree::<1>(shape);
    }
}

/// The elements of a line decide how it is transformed, so a program that knows more of them computes the same bits.
#[test]
fn real_lines_among_complex_ones_have_the_bits_of_real_lines() {
    for (shape, axis) in [([2, 40, 12], 2), ([2, 12, 40], 1)] {
        let mut x = random(&shape, 11).to_vec::<f64>().expect("floats");
        let lines = 40;
        let at = |line: usize, k: usize| if axis == 2 { line * 12 + k } else { k * lines + line };
        for line in (0..lines).filter(|line| line % 3 == 1 || line / 8 == 2) {
            (0..12).for_each(|k| x[480 + at(line, k)] = if k % 2 == 0 { 0.0 } else { -0.0 });
        }
        let op = Linear::fourier(&shape, 0, axis);
        let all = Array::new(&shape, x.clone());
        let y = all.linear(&op).to_vec::<f64>().expect("floats");
        let all = [all];
        assert_agrees(&program(&all, |v| vec![v[0].linear(&op)]), &all, 0.0);
        for line in 0..lines {
            let alone: Vec<f64> = (0..24).map(|k| x[k / 12 * 480 + at(line, k % 12)]).collect();
            let alone = Array::new(&[2, 12], alone).linear(&Linear::fourier(&[2, 12], 0, 1));
            let here: Vec<u64> = (0..24).map(|k| y[k / 12 * 480 + at(line, k % 12)].to_bits()).collect();
            assert_eq!(bits(&alone), here, "line {line} along {axis}");
        }
    }
}

/// Signs of zeros in an operand are not seen; a NaN and an infinity stay in their line.
#[test]
fn hostile_numbers_stay_in_their_lines() {
    for n in [2, 4, 6, 7, 16, 31, 64] {
        for (shape, axis) in [([2, 9, n], 2), ([2, n, 9], 1)] {
            let x = random(&shape, 12).to_vec::<f64>().expect("floats");
            let at = |p: usize, line: usize, k: usize| p * 9 * n + if axis == 2 { line * n + k } else { k * 9 + line };
            let op = Linear::fourier(&shape, 0, axis);
            let zeros = |zero: f64| {
                let mut x = x.clone();
                (0..n).for_each(|k| x[at(k % 2, 2, k)] = zero);
                Array::new(&shape, x)
            };
            let run = |x: &Array| {
                let p = program(std::slice::from_ref(x), |v| vec![v[0].unary(Unary::Neg).linear(&op)]);
                assert_agrees(&p, std::slice::from_ref(x), 0.0);
                compile(&p).run(std::slice::from_ref(x)).swap_remove(0)
            };
            let clean = bits(&run(&zeros(0.0)));
            assert_eq!(clean, bits(&run(&zeros(-0.0))));
            for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for p in 0..2 {
                    let mut x = zeros(0.0).to_vec::<f64>().expect("floats");
                    x[at(p, 4, n - 1)] = wrong;
                    let found = bits(&run(&Array::new(&shape, x)));
                    let is_finite = |line: usize| {
                        let places = (0..2 * n).map(|k| at(k / n, line, k % n));
                        places.clone().all(|at| found[at] == clean[at])
                    };
                    assert!((0..9).all(|line| is_finite(line) == (line != 4)), "{wrong} in part {p}, {n} along {axis}");
                }
            }
        }
    }
}

#[test]
fn threads_change_no_bit_of_a_transform() {
    for (shape, axis) in [([2, 500, 128], 2), ([2, 128, 500], 1), ([2, 3000, 31], 2), ([2, 2, 40000], 2)] {
        let x = random(&shape, 13);
        let op = Linear::fourier(&shape, 0, axis);
        let row = Linear::row(&shape, 0, 0);
        let p = program(std::slice::from_ref(&x), |v| {
            let real = v[0].linear(&Linear::slice(&shape, 0, 0, 1, 1));
            let padded = real.linear(&Linear::pad(&[1, shape[1], shape[2]], &[0; 3], &[1, 0, 0]));
            vec![v[0].linear(&op), padded.linear(&op), v[0].linear(&op.adjoint()).linear(&row)]
        });
        let executable = compile(&p);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| executable.run(std::slice::from_ref(&x)))
        };
        let one = on(1);
        for threads in [2, 3] {
            assert!(on(threads).iter().zip(&one).all(|(a, b)| bits(a) == bits(b)), "{shape:?} on {threads} threads");
        }
    }
}

#[test]
fn steps_say_what_they_transform() {
    let x: Tensor<Concrete, 1> = Tensor::constant(random(&[64], 14));
    let rows: Tensor<Concrete, 2> = Tensor::constant(random(&[50, 33], 15));
    let says = |text: String, words: &[&str], without: &[&str]| {
        assert!(words.iter().all(|words| text.contains(words)), "{words:?}:\n{text}");
        assert!(without.iter().all(|words| !text.contains(words)), "{without:?}:\n{text}");
    };
    let power = |re: Tensor<_, 1>, im: Tensor<_, 1>| (re.square() + im.square()).sum();
    let f = Function::value_and_grad(
        |x: &Tensor<_, 1>| {
            let (re, im) = x.rfft(0).into_parts();
            power(re, im)
        },
        &x,
    );
    let real = "fourier of 1 real lines of 64, by half the length";
    says(f.explain(), &[real, "fourier of 1 lines of 64, real parts read, by half the length"], &["interpreted"]);
    // Nothing pads or joins an operand.
    let f = Function::stage(|x: &Tensor<_, 2>| x.to_complex().fft(0), &rows);
    says(f.explain(), &["fourier of 33 real lines of 50, by half the length"], &["interpreted"]);
    let f = Function::stage(|x: &Tensor<_, 2>| Complex::new(x.clone(), x.clone()).fft(1).re().square(), &rows);
    says(f.explain(), &["in 2 steps", "fourier of 50 lines of 33, real parts read;"], &["write", "concat"]);
}

/// What transforms read through is computed where other operations need it, and what they read is not overwritten.
#[test]
fn values_that_are_read_through_have_other_users() {
    let (x, y) = (random(&[1, 30], 16), random(&[1, 30], 17));
    let op = Linear::fourier(&[2, 30], 0, 1);
    let both = [x.clone(), y.clone()];
    let p = program(&both, |v| {
        let joined = Term::concat(0, &[v[0].clone(), v[1].unary(Unary::Neg)]);
        vec![joined.linear(&op), joined.unary(Unary::Abs), joined]
    });
    assert_agrees(&p, &both, 0.0);
    // Two padded parts are added, and the sum is read, too.
    let p = program(&both, |v| {
        let [a, b] = [0, 1].map(|k| v[k].linear(&Linear::pad(&[1, 30], &[k, 0], &[1 - k, 0])));
        let sum = a.binary(Binary::Add, &b);
        vec![sum.linear(&op), sum.linear(&op.adjoint()), sum]
    });
    assert_agrees(&p, &both, 0.0);
    let p = program(&both, |v| {
        let [a, b] = [0, 1].map(|k| v[k].unary(Unary::Neg).linear(&Linear::pad(&[1, 30], &[k, 0], &[1 - k, 0])));
        vec![a.binary(Binary::Add, &b).linear(&op)]
    });
    assert_agrees(&p, &both, 0.0);
    // What is joined would be updated in place, if the transform did not read it later.
    let small = random(&[1, 3], 21);
    let three = [x.clone(), y.clone(), small];
    let p = program(&three, |v| {
        let [a, b] = [0, 1].map(|k| v[k].unary(Unary::Abs));
        let joined = Term::concat(0, &[a.clone(), b.clone()]);
        let placed = v[2].linear(&Linear::pad(&[1, 3], &[0, 4], &[0, 23]));
        let sum = a.binary(Binary::Add, &placed).unary(Unary::Abs);
        vec![joined.linear(&op), sum]
    });
    assert_agrees(&p, &three, 0.0);
    // Nothing but zeros.
    let p = program(&both, |v| {
        let nothing =
            v[0].linear(&Linear::slice(&[1, 30], 1, 0, 0, 1)).linear(&Linear::pad(&[1, 0], &[0; 2], &[1, 30]));
        vec![nothing.linear(&op)]
    });
    assert_agrees(&p, &both, 0.0);
}

/// A loop updates its carry in place after the transform has read it.
#[test]
fn loops_of_transforms_agree() {
    let x: Tensor<Concrete, 1> = Tensor::constant(random(&[48], 18));
    fn smoothed<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
        iterate(7, x.clone(), |_, x: Tensor<T, 1>| {
            let (re, im) = x.rfft(0).into_parts();
            let back = Complex::new(re * 0.9, im * 0.8).irfft(48, 0);
            x * 0.5 + back.sin()
        })
    }
    let f = Function::value_and_grad(|x| smoothed(x).square().sum(), &x);
    let (y, g) = f.run(&x).expect("the shape is that of the record");
    let wanted = interpret(f.optimized(), vec![x.array().clone()]);
    assert!((y.item() - numbers(&wanted[0])[0]).abs() < 1e-12);
    assert!(numbers(&wanted[1]).iter().zip(g.to_vec()).all(|(a, b)| (a - b).abs() < 1e-12));
}
