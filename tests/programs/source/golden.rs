//! The text of a few small programs in both languages, as recorded in `golden.txt`; `UPDATE_EXPECT=1` writes that file
//! anew.

use std::fmt::Write as _;
use std::fs;

use polygrad::emission::Source;
use polygrad::{Array, BaseTensor, Function, Tensor, Tree, fold, tensor, while_loop_within};

use crate::root::root;

/// The pose of a planar arm, and its Jacobian.
#[derive(Clone, Debug, PartialEq, Tree)]
struct Planar<T: BaseTensor> {
    pose: Tensor<T, 1>,
    jacobian: Tensor<T, 2>,
}

/// Sources by name.
fn sources() -> Vec<(&'static str, [Source; 2])> {
    let x = tensor([1.0, 2.0, 3.0]);
    let m: Tensor<Array, 2> = Tensor::full([40, 60], 0.1);
    let wide: Tensor<Array, 1> = Tensor::linspace(0.0, 1.0, 60);
    let all = |rust: Result<Source, _>, c: Result<Source, _>| -> [Source; 2] {
        let found: [Result<Source, polygrad::emission::EmissionError>; 2] = [rust, c];
        found.map(|source| source.expect("it is written"))
    };
    let arm = Function::stage(
        |q: &Tensor<_, 1>| {
            let pose = |q: &Tensor<_, 1>| {
                let (a, b) = (q.at([0]), q.at([0]) + q.at([1]));
                polygrad::stack(&[a.cos() + b.cos(), a.sin() + b.sin()])
            };
            Planar { pose: pose(q), jacobian: polygrad::jacobian(pose, q) }
        },
        &tensor([0.3, 0.4]),
    );
    let layer = Function::value_and_grad_with(|m: &Tensor<_, 2>, x: &Tensor<_, 1>| m.matvec(x).tanh().sum(), &m, &wide);
    let recurrence =
        Function::grad(|x: &Tensor<_, 1>| fold(Tensor::scalar(0.5), x, |h, x: &Tensor<_, 0>| (h * x).sin()), &x);
    let halving =
        Function::stage(|x: &Tensor<_, 0>| while_loop_within(50, x.clone(), |x| x.gt(1.0), |x| x * 0.5), &tensor(9.0));
    let blur = Function::stage_with(
        |x: &Tensor<_, 1>, ix: &Tensor<_, 1, i64>| {
            let p = x.pad([(1, 1)]);
            let sums = p.slice(0, 0..60) + p.slice(0, 2..62) - 2.0 * x;
            sums.take(ix)
        },
        &wide,
        &tensor([0, 5, 99]),
    );
    vec![
        ("arm", all(arm.to_rust("arm"), arm.to_c("arm"))),
        ("layer", all(layer.to_rust("layer"), layer.to_c("layer"))),
        ("recurrence", all(recurrence.to_rust("recurrence"), recurrence.to_c("recurrence"))),
        ("halving", all(halving.to_rust("halving"), halving.to_c("halving"))),
        ("blur", all(blur.to_rust("blur"), blur.to_c("blur"))),
    ]
}

#[test]
fn texts_are_as_recorded() {
    let mut text = String::new();
    for (name, [rust, c]) in sources() {
        // The elementary functions in C are tested with the module that has them.
        let own = c.code.split_once(&format!("void {name}(")).expect("the function").1;
        let _ = writeln!(
            text,
            "== {name} in Rust: scratch {}, stack {}, {:?}\n{}",
            rust.scratch_bytes, rust.stack_bytes, rust.dependencies, rust.code
        );
        let _ = writeln!(text, "== {name} in C\n{}\nvoid {name}({own}", c.header);
    }
    let path = root().join("tests/programs/source/golden.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.split("== ").zip(recorded.split("== ")) {
        assert_eq!(now, then, "source code differs: if it should, run `make bless` and read the difference");
    }
    assert_eq!(text.len(), recorded.len(), "programs have come or gone: run `make bless` and read the difference");
}
