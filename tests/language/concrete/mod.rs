//! Evaluation against its definition: every kernel agrees with the element-by-element meaning of the
//! operation, whatever the views, the shapes, the element type and the way an array is stored.
//!
//! * Linear and bilinear operations through random views, against [`View::at`] at every index.
//! * Indexing, concatenation, positions and loops against naive code.
//! * Promises of evaluation beyond values: bits that survive, constants that stay stored once, updates in place.

mod draw;
mod products;

use polygrad::array::Values;
use polygrad::ops::{Binary, Compare, Contract, Discrete, FloatStep, IntBinary, IntUnary, Linear, Reduce, Unary, View};
use polygrad::shape::size;
use polygrad::{Array, BaseTensor, DType};

use draw::{Draw, array_of};

fn numbers(a: &Array) -> Vec<i64> {
    a.cast::<i64>().to_vec().expect("integers")
}

/// The same elements, each of them stored.
fn written_out(a: &Array) -> Array {
    match a.dtype() {
        DType::F64 => Array::new(a.shape(), a.to_vec::<f64>().expect("f64")),
        DType::F32 => Array::new(a.shape(), a.to_vec::<f32>().expect("f32")),
        DType::I64 => Array::new(a.shape(), a.to_vec::<i64>().expect("i64")),
        DType::Bool => Array::new(a.shape(), a.to_vec::<bool>().expect("bool")),
    }
}

/// Whether the elements are stored once.
fn is_splat(a: &Array) -> bool {
    let splat = |s: bool| s;
    match a.dtype() {
        DType::F64 => splat(matches!(a.values::<f64>(), Some(Values::Splat(_)))),
        DType::F32 => splat(matches!(a.values::<f32>(), Some(Values::Splat(_)))),
        DType::I64 => splat(matches!(a.values::<i64>(), Some(Values::Splat(_)))),
        DType::Bool => splat(matches!(a.values::<bool>(), Some(Values::Splat(_)))),
    }
}

/// The bits of a number, the same for every NaN, whose sign Rust leaves open.
fn bits_of(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

fn bits(a: &Array) -> Vec<u64> {
    a.to_vec::<f64>().expect("f64").into_iter().map(bits_of).collect()
}

/// Every index of an array of this shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let unflatten = |mut flat: usize| {
        let mut index = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            index[axis] = flat % shape[axis];
            flat /= shape[axis];
        }
        index
    };
    (0..size(shape)).map(unflatten).collect()
}

fn flat(shape: &[usize], index: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |at, (i, n)| at * n + i)
}

/// `base[into i] += t[from i]`, by definition.
fn add_linear(from: &View, into: &View, t: &[i64], base: &mut [i64]) {
    for index in indices(from.shape()) {
        if let (Some(i), Some(o)) = (from.at(&index), into.at(&index)) {
            base[flat(into.source(), &o)] += t[flat(from.source(), &i)];
        }
    }
}

/// The sum of products, by definition.
fn add_products(op: &Contract, a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut out = vec![0; size(op.out.source())];
    for index in indices(op.a.shape()) {
        if let (Some(i), Some(j), Some(o)) = (op.a.at(&index), op.b.at(&index), op.out.at(&index)) {
            out[flat(op.out.source(), &o)] += a[flat(op.a.source(), &i)] * b[flat(op.b.source(), &j)];
        }
    }
    out
}

#[test]
fn views_are_read_and_written_as_defined() {
    let mut draw = Draw(1);
    let mut busy = 0;
    for case in 0..4000 {
        let shape = draw.shape(4);
        let from = draw.view(&shape);
        let into = if draw.one_in(2) { View::identity(&shape) } else { draw.view(&shape) };
        let dtype = draw.dtype();
        if dtype == DType::Bool && !into.is_injective() {
            continue;
        }
        let t = draw.array(dtype, from.source());
        let mut expected = vec![0; size(into.source())];
        add_linear(&from, &into, &numbers(&t), &mut expected);
        let op = Linear::affine(from, into);
        let got = t.linear(&op);
        assert_eq!(got.dtype(), dtype);
        assert_eq!(got.shape(), op.output_shape());
        assert_eq!(numbers(&got), expected, "case {case}: {op} of {dtype}");
        assert_eq!(numbers(&written_out(&t).linear(&op)), expected, "case {case}: {op} of {dtype}, written out");
        busy += usize::from(expected.iter().any(|x| *x != 0));
    }
    assert!(busy > 1000, "too many cases look at nothing: {busy} do not");
}

#[test]
fn accumulation_through_views_adds_to_the_base() {
    let mut draw = Draw(2);
    for case in 0..2000 {
        let shape = draw.shape(4);
        let from = draw.view(&shape);
        let into = if draw.one_in(3) { View::identity(&shape) } else { draw.view(&shape) };
        let dtype = draw.number_type();
        let (t, base) = (draw.array(dtype, from.source()), draw.array(dtype, into.source()));
        let mut expected = numbers(&base);
        add_linear(&from, &into, &numbers(&t), &mut expected);
        let op = Linear::affine(from, into);
        let kept = base.clone();
        assert_eq!(numbers(&base.clone().accumulate_linear(&op, &t)), expected, "case {case}: {op}, base shared");
        assert_eq!(numbers(&written_out(&base).accumulate_linear(&op, &t)), expected, "case {case}: {op}, base owned");
        assert_eq!(base, kept, "case {case}: a shared base was changed");
        assert_eq!(numbers(&base.accumulate(&t.linear(&op))), expected, "case {case}: {op}, in two steps");
    }
}

#[test]
fn contractions_are_sums_of_products() {
    let mut draw = Draw(3);
    for case in 0..3000 {
        let shape = draw.shape(4);
        let op = Contract::new(draw.view(&shape), draw.view(&shape), draw.view(&shape));
        let dtype = draw.number_type();
        let (a, b) = (draw.array(dtype, op.a.source()), draw.array(dtype, op.b.source()));
        let expected = add_products(&op, &numbers(&a), &numbers(&b));
        let got = Array::contract(&op, &a, &b);
        assert_eq!((got.shape(), got.dtype()), (op.output_shape(), dtype));
        assert_eq!(numbers(&got), expected, "case {case}: {op} of {dtype}");
    }
}

/// Matrix products of all sizes and layouts, alone and in batches, on both sides of every choice of kernel.
#[test]
fn matrix_products_in_every_layout() {
    let mut draw = Draw(4);
    for case in 0..300 {
        let sizes = [1, 2, 3, 7, 8, 9, 16, 17, 33];
        let mut size_of = || sizes[draw.range(0, 8) as usize];
        let (n, m, k, batch) = (size_of(), size_of(), size_of(), size_of().min(3));
        let shape = [batch, n, m, k];
        let mut order = |axes: &[usize]| {
            let mut axes = axes.to_vec();
            for i in (1..axes.len()).rev() {
                axes.swap(i, draw.range(0, i as i64) as usize);
            }
            axes
        };
        let mut op = match case % 4 {
            0 => Contract::axes(&shape[1..], &order(&[0, 2]), &order(&[2, 1]), &order(&[0, 1])),
            1 => Contract::axes(&shape, &order(&[0, 1, 3]), &order(&[0, 3, 2]), &order(&[0, 1, 2])),
            2 => Contract::axes(&shape, &order(&[0, 1, 3]), &order(&[0, 3, 2]), &order(&[1, 2])),
            _ => Contract::axes(&shape, &order(&[1, 3]), &order(&[0, 3, 2]), &order(&[1, 0, 2])),
        };
        if case % 5 == 0 {
            op = op.adjoint_left();
        }
        let dtype = draw.number_type();
        let (a, b) = (draw.array(dtype, op.a.source()), draw.array(dtype, op.b.source()));
        let expected = add_products(&op, &numbers(&a), &numbers(&b));
        assert_eq!(numbers(&Array::contract(&op, &a, &b)), expected, "case {case}: {op} of {dtype}");
    }
}

/// A convolution and both its adjoints: windows overlap in an operand, then in the result.
#[test]
fn convolutions_overlap() {
    let mut draw = Draw(5);
    for case in 0..40 {
        let [y, x, h, w, c, f] = [12, 10, 4, 4, 6, 9].map(|most| draw.range(1, most) as usize);
        let shape = [y, x, h, w, c, f];
        let pad = draw.range(0, 1);
        let columns = [1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0];
        let image = View::affine(&[y + h - 1, x + w - 1, c], &shape, &columns, &[-pad, -pad, 0]);
        let op = Contract::new(image, View::axes(&shape, &[2, 3, 4, 5]), View::axes(&shape, &[0, 1, 5]));
        for op in [op.adjoint_left(), op.adjoint_right(), op.swapped(), op] {
            let (a, b) = (draw.array(DType::F64, op.a.source()), draw.array(DType::F64, op.b.source()));
            let expected = add_products(&op, &numbers(&a), &numbers(&b));
            assert_eq!(numbers(&Array::contract(&op, &a, &b)), expected, "case {case}: {op}");
        }
    }
}

/// A product of polynomials with matrices for coefficients: rows and columns meet in the result.
#[test]
fn products_that_meet_are_added_up() {
    let mut draw = Draw(9);
    for [n, m, k] in [[9, 9, 9], [2, 40, 30], [33, 8, 5]] {
        let out = View::affine(&[n + m - 1], &[n, m, k], &[1, 1, 0], &[0]);
        let op = Contract::new(View::axes(&[n, m, k], &[0, 2]), View::axes(&[n, m, k], &[1, 2]), out);
        let (a, b) = (draw.array(DType::F64, op.a.source()), draw.array(DType::F64, op.b.source()));
        assert_eq!(numbers(&Array::contract(&op, &a, &b)), add_products(&op, &numbers(&a), &numbers(&b)), "{op}");
    }
}

/// Every order of axes of different sizes, in blocks and in runs.
#[test]
fn permutations_by_definition() {
    for shape in [[2, 3, 20], [3, 2, 20], [20, 17, 3], [33, 2, 18], [17, 33, 16]] {
        let t = array_of(DType::F32, &shape, &(0..size(&shape) as i64).collect::<Vec<_>>());
        for perm in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let got = t.linear(&Linear::permute(&shape, &perm));
            for (index, x) in indices(got.shape()).into_iter().zip(numbers(&got)) {
                let mut source = [0; 3];
                perm.iter().zip(&index).for_each(|(axis, i)| source[*axis] = *i);
                assert_eq!(x, flat(&shape, &source) as i64, "{perm:?} of {shape:?} at {index:?}");
            }
        }
    }
}

/// Operations without sums copy bits: NaN with its payload, both zeros, infinities.
#[test]
fn bits_survive_views() {
    let odd = [f64::from_bits(0x7ff8_0000_0000_1234), -0.0, f64::NEG_INFINITY, 0.0, f64::MIN_POSITIVE / 4.0, 1.5];
    let shape = [19, 35];
    let t = Array::new(&shape, (0..size(&shape)).map(|i| odd[i % 6]).collect());
    let at = |i: usize, j: usize| bits(&t)[i * 35 + j];
    for (name, op, place) in [
        ("permute", Linear::permute(&shape, &[1, 0]), (|i, j| (j, i)) as fn(usize, usize) -> (usize, usize)),
        ("reverse", Linear::reverse(&shape, 1), |i, j| (i, 34 - j)),
        ("reverse", Linear::reverse(&shape, 0), |i, j| (18 - i, j)),
        ("slice", Linear::slice(&shape, 1, 3, 10, 3), |i, j| (i, 3 + 3 * j)),
        ("reshape", Linear::reshape(&shape, &[1, 19, 35]), |i, j| (i, j)),
    ] {
        let got = t.linear(&op);
        let wide = *got.shape().last().expect("rank 2 or 3");
        for (k, x) in bits(&got).into_iter().enumerate() {
            let (i, j) = place(k / wide, k % wide);
            assert_eq!(x, at(i, j), "{name} at {k}");
        }
    }
    let negative = Array::full(&[3], -0.0);
    assert_eq!(bits(&negative.linear(&Linear::replicate(&[2, 3], &[1]))), [(-0.0f64).to_bits(); 6]);
    let padded = negative.linear(&Linear::pad(&[3], &[1], &[0]));
    assert_eq!(bits(&padded), [0.0, -0.0, -0.0, -0.0].map(f64::to_bits));
    assert_eq!(bits(&t.gather(&[Array::from(1i64)])), bits(&t)[35..70]);
    assert_eq!(bits(&Array::concat(0, &[t.clone(), t.clone()])), [bits(&t), bits(&t)].concat());
}

/// Zero times infinity is not a number, however the zero is stored.
#[test]
fn products_with_zeros_are_not_skipped() {
    let op = Contract::axes(&[9, 9, 9], &[0, 2], &[2, 1], &[0, 1]);
    let zeros = Array::zeros(&[9, 9], DType::F64);
    let infinite = Array::new(&[9, 9], (0..81).map(|i| if i == 40 { f64::INFINITY } else { 1.0 }).collect());
    for (a, b) in [(&zeros, &infinite), (&infinite, &zeros)] {
        let nans = Array::contract(&op, a, b).to_vec::<f64>().expect("f64").iter().filter(|x| x.is_nan()).count();
        assert_eq!(nans, 9);
    }
    let product = zeros.binary(Binary::Mul, &infinite).to_vec::<f64>().expect("f64");
    assert!(product[40].is_nan());
    assert_eq!(infinite.binary(Binary::MulNoNan, &zeros), zeros);
    let sum = zeros.accumulate(&product_with_nan());
    assert!(sum.to_vec::<f64>().expect("f64")[3].is_nan());
}

fn product_with_nan() -> Array {
    Array::new(&[9, 9], (0..81).map(|i| if i == 3 { f64::NAN } else { 1.0 }).collect())
}

/// Every row gives the same bits on repeated values, on written-out arrays and on scalars.
#[test]
fn storage_does_not_matter_to_elementwise_rows() {
    for shape in [&[][..], &[5], &[2, 3], &[0, 3]] {
        for x in [0.0, -0.0, 0.75, -1.5, f64::NAN, f64::INFINITY] {
            let (a, n) = (Array::full(shape, x), size(shape));
            for op in Unary::ALL {
                let expected = vec![bits_of(op.apply(x)); n];
                assert_eq!(bits(&a.unary(*op)), expected, "{}({x})", op.name());
                assert_eq!(bits(&written_out(&a).unary(*op)), expected, "{}({x})", op.name());
            }
            for op in FloatStep::ALL {
                let (op, expected) = (Discrete::FloatStep(*op), vec![bits_of(op.apply(x)); n]);
                assert_eq!(bits(&Array::discrete(&op, &[&a])), expected, "{}({x})", op.name());
                assert_eq!(bits(&Array::discrete(&op, &[&written_out(&a)])), expected, "{}({x})", op.name());
            }
            for y in [0.0, -0.0, 1.0, -2.0, f64::NAN, f64::INFINITY] {
                let b = Array::full(shape, y);
                for op in Binary::ALL {
                    let expected = vec![bits_of(op.apply(x, y)); n];
                    for (a, b) in four_ways(&a, &b) {
                        assert_eq!(bits(&a.binary(*op, &b)), expected, "{}({x}, {y})", op.name());
                    }
                }
                for op in Compare::ALL {
                    for (a, b) in four_ways(&a, &b) {
                        let got = Array::discrete(&Discrete::Compare(*op), &[&a, &b]);
                        assert_eq!(got, Array::full(shape, op.apply(x, y)), "{x} {} {y}", op.name());
                    }
                }
            }
        }
    }
}

fn four_ways(a: &Array, b: &Array) -> Vec<(Array, Array)> {
    let (v, w) = (written_out(a), written_out(b));
    vec![(a.clone(), b.clone()), (v.clone(), b.clone()), (a.clone(), w.clone()), (v, w)]
}

#[test]
fn storage_does_not_matter_to_integers_masks_and_selection() {
    for shape in [&[][..], &[4], &[0]] {
        for (x, y) in [(7, 2), (-7, 2), (i64::MIN, -1), (5, 0), (0, 0)] {
            let (a, b) = (Array::full(shape, x), Array::full(shape, y));
            for (a, b) in four_ways(&a, &b) {
                for op in IntBinary::ALL {
                    let got = Array::discrete(&Discrete::IntBinary(*op), &[&a, &b]);
                    assert_eq!(got, Array::full(shape, op.apply(x, y)), "{x} {} {y}", op.name());
                }
                for op in IntUnary::ALL {
                    let got = Array::discrete(&Discrete::IntUnary(*op), &[&a]);
                    assert_eq!(got, Array::full(shape, op.apply(x)), "{} {x}", op.name());
                }
                let (p, q) = (x > 0, y > 0);
                let mask = Array::discrete(&Discrete::Compare(Compare::Gt), &[&a, &Array::zeros(shape, DType::I64)]);
                let other = Array::discrete(&Discrete::Compare(Compare::Gt), &[&b, &Array::zeros(shape, DType::I64)]);
                assert_eq!(Array::discrete(&Discrete::And, &[&mask, &other]), Array::full(shape, p && q));
                assert_eq!(Array::discrete(&Discrete::Or, &[&mask, &other]), Array::full(shape, p || q));
                assert_eq!(Array::discrete(&Discrete::Not, &[&mask]), Array::full(shape, !p));
                for mask in [mask.clone(), written_out(&mask)] {
                    assert_eq!(Array::select(&mask, &a, &b), Array::full(shape, if p { x } else { y }));
                }
                let float = Array::discrete(&Discrete::ToFloat(DType::F32), &[&a]);
                assert_eq!(float, Array::full(shape, x as f32));
                assert_eq!(Array::discrete(&Discrete::ToInt, &[&mask]), Array::full(shape, i64::from(p)));
            }
        }
    }
    let mask = Array::new(&[3], vec![true, false, true]);
    let (then, otherwise) = (Array::new(&[3], vec![1i64, 2, 3]), Array::new(&[3], vec![4i64, 5, 6]));
    assert_eq!(numbers(&Array::select(&mask, &then, &otherwise)), [1, 5, 3]);
    let floats = Array::new(&[4], vec![2.9, -2.9, f64::NAN, 1e300]);
    assert_eq!(numbers(&Array::discrete(&Discrete::ToInt, &[&floats])), [2, -2, 0, i64::MAX]);
}

/// Constants stay stored once where the result is one.
#[test]
fn constants_cost_nothing() {
    let large = [1 << 20, 1 << 20, 1 << 18];
    let ones = Array::ones(&large, DType::F64);
    let permuted = ones.linear(&Linear::permute(&large, &[2, 0, 1]));
    let sliced = ones.linear(&Linear::slice(&large, 0, 1, 5, 2));
    let replicated = Array::from(2.0).linear(&Linear::replicate(&large, &[]));
    let summed = ones.linear(&Linear::sum(&large, &[0, 2]));
    let padded = Array::zeros(&[3], DType::F64).linear(&Linear::pad(&[3], &[1 << 50], &[0]));
    for (what, a) in [("permute", permuted), ("slice", sliced), ("replicate", replicated), ("pad", padded)] {
        assert!(is_splat(&a), "{what}");
    }
    assert_eq!(summed, Array::full(&[1 << 20], 2f64.powi(38)));
    assert!(is_splat(&summed));
    assert!(is_splat(&ones.unary(Unary::Exp).binary(Binary::Mul, &ones)));
    assert!(is_splat(&Array::concat(1, &[ones.clone(), ones.clone()])));
    assert!(is_splat(&ones.gather(&[Array::from([5i64, 7])])));
}

#[test]
fn gather_and_scatter_by_definition() {
    let mut draw = Draw(6);
    for case in 0..2000 {
        let shape = draw.shape(3);
        let count = draw.range(0, shape.len() as i64) as usize;
        let common = if count == 0 { vec![] } else { draw.shape(2) };
        let dtype = draw.number_type();
        let t = draw.array(dtype, &shape);
        let ix: Vec<Array> = shape[..count]
            .iter()
            .map(|n| {
                let reach = if draw.one_in(2) { 2 } else { 0 };
                let top = (*n as i64 - 1 + reach).max(-reach);
                let v: Vec<i64> = (0..size(&common)).map(|_| draw.range(-reach, top)).collect();
                Array::new(&common, v)
            })
            .collect();
        let out: Vec<usize> = common.iter().chain(&shape[count..]).copied().collect();
        let source_of = |index: &[usize]| -> Option<usize> {
            let mut place = Vec::new();
            for (axis, i) in ix.iter().enumerate() {
                let i = numbers(i)[flat(&common, &index[..common.len()])];
                place.push(usize::try_from(i).ok().filter(|i| *i < shape[axis])?);
            }
            place.extend_from_slice(&index[common.len()..]);
            Some(flat(&shape, &place))
        };
        let places: Vec<Option<usize>> = indices(&out).iter().map(|index| source_of(index)).collect();
        let elements = numbers(&t);
        let expected: Vec<i64> = places.iter().map(|p| p.map_or(0, |p| elements[p])).collect();
        let got = t.gather(&ix);
        assert_eq!((got.shape(), got.dtype()), (&out[..], dtype));
        assert_eq!(numbers(&got), expected, "case {case}: gather {shape:?} at {common:?}");
        assert_eq!(numbers(&written_out(&t).gather(&ix)), expected, "case {case}: gather, written out");

        let v = draw.array(dtype, &out);
        let mut expected = elements;
        for (place, x) in places.iter().zip(numbers(&v)) {
            if let Some(place) = place {
                expected[*place] += x;
            }
        }
        assert_eq!(
            numbers(&t.clone().scatter_add(&ix, &v)),
            expected,
            "case {case}: scatter into {shape:?} at {common:?}"
        );
        assert_eq!(numbers(&written_out(&t).scatter_add(&ix, &v)), expected, "case {case}: scatter, base owned");
    }
    let masks = Array::new(&[2], vec![true, true]);
    assert_eq!(masks.gather(&[Array::from(1i64)]), Array::from(true));
    assert_eq!(masks.gather(&[Array::from(-1i64)]), Array::from(false));
}

/// A base that nobody else holds is updated where it stands.
#[test]
fn updates_are_in_place() {
    let address = |a: &Array| match a.values::<f64>() {
        Some(Values::Dense(v)) => v.as_ptr(),
        Some(Values::Splat(_)) | None => panic!("not stored element by element"),
    };
    let mut a = Array::zeros(&[1000], DType::F64).scatter_add(&[Array::from(0i64)], &Array::from(1.0));
    let start = address(&a);
    for i in 0..1000i64 {
        a = a.scatter_add(&[Array::from(i)], &Array::from(1.0));
    }
    a = a.scatter_add(&[Array::from([3i64, 4])], &Array::from([1.0, 1.0]));
    let ones = written_out(&Array::ones(&[1000], DType::F64));
    a = a.accumulate(&ones).accumulate_linear(&Linear::reverse(&[1000], 0), &ones);
    a = a.accumulate_linear(&Linear::pad(&[10], &[0], &[990]), &written_out(&Array::ones(&[10], DType::F64)));
    assert_eq!(address(&a), start);
    let held = a.clone();
    let b = a.scatter_add(&[Array::from(0i64)], &Array::from(1.0));
    assert_eq!(held.to_vec::<f64>().expect("f64")[..5], [5.0, 4.0, 4.0, 5.0, 5.0]);
    assert_eq!(b.to_vec::<f64>().expect("f64")[..2], [6.0, 4.0]);
}

#[test]
fn concatenation_by_definition() {
    let mut draw = Draw(7);
    for case in 0..500 {
        let mut shape = draw.shape(3);
        shape.push(2);
        let axis = draw.range(0, shape.len() as i64 - 1) as usize;
        let dtype = draw.dtype();
        let parts: Vec<Array> = (0..draw.range(1, 4))
            .map(|_| {
                shape[axis] = draw.range(0, 3) as usize;
                draw.array(dtype, &shape)
            })
            .collect();
        let got = Array::concat(axis, &parts);
        let mut start = 0;
        for part in &parts {
            let (len, rank) = (part.shape()[axis], shape.len());
            let mut offset = vec![0; rank];
            offset[axis] = start as i64;
            let matrix: Vec<i64> = (0..rank * rank).map(|k| i64::from(k / rank == k % rank)).collect();
            let read = Linear::read(View::affine(got.shape(), part.shape(), &matrix, &offset));
            assert_eq!(&got.linear(&read), part, "case {case}");
            start += len;
        }
        assert_eq!(got.shape()[axis], start);
    }
}

/// The first NaN if there is one, else the first extremum; the value is, to the bit, what stands there.
#[test]
fn extrema_and_their_positions() {
    let mut draw = Draw(8);
    for _ in 0..500 {
        let mut shape = draw.shape(2);
        let axis = draw.range(0, shape.len() as i64) as usize;
        let longest = if draw.one_in(3) { 70 } else { 9 };
        shape.insert(axis, draw.range(1, longest) as usize);
        // NaN in half of the arrays, and in some zeros and negative numbers alone.
        let few = [-0.0, 0.0, -1.0, 1.0, 2.0, f64::NAN];
        let most = [2, 4, 5, 5][draw.range(0, 3) as usize];
        let values: Vec<f64> = (0..size(&shape)).map(|_| few[draw.range(0, most) as usize]).collect();
        let t = Array::new(&shape, values.clone());
        for (op, sign) in [(Reduce::Max { axis }, 1.0), (Reduce::Min { axis }, -1.0)] {
            let got = Array::discrete(&op.position(), &[&t]);
            let extrema = bits(&t.reduce(op));
            assert_eq!(bits(&t.cast::<f32>().reduce(op).cast::<f64>()), extrema, "{op} of {t:?}");
            for ((index, p), extremum) in indices(got.shape()).into_iter().zip(numbers(&got)).zip(extrema) {
                let lane: Vec<f64> = (0..shape[axis])
                    .map(|i| {
                        let mut index = index.clone();
                        index.insert(axis, i);
                        sign * values[flat(&shape, &index)]
                    })
                    .collect();
                let largest = lane.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let expected = lane.iter().position(|x| x.is_nan()).or(lane.iter().position(|x| *x == largest));
                assert_eq!(Some(p as usize), expected, "{op} of {lane:?}");
                assert_eq!(extremum, (sign * lane[p as usize]).to_bits(), "{op} of {lane:?}");
            }
        }
    }
    assert_eq!(Array::discrete(&Discrete::ArgMax { axis: 0 }, &[&Array::full(&[3, 2], 1.0)]), Array::from([0i64, 0]));
    assert_eq!(numbers(&Array::discrete(&Discrete::Iota { n: 3 }, &[])), [0, 1, 2]);
}

/// A loop is what a `for` loop computes, in both directions, however its outputs are stored.
#[test]
fn loops_by_definition() {
    for n in [1, 2, 7] {
        for reverse in [false, true] {
            let xs = Array::new(&[n, 2], (0..2 * n).map(|i| i as f64).collect());
            let indices = Array::iota(n);
            let mut calls = 0;
            let (carry, ys) =
                Array::map_accum(n, reverse, vec![Array::from([1.0, 2.0])], &[xs.clone(), indices], &mut |carry, x| {
                    calls += 1;
                    let next = carry[0].binary(Binary::Mul, &Array::full(&[2], 2.0)).binary(Binary::Add, &x[0]);
                    let outputs = vec![next.clone(), x[1].clone(), Array::full(&[3], 1.0), Array::from(true)];
                    (vec![next], outputs)
                });
            assert_eq!(calls, n);
            let (mut state, mut rows) = ([1.0, 2.0], vec![[0.0; 2]; n]);
            for trip in 0..n {
                let i = if reverse { n - 1 - trip } else { trip };
                state = [2.0 * state[0] + (2 * i) as f64, 2.0 * state[1] + (2 * i + 1) as f64];
                rows[i] = state;
            }
            assert_eq!(carry, [Array::from(state)]);
            assert_eq!(ys[0], Array::new(&[n, 2], rows.concat()));
            assert_eq!(ys[1], Array::iota(n));
            assert!(is_splat(&ys[2]) && ys[2].shape() == [n, 3]);
            assert!(is_splat(&ys[3]) && ys[3].dtype() == DType::Bool);
        }
    }
}

/// No trip: the carry passes through, and the outputs are empty in the shapes of a trip from zeros.
#[test]
fn loops_of_no_trips() {
    let init = vec![Array::from(3.0)];
    let xs = [Array::zeros(&[0, 4], DType::I64)];
    let mut calls = 0;
    let (carry, ys) = Array::map_accum(0, true, init, &xs, &mut |carry, x| {
        calls += 1;
        assert_eq!(carry, [Array::from(0.0)]);
        assert_eq!(x, [Array::zeros(&[4], DType::I64)]);
        (carry, vec![x[0].clone(), Array::ones(&[2, 2], DType::F32)])
    });
    assert_eq!((calls, carry), (1, vec![Array::from(3.0)]));
    assert_eq!((ys[0].shape(), ys[0].dtype()), (&[0, 4][..], DType::I64));
    assert_eq!((ys[1].shape(), ys[1].dtype()), (&[0, 2, 2][..], DType::F32));
}

/// A carry that only the step holds is updated in place: the loop is linear, not quadratic.
#[test]
fn carries_are_handed_over() {
    let n = 50_000;
    let mut addresses = std::collections::BTreeSet::new();
    let init = vec![Array::zeros(&[n], DType::F64)];
    let (carry, _) = Array::map_accum(n, false, init, &[Array::iota(n)], &mut |mut carry, x| {
        let sum = carry.remove(0).scatter_add(x, &Array::from(1.0));
        if let Some(Values::Dense(v)) = sum.values::<f64>() {
            addresses.insert(v.as_ptr() as usize);
        }
        (vec![sum], vec![])
    });
    assert_eq!(addresses.len(), 1);
    assert_eq!(carry, [Array::ones(&[n], DType::F64)]);
}
