//! Texts that are no module, operations that are refused, and arguments that do not fit.

use polygrad::import::{ImportError, Module};
use polygrad::{Array, DType, FlatFunction, Function, Shapes, Tensor, tensor};

use crate::log::Log;

/// A function of arguments of several types, with these lines.
fn around(lines: &str) -> String {
    let arguments = "%x: tensor<2xf32>, %y: tensor<3xf32>, %i: tensor<i32>, %n: tensor<2xi32>, %m: tensor<2x2xf64>, \
                     %k: tensor<2xi1>, %z: tensor<2xcomplex<f32>>, %s: tensor<f32>";
    format!("func.func @main({arguments}) -> () {{\n  {lines}\n  return\n}}")
}

/// What reading a text gives.
fn text(text: &str) -> Result<(), ImportError> {
    Module::parse(text).map(drop)
}

/// What running these lines gives.
fn run(lines: &str) -> Result<(), ImportError> {
    let zeros = |shape: &[usize], dtype| Shapes::new(shape, dtype);
    let [f, d, n, b] = [DType::F32, DType::F64, DType::I64, DType::Bool];
    let x = [(&[2][..], f), (&[3], f), (&[], n), (&[2], n), (&[2, 2], d), (&[2], b), (&[2], f), (&[2], f), (&[], f)];
    let args: Vec<Shapes> = x.into_iter().map(|(shape, dtype)| zeros(shape, dtype)).collect();
    Module::parse(&around(lines))?.try_call(&args).map(drop)
}

/// Mistakes of texts.
fn texts(log: &mut Log) {
    // The grammar.
    log.fails(text(""));
    log.fails(text("module {"));
    log.fails(text("module { module {"));
    log.fails(text("sdy.mesh @m = <[]>"));
    log.fails(text("\"builtin.module\"() ({}) : () -> ()"));
    log.fails(text("other @f"));
    log.fails(text("#a = [1, 2]"));
    log.fails(text("func.func @f(tensor<f32>)"));
    log.fails(text("func.func @f() {\n}\nfunc.func @f() {\n}"));
    log.fails(text("func.func @f() {\n  call @g() : () -> ()\n  return\n}"));
    log.fails(text("func.func @f() {\n  call @f() : () -> ()\n  return\n}"));
    log.fails(text("func.func @f() {\n^bb:\n}"));
    log.fails(text("func.func @f() {\n  return\n  return\n}"));
    log.fails(text("func.func @f(%x: 3) {\n}"));
    log.fails(text("func.func @f(%x: tensor<2xq8>) {\n}"));
    log.fails(text("func.func @f(%x: tensor<99999999999x99999999999xf32>) {\n}"));
    log.fails(text(&format!("func.func @f(%x: tensor<{}f32>) {{\n}}", "1x".repeat(400))));
    log.fails(text(&format!("func.func @f(%x: {}", "tuple<".repeat(1000))));
    log.fails(text("func.func @f(%x: tensor<2xf32> {a = \"unfinished"));
    log.fails(text("func.func @f(%x: tensor<2xf32> {a = \"\\?\"}) {\n}"));
    log.fails(text("func.func @f(%x: tensor<2xf32> loc(callsite(\"a\") {\n}"));
    log.fails(text(&around("return %q : tensor<f32>")));
    log.fails(text(&around("%0:2 = stablehlo.sine %x : tensor<2xf32>")));
    log.fails(text(&around("%0 = \"stablehlo.add\"(3) : (tensor<f32>) -> tensor<f32>")));
    log.fails(text(&around("%0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>")));
    log.fails(text(&around("%0 = stablehlo.constant dense<\"0x0\"> : tensor<2xi8>")));
    log.fails(text(&around("%0 = stablehlo.constant dense<?> : tensor<2xi8>")));
    log.fails(text(&around("%0 = stablehlo.constant dense<1> : tensor<?xi8>")));
    log.fails(text(&around("%0 = stablehlo.constant dense_resource<a> : tensor<2xi8>")));
    log.fails(text(&around("%0 = stablehlo.slice %x [0:z] : (tensor<2xf32>) -> tensor<2xf32>")));
    log.fails(text(&around("%0 = stablehlo.reduce(%x init: 3)")));
    log.fails(text(&around(&"\"stablehlo.case\"(%i) ({\n".repeat(60))));
}

/// Operations that are not valid. A case is one line, which the record shows.
#[rustfmt::skip]
fn operations(log: &mut Log) {
    log.fails(run("%0 = stablehlo.infeed %x : tensor<2xf32>"));
    log.fails(run("%0 = stablehlo.sine %x : tensor<3xf32>"));
    log.fails(run("%0 = stablehlo.add %x, %y : tensor<2xf32>"));
    log.fails(run("%0 = stablehlo.select %x, %x, %x : tensor<2xf32>"));
    log.fails(run("%0 = stablehlo.compare LT, %z, %z : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>"));
    log.fails(run("%0 = stablehlo.bitcast_convert %z : (tensor<2xcomplex<f32>>) -> tensor<2xi32>"));
    log.fails(run("%0 = stablehlo.bitcast_convert %y : (tensor<3xf32>) -> tensor<i64>"));
    log.fails(run("%0 = stablehlo.reduce_precision %m, format = e5m2 : tensor<2x2xf64>"));
    log.fails(run("%0 = stablehlo.slice %x [0:3] : (tensor<2xf32>) -> tensor<3xf32>"));
    log.fails(run("%0 = stablehlo.reshape %x : (tensor<2xf32>) -> tensor<3xf32>"));
    log.fails(run("%0 = stablehlo.transpose %m, dims = [0, 0] : (tensor<2x2xf64>) -> tensor<2x2xf64>"));
    log.fails(run("%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<3xf32>"));
    log.fails(run("%0 = stablehlo.concatenate %x, %i, dim = 0 : (tensor<2xf32>, tensor<i32>) -> tensor<3xf32>"));
    log.fails(run("%0 = stablehlo.pad %x, %x, low = [0], high = [0], interior = [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"));
    log.fails(run("%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<3xf32>) -> tensor<f32>"));
    log.fails(run("%0 = stablehlo.dynamic_slice %x, %s, sizes = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>"));
    log.fails(run("%0 = stablehlo.cholesky %x, lower = true : tensor<2xf32>"));
    log.fails(run("%0 = stablehlo.custom_call @mine(%x) : (tensor<2xf32>) -> tensor<2xf32>"));
    log.fails(run("%0 = stablehlo.custom_call @lapack_dorgqr_ffi(%m, %x) : (tensor<2x2xf64>, tensor<2xf32>) -> tensor<2x2xf64>"));
    log.fails(run("%0, %t = stablehlo.rng_bit_generator %n, algorithm = PHILOX : (tensor<2xi32>) -> (tensor<2xi32>, tensor<4xi32>)"));
    log.fails(run("%0 = stablehlo.fft %x, type = FFT, length = [2] : (tensor<2xf32>) -> tensor<2xcomplex<f32>>"));
    log.fails(run("%0 = stablehlo.get_tuple_element %x[0] : (tensor<2xf32>) -> tensor<2xf32>"));
    log.fails(run("%0 = \"stablehlo.if\"(%k) ({\n}, {\n}) : (tensor<2xi1>) -> tensor<f32>"));
    log.fails(run("%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<i32>) -> tensor<f32>"));
    log.fails(run("%0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>"));
    log.fails(run("%0:2 = chlo.top_k(%x, k = 3) : tensor<2xf32> -> (tensor<3xf32>, tensor<3xi32>)"));
    log.fails(run("%c = stablehlo.compare GE, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  stablehlo.custom_call @shape_assertion(%c) : (tensor<i1>) -> ()"));
    log.fails(run("%c = stablehlo.constant dense<false> : tensor<i1>\n  stablehlo.custom_call @shape_assertion(%c) {error_message = \"n must be 3\"} : (tensor<i1>) -> ()"));
    log.fails(run("%0 = stablehlo.while(%a = %i) : tensor<i32> cond {\n  stablehlo.return %a : tensor<i32>\n} do {\n  stablehlo.return %a : tensor<i32>\n}"));
    log.fails(run("%0 = stablehlo.sine %x : tensor<2xf32> loc(\"f.py\":3:4)\n  %1 = stablehlo.sine %0 : tensor<f32> loc(\"f.py\":4:4)"));
}

/// All mistakes of the import.
pub(crate) fn imports(log: &mut Log) {
    texts(log);
    operations(log);
    let f = "func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {\n  return %x : tensor<2xf64>\n}";
    let module = Module::parse(f).expect("a module");
    log.fails(module.try_call::<Array>(&[]));
    log.fails(module.try_call(&[Array::from([1.0, 2.0]), Array::scalar(1.0)]));
    log.fails(module.try_call(&[Array::from([1.0, 2.0, 3.0])]));
    log.fails(module.try_call(&[Array::from([1, 2])]));
    let x = tensor([1.0, 2.0]);
    log.panics(|| module.call(&[Array::from([1, 2])]));
    log.panics(|| module.apply::<_, _, 0, f64>(&x));
    log.fails(Function::<Tensor<Array, 1>, (), Tensor<Array, 0>>::imported(&module, &x).map(drop));
    let open = Module::parse(&f.replace("<2x", "<?x")).expect("a module");
    log.fails(open.program());
    let none = Module::parse("func.func @main() -> () {\n  return\n}").expect("a module");
    log.panics(|| none.apply::<Array, (), 0, f64>(&()));
    log.fails(FlatFunction::imported(&none).map(drop));
    let (z, both) = (f.replace("f64", "complex<f64>"), "both parts");
    let z = Module::parse(&z).expect(both);
    log.fails(z.try_call(&[Array::from([1.0, 2.0]), Array::from([1.0])]));
}
