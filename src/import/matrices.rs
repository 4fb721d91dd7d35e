//! Linear algebra, Fourier transforms and random bits; calls of LAPACK by a table.
//!
//! Law: factorisations are the operations of the language, which have derivatives. Vectors of eigenvalues and singular
//! values may have other signs than those of LAPACK.

use super::attributes::{Attribute, find};
use super::module::ModuleOperation;
use super::numbers::rounded;
use super::run::result_element;
use super::types::{Element, Type};
use super::value::{Imported, ImportedValue, Item, compare, int_like, ints, iota, lacks, like, mul, need, shape_of};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::{Call, Compare, Discrete, IntBinary, Linear, Matrix};
use crate::shape::{Shape, size};

/// The results of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> Imported<Option<Vec<ImportedValue<T>>>> {
    Ok(Some(match (op.name.as_str(), x) {
        ("cholesky", [a]) => {
            let lower = op.flag("lower");
            vec![cholesky(a, lower)?]
        }
        ("triangular_solve", [a, b]) => {
            let transposed = match op.words("transpose_a") {
                Some("NO_TRANSPOSE") | None => false,
                Some("TRANSPOSE") => true,
                Some("ADJOINT") => !a.element.is_complex(),
                Some(_) => return lacks("a transpose that is known"),
            };
            let how = Triangular {
                left: op.flag("left_side"),
                lower: op.flag("lower"),
                transposed,
                unit: op.flag("unit_diagonal"),
            };
            vec![solve(a, b, how)?]
        }
        ("fft", [x]) => vec![fourier(op, x)?],
        ("rng_bit_generator", [state]) => random_bits(op, state)?,
        ("custom_call", x) => custom(op, x)?,
        _ => return Ok(None),
    }))
}

/// The number of rows of the square matrices along the last two axes.
fn square<T: BaseTensor>(a: &ImportedValue<T>) -> Imported<usize> {
    need(a.element.is_float(), || "the matrix must be of floats".into())?;
    match a.shape() {
        [.., m, n] if m == n => Ok(*n),
        _ => lacks("a square matrix"),
    }
}

/// The mask of a triangle of matrices, with the diagonal.
fn triangle<T: BaseTensor>(shape: &[usize], lower: bool) -> T {
    let rank = shape.len();
    let (row, column) = (iota::<T>(shape, rank - 2), iota::<T>(shape, rank - 1));
    compare(if lower { Compare::Ge } else { Compare::Le }, &row, &column)
}

fn transposed<T: BaseTensor>(a: &T) -> T {
    let rank = a.shape().len();
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(rank - 2, rank - 1);
    a.linear(&Linear::permute(a.shape(), &order))
}

/// The symmetric matrix that has this triangle.
fn symmetric<T: BaseTensor>(a: &T, lower: bool) -> T {
    T::select(&triangle(a.shape(), lower), a, &transposed(a))
}

fn call<T: BaseTensor>(op: Matrix, args: &[T]) -> Vec<T> {
    T::call(&Call::Matrix(op), args)
}

fn cholesky<T: BaseTensor>(a: &ImportedValue<T>, lower: bool) -> Imported<ImportedValue<T>> {
    square(a)?;
    let l = call(Matrix::Cholesky, &[symmetric(&a.re, lower)]).remove(0);
    Ok(rounded(ImportedValue::real(a.element, if lower { l } else { transposed(&l) })))
}

/// How a triangular system is solved.
#[derive(Clone, Copy)]
struct Triangular {
    left: bool,
    lower: bool,
    transposed: bool,
    /// Whether the diagonal counts as ones.
    unit: bool,
}

fn solve<T: BaseTensor>(a: &ImportedValue<T>, b: &ImportedValue<T>, how: Triangular) -> Imported<ImportedValue<T>> {
    let n = square(a)?;
    let rank = a.shape().len();
    let fits = b.shape().len() == rank
        && b.element == a.element
        && b.shape()[..rank - 2] == a.shape()[..rank - 2]
        && b.shape()[if how.left { rank - 2 } else { rank - 1 }] == n;
    need(fits, || "the right-hand side must fit the matrix".into())?;
    // `x a = b` is `a^T x^T = b^T`.
    let (right, other) = if how.left { (b.re.clone(), how.transposed) } else { (transposed(&b.re), !how.transposed) };
    let op = Matrix::SolveTriangular { lower: how.lower, transposed: other, unit: how.unit };
    let found = call(op, &[a.re.clone(), right]).remove(0);
    Ok(rounded(ImportedValue::real(a.element, if how.left { found } else { transposed(&found) })))
}

/// The result of LAPACK that says whether a matrix had a factorization: 0, or 1 if there is NaN.
fn info<T: BaseTensor>(x: &T, batch: &[usize]) -> T {
    let nan = T::discrete(&Discrete::ToInt, &[&compare(Compare::Ne, x, x)]);
    let inner: Vec<usize> = (batch.len()..x.shape().len()).collect();
    let count = nan.linear(&Linear::sum(x.shape(), &inner));
    ints(IntBinary::Min, &count, &int_like(&count, 1))
}

/// The function that is called: its name at XLA, or that of LAPACK without the letter of the element type.
fn target(op: &ModuleOperation) -> &str {
    let target = op.words("call_target_name").unwrap_or_default();
    match target.strip_prefix("lapack_").and_then(|rest| rest.strip_suffix("_ffi")) {
        Some(name) => name.trim_start_matches(['s', 'd']),
        None => target,
    }
}

/// A QR factorization, or the product of its reflections; `None` for other functions.
///
/// The reflections are held by their product, `q` of the factorization whose `r` has a diagonal that is not negative: what
/// is below the diagonal of the factor has no meaning, and is NaN.
pub(super) fn reflections<T: BaseTensor>(op: &ModuleOperation, x: &[Item<T>]) -> Option<Imported<Vec<Item<T>>>> {
    Some(match (target(op), x) {
        ("Qr" | "geqrf", [Item::Tensor(a)]) => qr(a),
        ("ProductOfElementaryHouseholderReflectors" | "orgqr", [_, Item::Reflections(q)]) => {
            let fits = op.types.first().is_some_and(|ty| Item::Tensor(q.clone()).fits(ty, &[]));
            let refusal = || "the product must have as many columns as there are reflections".into();
            need(fits, refusal).map(|()| vec![Item::Tensor(q.clone())])
        }
        ("ProductOfElementaryHouseholderReflectors" | "orgqr", _) => {
            lacks("the reflections of a factorization in this module")
        }
        _ => return None,
    })
}

/// `r` with its reflections.
fn qr<T: BaseTensor>(a: &ImportedValue<T>) -> Imported<Vec<Item<T>>> {
    let [batch @ .., m, n] = a.shape() else { return lacks("a matrix") };
    need(matches!(a.element, Element::F64 | Element::F32), || "the matrix must be of f64 or f32".into())?;
    let (k, rank) = ((*m).min(*n), a.shape().len());
    let found = call(Matrix::Qr, std::slice::from_ref(&a.re));
    let nan = |rows: usize| T::constant(Array::full_as(&[batch, &[rows, *n]].concat(), a.re.dtype(), f64::NAN));
    let r = if *m > k { T::concat(rank - 2, &[found[1].clone(), nan(m - k)]) } else { found[1].clone() };
    let r = T::select(&triangle(a.shape(), false), &r, &nan(*m));
    let [r, q] = [r, found[0].clone()].map(|x| ImportedValue::real(a.element, x));
    Ok(vec![Item::Tensor(r), Item::Reflections(q)])
}

/// A call of a function by its name.
fn custom<T: BaseTensor>(op: &ModuleOperation, x: &[ImportedValue<T>]) -> Imported<Vec<ImportedValue<T>>> {
    let config = match op.attribute("mhlo.backend_config").or_else(|| op.attribute("backend_config")) {
        Some(Attribute::Dict(all)) => all.as_slice(),
        _ => &[],
    };
    let letter = |name: &str| find(config, name).and_then(Attribute::int).and_then(|n| u8::try_from(n).ok());
    let lower = letter("uplo") == Some(b'L');
    match (target(op), x) {
        ("potrf", [a]) => {
            let l = cholesky(a, lower)?;
            let batch = &a.shape()[..a.shape().len() - 2];
            let code = info(&l.re, batch);
            Ok(vec![l, ImportedValue::within(Element::I32, code, 0, 1)])
        }
        ("trsm", [a, b]) => {
            let how = Triangular {
                left: letter("side") == Some(b'L'),
                lower,
                transposed: letter("trans_x") != Some(b'N'),
                unit: letter("diag") == Some(b'U'),
            };
            Ok(vec![solve(a, b, how)?])
        }
        ("getrf", [a]) => factored(a),
        // A leading `s` of the name is gone with that of the type.
        ("yevd", [a]) => eigen(a, lower),
        // The words in front say that the lower triangle is read.
        ("Eigh", [a]) => eigen(a, true).map(|found| found[..2].to_vec()),
        ("gesdd", [a]) => singular(op, a, letter("mode")),
        ("Sharding" | "annotate_device_placement" | "xla.sdy.FuncResultSharding", [_]) => Ok(x.to_vec()),
        (other, _) => Err(format!("the function {} is not known", crate::escape::quoted(other))),
    }
}

fn eigen<T: BaseTensor>(a: &ImportedValue<T>, lower: bool) -> Imported<Vec<ImportedValue<T>>> {
    square(a)?;
    let found = call(Matrix::Eigh, &[symmetric(&a.re, lower)]);
    let batch = &a.shape()[..a.shape().len() - 2];
    let code = info(&found[0], batch);
    let [values, vectors] = [0, 1].map(|k| ImportedValue::real(a.element, found[k].clone()));
    Ok(vec![vectors, values, ImportedValue::within(Element::I32, code, 0, 1)])
}

/// `(a, s, u, v^T, info)`; without vectors, or with those of the singular values.
fn singular<T: BaseTensor>(
    op: &ModuleOperation,
    a: &ImportedValue<T>,
    mode: Option<u8>,
) -> Imported<Vec<ImportedValue<T>>> {
    need(matches!(a.element, Element::F64 | Element::F32) && a.shape().len() >= 2, || {
        "the matrix must be of f64 or f32".into()
    })?;
    let found = call(Matrix::Svd, std::slice::from_ref(&a.re));
    let batch = &a.shape()[..a.shape().len() - 2];
    let code = info(&found[1], batch);
    let vectors = |k: usize, place: usize| -> Imported<ImportedValue<T>> {
        let Some((shape, _)) = op.types.get(place).and_then(Type::fixed) else {
            return lacks("results of fixed shapes");
        };
        if mode == Some(b'N') {
            return Ok(ImportedValue::real(a.element, T::zeros(&shape, a.re.dtype())));
        }
        need(found[k].shape() == &shape[..], || "vectors of no singular value are not computed".into())?;
        Ok(ImportedValue::real(a.element, found[k].clone()))
    };
    let values = ImportedValue::real(a.element, found[1].clone());
    Ok(vec![a.clone(), values, vectors(0, 2)?, vectors(2, 3)?, ImportedValue::within(Element::I32, code, 0, 1)])
}

/// `(lu, pivots, info)`: both factors in one matrix, and the row that each row was exchanged with, from 1.
fn factored<T: BaseTensor>(a: &ImportedValue<T>) -> Imported<Vec<ImportedValue<T>>> {
    let n = square(a)?;
    let found = call(Matrix::Lu, std::slice::from_ref(&a.re));
    let rank = a.shape().len();
    let (row, column) = (iota::<T>(a.shape(), rank - 2), iota::<T>(a.shape(), rank - 1));
    let below = compare(Compare::Gt, &row, &column);
    let both = T::select(&below, &found[0], &found[1]);
    let batch = Shape::from_slice(&a.shape()[..rank - 2]);
    let code = info(&both, &batch);
    // From the order of the rows to the exchanges: where each row is when its turn comes.
    let b = size(&batch);
    let order = found[2].linear(&Linear::reshape(found[2].shape(), &[b, n]));
    let steps = transposed(&order);
    let counter = T::discrete(&Discrete::Iota { n }, &[]);
    let wide = [b, n];
    let start = iota::<T>(&wide, 1);
    let (_, outs) = T::map_accum(n, false, vec![start.clone()], &[steps, counter], &mut |carry, x| {
        let at = &carry[0];
        let wanted = x[0].linear(&Linear::replicate(&wide, &[0]));
        let turn = x[1].linear(&Linear::replicate(&wide, &[]));
        let hit = T::discrete(&Discrete::ToInt, &[&compare(Compare::Eq, at, &wanted)]);
        let place = ints(IntBinary::Mul, &hit, &start).linear(&Linear::sum(&wide, &[1]));
        let here = T::discrete(&Discrete::ToInt, &[&compare(Compare::Eq, &start, &turn)]);
        let own = ints(IntBinary::Mul, &here, at).linear(&Linear::sum(&wide, &[1]));
        let exchanged = T::select(&super::value::not_zero(&hit), &own.linear(&Linear::replicate(&wide, &[0])), at);
        let next = T::select(&super::value::not_zero(&here), &wanted, &exchanged);
        (vec![next], vec![super::value::int_with(IntBinary::Add, &place, 1)])
    });
    let pivots = transposed(&outs[0]).linear(&Linear::reshape(&wide, &[&batch[..], &[n]].concat()));
    Ok(vec![
        ImportedValue::real(a.element, both),
        ImportedValue::within(Element::I32, pivots, 1, n as i64),
        ImportedValue::within(Element::I32, code, 0, 1),
    ])
}

/// The transform along the last axes: of complex numbers both ways, from real ones, and back to real ones.
fn fourier<T: BaseTensor>(op: &ModuleOperation, x: &ImportedValue<T>) -> Imported<ImportedValue<T>> {
    let Some(lengths) = op.ints("fft_length") else { return lacks("`fft_length`") };
    let lengths: Option<Vec<usize>> = lengths.into_iter().map(|n| usize::try_from(n).ok().filter(|n| *n > 0)).collect();
    let rank = x.shape().len();
    let Some(lengths) = lengths.filter(|l| !l.is_empty() && l.len() <= rank) else { return lacks("positive lengths") };
    let axes: Vec<usize> = (rank - lengths.len()..rank).collect();
    let last = rank - 1;
    let kind = op.words("fft_type").unwrap_or_default().to_owned();
    let n = lengths[lengths.len() - 1];
    let half = n / 2 + 1;
    for (k, axis) in axes.iter().enumerate() {
        let wanted = if kind == "IRFFT" && *axis == last { half } else { lengths[k] };
        need(x.shape()[*axis] == wanted, || "the lengths must be those of the operand".into())?;
    }
    need(x.element.is_complex() != (kind == "RFFT") && (x.element.is_complex() || x.element.is_float()), || {
        "the operand must be complex, or for RFFT floats".into()
    })?;
    let dtype = x.re.dtype();
    let stack = |re: &T, im: &T| {
        let wide = [x.shape(), &[1]].concat();
        let [re, im] = [re, im].map(|y| y.linear(&Linear::reshape(y.shape(), &[y.shape(), &[1]].concat())));
        T::concat(wide.len() - 1, &[re, im])
    };
    let transformed = |z: &T, axes: &[usize], inverse: bool| {
        axes.iter().fold(z.clone(), |z, axis| {
            let op = Linear::fourier(z.shape(), rank, *axis);
            let z = z.linear(&if inverse { op.adjoint() } else { op });
            if inverse { mul(&z, &like(&z, 1.0 / z.shape()[*axis] as f64)) } else { z }
        })
    };
    let part = |z: &T, k: usize| z.linear(&Linear::row(z.shape(), rank, k));
    let z = stack(&x.re, &x.imaginary());
    let element = result_element(op)?;
    Ok(match kind.as_str() {
        "FFT" | "IFFT" => {
            let z = transformed(&z, &axes, kind == "IFFT");
            ImportedValue::complex(element, (part(&z, 0), part(&z, 1)))
        }
        "RFFT" => {
            let z = transformed(&z, &axes, false);
            let z = z.linear(&Linear::slice(z.shape(), last, 0, half, 1));
            ImportedValue::complex(element, (part(&z, 0), part(&z, 1)))
        }
        "IRFFT" => {
            // The other axes first; then the second half, which is the conjugate of the first in reverse.
            let z = transformed(&z, &axes[..axes.len() - 1], true);
            let rest = n - half;
            let (re, im) = (part(&z, 0), part(&z, 1));
            let mirrored = |y: &T| {
                let cut = y.linear(&Linear::slice(y.shape(), last, 1, rest, 1));
                cut.linear(&Linear::reverse(cut.shape(), last))
            };
            // The imaginary parts of the constant, and of the highest frequency, do not count.
            let place = iota::<T>(im.shape(), last);
            let ends = compare(Compare::Eq, &place, &int_like(&place, 0));
            let top = compare(Compare::Eq, &place, &int_like(&place, if n % 2 == 0 { half as i64 - 1 } else { 0 }));
            let im = T::select(&super::value::or(&ends, &top), &like(&im, 0.0), &im);
            let re = T::concat(last, &[re.clone(), mirrored(&re)]);
            let minus = mirrored(&im).unary(crate::ops::Unary::Neg);
            let im = T::concat(last, &[im, minus]);
            let shape = shape_of(re.shape().iter().copied().chain([1]));
            let [re, im] = [re, im].map(|y| y.linear(&Linear::reshape(y.shape(), &shape)));
            let z = transformed(&T::concat(rank, &[re, im]), &[last], true);
            ImportedValue::real(element, part(&z, 0))
        }
        _ => return lacks(&format!("a transform that is known, of {dtype}")),
    })
}

/// The next bits of Threefry with 20 rounds, from a key and a counter of 64 bits each, and the state after them.
fn random_bits<T: BaseTensor>(op: &ModuleOperation, state: &ImportedValue<T>) -> Imported<Vec<ImportedValue<T>>> {
    let word = Element::Int { bits: 64, signed: false };
    need(op.words("rng_algorithm") == Some("THREE_FRY"), || "only bits by THREE_FRY are drawn".into())?;
    need(state.element == word && state.shape() == [2], || "the state must be two integers of ui64".into())?;
    let Some((shape, element)) = op.types.get(1).and_then(Type::fixed) else { return lacks("bits of a fixed shape") };
    need(element == word, || "only bits of ui64 are drawn".into())?;
    let n = size(&shape);
    let [key, counter] = [0, 1].map(|k| state.re.linear(&Linear::row(&[2], 0, k)));
    let spread = |y: &T| y.linear(&Linear::replicate(&[n], &[]));
    let counters = ints(IntBinary::Add, &spread(&counter), &T::discrete(&Discrete::Iota { n }, &[]));
    // XLA has the lower word of 32 bits first.
    let exchanged = |y: &T| {
        let [up, down] = [IntBinary::Shl, IntBinary::Shr].map(|op| super::value::int_with(op, y, 32));
        ints(IntBinary::BitOr, &up, &down)
    };
    let bits = exchanged(&ints(IntBinary::Threefry, &exchanged(&spread(&key)), &exchanged(&counters)));
    let next = super::value::int_with(IntBinary::Add, &counter, n as i64);
    let both = [key, next].map(|y| y.linear(&Linear::reshape(&[], &[1])));
    let state = ImportedValue::real(word, T::concat(0, &both));
    Ok(vec![state, ImportedValue::real(element, bits.linear(&Linear::reshape(&[n], &shape)))])
}
