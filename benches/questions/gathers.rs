//! What do reads and writes at positions that are data cost, next to loops in Rust?

use polygrad::{Array, BaseTensor, Concrete, Function, Tensor};

use crate::harness::{Case, case, compare};

const ROWS: usize = 2000;
const WIDTH: usize = 16;
const READS: usize = 20_000;

/// The squares of rows of a table, at positions that are data.
fn embedding<T: BaseTensor>(table: &Tensor<T, 2>, at: &Tensor<T, 1, i64>) -> Tensor<T, 0> {
    table.take(at).square().sum()
}

fn in_rust(table: &[f64], at: &[i64], out: &mut [f64]) -> f64 {
    out.fill(0.0);
    let mut sum = 0.0;
    for i in at {
        let row = *i as usize * WIDTH;
        for (x, out) in table[row..row + WIDTH].iter().zip(&mut out[row..row + WIDTH]) {
            sum += x * x;
            *out += 2.0 * x;
        }
    }
    sum
}

/// Rows added up at the rows of a result that are data.
fn sums<T: BaseTensor, const ROWS: usize>(x: &Tensor<T, 2>, at: &Tensor<T, 1, i64>) -> Tensor<T, 2> {
    x.segment_sum(at, ROWS)
}

/// Sums to `ROWS` rows of `width` elements, at `count` random indices, and at the same indices in order.
fn scattered<const ROWS: usize>(count: usize, width: usize) -> Vec<Case<'static>> {
    let x: Tensor<Concrete, 2> = Tensor::constant(Array::uniform(&[count, width], -1.0, 1.0, 1));
    let random = Array::uniform(&[count], 0.0, ROWS as f64, 2).to_vec::<f64>().expect("floats");
    let mut at: Vec<i64> = random.iter().map(|i| *i as i64).collect();
    let mut cases = Vec::new();
    for order in ["random", "sorted"] {
        let (x, ix) = (x.clone(), Tensor::constant(Array::from(at.clone())));
        let add = Function::stage_with(sums::<_, ROWS>, &x, &ix);
        let name = format!("{count} of {width}, {order}, to {ROWS} rows");
        cases.push(case(name, count, move || add.run_with(&x, &ix)));
        at.sort_unstable();
    }
    cases
}

/// What does a scatter-add take for each row: to a small result, to a large one, and to rows of a page?
pub(crate) fn scatters() {
    let cases = [
        scattered::<10_000>(1_000_000, 1),
        scattered::<4_000_000>(1_000_000, 1),
        scattered::<1000>(100_000, 64),
        scattered::<100_000>(100_000, 64),
        scattered::<1000>(10_000, 512),
    ];
    compare("scatters: rows added at computed indices", "row", cases.into_iter().flatten().collect());
}

pub(crate) fn run() {
    let table: Tensor<Concrete, 2> = Tensor::constant(Array::uniform(&[ROWS, WIDTH], -1.0, 1.0, 1));
    let positions: Vec<i64> = (0..READS as i64).map(|k| k * 7919 % ROWS as i64).collect();
    let plain = table.raw().to_vec::<f64>().expect("floats");
    let at: Tensor<_, 1, i64> = Tensor::constant(Array::from(positions.clone()));
    let mut out = vec![0.0; plain.len()];
    let value = Function::stage_with(embedding, &table, &at);
    let both = Function::value_and_grad_with(embedding, &table, &at);
    compare(
        "gathers: 20000 rows of 16 of a table of 2000",
        "element",
        vec![
            case("value and gradient by hand in Rust", READS * WIDTH, || in_rust(&plain, &positions, &mut out)),
            case("value", READS * WIDTH, || value.run_with(&table, &at)),
            case("value and gradient", READS * WIDTH, || both.run_with(&table, &at)),
        ],
    );
}
