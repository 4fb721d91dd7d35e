//! Elementwise operations and constants.

use polygrad::ops::Unary;

use super::read::{Line, Type};
use super::tensor::{Data, Tensor, size};

/// The result of an elementwise operation, if it is one.
pub(super) fn elementwise(name: &str, line: &Line, args: &[Tensor]) -> Option<Tensor> {
    match args {
        [] if name == "constant" => Some(constant(line)),
        [x] => unary(name, line, x),
        [x, y] if name == "compare" => Some(compare(line, x, y)),
        [x, y] if name == "complex" => {
            let parts = x.f().iter().zip(y.f()).map(|(x, y)| [*x, *y]).collect();
            let element = format!("complex<{}>", x.ty.element);
            Some(Tensor { ty: Type { shape: x.shape().to_vec(), element }, data: Data::Complex(parts) })
        }
        [x, y] => binary(name, x, y),
        [mask, x, y] if name == "select" => {
            assert_eq!((x.ty.clone(), mask.shape()), (y.ty.clone(), x.shape()), "branches have one type");
            let mut result = y.clone();
            mask.i().iter().enumerate().filter(|(_, m)| **m != 0).for_each(|(k, _)| result.put(k, &x.element(k)));
            Some(result)
        }
        [..] => None,
    }
}

/// `dense<0x3FF0000000000000>`, `dense<[true, false]>`, `dense<"0x00..">`, `dense<>`.
fn constant(line: &Line) -> Tensor {
    let ty = &line.results[0];
    let text = line.words.trim().strip_prefix("dense<").and_then(|w| w.strip_suffix('>')).expect("a constant");
    let bits: Vec<u64> = if let Some(bytes) = text.strip_prefix("\"0x").and_then(|t| t.strip_suffix('"')) {
        let width = if ty.element == "f32" { 8 } else { 16 };
        let one = |chunk: &[u8]| {
            let chunk = std::str::from_utf8(chunk).expect("ascii");
            let bytes = (0..width / 2).rev().map(|k| &chunk[2 * k..2 * k + 2]).collect::<String>();
            u64::from_str_radix(&bytes, 16).expect("hexadecimal")
        };
        bytes.as_bytes().chunks(width).map(one).collect()
    } else {
        let words = text.split(['[', ']', ',', ' ']).filter(|word| !word.is_empty());
        words.map(number).collect()
    };
    let n = size(&ty.shape);
    let all: Vec<u64> = if bits.len() == 1 { vec![bits[0]; n] } else { bits };
    assert_eq!(all.len(), n, "a constant has as many elements as its type says");
    match &ty.element[..] {
        "f64" => Tensor::floats(&ty.shape, "f64", all.into_iter().map(f64::from_bits).collect()),
        "f32" => Tensor::floats(&ty.shape, "f32", all.into_iter().map(|b| f32::from_bits(b as u32).into()).collect()),
        element => Tensor::whole(&ty.shape, element, all.into_iter().map(|b| b as i64).collect()),
    }
}

fn number(word: &str) -> u64 {
    match word.strip_prefix("0x") {
        Some(bits) => u64::from_str_radix(bits, 16).expect("hexadecimal"),
        None if word == "true" => 1,
        None if word == "false" => 0,
        None => word.parse::<i64>().expect("an integer") as u64,
    }
}

fn unary(name: &str, line: &Line, x: &Tensor) -> Option<Tensor> {
    let (shape, element) = (x.shape(), &x.ty.element[..]);
    let to = &line.results[0].element[..];
    let own: Option<fn(f64) -> f64> = match name {
        "negate" => Some(|x| -x),
        "abs" => Some(f64::abs),
        "sqrt" => Some(f64::sqrt),
        "exponential" => Some(f64::exp),
        "log" => Some(f64::ln),
        "log_plus_one" => Some(f64::ln_1p),
        "exponential_minus_one" => Some(f64::exp_m1),
        "sine" => Some(f64::sin),
        "cosine" => Some(f64::cos),
        "tan" => Some(f64::tan),
        "tanh" => Some(f64::tanh),
        "logistic" => Some(|x| 1.0 / (1.0 + (-x).exp())),
        "floor" => Some(f64::floor),
        "ceil" => Some(f64::ceil),
        "round_nearest_afz" => Some(f64::round),
        "sign" => Some(|x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
        "asin" => Some(f64::asin),
        "acos" => Some(f64::acos),
        "atan" => Some(f64::atan),
        "sinh" => Some(f64::sinh),
        "cosh" => Some(f64::cosh),
        "asinh" => Some(|x| Unary::Asinh.apply(x)),
        "acosh" => Some(|x| Unary::Acosh.apply(x)),
        "atanh" => Some(|x| Unary::Atanh.apply(x)),
        "erf" => Some(|x| Unary::Erf.apply(x)),
        "erfc" => Some(|x| Unary::Erfc.apply(x)),
        "erf_inv" => Some(|x| Unary::Erfinv.apply(x)),
        "lgamma" => Some(|x| Unary::Lgamma.apply(x)),
        "digamma" => Some(|x| Unary::Digamma.apply(x)),
        _ => None,
    };
    match (name, &x.data) {
        (_, Data::Float(v)) if own.is_some() => {
            let f = own.expect("just seen");
            Some(Tensor::floats(shape, element, v.iter().map(|x| f(*x)).collect()))
        }
        ("negate", Data::Whole(v)) => Some(Tensor::whole(shape, element, v.iter().map(|x| x.wrapping_neg()).collect())),
        ("abs", Data::Whole(v)) => Some(Tensor::whole(shape, element, v.iter().map(|x| x.wrapping_abs()).collect())),
        ("not", Data::Whole(v)) => {
            let mask = element == "i1";
            Some(Tensor::whole(shape, element, v.iter().map(|x| if mask { 1 - x } else { !x }).collect()))
        }
        ("is_finite", Data::Float(v)) => {
            Some(Tensor::whole(shape, "i1", v.iter().map(|x| i64::from(x.is_finite())).collect()))
        }
        ("real" | "imag", Data::Complex(v)) => {
            let part = usize::from(name == "imag");
            let element = element.trim_start_matches("complex<").trim_end_matches('>');
            Some(Tensor::floats(shape, element, v.iter().map(|z| z[part]).collect()))
        }
        ("convert", data) => Some(match (data, to) {
            (Data::Float(v), "f64" | "f32") => Tensor::floats(shape, to, v.clone()),
            (Data::Whole(v), "f64" | "f32") => Tensor::floats(shape, to, v.iter().map(|x| rounded(*x, to)).collect()),
            (Data::Float(v), _) => {
                // The specification leaves the conversion open where it does not fit.
                assert!(v.iter().all(|x| x.abs() <= 9.3e18), "an integer that is out of range");
                Tensor::whole(shape, to, v.iter().map(|x| *x as i64).collect())
            }
            (Data::Whole(v), _) => Tensor::whole(shape, to, v.iter().map(|x| wrapped(*x, to)).collect()),
            (Data::Complex(_), _) => panic!("complex numbers are not converted"),
        }),
        ("bitcast_convert", Data::Float(v)) => {
            let bits = |x: &f64| if to == "i32" { i64::from((*x as f32).to_bits() as i32) } else { x.to_bits() as i64 };
            Some(Tensor::whole(shape, to, v.iter().map(bits).collect()))
        }
        ("bitcast_convert", Data::Whole(v)) => {
            assert_eq!(to, "f64");
            Some(Tensor::floats(shape, to, v.iter().map(|x| f64::from_bits(*x as u64)).collect()))
        }
        (_, Data::Float(_) | Data::Whole(_) | Data::Complex(_)) => None,
    }
}

/// An integer in the bits of its type.
fn wrapped(x: i64, to: &str) -> i64 {
    if to == "i32" { i64::from(x as i32) } else { x }
}

/// An integer as a float, rounded once.
fn rounded(x: i64, to: &str) -> f64 {
    if to == "f32" { f64::from(x as f32) } else { x as f64 }
}

fn binary(name: &str, x: &Tensor, y: &Tensor) -> Option<Tensor> {
    let floats: Option<fn(f64, f64) -> f64> = match name {
        "add" => Some(|x, y| x + y),
        "subtract" => Some(|x, y| x - y),
        "multiply" => Some(|x, y| x * y),
        "divide" => Some(|x, y| x / y),
        "power" => Some(f64::powf),
        "atan2" => Some(f64::atan2),
        "maximum" => Some(|x, y| if x.is_nan() || y.is_nan() { f64::NAN } else { x.max(y) }),
        "minimum" => Some(|x, y| if x.is_nan() || y.is_nan() { f64::NAN } else { x.min(y) }),
        _ => None,
    };
    let wholes: Option<fn(i64, i64) -> i64> = match name {
        "add" => Some(i64::wrapping_add),
        "subtract" => Some(i64::wrapping_sub),
        "multiply" => Some(i64::wrapping_mul),
        // The specification leaves division by zero open.
        "divide" => Some(|x, y| if y == 0 { panic!("a division by zero") } else { x.wrapping_div(y) }),
        "remainder" => Some(|x, y| if y == 0 { panic!("a division by zero") } else { x.wrapping_rem(y) }),
        "maximum" => Some(i64::max),
        "minimum" => Some(i64::min),
        "and" => Some(|x, y| x & y),
        "or" => Some(|x, y| x | y),
        "xor" => Some(|x, y| x ^ y),
        _ => None,
    };
    let bits = if x.ty.element == "i32" { 32 } else { 64 };
    // The number of places is read without a sign.
    let few = |places: i64| (0..bits).contains(&places);
    let shift: Option<Box<dyn Fn(i64, i64) -> i64>> = match name {
        "shift_left" => Some(Box::new(move |x, y| if few(y) { x << y } else { 0 })),
        "shift_right_logical" => Some(Box::new(move |x, y| match (few(y), bits) {
            (false, _) => 0,
            (true, 32) => i64::from(x as u32 >> y),
            (true, _) => (x as u64 >> y) as i64,
        })),
        "shift_right_arithmetic" => Some(Box::new(move |x, y| x >> if few(y) { y } else { bits - 1 })),
        _ => None,
    };
    if let (Some(shift), Data::Whole(v), Data::Whole(w)) = (shift, &x.data, &y.data) {
        assert_eq!(x.ty, y.ty, "operands have one type");
        let element = &x.ty.element;
        return Some(Tensor::whole(
            x.shape(),
            element,
            v.iter().zip(w).map(|(x, y)| wrapped(shift(*x, *y), element)).collect(),
        ));
    }
    let x_type = x.ty.element.clone();
    match (&x.data, &y.data) {
        (Data::Float(v), Data::Float(w)) => floats.map(|f| {
            assert_eq!(x.ty, y.ty, "operands have one type");
            Tensor::floats(x.shape(), &x.ty.element, v.iter().zip(w).map(|(x, y)| f(*x, *y)).collect())
        }),
        (Data::Whole(v), Data::Whole(w)) => wholes.filter(|_| x.ty == y.ty).map(|f| {
            Tensor::whole(x.shape(), &x.ty.element, v.iter().zip(w).map(|(x, y)| wrapped(f(*x, *y), &x_type)).collect())
        }),
        (Data::Float(_) | Data::Whole(_) | Data::Complex(_), _) => None,
    }
}

/// `compare LT, %0, %1, FLOAT`.
fn compare(line: &Line, x: &Tensor, y: &Tensor) -> Tensor {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mut words = line.words.split(", ").map(str::trim);
    let (how, kind) = (words.next().expect("a direction"), words.last().expect("a kind"));
    assert_eq!(x.ty, y.ty, "operands have one type");
    let needed = match &x.ty.element[..] {
        "f64" | "f32" => "FLOAT",
        "i1" => "UNSIGNED",
        _ => "SIGNED",
    };
    assert_eq!(kind, needed);
    let orders: Vec<Option<std::cmp::Ordering>> = match (&x.data, &y.data) {
        (Data::Float(v), Data::Float(w)) => v.iter().zip(w).map(|(x, y)| x.partial_cmp(y)).collect(),
        (Data::Whole(v), Data::Whole(w)) => v.iter().zip(w).map(|(x, y)| x.partial_cmp(y)).collect(),
        (Data::Float(_) | Data::Whole(_) | Data::Complex(_), _) => panic!("no comparison"),
    };
    let holds = |order: &Option<std::cmp::Ordering>| match how {
        "EQ" => *order == Some(Equal),
        "NE" => *order != Some(Equal),
        "LT" => *order == Some(Less),
        "LE" => matches!(order, Some(Less | Equal)),
        "GT" => *order == Some(Greater),
        "GE" => matches!(order, Some(Greater | Equal)),
        _ => panic!("no comparison {how}"),
    };
    Tensor::whole(x.shape(), "i1", orders.iter().map(|o| i64::from(holds(o))).collect())
}
