//! The page `docs/operations.md` is made of the tables: documentation, guards and adjoints are those of the rows
//! and of the operations themselves. `make bless` writes it anew.

use std::fmt::Write;
use std::fs;

use polygrad::ops::{
    Binary, Compare, Contract, FloatStep, Guard, IntBinary, IntUnary, Linear, Matrix, Partial, Reduce, Unary, View,
};
use polygrad::{Array, BaseTensor, Concrete};

use crate::root::root;

/// The first paragraph of documentation, as one line.
fn paragraph(doc: &str) -> String {
    let lines = doc.trim().lines().map(str::trim).take_while(|line| !line.is_empty());
    lines.collect::<Vec<&str>>().join(" ")
}

/// Meaning and derivative: documentation up to the sentence that begins with one of these words, and from it on.
fn split(doc: &str, words: &[&str]) -> (String, String) {
    let text = paragraph(doc);
    let at = words.iter().filter_map(|word| text.find(word)).min();
    let at = at.unwrap_or_else(|| panic!("the documentation says nothing about the derivative: {text}"));
    let derivative = text[at..].trim_start_matches("Derivative ").trim_start_matches("Partials ");
    (text[..at].trim().to_owned(), derivative.to_owned())
}

/// The documentation of an item, as it stands above a line of a source file that starts with `item`.
fn doc_above(file: &str, item: &str) -> String {
    let path = root().join(file);
    let text = fs::read_to_string(&path).expect("the source can be read");
    let mut doc: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        match line.strip_prefix("///") {
            Some(words) => doc.push(words),
            None if line.starts_with(item) => {
                assert!(!doc.is_empty(), "{file}: nothing is said above `{item}`");
                return plain(&paragraph(&doc.join("\n")));
            }
            None if line.starts_with("#[") => {}
            None => doc.clear(),
        }
    }
    panic!("{file}: there is no line `{item}`")
}

/// The text without the targets of its links.
fn plain(text: &str) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += part.split_once(')').map_or("", |(_, rest)| rest);
    }
    out.replace("[`", "`").replace("`]", "`")
}

/// A row of a Markdown table.
fn row(out: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

/// A heading, a sentence or two, and the head of a table.
fn section(out: &mut String, title: &str, text: &str, columns: &[&str]) {
    let _ = write!(out, "\n## {title}\n\n{text}\n\n");
    row(out, columns);
    row(out, &vec!["---"; columns.len()]);
}

fn guard<T>(partial: &Partial<T>) -> &'static str {
    match partial.guard {
        Guard::One => "1",
        Guard::MinusOne => "-1",
        Guard::Plain => "plain",
        Guard::Singular => "singular",
        Guard::Mask => "mask",
        Guard::Quotient => "quotient",
    }
}

/// The index a view looks at, by the letters of the iteration space: `[i + 1, 2*j]`.
fn index(view: &View) -> String {
    let coordinate = |axis: usize| {
        let terms = view.row(axis).iter().zip(["i", "j", "k", "l"]).filter(|(m, _)| **m != 0);
        let mut terms: Vec<String> = terms
            .map(|(m, letter)| match m {
                1 => letter.to_owned(),
                -1 => format!("-{letter}"),
                m => format!("{m}*{letter}"),
            })
            .collect();
        match view.offset()[axis] {
            0 if !terms.is_empty() => {}
            c => terms.push(c.to_string()),
        }
        terms.join(" + ")
    };
    format!("[{}]", (0..view.source().len()).map(coordinate).collect::<Vec<String>>().join(", "))
}

/// A linear operation of `t` as an assignment to indices of `out`.
fn assignment(op: &Linear, out: &str, t: &str) -> String {
    match op {
        Linear::Affine { from, into } => format!("`{out}{} += {t}{}`", index(into), index(from)),
        Linear::Reshape { from, into } => format!("`{from:?}` to `{into:?}`"),
        Linear::Cast { from, into, .. } => format!("`{from}` to `{into}`"),
        Linear::Fourier { conjugate, .. } => {
            let sign = if *conjugate { "" } else { "-" };
            format!("`{out}[k] = sum_j {t}[j] e^({sign}2 pi i j k / n)`")
        }
        Linear::PrefixSum { reverse: false, .. } => format!("`{out}[i] = sum_(j <= i) {t}[j]`"),
        Linear::PrefixSum { reverse: true, .. } => format!("`{out}[i] = sum_(j >= i) {t}[j]`"),
    }
}

/// A contraction of `a` and `b` as an assignment to indices of `out`.
fn product(op: &Contract, [out, a, b]: [&str; 3]) -> String {
    format!("`{out}{} += {a}{} * {b}{}`", index(&op.out), index(&op.a), index(&op.b))
}

fn number(x: f64) -> Concrete {
    Array::scalar(x)
}

/// The largest errors of a row, in `f64`.
fn errors(name: &str) -> String {
    let bound = crate::bounds::BOUNDS.iter().find(|row| row.0 == name).map_or(&[][..], |row| row.1);
    bound.iter().map(f64::to_string).collect::<Vec<String>>().join(", ")
}

fn floats(out: &mut String) {
    let text = "Methods of float tensors have these names. The errors are the largest that were found in `f64`, of the value and \
                of the derivative, in units of the last place and rounded up (0.5 stands for up to 0.51). They were found at \
                over 4,200 points, whose results were recorded with 50 digits and more (`tests/data/accuracy.txt`; measured \
                on Linux): numbers of all magnitudes and signs, subnormal ones, zeros, poles, kinks, the ends of the range \
                and of domains, and the worst of 20,000 random numbers for each function of the gamma family, `gaussian` \
                and `erfinv`, and of 3,000 for other functions. The unit is the last place of the exact number, but where a \
                function passes through 0 that of what cancels there: of 1, for `lgamma`, its derivative, `digamma` and the \
                derivative of `trigamma`; of `ln |x|` for `digamma` of a negative `x`, if this is larger than 1; of \
                `n! 2^(n + 1)` for even orders `n` of `polygamma` below 0; of the second partial of `recip_real` for the \
                first one. A derivative below `2.2e-308` may be 0.";
    section(out, "Functions of one float", text, &["name", "meaning", "derivative", "guard", "errors"]);
    for op in Unary::ALL {
        let (meaning, derivative) = split(op.doc(), &["Derivative "]);
        let x = number(op.domain().0);
        let guard = guard(&op.derivative(&x, &x.unary(*op)));
        row(out, &[&format!("`{}`", op.name()), &meaning, &derivative, guard, &errors(op.name())]);
    }
    let text = "Operators, and methods with these names. The guards are those of the first and of the second partial. The errors \
         are those of the value, of the first and of the second partial.";
    section(out, "Functions of two floats", text, &["name", "meaning", "derivative", "guards", "errors"]);
    for op in Binary::ALL {
        let (meaning, derivative) = split(op.doc(), &["Partials ", "The derivative "]);
        let [x, y] = op.domain().map(|(low, _)| number(low));
        let z = x.binary(*op, &y);
        let guards = [guard(&op.partial_left(&x, &y, &z)), guard(&op.partial_right(&x, &y, &z))];
        let cells = [&format!("`{}`", op.symbol()), &meaning, &derivative, &guards.join(", "), &errors(op.name())];
        row(out, &cells.map(String::as_str));
    }
    second(out);
}

/// What second derivatives promise, and for which rows they promise less.
fn second(out: &mut String) {
    let usual = crate::second::USUAL;
    let text = format!(
        "Second derivatives are as exact as first ones: from the smallest to the largest argument, in `f64` and in `f32`, they err \
         by at most {usual} units of the last place, beside what the last places of the arguments are magnified \
         (`tests/data/second.txt`, by `tests/data/second.py`). A second derivative is inexact where a value or derivative of a \
         part of the program is out of range. The errors of these rows are relative to the largest of their second derivatives:"
    );
    section(out, "Second derivatives", &text, &["name", "reason"]);
    for (name, reason) in crate::second::BY_LARGEST {
        row(out, &[&format!("`{name}`"), reason]);
    }
}

fn discrete(out: &mut String) {
    let text = "The derivative of these operations is zero, also at steps. `sort` is made of `argsort`, and is differentiated as \
                a read at the positions found.";
    section(out, "Operations with derivative zero", text, &["name", "operands", "meaning"]);
    let mut line = |name: &str, operands: &str, meaning: &str| row(out, &[&format!("`{name}`"), operands, meaning]);
    for op in Compare::ALL {
        line(op.name(), "two of one type", &paragraph(op.doc()));
    }
    for op in FloatStep::ALL {
        line(op.name(), "a float", &paragraph(op.doc()));
    }
    for op in IntUnary::ALL {
        line(op.name(), "an integer", &paragraph(op.doc()));
    }
    for op in IntBinary::ALL {
        line(op.name(), "two integers", &paragraph(op.doc()));
    }
    let others = [
        ("and", "And", "two masks"),
        ("or", "Or", "two masks"),
        ("not", "Not", "a mask"),
        ("to_int", "ToInt", "a float or a mask"),
        ("to_float", "ToFloat(", "an integer or a mask"),
        ("argmax", "ArgMax {", "a number"),
        ("argmin", "ArgMin {", "a number"),
        ("argsort", "ArgSort {", "a number"),
        ("prefix_argmax, prefix_argmin", "PrefixArg {", "a number"),
        ("iota", "Iota {", "none"),
    ];
    for (name, variant, operands) in others {
        line(name, operands, &doc_above("src/ops/discrete.rs", variant));
    }
}

fn reductions(out: &mut String) {
    let text = "The methods `max_axis`, `min_axis`, `max_all` and `min_all`. An axis without elements is a mistake. The position \
                of the extremum is computed only if something is differentiated, and has derivative zero itself.";
    section(out, "Extrema along an axis", text, &["name", "operand", "meaning", "derivative"]);
    for (op, variant) in Reduce::all(0).into_iter().zip(["Max {", "Min {"]) {
        let (meaning, _) = split(&doc_above("src/ops/reduce.rs", variant), &["The derivative "]);
        let position = format!("`{}`", op.position().name());
        let derivative = format!("Reading at the position that {position} finds; its adjoint adds there.");
        row(out, &[&format!("`{}`", op.name()), "a number", &meaning, &derivative]);
    }
}

fn linear(out: &mut String) {
    let text = "Each operation is its own derivative, and its adjoint takes cotangents back. All except the last three are pairs \
                of affine views, which the adjoint exchanges. A read at an index out of range gives 0, and an addition \
                there is dropped.";
    section(out, "Linear operations", text, &["name", "meaning", "example", "its adjoint"]);
    let matrix = &[2, 3];
    let operations = [
        ("sum", Linear::sum(matrix, &[0])),
        ("replicate", Linear::replicate(matrix, &[1])),
        ("permute", Linear::permute(matrix, &[1, 0])),
        ("slice", Linear::slice(&[6], 0, 1, 2, 3)),
        ("row", Linear::row(matrix, 0, 1)),
        ("pad", Linear::pad(&[3], &[1], &[2])),
        ("reverse", Linear::reverse(&[3], 0)),
        ("diagonal", Linear::diagonal(&[3, 3], 0, 1)),
        ("window", Linear::window(&[7], 0, 3, 2)),
        ("reshape", Linear::reshape(&[2, 3], &[6])),
        ("cast", Linear::cast(&[3], polygrad::DType::F64, polygrad::DType::F32)),
        ("fourier", Linear::fourier(&[2, 8], 0, 1)),
        ("prefix_sum", Linear::prefix_sum(&[8], 0)),
    ];
    for (name, op) in operations {
        let meaning = doc_above("src/ops/linear.rs", &format!("pub fn {name}("));
        let adjoint = assignment(&op.adjoint(), "t_bar", "out_bar");
        row(out, &[&format!("`{name}`"), &meaning, &assignment(&op, "out", "t"), &adjoint]);
    }
}

fn bilinear(out: &mut String) {
    let text = "A contraction is three affine views of one iteration space. To get the partial derivative in an operand, \
                exchange the view of this operand with that of the result.";
    section(out, "Contractions", text, &["name", "example", "cotangent of `a`", "cotangent of `b`"]);
    let convolution =
        Contract::new(View::affine(&[6], &[4, 3], &[1, 1], &[0]), View::axes(&[4, 3], &[1]), View::axes(&[4, 3], &[0]));
    let operations = [
        ("dot", Contract::axes(&[3], &[0], &[0], &[])),
        ("matvec", Contract::axes(&[2, 3], &[0, 1], &[1], &[0])),
        ("vecmat", Contract::axes(&[3, 2], &[1], &[1, 0], &[0])),
        ("matmul", Contract::axes(&[2, 4, 3], &[0, 2], &[2, 1], &[0, 1])),
        ("conv1d", convolution),
        ("outer", Contract::axes(&[2, 3], &[0], &[1], &[0, 1])),
        ("batched_matmul", Contract::axes(&[5, 2, 4, 3], &[0, 1, 3], &[0, 3, 2], &[0, 1, 2])),
    ];
    for (name, op) in operations {
        let left = product(&op.adjoint_left(), ["a_bar", "out_bar", "b"]);
        let right = product(&op.adjoint_right(), ["b_bar", "a", "out_bar"]);
        row(out, &[&format!("`{name}`"), &product(&op, ["out", "a", "b"]), &left, &right]);
    }
}

fn others(out: &mut String) {
    let text = "`out_bar` is the cotangent of the result. Integers and masks, among them indices, have none.";
    section(out, "Selection, indexing, concatenation, loops", text, &["name", "meaning", "cotangents of the operands"]);
    let operations = [
        (
            "select",
            "`select(mask, out_bar, 0)` and `select(mask, 0, out_bar)`: the values of the branch not taken have no effect, infinite or not.",
        ),
        (
            "gather",
            "`scatter_add(0, ix, out_bar)`, added in place: reading `k` elements in a loop costs `k` in reverse.",
        ),
        ("scatter_add", "`out_bar` for the base and `gather(out_bar, ix)` for the values."),
        ("concat", "The parts of `out_bar`."),
        (
            "map_accum",
            "One loop in the opposite order, over the cotangents of the carry, of the elements, and of captured values.",
        ),
    ];
    for (name, cotangents) in operations {
        let meaning = doc_above("src/base/mod.rs", &format!("fn {name}("));
        row(out, &[&format!("`{name}`"), &meaning, cotangents]);
    }
}

fn matrices(out: &mut String) {
    let text = "Matrices lie along the last two axes; other axes are a batch. `a_dot` is the tangent of the matrix `a`, and `sym` is \
                the symmetric part. A matrix that has no result gives NaN. A right-hand side of zeros gives a solution of zeros. In \
                reverse mode the formulas are transposed, by the same operations.";
    section(out, "Linear algebra", text, &["name", "results", "their tangents"]);
    let operations = [
        (
            "cholesky",
            "Cholesky {",
            "`l Phi(l^-1 sym(a_dot) l^-T)`, where `Phi` takes the lower triangle and half of the diagonal",
        ),
        ("inverse", "Inverse {", "`-a^-1 a_dot a^-1`"),
        ("det", "Det {", "the sum of `cofactors(a) a_dot`"),
        (
            "cofactors, minors.2, .., minors.8",
            "Minors(",
            "the sum of the products of the elements of `a_dot` and the minors without their rows and columns, too, with their signs. Of \
             more than 8 rows the same after elimination up to the 4 smallest pivots: NaN where what is eliminated is singular",
        ),
        ("pivots", "Pivots {", "none"),
        ("slogdet", "SlogDet {", "0 and `tr(a^-1 a_dot)`"),
        ("lu", "Lu {", "with `m = l^-1 p a_dot u^-1`: `l lower(m)` without the diagonal, `upper(m) u`"),
        ("lu_factor", "LuFactor {", "none"),
        ("solve", "Solve(", "`a^-1 (b_dot - a_dot x)`"),
        ("solve_lower, solve_upper, ..", "SolveTriangular(", "the same with the triangle"),
        (
            "qr",
            "Qr {",
            "with `c = q^T a_dot r^-1` and `w = lower(c) - lower(c)^T`: `q (w - c) + a_dot r^-1` and `q^T a_dot - w r`; NaN from a 0 on \
             the diagonal of `r` on",
        ),
        (
            "eigh",
            "Eigh {",
            "with `d = sym(a_dot)`: the solution of `(w - a) v_dot + w_dot v = d v`, `v . v_dot = 0` for each vector, by `eigh_solve`",
        ),
        (
            "eigh_solve",
            "EighSolve {",
            "linear in the second operand; for `a` the same equations, with the tangent of their matrix applied to the solution on the \
             right",
        ),
        (
            "svd",
            "Svd {",
            "the solution of `s u_dot - a v_dot + s_dot u = a_dot v` and `s v_dot - a^T u_dot + s_dot v = a_dot^T u` for each value, by \
             `svd_solve`",
        ),
        ("svd_solve", "SvdSolve {", "as for `eigh_solve`"),
        ("lstsq_factor", "LstsqFactor {", "none"),
        (
            "lstsq, lstsq.t",
            "Lstsq(",
            "`a^+ (b_dot - a_dot x + a^+T a_dot^T (b - a x)) + (1 - a^+ a) a_dot^T a^+T x`; the same transposed",
        ),
        (
            "null_projection, null_projection.t",
            "NullProjection(",
            "with `n = 1 - a^+ a` and the result `w`: `n z_dot - a^+ a_dot w - n a_dot^T a^+T z`; the same transposed",
        ),
        ("product_no_nan, product_no_nan.t", "Product(", "`a_dot b + a b_dot`, by the same operation"),
        ("expm", "Expm {", "`expm_tangent(a, a_dot)`"),
        (
            "prefix_product",
            "PrefixProduct {",
            "`recurrence(a, c)`, where `c[0] = a_dot[0]` and `c[i] = a_dot[i] y[i - 1]`",
        ),
        (
            "recurrence, recurrence.t",
            "Recurrence(",
            "`recurrence(a, c)`, where `c[0] = b_dot[0]` and `c[i] = b_dot[i] + a_dot[i] y[i - 1]`; the same transposed",
        ),
        ("expm_tangent", "ExpmTangent(", "linear in `e`; for `a` a block of the same of a matrix of twice the size"),
    ];
    for op in Matrix::ALL {
        let shown = format!("{op:?}");
        let variant = shown.split(' ').next().unwrap_or_default();
        let has_line = operations.iter().any(|(_, line, _)| line.trim_end_matches(['(', '{', ' ']) == variant);
        assert!(has_line, "the page of operations has no line for {variant}");
    }
    for (name, variant, tangents) in operations {
        let meaning = doc_above("src/ops/matrix.rs", variant);
        row(out, &[&format!("`{name}`"), &meaning, tangents]);
    }
}

fn page() -> String {
    let mut out = String::from(
        "# Operations\n\n\
         **On this page** is every operation of the language, with its meaning and its derivative.\n\n\
         All other functions are made of these operations. The page is generated from the tables in `src/ops/`.\n\n\
         A *guard* says how a partial derivative `p` multiplies a tangent or cotangent `ct`:\n\n\
         * `1` and `-1`: `p` is this constant.\n\
         * Plain: the product is `p * ct`.\n\
         * Singular: `p` can be infinite or NaN where the value is not, and the product is 0 where `ct` is 0.\n\
         * Mask: `p` chooses, and the product is 0 where `p` is 0.\n\
         * Quotient: `p` is a reciprocal, and `ct` is divided by what it is the reciprocal of; the quotient is 0 where `ct` is 0.\n\n\
         So a branch that was not taken sends no NaN into a gradient.\n\n\
         Outside of its domain a function is NaN, and its derivative is what the formula gives: a number for `ln`, `log1p` and \
         `atanh`, NaN for the others.\n",
    );
    floats(&mut out);
    discrete(&mut out);
    reductions(&mut out);
    linear(&mut out);
    bilinear(&mut out);
    matrices(&mut out);
    others(&mut out);
    out + "\n**Next:** [verbs][next: verbs], [what to know][next: what to know] and [names][next: names].\n\n\
           [next: verbs]: verbs.md\n[next: what to know]: guide/conventions.md\n[next: names]: guide/names.md\n"
}

#[test]
fn the_page_of_operations_is_fresh() {
    let path = root().join("docs/operations.md");
    let page = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in page.lines().zip(written.lines()) {
        assert_eq!(now, then, "docs/operations.md is old: run `make bless`");
    }
    assert_eq!(page.len(), written.len(), "docs/operations.md is old: run `make bless`");
}

#[test]
fn the_page_names_every_linear_operation() {
    let path = root().join("src/ops/linear.rs");
    let (text, page) = (fs::read_to_string(&path).expect("the source can be read"), page());
    let mut found = 0;
    for line in text.lines().filter(|line| line.ends_with("-> Linear {") && !line.contains("self")) {
        let Some((name, _)) = line.trim().strip_prefix("pub fn ").and_then(|line| line.split_once('(')) else {
            continue;
        };
        // These two take the views themselves.
        if !["affine", "read"].contains(&name) {
            found += 1;
            assert!(page.contains(&format!("| `{name}` |")), "the page says nothing about {name}");
        }
    }
    assert!(found >= 10, "only {found} operations were found");
}
