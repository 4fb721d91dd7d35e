//! The rules of types and attributes, operation by operation, from the specification: what the operands and the words of
//! a line say about its results.

use super::read::{Line, Type};
use super::tensor::size;

/// The types of the results of an operation without regions.
pub(super) fn results(line: &Line, args: &[Type]) -> Vec<Type> {
    let name = line.op.strip_prefix("stablehlo.").or(line.op.strip_prefix("chlo.")).unwrap_or_else(|| {
        panic!("{} is of no dialect that is known", line.op);
    });
    match (name, args) {
        ("optimization_barrier", args) => {
            line.says(&line.operands.join(", "));
            args.to_vec()
        }
        ("custom_call", args) => custom_call(line, args),
        ("constant", []) => vec![constant(line)],
        ("iota", []) => {
            let (dim, ty) = (line.number("dim"), line.results[0].clone());
            line.says(&format!("dim = {dim}"));
            assert!(dim < ty.shape.len() && is_integer(&ty), "{line:?}");
            vec![ty]
        }
        ("select", [mask, x, y]) => {
            line.says(&line.operands.join(", "));
            assert_eq!((x, mask), (y, &of(&x.shape, "i1")), "{line:?}");
            vec![x.clone()]
        }
        ("gather", [x, starts]) => vec![gather(line, x, starts)],
        ("dynamic_slice", [x, at @ ..]) => {
            let sizes = line.indices("sizes");
            line.says(&format!("{}, sizes = {sizes:?}", line.operands.join(", ")));
            starts_fit(line, x, &sizes, at);
            vec![of(&sizes, &x.element)]
        }
        ("dynamic_update_slice", [x, part, at @ ..]) => {
            line.says(&line.operands.join(", "));
            assert_eq!(part.element, x.element, "{line:?}");
            starts_fit(line, x, &part.shape, at);
            vec![x.clone()]
        }
        ("concatenate", parts) => vec![concatenate(line, parts)],
        (_, [x]) => vec![one_operand(name, line, x)],
        (_, [x, y]) => vec![two_operands(name, line, x, y)],
        (_, _) => panic!("{name} of {} operands is not known", args.len()),
    }
}

fn of(shape: &[usize], element: &str) -> Type {
    Type { shape: shape.to_vec(), element: element.to_owned() }
}

fn is_float(ty: &Type) -> bool {
    ["f64", "f32"].contains(&&ty.element[..])
}

fn is_integer(ty: &Type) -> bool {
    ["i64", "i32"].contains(&&ty.element[..])
}

/// Panics unless these are different axes of so many.
#[track_caller]
fn are_axes(line: &Line, axes: &[usize], rank: usize) {
    let unique = axes.iter().enumerate().all(|(k, axis)| *axis < rank && !axes[..k].contains(axis));
    assert!(unique, "{axes:?} are no axes of {rank}: {line:?}");
}

fn is_sorted(axes: &[usize]) -> bool {
    axes.is_sorted()
}

/// The axes of a shape that are none of these.
fn others(rank: usize, axes: &[usize]) -> Vec<usize> {
    (0..rank).filter(|k| !axes.contains(k)).collect()
}

fn at(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|k| shape[*k]).collect()
}

fn one_operand(name: &str, line: &Line, x: &Type) -> Type {
    let operand = &line.operands[0][..];
    let result = &line.results[0];
    let rank = x.shape.len();
    let dims = || {
        let dims = line.indices("dims");
        line.says(&format!("{operand}, dims = {dims:?}"));
        dims
    };
    let elementwise = |holds: bool, element: &str| {
        line.says(operand);
        assert!(holds, "the element type of {line:?}");
        of(&x.shape, element)
    };
    let numbers = is_float(x) || is_integer(x);
    let complex = x.element.strip_prefix("complex<").and_then(|e| e.strip_suffix('>'));
    match name {
        "negate" | "abs" => elementwise(numbers, &x.element),
        "not" => elementwise(is_integer(x) || x.element == "i1", &x.element),
        "sqrt"
        | "exponential"
        | "log"
        | "log_plus_one"
        | "exponential_minus_one"
        | "sine"
        | "cosine"
        | "tan"
        | "tanh"
        | "logistic"
        | "floor"
        | "ceil"
        | "round_nearest_afz"
        | "sign" => {
            assert_eq!(line.op, format!("stablehlo.{name}"));
            elementwise(is_float(x), &x.element)
        }
        "asin" | "acos" | "atan" | "sinh" | "cosh" | "asinh" | "acosh" | "atanh" | "erf" | "erfc" | "erf_inv"
        | "lgamma" | "digamma" => {
            assert_eq!(line.op, format!("chlo.{name}"));
            elementwise(is_float(x), &x.element)
        }
        "is_finite" => elementwise(is_float(x), "i1"),
        "real" | "imag" => elementwise(complex.is_some(), complex.unwrap_or_default()),
        "convert" => elementwise(complex.is_none() && !result.element.starts_with("complex"), &result.element),
        "bitcast_convert" => {
            let wide = |ty: &Type| ["f64", "i64"].contains(&&ty.element[..]);
            elementwise(numbers && wide(x) == wide(result) && result.element != "i1", &result.element)
        }
        "reshape" => {
            line.says(operand);
            assert_eq!(size(&x.shape), size(&result.shape), "a reshape keeps the size: {line:?}");
            of(&result.shape, &x.element)
        }
        "broadcast_in_dim" => {
            let dims = dims();
            are_axes(line, &dims, result.shape.len());
            assert_eq!(dims.len(), rank, "{line:?}");
            assert!(x.shape.iter().zip(&dims).all(|(n, d)| *n == 1 || *n == result.shape[*d]), "{line:?}");
            of(&result.shape, &x.element)
        }
        "transpose" => {
            let dims = dims();
            are_axes(line, &dims, rank);
            assert_eq!(dims.len(), rank, "{line:?}");
            of(&at(&x.shape, &dims), &x.element)
        }
        "reverse" => {
            are_axes(line, &dims(), rank);
            x.clone()
        }
        "slice" => slice(line, x),
        "fft" => {
            let n = *x.shape.last().expect("an axis");
            line.says(&format!("{operand}, type = FFT, length = [{n}]"));
            assert!(complex.is_some() && n > 0, "{line:?}");
            x.clone()
        }
        "cholesky" => {
            line.says(&format!("{operand}, lower = true"));
            assert!(is_float(x) && rank >= 2 && x.shape[rank - 1] == x.shape[rank - 2], "{line:?}");
            x.clone()
        }
        _ => panic!("{name} of one operand is not known"),
    }
}

fn two_operands(name: &str, line: &Line, x: &Type, y: &Type) -> Type {
    let both = line.operands.join(", ");
    let numbers = is_float(x) || is_integer(x);
    let elementwise = |holds: bool| {
        line.says(&both);
        assert!(x == y && holds, "operands have one type that is allowed: {line:?}");
        x.clone()
    };
    match name {
        "add" | "subtract" | "multiply" | "divide" | "maximum" | "minimum" => elementwise(numbers),
        "power" | "atan2" => elementwise(is_float(x)),
        "remainder" | "shift_left" | "shift_right_logical" | "shift_right_arithmetic" => elementwise(is_integer(x)),
        "and" | "or" | "xor" => elementwise(is_integer(x) || x.element == "i1"),
        "complex" => {
            elementwise(is_float(x));
            of(&x.shape, &format!("complex<{}>", x.element))
        }
        "compare" => {
            let how = line.words.trim().split(',').next().expect("a direction");
            assert!(["EQ", "NE", "LT", "LE", "GT", "GE"].contains(&how), "{line:?}");
            let kind = match &x.element[..] {
                "f64" | "f32" => "FLOAT",
                "i1" => "UNSIGNED",
                _ => "SIGNED",
            };
            line.says(&format!("{how}, {both}, {kind}"));
            assert_eq!(x, y, "operands have one type: {line:?}");
            of(&x.shape, "i1")
        }
        "pad" => {
            let [low, high, inner] = ["low", "high", "interior"].map(|key| line.numbers(key));
            line.says(&format!("{both}, low = {low:?}, high = {high:?}, interior = {inner:?}"));
            assert_eq!(*y, of(&[], &x.element), "{line:?}");
            let rank = x.shape.len();
            assert!([&low, &high, &inner].iter().all(|w| w.len() == rank) && inner.iter().all(|n| *n >= 0), "{line:?}");
            let grown = |k: usize| low[k] + high[k] + x.shape[k] as i64 + inner[k] * (x.shape[k] as i64 - 1).max(0);
            let shape: Vec<usize> = (0..rank).map(|k| usize::try_from(grown(k)).expect("a size")).collect();
            of(&shape, &x.element)
        }
        "dot_general" => dot(line, x, y),
        "convolution" => convolution(line, x, y),
        "triangular_solve" => {
            let [lower, unit] = ["lower", "unit_diagonal"].map(|key| line.word(key) == "true");
            let transpose = if line.words.contains("NO_TRANSPOSE") { "NO_TRANSPOSE" } else { "TRANSPOSE" };
            line.says(&format!(
                "({both}) <{{left_side = true, lower = {lower}, transpose_a = #stablehlo<transpose {transpose}>, \
                 unit_diagonal = {unit}}}>"
            ));
            let (n, rank) = (x.shape.len(), y.shape.len());
            assert!(is_float(x) && x.element == y.element && n == rank && rank >= 2, "{line:?}");
            assert_eq!((&x.shape[..n - 1], x.shape[n - 1]), (&y.shape[..n - 1], x.shape[n - 2]), "{line:?}");
            y.clone()
        }
        _ => panic!("{name} of two operands is not known"),
    }
}

/// The bits of an element are written in full; nested lists have the shape.
fn constant(line: &Line) -> Type {
    let ty = line.results[0].clone();
    let text = line.words.trim().strip_prefix("dense<").and_then(|w| w.strip_suffix('>')).expect("a constant");
    let digits = match &ty.element[..] {
        "f64" | "i64" => 16,
        "f32" | "i32" => 8,
        _ => 2,
    };
    if text.is_empty() {
        assert_eq!(size(&ty.shape), 0, "nothing is written of an empty constant alone: {line:?}");
    } else if let Some(bytes) = text.strip_prefix("\"0x").and_then(|t| t.strip_suffix('"')) {
        assert!(bytes.bytes().all(|b| b.is_ascii_hexdigit()) && ty.element != "i1", "{line:?}");
        assert_eq!(bytes.len(), digits * size(&ty.shape), "the number of elements of {line:?}");
    } else {
        let word = |word: &str| match &ty.element[..] {
            "i1" => word == "true" || word == "false",
            "i64" | "i32" => word.parse::<i64>().is_ok_and(|n| digits == 16 || i32::try_from(n).is_ok()),
            _ => word.strip_prefix("0x").is_some_and(|b| b.len() == digits && u64::from_str_radix(b, 16).is_ok()),
        };
        let rest = if text.starts_with('[') { nested(text, &ty.shape, &word) } else { one(text, &word) };
        assert_eq!(rest, Some(""), "the elements of {line:?}");
    }
    ty
}

/// What follows one element.
fn one<'a>(text: &'a str, word: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let end = text.find([',', ']']).unwrap_or(text.len());
    word(&text[..end]).then_some(&text[end..])
}

/// What follows nested lists of a shape.
fn nested<'a>(text: &'a str, shape: &[usize], word: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let [n, rest @ ..] = shape else { return one(text, word) };
    let mut text = text.strip_prefix('[')?;
    for k in 0..*n {
        text = nested(if k > 0 { text.strip_prefix(", ")? } else { text }, rest, word)?;
    }
    text.strip_prefix(']')
}

fn slice(line: &Line, x: &Type) -> Type {
    let (text, parts) = line.ranges();
    line.says(&format!("{} [{text}]", line.operands[0]));
    assert_eq!(parts.len(), x.shape.len(), "a range for each axis: {line:?}");
    let one = |(part, n): (&Vec<usize>, &usize)| {
        let (start, end, step) = match part[..] {
            [start, end] => (start, end, 1),
            [start, end, step] => (start, end, step),
            _ => panic!("no range: {line:?}"),
        };
        assert!(start <= end && end <= *n && step > 0, "{line:?}");
        (end - start).div_ceil(step)
    };
    of(&parts.iter().zip(&x.shape).map(one).collect::<Vec<usize>>(), &x.element)
}

fn concatenate(line: &Line, parts: &[Type]) -> Type {
    let dim = line.number("dim");
    line.says(&format!("{}, dim = {dim}", line.operands.join(", ")));
    let mut result = parts[0].clone();
    assert!(dim < result.shape.len(), "{line:?}");
    result.shape[dim] = 0;
    for part in parts {
        let mut other = part.clone();
        other.shape[dim] = result.shape[dim];
        assert_eq!(other, result, "the parts of {line:?}");
        result.shape[dim] += part.shape[dim];
    }
    result
}

/// The shape of a reduction.
pub(super) fn reduced(line: &Line, shape: &[usize]) -> Vec<usize> {
    let dims = line.indices("dimensions");
    are_axes(line, &dims, shape.len());
    let (inputs, inits) = line.operands.split_at(line.operands.len() / 2);
    let pairs: Vec<String> = inputs.iter().zip(inits).map(|(x, init)| format!("({x} init: {init})")).collect();
    let applied = line.words.split("applies stablehlo.").nth(1).and_then(|words| words.split(' ').next());
    let element = &line.takes[0].element[..];
    let by = applied.map_or(String::new(), |op| {
        let masks = ["and", "or"].contains(&op) && element == "i1";
        let known = ["add", "multiply", "maximum", "minimum"].contains(&op) && element != "i1";
        assert!(masks || known, "{line:?}");
        format!(" applies stablehlo.{op}")
    });
    line.says(&format!("{}{by} across dimensions = {dims:?}", pairs.join(", ")));
    at(shape, &others(shape.len(), &dims))
}

fn starts_fit(line: &Line, x: &Type, sizes: &[usize], at: &[Type]) {
    let index = |ty: &Type| is_integer(ty) && ty.shape.is_empty() && *ty == at[0];
    assert!(at.len() == x.shape.len() && at.iter().all(index), "an index for each axis: {line:?}");
    assert!(sizes.len() == x.shape.len() && sizes.iter().zip(&x.shape).all(|(n, m)| n <= m), "{line:?}");
}

/// Batch axes of the operand and of the indices, in words.
fn batching(names: [&str; 2], batch: [&[usize]; 2]) -> String {
    if batch[0].is_empty() {
        return String::new();
    }
    format!("{} = {:?}, {} = {:?}, ", names[0], batch[0], names[1], batch[1])
}

/// The checks that gather and scatter share: the axes of the operand that windows keep, and the places.
fn windows(line: &Line, x: &Type, starts: &Type, lists: [&[usize]; 4], vector: usize) -> (Vec<usize>, Vec<usize>) {
    let [gone, batch, batch_starts, map] = lists;
    let (rank, of_starts) = (x.shape.len(), starts.shape.len());
    assert!(is_integer(starts) && vector <= of_starts, "{line:?}");
    are_axes(line, &[gone, batch].concat(), rank);
    are_axes(line, &[map, batch].concat(), rank);
    are_axes(line, batch_starts, of_starts);
    assert!(is_sorted(gone) && is_sorted(batch), "sorted axes: {line:?}");
    assert!(batch.len() == batch_starts.len() && !batch_starts.contains(&vector), "{line:?}");
    assert_eq!(at(&x.shape, batch), at(&starts.shape, batch_starts), "batch axes: {line:?}");
    let count = starts.shape.get(vector).copied().unwrap_or(1);
    assert_eq!(count, map.len(), "an index for each axis of the map: {line:?}");
    (others(rank, &[gone, batch].concat()), at(&starts.shape, &others(of_starts, &[vector])))
}

fn gather(line: &Line, x: &Type, starts: &Type) -> Type {
    let offsets = line.indices("offset_dims");
    let (gone, map) = (line.indices("collapsed_slice_dims"), line.indices("start_index_map"));
    let (batch, batch_starts) = (line.indices("operand_batching_dims"), line.indices("start_indices_batching_dims"));
    let vector = line.number("index_vector_dim");
    let sizes = line.words.split("slice_sizes = array<i64: ").nth(1).and_then(|t| t.split('>').next()).expect("sizes");
    line.says(&format!(
        "({}) <{{dimension_numbers = #stablehlo.gather<offset_dims = {offsets:?}, collapsed_slice_dims = {gone:?}, {}\
         start_index_map = {map:?}, index_vector_dim = {vector}>, indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}>",
        line.operands.join(", "),
        batching(["operand_batching_dims", "start_indices_batching_dims"], [&batch, &batch_starts]),
    ));
    let sizes: Vec<usize> = sizes.split(", ").filter(|n| !n.is_empty()).map(|n| n.parse().expect("a size")).collect();
    let (kept, places) = windows(line, x, starts, [&gone, &batch, &batch_starts, &map], vector);
    assert!(sizes.len() == x.shape.len() && sizes.iter().zip(&x.shape).all(|(n, m)| n <= m), "{line:?}");
    assert!(gone.iter().chain(&batch).all(|d| sizes[*d] <= 1), "what is left out is one element: {line:?}");
    let rank = places.len() + kept.len();
    are_axes(line, &offsets, rank);
    assert!(is_sorted(&offsets) && offsets.len() == kept.len(), "{line:?}");
    let mut shape = vec![0; rank];
    others(rank, &offsets).iter().zip(&places).for_each(|(k, n)| shape[*k] = *n);
    offsets.iter().zip(&kept).for_each(|(k, d)| shape[*k] = sizes[*d]);
    of(&shape, &x.element)
}

/// Panics unless the words and the types fit; the result has the type of the operand.
pub(super) fn scatter(line: &Line, args: &[Type]) {
    let [x, starts, updates] = args else { panic!("three operands: {line:?}") };
    let (window, gone) = (line.indices("update_window_dims"), line.indices("inserted_window_dims"));
    let (batch, batch_starts) = (line.indices("input_batching_dims"), line.indices("scatter_indices_batching_dims"));
    let (map, vector) = (line.indices("scatter_dims_to_operand_dims"), line.number("index_vector_dim"));
    line.says(&format!(
        "({}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {window:?}, \
         inserted_window_dims = {gone:?}, {}scatter_dims_to_operand_dims = {map:?}, index_vector_dim = {vector}>, \
         unique_indices = false}}>",
        line.operands.join(", "),
        batching(["input_batching_dims", "scatter_indices_batching_dims"], [&batch, &batch_starts]),
    ));
    let (kept, places) = windows(line, x, starts, [&gone, &batch, &batch_starts, &map], vector);
    let rank = updates.shape.len();
    are_axes(line, &window, rank);
    assert!(is_sorted(&window) && window.len() == kept.len() && updates.element == x.element, "{line:?}");
    assert_eq!(at(&updates.shape, &others(rank, &window)), places, "the places of {line:?}");
    assert!(window.iter().zip(&kept).all(|(k, d)| updates.shape[*k] <= x.shape[*d]), "{line:?}");
    assert_eq!(line.results, std::slice::from_ref(x), "the result of {line:?}");
}

fn dot(line: &Line, x: &Type, y: &Type) -> Type {
    let (batch, summed) = (line.pairs("batching_dims"), line.pairs("contracting_dims"));
    let batching =
        if batch[0].is_empty() { String::new() } else { format!("batching_dims = {:?} x {:?}, ", batch[0], batch[1]) };
    line.says(&format!(
        "{}, {batching}contracting_dims = {:?} x {:?}, precision = [HIGHEST, HIGHEST]",
        line.operands.join(", "),
        summed[0],
        summed[1]
    ));
    let mut shape = at(&x.shape, &batch[0]);
    for (side, t) in [x, y].into_iter().enumerate() {
        let used = [&batch[side][..], &summed[side]].concat();
        are_axes(line, &used, t.shape.len());
        shape.extend(at(&t.shape, &others(t.shape.len(), &used)));
    }
    assert_eq!(at(&x.shape, &batch[0]), at(&y.shape, &batch[1]), "{line:?}");
    assert_eq!(at(&x.shape, &summed[0]), at(&y.shape, &summed[1]), "{line:?}");
    assert!(x.element == y.element && (is_float(x) || is_integer(x)), "{line:?}");
    of(&shape, &x.element)
}

fn convolution(line: &Line, x: &Type, y: &Type) -> Type {
    let labels = line.labels();
    let [strides, dilate_x, dilate_y, pads] =
        ["stride", "lhs_dilate", "rhs_dilate", "pad"].map(|key| line.numbers(key));
    let groups = line.number("feature_group_count");
    let spatial = x.shape.len().checked_sub(2).expect("a batch and features");
    assert_eq!((y.shape.len(), &x.element), (spatial + 2, &y.element), "{line:?}");
    assert!(is_float(x), "{line:?}");
    let counts = [strides.len(), dilate_x.len(), dilate_y.len(), pads.len() / 2];
    assert!(counts.iter().all(|n| *n == spatial) && pads.len() == 2 * spatial, "{line:?}");
    assert!([&strides, &dilate_x, &dilate_y].iter().all(|all| all.iter().all(|n| *n > 0)), "{line:?}");
    let comma = |words: &[String]| words.join(", ");
    let around: Vec<&[i64]> = pads.chunks(2).collect();
    line.says(&format!(
        "({}) dim_numbers = [{}]x[{}]->[{}], window = {{stride = {strides:?}, pad = {around:?}, lhs_dilate = {dilate_x:?}, \
         rhs_dilate = {dilate_y:?}, reverse = {:?}}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64, \
         precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}}",
        comma(&line.operands),
        comma(&labels[0]),
        comma(&labels[1]),
        comma(&labels[2]),
        vec![false; spatial],
    ));
    let numbers: Vec<String> = (0..spatial).map(|k| k.to_string()).collect();
    for (words, own) in labels.iter().zip([["b", "f"], ["i", "o"], ["b", "f"]]) {
        let mut sorted = words.clone();
        sorted.sort();
        let needed: Vec<String> = numbers.iter().cloned().chain(own.map(str::to_owned)).collect();
        assert_eq!(sorted, needed, "the axes of {line:?}");
    }
    let place = |side: usize, name: &str| labels[side].iter().position(|n| n == name).expect("a label");
    let (features, inner) = (y.shape[place(1, "o")], y.shape[place(1, "i")]);
    assert!(groups > 0 && features % groups == 0 && x.shape[place(0, "f")] == inner * groups, "{line:?}");
    let mut shape = vec![0; spatial + 2];
    (shape[place(2, "b")], shape[place(2, "f")]) = (x.shape[place(0, "b")], features);
    let dilated = |n: usize, by: i64| if n == 0 { 0 } else { (n as i64 - 1) * by + 1 };
    for (k, name) in numbers.iter().enumerate() {
        let padded = dilated(x.shape[place(0, name)], dilate_x[k]) + pads[2 * k] + pads[2 * k + 1];
        let window = dilated(y.shape[place(1, name)], dilate_y[k]);
        shape[place(2, name)] = if padded < window { 0 } else { ((padded - window) / strides[k] + 1) as usize };
    }
    of(&shape, &x.element)
}

/// The custom calls that XLA replaces by operations.
fn custom_call(line: &Line, args: &[Type]) -> Vec<Type> {
    let name = line.words.trim().trim_start_matches('@').split('(').next().expect("a name");
    let config = if name == "Eigh" { " {backend_config = \"1,1,100,1e-15\"}" } else { "" };
    line.says(&format!("@{name}({}){config}", line.operands.join(", ")));
    assert!(args.iter().all(|x| is_float(x) && x.element == args[0].element), "{line:?}");
    let [batch @ .., m, n] = &args[0].shape[..] else { panic!("a matrix has two axes: {line:?}") };
    let vectors = |k: usize| of(&[batch, &[k]].concat(), &args[0].element);
    match (name, args) {
        ("Qr", [a]) => vec![a.clone(), vectors(*m.min(n))],
        ("ProductOfElementaryHouseholderReflectors", [a, taus]) => {
            assert!(*taus == vectors(*taus.shape.last().expect("an axis")) && taus.shape.last() <= Some(n), "{line:?}");
            vec![a.clone()]
        }
        ("Eigh", [a]) => {
            assert_eq!(m, n, "{line:?}");
            vec![a.clone(), vectors(*n)]
        }
        (_, _) => panic!("no custom call {name}"),
    }
}
