//! Ragged arrays: rows of different lengths, as data.
//!
//! Law: each operation is that of the rows one by one, as host loops compute it; derivatives are those of the host loops,
//! in all modes, recorded or not; in a batch, each member has its lengths.

use polygrad::array::Rng;
use polygrad::program::Term;
use polygrad::tensor::Ragged;
use polygrad::{BaseTensor, Concrete, DType, Tensor, direct, grad, hvp, jvp, tensor, vmap};

type Lengths<T> = Tensor<T, 1, i64>;

/// `sin(x[i] (j + 1)) x[i + j]`.
fn element<T: BaseTensor>(x: &Tensor<T, 1>, i: &Tensor<T, 0, i64>, j: &Tensor<T, 0, i64>) -> Tensor<T, 0> {
    (x.at([i]) * (j + 1).to_float()).sin() * x.at([i + j])
}

/// The sum over rows of the square of their sums, and of what the largest elements of rows say.
fn loss<T: BaseTensor>(total: usize, x: &Tensor<T, 1>, lengths: &Lengths<T>) -> Tensor<T, 0> {
    let rows: Ragged<T, 1> = Ragged::build(lengths, total, |i, j| element(x, i, j));
    let sums = rows.sum_rows();
    let share = rows.map(|i, y| y * x.at([i])).sum_rows();
    let largest = lengths.gt(0).select(rows.max_rows(), 0.0);
    let square: Tensor<T, 2> = rows.padded(2);
    sums.square().sum()
        + (share * largest).sum()
        + square.square().sum()
        + rows.at(&Tensor::scalar(1), &Tensor::scalar(0))
}

/// The same by host loops.
fn by_hand<T: BaseTensor>(x: &Tensor<T, 1>, lengths: &[i64]) -> Tensor<T, 0> {
    let index = |k: i64| Tensor::<T, 0, i64>::scalar(k);
    let mut total = Tensor::scalar(0.0);
    for (i, n) in lengths.iter().enumerate() {
        let i = i as i64;
        let row: Vec<Tensor<T, 0>> = (0..(*n).max(0)).map(|j| element(x, &index(i), &index(j))).collect();
        let sum = row.iter().fold(Tensor::scalar(0.0), |sum, y| sum + y);
        let share = row.iter().fold(Tensor::scalar(0.0), |sum, y| sum + y * x.at([i]));
        let largest = row.iter().cloned().reduce(|a, b| a.max(b)).unwrap_or_else(|| Tensor::scalar(0.0));
        let cut = row.iter().take(2).fold(Tensor::scalar(0.0), |sum, y| sum + y.square());
        total = total + sum.square() + share * largest + cut;
        if let (1, Some(first)) = (i, row.first()) {
            total += first;
        }
    }
    total
}

fn near(a: &[f64], b: &[f64], what: &str) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-11 * x.abs().max(1.0), "{what}: {x} and {y}");
    }
}

const LENGTHS: [&[i64]; 6] = [&[1, 2, 3], &[0, 4, 0, 1], &[0, 0], &[3], &[2, -1, 2], &[0, 3, 0]];

#[test]
fn values_and_derivatives_are_those_of_rows() {
    for (seed, lengths) in LENGTHS.into_iter().enumerate() {
        let total = lengths.iter().map(|n| (*n).max(0)).sum::<i64>() as usize;
        let mut rng = Rng::new(seed as u64);
        let (x, v) = (rng.normal([4], 0.0, 1.0), rng.normal([4], 0.0, 1.0));
        let of = tensor(lengths.to_vec());
        // Behind the last row there are elements that belong to none.
        for total in [total, total + 2] {
            let what = format!("{lengths:?} in {total}");
            let f = |x: &Tensor<_, 1>| loss(total, x, &Tensor::constant(&of));
            let (y, g) = direct::value_and_grad(|x| by_hand(x, lengths), &x);
            let (found, slopes) = direct::value_and_grad(|x| loss(total, x, &Tensor::constant(&of)), &x);
            near(&[found.item()], &[y.item()], &what);
            near(&slopes.to_vec(), &g.to_vec(), &what);
            near(&grad(f, &x).to_vec(), &g.to_vec(), &what);
            let slope = g.dot(&v).item();
            near(&[jvp(|x| loss(total, x, &Tensor::constant(&of)), &x, &v).1.item()], &[slope], &what);
            let along = direct::grad(|x| (direct::grad(|x| by_hand(x, lengths), x) * Tensor::constant(&v)).sum(), &x);
            near(&hvp(|x| loss(total, x, &Tensor::constant(&of)), &x, &v).to_vec(), &along.to_vec(), &what);
        }
    }
}

/// Lengths that are computed, and differ within a batch.
#[test]
fn each_member_of_a_batch_has_its_lengths() {
    let x = tensor([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4], [0.5, 0.5, 0.5]]);
    let lengths = tensor([[1, 2, 0], [0, 0, 3], [1, 1, 1]]);
    let both = (x.clone(), lengths.clone());
    let batched = vmap(|(x, lengths): &(Tensor<_, 1>, Lengths<_>)| loss(3, x, lengths))(&both);
    let whole = |x: &Tensor<_, 2>| {
        let lengths = Tensor::constant(&lengths);
        let each: Tensor<_, 1> = vmap(|(x, n): &(Tensor<_, 1>, Lengths<_>)| loss(3, x, n))((x, &lengths));
        each.sum()
    };
    let gradients = grad(whole, &x);
    for k in 0..3 {
        let (x, n): (Tensor<Concrete, 1>, Vec<i64>) = (x.at([k]), lengths.at::<_, 1, 1>([k]).to_vec());
        near(&[batched.at([k]).item()], &[by_hand(&x, &n).item()], "a member");
        near(&gradients.at::<_, 1, 1>([k]).to_vec(), &direct::grad(|x| by_hand(x, &n), &x).to_vec(), "its gradient");
    }
}

/// Elements of vectors; more lengths than elements; no elements.
#[test]
fn edges() {
    let rows: Ragged<Concrete, 2> =
        Ragged::build(&tensor([2, 1]), 3, |i, j| polygrad::stack([i.to_float(), j.to_float::<f64>()]));
    assert_eq!(rows.sum_rows(), tensor([[0.0, 1.0], [1.0, 0.0]]));
    assert_eq!(rows.spread(&rows.sum_rows()).values(), &tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]));
    let cut: Ragged<Concrete, 1> = Ragged::build(&tensor([2, 3]), 3, |i, j| (i * 10 + j).to_float());
    assert_eq!((cut.values(), cut.sum_rows()), (&tensor([0.0, 1.0, 10.0]), tensor([1.0, 10.0])));
    let none: Ragged<Concrete, 1> = Ragged::build(&tensor([0, 0]), 0, |i, j| (i + j).to_float());
    assert_eq!(none.sum_rows(), tensor([0.0, 0.0]));
    let no_rows: Ragged<Concrete, 1> = Ragged::build(&Tensor::zeros([0]), 2, |_, _| Tensor::scalar(1.0));
    assert_eq!((no_rows.values(), no_rows.sum_rows().shape()), (&tensor([0.0, 0.0]), [0]));
}

/// In a recorded program there is no loop: elements are computed in bulk.
#[test]
fn a_build_is_recorded_in_bulk() {
    let inputs = [Term::variable(&[3], DType::F64), Term::variable(&[3], DType::I64)];
    let [x, n] = inputs.clone();
    let (x, n) = (Tensor::<Term, 1>::from_raw(x), Lengths::<Term>::from_raw(n));
    let rows: Ragged<Term, 1> = Ragged::build(&n, 6, |i, j| x.at([i]) * j.to_float());
    let y = rows.sum_rows();
    let program = Term::program(&inputs, &[y.into_raw()], &["x", "n"].map(String::from)).expect("a closed program");
    let text = polygrad::passes::optimize(&program).to_string();
    assert!(program.to_string().contains("loop"), "{program}");
    assert!(!text.contains("loop"), "{text}");
}
