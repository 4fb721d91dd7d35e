use crate::array::{Array, Rng};
use crate::backend::ir::step::{KernelOp, Ranks};
use crate::backend::trees::kernels::tests::called;
use crate::dtype::{DType, Num};
use crate::kernels::sorting::{self, Lines, Room};

/// Compares some ranks of lines of `len` elements.
fn agree<E: Num>(of: impl Fn(f64) -> E, special: &[E]) {
    let mut rng = Rng::new(7);
    for len in [0, 1, 2, 3, 16, 31, 32, 33, 48, 49, 64, 65, 100, 129, 333] {
        for (inner, blocks, descending) in [(1, 1, false), (1, 2, true), (3, 1, true), (2, 2, false)] {
            let n = len * inner * blocks;
            let few = rng.below(2) == 0;
            let number = |rng: &mut Rng| match rng.below(4) {
                0 => special[rng.below(special.len())],
                _ if few => of(rng.below(5) as f64 - 2.0),
                _ => of((rng.below(2001) as f64 - 1000.0) * 37.5),
            };
            let x: Vec<E> = (0..n).map(|_| number(&mut rng)).collect();
            let lines = Lines { len, inner, descending };
            let mut some = vec![vec![0..len], vec![0..len.min(1)], vec![]];
            if len > 4 {
                some.push(vec![1..3, len - 1..len]);
            }
            for ranks in some {
                let mut wanted = vec![0; n];
                sorting::argsort(&x, lines, &ranks, &mut wanted, &mut Room::default());
                let operand = (Array::new(&[n], x.clone()), false, n);
                let op = KernelOp::ArgSort(lines, ranks.iter().cloned().collect::<Ranks>());
                let found = called(op, &[operand], (DType::I64, n));
                assert_eq!(found.to_vec::<i64>().unwrap(), wanted, "{lines:?}, {ranks:?}, {blocks} blocks");
            }
        }
    }
}

#[test]
fn positions_are_those_of_the_kernel() {
    let special = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324];
    agree(|x| x, &special);
    agree(|x| x as f32, &special.map(|x| x as f32));
    agree(|x| x as i64, &[i64::MIN, i64::MAX, 0, -1]);
}

#[test]
fn sorted_lines_stay() {
    for (n, descending) in [(32, false), (200, false), (200, true)] {
        let x: Vec<i64> = (0..n).map(|k| if descending { -k } else { k } / 3).collect();
        let op = KernelOp::ArgSort(
            Lines { len: x.len(), inner: 1, descending },
            Ranks::from_iter(std::iter::once(0..x.len())),
        );
        let found = called(op, &[(Array::new(&[x.len()], x.clone()), false, x.len())], (DType::I64, x.len()));
        assert_eq!(found.to_vec::<i64>().unwrap(), (0..n).collect::<Vec<i64>>());
    }
}
