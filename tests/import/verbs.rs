//! An imported program at other interpreters: derivatives, bounds, compiled functions, saved programs.

use polygrad::base::BaseTensor;
use polygrad::import::Module;
use polygrad::program::interpret;
use polygrad::{Array, DType, FlatFunction, Function, Tensor, enclose, grad, hessian, jvp, tensor};

use crate::golden::{Golden, goldens, numbers};

fn golden(name: &str) -> (Golden, Module) {
    let golden = goldens().into_iter().find(|golden| golden.name == name).expect("a golden");
    let module = Module::parse(&golden.text).expect("a module");
    (golden, module)
}

/// Rosenbrock's function, as it is written in Rust.
fn rosenbrock<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 0> {
    let n = v.shape()[0];
    let (a, b) = (v.slice(0, 0..n - 1), v.slice(0, 1..n));
    ((b - a.square()).square() * 100.0 + (1.0 - a).square()).sum()
}

#[test]
fn derivatives_are_those_of_the_same_function_in_rust() {
    let (golden, module) = golden("rosenbrock");
    let x = Tensor::<Array, 1>::from_raw(golden.inputs[0].clone());
    let near = |x: &Array, y: &Array| {
        assert_eq!(x.shape(), y.shape());
        assert!(
            numbers(x).iter().zip(numbers(y)).all(|(x, y)| (x - y).abs() <= 1e-10 * (1.0 + y.abs())),
            "{x:?} {y:?}"
        );
    };
    let slope = grad(|x: &Tensor<_, 1>| module.apply::<_, _, 0, f64>(x), &x);
    near(slope.raw(), grad(rosenbrock, &x).raw());
    let curvature = hessian(|x: &Tensor<_, 1>| module.apply::<_, _, 0, f64>(x), &x);
    near(curvature.raw(), hessian(rosenbrock, &x).raw());
    let (value, along) = jvp(|x: &Tensor<_, 1>| module.apply::<_, _, 0, f64>(x), &x, &x);
    near(value.raw(), &golden.results[0]);
    near(along.raw(), (slope * &x).sum().raw());
    // Bounds of the function of JAX over a box.
    let (lo, hi) =
        enclose(|x: &Tensor<_, 1>| module.apply::<_, _, 0, f64>(x), &(x.clone() - 0.01), &(x.clone() + 0.01));
    let value = golden.results[0].item::<f64>().expect("a number");
    assert!(lo.item() < value && value < hi.item() && hi.item() - lo.item() < 100.0 * (1.0 + value));
}

/// Gradients of sums of all float results, by differences.
#[test]
fn gradients_are_the_limits_of_differences() {
    let mut count = 0;
    for Golden { name, text, inputs, .. } in goldens() {
        // Selections, and functions whose derivatives of higher order JAX wrote out.
        if ["ordered", "top", "random", "lowered", "newton", "updated", "embedding", "conditional", "pendulum"]
            .contains(&&name[..])
        {
            continue;
        }
        let module = Module::parse(&text).expect("a module");
        let program = module.program().expect("a program");
        let total = |inputs: Vec<Array>| -> f64 {
            let all = interpret(&program, inputs);
            all.iter().filter(|y| y.dtype() == DType::F64).flat_map(numbers).map(f64::sin).sum()
        };
        let at: Vec<Tensor<Array, 1>> =
            inputs.iter().map(|x| Tensor::from_raw(Array::new(&[x.size()], numbers(x)))).collect();
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|x| x.shape().to_vec()).collect();
        let slope = grad(
            |x: &Vec<Tensor<_, 1>>| {
                let args: Vec<_> = x.iter().zip(&shapes).map(|(x, s)| x.raw().section(0, s, DType::F64)).collect();
                let all = module.call(&args);
                let sums = all.iter().filter(|y| y.dtype() == DType::F64).map(|y| {
                    let flat = y.linear(&polygrad::ops::Linear::reshape(y.shape(), &[y.shape().iter().product()]));
                    Tensor::<_, 1>::from_raw(flat).sin().sum()
                });
                sums.reduce(|a, b| a + b).expect("a result of floats")
            },
            &at,
        );
        for (k, x) in inputs.iter().enumerate() {
            let (values, slopes) = (numbers(x), numbers(slope[k].raw()));
            for j in 0..values.len().min(5) {
                let moved = |by: f64| {
                    let mut all = inputs.clone();
                    let mut values = values.clone();
                    values[j] += by;
                    all[k] = Array::new(x.shape(), values);
                    total(all)
                };
                let h = 1e-6;
                let difference = (moved(h) - moved(-h)) / (2.0 * h);
                let bound = 1e-5 * (1.0 + slopes[j].abs());
                assert!(
                    (difference - slopes[j]).abs() < bound,
                    "{name}, input {k}, element {j}: {} is not {difference}",
                    slopes[j]
                );
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn a_loop_of_jax_is_compiled_differentiated_and_saved() {
    let (golden, module) = golden("kalman");
    let x = (
        Tensor::<Array, 0>::from_raw(golden.inputs[0].clone()),
        Tensor::<Array, 1>::from_raw(golden.inputs[1].clone()),
    );
    let value = golden.results[0].item::<f64>().expect("a number");
    let f = Function::<_, (), Tensor<_, 0>>::imported(&module, &x).expect("a function");
    assert!((f.run(&x).expect("a run").item() - value).abs() < 1e-12 * value.abs());
    // Its inputs have the names that JAX gives.
    let names: Vec<&str> = f.program().inputs().iter().map(|slot| &slot.name[..]).collect();
    assert_eq!(names, ["arg0", "arg1"]);
    let flat = FlatFunction::imported(&module).expect("a function of slices");
    let elements = [numbers(&golden.inputs[0]), numbers(&golden.inputs[1])].concat();
    let mut slope = vec![0.0; elements.len()];
    assert!((flat.value_and_grad(&elements, &mut slope) - value).abs() < 1e-12 * value.abs());
    let expected = grad(|x: &(Tensor<_, 0>, Tensor<_, 1>)| module.apply::<_, _, 0, f64>(x), &x);
    let expected = [numbers(expected.0.raw()), numbers(expected.1.raw())].concat();
    assert!(slope.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())));
    // In forward mode, in the host language: the directional derivative along the first input.
    let along = (tensor(1.0), Tensor::<Array, 1>::zeros([golden.inputs[1].size()]));
    let (_, dual) =
        polygrad::direct::jvp(|x: &(Tensor<_, 0>, Tensor<_, 1>)| module.apply::<_, _, 0, f64>(x), &x, &along);
    assert!((dual.item() - slope[0]).abs() < 1e-10 * (1.0 + slope[0].abs()));
    let saved = serde_json::to_string(&module.program().expect("a program")).expect("a text");
    let loaded: polygrad::program::Program = serde_json::from_str(&saved).expect("a program");
    assert_eq!(interpret(&loaded, golden.inputs), module.call(&[x.0.into_raw(), x.1.into_raw()]));
}

/// What is exported is read with equal bits, where each operation is one of StableHLO.
#[test]
fn exports_are_read_with_equal_bits() {
    let x = tensor([0.3, -1.2, 2.5, 0.7]);
    let m = tensor([[0.5, 1.5], [-0.25, 2.0]]);
    let check = |name: &str, program: &polygrad::program::Program, inputs: Vec<Array>| {
        let text = program.to_stablehlo(name).expect("a text");
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(module.call(&inputs), interpret(program, inputs), "{name}: {text}");
    };
    let one = Function::stage(|x: &Tensor<_, 1>| ((x.sin() * x).exp().sum(), x.tanh(), x.square()), &x);
    check("elementwise", one.program(), vec![x.raw().clone()]);
    let two = Function::grad(|x: &Tensor<_, 1>| (x.sin() * x).cumsum(0).square().sum(), &x);
    check("gradient", two.optimized(), vec![x.raw().clone()]);
    let three = Function::hessian(|x: &Tensor<_, 1>| x.sin().prod(), &x);
    check("hessian", three.optimized(), vec![x.raw().clone()]);
    let four = Function::stage(|m: &Tensor<_, 2>| (m.matmul(m), m.sum_axis::<1>(0)), &m);
    check("matrices", four.program(), vec![m.raw().clone()]);
    let five = Function::stage(|x: &Tensor<_, 1>| (x.sort(0), x.argmax()), &x);
    check("positions", five.program(), vec![x.raw().clone()]);
}
