//! Names of parameters and functions, and what is refused.

use polygrad::emission::EmissionError;
use polygrad::{BaseTensor, Function, Tensor, Tree, external, tensor};

/// A struct whose fields are keywords of C, names of counters, and other names.
#[derive(Clone, Debug, PartialEq, Tree)]
struct Parts<T: BaseTensor> {
    double: Tensor<T, 1>,
    i: Tensor<T, 1>,
    torque: Tensor<T, 1>,
}

#[test]
fn parameters_have_the_names_of_leaves() {
    let x = Parts { double: tensor([1.0, 2.0]), i: tensor([3.0, 4.0]), torque: tensor([5.0, 6.0]) };
    let f =
        Function::stage(|x: &Parts<_>| Parts { double: &x.double + &x.i, i: x.i.sin(), torque: &x.torque * 2.0 }, &x);
    let text = f.to_rust("parts").expect("it is written").code;
    let head = text.lines().skip_while(|line| !line.contains("pub fn")).take(8).collect::<Vec<_>>().join(" ");
    for name in ["x_double:", "x_i:", "x_torque:", "y_double:", "y_i:", "y_torque:"] {
        assert!(head.contains(name), "{name} in {head}");
    }
}

#[test]
fn names_of_functions_are_checked() {
    let f = Function::stage(|x: &Tensor<_, 1>| x.sin(), &tensor([1.0]));
    for name in ["", "for", "Arm", "two words", "9", "double"] {
        let Err(EmissionError::Name { name: found, .. }) = f.to_rust(name) else { panic!("{name} is taken") };
        assert_eq!(found, name);
    }
    assert!(f.to_c("arm_7").is_ok());
}

#[test]
fn what_is_not_written_is_named_with_its_line() {
    let x = tensor([1.0, 2.0, 3.0, 4.0]);
    let line = line!() + 1;
    let f = Function::stage(|x: &Tensor<_, 1>| x.rfft(0).re().sum(), &x);
    let Err(error) = f.to_c("spectrum") else { panic!("transforms are not written") };
    let EmissionError::Operation { operation, at, .. } = &error else { panic!("{error}") };
    assert_eq!((&operation[..], at.as_ref().map(|at| at.line)), ("fft", Some(line)), "{error}");
    let f = Function::stage(|x: &Tensor<_, 1>| external("read", |x| x.clone(), &tensor([0.0; 4]), x), &x);
    let error = f.to_rust("outside").expect_err("code of the host has no source");
    assert!(error.to_string().contains("`read` is not: it is code of the host"), "{error}");
}
