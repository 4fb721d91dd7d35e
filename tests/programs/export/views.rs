//! Views and contractions, exported: random ones at small whole numbers, which give the same results to the bit, however
//! they are summed.

use polygrad::array::Rng;
use polygrad::ops::{Contract, Linear, View};
use polygrad::program::{Builder, Op, Program, Slot, interpret};
use polygrad::{Array, DType};

use crate::dumped::dump;
use crate::stablehlo::evaluate;
use crate::support::{floats, random_contract, random_linear, random_shape};

/// A program of one operation.
fn program(kinds: &[(&[usize], DType)], op: impl FnOnce(&[u32]) -> Op<u32>) -> Program {
    let mut b = Builder::literal();
    let slot = |(shape, dtype): &(&[usize], DType)| Slot { name: String::new(), shape: (*shape).into(), dtype: *dtype };
    let ids: Vec<u32> = kinds.iter().map(|kind| b.input(slot(kind))).collect();
    let result = b.apply(op(&ids));
    b.finish(&[result], &[])
}

/// Whole numbers between -3 and 3.
pub(super) fn whole(rng: &mut Rng, shape: &[usize], dtype: DType) -> Array {
    let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| rng.below(7) as f64 - 3.0).collect();
    let a = Array::new(shape, numbers);
    match dtype {
        DType::F64 => a,
        DType::F32 => a.cast::<f32>(),
        DType::I64 => a.cast::<i64>(),
        DType::Bool => Array::new(shape, floats(&a).iter().map(|x| *x > 0.0).collect::<Vec<bool>>()),
    }
}

/// Panics unless the text gives what the program gives; returns the text.
#[track_caller]
pub(super) fn assert_exact(name: &str, program: &Program, inputs: &[Array]) -> String {
    let exported = program.exported(name).expect("views are exported");
    let expected = interpret(program, inputs.to_vec());
    dump(name, &exported, inputs, &expected, 1e-11);
    let found = evaluate(&exported.text, inputs);
    let same = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan());
    let equal = |(found, expected): (&Array, &Array)| {
        found.shape() == expected.shape() && floats(found).iter().zip(floats(expected)).all(|(x, y)| same(*x, y))
    };
    let equal = found.len() == expected.len() && found.iter().zip(&expected).all(equal);
    assert!(equal, "{name}: {found:?}, not {expected:?} of {inputs:?}\n{program}\n{}", exported.text);
    exported.text
}

pub(super) fn of_linear(op: &Linear, dtype: DType) -> Program {
    program(&[(op.input_shape(), dtype)], |ids| Op::Linear(Box::new(op.clone()), ids[0]))
}

pub(super) fn of_contract(op: &Contract, dtype: DType) -> Program {
    let kinds = [(op.a.source(), dtype), (op.b.source(), dtype)];
    program(&kinds, |ids| Op::Contract(Box::new(op.clone()), ids[0], ids[1]))
}

/// A view of which each row may depend on several axes, and an axis may move several rows; nearly all of it looks at
/// something.
fn busy_view(rng: &mut Rng, space: &[usize]) -> View {
    let (mut source, mut matrix, mut offset) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..1 + rng.below(3) {
        let row: Vec<i64> = space.iter().map(|_| [0, 0, 1, 1, -1, 2, 3][rng.below(7)]).collect();
        let reach = row.iter().zip(space).map(|(m, n)| m * (*n as i64 - 1));
        let (low, high) = reach.fold((0, 0), |(low, high), r| (low + r.min(0), high + r.max(0)));
        offset.push(rng.below(3) as i64 - 1 - low);
        source.push((high - low + rng.below(3) as i64).max(1) as usize);
        matrix.extend(row);
    }
    View::affine(&source, space, &matrix, &offset)
}

/// An iteration space without empty axes.
fn space(rng: &mut Rng) -> Vec<usize> {
    (0..1 + rng.below(3)).map(|_| 1 + rng.below(4)).collect()
}

#[test]
fn random_views() {
    let mut rng = Rng::new(21);
    let mut seen = [0; 3];
    for case in 0..900 {
        let op = if case % 2 == 0 {
            let shape = random_shape(&mut rng, 3);
            random_linear(&mut rng, &shape)
        } else {
            let space = space(&mut rng);
            Linear::affine(busy_view(&mut rng, &space), busy_view(&mut rng, &space))
        };
        let dtype = [DType::F64, DType::F32, DType::I64][case % 3];
        let x = whole(&mut rng, op.input_shape(), dtype);
        let text = assert_exact(&format!("linear_{case}"), &of_linear(&op, dtype), &[x]);
        for (count, word) in seen.iter_mut().zip(["gather", "scatter", "interior"]) {
            *count += usize::from(text.contains(word));
        }
    }
    assert!(seen.iter().all(|n| *n > 10), "{seen:?}");
}

#[test]
fn random_contractions_and_their_adjoints() {
    let mut rng = Rng::new(22);
    let mut seen = [0; 4];
    for case in 0..400 {
        let op = if case % 4 < 2 {
            random_contract(&mut rng)
        } else {
            let space = space(&mut rng);
            let mut view = || busy_view(&mut rng, &space);
            Contract::new(view(), view(), view())
        };
        let dtype = [DType::F64, DType::I64][case % 2];
        for (k, op) in [op.adjoint_left(), op.adjoint_right(), op].into_iter().enumerate() {
            let (a, b) = (whole(&mut rng, op.a.source(), dtype), whole(&mut rng, op.b.source(), dtype));
            let text = assert_exact(&format!("contract_{case}_{k}"), &of_contract(&op, dtype), &[a, b]);
            for (count, word) in seen.iter_mut().zip(["convolution", "dot_general", "gather", "scatter"]) {
                *count += usize::from(text.contains(word));
            }
        }
    }
    assert!(seen[0] > 0 && seen[1..].iter().all(|n| *n > 10), "{seen:?}");
}

/// Convolutions with two spatial axes, a batch, features that are summed and features of the result, and groups.
#[test]
fn random_convolutions_and_their_adjoints() {
    let mut rng = Rng::new(23);
    for case in 0..100 {
        let mut draw = |lo: usize, n: usize| lo + rng.below(n);
        let (axes, grouped) = (draw(1, 2), draw(0, 3) == 0);
        // Batch, group, feature of the result, summed feature; then positions and windows.
        let mut space = vec![draw(1, 2), if grouped { 2 } else { 1 }, draw(1, 3), draw(1, 3)];
        let (mut image, mut rows, mut offsets) = (Vec::new(), Vec::new(), vec![0, 0, 0]);
        for k in 0..axes {
            let (y, d) = (draw(1, 4), draw(1, 3));
            let (step, dilation, start) = (draw(1, 3) as i64, draw(1, 2) as i64, draw(0, 4) as i64 - 2);
            let step = if draw(0, 6) == 0 { -step } else { step };
            image.push((y as i64 * step.abs() + d as i64 + draw(0, 3) as i64 - 1).max(1) as usize);
            offsets.push(if step < 0 { start - step * (y as i64 - 1) } else { start });
            space.extend([y, d]);
            rows.push((4 + 2 * k, step, dilation));
        }
        let rank = space.len();
        let own = |axis: usize| (0..rank).map(move |k| i64::from(k == axis)).collect::<Vec<i64>>();
        let mut matrix = [own(0), own(1), own(3)].concat();
        for (axis, step, dilation) in &rows {
            let mut row = own(*axis);
            (row[*axis], row[axis + 1]) = (*step, *dilation);
            matrix.extend(row);
        }
        let source: Vec<usize> = [space[0], space[1], space[3]].into_iter().chain(image).collect();
        let x = View::affine(&source, &space, &matrix, &offsets);
        let spatial = |first: usize| rows.iter().map(move |(axis, ..)| axis + first).collect::<Vec<usize>>();
        let kernel = View::axes(&space, &[vec![1, 2, 3], spatial(1)].concat());
        let out = View::axes(&space, &[vec![0, 1, 2], spatial(0)].concat());
        let op = Contract::new(x, kernel, out);
        for (k, op) in [op.adjoint_left(), op.adjoint_right(), op.swapped(), op].into_iter().enumerate() {
            let (a, b) = (whole(&mut rng, op.a.source(), DType::F64), whole(&mut rng, op.b.source(), DType::F64));
            let text = assert_exact(&format!("convolution_{case}_{k}"), &of_contract(&op, DType::F64), &[a, b]);
            let slides = rows.iter().any(|(axis, ..)| space[*axis] > 1 && space[axis + 1] > 1);
            assert!(!slides || text.contains("convolution") || text.contains("slice"), "{op:?}: {text}");
            assert!(!text.contains("scatter"), "{op:?}: {text}");
        }
    }
}

/// Where a window reaches out of an operand, the product adds nothing, whatever the other factor is.
#[test]
fn products_out_of_range_add_nothing() {
    // The window moves the result, too, so this is no convolution.
    let space = [4, 3];
    let op = Contract::new(
        View::affine(&[4], &space, &[1, 1], &[-1]),
        View::axes(&space, &[0, 1]),
        View::axes(&space, &[0, 1]),
    );
    let mut factor = vec![1.0; 12];
    (factor[0], factor[11]) = (f64::INFINITY, f64::NAN);
    let inputs = [Array::from([1.0, 2.0, 3.0, 4.0]), Array::new(&[4, 3], factor)];
    let text = assert_exact("out_of_range", &of_contract(&op, DType::F64), &inputs);
    assert!(!text.contains("convolution") && text.contains("select"), "{text}");
}

/// A view of an array without elements looks at nothing, whether one axis moves each of its rows or several do: nothing
/// is read, and nothing is added to such an array.
#[test]
fn views_of_arrays_without_elements_look_at_nothing() {
    let space = [4, 2, 3];
    let slanted = View::affine(&[0, 4, 0], &space, &[2, 1, 0, -1, 0, 2, -1, -1, -1], &[-3, -1, 3]);
    let rest = View::affine(&[4, 2], &space, &[1, 0, 0, 0, 1, 0], &[0, 0]);
    assert!(slanted.is_empty() && !rest.is_empty());
    for dtype in [DType::F64, DType::F32, DType::I64] {
        let inputs = |first: &View, second: &View| {
            let mut rng = Rng::new(29);
            [whole(&mut rng, first.source(), dtype), whole(&mut rng, second.source(), dtype)]
        };
        for (from, into) in [(&slanted, &rest), (&rest, &slanted)] {
            let op = Linear::affine(from.clone(), into.clone());
            let text = assert_exact("nothing_moved", &of_linear(&op, dtype), &inputs(from, into)[..1]);
            assert!(!text.contains("gather") && !text.contains("scatter"), "{text}");
        }
        for [a, b, out] in [[&slanted, &rest, &rest], [&rest, &slanted, &rest], [&rest, &rest, &slanted]] {
            let op = Contract::new(a.clone(), b.clone(), out.clone());
            let text = assert_exact("nothing_multiplied", &of_contract(&op, dtype), &inputs(a, b));
            assert!(!text.contains("gather") && !text.contains("scatter"), "{text}");
        }
    }
}
