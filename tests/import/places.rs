//! Places: operations of an imported program have the lines of the program that was exported, or else those of the text.

use polygrad::import::Module;
use polygrad::inspect::first_nan;
use polygrad::{Array, Function, Tensor, tensor};

use crate::golden::goldens;

const F: &str = r##"
#loc2 = loc("x")
module @jit_f {
  func.func public @main(%arg0: tensor<2xf64> loc("x")) -> (tensor<2xf64>) {
    %0 = stablehlo.sine %arg0 : tensor<2xf64> loc(#loc5)
    %1 = stablehlo.log %0 : tensor<2xf64> loc("f.py":4:8 to 5:9)
    %2 = stablehlo.sqrt %1 : tensor<2xf64> loc(fused<"a">[#loc2, "name"("f.py":6:1 to :3)])
    %3 = stablehlo.exponential %2 : tensor<2xf64> loc("add")
    %4 = stablehlo.tanh %3 : tensor<2xf64>
    return %4 : tensor<2xf64> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("f.py":3:8 to :12)
#loc4 = loc("<module>"("f.py":9:0))
#loc5 = loc(callsite(#loc6 at #loc4))
#loc6 = loc("f"(#loc3))
"##;

#[test]
fn operations_have_the_lines_of_the_program_that_was_exported() {
    let module = Module::parse(F).expect("a module");
    let text = module.program().expect("a program").to_stablehlo("f").expect("a text");
    let lines = [
        ("sine", "loc(\"f.py\":3:8)"),
        ("log", "loc(\"f.py\":4:8)"),
        ("sqrt", "loc(\"f.py\":6:1)"),
        // Without a line of a file: that of the text.
        ("exponential", "loc(\"@jit_f\":8:5)"),
        ("tanh", "loc(\"@jit_f\":9:5)"),
    ];
    for (op, place) in lines {
        let line = text.lines().find(|line| line.contains(&format!("stablehlo.{op} "))).expect("an operation");
        assert!(line.ends_with(place), "{line}: {place}");
    }
    // What was exported with places is imported with them.
    let again = Module::parse(&text).expect("a module").program().expect("a program").to_stablehlo("f");
    // The first line names the inputs.
    assert_eq!(again.expect("a text").split_once('\n').expect("lines").1, text.split_once('\n').expect("lines").1);
}

/// Derivatives name the operation that they belong to, at its line.
#[test]
fn derivatives_and_reports_name_the_lines() {
    let module = Module::parse(F).expect("a module");
    let x = tensor([1.0, 2.0]);
    let f = |x: &Tensor<_, 1>| module.apply::<_, _, 1, f64>(x).sum();
    let text = Function::grad(f, &x).to_stablehlo("slope").expect("a text");
    let cosine = text.lines().find(|line| line.contains("stablehlo.cosine")).expect("an operation");
    assert!(cosine.ends_with("loc(\"f.py\":3:8)"), "{cosine}");
    // The logarithm of a negative number.
    let found = first_nan(|x: &Tensor<_, 1>| module.apply::<_, _, 1, f64>(x).sum(), &tensor([1.0, 4.0]));
    let words = found.expect("a NaN").to_string();
    assert!(words.contains("f.py:4:8"), "{words}");
}

/// A loop of JAX, and its body in a function: all lines are those of the user's file.
#[test]
fn loops_of_jax_have_its_lines() {
    let golden = goldens().into_iter().find(|golden| golden.name == "fori").expect("a golden");
    let module = Module::parse(&golden.text).expect("a module");
    let text = module.program().expect("a program").to_stablehlo("fori").expect("a text");
    assert!(golden.text.contains("loc(\"export_goldens.py\":163:44 to :49)"));
    let product = text.lines().find(|line| line.contains("stablehlo.multiply")).expect("a product");
    assert!(product.contains("loc(\"export_goldens.py\":163:44)"), "{text}");
}

#[test]
fn errors_name_the_line_of_the_program() {
    let text = F.replace("stablehlo.sqrt", "chlo.bessel_i1e");
    let error = Module::parse(&text).expect("a module").try_call(&[Array::from([1.0, 2.0])]).expect_err("an error");
    let place = error.place.clone().expect("a place");
    assert_eq!((&place.file[..], place.line, error.line), ("f.py", 6, 7));
    assert!(error.to_string().contains("of f.py:6:1"), "{error}");
}

/// Names of locations that lead back to themselves, or through many others.
#[test]
fn names_of_locations_lead_somewhere_or_nowhere() {
    let head = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  %0 = stablehlo.sine %x : tensor<f64> loc(#a0)\n  return %0 : tensor<f64>\n}\n";
    let at = |rest: &str| {
        let module = Module::parse(&format!("{head}{rest}")).expect("a module");
        let text = module.program().expect("a program").to_stablehlo("f").expect("a text");
        let line = text.lines().find(|line| line.contains("stablehlo.sine")).expect("an operation");
        line.split_once(" loc(").expect("a place").1.to_owned()
    };
    let of_text = "\"@module\":2:3)";
    assert_eq!(at(""), of_text);
    assert_eq!(at("#a0 = loc(#a1)\n#a1 = loc(callsite(#a0 at #a1))"), of_text);
    assert_eq!(at("#a0 = loc(callsite(#a1 at \"g.py\":7:2))\n#a1 = loc(#a0)"), "\"g.py\":7:2)");
    let chain: String = (0..20_000).map(|k| format!("#a{k} = loc(callsite(#a{0} at #a{0}))\n", k + 1)).collect();
    assert_eq!(at(&(chain + "#a20000 = loc(\"end.py\":1:2)")), "\"end.py\":1:2)");
    // More parts than are looked at.
    assert_eq!(at(&format!("#a0 = loc(fused[{}\"g.py\":7:2])", "unknown, ".repeat(1000))), of_text);
}
