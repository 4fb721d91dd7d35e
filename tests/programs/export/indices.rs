//! Gathers and scatters, exported: an index may count the positions of an axis of the indices, of an array that is
//! longer or shorter, twice along one axis, or as the only index.

use polygrad::array::Rng;
use polygrad::ops::{Discrete, Linear, View};
use polygrad::program::{Builder, Op, Program, Slot};
use polygrad::{Array, DType};

use super::views::{assert_exact, whole};

const PLACES: [usize; 2] = [2, 3];

/// A read or an addition at indices, each of which counts along an axis of the indices, or is an input.
fn program(shape: &[usize], counts: &[Option<usize>], adds: bool) -> Program {
    let mut b = Builder::literal();
    let slot = |shape: &[usize], dtype| Slot { name: String::new(), shape: shape.into(), dtype };
    let t = b.input(slot(shape, DType::F64));
    let rest: Vec<usize> = PLACES.iter().chain(&shape[counts.len()..]).copied().collect();
    let given: Vec<u32> = counts.iter().map(|_| b.input(slot(&PLACES, DType::I64))).collect();
    let v = b.input(slot(&rest, DType::F64));
    let mut index = Vec::new();
    for (counts, given) in counts.iter().zip(given) {
        index.push(match counts {
            None => given,
            Some(axis) => {
                let iota = b.apply(Op::Discrete(Discrete::Iota { n: PLACES[*axis] }, Default::default()));
                let view = Linear::affine(View::axes(&PLACES, &[*axis]), View::identity(&PLACES));
                b.apply(Op::Linear(Box::new(view), iota))
            }
        });
    }
    let result = b.apply(if adds { Op::ScatterAdd(t, index, v) } else { Op::Gather(t, index) });
    b.finish(&[result], &[])
}

#[test]
fn indices_that_count_positions() {
    let (mut rng, mut batched) = (Rng::new(31), 0);
    let counts = [None, Some(0), Some(1)];
    let one: Vec<Vec<Option<usize>>> = counts.iter().map(|x| vec![*x]).collect();
    let more = |all: &[Vec<Option<usize>>]| -> Vec<Vec<Option<usize>>> {
        all.iter().flat_map(|of| counts.map(|x| [&of[..], &[x]].concat())).collect()
    };
    let (two, three) = (more(&one), more(&more(&one)));
    let pairs = [[2, 3], [3, 2], [3, 3], [2, 2], [4, 1]].map(|shape| (shape.to_vec(), [&one[..], &two].concat()));
    for (shape, all) in pairs.into_iter().chain([(vec![3, 3, 2], three)]) {
        for counts in all {
            for adds in [false, true] {
                let program = program(&shape, &counts, adds);
                let inputs: Vec<Array> = program.inputs().iter().map(|s| whole(&mut rng, &s.shape, s.dtype)).collect();
                let text = assert_exact(&format!("indices_{shape:?}_{counts:?}_{adds}"), &program, &inputs);
                batched += usize::from(text.contains("batching_dims"));
            }
        }
    }
    assert!(batched > 10, "{batched}");
}
