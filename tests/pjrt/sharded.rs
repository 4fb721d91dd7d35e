//! Programs on several devices of a plugin. Law: results are those of one device up to rounding, however inputs and
//! outputs are divided.
//!
//! Needs a plugin with four devices, as those for CPUs have; otherwise a sentence says that nothing was run.

use polygrad::array::Rng;
use polygrad::export::Mesh;
use polygrad::pjrt::{Client, Executable};
use polygrad::{Array, Concrete, Function, Tensor, Tree};

use super::{client, message};

type Params = (Tensor<Concrete, 2>, Tensor<Concrete, 1>);
type Batch = (Tensor<Concrete, 2>, Tensor<Concrete, 2>);

/// Value and gradient of a layer, and its predictions.
fn step() -> (Function<Params, Batch, (Tensor<Concrete, 0>, Params)>, Params, Batch) {
    let mut rng = Rng::new(3);
    let mut draw = |shape: [usize; 2]| Tensor::<Concrete, 2>::constant(rng.uniform(&shape[..], -1.0, 1.0));
    let (w, x, y) = (draw([6, 4]), draw([16, 6]), draw([16, 4]));
    let params = (w, Tensor::constant(Array::from([0.1, -0.2, 0.3, 0.0])));
    let batch = (x, y);
    let step = Function::value_and_grad_with(
        |(w, b), (x, y)| {
            let z = x.matmul(w);
            ((&z + b.up_to(&z)).tanh() - y).square().mean()
        },
        &params,
        &batch,
    );
    (step, params, batch)
}

/// A client with this number of devices, or a sentence that says that there is none.
fn client_of(devices: usize) -> Option<Client> {
    let client = client();
    if client.devices().len() < devices {
        println!("the plugin has {} devices, and {devices} are needed: nothing was run", client.devices().len());
        return None;
    }
    Some(client)
}

fn agree(found: &[Array], needed: &[Array]) {
    assert_eq!(found.len(), needed.len());
    for (found, needed) in found.iter().zip(needed) {
        assert_eq!(found.shape(), needed.shape());
        let (found, needed) = (found.to_vec::<f64>().expect("floats"), needed.to_vec::<f64>().expect("floats"));
        assert!(found.iter().zip(&needed).all(|(a, b)| (a - b).abs() <= 1e-14), "{found:?} and {needed:?}");
    }
}

fn compiled(client: &Client, mesh: &[(&str, usize)], shards: &[(&str, usize, &str)]) -> Executable {
    let exported = step().0.exported("step").expect("a text").sharded(&Mesh::new(mesh), shards).expect("shardings");
    client.compile(&exported.text).unwrap_or_else(|e| panic!("{e}\n{}", exported.text))
}

#[test]
fn every_division_gives_the_numbers_of_one_device() {
    let Some(client) = client_of(4) else { return };
    let (step, params, batch) = step();
    let needed = step.run_with(&params, &batch).expect("a run").leaves();
    let arguments = [params.leaves(), batch.leaves()].concat();
    let meshes: [(&[(&str, usize)], &[(&str, usize, &str)]); 7] = [
        (&[("one", 1)], &[]),
        (&[("batch", 4)], &[]),
        (&[("batch", 4)], &[("data", 0, "batch")]),
        (&[("batch", 2), ("model", 2)], &[("data", 0, "batch"), ("x.0", 1, "model"), ("x.1", 0, "model")]),
        (&[("batch", 2), ("model", 2)], &[("data", 0, "model"), ("data", 0, "batch"), ("grad.0", 1, "batch")]),
        (&[("a", 2), ("b", 2)], &[("x.0", 0, "a"), ("x.0", 1, "b"), ("grad", 0, "b")]),
        (&[("a", 1), ("b", 2)], &[("data.0", 1, "b"), ("data.0", 0, "a")]),
    ];
    for (mesh, shards) in meshes {
        let program = compiled(&client, mesh, shards);
        assert_eq!(program.devices(), mesh.iter().map(|(_, n)| n).product::<usize>());
        agree(&program.run(&arguments).expect("a run"), &needed);
    }
    // Two devices that are not the first.
    let exported = step.exported("step").expect("a text");
    let text = exported.sharded(&Mesh::new(&[("batch", 2)]), &[("data", 0, "batch")]).expect("shardings").text;
    let program = client.compile_for(&text, 2).expect("a program");
    assert_eq!((program.device(), program.devices()), (2, 2));
    agree(&program.run(&arguments).expect("a run"), &needed);
}

#[test]
fn a_gradient_of_a_divided_batch_is_one_all_reduce() {
    let Some(client) = client_of(4) else { return };
    let of = |shards: &[(&str, usize, &str)]| {
        let program = compiled(&client, &[("batch", 4)], shards);
        let operations = program.operations().expect("operations");
        assert!(!operations.is_empty());
        let collective = |(name, count): (String, usize)| {
            (name.starts_with("all-") || name.starts_with("collective") || name.starts_with("reduce-scatter"))
                .then_some((name, count))
        };
        operations.into_iter().filter_map(collective).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), []);
    assert_eq!(of(&[("data", 0, "batch")]), [("all-reduce".to_owned(), 1)]);
}

#[test]
fn buffers_stay_divided_between_runs() {
    let Some(client) = client_of(4) else { return };
    let double = Function::stage(|x: &Tensor<_, 2>| x * 2.0, &Tensor::<Concrete, 2>::zeros([8, 3]));
    let exported = double.exported("double").expect("a text");
    let mesh = Mesh::new(&[("rows", 4)]);
    let program =
        client.compile(&exported.sharded(&mesh, &[("x", 0, "rows"), ("y", 0, "rows")]).expect("shardings").text);
    let program = program.expect("a program");
    let array = Array::new(&[8, 3], (0..24).map(f64::from).collect());
    let mut x = program.upload(0, &array).expect("an upload");
    assert_eq!(x.shape(), [8, 3]);
    for _ in 0..50 {
        x = program.execute(&[&x]).expect("a run").remove(0);
    }
    let needed: Vec<f64> = (0..24).map(|k| f64::from(k) * 2f64.powi(50)).collect();
    assert_eq!(x.to_array().expect("a download"), Array::new(&[8, 3], needed));
}

#[test]
fn what_is_divided_otherwise_is_refused_in_words() {
    let Some(client) = client_of(4) else { return };
    let program = compiled(&client, &[("batch", 4)], &[("data", 0, "batch")]);
    let (_, params, batch) = step();
    let leaves = [params.leaves(), batch.leaves()].concat();
    let mut buffers: Vec<_> =
        leaves.iter().enumerate().map(|(k, a)| program.upload(k, a).expect("an upload")).collect();
    buffers[2] = client.upload(&leaves[2]).expect("an upload");
    assert_eq!(
        message(program.execute(&buffers.iter().collect::<Vec<_>>())),
        "pjrt: argument 2 must be [4, 1] parts on 4 devices from number 0 on, but it is whole on 1 device from number 0 on; \
         `Executable::upload` divides arrays as the program needs them"
    );
    assert_eq!(
        message(program.upload(9, &leaves[0])),
        "pjrt: the number of an input must be less than 4, but it is 9; count them from 0"
    );
    let all = client.devices().len();
    let exported = step().0.exported("step").expect("a text");
    let large = exported.sharded(&Mesh::new(&[("batch", all + 1)]), &[]).expect("shardings");
    assert_eq!(
        message(client.compile(&large.text)),
        format!(
            "pjrt: the client must have the {} devices of the mesh from number 0 on, but it has {all}; take a smaller mesh, or a \
             client with more devices",
            all + 1
        )
    );
}
