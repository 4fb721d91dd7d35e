//! Programs for several devices: attributes of inputs and outputs, beside the lines of the program for one device. That the
//! numbers are the same is tested on plugins (`tests/pjrt`) and in JAX (`python/train_digits.py`).

use polygrad::export::{Exported, Mesh, Signature};
use polygrad::{Concrete, Function, Tensor, tensor};

fn exported() -> Exported {
    let (w, x) = (tensor([[0.5, -1.0], [2.0, 0.25]]), tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]));
    let loss = |w: &Tensor<_, 2>, x: &Tensor<_, 2>| x.matmul(w).tanh().square().sum();
    Function::value_and_grad_with(loss, &w, &x).exported("step").expect("a text")
}

#[test]
fn only_mesh_and_types_of_main_are_added() {
    let plain = exported();
    let mesh = Mesh::new(&[("batch", 2), ("model", 2)]);
    let sharded =
        plain.sharded(&mesh, &[("data", 0, "batch"), ("x", 1, "model"), ("data", 0, "model")]).expect("a text");
    let same = |line: &&str| !line.starts_with("module") && !line.contains("sdy.") && !line.contains("@main");
    let lines = |of: &Exported| of.text.lines().filter(same).map(String::from).collect::<Vec<_>>();
    assert_eq!(lines(&sharded), lines(&plain));
    let head: Vec<&str> = sharded.text.lines().filter(|line| !same(line)).collect();
    let needed = [
        "module @step attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {",
        r#"  sdy.mesh @mesh = <["batch"=2, "model"=2]>"#,
        concat!(
            r#"  func.func public @main(%0: tensor<2x2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, "#,
            r#"%1: tensor<4x2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"batch", "model"}, {}]>}) -> "#,
            r#"(tensor<f64> {sdy.sharding = #sdy.sharding<@mesh, []>}, "#,
            r#"tensor<2x2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {"#
        ),
    ];
    assert_eq!(head, needed);
    // Other shardings replace those that are there.
    let other = Mesh::new(&[("all", 2)]);
    let of = |from: &Exported| from.sharded(&other, &[("grad", 0, "all")]).expect("a text");
    assert_eq!(of(&sharded), of(&plain));
}

#[test]
fn a_signature_tells_mesh_and_shardings_as_json() {
    let plain = exported();
    let text = serde_json::to_string(&plain.signature).expect("json");
    assert!(!text.contains("mesh") && !text.contains("sharding"), "{text}");
    assert_eq!(serde_json::from_str::<Signature>(&text).expect("a signature"), plain.signature);
    let sharded = plain.sharded(&Mesh::new(&[("batch", 2)]), &[("data", 0, "batch")]).expect("a text");
    let text = serde_json::to_string(&sharded.signature).expect("json");
    assert!(text.contains(r#""mesh":[["batch",2]]"#), "{text}");
    assert!(text.contains(r#""path":"data","shape":[4,2],"dtype":"f64","sharding":[["batch"],[]]"#), "{text}");
    assert_eq!(serde_json::from_str::<Signature>(&text).expect("a signature"), sharded.signature);
}

/// A path names a leaf or all leaves below it, and no leaf whose name begins alike.
#[test]
fn a_path_names_what_is_below() {
    type Pair = (Tensor<Concrete, 1>, Tensor<Concrete, 1>);
    let pair: Pair = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    let f = Function::stage(|(a, b)| (a * b, a + b), &pair).exported("f").expect("a text");
    let mesh = Mesh::new(&[("d", 2)]);
    let of = |path: &str| -> Vec<usize> {
        let sharded = f.sharded(&mesh, &[(path, 0, "d")]).expect("a text").signature;
        let ports = sharded.inputs.iter().chain(&sharded.outputs).enumerate();
        ports.filter(|(_, port)| !port.sharding[0].is_empty()).map(|(k, _)| k).collect()
    };
    assert_eq!((of("x"), of("x.1"), of("y"), of("y.0")), (vec![0, 1], vec![1], vec![2, 3], vec![2]));
    for path in ["x.", "x.10", "", "z"] {
        assert!(f.sharded(&mesh, &[(path, 0, "d")]).is_err(), "{path:?}");
    }
}
