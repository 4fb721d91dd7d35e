use smallvec::SmallVec;

use crate::array::{Array, Rng};
use crate::backend::ir::step::{KernelCall, KernelOp, StepOperand};
use crate::backend::trees::evaluate::evaluate;
use crate::backend::trees::tree::{ArrayKind, ElementIndex, ElementPlace};
use crate::backend::trees::writer::Writer;
use crate::dtype::{DType, Elem, Num};
use crate::kernels::indexing::{self, Additions, Blocks, Segment};
use crate::kernels::isa::Isa;
use crate::kernels::scan::Line;
use crate::kernels::{prefix_extrema, reduce, scan};
use crate::ops::Reduce;

/// What a kernel call as a tree computes, of a result of `size` elements; an operand of one element where `one` says so
/// is broadcast. Operands and the result do not start at the first elements of their arrays.
pub(in crate::backend::trees) fn called(
    op: KernelOp,
    operands: &[(Array, bool, usize)],
    (result, size): (DType, usize),
) -> Array {
    let mut w = Writer::new();
    let places: Vec<ElementPlace> = (0..operands.len())
        .map(|k| {
            let (x, one, _) = &operands[k];
            let array = w.array(x.dtype(), x.size(), ArrayKind::Input(k));
            if *one {
                ElementPlace::One(array, ElementIndex::default())
            } else {
                ElementPlace::Elements(array, ElementIndex::default())
            }
        })
        .collect();
    let memory = w.array(result, size + 3, ArrayKind::Output(0));
    let out = ElementPlace::Elements(memory, ElementIndex::constant(2));
    let operand = |(_, one, len): &(Array, bool, usize)| (StepOperand { buf: 0, at: 0, one: *one }, *len);
    let dtype = operands[0].0.dtype();
    let operands_of: SmallVec<_> = operands.iter().map(operand).collect();
    super::call(
        &mut w,
        &KernelCall { op, dtype, operands: operands_of, out: 0, size, origin: crate::source::Place::UNKNOWN },
        &places,
        &out,
    );
    let inputs: Vec<Array> = operands.iter().map(|(x, ..)| x.clone()).collect();
    let found = evaluate(&w.finish(), &inputs, &[(result, size + 3)]);
    crate::array::with_elem!(result, E => {
        let all = found[0].to_vec::<E>().expect("the type is that of the result");
        let apart = [all[0], all[1], all[size + 2]];
        assert!(apart.iter().all(|x| x.same_bits(E::ZERO)), "elements beside the result are unchanged: {apart:?}");
        Array::new(&[size], all[2..size + 2].to_vec())
    })
}

fn whole<E: Elem>(x: &[E]) -> (Array, bool, usize) {
    (Array::new(&[x.len()], x.to_vec()), false, x.len())
}

fn same<E: Elem>(found: &Array, wanted: &[E], case: &str) {
    let found = found.to_vec::<E>().expect("the type is that of the result");
    assert_eq!(found.len(), wanted.len(), "{case}");
    for (k, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!(found.same_bits(*wanted), "{case}, element {k}: {found:?} is {wanted:?}");
    }
}

/// Elements of a few values, among them the special ones.
fn sample<E: Num>(rng: &mut Rng, n: usize, of: &dyn Fn(f64) -> E, special: &[E]) -> Vec<E> {
    let one = |rng: &mut Rng| match rng.below(6) {
        0 if !special.is_empty() => special[rng.below(special.len())],
        1 | 2 => of(rng.below(5) as f64 - 2.0),
        _ => of((rng.below(2001) as f64 - 1000.0) / 7.0),
    };
    (0..n).map(|_| one(rng)).collect()
}

const SPECIAL: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX];

/// Runs a test for floats, with NaN and without, and integers.
fn each_type(test: &mut dyn for<'a> FnMut(&'a mut Rng, Sampled)) {
    let mut rng = Rng::new(11);
    for sampled in [Sampled::F64(&SPECIAL), Sampled::F64(&SPECIAL[1..]), Sampled::F32, Sampled::I64] {
        test(&mut rng, sampled);
    }
}

#[derive(Clone, Copy)]
enum Sampled {
    F64(&'static [f64]),
    F32,
    I64,
}

/// Binds a sample of `n` elements of a type, and the type.
macro_rules! sampled {
    ($of:expr, $rng:expr, $n:expr, |$x:ident: $E:ident| $body:expr) => {
        match $of {
            Sampled::F64(special) => {
                type $E = f64;
                let $x = sample::<f64>($rng, $n, &|x| x, special);
                $body
            }
            Sampled::F32 => {
                type $E = f32;
                let $x = sample::<f32>($rng, $n, &|x| x as f32, &SPECIAL.map(|x| x as f32));
                $body
            }
            Sampled::I64 => {
                type $E = i64;
                let $x = sample::<i64>($rng, $n, &|x| x as i64, &[i64::MIN, i64::MAX]);
                $body
            }
        }
    };
}

const LENGTHS: [usize; 7] = [1, 2, 3, 8, 17, 70, 300];

#[test]
fn extrema_and_their_positions_are_those_of_the_kernels() {
    let isa = Isa::detect();
    each_type(&mut |rng, of| {
        for (len, inner, blocks) in LENGTHS.into_iter().flat_map(|n| [(n, 1, 1), (n, 1, 3), (n, 3, 2), (n, 9, 1)]) {
            for op in Reduce::all(0) {
                sampled!(of, rng, len * inner * blocks, |x: E| {
                    let (n, case) = (inner * blocks, format!("{op:?} of {blocks} x {len} x {inner}"));
                    let (mut wanted, mut positions) = (vec![E::ZERO; n], vec![0; n]);
                    reduce::extrema(isa, op, &x, (len, inner), &mut wanted);
                    reduce::positions(isa, op, &x, (len, inner), &mut positions);
                    let found = called(KernelOp::Extremum(op, len, inner), &[whole(&x)], (E::DTYPE, n));
                    same(&found, &wanted, &case);
                    let found = called(KernelOp::Position(op, len, inner), &[whole(&x)], (DType::I64, n));
                    same(&found, &positions, &case);
                });
            }
        }
    });
}

#[test]
fn prefix_operations_are_those_of_the_kernels() {
    let isa = Isa::detect();
    each_type(&mut |rng, of| {
        let sizes = LENGTHS.into_iter().flat_map(|n| [(n, 1, 1), (n, 1, 3), (n, 3, 2), (n, 9, 1)]);
        for (len, inner, blocks) in sizes.chain([(1500, 1, 1), (1031, 2, 1), (0, 1, 1), (4, 0, 1)]) {
            for (reverse, largest) in [(false, false), (false, true), (true, false), (true, true)] {
                sampled!(of, rng, len * inner * blocks, |x: E| {
                    let (n, line) = (x.len(), Line { len, inner, reverse });
                    let case = format!("{blocks} x {len} x {inner}, reverse {reverse}, largest {largest}");
                    let (mut wanted, mut positions) = (vec![E::ZERO; n], vec![0; n]);
                    prefix_extrema::prefix_extrema(isa, &x, line, largest, &mut wanted);
                    prefix_extrema::prefix_positions(isa, &x, line, largest, &mut positions);
                    let found = called(KernelOp::PrefixExtremum(line, largest), &[whole(&x)], (E::DTYPE, n));
                    same(&found, &wanted, &case);
                    let found = called(KernelOp::PrefixArg(line, largest), &[whole(&x)], (DType::I64, n));
                    same(&found, &positions, &case);
                    if largest {
                        scan::prefix_sums(isa, &x, line, &mut wanted);
                        let found = called(KernelOp::PrefixSum(line), &[whole(&x)], (E::DTYPE, n));
                        let is_nan = wanted.iter().any(|x| x.partial_cmp(x).is_none());
                        let bits = |x: &E| if x.partial_cmp(x).is_none() { u64::MAX } else { x.bits() };
                        let found = found.to_vec::<E>().unwrap();
                        assert!(found.iter().map(bits).eq(wanted.iter().map(bits)), "{case}, NaN {is_nan}");
                    }
                });
            }
        }
    });
}

/// Lists of indices of subarrays, some out of bounds.
fn lists(rng: &mut Rng, sizes: &[usize], count: usize, single: bool) -> Vec<Vec<i64>> {
    let hostile = [-1, i64::MIN, i64::MAX, 1 << 32, 1 << 61];
    let index = |rng: &mut Rng, n: usize| match rng.below(5) {
        0 => hostile[rng.below(hostile.len())],
        1 => n as i64,
        _ => rng.below(n.max(1)) as i64,
    };
    let list =
        |(k, n): (usize, &usize)| (0..if single && k == 0 { 1 } else { count }).map(|_| index(rng, *n)).collect();
    sizes.iter().enumerate().map(list).collect()
}

#[test]
fn gathers_and_scatters_are_those_of_the_kernels() {
    let isa = Isa::detect();
    each_type(&mut |rng, of| {
        for sizes in [&[4][..], &[1], &[4, 3], &[2, 1, 3], &[0], &[3, 0], &[]] {
            for (block, count, single) in
                [(1, 6, false), (1, 6, true), (3, 5, true), (7, 1, false), (0, 2, false), (2, 0, false)]
            {
                let subarrays = sizes.iter().product::<usize>();
                let ix = lists(rng, sizes, count, single);
                let slices: Vec<&[i64]> = ix.iter().map(|ix| &ix[..]).collect();
                let indices: Vec<_> = ix.iter().map(|ix| whole(ix)).collect();
                let case = format!("sizes {sizes:?}, {count} of {block} elements at {ix:?}");
                sampled!(of, rng, subarrays * block, |table: E| {
                    let mut wanted = vec![E::ONE; count * block];
                    indexing::gather(isa, &table, sizes, &slices, block, &mut wanted);
                    let operands: Vec<_> = [whole(&table)].into_iter().chain(indices.iter().cloned()).collect();
                    let op = KernelOp::Gather(sizes.to_vec(), block);
                    same(&called(op, &operands, (E::DTYPE, count * block)), &wanted, &case);
                    let v: Vec<E> = (0..count * block).map(|k| table.get(k).copied().unwrap_or(E::ONE)).collect();
                    for fresh in [false, true] {
                        let mut sums = vec![E::ZERO; subarrays * block];
                        let blocks = Blocks { indexed: sizes, ix: &slices };
                        let added = Additions { blocks, range: 0..count, block, elements: &v };
                        indexing::scatter_add(isa, Segment::whole(&mut sums), added);
                        let operands: Vec<_> = [whole(&v)].into_iter().chain(indices.iter().cloned()).collect();
                        let op = KernelOp::Scatter(sizes.to_vec(), block, fresh);
                        let found = called(op, &operands, (E::DTYPE, subarrays * block)).to_vec::<E>().unwrap();
                        let bits = |x: &E| if x.partial_cmp(x).is_none() { u64::MAX } else { x.bits() };
                        assert!(found.iter().map(bits).eq(sums.iter().map(bits)), "{case}: {found:?} is {sums:?}");
                    }
                });
            }
        }
    });
}

#[test]
fn subarrays_are_replaced_at_the_indices_within_bounds() {
    let wanted = |at: usize| (0..12).map(move |k| if k / 4 == at { 7.0 + f64::from(k as u8 % 4) } else { 0.0 });
    for (i, at) in [(0, 0), (2, 2), (3, 9), (-1, 9)] {
        let op = KernelOp::Update(vec![3], 4);
        let found = called(op, &[whole(&[7.0, 8.0, 9.0, 10.0]), whole(&[i64::from(i)])], (DType::F64, 12));
        same(&found, &wanted(at).collect::<Vec<f64>>(), &format!("subarray {i}"));
    }
}

#[test]
fn one_element_stands_for_all_of_an_operand() {
    let ix = whole(&[2i64, 0, 5, -1]);
    let one = |n: usize| (Array::from([1.5]), true, n);
    let found = called(KernelOp::Scatter(vec![3], 2, true), &[one(8), ix.clone()], (DType::F64, 6));
    same(&found, &[1.5, 1.5, 0.0, 0.0, 1.5, 1.5], "a scatter");
    let found = called(KernelOp::Gather(vec![3], 2), &[one(6), ix], (DType::F64, 8));
    same(&found, &[1.5, 1.5, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0], "a gather");
    let line = Line { len: 3, inner: 1, reverse: true };
    same(&called(KernelOp::PrefixSum(line), &[one(3)], (DType::F64, 3)), &[4.5, 3.0, 1.5], "prefix sums");
}
