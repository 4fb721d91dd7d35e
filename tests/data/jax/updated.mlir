// input f64[5] 2.238593389242513 1.999008664227936 0.06322301166060816 0.21885470706822427 1.5334586622826605
// input i64[] 2
// result f64[5] 2.238593389242513 3.998017328455872 7.0 8.0 1.5334586622826605
// result f64[2] 3.998017328455872 7.0
// result f64[5] 8.0 1.5334586622826605 2.238593389242513 3.998017328455872 7.0
// result f64[8] 0.5 2.238593389242513 1.999008664227936 0.06322301166060816 0.21885470706822427 1.5334586622826605 0.5 0.5
module @jit_updated attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf64>, %arg1: tensor<i64>) -> (tensor<5xf64> {jax.result_info = "result[0]"}, tensor<2xf64> {jax.result_info = "result[1]"}, tensor<5xf64> {jax.result_info = "result[2]"}, tensor<8xf64> {jax.result_info = "result[3]"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %c = stablehlo.constant dense<1> : tensor<i64>
    %cst_0 = stablehlo.constant dense<2.500000e-01> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %cst_3 = stablehlo.constant dense<1.500000e+00> : tensor<f64>
    %c_4 = stablehlo.constant dense<5> : tensor<i64>
    %c_5 = stablehlo.constant dense<[0, 0, 2]> : tensor<3xi64>
    %cst_6 = stablehlo.constant dense<[7.000000e+00, 8.000000e+00]> : tensor<2xf64>
    %c_7 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.compare LT, %arg1, %c_7, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %1 = stablehlo.add %arg1, %c_4 : tensor<i64>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<i1>, tensor<i64>
    %3 = stablehlo.convert %2 : (tensor<i64>) -> tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %5 = "stablehlo.scatter"(%arg0, %4, %cst_3) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5xf64>, tensor<1xi32>, tensor<f64>) -> tensor<5xf64>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %8 = "stablehlo.scatter"(%5, %6, %7) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %29 = stablehlo.multiply %arg2, %arg3 : tensor<f64>
      stablehlo.return %29 : tensor<f64>
    }) : (tensor<5xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<5xf64>
    %9 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i64>) -> tensor<3xi64>
    %10 = stablehlo.compare LT, %c_5, %9, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
    %11 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<3xi64>
    %12 = stablehlo.add %c_5, %11 : tensor<3xi64>
    %13 = stablehlo.select %10, %12, %c_5 : tensor<3xi1>, tensor<3xi64>
    %14 = stablehlo.convert %13 : (tensor<3xi64>) -> tensor<3xi32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %17 = "stablehlo.scatter"(%8, %15, %16) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %29 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
      stablehlo.return %29 : tensor<f64>
    }) : (tensor<5xf64>, tensor<3x1xi32>, tensor<3xf64>) -> tensor<5xf64>
    %18 = stablehlo.compare LT, %arg1, %c_7, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %19 = stablehlo.add %arg1, %c_4 : tensor<i64>
    %20 = stablehlo.select %18, %19, %arg1 : tensor<i1>, tensor<i64>
    %21 = stablehlo.dynamic_update_slice %17, %cst_6, %20 : (tensor<5xf64>, tensor<2xf64>, tensor<i64>) -> tensor<5xf64>
    %22 = stablehlo.subtract %arg1, %c : tensor<i64>
    %23 = stablehlo.compare LT, %22, %c_7, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %24 = stablehlo.add %22, %c_4 : tensor<i64>
    %25 = stablehlo.select %23, %24, %22 : tensor<i1>, tensor<i64>
    %26 = stablehlo.dynamic_slice %21, %25, sizes = [2] : (tensor<5xf64>, tensor<i64>) -> tensor<2xf64>
    %27 = call @_roll_static(%21) : (tensor<5xf64>) -> tensor<5xf64>
    %28 = call @_pad(%arg0, %cst) : (tensor<5xf64>, tensor<f64>) -> tensor<8xf64>
    return %21, %26, %27, %28 : tensor<5xf64>, tensor<2xf64>, tensor<5xf64>, tensor<8xf64>
  }
  func.func private @_roll_static(%arg0: tensor<5xf64>) -> tensor<5xf64> {
    %0 = stablehlo.slice %arg0 [3:5] : (tensor<5xf64>) -> tensor<2xf64>
    %1 = stablehlo.slice %arg0 [0:3] : (tensor<5xf64>) -> tensor<3xf64>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2xf64>, tensor<3xf64>) -> tensor<5xf64>
    return %2 : tensor<5xf64>
  }
  func.func private @_pad(%arg0: tensor<5xf64>, %arg1: tensor<f64>) -> tensor<8xf64> {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.pad %arg0, %0, low = [1], high = [2], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<8xf64>
    return %1 : tensor<8xf64>
  }
}
