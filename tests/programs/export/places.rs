//! Places in the user's source: they survive optimization, vectorization and differentiation, and stand at the ends of
//! the lines of the text.

use polygrad::export::Unsupported;
use polygrad::{Array, BaseTensor, Complex, Function, Tensor, build1, external, fold, tensor};

type Vector<T> = Tensor<T, 1>;

/// The lines of a text in which an operation stands.
fn lines<'a>(text: &'a str, op: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.contains(&format!(" = stablehlo.{op} "))).collect()
}

/// Panics unless every line of an operation ends with this line of this file.
#[track_caller]
fn assert_at(text: &str, op: &str, line: u32) {
    let found = lines(text, op);
    let end = format!("loc({:?}:{line}:", file!());
    assert!(!found.is_empty() && found.iter().all(|l| l.contains(&end)), "{op} at {end}: {text}");
}

fn wave<T: BaseTensor>(x: &Vector<T>) -> (Tensor<T, 0>, [u32; 2]) {
    let (y, first) = (x.sin(), line!());
    let (z, second) = ((&y * x).sqrt(), line!());
    (z.sum(), [first, second])
}

#[test]
fn operations_and_their_derivatives_are_at_their_line() {
    let x = tensor([1.0, 2.0, 3.0]);
    let [first, second] = wave(&x).1;
    let value = Function::stage(|x: &Vector<_>| wave(x).0, &x).to_stablehlo("wave").expect("it is exported");
    assert_at(&value, "sine", first);
    assert_at(&value, "sqrt", second);
    let slope = Function::grad(|x: &Vector<_>| wave(x).0, &x).to_stablehlo("slope").expect("it is exported");
    assert_at(&slope, "cosine", first);
    assert_at(&slope, "sqrt", second);
    assert_at(&slope, "divide", second);
}

#[test]
fn loops_keep_the_lines_of_their_bodies() {
    let x = tensor([1.0, 2.0, 3.0]);
    let bulk = |x: &Vector<_>| build1(3, |i| x.at([i]).exp());
    let text = Function::stage(bulk, &x).to_stablehlo("bulk").expect("it is exported");
    assert_at(&text, "exponential", line!() - 2);
    let each = |x: &Vector<_>| fold(Tensor::scalar(0.5), x, |h, x: &Tensor<_, 0>| (h * x).sin());
    let text = Function::grad(each, &x).to_stablehlo("each").expect("it is exported");
    assert_at(&text, "sine", line!() - 2);
    assert_at(&text, "cosine", line!() - 3);
    assert!(text.contains("stablehlo.while"));
}

#[test]
fn what_is_not_exported_has_a_place() {
    let m = tensor([[2.0, 1.0], [1.0, 2.0]]);
    let like = m.clone();
    let host = |m: &Tensor<_, 2>| external("twice", |x: &Tensor<Array, 2>| x * 2.0, &like, m);
    let exported = Function::stage(host, &m).to_stablehlo("host");
    let Err(Unsupported::External { name, at }) = exported else { panic!("no operation") };
    let at = at.expect("the place is known");
    assert_eq!(name, "twice");
    assert_eq!((&at.file[..], at.line), (file!(), line!() - 5));
}

#[test]
fn the_parts_of_complex_operations_are_at_their_line() {
    let z = Complex::new(tensor([1.0, 2.0]), tensor([0.5, -1.0]));
    let f = |z: &Complex<_, 1>| (z.fft(0) / (z.sqrt() + 3.0) + z.asin() * z.tanh() - z.ln()).pow(z);
    let line = line!() - 1;
    let text = Function::stage(f, &z).to_stablehlo("f").expect("it is exported");
    let placed = || text.lines().filter(|l| l.contains(" = stablehlo.") && l.contains("loc("));
    let end = format!("loc({:?}:{line}:", file!());
    assert!(placed().count() > 60);
    assert_eq!(placed().find(|l| !l.contains(&end)), None);
}
