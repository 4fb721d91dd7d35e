//! Operations one by one: small programs with results that follow from the specification.

use polygrad::import::Module;
use polygrad::{Array, DType};

use crate::golden::numbers;

/// The results of a body on these inputs: `args` are the types of `%0`, `%1`, ..
fn run(args: &[(&str, Array)], body: &str, result: &str) -> Array {
    let inputs: Vec<String> = args.iter().enumerate().map(|(k, (ty, _))| format!("%{k}: tensor<{ty}>")).collect();
    let text = format!("func.func @main({}) -> tensor<{result}> {{\n{body}\n}}", inputs.join(", "));
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let inputs: Vec<Array> = args.iter().map(|(_, x)| x.clone()).collect();
    let found = module.try_call(&inputs).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
    // What is recorded computes the same.
    let program = module.program().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let recorded = polygrad::program::interpret(&program, inputs).remove(0);
    let same = |(x, y): (&f64, &f64)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    assert!(numbers(&recorded).iter().zip(&numbers(&found)).all(same), "{recorded:?}, not {found:?}: {text}");
    found
}

/// The result of one operation in the form `stablehlo.NAME operands .. : types`.
fn check(args: &[(&str, Array)], line: &str, result: &str, expected: Array) {
    let found = run(args, &format!("%r = {line}\nreturn %r : tensor<{result}>"), result);
    let same = |(x, y): (&f64, &f64)| x == y || x.is_nan() && y.is_nan();
    let alike = numbers(&found).iter().zip(&numbers(&expected)).all(same);
    assert!(found.shape() == expected.shape() && alike, "{line}: {found:?}, not {expected:?}");
}

fn floats(x: &[f64]) -> Array {
    Array::new(&[x.len()], x.to_vec())
}

fn singles(x: &[f32]) -> Array {
    Array::new(&[x.len()], x.to_vec())
}

fn ints(x: &[i64]) -> Array {
    Array::new(&[x.len()], x.to_vec())
}

#[test]
fn integers_wrap_as_their_type_says() {
    let add = |ty: &str, x: i64, y: i64, z: i64| {
        let line = format!("stablehlo.add %0, %1 : tensor<1x{ty}>");
        let ty = format!("1x{ty}");
        check(&[(&ty, ints(&[x])), (&ty, ints(&[y]))], &line, &ty, ints(&[z]));
    };
    add("i8", 127, 1, -128);
    add("ui8", 255, 1, 0);
    add("i16", -32768, -1, 32767);
    add("i32", 2_147_483_647, 1, -2_147_483_648);
    add("ui32", 4_294_967_295, 2, 1);
    add("i64", i64::MAX, 1, i64::MIN);
    let two = |name: &str, ty: &str, x: i64, y: i64, z: i64| {
        let ty = format!("1x{ty}");
        let line = format!("stablehlo.{name} %0, %1 : tensor<{ty}>");
        check(&[(&ty, ints(&[x])), (&ty, ints(&[y]))], &line, &ty, ints(&[z]));
    };
    two("divide", "i32", -7, 2, -3);
    two("divide", "i32", -7, 0, -1);
    two("divide", "i8", -128, -1, -128);
    two("divide", "ui8", 7, 0, 255);
    two("divide", "ui64", -1, 2, i64::MAX);
    two("divide", "ui64", -1, -2, 1);
    two("remainder", "i32", -7, 2, -1);
    two("remainder", "i32", 7, 0, 7);
    two("remainder", "ui64", -1, 10, 5);
    two("shift_left", "i8", 3, 6, -64);
    two("shift_left", "i8", 3, 8, 0);
    two("shift_right_logical", "i8", -1, 4, 15);
    two("shift_right_logical", "i32", -1, 31, 1);
    two("shift_right_arithmetic", "i8", -128, 3, -16);
    two("shift_right_arithmetic", "ui8", 128, 3, 240);
    two("maximum", "ui64", -1, 3, -1);
    two("minimum", "ui64", -1, 3, 3);
    two("power", "i32", 3, 5, 243);
    two("power", "i32", -1, -3, -1);
    let one = |name: &str, ty: &str, x: i64, z: i64| {
        let ty = format!("1x{ty}");
        check(&[(&ty, ints(&[x]))], &format!("stablehlo.{name} %0 : tensor<{ty}>"), &ty, ints(&[z]));
    };
    one("negate", "i8", -128, -128);
    one("not", "ui8", 5, 250);
    one("popcnt", "i8", -1, 8);
    one("popcnt", "i64", -1, 64);
    one("count_leading_zeros", "i32", 1, 31);
    one("count_leading_zeros", "ui8", 0, 8);
    one("sign", "i32", -9, -1);
}

#[test]
fn conversions_round_and_saturate() {
    let to = |from: &str, into: &str, x: Array, y: Array| {
        let line = format!("stablehlo.convert %0 : (tensor<{from}>) -> tensor<{into}>");
        check(&[(from, x)], &line, into, y);
    };
    to("3xf64", "3xi32", floats(&[-2.7, f64::NAN, 1e20]), ints(&[-2, 0, i64::from(i32::MAX)]));
    to("2xi32", "2xi8", ints(&[300, -129]), ints(&[44, 127]));
    to("2xi32", "2xui8", ints(&[300, -1]), ints(&[44, 255]));
    to("1xui64", "1xf64", ints(&[-1]), floats(&[18_446_744_073_709_551_615.0]));
    to("2xf64", "2xui64", floats(&[-3.0, 1e19]), ints(&[0, 10_000_000_000_000_000_000u64 as i64]));
    // Ties to even, the smallest numbers, and what is beyond the largest.
    let halves = singles(&[2049.0, 2051.0, 65519.0, 65520.0, 5.960_464_5e-8, 2.0e-8, -0.0, f32::NAN]);
    let expected = singles(&[2048.0, 2052.0, 65504.0, f32::INFINITY, 5.960_464_5e-8, 0.0, -0.0, f32::NAN]);
    to("8xf32", "8xf16", halves, expected);
    to("3xf32", "3xbf16", singles(&[257.0, 259.0, 3.39e38]), singles(&[256.0, 260.0, 3.389_531_4e38]));
    to("1xf32", "1xbf16", singles(&[3.4e38]), singles(&[f32::INFINITY]));
    to("2xi1", "2xf64", Array::new(&[2], vec![true, false]), floats(&[1.0, 0.0]));
    to("2xf64", "2xi1", floats(&[0.5, 0.0]), Array::new(&[2], vec![true, false]));
}

#[test]
fn bits_of_floats_are_those_of_the_type() {
    let samples =
        [0.0f32, -0.0, 1.0, -1.5, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, 3.25e-39];
    let bits: Vec<i64> = samples.iter().map(|x| i64::from(x.to_bits() as i32)).collect();
    let there = "stablehlo.bitcast_convert %0 : (tensor<10xf32>) -> tensor<10xi32>";
    check(&[("10xf32", singles(&samples))], there, "10xi32", ints(&bits));
    let back = "stablehlo.bitcast_convert %0 : (tensor<10xi32>) -> tensor<10xf32>";
    check(&[("10xi32", ints(&bits))], back, "10xf32", singles(&samples));
    let samples = [0.1f64, -1e-310, f64::MAX, 5e-324, -0.0];
    let bits: Vec<i64> = samples.iter().map(|x| x.to_bits() as i64).collect();
    let there = "stablehlo.bitcast_convert %0 : (tensor<5xf64>) -> tensor<5xi64>";
    check(&[("5xf64", floats(&samples))], there, "5xi64", ints(&bits));
    let back = "stablehlo.bitcast_convert %0 : (tensor<5xi64>) -> tensor<5xf64>";
    check(&[("5xi64", ints(&bits))], back, "5xf64", floats(&samples));
    let parts = "stablehlo.bitcast_convert %0 : (tensor<1xui64>) -> tensor<1x2xui32>";
    check(&[("1xui64", ints(&[(7 << 32) + 5]))], parts, "1x2xui32", Array::new(&[1, 2], vec![5i64, 7]));
}

#[test]
fn movements() {
    let x = || Array::new(&[2, 3], (0..6).map(f64::from).collect::<Vec<_>>());
    let m = |rows: usize, columns: usize, all: &[f64]| Array::new(&[rows, columns], all.to_vec());
    let from = |line: &str, ty: &str, expected: Array| check(&[("2x3xf64", x())], line, ty, expected);
    from(
        "stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf64>) -> tensor<3x2xf64>",
        "3x2xf64",
        m(3, 2, &[0., 3., 1., 4., 2., 5.]),
    );
    from(
        "stablehlo.slice %0 [0:2, 0:3:2] : (tensor<2x3xf64>) -> tensor<2x2xf64>",
        "2x2xf64",
        m(2, 2, &[0., 2., 3., 5.]),
    );
    from("stablehlo.reverse %0, dims = [1] : tensor<2x3xf64>", "2x3xf64", m(2, 3, &[2., 1., 0., 5., 4., 3.]));
    from(
        "stablehlo.concatenate %0, %0, dim = 0 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<4x3xf64>",
        "4x3xf64",
        Array::new(&[4, 3], (0..12).map(|k| f64::from(k % 6)).collect::<Vec<_>>()),
    );
    let one = ("f64", Array::scalar(9.0));
    let pad = |low: &str, high: &str, inside: &str, ty: &str, expected: Array| {
        let line = format!(
            "stablehlo.pad %0, %1, low = {low}, high = {high}, interior = {inside} : (tensor<2x3xf64>, tensor<f64>) -> tensor<{ty}>"
        );
        check(&[("2x3xf64", x()), one.clone()], &line, ty, expected);
    };
    pad("[0, 1]", "[0, -1]", "[0, 0]", "2x3xf64", m(2, 3, &[9., 0., 1., 9., 3., 4.]));
    pad("[0, 0]", "[0, 0]", "[1, 0]", "3x3xf64", m(3, 3, &[0., 1., 2., 9., 9., 9., 3., 4., 5.]));
    pad("[0, -1]", "[0, 0]", "[0, 1]", "2x4xf64", m(2, 4, &[9., 1., 9., 2., 9., 4., 9., 5.]));
    let row = ("3xf64", floats(&[1.0, 2.0, 3.0]));
    check(
        &[row],
        "stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<3xf64>) -> tensor<2x3xf64>",
        "2x3xf64",
        m(2, 3, &[1., 2., 3., 1., 2., 3.]),
    );
    check(&[], "stablehlo.iota dim = 1 : tensor<2x3xi32>", "2x3xi32", Array::new(&[2, 3], vec![0i64, 1, 2, 0, 1, 2]));
}

#[test]
fn slices_at_computed_positions_stay_inside() {
    let x = || ("5xf64", floats(&[0.0, 1.0, 2.0, 3.0, 4.0]));
    for (start, expected) in [(-3i64, [0.0, 1.0]), (2, [2.0, 3.0]), (9, [3.0, 4.0])] {
        let line = "stablehlo.dynamic_slice %0, %1, sizes = [2] : (tensor<5xf64>, tensor<i32>) -> tensor<2xf64>";
        check(&[x(), ("i32", Array::scalar(start))], line, "2xf64", floats(&expected));
    }
    for (start, expected) in [(-1i64, [8.0, 9.0, 2.0, 3.0, 4.0]), (4, [0.0, 1.0, 2.0, 8.0, 9.0])] {
        let line =
            "stablehlo.dynamic_update_slice %0, %1, %2 : (tensor<5xf64>, tensor<2xf64>, tensor<i64>) -> tensor<5xf64>";
        check(&[x(), ("2xf64", floats(&[8.0, 9.0])), ("i64", Array::scalar(start))], line, "5xf64", floats(&expected));
    }
}

/// The text of a scatter of rows into a vector, by this region.
fn scatter(region: &str, unique: bool) -> String {
    format!(
        "\"stablehlo.scatter\"(%0, %1, %2) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], \
         scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = {unique}}}> ({{
         ^bb0(%a: tensor<f64>, %b: tensor<f64>):
           {region}
           stablehlo.return %c : tensor<f64>
         }}) : (tensor<4xf64>, tensor<5x1xi64>, tensor<5xf64>) -> tensor<4xf64>"
    )
}

#[test]
fn scatters_by_any_function() {
    // Position 1 three times, one position twice out of bounds, position 3 once.
    let at = || ("5x1xi64", Array::new(&[5, 1], vec![1i64, 7, 1, 3, 1]));
    let args = || [("4xf64", floats(&[1.0, 2.0, 3.0, 4.0])), at(), ("5xf64", floats(&[5.0, 6.0, 7.0, -8.0, 0.5]))];
    let by = |line: &str, expected: [f64; 4]| {
        check(&args(), &scatter(&format!("%c = {line} : tensor<f64>"), false), "4xf64", floats(&expected));
    };
    by("stablehlo.add %a, %b", [1.0, 14.5, 3.0, -4.0]);
    by("stablehlo.subtract %a, %b", [1.0, -10.5, 3.0, 12.0]);
    by("stablehlo.multiply %a, %b", [1.0, 35.0, 3.0, -32.0]);
    by("stablehlo.maximum %a, %b", [1.0, 7.0, 3.0, 4.0]);
    by("stablehlo.minimum %b, %a", [1.0, 0.5, 3.0, -8.0]);
    // The last update stays.
    let text = scatter("%d = stablehlo.add %a, %b : tensor<f64>", false).replace("return %c", "return %b");
    check(&args(), &text, "4xf64", floats(&[1.0, 0.5, 3.0, -8.0]));
    // `a + b + a b`, which is associative, and no operation.
    let region = "%d = stablehlo.multiply %a, %b : tensor<f64>
        %e = stablehlo.add %a, %b : tensor<f64>
        %c = stablehlo.add %d, %e : tensor<f64>";
    check(
        &args(),
        &scatter(region, false),
        "4xf64",
        floats(&[1.0, 3.0 * 6.0 * 8.0 * 1.5 - 1.0, 3.0, 5.0 * -7.0 - 1.0]),
    );
}

#[test]
fn gathers_of_windows() {
    let x = Array::new(&[3, 4], (0..12).map(f64::from).collect::<Vec<_>>());
    // Windows of 2 x 2 at (row, column); the second start is moved inside.
    let line = "\"stablehlo.gather\"(%0, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], \
        start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 2>}> \
        : (tensor<3x4xf64>, tensor<2x2xi64>) -> tensor<2x2x2xf64>";
    let at = Array::new(&[2, 2], vec![0i64, 1, 5, 9]);
    let expected = Array::new(&[2, 2, 2], vec![1.0, 2.0, 5.0, 6.0, 6.0, 7.0, 10.0, 11.0]);
    check(&[("3x4xf64", x.clone()), ("2x2xi64", at)], line, "2x2x2xf64", expected);
    // A column of each row, by batches.
    let line = "\"stablehlo.gather\"(%0, %1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], \
        operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, \
        slice_sizes = array<i64: 1, 1>}> : (tensor<3x4xf64>, tensor<3x1xi32>) -> tensor<3xf64>";
    let at = Array::new(&[3, 1], vec![3i64, 0, 2]);
    check(&[("3x4xf64", x), ("3x1xi32", at)], line, "3xf64", floats(&[3.0, 4.0, 10.0]));
}

#[test]
fn reductions_and_windows() {
    let x = || ("5xf64", floats(&[3.0, -1.0, 4.0, 1.0, -5.0]));
    let by = |op: &str, init: &str, expected: f64| {
        let body = format!(
            "%i = stablehlo.constant dense<{init}> : tensor<f64>
             %r = stablehlo.reduce(%0 init: %i) applies stablehlo.{op} across dimensions = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<f64>
             return %r : tensor<f64>"
        );
        assert_eq!(run(&[x()], &body, "f64"), Array::scalar(expected), "{op}");
    };
    by("add", "0.0", 2.0);
    by("add", "10.0", 12.0);
    by("multiply", "1.0", 60.0);
    by("maximum", "0xFFF0000000000000", 4.0);
    by("maximum", "7.0", 7.0);
    by("minimum", "0x7FF0000000000000", -5.0);
    // The largest element and its position, by a region.
    let body = "%z = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
        %n = stablehlo.constant dense<0> : tensor<i32>
        %p = stablehlo.iota dim = 0 : tensor<5xi32>
        %r:2 = stablehlo.reduce(%0 init: %z), (%p init: %n) across dimensions = [0] : (tensor<5xf64>, tensor<5xi32>, tensor<f64>, tensor<i32>) -> (tensor<f64>, tensor<i32>)
          reducer(%a: tensor<f64>, %b: tensor<f64>) (%c: tensor<i32>, %d: tensor<i32>) {
            %m = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
            %v = stablehlo.select %m, %a, %b : tensor<i1>, tensor<f64>
            %w = stablehlo.select %m, %c, %d : tensor<i1>, tensor<i32>
            stablehlo.return %v, %w : tensor<f64>, tensor<i32>
          }
        return %r#1 : tensor<i32>";
    assert_eq!(run(&[x()], body, "i32"), Array::scalar(2i64));
    let window = |op: &str, init: &str, attributes: &str, n: usize, expected: &[f64]| {
        let body = format!(
            "%i = stablehlo.constant dense<{init}> : tensor<f64>
             %r = \"stablehlo.reduce_window\"(%0, %i) <{{{attributes}}}> ({{
             ^bb0(%a: tensor<f64>, %b: tensor<f64>):
               %c = stablehlo.{op} %a, %b : tensor<f64>
               stablehlo.return %c : tensor<f64>
             }}) : (tensor<5xf64>, tensor<f64>) -> tensor<{n}xf64>
             return %r : tensor<{n}xf64>"
        );
        assert_eq!(run(&[x()], &body, &format!("{n}xf64")), floats(expected), "{op} {attributes}");
    };
    let [least, none] = ["0xFFF0000000000000", "0.0"];
    let sizes = "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>";
    window("add", none, sizes, 3, &[3.0, 3.0, -4.0]);
    window("maximum", least, sizes, 3, &[3.0, 4.0, 1.0]);
    window("multiply", "1.0", sizes, 3, &[3.0, -4.0, -5.0]);
    window("add", "1.0", sizes, 3, &[5.0, 4.0, -3.0]);
    let prefixes = "window_dimensions = array<i64: 5>, padding = dense<[[4, 0]]> : tensor<1x2xi64>";
    window("add", none, prefixes, 5, &[3.0, 2.0, 6.0, 7.0, 2.0]);
    window("maximum", least, prefixes, 5, &[3.0, 3.0, 4.0, 4.0, 4.0]);
    let suffixes = "window_dimensions = array<i64: 5>, padding = dense<[[0, 4]]> : tensor<1x2xi64>";
    window("minimum", "0x7FF0000000000000", suffixes, 5, &[-5.0, -5.0, -5.0, -5.0, -5.0]);
    let dilated = "window_dimensions = array<i64: 2>, window_dilations = array<i64: 2>, base_dilations = array<i64: 2>";
    window("add", none, dilated, 7, &[2.0, 0.0, 3.0, 0.0, 5.0, 0.0, -4.0]);
}

#[test]
fn sorts_by_comparators() {
    let sort = |direction: &str| {
        format!(
            "\"stablehlo.sort\"(%0) <{{dimension = 0 : i64, is_stable = true}}> ({{
             ^bb0(%a: tensor<5xi32>, %b: tensor<i32>):
               %c = stablehlo.compare {direction}, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %c : tensor<i1>
             }}) : (tensor<5xi32>) -> tensor<5xi32>"
        )
        .replace("%a: tensor<5xi32>", "%a: tensor<i32>")
    };
    let x = || ("5xi32", ints(&[3, -1, 4, 1, -5]));
    check(&[x()], &sort("LT"), "5xi32", ints(&[-5, -1, 1, 3, 4]));
    check(&[x()], &sort("GT"), "5xi32", ints(&[4, 3, 1, -1, -5]));
    // By absolute values, an order that is not recognised.
    let line = "\"stablehlo.sort\"(%0) <{dimension = 0 : i64}> ({
         ^bb0(%a: tensor<i32>, %b: tensor<i32>):
           %p = stablehlo.abs %a : tensor<i32>
           %q = stablehlo.abs %b : tensor<i32>
           %c = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %c : tensor<i1>
         }) : (tensor<5xi32>) -> tensor<5xi32>";
    check(&[x()], line, "5xi32", ints(&[-1, 1, 3, 4, -5]));
    // Two keys: the second where the first are equal.
    let body = "%y = stablehlo.constant dense<[0, 1, 0, 1, 0]> : tensor<5xi32>
        %r:2 = \"stablehlo.sort\"(%y, %0) <{dimension = 0 : i64, is_stable = true}> ({
         ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
           %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
           %q = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
           %s = stablehlo.compare GT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
           %t = stablehlo.and %q, %s : tensor<i1>
           %u = stablehlo.or %p, %t : tensor<i1>
           stablehlo.return %u : tensor<i1>
         }) : (tensor<5xi32>, tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>)
        return %r#1 : tensor<5xi32>";
    assert_eq!(run(&[x()], body, "5xi32"), ints(&[4, 3, -5, 1, -1]));
    let body = "%v, %p = chlo.top_k(%0, k = 2) : tensor<5xi32> -> (tensor<5xi32>, tensor<5xi32>)
        return %p : tensor<2xi32>"
        .replace("(tensor<5xi32>, tensor<5xi32>)", "(tensor<2xi32>, tensor<2xi32>)");
    assert_eq!(run(&[x()], &body, "2xi32"), ints(&[2, 0]));
}

#[test]
fn products_and_convolutions() {
    let m = |rows: usize, columns: usize, all: &[f64]| Array::new(&[rows, columns], all.to_vec());
    let line = "stablehlo.dot_general %0, %1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>";
    let args = [("2x2xf64", m(2, 2, &[1., 2., 3., 4.])), ("2x1xf64", m(2, 1, &[5., 6.]))];
    check(&args, line, "2x1xf64", m(2, 1, &[17., 39.]));
    let generic = "\"stablehlo.dot_general\"(%0, %1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>";
    check(&args, generic, "2x1xf64", m(2, 1, &[17., 39.]));
    // A vector with gaps by a window that is turned around; then two groups of features.
    let line = "stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 0]], lhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf64>, tensor<2x1x1xf64>) -> tensor<1x5x1xf64>";
    let args = [
        ("1x3x1xf64", Array::new(&[1, 3, 1], vec![1.0, 2.0, 3.0])),
        ("2x1x1xf64", Array::new(&[2, 1, 1], vec![10.0, 1.0])),
    ];
    check(&args, line, "1x5x1xf64", Array::new(&[1, 5, 1], vec![10.0, 1.0, 20.0, 2.0, 30.0]));
    let line = "stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x2xf64>, tensor<1x1x2xf64>) -> tensor<1x2x2xf64>";
    let args = [
        ("1x2x2xf64", Array::new(&[1, 2, 2], vec![1.0, 2.0, 3.0, 4.0])),
        ("1x1x2xf64", Array::new(&[1, 1, 2], vec![10.0, 100.0])),
    ];
    check(&args, line, "1x2x2xf64", Array::new(&[1, 2, 2], vec![10.0, 200.0, 30.0, 400.0]));
}

#[test]
fn loops_and_branches() {
    // The sum of the squares below a limit that is an argument: a loop with a condition.
    let body = "%z = stablehlo.constant dense<0> : tensor<i64>
        %o = stablehlo.constant dense<1> : tensor<i64>
        %r:2 = stablehlo.while(%i = %z, %s = %z) : tensor<i64>, tensor<i64>
        cond {
          %c = stablehlo.compare LT, %i, %0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %q = stablehlo.multiply %i, %i : tensor<i64>
          %t = stablehlo.add %s, %q : tensor<i64>
          %j = stablehlo.add %i, %o : tensor<i64>
          stablehlo.return %j, %t : tensor<i64>, tensor<i64>
        }
        return %r#1 : tensor<i64>";
    for (n, expected) in [(0i64, 0i64), (1, 0), (5, 30)] {
        assert_eq!(run(&[("i64", Array::scalar(n))], body, "i64"), Array::scalar(expected));
    }
    // Rows that are written from the end, two of them never: the loop has an output.
    let body = "%z = stablehlo.constant dense<0> : tensor<i32>
        %o = stablehlo.constant dense<1> : tensor<i32>
        %n = stablehlo.constant dense<3> : tensor<i32>
        %r:2 = stablehlo.while(%i = %z, %s = %0) : tensor<i32>, tensor<5xf64>
        cond {
          %c = stablehlo.compare GT, %n, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %p = stablehlo.subtract %n, %i : tensor<i32>
          %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f64>
          %u = stablehlo.reshape %f : (tensor<f64>) -> tensor<1xf64>
          %t = stablehlo.dynamic_update_slice %s, %u, %p : (tensor<5xf64>, tensor<1xf64>, tensor<i32>) -> tensor<5xf64>
          %j = stablehlo.add %i, %o : tensor<i32>
          stablehlo.return %j, %t : tensor<i32>, tensor<5xf64>
        }
        return %r#1 : tensor<5xf64>";
    assert_eq!(run(&[("5xf64", floats(&[9.0; 5]))], body, "5xf64"), floats(&[9.0, 2.0, 1.0, 0.0, 9.0]));
    // One branch for each number, the last for all others.
    let body = "%r = \"stablehlo.case\"(%0) ({
          %a = stablehlo.constant dense<10.0> : tensor<f64>
          stablehlo.return %a : tensor<f64>
        }, {
          %b = stablehlo.constant dense<20.0> : tensor<f64>
          stablehlo.return %b : tensor<f64>
        }) : (tensor<i32>) -> tensor<f64>
        return %r : tensor<f64>";
    for (n, expected) in [(-1i64, 20.0), (0, 10.0), (1, 20.0), (7, 20.0)] {
        assert_eq!(run(&[("i32", Array::scalar(n))], body, "f64"), Array::scalar(expected));
    }
}

#[test]
fn literals_in_all_forms() {
    let value = |literal: &str, ty: &str| {
        run(&[], &format!("%c = stablehlo.constant dense<{literal}> : tensor<{ty}>\nreturn %c : tensor<{ty}>"), ty)
    };
    assert_eq!(value("[[1.0, 2.0], [3.0, 4.0]]", "2x2xf64"), Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]));
    assert_eq!(value("0x3FF8000000000000", "f64"), Array::scalar(1.5));
    assert_eq!(value("0xC0200000", "2xf32"), singles(&[-2.5, -2.5]));
    assert_eq!(value("\"0x000000000000F83F00000000000000C0\"", "2xf64"), floats(&[1.5, -2.0]));
    assert_eq!(value("\"0x0300FFFF\"", "2xi16"), ints(&[3, -1]));
    assert_eq!(value("[true, false]", "2xi1"), Array::new(&[2], vec![true, false]));
    assert_eq!(value("\"0x0100\"", "2xi1"), Array::new(&[2], vec![true, false]));
    assert_eq!(value("18446744073709551615", "ui64"), Array::scalar(-1i64));
    assert_eq!(value("0x3C00", "f16"), Array::scalar(1.0f32));
    assert_eq!(value("", "0x3xf64"), Array::zeros(&[0, 3], DType::F64));
    let body = "%c = stablehlo.constant dense<[(1.0,-2.0), (3.0,4.0)]> : tensor<2xcomplex<f64>>
        %r = stablehlo.imag %c : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
        return %r : tensor<2xf64>";
    assert_eq!(run(&[], body, "2xf64"), floats(&[-2.0, 4.0]));
}

#[test]
fn one_text_serves_sizes_that_it_leaves_open() {
    let text = "func.func @main(%x: tensor<?xf64>) -> tensor<?xf64> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
      %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %c = stablehlo.constant dense<2.0> : tensor<f64>
      %b = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
      %r = stablehlo.multiply %x, %b : tensor<?xf64>
      return %r : tensor<?xf64>
    }";
    let module = Module::parse(text).expect("a module");
    for n in [0, 1, 4] {
        assert_eq!(module.call(&[Array::ones(&[n], DType::F64)]), [Array::full(&[n], 2.0)]);
    }
}
