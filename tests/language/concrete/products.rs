//! Bilinear operations large enough for the kernels of matrix products, against their definition: every axis may be a
//! row, a column, a step of the sum or a batch, and two axes may slide in one index, within bounds or not.

use polygrad::ops::{Contract, View};
use polygrad::shape::size;
use polygrad::{Array, BaseTensor, DType};

use super::draw::{Draw, array_of};
use super::{flat, indices};

/// Sizes around the lengths of vectors and tiles.
const SIZES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17];

/// The roles of an axis: whether it moves the operands and the result.
const ROLES: [[bool; 3]; 5] =
    [[true, false, true], [false, true, true], [true, true, false], [true, true, true], [true, false, false]];

/// A view in which the marked axes are whole axes, in any order, backwards, in steps, or two of them slide in one.
fn view(draw: &mut Draw, shape: &[usize], marked: impl Fn(usize) -> bool, within: bool) -> View {
    let mut axes: Vec<usize> = (0..shape.len()).filter(|i| marked(*i)).collect();
    for i in (1..axes.len()).rev() {
        axes.swap(i, draw.range(0, i as i64) as usize);
    }
    let (mut source, mut matrix, mut offset) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(axis) = axes.pop() {
        let mut row = vec![0; shape.len()];
        row[axis] = [1, 1, 1, 1, -1, 2][draw.range(0, 5) as usize];
        if draw.one_in(2)
            && let Some(second) = axes.pop()
        {
            row[second] = [1, 1, 2, -1][draw.range(0, 3) as usize];
        }
        let least: i64 = row.iter().zip(shape).map(|(m, n)| (m * (*n as i64 - 1)).min(0)).sum();
        let most: i64 = row.iter().zip(shape).map(|(m, n)| (m * (*n as i64 - 1)).max(0)).sum();
        let (slack, shift) = if within { (0, 0) } else { (draw.range(-2, 2), draw.range(-1, 1)) };
        source.push((most - least + 1 + slack).max(1) as usize);
        offset.push(shift - least);
        matrix.extend(row);
    }
    View::affine(&source, shape, &matrix, &offset)
}

fn product(draw: &mut Draw) -> Contract {
    let mut roles = ROLES[..3].to_vec();
    (0..draw.range(0, 2)).for_each(|_| roles.push(ROLES[draw.range(0, 4) as usize]));
    let mut shape: Vec<usize> = roles.iter().map(|_| SIZES[draw.range(0, 13) as usize]).collect();
    for k in 0..shape.len() {
        let rest: usize = shape.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, n)| n).product();
        shape[k] = shape[k].min((4000 / rest).max(1));
    }
    let mut order: Vec<usize> = (0..roles.len()).collect();
    (1..order.len()).for_each(|i| order.swap(i, draw.range(0, i as i64) as usize));
    let shape: Vec<usize> = order.iter().map(|i| shape[*i]).collect();
    let [a, b, out] = [0, 1, 2].map(|k| {
        let within = !draw.one_in(4);
        view(draw, &shape, |i| roles[order[i]][k], within)
    });
    Contract::new(a, b, out)
}

/// The sum of products, by definition.
fn by_definition(op: &Contract, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; size(op.out.source())];
    for index in indices(op.a.shape()) {
        if let (Some(i), Some(j), Some(o)) = (op.a.at(&index), op.b.at(&index), op.out.at(&index)) {
            out[flat(op.out.source(), &o)] += a[flat(op.a.source(), &i)] * b[flat(op.b.source(), &j)];
        }
    }
    out
}

fn floats(a: &Array) -> Vec<f64> {
    a.cast::<f64>().to_vec().expect("floats")
}

fn check(op: &Contract, a: &Array, b: &Array) {
    let expected = by_definition(op, &floats(a), &floats(b));
    for (k, (x, y)) in floats(&BaseTensor::contract(op, a, b)).iter().zip(&expected).enumerate() {
        assert!(x == y || x.is_nan() && y.is_nan(), "{op}: {x} is not {y} at {k}");
    }
}

#[test]
fn products_of_any_roles_are_sums_of_products() {
    let mut draw = Draw(71);
    for _ in 0..150 {
        let (op, dtype) = (product(&mut draw), draw.number_type());
        let (a, b) = (draw.array(dtype, op.a.source()), draw.array(dtype, op.b.source()));
        check(&op, &a, &b);
    }
}

#[test]
fn an_element_out_of_bounds_contributes_nothing_to_infinities_and_nan() {
    let mut draw = Draw(72);
    for _ in 0..60 {
        let (op, dtype) = (product(&mut draw), [DType::F64, DType::F32][draw.range(0, 1) as usize]);
        let mut hostile = |shape: &[usize]| {
            let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
            let mut element = |_| if draw.one_in(40) { special[draw.range(0, 3) as usize] } else { 1.0 };
            Array::new(shape, (0..size(shape)).map(&mut element).collect::<Vec<f64>>())
        };
        let (a, b) = (hostile(op.a.source()), hostile(op.b.source()));
        let convert = |x: &Array| if dtype == DType::F32 { x.cast::<f32>() } else { x.clone() };
        check(&op, &convert(&a), &convert(&b));
    }
}

/// `y[n, o, u, v] = sum_(c, k, l) x[n, c, u + k - p, v + l - p] * kernel[o, c, k, l]`, and its adjoints.
#[test]
fn convolutions_and_their_adjoints_are_sums_over_windows() {
    let mut draw = Draw(73);
    for [n, c, h, w, o, k, p] in [[2, 3, 7, 8, 5, 3, 0], [1, 2, 6, 17, 7, 3, 1], [3, 1, 4, 16, 2, 2, 1]] {
        let (u, v) = (h + 2 * p + 1 - k, w + 2 * p + 1 - k);
        let shape = [n, o, k, k, c, u, v];
        let mut matrix = [0; 28];
        [0, 11, 16, 19, 24, 27].into_iter().for_each(|at| matrix[at] = 1);
        let at = -(p as i64);
        let x = View::affine(&[n, c, h, w], &shape, &matrix, &[0, 0, at, at]);
        let op = Contract::new(x, View::axes(&shape, &[1, 4, 2, 3]), View::axes(&shape, &[0, 1, 5, 6]));
        for op in [op.clone(), op.adjoint_left(), op.adjoint_right(), op.adjoint_left().swapped()] {
            for dtype in [DType::F64, DType::F32, DType::I64] {
                let mut numbers =
                    |shape: &[usize]| -> Vec<i64> { (0..size(shape)).map(|_| draw.range(-3, 3)).collect() };
                let (a, b) = (numbers(op.a.source()), numbers(op.b.source()));
                check(&op, &array_of(dtype, op.a.source(), &a), &array_of(dtype, op.b.source(), &b));
            }
        }
    }
}

#[test]
fn products_with_vectors_are_sums_at_every_length() {
    let mut draw = Draw(74);
    for n in [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 511, 512, 513, 1000] {
        let dot = Contract::axes(&[n], &[0], &[0], &[]);
        let rows = Contract::axes(&[3, n], &[0, 1], &[1], &[0]);
        let columns = Contract::axes(&[5, n], &[0, 1], &[0], &[1]);
        let outer = Contract::axes(&[3, n], &[0], &[1], &[0, 1]);
        for op in [dot, rows, columns.swapped(), columns, outer] {
            let dtype = draw.number_type();
            let mut numbers = |shape: &[usize]| -> Vec<i64> { (0..size(shape)).map(|_| draw.range(-3, 3)).collect() };
            let (a, b) = (numbers(op.a.source()), numbers(op.b.source()));
            check(&op, &array_of(dtype, op.a.source(), &a), &array_of(dtype, op.b.source(), &b));
        }
    }
}
