// input f32[4] -0.3349027931690216 0.49871569871902466 -0.890060305595398 -0.36171403527259827
// input i64[4] -40 -1 7 300
// result f32[4] -0.368408203125 0.54833984375 -0.97900390625 -0.39794921875
// result f32[4] -0.033203125 0.796875 -0.58984375 -0.060546875
// result i64[4] -24 -7 49 52
// result i64[4] 4294967247 4294967286 4294967294 291
// result i64[4] -14 -1 2 100
// result i64[4] 2 2 1 0
module @jit_lowered attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi64>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<4xf32> {jax.result_info = "result[1]"}, tensor<4xi64> {jax.result_info = "result[2]"}, tensor<4xi64> {jax.result_info = "result[3]"}, tensor<4xi64> {jax.result_info = "result[4]"}, tensor<4xi64> {jax.result_info = "result[5]"}) {
    %c = stablehlo.constant dense<3> : tensor<i64>
    %c_0 = stablehlo.constant dense<9> : tensor<ui32>
    %c_1 = stablehlo.constant dense<7> : tensor<i8>
    %cst = stablehlo.constant dense<3.007810e-01> : tensor<bf16>
    %cst_2 = stablehlo.constant dense<1.099610e+00> : tensor<f16>
    %0 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xf16>
    %1 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f16>) -> tensor<4xf16>
    %2 = stablehlo.multiply %0, %1 : tensor<4xf16>
    %3 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xbf16>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<4xbf16>
    %5 = stablehlo.add %3, %4 : tensor<4xbf16>
    %6 = stablehlo.convert %5 : (tensor<4xbf16>) -> tensor<4xf32>
    %7 = stablehlo.convert %arg1 : (tensor<4xi64>) -> tensor<4xi8>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i8>) -> tensor<4xi8>
    %9 = stablehlo.multiply %7, %8 : tensor<4xi8>
    %10 = stablehlo.convert %arg1 : (tensor<4xi64>) -> tensor<4xui32>
    %11 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui32>) -> tensor<4xui32>
    %12 = stablehlo.subtract %10, %11 : tensor<4xui32>
    %13 = call @floor_divide(%arg1, %c) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
    %14 = call @remainder(%arg1, %c) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
    %15 = stablehlo.convert %2 : (tensor<4xf16>) -> tensor<4xf32>
    %16 = stablehlo.convert %9 : (tensor<4xi8>) -> tensor<4xi64>
    %17 = stablehlo.convert %12 : (tensor<4xui32>) -> tensor<4xi64>
    return %15, %6, %16, %17, %13, %14 : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
  }
  func.func private @floor_divide(%arg0: tensor<4xi64>, %arg1: tensor<i64>) -> tensor<4xi64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.convert %arg1 : tensor<i64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %2 = stablehlo.divide %arg0, %1 : tensor<4xi64>
    %3 = stablehlo.sign %arg0 : tensor<4xi64>
    %4 = stablehlo.sign %0 : tensor<i64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %6 = stablehlo.compare NE, %3, %5, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.remainder %arg0, %7 : tensor<4xi64>
    %9 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.compare NE, %8, %9, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %11 = stablehlo.and %6, %10 : tensor<4xi1>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %13 = stablehlo.subtract %2, %12 : tensor<4xi64>
    %14 = call @_where(%11, %13, %2) : (tensor<4xi1>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return %14 : tensor<4xi64>
  }
  func.func private @_where(%arg0: tensor<4xi1>, %arg1: tensor<4xi64>, %arg2: tensor<4xi64>) -> tensor<4xi64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4xi1>, tensor<4xi64>
    return %0 : tensor<4xi64>
  }
  func.func private @remainder(%arg0: tensor<4xi64>, %arg1: tensor<i64>) -> tensor<4xi64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.convert %arg1 : tensor<i64>
    %1 = stablehlo.compare EQ, %0, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %2 = call @_where_0(%1, %c, %0) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %4 = stablehlo.remainder %arg0, %3 : tensor<4xi64>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<4xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %12 = stablehlo.and %11, %6 : tensor<4xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %14 = stablehlo.add %4, %13 : tensor<4xi64>
    %15 = stablehlo.select %12, %14, %4 : tensor<4xi1>, tensor<4xi64>
    return %15 : tensor<4xi64>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i64>
    return %0 : tensor<i64>
  }
}
