//! Any text gives a module or an error: with a place, without a panic, and in bounded stack.
//!
//! More mutations: `IMPORT_MUTATIONS=20000 cargo test -p polygrad-tests --test import hostile`.

use polygrad::array::Rng;
use polygrad::import::Module;
use polygrad::{Shapes, Tensor};

use crate::golden::goldens;

/// The error of a text.
fn refused(text: &str) -> polygrad::import::ImportError {
    match Module::parse(text) {
        Ok(_) => panic!("it is read: {}", &text[..text.len().min(200)]),
        Err(error) => error,
    }
}

#[test]
fn errors_have_a_place() {
    for (text, line, column, word) in [
        ("", 1, 1, "function"),
        ("func.func @main(%x: tensor<2xf32>) {\n  return %y : tensor<2xf32>\n}", 2, 10, "not defined"),
        ("func.func @main(%x: tensor<2xq8>) {\n}", 1, 30, "element type"),
        ("func.func @main(%x: tensor<9999999999x9999999999xf32>) {\n}", 1, 28, "no array"),
        ("func.func @main() {\n  %c = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>\n}", 2, 33, "do not fit"),
        ("func.func @main() {\n  %c = stablehlo.constant dense<\"0x01\"> : tensor<2xi32>\n}", 2, 33, "do not fit"),
        ("func.func @main() {\n  %c = call @other() : () -> tensor<f32>\n}", 2, 3, "does not exist"),
        ("func.func @main() {\n  %c = call @main() : () -> tensor<f32>\n}", 1, 1, "circle"),
        ("func.func @f() {\n}\nfunc.func @f() {\n}", 3, 1, "second"),
        ("func.func @main() {\n  %c = stablehlo.slice %c [0:1] : tensor<2xi32>\n}", 2, 24, "not defined"),
        ("module {", 1, 9, "`}`"),
        ("func.func @main() {\n  %c = \"stablehlo.add\"( ", 2, 25, "value"),
    ] {
        let error = refused(text);
        assert!(error.what.contains(word), "{error}: {text}");
        assert_eq!((error.line, error.column), (line, column), "{error}: {text}");
        assert!(error.to_string().contains(&format!(", but line {line}, column {column}")), "{error}");
    }
}

#[test]
fn operations_without_a_meaning_are_named() {
    let text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.OP %x : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}";
    for name in ["collective_permute", "infeed", "custom_call @mine(%x)", "quantize"] {
        let text = text.replace("OP %x", &if name.contains('@') { name.to_owned() } else { format!("{name} %x") });
        let module = Module::parse(&text).expect("a module");
        let error =
            module.try_call(&[Tensor::<Shapes, 1, f32>::zeros([2]).into_raw()]).map(drop).expect_err("an error");
        let word = name.split([' ', '@']).next().unwrap_or_default();
        assert_eq!((error.line, &error.operation[..]), (2, word), "{error}");
    }
    let wrong = text
        .replace("OP", "sine")
        .replace("%0 = stablehlo.sine %x : tensor<2xf32>", "%0 = stablehlo.sine %x : tensor<3xf32>");
    let error = Module::parse(&wrong).expect("a module").try_call(&[Tensor::<Shapes, 1, f32>::zeros([2]).into_raw()]);
    assert!(error.map(drop).expect_err("an error").what.contains("must be tensor<3xf32>"));
}

#[test]
fn mutations_of_texts_do_not_panic() {
    let count = std::env::var("IMPORT_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    let texts: Vec<String> = goldens().into_iter().map(|golden| golden.text).filter(|text| text.len() < 9000).collect();
    let mut rng = Rng::new(11);
    let (mut read, mut seen) = (0, 0);
    for k in 0..count {
        let mut bytes = texts[k % texts.len()].clone().into_bytes();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len());
            match rng.below(5) {
                0 => bytes[at] = b" %#@(){}[]<>:,=x\"-0129"[rng.below(22)],
                1 => drop(bytes.drain(at..(at + 1 + rng.below(20)).min(bytes.len()))),
                2 => {
                    let part = bytes[at..(at + rng.below(60)).min(bytes.len())].to_vec();
                    let to = rng.below(bytes.len());
                    bytes.splice(to..to, part);
                }
                3 => bytes[at] = bytes[at].wrapping_add(1),
                _ => bytes.truncate(at + 1),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        seen += 1;
        if let Ok(module) = Module::parse(&text) {
            // What is read runs, or is refused with a place: at shapes alone, since numbers may ask for long loops.
            read += 1;
            let _ = module.program();
        }
    }
    assert!(seen > count / 2 && read > count / 40, "{read} of {seen}");
}

#[test]
fn depth_costs_no_stack() {
    for open in ["[", "{", "(", "<", "tuple<", "\"stablehlo.case\"(%x) ({ "] {
        let text = format!(
            "func.func @main(%x: tensor<i32>) {{\n %c = \"stablehlo.case\"(%x) <{{a = {}",
            open.repeat(100_000)
        );
        refused(&text);
        refused(&format!("func.func @main(%x: {}", open.repeat(100_000)));
        refused(&format!("#loc = loc{}", open.repeat(100_000)));
    }
    // Functions that call one another, one after the other.
    let mut chain = String::from(
        "func.func @main() -> tensor<f32> {\n %c = call @f0() : () -> tensor<f32>\n return %c : tensor<f32>\n}\n",
    );
    for k in 0..2000 {
        chain += &format!(
            "func.func @f{k}() -> tensor<f32> {{\n %c = call @f{}() : () -> tensor<f32>\n return %c : tensor<f32>\n}}\n",
            k + 1
        );
    }
    chain += "func.func @f2000() -> tensor<f32> {\n %c = stablehlo.constant dense<1.0> : tensor<f32>\n return %c : tensor<f32>\n}\n";
    assert!(refused(&chain).what.contains("deep"));
    // Those that are read run, in the stack of a test.
    let nested = |n: usize, calls: usize| {
        let mut text = String::from("func.func @main(%x: tensor<f32>, %m: tensor<i1>) -> tensor<f32> {\n");
        text += &"%r = \"stablehlo.if\"(%m) ({\n".repeat(n);
        text += "%r = call @f0(%x) : (tensor<f32>) -> tensor<f32>\n";
        text += &"stablehlo.return %r : tensor<f32>\n}, {\nstablehlo.return %x : tensor<f32>\n}) : (tensor<i1>) -> tensor<f32>\n".repeat(n);
        text += "return %r : tensor<f32>\n}\n";
        for k in 0..calls {
            text += &format!(
                "func.func @f{k}(%x: tensor<f32>) -> tensor<f32> {{\n %c = call @f{}(%x) : (tensor<f32>) -> tensor<f32>\n return %c : tensor<f32>\n}}\n",
                k + 1
            );
        }
        text + &format!("func.func @f{calls}(%x: tensor<f32>) -> tensor<f32> {{\n return %x : tensor<f32>\n}}\n")
    };
    for (n, calls) in [(0, 60), (30, 30), (47, 10)] {
        Module::parse(&nested(n, calls)).expect("a module").program().expect("a program");
    }
    assert!(refused(&nested(60, 1)).what.contains("deep"));
    // Each function calls the next one twice.
    let twice: String = (0..60)
        .map(|k| {
            format!("func.func @f{k}() {{\n call @f{0}() : () -> ()\n call @f{0}() : () -> ()\n return\n}}\n", k + 1)
        })
        .collect();
    assert!(refused(&(twice + "func.func @f60() {\n return\n}\n")).what.contains("operations"));
    // A long text is read.
    let long = |n: usize| {
        let lines: String =
            (0..n).map(|k| format!("  %{} = stablehlo.add %{k}, %{k} : tensor<f32>\n", k + 1)).collect();
        format!("func.func @main(%0: tensor<f32>) -> tensor<f32> {{\n{lines}  return %{n} : tensor<f32>\n}}")
    };
    Module::parse(&long(20_000)).expect("a module");
}
