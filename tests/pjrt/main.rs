//! Programs on a PJRT plugin: arrays there and back, runs whose results stay on the device, and every mistake as an error.
//!
//! A binary of its own, which needs a plugin: `make pjrt PLUGIN=..`. Laws: there and back is the identity, to the bit; inputs
//! outlive runs; what belongs together may be dropped in any order.

mod exported;
mod sharded;

use std::sync::LazyLock;

use polygrad::pjrt::{Buffer, Client, Error};
use polygrad::{Array, DType};

/// A new client of the plugin that is named.
fn new_client() -> Client {
    match Client::from_env() {
        Ok(client) => client,
        Err(e) => panic!("{e}; for example `make pjrt PLUGIN=/path/of/plugin.so`, see docs/export.md"),
    }
}

/// A client of the plugin that is named, which all tests share.
fn client() -> Client {
    static CLIENT: LazyLock<Client> = LazyLock::new(new_client);
    CLIENT.clone()
}

/// A module with one function, of inputs and results of these types.
fn text(inputs: &[&str], results: &str, body: &str) -> String {
    let inputs: Vec<String> = inputs.iter().enumerate().map(|(k, of)| format!("%a{k}: {of}")).collect();
    format!("module {{\n  func.func public @main({}) -> ({results}) {{\n{body}\n  }}\n}}", inputs.join(", "))
}

/// `(x + y, x * y)` on vectors of three numbers.
fn sum_and_product() -> String {
    let body = "    %s = stablehlo.add %a0, %a1 : tensor<3xf64>
    %p = stablehlo.multiply %a0, %a1 : tensor<3xf64>
    return %s, %p : tensor<3xf64>, tensor<3xf64>";
    text(&["tensor<3xf64>"; 2], "tensor<3xf64>, tensor<3xf64>", body)
}

fn message<R>(result: Result<R, Error>) -> String {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(e) => e.to_string(),
    }
}

/// Elements to the bit.
fn bits(a: &Array) -> Vec<u64> {
    match a.dtype() {
        DType::F64 => a.to_vec::<f64>().expect("floats").into_iter().map(f64::to_bits).collect(),
        DType::F32 => a.to_vec::<f32>().expect("floats").into_iter().map(|x| u64::from(x.to_bits())).collect(),
        DType::I64 => a.to_vec::<i64>().expect("integers").into_iter().map(|n| n as u64).collect(),
        DType::Bool => a.to_vec::<bool>().expect("masks").into_iter().map(u64::from).collect(),
    }
}

#[test]
fn a_client_tells_what_it_is() {
    let client = client();
    let (major, minor) = client.interface_version();
    let version = client.platform_version().expect("a version");
    println!("{} ({version}), interface {major}.{minor}, {:?}", client.platform(), client.devices());
    assert!(!client.platform().is_empty() && major == 0 && !client.devices().is_empty());
}

#[test]
fn there_and_back_is_the_identity() {
    let client = client();
    let hostile = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX];
    let arrays = [
        Array::scalar(2.5),
        Array::scalar(-1.5f32),
        Array::scalar(i64::MIN),
        Array::scalar(true),
        Array::from(hostile),
        Array::from(hostile.map(|x| x as f32)),
        Array::from([[1, -2, 3], [4, i64::MAX, 6]]),
        Array::from([[true, false], [false, true], [true, true]]),
        Array::new(&[2, 3, 4], (0..24).map(f64::from).collect()),
        Array::full(&[3, 2], 1.5f32),
        Array::zeros(&[0, 3], DType::F64),
        Array::zeros(&[2, 0], DType::Bool),
    ];
    for a in arrays {
        let there = client.upload(&a).expect("an upload");
        assert_eq!((there.shape(), there.dtype()), (a.shape(), a.dtype()));
        let back = there.to_array().expect("a download");
        assert_eq!((back.shape(), back.dtype(), bits(&back)), (a.shape(), a.dtype(), bits(&a)));
    }
}

#[test]
fn a_program_runs() {
    let program = client().compile(&sum_and_product()).expect("a program");
    assert_eq!(program.outputs(), 2);
    let results = program.run(&[Array::from([1.0, 2.0, 3.0]), Array::from([4.0, 5.0, 6.0])]).expect("a run");
    assert_eq!(results, [Array::from([5.0, 7.0, 9.0]), Array::from([4.0, 10.0, 18.0])]);
}

#[test]
fn axes_and_element_types_are_kept() {
    let body = "    %t = stablehlo.transpose %a0, dims = [1, 0] : (tensor<2x3xi64>) -> tensor<3x2xi64>
    %z = stablehlo.constant dense<3> : tensor<3x2xi64>
    %c = stablehlo.compare LT, %t, %z : (tensor<3x2xi64>, tensor<3x2xi64>) -> tensor<3x2xi1>
    %f = stablehlo.convert %t : (tensor<3x2xi64>) -> tensor<3x2xf32>
    return %t, %c, %f : tensor<3x2xi64>, tensor<3x2xi1>, tensor<3x2xf32>";
    let text = text(&["tensor<2x3xi64>"], "tensor<3x2xi64>, tensor<3x2xi1>, tensor<3x2xf32>", body);
    let results =
        client().compile(&text).expect("a program").run(&[Array::from([[1, 2, 3], [4, 5, 6]])]).expect("a run");
    assert_eq!(results[0], Array::from([[1, 4], [2, 5], [3, 6]]));
    assert_eq!(results[1], Array::from([[true, false], [true, false], [false, false]]));
    assert_eq!(results[2], Array::from([[1.0f32, 4.0], [2.0, 5.0], [3.0, 6.0]]));
}

#[test]
fn results_stay_on_the_device_and_inputs_outlive_runs() {
    let client = client();
    let program = client.compile(&sum_and_product()).expect("a program");
    let one = client.upload(&Array::from([1.0; 3])).expect("an upload");
    let mut x = client.upload(&Array::from([0.0, 1.0, 2.0])).expect("an upload");
    for _ in 0..1000 {
        x = program.execute(&[&x, &one]).expect("a run").remove(0);
    }
    x.wait().expect("the runs");
    assert_eq!(x.to_array().expect("a download"), Array::from([1000.0, 1001.0, 1002.0]));
    // One buffer as two inputs, twice.
    for _ in 0..2 {
        let square = program.execute(&[&x, &x]).expect("a run").remove(1);
        assert_eq!(square.to_array().expect("a download"), Array::from([1e6, 1001.0 * 1001.0, 1002.0 * 1002.0]));
    }
}

#[test]
fn inputs_are_not_given_up_even_if_the_program_offers_them() {
    let client = client();
    let text = "module {
  func.func public @main(%x: tensor<4xf64> {tf.aliasing_output = 0 : i32}) -> tensor<4xf64> {
    %y = stablehlo.add %x, %x : tensor<4xf64>
    return %y : tensor<4xf64>
  }
}";
    let (program, a) = (client.compile(text).expect("a program"), Array::from([1.0, 2.0, 3.0, 4.0]));
    let x = client.upload(&a).expect("an upload");
    for _ in 0..2 {
        let y = program.execute(&[&x]).expect("a run").remove(0);
        assert_eq!(y.to_array().expect("a download"), Array::from([2.0, 4.0, 6.0, 8.0]));
        assert_eq!(x.to_array().expect("a download"), a);
    }
}

#[test]
fn what_belongs_together_may_be_dropped_in_any_order() {
    let (program, x) = {
        let client = client();
        (
            client.compile(&sum_and_product()).expect("a program"),
            client.upload(&Array::from([1.0, 2.0, 3.0])).expect("an upload"),
        )
    };
    let results = program.execute(&[&x, &x]).expect("a run");
    drop((x, program));
    assert_eq!(results[0].to_array().expect("a download"), Array::from([2.0, 4.0, 6.0]));
}

#[test]
fn threads_share_a_program() {
    let client = client();
    let program = client.compile(&sum_and_product()).expect("a program");
    let run = |k: f64| program.run(&[Array::from([k; 3]), Array::from([2.0; 3])]).expect("a run").remove(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|k| scope.spawn(move || run(f64::from(k)))).collect();
        for (k, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().expect("no panic"), Array::from([2.0 * k as f64; 3]));
        }
    });
}

#[test]
fn a_program_runs_on_the_device_it_is_for() {
    let client = client();
    let last = client.devices().len() - 1;
    let program = client.compile_for(&sum_and_product(), last).expect("a program");
    assert_eq!(program.device(), last);
    let x = Array::from([1.0, 2.0, 3.0]);
    assert_eq!(program.run(&[x.clone(), x.clone()]).expect("a run")[0], Array::from([2.0, 4.0, 6.0]));
    let missing = last + 1;
    for error in [message(client.compile_for(&sum_and_product(), missing)), message(client.upload_to(&x, missing))] {
        assert!(error.starts_with("pjrt: the number of a device must be less than"), "{error}");
    }
}

#[test]
fn buffers_of_another_device_are_refused() {
    let client = client();
    if client.devices().len() < 2 {
        return println!("the plugin has one device: nothing to refuse");
    }
    let program = client.compile(&sum_and_product()).expect("a program");
    let x = client.upload_to(&Array::from([1.0, 2.0, 3.0]), 1).expect("an upload");
    let error = message(program.execute(&[&x, &x]));
    let needed =
        "pjrt: argument 0 must be whole on 1 device from number 0 on, but it is whole on 1 device from number 1 on; ";
    assert!(error.starts_with(needed), "{error}");
}

#[test]
fn arguments_that_do_not_fit_are_refused_in_words() {
    let (client, other) = (client(), new_client());
    let program = client.compile(&sum_and_product()).expect("a program");
    let upload = |a: Array| client.upload(&a).expect("an upload");
    let (three, two, floats) =
        (upload(Array::from([1.0; 3])), upload(Array::from([1.0; 2])), upload(Array::from([1.0f32; 3])));
    let refused = |arguments: &[&Buffer]| message(program.execute(arguments));
    assert_eq!(refused(&[&three]), "pjrt: the program takes 2 arguments, but 1 were given; give one for each input");
    assert_eq!(
        refused(&[&three, &two]),
        "pjrt: argument 1 must be tensor<3xf64>, but it is tensor<2xf64>; export the program for arguments of this kind"
    );
    assert_eq!(
        refused(&[&floats, &three]),
        "pjrt: argument 0 must be tensor<3xf64>, but it is tensor<3xf32>; export the program for arguments of this kind"
    );
    let foreign = other.upload(&Array::from([1.0; 3])).expect("an upload");
    assert_eq!(
        refused(&[&three, &foreign]),
        "pjrt: argument 1 must be a buffer of the client of the program, but it belongs to another one; upload it again"
    );
    // The program is as good as before.
    assert_eq!(
        program.execute(&[&three, &three]).expect("a run")[0].to_array().expect("a download"),
        Array::from([2.0; 3])
    );
}

#[test]
fn a_text_that_is_no_program_gives_the_message_of_the_compiler() {
    let client = client();
    for wrong in ["", "nothing", &sum_and_product().replace("stablehlo.add", "stablehlo.sum")] {
        let error = message(client.compile(wrong));
        assert!(error.starts_with("PJRT_Client_Compile: ") && error.len() > 30, "{error}");
    }
    // Nothing is read beyond the end of the text.
    let error = message(client.compile(&"nothing and more"[..7]));
    assert!(error.contains("'nothing'"), "{error}");
}

#[test]
fn results_of_unknown_element_types_are_refused() {
    let body = "    %r = stablehlo.convert %a0 : (tensor<2xf64>) -> tensor<2xi32>\n    return %r : tensor<2xi32>";
    let program = client().compile(&text(&["tensor<2xf64>"], "tensor<2xi32>", body)).expect("a program");
    let error = message(program.run(&[Array::from([1.0, 2.0])]));
    assert!(error.contains("result 0 has those of type 4 of the interface"), "{error}");
}
