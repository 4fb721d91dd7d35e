//! Where a NaN comes from, and what is read and written out of bounds: reports as they print, at the user's line.
//!
//! Laws: the observed program computes what it computes without; a finite result has no report; a report names an
//! operation with finite operands, or data.

use std::cell::RefCell;
use std::fs;

use polygrad::inspect::{Access, bounds, bounds_with, first_nan, first_nan_with};
use polygrad::tensor::map_accum_reverse;
use polygrad::tree::TreeMath;
use polygrad::{
    BaseTensor, Concrete, Shapes, Tensor, build1, concat, cond, custom_jvp, direct, fold, grad, hessian, iterate, jvp,
    map, scan, tensor, value_and_grad,
};

use crate::root::root;

/// A report in which places are replaced by the code that they point to.
fn code(report: impl ToString) -> String {
    let source = fs::read_to_string(root().join(file!())).expect("this file can be read");
    let lines: Vec<&str> = source.lines().collect();
    let report = report.to_string();
    let mut parts = report.split(file!());
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut place = part.splitn(4, ':').skip(1);
        let mut number = || place.next().and_then(|n| n.parse::<usize>().ok()).expect("a line and a column");
        let (line, column) = (number(), number());
        out += &format!("`{}`:{}", lines[line - 1][column - 1..].trim_end(), place.next().unwrap_or_default());
    }
    out
}

/// What `first_nan` prints of a program, with places replaced by code.
macro_rules! found {
    ($program:expr, $x:expr) => {
        first_nan($program, $x).map_or("nothing".into(), code)
    };
}

/// What `bounds` prints of a program, with places replaced by code.
macro_rules! out_of_bounds {
    ($program:expr, $x:expr) => {
        code(bounds($program, $x))
    };
}

#[test]
fn an_infinity_and_the_nan_made_of_it() {
    let entropy = |x: &Tensor<_, 1>| {
        let y = x.ln();
        (y * x).sum()
    };
    let expected = "\
`ln();`: ln gives -inf at [1] of f64 [3]
    from f64 [3]: 0.0 there, finite elements from 0.0 to 4.0
then `(y * x).sum()`: mul gives NaN at [1] of f64 [3]
    from f64 [3]: -inf there, finite elements from 0.0 to 1.3862943611198906, 1 infinite
    from f64 [3]: 0.0 there, finite elements from 0.0 to 4.0
it reaches result";
    assert_eq!(found!(entropy, &tensor([1.0, 0.0, 4.0])), expected);
    assert_eq!(found!(entropy, &tensor([1.0, 2.0, 4.0])), "nothing");
}

#[test]
fn the_fields_of_a_report() {
    let found = first_nan(|x| (x.sqrt(), x * 2.0), &tensor([[1.0f32, 4.0], [9.0, -0.1]])).expect("sqrt is NaN");
    assert_eq!((found.operation.as_str(), found.reaches.as_str()), ("sqrt", "result.0"));
    assert!(found.value.is_nan() && found.then.is_none() && found.derivative_of.is_none());
    assert_eq!((found.shape, found.index), (vec![2, 2], vec![1, 1]));
    let place = found.place.expect("an operation has a place");
    assert_eq!((place.file.as_str(), place.line), (file!(), line!() - 5));
    let operand = &found.operands[0];
    assert_eq!((operand.at, operand.range), (Some(f64::from(-0.1f32)), Some((f64::from(-0.1f32), 9.0))));
    assert_eq!(operand.to_string(), "f32 [2, 2]: -0.1 there, finite elements from -0.1 to 9.0");
}

#[test]
fn the_backward_pass_names_the_operation_that_is_differentiated() {
    let x = tensor([1.0, 0.0]);
    let expected = "\
`sqrt();`: the derivative of sqrt (its recip) gives inf at [1] of f64 [2]
    from f64 [2]: 0.0 there, finite elements from 0.0 to 2.0
it reaches result";
    let start = "`sqrt();`: the derivative of sqrt (its ";
    fn roots<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let y = x.sqrt();
        y.sum()
    }
    assert_eq!(found!(roots, &x), "nothing");
    assert_eq!(found!(|x: &Tensor<_, 1>| grad(roots, x), &x), expected);
    // A quotient of 1 is a reciprocal in recorded programs alone.
    let of_direct = found!(|x: &Tensor<_, 1>| direct::grad(roots, x), &x);
    assert!(
        of_direct.starts_with("`sqrt();`: the derivative of sqrt (its div_no_nan) gives inf at [1] of f64 [2]\n"),
        "{of_direct}"
    );
    let second = found!(|x: &Tensor<_, 1>| hessian(roots, x), &x);
    assert!(second.starts_with(start), "{second}");
    let forward = found!(|x: &Tensor<_, 1>| jvp(roots, x, &Tensor::ones([2])), &x);
    // The tangent is an argument of the program, so it is divided: by 0, the second operand.
    assert_eq!(
        forward,
        "\
`sqrt();`: the derivative of sqrt (its div_no_nan) gives inf at [1] of f64 [2]
    from f64 [2]: 1.0 there, finite elements are 1.0
    from f64 [2]: 0.0 there, finite elements from 0.0 to 2.0
it reaches result.1"
    );
    let pushed = found!(|x: &Tensor<_, 1>| direct::linearize(roots, x).1(&Tensor::ones([2])), &x);
    assert_eq!(pushed, of_direct);
}

#[test]
fn a_cotangent_that_overflows() {
    // The value is 1e200, its derivative is not a number of the machine.
    fn grows<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let y = x * 1e200;
        let w = Tensor::constant([1e200, 1e200]);
        y.dot(&w)
    }
    let x = tensor([1e-200, 1e-200]);
    let expected = "\
`x * 1e200;`: the derivative of mul (its mul) gives inf at [0] of f64 [2]
    from f64 [2]: 1e200 there, finite elements are 1e200
    from f64 [2]: 1e200 there, finite elements are 1e200
it reaches result";
    assert_eq!(found!(|x: &Tensor<_, 1>| direct::grad(grows, x), &x), expected);
    // A product of known numbers is computed when the derivative is recorded.
    let expected = "\
`x * 1e200;`: the derivative of mul (a constant) has inf at [0] of f64 [2]
it reaches result";
    assert_eq!(found!(|x: &Tensor<_, 1>| grad(grows, x), &x), expected);
    // In a product of matrices.
    fn products<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 0> {
        let big = Tensor::constant([[1e200, 0.0], [0.0, 1e200]]);
        let y = x.matmul(&big);
        y.matmul(&big).sum()
    }
    let expected = "\
`matmul(&big);`: the derivative of matmul (a constant) has inf at [0, 0] of f64 [2, 2]
it reaches result";
    let x = tensor([[1e-200, 0.0], [0.0, 1e-200]]);
    assert_eq!(found!(|x: &Tensor<_, 2>| grad(products, x), &x), expected);
}

#[test]
fn in_a_loop_the_trip_is_named() {
    let x = tensor([1.0, 2.0, 0.0, 3.0]);
    let expected = "\
`c / x), &x);`: div gives inf, f64 [], in trip 2
    from f64 []: 0.5
    from f64 []: 0.0
it reaches result";
    let found = found!(|x: &Tensor<_, 1>| scan(Tensor::scalar(1.0), x, |c, x| c / x), &x);
    assert_eq!(found, expected);
    // In the opposite order the trip has the same name.
    let reversed = |x: &Tensor<_, 1>| {
        map_accum_reverse(Tensor::<_, 0>::scalar(1.0), x, |c, x: &Tensor<_, 0>| {
            let c = c / x;
            (c.clone(), c)
        })
    };
    let expected = "\
`c / x;`: div gives inf, f64 [], in trip 2
    from f64 []: 0.3333333333333333
    from f64 []: 0.0
it reaches result.0";
    assert_eq!(found!(reversed, &x), expected);
    let nested =
        |x: &Tensor<_, 1>| map(x, |x: &Tensor<_, 0>| iterate(3, x.clone(), |i, c| c / (i.to_float::<f64>() - 1.0)));
    let found = first_nan(nested, &x).expect("a division by 0");
    assert_eq!((found.trips, found.operation.as_str()), (vec![0, 1], "div"));
    // A loop without trips runs its step on zeros, for the shapes alone.
    let empty = |x: &Tensor<_, 1>| map(x.slice(0, 0..0), |x: &Tensor<_, 0>| x.recip());
    assert_eq!(found!(empty, &x), "nothing");
}

#[test]
fn in_the_derivative_of_a_loop_the_trip_is_named() {
    let x = tensor([1.0, 0.0, 4.0]);
    fn roots<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        fold(Tensor::scalar(1.0), x, |c, x| {
            let y = x.sqrt();
            c * (y + 1.0)
        })
    }
    let expected = "\
`sqrt();`: the derivative of sqrt (its div_no_nan) gives inf, f64 [], in trip 1
    from f64 []: 6.0
    from f64 []: 0.0
it reaches result";
    assert_eq!(found!(|x: &Tensor<_, 1>| grad(roots, x), &x), expected);
    // A product with a cotangent, in the transposed loop.
    fn large<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        fold(Tensor::scalar(1e250), x, |c, x| {
            let small = x * 1e200;
            c * small
        })
    }
    let found =
        first_nan(|x: &Tensor<_, 1>| grad(large, x), &tensor([1e-300, 1e-300])).expect("an infinite derivative");
    assert_eq!((found.derivative_of.as_deref(), &found.trips[..]), (Some("mul"), &[1][..]));
    assert_eq!(
        code(&found).lines().next(),
        Some("`x * 1e200;`: the derivative of mul (its mul) gives inf, f64 [], in trip 1")
    );
}

#[test]
fn what_no_result_depends_on_is_not_reported() {
    let x = tensor([-1.0, 0.0, 4.0]);
    let guarded = |x: &Tensor<_, 1>| x.gt(0.0).select(x.sqrt().ln(), 0.0);
    assert_eq!(found!(guarded, &x), "nothing");
    assert_eq!(found!(|x: &Tensor<_, 1>| grad(|x| x.gt(0.0).select(x.sqrt().ln(), 0.0).sum(), x), &x), "nothing");
    assert_eq!(found!(|x: &Tensor<_, 1>| (x * 1000.0).exp().recip(), &x.slice(0, 2..3)), "nothing");
    assert_eq!(found!(|x: &Tensor<_, 1>| (x.recip().sum() * 0.0, x.sum()).1, &x), "nothing");
    // Of two, the one that a result depends on.
    let found = first_nan(|x: &Tensor<_, 1>| (x.sqrt(), x.gt(-2.0).select(x.recip(), x.ln())).1, &x);
    assert_eq!(found.expect("1 / 0").operation, "recip");
    // Nothing is computed, so nothing is known.
    assert_eq!(first_nan(|x: &Tensor<_, 0>| x.ln(), &Tensor::<Shapes, 0>::zeros([])), None);
}

#[test]
fn data_that_is_not_finite_is_named() {
    let (x, data) = ((tensor(1.0), tensor([1.0, 2.0])), tensor([1.0, f64::NAN]));
    let found = first_nan_with(|(s, v), d| (v * d).sum() * s, &x, &data).expect("the data are NaN");
    let expected = "\
the input data has NaN at [1] of f64 [2]
it reaches result";
    assert_eq!(found.to_string(), expected);
    let with_nan = (tensor(f64::NEG_INFINITY), tensor([1.0, 2.0]));
    assert_eq!(first_nan(|(s, v)| v.times(s), &with_nan).expect("it is infinite").operation, "the input x.0");
    let masked = |x: &Tensor<_, 1>| {
        let mask = Tensor::constant([f64::NEG_INFINITY, f64::NEG_INFINITY]);
        x + (&mask - &mask)
    };
    let expected = "\
`Tensor::constant([f64::NEG_INFINITY, f64::NEG_INFINITY]);`: a constant has -inf at [0] of f64 [2]
then `(&mask - &mask)`: sub gives NaN at [0] of f64 [2]
    from f64 [2]: -inf there, 2 infinite
    from f64 [2]: -inf there, 2 infinite
it reaches result";
    assert_eq!(found!(masked, &x.1), expected);
    let lifted = |x: &Tensor<_, 1>| x + data.lift();
    assert!(found!(lifted, &x.1).starts_with("`lift();`: a constant has NaN at [1] of f64 [2]\n"));
}

#[test]
fn functions_with_rules_are_named() {
    let root = |x: &Tensor<_, 1>| custom_jvp("root", |x| x.sqrt(), |_, y, x_dot| x_dot / y * 0.5, x);
    let expected = "\
`custom_jvp(\"root\", |x| x.sqrt(), |_, y, x_dot| x_dot / y * 0.5, x);`: the function root (its sqrt) gives NaN at [0] of f64 [2]
    from f64 [2]: -1.0 there, finite elements from -1.0 to 0.0
it reaches result";
    assert_eq!(found!(root, &tensor([-1.0, 0.0])), expected);
    let slope = |x: &Tensor<_, 1>| {
        grad(
            |x: &Tensor<_, 1>| {
                let y = custom_jvp("root", |x| x.sqrt(), |_, y, x_dot| x_dot / y * 0.5, x);
                y.sum()
            },
            x,
        )
    };
    let found = first_nan(slope, &tensor([1.0, 0.0])).expect("an infinite derivative");
    assert_eq!(found.derivative_of.as_deref(), Some("a function with rules"));
    assert!(code(&found).contains("x_dot / y"), "{}", code(&found));
}

/// Operations of the surface that are made of others point to the user's line, too.
#[test]
fn every_place_is_the_users() {
    macro_rules! at_this_line {
        ($x:expr; $($program:expr),* $(,)?) => { $(
            let found = first_nan($program, &$x).expect(stringify!($program));
            let place = found.place.expect("an operation has a place");
            assert_eq!(place.file, file!(), "{}", stringify!($program));
            if let Some(then) = found.then {
                assert_eq!(then.place.expect("a place").file, file!(), "{}", stringify!($program));
            }
        )* };
    }
    let big = tensor([[1e200, 1e200], [1e200, 1e200]]);
    at_this_line! { big;
        |m: &Tensor<_, 2>| m.prod(),
        |m: &Tensor<_, 2>| m.prod_axis::<1>(0),
        |m: &Tensor<_, 2>| m.cumprod(1),
        |m: &Tensor<_, 2>| m.cumprod_reverse(0),
        |m: &Tensor<_, 2>| (m * 1e108).cumsum(0),
        |m: &Tensor<_, 2>| (m * 1e108).sum(),
        |m: &Tensor<_, 2>| (m * 1e108).mean(),
        |m: &Tensor<_, 2>| m.matmul(m),
        |m: &Tensor<_, 2>| (m * 1e108).norm(),
        |m: &Tensor<_, 2>| m.square().logsumexp(),
        |m: &Tensor<_, 2>| m.square().softmax(0),
        |m: &Tensor<_, 2>| m.square().log_softmax(0),
        |m: &Tensor<_, 2>| m.powi(3),
        |m: &Tensor<_, 2>| m.exp().max_axis(0).max(0.0),
        |m: &Tensor<_, 2>| polygrad::einsum::<_, 2, _>("ij,jk->ik", (m, m)),
        |m: &Tensor<_, 2>| m.trace() * m.trace(),
        // A closure of the library does not know who called it: the place is that of the loop around.
        |m: &Tensor<_, 2>| iterate(3, m.clone(), |_, m| TreeMath::scale(&m, 1e200)),
    }
}

#[test]
fn reads_out_of_bounds() {
    let x = tensor([1.0, 4.0, 9.0]);
    let differences = |x: &Tensor<_, 1>| build1(3, |i| x.at([i + 1]) - x.at([i]));
    let expected = "`at([i + 1]) - x.at([i]));`: reads at index 3 of axis 0, whose size is 3, in trip 2";
    assert_eq!(out_of_bounds!(differences, &x), expected);
    let within = |x: &Tensor<_, 1>| build1(2, |i| x.at([i + 1]) - x.at([i]));
    assert_eq!(out_of_bounds!(within, &x), "everything is read and written within bounds");
    let found = bounds_with(
        |x, ix| x.gather([&ix.slice(0, 1..), &ix.slice(0, ..2)]),
        &tensor([[1.0, 2.0]]),
        &tensor([-1, 0, 7]),
    );
    let expected = "\
`gather([&ix.slice(0, 1..), &ix.slice(0, ..2)]),`: reads at index 7 of axis 0, whose size is 1, from element [1] of the indices
`gather([&ix.slice(0, 1..), &ix.slice(0, ..2)]),`: reads at index -1 of axis 1, whose size is 2, from element [0] of the indices";
    assert_eq!(code(&found), expected);
    assert_eq!((found.faults.len(), found.faults[0].access, found.faults[0].count), (2, Access::Read, 1));
    // The first time, and how often.
    let found = bounds(|x| build1(5, |i| x.at([i]) * 2.0), &x);
    assert_eq!((found.faults[0].index, found.faults[0].count, &found.faults[0].trips[..]), (3, 2, &[3][..]));
    assert!(found.to_string().ends_with(", in trip 3; 2 indices are out of bounds"));
}

#[test]
fn guarded_reads_are_harmless() {
    let x = tensor([1.0, 4.0, 9.0]);
    let guarded = |x: &Tensor<_, 1>| build1(3, |i| cond(i.eq(0), 5.0, x.at([i - 1])));
    let expected =
        "`at([i - 1])));`: reads at index -1 of axis 0, whose size is 3, in trip 0 (no result depends on it)";
    assert_eq!(out_of_bounds!(guarded, &x), expected);
    // Guarded after other operations, after the loop, and in bulk.
    let later = |x: &Tensor<_, 1>| {
        let before = build1(3, |i| x.at([i - 1]).sin() * 2.0);
        Tensor::iota(3).eq(0).select(0.0, before.exp())
    };
    assert!(bounds(later, &x).faults.is_empty());
    let bulk = |x: &Tensor<_, 1>| {
        let i = Tensor::iota(3);
        i.eq(0).select(0.0, x.take(&(&i - 1)))
    };
    assert!(bounds(bulk, &x).faults.is_empty());
    let sliced = |x: &Tensor<_, 1>| x.take(&(Tensor::iota(4) - 1)).slice(0, 1..).sum();
    assert!(bounds(sliced, &x).faults.is_empty());
    // The wrong guard, an element that is summed, an index, a position, the host's own branch, a carry.
    let wrong = |x: &Tensor<_, 1>| build1(3, |i| cond(i.eq(1), 5.0, x.at([i - 1])));
    assert_eq!(bounds(wrong, &x).faults.len(), 1);
    assert_eq!(bounds(|x| x.take(&(Tensor::iota(4) - 1)).sum(), &x).faults.len(), 1);
    assert_eq!(bounds(|x| x.at([x.at([7]).to_int()]), &x).faults.len(), 1);
    assert_eq!(bounds(|x| x.take(&(Tensor::iota(4) - 1)).argmax(), &x).faults.len(), 1);
    assert_eq!(bounds(|x| x.take(&(Tensor::iota(4) - 1)).argsort(0), &x).faults.len(), 1);
    let determinant = |x: &Tensor<_, 1>| x.take(&(Tensor::iota(4) - 1)).reshape([2, 2]).det();
    assert_eq!(bounds(determinant, &x).faults.len(), 1);
    assert_eq!(bounds(|x| if x.at([3]).item() > 1.0 { x.sum() } else { x.prod() }, &x).faults.len(), 1);
    assert_eq!(bounds(|x| fold(Tensor::scalar(0.0), Tensor::iota(4), |c, i| c + x.at([i])), &x).faults.len(), 1);
    assert_eq!(
        bounds(|x| x.take(&(Tensor::iota(4) - 1)).dot(&Tensor::constant([0.0, 1.0, 1.0, 1.0])), &x).faults.len(),
        1
    );
    let read = |x: &Tensor<_, 1>| concat(0, [&x.take(&(Tensor::iota(2) - 1)), x]);
    assert_eq!(bounds(|x| read(x).slice(0, 1..), &x).faults.len(), 0);
    assert_eq!(bounds(|x| read(x).slice(0, ..2).max_all(), &x).faults.len(), 1);
}

#[test]
fn writes_out_of_bounds() {
    let x = tensor([1.0, 4.0, 9.0]);
    let counts = |x: &Tensor<_, 1>| Tensor::zeros([2]).scatter_add([&Tensor::iota(3)], x);
    let expected = "`scatter_add([&Tensor::iota(3)], x);`: adds at index 2 of axis 0, whose size is 2, from element [2] of the indices";
    assert_eq!(out_of_bounds!(counts, &x), expected);
    // A zero that is dropped changes nothing.
    let zero =
        |x: &Tensor<_, 1>| Tensor::zeros([2]).scatter_add([&Tensor::iota(3)], &(x * Tensor::constant([1.0, 1.0, 0.0])));
    assert!(bounds(zero, &x).faults.is_empty());
    assert_eq!(bounds(zero, &x).harmless.len(), 1);
}

#[test]
fn around_a_gradient_the_reads_of_the_program_are_found() {
    let x = tensor([1.0, 4.0, 9.0]);
    let found = bounds(|x| grad(|x: &Tensor<_, 1>| build1(3, |i| x.at([i + 1]).sin()).sum(), x), &x);
    assert_eq!((found.faults.len(), found.harmless.len()), (1, 0));
    assert_eq!((found.faults[0].access, found.faults[0].index), (Access::Read, 3));
    let guarded = |i: &Tensor<_, 0, i64>, x: Tensor<_, 0>| cond(i.eq(2), 0.0, x);
    let found = bounds(|x| grad(|x: &Tensor<_, 1>| build1(3, |i| guarded(i, x.at([i + 1]).sin())).sum(), x), &x);
    assert_eq!((found.faults.len(), found.harmless.len()), (0, 1));
    let found = bounds(|x| value_and_grad(|x: &Tensor<_, 1>| x.at([x.argmax() + 1]), x), &x);
    assert_eq!((found.faults.len(), found.harmless.len()), (1, 0));
}

#[test]
fn observation_leaves_values_alone() {
    fn program<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let y = scan(Tensor::scalar(0.5), x, |c, x| c * x.sin() + x);
        let z = build1(4, |i| y.at([i]) * x.at([i + 1]));
        custom_jvp("same", |z: &Tensor<_, 1>| z.square(), |z, _, dot| z * dot * 2.0, &z).sum() + x.argmax().to_float()
    }
    let x = tensor([0.1, -0.7, 1.3, 2.0]);
    let (value, slope) = value_and_grad(program, &x);
    let seen = RefCell::new(None);
    assert_eq!(
        first_nan(
            |x: &Tensor<_, 1>| {
                let y = program(x);
                seen.replace(y.peek());
                y
            },
            &x
        ),
        None
    );
    assert_eq!(seen.take().as_ref(), Some(value.raw()));
    first_nan(
        |x: &Tensor<_, 1>| {
            let y = grad(program, x);
            seen.replace(y.peek());
            y
        },
        &x,
    );
    let seen = Tensor::<Concrete, 1>::from_raw(seen.take().expect("a gradient"));
    assert!((seen - &slope).norm().item() < 1e-12);
    // Inside of a gradient, and around another observation.
    let inside = grad(
        |x: &Tensor<_, 1>| {
            assert!(bounds(program, x).harmless.is_empty());
            program(x)
        },
        &x,
    );
    assert_eq!(inside, slope);
    let both = bounds(
        |x: &Tensor<_, 1>| {
            assert_eq!(first_nan(program, x), None);
            program(x)
        },
        &x,
    );
    assert_eq!(both.faults.len(), 1);
}
