// input f64[7] 0.8828742255545683 -1.529371705117365 0.0035081514639604466 -0.6499561948012956 -0.9771454371346897 0.8534376527146189 -0.5181696890906662
// result f64[7] -1.529371705117365 -0.9771454371346897 -0.6499561948012956 -0.5181696890906662 0.0035081514639604466 0.8534376527146189 0.8828742255545683
// result i64[7] 0 5 2 6 3 4 1
// result f64[] -0.5181696890906662
module @jit_ordered attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf64>) -> (tensor<7xf64> {jax.result_info = "result[0]"}, tensor<7xi64> {jax.result_info = "result[1]"}, tensor<f64> {jax.result_info = "result[2]"}) {
    %0 = call @sort(%arg0) : (tensor<7xf64>) -> tensor<7xf64>
    %1 = stablehlo.negate %arg0 : tensor<7xf64>
    %2 = call @argsort(%1) : (tensor<7xf64>) -> tensor<7xi64>
    %3 = call @median(%arg0) : (tensor<7xf64>) -> tensor<f64>
    return %0, %2, %3 : tensor<7xf64>, tensor<7xi64>, tensor<f64>
  }
  func.func private @sort(%arg0: tensor<7xf64>) -> tensor<7xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %1 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.select %3, %cst, %2 : tensor<i1>, tensor<f64>
      %5 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.select %5, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %8 = stablehlo.select %7, %cst, %6 : tensor<i1>, tensor<f64>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<7xf64>) -> tensor<7xf64>
    return %0 : tensor<7xf64>
  }
  func.func private @argsort(%arg0: tensor<7xf64>) -> tensor<7xi64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.iota dim = 0 : tensor<7xi64>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<i64>, %arg4: tensor<i64>):
      %2 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %3 = stablehlo.select %2, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %5 = stablehlo.select %4, %cst, %3 : tensor<i1>, tensor<f64>
      %6 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %7 = stablehlo.select %6, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %8 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %9 = stablehlo.select %8, %cst, %7 : tensor<i1>, tensor<f64>
      %10 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<7xf64>, tensor<7xi64>) -> (tensor<7xf64>, tensor<7xi64>)
    return %1#1 : tensor<7xi64>
  }
  func.func private @median(%arg0: tensor<7xf64>) -> tensor<f64> {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %0 = call @quantile(%arg0, %cst) : (tensor<7xf64>, tensor<f64>) -> tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @quantile(%arg0: tensor<7xf64>, %arg1: tensor<f64>) -> tensor<f64> {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<7.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<7xf64>, tensor<7xf64>) -> tensor<7xi1>
    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.or across dimensions = [0] : (tensor<7xi1>, tensor<i1>) -> tensor<i1>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %3 = call @_where(%2, %cst_3, %arg0) : (tensor<1xi1>, tensor<f64>, tensor<7xf64>) -> tensor<7xf64>
    %4 = "stablehlo.sort"(%3) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %21 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %22 = stablehlo.select %21, %cst_2, %arg2 : tensor<i1>, tensor<f64>
      %23 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %24 = stablehlo.select %23, %cst_3, %22 : tensor<i1>, tensor<f64>
      %25 = stablehlo.compare EQ, %arg3, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %26 = stablehlo.select %25, %cst_2, %arg3 : tensor<i1>, tensor<f64>
      %27 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %28 = stablehlo.select %27, %cst_3, %26 : tensor<i1>, tensor<f64>
      %29 = stablehlo.compare LT, %24, %28, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %29 : tensor<i1>
    }) : (tensor<7xf64>) -> tensor<7xf64>
    %5 = stablehlo.subtract %cst_1, %cst_0 : tensor<f64>
    %6 = stablehlo.multiply %arg1, %5 : tensor<f64>
    %7 = stablehlo.floor %6 : tensor<f64>
    %8 = stablehlo.ceil %6 : tensor<f64>
    %9 = stablehlo.subtract %cst_1, %cst_0 : tensor<f64>
    %10 = stablehlo.clamp %cst_2, %7, %9 : tensor<f64>
    %11 = stablehlo.subtract %cst_1, %cst_0 : tensor<f64>
    %12 = stablehlo.clamp %cst_2, %8, %11 : tensor<f64>
    %13 = stablehlo.convert %10 : (tensor<f64>) -> tensor<i64>
    %14 = stablehlo.convert %12 : (tensor<f64>) -> tensor<i64>
    %15 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %16 = "stablehlo.gather"(%4, %15) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<7xf64>, tensor<1xi64>) -> tensor<f64>
    %17 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %18 = "stablehlo.gather"(%4, %17) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<7xf64>, tensor<1xi64>) -> tensor<f64>
    %19 = stablehlo.add %16, %18 : tensor<f64>
    %20 = stablehlo.multiply %19, %cst : tensor<f64>
    return %20 : tensor<f64>
  }
  func.func private @_where(%arg0: tensor<1xi1>, %arg1: tensor<f64>, %arg2: tensor<7xf64>) -> tensor<7xf64> {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<1xi1>) -> tensor<7xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<7xf64>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<7xi1>, tensor<7xf64>
    return %3 : tensor<7xf64>
  }
}
