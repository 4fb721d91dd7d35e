// run
// input f64[2] -0.20715878280324507 0.9182758409347652
// input f64[3,2] 0.26983762907210557 0.12195404350177193 1.5540176686087332 -0.6777727596396438 0.08274589510763317 -0.5200586652550714
// result f64[2] -0.22265024921312923 -1.016732066547059
// result f64[] 0.028179220224525604
// run
// input f64[1] 1.4903082290762408
// input f64[6,1] -1.9518603992765322 -0.6701416954837595 -0.5291569660279176 0.66353962317159 0.606275476109527 1.3951942602387315
// result f64[1] 1.990008352192445
// result f64[] -0.3431664348009569
module @jit_sized_scan attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?xf64>, %arg1: tensor<?x?xf64>) -> (tensor<?xf64> {jax.result_info = "result[0]"}, tensor<f64> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %3 = stablehlo.convert %2 : (tensor<i32>) -> tensor<i64>
    %4 = stablehlo.get_dimension_size %arg1, dim = 1 : (tensor<?x?xf64>) -> tensor<i32>
    %5 = stablehlo.convert %4 : (tensor<i32>) -> tensor<i64>
    %6 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%6, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'm'. Using the following polymorphic shapes specifications: args[0].shape = (m,),args[1].shape = (n, m). Obtained dimension variables: 'm' = {0} from specification 'm' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
    %7 = stablehlo.compare GE, %3, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%7, %1, %3) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'n'. Using the following polymorphic shapes specifications: args[0].shape = (m,),args[1].shape = (n, m). Obtained dimension variables: 'm' = {0} from specification 'm' for dimension args[0].shape[0] (= {0}), 'n' = {1} from specification 'n' for dimension args[1].shape[0] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>) -> ()
    %8 = stablehlo.compare EQ, %5, %1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%8, %5, %1, %3) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[1].shape[1] (= {0}) and the specification 'm' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (m,),args[1].shape = (n, m). Obtained dimension variables: 'm' = {1} from specification 'm' for dimension args[0].shape[0] (= {1}), 'n' = {2} from specification 'n' for dimension args[1].shape[0] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>, tensor<i64>) -> ()
    %9:2 = call @_wrapped_jax_export_main(%1, %3, %arg0, %arg1) : (tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<?x?xf64>) -> (tensor<?xf64>, tensor<f64>)
    return %9#0, %9#1 : tensor<?xf64>, tensor<f64>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?xf64>, %arg3: tensor<?x?xf64>) -> (tensor<?xf64> {jax.result_info = "result[0]"}, tensor<f64> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.dynamic_broadcast_in_dim %cst, %1, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %3 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.dynamic_broadcast_in_dim %cst, %4, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %6:5 = stablehlo.while(%iterArg = %arg3, %iterArg_1 = %arg2, %iterArg_2 = %c_0, %iterArg_3 = %2, %iterArg_4 = %5) : tensor<?x?xf64>, tensor<?xf64>, tensor<i64>, tensor<?xf64>, tensor<?xf64>
    cond {
      %10 = stablehlo.compare LT, %iterArg_2, %arg1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = func.call @dynamic_index_in_dim(%arg0, %arg1, %iterArg, %iterArg_2) : (tensor<i64>, tensor<i64>, tensor<?x?xf64>, tensor<i64>) -> tensor<?xf64>
      %11:2 = func.call @closed_call(%arg0, %arg1, %iterArg_1, %iterArg_3, %10) : (tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>) -> (tensor<?xf64>, tensor<f64>)
      %12 = func.call @dynamic_update_index_in_dim(%arg0, %arg1, %iterArg_4, %11#1, %iterArg_2) : (tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<f64>, tensor<i64>) -> tensor<?xf64>
      %13 = stablehlo.add %iterArg_2, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_1, %13, %11#0, %12 : tensor<?x?xf64>, tensor<?xf64>, tensor<i64>, tensor<?xf64>, tensor<?xf64>
    }
    %7 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %8 = stablehlo.reduce(%6#4 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    %9 = stablehlo.divide %8, %7 : tensor<f64>
    return %6#3, %9 : tensor<?xf64>, tensor<f64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?x?xf64>, %arg3: tensor<i64>) -> tensor<?xf64> {
    %c = stablehlo.constant dense<0> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %c_1, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.concatenate %c, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.convert %arg3 : (tensor<i64>) -> tensor<i32>
    %5 = stablehlo.reshape %4 : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.convert %c_0 : (tensor<i64>) -> tensor<i32>
    %7 = stablehlo.reshape %6 : (tensor<i32>) -> tensor<1xi32>
    %8 = stablehlo.concatenate %5, %7, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %9 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %10 = stablehlo.reshape %9 : (tensor<i32>) -> tensor<1xi32>
    %11 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %12 = stablehlo.reshape %11 : (tensor<i32>) -> tensor<1xi32>
    %13 = stablehlo.concatenate %10, %12, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %14 = stablehlo.subtract %13, %2 : tensor<2xi32>
    %15 = stablehlo.clamp %3, %8, %14 : tensor<2xi32>
    %16 = stablehlo.add %15, %2 : tensor<2xi32>
    %17 = stablehlo.concatenate %c_1, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %18 = stablehlo.real_dynamic_slice %arg2, %15, %16, %17 : (tensor<?x?xf64>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x?xf64>
    %19 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %20 = stablehlo.reshape %19 : (tensor<i32>) -> tensor<1xi32>
    %21 = stablehlo.dynamic_reshape %18, %20 : (tensor<1x?xf64>, tensor<1xi32>) -> tensor<?xf64>
    return %21 : tensor<?xf64>
  }
  func.func private @closed_call(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?xf64>, %arg3: tensor<?xf64>, %arg4: tensor<?xf64>) -> (tensor<?xf64>, tensor<f64>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.multiply %arg2, %arg3 : tensor<?xf64>
    %1 = stablehlo.sine %0 : tensor<?xf64>
    %2 = stablehlo.add %1, %arg4 : tensor<?xf64>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    return %2, %3 : tensor<?xf64>, tensor<f64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?xf64>, %arg3: tensor<f64>, %arg4: tensor<i64>) -> tensor<?xf64> {
    %0 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %1 = stablehlo.dynamic_update_slice %arg2, %0, %arg4 : (tensor<?xf64>, tensor<1xf64>, tensor<i64>) -> tensor<?xf64>
    return %1 : tensor<?xf64>
  }
}
