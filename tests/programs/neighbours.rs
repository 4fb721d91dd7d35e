//! Values that are read at other places than they are computed at: shifted, in another order, at an offset, beside
//! positions, changed in place.
//!
//! Law: programs give compiled what they give interpreted, up to the rounding of elementary functions and sums. Each of the
//! first programs sees one condition of the compiler, named above it, that no other program has been found to see; the
//! random ones draw what these have in common.

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::internals::compile_in_small_blocks;
use polygrad::ops::{Binary, Compare, Contract, Discrete, Linear, Reduce, Unary, View};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, DType};

use crate::support::random_view;

fn waves(shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    Array::new(shape, (0..n).map(|i| (i as f64 * 0.7).sin() * 2.0 + (i as f64 * 0.01).cos()).collect())
}

fn program(inputs: &[Array], f: impl FnOnce(&[Term]) -> Vec<Term>) -> Program {
    let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    Term::program(&variables, &f(&variables), &[]).expect("a closed program")
}

/// Asserts the law, and returns the plan that is usual.
#[track_caller]
fn assert_agrees(program: &Program, inputs: &[Array]) -> String {
    let expected = interpret(program, inputs.to_vec());
    let numbers = |a: &Array| a.cast::<f64>().to_vec::<f64>().expect("numbers");
    let executables = [compile(program), compile_in_small_blocks(program)];
    for executable in &executables {
        for (k, (a, b)) in expected.iter().zip(executable.run(inputs)).enumerate() {
            assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
            let (a, b) = (numbers(a), numbers(&b));
            let same =
                |x: &f64, y: &f64| x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-12 * x.abs().max(1.0);
            let wrong = a.iter().zip(&b).position(|(x, y)| !same(x, y));
            let at = wrong.map_or(0, |at| at);
            assert!(
                wrong.is_none(),
                "result {k} at {at}: {:e} and {:e}\n{program}\n{}",
                a[at],
                b[at],
                executable.explain()
            );
        }
    }
    executables[0].explain()
}

/// An array seen so many places further on, with zeros where there is nothing.
fn shifted(x: &Term, by: &[i64]) -> Term {
    let n = x.shape().len();
    let matrix: Vec<i64> = (0..n * n).map(|k| i64::from(k / n == k % n)).collect();
    x.linear(&Linear::read(View::affine(x.shape(), x.shape(), &matrix, by)))
}

/// The numbers of the positions of an array, as floats.
fn positions(shape: &[usize]) -> Term {
    let n: usize = shape.iter().product();
    let iota = Term::discrete(&Discrete::Iota { n }, &[]);
    let iota = iota.linear(&Linear::reshape(&[n], shape));
    Term::discrete(&Discrete::ToFloat(DType::F64), &[&iota])
}

/// `schedule.rs`: a place is changed after the steps that read it before.
#[test]
fn what_is_changed_in_place_is_read_before() {
    let x = [waves(&[4000]), waves(&[10])];
    let p = program(&x, |v| {
        let b = v[0].unary(Unary::Sin);
        let near = b.linear(&Linear::slice(&[4000], 0, 5, 10, 1)).unary(Unary::Cos);
        let further = shifted(&b, &[1]).unary(Unary::Exp);
        let put = v[1].unary(Unary::Exp).linear(&Linear::pad(&[10], &[7], &[3983]));
        vec![near, further, b.binary(Binary::Add, &put)]
    });
    assert_agrees(&p, &x);
}

/// `lower.rs`: a place to which a part of it is added is not changed while it is read.
#[test]
fn a_part_of_a_value_is_added_to_the_value() {
    // So many positions that a tile changes what a later one reads.
    let (n, part) = (40_000, 3000);
    let x = [waves(&[n])];
    let p = program(&x, |v| {
        let y = v[0].unary(Unary::Sin);
        let moved =
            y.linear(&Linear::slice(&[n], 0, 0, part, 1)).linear(&Linear::pad(&[part], &[700], &[n - part - 700]));
        vec![y.binary(Binary::Add, &moved)]
    });
    assert_agrees(&p, &x);
}

/// `turns.rs`: a view with an offset of what is in another order has its offset in that order.
#[test]
fn products_of_a_part_of_what_is_in_another_order() {
    let x = [waves(&[60, 50]), waves(&[40, 9])];
    for square in [false, true] {
        let [n, m] = if square { [50, 50] } else { [60, 50] };
        let x = [waves(&[n, m]), x[1].clone()];
        let p = program(&x, |v| {
            let e = v[0].linear(&Linear::permute(&[n, m], &[1, 0])).unary(Unary::Exp);
            let space = [m - 10, 9, 40];
            let part = View::affine(&[m, n], &space, &[1, 0, 0, 0, 0, 1], &[3, 2]);
            let product = Contract::new(part, View::axes(&space, &[2, 1]), View::axes(&space, &[0, 1]));
            vec![Term::contract(&product, &e, &v[1])]
        });
        assert_agrees(&p, &x);
    }
}

/// `sides.rs`: the sides of a stencil know their positions.
#[test]
fn stencils_beside_positions() {
    for shape in [[256, 256], [64, 70]] {
        let x = [waves(&shape)];
        let p = program(&x, |v| {
            let sum = shifted(&v[0], &[0, -1]).binary(Binary::Add, &shifted(&v[0], &[0, 1]));
            vec![sum.binary(Binary::Mul, &positions(&shape))]
        });
        assert_agrees(&p, &x);
        // Neighbours in rows beside neighbours in the flat array, which end elsewhere.
        let n = shape[0] * shape[1];
        let p = program(&x, |v| {
            let flat = shifted(&v[0].linear(&Linear::reshape(&shape, &[n])), &[1]);
            vec![shifted(&v[0], &[0, -1]).binary(Binary::Add, &flat.linear(&Linear::reshape(&[n], &shape)))]
        });
        assert_agrees(&p, &x);
    }
}

/// `turns.rs`: values in two other orders are not taken for values in one.
#[test]
fn two_other_orders_of_three_axes() {
    let orders = [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let x = [waves(&[9, 9, 9]), waves(&[9, 9, 9])];
    for (p, q) in orders.iter().flat_map(|p| orders.iter().map(move |q| (p, q))) {
        let p = program(&x, |v| {
            let turned = |x: &Term, by: &[usize]| x.linear(&Linear::permute(&[9, 9, 9], by));
            let (a, b) = (turned(&v[0], p).unary(Unary::Exp), turned(&v[1], q).unary(Unary::Sin));
            vec![a.binary(Binary::Sub, &b)]
        });
        assert_agrees(&p, &x);
    }
}

/// `still.rs`: trips are not copied while a carry changes, be it the first one; and each carry is compared.
#[test]
fn carries_that_move_while_a_mask_rests() {
    for moving in 0..3 {
        let x = [Array::scalar(0.7), Array::scalar(0.2), Array::scalar(-0.4), Array::scalar(false), waves(&[1])];
        let p = program(&x, |v| {
            let rows = v[4].linear(&Linear::replicate(&[40, 1], &[1])).linear(&Linear::reshape(&[40, 1], &[40]));
            let scale = Term::constant(0.9.into());
            let init = [&v[..=moving], &v[3..4], &v[moving + 1..3]].concat();
            let (carry, outputs) = Term::map_accum(40, false, init, &[rows], &mut |carry, rows| {
                let mask = carry.iter().find(|c| c.dtype() == DType::Bool).expect("a mask").clone();
                let floats: Vec<&Term> = carry.iter().filter(|c| c.dtype() != DType::Bool).collect();
                let mut next: Vec<Term> = Vec::new();
                for (k, x) in floats.iter().enumerate() {
                    let other = scale.binary(Binary::Mul, x).unary(Unary::Sin);
                    // One of the carries moves, the others do where the mask holds.
                    next.push(if k == moving { other } else { Term::select(&mask, &other, x) });
                }
                let shown = next[moving].binary(Binary::Mul, &rows[0]);
                // The mask never holds, but is carried.
                let below = Term::discrete(&Discrete::Compare(Compare::Lt), &[&next[moving], &rows[0]]);
                next.insert(moving + 1, Term::discrete(&Discrete::And, &[&mask, &below]));
                (next, vec![shown])
            });
            [carry, outputs].concat()
        });
        assert_agrees(&p, &x);
    }
}

/// `inward.rs`: what is the same in all rows is a copy along the first axis, and no other view of the same shape.
#[test]
fn rows_times_a_transposed_matrix() {
    for perm in [[0, 1], [1, 0]] {
        let x = [waves(&[50, 32, 32]), waves(&[32, 32]), waves(&[32, 32])];
        let p = program(&x, |v| {
            let view = View::affine(&[32, 32], &[50, 32, 32], &[0, 1, 0, 0, 0, 1], &[0, 0]);
            let turned = View::axes(&[50, 32, 32], &perm.map(|k| k + 1));
            let factor = v[1].linear(&Linear::read(if perm == [0, 1] { view } else { turned }));
            let rows = v[0].binary(Binary::Mul, &factor);
            Term::map_accum(50, false, vec![v[2].clone()], &[rows], &mut |carry, rows| {
                (vec![carry[0].unary(Unary::Sin).binary(Binary::Add, &rows[0])], Vec::new())
            })
            .0
        });
        assert_agrees(&p, &x);
    }
}

/// `walk`: a view that looks one element beyond its row does not stay in rows.
#[test]
fn rows_beside_what_is_read_one_further() {
    let x = [waves(&[64, 1024])];
    let n = 64 * 1024;
    for by in [1, -1] {
        let p = program(&x, |v| {
            let y = v[0].unary(Unary::Sin);
            let flat = shifted(&y.linear(&Linear::reshape(&[64, 1024], &[n])), &[by]);
            vec![y.reduce(Reduce::Max { axis: 1 }), flat.unary(Unary::Exp)]
        });
        assert_agrees(&p, &x);
    }
}

/// `blocks.rs`: what is read from a place on, as it lies there, is read in other rows than it is written.
#[test]
fn rows_beside_other_rows() {
    let x = [waves(&[128, 50])];
    for start in [0, 1, 32, 64] {
        let p = program(&x, |v| {
            let y = v[0].unary(Unary::Sin);
            let half = y.linear(&Linear::slice(&[128, 50], 0, start, 64, 1)).unary(Unary::Exp);
            vec![half.linear(&Linear::sum(&[64, 50], &[1])), half, y]
        });
        assert_agrees(&p, &x);
        let p = program(&x, |v| {
            let y = v[0].unary(Unary::Sin);
            let half = y.linear(&Linear::slice(&[128, 50], 0, start, 64, 1));
            vec![half.reduce(Reduce::Max { axis: 1 }), y]
        });
        assert_agrees(&p, &x);
    }
}

/// `blocks.rs`: a table is read in its own rows only if each position looks at an index.
#[test]
fn tables_that_are_read_at_their_positions_but_for_some() {
    let x = [waves(&[24, 6]), Array::new(&[24], (0..24).map(|i| (5 * i) % 6).collect::<Vec<i64>>())];
    for hole in [[0, 24], [0, 20], [5, 24]] {
        let p = program(&x, |v| {
            let iota = Term::discrete(&Discrete::Iota { n: 24 }, &[]);
            let seen = View::identity(&[24]).clipped(0, hole[0], hole[1]);
            let rows = iota.linear(&Linear::read(seen));
            vec![v[0].unary(Unary::Sin).gather(&[rows, v[1].clone()])]
        });
        assert_agrees(&p, &x);
    }
}

/// Random values of one square shape.
struct Values {
    n: usize,
    list: Vec<Term>,
}

impl Values {
    fn pick(&self, rng: &mut Rng) -> Term {
        // The newest are used most.
        let back = rng.below(self.list.len()).min(rng.below(self.list.len()));
        self.list[self.list.len() - 1 - back].clone()
    }

    /// Another value of the shape.
    fn next(&self, rng: &mut Rng) -> Term {
        let (n, x) = (self.n, self.pick(rng));
        let shape = [n, n];
        let offset = |rng: &mut Rng| rng.below(5) as i64 - 2;
        match rng.below(16) {
            0 => x.unary([Unary::Sin, Unary::Tanh, Unary::Cos][rng.below(3)]),
            1 => x.binary([Binary::Add, Binary::Mul, Binary::Max][rng.below(3)], &self.pick(rng)).unary(Unary::Tanh),
            2 => x.linear(&Linear::permute(&shape, &[1, 0])),
            3 => shifted(&x, &[offset(rng), offset(rng)]),
            // Flat neighbours, across the sides of rows.
            4 => {
                let flat = shifted(&x.linear(&Linear::reshape(&shape, &[n * n])), &[offset(rng)]);
                flat.linear(&Linear::reshape(&[n * n], &shape))
            }
            5 => x.binary(Binary::Mul, &positions(&shape)).unary(Unary::Sin),
            6 => {
                let axis = rng.below(2);
                let best = x.reduce(if rng.below(2) == 0 { Reduce::Max { axis } } else { Reduce::Min { axis } });
                x.binary(Binary::Sub, &best.linear(&Linear::replicate(&shape, &[rng.below(2)])))
            }
            7 => {
                let sums = x.linear(&Linear::sum(&shape, &[rng.below(2)]));
                sums.linear(&Linear::replicate(&shape, &[rng.below(2)])).unary(Unary::Tanh)
            }
            // A part of one value added to another, perhaps in place.
            8 | 9 => {
                let (size, row, column) = (1 + rng.below(n - 1), rng.below(3), rng.below(3));
                let size = size.min(n - 2);
                let part = x.linear(&Linear::slice(&shape, 0, 0, size, 1));
                let part = part.linear(&Linear::slice(&[size, n], 1, 1, size, 1)).unary(Unary::Cos);
                let part = part.linear(&Linear::pad(&[size; 2], &[row, column], &[n - size - row, n - size - column]));
                self.pick(rng).binary(Binary::Add, &part)
            }
            10 | 11 => {
                let space = [n, n, n - 2];
                let turned = |rng: &mut Rng, axes: [usize; 2]| {
                    let (i, j) = if rng.below(2) == 0 { (axes[0], axes[1]) } else { (axes[1], axes[0]) };
                    let row = |axis: usize| (0..3).map(move |k| i64::from(k == axis));
                    let matrix: Vec<i64> = row(i).chain(row(j)).collect();
                    View::affine(&shape, &space, &matrix, &[rng.below(3) as i64, rng.below(3) as i64])
                };
                let (a, b) = (turned(rng, [0, 2]), turned(rng, [2, 1]));
                let out = View::axes(&space, &[0, 1]);
                Term::contract(&Contract::new(a, b, out), &x, &self.pick(rng)).unary(Unary::Tanh)
            }
            12 => {
                let mask = Term::discrete(&Discrete::Compare(Compare::Lt), &[&x, &self.pick(rng)]);
                Term::select(&mask, &self.pick(rng), &shifted(&x, &[0, offset(rng)]))
            }
            // Some rows as they lie, elsewhere.
            13 | 14 => {
                let half = n / 2;
                let (from, to) = (rng.below(n - half + 1), rng.below(n - half + 1));
                let part = x.linear(&Linear::slice(&shape, 0, from, half, 1)).unary(Unary::Tanh);
                part.linear(&Linear::pad(&[half, n], &[to, 0], &[n - half - to, 0]))
            }
            _ => x.linear(&Linear::read(random_view(rng, &shape, &shape))),
        }
    }
}

#[test]
fn random_neighbours_agree() {
    let count = std::env::var("POLYGRAD_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(30);
    for seed in 0..count {
        let mut rng = Rng::new(seed);
        let n = [3, 5, 8, 12, 20][rng.below(5)];
        let x = [rng.uniform(&[n, n], -2.0, 2.0), rng.uniform(&[n, n], -2.0, 2.0)];
        let p = program(&x, |v| {
            let mut values = Values { n, list: v.to_vec() };
            for _ in 0..4 + rng.below(8) {
                values.list.push(values.next(&mut rng));
            }
            let shown = 1 + rng.below(4);
            (0..shown)
                .map(|k| if k == 0 { values.list.last().expect("a value").clone() } else { values.pick(&mut rng) })
                .collect()
        });
        assert_agrees(&p, &x);
    }
}
