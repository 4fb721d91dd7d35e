//! The text of a few small programs, without places in the source, as recorded in `golden.txt`; `UPDATE_EXPECT=1` writes
//! that file anew.

use std::fs;

use polygrad::array::Array;
use polygrad::{Function, Tensor, concat, fold, tensor, while_loop_within};

use crate::root::root;

type Vector<T> = Tensor<T, 1>;

/// Texts by name.
pub(super) fn texts() -> Vec<(&'static str, String)> {
    let x = tensor([1.0, 2.0, 3.0]);
    let m = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let image: Tensor<Array, 1> = Tensor::linspace(0.0, 1.0, 8);
    let indices: Tensor<Array, 1, i64> = tensor([0, 2, 5]);
    let text = |found: Result<String, polygrad::export::Unsupported>| found.expect("it is exported");
    vec![
        ("wave", text(Function::stage(|x: &Vector<_>| (x.sin() * 2.0).sum(), &x).to_stablehlo("wave"))),
        (
            "layer",
            text(
                Function::value_and_grad_with(|m: &Tensor<_, 2>, x: &Vector<_>| m.matvec(x).tanh().sum(), &m, &x)
                    .to_stablehlo("layer"),
            ),
        ),
        (
            "recurrence",
            text(
                Function::stage(|x: &Vector<_>| fold(Tensor::scalar(0.5), x, |h, x: &Tensor<_, 0>| (h * x).sin()), &x)
                    .to_stablehlo("recurrence"),
            ),
        ),
        (
            "halving",
            text(
                Function::stage(
                    |x: &Tensor<_, 0>| while_loop_within(50, x.clone(), |x| x.gt(1.0), |x| x * 0.5),
                    &tensor(9.0),
                )
                .to_stablehlo("halving"),
            ),
        ),
        (
            "blur",
            text(
                Function::grad_with(
                    |k: &Vector<_>, x: &Vector<_>| x.pad([(1, 1)]).window::<2>(0, 3, 1).matvec(k).square().sum(),
                    &x,
                    &image,
                )
                .to_stablehlo("blur"),
            ),
        ),
        (
            "reads",
            text(
                Function::stage_with(|x: &Vector<_>, ix: &Tensor<_, 1, i64>| concat(0, [&x.take(ix), x]), &x, &indices)
                    .to_stablehlo("reads"),
            ),
        ),
    ]
}

/// The text without places in the source.
pub(super) fn placeless(text: &str) -> String {
    text.lines().flat_map(|line| [line.split(" loc(").next().unwrap_or(line), "\n"]).collect()
}

#[test]
fn texts_are_as_recorded() {
    let path = root().join("tests/programs/export/golden.txt");
    let text = texts().iter().map(|(_, text)| placeless(text)).collect::<Vec<String>>().join("\n");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.lines().zip(recorded.lines()) {
        assert_eq!(now, then, "the text has changed: if it should, set UPDATE_EXPECT=1 and read the difference");
    }
    assert_eq!(text.len(), recorded.len(), "text has come or gone: set UPDATE_EXPECT=1 and read the difference");
}
