//! What do views and sums cost, next to a copy?

use polygrad::ops::Linear;
use polygrad::{Array, BaseTensor};

use crate::harness::{Case, case, compare};

pub(crate) fn run() {
    let n = 1000;
    let x = Array::uniform(&[n, n], -1.0, 1.0, 3);
    let plain = x.to_vec::<f64>().unwrap();
    let shape = [n, n];
    let apply = |name: &str, op: Linear| {
        let x = x.clone();
        case(name.to_owned(), n * n, move || x.linear(&op))
    };
    let cases: Vec<Case<'_>> = vec![
        case("plain copy", n * n, || plain.clone()),
        apply("slice along the outer axis", Linear::slice(&shape, 0, 1, n - 1, 1)),
        apply("slice along the inner axis", Linear::slice(&shape, 1, 1, n - 1, 1)),
        apply("pad", Linear::pad(&shape, &[1, 1], &[1, 1])),
        apply("reverse", Linear::reverse(&shape, 1)),
        apply("every other element", Linear::slice(&shape, 1, 0, n / 2, 2)),
        case("plain transpose, blocked", n * n, || {
            let mut out = vec![0.0; n * n];
            for i in (0..n).step_by(8) {
                for j in (0..n).step_by(8) {
                    for a in i..i + 8 {
                        for b in j..j + 8 {
                            out[b * n + a] = plain[a * n + b];
                        }
                    }
                }
            }
            out
        }),
        apply("permute", Linear::permute(&shape, &[1, 0])),
        case("plain sum, one accumulator", n * n, || plain.iter().sum::<f64>()),
        apply("sum of all", Linear::sum(&shape, &[0, 1])),
        apply("sum over the inner axis", Linear::sum(&shape, &[1])),
        apply("sum over the outer axis", Linear::sum(&shape, &[0])),
    ];
    compare("views of a million f64", "element", cases);
}
