//! The functions in C against those in Rust, compiled for the same kind of processor: the same bits.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use polygrad_math::{Elementary, Format, Fused, Machine, WithoutFma, derived, scalar};

use crate::ops::{Binary, FloatStep, Unary};

use super::{HEAD, PREFIX, functions, items, names};

/// A float type, by its bits.
trait Real: Elementary + Format {
    const SINGLE: bool;
    fn of_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    /// The place of a number among all numbers.
    fn place(self) -> i64;
}

macro_rules! real {
    ($F:ident, $U:ident, $I:ident, $single:literal) => {
        impl Real for $F {
            const SINGLE: bool = $single;
            fn of_bits(bits: u64) -> $F {
                $F::from_bits(bits as $U)
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            fn place(self) -> i64 {
                let bits = self.to_bits() as $I;
                i64::from(if bits < 0 { $I::MIN - bits } else { bits })
            }
        }
    };
}

real!(f64, u64, i64, false);
real!(f32, u32, i32, true);

/// A function, and whether it leaves arguments to the library of the language. The second argument of functions of one
/// number is ignored.
struct Row<E> {
    name: &'static str,
    arity: usize,
    function: fn(E, E) -> E,
    leaves: fn(E, E) -> bool,
}

/// Rows of functions of one number and of two numbers, each with the condition on which arguments are left.
macro_rules! rows {
    (
        $E:ident, $M:ident;
        $($one:ident $(if |$x:ident| $left:expr)?),*;
        $($two:ident $(if |$a:ident, $b:ident| $left_pair:expr)?),*
    ) => {
        vec![
            $(Row {
                name: stringify!($one),
                arity: 1,
                function: |x, _| scalar::$one::<$E, $M>(x),
                leaves: rows!(@ $(|$x, _y| $left)?),
            },)*
            $(Row {
                name: stringify!($two),
                arity: 2,
                function: scalar::$two::<$E, $M>,
                leaves: rows!(@ $(|$a, $b| $left_pair)?),
            },)*
        ]
    };
    (@) => { |_, _| false };
    (@ $leaves:expr) => { $leaves };
}

/// Whether special functions leave a power to the library.
fn leaves_power(x: f64, y: f64) -> bool {
    !f64::power::<WithoutFma>(x, y).1
}

/// Whether one of the powers that `polygamma` computes at a positive argument is left to the library.
fn leaves_polygamma_size(x: f64, n: f64) -> bool {
    let lower = (n / 2.0).floor();
    leaves_power(x, lower) || leaves_power(x, n - lower) || leaves_power(x / (x + 1.0), n + 1.0)
}

fn leaves_polygamma(x: f64, order: f64) -> bool {
    let n = order.round();
    if x > 0.0 {
        return leaves_polygamma_size(x, n);
    }
    [x - x.floor(), x.ceil() - x, 1.0 - x].into_iter().any(|x| leaves_polygamma_size(x, n))
}

fn table<E: Real, M: Machine>() -> Vec<Row<E>> {
    rows! {
        E, M;
        neg, abs, recip, square, one_minus_square, sqrt, floor, ceil, round, sign, exp, expm1, atan, tanh, sech2, sigmoid, relu, softplus,
        gaussian, erf, erfc, asinh, acosh, atanh, erfinv, lgamma, digamma, trigamma,
        ln if |x| !E::is_normal_and_positive(x),
        log1p if |x| !E::exceeds_minus_one(x),
        sin if |x| !E::is_small_angle(x),
        cos if |x| !E::is_small_angle(x),
        tan if |x| !E::is_small_angle(x),
        asin if |x| !E::is_inner_sine(x),
        acos if |x| !E::is_inner_sine(x),
        sinh if |x| !derived::has_exponential(x),
        cosh if |x| !derived::has_exponential(x);
        copysign, min, max, logaddexp, mul_no_nan, div_no_nan,
        pow if |x, y| !E::power::<M>(x, y).1,
        atan2 if |y, x| !E::angle::<M>(y, x).1,
        hypot if |x, y| !derived::hypot::<E, M>(x, y).1,
        pow_less_one if |x, y| !derived::pow_less_one::<E, M>(x, y).1 && leaves_power(x.wide(), y.wide() - 1.0),
        recip_real if |x, y| !derived::recip_real::<E, M>(x, y).1
            && !derived::hypot::<f64, WithoutFma>(x.wide(), y.wide()).1,
        polygamma if |x, y| leaves_polygamma(x.wide(), y.wide())
    }
}

/// Every operation on floats that no operator of C computes is a row.
#[test]
fn every_operation_is_in_the_table() {
    let operator = |op: &Binary| matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div);
    let mut names: Vec<&str> = Unary::ALL.iter().map(|op| op.name()).collect();
    names.extend(Binary::ALL.iter().filter(|op| !operator(op)).map(|op| op.name()));
    names.extend(FloatStep::ALL.iter().filter(|op| **op != FloatStep::StopGradient).map(|op| op.name()));
    let mut rows: Vec<&str> = table::<f64, WithoutFma>().iter().map(|row| row.name).collect();
    names.sort_unstable();
    rows.sort_unstable();
    assert_eq!(names, rows);
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between two numbers.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// Numbers with special results, and numbers at which algorithms change.
const BORDERS: [f64; 50] = [
    0.0,
    f64::INFINITY,
    f64::NAN,
    5e-324,
    1e-310,
    1e-45,
    1e-40,
    f64::MIN_POSITIVE,
    f32::MIN_POSITIVE as f64,
    f64::MAX,
    f32::MAX as f64,
    1e-300,
    1e-200,
    1e-150,
    1e-21,
    1e-17,
    1e-9,
    1e-8,
    0.1,
    0.25,
    0.4375,
    0.5,
    0.6875,
    0.84375,
    0.9,
    0.996_093_75,
    1.0,
    1.1875,
    1.23,
    1.25,
    1.4616,
    1.7316,
    2.0,
    2.4375,
    2.857142857142857,
    3.0,
    6.0,
    8.0,
    12.0,
    28.0,
    40.0,
    88.722_84,
    104.0,
    170.0,
    709.782_712_893_384,
    746.0,
    1_048_576.0,
    268_435_456.0,
    1e15,
    1e150,
];

/// Borders with their neighbours, and random numbers of several ranges, of both signs.
fn numbers<E: Real>(random: &mut Random, count: usize) -> Vec<E> {
    let mut x = Vec::new();
    for border in BORDERS.map(E::literal) {
        let bits = border.bits();
        x.extend([bits.saturating_sub(1), bits, bits + 1].map(E::of_bits).into_iter().flat_map(|x| [x, -x]));
    }
    x.extend((0..count).map(|k| match k % 5 {
        0 => E::of_bits(random.bits()),
        1 => E::literal(f64::from(f32::from_bits(random.bits() as u32))),
        2 => E::literal(random.between(-3e6, 3e6)),
        3 => E::literal(random.between(-20.0, 20.0)),
        _ => E::literal(random.between(-1.0, 1.0)),
    }));
    x
}

/// Arguments of functions of one number and of two numbers.
fn arguments<E: Real>() -> [Vec<(E, E)>; 2] {
    let mut random = Random(0x7c3a_96d1);
    let x = numbers::<E>(&mut random, 1500);
    let one = x.iter().map(|x| (*x, *x)).collect();
    let hostile = BORDERS.map(E::literal).map(|x| [x, -x]);
    let hostile = hostile.as_flattened();
    let mut two: Vec<(E, E)> = hostile.iter().step_by(3).flat_map(|x| hostile.iter().map(|y| (*x, *y))).collect();
    two.extend((0..800).map(|_| {
        let mut any = || x[random.bits() as usize % x.len()];
        (any(), any())
    }));
    two.extend((0..800).map(|_| (E::literal(random.between(0.0, 9.0)), E::literal(random.between(-9.0, 9.0)))));
    // Orders, and similar numbers.
    two.extend((0..400).map(|k| (E::literal(random.between(-9.0, 40.0)), E::literal(f64::from(k % 180)))));
    two.extend((0..400).map(|_| {
        let (x, factor) = (random.between(-1e3, 1e3), random.between(0.9, 1.1));
        (E::literal(x), E::literal(x * factor))
    }));
    [one, two]
}

/// A program that reads lines of a row and the bits of two arguments, and writes the bits of results.
fn program() -> String {
    let rows = rows_of_both();
    let mut text = functions(rows.iter().map(|(name, _, single)| (*name, *single)));
    text.push_str("\n#include <inttypes.h>\n#include <stdio.h>\n\nint main(void) {\n    unsigned row;\n");
    text.push_str("    uint64_t a, b;\n    while (scanf(\"%u %\" SCNx64 \" %\" SCNx64, &row, &a, &b) == 3) {\n");
    text.push_str("        double x, y, z = 0.0;\n        float xf, yf, zf = 0.0f;\n        memcpy(&x, &a, 8);\n");
    text.push_str("        memcpy(&y, &b, 8);\n        uint32_t af = (uint32_t)a, bf = (uint32_t)b;\n");
    text.push_str("        memcpy(&xf, &af, 4);\n        memcpy(&yf, &bf, 4);\n        switch (row) {\n");
    for (k, (name, arity, single)) in rows.iter().enumerate() {
        let f = if *single { "f" } else { "" };
        let second = if *arity == 2 { format!(", y{f}") } else { String::new() };
        writeln!(text, "        case {k}: z{f} = {PREFIX}{name}{f}(x{f}{second}); break;").unwrap();
    }
    text.push_str("        }\n        memcpy(&a, &z, 8);\n        memcpy(&af, &zf, 4);\n");
    text.push_str("        printf(\"%\" PRIx64 \"\\n\", row % 2 ? af : a);\n    }\n    return 0;\n}\n");
    text
}

/// Names, numbers of arguments, and whether the precision is single: functions of double precision at even places.
fn rows_of_both() -> Vec<(&'static str, usize, bool)> {
    table::<f64, WithoutFma>()
        .iter()
        .flat_map(|row| [false, true].map(|single| (row.name, row.arity, single)))
        .collect()
}

/// Compiles the program in a folder.
fn compile(folder: &Path, options: &[&str]) {
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wdouble-promotion", "-Werror"];
    let command = Command::new("cc")
        .args(["-O1", "-ffp-contract=off", "-o", "program", "program.c"])
        .args(strict)
        .args(options)
        .arg("-lm")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(command.status.success(), "{}", String::from_utf8_lossy(&command.stderr));
}

/// The program's results for lines of input.
fn results(folder: &Path, input: &str) -> Vec<u64> {
    fs::write(folder.join("input"), input).unwrap();
    let input = fs::File::open(folder.join("input")).unwrap();
    let output = Command::new(folder.join("program")).stdin(input).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
}

/// Results of two libraries differ by so many numbers at most; these functions have the errors of several calls.
fn allowed(name: &str) -> u64 {
    match name {
        "polygamma" | "recip_real" | "pow_less_one" => 4,
        "sinh" | "cosh" => 2,
        _ => 1,
    }
}

fn agree<E: Real, M: Machine>(folder: &Path) {
    let [one, two] = arguments::<E>();
    let rows = table::<E, M>();
    let arguments = |row: &Row<E>| if row.arity == 1 { &one } else { &two };
    let mut input = String::new();
    for (k, row) in rows.iter().enumerate() {
        let place = 2 * k + usize::from(E::SINGLE);
        for (x, y) in arguments(row) {
            writeln!(input, "{place} {:x} {:x}", x.bits(), y.bits()).unwrap();
        }
    }
    let mut outputs = results(folder, &input).into_iter();
    for row in &rows {
        let (mut exact, mut differ) = (0, 0);
        for (x, y) in arguments(row) {
            let (mine, right) = (E::of_bits(outputs.next().unwrap()), (row.function)(*x, *y));
            let both_nan = mine.is_not_a_number() && right.is_not_a_number();
            if both_nan || mine.bits() == right.bits() {
                exact += usize::from(!(row.leaves)(*x, *y));
                continue;
            }
            differ += 1;
            let (mine, right, x, y) = (mine.wide(), right.wide(), x.wide(), y.wide());
            let at = format!("{} {} fma {}: {mine:e}, not {right:e}, at {x:e}, {y:e}", row.name, E::SINGLE, M::FMA);
            assert!((row.leaves)(E::literal(x), E::literal(y)), "{at}");
            assert!([mine, right].iter().all(|z| z.is_finite() && *z != 0.0), "{at}");
            let distance = E::literal(mine).place().abs_diff(E::literal(right).place());
            assert!(distance <= allowed(row.name), "{at}");
        }
        println!("{} {} fma {}: {exact} exact, {differ} differ", row.name, E::SINGLE, M::FMA);
        assert!(2 * exact > arguments(row).len() / 2, "{} compares {exact}", row.name);
    }
    assert!(outputs.next().is_none());
}

#[test]
fn functions_in_c_have_the_bits_of_those_in_rust() {
    if Command::new("cc").arg("--version").output().is_err() {
        println!("skipped: no C compiler");
        return;
    }
    let folder = env::temp_dir().join(format!("polygrad-c-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("program.c"), program()).unwrap();
    compile(&folder, &[]);
    agree::<f64, WithoutFma>(&folder);
    agree::<f32, WithoutFma>(&folder);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        compile(&folder, &["-mfma"]);
        agree::<f64, Fused>(&folder);
        agree::<f32, Fused>(&folder);
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// The text of a function alone defines all that it names, before it is named, and nothing twice.
#[test]
fn a_function_comes_with_what_it_needs() {
    for (name, _, single) in rows_of_both() {
        let text = functions([(name, single)]);
        let mut defined: Vec<&str> = Vec::new();
        for block in text[HEAD.len()..].split("\n\n") {
            let Some(own) = super::defined(block.trim_start()) else { continue };
            assert!(!defined.contains(&own), "{own} twice in {name}");
            defined.push(own);
            let unknown = names(block).find(|(needed, _)| !defined.contains(needed));
            assert!(unknown.is_none(), "{name}: {own} needs {unknown:?}");
        }
        let last = defined.last().unwrap();
        assert_eq!(*last, format!("{PREFIX}{name}{}", if single { "f" } else { "" }));
        assert!(!text.contains(['@', '$']), "{text}");
    }
}

/// Nothing is written twice, and the order in which functions are asked for does not matter.
#[test]
fn functions_have_one_text() {
    let both = functions([("tanh", true), ("erfinv", false), ("erfc", false)]);
    assert_eq!(both, functions([("erfc", false), ("erfinv", false), ("tanh", true), ("tanh", true)]));
    assert_eq!(both.matches("double polygrad_erfc(").count(), 1);
    assert_eq!(both.matches("Copyright").count(), 1);
    assert!(!functions([("tanh", true)]).contains("double polygrad"));
    let rows = rows_of_both();
    let used = rows.iter().map(|(name, _, single)| (*name, *single));
    let mut all: Vec<String> = items(used).into_iter().map(|(name, _)| name).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}
